#!/usr/bin/env python3
"""Converted programs over a stub that is built with a sanitizer.

  sanitized_programs.py --build build/release --stub build/asan [--only REGEX]

Runs every converted program that lit-22 tests/e2e has left in --build twice,
with that build's stub and with the one of --stub loaded before all others. Both
must end alike and print the same, and no sanitizer may have anything to say.
Emulator and compiler are those of --build in both.

Needs: ninja cerberus_stub in --stub (preset asan or tsan), and what was built
and run in --build.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SECONDS = 300
RUNTIMES = {"asan": "libclang_rt.asan-x86_64.so",
            "tsan": "libclang_rt.tsan-x86_64.so"}


def runtime_of(stub):
    """The sanitizer's own library, which must come first."""
    undefined = subprocess.run(["nm", "-D", "--undefined-only", stub],
                               stdout=subprocess.PIPE, check=True).stdout
    kind = "tsan" if b"__tsan_" in undefined else "asan"
    return subprocess.run(["clang-22", "-print-file-name=" + RUNTIMES[kind]],
                          stdout=subprocess.PIPE,
                          check=True).stdout.decode().strip()


def settings_of(path):
    """DEVICES and RUN_ENV of the source in tests/e2e/programs, if it is one."""
    name = re.search(r"programs/Output/([\w.]+\.cu)\.tmp/", path)
    if not name:
        return "gfx1100", {}
    with open(os.path.join(ROOT, "tests/e2e/programs", name.group(1))) as f:
        run = "".join(line for line in f if "RUN:" in line)
    found = dict(re.findall(r"""(DEVICES|RUN_ENV)=("[^"]*"|'[^']*'|\S+)""",
                            run))
    more = dict(pair.split("=", 1) for pair in
                found.get("RUN_ENV", "").strip("\"'").split())
    return found.get("DEVICES", "gfx1100").strip("\"'").split()[0], more


def run(path, preload, build):
    device, more = settings_of(path)
    env = {
        "CERBERUS_DEVICE": device,
        "CERBERUS_EMULATOR": os.path.join(
            build, "lib/cerberus/emulator/libamdhip64.so.7"),
        "CERBERUS_JIT": os.path.join(build, "bin/cerberus-jit"),
        "HOME": os.path.join(build, "tests/lit/home"),
        "ASAN_OPTIONS": "detect_leaks=0",
        "TSAN_OPTIONS": "suppressions=" + os.path.join(
            ROOT, "tests/tools/stub_tsan.supp"),
        **more,
    }
    if preload:
        env["LD_PRELOAD"] = " ".join(preload)
    try:
        done = subprocess.run([path], env=env, timeout=SECONDS,
                              cwd=os.path.dirname(path),
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return "timeout", b"", b""
    return done.returncode, done.stdout, done.stderr


def same(plain, sanitized):
    """Numbers may differ (times, addresses), and the order of what blocks print."""
    blank = [sorted(re.sub(rb"\d+(\.\d+)?", b"#", text).split(b"\n"))
             for text in (plain[1], sanitized[1])]
    return plain[0] == sanitized[0] and blank[0] == blank[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--stub", required=True)
    parser.add_argument("--only", default="", help="paths to look at")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    stub = os.path.join(os.path.abspath(options.stub),
                        "lib/cerberus/libcuda.so.1")
    preload = [runtime_of(stub), stub]
    programs = []
    for folder, _, files in os.walk(os.path.join(build, "tests/lit/e2e")):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(".amd") and os.access(path, os.X_OK) and \
                    re.search(options.only, path):
                programs.append(path)
    failed = 0

    def look(path):
        plain = run(path, [os.path.join(build, "lib/cerberus/libcuda.so.1")],
                    build)
        return path, plain, run(path, preload, build)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, plain, sanitized in pool.map(look, sorted(programs)):
            clean = not any(
                word in sanitized[2] for word in
                (b"Sanitizer", b"runtime error:", b"cannot be preloaded"))
            if clean and same(plain, sanitized):
                continue
            failed += 1
            print(f"{path}: exit {plain[0]} and {sanitized[0]}", flush=True)
            sys.stdout.write(sanitized[2].decode(errors="replace")[:4000])
    print(f"{len(programs) - failed} of {len(programs)} programs are the same "
          "and clean")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
