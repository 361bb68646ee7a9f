"""cuDNN's functions before graphs, but for those of sequences."""
import ctypes

import numpy

from judge import Device
from judge_cudnn_frame import (FLOATS, GAPS, NCHW, NHWC,
                               TYPES, WIDE, Memory, away, int32, ints, positive,
                               scalar, sigmoid, slopes)

SCALARS = [(1, 0), (2, 0), (1.5, -0.5)]


# --- what is computed

def taps(image, sizes, window, padding, strides, dilations):
    """For each place in a window: the place, and where its elements are in an
    image with its padding."""
    for at in numpy.ndindex(*window):
        yield at, (slice(None), slice(None)) + tuple(
            slice(a * d, a * d + (n - 1) * s + 1, s)
            for a, d, n, s in zip(at, dilations, sizes, strides))


def ends(padding):
    """Before and after, which may differ."""
    return [p if isinstance(p, tuple) else (p, p) for p in padding]


def padded(x, padding, value=0.0):
    return numpy.pad(x, [(0, 0), (0, 0)] + ends(padding),
                     constant_values=value)


def outside(sizes, window, padding, strides, dilations):
    """How large a result is."""
    return tuple((n + sum(p) - (d * (k - 1) + 1)) // s + 1 for n, k, p, s, d
                 in zip(sizes, window, ends(padding), strides, dilations))


def convolve(x, w, padding, strides, dilations, groups, flips):
    if flips:
        w = w[(slice(None), slice(None)) + (slice(None, None, -1),) * (
            w.ndim - 2)]
    window = w.shape[2:]
    sizes = outside(x.shape[2:], window, padding, strides, dilations)
    y = numpy.zeros((x.shape[0], w.shape[0]) + sizes,
                    numpy.result_type(x, w))
    c, k = w.shape[1], w.shape[0] // groups
    image = padded(x, padding)
    for at, where in taps(image, sizes, window, padding, strides, dilations):
        part = image[where]
        for g in range(groups):
            y[:, g * k:(g + 1) * k] += numpy.einsum(
                "nc...,kc->nk...", part[:, g * c:(g + 1) * c],
                w[(slice(g * k, (g + 1) * k), slice(None)) + at])
    return y


def convolve_slopes(x, w, dy, padding, strides, dilations, groups, flips):
    """By x and by w: a convolution is linear in each."""
    if flips:
        w = w[(slice(None), slice(None)) + (slice(None, None, -1),) * (
            w.ndim - 2)]
    c, k = w.shape[1], w.shape[0] // groups
    image, dw = padded(x, padding), numpy.zeros_like(w)
    dimage = numpy.zeros_like(image)
    for at, where in taps(image, dy.shape[2:], w.shape[2:], padding, strides,
                          dilations):
        for g in range(groups):
            of_c, of_k = slice(g * c, (g + 1) * c), slice(g * k, (g + 1) * k)
            here = (of_k, slice(None)) + at
            dimage[where][:, of_c] += numpy.einsum(
                "nk...,kc->nc...", dy[:, of_k], w[here])
            along = (0, *range(2, x.ndim))
            dw[here] = numpy.tensordot(dy[:, of_k], image[where][:, of_c],
                                       (along, along))
    inside = (slice(None), slice(None)) + tuple(
        slice(p, p + n) for (p, _), n in zip(ends(padding), x.shape[2:]))
    if flips:
        dw = dw[(slice(None), slice(None)) + (slice(None, None, -1),) * (
            dw.ndim - 2)]
    return dimage[inside], dw


MAX, AVERAGE_WITH, AVERAGE_WITHOUT, MAX_DETERMINISTIC = range(4)


def pool(x, mode, window, padding, strides, keep_nan=False):
    ones = (1,) * len(window)
    sizes = outside(x.shape[2:], window, padding, strides, ones)
    is_max = mode in (MAX, MAX_DETERMINISTIC)
    image = padded(x, padding, -numpy.inf if is_max else 0)
    found = numpy.stack([image[where] for _, where in taps(
        image, sizes, window, padding, strides, ones)])
    if is_max:
        nan = numpy.isnan(found)
        real = numpy.where(nan, numpy.inf if keep_nan else -numpy.inf,
                           found.real)
        return numpy.take_along_axis(found, real.argmax(0)[None], 0)[0]
    if mode == AVERAGE_WITH:
        return found.mean(0)
    count = padded(numpy.ones(x.shape), padding)
    return found.sum(0) / sum(count[where] for _, where in taps(
        count, sizes, window, padding, strides, ones))


ACTIVATIONS = {
    "sigmoid": (0, 0.0, lambda x, c: sigmoid(x)),
    "relu": (1, 0.0, lambda x, c: positive(x)),
    "tanh": (2, 0.0, lambda x, c: numpy.tanh(x)),
    "clipped relu": (3, 0.7, lambda x, c: numpy.where(
        x.real < c, positive(x), c)),
    "elu": (4, 1.5, lambda x, c: numpy.where(
        x.real > 0, x, c * (numpy.exp(x) - 1))),
    "swish": (6, 1.5, lambda x, c: x * sigmoid(c * x)),
}


def softmax(x, algorithm, axes):
    largest = x.real.max(axes, keepdims=True)
    shifted = x - largest
    total = numpy.exp(shifted).sum(axes, keepdims=True)
    if algorithm == 2:
        return shifted - numpy.log(total)
    return numpy.exp(shifted) / total


def normalize(x, scale, bias, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return scale * (x - mean) / numpy.sqrt(variance + epsilon) + bias


def respond(x, n, alpha, beta, k):
    """Over `n` channels, as many before as after or one fewer."""
    total = numpy.zeros_like(x)
    for c in range(x.shape[1]):
        first = max(0, c - (n - 1) // 2)
        total[:, c] = (x[:, first:c + n // 2 + 1] ** 2).sum(1)
    return x * (k + alpha / n * total) ** -beta


def grid_of(theta, height, width):
    """Where in an image of -1 to 1 each point is from."""
    y, x = numpy.meshgrid(numpy.linspace(-1, 1, height),
                          numpy.linspace(-1, 1, width), indexing="ij")
    return numpy.einsum("nij,hwj->nhwi", theta,
                        numpy.stack([x, y, numpy.ones_like(x)], -1))


def sample(image, grid):
    """Between four neighbours; outside there is 0."""
    n, c, height, width = image.shape
    x, y = ((grid[..., i] + 1) * (size - 1) / 2
            for i, size in ((0, width), (1, height)))
    left, top = (numpy.floor(p.real).astype(int) for p in (x, y))
    result = numpy.zeros((n, c) + grid.shape[1:3], numpy.result_type(
        image, grid))
    for down in (0, 1):
        for right in (0, 1):
            i, j = top + down, left + right
            weight = (1 - abs_of(x - j)) * (1 - abs_of(y - i))
            there = (i >= 0) & (i < height) & (j >= 0) & (j < width)
            i, j = i.clip(0, height - 1), j.clip(0, width - 1)
            for b in range(n):
                result[b] += image[b][:, i[b], j[b]] * (weight * there)[b]
    return result


def abs_of(x):
    return numpy.where(x.real < 0, -x, x)


REDUCTIONS = [
    lambda x: x.sum(1), lambda x: x.prod(1), lambda x: x.min(1),
    lambda x: x.max(1), lambda x: numpy.abs(x).max(1), lambda x: x.mean(1),
    lambda x: numpy.abs(x).sum(1), lambda x: numpy.sqrt((x ** 2).sum(1)),
    lambda x: numpy.where(x == 0, 1, x).prod(1)]


# --- convolutions

def filter_of(dnn, w, kind, layout):
    made = dnn.new("Filter")
    dnn.plain("SetFilterNdDescriptor", made, TYPES[kind],
              int(layout == NHWC), w.ndim, ints(w.shape))
    return made


def convolution_of(dnn, geometry, compute):
    padding, strides, dilations, groups, flips = geometry
    made = dnn.new("Convolution")
    dnn.plain("SetConvolutionNdDescriptor", made, len(padding),
              ints(padding), ints(strides), ints(dilations), int(not flips),
              TYPES[compute])
    dnn.plain("SetConvolutionGroupCount", made, groups)
    dnn.got("GetConvolutionGroupCount", made, int32(groups))
    return made


def geometry_of(sizes, dims):
    """Sizes of an image and a filter; the rest of a convolution."""
    channels, groups, flips, strides, dilations, padding = sizes
    image = (2, channels) + (7, 6, 5)[:dims]
    window = (3, 2, 2)[:dims]
    w = (2 * groups, channels // groups) + window
    geometry = [list(n[:dims]) for n in (padding, strides, dilations)]
    return image, w, (*geometry, groups, flips)


def chosen(dnn, direction, args):
    """An algorithm that the library says, and memory for it."""
    count = int32(0)
    dnn("GetConvolution%sAlgorithmMaxCount" % direction, count)
    dnn.judge.same("algorithms", bool(count >= 1), True)
    found = numpy.zeros((int(count), 12), numpy.int32)
    for name in ("GetConvolution%sAlgorithm_v7", "FindConvolution%sAlgorithm"):
        dnn(name % direction, *args, int(count), count, found)
        dnn.judge.same("an algorithm's status", found[0, 1], 0)
    room = dnn.size("GetConvolution%sWorkspaceSize" % direction, dnn.handle,
                    *args, int(found[0, 0]))
    return [int(found[0, 0]), dnn.room(room), ctypes.c_size_t(room)]


def convolution(dnn, kind, dims=2, sizes=None, layout=NCHW, scalars=(1, 0),
                result=None):
    """Forward, and both ways back."""
    result, (alpha, beta) = result or kind, scalars
    image, window, geometry = geometry_of(sizes or PLAIN, dims)
    x = dnn.tensor(image, kind, layout)
    w = dnn.tensor(window, kind, NHWC if layout == NHWC else NCHW)
    dw = dnn.output(window, kind, NHWC if layout == NHWC else NCHW, beta)
    expected = convolve(x.values, w.values, *geometry)
    y = dnn.output(expected.shape, result, layout, beta)
    of_w = filter_of(dnn, w.values, kind, layout)
    how = convolution_of(dnn, geometry, WIDE[kind])
    of_x, of_y = dnn.descriptor(x), dnn.descriptor(y)
    told = ints([0] * (dims + 2))
    dnn.plain("GetConvolutionNdForwardOutputDim", how, of_x, of_w, dims + 2,
              told)
    dnn.judge.same("the result's sizes", told, expected.shape)
    a, b = scalar(result, alpha), scalar(result, beta)
    dnn("ConvolutionForward", a, of_x, x.device, of_w, w.device, how, *chosen(
        dnn, "Forward", [of_x, of_w, how, of_y]), b, of_y, y.device)
    dnn.judged("y", y, expected, alpha, beta)
    if kind == "I8":
        return
    dy = dnn.tensor(expected.shape, kind, layout)
    dx = dnn.output(image, kind, layout, beta)
    by_x, by_w = convolve_slopes(x.values, w.values, dy.values, *geometry)
    dnn("ConvolutionBackwardData", a, of_w, w.device, dy, how, *chosen(
        dnn, "BackwardData", [of_w, of_y, how, of_x]), b, dx)
    dnn.judged("dx", dx, by_x, alpha, beta)
    dnn("ConvolutionBackwardFilter", a, x, dy, how, *chosen(
        dnn, "BackwardFilter", [of_x, of_y, how, of_w]), b, of_w, dw.device)
    dnn.judged("dw", dw, by_w, alpha, beta, 4)
    db = dnn.output((1, window[0]) + (1,) * dims, kind, NCHW, beta)
    dnn("ConvolutionBackwardBias", a, dy, b, db)
    axes = (0, *range(2, dims + 2))
    dnn.judged("db", db, dy.values.sum(axes, keepdims=True), alpha, beta, 4)


def convolution_and_activation(dnn, kind, activation, scalars, layout):
    """y = act(alpha1 conv(x) + alpha2 z + bias)"""
    image, window, geometry = geometry_of(PLAIN, 2)
    x, w = dnn.tensor(image, kind, layout), dnn.tensor(
        window, kind, NHWC if layout == NHWC else NCHW)
    plain = convolve(x.values, w.values, *geometry)
    bias, z = dnn.tensor((1, window[0], 1, 1), kind), dnn.tensor(
        plain.shape, kind, layout)
    y = dnn.output(plain.shape, kind, layout)
    number, how = ((5, lambda v, c: v) if activation == "identity" else
                   ACTIVATIONS[activation][::2])
    act = dnn.new("Activation")
    dnn.plain("SetActivationDescriptor", act, number, 0, 0.0)
    dnn("ConvolutionBiasActivationForward", scalar(kind, scalars[0]), x,
        filter_of(dnn, w.values, kind, layout), w.device,
        convolution_of(dnn, geometry, WIDE[kind]), 1, None, ctypes.c_size_t(0),
        scalar(kind, scalars[1]), z, bias, act, y)
    dnn.judged("y", y, how(scalars[0] * plain + scalars[1] * z.values +
                           bias.values, 0))


def columns(dnn, kind, sizes):
    """The matrix that a filter's rows are multiplied with."""
    image, window, geometry = geometry_of(sizes, 2)
    x = dnn.tensor((1,) + image[1:], kind)
    padding, strides, dilations = geometry[:3]
    out = outside(image[2:], window[2:], padding, strides, dilations)
    wide = padded(x.values, padding)
    expected = numpy.stack([wide[where][0] for _, where in taps(
        wide, out, window[2:], padding, strides, dilations)], 1)
    y = dnn.output((expected.shape[0] * expected.shape[1],
                    out[0] * out[1]), kind)
    w = numpy.zeros((4, image[1]) + window[2:])
    dnn("Im2Col", x, filter_of(dnn, w, kind, NCHW),
        convolution_of(dnn, (padding, strides, dilations, 1, False),
                       WIDE[kind]), y.device)
    dnn.judged("the columns", y, expected.reshape(y.sizes))


# --- layers

def pooling(dnn, kind, mode, dims, shape, layout=NCHW, scalars=(1, 0)):
    window, padding, strides = (list(n[:dims]) for n in shape)
    alpha, beta = scalars
    x = dnn.tensor((2, 3) + (7, 6, 5)[:dims], kind, layout)
    how = dnn.new("Pooling")
    dnn.plain("SetPoolingNdDescriptor", how, mode, 0, dims, ints(window),
              ints(padding), ints(strides))
    expected = pool(x.values, mode, window, padding, strides)
    told = ints([0] * (dims + 2))
    dnn.plain("GetPoolingNdForwardOutputDim", how, dnn.descriptor(x),
              dims + 2, told)
    dnn.judge.same("the result's sizes", told, expected.shape)
    y = dnn.output(expected.shape, kind, layout, beta)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    dnn("PoolingForward", how, a, x, b, y)
    dnn.judged("y", y, expected, alpha, beta)
    if kind in ("F16", "BF16") and mode in (MAX, MAX_DETERMINISTIC):
        return  # numbers that are the same, perhaps
    y, dy = Memory(expected, kind, layout), dnn.tensor(
        expected.shape, kind, layout)
    dx = dnn.output(x.sizes, kind, layout, beta)
    dnn("PoolingBackward", how, a, y, dy, x, b, dx)
    dnn.judged("dx", dx, slopes(lambda v: pool(
        v, mode, window, padding, strides), dy.values, x.values)[0], alpha,
               beta, 2)


def pooling_nan(dnn, kind, keep):
    """NaN propagates, or is no candidate."""
    x = Memory(numpy.where(numpy.arange(36).reshape(1, 1, 6, 6) % 7 == 3,
                           numpy.nan, numpy.arange(36).reshape(1, 1, 6, 6)),
               kind)
    how = dnn.new("Pooling")
    dnn.plain("SetPooling2dDescriptor", how, MAX, int(keep), 2, 2, 0, 0, 2, 2)
    y = dnn.output((1, 1, 3, 3), kind)
    dnn("PoolingForward", how, scalar(kind, 1), x, scalar(kind, 0), y)
    dnn.judged("y", y, pool(x.values, MAX, [2, 2], [0, 0], [2, 2], keep))


def activation(dnn, kind, mode, layout, scalars):
    number, coefficient, how = ACTIVATIONS[mode]
    alpha, beta = scalars
    x = Memory(away(dnn.tensor((2, 3, 4, 5), kind).values, 0, coefficient),
               kind, layout)
    made = dnn.new("Activation")
    dnn.plain("SetActivationDescriptor", made, number, 0, coefficient)
    if mode == "swish":
        dnn.plain("SetActivationDescriptorSwishBeta", made, coefficient)
    expected = how(x.values, coefficient)
    y = dnn.output(x.sizes, kind, layout, beta)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    dnn("ActivationForward", made, a, x, b, y)
    dnn.judged("y", y, expected, alpha, beta)
    y, dy = Memory(expected, kind, layout), dnn.tensor(x.sizes, kind, layout)
    dx = dnn.output(x.sizes, kind, layout, beta)
    dnn("ActivationBackward", made, a, y, dy, x, b, dx)
    # Some ways back are of y, which is rounded.
    dnn.judged("dx", dx, slopes(lambda v: how(v, coefficient), dy.values,
                                x.values)[0], alpha, beta, 4)


def softmax_layer(dnn, kind, algorithm, mode, layout, scalars):
    alpha, beta = scalars
    x = dnn.tensor((2, 3, 4, 5), kind, layout, 3.0)
    if algorithm:  # larger ones are subtracted from
        x = Memory(x.values + (100 if kind in ("S", "D") else 8), kind, layout)
    axes = (1,) if mode else (1, 2, 3)
    expected = softmax(x.values, algorithm, axes)
    y = dnn.output(x.sizes, kind, layout, beta)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    dnn("SoftmaxForward", algorithm, mode, a, x, b, y)
    dnn.judged("y", y, expected, alpha, beta)
    y, dy = Memory(expected, kind, layout), dnn.tensor(x.sizes, kind, layout)
    dx = dnn.output(x.sizes, kind, layout, beta)
    dnn("SoftmaxBackward", algorithm, mode, a, y, dy, b, dx)
    dnn.judged("dx", dx, slopes(lambda v: softmax(v, algorithm, axes),
                                dy.values, x.values)[0], alpha, beta, 32)


def response(dnn, kind, n, layout, scalars):
    alpha, beta = scalars
    x = dnn.tensor((2, 6, 2, 3), kind, layout)
    how = dnn.new("LRN")
    settings = (0.8, 0.75, 1.5)
    dnn.plain("SetLRNDescriptor", how, n, *settings)
    dnn.got("GetLRNDescriptor", how, int32(n), *map(numpy.float64, settings))
    expected = respond(x.values, n, *settings)
    y = dnn.output(x.sizes, kind, layout, beta)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    dnn("LRNCrossChannelForward", how, 0, a, x, b, y)
    dnn.judged("y", y, expected, alpha, beta)
    y, dy = Memory(expected, kind, layout), dnn.tensor(x.sizes, kind, layout)
    dx = dnn.output(x.sizes, kind, layout, beta)
    dnn("LRNCrossChannelBackward", how, 0, a, y, dy, x, b, dx)
    dnn.judged("dx", dx, slopes(lambda v: respond(v, n, *settings), dy.values,
                                x.values)[0], alpha, beta, 4)


EPSILON = 1e-3


class Norm:
    """What calls of a normalization have: mode 0 is of each place by itself,
    others are of each channel."""

    def __init__(self, dnn, kind, mode, sizes, layout):
        self.x = dnn.tensor(sizes, kind, layout, 2.0)
        self.axes = (0,) if mode == 0 else (0, *range(2, len(sizes)))
        self.of = tuple(1 if d in self.axes else n
                        for d, n in enumerate(sizes))
        self.wide = WIDE[kind]
        self.scale, self.bias = (dnn.tensor(self.of, self.wide)
                                 for _ in range(2))
        self.count = numpy.prod(sizes) // numpy.prod(self.of)

    def __call__(self, x, scale, bias):
        return normalize(x, scale, bias, self.axes, EPSILON)

    def statistics(self):
        return (self.x.values.mean(self.axes, keepdims=True),
                self.x.values.var(self.axes, keepdims=True))


def batch_norm(dnn, kind, mode, layout, scalars, sizes=(3, 2, 4, 3),
               factor=0.25):
    alpha, beta = scalars
    n = Norm(dnn, kind, mode, sizes, layout)
    derived = dnn.new("Tensor")
    dnn.plain("DeriveBNTensorDescriptor", derived, dnn.descriptor(n.x), mode)
    dims = len(sizes)
    dnn.plain("GetTensorNdDescriptor", derived, dims, type_of := int32(9),
              int32(0), of := ints([0] * dims), ints([0] * dims))
    dnn.judge.same("derived", [int(type_of), *of], [TYPES[n.wide], *n.of])
    mean, variance = n.statistics()
    expected = n(n.x.values, n.scale.values, n.bias.values)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    y = dnn.output(sizes, kind, layout, beta)
    # With a factor of 1 nothing is read of what there was.
    running = [dnn.output(n.of, n.wide, NCHW, factor < 1) for _ in range(2)]
    saved = [dnn.output(n.of, n.wide) for _ in range(2)]
    dnn("BatchNormalizationForwardTraining", mode, a, b, n.x, y, n.scale,
        n.bias.device, float(factor), running[0].device, running[1].device,
        EPSILON, saved[0].device, saved[1].device)
    dnn.judged("y", y, expected, alpha, beta, 2)
    for what, memory, of in (
            ("running mean", running[0], mean),
            ("running variance", running[1],
             variance * n.count / (n.count - 1))):
        dnn.judged(what, memory, of, factor, 1 - factor)
    inverse = 1 / numpy.sqrt(variance + EPSILON)
    dnn.judged("saved mean", saved[0], mean)
    dnn.judged("saved inverse", saved[1], inverse)
    y = dnn.output(sizes, kind, layout, beta)
    told = [Memory(v, n.wide) for v in (mean, variance)]
    dnn("BatchNormalizationForwardInference", mode, a, b, n.x, y, n.scale,
        n.bias.device, told[0].device, told[1].device, EPSILON)
    dnn.judged("y of inference", y, expected, alpha, beta, 2)
    dy, dx = dnn.tensor(sizes, kind, layout), dnn.output(sizes, kind, layout,
                                                         beta)
    told[1] = Memory(inverse, n.wide)
    for given in (told, None):
        outs = [dnn.output(n.of, n.wide, NCHW, 1) for _ in range(2)]
        dx = dnn.output(sizes, kind, layout, beta)
        dnn("BatchNormalizationBackward", mode, a, b, scalar(kind, 2),
            scalar(kind, -1), n.x, dy, dx, n.scale, outs[0].device,
            outs[1].device, EPSILON, *(
                [m.device for m in given] if given else [None, None]))
        by = slopes(n, dy.values, n.x.values, n.scale.values, n.bias.values)
        dnn.judged("dx", dx, by[0], alpha, beta, 4)
        dnn.judged("dscale", outs[0], by[1], 2, -1, 4)
        dnn.judged("dbias", outs[1], by[2], 2, -1, 4)


def norm_and_activation(dnn, kind, mode, follows, layout, newer):
    """y = relu(norm(x) + z), as BatchNormalization..Ex and Normalization..
    have it."""
    sizes = (3, 2, 4, 3)
    n = Norm(dnn, kind, mode, sizes, layout)
    z = dnn.tensor(sizes, kind, layout)
    act = dnn.new("Activation")
    dnn.plain("SetActivationDescriptor", act, 1, 0, 0.0)

    def forward(x, scale, bias, z):
        y = n(x, scale, bias) + (z if follows == 2 else 0)
        return positive(y) if follows else y

    inputs = [n.x.values, n.scale.values, n.bias.values, z.values]
    expected = forward(*inputs)
    mean, variance = n.statistics()
    y = dnn.output(sizes, kind, layout)
    one, zero = scalar(kind, 1), scalar(kind, 0)
    old = "BatchNormalization"
    of_x, of_z, of_y = map(dnn.descriptor, (n.x, z, y))
    of_n = dnn.descriptor(n.scale)
    if newer:
        parameters, statistics = dnn.new("Tensor"), dnn.new("Tensor")
        dnn.plain("DeriveNormTensorDescriptor", parameters, statistics, of_x,
                  mode, 1)
        where = [mode, follows, 0]
        rooms = [sized(dnn, "GetNormalizationForwardTrainingWorkspaceSize",
                       *where, of_x, of_z, of_y, of_n, act, of_n, None, 1),
                 sized(dnn, "GetNormalizationBackwardWorkspaceSize", *where,
                       of_x, of_y, of_y, of_z, of_x, of_n, act, of_n, None, 1),
                 sized(dnn, "GetNormalizationTrainingReserveSpaceSize",
                       *where, act, of_x, None, 1)]
    else:
        where = [mode, follows]
        rooms = [sized(dnn, "Get%sForwardTrainingExWorkspaceSize" % old,
                       *where, of_x, of_z, of_y, of_n, act, None),
                 sized(dnn, "Get%sBackwardExWorkspaceSize" % old, *where,
                       of_x, of_y, of_y, of_z, of_x, of_n, act, None),
                 sized(dnn, "Get%sTrainingExReserveSpaceSize" % old, *where,
                       act, of_x, None)]
    memory = [(dnn.room(size), ctypes.c_size_t(size)) for size in rooms]
    running = [dnn.tensor(n.of, n.wide) for _ in range(2)]
    saved = [dnn.output(n.of, n.wide) for _ in range(2)]
    run, save = [m.device for m in running], [m.device for m in saved]
    if newer:
        dnn("NormalizationForwardTraining", *where, one, zero, n.x, n.scale,
            n.bias.device, 0.5, of_n, *run, EPSILON, *save, act, z, y,
            *memory[0], *memory[2], 1)
    else:
        dnn(old + "ForwardTrainingEx", *where, one, zero, n.x, z, y, n.scale,
            n.bias.device, 0.5, *run, EPSILON, *save, act, *memory[0],
            *memory[2])
    dnn.judged("y", y, expected, loose=2)
    dnn.judged("saved mean", saved[0], mean)
    dnn.judged("running mean", running[0], mean, 0.5, 0.5)
    if newer:
        y2 = dnn.output(sizes, kind, layout)
        told = [Memory(v, n.wide) for v in (mean, variance)]
        dnn("NormalizationForwardInference", *where, one, zero, n.x, n.scale,
            n.bias.device, of_n, told[0].device, told[1].device, z, act, y2,
            EPSILON, 1)
        dnn.judged("y of inference", y2, expected, loose=2)
    dy = dnn.tensor(sizes, kind, layout)
    dz, dx = (dnn.output(sizes, kind, layout) for _ in range(2))
    outs = [dnn.output(n.of, n.wide) for _ in range(2)]
    last = [n.scale, n.bias.device, outs[0].device, outs[1].device, EPSILON]
    if newer:
        last.append(of_n)
    dnn("NormalizationBackward" if newer else old + "BackwardEx", *where, one,
        zero, one, zero, n.x, y, dy, dz, dx, *last, *save, act, *memory[1],
        *memory[2], *([1] if newer else []))
    by = slopes(forward, dy.values, *inputs)
    for what, out, of in zip(("dx", "dscale", "dbias", "dz"),
                             (dx, *outs, dz), by):
        if what != "dz" or follows == 2:
            dnn.judged(what, out, of, loose=4)


def sized(dnn, name, *args):
    """A size where the None is."""
    told = ctypes.c_size_t(2**40)
    dnn(name, *[ctypes.byref(told) if arg is None else arg for arg in args])
    dnn.judge.same("a size is told", told.value < 2**40, True)
    return told.value


def dropout(dnn, kind, probability, layout):
    """Each place is kept or not, the same on the way back."""
    x, dy = (dnn.tensor((3, 5, 20, 10), kind, layout) for _ in range(2))
    x = Memory(numpy.where(x.values == 0, 1, x.values), kind, layout)
    states = dnn.size("DropoutGetStatesSize", dnn.handle)
    size = dnn.size("DropoutGetReserveSpaceSize", dnn.descriptor(x))
    memory, reserve = dnn.room(states), dnn.room(size)
    how = dnn.new("Dropout")
    dnn.plain("SetDropoutDescriptor", how, dnn.handle,
              ctypes.c_float(probability), memory, ctypes.c_size_t(states),
              ctypes.c_uint64(7))
    masks = []
    for _ in range(2):
        y, dx = (dnn.output(x.sizes, kind, layout) for _ in range(2))
        dnn("DropoutForward", how, x, y, reserve, ctypes.c_size_t(size))
        masks.append(y.get() != 0)
        scaled = masks[-1] / (1 - probability) if probability < 1 else 0
        dnn.judged("y", y, x.values * scaled)
        dnn("DropoutBackward", how, dy, dx, reserve, ctypes.c_size_t(size))
        dnn.judged("dx", dx, dy.values * scaled)
        # Within five standard deviations.
        dnn.judge.same("the rate is told", bool(
            abs(masks[-1].mean() - 1 + probability) <= 5 * numpy.sqrt(
                probability * (1 - probability) / x.values.size)), True)
    if 0 < probability < 1:
        dnn.judge.same("masks differ", bool((masks[0] != masks[1]).any()),
                       True)


def spatial_transformer(dnn, kind, scalars):
    alpha, beta = scalars
    x = dnn.tensor((2, 3, 5, 6), kind)
    theta = Memory(numpy.array([[0.8, 0.1, 0.1], [-0.2, 0.9, 0.15]]) +
                   0.3 * dnn.random.standard_normal((2, 2, 3)), kind)
    how = dnn.new("SpatialTransformer")
    height, width = 4, 3
    dnn.plain("SetSpatialTransformerNdDescriptor", how, 0, TYPES[kind], 4,
              ints([2, 3, height, width]))
    grid = dnn.output((2, height, width, 2), kind)
    dnn("SpatialTfGridGeneratorForward", how, theta.device, grid.device)
    dnn.judged("the grid", grid, grid_of(theta.values, height, width))
    told = Memory(grid_of(theta.values, height, width), kind)
    y = dnn.output((2, 3, height, width), kind, NCHW, beta)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    dnn("SpatialTfSamplerForward", how, a, x, told.device, b, y)
    dnn.judged("y", y, sample(x.values, told.values), alpha, beta, 4)
    dy = dnn.tensor(y.sizes, kind)
    dx = dnn.output(x.sizes, kind, NCHW, beta)
    dgrid = dnn.output(told.sizes, kind, NCHW, beta)
    dnn("SpatialTfSamplerBackward", how, a, x, b, dx, a, dy, told.device, b,
        dgrid.device)
    by_x, by_grid = slopes(sample, dy.values, x.values, told.values)
    dnn.judged("dx", dx, by_x, alpha, beta, 4)
    dnn.judged("dgrid", dgrid, by_grid, alpha, beta, 4)
    dtheta = dnn.output(theta.sizes, kind)
    upper = dnn.tensor(told.sizes, kind)
    dnn("SpatialTfGridGeneratorBackward", how, upper.device, dtheta.device)
    dnn.judged("dtheta", dtheta, slopes(
        lambda v: grid_of(v, height, width), upper.values, theta.values)[0],
               loose=4)


# --- tensors

OPERATIONS = [lambda a, b: a + b, lambda a, b: a * b, numpy.minimum,
              numpy.maximum, lambda a, b: numpy.sqrt(a), lambda a, b: 1 - a]
BROADCASTS = [(2, 3, 4, 5), (1, 3, 1, 1), (1, 1, 1, 1), (1, 1, 4, 5),
              (1, 3, 4, 5)]


def op_tensor(dnn, kind, op, sizes, layout, scalars):
    """C = op(alpha1 A, alpha2 B) + beta C"""
    a = dnn.tensor((2, 3, 4, 5), kind, layout)
    if op == 4:
        a = Memory(numpy.abs(a.values), kind, layout)
    b = dnn.tensor(sizes, kind, layout)
    of_a, beta = scalars
    c = dnn.output(a.sizes, kind, layout, beta)
    how = dnn.new("OpTensor")
    dnn.plain("SetOpTensorDescriptor", how, op, TYPES[WIDE[kind]], 0)
    dnn.got("GetOpTensorDescriptor", how, int32(op),
            int32(TYPES[WIDE[kind]]), int32(0))
    dnn("OpTensor", how, scalar(kind, of_a), a, scalar(kind, 0.5), b,
        scalar(kind, beta), c)
    dnn.judged("c", c, OPERATIONS[op](of_a * a.values, 0.5 * b.values), 1,
               beta)


def reduce_tensor(dnn, kind, op, sizes, layout, scalars, indices=0):
    a = dnn.tensor((2, 3, 4, 5), kind, layout)
    values = a.values
    if op == 8:
        values = numpy.where(numpy.abs(values) < 0.4, 0, values)
        a = Memory(values, kind, layout)
    alpha, beta = scalars
    c = dnn.output(sizes, kind, NCHW, beta)
    how = dnn.new("ReduceTensor")
    dnn.plain("SetReduceTensorDescriptor", how, op, TYPES[WIDE[kind]], 0,
              indices, 0)
    dnn.got("GetReduceTensorDescriptor", how, *map(int32, (
        op, TYPES[WIDE[kind]], 0, indices, 0)))
    # What each result is of, as a row.
    reduced = [d for d in range(4) if sizes[d] == 1]
    rows = values.transpose([d for d in range(4) if d not in reduced] +
                            reduced).reshape(c.values.size, -1)
    of_a, of_c = dnn.descriptor(a), dnn.descriptor(c)
    bytes_of = dnn.size("GetReductionIndicesSize", dnn.handle, how, of_a, of_c)
    places = Device(numpy.full(max(bytes_of // 4, 1), -1, numpy.int32))
    room = dnn.size("GetReductionWorkspaceSize", dnn.handle, how, of_a, of_c)
    dnn("ReduceTensor", how, places, ctypes.c_size_t(bytes_of),
        dnn.room(room), ctypes.c_size_t(room), scalar(kind, alpha), a,
        scalar(kind, beta), c)
    dnn.judged("c", c, REDUCTIONS[op](rows).reshape(sizes), alpha, beta, 4)
    if indices:
        of = numpy.abs(rows) if op == 4 else rows
        dnn.judge.same("indices", places.get(), (
            of.argmin if op == 2 else of.argmax)(1))


def plain_tensor(dnn, kind, layout, scalars):
    """Transform, add, set and scale."""
    alpha, beta = scalars
    sizes = (2, 3, 4, 5)
    a, b = scalar(kind, alpha), scalar(kind, beta)
    for to in (NCHW, NHWC, GAPS):
        x, y = dnn.tensor(sizes, kind, layout), dnn.output(sizes, kind, to,
                                                           beta)
        dnn("TransformTensor", a, x, b, y)
        dnn.judged("transformed", y, x.values, alpha, beta)
    for small in BROADCASTS:
        x, y = dnn.tensor(small, kind), dnn.output(sizes, kind, layout, beta)
        dnn("AddTensor", a, x, b, y)
        dnn.judged("added", y, x.values + numpy.zeros(sizes), alpha, beta)
    y = dnn.output(sizes, kind, layout)
    value = y.number.encode(numpy.array([1.5]))
    dnn("SetTensor", y, value)
    dnn.judged("set", y, numpy.full(sizes, 1.5))
    y = dnn.tensor(sizes, kind, layout)
    dnn("ScaleTensor", y, a)
    dnn.judged("scaled", y, y.values, alpha)


def transform_ex(dnn, kind, scalars):
    """Padding added before and after."""
    alpha, beta = scalars
    before, after = [0, 1, 2, 0], [1, 0, 0, 3]
    x = dnn.tensor((2, 3, 4, 5), kind)
    how = dnn.new("TensorTransform")
    dnn.plain("SetTensorTransformDescriptor", how, 4, 0, ints(before),
              ints(after), None, 0)
    y_desc = dnn.new("Tensor")
    size = ctypes.c_size_t()
    dnn.plain("InitTransformDest", how, dnn.descriptor(x), y_desc,
              ctypes.byref(size))
    expected = numpy.pad(x.values, list(zip(before, after)))
    y = dnn.output(expected.shape, kind, NCHW, beta)
    dnn.judge.same("bytes", size.value, y.values.size *
                   y.number.dtype.itemsize)
    dnn.plain("GetTensorNdDescriptor", y_desc, 4, int32(0), int32(0),
              told := ints([0] * 4), ints([0] * 4))
    dnn.judge.same("sizes", told, expected.shape)
    dnn("TransformTensorEx", how, scalar(kind, alpha), x, scalar(kind, beta),
        y_desc, y.device)
    dnn.judged("y", y, expected, alpha, beta)
    w = dnn.tensor((2, 3, 4, 5), kind)
    out = dnn.output(expected.shape, kind, NCHW, beta)
    dnn("TransformFilter", how, scalar(kind, alpha), filter_of(
        dnn, w.values, kind, NCHW), w.device, scalar(kind, beta), filter_of(
            dnn, expected, kind, NCHW), out.device)
    dnn.judged("filter", out, numpy.pad(w.values, list(zip(before, after))),
               alpha, beta)


SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 3e38, -3e38, 1e-30, 1]


def special_activation(dnn, kind, mode, keep):
    """NaN, infinities, what is largest and smallest."""
    number, coefficient, how = ACTIVATIONS[mode]
    with numpy.errstate(over="ignore"):
        x = Memory(numpy.array(SPECIAL).reshape(1, 1, 1, -1), kind)
    y, made = dnn.output(x.sizes, kind), dnn.new("Activation")
    dnn.plain("SetActivationDescriptor", made, number, int(keep), coefficient)
    dnn.plain("SetActivationDescriptorSwishBeta", made, coefficient)
    dnn("ActivationForward", made, scalar(kind, 1), x, scalar(kind, 0), y)
    with numpy.errstate(all="ignore"):
        expected = how(x.values, coefficient)
    if mode == "swish":
        expected[0, 0, 0, 2] = numpy.nan  # -inf * 0
    if "relu" in mode:
        expected[0, 0, 0, 0] = numpy.nan if keep else 0
    got = y.get().ravel()
    for value, one, other in zip(SPECIAL, got, expected.ravel()):
        dnn.judge.same("of %g" % value, bool(
            one == other or numpy.isnan(one) and numpy.isnan(other) or
            abs(one - other) <= y.number.unit * abs(other)), True)


def special_softmax(dnn, kind, algorithm, mode):
    """Minus infinity has no part; numbers far apart."""
    x = Memory(numpy.array([[-numpy.inf, 0, 1], [-1e4, 1e4, 0],
                            [5e4, 5e4, -5e4]]).reshape(3, 3, 1, 1), kind)
    y = dnn.output(x.sizes, kind)
    dnn("SoftmaxForward", algorithm, mode, scalar(kind, 1), x, scalar(kind, 0),
        y)
    with numpy.errstate(all="ignore"):
        expected = y.number.round(softmax(x.values, algorithm, (1,)))
    got = y.get()
    finite = numpy.isfinite(expected)
    dnn.judge.same("what is finite", numpy.isfinite(got), finite)
    dnn.judge.near("y", got[finite], expected[finite], y.number.allowed())


def special_operands(dnn, kind, op, keep):
    """The less and the larger of two, of which one is NaN."""
    a = Memory(numpy.array([numpy.nan, 1, numpy.nan, -numpy.inf, 2]).reshape(
        1, 1, 1, 5), kind)
    b = Memory(numpy.array([1, numpy.nan, numpy.nan, 3, numpy.inf]).reshape(
        1, 1, 1, 5), kind)
    c, how = dnn.output(a.sizes, kind), dnn.new("OpTensor")
    dnn.plain("SetOpTensorDescriptor", how, op, TYPES[WIDE[kind]], int(keep))
    one, zero = scalar(kind, 1), scalar(kind, 0)
    dnn("OpTensor", how, one, a, one, b, zero, c)
    pick = {2: (numpy.fmin, numpy.minimum), 3: (numpy.fmax, numpy.maximum)}
    dnn.judge.same("c", numpy.nan_to_num(c.get(), nan=77), numpy.nan_to_num(
        pick[op][keep](a.values, b.values), nan=77))


def special_extremes(dnn, kind, op, keep):
    """Least and largest of numbers with NaN among them."""
    a = Memory(numpy.array([[numpy.nan, 1, -2], [1, numpy.nan, 3],
                            [numpy.inf, 0, -numpy.inf]]).reshape(3, 3, 1, 1),
               kind)
    c, how = dnn.output((3, 1, 1, 1), kind), dnn.new("ReduceTensor")
    dnn.plain("SetReduceTensorDescriptor", how, op, TYPES[WIDE[kind]],
              int(keep), 0, 0)
    room = dnn.room(4096)
    dnn("ReduceTensor", how, None, ctypes.c_size_t(0), room,
        ctypes.c_size_t(4096), scalar(kind, 1), a, scalar(kind, 0), c)
    values = abs(a.values) if op == 4 else a.values
    pick = {2: (numpy.min, numpy.nanmin)}.get(op, (numpy.max, numpy.nanmax))
    expected = pick[not keep](values, 1).ravel()
    got = c.get().ravel()
    dnn.judge.same("c", numpy.nan_to_num(got, nan=77),
                   numpy.nan_to_num(expected, nan=77))


def vectors(dnn):
    """Four channels, or 32, next to each other."""
    for code, of in ((5, 4), (8, 32)):
        sizes = (2, 2 * of, 3, 2)
        x, y = dnn.tensor(sizes, "I8"), dnn.output(sizes, "I8")
        turned = dnn.new("Tensor")
        dnn.plain("SetTensor4dDescriptor", turned, 2, code, *sizes)
        dnn("TransformTensor", scalar("S", 1), x, scalar("S", 0), turned,
            y.device)
        expected = x.values.reshape(2, 2, of, 3, 2).transpose(0, 1, 3, 4, 2)
        dnn.judge.same("y", y.get().ravel(), expected.ravel())
        back = dnn.output(sizes, "I8")
        dnn("TransformTensor", scalar("S", 1), turned, y.device,
            scalar("S", 0), back)
        dnn.judge.same("and back", back.get(), x.values)


# Channels, groups, whether the filter is turned; strides, dilations, padding.
PLAIN = (3, 1, False, (1, 1, 1), (1, 1, 1), (1, 0, 1))
SIZES = [PLAIN, (4, 2, False, (2, 1, 1), (1, 1, 1), (0, 1, 0)),
         (4, 4, True, (1, 2, 1), (1, 2, 2), (2, 1, 1)),
         (2, 1, True, (3, 2, 2), (2, 1, 1), (2, 2, 0)),
         (96, 4, False, (1, 1, 1), (1, 1, 1), (1, 1, 0))]
LAYOUTS = {"layout": [NCHW, NHWC, GAPS]}
BLENDS = {"scalars": SCALARS}
# A window, its padding, its strides.
SHAPES = [((2, 2, 2), (0, 0, 0), (2, 2, 2)), ((3, 2, 2), (1, 0, 1), (1, 2, 1)),
          ((3, 3, 3), (1, 1, 1), (2, 2, 2)), ((2, 3, 1), (1, 2, 0), (3, 1, 2))]
FAMILIES = [
    (convolution, {"kind": FLOATS, "dims": [2, 3], "sizes": SIZES}),
    (convolution, {"kind": FLOATS, **LAYOUTS, **BLENDS}),
    (convolution, {"kind": ["I8"], "layout": [NHWC], "sizes": SIZES[:2],
                   "result": ["S", "I8"]}),
    (convolution_and_activation, {"kind": FLOATS, "activation": [
        "identity", "relu"], "scalars": [(1, 0), (1.5, -0.5)], **LAYOUTS}),
    (columns, {"kind": FLOATS, "sizes": [PLAIN, SIZES[3]]}),
    (pooling, {"kind": FLOATS, "mode": range(4), "dims": [2, 3],
               "shape": SHAPES}),
    (pooling, {"kind": FLOATS, "mode": range(4), "dims": [2],
               "shape": SHAPES[2:3], **LAYOUTS, **BLENDS}),
    (pooling_nan, {"kind": FLOATS, "keep": [False, True]}),
    (activation, {"kind": FLOATS, "mode": ACTIVATIONS, **LAYOUTS, **BLENDS}),
    (softmax_layer, {"kind": FLOATS, "algorithm": range(3), "mode": [0, 1],
                     **LAYOUTS, **BLENDS}),
    (response, {"kind": FLOATS, "n": [1, 2, 3, 5, 6], **LAYOUTS,
                "scalars": SCALARS[1:]}),
    (batch_norm, {"kind": FLOATS, "mode": range(3), **LAYOUTS, **BLENDS}),
    (batch_norm, {"kind": ["S", "D"], "mode": [0, 1], "layout": [NCHW],
                  "scalars": [(1, 0)], "sizes": [(3, 2, 2, 2, 3)],
                  "factor": [1, 0.1]}),
    (norm_and_activation, {"kind": FLOATS, "mode": [0, 1],
                           "follows": range(3), **LAYOUTS,
                           "newer": [False, True]}),
    (dropout, {"kind": FLOATS, "probability": [0, 0.25, 0.75, 1], **LAYOUTS}),
    (spatial_transformer, {"kind": ["S", "D", "F16"], **BLENDS}),
    (op_tensor, {"kind": FLOATS, "op": range(6), "sizes": BROADCASTS,
                 **LAYOUTS, **BLENDS}),
    (reduce_tensor, {"kind": FLOATS, "op": range(9), "sizes": BROADCASTS[1:],
                     **LAYOUTS, **BLENDS}),
    (reduce_tensor, {"kind": ["S", "D"], "op": [2, 3, 4],
                     "sizes": BROADCASTS[1:], **LAYOUTS, "scalars": [(1, 0)],
                     "indices": [1]}),
    (plain_tensor, {"kind": FLOATS, **LAYOUTS, **BLENDS}),
    (transform_ex, {"kind": FLOATS, **BLENDS}),
    (special_activation, {"kind": FLOATS, "mode": ACTIVATIONS,
                          "keep": [False, True]}),
    (special_softmax, {"kind": FLOATS, "algorithm": [1, 2], "mode": [0, 1]}),
    (special_operands, {"kind": FLOATS, "op": [2, 3],
                        "keep": [False, True]}),
    (special_extremes, {"kind": FLOATS, "op": [2, 3, 4],
                        "keep": [False, True]}),
    (vectors, {}),
]
