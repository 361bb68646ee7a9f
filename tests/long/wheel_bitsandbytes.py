#!/usr/bin/env python3
"""Runs kernels of a converted libbitsandbytes_cuda*.so, or of a split
libbitsandbytes_rocm*.so, through its C functions and compares with numpy.
usage: wheel_bitsandbytes.py LIBRARY [HIP_RUNTIME]

The expectations are written from what the operations mean: nearest entry of
a code book, the optimisers' papers, sums in f64. Tolerances are the rounding
of the stored type and a few units of f32 (the wheel is built with fast math).
"""
import ctypes
import sys

import numpy as np

from device import (ROUNDING, Checks, Device, HipDevice, from_type,
                    load_without, to_type)

F32 = 2e-6  # relative, of a short chain of f32 operations
NF4 = np.array([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
    0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0], np.float32)
# One sign bit, two of exponent, one of fraction, in the order of the bits.
FP4 = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3, 0, -0.0625, -8, -12, -4, -6, -2,
                -3], np.float32) / 12
BOOKS = {"nf4": NF4, "fp4": FP4}
BLOCK = 256  # of the optimisers' 8-bit states


def dynamic_book(signed):
    """256 values: a decimal exponent that leaves fewer bits of fraction the
    larger its magnitude is (Dettmers 2015), with 0 and 1."""
    values = [0.0, 1.0]
    for i in range(7):
        edges = np.linspace(0.1, 1, 2**i + 1 if signed else 2**(i + 1) + 1)
        means = 10.0**(i - 6) * (edges[:-1] + edges[1:]) / 2
        values += list(means) + (list(-means) if signed else [])
    return np.sort(np.array(values + [0.0] * (256 - len(values)), np.float32))


def arguments(*values):
    """bool, int and float as C's; None and arrays as addresses."""
    kinds = {bool: ctypes.c_bool, int: ctypes.c_int32, float: ctypes.c_float,
             type(None): ctypes.c_void_p}
    return [v if isinstance(v, ctypes.c_void_p) else
            kinds[type(v)](v) if type(v) in kinds else v.address
            for v in values]


def unrounded(values):
    return values


class Suite:
    def __init__(self, path, hip_runtime=None):
        if hip_runtime:
            self.cuda = HipDevice(hip_runtime)
            self.library = load_without(path, "hipblas", "rocblas")
        else:
            # Its cuBLAS and cuBLASLt are ours, as the converter's run path says.
            self.library = ctypes.CDLL(path)
            self.cuda = Device(path)
        self.by_cublas = not hip_runtime
        self.checks = Checks()
        self.random = np.random.default_rng(7)

    def call(self, name, *args):
        function = getattr(self.library, name)
        function.restype = None
        function(*arguments(*args))

    def normal(self, count, kind, scale=1.0):
        """Random values: (on the device, as float32 after rounding)."""
        bits = to_type(self.random.normal(0, scale, count), kind)
        return self.cuda.array(bits), from_type(bits, kind)

    # Fills and sums.

    def check_fill(self):
        n = 1000
        array = self.cuda.empty(n, np.float32)
        self.library.cfill_fp32(array.address, None, ctypes.c_float(1.5),
                                ctypes.c_int64(n))
        self.checks.equal("cfill_fp32", array.host(), np.full(n, 1.5))
        self.library.carange_fp32(array.address, None, ctypes.c_float(0),
                                  ctypes.c_int64(n))
        self.checks.equal("carange_fp32", array.host(), np.arange(n))
        self.library.c_mul_fp32(array.address, array.address,
                                ctypes.c_float(0), ctypes.c_int64(n))
        self.checks.equal("c_mul_fp32", array.host(),
                          np.arange(n, dtype=np.float32)**2)
        array = self.cuda.empty(n, np.uint8)
        self.library.cfill_uint8(array.address, None, ctypes.c_ubyte(77),
                                 ctypes.c_int64(n))
        self.checks.equal("cfill_uint8", array.host(), np.full(n, 77))

    # Blocks of values, each scaled by its largest magnitude.

    def nearest(self, name, scaled, book, codes):
        """Each code's entry is as near as any, up to rounding."""
        book = book.astype(np.float64)
        best = np.abs(scaled[:, None] - book[None, :]).min(axis=1)
        self.checks.close(name, np.abs(scaled - book[codes]), best, 0, 1e-6)

    def check_blockwise(self, kind, quant, block, n):
        name = "%s%s block %d" % (kind, "_" + quant if quant else "", block)
        book = BOOKS[quant] if quant else dynamic_book(True)
        code = None if quant else self.cuda.array(book)
        values, host = self.normal(n, kind)
        blocks = -(-n // block)
        # The kernel that multiplies reads a scale for each thread of a tile,
        # also for those past the end.
        absmax = self.cuda.empty(blocks + 1024 // block, np.float32)
        packed = self.cuda.empty((n + 1) // 2 if quant else n, np.uint8)
        suffix = kind + ("_" + quant if quant else "")
        self.call("cquantize_blockwise_" + suffix, code, values, absmax,
                  packed, block, n)
        index = np.arange(n) // block
        want = np.zeros(blocks, np.float32)
        np.maximum.at(want, index, np.abs(host))
        self.checks.equal("absmax " + name, absmax.host()[:blocks], want)
        codes = packed.host()
        if quant:  # the first of two values in the upper half
            codes = np.stack([codes >> 4, codes & 15], 1).ravel()[:n]
        self.nearest("quantize " + name, host.astype(np.float64) /
                     want[index], book, codes)
        out = self.cuda.array(to_type(np.zeros(n), kind))
        self.call("cdequantize_blockwise_" + suffix, code, packed, absmax, out,
                  block, n, None)
        self.checks.close("dequantize " + name, from_type(out.host(), kind),
                          book[codes].astype(np.float64) * want[index],
                          ROUNDING[kind] + F32, 1e-7)

    # Products with a matrix of 4-bit values.

    def matrix_of_codes(self, rows, columns, quant, block):
        """(packed on the device, absmax on the device, values)."""
        codes = self.random.integers(0, 16, rows * columns, np.uint8)
        absmax = self.random.uniform(0.5, 2, rows * columns // block).astype(
            np.float32)
        packed = self.cuda.array((codes[::2] << 4) | codes[1::2])
        values = BOOKS[quant][codes].astype(np.float64) * np.repeat(absmax,
                                                                    block)
        return packed, self.cuda.array(absmax), values.reshape(rows, columns)

    def product(self, name, kind, got, a, b, bias=0):
        """Within what rounding the inputs, sums and the result may give."""
        magnitude = np.abs(a) @ np.abs(b).T + np.abs(bias)
        error = np.abs(from_type(got, kind).reshape(magnitude.shape) -
                       (a @ b.T + bias))
        bound = magnitude * (3 * ROUNDING[kind] + a.shape[1] * 2.0**-24)
        self.checks.close(name, np.maximum(error - bound, 0), 0 * error, 0)

    def check_gemv(self, kind, quant):
        m, k, block = 96, 512, 64
        a, host = self.normal(k, kind)
        packed, absmax, values = self.matrix_of_codes(m, k, quant, block)
        code = self.cuda.array(BOOKS[quant])
        out = self.cuda.array(to_type(np.zeros(m), kind))
        self.call("cgemm_4bit_inference_naive_" + kind, m, 1, k, a, packed,
                  absmax, code, out, m, k // 2, m, block, None)
        self.product("gemv_4bit %s %s" % (kind, quant), kind, out.host(),
                     host.astype(np.float64)[None, :], values)

    def check_gemm(self, kind, quant, m, n, with_bias):
        k, block = 256, 64
        a, host = self.normal(m * k, kind)
        packed, absmax, values = self.matrix_of_codes(n, k, quant, block)
        bias, bias_host = self.normal(n, kind) if with_bias else (None, 0)
        out = self.cuda.array(to_type(np.zeros(m * n), kind))
        self.call("cgemm_4bit_" + kind, a, packed, absmax, None, None, None,
                  out, bias, m, n, k, block, 1 if quant == "fp4" else 2, None)
        self.product("gemm_4bit %s %s %d x %d%s" % (
            kind, quant, m, n, " bias" if with_bias else ""), kind, out.host(),
            host.astype(np.float64).reshape(m, k), values, bias_host)

    # Rows of 8-bit integers.

    def check_int8(self, threshold):
        rows, columns = 24, 640
        a, host = self.normal(rows * columns, "fp16", 2.0)
        host = host.reshape(rows, columns).astype(np.float64)
        out = self.cuda.empty(rows * columns, np.int8)
        stats = self.cuda.empty(rows, np.float32)
        self.call("cint8_vector_quant", a, out, stats, threshold, rows,
                  columns, None)
        kept = np.where(np.abs(host) < threshold, host, 0) if (
            threshold) else host
        largest = np.abs(kept).max(axis=1)
        name = "int8_vector_quant threshold %g" % threshold
        self.checks.close("row stats " + name, stats.host(), largest, F32)
        scaled = kept * 127 / largest[:, None]
        error = np.abs(out.host().reshape(rows, columns) - scaled)
        self.checks.close(name, error, 0 * error, 0, 0.5 + 1e-4)

    def check_dequant_mm(self, with_bias):
        rows, columns = 33, 200
        a = self.random.integers(-100000, 100000, (rows, columns), np.int32)
        row = self.random.uniform(0.1, 3, rows).astype(np.float32)
        column = self.random.uniform(0.1, 3, columns).astype(np.float32)
        bias, bias_host = self.normal(columns, "fp16") if (
            with_bias) else (None, 0)
        out = self.cuda.empty(rows * columns, np.float16)
        self.call("cdequant_mm_int32_fp16", self.cuda.array(a),
                  self.cuda.array(row), self.cuda.array(column), out, bias,
                  rows, columns, None)
        want = a * np.outer(row, column).astype(np.float64) / 127**2
        # Result and product are rounded to fp16, with bias both.
        self.checks.close("dequant_mm bias %s" % with_bias, out.host(),
                          want + bias_host, 2.0**-10, 2.0**-10 *
                          np.abs(want).max() if with_bias else 1e-6)

    # Optimisers.

    def update(self, rule, g, p, states, step, stored):
        """One step in f64: (new p, new states). `stored` rounds the gradient
        as the kernel does where it keeps it in its own type. Decay is part of
        the gradient or, for lion and adam, of the parameter.
        """
        o = self.options
        lr, eps, b1, b2 = o["lr"], o["eps"], o["beta1"], o["beta2"]
        keep = 1 - lr * o["decay"]
        plain = g
        g = stored(g * o["scale"])
        if rule in ("momentum", "rmsprop", "adagrad"):
            g = stored(g + p * o["decay"])
        s = states[0]
        if rule == "momentum":
            s = g if step == 1 else s * b1 + g
            return p - lr * s, [s]
        if rule in ("rmsprop", "adagrad"):
            s = s * b1 + (1 - b1) * g * g if rule == "rmsprop" else s + g * g
            # The 8-bit kernels step along the gradient as it was given.
            direction = g if stored is not unrounded else plain
            return p - lr * direction / (np.sqrt(s) + eps), [s]
        if rule == "lion":
            return (p * keep - lr * np.sign(s * b1 + (1 - b1) * g),
                    [s * b2 + (1 - b2) * g])
        s = s * b1 + (1 - b1) * g
        v = states[-1] * b2 + (1 - b2) * g * g
        root = np.sqrt(v / (1 - b2**step)) + eps
        if rule == "adam":
            return (p - lr * (s / (1 - b1**step)) / root) * keep, [s, v]
        slow = states[1] * o["beta3"] + (1 - o["beta3"]) * g
        return ((p - lr * (s / (1 - b1**step) + o["alpha"] * slow) / root) *
                keep, [s, slow, v])

    # Powers of two where a product is rounded to the gradient's type.
    options = {"lr": 0.1, "eps": 1e-6, "beta1": 0.9, "beta2": 0.98,
               "beta3": 0.995, "alpha": 5.0, "decay": 2.0**-6, "scale": 0.5}

    def check_parameters(self, name, kind, got, old, want):
        """p is rounded twice, after the step and after its decay; and the
        step's own error."""
        self.checks.close(name, from_type(got, kind), want, 2.1 *
                          ROUNDING[kind], 1e-5 * np.abs(want - old).max() +
                          2 * ROUNDING[kind] * self.options["lr"])

    def check_optimiser_32bit(self, rule, kind, function, step):
        o = self.options
        n = 3000
        g, g_host = self.normal(n, kind)
        p, p_host = self.normal(n, kind)
        count = {"adam": 2, "ademamix": 3}.get(rule, 1)
        host = [np.abs(self.random.normal(0, 0.5, n)).astype(np.float32)
                for _ in range(count)]
        if rule in ("momentum", "lion", "adam", "ademamix"):
            host[0] *= self.random.choice([-1, 1], n).astype(np.float32)
        state1 = self.cuda.array(np.concatenate(host[:max(1, count - 1)]))
        state2 = self.cuda.array(host[-1]) if count > 1 else None
        self.call(function, g, p, state1, state2, None, 0.0, 0.0, o["beta1"],
                  o["beta2"], o["beta3"], o["alpha"], o["eps"], o["decay"],
                  step, o["lr"], o["scale"], False, n)
        want, states = self.update(rule, g_host.astype(np.float64),
                                   p_host.astype(np.float64),
                                   [s.astype(np.float64) for s in host], step,
                                   lambda v: from_type(to_type(v, kind),
                                                       kind).astype(np.float64))
        name = "%s step %d" % (function, step)
        self.check_parameters(name, kind, p.host(), p_host, want)
        self.checks.close("state of " + name, state1.host(),
                          np.concatenate(states[:max(1, count - 1)]), 1e-5,
                          1e-6)
        if count > 1:
            self.checks.close("second state of " + name, state2.host(),
                              states[-1], 1e-5, 1e-6)

    def check_norm(self, rule, kind, function):
        """The length of the step, and a step that is cut to a given one."""
        o = self.options
        n, step = 3000, 7
        g, g_host = self.normal(n, kind)
        host = [self.random.uniform(0.1, 1, n).astype(np.float32)
                for _ in range(2)]
        gradient = g_host.astype(np.float64) * o["scale"]
        s = host[0].astype(np.float64)
        if rule == "momentum":
            steps = s * o["beta1"] + gradient
        elif rule == "adam":
            v = host[1] * o["beta2"] + (1 - o["beta2"]) * gradient**2
            s = s * o["beta1"] + (1 - o["beta1"]) * gradient
            steps = s / (1 - o["beta1"]**step) / (
                np.sqrt(v / (1 - o["beta2"]**step)) + o["eps"])
        else:
            s = s + gradient**2 if rule == "adagrad" else (
                s * o["beta1"] + (1 - o["beta1"]) * gradient**2)
            steps = gradient / (np.sqrt(s) + o["eps"])
        norm = np.sqrt(np.sum(steps**2))
        p, p_host = self.normal(n, kind)
        unorm = self.cuda.empty(1, np.float32)
        self.call(function, g, p, self.cuda.array(host[0]),
                  self.cuda.array(host[1]) if rule == "adam" else None, unorm,
                  0.25 * float(norm), 1.0, o["beta1"], o["beta2"], o["beta3"],
                  o["alpha"], o["eps"], 0.0, step, o["lr"], o["scale"], False,
                  n)
        self.checks.close("norm of " + function, unorm.host(), [norm**2], 1e-4)
        # Adam's is cut but for its eps, adagrad's not at all.
        cut = 1 if rule == "adagrad" else 0.25
        self.check_parameters("step cut by " + function, kind, p.host(),
                              p_host, p_host - cut * o["lr"] * steps)

    def random_8bit(self, n, book):
        """Codes with their scales: (codes, scales, values)."""
        codes = self.random.integers(0, 256, n).astype(np.uint8)
        scales = self.random.uniform(0.2, 1, -(-n // BLOCK)).astype(np.float32)
        return codes, scales, (book[codes].astype(np.float64) *
                               scales[np.arange(n) // BLOCK])

    def check_optimiser_8bit(self, rule, kind, step):
        o = self.options
        # The scales of the third state begin at a whole block.
        n = 11 * BLOCK if rule == "ademamix" else 3000
        function = "c%s_8bit_blockwise_grad_%s" % (rule, kind)
        g, g_host = self.normal(n, kind)
        p, p_host = self.normal(n, kind)
        signed = rule in ("momentum", "lion", "adam", "ademamix")
        book1, book2 = dynamic_book(signed), dynamic_book(False)
        count = {"adam": 2, "ademamix": 3}.get(rule, 1)
        books = [book1] * max(1, count - 1) + [book2] * (count > 1)
        host = [self.random_8bit(n, book) for book in books]
        first = host[:max(1, count - 1)]
        state1 = self.cuda.array(np.concatenate([s[0] for s in first]))
        scale1 = self.cuda.array(np.concatenate([s[1] for s in first]))
        state2 = self.cuda.array(host[-1][0]) if count > 1 else None
        scale2 = self.cuda.array(host[-1][1]) if count > 1 else None
        self.call(function, p, g, state1, state2, o["beta1"], o["beta2"],
                  o["beta3"], o["alpha"], o["eps"], step, o["lr"],
                  self.cuda.array(book1), self.cuda.array(book2), scale1,
                  scale2, o["decay"], o["scale"], False, n)
        want, states = self.update(rule, g_host.astype(np.float64),
                                   p_host.astype(np.float64),
                                   [s[2] for s in host], step, unrounded)
        name = "%s step %d" % (function, step)
        self.check_parameters(name, kind, p.host(), p_host, want)
        codes = np.split(state1.host(), max(1, count - 1))
        scales = np.split(scale1.host(), max(1, count - 1))
        if count > 1:
            codes.append(state2.host())
            scales.append(scale2.host())
        index = np.arange(n) // BLOCK
        for i, (values, book) in enumerate(zip(states, books)):
            largest = np.zeros(-(-n // BLOCK))
            np.maximum.at(largest, index, np.abs(values))
            what = "state %d of %s" % (i + 1, name)
            self.checks.close("scales of " + what, scales[i], largest, 1e-5)
            self.nearest(what, values / largest[index], book, codes[i])

    def check_gemms(self, kind, quant):
        """One row and few go without matrix instructions, more with them, in
        tiles chosen by the number of rows and columns."""
        for m in range(1, 9):
            self.check_gemm(kind, quant, m, 128, m == 3)
        if kind != "fp32":
            # 48 x 128 would need 68 KiB of LDS, which most targets lack.
            for m, n in ((16, 128), (33, 256), (40, 2048), (64, 512),
                         (130, 512)):
                self.check_gemm(kind, quant, m, n, m == 33)

    def check_integer_products(self, rows, inner, columns):
        """What bitsandbytes leaves to cuBLAS and cuBLASLt: A (rows x inner)
        times the transpose of B (columns x inner), both by rows."""
        a, b = (self.random.integers(-127, 128, (n, inner)).astype(np.int8)
                for n in (rows, columns))
        scales = self.random.uniform(2**-9, 2**-7, columns).astype(np.float32)
        want = a.astype(np.int32) @ b.T.astype(np.int32)
        name = "%dx%dx%d" % (rows, inner, columns)
        self.library.get_context.restype = ctypes.c_void_p
        context = ctypes.c_void_p(self.library.get_context())
        da, db = self.cuda.array(a), self.cuda.array(b)

        def run(function, dtype, with_scales, *after):
            c = self.cuda.empty(rows * columns, dtype)
            status = getattr(self.library, function)(
                context, inner, rows, columns, db.address, da.address,
                c.address, with_scales, inner, inner, columns, *after)
            self.checks.equal(function + "'s status", status, 0)
            return c.host().reshape(rows, columns)

        self.checks.equal("cigemmlt_32 " + name,
                          run("cigemmlt_32", np.int32, None, None), want)
        self.checks.equal("cigemmlt_8 " + name,
                          run("cigemmlt_8", np.int8, None, None),
                          want.clip(-128, 127))
        scaled = self.cuda.array(scales)
        self.checks.close(
            "cigemmlt_8_rowscale " + name,
            run("cigemmlt_8_rowscale", np.int8, scaled.address, None),
            np.rint(want * scales.astype(np.float64)).clip(-128, 127), 0, 1)
        # cuBLAS' own, by columns: C is B's rows times A's columns.
        c = self.cuda.empty(rows * columns, np.int32)
        self.call("cigemm", context, True, False, columns, rows, inner, db, da,
                  c, inner, inner, columns)
        self.checks.equal("cigemm " + name, c.host().reshape(rows, columns),
                          want)

    def run(self):
        kinds = ("fp32", "fp16", "bf16")
        self.check_fill()
        for kind in kinds:
            for quant in ("", "nf4", "fp4"):
                for block in (32, 64, 128, 256, 512, 1024, 2048, 4096):
                    if quant or block > 32:
                        self.check_blockwise(kind, quant, block, 5000)
            for quant in ("nf4", "fp4"):
                self.check_gemv(kind, quant)
                self.check_gemms(kind, quant)
            for rule in ("adam", "momentum", "rmsprop", "lion", "adagrad",
                         "ademamix"):
                for step in (1, 7):
                    self.check_optimiser_8bit(rule, kind, step)
                suffix = kind
                if rule in ("momentum", "rmsprop", "adagrad"):
                    suffix = {"fp32": "32", "fp16": "16"}.get(kind)
                if suffix is None:
                    continue
                function = "c%s32bit_grad_%s" % (rule, suffix)
                for step in (1, 7):
                    self.check_optimiser_32bit(rule, kind, function, step)
                if rule not in ("lion", "ademamix"):
                    self.check_norm(rule, kind, function)
        for threshold in (0.0, 4.0):
            self.check_int8(threshold)
        for with_bias in (False, True):
            self.check_dequant_mm(with_bias)
        if self.by_cublas:
            for shape in ((1, 32, 4), (24, 32, 68), (130, 512, 256)):
                self.check_integer_products(*shape)
        self.checks.done()


if __name__ == "__main__":
    Suite(*sys.argv[1:]).run()
