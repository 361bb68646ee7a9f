#!/usr/bin/env python3
"""Our cuBLAS, cuBLASLt, cuDNN, cuFFT, cuSOLVER and cuSPARSE against numpy and
scipy.

usage: numpy_judges.py [--build DIR] [--target gfx1100] [--rocm SUITE] [--rest]
                       [LIBRARY ...]

Each function is called through ctypes on the emulated GPU, over types, shapes,
transposes, strides and batches, and what it leaves is compared with scipy's
function for the same (its BLAS and LAPACK, its sparse matrices, its
transforms), cuDNN with what NVIDIA's documentation defines. numpy and scipy come from PyPI into build/packages-judges (0.2 GB).
Prints what fails, and how many of the functions that docs/library-support.md
says the host answers were called; --rest names the others. With --rocm
unstable, say, ROCm's libraries of that Debian suite compute what they can, on
the emulated GPU, too, in the root of rocm_providers.py.
"""
import argparse
import glob
import os
import pathlib
import re
import subprocess
import sys
import time

import rocm_providers
import rocm_root
from jit_packages import ROOT, install, parser_of

WHEELS = ["numpy==2.4.6", "scipy==1.17.1"]
# Library: what its section in docs/library-support.md is called.
LIBRARIES = {"cublas": "cuBLAS", "cublaslt": "cuBLASLt", "cudnn": "cuDNN",
             "cufft": "cuFFT", "cusolver": "cuSOLVER", "cusparse": "cuSPARSE"}


def answered(library):
    """The functions that the host answers, as the documentation says."""
    path = os.path.join(ROOT, "docs", "library-support.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    section = text.split("\n## %s\n" % LIBRARIES[library])[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| (?:yes|in part)", section, re.MULTILINE)


def inside(library, rest):
    """On the emulated GPU: the library's cases."""
    # scipy is only there.
    from judge import Judge  # pylint: disable=import-outside-toplevel
    judge = Judge()
    called = __import__("judge_" + library).run(judge)
    known = answered(library)
    missing = sorted(set(known) - called)
    print("  %d comparisons, %d cases failed; %d of %d functions called" % (
        judge.compared, judge.failed, len(known) - len(missing), len(known)))
    if rest:
        print("  not called: " + " ".join(missing))
    sys.exit(judge.failed != 0)


def command(args, python):
    """How a program of that Python starts on the emulated GPU, and in which
    environment."""
    if not args.rocm:
        return [os.path.join(args.build, "bin", "cerberus"), "run", "--device",
                args.target, "--", python], os.environ
    root = rocm_root.open_root(
        args.rocm, pathlib.Path(ROOT, "build", "rocm-roots"),
        pathlib.Path(args.build), rocm_providers.PACKAGES)
    environment = {**os.environ, **rocm_providers.SETTINGS,
                   "CERBERUS_LOG": "error",
                   "CERBERUS_LIBRARY_PROVIDER": "rocm",
                   "CERBERUS_EMU_TARGETS": args.target,
                   "PYTHONPATH": glob.glob(os.path.join(os.path.dirname(
                       python), "..", "lib", "python*", "site-packages"))[0]}
    start = root.command(environment, os.path.realpath(python))
    start[2] = ":".join([start[2], os.path.join(os.path.abspath(args.build),
                                                "lib", "cerberus"),
                         "/" + rocm_root.LIBRARIES])
    return start, environment


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("--rocm", metavar="SUITE",
                        choices=["trixie", "unstable"])
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--inside", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY")
    args = parser.parse_args()
    if args.inside:
        inside(args.libraries[0], args.rest)
    python = install(os.path.join(ROOT, "build", "packages-judges"), WHEELS)
    wrong = 0
    for library in args.libraries or LIBRARIES:
        begin = time.monotonic()
        start, environment = command(args, python)
        done = subprocess.run(
            start + [os.path.abspath(__file__), "--inside", library] +
            ["--rest"] * args.rest, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False)
        wrong += done.returncode != 0
        print("%-9s %-7s %4.0f s" % (
            library, "ok" if done.returncode == 0 else "FAILED",
            time.monotonic() - begin))
        print(done.stdout, end="", flush=True)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
