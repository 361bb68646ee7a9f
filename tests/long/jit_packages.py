#!/usr/bin/env python3
"""Python packages that compile kernels as they run, on the driver stub.

usage: jit_packages.py [--build DIR] [--targets gfx1100,gfx942] [PACKAGE ...]

numba, cuda_bindings, cuda_core, cupy, pycuda, tinygrad, taichi, openmm, warp,
custatevec and catboost come from PyPI into build/packages (6 GB with NVIDIA's
compilers and cuBLAS); jax (4 GB) and triton (1 GB, and so triton_hopper and
triton_blackwell), which ask for other versions of these, open3d (1 GB),
pycolmap (0.5 GB) and gpu4pyscf (1.5 GB) into build/packages-NAME, and so do
ctranslate2, halide (0.1 GB) and spconv (0.5 GB), gpt4all, mlx and energies, of
gpu4pyscf (2 GB), faiss (1.3 GB), rapids (8 GB), and so on. Each runs unchanged under
`cerberus run`; what its kernels compute is compared with numpy or with code for
the host. Prints one line per package and target.
"""
import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import time

from package_blender import blender
from package_catboost import catboost
from package_ctranslate2 import ctranslate2
from package_cudnn_frontend import cudnn_frontend
from package_custatevec import custatevec
from package_gpt4all import gpt4all
from package_gpu4pyscf import energies, gpu4pyscf
from package_dali import dali
from package_faiss import faiss
from package_halide import halide
from package_jax import jax
from package_mlx import mlx
from package_open3d import open3d
from package_openmm import openmm
from package_numba_mlir import check_kernels, numba_mlir
from package_nvcomp import nvcomp
from package_pennylane import pennylane
from package_pmcx import pmcx
from package_pycolmap import pycolmap
from package_pykeops import folders as pykeops_folders, pykeops
from package_qec import qec
from package_quadrants import quadrants
from package_rapids import rapids
from package_rtk import rtk
from package_slangpy import slangpy
from package_small import kedm, osqp, pyimagecuda, pyqrack
from package_snapml import snapml
from package_spconv import spconv
from package_stumpy import stumpy
from package_taichi import taichi
from package_tensorflow import tensorflow
from package_thinc import thinc
from package_tvm import tvm
from package_warp import warp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WHEELS = ["numpy==2.4.6", "numba-cuda==0.30.4", "cuda-bindings==13.5.0",
          "cuda-core==1.2.2", "cupy-cuda13x==14.2.0", "pycuda==2026.1",
          "tinygrad==0.14.0", "taichi==1.7.4", "openmm==8.6.1",
          "OpenMM-CUDA-13==8.6.1", "warp-lang==1.9.1",
          "nvidia-cuda-nvrtc==13.0.*", "nvidia-nvvm==13.0.*",
          "nvidia-nvjitlink==13.0.*", "nvidia-cuda-runtime==13.0.*",
          "nvidia-cuda-cccl==13.0.*", "custatevec-cu12==1.15.0",
          "nvidia-cublas-cu12==12.9.*", "nvidia-cuda-runtime-cu12==12.9.*",
          "catboost==1.2.10"]
# Packages in an environment of their own.
OWN_WHEELS = {"blender": ["bpy==5.0.1"],
              "jax": ["jax[cuda13]==0.10.2"],
              "triton": ["triton==3.9.0", "numpy==2.4.6"],
              "triton_hopper": ["triton==3.9.0", "numpy==2.4.6"],
              "triton_blackwell": ["triton==3.9.0", "numpy==2.4.6"],
              "open3d": ["open3d==0.20.0", "libusb-package==1.0.30.0",
                         "numpy==2.4.6"],
              "pycolmap": ["pycolmap-cuda12==4.2.1", "numpy==2.4.6"],
              "halide": ["halide==21.0.0", "numpy==2.4.6"],
              "mlx": ["mlx[cuda13]==0.32.4", "nvidia-cuda-cccl==13.0.*",
                      "numpy==2.4.6"],
              "ctranslate2": ["ctranslate2==4.8.5", "numpy==2.4.6"],
              "gpu4pyscf": ["gpu4pyscf-cuda12x==1.9.0", "pyscf==2.14.0",
                            "numpy==2.4.6"],
              "energies": ["gpu4pyscf-cuda12x==1.9.0", "pyscf==2.14.0",
                           "gpu4pyscf-libxc-cuda12x==0.9.0",
                           "cupy-cuda12x==14.2.0", "geometric==1.1.1",
                           "nvidia-cuda-nvrtc-cu12==12.9.*",
                           "nvidia-cuda-runtime-cu12==12.9.*",
                           "nvidia-cuda-cccl-cu12==12.9.*"],
              "gpt4all": ["gpt4all==2.8.2", "gguf==0.19.0", "numpy",
                          "nvidia-cuda-runtime-cu11", "nvidia-cublas-cu11"],
              "rapids": ["cuml-cu12==26.10.*", "cuvs-cu12==26.10.*"],
              "tensorflow": ["tensorflow==2.21.0",
                             "nvidia-cuda-runtime-cu12==12.9.*",
                             "nvidia-cuda-nvcc-cu12==12.9.*"],
              "faiss": ["faiss-gpu==1.15.1", "numpy==2.4.6"],
              "quadrants": ["quadrants==1.3.3", "numpy==2.4.6"],
              "tvm": ["apache-tvm==0.27.0.post1", "numpy==2.4.6",
                      "cuda-bindings==13.*", "nvidia-cuda-nvrtc==13.0.*",
                      "nvidia-cuda-runtime==13.0.*"],
              "dali": ["nvidia-dali-cuda120==2.4.0", "numpy==2.4.6"],
              "cudnn_frontend": ["nvidia-cudnn-frontend==1.32.0",
                                 "numpy==2.4.6"],
              "kedm": ["kedm-cuda12x==0.10.1", "numpy==2.4.6"],
              "osqp": ["osqp-cu12==1.1.3", "osqp==1.1.3", "numpy==2.4.6",
                       "nvidia-cuda-runtime-cu12==12.9.*"],
              "pyimagecuda": ["pyimagecuda==0.1.5", "numpy==2.4.6"],
              "pyqrack": ["pyqrack-cuda==1.27.0", "numpy==2.4.6"],
              "pennylane": ["pennylane-lightning-gpu==0.45.0",
                            "pennylane==0.45.1",
                            "custatevec-cu12==1.15.0", "numpy==2.4.6",
                            "nvidia-cuda-runtime-cu12==12.9.*"],
              "pmcx": ["pmcx==0.8.1", "numpy==2.4.6"],
              "pykeops": ["pykeops==2.3", "numpy==2.4.6",
                          "nvidia-cuda-nvrtc==13.0.*",
                          "nvidia-cuda-runtime==13.0.*",
                          "nvidia-cuda-cccl==13.0.*"],
              "qec": ["cudaq-qec-cu12==0.8.1"],
              "rtk": ["itk-rtk-cuda124==2.7.0.post1", "numpy==2.4.6",
                      "nvidia-cuda-runtime-cu12==12.4.*",
                      "nvidia-cufft-cu12==11.2.*"],
              "slangpy": ["slangpy==0.43.1", "numpy==2.4.6",
                          "nvidia-cuda-nvrtc==13.0.*"],
              "snapml": ["snapml==1.17.2", "numpy==2.4.6"],
              "nvcomp": ["nvidia-nvcomp-cu12==6.0.0.12", "numpy==2.4.6",
                         "lz4==4.4.5"],
              "numba_mlir": ["numba-cuda-mlir==0.6.0", "cuda-bindings==13.5.0",
                             "cuda-core==1.2.2", "numpy==2.4.6",
                             "nvidia-cuda-nvrtc==13.0.*",
                             "nvidia-nvvm==13.0.*",
                             "nvidia-nvjitlink==13.0.*",
                             "nvidia-cuda-runtime==13.0.*",
                             "nvidia-cuda-cccl==13.0.*"],
              "stumpy": ["stumpy==1.14.1", "numba-cuda==0.30.4",
                         "cuda-bindings==13.5.0", "nvidia-cuda-nvrtc==13.0.*",
                         "nvidia-nvvm==13.0.*", "nvidia-nvjitlink==13.0.*",
                         "nvidia-cuda-runtime==13.0.*",
                         "nvidia-cuda-cccl==13.0.*"],
              "thinc": ["thinc==9.1.1", "cupy-cuda13x==14.2.0",
                        "nvidia-cuda-nvrtc==13.0.*",
                        "nvidia-cuda-runtime==13.0.*",
                        "nvidia-cuda-cccl==13.0.*"],
              "spconv": ["spconv-cu120==2.3.6", "cumm-cu120==0.4.11",
                         "numpy==1.26.4"]}
# The PTX within cuStateVec is for this compute capability or newer.
ENVIRONMENT = {"custatevec": {"CERBERUS_CC": "10.0"},
               "pennylane": {"CERBERUS_CC": "10.0"},
               # One that Blender has no machine code for, but PTX.
               "blender": {"CERBERUS_CC": "9.0"},
               "triton_hopper": {"CERBERUS_CC": "9.0"},
               "triton_blackwell": {"CERBERUS_CC": "10.0",
                                    "CERBERUS_SHARED_OVERFLOW": "global"}}

SAXPY = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def operands(np, count=1000):
    return (np.arange(count, dtype=np.float32),
            np.ones(count, dtype=np.float32))


def numba_of_groups():
    """Lanes of a warp, blocks of a grid."""
    import numpy as np
    from numba import cuda

    @cuda.jit
    def neighbours(out):
        lane = cuda.threadIdx.x
        value = cuda.shfl_down_sync(0xffffffff, lane * 10, 1)
        out[lane] = value

    lanes = np.zeros(32, dtype=np.int32)
    neighbours[1, 32](lanes)
    np.testing.assert_array_equal(lanes[:31], np.arange(1, 32) * 10)

    @cuda.jit
    def rounds(values):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for _ in range(3):
            other = values[(i + 1) % values.size]
            grid.sync()
            values[i] += other
            grid.sync()

    values = np.arange(128, dtype=np.int64)
    expected = values.copy()
    for _ in range(3):
        expected = expected + np.roll(expected, -1)
    rounds[2, 64](values)
    np.testing.assert_array_equal(values, expected)


def numba():
    import math
    import numpy as np
    from numba import cuda, vectorize

    check_kernels(cuda)
    numba_of_groups()

    @vectorize(["float32(float32, float32)"], target="cuda")
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    x, _ = operands(np)
    y = 2 * x + 1
    np.testing.assert_allclose(hypotenuse(x, y), np.hypot(x, y), rtol=1e-6)

    @cuda.reduce
    def add(a, b):
        return a + b

    assert add(np.arange(2000)) == 1999 * 1000


def nvrtc_ptx(nvrtc, source):
    def check(result):
        assert result[0] == 0, result
        return result[1] if len(result) == 2 else result[1:]
    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"s.cu", 0, [],
                                             []))
    check(nvrtc.nvrtcCompileProgram(program, 1,
                                    [b"--gpu-architecture=compute_80"]))
    ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx


def cuda_bindings():
    import numpy as np
    from cuda.bindings import driver, nvrtc

    def check(result):
        assert result[0] == 0, result
        return result[1] if len(result) == 2 else result[1:]

    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    module = check(driver.cuModuleLoadData(nvrtc_ptx(nvrtc, SAXPY)))
    saxpy = check(driver.cuModuleGetFunction(module, b"saxpy"))
    stream = check(driver.cuStreamCreate(0))
    x, y = operands(np)
    dx = check(driver.cuMemAlloc(x.nbytes))
    dy = check(driver.cuMemAlloc(y.nbytes))
    check(driver.cuMemcpyHtoDAsync(dx, x.ctypes.data, x.nbytes, stream))
    check(driver.cuMemcpyHtoDAsync(dy, y.ctypes.data, y.nbytes, stream))
    check(driver.cuLaunchKernel(
        saxpy, 8, 1, 1, 128, 1, 1, 0, stream,
        ((np.float32(2), dx, dy, x.size),
         (ctypes.c_float, None, None, ctypes.c_int)), 0))
    check(driver.cuMemcpyDtoHAsync(y.ctypes.data, dy, y.nbytes, stream))
    check(driver.cuStreamSynchronize(stream))
    np.testing.assert_array_equal(y, 2 * x + 1)
    attribute = driver.CUfunction_attribute
    assert check(driver.cuFuncGetAttribute(
        attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, saxpy)) >= 256
    link = check(driver.cuLinkCreate(0, [], []))
    ptx = nvrtc_ptx(nvrtc, SAXPY)
    check(driver.cuLinkAddData(
        link, driver.CUjitInputType.CU_JIT_INPUT_PTX, ptx, len(ptx), b"s", 0,
        [], []))
    code, _ = check(driver.cuLinkComplete(link))
    check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(code)),
                                     b"saxpy"))


def cuda_core():
    import numpy as np
    from cuda.bindings import driver
    from cuda.core import (Device, LaunchConfig, Program, ProgramOptions,
                           launch)
    device = Device()
    device.set_current()
    stream = device.create_stream()
    source = ("template<typename T> __global__ void scale(T* p, T v, int n) {"
              "  int i = blockIdx.x * blockDim.x + threadIdx.x;"
              "  if (i < n) p[i] *= v; }")
    for arch, form, kind, name in (
            ("compute_80", "ptx", np.float32, "float"),
            ("compute_80", "ptx", np.float64, "double"),
            ("sm_86", "cubin", np.float32, "float")):
        kernels = Program(source, code_type="c++",
                          options=ProgramOptions(arch=arch)).compile(
                              form, name_expressions=("scale<%s>" % name,))
        x = np.arange(1000, dtype=kind)
        y = np.zeros_like(x)
        memory = device.allocate(x.nbytes, stream=stream)
        stream.sync()
        driver.cuMemcpyHtoD(int(memory.handle), x.ctypes.data, x.nbytes)
        launch(stream, LaunchConfig(grid=8, block=128),
               kernels.get_kernel("scale<%s>" % name), memory, kind(3),
               np.int32(x.size))
        stream.sync()
        driver.cuMemcpyDtoH(y.ctypes.data, int(memory.handle), y.nbytes)
        np.testing.assert_array_equal(y, 3 * x)
    assert device.name and device.properties.warp_size == 32


def cupy_sparse(cp, np):
    """cuSPARSE as cupy calls it, compared with dense matrices."""
    import cupyx.scipy.sparse as sparse
    from cupyx import cusparse
    random = np.random.default_rng(9)

    def matrix(rows, columns, kind):
        dense = random.integers(1, 5, (rows, columns))
        dense[random.random((rows, columns)) > 0.2] = 0
        dense = dense.astype(kind)
        # Rows by hand: making one of a dense array takes other libraries.
        offsets = np.r_[0, np.cumsum((dense != 0).sum(axis=1))]
        return dense, sparse.csr_matrix(
            (cp.asarray(dense[dense != 0]),
             cp.asarray(np.nonzero(dense)[1].astype(np.int32)),
             cp.asarray(offsets.astype(np.int32))), shape=dense.shape)

    for kind in (np.float32, np.float64, np.complex64, np.complex128):
        a, ga = matrix(40, 30, kind)
        b, gb = matrix(30, 25, kind)
        x = random.integers(-3, 4, (30, 7)).astype(kind)
        gx = cp.asarray(x, order="F")
        same = np.testing.assert_array_equal
        same(cusparse.spmv(ga, gx[:, 0]).get(), a @ x[:, 0])
        same(cusparse.spmm(ga, gx).get(), a @ x)
        same(cusparse.sparseToDense(cusparse.spgemm(ga, gb)).get(), a @ b)
        same(cusparse.sparseToDense(cusparse.csrgeam2(ga, ga, 2, 3)).get(),
             5 * a)
        same(cusparse.sparseToDense(cusparse.denseToSparse(
            cp.asarray(a, order="F"))).get(), a)
        same(cusparse.sparseToDense(cusparse.csr2cscEx2(ga)).get(), a)
        c, gc = matrix(30, 30, kind)
        lower = np.tril(c, -1) + np.eye(30, dtype=kind)
        np.testing.assert_allclose(
            lower @ cusparse.spsm(gc, gx.copy(order="F"), lower=True,
                                  unit_diag=True).get(), x, rtol=1e-3,
            atol=1e-2 * abs(np.linalg.solve(lower, x)).max())


def check_cupy_libraries(cp, np):
    """What cupy hands to cuSOLVER and cuFFT."""
    random = np.random.default_rng(5)
    for kind in ("f", "d", "F", "D"):
        a = random.standard_normal((12, 12)).astype(kind)
        s = a @ a.conj().T + np.eye(12, dtype=kind)
        tolerance = 1e-3 if kind in "fF" else 1e-10

        def near(got, want):
            np.testing.assert_allclose(cp.asnumpy(got), want, atol=tolerance)
        ga, gs = cp.asarray(a), cp.asarray(s)
        near(ga @ cp.linalg.solve(ga, gs), s)
        near(ga @ cp.linalg.inv(ga), np.eye(12))
        factor = cp.linalg.cholesky(cp.stack([gs, gs + cp.eye(12)]))
        near(factor[1] @ factor[1].conj().T, s + np.eye(12))
        q, r = cp.linalg.qr(ga)
        near(q @ r, a)
        u, w, v = cp.linalg.svd(cp.stack([ga, gs]))
        near((u[0] * w[0]) @ v[0], a)
        w, v = cp.linalg.eigh(gs)
        near(gs @ v - v * w, np.zeros((12, 12)))
        w, v = cp.linalg.eig(ga)
        near(ga @ v - v * w, np.zeros((12, 12)))
        near(cp.fft.fft(ga), np.fft.fft(a))


def cupy():
    import cupy as cp
    import numpy as np
    cupy_sparse(cp, np)
    x, y = operands(np)
    saxpy = cp.RawKernel(SAXPY, "saxpy")
    gx, gy = cp.asarray(x), cp.asarray(y)
    saxpy((8,), (128,), (np.float32(2), gx, gy, np.int32(x.size)))
    np.testing.assert_array_equal(cp.asnumpy(gy), 2 * x + 1)
    assert int(cp.arange(10).sum()) == 45
    np.testing.assert_allclose(cp.asnumpy(cp.sin(gx) * cp.sqrt(gx) + gx.mean()),
                               np.sin(x) * np.sqrt(x) + x.mean(), rtol=1e-5,
                               atol=1e-4)
    matrix = cp.arange(60, dtype=cp.int64).reshape(3, 4, 5)
    host = cp.asnumpy(matrix)
    for axis in range(3):
        np.testing.assert_array_equal(cp.asnumpy(matrix.sum(axis=axis)),
                                      host.sum(axis=axis))
        np.testing.assert_array_equal(cp.asnumpy(matrix.max(axis=axis)),
                                      host.max(axis=axis))
    np.testing.assert_array_equal(cp.asnumpy(matrix[:, ::2].transpose(2, 0, 1)),
                                  host[:, ::2].transpose(2, 0, 1))
    squares = cp.ElementwiseKernel("T a, T b", "T c", "c = (a - b) * (a - b)",
                                   "squares")
    np.testing.assert_array_equal(cp.asnumpy(squares(gx, gy)),
                                  (x - (2 * x + 1)) ** 2)
    norm = cp.ReductionKernel("T a", "T b", "a * a", "a + b", "b = sqrt(a)",
                              "0", "norm")
    assert abs(float(norm(gx)) - np.linalg.norm(x)) < 1
    check_cupy_libraries(cp, np)
    np.testing.assert_array_equal(cp.asnumpy(cp.where(gx > 10, gx, 0)),
                                  np.where(x > 10, x, 0))


def pycuda():
    import numpy as np
    import pycuda.autoinit
    import pycuda.driver as driver
    from cuda.bindings import nvrtc
    from pycuda.compiler import SourceModule
    module = driver.module_from_buffer(nvrtc_ptx(nvrtc, SAXPY).rstrip(b"\0"))
    x, y = operands(np)
    module.get_function("saxpy")(
        np.float32(2), driver.In(x), driver.InOut(y), np.int32(x.size),
        grid=(8, 1), block=(128, 1, 1))
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert pycuda.autoinit.device.name()
    # The toolkit's nvcc, which is to make machine code.
    module = SourceModule(SAXPY, nvcc=shutil.which("nvcc") or os.path.join(
        ROOT, "build", "cuda", "bin", "nvcc"), no_extern_c=True)
    module.get_function("saxpy")(
        np.float32(3), driver.In(x), driver.InOut(y), np.int32(x.size),
        grid=(8, 1), block=(128, 1, 1))
    np.testing.assert_array_equal(y, 5 * x + 1)


def tinygrad():
    os.environ["DEV"] = "CUDA"
    import numpy as np
    from tinygrad import Device, Tensor
    assert Device.DEFAULT == "CUDA"
    generator = np.random.default_rng(1)
    a = generator.standard_normal((33, 47)).astype(np.float32)
    b = generator.standard_normal((47, 29)).astype(np.float32)
    np.testing.assert_allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b,
                               rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(Tensor(a).softmax(1).numpy(),
                               np.exp(a) / np.exp(a).sum(1, keepdims=True),
                               rtol=1e-4)


def triton_hopper():
    from package_triton import triton_hopper as check
    check()


def triton_blackwell():
    from package_triton import triton_blackwell as check
    check()


def triton():
    from package_triton import triton as check  # needs numpy, as it is inside
    check()


PACKAGES = {f.__name__: f for f in (numba, cuda_bindings, cuda_core, cupy,
                                    pycuda, tinygrad, taichi, openmm, warp,
                                    custatevec, catboost, jax, triton,
                                    triton_hopper, triton_blackwell, open3d,
                                    pycolmap, gpu4pyscf,
                                    ctranslate2, rapids, spconv, halide, mlx,
                                    gpt4all, energies, tensorflow, dali, faiss,
                                    kedm, osqp, pyimagecuda, pyqrack, quadrants,
                                    tvm, pmcx, pykeops, thinc, stumpy, qec, rtk,
                                    cudnn_frontend, slangpy,
                                    snapml, nvcomp, numba_mlir, blender,
                                    pennylane)}


def install(folder, wheels):
    python = os.path.join(folder, "bin", "python")
    marker = os.path.join(folder, "installed")
    if not os.path.exists(marker):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q"] + wheels,
                       check=True)
        open(marker, "w", encoding="utf-8").close()
    return python


def parser_of(doc):
    """Of a program that has that text and runs what was built."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    return parser


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--packages",
                        default=os.path.join(ROOT, "build", "packages"))
    parser.add_argument("--targets", default="gfx1100,gfx942")
    parser.add_argument("--inside", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="PACKAGE")
    args = parser.parse_args()
    if args.inside:
        PACKAGES[args.names[0]]()
        print("PASS")
        return
    failed = 0
    for name in args.names or PACKAGES:
        if name in OWN_WHEELS:
            python = install(args.packages + "-" + name, OWN_WHEELS[name])
        else:
            python = install(args.packages, WHEELS)
        environment = dict(ENVIRONMENT.get(name, {}))
        if name == "pykeops":
            environment.update(pykeops_folders(python))
        for target in args.targets.split(","):
            begin = time.monotonic()
            done = subprocess.run(
                [os.path.join(args.build, "bin", "cerberus"), "run",
                 "--device", target, "--", python, os.path.abspath(__file__),
                 "--inside", name],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                errors="replace", check=False)
            ok = done.returncode == 0 and "PASS" in done.stdout.split()
            failed += not ok
            print("%-14s %-8s %-7s %5.1f s" % (
                name, target, "ok" if ok else "FAILED",
                time.monotonic() - begin), flush=True)
            if not ok:
                print(done.stdout[-3000:])
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
