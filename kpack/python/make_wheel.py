#!/usr/bin/env python3
"""Makes the wheel of cerberus.kpack: the module and librocm_kpack.

    make_wheel.py --library build/release/lib/librocm_kpack.so.1 \\
        --version 0.1.0 --dir wheels

The module is Python alone, so that the wheel is for any CPython from 3.9 on;
the platform's tag follows from what the library needs of glibc. The same
inputs make the same file.
"""
import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "cerberus_kpack"
METADATA = """Metadata-Version: 2.1
Name: cerberus-kpack
Version: {version}
Summary: Reads .kpack archives of AMD GPU code objects
License: Apache-2.0 WITH LLVM-exception
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: cerberus
Root-Is-Purelib: false
Tag: {tag}
"""


def platform_tag(library):
    """manylinux_X_Y (PEP 600): the newest glibc that a symbol comes from."""
    out = subprocess.run(["readelf", "-W", "--version-info", library],
                         text=True, check=True, capture_output=True).stdout
    versions = [tuple(map(int, v.split(".")))
                for v in re.findall(r"Name: GLIBC_(\d+\.\d+)", out)]
    if not versions:
        sys.exit(f"{library}: needs no symbol of glibc")
    # PEP 600 begins with 2.5.
    major, minor = max(max(versions), (2, 5))
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def digest(data):
    value = hashlib.sha256(data).digest()
    return "sha256=" + base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    args = parser.parse_args()
    tag = f"py3-none-{platform_tag(args.library)}"
    info = f"{NAME}-{args.version}.dist-info"
    module = HERE / "cerberus/kpack"
    files = {f"cerberus/kpack/{path.name}": path.read_bytes()
             for path in module.glob("*.py")}
    files["cerberus/kpack/librocm_kpack.so.1"] = args.library.read_bytes()
    files[f"{info}/LICENSE"] = (HERE.parents[1] / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=args.version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = "".join(f"{name},{digest(data)},{len(data)}\n"
                     for name, data in sorted(files.items()))
    # The last file, as PEP 427 wants it.
    contents = sorted(files.items()) + [
        (f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode())]
    args.dir.mkdir(parents=True, exist_ok=True)
    wheel = args.dir / f"{NAME}-{args.version}-{tag}.whl"
    partial = wheel.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in contents:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if ".so" in name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            out.writestr(entry, data)
    partial.replace(wheel)
    print(wheel)


main()
