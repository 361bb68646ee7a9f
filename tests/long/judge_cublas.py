"""cuBLAS against numpy and scipy; run by numpy_judges.py. ROWS has the families
of functions that judge_blas.py calls; the rest, whose arguments no row tells,
follows."""
import ctypes

import numpy
import scipy.linalg

from judge import Device, driver, Library, TYPES, numbers, pointers
from judge_blas import by_value, Caller, Row
from judge_numbers import NUMBERS, REAL

SDCZ, SD, CZ = "S D C Z", "S D", "C Z"


def op(a, how):
    return a.T if how == 1 else a.conj().T if how == 2 else a


def plus(v, y):
    return 0 if v.beta == 0 else v.beta * y


def times(v):
    """As BLAS has it, an empty matrix leaves y alone."""
    if v.a.size == 0:
        return None
    return v.alpha * op(v.a, getattr(v, "op", 0)) @ v.x + plus(v, v.y)


def product(v):
    return v.alpha * op(v.a, v.opa) @ op(v.b, v.opb) + plus(v, v.c)


def sided(v):
    return v.alpha * (v.b @ v.a if v.side else v.a @ v.b) + plus(v, v.c)


def solved(v):
    if v.side:
        return scipy.linalg.solve(op(v.a, v.op).T, v.alpha * v.b.T).T
    return scipy.linalg.solve(op(v.a, v.op), v.alpha * v.b)


def rank_k(v, hermitian, twice=False, b="b"):
    """Of A, or of A and B; `op` turns both."""
    a, b = op(v.a, v.op), op(getattr(v, b), v.op)
    turned = (lambda x: x.conj().T) if hermitian else (lambda x: x.T)
    out = v.alpha * a @ turned(b)
    if twice:
        alpha = numpy.conj(v.alpha) if hermitian else v.alpha
        out = out + alpha * b @ turned(a)
    return out + plus(v, v.c)


def turns(hermitian):
    """Of complex matrices, an update takes one of T and C."""
    return lambda flags, types: types[""] in "SD" or flags["op"] != (
        1 if hermitian else 2)


def rank_1(v, y, hermitian, twice=False):
    turned = numpy.conj if hermitian else (lambda x: x)
    out = v.a + v.alpha * numpy.outer(v.x, turned(y))
    if twice:
        out = out + turned(v.alpha) * numpy.outer(y, turned(v.x))
    return out


def size(x):
    return numpy.abs(x.real) + numpy.abs(x.imag)


def place(x, best):
    return 0 if x.size == 0 else int(best(size(x))) + 1


def rotm(v):
    flag, h11, h21, h12, h22 = v.param
    if flag == -2:
        return v.x, v.y
    if flag == 0:
        h11 = h22 = 1
    if flag == 1:
        h12, h21 = 1, -1
    return h11 * v.x + h12 * v.y, h21 * v.x + h22 * v.y


def scaled_alike(v):
    """B for which A op(B) is symmetric or, with a real alpha, Hermitian."""
    v.b = 2 * v.a


def gemm_types():
    """Of cublasGemmEx, by the table of its documentation: (compute types, scale,
    A and B, C)."""
    for computes, scale, ab, c in (
            ((64, 65), "F16", "F16", "F16"), ((72, 73), "I32", "I8", "I32"),
            ((68, 69), "S", "BF16", "BF16"), ((68, 69), "S", "F16", "F16"),
            ((68, 69), "S", "I8", "S"), ((68, 69), "S", "BF16", "S"),
            ((68, 69), "S", "F16", "S"), ((68, 69), "S", "S", "S"),
            ((68, 69), "C", "CI8", "C"), ((68, 69), "C", "C", "C"),
            ((74, 75, 77), "S", "S", "S"), ((74, 75, 77), "C", "C", "C"),
            ((70, 71), "D", "D", "D"), ((70, 71), "Z", "Z", "Z")):
        for compute in computes:
            yield "", {"": ab, "c": c, "scalar": scale, "compute": compute}


def typed(name, *kinds, **more):
    """Of calls on vectors: (type of all, type of execution)."""
    return [(name, dict({"": kind, "exec": execution}, **more))
            for kind, execution in kinds]


FLOATS = (("F16", "S"), ("BF16", "S"), ("S", "S"), ("D", "D"), ("C", "C"),
          ("Z", "Z"))
REALS = (("F16", "S"), ("BF16", "S"), ("S", "S"), ("D", "D"))
MIXED = [("HSH", {"": "F16", "scalar": "S"}),
         ("HSS", {"": "F16", "scalar": "S", "y": "S"}),
         ("TST", {"": "BF16", "scalar": "S"}),
         ("TSS", {"": "BF16", "scalar": "S", "y": "S"})]
LEVEL1 = {"level1": True}
# Where a step must be positive.
FORWARD = {"level1": True, "values": {"step": (1, 2, 5)}}
ONES = {"values": {"alpha": (1, 0), "beta": (0, 1)}}

GEMM = "opa opb m n k alpha a=m,k|k,m@opa b=k,n|n,k@opb beta *c=m,n"
GEMV = "op m n alpha a=m,n x=n|m@op beta *y=m|n@op"
TRSM = "side fill op diag m n alpha a=m,m|n,n@side:tri *b=m,n"
RANK_K = "fill op n k alpha a=n,k|k,n@op beta *c=n,n:"
RANK_2K = "fill op n k alpha a=n,k|k,n@op b=n,k|k,n@op beta *c=n,n:"
SYMM = "side fill m n alpha a=m,m|n,n@side:%s b=m,n beta *c=m,n"

ROWS = (
    # --- Level 1
    Row("axpy", SDCZ, "V2 OLD", "n alpha x=n *y=n",
        lambda v: v.alpha * v.x + v.y, zero=True, **LEVEL1),
    Row("copy", SDCZ, "V2 OLD", "n x=n *y=n", lambda v: v.x, zero=True,
        **LEVEL1),
    Row("swap", SDCZ, "V2 OLD", "n *x=n *y=n", lambda v: (v.y, v.x), **LEVEL1),
    Row("scal", SDCZ, "V2 OLD", "n alpha *x=n", lambda v: v.alpha * v.x,
        **FORWARD),
    Row("scal", [("Cs", {"": "C"}), ("Zd", {"": "Z"})], "V2 OLD",
        "n ralpha *x=n", lambda v: v.alpha * v.x, **FORWARD),
    Row("dot", SD, "V2 OLD", "n x=n y=n result", lambda v: v.x @ v.y, zero=True,
        **LEVEL1),
    Row("dotu", CZ, "V2 OLD", "n x=n y=n result", lambda v: v.x @ v.y,
        zero=True, **LEVEL1),
    Row("dotc", CZ, "V2 OLD", "n x=n y=n result",
        lambda v: numpy.vdot(v.x, v.y), zero=True, **LEVEL1),
    Row("nrm2", "S D Sc Dz", "V2 OLD", "n x=n rresult",
        lambda v: numpy.linalg.norm(v.x), **FORWARD),
    Row("asum", "S D Sc Dz", "V2 OLD", "n x=n rresult",
        lambda v: size(v.x).sum(), **FORWARD),
    Row("amax", "Is Id Ic Iz", "V2 OLD", "n x=n iresult",
        lambda v: place(v.x, numpy.argmax), **FORWARD),
    Row("amin", "Is Id Ic Iz", "V2 OLD", "n x=n iresult",
        lambda v: place(v.x, numpy.argmin), **FORWARD),
    Row("rot", SDCZ, "V2 OLD", "n *x=n *y=n c s", lambda v: (
        v.c * v.x + v.s * v.y, v.c * v.y - numpy.conj(v.s) * v.x), **LEVEL1),
    Row("rot", [("Cs", {"": "C"}), ("Zd", {"": "Z"})], "V2 OLD",
        "n *x=n *y=n c rs", lambda v: (
            v.c * v.x + v.s * v.y, v.c * v.y - v.s * v.x), **LEVEL1),
    Row("rotm", SD, "V2 OLD", "n *x=n *y=n param", rotm, **LEVEL1),

    # --- Level 2
    Row("gemv", SDCZ, "V2 OLD BATCHED STRIDED", GEMV, times),
    Row("gemv", MIXED, "BATCHED STRIDED", GEMV, times),
    Row("gbmv", SDCZ, "V2 OLD",
        "op m n kl ku alpha a=m,n:fullband x=n|m@op beta *y=m|n@op", times),
    Row("symv", SDCZ, "V2", "fill n alpha a=n,n:sym x=n beta *y=n", times),
    Row("symv", SD, "OLD", "fill n alpha a=n,n:sym x=n beta *y=n", times),
    Row("hemv", CZ, "V2 OLD", "fill n alpha a=n,n:her x=n beta *y=n", times),
    Row("sbmv", SD, "V2 OLD", "fill n k alpha a=n,n:symband x=n beta *y=n",
        times),
    Row("hbmv", CZ, "V2 OLD", "fill n k alpha a=n,n:herband x=n beta *y=n",
        times),
    Row("spmv", SD, "V2 OLD", "fill n alpha a=n,n:sympack x=n beta *y=n",
        times),
    Row("hpmv", CZ, "V2 OLD", "fill n alpha a=n,n:herpack x=n beta *y=n",
        times),
    *(Row(name % "mv", SDCZ, "V2 OLD", "fill op diag " + parameters + " *x=n",
          lambda v: op(v.a, v.op) @ v.x)
      for name, parameters in (("tr%s", "n a=n,n:tri"),
                               ("tb%s", "n k a=n,n:triband"),
                               ("tp%s", "n a=n,n:tripack"))),
    *(Row(name % "sv", SDCZ, "V2 OLD", "fill op diag " + parameters + " *x=n",
          lambda v: scipy.linalg.solve(op(v.a, v.op), v.x))
      for name, parameters in (("tr%s", "n a=n,n:tri"),
                               ("tb%s", "n k a=n,n:triband"),
                               ("tp%s", "n a=n,n:tripack"))),
    *(Row(name, letters, "V2 OLD", "m n alpha x=m y=n *a=m,n",
          lambda v, h=hermitian: rank_1(v, v.y, h))
      for name, letters, hermitian in (("ger", SD, False), ("geru", CZ, False),
                                       ("gerc", CZ, True))),
    *(Row(name, letters, forms, "fill n %s x=n *a=n,n:%s" % (alpha, kind),
          lambda v, h=alpha == "ralpha": rank_1(v, v.x, h))
      for name, letters, forms, alpha, kind in (
          ("syr", SDCZ, "V2", "alpha", "sym"),
          ("syr", SD, "OLD", "alpha", "sym"),
          ("her", CZ, "V2 OLD", "ralpha", "her"),
          ("spr", SD, "V2 OLD", "alpha", "sympack"),
          ("hpr", CZ, "V2 OLD", "ralpha", "herpack"))),
    *(Row(name, letters, forms, "fill n alpha x=n y=n *a=n,n:" + kind,
          lambda v, h=kind[0] == "h": rank_1(v, v.y, h, True))
      for name, letters, forms, kind in (
          ("syr2", SDCZ, "V2", "sym"), ("syr2", SD, "OLD", "sym"),
          ("her2", CZ, "V2 OLD", "her"), ("spr2", SD, "V2 OLD", "sympack"),
          ("hpr2", CZ, "V2 OLD", "herpack"))),

    # --- Level 3
    Row("gemm", SDCZ, "V2 OLD XT BATCHED STRIDED", GEMM, product),
    Row("gemm3m", CZ, "NEW", GEMM, product),
    Row("gemm3m", "C", "BATCHED STRIDED", GEMM, product),
    Row("gemm", [("H", {"": "F16"})], "NEW BATCHED STRIDED", GEMM, product),
    Row("symm", SDCZ, "V2 OLD XT", SYMM % "sym", sided),
    Row("hemm", CZ, "V2 OLD XT", SYMM % "her", sided),
    Row("syrk", SDCZ, "V2 OLD XT", RANK_K + "sym",
        lambda v: rank_k(v, False, b="a"), allows=turns(False)),
    Row("herk", CZ, "V2 OLD XT",
        RANK_K.replace("alpha", "ralpha").replace("beta", "rbeta") + "her",
        lambda v: rank_k(v, True, b="a"), allows=turns(True)),
    Row("syr2k", SDCZ, "V2 OLD XT", RANK_2K + "sym",
        lambda v: rank_k(v, False, True), allows=turns(False)),
    Row("her2k", CZ, "V2 OLD XT", RANK_2K.replace("beta", "rbeta") + "her",
        lambda v: rank_k(v, True, True), allows=turns(True)),
    Row("syrkx", SDCZ, "NEW XT", RANK_2K + "sym", lambda v: rank_k(v, False),
        allows=turns(False), prepare=scaled_alike),
    Row("herkx", CZ, "NEW XT", RANK_2K.replace("beta", "rbeta") + "her",
        lambda v: rank_k(v, True), allows=turns(True), prepare=scaled_alike,
        values={"alpha": (1, 0)}),
    Row("trmm", SDCZ, "V2 XT",
        "side fill op diag m n alpha a=m,m|n,n@side:tri b=m,n *c=m,n",
        lambda v: v.alpha * (v.b @ op(v.a, v.op) if v.side else
                             op(v.a, v.op) @ v.b)),
    Row("trmm", SDCZ, "OLD", TRSM, lambda v: v.alpha * (
        v.b @ op(v.a, v.op) if v.side else op(v.a, v.op) @ v.b)),
    Row("trsm", SDCZ, "V2 OLD XT BATCHED", TRSM, solved),

    # --- Beyond BLAS
    Row("geam", SDCZ, "NEW",
        "opa opb m n alpha a=m,n|n,m@opa beta b=m,n|n,m@opb *c=m,n",
        lambda v: v.alpha * op(v.a, v.opa) + plus(v, op(v.b, v.opb))),
    Row("dgmm", SDCZ, "NEW", "side m n a=m,n x=m|n@side *c=m,n",
        lambda v: v.a * v.x if v.side else v.x[:, None] * v.a),
    Row("tpttr", SDCZ, "INT", "fill n p=n,n:sympack *a=n,n:sym",
        lambda v: v.p),
    Row("trttp", SDCZ, "INT", "fill n a=n,n:sym *p=n,n:sympack",
        lambda v: v.a),

    # --- Types told at run time
    Row("Ex", typed("Axpy", *FLOATS), "EX",
        "n alpha alphatype x=n *y=n exec", lambda v: v.alpha * v.x + v.y,
        **LEVEL1),
    Row("Ex", typed("Scal", *FLOATS), "EX", "n alpha alphatype *x=n exec",
        lambda v: v.alpha * v.x, **FORWARD),
    Row("Ex", typed("Dot", *FLOATS), "EX", "n x=n y=n result resulttype exec",
        lambda v: v.x @ v.y, **LEVEL1),
    Row("Ex", typed("Dotc", *FLOATS), "EX", "n x=n y=n result resulttype exec",
        lambda v: numpy.vdot(v.x, v.y), **LEVEL1),
    Row("Ex", typed("Nrm2", *REALS) + typed("Nrm2", ("C", "S"), result="S") +
        typed("Nrm2", ("Z", "D"), result="D"), "EX",
        "n x=n rresult resulttype exec", lambda v: numpy.linalg.norm(v.x),
        **FORWARD),
    Row("Ex", typed("Asum", *REALS) + typed("Asum", ("C", "S"), result="S") +
        typed("Asum", ("Z", "D"), result="D"), "EX",
        "n x=n rresult resulttype exec", lambda v: size(v.x).sum(), **FORWARD),
    Row("Ex", typed("Iamax", *FLOATS), "EX", "n x=n iresult",
        lambda v: place(v.x, numpy.argmax), **FORWARD),
    Row("Ex", typed("Iamin", *FLOATS), "EX", "n x=n iresult",
        lambda v: place(v.x, numpy.argmin), **FORWARD),
    Row("Ex", typed("Copy", *FLOATS), "EX", "n x=n *y=n", lambda v: v.x,
        **LEVEL1),
    Row("Ex", typed("Swap", *FLOATS), "EX", "n *x=n *y=n",
        lambda v: (v.y, v.x), **LEVEL1),
    Row("Ex", typed("Rot", *FLOATS), "EX", "n *x=n *y=n c s cstype exec",
        lambda v: (v.c * v.x + v.s * v.y,
                   v.c * v.y - numpy.conj(v.s) * v.x), **LEVEL1),
    Row("Ex", typed("Rotm", ("S", "S"), ("D", "D")), "EX",
        "n *x=n *y=n param paramtype exec", rotm, **LEVEL1),
    *(Row(name, [x for x in gemm_types() if x[1]["scalar"] != "I32"], form,
          GEMM + more + " compute algo", product)
      for name, form, more in (("GemmEx", "EX", ""),
                               ("GemmBatchedEx", "EXBATCHED", " count"),
                               ("GemmStridedBatchedEx", "EXSTRIDED",
                                " count"))),
    *(Row(name, [x for x in gemm_types() if x[1]["scalar"] == "I32"], form,
          GEMM + more + " compute algo", product, **ONES)
      for name, form, more in (("GemmEx", "EX", ""),
                               ("GemmBatchedEx", "EXBATCHED", " count"),
                               ("GemmStridedBatchedEx", "EXSTRIDED",
                                " count"))),
    Row("gemmEx", [("S", {"": ab, "c": c, "scalar": "S"})
                   for ab, c in (("BF16", "BF16"), ("F16", "F16"), ("I8", "S"),
                                 ("BF16", "S"), ("F16", "S"), ("S", "S"))],
        "EX", GEMM, product),
    *(Row(name, [("C", {"": ab, "c": "C", "scalar": "C"})
                 for ab in ("CI8", "C")], "EX", GEMM, product)
      for name in ("gemmEx", "gemm3mEx")),
    *(Row(name, [("C", {"": ab, "c": "C", "scalar": "C"})
                 for ab in ("CI8", "C")], "EX",
          (RANK_K if name[0] == "s" else RANK_K.replace(
              "alpha", "ralpha").replace("beta", "rbeta")) + name[:3].replace(
                  "syr", "sym"),
          lambda v, h=name[0] == "h": rank_k(v, h, b="a"),
          allows=turns(name[0] == "h"))
      for name in ("syrkEx", "syrk3mEx", "herkEx", "herk3mEx")),
)


class Scalars:
    """Arguments that a call may change: of the host or, as the handle is set,
    of the device."""

    def __init__(self, blas, handle, device):
        self.device = device
        blas("cublasSetPointerMode_v2", handle, int(device))

    def make(self, letter, values):
        memory = NUMBERS[letter].encode(numpy.atleast_1d(values))
        return Device(memory) if self.device else memory

    def get(self, place):
        return place.get() if self.device else place


def rotations(judge, blas, handle, random, letter):
    """rotg and rotmg, in all their forms, against BLAS."""
    made = getattr(scipy.linalg.blas, letter.lower() + "rotg")
    real, number = REAL[letter], NUMBERS[letter]
    code = number.code
    for a, b in ((3, 4), (4, -3), (0, 2), (2, 0), (0, 0), (-1, 1)) + tuple(
            number.random(random, 4, 2)):
        if letter in "CZ":
            a, b = number.round(complex(a) * (2 + 1j)), number.round(
                complex(b) * (1 - 3j))
        c, s = made(a, b)
        if letter in "CZ" and a == 0:
            c, s = 0, 1  # so NVIDIA, as BLAS before LAPACK 3.10
        for form, device in (("v2", False), ("v2", True), ("Ex", False),
                             ("Ex", True), ("old", False)):
            scalars = Scalars(blas, handle, device)
            places = [scalars.make(letter, a), scalars.make(letter, b),
                      scalars.make(real, 0), scalars.make(letter, 0)]
            if form == "v2":
                blas("cublas%srotg_v2" % letter, handle, *places)
            elif form == "Ex":
                blas("cublasRotgEx", handle, *places[:2], code, *places[2:],
                     code, code)
            else:
                name = "cublas%srotg" % letter
                getattr(blas.file, name).restype = None
                told = list(places)
                if letter in "CZ":
                    told[1] = by_value(letter, b)
                blas.status(name, *told)
            r, z, got_c, got_s = [scalars.get(p)[0] for p in places]
            what = "rotg %s of %s, %s: " % (form, a, b)
            judge.near(what + "c", got_c, c)
            judge.near(what + "s", got_s, s)
            judge.near(what + "r", r, c * a + s * b)
            if letter in "SD":
                c, s = float(c), float(s)
                judge.near(what + "z", z, s if abs(a) > abs(b) or a == b == 0
                           else 1 / c if c else 1)
    if letter in "CZ":
        return
    made = getattr(scipy.linalg.blas, letter.lower() + "rotmg")
    tried = [(1, 1, 2, 3), (1, 2, 3, 1), (-1, 1, 1, 1), (1, -1, 1, 2),
             (1, 1, 1, 0), (1e-9, 1e-9, 1, 2), (1e9, 1e9, 2, 1), (1, 0, 1, 1)]
    tried += [tuple(numpy.abs(number.random(random, 4))) for _ in range(8)]
    for d1, d2, x1, y1 in tried:
        param = made(d1, d2, x1, y1)
        for form, device in (("v2", False), ("v2", True), ("Ex", False),
                             ("Ex", True), ("old", False)):
            scalars = Scalars(blas, handle, device)
            places = [scalars.make(letter, x) for x in (
                d1, d2, x1, y1, [9] * 5)]
            if form == "v2":
                blas("cublas%srotmg_v2" % letter, handle, *places)
            elif form == "Ex":
                blas("cublasRotmgEx", handle, *[
                    x for p in places for x in (p, code)], code)
            else:
                name = "cublas%srotmg" % letter
                getattr(blas.file, name).restype = None
                blas.status(name, *places)
            got = scalars.get(places[4])
            what = "rotmg %s of %s: " % (form, (d1, d2, x1, y1))
            judge.same(what + "flag", got[0], param[0])
            # Which are told depends on the flag.
            told = {-2: [], -1: [1, 2, 3, 4], 0: [2, 3], 1: [1, 4]}[
                int(param[0])]
            judge.near(what + "param", got[told], numpy.array(param)[told])
            judge.same(what + "others", numpy.delete(got, [0] + told),
                       [9] * (4 - len(told)))
            if (param[1:] != 0).any():
                g1, _, gx = (scalars.get(p)[0] for p in places[:3])
                judge.near(what + "length", g1 * gx * gx,
                           d1 * x1 ** 2 + d2 * y1 ** 2)


def factors(judge, blas, handle, random, letter, dtype, n):
    """LU, its uses, QR and least squares, of three matrices at a time, against
    LAPACK. Columns lie n + 2 apart."""
    count, ld = 3, n + 2
    lapack = {name: getattr(scipy.linalg.lapack, letter.lower() + name)
              for name in ("getrf", "geqrf")}

    def tall(a):
        out = numpy.full((ld, a.shape[1]), numpy.nan, dtype, order="F")
        out[:len(a)] = a
        return Device(out)

    def call(name, *args):
        blas("cublas%s%s" % (letter, name), handle, *args)

    def all_near(what, got, expected, factor=1024 * n):
        for g, e in zip(got, expected):
            judge.near(what, g.get()[:len(e)], e, factor)
            judge.same(what + " below", numpy.isnan(g.get()[len(e):]).all(),
                       True)

    matrices = [numbers(random, dtype, n, n) for _ in range(count)]
    right = [numbers(random, dtype, n, 3) for _ in range(count)]
    inverses = [numpy.linalg.inv(a) for a in matrices]
    hard = max(numpy.linalg.cond(a) for a in matrices)
    pivots = Device(numpy.zeros((count, n), "i4"))
    info = Device(numpy.full(count, 9, "i4"))

    lu = [tall(a) for a in matrices]
    call("getrfBatched", n, pointers(lu), ld, pivots, info, count)
    expected = [lapack["getrf"](a) for a in matrices]
    all_near("LU", lu, [e[0] for e in expected])
    judge.same("pivots", pivots.get(), [e[1] + 1 for e in expected])
    judge.same("info", info.get(), [0] * count)

    inverse = [tall(a) for a in matrices]
    call("getriBatched", n, pointers(lu), ld, pivots, pointers(inverse), ld,
         info, count)
    all_near("getri", inverse, inverses, 64 * hard)
    judge.same("info of getri", info.get(), [0] * count)

    for how in range(3):
        x = [tall(b) for b in right]
        host = numpy.full(1, 9, "i4")
        call("getrsBatched", how, n, 3, pointers(lu), ld, pivots, pointers(x),
             ld, host, count)
        all_near("getrs", x, [numpy.linalg.solve(op(a, how), b)
                              for a, b in zip(matrices, right)], 64 * hard)
        judge.same("info of getrs", host[0], 0)

    inverse = [tall(a) for a in matrices]
    call("matinvBatched", n, pointers([tall(a) for a in matrices]), ld,
         pointers(inverse), ld, info, count)
    all_near("matinv", inverse, inverses, 64 * hard)
    judge.same("info of matinv", info.get(), [0] * count)

    # Without pivots: of matrices that need none.
    easy = [a + 2 * n * numpy.eye(n, dtype=dtype) for a in matrices]
    lu = [tall(a) for a in easy]
    call("getrfBatched", n, pointers(lu), ld, ctypes.c_void_p(), info, count)
    for a, device in zip(easy, lu):
        got = device.get()[:n]
        lower = numpy.tril(got, -1) + numpy.eye(n, dtype=dtype)
        judge.near("L U", lower @ numpy.triu(got), a)
    x = [tall(b) for b in right]
    call("getrsBatched", 0, n, 3, pointers(lu), ld, ctypes.c_void_p(),
         pointers(x), ld, host, count)
    all_near("getrs without pivots", x,
             [numpy.linalg.solve(a, b) for a, b in zip(easy, right)])

    for m, columns in ((n, n), (n + 2, n), (n, n + 1)):
        ld = m + 2
        a = [numbers(random, dtype, m, columns) for _ in range(count)]
        qr = [tall(x) for x in a]
        tau = [Device(numpy.zeros(min(m, columns), dtype)) for _ in a]
        call("geqrfBatched", m, columns, pointers(qr), ld, pointers(tau), host,
             count)
        expected = [lapack["geqrf"](x) for x in a]
        all_near("QR", qr, [e[0] for e in expected])
        for got, e in zip(tau, expected):
            judge.near("tau", got.get(), e[1], 1024 * n)
        judge.same("info of geqrf", host[0], 0)
        if m < columns:
            continue
        b = [numbers(random, dtype, m, 2) for _ in a]
        c = [tall(x) for x in b]
        call("gelsBatched", 0, m, columns, 2, pointers([tall(x) for x in a]),
             ld, pointers(c), ld, host, info, count)
        for got, x, y in zip(c, a, b):
            judge.near("gels", got.get()[:columns],
                       numpy.linalg.lstsq(x, y, rcond=None)[0],
                       64 * numpy.linalg.cond(x) ** 2)
        judge.same("info of gels", info.get(), [0] * count)


def infos(judge, blas, handle, letter, dtype):
    """What is told of singular matrices and of wrong arguments."""
    matrix = numpy.asfortranarray(numpy.eye(3, dtype=dtype))
    matrix[1, 1] = 0
    at = pointers([Device(matrix), Device(numpy.eye(3, dtype=dtype))])
    out = [Device(numpy.zeros((3, 3), dtype, order="F")) for _ in range(2)]
    pivots, info = Device(numpy.zeros(6, "i4")), Device(numpy.zeros(2, "i4"))
    host = numpy.zeros(1, "i4")
    call = lambda name, *args: blas.status(  # noqa: E731
        "cublas%s%s" % (letter, name), handle, *args)
    judge.same("matinv", call("matinvBatched", 3, at, 3, pointers(out), 3, info,
                              2), 0)
    judge.same("info of matinv", info.get(), [2, 0])
    judge.same("getrf", call("getrfBatched", 3, at, 3, pivots, info, 2), 0)
    judge.same("info of getrf", info.get(), [2, 0])
    judge.same("getri", call("getriBatched", 3, at, 3, pivots, pointers(out), 3,
                             info, 2), 0)
    judge.same("info of getri", info.get(), [2, 0])
    null = ctypes.c_void_p()
    for name, args, code in (
            ("getrfBatched", (-1, at, 3, pivots, info, 2), 7),
            ("getrfBatched", (3, at, 2, pivots, info, 2), 7),
            ("getrfBatched", (3, at, 3, pivots, info, -1), 7),
            ("getriBatched", (3, at, 3, pivots, at, 2, info, 2), 7),
            ("matinvBatched", (33, at, 33, pointers(out), 33, info, 2), 7),
            ("getrsBatched", (0, 3, -1, at, 3, pivots, at, 3, host, 2), 7),
            ("geqrfBatched", (3, 3, at, 2, at, host, 2), 7),
            ("gelsBatched", (0, 3, 3, -1, at, 3, at, 3, host, null, 2), 7),
            ("gelsBatched", (1, 3, 3, 1, at, 3, at, 3, host, null, 2), 15),
            ("gelsBatched", (0, 2, 3, 1, at, 3, at, 3, host, null, 2), 15)):
        judge.same("%s%s" % (name, args[:3]), call(name, *args), code)


def groups(judge, blas, handle, random, letter):
    """Groups of products, of shapes of their own."""
    number = NUMBERS[letter]
    shapes = ((0, 1, 5, 7, 3), (1, 0, 1, 33, 20), (2, 2, 8, 1, 0))
    sizes = (2, 1, 3)
    for end in ("", "_64"):
        for typed_name in (False, True):
            ints = numpy.dtype("i8" if end else "i4")
            alpha, beta = number.random(random, 2, 3)
            beta[1] = 0
            lists = [[], [], []]
            expected = []
            for (opa, opb, m, n, k), size_, al, be in zip(shapes, sizes, alpha,
                                                          beta):
                for _ in range(size_):
                    a, b, c = (numpy.asfortranarray(number.random(
                        random, *shape)) for shape in (
                            (k, m) if opa else (m, k),
                            (n, k) if opb else (k, n), (m, n)))
                    expected.append(al * op(a, opa) @ op(b, opb) + be * c)
                    if be == 0:
                        c[:] = numpy.nan
                    for each, x in zip(lists, (a, b, c)):
                        each.append(Device(number.encode(x)))
            by_group = numpy.array(shapes).T
            leads = [numpy.maximum(x, 1) for x in (
                numpy.where(by_group[0], by_group[4], by_group[2]),
                numpy.where(by_group[1], by_group[3], by_group[4]),
                by_group[2])]
            args = [by_group[0].astype("i4"), by_group[1].astype("i4")] + [
                by_group[i].astype(ints) for i in (2, 3, 4)]
            args.append(number.encode(alpha))
            for i, each in enumerate(lists):
                if i == 2:
                    args.append(number.encode(beta))
                args.append(pointers(each))
                args += [number.code] * typed_name
                args.append(leads[i].astype(ints))
            args += [3, numpy.array(sizes).astype(ints)]
            name = "cublas%sgemmGroupedBatched" % letter
            if typed_name:
                name = "cublasGemmGroupedBatchedEx"
                args.append({"S": 68, "D": 70}[letter])
            blas(name + end, handle, *args)
            for got, e in zip(lists[2], expected):
                judge.near(name + end, number.decode(got.get()), e,
                           number.allowed())


def in_place(judge, blas, handle, random, letter):
    """What NVIDIA lets a result be: B of trmm, A or B of geam, A of dgmm."""
    number, n, ld = NUMBERS[letter], 7, 9

    def matrix():
        out = numpy.zeros((ld, n), number.dtype, order="F")
        out[:n] = number.encode(number.random(random, n, n))
        return out, Device(out), out[:n].astype(complex)

    def judged(what, device, expected):
        judge.near(what, device.get()[:n].astype(complex), expected,
                   number.allowed())
    blas("cublasSetPointerMode_v2", handle, 0)
    alpha, beta = number.encode(numpy.array([2.0])), number.encode(
        numpy.array([-3.0]))
    name = "cublas" + letter
    for side in (0, 1):
        _, a, da = matrix()
        _, b, db = matrix()
        blas(name + "trmm_v2", handle, side, 0, 0, 0, n, n, alpha, a, ld, b, ld,
             b, ld)
        lower = numpy.tril(da)
        judged("trmm", b, 2 * (db @ lower if side else lower @ db))
        _, x, dx = matrix()
        blas(name + "dgmm", handle, side, n, n, a, ld, x, 1, a, ld)
        x = dx[:, 0]
        judged("dgmm", a, da * x if side else x[:, None] * da)
    for of_a in (True, False):
        for how in range(3):
            _, a, da = matrix()
            _, b, db = matrix()
            opa, opb = (0, how) if of_a else (how, 0)
            c = a if of_a else b
            blas(name + "geam", handle, opa, opb, n, n, alpha, a, ld, beta, b,
                 ld, c, ld)
            judged("geam", c, 2 * op(da, opa) - 3 * op(db, opb))
            if how:
                judge.same("geam turned in place", blas.status(
                    name + "geam", handle, opb, opa, n, n, alpha, a, ld, beta,
                    b, ld, c, ld), 7)


def extremes(judge, blas, handle, letter):
    """Sums of squares that are too large or too small; what is not finite; the
    first of elements that are as large."""
    number, real = NUMBERS[letter], NUMBERS[REAL[letter]]
    ends = numpy.finfo(real.dtype)
    blas("cublasSetPointerMode_v2", handle, 0)
    out = numpy.zeros(1, real.dtype)
    name = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]
    for x in ([ends.max / 4, ends.max / 2], [ends.tiny, ends.tiny * 3],
              [numpy.inf, 1], [numpy.nan, 1], [0, 0], [ends.max / 4, 1]):
        device = Device(number.encode(numpy.array(x, float)))
        blas("cublas%snrm2_v2" % name, handle, 2, device, 1, out)
        expected = numpy.hypot(*numpy.longdouble(x))
        judge.near("nrm2 of %s" % x, out / ends.max, real.encode(
            numpy.array([expected])) / ends.max, 4)
        if 0 < expected < 1:
            judge.near("nrm2 of %s" % x, float(out[0] / expected), 1.0,
                       64 * real.unit / numpy.finfo(float).eps)
    ties = Device(number.encode(numpy.array([2.0, -1, 3, 1, -3, 3])))
    at = numpy.zeros(1, "i4")
    for name, args, expected in (
            ("I%samax_v2" % letter.lower(), (), 3),
            ("I%samin_v2" % letter.lower(), (), 2),
            ("IamaxEx", (number.code,), 3), ("IaminEx", (number.code,), 2)):
        blas("cublas" + name, handle, 6, ties, *args, 1, at)
        judge.same(name + " of ties", at[0], expected)
    a = numpy.asfortranarray(number.encode(numpy.array(
        [[numpy.inf, 1], [numpy.nan, 2]])))
    ones = Device(numpy.ones((2, 2), number.dtype, order="F"))
    c = Device(numpy.zeros((2, 2), number.dtype, order="F"))
    one, zero = (numpy.array([x], number.dtype) for x in (1, 0))
    blas("cublas%sgemm_v2" % letter, handle, 0, 0, 2, 2, 2, one, Device(a), 2,
         ones, 2, zero, c, 2)
    judge.same("gemm of what is not finite", numpy.isfinite(c.get()).any(),
               False)


def unsupported(judge, blas, handle):
    """Types that no table has together."""
    half, single = NUMBERS["F16"].code, NUMBERS["S"].code
    x = Device(numpy.zeros(64, "f8"))
    one = numpy.ones(1, "f4")
    for name, args in (
            ("AxpyEx", (1, one, single, x, half, 1, x, single, 1, single)),
            ("AxpyEx", (1, one, single, x, half, 1, x, half, 1, half)),
            ("DotEx", (1, x, 3, 1, x, 3, 1, one, 3, single)),
            ("Nrm2Ex", (1, x, single, 1, one, half, single)),
            ("RotmEx", (1, x, half, 1, x, half, 1, x, half, single)),
            ("GemmEx", (0, 0, 1, 1, 1, one, x, half, 1, x, single, 1, one, x,
                        single, 1, 68, -1)),
            ("GemmEx", (0, 0, 1, 1, 1, one, x, half, 1, x, half, 1, one, x,
                        half, 1, 70, -1)),
            ("CherkEx", (0, 0, 1, 1, one, x, half, 1, one, x, 4, 1))):
        judge.same(name, blas.status("cublas" + name, handle, *args), 15)


def streams(judge, blas, handle, random):
    """Work of a stream comes after what the stream did before."""
    stream, n = ctypes.c_void_p(), 64
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    blas("cublasSetStream_v2", handle, stream)
    blas("cublasSetPointerMode_v2", handle, 1)
    scalar, x = Device(numpy.zeros(1)), random.standard_normal(n)
    dx, total = Device(x), Device(numpy.zeros(1))
    for _ in range(5):
        blas("cublasDasum_v2", handle, n, dx, 1, scalar)
        blas("cublasDscal_v2", handle, n, scalar, dx, 1)
        x = numpy.abs(x).sum() * x
    blas("cublasDnrm2_v2", handle, n, dx, 1, total)
    driver("cuStreamSynchronize", stream)
    judge.near("of a stream", total.get()[0] / numpy.linalg.norm(x), 1.0)
    blas("cublasSetStream_v2", handle, ctypes.c_void_p())
    driver("cuStreamDestroy_v2", stream)


def copies(judge, blas, random):
    """Vectors and matrices to the device and back."""
    size_, stream = 8, ctypes.c_void_p()
    for end in ("", "_64"):
        for way in ("", "Async"):
            tail = (stream,) if way else ()
            for n, incx, incy in ((1, 1, 1), (7, 1, 1), (7, 2, 3), (0, 1, 1),
                                  (100, 3, 1)):
                x = random.standard_normal(1 + max(n - 1, 0) * incx)
                there = Device(numpy.zeros(1 + max(n - 1, 0) * incy))
                blas("cublasSetVector" + way + end, n, size_, x, incx, there,
                     incy, *tail)
                expected = numpy.zeros(there.shape)
                expected[:(n - 1) * incy + 1:incy] = x[::incx] if n else 0
                judge.same("a vector there", there.get(), expected)
                back = numpy.zeros_like(x)
                blas("cublasGetVector" + way + end, n, size_, there, incy, back,
                     incx, *tail)
                there.get()  # waits
                expected = numpy.zeros_like(x)
                expected[::incx] = x[::incx] if n else 0
                judge.same("a vector back", back, expected)
            for m, n, lda, ldb in ((1, 1, 1, 1), (7, 5, 7, 7), (7, 5, 9, 8),
                                   (0, 3, 1, 1), (50, 3, 50, 64)):
                a = numpy.asfortranarray(random.standard_normal((lda, n)))
                there = Device(numpy.zeros((ldb, n), order="F"))
                blas("cublasSetMatrix" + way + end, m, n, size_, a, lda, there,
                     ldb, *tail)
                expected = numpy.zeros((ldb, n))
                expected[:m] = a[:m]
                judge.same("a matrix there", there.get(), expected)
                back = numpy.zeros_like(a)
                blas("cublasGetMatrix" + way + end, m, n, size_, there, ldb,
                     back, lda, *tail)
                there.get()
                expected = numpy.zeros_like(a)
                expected[:m] = a[:m]
                judge.same("a matrix back", back, expected)
            for args in ((1, 0, x, 1, there, 1), (1, 8, x, 0, there, 1),
                         (1, 8, x, 1, there, 0), (-1, 8, x, 1, there, 1)):
                judge.same("SetVector%s" % (args[:2],), blas.status(
                    "cublasSetVector" + way + end, *args, *tail), 7)
            for args in ((2, 1, 8, a, 1, there, 2), (1, 1, 0, a, 1, there, 1),
                         (-1, 1, 8, a, 1, there, 1)):
                judge.same("GetMatrix%s" % (args[:3],), blas.status(
                    "cublasGetMatrix" + way + end, *args, *tail), 7)
    address = ctypes.c_void_p()
    blas("cublasAlloc", 10, 8, ctypes.byref(address))
    x, back = random.standard_normal(10), numpy.zeros(10)
    blas("cublasSetVector", 10, 8, x, 1, address, 1)
    blas("cublasGetVector", 10, 8, address, 1, back, 1)
    judge.same("cublasAlloc's", back, x)
    blas("cublasFree", address)


def settings(judge, blas, handle, xt):
    """What is set is told again."""
    value, pointer = ctypes.c_int(), ctypes.c_void_p()
    for of, name, to in (
            (handle, "PointerMode", 1), (handle, "PointerMode", 0),
            (handle, "AtomicsMode", 1), (handle, "MathMode", 3),
            (handle, "SmCountTarget", 4), (handle, "EnvironmentMode", 1),
            (handle, "EmulationStrategy", 1),
            (handle, "EmulationSpecialValuesSupport", 1),
            (handle, "FixedPointEmulationMantissaControl", 1),
            (handle, "FixedPointEmulationMaxMantissaBitCount", 40),
            (handle, "FixedPointEmulationMantissaBitOffset", 2),
            (xt, "XtBlockDim", 512), (xt, "XtPinningMemMode", 1)):
        prefix = "cublasXt%s" if name.startswith("Xt") else "cublas%s"
        end = "_v2" if name == "PointerMode" else ""
        name = name.removeprefix("Xt") + end
        blas(prefix % ("Set" + name), of, to)
        blas(prefix % ("Get" + name), of, ctypes.byref(value))
        judge.same(name, value.value, to)
    for name, of in (("FixedPointEmulationMantissaBitCountPointer", handle),
                     ("Stream_v2", handle)):
        blas("cublasSet" + name, of, ctypes.c_void_p(0))
        pointer.value = 7
        blas("cublasGet" + name, of, ctypes.byref(pointer))
        judge.same(name, pointer.value, None)
    blas.file.cublasSetKernelStream(ctypes.c_void_p(0))
    blas("cublasSetKernelStream", ctypes.c_void_p(0))
    workspace = Device(numpy.zeros(4096, "u1"))
    blas("cublasSetWorkspace_v2", handle, workspace, ctypes.c_size_t(4096))
    for name, args in (("cublasGetVersion_v2", (handle,)),
                       ("cublasGetVersion", ())):
        blas(name, *args, ctypes.byref(value))
        judge.same(name, value.value // 10000, 13)
    for which, least in ((0, 13), (1, 0), (2, 0)):
        blas("cublasGetProperty", which, ctypes.byref(value))
        judge.same("property %d" % which, value.value >= least, True)
    judge.same("cublasGetProperty(3)", blas.status(
        "cublasGetProperty", 3, ctypes.byref(value)), 7)
    blas.file.cublasGetCudartVersion.restype = ctypes.c_size_t
    judge.same("cudart", blas.status("cublasGetCudartVersion") // 1000, 13)
    for name, expected in (("cublasGetStatusName", b"CUBLAS_STATUS_"
                            b"NOT_INITIALIZED"),
                           ("cublasGetStatusString", None)):
        getattr(blas.file, name).restype = ctypes.c_char_p
        text = blas.status(name, 1)
        judge.same(name, text if expected else bool(text), expected or True)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
    blas("cublasSetLoggerCallback", callback)
    blas("cublasGetLoggerCallback", ctypes.byref(pointer))
    judge.same("callback", pointer.value,
               ctypes.cast(callback, ctypes.c_void_p).value)
    blas("cublasSetLoggerCallback", ctypes.c_void_p())
    blas("cublasLoggerConfigure", 0, 0, 0, ctypes.c_void_p())
    blas.status("cublasXerbla", ctypes.c_char_p(b"judge"), 1)
    devices = numpy.zeros(1, "i4")
    blas("cublasXtDeviceSelect", xt, 1, devices)
    blas("cublasXtGetNumBoards", 1, devices, ctypes.byref(value))
    judge.same("boards", value.value, 1)
    blas("cublasXtMaxBoards", ctypes.byref(value))
    judge.same("most boards", value.value >= 1, True)
    blas("cublasXtSetCpuRatio", xt, 0, 0, ctypes.c_float(0.5))
    blas("cublasXtSetCpuRoutine", xt, 0, 0, ctypes.c_void_p())


def the_end(judge, blas, handle, xt):
    blas("cublasXtDestroy", xt)
    blas("cublasShutdown")
    judge.same("cublasShutdown again", blas.status("cublasShutdown"), 1)
    blas("cublasDestroy_v2", handle)
    judge.same("cublasDestroy again", blas.status("cublasDestroy_v2", handle),
               1)


def run(judge):
    blas = Library("libcublas.so.13")
    random = numpy.random.default_rng(1)
    handle, xt = ctypes.c_void_p(), ctypes.c_void_p()
    blas("cublasCreate_v2", ctypes.byref(handle))
    blas("cublasXtCreate", ctypes.byref(xt))
    blas("cublasInit")
    caller = Caller(blas, judge, handle, xt, random)
    for row in ROWS:
        caller.run(row)
    for letter, dtype in TYPES.items():
        judge.case(letter + " rotations", rotations, judge, blas, handle,
                   random, letter)
        for n in (1, 2, 7, 32):
            judge.case("%s factors of %d" % (letter, n), factors, judge, blas,
                       handle, random, letter, dtype, n)
        judge.case(letter + " info", infos, judge, blas, handle, letter, dtype)
        judge.case(letter + " in place", in_place, judge, blas, handle, random,
                   letter)
        judge.case(letter + " extremes", extremes, judge, blas, handle, letter)
    for letter in "SD":
        judge.case(letter + " groups", groups, judge, blas, handle, random,
                   letter)
    judge.case("unsupported", unsupported, judge, blas, handle)
    judge.case("streams", streams, judge, blas, handle, random)
    judge.case("copies", copies, judge, blas, random)
    judge.case("settings", settings, judge, blas, handle, xt)
    judge.case("the end", the_end, judge, blas, handle, xt)
    return blas.called
