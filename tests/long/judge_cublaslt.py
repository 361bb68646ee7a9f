"""cuBLASLt against numpy; run by numpy_judges.py. KINDS has the types of
products, EPILOGUES what may follow them; cases draw the rest at random: turns,
orders of elements, batches, scales, where alpha and beta are."""
import ctypes

import numpy

from judge import Device, Library, pointers
from judge_blas import Draws
from judge_numbers import NUMBERS

INVALID_VALUE, NOT_SUPPORTED = 7, 15

# Attributes of cublasLtMatmulDesc_t and cublasLtMatrixLayout_t.
DESC = {"compute": (0, "i4"), "scale": (1, "i4"), "pointers": (2, "i4"),
        "opa": (3, "i4"), "opb": (4, "i4"), "opc": (5, "i4"),
        "fill": (6, "i4"), "epilogue": (7, "u4"), "bias": (8, "u8"),
        "bias_stride": (10, "i8"), "aux": (11, "u8"), "aux_ld": (12, "i8"),
        "aux_stride": (13, "i8"), "alpha_stride": (14, "i8"),
        "scale_a": (17, "u8"), "scale_b": (18, "u8"), "scale_c": (19, "u8"),
        "scale_d": (20, "u8"), "amax_d": (21, "u8"), "aux_type": (22, "i4"),
        "scale_aux": (23, "u8"), "amax_aux": (24, "u8"), "fast": (25, "i1"),
        "bias_type": (26, "i4"), "mode_a": (31, "i4"), "mode_b": (32, "i4"),
        "scales_out": (36, "u8"), "mode_out": (37, "i4")}
LAYOUT = {"type": (0, "i4"), "order": (1, "i4"), "rows": (2, "u8"),
          "columns": (3, "u8"), "ld": (4, "i8"), "batches": (5, "i4"),
          "stride": (6, "i8"), "plane": (7, "i8"), "mode": (8, "u4")}
TRANSFORM = {"scale": (0, "i4"), "pointers": (1, "i4"), "opa": (2, "i4"),
             "opb": (3, "i4")}
PREFERENCE = {"search": (0, "u4"), "bytes": (1, "u8"), "reductions": (3, "u4"),
              "alignment_a": (5, "u4"), "waves": (9, "f4"),
              "implementations": (12, "u8")}
EMULATION = {"strategy": (0, "i4"), "special": (1, "i4"), "control": (2, "i4"),
             "most": (3, "i4"), "more": (4, "i4"), "bits": (5, "u8")}

# Where scalars are: cublasLtPointerMode_t.
HOST, IN_DEVICE, VECTORS, VECTOR_AND_ZERO, VECTOR_AND_HOST = range(5)

RELU, BIAS, DRELU, BGRAD, GELU, DGELU, AUX, BGRADA, BGRADB = (
    2, 4, 8, 16, 32, 64, 128, 256, 512)
EPILOGUES = (1, RELU, RELU | AUX, BIAS, RELU | BIAS, RELU | AUX | BIAS,
             DRELU | AUX, DRELU | AUX | BGRAD, GELU, GELU | AUX, GELU | BIAS,
             GELU | AUX | BIAS, DGELU | AUX, DGELU | AUX | BGRAD, BGRADA,
             BGRADB)

# (compute, scale, A, B, C, D) by the tables of cublasLtMatmul's documentation.
KINDS = [(64, "F16", "F16", "F16", "F16", "F16"),
         (72, "I32", "I8", "I8", "I32", "I32"),
         (72, "S", "I8", "I8", "I8", "I8"),
         (68, "S", "BF16", "BF16", "BF16", "BF16"),
         (68, "S", "F16", "F16", "F16", "F16"),
         (68, "S", "I8", "I8", "S", "S"), (68, "S", "BF16", "BF16", "S", "S"),
         (68, "S", "F16", "F16", "S", "S"), (68, "S", "S", "S", "S", "S"),
         (77, "S", "S", "S", "S", "S"), (74, "S", "S", "S", "S", "S"),
         (70, "D", "D", "D", "D", "D"), (68, "C", "C", "C", "C", "C"),
         (68, "C", "CF16", "CF16", "CF16", "CF16"),
         (68, "C", "CBF16", "CBF16", "CBF16", "CBF16"),
         (70, "Z", "Z", "Z", "Z", "Z")]
FLOATS8 = [(68, "S", a, b, c, d)
           for a, b in (("E4M3", "E4M3"), ("E4M3", "E5M2"), ("E5M2", "E4M3"))
           for c, d in (("BF16", "BF16"), ("BF16", "E4M3"), ("F16", "E4M3"),
                        ("F16", "F16"), ("S", "S"))]
VALUES = {"m": (7, 1, 33, 96), "n": (5, 1, 40), "k": (6, 1, 64), "opa": (0, 1, 2),
          "opb": (1, 0, 2), "order": (0, 0, 1), "pad": (0, 3),
          "batches": (1, 1, 3), "mode": (0, 0, 1), "alpha": (2, 1, 0),
          "beta": (0, 2, 1), "in_place": (False, True), "fill": (2, 2, 2, 0, 1),
          "pointers": (0, 1, 2, 3, 4), "algorithm": (False, True),
          "workspace": (0, 1 << 16), "explicit": (False, True),
          "scaled": (False, True), "repeated": (False, True)}


def op(a, how):
    return a.T if how == 1 else a.conj().T if how == 2 else a


def gelu(x):
    return x / 2 * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (
        x + 0.044715 * x ** 3)))


def gelu_slope(x):
    root = numpy.sqrt(2 / numpy.pi)
    t = numpy.tanh(root * (x + 0.044715 * x ** 3))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (
        1 + 3 * 0.044715 * x ** 2)


def place(order, i, j, ld):
    """cublasLtOrder_t, of the header's words."""
    if order == 0:
        return i + j * ld
    if order == 1:
        return i * ld + j
    group, j = j // 32 * ld, j % 32
    if order == 2:
        return group + i * 32 + j
    if order == 3:
        inner = (i & 1) * 4 + j // 8
        return group + (i // 8 * 8 + inner) * 32 + (
            (j % 8 >= 4) * 4 + i % 8 // 2) * 4 + j % 4
    row = i % 32
    return group + i // 32 * 1024 + (
        ((row % 8) // 2 * 4 + row // 8) * 2 + row % 2) * 32 + j


def least_ld(order, rows, columns):
    return max(1, (rows, columns, 32 * rows, 32 * (-(-rows // 8) * 8),
                   32 * (-(-rows // 32) * 32))[order])


class Matrix:
    """Matrices of a batch, in memory of their own, and their layout."""

    def __init__(self, lt, number, values, order=0, pad=0, mode=0,
                 repeated=False, nothing=False):
        self.number, self.values = number, values
        rows, columns = values[0].shape
        i, j = numpy.indices((rows, columns))
        ld = least_ld(order, rows, columns) + (pad if order < 2 else 32 * pad)
        self.at = place(order, i, j, ld)
        # Of tiles all is there, also what the matrix has not.
        size = (ld * -(-columns // 32) if order > 1 else
                max(int(self.at.max(initial=0)) + 1, 1)) + pad
        if repeated:
            self.values = values = [values[0]] * len(values)
        count = 1 if repeated else len(values)
        self.stride = 0 if repeated else size
        self.memory = numpy.full(count * size, number.nothing, number.dtype)
        for b in range(0 if nothing else count):
            self.memory[b * size + self.at] = number.encode(values[b])
        self.mode, self.size = mode, size
        if mode:
            self.devices = [Device(self.memory[b * self.stride:][:size])
                            for b in range(len(values))]
            self.device = pointers(self.devices)
        else:
            self.device = Device(self.memory)
        self.layout = lt.make("MatrixLayout", LAYOUT, (
            number.code, ctypes.c_uint64(rows), ctypes.c_uint64(columns),
            ctypes.c_int64(ld)), order=order, batches=len(values),
            stride=self.stride, mode=mode)

    def compare(self, judge, what, expected, mask=True):
        memory = numpy.concatenate([d.get() for d in self.devices]) \
            if self.mode else self.device.get()
        before = self.memory
        others = numpy.ones(memory.shape, bool)
        at = self.at[numpy.broadcast_to(mask, self.at.shape)]
        for b, e in enumerate(expected):
            e = e[numpy.broadcast_to(mask, self.at.shape)]
            others[b * self.size + at] = False
            if self.number.integer or self.number.unit > 0.1:
                e = self.number.round(e)
            judge.near(what, self.number.decode(memory[b * self.size + at]), e,
                       self.number.allowed())
        judge.same(what + " elsewhere", memory[others].tobytes(),
                   before[others].tobytes())


class Lt:
    """The library, and its descriptors."""

    def __init__(self, judge):
        self.call = Library("libcublasLt.so.13")
        self.judge = judge
        self.handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def make(self, what, attributes, args, **values):
        """A descriptor, whose attributes are set and told again."""
        made = ctypes.c_void_p()
        self.call("cublasLt%sCreate" % what, ctypes.byref(made), *args)
        self.set(what, attributes, made, **values)
        return made

    def set(self, what, attributes, made, **values):
        for name, value in values.items():
            number, dtype = attributes[name]
            if isinstance(value, Device):
                value = value.pointer.value
            value = numpy.array([value], dtype)
            size = ctypes.c_size_t(value.nbytes)
            self.call("cublasLt%sSetAttribute" % what, made, number, value,
                      size)
            told, written = numpy.zeros(1, dtype), ctypes.c_size_t()
            self.call("cublasLt%sGetAttribute" % what, made, number, told, size,
                      ctypes.byref(written))
            self.judge.same("%s's %s" % (what, name), (
                told[0], written.value), (value[0], value.nbytes))

    def matmul(self, desc, alpha, a, b, beta, c, d, algorithm=False, bytes_=0):
        told = ctypes.c_void_p()
        workspace = Device(numpy.zeros(max(bytes_, 1), "u1"))
        if algorithm:
            preference = self.make("MatmulPreference", PREFERENCE, (),
                                   bytes=bytes_)
            result = numpy.zeros(96, "u1")
            found = ctypes.c_int()
            self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, desc,
                      a.layout, b.layout, c.layout, d.layout, preference, 1,
                      result, ctypes.byref(found))
            self.judge.same("algorithms found", found.value, 1)
            self.call("cublasLtMatmulPreferenceDestroy", preference)
            told = result[:64].copy()
            self.call("cublasLtMatmulAlgoCheck", self.handle, desc, a.layout,
                      b.layout, c.layout, d.layout, told, result)
            self.judge.same("workspace is enough", int(
                result[64:72].view("u8")[0]) <= bytes_, True)
        return self.call.status(
            "cublasLtMatmul", self.handle, desc, alpha, a.device, a.layout,
            b.device, b.layout, beta, c.device, c.layout, d.device, d.layout,
            told, workspace, ctypes.c_size_t(bytes_), ctypes.c_void_p())


def bias_type(kind):
    """Of a bias whose type is not told (cublasLt.h and the tables)."""
    _, scale, a, _, c, d = kind
    if d == "I8":
        return scale
    if a in ("E4M3", "E5M2") and d not in ("F16", "BF16"):
        return "F16" if c == "F16" else "BF16"
    return d


class Product:
    """One product, drawn."""

    def __init__(self, lt, judge, draws, kind, epilogue):
        self.lt, self.judge, self.draws, self.kind = lt, judge, draws, kind
        self.random, self.epilogue = draws.random, epilogue
        compute, scale, *types = kind
        self.scale = NUMBERS[scale]
        na, nb, nc, nd = (NUMBERS[t] for t in types)
        d = {name: draws(name) for name in VALUES}
        self.is8 = types[0] in ("E4M3", "E5M2")
        if self.is8:
            d.update(opa=1, opb=0, order=0, fill=2, mode=0)
        if epilogue != 1:
            d.update(fill=2, mode=0)
        # No tensor core knows vectors of these.
        if self.scale.complex or self.scale.integer:
            d["pointers"] %= 2
        self.drawn = d
        m, n, k, count = d["m"], d["n"], d["k"], d["batches"]
        orders = [0 if self.is8 else draws("order", VALUES["order"])
                  for _ in range(3)]
        # One for each row; of each matrix of a batch if there is a stride.
        self.alphas = [self.scalars(d["alpha"], m, d["pointers"] >= VECTORS)
                       for _ in range(count)]
        strided = d["pointers"] == VECTOR_AND_HOST
        if not strided:
            self.alphas = self.alphas[:1] * count
        self.beta = self.scalars(d["beta"], m, d["pointers"] == VECTORS)
        if d["pointers"] == VECTOR_AND_ZERO:
            self.beta = numpy.zeros(m)
        self.a = Matrix(lt, na, self.values(na, (k, m) if d["opa"] else (m, k)),
                        orders[0], draws("pad a", VALUES["pad"]), d["mode"],
                        d["repeated"] and not d["mode"])
        self.b = Matrix(lt, nb, self.values(nb, (n, k) if d["opb"] else (k, n)),
                        orders[1], draws("pad b", VALUES["pad"]), d["mode"])
        nothing = not self.beta.any()
        self.c = Matrix(lt, nc, self.values(nc, (m, n)), orders[2],
                        draws("pad c", VALUES["pad"]), d["mode"],
                        nothing=nothing)
        self.d = self.c
        if nc is not nd or not d["in_place"]:
            self.d = Matrix(lt, nd, self.values(nd, (m, n)), orders[2],
                            draws("pad d", VALUES["pad"]), d["mode"],
                            nothing=True)
        self.attributes = dict(opa=d["opa"], opb=d["opb"],
                               pointers=d["pointers"], fill=d["fill"],
                               epilogue=epilogue,
                               alpha_stride=m if strided else 0)
        self.compute, self.count = compute, count
        self.alive = []

    def values(self, number, shape):
        return [number.random(self.random, *shape)
                for _ in range(self.drawn["batches"])]

    def scalars(self, how, m, by_row):
        """One for each row, the same if it is one."""
        if self.scale.integer:
            how = how % 2
        if how != 2:
            return self.scale.round(numpy.full(m, float(how)))
        if self.kind[5] == "I8":
            return numpy.full(m, 0.125)
        return numpy.broadcast_to(self.scale.random(
            self.random, m if by_row else 1), m)

    def argument(self, values, in_device):
        vector = self.drawn["pointers"] >= VECTORS and in_device
        memory = self.scale.encode(values[:None if vector else 1])
        self.alive.append(Device(memory) if in_device else memory)
        return self.alive[-1]

    def device(self, number, values):
        self.alive.append(Device(number.encode(values)))
        return self.alive[-1]

    def factor(self, name, least=0.5):
        """A scale of a matrix: of 8-bit floats only."""
        value = 1.0
        if self.is8 and self.drawn["scaled"]:
            value = float(NUMBERS["S"].round(least + self.random.random()))
            self.attributes["scale_" + name] = self.device(NUMBERS["S"], [value])
        return value

    def run(self):
        d, e, m, n = self.drawn, self.epilogue, self.drawn["m"], self.drawn["n"]
        nd = self.d.number
        a = [op(x, d["opa"]) for x in self.a.values]
        b = [op(x, d["opb"]) for x in self.b.values]
        scale = self.factor("a") * self.factor("b")
        of_c = self.factor("c") if self.kind[4] in ("E4M3", "E5M2") else 1
        of_d = self.factor("d") if self.kind[5] in ("E4M3", "E5M2") else 1
        made = [scale * alpha[:, None] * (x @ y)
                for alpha, x, y in zip(self.alphas, a, b)]
        if self.beta.any():
            made = [x + of_c * self.beta[:, None] * c
                    for x, c in zip(made, self.c.values)]
        told = NUMBERS[bias_type(self.kind)]
        if d["explicit"] and e & (BIAS | BGRAD | BGRADA | BGRADB) \
                and not told.integer:
            self.attributes["bias_type"] = told.code
        amax = None
        if self.is8 and nd.unit > 0.1:
            amax = self.attributes["amax_d"] = self.device(NUMBERS["S"], [0])
        checks = []
        if e & BIAS:
            bias = told.random(self.random, self.count, m)
            self.attributes.update(bias=self.device(told, bias), bias_stride=m)
        if e & (BGRAD | BGRADA | BGRADB):
            length = n if e & BGRADB else m
            gradient = self.device(told, numpy.zeros((self.count, length)))
            self.attributes.update(bias=gradient, bias_stride=length)
        if e & AUX:
            unit = 128 if e & (RELU | DRELU) else 8
            ld = -(-m // unit) * unit
            aux = self.random.standard_normal((self.count, n, ld))
            number = NUMBERS["BF16" if nd.unit > 0.1 else self.kind[5]]
            if nd.unit > 0.1:
                self.attributes["aux_type"] = number.code
            if e & (RELU | DRELU):
                memory = numpy.packbits(aux > 0, axis=-1, bitorder="little")
                self.alive.append(Device(memory))
            else:
                aux = number.round(aux)
                self.device(number, aux)
            auxiliary = self.alive[-1]
            self.attributes.update(aux=auxiliary, aux_ld=ld, aux_stride=ld * n)
        for i, x in enumerate(made):
            if e & DRELU:
                x = numpy.where(aux[i, :, :m].T > 0, x, 0)
            if e & DGELU:
                x = x * gelu_slope(aux[i, :, :m].T)
            if e & BIAS:
                x = x + bias[i][:, None]
            if e & AUX and not e & (DRELU | DGELU):
                checks.append((i, x))
            if e & RELU:
                x = numpy.maximum(x, 0)
            if e & GELU:
                x = gelu(x)
            made[i] = x
        alpha = self.argument(numpy.concatenate(self.alphas),
                              d["pointers"] != HOST)
        beta = self.argument(self.beta, d["pointers"] in (IN_DEVICE, VECTORS))
        desc = self.lt.make("MatmulDesc", DESC, (self.compute, self.scale.code),
                            **self.attributes)
        status = self.lt.matmul(desc, alpha, self.a, self.b, beta, self.c,
                                self.d, d["algorithm"], d["workspace"])
        self.judge.same("the answer", status, 0)
        mask = True
        if d["fill"] != 2:
            i, j = numpy.indices((m, n))
            mask = i <= j if d["fill"] else i >= j
        self.d.compare(self.judge, "D", [x * of_d for x in made], mask)
        if amax is not None:
            self.judge.near("largest of D", amax.get()[0],
                            max(numpy.abs(x).max() for x in made), 1 << 10)
        for i, x in checks:
            if e & RELU:
                bits = numpy.unpackbits(auxiliary.get(), axis=-1,
                                        bitorder="little")[i, :, :m].T
                sure = numpy.abs(x) > 1e-2
                self.judge.same("bits", bits[sure], (x > 0)[sure])
            else:
                got = number.decode(auxiliary.get())[i, :, :m].T
                self.judge.near("what GELU had", got, x, number.allowed())
        if e & (BGRAD | BGRADA | BGRADB):
            sums = [(y if e & BGRADB else x if e & BGRADA else z).sum(
                0 if e & BGRADB else 1) for x, y, z in zip(a, b, made)]
            got = told.decode(gradient.get())
            self.judge.near("gradient", got, numpy.array(sums),
                            told.allowed() * 2)
        self.lt.call("cublasLtMatmulDescDestroy", desc)


def product(lt, judge, draws, kind, epilogue):
    one = Product(lt, judge, draws, kind, epilogue)
    try:
        one.run()
    except AssertionError as error:
        raise AssertionError("%s; %s" % (error, one.drawn)) from error


FLOATS4 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FLOATS4 = numpy.concatenate([FLOATS4, -FLOATS4])
E2M1 = 33


class Matrix4:
    """One by columns, of floats of 4 bits: the first of two has the low ones."""

    def __init__(self, lt, random, rows, columns):
        bits = random.integers(0, 16, (columns, rows)).astype("u1")
        self.values = [FLOATS4[bits].T]
        self.device = Device(bits[:, ::2] | bits[:, 1::2] << 4)
        self.layout = lt.make("MatrixLayout", LAYOUT, (
            E2M1, ctypes.c_uint64(rows), ctypes.c_uint64(columns),
            ctypes.c_int64(rows)))


def tiles(outer, blocks):
    """Where scales of blocks lie, in tiles of 128 by 4, and how many there
    are."""
    across = -(-blocks // 4)
    o, i = numpy.indices((outer, blocks))
    return (o // 128 * across + i // 4) * 512 + o % 32 * 16 + \
        o % 128 // 32 * 4 + i % 4, -(-outer // 128) * across * 512


def scales_of(random, mode, k, outer):
    """(as they lie in memory, for each element)."""
    single = NUMBERS["S"]
    if mode in (1, 2):  # of 16 or 32 elements: E4M3, powers of two
        blocks = k // (16 * mode)
        at, count = tiles(outer, blocks)
        bits = random.integers(40, 70, at.shape) if mode == 1 else \
            random.integers(124, 131, at.shape)
        memory = numpy.zeros(count, "u1")
        memory[at] = bits
        values = NUMBERS["E4M3"].decode(bits) if mode == 1 else \
            2.0 ** (bits - 127)
        return memory, numpy.repeat(values, 16 * mode, axis=1).T
    if mode == 3:  # of each row of the result
        memory = single.encode(random.random(outer) + 0.5)
        return memory, memory.astype(float)[None]
    if mode == 4:  # of 128 elements
        memory = single.encode(random.random((k // 128, outer)) + 0.5)
        return memory, numpy.repeat(memory.astype(float), 128, axis=0)
    # Of squares of 128; those of a row of them in fours.
    blocks = k // 128
    memory = single.encode(random.random((-(-outer // 128),
                                          -(-blocks // 4) * 4)) + 0.5)
    return memory, numpy.repeat(numpy.repeat(
        memory.astype(float)[:, :blocks], 128, axis=0)[:outer], 128, axis=1).T


def block_scales(lt, judge, random, modes, out):
    """Floats of 8 and 4 bits that are scaled by row, by blocks, by squares of
    blocks; the scales of D's blocks are found."""
    m, n, k = 160, 144, 256
    operands, whole, scales = [], [], []
    for mode, outer in zip(modes, (m, n)):
        number = NUMBERS["E4M3"]
        matrix = Matrix4(lt, random, k, outer) if mode == 1 else Matrix(
            lt, number, [number.random(random, k, outer)])
        memory, by_element = scales_of(random, mode, k, outer)
        operands.append(matrix)
        scales.append(Device(memory))
        whole.append(matrix.values[0] * by_element)
    expected = whole[0].T @ whole[1]
    attributes = dict(opa=1, opb=0, mode_a=modes[0], mode_b=modes[1],
                      scale_a=scales[0], scale_b=scales[1])
    c = Matrix(lt, NUMBERS["BF16"], [numpy.zeros((m, n))])
    d = Matrix(lt, NUMBERS["E4M3" if out else "S"], [numpy.zeros((m, n))])
    if out:
        at, count = tiles(n, m // 32)
        found = Device(numpy.zeros(count, "u1"))
        attributes.update(mode_out=2, scales_out=found)
    desc = lt.make("MatmulDesc", DESC, (68, 0), **attributes)
    one, zero = numpy.float32(1), numpy.float32(0)
    judge.same("the answer", lt.matmul(desc, one, *operands, zero,
                                       c if out else d, d), 0)
    if not out:
        d.compare(judge, "D", [expected])
        return
    scale = 2.0 ** (found.get()[at].astype(float) - 127)
    largest = numpy.abs(expected).reshape(-1, 32, n).max(1).T
    judge.same("scales are powers of two that are enough",
               ((scale * 448 >= largest * 0.999) &
                (scale * 224 < largest * 1.001)).all(), True)
    got = d.number.decode(d.device.get()[d.at]) * numpy.repeat(scale, 32, 1).T
    judge.same("D is near", (numpy.abs(got - expected) <= numpy.maximum(
        numpy.abs(expected) / 16, numpy.repeat(scale, 32, 1).T / 512) *
        1.001).all(), True)


def scales_of_batches(lt, judge, random):
    """One of each matrix of a batch."""
    number, single = NUMBERS["E4M3"], NUMBERS["S"]
    a, b = (Matrix(lt, number, [number.random(random, 32, 16)
                                for _ in range(3)]) for _ in range(2))
    d = Matrix(lt, single, [numpy.zeros((16, 16))] * 3)
    of_a, of_b = random.random((2, 3)) + 0.5
    scales = [Device(single.encode(x)) for x in (of_a, of_b)]
    desc = lt.make("MatmulDesc", DESC, (68, 0), opa=1, mode_a=6, mode_b=6,
                   scale_a=scales[0], scale_b=scales[1])
    judge.same("the answer", lt.matmul(desc, numpy.float32(1), a, b,
                                       numpy.float32(0), d, d), 0)
    d.compare(judge, "D", [s * t * x.T @ y for s, t, x, y in zip(
        single.round(of_a), single.round(of_b), a.values, b.values)])


def tiled(lt, judge, random, order_b, to_floats):
    """8-bit integers by tiles, as tensor cores had them first."""
    m, n, k = 40, 70, 33
    small = NUMBERS["I8"]
    a = Matrix(lt, small, [small.random(random, m, k)], 2)
    b = Matrix(lt, small, [small.random(random, n, k)], order_b)
    number = NUMBERS["I8" if to_floats else "I32"]
    c = Matrix(lt, number, [number.random(random, m, n)], 2)
    scale = NUMBERS["S" if to_floats else "I32"]
    desc = lt.make("MatmulDesc", DESC, (72, scale.code), opb=1)
    alpha = scale.encode(numpy.array([0.125 if to_floats else 1]))
    beta = scale.encode(numpy.array([1]))
    judge.same("the answer", lt.matmul(desc, alpha, a, b, beta, c, c), 0)
    c.compare(judge, "C", [
        float(alpha[0]) * a.values[0] @ b.values[0].T + c.values[0]])


def transform(lt, judge, draws, name, scale):
    number, scalar = NUMBERS[name], NUMBERS[scale]
    random = draws.random
    m, n = draws("m", (7, 33, 1, 64)), draws("n", (5, 40, 1, 64))
    count = draws("batches")
    opa, opb = draws("opa"), draws("opb")
    orders = (0, 1, 2, 3, 4)
    has_b, in_device = draws("has_b", (True, False)), draws("explicit")

    def matrix(which, shape):
        return Matrix(lt, number, [number.random(random, *shape)
                                   for _ in range(count)],
                      draws("order " + which, orders), draws("pad " + which,
                                                             (0, 3)))
    a = matrix("a", (n, m) if opa else (m, n))
    b = matrix("b", (n, m) if opb else (m, n))
    c = matrix("c", (m, n))
    alpha, beta = (scalar.round(float(draws(x, (2, 1, -1))))
                   for x in ("alpha", "beta"))
    made = [alpha * op(x, opa) + (beta * op(y, opb) if has_b else 0)
            for x, y in zip(a.values, b.values)]
    desc = lt.make("MatrixTransformDesc", TRANSFORM, (scalar.code,), opa=opa,
                   opb=opb, pointers=int(in_device))
    at = [scalar.encode(numpy.atleast_1d(x)) for x in (alpha, beta)]
    at = [Device(x) if in_device else x for x in at]
    null = ctypes.c_void_p()
    lt.call("cublasLtMatrixTransform", lt.handle, desc, at[0], a.device,
            a.layout, at[1] if has_b else null, b.device if has_b else null,
            b.layout if has_b else null, c.device, c.layout, null)
    c.compare(judge, "C", made)
    lt.call("cublasLtMatrixTransformDescDestroy", desc)


def planes(lt, judge, random):
    """Complex numbers whose real and imaginary parts lie apart."""
    number = NUMBERS["C"]
    values = [number.random(random, 7, 7) for _ in range(3)]
    devices, layouts = [], []
    for x in values:
        parts = numpy.stack([x.real.T, x.imag.T]).astype("f4")
        devices.append(Device(parts))
        layouts.append(lt.make("MatrixLayout", LAYOUT, (
            number.code, ctypes.c_uint64(7), ctypes.c_uint64(7),
            ctypes.c_int64(7)), plane=4 * 49))
    desc = lt.make("MatmulDesc", DESC, (68, number.code))
    one, two = numpy.complex64(1), numpy.complex64(2j)
    lt.call("cublasLtMatmul", lt.handle, desc, one, devices[0], layouts[0],
            devices[1], layouts[1], two, devices[2], layouts[2], devices[2],
            layouts[2], ctypes.c_void_p(), ctypes.c_void_p(),
            ctypes.c_size_t(0), ctypes.c_void_p())
    got = devices[2].get()
    judge.near("D of planes", (got[0] + 1j * got[1]).T,
               values[0] @ values[1] + 2j * values[2])


def refusals(lt, judge):
    """Of wrong arguments, by the documentation."""
    number = NUMBERS["S"]
    good = {x: Matrix(lt, number, [numpy.ones(shape)]) for x, shape in (
        ("a", (4, 3)), ("b", (3, 5)), ("c", (4, 5)), ("d", (4, 5)))}
    one = numpy.float32(1)

    def answer(desc=None, alpha=one, **wrong):
        o = dict(good, **wrong)
        desc = desc or lt.make("MatmulDesc", DESC, (68, 0))
        return lt.matmul(desc, alpha, o["a"], o["b"], one, o["c"], o["d"])
    judge.same("a good one", answer(), 0)
    judge.same("null alpha", answer(alpha=ctypes.c_void_p()), INVALID_VALUE)
    for name, shape in (("a", (4, 4)), ("b", (4, 5)), ("c", (5, 5)),
                        ("d", (3, 5))):
        judge.same("another shape of " + name, answer(**{
            name: Matrix(lt, number, [numpy.ones(shape)])}), INVALID_VALUE)
    small = Matrix(lt, number, [numpy.ones((4, 3))])
    lt.set("MatrixLayout", LAYOUT, small.layout, ld=3)
    judge.same("a small ld", answer(a=small), INVALID_VALUE)
    for attributes in (dict(epilogue=3), dict(opc=1)):
        judge.same("%s" % attributes, answer(lt.make(
            "MatmulDesc", DESC, (68, 0), **attributes)), NOT_SUPPORTED)
    judge.same("no bias", answer(lt.make("MatmulDesc", DESC, (68, 0),
                                         epilogue=BIAS)), INVALID_VALUE)
    value = numpy.zeros(1, "i8")
    made = lt.make("MatmulDesc", DESC, (68, 0))
    for number_, size in ((99, 4), (3, 2), (3, 8)):
        judge.same("attribute %d of %d bytes" % (number_, size), lt.call.status(
            "cublasLtMatmulDescSetAttribute", made, number_, value,
            ctypes.c_size_t(size)), INVALID_VALUE)
    judge.same("a handle that is null", lt.call.status(
        "cublasLtMatmul", *[ctypes.c_void_p()] * 16), 1)


def settings(lt, judge):
    """Descriptors in memory of the program's, algorithms, what is told."""
    call, size = lt.call, ctypes.c_size_t
    for what, attributes, args, values in (
            ("MatrixLayout", LAYOUT, (0, ctypes.c_uint64(3), ctypes.c_uint64(
                4), ctypes.c_int64(5)), dict(order=1)),
            ("MatmulDesc", DESC, (68, 0), dict(sm=1, fast=1, mode_a=3)),
            ("MatrixTransformDesc", TRANSFORM, (0,), dict(opa=1)),
            ("MatmulPreference", PREFERENCE, (), dict(
                search=1, bytes=77, reductions=3, alignment_a=16, waves=0.5,
                implementations=5)),
            ("EmulationDesc", EMULATION, (), dict(
                strategy=1, special=1, control=1, most=30, more=2, bits=64))):
        values.pop("sm", None)
        memory = numpy.full(23 if what == "MatmulDesc" else 8, 0, "u8")
        at = ctypes.c_void_p(memory.ctypes.data)
        call("cublasLt%sInit_internal" % what, at, size(memory.nbytes), *args)
        lt.set(what, attributes, at, **values)
        judge.same("of no memory", call.status(
            "cublasLt%sInit_internal" % what, at, size(1), *args) != 0, True)
        made = lt.make(what, attributes, args, **values)
        call("cublasLt%sDestroy" % what, made)
    ids, found = numpy.zeros(8, "i4"), ctypes.c_int()
    call("cublasLtMatmulAlgoGetIds", lt.handle, 68, 0, 0, 0, 0, 0, 8, ids,
         ctypes.byref(found))
    judge.same("algorithms", found.value >= 1, True)
    algorithm, value, written = numpy.zeros(8, "u8"), numpy.zeros(4, "i4"), \
        ctypes.c_size_t()
    call("cublasLtMatmulAlgoInit", lt.handle, 68, 0, 0, 0, 0, 0, int(ids[0]),
         algorithm)
    call("cublasLtMatmulAlgoConfigGetAttribute", algorithm, 0, value, size(4),
         ctypes.byref(written))
    judge.same("its id", (value[0], written.value), (ids[0], 4))
    call("cublasLtMatmulAlgoConfigSetAttribute", algorithm, 1,
         numpy.array([20], "i4"), size(4))
    call("cublasLtMatmulAlgoConfigGetAttribute", algorithm, 1, value, size(4),
         ctypes.byref(written))
    judge.same("its tile", value[0], 20)
    call("cublasLtMatmulAlgoCapGetAttribute", algorithm, 0, value, size(4),
         ctypes.byref(written))
    judge.same("size of a capability", written.value, 4)
    capacity = ctypes.c_size_t()
    call("cublasLtHeuristicsCacheSetCapacity", size(16))
    call("cublasLtHeuristicsCacheGetCapacity", ctypes.byref(capacity))
    for name in ("cublasLtGetVersion", "cublasLtGetCudartVersion"):
        getattr(call.file, name).restype = ctypes.c_size_t
        judge.same(name, call.status(name) // 1000 in (13, 130, 131, 132, 133),
                   True)
    major = ctypes.c_int()
    call("cublasLtGetProperty", 0, ctypes.byref(major))
    judge.same("major version", major.value, 13)
    for name in ("cublasLtGetStatusName", "cublasLtGetStatusString"):
        getattr(call.file, name).restype = ctypes.c_char_p
        judge.same(name, bool(call.status(name, 7)), True)
    judge.same("name", call.file.cublasLtGetStatusName(7),
               b"CUBLAS_STATUS_INVALID_VALUE")
    for name, args in (("SetCallback", (ctypes.c_void_p(),)),
                       ("SetFile", (ctypes.c_void_p(),)),
                       ("OpenFile", (ctypes.c_char_p(b"/dev/null"),)),
                       ("SetLevel", (0,)), ("SetMask", (0,)),
                       ("ForceDisable", ())):
        call("cublasLtLogger" + name, *args)
    call.status("cublasLtDisableCpuInstructionsSetMask", 0)


def run(judge):
    random = numpy.random.default_rng(2)
    lt = Lt(judge)
    for kind in KINDS + FLOATS8:
        values = dict(VALUES)
        if kind in FLOATS8:
            values.update(m=(16, 32, 48), n=(16, 32), k=(16, 64))
        draws = Draws(random, values)
        name = "%d %s %s x %s, %s -> %s" % kind
        epilogues = (1,) * 12
        if not NUMBERS[kind[1]].complex and kind[5] != "I32":
            epilogues += tuple(e for e in EPILOGUES * 2 if kind[5] != "I8" or
                               not e & (AUX | BGRADA | BGRADB))
        for epilogue in epilogues:
            judge.case("%s, epilogue %d" % (name, epilogue), product, lt, judge,
                       draws, kind, epilogue)
    for modes in ((1, 1), (2, 2), (3, 3), (4, 4), (4, 5), (5, 4)):
        judge.case("scales %d, %d" % modes, block_scales, lt, judge, random,
                   modes, False)
    judge.case("scales that are found", block_scales, lt, judge, random, (2, 2),
               True)
    judge.case("scales of batches", scales_of_batches, lt, judge, random)
    for order in (3, 4):
        for to_floats in (False, True):
            judge.case("tiles %d" % order, tiled, lt, judge, random, order,
                       to_floats)
    for name, scale in (("S", "S"), ("D", "D"), ("F16", "S"), ("BF16", "S"),
                        ("I8", "S"), ("I32", "S"), ("C", "C"), ("Z", "Z"),
                        ("CF16", "C")):
        draws = Draws(random, VALUES)
        for _ in range(24):
            judge.case("transform of " + name, transform, lt, judge, draws,
                       name, scale)
    judge.case("planes", planes, lt, judge, random)
    judge.case("refusals", refusals, lt, judge)
    judge.case("settings", settings, lt, judge)
    judge.case("destroyed", lt.call, "cublasLtDestroy", lt.handle)
    return lt.call.called
