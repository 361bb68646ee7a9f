#!/usr/bin/env python3
"""NVIDIA's cuRAND, unchanged, on the driver stub: its kernels' numbers against
those of its own host side (curand_generators.cu).

usage: curand.py [--build DIR] [--targets gfx1100,gfx942]

The library comes from PyPI into build/packages/curand. Needs nvcc on PATH.
Prints one line per target.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WHEEL = "nvidia-curand==10.4.0.35"


def build(folder):
    if not os.path.isdir(folder):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                        "--no-deps", "--target", folder, WHEEL], check=True)
    tree = os.path.join(folder, "nvidia", "cu13")
    program = os.path.join(folder, "curand_generators")
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-I" + tree + "/include",
                    "-o", program, os.path.join(HERE, "curand_generators.cu"),
                    "-Xlinker", tree + "/lib/libcurand.so.10",
                    "-Xlinker", "-rpath=" + tree + "/lib"], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=ROOT + "/build/release")
    parser.add_argument("--targets", default="gfx1100,gfx942")
    options = parser.parse_args()
    program = build(ROOT + "/build/packages/curand")
    failed = 0
    for target in options.targets.split(","):
        result = subprocess.run(
            [options.build + "/bin/cerberus", "run", program],
            env=dict(os.environ, CERBERUS_DEVICE=target),
            stdout=subprocess.PIPE, universal_newlines=True)
        failed += result.returncode != 0
        print(target, result.stdout if result.returncode else "PASS")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
