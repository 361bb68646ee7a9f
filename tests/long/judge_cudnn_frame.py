"""What the judges of cuDNN share: tensors in the device's memory with what lies
between their elements, and slopes of what is computed."""
import ctypes
import functools
import itertools
import zlib

import numpy

from judge import Device, Library
from judge_numbers import NUMBERS

# cudnnDataType_t, of the types of judge_numbers.py.
TYPES = {"S": 0, "D": 1, "F16": 2, "I8": 3, "I32": 4, "BF16": 9, "E4M3": 12,
         "E5M2": 13}
FLOATS = ["S", "D", "F16", "BF16"]
# What parameters and statistics are of, and what is computed in.
WIDE = {"S": "S", "D": "D", "F16": "S", "BF16": "S", "I8": "I32", "I32": "I32",
        "E4M3": "S", "E5M2": "S"}
NCHW, NHWC, GAPS = "NCHW", "NHWC", "gaps"
# Thousands of version 9's status.
NOT_INITIALIZED, BAD_PARAM, NOT_SUPPORTED = 1, 2, 3


def strides(sizes, layout=NCHW):
    """How far apart elements are: in order, with the channels last, or with
    rows longer than they need be."""
    order = list(range(len(sizes)))
    if layout == NHWC:
        order.append(order.pop(1))
    found, step = [0] * len(sizes), 1
    for d in reversed(order):
        found[d] = step
        step *= sizes[d] + (2 if layout == GAPS else 0)
    return found


class Memory:
    """Numbers of a type on the device; those between them are not written."""

    def __init__(self, values, kind, layout=NCHW):
        self.number, self.kind = NUMBERS[kind], kind
        self.values = self.number.round(values)
        self.sizes, self.strides = values.shape, (
            strides(values.shape, layout) if isinstance(layout, str) else
            list(layout))
        self.places = sum((
            numpy.arange(size).reshape([-1] + [1] * (values.ndim - 1 - d)) *
            self.strides[d] for d, size in enumerate(self.sizes)),
                          numpy.zeros([1] * values.ndim, int))
        # One more at the end, which is not the tensor's.
        memory = numpy.full(self.places.max() + 2, self.number.nothing,
                            self.number.dtype)
        memory[self.places] = self.number.encode(values)
        self.between = numpy.ones(memory.size, bool)
        self.between[self.places] = False
        self.nothing = memory[self.between].tobytes()
        self.device = Device(memory)

    def get(self):
        memory = self.device.get()
        if memory[self.between].tobytes() != self.nothing:
            raise AssertionError("written between elements")
        return self.number.decode(memory[self.places])


def slopes(function, weights, *args):
    """Of the sum of weights * function(*args) by each number of each of args:
    by a step along the imaginary axis, which loses no digits."""
    step, found = 1e-30, []
    for i, arg in enumerate(args):
        slope = numpy.zeros(arg.shape)
        for at in numpy.ndindex(*arg.shape):
            moved = arg.astype(complex)
            moved[at] += 1j * step
            results = function(*args[:i], moved, *args[i + 1:])
            if not isinstance(results, tuple):
                results = (results,)
            slope[at] = sum((w * r.imag).sum() for w, r in zip(
                weights if isinstance(weights, tuple) else (weights,),
                results)) / step
        found.append(slope)
    return found


def away(values, *kinks):
    """Not near where a slope jumps."""
    for kink in kinks:
        values = numpy.where(abs(values - kink) < 0.02, values + 0.0625, values)
    return values


def positive(x):
    """max(x, 0), also of complex numbers that differ little from real ones."""
    return numpy.where(x.real > 0, x, 0)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


class Dnn:
    """Of one run: the library, and descriptors of it."""

    def __init__(self, judge, version=9):
        self.judge = judge
        self.library = Library("libcudnn.so.%d" % version)
        self.random = None  # of each case
        self.handle = ctypes.c_void_p()
        self.library("cudnnCreate", ctypes.byref(self.handle))
        self.closing, self.alive = [], []

    def __call__(self, name, *args):
        """With the handle."""
        self.plain(name, self.handle, *args)

    def plain(self, name, *args):
        """Without it; tensors are their descriptors and what they have, what
        can be written next to its old values its memory."""
        self.library("cudnn" + name, *self.flat(args))

    def flat(self, args):
        for arg in args:
            if isinstance(arg, Memory):
                yield self.descriptor(arg)
                yield arg.device
            elif isinstance(arg, float):
                yield ctypes.c_double(arg)
            else:
                yield arg

    def refuses(self, status, name, *args):
        """`status`: thousands of it."""
        got = self.library.status("cudnn" + name, *self.flat(args))
        self.judge.same("status of " + name, got // 1000, status)

    def new(self, kind):
        made = ctypes.c_void_p()
        self.plain("Create%sDescriptor" % kind, ctypes.byref(made))
        self.closing.append(("Destroy%sDescriptor" % kind, made))
        return made

    def close(self):
        """Destroys what a case made."""
        while self.closing:
            self.plain(*self.closing.pop())
        self.alive.clear()

    def descriptor(self, memory):
        made = self.new("Tensor")
        self.plain("SetTensorNdDescriptor", made, TYPES[memory.kind],
                   len(memory.sizes), ints(memory.sizes),
                   ints(memory.strides))
        return made

    def tensor(self, sizes, kind, layout=NCHW, spread=1.0):
        """Of random numbers."""
        number = NUMBERS[kind]
        values = number.random(self.random, *sizes)
        return Memory(values * spread, kind, layout)

    def output(self, sizes, kind, layout=NCHW, beta=0):
        """A tensor to write; NaN where nothing may be read."""
        if beta or NUMBERS[kind].integer:
            return self.tensor(sizes, kind, layout)
        return Memory(numpy.full(sizes, numpy.nan), kind, layout)

    def judged(self, what, output, result, alpha=1, beta=0, loose=1):
        """An output against what it should be."""
        expected = alpha * result + (beta * output.values if beta else 0)
        number = output.number
        if number.integer:
            expected = number.round(expected)
        self.judge.near(what, output.get(), expected,
                        loose * max(number.allowed(), 1))

    def size(self, name, *args):
        """What a function that ends in a size says."""
        told = ctypes.c_size_t(2**40)
        self.plain(name, *args, ctypes.byref(told))
        self.judge.same("a size is told", told.value < 2**40, True)
        return told.value

    def room(self, count):
        """Memory for a workspace."""
        memory = Device(numpy.zeros(max(count, 1), numpy.uint8))
        self.alive.append(memory)
        return memory

    def got(self, name, made, *expected):
        """That a descriptor answers as it was set: numbers, lists of them. An
        int is passed, the room there is."""
        places = [e if isinstance(e, int) else numpy.full_like(e, 77)
                  for e in expected]
        self.plain(name, made, *places)
        for place, e in zip(places, expected):
            self.judge.same(name, place, e)


def ints(values):
    return numpy.array(values, numpy.int32)


def int32(value):
    return numpy.array(value, numpy.int32)


def each(*values):
    """Numbers, each by itself."""
    return [int32(value) for value in values]


def scalar(kind, value):
    """A scaling factor of a call: f64 for tensors of it, else f32."""
    return numpy.array(value, numpy.float64 if kind == "D" else numpy.float32)


def cases(judge, owner, families):
    """Each family with each combination of its axes' values."""
    for family, axes in families:
        for values in itertools.product(*axes.values()):
            case = dict(zip(axes, values))
            name = "%s %s" % (family.__name__, ", ".join(
                "%s %s" % item for item in case.items()))
            # The same numbers whatever ran before.
            owner.random = numpy.random.default_rng(zlib.crc32(name.encode()))
            judge.case(name, functools.partial(family, owner, **case))
            judge.case("closing", owner.close)
