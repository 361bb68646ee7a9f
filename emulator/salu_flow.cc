// Scalar instructions that steer a wave: branches and calls, hardware
// registers, waits, messages, barriers (RDNA3 ISA, sections 16.4 and 16.5).
#include <fmt/format.h>

#include "emulator/launch.h"
#include "emulator/salu.h"

namespace cerberus::emulator {
namespace {

// --- control flow ---------------------------------------------------------

void Jump(Wave& w, u64 address) {
  if ((address & 3) != 0) {
    ThrowAt("jump to an unaligned address", -1, address);
  }
  if (!w.program->Contains(address)) {
    Program* p = w.launch->FindProgram(address, w.lanes);
    if (p == nullptr) ThrowAt("jump outside any code object", -1, address);
    w.program = p;
  }
  w.next = w.program->At(address);
}
u64 AfterThis(const Sx& s) {
  return s.w.program->AddressOf(&s.op) + 4u * s.op.dwords;
}
// Branch distances are in words from the next instruction.
void Branch(const Sx& s, u32 imm) {
  const i64 words = static_cast<i16>(imm);
  Jump(s.w, AfterThis(s) + static_cast<u64>(4 * words));
}
#define CERBERUS_BRANCH(name, condition)                       \
  {name, S<[](const Sx& s, u32 imm) {                          \
     if (condition) Branch(s, imm);                            \
   }>(Type::kNone, OpClass::kBranch)}

// --- hardware registers ---------------------------------------------------

// Names as LLVM prints them; the numbers differ by generation.
u32 ReadHwReg(Wave& w, std::string_view name) {
  if (name == "HW_REG_MODE" || name == "HW_REG_WAVE_MODE") return ModeBits(w);
  if (name == "HW_REG_STATUS" || name == "HW_REG_WAVE_STATUS" ||
      name == "HW_REG_STATE_PRIV" || name == "HW_REG_WAVE_STATE_PRIV") {
    return w.scc | (w.Exec() == 0 ? 1u << 9 : 0) |
           (w.Vcc() == 0 ? 1u << 10 : 0) | 1u << 16;
  }
  if (name == "HW_REG_LDS_ALLOC") return ((w.lds_size + 511) / 512) << 12;
  if (name == "HW_REG_SHADER_CYCLES" || name == "HW_REG_SHADER_CYCLES_LO") {
    return static_cast<u32>(w.instructions);
  }
  if (name == "HW_REG_SHADER_CYCLES_HI") {
    return static_cast<u32>(w.instructions >> 32);
  }
  if (name == "HW_REG_FLAT_SCR_LO" || name == "HW_REG_WAVE_SCRATCH_BASE_LO") {
    return w.sgpr[kFlatScratch];
  }
  if (name == "HW_REG_FLAT_SCR_HI" || name == "HW_REG_WAVE_SCRATCH_BASE_HI") {
    return w.sgpr[kFlatScratch + 1];
  }
  if (name == "HW_REG_HW_ID" || name == "HW_REG_HW_ID1" ||
      name == "HW_REG_WAVE_HW_ID1") {
    return w.index_in_group & 31;
  }
  // M0-like registers nobody computes with: trap state, performance data.
  return 0;
}
void WriteHwReg(Wave& w, std::string_view name, u32 v) {
  if (name == "HW_REG_MODE" || name == "HW_REG_WAVE_MODE") {
    SetModeBits(w, v);
  } else if (name == "HW_REG_FLAT_SCR_LO") {
    w.sgpr[kFlatScratch] = v;
  } else if (name == "HW_REG_FLAT_SCR_HI") {
    w.sgpr[kFlatScratch + 1] = v;
  }
}

struct HwReg {
  std::string_view name;
  u32 offset = 0, size = 32;
};
// "hwreg(HW_REG_MODE, 4, 2)"
HwReg ParseHwReg(std::string_view s) {
  HwReg r;
  const std::size_t open = s.find('('), close = s.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return r;
  }
  s = s.substr(open + 1, close - open - 1);
  const std::size_t comma = s.find(',');
  r.name = s.substr(0, comma);
  if (comma != std::string_view::npos) {
    std::string list = "[";
    list += s.substr(comma + 1);
    list += "]";
    const std::vector<int> n = ParseList(list);
    if (n.size() == 2 && n[0] >= 0 && n[0] < 32 && n[1] > 0 && n[1] <= 32) {
      r.offset = static_cast<u32>(n[0]);
      r.size = static_cast<u32>(n[1]);
    }
  }
  return r;
}
u32 FieldMask(const HwReg& r) {
  return r.size >= 32 ? ~0u : (1u << r.size) - 1;
}
void GetReg(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.size() < 2) Throw("malformed s_getreg");
  const HwReg r = ParseHwReg(t.operands[1]);
  const Operand dst = w.program->ParseOperand(t.operands[0], Type::kB32);
  WriteScalar(w, dst, ReadHwReg(w, r.name) >> r.offset & FieldMask(r));
}
void SetReg(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.size() < 2) Throw("malformed s_setreg");
  const HwReg r = ParseHwReg(t.operands[0]);
  u32 v = 0;
  i64 imm = 0;
  if (ParseInt(t.operands[1], &imm)) {
    v = static_cast<u32>(imm);
  } else {
    v = ReadScalar(w, w.program->ParseOperand(t.operands[1], Type::kB32));
  }
  const u32 m = FieldMask(r) << r.offset;
  WriteHwReg(w, r.name,
             (ReadHwReg(w, r.name) & ~m) | (v << r.offset & m));
}

// --- waits and messages ---------------------------------------------------

void WaitCounts(Wave& w, const Op& op) {
  if (w.check_waits) w.launch->Waited(w, op);
}
void SendMessage(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  // The only messages a compute kernel sends: interrupt the host (nobody
  // listens) and give registers back early.
  (void)w;
  (void)t;
}
void SendMessageReturn(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.empty()) Throw("malformed s_sendmsg_rtn");
  const bool wide = t.mnemonic.ends_with("b64");
  const Operand dst =
      w.program->ParseOperand(t.operands[0], wide ? Type::kB64 : Type::kB32);
  u64 v = 0;
  if (t.rest.find("REALTIME") != std::string::npos) v = w.launch->RealTime();
  if (wide) WriteScalar64(w, dst, v);
  else WriteScalar(w, dst, static_cast<u32>(v));
}
void Trap(Wave&, const Op& op) {
  Throw("s_trap " + TextOf(op).rest);
}
void EndProgram(Wave& w, const Op&) { w.state = WaveState::kEnded; }
void Barrier(Wave& w, const Op&) { w.state = WaveState::kBarrier; }
void Sleep(Wave& w, const Op&) { w.state = WaveState::kYield; }
void Nothing(Wave&, const Op&) {}

// gfx12's split barriers: signal counts, wait blocks until all have
// signalled. A wait's `next` stays on itself until then.
void BarrierSignal(Wave& w, const Op& op) {
  if (TextOf(op).mnemonic.find("isfirst") != std::string::npos) {
    w.scc = w.group->signalled == 0 ? 1 : 0;
  }
  w.barrier_generation = w.launch->SignalBarrier(w);
}
void BarrierWait(Wave& w, const Op& op) {
  if (!w.launch->BarrierDone(w)) {
    w.next = &op;
    w.state = WaveState::kYield;
  }
}
// gfx9's register indexing ("VGPR Indexing"): until s_set_gpr_idx_off, M0[7:0]
// is added to the vector registers that the mode bits name (1: source 0, 2:
// source 1, 4: source 2, 8: destination). Vector instructions between the two
// are run here, on copies with other register numbers, so that all others need
// not look.
// gfx9's register indexing: while it is on, M0[7:0] is added to the VGPR
// numbers that M0[15:12] chooses: bit 0 to 2 the sources, bit 3 the result
// (CDNA3 ISA, S_SET_GPR_IDX_ON).
void GprIndexMode(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.mnemonic == "s_set_gpr_idx_off") {
    w.gpr_index_mode = 0;
    return;
  }
  u32& m0 = w.sgpr[kM0];
  const auto names = [&t] {
    static constexpr std::string_view kNames[] = {"SRC0", "SRC1", "SRC2",
                                                  "DST"};
    u32 bits = 0;
    for (u32 i = 0; i < 4; ++i) {
      if (t.rest.find(kNames[i]) != std::string::npos) bits |= 1u << i;
    }
    return bits;
  };
  if (t.mnemonic != "s_set_gpr_idx_mode") {
    if (t.operands.empty()) Throw("malformed s_set_gpr_idx");
    i64 number = 0;
    const u32 index =
        ParseInt(t.operands[0], &number)
            ? static_cast<u32>(number)
            : ReadScalar(w, w.program->ParseOperand(t.operands[0],
                                                    Type::kB32));
    m0 = (m0 & ~0xffu) | (index & 0xff);
  }
  if (t.mnemonic != "s_set_gpr_idx_idx") {
    m0 = (m0 & ~0xf000u) | names() << 12;
  }
  if (t.mnemonic == "s_set_gpr_idx_on") w.gpr_index_mode = 1;
}

const Row kRows[] = {
    {"s_rfe_restore_b64", Raw(ExecUnimplemented)},
    {"s_rfe_b64", Raw(ExecUnimplemented)},
    {"s_getpc_b64", S<[](const Sx& s) -> u64 { return AfterThis(s); }>(
                        Type::kNone, OpClass::kBranch)},
    {"s_setpc_b64", S<[](const Sx& s, u64 a) { Jump(s.w, a); }>(
                        Type::kNone, OpClass::kBranch)},
    {"s_swappc_b64", S<[](const Sx& s, u64 a) -> u64 {
       Jump(s.w, a);
       return AfterThis(s);
     }>(Type::kNone, OpClass::kBranch)},
    {"s_call_b64", S<[](const Sx& s, u32 imm) -> u64 {
       const u64 back = AfterThis(s);
       Branch(s, imm);
       return back;
     }>(Type::kNone, OpClass::kBranch)},
    CERBERUS_BRANCH("s_branch", true),
    CERBERUS_BRANCH("s_cbranch_scc0", s.scc() == 0),
    CERBERUS_BRANCH("s_cbranch_scc1", s.scc() != 0),
    CERBERUS_BRANCH("s_cbranch_vccz", s.w.Vcc() == 0),
    CERBERUS_BRANCH("s_cbranch_vccnz", s.w.Vcc() != 0),
    CERBERUS_BRANCH("s_cbranch_execz", s.w.Exec() == 0),
    CERBERUS_BRANCH("s_cbranch_execnz", s.w.Exec() != 0),
    // Conditional debug is never on.
    CERBERUS_BRANCH("s_cbranch_cdbgsys", false),
    CERBERUS_BRANCH("s_cbranch_cdbguser", false),
    CERBERUS_BRANCH("s_cbranch_cdbgsys_or_user", false),
    CERBERUS_BRANCH("s_cbranch_cdbgsys_and_user", false),
    {"s_subvector_loop_begin", Raw(ExecUnimplemented)},
    {"s_subvector_loop_end", Raw(ExecUnimplemented)},

    {"s_getreg_b32", Raw(GetReg, OpClass::kSalu)},
    {"s_setreg_b32", Raw(SetReg, OpClass::kSalu)},
    {"s_setreg_imm32_b32", Raw(SetReg, OpClass::kSalu)},
    {"s_round_mode", S<[](const Sx& s, u32 imm) {
       SetModeBits(s.w, (ModeBits(s.w) & ~15u) | (imm & 15));
     }>()},
    {"s_denorm_mode", S<[](const Sx& s, u32 imm) {
       SetModeBits(s.w, (ModeBits(s.w) & ~0xf0u) | (imm & 15) << 4);
     }>()},
    {"s_version", Raw(Nothing, OpClass::kOther)},
    {"s_nop", Raw(Nothing, OpClass::kOther)},
    {"s_clause", Raw(Nothing, OpClass::kOther)},
    {"s_delay_alu", Raw(Nothing, OpClass::kOther)},
    {"s_code_end", Raw(ExecIllegal, OpClass::kOther)},
    {"s_inst_prefetch", Raw(Nothing, OpClass::kOther)},
    {"s_set_inst_prefetch_distance", Raw(Nothing, OpClass::kOther)},
    {"s_setprio", Raw(Nothing, OpClass::kOther)},
    {"s_sethalt", Raw(Nothing, OpClass::kOther)},
    {"s_setkill", Raw(EndProgram, OpClass::kOther)},
    {"s_incperflevel", Raw(Nothing, OpClass::kOther)},
    {"s_decperflevel", Raw(Nothing, OpClass::kOther)},
    {"s_ttracedata", Raw(Nothing, OpClass::kOther)},
    {"s_ttracedata_imm", Raw(Nothing, OpClass::kOther)},
    {"s_icache_inv", Raw(Nothing, OpClass::kOther)},
    {"s_dcache_inv", Raw(Nothing, OpClass::kOther)},
    {"s_dcache_wb", Raw(Nothing, OpClass::kOther)},
    {"s_dcache_inv_vol", Raw(Nothing, OpClass::kOther)},
    {"s_dcache_wb_vol", Raw(Nothing, OpClass::kOther)},
    {"s_gl1_inv", Raw(Nothing, OpClass::kOther)},
    {"s_prefetch_inst", Raw(Nothing, OpClass::kSmem)},
    {"s_prefetch_inst_pc_rel", Raw(Nothing, OpClass::kSmem)},
    {"s_prefetch_data", Raw(Nothing, OpClass::kSmem)},
    {"s_prefetch_data_pc_rel", Raw(Nothing, OpClass::kSmem)},
    {"s_buffer_prefetch_data", Raw(Nothing, OpClass::kSmem)},
    {"s_wakeup", Raw(Nothing)},
    {"s_waitcnt", Raw(WaitCounts)},
    {"s_waitcnt_vmcnt", Raw(WaitCounts)},
    {"s_waitcnt_vscnt", Raw(WaitCounts)},
    {"s_waitcnt_lgkmcnt", Raw(WaitCounts)},
    {"s_waitcnt_expcnt", Raw(WaitCounts)},
    {"s_waitcnt_depctr", Raw(Nothing)},
    {"s_wait_alu", Raw(Nothing)},
    {"s_wait_idle", Raw(WaitCounts)},
    {"s_wait_event", Raw(Nothing)},
    {"s_wait_loadcnt", Raw(WaitCounts)},
    {"s_wait_storecnt", Raw(WaitCounts)},
    {"s_wait_samplecnt", Raw(WaitCounts)},
    {"s_wait_bvhcnt", Raw(WaitCounts)},
    {"s_wait_expcnt", Raw(WaitCounts)},
    {"s_wait_dscnt", Raw(WaitCounts)},
    {"s_wait_kmcnt", Raw(WaitCounts)},
    {"s_wait_loadcnt_dscnt", Raw(WaitCounts)},
    {"s_wait_storecnt_dscnt", Raw(WaitCounts)},
    {"s_sendmsg", Raw(SendMessage)},
    {"s_sendmsghalt", Raw(SendMessage)},
    {"s_sendmsg_rtn_b32", Raw(SendMessageReturn)},
    {"s_sendmsg_rtn_b64", Raw(SendMessageReturn)},
    {"s_trap", Raw(Trap)},
    {"s_endpgm", Raw(EndProgram)},
    {"s_endpgm_saved", Raw(EndProgram)},
    {"s_endpgm_ordered_ps_done", Raw(EndProgram)},
    {"s_barrier", Raw(Barrier)},
    {"s_barrier_signal", Raw(BarrierSignal)},
    {"s_barrier_signal_isfirst", Raw(BarrierSignal)},
    {"s_barrier_wait", Raw(BarrierWait)},
    {"s_barrier_leave", Raw(Nothing)},
    {"s_sleep", Raw(Sleep)},
    {"s_sleep_var", Raw(Sleep)},
    {"s_set_gpr_idx_on", Raw(GprIndexMode)},
    {"s_set_gpr_idx_on", Raw(GprIndexMode)},
    {"s_set_gpr_idx_off", Raw(GprIndexMode)},
    {"s_set_gpr_idx_idx", Raw(GprIndexMode)},
    {"s_set_gpr_idx_mode", Raw(GprIndexMode)},
    {"s_set_gpr_idx_mode", Raw(GprIndexMode)},
    {"s_set_gpr_idx_idx", Raw(GprIndexMode)},
};

}  // namespace

std::span<const Row> SaluFlowRows() { return kRows; }

}  // namespace cerberus::emulator
