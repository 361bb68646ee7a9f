"""Scalar memory, LDS and accumulator instructions of CDNA, for cdna_cases.

The pseudo-code leaves these out; what they do is from the prose of the CDNA
ISA manuals (chapters on scalar memory, LDS, buffer loads to LDS and, CDNA4,
DS_READ_B64_TR_B16).
"""

import random

import pcode
from pcode import Val
from wave_state import (EXEC, LDS_AT, LDS_BYTES, M0, MEM_AT, MEM_BYTES)

FULL = (1 << 64) - 1


class Simple:
    """A case of two functions of the state."""

    def __init__(self, name, text, prepare=None, expect=None, seed=""):
        self.name, self.text = name, text
        self.rng = random.Random(f"{text} {seed}")
        self.prepare_fn, self.expect_fn = prepare, expect

    def prepare(self, state):
        if self.prepare_fn:
            self.prepare_fn(state, self.rng)

    def expect(self, state):
        if self.expect_fn:
            self.expect_fn(state)


def masks(rng):
    return rng.choice((FULL, rng.getrandbits(64), 1, 0xffffffff << 32,
                       rng.getrandbits(64) & rng.getrandbits(64)))


def lanes(state):
    return [i for i in range(64) if state.exec >> i & 1]


# --- Scalar memory ----------------------------------------------------------

SIZES = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8,
         "dwordx16": 16}


def scalar_memory():
    """Addresses are s[36:37], the memory block, or its descriptor
    s[40:43]."""
    for kind, base in (("s_", "s[36:37]"), ("s_buffer_", "s[40:43]"),
                       ("s_scratch_", "s[36:37]")):
        for size, words in SIZES.items():
            if kind == "s_scratch_" and words > 4:
                continue
            data = "s48" if words == 1 else f"s[48:{47 + words}]"
            for offset, where in (("0x40", 0x40), ("s70", None)):
                if kind == "s_scratch_" and where is None:
                    continue

                def place(state, where=where):
                    return where if where is not None else state.sgpr(70)

                def prepare(state, rng):
                    state.set_sgpr(70, 4 * rng.randrange(500))

                def load(state, words=words, place=place):
                    value = state.load(MEM_AT, place(state), 4 * words)
                    state.set_sgpr(48, value, words)

                def store(state, words=words, place=place):
                    state.store(MEM_AT, place(state), 4 * words,
                                state.sgpr(48, words))

                yield Simple(f"{kind}load_{size}",
                             f"{kind}load_{size} {data}, {base}, {offset}",
                             prepare, load)
                if words <= 4:
                    yield Simple(
                        f"{kind}store_{size}",
                        f"{kind}store_{size} {data}, {base}, {offset}",
                        prepare, store)


def signed(x, bits):
    return x - (1 << bits) if x >> (bits - 1) else x


ATOMICS = {
    "swap": lambda old, d, b: d,
    "add": lambda old, d, b: old + d,
    "sub": lambda old, d, b: old - d,
    "smin": lambda old, d, b: min(old, d, key=lambda x: signed(x, b)),
    "umin": lambda old, d, b: min(old, d),
    "smax": lambda old, d, b: max(old, d, key=lambda x: signed(x, b)),
    "umax": lambda old, d, b: max(old, d),
    "and": lambda old, d, b: old & d,
    "or": lambda old, d, b: old | d,
    "xor": lambda old, d, b: old ^ d,
    "inc": lambda old, d, b: 0 if old >= d else old + 1,
    "dec": lambda old, d, b: d if old == 0 or old > d else old - 1,
}


def scalar_atomics():
    for kind, base in (("s_", "s[36:37]"), ("s_buffer_", "s[40:43]")):
        for op in list(ATOMICS) + ["cmpswap"]:
            for suffix, words in (("", 1), ("_x2", 2)):
                count = words * (2 if op == "cmpswap" else 1)
                data = "s48" if count == 1 else f"s[48:{47 + count}]"
                name = f"{kind}atomic_{op}{suffix}"
                for glc in ("", " glc"):
                    for seed in range(3):

                        def prepare(state, rng, words=words, op=op):
                            bits = 32 * words
                            edges = (0, 1, (1 << bits) - 1, 1 << (bits - 1),
                                     rng.getrandbits(bits))
                            old = rng.choice(edges)
                            state.store(MEM_AT, 0x20, 4 * words, old)
                            state.set_sgpr(48, rng.choice(edges), words)
                            if op == "cmpswap" and rng.random() < .5:
                                state.set_sgpr(48 + words, old, words)

                        def expect(state, words=words, op=op, glc=glc):
                            bits = 32 * words
                            old = state.load(MEM_AT, 0x20, 4 * words)
                            d = state.sgpr(48, words)
                            if op == "cmpswap":
                                same = old == state.sgpr(48 + words, words)
                                new = d if same else old
                            else:
                                new = ATOMICS[op](old, d, bits)
                            state.store(MEM_AT, 0x20, 4 * words,
                                        new & (1 << bits) - 1)
                            if glc:
                                state.set_sgpr(48, old, words)

                        yield Simple(name, f"{name} {data}, {base}, 0x20{glc}",
                                     prepare, expect, seed)


# --- LDS --------------------------------------------------------------------


def lane_addresses(state, rng, step, reg="v96", exec_mask=None):
    """Different addresses within LDS (and the memory block) per lane."""
    slots = list(range((LDS_BYTES - 1024) // step))
    rng.shuffle(slots)
    for lane in range(64):
        state.set(reg, lane, slots[lane] * step)
    state.set_scalar(EXEC, masks(rng) if exec_mask is None else exec_mask, 2)


def transposes(target):
    """Sixteen lanes read sixteen columns row by row and get one column
    each."""
    if target != "gfx950":
        return
    for name, bits, words in (("ds_read_b64_tr_b16", 16, 2),
                              ("ds_read_b64_tr_b8", 8, 2),
                              ("ds_read_b64_tr_b4", 4, 2),
                              ("ds_read_b96_tr_b6", 6, 3)):
        per = 32 * words // bits

        def prepare(state, rng, words=words):
            # EXEC has to be whole (CDNA4 ISA).
            lane_addresses(state, rng, 16 if words == 3 else 8,
                           exec_mask=FULL)

        def expect(state, words=words, bits=bits, per=per):
            for group in range(0, 64, 16):
                matrix = []
                for i in range(16):
                    raw = state.load(LDS_AT, state.get("v96", group + i) + 32,
                                     4 * words)
                    matrix += [raw >> bits * k & ((1 << bits) - 1)
                               for k in range(per)]
                for column in range(16):
                    value = sum(matrix[16 * row + column] << bits * row
                                for row in range(per))
                    state.set("v64", group + column, value, words)

        yield Simple(name, f"{name} v[64:{63 + words}], v96 offset:32",
                     prepare, expect)


def loads_to_lds(target):
    """Memory straight to LDS: the lane's element at M0 + offset + 4 * lane
    (12 and 16 for the wide ones)."""
    kinds = [("dword", 4, False), ("ubyte", 1, False), ("sbyte", 1, True),
             ("ushort", 2, False), ("sshort", 2, True)]
    if target == "gfx950":
        kinds += [("dwordx3", 12, False), ("dwordx4", 16, False)]

    def expect(size, sign, offset):
        step = max(size, 4)

        def run(state):
            base = state.scalar(M0) & 0xffff
            for lane in lanes(state):
                v = state.load(MEM_AT, state.get("v96", lane) + offset, size)
                if sign:
                    v = signed(v, 8 * size)
                state.store(LDS_AT, base + offset + step * lane, step,
                            v & (1 << 8 * step) - 1)

        return run

    def prepare(state, rng):
        lane_addresses(state, rng, 16)
        state.set_scalar(M0, 0x300)

    # And back: no address of its own, the lane's comes from the descriptor.
    def stored(state):
        active = lanes(state)
        if active:
            # Without ADD_TID all lanes store to one place, the last one wins.
            lds = (state.scalar(M0) & 0xffff) + 16 + 4 * active[-1]
            state.store(MEM_AT, 16 + 0x40, 4, state.load(LDS_AT, lds, 4))

    def offset(state, rng):
        prepare(state, rng)
        state.set_sgpr(70, 0x40)

    if target == "gfx90a":
        yield Simple("buffer_store_lds_dword",
                     "buffer_store_lds_dword s[40:43], s70 offset:16 lds",
                     offset, stored)

    for kind, size, sign in kinds:
        yield Simple(f"buffer_load_{kind}",
                     f"buffer_load_{kind} v96, s[40:43], 0 offen offset:16 "
                     "lds", prepare, expect(size, sign, 16))
        if target != "gfx90a":
            name = f"global_load_lds_{kind}"
            yield Simple(name, f"{name} v96, s[36:37] offset:16", prepare,
                         expect(size, sign, 16))
    if target == "gfx90a":
        return

    # Scratch: written by the case itself.
    def scratch(size, sign):

        def run(state):
            for lane in lanes(state):
                v = state.get("v97", lane) & (1 << 8 * size) - 1
                if sign:
                    v = signed(v, 8 * size)
                state.store(LDS_AT, 0x300 + 8 + 4 * lane, 4, v & 0xffffffff)

        return run

    def small(state, rng):
        for lane in range(64):
            state.set("v96", lane, 4 * rng.randrange(20))
        state.set_scalar(EXEC, masks(rng), 2)
        state.set_scalar(M0, 0x300)

    for kind, size, sign in kinds[:5]:
        name = f"scratch_load_lds_{kind}"
        yield Simple(name, "scratch_store_dword v96, v97, off offset:8\n"
                     f"s_waitcnt vmcnt(0)\n{name} v96, off offset:8", small,
                     scratch(size, sign))


# --- Accumulators and the rest ----------------------------------------------


def accumulators_in_memory():
    for words, size in ((1, "dword"), (2, "dwordx2"), (3, "dwordx3"),
                        (4, "dwordx4")):
        regs = "a8" if words == 1 else f"a[8:{7 + words}]"

        def load(state, words=words):
            for lane in lanes(state):
                state.set("a8", lane, state.load(
                    MEM_AT, state.get("v96", lane) + 16, 4 * words), words)

        def store(state, words=words):
            for lane in lanes(state):
                state.store(MEM_AT, state.get("v96", lane) + 16, 4 * words,
                            state.get("a8", lane, words))

        def lds_load(state, words=words):
            for lane in lanes(state):
                state.set("a8", lane, state.load(
                    LDS_AT, state.get("v96", lane) + 16, 4 * words), words)

        def lds_store(state, words=words):
            for lane in lanes(state):
                state.store(LDS_AT, state.get("v96", lane) + 16, 4 * words,
                            state.get("a8", lane, words))

        apart = lambda s, r: lane_addresses(s, r, 16)
        yield Simple(f"global_load_{size}",
                     f"global_load_{size} {regs}, v96, s[36:37] offset:16",
                     apart, load)
        yield Simple(f"global_store_{size}",
                     f"global_store_{size} v96, {regs}, s[36:37] offset:16",
                     apart, store)
        yield Simple(f"buffer_load_{size}", f"buffer_load_{size} {regs}, v96,"
                     " s[40:43], 0 offen offset:16", apart, load)
        yield Simple(f"buffer_store_{size}", f"buffer_store_{size} {regs}, "
                     "v96, s[40:43], 0 offen offset:16", apart, store)
        bits = 32 * words
        yield Simple(f"ds_read_b{bits}",
                     f"ds_read_b{bits} {regs}, v96 offset:16", apart,
                     lds_load)
        yield Simple(f"ds_write_b{bits}",
                     f"ds_write_b{bits} v96, {regs} offset:16", apart,
                     lds_store)


def accumulators(target):
    def some(state, rng):
        state.set_scalar(EXEC, masks(rng), 2)

    def move(to, source):
        def run(state):
            for lane in lanes(state):
                state.set(to, lane, state.get(source, lane))
        return run

    yield Simple("v_accvgpr_read_b32", "v_accvgpr_read_b32 v64, a5", some,
                 move("v64", "a5"))
    yield Simple("v_accvgpr_write_b32", "v_accvgpr_write_b32 a5, v64", some,
                 move("a5", "v64"))
    yield Simple("v_accvgpr_mov_b32", "v_accvgpr_mov_b32 a6, a5", some,
                 move("a6", "a5"))

    def constant(state):
        for lane in lanes(state):
            state.set("a5", lane, 0xbf800000)

    def scalar(state):
        for lane in lanes(state):
            state.set("a5", lane, state.sgpr(50))

    yield Simple("v_accvgpr_write_b32", "v_accvgpr_write_b32 a5, -1.0", some,
                 constant)
    yield Simple("v_accvgpr_write_b32", "v_accvgpr_write_b32 a5, s50", some,
                 scalar)
    yield from accumulators_in_memory()

    def atomic(state):
        for lane in lanes(state):
            at = state.get("v96", lane) + 16
            old = state.load(MEM_AT, at, 4)
            state.store(MEM_AT, at, 4, old + state.get("a8", lane))
            state.set("a8", lane, old)

    bit = "glc" if target == "gfx90a" else "sc0"
    yield Simple("global_atomic_add", "global_atomic_add a8, v96, a8, "
                 f"s[36:37] offset:16 {bit}",
                 lambda s, r: lane_addresses(s, r, 16), atomic)


def byte_of_float(bits):
    v = Val(bits, 32, "f")
    if pcode.is_nan(v):
        return 0
    x = pcode.as_number(v)
    return int(min(max(round(min(max(x, -1), 300)), 0), 255))


def others(target):
    for text in ("v_clrexcp", "s_dcache_discard s[36:37], 0x0",
                 "s_dcache_discard_x2 s[36:37], 0x0", "ds_nop"):
        yield Simple(text.split(" ")[0], text)
    for text in {"gfx90a": ("buffer_wbl2", "buffer_invl2", "buffer_wbinvl1",
                            "buffer_wbinvl1_vol")}.get(
                                target, ("buffer_wbl2 sc0 sc1",
                                         "buffer_inv sc0 sc1")):
        yield Simple(text.split(" ")[0], text)
    if target == "gfx950":
        yield Simple("v_mfma_ld_scale_b32",
                     "v_mfma_ld_scale_b32 v64, v65\nv_nop")

    def accumulate(state):
        for lane in lanes(state):
            shift = 8 * (state.get("v97", lane) & 3)
            old = state.get("v64", lane)
            byte = byte_of_float(state.get("v96", lane))
            state.set("v64", lane, old & ~(255 << shift) | byte << shift)

    def floats(state, rng):
        state.set_scalar(EXEC, masks(rng), 2)
        for lane in range(64):
            x = rng.choice((rng.uniform(-20, 300), rng.randrange(256) + .5,
                            1e30, -1e30))
            state.set("v96", lane, pcode.f32_bits(x))

    yield Simple("v_cvt_pkaccum_u8_f32", "v_cvt_pkaccum_u8_f32 v64, v96, v97",
                 floats, accumulate)

    def writelane(state):
        state.set("v64", state.sgpr(49) & 63, state.sgpr(48))

    def lane_number(state, rng):
        state.set_scalar(EXEC, masks(rng), 2)
        state.set_scalar(M0, rng.getrandbits(32))
        state.set_sgpr(49, state.scalar(M0))

    yield Simple("v_writelane_b32", "v_writelane_b32 v64, s48, m0",
                 lane_number, writelane)


def indexed():
    """Registers chosen by M0: bits 7 to 0 are added to the number of the
    sources and the destination that bits 15 to 12 name."""
    on = "s_set_gpr_idx_on s48, gpr_idx({})"
    off = "s_set_gpr_idx_off"
    src0, src1, dst = 1, 2, 8

    def prepare(state, rng):
        state.set_scalar(EXEC, masks(rng), 2)
        for sgpr in (48, 49):
            state.set_sgpr(sgpr, rng.randrange(4) | rng.getrandbits(24) << 8)

    def set_m0(state, index, chosen):
        m0 = state.scalar(M0) & ~0xf0ff
        state.set_scalar(M0, m0 | index | chosen << 12)

    def case(name, text, index, chosen, result):
        def expect(state):
            i = state.sgpr(index) & 0xff
            set_m0(state, i, chosen)
            for lane in lanes(state):
                to, value = result(state, lane, i)
                state.set(f"v{to}", lane, value)

        for seed in range(4):
            yield Simple(name, "\n".join(text), prepare, expect, seed)

    def v(state, lane, number):
        return state.get(f"v{number}", lane)

    yield from case("s_set_gpr_idx_on",
                    [on.format("SRC0,DST"), "v_mov_b32 v64, v96", off],
                    48, src0 | dst,
                    lambda s, lane, i: (64 + i, v(s, lane, 96 + i)))
    yield from case("s_set_gpr_idx_mode",
                    [on.format("SRC0"), "s_set_gpr_idx_mode gpr_idx(SRC1)",
                     "v_xor_b32 v64, v96, v100", off], 48, src1,
                    lambda s, lane, i: (64, v(s, lane, 96)
                                        ^ v(s, lane, 100 + i)))
    yield from case("s_set_gpr_idx_idx",
                    [on.format("DST"), "s_set_gpr_idx_idx s49",
                     "v_mov_b32 v64, v96", off], 49, dst,
                    lambda s, lane, i: (64 + i, v(s, lane, 96)))
    yield from case("s_set_gpr_idx_off",
                    [on.format("SRC0,DST"), off, "v_mov_b32 v64, v96"],
                    48, src0 | dst, lambda s, lane, i: (64, v(s, lane, 96)))


def cases(target):
    yield from indexed()
    yield from scalar_memory()
    yield from scalar_atomics()
    yield from transposes(target)
    yield from loads_to_lds(target)
    yield from accumulators(target)
    yield from others(target)
