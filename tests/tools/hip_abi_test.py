#!/usr/bin/env python3
"""HIP's binary interface is declared twice on purpose: hip/hip_abi.h by who
calls HIP, emulator/hip/abi.h by who stands in for it. Every structure and
number of the first is compared with the second.

    hip_abi_test.py --cxx clang++-22
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLER = "hip/hip_abi.h"
CALLEE = "emulator/hip/abi.h"
# A number of ours for "no attribute".
ONLY_CALLER = {"hipDeviceAttributeNone"}


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def layouts(cxx, header):
    """structure -> (size, {field: offset}) of those at the top level."""
    text = run(cxx, "-std=c++20", "-fsyntax-only", "-x", "c++", "-I", ROOT,
               "-Xclang", "-fdump-record-layouts-complete", ROOT / header)
    out = {}
    for block in text.split("*** Dumping AST Record Layout")[1:]:
        lines = block.strip("\n").splitlines()
        name = re.match(r"\s*0 \| (?:struct|union) (\w+)", lines[0])
        size = re.search(r"sizeof=(\d+)", block)
        if not name or not size:
            continue
        fields = {}
        for line in lines[1:]:
            # Members of members are further to the right.
            field = re.match(r"\s*(\d+) \|   (?! ).*?(\w+)$", line)
            if field:
                fields[field[2]] = int(field[1])
        out[name[1]] = (int(size[1]), fields)
    return out


def numbers(cxx, header, names, folder):
    """name -> value"""
    source = folder / "numbers.cc"
    source.write_text(f'#include "{header}"\n#include <cstdio>\nint main() {{\n'
                      + "".join(f'  std::printf("{name} %lld\\n", '
                                f"static_cast<long long>({name}));\n"
                                for name in names) + "}\n")
    run(cxx, "-std=c++20", "-I", ROOT, source, "-o", folder / "numbers")
    return {line.split()[0]: int(line.split()[1])
            for line in run(folder / "numbers").splitlines()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cxx", required=True)
    options = parser.parse_args()
    wrong = []

    # The caller has the sides of a kernel's grid under a name of its own.
    called = layouts(options.cxx, CALLEE)
    called["hipDim3"] = called["dim3"]
    caller = {name: layout for name, layout in
              layouts(options.cxx, CALLER).items() if name.startswith("hip")}
    for name, (size, fields) in caller.items():
        if name not in called:
            wrong.append(f"{name}: is not in {CALLEE}")
        elif called[name] != (size, fields):
            wrong.append(f"{name}: {size} bytes, {fields} in {CALLER}; "
                         f"{called[name][0]} bytes, {called[name][1]} in "
                         f"{CALLEE}")

    text = (ROOT / CALLER).read_text()
    names = set(re.findall(r"^\s+(k?[hH]ip\w+) = -?\d+,", text, re.M))
    names |= set(re.findall(r"constexpr std::uintptr_t (kHip\w+) =", text))
    names -= ONLY_CALLER
    with tempfile.TemporaryDirectory() as folder:
        theirs = numbers(options.cxx, CALLEE, sorted(names),
                         pathlib.Path(folder))
        ours = numbers(options.cxx, CALLER, sorted(names),
                       pathlib.Path(folder))
        offsets = numbers(
            options.cxx, CALLEE,
            ["offsetof(hipDeviceProp_tR0000,gcnArchName)",
             "offsetof(hipDeviceProp_tR0600,gcnArchName)"],
            pathlib.Path(folder))
        expected = numbers(
            options.cxx, CALLER,
            ["kArchNameOffsetR0000", "kArchNameOffsetR0600"],
            pathlib.Path(folder))
    for name in sorted(names):
        if ours[name] != theirs[name]:
            wrong.append(f"{name}: {ours[name]} in {CALLER}, {theirs[name]} "
                         f"in {CALLEE}")
    if list(offsets.values()) != list(expected.values()):
        wrong.append(f"gcnArchName: at {list(expected.values())} in {CALLER}, "
                     f"at {list(offsets.values())} in {CALLEE}")

    for line in wrong:
        print(line)
    fields = sum(len(fields) for _, fields in caller.values())
    print(f"{len(caller)} structures, {fields} fields, {len(names)} numbers: "
          f"{len(wrong)} wrong")
    if len(caller) < 8 or fields < 30 or len(names) < 60:
        sys.exit("expected 8 structures, 30 fields and 60 numbers or more")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
