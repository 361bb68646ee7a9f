"""Every pair of VOPD, X and Y, each half against the pseudo-code of the
single instruction (RDNA3 ISA and RDNA4 ISA, "VOPD Instruction Fields").

X works on v4, v8 and v16, Y on v5, v9 and v17: no two sources of a bank, one
even and one odd destination.
"""

from program_cases import Program

X = ("fmac_f32", "fmaak_f32", "fmamk_f32", "mul_f32", "add_f32", "sub_f32",
     "subrev_f32", "mul_dx9_zero_f32", "mov_b32", "cndmask_b32", "max_f32",
     "min_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16")
Y = X + ("add_nc_u32", "lshlrev_b32", "and_b32")
LITERAL = 0x3fc00000  # 1.5, as Checker.environment has it


def operands(name, d, a, b):
    if "fmaak" in name:
        return f"{d}, {a}, {b}, {LITERAL:#x}"
    if "fmamk" in name:
        return f"{d}, {a}, {LITERAL:#x}, {b}"
    if name == "mov_b32":
        return f"{d}, {a}"
    return f"{d}, {a}, {b}"


def spelled(name, generation):
    if generation == "gfx12":
        return {"max_f32": "max_num_f32",
                "min_f32": "min_num_f32"}.get(name, name)
    return name


def half(target, name, wave, i, index):
    """What one half writes in lane i; index: which word of the slots."""
    lane = wave.lanes[i]
    a, b, d = (lane[s] >> 32 * index & 0xffffffff for s in ("S0", "S1", "D0"))
    # V_DOT2ACC is V_DOT2 with the destination as third source.
    mnemonic = "V_" + name.upper().replace("DOT2ACC", "DOT2")
    values = {"S0": a, "S1": b, "S2": d, "D0": d, "laneId": i}
    return target.evaluate(mnemonic, wave.record, values)


def is_nan(x):
    return x & 0x7fffffff > 0x7f800000


def same(got, want):
    return got == want or is_nan(got) and is_nan(want)


def programs(target):
    if target.generation not in ("gfx11", "gfx12") or target.wave != 32:
        return
    g = target.generation
    for x in X:
        for y in Y:

            def expect(wave, x=spelled(x, g), y=spelled(y, g)):
                want = {"v16": wave.values("D0", 0),
                        "v17": wave.values("D0", 1)}
                for i in range(len(wave.lanes)):
                    if wave.active(i):
                        want["v16"][i] = half(target, x, wave, i, 0)
                        want["v17"][i] = half(target, y, wave, i, 1)
                return want

            xs, ys = spelled(x, g), spelled(y, g)
            yield Program(
                f"vopd_{x}_{y}",
                f"v_dual_{xs} {operands(x, 'v16', 'v4', 'v8')} :: "
                f"v_dual_{ys} {operands(y, 'v17', 'v5', 'v9')}",
                expect, fmt="F32", same=same)
    # Both halves read before either writes.
    swapped = lambda wave: {
        f"v{16 + i}": [wave.values("D0", 1 - i if wave.active(k) else i)[k]
                       for k in range(len(wave.lanes))] for i in (0, 1)}
    yield Program("vopd_swap",
                  "v_dual_mov_b32 v16, v17 :: v_dual_mov_b32 v17, v16",
                  swapped)
