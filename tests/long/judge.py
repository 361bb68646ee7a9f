"""What the judges of our libraries share: numpy's arrays on the device, calls
through ctypes, and what is compared."""
import ctypes
import functools
import traceback

import numpy

import device

TYPES = {"S": numpy.float32, "D": numpy.float64, "C": numpy.complex64,
         "Z": numpy.complex128}


@functools.cache
def gpu():
    return device.Device()


def driver(name, *args):
    """A function of libcuda that must not fail."""
    gpu().call(name, *args)


def numbers(random, dtype, *shape):
    values = random.standard_normal(shape)
    if numpy.dtype(dtype).kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return numpy.asfortranarray(values.astype(dtype))


class Device:
    """A copy of an array in the device's memory, in the array's own layout."""

    def __init__(self, array):
        self.dtype, self.shape = array.dtype, array.shape
        self.order = "F" if array.flags.f_contiguous else "C"
        # There is no memory of no bytes.
        self.memory = (gpu().array(array.ravel(self.order)) if array.size
                       else gpu().empty(1, array.dtype))
        self.pointer = self.memory.address

    def get(self):
        """As it is there now, once all work is done."""
        return self.memory.host()[:numpy.prod(self.shape, dtype=int)].reshape(
            self.shape, order=self.order)

    def __del__(self):
        gpu().driver.cuMemFree_v2(self.pointer)


def pointers(devices):
    """The array of pointers, on the device, that batched functions take."""
    array = Device(numpy.array([d.pointer.value for d in devices],
                               dtype=numpy.uint64))
    array.devices = devices  # live as long
    return array


class Library:
    """Calls of a library's functions, which must return 0."""

    def __init__(self, file):
        driver("cuCtxGetCurrent", ctypes.byref(ctypes.c_void_p()))
        self.file = ctypes.CDLL(file)
        self.called = set()

    def status(self, name, *args):
        """What the function returns. Integers are int, or 64 bits wide if its
        name ends in _64; arrays of numpy are pointers to the host's memory."""
        integer = ctypes.c_int64 if name.endswith("_64") else ctypes.c_int
        values, alive = [], []
        for arg in args:
            if isinstance(arg, Device):
                arg = ctypes.c_void_p(arg.pointer.value)
            elif isinstance(arg, (numpy.ndarray, numpy.generic)):
                alive.append(numpy.asarray(arg))
                arg = ctypes.c_void_p(alive[-1].ctypes.data)
            elif isinstance(arg, (bool, int)):
                arg = integer(arg)
            values.append(arg)
        self.called.add(name)
        return getattr(self.file, name)(*values)

    def __call__(self, name, *args):
        status = self.status(name, *args)
        if status != 0:
            raise RuntimeError("%s answers %d" % (name, status))


class Judge:
    """Runs cases, counts what they compare, and prints those that fail."""

    def __init__(self):
        self.compared, self.failed = 0, 0

    def case(self, name, function, *args):
        try:
            function(*args)
        except Exception:  # pylint: disable=broad-except
            self.failed += 1
            last = traceback.format_exc().strip().split("\n")[-1]
            print("  %s: %s" % (name, last), flush=True)

    def near(self, what, got, expected, factor=64):
        """Element by element, within `factor` units in the last place of the
        largest one; infinite and NaN where the other is."""
        self.compared += 1
        got, expected = numpy.asarray(got), numpy.asarray(expected)
        if got.shape != expected.shape:
            raise AssertionError("%s has shape %s, not %s" % (
                what, got.shape, expected.shape))
        if got.size == 0:
            return
        finite = numpy.isfinite(expected)
        if not (numpy.isfinite(got) == finite).all():
            raise AssertionError("%s is finite elsewhere" % what)
        if not finite.any():
            return
        real = got.real.dtype
        unit = numpy.finfo(real).eps if real.kind == "f" else 0
        scale = max(numpy.abs(expected[finite]).max(), 1)
        error = numpy.abs(got[finite] - expected[finite]).max()
        if not error <= factor * unit * scale:
            raise AssertionError("%s is off by %g; %g is allowed" % (
                what, error, factor * unit * scale))

    def same(self, what, got, expected):
        self.compared += 1
        if not numpy.array_equal(got, expected):
            raise AssertionError("%s is %s, not %s" % (what, got, expected))
