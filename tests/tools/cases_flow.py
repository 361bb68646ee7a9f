"""Programs for branches, calls, waits, messages, hardware registers,
barriers, and the instructions that change nothing a program can see.

Sources: RDNA2, RDNA3, RDNA4 and CDNA3 ISA manuals, chapters "Program Flow
Control" and "SOPP Instructions".
"""

from program_cases import Program


def unchanged(wave):
    """Everything as it was."""
    want = {f"v{16 + i}": wave.values("D0", i) for i in range(4)}
    want.update({f"v{4 + i}": wave.values("S0", i) for i in range(4)})
    want.update(scc=wave.record["scc"], m0=wave.record["m0"],
                vcc=wave.record["vcc"], exec=wave.record["exec"],
                s26=wave.record["d0"] & 0xffffffff,
                s27=wave.record["d0"] >> 32)
    return want


# What a wave does not notice: hints, caches, performance counters.
SILENT = {
    "all": ["s_nop 0", "s_nop 7", "s_sleep 1", "s_setprio 3\n  s_setprio 0",
            "s_incperflevel 1", "s_decperflevel 1", "s_icache_inv",
            "s_dcache_inv", "s_ttracedata", "s_sendmsg sendmsg(MSG_INTERRUPT)",
            "s_sethalt 0", "v_nop"],
    "gfx9": ["s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol",
             "s_wakeup", "s_setkill 0", "s_atc_probe 0, s[4:5], 0x0",
             "s_atc_probe_buffer 0, s[12:15], 0x0"],
    "gfx10": ["s_clause 0x2\n  s_nop 0\n  s_nop 0\n  s_nop 0",
              "s_inst_prefetch 0x1", "s_wait_idle", "s_gl1_inv", "buffer_gl0_inv",
              "buffer_gl1_inv", "s_waitcnt_depctr 0xfffe", "s_version 3",
              "s_ttracedata_imm 5", "v_pipeflush", "s_wakeup",
              "s_setkill 0", "v_clrexcp", "ds_nop",
              "s_waitcnt_expcnt null, 0x0", "s_atc_probe 0, s[4:5], 0x0",
              "s_atc_probe_buffer 0, s[12:15], 0x0"],
    "gfx11": ["s_clause 0x2\n  s_nop 0\n  s_nop 0\n  s_nop 0",
              "s_delay_alu instid0(VALU_DEP_1)",
              "s_set_inst_prefetch_distance 0x1", "s_gl1_inv",
              "buffer_gl0_inv", "buffer_gl1_inv",
              "s_waitcnt_depctr 0xfffe", "s_version 3", "s_wait_event 0x0",
              "s_wait_idle", "s_ttracedata_imm 5", "v_pipeflush",
              "s_wakeup", "s_setkill 0", "ds_nop",
              "s_waitcnt_expcnt null, 0x0", "s_atc_probe 0, s[4:5], 0x0",
              "s_atc_probe_buffer 0, s[12:15], 0x0"],
    "gfx12": ["s_clause 0x2\n  s_nop 0\n  s_nop 0\n  s_nop 0",
              "s_delay_alu instid0(VALU_DEP_1)", "s_wait_alu 0xfffe",
              "s_version 3", "s_wait_event 0x0", "s_wait_idle",
              "s_ttracedata_imm 5", "v_pipeflush", "s_wakeup",
              "s_setkill 0", "ds_nop", "s_sleep_var s60", "s_sleep_var 3",
              "s_wait_expcnt 0x0", "s_wait_samplecnt 0x0",
              "s_wait_bvhcnt 0x0", "s_barrier_signal 0", "s_waitcnt 0x0",
              "s_prefetch_inst s[4:5], 0x40, s60, 3",
              "s_prefetch_inst_pc_rel 0x40, s60, 3",
              "s_prefetch_data s[4:5], 0x40, s60, 3",
              "s_prefetch_data_pc_rel 0x40, s60, 3",
              "s_buffer_prefetch_data s[12:15], 0x40, s60, 3",
              "s_atc_probe 0, s[4:5], 0x0",
              "s_atc_probe_buffer 0, s[12:15], 0x0",
              "global_inv scope:SCOPE_DEV", "global_wb scope:SCOPE_SYS",
              "global_wbinv scope:SCOPE_SYS"],
}

CONDITIONS = {
    "scc0": lambda r, full: r["scc"] == 0,
    "scc1": lambda r, full: r["scc"] == 1,
    "vccz": lambda r, full: r["vcc"] & full == 0,
    "vccnz": lambda r, full: r["vcc"] & full != 0,
    "execz": lambda r, full: r["exec"] & full == 0,
    "execnz": lambda r, full: r["exec"] & full != 0,
}


def sometimes_zero(rng, wave):
    for key in ("vcc", "exec"):
        roll = rng.random()
        if roll < .4:
            wave.record[key] = 0
        elif roll < .6:  # one half only
            wave.record[key] = 1 << rng.randrange(wave.size)


def branches(target):
    for name, taken in CONDITIONS.items():

        def expect(wave, taken=taken):
            full = (1 << wave.size) - 1
            return dict(unchanged(wave),
                        s26=1 if taken(wave.record, full) else 2)

        for repeat in range(4):  # other random inputs
            label = f"L{name}{repeat}"
            yield Program(f"branch_{name}_{repeat}",
                          ["s_mov_b32 s26, 1", f"s_cbranch_{name} {label}",
                           "s_mov_b32 s26, 2", f"{label}:"], expect,
                          prepare=sometimes_zero)
    if target.generation != "gfx12":
        for name in ("cdbgsys", "cdbguser", "cdbgsys_or_user",
                     "cdbgsys_and_user"):
            # Conditional debugging is off unless a debugger turns it on.
            yield Program(f"branch_{name}",
                          ["s_mov_b32 s26, 1", f"s_cbranch_{name} L{name}",
                           "s_mov_b32 s26, 2", f"L{name}:"],
                          lambda wave: dict(unchanged(wave), s26=2))
    yield Program(
        "branch_back",
        ["s_mov_b32 s26, 0", "s_branch Lb2", "Lb1:", "s_add_u32 s26, s26, 3",
         "s_branch Lb3", "Lb2:", "s_add_u32 s26, s26, 5", "s_branch Lb1",
         "Lb3:"], lambda wave: {"s26": 8})


def calls(target):
    # Each of these instructions has 4 bytes; s_add_u32 with a literal has 8.
    yield Program(
        "getpc", ["s_getpc_b64 s[24:25]", "s_getpc_b64 s[26:27]",
                  "s_sub_u32 s24, s26, s24", "s_subb_u32 s25, s27, s25"],
        lambda wave: {"s24": 4, "s25": 0})
    yield Program(
        "setpc", ["s_mov_b32 s26, 1", "s_getpc_b64 s[24:25]",
                  "s_add_u32 s24, s24, 16", "s_addc_u32 s25, s25, 0",
                  "s_setpc_b64 s[24:25]", "s_mov_b32 s26, 2",
                  "s_mov_b32 s27, 3"],
        lambda wave: {"s26": 1, "s27": 3})
    yield Program(
        "swappc", ["s_mov_b32 s26, 1", "s_mov_b32 s27, 0",
                   "s_getpc_b64 s[24:25]",  # next: 0
                   "s_add_u32 s24, s24, 20",  # 0
                   "s_addc_u32 s25, s25, 0",  # 4
                   "s_swappc_b64 s[24:25], s[24:25]",  # 8, to 20
                   "s_add_u32 s26, s26, 4",  # 12
                   "s_branch Lswapped",  # 16
                   "s_add_u32 s26, s26, 2",  # 20
                   "s_setpc_b64 s[24:25]",  # to 12
                   "s_mov_b32 s27, 9", "Lswapped:"],
        lambda wave: {"s26": 7, "s27": 0})
    yield Program(
        "call", ["s_mov_b32 s26, 1", "s_call_b64 s[24:25], Lcalled",
                 "s_add_u32 s26, s26, 4", "s_branch Lreturned", "Lcalled:",
                 "s_add_u32 s26, s26, 2", "s_setpc_b64 s[24:25]",
                 "Lreturned:"],
        lambda wave: {"s26": 7})


def waits(target):
    """A result that is used behind its wait; without one the emulator's
    check of missing waits stops the kernel."""
    g = target.generation
    b32 = "b32" if g in ("gfx11", "gfx12") else "dword"
    load = f"global_load_{b32} v16, v40, s[4:5] offset:16"
    store = f"global_store_{b32} v40, v4, s[6:7] offset:48"
    reload = f"global_load_{b32} v17, v40, s[6:7] offset:48"
    lds = ["ds_load_b32" if g in ("gfx11", "gfx12") else "ds_read_b32",
           "ds_store_b32" if g in ("gfx11", "gfx12") else "ds_write_b32"]
    scalar = f"s_load_{b32} s26, s[8:9], 0x0"
    both = lambda wave: {"v16": [
        v if wave.active(i) else d for i, (v, d) in
        enumerate(zip(wave.values("S1"), wave.values("D0")))]}
    stored = lambda wave: {"v17": [
        v if wave.active(i) else d for i, (v, d) in
        enumerate(zip(wave.values("S0"), wave.values("D0", 1)))]}
    from_lds = lambda wave: {"v18": [
        v if wave.active(i) else d for i, (v, d) in
        enumerate(zip(wave.values("S0"), wave.values("D0", 2)))]}
    from_scalar = lambda wave: {"s26": wave.record["s0"] & 0xffffffff}
    m0 = ["s_mov_b32 m0, -1"] if g == "gfx9" else []
    lds_lines = m0 + ["v_lshrrev_b32 v20, 4, v40",
                      "v_and_b32 v20, 0x1ff, v20", f"{lds[1]} v20, v4"]
    table = {
        "gfx9": [("s_waitcnt vmcnt(0)",) * 2 + ("s_waitcnt lgkmcnt(0)",) * 2],
        "gfx10": [("s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0",
                   "s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)"),
                  ("s_waitcnt_vmcnt null, 0x0", "s_waitcnt_vscnt null, 0x0",
                   "s_waitcnt_lgkmcnt null, 0x0",
                   "s_waitcnt_lgkmcnt null, 0x0")],
        "gfx12": [("s_wait_loadcnt 0x0", "s_wait_storecnt 0x0",
                   "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0"),
                  ("s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt_dscnt 0x0",
                   "s_wait_loadcnt_dscnt 0x0", "s_wait_kmcnt 0x0"),
                  ("s_wait_idle",) * 4],
    }
    table["gfx11"] = table["gfx10"] + [("s_wait_idle",) * 4]
    for n, (vm, vs, ds, km) in enumerate(table[g]):
        yield Program(f"wait_load_{n}", [load, vm, "v_mov_b32 v16, v16"],
                      both)
        yield Program(f"wait_store_{n}",
                      [store, vs, reload, vm, "v_mov_b32 v17, v17"], stored)
        yield Program(f"wait_lds_{n}",
                      lds_lines + [f"{lds[0]} v18, v20", ds,
                                   "v_mov_b32 v18, v18"], from_lds, lds=512)
        yield Program(f"wait_scalar_{n}", [scalar, km, "s_mov_b32 s26, s26"],
                      from_scalar)
    # The other way round: the missing wait is an error.
    yield Program("wait_missing", [load, "v_mov_b32 v17, v16"],
                  unchanged, fault="hipError", covers=[])


def ends(target):
    """A wave that ends early stores nothing: the output is still zero."""
    if target.generation == "gfx12":
        names = ["s_endpgm", "s_endpgm_saved"]
    else:
        names = ["s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"]

    def expect(wave):
        if wave.record["scc"]:
            return unchanged(wave)
        zeros = [0] * len(wave.lanes)
        return dict({f"v{16 + i}": zeros for i in range(4)}, scc=0, m0=0,
                    vcc=0, exec=0)

    def prepare(rng, wave):
        wave.record["m0"] |= 1

    for name in names:
        yield Program(f"{name}_early",
                      [f"s_cbranch_scc1 L{name}", name, f"L{name}:"], expect,
                      prepare=prepare)
    yield Program("setkill", ["s_cbranch_scc1 Lkill", "s_setkill 1", "Lkill:"],
                  expect, prepare=prepare)
    for line in ("s_trap 2", "s_sethalt 1",
                 "s_sendmsghalt sendmsg(MSG_INTERRUPT)"):
        yield Program("stops_" + line.split()[0], line, unchanged,
                      fault="hipError")
    if target.generation != "gfx9":
        yield Program("stops_code_end", "s_code_end", unchanged,
                      fault="hipError")


def registers(target):
    """MODE, field by field; other hardware registers that have a meaning."""
    g = target.generation
    for offset, size in ((0, 8), (0, 4), (4, 4), (0, 2), (2, 2), (6, 2)):
        mask = (1 << size) - 1

        def expect(wave, offset=offset, mask=mask):
            field = wave.record["s0"] & mask
            # FP_ROUND is 0, both denormal fields are 3: the frame's setting.
            return {"s26": (0xf0 & ~(mask << offset) | field << offset) &
                           0xff, "s27": field}

        hwreg = f"hwreg(HW_REG_{'WAVE_' if g == 'gfx12' else ''}MODE"
        yield Program(
            f"setreg_mode_{offset}_{size}",
            [f"s_setreg_b32 {hwreg}, {offset}, {size}), s48", "s_nop 1",
             f"s_getreg_b32 s26, {hwreg}, 0, 8)",
             f"s_getreg_b32 s27, {hwreg}, {offset}, {size})",
             f"s_setreg_imm32_b32 {hwreg}, 0, 8), 0xf0"], expect)
        yield Program(
            f"setreg_imm_mode_{offset}_{size}",
            [f"s_setreg_imm32_b32 {hwreg}, {offset}, {size}), 0x5a",
             "s_nop 1",
             f"s_getreg_b32 s26, {hwreg}, 0, 8)",
             f"s_setreg_b32 {hwreg}, 0, 8), s25"],
            lambda wave, o=offset, m=mask: {
                "s26": (0xf0 & ~(m << o) | (0x5a & m) << o) & 0xff},
            setup=["  s_movk_i32 s25, 0xf0"])
    if g != "gfx9":
        hwreg = f"hwreg(HW_REG_{'WAVE_' if g == 'gfx12' else ''}MODE, 0, 8)"
        for value in (0, 5, 10, 15):
            yield Program(f"round_mode_{value}",
                          [f"s_round_mode {value}",
                           f"s_getreg_b32 s26, {hwreg}", "s_round_mode 0"],
                          lambda wave, v=value: {"s26": 0xf0 | v})
            yield Program(f"denorm_mode_{value}",
                          [f"s_denorm_mode {value}",
                           f"s_getreg_b32 s26, {hwreg}", "s_denorm_mode 15"],
                          lambda wave, v=value: {"s26": v << 4})
    if g != "gfx12":
        # STATUS: SCC, EXECZ and VCCZ (bits 0, 9, 10).
        yield Program(
            "status", ["s_getreg_b32 s26, hwreg(HW_REG_STATUS, 0, 1)",
                       "s_getreg_b32 s27, hwreg(HW_REG_STATUS, 9, 2)"],
            lambda wave: {"s26": wave.record["scc"],
                          "s27": (wave.record["exec"] == 0) |
                                 (wave.record["vcc"] == 0) << 1},
            prepare=sometimes_zero)


def clocks(target):
    """Time does not run backwards, and something of it passes asleep."""
    later = ["s_sub_u32 s24, s26, s24", "s_subb_u32 s25, s27, s25",
             "s_lshr_b32 s25, s25, 31", "s_mov_b64 s[26:27], 0"]
    if target.generation in ("gfx9", "gfx10"):
        wait = "s_waitcnt lgkmcnt(0)"
        for name in ("s_memtime", "s_memrealtime"):
            yield Program(name, [f"{name} s[24:25]", wait, "s_sleep 1",
                                 f"{name} s[26:27]", wait] + later,
                          lambda wave: {"s25": 0})
        return
    wait = ("s_waitcnt lgkmcnt(0)" if target.generation == "gfx11" else
            "s_wait_kmcnt 0x0")
    real = "sendmsg(MSG_RTN_GET_REALTIME)"
    yield Program("sendmsg_rtn_b64",
                  [f"s_sendmsg_rtn_b64 s[24:25], {real}", wait, "s_sleep 1",
                   f"s_sendmsg_rtn_b64 s[26:27], {real}", wait] + later,
                  lambda wave: {"s25": 0})
    # The low half alone: 100 MHz wrap after 42 seconds.
    yield Program("sendmsg_rtn_b32",
                  [f"s_sendmsg_rtn_b32 s24, {real}", wait,
                   f"s_sendmsg_rtn_b32 s26, {real}", wait,
                   "s_sub_u32 s26, s26, s24", "s_lshr_b32 s26, s26, 31"],
                  lambda wave: {"s26": 0})


def barriers(target):
    """Four waves write their values to LDS and read each other's."""
    g = target.generation
    load, store = (("ds_load_b32", "ds_store_b32") if g in (
        "gfx11", "gfx12") else ("ds_read_b32", "ds_write_b32"))
    wave = target.wave
    shift = (wave * 4).bit_length() - 1
    wait = "s_wait_dscnt 0x0" if g == "gfx12" else "s_waitcnt lgkmcnt(0)"
    lines = (["s_mov_b32 m0, -1"] if g == "gfx9" else []) + [
        "v_lshrrev_b32 v20, 6, v40",
        f"v_and_b32 v20, {4 * wave - 1:#x}, v20",
        "v_lshlrev_b32 v21, 2, v20", f"{store} v21, v4", wait, None,
        f"v_add_{'u32' if g == 'gfx9' else 'nc_u32'} v21, {4 * wave}, v21",
        f"v_and_b32 v21, {16 * wave - 1:#x}, v21", f"{load} v16, v21", wait]

    def expect(group):
        values = group.values("S0")
        return {"v16": values[wave:] + values[:wave]}

    def make(name, barrier, covers):
        at = lines.index(None)
        return Program(name, lines[:at] + barrier + lines[at + 1:], expect,
                       lds=16 * wave, waves=4, full_exec=True, covers=covers)

    def named(group):
        values, old = group.values("S0"), group.values("D0")
        n = wave
        return {"v16": values[n:2 * n] + values[:n] + old[2 * n:],
                # Two members, no signal yet, valid.
                "v17": [2 << 4 | 1] * 4 * n,
                "v19": [1] * 2 * n + [7] * 2 * n}

    if g != "gfx12":
        yield make("barrier", ["s_barrier"], ["s_barrier"])
        return
    yield make("barrier", ["s_barrier_signal -1", "s_barrier_wait -1"],
               ["s_barrier_signal", "s_barrier_wait"])
    # Two of the waves join a named barrier; the other two never signal it.
    # The first of the four initialises it before the workgroup's barrier.
    yield Program(
        "barrier_named",
        ["v_readfirstlane_b32 s24, v20", f"s_lshr_b32 s24, s24, "
         f"{wave.bit_length() - 1}", f"s_and_b32 s24, s24, 3",
         "s_mov_b32 m0, 0x20003", "s_cmp_lg_u32 s24, 0",
         "s_cbranch_scc1 Linit", "s_barrier_init m0", "Linit:",
         "s_barrier_signal -1", "s_barrier_wait -1",
         "s_get_barrier_state s26, 3", "s_wait_kmcnt 0x0",
         "v_mov_b32 v17, s26", "v_mov_b32 v18, 0", "v_mov_b32 v19, 7",
         "s_barrier_signal -1", "s_barrier_wait -1",
         "s_cmp_gt_u32 s24, 1", "s_cbranch_scc1 Lothers",
         "s_barrier_join m0", f"{store} v21, v4", wait,
         "s_barrier_signal_isfirst 3", "s_cselect_b32 s26, 1, 0",
         "s_barrier_wait 1",
         f"v_xor_b32 v21, {4 * wave}, v21", f"{load} v16, v21", wait,
         "v_mov_b32 v18, s26", "s_barrier_leave", "s_cselect_b32 s26, 1, 0",
         "v_mov_b32 v19, s26", "Lothers:", "s_barrier_leave",
         "s_cselect_b32 s26, 1, 0", "v_lshl_or_b32 v19, s26, 8, v19"],
        named, lds=16 * wave, waves=4, full_exec=True,
        setup=["  v_lshrrev_b32 v20, 6, v40",
               f"  v_and_b32 v20, {4 * wave - 1:#x}, v20",
               "  v_lshlrev_b32 v21, 2, v20"],
        covers=["s_barrier_init", "s_barrier_join", "s_barrier_leave",
                "s_get_barrier_state", "s_barrier_signal_isfirst",
                "s_barrier_signal", "s_barrier_wait"])
    # One of the four waves is the first; it alone adds to LDS.
    first = Program(
        "barrier_isfirst",
        ["v_mov_b32 v20, 0", "v_mov_b32 v21, 0", f"{store} v20, v21", wait,
         "s_barrier_signal -1", "s_barrier_wait -1",
         "s_barrier_signal_isfirst -1", "s_cselect_b32 s26, 1, 0",
         "v_mov_b32 v21, s26",
         "v_cmp_eq_u32_e32 vcc_lo, 0, v0" if wave == 32 else
         "v_cmp_eq_u32_e32 vcc, 0, v0",
         "s_mov_b32 exec_lo, 1", "ds_add_u32 v20, v21", wait,
         "s_mov_b32 exec_lo, -1", "s_barrier_wait -1",
         f"{load} v16, v20", wait],
        lambda group: {"v16": [1] * len(group.lanes)}, lds=64, waves=4,
        full_exec=True, covers=["s_barrier_signal_isfirst"])
    if wave == 32:
        yield first


def subvectors(target):
    """A loop over the two halves of a wave of 64, counted in s27."""
    if target.generation not in ("gfx10", "gfx11"):
        return

    def prepare(rng, wave):
        for low in range(0, wave.size, 32):
            if rng.random() < .4:
                wave.record["exec"] &= ~(0xffffffff << low)

    def expect(wave):
        exec_mask = wave.record["exec"]
        halves = sum(exec_mask >> low & 0xffffffff != 0
                     for low in range(0, wave.size, 32))
        return {"s27": halves, "exec": exec_mask, "v16": [
            v if wave.active(i) else d for i, (v, d) in enumerate(
                zip(wave.values("S0"), wave.values("D0")))]}

    for n in range(4):
        yield Program(f"subvector_loop_{n}",
                      ["s_mov_b32 s27, 0",
                       f"s_subvector_loop_begin s24, Lend{n}", f"Lsub{n}:",
                       "s_add_u32 s27, s27, 1", "v_mov_b32 v16, v4",
                       f"s_subvector_loop_end s24, Lsub{n}", f"Lend{n}:"],
                      expect, prepare=prepare,
                      covers=["s_subvector_loop_begin",
                              "s_subvector_loop_end"])


def programs(target):
    silent = SILENT["all"] + SILENT[target.generation]
    for n, text in enumerate(silent):
        yield Program(f"silent_{n}_{text.split()[0]}", text.split("\n  "),
                      unchanged)
    for family in (branches, calls, waits, ends, registers, clocks,
                   barriers, subvectors):
        yield from family(target)
