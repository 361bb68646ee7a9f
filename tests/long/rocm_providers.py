#!/usr/bin/env python3
"""NVIDIA's libraries computed by AMD's own, on the emulated GPU.

    rocm_providers.py [--suite trixie|unstable] [--targets gfx1100] [--build DIR]
                      [--roots DIR] [--only NAME] [--download]

Unpacks HIP, rocBLAS, rocSOLVER, rocSPARSE and hipFFT of a Debian suite by
mmdebstrap into a root of its own, ROOTS/SUITE-…, once (800 MB to download, 5 GB on
disk), and HIP and RCCL into another (90 MB, 0.9 GB), which --only nccl alone takes.
There it runs over the emulator's HSA face, on each target:

- the programs of tests/e2e/libraries that call these libraries
- each test of cuBLAS, cuBLASLt, cuSOLVER, cuSPARSE and NCCL (tests/unit/libraries),
  over rocBLAS, rocSOLVER, rocSPARSE and RCCL instead of the host
- layouts of cuFFT, hipFFT against the host

Prints a line for each, with the last words of those that fail.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import rocm_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["libhipfft-dev", "librocblas-dev", "librocsolver-dev",
            "librocsparse-dev"]
# RCCL's root, and how many GPUs the ranks are on.
RCCL, GPUS = ["librccl-dev"], 3
COMPUTED = {"cublas", "cublasLt", "cufft", "cusolver", "cusparse",
            "nccl"}
# The tests of each library, without what differs on rocBLAS, or HIP 5.7, by
# itself: norms of numbers whose squares overflow, copies from memory that is not
# page-locked wait for the stream, functions of the host in captured graphs, values
# that rocSOLVER finds of matrices that have none; and without what asks the rocBLAS
# of the tests how it was called.
TESTS = {"cublas_test": ["CublasLevel1.NormOfExtremes",
                         "CublasStream.PointersOfABatchAreReadInOrder",
                         "CublasGraph.*"],
         "cublaslt_rocm_test": ["CublasLtFake.*"],
         "cusolver_test": ["*.NotANumber"],
         "cusparse_test": []}
# And on one suite's alone: rocBLAS 6.4 rounds products of bf16 before it adds
# them, in axpy and in gemv of transposed matrices.
OF_SUITE = {("unstable", "cublas_test"): ["CublasEx.AxpyAndScal",
                                          "CublasHalf.GemvOfManyMatrices"]}
# Of NCCL's tests those that are RCCL's to pass, each in a process of its own: a
# set of ranks after one that is gone ends in a fault on the emulated GPU. The
# others have calls that not all ranks make, which it waits for, averages, which it
# makes of parts, or 8-bit floats, which RCCL 2.13 has not. On GPUs with waves of 32 its sends to oneself do not
# end there.
ALONE = {"nccl_test": ["RanksOfAGroup", "WorkStandsBetweenWhatIsBeforeAndBehind",
                       "GoesIntoGraphs", "Split", "OwnOperations",
                       "SendAndReceive", "WhereBlocksGo",
                       "AThreadForEachRank"]}
RCCL_TARGET = "gfx90a"
# Programs that AMD's libraries have no part in here.
LEFT_OUT = {"fft_callbacks", "fft_spread"}
# rocFFT's helper would start without the root's loader; kernels of both read
# behind their arrays.
SETTINGS = {"ROCFFT_RTC_PROCESS": "0", "CERBERUS_EMU_BOUNDS": "gpu",
            "CERBERUS_LOG": "info"}


def targets_of(name, options):
    return ([RCCL_TARGET] if name.startswith("nccl")
            else options.targets.split(","))


def programs():
    """Sources, and the libraries that they link."""
    for source in sorted((ROOT / "tests/e2e/libraries").glob("*.cu")):
        names = re.findall(r"-l:lib(\w+)(\.so\.\d+)", source.read_text())
        if COMPUTED.intersection(name for name, _ in names) and (
                source.stem not in LEFT_OUT):
            yield source, [f"-l:lib{name}{end}" for name, end in names]
    yield ROOT / "tests/long/rocm/cufft_layouts.cu", ["-l:libcufft.so.12"]


def convert(source, names, options, work):
    program = work / source.stem
    libraries = options.build.absolute() / "lib/cerberus"
    subprocess.run(["nvcc", "-std=c++17", "-w",
                    f"-I{ROOT}/tests/e2e/libraries/declarations",
                    f"-L{libraries}", "-o", program, source, "-lcuda", *names],
                   check=True, stdout=subprocess.DEVNULL)
    result = program.with_suffix(".amd")
    subprocess.run([options.build / "bin/cerberus-convert", "-q", program, "-o",
                    result, "--arch",
                    ",".join(targets_of(source.stem, options))], check=True)
    return result


def run(root, target, work, program, *arguments, folders=()):
    """"" or why it did not pass on ROCm's library."""
    gpus = GPUS if program.stem.startswith("nccl") else 1
    environment = {"PATH": os.environ["PATH"], "HOME": str(work),
                   "CERBERUS_EMU_TARGETS": ",".join([target] * gpus),
                   **SETTINGS}
    command = root.command(environment, program, *arguments)
    if folders and root.own_loader:
        command[2] = ":".join([command[2], *map(str, folders)])
    try:
        done = subprocess.run(command, env=environment, capture_output=True,
                              timeout=1800, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "no end after 1800 s"
    output = done.stdout + done.stderr
    if " computes, /" not in output:
        return f"no library of ROCm's computed\n{output[-1000:]}"
    passed = re.search(r"^(PASS|\[  PASSED  \] \d+ tests?\.)$", done.stdout,
                       re.M)
    if done.returncode == 0 and passed:
        return ""
    return f"exit {done.returncode}\n{output[-1500:]}"


def main():
    options = rocm_root.options_of(__doc__, ["trixie", "unstable"], "gfx1100")
    def root_of(name):
        return rocm_root.open_root(
            options.suite, options.roots, options.build,
            RCCL if name.startswith("nccl") else PACKAGES)

    if options.download:
        for name in ["nccl", *([] if options.only == "nccl" else ["blas"])]:
            root_of(name)
        return 0
    failed = run_any = 0

    def tell(name, why):
        nonlocal failed, run_any
        print(f"{name}: {why or 'PASS'}", flush=True)
        failed, run_any = failed + bool(why), True

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for source, names in programs():
            if options.only not in source.stem:
                continue
            program = convert(source, names, options, work)
            for target in targets_of(source.stem, options):
                tell(f"{source.stem} on {target}",
                     run(root_of(source.stem), target, work, program))
        filters = [(name, "-" + ":".join(
                       not_there + OF_SUITE.get((options.suite, name), [])))
                   for name, not_there in TESTS.items()]
        filters += [(name, "Nccl." + one) for name, all_of in ALONE.items()
                    for one in all_of]
        for name, chosen in filters:
            if options.only not in name:
                continue
            for target in targets_of(name, options):
                tell(f"{name} {chosen} on {target}",
                     run(root_of(name), target, work,
                         options.build.absolute() / "tests" / name,
                         "--gtest_filter=" + chosen,
                         folders=[options.build.absolute() / "lib/cerberus"]))
    return 1 if failed or not run_any else 0


if __name__ == "__main__":
    sys.exit(main())
