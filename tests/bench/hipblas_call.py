#!/usr/bin/env python3
"""What a call of cuBLAS costs beside one of hipBLAS, over AMD's own libraries.

    hipblas_call.py [--build DIR] [--roots DIR]

hipblas_call.cu, converted, over HIP and rocBLAS of Debian unstable on the emulated
gfx1100, in the root of tests/long/rocm_providers.py, which is downloaded unless it
is there; so is hipBLAS (0.2 MB), beside it. A call that launches a kernel, until it
returns, and one without elements, which launches none. The kernel runs in another
thread of the same machine, so that the turn which took least tells most.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "long"))
import rocm_providers  # pylint: disable=wrong-import-position
import rocm_root  # pylint: disable=wrong-import-position

SUITE, PACKAGE = "unstable", "libhipblas2"
AIM = 300


def hipblas_in(roots):
    """The library, from Debian's package."""
    folder = roots.absolute() / f"{SUITE}-{PACKAGE}"
    if not folder.exists():
        rocm_root.unpack_alone(folder, SUITE, [PACKAGE])
    return next(folder.rglob("libhipblas.so.2"))


def main():
    options = rocm_root.options_of(__doc__, [SUITE], "gfx1100")
    root = rocm_root.open_root(SUITE, options.roots, options.build,
                               rocm_providers.PACKAGES)
    hipblas = hipblas_in(options.roots)
    libraries = options.build.absolute() / "lib/cerberus"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "hipblas_call"
        subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", program,
                        HERE / "hipblas_call.cu", f"-L{libraries}",
                        "-l:libcublas.so.13"], check=True)
        subprocess.run([options.build / "bin/cerberus-convert", "-q", program,
                        "-o", program.with_suffix(".amd"), "--arch",
                        options.targets], check=True)
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "CERBERUS_EMU_TARGETS": options.targets,
                       "CERBERUS_LIBRARY_PROVIDER": "rocm",
                       **rocm_providers.SETTINGS, "CERBERUS_LOG": "error"}
        for name, arguments in (("that launches", ("1", "20", "201")),
                                ("of nothing", ("0", "20000", "61"))):
            command = root.command(environment, program.with_suffix(".amd"),
                                   hipblas, *arguments)
            ours, theirs, least, their_least = map(float, subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE,
                text=True).stdout.split())
            print(f"a call {name}: ours at least {least:.0f} ns, hipBLAS' "
                  f"{their_least:.0f} ns, {least - their_least:.0f} more (aim "
                  f"{AIM}); medians {ours:.0f} and {theirs:.0f} ns")


if __name__ == "__main__":
    main()
