"""Where the manual's pseudo-code is not the whole truth.

TOLERANCE: instructions whose manual states an error bound.
OVERRIDES: pseudo-code that contradicts the manual's prose or leaves out a
case; the replacement says which.
UNCHECKED: mnemonics checked by other tests, by architecture, and where.
"""

import math
from fractions import Fraction

import pcode
from pcode import Val, as_number


def ulps(count):
    """Within `count` units in the last place of the expected value; results
    that are denormal may be flushed to zero."""

    def allowed(got, expected):
        if pcode.is_nan(got):
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
        if pcode.is_nan(got):
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

OVERRIDES = {}

UNCHECKED = {"rdna3": {}, "rdna4": {}, "cdna": {}}
