// Tensor memory, and copies into it.
//
// PTX ISA, "TensorCore 5th Generation Family Instructions". A block has 128
// lanes of 512 columns of 32 bits, which here lie lane by lane in the window of
// its shared memory (docs/launch-abi.md, "Tensor memory"), in front of all that
// the program keeps there. What a thread asks for is done when it asks, by the
// lanes that are with it: each takes some of the columns.
#ifndef CERBERUS_DEVLIB_TENSOR_MEMORY_H_
#define CERBERUS_DEVLIB_TENSOR_MEMORY_H_

#include "async.h"
#include "device.h"
#include "formats/tensor_memory.h"

using cerberus::formats::kTensorMemoryBytes;
using cerberus::formats::TensorCopy;

constexpr u32 kTensorLanes = 128;
constexpr u32 kTensorColumns = 512;
constexpr u32 kTensorLaneBytes = 4 * kTensorColumns;

// Where a lane's column is, of an address as programs have it: the lane from
// bit 16 on, the column below.
INLINE u64 TensorPlace(u64 memory, u32 address, u32 lane, u32 column) {
  lane = ((address >> 16) + lane) % kTensorLanes;
  column = (address + column) % kTensorColumns;
  return memory + lane * kTensorLaneBytes + column * 4;
}

template <typename T>
INLINE T Get(u64 at) {
  return *reinterpret_cast<GLOBAL const T*>(at);
}
template <typename T>
INLINE void Put(u64 at, T value) {
  *reinterpret_cast<GLOBAL T*>(at) = value;
}

// ---- Lanes that work together -----------------------------------------------

INLINE u64 ActiveLanes() { return __builtin_amdgcn_read_exec(); }

struct Team {
  u32 rank, size;
};
INLINE Team ActiveTeam(u64 lanes) {
  const u32 low = __builtin_amdgcn_mbcnt_lo(static_cast<u32>(lanes), 0);
  return {__builtin_amdgcn_mbcnt_hi(static_cast<u32>(lanes >> 32), low),
          static_cast<u32>(__builtin_popcountll(lanes))};
}

INLINE u32 FromLane(u32 value, u32 lane) {
  return __builtin_amdgcn_readlane(value, lane);
}
INLINE u64 FromLane(u64 value, u32 lane) {
  return FromLane(static_cast<u32>(value), lane) |
         static_cast<u64>(FromLane(static_cast<u32>(value >> 32), lane)) << 32;
}

// ---- Matrices in shared memory ----------------------------------------------

// By the fields of a descriptor (PTX ISA, "Shared memory descriptor"). A
// matrix consists of lines, rows of A or columns of B, of K. Not transposed,
// core matrices are 8 lines with 16 bytes of K each; `1 << log` of them lie
// next to each other. Transposed, they are some places of K with 16 bytes of
// lines each.
struct SharedMatrix {
  u32 start, leading, stride, pattern;
  u32 log;
  bool none;     // not swizzled
  bool atom_32;  // swizzled by 32 bytes and not by 16, within 128

  INLINE_MEMBER u64 Swizzled(u64 shared, u32 at) const {
    const u32 row = (at - pattern) >> 7;
    at ^= atom_32 ? (row & 3) << 5 : (row & ((1u << log) - 1)) << 4;
    return shared + at;
  }
  // 16 bytes of K, as many as `chunk` says behind the first ones.
  INLINE_MEMBER u64 Chunk16(u64 shared, u32 line, u32 chunk) const {
    const u32 at = start + line / 8 * stride + ((line & 7) << (log + 4)) +
                   (chunk >> log) * leading +
                   ((chunk & ((1u << log) - 1)) << 4);
    return Swizzled(shared, at);
  }
  // Place k of a line of a transposed matrix of elements of `bytes`.
  INLINE_MEMBER u64 Element(u64 shared, u32 line, u32 k, u32 bytes) const {
    const u32 run = (16 / bytes) << log;
    const u32 places = atom_32 ? 4 : 8;
    // Without swizzling the two distances change their roles.
    const u32 of_run = none ? stride : leading;
    const u32 of_places = none ? leading : stride;
    const u32 at = start + line / run * of_run + line % run * bytes +
                   k / places * of_places + ((k % places) << (log + 4));
    return Swizzled(shared, at);
  }
};

INLINE SharedMatrix MatrixOf(u64 descriptor) {
  const auto sixteenths = [&](u32 from) {
    return static_cast<u32>(descriptor >> from & 0x3fff) << 4;
  };
  SharedMatrix m;
  m.start = sixteenths(0);
  m.leading = sixteenths(16);
  m.stride = sixteenths(32);
  m.pattern = static_cast<u32>(descriptor >> 49 & 7) << 7;
  // 0: none, 1: 128 bytes by 32, 2: 128, 4: 64, 6: 32.
  const u32 mode = static_cast<u32>(descriptor >> 61);
  m.none = mode == 0;
  m.atom_32 = mode == 1;
  m.log = mode == 0 ? 0 : mode == 1 ? 3 : 4 - mode / 2;
  return m;
}

// ---- Copies -----------------------------------------------------------------

// Element i of 16 of 6 bits.
INLINE u32 SixBits(Chunk words, u32 i) {
  const u32 at = i * 6;
  u32 six = words[at / 32] >> at % 32;
  if (at % 32 > 26) six |= words[at / 32 + 1] << (32 - at % 32);
  return six & 0x3f;
}

// 16 elements of 6 or 4 bits, with a gap behind them, as bytes: those of 4
// bits in the middle of theirs.
INLINE Chunk Spread(Chunk words, u32 how) {
  Chunk bytes = {0, 0, 0, 0};
#pragma clang loop unroll(full)
  for (u32 i = 0; i < 16; ++i) {
    const u32 quad = words[i / 8] >> i % 8 * 4 & 0xf;
    const u32 byte =
        (how & TensorCopy::kFrom4) != 0 ? quad << 2 : SixBits(words, i);
    bytes[i / 4] |= byte << i % 4 * 8;
  }
  return bytes;
}

DEV(void, tensor_cp)(u64 even, u64 odd, u32 address, u64 from, u32 how) {
  const u64 lanes = ActiveLanes();
  const Team team = ActiveTeam(lanes);
  for (u64 left = lanes; left != 0; left &= left - 1) {
    const u32 asking = static_cast<u32>(__builtin_ctzll(left));
    const u32 kind = FromLane(how, asking);
    const u32 to = FromLane(address, asking);
    const SharedMatrix matrix = MatrixOf(FromLane(from, asking));
    const u64 memories[2] = {FromLane(even, asking), FromLane(odd, asking)};
    const u32 log_rows = kind >> TensorCopy::kLogOfRows & 7;
    const u32 rows = 1u << log_rows;
    const u32 chunks = (kind & TensorCopy::kWide) != 0 ? 2 : 1;
    const u32 blocks = (kind & TensorCopy::kPair) != 0 ? 2 : 1;
    const u32 copies = 1u << (kind >> TensorCopy::kLogOfCopies & 7);
    for (u32 at = team.rank; at < rows * chunks * blocks; at += team.size) {
      const u32 row = at % rows;
      const u32 chunk = at / rows % chunks;
      const u64 memory = at / rows / chunks == 0 ? memories[0] : memories[1];
      Chunk words =
          Get<Chunk>(matrix.Chunk16(memory + kTensorMemoryBytes, row, chunk));
      if ((kind & (TensorCopy::kFrom4 | TensorCopy::kFrom6)) != 0) {
        words = Spread(words, kind);
      }
      // Four rows: one for each warp. Else those of a warp lie together, and
      // what is there more than once comes again.
      u32 lane = rows == 4 ? row * 32 : row;
      u32 step = rows;
      if ((kind & TensorCopy::kNeighbours) != 0) {
        lane = row / 32 * 64 + row % 32;
        step = 32;
      }
      for (u32 i = 0; i < copies; ++i) {
        Put(TensorPlace(memory, to, lane + i * step, 4 * chunk), words);
      }
    }
  }
}

// 31 rows of 32 bytes, each from the one behind it; the last stays.
DEV(void, tensor_shift)(u64 even, u64 odd, u32 address, u32 blocks) {
  for (u32 block = 0; block < blocks; ++block) {
    const u64 memory = block == 0 ? even : odd;
    for (u32 row = 0; row < 31; ++row) {
      for (u32 chunk = 0; chunk < 2; ++chunk) {
        Put(TensorPlace(memory, address, row, 4 * chunk),
            Get<Chunk>(TensorPlace(memory, address, row + 1, 4 * chunk)));
      }
    }
  }
}

// ---- Columns that are taken -------------------------------------------------

// A bit for each 32 columns.
INLINE u32 TensorUnits(u32 columns) {
  return columns >= kTensorColumns ? 0xffffu : (1u << (columns + 31) / 32) - 1;
}

// The first that are free; waits for some. For all lanes of a warp, once.
DEV(void, tensor_alloc)(SHARED u32* taken, SHARED u32* to, u32 columns) {
  if (!IsFirstOf(__cerberus_wave_ballot(true))) return;
  const u32 wanted = TensorUnits(columns);
  u32 seen =
      __scoped_atomic_load_n(taken, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  u32 at = 0;
  for (;;) {
    at = 0;
    while ((seen & wanted << at) != 0) ++at;
    if ((wanted << at) <= 0xffffu) {
      if (__scoped_atomic_compare_exchange_n(
              taken, &seen, seen | wanted << at, false, __ATOMIC_ACQ_REL,
              __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)) {
        break;
      }
      continue;
    }
    __builtin_amdgcn_s_sleep(1);
    seen =
        __scoped_atomic_load_n(taken, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  }
  *to = 32 * at;
}

DEV(void, tensor_dealloc)(SHARED u32* taken, u32 address, u32 columns) {
  if (!IsFirstOf(__cerberus_wave_ballot(true))) return;
  __scoped_atomic_fetch_and(
      taken, ~(TensorUnits(columns) << address % kTensorColumns / 32),
      __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP);
}

#endif  // CERBERUS_DEVLIB_TENSOR_MEMORY_H_
