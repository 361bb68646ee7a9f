"""Where the manual's pseudo-code is not the whole truth.

TOLERANCE: instructions whose manual states an error bound.
OVERRIDES: replacements for pseudo-code that contradicts the manual's prose,
leaves out a case, or lost a table on its way out of the PDF. Each says which;
docs/emulator-coverage.md lists them.
UNCHECKED: mnemonics that other tests execute, by architecture, and where.
"""

import math
from fractions import Fraction

import pcode
from pcode import Val, as_int, as_number, is_inf, is_nan, round_to


def ulps(count):
    """Within `count` units in the last place of the expected value; results
    that are denormal may be flushed to zero."""

    def allowed(got, expected):
        if is_nan(got):
            return False
        x, y = as_number(got), as_number(expected)
        _, p, bias = pcode.FORMATS[(expected.t, expected.w)]
        if isinstance(x, float) or isinstance(y, float):
            return x == y
        tiny = Fraction(2)**(1 - bias)
        if abs(y) < tiny and x == 0:
            return True
        e = max(pcode.log2_floor(abs(y)) if y else 1 - bias, 1 - bias)
        return abs(x - y) <= count * Fraction(2)**(e - (p - 1))

    return allowed


def absolute(bound):

    def allowed(got, expected):
        if is_nan(got):
            return False
        x, y = as_number(got), as_number(expected)
        if isinstance(x, float) or isinstance(y, float):
            return x == y
        return abs(x - y) <= bound

    return allowed


TOLERANCE = {
    "V_EXP_F32": ulps(1), "V_LOG_F32": ulps(1), "V_RCP_F32": ulps(1),
    "V_RCP_IFLAG_F32": ulps(1), "V_RSQ_F32": ulps(1), "V_SQRT_F32": ulps(1),
    "V_SIN_F32": absolute(Fraction(1, 2**20)),
    "V_COS_F32": absolute(Fraction(1, 2**20)),
    "V_EXP_F16": ulps(1), "V_LOG_F16": ulps(1), "V_RCP_F16": ulps(1),
    "V_RSQ_F16": ulps(1), "V_SQRT_F16": ulps(1),
    "V_SIN_F16": absolute(Fraction(1, 2**10)),
    "V_COS_F16": absolute(Fraction(1, 2**10)),
    "V_RCP_F64": ulps(2**29), "V_RSQ_F64": ulps(2**29),
    "V_SQRT_F64": ulps(2**29),
}


def read(env, name, t, w, low=0):
    return Val(env.names[name].bits >> low, w, t)


def write(env, value, width=None):
    old = env.names["D0"]
    width = width or value.w
    mask = (1 << width) - 1
    env.names["D0"] = Val(old.bits & ~mask | value.bits & mask,
                          max(old.w or 0, width), "b")


def unary(t, w, function, out_width=None):
    return lambda env: write(env, function(read(env, "S0", t, w)), out_width)


def flushed(v):
    """A denormal as zero of its sign."""
    _, e, m = pcode.fields(v)
    return Val(v.bits & 1 << (v.w - 1), v.w, v.t) if e == 0 and m else v


def rndne(v):
    if is_nan(v):
        return pcode.quieted(v)
    if is_inf(v):
        return v
    return round_to(Fraction(round(as_number(v))), v.t, v.w,
                    pcode.sign_of(v))


def fract(v):
    if is_nan(v) or is_inf(v):
        return pcode.quiet_nan(v.t, v.w)
    x = as_number(v)
    r = round_to(x - math.floor(x), v.t, v.w)
    one = round_to(Fraction(1), v.t, v.w)
    return Val(one.bits - 1, v.w, v.t) if r.bits == one.bits else r


def frexp_exp(v):
    x = as_number(v)
    if isinstance(x, float) or x == 0:
        return Val(0, 32, "i")
    return Val(pcode.log2_floor(abs(x)) + 1, 32, "i")


def ldexp(env, t, w, wn):
    v = read(env, "S0", t, w)
    n = as_int(read(env, "S1", "i", wn))
    if is_nan(v):
        return write(env, pcode.quieted(v))
    if is_inf(v):
        return write(env, v)
    n = min(max(n, -5000), 5000)
    return write(env, round_to(as_number(v) * Fraction(2)**n, t, w,
                               pcode.sign_of(v)))


def turns(function):
    """sin or cos of a number of turns, its whole part taken off exactly."""

    def run(v):
        if is_nan(v) or is_inf(v):
            return pcode.quiet_nan(v.t, v.w)
        x = as_number(v)
        x -= round(x)
        return round_to(function(float(x) * 2 * math.pi), v.t, v.w,
                        pcode.sign_of(v))

    return run


def flushing(function):
    return lambda v: function(flushed(v))


def rcp(v):
    one = round_to(Fraction(1), v.t, v.w)
    return pcode.float_div(one, v)


def rsq(v):
    one = round_to(Fraction(1), v.t, v.w)
    return pcode.float_div(one, pcode.sqrt_exact(v))


def minmax_number(greater):
    """Minimum or maximum of two numbers: a NaN loses against a number, -0 is
    below +0; a signalling NaN becomes quiet (MODE.IEEE is set)."""

    def pick(a, b):
        if pcode.is_snan(a) or pcode.is_snan(b):
            return pcode.quiet_nan(a.t, a.w)
        if is_nan(a):
            return b
        if is_nan(b):
            return a
        key = lambda v: (as_number(v), -pcode.sign_of(v))
        if greater:
            return a if key(a) >= key(b) else b
        return a if key(a) <= key(b) else b

    return pick


def atomic_minmax(w, greater):

    def run(env):
        memory = env.names["MEM"]
        base = 0x1000
        old = Val(memory.load(base, w // 8), w, "f")
        data = read(env, "DATA", "f", w)
        memory.store(base, w // 8, minmax_number(greater)(old, data).bits)
        kept = env.names["RETURN_DATA"]
        env.names["RETURN_DATA"] = Val(
            kept.bits & ~((1 << w) - 1) | old.bits, 128, "b")

    return run


def div_fmas(w, factor, middle):

    def run(env):
        a, b, c = (read(env, s, "f", w) for s in ("S0", "S1", "S2"))
        lane = env.names["laneId"].bits
        if not env.names["VCC"].bits >> lane & 1:
            return write(env, pcode.fma(a, b, c))
        numbers = [as_number(v) for v in (a, b, c)]
        if any(isinstance(x, float) for x in numbers):
            return write(env, pcode.fma(a, b, c))
        up = pcode.fields(c)[1] > middle
        exact = (numbers[0] * numbers[1] + numbers[2]) * Fraction(2)**(
            factor if up else -factor)
        if exact == 0:
            return write(env, pcode.fma(a, b, c))
        # Scaled up, the sum itself is rounded first: it cannot be denormal.
        return write(env, round_to(exact, "f", w))

    return run


def div_fixup_legacy(env):
    """As V_DIV_FIXUP_F16."""
    q, d, n = (read(env, s, "f", 16) for s in ("S0", "S1", "S2"))
    sign = pcode.sign_of(d) ^ pcode.sign_of(n)
    signed = lambda v: Val(v.bits & 0x7fff | sign << 15, 16, "f")
    x, y = as_number(n), as_number(d)
    if is_nan(n) or is_nan(d):
        result = pcode.quieted(n if is_nan(n) else d)
    elif (x == 0 and y == 0) or (is_inf(n) and is_inf(d)):
        result = pcode.quiet_nan("f", 16, 1)
    elif y == 0 or is_inf(n):
        result = signed(pcode.infinity("f", 16, 0))
    elif is_inf(d) or x == 0:
        result = signed(Val(0, 16, "f"))
    else:
        result = signed(q)
    write(env, result)


def two_over_pi(bits):
    """floor(2 / pi * 2**bits), by Machin's formula."""
    scale = 1 << (bits + 80)

    def arctan_inverse(n):
        total, term, k = 0, scale // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (2 * scale << bits) // pi


TWO_OVER_PI = two_over_pi(1201)


def trig_preop(env):
    v = read(env, "S0", "f", 64)
    shift = (env.names["S1"].bits & 31) * 53
    exponent = pcode.fields(v)[1]
    if exponent > 1077:
        shift += exponent - 1077
    # 53 bits from `shift` bits below the point on.
    result = (TWO_OVER_PI << shift >> (1201 - 53)) & ((1 << 53) - 1)
    scale = -53 - shift
    if exponent >= 1968:
        scale += 128
    write(env, round_to(Fraction(result) * Fraction(2)**scale, "f", 64))


def cvt_pk_rtz(env):
    low = toward_zero(read(env, "S0", "f", 32))
    high = toward_zero(read(env, "S1", "f", 32))
    write(env, Val(high.bits << 16 | low.bits, 32, "b"))


def toward_zero(v):
    if is_nan(v):
        return pcode.convert_nan(pcode.quieted(v), "f", 16)
    x = as_number(v)
    if isinstance(x, float):
        return pcode.infinity("f", 16, int(x < 0))
    return round_to(x, "f", 16, pcode.sign_of(v), "rtz")


def cvt_pk_u8(env):
    v = read(env, "S0", "f", 32)
    at = (env.names["S1"].bits & 3) * 8
    x = 0 if is_nan(v) else as_number(v)
    x = 255 if x == math.inf else 0 if x == -math.inf else round(x)
    x = min(max(x, 0), 255)
    base = env.names["S2"].bits & 0xffffffff
    write(env, Val(base & ~(0xff << at) | x << at, 32, "b"))


def div_scale(w, high, low, step):
    """The text leaves D0 alone where nothing is scaled, which must mean the
    unscaled S0; and it asks whether an f32's inverse is a denormal of f64."""

    def denormal(v):
        _, e, m = pcode.fields(v)
        return e == 0 and m != 0

    def run(env):
        s0, s1, s2 = (read(env, s, "f", w) for s in ("S0", "S1", "S2"))
        flag, shift = 0, 0
        one = Fraction(1)
        n, d = as_number(s2), as_number(s1)
        exponent = lambda v: pcode.fields(v)[1]
        finite = not isinstance(n, float) and not isinstance(d, float)
        if d == 0 or n == 0:
            env.names["VCC"] = Val(0, 64)
            return write(env, pcode.quiet_nan("f", w))
        inverse_tiny = quotient_tiny = False
        if not isinstance(d, float):
            # 1 / S1 is looked at in f64, before rounding for f32.
            inverse = one / d
            smallest = Fraction(2)**(-126 if w == 32 else -1022)
            inverse_tiny = abs(inverse) < smallest
            quotient_tiny = finite and denormal(round_to(n / d, "f", w))
        if exponent(s2) - exponent(s1) >= high:
            flag = 1
            shift = step if s0.bits == s1.bits else 0
        elif denormal(s1):
            shift = step
        elif inverse_tiny and quotient_tiny:
            flag = 1
            shift = step if s0.bits == s1.bits else 0
        elif inverse_tiny:
            shift = -step
        elif quotient_tiny:
            flag = 1
            shift = step if s0.bits == s2.bits else 0
        elif exponent(s2) <= low:
            shift = step
        env.names["VCC"] = Val(flag, 64)
        x = as_number(s0)
        if is_nan(s0):
            return write(env, pcode.quieted(s0))
        if isinstance(x, float) or shift == 0:
            return write(env, s0)
        return write(env, round_to(x * Fraction(2)**shift, "f", w,
                                   pcode.sign_of(s0)))

    return run


def dot2_f16(env):
    total = read(env, "S2", "f", 16)
    for low in (0, 16):
        total = pcode.fma(read(env, "S0", "f", 16, low),
                          read(env, "S1", "f", 16, low), total)
    write(env, total)


def cvt_off(v):
    n = v.bits & 15
    return round_to(Fraction(n - 16 if n > 7 else n, 16), "f", 32)


OVERRIDES = {
    # The table is missing: signed sixteenths.
    "V_CVT_OFF_F32_I4": unary("b", 32, cvt_off),
    # floor(x + 0.5) rounds twice and loses the sign of zero.
    "V_RNDNE_F16": unary("f", 16, rndne),
    "V_RNDNE_F32": unary("f", 32, rndne),
    "V_RNDNE_F64": unary("f", 64, rndne),
    "S_RNDNE_F16": unary("f", 16, rndne),
    "S_RNDNE_F32": unary("f", 32, rndne),
    # x - floor(x) rounds to 1 for tiny negative x; the result is below 1
    # (LLVM folds min(x - floor(x), 1 - ulp) into this instruction).
    "V_FRACT_F16": unary("f", 16, fract),
    "V_FRACT_F32": unary("f", 32, fract),
    "V_FRACT_F64": unary("f", 64, fract),
    # The exponent of a denormal or zero is not that of its bit field.
    "V_FREXP_EXP_I16_F16": unary("f", 16, frexp_exp, 16),
    "V_FREXP_EXP_I32_F32": unary("f", 32, frexp_exp, 32),
    "V_FREXP_EXP_I32_F64": unary("f", 64, frexp_exp, 32),
    # A product with 2**n that overflows is not one with infinity.
    "V_LDEXP_F16": lambda env: ldexp(env, "f", 16, 16),
    "V_LDEXP_F32": lambda env: ldexp(env, "f", 32, 32),
    "V_LDEXP_F64": lambda env: ldexp(env, "f", 64, 32),
    # The argument's whole turns go before it is multiplied by 2 pi.
    "V_SIN_F16": unary("f", 16, turns(math.sin)),
    "V_COS_F16": unary("f", 16, turns(math.cos)),
    "V_SIN_F32": unary("f", 32, flushing(turns(math.sin))),
    "V_COS_F32": unary("f", 32, flushing(turns(math.cos))),
    # These f32 instructions read denormals as zero.
    "V_LOG_F32": unary("f", 32, flushing(pcode.FUNCTIONS["log2"])),
    "V_RCP_F32": unary("f", 32, flushing(rcp)),
    "V_RCP_IFLAG_F32": unary("f", 32, flushing(rcp)),
    "V_RSQ_F32": unary("f", 32, flushing(rsq)),
    "V_SQRT_F32": unary("f", 32, flushing(pcode.sqrt_exact)),
    # 2**32 undoes none of V_DIV_SCALE's factors.
    "V_DIV_FMAS_F32": div_fmas(32, 64, 127),
    "V_DIV_FMAS_F64": div_fmas(64, 128, 1023),
    # Where nothing is scaled D0 is S0; 1 / S1 is denormal as an f32.
    "V_DIV_SCALE_F32": div_scale(32, 96, 23, 64),
    "V_DIV_SCALE_F64": div_scale(64, 768, 53, 128),
    # The text takes 16 bits of an f64's -0.0.
    "V_DIV_FIXUP_LEGACY_F16": div_fixup_legacy,
    # The text needs 2 / pi to 1,201 bits.
    "V_TRIG_PREOP_F64": trig_preop,
    # The text switches the rounding mode.
    "V_CVT_PK_RTZ_F16_F32": cvt_pk_rtz,
    "V_CVT_PKRTZ_F16_F32": cvt_pk_rtz,
    "S_CVT_PK_RTZ_F16_F32": cvt_pk_rtz,
    # Each product goes into the sum unrounded, as in V_DOT2_F32_F16.
    "V_DOT2_F16_F16": dot2_f16,
    # f32_to_u8 does not say how it rounds: to nearest even here.
    "V_CVT_PK_U8_F32": cvt_pk_u8,
}
# The plain comparisons of the text do not order NaNs; LLVM selects these for
# atomicrmw fmin and fmax, which are minNum and maxNum.
for prefix in ("DS_{}_F{}", "DS_{}_RTN_F{}", "FLAT_ATOMIC_{}_F{}",
               "GLOBAL_ATOMIC_{}_F{}", "BUFFER_ATOMIC_{}_F{}"):
    for size in (32, 64):
        OVERRIDES[prefix.format("MIN", size)] = atomic_minmax(size, False)
        OVERRIDES[prefix.format("MAX", size)] = atomic_minmax(size, True)


def is_half_load(op):
    return "_D16" in op.name and ("LOAD" in op.name or "READ" in op.name)


def whole_register(program):
    """The text keeps the half that is not loaded; the hardware since gfx90a
    does not (LLVM, D112635), and Tensile counts on zeros."""

    def run(env):
        for name in ("RETURN_DATA", "D0", "VDATA"):
            if name in env.names:
                env.names[name] = Val(0, env.names[name].w, "b")
        program(env)

    return run


CONTROL = "control flow: every program; calls: recursion, function_pointers"
WAITS = "waits: every program"
MATRIX = "matrix: tests/unit/emulator/programs/matrix.hip"
HWREG = "hwreg: tests/tools/mode_check.py"
ABSENT = "not executed by the emulator"
COMMON = {
    "S_GETPC_B64": CONTROL, "S_SETPC_B64": CONTROL, "S_SWAPPC_B64": CONTROL,
    "S_CALL_B64": CONTROL, "S_RFE_B64": ABSENT + ": trap handlers",
    "S_GETREG_B32": HWREG, "S_SETREG_B32": HWREG,
    "S_SETREG_IMM32_B32": HWREG,
    "S_WAITCNT_VSCNT": WAITS, "S_WAITCNT_VMCNT": WAITS,
    "S_WAITCNT_EXPCNT": WAITS, "S_WAITCNT_LGKMCNT": WAITS,
}
UNCHECKED = {
    "rdna3": dict(COMMON),
    "rdna4": dict(COMMON, S_ALLOC_VGPR=ABSENT + ": dynamic registers"),
    "cdna": dict(
        COMMON,
        S_CBRANCH_JOIN=ABSENT, S_CBRANCH_G_FORK=ABSENT,
        S_CBRANCH_I_FORK=ABSENT, S_SETVSKIP=ABSENT,
        S_SET_GPR_IDX_IDX=MATRIX + " at -O0"),
}
