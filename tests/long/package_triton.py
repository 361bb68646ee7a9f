"""Triton for jit_packages.py, without PyTorch: it takes any object with a
pointer and a type. LLVM makes its PTX, ptxas is to make machine code of it."""
import ctypes
import os
import tempfile

import numpy as np

NAMES = {"f4": "fp32", "f2": "fp16", "i4": "i32"}


class Array:
    """Memory of the device, as Triton wants to see it."""

    driver = None  # libcuda.so.1, with Triton's context

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.dtype = NAMES[self.values.dtype.str[1:]]
        self.size = ctypes.c_size_t(self.values.nbytes)
        self.address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.address), self.size)
        self.call("cuMemcpyHtoD_v2", self.address, self.host_pointer(),
                  self.size)

    def call(self, name, *args):
        error = getattr(self.driver, name)(*args)
        assert error == 0, "%s: CUDA error %d" % (name, error)

    def host_pointer(self):
        return self.values.ctypes.data_as(ctypes.c_void_p)

    def data_ptr(self):
        return self.address.value

    def host(self):
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", self.host_pointer(), self.address,
                  self.size)
        return self.values


def zeros(shape, kind=np.float32):
    return Array(np.zeros(shape, kind))


def triton():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        run_checks()


def triton_hopper():
    """As for compute capability 9.0: products of warpgroups (wgmma), and
    tensor maps that kernels make."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        run_checks()
        check_warpgroups()


def check_warpgroups():
    import package_triton_kernels as kernels
    import triton as package
    package.set_allocator(lambda size, align, stream: zeros(size // 4 + 64))
    random = np.random.default_rng(1)
    for kind in (np.float16, np.float32):
        # Small whole numbers: the products are exact.
        a = random.integers(-3, 4, (130, 192)).astype(kind)
        b = random.integers(-3, 4, (192, 256)).astype(kind)
        for m, n, k, warps in ((64, 64, 32, 4), (128, 64, 32, 8)):
            out = zeros((130, 256))
            compiled = kernels.matmul_by_map[(-(-130 // m), 256 // n)](
                Array(a), Array(b), out, 130, 256, 192, M=m, N=n, K=k,
                num_warps=warps, num_stages=2)
            for used in ("wgmma.mma_async", "tensormap.replace",
                         "cp.async.bulk.tensor"):
                assert used in compiled.asm["ptx"], used
            np.testing.assert_array_equal(
                out.host(), a.astype(np.float32) @ b.astype(np.float32))


def run_checks():
    import package_triton_kernels as kernels
    import triton as package
    package.runtime.driver.active.get_current_device()
    Array.driver = ctypes.CDLL("libcuda.so.1")
    random = np.random.default_rng(0)

    x, y = random.random((2, 1000), dtype=np.float32)
    out = zeros(1000)
    kernels.add[(4,)](Array(x), Array(y), out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out.host(), x + y)

    rows = random.standard_normal((7, 100)).astype(np.float32)
    out = zeros(rows.shape)
    kernels.softmax[(7,)](out, Array(rows), 100, BLOCK=128)
    powers = np.exp(rows - rows.max(1, keepdims=True))
    np.testing.assert_allclose(out.host(),
                               powers / powers.sum(1, keepdims=True),
                               rtol=1e-5)

    counts = zeros(16, np.int32)
    values = random.integers(0, 16, 1000).astype(np.int32)
    kernels.histogram[(4,)](Array(values), counts, 1000, BLOCK=256)
    np.testing.assert_array_equal(counts.host(),
                                  np.bincount(values, minlength=16))

    for kind, tolerance in ((np.float16, 2e-3), (np.float32, 1e-2)):
        a = random.standard_normal((64, 96)).astype(kind)
        b = random.standard_normal((96, 64)).astype(kind)
        out = zeros((64, 64))
        kernels.matmul[(2, 2)](Array(a), Array(b), out, 64, 64, 96, BLOCK=32)
        np.testing.assert_allclose(
            out.host(), a.astype(np.float32) @ b.astype(np.float32),
            rtol=tolerance, atol=tolerance)
