"""cusolverSp and cusolverRf against scipy's sparse matrices; a part of
judge_cusolver.py, which calls each function of FAMILIES."""
import ctypes

import numpy
import scipy.sparse
import scipy.sparse.csgraph

from judge import TYPES, Device, Library, pointers

UNSET = -99
INVALID_VALUE, TYPE_NOT_SUPPORTED, ZERO_PIVOT = 3, 8, 10


def byref():
    """An integer that is not set, and the pointer to it."""
    value = ctypes.c_int(UNSET)
    return value, ctypes.byref(value)


def real(letter, value):
    return (ctypes.c_float if letter in "SC" else ctypes.c_double)(value)


def scalar(letter, value):
    """As an argument by value, which complex ones are as two real ones."""
    if letter in "SD":
        return real(letter, value)
    part = ctypes.c_float if letter == "C" else ctypes.c_double

    class Pair(ctypes.Structure):
        _fields_ = [("x", part), ("y", part)]
    return Pair(complex(value).real, complex(value).imag)


class Sparse:
    """cusolverSp's handle, descriptions of matrices, and matrices."""

    def __init__(self, solver):
        self.library, self.random = solver.library, solver.random
        self.near, self.same = solver.near, solver.same
        self.numbers = solver.numbers
        self.handle = ctypes.c_void_p()
        self.library("cusolverSpCreate", ctypes.byref(self.handle))
        self.descriptions = []
        self.cusparse = Library("libcusparse.so.12")
        for base in (0, 1):
            self.descriptions.append(ctypes.c_void_p())
            self.cusparse("cusparseCreateMatDescr",
                          ctypes.byref(self.descriptions[base]))
            self.cusparse("cusparseSetMatIndexBase", self.descriptions[base],
                          base)

    def name(self, letter, name, host):
        return "cusolverSp%s%s%s" % (letter, name, "Host" if host else "")

    def matrix(self, letter, m, n, definite=False):
        """With few elements, and none of them on the diagonal of every third
        row unless `definite`."""
        a = numpy.where(self.random.random((m, n)) < 3 / max(n, 1),
                        self.numbers(letter, m, n), 0)
        if definite:
            a = a @ a.conj().T + numpy.eye(n)
        else:
            a[:n] += 4 * numpy.roll(numpy.eye(n), 1, axis=1)
            for i in range(0, n if n > 1 else 0, 3):
                a[i, i] = 0
        return a.astype(TYPES[letter])

    def rows(self, a, base, host, with_values=True):
        """What describes it to a function: elements, description, values,
        starts of rows, columns."""
        csr = scipy.sparse.csr_matrix(a)
        csr.sort_indices()
        arrays = [csr.indptr.astype("i4") + numpy.int32(base),
                  csr.indices.astype("i4") + numpy.int32(base)]
        if with_values:
            arrays.insert(0, csr.data)
        return [csr.nnz, self.descriptions[base]] + [
            array if host else Device(array) for array in arrays]


def placed(array, host):
    """Where the function wants it, and how to read it again."""
    if host:
        copy = array.copy()
        return copy, lambda: copy
    device = Device(array)
    return device, device.get


def unset(letter, n, host):
    return placed(numpy.full(n, UNSET, TYPES[letter]), host)


# Systems.

def lsv(s, letter, kind, base, reorder, n):
    method, host = kind
    a = s.matrix(letter, n, n, method == "chol")
    b = s.numbers(letter, n)
    x, got = unset(letter, n, host)
    singular, at = byref()
    s.library(s.name(letter, "csrlsv" + method, host), s.handle, n,
              *s.rows(a, base, host), placed(b, host)[0], real(letter, 0),
              reorder, x, at)
    s.same("singularity", singular.value, -1)
    s.near("A x", a @ got(), b, 128)


def lsv_singular(s, letter, kind, n):
    """The step at which there is no pivot."""
    method, host = kind
    for place in (0, n // 2, n - 1):
        a = s.matrix(letter, n, n, True)
        a[place] = a[:, place] = 0
        a[place, place] = -1 if method == "chol" else 1e-30
        x, _ = unset(letter, n, host)
        singular, at = byref()
        s.library(s.name(letter, "csrlsv" + method, host), s.handle, n,
                  *s.rows(a, 0, host), placed(s.numbers(letter, n), host)[0],
                  real(letter, 1e-4), 0, x, at)
        if method == "lu" or place == n - 1:  # which row comes when is open
            s.same("is singular", 0 <= singular.value < n, True)
        else:
            s.same("singularity", singular.value, place)


def lsqv(s, letter, base, shape, lost):
    """Least squares, of a matrix that lacks so much of its rank."""
    m, n = shape
    a = s.matrix(letter, m, n)
    for i in range(lost):
        a[:, i] = a[:, i + 1] * 2
    rank_wanted = numpy.linalg.matrix_rank(a)
    b, x, p = s.numbers(letter, m), numpy.full(n, UNSET, a.dtype), numpy.full(
        n, UNSET, numpy.int32)
    rank, at = byref()
    distance = numpy.full(1, UNSET, a.real.dtype)
    s.library(s.name(letter, "csrlsqvqr", True), s.handle, m, n,
              *s.rows(a, base, True), b, real(letter, 1e-4), at, x, p,
              distance)
    s.same("rank", rank.value, rank_wanted)
    s.same("p", sorted(p), list(range(n)))
    s.near("A^H (A x - b)", a.conj().T @ (a @ x - b),
           numpy.zeros(n, a.dtype), 256)
    s.near("distance", distance[0], numpy.linalg.norm(
        a @ numpy.linalg.lstsq(a, b)[0] - b), 128)
    s.same("rank of the first columns", numpy.linalg.matrix_rank(
        a[:, p[:rank.value]]), rank.value)


def eigvsi(s, letter, host, base, n):
    a = s.matrix(letter, n, n, True) + numpy.diag(
        numpy.arange(n) * 3).astype(TYPES[letter])
    every = numpy.linalg.eigvalsh(a)
    wanted = every[n // 2]
    x, got = unset(letter, n, host)
    mu, got_mu = unset(letter, 1, host)
    s.library(s.name(letter, "csreigvsi", host), s.handle, n,
              *s.rows(a, base, host), scalar(letter, wanted + 0.01),
              placed(s.numbers(letter, n), host)[0], 200,
              real(letter, 1e-4 if letter in "SC" else 1e-9), mu, x)
    s.near("value", got_mu()[0] / 64, (wanted / 64).astype(a.dtype), 256)
    s.near("length", numpy.linalg.norm(got()), real(letter, 1).value, 128)
    error = numpy.linalg.norm(a @ got() - got_mu()[0] * got())
    s.same("A x is mu x", error < (0.01 if letter in "SC" else 1e-6), True)


def eigs(s, letter, base, n):
    a = s.matrix(letter, n, n)
    w = numpy.linalg.eigvals(a)
    number, at = byref()
    low, high = -0.731 - 1.317j, 2.113 + 2.229j
    wide = "C" if letter in "SC" else "Z"
    s.library(s.name(letter, "csreigs", True), s.handle, n,
              *s.rows(a, base, True), scalar(wide, low), scalar(wide, high),
              at)
    s.same("number", number.value, numpy.count_nonzero(
        (w.real >= low.real) & (w.real <= high.real) & (w.imag >= low.imag)
        & (w.imag <= high.imag)))


# Orders.

def grid(letter, side):
    """A square grid's neighbours, in an order of their own."""
    line = sum(numpy.eye(side, k=k) for k in (-1, 0, 1))
    a = numpy.kron(line, numpy.eye(side)) + numpy.kron(numpy.eye(side), line)
    p = numpy.random.default_rng(3).permutation(len(a))
    return a[p][:, p].astype(TYPES[letter])


def fill_in(a):
    """How many elements a factor of A comes to have."""
    a = a != 0
    for k in range(len(a)):
        others = numpy.flatnonzero(a[k + 1:, k]) + k + 1
        a[numpy.ix_(others, others)] = True
    return numpy.count_nonzero(a)


def orders(s, letter, name, base, side):
    a = grid(letter, side)
    n = len(a)
    p = numpy.full(n, UNSET, numpy.int32)
    options = [ctypes.c_void_p()] * (name == "metisnd")
    s.library("cusolverSpXcsr%sHost" % name, s.handle, n,
              *s.rows(a, base, True, False), *options, p)
    s.same("p", sorted(p), list(range(n)))
    if name == "symrcm" and side:
        def band(order):
            places = numpy.argwhere(a[order][:, order])
            return abs(places[:, 0] - places[:, 1]).max()
        theirs = scipy.sparse.csgraph.reverse_cuthill_mckee(
            scipy.sparse.csr_matrix(a), True)
        s.same("band is narrow", band(p) <= band(theirs) * 1.25, True)
    elif side > 2:
        s.same("little is filled in", fill_in(a[p][:, p]) < fill_in(a) * 0.75,
               True)


def issym(s, letter, base):
    a = grid(letter, 3)
    for change in (False, True):
        if change:
            a[0, numpy.flatnonzero(a[0] == 0)[0]] = 1
        count, descr, starts, columns = s.rows(a, base, True, False)
        answer, at = byref()
        s.library("cusolverSpXcsrissymHost", s.handle, len(a), count, descr,
                  starts, starts[1:].copy(), columns, at)
        s.same("is symmetric", answer.value, int(not change))


def permute(s, letter, base, shape):
    m, n = shape
    a = s.matrix(letter, m, n)
    p, q = (s.random.permutation(size).astype(numpy.int32) for size in shape)
    count, descr, values, starts, columns = s.rows(a, base, True)
    size = ctypes.c_size_t()
    s.library("cusolverSpXcsrperm_bufferSizeHost", s.handle, m, n, count,
              descr, starts, columns, p, q, ctypes.byref(size))
    places = numpy.arange(count, dtype=numpy.int32)
    s.library("cusolverSpXcsrpermHost", s.handle, m, n, count, descr, starts,
              columns, p, q, places, numpy.zeros(size.value + 1, "i1"))
    got = scipy.sparse.csr_matrix(
        (values[places], columns - base, starts - base), shape)
    s.same("A(p, q)", got.toarray(), a[p][:, q])


def zfd(s, letter, base, n):
    """Rows in an order that has elements on the diagonal."""
    a = s.matrix(letter, n, n)
    a[:n // 3] = 0
    a[:n // 3, 0] = 1
    p = numpy.full(n, UNSET, numpy.int32)
    number, at = byref()
    s.library(s.name(letter, "csrzfd", True), s.handle, n,
              *s.rows(a, base, True), p, at)
    matched = scipy.sparse.csgraph.maximum_bipartite_matching(
        scipy.sparse.csr_matrix(a))
    s.same("number", number.value, numpy.count_nonzero(matched >= 0))
    s.same("p", sorted(p), list(range(n)))
    s.same("on the diagonal", numpy.count_nonzero(a[p].diagonal()),
           number.value)


# Factors that are kept.

class Kept:
    """csrqr, csrlu and csrchol step by step."""

    def __init__(self, s, letter, kind, a, base=0):
        self.s, self.letter, self.a = s, letter, a
        self.method, self.host = kind
        self.info = ctypes.c_void_p()
        self.type = "Csr%sInfo%s" % (self.method, "Host" * self.host)
        s.library("cusolverSpCreate" + self.type, ctypes.byref(self.info))
        self.sizes = a.shape if self.method == "qr" else a.shape[1:]
        self.pattern = s.rows(a, base, self.host, False)
        self.rows = s.rows(a, base, self.host)

    def close(self):
        self.s.library("cusolverSpDestroy" + self.type, self.info)

    def call(self, step, *args):
        letter = "X" if step.startswith("Analysis") else self.letter
        self.s.library(self.s.name(letter, "csr" + self.method + step,
                                   self.host), self.s.handle, *args)

    def prepare(self, batch=()):
        """Returns the buffer."""
        end = "Batched" if batch else ""
        self.call("Analysis" + end, *self.sizes, *self.pattern, self.info)
        sizes = [ctypes.c_size_t(), ctypes.c_size_t()]
        self.call("BufferInfo" + end, *self.sizes, *self.rows, *batch,
                  self.info, *[ctypes.byref(size) for size in sizes])
        return placed(numpy.zeros(sizes[1].value + 1, "i1"), self.host)[0]

    def factor(self, buffer, mu=0):
        if self.method == "qr":
            self.call("Setup", *self.sizes, *self.rows,
                      scalar(self.letter, mu), self.info)
            self.call("Factor", *self.sizes, self.rows[0], ctypes.c_void_p(),
                      ctypes.c_void_p(), self.info, buffer)
        else:
            threshold = [real(self.letter, 1)] * (self.method == "lu")
            self.call("Factor", *self.sizes, *self.rows, self.info, *threshold,
                      buffer)

    def zero_pivot(self, tol=0.0):
        value, at = byref()
        self.call("ZeroPivot", self.info, real(self.letter, tol), at)
        return value.value

    def solve(self, buffer, b):
        x, got = unset(self.letter, self.a.shape[1], self.host)
        self.call("Solve", *self.sizes, placed(b, self.host)[0], x, self.info,
                  buffer)
        return got()


def kept(s, letter, kind, base, shape, mu):
    m, n = shape
    if kind[0] != "qr" and (m != n or mu) or m != n and mu:
        return
    a = s.matrix(letter, m, n, kind[0] == "chol")
    b = s.numbers(letter, m)
    factor = Kept(s, letter, kind, a, base)
    buffer = factor.prepare()
    factor.factor(buffer, mu)
    s.same("zero pivot", factor.zero_pivot(), -1)
    shifted = a - mu * numpy.eye(m, n, dtype=a.dtype)
    x = factor.solve(buffer, b)
    s.near("A^H (A x - b)", shifted.conj().T @ (shifted @ x - b),
           numpy.zeros(n, a.dtype), 512)
    if kind[0] == "lu":
        extract(factor, buffer)
    factor.close()


def extract(factor, buffer):
    s, n = factor.s, factor.sizes[0]
    counts, at = zip(*(byref() for _ in "LU"))
    s.library("cusolverSpXcsrluNnzHost", s.handle, *at, factor.info)
    p, q = (numpy.full(n, UNSET, numpy.int32) for _ in "PQ")
    parts = [[s.descriptions[base], numpy.zeros(count.value, factor.a.dtype),
              numpy.full(n + 1, UNSET, "i4"), numpy.zeros(count.value, "i4")]
             for base, count in enumerate(counts)]
    s.library(s.name(factor.letter, "csrluExtract", True), s.handle, p, q,
              *parts[0], *parts[1], factor.info, buffer)
    lower, upper = (scipy.sparse.csr_matrix(
        (values, columns - base, starts - base), (n, n)).toarray()
        for base, (_, values, starts, columns) in enumerate(parts))
    s.same("L", lower, numpy.tril(lower))
    s.same("U", upper, numpy.triu(upper))
    s.same("L's diagonal", (lower.diagonal() == 1).all(), True)
    s.near("L U", lower @ upper, factor.a[p][:, q], 32)


def kept_singular(s, letter, kind, n):
    a = s.matrix(letter, n, n, True)
    a[n // 2] = a[:, n // 2] = 0
    a[n // 2, n // 2] = 1e-30 if kind[0] != "chol" else -1
    factor = Kept(s, letter, kind, a)
    factor.factor(factor.prepare())
    s.same("zero pivot", 0 <= factor.zero_pivot(1e-4) < n, True)
    factor.close()


def qr_batched(s, letter, base, shape, count):
    m, n = shape
    pattern = s.matrix(letter, m, n)
    every = [numpy.where(pattern == 0, 0, pattern + i) for i in range(count)]
    b = s.numbers(letter, m * count)
    factor = Kept(s, letter, ("qr", False), pattern, base)
    values = Device(numpy.concatenate([a[pattern != 0] for a in every]))
    factor.rows[2] = values
    buffer = factor.prepare((count,))
    x, got = unset(letter, n * count, False)
    factor.call("svBatched", m, n, *factor.rows, Device(b), x, count,
                factor.info, buffer)
    for i, a in enumerate(every):
        s.near("A^H (A x - b)", a.conj().T @ (
            a @ got()[n * i:n * (i + 1)] - b[m * i:m * (i + 1)]),
               numpy.zeros(n, a.dtype), 2048)
    factor.close()


def sp_refuses(s, letter):
    """Bad sizes, columns, descriptions and orders."""
    a = numpy.eye(3, dtype=TYPES[letter])
    b, x = s.numbers(letter, 3), numpy.zeros(3, a.dtype)
    count, descr, values, starts, columns = s.rows(a, 0, True)

    def status(n, descr, columns, reorder):
        return s.library.status(
            s.name(letter, "csrlsvlu", True), s.handle, n, count, descr,
            values, starts, columns, b, real(letter, 0), reorder, x,
            byref()[1])
    s.same("status", status(3, descr, columns, 0), 0)
    s.same("n", status(-1, descr, columns, 0), INVALID_VALUE)
    s.same("columns", status(3, descr, columns + 1, 0), INVALID_VALUE)
    s.same("reorder", status(3, descr, columns, 4), INVALID_VALUE)
    s.cusparse("cusparseSetMatType", descr, 3)
    s.same("type", status(3, descr, columns, 0), TYPE_NOT_SUPPORTED)
    s.cusparse("cusparseSetMatType", descr, 0)
    stream = ctypes.c_void_p()
    s.library("cusolverSpSetStream", s.handle, ctypes.c_void_p(2))
    s.library("cusolverSpGetStream", s.handle, ctypes.byref(stream))
    s.same("stream", stream.value, 2)
    s.library("cusolverSpSetStream", s.handle, ctypes.c_void_p())


# cusolverRf.

class Refactor:
    """Matrices A, B of one pattern, and the order in which A has been
    factorized; `by_columns` says how all is laid out."""

    def __init__(self, s, by_columns, diagonal):
        self.s, self.by_columns, self.n = s, by_columns, 7
        self.diagonal = diagonal
        self.a = s.matrix("D", 7, 7) + 9 * numpy.eye(7)
        self.b = numpy.where(self.a == 0, 0, self.a + 0.5)
        self.p = s.random.permutation(7).astype(numpy.int32)
        self.q = self.p.copy()
        self.on_p, self.on_q = Device(self.p), Device(self.q)
        self.rf = ctypes.c_void_p()
        s.library("cusolverRfCreate", ctypes.byref(self.rf))
        s.library("cusolverRfSetMatrixFormat", self.rf, int(by_columns),
                  diagonal)

    def rows(self, a, host):
        """Elements, starts, columns, values; L and U with all that may be
        filled in."""
        count, _, values, starts, columns = self.s.rows(
            a.T if self.by_columns else a, 0, host)
        return count, starts, columns, values

    def setup(self, host, values=None):
        """`values`: of many matrices."""
        a = list(self.rows(self.a, host))
        if values is not None:
            a[3] = values
        ones = numpy.ones((7, 7))
        order = (self.p, self.q) if host else (self.on_p, self.on_q)
        return (self.n, *a, *self.rows(numpy.tril(ones), host),
                *self.rows(numpy.triu(ones), host), *order, self.rf)


def rf_factors(s, letter, host, by_columns, diagonal, columns):
    if letter != "D":  # there is no other
        return
    r = Refactor(s, by_columns, diagonal)
    call = s.library
    call("cusolverRfSetup" + ("Host" if host else "Device"), *r.setup(host))
    call("cusolverRfAnalyze", r.rf)
    for a in (r.a, r.b):
        count, starts, places, values = r.rows(a, False)
        call("cusolverRfResetValues", r.n, count, starts, places, values,
             r.on_p, r.on_q, r.rf)
        call("cusolverRfRefactor", r.rf)
        b = s.numbers("D", r.n, columns)
        x = Device(b)
        call("cusolverRfSolve", r.rf, r.on_p, r.on_q, columns,
             Device(numpy.zeros(r.n * columns)), r.n, x, r.n)
        s.near("A X", a @ x.get(), b, 32)
    rf_extract(r)
    call("cusolverRfDestroy", r.rf)


def rf_extract(r):
    """L and U of B, apart and in one."""
    s = r.s
    free = ctypes.CDLL(None).free

    def taken(count, starts, places, values):
        def read(pointer, kind, size):
            return numpy.ctypeslib.as_array(ctypes.cast(
                pointer, ctypes.POINTER(kind)), (size,)).copy()
        out = scipy.sparse.csr_matrix(  # whatever the format of A
            (read(values, ctypes.c_double, count.value),
             read(places, ctypes.c_int, count.value),
             read(starts, ctypes.c_int, r.n + 1)), (r.n, r.n)).toarray()
        for pointer in (starts, places, values):
            free(pointer)
        return out

    def out():
        return [ctypes.c_int(UNSET)] + [ctypes.c_void_p() for _ in range(3)]
    lower, upper, bundle, device = out(), out(), out(), out()
    s.library("cusolverRfExtractSplitFactorsHost", r.rf, *[
        ctypes.byref(v) for v in lower + upper])
    s.library("cusolverRfExtractBundledFactorsHost", r.rf, *[
        ctypes.byref(v) for v in bundle])
    s.library("cusolverRfAccessBundledFactorsDevice", r.rf, *[
        ctypes.byref(v) for v in device])
    s.same("elements on the device", device[0].value, bundle[0].value)
    lower, upper, bundle = taken(*lower), taken(*upper), taken(*bundle)
    # Whose diagonal is of ones, which are there or left out.
    ones = (lower, upper, lower, upper)[r.diagonal]
    s.same("ones", ones.diagonal().tolist(), [int(r.diagonal < 2)] * r.n)
    numpy.fill_diagonal(ones, 1)
    s.same("L", lower, numpy.tril(lower))
    s.same("U", upper, numpy.triu(upper))
    s.near("L U", lower @ upper, r.b[r.p][:, r.q], 32)
    s.near("L + U - 1", bundle, lower + upper - numpy.eye(r.n))


def rf_batch(s, letter, columns):
    if letter != "D":
        return
    r = Refactor(s, False, 0)
    call = s.library
    every = [r.a, r.b, r.a + r.b]
    kept_values = [r.rows(a, True)[3] for a in every]
    addresses = numpy.array([v.ctypes.data for v in kept_values], "u8")
    n, *rest = r.setup(True, addresses)
    call("cusolverRfBatchSetupHost", 3, n, *rest)
    call("cusolverRfBatchAnalyze", r.rf)
    count, starts, places, _ = r.rows(r.a, False)
    for turn in (every, every[::-1]):
        values = [r.rows(a, False)[3] for a in turn]
        call("cusolverRfBatchResetValues", 3, n, count, starts, places,
             pointers(values), r.on_p, r.on_q, r.rf)
        call("cusolverRfBatchRefactor", r.rf)
        positions = numpy.full(3, UNSET, numpy.int32)
        call("cusolverRfBatchZeroPivot", r.rf, positions)
        s.same("zero pivots", positions, [-1] * 3)
        b = [s.numbers("D", n, columns) for _ in turn]
        x = [Device(v) for v in b]
        call("cusolverRfBatchSolve", r.rf, r.on_p, r.on_q, columns,
             Device(numpy.zeros(2 * n * columns * 3)), n, pointers(x), n)
        for a, right, got in zip(turn, b, x):
            s.near("A X", a @ got.get(), right, 32)
    values = [r.rows(a, False)[3] for a in every[:2]] + [
        Device(numpy.zeros(count))]
    call("cusolverRfBatchResetValues", 3, n, count, starts, places,
         pointers(values), r.on_p, r.on_q, r.rf)
    call("cusolverRfBatchRefactor", r.rf)
    s.same("status of zero pivots", s.library.status(
        "cusolverRfBatchZeroPivot", r.rf, positions), ZERO_PIVOT)
    s.same("zero pivots", positions, [-1, -1, 0])
    call("cusolverRfDestroy", r.rf)


def rf_settings(s, letter):
    if letter != "D":
        return
    rf = ctypes.c_void_p()
    s.library("cusolverRfCreate", ctypes.byref(rf))
    for name, kind, values in (
            ("MatrixFormat", ctypes.c_int, (1, 3)),
            ("Algs", ctypes.c_int, (2, 3)),
            ("NumericProperties", ctypes.c_double, (0.25, 0.5)),
            ("ResetValuesFastMode", ctypes.c_int, (1,))):
        s.library("cusolverRfSet" + name, rf, *[kind(v) for v in values])
        got = [kind() for _ in values]
        s.library("cusolverRfGet" + name, rf, *[ctypes.byref(v) for v in got])
        s.same(name, tuple(v.value for v in got), values)
    report, at = byref()
    s.library("cusolverRfGetNumericBoostReport", rf, at)
    s.same("boosted", report.value, 0)
    s.library("cusolverRfDestroy", rf)
    s.library("cusolverSpDestroy", s.handle)


BOTH = (True, False)
SOLVERS = (("lu", True), ("qr", True), ("qr", False), ("chol", True),
           ("chol", False))
SHAPES = ((1, 1), (9, 9), (50, 50), (9, 4))
FAMILIES = [
    (lsv, SOLVERS, (0, 1), (0, 1, 2, 3), (0, 1, 9, 50)),
    (lsv_singular, SOLVERS, (9,)),
    (lsqv, (0, 1), ((1, 1), (9, 9), (20, 7)), (0,)),
    (lsqv, (0, 1), ((9, 9), (20, 7)), (1, 2)),
    (eigvsi, BOTH, (0, 1), (1, 9, 30)),
    (eigs, (0, 1), (1, 9, 30)),
    (orders, ("symrcm", "symmdq", "symamd", "metisnd"), (0, 1), (0, 1, 2, 9)),
    (issym, (0, 1)),
    (permute, (0, 1), ((0, 0), (1, 1), (9, 9), (9, 4), (4, 4))),
    (zfd, (0, 1), (1, 9, 50)),
    (kept, SOLVERS, (0, 1), SHAPES, (0, 0.5)),
    (kept_singular, SOLVERS, (9,)),
    (qr_batched, (0, 1), SHAPES[:2] + SHAPES[3:], (1, 3)),
    (sp_refuses,),
    (rf_factors, BOTH, BOTH, (0, 1, 2, 3), (1, 2)),
    (rf_batch, (1,)),
    (rf_settings,),
]
