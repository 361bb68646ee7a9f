"""CDNA's vector arithmetic in its other encodings, for cdna_cases.

SDWA, DPP, the VOP3 and VOP3P modifiers: what they do to operands and results
is from the CDNA3 ISA manual (sections "Sub-Dword Addressing", "Data Parallel
Processing", VOP3 and VOP3P encodings) and written here; the operation between
them is AMD's pseudo-code, as in instruction_check. Each instruction is tried
with controls drawn at random, v_mov_b32 and v_add_u32 with all.
"""

import random
import re

import pcode
from cdna_memory import Simple, lanes, masks
from dpp import lane_moves
from known_differences import OVERRIDES, TOLERANCE
from operand_values import pool_value
from pcode import Val
from wave_state import EXEC, VCC

REGS = {"src0": "v96", "src1": "v100", "vsrc1": "v100", "src2": "v104"}
SLOTS = {"src0": "S0", "src1": "S1", "vsrc1": "S1", "src2": "S2"}
SKIP = re.compile(r"V_(READFIRSTLANE|READLANE|WRITELANE|MOVREL|SWAP|PERMLANE|"
                  r"NOP|CLREXCP|ACCVGPR|CMPX|MQSAD|S?MFMA|SMFMAC|CVT_.*8_F32|"
                  r"CVT_.*F32_.?F8|CVT_(SCALE|SR_)|DIV_|BITOP3|INTERP|PRNG|"
                  r"MAD_MIX|FMA_MIX|CVT_PK_(BF|F)|MINIMUM|MAXIMUM|PK_M.*IMUM|"
                  r"TRIG|M(AD|AC)(_LEGACY|_MIX|AK|MK)?_F16|SCREEN|QSAD)|LEGACY|"
                  r"SAVEEXEC|SDWA_CVT|V_CVT_F32_[BF]")


def float_type(fmt):
    m = re.search(r"(BF16|F16|F32|F64)$", fmt.name)
    if not m:
        return None
    name = m.group(1)
    return ("bf" if name[0] == "B" else "f", int(name[-2:]))


class Variant:
    """An instruction of the tables in one of its other forms. `change` alters
    a lane's sources, `finish` the result; `source_lane` is DPP's."""

    optional = True  # the assembler knows which forms an instruction has

    def __init__(self, checker, op, fields, text, change=None, finish=None,
                 source_lane=None, mask_out=None):
        self.checker, self.op, self.fields = checker, op, fields
        self.text, self.change, self.finish = text, change, finish
        self.source_lane, self.mask_out = source_lane, mask_out
        self.name = re.sub(r"_E(32|64)$", "", op.name).lower()
        self.rng = random.Random(text)
        t = float_type(fields["vdst"][0]) if "vdst" in fields else None
        self.nan = {None: None, ("f", 16): "f16", ("f", 32): "f32",
                    ("f", 64): "f64", ("bf", 16): "bf16"}[t]
        self.program = checker.program(op)

    def prepare(self, state):
        rng = self.rng
        state.set_scalar(EXEC, masks(rng), 2)
        for field, reg in REGS.items():
            if field not in self.fields:
                continue
            fmt, bits, _ = self.fields[field]
            width = max(bits, 32)
            for lane in range(64):
                value = pool_value(rng, fmt, bits)
                if bits < 32:
                    value |= pool_value(rng, fmt, bits) << bits
                state.set(reg, lane, value, width // 32)
        if "vdst" in self.fields and self.fields["vdst"][1] <= 32:
            for lane in range(64):
                state.set("v64", lane, pool_value(
                    rng, self.fields["vdst"][0], 32))

    def sources(self, before, lane):
        out = {}
        for field, reg in REGS.items():
            if field not in self.fields:
                continue
            fmt, bits, _ = self.fields[field]
            if fmt.name == "FMT_NUM_M64":
                out[SLOTS[field]] = before.scalar(VCC, 2)
                continue
            at = lane
            if field == "src0" and self.source_lane is not None:
                at = self.source_lane(lane, before.exec)
            count = max(bits, 32) // 32
            out[SLOTS[field]] = 0 if at == "zero" else before.get(reg, at,
                                                                  count)
        return out

    def expect(self, state):
        before = state.copy()
        mask = before.exec
        compare = self.op.name.startswith("V_CMP")
        carries = "_CO_" in self.op.name
        out_mask = 0
        base = self.name.upper()
        for lane in lanes(before):
            if self.source_lane is not None and (
                    self.source_lane(lane, mask) is None):
                continue
            names = {}
            values = self.sources(before, lane)
            if self.change:
                values = self.change(values)
            for field, slot in SLOTS.items():
                if field in self.fields:
                    names[slot] = Val(values[slot],
                                      max(self.fields[field][1], 32), "b")
                    if self.fields[field][0].name == "FMT_NUM_M64":
                        names[slot] = Val(values[slot], 64, "b")
            bits = self.fields["vdst"][1] if "vdst" in self.fields else 0
            words = max(bits, 32) // 32
            names["D0"] = Val(0, 64, "b") if compare else Val(
                before.get("v64", lane, words), 32 * words, "b")
            names["D1"] = Val(0, 1, "b")
            names["laneId"] = Val(lane, 32, "u")
            if "src2" not in self.fields and "FMA" in base:
                names["S2"] = names["D0"]
            record = {"vcc": before.scalar(VCC, 2), "exec": mask, "m0": 0,
                      "scc": 0}
            env = self.checker.environment(self, record, names)
            self.program(env)
            if compare:
                out_mask |= (env.names["D0"].bits >> lane & 1) << lane
                continue
            if carries:
                out_mask |= (env.names["VCC"].bits >> lane & 1) << lane
            result = env.names["D0"].bits & ((1 << bits) - 1)
            if self.finish:
                result = self.finish(result, before.get("v64", lane, words))
            if bits < 32 and self.name in KEEPS and "sdwa" not in self.text:
                result |= before.get("v64", lane) & 0xffff0000
            state.set("v64", lane, result, words)
        if compare or carries:
            state.set_scalar(VCC, out_mask, 2)


# 16-bit results that leave the upper half alone (LLVM's
# zeroesHigh16BitsOfDest lists the others).
KEEPS = ("v_fma_f16", "v_mad_u16", "v_mad_i16", "v_div_fixup_f16",
         "v_mad_f16", "v_fmac_f16", "v_mac_f16")


def name_of(op, form):
    return re.sub(r"_e(32|64)$", "", op.name.lower()) + form


def operands(op, fields, decorate, carry=True):
    """Destination and sources in the assembler's order."""
    name = op.name
    out = []
    if name.startswith("V_CMP"):
        out.append("vcc")
    elif "vdst" in fields:
        out.append(span("v64", fields["vdst"][1]))
    if "_CO_" in name and carry:
        out.append("vcc")
    for field in ("src0", "src1", "vsrc1", "src2"):
        if field in fields:
            fmt, bits, _ = fields[field]
            out.append("vcc" if fmt.name == "FMT_NUM_M64" else
                       decorate(field, span(REGS[field], bits)))
    if name.startswith("V_CNDMASK") or re.search("ADDC_CO|SUBB.*_CO", name):
        if out[-1] != "vcc":
            out.append("vcc")
    return ", ".join(out)


def span(reg, bits):
    n = max(1, bits // 32)
    first = int(reg[1:])
    return reg if n == 1 else f"v[{first}:{first + n - 1}]"


def narrow(fields):
    return all(bits <= 32 or fmt.name == "FMT_NUM_M64"
               for fmt, bits, _ in fields.values())


def short_ops(checker):
    for op in checker.t.pcode:
        kind = type(op).__name__
        if kind not in ("VOP1Op", "VOP2Op", "VOPCOp") or SKIP.search(op.name):
            continue
        fields = checker.fields_of(op)
        if fields and "src0" in fields and narrow(fields) and (
                re.sub(r"_E32$", "", op.name) not in TOLERANCE):
            yield op, fields


# --- SDWA -------------------------------------------------------------------

SELECTS = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1",
           "DWORD"]


def part(select):
    """First bit and width of a selection."""
    kind, _, n = select.partition("_")
    if kind == "DWORD":
        return 0, 32
    width = 8 if kind == "BYTE" else 16
    return width * int(n), width


def sign_extended(x, bits, to=32):
    return (x - (1 << bits) if x >> (bits - 1) else x) & (1 << to) - 1


def sdwa(checker, op, fields, rng, dst=None, unused=None, selects=None):
    compare = op.name.startswith("V_CMP")
    chosen, extended, negated, absolute = {}, {}, {}, {}
    for n, field in enumerate(f for f in ("src0", "src1", "vsrc1")
                              if f in fields):
        t = float_type(fields[field][0])
        slot = SLOTS[field]
        if t:
            chosen[slot] = ("DWORD" if t[1] == 32 else
                            rng.choice(("WORD_0", "WORD_1")))
            negated[slot] = t if rng.random() < .4 else None
            absolute[slot] = t if rng.random() < .4 else None
        else:
            chosen[slot] = (selects[n] if selects else rng.choice(SELECTS))
            extended[slot] = rng.random() < .4 and chosen[slot] != "DWORD"

    def decorate(field, reg):
        slot = SLOTS.get(field)
        if extended.get(slot):
            reg = f"sext({reg})"
        if absolute.get(slot):
            reg = f"|{reg}|"
        return f"-{reg}" if negated.get(slot) else reg

    def change(values):
        out = dict(values)
        for slot, select in chosen.items():
            low, width = part(select)
            v = values[slot] >> low & ((1 << width) - 1)
            if extended.get(slot):
                v = sign_extended(v, width)
            if absolute.get(slot):
                v &= ~(1 << (absolute[slot][1] - 1))
            if negated.get(slot):
                v ^= 1 << (negated[slot][1] - 1)
            out[slot] = v
        return out

    text = f"{name_of(op, '_sdwa')} {operands(op, fields, decorate)}"
    finish = None
    if not compare:
        t = float_type(fields["vdst"][0])
        if t:  # parts of a NaN are its payload, which is open
            dst = "DWORD" if t[1] == 32 else rng.choice(
                ("WORD_0", "WORD_1", "DWORD"))
        dst = dst or rng.choice(SELECTS)
        unused = unused or rng.choice(("PAD", "PRESERVE") if t else
                                      ("PAD", "SEXT", "PRESERVE"))
        text += f" dst_sel:{dst} dst_unused:UNUSED_{unused}"

        def finish(result, old):
            low, width = part(dst)
            if width == 32:
                return result
            v = result & ((1 << width) - 1)
            if unused == "PRESERVE":
                mask = ((1 << width) - 1) << low
                return old & ~mask | v << low
            if unused == "SEXT":
                return sign_extended(v, width) << low & 0xffffffff
            return v << low

    for n, slot in enumerate(("S0", "S1")):
        if slot in chosen:
            text += f" src{n}_sel:{chosen[slot]}"
    return Variant(checker, op, fields, text, change, finish)


def sdwa_cases(checker):
    rng = random.Random("sdwa")
    for op, fields in short_ops(checker):
        if re.search("FMA|MAC|DOT", op.name):
            continue
        yield sdwa(checker, op, fields, rng)
        if op.name in ("V_MOV_B32_E32", "V_ADD_U32_E32"):
            for dst in SELECTS:
                for unused in ("PAD", "SEXT", "PRESERVE"):
                    yield sdwa(checker, op, fields, rng, dst, unused)
            for select in SELECTS:
                yield sdwa(checker, op, fields, rng,
                           selects=(select, rng.choice(SELECTS)))


# --- DPP --------------------------------------------------------------------


def dpp_sources(target):
    """Control -> source lane of a lane, None outside."""
    out = {}
    for control, source in lane_moves("gfx9").items():
        if control.startswith(("row_share", "row_xmask")):
            continue
        out[control] = lambda i, s=source: (
            None if s(i & 15) is None else i & ~15 | s(i & 15))
    out["wave_shl:1"] = lambda i: i + 1 if i < 63 else None
    out["wave_shr:1"] = lambda i: i - 1 if i else None
    out["wave_rol:1"] = lambda i: (i + 1) % 64
    out["wave_ror:1"] = lambda i: (i - 1) % 64
    out["row_bcast:15"] = lambda i: i // 16 * 16 - 1 if i > 15 else None
    out["row_bcast:31"] = lambda i: 31 if i > 31 else None
    for n in (0, 7, 15):
        out[f"row_newbcast:{n}"] = lambda i, n=n: i & ~15 | n
    return out


def dpp(checker, op, fields, rng, control, source):
    row, bank = rng.choice(((15, 15), (15, 15), (5, 9), (14, 7)))
    bound = rng.getrandbits(1)
    t = float_type(fields["src0"][0])
    negate = t and rng.random() < .4

    def decorate(field, reg):
        return f"-{reg}" if field == "src0" and negate else reg

    def change(values):
        if negate:
            values = dict(values, S0=values["S0"] ^ 1 << (t[1] - 1))
        return values

    def source_lane(lane, mask):
        if not row >> lane // 16 & 1 or not bank >> lane % 16 // 4 & 1:
            return None
        at = source(lane)
        if at is not None and mask >> at & 1:
            return at
        return "zero" if bound else None

    text = (f"{name_of(op, '_dpp')} {operands(op, fields, decorate)} "
            f"{control} row_mask:{row:#x} bank_mask:{bank:#x}" +
            (" bound_ctrl:0" if bound else ""))
    return Variant(checker, op, fields, text, change, None, source_lane)


def dpp_cases(checker):
    rng = random.Random("dpp")
    sources = dpp_sources(checker.t.name)
    for op, fields in short_ops(checker):
        if op.name.startswith("V_CMP") or "_CO_" in op.name:
            continue
        control = rng.choice(list(sources))
        yield dpp(checker, op, fields, rng, control, sources[control])
        if op.name == "V_MOV_B32_E32":
            for control, source in sources.items():
                yield dpp(checker, op, fields, rng, control, source)
                yield dpp(checker, op, fields, rng, control, source)


# --- VOP3 and VOP3P ---------------------------------------------------------


def clamped(t):

    def run(result, _):
        v = Val(result, t[1], t[0])
        if pcode.is_nan(v):
            return 0  # MODE.DX10_CLAMP is set
        x = pcode.as_number(v)
        if x <= 0:
            return 0
        return pcode.round_to(pcode.Fraction(1), *t).bits if x >= 1 else (
            result)

    return run


def long_cases(checker):
    """Sources with neg and abs, results with clamp."""
    rng = random.Random("vop3")
    for op in checker.t.pcode:
        if type(op).__name__ != "VOP3Op" or SKIP.search(op.name) or (
                op.name.startswith("V_CMP")):
            continue
        fields = checker.fields_of(op)
        base = re.sub(r"_E64$", "", op.name)
        if not fields or "src0" not in fields or base in TOLERANCE or any(
                bits > 64 for _, bits, _ in fields.values()):
            continue
        types = {f: float_type(fields[f][0]) for f in REGS if f in fields}
        if not any(types.values()) or any(
                "PK" in fields[f][0].name for f in types):
            continue
        for clamp in (False, True):
            t = float_type(fields["vdst"][0]) if "vdst" in fields else None
            if clamp and (t is None or "PK" in fields["vdst"][0].name or
                          base in OVERRIDES):
                continue
            flips = {SLOTS[f]: (rng.random() < .5, rng.random() < .5, x)
                     for f, x in types.items() if x}

            def decorate(field, reg, flips=flips):
                negate, absolute, _ = flips.get(SLOTS[field],
                                                (False, False, None))
                reg = f"|{reg}|" if absolute else reg
                return f"-{reg}" if negate else reg

            def change(values, flips=flips):
                out = dict(values)
                for slot, (negate, absolute, x) in flips.items():
                    if absolute:
                        out[slot] &= ~(1 << (x[1] - 1))
                    if negate:
                        out[slot] ^= 1 << (x[1] - 1)
                return out

            yield Variant(
                checker, op, fields, f"{name_of(op, '_e64')} " +
                operands(op, fields, decorate) + (" clamp" if clamp else ""),
                change, clamped(t) if clamp else None)
            if not op.name.endswith("_E64"):
                yield Variant(
                    checker, op, fields, f"{name_of(op, '')} " +
                    operands(op, fields, decorate) +
                    (" clamp" if clamp else ""), change,
                    clamped(t) if clamp else None)


def packed_cases(checker):
    """op_sel, op_sel_hi, neg_lo and neg_hi of the packed operations."""
    rng = random.Random("vop3p")
    for op in checker.t.pcode:
        if type(op).__name__ != "VOP3POp" or not (
                op.name.startswith("V_PK_")) or SKIP.search(op.name):
            continue
        fields = checker.fields_of(op)
        if not fields or "src0" not in fields:
            continue
        wide = 32 if fields["vdst"][1] == 64 else 16
        used = [f for f in ("src0", "src1", "src2") if f in fields]
        floats = float_type(fields["src0"][0]) and op.name != "V_PK_MOV_B32"
        for _ in range(4):
            low = [rng.getrandbits(1) for _ in used]
            high = [rng.getrandbits(1) for _ in used]
            neg_lo = [rng.getrandbits(1) if floats else 0 for _ in used]
            neg_hi = [rng.getrandbits(1) if floats else 0 for _ in used]

            def change(values, low=low, high=high, neg_lo=neg_lo,
                       neg_hi=neg_hi, wide=wide, used=used):
                out = dict(values)
                ones = (1 << wide) - 1
                for i, field in enumerate(used):
                    v = values[SLOTS[field]]
                    a = v >> wide * low[i] & ones
                    b = v >> wide * high[i] & ones
                    a ^= neg_lo[i] << (wide - 1)
                    b ^= neg_hi[i] << (wide - 1)
                    out[SLOTS[field]] = a | b << wide
                return out

            text = f"{name_of(op, '')} " + operands(
                op, fields, lambda field, reg: reg)
            for key, bits in (("op_sel", low), ("op_sel_hi", high),
                              ("neg_lo", neg_lo), ("neg_hi", neg_hi)):
                if any(bits) or key == "op_sel_hi":
                    text += f" {key}:[{','.join(map(str, bits))}]"
            yield Variant(checker, op, fields, text, change)


# --- What the tables do not have --------------------------------------------


def lane_function(name, text, function, inputs, nan, seed=""):
    """`function(a, b, c, d)` of the words of v96, v100, v104 and v64."""

    def prepare(state, rng):
        state.set_scalar(EXEC, masks(rng), 2)
        for lane in range(64):
            for reg in ("v96", "v100", "v104", "v64"):
                state.set(reg, lane, inputs(rng))

    def expect(state):
        for lane in lanes(state):
            words = [state.get(r, lane) for r in ("v96", "v100", "v104",
                                                  "v64")]
            state.set("v64", lane, function(*words))

    case = Simple(name, text, prepare, expect, seed)
    case.nan = nan
    return case


class Format:

    def __init__(self, name):
        self.name = name


def flushed(v):
    _, e, m = pcode.fields(v)
    return Val(v.bits & 1 << (v.w - 1), v.w, v.t) if e == 0 and m else v


def mad(t, w, flush):
    """A product that is rounded before the addition."""

    def run(a, b, c):
        a, b, c = (Val(x, w, t) for x in (a, b, c))
        if flush:
            a, b, c = flushed(a), flushed(b), flushed(c)
        p = pcode.float_mul(a, b)
        r = pcode.float_add(flushed(p) if flush else p, c)
        return (flushed(r) if flush else r).bits

    return run


def mixes():
    half = lambda rng: pool_value(rng, Format("FMT_NUM_F16"), 16) | (
        pool_value(rng, Format("FMT_NUM_F16"), 16) << 16)
    single = lambda rng: pool_value(rng, Format("FMT_NUM_F32"), 32)
    # v_fma_mix: each source is f32 or one half; neg_hi is abs.
    for form in ("", "lo", "hi"):
        name = f"v_fma_mix{form}_f{16 if form else 32}"
        rng = random.Random(name)
        for _ in range(6):
            sel = [rng.getrandbits(1) for _ in range(3)]
            hi = [rng.getrandbits(1) for _ in range(3)]
            signs = [rng.choice(("", "-", "|", "-|")) for _ in range(3)]

            def mix(*words, sel=sel, hi=hi, signs=signs, form=form):
                v = []
                for i in range(3):
                    x = (pcode.to_float(Val(words[i] >> 16 * sel[i], 16, "f"),
                                        "f", 32) if hi[i] else
                         Val(words[i], 32, "f"))
                    bits = x.bits
                    if "|" in signs[i]:
                        bits &= 0x7fffffff
                    if "-" in signs[i]:
                        bits ^= 0x80000000
                    v.append(Val(bits, 32, "f"))
                if not form:
                    return pcode.fma(*v).bits
                r = pcode.to_float(pcode.fma(*v), "f", 16).bits
                old = words[3]
                return (old & 0xffff | r << 16 if form == "hi" else
                        old & 0xffff0000 | r)

            # Constants of f32 operands stay f32.
            spelled = ", ".join(
                f"{s}{r}{'|' if '|' in s else ''}"
                for s, r in zip(signs, ("v96", "v100", "v104")))
            text = (f"{name} v64, {spelled} op_sel:{sel} op_sel_hi:{hi}"
                    ).replace(", 0", ",0").replace(", 1", ",1")
            yield lane_function(
                name, text, mix,
                lambda rng: half(rng) if rng.random() < .5 else single(rng),
                "f16" if form else "f32", text)


def untabled(target):
    half = lambda rng: pool_value(rng, Format("FMT_NUM_F16"), 16) | (
        pool_value(rng, Format("FMT_NUM_F16"), 16) << 16)
    single = lambda rng: pool_value(rng, Format("FMT_NUM_F32"), 32)
    yield from mixes()
    for name, function, values in (
            ("v_exp_legacy_f32", lambda n: 2.0**n,
             [float(n) for n in range(-20, 20)]),
            ("v_log_legacy_f32", lambda x: float(round(
                pcode.math.log2(x))), [2.0**n for n in range(-20, 20)])):
        yield lane_function(
            name, f"{name} v64, v96",
            lambda a, b, c, d, f=function: pcode.f32_bits(
                f(pcode.struct.unpack("<f", pcode.struct.pack("<I", a))[0])),
            lambda rng, v=values: pcode.f32_bits(rng.choice(v)), "f32")
    low = lambda f: lambda a, b, c, d: f(a & 0xffff, b & 0xffff, c & 0xffff)
    mad16 = mad("f", 16, True)
    yield lane_function(
        "v_mad_legacy_f16", "v_mad_legacy_f16 v64, v96, v100, v104",
        low(mad16), half, "f16")
    yield lane_function(
        "v_mad_f16", "v_mad_f16 v64, v96, v100, v104",
        lambda a, b, c, d: d & 0xffff0000 | low(mad16)(a, b, c, d), half,
        "f16")
    yield lane_function(
        "v_mac_f16", "v_mac_f16 v64, v96, v100",
        lambda a, b, c, d: d & 0xffff0000 | mad16(a & 0xffff, b & 0xffff,
                                                  d & 0xffff), half, "f16")
    yield lane_function(
        "v_madak_f16", "v_madak_f16 v64, v96, v100, 0x3e00",
        lambda a, b, c, d: mad16(a & 0xffff, b & 0xffff, 0x3e00), half,
        "f16")
    yield lane_function(
        "v_madmk_f16", "v_madmk_f16 v64, v96, 0x3e00, v100",
        lambda a, b, c, d: mad16(a & 0xffff, 0x3e00, b & 0xffff), half,
        "f16")
    if target == "gfx90a":
        mad32 = mad("f", 32, True)
        yield lane_function("v_mad_f32", "v_mad_f32 v64, v96, v100, v104",
                            lambda a, b, c, d: mad32(a, b, c), single, "f32")
        yield lane_function("v_mac_f32", "v_mac_f32 v64, v96, v100",
                            lambda a, b, c, d: mad32(a, b, d), single, "f32")
        yield lane_function(
            "v_madak_f32", "v_madak_f32 v64, v96, v100, 0x3fc00000",
            lambda a, b, c, d: mad32(a, b, 0x3fc00000), single, "f32")
        yield lane_function(
            "v_madmk_f32", "v_madmk_f32 v64, v96, 0x3fc00000, v100",
            lambda a, b, c, d: mad32(a, 0x3fc00000, b), single, "f32")

        def legacy(a, b, c, d):
            if not a & 0x7f800000 and not pcode.is_nan(Val(a, 32, "f")) or (
                    not b & 0x7f800000):
                product = Val(0, 32, "f")  # 0 * x is 0
                return flushed(pcode.float_add(product, flushed(
                    Val(c, 32, "f")))).bits
            return mad32(a, b, c)

        yield lane_function("v_mad_legacy_f32",
                            "v_mad_legacy_f32 v64, v96, v100, v104", legacy,
                            single, "f32")


def cases(checker):
    yield from sdwa_cases(checker)
    yield from dpp_cases(checker)
    yield from long_cases(checker)
    yield from packed_cases(checker)
    yield from untabled(checker.t.name)
