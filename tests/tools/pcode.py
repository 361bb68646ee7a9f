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

# Whoever reads the language computes with its values.
from pcode_values import *


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
