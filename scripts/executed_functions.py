#!/usr/bin/env python3
"""Writes ptxc/layout/functions.txt: what compiling executes.

usage: executed_functions.py [--build DIR]

First what compiling a small kernel executes, which the linker puts side by
side (ptxc/CMakeLists.txt), so that a start of the compiler maps few pages of
it, then what larger ones do. Of these functions llvm-bolt orders the blocks
(cmake/lay_out.cmake). It is no fault if some are missing, or are no longer
there. To be run when LLVM's version changes, with valgrind installed, which
setup.sh does not do; it takes a quarter of an hour.
"""
import argparse
import glob
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# One of each kind, and those that ptxc/layout/train.cc compiles for.
TARGETS = ("gfx1100", "gfx942")
ALL_TARGETS = ("gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942")
CONSTRUCTOR = "_GLOBAL__sub_I"


def executed(build, ptx, target, folder):
    """The mangled names of the functions."""
    profile = os.path.join(folder, "profile")
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--demangle=no",
         "--compress-strings=no", "--callgrind-out-file=" + profile,
         os.path.join(build, "bin", "cerberus-jit"), "--arch", target, ptx,
         "-o", os.path.join(folder, "out")],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(profile, errors="replace") as file:
        return {re.sub(r"'\d+$", "", line[3:].strip())
                for line in file if line.startswith("fn=")}


def without_debug_information(build, folder):
    """A copy that valgrind can read."""
    copy = os.path.join(folder, "build")
    for name in ("bin/cerberus-jit", "lib/cerberus/libcerberus-ptxc.so"):
        path = os.path.join(copy, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["objcopy", "-g", os.path.join(build, name), path],
                       check=True)
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = without_debug_information(args.build, folder)
        symbols = subprocess.run(
            ["nm", "-P", "--defined-only",
             os.path.join(build, "lib/cerberus/libcerberus-ptxc.so")],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        defined = {line.split()[0] for line in symbols.splitlines()
                   if line.split()[1] in "tTwW"}
        ptx = os.path.join(folder, "vector_add.ptx")
        subprocess.run(["nvcc", "-ptx", "-o", ptx, os.path.join(
            ROOT, "samples/vector_add/vector_add.cu")], check=True)
        small = set()
        for target in TARGETS:
            small |= executed(build, ptx, target, folder) & defined
        large = set()
        for ptx in glob.glob(os.path.join(ROOT, "tests/ptx/*.ptx")):
            for target in ALL_TARGETS:
                large |= executed(build, ptx, target, folder) & defined
    with open(os.path.join(ROOT, "ptxc/layout/functions.txt"), "w") as file:
        for name in sorted(small) + sorted(large - small):
            # Static constructors lie side by side as it is; llvm-bolt has named
            # what it moved away.
            if not name.startswith(CONSTRUCTOR) and ".cold" not in name:
                file.write(name + "\n")


if __name__ == "__main__":
    main()
