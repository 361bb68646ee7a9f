#!/usr/bin/env python3
"""What is installed runs on other Linuxes: no program or library asks for a
function that glibc 2.28 lacks, or for a library that is not on every machine.
"""
import argparse
import os
import pathlib
import re
import subprocess
import tempfile

NEWEST = (2, 28)
# glibc's, ours, and libzip, which Python wheels take along.
ANYWHERE = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
            "ld-linux-x86-64.so.2", "libcerberus-ptxc.so"}
ALSO = {"cerberus": {"libzip.so.4", "libzip.so.5"}}


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def check(path):
    """What is wrong with a file, and the newest glibc that it asks for."""
    wrong = []
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path)))
    for library in needed - ANYWHERE - ALSO.get(path.name, set()):
        wrong.append(f"needs {library}")
    newest = (0,)
    for line in readelf("--dyn-syms", path).splitlines():
        if " UND " not in line:
            continue
        symbol = line.split()[7] if len(line.split()) > 7 else ""
        version = re.search(r"@GLIBC_([0-9.]+)", symbol)
        if version:
            number = tuple(int(n) for n in version[1].split("."))
            newest = max(newest, number)
            if number > NEWEST:
                wrong.append(f"asks for {symbol}")
        elif "@" in symbol and "libzip" not in symbol:
            wrong.append(f"asks for {symbol}, of no library there")
    return wrong, newest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    build = parser.parse_args().build
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["cmake", "--install", build, "--prefix", name],
                       check=True, stdout=subprocess.DEVNULL,
                       env={k: v for k, v in os.environ.items()
                            if k != "DESTDIR"})
        checked, failed, newest = 0, 0, (0,)
        for path in sorted(pathlib.Path(name).rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            with open(path, "rb") as file:
                if file.read(4) != b"\x7fELF":
                    continue
            wrong, asked = check(path)
            checked += 1
            newest = max(newest, asked)
            for what in wrong:
                print(f"{path.relative_to(name)}: {what}")
                failed += 1
    assert checked >= 9, checked
    print(f"{checked} programs and libraries; glibc "
          f"{'.'.join(map(str, newest))} is the newest that one asks for")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
