#!/usr/bin/env python3
"""Measures Cerberus against what it can be compared with, side by side.

usage: run.py [--build DIR] [--runs N] [--targets gfx1100,gfx942]
              [--only PART,...] [--convert FILE] [FILE.ptx ...]

What the other programs here measure, each as a table: of compile_bench.py the
files if any are given, of many_cores.py that FILE. Start-up of a sample with
prebuilt code, with code from the cache, and with code compiled as it starts:
wall time of whole processes, median of N runs, the candidates taking turns.
Then one table of all that has an aim or a peer: medians and spread, with the
load of the machine before and after.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import code_quality
import compile_bench
import emulator_bench
import foreign_ptx
import growth
import jit_burst
import kpack_bench
import library_bench
import many_cores
import rewrite_bench
import split_bench
import start_bench
import summary

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
    return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--targets", default=",".join(emulator_bench.TARGETS))
    parser.add_argument("--only")
    parser.add_argument("--convert")
    parser.add_argument("ptx", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    tools = {
        "nvcc": nvcc,
        "ptxas": os.path.join(os.path.dirname(os.path.realpath(nvcc)),
                              "ptxas"),
        "convert": os.path.join(build, "bin", "cerberus-convert"),
    }
    def compile_modules(work):
        files = args.ptx or compile_bench.make_modules(nvcc, work)
        return compile_bench.report(build, tools["ptxas"], files, "gfx1100",
                                    args.runs)

    def compile_others(work):
        return foreign_ptx.report(build, tools["ptxas"],
                                  foreign_ptx.make_modules(nvcc, work),
                                  "gfx1100", 3)

    def launches(_):
        for bench in ("launch_bench", "aql_bench"):
            subprocess.run([os.path.join(build, "tests", bench)], check=True)
        return []

    parts = {
        "compile": compile_modules,
        "others": compile_others,
        "growth": lambda _: growth.report(build, tools["ptxas"], "gfx1100",
                                          2, 20),
        "code": lambda _: code_quality.report(build, ["gfx1100", "gfx942"]),
        "convert": lambda _: many_cores.report(build, nvcc, 3, args.convert),
        "rewrite": lambda _: rewrite_bench.report(build, nvcc, 552, args.runs),
        "split": lambda _: split_bench.report(build, args.runs),
        "kpack": lambda _: kpack_bench.report(build, 3),
        "sample": lambda work: bench_start(tools, args.runs, work),
        "launch": launches,
        "start": lambda _: start_bench.report(build, nvcc, "gfx1100",
                                              max(args.runs, 20)),
        "libraries": lambda _: library_bench.report(build, nvcc, args.runs),
        "burst": lambda _: jit_burst.report(build, tools["ptxas"], 500),
        "emulator": lambda _: emulator_bench.report(
            build, args.targets.split(","), True),
    }
    wanted = args.only.split(",") if args.only else list(parts)
    for part in wanted:
        if part not in parts:
            parser.error("--only: no '%s', but %s" % (part, ", ".join(parts)))
    # An hour and more: what is done is to be seen in a file as well.
    sys.stdout.reconfigure(line_buffering=True)
    before, rows = os.getloadavg()[0], []
    for part in wanted:
        with tempfile.TemporaryDirectory() as work:
            rows += parts[part](work)
    print(summary.table(rows, "load %.1f before, %.1f after, %d cores" % (
        before, os.getloadavg()[0], os.cpu_count())))


if __name__ == "__main__":
    main()
