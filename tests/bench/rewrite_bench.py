#!/usr/bin/env python3
"""Conversions of large files without their compiling, against copying them.

usage: rewrite_bench.py [--build DIR] [--runs N] [--megabytes N]

A program with much read-only data, and a library of many modules, each with
PTX and machine code for several chips, as PyTorch's are. Each is read, planned,
written and checked (rewrite_once.cc), and listed; `cp --reflink=never` copies
it, and fsync, which ends a conversion, is part of its time by the clock as
well. Medians of N runs in turns, and what the processes held in memory at most.
"""
import argparse
import os
import random
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry scale_%d(.param .u64 out)
{
  .reg .b32 %%r<3>;
  .reg .b64 %%rd<4>;
  ld.param.u64 %%rd1, [out];
  mov.u32 %%r1, %%tid.x;
  mul.wide.u32 %%rd2, %%r1, 4;
  add.s64 %%rd3, %%rd1, %%rd2;
  mul.lo.s32 %%r2, %%r1, %d;
  st.global.u32 [%%rd3], %%r2;
  ret;
}
"""
PTX_KIND, CUBIN_KIND = 1, 2
CHIPS = (75, 80, 86, 89, 90)


def assemble(source, output, folder):
    path = os.path.join(folder, "large.s")
    with open(path, "w") as file:
        file.write(source + '.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(["gcc", "-c", "-o", output, path], check=True)


def data_program(nvcc, megabytes, folder):
    """The path of a program with so much read-only data."""
    data, blob = (os.path.join(folder, name) for name in ("data", "data.o"))
    with open(data, "wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1 << 20))
    assemble('.section .rodata\n.incbin "%s"\n' % data, blob, folder)
    program = os.path.join(folder, "program")
    subprocess.run([nvcc, "-o", program, blob,
                    os.path.join(ROOT, "samples", "scan", "scan.cu")],
                   check=True)
    os.remove(data)
    os.remove(blob)
    return program


def entry(kind, sm, payload):
    """docs/fatbin-format.md"""
    payload += bytes(-len(payload) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), 0, 0,
                       8, 7, sm, 0, 0, 0x11, 0, 0) + payload


def fatbin_library(modules, kilobytes, folder):
    """The path of a library of so many modules of so many kilobytes."""
    data, blob = (os.path.join(folder, name) for name in ("data", "data.o"))
    chance = random.Random(17)
    wrappers = ['.section .nvFatBinSegment,"aw",@progbits\n']
    at = 0
    with open(data, "wb") as file:
        for i in range(modules):
            body = entry(PTX_KIND, 75, (PTX % (i, i + 3)).encode() + b"\0")
            for sm in CHIPS:
                body += entry(CUBIN_KIND, sm, chance.randbytes(
                    kilobytes * 1024 // len(CHIPS)))
            file.write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)))
            file.write(body)
            wrappers.append(".long 0x466243b1, 1\n.quad fatbins+%d, 0\n" % at)
            at += 16 + len(body)
    assemble('.section .nv_fatbin,"a",@progbits\n.balign 8\nfatbins:\n'
             '.incbin "%s"\n%s' % (data, "".join(wrappers)), blob, folder)
    library = os.path.join(folder, "liblarge.so")
    subprocess.run(["gcc", "-shared", "-o", library, blob], check=True)
    os.remove(data)
    os.remove(blob)
    return library


def run(command):
    """Seconds by the clock and of the processor, and MB held in memory."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        raise RuntimeError(" ".join(command) + " fails")
    return (time.perf_counter() - begin, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024)


def measure(runs, commands):
    """For each command the medians of run(), and each processor time."""
    results = [[] for _ in commands]
    for _ in range(runs):
        for mine, command in zip(results, commands):
            mine.append(run(command))
    rows = []
    for mine in results:
        rows.append([statistics.median(column) for column in zip(*mine)] +
                    [[row[1] for row in mine]])
    return rows


def report(build, nvcc, megabytes, runs):
    """Rows for summary.py."""
    summary = []
    print("\nLarge files without compiling")
    print("  %-34s%12s%20s%8s%10s%8s" % (
        "", "clock ms", "processor ms", "ratio", "in memory", ""))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        for name, path in (
                ("program", data_program(nvcc, megabytes, folder)),
                ("library of 2,000 modules",
                 fatbin_library(2000, megabytes * 1024 // 2000, folder))):
            size = os.path.getsize(path) >> 20
            print("  %s, %d MB" % (name, size))
            commands = (
                ["sh", "-c", "cp --reflink=never %s %s && sync -d %s" %
                 (path, out, out)],
                [os.path.join(build, "tests", "rewrite_once"), path, out],
                [os.path.join(build, "bin", "cerberus"), "list", path])
            rows = measure(runs, commands)
            for label, row in zip(("cp, sync", "rewriter", "list"), rows):
                print("    %-32s%12.0f%9.0f (%3.0f-%4.0f)%8.2f%7.0f MB" % (
                    label, 1e3 * row[0], 1e3 * row[1], 1e3 * min(row[3]),
                    1e3 * max(row[3]), row[1] / rows[0][1], row[2]))
            os.remove(path)
            summary += [
                Row("rewriter: " + name, rows[1][3], rows[0][3],
                    "cp --reflink=never", "ms", "1.5"),
                Row("rewriter: " + name + ", memory", rows[1][2], unit="MB",
                    aim="64 MB"),
                Row("list: " + name + ", memory", rows[2][2], unit="MB",
                    aim="64 MB")]
    return summary


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=552)
    args = parser.parse_args()
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    report(os.path.abspath(args.build), nvcc, args.megabytes, args.runs)


if __name__ == "__main__":
    main()
