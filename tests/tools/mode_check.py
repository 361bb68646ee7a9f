"""What surrounds an operation: rounding and denormal modes, source and result
modifiers, half selection, lane moves by DPP, and the mode register itself.

Expectations are exact fractions rounded here, or the manual's description of
the modifier (RDNA3 ISA, "Floating-Point Support", "Input/Output Modifiers",
"Data Parallel Processing").

    python3 mode_check.py --hip build/…/libamdhip64.so --target gfx1100
"""

import argparse
import random
import sys
from fractions import Fraction

import pcode
from dpp import lane_moves
from instruction_asm import Case
from instruction_check import Checker
from operand_values import LANES, pool_value
from pcode import Val, as_number, is_inf, is_nan, round_to

ROUNDINGS = ["rne", "up", "down", "rtz"]  # MODE.round, two bits


class Format:
    """Stands for the operand tables' formats."""

    def __init__(self, name):
        self.name = name


def parts(values, spec):
    """The operands S0, S1, S2 as (type, width) values."""
    return [Val(values[f"S{i}"], spec[1], spec[0])
            for i in range(3)]


def exact(op, a, b, c):
    """(result, sign of a zero result): a fraction, or a NaN or infinity."""
    if any(is_nan(v) for v in (a, b) + ((c,) if op == "fma" else ())):
        return float("nan"), 0
    x, y = as_number(a), as_number(b)
    sign = pcode.sign_of(a) ^ pcode.sign_of(b)
    if op == "add":
        special = [v for v in (a, b) if is_inf(v)]
        if special:
            if len(special) == 2 and a.bits != b.bits:
                return float("nan"), 0
            return as_number(special[0]), 0
        return x + y, zero_sign_of_sum(x, y, pcode.sign_of(a),
                                       pcode.sign_of(b))
    if is_inf(a) or is_inf(b):
        if x == 0 or y == 0:
            return float("nan"), 0
        product = float("-inf") if sign else float("inf")
        if op == "mul":
            return product, sign
        if is_inf(c) and as_number(c) != product:
            return float("nan"), 0
        return product, sign
    if op == "mul":
        return x * y, sign
    z = as_number(c)
    if is_inf(c):
        return z, 0
    return x * y + z, zero_sign_of_sum(x * y, z, sign, pcode.sign_of(c))


def zero_sign_of_sum(x, y, a, b):
    """Sign of x + y if it is zero: None where the rounding mode decides."""
    if x == 0 and y == 0 and a == b:
        return a
    return None


def rounded(result, zero_sign, t, w, mode):
    if zero_sign is None:
        zero_sign = int(mode == "down")
    return round_to(result, t, w, zero_sign, mode)


def flush(v):
    _, e, m = pcode.fields(v)
    if e == 0 and m != 0:
        return Val(v.bits & 1 << (v.w - 1), v.w, v.t)
    return v


class ModeChecker(Checker):

    def __init__(self, target, hip_path, only):
        super().__init__(target, hip_path, only)
        self.cases = []

    def add(self, name, text, expected, fmt, setup=(), width=32):
        """`expected(values, lane, wave)` gives the destination's bits, or
        None where the lane is not written."""
        if self.only and not self.only.search(name):
            return
        op = type("Op", (), {"name": name})()
        case = Case(op, text, "mode")
        case.expected, case.fmt, case.width = expected, fmt, width
        case.setup = tuple(setup)
        self.cases.append(case)

    def set_mode(self, value):
        """Lines that write the low eight bits of MODE."""
        return [f"  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), {value}"]

    def collect_conversions(self):
        """From integers, whose 0 is +0 in all modes."""
        whole = {"u32": lambda s: s & 0xffffffff,
                 "i32": lambda s: (s & 0xffffffff ^ 1 << 31) - (1 << 31)}
        for n in range(4):
            whole[f"ubyte{n}"] = lambda s, n=n: s >> 8 * n & 255
        for kind, value in whole.items():
            for w in (32, 64) if kind in ("u32", "i32") else (32,):
                for number, mode in enumerate(ROUNDINGS):

                    def expect(values, lane, wave, value=value, w=w,
                               mode=mode):
                        return round_to(Fraction(value(values["S0"])), "f", w,
                                        0, mode)

                    bits = number if w == 32 else number << 2
                    self.add(f"round_{mode}_cvt_f{w}_{kind}",
                             f"v_cvt_f{w}_{kind} " +
                             ("v16, v4" if w == 32 else "v[16:17], v4"),
                             expect, Format("FMT_NUM_U32"),
                             self.set_mode(0xf0 | bits), w)

    def collect(self):
        self.collect_conversions()
        ops = [(op, t, w) for op in ("add", "mul", "fma")
               for t, w in (("f", 32), ("f", 64), ("f", 16))]
        for op, t, w in ops:
            registers = (lambda n: f"v[{n}:{n + 1}]") if w == 64 else (
                lambda n: f"v{n}")
            text = f"v_{op}_f{w} {registers(16)}, {registers(4)}, " + (
                registers(8) + (", " + registers(12) if op == "fma" else ""))
            fmt = Format(f"FMT_NUM_F{w}")
            for number, mode in enumerate(ROUNDINGS):
                bits = number if w == 32 else number << 2

                def expect(values, lane, wave, op=op, t=t, w=w, mode=mode):
                    a, b, c = parts(values, (t, w))
                    return rounded(*exact(op, a, b, c), t, w, mode)

                self.add(f"round_{mode}_{op}_f{w}", text, expect, fmt,
                         self.set_mode(0xf0 | bits), w)
            for denorm in range(4):
                bits = denorm << (4 if w == 32 else 6)

                def expect(values, lane, wave, op=op, t=t, w=w, d=denorm):
                    a, b, c = parts(values, (t, w))
                    if not d & 1:
                        a, b, c = flush(a), flush(b), flush(c)
                    r = rounded(*exact(op, a, b, c), t, w, "rne")
                    return r if d & 2 else flush(r)

                # Bit 0 keeps denormal sources, bit 1 denormal results; f16
                # and f64 instructions of gfx9 and later take part.
                self.add(f"denorm_{denorm}_{op}_f{w}", text, expect, fmt,
                         self.set_mode(bits), w)
        self.output_modifiers()
        self.modifiers()
        self.moves()

    def output_modifiers(self):
        """OMOD takes effect where MODE has neither IEEE nor denormal results;
        it makes +0 of -0. Bits 8 and 9 of MODE are DX10_CLAMP and IEEE, which
        gfx12 does not have."""
        factors = {"mul:2": Fraction(2), "mul:4": Fraction(4),
                   "div:2": Fraction(1, 2)}
        modes = [("on", 0x100, True), ("denormals", 0x1f0, False)]
        if self.t.generation != "gfx12":
            modes.append(("ieee", 0x300, False))
        for w in (32, 64, 16):
            v = (lambda n: f"v[{n}:{n + 1}]") if w == 64 else (
                lambda n: f"v{n}")
            for modifier, factor in factors.items():
                for label, bits, acts in modes:

                    def expect(values, lane, wave, w=w, factor=factor,
                               acts=acts, bits=bits):
                        a, b, _ = parts(values, ("f", w))
                        if not bits & 0xf0:
                            a, b = flush(a), flush(b)
                        r = rounded(*exact("add", a, b, None), "f", w, "rne")
                        if not bits & 0xf0:
                            r = flush(r)
                        if not acts or is_nan(r) or is_inf(r):
                            return r
                        x = as_number(r) * factor
                        return flush(round_to(x, "f", w))

                    width = 10 if self.t.generation != "gfx12" else 8
                    self.add(f"omod_{modifier}_{label}_f{w}",
                             f"v_add_f{w}_e64 {v(16)}, {v(4)}, {v(8)} "
                             f"{modifier}", expect, Format(f"FMT_NUM_F{w}"),
                             ["  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, "
                              f"{width}), {bits & (1 << width) - 1}"], w)

    def modifiers_of_halves(self):
        minus = lambda v: Val(v.bits ^ 1 << (v.w - 1), v.w, v.t)
        halves = Format("FMT_NUM_PK2_F16")

        def half(values, slot, high, negate=False):
            v = Val(values[slot] >> (16 if high else 0), 16, "f")
            return minus(v) if negate else v

        def packed(values, lane, wave):
            low = rounded(*exact("add", half(values, "S0", 1, True),
                                 half(values, "S1", 0), None), "f", 16, "rne")
            high = rounded(*exact("add", half(values, "S0", 0),
                                  half(values, "S1", 1, True), None), "f", 16,
                           "rne")
            return Val(high.bits << 16 | low.bits, 32, "pair")

        def dot(values, lane, wave):
            result = Val(values["S2"] & 0xffffffff, 32, "f")
            for high in (0, 1):
                a, b = (half(values, s, high) for s in ("S0", "S1"))
                result = rounded(*exact("fma", a, b, result), "f", 32, "rne")
            return result

        # Its clamp bit does nothing, or AMD's own library would be wrong.
        for clamp in ("", " clamp"):
            self.add("dot2_f32_f16" + clamp.replace(" ", "_"),
                     "v_dot2_f32_f16 v16, v4, v8, v12" + clamp, dot, halves)
        self.add("op_sel_pk_add_f16",
                 "v_pk_add_f16 v16, v4, v8 op_sel:[1,0] op_sel_hi:[0,1] "
                 "neg_lo:[1,0] neg_hi:[0,1]", packed, halves)
        if self.t.generation != "gfx9":

            def selected(values, lane, wave):
                r = rounded(*exact("fma", half(values, "S0", 1),
                                   half(values, "S1", 0),
                                   half(values, "S2", 1)), "f", 16, "rne")
                return Val(r.bits << 16 | values["D0"] & 0xffff, 32, "pair")

            self.add("op_sel_fma_f16",
                     "v_fma_f16 v16, v4, v8, v12 op_sel:[1,0,1,1]", selected,
                     halves)

    def modifiers(self):
        fmt = Format("FMT_NUM_F32")
        minus = lambda v: Val(v.bits ^ 1 << (v.w - 1), v.w, v.t)
        absolute = lambda v: Val(v.bits & ~(1 << (v.w - 1)), v.w, v.t)

        def clamped(v):
            if is_nan(v):
                return Val(0, v.w, v.t)  # MODE.DX10_CLAMP is set
            x = as_number(v)
            if x <= 0:
                return Val(0, v.w, v.t)
            return round_to(Fraction(1), v.t, v.w) if x >= 1 else v

        def add(values, lane, wave):
            a, b, _ = parts(values, ("f", 32))
            return rounded(*exact("add", minus(a), absolute(b), b), "f", 32,
                           "rne")

        def fma(values, lane, wave):
            a, b, c = parts(values, ("f", 32))
            return clamped(rounded(
                *exact("fma", minus(absolute(a)), b, absolute(c)), "f", 32,
                "rne"))

        self.add("neg_abs_add_f32", "v_add_f32_e64 v16, -v4, |v8|", add, fmt)
        self.add("neg_abs_clamp_fma_f32",
                 "v_fma_f32 v16, -|v4|, v8, |v12| clamp", fma, fmt)
        integers = Format("FMT_NUM_U32")
        name = {"gfx9": "v_add_u32_e64"}.get(self.t.generation,
                                             "v_add_nc_u32_e64")
        self.add("clamp_add_u32", f"{name} v16, v4, v8 clamp",
                 lambda v, l, w: Val(min((v["S0"] & 0xffffffff) +
                                         (v["S1"] & 0xffffffff), 0xffffffff),
                                     32), integers)
        name = {"gfx9": "v_sub_u32_e64"}.get(self.t.generation,
                                             "v_sub_nc_u32_e64")
        self.add("clamp_sub_u32", f"{name} v16, v4, v8 clamp",
                 lambda v, l, w: Val(max((v["S0"] & 0xffffffff) -
                                         (v["S1"] & 0xffffffff), 0), 32),
                 integers)

        def signed(x):
            x &= 0xffffffff
            return x - (1 << 32) if x >> 31 else x

        name = "v_add_i32" if self.t.generation == "gfx9" else (
            "v_add_nc_i32")
        self.add("clamp_add_i32", f"{name} v16, v4, v8 clamp",
                 lambda v, l, w: Val(min(max(
                     signed(v["S0"]) + signed(v["S1"]), -1 << 31),
                                         (1 << 31) - 1), 32), integers)
        self.modifiers_of_halves()

        def mode_bits(values, lane, wave):
            return None

        self.add("getreg_mode",
                 "s_getreg_b32 s26, hwreg(HW_REG_MODE, 0, 8)", mode_bits, fmt,
                 self.set_mode(0xa5))
        self.cases and self.cases[-1].__dict__.update(scalar=0xa5)

    def moves(self):
        integers = Format("FMT_NUM_U32")
        fi = self.t.generation != "gfx9"
        for control, source in lane_moves(self.t.generation).items():
            for row, bank, bound, fetch in ((15, 15, 0, 0), (15, 15, 1, 0),
                                            (5, 9, 0, 0), (15, 15, 0, 1)):
                if fetch and not fi:
                    continue

                def expect(values, lane, wave, s=source, row=row, bank=bank,
                           bound=bound, fetch=fetch):
                    base, i = lane & ~15, lane & 15
                    if not row >> (lane // 16) & 1:
                        return None
                    if not bank >> (i // 4) & 1:
                        return None
                    at = s(i)
                    if at is not None and (wave["exec"] >> base + at & 1 or
                                           fetch):
                        return Val(wave["lanes"][base + at]["S0"], 32)
                    return Val(0, 32) if bound else None

                text = (f"v_mov_b32_dpp v16, v4 {control} row_mask:{row:#x} "
                        f"bank_mask:{bank:#x}" + " bound_ctrl:1" * bound +
                        " fi:1" * fetch)
                self.add(f"dpp_{control}_{row}_{bank}_{bound}_{fetch}", text,
                         expect, integers)
        if fi:
            order = (7, 1, 4, 4, 0, 2, 6, 3)

            def expect(values, lane, wave):
                at = lane & ~7 | order[lane & 7]
                # A source that EXEC turns off reads as 0.
                on = wave["exec"] >> at & 1
                return Val(wave["lanes"][at]["S0"] if on else 0, 32)

            self.add("dpp8", "v_mov_b32_dpp v16, v4 dpp8:[%s]" %
                     ",".join(map(str, order)), expect, integers)

    def run(self):
        self.collect()
        cases = self.assemble(self.cases)
        module = self.hip.load(self.build(cases))
        for n, case in enumerate(cases):
            self.check_mode(module, n, case)

    def check_mode(self, module, n, case):
        rng = random.Random(case.name)
        size = self.t.wave
        waves = self.wave_records(rng, LANES // size)
        width = case.width
        lanes = []
        for _ in range(LANES):
            lanes.append({
                s: sum(pool_value(rng, case.fmt, max(width, 32) if
                                  "PK" in case.fmt.name else width) << i
                       for i in range(0, 128, max(width, 32) if
                                      "PK" in case.fmt.name else width))
                for s in ("S0", "S1", "S2", "D0")})
        data = b"".join(v[s].to_bytes(16, "little") for v in lanes
                        for s in ("S0", "S1", "S2", "D0"))
        lane_out, wave_out = self.execute(module, n, data, waves, size)
        for w, record in enumerate(waves):
            record["lanes"] = lanes[w * size:(w + 1) * size]
            if hasattr(case, "scalar"):
                got = self.wave_result(wave_out, w)["d_lo"]
                if got != case.scalar:
                    return self.fail(case, {}, "register", got, case.scalar)
                continue
            for lane in range(size):
                values = record["lanes"][lane]
                i = w * size + lane
                got = int.from_bytes(lane_out[64 * i:64 * i + 16], "little")
                want = None
                if record["exec"] >> lane & 1:
                    want = case.expected(values, lane, record)
                if want is None:
                    if got != values["D0"]:
                        return self.fail(case, values, f"lane {lane} written",
                                         got, values["D0"])
                    continue
                bits = want.w
                g = Val(got, bits, want.t)
                same = g.bits == want.bits or (
                    want.t == "f" and is_nan(want) and is_nan(g)) or (
                        want.t == "pair" and all(
                            same_half(got >> k, want.bits >> k)
                            for k in (0, 16)))
                if not same:
                    return self.fail(case, values, f"lane {lane}", g.bits,
                                     want.bits)
        return self.record(case.name, "checked")


def same_half(got, want):
    a, b = Val(got, 16, "f"), Val(want, 16, "f")
    return a.bits == b.bits or (is_nan(a) and is_nan(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hip", required=True)
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("--only")
    options = parser.parse_args()
    checker = ModeChecker(options.target, options.hip, options.only)
    checker.run()
    bad = [n for n, (s, _) in checker.results.items() if s != "checked"]
    for name in bad:
        print(name, *checker.results[name])
    print(f"{options.target}: {len(checker.results) - len(bad)} of "
          f"{len(checker.results)} modes and modifiers checked")
    return 1 if bad or not checker.results else 0


if __name__ == "__main__":
    sys.exit(main())
