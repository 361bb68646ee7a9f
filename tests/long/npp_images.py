#!/usr/bin/env python3
"""NVIDIA's NPP, unchanged, on the driver stub: its kernels are PTX, too.

usage: npp_images.py [--build DIR] [--targets gfx1100,gfx942]

A function of each of its libraries, and more of those that programs use most,
against numpy. The library comes from PyPI into build/packages/npp (280 MB).
Prints one line per function and target.
"""
import argparse
import ctypes
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PACKAGES = ROOT + "/build/packages/npp"
WIDTH, HEIGHT = 53, 37


class Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class Rect(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int),
                ("width", ctypes.c_int), ("height", ctypes.c_int)]


class Device:
    """Arrays in device memory."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0

    def put(self, array):
        memory = ctypes.c_uint64()
        size = ctypes.c_size_t(max(array.nbytes, 1))
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(memory), size) == 0
        data = array.ctypes.data_as(ctypes.c_void_p)
        assert self.cuda.cuMemcpyHtoD_v2(memory, data, size) == 0
        return ctypes.c_void_p(memory.value)

    def get(self, memory, array):
        assert self.cuda.cuCtxSynchronize() == 0
        data = array.ctypes.data_as(ctypes.c_void_p)
        assert self.cuda.cuMemcpyDtoH_v2(
            data, ctypes.c_uint64(memory.value),
            ctypes.c_size_t(array.nbytes)) == 0
        return array


def compare():
    import numpy as np
    device = Device()
    folder = PACKAGES + "/nvidia/npp/lib/lib%s.so.12"
    ctypes.CDLL(folder % "nppc", ctypes.RTLD_GLOBAL)
    chance = np.random.default_rng(1)
    color = chance.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    gray = chance.integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    other = chance.integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    real = chance.standard_normal((HEIGHT, WIDTH)).astype(np.float32)
    size = Size(WIDTH, HEIGHT)
    failed = 0

    def row(array):
        return array.strides[0]

    def check(library, name, inputs, result, want, allowed=0):
        """`inputs` with arrays of the host for those of the device."""
        nonlocal failed
        function = getattr(ctypes.CDLL(folder % library), name)
        out = device.put(result)
        arguments = []
        for one in inputs:
            if one is result:
                arguments.append(out)
            elif isinstance(one, np.ndarray):
                arguments.append(device.put(one))
            else:
                arguments.append(one)
        status = function(*arguments)
        worst = -1.0
        if status == 0:
            got = device.get(out, np.empty_like(result))
            worst = np.abs(got.astype(np.float64) - want).max()
        ok = status == 0 and worst <= allowed
        failed += not ok
        print("%s %-32s %s" % (
            os.environ["CERBERUS_DEVICE"], name,
            "ok" if ok else "status %d, differs by %g" % (status, worst)),
              flush=True)

    small = np.zeros_like(gray)
    check("nppicc", "nppiRGBToGray_8u_C3C1R",
          [color, row(color), small, row(small), size], small,
          color @ np.array([.299, .587, .114]), 1)
    swapped = np.zeros_like(color)
    order = (ctypes.c_int * 3)(2, 1, 0)
    check("nppidei", "nppiSwapChannels_8u_C3R",
          [color, row(color), swapped, row(swapped), size, order], swapped,
          color[:, :, ::-1])
    turned = np.zeros((WIDTH, HEIGHT), np.uint8)
    check("nppidei", "nppiTranspose_8u_C1R",
          [gray, row(gray), turned, row(turned), size], turned, gray.T)
    wide = np.zeros_like(real)
    check("nppidei", "nppiConvert_8u32f_C1R",
          [gray, row(gray), wide, row(wide), size], wide, gray)
    bordered = np.zeros((HEIGHT + 5, WIDTH + 7), np.uint8)
    check("nppidei", "nppiCopyConstBorder_8u_C1R",
          [gray, row(gray), size, bordered, row(bordered),
           Size(WIDTH + 7, HEIGHT + 5), 2, 3, ctypes.c_ubyte(77)], bordered,
          np.pad(gray, ((2, 3), (3, 4)), constant_values=77))
    check("nppial", "nppiAdd_32f_C1R",
          [real, row(real), real, row(real), wide, row(wide), size], wide,
          real.astype(np.float64) * 2, 1e-6)
    check("nppial", "nppiAbsDiff_8u_C1R",
          [gray, row(gray), other, row(other), small, row(small), size], small,
          np.abs(gray.astype(int) - other))
    check("nppial", "nppiMulC_8u_C1RSfs",
          [gray, row(gray), ctypes.c_ubyte(3), small, row(small), size, 0],
          small, np.minimum(gray.astype(int) * 3, 255))
    flipped = np.zeros_like(color)
    check("nppig", "nppiMirror_8u_C3R",
          [color, row(color), flipped, row(flipped), size, 1], flipped,
          color[:, ::-1])
    half = np.zeros((HEIGHT * 2, WIDTH * 2, 3), np.uint8)
    check("nppig", "nppiResize_8u_C3R",
          [color, row(color), size, Rect(0, 0, WIDTH, HEIGHT), half, row(half),
           Size(2 * WIDTH, 2 * HEIGHT), Rect(0, 0, 2 * WIDTH, 2 * HEIGHT), 1],
          half, color.repeat(2, 0).repeat(2, 1))
    inner = Size(WIDTH - 2, HEIGHT - 2)
    parts = [gray[y:y + HEIGHT - 2, x:x + WIDTH - 2].astype(np.float64)
             for y in range(3) for x in range(3)]
    within = np.zeros((HEIGHT - 2, WIDTH - 2), np.uint8)
    # The first is the pixel in the middle of the first window.
    middle = device.put(gray)
    middle = ctypes.c_void_p(middle.value + WIDTH + 1)
    check("nppif", "nppiFilterBox_8u_C1R",
          [middle, row(gray), within, row(within), inner, Size(3, 3),
           Point(1, 1)], within, sum(parts) / 9, 1)
    check("nppim", "nppiDilate3x3_8u_C1R",
          [middle, row(gray), within, row(within), inner], within,
          np.max(parts, axis=0))
    check("nppitc", "nppiThreshold_LTVal_8u_C1R",
          [gray, row(gray), small, row(small), size, ctypes.c_ubyte(100),
           ctypes.c_ubyte(9)], small, np.where(gray < 100, 9, gray))
    total = np.zeros(1, np.float64)
    scratch = np.zeros(1 << 16, np.uint8)
    check("nppist", "nppiSum_8u_C1R",
          [gray, row(gray), size, scratch, total], total,
          gray.astype(np.float64).sum())
    line = chance.standard_normal(1001).astype(np.float32)
    sums = np.zeros_like(line)
    check("npps", "nppsMulC_32f",
          [line, ctypes.c_float(1.5), sums, line.size], sums,
          line.astype(np.float64) * 1.5, 1e-6)
    one = np.zeros(1, np.float32)
    check("npps", "nppsMax_32f", [line, line.size, one, scratch], one,
          line.max())
    return failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=ROOT + "/build/release")
    parser.add_argument("--targets", default="gfx1100,gfx942")
    args = parser.parse_args()
    if "CERBERUS_NPP_IMAGES" in os.environ:
        sys.exit(compare() != 0)
    if not os.path.exists(PACKAGES):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                        "--target", PACKAGES, "--no-deps", "numpy",
                        "nvidia-npp-cu12==12.4.1.87"], check=True)
    lib = os.path.abspath(args.build) + "/lib"
    failed = 0
    for target in args.targets.split(","):
        failed += subprocess.run(
            [sys.executable, __file__], check=False,
            env={**os.environ, "CERBERUS_NPP_IMAGES": "1",
                 "CERBERUS_DEVICE": target, "PYTHONPATH": PACKAGES,
                 "LD_LIBRARY_PATH": "%s/cerberus:%s" % (lib, lib)}).returncode
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
