// Scalar instructions that steer a wave: branches and calls, hardware
// registers, waits, messages, barriers (RDNA3 ISA, sections 16.4 and 16.5).
#include <fmt/format.h>

#include "emulator/access/shadow.h"
#include "emulator/device/device.h"
#include "emulator/device/launch.h"
#include "emulator/execute/salu.h"

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
// LLVM counts the s_branch at a block's end as a wait state also on the way of
// the conditional branch before it, and a branch that is taken lasts longer
// than both.
void BranchIf(const Sx& s, bool taken, u32 imm) {
  if (!taken) return;
  Branch(s, imm);
  s.w.hazards.now += 1;
}
#define CERBERUS_BRANCH(name, condition)                               \
  {name, S<[](const Sx& s, u32 imm) { BranchIf(s, condition, imm); }>( \
             Type::kNone, OpClass::kBranch)}

// --- hardware registers ---------------------------------------------------

// Names as LLVM prints them; the numbers differ by generation.
u32 ReadHwReg(Wave& w, std::string_view name) {
  if (name == "HW_REG_MODE" || name == "HW_REG_WAVE_MODE") return ModeBits(w);
  if (name == "HW_REG_STATE_PRIV" || name == "HW_REG_WAVE_STATE_PRIV") {
    return w.scc << 9;
  }
  if (name == "HW_REG_STATUS" || name == "HW_REG_WAVE_STATUS") {
    return w.scc | (w.Exec() == 0 ? 1u << 9 : 0) |
           (w.Vcc() == 0 ? 1u << 10 : 0) | 1u << 16;
  }
  if (name == "HW_REG_LDS_ALLOC" || name == "HW_REG_WAVE_LDS_ALLOC") {
    return ((w.lds_size + 511) / 512) << 12;
  }
  // The apertures' upper 16 bits: private, shared.
  if (name == "HW_REG_SH_MEM_BASES") {
    return static_cast<u32>(kPrivateAperture >> 48) |
           static_cast<u32>(kSharedAperture >> 48) << 16;
  }
  if (name == "HW_REG_SHADER_CYCLES" || name == "HW_REG_SHADER_CYCLES_LO") {
    return static_cast<u32>(w.Clock());
  }
  if (name == "HW_REG_SHADER_CYCLES_HI") {
    return static_cast<u32>(w.Clock() >> 32);
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
  // One die, one queue.
  if (name == "HW_REG_XCC_ID" || name == "HW_REG_HW_ID2" ||
      name == "HW_REG_WAVE_HW_ID2") {
    return 0;
  }
  Throw(fmt::format("the emulator does not keep {}", name));
}
void WriteHwReg(Wave& w, std::string_view name, u32 v) {
  if (name == "HW_REG_MODE" || name == "HW_REG_WAVE_MODE") {
    SetModeBits(w, v);
  } else if (name == "HW_REG_FLAT_SCR_LO") {
    w.sgpr[kFlatScratch] = v;
  } else if (name == "HW_REG_FLAT_SCR_HI") {
    w.sgpr[kFlatScratch + 1] = v;
  } else {
    Throw(fmt::format("the emulator does not keep {}", name));
  }
}
// Writing what records or enables exceptions changes nothing that a kernel
// sees: no trap handler is installed, and reading the records is an error. Nor
// does which dependencies the hardware waits for by itself (RDNA4 ISA,
// "WAVE_SCHED_MODE"): results are there at once here.
bool HasNoEffect(std::string_view name) {
  return name == "HW_REG_WAVE_SCHED_MODE" || name == "HW_REG_TRAPSTS" ||
         name == "HW_REG_EXCP_FLAG_USER" || name == "HW_REG_EXCP_FLAG_PRIV" ||
         name == "HW_REG_TRAP_CTRL" || name == "HW_REG_WAVE_EXCP_FLAG_USER" ||
         name == "HW_REG_WAVE_EXCP_FLAG_PRIV" ||
         name == "HW_REG_WAVE_TRAP_CTRL";
}

// The number in an instruction's text, or what a register holds there.
u32 NumberOf(Wave& w, std::string_view text) {
  i64 number = 0;
  if (ParseInt(text, &number)) return static_cast<u32>(number);
  return ReadScalar(w, w.program->ParseOperand(text, Type::kB32));
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
  if (HasNoEffect(r.name)) return;
  const u32 v = NumberOf(w, t.operands[1]);
  const u32 m = FieldMask(r) << r.offset;
  WriteHwReg(w, r.name, (ReadHwReg(w, r.name) & ~m) | (v << r.offset & m));
}

// --- waits and messages ---------------------------------------------------

void WaitCounts(Wave& w, const Op& op) {
  if (w.check_waits) w.launch->Waited(w, op);
}
void SendMessage(Wave& w, const Op& op) {
  // The only messages a compute kernel sends: interrupt the host, which is 1,
  // and give registers back early.
  const std::string& message = TextOf(op).rest;
  if (message.find("INTERRUPT") != std::string::npos) {
    w.launch->device->Interrupt();
  }
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
void Trap(Wave&, const Op& op) { Throw("s_trap " + TextOf(op).rest); }
// A halted wave waits for a debugger, which never comes.
void Halt(Wave& w, const Op& op) {
  if (TextOf(op).mnemonic == "s_sendmsghalt") SendMessage(w, op);
  else if ((NumberOf(w, TextOf(op).rest) & 1) == 0) return;
  Throw("the wave halts and nobody resumes it");
}
void EndProgram(Wave& w, const Op&) { w.state = WaveState::kEnded; }
void SetKill(Wave& w, const Op& op) {
  if ((NumberOf(w, TextOf(op).rest) & 1) != 0) w.state = WaveState::kEnded;
}
void Barrier(Wave& w, const Op&) { w.state = WaveState::kBarrier; }
void Sleep(Wave& w, const Op&) { w.state = WaveState::kYield; }
void Nothing(Wave&, const Op&) {}

// gfx12's split barriers: signal counts, wait blocks until all have
// signalled. A wait's `next` stays on itself until then. Barrier -1 is the
// workgroup's; 1 to 16 are named ones that waves join (RDNA4 ISA,
// S_BARRIER_SIGNAL; LLVM, AMDGPUExecutionSynchronization).
constexpr i32 kWorkgroupBarrier = -1;

// From an operand: an inline constant, or M0[4:0].
i32 BarrierNumber(Wave& w, std::string_view text) {
  const u32 n = NumberOf(w, text);
  return static_cast<i32>(text == "m0" ? n & 31 : n);
}
NamedBarrier* FindNamed(Wave& w, i32 number) {
  if (number == 0) return nullptr;  // the barrier that does nothing
  if (number < 0 || number > static_cast<i32>(Group::kNamedBarriers)) {
    Throw(fmt::format("there is no barrier {}", number));
  }
  return &w.group->named[static_cast<u32>(number - 1)];
}
// Opens a named barrier for its members once all have signalled.
void CheckNamed(Wave& w, i32 number) {
  NamedBarrier& b = *FindNamed(w, number);
  if (b.signals == 0 || b.signals < b.members) return;
  b.signals = 0;
  for (const auto& other : w.group->waves) {
    if (other->named_barrier == static_cast<u32>(number)) {
      other->named_complete = true;
    }
  }
  w.launch->progress.fetch_add(1, std::memory_order_relaxed);
}
void BarrierSignal(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  const bool is_first = t.mnemonic.find("isfirst") != std::string::npos;
  if (t.operands.empty()) Throw("malformed s_barrier_signal");
  const i32 number = BarrierNumber(w, t.operands[0]);
  if (number == kWorkgroupBarrier) {
    if (is_first) w.scc = w.group->signalled == 0 ? 1 : 0;
    if (w.shadow != nullptr) w.shadow->Arrive(w.index_in_group);
    w.barrier_generation = w.launch->SignalBarrier(w);
    return;
  }
  // Barrier -2 is for trap handlers; 0 does nothing.
  NamedBarrier* const b = number < 0 ? nullptr : FindNamed(w, number);
  if (is_first) w.scc = b != nullptr && b->signals == 0 ? 1 : 0;
  if (b == nullptr) return;
  ++b->signals;
  CheckNamed(w, number);
}
void BarrierWait(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.empty()) Throw("malformed s_barrier_wait");
  i64 number = 0;
  ParseInt(t.operands[0], &number);
  number = static_cast<i16>(number);
  if (number >= 0) {  // the named barrier that the wave has joined
    if (w.named_complete) {
      w.named_complete = false;
      return;
    }
    if (w.named_barrier == 0) Throw("the wave has joined no named barrier");
  } else if (number != kWorkgroupBarrier || w.launch->BarrierDone(w)) {
    if (w.shadow != nullptr) w.shadow->Leave(w.index_in_group);
    return;
  }
  w.next = &op;
  w.state = WaveState::kYield;
}
// M0 holds the number in bits 4:0 and the count of members in 22:16.
void BarrierInit(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.empty()) Throw("malformed s_barrier_init");
  NamedBarrier* const b = FindNamed(w, BarrierNumber(w, t.operands[0]));
  if (b == nullptr) return;
  *b = {0, w.sgpr[kM0] >> 16 & 0x7f, true};
}
void BarrierJoin(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.empty()) Throw("malformed s_barrier_join");
  const i32 number = BarrierNumber(w, t.operands[0]);
  NamedBarrier* const b = FindNamed(w, number);
  if (b != nullptr && !b->valid) Throw("the barrier is not initialised");
  w.named_barrier = static_cast<u32>(number);
  w.named_complete = false;
}
void BarrierLeave(Wave& w, const Op&) {
  w.scc = w.named_barrier != 0 ? 1 : 0;
  if (w.named_barrier == 0) return;
  const i32 number = static_cast<i32>(w.named_barrier);
  NamedBarrier& b = *FindNamed(w, number);
  if (b.members != 0) --b.members;
  w.named_barrier = 0;
  w.named_complete = false;
  CheckNamed(w, number);
}
void BarrierState(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.size() < 2) Throw("malformed s_get_barrier_state");
  const i32 number = BarrierNumber(w, t.operands[1]);
  NamedBarrier state;
  if (number == kWorkgroupBarrier) {
    state = {w.group->signalled, w.group->alive, true};
  } else if (const NamedBarrier* const b = FindNamed(w, number)) {
    state = *b;
  }
  WriteScalar(
      w, w.program->ParseOperand(t.operands[0], Type::kB32),
      state.signals << 16 | state.members << 4 | (state.valid ? 1u : 0u));
}

// A block of code run for the low and then for the high 32 lanes of a wave
// of 64; a register keeps the half of EXEC that waits (RDNA2 ISA,
// S_SUBVECTOR_LOOP_BEGIN and _END).
void JumpWords(Wave& w, const Op& op, std::string_view words) {
  i64 n = 0;
  ParseInt(words, &n);
  Jump(w, w.program->AddressOf(&op) + 4u * op.dwords +
              static_cast<u64>(4 * i64{static_cast<i16>(n)}));
}
void SubvectorLoop(Wave& w, const Op& op) {
  const Text& t = TextOf(op);
  if (t.operands.size() < 2) Throw("malformed s_subvector_loop");
  const Operand kept = w.program->ParseOperand(t.operands[0], Type::kB32);
  u32& low = w.sgpr[kExec];
  u32& high = w.sgpr[kExec + 1];
  const bool wide = w.lanes == 64;
  const bool any_high = wide && high != 0;
  if (t.mnemonic == "s_subvector_loop_begin") {
    if (low == 0 && !any_high) {
      JumpWords(w, op, t.operands[1]);
    } else if (low == 0) {
      WriteScalar(w, kept, low);
    } else {
      WriteScalar(w, kept, wide ? high : 0);
      if (wide) high = 0;
    }
    return;
  }
  const u32 other = ReadScalar(w, kept);
  if (any_high) {
    low = other;
  } else if (other != 0) {
    high = other;
    WriteScalar(w, kept, low);
    low = 0;
    JumpWords(w, op, t.operands[1]);
  }
}
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
    m0 = (m0 & ~0xffu) | (NumberOf(w, t.operands[0]) & 0xff);
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
    {"s_branch", S<Branch>(Type::kNone, OpClass::kBranch)},
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
    {"s_subvector_loop_begin", Raw(SubvectorLoop, OpClass::kBranch)},
    {"s_subvector_loop_end", Raw(SubvectorLoop, OpClass::kBranch)},

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
    {"s_sethalt", Raw(Halt, OpClass::kOther)},
    {"s_setkill", Raw(SetKill, OpClass::kOther)},
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
    {"s_waitcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_waitcnt_vmcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_waitcnt_vscnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_waitcnt_lgkmcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_waitcnt_expcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_waitcnt_depctr", Raw(Nothing, OpClass::kWait)},
    {"s_wait_alu", Raw(Nothing, OpClass::kWait)},
    {"s_wait_idle", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_event", Raw(Nothing, OpClass::kWait)},
    {"s_wait_loadcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_storecnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_samplecnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_bvhcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_expcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_dscnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_kmcnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_loadcnt_dscnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_wait_storecnt_dscnt", Raw(WaitCounts, OpClass::kWait)},
    {"s_sendmsg", Raw(SendMessage)},
    {"s_sendmsghalt", Raw(Halt)},
    {"s_sendmsg_rtn_b32", Raw(SendMessageReturn)},
    {"s_sendmsg_rtn_b64", Raw(SendMessageReturn)},
    {"s_trap", Raw(Trap)},
    {"s_endpgm", Raw(EndProgram, OpClass::kOther)},
    {"s_endpgm_saved", Raw(EndProgram)},
    {"s_endpgm_ordered_ps_done", Raw(EndProgram)},
    {"s_barrier", Raw(Barrier, OpClass::kBarrier)},
    {"s_barrier_signal", Raw(BarrierSignal, OpClass::kBarrier)},
    {"s_barrier_signal_isfirst", Raw(BarrierSignal, OpClass::kBarrier)},
    {"s_barrier_wait", Raw(BarrierWait, OpClass::kBarrier)},
    {"s_barrier_init", Raw(BarrierInit, OpClass::kBarrier)},
    {"s_barrier_join", Raw(BarrierJoin, OpClass::kBarrier)},
    {"s_barrier_leave", Raw(BarrierLeave, OpClass::kBarrier)},
    {"s_get_barrier_state", Raw(BarrierState, OpClass::kBarrier)},
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
