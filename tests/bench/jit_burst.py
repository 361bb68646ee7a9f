#!/usr/bin/env python3
"""A program that compiles many small kernels while it runs.

usage: jit_burst.py [--build DIR] [--kernels N]

N kernels, each a PTX module of its own, are loaded one after the other over the
driver API, without the cache of compiled code; and as many processes of
cerberus-jit and of ptxas -O3 compile one each. Seconds by the clock and of the
processor, of all processes.
"""
import argparse
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
TARGET = "gfx1100"
PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .u64 %%a;
  .reg .u32 %%x;
  ld.param.u64 %%a, [p];
  mov.u32 %%x, %%tid.x;
  mul.wide.u32 %%a, %%x, 4;
  mad.lo.u32 %%x, %%x, %d, 7;
  st.global.u32 [%%a], %%x;
  ret;
}
"""


def load_all(stub, kernels):
    """In a process of its own; says how long it took to load them."""
    cuda = ctypes.CDLL(stub)

    def call(name, *args):
        if getattr(cuda, name)(*args) != 0:
            raise RuntimeError(name + " fails")

    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    begin = time.perf_counter()
    for i in range(kernels):
        call("cuModuleLoadData", ctypes.byref(module), (PTX % i).encode())
    print(time.perf_counter() - begin, flush=True)
    sys.stdin.read()  # the compiler ends with us


def seconds_of(program):
    """Processor time of the processes that execute it."""
    total = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/exe" % process) != program:
                continue
            with open("/proc/%s/stat" % process) as file:
                fields = file.read().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf(
                "SC_CLK_TCK")
        except OSError:
            pass
    return total


def used_by_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def burst(build, kernels):
    """(clock, processor)."""
    jit = os.path.join(build, "bin", "cerberus-jit")
    environment = dict(os.environ, CUDA_CACHE_DISABLE="1", CERBERUS_JIT=jit,
                       CERBERUS_DEVICE=TARGET, CERBERUS_EMU_TARGETS=TARGET,
                       CERBERUS_LOG="error")
    before = used_by_children()
    with subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--load",
             os.path.join(build, "lib", "cerberus", "libcuda.so.1"),
             "--kernels", str(kernels)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        clock = float(process.stdout.readline())
        compilers = seconds_of(os.path.realpath(jit))
        process.stdin.close()
    if process.returncode != 0:
        raise RuntimeError("the burst fails")
    return clock, compilers + used_by_children() - before


def one_by_one(kernels, command, folder):
    """(clock, processor) of as many processes."""
    ptx = os.path.join(folder, "in.ptx")
    before, begin = used_by_children(), time.perf_counter()
    for i in range(kernels):
        with open(ptx, "w") as file:
            file.write(PTX % i)
        subprocess.run(command + [ptx, "-o", os.path.join(folder, "out")],
                       check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin, used_by_children() - before


def report(build, ptxas, kernels):
    with tempfile.TemporaryDirectory() as folder:
        # What others start is another file's.
        installed = os.path.join(folder, "installed")
        for name in ("bin", os.path.join("lib", "cerberus")):
            shutil.copytree(os.path.join(build, name),
                            os.path.join(installed, name), symlinks=True)
        jit = os.path.join(installed, "bin", "cerberus-jit")
        rows = (("in one program", burst(installed, kernels)),
                ("as many starts of cerberus-jit",
                 one_by_one(kernels, [jit, "--arch", TARGET], folder)),
                ("as many starts of ptxas",
                 one_by_one(kernels, [ptxas, "-arch=sm_75", "-O3"], folder)))
    print("\n%d small kernels, %s" % (kernels, TARGET))
    print("  %-34s%12s%12s%8s" % ("", "clock s", "processor s", "ratio"))
    for name, (clock, processor) in rows:
        print("  %-34s%12.2f%12.2f%8.2f" % (name, clock, processor,
                                            processor / rows[-1][1][1]))
    return [Row("start: %d small kernels in one program" % kernels,
                rows[0][1][1], rows[2][1][1], "starts of ptxas -O3")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--kernels", type=int, default=500)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load:
        load_all(args.load, args.kernels)
        return
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    report(os.path.abspath(args.build), os.path.join(
        os.path.dirname(os.path.realpath(nvcc)), "ptxas"), args.kernels)


if __name__ == "__main__":
    main()
