#!/usr/bin/env python3
"""NVIDIA's libraries, unchanged, on the driver stub.

usage: nvidia_libraries.py [--build DIR] [--targets gfx1100,gfx942]
                           [PROGRAM ...]

cuRAND's numbers are compared with those of its own host side
(curand_generators.cu), cuBLAS' operations on vectors (cublas_vectors.cu),
cuFFTW's plans over our cuFFT (cufftw_plans.cu, CUDA 13 and 11) and CUTLASS'
products of matrices (cutlass_gemm.cu, cutlass_hopper.cu for compute
capability 9.0, cutlass_blackwell.cu for 10.0) with sums on the host. The
libraries come from PyPI into build/packages (600 MB).
Needs nvcc on PATH. Prints one line per program and target.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "build", "packages")
CUDA = "nvidia/cu13"
CUTLASS = "cutlass_library/source"
# Program, wheel, folder in it with include and lib, libraries.
PROGRAMS = [("curand_generators", "nvidia-curand==10.4.0.35", CUDA,
             ["libcurand.so.10"]),
            ("cublas_vectors", "nvidia-cublas==13.0.0.19", CUDA,
             ["libcublas.so.13", "libcublasLt.so.13"]),
            ("cufftw_plans", "nvidia-cufft==12.0.0.61", CUDA,
             ["libcufftw.so.12", "libcufft.so.12"]),
            ("cufftw_plans", "nvidia-cufft-cu11==10.9.0.58", "nvidia/cufft",
             ["libcufftw.so.10", "libcufft.so.10"]),
            ("cutlass_gemm", "nvidia-cutlass==4.2.0.0", CUTLASS, []),
            ("cutlass_hopper", "nvidia-cutlass==4.2.0.0", CUTLASS, []),
            ("cutlass_blackwell", "nvidia-cutlass==4.2.0.0", CUTLASS, [])]
# For kernels with all of the shared memory that NVIDIA's GPUs have.
CAPABILITIES = {"cutlass_hopper": "9.0", "cutlass_blackwell": "10.0"}


def options_of(name):
    if name not in CAPABILITIES:
        return ["-arch=sm_80"]
    code = "compute_" + CAPABILITIES[name].replace(".", "") + "a"
    return ["-arch=" + code, "-code=" + code, "--expt-relaxed-constexpr",
            "-lcuda"]


def environment_of(name):
    if name not in CAPABILITIES:
        return {}
    return {"CERBERUS_CC": CAPABILITIES[name],
            "CERBERUS_SHARED_OVERFLOW": "global"}


def build(name, wheel, inside, libraries):
    folder = os.path.join(FOLDER, wheel.replace("==", "-"))
    tree = os.path.join(folder, inside)
    if not os.path.isdir(tree):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                        "--no-deps", "--target", folder, wheel], check=True)
    program = os.path.join(folder, name)
    link = ["-rpath=" + tree + "/lib"]
    link += [os.path.join(tree, "lib", library) for library in libraries]
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-w", "-I" + tree + "/include",
                    "-I" + tree + "/tools/util/include",
                    "-o", program, os.path.join(HERE, name + ".cu")] +
                   options_of(name) +
                   [word for item in link for word in ("-Xlinker", item)],
                   check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=ROOT + "/build/release")
    parser.add_argument("--targets", default="gfx1100,gfx942")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    failed = 0
    for name, *parts in PROGRAMS:
        if options.names and name not in options.names:
            continue
        program = build(name, *parts)
        for target in options.targets.split(","):
            result = subprocess.run(
                [options.build + "/bin/cerberus", "run", program],
                env=dict(os.environ, CERBERUS_DEVICE=target,
                         CERBERUS_LOG="error", **environment_of(name)),
                stdout=subprocess.PIPE, universal_newlines=True)
            failed += result.returncode != 0
            print(name, target,
                  result.stdout if result.returncode else "PASS", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
