// What the memory instructions of all encodings have in common: which bytes
// move, how they are converted, which atomic operation is done.
#ifndef CERBERUS_EMULATOR_ACCESS_MEMOP_H_
#define CERBERUS_EMULATOR_ACCESS_MEMOP_H_

#include <bit>
#include <string_view>

#include "emulator/execute/wave.h"

namespace cerberus::emulator {

enum class MemKind : u8 { kLoad, kStore, kAtomic };
enum class Atomic : u8 {
  kNone,
  kSwap,
  kCmpSwap,
  kAdd,
  kSub,
  kRsub,
  kMinI,
  kMaxI,
  kMinU,
  kMaxU,
  kAnd,
  kOr,
  kXor,
  kInc,
  kDec,
  kAddF,
  kMinF,
  kMaxF,
  kMinNumF,
  kMaxNumF,
  kPkAddF16,
  kPkAddBf16,
  kCondSub,
  kSubClamp,
  kMskOr,
  kCmpSwapF,
  kOrderedAdd,
  kWrap,
};

struct MemOp {
  MemKind kind = MemKind::kLoad;
  Atomic atomic = Atomic::kNone;
  u8 bytes = 4;       // per element in memory
  bool sign = false;  // loads of 1 and 2 bytes
  bool d16 = false;   // result in half a register, the rest kept
  bool hi = false;    // d16: the upper half
  bool returns = false;
  u8 regs() const { return static_cast<u8>((bytes + 3) / 4); }
  bool keeps = true;  // d16: the other half, which else becomes 0
  // For a generation: `keeps`, and the flag of the half that it loads or stores
  // alone; else 0.
  u32 SettleHalf(Gen gen);
};

// "load_dwordx2", "store_b16", "atomic_add_x2": what follows the prefix of
// global_, flat_, scratch_ or buffer_.
bool ParseMemOp(std::string_view name, MemOp* op);
bool ParseAtomic(std::string_view name, MemOp* op);

u64 ApplyAtomic(Atomic atomic, u8 bytes, u64 old, u64 data, u64 compare,
                const Mode& mode);
// The read-modify-write on host memory, atomic also against other threads.
u64 HostAtomic(Atomic atomic, u8 bytes, u8* at, u64 data, u64 compare,
               const Mode& mode);

// Host address of `bytes` bytes of global memory; faults if they are not all
// inside one allocation.
u8* GlobalAt(Wave& w, u64 address, u32 bytes, int lane, const MemOp& op);
// The same for a flat address, which may be in LDS or scratch.
u8* FlatAt(Wave& w, u64 address, u32 bytes, int lane, const MemOp& op);
u8* LdsAt(Wave& w, u64 offset, u32 bytes, int lane, const MemOp& op);
u8* ScratchAt(Wave& w, u64 offset, u32 bytes, int lane, const MemOp& op);

// Calls f(lane) for every set bit.
template <typename F>
inline void ForLanes(u64 exec, F&& f) {
  while (exec != 0) {
    const u32 lane = static_cast<u32>(std::countr_zero(exec));
    f(lane);
    exec &= exec - 1;
  }
}

// All lanes for which f(lane) faults, for a report.
template <typename F>
u64 FaultingLanes(u64 exec, F&& f) {
  u64 lanes = 0;
  ForLanes(exec, [&](u32 lane) {
    try {
      f(lane);
    } catch (const FaultError&) {
      lanes |= u64{1} << lane;
    }
  });
  return lanes;
}

// For the check of missing waits: an instruction, about to be counted, loads
// these bytes straight to LDS.
inline void NoteLdsPending(Wave& w, const u8* to, u32 bytes) {
  if (!w.check_waits) return;
  const u64 offset = static_cast<u64>(to - w.lds);
  w.pending.lds.push_back({offset, offset + bytes, w.pending.vm_issued + 1});
}

// Moves one lane's data between memory and VGPR rows.
void LoadLaneData(const MemOp& op, const u8* from, u32* row, u32 lane, u32 n);
void StoreLaneData(const MemOp& op, u8* to, const u32* row, u32 lane, u32 n);

inline OpClass ClassOf(const MemOp& op) {
  return op.kind == MemKind::kLoad    ? OpClass::kLoad
         : op.kind == MemKind::kStore ? OpClass::kStore
                                      : OpClass::kAtomic;
}

// For the counters (stats.cc): one instruction's access to memory outside of
// LDS, one lane's address each, and one to LDS.
void CountMemorySlow(Wave& w, const MemOp& op, u64 exec, const u64* addresses);
inline void CountMemory(Wave& w, const MemOp& op, u64 exec,
                        const u64* addresses) {
  if (w.counting) [[unlikely]]
    CountMemorySlow(w, op, exec, addresses);
}
void CountLdsSlow(Wave& w, const MemOp& op, u64 exec, const u64* offsets);
inline void CountLds(Wave& w, const MemOp& op, u64 exec, const u64* offsets) {
  if (w.counting) [[unlikely]]
    CountLdsSlow(w, op, exec, offsets);
}

inline u64 LaneValue(const u32* row, u32 lane, u32 n, u8 bytes) {
  return bytes == 8 ? row[lane] | static_cast<u64>(row[lane + n]) << 32
                    : row[lane];
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_MEMOP_H_
