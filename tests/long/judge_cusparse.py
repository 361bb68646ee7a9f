"""cuSPARSE's generic functions against scipy.sparse; run by numpy_judges.py.

Those with a letter for their type are in judge_cusparse_letters.py. Values are
small integers where a type's rounding would matter otherwise.
"""
import collections
import ctypes
import functools
import itertools

import numpy
import scipy.sparse

import judge_cusparse_letters
from judge import Device, Library, driver
from judge_cusparse_letters import (LOWER, NON_UNIT, UNIT, UPPER, C, N, T,
                                    turned)
from judge_numbers import (BF16, DOUBLE, HALF, INT8, INT32, SINGLE, load,
                           store)

NOT_SUPPORTED = 10
BY_COLUMNS, BY_ROWS = 1, 2
LONG = ctypes.c_int64
INDEX = {32: (2, numpy.int32), 64: (3, numpy.int64)}

Type = collections.namedtuple("Type", "name number precision is_complex")
PRECISIONS = {"16F": HALF, "16BF": BF16, "32F": SINGLE, "64F": DOUBLE,
              "8I": INT8, "32I": INT32}
R = {name: Type("R" + name, precision.real, precision, False)
     for name, precision in PRECISIONS.items()}
K = {name: Type("C" + name, precision.complex, precision, True)
     for name, precision in PRECISIONS.items() if precision.complex}
# What a call's types are: of A, of X, of Y and of the computation.
UNIFORM = [(t, t, t, t) for t in (R["32F"], R["64F"], K["32F"], K["64F"])]
SOME = UNIFORM + [(t, t, t, t) for t in (R["16F"], R["16BF"], K["16F"],
                                         K["16BF"], R["8I"])]
HALVES = [(of[half], of[half], of[half], of["32F"])
          for of in (R, K) for half in ("16F", "16BF")]
MIXED = HALVES + [(x, x, y, y) for x, y in [
    (of[half], of["32F"]) for of in (R, K) for half in ("16F", "16BF")] + [
        (R["8I"], R["32I"]), (R["8I"], R["32F"])]] + [
            (x, y, y, y) for x, y in [(R["32F"], K["32F"]),
                                      (R["64F"], K["64F"]),
                                      (R["32F"], R["64F"])]]

# A descriptor, the arrays that it names, and their type.
Held = collections.namedtuple("Held", "handle arrays type")


class Sparse:
    """Of one run: the library, and descriptors of it."""

    def __init__(self, judge):
        self.judge = judge
        self.library = Library("libcusparse.so.12")
        self.random = numpy.random.default_rng(3)
        self.handle = ctypes.c_void_p()
        self.library("cusparseCreate", ctypes.byref(self.handle))
        # What a case's end destroys, and buffers that are needed until then.
        self.closing, self.buffers = [], []
        # How cases are run once more: without elements, and functions with
        # letters with scalars on the device.
        self.density, self.on_device = None, False

    def __call__(self, name, *args):
        """With the handle."""
        self.library("cusparse" + name, self.handle, *args)

    def plain(self, name, *args):
        """Without it."""
        self.library("cusparse" + name, *args)

    def new(self, destroy, name, *args):
        """A descriptor, until the case ends."""
        made = ctypes.c_void_p()
        self.plain(name, ctypes.byref(made), *args)
        self.closing.append((destroy, made))
        return made

    def close(self):
        """Destroys what a case made."""
        self("SetPointerMode", int(self.on_device))
        while self.closing:
            self.plain(*self.closing.pop())
        self.buffers.clear()

    def buffer(self, name, *args, end=(), kind=numpy.uint64):
        """As large as the function says."""
        size = numpy.full(1, 2**30, kind)
        self(name, *args, size, *end)
        self.judge.same("the size of the buffer", bool(size[0] < 2**30), True)
        return Device(numpy.zeros(max(int(size[0]), 1), numpy.uint8))

    def few(self, is_complex, *shape):
        """Integers of -2 to 2."""
        values = self.random.integers(-2, 3, shape).astype(float)
        if is_complex:
            values = values + 1j * self.random.integers(-2, 3, shape)
        return values

    def matrix(self, shape, is_complex=False, density=0.35, empty=True):
        """Random elements, none of them 0; a row without any."""
        values = self.few(is_complex, *shape)
        values[values == 0] = 1
        keep = self.random.random(shape) < (
            density if self.density is None else self.density)
        if empty and shape[0] > 1:
            keep[shape[0] // 2] = False
        a = scipy.sparse.csr_array(values * keep)
        a.sort_indices()
        return a

    def scalars(self, compute, on_device, *values):
        self("SetPointerMode", int(on_device))
        stored = [store(compute.precision, numpy.array(
            [value], complex if compute.is_complex else float))
                  for value in values]
        return [Device(s) for s in stored] if on_device else stored

    def vector(self, values, kind, const=True):
        memory = Device(store(kind.precision, values))
        return Held(self.new("DestroyDnVec", "Create%sDnVec" % (
            "Const" * const), LONG(len(values)), memory, kind.number), [memory],
                    kind)

    def sparse_vector(self, size, places, values, kind, width=32, base=0,
                      const=True):
        number, dtype = INDEX[width]
        arrays = [Device((places + base).astype(dtype)),
                  Device(store(kind.precision, values))]
        return Held(self.new("DestroySpVec", "Create%sSpVec" % (
            "Const" * const), LONG(size), LONG(len(places)), *arrays, number,
                             base, kind.number), arrays, kind)

    def dense(self, values, kind, order=BY_COLUMNS, const=True, pad=0,
              batches=None):
        """One matrix, or with batches as many; `pad` more in a row."""
        stack = values if batches else values[None]
        laid = stack if order == BY_ROWS else stack.transpose(0, 2, 1)
        room = numpy.zeros(laid.shape[:2] + (laid.shape[2] + pad,), laid.dtype)
        room[:, :, :laid.shape[2]] = laid
        memory = Device(store(kind.precision, room))
        handle = self.new("DestroyDnMat", "Create%sDnMat" % ("Const" * const),
                          LONG(stack.shape[1]), LONG(stack.shape[2]),
                          LONG(room.shape[2]), memory, kind.number, order)
        if batches:
            self.plain("DnMatSetStridedBatch", handle, batches,
                       LONG(room[0].size))

        def get():
            got = self.values(Held(handle, [memory], kind)).reshape(room.shape)
            got = got[:, :, :laid.shape[2]]
            got = got if order == BY_ROWS else got.transpose(0, 2, 1)
            return got if batches else got[0]

        held = Held(handle, [memory], kind)
        return held if const else (held, get)

    @staticmethod
    def values(held):
        return load(held.type.precision, held.arrays[-1].get(),
                    held.type.is_complex)

    def sparse(self, form, a, kind, base=0, index=(32, 32), const=True,
               side=(2, 2), order=BY_ROWS, shuffle=False):
        """scipy's CSR matrix in a format; `shuffle`: with the elements of a row
        (CSC: of a column) in any order."""
        rows, columns = a.shape
        numbers = [INDEX[width][0] for width in index]
        sizes, data, end = [a.nnz], a.data, []
        if form == "Csr":
            indices = [a.indptr, a.indices]
        elif form == "Csc":
            c = a.tocsc()
            indices, data = [c.indptr, c.indices], c.data
        elif form == "Coo":
            indices, numbers = [a.tocoo().row, a.indices], numbers[1:]
            index = (index[1], index[1])
        elif form == "Bsr":
            b = a.tobsr(side)
            b.sort_indices()
            rows, columns = rows // side[0], columns // side[1]
            sizes, end = [len(b.indices), *side], [order]
            indices = [b.indptr, b.indices]
            data = b.data if order == BY_ROWS else b.data.transpose(0, 2, 1)
        elif form == "BlockedEll":
            b = a.tobsr(side)
            width = max(1, int(numpy.diff(b.indptr).max()))
            places = numpy.full((len(b.indptr) - 1, width), -1 - base)
            room = numpy.zeros(places.shape + side, a.dtype)
            for i in range(len(places)):
                of_row = slice(b.indptr[i], b.indptr[i + 1])
                count = b.indptr[i + 1] - b.indptr[i]
                places[i, :count] = b.indices[of_row]
                room[i, :count] = b.data[of_row]
            data = room.transpose(0, 2, 1, 3)
            sizes, indices, numbers = [side[0], width * side[1]], [places], (
                numbers[1:])
            index = index[1:]
        else:
            offsets, places, data = [0], [], []
            for first in range(0, rows, side[0]):
                of_rows = [slice(*a.indptr[i:i + 2]) if i < rows else slice(0)
                           for i in range(first, first + side[0])]
                width = max(s.stop - (s.start or 0) for s in of_rows)
                for k, s in itertools.product(range(width), of_rows):
                    at = (s.start or 0) + k
                    places.append(a.indices[at] if at < s.stop else -1 - base)
                    data.append(a.data[at] if at < s.stop else 0)
                offsets.append(len(places))
            sizes = [a.nnz, len(places), side[0]]
            indices = [numpy.array(offsets), numpy.array(places)]
            data = numpy.array(data, a.dtype)
        if shuffle:
            order = numpy.concatenate([
                self.random.permutation(range(*ends))
                for ends in itertools.pairwise(indices[0])]).astype(int)
            indices, data = [indices[0], indices[1][order]], data[order]
        arrays = [Device((i + base).astype(INDEX[width][1]))
                  for i, width in zip(indices, index)]
        arrays.append(Device(store(kind.precision, data)))
        handle = self.new("DestroySpMat", "Create%s%s" % (
            "Const" * const, form), *map(LONG, [rows, columns] + sizes),
                          *arrays, *numbers, base, kind.number, *end)
        return Held(handle, arrays, kind)

    def result(self, form, shape, kind, index=(32, 32), base=0):
        """A matrix whose elements are not yet known; None for their arrays."""
        numbers = [INDEX[width][0] for width in index]
        offsets = None
        if form == "Coo":
            numbers = numbers[1:]
        else:
            count = shape[1] if form == "Csc" else shape[0]
            offsets = Device(numpy.zeros(count + 1, INDEX[index[0]][1]))
        handle = self.new("DestroySpMat", "Create" + form, *map(LONG, shape),
                          LONG(0), offsets, None, None, *numbers, base,
                          kind.number)
        return Held(handle, [offsets], kind)

    def fill(self, form, held, index=(32, 32)):
        """Makes the arrays that a result turned out to need."""
        size = [LONG() for _ in range(3)]
        self.plain("SpMatGetSize", held.handle, *map(ctypes.byref, size))
        count = size[2].value
        offsets = (held.arrays[0] if form != "Coo" else
                   Device(numpy.zeros(count, INDEX[index[1]][1])))
        held.arrays[:] = [
            offsets, Device(numpy.zeros(count, INDEX[index[1]][1])),
            Device(store(held.type.precision, numpy.zeros(
                count, complex if held.type.is_complex else float)))]
        self.plain(form + "SetPointers", held.handle, *held.arrays)

    def back(self, form, held, shape, base=0):
        """scipy's matrix of what is on the device."""
        major, minor = (array.get() - base for array in held.arrays[:2])
        values = self.values(held)
        if form == "Coo":
            return scipy.sparse.coo_array((values, (major, minor)), shape)
        make = {"Csr": scipy.sparse.csr_array, "Csc": scipy.sparse.csc_array}
        return make[form]((values, minor, major), shape)

    def equal(self, what, got, expected, factor=64):
        """Sparse matrices, with the same elements stored."""
        got, expected = got.tocsr(), expected.tocsr()
        for a in got, expected:
            a.sort_indices()
        self.judge.same("the offsets of " + what, got.indptr, expected.indptr)
        self.judge.same("the columns of " + what, got.indices,
                        expected.indices)
        self.judge.near(what, got.data, expected.data, factor)

    def one(self, dtype, value):
        """A scalar for, or of, functions with letters."""
        array = numpy.array([value], dtype)
        return Device(array) if self.on_device else array

    @staticmethod
    def number(scalar):
        return (scalar.get() if isinstance(scalar, Device) else scalar)[0]

    def descr(self, base=0, kind=0, fill=LOWER, diagonal=NON_UNIT):
        """A description of a matrix for functions with letters."""
        made = self.new("DestroyMatDescr", "CreateMatDescr")
        for name, value in (("IndexBase", base), ("Type", kind),
                            ("FillMode", fill), ("DiagType", diagonal)):
            self.plain("SetMat" + name, made, value)
            self.judge.same(name, self.library.status(
                "cusparseGetMat" + name, made), value)
        return made

    # --- vectors

    def sparse_and_dense(self, kinds, width, base, const):
        """A sparse x of 5 elements, a dense y of 11."""
        of_x, of_y = kinds
        places = numpy.array([0, 2, 3, 7, 10])
        x, y = (self.few(of_x.is_complex, 5), self.few(of_y.is_complex, 11))
        return places, x, y, self.sparse_vector(
            11, places, x, of_x, width, base, const), self.vector(
                y, of_y, const=False)

    def axpby(self, types, width, base, on_device, beta):
        places, x, y, hx, hy = self.sparse_and_dense(types[:2], width, base,
                                                     True)
        alpha, beta_there = self.scalars(types[3], on_device, 2, beta)
        self("Axpby", alpha, hx.handle, beta_there, hy.handle)
        expected = beta * y
        expected[places] += 2 * x
        self.judge.near("y", self.values(hy), expected)

    def gather(self, types, width, base):
        places, _, y, hx, hy = self.sparse_and_dense(
            [types[0]] * 2, width, base, False)
        self("Gather", hy.handle, hx.handle)
        self.judge.near("x", self.values(hx), y[places])

    def scatter(self, types, width, base):
        places, x, y, hx, hy = self.sparse_and_dense(
            [types[0]] * 2, width, base, True)
        self("Scatter", hx.handle, hy.handle)
        y[places] = x
        self.judge.near("y", self.values(hy), y)

    def rot(self, types, width, base, on_device):
        places, x, y, hx, hy = self.sparse_and_dense(
            [types[0]] * 2, width, base, False)
        c, s = 0.5, 1.5 + 2j if types[0].is_complex else 1.5
        self("Rot", *self.scalars(types[3], on_device, c, s), hx.handle,
             hy.handle)
        self.judge.near("x", self.values(hx), c * x + s * y[places])
        y[places] = c * y[places] - s * x
        self.judge.near("y", self.values(hy), y)

    def spvv(self, types, width, base, on_device, op):
        places, x, y, hx, hy = self.sparse_and_dense(types[:2], width, base,
                                                     True)
        result = self.scalars(types[3], on_device, 7)[0]
        args = [op, hx.handle, hy.handle, result, types[3].number]
        self("SpVV", *args, self.buffer("SpVV_bufferSize", *args))
        got = result.get() if on_device else result
        self.judge.near("x y", load(types[3].precision, got,
                                    types[3].is_complex)[0],
                        turned(x, op) @ y[places])

    # --- products

    def spmv(self, types, form, op=N, base=0, index=(32, 32), shape=(8, 6),
             order=BY_ROWS, scalars=(2, 3), on_device=False, algorithm=0,
             shuffle=False, side=(2, 2)):
        of_a, of_x, of_y, compute = types
        if of_x.is_complex and of_a.is_complex and scalars[1]:
            scalars = (scalars[0] + 1j, scalars[1])
        a = self.matrix(shape, of_a.is_complex)
        full = turned(a.toarray(), op)
        x = self.few(of_x.is_complex, full.shape[1])
        y = self.few(of_y.is_complex, full.shape[0])
        if scalars[1] == 0 and of_y.number != INT32.real:
            y[:] = numpy.nan
        ha = self.sparse(form, a, of_a, base, index, side=side, order=order,
                         shuffle=shuffle)
        hx, hy = self.vector(x, of_x), self.vector(y, of_y, const=False)
        alpha, beta = self.scalars(compute, on_device, *scalars)
        args = [op, alpha, ha.handle, hx.handle, beta, hy.handle,
                compute.number, algorithm]
        memory = self.buffer("SpMV_bufferSize", *args)
        self("SpMV_preprocess", *args, memory)
        self("SpMV", *args, memory)
        self.judge.near("y", self.values(hy), scalars[0] * (full @ x) + (
            scalars[1] * y if scalars[1] else 0))

    def spmv_generic(self, types, form, op):
        """z := alpha op(A) x + beta y"""
        a = self.matrix((8, 6), types[0].is_complex)
        full = turned(a.toarray(), op)
        x = self.few(types[1].is_complex, full.shape[1])
        y = self.few(types[2].is_complex, full.shape[0])
        ha, hx, hy, hz = (
            self.sparse(form, a, types[0]), self.vector(x, types[1]),
            self.vector(y, types[2]), self.vector(y * 0, types[2], const=False))
        alpha, beta = self.scalars(types[3], False, 2, 3)
        how = self.new("SpMV_destroyDescr", "SpMV_createDescr")
        told = numpy.array([op], numpy.int32)
        self.plain("SpMVDescrSetParam", how, 0, told, LONG(4))
        said = numpy.zeros(1, numpy.int32)
        self.plain("SpMVDescrGetParam", how, 0, said, LONG(4))
        self.judge.same("the operation", said, told)
        args = [alpha, ha.handle, hx.handle, beta, hy.handle, hz.handle,
                types[3].number, how]
        self.buffer("SpMVGeneric_bufferSize", *args)
        self("SpMVGeneric_preprocess", *args)
        self("SpMVGeneric", *args)
        self.judge.near("z", self.values(hz), 2 * (full @ x) + 3 * y)

    def spmm(self, types, form, opa=N, opb=N, base=0, index=(32, 32),
             shape=(8, 6), columns=5, orders=(BY_COLUMNS, BY_ROWS),
             scalars=(2, 3), on_device=False, batches=None, algorithm=0,
             shuffle=False, side=(2, 2), of_each=False):
        """`of_each`: batches have an A of their own, too."""
        of_a, of_b, of_c, compute = types
        a = self.matrix(shape, of_a.is_complex)
        full = turned(a.toarray(), opa)
        many = [batches] * (batches is not None)
        b = self.few(of_b.is_complex, *many, full.shape[1], columns)
        c = self.few(of_c.is_complex, *many, full.shape[0], columns)
        if scalars[1] == 0 and of_c.number != INT32.real:
            c[:] = numpy.nan
        ha = self.sparse(form, a, of_a, base, index, const=False, side=side,
                         shuffle=shuffle)
        if of_each:
            full = self.batched(form, ha, a, batches, opa)
        # Its own transpose is what it is of.
        given = (b if opb == N else b.swapaxes(-1, -2) if opb == T else
                 b.conj().swapaxes(-1, -2))
        hb = self.dense(given, of_b, orders[0], pad=1, batches=batches)
        hc, get = self.dense(c, of_c, orders[1], const=False, pad=2,
                             batches=batches)
        alpha, beta = self.scalars(compute, on_device, *scalars)
        args = [opa, opb, alpha, ha.handle, hb.handle, beta, hc.handle,
                compute.number, algorithm]
        memory = self.buffer("SpMM_bufferSize", *args)
        self("SpMM_preprocess", *args, memory)
        self("SpMM", *args, memory)
        self.judge.near("C", get(), scalars[0] * (full @ b) + (
            scalars[1] * c if scalars[1] else 0))

    def batched(self, form, held, a, count, op):
        """As many matrices of a's pattern, each with numbers of its own."""
        data = numpy.stack([(k + 1) * a.data for k in range(count)])
        # One more number between them, and of CSR one offset.
        room = numpy.zeros((count, a.nnz + 1), a.dtype)
        room[:, :-1] = data
        held.arrays[2] = Device(store(held.type.precision, room))
        for i in 0, 1:
            one = held.arrays[i].get()
            held.arrays[i] = Device(numpy.tile(numpy.append(one, one[:1]),
                                               count))
        self.plain(form + "SetPointers", held.handle, *held.arrays)
        strides = [LONG(a.nnz + 1)]
        if form == "Csr":
            strides = [LONG(a.shape[0] + 2)] + strides
        self.plain(form + "SetStridedBatch", held.handle, count, *strides)
        return numpy.stack([turned((k + 1) * a.toarray(), op)
                            for k in range(count)])

    def sddmm(self, types, form="Csr", opa=N, opb=N, base=0, index=(32, 32),
              orders=(BY_COLUMNS, BY_ROWS), scalars=(2, 3), on_device=False,
              old=False):
        of_a, of_b, of_c, compute = types
        c = self.matrix((8, 6), of_c.is_complex)
        a = self.few(of_a.is_complex, 8, 5)
        b = self.few(of_b.is_complex, 5, 6)
        # Blocks have all their elements.
        where = blocks = c.tobsr((2, 2) if form == "Bsr" else (1, 1))
        where.sort_indices()
        where.data = numpy.ones(blocks.data.shape)
        expected = scalars[0] * (a @ b) * where.toarray() + (
            scalars[1] * c.toarray())
        ha = self.dense(turned(a, opa), of_a, orders[0], pad=1)
        hb = self.dense(turned(b, opb), of_b, orders[1])
        hc = self.sparse(form, c, of_c, base, index, const=False)
        alpha, beta = self.scalars(compute, on_device, *scalars)
        args = [opa, opb, alpha, ha.handle, hb.handle, beta, hc.handle,
                compute.number]
        if old:
            memory = self.buffer("ConstrainedGeMM_bufferSize", *args)
            self("ConstrainedGeMM", *args, memory)
        else:
            memory = self.buffer("SDDMM_bufferSize", *args, 0)
            self("SDDMM_preprocess", *args, 0, memory)
            self("SDDMM", *args, 0, memory)
        if form != "Bsr":
            expected = expected[c.tocoo().coords]
            self.judge.near("C", self.values(hc), expected)
            return
        got = self.values(hc).reshape(blocks.data.shape)
        self.judge.near("C", scipy.sparse.bsr_array((
            got, blocks.indices, blocks.indptr), c.shape).toarray(), expected)

    def spgemm(self, types, algorithm=0, base=0, index=(32, 32),
               on_device=False, shape=(8, 6, 7)):
        kind = types[0]
        a = self.matrix(shape[:2], kind.is_complex)
        b = self.matrix(shape[1:], kind.is_complex)
        shape = shape[::2]
        ha, hb = (self.sparse("Csr", m, kind, base, index) for m in (a, b))
        hc = self.result("Csr", shape, kind, index, base)
        how = self.new("SpGEMM_destroyDescr", "SpGEMM_createDescr")
        alpha, beta = self.scalars(kind, on_device, 2, 0)
        args = [N, N, alpha, ha.handle, hb.handle, beta, hc.handle, kind.number,
                algorithm, how]
        self.twice("SpGEMM_workEstimation", args)
        products = numpy.zeros(1, numpy.int64)
        self.plain("SpGEMM_getNumProducts", how, products)
        ones = [abs(m.sign()) if not kind.is_complex else abs(m) != 0
                for m in (a, b)]
        self.judge.same("the products", products[0], int(
            (ones[0].astype(int) @ ones[1].astype(int)).sum()))
        if algorithm in (4, 5):
            sizes = numpy.zeros(2, numpy.uint64)
            chunk = ctypes.c_float(0.5)
            self("SpGEMM_estimateMemory", *args, chunk, sizes, None, None)
            memory = Device(numpy.zeros(int(sizes[0]) + 1, numpy.uint8))
            self("SpGEMM_estimateMemory", *args, chunk, sizes, memory,
                 sizes[1:])
            memory = Device(numpy.zeros(int(sizes[1]) + 1, numpy.uint8))
            self("SpGEMM_compute", *args, sizes[1:], memory)
        else:
            self.twice("SpGEMM_compute", args)
        self.fill("Csr", hc, index)
        self("SpGEMM_copy", *args)
        self.equal("C", self.back("Csr", hc, shape, base),
                   self.product(a, b) * 2)

    @staticmethod
    def product(a, b):
        """With the zeros that come of sums."""
        result = scipy.sparse.csr_array(a @ b)
        ones = [scipy.sparse.csr_array((numpy.ones(m.nnz), m.indices, m.indptr),
                                       m.shape) for m in (a, b)]
        pattern = scipy.sparse.csr_array(ones[0] @ ones[1])
        pattern.sort_indices()
        pattern = pattern.astype(result.dtype)
        pattern.data = result.toarray()[pattern.tocoo().coords]
        return pattern

    def twice(self, name, args, count=1):
        """Asks for the sizes of `count` buffers, then gives them."""
        sizes = numpy.zeros(count, numpy.uint64)
        self(name, *args, *itertools.chain(*(
            (sizes[i:], None) for i in range(count))))
        buffers = [Device(numpy.zeros(int(size) + 1, numpy.uint8))
                   for size in sizes]
        self(name, *args, *itertools.chain(*(
            (sizes[i:], buffer) for i, buffer in enumerate(buffers))))
        self.buffers += buffers

    def spgemm_reuse(self, types, base=0):
        kind = types[0]
        a = self.matrix((8, 6), kind.is_complex)
        b = self.matrix((6, 7), kind.is_complex)
        ha, hb = (self.sparse("Csr", m, kind, base) for m in (a, b))
        hc = self.result("Csr", (8, 7), kind, base=base)
        how = self.new("SpGEMM_destroyDescr", "SpGEMM_createDescr")
        args = [N, N, ha.handle, hb.handle, hc.handle, 0, how]
        self.twice("SpGEMMreuse_workEstimation", args)
        self.twice("SpGEMMreuse_nnz", args, 3)
        self.fill("Csr", hc)
        self.twice("SpGEMMreuse_copy", args)
        for factor in 2, 3:
            alpha, beta = self.scalars(kind, False, factor, 0)
            self("SpGEMMreuse_compute", N, N, alpha, ha.handle, hb.handle, beta,
                 hc.handle, kind.number, 0, how)
            self.equal("C", self.back("Csr", hc, (8, 7), base),
                       self.product(a, b) * factor)

    def spgeam(self, types, base=0, opa=N, opb=N):
        kind = types[0]
        a, b = (self.matrix((7, 6) if op == N else (6, 7), kind.is_complex)
                for op in (opa, opb))
        ha, hb = (self.sparse("Csr", m, kind, base) for m in (a, b))
        hc = self.result("Csr", (7, 6), kind, base=base)
        how = self.new("SpGEAM_destroyDescr", "SpGEAM_createDescr")
        alpha, beta = self.scalars(kind, False, 2, -3)
        args = [opa, opb, alpha, ha.handle, beta, hb.handle, hc.handle,
                kind.number, 0, how]
        memory = self.buffer("SpGEAM_bufferSize", *args)
        self("SpGEAM_nnz", *args, memory)
        self.fill("Csr", hc)
        self("SpGEAM", *args, memory)
        self.equal("C", self.back("Csr", hc, (7, 6), base), self.union(
            2, turned(a, opa), -3, turned(b, opb)))

    @staticmethod
    def union(alpha, a, beta, b):
        """With the zeros that come of sums."""
        ones = [abs(m).astype(bool).astype(int) for m in (a, b)]
        pattern = scipy.sparse.csr_array(ones[0] + ones[1])
        pattern.sort_indices()
        dense = alpha * a.toarray() + beta * b.toarray()
        pattern = pattern.astype(dense.dtype)
        pattern.data = dense[pattern.tocoo().coords]
        return pattern

    # --- triangular systems

    def triangle(self, kind, fill, diagonal, form, base, index, n=9):
        """A matrix of which only a triangle counts: its descriptor, itself,
        and what is meant."""
        a = self.matrix((n, n), kind.is_complex, empty=False) + (
            scipy.sparse.diags_array(numpy.arange(3.0, 3 + n)))
        a = scipy.sparse.csr_array(a)
        a.sort_indices()
        held = self.sparse(form, a, kind, base, index, const=False)
        for attribute, value in enumerate((fill, diagonal)):
            told = numpy.array([value], numpy.int32)
            self.plain("SpMatSetAttribute", held.handle, attribute, told,
                       LONG(4))
            said = numpy.zeros(1, numpy.int32)
            self.plain("SpMatGetAttribute", held.handle, attribute, said,
                       LONG(4))
            self.judge.same("the attribute", said, told)
        return held, a, self.meant(a.toarray(), fill, diagonal)

    @staticmethod
    def meant(a, fill, diagonal):
        a = numpy.tril(a) if fill == LOWER else numpy.triu(a)
        if diagonal == UNIT:
            numpy.fill_diagonal(a, 1)
        return a

    def solve(self, types, form, op=N, fill=LOWER, diagonal=NON_UNIT, base=0,
              index=(32, 32), columns=None, opb=N, orders=(1, 1),
              on_device=False):
        """With columns several right sides: cusparseSpSM, not cusparseSpSV."""
        kind, which = types[0], "SpSV" if columns is None else "SpSM"
        ha, a, meant = self.triangle(kind, fill, diagonal, form, base, index)
        n = a.shape[0]
        if columns is None:
            b = self.few(kind.is_complex, n)
            hb = self.vector(b, kind)
            hx = self.vector(b * 0, kind, const=False)
            ops, get = [op], lambda: self.values(hx)
        else:
            b = self.few(kind.is_complex, n, columns)
            hb = self.dense(turned(b, opb), kind, orders[0], pad=1)
            hx, get = self.dense(b * 0, kind, orders[1], const=False, pad=2)
            ops = [op, opb]
        alpha = self.scalars(kind, on_device, 2)[0]
        how = self.new(which + "_destroyDescr", which + "_createDescr")
        args = [*ops, alpha, ha.handle, hb.handle, hx.handle, kind.number, 0,
                how]
        memory = self.buffer(which + "_bufferSize", *args)
        self(which + "_analysis", *args, memory)
        self(which + "_solve", *args)
        self.judge.near("x", get(), numpy.linalg.solve(turned(meant, op),
                                                       2 * b), 1024)
        if form != "Csr":
            return
        # Other numbers in the same places, then another diagonal.
        scaled = (a * 2).tocsr()
        scaled.sort_indices()
        values = Device(store(kind.precision, scaled.data))
        self(which + "_updateMatrix", how, values, 0)
        self(which + "_solve", *args)
        meant = self.meant(scaled.toarray(), fill, diagonal)
        self.judge.near("x of new values", get(), numpy.linalg.solve(
            turned(meant, op), 2 * b), 1024)
        if diagonal == UNIT:
            return
        numpy.fill_diagonal(meant, 5)
        fives = Device(store(kind.precision, numpy.full(
            n, 5, complex if kind.is_complex else float)))
        self(which + "_updateMatrix", how, fives, 1)
        self(which + "_solve", *args)
        self.judge.near("x of a new diagonal", get(), numpy.linalg.solve(
            turned(meant, op), 2 * b), 1024)

    # --- conversions

    def to_dense(self, types, form, base=0, index=(32, 32), order=BY_COLUMNS):
        kind = types[0]
        a = self.matrix((8, 6), kind.is_complex)
        ha = self.sparse(form, a, kind, base, index)
        hb, get = self.dense(numpy.full(a.shape, 9, a.dtype), kind, order,
                             const=False, pad=1)
        args = [ha.handle, hb.handle, 0]
        self("SparseToDense", *args, self.buffer("SparseToDense_bufferSize",
                                                 *args))
        self.judge.near("B", get(), a.toarray())

    def to_sparse(self, types, form, base=0, index=(32, 32), order=BY_COLUMNS):
        kind = types[0]
        a = self.matrix((8, 6), kind.is_complex)
        ha = self.dense(a.toarray(), kind, order, pad=1)
        if form == "BlockedEll":
            # Its blocks are told before.
            hb = self.sparse(form, a, kind, base, index, const=False)
            expected = self.values(hb)
            hb.arrays[-1] = Device(store(kind.precision, expected * 0))
            self.plain("SpMatSetValues", hb.handle, hb.arrays[-1])
        else:
            hb = self.result(form, a.shape, kind, index, base)
        args = [ha.handle, hb.handle, 0]
        memory = self.buffer("DenseToSparse_bufferSize", *args)
        self("DenseToSparse_analysis", *args, memory)
        if form != "BlockedEll":
            self.fill(form, hb, index)
        self("DenseToSparse_convert", *args, memory)
        if form == "BlockedEll":
            self.judge.near("B", self.values(hb), expected)
        else:
            self.equal("B", self.back(form, hb, a.shape, base), a)

    def convert(self, types, form, target, op=N, base=0):
        kind = types[0]
        a = self.matrix((8, 6), kind.is_complex)
        expected = turned(a, op)
        if form == "Bsr":
            # Of blocks, the zeros are elements too.
            where = a.tobsr((2, 2))
            where.data = numpy.ones(where.data.shape, a.dtype)
            where = turned(where.tocsr(), op).tocoo().coords
            expected = scipy.sparse.coo_array(
                (expected.toarray()[where], where), expected.shape)
        ha = self.sparse(form, a, kind, base)
        hb = self.result(target, expected.shape, kind, base=base)
        how = self.new("SpMatConvertDescrDestroy", "SpMatConvertDescrCreate")
        args = [op, ha.handle, hb.handle, 1, 0, how]
        memory = self.buffer("SpMatConvert_bufferSize", *args)
        self("SpMatConvert_analysis", *args, memory)
        self.fill(target, hb)
        self("SpMatConvert", *args, memory)
        self.equal("B", self.back(target, hb, expected.shape, base), expected)

    # --- what descriptors and the library say

    def descriptors(self, form, const):
        """What a matrix was made of is what it says."""
        a = self.matrix((8, 6))
        held = self.sparse(form, a, R["32F"], 1, const=const)
        outs = [ctypes.c_int64() for _ in range(12)]
        fields = {"Csr": 3, "Csc": 3, "Coo": 3, "BlockedEll": 4}
        pointers = [array.pointer.value for array in held.arrays]

        def said():
            return [out.value for out in outs]

        if form in fields:
            self.plain("%s%sGet" % ("Const" * const, form), held.handle,
                       *map(ctypes.byref, outs))
            count = fields[form]
            self.judge.same("the size", said()[:2], [8, 6])
            self.judge.same("the arrays", said()[count:count + len(pointers)],
                            pointers)
            types = said()[count + len(pointers):]
            widths = [2] * (1 if form in ("Coo", "BlockedEll") else 2)
            self.judge.same("the types", types[:len(widths) + 2],
                            widths + [1, R["32F"].number])
        number = {"Csr": 1, "Csc": 2, "Coo": 3, "BlockedEll": 5, "Bsr": 6,
                  "SlicedEll": 7}[form]
        for name, expected in (("Format", number), ("IndexBase", 1)):
            out = ctypes.c_int()
            self.plain("SpMatGet" + name, held.handle, ctypes.byref(out))
            self.judge.same(name, out.value, expected)
        out = ctypes.c_uint64()
        self.plain("%sSpMatGetValues" % ("Const" * const), held.handle,
                   ctypes.byref(out))
        self.judge.same("the values", out.value, pointers[-1])
        self.plain("SpMatGetSizes", held.handle, numpy.zeros(9, numpy.int64))
        if const:
            return
        # cusparseSpMatPointers_t: a format, eight pointers.
        arrays = numpy.zeros(9, numpy.int64)
        self.plain("SpMatGetPointers", held.handle, arrays)
        self.judge.same("the pointers", list(arrays[1:1 + len(pointers)]),
                        pointers)
        self.plain("SpMatSetPointers", held.handle, arrays)
        if form in ("Coo", "Csr", "Bsr"):
            strides = [LONG(100)] * (1 + ["Coo", "Csr", "Bsr"].index(form))
            self.plain(form + "SetStridedBatch", held.handle, 3, *strides)
            self.plain("SpMatGetStridedBatch", held.handle,
                       ctypes.byref(out := ctypes.c_int()))
            self.judge.same("the batches", out.value, 3)
            self.plain("SpMatSetStridedBatch", held.handle, 2)

    def vectors(self, const):
        places = numpy.array([0, 2])
        memory = [Device(numpy.zeros(9, numpy.float32)) for _ in range(3)]
        x = self.sparse_vector(9, places, places, R["32F"], 64, 1, const)
        y = self.vector(numpy.zeros(9), R["32F"], const)
        m = self.dense(numpy.zeros((3, 2)), R["32F"], BY_ROWS, pad=1)
        if not const:
            m = self.dense(numpy.zeros((3, 2)), R["32F"], BY_ROWS, const=False,
                           pad=1)[0]
        begin = "Const" * const
        for held, name, expected in [
                (x, "SpVec", [9, 2, *x.arrays, 3, 1, 0]),
                (y, "DnVec", [9, *y.arrays, 0]),
                (m, "DnMat", [3, 2, 3, *m.arrays, 0, BY_ROWS])]:
            outs = [ctypes.c_int64() for _ in range(8)]
            self.plain(begin + name + "Get", held.handle,
                       *map(ctypes.byref, outs))
            self.judge.same(name, [out.value for out in outs[:len(expected)]], [
                e.pointer.value if isinstance(e, Device) else e
                for e in expected])
            if not const:
                held.arrays[-1] = memory.pop()
                self.plain(name + "SetValues", held.handle, held.arrays[-1])
            self.plain(begin + name + "GetValues", held.handle,
                       ctypes.byref(outs[0]))
            self.judge.same("the values", outs[0].value,
                            held.arrays[-1].pointer.value)
        out = ctypes.c_int()
        self.plain("SpVecGetIndexBase", x.handle, ctypes.byref(out))
        self.judge.same("the base", out.value, 1)
        if not const:
            self.plain("DnMatSetStridedBatch", m.handle, 4, LONG(50))
        stride = LONG()
        self.plain("DnMatGetStridedBatch", m.handle, ctypes.byref(out),
                   ctypes.byref(stride))
        self.judge.same("the batches", (out.value, stride.value),
                        (1, 0) if const else (4, 50))

    def state(self):
        """Of the handle and the library."""
        other = Sparse(self.judge)
        out, stream = ctypes.c_int(), ctypes.c_void_p()
        driver("cuStreamCreate", ctypes.byref(stream), 1)
        other("SetStream", stream)
        other("GetStream", ctypes.byref(got := ctypes.c_void_p()))
        self.judge.same("the stream", got.value, stream.value)
        other.spmv(UNIFORM[0], "Csr")
        other.close()
        for mode in 1, 0:
            other("SetPointerMode", mode)
            other("GetPointerMode", ctypes.byref(out))
            self.judge.same("the pointer mode", out.value, mode)
        other("GetVersion", ctypes.byref(out))
        parts = numpy.zeros(3, numpy.int32)
        for part in range(3):
            self.plain("GetProperty", part, parts[part:])
        self.judge.same("the version", out.value, parts @ [1000, 100, 1])
        other("Destroy")
        self.library.called |= other.library.called
        for name, expected in (("Name", b"CUSPARSE_STATUS_INVALID_VALUE"),
                               ("String", None)):
            function = self.library.file["cusparseGetError" + name]
            function.restype = ctypes.c_char_p
            self.library.called.add("cusparseGetError" + name)
            text = function(3)
            self.judge.same("the error's " + name, bool(text) and (
                expected is None or text == expected), True)
        for name, *args in (("SetLevel", 0), ("SetMask", 0),
                            ("SetCallback", None), ("SetFile", None),
                            ("OpenFile", b"/dev/null"), ("ForceDisable",)):
            self.plain("Logger" + name, *args)

    def refused(self):
        for name in ("SpMVOp_createPlan", "SpMMOp_createPlan", "SpMMOp",
                     "CreateCooAoS"):
            self.judge.same(name, self.library.status("cusparse" + name,
                                                      self.handle),
                            NOT_SUPPORTED)


FORMS = ["Csr", "Csc", "Coo", "Bsr", "SlicedEll"]
INDICES = [(32, 32), (64, 32), (64, 64)]
OPS = [N, T, C]
SHAPES = [(1, 1), (1, 9), (7, 5), (300, 170)]
SINGLES = [UNIFORM[0], UNIFORM[2]]
VECTORS = {"width": [32, 64], "base": [0, 1]}
ON_DEVICE = {"on_device": [False, True]}
SCALARS = {"scalars": [(2, 3), (0, 1), (1, 0), (0, 0)]}
# A family, its name, and what it is called with, all with all.
FAMILIES = [
    (Sparse.axpby, {"types": UNIFORM, "beta": [0, 1, 3], **VECTORS,
                    **ON_DEVICE}),
    (Sparse.axpby, {"types": HALVES, "beta": [0, 3], "width": [32],
                    "base": [0], **ON_DEVICE}),
    (Sparse.gather, {"types": SOME, **VECTORS}),
    (Sparse.scatter, {"types": SOME, **VECTORS}),
    (Sparse.rot, {"types": UNIFORM, **VECTORS, **ON_DEVICE}),
    (Sparse.spvv, {"types": UNIFORM, "op": [N, C], **VECTORS, **ON_DEVICE}),
    (Sparse.spvv, {"types": [row for row in MIXED if row[2] == row[3]],
                   "op": [N, C], "width": [32], "base": [0], **ON_DEVICE}),
    (Sparse.spmv, {"types": UNIFORM + MIXED, "form": FORMS, "op": OPS}),
    (Sparse.spmv, {"types": SINGLES, "form": FORMS, "op": OPS, "base": [0, 1],
                   "index": INDICES}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Csr", "Csc", "Coo", "SlicedEll"],
                   "op": OPS, "shape": SHAPES}),
    (Sparse.spmv, {"types": UNIFORM, "form": FORMS, **SCALARS, **ON_DEVICE}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Bsr"], "op": OPS,
                   "order": [BY_COLUMNS, BY_ROWS]}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Csr"], "algorithm": [2, 3]}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Coo"], "algorithm": [1, 4]}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Csr", "Csc"], "op": OPS,
                   "shuffle": [True]}),
    (Sparse.spmv, {"types": SINGLES, "form": ["Bsr"], "op": OPS,
                   "shape": [(12, 12)], "side": [(1, 1), (3, 3), (2, 3),
                                                 (4, 1)],
                   "order": [BY_COLUMNS, BY_ROWS]}),
    (Sparse.spmv, {"types": SINGLES, "form": ["SlicedEll"], "op": OPS,
                   "shape": SHAPES, "side": [(1, 1), (3, 3), (32, 32)]}),
    (Sparse.spmv_generic, {"types": UNIFORM, "form": FORMS, "op": OPS}),
    (Sparse.spmm, {"types": UNIFORM + MIXED,
                   "form": ["Csr", "Csc", "Coo", "Bsr", "BlockedEll"],
                   "opa": [N], "opb": [N, T]}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Csr", "Csc", "Coo"], "opa": OPS,
                   "opb": OPS, "orders": [(1, 1), (1, 2), (2, 1), (2, 2)]}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Csr", "Csc", "Coo", "Bsr"],
                   "base": [0, 1], "index": INDICES, **ON_DEVICE}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Csr", "Coo"], "shape": SHAPES,
                   "columns": [1, 5, 70], "batches": [None, 3]}),
    (Sparse.spmm, {"types": UNIFORM, "form": ["Csr"], **SCALARS}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Csr"],
                   "algorithm": [4, 6, 12]}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Csr", "Csc"], "opa": OPS,
                   "shuffle": [True]}),
    (Sparse.spmm, {"types": UNIFORM, "form": ["Csr", "Coo"], "opa": OPS,
                   "base": [0, 1], "batches": [3], "of_each": [True]}),
    (Sparse.spmm, {"types": SINGLES, "form": ["Bsr"], "opa": OPS,
                   "shape": [(12, 12)], "side": [(1, 1), (3, 3), (2, 3)]}),
    (Sparse.spmm, {"types": SINGLES, "form": ["BlockedEll"],
                   "shape": [(12, 12)], "side": [(1, 1), (3, 3), (4, 4)],
                   "columns": [1, 5, 70]}),
    (Sparse.sddmm, {"types": UNIFORM, "form": ["Csr", "Bsr"], "opa": [N, T],
                    "opb": [N, T], "orders": [(1, 1), (1, 2), (2, 1), (2, 2)]}),
    (Sparse.sddmm, {"types": UNIFORM, "base": [0, 1], "index": INDICES,
                    "old": [False, True], **ON_DEVICE}),
    (Sparse.spgemm, {"types": UNIFORM, "algorithm": range(6), "base": [0, 1],
                     **ON_DEVICE}),
    (Sparse.spgemm, {"types": UNIFORM, "algorithm": [0, 4],
                     "index": [(64, 64)], "shape": [(1, 1, 1), (1, 7, 1),
                                                    (90, 120, 60)]}),
    (Sparse.spgemm_reuse, {"types": UNIFORM, "base": [0, 1]}),
    (Sparse.spgeam, {"types": UNIFORM, "base": [0, 1]}),
    (Sparse.solve, {"types": UNIFORM, "form": ["Csr", "Csc", "Coo",
                                               "SlicedEll"],
                    "op": OPS, "fill": [LOWER, UPPER],
                    "diagonal": [NON_UNIT, UNIT]}),
    (Sparse.solve, {"types": SINGLES, "form": ["Csr", "Coo"], "base": [0, 1],
                    "index": INDICES, **ON_DEVICE, "columns": [None, 4]}),
    (Sparse.solve, {"types": UNIFORM, "form": ["Csr", "Coo"], "op": OPS,
                    "fill": [LOWER, UPPER], "diagonal": [NON_UNIT, UNIT],
                    "columns": [1, 4], "opb": [N, T],
                    "orders": [(1, 1), (2, 2)]}),
    (Sparse.to_dense, {"types": SOME, "form": [
        "Csr", "Csc", "Coo", "Bsr", "BlockedEll", "SlicedEll"],
                       "base": [0, 1], "index": INDICES, "order": [1, 2]}),
    (Sparse.to_sparse, {"types": SOME, "form": [
        "Csr", "Csc", "Coo", "BlockedEll"], "base": [0, 1], "index": INDICES,
                        "order": [1, 2]}),
    (Sparse.convert, {"types": SINGLES, "form": FORMS,
                      "target": ["Csr", "Csc", "Coo"], "op": [N, T],
                      "base": [0, 1]}),
    (Sparse.descriptors, {"form": FORMS + ["BlockedEll"],
                          "const": [False, True]}),
    (Sparse.vectors, {"const": [False, True]}),
    (Sparse.state, {}),
    (Sparse.refused, {}),
]


def run(judge):
    sparse = Sparse(judge)
    letters = judge_cusparse_letters.FAMILIES
    for families, sparse.density, sparse.on_device in [
            (FAMILIES + letters, None, False), (letters, None, True),
            (FAMILIES + letters, 0, False)]:
        sparse.close()
        for family, axes in families:
            for values in itertools.product(*axes.values()):
                case = dict(zip(axes, values))
                if sparse.density == 0 and (
                        case.get("types", UNIFORM[0]) != UNIFORM[0] or
                        case.get("letter", "S") != "S"):
                    continue
                judge.case("%s %s%s%s" % (family.__name__, ", ".join(
                    "%s %s" % (key, described(value))
                    for key, value in case.items()),
                    " without elements" * (sparse.density == 0),
                    " on the device" * sparse.on_device), functools.partial(
                        family, sparse, **case))
                judge.case("closing", sparse.close)
    sparse("Destroy")
    return sparse.library.called


def described(value):
    if isinstance(value, tuple) and isinstance(value[0], Type):
        return "-".join(of.name for of in value)
    return value
