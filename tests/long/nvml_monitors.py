#!/usr/bin/env python3
"""Programs that look at GPUs through NVML, on libnvidia-ml.so.1.

usage: nvml_monitors.py [--build DIR] [--target gfx1100,gfx942]

nvidia-ml-py, gpustat and nvitop come from PyPI into build/monitors. Each runs
unchanged under `cerberus run`. Of nvidia-ml-py every function that takes a
device alone is called; what it says of name, UUID, memory and compute
capability is compared with libcuda.so.1. Prints one line per program.
"""
import argparse
import ctypes
import inspect
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WHEELS = ["nvidia-ml-py==13.*", "gpustat==1.1.1", "nvitop"]


class Uuid(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 16)]


def cuda_devices():
    """(name, UUID, bytes, (major, minor)) of each, by the driver."""
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
    devices = []
    for device in range(count.value):
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(name, 256, device)
        uuid = Uuid()
        cuda.cuDeviceGetUuid(ctypes.byref(uuid), device)
        digits = bytes(uuid.bytes).hex()
        memory = ctypes.c_size_t()
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        capability = []
        for attribute in (75, 76):
            value = ctypes.c_int()
            cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            capability.append(value.value)
        devices.append((name.value.decode(), "GPU-" + "-".join(
            (digits[:8], digits[8:12], digits[12:16], digits[16:20],
             digits[20:])), memory.value, tuple(capability)))
    return devices


def ml_py():
    import pynvml
    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(i)
               for i in range(pynvml.nvmlDeviceGetCount())]
    seen = [(pynvml.nvmlDeviceGetName(h), pynvml.nvmlDeviceGetUUID(h),
             pynvml.nvmlDeviceGetMemoryInfo(h).total,
             pynvml.nvmlDeviceGetCudaComputeCapability(h)) for h in handles]
    assert seen == cuda_devices(), (seen, cuda_devices())
    allowed = (pynvml.NVML_ERROR_NOT_SUPPORTED,
               pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    called = answered = 0
    for name, function in sorted(vars(pynvml).items()):
        if not (name.startswith("nvmlDeviceGet") and
                inspect.isfunction(function) and
                len(inspect.signature(function).parameters) == 1):
            continue
        if list(inspect.signature(function).parameters) not in (
                ["handle"], ["device"]):
            continue
        called += 1
        try:
            function(handles[0])
            answered += 1
        except pynvml.NVMLError as error:
            assert error.value in allowed, (name, error)
    pynvml.nvmlShutdown()
    print("%d functions called, %d answered" % (called, answered))


def gpustat():
    out = subprocess.run([sys.executable, "-m", "gpustat", "--json"],
                         stdout=subprocess.PIPE, check=True).stdout
    seen = [(gpu["name"], gpu["uuid"], gpu["memory.total"] << 20)
            for gpu in json.loads(out)["gpus"]]
    assert seen == [device[:3] for device in cuda_devices()], seen
    print(len(seen), "GPUs")


def nvitop():
    out = subprocess.run([sys.executable, "-m", "nvitop", "--once"],
                         stdout=subprocess.PIPE, check=True).stdout
    for name, *_ in cuda_devices():
        assert name[-8:] in out.decode(), out.decode()  # it cuts names
    print("%d lines" % len(out.splitlines()))


PROGRAMS = {f.__name__: f for f in (ml_py, gpustat, nvitop)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--target", default="gfx1100,gfx942",
                        help="devices, by their targets")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        PROGRAMS[args.inside]()
        return
    folder = os.path.join(ROOT, "build", "monitors")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "installed")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q"] + WHEELS,
                       check=True)
        open(os.path.join(folder, "installed"), "w", encoding="utf-8").close()
    failed = 0
    for program in PROGRAMS:
        done = subprocess.run(
            [os.path.join(args.build, "bin", "cerberus"), "run", "--device",
             args.target, "--", python, os.path.abspath(__file__), "--inside",
             program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            universal_newlines=True, check=False)
        failed += done.returncode != 0
        print("%-10s%s %s" % (program, "FAILED" if done.returncode else "ok",
                              done.stdout.strip()))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
