#!/usr/bin/env python3
"""What ptxc makes of kernels against what clang makes of the same source.

usage: code_quality.py [--build DIR] [--targets gfx1100,gfx942] [SOURCE ...]

code_quality.cu (small kernels) and code_quality_*.cu (such as fill the
registers, run long, or are of a kind of their own) are built by nvcc and
converted, and built by clang -x hip -O3; both programs run on the emulator and
must print the same. The table has, for each kernel, the executed instructions
of all waves without waits, the vector registers, spills, bytes and accesses of
scratch of both; ratios below 1 are in ptxc's favour. Warps are 32 lanes wide in CUDA, so on targets with waves of 64 ptxc
has to prove that two of them may share one.
"""
import argparse
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SMALL = os.path.join(ROOT, "tests/bench/code_quality.cu")
LARGE = sorted(glob.glob(os.path.join(ROOT, "tests/bench/code_quality_*.cu")))


def name_of(symbol):
    """_Z10vector_addPf...: vector_add"""
    digits = ""
    while symbol[2 + len(digits)].isdigit():
        digits += symbol[2 + len(digits)]
    begin = 2 + len(digits)
    return symbol[begin:begin + int(digits)]


def run(program, target, work):
    """What it prints, by kernel, and the counters, by kernel."""
    stats = os.path.join(work, "stats.json")
    env = dict(os.environ, CERBERUS_EMU_STATS=stats,
               CERBERUS_EMU_TARGETS=target)
    done = subprocess.run([program], env=env, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit("%s on %s: %s%s" % (program, target, done.stdout,
                                     done.stderr))
    with open(stats) as file:
        counters = {name_of(k["name"]): k for k in json.load(file)["kernels"]}
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), counters


def instructions(kernel):
    counts = kernel["instructions"]
    return sum(counts.values()) - counts.get("wait", 0)


def same(a, b):
    """Checksums of sums that were rounded in different places."""
    return abs(float(a) - float(b)) <= 2e-3 * max(abs(float(a)),
                                                  abs(float(b)), 1e-30)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compare(build, hip, cuda, target, work):
    """(ratio, name, our counters, clang's, a note) of each kernel."""
    converted = os.path.join(work, "converted." + target)
    subprocess.run([os.path.join(build, "bin", "cerberus-convert"), cuda,
                    "-o", converted, "--arch", target, "-q"], check=True)
    our_output, ours = run(converted, target, work)
    their_output, theirs = run(hip, target, work)
    rows = []
    for name in theirs:
        a, b = ours[name], theirs[name]
        note = ""
        if not same(our_output[name], their_output[name]):
            note = "  other result: %s, %s" % (our_output[name],
                                               their_output[name])
        rows.append((instructions(a) / instructions(b), name, a, b, note))
    return rows


def print_table(target, rows):
    print("\nCode for %s, ptxc : clang -x hip -O3" % target)
    print("  %-22s%9s%9s%7s%11s%11s%9s%11s%14s" %
          ("kernel", "instr.", "clang", "ratio", "VGPRs", "SGPRs", "spills",
           "scratch", "accesses"))
    for ratio, name, a, b, note in sorted(rows, key=lambda r: -r[0]):
        pair = lambda of: "%d : %d" % (of(a), of(b))
        print("  %-22s%9d%9d%7.2f%11s%11s%9s%11s%14s%s" % (
            name, instructions(a), instructions(b), ratio,
            pair(lambda k: k["vgprs"]), pair(lambda k: k["sgprs"]),
            pair(lambda k: k["vgpr_spills"] + k["sgpr_spills"]),
            pair(lambda k: k["private_bytes"]),
            pair(lambda k: k["instructions"].get("scratch", 0)), note))
    print("  %-22s%25.3f%11.3f" % (
        "geometric means", mean([r[0] for r in rows]),
        mean([a["vgprs"] / b["vgprs"] for _, _, a, b, _ in rows])))


def summed_up(target, kind, rows):
    worst = max(rows, key=lambda r: r[0])
    accesses = [sum(kernel["instructions"].get("scratch", 0)
                    for kernel in column)
                for column in list(zip(*rows))[2:4]]
    what = "code, %s, %s: " % (target, kind)
    return [Row(what + "instructions, mean", mean([r[0] for r in rows]), 1.0,
                "clang", "", "0.95"),
            Row(what + worst[1], instructions(worst[2]),
                instructions(worst[3]), "clang, worst of all", "", "1.15"),
            Row(what + "accesses to scratch", accesses[0], None,
                "clang: %d" % accesses[1], "", "no more")]


def report(build, targets):
    return (report_kind(build, targets, "small", [SMALL]) +
            report_kind(build, targets, "large", LARGE))


def report_kind(build, targets, kind, sources):
    print("\nKernels: " + kind)
    rows = {target: [] for target in targets}
    for source in sources:
        for target, its in compare_source(build, targets, source).items():
            rows[target] += its
    table = []
    for target in targets:
        print_table(target, rows[target])
        table += summed_up(target, kind, rows[target])
    return table


def compare_source(build, targets, source):
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    face = os.path.join(build, "lib/cerberus/emulator")
    with tempfile.TemporaryDirectory() as work:
        cuda, hip = os.path.join(work, "cuda"), os.path.join(work, "hip")
        subprocess.run([nvcc, "-std=c++17", "-gencode",
                        "arch=compute_80,code=compute_80", "-o", cuda,
                        source], check=True)
        subprocess.run(["clang++-22", "-x", "hip", source, "-x", "none",
                        "-std=c++20", "-I" + os.path.join(
                            ROOT, "tests/unit/emulator"), "-nogpulib",
                        "-nogpuinc", "-no-hip-rt", "-O3",
                        os.path.join(face, "libamdhip64.so"),
                        "-Wl,-rpath," + face, "-o", hip] +
                       ["--offload-arch=" + t for t in targets], check=True)
        return {target: compare(build, hip, cuda, target, work)
                for target in targets}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--targets", default="gfx1100,gfx942")
    parser.add_argument("source", nargs="*")
    args = parser.parse_args()
    build, targets = os.path.abspath(args.build), args.targets.split(",")
    if args.source:
        report_kind(build, targets, "named", args.source)
    else:
        report(build, targets)


if __name__ == "__main__":
    main()
