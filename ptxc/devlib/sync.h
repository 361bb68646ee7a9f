// What lanes, warps and blocks agree on: matches, reductions, named barriers,
// wide atomics.
#ifndef CERBERUS_DEVLIB_SYNC_H_
#define CERBERUS_DEVLIB_SYNC_H_

#include "device.h"

// ---- match ------------------------------------------------------------------

// Each turn takes the value of the first lane left; all lanes that hold it
// leave with the mask of them. The ballot stands in front of the branch: code
// behind a loop's exit runs when all lanes have left.
DEV(u32, match_any_b32)(u32 value, u32 mask) {
  for (;;) {
    const u32 first = __builtin_amdgcn_readfirstlane(value);
    const u32 same = __cerberus_wave_ballot(value == first) & mask;
    if (value == first) return same;
  }
}
DEV(u32, match_any_b64)(u64 value, u32 mask) {
  for (;;) {
    const u32 low = __builtin_amdgcn_readfirstlane(static_cast<u32>(value));
    const u32 high =
        __builtin_amdgcn_readfirstlane(static_cast<u32>(value >> 32));
    const bool equal = value == (static_cast<u64>(high) << 32 | low);
    const u32 same = __cerberus_wave_ballot(equal) & mask;
    if (equal) return same;
  }
}

// ---- redux ------------------------------------------------------------------

// Lanes of one warp may name different masks, and a wave may hold two warps:
// each turn serves the warp and the mask of the first lane left, and all
// lanes of both leave together.
template <typename T, typename Combine>
INLINE T Reduce(T value, u32 mask, Combine combine) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 warp = __cerberus_wave_first_lane();
  for (;;) {
    const u32 served_warp = __builtin_amdgcn_readfirstlane(warp);
    const u32 served_mask = __builtin_amdgcn_readfirstlane(mask);
    const bool served = warp == served_warp && mask == served_mask;
    u32 left = __builtin_amdgcn_readfirstlane(__cerberus_wave_ballot(served));
    const auto next = [&] {
      const u32 lane = served_warp + static_cast<u32>(__builtin_ctz(left));
      left &= left - 1;
      return __builtin_bit_cast(T, __builtin_amdgcn_readlane(bits, lane));
    };
    T result = next();
    while (left != 0) result = combine(result, next());
    if (served) return result;
  }
}
DEV(u32, redux_and)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a & b; });
}
DEV(u32, redux_or)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a | b; });
}
DEV(u32, redux_xor)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a ^ b; });
}
DEV(u32, redux_add)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a + b; });
}
DEV(u32, redux_min_u32)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a < b ? a : b; });
}
DEV(u32, redux_max_u32)(u32 v, u32 mask) {
  return Reduce(v, mask, [](u32 a, u32 b) { return a > b ? a : b; });
}
DEV(s32, redux_min_s32)(s32 v, u32 mask) {
  return Reduce(v, mask, [](s32 a, s32 b) { return a < b ? a : b; });
}
DEV(s32, redux_max_s32)(s32 v, u32 mask) {
  return Reduce(v, mask, [](s32 a, s32 b) { return a > b ? a : b; });
}
// NaN is left out of the reduction, or with .NaN is its result: NaN comes out
// as the canonical one, also where there is a single lane.
template <typename Combine>
INLINE float ReduceFloat(float v, u32 mask, Combine combine) {
  const float result = Reduce(v, mask, combine);
  return result != result ? __builtin_nanf("") : result;
}
DEV(float, redux_min_f32)(float v, u32 mask) {
  return ReduceFloat(v, mask,
                     [](float a, float b) { return __builtin_fminf(a, b); });
}
DEV(float, redux_max_f32)(float v, u32 mask) {
  return ReduceFloat(v, mask,
                     [](float a, float b) { return __builtin_fmaxf(a, b); });
}
DEV(float, redux_min_f32_nan)(float v, u32 mask) {
  return ReduceFloat(v, mask, [](float a, float b) {
    return a != a || b != b ? __builtin_nanf("") : __builtin_fminf(a, b);
  });
}
DEV(float, redux_max_f32_nan)(float v, u32 mask) {
  return ReduceFloat(v, mask, [](float a, float b) {
    return a != a || b != b ? __builtin_nanf("") : __builtin_fmaxf(a, b);
  });
}

// ---- Barriers ---------------------------------------------------------------

DEV(u32, sum_words)(SHARED const u32* words, u32 count) {
  u32 sum = 0;
  for (u32 i = 0; i < count; ++i) sum += words[i];
  return sum;
}

// A named barrier is four words in LDS, zero when the kernel starts. A warp
// counts as 32 threads, whole or not (PTX ISA, "bar"). The last to arrive
// opens the next generation; a generation's result is overwritten only when
// all of its threads have arrived again.
enum BarrierWord { kArrived, kGeneration, kSum, kResult };

INLINE u32 LoadShared(SHARED u32* at, int order) {
  return order == __ATOMIC_ACQUIRE
             ? __scoped_atomic_load_n(at, __ATOMIC_ACQUIRE,
                                      __MEMORY_SCOPE_WRKGRP)
             : __scoped_atomic_load_n(at, __ATOMIC_RELAXED,
                                      __MEMORY_SCOPE_WRKGRP);
}

// The barrier's last change of this generation, by one warp.
INLINE void OpenBarrier(SHARED u32* state) {
  __scoped_atomic_store_n(state + kResult,
                          LoadShared(state + kSum, __ATOMIC_RELAXED),
                          __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  __scoped_atomic_store_n(state + kSum, 0, __ATOMIC_RELAXED,
                          __MEMORY_SCOPE_WRKGRP);
  __scoped_atomic_fetch_add(state + kGeneration, 1, __ATOMIC_RELEASE,
                            __MEMORY_SCOPE_WRKGRP);
}

// Of what barrier_wait waits for: the end of this generation. `value`: what the
// warp adds to the sum.
DEV(u32, barrier_arrive)(SHARED u32* state, u32 threads, u32 value) {
  const u32 generation = LoadShared(state + kGeneration, __ATOMIC_RELAXED);
  if (IsFirstOf(__cerberus_wave_ballot(true))) {
    __scoped_atomic_fetch_add(state + kSum, value, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_WRKGRP);
    const u32 before = __scoped_atomic_fetch_add(
        state + kArrived, 32, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP);
    if (before + 32 >= threads) {
      __scoped_atomic_store_n(state + kArrived, 0, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_WRKGRP);
      OpenBarrier(state);
    }
  }
  return generation;
}
// The sum of what the warps of this generation brought.
DEV(u32, barrier_wait)(SHARED u32* state, u32 generation) {
  while (LoadShared(state + kGeneration, __ATOMIC_ACQUIRE) == generation) {
    __builtin_amdgcn_s_sleep(1);
  }
  return LoadShared(state + kResult, __ATOMIC_RELAXED);
}

// Where a barrier waits for all threads of the block, it does so for the warps
// that have not ended (`ended`, a bit for each warp of the block). Who has
// arrived is then one word for each barrier: bits 0-31 the warps, of which one
// that arrives and ends counts once, bits 32-63 the threads. `threads` is how
// many are awaited by count, or 0; `warps`, all of the block.
INLINE bool AllArrived(u64 arrived, SHARED u32* ended, u32 warps) {
  return ((static_cast<u32>(arrived) | LoadShared(ended, __ATOMIC_ACQUIRE)) &
          warps) == warps;
}
INLINE bool Exchanged(SHARED u64* at, u64* seen, u64 next) {
  return __scoped_atomic_compare_exchange_n(at, seen, next, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                            __MEMORY_SCOPE_WRKGRP);
}

// As barrier_arrive. `warp`: the bit of this one.
DEV(u32, barrier_arrive_ending)(SHARED u32* state, SHARED u64* arrived,
                                SHARED u32* ended, u32 threads, u32 warps,
                                u32 warp, u32 value) {
  const u32 generation = LoadShared(state + kGeneration, __ATOMIC_RELAXED);
  if (IsFirstOf(__cerberus_wave_ballot(true))) {
    __scoped_atomic_fetch_add(state + kSum, value, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_WRKGRP);
    u64 seen = __scoped_atomic_load_n(arrived, __ATOMIC_RELAXED,
                                      __MEMORY_SCOPE_WRKGRP);
    bool opens = false;
    u64 next = 0;
    do {
      next = (seen | warp) + (32ull << 32);
      opens =
          threads != 0 ? next >> 32 >= threads : AllArrived(next, ended, warps);
    } while (!Exchanged(arrived, &seen, opens ? 0 : next));
    if (opens) OpenBarrier(state);
  }
  return generation;
}
// As barrier_wait, for all threads of the block. The last warp to end opens
// nothing: who waits does so. No generation ends without the warps that wait
// for its end, so that a word with this warp in it is of this generation.
DEV(u32, barrier_wait_ending)(SHARED u32* state, SHARED u64* arrived,
                              SHARED u32* ended, u32 warps, u32 warp,
                              u32 generation) {
  while (LoadShared(state + kGeneration, __ATOMIC_ACQUIRE) == generation) {
    if (IsFirstOf(__cerberus_wave_ballot(true))) {
      u64 seen = __scoped_atomic_load_n(arrived, __ATOMIC_RELAXED,
                                        __MEMORY_SCOPE_WRKGRP);
      if ((seen & warp) != 0 && AllArrived(seen, ended, warps) &&
          Exchanged(arrived, &seen, 0)) {
        OpenBarrier(state);
      }
    }
    __builtin_amdgcn_s_sleep(1);
  }
  return LoadShared(state + kResult, __ATOMIC_RELAXED);
}
// Lanes end. `count`: how many of their warp's have; `threads`, what it has.
DEV(void, warp_leave)(SHARED u32* count, SHARED u32* ended, u32 threads,
                      u32 warp) {
  const u32 lanes = __cerberus_wave_ballot(true);
  if (IsFirstOf(lanes)) {
    const u32 leave = static_cast<u32>(__builtin_popcount(lanes));
    const u32 before = __scoped_atomic_fetch_add(count, leave, __ATOMIC_ACQ_REL,
                                                 __MEMORY_SCOPE_WRKGRP);
    if (before + leave == threads) {
      __scoped_atomic_fetch_or(ended, warp, __ATOMIC_RELEASE,
                               __MEMORY_SCOPE_WRKGRP);
    }
  }
}

// ---- 128-bit atomics --------------------------------------------------------

using V2 = u64 __attribute__((ext_vector_type(2)));

// One for all parts of a program (compile/parts.h), which are linked.
__attribute__((weak, visibility("hidden"))) GLOBAL u32 __cerberus_b128_lock = 0;

// exch and cas of 16 bytes under one lock. The critical section lies inside
// the loop: lanes of one wave that want the lock take turns.
DEV(V2, atomic_b128)(u64* at, u64 a0, u64 a1, u64 b0, u64 b1, u32 compare) {
  V2 old = {0, 0};
  bool done = false;
  while (!done) {
    u32 expected = 0;
    if (__scoped_atomic_compare_exchange_n(
            &__cerberus_b128_lock, &expected, 1, false, __ATOMIC_ACQUIRE,
            __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM)) {
      old.x =
          __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
      old.y = __scoped_atomic_load_n(at + 1, __ATOMIC_RELAXED,
                                     __MEMORY_SCOPE_SYSTEM);
      if (!compare || (old.x == a0 && old.y == a1)) {
        __scoped_atomic_store_n(at, compare ? b0 : a0, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_SYSTEM);
        __scoped_atomic_store_n(at + 1, compare ? b1 : a1, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_SYSTEM);
      }
      __scoped_atomic_store_n(&__cerberus_b128_lock, 0, __ATOMIC_RELEASE,
                              __MEMORY_SCOPE_SYSTEM);
      done = true;
    }
  }
  return old;
}

#endif  // CERBERUS_DEVLIB_SYNC_H_
