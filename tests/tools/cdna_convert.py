"""Conversions between small floats and wider ones, for cdna_cases.

What goes where is AMD's pseudo-code; the conversion functions that it names
and does not define (f32_to_fp8_sr_scale and the like) are written here, from
the OCP formats: a scale is a power of two that is divided out on the way to a
small float and multiplied in on the way back, results are rounded once, to
nearest even or, for _sr_, by adding the random number below the last bit kept
(CDNA4 ISA, V_CVT_SCALEF32_*, V_CVT_SR_*).
"""

import math
import random
import re
import struct
from fractions import Fraction

import pcode
from cdna_matrix import SMALL, decode_small
from pcode import Val

WIDE = {"f32": ("f", 32), "f16": ("f", 16), "bf16": ("bf", 16)}
LARGEST = {f: max(x for c in range(1 << sum(SMALL[f][:2]))
                  if math.isfinite(x := decode_small(c, f)))
           for f in SMALL}


def number(v):
    x = pcode.as_number(v)
    return x


def encode_small(x, fmt, sign=0, noise=None):
    """Code of a fraction, inf or NaN. Formats without infinity take their
    largest number (4 and 6 bits) or NaN (fp8) instead."""
    e_bits, m_bits, bias = SMALL[fmt]
    bits = 1 + e_bits + m_bits
    if isinstance(x, float) and math.isnan(x):
        return {"fp8": 0x7f, "bf8": 0x7f, "fp8z": 0x80, "bf8z": 0x80}[
            fmt] | (sign << 7 if fmt in ("fp8", "bf8") else 0)
    sign = int(x < 0) if x != 0 else sign
    if fmt in ("fp8z", "bf8z") and x == 0:
        return 0
    top = sign << (bits - 1)
    overflow = {"fp8": top | 0x7f, "bf8": top | 0x7c, "fp8z": 0x80,
                "bf8z": 0x80}.get(fmt, top | (1 << (bits - 1)) - 1)
    if isinstance(x, float):
        return overflow
    a = abs(x)
    if a == 0:
        return top
    e = max(pcode.log2_floor(a), 1 - bias)
    q = a / Fraction(2)**(e - m_bits)
    n = int(q)
    rest = q - n
    if noise is not None:
        n += rest + Fraction(noise, 1 << 32) >= 1
    elif rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1):
        n += 1
    if Fraction(n) * Fraction(2)**(e - m_bits) > LARGEST[fmt]:
        return overflow
    code = n + ((e - (1 - bias)) << m_bits)
    if fmt in ("fp8z", "bf8z") and code == 0:
        return 0
    return top | code


def shrink(fmt, fnuz=False):
    """f32_to_fp8_scale and its kin."""
    fmt += "z" if fnuz else ""

    def run(v, *rest):
        noise = rest[0].bits & 0xffffffff if len(rest) == 2 else None
        scale = rest[-1].bits - 127 if rest else 0
        x = number(v)
        if not isinstance(x, float):
            x /= Fraction(2)**scale
        code = encode_small(x, fmt, pcode.sign_of(v), noise)
        return Val(code, 1 + sum(SMALL[fmt][:2]), "b")

    return run


def widen(fmt, wide, fnuz=False):
    """fp8_to_f32_scale and its kin."""
    fmt += "z" if fnuz else ""

    def run(v, scale=None):
        x = decode_small(v.bits, fmt)
        t, w = WIDE[wide]
        if not isinstance(x, float) and scale is not None:
            x *= Fraction(2)**(scale.bits - 127)
        sign = v.bits >> sum(SMALL[fmt][:2])
        return pcode.round_to(x, t, w, sign)

    return run


def round_randomly(t, w):
    """f32_to_f16_SR: toward zero after the random number is added."""

    def run(v, noise):
        if pcode.is_nan(v) or pcode.is_inf(v):
            return pcode.to_float(v, t, w)
        x = pcode.as_number(v)
        if x == 0:
            return Val(pcode.sign_of(v) << (w - 1), w, t)
        _, p, bias = pcode.FORMATS[(t, w)]
        e = max(pcode.log2_floor(abs(x)), 1 - bias)
        ulp = Fraction(2)**(e - (p - 1))
        q = abs(x) / ulp
        n = int(q)
        n += q - n + Fraction(noise.bits & 0xffffffff, 1 << 32) >= 1
        return pcode.round_to((-n if x < 0 else n) * ulp, t, w, int(x < 0),
                              "rtz")

    return run


def minimum(greater):
    """IEEE 754-2019 maximum and minimum: a NaN wins, -0 is below +0."""

    def run(*values):
        for v in values:
            if pcode.is_nan(v):
                return pcode.quieted(v)
        key = lambda v: (pcode.as_number(v), -pcode.sign_of(v))
        return (max if greater else min)(values, key=key)

    return run


def functions(target):
    fnuz = target == "gfx942"
    out = {}
    for small in ("fp8", "bf8", "fp6", "bf6", "fp4"):
        z = fnuz and small.endswith("8")
        for wide in WIDE:
            for name in (f"{wide}_to_{small}", f"{wide}_to_{small}_scale",
                         f"{wide}_to_{small}_sr_scale"):
                out[name] = shrink(small, z)
            out[f"{wide}_to_{small}_sr"] = lambda v, noise, f=out[name]: f(
                v, noise, Val(127, 8, "u"))
            for name in (f"{small}_to_{wide}", f"{small}_to_{wide}_scale"):
                out[name] = widen(small, wide, z)
    for wide, (t, w) in WIDE.items():
        for suffix in ("SR", "sr"):
            out[f"f32_to_{wide}_{suffix}"] = round_randomly(t, w)
    for name, greater in (("minimum", False), ("maximum", True)):
        for form in (f"v_{name}_f32", f"v_{name}3_f16", f"v_{name}_f16"):
            out[form] = minimum(greater)
    return out




# --- Cases ------------------------------------------------------------------

PATTERN = re.compile(
    r"V_CVT_(SCALEF32_\w+|PK_(FP8|BF8|F16|BF16)_F32|SR_\w+_F32|"
    r"PK_F32_(FP8|BF8)_E32|F32_(FP8|BF8)_E32)$|V_BITOP3_B\d+$|"
    r"V_(PK_)?(MINI|MAXI)MUM3_F\d+$")
# The text adds the random number to the mantissa and then rounds to nearest,
# which would round up too often; the sum is cut off.
SOURCES = {
    f"V_CVT_SR_{small.upper()}_F32": f"""
dstbyte = OPSEL[3 : 2].i32 * 8;
VGPR[laneId][VDST.u32][dstbyte + 7 : dstbyte].{small} =
f32_to_{small}_sr(S0.f32, S1.u32)""" for small in ("fp8", "bf8")}


class ConvertCase:

    def __init__(self, checker, op, fields, opsel, text, table=None,
                 sdwa=None):
        self.checker, self.op, self.fields = checker, op, fields
        self.opsel, self.text, self.table, self.sdwa = (opsel, text, table,
                                                        sdwa)
        self.name = re.sub(r"_E(32|64)$", "", op.name).lower()
        self.rng = random.Random(text)
        self.wide = any(bits > 128 for _, bits, _ in fields.values())
        m = re.search(r"(BF16|F16|F32)", fields["vdst"][0].name)
        self.nan = m and m.group(1).lower()
        self.source_text = SOURCES.get(op.name, checker.t.pcode[op])
        self.program = pcode.compile_pcode(self.source_text)

    def small(self):
        """The small format that this makes, if it does."""
        m = re.search(r"_(?:PK\d*_)?(FP8|BF8|FP6|BF6|FP4)_(?:F32|F16|BF16)",
                      self.op.name)
        return m and m.group(1).lower()

    def wide_value(self, t, w, scale, fmt):
        """A value that is near the numbers of `fmt` once it is scaled."""
        rng = self.rng
        stochastic = "_SR_" in self.op.name
        while True:
            roll = rng.random()
            if not stochastic and roll < .15:
                v = Val(rng.getrandbits(w), w, t)
            elif not stochastic and roll < .3:
                v = rng.choice((pcode.infinity(t, w, rng.getrandbits(1)),
                                pcode.quiet_nan(t, w), Val(0, w, t),
                                Val(1 << (w - 1), w, t)))
            elif fmt is None:
                v = Val(rng.getrandbits(w), w, t)
            else:
                code = rng.randrange(1 << sum(SMALL[fmt][:2]))
                x = decode_small(code, fmt)
                if isinstance(x, float):
                    continue
                x += Fraction(rng.randrange(16), 8 * 16) * x
                if rng.random() < .5:
                    x = -x
                v = pcode.round_to(x * Fraction(2)**scale, t, w)
            if fmt in ("fp6", "bf6", "fp4") and pcode.is_nan(v):
                continue  # no NaN to become
            # What is added to a denormal result is not said.
            x = pcode.as_number(v)
            if stochastic and fmt is None and "F16" in self.op.name and (
                    abs(x) < Fraction(2)**-14):
                continue
            if stochastic and fmt is not None:
                if isinstance(x, float) or (
                        abs(x) < Fraction(2)**(scale + 1 - SMALL[fmt][2])):
                    continue
            return v.bits

    def prepare(self, state):
        rng = self.rng
        base = (1 << 64) - 1
        mask = rng.getrandbits(64) & rng.getrandbits(64)
        state.set_scalar(34, mask & rng.getrandbits(64) | 1 if self.wide else
                         rng.choice((mask, base)), 2)
        for lane in range(64):
            scale = rng.randrange(-4, 4)
            if rng.random() < .2 and "_SR_" not in self.op.name:
                scale = rng.randrange(-110, 110)
            for field, slot in (("src0", 0), ("src1", 1), ("src2", 2)):
                if field not in self.fields:
                    continue
                fmt, bits, _ = self.fields[field]
                last = not ({"src1": "src2", "src2": "src3", "src0": "src1"}[
                    field] in self.fields)
                if "SCALEF32" in self.op.name and last:
                    value = (scale + 127) << 23 | rng.getrandbits(23)
                    value |= rng.getrandbits(1) << 31
                else:
                    value = self.source(fmt.name, max(bits, 32),
                                        scale if "SCALEF32" in self.op.name
                                        else 0)
                state.set(f"v{(96, 128, 144)[slot]}", lane, value,
                          max(bits, 32) // 32)

    def source(self, fmt, bits, scale):
        m = re.search(r"(?:PK\d*_)?(BF16|F16|F32)$", fmt)
        if not m:
            return self.rng.getrandbits(bits)
        t, w = WIDE[m.group(1).lower()]
        small = self.small()
        if small and self.checker.t.name == "gfx942" and small[-1] == "8":
            small += "z"
        return sum(self.wide_value(t, w, scale, small) << i
                   for i in range(0, bits, w))

    def expect(self, state):
        before = state.copy()
        mask = before.exec
        in_file = "VGPR[laneId][VDST" in self.source_text
        bits = self.fields["vdst"][1]
        words = max(1, bits // 32)
        env = None
        for lane in range(64):
            if not mask >> lane & 1:
                continue
            names = {"laneId": Val(lane, 32, "u"),
                     "SRC0": Val(96, 32, "u"), "VDST": Val(64, 32, "u"),
                     "D0": Val(before.get("v64", lane, words), 32 * words),
                     "VGPR": {lane: {
                         64: Val(before.get("v64", lane), 32),
                         96: Val(before.get("v96", lane), 32)}}}
            for field, slot, reg in (("src0", "S0", "v96"),
                                     ("src1", "S1", "v128"),
                                     ("src2", "S2", "v144")):
                if field in self.fields:
                    count = max(self.fields[field][1], 32) // 32
                    names[slot] = Val(before.get(reg, lane, count),
                                      32 * count)
            record = {"vcc": 0, "exec": mask, "m0": 0, "scc": 0}
            env = self.checker.environment(self, record, names)
            env.lambdas.update(self.checker.small_floats)
            env.names["OPSEL"] = Val(self.opsel, 4, "u")
            env.names["WORD1"] = Val(1, 3, "u")
            env.names["SDWA_SRC0_SEL"] = Val(self.sdwa or 0, 3, "u")
            env.names["ROUND_MODE"] = Val(0, 2, "u")
            env.names["ROUND_NEAREST_EVEN"] = Val(0, 2, "u")
            if self.table is not None:
                env.names["INST"] = {"OMOD": Val(self.table >> 6, 2, "u"),
                                     "ABS": Val(self.table >> 3, 3, "u"),
                                     "NEG": Val(self.table, 3, "u")}
                env.names["D"] = Val(0, 32, "b")
            self.program(env)
            if in_file:
                result, words = env.names["VGPR"][lane][64].bits, 1
            elif self.table is not None:
                result = env.names["D"].bits & ((1 << bits) - 1)
            else:
                result = env.names["D0"].bits
                if self.op.name in HALVES:
                    old = before.get("v64", lane)
                    high = self.opsel >> 3
                    result = result & 0xffff
                    result = (old & 0xffff | result << 16 if high else
                              old & ~0xffff | result)
            state.set("v64", lane, result, words)


# One half of the destination, as OPSEL[3] says; the other is kept.
HALVES = ("V_CVT_SCALEF32_F16_FP8", "V_CVT_SCALEF32_F16_BF8")


def operand(first, bits):
    n = max(1, bits // 32)
    return f"v{first}" if n == 1 else f"v[{first}:{first + n - 1}]"


def cases(checker):
    checker.small_floats = functions(checker.t.name)
    for op, text in checker.t.pcode.items():
        if not PATTERN.match(op.name) or not available(checker, op):
            continue
        text = SOURCES.get(op.name, text)
        fields = checker.fields_of(op)
        name = op.name.lower()
        base = f"{name} " + ", ".join(
            operand(first, fields[f][1])
            for f, first in (("vdst", 64), ("src0", 96), ("src1", 128),
                             ("src2", 144)) if f in fields)
        if "BITOP3" in op.name:
            for table in (0, 1, 0x27, 0x96, 0xca, 0xe8, 0xff, 0xd4):
                yield ConvertCase(checker, op, fields, 0,
                                  f"{base} bitop3:{table}", table)
            continue
        yield ConvertCase(checker, op, fields, 0, base)
        sources = sum(f in fields for f in ("src0", "src1", "src2"))
        if re.search(r"OPSEL\[3\]", text) or op.name in HALVES:
            yield ConvertCase(checker, op, fields, 8, base + " op_sel:[" +
                              "0," * sources + "1]")
        if "OPSEL[3 : 2]" in text:
            for n in (1, 2, 3):
                yield ConvertCase(
                    checker, op, fields, n << 2,
                    f"{base} op_sel:[0,0,{n & 1},{n >> 1}]")
        if "OPSEL[1 : 0]" in text:
            for n in (1, 2, 3):
                yield ConvertCase(checker, op, fields, n,
                                  f"{base} op_sel:[{n & 1},{n >> 1},0]")
        if "OPSEL[0]" in text:
            yield ConvertCase(checker, op, fields, 1,
                              base + " op_sel:[1,0,0]")
        if "SDWA_SRC0_SEL" in text:
            for n in (1, 2, 3):
                if "PK" in op.name and n != 1:
                    continue
                kind = "WORD" if "PK" in op.name else "BYTE"
                yield ConvertCase(
                    checker, op, fields, 0, base.replace("_e32", "_sdwa") +
                    f" src0_sel:{kind}_{n}", sdwa=n)


def available(checker, op):
    """gfx90a has none of these, gfx942 those of FP8 and BF8 only."""
    if checker.t.name == "gfx950":
        return True
    return checker.t.name == "gfx942" and re.match(
        r"V_CVT_(PK_(FP8|BF8)_F32|SR_(FP8|BF8)_F32|PK_F32_..8|F32_..8)",
        op.name)
