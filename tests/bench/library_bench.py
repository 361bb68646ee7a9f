#!/usr/bin/env python3
"""What the libraries that answer for NVIDIA's cost.

usage: library_bench.py [--build DIR] [--runs N]

library_bench.cu, converted and run on the emulator: a product of matrices beside
OpenBLAS called directly, a call beside a host function that does nothing, and one
on a rocBLAS that does nothing beside a call of that. Then whole processes that are linked with cuBLAS and do not call it, and the same
without, in turns, by processor time and by the clock.
"""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time

from summary import Row

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
START = 20  # processes that are measured as one


def start_seconds(program):
    """(clock, processor) of one start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    for _ in range(START):
        subprocess.run([program], check=True)
    clock = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (clock / START, (after.ru_utime + after.ru_stime -
                            before.ru_utime - before.ru_stime) / START)


def starts(libraries, runs, folder):
    source = os.path.join(folder, "empty.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    programs = []
    for name, options in (("plain", []), ("linked", [
            "-Wl,--no-as-needed", "-L" + libraries, "-l:libcublas.so.13",
            "-Wl,-rpath=" + libraries])):
        programs.append(os.path.join(folder, name))
        subprocess.run(["cc", "-O2", "-o", programs[-1], source] + options,
                       check=True)
    times = [[], []]
    for _ in range(runs):
        for mine, program in zip(times, programs):
            mine.append(start_seconds(program))
    return [[list(column) for column in zip(*mine)] for mine in times]


def report(build, nvcc, runs):
    """Rows for summary.py."""
    libraries = os.path.join(build, "lib", "cerberus")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "bench")
        subprocess.run([nvcc, "-O2", "-std=c++17", "-o", program,
                        os.path.join(HERE, "library_bench.cu"),
                        "-L" + libraries, "-l:libcublas.so.13"], check=True)
        subprocess.run([os.path.join(build, "bin", "cerberus-convert"), "-q",
                        program, "-o", program + ".amd", "--arch", "gfx1100"],
                       check=True)
        rocblas = os.path.join(folder, "librocblas.so.5")
        subprocess.run(["cc", "-O2", "-w", "-shared", "-fPIC", "-o", rocblas,
                        os.path.join(HERE, "null_rocblas.c")], check=True)
        device = {**os.environ, "CERBERUS_DEVICE": "gfx1100"}
        ways = [([], device),
                ([rocblas], {**device, "LD_LIBRARY_PATH": folder,
                             "CERBERUS_LIBRARY_PROVIDER": "rocm"})]
        samples = {}
        for words, environment in ways * runs:
            for line in subprocess.run(
                    [program + ".amd", *words], check=True,
                    stdout=subprocess.PIPE, text=True, env=environment
                    ).stdout.splitlines():
                name, ours, theirs = line.split()
                mine, peer = samples.setdefault(name, ([], []))
                mine.append(float(ours) / 1e9)
                peer.append(float(theirs) / 1e9)
        plain, linked = starts(libraries, runs, folder)
    product = Row("cublasSgemm, 1024^3", *samples["sgemm"], "OpenBLAS", "ms",
                  "1.1")
    print("\nLibraries in place of NVIDIA's")
    print("  %-24s%18s%18s%12s%8s%6s" % product.cells())
    for name, pair, aim in (
            ("a call, ns", [[t * 1e9 for t in part]
                            for part in samples["call"]], "300"),
            ("a call on rocBLAS, ns", [[t * 1e9 for t in part]
                                       for part in samples["rocblas"]], "300"),
            ("a call to its end, ns", [[t * 1e9 for t in part]
                                       for part in samples["done"]], ""),
            ("start, processor ms", [[t * 1e3 for t in part[1]]
                                     for part in (linked, plain)], "1"),
            ("start, clock ms", [[t * 1e3 for t in part[0]]
                                 for part in (linked, plain)], "1")):
        ours, peer = (statistics.median(part) for part in pair)
        print("  %-24s%18.4g%18.4g%12s %8.4g%6s" % (
            name, ours, peer, "difference", ours - peer, aim))
    return [product]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    report(os.path.abspath(args.build), "nvcc", args.runs)


if __name__ == "__main__":
    main()
