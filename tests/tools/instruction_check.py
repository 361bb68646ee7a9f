"""Executes every instruction of a target on the emulator and compares with
AMD's pseudo-code.

For each mnemonic a kernel of one instruction is assembled by llvm-mc, run
over edge values and random ones under several EXEC masks, and its results
are compared bit by bit with what pcode.py computes from the instruction's
text in the manual (PyPI package tinygrad, runtime/autogen/amd). Instructions
whose manual allows an error (V_RCP_F32 and the like) are compared within it.

    python3 instruction_check.py --hip build/…/libamdhip64.so --target gfx1100

Prints one line per mnemonic that differs or could not be checked, and the
counts; exit code 1 if a result differs that is not explained in
known_differences.py.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

import cdna_cases
import memory_cases
import pcode
from hip_ctypes import Hip, HipError
from instruction_asm import (HEADER, KERNEL, META_KERNEL, Case, Dialect,
                             sregs, vregs)
from known_differences import (MATRIX, OVERRIDES, TOLERANCE, UNCHECKED,
                               is_half_load, whole_register)
from program_cases import ProgramRunner
from operand_values import SCALARS, pool_value
from pcode import Env, PcodeError, Val
from targets import Target, base_name, original_name
from vector_check import VectorCheck

class Checker:

    def __init__(self, target, hip_path, only=None, verbose=False,
                 wave=None):
        self.t = Target(target, wave)
        self.hip = Hip(hip_path, target)
        self.d = Dialect(self.t)
        self.only = re.compile(only) if only else None
        self.verbose = verbose
        self.programs = {}
        self.results = {}  # name -> (status, note)
        self.t.evaluate = self.evaluate

    # Building.

    def candidates(self):
        for op, text in self.t.pcode.items():
            if self.only and not self.only.search(op.name):
                continue
            kind = type(op).__name__
            case = None
            if kind in ("VOP1Op", "VOP2Op", "VOP3Op", "VOP3POp", "VOP3SDOp",
                        "VOPCOp"):
                case = self.vector_case(op, kind)
            elif kind in ("SOP1Op", "SOP2Op", "SOPCOp", "SOPKOp"):
                case = self.scalar_case(op, kind)
            else:
                case = memory_cases.make_case(self, op, kind)
            if case is not None:
                yield case

    def fields_of(self, op):
        """Operand sizes; the tables lack the sources of some VOP3 forms,
        which are those of the short form."""
        fields = self.t.operands.get(op)
        if op.name.endswith("_E64") and (fields is None or
                                         "src0" not in fields):
            for other, known in self.t.operands.items():
                if other.name == base_name(op.name) + "_E32" or (
                        other.name == base_name(op.name) and other != op):
                    return known
        if fields and "src0" not in fields and "src1" in fields:
            fields = dict(fields, src0=fields["src1"])  # of the same format
        return fields

    def vector_case(self, op, kind):
        fields = self.fields_of(op)
        if fields is None:
            return None
        wave_bits = self.t.wave
        name = op.name.lower()
        out = []
        base = base_name(op.name)
        e32 = op.name.endswith("_E32")
        if kind == "VOP3Op" and base.startswith("V_CMP"):
            if not base.startswith("V_CMPX") or (
                    self.t.generation == "gfx9"):
                out = [sregs(26, wave_bits)]
        elif kind == "VOPCOp":
            if base.startswith("V_CMPX") and self.t.generation != "gfx9":
                out = []
            else:
                out = [self.d.vcc]
        elif base.startswith(("V_READLANE", "V_READFIRSTLANE")):
            out = [sregs(26, 32)]
        elif "vdst" in fields and fields["vdst"][2].name != "OPR_SREG":
            out = [vregs(16, fields["vdst"][1])]
        elif "vdst" in fields:
            out = [sregs(26, fields["vdst"][1])]
        if "sdst" in fields:
            out.append(sregs(26, wave_bits))
        carry = "_CO_" in base and kind == "VOP2Op"
        if carry:
            out.append(self.d.vcc)
        sources = []
        first = {"src0": 4, "src1": 8, "vsrc1": 8, "src2": 12}
        for field in ("src0", "src1", "vsrc1", "src2"):
            if field not in fields:
                continue
            fmt, bits, optype = fields[field]
            if fmt.name == "FMT_NUM_M64":
                sources.append(sregs(54, wave_bits))
            elif base.startswith("V_WRITELANE") and field == "src0":
                sources.append("s48")
            elif base.startswith("V_S_") or optype.name in (
                    "OPR_SSRC_LANESEL", "OPR_SSRC"):
                sources.append("s50" if field != "src2" else "s60")
                if field == "src0":
                    sources[-1] = "s48"
            else:
                sources.append(vregs(first[field], bits))
        if base == "V_CNDMASK_B32" and not e32 and "src2" not in fields:
            sources.append(sregs(54, wave_bits))
        if base in ("V_FMAMK_F32", "V_FMAMK_F16", "V_MADMK_F16",
                    "V_MADMK_F32"):
            sources.insert(1, "0x3fc00000" if base.endswith("32") else
                           "0x3e00")
        if base in ("V_FMAAK_F32", "V_FMAAK_F16", "V_MADAK_F16",
                    "V_MADAK_F32"):
            sources.append("0x3fc00000" if base.endswith("32") else "0x3e00")
        if base == "V_CNDMASK_B32" and e32 or carry and re.search(
                "_CI_|ADDC|SUBB", base):
            sources.append(self.d.vcc)
        text = name + (" " + ", ".join(out + sources) if out + sources else "")
        if base.startswith("V_PERMLANE") and "16_B" in base or (
                "16_VAR" in base):
            text += " op_sel:[1,0]"  # fetch from inactive lanes, as the text
        case = Case(op, text, "vector")
        case.fields = fields
        return case

    def scalar_case(self, op, kind):
        fields = self.t.operands.get(op)
        if fields is None:
            return None
        args = []
        if "sdst" in fields:
            args.append(sregs(26, fields["sdst"][1]))
        for field, first in (("ssrc0", 48), ("ssrc1", 50)):
            if field in fields:
                args.append(sregs(first, fields[field][1]))
        if op.name in ("S_FMAAK_F32", "S_FMAMK_F32"):
            args.insert(3 if op.name == "S_FMAAK_F32" else 2, "0x3fc00000")
        case = Case(op, "", "scalar")
        case.simm = None
        if "simm16" in fields:
            digest = hashlib.sha256(op.name.encode()).digest()
            case.simm = struct.unpack("<h", digest[:2])[0]
            if op.name.endswith("_U32"):
                case.simm &= 0x7fff
            args.append(str(case.simm))
        case.text = op.name.lower() + " " + ", ".join(args)
        case.fields = fields
        return case

    def assemble(self, cases):
        """The cases that llvm-mc accepts, others recorded. 16-bit operands
        are written as whole registers or, where that is refused, as low
        halves."""
        bad = self.refused(cases)
        for i in bad:
            halves = re.sub(r"\bv(\d+)\b", r"v\1.l", cases[i].text)
            cases[i].halves, cases[i].text = cases[i].text, halves
        again = self.refused([cases[i] for i in bad])
        for n, i in enumerate(list(bad)):
            if n in again:
                cases[i].text = cases[i].halves
            else:
                del bad[i]
        good = []
        for i, case in enumerate(cases):
            if i in bad:
                absent = "not supported on this GPU" in bad[i]
                self.record(case.name, "not of this target" if absent else
                            "not assembled", f"{case.text}: {bad[i]}")
            else:
                good.append(case)
        return good

    def refused(self, cases):
        """What llvm-mc does not accept: index -> message."""
        if not cases:
            return {}
        lines = [c.text for c in cases]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "try.s")
            with open(path, "w") as f:
                f.write("\n".join(lines) + "\n")
            run = subprocess.run(
                ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa",
                 f"-mcpu={self.t.name}", f"-mattr={self.t.features}", path,
                 "-o", "/dev/null"],
                capture_output=True, text=True, check=False)
            bad = {}
            for m in re.finditer(r"try\.s:(\d+):\d+: error: (.*)", run.stderr):
                bad.setdefault(int(m.group(1)) - 1, m.group(2))
        return bad

    def build(self, cases):
        text = HEADER.format(target=self.t.name)
        meta = ""
        extra = ("" if self.t.generation == "gfx9" else
                 f"  .amdhsa_wavefront_size32 {int(self.t.wave == 32)}")
        if self.t.name in ("gfx90a", "gfx942", "gfx950"):
            extra += "\n  .amdhsa_accum_offset 64"
        private = "  .amdhsa_enable_private_segment 1"
        if not self.t.architected_scratch:
            private = ("  .amdhsa_system_sgpr_private_segment_wavefront_offset"
                       " 1")
        if self.t.name == "gfx90a":  # FLAT_SCRATCH is the kernel's to set
            extra += f"\n  .amdhsa_user_sgpr_flat_scratch_init 1\n{private}"
            private = ""
        for n, case in enumerate(cases):
            body = "\n".join((self.d.begin(case.setup, case.waves),
                              "  " + case.text, self.d.end(case.after)))
            own = ""
            if case.scratch:
                own = ("\n  .amdhsa_private_segment_fixed_size "
                       f"{case.scratch}\n{private}")
            own += "".join(f"\n  {line}" for line in case.kernel)
            values = dict(n=n, body=body, vgprs=case.vgprs, lds=case.lds,
                          extra=extra + own, wave=self.t.wave,
                          scratch=case.scratch)
            text += KERNEL.format(**values)
            meta += META_KERNEL.format(**values)
        text += (".amdgpu_metadata\n---\namdhsa.version: [1, 2]\n"
                 f"amdhsa.target: amdgcn-amd-amdhsa--{self.t.name}\n"
                 "amdhsa.kernels:\n" + meta + "...\n.end_amdgpu_metadata\n")
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "k.s")
            obj = os.path.join(folder, "k.o")
            out = os.path.join(folder, "k.hsaco")
            with open(source, "w") as f:
                f.write(text)
            subprocess.run(["llvm-mc-22", "-triple=amdgcn-amd-amdhsa",
                            f"-mcpu={self.t.name}",
                            f"-mattr={self.t.features}", "-filetype=obj",
                            source, "-o", obj], check=True)
            subprocess.run(["ld.lld-22", "-shared", obj, "-o", out],
                           check=True)
            with open(out, "rb") as f:
                return f.read()

    def record(self, name, status, note=""):
        self.results[name] = (status, note)
        if status in ("differs", "fault") or (self.verbose and
                                              status != "checked"):
            print(f"{status}: {name}: {note}", flush=True)

    # Running.

    def run(self):
        cases = []
        for case in self.candidates():
            if self.t.generation == "gfx9" and cdna_cases.takes(case.name):
                continue
            if base_name(case.name) in UNCHECKED.get(self.t.arch, {}):
                self.record(case.name, "elsewhere",
                            UNCHECKED[self.t.arch][base_name(case.name)])
                continue
            if case.family == "vector" and any(
                    bits > 128 for _, bits, _ in case.fields.values()):
                self.record(case.name, "too wide", case.text)
                continue
            if re.match(r"V_(S?WMMA|SWMMAC|S?MFMA|ACCVGPR)", case.name):
                self.record(case.name, "elsewhere", MATRIX)
                continue
            cases.append(case)
        cases = self.assemble(cases)
        checkable = []
        for case in cases:
            try:
                self.program(case.op)
                checkable.append(case)
            except PcodeError as error:
                self.record(case.name, "not parsed", str(error))
        image = self.build(checkable)
        module = self.hip.load(image)
        for n, case in enumerate(checkable):
            try:
                if case.family == "vector":
                    VectorCheck(self, case).check(module, n)
                elif case.family == "memory":
                    memory_cases.check(self, module, n, case)
                else:
                    self.check_scalar(module, n, case)
            except HipError as error:
                self.record(case.name, "fault", f"{case.text}: {error}")
                self.hip.reset()
                module = self.hip.load(image)
            except PcodeError as error:
                self.record(case.name, "not evaluated",
                            f"{case.text}: {error}")
            except (KeyError, IndexError, ValueError, TypeError,
                    AttributeError, ZeroDivisionError) as error:
                self.record(case.name, "not evaluated",
                            f"{case.text}: {type(error).__name__} {error}")
        ProgramRunner(self).run(self.only)
        if self.t.generation == "gfx9":
            cdna_cases.check(self)

    def program(self, op):
        if op not in self.programs:
            override = OVERRIDES.get(
                base_name(original_name(op)).replace("V_S_", "V_"))
            if override is not None:
                self.programs[op] = override
            else:
                program = pcode.compile_pcode(self.t.pcode[op])
                if self.t.arch == "cdna" and is_half_load(op):
                    program = whole_register(program)
                self.programs[op] = program
        return self.programs[op]

    def call(self, name, values):
        op = self.t.by_name.get(name.upper())
        if op is None:
            raise PcodeError(f"function {name}")
        names = {f"S{i}": v for i, v in enumerate(values)}
        names["D0"] = Val(0, 0, "b")
        names["TRAPSTS"] = {}
        names["WAVE_MODE"] = {"IEEE": self.ieee()}
        env = Env(names, self.call)
        self.program(op)(env)
        v = env.names["D0"]
        kind = values[0]
        return Val(v.bits, kind.w, kind.t)

    def ieee(self):
        # .amdhsa_ieee_mode is 1 unless set; gfx12 has no such bit.
        return Val(0 if self.t.generation == "gfx12" else 1, 1, "u")

    def evaluate(self, mnemonic, record, values):
        """The low 32 bits that a mnemonic's text gives for 32-bit operands."""
        op = self.t.by_name[mnemonic]
        names = {k: Val(v, 32, "u" if k == "laneId" else "b")
                 for k, v in values.items()}
        env = self.environment(op, record, names)
        self.program(op)(env)
        return env.names["D0"].bits & 0xffffffff

    def environment(self, case, record, names):
        names["WAVE32"] = Val(int(self.t.wave == 32), 1, "u")
        names["WAVE64"] = Val(int(self.t.wave == 64), 1, "u")
        names["wave32"], names["wave64"] = names["WAVE32"], names["WAVE64"]
        names["WAVE_MODE"] = {"IEEE": self.ieee()}
        names["TRAPSTS"] = {}
        names["SDWA_SRC0_SEL"] = Val(0, 3, "u")
        for i in range(4):
            names[f"BYTE{i}"] = Val(i, 3, "u")
        names["VCC"] = Val(record["vcc"], 64, "b")
        names["EXEC"] = Val(record["exec"], 64, "b")
        names["EXEC_LO"] = Val(record["exec"], 32, "b")
        names["EXEC_HI"] = Val(record["exec"] >> 32, 32, "b")
        names["M0"] = Val(record["m0"], 32, "b")
        names["SCC"] = Val(record["scc"], 1, "u")
        names["OPSEL"] = Val(0, 3, "u")
        names["OPSEL_HI"] = Val(0 if "MIX" in case.name else 7, 3, "u")
        names["NEG"] = Val(0, 3, "u")
        names["NEG_HI"] = Val(0, 3, "u")
        names["SIMM32"] = Val(0x3fc00000 if "F32" in case.name else 0x3e00,
                              32, "b")
        return Env(names, self.call)

    def wave_records(self, rng, count, plain=False):
        records = []
        full = (1 << self.t.wave) - 1
        masks = [full, 0x5555555555555555 & full, full, 1, 0xffff, full,
                 1 << (self.t.wave - 1), 0xf0f0f0f0f0f0f0f0 & full]
        rng.shuffle(masks)
        masks.insert(0, full)
        for i in range(count):
            records.append({
                "s0": 0, "s1": 0, "s2": 0,
                "d0": rng.getrandbits(64),
                "vcc": rng.getrandbits(self.t.wave),
                "exec": full if plain else masks[i % len(masks)],
                "m0": rng.getrandbits(32),
                "scc": rng.getrandbits(1),
            })
        return records

    @staticmethod
    def pack_waves(records):
        data = b""
        for r in records:
            data += struct.pack("<QQQQQIIQQ", r["s0"], r["s1"], r["d0"],
                                r["vcc"], r["exec"], r["m0"], r["scc"],
                                r["s2"], 0)
        return data

    def execute(self, module, n, lanes, waves, block):
        function = self.hip.function(module, f"k{n}")
        buffers = [self.hip.upload(lanes), self.hip.malloc(len(lanes)),
                   self.hip.upload(self.pack_waves(waves)),
                   self.hip.malloc(64 * len(waves))]
        try:
            self.hip.launch(function, len(waves), block,
                            [b.value for b in buffers])
            return (self.hip.download(buffers[1], len(lanes)),
                    self.hip.download(buffers[3], 64 * len(waves)))
        finally:
            for b in buffers:
                self.hip.free(b)

    @staticmethod
    def wave_result(data, i):
        names = ("scc", "m0", "vcc_lo", "vcc_hi", "exec_lo", "exec_hi",
                 "d_lo", "d_hi", "e_lo", "e_hi", "s0_lo", "s0_hi")
        values = dict(zip(names, struct.unpack_from("<12I", data, 64 * i)))
        values["vcc"] = values["vcc_lo"] | values["vcc_hi"] << 32
        values["exec"] = values["exec_lo"] | values["exec_hi"] << 32
        values["d"] = values["d_lo"] | values["d_hi"] << 32
        return values

    def result_formats(self, case):
        """(format, width) of each part of the destination, low first."""
        fmt, bits, _ = case.fields["vdst"]
        m = re.match(r"(?:PK(\d*)_)?(BF16|F16|F32|F64)$",
                     fmt.name.replace("FMT_NUM_", ""))
        if not m:
            return None
        kind = "bf" if m.group(2).startswith("BF") else "f"
        width = int(m.group(2).lstrip("BF"))
        return kind, width

    def equal(self, case, got, expect, bits, _):
        if got == expect:
            return True
        kind = self.result_formats(case)
        if kind is None:
            return False
        t, width = kind
        if "MIXLO" in case.name or "MIXHI" in case.name:
            bits = 32  # either half
        total = max(bits, width)
        if got >> total != expect >> total and bits != 16:
            return False
        if bits == 16 and got >> 16 != expect >> 16:
            return False
        for low in range(0, total, width):
            a = Val(got >> low, width, t)
            b = Val(expect >> low, width, t)
            if a.bits == b.bits:
                continue
            if pcode.is_nan(b):
                # Which NaN is the hardware's choice; quiet it must be.
                if pcode.is_nan(a) and not pcode.is_snan(a):
                    continue
                return False
            allowed = TOLERANCE.get(
                base_name(case.name).replace("V_S_", "V_"))
            if allowed is None or not allowed(a, b):
                return False
        return True

    def fail(self, case, inputs, what, got, expect):
        shown = ", ".join(f"{k}={v.bits if isinstance(v, Val) else v:#x}"
                          for k, v in inputs.items()
                          if k in ("S0", "S1", "S2", "D0", "VCC", "SCC", "M0",
                                   "s0", "s1", "scc", "exec", "vcc", "d0"))
        self.record(case.name, "differs",
                    f"{case.text}: {what}: {shown}: emulator {got:#x}, "
                    f"pseudo-code {expect:#x}")

    def check_scalar(self, module, n, case):
        rng = random.Random(case.name)
        waves = self.wave_records(rng, SCALARS, plain=True)
        fields = case.fields
        base = case.name
        for r in waves:
            for field, key in (("ssrc0", "s0"), ("ssrc1", "s1")):
                if field in fields:
                    fmt, bits, _ = fields[field]
                    r[key] = pool_value(rng, fmt, bits)
            if rng.random() < .2:
                r["s1"] = r["s0"]
            if rng.random() < .5:
                r["exec"] = rng.getrandbits(self.t.wave) or 1
            if "MOVREL" in base:
                r["m0"] = 0 if base.endswith("64") else rng.choice(
                    (0, 1, 0x10000, 0x10001) if "SD_2" in base else (0, 1))
        data = bytes(64 * self.t.wave * SCALARS)
        _, wave_out = self.execute(module, n, data, waves, self.t.wave)
        program = self.program(case.op)
        full = (1 << self.t.wave) - 1
        for w, r in enumerate(waves):
            names = {}
            for field, key, name in (("ssrc0", "s0", "S0"),
                                     ("ssrc1", "s1", "S1")):
                if field in fields:
                    names[name] = Val(r[key], max(fields[field][1], 32), "b")
            bits = fields["sdst"][1] if "sdst" in fields else 0
            names["D0"] = Val(r["d0"], max(bits, 32), "b")
            if base.startswith("S_CMPK"):
                names["S0"] = names["D0"]  # the text's name for it
                names["S1"] = Val(case.simm, 16, "i")
            elif case.simm is not None:
                names["S0"] = Val(case.simm, 16, "i")
            self.scalar_file(case, r, names)
            if case.simm is not None:
                names["SIMM16"] = Val(case.simm, 16, "i")
            env = self.environment(case, r, names)
            program(env)
            got = self.wave_result(wave_out, w)
            shown = dict(r)
            if "MOVREL" in base:
                registers = env.names["SGPR"]
                wide = int(base.endswith("64"))
                want = registers[26].bits | registers[27].bits << 32
                if wide:
                    want = registers[26].bits
                if not base.startswith("S_MOVRELD"):
                    want = env.names["D0"].bits
                mask = 0xffffffffffffffff if wide or "MOVRELD" in base or (
                    "SD_2" in base) else 0xffffffff
                if "SD_2" in base:
                    want = registers[26].bits | registers[27].bits << 32
                if got["d"] & mask != want & mask:
                    self.fail(case, shown, "registers", got["d"], want)
                    return
                continue
            if bits:
                mask = (1 << bits) - 1
                d = env.names["D0"].bits & mask
                if got["d"] & mask != d and not self.scalar_equal(
                        case, got["d"] & mask, d, bits):
                    self.fail(case, shown, "result", got["d"] & mask, d)
                    return
            scc = env.names["SCC"].bits & 1
            if got["scc"] != scc:
                self.fail(case, shown, "SCC", got["scc"], scc)
                return
            exec_bits = env.names["EXEC"].bits
            if env.names["EXEC_LO"].bits != r["exec"] & 0xffffffff:
                exec_bits = env.names["EXEC_LO"].bits
            if got["exec"] & full != exec_bits & full:
                self.fail(case, shown, "EXEC", got["exec"], exec_bits)
                return
        self.record(case.name, "checked")

    @staticmethod
    def scalar_file(case, record, names):
        """The scalar registers that relative moves may touch."""
        words = []
        for key in ("s0", "s1", "d0", "vcc", "exec"):
            words += [record[key] & 0xffffffff, record[key] >> 32]
        words += [record["m0"], record["scc"]]
        names["SGPR"] = {48 + i: Val(v, 32) for i, v in enumerate(words)}
        names["SGPR"].update({26: Val(record["d0"], 32),
                              27: Val(record["d0"] >> 32, 32)})
        if case.name.endswith("B64"):
            names["SGPR"] = {
                k: Val(v.bits | names["SGPR"].get(
                    k + 1, Val(0, 32)).bits << 32, 64)
                for k, v in names["SGPR"].items()}
        names["SRC0"] = Val(48, 32, "u")
        names["DST"] = Val(26, 32, "u")

    def scalar_equal(self, case, got, expect, bits):
        fmt = case.fields["sdst"][0].name
        if not re.search(r"_F(16|32)$", fmt):
            return False
        width = int(fmt[-2:])
        a, b = Val(got, width, "f"), Val(expect, width, "f")
        return (got >> width == expect >> width and pcode.is_nan(a) and
                pcode.is_nan(b) and not pcode.is_snan(a))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hip", required=True)
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("--only", help="regular expression of mnemonics")
    parser.add_argument("--json", help="write all results to this file")
    parser.add_argument("--wave", type=int, help="lanes of a wave")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--minimum", type=int, default=0,
                        help="fail if fewer mnemonics were checked")
    options = parser.parse_args()
    checker = Checker(options.target, options.hip, options.only,
                      options.verbose, options.wave)
    checker.run()
    counts = collections.Counter(s for s, _ in checker.results.values())
    mnemonics = {base_name(n) for n, (s, _) in checker.results.items()
                 if s == "checked" and not n.startswith("program ")}
    print(f"{options.target}, waves of {checker.t.wave}: {len(mnemonics)} "
          "mnemonics checked; "
          f"encodings: {dict(counts)}")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(checker.results, f, indent=1, sort_keys=True)
    bad = counts["differs"] + counts["fault"]
    return 1 if bad or len(mnemonics) < options.minimum else 0


if __name__ == "__main__":
    sys.exit(main())
