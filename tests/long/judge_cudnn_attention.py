"""Attention in cuDNN's graphs: as chains of operations, as XLA and others build
them, and as one."""
import numpy

from judge_cudnn_frame import FLOATS, TYPES, WIDE, Memory, slopes
from judge_cudnn_graph import BOOLEAN, LAYOUTS, VIRTUAL, Graph


def attend(q, k, v, scale, mask, bias=0, kept=1):
    scores = scale * q @ k.swapaxes(-1, -2)
    if mask is not None:
        scores = numpy.where(mask, scores, -1e9)
    scores = scores + bias
    largest = scores.real.max(-1, keepdims=True)
    e = numpy.exp(scores - largest)
    total = e.sum(-1, keepdims=True)
    return e / total * kept @ v, numpy.log(total) + largest


def attention_sizes(dnn, kind, layout):
    """Queries, keys and values; with a layout of heads last."""
    def one(rows, size):
        m = dnn.tensor((2, 3, rows, size), kind)
        if layout == "bshd":
            m = Memory(m.values, kind, [rows * 3 * size, size, 3 * size, 1])
        return m
    return one(6, 8), one(5, 8), one(5, 4)


def transposed_view(g, m):
    """K with its last dimensions exchanged, of the same memory."""
    turned = Memory.__new__(Memory)
    turned.kind = m.kind
    turned.sizes = tuple(m.sizes[:2]) + (m.sizes[3], m.sizes[2])
    turned.strides = [*m.strides[:2], m.strides[3], m.strides[2]]
    return g.of(turned, m.device.pointer.value)


def attention_chain(dnn, kind, layout, causal, biased=False, drops=False):
    """Of products, a mask of indices, and softmax of its parts; with a bias,
    and with weights that are drawn to be left out."""
    q, k, v = attention_sizes(dnn, kind, layout)
    mask = numpy.tri(6, 5, dtype=bool) if causal else None
    scale, wide_kind = 0.375, WIDE[kind]
    bias, drawn = dnn.tensor((1, 3, 6, 5), kind), dnn.output(
        (2, 3, 6, 5), wide_kind)
    expected, stats = attend(q.values, k.values, v.values, scale, mask,
                             bias.values if biased else 0)
    o, of_stats = dnn.output(expected.shape, kind), dnn.output(
        stats.shape, wide_kind)
    wide = (2, 3, 6, 5)
    g = Graph(dnn)

    def between(sizes=wide, **more):
        return g.virtual(sizes, **{"kind": wide_kind, **more})

    def product(a, b, c):
        g.operation("MATMUL", ADESC=a, BDESC=b, CDESC=c,
                    DESC=g.new("MATMUL", COMP_TYPE=TYPES[wide_kind]))

    def reduced(x, op):
        y = between(wide[:3] + (1,))
        g.operation("REDUCTION", XDESC=x, YDESC=y, DESC=g.new(
            "REDUCTION", OPERATOR=op, COMP_TYPE=TYPES[wide_kind]))
        return y

    def step(mode, x, b=None, sizes=wide, **more):
        y = between(sizes)
        g.pointwise(mode, x, y, b, kind=kind, **more)
        return y

    scores = between()
    product(g.tensor(q), transposed_view(g, k), scores)
    scores = step(1, scores, g.number(scale, wide_kind))
    if causal:
        rows, columns = (step(501, scores, AXIS=axis) for axis in (2, 3))
        keeps = between(type=BOOLEAN)
        g.pointwise(303, rows, keeps, columns)
        scores = step(601, scores, g.number(-1e9, wide_kind), t=keeps)
    if biased:
        scores = step(0, scores, g.tensor(bias))
    largest = reduced(scores, 3)
    e = step(13, step(9, scores, largest))
    total = reduced(e, 0)
    g.pointwise(0, step(15, total, sizes=wide[:3] + (1,)), g.tensor(of_stats),
                largest)
    weights = between(kind=kind)
    g.pointwise(6, e, weights, total, kind=kind)
    if drops:
        kept = g.tensor(drawn)
        g.operation("RNG", YDESC=kept, SEED=11, DESC=g.new(
            "RNG", DISTRIBUTION=0, BERNOULLI_DIST_PROBABILITY=0.75))
        weights = step(1, weights, kept)
    product(weights, g.tensor(v), g.tensor(o))
    g.run()
    if drops:
        dnn.judge.same("what is drawn", sorted(set(drawn.get().ravel())),
                       [0, 1])
        expected = attend(q.values, k.values, v.values, scale, mask,
                          bias.values if biased else 0, drawn.get())[0]
    dnn.judged("o", o, expected, loose=4)
    dnn.judged("stats", of_stats, stats, loose=4)


def attention_back(dnn, kind):
    """The slopes of attention as a chain of products."""
    q, k, v = attention_sizes(dnn, kind, "bhsd")
    scale, wide = 0.375, WIDE[kind]
    expected, stats = attend(q.values, k.values, v.values, scale, None)
    o, do = Memory(expected, kind), dnn.tensor(expected.shape, kind)
    of_stats = Memory(stats, wide)
    outs = [dnn.output(m.sizes, kind) for m in (q, k, v)]
    g = Graph(dnn)
    of_q, of_k, of_do = map(g.tensor, (q, k, do))

    def step(mode, x, b=None, sizes=(2, 3, 6, 5), **more):
        y = g.virtual(sizes, wide)
        g.pointwise(mode, x, y, b, kind=kind, **more)
        return y

    def product(a, b, c):
        g.operation("MATMUL", ADESC=a, BDESC=b, CDESC=c,
                    DESC=g.new("MATMUL", COMP_TYPE=TYPES[wide]))
        return c

    def turned(x):
        """Of a matrix between operations: the same memory."""
        y = g.of(Memory(numpy.zeros((2, 3, 5, 6)), wide, [90, 30, 1, 5]),
                 VIRTUAL)
        g.operation("RESHAPE", XDESC=x, YDESC=y)
        return y

    scores = product(of_q, transposed_view(g, k), g.virtual((2, 3, 6, 5),
                                                            wide))
    weights = step(13, step(9, step(1, scores, g.number(scale, wide)),
                            g.tensor(of_stats)))
    product(turned(weights), of_do, g.tensor(outs[2]))
    by_weights = product(of_do, transposed_view(g, v), g.virtual(
        (2, 3, 6, 5), wide))
    both = step(1, of_do, g.tensor(o), expected.shape)
    along = g.virtual((2, 3, 6, 1), wide)
    g.operation("REDUCTION", XDESC=both, YDESC=along, DESC=g.new(
        "REDUCTION", OPERATOR=0, COMP_TYPE=TYPES[wide]))
    slope = step(1, step(1, step(9, by_weights, along), weights),
                 g.number(scale, wide))
    product(slope, of_k, g.tensor(outs[0]))
    product(turned(slope), of_q, g.tensor(outs[1]))
    g.run()
    for name, out, by in zip("qkv", outs, slopes(
            lambda *args: attend(*args, scale, None)[0], do.values, q.values,
            k.values, v.values)):
        dnn.judged("d" + name, out, by, loose=16)


def paged(dnn, kind):
    """Keys and values from the pages of a cache."""
    pages = dnn.tensor((7, 3, 4, 5), kind)
    table = numpy.array([[6, 0, 3], [2, 5, 1]])
    lengths = [9, 12]
    y = dnn.output((2, 3, 12, 5), kind)
    g = Graph(dnn)
    g.operation("PAGED_CACHE_LOAD", CONTAINER_DESC=g.tensor(pages),
                YDESC=g.tensor(y), SEQUENCE_DESC=g.tensor(Memory(
                    numpy.array(lengths).reshape(2, 1, 1, 1), "I32")),
                PAGE_TABLE_DESC=g.tensor(Memory(table.reshape(2, 1, 3, 1),
                                                "I32")))
    g.run()
    got = y.get()
    for b, length in enumerate(lengths):
        whole = numpy.concatenate([pages.values[p] for p in table[b]], 1)
        dnn.judge.same("y", got[b, :, :length], whole[:, :length])


def attention_node(dnn, kind, layout):
    """One operation, and the way back."""
    q, k, v = attention_sizes(dnn, kind, layout)
    scale = 0.375

    def forward(q, k, v):
        return attend(q, k, v, scale, None)[0]

    expected, stats = attend(q.values, k.values, v.values, scale, None)
    o, of_stats = dnn.output(expected.shape, kind), dnn.output(
        stats.shape, WIDE[kind])
    g = Graph(dnn)
    g.operation("SDPA_FWD", QDESC=g.tensor(q), KDESC=g.tensor(k),
                VDESC=g.tensor(v), ODESC=g.tensor(o),
                STATSDESC=g.tensor(of_stats), SCALEDESC=g.number(scale))
    g.run()
    dnn.judged("o", o, expected, loose=4)
    dnn.judged("stats", of_stats, stats, loose=4)
    do = dnn.tensor(expected.shape, kind)
    o, of_stats = Memory(expected, kind), Memory(stats, WIDE[kind])
    outs = [dnn.output(m.sizes, kind, m.strides) for m in (q, k, v)]
    g = Graph(dnn)
    g.operation("SDPA_BWD", QDESC=g.tensor(q), KDESC=g.tensor(k),
                VDESC=g.tensor(v), ODESC=g.tensor(o), DODDESC=g.tensor(do),
                STATSDESC=g.tensor(of_stats), SCALEDESC=g.number(scale),
                **{"D%sDESC" % n: g.tensor(m) for n, m in zip("QKV", outs)})
    g.run()
    for name, out, by in zip("qkv", outs, slopes(
            forward, do.values, q.values, k.values, v.values)):
        dnn.judged("d" + name, out, by, loose=8)


def softmax(dnn, kind, layout):
    x = dnn.tensor((2, 3, 4, 5), kind, layout, 3.0)
    y = dnn.output(x.sizes, kind, layout)
    stats, most, total = (dnn.output((2, 3, 4, 1), WIDE[kind])
                          for _ in range(3))
    g = Graph(dnn)
    g.operation("SOFTMAX", XDESC=g.tensor(x), YDESC=g.tensor(y),
                STATS_DESC=g.tensor(stats), MAX_DESC=g.tensor(most),
                SUM_EXP_DESC=g.tensor(total))
    g.run()
    largest = x.values.max(-1, keepdims=True)
    e = numpy.exp(x.values - largest)
    dnn.judged("y", y, e / e.sum(-1, keepdims=True))
    dnn.judged("the largest", most, largest)
    dnn.judged("the sum", total, e.sum(-1, keepdims=True))
    dnn.judged("stats", stats, numpy.log(e.sum(-1, keepdims=True)) + largest)


FAMILIES = [
    (attention_chain, {"kind": FLOATS, "layout": ["bhsd", "bshd"],
                       "causal": [False, True], "biased": [False, True],
                       "drops": [False, True]}),
    (attention_back, {"kind": FLOATS}),
    (paged, {"kind": FLOATS}),
    (attention_node, {"kind": FLOATS, "layout": ["bhsd", "bshd"]}),
    (softmax, {"kind": FLOATS, **LAYOUTS}),
]
