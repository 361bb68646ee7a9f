#!/usr/bin/env python3
"""Splitting of large HIP libraries, against copying and compressing.

usage: split_bench.py [--build DIR] [--runs N]

A library of 400 MB with 50 bundles, and one with 40 bundles that are compressed
and hold 400 MB. Each is split into archives for two targets; `cp` copies the
library, and `zstd -3`, with as many threads, compresses the code objects.
Medians of N runs in turns, and the anonymous memory of a run at most.
"""
import argparse
import os
import random
import statistics
import subprocess
import tempfile
import threading
import time

from rewrite_bench import ROOT, assemble
from summary import Row

LLVM = "/usr/lib/llvm-22/bin"
TARGETS = ("gfx1100", "gfx942")
WRAPPER = ".long 0x48495046, 1\n.quad bundle%d, 0\n"


def code_object(target, folder):
    source = os.path.join(folder, "kernel.hip")
    with open(source, "w") as file:
        file.write("__attribute__((global)) void Kernel(int* p) { *p = 1; }\n")
    path = os.path.join(folder, target)
    subprocess.run([LLVM + "/clang", "-x", "hip", "--cuda-device-only",
                    "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O1",
                    "--offload-arch=" + target, source, "-o", path],
                   check=True)
    with open(path, "rb") as file:
        return file.read()


def like_code(chance, size):
    """Bytes that zstd makes four to eight times smaller, as code is: words of
    a vocabulary, with a number now and then."""
    words = [chance.randbytes(8) for _ in range(1 << 10)]
    out = bytearray()
    while len(out) < size:
        block = b"".join(chance.choices(words, k=2000)) + chance.randbytes(600)
        out += block * 2
    return bytes(out[:size])


def library(name, bundles, megabytes, compress, folder):
    """The path of a library of so many bundles, and that of a file of their
    code objects."""
    chance = random.Random(11)
    code = {target: code_object(target, folder) for target in TARGETS}
    size = (megabytes << 20) // bundles // len(TARGETS)
    raw = os.path.join(folder, "raw")
    source = ['.section .hip_fatbin,"a",@progbits\n']
    with open(raw, "wb") as all_code:
        for i in range(bundles):
            command = [LLVM + "/clang-offload-bundler", "--type=o",
                       "--bundle-align=4096", "--targets=host-x86_64-unknown-"
                       "linux-gnu-," + ",".join(
                           "hipv4-amdgcn-amd-amdhsa--" + t for t in TARGETS),
                       "--input=/dev/null"]
            for target in TARGETS:
                data = code[target] + like_code(chance, size)
                all_code.write(data)
                part = os.path.join(folder, target + ".part")
                with open(part, "wb") as file:
                    file.write(data)
                command.append("--input=" + part)
            bundle = os.path.join(folder, "bundle%d" % i)
            subprocess.run(command + ["--output=" + bundle] +
                           ["-compress"] * compress, check=True)
            source.append('.balign 4096\nbundle%d:\n.incbin "%s"\n' % (
                i, bundle))
    source.append('.section .hipFatBinSegment,"aw",@progbits\n' + "".join(
        WRAPPER % i for i in range(bundles)))
    blob = os.path.join(folder, "large.o")
    assemble("".join(source), blob, folder)
    path = os.path.join(folder, "lib%s.so" % name)
    subprocess.run(["gcc", "-shared", "-o", path, blob], check=True)
    for i in range(bundles):
        os.remove(os.path.join(folder, "bundle%d" % i))
    os.remove(blob)
    return path, raw


def run(command):
    """Seconds by the clock and of the processor, MB of anonymous memory."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = [0]

    def watch():
        while process.returncode is None:
            try:
                with open("/proc/%d/status" % process.pid) as file:
                    for line in file:
                        if line.startswith("RssAnon:"):
                            peak[0] = max(peak[0], int(line.split()[1]))
            except OSError:
                return
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    watcher.join()
    if status != 0:
        raise RuntimeError(" ".join(command) + " fails")
    return (time.perf_counter() - begin, usage.ru_utime + usage.ru_stime,
            peak[0] / 1024)


def report(build, runs):
    """Rows for summary.py."""
    table = []
    print("\nSplitting of HIP libraries for %s" % " and ".join(TARGETS))
    print("  %-38s%10s%14s%8s%12s" % ("", "clock s", "processor s", "ratio",
                                      "anonymous"))
    for name, bundles, compress in (("plain", 50, False),
                                    ("compressed", 40, True)):
        with tempfile.TemporaryDirectory() as folder:
            path, raw = library(name, bundles, 400, compress, folder)
            copy, packed = (os.path.join(folder, n) for n in ("copy", "zst"))
            out = os.path.join(folder, "out")
            commands = (
                ["cp", "--reflink=never", path, copy],
                ["zstd", "-q", "-f", "-3", "-T2", raw, "-o", packed],
                ["sh", "-c", "rm -rf %s && mkdir %s && exec %s split -q %s -o "
                 "%s/" % (out, out, os.path.join(build, "bin", "cerberus"),
                          path, out) + os.path.basename(path)])
            rows = [[] for _ in commands]
            for _ in range(runs):
                for mine, command in zip(rows, commands):
                    mine.append(run(command))
            copied, zstd, split = (
                [statistics.median(column) for column in zip(*mine)]
                for mine in rows)
            print("  %d MB, %d bundles, %s; archives %d MB" % (
                os.path.getsize(path) >> 20, bundles, name, sum(
                    entry.stat().st_size for entry in
                    os.scandir(os.path.join(out, ".kpack"))) >> 20))
            plain = [a + b for a, b in zip(copied, zstd)]
            table.append(Row(
                "split: %d bundles, %s" % (bundles, name),
                [row[1] for row in rows[2]],
                [a[1] + b[1] for a, b in zip(rows[0], rows[1])],
                "cp and zstd -3", "s", "2"))
            for label, row in (("cp and zstd -3", plain), ("split", split)):
                print("    %-36s%10.2f%14.2f%8.2f%9.0f MB" % (
                    label, row[0], row[1], row[1] / plain[1], row[2]))
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    report(os.path.abspath(args.build), args.runs)


if __name__ == "__main__":
    main()
