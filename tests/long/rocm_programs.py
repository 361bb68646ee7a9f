#!/usr/bin/env python3
"""HIP programs on AMD's own HIP runtimes of later Debian suites.

    rocm_programs.py [--suite trixie] [--targets gfx1100,gfx942] [--build DIR]
                     [--roots DIR] [--only TEXT] [--download]

tests/long/rocm/hip_features.hip, which is compiled with the suite's own HIP
headers and device libraries (queries, printf and malloc in kernels, hiprtc,
graphs, cooperative launches, pools, priorities, callbacks, managed memory,
peers, virtual memory), those of tests/unit/emulator/programs, and rocminfo, over
the emulator's HSA face on each target. The suite, trixie (HIP 5.7.1) or unstable
(6.4.3), is unpacked by mmdebstrap into ROOTS/SUITE, 110 MB to download, once.
Prints a line for each part and program, and how many passed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests/unit/emulator"
# Parts that are known to fail (docs/hip-versions.md), by suite.
KNOWN = {
    "trixie": ["textures", "virtual_memory"],
    "unstable": ["textures"],
}


def is_wave64(target):
    return target.startswith("gfx9")


def clang(*arguments):
    subprocess.run(["clang++-22", "-x", "hip", *arguments[:1], "-x", "none",
                    "-std=c++20", "-O2", "-no-hip-rt",
                    "-Wl,--allow-shlib-undefined", *arguments[1:]], check=True)


def hip_libraries(root):
    folder = root.folder / rocm_root.LIBRARIES
    return [*folder.glob("libamdhip64.so.[0-9]"),
            *folder.glob("libhiprtc.so.[0-9]")]


def build_features(root, targets, work):
    """One for waves of 32 and one of 64: the size is a constant in HIP's
    headers, which clang no longer predefines."""
    bitcode = next(root.folder.glob("usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode"))
    built = {}
    for wave in (32, 64):
        mine = [t for t in targets if is_wave64(t) == (wave == 64)]
        if not mine:
            continue
        program = work / f"features{wave}"
        clang(ROOT / "tests/long/rocm/hip_features.hip",
              f"--hip-path={root.folder}/usr", f"--rocm-path={root.folder}/usr",
              f"--rocm-device-lib-path={bitcode}", "-D__HIP_ROCclr__",
              f"-D__AMDGCN_WAVEFRONT_SIZE={wave}", "-mcode-object-version=5",
              *[f"--offload-arch={t}" for t in mine], *hip_libraries(root),
              "-o", program)
        built.update({t: program for t in mine})
    return built


def build_program(source, root, targets, work):
    program = work / source.stem
    clang(source, f"-I{PROGRAMS}", "-nogpulib", "-nogpuinc",
          "-ffp-contract=off", "-mcode-object-version=5",
          *[f"--offload-arch={t}" for t in targets], *hip_libraries(root),
          "-o", program)
    return program


def run(root, target, program, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(),
                   "CERBERUS_EMU_TARGETS": target,
                   "CERBERUS_EMU_DIVISION": "llvm"}
    command = root.command(environment, program, *arguments)
    try:
        return subprocess.run(command, env=environment, timeout=300,
                              capture_output=True, text=True, errors="replace")
    except subprocess.TimeoutExpired as stopped:
        return subprocess.CompletedProcess(command, -1,
                                           str(stopped.stdout or ""), "no end")


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def note(self, what, why):
        print(f"{what}: {why or 'PASS'}", flush=True)
        self.passed += not why
        self.failed += bool(why)


def check_features(root, built, known, results):
    for target, program in built.items():
        done = run(root, f"{target},{target}", program)
        device = re.search(r"^ *device 0:.*$", done.stdout, re.M)
        print(device[0].strip() if device else f"{target}: no device")
        parts = re.findall(r"^(\w+): (PASS|FAIL.*)$", done.stdout, re.M)
        for name, how in parts:
            if name in known:
                why = "" if how != "PASS" else "no longer fails"
                results.note(f"{target} {name}, which must fail", why)
            else:
                results.note(f"{target} {name}", "" if how == "PASS" else how)
        if not parts or done.returncode < 0:
            results.note(f"{target} hip_features", f"exit {done.returncode}: "
                         + (done.stderr.strip().splitlines() or [""])[-1])
        if done.stdout.count("says hello 0.25") != 3:
            results.note(f"{target} printf's text", "is not there")


def check_rocminfo(root, targets, results):
    files = root.hsa.with_name("libcerberus-amdgpu.so")
    root.preloads.insert(0, files)
    done = run(root, ",".join(targets), root.folder / "usr/bin/rocminfo")
    root.preloads.remove(files)
    names = re.findall(r"^ +Name: +(gfx\w+)", done.stdout, re.M)
    results.note("rocminfo", "" if names == targets else f"lists {names}")


def main():
    options = rocm_root.options_of(__doc__, ["trixie", "unstable"],
                                   "gfx1100,gfx942")
    root = rocm_root.open_root(options.suite, options.roots, options.build)
    if options.download:
        return 0
    targets = options.targets.split(",")
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if options.only in "rocminfo":
            check_rocminfo(root, targets, results)
        if options.only in "hip_features":
            check_features(root, build_features(root, targets, work),
                           KNOWN[options.suite], results)
        for source in sorted(PROGRAMS.glob("programs/*.hip")):
            if options.only not in source.stem:
                continue
            program = build_program(source, root, targets, work)
            for target in targets:
                done = run(root, target, program)
                ok = done.returncode == 0 and "PASS" in done.stdout
                results.note(f"{target} {source.stem}", "" if ok else
                             f"exit {done.returncode}: {done.stderr[-200:]}")
    print(f"{results.passed} passed, {results.failed} failed")
    return 1 if results.failed or not results.passed else 0


if __name__ == "__main__":
    sys.exit(main())
