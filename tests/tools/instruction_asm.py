"""Kernels of one instruction: their text in each generation's assembly."""

HEADER = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
"""

KERNEL = """
.globl k{n}
.p2align 8
.type k{n},@function
k{n}:
{body}
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k{n}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 96
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 3
{extra}
.end_amdhsa_kernel
.text
"""

META_KERNEL = """  - .name: k{n}
    .symbol: k{n}.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: {wave}
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 24, .size: 8, .value_kind: global_buffer, .address_space: global}}
"""


class Dialect:
    """How a generation spells what surrounds the instruction."""

    def __init__(self, target):
        self.t = target
        g = target.generation
        self.wave64 = target.wave == 64
        self.load = (lambda n, *a: f"s_load_{'b' if g >= 'gfx11' and g != 'gfx9' else 'dword'}"
                     f"{n * 32 if g in ('gfx11', 'gfx12') else 'x' + str(n) if n > 1 else ''} "
                     + ", ".join(a))
        self.exec = "exec" if self.wave64 else "exec_lo"
        self.vcc = "vcc" if self.wave64 else "vcc_lo"
        self.mov = "s_mov_b64" if self.wave64 else "s_mov_b32"

    def wait(self):
        if self.t.generation == "gfx12":
            return "  s_wait_loadcnt 0x0\n  s_wait_kmcnt 0x0\n  s_wait_dscnt 0x0"
        return "  s_waitcnt vmcnt(0) lgkmcnt(0)"

    def wait_store(self):
        if self.t.generation == "gfx12":
            return "  s_wait_storecnt 0x0\n" + self.wait()
        if self.t.generation == "gfx9":
            return self.wait()
        return "  s_waitcnt_vscnt null, 0x0\n" + self.wait()

    def gload(self, dwords, dst, addr, base, offset=0):
        kind = (f"b{32 * dwords}" if self.t.generation in ("gfx11", "gfx12")
                else "dword" + (f"x{dwords}" if dwords > 1 else ""))
        off = f" offset:{offset}" if offset else ""
        return f"  global_load_{kind} {dst}, {addr}, {base}{off}"

    def gstore(self, dwords, src, addr, base, offset=0):
        kind = (f"b{32 * dwords}" if self.t.generation in ("gfx11", "gfx12")
                else "dword" + (f"x{dwords}" if dwords > 1 else ""))
        off = f" offset:{offset}" if offset else ""
        return f"  global_store_{kind} {addr}, {src}, {base}{off}"

    def add(self, dst, a, b):
        name = "v_add_u32" if self.t.generation == "gfx9" else "v_add_nc_u32"
        return f"  {name} {dst}, {a}, {b}"

    def group_id(self):
        if self.t.name == "gfx90a":
            return "s4"  # behind the flat scratch base of its kernels
        return "ttmp9" if self.t.generation == "gfx12" else "s2"

    def begin(self, setup=(), waves=1):
        """v40: lane's byte offset, 64 per lane; s[4:5] input, s[6:7] output,
        s[8:9] wave's input record (64 bytes), s[10:11] wave's output."""
        shift = (self.t.wave * waves).bit_length() - 1
        lines = [
            f"  s_mov_b32 s40, {self.group_id()}",
        ]
        if self.t.name == "gfx90a":
            lines += ["  s_add_u32 flat_scratch_lo, s2, s5",
                      "  s_addc_u32 flat_scratch_hi, s3, 0"]
        lines += [
            "  " + self.load(8, "s[4:11]", "s[0:1]", "0x0"),
            self.wait(),
            f"  s_lshl_b32 s41, s40, {shift}",
            "  v_and_b32 v0, 0x3ff, v0",
            self.add("v40", "s41", "v0"),
            "  v_lshlrev_b32 v40, 6, v40",
            "  s_lshl_b32 s41, s40, 6",
            "  s_add_u32 s8, s8, s41",
            "  s_addc_u32 s9, s9, 0",
            "  s_add_u32 s10, s10, s41",
            "  s_addc_u32 s11, s11, 0",
            "  " + self.load(16, "s[48:63]", "s[8:9]", "0x0"),
            self.gload(4, "v[4:7]", "v40", "s[4:5]"),
            self.gload(4, "v[8:11]", "v40", "s[4:5]", 16),
            self.gload(4, "v[12:15]", "v40", "s[4:5]", 32),
            self.gload(4, "v[16:19]", "v40", "s[4:5]", 48),
            self.wait(),
            # The wave's record: S0 48:49, S1 50:51, D0 52:53, VCC 54:55,
            # EXEC 56:57, M0 58, SCC 59, S2 60:61.
            *setup,
            "  s_mov_b64 s[26:27], s[52:53]",
            "  s_mov_b32 m0, s58",
            "  s_mov_b64 vcc, s[54:55]",
            "  s_cmp_lg_u32 s59, 0",
            f"  {self.mov} {self.exec}, s{'[56:57]' if self.wave64 else '56'}",
            *self.apart(),
        ]
        return "\n".join(lines)

    def apart(self):
        """More wait states than CDNA wants between any two instructions."""
        return (["  s_nop 15", "  s_nop 7"] if self.t.generation == "gfx9"
                else [])

    def end(self, after=()):
        """Stores v[16:19] and v[4:7] of each lane; SCC, VCC, EXEC, s[26:27],
        s[24:25] and M0 of the wave."""
        lines = [
            *self.apart(),
            "  s_cselect_b32 s44, 1, 0",
            "  s_mov_b64 s[42:43], exec",
            "  s_mov_b64 exec, -1" if self.wave64 else "  s_mov_b32 exec_lo, -1",
            *after,
            self.gstore(4, "v[16:19]", "v40", "s[6:7]"),
            self.gstore(4, "v[4:7]", "v40", "s[6:7]", 16),
            "  v_mov_b32 v41, 0",
        ]
        for i, src in enumerate(("s44", "m0", "vcc_lo", "vcc_hi", "s42", "s43",
                                 "s26", "s27", "s24", "s25", "s48", "s49")):
            lines.append(f"  v_mov_b32 v{44 + i}, {src}")
        for i in range(3):
            lines.append(self.gstore(4, f"v[{44 + 4 * i}:{47 + 4 * i}]", "v41",
                                     "s[10:11]", 16 * i))
        return "\n".join(lines)


def vregs(first, bits):
    n = max(1, (bits + 31) // 32)
    return f"v{first}" if n == 1 else f"v[{first}:{first + n - 1}]"


def sregs(first, bits):
    n = max(1, (bits + 31) // 32)
    return f"s{first}" if n == 1 else f"s[{first}:{first + n - 1}]"


class Case:
    """One instruction as it is tested."""

    def __init__(self, op, text, family):
        self.op = op
        self.name = op.name
        self.text = text
        self.family = family
        self.lds = 0
        self.scratch = 0
        self.waves = 1  # in a workgroup
        self.vgprs = 64
        self.kernel = ()  # further lines of the descriptor
        self.setup = ()  # before EXEC is set
        self.after = ()  # after EXEC is whole again
