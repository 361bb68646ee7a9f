#!/usr/bin/env python3
"""Asks PyPI for the newest nvcc: is its PTX known here?

  newest_ptx.py [--build DIR] [--ptxas PATH]

Takes ptxas out of the newest wheel of nvidia-cuda-nvcc (or the one named) and
asks it which version of PTX and which targets it knows. A module of each must
compile without a word: what is newer than known is warned of, a target that
nobody knows refused. Fails with a sentence when the toolkit has moved on.

Run by hand: it needs PyPI.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import ptxas_differential  # noqa: E402


def newest_ptxas(folder):
    """Downloads the newest wheel; returns (its version, the ptxas in it)."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps",
         "--disable-pip-version-check", "-d", folder, "nvidia-cuda-nvcc"],
        check=True)
    wheel = next(folder.glob("nvidia_cuda_nvcc-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        member = next(n for n in archive.namelist() if n.endswith("/ptxas"))
        ptxas = pathlib.Path(archive.extract(member, folder))
    ptxas.chmod(0o755)
    return wheel.name.split("-")[1], ptxas


def what_is_said(cerberus, folder, version, target):
    """What the compiler says to a module of a version for a target."""
    source = folder / "module.ptx"
    source.write_text(f".version {version}\n.target {target}\n"
                      ".address_size 64\n.visible .entry k() { ret; }\n")
    done = subprocess.run(
        [cerberus, "compile", source, "--arch", "gfx1100",
         "-o", folder / "module.hsaco"], capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "release")
    parser.add_argument("--ptxas", type=pathlib.Path)
    args = parser.parse_args()
    cerberus = args.build / "bin" / "cerberus"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel, ptxas = ("named", args.ptxas) if args.ptxas \
            else newest_ptxas(folder)
        version = ptxas_differential.newest_version(ptxas)
        targets = sorted(ptxas_differential.targets_of(ptxas))
        failures = []
        for target in targets:
            said = what_is_said(cerberus, folder, version, target)
            if said:
                failures.append(said)
        if not targets:
            failures.append(f"{ptxas} names no targets")
    print(f"nvidia-cuda-nvcc {wheel}: PTX {version}, {len(targets)} targets")
    if failures:
        print(f"The newest toolkit has moved: its PTX {version}, or one of its "
              "targets, is not known here. Learn what is new "
              "(tests/tools/ptxas_differential.py), then name it in "
              "ptxc/front/parse/parser.cc. The compiler says:")
        for failure in dict.fromkeys(failures):
            print(f"  {failure}")
        return 1
    print("known here: PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
