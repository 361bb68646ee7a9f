#include "emulator/access/lane_memory.h"

#include <cstring>

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

// What is between a lane's offset and the next one's.
Shape ShapeOf(const u32* at, u32 bytes, u32 n) {
  u32 apart = 0, same = 0;
  for (u32 i = 0; i < n; ++i) {
    apart |= at[i] ^ (at[0] + bytes * i);
    same |= at[i] ^ at[0];
  }
  return apart == 0 ? Shape::kRow : same == 0 ? Shape::kSame : Shape::kAny;
}

void Find(const u32* rows, u32 add, u32 guard, u32 limit, u32 bytes,
          LaneOffsets* o) {
  const u32 n = o->n;
  const u32* const mask = o->mask;
  u32* const at = o->at;
  __builtin_assume(n == 32 || n == 64);
  u32 outside = 0;  // the top bit: an offset above `limit`
  if (mask == nullptr) {
    for (u32 i = 0; i < n; ++i) {
      const u32 v = rows[i] + add;
      outside |= v | (limit - v) | (rows[i] & guard);
      at[i] = v;
    }
  } else {
    for (u32 i = 0; i < n; ++i) {
      const u32 v = (rows[i] + add) & mask[i];
      outside |= v | (limit - v) | (rows[i] & guard & mask[i]);
      at[i] = v;
    }
  }
  o->shape = outside >> 31 != 0 ? Shape::kOutside
             : mask != nullptr  ? Shape::kAny
                                : ShapeOf(at, bytes, n);
}

void Find64(const u32* rows, u64 add, u32 limit, u32 bytes, LaneOffsets* o) {
  const u32 n = o->n;
  const u32* const mask = o->mask;
  u32* const at = o->at;
  __builtin_assume(n == 32 || n == 64);
  const u32 low = static_cast<u32>(add), high = static_cast<u32>(add >> 32);
  u32 outside = 0, upper = 0;
  for (u32 i = 0; i < n; ++i) {
    const u32 all = mask == nullptr ? ~0u : mask[i];
    const u32 v = rows[i] + low;
    upper |= (rows[i + n] + high + (v < low ? 1 : 0)) & all;
    outside |= (v | (limit - v)) & all;
    at[i] = v & all;
  }
  o->shape = outside >> 31 != 0 || upper != 0 ? Shape::kOutside
             : mask != nullptr                ? Shape::kAny
                                              : ShapeOf(at, bytes, n);
}

template <typename T>
inline T Get(const u8* from) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  return v;
}

inline void Blend(u32* d, const u32* v, const u32* mask, u32 n) {
  if (mask == nullptr) {
    std::memcpy(d, v, 128);
    if (n == 64) std::memcpy(d + 32, v + 32, 128);
    return;
  }
  for (u32 i = 0; i < n; ++i) d[i] = (v[i] & mask[i]) | (d[i] & ~mask[i]);
}

// One lane's element, eight bytes at a time: another thread of the host may
// be writing them, and an aligned b64 is loaded and stored whole.
template <u32 kWords>
inline void GetElement(const u8* from, u32* v, u32 stride) {
  for (u32 r = 0; r + 1 < kWords; r += 2) {
    const u64 pair = Get<u64>(from + 4 * r);
    v[r * stride] = static_cast<u32>(pair);
    v[(r + 1) * stride] = static_cast<u32>(pair >> 32);
  }
  if constexpr (kWords % 2 != 0) {
    v[(kWords - 1) * stride] = Get<u32>(from + 4 * (kWords - 1));
  }
}
template <u32 kWords>
inline void PutElement(u8* to, const u32* v, u32 stride) {
  for (u32 r = 0; r + 1 < kWords; r += 2) {
    const u64 pair = v[r * stride] | u64{v[(r + 1) * stride]} << 32;
    std::memcpy(to + 4 * r, &pair, 8);
  }
  if constexpr (kWords % 2 != 0) {
    std::memcpy(to + 4 * (kWords - 1), &v[(kWords - 1) * stride], 4);
  }
}

template <u32 kWords>
void LoadWords(const u8* from, const LaneOffsets& o, u32* d) {
  const u32 n = o.n;
  __builtin_assume(n == 32 || n == 64);
  if (o.shape == Shape::kRow) {
    const u8* const first = from + o.at[0];
    if constexpr (kWords == 1) {
      std::memcpy(d, first, 128);
      if (n == 64) std::memcpy(d + 32, first + 128, 128);
    } else {
      alignas(64) u32 all[64 * kWords];
      std::memcpy(all, first, n * 4 * kWords);
      for (u32 i = 0; i < n; ++i) {
        for (u32 r = 0; r < kWords; ++r) d[r * n + i] = all[i * kWords + r];
      }
    }
    return;
  }
  alignas(64) u32 v[64 * kWords];
  if (o.shape == Shape::kSame) {
    u32 one[kWords];
    GetElement<kWords>(from + o.at[0], one, 1);
    for (u32 r = 0; r < kWords; ++r) {
      for (u32 i = 0; i < n; ++i) v[r * n + i] = one[r];
    }
  } else {
    for (u32 i = 0; i < n; ++i) {
      GetElement<kWords>(from + o.at[i], v + i, n);
    }
  }
  for (u32 r = 0; r < kWords; ++r) Blend(d + r * n, v + r * n, o.mask, n);
}

template <typename T>
void LoadSmall(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d) {
  const u32 n = o.n;
  __builtin_assume(n == 32 || n == 64);
  alignas(64) u32 v[64];
  for (u32 i = 0; i < n; ++i) {
    v[i] = static_cast<u32>(i32{Get<T>(from + o.at[i])});
  }
  if (op.d16) {
    const u32 shift = op.hi ? 16 : 0, kept = op.hi ? 0xffffu : 0xffff0000u;
    for (u32 i = 0; i < n; ++i) {
      v[i] = (v[i] & 0xffff) << shift | (d[i] & kept);
    }
  }
  Blend(d, v, o.mask, n);
}

void Load(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d) {
  switch (op.bytes) {
    case 1:
      return op.sign ? LoadSmall<i8>(op, from, o, d)
                     : LoadSmall<u8>(op, from, o, d);
    case 2:
      return op.sign ? LoadSmall<i16>(op, from, o, d)
                     : LoadSmall<u16>(op, from, o, d);
    case 4: return LoadWords<1>(from, o, d);
    case 8: return LoadWords<2>(from, o, d);
    case 12: return LoadWords<3>(from, o, d);
    default: return LoadWords<4>(from, o, d);
  }
}

template <u32 kWords>
void StoreWords(u8* to, const LaneOffsets& o, const u32* data) {
  const u32 n = o.n;
  __builtin_assume(n == 32 || n == 64);
  if (o.shape == Shape::kRow) {
    u8* const first = to + o.at[0];
    if constexpr (kWords == 1) {
      std::memcpy(first, data, 128);
      if (n == 64) std::memcpy(first + 128, data + 32, 128);
    } else {
      alignas(64) u32 all[64 * kWords];
      for (u32 i = 0; i < n; ++i) {
        for (u32 r = 0; r < kWords; ++r) all[i * kWords + r] = data[r * n + i];
      }
      std::memcpy(first, all, n * 4 * kWords);
    }
    return;
  }
  for (u32 i = 0; i < n; ++i) {
    if (o.mask != nullptr && o.mask[i] == 0) continue;
    PutElement<kWords>(to + o.at[i], data + i, n);
  }
}

template <typename T>
void StoreSmall(const MemOp& op, u8* to, const LaneOffsets& o,
                const u32* data) {
  const u32 shift = op.hi ? 16 : 0;
  for (u32 i = 0; i < o.n; ++i) {
    if (o.mask != nullptr && o.mask[i] == 0) continue;
    const T v = static_cast<T>(data[i] >> shift);
    std::memcpy(to + o.at[i], &v, sizeof(T));
  }
}

void Store(const MemOp& op, u8* to, const LaneOffsets& o, const u32* data) {
  switch (op.bytes) {
    case 1: return StoreSmall<u8>(op, to, o, data);
    case 2: return StoreSmall<u16>(op, to, o, data);
    case 4: return StoreWords<1>(to, o, data);
    case 8: return StoreWords<2>(to, o, data);
    case 12: return StoreWords<3>(to, o, data);
    default: return StoreWords<4>(to, o, data);
  }
}

}  // namespace

constexpr LaneMemory kLaneMemory = {Find, Find64, Load, Store};

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
