"""Inline constants that are floating-point numbers, in packed instructions.

16-bit integers are halves of the f32 constant, as op_sel and op_sel_hi choose
(LLVM's AMDGPUBaseInfo.cpp, getInlineEncodingV216, which says that AMD's
manuals mislead here). An f16 operand reads the f16 constant, and zeros above
it.
"""

from program_cases import Program

F32 = {"1.0": 0x3f800000, "-4.0": 0xc0800000, "0.15915494": 0x3e22f983}
F16 = {"1.0": 0x3c00, "-4.0": 0xc400, "0.15915494": 0x3118}


def halves(x):
    return x & 0xffff, x >> 16 & 0xffff


def signed(h):
    return h - 0x10000 if h & 0x8000 else h


def packed(fn, low, high):
    """`fn` of the halves of S0 and of the constant's halves."""

    def expect(wave):
        want = wave.values("D0")
        for i, word in enumerate(wave.values("S0")):
            if wave.active(i):
                a, b = halves(word)
                want[i] = fn(a, low) & 0xffff | (fn(b, high) & 0xffff) << 16
        return {"v16": want}

    return expect


def programs(target):
    larger = lambda a, b: max(signed(a), signed(b))
    for text, bits in F32.items():
        low, high = halves(bits)
        yield Program(f"pk_max_i16_{text}", f"v_pk_max_i16 v16, v4, {text}",
                      packed(larger, low, high))
        yield Program(f"pk_max_i16_low_{text}",
                      f"v_pk_max_i16 v16, v4, {text} op_sel_hi:[1,0]",
                      packed(larger, low, low))
        yield Program(f"pk_max_i16_high_{text}",
                      f"v_pk_max_i16 v16, v4, {text} op_sel:[0,1]",
                      packed(larger, high, high))
        yield Program(f"pk_mul_lo_u16_{text}",
                      f"v_pk_mul_lo_u16 v16, {text}, v4",
                      packed(lambda a, b: a * b, low, high))
    for text, bits in F16.items():
        yield Program(f"pk_mul_f16_{text}",
                      [f"v_pk_mul_f16 v5, {text}, 1.0 op_sel_hi:[0,0]",
                       "v_mov_b32 v16, v5"],
                      lambda wave, bits=bits: {"v16": [
                          bits | bits << 16 if wave.active(i) else d
                          for i, d in enumerate(wave.values("D0"))]})
