#!/usr/bin/env python3
"""Random C programs through another producer of PTX, clang's NVPTX backend.

usage: c_programs.py [--build DIR] [--target gfx1100] [--seeds 0:200]

csmith (Debian's csmith and libcsmith-dev) writes programs that end with a
checksum of all of their variables. clang compiles each for the host and to
PTX, at a random level of optimisation and for a random target; one thread of
the emulated GPU runs the PTX, and the checksums must agree. Programs that run
for long, or whose PTX is large, are left out. Prints the PTX files of those
that fail, and how many did not.
"""
import argparse
import ctypes
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of what csmith.h declares, without a C library.
PRELUDE = """
#include <stdint.h>
#include <limits.h>
#include <float.h>
#define STATIC static
#define FUNC_NAME(x) (safe_##x)
#define LOG_INDEX
#define LOG_EXEC
#define UNDEFINED(x) (x)
#define assert(x)
#define printf(...) 0
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define ldexp(a, b) ((a) * ((b) > 0 ? 4.0 : 0.25))
#define ldexpf(a, b) ((a) * ((b) > 0 ? 4.0f : 0.25f))
#include "safe_math.h"
static uint64_t checksum = 14695981039346656037ul;
static void platform_main_begin(void) {}
static void crc32_gentab(void) {}
static void transparent_crc(uint64_t value, const char *name, int print) {
  for (int i = 0; i < 8; ++i)
    checksum = (checksum ^ (value >> 8 * i & 255)) * 1099511628211ul;
}
static void transparent_crc_bytes(char *bytes, int count, const char *name,
                                  int print) {
  for (int i = 0; i < count; ++i) transparent_crc(bytes[i], name, print);
}
static void platform_main_end(uint64_t crc, int print) {}
#define crc32_context 0
"""
ENDS = """
#ifdef __NVPTX__
__attribute__((nvptx_kernel)) void k(uint64_t *out) { *out = run(); }
#else
long write(int, const void *, unsigned long);
int main() { uint64_t sum = run(); return write(1, &sum, 8) != 8; }
#endif
"""
CLANG = ["clang-22", "-w", "-Wno-incompatible-pointer-types", "-fwrapv",
         "-fno-strict-aliasing", "-ffp-contract=off", "-I/usr/include/csmith"]
LARGEST_PTX = 120000


def source_of(seed, options):
    text = subprocess.run(
        ["csmith", "--seed", str(seed), "--no-argc", "--concise",
         "--max-funcs", "6", "--max-block-size", "3", "--no-packed-struct"] +
        options, stdout=subprocess.PIPE, check=True, text=True).stdout
    text = text.replace('#include "csmith.h"', PRELUDE)
    text = text.replace("int main (void)", "static uint64_t run(void)")
    text = re.sub("static long __undefined;", "", text)
    end = text.rindex("return 0;")
    return text[:end] + "return checksum;" + text[end + 9:] + ENDS


class Device:
    def __init__(self, build):
        self.cuda = ctypes.CDLL(build / "lib/cerberus/libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        error = getattr(self.cuda, name)(*args)
        if error:
            raise RuntimeError(f"{name}: CUDA error {error}")

    def checksum(self, ptx):
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        out, sum_ = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"k")
        self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(8))
        args = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        self.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, args,
                  None)
        self.call("cuMemcpyDtoH_v2", ctypes.byref(sum_), out,
                  ctypes.c_size_t(8))
        self.call("cuMemFree_v2", out)
        self.call("cuModuleUnload", module)
        return sum_.value


def run(seed, folder, device):
    """None if the program is left out, else whether the checksums agree."""
    rng = random.Random(seed)
    level = rng.choice(["-O0", "-O1", "-O2", "-O3", "-Os"])
    sm = rng.choice(["sm_50", "sm_70", "sm_80", "sm_90", "sm_100"])
    options = rng.choice([[], ["--float"], ["--no-volatiles"]])
    source, host = folder / f"{seed}.c", folder / f"{seed}.host"
    ptx = folder / f"{seed}.ptx"
    source.write_text(source_of(seed, options))
    subprocess.run(CLANG + ["-O1", source, "-o", host], check=True)
    compiled = subprocess.run(
        CLANG + ["--target=nvptx64-nvidia-cuda", "-march=" + sm,
                 "-ffreestanding", level, "-S", source, "-o", ptx],
        stderr=subprocess.DEVNULL)
    # What clang's backend cannot compile is not ours.
    if compiled.returncode or ptx.stat().st_size > LARGEST_PTX:
        return None
    try:
        want = subprocess.run([host], stdout=subprocess.PIPE, timeout=2,
                              check=True).stdout
    except subprocess.SubprocessError:
        return None
    try:
        got = device.checksum(ptx.read_bytes())
    except RuntimeError as error:
        print(f"{ptx}: {error}")
        return False
    if got != int.from_bytes(want, "little"):
        print(f"{ptx}: checksum {got:#x}, on the host {want[::-1].hex()}")
        return False
    for file in (source, host, ptx):
        file.unlink()
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/release")
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("--seeds", default="0:200")
    args = parser.parse_args()
    os.environ["CERBERUS_DEVICE"] = args.target
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    device = Device(args.build.resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="c_programs_"))
    first, end = (int(n) for n in args.seeds.split(":"))
    results = [run(seed, folder, device) for seed in range(first, end)]
    print(f"{results.count(True)} agree, {results.count(False)} do not, "
          f"{results.count(None)} left out")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
