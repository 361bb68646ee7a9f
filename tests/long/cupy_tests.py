#!/usr/bin/env python3
"""CuPy's own tests of what it hands to NVIDIA's libraries, on four emulated GPUs.

usage: cupy_tests.py [--build DIR] [--target gfx1100] [FOLDER ...]

linalg, fft, libraries, scipy_linalg, random, sparse and scipy_fft are in the
source package, which comes from PyPI, with CuPy, into build/packages-cupy-tests
(1.5 GB). What fails is printed; a failure that is not in KNOWN, with its reason,
fails the whole.
"""
import glob
import os
import re
import subprocess
import sys
import tarfile
import time

from jit_packages import ROOT, install, parser_of

VERSION = "14.2.0"
WHEELS = ["cupy-cuda13x==" + VERSION, "numpy==2.4.6", "scipy", "pytest",
          "pytest-timeout", "hypothesis", "setuptools>=77", "wheel",
          "cython>=3.1,<3.3", "nvidia-cuda-nvrtc==13.0.*",
          "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*"]
CUDA, CUPYX = "cupy_tests/cuda_tests/", "cupyx_tests/"
FOLDERS = {
    "linalg": ["cupy_tests/linalg_tests"],
    "fft": ["cupy_tests/fft_tests"],
    "libraries": [CUDA + "test_cublas.py", CUDA + "test_cufft.py",
                  CUDA + "test_cusolver.py", CUDA + "test_cusparse.py",
                  CUDA + "test_curand.py", CUDA + "test_nccl.py",
                  "cupy_tests/test_cublas.py", CUPYX + "test_cusparse.py",
                  CUPYX + "test_cusolver.py", CUPYX + "test_lapack.py",
                  CUPYX + "linalg_tests"],
    "scipy_linalg": [CUPYX + "scipy_tests/linalg_tests"],
    "random": ["cupy_tests/random_tests"],
    "sparse": [CUPYX + "scipy_tests/sparse_tests"],
    "scipy_fft": [CUPYX + "scipy_tests/fft_tests",
                  CUPYX + "scipy_tests/fftpack_tests"]}
# What is in the name of a test that fails, and why it does.
KNOWN = {
    "fft_tests/test_callback.py": "cuFFT's callbacks are refused",
    "test_LRU_cache11": "plans over two GPUs need no work areas here",
    "test_LRU_cache12": "the same"}
# Not run: its result has 10^10 elements. CuPy itself does not run those that it
# marks as slow, among them a transform of a prime of 10^8 numbers.
LEFT_OUT = ["-k", "not (TestSpgemm and 100000)", "-m", "not slow"]


def tests_of(python, packages):
    """The folder of CuPy's tests, out of its source package."""
    # Beside the package that is built, not in it: Python finds that otherwise.
    tests = os.path.join(packages, "tests")
    if not os.path.isdir(tests):
        subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps",
                        "--no-binary", "cupy", "--no-build-isolation", "-d",
                        packages, "cupy==" + VERSION], check=True)
        folder = os.path.join(packages, "cupy-" + VERSION)
        with tarfile.open(glob.glob(folder + "*.tar.gz")[0]) as archive:
            archive.extractall(packages, filter="data")
        os.rename(os.path.join(folder, "tests"), tests)
    return tests


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    args = parser.parse_args()
    packages = os.path.join(ROOT, "build", "packages-cupy-tests")
    python = install(packages, WHEELS)
    tests = tests_of(python, packages)
    wrong = 0
    for name in args.folders or FOLDERS:
        begin = time.monotonic()
        done = subprocess.run(
            [os.path.join(args.build, "bin", "cerberus"), "run", "--device",
             ",".join([args.target] * 4), "--", python, "-m", "pytest",
             "-q", "-p", "no:cacheprovider", "--timeout=1800", "--tb=no",
             "--disable-warnings", "-rfE", *LEFT_OUT, *FOLDERS[name]],
            cwd=tests, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            errors="replace", check=False)
        failed = re.findall("^(?:FAILED|ERROR) (.*)", done.stdout,
                            re.MULTILINE)
        unknown = [test for test in failed
                   if not any(part in test for part in KNOWN)]
        summary = done.stdout.strip().split("\n")[-1]
        # 1: tests failed. All else is a crash, or nothing was run.
        ok = not unknown and done.returncode == int(bool(failed))
        wrong += not ok
        print("%-13s %-7s %5.0f s  %s" % (name, "ok" if ok else "FAILED",
                                          time.monotonic() - begin, summary))
        for part, why in KNOWN.items():
            count = sum(part in test for test in failed)
            if count != 0:
                print("  %d as known: %s (%s)" % (count, part, why))
        print("".join("  %s\n" % test for test in unknown), end="", flush=True)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
