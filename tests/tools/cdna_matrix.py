"""What MFMA and SMFMAC compute, from AMD's matrix layouts, for cdna_cases.

The pseudo-code says no more than D = A * B + C. Where the elements lie is
from the CDNA ISA manuals ("Matrix Arithmetic Instructions", section 7) and
AMD's matrix instruction calculator; small floats are those of the OCP
formats, on gfx942 FNUZ. Operands are chosen so that every sum is exact
whatever its order, or has one product: the manuals do not say how sums are
rounded.
"""

import math
import random
import re
import struct
from fractions import Fraction

import pcode
from pcode import Val

# Blocks of the instructions whose gfx90a names leave them out.
BLOCKS = {"32x32x1f32": 2, "16x16x1f32": 4, "4x4x1f32": 16, "32x32x2bf16": 2,
          "16x16x2bf16": 4, "4x4x2bf16": 16, "32x32x4bf16_1k": 2,
          "16x16x4bf16_1k": 4, "4x4x4bf16_1k": 16, "32x32x4f16": 2,
          "16x16x4f16": 4, "4x4x4f16": 16, "32x32x4i8": 2, "16x16x4i8": 4,
          "4x4x4i8": 16, "4x4x4f64": 4}
GFX90A = """
f32_32x32x1f32 f32_16x16x1f32 f32_4x4x1f32 f32_32x32x2f32 f32_16x16x4f32
f32_32x32x2bf16 f32_16x16x2bf16 f32_4x4x2bf16 f32_32x32x4bf16 f32_16x16x8bf16
f32_32x32x4bf16_1k f32_16x16x4bf16_1k f32_4x4x4bf16_1k f32_32x32x8bf16_1k
f32_16x16x16bf16_1k f32_32x32x4f16 f32_16x16x4f16 f32_4x4x4f16 f32_32x32x8f16
f32_16x16x16f16 i32_32x32x4i8 i32_16x16x4i8 i32_4x4x4i8 i32_32x32x8i8
i32_16x16x16i8 f64_16x16x4f64 f64_4x4x4f64
""".split()
GFX942 = """
f32_32x32x1_2b_f32 f32_16x16x1_4b_f32 f32_4x4x1_16b_f32 f32_32x32x2_f32
f32_16x16x4_f32 f32_32x32x4_2b_bf16 f32_16x16x4_4b_bf16 f32_4x4x4_16b_bf16
f32_32x32x8_bf16 f32_16x16x16_bf16 f32_32x32x4_2b_f16 f32_16x16x4_4b_f16
f32_4x4x4_16b_f16 f32_32x32x8_f16 f32_16x16x16_f16 i32_32x32x4_2b_i8
i32_16x16x4_4b_i8 i32_4x4x4_16b_i8 i32_32x32x16_i8 i32_16x16x32_i8
f64_16x16x4_f64 f64_4x4x4_4b_f64
""".split() + [f"f32_{s}_{a}_{b}" for s in ("32x32x16", "16x16x32")
               for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
XF32 = ["f32_32x32x4_xf32", "f32_16x16x8_xf32"]
GFX950 = """
f32_16x16x32_bf16 f32_16x16x32_f16 f32_32x32x16_bf16 f32_32x32x16_f16
i32_16x16x64_i8 i32_32x32x32_i8 f32_16x16x128_f8f6f4 f32_32x32x64_f8f6f4
""".split()
SPARSE942 = """
f32_16x16x32_bf16 f32_16x16x32_f16 f32_32x32x16_bf16 f32_32x32x16_f16
i32_16x16x64_i8 i32_32x32x32_i8
""".split() + [f"f32_{s}_{a}_{b}" for s in ("32x32x32", "16x16x64")
               for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
SPARSE950 = """
f32_16x16x64_bf16 f32_16x16x64_f16 f32_32x32x32_bf16 f32_32x32x32_f16
i32_16x16x128_i8 i32_32x32x64_i8
""".split() + [f"f32_{s}_{a}_{b}" for s in ("32x32x64", "16x16x128")
               for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


def names(target):
    if target == "gfx90a":
        return ["v_mfma_" + n for n in GFX90A]
    dense = GFX942 + (XF32 if target == "gfx942" else GFX950)
    sparse = SPARSE942 + (SPARSE950 if target == "gfx950" else [])
    return ["v_mfma_" + n for n in dense] + ["v_smfmac_" + n for n in sparse]


# --- Small floats -----------------------------------------------------------

# Exponent bits, mantissa bits, bias.
SMALL = {"fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp8z": (4, 3, 8),
         "bf8z": (5, 2, 16), "fp6": (2, 3, 1), "bf6": (3, 2, 3),
         "fp4": (2, 1, 1)}
WIDTH = {"fp8": 8, "bf8": 8, "fp8z": 8, "bf8z": 8, "fp6": 6, "bf6": 6,
         "fp4": 4, "f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "f64": 64,
         "i8": 8}


def decode_small(code, fmt):
    """Value of a small float; inf and NaN as floats."""
    e_bits, m_bits, bias = SMALL[fmt]
    sign = code >> (e_bits + m_bits)
    e = code >> m_bits & ((1 << e_bits) - 1)
    m = code & ((1 << m_bits) - 1)
    if fmt in ("fp8z", "bf8z") and code == 0x80:
        return math.nan
    if fmt == "fp8" and code & 0x7f == 0x7f:
        return math.nan
    if fmt == "bf8" and e == 31:
        return math.nan if m else (-math.inf if sign else math.inf)
    x = (Fraction(m, 1 << m_bits) * Fraction(2)**(1 - bias) if e == 0 else
         (1 + Fraction(m, 1 << m_bits)) * Fraction(2)**(e - bias))
    return -x if sign else x


def decode(code, fmt):
    """Value of an element's bits, as a double (all formats fit)."""
    if fmt == "i8":
        return code - 256 if code > 127 else code
    if fmt in SMALL:
        return float(decode_small(code, fmt))
    if fmt == "f16":
        return struct.unpack("<e", struct.pack("<H", code))[0]
    if fmt == "bf16":
        return struct.unpack("<f", struct.pack("<I", code << 16))[0]
    if fmt in ("f32", "xf32"):
        return struct.unpack("<f", struct.pack("<I", code))[0]
    return struct.unpack("<d", struct.pack("<Q", code))[0]


TABLES = {fmt: [decode(c, fmt) for c in range(1 << WIDTH[fmt])]
          for fmt in list(SMALL) + ["i8"]}


def is_denormal(code, fmt):
    bits = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23)}[fmt]
    e = code >> bits[1] & ((1 << bits[0]) - 1)
    return e == 0 and code & ((1 << bits[1]) - 1) != 0


def float32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


class Shape:

    def __init__(self, name, target):
        m = re.fullmatch(
            r"v_(mfma|smfmac)_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?"
            r"(f8f6f4|[xb]?f\d+|i8|fp8|bf8)(?:_(fp8|bf8|1k))?", name)
        self.name, self.target = name, target
        self.sparse = m.group(1) == "smfmac"
        self.result = m.group(2)
        self.m, self.n, self.k = (int(m.group(i)) for i in (3, 4, 5))
        short = name.split("_", 3)[3]
        self.blocks = int(m.group(6) or BLOCKS.get(short, 1))
        fnuz = "z" if target == "gfx942" else ""
        a = m.group(7)
        b = m.group(8) if m.group(8) not in (None, "1k") else a
        self.a, self.b = (f + fnuz if f in ("fp8", "bf8") else f
                          for f in (a, b))
        self.flushes = target == "gfx90a" and a in ("f16", "bf16")

    def per_lane(self, rows, depth):
        return rows * depth * self.blocks // 64

    def place(self, rows, i, k, block, per):
        """Lane and element of row (column) i at depth k."""
        if self.result == "f64" and self.blocks == 4:
            return 16 * k + 4 * block + i, 0
        group = k // per  # lanes of one block stand together
        return i + rows * (block + self.blocks * group), k % per

    def out_place(self, i, j, block):
        """Lane and element of D[i][j]."""
        if self.result == "f64":
            if self.m == 4:
                return 16 * i + 4 * block + j, 0
            return 16 * (i % 4) + j, i // 4
        if self.m == 4:
            return 4 * block + j, i
        if self.m == 16:
            return 16 * (i // 4) + j, 4 * block + i % 4
        return 32 * (i // 4 % 2) + j, 16 * block + 4 * (i // 8) + i % 4

    def registers(self, count, fmt):
        return max(1, count * WIDTH[fmt] // 32)


class Element:
    """Elements of `bits` bits in consecutive registers of lanes."""

    def __init__(self, state, reg, fmt):
        self.state, self.fmt = state, fmt
        self.kind, self.first = reg[0], int(reg[1:])
        self.bits = WIDTH[fmt]

    def read(self, lane, index):
        at = index * self.bits
        count = 2 if at % 32 + self.bits > 32 else 1
        value = self.state.get(f"{self.kind}{self.first + at // 32}", lane,
                               count)
        return value >> at % 32 & ((1 << self.bits) - 1)

    def write(self, lane, index, code):
        at = index * self.bits
        count = 2 if at % 32 + self.bits > 32 else 1
        reg = f"{self.kind}{self.first + at // 32}"
        old = self.state.get(reg, lane, count)
        mask = ((1 << self.bits) - 1) << at % 32
        self.state.set(reg, lane, old & ~mask | code << at % 32, count)


def pattern_lane(blgp, lane):
    """Where B of a lane comes from (BLGP)."""
    if blgp in (1, 2):
        return lane % 32 + (0, 0, 32)[blgp]
    if blgp == 3:
        return (lane + 16) % 64
    if blgp >= 4:
        return lane % 16 + 16 * (blgp - 4)
    return lane


# --- Data -------------------------------------------------------------------


def small_values(rng, fmt, scale):
    """Codes of values n * 2**scale with n of few bits, so that sums of
    products are exact."""
    if fmt == "i8":
        return [rng.getrandbits(8) for _ in range(32)]
    if fmt in ("fp6", "bf6", "fp4"):
        return list(range(1 << WIDTH[fmt]))
    numbers = {Fraction(n) * Fraction(2)**scale
               for n in range(-7, 8)}
    if fmt in SMALL:
        return [c for c in range(256)
                if TABLES[fmt][c] == TABLES[fmt][c] and
                Fraction(TABLES[fmt][c] if abs(TABLES[fmt][c]) < math.inf
                         else Fraction(1, 3)) in numbers]
    t = {"f16": ("f", 16), "bf16": ("bf", 16), "f32": ("f", 32),
         "xf32": ("f", 32), "f64": ("f", 64)}[fmt]
    return [pcode.round_to(x, *t).bits for x in numbers]


EDGES = {
    "f16": [0, 0x8000, 0x3c00, 0xbc00, 1, 0x8001, 0x3ff, 0x400, 0x7bff,
            0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x0203],
    "bf16": [0, 0x8000, 0x3f80, 0xbf80, 1, 0x8001, 0x7f, 0x80, 0x7f7f,
             0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3eab, 0x5f00, 0x1f80],
    "f32": [0, 0x80000000, 0x3f800000, 0xbf800000, 1, 0x807fffff, 0x800000,
            0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3eaaaaab,
            0x1f800001, 0x5f7fffff, 0x3f800001],
    "f64": [0, 1 << 63, 0x3ff << 52, 0xbff << 52, 1, 0x7fefffffffffffff,
            0x7ff << 52, 0xfff << 52, 0x7ff8 << 48, 0x3fd5555555555555,
            0x3ff0000000000001, 0x1ff0000000000001, 1 << 52],
}


def exact_product(a, b, c, fmt, flush):
    """a * b + c, rounded once."""
    t = ("f", 64) if fmt == "f64" else ("f", 32)

    def number(x):
        return Fraction(x) if math.isfinite(x) else x

    x, y, z = number(a), number(b), number(c)
    if any(isinstance(v, float) and v != v for v in (x, y, z)):
        return pcode.quiet_nan(*t).bits
    if isinstance(x, float) or isinstance(y, float):
        if x == 0 or y == 0:
            return pcode.quiet_nan(*t).bits
        p = math.copysign(math.inf, a) * math.copysign(1, b)
        return pcode.round_to(p + (z if isinstance(z, float) else 0), *t).bits
    if isinstance(z, float):
        return pcode.round_to(z, *t).bits
    total = x * y + z
    bits = pcode.round_to(total, *t).bits
    if flush and is_denormal(bits, "f32"):
        bits &= 0x80000000
    return bits


class MatrixCase:
    """One form of one instruction. D, A, B, C name first registers, C may be
    a constant."""

    def __init__(self, shape, seed, regs, modifiers=None, edge=False,
                 scaled=False, exec_mask=None):
        self.shape, self.regs = shape, regs
        self.name = shape.name
        self.rng = random.Random(f"{shape.name} {seed}")
        self.mods = modifiers or {}
        self.edge, self.exec_mask, self.scaled = edge, exec_mask, scaled
        self.any_zero = edge  # the order of the sum decides its sign
        self.nan = "f64" if shape.result == "f64" else (
            "f32" if shape.result == "f32" else None)
        self.a, self.b = shape.a, shape.b
        if shape.a == "f8f6f4":
            order = ("fp8", "bf8", "fp6", "bf6", "fp4")
            self.a = order[self.mods.get("cbsz", 0)]
            self.b = order[self.mods.get("blgp", 0)]
        s = shape
        self.a_depth = s.k // 2 if s.sparse else s.k
        self.a_per = s.per_lane(s.m, self.a_depth)
        self.b_per = s.per_lane(s.n, s.k)
        self.text = self.assembly()

    def assembly(self):
        s = self.shape

        def span(reg, count):
            kind, first = reg[0], int(reg[1:])
            return reg if count == 1 else (
                f"{kind}[{first}:{first + count - 1}]")

        d_count = s.m * s.n * s.blocks // 64 * (2 if s.result == "f64" else 1)
        d = span(self.regs["d"], d_count)
        a = span(self.regs["a"], s.registers(self.a_per, self.a))
        b = span(self.regs["b"], s.registers(self.b_per, self.b))
        c = self.regs["c"]
        if s.sparse:
            c = self.regs["index"]
        elif isinstance(c, str) and c[0] in "va":
            c = span(c, d_count)
        name = s.name
        extra = ""
        if self.scaled:
            name = name.replace("v_mfma_", "v_mfma_scale_")
            extra = f", {self.regs['sa']}, {self.regs['sb']}"
            lo, hi = self.mods["scale"]
            extra += (f" op_sel:[{lo & 1},{hi & 1},0]"
                      f" op_sel_hi:[{lo >> 1},{hi >> 1},0]")
        for key in ("cbsz", "abid", "blgp"):
            if self.mods.get(key):
                extra += f" {key}:{self.mods[key]}"
        return f"{name} {d}, {a}, {b}, {c}{extra}"

    def prepare(self, state):
        s, rng = self.shape, self.rng
        if self.exec_mask is not None:
            state.set_scalar(34, self.exec_mask, 2)
        shift = rng.choice((0, 0, -2, 3)) if s.a != "f8f6f4" else 0
        a_el = Element(state, self.regs["a"], self.a)
        b_el = Element(state, self.regs["b"], self.b)
        if self.edge:
            # Only one depth holds anything.
            depth = rng.randrange(s.k)
            for el, per, rows, mine in ((a_el, self.a_per, s.m, self.a),
                                        (b_el, self.b_per, s.n, self.b)):
                pool = EDGES.get(mine) or list(range(1 << WIDTH[mine]))
                for lane in range(64):
                    for e in range(per):
                        el.write(lane, e, 0)
                for block in range(s.blocks):
                    for i in range(rows):
                        el.write(*s.place(rows, i, depth, block, per),
                                 rng.choice(pool))
        else:
            for el, per, mine in ((a_el, self.a_per, self.a),
                                  (b_el, self.b_per, self.b)):
                pool = small_values(rng, mine, shift)
                if self.scaled and mine in ("fp6", "bf6"):
                    pool = [c for c in pool if abs(TABLES[mine][c]) <= 2]
                for lane in range(64):
                    for e in range(per):
                        el.write(lane, e, rng.choice(pool))
        c = self.regs["d"] if s.sparse else self.regs["c"]
        if isinstance(c, str) and c[0] in "va":
            wide = 2 if s.result == "f64" else 1
            for lane in range(64):
                for e in range(s.m * s.n * s.blocks // 64):
                    reg = f"{c[0]}{int(c[1:]) + e * wide}"
                    if s.result == "i32":
                        v = rng.getrandbits(32)
                    elif self.edge:
                        v = rng.choice(EDGES[s.result])
                    else:
                        n = rng.randrange(-100, 100) * 2.0**(2 * shift)
                        v = (float32(n) if wide == 1 else struct.unpack(
                            "<Q", struct.pack("<d", n))[0])
                    state.set(reg, lane, v, wide)
        if s.sparse:
            # Two of four elements, ascending.
            pairs = [i | j << 2 for i in range(4) for j in range(i + 1, 4)]
            for lane in range(64):
                state.set(self.regs["index"], lane, sum(
                    rng.choice(pairs) << 4 * i for i in range(8)))
        if self.scaled:
            for lane in range(64):
                for key in ("sa", "sb"):
                    state.set(self.regs[key], lane, sum(
                        rng.randrange(124, 131) << 8 * i for i in range(4)))

    def values(self, element, lane, index):
        code = element.read(lane, index)
        fmt = element.fmt
        if self.shape.flushes and is_denormal(code, fmt):
            code &= 0x8000
        return TABLES[fmt][code] if fmt in TABLES else decode(code, fmt)

    def expect(self, state):
        s = self.shape
        before = state.copy()
        a_el = Element(before, self.regs["a"], self.a)
        b_el = Element(before, self.regs["b"], self.b)
        c = self.regs["d"] if s.sparse else self.regs["c"]
        c_reg = isinstance(c, str) and c[0] in "va"
        d = self.regs["d"]
        wide = 2 if s.result == "f64" else 1
        key = 0
        cbsz, blgp = self.mods.get("cbsz", 0), self.mods.get("blgp", 0)
        if s.a == "f8f6f4":
            cbsz = blgp = 0
        if s.sparse and cbsz == 0:
            key = self.mods.get("abid", 0)
        for block in range(s.blocks):
            a_block = block
            if cbsz and not s.sparse:
                size = 1 << cbsz
                a_block = block // size * size + self.mods.get("abid", 0)
            rows = []
            for i in range(s.m):
                row = [0.0] * s.k
                for k in range(self.a_depth):
                    lane, e = s.place(s.m, i, k, a_block, self.a_per)
                    v = self.values(a_el, lane, e)
                    if self.scaled:
                        v *= 2.0**((before.get(self.regs["sa"], lane) >>
                                    8 * self.mods["scale"][0] & 255) - 127)
                    if s.sparse:
                        bits = before.get(self.regs["index"], lane)
                        at = 2 * (key * self.a_per + e) % 32
                        row[k // 2 * 4 + (bits >> at & 3)] = v
                    else:
                        row[k] = v
                rows.append(row)
            columns = []
            for j in range(s.n):
                column = []
                for k in range(s.k):
                    lane, e = s.place(s.n, j, k, block, self.b_per)
                    v = self.values(b_el, pattern_lane(blgp, lane), e)
                    if self.scaled:
                        v *= 2.0**((before.get(self.regs["sb"], lane) >>
                                    8 * self.mods["scale"][1] & 255) - 127)
                    column.append(v)
                columns.append(column)
            for i in range(s.m):
                for j in range(s.n):
                    lane, e = s.out_place(i, j, block)
                    reg = f"{d[0]}{int(d[1:]) + e * wide}"
                    if c_reg:
                        bits = before.get(f"{c[0]}{int(c[1:]) + e * wide}",
                                          lane, wide)
                    else:
                        bits = {"1.0": float32(1.0) if wide == 1 else
                                0x3ff << 52, "7": 7, "0": 0}[c]
                    state.set(reg, lane, self.result(
                        rows[i], columns[j], bits), wide)

    def result(self, row, column, bits):
        s = self.shape
        if s.result == "i32":
            return bits + sum(int(x) * int(y)
                              for x, y in zip(row, column)) & 0xffffffff
        fmt = s.result
        c = decode(bits, fmt)
        if s.flushes and is_denormal(bits, "f32"):
            c = math.copysign(0.0, c)
        if not self.edge:
            x = c + sum(map(float.__mul__, row, column))
            return float32(x) if fmt == "f32" else struct.unpack(
                "<Q", struct.pack("<d", x))[0]
        # All products but one are 0.
        at = next((k for k in range(s.k) if row[k] != 0 or column[k] != 0), 0)
        return exact_product(row[at], column[at], c, fmt, s.flushes)


def cases(target):
    main = {"d": "v64", "a": "v96", "b": "v104", "c": "v64", "index": "v112",
            "sa": "v113", "sb": "v114"}
    apart = dict(main, c="v128")
    agpr = dict(main, d="a0", a="a32", c="a0")
    mixed = dict(main, d="a0", b="a40", c="a0")
    for name in names(target):
        s = Shape(name, target)
        half = 0xffffffff00000000
        if s.a == "f8f6f4":
            for n in range(5):
                yield MatrixCase(s, n, (main, apart, agpr)[n % 3],
                                 {"cbsz": n, "blgp": n})
                yield MatrixCase(s, f"s{n}", (main, agpr)[n % 2],
                                 {"cbsz": n, "blgp": n,
                                  "scale": (n % 4, 3 - n % 4)}, scaled=True)
            yield MatrixCase(s, "s11", main, {"scale": (2, 2)}, scaled=True)
            yield MatrixCase(s, "edge", main, {"cbsz": 0, "blgp": 1},
                             edge=True)
            continue
        yield MatrixCase(s, 0, main, exec_mask=half)
        yield MatrixCase(s, 1, agpr, exec_mask=0)
        yield MatrixCase(s, 2, mixed)
        if s.sparse:
            sets = 32 // (2 * s.per_lane(s.m, s.k // 2))
            for key in range(1, sets):
                yield MatrixCase(s, f"abid{key}", main, {"abid": key})
            if sets > 1:
                yield MatrixCase(s, "cbsz", main, {"cbsz": 1, "abid": 1})
            continue
        if s.a != "xf32":
            yield MatrixCase(s, "edge", main, edge=True)
            yield MatrixCase(s, "edge apart", apart, edge=True)
        yield MatrixCase(s, "constant", dict(
            main, c="7" if s.result == "i32" else "1.0"))
        if s.result == "f64":
            continue
        if WIDTH[s.a] > 8 or s.a == "i8":
            for blgp in range(1, 8):
                yield MatrixCase(s, f"blgp{blgp}", main, {"blgp": blgp})
        for cbsz in range(1, s.blocks.bit_length()):
            yield MatrixCase(s, f"cbsz{cbsz}", apart, {
                "cbsz": cbsz, "abid": (1 << cbsz) - 1})
