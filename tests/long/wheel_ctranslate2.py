#!/usr/bin/env python3
"""Runs kernels of a converted libctranslate2 through the C++ functions that it
exports and compares with numpy. usage: wheel_ctranslate2.py LIBRARY

Matrix products are cuBLAS's, machine code for NVIDIA GPUs, and are not tried.
"""
import ctypes
import subprocess
import sys

import numpy as np

from device import ROUNDING, Checks, Device, from_type, to_type

NAMES = {"fp32": "float", "fp16": "half_float::half",
         "bf16": "ctranslate2::bfloat16_t", "int32": "int", "int16": "short",
         "int8": "signed char"}
INTEGERS = {"int32": np.int32, "int16": np.int16, "int8": np.int8}
SCALARS = {"fp32": ctypes.c_float, "int32": ctypes.c_int32,
           "int16": ctypes.c_int16, "int8": ctypes.c_int8}
# Relative; the longest of the functions below, in f32.
F32 = 4e-6


def erf(x):
    """Abramowitz and Stegun's series 7.1.6 in f64; |x| < 6."""
    term = 2 / np.sqrt(np.pi) * x * np.exp(-x * x)
    total = np.zeros_like(x)
    for n in range(200):
        total += term
        term = term * 2 * x * x / (2 * n + 3)
    return total


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(
        np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "sigmoid": sigmoid,
    "swish": lambda x: x * sigmoid(x),
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp": np.exp,
    "log": np.log,
}
PAIRS = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
         "min": np.minimum, "max": np.maximum}


class Suite:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.cuda = Device(path)
        self.checks = Checks()
        self.random = np.random.default_rng(11)
        plain, readable = (subprocess.run(
            ["nm", "-D", "--defined-only"] + options + [path],
            stdout=subprocess.PIPE, check=True,
            universal_newlines=True).stdout.splitlines()
            for options in ([], ["-C"]))
        # The name without its result's type.
        self.symbols = {
            b.split(" ", 2)[2][b.split(" ", 2)[2].find("ctranslate2::"):]:
            a.split()[-1] for a, b in zip(plain, readable)
            if "primitives<" in b}

    def call(self, name, kind, signature, *args, result=None):
        """T in the signature is the type's C++ name."""
        template = "" if kind is None else "<%s>" % NAMES[kind]
        signature = ", ".join(NAMES.get(kind, "") + word[1:] if (
            word[0] == "T") else word for word in signature.split(", "))
        # The result's type, in front, may be one of ctranslate2 too.
        wanted = "primitives<(ctranslate2::Device)1>::%s%s(%s)" % (
            name, template, signature)
        symbol = next(mangled for readable, mangled in self.symbols.items()
                      if readable.endswith(wanted))
        function = getattr(self.library, symbol)
        function.restype = result
        return function(*[arg.address if hasattr(arg, "address") else
                          ctypes.c_long(arg) if isinstance(arg, int) else arg
                          for arg in args])

    def values(self, count, kind, low=-3.0, high=3.0):
        """(on the device, on the host as f64 or integers)."""
        if kind in INTEGERS:
            host = self.random.integers(-10, 11, count, INTEGERS[kind])
            return self.cuda.array(host), host
        bits = to_type(self.random.uniform(low, high, count), kind)
        return self.cuda.array(bits), from_type(bits, kind).astype(np.float64)

    def space(self, count, kind):
        return self.cuda.array(np.zeros(count, INTEGERS.get(kind, None)) if (
            kind in INTEGERS) else to_type(np.zeros(count), kind))

    def compare(self, name, kind, array, want, scale=1.0):
        if kind in INTEGERS:
            self.checks.equal(name, array.host(), want.astype(INTEGERS[kind]))
        else:
            self.checks.close(name, from_type(array.host(), kind), want,
                              scale * ROUNDING[kind] + F32, 1e-6)

    def check_functions(self, kind, n):
        for name, function in FUNCTIONS.items():
            x, host = self.values(n, kind, 0.1 if name == "log" else -3)
            y = self.space(n, kind)
            self.call(name, kind, "T const*, T*, long", x, y, n)
            # In the halves, what is between is rounded too.
            self.compare("%s %s" % (name, kind), kind, y, function(host), 4)

    def check_pairs(self, kind, n):
        for name, function in PAIRS.items():
            (x, x_host), (y, y_host) = self.values(n, kind), self.values(n,
                                                                         kind)
            z = self.space(n, kind)
            self.call(name, kind, "T const*, T const*, T*, long", x, y, z, n)
            self.compare("%s %s" % (name, kind), kind, z,
                         function(x_host, y_host))
            if name != "sub" and kind in SCALARS:
                self.call(name, kind, "T, T const*, T*, long",
                          SCALARS[kind](3), x, z, n)
                self.compare("%s %s by one value" % (name, kind), kind, z,
                             function(3, x_host))

    def check_broadcasts(self, kind):
        a_size, times, block = 12, 25, 5
        (a, a_host), (b, b_host) = self.values(a_size, kind), self.values(
            a_size * times, kind)
        c = self.space(a_size * times, kind)
        i = np.arange(a_size * times)
        for name, index in (("add_batch_broadcast", i % a_size),
                            ("add_depth_broadcast", i // times)):
            self.call(name, kind, "T const*, T const*, T*, long, long", a, b,
                      c, a_size, a_size * times)
            self.compare("%s %s" % (name, kind), kind, c,
                         a_host[index] + b_host)
        self.call("mul_batch_broadcast", kind,
                  "T const*, T const*, T*, long, long", a, b, c, a_size,
                  a_size * times)
        self.compare("mul_batch_broadcast " + kind, kind, c,
                     a_host[i % a_size] * b_host)
        self.call("add_block_broadcast", kind,
                  "T const*, T const*, T*, long, long, long", a, b, c, block,
                  a_size, a_size * times)
        self.compare("add_block_broadcast " + kind, kind, c,
                     a_host[i // block % a_size] + b_host)

    def check_transposes(self, kind):
        for shape, order in (((7, 33), (1, 0)), ((4, 5, 9), (2, 0, 1)),
                             ((3, 4, 5, 6), (0, 2, 1, 3)),
                             ((3, 4, 5, 6), (3, 1, 0, 2))):
            x, host = self.values(int(np.prod(shape)), kind)
            y = self.space(host.size, kind)
            name = "transpose_%dd" % len(shape)
            longs = ctypes.c_long * len(shape)
            if len(shape) == 2:
                self.call(name, kind, "T const*, long const*, T*", x,
                          longs(*shape), y)
            else:
                self.call(name, kind,
                          "T const*, long const*, long const*, T*", x,
                          longs(*shape), longs(*order), y)
            self.compare("%s %s" % (name, kind), kind, y,
                         host.reshape(shape).transpose(order).ravel())

    # max_element is not tried: it gives thrust the larger of two values as
    # the comparison of them, so that no answer is the right one.
    def check_reductions(self, kind):
        for n in (1, 31, 1000, 20000):
            x, host = self.values(n, kind)
            largest = self.call("max", kind, "T const*, long", x, n,
                                result=SCALARS[kind])
            self.checks.equal("max %s of %d" % (kind, n), largest, host.max())
            total = self.call("sum", kind, "T const*, long", x, n,
                              result=SCALARS[kind])
            want = host.sum(dtype=host.dtype)
            self.checks.close("sum %s of %d" % (kind, n), [total], [want], 0,
                              n * 3 * 2e-7 if kind == "fp32" else 0)

    def check_fills(self, kind):
        n = 700
        x, host = self.values(n, kind)
        self.call("strided_fill", kind, "T*, T, long, long", x,
                  SCALARS[kind](7), 3, 200)
        host[:600:3] = 7
        self.compare("strided_fill " + kind, kind, x, host)
        chosen = self.random.choice(n, 50, replace=False).astype(np.int32)
        self.call("indexed_fill", kind, "T*, T, int const*, long", x,
                  SCALARS[kind](-5), self.cuda.array(chosen), 50)
        host[chosen] = -5
        self.compare("indexed_fill " + kind, kind, x, host)
        self.call("fill", kind, "T*, T, long", x, SCALARS[kind](2), n)
        self.compare("fill " + kind, kind, x, np.full(n, 2))

    def check_conversions(self):
        n = 5000
        for source, target in (("fp32", "fp16"), ("fp32", "bf16"),
                               ("fp16", "fp32"), ("bf16", "fp32"),
                               ("fp16", "bf16"), ("bf16", "fp16")):
            x, host = self.values(n, source, -1000, 1000)
            y = self.space(n, target)
            symbol = next(mangled for readable, mangled in self.symbols.items()
                          if readable.endswith(
                "::convert<%s, %s>(%s const*, %s*, long)" % (
                    (NAMES[source], NAMES[target]) * 2)))
            getattr(self.library, symbol)(x.address, y.address,
                                          ctypes.c_long(n))
            self.checks.equal("convert %s to %s" % (source, target), y.host(),
                              to_type(host, target))

    def check_tokens(self):
        batch, length, words = 4, 9, 50
        scores, host = self.values(batch * words, "fp32")
        ids = np.stack([self.random.choice(words, length, replace=False)
                        for _ in range(batch)]).astype(np.int32)
        earlier, earlier_host = self.values(batch * length, "fp32")
        self.call("penalize_previous_tokens", "fp32",
                  "T*, T const*, int const*, T, long, long, long", scores,
                  earlier, self.cuda.array(ids), ctypes.c_float(1.25), batch,
                  length, words)
        want = host.reshape(batch, words)
        old = earlier_host.reshape(batch, length)
        for row in range(batch):
            want[row, ids[row]] = np.where(old[row] < 0, old[row] * 1.25,
                                           old[row] / 1.25)
        self.compare("penalize_previous_tokens", "fp32", scores, want.ravel())

        heads, queries = 3, 7
        lengths = np.array([2, 7, 5, 1], np.int32)
        mask = self.cuda.empty(batch * heads * queries, np.int32)
        for future in (False, True):
            self.call("prepare_length_mask", None,
                      "int const*, long, long, long, bool, bool, int*",
                      self.cuda.array(lengths), batch, heads, queries,
                      ctypes.c_bool(future), ctypes.c_bool(False), mask)
            query = np.arange(heads * queries) % queries + 1
            want = np.where(future, np.minimum(lengths[:, None], query),
                            lengths[:, None])
            self.checks.equal("prepare_length_mask future %s" % future,
                              mask.host(), want.ravel())

    def run(self):
        for kind in ("fp32", "fp16", "bf16"):
            self.check_functions(kind, 2051)
        for kind in NAMES:
            self.check_pairs(kind, 2051)
            self.check_broadcasts(kind)
            self.check_transposes(kind)
            if kind in SCALARS:
                self.check_reductions(kind)
                self.check_fills(kind)
        self.check_conversions()
        self.check_tokens()
        self.checks.done()


if __name__ == "__main__":
    Suite(sys.argv[1]).run()
