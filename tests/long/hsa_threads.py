#!/usr/bin/env python3
"""The HSA face's tests under ThreadSanitizer.

    hsa_threads.py [--build DIR] [--keep DIR]

Compiles the sources of emulator/hsa and their tests with -fsanitize=thread and
links them with the emulator of a build, which is not instrumented: what its
kernels do to memory is not seen, its locks and threads are. All of it is the
preset tsan's hsa_face_test, which takes the emulator's compilation. Runs all
tests but that of a fork, and that of the library's symbols, of which there is
none here; fails on any report.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests/unit/emulator"


def compile_one(build, source, work):
    result = work / (source.stem + ".o")
    subprocess.run(
        ["clang++-22", "-std=c++20", "-g", "-O1", "-fsanitize=thread",
         *(f"-I{build}/{folder}"
           for folder in ("rooms/emulator", "generated", "rooms/support")),
         f"-I{ROOT}", "-isystem", ROOT / "build/rocm-debian/usr/include",
         f'-DKERNELS="{build}/tests/hip/kernels.gfx1100.hsaco"',
         f'-DHSA_SYMBOLS="{TESTS}/hsa_symbols.txt"', "-c", source, "-o",
         result], check=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=ROOT / "build/release",
                        type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.absolute()
    sources = sorted((ROOT / "emulator/hsa").glob("*.cc"))
    sources += [TESTS / "hsa_face_test.cc", TESTS / "hsa_face_memory_test.cc"]
    with tempfile.TemporaryDirectory() as folder:
        work = options.keep.absolute() if options.keep else pathlib.Path(folder)
        work.mkdir(exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(
                lambda source: compile_one(build, source, work), sources))
        program = work / "hsa_face_test"
        libraries = [build / f"lib/libcerberus_{name}.a"
                     for name in ("emulator", "support", "fmt")]
        subprocess.run(
            ["clang++-22", "-fsanitize=thread", "-fuse-ld=lld", "-o", program,
             *objects, *libraries, "-L/usr/lib/llvm-22/lib", "-lLLVM-22",
             "-lzstd", "-lgmock_main", "-lgmock", "-lgtest"], check=True)
        done = subprocess.run(
            [program, "--gtest_filter=-HsaInit.EverySymbol*:HsaTest.AForked*"],
            env={**os.environ, "CERBERUS_EMU_TARGETS": "gfx1100,gfx90a"},
            capture_output=True, text=True, errors="replace")
    reports = (done.stdout + done.stderr).count("WARNING: ThreadSanitizer")
    print((done.stdout + done.stderr)[-3000:] if done.returncode else
          done.stdout.strip().splitlines()[-1])
    print(f"{reports} reports")
    return 1 if reports or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
