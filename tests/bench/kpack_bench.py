#!/usr/bin/env python3
"""Archives against plain loops over the same bytes, with pread and zstd.

usage: kpack_bench.py [--build DIR]

What kpack_bench.cc measures, as a table. Opening has nothing to be compared
with.
"""
import argparse
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def report(build):
    print("\nArchives: 2,000 code objects, 640 KB each, zstd 3")
    print("  %-34s%14s%14s%8s" % ("", "archive", "plain loop", "ratio"))
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run(
            [os.path.join(build, "tests", "kpack_bench"), folder], check=True,
            stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        name, ours, plain = line.split("\t")
        ours, plain = float(ours), float(plain)
        unit = (lambda x: "%.0f" % x) if "MB" in name else (
            lambda x: "%.2f ms" % (1e3 * x))
        print("  %-34s%14s%14s%8s" % (
            name, unit(ours), unit(plain) if plain else "",
            "%.2f" % (ours / plain) if plain else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    report(os.path.abspath(parser.parse_args().build))


if __name__ == "__main__":
    main()
