#!/usr/bin/env python3
"""Reads programs made by nvcc and compares with what nvcc put into them.

nvcc keeps the PTX it embeds (--keep); the reader must find that text again,
whatever packed it, for the architectures and with the flags asked for.

  nvcc_test.py --tool REWRITE_TOOL [--nvcc NVCC] [--only REGEX]
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

ONE = r"""
__global__ void first(float* p) { p[threadIdx.x] *= 2.0f; }
namespace n { template <class T> __global__ void second(T* p) { *p += 1; } }
int main() {
  first<<<1, 1>>>(nullptr);
  n::second<int><<<1, 1>>>(nullptr);
}
"""
TWO = r"""
__global__ void third(int* p) { atomicAdd(p, 1); }
void unused() { third<<<1, 1>>>(nullptr); }
"""
EMPTY = "int main() { return 0; }\n"
FIRST, SECOND, THIRD = "_Z5firstPf", "_ZN1n6secondIiEEvPT_", "_Z5thirdPi"

# name: (sources, nvcc options, expected lines of `--unpack`, as sets of
# "kind arch packing debug" for each wrapper with kernels)
CASES = {
    "default": ([ONE], [], {"ptx compute_75 zstd release",
                            "cubin sm_75 none release"}),
    "none": ([ONE], ["--compress-mode=none"],
             {"ptx compute_75 none release", "cubin sm_75 none release"}),
    "speed": ([ONE], ["--compress-mode=speed"],
              {"ptx compute_75 lz4 release", "cubin sm_75 none release"}),
    "size": ([ONE], ["--compress-mode=size"],
             {"ptx compute_75 zstd release", "cubin sm_75 zstd release"}),
    "debug": ([ONE], ["-G"], {"ptx compute_75 zstd debug",
                              "cubin sm_75 zstd debug"}),
    "archs": ([ONE], ["-gencode", "arch=compute_80,code=[sm_80,compute_80]",
                      "-gencode", "arch=compute_90,code=compute_90"],
              {"ptx compute_80 zstd release", "cubin sm_80 none release",
               "ptx compute_90 zstd release"}),
    "chip": ([ONE], ["-gencode", "arch=compute_90a,code=compute_90a",
                     "-gencode", "arch=compute_100f,code=compute_100f"],
             {"ptx compute_90a zstd release",
              "ptx compute_100f zstd release"}),
    "sass": ([ONE], ["-gencode", "arch=compute_86,code=sm_86"],
             {"cubin sm_86 none release"}),
    "two": ([ONE, TWO], [], {"ptx compute_75 zstd release",
                             "cubin sm_75 none release"}),
    "shared": ([ONE], ["-shared", "-Xcompiler", "-fPIC"],
               {"ptx compute_75 zstd release", "cubin sm_75 none release"}),
    "rdc": ([ONE, TWO], ["-rdc=true"], {"ptx compute_75 zstd release",
                                        "cubin sm_75 zstd release",
                                        "cubin sm_75 none release"}),
    "nokernels": ([EMPTY], [], set()),
}


class Failure(Exception):
    pass


def words(ptx):
    """PTX without comments and spacing, which fatbinary may drop."""
    ptx = re.sub(r"//[^\n]*|/\*.*?\*/", " ", ptx, flags=re.S)
    return re.sub(r"\s+", "", ptx)


def check(args, name, folder):
    sources, options, expected = CASES[name]
    files = []
    for i, text in enumerate(sources):
        files.append(os.path.join(folder, f"unit{i}.cu"))
        with open(files[-1], "w") as f:
            f.write(text)
    keep = os.path.join(folder, "keep")
    out = os.path.join(folder, "out")
    os.mkdir(keep)
    os.mkdir(out)
    program = os.path.join(folder, "program")
    done = subprocess.run([args.nvcc, "--keep", "--keep-dir", keep, *options,
                           *files, "-o", program], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise Failure(done.stdout + done.stderr)
    done = subprocess.run([args.tool, "--unpack", program, out],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr)
    found, kernels = set(), set()
    for line in done.stdout.splitlines():
        index, kind, arch, packing, debug, *names = line.split()
        if names:
            found.add(f"{kind} {arch} {packing} {debug}")
            kernels.update(names)
    if found != expected:
        raise Failure(f"found {sorted(found)}, expected {sorted(expected)}")
    wanted = set()
    if ONE in sources:
        wanted |= {FIRST, SECOND}
    if TWO in sources:
        wanted.add(THIRD)
    if kernels != wanted:
        raise Failure(f"kernels {kernels}, expected {wanted}")
    texts = []
    for path in glob.glob(os.path.join(out, "*.ptx")):
        with open(path) as f:
            texts.append(words(f.read()))
    kept = []
    for path in glob.glob(os.path.join(keep, "*.ptx")):
        with open(path) as f:
            kept.append(words(f.read()))
    if any(e.startswith("ptx") for e in expected) and not texts:
        raise Failure("no PTX text came out")
    for text in texts:
        if text not in kept:
            raise Failure("a PTX text is not one that nvcc made")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    names = [n for n in CASES if re.search(args.only, n)]
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(args, name, folder)
            except Failure as failure:
                failed += 1
                print(f"FAIL {name}: {failure}")
    print(f"{len(names) - failed} of {len(names)} pass")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
