// The barrier of a cluster's threads (docs/launch-abi.md, "Clusters").
#ifndef CERBERUS_DEVLIB_CLUSTERS_H_
#define CERBERUS_DEVLIB_CLUSTERS_H_

#include "device.h"

// A word of device memory, zero when the cluster starts, and again when its
// last thread has ended:
//   bits 0-19   threads that have arrived in this phase
//   bits 20-39  threads that have ended (PTX ISA, "barrier.cluster": a wait is
//               for the threads of the cluster that have not)
//   bits 40-63  the phase's number
// A thread that has ended after it arrived counts once.
constexpr u64 kClusterEnded = 1ull << 20;
constexpr u64 kClusterPhase = 1ull << 40;
constexpr u64 kClusterCount = kClusterEnded - 1;

// The word after a change: when all `threads` are accounted for, the next phase
// has begun.
INLINE u64 Opened(u64 word, u32 threads) {
  const u64 ended = word / kClusterEnded & kClusterCount;
  if (ended == threads) return 0;
  const u64 arrived = word & kClusterCount;
  return arrived + ended == threads ? word - arrived + kClusterPhase : word;
}

// Changes the word by what `change` makes of it.
template <typename Change>
INLINE void ChangeCluster(GLOBAL u64* word, u32 threads, Change change) {
  u64 seen =
      __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  while (!__scoped_atomic_compare_exchange_n(
      word, &seen, Opened(change(seen), threads), false, __ATOMIC_ACQ_REL,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) {
  }
}

// What cluster_wait waits for the end of, as an odd number.
DEV(u32, cluster_arrive)(GLOBAL u64* word, u32 threads) {
  // This phase cannot end before this thread has arrived.
  const u32 phase = static_cast<u32>(
      __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) /
      kClusterPhase);
  const u32 lanes = __cerberus_wave_ballot(true);
  if (IsFirstOf(lanes)) {
    const u64 count = static_cast<u64>(__builtin_popcount(lanes));
    ChangeCluster(word, threads, [&](u64 seen) { return seen + count; });
  }
  return phase << 1 | 1;
}

DEV(void, cluster_wait)(GLOBAL u64* word, u32 phase) {
  while (__scoped_atomic_load_n(word, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) /
             kClusterPhase ==
         phase >> 1) {
    __builtin_amdgcn_s_sleep(1);
  }
}

// The thread ends. `phase`: that of its last arrival if it did not wait, else
// 0.
DEV(void, cluster_leave)(GLOBAL u64* word, u32 threads, u32 phase) {
  if (phase == 0) {
    const u32 lanes = __cerberus_wave_ballot(true);
    if (IsFirstOf(lanes)) {
      const u64 count = static_cast<u64>(__builtin_popcount(lanes));
      ChangeCluster(word, threads,
                    [&](u64 seen) { return seen + kClusterEnded * count; });
    }
    return;
  }
  ChangeCluster(word, threads, [&](u64 seen) {
    const bool counts = seen / kClusterPhase == phase >> 1;
    return seen + kClusterEnded - (counts ? 1 : 0);
  });
}

#endif  // CERBERUS_DEVLIB_CLUSTERS_H_
