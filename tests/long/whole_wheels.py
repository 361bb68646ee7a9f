#!/usr/bin/env python3
"""Converts Python wheels as a whole, installs them and runs their kernels.

usage: whole_wheels.py [--build DIR] [--wheels DIR] [--arch gfx1100,gfx942]
                       [--stub bundle|require] [PACKAGE ...]

Downloads the wheels with pip unless they are in the folder, and what they need
(but not PyTorch and NVIDIA's libraries), and runs `cerberus convert-wheel`.
pip installs the host wheel and the device wheels, offline, into a fresh
environment, and says that nothing is broken. There the package is imported and
the checks of wheel_PACKAGE.py run, without anything of Cerberus on PATH, from
prebuilt code. Prints what it took; exit code 1 if anything failed.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What the checks get, in the folder of packages; what is installed beside; and
# what an import must say, if it can be imported without PyTorch.
PACKAGES = {
    "bitsandbytes": ("bitsandbytes/libbitsandbytes_cuda130.so", ["numpy"], None),
    "ctranslate2": ("ctranslate2.libs/libctranslate2-*.so.*",
                    ["numpy", "pyyaml", "setuptools"],
                    "print(ctranslate2.get_cuda_device_count())"),
    "xgboost": ("", ["numpy", "scipy"],
                "print(xgboost.build_info()['USE_CUDA'])"),
}


def download(name, needed, folder):
    """The wheel; what it needs comes into FOLDER/needed."""
    os.makedirs(folder, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q",
           "--disable-pip-version-check", "--only-binary=:all:", "-d"]
    if not glob.glob(os.path.join(folder, name + "-*.whl")):
        subprocess.run(pip + [folder, "--no-deps", name], check=True)
    subprocess.run(pip + [os.path.join(folder, "needed")] + needed, check=True)
    return sorted(glob.glob(os.path.join(folder, name + "-*.whl")))[-1]


def convert(args, wheel, out):
    """The report, and the peak memory of the largest process in MB."""
    usage = os.path.join(out, "usage")
    report = subprocess.run(
        ["/usr/bin/time", "-f", "%M", "-o", usage,
         os.path.join(args.build, "bin", "cerberus"), "convert-wheel", wheel,
         "-d", os.path.join(out, "wheels"), "--arch", args.arch,
         "--stub", args.stub, "--json", "-q"],
        stdout=subprocess.PIPE, check=False)
    with open(usage, encoding="utf-8") as file:
        memory = int(file.read().split()[-1]) / 1024
    return json.loads(report.stdout), memory


def install(args, name, report, out):
    """A fresh environment's python, and its folder of packages."""
    python = os.path.join(out, "venv", "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", os.path.join(out, "venv")],
                   check=True)
    pip = [python, "-m", "pip", "install", "-q",
           "--disable-pip-version-check", "--no-index"]
    subprocess.run(pip + ["--find-links", os.path.join(args.wheels, "needed")] +
                   PACKAGES[name][1], check=True)
    # Without what they need: that would be PyTorch, or NVIDIA's libraries.
    subprocess.run(pip + ["--no-deps"] + [
        wheel["path"] for wheel in report["wheels"]], check=True)
    folder = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
        stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return python, folder.stdout.strip()


def run(name, target, python, packages, home):
    """What the import says, the checks' last line, and whether all is well."""
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "CERBERUS_DEVICE": target,
           "CUDA_DISABLE_PTX_JIT": "1"}
    path, _, question = PACKAGES[name]
    said = ""
    if question is not None:
        said = subprocess.run(
            [python, "-c", "import %s; %s" % (name, question)], env=env,
            stdout=subprocess.PIPE, check=True,
            universal_newlines=True).stdout.strip()
    found = sorted(glob.glob(os.path.join(packages, path)))[-1]
    done = subprocess.run(
        [python, os.path.join(HERE, "wheel_%s.py" % name), found], env=env,
        stdout=subprocess.PIPE, check=False, universal_newlines=True)
    lines = done.stdout.splitlines() or ["no output"]
    for line in lines[:-1]:
        print("  " + line)
    return said, lines[-1], done.returncode == 0


def check(args, name):
    wheel = download(name, PACKAGES[name][1], args.wheels)
    good = True
    with tempfile.TemporaryDirectory(dir=args.wheels) as out:
        begin = time.time()
        report, memory = convert(args, wheel, out)
        seconds = time.time() - begin
        if report["exit_code"] != 0:
            print("%s: exit code %d" % (wheel, report["exit_code"]))
            for said in report["diagnostics"]:
                if "cannot be converted;" not in said["message"]:
                    print("  %s: %s %s: %s" % (
                        said["severity"], said.get("file", ""),
                        said.get("kernel", ""), said["message"]))
            return False
        sizes = ", ".join("%.1f" % (made["size"] / 1e6)
                          for made in report["wheels"])
        print("%s: %d libraries, %d of %d kernels, %.0f s, %.0f MB; "
              "%.1f MB -> %s MB" % (
                  os.path.basename(wheel), len(report["converted"]),
                  report["kernels_converted"], report["kernels"], seconds,
                  memory, os.path.getsize(wheel) / 1e6, sizes), flush=True)
        python, packages = install(args, name, report, out)
        home = os.path.join(out, "home")
        os.mkdir(home)
        for target in args.arch.split(","):
            begin = time.time()
            said, checks, ok = run(name, target, python, packages, home)
            good = good and ok
            print("  %s: %s; %s; %.0f s" % (
                target, said or "not imported", checks, time.time() - begin),
                flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--wheels", default=os.path.join(ROOT, "build",
                                                         "wheels"))
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("--stub", default="bundle",
                        choices=["bundle", "require"])
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    args = parser.parse_args()
    if shutil.which("time", path="/usr/bin") is None:
        sys.exit("Debian's package time is missing")
    return 0 if all([check(args, name) for name in args.packages]) else 1


if __name__ == "__main__":
    sys.exit(main())
