"""WMMA and SWMMAC of every type, in waves of 32 and 64, against the product
of matrices.

Where the elements lie is the manuals' (RDNA3 ISA, section 7.9, and RDNA4 ISA,
section 7.12, "WMMA Matrix Layout"). Operands are small integers: every sum is
exact, whatever its order and rounding.
"""

import re
import struct

from program_cases import Program

A, B, C, INDEX = 80, 96, 64, 112  # first registers
NAMES = {
    "gfx11": ["v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16",
              "v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16",
              "v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4"],
}
NAMES["gfx12"] = NAMES["gfx11"] + ["v_wmma_i32_16x16x32_iu4"] + [
    f"v_wmma_f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8")
    for b in ("fp8", "bf8")] + [
        f"v_swmmac_{d}_16x16x32_{s}" for d, s in (
            ("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"),
            ("i32", "iu8"), ("i32", "iu4"))] + [
        f"v_swmmac_f32_16x16x32_{a}_{b}" for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")] + ["v_swmmac_i32_16x16x64_iu4"]
BITS = {"f16": 16, "bf16": 16, "f32": 32, "i32": 32, "iu8": 8, "iu4": 4,
        "fp8": 8, "bf8": 8}


def encode(x, fmt):
    """The bits of a small integer."""
    if fmt == "f32":
        return struct.unpack("<I", struct.pack("<f", x))[0]
    if fmt == "f16":
        return struct.unpack("<H", struct.pack("<e", x))[0]
    if fmt == "bf16":
        return struct.unpack("<I", struct.pack("<f", x))[0] >> 16
    if fmt == "bf8":  # e5m2: the upper half of an f16
        return encode(x, "f16") >> 8
    if fmt == "fp8":  # e4m3: for 0, 1, 2, 3 in either sign
        return {0: 0, 1: 0x38, 2: 0x40, 3: 0x44}[abs(x)] | (x < 0) << 7
    return x & ((1 << BITS[fmt]) - 1)


def value(bits, fmt, signed):
    if signed and bits >> (BITS[fmt] - 1):
        return bits - (1 << BITS[fmt])
    return bits


class Shape:

    def __init__(self, name, generation, wave):
        m = re.match(r"v_(s?wmmac?)_(\w+?)_16x16x(\d+)_(\w+)$", name)
        self.sparse = "swmmac" in name
        self.d, self.k = m.group(2), int(m.group(3))
        inputs = m.group(4).split("_")
        self.a, self.b = inputs[0], inputs[-1]
        self.integer = self.d == "i32"
        self.old = generation == "gfx11"
        self.wave = wave
        self.a_depth = self.k // 2 if self.sparse else self.k
        # Elements of a lane, and registers.
        self.a_count = self.a_depth if self.old else self.a_depth * 16 // wave
        self.b_count = self.k if self.old else self.k * 16 // wave
        self.c_count = 256 // wave
        self.a_regs = max(1, self.a_count * BITS[self.a] // 32)
        self.b_regs = max(1, self.b_count * BITS[self.b] // 32)
        self.packed = BITS[self.d] == 16 and not self.old
        self.c_regs = self.c_count // 2 if self.packed else self.c_count

    def c_row(self, lane, i):
        if self.old:  # rows interleave
            return i * (self.wave // 16) + lane // 16
        return i + lane // 16 * self.c_count


def pack(rows, first, lane, elements, bits):
    for i, x in enumerate(elements):
        rows[first + i * bits // 32][lane] |= x << i * bits % 32


def text_of(name, s, signs, clamp, index_key, high):
    r = lambda first, n: f"v{first}" if n == 1 else f"v[{first}:{first+n-1}]"
    text = (f"{name} {r(C, s.c_regs)}, {r(A, s.a_regs)}, {r(B, s.b_regs)}, " +
            (f"v{INDEX}" if s.sparse else r(C, s.c_regs)))
    if index_key:
        text += f" index_key:{index_key}"
    if high:
        text += " op_sel:[0,0,1]"
    if s.integer and any(signs):
        text += f" neg_lo:[{int(signs[0])},{int(signs[1])},0]"
    if clamp:
        text += " clamp"
    return text


def make(name, shape, signs, clamp, index_key, high):
    s = shape
    state = {}

    def prepare(rng, wave):
        low = {True: (-3, 3), False: (0, 3)}
        sa, sb = (signs if s.integer else (True, True))
        pick = lambda signed: rng.randint(*low[signed])
        a = [[pick(sa) for _ in range(s.a_depth)] for _ in range(16)]
        b = [[pick(sb) for _ in range(16)] for _ in range(s.k)]
        c = [[rng.randint(-20, 20) for _ in range(16)] for _ in range(16)]
        if clamp:
            for row in c:
                for j in range(16):
                    row[j] += rng.choice((0x7fffffff - 20, 21 - (1 << 31)))
        for values in wave.rows.values():
            values[:] = [0] * len(values)
        chosen = {}  # (row, element) -> position in its group of four
        for lane in range(s.wave):
            row, part = lane % 16, 0 if s.old else lane // 16
            first = part * s.a_count
            pack(wave.rows, A, lane,
                 [encode(a[row][first + i], s.a) for i in range(s.a_count)],
                 BITS[s.a])
            pack(wave.rows, B, lane,
                 [encode(b[part * s.b_count + i if not s.old else i][row],
                         s.b) for i in range(s.b_count)], BITS[s.b])
            half = [encode(c[s.c_row(lane, i)][row], s.d)
                    for i in range(s.c_count)]
            if s.old and BITS[s.d] == 16 and high:
                half = [x << 16 | 0x1234 for x in half]
            elif s.old and BITS[s.d] == 16:
                half = [x | 0x5678 << 16 for x in half]
            pack(wave.rows, C, lane, half, 16 if s.packed else 32)
            if s.sparse:
                bits = 0
                for g in range(0, s.a_count, 2):
                    two = sorted(rng.sample(range(4), 2))
                    for k in range(2):
                        chosen[row, first + g + k] = two[k]
                        bits |= two[k] << 2 * (g + k)
                junk = rng.getrandbits(32)
                shift = index_key * 2 * s.a_count
                mask = (1 << 2 * s.a_count) - 1
                wave.rows[INDEX][lane] = (junk & ~(mask << shift) |
                                          bits << shift) & 0xffffffff
        state[id(wave)] = a, b, c, chosen

    def expect(wave):
        a, b, c, chosen = state[id(wave)]
        rows = {C + r: [0] * s.wave for r in range(s.c_regs)}
        for lane in range(s.wave):
            column, out = lane % 16, []
            for i in range(s.c_count):
                row = s.c_row(lane, i)
                total = c[row][column]
                for k in range(s.a_depth):
                    at = k
                    if s.sparse:
                        at = k // 2 * 4 + chosen[row, k]
                    total += a[row][k] * b[at][column]
                if clamp:
                    total = min(max(total, -1 << 31), (1 << 31) - 1)
                x = encode(total, s.d)
                if s.old and BITS[s.d] == 16:
                    x = x << 16 | 0x1234 if high else x | 0x5678 << 16
                out.append(x)
            pack(rows, C, lane, out, 16 if s.packed else 32)
        return {"rows": rows}

    text = text_of(name, s, signs, clamp, index_key, high)
    label = f"{name[2:]}_{signs}_{clamp}_{index_key}_{high}"
    return Program(label, [text], expect, prepare=prepare, full_exec=True,
                   rows_in=[(C, s.c_regs), (A, s.a_regs), (B, s.b_regs)] +
                   ([(INDEX, 1)] if s.sparse else []),
                   rows_out=[(C, s.c_regs)], vgprs=128)


def programs(target):
    for name in NAMES.get(target.generation, ()):
        s = Shape(name, target.generation, target.wave)
        keys = 1
        if s.sparse:  # as many sets of indices as a register holds
            keys = min(32 // (2 * s.a_count), 4 if BITS[s.a] == 16 else 2)
        signs = ([(x, y) for x in (False, True) for y in (False, True)]
                 if s.integer else [(True, True)])
        for sign in signs:
            for clamp in ((False, True) if s.integer else (False,)):
                for key in range(keys):
                    for high in ((0, 1) if s.old and BITS[s.d] == 16 else
                                 (0,)):
                        yield make(name, s, sign, clamp, key, high)
