#!/usr/bin/env python3
"""Archives against plain loops over the same bytes, with pread and zstd.

usage: kpack_bench.py [--build DIR] [--runs N] [ARCHIVE ...]

What kpack_bench.cc measures, as a table, medians of N. Opening has nothing to
be compared with. Of the archives, as conversions and splits have written them:
how large they are as version 2, and what reading all of them takes against
version 1.
"""
import argparse
import os
import resource
import statistics
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


def processor(command):
    """Its seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime -
            before.ru_stime)


def report_versions(build, archives):
    cerberus = os.path.join(build, "bin", "cerberus")
    print("\nVersion 2 against version 1")
    print("  %-44s%10s%10s%8s%10s" % ("", "v1 MB", "v2 MB", "ratio",
                                     "reading"))
    with tempfile.TemporaryDirectory() as folder:
        for path in archives:
            files = [os.path.join(folder, name) for name in ("v1", "v2")]
            for version, file in zip(("v1", "v2"), files):
                subprocess.run([cerberus, "kpack", "recompress", path, "-q",
                                "--format", version, "-o", file], check=True)
            size = [os.path.getsize(file) / 1e6 for file in files]
            times = [[], []]
            for _ in range(5):
                for mine, file in zip(times, files):
                    mine.append(processor([cerberus, "kpack", "verify", "-q",
                                           file]))
            read = [statistics.median(mine) for mine in times]
            print("  %-44s%10.2f%10.2f%8.2f%10.2f" % (
                os.path.basename(path), *size, size[1] / size[0],
                read[1] / read[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("archives", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    report(build, args.runs)
    if args.archives:
        report_versions(build, args.archives)


if __name__ == "__main__":
    main()
