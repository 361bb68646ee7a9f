#!/usr/bin/env python3
"""nvJPEG's functions against libjpeg-turbo and NVIDIA's library, over the emulator.

usage: nvjpeg_images.py [--build DIR] [--images N]

Pillow, which has libjpeg-turbo, and NVIDIA's wheel, whose kernels are PTX, too,
come from PyPI into build/packages. Images of chance, of 1 x 1 to 200 x 200 pixels,
are written by ours and by libjpeg with any quality, sampling, restart interval,
progressive or not, with codes of their own or not, and read by all three. Of what
libjpeg reads each pixel may differ by little, of what NVIDIA's library reads (the
same picture without restart markers) by hardly anything, and what NVIDIA's writes
decodes to nearly the pixels of ours.
"""
import argparse
import ctypes
import glob
import io
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
RGBI = 5
SAMPLINGS = {0: (1, 1), 1: (2, 1), 2: (2, 2), 3: (1, 2), 4: (4, 1), 5: (4, 2)}


class Image(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class Device:
    """Memory of the device."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0
        self.size = 3 * 200 * 200
        address = ctypes.c_uint64()
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(address),
                                       ctypes.c_size_t(self.size)) == 0
        self.memory = address.value

    def write(self, data):
        assert self.cuda.cuMemcpyHtoD_v2(
            ctypes.c_uint64(self.memory), data,
            ctypes.c_size_t(len(data))) == 0

    def read(self, size):
        assert self.cuda.cuCtxSynchronize() == 0
        out = ctypes.create_string_buffer(size)
        assert self.cuda.cuMemcpyDtoH_v2(
            out, ctypes.c_uint64(self.memory), ctypes.c_size_t(size)) == 0
        return out.raw


class Nvjpeg:
    """The functions that are used here."""

    def __init__(self, device, library, flags):
        self.device = device
        self.library = ctypes.CDLL(library)
        self.handle = self.made("CreateEx", 0, None, None, flags)
        self.state = self.made("JpegStateCreate", self.handle)
        self.encoder = self.made("EncoderStateCreate", self.handle, last=[None])
        self.params = self.made("EncoderParamsCreate", self.handle, last=[None])

    def call(self, name, *arguments):
        status = getattr(self.library, "nvjpeg" + name)(*arguments)
        assert status == 0, "%s of %s: %d" % (name, self.library._name, status)

    def made(self, name, *arguments, last=()):
        out = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(out), *last)
        return out

    def decode(self, stream, width, height):
        image = Image()
        image.channel[0] = self.device.memory
        image.pitch[0] = 3 * width
        self.call("Decode", self.handle, self.state, stream,
                  ctypes.c_size_t(len(stream)), RGBI, ctypes.byref(image), None)
        return self.device.read(3 * width * height)

    def encode(self, pixels, width, height, settings):
        for name, value in settings.items():
            self.call("EncoderParamsSet" + name, self.params, value, None)
        self.device.write(pixels)
        image = Image()
        image.channel[0] = self.device.memory
        image.pitch[0] = 3 * width
        self.call("EncodeImage", self.handle, self.encoder, self.params,
                  ctypes.byref(image), RGBI, width, height, None)
        size = ctypes.c_size_t()
        self.call("EncodeRetrieveBitstream", self.handle, self.encoder, None,
                  ctypes.byref(size), None)
        stream = ctypes.create_string_buffer(size.value)
        self.call("EncodeRetrieveBitstream", self.handle, self.encoder, stream,
                  ctypes.byref(size), None)
        return stream.raw


def difference(a, b):
    """(largest, mean)"""
    assert len(a) == len(b), (len(a), len(b))
    parts = [abs(x - y) for x, y in zip(a, b)]
    return max(parts), sum(parts) / len(parts)


def compare(count):
    from PIL import Image as Pillow
    device, interpolate = Device(), 32
    nvjpeg = Nvjpeg(device, "libnvjpeg.so.13", interpolate)
    plain = Nvjpeg(device, "libnvjpeg.so.13", 0)
    nvidia = Nvjpeg(device, glob.glob(
        os.environ["CERBERUS_NVJPEG_IMAGES"] + "/nvidia/**/libnvjpeg.so.*",
        recursive=True)[0], 0)
    chance = random.Random(1)
    worst = {name: (0, 0) for name in ("read", "written", "alike", "theirs")}
    for number in range(count):
        width, height = (chance.choice((chance.randint(1, 20),
                                        chance.randint(1, 200)))
                         for _ in range(2))
        if number % 3 == 1:
            width, height = (32 * chance.randint(1, 4) for _ in range(2))
        small = Pillow.frombytes("RGB", (8, 8), chance.randbytes(192))
        picture = small.resize((width, height), Pillow.BICUBIC)
        if number % 5 == 0:
            picture = Pillow.frombytes("RGB", (width, height),
                                       chance.randbytes(3 * width * height))
        quality = chance.randint(1, 100)
        stream = io.BytesIO()
        options = {
            "quality": quality,
            # libjpeg does not interpolate what is so narrow.
            "subsampling": chance.choice((0, 1, 2)) if width > 4 else 0,
            "progressive": chance.random() < 0.4,
            "optimize": chance.random() < 0.4,
            "restart_marker_blocks": chance.choice((0, 0, 1, 3))}
        picture.save(stream, "JPEG", **options)
        want = Pillow.open(stream).tobytes()
        got = nvjpeg.decode(stream.getvalue(), width, height)
        found = difference(got, want)
        worst["read"] = tuple(map(max, worst["read"], found))
        # libjpeg rounds what it interpolates, alternating up and down.
        if found[0] > 8 or found[1] > 1.2:
            return "%d: %d x %d, quality %d: read with %s" % (
                number, width, height, quality, found)
        # With restart markers NVIDIA's refuses progressive ones, and misreads some
        # others on the host: its coefficients are not those of the same picture
        # without markers, which it is therefore given.
        unmarked = io.BytesIO()
        picture.save(unmarked, "JPEG", **{**options, "restart_marker_blocks": 0})
        found = difference(plain.decode(stream.getvalue(), width, height),
                           nvidia.decode(unmarked.getvalue(), width, height))
        worst["alike"] = tuple(map(max, worst["alike"], found))
        if found[0] > 2 or found[1] > 0.05:
            return "%d: %d x %d, %s: NVIDIA's reads another, %s" % (
                number, width, height, options, found)

        settings = {"Quality": quality,
                    "SamplingFactors": (chance.choice(list(SAMPLINGS))
                                        if width > 4 else 0),
                    "Encoding": chance.choice((0xc0, 0xc2)),
                    "OptimizedHuffman": chance.randint(0, 1),
                    "RestartInterval": chance.choice((0, 0, 1, 5))}
        encoded = nvjpeg.encode(picture.tobytes(), width, height, settings)
        read = Pillow.open(io.BytesIO(encoded))
        read.load()
        got = nvjpeg.decode(encoded, width, height)
        found = difference(got, read.tobytes())
        # libjpeg has no triangle but for chroma that is half as wide.
        if settings["SamplingFactors"] in (0, 1, 2):
            worst["written"] = tuple(map(max, worst["written"], found))
            if found[0] > 8 or found[1] > 1.2:
                return "%d: %d x %d, %s: %s" % (number, width, height, settings,
                                                found)
        # Where an image ends within a block, the rest of it is anything.
        if width % 32 == 0 and height % 32 == 0:
            theirs = nvidia.encode(picture.tobytes(), width, height, settings)
            found = difference(plain.decode(encoded, width, height),
                               plain.decode(theirs, width, height))
            worst["theirs"] = tuple(map(max, worst["theirs"], found))
            if found[1] > 0.5:
                return "%d: %d x %d, %s: NVIDIA's writes another, %s" % (
                    number, width, height, settings, found)
        if read.size != (width, height):
            return "%d: size %s" % (number, read.size)
        factors = tuple(read.layer[0][1:3])
        if factors != SAMPLINGS[settings["SamplingFactors"]]:
            return "%d: factors %s" % (number, factors)
    print("%d images; largest and largest mean difference:" % count)
    for name, found in (("read, of libjpeg", "read"),
                        ("written, of libjpeg", "written"),
                        ("read, of NVIDIA's", "alike"),
                        ("written, of NVIDIA's", "theirs")):
        print("  %-22s %d %.3f" % (name, *worst[found]))
    return ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=ROOT + "/build/release")
    parser.add_argument("--images", type=int, default=300)
    args = parser.parse_args()
    packages = ROOT + "/build/packages/nvjpeg"
    if "CERBERUS_NVJPEG_IMAGES" not in os.environ:
        if not os.path.exists(packages):
            subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                            "--target", packages, "--no-deps", "pillow==13.0.0",
                            "nvidia-nvjpeg-cu12==12.4.0.76"], check=True)
        lib = os.path.abspath(args.build) + "/lib"
        os.environ.update(
            CERBERUS_NVJPEG_IMAGES=packages, CERBERUS_DEVICE="gfx1100",
            LD_LIBRARY_PATH="%s/cerberus:%s" % (lib, lib), PYTHONPATH=packages)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    wrong = compare(args.images)
    if wrong:
        sys.exit(wrong)
    print("PASS")


if __name__ == "__main__":
    main()
