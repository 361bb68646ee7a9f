#!/usr/bin/env python3
"""Measures Cerberus against what it can be compared with, side by side.

usage: run.py [--build DIR] [--runs N] [--targets gfx1100,gfx942]
              [FILE.ptx ...]

What compile_bench.py measures, of the files if any are given; what
code_quality.py does; a conversion without its compiling, but with its check of
every byte and its fsync, against cp of the same file; start-up of a sample
with prebuilt code, with code from the cache, and with code compiled as it
starts: wall time of whole processes, median of N runs, the candidates taking
turns. Then what launch_bench, start_bench.py and emulator_bench.py measure,
the samples too.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import code_quality
import compile_bench
import emulator_bench
import start_bench

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def seconds(command, env=None):
    begin = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def medians(runs, *candidates):
    """The median time of each candidate, a function without arguments.

    They take turns, so that a slow moment of the machine hits all of them.
    """
    times = [[] for _ in candidates]
    for _ in range(runs):
        for mine, candidate in zip(times, candidates):
            mine.append(candidate())
    return [statistics.median(mine) for mine in times]


def table(title, heads, rows):
    print("\n" + title)
    print("  %-28s" % heads[0] + "".join("%14s" % head for head in heads[1:]))
    for row in rows:
        print("  %-28s" % row[0] + "".join("%14s" % cell for cell in row[1:]))


def bench_rewrite(tools, runs, work):
    """A program with much read-only data, as big libraries are."""
    rows = []
    for megabytes in (1, 256):
        data = os.path.join(work, "data.bin")
        with open(data, "wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(1 << 20))
        source = os.path.join(work, "data.s")
        with open(source, "w") as file:
            file.write('.section .rodata\n.incbin "%s"\n'
                       '.section .note.GNU-stack,"",@progbits\n' % data)
        blob = os.path.join(work, "data.o")
        subprocess.run(["gcc", "-c", "-o", blob, source], check=True)
        program = os.path.join(work, "big")
        subprocess.run([tools["nvcc"], "-o", program, blob,
                        os.path.join(ROOT, "samples/scan/scan.cu")],
                       check=True)
        out = os.path.join(work, "big.out")
        mine, cp = medians(
            runs, lambda: seconds([tools["rewrite"], program, out]),
            lambda: seconds(["cp", "--reflink=never", program, out]))
        rows.append(("program of %d MB" % (os.path.getsize(program) >> 20),
                     "%.1f ms" % (1e3 * mine), "%.1f ms" % (1e3 * cp),
                     "%.2f" % (mine / cp)))
        for path in (data, source, blob, program, out):
            os.remove(path)
    table("Conversion without compiling",
          ("file", "rewriter", "cp", "ratio"), rows)


def bench_start(tools, runs, work):
    rows = []
    for sample in ("vector_add", "reduction"):
        program = os.path.join(work, sample)
        subprocess.run([tools["nvcc"], "-o", program, os.path.join(
            ROOT, "samples", sample, sample + ".cu")], check=True)
        folders = {}
        for name in ("prebuilt", "jit"):
            folder = os.path.join(work, name)
            os.makedirs(folder, exist_ok=True)
            folders[name] = os.path.join(folder, sample)
            subprocess.run([tools["convert"], program, "-o", folders[name],
                            "--arch", "gfx1100"], check=True,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        os.remove(os.path.join(work, "jit", ".kpack",
                               sample + "-gfx1100.kpack"))
        cache = {"CUDA_CACHE_PATH": os.path.join(work, "cache")}
        seconds([folders["jit"]], cache)
        times = medians(
            runs, lambda: seconds([folders["prebuilt"]], cache),
            lambda: seconds([folders["jit"]], cache),
            lambda: seconds([folders["jit"]], {"CUDA_CACHE_DISABLE": "1"}))
        rows.append((sample,) + tuple("%.1f ms" % (1e3 * t) for t in times))
    table("A sample from start to end, emulated gfx1100",
          ("sample", "prebuilt", "cached", "compiled"), rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--targets", default=",".join(emulator_bench.TARGETS))
    parser.add_argument("ptx", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    tools = {
        "nvcc": nvcc,
        "ptxas": os.path.join(os.path.dirname(os.path.realpath(nvcc)),
                              "ptxas"),
        "convert": os.path.join(build, "bin", "cerberus-convert"),
        "rewrite": os.path.join(build, "tests", "rewrite_once"),
    }
    with tempfile.TemporaryDirectory() as work:
        files = args.ptx or compile_bench.make_modules(nvcc, work)
        compile_bench.report(build, tools["ptxas"], files, "gfx1100",
                             args.runs)
        code_quality.report(build, ["gfx1100", "gfx942"])
        bench_rewrite(tools, args.runs, work)
        bench_start(tools, args.runs, work)
    subprocess.run([os.path.join(build, "tests", "launch_bench")], check=True)
    start_bench.report(build, nvcc, "gfx1100", max(args.runs, 20))
    emulator_bench.report(build, args.targets.split(","), True)


if __name__ == "__main__":
    main()
