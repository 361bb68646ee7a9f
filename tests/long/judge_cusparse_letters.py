"""cuSPARSE's functions with a letter for their type against scipy; run by
numpy_judges.py as part of judge_cusparse.py, whose Sparse is `s` here."""
import ctypes
import itertools

import numpy
import scipy.linalg
import scipy.sparse

from judge import TYPES, Device, numbers
from judge_numbers import NUMBERS

ZERO_PIVOT = 9
N, T, C = 0, 1, 2
ROWS, COLUMNS = 0, 1
LOWER, UPPER = 0, 1
NON_UNIT, UNIT = 0, 1
CODES = {"H": NUMBERS["F16"].code,
         **{letter: NUMBERS[letter].code for letter in TYPES}}
ALL_TYPES = {"H": numpy.float16, **TYPES}


def turned(a, op):
    return a if op == N else a.T if op == T else a.conj().T


def matrix(s, letter, shape, density=0.4, diagonal=0):
    """Random elements and none in a row, in scipy's CSR."""
    values = numbers(s.random, ALL_TYPES[letter], *shape)
    keep = s.random.random(shape) < (density if s.density is None else
                                     s.density)
    if not diagonal and shape[0] > 1:
        keep[shape[0] // 2] = False
    else:
        keep |= numpy.eye(*shape, dtype=bool)
        values = values + numpy.asarray(
            diagonal * numpy.eye(*shape), values.dtype)
    a = scipy.sparse.csr_array(numpy.where(keep, values, 0).astype(float) if
                               letter == "H" else numpy.where(keep, values, 0))
    a.sort_indices()
    return a


def integers(array):
    return Device(numpy.asarray(array, numpy.int32))


def room(count, dtype=numpy.int32):
    return Device(numpy.zeros(int(count), dtype))


def offsets_of(a, base):
    return [integers(a.indptr + base), integers(a.indices + base)]


def parts(a, base, dtype=None):
    """Values, offsets, columns."""
    return [Device(a.data.astype(dtype or a.dtype)), *offsets_of(a, base)]


def blocks(a, side, base, direction):
    """scipy's blocks and the arrays of them."""
    b = scipy.sparse.csr_array(a).tobsr(side)
    b.sort_indices()
    data = b.data if direction == ROWS else b.data.transpose(0, 2, 1)
    return b, [Device(numpy.ascontiguousarray(data)), *offsets_of(b, base)]


def back(arrays, shape, base, kind=scipy.sparse.csr_array):
    values, offsets, places = (array.get() for array in arrays)
    count = offsets[-1] - base
    return kind((values[:count], places[:count] - base, offsets - base), shape)


# --- vectors

def level1(s, letter, base):
    dtype = TYPES[letter]
    places = numpy.array([0, 2, 3, 7, 10])
    x, y = numbers(s.random, dtype, 5), numbers(s.random, dtype, 11)
    where = integers(places + base)

    def judged(name, expected_x, expected_y, args):
        dx, dy = Device(x), Device(y)
        s(letter + name, *(dx if a is x else dy if a is y else a for a in args))
        s.judge.near("x of " + name, dx.get(), expected_x)
        s.judge.near("y of " + name, dy.get(), expected_y)

    def put(values):
        result = y.copy()
        result[places] = values
        return result

    judged("axpyi", x, put(y[places] + dtype(3) * x),
           [5, s.one(dtype, 3), x, where, y, base])
    judged("gthr", y[places], y, [5, y, x, where, base])
    judged("gthrz", y[places], put(0), [5, y, x, where, base])
    judged("sctr", x, put(x), [5, x, where, y, base])
    if letter in "SD":
        c, sine = dtype(0.6), dtype(0.8)
        judged("roti", c * x + sine * y[places], put(c * y[places] - sine * x),
               [5, x, where, y, s.one(dtype, c), s.one(dtype, sine), base])


# --- products

def gemvi(s, letter, op, base):
    dtype = TYPES[letter]
    a = numbers(s.random, dtype, 8, 6)
    full = turned(a[:7], op)
    places = numpy.array([1, 2, 5])
    x, y = numbers(s.random, dtype, 3), numbers(s.random, dtype, full.shape[0])
    dy = Device(y)
    memory = s.buffer(letter + "gemvi_bufferSize", op, 7, 6, 3,
                      kind=numpy.int32)
    s(letter + "gemvi", op, 7, 6, s.one(dtype, 2), Device(a), 8, 3, Device(x),
      integers(places + base), s.one(dtype, 3), dy, base, memory)
    s.judge.near("y", dy.get(), 2 * (full[:, places] @ x) + 3 * y)


def bsrmv(s, letter, base, direction, side, beta):
    dtype = TYPES[letter]
    a = matrix(s, letter, (4 * side, 3 * side), 0.2)
    b, arrays = blocks(a, (side, side), base, direction)
    x, y = (numbers(s.random, dtype, n * side) for n in (3, 4))
    if beta == 0:
        y[:] = numpy.nan
    before = numpy.zeros_like(y) if beta == 0 else beta * y
    begin = [direction, N]
    dx, dy = Device(x), Device(y)
    sizes, of_matrix = [4, 3, len(b.indices), s.one(dtype, 2)], s.descr(base)
    s(letter + "bsrmv", *begin, *sizes, of_matrix, *arrays, side, dx,
      s.one(dtype, beta), dy)
    expected = 2 * (a @ x) + before
    s.judge.near("y", dy.get(), expected)
    # Only two rows of blocks, and of the last no block.
    dy = Device(y)
    ends = b.indptr[1:].copy()
    ends[3] = b.indptr[3]
    s(letter + "bsrxmv", *begin, 2, *sizes, of_matrix, arrays[0],
      integers(numpy.array([0, 3]) + base), integers(b.indptr[:4] + base),
      integers(ends + base), arrays[2], side, dx, s.one(dtype, beta), dy)
    masked = y.copy()
    masked[:side] = expected[:side]
    masked[3 * side:] = before[3 * side:]
    s.judge.near("y with a mask", dy.get(), masked)


def bsrmm(s, letter, base, direction, opb, side):
    dtype = TYPES[letter]
    a = matrix(s, letter, (4 * side, 3 * side), 0.2)
    held, arrays = blocks(a, (side, side), base, direction)
    b = numbers(s.random, dtype, *((3 * side, 5) if opb == N else
                                   (5, 3 * side)))
    c = numbers(s.random, dtype, 4 * side, 5)
    dc = Device(c)
    s(letter + "bsrmm", direction, N, opb, 4, 5, 3, len(held.indices),
      s.one(dtype, 2), s.descr(base), *arrays, side, Device(b), b.shape[0],
      s.one(dtype, 3), dc, c.shape[0])
    s.judge.near("C", dc.get(), 2 * (a @ turned(b, opb)) + 3 * c)


def gemmi(s, letter):
    dtype = TYPES[letter]
    a, c = numbers(s.random, dtype, 4, 6), numbers(s.random, dtype, 4, 5)
    b = scipy.sparse.csc_array(matrix(s, letter, (6, 5)))
    dc = Device(c)
    s(letter + "gemmi", 4, 5, 6, b.nnz, s.one(dtype, 2), Device(a), 4,
      *parts(b, 0), s.one(dtype, 3), dc, 4)
    s.judge.near("C", dc.get(), 2 * (a @ b.toarray()) + 3 * c)


def csrmv_ex(s, letter, op, base):
    dtype, number = TYPES[letter], CODES[letter]
    a = matrix(s, letter, (8, 6))
    full = turned(a.toarray(), op)
    x, y = (numbers(s.random, dtype, n) for n in full.shape[::-1])
    dy = Device(y)
    args = [0, op, 8, 6, a.nnz, s.one(dtype, 2), number, s.descr(base),
            Device(a.data), number, *offsets_of(a, base), Device(x), number,
            s.one(dtype, 3), number, dy, number, number]
    s("CsrmvEx", *args, s.buffer("CsrmvEx_bufferSize", *args))
    s.judge.near("y", dy.get(), 2 * (full @ x) + 3 * y)


# --- triangular systems

def solve(s, letter, name, op, fill, diagonal, base, direction=ROWS, opx=N,
          pivot=False):
    """csrsv2, csrsm2, bsrsv2, bsrsm2"""
    dtype, n, columns, side = TYPES[letter], 8, 3, 2
    a = matrix(s, letter, (n, n), 0.3, diagonal=6)
    info = s.new("Destroy%sInfo" % name.capitalize(),
                 "Create%sInfo" % name.capitalize())
    of_matrix = s.descr(base, 0, fill, diagonal)
    if pivot:
        a = a.tolil()
        a[5, 5] = 0
        a = scipy.sparse.csr_array(a)
        a.eliminate_zeros()
    meant = numpy.tril(a.toarray()) if fill == LOWER else numpy.triu(
        a.toarray())
    if diagonal == UNIT:
        numpy.fill_diagonal(meant, 1)
    b = numbers(s.random, dtype, n, columns)
    many, blocked = name.endswith("sm2"), name.startswith("bsr")
    if not many:
        b = b[:, :1].copy("F")
    given = numpy.asfortranarray(turned(b, opx))
    ld = given.shape[0]
    db, dx = Device(given), Device(given * 0)
    if blocked:
        held, arrays = blocks(a, (side, side), base, direction)
        size = [n // side] + [columns] * many + [len(held.indices)]
    else:
        arrays, size = parts(a, base), [n] + [columns] * many + [a.nnz]
    alpha = s.one(dtype, 2)
    begin = [direction] * blocked + [op] + [opx] * many + size
    end = [*arrays] + [side] * blocked + [info]
    begin_name = letter + name
    if name == "csrsm2":
        args = [0, *begin, alpha, of_matrix, *arrays, db, ld, info, 1]
        memory = s.buffer(begin_name + "_bufferSizeExt", *args)
        s(begin_name + "_analysis", *args, memory)
        solution = [*args, memory]
        dx = db
    else:
        memory = s.buffer(begin_name + "_bufferSize", *begin, of_matrix, *end,
                          kind=numpy.int32)
        s(begin_name + "_analysis", *begin, of_matrix, *end, 1, memory)
        solution = [*begin, alpha, of_matrix, *end, db] + [ld] * many + [
            dx] + [ld] * many + [1, memory]
    position = s.one(numpy.int32, 0)
    zero = "cusparseX%s_zeroPivot" % name
    status = s.library.status(zero, s.handle, info, position)
    if pivot:
        place = 5 // side if blocked else 5
        # A block has its diagonal, and 0 there shows only as it is solved.
        if not blocked:
            s.judge.same("the pivot", (status, s.number(position)),
                         (ZERO_PIVOT, place + base))
        s(begin_name + "_solve", *solution)
        status = s.library.status(zero, s.handle, info, position)
        s.judge.same("the pivot", (status, s.number(position)),
                     (ZERO_PIVOT, place + base))
        return
    s.judge.same("the pivot", (status, s.number(position)), (0, -1))
    s(begin_name + "_solve", *solution)
    expected = scipy.linalg.solve(turned(meant, op), 2 * b)
    s.judge.near("x", dx.get(), turned(expected, opx), 1024)


def factors(a, where, cholesky, boost=None):
    """The incomplete factors within a pattern, a definition's way."""
    a = a.astype(complex if a.dtype.kind == "c" else float)
    n = len(a)
    if cholesky:
        a = numpy.tril(a)
        where = numpy.tril(where)
        for k in range(n):
            a[k, k] = numpy.sqrt(a[k, k].real)
            a[k + 1:, k] /= a[k, k]
            for j in range(k + 1, n):
                a[j:, j] -= a[j:, k] * a[j, k].conj() * where[j:, j]
        return a
    for k in range(n):
        if boost is not None and abs(a[k, k]) <= boost[0]:
            a[k, k] = boost[1]
        for i in range(k + 1, n):
            if where[i, k]:
                a[i, k] /= a[k, k]
                a[i, k + 1:] -= a[i, k] * a[k, k + 1:] * where[i, k + 1:]
    return a


def factor(s, letter, name, base, direction=ROWS, boost=None, pivot=False):
    """csrilu02, csric02, bsrilu02, bsric02; with `pivot` one with a 0 on the
    diagonal of row 3, or less for Cholesky"""
    dtype, n, side = TYPES[letter], 8, 2
    cholesky, blocked = "ic02" in name, name.startswith("bsr")
    a = matrix(s, letter, (n, n), 0.3)
    dense = a.toarray() + a.toarray().conj().T
    dense += 12 * numpy.eye(n, dtype=dtype)
    if boost or pivot:
        dense[3, 3] = 0.001 if boost else -2 if cholesky else 0
        dense[3, :3] = dense[:3, 3] = 0
    a = scipy.sparse.csr_array(dense)
    a.sort_indices()
    info = s.new("Destroy%sInfo" % name.capitalize(),
                 "Create%sInfo" % name.capitalize())
    if blocked:
        held, arrays = blocks(a, (side, side), base, direction)
        where = held.copy()
        where.data = numpy.ones(where.data.shape)
        where = where.toarray() != 0
        args = [direction, n // side, len(held.indices), s.descr(base),
                *arrays, side, info]
    else:
        arrays, where = parts(a, base), dense != 0
        args = [n, a.nnz, s.descr(base), *arrays, info]
    if not cholesky:
        # On the device these are read later.
        tolerance, value = (s.one(t, v) for t, v in zip(
            (numpy.float64, dtype), boost or (0, 0)))
        s("%s%s_numericBoost" % (letter, name), info, int(boost is not None),
          tolerance, value)
    memory = s.buffer("%s%s_bufferSize" % (letter, name), *args,
                      kind=numpy.int32)
    s("%s%s_analysis" % (letter, name), *args, 1, memory)
    s(letter + name, *args, 1, memory)
    position = s.one(numpy.int32, 0)
    status = s.library.status("cusparseX%s_zeroPivot" % name, s.handle, info,
                              position)
    if pivot:
        s.judge.same("the pivot", (status, s.number(position)), (
            ZERO_PIVOT, (3 // side if blocked else 3) + base))
        return
    s.judge.same("the pivot", (status, s.number(position)), (0, -1))
    if blocked:
        data = arrays[0].get()
        data = data if direction == ROWS else data.transpose(0, 2, 1)
        got = scipy.sparse.bsr_array((data, held.indices, held.indptr),
                                     (n, n)).toarray()
    else:
        got = back(arrays, (n, n), base).toarray()
    expected = factors(dense, where, cholesky, boost)
    s.judge.near("the factors", numpy.tril(got) if cholesky else got,
                 expected, 1024)


def banded(s, letter, name, n, algorithm=None, dominant=True):
    """Systems of three and of five diagonals, several right sides or
    batches."""
    dtype, count = TYPES[letter], 3
    width = 2 if name.startswith("gpsv") else 1
    systems = [[numbers(s.random, dtype, n) for _ in range(2 * width + 1)]
               for _ in range(count)]
    one_matrix = name.startswith("gtsv2") and "Batch" not in name
    if one_matrix:
        systems = systems[:1] * count
    for diagonals in systems:
        # Without, what is on the diagonal may be 0 as it comes.
        diagonals[width] += dtype(5 * dominant)
        if not dominant:
            diagonals[width][::2] = 0
            diagonals[width][-1] = 1
        for d in range(width):
            diagonals[d][:width - d] = 0
            diagonals[-1 - d][n - width + d:] = 0
    sides = numbers(s.random, dtype, n, count)
    expected = numpy.stack([numpy.linalg.solve(sum(
        numpy.diag(d[max(0, -k):n - max(0, k)], k)
        for k, d in enumerate(diagonals, -width)), sides[:, i])
                            for i, diagonals in enumerate(systems)], 1)
    stacks = [numpy.stack(d, 1) for d in zip(*systems)]
    if one_matrix:
        arrays = [Device(d) for d in systems[0]]
        size, x = [n, count], numpy.vstack([sides, sides[:1]])
        tail = [n + 1]
    elif "Strided" in name:
        # Each has two numbers more than it needs.
        gap = numpy.zeros((2, count), dtype)
        arrays = [Device(numpy.asfortranarray(numpy.vstack([d, gap])))
                  for d in stacks]
        x = numpy.vstack([sides, gap])
        size, tail = [n], [count, n + 2]
    else:
        arrays = [Device(numpy.ascontiguousarray(d)) for d in stacks]
        size, tail, x = [algorithm, n], [count], sides
    x = numpy.ascontiguousarray(x) if "Interleaved" in name else (
        numpy.asfortranarray(x))
    dx = Device(x)
    args = [*size, *arrays, dx, *tail]
    s(letter + name, *args, s.buffer("%s%s_bufferSizeExt" % (letter, name),
                                     *args))
    s.judge.near("x", dx.get()[:n], expected, 1024 if dominant else 2**16)


# --- sums and products of sparse matrices

def csrgeam2(s, letter, base):
    dtype, shape = TYPES[letter], (7, 6)
    a, b = (matrix(s, letter, shape) for _ in range(2))
    of_a, of_b, of_c = s.descr(base), s.descr(1 - base), s.descr(1)
    offsets, total = room(8), s.one(numpy.int32, 0)
    args = [*shape, s.one(dtype, 2), of_a, a.nnz, *parts(a, base),
            s.one(dtype, -3), of_b, b.nnz, *parts(b, 1 - base), of_c]
    memory = s.buffer(letter + "csrgeam2_bufferSizeExt", *args, None, offsets,
                      None)
    s("Xcsrgeam2Nnz", *shape, of_a, a.nnz, *offsets_of(a, base), of_b, b.nnz,
      *offsets_of(b, 1 - base), of_c, offsets, total, memory)
    count = s.number(total)
    c = [room(count, dtype), offsets, room(count)]
    s(letter + "csrgeam2", *args, *c, memory)
    s.equal("C", back(c, shape, 1), s.union(dtype(2), a, dtype(-3), b))


def csrgemm2(s, letter, base, with_d):
    dtype = TYPES[letter]
    a, b = matrix(s, letter, (7, 5)), matrix(s, letter, (5, 6))
    d = matrix(s, letter, (7, 6))
    of_matrix = s.descr(base)
    info = s.new("DestroyCsrgemm2Info", "CreateCsrgemm2Info")
    pa, pb, pd = (parts(m, base) for m in (a, b, d))
    alpha, beta = s.one(dtype, 2), s.one(dtype, 3) if with_d else None
    of_d = [of_matrix, d.nnz if with_d else 0]
    pd = pd if with_d else [None, None, None]
    sizes = [7, 6, 5]
    memory = s.buffer(letter + "csrgemm2_bufferSizeExt", *sizes, alpha,
                      of_matrix, a.nnz, *pa[1:], of_matrix, b.nnz, *pb[1:],
                      beta, *of_d, *pd[1:], info)
    offsets, total = room(8), s.one(numpy.int32, 0)
    s("Xcsrgemm2Nnz", *sizes, of_matrix, a.nnz, *pa[1:], of_matrix, b.nnz,
      *pb[1:], *of_d, *pd[1:], of_matrix, offsets, total, info, memory)
    count = s.number(total)
    c = [room(count, dtype), offsets, room(count)]
    s(letter + "csrgemm2", *sizes, alpha, of_matrix, a.nnz, *pa, of_matrix,
      b.nnz, *pb, beta, *of_d, *pd, of_matrix, *c, info, memory)
    expected = s.product(a, b) * dtype(2)
    if with_d:
        expected = s.union(dtype(1), expected, dtype(3), d)
    s.equal("C", back(c, (7, 6), base), expected)


# --- conversions

def counted(s, letter, base, direction):
    """nnz, and dense to and from CSR and CSC"""
    dtype, shape = TYPES[letter], (7, 5)
    a, of_matrix = matrix(s, letter, shape), s.descr(base)
    dense = numpy.zeros((9, 5), dtype, "F")
    dense[:7] = a.toarray()
    of_line, total = room(7), s.one(numpy.int32, 0)
    s(letter + "nnz", direction, *shape, of_matrix, Device(dense), 9, of_line,
      total)
    kept = a if direction == ROWS else a.tocsc()
    counts = numpy.diff(kept.indptr)
    s.judge.same("the count", s.number(total), a.nnz)
    s.judge.same("the counts", of_line.get()[:len(counts)], counts)
    values, places = room(a.nnz, dtype), room(a.nnz)
    offsets = room(len(counts) + 1)
    form = "csr" if direction == ROWS else "csc"
    arrays = [values, offsets, places]
    given = [values, offsets, places] if form == "csr" else [values, places,
                                                             offsets]
    s("%sdense2%s" % (letter, form), *shape, of_matrix, Device(dense), 9,
      of_line, *given)
    s.equal("the matrix", back(arrays, shape, base, type(kept)), a)
    result = Device(numpy.full((9, 5), 7, dtype, "F"))
    s("%s%s2dense" % (letter, form), *shape, of_matrix, *given, result, 9)
    dense[7:] = 7
    s.judge.near("the dense matrix", result.get(), dense)


def compressed(s, letter, base):
    """nnz_compress, csr2csr_compress"""
    dtype, shape = TYPES[letter], (7, 5)
    a, of_matrix = matrix(s, letter, shape), s.descr(base)
    tolerance = {"S": ctypes.c_float, "D": ctypes.c_double,
                 "C": ctypes.c_float * 2, "Z": ctypes.c_double * 2}[letter]
    if letter in "CZ":
        class Complex(ctypes.Structure):
            _fields_ = [("x", tolerance._type_), ("y", tolerance._type_)]
        tolerance = Complex
    values, offsets, columns = parts(a, base)
    counts, total = room(7), s.one(numpy.int32, 0)
    s(letter + "nnz_compress", 7, of_matrix, values, offsets, counts, total,
      tolerance(0.8))
    kept = a.copy()
    kept.data[abs(kept.data) <= 0.8] = 0
    kept.eliminate_zeros()
    s.judge.same("the count", s.number(total), kept.nnz)
    s.judge.same("the counts", counts.get(), numpy.diff(kept.indptr))
    c = [room(kept.nnz, dtype), room(8), room(kept.nnz)]
    s(letter + "csr2csr_compress", *shape, of_matrix, values, columns, offsets,
      a.nnz, counts, c[0], c[2], c[1], tolerance(0.8))
    s.equal("the matrix", back(c, shape, base), kept)


def coordinates(s, base):
    """Xcoo2csr, Xcsr2coo"""
    a = matrix(s, "D", (7, 5))
    rows, offsets = room(a.nnz), room(8)
    s("Xcsr2coo", integers(a.indptr + base), a.nnz, 7, rows, base)
    s.judge.same("the rows", rows.get(), a.tocoo().row + base)
    s("Xcoo2csr", rows, a.nnz, 7, offsets, base)
    s.judge.same("the offsets", offsets.get(), a.indptr + base)


def csr2csc(s, letter, base, action):
    dtype, shape = ALL_TYPES[letter], (7, 5)
    a = matrix(s, letter, shape)
    c = [room(a.nnz, dtype), room(6), room(a.nnz)]
    args = [*shape, a.nnz, *parts(a, base, dtype), *c, CODES[letter], action,
            base, 1]
    s("Csr2cscEx2", *args, s.buffer("Csr2cscEx2_bufferSize", *args))
    expected = scipy.sparse.csc_array(a.astype(dtype if letter != "H" else
                                               float))
    if letter == "H":
        expected.data = expected.data.astype(dtype).astype(float)
        c[0] = Device(c[0].get().astype(float))
    if action == 0:
        c[0] = Device(expected.data)
    s.equal("the matrix", back(c, shape, base, scipy.sparse.csc_array),
            expected)


def block_matrix(got, shape, base, direction, side):
    """scipy's matrix of blocks on the device."""
    values, offsets, places = (array.get() for array in got)
    count = offsets[-1] - base
    data = values[:count * side[0] * side[1]]
    data = (data.reshape(-1, *side) if direction == ROWS else
            data.reshape(-1, *side[::-1]).transpose(0, 2, 1))
    return scipy.sparse.bsr_array((data, places[:count] - base, offsets - base),
                                  shape)


def same_blocks(s, got, expected):
    for b in got, expected:
        b.sort_indices()
    s.judge.same("the offsets", got.indptr, expected.indptr)
    s.judge.same("the columns", got.indices, expected.indices)
    s.judge.near("the blocks", got.data, expected.data)


def padded(a, side):
    """With rows and columns of zeros to the next block."""
    a = a.copy()
    a.resize(*(-(-n // d) * d for n, d in zip(a.shape, side)))
    return a


def to_blocks(s, letter, base, direction, shape, side):
    """csr2bsr and csr2gebsr and back again: bsr2csr, gebsr2csr"""
    dtype = TYPES[letter]
    a = matrix(s, letter, shape, 0.3)
    whole = padded(a, side)
    expected = whole.tobsr(side)
    of_a, of_c = s.descr(base), s.descr(1 - base)
    rows, columns = (n // d for n, d in zip(whole.shape, side))
    offsets, total = room(rows + 1), s.one(numpy.int32, 0)
    arrays = parts(a, base)
    names = ["csr2gebsr"] + ["csr2bsr"] * (side[0] == side[1])
    for name in names:
        if name == "csr2bsr":
            s("Xcsr2bsrNnz", direction, *shape, of_a, *arrays[1:], side[0],
              of_c, offsets, total)
        else:
            memory = s.buffer(letter + "csr2gebsr_bufferSize", direction,
                              *shape, of_a, *arrays, *side, kind=numpy.int32)
            s("Xcsr2gebsrNnz", direction, *shape, of_a, *arrays[1:], of_c,
              offsets, *side, total, memory)
        s.judge.same("the count", s.number(total), len(expected.indices))
        got = [room(s.number(total) * side[0] * side[1], dtype), offsets,
               room(s.number(total))]
        if name == "csr2bsr":
            s(letter + name, direction, *shape, of_a, *arrays, side[0], of_c,
              *got)
        else:
            s(letter + name, direction, *shape, of_a, *arrays, of_c, *got,
              *side, memory)
        same_blocks(s, block_matrix(got, whole.shape, 1 - base, direction,
                                    side), expected)
        count = s.number(total) * side[0] * side[1]
        there = [room(count, dtype), room(whole.shape[0] + 1), room(count)]
        sides = side[:1] if name == "csr2bsr" else side
        s(letter + name[3:].replace("2", "") + "2csr", direction, rows, columns,
          of_c, *got, *sides, of_a, *there)
        again = back(there, whole.shape, base)
        s.judge.same("the elements", again.nnz, count)
        s.judge.near("the matrix", again.toarray(), whole.toarray())


def other_blocks(s, letter, base, direction, side, target):
    """gebsr2gebsr, gebsr2gebsc"""
    dtype = TYPES[letter]
    a = matrix(s, letter, (12, 12), 0.1)
    b, arrays = blocks(a, side, base, direction)
    of_a, of_c = s.descr(base), s.descr(1 - base)
    size = [12 // side[0], 12 // side[1], len(b.indices)]
    begin = [direction, *size, of_a]
    memory = s.buffer(letter + "gebsr2gebsr_bufferSize", *begin, *arrays,
                      *side, *target, kind=numpy.int32)
    offsets, total = room(12 // target[0] + 1), s.one(numpy.int32, 0)
    s("Xgebsr2gebsrNnz", *begin, *arrays[1:], *side, of_c, offsets, *target,
      total, memory)
    got = [room(s.number(total) * target[0] * target[1], dtype), offsets,
           room(s.number(total))]
    s(letter + "gebsr2gebsr", *begin, *arrays, *side, of_c, *got, *target,
      memory)
    # A block of the target is one where one of the source has an element.
    where = b.copy()
    where.data = numpy.ones(b.data.shape)
    expected = scipy.sparse.csr_array(where).tobsr(target)
    expected.sort_indices()
    s.judge.same("the offsets", offsets.get() - (1 - base), expected.indptr)
    result = block_matrix(got, (12, 12), 1 - base, direction, target)
    result.sort_indices()
    s.judge.same("the columns", result.indices, expected.indices)
    s.judge.near("the matrix", result.toarray(), a.toarray())
    # By columns, each block as it was.
    memory = s.buffer(letter + "gebsr2gebsc_bufferSize", *size, *arrays, *side,
                      kind=numpy.int32)
    values, rows = room(b.data.size, dtype), room(size[2])
    offsets = room(size[1] + 1)
    s(letter + "gebsr2gebsc", *size, *arrays, *side, values, rows, offsets, 1,
      base, memory)
    order = scipy.sparse.csr_array((numpy.arange(size[2]) + 1, b.indices,
                                    b.indptr), size[:2]).tocsc()
    s.judge.same("the offsets", offsets.get() - base, order.indptr)
    s.judge.same("the rows", rows.get() - base, order.indices)
    each = size[2], side[0] * side[1]
    s.judge.same("the blocks", values.get().reshape(each),
                 arrays[0].get().reshape(each)[order.data - 1])


# --- sorting

def shuffled(s, a):
    """CSR or CSC whose rows or columns have their elements in any order."""
    order = numpy.concatenate([s.random.permutation(range(*ends)) for ends in
                               itertools.pairwise(a.indptr)]).astype(int)
    return a.data[order], a.indices[order], order


def sorts(s, base):
    """Xcoosort, Xcsrsort, Xcscsort: P takes the values along."""
    a = matrix(s, "D", (7, 5))
    p = room(a.nnz)

    def identity():
        s("CreateIdentityPermutation", a.nnz, p)
        s.judge.same("the identity", p.get(), numpy.arange(a.nnz))

    for name, kept in (("Xcsrsort", a), ("Xcscsort", a.tocsc())):
        values, places, _ = shuffled(s, kept)
        offsets, there = integers(kept.indptr + base), integers(places + base)
        memory = s.buffer(name + "_bufferSizeExt", 7, 5, a.nnz, offsets, there)
        identity()
        s(name, 7, 5, a.nnz, s.descr(base), offsets, there, p, memory)
        s.judge.same("the places", there.get() - base, kept.indices)
        s.judge.same("the values", values[p.get()], kept.data)
    for name, kept in (("Row", a.tocoo()), ("Column", a.tocsc().tocoo())):
        order = s.random.permutation(a.nnz)
        rows, columns = (integers(c[order] + base) for c in kept.coords)
        args = [7, 5, a.nnz, rows, columns]
        memory = s.buffer("Xcoosort_bufferSizeExt", *args)
        identity()
        s("XcoosortBy" + name, *args, p, memory)
        s.judge.same("the rows", rows.get() - base, kept.row)
        s.judge.same("the columns", columns.get() - base, kept.col)
        s.judge.same("the values", kept.data[order][p.get()], kept.data)


def unsorted(s, letter, base):
    """csru2csr sorts, and csr2csru undoes it."""
    a, of_matrix = matrix(s, letter, (7, 5)), s.descr(base)
    values, places, _ = shuffled(s, a)
    dv, offsets, columns = (Device(values), integers(a.indptr + base),
                            integers(places + base))
    info = s.new("DestroyCsru2csrInfo", "CreateCsru2csrInfo")
    memory = s.buffer(letter + "csru2csr_bufferSizeExt", 7, 5, a.nnz, dv,
                      offsets, columns, info)
    args = [7, 5, a.nnz, of_matrix, dv, offsets, columns, info, memory]
    s(letter + "csru2csr", *args)
    s.judge.same("the columns", columns.get() - base, a.indices)
    s.judge.same("the values", dv.get(), a.data)
    s(letter + "csr2csru", *args)
    s.judge.same("the columns as they were", columns.get() - base, places)
    s.judge.same("the values as they were", dv.get(), values)


# --- less elements

def prune(s, letter, name, base, percentage=None):
    """pruneDense2csr, pruneCsr2csr, by a threshold or a percentage"""
    dtype, shape = ALL_TYPES[letter], (7, 5)
    dense = numbers(s.random, dtype, *shape)
    of_c = s.descr(base)
    if name == "pruneCsr2csr":
        dense[s.random.random(shape) < 0.5] = 0
        a = scipy.sparse.csr_array(dense.astype(float))
        a.sort_indices()
        given = [a.nnz, s.descr(1 - base), *parts(a, 1 - base, dtype)]
        among = numpy.sort(abs(a.data))
    else:
        given = [Device(dense), 7]
        among = numpy.sort(abs(dense.astype(float)).ravel())
    info = []
    if percentage is None:
        limit, told = float(dtype(0.6)), s.one(dtype, 0.6)
    else:
        info = [s.new("DestroyPruneInfo", "CreatePruneInfo")]
        at = int(numpy.ceil(len(among) * percentage / 100)) - 1
        limit = among[max(at, 0)]
        told = ctypes.c_float(percentage)
    expected = scipy.sparse.csr_array(numpy.where(
        abs(dense.astype(float)) > limit, dense.astype(float), 0))
    by = "ByPercentage" * (percentage is not None)
    offsets, total = room(8), s.one(numpy.int32, 0)
    args = [*shape, *given, told, of_c]
    memory = s.buffer("%s%s%s_bufferSizeExt" % (letter, name, by), *args, None,
                      offsets, None, *info)
    s("%s%sNnz%s" % (letter, name, by), *args, offsets, total, *info, memory)
    s.judge.same("the count", s.number(total), expected.nnz)
    count = s.number(total)
    c = [room(count, dtype), offsets, room(count)]
    s(letter + name + by, *args, *c, *info, memory)
    got = c[0].get().astype(float)
    s.equal("the matrix", back([Device(got), *c[1:]], shape, base), expected)


def color(s, letter, base, fraction):
    """No two neighbours have one color; the order is by colors."""
    a = matrix(s, letter, (30, 30), 0.1, diagonal=1)
    a = scipy.sparse.csr_array(a + a.T)
    a.sort_indices()
    info = s.new("DestroyColorInfo", "CreateColorInfo")
    real = numpy.float32 if letter in "SC" else numpy.float64
    colors, of_row, order = s.one(numpy.int32, 0), room(30), room(30)
    s(letter + "csrcolor", 30, a.nnz, s.descr(base), *parts(a, base),
      s.one(real, fraction), colors, of_row, order, info)
    found, order = of_row.get(), order.get()
    rows, columns = a.tocoo().coords
    apart = rows != columns
    s.judge.same("neighbours of a color", bool(
        (found[rows] == found[columns])[apart].any()), False)
    s.judge.same("the colors", sorted(set(found)),
                 list(range(s.number(colors))))
    s.judge.same("the order", sorted(order), list(range(30)))
    s.judge.same("colors in that order", bool(
        (numpy.diff(found[numpy.argsort(order)]) >= 0).all()), True)


LETTERS = {"letter": list("SDCZ")}
BASES = {"base": [0, 1]}
DIRECTIONS = {"direction": [ROWS, COLUMNS]}
OPS = {"op": [N, T, C]}
TRIANGLES = {"fill": [LOWER, UPPER], "diagonal": [NON_UNIT, UNIT], **BASES}
# A family and what it is called with, all with all.
FAMILIES = [
    (level1, {**LETTERS, **BASES}),
    (gemvi, {**LETTERS, **OPS, **BASES}),
    (bsrmv, {**LETTERS, **BASES, **DIRECTIONS, "side": [1, 2, 3],
             "beta": [0, 3]}),
    (bsrmm, {**LETTERS, **BASES, **DIRECTIONS, "opb": [N, T],
             "side": [1, 2, 3]}),
    (gemmi, LETTERS),
    (csrmv_ex, {**LETTERS, **OPS, **BASES}),
    (solve, {**LETTERS, "name": ["csrsv2", "bsrsv2"], **OPS, **TRIANGLES,
             **DIRECTIONS}),
    (solve, {**LETTERS, "name": ["csrsm2", "bsrsm2"], **OPS, **TRIANGLES,
             "opx": [N, T]}),
    (solve, {**LETTERS, "name": ["csrsv2", "csrsm2", "bsrsv2", "bsrsm2"],
             "op": [N], "fill": [LOWER, UPPER], "diagonal": [NON_UNIT],
             **BASES, "pivot": [True]}),
    (factor, {**LETTERS, "name": ["csrilu02", "csric02"], **BASES}),
    (factor, {**LETTERS, "name": ["bsrilu02", "bsric02"], **BASES,
              **DIRECTIONS}),
    (factor, {**LETTERS, "name": ["csrilu02", "bsrilu02"], **BASES,
              "boost": [(0.01, 5)]}),
    (factor, {**LETTERS, "name": ["csrilu02", "csric02", "bsrilu02",
                                  "bsric02"], **BASES, "pivot": [True]}),
    (banded, {**LETTERS, "name": ["gtsv2", "gtsv2_nopivot",
                                  "gtsv2StridedBatch"], "n": [3, 8, 100]}),
    (banded, {**LETTERS, "name": ["gtsv2"], "n": [3, 8, 33],
              "dominant": [False]}),
    (banded, {**LETTERS, "name": ["gtsvInterleavedBatch"], "n": [3, 8, 100],
              "algorithm": [0, 1, 2]}),
    (banded, {**LETTERS, "name": ["gtsvInterleavedBatch"], "n": [3, 8, 33],
              "algorithm": [1, 2], "dominant": [False]}),
    (banded, {**LETTERS, "name": ["gpsvInterleavedBatch"], "n": [5, 8, 100],
              "algorithm": [0], "dominant": [False, True]}),
    (csrgeam2, {**LETTERS, **BASES}),
    (csrgemm2, {**LETTERS, **BASES, "with_d": [False, True]}),
    (counted, {**LETTERS, **BASES, **DIRECTIONS}),
    (compressed, {**LETTERS, **BASES}),
    (coordinates, BASES),
    (csr2csc, {"letter": list("HSDCZ"), **BASES, "action": [0, 1]}),
    (to_blocks, {**LETTERS, **BASES, **DIRECTIONS,
                 "shape": [(8, 6), (7, 5), (1, 1)],
                 "side": [(1, 1), (2, 2), (2, 3), (3, 3), (1, 4)]}),
    (other_blocks, {**LETTERS, **BASES, **DIRECTIONS,
                    "side": [(2, 2), (2, 3)], "target": [(3, 3), (4, 2)]}),
    (sorts, BASES),
    (unsorted, {**LETTERS, **BASES}),
    (prune, {"letter": list("HSD"), "name": ["pruneDense2csr", "pruneCsr2csr"],
             **BASES, "percentage": [None, 0, 30, 100]}),
    (color, {**LETTERS, **BASES, "fraction": [0.5, 1]}),
]
