"""Programs for conversions to 8-bit floats (RDNA4 ISA, V_CVT_PK_FP8_F32 and
its kin) and for the f64 compare-and-swap of RDNA2."""

import struct
from fractions import Fraction

import pcode
from program_cases import Program


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def number(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def small(kind, bits):
    return pcode.round_to(Fraction(number(bits)), kind, 8, bits >> 31).bits


def fill(choose):

    def prepare(rng, wave):
        for v in wave.lanes:
            v["S0"] = v["S0"] & ~0xffffffff | f32(choose(rng))
            v["S1"] = v["S1"] & ~0xffffffff | f32(choose(rng))

    return prepare


def eight_bits(target):
    inside = lambda rng: rng.choice((0., -0., 1.5, 2.0**-9, 3 * 2.0**-11,
                                     rng.uniform(-440, 440),
                                     rng.uniform(-.02, .02)))
    exact = lambda rng: rng.choice((-1, 1)) * rng.choice(
        (1, 1.25, 1.5, 1.75)) * 2.0**rng.randint(-5, 7)
    for kind in ("fp8", "bf8"):

        def packed(wave, kind=kind):
            want = wave.values("D0")
            for i, (a, b) in enumerate(zip(wave.values("S0"),
                                           wave.values("S1"))):
                if wave.active(i):
                    want[i] = (want[i] & ~0xffff | small(kind, a) |
                               small(kind, b) << 8)
            return {"v16": want}

        # A value of the format stays itself, whatever the random number.
        def random(wave, kind=kind):
            want = wave.values("D0")
            for i, a in enumerate(wave.values("S0")):
                if wave.active(i):
                    want[i] = want[i] & ~0xff | small(kind, a)
            return {"v16": want}

        yield Program(f"cvt_pk_{kind}", f"v_cvt_pk_{kind}_f32 v16, v4, v8",
                      packed, prepare=fill(inside))
        yield Program(f"cvt_sr_{kind}", f"v_cvt_sr_{kind}_f32 v16, v4, v8",
                      random, prepare=fill(exact))


def swap_f64(target):
    """Compares as doubles; both values are in v[4:7], the new one first."""

    def prepare(rng, wave):
        for v in wave.lanes:
            new, old = (struct.unpack("<Q", struct.pack(
                "<d", rng.uniform(-9, 9)))[0] for _ in range(2))
            v["S2"] = old
            v["S0"] = new | (old if rng.random() < .5 else new) << 64

    def expect(wave):
        want = {f"v{16 + k}": wave.values("D0", k) for k in range(4)}
        for i, v in enumerate(wave.lanes):
            old, memory = v["S2"] & (1 << 64) - 1, v["S2"] & (1 << 64) - 1
            if wave.active(i):
                for k in range(2):
                    want[f"v{16 + k}"][i] = old >> 32 * k & 0xffffffff
                if v["S0"] >> 64 == old:
                    memory = v["S0"] & (1 << 64) - 1
            for k in range(2):
                want[f"v{18 + k}"][i] = memory >> 32 * k & 0xffffffff
        return want

    base = ["  s_mov_b32 s12, s6", "  s_and_b32 s13, s7, 0xffff",
            "  s_brev_b32 s14, -2", "  s_mov_b32 s15, 0x31004000",
            "  global_store_dwordx2 v40, v[12:13], s[6:7] offset:32",
            "  s_waitcnt_vscnt null, 0x0"]
    after = ["  s_waitcnt vmcnt(0)", "  s_waitcnt_vscnt null, 0x0",
             "  global_load_dwordx2 v[18:19], v40, s[6:7] offset:32",
             "  s_waitcnt vmcnt(0)"]
    yield Program("global_fcmpswap_x2",
                  ["global_atomic_fcmpswap_x2 v[16:17], v40, v[4:7], s[6:7] "
                   "offset:32 glc"], expect, prepare=prepare, setup=base,
                  after=after)
    yield Program("buffer_fcmpswap_x2",
                  ["v_mov_b32 v20, v4", "v_mov_b32 v21, v5",
                   "v_mov_b32 v22, v6", "v_mov_b32 v23, v7",
                   "buffer_atomic_fcmpswap_x2 v[20:23], v40, s[12:15], 0 "
                   "offen offset:32 glc", "s_waitcnt vmcnt(0)",
                   "v_mov_b32 v16, v20", "v_mov_b32 v17, v21"], expect,
                  prepare=prepare, setup=base, after=after,
                  covers=["buffer_atomic_fcmpswap_x2"])


def programs(target):
    if target.generation == "gfx12":
        yield from eight_bits(target)
    if target.generation == "gfx10":
        yield from swap_f64(target)
