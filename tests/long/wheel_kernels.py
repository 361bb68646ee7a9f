#!/usr/bin/env python3
"""Runs kernels of converted wheels on the emulator; their values are compared
with computations of the host.

usage: wheel_kernels.py [--wheels DIR] [--arch gfx1100,gfx942] [PACKAGE ...]

wheels.py has converted them before. Needs numpy, and scipy for xgboost. Each
package's checks are in wheel_PACKAGE.py; here they are started for each
target, and the kernels that ran are counted.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What a suite gets, in the folder of the converted wheel.
SUITES = {"bitsandbytes": "bitsandbytes/libbitsandbytes_cuda130.so",
          "ctranslate2": "ctranslate2.libs/libctranslate2-*.so.*",
          "xgboost": ""}


def run(package, target, wheels):
    """(the suite's last line, names of the kernels that ran, ok)"""
    found = sorted(glob.glob(os.path.join(
        wheels, "converted", package + "-*", SUITES[package])))
    if not found:
        return "not converted", set(), False
    with tempfile.TemporaryDirectory() as work:
        stats = os.path.join(work, "stats.json")
        env = dict(os.environ, CERBERUS_DEVICE=target,
                   CERBERUS_EMU_STATS=stats, CUDA_CACHE_DISABLE="1")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "wheel_%s.py" % package),
             found[-1]], env=env, stdout=subprocess.PIPE, check=False,
            universal_newlines=True)
        lines = done.stdout.splitlines() or ["no output"]
        for line in lines[:-1]:
            print("  " + line)
        names = set()
        if os.path.exists(stats):
            with open(stats, encoding="utf-8") as file:
                names = {k["name"] for k in json.load(file)["kernels"]}
    return lines[-1], names, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--wheels", default=os.path.join(ROOT, "build",
                                                         "wheels"))
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("packages", nargs="*", default=list(SUITES))
    args = parser.parse_args()
    print("| wheel | target | checks | different kernels run | s |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    good = True
    for package in args.packages:
        for target in args.arch.split(","):
            begin = time.time()
            result, names, ok = run(package, target, args.wheels)
            good = good and ok
            print("| %s | %s | %s | %d | %.0f |" % (
                package, target, result, len(names), time.time() - begin),
                flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
