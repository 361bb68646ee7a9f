#!/usr/bin/env python3
"""Converts Python wheels as a whole, installs them and runs their kernels.

usage: whole_wheels.py [--build DIR] [--wheels DIR] [--arch gfx1100,gfx942]
                       [--stub bundle|require] [--cache DIR] [-j N]
                       [PACKAGE ...]

Downloads the wheels with pip unless they are in the folder, and what they need
(but not PyTorch and NVIDIA's libraries), and runs `cerberus convert-wheel`.
twine finds no fault in what comes out. pip installs the host wheel and the
device wheels, offline, into a fresh environment, and misses nothing but what
was left out on purpose. There the package is imported and its checks run
(wheel_*.py, or those of package_*.py), without anything of Cerberus on PATH,
from prebuilt code. With --cache what was compiled before is not compiled again.
Prints what it took; exit code 1 if anything failed.
"""
import argparse
import collections
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
# needed: what is installed beside. lacks: what the package asks for and does
# not get. says: what an import must print, if it can be imported without that.
# library: what wheel_NAME.py gets, in the folder of packages; without it the
# checks are a function, `checks`, of package_*.py. env: what users set.
# version: if not the newest. options: of the conversion. left_out: how many
# kernels are, by target.
Package = collections.namedtuple(
    "Package",
    "needed lacks says library checks env version options left_out",
    defaults=((), None, None, None, {}, None, (), {}))
PACKAGES = {
    "bitsandbytes": Package(
        ["numpy", "packaging"], ["torch"],
        library="bitsandbytes/libbitsandbytes_cuda130.so"),
    "ctranslate2": Package(
        ["numpy", "pyyaml", "setuptools"],
        says="import ctranslate2; print(ctranslate2.get_cuda_device_count())",
        library="ctranslate2.libs/libctranslate2-*.so.*"),
    "xgboost": Package(
        ["numpy", "scipy"], ["nvidia-nccl-cu12"],
        says="import xgboost; print(xgboost.build_info()['USE_CUDA'])",
        library=""),
    "catboost": Package(
        ["numpy", "pandas", "scipy", "six", "graphviz", "matplotlib",
         "plotly"],
        says="from catboost.utils import get_gpu_device_count as count;"
             "print(count())", checks="catboost.catboost"),
    "cupy-cuda13x": Package(
        ["numpy", "cuda-pathfinder", "nvidia-cuda-nvrtc==13.0.*",
         "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*"],
        says="import cupy; print(cupy.cuda.runtime.getDeviceCount())",
        checks="cupy.cupy", env={"CUPY_COMPILE_WITH_PTX": "1"}),
    "pycolmap-cuda12": Package(
        ["numpy", "cuda-toolkit[cudart,curand]<13,>=12"],
        says="import pycolmap; print(pycolmap.has_cuda)",
        checks="pycolmap.pycolmap"),
    "gpu4pyscf-cuda12x": Package(
        ["numpy", "pyscf", "packaging"],
        ["cupy-cuda12x", "geometric", "gpu4pyscf-libxc-cuda12x"],
        checks="gpu4pyscf.gpu4pyscf"),
    "astra-toolbox": Package(
        ["numpy", "scipy", "nvidia-cuda-runtime-cu12"],
        ["nvidia-cufft-cu12"],
        says="import astra; print(astra.use_cuda())",
        checks="astra.astra_toolbox"),
    "cufinufft": Package(
        ["numpy", "packaging", "numba", "numba-cuda", "cuda-bindings==12.*",
         "cuda-core", "nvidia-cuda-runtime-cu12"], checks="cufinufft.cufinufft"),
    "ctransformers": Package(
        ["numpy", "gguf", "huggingface-hub", "py-cpuinfo",
         "nvidia-cuda-runtime-cu12"], ["nvidia-cublas-cu12"],
        checks="ctransformers.ctransformers"),
    "qiskit-aer-gpu": Package(
        ["qiskit<3", "psutil", "python-dateutil", "cuquantum-cu12<24.11",
         "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12",
         "nvidia-cusolver-cu12", "nvidia-cusparse-cu12"],
        checks="qiskit_aer.qiskit_aer"),
    "molgrid": Package(
        ["numpy<2", "pyquaternion", "pytest"],
        says="import molgrid; print(molgrid.get_gpu_enabled())",
        checks="molgrid.molgrid"),
    "warp-lang": Package(
        ["numpy"],
        says="import warp; warp.config.quiet = True; warp.init();"
             "print(warp.get_cuda_device_count())", checks="warp.from_wheel",
        version="1.9.1"),
    # OpenVolumeUnitKernel has 164 kB of local memory.
    "cupoch": Package(
        ["numpy", "scipy", "wheel"], checks="cupoch.cupoch",
        version="0.2.11.0", left_out={"gfx942": 1}),
    "desilofhe-cu121": Package(
        ["numpy"], checks="desilofhe.desilofhe", version="1.17.0"),
    # These two load NVIDIA's libraries themselves, and insist on them.
    "faiss-gpu": Package(
        ["numpy", "packaging", "nvidia-cuda-runtime-cu12",
         "nvidia-cublas-cu12", "nvidia-curand-cu12"],
        says="import faiss; print(faiss.get_num_gpus())",
        checks="faiss.faiss", version="1.15.1"),
    "renewable-huber-native-cuda": Package(
        ["renewable-huber==0.7.1", "nvidia-cuda-runtime-cu12",
         "nvidia-cublas-cu12", "nvidia-cusolver-cu12", "nvidia-cusparse-cu12",
         "nvidia-nvjitlink-cu12"],
        checks="renewable_huber.renewable_huber", version="0.7.1"),
    "smsd-cuda": Package(
        ["smsd==8.0.3", "nvidia-cuda-runtime-cu12"], checks="smsd.smsd",
        says="import smsd; print(smsd.gpu_device_info())", version="8.0.3"),
    # Asks for 128 KiB of shared memory whatever the device has.
    "stringzillas-cuda": Package(
        ["numpy", "stringzilla==5.3.2"], checks="stringzillas.stringzillas",
        says="import stringzillas; print(stringzillas.__capabilities__)",
        version="5.3.2", options=("--shared-overflow=global",)),
}


PIP_DOWNLOAD = [sys.executable, "-m", "pip", "download", "-q",
                "--disable-pip-version-check", "--only-binary=:all:", "-d"]


def download_wheel(name, folder, version=None):
    """The wheel, downloaded unless it is there."""
    os.makedirs(folder, exist_ok=True)
    pattern = os.path.join(folder, "%s-%s-*.whl" % (
        name.replace("-", "_"), version or "*"))
    if not glob.glob(pattern):
        subprocess.run(PIP_DOWNLOAD + [
            folder, "--no-deps", name + ("==" + version if version else "")],
            check=True)
    return sorted(glob.glob(pattern))[-1]


def download(name, folder):
    """The wheel; what it needs comes into FOLDER/needed."""
    wheel = download_wheel(name, folder, PACKAGES[name].version)
    subprocess.run(PIP_DOWNLOAD + [os.path.join(folder, "needed")] +
                   PACKAGES[name].needed, check=True)
    return wheel


def convert(args, wheel, options, out):
    """The report, and what it took: seconds of the processor, peak memory of
    the largest process in MB."""
    usage = os.path.join(out, "usage")
    more = list(options) + (["--cache", args.cache] if args.cache else [])
    report = subprocess.run(
        ["/usr/bin/time", "-f", "%U %S %M", "-o", usage,
         os.path.join(args.build, "bin", "cerberus"), "convert-wheel", wheel,
         "-d", os.path.join(out, "wheels"), "--arch", args.arch,
         "--stub", args.stub, "-j", str(args.jobs), "--json", "-q"] + more,
        stdout=subprocess.PIPE, check=False)
    with open(usage, encoding="utf-8") as file:
        user, system, memory = file.read().split()[-3:]
    return (json.loads(report.stdout), float(user) + float(system),
            int(memory) / 1024)


def install(args, name, report, out):
    """A fresh environment's python, and its folder of packages."""
    python = os.path.join(out, "venv", "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", os.path.join(out, "venv")],
                   check=True)
    pip = [python, "-m", "pip", "install", "-q",
           "--disable-pip-version-check", "--no-index"]
    subprocess.run(pip + ["--find-links", os.path.join(args.wheels, "needed")] +
                   PACKAGES[name].needed, check=True)
    # Without what they need: that would be PyTorch, or NVIDIA's libraries.
    wheels = [wheel["path"] for wheel in report["wheels"]]
    subprocess.run(pip + ["--no-deps"] + wheels, check=True)
    missing(python, PACKAGES[name].lacks)
    folder = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
        stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return python, folder.stdout.strip()


def missing(python, expected):
    """An error where pip misses more than that, or finds a conflict."""
    said = subprocess.run([python, "-m", "pip", "check"],
                          stdout=subprocess.PIPE, check=False,
                          universal_newlines=True).stdout
    if not all(any(" requires %s, which is not installed." % name in line
                   for name in expected)
               for line in said.splitlines() if line.strip() not in
               ("", "No broken requirements found.")):
        raise RuntimeError("pip check: " + said)


def twine_check(args, wheels):
    """In an environment of its own, which is kept."""
    folder = os.path.join(args.wheels, "twine")
    twine = os.path.join(folder, "bin", "twine")
    if not os.path.exists(twine):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([os.path.join(folder, "bin", "pip"), "install", "-q",
                        "--disable-pip-version-check", "twine"], check=True)
    subprocess.run([twine, "check"] + wheels, stdout=subprocess.DEVNULL,
                   check=True)


def checks(name, packages):
    """The command that runs the package's checks."""
    package = PACKAGES[name]
    if package.library is None:
        return ["-c", "import sys; sys.path.insert(0, %r); "
                "import package_%s as module; module.%s(); print('PASS')" % (
                    (HERE,) + tuple(package.checks.split(".")))]
    found = sorted(glob.glob(os.path.join(packages, package.library)))[-1]
    return [os.path.join(HERE, "wheel_%s.py" % name), found]


def run(name, target, python, packages, home):
    """What the import says, the checks' last line, and whether all is well."""
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "CERBERUS_DEVICE": target,
           "CUDA_DISABLE_PTX_JIT": "1", **PACKAGES[name].env}
    said = ""
    if PACKAGES[name].says is not None:
        said = subprocess.run(
            [python, "-c", PACKAGES[name].says], env=env,
            stdout=subprocess.PIPE, check=True,
            universal_newlines=True).stdout.strip()
    done = subprocess.run(
        [python] + checks(name, packages), env=env,
        stdout=subprocess.PIPE, check=False, universal_newlines=True)
    lines = done.stdout.splitlines() or ["no output"]
    for line in lines[:-1]:
        print("  " + line)
    return said, lines[-1], done.returncode == 0


def check(args, name):
    wheel = download(name, args.wheels)
    good = True
    with tempfile.TemporaryDirectory(dir=args.wheels) as out:
        begin = time.time()
        report, processor, memory = convert(args, wheel,
                                            PACKAGES[name].options, out)
        seconds = time.time() - begin
        left_out = sum(PACKAGES[name].left_out.get(target, 0)
                       for target in args.arch.split(","))
        if (report["exit_code"] != (3 if left_out else 0) or
                report["kernels"] - report["kernels_converted"] != left_out):
            print("%s: exit code %d" % (wheel, report["exit_code"]))
            for said in report["diagnostics"]:
                if "cannot be converted;" not in said["message"]:
                    print("  %s: %s %s: %s" % (
                        said["severity"], said.get("file", ""),
                        said.get("kernel", ""), said["message"]))
            return False
        sizes = ", ".join("%.1f" % (made["size"] / 1e6)
                          for made in report["wheels"])
        print("%s: %d libraries, %d of %d kernels, %.0f s, %.0f of the "
              "processor, %.0f MB; %.1f MB -> %s MB" % (
                  os.path.basename(wheel), len(report["converted"]),
                  report["kernels_converted"], report["kernels"], seconds,
                  processor, memory, os.path.getsize(wheel) / 1e6, sizes),
              flush=True)
        twine_check(args, [made["path"] for made in report["wheels"]])
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


def folder_options(parser):
    build = os.path.join(ROOT, "build")
    parser.add_argument("--build", default=os.path.join(build, "release"))
    parser.add_argument("--wheels", default=os.path.join(build, "wheels"))


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    folder_options(parser)
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("--stub", default="bundle",
                        choices=["bundle", "require"])
    parser.add_argument("--cache")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    args = parser.parse_args()
    if shutil.which("time", path="/usr/bin") is None:
        sys.exit("Debian's package time is missing")
    return 0 if all([check(args, name) for name in args.packages]) else 1


if __name__ == "__main__":
    sys.exit(main())
