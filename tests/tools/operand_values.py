"""Operand values for instruction tests: edges of each format, and random
ones."""

import functools
import math
import re
import struct

import pcode

LANES = 128  # per vector instruction: 4 waves of 32 or 2 of 64
SCALARS = 64


def f32(x):
    return pcode.f32_bits(x)


F32 = [0, 0x80000000, f32(1), f32(-1), f32(.5), f32(2), f32(1.5), f32(-2.5),
       1, 0x80000001, 0x7fffff, 0x800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
       0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffa00000,
       f32(3.14159265), f32(255.5), f32(-128.5), f32(65504), f32(65520),
       f32(32767.5), f32(2147483648), f32(-2147483648), f32(4294967040),
       f32(1e10), f32(1e-10), f32(0.49999997), f32(1e30), f32(1e-30),
       0x3f800001, 0x33000000, 0x33800000, 0x38800000, 0x477ff000]
F16 = [0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x4000, 0x3e00, 0xc100, 1, 0x8001,
       0x3ff, 0x400, 0x8400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01,
       0x7c01, 0xfd00, 0x4248, 0x5bfc, 0x3801, 0x3c01, 0x0600, 0x7800]
F64 = [struct.unpack("<Q", struct.pack("<d", x))[0] for x in
       (0., -0., 1., -1., .5, 2., 1.5, -2.5, 5e-324, -5e-324, 2.2250738585072014e-308,
        1.7976931348623157e308, math.inf, -math.inf, 3.141592653589793, 2147483647.5,
        -2147483648.5, 4294967295.5, 1e10, 1e-300, 1e300, .1, 65504., 3.4028235e38,
        3.5e38, 1e-40, .49999999999999994)] + [
            0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001,
            0xfff4000000000000, 0x000fffffffffffff, 0x0010000000000000]
INT = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x100,
       0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001,
       0xffffffff, 0xfffffffe, 0xffff8000, 0x00ff00ff, 0x12345678, 0xaaaaaaaa,
       0x55555555, 0xffffff, 0x800000, 0x7fffff]
BF16 = [0, 0x8000, 0x3f80, 0xbf80, 0x4000, 1, 0x7f, 0x80, 0x7f7f, 0x7f80,
        0xff80, 0x7fc0, 0x7f81, 0x4049]


@functools.lru_cache(None)
def format_parts(name):
    """("F16", 2) of "FMT_NUM_PK2_F16"."""
    name = name.replace("FMT_NUM_", "").replace("FMT_", "")
    packed = re.match(r"PK(\d*)_(\w+)", name)
    if packed:
        return packed.group(2), int(packed.group(1) or 2)
    return name, 1


def pool_value(rng, fmt, bits):
    """A value of an operand's format: an edge, or random."""
    part, count = format_parts(fmt.name)
    if count == 1:
        return scalar_value(rng, part, bits)
    width = bits // count
    value = 0
    for _ in range(count):
        value = value << width | scalar_value(rng, part, width)
    return value


def scalar_value(rng, name, bits):
    edge = rng.random() < .6
    mask = (1 << bits) - 1
    if name == "F32" or (name == "ANY" and bits == 32 and rng.random() < .5):
        if edge:
            return rng.choice(F32)
        if rng.random() < .5:
            return f32(rng.uniform(-300, 300))
        return rng.getrandbits(32)
    if name == "F16":
        high = rng.getrandbits(16) << 16 if bits == 32 else 0
        return high | (rng.choice(F16) if edge else rng.getrandbits(16))
    if name == "BF16":
        return rng.choice(BF16) if edge else rng.getrandbits(16)
    if name == "F64":
        if edge:
            return rng.choice(F64)
        if rng.random() < .5:
            return struct.unpack("<Q", struct.pack("<d", rng.uniform(-1e4,
                                                                     1e4)))[0]
        return rng.getrandbits(64)
    if edge:
        value = rng.choice(INT)
        if bits == 64:
            roll = rng.random()
            if roll < .3:
                value = value << 32 | rng.choice(INT)
            elif roll < .5 and value >> 31:
                value |= 0xffffffff << 32
        return value & mask
    return rng.getrandbits(bits)
