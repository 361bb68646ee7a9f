#!/usr/bin/env python3
"""Builds the sample packages, and Cerberus' own of a finished build, at the
compatibility level of a later debhelper, 14, with the debhelper and dpkg's Perl
modules of Debian unstable. apt-get downloads these, 5 MB beside the list of its
packages, into FOLDER, once; there they are unpacked and not installed. dpkg
itself, lintian and what compiles are this machine's. Some two minutes of
processor time.

usage: newer_debhelper.py [--build DIR] [--nvcc NVCC] [--folder FOLDER]
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["debhelper", "libdebhelper-perl", "dh-autoreconf", "dpkg",
            "dpkg-dev", "libdpkg-perl"]


def run(*command, **options):
    subprocess.run([str(c) for c in command], check=True, **options)


def download(folder):
    """The packages of unstable, unpacked in folder/root."""
    shutil.rmtree(folder, ignore_errors=True)
    part = folder / "unpacked"
    rocm_root.unpack_alone(part, "unstable", PACKAGES)
    # What is compiled may want a later glibc.
    for path in (part / "usr/bin").iterdir():
        if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            path.unlink()
    part.rename(folder / "root")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or
                        ROOT / "build/cuda/bin/nvcc")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=ROOT / "build/newer-debhelper")
    options = parser.parse_args()
    root = options.folder.resolve() / "root"
    if not root.exists():
        download(options.folder.resolve())
    tests = ROOT / "tests/packaging"
    run(sys.executable, tests / "debian_test.py", "--build", options.build,
        "--debhelper", root)
    run(sys.executable, tests / "debhelper_test.py", "--build", options.build,
        "--nvcc", options.nvcc, "--debhelper", root)


if __name__ == "__main__":
    main()
