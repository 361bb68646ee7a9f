#!/usr/bin/env python3
"""The symbols of librocm_kpack and their versions, compared with
tests/kpack/abi.txt, where lines are added and never changed; and the needed
libraries, which other people's programs get with it.

    kpack_abi_test.py LIBRARY
"""
import pathlib
import re
import subprocess
import sys

ABI = pathlib.Path(__file__).resolve().parents[1] / "kpack/abi.txt"
# The C library's; its parts differ by processor and version.
NEEDED = re.compile(r"lib(c|m|gcc_s|stdc\+\+|dl|pthread)\.so\.\d+"
                    r"|ld-linux.*\.so\.\d+")


def main():
    library = sys.argv[1]
    out = subprocess.run(["readelf", "-W", "--dyn-syms", "-d", library],
                         text=True, check=True, capture_output=True).stdout
    found = set()
    for line in out.splitlines():
        row = re.match(r"\s*\d+:.* (?:FUNC|OBJECT|TLS) +(?:GLOBAL|WEAK) +\S+ +"
                       r"(\S+) +(\S+?)@@?(\S+)", line)
        if row and row[1] != "UND":
            found.add(f"{row[3]} {row[2]}")
    expected = set(ABI.read_text().splitlines())
    for line in sorted(expected - found):
        print(f"{library} lacks {line}")
    for line in sorted(found - expected):
        print(f"{library} exports {line}, which {ABI.name} does not have")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", out)
    strange = [name for name in needed if not NEEDED.fullmatch(name)]
    for name in strange:
        print(f"{library} needs {name}")
    sys.exit(1 if expected != found or strange else 0)


main()
