#!/usr/bin/env python3
"""Each allocation of libcuda.so.1 fails in turn, in a whole program.

usage: out_of_memory.py [--build DIR]

A converted sample runs on the emulator with failing_malloc.c preloaded, once
for each allocation. It must pass, or end by its own words about a CUDA error;
whatever ends by a signal, or not at all, is printed and makes the exit code 1.
What the unit test (fault_test.cc) cannot see is seen here: the library's own
unwinder, its start, and cudart's.
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = "vector_add"
SECONDS = 30


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    build = os.path.abspath(parser.parse_args().build)
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    bad = 0
    results = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, SAMPLE)
        preload = os.path.join(folder, "failing_malloc.so")
        subprocess.run(["clang-22", "-O1", "-shared", "-fPIC", "-o", preload,
                        os.path.join(HERE, "failing_malloc.c")], check=True)
        subprocess.run([nvcc, "-O2", "-o", program, os.path.join(
            ROOT, "samples", SAMPLE, SAMPLE + ".cu")], check=True)
        subprocess.run([os.path.join(build, "bin/cerberus-convert"), program,
                        "-o", program + ".amd", "--arch", "gfx1100"],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

        def run(**variables):
            return subprocess.run(
                [program + ".amd"], timeout=SECONDS, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, universal_newlines=True,
                env=dict(os.environ, CERBERUS_DEVICE="gfx1100",
                         LD_PRELOAD=preload, **variables))

        count = int(run(FAIL_COUNT="1").stderr.split()[-1])
        for number in range(count):
            try:
                done = run(FAIL_AT=str(number))
                code = done.returncode
                words = (done.stdout + done.stderr).strip().split("\n")[-1]
            except subprocess.TimeoutExpired:
                code, words = "none", "does not end"
            results[words] += 1
            if code not in (0, 1):
                bad += 1
                print("allocation %d: exit code %s: %s" % (number, code, words))
    for words, times in results.most_common():
        print("%5d  %s" % (times, words))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
