#!/usr/bin/env python3
"""AMD's own libraries of a later Debian suite, compared with the host.

    rocm_libraries.py [--suite trixie] [--targets gfx1100,gfx90a] [--build DIR]
                      [--roots DIR] [--only NAME] [--download]

Each is unpacked by mmdebstrap into a root of its own, ROOTS/SUITE-PACKAGE, once:
rocRAND (25 MB to download beside HIP's 110 MB), rocFFT (2 MB; its kernels are
compiled as it runs), rocBLAS (170 MB, 2.3 GB on disk; unstable's 4.0 GB),
rocSOLVER (with rocBLAS 3.9 GB on disk), RCCL (290 MB on disk), and of unstable
alone hipBLASLt (0.7 GB on disk). The programs are in tests/long/rocm; they
run on the suite's HIP runtime over the emulator's HSA face, on each target, RCCL's
on three GPUs of it, and check what they get.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ["rocrand", "rocfft", "rocblas", "rocsolver", "rccl", "hipblaslt"]
# Those that trixie does not have, and what else their headers want.
NEWER = {"hipblaslt": ["libhipblas-common-dev"]}
# Those that take several GPUs.
GPUS = {"rccl": 3}


def build(root, name, work):
    folder = root.folder / rocm_root.LIBRARIES
    program = work / name
    subprocess.run(
        ["clang++-22", "-std=c++20", "-O2", "-D__HIP_PLATFORM_AMD__",
         "-isystem", root.folder / "usr/include",
         ROOT / f"tests/long/rocm/{name}.cc", *folder.glob(f"lib{name}.so.?"),
         *folder.glob("librocblas.so.?"), *folder.glob("libamdhip64.so.?"),
         "-Wl,--allow-shlib-undefined",
         "-o", program], check=True)
    return program


def run(root, target, program):
    environment = {"PATH": os.environ["PATH"], "HOME": str(program.parent),
                   "CERBERUS_EMU_TARGETS":
                       ",".join([target] * GPUS.get(program.stem, 1)),
                   # rocFFT's helper would start without the root's loader.
                   "ROCFFT_RTC_PROCESS": "0",
                   # That of unstable's comgr takes one compressed file's code
                   # for another's.
                   "AMD_COMGR_CACHE": "0"}
    if target.startswith("gfx9"):
        # Kernels of CDNA read behind small matrices.
        environment["CERBERUS_EMU_BOUNDS"] = "gpu"
    command = root.command(environment, program)
    done = subprocess.run(command, env=environment, capture_output=True,
                          text=True, errors="replace")
    good = done.returncode == 0 and done.stdout.endswith("PASS\n")
    return "" if good else (f"exit {done.returncode}\n{done.stdout[-1000:]}"
                            f"{done.stderr[-1000:]}")


def main():
    options = rocm_root.options_of(__doc__, ["trixie", "unstable"],
                                   "gfx1100,gfx90a", LIBRARIES)
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name in [options.only] if options.only else LIBRARIES:
            if not options.only and name in NEWER and options.suite == "trixie":
                continue
            root = rocm_root.open_root(
                options.suite, options.roots, options.build,
                [f"lib{name}-dev", *NEWER.get(name, [])])
            if options.download:
                continue
            program = build(root, name, pathlib.Path(work))
            for target in options.targets.split(","):
                why = run(root, target, program)
                print(f"{name} on {target}: {why or 'PASS'}", flush=True)
                failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
