"""AMD's instruction pseudo-code, parsed and evaluated.

The instruction set manuals describe each instruction in a small language:
typed bit slices (``S0[15 : 0].f16``), sized literals (``1'1U``), ``if … then …
endif``, ``for i in 0 : 31 do … endfor``, ``lambda``. This module turns that
text into Python closures over exact arithmetic: integers are Python integers,
floating point is computed as fractions and rounded once. It shares nothing
with the emulator, so that the two can check each other.

    program = compile_pcode("D0.f32 = fma(S0.f32, S1.f32, S2.f32)")
    env = Env({"S0": Val(0x3f800000, 32), ...})
    program(env)
    env.names["D0"].bits
"""

import math
import re
import struct
from fractions import Fraction


class PcodeError(Exception):
    """The text is not in the language, or uses what we do not evaluate."""


# --- Values -----------------------------------------------------------------

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


# --- Text -------------------------------------------------------------------

TOKEN = re.compile(
    r"\s*(?:(?P<cast>\d+'(?:BF|[UIFB])(?![0-9A-Za-z_]))"
    r"|(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)[UF]?)"
    r"|(?P<hex>0x[0-9a-fA-F]+(?:ULL|LL|U)?)"
    r"|(?P<float>\d+\.\d+F?)"
    r"|(?P<int>\d+(?:ULL|LL|U|F)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op>\*\*|\+:|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\*=|\|=|&=|\^="
    r"|[-+*/%&|^~!<>=?:;,.(){}\[\]]))")


def tokenize(text):
    text = re.sub(r"//[^\n]*", "", text)
    tokens = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise PcodeError(f"unexpected text: {text[at:at + 30]!r}")
        tokens.append((m.lastgroup, m.group(m.lastgroup)))
        at = m.end()
    tokens.append(("end", ""))
    return tokens


LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!=", "<>"],
          ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"],
          ["**"]]


class Env:
    """What a program reads and writes."""

    def __init__(self, names, call=None):
        self.names = names
        self.call = call  # runs another instruction by name: v_min_f32(…)
        self.lambdas = {}


def up_slice(first, count):
    """[first +: count] as [first + count - 1 : first]."""
    return (":",
            lambda env: Val(as_int(first(env)) + as_int(count(env)) - 1, 32),
            first)


class Return(Exception):

    def __init__(self, value):
        super().__init__()
        self.value = value


class Break(Exception):
    pass


class Parser:

    def __init__(self, text):
        self.tokens = tokenize(text)
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)][1]

    def kind(self):
        return self.tokens[self.at][0]

    def take(self, expected=None):
        kind, text = self.tokens[self.at]
        if expected is not None and text != expected:
            raise PcodeError(f"expected {expected!r}, found {text!r}")
        self.at += 1
        return text

    # Statements.

    def block(self, ends):
        steps = []
        while self.peek() not in ends:
            if self.peek() == ";":
                self.take()
                continue
            if self.kind() == "end":
                raise PcodeError(f"text ends before {ends}")
            steps.append(self.statement())
            if self.peek() not in ends:
                self.take(";")
        return steps

    def statement(self):
        word = self.peek()
        if word == "declare":
            return self.declare()
        if word == "if":
            return self.conditional()
        if word == "for":
            return self.loop()
        if word == "break":
            self.take()

            def run_break(env):
                raise Break()

            return run_break
        if word == "return":
            self.take()
            value = self.expression()

            def run_return(env):
                raise Return(value(env))

            return run_return
        return self.assignment()

    def declare(self):
        self.take("declare")
        name = self.take()
        self.take(":")
        cast = self.take()
        width, kind = cast.split("'")
        width, kind = int(width), kind.lower()
        count = None
        if self.peek() == "[":
            self.take()
            count = int(self.take())
            self.take("]")

        def run(env):
            # Names that the instruction binds from outside stay.
            if isinstance(env.names.get(name), list):
                return
            if count is None:
                env.names[name] = Val(0, width, kind)
            else:
                env.names[name] = [Val(0, width, kind) for _ in range(count)]

        return run

    def conditional(self):
        arms = []
        otherwise = []
        self.take("if")
        while True:
            condition = self.expression()
            self.take("then")
            arms.append((condition, self.block(("elsif", "else", "endif"))))
            word = self.take()
            if word == "elsif":
                continue
            if word == "else":
                otherwise = self.block(("endif",))
                self.take("endif")
            break

        def run(env):
            for condition, steps in arms:
                if truth(condition(env)):
                    for step in steps:
                        step(env)
                    return
            for step in otherwise:
                step(env)

        return run

    def loop(self):
        self.take("for")
        name = self.take()
        self.take("in")
        first = self.expression()
        self.take(":")
        last = self.expression()
        self.take("do")
        steps = self.block(("endfor",))
        self.take("endfor")

        def run(env):
            low, high = first(env), last(env)
            t = "u" if low.t == "u" else "i"
            try:
                for i in range(as_int(low), as_int(high) + 1):
                    env.names[name] = Val(i, 32, t)
                    for step in steps:
                        step(env)
            except Break:
                pass

        return run

    def lambda_definition(self, name):
        self.take("lambda")
        self.take("(")
        params = []
        while self.peek() != ")":
            params.append(self.take())
            if self.peek() == ",":
                self.take()
        self.take(")")
        self.take("(")
        if self.peek() in ("if", "declare", "for"):
            steps = self.block((")",))
        else:
            value = self.expression()

            def only(env):
                raise Return(value(env))

            steps = [only]
            # A comment may have taken the separator with it.
        self.take(")")

        def define(env):

            def call(*args):
                saved = env.names
                env.names = dict(saved)
                env.names.update(zip(params, args))
                try:
                    for step in steps:
                        step(env)
                except Return as result:
                    return result.value
                finally:
                    env.names = saved
                raise PcodeError("lambda without a value")

            env.lambdas[name] = call

        return define

    def assignment(self):
        if self.peek() == "{":
            return self.concat_assignment()
        start = self.at
        name = self.take()
        if self.peek() == "(":  # a call for its effect: nop, s_nop
            self.at = start
            value = self.expression()
            return lambda env: value(env)
        if self.peek() == "=" and self.peek(1) == "lambda":
            self.take()
            return self.lambda_definition(name)
        chain = self.postfix()
        op = self.take()
        if op not in ("=", "+=", "-=", "*=", "|=", "&=", "^="):
            raise PcodeError(f"expected an assignment, found {op!r}")
        if op == "=" and self.kind() == "name":
            # EXEC.u64[laneId] = D0.u64[laneId] = …
            start = self.at
            second = self.take()
            second_chain = self.postfix()
            if self.peek() == "=":
                self.take()
                value = self.expression()

                def both(env):
                    result = value(env)
                    store(env, second, second_chain, result)
                    store(env, name, chain, result)

                return both
            self.at = start
        value = self.expression()
        if op == "=":
            return lambda env: store(env, name, chain, value(env))
        read = lambda env: load(env, name, chain)
        return lambda env: store(
            env, name, chain, binary(op[0], read(env), value(env)))

    def concat_assignment(self):
        self.take("{")
        targets = []
        while self.peek() != "}":
            name = self.take()
            targets.append((name, self.postfix()))
            if self.peek() == ",":
                self.take()
        self.take("}")
        self.take("=")
        value = self.expression()

        def run(env):
            bits = value(env).bits
            for name, chain in reversed(targets):
                t, w = type_of(chain[-1][1])
                store(env, name, chain, Val(bits, w, t))
                bits >>= w

        return run

    def postfix(self):
        chain = []
        while self.peek() in (".", "["):
            if self.take() == ".":
                chain.append((".", self.take()))
                continue
            high = self.expression()
            if self.peek() == "+:":  # [first +: count]
                self.take()
                chain.append(up_slice(high, self.expression()))
            elif self.peek() == ":":
                self.take()
                low = self.expression()
                chain.append((":", high, low))
            else:
                chain.append(("[", high))
            self.take("]")
        return chain

    # Expressions.

    def expression(self):
        condition = self.level(0)
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.expression()
        self.take(":")
        no = self.expression()
        return lambda env: yes(env) if truth(condition(env)) else no(env)

    def level(self, n):
        if n == len(LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while self.peek() in LEVELS[n] and self.kind() == "op":
            op = self.take()
            right = self.level(n + 1)
            left = self.apply(op, left, right)
        return left

    @staticmethod
    def apply(op, left, right):
        if op == "&&":
            return lambda env: bit(truth(left(env)) and truth(right(env)))
        if op == "||":
            return lambda env: bit(truth(left(env)) or truth(right(env)))
        return lambda env: binary(op, left(env), right(env))

    def unary(self):
        op = self.peek()
        if self.kind() == "op" and op in ("-", "+", "!", "~"):
            self.take()
            value = self.unary()
            if op == "+":
                return value
            if op == "!":
                return lambda env: bit(not truth(value(env)))
            if op == "~":
                return lambda env: invert(value(env))
            return lambda env: negate(value(env))
        return self.suffixed(self.primary())

    def suffixed(self, value):
        chain = self.postfix()
        if not chain:
            return value
        return lambda env: select(env, value(env), chain)

    def primary(self):
        kind, text = self.tokens[self.at]
        if kind == "cast":
            self.take()
            self.take("(")
            literal = self.kind() == "hex" or self.peek() == "{"
            value = self.expression()
            self.take(")")
            width, to = text.split("'")
            return make_cast(int(width), to, value, literal)
        if kind in ("sized", "hex", "float", "int"):
            self.take()
            constant = literal_value(kind, text)
            return lambda env: constant
        if text == "(":
            self.take()
            value = self.expression()
            self.take(")")
            return value
        if text == "{":
            self.take()
            parts = [self.expression()]
            while self.peek() == ",":
                self.take()
                parts.append(self.expression())
            self.take("}")

            def concat(env):
                bits, width = 0, 0
                for part in parts:
                    v = part(env)
                    bits = bits << v.w | v.bits
                    width += v.w
                return Val(bits, width, "u")

            return concat
        if kind == "name":
            self.take()
            if self.peek() == "(":
                return self.call(text)
            if text in CONSTANTS:
                constant = CONSTANTS[text]
                return lambda env: constant
            chain = self.postfix()
            return lambda env: load(env, text, chain)
        raise PcodeError(f"unexpected {text!r}")

    def call(self, name):
        self.take("(")
        args = []
        while self.peek() != ")":
            args.append(self.expression())
            if self.peek() == ",":
                self.take()
        self.take(")")

        def run(env):
            values = [a(env) for a in args]
            if name in env.lambdas:
                return env.lambdas[name](*values)
            if name in FUNCTIONS:
                return FUNCTIONS[name](*values)
            if env.call is not None and name.startswith(("v_", "s_")):
                return env.call(name, values)
            raise PcodeError(f"function {name}")

        return run


CONSTANTS = {
    "INF": infinity("f", 64, 0),
    "NAN": quiet_nan("f", 64),
    "PI": round_to(Fraction(math.pi), "f", 64),
    "DENORM": Val(0, 64, "denorm"),
    "MAX_FLOAT_F32": Val(0x7f7fffff, 32, "f"),
    "OVERFLOW_F32": infinity("f", 32, 0),
    "UNDERFLOW_F32": Val(0, 32, "f"),
    "OVERFLOW_F64": infinity("f", 64, 0),
    "UNDERFLOW_F64": Val(0, 64, "f"),
}


def literal_value(kind, text):
    if kind == "sized":
        width, digits = text.split("'")
        width = int(width)
        if "." in digits:
            return round_to(Fraction(digits.rstrip("F")), "f", width)
        t = "u" if digits.endswith("U") else "i"
        return Val(int(digits.rstrip("UF"), 0), width, t)
    if kind == "float" or text.endswith("F") and kind == "int":
        width = 32 if text.endswith("F") else 64
        return round_to(Fraction(text.rstrip("F")), "f", width)
    suffix = re.search(r"(ULL|LL|U)?$", text).group(0)
    number = int(text[:len(text) - len(suffix)], 0)
    width = 64 if "LL" in suffix or number >> 32 else 32
    return Val(number, width, "u" if "U" in suffix else "i")


def make_cast(width, to, value, literal):
    if to in ("F", "BF"):
        t = "f" if to == "F" else "bf"
        if literal:  # 32'F(0xffc00000): these bits
            return lambda env: Val(value(env).bits, width, t)
        return lambda env: to_float(value(env), t, width)
    t = to.lower()

    def cast(env):
        v = value(env)
        if is_float(v):
            return Val(as_int(v), width, t)
        return Val(as_int(v), width, t)

    return cast


def invert(v):
    return Val(~v.bits, v.w, v.t)


def negate(v):
    if v.t == "r":
        return Val(0, None, "r", -v.rational)
    if is_float(v):
        return Val(v.bits ^ 1 << (v.w - 1), v.w, v.t)
    return Val(-as_int(v), max(v.w, 32), "i")


# --- Names ------------------------------------------------------------------


def retype(v, name):
    """v.f32 and the like: the same bits read as another type."""
    kind = type_of(name)
    if kind is None:
        raise PcodeError(f"member .{name}")
    if v.t == "denorm":
        return v
    t, w = kind
    if v in (CONSTANTS["INF"], CONSTANTS["NAN"]) or (
            v.t == "f" and v.w == 64 and t == "f" and w < 64 and
            (is_inf(v) or is_nan(v))):
        return to_float(v, t, w)  # INF.f32 is a constant of that format
    if v.t == "i" and t == "i" and w > v.w:
        return Val(as_int(v), w, t)
    return Val(v.bits, w, t)


def select(env, v, chain):
    for link in chain:
        if isinstance(v, dict):  # a register file: VGPR[lane][register]
            v = v[as_int(link[1](env))]
        elif isinstance(v, list):
            v = v[as_int(link[1](env))]
        elif link[0] == ".":
            v = retype(v, link[1])
        elif link[0] == "[":
            v = Val(v.bits >> as_int(link[1](env)), 1, "u")
        else:
            high, low = as_int(link[1](env)), as_int(link[2](env))
            if high < low:  # [0 : 31]: in reverse
                v = FUNCTIONS["reverse_bits"](
                    Val(v.bits >> high, low - high + 1, "u"))
                continue
            v = Val(v.bits >> low, high - low + 1,
                    "u" if v.t in ("b", "i", "f") else v.t)
    return v


def load(env, name, chain):
    if name == "MEM":
        t, w = type_of(chain[1][1]) if len(chain) > 1 else ("b", 32)
        address = as_int(chain[0][1](env))
        v = Val(env.names["MEM"].load(address, w // 8), w, t)
        return select(env, v, chain[2:])
    if name not in env.names:
        raise PcodeError(f"name {name}")
    v = env.names[name]
    if callable(v):
        v = v()
    if isinstance(v, dict) and chain and chain[0][0] == ".":
        # WAVE_MODE.IEEE and other named bits.
        return select(env, v[chain[0][1]], chain[1:])
    return select(env, v, chain)


def store(env, name, chain, value):
    if name == "MEM":
        t, w = type_of(chain[1][1]) if len(chain) > 1 else ("b", 32)
        address = as_int(chain[0][1](env))
        if is_float(value) and t == "f":
            value = to_float(value, t, w)
        env.names["MEM"].store(address, w // 8, value.bits)
        return
    target = env.names.get(name)
    if isinstance(target, dict) and chain and chain[0][0] == ".":
        target[chain[0][1]] = value  # a named bit: TRAPSTS.INVALID
        return
    if isinstance(target, (list, dict)):
        # The last container index, then bits of the element.
        container, links = target, list(chain)
        while True:
            key = as_int(links.pop(0)[1](env))
            if isinstance(container[key], (list, dict)):
                container = container[key]
                continue
            break
        container[key] = merge(env, container[key], links, value, True)
        return
    if target is None:
        if not chain:
            env.names[name] = value
            return
        target = Val(0, 0, "b")
        env.names[name] = merge(env, target, chain, value, True)
        return
    declared = name in ("D0", "D1", "VCC", "EXEC", "SCC", "RETURN_DATA")
    env.names[name] = merge(env, target, chain, value, not declared)


def merge(env, old, chain, value, take_type):
    """`old` with the part that `chain` names replaced by `value`."""
    low, width, kind = 0, None, None
    view_width = old.w
    for link in chain:
        if link[0] == ".":
            kind = type_of(link[1])
            if kind is None:
                raise PcodeError(f"member .{link[1]}")
            if width is None:
                view_width = kind[1]
            else:
                width = min(width, kind[1])
        elif link[0] == "[":
            low += as_int(link[1](env))
            width = 1
            kind = ("u", 1)
        else:
            high, base = as_int(link[1](env)), as_int(link[2](env))
            low += base
            width = high - base + 1
            kind = None
    if width is None:
        width = view_width or value.w
        if not chain and old.w:
            width = old.w
            kind = (old.t, old.w) if take_type else None
    if kind and kind[0] in ("f", "bf", "fp8", "bf8"):
        if is_float(value):
            value = to_float(value, *kind)
        elif value.t != "b" and not (value.w == kind[1]):
            value = to_float(value, *kind)
    elif value.t == "r":
        raise PcodeError("an exact value stored as bits")
    bits = value.bits
    if kind and kind[0] in ("i", "u") and value.t == "i":
        bits = as_int(value)
    mask = ((1 << width) - 1) << low
    total = max(old.w, low + width)
    t = old.t
    if take_type and chain and chain[0][0] == ".":
        t = type_of(chain[0][1])[0]
    elif take_type and not chain:
        t = value.t
        if t in ("f", "bf") and kind is None:
            total = value.w
    return Val((old.bits & ~mask) | (bits << low & mask), total, t)


def compile_pcode(text):
    """A function of an Env. Raises PcodeError if the text does not parse."""
    parser = Parser(text)
    steps = parser.block(("",))

    def run(env):
        for step in steps:
            step(env)

    return run


def float_from(x, t="f", w=32):
    return round_to(x if isinstance(x, float) and not math.isfinite(x) else
                    Fraction(x), t, w)


def f32_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]
