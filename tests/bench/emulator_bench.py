#!/usr/bin/env python3
"""How fast the emulator is, on one core.

usage: emulator_bench.py [--build DIR] [--targets gfx1100,gfx942] [--samples]

Million lane-instructions per second of one loop per kind of instruction, wall
time of a product of 512 x 512 matrices against the same loop on the host, and
with --samples the project's samples (as converted by Cerberus, with kernel
times from the emulator's counters). A lane-instruction is one vector or memory
instruction of one lane; scalar instructions and branches count nothing, their
time does.
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
# Seconds that AMD states for its own emulator (rocjitsu) on that loop.
MATRIX_LOOP = {"gfx1100": 13.0, "gfx1201": 3.7}
TARGETS = ["gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"]


def run(command, work, **variables):
    env = dict(os.environ, CERBERUS_EMU_THREADS="1", **variables)
    return subprocess.run(command, env=env, cwd=work, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def counters(command, work, **variables):
    """The kernels of a run with the emulator's counters on, by name."""
    path = os.path.join(work, "stats.json")
    run(command, work, CERBERUS_EMU_STATS=path, **variables)
    with open(path) as file:
        return {k["name"]: k for k in json.load(file)["kernels"]}


def short(mangled):
    """_Z7fma_f32PfPi: fma_f32"""
    digits = ""
    for c in mangled[2:]:
        if not c.isdigit():
            break
        digits += c
    return mangled[2 + len(digits):][:int(digits)] if digits else mangled


def loops(program, target, work):
    """Million lane-instructions per second by loop, and the times."""
    timed = {}
    for line in run([program], work,
                    CERBERUS_EMU_TARGETS=target).splitlines():
        name, seconds = line.split()
        timed[name] = float(seconds)
    counted = counters([program], work, CERBERUS_EMU_TARGETS=target)
    rates = {}
    for mangled, kernel in counted.items():
        name = short(mangled)
        work_done = kernel["lane_instructions"] / kernel["launches"]
        rates[name] = work_done / timed[name] / 1e6
    return rates, timed


def build_samples(work):
    """The programs of samples/, as people build them."""
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    programs = []
    for source in sorted(glob.glob(os.path.join(ROOT, "samples/*/*.c*"))):
        program = os.path.join(work, os.path.basename(source).split(".")[0])
        if source.endswith(".cu"):
            command = [nvcc]
        else:
            command = ["g++", "-I%s/include" % toolkit,
                       "-L%s/lib64/stubs" % toolkit,
                       "-L%s/build/stubs" % ROOT]
        subprocess.run(command + ["-o", program, source, "-lcuda"],
                       check=True)
        programs.append(program)
    return programs


def samples(build, programs, target, work):
    """The geometric mean of the samples' lane-instructions."""
    rates = []
    for program in programs:
        converted = "%s.%s" % (program, target)
        subprocess.run([os.path.join(build, "bin", "cerberus-convert"),
                        program, "-o", converted, "--arch", target],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        done = seconds = 0
        for kernel in counters([converted], work).values():
            done += kernel["lane_instructions"]
            seconds += kernel["seconds"]
        rates.append(done / seconds / 1e6)
    return math.exp(sum(math.log(r) for r in rates) / len(rates))


def report(build, targets, with_samples):
    """Rows for summary.py."""
    program = os.path.join(build, "tests", "emulator_bench")
    columns, times, geometric = {}, {}, {}
    with tempfile.TemporaryDirectory() as work:
        programs = build_samples(work) if with_samples else []
        for target in targets:
            columns[target], times[target] = loops(program, target, work)
            if with_samples:
                geometric[target] = samples(build, programs, target, work)
    order = ["fma_f32", "integer", "fma_f16", "fma_f64", "lds", "global", "flat",
             "transcendental", "dpp", "permute", "atomics", "matrix",
             "matmul"]
    print("\nThe emulator on one core, million lane-instructions per second")
    print("  %-28s" % "loop" + "".join("%10s" % t for t in targets))
    for name in order:
        print("  %-28s" % name + "".join(
            "%10.0f" % columns[t][name] for t in targets))
    if geometric:
        print("  %-28s" % "samples, geometric mean" + "".join(
            "%10.0f" % geometric[t] for t in targets))
    print("\nA product of 512 x 512 matrices of f32, one core")
    for what, value in (("emulated, ms", lambda e, h: 1e3 * e),
                        ("the same loop on the host, ms",
                         lambda e, h: 1e3 * h),
                        ("ratio", lambda e, h: e / h)):
        print("  %-28s" % what + "".join(
            "%10.4g" % value(times[t]["matmul"], times[t]["matmul_host"])
            for t in targets))
    print("\nAMD's loop of matrix instructions, one core")
    for target in targets:
        if target in MATRIX_LOOP:
            seconds = times[target]["matrix_loop"]
            print("  %s: %.3f s; AMD states %.1f s for its own emulator, %.0f"
                  " times that" % (target, seconds, MATRIX_LOOP[target],
                                   MATRIX_LOOP[target] / seconds))
    # Its spread is that of the targets.
    rows = [Row("emulator: %s, %d targets" % (name, len(targets)),
                [columns[t][name] for t in targets], unit="M/s", aim=aim)
            for name, aim in (("fma_f32", "2000"), ("integer", "2000"),
                              ("lds", "2000"), ("fma_f16", "1500"),
                              ("global", "1500"), ("fma_f64", "1000"),
                              ("transcendental", "1000"))]
    rows += [Row("emulator: AMD's matrix loop, %s" % t,
                 times[t]["matrix_loop"], MATRIX_LOOP[t],
                 "AMD's own, as it states", aim="1")
             for t in targets if t in MATRIX_LOOP]
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--samples", action="store_true")
    args = parser.parse_args()
    report(os.path.abspath(args.build), args.targets.split(","),
           args.samples)


if __name__ == "__main__":
    sys.exit(main())
