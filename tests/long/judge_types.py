"""Numbers as the device has them, where numpy has no type for them."""
import collections

import numpy

# cudaDataType of real and of complex numbers, how a real one is stored, and how
# far results may be off (judge.near; what is judged has 32 bits or 64).
Precision = collections.namedtuple("Precision", "real complex stored factor")
HALF = Precision(2, 6, numpy.float16, 4 * 2**13)
BFLOAT16 = Precision(14, 15, numpy.uint16, 4 * 2**16)
SINGLE = Precision(0, 4, numpy.float32, 64)
DOUBLE = Precision(1, 5, numpy.float64, 64)
INT8 = Precision(3, None, numpy.int8, 0)
INT32 = Precision(10, None, numpy.int32, 0)


def store(precision, values):
    """Numbers as the device has them: real parts, one after the other."""
    values = numpy.asarray(values)
    if values.dtype.kind == "c":
        values = numpy.stack([values.real, values.imag], -1)
    values = values.ravel()
    if precision is not BFLOAT16:
        return values.astype(precision.stored)
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def load(precision, stored, is_complex):
    if precision is BFLOAT16:
        stored = (stored.astype(numpy.uint32) << 16).view(numpy.float32)
    elif precision is HALF:
        stored = stored.astype(numpy.float32)
    return stored[0::2] + 1j * stored[1::2] if is_complex else stored
