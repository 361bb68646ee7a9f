"""Calls of cuBLAS as a table's rows describe them (judge_cublas.py has the
rows): their arguments drawn at random, each value of each often enough, and
what they leave in memory compared with what numpy makes of them.

A row's parameters are words in the order of the call's arguments:

  op opa opb fill diag side    enumerations; a letter in cublas.h
  m n k kl ku count            sizes
  alpha beta c s ralpha rbeta rs param    scalars (r: real, as c is)
  result rresult iresult       a result: a number, a real one, an index
  alphatype … exec compute algo           for calls that are told their types
  x=n  x=n|m@op                a vector of n; of m unless op is N
  a=m,k|k,m@opa:kind           a matrix, and its leading dimension

*x is written as well. Kinds of matrices: full, or tri, sym, her with only one
triangle stored, then `band` or `pack` for how. Memory that a call must not read
is NaN before it (of the matrices, the other triangle, the unit diagonal,
imaginary parts of a Hermitian diagonal, what beta = 0 scales, what lies between
columns and steps), and what it must not write is compared bit by bit after it.
"""
import ctypes
import itertools
import re
from types import SimpleNamespace

import numpy

from judge import Device, pointers
from judge_numbers import NUMBERS, REAL

FLAGS = {"op": "NTC", "opa": "NTC", "opb": "NTC", "fill": "LU", "diag": "NU",
         "side": "LR"}
SCALARS = {"alpha": "scalar", "beta": "scalar", "s": "scalar", "c": "real",
           "ralpha": "real", "rbeta": "real", "rs": "real", "param": "scalar"}
SIZES = ("m", "n", "k", "kl", "ku", "count")
VALUES = {"m": (7, 1, 33, 0, 96), "n": (33, 7, 1, 101, 0),
          "k": (5, 1, 0, 64), "kl": (1, 0, 3), "ku": (0, 2, 1),
          "count": (3, 1, 0), "step": (1, 2, -1, -3), "pad": (0, 3),
          "alpha": (2, 1, 0), "beta": (2, 0, 1), "device": (False, True),
          "repeated": (False, True), "flag": (-1, 0, 1, -2)}
# What calls have that are to be refused.
SMALL = {"m": 7, "n": 7, "k": 5, "kl": 1, "ku": 1, "count": 2, "device": False}
INVALID_VALUE, NOT_INITIALIZED = 7, 1
ENDS = {"V2": ("_v2", "_v2_64"), "OLD": ("",),
        "XT": ("",), "INT": ("",), "NEW": ("", "_64"), "EX": ("", "_64"),
        "BATCHED": ("Batched", "Batched_64"),
        "STRIDED": ("StridedBatched", "StridedBatched_64"),
        "EXBATCHED": ("", "_64"), "EXSTRIDED": ("", "_64")}


class Complex32(ctypes.Structure):
    _fields_ = [("re", ctypes.c_float), ("im", ctypes.c_float)]


class Complex64(ctypes.Structure):
    _fields_ = [("re", ctypes.c_double), ("im", ctypes.c_double)]


BY_VALUE = {"S": ctypes.c_float, "D": ctypes.c_double, "C": Complex32,
            "Z": Complex64}


def by_value(letter, value):
    if letter in "CZ":
        return BY_VALUE[letter](value.real, value.imag)
    return BY_VALUE[letter](value.real)


class Places:
    """Where the elements of a vector or a matrix lie in memory: `at`, where
    `mask` says that they do."""

    def __init__(self, shape, kind, step, pad, v):
        self.shape, self.kind = shape, kind
        self.mask = numpy.ones(shape, bool)
        self.lead = None
        if len(shape) == 1:
            self.lead = step
            i = numpy.arange(shape[0])
            self.at = i * step if step >= 0 else (i - shape[0] + 1) * step
            self.size = 1 + max(shape[0] - 1, 0) * abs(step)
            return
        rows, columns = shape
        i, j = numpy.indices(shape)
        if not kind.startswith("full"):
            self.mask = i <= j if v.fill else i >= j
            if kind.startswith("tri") and v.diag:
                self.mask &= i != j
        if kind.endswith("band"):
            below, above = (v.kl, v.ku) if kind == "fullband" else (
                (0, v.k) if v.fill else (v.k, 0))
            self.mask &= (i - j <= below) & (j - i <= above)
            self.lead = below + above + 1 + pad
            self.at = above + i - j + j * self.lead
        elif kind.endswith("pack"):
            self.at = i + (j * (j + 1) if v.fill else
                           j * (2 * rows - j - 1)) // 2
            self.size = max(rows * (rows + 1) // 2, 1)
            return
        else:
            self.lead = max(rows, 1) + pad
            self.at = i + j * self.lead
        self.size = max(self.lead * columns, 1)

    def dense(self, number, random):
        """Of this shape, as its kind has it."""
        x = number.random(random, *self.shape)
        if len(self.shape) == 1 or self.kind == "full":
            return x
        if self.kind == "fullband":
            return numpy.where(self.mask, x, 0)
        # Triangles are easy to solve.
        if self.kind.startswith("tri"):
            x = number.round(x / (4 * max(self.shape[0], 1)))
            numpy.fill_diagonal(x, 1 if not self.mask.diagonal().any()
                                else 2 + number.round(x.diagonal()))
            return numpy.where(self.mask | numpy.eye(*self.shape, dtype=bool),
                               x, 0)
        if self.kind.startswith("her"):
            numpy.fill_diagonal(x, x.diagonal().real)
        one = numpy.where(self.mask, x, 0)
        other = one.conj() if self.kind.startswith("her") else one
        return one + other.T - numpy.diag(one.diagonal())


class Operand:
    """A vector or a matrix as numpy has it, and its memory."""

    def __init__(self, name, number, places, written, random):
        self.name, self.number, self.places = name, number, places
        self.written = written
        self.value = places.dense(number, random)
        # And two after the end.
        self.memory = numpy.full(places.size + 2, number.nothing, number.dtype)

    def store(self, sets_diagonal):
        """`sets_diagonal`: what is written has real numbers there then."""
        at, mask = self.places.at, self.places.mask
        self.memory[at[mask]] = self.number.encode(self.value[mask])
        if self.places.kind.startswith("her"):
            if not self.written:
                self.memory.imag[at.diagonal()] = numpy.nan
            elif sets_diagonal:
                self.memory.imag[at.diagonal()] = 5
        if self.places.lead == 0:
            self.value = self.number.decode(self.memory[at])

    def compare(self, judge, got, expected):
        """`expected`: None if nothing is written."""
        at, mask = self.places.at, self.places.mask
        others = numpy.ones(got.shape, bool)
        if expected is not None:
            others[at[mask]] = False
            judge.near(self.name, self.number.decode(got[at[mask]]),
                       numpy.asarray(expected)[mask], self.number.allowed())
        judge.same(self.name + " where nothing is written",
                   got[others].tobytes(), self.memory[others].tobytes())


class Draws:
    """Values of what cases vary: each comes as often as the others."""

    def __init__(self, random, values):
        self.random, self.values, self.left = random, values, {}

    def __call__(self, name, values=None):
        values = self.values[name] if values is None else values
        left = self.left.setdefault(name, [])
        if not left:
            left.extend(self.random.permutation(len(values)))
        return values[left.pop()]


class Row:
    """A family of functions.

    `letters`: of the functions' names, and the types that they stand for; or
    (letters, types by operand; "": of all others) where these differ. `forms`:
    of the names, as in ENDS. `result`: what numpy makes of the operands, in the
    order of what is written. Options: `values` in place of those above,
    `prepare` that changes operands, `allows` combinations of flags, `zero`:
    steps of 0 are fine, `level1`: bad sizes and steps are not refused.
    """

    def __init__(self, name, letters, forms, parameters, result, **options):
        self.name, self.result, self.options = name, result, options
        self.letters = letters
        if isinstance(letters, str):
            self.letters = [(x, {"": x[-1].upper()}) for x in letters.split()]
        self.forms, self.words = forms.split(), parameters.split()
        self.values = dict(VALUES, **options.get("values", {}))

    def functions(self):
        """(name, form, types) of each."""
        for letters, types in self.letters:
            for form in self.forms:
                name = ("cublasXt%s%s" if form == "XT" else "cublas%s%s") % (
                    letters, self.name)
                for end in ENDS[form]:
                    yield name + end, form, types

    def wrongs(self, form):
        """What is refused, and how, by NVIDIA's documentation."""
        if form not in ("OLD", "XT"):
            yield {"handle": None}, NOT_INITIALIZED
        if "level1" in self.options or form == "XT":
            return
        for word in self.words:
            if word in SIZES:
                yield {word: -1}, INVALID_VALUE
            elif word in FLAGS:
                yield {word: 99}, INVALID_VALUE
            elif "," in word and "pack" not in word:
                yield {"lead " + word.strip("*")[0]: 0}, INVALID_VALUE
            elif "=" in word and "," not in word and self.name != "dgmm":
                yield {"lead " + word.strip("*")[0]: 0}, INVALID_VALUE


class Case:
    """One call: its arguments, and what is to come of it."""

    def __init__(self, row, name, form, types, flags, draws, wrong):
        self.row, self.name, self.form, self.types = row, name, form, types
        self.random, self.wrong = draws.random, wrong
        self.v = SimpleNamespace(**flags)
        for word in SIZES + ("device", "repeated", "flag"):
            setattr(self.v, word, draws(word))
        if wrong:
            self.v.__dict__.update(SMALL)
        self.v.device &= form not in ("OLD", "XT")
        self.many = "BATCHED" in form or "STRIDED" in form
        if not self.many:
            self.v.count = 1
        for word in row.words:
            if word in SCALARS:
                setattr(self.v, word.lstrip("r"), self.scalar(word, draws))
        # For each matrix of a batch, the values of all.
        self.batches = [SimpleNamespace(**self.v.__dict__)
                        for _ in range(max(self.v.count, 0))]
        self.operands, self.leads = {}, {}
        for word in row.words:
            if "=" in word:
                self.add_operand(word, draws)
        for batch in self.batches:
            if "prepare" in row.options:
                row.options["prepare"](batch)
        for name, group in self.operands.items():
            for batch, operand in zip(self.batches, group):
                operand.value = getattr(batch, name)
                if not operand.written or getattr(self.v, "beta", 1) != 0:
                    operand.store(getattr(self.v, "alpha", 0) != 0 and (
                        self.v.k != 0 or "k" not in row.words))
                setattr(batch, name, operand.value)
        self.v.__dict__.update(wrong or {})

    def number(self, word):
        """The type of a scalar or a result."""
        kind = SCALARS.get(word, "result")
        letter = self.types.get(kind)
        if letter is None:
            letter = self.types.get("scalar", self.types[""])
            if kind == "real" or word == "rresult":
                letter = REAL[letter]
        return letter, NUMBERS[letter]

    def scalar(self, word, draws):
        number = self.number(word)[1]
        if word == "param":
            return number.round(numpy.concatenate(
                [[self.v.flag], self.random.standard_normal(4)]))
        kind = draws(word.lstrip("r")) if "a" in word else 2
        if kind != 2:
            return number.round(numpy.float64(kind))
        return number.random(self.random, 1)[0]

    def add_operand(self, word, draws):
        written, name, shapes, flag, kind = re.fullmatch(
            r"(\*?)(\w+)=([^@:]+)(?:@(\w+))?(?::(\w+))?", word).groups()
        shapes = shapes.split("|")
        shape = shapes[1 if flag and getattr(self.v, flag) else 0].split(",")
        step = draws("step " + name, self.row.values["step"])
        if "zero" in self.row.options and not written:
            step = draws("zero " + name, (step, 0))
        number = NUMBERS[self.types.get(name, self.types[""])]
        places = Places(tuple(max(getattr(self.v, s), 0) for s in shape),
                        kind or "full", 1 if self.wrong else step,
                        draws("pad " + name, self.row.values["pad"]), self.v)
        self.leads[name] = places.lead
        group = self.operands[name] = []
        for batch in self.batches:
            if self.shares(written) and group:
                group.append(group[0])
            else:
                group.append(Operand(name, number, places, bool(written),
                                     self.random))
            setattr(batch, name, group[-1].value)

    def shares(self, written):
        """One operand, 0 apart, for all of the batch."""
        return "STRIDED" in self.form and self.v.repeated and not written

    def integer(self, value):
        return ctypes.c_int64(value) if self.form == "XT" else value

    def place(self, memory):
        return Device(memory) if self.v.device else memory

    def arguments(self):
        """Of the call; keeps those that may be written."""
        args, self.memories, self.results = [], {}, []
        for word in self.row.words:
            key = re.match(r"\*?(\w+)", word).group(1)
            if word in FLAGS:
                flag = getattr(self.v, word)
                args.append(flag if self.form != "OLD" else ctypes.c_char(
                    (FLAGS[word] + "?")[min(flag, len(FLAGS[word]))].encode()))
            elif word in SIZES:
                args.append(self.integer(getattr(self.v, word)))
            elif word in SCALARS:
                value = getattr(self.v, word.lstrip("r"))
                letter, number = self.number(word)
                if self.form == "OLD" and word != "param":
                    args.append(by_value(letter, value))
                else:
                    args.append(self.place(number.encode(
                        numpy.atleast_1d(value))))
            elif word.endswith("result"):
                kind = numpy.dtype("i8" if self.name.endswith("_64") else "i4")
                if word[0] != "i":
                    kind = self.number(word)[1].dtype
                self.results.append((word, self.place(numpy.zeros(1, kind))))
                if self.form != "OLD":
                    args.append(self.results[-1][1])
            elif "=" in word:
                args.extend(self.operand_arguments(key))
            elif word in ("compute", "algo"):
                args.append(self.types.get(word, -1))
            elif word == "exec":
                args.append(NUMBERS[self.types["exec"]].code)
            else:
                args.append(self.number(word.removesuffix("type"))[1].code)
        if self.many and "count" not in self.row.words:
            args.append(self.v.count)
        return args

    def operand_arguments(self, name):
        group = self.operands[name]
        memory = [o.memory for o in group]
        number = NUMBERS[self.types.get(name, self.types[""])]
        stride = 0
        if "STRIDED" in self.form:
            # One after another.
            if group and not self.shares(group[0].written):
                stride = len(memory[0])
            memory = [numpy.concatenate(memory or [number.encode([])])]
        at = [m.copy() if self.form == "XT" else Device(m) for m in memory]
        self.memories[name] = at, stride
        yield pointers(at) if self.form.endswith("BATCHED") and \
            "STRIDED" not in self.form else at[0]
        if self.form.startswith("EX"):
            yield number.code
        if self.leads[name] is not None:
            yield self.integer(getattr(self.v, "lead " + name,
                                       self.leads[name]))
        if "STRIDED" in self.form:
            yield ctypes.c_longlong(stride)

    def memory_of(self, name, batch):
        """What an operand's memory holds after the call."""
        at, stride = self.memories[name]
        if "STRIDED" not in self.form:
            return at[batch].get() if self.form != "XT" else at[batch]
        begin = batch * stride
        return at[0].get()[begin:begin + len(
            self.operands[name][batch].memory)]

    def compare(self, judge, returned):
        for i, batch in enumerate(self.batches):
            made = self.row.result(batch)
            made = list(made) if isinstance(made, tuple) else [made]
            for name, group in self.operands.items():
                operand = group[i]
                operand.compare(judge, self.memory_of(name, i),
                                made.pop(0) if operand.written else None)
            for word, place in self.results:
                got = place if returned is None else numpy.array([returned])
                got = got.get() if isinstance(got, Device) else got
                expected = numpy.array([made.pop(0)])
                if word[0] == "i":
                    judge.same(word, got, expected)
                else:
                    number = self.number(word)[1]
                    judge.near(word, number.decode(got), expected,
                               number.allowed())


class Caller:
    """Makes the calls of rows, and judges what they leave."""

    def __init__(self, blas, judge, handle, xt, random):
        self.blas, self.judge, self.random = blas, judge, random
        self.handle, self.xt = handle, xt

    def run(self, row):
        flags = [w for w in row.words if w in FLAGS]
        choices = list(itertools.product(*(range(len(FLAGS[w]))
                                           for w in flags)))
        for name, form, types in row.functions():
            draws = Draws(self.random, row.values)
            for case in range(max(12, len(choices))):
                chosen = dict(zip(flags, choices[case % len(choices)]))
                if row.options.get("allows", lambda *_: True)(chosen, types):
                    self.judge.case(
                        "%s %s" % (name, " ".join(map(str, types.values()))),
                        self.one, row, name, form, types, chosen, draws)
            for wrong, code in row.wrongs(form):
                chosen = {w: 0 for w in flags}
                self.judge.case("%s of %s" % (name, wrong), self.one, row, name,
                                form, types, chosen, draws, wrong, code)

    def one(self, row, name, form, types, flags, draws, wrong=None, code=0):
        case = Case(row, name, form, types, flags, draws, wrong)
        status, returned = self.call(case)
        told = "%s %s" % ({w: x for w, x in case.v.__dict__.items()
                           if w in row.words or w == "device"},
                          case.leads)
        self.judge.same("the answer, of %s," % told, status, code)
        if wrong:
            return
        try:
            case.compare(self.judge, returned)
        except AssertionError as error:
            raise AssertionError("%s; %s" % (error, told)) from error

    def call(self, case):
        args = case.arguments()
        function = getattr(self.blas.file, case.name)
        if case.form == "OLD":
            word = case.results[0][0] if case.results else None
            function.restype = None if word is None else ctypes.c_int \
                if word[0] == "i" else BY_VALUE[case.number(word)[0]]
            returned = self.blas.status(case.name, *args)
            if hasattr(returned, "re"):
                returned = complex(returned.re, returned.im)
            return self.blas.status("cublasGetError"), returned
        handle = self.xt if case.form == "XT" else self.handle
        if case.wrong and "handle" in case.wrong:
            handle = ctypes.c_void_p()
        else:
            self.blas("cublasSetPointerMode_v2", handle, int(case.v.device))
        return self.blas.status(case.name, handle, *args), None
