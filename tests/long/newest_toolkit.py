#!/usr/bin/env python3
"""Is there a CUDA toolkit newer than the newest that is tested here?

usage: newest_toolkit.py

Asks PyPI, and fails with one sentence for each thing that has moved:
  the cudart       against the table of tests/long/cudarts.py
  the compiler     against what scripts/setup.sh installs
  the driver API   each function and each version of it in the newest headers,
                   against runtime-stub/api/cuda_api.def
Needs the network; fetches one wheel, 3 MB.
"""
import argparse
import glob
import os
import re
import sys
import tempfile
import zipfile

import cudarts

ROOT = cudarts.ROOT


def version_of(text):
    return tuple(int(part) for part in text.split("."))


def pip(*arguments):
    return cudarts.run([sys.executable, "-m", "pip",
                        "--disable-pip-version-check", *arguments])


def newest(package):
    """The version of the newest release, without preliminary ones."""
    said = pip("index", "versions", package)
    return re.search(r"%s \(([\d.]+)\)" % package, said).group(1)


def fetch(package, folder):
    pip("download", "-q", "--no-deps", "--only-binary=:all:", "--dest", folder,
        package)
    path, = glob.glob(os.path.join(folder, "*.whl"))
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder)


def cudart_moved(version):
    known = max(cudarts.VERSIONS, key=version_of)
    if version_of(version) > version_of(known):
        yield ("PyPI has cudart %s; the newest in tests/long/cudarts.py is %s: "
               "add it and run that script" % (version, known))


def compiler_moved(version):
    with open(os.path.join(ROOT, "scripts", "setup.sh"),
              encoding="utf-8") as script:
        known = re.search(r"^newest=(\S+)$", script.read(), re.M).group(1)
    if version_of(version)[:2] > version_of(known):
        yield ("PyPI has nvcc %s; scripts/setup.sh installs %s: change it and "
               "run lit-22 tests/e2e with it (docs/testing.md)" % (
                   version, known))


def api_moved(folder):
    """PFN_cuName_v13010 is a type in the headers for each version of each
    function; names of the variants for the thread's stream end in _ptsz."""
    with open(os.path.join(ROOT, "runtime-stub", "api", "cuda_api.def"),
              encoding="utf-8") as table:
        rows = table.read()
    known = set(re.findall(
        r"^CUDA_API\(\s*\w+,\s*(\w+),\s*(\d+)", rows, re.M))
    known |= {(name, version, "per thread") for name, version in re.findall(
        r"^CUDA_API_PER_THREAD\(\s*\w+,\s*\w+,\s*(\w+),\s*(\d+)", rows, re.M)}
    for path in sorted(glob.glob(os.path.join(
            folder, "nvidia", "*", "include", "cuda*Typedefs.h"))):
        with open(path, encoding="utf-8") as header:
            types = re.findall(
                r"\*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)", header.read())
        for name, version, variant in sorted(set(types)):
            row = (name, version) + (("per thread",) if variant else ())
            if row not in known and name != "cuWGLGetDevice":  # of Windows
                yield "runtime-stub/api/cuda_api.def has no row for %s" % (
                    " ".join(row))


def main():
    argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter).parse_args()
    cudart = newest("nvidia-cuda-runtime")
    compiler = newest("nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory() as folder:
        fetch("nvidia-cuda-runtime", folder)
        moved = [*cudart_moved(cudart), *compiler_moved(compiler),
                 *api_moved(folder)]
    print("\n".join(moved) or "cudart %s and nvcc %s are the newest: nothing "
          "has moved" % (cudart, compiler))
    sys.exit(bool(moved))


if __name__ == "__main__":
    main()
