"""cuFFT against scipy.fft; run by numpy_judges.py."""
import collections
import ctypes
import functools
import itertools

import numpy
import scipy.fft

from judge import Device, Library, driver
from judge_numbers import BF16, DOUBLE, HALF, SINGLE, load, store

INVALID_PLAN, INVALID_TYPE, INVALID_VALUE, INVALID_SIZE = 1, 3, 4, 8
NOT_SUPPORTED = 16
FORWARD, INVERSE = -1, 1

# A plan's types: cufftType, and whether its sides are complex.
Kind = collections.namedtuple("Kind", "letters precision number input output")
KINDS = [Kind("C2C", SINGLE, 0x29, True, True),
         Kind("R2C", SINGLE, 0x2a, False, True),
         Kind("C2R", SINGLE, 0x2c, True, False),
         Kind("Z2Z", DOUBLE, 0x69, True, True),
         Kind("D2Z", DOUBLE, 0x6a, False, True),
         Kind("Z2D", DOUBLE, 0x6c, True, False)]
XT_KINDS = KINDS + [
    kind._replace(letters=name + " " + kind.letters, precision=precision)
    for name, precision in (("half", HALF), ("bfloat16", BF16))
    for kind in KINDS[:3]]

ONE = [(n,) for n in (1, 2, 3, 4, 7, 8, 15, 64, 97, 100, 1009, 1024)]
MORE = [(1, 1), (2, 3), (8, 8), (97, 5), (1, 16), (16, 1), (3, 4, 5),
        (2, 1, 7), (8, 4, 16), (1, 1, 97)]
LARGE = [(4096,), (10007,), (65536,), (3 * 5 * 7 * 11 * 13,), (300, 210),
         (30, 40, 50)]
FEW = [(1,), (15,), (16,), (6, 5), (4, 3, 8)]
# How plans are made: the functions' names without cufft, and which have what
# layouts and types.
BASIC = ["Plan", "MakePlan"]
MANY = ["PlanMany", "MakePlanMany", "MakePlanMany64", "XtMakePlanMany",
        "MakePlanGuru64", "XtMakePlanGuru64"]


class Side:
    """Where the input or the output of a plan has its elements."""

    def __init__(self, kind, is_complex, sizes, batch, layout, is_input=False):
        self.is_complex, self.precision = is_complex, kind.precision
        rows = list(sizes)
        real = kind.input != kind.output
        if real and is_complex:
            rows[-1] = rows[-1] // 2 + 1
        self.embed, self.stride, gap = rows, 1, 0
        if layout == "in place" and real and not is_complex:
            self.embed = rows[:-1] + [2 * (rows[-1] // 2 + 1)]
        elif layout == "spread":
            self.embed = [n + 1 for n in rows]
            self.stride, gap = 2 + is_complex, 5
        elif layout == "interleaved":
            self.stride = batch
        self.distance = self.stride * int(numpy.prod(self.embed)) + gap
        if layout == "interleaved":
            self.distance = 1
        elif layout == "overlapping" and is_input:
            self.distance = 1 + int(numpy.prod(rows)) // 2
        self.steps = [self.stride * int(numpy.prod(self.embed[d + 1:]))
                      for d in range(len(rows))]
        grid = numpy.indices([batch] + rows)
        self.places = (grid.T * ([self.distance] + self.steps)).sum(-1).T

    def fill(self, values):
        """An array with the values in their places and 7 anywhere else."""
        whole = numpy.full((self.places.max() + 4) // 2 * 2, 7,
                           complex if self.is_complex else float)
        whole[self.places] = values
        return whole


def transformed(kind, sizes, batch, direction, random, places=None):
    """Random input and what scipy's transform makes of it. Places that several
    batches have are the same."""
    axes = list(range(1, len(sizes) + 1))

    def values_of():
        if places is None:
            return random.standard_normal((batch, *sizes))
        return random.standard_normal(places.max() + 1)[places]

    values = values_of()
    if kind.input and kind.output:
        values = values + 1j * values_of()
    elif kind.input:
        values = scipy.fft.rfftn(values, axes=axes)
    # What the device gets is rounded.
    values = load(kind.precision, store(kind.precision, values),
                  kind.input).reshape(values.shape)
    wide = values.astype(complex if kind.input else float)
    if not kind.input:
        return values, scipy.fft.rfftn(wide, axes=axes)
    if not kind.output:
        return values, scipy.fft.irfftn(wide, s=sizes, axes=axes,
                                        norm="forward")
    if direction == FORWARD:
        return values, scipy.fft.fftn(wide, axes=axes)
    return values, scipy.fft.ifftn(wide, axes=axes, norm="forward")


def arguments(way, kind, sizes, batch, sides):
    """What a way's function is called with: its name, all between the handle
    and the work area's size, and what comes after that."""
    types = [kind.precision.complex if is_complex else kind.precision.real
             for is_complex in (kind.input, kind.output)]
    execution = [kind.precision.complex]
    if way in BASIC:
        return ("%s%dd" % (way, len(sizes)),
                [*sizes, kind.number] + [batch] * (len(sizes) == 1), [])
    if "Guru" in way:
        axes = numpy.array([[n] + [side.steps[d] for side in sides]
                            for d, n in enumerate(sizes)], numpy.int64)
        loops = numpy.array([batch] + [side.distance for side in sides],
                            numpy.int64)
        return way, [len(sizes), axes, 1, loops] + (
            types + execution if "Xt" in way else [kind.number]), []
    array, integer = ((numpy.int64, ctypes.c_longlong)
                      if "64" in way or "Xt" in way else
                      (numpy.int32, ctypes.c_int))
    args = [len(sizes), numpy.array(sizes, array)]
    for side, number in zip(sides, types):
        # What a packed plan's strides are doesn't matter.
        # The first of the embedding sizes counts for nothing.
        args += ([numpy.array([0] + side.embed[1:], array),
                  integer(side.stride), integer(side.distance)] if side else
                 [None, integer(3), integer(5)])
        args += [number] * ("Xt" in way)
    args += [kind.number] * ("Xt" not in way) + [integer(batch)]
    return way, args, execution * ("Xt" in way)


class Cases:
    """Of one run: the library, and transforms in it."""

    def __init__(self, judge):
        self.judge = judge
        self.fft = Library("libcufft.so.12")
        self.random = numpy.random.default_rng(2)

    def create(self):
        handle = ctypes.c_int()
        self.fft("cufftCreate", ctypes.byref(handle))
        return handle

    def plan(self, way, *of_plan, gpus=None, stream=None):
        name, args, end = arguments(way, *of_plan)
        if way.startswith("Plan"):
            handle = ctypes.c_int()
            self.fft("cufft" + name, ctypes.byref(handle), *args)
            return handle
        handle = self.create()
        if gpus is not None:
            self.fft("cufftXtSetGPUs", handle, len(gpus),
                     numpy.array(gpus, numpy.int32))
        made = numpy.zeros(64, numpy.uint64)
        if stream is not None:
            self.fft("cufftSetAutoAllocation", handle, 0)
        self.fft("cufft" + name, handle, *args, made, *end)
        if stream is not None:
            self.fft("cufftXtSetWorkAreaPolicy", handle, 0, made)
            self.area = Device(numpy.zeros(max(int(made[0]), 1), numpy.uint8))
            self.fft("cufftSetWorkArea", handle, self.area)
            self.fft("cufftXtSetWorkArea", handle, numpy.array(
                [self.area.pointer.value], numpy.uint64))
            self.fft("cufftSetStream", handle, stream)
        # No guess of the work area is smaller than it is.
        guesses = [("GetSize", [handle], [])]
        if "Guru" not in name:
            guesses.append((name.replace("MakePlan", "GetSize"),
                            [handle, *args], end))
        if "64" not in name and "Xt" not in name:
            guesses.append((name.replace("MakePlan", "Estimate"), args, end))
        for guess, before, after in guesses:
            size = numpy.full(64, 2**40, numpy.uint64)
            self.fft("cufft" + guess, *before, size, *after)
            self.judge.same(guess, bool(made[0] <= size[0] < 2**40), True)
        return handle

    def execute(self, name, kind, handle, source, target, direction):
        """By the function for these types, or by that for all."""
        directed = name.endswith(("Exec", "Descriptor")) or (
            kind.input and kind.output)
        self.fft("cufft" + name, handle, source, target,
                 *[direction] * directed)

    def transform(self, way, kind, sizes, batch, layout, direction,
                  stream=None):
        sides = [Side(kind, is_complex, sizes, batch, layout, is_input)
                 for is_complex, is_input in ((kind.input, True),
                                              (kind.output, False))]
        packed = layout == "packed" or way in BASIC
        handle = self.plan(way, kind, sizes, batch, [None, None] if packed and
                           "Guru" not in way else sides, stream=stream)
        values, expected = transformed(
            kind, sizes, batch, direction, self.random,
            sides[0].places if layout == "overlapping" else None)
        source = Device(store(kind.precision, sides[0].fill(values)))
        whole = sides[1].fill(0)
        target = source
        if layout != "in place":
            target = Device(store(kind.precision, whole))
        self.execute("XtExec" if "Xt" in way else "Exec" + kind.letters, kind,
                     handle, source, target, direction)
        if stream is not None:
            driver("cuStreamSynchronize", stream)
        got = load(kind.precision, target.get(), kind.output)
        self.judge.near("the output", got[sides[1].places], expected,
                        kind.precision.factor)
        if layout != "in place":
            got[sides[1].places] = 0
            self.judge.same("what is between the output", got,
                            whole.astype(got.dtype))
            if kind.output:
                self.judge.same(
                    "the input", source.get(),
                    store(kind.precision, sides[0].fill(values)))
        self.fft("cufftDestroy", handle)

    def spread(self, kind, sizes, batch, gpus, typed):
        """Arrays over several GPUs, in place: what cufftXtMalloc makes."""
        handle = self.plan("MakePlanMany", kind, sizes, batch, [None, None],
                           gpus=gpus)
        sides = [Side(kind, is_complex, sizes, batch, "in place")
                 for is_complex in (kind.input, kind.output)]
        values, expected = transformed(kind, sizes, batch, FORWARD, self.random)
        array, copy = ctypes.c_void_p(), ctypes.c_void_p()
        in_place, to_device, to_host, on_device = 2, 0, 1, 2
        for made in array, copy:
            self.fft("cufftXtMalloc", handle, ctypes.byref(made), in_place)
        memory = store(kind.precision, sides[0].fill(values))
        self.fft("cufftXtMemcpy", handle, copy, memory, to_device)
        self.fft("cufftXtMemcpy", handle, array, copy, on_device)
        self.execute("XtExecDescriptor" + kind.letters * typed, kind, handle,
                     array, array, FORWARD)
        memory = store(kind.precision, sides[1].fill(0))
        self.fft("cufftXtMemcpy", handle, memory, array, to_host)
        got = load(kind.precision, memory, kind.output)
        self.judge.near("the output", got[sides[1].places], expected,
                        kind.precision.factor)
        for made in array, copy:
            self.fft("cufftXtFree", made)
        self.fft("cufftDestroy", handle)


    def refused(self):
        """What makes no plan, and what is no plan."""
        handle = self.create()
        size = numpy.zeros(1, numpy.uint64)
        c2c = KINDS[0].number
        n = numpy.array([4, 4, 4, 4], numpy.int32)
        for status, name, *args in [
                (INVALID_SIZE, "MakePlan1d", handle, 0, c2c, 1, size),
                (INVALID_SIZE, "MakePlan1d", handle, -4, c2c, 1, size),
                (INVALID_SIZE, "MakePlan1d", handle, 4, c2c, 0, size),
                (INVALID_SIZE, "MakePlan2d", handle, 4, 0, c2c, size),
                (INVALID_SIZE, "MakePlan3d", handle, 4, 0, 4, c2c, size),
                (INVALID_SIZE, "Estimate1d", 0, c2c, 1, size),
                (INVALID_SIZE, "GetSize2d", handle, 0, 4, c2c, size),
                (INVALID_SIZE, "MakePlanMany", handle, 4, n, None, 1, 256,
                 None, 1, 256, c2c, 1, size),
                (INVALID_TYPE, "MakePlan1d", handle, 4, 0x2b, 1, size),
                (INVALID_PLAN, "MakePlan1d", 12345, 4, c2c, 1, size),
                (INVALID_PLAN, "ExecC2C", handle, size, size, FORWARD),
                (INVALID_PLAN, "Destroy", 12345),
                (NOT_SUPPORTED, "XtSetCallback", handle, size, 0, None),
                (NOT_SUPPORTED, "XtSetCallbackSharedSize", handle, 0, 16),
                (NOT_SUPPORTED, "XtSetJITCallback", handle, b"x", size, 8, 0,
                 None)]:
            self.judge.same("%s of %s" % (name, args),
                            self.fft.status("cufft" + name, *args), status)
        self.fft("cufftXtClearCallback", handle, 0)

    def state(self):
        """What a plan and the library say of themselves."""
        handle = self.create()
        self.fft("cufftEnterCS")
        self.fft("cufftLeaveCS")
        value = numpy.zeros(1, numpy.int64)
        jit, said = 1, []
        for name, *args in (("Get", value), ("Set", ctypes.c_longlong(1)),
                            ("Get", value), ("Reset",), ("Get", value)):
            self.fft("cufft%sPlanProperty%s" % (
                name, "" if name == "Reset" else "Int64"), handle, jit, *args)
            said += [int(value[0])] * (name == "Get")
        self.judge.same("the property", said, [0, 1, 0])
        version = numpy.zeros(4, numpy.int32)
        self.fft("cufftGetVersion", version)
        for part in range(3):
            self.fft("cufftGetProperty", part, version[part + 1:])
        self.judge.same("the version", version[0], version[1:] @ [
            1000, 100, 1])


def run(judge):
    cases = Cases(judge)

    def transforms(ways, kinds, shapes, batches, layouts, **options):
        for way, kind, sizes, batch, layout, direction in itertools.product(
                ways, kinds, shapes, batches, layouts, (FORWARD, INVERSE)):
            # Of real ones the kind is the direction, and plans for several
            # dimensions have no batches.
            if (direction == INVERSE and not (kind.input and kind.output) or
                    batch > 1 and way in BASIC and len(sizes) > 1):
                continue
            judge.case("%s %s %s x%d %s %d" % (
                way, kind.letters, sizes, batch, layout, direction),
                       functools.partial(cases.transform, **options), way, kind,
                       sizes, batch, layout, direction)

    transforms(BASIC, KINDS, ONE + MORE, [1, 3], ["packed", "in place"])
    for way in MANY:
        transforms([way], XT_KINDS if "Xt" in way else KINDS, FEW, [1, 4],
                   ["packed", "spread", "interleaved", "in place"])
    transforms(["Plan"], KINDS, LARGE, [1], ["packed", "in place"])
    transforms(["MakePlanMany", "XtMakePlanMany"],
               [kind for kind in KINDS if kind.output], FEW, [4],
               ["overlapping"])
    stream = ctypes.c_void_p()
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    transforms(["MakePlanMany"], KINDS, FEW, [4], ["packed", "spread"],
               stream=stream)
    # More than one where --target names several.
    count = ctypes.c_int()
    driver("cuDeviceGetCount", ctypes.byref(count))
    for kind in KINDS:
        for sizes, batch in [((16,), 1), ((15,), 3), ((6, 5), 1),
                             ((4, 3, 8), 1), ((4, 6), 3)]:
            for typed in True, False:
                judge.case("spread %s %s x%d" % (kind.letters, sizes, batch),
                           cases.spread, kind, sizes, batch,
                           range(count.value), typed)
    judge.case("refused", cases.refused)
    judge.case("state", cases.state)
    return cases.fft.called
