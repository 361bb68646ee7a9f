"""CDNA's instructions on whole waves: what instruction_check.py's lane by lane
form cannot express.

Each module of cases gives objects with a mnemonic (`name`), assembly
(`text`), `prepare(state)`, which sets what matters of a random state, and
`expect(state)`, which turns the state before into the state after. All of the
state is compared. `nan` names the float format of results whose NaN payload
the manuals leave open.
"""

import random
import re

import cdna_arith
import cdna_convert
import cdna_matrix
import cdna_memory
import pcode
import wave_state
from hip_ctypes import HipError
from pcode import Val
from wave_state import Runner, State, random_state


def all_cases(checker):
    yield from cdna_matrix.cases(checker.t.name)
    yield from cdna_convert.cases(checker)
    yield from cdna_memory.cases(checker.t.name)
    yield from cdna_arith.cases(checker)


def source_of(case):
    """Where the expectation is written, if it is not the pseudo-code's."""
    module = getattr(case, "expect_fn", None) or type(case)
    module = module.__module__
    return f"{module}: {case.name}" if module in (
        "cdna_matrix", "cdna_memory") else ""


def takes(name):
    """Instructions that only the cases here express."""
    return cdna_convert.PATTERN.match(name) or re.match(
        r"V_(S?MFMA|SMFMAC|ACCVGPR|CVT_PKACCUM)|V_M(AD|AC)\w*_F16", name)


def refusals(target, cases):
    """What the assembler does not take: index -> its message."""
    owner = [i for i, c in enumerate(cases) for _ in c.text.split("\n")]
    _, log = wave_state.assemble(
        target, "\n".join(c.text for c in cases) + "\n", check=False)
    refused = {}
    for m in re.finditer(r"\.s:(\d+):\d+: error: (.*)", log):
        refused.setdefault(owner[int(m.group(1)) - 1], m.group(2))
    return refused


def same(case, before, got, want):
    """None, or the first word that differs and is no NaN in both."""
    if got.data == want.data:
        return None
    kind = getattr(case, "nan", None)
    t, w = {"f16": ("f", 16), "bf16": ("bf", 16), "f32": ("f", 32),
            "f64": ("f", 64), None: (None, 32)}[kind]
    any_zero = getattr(case, "any_zero", False)
    for i, (g, x) in enumerate(zip(got.data, want.data)):
        if g == x or any_zero and g & 0x7fffffff == x & 0x7fffffff == 0:
            continue
        if t is None:
            return i
        if w == 64:
            # Either word of a pair.
            high = next((j for j in (i, i + 64) if pcode.is_nan(Val(
                want.data[j] << 32 | want.data[j - 64], 64, "f"))), None)
            if high is None or not pcode.is_nan(Val(
                    got.data[high] << 32 | got.data[high - 64], 64, "f")):
                return i
            continue
        for low in range(0, 32, w):
            a, b = Val(g >> low, w, t), Val(x >> low, w, t)
            if a.bits != b.bits and not (pcode.is_nan(a) and pcode.is_nan(b)
                                         and not pcode.is_snan(a)):
                return i
    return None


def check(checker):
    """Runs all cases; one result for each mnemonic."""
    target = checker.t.name
    cases = [c for c in all_cases(checker)
             if not checker.only or checker.only.search(c.name.upper())]
    refused = refusals(target, cases)
    results = {}

    def note(case, status, text):
        old = results.get(case.name)
        if old is None or old[0] == "checked":
            results[case.name] = (status, text)

    good = []
    for i, case in enumerate(cases):
        if i in refused and getattr(case, "optional", False):
            continue
        if i in refused:
            note(case, "not assembled", f"{case.text}: {refused[i]}")
        else:
            good.append(case)
    runner = Runner(checker.hip, target, [c.text for c in good])
    for i, case in enumerate(good):
        before = random_state(random.Random(f"{case.name} {i}"))
        case.prepare(before)
        want = before.copy()
        try:
            case.expect(want)
        except pcode.PcodeError as error:
            note(case, "not evaluated", f"{case.text}: {error}")
            continue
        try:
            got = runner.run(i, [before])[0]
        except HipError as error:
            note(case, "fault", f"{case.text}: {error}")
            checker.hip.reset()
            runner.load()
            continue
        bad = same(case, before, got, want)
        if bad is None:
            note(case, "checked", source_of(case))
        else:
            note(case, "differs",
                 f"{case.text}: {State.where(bad)}: before "
                 f"{before.data[bad]:#x}, emulator {got.data[bad]:#x}, "
                 f"reference {want.data[bad]:#x}")
    for name, (status, text) in results.items():
        if status == "not assembled":
            status = "differs"  # the tables of cases are wrong
        checker.record(name.upper(), status, text)
