// The state of a running wave, and the state its workgroup and launch share.
#ifndef CERBERUS_EMULATOR_EXECUTE_WAVE_H_
#define CERBERUS_EMULATOR_EXECUTE_WAVE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulator/access/memory.h"
#include "emulator/decode/op.h"
#include "emulator/emulator.h"
#include "emulator/execute/host_env.h"

namespace cerberus::emulator {

class GroupShadow;  // shadow.h
class Program;      // decode.h
struct Group;
struct Launch;

// Generations as the semantics tell them apart. Ordered.
enum class Gen : u8 {
  kGfx9,
  kGfx90a,
  kGfx940,
  kGfx950,
  kGfx10,
  kGfx11,
  kGfx12
};
inline bool IsCdna(Gen g) { return g <= Gen::kGfx950; }

// MODE register (RDNA3 ISA, section 3.3.2; CDNA3 ISA, section 3.6).
struct Mode {
  u8 round32 = 0;   // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  u8 round64 = 0;   // f64 and f16
  u8 denorm32 = 3;  // bit 0: inputs kept, bit 1: results kept
  u8 denorm64 = 3;
  bool dx10_clamp = true;
  bool ieee = true;
  bool fp16_ovfl = false;
  u32 rest = 0;  // the bits nothing here looks at

  bool flush32() const { return denorm32 != 3; }
};

// Thrown by handlers; becomes a Fault in scheduler.cc.
struct FaultError {
  std::string reason;
  int lane = -1;
  bool has_address = false;
  u64 address = 0;
  u64 lanes = 0;
};

enum class WaveState : u8 {
  kRunning,
  kBarrier,
  kYield,
  kEnded,
};

// Results still under way, for the check of missing waits.
struct Pending {
  struct Entry {
    u16 reg;
    bool vgpr;
    Wait wait;
    bool unordered;  // only waiting for all tells that it is there
    u32 halves;      // OpFlags, of the register's halves; 0: all of it
    u32 seq;
  };
  // Bytes of LDS that a load from memory writes by itself.
  struct LdsBytes {
    u64 begin, end;
    u32 seq;
  };
  std::vector<Entry> entries;
  std::vector<LdsBytes> lds;
  RegisterSet touched;  // the entries' registers
  u32 vm_issued = 0, vm_done = 0;
  u32 lds_issued = 0, lds_done = 0;
  u32 smem_issued = 0, smem_done = 0;
};

// What a CDNA wave issued last, for the check of wait states.
struct Hazards {
  struct Issued {
    const Op* op;
    u64 at;
  };
  std::array<Issued, 32> recent;
  u64 count = 0;
  u64 now = 0;           // wait states so far
  u64 until = 0;         // nothing that was issued matters from then on
  u64 until_matrix = 0;  // nor do matrix instructions
};

// A loop that changed no register when the wave last went round it: the wave
// waits for what others write.
struct Spin {
  const Op* at = nullptr;
  u64 length = 0;  // instructions; 0: it does not wait
  u64 state = 0;   // digest of the registers at `at`
};

struct Wave {
  // The next instruction; handlers that jump overwrite it.
  const Op* next = nullptr;
  const Op* current = nullptr;
  WaveState state = WaveState::kRunning;
  u32 lanes = 32;
  u32 scc = 0;
  u32* vgpr = nullptr;  // register r of lane l: vgpr[r * lanes + l]
  u32 vgpr_count = 256;
  Mode mode;
  Gen gen = Gen::kGfx11;
  Program* program = nullptr;
  Group* group = nullptr;
  Launch* launch = nullptr;
  u8* lds = nullptr;
  u32 lds_size = 0;
  u8* scratch = nullptr;  // lane l's private memory: scratch + l * stride
  u32 scratch_stride = 0;
  u32 index_in_group = 0;
  u64 instructions = 0;
  u64 clock_reads = 0;
  // The counter of cycles. `instructions` stands still within a quantum, a
  // clock does not.
  u64 Clock() { return instructions + ++clock_reads; }
  u64 budget = 0;
  MemoryView memory;
  Pending pending;
  Hazards hazards;
  bool check_waits = false;
  bool check_hazards = false;
  bool counting = false;          // counters are asked for
  GroupShadow* shadow = nullptr;  // the group's, if memory is checked
  u32 gpr_index_mode = 0;         // gfx9's s_set_gpr_idx_on
  u32 barrier_signalled = 0;      // gfx12 split barriers
  u32 barrier_generation = 0;
  u32 named_barrier = 0;  // the one the wave has joined; 0: none
  bool named_complete = false;
  Spin spin;
  u32 turns_used_up = 0;
  // While it waits at a resource of global wave sync: the phase it waits in.
  std::optional<u64> gws_phase;

  alignas(64) u32 sgpr[kNumSlots] = {};
  alignas(64) u32 mask[64] = {};  // EXEC as all-ones or 0 per lane
  u64 mask_exec = ~u64{0};        // the EXEC `mask` was made from
  bool mask_valid = false;
  // The host's control register for each Env, from MODE, and as it stands.
  u32 mxcsr_for[4] = {};
  u32 mxcsr = kMxcsrDefault;

  u32* Row(u32 reg) { return vgpr + static_cast<std::size_t>(reg) * lanes; }
  // CDNA's accumulation registers stand behind the others.
  u32* Vgpr(const Operand& o) { return Row(o.reg); }
  u64 LaneBits() const { return lanes == 64 ? ~u64{0} : 0xffffffffu; }
  u64 S64(u32 slot) const {
    return sgpr[slot] | static_cast<u64>(sgpr[slot + 1]) << 32;
  }
  void SetS64(u32 slot, u64 v) {
    sgpr[slot] = static_cast<u32>(v);
    sgpr[slot + 1] = static_cast<u32>(v >> 32);
  }
  u64 Exec() const { return S64(kExec) & LaneBits(); }
  void SetExec(u64 v) {
    if (lanes == 64) SetS64(kExec, v);
    else sgpr[kExec] = static_cast<u32>(v);
  }
  u64 Vcc() const { return S64(kVcc) & LaneBits(); }
  // A lane mask in scalar registers, as wide as the wave.
  u64 MaskAt(u32 slot) const { return lanes == 64 ? S64(slot) : sgpr[slot]; }
  void SetMaskAt(u32 slot, u64 v) {
    if (lanes == 64) SetS64(slot, v);
    else sgpr[slot] = static_cast<u32>(v);
  }
  const u32* ExecMask() {
    const u64 exec = Exec();
    if (exec != mask_exec || !mask_valid) ExpandExec(exec);
    return mask;
  }
  // The same as lane loops want it: null if all lanes are active.
  const u32* LaneMask() { return Exec() == LaneBits() ? nullptr : ExecMask(); }
  void ExpandExec(u64 exec);
};

[[noreturn]] void Throw(std::string reason);
[[noreturn]] void ThrowAt(std::string reason, int lane, u64 address);

// The value of a scalar source: SGPR, constant or special register.
u32 ReadScalar(const Wave& w, const Operand& o);
u64 ReadScalar64(const Wave& w, const Operand& o);
void WriteScalar(Wave& w, const Operand& o, u32 v);
void WriteScalar64(Wave& w, const Operand& o, u64 v);

// A source as one u32 per lane (for 64-bit types a second row behind it):
// a pointer into the register file or a filled `buffer` of 128 words.
const u32* ScalarRow(Wave& w, const Operand& o, u32* buffer);
inline const u32* SourceRow(Wave& w, const Operand& o, u32* buffer) {
  if (o.kind == Kind::kVgpr) return w.Vgpr(o);
  return o.kind == Kind::kImm ? o.row : ScalarRow(w, o, buffer);
}

u32 ModeBits(const Wave& w);
void SetModeBits(Wave& w, u32 bits);
// Makes the host's rounding and denormal handling those of `env`, until
// ResetEnv.
inline void ApplyEnv(Wave& w, Env env) {
  const u32 want = w.mxcsr_for[static_cast<int>(env)];
  if (want == w.mxcsr) return;
  WriteMxcsr(want);
  w.mxcsr = want;
}
// The host's own rounding: when a wave starts or stops running.
inline void ResetEnv(Wave& w) {
  if (w.mxcsr != kMxcsrDefault) WriteMxcsr(kMxcsrDefault);
  w.mxcsr = kMxcsrDefault;
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_WAVE_H_
