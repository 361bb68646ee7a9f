#!/usr/bin/env python3
"""How fast programs that were not written for Cerberus compile, against ptxas.

usage: foreign_ptx.py [--build DIR] [--arch A] [--runs N] [--wheels DIR]
                      [FILE.ptx ...]

Without files: what nvcc makes of foreign/*.cu, kernels of the kinds that CUDA's
samples and programs with kernels of their own have (sums, sorts, stencils,
transforms, products, images, options, rays, graphs, digests, layers), in the
sizes and instances that such programs have; and, in the folder --wheels, as
tests/long/wheels.py leaves it, all modules of bitsandbytes and ctranslate2 with
kernels and at least 100 KB. Columns: seconds of processor time of whole
processes, ptxas -O3 and ptxc with one thread, taking turns, the best of N runs,
and their ratio.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import compile_bench
from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WHEELS = {"bitsandbytes": "bitsandbytes/libbitsandbytes_cuda130.so",
          "ctranslate2": "ctranslate2.libs/libctranslate2-.*"}
FEW_BYTES = 100000


def make_modules(nvcc, work):
    files = []
    for source in sorted(glob.glob(os.path.join(
            ROOT, "tests/bench/foreign/*.cu"))):
        path = os.path.join(work, os.path.basename(source)[:-3] + ".ptx")
        subprocess.run([nvcc, "-std=c++17", "-ptx", "-arch=compute_80", "-w",
                        "-o", path, source], check=True)
        files.append(path)
    return files


def wheel_modules(build, wheels, work):
    files = []
    for package, library in WHEELS.items():
        found = sorted(glob.glob(os.path.join(wheels, package + "-*.whl")))
        if not found:
            sys.exit("foreign_ptx: no wheel of %s in %s" % (package, wheels))
        with zipfile.ZipFile(found[-1]) as wheel:
            name = next(name for name in wheel.namelist()
                        if re.fullmatch(library, name))
            wheel.extract(name, work)
        parts = os.path.join(work, "ptx_of_" + package)
        subprocess.run([os.path.join(build, "bin", "cerberus"), "extract",
                        os.path.join(work, name), "-o", parts, "--kind", "ptx",
                        "-q"], check=True)
        for path in sorted(glob.glob(os.path.join(parts, "*.ptx"))):
            with open(path) as file:
                text = file.read()
            if len(text) >= FEW_BYTES and ".entry" in text:
                named = os.path.join(work, "%s_%s.ptx" % (
                    package, os.path.basename(path).split(".")[0]))
                os.rename(path, named)
                files.append(named)
    return files


def architecture(path):
    """The other benchmarks', or what the PTX asks for if that is later."""
    with open(path) as file:
        target = re.search(r"^\.target\s+sm_(\d+\w?)", file.read(), re.M)
    return "sm_" + (target.group(1) if int(target.group(1).rstrip("af")) > 90
                    else "90")


def report(build, ptxas, files, arch, runs):
    """Rows of all and of the worst, for summary.py."""
    jit = os.path.join(build, "bin", "cerberus-jit")
    print("\nPTX of other programs, %s" % arch)
    print("  %-24s%8s%9s%9s%7s" % ("module", "KB", "ptxas", "ptxc", "ratio"))
    samples = []
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        for path in files:
            theirs, ours = [], []
            for _ in range(runs):
                theirs += compile_bench.processor_times(
                    [ptxas, "-O3", "-arch=" + architecture(path), path, "-o",
                     out], 1)
                ours += compile_bench.processor_times(
                    [jit, "--arch", arch, "--jobs", "1", path, "-o", out], 1)
            samples.append((theirs, ours))
            print("  %-24s%8.1f%9.3f%9.3f%7.2f" % (
                os.path.basename(path)[:-4], os.path.getsize(path) / 1e3,
                min(theirs), min(ours), min(ours) / min(theirs)), flush=True)
    ratio = lambda sample: min(sample[1]) / min(sample[0])
    theirs, ours = (sum(min(sample[i]) for sample in samples) for i in (0, 1))
    print("  %-32s%9.3f%9.3f%7.2f\n  geometric mean of the ratios %.2f, "
          "worst %.2f" % ("all %d" % len(samples), theirs, ours, ours / theirs,
                          compile_bench.mean([ratio(s) for s in samples]),
                          max(ratio(s) for s in samples)))
    sums = [[sum(times) for times in zip(*(sample[i] for sample in samples))]
            for i in (0, 1)]
    worst = max(samples, key=ratio)
    return [Row("compile: %d files of other programs" % len(samples), sums[1],
                sums[0], "ptxas -O3", aim="1.2"),
            Row("compile: the worst of those", worst[1], worst[0], "ptxas -O3",
                aim="2")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--arch", default="gfx1100")
    parser.add_argument("--wheels")
    parser.add_argument("ptx", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    ptxas = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ptxas")
    with tempfile.TemporaryDirectory() as work:
        files = args.ptx or make_modules(nvcc, work)
        if args.wheels and not args.ptx:
            files += wheel_modules(build, args.wheels, work)
        report(build, ptxas, files, args.arch, args.runs)


if __name__ == "__main__":
    main()
