"""cuDNN's graphs of operations, of backend descriptors.

What attributes are called, and of which type each is, stands in
libraries/cudnn/attributes.def, after NVIDIA's documentation.
"""
import ctypes
import os
import re

import numpy
import scipy.special

from jit_packages import ROOT
from judge import driver
from judge_cudnn_frame import (BAD_PARAM, FLOATS, GAPS, NCHW, NHWC,
                               NOT_INITIALIZED, NOT_SUPPORTED, TYPES, WIDE,
                               Memory, away, positive, sigmoid, slopes)
from judge_cudnn_layers import (REDUCTIONS, SIZES, convolve, convolve_slopes,
                                ends, geometry_of, normalize, pool)

LONG = ctypes.c_int64
BOOLEAN, VIRTUAL = 11, None
# cudnnBackendDescriptorType_t, by what attributes' names begin with.
KINDS = {
    "POINTWISE": 0, "CONVOLUTION": 1, "ENGINE": 2, "ENGINECFG": 3,
    "ENGINEHEUR": 4, "EXECUTION_PLAN": 5, "OPERATION_CONVOLUTION_FORWARD": 10,
    "OPERATION_CONVOLUTION_BWD_FILTER": 11,
    "OPERATION_CONVOLUTION_BWD_DATA": 12, "OPERATION_POINTWISE": 13,
    "OPERATION_GENSTATS": 14, "OPERATIONGRAPH": 15, "VARIANT_PACK": 16,
    "TENSOR": 17, "MATMUL": 18, "OPERATION_MATMUL": 19,
    "OPERATION_BN_FINALIZE": 20, "REDUCTION": 21, "OPERATION_REDUCTION": 22,
    "OPERATION_BN_BWD_WEIGHTS": 23, "RESAMPLE": 24,
    "OPERATION_RESAMPLE_FWD": 25, "OPERATION_RESAMPLE_BWD": 26,
    "OPERATION_CONCAT": 27, "OPERATION_NORM_FWD": 29, "OPERATION_NORM_BWD": 30,
    "OPERATION_RESHAPE": 31, "RNG": 32, "OPERATION_RNG": 33,
    "OPERATION_PAGED_CACHE_LOAD": 35,
    "OPERATION_SDPA_FWD": 41, "OPERATION_SDPA_BWD": 43,
    "OPERATION_SOFTMAX": 45, "OPERATION_TRANSPOSE": 46, "OPERATION_SLICE": 47}
# cudnnBackendAttributeType_t; enumerations are of 32 bits.
ATTRIBUTE_TYPES = {
    "Handle": (0, "u8"), "DataType": (1, "i4"), "Boolean": (2, "u1"),
    "Int64": (3, "i8"), "Float": (4, "f4"), "Double": (5, "f8"),
    "VoidPointer": (6, "u8"), "ConvolutionMode": (7, "i4"),
    "HeurMode": (8, "i4"), "NanPropagation": (10, "i4"),
    "PointwiseMode": (14, "i4"), "Descriptor": (15, "u8"),
    "GenStatsMode": (16, "i4"), "StatsMode": (17, "i4"),
    "ReductionOperator": (18, "i4"), "ResampleMode": (21, "i4"),
    "PaddingMode": (22, "i4"), "NormMode": (27, "i4"),
    "NormPhase": (28, "i4"), "RngDistribution": (29, "i4"),
    "ReshapeMode": (31, "i4")}
with open(os.path.join(ROOT, "libraries", "cudnn", "attributes.def"),
          encoding="utf-8") as _file:
    ATTRIBUTES = {name: (int(number), kind) for name, number, kind in
                  re.findall(r"^CUDNN_ATTRIBUTE\((\w+), (\d+), \w+, k(\w+),",
                             _file.read(), re.MULTILINE)}


class Graph:
    """Operations, the tensors between them, and how they are executed."""

    def __init__(self, dnn):
        self.dnn, self.operations, self.places = dnn, [], {}
        self.alive, self.plan, self.pack = [], None, None

    def new(self, prefix, **attributes):
        """A finalized descriptor, by its attributes' names' ends."""
        dnn, made = self.dnn, ctypes.c_void_p()
        dnn.plain("BackendCreateDescriptor", KINDS[prefix],
                  ctypes.byref(made))
        dnn.closing.append(("BackendDestroyDescriptor", made))
        for name, value in attributes.items():
            if value is not None:
                self.set(made, prefix + "_" + name, value)
        dnn.plain("BackendFinalize", made)
        return made.value

    def set(self, made, name, value):
        number, kind = ATTRIBUTES[name]
        code, dtype = ATTRIBUTE_TYPES[kind]
        values = numpy.atleast_1d(numpy.asarray(value, dtype))
        self.dnn.plain("BackendSetAttribute", made, number, code,
                       LONG(values.size), values)

    def get(self, made, name, room=1):
        number, kind = ATTRIBUTES[name]
        code, dtype = ATTRIBUTE_TYPES[kind]
        values, count = numpy.zeros(room, dtype), LONG(-1)
        self.dnn.plain("BackendGetAttribute", ctypes.c_void_p(made), number,
                       code, LONG(room), ctypes.byref(count), values)
        return values[:count.value]

    def of(self, memory, place, **more):
        """A tensor; `place` is where it is, none of a virtual one."""
        uid = len(self.places) + len(self.alive) + 1
        self.alive.append(memory)
        if place is not VIRTUAL:
            self.places[uid] = place
        return self.new(
            "TENSOR", BYTE_ALIGNMENT=16, DATA_TYPE=more.pop("type", TYPES.get(
                memory.kind)), DIMENSIONS=memory.sizes,
            STRIDES=memory.strides, UNIQUE_ID=uid,
            IS_VIRTUAL=place is VIRTUAL, **more)

    def tensor(self, memory):
        return self.of(memory, memory.device.pointer.value)

    def virtual(self, sizes, kind="S", **more):
        return self.of(Memory(numpy.zeros(sizes), kind), VIRTUAL, **more)

    def number(self, value, kind="S", dims=4):
        """Passed by its value."""
        memory = Memory(numpy.full((1,) * dims, float(value)), kind)
        encoded = memory.number.encode(numpy.array([value]))
        self.alive.append(encoded)
        return self.of(memory, encoded.ctypes.data, IS_BY_VALUE=True)

    def operation(self, prefix, **attributes):
        self.operations.append(self.new("OPERATION_" + prefix, **attributes))

    def pointwise(self, mode, x, y, b=None, t=None, kind="S", alphas=(),
                  **settings):
        self.operation(
            "POINTWISE", PW_DESCRIPTOR=self.new(
                "POINTWISE", MODE=mode, MATH_PREC=TYPES[WIDE[kind]],
                **settings), XDESC=x, YDESC=y, BDESC=b, TDESC=t,
            **dict(zip(("ALPHA1", "ALPHA2"), alphas)))

    def prepare(self):
        graph = self.new("OPERATIONGRAPH", HANDLE=self.dnn.handle.value,
                         OPS=self.operations)
        heuristics = self.new("ENGINEHEUR", OPERATION_GRAPH=graph, MODE=0)
        # Descriptors to hold what is told.
        config = ctypes.c_void_p()
        self.dnn.plain("BackendCreateDescriptor", KINDS["ENGINECFG"],
                       ctypes.byref(config))
        self.dnn.closing.append(("BackendDestroyDescriptor", config))
        number, _ = ATTRIBUTES["ENGINEHEUR_RESULTS"]
        count = LONG(0)
        self.dnn.plain("BackendGetAttribute", ctypes.c_void_p(heuristics),
                       number, 15, LONG(1), ctypes.byref(count),
                       numpy.array([config.value], numpy.uint64))
        self.dnn.judge.same("engines", bool(count.value >= 1), True)
        self.plan = self.new("EXECUTION_PLAN",
                             HANDLE=self.dnn.handle.value,
                             ENGINE_CONFIG=config.value)
        size = int(self.get(self.plan, "EXECUTION_PLAN_WORKSPACE_SIZE")[0])
        self.dnn.judge.same("the size said otherwise", self.dnn.size(
            "GetExecutionPlanWorkspaceSize", self.dnn.handle,
            ctypes.c_void_p(self.plan), None), size)
        self.pack = self.new(
            "VARIANT_PACK", UNIQUE_IDS=list(self.places),
            DATA_POINTERS=list(self.places.values()),
            WORKSPACE=self.dnn.room(size).pointer.value)

    def run(self):
        self.prepare()
        self.dnn("BackendExecute", ctypes.c_void_p(self.plan),
                 ctypes.c_void_p(self.pack))


def matrices(dnn, kind, *shapes, layout=NCHW):
    return [dnn.tensor(shape, kind, layout) for shape in shapes]


# --- convolutions

def of_convolution(g, kind, geometry):
    padding, strides, dilations, _, flips = geometry
    before, after = zip(*ends(padding))
    return g.new("CONVOLUTION", COMP_TYPE=TYPES[WIDE[kind]],
                 CONV_MODE=int(not flips), DILATIONS=dilations,
                 FILTER_STRIDES=strides, POST_PADDINGS=after,
                 PRE_PADDINGS=before, SPATIAL_DIMS=len(padding))


def convolution(dnn, kind, dims, sizes, layout, scalars):
    alpha, beta = scalars
    image, window, geometry = geometry_of(sizes, dims)
    x, w = matrices(dnn, kind, image, window, layout=layout)
    plain = convolve(x.values, w.values, *geometry)
    dy = dnn.tensor(plain.shape, kind, layout)
    by_x, by_w = convolve_slopes(x.values, w.values, dy.values, *geometry)
    for prefix, inputs, out, expected in (
            ("FORWARD", {"X": x, "W": w}, "Y", plain),
            ("BWD_DATA", {"DY": dy, "W": w}, "DX", by_x),
            ("BWD_FILTER", {"DY": dy, "X": x}, "DW", by_w)):
        g = Graph(dnn)
        y = dnn.output(expected.shape, kind, layout, beta)
        tensors = {name: g.tensor(m) for name, m in inputs.items()}
        g.operation("CONVOLUTION_" + prefix, ALPHA=alpha, BETA=beta,
                    CONV_DESC=of_convolution(g, kind, geometry), **tensors,
                    **{out: g.tensor(y)})
        g.run()
        dnn.judged(out, y, expected, alpha, beta, 4)


def convolution_bias_relu(dnn, kind, layout, clips):
    """y = relu(conv(x) + bias)"""
    image, window, geometry = geometry_of(SIZES[0], 2)
    x, w, bias = matrices(dnn, kind, image, window, (1, window[0], 1, 1),
                          layout=layout)
    plain = convolve(x.values, w.values, *geometry) + bias.values
    y = dnn.output(plain.shape, kind, layout)
    g = Graph(dnn)
    between = [g.virtual(plain.shape, WIDE[kind]) for _ in range(2)]
    g.operation("CONVOLUTION_FORWARD", ALPHA=1, BETA=0, X=g.tensor(x),
                W=g.tensor(w), Y=between[0],
                CONV_DESC=of_convolution(g, kind, geometry))
    g.pointwise(0, between[0], between[1], g.tensor(bias), kind=kind)
    settings = {}
    expected = positive(plain)
    if clips:
        settings = {"RELU_LOWER_CLIP": -0.5, "RELU_UPPER_CLIP": 0.75,
                    "RELU_LOWER_CLIP_SLOPE": 0.125}
        expected = leaky(plain)
    g.pointwise(100, between[1], g.tensor(y), kind=kind, **settings)
    g.run()
    dnn.judged("y", y, expected, loose=2)


def convolution_and_more(dnn, kind, layout):
    """y = swish(alpha conv(x) + beta z + bias), z of the result's sizes."""
    image, window, geometry = geometry_of(SIZES[1], 2)
    x, w, bias = matrices(dnn, kind, image, window, (1, window[0], 1, 1),
                          layout=layout)
    plain = convolve(x.values, w.values, *geometry)
    z, y = dnn.tensor(plain.shape, kind, layout), dnn.output(
        plain.shape, kind, layout)
    g = Graph(dnn)
    between = [g.virtual(plain.shape, WIDE[kind]) for _ in range(3)]
    g.operation("CONVOLUTION_FORWARD", ALPHA=1, BETA=0, X=g.tensor(x),
                W=g.tensor(w), Y=between[0],
                CONV_DESC=of_convolution(g, kind, geometry))
    g.pointwise(0, between[0], between[1], g.tensor(z), kind=kind,
                alphas=(1.5, -0.5))
    g.pointwise(0, between[1], between[2], g.tensor(bias), kind=kind)
    g.pointwise(106, between[2], g.tensor(y), kind=kind)
    g.run()
    total = 1.5 * plain - 0.5 * z.values + bias.values
    dnn.judged("y", y, total * sigmoid(total), loose=2)


def convolution_of_integers(dnn, result, layout):
    """Summed in 32 bits, and scaled."""
    image, window, geometry = geometry_of(SIZES[0], 2)
    x, w = matrices(dnn, "I8", image, window, layout=layout)
    plain = convolve(x.values, w.values, *geometry)
    y = dnn.output(plain.shape, result, layout)
    g = Graph(dnn)
    between = g.virtual(plain.shape, "I32")
    g.operation("CONVOLUTION_FORWARD", ALPHA=1, BETA=0, X=g.tensor(x),
                W=g.tensor(w), Y=between,
                CONV_DESC=of_convolution(g, "I8", geometry))
    g.pointwise(1, between, g.tensor(y), g.number(0.25))
    g.run()
    dnn.judged("y", y, 0.25 * plain)


def leaky(x):
    return numpy.where(x.real > 0.75, 0.75, numpy.where(
        x.real > -0.5, x, -0.5 + 0.125 * (x + 0.5)))


# --- element by element

def erf(x):
    """Near a real number."""
    if x.dtype.kind != "c":
        return scipy.special.erf(x)
    slope = 2 / numpy.sqrt(numpy.pi) * numpy.exp(-x.real ** 2)
    return scipy.special.erf(x.real) + 1j * x.imag * slope


def gelu_tanh(x):
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (
        x + 0.044715 * x ** 3)))


def elu(x, alpha=1.0):
    return numpy.where(x.real > 0, x, alpha * (numpy.exp(x) - 1))


# A mode by its number: what it is of x and b.
BINARY = {
    0: numpy.add, 1: numpy.multiply, 2: numpy.minimum, 3: numpy.maximum,
    5: lambda x, b: x + b * b, 6: numpy.divide, 7: numpy.fmod,
    8: lambda x, b: numpy.abs(x) ** b, 9: numpy.subtract, 23: numpy.arctan2}
UNARY = {
    4: lambda x: numpy.sqrt(numpy.abs(x)), 10: numpy.abs, 11: numpy.ceil,
    12: numpy.cos, 13: numpy.exp, 14: numpy.floor,
    15: lambda x: numpy.log(numpy.abs(x)), 16: numpy.negative,
    17: lambda x: numpy.abs(x) ** -0.5, 18: numpy.sin, 19: numpy.tan, 20: erf,
    21: lambda x: x, 22: lambda x: 1 / x}
POSITIVE = (4, 8, 15, 17)
ACTIVATIONS = {
    0: positive, 1: numpy.tanh, 2: sigmoid, 3: elu,
    4: lambda x: x * (1 + erf(x / numpy.sqrt(2))) / 2,
    5: lambda x: numpy.log(1 + numpy.exp(x)), 6: lambda x: x * sigmoid(x),
    7: gelu_tanh}
SET = {0: ({"RELU_LOWER_CLIP": -0.5, "RELU_UPPER_CLIP": 0.75,
            "RELU_LOWER_CLIP_SLOPE": 0.125}, leaky),
       3: ({"ELU_ALPHA": 0.5}, lambda x: elu(x, 0.5)),
       5: ({"SOFTPLUS_BETA": 2.0},
           lambda x: numpy.log(1 + numpy.exp(2 * x)) / 2),
       6: ({"SWISH_BETA": 1.5}, lambda x: x * sigmoid(1.5 * x))}
COMPARISONS = [numpy.equal, numpy.not_equal, numpy.greater,
               numpy.greater_equal, numpy.less, numpy.less_equal]
ONES = [(2, 3, 4, 5), (1, 3, 1, 1), (1, 1, 1, 1), (2, 1, 4, 1)]


def binary(dnn, kind, mode, sizes, layout):
    x = dnn.tensor((2, 3, 4, 5), kind, layout)
    if mode in POSITIVE:
        x = Memory(numpy.abs(x.values) + 0.5, kind, layout)
    b, y = dnn.tensor(sizes, kind, layout), dnn.output(x.sizes, kind, layout)
    # Not near zero, by which a quotient is large.
    b = Memory(b.values + numpy.where(b.values < 0, -0.5, 0.5), kind, layout)
    g = Graph(dnn)
    g.pointwise(mode, g.tensor(x), g.tensor(y), g.tensor(b), kind=kind)
    g.run()
    dnn.judged("y", y, BINARY[mode](x.values, b.values))


def scaled(dnn, kind, mode):
    """With factors of both."""
    x, b = matrices(dnn, kind, (2, 3, 4, 5), (1, 3, 1, 1))
    y = dnn.output(x.sizes, kind)
    g = Graph(dnn)
    g.pointwise(mode, g.tensor(x), g.tensor(y), g.tensor(b), kind=kind,
                alphas=(1.5, -0.5))
    g.run()
    dnn.judged("y", y, BINARY[mode](1.5 * x.values, -0.5 * b.values))


def unary(dnn, kind, mode, layout):
    x, y = dnn.tensor((2, 3, 4, 5), kind, layout), dnn.output(
        (2, 3, 4, 5), kind, layout)
    if mode in POSITIVE or mode in (19, 22):
        x = Memory(numpy.abs(x.values) % 1 + 0.25, kind, layout)
    g = Graph(dnn)
    g.pointwise(mode, g.tensor(x), g.tensor(y), kind=kind)
    g.run()
    dnn.judged("y", y, UNARY[mode](x.values))


def activation(dnn, kind, mode, settings, layout):
    """Forward; back by x, and where y tells enough by that."""
    told, how = SET[mode] if settings else ({}, ACTIVATIONS[mode])
    x, dy = matrices(dnn, kind, *[(2, 3, 4, 5)] * 2, layout=layout)
    x = Memory(away(x.values, 0, 0.75, -0.5), kind, layout)
    y = dnn.output(x.sizes, kind, layout)
    g = Graph(dnn)
    g.pointwise(100 + mode, g.tensor(x), g.tensor(y), kind=kind, **told)
    g.run()
    dnn.judged("y", y, how(x.values))
    by = slopes(how, dy.values, x.values)[0]
    ways = {"XDESC": x}
    if mode in (1, 2) or (mode == 0 and not settings):
        ways["YDESC"] = Memory(how(x.values), kind, layout)
    for name, given in ways.items():
        dx = dnn.output(x.sizes, kind, layout)
        g = Graph(dnn)
        g.operation("POINTWISE", PW_DESCRIPTOR=g.new(
            "POINTWISE", MODE=200 + mode, MATH_PREC=TYPES[WIDE[kind]], **told),
                    DYDESC=g.tensor(dy), DXDESC=g.tensor(dx),
                    **{name: g.tensor(given)})
        g.run()
        dnn.judged("dx by " + name, dx, by, loose=4)


def cast(dnn, kind, to):
    x = dnn.tensor((2, 3, 4, 5), kind)
    y = dnn.output(x.sizes, to)
    g = Graph(dnn)
    g.pointwise(21, g.tensor(x), g.tensor(y))
    g.run()
    dnn.judged("y", y, x.values)


def comparison(dnn, kind, mode, logical):
    """Masks, of which a selection is made."""
    x, b, one, other = (Memory(dnn.random.integers(-2, 3, (2, 3, 4, 5)), kind)
                        for _ in range(4))
    y = dnn.output(x.sizes, kind)
    g = Graph(dnn)
    of_x, of_b = g.tensor(x), g.tensor(b)

    def compare(mode):
        made = g.virtual(x.sizes, type=BOOLEAN)
        g.pointwise(300 + mode, of_x, made, of_b, kind=kind)
        return made, COMPARISONS[mode](x.values, b.values)

    mask, expected = compare(mode)
    if logical in (400, 401):
        second, of_second = compare(4)
        both = g.virtual(x.sizes, type=BOOLEAN)
        g.pointwise(logical, mask, both, second, kind=kind)
        mask = both
        expected = (expected & of_second if logical == 400 else
                    expected | of_second)
    elif logical == 402:
        turned = g.virtual(x.sizes, type=BOOLEAN)
        g.pointwise(402, mask, turned, kind=kind)
        mask, expected = turned, ~expected
    g.pointwise(601, g.tensor(one), g.tensor(y), g.tensor(other), mask,
                kind=kind)
    g.run()
    dnn.judged("y", y, numpy.where(expected, one.values, other.values))


def gen_index(dnn, kind, axis):
    x, y = dnn.tensor((2, 3, 4, 5), kind), dnn.output((2, 3, 4, 5), kind)
    g = Graph(dnn)
    g.pointwise(501, g.tensor(x), g.tensor(y), kind=kind, AXIS=axis)
    g.run()
    dnn.judged("y", y, numpy.indices(x.sizes)[axis].astype(float))


def reduction(dnn, kind, op, sizes, layout):
    x, y = dnn.tensor((2, 3, 4, 5), kind, layout), dnn.output(sizes, kind)
    values = numpy.where(numpy.abs(x.values) < 0.4, 0, x.values)
    x = Memory(values if op == 8 else x.values, kind, layout)
    g = Graph(dnn)
    g.operation("REDUCTION", XDESC=g.tensor(x), YDESC=g.tensor(y),
                DESC=g.new("REDUCTION", OPERATOR=op,
                           COMP_TYPE=TYPES[WIDE[kind]]))
    g.run()
    gone = [d for d in range(4) if sizes[d] == 1]
    rows = x.values.transpose([d for d in range(4) if d not in gone] +
                              gone).reshape(y.values.size, -1)
    dnn.judged("y", y, REDUCTIONS[op](rows).reshape(sizes), loose=4)


# --- elements moved

def moved(dnn, kind, what, layout):
    x = dnn.tensor((2, 3, 4, 5), kind, layout)
    g = Graph(dnn)
    if what == "concat":
        others = matrices(dnn, kind, (2, 1, 4, 5), (2, 2, 4, 5), layout=layout)
        expected = numpy.concatenate([m.values for m in (x, *others)], 1)
    elif what == "reshape":
        expected = x.values.reshape(2, 12, 5)
    elif what == "transpose":
        expected = x.values.transpose(2, 0, 3, 1)
    else:
        expected = x.values[:, 1:3, ::2, 1:5:3]
    y = dnn.output(expected.shape, kind, layout)
    if what == "concat":
        g.operation("CONCAT", AXIS=1, OUTPUT_DESC=g.tensor(y),
                    INPUT_DESCS=[g.tensor(m) for m in (x, *others)])
    else:
        g.operation(what.upper(), XDESC=g.tensor(x), YDESC=g.tensor(y), **{
            "reshape": {"MODE": 1}, "transpose": {"PERMUTATION": [2, 0, 3, 1]},
            "slice": {"START_INDICES": [0, 1, 0, 1],
                      "LIMIT_INDICES": [2, 3, 4, 5],
                      "STRIDES": [1, 1, 2, 3]}}[what])
    g.run()
    dnn.judged("y", y, expected)


def random_numbers(dnn, distribution, told, mean, deviation, least, largest):
    drawn = []
    for seed in (7, 7, 8):
        y = dnn.output((4, 5, 30, 40), "S")
        g = Graph(dnn)
        g.operation("RNG", YDESC=g.tensor(y), SEED=seed, DESC=g.new(
            "RNG", DISTRIBUTION=distribution, **told))
        g.run()
        drawn.append(y.get())
    dnn.judge.same("the same of a seed", drawn[0], drawn[1])
    dnn.judge.same("others of another", bool((drawn[0] != drawn[2]).any()),
                   True)
    count = drawn[0].size
    dnn.judge.same("the mean", bool(
        abs(drawn[0].mean() - mean) < 5 * deviation / count ** 0.5), True)
    dnn.judge.same("the deviation", bool(
        abs(drawn[0].std() / deviation - 1) < 0.02), True)
    dnn.judge.same("the ends", bool(
        (drawn[0] >= least).all() and (drawn[0] <= largest).all()), True)


# --- products

def matmul(dnn, kind, sizes, transposed, layout):
    (batch_a, batch_b), m, n, k = sizes
    a, b = matrices(dnn, kind, (batch_a, m, k), (batch_b, k, n), layout=layout)
    if transposed:  # seen from the side
        a, b = (Memory(x.values, kind, [x.sizes[1] * x.sizes[2], 1,
                                        x.sizes[1]]) for x in (a, b))
    expected = a.values @ b.values
    c = dnn.output(expected.shape, kind, layout)
    g = Graph(dnn)
    g.operation("MATMUL", ADESC=g.tensor(a), BDESC=g.tensor(b),
                CDESC=g.tensor(c),
                DESC=g.new("MATMUL", COMP_TYPE=TYPES[WIDE[kind]]))
    g.run()
    dnn.judged("c", c, expected, loose=2)


def small_floats(dnn, kind, other):
    """Products of 8-bit floats, scaled."""
    a, b = dnn.tensor((2, 4, 6), kind), dnn.tensor((2, 6, 5), other)
    c = dnn.output((2, 4, 5), "S")
    g = Graph(dnn)
    between = g.virtual(c.sizes)
    g.operation("MATMUL", ADESC=g.tensor(a), BDESC=g.tensor(b), CDESC=between,
                DESC=g.new("MATMUL", COMP_TYPE=0))
    g.pointwise(1, between, g.tensor(c), g.number(0.375, dims=3))
    g.run()
    dnn.judged("c", c, 0.375 * a.values @ b.values)


def limited(dnn, kind):
    """Matrices of which each has its own number of rows and columns."""
    a, b = matrices(dnn, kind, (3, 4, 6), (3, 6, 5))
    c = dnn.output((3, 4, 5), kind)
    limits = {"M": [4, 2, 1], "N": [5, 1, 3], "K": [6, 3, 2]}
    g = Graph(dnn)
    g.operation("MATMUL", ADESC=g.tensor(a), BDESC=g.tensor(b),
                CDESC=g.tensor(c),
                DESC=g.new("MATMUL", COMP_TYPE=TYPES[WIDE[kind]]), **{
                    "GEMM_%s_OVERRIDE_DESC" % name: g.tensor(Memory(
                        numpy.array(values).reshape(3, 1, 1), "I32"))
                    for name, values in limits.items()})
    g.run()
    got = c.get()
    for i, (m, n, k) in enumerate(zip(*limits.values())):
        dnn.judge.near("c", got[i, :m, :n], a.values[i, :m, :k] @
                       b.values[i, :k, :n], 2 * c.number.allowed())


# --- normalizations

LAYER, INSTANCE, BATCH, ROOT_MEAN_SQUARE = 0, 1, 2, 4
EPSILON = 2.0 ** -9
# What is averaged over, and over what parameters are the same.
NORMS = {LAYER: ((1, 2, 3), (0,)), INSTANCE: ((2, 3), (0, 2, 3)),
         BATCH: ((0, 2, 3), (0, 2, 3)), ROOT_MEAN_SQUARE: ((1, 2, 3), (0,))}


def root_mean_square(x, scale, bias):
    mean = (x * x).mean((1, 2, 3), keepdims=True)
    return x * scale / numpy.sqrt(mean + EPSILON) + bias


def without(sizes, axes):
    return tuple(1 if d in axes else n for d, n in enumerate(sizes))


def norm(dnn, kind, mode, layout, trains):
    sizes = (2, 3, 4, 5)
    axes, same = NORMS[mode]
    wide, centred = WIDE[kind], mode != ROOT_MEAN_SQUARE
    x = dnn.tensor(sizes, kind, layout, 2.0)
    scale, bias = matrices(dnn, wide, *[without(sizes, same)] * 2)

    def forward(x, scale, bias):
        if not centred:
            return root_mean_square(x, scale, bias)
        return normalize(x, scale, bias, axes, EPSILON)

    mean = x.values.mean(axes, keepdims=True)
    variance = ((x.values - mean * centred) ** 2).mean(axes, keepdims=True)
    inverse = (variance + EPSILON) ** -0.5
    told = [Memory(m, wide) for m in (mean, inverse)]
    outs = [dnn.output(mean.shape, wide) for _ in range(2)]
    y = dnn.output(sizes, kind, layout)
    g = Graph(dnn)
    statistics = [g.tensor(m) for m in (outs if trains else told)]
    more = {}
    if mode == BATCH and trains:
        before = matrices(dnn, wide, *[mean.shape] * 2)
        after = [dnn.output(mean.shape, wide) for _ in range(2)]
        names = ("RUNNING_MEAN_DESC", "RUNNING_VAR_DESC")
        more = {"INPUT_" + n: g.tensor(m) for n, m in zip(names, before)}
        more.update({"OUTPUT_" + n: g.tensor(m)
                     for n, m in zip(names, after)})
        more["EXP_AVG_FACTOR_DESC"] = g.number(0.25, wide)
    g.operation("NORM_FWD", MODE=mode, PHASE=int(trains), XDESC=g.tensor(x),
                YDESC=g.tensor(y), SCALE_DESC=g.tensor(scale),
                BIAS_DESC=g.tensor(bias), INV_VARIANCE_DESC=statistics[1],
                MEAN_DESC=statistics[0] if centred else None,
                EPSILON_DESC=g.number(EPSILON, wide), **more)
    g.run()
    inputs = [x.values, scale.values, bias.values]
    dnn.judged("y", y, forward(*inputs), loose=4)
    if not trains:
        return
    if centred:
        dnn.judged("mean", outs[0], mean)
    dnn.judged("inverse", outs[1], inverse)
    if more:
        count = x.values.size / mean.size
        dnn.judged("running mean", after[0],
                   0.25 * mean + 0.75 * before[0].values)
        dnn.judged("running variance", after[1], 0.25 * variance * count / (
            count - 1) + 0.75 * before[1].values)
    dy, dx = dnn.tensor(sizes, kind, layout), dnn.output(sizes, kind, layout)
    dscale, dbias = (dnn.output(scale.sizes, wide) for _ in range(2))
    g = Graph(dnn)
    g.operation("NORM_BWD", MODE=mode, XDESC=g.tensor(x), DYDESC=g.tensor(dy),
                MEAN_DESC=g.tensor(told[0]) if centred else None,
                INV_VARIANCE_DESC=g.tensor(told[1]),
                SCALE_DESC=g.tensor(scale), DSCALE_DESC=g.tensor(dscale),
                DBIAS_DESC=g.tensor(dbias), DXDESC=g.tensor(dx))
    g.run()
    for what, out, by in zip(("dx", "dscale", "dbias"), (dx, dscale, dbias),
                             slopes(forward, dy.values, *inputs)):
        dnn.judged(what, out, by, loose=8)


def batch_norm_parts(dnn, kind, layout):
    """Sums, what is made of them, and of the way back."""
    sizes, of, axes = (2, 3, 4, 5), (1, 3, 1, 1), (0, 2, 3)
    x, dy = matrices(dnn, kind, sizes, sizes, layout=layout)
    count = 40
    sums = [x.values.sum(axes, keepdims=True),
            (x.values ** 2).sum(axes, keepdims=True)]
    outs = [dnn.output(of, "S") for _ in range(2)]
    g = Graph(dnn)
    g.operation("GENSTATS", MODE=0, MATH_PREC=0, XDESC=g.tensor(x),
                SUMDESC=g.tensor(outs[0]), SQSUMDESC=g.tensor(outs[1]))
    g.run()
    dnn.judged("sum", outs[0], sums[0], loose=4)
    dnn.judged("sum of squares", outs[1], sums[1], loose=4)
    sums = [Memory(m, "S") for m in sums]
    scale, bias, *before = matrices(dnn, "S", *[of] * 4)
    mean = sums[0].values / count
    variance = sums[1].values / count - mean ** 2
    inverse = (variance + EPSILON) ** -0.5
    expected = {
        "SAVED_MEAN": mean, "SAVED_INV_STD": inverse,
        "EQ_SCALE": scale.values * inverse,
        "EQ_BIAS": bias.values - scale.values * inverse * mean,
        "UPDATED_RUNNING_MEAN": 0.25 * mean + 0.75 * before[0].values,
        "UPDATED_RUNNING_VAR": 0.25 * variance * count / (count - 1) +
                               0.75 * before[1].values}
    outs = {name: dnn.output(of, "S") for name in expected}
    g = Graph(dnn)
    accumulated = Memory(numpy.full((1,) * 4, float(count)), "S")
    encoded = numpy.array([count], numpy.int64)
    g.alive.append(encoded)
    g.operation("BN_FINALIZE", STATS_MODE=0, MATH_PREC=0,
                Y_SUM_DESC=g.tensor(sums[0]), Y_SQ_SUM_DESC=g.tensor(sums[1]),
                SCALE_DESC=g.tensor(scale), BIAS_DESC=g.tensor(bias),
                PREV_RUNNING_MEAN_DESC=g.tensor(before[0]),
                PREV_RUNNING_VAR_DESC=g.tensor(before[1]),
                ACCUM_COUNT_DESC=g.of(accumulated, encoded.ctypes.data,
                                      type=10, IS_BY_VALUE=True),
                EPSILON_DESC=g.number(EPSILON),
                EXP_AVERATE_FACTOR_DESC=g.number(0.25),
                **{n + "_DESC": g.tensor(m) for n, m in outs.items()})
    g.run()
    for name, out in outs.items():
        dnn.judged(name, out, expected[name], loose=8)
    told = [Memory(m, "S") for m in (mean, inverse)]
    parts = {name: dnn.output(of, "S") for name in (
        "DBN_SCALE_DESC", "DBN_BIAS_DESC", "EQ_DY_SCALE_DESC",
        "EQ_X_SCALE_DESC", "EQ_BIAS")}
    g = Graph(dnn)
    g.operation("BN_BWD_WEIGHTS", MATH_PREC=0, MEAN_DESC=g.tensor(told[0]),
                INVSTD_DESC=g.tensor(told[1]), BN_SCALE_DESC=g.tensor(scale),
                X_DESC=g.tensor(x), DY_DESC=g.tensor(dy),
                **{n: g.tensor(m) for n, m in parts.items()})
    g.run()
    by = slopes(lambda x, s, b: normalize(x, s, b, axes, EPSILON), dy.values,
                x.values, scale.values, bias.values)
    dnn.judged("dscale", parts["DBN_SCALE_DESC"], by[1], loose=16)
    dnn.judged("dbias", parts["DBN_BIAS_DESC"], by[2], loose=16)
    a, b, c = (parts[n].get() for n in ("EQ_DY_SCALE_DESC", "EQ_X_SCALE_DESC",
                                        "EQ_BIAS"))
    dnn.judge.near("dx of its parts", a * dy.values + b * x.values + c, by[0],
                   32 * dy.number.allowed())


# --- pooling

AVERAGE_WITH, MAXIMUM, AVERAGE_WITHOUT = 2, 3, 4
OLD_MODE = {MAXIMUM: 0, AVERAGE_WITH: 1, AVERAGE_WITHOUT: 2}


def resample(dnn, kind, mode, shape, layout, scalars):
    window, padding, strides = shape
    alpha, beta = scalars
    x = dnn.tensor((2, 3, 7, 6), kind, layout)
    expected = pool(x.values, OLD_MODE[mode], window, padding, strides)
    y = dnn.output(expected.shape, kind, layout, beta)
    settings = {"MODE": mode, "COMP_TYPE": TYPES[WIDE[kind]],
                "SPATIAL_DIMS": 2, "POST_PADDINGS": list(zip(
                    *ends(padding)))[1],
                "PRE_PADDINGS": list(zip(*ends(padding)))[0],
                "STRIDES": strides,
                "WINDOW_DIMS": window,
                "PADDING_MODE": int(mode == MAXIMUM)}
    g = Graph(dnn)
    g.operation("RESAMPLE_FWD", XDESC=g.tensor(x), YDESC=g.tensor(y),
                ALPHA=alpha, BETA=beta, DESC=g.new("RESAMPLE", **settings))
    g.run()
    dnn.judged("y", y, expected, alpha, beta, 2)
    if kind in ("F16", "BF16") and mode == MAXIMUM:
        return  # numbers that are the same, perhaps
    places = dnn.output(expected.shape, "I8", layout)
    if mode == MAXIMUM:  # what the index is, is the library's own
        g = Graph(dnn)
        g.operation("RESAMPLE_FWD", XDESC=g.tensor(x), YDESC=g.tensor(y),
                    IDXDESC=g.tensor(places), ALPHA=1, BETA=0,
                    DESC=g.new("RESAMPLE", **settings))
        g.run()
    dy = dnn.tensor(expected.shape, kind, layout)
    dx = dnn.output(x.sizes, kind, layout, beta)
    g = Graph(dnn)
    g.operation("RESAMPLE_BWD", DYDESC=g.tensor(dy), DXDESC=g.tensor(dx),
                IDXDESC=g.tensor(places) if mode == MAXIMUM else None,
                ALPHA=alpha, BETA=beta, DESC=g.new("RESAMPLE", **settings))
    g.run()
    dnn.judged("dx", dx, slopes(
        lambda v: pool(v, OLD_MODE[mode], window, padding, strides),
        dy.values, x.values)[0], alpha, beta, 4)


# --- plans

def cuda_graph(dnn):
    """A plan as nodes of a graph of CUDA's, launched, and changed."""
    x, b = matrices(dnn, "S", *[(2, 3, 4, 5)] * 2)
    y = dnn.output(x.sizes, "S")
    made, ready = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuGraphCreate", ctypes.byref(made), 0)
    for name, given in (("Populate", b), ("Update", x)):
        g = Graph(dnn)
        g.pointwise(0, g.tensor(x), g.tensor(y), g.tensor(given))
        g.prepare()
        dnn("Backend%sCudaGraph" % name, ctypes.c_void_p(g.plan),
            ctypes.c_void_p(g.pack), made)
        driver("cuGraphInstantiateWithFlags", ctypes.byref(ready), made,
               ctypes.c_uint64(0))
        driver("cuGraphLaunch", ready, None)
        dnn.judged("y", y, x.values + given.values)
        driver("cuGraphExecDestroy", ready)
    driver("cuGraphDestroy", made)


def refuses(dnn):
    g = Graph(dnn)
    made = ctypes.c_void_p()
    dnn.refuses(BAD_PARAM, "BackendCreateDescriptor", 0, None)
    dnn.refuses(NOT_SUPPORTED, "BackendCreateDescriptor", 4711,
                ctypes.byref(made))
    dnn.plain("BackendCreateDescriptor", KINDS["TENSOR"], ctypes.byref(made))
    dnn.closing.append(("BackendDestroyDescriptor", made))
    one = numpy.array([1], numpy.int64)
    # Not all is set; of another type; another's attribute; nothing.
    dnn.refuses(BAD_PARAM, "BackendFinalize", made)
    dnn.refuses(BAD_PARAM, "BackendSetAttribute", made, 906, 5, LONG(1), one)
    dnn.refuses(BAD_PARAM, "BackendSetAttribute", made, 801, 15, LONG(1), one)
    dnn.refuses(BAD_PARAM, "BackendSetAttribute", made, 906, 3, LONG(1), None)
    dnn.refuses(BAD_PARAM, "BackendGetAttribute", made, 906, 3, LONG(1), None,
                one)
    g.set(made, "TENSOR_UNIQUE_ID", 5)
    g.set(made, "TENSOR_DATA_TYPE", 0)
    g.set(made, "TENSOR_DIMENSIONS", [2, 3])
    g.set(made, "TENSOR_STRIDES", [3, 1])
    dnn.plain("BackendFinalize", made)
    dnn.judge.same("as it was set", g.get(made.value, "TENSOR_STRIDES", 8),
                   [3, 1])
    # No more is set of what is finalized.
    dnn.refuses(NOT_INITIALIZED, "BackendSetAttribute", made, 906, 3, LONG(1),
                one)
    dnn.plain("BackendInitialize", made)
    dnn.refuses(BAD_PARAM, "BackendFinalize", made)


LAYOUTS = {"layout": [NCHW, NHWC, GAPS]}
BLENDS = {"scalars": [(1, 0), (1.5, -0.5)]}
# As XLA pads: more after than before, or nothing on one side.
UNEVEN = [(3, 1, False, (2, 1, 1), (1, 1, 1), ((0, 1), (2, 0), (1, 0))),
          (4, 2, False, (1, 2, 1), (1, 2, 1), ((2, 0), (0, 3), (0, 1)))]
POOLS = [((2, 2), (0, 0), (2, 2)), ((3, 2), (1, 0), (1, 2)),
         ((3, 3), (1, 1), (2, 2))]
FAMILIES = [
    (convolution, {"kind": FLOATS, "dims": [1, 2, 3], "sizes": SIZES + UNEVEN,
                   "layout": [NCHW, NHWC], **BLENDS}),
    (convolution_bias_relu, {"kind": FLOATS, **LAYOUTS,
                             "clips": [False, True]}),
    (convolution_and_more, {"kind": FLOATS, **LAYOUTS}),
    (convolution_of_integers, {"result": ["S", "F16", "D"], **LAYOUTS}),
    (binary, {"kind": FLOATS, "mode": BINARY, "sizes": ONES, **LAYOUTS}),
    (scaled, {"kind": FLOATS, "mode": [0, 1, 9]}),
    (unary, {"kind": FLOATS, "mode": UNARY, **LAYOUTS}),
    (activation, {"kind": FLOATS, "mode": range(8), "settings": [False],
                  **LAYOUTS}),
    (activation, {"kind": FLOATS, "mode": SET, "settings": [True],
                  **LAYOUTS}),
    (comparison, {"kind": FLOATS, "mode": range(6),
                  "logical": [None, 400, 401, 402]}),
    (gen_index, {"kind": FLOATS, "axis": range(4)}),
    (reduction, {"kind": FLOATS, "op": range(9), "sizes": ONES[1:],
                 **LAYOUTS}),
    (moved, {"kind": FLOATS, "what": ["concat", "reshape", "transpose",
                                      "slice"], **LAYOUTS}),
    (random_numbers, {"distribution": [0], "told": [
        {"BERNOULLI_DIST_PROBABILITY": 0.25}], "mean": [0.25],
                      "deviation": [(0.25 * 0.75) ** 0.5], "least": [0],
                      "largest": [1]}),
    (random_numbers, {"distribution": [1], "told": [
        {"UNIFORM_DIST_MINIMUM": -1, "UNIFORM_DIST_MAXIMUM": 3}], "mean": [1],
                      "deviation": [4 / 12 ** 0.5], "least": [-1],
                      "largest": [3]}),
    (random_numbers, {"distribution": [2], "told": [
        {"NORMAL_DIST_MEAN": 1, "NORMAL_DIST_STANDARD_DEVIATION": 2}],
                      "mean": [1], "deviation": [2], "least": [-12],
                      "largest": [14]}),
    (matmul, {"kind": FLOATS, "sizes": [
        ((1, 1), 4, 5, 6), ((3, 3), 1, 7, 2), ((3, 1), 4, 3, 9),
        ((1, 2), 4, 3, 1), ((2, 2), 70, 90, 150)], "transposed": [False, True],
              "layout": [NCHW, GAPS]}),
    (limited, {"kind": FLOATS}),
    (small_floats, {"kind": ["E4M3", "E5M2"], "other": ["E4M3", "E5M2"]}),
    (cast, {"kind": FLOATS + ["I8", "I32", "E4M3", "E5M2"],
            "to": FLOATS + ["I32"]}),
    (norm, {"kind": FLOATS, "mode": NORMS, **LAYOUTS,
            "trains": [False, True]}),
    (batch_norm_parts, {"kind": ["S", "F16", "BF16"], **LAYOUTS}),
    (resample, {"kind": FLOATS, "mode": OLD_MODE, "shape": POOLS, **LAYOUTS,
                **BLENDS}),
    (resample, {"kind": ["S", "D"], "mode": OLD_MODE, "shape": [
        ((3, 3), ((0, 2), (1, 0)), (2, 2))], "layout": [NCHW],
                "scalars": [(1, 0)]}),
    (cuda_graph, {}),
    (refuses, {}),
]
