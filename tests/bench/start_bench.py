#!/usr/bin/env python3
"""Starts of converted samples against the same programs built with HIP.

usage: start_bench.py [--build DIR] [--runs N]

Each sample is built by nvcc, with clang for the host's code, and converted, and
built by `clang -x hip` against the emulator's HIP, so that both find their code
prebuilt and run on the same device. The first one's kernel is also started by a program over the driver API
(start_driver.cc), which shows what cudart adds. Measured are whole processes,
medians of N, the candidates taking turns, by the clock and by processor time: to
the end, and to the moment when the first launch has returned (the program then
ends itself). The last row is a fresh process that compiles the smallest kernel,
against ptxas.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from summary import Row

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLES = ("vector_add", "matmul", "bitonic_sort")

# Each sample asks for errors right behind its first launch. It ends there in a
# way that compilers know nothing of: one of them left out what comes to nothing
# behind an _exit(), a third of the memory that vector_add writes to.
FIRST_LAUNCH = """#include <cuda_runtime.h>
#include <sys/syscall.h>
#include <unistd.h>
#undef cudaGetLastError
#define cudaGetLastError() \\
  static_cast<cudaError_t>(syscall(SYS_exit_group, 0))
"""


def installed(build, folder):
    """A copy of what is installed. What a linker has written lies in small
    pieces in the kernel's cache, and starts with it take a third longer."""
    copy = os.path.join(folder, "installed")
    for name in ("bin", os.path.join("lib", "cerberus")):
        shutil.copytree(os.path.join(build, name), os.path.join(copy, name),
                        symlinks=True)
    return copy


def convert(build, target, program):
    """The path of the converted program."""
    converted = program + ".amd"
    subprocess.run([os.path.join(build, "bin", "cerberus-convert"), program,
                    "-o", converted, "--arch", target], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return converted


def build_driver(build, nvcc, target, sample, folder):
    """A program over the driver API, to its first launch."""
    fatbin = os.path.join(folder, sample + ".fatbin")
    subprocess.run([nvcc, "-O2", "-fatbin", "-o", fatbin, os.path.join(
        ROOT, "samples", sample, sample + ".cu")], check=True)
    program = os.path.join(folder, sample + "-driver")
    subprocess.run(["clang++-22", "-std=c++20", "-O2", "-I", ROOT,
                    "-DFATBIN=\"%s\"" % fatbin,
                    os.path.join(HERE, "start_driver.cc"),
                    os.path.join(build, "lib", "cerberus", "libcuda.so.1"),
                    "-o", program], check=True)
    return convert(build, target, program)


def build_pair(build, nvcc, target, sample, folder, to_first_launch):
    """The paths of the converted program and of the HIP program."""
    source = os.path.join(ROOT, "samples", sample, sample + ".cu")
    name = os.path.join(folder, sample + "-first" * to_first_launch)
    include = []
    if to_first_launch:
        header = os.path.join(folder, "first_launch.h")
        with open(header, "w") as file:
            file.write(FIRST_LAUNCH)
        include = ["-include", header]
    # The host's code by one compiler.
    subprocess.run([nvcc, "-O2", "-ccbin", "clang++-22",
                    "-allow-unsupported-compiler", *include, "-o", name,
                    source], check=True)
    converted = convert(build, target, name)
    face = os.path.join(build, "lib", "cerberus", "emulator")
    hip = name + ".hip"
    subprocess.run(["clang++-22", "-x", "hip", "-std=c++20", "-O2", "-w",
                    "-I", os.path.join(HERE, "hip_samples"), "-I", HERE, "-I",
                    os.path.join(ROOT, "tests", "unit", "emulator"), *include,
                    "--offload-arch=" + target, "-nogpulib", "-nogpuinc",
                    "-no-hip-rt", source, "-x", "none",
                    os.path.join(face, "libamdhip64.so.7"),
                    "-Wl,-rpath," + face, "-o", hip], check=True)
    return converted, hip


def samples(runs, environment, *programs):
    """Wall and processor time of each run of each program, in seconds."""
    times = [[] for _ in programs]
    with open(os.devnull, "w") as null:
        for _ in range(runs):
            for mine, program in zip(times, programs):
                begin = time.perf_counter()
                command = [program] if isinstance(program, str) else program
                process = subprocess.Popen(command, env=environment,
                                           stdout=null, stderr=null)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
                if status != 0:
                    raise RuntimeError("%s fails" % program)
                mine.append((time.perf_counter() - begin,
                             usage.ru_utime + usage.ru_stime))
    return times


def report(build, nvcc, target, runs):
    """Rows of processor time for summary.py."""
    rows = []
    environment = {"CERBERUS_DEVICE": target, "CERBERUS_EMU_TARGETS": target}
    print("\nStarts with prebuilt code, emulated " + target)
    print("  %-28s%14s%14s%8s%14s%14s%8s" % (
        "sample", "converted", "HIP", "ratio", "processor", "HIP", "ratio"))
    with tempfile.TemporaryDirectory() as folder:
        build = installed(build, folder)

        def row(name, converted, hip, against="HIP", aim="1.15"):
            times = samples(runs, environment, converted, hip)
            median = [[statistics.median(column) for column in zip(*mine)]
                      for mine in times]
            cells = ["%11.1f ms%11.1f ms%8.2f" %
                     (1e3 * mine, 1e3 * other, mine / other)
                     for mine, other in zip(*median)]
            print("  %-28s%s%s" % (name, *cells))
            ours, theirs = ([time[1] for time in mine] for mine in times)
            rows.append(Row("start: " + name, ours, theirs, against, "ms",
                            aim))

        for to_first_launch in (True, False):
            for sample in SAMPLES:
                converted, hip = build_pair(build, nvcc, target, sample, folder,
                                            to_first_launch)
                row(sample + (", first launch" if to_first_launch else
                              ", to the end"), converted, hip)
                if to_first_launch and sample == SAMPLES[0]:
                    row(sample + ", by the driver", build_driver(
                        build, nvcc, target, sample, folder), hip)
        smallest = os.path.join(folder, "smallest.ptx")
        with open(smallest, "w") as file:
            file.write(".version 7.8\n.target sm_75\n.address_size 64\n"
                       ".visible .entry k() { ret; }\n")
        ptxas = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ptxas")
        row("smallest kernel",
            [os.path.join(build, "bin", "cerberus-jit"), "--arch", target,
             smallest, "-o", "-"],
            [ptxas, "-arch=sm_75", "-O3", smallest, "-o",
             os.path.join(folder, "cubin")], "ptxas -O3", "10 ms")
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--target", default="gfx1100")
    args = parser.parse_args()
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    report(os.path.abspath(args.build), nvcc, args.target, args.runs)


if __name__ == "__main__":
    main()
