#!/usr/bin/env python3
"""How fast ptxc compiles, against ptxas -O3.

usage: compile_bench.py [--build DIR] [--runs N] [--arch A] [FILE.ptx ...]
       compile_bench.py --memory [--megabytes N]

Without files: the modules of samples/ and of tests/e2e/programs that nvcc
makes PTX of, CUB and Thrust among them. Columns: lexer and parser, the same
with checks, and with IR building too, in MB of PTX a second in a process that
does so again and again; then seconds of whole processes, ptxas, ptxc with one thread, ptxc with two (wall time, where
there are two processors to have; in the last line the modules two at a time,
one thread each, as convert compiles a program); then milliseconds of ptxc's phases.
Processor time where it is not said otherwise, the best of N runs, so that a
busy machine measures nearly the same.

--memory generates a module of N megabytes (25) and says what compiling it
with one thread takes.
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PHASES = ["Parse", "Check", "Lower", "Device library", "Optimise",
          "Generate code", "Link"]
FEW_BYTES = 1500  # a module without a kernel


def processor_times(command, runs, wall=False):
    """Of each run."""
    times = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        elapsed = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = (after.ru_utime + after.ru_stime - before.ru_utime -
                before.ru_stime)
        times.append(elapsed if wall else used)
    return times


def make_modules(nvcc, work):
    """The PTX of the project's programs; those without kernels are left out."""
    files = []
    sources = (sorted(glob.glob(os.path.join(ROOT, "samples/*/*.cu"))) +
               sorted(glob.glob(os.path.join(ROOT, "tests/e2e/programs/*.cu"))))
    for source in sources:
        path = os.path.join(work, os.path.basename(source)[:-3] + ".ptx")
        done = subprocess.run(
            [nvcc, "-std=c++17", "-ptx", "-arch=compute_80", "-w",
             "--extended-lambda", "-o", path, source],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0 and os.path.getsize(path) >= FEW_BYTES:
            files.append(path)
    return files


def phases(jit, arch, path, out, runs):
    """Milliseconds of each phase, the least of the runs."""
    best = {}
    for _ in range(runs):
        trace = out + ".json"
        subprocess.run([jit, "--arch", arch, path, "-o", out, "--time-trace",
                        trace], check=True, stderr=subprocess.DEVNULL)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        spent = dict.fromkeys(PHASES, 0)
        for event in events:
            if event["ph"] == "X" and event["name"] in spent:
                spent[event["name"]] += event["dur"] / 1e3
        for name, value in spent.items():
            best[name] = min(best.get(name, math.inf), value)
    return best


def parse_speed(build, files):
    """(parse, with checks, with IR building) in MB/s, by file."""
    lines = subprocess.run(
        [os.path.join(build, "tests", "ptx_parse_bench")] + files, check=True,
        stdout=subprocess.PIPE, text=True).stdout.splitlines()
    speeds = {}
    for line in lines[1:]:
        _, *speed, path = line.split(None, 4)
        speeds[path] = tuple(map(float, speed))
    return speeds


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def two_at_a_time(jit, ptxas, files, arch, runs):
    """Seconds of wall time for all files: two processes of ptxc at a time, as
    convert runs them, the largest first; and ptxas, one after the other."""
    files = sorted(files, key=os.path.getsize, reverse=True)

    def seconds(compile_one, workers):
        with tempfile.TemporaryDirectory() as work:
            best = math.inf
            for _ in range(runs):
                start = time.perf_counter()
                with concurrent.futures.ThreadPoolExecutor(workers) as pool:
                    list(pool.map(lambda file: subprocess.run(
                        compile_one(file, os.path.join(
                            work, os.path.basename(file))), check=True), files))
                best = min(best, time.perf_counter() - start)
            return best

    return (seconds(lambda file, out: [jit, "--arch", arch, "--jobs", "1",
                                       file, "-o", out], 2),
            seconds(lambda file, out: [ptxas, "-O3", "-arch=sm_90", file,
                                       "-o", out], 1))


def report(build, ptxas, files, arch, runs):
    """Rows for summary.py."""
    jit = os.path.join(build, "bin", "cerberus-jit")
    speeds = parse_speed(build, files)
    print("\nCompiling PTX for %s" % arch)
    print("  %-24s%8s%8s%8s%8s%9s%9s%7s%9s%7s  %s" %
          ("module", "KB", "parse", "+check", "+IR", "ptxas", "ptxc", "ratio",
           "-j2 wall", "ratio", "ms: " + ", ".join(PHASES)))
    rows = []
    compiled = []
    runs_of_all = []
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        for path in files:
            name = os.path.basename(path)[:-4]
            theirs = [ptxas, "-O3", "-arch=sm_90", path, "-o", out]
            ours = [jit, "--arch", arch, path, "-o", out]
            try:
                of_ptxas = processor_times(theirs, runs)
                of_one = processor_times(ours + ["--jobs", "1"], runs)
                two = min(processor_times(ours + ["--jobs", "2"], runs, True))
                ptxas_wall = min(processor_times(theirs, runs, True))
            except subprocess.CalledProcessError as error:
                print("  %-24s%s failed" % (name, error.cmd[0]))
                continue
            ptxas_time, one = min(of_ptxas), min(of_one)
            runs_of_all.append((of_one, of_ptxas))
            spent = phases(jit, arch, path, out, runs)
            size = os.path.getsize(path)
            compiled.append(path)
            rows.append(speeds[path] + (ptxas_time, one, one / ptxas_time, two,
                                        two / ptxas_wall, spent))
            print("  %-24s%8.1f%8.0f%8.0f%8.1f%9.3f%9.3f%7.2f%9.3f%7.2f  %s" %
                  ((name, size / 1e3) + rows[-1][:8] +
                   (" ".join("%.1f" % spent[p] for p in PHASES),)))
    if not rows:
        return []
    column = lambda i: [row[i] for row in rows]
    print("  %-32s%8.0f%8.0f%8.1f%9s%9s%7.2f%9s%7.2f" %
          ("geometric means", mean(column(0)), mean(column(1)),
           mean(column(2)), "", "", mean(column(5)), "", mean(column(7))))
    total = sum(sum(row[8].values()) for row in rows)
    pooled, ptxas_wall = two_at_a_time(jit, ptxas, compiled, arch, runs)
    print("  %-24s%32s%9.3f%9.3f%7.2f%9.3f%7.2f  %s" %
          ("all of them", "", sum(column(3)), sum(column(4)),
           sum(column(4)) / sum(column(3)), pooled, pooled / ptxas_wall,
           " ".join("%.0f%%" % (100 * sum(row[8][p] for row in rows) / total)
                    for p in PHASES)))
    # One sample is a run of all of them.
    ours, theirs = ([sum(column) for column in zip(*times)]
                    for times in zip(*runs_of_all))
    worst = max(rows, key=lambda row: row[5])
    return [Row("compile: %d modules" % len(rows), ours, theirs, "ptxas -O3",
                aim="1.2"),
            Row("compile: the worst of them", worst[4], worst[3], "ptxas -O3",
                aim="2"),
            Row("compile: all, two at a time, by the clock", pooled,
                ptxas_wall, "ptxas -O3, one")]


def large_module(path, megabytes):
    """Kernels with loops, loads, stores and arithmetic until it is full."""
    chance = random.Random(1)
    with open(path, "w") as file:
        file.write(".version 9.0\n.target sm_80\n.address_size 64\n")
        kernel = 0
        while file.tell() < megabytes * 1e6:
            file.write(".visible .entry kernel%d(.param .u64 in, .param .u64 "
                       "out, .param .u32 n)\n{\n.reg .pred %%p<40>;\n.reg "
                       ".f32 %%f<404>;\n.reg .b32 %%r<404>;\n.reg .b64 "
                       "%%rd<404>;\nld.param.u64 %%rd1, [in];\nld.param.u64 "
                       "%%rd2, [out];\nld.param.u32 %%r1, [n];\nmov.u32 %%r2, "
                       "%%tid.x;\nmov.f32 %%f1, 0f3F800000;\n" % kernel)
            for block in range(chance.randrange(2, 20)):
                file.write("mov.u32 %%r3, 0;\n$L%d:\n" % block)
                for k in range(10, 10 + chance.randrange(5, 60)):
                    file.write(
                        "mad.lo.s32 %%r%d, %%r2, %d, %%r3;\n"
                        "mul.wide.s32 %%rd%d, %%r%d, 4;\n"
                        "add.s64 %%rd%d, %%rd1, %%rd%d;\n"
                        "ld.global.nc.f32 %%f%d, [%%rd%d+%d];\n"
                        "fma.rn.f32 %%f1, %%f1, %%f%d, %%f1;\n" %
                        (k, chance.randrange(1, 99), k, k, k + 100, k, k,
                         k + 100, 4 * chance.randrange(99), k))
                file.write("add.s32 %%r3, %%r3, 1;\nsetp.lt.s32 %%p1, %%r3, "
                           "%%r1;\n@%%p1 bra $L%d;\n" % block)
            file.write("mul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd4, %rd2, "
                       "%rd4;\nst.global.f32 [%rd4], %f1;\nret;\n}\n")
            kernel += 1
    return kernel


def report_memory(build, arch, megabytes):
    with tempfile.TemporaryDirectory() as work:
        path, out = os.path.join(work, "large.ptx"), os.path.join(work, "out")
        kernels = large_module(path, megabytes)
        begin = time.perf_counter()
        subprocess.run([os.path.join(build, "bin", "cerberus-jit"), "--arch",
                        arch, "--jobs", "1", path, "-o", out], check=True)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        print("\n%d kernels, %.1f MB of PTX: %.0f s (%.0f s of processor "
              "time), at most %.2f GB of memory, %.1f MB of code" %
              (kernels, os.path.getsize(path) / 1e6,
               time.perf_counter() - begin, usage.ru_utime + usage.ru_stime,
               usage.ru_maxrss / 1048576, os.path.getsize(out) / 1e6))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--arch", default="gfx1100")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--megabytes", type=int, default=25)
    parser.add_argument("ptx", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    if args.memory:
        report_memory(build, args.arch, args.megabytes)
        return
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    ptxas = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ptxas")
    with tempfile.TemporaryDirectory() as work:
        files = args.ptx or make_modules(nvcc, work)
        report(build, ptxas, files, args.arch, args.runs)


if __name__ == "__main__":
    main()
