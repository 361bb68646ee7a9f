"""Runs single gfx9 instructions on the whole state of a wave.

A case is a few lines of assembly. Before them the wave's registers, LDS and a
block of global memory are loaded from a record, after them everything is
stored back, so that a test compares all that an instruction may touch, not
only its destination. All cases are in one kernel, which jumps to the case
that its argument names.

    runner = Runner(hip, "gfx942", ["v_mov_b32 v64, v65"])
    after = runner.run(0, [state])
"""

import array
import os
import subprocess
import tempfile

from instruction_asm import HEADER

LANES = 64
VGPRS, AGPRS = 96, 64      # v64 to v159, a0 to a63
FIRST_VGPR, FIRST_SGPR = 64, 48
LDS_BYTES, MEM_BYTES = 8192, 8192
# Offsets in the record, in words. The scalars are s48 to s79, VCC, EXEC, M0,
# SCC and a field that ends up in MODE.
LDS_AT = (VGPRS + AGPRS) * LANES
MEM_AT = LDS_AT + LDS_BYTES // 4
SGPR_AT = MEM_AT + MEM_BYTES // 4
WORDS = SGPR_AT + 64
VCC, EXEC, M0, SCC = 32, 34, 36, 37

SLOT_SHIFT = 8  # every case has 256 bytes


def words(text):
    return array.array("I", text)


class State:
    """One wave's registers and memory: what a case starts from, or leaves."""

    def __init__(self, data=None):
        self.data = data if data is not None else array.array(
            "I", bytes(4 * WORDS))

    def copy(self):
        return State(self.data[:])

    @staticmethod
    def row(reg):
        """Word of lane 0 of a vector register: "v64" or "a3"."""
        n = int(reg[1:])
        return ((VGPRS + n) if reg[0] == "a" else n - FIRST_VGPR) * LANES

    def get(self, reg, lane, count=1):
        """`count` consecutive registers of a lane as one number."""
        at = self.row(reg) + lane
        return sum(self.data[at + LANES * i] << 32 * i for i in range(count))

    def set(self, reg, lane, value, count=1):
        at = self.row(reg) + lane
        for i in range(count):
            self.data[at + LANES * i] = value >> 32 * i & 0xffffffff

    def scalar(self, index, count=1):
        return sum(self.data[SGPR_AT + index + i] << 32 * i
                   for i in range(count))

    def set_scalar(self, index, value, count=1):
        for i in range(count):
            self.data[SGPR_AT + index + i] = value >> 32 * i & 0xffffffff

    def sgpr(self, n, count=1):
        return self.scalar(n - FIRST_SGPR, count)

    def set_sgpr(self, n, value, count=1):
        self.set_scalar(n - FIRST_SGPR, value, count)

    @property
    def exec(self):
        return self.scalar(EXEC, 2)

    def load(self, at, address, size):
        """Bytes of LDS (at LDS_AT) or memory (at MEM_AT)."""
        value = 0
        for i in range(size):
            a = address + i
            value |= (self.data[at + a // 4] >> 8 * (a & 3) & 255) << 8 * i
        return value

    def store(self, at, address, size, value):
        for i in range(size):
            a = address + i
            shift = 8 * (a & 3)
            word = self.data[at + a // 4]
            self.data[at + a // 4] = (word & ~(255 << shift) & 0xffffffff |
                                      (value >> 8 * i & 255) << shift)

    @staticmethod
    def where(index):
        """What a word of the record is, for messages."""
        if index < LDS_AT:
            n, lane = divmod(index, LANES)
            reg = f"a{n - VGPRS}" if n >= VGPRS else f"v{n + FIRST_VGPR}"
            return f"{reg} of lane {lane}"
        if index < MEM_AT:
            return f"LDS byte {4 * (index - LDS_AT)}"
        if index < SGPR_AT:
            return f"memory byte {4 * (index - MEM_AT)}"
        n = index - SGPR_AT
        special = {VCC: "vcc_lo", VCC + 1: "vcc_hi", EXEC: "exec_lo",
                   EXEC + 1: "exec_hi", M0: "m0", SCC: "scc"}
        return special.get(n, f"s{n + FIRST_SGPR}")


def random_state(rng):
    state = State(array.array("I", rng.randbytes(4 * WORDS)))
    state.set_scalar(EXEC, (1 << 64) - 1, 2)
    state.set_scalar(SCC, rng.getrandbits(1))
    for i in range(SCC + 1, 64):
        state.set_scalar(i, 0)
    return state


def vector_rows(instruction, registers, step=16):
    """Loads or stores rows of 64 words, whose offsets reach 4095."""
    lines = []
    for i, reg in enumerate(registers):
        if i % step == 0 and i:
            lines.append(f"  v_add_u32 v1, {step * 256}, v1")
        lines.append("  " + instruction.format(reg=reg,
                                               offset=i % step * 256))
    lines.append(f"  v_add_u32 v1, {((len(registers) - 1) % step + 1) * 256},"
                 " v1")
    return lines

REGISTERS = [f"v{FIRST_VGPR + i}" for i in range(VGPRS)] + [
    f"a{i}" for i in range(AGPRS)]


def load_state(setup):
    """Everything from the record, and the jump to a case."""
    group = "s4" if setup else "s2"
    lines = [
        f"  s_mov_b32 s9, {group}",
        "  v_and_b32 v0, 0x3ff, v0",
    ]
    if setup:
        lines += ["  s_add_u32 flat_scratch_lo, s2, s5",
                  "  s_addc_u32 flat_scratch_hi, s3, 0"]
    lines += [
        "  s_load_dwordx4 s[4:7], s[0:1], 0x0",
        "  v_lshlrev_b32 v0, 2, v0",
        "  s_waitcnt lgkmcnt(0)",
        f"  s_mul_i32 s8, s9, {4 * WORDS}",
        "  s_add_u32 s4, s4, s8",
        "  s_addc_u32 s5, s5, 0",
        f"  s_add_u32 s36, s4, {4 * MEM_AT}",
        "  s_addc_u32 s37, s5, 0",
        "  s_mov_b32 s40, s36",
        "  s_and_b32 s41, s37, 0xffff",
        f"  s_mov_b32 s42, {MEM_BYTES}",
        "  s_mov_b32 s43, 0x27000",
        f"  s_load_dwordx16 s[48:63], s[4:5], {4 * SGPR_AT}",
        f"  s_load_dwordx16 s[64:79], s[4:5], {4 * SGPR_AT + 64}",
        f"  s_load_dwordx8 s[16:23], s[4:5], {4 * SGPR_AT + 128}",
        "  v_mov_b32 v1, v0",
    ]
    lines += vector_rows("global_load_dword {reg}, v1, s[4:5] "
                         "offset:{offset}", REGISTERS)
    # LDS comes next in the record.
    rows = LDS_BYTES // 256
    lines += vector_rows("global_load_dword {reg}, v1, s[4:5] "
                         "offset:{offset}", [f"v{8 + i}" for i in range(rows)])
    lines.append("  s_mov_b32 m0, -1")
    lines.append("  s_waitcnt vmcnt(0)")
    lines += [f"  ds_write_b32 v0, v{8 + i} offset:{256 * i}"
              for i in range(rows)]
    lines += [
        "  s_waitcnt vmcnt(0) lgkmcnt(0)",
        "  s_getpc_b64 s[30:31]",
        "  s_add_u32 s30, s30, table@rel32@lo+4",
        "  s_addc_u32 s31, s31, table@rel32@hi+12",
        f"  s_lshl_b32 s6, s6, {SLOT_SHIFT}",
        "  s_add_u32 s30, s30, s6",
        "  s_addc_u32 s31, s31, 0",
        "  s_getpc_b64 s[34:35]",
        "  s_add_u32 s34, s34, finish@rel32@lo+4",
        "  s_addc_u32 s35, s35, finish@rel32@hi+12",
        "  s_mov_b32 m0, s20",
        "  s_mov_b64 vcc, s[16:17]",
        "  s_cmp_lg_u32 s21, 0",
        "  s_mov_b64 exec, s[18:19]",
        "  s_setpc_b64 s[30:31]",
    ]
    return lines


def store_state():
    """Everything back into the record, behind a case."""
    rows = LDS_BYTES // 256
    lines = [
        "finish:",
        # More wait states than CDNA wants behind any instruction.
        "  s_nop 15",
        "  s_nop 3",
        "  s_cselect_b32 s21, 1, 0",
        "  s_mov_b64 s[18:19], exec",
        "  s_mov_b64 exec, -1",
        "  s_waitcnt vmcnt(0) lgkmcnt(0)",
        "  s_mov_b64 s[16:17], vcc",
        "  s_mov_b32 s20, m0",
        "  s_mov_b32 m0, -1",
        "  v_mov_b32 v1, v0",
    ]
    lines += vector_rows("global_store_dword v1, {reg}, s[4:5] "
                         "offset:{offset}", REGISTERS)
    lines += [f"  ds_read_b32 v{8 + i}, v0 offset:{256 * i}"
              for i in range(rows)]
    lines.append("  s_waitcnt lgkmcnt(0)")
    lines += vector_rows("global_store_dword v1, {reg}, s[4:5] "
                         "offset:{offset}", [f"v{8 + i}" for i in range(rows)])
    lines.append("  v_mov_b32 v2, 0")
    lines += [f"  v_writelane_b32 v2, s{FIRST_SGPR + i}, {i}"
              for i in range(32)]
    lines += [f"  v_writelane_b32 v2, s{16 + i}, {32 + i}" for i in range(6)]
    lines += [
        f"  v_add_u32 v1, {4 * SGPR_AT}, v0",
        "  global_store_dword v1, v2, s[4:5]",
        "  s_endpgm",
        f"  .p2align {SLOT_SHIFT}",
        "table:",
    ]
    return lines


def kernel_text(target, cases):
    # gfx90a's scratch instructions need FLAT_SCRATCH, which it does not get
    # from the hardware.
    setup = target == "gfx90a"
    lines = load_state(setup) + store_state()
    for case in cases:
        lines += [f"  .p2align {SLOT_SHIFT}"]
        lines += ["  " + line for line in case.split("\n")]
        lines.append("  s_setpc_b64 s[34:35]")
    extra = ("  .amdhsa_user_sgpr_flat_scratch_init 1\n"
             "  .amdhsa_system_sgpr_private_segment_wavefront_offset 1"
             if setup else "  .amdhsa_enable_private_segment 1")
    return (HEADER.format(target=target) + KERNEL.format(
        body="\n".join(lines), lds=LDS_BYTES, extra=extra) +
        META.format(target=target, lds=LDS_BYTES))


KERNEL = """
.globl cases
.p2align 8
.type cases,@function
cases:
{body}
.rodata
.p2align 6
.amdhsa_kernel cases
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 320
  .amdhsa_accum_offset 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size 256
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 3
{extra}
.end_amdhsa_kernel
.text
"""

META = """.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: cases
    .symbol: cases.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 256
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 320
    .agpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: by_value}}
...
.end_amdgpu_metadata
"""


def assemble(target, text, arguments=(), check=True):
    """Object bytes, and what llvm-mc said."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "k.s")
        obj = os.path.join(folder, "k.o")
        out = os.path.join(folder, "k.hsaco")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        run = subprocess.run(
            ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}",
             *arguments, source, "-o", obj], check=False,
            capture_output=True, text=True)
        if run.returncode != 0:
            if check:
                raise RuntimeError(run.stderr)
            return None, run.stderr
        if not arguments:
            return b"", run.stderr
        subprocess.run(["ld.lld-22", "-shared", obj, "-o", out], check=True)
        with open(out, "rb") as f:
            return f.read(), run.stderr


class Runner:

    def __init__(self, hip, target, cases):
        self.hip = hip
        self.image, _ = assemble(target, kernel_text(target, cases),
                                 ["-filetype=obj"])
        self.load()

    def load(self):
        self.function = self.hip.function(self.hip.load(self.image), "cases")

    def run(self, case, states):
        """The states after a case, one wave for each."""
        data = b"".join(s.data.tobytes() for s in states)
        buffer = self.hip.upload(data)
        try:
            self.hip.launch(self.function, len(states), LANES,
                            [buffer.value, case])
            raw = self.hip.download(buffer, len(data))
        finally:
            self.hip.free(buffer)
        size = 4 * WORDS
        return [State(array.array("I", raw[i:i + size]))
                for i in range(0, len(raw), size)]
