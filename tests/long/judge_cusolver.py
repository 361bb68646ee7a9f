"""cuSOLVER against scipy's LAPACK and sparse solvers; run by numpy_judges.py.

FAMILIES, at the end, names each family's function and what it is called with;
a family's function is called for each combination of them and for each type.
Results that are not unique (vectors, factors' signs) are judged by what they
multiply to. cusolverSp and cusolverRf are in judge_cusolver_sparse.py.

Where the host has LAPACK our library works by that: CERBERUS_BLAS= in the
environment has its own loops judged.
"""
import ctypes
import itertools

import numpy
import scipy.linalg
import scipy.linalg.lapack

import judge_cusolver_sparse
from judge import TYPES, Device, Library, numbers, pointers
from judge_numbers import NUMBERS, REAL

COMPLEX = {"S": "C", "D": "Z", "C": "C", "Z": "Z"}
KINDS = {NUMBERS[letter].dtype: NUMBERS[letter].code
         for letter in TYPES}  # cudaDataType
NO_TRANSPOSE, TRANSPOSE, CONJUGATE = 0, 1, 2
LEFT, RIGHT = 0, 1
ALL, BY_INDEX, BY_VALUE = 1001, 1002, 1003  # cusolverEigRange_t
NONE = 0  # by values of which there are none
NOT_INITIALIZED, INVALID_VALUE = 1, 3
NO_PARAMS, NO_TYPES, NO_REFINEMENT = 12, 14, 15  # of cusolverDnIRSParams_t
# What stands where nothing may be written, and what no result is.
UNTOUCHED, UNSET = 77, -99

# Three interfaces to the same: cusolverDnDpotrf, cusolverDnXpotrf and
# cusolverDnPotrf.
LETTERS, X, OLD = "letters", "X", "old"


class Matrix(Device):
    """A matrix, or a vector, in front of rows that nothing may write; as an
    argument it is what describes it, pointer and leading dimension."""

    def __init__(self, array, more=2):
        array = numpy.asarray(array)
        self.rows = len(array)
        full = numpy.full((self.rows + more,) + array.shape[1:], UNTOUCHED,
                          array.dtype, order="F")
        full[:self.rows] = array
        super().__init__(full)
        self.ld = len(full) if array.ndim == 2 else None

    def get(self):
        full = super().get()
        if not (full[self.rows:] == UNTOUCHED).all():
            raise AssertionError("rows behind the matrix were written")
        return full[:self.rows]


def empty(letter, *shape):
    return Matrix(numpy.full(shape, UNSET, TYPES[letter]))


def described(args, with_type):
    for arg in args:
        if isinstance(arg, Matrix):
            if with_type:
                yield KINDS[arg.dtype]
            yield arg
            if arg.ld is not None:
                yield arg.ld
        else:
            yield arg


class Solver:
    """cusolverDn, and what its judges share."""

    def __init__(self, judge):
        self.judge, self.library = judge, Library("libcusolver.so.12")
        self.random = numpy.random.default_rng(1)
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        self.library("cusolverDnCreate", ctypes.byref(self.handle))
        self.library("cusolverDnCreateParams", ctypes.byref(self.params))

    def numbers(self, letter, *shape):
        return numbers(self.random, TYPES[letter], *shape)

    def hermitian(self, letter, n):
        a = self.numbers(letter, n, n)
        return numpy.asfortranarray(a + a.conj().T)

    def definite(self, letter, n):
        a = self.numbers(letter, n, n)
        return numpy.asfortranarray(
            a @ a.conj().T / max(n, 1) + numpy.eye(n, dtype=a.dtype))

    def near(self, what, got, expected, factor=8):
        """As the judge's, for results of as many sums as there are rows."""
        size = max(numpy.shape(expected) + (1,))
        self.judge.near(what, got, expected, factor * (8 + size))

    def same(self, what, got, expected):
        self.judge.same(what, got, expected)

    def orthogonal(self, what, q):
        self.near(what + "'s orthogonality", q.conj().T @ q,
                  numpy.eye(q.shape[1], dtype=q.dtype))

    def call(self, interface, letter, name, *args, ask=None, work="size",
             after=(), behind=(), tail=(), params=True, compute=True, count=1):
        """The function's info, or `count` of them; None if there is none (0).
        `ask` is what asks for the workspace, if not `args`; `after` stands
        behind the workspace (`work`: "size", "plain" for one without its
        size, None), `behind` behind the info, `tail` at both ends."""
        info = Device(numpy.full(count, UNSET, numpy.int32))
        if interface == LETTERS:
            name = "cusolverDn" + letter + name
            before, sizes = [self.handle], [ctypes.c_int(-1)]
            wide = list
        else:
            name = "cusolverDn" + ("X" + name if interface == X
                                   else name.capitalize())
            before = [self.handle] + [self.params] * params
            if compute and work:
                args += (KINDS[numpy.dtype(TYPES[letter])],)
            sizes = [ctypes.c_size_t(0) for _ in range(1 + (interface == X))]

            def wide(values):
                return [ctypes.c_int64(v) if isinstance(v, int) else v
                        for v in values]
        typed = interface != LETTERS
        args = wide(described(args, typed))
        tail = wide(tail)
        spaces = []
        if work:
            asked = args if ask is None else wide(described(ask, typed))
            self.library(name + "_bufferSize", *before, *asked,
                         *[ctypes.byref(s) for s in sizes], *tail)
            room = sizes[0].value * (16 if interface == LETTERS else 1)
            spaces = [Device(numpy.zeros(room, numpy.int8)), sizes[0]]
            if interface == X:
                spaces += [numpy.zeros(sizes[1].value + 1, numpy.int8),
                           sizes[1]]
            elif work == "plain":
                spaces.pop()
        self.library(name, *before, *args, *spaces, *after,
                     *[info] * (count > 0), *behind, *tail)
        return info.get()[0] if count == 1 else info.get()

    def integers(self, interface, values):
        """Pivots: 64 bits wide but in the functions with letters."""
        return Device(numpy.array(values, numpy.int32 if interface == LETTERS
                                  else numpy.int64))


def lapack(name, *arrays):
    return scipy.linalg.lapack.get_lapack_funcs((name,), arrays)[0]


def triangle(a, lower):
    return numpy.tril(a) if lower else numpy.triu(a)


def only(a, lower):
    """A with NaN in the triangle that must not be read."""
    return numpy.where(triangle(numpy.ones(a.shape), lower) == 1, a, numpy.nan
                       ).astype(a.dtype)


def fill(lower):
    return 0 if lower else 1  # cublasFillMode_t


def op(a, operation):
    return [a, a.T, a.conj().T][operation]


def hermitian_name(letter, name):
    """The name of the complex function: syevd is heevd, orgqr ungqr."""
    if letter in "CZ":
        name = {"sy": "he", "or": "un"}[name[:2]] + name[2:]
    return name


# Matrices.

def size_of(name, letter):
    """Of elements whose squares are nothing, or no numbers."""
    return {"tiny": 1e-33 if letter in "SC" else 1e-300,
            "huge": 1e33 if letter in "SC" else 1e300}.get(name, 1)


def special(s, which, letter, m, n):
    """One of SPECIAL, or None, and about how large its elements are."""
    wide = COMPLEX["D"] if letter in "CZ" else "D"
    a = s.numbers(wide, m, n)
    columns, rows = numpy.arange(n), numpy.arange(m)[:, None]

    def orthogonal(size):
        return numpy.linalg.qr(s.numbers(wide, m, size))[0]
    a = {
        None: lambda: a,
        "NaN": lambda: a,
        "zero": lambda: 0 * a,
        "identity": lambda: numpy.eye(m, n),
        "ones": lambda: numpy.ones((m, n)),
        "tiny": lambda: a * size_of("tiny", letter),
        "huge": lambda: a * size_of("huge", letter),
        "rank two": lambda: a[:, :2] @ s.numbers(wide, 2, n),
        "few values": lambda: (orthogonal(m) * (numpy.arange(m) % 3 - 1)
                               ) @ orthogonal(n),
        "graded": lambda: a * 2.0 ** -(rows + columns),
        "cycle": lambda: numpy.roll(numpy.eye(m, n), 1, axis=0),
        "one chain": lambda: numpy.eye(m, n) * 2 + numpy.eye(m, n, 1),
        "growing": lambda: (rows == columns) * columns + 1.0 * (
            abs(rows - columns) == 1),
    }[which]()
    return numpy.asfortranarray(a.astype(TYPES[letter])), size_of(
        which, letter)


SPECIAL = ("zero", "identity", "ones", "tiny", "huge", "rank two",
           "few values", "graded", "cycle", "one chain", "growing")


def unscaled(got, scale):
    wide = got.astype(numpy.complex128 if got.dtype.kind == "c" else "f8")
    return (wide / scale).astype(got.dtype)


def hermitian_of(a):
    """With A's lower triangle."""
    a = numpy.tril(a) + numpy.tril(a, -1).conj().T
    numpy.fill_diagonal(a, a.diagonal().real)
    return numpy.asfortranarray(a)


# Factors and systems.

def potrf(s, letter, interface, lower, n, size):
    scale = size_of(size, letter)
    a = s.definite(letter, n)
    b = s.numbers(letter, n, 3)
    m, x = Matrix(only(a * a.dtype.type(scale), lower)), Matrix(b)
    s.same("info", s.call(interface, letter, "potrf", fill(lower), n, m), 0)
    expected = scipy.linalg.cholesky(a, lower=lower) if n else a
    s.near("factor", unscaled(m.get(), scale ** 0.5), only(expected, lower))
    s.same("potrs' info", s.call(interface, letter, "potrs", fill(lower), n, 3,
                                 m, x, work=None), 0)
    s.near("A X", a @ unscaled(x.get(), 1 / scale), b)
    if interface == LETTERS:
        s.same("potri's info", s.call(LETTERS, letter, "potri", fill(lower), n,
                                      m), 0)
        s.near("inverse", unscaled(triangle(m.get(), lower), 1 / scale),
               triangle(numpy.linalg.inv(a), lower))


def potrf_refuses(s, letter, interface, lower, n, wrong):
    """The leading minor that is not positive, or not a number (which LAPACK's
    own says, OpenBLAS not)."""
    for place in {0, n // 2, n - 1}:
        a = s.definite(letter, n)
        a[place, place] = wrong
        m = Matrix(a)
        s.same("info", s.call(interface, letter, "potrf", fill(lower), n, m),
               place + 1)


def potrf_batched(s, letter, lower, n, count):
    all_a = [s.definite(letter, n) for _ in range(count)]
    if count > 2:
        all_a[1][n - 1, n - 1] = -1
    infos = [n if count > 2 and i == 1 else 0 for i in range(count)]
    ms = [Matrix(only(a, lower)) for a in all_a]
    bs = [Matrix(s.numbers(letter, n, 1)) for _ in range(count)]
    before = [b.get() for b in bs]
    list_m, list_b = pointers(ms), pointers(bs)
    info = Device(numpy.full(count, UNSET, numpy.int32))
    s.library("cusolverDn%spotrfBatched" % letter, s.handle, fill(lower), n,
              list_m, n + 2, info, count)
    s.same("infos", info.get(), infos)
    s.library("cusolverDn%spotrsBatched" % letter, s.handle, fill(lower), n, 1,
              list_m, n + 2, list_b, n + 2, info, count)
    s.same("potrs' info", info.get()[0], 0)
    for a, m, b, x, bad in zip(all_a, ms, before, bs, infos):
        if not bad:
            s.near("factor", triangle(m.get(), lower),
                   scipy.linalg.cholesky(a, lower=lower))
            s.near("A X", a @ x.get(), b)


def lauum(s, letter, lower, n):
    a = s.numbers(letter, n, n)
    m = Matrix(only(a, lower))
    s.same("info", s.call(LETTERS, letter, "lauum", fill(lower), n, m), 0)
    t = triangle(a, lower)
    s.near("product", triangle(m.get(), lower), triangle(
        t.conj().T @ t if lower else t @ t.conj().T, lower))


def trtri(s, letter, lower, unit, n):
    a = triangle(s.numbers(letter, n, n) / max(n, 1), lower) + 2 * numpy.eye(
        n, dtype=TYPES[letter])
    m = Matrix(only(a, lower))
    options = {"params": False, "compute": False}
    s.same("info", s.call(X, letter, "trtri", fill(lower), int(unit), n, m,
                          **options), 0)
    expected = a.copy()
    if unit:
        numpy.fill_diagonal(expected, 1)
    expected = numpy.linalg.inv(expected)
    if unit:
        numpy.fill_diagonal(expected, a.diagonal())
    s.near("inverse", triangle(m.get(), lower), expected)
    if n and not unit:
        a[n // 2, n // 2] = 0
        s.same("info of singular", s.call(
            X, letter, "trtri", fill(lower), 0, n, Matrix(a), **options),
            n // 2 + 1)


def call_getrf(s, interface, letter, m, n, a, pivots):
    if interface == LETTERS:
        return s.call(interface, letter, "getrf", m, n, a, work="plain",
                      after=(pivots,))
    return s.call(interface, letter, "getrf", m, n, a, pivots,
                  ask=(m, n, a, KINDS[a.dtype]))


def getrf(s, letter, interface, shape, which):
    m, n = shape
    a, scale = special(s, which, letter, m, n)
    if which == "NaN" and min(shape) > 1:
        a[0, 0] = numpy.nan
    on_device = Matrix(a)
    pivots = s.integers(interface, [UNSET] * min(shape))
    info = call_getrf(s, interface, letter, m, n, on_device, pivots)
    if min(shape) == 0:
        s.same("info", info, 0)
        return
    got = on_device.get()
    if which == "NaN" and min(shape) > 1:  # which pivot follows is open
        s.same("info", info, 0)
        s.same("finite", numpy.isfinite(got).all(), False)
        return
    zeros = numpy.flatnonzero(got.diagonal() == 0)
    s.same("info", info, zeros[0] + 1 if len(zeros) else 0)
    lu, expected, expected_info = lapack("getrf", a)(a)
    if which is None:
        s.same("info as scipy's", info, expected_info)
        s.same("pivots", pivots.get(), expected + 1)
        s.near("factors", got, lu)
    for k, other in enumerate(pivots.get() - 1):
        a[[k, other]] = a[[other, k]]
    lower, upper = lower_upper(got)
    s.near("L U", lower @ unscaled(upper, scale), unscaled(a, scale))


def lower_upper(lu):
    least = min(lu.shape)
    return (numpy.tril(lu[:, :least], -1) + numpy.eye(
        len(lu), least, dtype=lu.dtype), numpy.triu(lu[:least]))


def getrf_without_pivots(s, letter, interface, shape):
    m, n = shape
    a = s.numbers(letter, m, n) + 4 * max(shape) * numpy.eye(
        m, n, dtype=TYPES[letter])
    on_device = Matrix(a)
    s.same("info", call_getrf(s, interface, letter, m, n, on_device,
                              ctypes.c_void_p()), 0)
    lower, upper = lower_upper(on_device.get())
    s.near("L U", lower @ upper, a)


def getrs(s, letter, interface, operation, n, columns):
    a, b = s.numbers(letter, n, n), s.numbers(letter, n, columns)
    on_device, x = Matrix(a), Matrix(b)
    pivots = s.integers(interface, [UNSET] * n)
    call_getrf(s, interface, letter, n, n, on_device, pivots)
    s.same("info", s.call(interface, letter, "getrs", operation, n, columns,
                          on_device, pivots, x, work=None), 0)
    if n:
        s.near("X", op(a, operation) @ x.get(), b, 32)


def laswp(s, letter, n, step):
    a = s.numbers(letter, n, 3)
    first, last = n // 4, n - n // 4
    pivots = numpy.full(first + (n - first) * abs(step), UNSET, numpy.int32)
    for k in range(first, last):
        pivots[first + (k - first) * abs(step)] = k + (7 * k + 3) % (n - k) + 1
    on_device = Matrix(a)
    s.library("cusolverDn%slaswp" % letter, s.handle, 3, on_device,
              on_device.ld, first + 1, last, Device(pivots), step)
    expected = a.copy()
    for k in range(first, last)[::1 if step > 0 else -1]:
        other = pivots[first + (k - first) * abs(step)] - 1
        expected[[k, other]] = expected[[other, k]]
    s.same("rows", on_device.get(), expected)


def sytrf(s, letter, interface, hermitian, lower, n, change):
    """Indefinite, so that there are pivots of two rows."""
    a = s.numbers(letter, n, n)
    a = numpy.asfortranarray(a + (a.conj().T if hermitian else a.T))
    numpy.fill_diagonal(a, a.diagonal().real * 0.01 if hermitian else 0)
    if change == "singular" and n:
        a[n // 2] = a[:, n // 2] = 0
    scale = size_of(change, letter)
    on_device = Matrix(only(a * a.dtype.type(scale), lower))
    pivots = s.integers(interface, [UNSET] * n)
    name = "hetrf" if hermitian else "sytrf"
    info = s.call(interface, letter, name, fill(lower), n, on_device, pivots,
                  ask=(n, on_device) if interface == LETTERS else None)
    if n == 0:
        s.same("info", info, 0)
        return
    expected, expected_pivots, expected_info = lapack(
        name if letter in "CZ" else "sytrf", a)(a, lower=lower)
    s.same("info", info, expected_info)
    s.same("pivots", pivots.get(), expected_pivots)
    got = triangle(on_device.get(), lower)
    s.near("D", unscaled(got.diagonal(), scale), expected.diagonal(), 32)
    if scale == 1:  # what is beside the diagonal is L's or D's
        s.near("factor", got, triangle(expected, lower), 32)
    if info:
        return
    if interface == X:
        for columns in (1, 3):
            b = s.numbers(letter, n, columns)
            x = Matrix(b)
            s.same("info of trs", s.call(
                X, letter, name[:-1] + "s", fill(lower), n, columns, on_device,
                pivots, x, params=hermitian, compute=False), 0)
            s.near("A X", a @ unscaled(x.get(), 1 / scale), b, 512)
    else:
        s.same("info of sytri", s.call(
            LETTERS, letter, "sytri", fill(lower), n, on_device, pivots), 0)
        s.near("inverse", unscaled(triangle(on_device.get(), lower),
                                   1 / scale),
               triangle(numpy.linalg.inv(a), lower), 512)


# Orthogonal factors.

def geqrf(s, letter, interface, shape, which):
    m, n = shape
    least = min(shape)
    a, scale = special(s, which, letter, m, n)
    on_device, tau = Matrix(a), empty(letter, least)
    args = (m, n, on_device, tau)
    s.same("info", s.call(
        interface, letter, "geqrf", *args,
        ask=args[:3] if interface == LETTERS else None), 0)
    r = unscaled(numpy.triu(on_device.get()[:least]), scale)
    a = unscaled(a, scale)
    name = hermitian_name(letter, "orgqr")
    # As many columns of Q as there are, fewer and, of a tall one, more.
    for columns in {least, least // 2, m}:
        copy = numpy.zeros((m, columns), a.dtype)
        copy[:, :min(columns, n)] = on_device.get()[:, :columns]
        q = Matrix(copy)
        k = min(columns, least)
        s.same("info of orgqr", s.call(LETTERS, letter, name, m, columns, k,
                                       q, tau), 0)
        s.orthogonal("Q", q.get())
        if columns >= least:
            s.near("Q R", q.get()[:, :least] @ r, a)
    full = numpy.zeros((m, m), a.dtype)
    full[:, :least] = on_device.get()[:, :least]
    square = Matrix(full)
    s.call(LETTERS, letter, name, m, m, least, square, tau)
    q = square.get()
    name = hermitian_name(letter, "ormqr")
    for side, operation in itertools.product((LEFT, RIGHT), (
            NO_TRANSPOSE, TRANSPOSE if letter in "SD" else CONJUGATE)):
        c = s.numbers(letter, *((m, 3) if side == LEFT else (3, m)))
        on_c = Matrix(c)
        s.same("info of ormqr", s.call(
            LETTERS, letter, name, side, operation, *c.shape, least,
            on_device, tau, on_c), 0)
        qc = op(q, operation)
        s.near("Q C", on_c.get(), qc @ c if side == LEFT else c @ qc)
    if interface == X and m >= n:
        t = empty(letter, n, n)
        v = numpy.tril(on_device.get(), -1) + numpy.eye(m, n, dtype=a.dtype)
        s.call(X, letter, "larft", 0, 0, m, n, on_device, tau, t, count=0)
        s.near("I - V T V^H", numpy.eye(m, dtype=a.dtype)
               - v @ numpy.triu(t.get()) @ v.conj().T, q)


def gebrd(s, letter, shape, which):
    m, n = shape
    a, scale = special(s, which, letter, m, n)
    on_device = Matrix(a)
    d, e = empty(REAL[letter], n), empty(REAL[letter], max(n - 1, 0))
    tau_q, tau_p = empty(letter, n), empty(letter, n)
    s.same("info", s.call(LETTERS, letter, "gebrd", m, n, on_device, d, e,
                          tau_q, tau_p, ask=(m, n)), 0)
    b = numpy.diag(d.get()) + (numpy.diag(e.get(), 1) if n else 0)
    b = unscaled(b, scale).astype(a.dtype)
    name = hermitian_name(letter, "orgbr")
    q, p = Matrix(on_device.get()), Matrix(on_device.get()[:n])
    s.same("info of Q", s.call(LETTERS, letter, name, LEFT, m, n, n, q,
                               tau_q), 0)
    s.same("info of P", s.call(LETTERS, letter, name, RIGHT, n, n, m, p,
                               tau_p), 0)
    s.orthogonal("Q", q.get())
    s.orthogonal("P", p.get())
    s.near("Q B P^H", q.get() @ b @ p.get(), unscaled(a, scale))


def sytrd(s, letter, lower, n, which):
    a, scale = special(s, which, letter, n, n)
    a = hermitian_of(a)
    on_device = Matrix(only(a, lower))
    d, e = empty(REAL[letter], n), empty(REAL[letter], max(n - 1, 0))
    tau = empty(letter, max(n - 1, 0))
    s.same("info", s.call(
        LETTERS, letter, hermitian_name(letter, "sytrd"), fill(lower), n,
        on_device, d, e, tau), 0)
    t = numpy.diag(d.get()) + (numpy.diag(e.get(), 1) + numpy.diag(e.get(), -1)
                               if n else 0)
    t = unscaled(t, scale).astype(a.dtype)
    q = Matrix(on_device.get())
    s.same("info of orgtr", s.call(
        LETTERS, letter, hermitian_name(letter, "orgtr"), fill(lower), n, q,
        tau), 0)
    q = q.get()
    s.orthogonal("Q", q)
    s.near("Q T Q^H", q @ t @ q.conj().T, unscaled(a, scale))
    for side, operation in itertools.product((LEFT, RIGHT), (
            NO_TRANSPOSE, TRANSPOSE if letter in "SD" else CONJUGATE)):
        c = s.numbers(letter, *((n, 3) if side == LEFT else (3, n)))
        on_c = Matrix(c)
        s.same("info of ormtr", s.call(
            LETTERS, letter, hermitian_name(letter, "ormtr"), side,
            fill(lower), operation, *c.shape, on_device, tau, on_c), 0)
        qc = op(q, operation)
        s.near("Q C", on_c.get(), qc @ c if side == LEFT else c @ qc)


# Eigenvalues.

def eigen(s, a, b, itype, w, z):
    """Vectors of A z = w B z, of A B z = w z (2) and of B A z = w z (3)."""
    if b is None:
        s.orthogonal("vectors", z)
        s.near("A z", a @ z, z * w)
        return
    left = {1: a @ z, 2: a @ b @ z, 3: b @ a @ z}[itype]
    right = {1: b @ z, 2: z, 3: z}[itype]
    s.near("A z", left, right * w, 128)
    metric = b if itype < 3 else numpy.linalg.inv(b)
    s.near("z^H B z", z.conj().T @ metric @ z, numpy.eye(z.shape[1]), 128)


class Jacobi:
    """syevjInfo_t or gesvdjInfo_t."""

    def __init__(self, s, name):
        self.s, self.name, self.info = s, name, ctypes.c_void_p()
        kind = name.capitalize() + "Info"
        s.library("cusolverDnCreate" + kind, ctypes.byref(self.info))
        for what, value in (("Tolerance", ctypes.c_double(1e-14)),
                            ("MaxSweeps", 50), ("SortEig", 1)):
            s.library("cusolverDnX%sSet%s" % (name, what), self.info, value)

    def close(self, told=True, scale=1):
        """`told`: that the residual was small, which of many nobody tells."""
        residual, sweeps = ctypes.c_double(-1), ctypes.c_int(-1)
        for what, value in (("Residual", residual), ("Sweeps", sweeps)):
            status = self.s.library.status(
                "cusolverDnX%sGet%s" % (self.name, what), self.s.handle,
                self.info, ctypes.byref(value))
            self.s.same(what + "'s status", status == 0, told)
        if told:
            self.s.same("residual", 0 <= residual.value and (
                residual.value < 1e-3 or scale > 1), True)
            self.s.same("sweeps", sweeps.value >= 0, True)
        self.s.library("cusolverDnDestroy%sInfo" % self.name.capitalize(),
                       self.info)


def syev(s, letter, how, vectors, lower, n, which):
    """syevd and syevj; sygvd and sygvj with each kind of problem."""
    interface, name, itype = how
    a, scale = special(s, which, letter, n, n)
    a = hermitian_of(a)
    b = s.definite(letter, n) if itype else None
    on_a, w = Matrix(only(a, lower)), empty(REAL[letter], n)
    args = (int(vectors), fill(lower), n, on_a, w)
    if itype:
        on_b = Matrix(only(b, lower))
        args = (itype,) + args[:-1] + (on_b, w)
    jacobi = Jacobi(s, "syevj") if name.endswith("j") else None
    if interface == LETTERS:
        name = hermitian_name(letter, name)
    s.same("info", s.call(interface, letter, name, *args,
                          tail=(jacobi.info,) if jacobi else ()), 0)
    if n:
        a, w = unscaled(a, scale), unscaled(w.get(), scale)
        s.near("values", w, scipy.linalg.eigh(
            a, b, type=itype or 1, eigvals_only=True), 32)
        if vectors:
            eigen(s, a, b, itype, w, on_a.get())
        if itype:
            s.near("B's factor", triangle(on_b.get(), lower),
                   scipy.linalg.cholesky(b, lower=lower))
    if jacobi:
        jacobi.close(scale=scale)


def sygv_refuses(s, letter, how, lower):
    """B's leading minor that is not positive."""
    interface, name, itype = how
    if not itype:
        return
    n = 5
    b = s.definite(letter, n)
    b[2, 2] = -1
    args = (itype, 1, fill(lower), n, Matrix(s.hermitian(letter, n)),
            Matrix(b), empty(REAL[letter], n))
    jacobi = Jacobi(s, "syevj") if name.endswith("j") else None
    if interface == LETTERS:
        name = hermitian_name(letter, name)
    s.same("info", s.call(interface, letter, name, *args,
                          tail=(jacobi.info,) if jacobi else ()), n + 3)


def syevdx(s, letter, how, vectors, lower, kind, n):
    interface, name, itype = how
    a = s.hermitian(letter, n)
    b = s.definite(letter, n) if itype else None
    every = scipy.linalg.eigh(a, b, type=itype or 1, eigvals_only=True)
    low, high = n // 3, max(n // 3 + 1, 2 * n // 3)  # [low, high) is asked for
    real = TYPES[REAL[letter]]
    edges = numpy.array([
        every[low] - 0.001, (every[high] + every[high - 1]) / 2
        if high < n else every[-1] + 1], real)
    if kind == ALL:
        low, high = 0, n
    elif kind == NONE:
        kind, low, high = BY_VALUE, 0, 0
        edges = numpy.array([every[-1] + 1, every[-1] + 2], real)
    on_a, w = Matrix(only(a, lower)), empty(REAL[letter], n)
    found = numpy.array([UNSET], numpy.int32 if interface == LETTERS
                        else numpy.int64)
    if interface == LETTERS:
        name = hermitian_name(letter, name)
        number = ctypes.c_float if letter in "SC" else ctypes.c_double
        edges = [number(edge) for edge in edges]
    else:
        edges = [edges[:1], edges[1:]]
    args = [int(vectors), kind, fill(lower), n, on_a]
    if itype:
        args = [itype] + args + [Matrix(only(b, lower))]
    args += [*edges, low + 1, high, found, w]
    ask = None
    if itype and interface == X:  # the range is not asked for
        ask = args[:2] + args[3:] + [KINDS[a.dtype]]
    s.same("info", s.call(interface, letter, name, *args, ask=ask), 0)
    s.same("number", found[0], high - low)
    s.near("values", w.get()[:high - low], every[low:high], 32)
    if vectors and found[0]:
        eigen(s, a, b, itype, w.get()[:high - low],
              on_a.get()[:, :high - low])


def syev_batched(s, letter, name, vectors, lower, n, count):
    """Of matrices that lie behind one another."""
    all_a = [s.hermitian(letter, n) for _ in range(count)]
    on_a = Matrix(numpy.hstack([only(a, lower) for a in all_a]), 0)
    w = empty(REAL[letter], n * count)
    args = (int(vectors), fill(lower), n, on_a, w)
    if name == "syevj":
        jacobi = Jacobi(s, "syevj")
        info = s.call(LETTERS, letter, hermitian_name(letter, "syevj") +
                      "Batched", *args, tail=(jacobi.info, count), count=count)
        jacobi.close(told=False)
    else:
        info = s.call(X, letter, "syevBatched", *args, tail=(count,),
                      count=count)
    s.same("infos", numpy.atleast_1d(info), [0] * count)
    for i, a in enumerate(all_a):
        values = w.get()[n * i:n * (i + 1)]
        s.near("values", values, numpy.linalg.eigvalsh(a), 32)
        if vectors:
            eigen(s, a, None, 0, values, on_a.get()[:, n * i:n * (i + 1)])


def sygv_batched(s, letter, itype, vectors, lower, n, count):
    all_a = [s.hermitian(letter, n) for _ in range(count)]
    all_b = [s.definite(letter, n) for _ in range(count)]
    on_a = Matrix(numpy.hstack([only(a, lower) for a in all_a]))
    on_b = Matrix(numpy.hstack([only(b, lower) for b in all_b]))
    w = empty(REAL[letter], n * count)
    step = on_a.ld * n
    args = (itype, int(vectors), fill(lower), n, on_a, step, on_b, step, w, n,
            KINDS[on_a.dtype], count)
    info = s.call(X, letter, "sygvStridedBatched", *args, compute=False,
                  count=count)
    s.same("infos", numpy.atleast_1d(info), [0] * count)
    for i, (a, b) in enumerate(zip(all_a, all_b)):
        values = w.get()[n * i:n * (i + 1)]
        s.near("values", values, scipy.linalg.eigh(
            a, b, type=itype, eigvals_only=True), 128)
        if vectors:
            eigen(s, a, b, itype, values, on_a.get()[:, n * i:n * (i + 1)])


def stedc(s, letter, comp, n):
    """Of a tridiagonal matrix, of what one came from, and without vectors."""
    real = REAL[letter]
    d, e = s.numbers(real, n), s.numbers(real, max(n - 1, 0))
    t = numpy.diag(d) + (numpy.diag(e, 1) + numpy.diag(e, -1) if n else 0)
    q = numpy.linalg.qr(s.numbers(letter, n, n))[0]
    on_d, on_e, z = Matrix(d), Matrix(e), Matrix(q)
    s.same("info", s.call(
        X, letter, "stedc", 10 + "NIV".index(comp), n, on_d, on_e.pointer, z),
           0)
    if n == 0:
        return
    w = on_d.get()
    s.near("values", w, numpy.linalg.eigvalsh(t), 32)
    if comp == "I":
        eigen(s, t.astype(q.dtype), None, 0, w, z.get())
    elif comp == "V":
        eigen(s, q @ t.astype(q.dtype) @ q.conj().T, None, 0, w, z.get())
    else:
        s.same("Z", z.get(), q)


def sorted_values(w):
    """By one real number, so that pairs that differ in a sign stay apart."""
    return w[numpy.argsort(w.real + 0.001 * w.imag)]


def geev(s, letter, left, right, values, n, which):
    """Values and vectors in complex numbers, or as LAPACK's real functions
    have them: the real parts, then the imaginary ones."""
    a, scale = special(s, which, letter, n, n)
    other = COMPLEX[letter] if values == "complex" else letter
    on_a = Matrix(a)
    w = empty(other, 2 * n if other in "SD" else n)
    v = [empty(other, n, n), empty(other, n, n)]
    s.same("info", s.call(X, letter, "geev", int(left), int(right), n, on_a, w,
                          *v), 0)
    a, w = unscaled(a, scale), unscaled(w.get(), scale)
    if other in "SD":
        w = w[:n] + 1j * w[n:]
    if which is None and n:  # the others' move far with little
        s.near("values", sorted_values(w), sorted_values(
            numpy.linalg.eigvals(a)), 128)
    s.near("trace", w.sum(), a.trace().astype(w.dtype), 32 + n)
    for wanted, vectors, matrix, value in (
            (right, v[1], a, w), (left, v[0], a.conj().T, w.conj())):
        vectors = vectors.get()
        if not wanted:
            s.same("vectors", (vectors == UNSET).all(), True)
            continue
        if other in "SD":
            pairs = vectors.astype(w.dtype)
            for i in range(n):
                if w[i].imag > 0:
                    pairs[:, i] = vectors[:, i] + 1j * vectors[:, i + 1]
                    pairs[:, i + 1] = pairs[:, i].conj()
            vectors = pairs
        s.near("A v", matrix @ vectors, vectors * value, 32)
        s.near("norms", numpy.linalg.norm(vectors, axis=0),
               numpy.ones(n, a.real.dtype))


# Singular values.

def singular(s, a, values, u, vh, factor=16):
    """U and V^H of so many columns and rows as they have, None: not wanted."""
    k = len(values)
    s.near("values", values, numpy.linalg.svd(a, compute_uv=False)[:k]
           if a.size else values, factor)
    for what, matrix in (("U", u), ("V", None if vh is None
                                    else vh.conj().T)):
        if matrix is not None:
            s.orthogonal(what, matrix)
    if u is not None and vh is not None and k == min(a.shape):
        s.near("U S V^H", (u[:, :k] * values) @ vh[:k], a, factor)
    elif u is not None:
        s.near("U^H A A^H U", numpy.linalg.norm(
            u[:, :k].conj().T @ a, axis=1), values, factor)
    elif vh is not None:
        s.near("V^H A^H A V", numpy.linalg.norm(a @ vh[:k].conj().T, axis=0),
               values, factor)


def gesvd(s, letter, interface, shape, jobs, which):
    m, n = shape
    k = min(shape)
    a, scale = special(s, which, letter, m, n)
    on_a, values = Matrix(a), empty(REAL[letter], k)
    u, vh = empty(letter, m, m if jobs[0] == "A" else k), empty(
        letter, n if jobs[1] == "A" else k, n)
    args = (ord(jobs[0]), ord(jobs[1]), m, n, on_a, values, u, vh)
    if interface == LETTERS:
        rwork = empty(REAL[letter], max(k, 1))
        info = s.call(interface, letter, "gesvd", *args, ask=(m, n),
                      after=(rwork.pointer,))
    else:
        info = s.call(interface, letter, "gesvd", *args)
    s.same("info", info, 0)
    got = {"A": (u, vh), "S": (u, vh), "O": (on_a, on_a), "N": (None, None)}
    u = got[jobs[0]][0] and got[jobs[0]][0].get()
    vh = got[jobs[1]][1] and got[jobs[1]][1].get()
    if jobs[0] == "O":
        u = u[:, :k]
    if jobs[1] == "O":
        vh = vh[:k]
    singular(s, unscaled(a, scale), unscaled(values.get(), scale), u, vh)


def gesvdj(s, letter, name, shape, vectors, econ, which):
    """gesvdj and gesvdp, which give V."""
    m, n = shape
    k = min(shape)
    a, scale = special(s, which, letter, m, n)
    on_a, values = Matrix(a), empty(REAL[letter], k)
    u = empty(letter, m, k if econ else m)
    v = empty(letter, n, k if econ else n)
    args = (int(vectors), int(econ), m, n, on_a, values, u, v)
    if name == "gesvdp":
        error = numpy.full(1, numpy.nan)
        info = s.call(X, letter, name, *args, behind=(error,))
        s.same("error", 0 <= error[0] < 1e-3 * max(scale, 1), True)
    else:
        jacobi = Jacobi(s, "gesvdj")
        info = s.call(LETTERS, letter, name, *args, tail=(jacobi.info,))
        jacobi.close(scale=scale)
    s.same("info", info, 0)
    singular(s, unscaled(a, scale), unscaled(values.get(), scale),
             u.get() if vectors else None,
             v.get().conj().T if vectors else None)


def gesvdj_batched(s, letter, shape, vectors, count):
    m, n = shape
    k = min(shape)
    all_a = [s.numbers(letter, m, n) for _ in range(count)]
    on_a, values = Matrix(numpy.hstack(all_a)), empty(REAL[letter], k * count)
    u, v = empty(letter, m, m * count), empty(letter, n, n * count)
    jacobi = Jacobi(s, "gesvdj")
    info = s.call(LETTERS, letter, "gesvdjBatched", int(vectors), m, n, on_a,
                  values, u, v, tail=(jacobi.info, count), count=count)
    s.same("infos", numpy.atleast_1d(info), [0] * count)
    jacobi.close(told=False)
    for i, a in enumerate(all_a):
        singular(s, a, values.get()[k * i:k * (i + 1)],
                 u.get()[:, m * i:m * (i + 1)] if vectors else None,
                 v.get()[:, n * i:n * (i + 1)].conj().T if vectors else None)


def gesvda(s, letter, shape, rank, vectors, count):
    m, n = shape
    all_a = [s.numbers(letter, m, n) for _ in range(count)]
    on_a = Matrix(numpy.hstack(all_a))
    values = empty(REAL[letter], rank * count)
    u, v = empty(letter, m, rank * count), empty(letter, n, rank * count)
    wide = ctypes.c_longlong
    distances = numpy.full(count, numpy.nan)
    args = (int(vectors), rank, m, n, on_a, wide(on_a.ld * n), values,
            wide(rank), u, wide(u.ld * rank), v, wide(v.ld * rank))
    info = s.call(LETTERS, letter, "gesvdaStridedBatched", *args,
                  behind=(distances,), tail=(count,), count=count)
    s.same("infos", numpy.atleast_1d(info), [0] * count)
    for i, a in enumerate(all_a):
        part = slice(rank * i, rank * (i + 1))
        singular(s, a, values.get()[part],
                 u.get()[:, part] if vectors else None,
                 v.get()[:, part].conj().T if vectors else None, 128)
        if vectors:
            every = numpy.linalg.svd(a, compute_uv=False)
            s.near("distance", distances[i:i + 1].astype(a.real.dtype),
                   numpy.array([numpy.linalg.norm(every[rank:])],
                               a.real.dtype), 128)


def gesvdr(s, letter, shape, k, jobs):
    """Of a matrix whose values fall fast, so that the first are found."""
    m, n = shape
    u, v = (numpy.linalg.qr(s.numbers(letter, size, min(shape)))[0]
            for size in shape)
    a = numpy.asfortranarray((u * 4.0 ** -numpy.arange(
        min(shape), dtype=u.real.dtype)) @ v.conj().T)
    on_a, values = Matrix(a), empty(REAL[letter], min(shape))
    on_u, on_v = empty(letter, m, k), empty(letter, n, k)
    s.same("info", s.call(
        X, letter, "gesvdr", ord(jobs[0]), ord(jobs[1]), m, n, k,
        min(2, min(shape) - k), 4, on_a, values, on_u, on_v), 0)
    singular(s, a, values.get()[:k], on_u.get() if jobs[0] == "S" else None,
             on_v.get().conj().T if jobs[1] == "S" else None)


# Systems by refinement.

PRECISIONS = {"S": "SHBX", "D": "DSHBX", "C": "CKEY", "Z": "ZCKEY"}


def call_refined(s, letter, name, precision, a, b):
    """Its info and X."""
    m, n = a.shape
    columns = b.shape[1]
    on_a, on_b, x = Matrix(a), Matrix(b), empty(letter, n, columns)
    pivots = (Device(numpy.full(n, UNSET, numpy.int32)),)
    sizes = (m, n, columns) if name == "gels" else (n, columns)
    args = list(described(sizes + (on_a,) + pivots * (name == "gesv")
                          + (on_b, x), False))
    size = ctypes.c_size_t()
    name = "cusolverDn" + letter + precision + name
    s.library(name + "_bufferSize", s.handle, *args, ctypes.c_void_p(),
              ctypes.byref(size))
    info = Device(numpy.full(1, UNSET, numpy.int32))
    s.library(name, s.handle, *args, Device(numpy.zeros(size.value, "i1")),
              size, numpy.array([UNSET], numpy.int32), info)
    return info.get()[0], x.get()


def refined(s, letter, name, precision, shape, columns):
    if precision not in PRECISIONS[letter]:
        return
    m, n = shape if name == "gels" else (shape[1], shape[1])
    a = s.numbers(letter, m, n) + 4 * numpy.eye(m, n, dtype=TYPES[letter])
    b = s.numbers(letter, m, columns)
    info, x = call_refined(s, letter, name, precision, a, b)
    s.same("info", info, 0)
    if n:
        s.near("X", x, numpy.linalg.lstsq(a, b)[0], 128)


def irs(s, letter, name, solver, shape, columns):
    """What names its types and refinement in structures."""
    m, n = shape if name == "gels" else (shape[1], shape[1])
    a = s.numbers(letter, m, n) + 4 * numpy.eye(m, n, dtype=TYPES[letter])
    b = s.numbers(letter, m, columns)
    params, infos = ctypes.c_void_p(), ctypes.c_void_p()
    call = s.library
    call("cusolverDnIRSParamsCreate", ctypes.byref(params))
    call("cusolverDnIRSInfosCreate", ctypes.byref(infos))
    sizes = (m, n, columns) if name == "gels" else (n, columns)
    size = ctypes.c_size_t()
    asking = ("cusolverDnIRSX%s_bufferSize" % name, s.handle, params, *sizes,
              ctypes.byref(size))
    s.same("status without types", s.library.status(*asking), NO_TYPES)
    kind = {"S": 1204, "D": 1203, "C": 1214, "Z": 1213}  # cusolverPrecType_t
    low = "S" if letter in "SD" else "C"
    call("cusolverDnIRSParamsSetSolverPrecisions", params, kind[letter],
         kind[low])
    call("cusolverDnIRSParamsSetSolverMainPrecision", params, kind[letter])
    call("cusolverDnIRSParamsSetSolverLowestPrecision", params, kind[low])
    s.same("status without refinement", s.library.status(*asking),
           NO_REFINEMENT)
    call("cusolverDnIRSParamsSetRefinementSolver", params, solver)
    call("cusolverDnIRSParamsSetTol", params, ctypes.c_double(1e-12))
    call("cusolverDnIRSParamsSetTolInner", params, ctypes.c_double(1e-6))
    call("cusolverDnIRSParamsSetMaxIters", params, 40)
    call("cusolverDnIRSParamsSetMaxItersInner", params, 30)
    call("cusolverDnIRSParamsDisableFallback", params)
    call("cusolverDnIRSParamsEnableFallback", params)
    most = ctypes.c_int(UNSET)
    call("cusolverDnIRSParamsGetMaxIters", params, ctypes.byref(most))
    s.same("most iterations", most.value, 40)
    call("cusolverDnIRSInfosRequestResidual", infos)
    call(*asking)
    on_a, on_b, x = Matrix(a), Matrix(b), empty(letter, n, columns)
    iterations = numpy.array([UNSET], numpy.int32)
    info = Device(numpy.full(1, UNSET, numpy.int32))
    call("cusolverDnIRSX" + name, s.handle, params, infos, *sizes, on_a,
         on_a.ld, on_b, on_b.ld, x, x.ld, Device(numpy.zeros(size.value,
                                                             "i1")), size,
         iterations, info)
    s.same("info", info.get()[0], 0)
    s.near("X", x.get(), numpy.linalg.lstsq(a, b)[0], 32)
    for what in ("Niters", "OuterNiters", "MaxIters"):
        value = ctypes.c_int(UNSET)
        call("cusolverDnIRSInfosGet" + what, infos, ctypes.byref(value))
        if what == "MaxIters":
            s.same(what, value.value, 40)
        elif what == "Niters":
            s.same(what, value.value, iterations[0])
    call("cusolverDnIRSInfosGetResidualHistory", infos,
         ctypes.byref(ctypes.c_void_p()))
    call("cusolverDnIRSInfosDestroy", infos)
    call("cusolverDnIRSParamsDestroy", params)
    s.same("status of what is gone", s.library.status(*asking),
           NO_PARAMS)


def refined_singular(s, letter, name, precision, n):
    """A column of zeros."""
    if precision not in PRECISIONS[letter]:
        return
    a = s.numbers(letter, n, n)
    a[:, n // 2] = 0
    s.same("info", call_refined(s, letter, name, precision, a, s.numbers(
        letter, n, 1))[0], n // 2 + 1)


# Handles, and what is refused.

SETTINGS = {"DeterministicMode": 2, "MathMode": 2, "EmulationStrategy": 1,
            "EmulationSpecialValuesSupport": 1,
            "FixedPointEmulationMantissaControl": 1,
            "FixedPointEmulationMaxMantissaBitCount": 40,
            "FixedPointEmulationMantissaBitOffset": 3}


def settings(s):
    version, value = ctypes.c_int(), ctypes.c_int()
    s.library("cusolverGetVersion", ctypes.byref(version))
    number = 0
    for i, weight in enumerate((1000, 100, 1)):
        s.library("cusolverGetProperty", i, ctypes.byref(value))
        number += weight * value.value
    s.same("version", number, version.value)
    handle, stream = ctypes.c_void_p(), ctypes.c_void_p(77)
    s.library("cusolverDnCreate", ctypes.byref(handle))
    for name, setting in SETTINGS.items():
        s.library("cusolverDnSet" + name, handle, setting)
        s.library("cusolverDnGet" + name, handle, ctypes.byref(value))
        s.same(name, value.value, setting)
    s.library("cusolverDnSetStream", handle, ctypes.c_void_p(2))
    s.library("cusolverDnGetStream", handle, ctypes.byref(stream))
    s.same("stream", stream.value, 2)
    s.library("cusolverDnSetAdvOptions", s.params, 0, 1)
    s.library("cusolverDnSetAdvOptions", s.params, 0, 0)
    params = ctypes.c_void_p()
    s.library("cusolverDnCreateParams", ctypes.byref(params))
    s.library("cusolverDnDestroyParams", params)
    s.library("cusolverDnDestroy", handle)
    s.same("status of a handle that is gone", s.library.status(
        "cusolverDnSetStream", handle, stream), NOT_INITIALIZED)


def refuses(s, name, status, *args):
    size = [ctypes.byref(ctypes.c_size_t()) for _ in range(2)]
    args = [s.handle if a == "handle" else s.params if a == "params" else a
            for a in args]
    s.same("status", s.library.status("cusolverDn" + name, *args, *size),
           status)


NOTHING = ctypes.c_void_p()
REFUSED = [
    ("Dpotrf_bufferSize", NOT_INITIALIZED, NOTHING, 0, 3, NOTHING, 3),
    ("Dpotrf_bufferSize", INVALID_VALUE, "handle", 0, -1, NOTHING, 3),
    ("Dpotrf_bufferSize", INVALID_VALUE, "handle", 0, 3, NOTHING, 2),
    ("Dgetrf_bufferSize", INVALID_VALUE, "handle", 3, -1, NOTHING, 3),
    ("Dgetrf_bufferSize", INVALID_VALUE, "handle", 3, 2, NOTHING, 2),
    ("Dgebrd_bufferSize", INVALID_VALUE, "handle", -1, 2),
    ("Dorgqr_bufferSize", INVALID_VALUE, "handle", 3, 4, 3, NOTHING, 3,
     NOTHING),
    ("Dorgqr_bufferSize", INVALID_VALUE, "handle", 4, 3, 4, NOTHING, 4,
     NOTHING),
    ("Dormqr_bufferSize", INVALID_VALUE, "handle", LEFT, 0, 3, 4, 5, NOTHING,
     5, NOTHING, NOTHING, 5),
    ("Dsyevd_bufferSize", INVALID_VALUE, "handle", 1, 0, 3, NOTHING, 2,
     NOTHING),
    ("Dsyevdx_bufferSize", INVALID_VALUE, "handle", 1, BY_INDEX, 0, 3, NOTHING,
     3, ctypes.c_double(), ctypes.c_double(), 0, 2, NOTHING, NOTHING),
    ("DgesvdaStridedBatched_bufferSize", INVALID_VALUE, "handle", 1, 2, 3, 4)
    + (NOTHING, 4, 0) * 4,
    ("Xpotrf_bufferSize", INVALID_VALUE, "handle", "params", 0,
     ctypes.c_int64(-1), 1, NOTHING, ctypes.c_int64(3), 1),
    # A matrix in single precision is not worked on in double.
    ("Xpotrf_bufferSize", INVALID_VALUE, "handle", "params", 0,
     ctypes.c_int64(3), 0, NOTHING, ctypes.c_int64(3), 1),
]
BOTH = (True, False)
INTERFACES = (LETTERS, X, OLD)
SIZES = (0, 1, 7, 50)
SHAPES = ((0, 0), (1, 1), (7, 7), (50, 50), (9, 4), (4, 9), (0, 3))
HARD = ((2, 2), (9, 9), (50, 50), (53, 21))
TALL = ((0, 0), (1, 1), (7, 7), (50, 50), (9, 4), (53, 21))
CHANGES = (None, "singular", "tiny", "huge")
SYEV = ((LETTERS, "syevd", 0), (LETTERS, "syevj", 0), (X, "syevd", 0),
        (OLD, "syevd", 0)) + tuple(
            (interface, name, itype) for itype in (1, 2, 3) for interface, name
            in ((LETTERS, "sygvd"), (LETTERS, "sygvj"), (X, "sygvd")))
SYEVDX = tuple((interface, "syevdx", 0) for interface in INTERFACES) + tuple(
    (interface, "sygvdx", itype) for itype in (1, 2, 3)
    for interface in (LETTERS, X))

# A family's function, and what it is called with besides the type: each
# combination of these. Some have types of their own.
FAMILIES = [
    (potrf, INTERFACES, BOTH, SIZES, (None, "tiny", "huge")),
    (potrf_refuses, INTERFACES, BOTH, (1, 7, 50), (0, -1, numpy.nan)),
    (potrf_batched, BOTH, (1, 7), (1, 5)),
    (lauum, BOTH, SIZES),
    (trtri, BOTH, BOTH, SIZES),
    (getrf, INTERFACES, SHAPES, (None, "NaN")),
    (getrf, (LETTERS,), HARD, SPECIAL),
    (getrf_without_pivots, INTERFACES, SHAPES),
    (getrs, INTERFACES, (NO_TRANSPOSE, TRANSPOSE, CONJUGATE), SIZES, (1, 3)),
    (laswp, (1, 7, 50), (1, -1, 2, -3)),
    (sytrf, (LETTERS, X), (False,), BOTH, SIZES, CHANGES),
    (sytrf, (X,), (True,), BOTH, SIZES, CHANGES),
    (geqrf, INTERFACES, SHAPES, (None,)),
    (geqrf, (LETTERS,), HARD, SPECIAL),
    (gebrd, TALL, (None,)),
    (gebrd, HARD, SPECIAL),
    (sytrd, BOTH, SIZES, (None,)),
    (sytrd, BOTH, SIZES[2:], SPECIAL),
    (syev, SYEV, BOTH, BOTH, SIZES, (None,)),
    (syev, SYEV[:3], BOTH, BOTH, (2, 9, 50), SPECIAL),
    (sygv_refuses, SYEV, BOTH),
    (syevdx, SYEVDX, BOTH, BOTH, (ALL, BY_INDEX, BY_VALUE, NONE),
     (1, 7, 50)),
    (syev_batched, ("syevj", "syev"), BOTH, BOTH, (1, 7, 31), (1, 3)),
    (sygv_batched, (1, 2, 3), BOTH, BOTH, (1, 7), (1, 3)),
    (stedc, "NIV", SIZES),
    (geev, BOTH, BOTH, ("complex", "parts"), SIZES, (None,)),
    (geev, BOTH, BOTH, ("complex",), (2, 9, 50), SPECIAL),
    (gesvd, INTERFACES, TALL, ("AA", "SS", "NN", "AN", "NS", "OS", "SO",
                               "NO"), (None,)),
    (gesvd, (LETTERS,), HARD, ("AA", "SS"), SPECIAL),
    (gesvdj, ("gesvdj", "gesvdp"), SHAPES[:-1], BOTH, BOTH, (None,)),
    (gesvdj, ("gesvdj", "gesvdp"), HARD, (True,), BOTH, SPECIAL),
    (gesvdj_batched, SHAPES[1:3] + SHAPES[4:6], BOTH, (1, 3)),
    (gesvda, ((7, 7), (53, 21)), (1, 5, 7), BOTH, (1, 3)),
    (gesvdr, ((7, 7), (53, 21), (21, 53)), (1, 5), ("SS", "NN", "SN", "NS")),
    (refined, ("gesv", "gels"), "SHBXDCKEYZ", TALL, (1, 3)),
    (irs, ("gesv", "gels"), (1101, 1102, 1104), TALL[1:], (1,)),
    (refined_singular, ("gesv", "gels"), "SHBXDCKEYZ", (5,)),
]


def run(judge):
    s = Solver(judge)
    sparse = judge_cusolver_sparse.Sparse(s)
    for owner, families in ((s, FAMILIES),
                            (sparse, judge_cusolver_sparse.FAMILIES)):
        for family, *choices in families:
            for letter, *chosen in itertools.product(TYPES, *choices):
                judge.case("%s %s %s" % (family.__name__, letter, chosen),
                           family, owner, letter, *chosen)
    judge.case("settings", settings, s)
    for row in REFUSED:
        judge.case("refuses " + row[0], refuses, s, *row)
    s.library("cusolverDnDestroyParams", s.params)
    s.library("cusolverDnDestroy", s.handle)
    return s.library.called
