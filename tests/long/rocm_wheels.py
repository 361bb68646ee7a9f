#!/usr/bin/env python3
"""Splits ROCm wheels by GPU, installs them and looks at every code object.

usage: rocm_wheels.py [--build DIR] [--wheels DIR] [PACKAGE ...]

Downloads the wheels with pip unless they are in the folder and runs `cerberus
split-wheel`. twine finds no fault in what comes out, and pip installs all of it
offline into a fresh environment and misses nothing that the original did not
miss either. Each library's code, as clang-offload-bundler unpacks it from the
original, is what the installed library's wrappers lead to in the installed
archives, read without Cerberus. bitsandbytes' checks (wheel_bitsandbytes.py)
run on the emulator and come out as with the original. Wants msgpack, xxhash,
zstandard and lief (build/venv has them). Exit code 1 if anything failed.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile

import whole_wheels

sys.path.insert(0, os.path.join(whole_wheels.ROOT, "tests", "elf"))
import hip_bundles  # noqa: E402

# What the checks run on, of wheel_NAME.py: libraries and targets.
CHECKED = {"bitsandbytes": (["libbitsandbytes_rocm72.so"],
                            ["gfx942", "gfx1100"])}
PACKAGES = ["bitsandbytes", "cupy-rocm-7-0", "jax-rocm7-plugin",
            "onnxruntime-rocm"]


def environment(folder, wheels):
    """A fresh environment with these wheels: its python, its folder of
    packages and what pip misses there."""
    python = os.path.join(folder, "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip"]
    # Without what they need: that would be PyTorch, or ROCm.
    subprocess.run(pip + ["install", "-q", "--disable-pip-version-check",
                          "--no-index", "--no-deps"] + wheels, check=True)
    missed = subprocess.run(pip + ["check"], stdout=subprocess.PIPE,
                            check=False, universal_newlines=True).stdout
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
        stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return python, packages.stdout.strip(), missed


def compare(cerberus, original, packages, names, work):
    """The number of code objects that are the same."""
    count = 0
    for name in names:
        expected = hip_bundles.bundled(cerberus, os.path.join(original, name),
                                       work)
        found = hip_bundles.split(os.path.join(packages, name),
                                  {target for _, target in expected})
        if not expected or found != expected:
            wrong = [key for key in sorted(expected.keys() | found.keys())
                     if found.get(key) != expected.get(key)]
            raise RuntimeError("%s: %s" % (name, wrong or "no code object"))
        count += len(expected)
    return count


def checks(args, name, python, packages, original):
    """The last line of the checks' output by library and target; they must
    say the same of the original."""
    runtime = os.path.join(args.build,
                           "lib/cerberus/emulator/libamdhip64.so.7")
    lines = []
    for library in CHECKED[name][0]:
        for target in CHECKED[name][1]:
            said = []
            for folder in (original, packages):
                said.append(subprocess.run(
                    [python, os.path.join(whole_wheels.HERE,
                                          "wheel_%s.py" % name),
                     os.path.join(folder, name, library), runtime],
                    env=dict(os.environ, CERBERUS_EMU_TARGETS=target),
                    stdout=subprocess.PIPE, check=False,
                    universal_newlines=True).stdout)
            if said[0] != said[1] or " passed, " not in said[1]:
                raise RuntimeError("%s on %s: %s" % (library, target, said[1]))
            lines.append("%s on %s, as before: %s" % (
                library, target, said[1].splitlines()[-1]))
    return lines


def check(args, name):
    wheel = whole_wheels.download_wheel(name, args.wheels)
    cerberus = os.path.join(args.build, "bin", "cerberus")
    with tempfile.TemporaryDirectory(dir=args.wheels) as out:
        begin = time.time()
        report = json.loads(subprocess.run(
            [cerberus, "split-wheel", wheel, "-d", os.path.join(out, "wheels"),
             "--json", "-q"], stdout=subprocess.PIPE, check=True).stdout)
        seconds = time.time() - begin
        made = [row["path"] for row in report["wheels"]]
        whole_wheels.twine_check(args, made)
        _, original, missed = environment(os.path.join(out, "before"), [wheel])
        python, packages, missed_now = environment(
            os.path.join(out, "after"), made)
        if missed != missed_now:
            raise RuntimeError("pip check: " + missed_now)
        with zipfile.ZipFile(wheel) as file:
            names = [n for n in file.namelist() if n in report["split"]]
        count = compare(cerberus, original, packages, names, out)
        print("%s: %.0f s, %d libraries, %d code objects, %.1f MB -> host %.1f, "
              "%d wheels of at most %.1f MB" % (
                  os.path.basename(wheel), seconds, len(names), count,
                  os.path.getsize(wheel) / 1e6, report["wheels"][-1]["size"] /
                  1e6, len(made) - 1, max(
                      row["size"] for row in report["wheels"][:-1]) / 1e6),
              flush=True)
        if name in CHECKED:
            subprocess.run([python, "-m", "pip", "install", "-q",
                            "--disable-pip-version-check", "numpy"],
                           check=True)
            for line in checks(args, name, python, packages, original):
                print("  " + line, flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    whole_wheels.folder_options(parser)
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    return 0 if all([check(args, name) for name in args.packages]) else 1


if __name__ == "__main__":
    sys.exit(main())
