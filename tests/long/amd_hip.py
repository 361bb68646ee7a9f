#!/usr/bin/env python3
"""Samples and programs of tests/e2e/programs on AMD's own HIP runtime.

    amd_hip.py [--build DIR] [--arch gfx1030] [--only TEXT]

Builds each with nvcc, converts it, and runs it on Debian 12's libamdhip64
(build/rocm-debian, scripts/setup.sh) over the emulator's HSA face. Prints a
line for each, with the last words of those that fail, and how many passed;
docs/hip-versions.md says why others do not.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def programs():
    """(source, nvcc's options, the conversion's options, variables)"""
    for source in sorted(ROOT.glob("samples/*/*.cu")):
        yield source, [], [], {}
    for source in sorted(ROOT.glob("tests/e2e/programs/*.cu")):
        text = source.read_text()
        line = re.search(r"RUN: (?:env ([^%]*))?%check %s %t([^&\n]*)", text)
        if not line:
            continue
        variables = dict(word.split("=", 1)
                         for word in shlex.split(line[1] or ""))
        yield (source, ["-lcuda", *shlex.split(line[2])],
               shlex.split(variables.get("CONVERT", "")), variables)


def run(program, options, variables):
    lib = pathlib.Path(options.build) / "lib/cerberus"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.path.dirname(program),
        "LD_PRELOAD": str(lib / "emulator/libhsa-runtime64.so.1"),
        "LD_LIBRARY_PATH": str(ROOT /
                               "build/rocm-debian/usr/lib/x86_64-linux-gnu"),
        "CERBERUS_EMU_TARGETS": options.arch,
    }
    if "," in variables.get("DEVICES", ""):
        environment["CERBERUS_EMU_TARGETS"] += "," + options.arch
    for word in shlex.split(variables.get("RUN_ENV", "")):
        name, value = word.split("=", 1)
        environment[name] = value
    try:
        done = subprocess.run([program], env=environment, timeout=600,
                              capture_output=True, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "no end after 600 s"
    output = done.stdout + done.stderr
    if done.returncode == 0 and re.search(r"\bPASS$", done.stdout, re.M):
        return ""
    last = output.strip().splitlines()[-1:] or ["no output"]
    return f"exit {done.returncode}: {last[0][:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--arch", default="gfx1030")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    convert = os.path.join(options.build, "bin/cerberus-convert")
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as work:
        for source, nvcc, conversion, variables in programs():
            if options.only not in source.stem:
                continue
            program = os.path.join(work, source.stem)
            subprocess.run(["nvcc", "-std=c++17", "-o", program, source, *nvcc],
                           check=True)
            subprocess.run([convert, "-q", program, "-o", program + ".amd",
                            "--arch", options.arch, *conversion], check=True)
            why = run(program + ".amd", options, variables)
            print(f"{source.stem}: {why or 'PASS'}", flush=True)
            passed, failed = passed + (not why), failed + bool(why)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
