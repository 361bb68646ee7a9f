#!/usr/bin/env python3
"""Converts small programs linked in many ways, and runs the results.

Every program is run three times over: as converted, with --keep-fatbin, and
after each of the tools that people run on finished programs. What a run
checks is in program.c and fake_driver.c. readelf and the loader's own
`--verify` read every converted file; so does LIEF where Python has it.

  linkers_test.py --tool REWRITE_TOOL [--cc CC] [--only REGEX] [-v]
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOADER = "/lib64/ld-linux-x86-64.so.2"

LINKERS = {
    "bfd": ["-fuse-ld=bfd"],
    "lld": ["-fuse-ld=lld"],
    "mold": ["-fuse-ld=mold"],
    "gold": ["-fuse-ld=gold"],
}
KINDS = {
    "pie": ["-fPIE", "-pie"],
    "nopie": ["-fno-pie", "-no-pie"],
    "lib": ["-fPIC", "-shared", "-DLIBRARY"],
}
VARIANTS = {
    "plain": [],
    "now": ["-Wl,-z,now"],
    "noseparate": ["-Wl,-z,noseparate-code"],
    "runpath": ["-Wl,--enable-new-dtags", "-Wl,-rpath,/nowhere:/else"],
    "rpath": ["-Wl,--disable-new-dtags", "-Wl,-rpath,/nowhere:/else"],
    "relr": ["-Wl,-z,pack-relative-relocs"],
    "bothhash": ["-Wl,--hash-style=both"],
    "nobuildid": ["-Wl,--build-id=none"],
    "bigpage": ["-Wl,-z,max-page-size=0x200000"],
    "norelro": ["-Wl,-z,norelro"],
    "symbol": ["-DGLOBAL_FATBIN"],
    "rodata": ['-DSECTION=".rodata"'],
    "lrodata": ['-DSECTION=".lrodata,\\"al\\",@progbits#"'],
    "ldata": ['-DSECTION=".ldata,\\"awl\\",@progbits#"'],
    "stripped": ["-s"],
    "noproperty": [],   # .note.gnu.property removed before conversion
    "noheaders": [],    # no section headers
    "patched": [],      # patchelf moved things about before conversion
    "repatched": [],    # and again, as auditwheel has it
}
# What the tools themselves cannot do (linker, kind, variant; None: any).
BROKEN = [
    # mold 1.10 writes DT_RELR without the GLIBC_ABI_DT_RELR dependency that
    # the loader wants to see: the originals do not start.
    ("mold", None, "relr"),
    # gold knows neither option.
    ("gold", None, "relr"),
    ("gold", None, "noseparate"),
    # patchelf 0.14 crashes on executables of mold at fixed addresses.
    ("mold", "nopie", "patched"),
    # … and what it has patched before: at fixed addresses, or of mold.
    (None, "nopie", "repatched"),
    ("mold", None, "repatched"),
]
TOOLS = {
    "strip": ["strip", "{f}"],
    "strip -g": ["strip", "-g", "{f}"],
    "objcopy": ["objcopy", "{f}"],
    "llvm-strip": ["llvm-strip-22", "{f}"],
    "llvm-objcopy": ["llvm-objcopy-22", "{f}"],
    "strip -x": ["strip", "--strip-unneeded", "-x", "{f}"],
    "add-section": ["objcopy", "--add-section", ".extra={f}", "{f}"],
    "patchelf": ["patchelf", "--set-rpath", "{rpath}", "{f}"],
    "chrpath": ["chrpath", "-r", "{rpath}", "{f}"],
    "eu-strip": ["eu-strip", "-f", "{f}.debug", "{f}"],
    # It may refuse (docs/limits.md), but then must leave the file as it is.
    "dwz": ["sh", "-c", "cp {f} {f}.old && (dwz {f} || cmp {f} {f}.old)"],
    "debuglink": ["sh", "-c",
                  "objcopy --only-keep-debug {f} {f}.debug && strip -g {f} && "
                  "objcopy --add-gnu-debuglink={f}.debug {f}"],
}
# What the tools make of the originals is broken as well (linker, kind, variant,
# tool): chrpath takes the first string table for the loader's, which patchelf has
# put behind others, and objcopy the program header table for free space.
NOT_AFTER = [
    (None, None, "patched", "chrpath"),
    (None, None, "repatched", "chrpath"),
    ("lld", "nopie", "patched", "debuglink"),
]
# Where the fatbin stays, for a symbol that others can see leads to it.
KEEPS = {("lib", "symbol")}


def is_broken(case, table):
    return any(all(b in (None, x) for b, x in zip(row, case)) for row in table)


class Failure(Exception):
    pass


def run(args, **kwargs):
    done = subprocess.run(args, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120,
                          **kwargs)
    if done.returncode != 0:
        raise Failure(f"{' '.join(args)}: exit {done.returncode}\n"
                      f"{done.stdout}")
    return done.stdout


def build(cc, folder, linker, kind, variant, source="program.c"):
    out = os.path.join(folder, "libprogram.so" if kind == "lib" else "program")
    flags = LINKERS[linker] + KINDS[kind] + VARIANTS[variant]
    run([cc, "-O1", "-g", "-w", *flags, os.path.join(HERE, source), "-o", out,
         "-ldl"])
    if variant == "noproperty":
        run(["objcopy", "--remove-section", ".note.gnu.property", out])
    if variant == "noheaders":
        run(["llvm-strip-22", "--strip-sections", out])
    for i in range({"patched": 1, "repatched": 3}.get(variant, 0)):
        run(["patchelf", "--set-rpath",
             "/a/very/long/path/that/fits/nowhere" * (9 + 20 * i), out])
    return out


def start(path, kind, host):
    """Runs a program, or the host with the library beside it."""
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    out = run([host, path] if kind == "lib" else [path], env=env)
    if out.strip() != "PASS":
        raise Failure(f"{path}: printed {out!r}")


def complaints(path):
    out = run(["readelf", "--wide", "--all", path])
    return {line for line in out.splitlines()
            if "Error" in line or "Warning" in line}


def check_readers(original, path, kind):
    new = complaints(path) - complaints(original)
    if new:
        raise Failure(f"readelf on {path}: {new.pop()}")
    # ld.so(8): 0 for a program, 2 for an object without interpreter.
    verified = subprocess.run([LOADER, "--verify", path],
                              stdout=subprocess.DEVNULL).returncode
    if verified not in ((0, 2) if kind == "lib" else (0,)):
        raise Failure(f"{LOADER} --verify {path}: exit {verified}")
    try:
        import lief
    except ImportError:
        return
    binary = lief.ELF.parse(path)
    loads = [s for s in binary.segments if s.type == lief.ELF.Segment.TYPE.LOAD]
    addresses = [s.virtual_address for s in loads]
    if addresses != sorted(addresses):
        raise Failure(f"LIEF on {path}: PT_LOAD out of order")
    if not any(bytes(s.content[:8]) == b"CERBSEG1" for s in loads):
        raise Failure(f"LIEF on {path}: no segment starts with CERBSEG1")


def check_plan(plan, before, after, is_cut):
    """Every changed byte lies in a range of the printed plan, and in place
    there are few of them."""
    plan = json.loads(plan)
    if plan["output_size"] != len(after):
        raise Failure("the plan's size is not the output's")
    if plan["bytes_in_place"] > 4096 + 24:
        raise Failure(f"{plan['bytes_in_place']} bytes change in place")
    if is_cut != (plan["bytes_cut"] >= 0x3000):
        raise Failure(f"{plan['bytes_cut']} bytes are cut: {plan['notes']}")
    for cut in reversed(plan["cuts"]):
        before = (before[:cut["offset"]] +
                  before[cut["offset"] + cut["size"]:])
    planned = set()
    for piece in plan["ranges"]:
        if piece["offset"] < len(before):
            planned.update(range(piece["offset"],
                                 piece["offset"] + piece["size"]))
    for i, byte in enumerate(before):
        if byte != after[i] and i not in planned:
            raise Failure(f"byte 0x{i:x} changed outside the plan")


def one(args, linker, kind, variant):
    name = f"{linker}/{kind}/{variant}"
    with tempfile.TemporaryDirectory() as folder:
        driver = os.path.join(folder, "driver")
        os.mkdir(driver)
        run([args.cc, "-O1", "-w", "-shared", "-fPIC",
             "-Wl,-soname,libcuda.so.1", os.path.join(HERE, "fake_driver.c"),
             "-o", os.path.join(driver, "libcuda.so.1")])
        original = build(args.cc, folder, linker, kind, variant)
        host = os.path.join(folder, "host")
        if kind == "lib":
            run([args.cc, "-O1", os.path.join(HERE, "host.c"), "-o", host])
        with open(original, "rb") as f:
            before = f.read()
        base = os.path.basename(original)
        for keep in (False, True):
            out_dir = os.path.join(folder, "keep" if keep else "out")
            os.mkdir(out_dir)
            out = os.path.join(out_dir, base)
            plan = run([args.tool, "--plan"] +
                       (["--keep-fatbin"] if keep else []) +
                       [original, out, driver])
            with open(out, "rb") as f:
                check_plan(plan, before, f.read(),
                           not keep and (kind, variant) not in KEEPS)
            if args.verbose and not keep:
                print(f"{name}: {json.loads(plan)['tactic']}")
            run([args.tool, "--check", out])
            twice = subprocess.run([args.tool, out, out + ".twice", driver],
                                   capture_output=True, text=True)
            if twice.returncode != 1 or "already converted" not in twice.stderr:
                raise Failure(f"converted twice: {twice.stderr}")
            check_readers(original, out, kind)
            start(out, kind, host)
            tools = TOOLS if variant != "noheaders" else {}
            for tool, command in tools.items():
                if is_broken((linker, kind, variant, tool), NOT_AFTER):
                    continue
                changed_dir = os.path.join(out_dir, tool.replace(" ", ""))
                os.mkdir(changed_dir)
                changed = os.path.join(changed_dir, base)
                shutil.copy2(out, changed)
                try:
                    run([part.format(f=changed, rpath=driver)
                         for part in command])
                    run([args.tool, "--check", changed])
                    start(changed, kind, host)
                except Failure as failure:
                    raise Failure(f"after {tool}"
                                  f"{' (keep)' if keep else ''}: {failure}")
        with open(original, "rb") as f:
            if f.read() != before:
                raise Failure("the input was changed")
    return name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--only", default="")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    # Debian's lld-22 has its `ld.lld` in a folder of its own.
    llvm = os.path.dirname(os.path.realpath(shutil.which("llvm-strip-22")))
    os.environ["PATH"] = llvm + ":" + os.environ["PATH"]
    cases = [c for c in itertools.product(LINKERS, KINDS, VARIANTS)
             if re.search(args.only, "/".join(c))
             and not is_broken(c, BROKEN)]
    failures = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        futures = {pool.submit(one, args, *case): case for case in cases}
        for future in concurrent.futures.as_completed(futures):
            try:
                future.result()
            except Exception as error:  # a broken tool is a failure as well
                failures.append("/".join(futures[future]))
                print(f"FAIL {failures[-1]}: {error}", flush=True)
    print(f"{len(cases) - len(failures)} of {len(cases)} pass")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
