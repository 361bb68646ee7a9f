#!/usr/bin/env python3
"""The HSA face's tests, or random packets, under sanitizers.

    hsa_threads.py [--sanitize thread] [--fuzz SECONDS] [--build DIR]
                   [--keep DIR]

Compiles the sources of emulator/hsa and their tests with the sanitizers, thread
or address,undefined, and links them with the emulator of a build, which is not
instrumented: what its kernels do to memory is not seen, its locks and threads
are. All of it is the preset tsan's hsa_face_test, which takes the emulator's
compilation. Runs all tests but that of a fork, and that of the library's
symbols, of which there is none here; or, for so many seconds, the fuzzer of
packets (tests/fuzz/hsa_packet_fuzzer.cc). Fails on any report.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests/unit/emulator"


def compile_one(build, source, work, sanitize):
    result = work / (source.stem + ".o")
    subprocess.run(
        ["clang++-22", "-std=c++20", "-g", "-O1", *sanitize,
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
    parser.add_argument("--sanitize", default="thread")
    parser.add_argument("--fuzz", type=int, default=0, metavar="SECONDS")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.absolute()
    # The program's callbacks are declared apart from AMD's types.
    sanitize = [f"-fsanitize={options.sanitize}", "-fno-sanitize=function",
                "-fno-sanitize-recover=all"]
    sources = sorted((ROOT / "emulator/hsa").glob("*.cc"))
    ends = ["-lgmock_main", "-lgmock", "-lgtest"]
    if options.fuzz:
        sanitize.append("-fsanitize=fuzzer")
        sources.append(ROOT / "tests/fuzz/hsa_packet_fuzzer.cc")
        ends = []
    else:
        sources += [TESTS / "hsa_face_test.cc",
                    TESTS / "hsa_face_memory_test.cc"]
    with tempfile.TemporaryDirectory() as folder:
        work = options.keep.absolute() if options.keep else pathlib.Path(folder)
        work.mkdir(exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(
                lambda source: compile_one(build, source, work, sanitize),
                sources))
        program = work / "program"
        libraries = [build / f"lib/libcerberus_{name}.a"
                     for name in ("emulator", "support", "fmt")]
        subprocess.run(
            ["clang++-22", *sanitize, "-fuse-ld=lld", "-o", program,
             *objects, *libraries, "-L/usr/lib/llvm-22/lib", "-lLLVM-22",
             "-lzstd", *ends], check=True)
        found = work / "found"
        found.mkdir(exist_ok=True)
        what = (["--gtest_filter=-HsaInit.EverySymbol*:HsaTest.AForked*"]
                if not options.fuzz else
                [found, ROOT / "tests/fuzz/corpus/hsa_packet",
                 f"-max_total_time={options.fuzz}", f"-artifact_prefix={work}/",
                 "-print_final_stats=1"])
        done = subprocess.run(
            [program, *what],
            env={**os.environ, "CERBERUS_EMU_TARGETS": "gfx1100,gfx90a",
                 "ASAN_OPTIONS": "detect_leaks=0"},
            capture_output=True, text=True, errors="replace")
    output = done.stdout + done.stderr
    reports = len(re.findall("WARNING: ThreadSanitizer|ERROR: AddressSanitizer|"
                             "runtime error:", output))
    print(output[-3000:] if done.returncode else "\n".join(
        line for line in output.splitlines()
        if re.search(r"PASSED|stat::number_of_executed", line)))
    print(f"{reports} reports")
    return 1 if reports or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
