"""Short kernels with what they must leave behind, for instructions that
AMD's pseudo-code does not describe or that need more than one of them:
branches, waits, messages, dual instructions, matrices, lane moves.

A Program is some lines of assembly between the frame of instruction_asm.py:
v[4:7], v[8:11], v[12:15] and v[16:19] hold a lane's S0, S1, S2 and D0; VCC,
EXEC, M0, SCC, s[48:49], s[50:51], s[60:61] (S0, S1, S2) and s[26:27] (D0)
the wave's. Its `expect` computes from a Wave what is there afterwards and
shares nothing with the emulator.

The cases stand in files of their own, named in TABLES; each has a function
`programs(target)` that yields those of a target. A mnemonic counts as tested
if a Program of it passes.
"""

import importlib
import random
import re

from hip_ctypes import HipError
from instruction_asm import Case
from operand_values import pool_value

# Modules with `programs(target)`.
TABLES = [
    "cases_convert",
    "cases_flow",
    "cases_inline",
    "cases_memory",
    "cases_vopd",
    "cases_wmma",
]

SLOTS = {"S0": 4, "S1": 8, "S2": 12, "D0": 16}


class Format:
    """Stands for the operand tables' formats."""

    def __init__(self, name):
        self.name = "FMT_NUM_" + name


class Program:
    """One kernel of a few instructions.

    text: lines that are tested; every mnemonic in them counts, or those of
        `covers`
    expect: function of a Wave; a dictionary of what must be found:
        "v4" to "v7" and "v16" to "v19", "rows" (see `rows_out`): a value for
        each lane; "scc", "m0", "vcc", "exec", "s24" to "s27", "s48", "s49"
    fmt, width: what the vector operands hold ("F32", 32)
    setup, after: lines outside EXEC's mask, before and behind
    lds, scratch: bytes; kernel: further .amdhsa_ lines
    waves: waves in a workgroup; they share the wave's record
    rows_in, rows_out: further vector registers, [(first, count)], filled
        with random values of fmt, and stored afterwards
    prepare: function of (rng, waves) that edits the input
    fault: the launch must fail, and its message contain this
    same: function of (got, expected), where bits may differ
    """

    def __init__(self, name, text, expect, **options):
        self.name = name
        self.text = [text] if isinstance(text, str) else list(text)
        self.expect = expect
        self.fmt = "U32"
        self.width = 32
        self.setup = ()
        self.after = ()
        self.lds = self.scratch = 0
        self.kernel = ()
        self.waves = 1
        self.rows_in = ()
        self.rows_out = ()
        self.prepare = None
        self.fault = None
        self.same = lambda got, want: got == want
        self.full_exec = False
        self.covers = None
        self.vgprs = 64
        for key, value in options.items():
            if not hasattr(self, key):
                raise TypeError(f"a Program has no {key}")
            setattr(self, key, value)
        if self.covers is None:
            self.covers = mnemonics(self.text)


def mnemonics(lines):
    """Those of assembly lines, without the suffix of their encoding."""
    found = []
    for line in lines:
        for part in line.split("::"):
            words = part.split("//")[0].split()
            if not words or words[0].endswith(":") or words[0][0] == ".":
                continue
            found.append(re.sub(r"(_e32|_e64|_sdwa|_dpp|_e64_dpp)$", "",
                                words[0]))
    return sorted(set(found))


class Wave:
    """What one workgroup of a Program was given."""

    def __init__(self, record, lanes, rows, size):
        self.record = record  # s0, s1, s2, d0, vcc, exec, m0, scc
        self.lanes = lanes  # of each: S0, S1, S2, D0 of 128 bits
        self.rows = rows  # register -> values
        self.size = size  # lanes of a wave

    def values(self, slot, index=0):
        """One 32-bit register of each lane: values("S0", 1) is v5."""
        return [v[slot] >> 32 * index & 0xffffffff for v in self.lanes]

    def active(self, lane):
        return self.record["exec"] >> lane % self.size & 1


def tables(target):
    """The programs of a target, from all files."""
    for module in TABLES:
        for program in importlib.import_module(module).programs(target):
            program.table = module
            yield program


class ProgramRunner:
    """Runs Programs with a Checker's assembler, device and records."""

    def __init__(self, checker):
        self.c = checker

    def case_of(self, program):
        op = type("Op", (), {"name": program.name})()
        case = Case(op, "\n  ".join(program.text), "program")
        case.program = program
        case.lds, case.scratch = program.lds, program.scratch
        case.vgprs, case.kernel = program.vgprs, program.kernel
        case.waves = program.waves
        size = self.c.t.wave * program.waves
        lanes = size * max(1, 128 // size)
        case.lanes = lanes
        setup, after = list(program.setup), list(program.after)
        loads = [r for first, n in program.rows_in
                 for r in range(first, first + n)]
        stores = [r for first, n in program.rows_out
                  for r in range(first, first + n)]
        d = self.c.d
        if loads:
            rows = ["  v_lshrrev_b32 v41, 4, v40",
                    f"  s_add_u32 s4, s4, {64 * lanes}",
                    "  s_addc_u32 s5, s5, 0"]
            for r in loads:
                rows += [d.gload(1, f"v{r}", "v41", "s[4:5]"),
                         f"  s_add_u32 s4, s4, {4 * lanes}",
                         "  s_addc_u32 s5, s5, 0"]
            setup = rows + [d.wait()] + setup
        if stores:
            rows = ["  v_lshrrev_b32 v41, 4, v40",
                    f"  s_add_u32 s12, s6, {64 * lanes}",
                    "  s_addc_u32 s13, s7, 0"]
            for r in stores:
                rows += [d.gstore(1, f"v{r}", "v41", "s[12:13]"),
                         f"  s_add_u32 s12, s12, {4 * lanes}",
                         "  s_addc_u32 s13, s13, 0"]
            after = after + rows
        case.setup, case.after = setup, after
        case.loads, case.stores = loads, stores
        return case

    def run(self, only=None):
        programs = [p for p in tables(self.c.t)
                    if only is None or only.search(p.name) or
                    any(only.search(m.upper()) for m in p.covers)]
        cases = [self.case_of(p) for p in programs]
        image = self.c.build(cases)
        module = self.c.hip.load(image)
        for n, case in enumerate(cases):
            note = self.check(module, n, case)
            if case.program.fault or note:
                self.c.hip.reset()
                module = self.c.hip.load(image)
            state = "differs" if note else "checked"
            self.c.record("program " + case.name, state, note)
            for m in case.program.covers:
                old = self.c.results.get(m.upper(), ("", ""))[0]
                if old not in ("checked", "differs") or state == "differs":
                    self.c.results[m.upper()] = (
                        state, f"{case.program.table}: {case.name}")

    def check(self, module, n, case):
        """"", or what differs."""
        p = case.program
        rng = random.Random(p.name)
        size = self.c.t.wave
        group = size * p.waves
        count = case.lanes // group
        records = self.c.wave_records(rng, count, plain=p.full_exec)
        fmt = Format(p.fmt)
        value = lambda: sum(pool_value(rng, fmt, p.width) << i
                            for i in range(0, 128, p.width))
        lanes = [{s: value() for s in SLOTS} for _ in range(case.lanes)]
        for r in records:
            for s in ("s0", "s1", "s2"):
                r[s] = pool_value(rng, fmt, 32)
        rows = {r: [pool_value(rng, fmt, p.width) if p.width == 32 else sum(
            pool_value(rng, fmt, p.width) << i
            for i in range(0, 32, p.width)) & 0xffffffff
                    for _ in range(case.lanes)] for r in case.loads}
        waves = [Wave(records[g], lanes[g * group:(g + 1) * group],
                      {r: v[g * group:(g + 1) * group]
                       for r, v in rows.items()}, size)
                 for g in range(count)]
        if p.prepare:
            for w in waves:
                p.prepare(rng, w)
        data = b"".join(v[s].to_bytes(16, "little") for w in waves
                        for v in w.lanes for s in SLOTS)
        for r in case.loads:
            data += b"".join(v.to_bytes(4, "little") for w in waves
                             for v in w.rows[r])
        size_out = case.lanes * (64 + 4 * len(case.stores))
        try:
            out, wave_out = self.c.execute(
                module, n, data.ljust(size_out, b"\0"), records, group)
        except HipError as error:
            if p.fault is not None and p.fault in str(error):
                return ""
            return f"fault: {error}"
        if p.fault is not None:
            return "no fault"
        for g, w in enumerate(waves):
            note = self.compare(case, w, g, out, wave_out)
            if note:
                return f"group {g}: {note}"
        return ""

    def compare(self, case, wave, g, out, wave_out):
        p = case.program
        want = p.expect(wave)
        got = self.c.wave_result(wave_out, g)
        for name, value in want.items():
            if name == "rows":
                continue
            if name[0] != "v" or name == "vcc":
                key = {"s24": "e_lo", "s25": "e_hi", "s26": "d_lo",
                       "s27": "d_hi", "s48": "s0_lo",
                       "s49": "s0_hi"}.get(name, name)
                found = got[key]
                if name in ("vcc", "exec"):
                    found &= (1 << wave.size) - 1
                if not p.same(found, value):
                    return f"{name}: emulator {found:#x}, expected {value:#x}"
                continue
            at = {4: 16, 16: 0}[int(name[1:]) & ~3] + 4 * (int(name[1:]) & 3)
            for lane, expected in enumerate(value):
                base = 64 * (g * len(wave.lanes) + lane) + at
                found = int.from_bytes(out[base:base + 4], "little")
                if not p.same(found, expected):
                    return (f"{name}, lane {lane}: emulator {found:#x}, "
                            f"expected {expected:#x}; inputs " + " ".join(
                                f"{k}={v:#x}" for k, v in
                                wave.lanes[lane].items()))
        for reg, value in want.get("rows", {}).items():
            row = case.stores.index(reg)
            for lane, expected in enumerate(value):
                base = case.lanes * (64 + 4 * row) + 4 * (
                    g * len(wave.lanes) + lane)
                found = int.from_bytes(out[base:base + 4], "little")
                if not p.same(found, expected):
                    return (f"v{reg}, lane {lane}: emulator {found:#x}, "
                            f"expected {expected:#x}")
        return ""
