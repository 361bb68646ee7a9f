#!/usr/bin/env python3
"""Samples and programs of tests/e2e/programs on AMD's own HIP runtimes.

    amd_hip.py [--suite bookworm] [--arch gfx1030] [--only TEXT]
               [--build DIR] [--roots DIR] [--keep DIR] [--download]

Builds each with nvcc, converts it, and runs it on the libamdhip64 of a Debian
suite over the emulator's HSA face: bookworm (5.2.3, which scripts/setup.sh
unpacks), trixie (5.7.1), unstable (6.4.3). The latter two need a newer C
library, so that each is unpacked into a root of its own, ROOTS/SUITE, where the
loader of that root starts the programs. For that, mmdebstrap downloads some
110 MB, once; --download does no more than that. With --keep programs are
converted once for several suites and targets. Prints a line for each program,
with the last words of those that fail, and how many passed; docs/hip-versions.md
says why others do not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = "gfx1030,gfx1100,gfx942"


def programs():
    """(source, nvcc's options, the conversion's options, variables)"""
    for source in sorted(ROOT.glob("samples/*/*.cu")):
        yield source, [], [], {}
    for source in sorted(ROOT.glob("tests/e2e/programs/*.cu")):
        text = re.sub(r"\\\n// RUN:", "", source.read_text())
        line = re.search(r"RUN: (?:env ([^%]*))?%check %s %t([^&\n]*)", text)
        if not line:
            continue
        variables = dict(word.split("=", 1)
                         for word in shlex.split(line[1] or ""))
        yield (source, ["-lcuda", *shlex.split(line[2])],
               shlex.split(variables.get("CONVERT", "")), variables)


def converted(work, options, source, nvcc, conversion):
    """The converted program, made unless it is there."""
    program = work / source.stem / "app"
    result = program.with_suffix(".amd")
    if result.exists():
        return result
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["nvcc", "-std=c++17", "-w", "-o", program, source, *nvcc],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([options.build / "bin/cerberus-convert", "-q", program,
                    "-o", result, "--arch", options.convert_for, *conversion],
                   check=True)
    return result


def run(root, program, options, variables):
    """"" or why the program did not pass."""
    # Several devices, where the program has some: with the target among them.
    for devices in variables.get("DEVICES", options.arch).split():
        targets = devices
        if options.arch in devices.split(","):
            break
    else:
        targets = re.sub(r"gfx\w+", options.arch, targets)
    environment = {"PATH": os.environ["PATH"], "HOME": str(program.parent),
                   "CERBERUS_EMU_TARGETS": targets}
    for word in shlex.split(variables.get("RUN_ENV", "")):
        name, value = word.split("=", 1)
        environment[name] = value
    command = root.command(environment, program)
    try:
        done = subprocess.run(command, env=environment, timeout=120,
                              capture_output=True, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "no end after 120 s"
    output = done.stdout + done.stderr
    if "running on the emulated" in output:
        return "the runtime found no GPU"
    if done.returncode == 0 and re.search(r"\bPASS$", done.stdout, re.M):
        return ""
    last = output.strip().splitlines()[-1:] or ["no output"]
    return f"exit {done.returncode}: {last[0][:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", default="bookworm",
                        choices=sorted(rocm_root.SUITES))
    parser.add_argument("--arch", default="gfx1030")
    parser.add_argument("--only", default="", help="what names must hold")
    parser.add_argument("--build", default=ROOT / "build/release",
                        type=pathlib.Path)
    parser.add_argument("--roots", default=ROOT / "build/rocm-roots",
                        type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--convert-for", default=TARGETS)
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--download", action="store_true")
    options = parser.parse_args()
    root = rocm_root.open_root(options.suite, options.roots, options.build)
    if options.download:
        return 0
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        work = options.keep.absolute() if options.keep else pathlib.Path(folder)

        def one(case):
            source, nvcc, conversion, variables = case
            program = converted(work, options, source, nvcc, conversion)
            return source.stem, run(root, program, options, variables)

        chosen = [c for c in programs() if options.only in c[0].stem]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for name, why in pool.map(one, chosen):
                print(f"{name}: {why or 'PASS'}", flush=True)
                passed, failed = passed + (not why), failed + bool(why)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
