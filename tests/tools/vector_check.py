"""One vector instruction, run over edge values in all lanes and compared with
its pseudo-code (instruction_check.py)."""

import random
import re

from instruction_asm import Case
from operand_values import LANES, pool_value
from pcode import Val
from targets import base_name

# The fields of an encoding that are sources, and the text's names for them.
SOURCES = (("src0", "S0"), ("src1", "S1"), ("vsrc1", "S1"), ("src2", "S2"),
           ("vdst", "D0"))


class VectorCheck:

    def __init__(self, checker, case: Case):
        self.c = checker
        self.case = case
        self.fields = case.fields
        self.base = base_name(case.name)
        self.wave = checker.t.wave
        self.rng = random.Random(case.name)
        encoding = type(case.op).__name__
        compares = self.base.startswith("V_CMP")
        self.writes_mask = compares or "sdst" in self.fields or (
            "_CO_" in self.base and encoding == "VOP2Op")
        self.mask_in_sdst = "sdst" in self.fields or (
            compares and not case.name.endswith("_E32") and
            encoding != "VOPCOp")
        # More than one register may be written.
        self.writes_registers = any(
            part in self.base for part in ("MOVRELD", "MOVRELSD", "SWAPREL"))

    def check(self, module, n):
        """Runs kernel n; what is found goes to the checker."""
        waves = self.c.wave_records(self.rng, LANES // self.wave)
        lanes = [self.lane_values() for _ in range(LANES)]
        self.prepare_waves(waves)
        data = b"".join(v[s].to_bytes(16, "little") for v in lanes
                        for s in ("S0", "S1", "S2", "D0"))
        lane_out, wave_out = self.c.execute(module, n, data, waves, self.wave)
        program = self.c.program(self.case.op)
        if re.match(r"V_(READFIRSTLANE|READLANE|WRITELANE|PERMLANE)",
                    self.base):
            fine = self.cross_lanes(lanes, waves, lane_out, wave_out, program)
        elif self.base.startswith("V_S_"):
            fine = self.pseudo_scalar(waves, wave_out, program)
        else:
            fine = all(self.wave_agrees(
                record, lanes[w * self.wave:(w + 1) * self.wave],
                lane_out[64 * w * self.wave:], self.c.wave_result(wave_out, w),
                program) for w, record in enumerate(waves))
        if fine:
            self.c.record(self.case.name, "checked")

    # Inputs.

    def lane_values(self):
        rng = self.rng
        values = {}
        for field, first in SOURCES:
            if field in self.fields and first not in values:
                fmt, bits, _ = self.fields[field]
                values[first] = self.operand(first, fmt, bits)
        for name in ("S0", "S1", "S2", "D0"):
            values.setdefault(name, 0)
        if rng.random() < .15:
            values["S1"] = values["S0"]
        values["D0"] = rng.getrandbits(128) & ~0xffffffff | (
            values["D0"] & 0xffffffff) if rng.random() < .5 else values["D0"]
        return values

    def operand(self, slot, fmt, bits):
        if self.base.startswith("V_LDEXP") and slot == "S1":
            return self.rng.choice(
                (0, 1, -1, 10, -10, 127, -127, 150, -160, 300, -300, 1100,
                 -1100)) & ((1 << bits) - 1)
        return pool_value(self.rng, fmt, bits)

    def prepare_waves(self, waves):
        rng = self.rng
        if self.base.startswith("V_PERMLANE") and self.base.endswith(
                "_SWAP_B32"):
            for r in waves:  # the text leaves EXEC out
                r["exec"] = (1 << self.wave) - 1
        if "MOVREL" in self.base or "SWAPREL" in self.base:
            for r in waves:
                r["m0"] = rng.randrange(4) | (rng.randrange(4) << 16 if (
                    "_2_" in self.base or "SWAPREL" in self.base) else 0)
        for r in waves:
            r["s0"], r["s1"], r["s2"] = (rng.getrandbits(32),
                                         rng.getrandbits(32),
                                         rng.getrandbits(32))

    # Comparisons: false where something differs, which has been recorded then.

    def fail(self, *what):
        self.c.fail(self.case, *what)
        return False

    def wave_agrees(self, record, lanes, out, got, program):
        """Each lane by itself, and the mask that they make together."""
        expect_mask = 0
        for lane, values in enumerate(lanes):
            got_d = int.from_bytes(out[64 * lane:64 * lane + 16], "little")
            got_s = int.from_bytes(out[64 * lane + 16:64 * lane + 32],
                                   "little")
            if not record["exec"] >> lane & 1:
                if got_d != values["D0"]:
                    return self.fail(values, "inactive lane written", got_d,
                                     values["D0"])
                continue
            names = self.names_of(record, values, lane)
            env = self.c.environment(self.case, record, names)
            program(env)
            mask_bit, bits = self.mask_and_width(env, lane)
            if self.writes_mask:
                expect_mask |= mask_bit << lane
            if bits is not None and not self.destination_agrees(
                    env, names, values, lane, bits, got_d, got_s):
                return False
        if not self.writes_mask:
            return True
        found = got["exec" if self.base.startswith("V_CMPX") else
                    "d" if self.mask_in_sdst else "vcc"]
        found &= (1 << self.wave) - 1
        if found == expect_mask:
            return True
        bad = found ^ expect_mask
        lane = (bad & -bad).bit_length() - 1
        return self.fail(lanes[lane], f"mask, lane {lane}", found, expect_mask)

    def names_of(self, record, values, lane):
        """What the text reads, as it names it."""
        names = {}
        for field, first in SOURCES:
            if field in self.fields:
                fmt, bits, optype = self.fields[field]
                bits = max(bits, 32)
                value = values[first]
                if fmt.name == "FMT_NUM_M64":
                    value, bits = record["vcc"], 64
                elif optype.name in ("OPR_SSRC", "OPR_SSRC_LANESEL"):
                    value = record[first.lower()]
                names[first] = Val(value, bits, "b")
        if self.base.startswith("V_CMP"):
            names["D0"] = Val(0, 64, "b")
        names.setdefault("D0", Val(values["D0"], 128, "b"))
        names["D1"] = Val(0, 1, "b")
        names["laneId"] = Val(lane, 32, "u")
        if "src2" not in self.fields and "FMA" in self.base:
            names["S2"] = names["D0"]
        if "MIX" in self.base:
            names["S"] = [names["S0"], names["S1"], names["S2"]]
        if "VGPR" in self.c.t.pcode[self.case.op]:
            self.vector_file(lane, values, names)
        return names

    @staticmethod
    def vector_file(lane, values, names):
        registers = {}
        for first, slot in ((4, "S0"), (8, "S1"), (12, "S2"), (16, "D0")):
            for k in range(4):
                registers[first + k] = Val(values[slot] >> 32 * k, 32)
        names["VGPR"] = {lane: registers}
        names["SRC0"] = Val(4, 32, "u")
        names["DST"] = Val(16, 32, "u")

    def mask_and_width(self, env, lane):
        """The lane's bit of the mask, and the width of the destination; none
        where the mask is all that is written."""
        if self.base.startswith("V_CMPX"):
            return env.names["EXEC"].bits >> lane & 1, None
        if self.base.startswith("V_CMP"):
            return env.names["D0"].bits >> lane & 1, None
        if self.base.startswith("V_MAD_") and "sdst" in self.fields:
            return env.names["D1"].bits & 1, 64
        bits = self.fields["vdst"][1]
        if self.base.startswith("V_DIV_SCALE"):
            return env.names["VCC"].bits & 1, bits
        if self.writes_mask:
            return env.names["VCC"].bits >> lane & 1, bits
        return 0, bits

    def destination_agrees(self, env, names, values, lane, bits, got_d, got_s):
        if self.writes_registers:
            registers = env.names["VGPR"][lane]
            expect = sum(registers[16 + k].bits << 32 * k for k in range(4))
            return got_d == expect or self.fail(values, "registers", got_d,
                                                expect)
        expect = self.expected_destination(env.names["D0"].bits, values["D0"],
                                           bits)
        if not self.c.equal(self.case, got_d, expect, bits, values):
            return self.fail(names, "result", got_d, expect)
        if self.base.startswith("V_SWAP") and (
                got_s & 0xffff) != env.names["S0"].bits & 0xffff:
            return self.fail(names, "swapped source", got_s,
                             env.names["S0"].bits)
        return True

    def expected_destination(self, computed, old, bits):
        """The whole 128 bits of v[16:19] after the instruction."""
        if bits == 16 or bits < 32:
            keep = self.c.t.generation != "gfx9"
            low = computed & 0xffff
            if "FMA_MIX" in self.case.name or "MIXHI" in self.case.name:
                return old & ~0xffffffff | computed & 0xffffffff
            if keep:
                return old & ~0xffff | low
            return old & ~0xffffffff | low
        mask = (1 << min(bits, 128)) - 1
        return old & ~mask | computed & mask

    def pseudo_scalar(self, waves, wave_out, program):
        """gfx12's V_S_…: a scalar register through the vector unit."""
        for w, record in enumerate(waves):
            names = {"S0": Val(record["s0"], 32, "b"), "D0": Val(0, 32, "b")}
            env = self.c.environment(self.case, record, names)
            program(env)
            got = self.c.wave_result(wave_out, w)["d_lo"]
            expect = env.names["D0"].bits
            if not self.c.equal(self.case, got, expect, 32, None):
                return self.fail(record, "scalar", got, expect)
        return True

    def cross_lanes(self, lanes, waves, lane_out, wave_out, program):
        """Instructions that read or write other lanes: once per wave."""
        wave = self.wave
        for w, record in enumerate(waves):
            vgpr = {}
            for lane in range(64):
                if lane < wave:
                    v = lanes[w * wave + lane]
                    vgpr[lane] = {0: Val(v["S0"], 32), 1: Val(v["D0"], 32),
                                  2: Val(v["S1"], 32)}
                else:
                    vgpr[lane] = {i: Val(0, 32) for i in range(3)}
            names = {"VGPR": vgpr, "SRC0": Val(0, 32, "u"),
                     "SRC1": Val(2, 32, "u"),
                     "VDST": Val(1, 32, "u"), "S0": Val(record["s0"], 32),
                     "S1": Val(record["s1"], 32),
                     "S2": Val(record["s2"], 32), "D0": Val(0, 32)}
            env = self.c.environment(self.case, record, names)
            program(env)
            got = self.c.wave_result(wave_out, w)
            if self.base.startswith("V_READ"):
                if got["d_lo"] != env.names["D0"].bits:
                    return self.fail(record, "scalar", got["d_lo"],
                                     env.names["D0"].bits)
                continue
            for lane in range(wave):
                i = w * wave + lane
                g = int.from_bytes(lane_out[64 * i:64 * i + 4], "little")
                e = vgpr[lane][1].bits
                if g != e:
                    return self.fail(record, f"lane {lane}", g, e)
        return True
