#!/usr/bin/env python3
"""Installs librocm_kpack into an empty folder, builds a client in C against
it, by CMake's find_package and by pkg-config, and runs it.

    kpack_client_test.py --build build/release --cc CC

The folder is moved in between: nothing installed may know where it was.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "tests/kpack/client"
GOLDEN = ROOT / "tests/kpack/golden/v1"
EXPECTED = r"""target gfx1100
target gfx90a:xnack\+
app#0 gfx1100 5000 {"type":"hsaco","original_size":5000,"stored_size":\d+,""" \
    r""""metadata":{"xxh3":\d+}}
lib/app.so#2 gfx1100 1 {.*}
app#0 gfx90a:xnack\+ 77 {.*}
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                 f"{done.stdout}")
    return done.stdout


def check_output(client, how, libraries=None):
    environment = dict(os.environ)
    if libraries:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    out = run(client, GOLDEN / "checksums.kpack", env=environment)
    if not re.fullmatch(EXPECTED, out):
        sys.exit(f"the client built by {how} prints\n{out}expected\n{EXPECTED}")
    run(client, GOLDEN / "plain.kpack", env=environment)


def by_cmake(prefix, work, cc):
    build = work / "cmake"
    run("cmake", "-S", CLIENT, "-B", build, f"-DCMAKE_C_COMPILER={cc}",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    check_output(build / "client", "CMake")


def by_pkg_config(prefix, work, cc):
    files = list(prefix.rglob("rocm_kpack.pc"))
    if len(files) != 1:
        sys.exit(f"{len(files)} rocm_kpack.pc installed, expected 1")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(files[0].parent))
    flags = run("pkg-config", "--cflags", "--libs", "rocm_kpack",
                env=environment).split()
    version = run("pkg-config", "--modversion", "rocm_kpack", env=environment)
    if not version.startswith("1."):
        sys.exit(f"pkg-config says version {version}")
    run(cc, "-std=c99", "-o", work / "client", CLIENT / "client.c", *flags)
    check_output(work / "client", "pkg-config", files[0].parents[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for component in ("kpack", "kpack-dev"):
            run("cmake", "--install", args.build, "--component", component,
                env=dict(os.environ, DESTDIR=str(work / "destdir")))
        headers = list((work / "destdir").rglob("kpack.h"))
        if len(headers) != 1:
            sys.exit(f"{len(headers)} kpack.h installed, expected 1")
        prefix = work / "moved"
        shutil.move(headers[0].parents[2], prefix)
        for text in prefix.rglob("*"):
            if text.suffix in (".cmake", ".pc") and (
                    str(ROOT) in text.read_text() or folder in text.read_text()):
                sys.exit(f"{text} names a folder of this machine")
        by_cmake(prefix, work, args.cc)
        by_pkg_config(prefix, work, args.cc)


main()
