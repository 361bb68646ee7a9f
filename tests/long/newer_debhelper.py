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
import os
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
    """The packages of unstable, by an apt of its own, unpacked in folder/root.
    """
    state = folder / "apt"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text(
        "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
        f"{rocm_root.mirror()} unstable main\n")
    (state / "apt.conf").write_text(f"""
Dir::State "{state}"; Dir::State::status "{state}/status";
Dir::State::lists "{state}/lists"; Dir::Cache "{state}/cache";
Dir::Etc::sourcelist "{state}/sources.list"; Dir::Etc::sourceparts "-";
Acquire::Languages "none"; APT::Sandbox::User "";
""")
    env = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    run("apt-get", "-qq", "update", env=env)
    run("apt-get", "-qq", "download", *PACKAGES, env=env, cwd=state / "debs")
    part = folder / "part"
    for deb in sorted((state / "debs").glob("*.deb")):
        run("dpkg-deb", "-x", deb, part)
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
