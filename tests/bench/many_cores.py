#!/usr/bin/env python3
"""What a second core is worth to `cerberus convert`.

usage: many_cores.py [--build DIR] [--runs N] [FILE]

A program, tests/e2e/programs/thrust_algorithms.cu unless one is given, is
converted by one worker and by two, in turns. Seconds by the clock, which say
something where two cores are idle, and of the processor: what the workers need
more together than one of them alone.
"""
import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def build_program(nvcc, folder):
    program = os.path.join(folder, "thrust_algorithms")
    subprocess.run([nvcc, "-std=c++17", "--extended-lambda", "-w", "-o",
                    program, os.path.join(
                        ROOT, "tests/e2e/programs/thrust_algorithms.cu")],
                   check=True)
    return program


def convert(build, program, jobs, folder):
    """(clock, processor); the archive, in `folder`, has a name of its own."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [os.path.join(build, "bin", "cerberus-convert"), program, "-q",
         "--keep-going", "--arch", "gfx1100", "-j", str(jobs), "-o",
         os.path.join(folder, "converted")], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise RuntimeError("%s is not converted" % program)
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def report(build, nvcc, runs, program=None):
    """Rows for summary.py."""
    with tempfile.TemporaryDirectory() as work:
        program = program or build_program(nvcc, work)
        folders = {jobs: os.path.join(work, str(jobs)) for jobs in (1, 2)}
        times = {jobs: [] for jobs in folders}
        for folder in folders.values():
            os.makedirs(folder)
        for _ in range(runs):
            for jobs, folder in folders.items():
                times[jobs].append(convert(build, program, jobs, folder))
        archives = [os.path.join(folder, ".kpack/converted-gfx1100.kpack")
                    for folder in folders.values()]
        if not filecmp.cmp(*archives, shallow=False):
            raise RuntimeError("two workers make another archive")
    one, two = (list(zip(*times[jobs])) for jobs in (1, 2))
    median = statistics.median
    print("\nConverting %s, one worker and two" % os.path.basename(program))
    print("  clock %.2f s, %.2f s: %.2f times as fast" % (
        median(one[0]), median(two[0]), median(one[0]) / median(two[0])))
    print("  processor %.2f s, %.2f s: %.3f" % (
        median(one[1]), median(two[1]), median(two[1]) / median(one[1])))
    return [Row("convert: one worker, by the clock", list(one[0]),
                list(two[0]), "two workers", aim="1.8"),
            Row("convert: two workers, processor", list(two[1]), list(one[1]),
                "one worker", aim="1.03")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("program", nargs="?")
    args = parser.parse_args()
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    report(os.path.abspath(args.build), nvcc, args.runs, args.program)


if __name__ == "__main__":
    main()
