"""The values of AMD's pseudo-code (pcode.py) and what it computes with them:
integers, and floating point as fractions that are rounded once."""

import math
import re
import struct
from fractions import Fraction


class PcodeError(Exception):
    """The text is not in the language, or uses what we do not evaluate."""


# format: (bits, precision with hidden bit, exponent bias)
FORMATS = {
    ("f", 16): (16, 11, 15),
    ("f", 32): (32, 24, 127),
    ("f", 64): (64, 53, 1023),
    ("bf", 16): (16, 8, 127),
    ("fp8", 8): (8, 4, 7),    # e4m3, no infinities
    ("bf8", 8): (8, 3, 15),   # e5m2
}


class Val:
    """Bits with a width and a type: u, i, b, f, bf, fp8, bf8 or r.

    ``r`` is an exact rational that has no encoding: what ``2.0 ** n`` gives
    before it meets a typed value.
    """

    __slots__ = ("bits", "w", "t", "rational")

    def __init__(self, bits, w, t="b", rational=None):
        self.bits = bits & ((1 << w) - 1) if w is not None else bits
        self.w = w
        self.t = t
        self.rational = rational

    def __repr__(self):
        return f"{self.t}{self.w}:{self.bits:#x}"


def as_int(v):
    if v.t == "i" and v.w and v.bits >> (v.w - 1):
        return v.bits - (1 << v.w)
    if v.t in ("f", "bf", "fp8", "bf8"):
        x = as_number(v)
        return int(x)
    return v.bits


def fields(v):
    """(sign, biased exponent, mantissa) of a floating-point value."""
    w, p, _ = FORMATS[(v.t, v.w)]
    mbits = p - 1
    return (v.bits >> (w - 1), (v.bits >> mbits) & ((1 << (w - p)) - 1),
            v.bits & ((1 << mbits) - 1))


def is_nan(v):
    if v.t not in ("f", "bf", "fp8", "bf8"):
        return False
    _, e, m = fields(v)
    w, p, _ = FORMATS[(v.t, v.w)]
    if v.t == "fp8":
        return e == 15 and m == 7
    return e == (1 << (w - p)) - 1 and m != 0


def is_inf(v):
    if v.t not in ("f", "bf", "bf8"):
        return False
    _, e, m = fields(v)
    w, p, _ = FORMATS[(v.t, v.w)]
    return e == (1 << (w - p)) - 1 and m == 0


def is_snan(v):
    if not is_nan(v):
        return False
    p = FORMATS[(v.t, v.w)][1]
    return not (v.bits >> (p - 2)) & 1


def sign_of(v):
    return v.bits >> (v.w - 1)


def as_number(v):
    """Fraction, or float nan/inf."""
    if v.t == "r":
        return v.rational
    if v.t not in ("f", "bf", "fp8", "bf8"):
        return Fraction(as_int(v))
    if is_nan(v):
        return math.nan
    s, e, m = fields(v)
    if is_inf(v):
        return -math.inf if s else math.inf
    _, p, bias = FORMATS[(v.t, v.w)]
    if e == 0:
        x = Fraction(m) * power_of_two(1 - bias - (p - 1))
    else:
        x = Fraction(m | 1 << (p - 1)) * power_of_two(e - bias - (p - 1))
    return -x if s else x


def quiet_nan(t, w, sign=0):
    if t == "fp8":
        return Val(0x7f | sign << 7, 8, t)
    _, p, _ = FORMATS[(t, w)]
    exp = ((1 << (w - p)) - 1) << (p - 1)
    return Val(sign << (w - 1) | exp | 1 << (p - 2), w, t)


def infinity(t, w, sign):
    if t == "fp8":
        return quiet_nan(t, w, sign)
    _, p, _ = FORMATS[(t, w)]
    return Val(sign << (w - 1) | ((1 << (w - p)) - 1) << (p - 1), w, t)


POWERS = {}


def power_of_two(e):
    value = POWERS.get(e)
    if value is None:
        value = POWERS[e] = Fraction(2)**e
    return value


def log2_floor(x):
    """floor(log2(x)) of a positive fraction."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if power_of_two(e) > x:
        e -= 1
    return e


def round_to(x, t, w, zero_sign=0, mode="rne"):
    """The value of format (t, w) for a fraction, or float nan/inf."""
    if isinstance(x, float):
        if math.isnan(x):
            return quiet_nan(t, w)
        if math.isinf(x):
            return infinity(t, w, int(x < 0))
        x = Fraction(x)
    _, p, bias = FORMATS[(t, w)]
    if x == 0:
        return Val(zero_sign << (w - 1), w, t)
    sign = int(x < 0)
    x = abs(x)
    e = max(log2_floor(x), 1 - bias)
    ulp = power_of_two(e - (p - 1))
    q = x / ulp
    n = q.numerator // q.denominator
    rest = q - n
    if mode == "rne":
        if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1):
            n += 1
    elif (mode == "up" and not sign) or (mode == "down" and sign):
        n += rest > 0
    if n >> p:
        n >>= 1
        e += 1
    max_e = (1 << (w - p)) - 2 - bias
    if t == "fp8":
        max_e = 8
    if e > max_e or (t == "fp8" and e == 8 and n == 15):
        toward_zero = mode == "rtz" or (mode == "up" and sign) or (
            mode == "down" and not sign)
        if toward_zero:
            return Val(infinity(t, w, sign).bits - 1, w, t)
        return infinity(t, w, sign)
    exp = 0 if not n >> (p - 1) else e + bias
    mant = n & ((1 << (p - 1)) - 1)
    return Val(sign << (w - 1) | exp << (p - 1) | mant, w, t)


def convert_nan(v, t, w):
    """A NaN in another format, with as much of its payload as fits: the
    manual asks isSignalNAN(64'F(S0.f32))."""
    p, q = FORMATS[(v.t, v.w)][1], FORMATS[(t, w)][1]
    payload = v.bits & ((1 << (p - 1)) - 1)
    payload = payload << (q - p) if q > p else payload >> (p - q) or 1
    nan = quiet_nan(t, w, sign_of(v))
    return Val(nan.bits & ~(1 << (q - 2)) | payload, w, t)


def to_float(v, t, w):
    """Conversion of any value to a floating-point format, one rounding."""
    if v.t == t and v.w == w:
        return v
    if v.t in ("f", "bf", "fp8", "bf8"):
        if is_nan(v):
            return convert_nan(v, t, w)
        return round_to(as_number(v), t, w, sign_of(v))
    return round_to(as_number(v), t, w)


def is_float(v):
    return v.t in ("f", "bf", "fp8", "bf8", "r")


# --- Arithmetic -------------------------------------------------------------


def float_result(a, b):
    """The format of an operation on two values, the wider float."""
    best = None
    for v in (a, b):
        if v.t in ("f", "bf") and (best is None or v.w > best.w):
            best = v
    if best is None:
        raise PcodeError("arithmetic on exact values only")
    return best.t, best.w


def float_add(a, b, negate=False):
    t, w = float_result(a, b)
    if is_nan(a) or is_nan(b):
        return quiet_nan(t, w)
    x, y = as_number(a), as_number(b)
    sb = sign_of(b) if b.t != "r" else 0
    if negate:
        y, sb = -y, 1 - sb
    if isinstance(x, float) or isinstance(y, float):
        return round_to(float(x) + float(y) if isinstance(x, float) and
                        isinstance(y, float) else
                        (x if isinstance(x, float) else y), t, w)
    zero = 1 if (x == 0 and y == 0 and sign_of(a) and sb) else 0
    return round_to(x + y, t, w, zero)


def float_mul(a, b):
    t, w = float_result(a, b)
    if is_nan(a) or is_nan(b):
        return quiet_nan(t, w)
    x, y = as_number(a), as_number(b)
    s = (sign_of(a) if a.t != "r" else int(x < 0)) ^ (
        sign_of(b) if b.t != "r" else int(y < 0))
    if isinstance(x, float) or isinstance(y, float):
        if x == 0 or y == 0:
            return quiet_nan(t, w)
        return infinity(t, w, s)
    return round_to(x * y, t, w, s)


def float_div(a, b):
    t, w = float_result(a, b)
    if is_nan(a) or is_nan(b):
        return quiet_nan(t, w)
    x, y = as_number(a), as_number(b)
    s = sign_of(a) ^ sign_of(b)
    if isinstance(x, float):
        return quiet_nan(t, w) if isinstance(y, float) else infinity(t, w, s)
    if isinstance(y, float):
        return Val(s << (w - 1), w, t)
    if y == 0:
        return quiet_nan(t, w) if x == 0 else infinity(t, w, s)
    return round_to(x / y, t, w, s)


def fma(a, b, c):
    t, w = float_result(float_result_val(a, b), c)
    if is_nan(a) or is_nan(b) or is_nan(c):
        return quiet_nan(t, w)
    x, y, z = as_number(a), as_number(b), as_number(c)
    s = sign_of(a) ^ sign_of(b)
    if isinstance(x, float) or isinstance(y, float):
        if x == 0 or y == 0:
            return quiet_nan(t, w)
        if isinstance(z, float) and sign_of(c) != s:
            return quiet_nan(t, w)
        return infinity(t, w, s)
    if isinstance(z, float):
        return round_to(z, t, w)
    zero = 0
    if x * y == 0 and z == 0:
        zero = s & sign_of(c)
    return round_to(x * y + z, t, w, zero)


def float_result_val(a, b):
    t, w = float_result(a, b)
    return Val(0, w, t)


def sqrt_exact(v):
    if is_nan(v):
        return quiet_nan(v.t, v.w)
    x = as_number(v)
    if isinstance(x, float):
        return v if x > 0 else quiet_nan(v.t, v.w)
    if x == 0:
        return v
    if x < 0:
        return quiet_nan(v.t, v.w)
    # 200 bits behind the point, with a sticky bit, decide every rounding.
    shift = 400 + 2 * 1100
    n = (x.numerator << shift) // x.denominator
    r = math.isqrt(n)
    root = Fraction(2 * r + (r * r != n or
                             (x.numerator << shift) % x.denominator != 0),
                    2) / Fraction(2)**(shift // 2)
    return round_to(root, v.t, v.w)


def int_binary(op, a, b):
    signed = a.t == "i" and b.t in ("i", "b") or b.t == "i" and a.t == "b"
    w = max(a.w, b.w)
    if op in "+-*":
        w = max(w, 32)
    t = "i" if signed else "u"
    x, y = as_int(a), as_int(b)
    if op == "+":
        return Val(x + y, w, t)
    if op == "-":
        return Val(x - y, w, t)
    if op == "*":
        return Val(x * y, w, t)
    if op == "/":
        return Val(int(Fraction(x, y)), w, t)
    if op == "%":
        return Val(x % y, w, t)
    if op == "&":
        return Val(x & y, w, t)
    if op == "|":
        return Val(x | y, w, t)
    if op == "^":
        return Val(x ^ y, w, t)
    raise PcodeError(f"operator {op}")


def binary(op, a, b):
    if op == "**":
        base, exp = as_number(a), as_number(b)
        if exp.denominator != 1:
            raise PcodeError("power of a fraction")
        # Beyond 2**±5000 every format has long overflowed or vanished.
        exp = min(max(int(exp), -5000), 5000)
        return Val(0, None, "r", Fraction(base)**exp)
    if op in ("==", "!=", "<>", "<", ">", "<=", ">="):
        return Val(int(compare(op, a, b)), 1, "u")
    if op == "&&":
        return Val(int(truth(a) and truth(b)), 1, "u")
    if op == "||":
        return Val(int(truth(a) or truth(b)), 1, "u")
    if op in ("<<", ">>"):
        n = b.bits if b.t != "i" else as_int(b)
        w = max(a.w, 32) if op == "<<" else a.w
        if op == "<<":
            return Val(as_int(a) << n, w, a.t)
        return Val(as_int(a) >> n, w, a.t)
    if is_float(a) or is_float(b):
        if op == "+":
            return float_add(a, b)
        if op == "-":
            return float_add(a, b, True)
        if op == "*":
            return float_mul(a, b)
        if op == "/":
            return float_div(a, b)
        raise PcodeError(f"operator {op} on floating point")
    return int_binary(op, a, b)


def compare(op, a, b):
    if b.t == "denorm":
        _, e, m = fields(a)
        return (e == 0 and m != 0) == (op == "==")
    if is_float(a) or is_float(b):
        unordered = is_nan(a) or is_nan(b)
        if unordered:
            return op == "!="
        x, y = as_number(a), as_number(b)
    else:
        w = max(a.w, b.w)
        if a.t == "i" and b.t == "u" and b.w >= a.w:
            x, y = as_int(a) & ((1 << w) - 1), as_int(b)
        elif b.t == "i" and a.t == "u" and a.w >= b.w and as_int(b) < 0:
            x, y = as_int(a), as_int(b) & ((1 << w) - 1)
        else:
            x, y = as_int(a), as_int(b)
    return {"==": x == y, "!=": x != y, "<>": x != y, "<": x < y, ">": x > y,
            "<=": x <= y, ">=": x >= y}[op]


def truth(v):
    if is_float(v):
        return as_number(v) != 0
    return v.bits != 0


# --- Conversions and functions ----------------------------------------------


def float_to_int(v, w, signed):
    """Toward zero, saturating; NaN is 0 (manual, V_CVT_*)."""
    t = "i" if signed else "u"
    if is_nan(v):
        return Val(0, w, t)
    x = as_number(v)
    low = -(1 << (w - 1)) if signed else 0
    high = (1 << (w - 1)) - 1 if signed else (1 << w) - 1
    if isinstance(x, float):
        return Val(high if x > 0 else low, w, t)
    return Val(min(max(math.trunc(x), low), high), w, t)


def to_norm(v, signed):
    """f16_to_snorm and its kin: scaled, rounded to nearest even."""
    t = "i" if signed else "u"
    if is_nan(v):
        return Val(0, 16, t)
    x = as_number(v)
    low = -1 if signed else 0
    x = Fraction(min(max(x, low), 1))
    scaled = x * (32767 if signed else 65535)
    return Val(round(scaled), 16, t)


def to_integral(v, how):
    if is_nan(v):
        return quiet_nan(v.t, v.w, sign_of(v))
    x = as_number(v)
    if isinstance(x, float):
        return v
    return round_to(Fraction(how(x)), v.t, v.w, sign_of(v))


def exponent_field(v):
    return Val(fields(v)[1], 32, "i")


def mantissa(v):
    """The significand in [0.5, 1), with the sign (V_FREXP_MANT)."""
    x = as_number(v)
    if x == 0:
        return v
    e = log2_floor(abs(x)) + 1
    return round_to(x / Fraction(2)**e, v.t, v.w)


def fract(v):
    if is_nan(v) or is_inf(v):
        return quiet_nan(v.t, v.w)
    x = as_number(v)
    return round_to(x - math.floor(x), v.t, v.w)


def signext_from_bit(v, count):
    n = as_int(count)
    bits = v.bits & ((1 << n) - 1)
    if n and bits >> (n - 1):
        bits -= 1 << n
    return Val(bits, v.w, "i")


def transcendental(function):

    def call(v, *rest):
        if is_nan(v) or any(is_nan(r) for r in rest):
            return quiet_nan(v.t, v.w)
        args = [float(as_number(x)) for x in (v,) + rest]
        try:
            x = function(*args)
        except OverflowError:
            x = math.inf
        except (ValueError, ZeroDivisionError):
            x = math.nan
        return round_to(x, v.t, v.w, sign_of(v))

    return call


def safe_log2(x):
    if x == 0:
        return -math.inf
    if x == math.inf:
        return math.inf
    return math.log2(x)


def quieted(v):
    if not is_nan(v):
        return v
    p = FORMATS[(v.t, v.w)][1]
    return Val(v.bits | 1 << (p - 2), v.w, v.t)


def bit(x):
    return Val(int(x), 1, "u")


FUNCTIONS = {
    "isNAN": lambda v: bit(is_nan(v)),
    "isQuietNAN": lambda v: bit(is_nan(v) and not is_snan(v)),
    "isSignalNAN": lambda v: bit(is_snan(v)),
    "cvtToQuietNAN": quieted,
    "sign": lambda v: bit(sign_of(v)),
    "exponent": exponent_field,
    "mantissa": mantissa,
    "abs": lambda v: Val(v.bits & ~(1 << (v.w - 1)), v.w, v.t)
    if is_float(v) else Val(abs(as_int(v)), v.w, v.t),
    "fma": fma,
    "trunc": lambda v: to_integral(v, math.trunc),
    "floor": lambda v: to_integral(v, math.floor),
    "fract": fract,
    "sqrt": sqrt_exact,
    "isEven": lambda v: bit(is_float(v) and not is_nan(v) and not is_inf(v) and
                            as_number(v) % 2 == 0),
    "pow": transcendental(lambda a, b: a**b),
    "log2": transcendental(safe_log2),
    "sin": transcendental(math.sin),
    "cos": transcendental(math.cos),
    "ldexp": lambda v, n: float_mul(
        v, binary("**", Val(2, 32, "i"), n)),
    "signext": lambda v: Val(as_int(Val(v.bits, v.w, "i")), 64, "i"),
    "signext_from_bit": signext_from_bit,
    "countbits": lambda v: Val(bin(v.bits).count("1"), 32, "u"),
    "count_ones": lambda v: Val(bin(v.bits).count("1"), 32, "u"),
    "bitCount": lambda v: Val(bin(v.bits).count("1"), 32, "u"),
    "reverse_bits": lambda v: Val(
        int(format(v.bits, f"0{v.w}b")[::-1], 2), v.w, v.t),
    "s_ff1_i32_b32": lambda v: Val(
        (v.bits & -v.bits).bit_length() - 1, 32, "i"),
    "s_ff1_i32_b64": lambda v: Val(
        (v.bits & -v.bits).bit_length() - 1, 32, "i"),
    "f16_to_snorm": lambda v: to_norm(v, True),
    "f16_to_unorm": lambda v: to_norm(v, False),
    "f32_to_snorm": lambda v: to_norm(v, True),
    "f32_to_unorm": lambda v: to_norm(v, False),
    "u32_to_u16": lambda v: Val(min(v.bits, 0xffff), 16, "u"),
    "i32_to_i16": lambda v: Val(min(max(as_int(v), -0x8000), 0x7fff), 16,
                                "i"),
    "v_cvt_i16_f32": lambda v: float_to_int(v, 16, True),
    "v_cvt_u16_f32": lambda v: float_to_int(v, 16, False),
    "nop": lambda: Val(0, 1),
    "s_nop": lambda *_: Val(0, 1),
    "MIN": lambda a, b: a if as_int(a) < as_int(b) else b,
}
KIND = {"f16": ("f", 16), "f32": ("f", 32), "f64": ("f", 64),
        "bf16": ("bf", 16), "fp8": ("fp8", 8), "bf8": ("bf8", 8)}
for source in ("f16", "f32", "f64", "i16", "u16", "i32", "u32", "u8", "u4",
               "i8", "i4", "bf16", "fp8", "bf8"):
    for target in ("f16", "f32", "f64", "bf16", "i8", "u8", "i16", "u16",
                   "i32", "u32"):
        name = f"{source}_to_{target}"
        if source == target or name in FUNCTIONS:
            continue
        if target in KIND:
            FUNCTIONS[name] = (lambda v, k=KIND[target]: to_float(v, *k))
        elif source in KIND:
            FUNCTIONS[name] = (lambda v, w=int(target[1:]), s=target[0] == "i":
                               float_to_int(v, w, s))
        else:
            FUNCTIONS[name] = (lambda v, w=int(target[1:]), t=target[0]:
                               Val(as_int(v), w, t))


def type_of(name):
    """("f", 32) of "f32"; None if it names no type."""
    m = re.fullmatch(r"(bf|fp|f|u|i|b)(\d+)", name)
    if not m:
        return None
    kind, w = m.group(1), int(m.group(2))
    if kind == "fp" or (kind == "bf" and w == 8):
        return (f"{kind}{w}", w)
    return (kind, w)
