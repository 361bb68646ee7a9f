"""cuDNN's recurrent networks, and its loss of sequences (CTC)."""
import ctypes
import itertools

import numpy

from judge import Device
from judge_cudnn_frame import (BAD_PARAM, FLOATS, NOT_SUPPORTED, TYPES, WIDE,
                               Memory, int32, ints, positive, sigmoid, slopes)

RELU, TANH, LSTM, GRU = range(4)
GATES = {RELU: 1, TANH: 1, LSTM: 4, GRU: 3}
NO_BIAS, OF_INPUT, BOTH, OF_STATE = range(4)
TIME_MAJOR, PACKED, BATCH_MAJOR = range(3)
INPUT, HIDDEN, TIMES, BATCH = 3, 2, 4, 3
LENGTHS = {"full": [4, 4, 4], "sorted": [4, 2, 1], "any": [2, 4, 1]}


class Network:
    """A network on the device, and what it computes."""

    def __init__(self, dnn, kind, mode, bias=BOTH, ways=1, layers=2,
                 skips=False, projected=0, lengths="full", layout=TIME_MAJOR):
        self.dnn, self.kind, self.mode, self.ways = dnn, kind, mode, ways
        self.layout, self.lengths = layout, LENGTHS[lengths]
        self.skips, self.input = skips, HIDDEN if skips else INPUT
        self.parts, self.out = layers * ways, projected or HIDDEN
        self.clip = None
        drop = dnn.new("Dropout")
        size = dnn.size("DropoutGetStatesSize", dnn.handle)
        dnn.plain("SetDropoutDescriptor", drop, dnn.handle, ctypes.c_float(0),
                  dnn.room(size), ctypes.c_size_t(size), ctypes.c_uint64(3))
        self.made = dnn.new("RNN")
        told = [0, mode, bias, ways - 1, int(skips), TYPES[kind],
                TYPES[WIDE[kind]], 3, self.input, HIDDEN, self.out, layers]
        dnn.plain("SetRNNDescriptor_v8", self.made, *told, drop, 1)
        got = [int32(77) for _ in told]
        dnn.plain("GetRNNDescriptor_v8", self.made, *got,
                  ctypes.byref(ctypes.c_void_p()), int32(0))
        dnn.judge.same("as it was told", [int(g) for g in got], told)
        self.fill = numpy.array([7.0])
        self.x_desc = self.data(self.input)
        self.y_desc = self.data(self.out * ways)
        self.find_weights()

    def data(self, vector):
        made = self.dnn.new("RNNData")
        fill = Memory(self.fill, self.kind).number.encode(self.fill)
        self.dnn.plain("SetRNNDataDescriptor", made, TYPES[self.kind],
                       self.layout, TIMES, BATCH, vector, ints(self.lengths),
                       fill)
        got = [int32(77) for _ in range(5)]
        lengths = ints([0] * BATCH)
        self.dnn.plain("GetRNNDataDescriptor", made, *got, BATCH, lengths,
                       numpy.zeros(1))
        self.dnn.judge.same("as it was told", [int(g) for g in got] + list(
            lengths), [TYPES[self.kind], self.layout, TIMES, BATCH, vector] +
                            self.lengths)
        return made

    def find_weights(self):
        """Where in a space of them each matrix and each bias is."""
        dnn = self.dnn
        unit = Memory(numpy.zeros(1), self.kind).number.dtype.itemsize
        size = dnn.size("GetRNNWeightSpaceSize", dnn.handle, self.made)
        self.weights = dnn.tensor((size // unit,), self.kind, spread=0.7)
        base = self.weights.device.pointer.value
        self.where = {}
        for part in range(self.parts):
            for i in range(2 * GATES[self.mode] + (self.out < HIDDEN)):
                found = []
                descs = [dnn.new("Tensor"), dnn.new("Tensor")]
                places = [ctypes.c_void_p(), ctypes.c_void_p()]
                dnn("GetRNNWeightParams", self.made, part,
                    ctypes.c_size_t(size), self.weights.device, i, descs[0],
                    ctypes.byref(places[0]), descs[1], ctypes.byref(places[1]))
                for desc, place in zip(descs, places):
                    if not place.value:
                        found.append(None)
                        continue
                    sizes = ints([0] * 3)
                    dnn.plain("GetTensorNdDescriptor", desc, 3, int32(0),
                              int32(0), sizes, ints([0] * 3))
                    dnn.judge.same("one matrix", sizes[0], 1)
                    first = (place.value - base) // unit
                    found.append((slice(first, first + int(sizes.prod())),
                                  sizes[1:]))
                self.where[part, i] = found

    def part(self, weights, part, i):
        """A matrix and a bias of them."""
        matrix, bias = self.where[part, i]
        return (weights[matrix[0]].reshape(matrix[1]) if matrix else None,
                weights[bias[0]] if bias else 0)

    def cell(self, weights, part, x, h, c):
        """One step, of one sequence."""
        n = GATES[self.mode]
        of_x, of_h = [], []
        for i in range(n):
            w, b = self.part(weights, part, i)
            of_x.append((x if w is None else w @ x) + b)
            w, b = self.part(weights, part, n + i)
            of_h.append(w @ h + b)
        if self.mode in (RELU, TANH):
            total = of_x[0] + of_h[0]
            return (positive(total) if self.mode == RELU else
                    numpy.tanh(total)), c
        if self.mode == GRU:
            r, i = (sigmoid(of_x[k] + of_h[k]) for k in (0, 1))
            new = numpy.tanh(of_x[2] + r * of_h[2])
            return (1 - i) * new + i * h, c
        i, f, new, o = (a + b for a, b in zip(of_x, of_h))
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(new)
        if self.clip:
            c = c.clip(*self.clip)
        h = sigmoid(o) * numpy.tanh(c)
        if self.out < HIDDEN:
            h = self.part(weights, part, 8)[0] @ h
        return h, c

    def forward(self, x, hx, cx, weights):
        kind = numpy.result_type(x, hx, cx, weights)
        hy, cy = hx.astype(kind), cx.astype(kind)
        for layer in range(self.parts // self.ways):
            y = numpy.zeros((TIMES, BATCH, self.out * self.ways), kind)
            for way in range(self.ways):
                part = layer * self.ways + way
                for b, length in enumerate(self.lengths):
                    for t in range(length)[::-1 if way else 1]:
                        hy[part, b], cy[part, b] = self.cell(
                            weights, part, x[t, b], hy[part, b], cy[part, b])
                        y[t, b, way * self.out:(way + 1) * self.out] = hy[
                            part, b]
            x = y
        return y, hy, cy

    def inside(self):
        """Which times of which sequences there are."""
        return numpy.arange(TIMES)[:, None] < numpy.array(self.lengths)

    def memory(self, padded, kind=None):
        """Sequences as they lie in memory, NaN where there is none."""
        padded = numpy.where(self.inside()[..., None], padded, numpy.nan)
        if self.layout == PACKED:
            padded = padded[self.inside()]
        if self.layout == BATCH_MAJOR:
            padded = padded.transpose(1, 0, 2)
        return Memory(padded.ravel(), kind or self.kind)

    def padded(self, memory, vector):
        values = memory.get()
        if self.layout == PACKED:
            found = numpy.zeros((TIMES, BATCH, vector))
            found[self.inside()] = values.reshape(-1, vector)
            return found
        if self.layout == BATCH_MAJOR:
            return values.reshape(BATCH, TIMES, vector).transpose(1, 0, 2)
        return values.reshape(TIMES, BATCH, vector)

    def judged(self, what, memory, expected, fill=None):
        got, inside = self.padded(memory, expected.shape[2]), self.inside()
        self.dnn.judge.near(what, got[inside], expected[inside],
                            self.loose(memory))
        if fill is not None and self.layout != PACKED:
            self.dnn.judge.same(what + " in between", got[~inside],
                                numpy.full_like(got[~inside], fill))

    @staticmethod
    def loose(memory):
        return 8 * memory.number.allowed()


def recurrent(dnn, kind, mode, trains=True, states=True, **settings):
    """Forward, and if it is for training the ways back."""
    net = Network(dnn, kind, mode, **settings)
    x = net.memory(dnn.random.standard_normal((TIMES, BATCH, net.input)))
    values = numpy.nan_to_num(net.padded(x, net.input))
    sizes = [(net.parts, BATCH, net.out), (net.parts, BATCH, HIDDEN)]
    hx, cx = (dnn.tensor(s, kind) for s in sizes)
    if not states:
        hx.values[:] = cx.values[:] = 0
    inputs = [values, hx.values, cx.values, net.weights.values]
    expected = net.forward(*inputs)
    work, reserve = ctypes.c_size_t(), ctypes.c_size_t()
    dnn("GetRNNTempSpaceSizes", net.made, int(trains), net.x_desc,
        ctypes.byref(work), ctypes.byref(reserve))
    rooms = [work, dnn.room(work.value), reserve, dnn.room(reserve.value)]
    lengths = Device(ints(net.lengths))
    y = net.memory(expected[0] * numpy.nan)
    hy, cy = (dnn.output(s, kind) for s in sizes)
    of_h, of_c = map(dnn.descriptor, (hx, cx))
    size = ctypes.c_size_t(net.weights.values.size *
                           net.weights.number.dtype.itemsize)
    states_of = [[m.device if states else None for m in (hx, hy)],
                 [m.device if states else None for m in (cx, cy)]]
    dnn("RNNForward", net.made, int(trains), lengths, net.x_desc, x.device,
        net.y_desc, y.device, of_h, *states_of[0], of_c, *states_of[1], size,
        net.weights.device, *rooms)
    net.judged("y", y, expected[0], 7)
    if states:
        dnn.judged("hy", hy, expected[1], loose=8)
        if mode == LSTM:
            dnn.judged("cy", cy, expected[2], loose=8)
    if not trains:
        return
    upper = [dnn.random.standard_normal(e.shape) for e in expected]
    dy = net.memory(upper[0])
    upper[0] = numpy.nan_to_num(net.padded(dy, net.out * net.ways))
    dhy, dcy = (Memory(u, kind) for u in upper[1:])
    upper[1:] = (dhy.values, dcy.values)
    if not states:
        upper[1:] = (u * 0 for u in upper[1:])
    if mode != LSTM:
        upper[2] = upper[2] * 0
    by = slopes(net.forward, tuple(upper), *inputs)
    dx = net.memory(values * numpy.nan)
    dhx, dcx = (dnn.output(s, kind) for s in sizes)
    back = [[m.device if states else None for m in ms]
            for ms in ((hx, dhy, dhx), (cx, dcy, dcx))]
    dnn("RNNBackwardData_v8", net.made, lengths, net.y_desc, y.device,
        dy.device, net.x_desc, dx.device, of_h, *back[0], of_c, *back[1],
        size, net.weights.device, *rooms)
    net.judged("dx", dx, by[0])
    if states:
        dnn.judged("dhx", dhx, by[1], loose=8)
        if mode == LSTM:
            dnn.judged("dcx", dcx, by[2], loose=8)
    # Added to what is there.
    dw = dnn.tensor(net.weights.sizes, kind)
    dnn("RNNBackwardWeights_v8", net.made, 0, lengths, net.x_desc, x.device,
        of_h, states_of[0][0], net.y_desc, y.device, size, dw.device, *rooms)
    dnn.judged("dweights", dw, by[3], 1, 1, 8)


def clipped(dnn, kind, version):
    """Cells of LSTM kept in an interval."""
    net = Network(dnn, kind, LSTM)
    net.clip = (-0.2, 0.3)
    nan = [0] if version == 8 else []
    dnn.plain("RNNSetClip_v%d" % version, net.made, 1, *nan, *net.clip)
    dnn.got("RNNGetClip_v%d" % version, net.made, int32(1),
            *map(int32, nan), *map(numpy.float64, net.clip))
    dnn("BuildRNNDynamic", net.made, BATCH)
    x = net.memory(dnn.random.standard_normal((TIMES, BATCH, INPUT)))
    state = numpy.zeros((net.parts, BATCH, HIDDEN))
    expected = net.forward(net.padded(x, INPUT), state, state,
                           net.weights.values)
    work, reserve = ctypes.c_size_t(), ctypes.c_size_t()
    dnn("GetRNNTempSpaceSizes", net.made, 0, net.x_desc, ctypes.byref(work),
        ctypes.byref(reserve))
    y, cy = net.memory(expected[0] * numpy.nan), dnn.output(state.shape, kind)
    size = ctypes.c_size_t(net.weights.values.size *
                           net.weights.number.dtype.itemsize)
    of_state = dnn.descriptor(cy)
    dnn("RNNForward", net.made, 0, Device(ints(net.lengths)), net.x_desc,
        x.device, net.y_desc, y.device, of_state, None, None, of_state, None,
        cy.device, size, net.weights.device, work, dnn.room(work.value),
        reserve, dnn.room(reserve.value))
    net.judged("y", y, expected[0])
    dnn.judged("cy", cy, expected[2], loose=8)


# --- CTC

LABELS = [[1, 2], [1, 1], [3], [], [2, 1, 2]]


def loss(probabilities, labels):
    """Minus the logarithm of what all paths that read as the labels have."""
    total = 0
    for path in itertools.product(range(probabilities.shape[1]),
                                  repeat=len(probabilities)):
        read = [a for a, before in zip(path, (None,) + path)
                if a != before and a != 0]
        if read == labels:
            total = total + numpy.prod(
                probabilities[numpy.arange(len(path)), path])
    return -numpy.log(total)


def ctc(dnn, setter, softmax, on_device, algorithm, layout):
    """Of activations, or of probabilities as softmax gives them; slopes are of
    the activations either way."""
    used, times, letters = [5, 5, 4, 3, 5], 5, 4
    batch = len(LABELS)
    activations = dnn.random.standard_normal((times, batch, letters))

    def probabilities(x):
        e = numpy.exp(x)
        return e / e.sum(-1, keepdims=True)

    x = Memory(activations if softmax else probabilities(activations), "S",
               layout)
    if not softmax:
        activations = numpy.log(x.values)

    def losses(a):
        p = probabilities(a)
        return numpy.array([loss(p[:used[b], b], LABELS[b])
                            for b in range(batch)])

    how = dnn.new("CTCLoss")
    told = [0] + {"": [], "Ex": [softmax, 0], "_v8": [softmax, 0, 3],
                  "_v9": [softmax, 0, 3]}[setter]
    dnn.plain("SetCTCLossDescriptor" + setter, how, *told)
    dnn.got("GetCTCLossDescriptor" + setter, how, *map(int32, told))
    flat = [ints([label for of in LABELS for label in of]),
            ints([len(of) for of in LABELS]), ints(used)]
    costs = dnn.output((batch,), "S")
    dx = dnn.output(x.sizes, "S", layout)
    of_x, of_dx = dnn.descriptor(x), dnn.descriptor(dx)
    if on_device:
        size = dnn.size("GetCTCLossWorkspaceSize_v8", dnn.handle, algorithm,
                        how, of_x, of_dx)
        dnn("CTCLoss_v8", algorithm, how, of_x, x.device, *map(Device, flat),
            costs.device, of_dx, dx.device, ctypes.c_size_t(size),
            dnn.room(size))
    else:
        size = dnn.size("GetCTCLossWorkspaceSize", dnn.handle, of_x, of_dx,
                        *flat, algorithm, how)
        dnn("CTCLoss", of_x, x.device, *flat, costs.device, of_dx, dx.device,
            algorithm, how, dnn.room(size), ctypes.c_size_t(size))
    dnn.judged("the losses", costs, losses(activations))
    by = numpy.zeros(x.sizes)
    for b in range(batch):
        one = activations[:used[b], b]
        by[:used[b], b] = slopes(lambda a, labels=LABELS[b]: loss(
            probabilities(a), labels), 1, one)[0]
    dnn.judged("dx", dx, by)


def refused_networks(dnn):
    made = dnn.new("RNN")
    plain = [0, LSTM, BOTH, 0, 0, 0, 0, 3, 3, 2, 2, 1]
    for at, value, status in ((1, 4, BAD_PARAM), (2, 4, BAD_PARAM),
                              (8, 0, BAD_PARAM), (9, -1, BAD_PARAM),
                              (11, 0, BAD_PARAM), (10, 3, BAD_PARAM),
                              (5, 3, NOT_SUPPORTED)):
        told = list(plain)
        told[at] = value
        dnn.refuses(status, "SetRNNDescriptor_v8", made, *told, None, 0)
    data = dnn.new("RNNData")
    for layout, lengths in ((PACKED, [2, 4, 1]), (TIME_MAJOR, [5, 4, 1]),
                            (7, [4, 4, 4])):
        dnn.refuses(BAD_PARAM, "SetRNNDataDescriptor", data, 0, layout, TIMES,
                    BATCH, 3, ints(lengths), None)


MODES = [RELU, TANH, LSTM, GRU]
FAMILIES = [
    (recurrent, {"kind": FLOATS, "mode": MODES, "ways": [1, 2],
                 "bias": range(4)}),
    (recurrent, {"kind": ["S", "D"], "mode": MODES, "ways": [1, 2],
                 "lengths": ["sorted"], "layout": range(3)}),
    (recurrent, {"kind": ["S", "D"], "mode": MODES, "ways": [1, 2],
                 "lengths": ["any"], "layout": [TIME_MAJOR, BATCH_MAJOR],
                 "trains": [False, True]}),
    (recurrent, {"kind": ["S", "F16"], "mode": MODES, "skips": [True],
                 "ways": [1, 2], "layers": [1, 3]}),
    (recurrent, {"kind": FLOATS, "mode": [LSTM], "projected": [1],
                 "ways": [1, 2], "trains": [False, True]}),
    (recurrent, {"kind": ["S"], "mode": MODES, "states": [False],
                 "trains": [False, True], "ways": [1, 2]}),
    (clipped, {"kind": FLOATS, "version": [8, 9]}),
    (ctc, {"setter": [""], "softmax": [0], "on_device": [False],
           "algorithm": [0, 1], "layout": ["NCHW", "gaps"]}),
    (ctc, {"setter": ["Ex", "_v8", "_v9"], "softmax": [0, 1],
           "on_device": [False, True], "algorithm": [0, 1],
           "layout": ["NCHW"]}),
    (refused_networks, {}),
]
