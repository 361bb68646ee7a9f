#!/usr/bin/env python3
"""Converts and splits the Windows libraries of real wheels.

usage: windows_wheels.py [--build DIR] [--wheels DIR] [--arch gfx1100]
                         [PACKAGE==VERSION ...]

Downloads wheels for win_amd64 with pip unless they are in the folder. Of each
DLL with device code LIEF and llvm-readobj look at what the rewriter makes
(tests/pe/pe_test.py): tables, checksum and all bytes in memory but those of the
device code are as before. HIP's are split and verified there; the smallest of a
wheel's several CUDA ones is converted with all of its kernels and verified. Wants
lief (build/venv has it). Exit code 1 if anything failed.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile
import time

import wheels
import whole_wheels

PACKAGES = ["bitsandbytes==0.50.2", "ctranslate2==4.8.5", "xgboost==3.2.0"]


def download(package, folder):
    os.makedirs(folder, exist_ok=True)
    name, version = package.split("==")
    pattern = os.path.join(folder, "%s-%s-*win_amd64.whl" % (name, version))
    if not glob.glob(pattern):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "-d",
                        folder, "--no-deps", "--only-binary", ":all:",
                        "--platform", "win_amd64", package], check=True)
    return glob.glob(pattern)[0]


def convert(args, path):
    """Converts all of its kernels."""
    cerberus = os.path.join(args.build, "bin", "cerberus")
    with tempfile.TemporaryDirectory(dir=args.wheels) as work:
        out = os.path.join(work, os.path.basename(path))
        begin = time.time()
        subprocess.run([cerberus, "convert", path, "-o", out, "--arch",
                        args.arch, "-q"], check=True)
        seconds = time.time() - begin
        verified = subprocess.run([cerberus, "verify", path, out],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=True,
                                  universal_newlines=True).stdout
        if "warning" in verified or "all as planned" not in verified:
            raise RuntimeError(path + ": " + verified)
        sizes = [os.path.getsize(p)
                 for p in glob.glob(os.path.join(work, ".kpack", "*"))]
        print("%s: converted for %s in %.0f s and verified, %d archives of "
              "%.1f MB" % (os.path.basename(path), args.arch, seconds,
                           len(sizes), sum(sizes) / 1e6), flush=True)


def check(args, package):
    folder = wheels.unpack(download(package, args.wheels))
    cerberus = os.path.join(args.build, "bin", "cerberus")
    cuda, hip = {}, []
    for path in sorted(glob.glob(folder + "/**/*.dll", recursive=True)):
        found = wheels.listing(cerberus, path)
        if found and found.get("fatbins"):
            cuda[path] = os.path.getsize(path)
        elif found and found.get("hip_images"):
            hip.append(path)
    if not cuda:
        raise RuntimeError(package + ": no DLL with CUDA's device code")
    subprocess.run(
        [sys.executable,
         os.path.join(whole_wheels.ROOT, "tests", "pe", "pe_test.py"),
         "--tool", os.path.join(args.build, "tests", "rewrite_tool"),
         "--cerberus", cerberus] + list(cuda) + hip, check=True)
    # The others' kernels are those of the wheels for Linux, which
    # whole_wheels.py converts.
    if len(cuda) > 1:
        convert(args, min(cuda, key=cuda.get))


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    whole_wheels.folder_options(parser)
    parser.add_argument("--arch", default="gfx1100")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    for package in args.packages:
        check(args, package)
    print("PASS")


if __name__ == "__main__":
    sys.exit(main())
