// Copies of boxes of a tensor between device and shared memory, by a tensor map
// (docs/tensor-map.md). Like other copies they are carried out at once, by the
// thread that asks for them.
#ifndef CERBERUS_DEVLIB_TENSOR_H_
#define CERBERUS_DEVLIB_TENSOR_H_

#include "async.h"
#include "formats/tensor_map.h"

using cerberus::formats::TensorMap;

// Sixteen bytes of a box: where they are in shared memory, and the first one's
// element in dimension 0.
struct TensorChunk {
  SHARED Chunk* shared;
  GLOBAL u8* row;  // of the tensor, at element 0
  s64 first;
  bool row_inside;
};

// Calls fn for each 16 bytes of the box at c0, c1, …; returns the box's bytes.
// Counters instead of divisions tell which row is next.
template <typename Fn>
INLINE u32 ForBox(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3, s32 c4,
                  SHARED u8* shared, Fn fn) {
  const s64 start[4] = {c1, c2, c3, c4};
  u32 count[4], next[4] = {};
  u32 rows = 1;
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    const u32 step = map->steps[i + 1];
    count[i] = (map->box[i + 1] + step - 1) / step;
    rows *= count[i];
  }
  const u32 log2 = map->element_log2;
  const u32 row_bytes = static_cast<u32>(map->box[0]) << log2;
  const u32 base = reinterpret_cast<u32>(shared);
  const u32 swizzled = ((1u << map->swizzle) - 1) << 4;
  u32 offset = 0;
  for (u32 r = 0; r < rows; ++r) {
    u64 at = map->address;
    bool inside = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      const s64 x = start[i] + static_cast<s64>(next[i]) * map->steps[i + 1];
      inside &= x >= 0 && x <= map->last[i + 1];
      at += static_cast<u64>(x) * map->strides[i];
    }
    for (u32 b = 0; b < row_bytes; b += 16, offset += 16) {
      const u32 plain = base + offset;
      const u32 place = plain ^ (plain >> 3 & swizzled);
      fn(TensorChunk{reinterpret_cast<SHARED Chunk*>(shared + (place - base)),
                     reinterpret_cast<GLOBAL u8*>(at), c0 + s64{b >> log2},
                     inside});
    }
    bool carry = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      next[i] += carry ? 1 : 0;
      carry = next[i] == count[i];
      if (carry) next[i] = 0;
    }
  }
  return offset;
}

// All sixteen bytes are elements of the tensor, and lie as wide accesses want.
INLINE bool IsWhole(const TensorMap* map, const TensorChunk& c) {
  const s64 last = c.first + (16 >> map->element_log2) - 1;
  const u64 at = reinterpret_cast<u64>(c.row) +
                 (static_cast<u64>(c.first) << map->element_log2);
  return c.row_inside && c.first >= 0 && last <= map->last[0] && at % 16 == 0;
}
INLINE GLOBAL u8* FirstOf(const TensorMap* map, const TensorChunk& c) {
  return c.row + (c.first << map->element_log2);
}
// Whether byte i of the sixteen is the tensor's.
INLINE bool HasByte(const TensorMap* map, const TensorChunk& c, u32 i) {
  const s64 x = c.first + (i >> map->element_log2);
  return c.row_inside && x >= 0 && x <= map->last[0];
}

DEV(u32, tensor_load)(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3,
                      s32 c4, SHARED u8* to) {
  return ForBox(map, c0, c1, c2, c3, c4, to, [&](const TensorChunk& c) {
    if (IsWhole(map, c)) {
      *c.shared = *reinterpret_cast<GLOBAL const Chunk*>(FirstOf(map, c));
      return;
    }
    u8 bytes[16] = {};
#pragma clang loop unroll(full)
    for (u32 i = 0; i < 16; ++i) {
      if (HasByte(map, c, i)) bytes[i] = FirstOf(map, c)[i];
    }
    *c.shared = __builtin_bit_cast(Chunk, bytes);
  });
}

DEV(void, tensor_store)(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3,
                        s32 c4, SHARED u8* from) {
  ForBox(map, c0, c1, c2, c3, c4, from, [&](const TensorChunk& c) {
    if (IsWhole(map, c)) {
      *reinterpret_cast<GLOBAL Chunk*>(FirstOf(map, c)) = *c.shared;
      return;
    }
    const SHARED u8* bytes = reinterpret_cast<SHARED u8*>(c.shared);
#pragma clang loop unroll(full)
    for (u32 i = 0; i < 16; ++i) {
      if (HasByte(map, c, i)) FirstOf(map, c)[i] = bytes[i];
    }
  });
}

#endif  // CERBERUS_DEVLIB_TENSOR_H_
