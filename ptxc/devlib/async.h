// mbarrier objects and asynchronous copies.
//
// Copies are carried out by the thread that asks for them, at once: PTX lets
// them complete at any time before they are waited for.
#ifndef CERBERUS_DEVLIB_ASYNC_H_
#define CERBERUS_DEVLIB_ASYNC_H_

#include "device.h"

// ---- mbarrier ---------------------------------------------------------------

// An mbarrier object (PTX ISA, "Contents of the mbarrier object"):
//   bits 0-19   arrivals that the phase still waits for
//   bits 20-39  arrivals that each phase waits for
//   bits 40-42  the phase's number
//   bits 43-63  tx-count, signed
// Counts of arrivals never go below zero in a correct program, so that one
// 64-bit addition changes all fields. Whichever addition leaves neither
// arrivals nor transactions opens the next phase; until then nobody may
// arrive again, so it can do so by a plain exchange.
constexpr u64 kCountMask = 0xfffff;
constexpr int kExpectedShift = 20;
constexpr int kPhaseShift = 40;
constexpr u64 kPhaseMask = 7;
constexpr int kTxShift = 43;

INLINE u64 Phase(u64 state) { return state >> kPhaseShift & kPhaseMask; }

DEV(void, mbarrier_init)(SHARED u64* bar, u32 count) {
  __scoped_atomic_store_n(bar,
                          count | static_cast<u64>(count) << kExpectedShift,
                          __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

// The state before the addition.
INLINE u64 Update(SHARED u64* bar, u64 change) {
  const u64 before = __scoped_atomic_fetch_add(bar, change, __ATOMIC_ACQ_REL,
                                               __MEMORY_SCOPE_WRKGRP);
  const u64 after = before + change;
  if ((after & kCountMask) == 0 && after >> kTxShift == 0) {
    const u64 expected = after >> kExpectedShift & kCountMask;
    const u64 phase = (Phase(after) + 1) & kPhaseMask;
    __scoped_atomic_exchange_n(
        bar, expected | expected << kExpectedShift | phase << kPhaseShift,
        __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP);
  }
  return before;
}

// expect-tx by `bytes` (negative: complete-tx), then arrive-on by `count`.
DEV(u64, mbarrier_arrive)(SHARED u64* bar, u32 count, u32 bytes) {
  return Update(bar, (static_cast<u64>(bytes) << kTxShift) - count);
}
// As above, and the next phases expect `count` arrivals less.
DEV(u64, mbarrier_drop)(SHARED u64* bar, u32 count, u32 bytes) {
  return Update(bar, (static_cast<u64>(bytes) << kTxShift) - count -
                         (static_cast<u64>(count) << kExpectedShift));
}

// Whether the phase with this parity, the current one or the one before, is
// complete.
DEV(bool, mbarrier_test)(SHARED u64* bar, u32 parity) {
  const u64 state =
      __scoped_atomic_load_n(bar, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_WRKGRP);
  return (Phase(state) & 1) != (parity & 1);
}
// As above, giving the others time if it is not.
DEV(bool, mbarrier_try)(SHARED u64* bar, u32 parity) {
  if (__cerberus_dev_mbarrier_test(bar, parity)) return true;
  __builtin_amdgcn_s_sleep(1);
  return __cerberus_dev_mbarrier_test(bar, parity);
}

DEV(u32, mbarrier_parity)(u64 state) {
  return static_cast<u32>(Phase(state) & 1);
}
DEV(u32, mbarrier_pending)(u64 state) {
  return static_cast<u32>(state & kCountMask);
}

// ---- Copies -----------------------------------------------------------------

using Chunk = u32 __attribute__((ext_vector_type(4)));
using Pair = u32 __attribute__((ext_vector_type(2)));

// cp.async: the first `valid` bytes, then zeros. No byte behind `valid` is
// read: it may lie outside of all memory.
template <typename T>
INLINE void CopyPart(SHARED T* to, GLOBAL const T* from, u32 valid) {
  if (valid >= sizeof(T)) {
    *to = *from;
    return;
  }
  u8 bytes[sizeof(T)] = {};
#pragma clang loop unroll(full)
  for (u32 i = 0; i < sizeof(T); ++i) {
    if (i < valid) bytes[i] = reinterpret_cast<GLOBAL const u8*>(from)[i];
  }
  *to = __builtin_bit_cast(T, bytes);
}
DEV(void, copy_part_4)(SHARED u32* to, GLOBAL const u32* from, u32 valid) {
  CopyPart(to, from, valid);
}
DEV(void, copy_part_8)(SHARED Pair* to, GLOBAL const Pair* from, u32 valid) {
  CopyPart(to, from, valid);
}
DEV(void, copy_part_16)(SHARED Chunk* to, GLOBAL const Chunk* from, u32 valid) {
  CopyPart(to, from, valid);
}

// cp.async.bulk: sizes are multiples of 16.
template <typename To, typename From>
INLINE void CopyBulk(To* to, const From* from, u32 size) {
#pragma clang loop unroll_count(4)
  for (u32 i = 0; i < size / 16; ++i) to[i] = from[i];
}
DEV(void, copy_bulk_3_1)(SHARED Chunk* to, GLOBAL const Chunk* from, u32 size) {
  CopyBulk(to, from, size);
}
DEV(void, copy_bulk_1_3)(GLOBAL Chunk* to, SHARED const Chunk* from, u32 size) {
  CopyBulk(to, from, size);
}
DEV(void, copy_bulk_3_3)(SHARED Chunk* to, SHARED const Chunk* from, u32 size) {
  CopyBulk(to, from, size);
}
// .cp_mask: bit i of the mask says whether byte i of each 16 is copied.
DEV(void, copy_bulk_masked)(GLOBAL u8* to, SHARED const u8* from, u32 size,
                            u32 mask) {
  for (u32 i = 0; i < size; ++i) {
    if (mask >> (i & 15) & 1) to[i] = from[i];
  }
}

// .ignore_oob: the first `left` and the last `right` bytes may lie outside of
// what can be read.
DEV(void, copy_bulk_within)(SHARED u8* to, GLOBAL const u8* from, u32 size,
                            u32 left, u32 right) {
  for (u32 i = left; i + right < size; ++i) to[i] = from[i];
}

// st.bulk: zeros; sizes are multiples of 8.
DEV(void, clear_bulk)(SHARED u64* to, u64 size) {
  for (u64 i = 0; i < size / 8; ++i) to[i] = 0;
}

#endif  // CERBERUS_DEVLIB_ASYNC_H_
