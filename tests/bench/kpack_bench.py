#!/usr/bin/env python3
"""Archives against plain loops over the same bytes, with pread and zstd.

usage: kpack_bench.py [--build DIR] [--runs N] [ARCHIVE ...]

What kpack_bench.cc measures, as a table, medians of N. Opening has nothing to
be compared with. Of the archives, as conversions and splits have written them:
how large they are as version 2, and what reading all of their entries with
librocm_kpack takes against version 1, in processor time.
"""
import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time

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


class Reader:
    """An archive in librocm_kpack."""

    def __init__(self, build, path):
        self.library = ctypes.CDLL(os.path.join(build, "lib",
                                                "librocm_kpack.so"))
        self.archive = ctypes.c_void_p()
        self.call("open", path.encode(), ctypes.byref(self.archive))
        self.names = [(key, arch) for key in self.all("binary")
                      for arch in self.all("architecture")]

    def call(self, name, *args):
        return getattr(self.library, "kpack_" + name)(*args)

    def all(self, what):
        count, text = ctypes.c_size_t(), ctypes.c_char_p()
        self.call("get_%s_count" % what, self.archive, ctypes.byref(count))
        for i in range(count.value):
            self.call("get_" + what, self.archive, ctypes.c_size_t(i),
                      ctypes.byref(text))
            yield text.value

    def read(self):
        """Bytes of all entries."""
        size, total = ctypes.c_size_t(), 0
        for key, arch in self.names:
            data = ctypes.c_void_p()
            if self.call("get_kernel", self.archive, key, arch,
                         ctypes.byref(data), ctypes.byref(size)) == 0:
                total += size.value
                self.call("free_kernel", data)
        self.call("close", self.archive)
        return total


def seconds_to_read(build, path):
    """Of the processor, and how many bytes were read."""
    reader = Reader(build, path)
    begin = time.process_time()
    size = reader.read()
    return time.process_time() - begin, size


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
            times, sizes = [[], []], set()
            for _ in range(15):
                for mine, file in zip(times, files):
                    seconds, read = seconds_to_read(build, file)
                    mine.append(seconds)
                    sizes.add(read)
            assert len(sizes) == 1, sizes
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
