#!/usr/bin/env python3
"""AMD's own libraries of a later Debian suite, compared with the host.

    rocm_libraries.py [--suite trixie] [--targets gfx1100,gfx90a] [--build DIR]
                      [--roots DIR] [--only NAME] [--download]

Each is unpacked by mmdebstrap into a root of its own, ROOTS/SUITE-PACKAGE, once:
rocRAND (25 MB to download beside HIP's 110 MB), rocFFT (2 MB; its kernels are
compiled as it runs), rocBLAS (170 MB, 2.3 GB on disk; unstable's 4.0 GB),
rocSOLVER (with rocBLAS 3.9 GB on disk), RCCL (290 MB on disk), and of unstable
alone hipBLASLt (0.7 GB on disk), MIOpen (with rocBLAS and the compiler that it
starts) and, as headers, rocPRIM, hipCUB and rocThrust; the hip libraries with
those that they call. The programs are in tests/long/rocm; they run on the suite's
HIP runtime over the emulator's HSA face, on each target, RCCL's on three GPUs of
it, and check what they get.
"""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Library:
    more: tuple = ()  # packages beside that of its headers
    headers: bool = False  # there is no more to it: `more` are all packages
    unstable: bool = False  # trixie does not have it
    gpus: int = 1
    within: bool = False  # it starts compilers by their paths


LIBRARIES = {
    "rocrand": Library(),
    "rocfft": Library(),
    "rocblas": Library(),
    "rocsolver": Library(),
    "rccl": Library(gpus=3),
    "hipblas": Library(),
    "hipfft": Library(),
    "hipsolver": Library(),
    "hipsparse": Library(),
    "hipblaslt": Library(("libhipblas-common-dev",), unstable=True),
    "miopen": Library(("clang-21", "clang-tools-21", "lld-21", "llvm-21",
                       "dash"), unstable=True, within=True),
    "headers": Library(("librocprim-dev", "libhipcub-dev", "librocthrust-dev",
                        "rocm-device-libs-21"), headers=True, unstable=True),
}


def files_of(folder, name):
    return [f for f in folder.glob("lib*.so.?")
            if f.name.lower().startswith(f"lib{name}.so.")]


def build(root, name, work):
    folder = root.folder / rocm_root.LIBRARIES
    program = work / name
    # Where a compiler is among the packages there is a C library's, too.
    subprocess.run(
        ["clang++-22", "-std=c++20", "-O2", "-D__HIP_PLATFORM_AMD__",
         "-idirafter", root.folder / "usr/include",
         ROOT / f"tests/long/rocm/{name}.cc", *files_of(folder, name),
         *folder.glob("librocblas.so.?"), *folder.glob("libamdhip64.so.?"),
         "-Wl,--allow-shlib-undefined",
         "-o", program], check=True)
    return program


def build_headers(root, name, target, work):
    program = work / f"{name}-{target}"
    bitcode = next(root.folder.glob("usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode"))
    wave = 64 if target.startswith("gfx9") else 32
    subprocess.run(
        ["clang++-22", "-x", "hip", ROOT / f"tests/long/rocm/{name}.hip", "-x",
         "none", "-std=c++20", "-O2", "-no-hip-rt",
         f"--hip-path={root.folder}/usr", f"--rocm-path={root.folder}/usr",
         f"--rocm-device-lib-path={bitcode}", "-D__HIP_ROCclr__",
         "-D__HIP_PLATFORM_AMD__", f"-D__AMDGCN_WAVEFRONT_SIZE={wave}",
         "-idirafter", root.folder / "usr/include", "-mcode-object-version=5",
         f"--offload-arch={target}", "-Wl,--allow-shlib-undefined",
         *(root.folder / rocm_root.LIBRARIES).glob("libamdhip64.so.?"),
         "-o", program], check=True)
    return program


def give_compilers(root, name):
    """Debian's MIOpen starts one of its two by a path of the folder that it was
    built in."""
    for file in files_of(root.folder / rocm_root.LIBRARIES, name):
        for path in set(re.findall(rb"\0/(build/[^\0]*/clang-[0-9]+)\0",
                                   file.read_bytes())):
            link = root.folder / path.decode()
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(f"/usr/bin/{link.name}")


def run(root, library, target, program):
    environment = {"PATH": os.environ["PATH"], "HOME": str(program.parent),
                   "CERBERUS_EMU_TARGETS": ",".join([target] * library.gpus),
                   # rocFFT's helper would start without the root's loader.
                   "ROCFFT_RTC_PROCESS": "0",
                   # That of unstable's comgr takes one compressed file's code
                   # for another's.
                   "AMD_COMGR_CACHE": "0"}
    if target.startswith("gfx9"):
        # Kernels of CDNA read behind small matrices.
        environment["CERBERUS_EMU_BOUNDS"] = "gpu"
    if library.within:
        # MIOpen hands its compiler -isystem /usr/include, in front of C++'s own
        # headers, which look for C's behind them.
        environment.update(HOME="/tmp", CCC_OVERRIDE_OPTIONS="#X-isystem",
                           MIOPEN_EXPERIMENTAL_GCN_ASM_PATH="/usr/bin/clang-21")
        give_compilers(root, program.stem)
        command = root.command_within(environment, program)
    else:
        command = root.command(environment, program)
    done = subprocess.run(command, env=environment, capture_output=True,
                          text=True, errors="replace")
    good = done.returncode == 0 and done.stdout.endswith("PASS\n")
    return "" if good else (f"exit {done.returncode}\n{done.stdout[-1000:]}"
                            f"{done.stderr[-1000:]}")


def main():
    options = rocm_root.options_of(__doc__, ["trixie", "unstable"],
                                   "gfx1100,gfx90a", list(LIBRARIES))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else LIBRARIES:
            library = LIBRARIES[name]
            if (not options.only and library.unstable and
                    options.suite == "trixie"):
                continue
            root = rocm_root.open_root(
                options.suite, options.roots, options.build,
                [*([] if library.headers else [f"lib{name}-dev"]),
                 *library.more])
            if options.download:
                continue
            work = pathlib.Path(folder)
            if not library.headers:
                program = build(root, name, work)
            for target in options.targets.split(","):
                if library.headers:
                    program = build_headers(root, name, target, work)
                why = run(root, library, target, program)
                print(f"{name} on {target}: {why or 'PASS'}", flush=True)
                failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
