#!/usr/bin/env python3
"""Builds Cerberus' Debian packages from source, as dpkg-buildpackage does it
anywhere, shows them and the source package to lintian, unpacks them into a
folder, and has the tools in it build, convert and run the sample packages
(tests/packaging/debhelper_test.py). Some ten minutes of processor time.

usage: debian_packages.py [--keep DIR] [--nvcc NVCC]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    subprocess.run([str(c) for c in command], check=True, **options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="a new folder for the packages")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or
                        ROOT / "build/cuda/bin/nvcc")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(options.keep or name).resolve()
        source = work / "cerberus"
        source.mkdir(parents=True)
        archive = work / "source.tar"
        run("git", "archive", "-o", archive, "HEAD", cwd=ROOT)
        run("tar", "-xf", archive, "-C", source)
        archive.unlink()
        # -d: the compilers may have come from elsewhere than from packages.
        run("dpkg-buildpackage", "-us", "-uc", "-d", cwd=source,
            stdout=subprocess.DEVNULL)
        run("lintian", "--allow-root", "--fail-on", "error,warning",
            *work.glob("*.changes"), env={**os.environ, "LC_ALL": "C.UTF-8"})
        for package in work.glob("*.deb"):
            run("dpkg-deb", "-x", package, work / "root")
        run(sys.executable, ROOT / "tests/packaging/debhelper_test.py",
            "--root", work / "root", "--nvcc", options.nvcc)


if __name__ == "__main__":
    main()
