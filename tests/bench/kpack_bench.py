#!/usr/bin/env python3
"""Archives against plain loops over the same bytes, with pread and zstd.

usage: kpack_bench.py [--build DIR] [--runs N]

What kpack_bench.cc measures, as a table, medians of N. Opening has nothing to be compared
with.
"""
import argparse
import os
import subprocess
import tempfile

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def measure(build):
    """(name, ours, plain loop's or 0) of each line."""
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run(
            [os.path.join(build, "tests", "kpack_bench"), folder], check=True,
            stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        name, ours, plain = line.split("\t")
        yield name, float(ours), float(plain)


def report(build, runs):
    """Rows for summary.py."""
    print("\nArchives: 2,000 code objects, 640 KB each, zstd 3")
    print("  %-34s%14s%14s%8s" % ("", "archive", "plain loop", "ratio"))
    rows = []
    for of_one in zip(*[list(measure(build)) for _ in range(runs)]):
        name = of_one[0][0]
        unit = "MB" if "MB" in name else "ms"
        ours, plain = ([sample[i] for sample in of_one] for i in (1, 2))
        row = Row("kpack: " + name, ours, plain if plain[0] else None,
                  "a plain loop" if plain[0] else "", unit,
                  "1 ms" if name == "open" else "")
        rows.append(row)
        _, mine, other, _, ratio, _ = row.cells()
        print("  %-34s%14s%14s%8s" % (
            name, mine.split(" (")[0], other.split(" (")[0], ratio))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    report(os.path.abspath(args.build), args.runs)


if __name__ == "__main__":
    main()
