"""Types of numbers by their cudaDataType: numpy's own, and those that numpy
lacks (bfloat16, floats of 8 bits, complex numbers of small parts) as integers
that hold their bits."""
import collections

import numpy

from device import from_type, to_type


BFLOAT16 = "bfloat16"


def _small_floats(exponent_bits, bias, infinite):
    """What each of 256 bytes means: OCP's E4M3 and E5M2."""
    bits = numpy.arange(256)
    fraction_bits = 7 - exponent_bits
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = (bits & (1 << fraction_bits) - 1) / 2.0 ** fraction_bits
    values = numpy.where(exponent == 0, fraction * 2.0 ** (1 - bias),
                         (1 + fraction) * 2.0 ** (exponent - bias))
    if infinite:
        top = exponent == (1 << exponent_bits) - 1
        values[top] = numpy.where(fraction[top] == 0, numpy.inf, numpy.nan)
    else:
        values[bits & 127 == 127] = numpy.nan
    return numpy.where(bits < 128, values, -values)


class Number:
    """`encode` makes of doubles what memory holds, `decode` the opposite;
    `unit` is that of the last place of 1, 0 of integers."""

    def __init__(self, code, dtype, unit, values=None, part=None):
        self.code, self.dtype, self.unit = code, numpy.dtype(dtype), unit
        self.values, self.part = values, part
        self.complex = part is not None or self.dtype.kind == "c"
        self.integer = unit == 0
        # What memory holds where a call must not read, and may not write.
        self.nothing = 77 if self.integer else self.encode(
            numpy.array([numpy.nan]))[0]

    def encode(self, x):
        x = numpy.asarray(x)
        if self.part is not None:
            parts = numpy.stack([self.part.encode(x.real),
                                 self.part.encode(x.imag)], axis=-1)
            return numpy.ascontiguousarray(parts).view(self.dtype)[..., 0]
        if self.integer:
            ends = numpy.iinfo(self.dtype)
            return numpy.clip(numpy.rint(x), ends.min, ends.max).astype(
                self.dtype)
        if self.values is None:
            return x.astype(self.dtype)
        if self.values is BFLOAT16:
            rounded = to_type(x, "bf16").reshape(x.shape)
            return numpy.where(numpy.isnan(x), 0x7fff,
                               rounded).astype(self.dtype)
        # The positive ones ascend; of two as near, the even one.
        ladder = self.values[:128]
        ladder = ladder[numpy.isfinite(ladder)]
        size = numpy.abs(x)
        above = numpy.clip(numpy.searchsorted(ladder, size), 1,
                           len(ladder) - 1)
        low, high = size - ladder[above - 1], ladder[above] - size
        bits = numpy.where((low < high) | ((low == high) & (above % 2 == 1)),
                           above - 1, above)
        bits = numpy.where(numpy.isnan(x), 127, bits)
        return (bits | numpy.signbit(x) * 128).astype(self.dtype)

    def decode(self, memory):
        if self.part is not None:
            parts = numpy.ascontiguousarray(memory).view(self.part.dtype)
            parts = self.part.decode(parts.reshape(memory.shape + (2,)))
            return parts[..., 0] + 1j * parts[..., 1]
        if self.values is BFLOAT16:
            return from_type(memory, "bf16").astype(float)
        if self.values is not None:
            return self.values[memory]
        return memory.astype(complex if self.complex else float)

    def random(self, random, *shape):
        """Doubles that are numbers of this type."""
        def one():
            if (self.part or self).integer:
                return random.integers(-9, 10, shape).astype(float)
            return random.standard_normal(shape)
        return self.round(one() + 1j * one() if self.complex else one())

    def round(self, x):
        return self.decode(self.encode(x))

    def allowed(self):
        """By how many units of doubles a result may be off: sums are of 32 bits
        at least, and are rounded to a smaller type once."""
        factor = 64 if self.unit < 1e-5 else 1
        return factor * self.unit / numpy.finfo(float).eps


NUMBERS = {
    "S": Number(0, "f4", 2.0 ** -23), "D": Number(1, "f8", 2.0 ** -52),
    "C": Number(4, "c8", 2.0 ** -23), "Z": Number(5, "c16", 2.0 ** -52),
    "F16": Number(2, "f2", 2.0 ** -10),
    "BF16": Number(14, "u2", 2.0 ** -7, BFLOAT16),
    "E4M3": Number(28, "u1", 2.0 ** -3, _small_floats(4, 7, False)),
    "E5M2": Number(29, "u1", 2.0 ** -2, _small_floats(5, 15, True)),
    "I8": Number(3, "i1", 0), "I32": Number(10, "i4", 0),
}
NUMBERS["CI8"] = Number(7, "u2", 0, part=NUMBERS["I8"])
NUMBERS["CF16"] = Number(6, "u4", 2.0 ** -10, part=NUMBERS["F16"])
NUMBERS["CBF16"] = Number(15, "u4", 2.0 ** -7, part=NUMBERS["BF16"])
# The type of a norm, of a cosine: complex numbers' parts.
REAL = {"S": "S", "D": "D", "C": "S", "Z": "D", "F16": "F16", "BF16": "BF16"}


# Of real and of complex numbers alike: the cudaDataType of each, the type of
# their parts, and how far results may be off (judge.near; what is judged has 32
# bits or 64).
Precision = collections.namedtuple("Precision", "real complex part factor")


def _precision(real, of_complex, factor):
    return Precision(NUMBERS[real].code, of_complex and NUMBERS[of_complex].code,
                     NUMBERS[real], factor)


HALF = _precision("F16", "CF16", 4 * 2**13)
BF16 = _precision("BF16", "CBF16", 4 * 2**16)
SINGLE = _precision("S", "C", 64)
DOUBLE = _precision("D", "Z", 64)
INT8 = _precision("I8", None, 0)
INT32 = _precision("I32", None, 0)


def store(precision, values):
    """Numbers as the device has them: parts, one after the other."""
    values = numpy.asarray(values)
    if values.dtype.kind == "c":
        values = numpy.stack([values.real, values.imag], -1)
    return precision.part.encode(values.ravel())


def load(precision, stored, is_complex):
    parts = stored
    if precision in (HALF, BF16):
        parts = precision.part.decode(stored).astype(numpy.float32)
    return parts[0::2] + 1j * parts[1::2] if is_complex else parts
