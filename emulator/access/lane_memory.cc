#include "emulator/access/lane_memory.h"

#include <cstring>

#include "emulator/access/whole.h"
#include "emulator/vector/host_isa.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

// Before a loop that reads from all over memory: gathers are slower than loads
// on many hosts.
#define CERBERUS_EMU_ONE_BY_ONE _Pragma("clang loop vectorize(disable)")

// The number of lanes is a constant everywhere: loops have no ends to look
// after.

// What is between a lane's offset and the next one's.
template <u32 n>
Shape ShapeOf(const u32* at, u32 bytes) {
  u32 apart = 0, same = 0;
  CERBERUS_EMU_SIDE_BY_SIDE
  for (u32 i = 0; i < n; ++i) {
    apart |= at[i] ^ (at[0] + bytes * i);
    same |= at[i] ^ at[0];
  }
  return apart == 0 ? Shape::kRow : same == 0 ? Shape::kSame : Shape::kAny;
}

template <u32 n>
void FindLanes(const u32* rows, u32 add, u32 guard, u32 limit, u32 bytes,
               LaneOffsets* o) {
  const u32* const mask = o->mask;
  u32* const __restrict at = o->at;
  u32 outside = 0;  // the top bit: an offset above `limit`
  if (mask == nullptr) {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < n; ++i) {
      const u32 v = rows[i] + add;
      outside |= v | (limit - v) | (rows[i] & guard);
      at[i] = v;
    }
  } else {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < n; ++i) {
      const u32 v = (rows[i] + add) & mask[i];
      outside |= v | (limit - v) | (rows[i] & guard & mask[i]);
      at[i] = v;
    }
  }
  o->shape = outside >> 31 != 0 ? Shape::kOutside
             : mask != nullptr  ? Shape::kAny
                                : ShapeOf<n>(at, bytes);
}

void Find(const u32* rows, u32 add, u32 guard, u32 limit, u32 bytes,
          LaneOffsets* o) {
  if (o->n == 64) FindLanes<64>(rows, add, guard, limit, bytes, o);
  else FindLanes<32>(rows, add, guard, limit, bytes, o);
}

template <u32 n>
void FindLanes64(const u32* rows, u64 add, u32 limit, u32 bytes,
                 LaneOffsets* o) {
  const u32* const mask = o->mask;
  u32* const __restrict at = o->at;
  const u32 low = static_cast<u32>(add), high = static_cast<u32>(add >> 32);
  u32 outside = 0, upper = 0;
  if (mask == nullptr) {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < n; ++i) {
      const u32 v = rows[i] + low;
      upper |= rows[i + n] + high + (v < low ? 1 : 0);
      outside |= v | (limit - v);
      at[i] = v;
    }
  } else {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < n; ++i) {
      const u32 v = rows[i] + low;
      upper |= (rows[i + n] + high + (v < low ? 1 : 0)) & mask[i];
      outside |= (v | (limit - v)) & mask[i];
      at[i] = v & mask[i];
    }
  }
  o->shape = outside >> 31 != 0 || upper != 0 ? Shape::kOutside
             : mask != nullptr                ? Shape::kAny
                                              : ShapeOf<n>(at, bytes);
}

void Find64(const u32* rows, u64 add, u32 limit, u32 bytes, LaneOffsets* o) {
  if (o->n == 64) FindLanes64<64>(rows, add, limit, bytes, o);
  else FindLanes64<32>(rows, add, limit, bytes, o);
}

template <typename T>
inline T Get(const u8* from) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  return v;
}

template <u32 n>
inline void Blend(u32* d, const u32* v, const u32* mask) {
  if (mask == nullptr) {
    std::memcpy(d, v, 4 * n);
    return;
  }
  CERBERUS_EMU_SIDE_BY_SIDE
  for (u32 i = 0; i < n; ++i) d[i] = (v[i] & mask[i]) | (d[i] & ~mask[i]);
}

// One lane's element.
template <u32 kWords>
inline void GetElement(const u8* from, u32* v, u32 stride) {
  u32 words[kWords];
  GetWhole(from, kWords, words);
  for (u32 r = 0; r < kWords; ++r) v[r * stride] = words[r];
}
template <u32 kWords>
inline void PutElement(u8* to, const u32* v, u32 stride) {
  u32 words[kWords];
  for (u32 r = 0; r < kWords; ++r) words[r] = v[r * stride];
  PutWhole(to, kWords, words);
}

template <u32 kWords, u32 n>
void LoadWords(const u8* from, const LaneOffsets& o, u32* d) {
  if (o.shape == Shape::kRow) {
    const u8* const first = from + o.at[0];
    if constexpr (kWords == 1) {
      std::memcpy(d, first, 4 * n);
    } else {
      alignas(64) u32 all[n * kWords];
      std::memcpy(all, first, sizeof all);
      CERBERUS_EMU_SIDE_BY_SIDE
      for (u32 i = 0; i < n; ++i) {
        for (u32 r = 0; r < kWords; ++r) d[r * n + i] = all[i * kWords + r];
      }
    }
    return;
  }
  alignas(64) u32 v[n * kWords];
  if (o.shape == Shape::kSame) {
    u32 one[kWords];
    GetElement<kWords>(from + o.at[0], one, 1);
    for (u32 r = 0; r < kWords; ++r) {
      CERBERUS_EMU_SIDE_BY_SIDE
      for (u32 i = 0; i < n; ++i) v[r * n + i] = one[r];
    }
  } else {
    CERBERUS_EMU_ONE_BY_ONE
    for (u32 i = 0; i < n; ++i) {
      GetElement<kWords>(from + o.at[i], v + i, n);
    }
  }
  for (u32 r = 0; r < kWords; ++r) Blend<n>(d + r * n, v + r * n, o.mask);
}

template <typename T, u32 n>
void LoadSmall(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d) {
  alignas(64) u32 v[n];
  CERBERUS_EMU_ONE_BY_ONE
  for (u32 i = 0; i < n; ++i) {
    v[i] = static_cast<u32>(i32{Get<T>(from + o.at[i])});
  }
  if (op.d16) {
    const u32 shift = op.hi ? 16 : 0;
    const u32 kept = !op.keeps ? 0 : op.hi ? 0xffffu : 0xffff0000u;
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < n; ++i) {
      v[i] = (v[i] & 0xffff) << shift | (d[i] & kept);
    }
  }
  Blend<n>(d, v, o.mask);
}

template <u32 n>
void LoadLanes(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d) {
  switch (op.bytes) {
    case 1:
      return op.sign ? LoadSmall<i8, n>(op, from, o, d)
                     : LoadSmall<u8, n>(op, from, o, d);
    case 2:
      return op.sign ? LoadSmall<i16, n>(op, from, o, d)
                     : LoadSmall<u16, n>(op, from, o, d);
    case 4: return LoadWords<1, n>(from, o, d);
    case 8: return LoadWords<2, n>(from, o, d);
    case 12: return LoadWords<3, n>(from, o, d);
    default: return LoadWords<4, n>(from, o, d);
  }
}

void Load(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d) {
  return o.n == 64 ? LoadLanes<64>(op, from, o, d)
                   : LoadLanes<32>(op, from, o, d);
}

template <u32 kWords, u32 n>
void StoreWords(u8* to, const LaneOffsets& o, const u32* data) {
  if (o.shape == Shape::kRow) {
    u8* const first = to + o.at[0];
    if constexpr (kWords == 1) {
      std::memcpy(first, data, 4 * n);
    } else {
      alignas(64) u32 all[n * kWords];
      CERBERUS_EMU_SIDE_BY_SIDE
      for (u32 i = 0; i < n; ++i) {
        for (u32 r = 0; r < kWords; ++r) all[i * kWords + r] = data[r * n + i];
      }
      std::memcpy(first, all, sizeof all);
    }
    return;
  }
  CERBERUS_EMU_SIDE_BY_SIDE
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

template <u32 n>
void StoreLanes(const MemOp& op, u8* to, const LaneOffsets& o,
                const u32* data) {
  switch (op.bytes) {
    case 1: return StoreSmall<u8>(op, to, o, data);
    case 2: return StoreSmall<u16>(op, to, o, data);
    case 4: return StoreWords<1, n>(to, o, data);
    case 8: return StoreWords<2, n>(to, o, data);
    case 12: return StoreWords<3, n>(to, o, data);
    default: return StoreWords<4, n>(to, o, data);
  }
}

void Store(const MemOp& op, u8* to, const LaneOffsets& o, const u32* data) {
  return o.n == 64 ? StoreLanes<64>(op, to, o, data)
                   : StoreLanes<32>(op, to, o, data);
}

// out[lane] = from[index[lane]], with indices below the number of lanes.
template <u32 n>
void PullLanes(const u32* from, const u32* index, u32* out) {
#ifdef __AVX512F__
  const auto row = [from](u32 at) { return _mm512_loadu_si512(from + at); };
  for (u32 i = 0; i < n; i += 16) {
    const __m512i at = _mm512_loadu_si512(index + i);
    __m512i v = _mm512_permutex2var_epi32(row(0), at, row(16));
    if constexpr (n == 64) {
      const __m512i upper = _mm512_permutex2var_epi32(row(32), at, row(48));
      const __mmask16 high = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
      v = _mm512_mask_mov_epi32(v, high, upper);
    }
    _mm512_storeu_si512(out + i, v);
  }
#elif defined(__AVX2__)
  const auto row = [](const u32* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  };
  for (u32 i = 0; i < n; i += 8) {
    const __m256i at = row(index + i), part = _mm256_srli_epi32(at, 3);
    __m256i v = _mm256_permutevar8x32_epi32(row(from), at);
    for (u32 r = 1; r < n / 8; ++r) {
      v = _mm256_blendv_epi8(
          v, _mm256_permutevar8x32_epi32(row(from + 8 * r), at),
          _mm256_cmpeq_epi32(part, _mm256_set1_epi32(static_cast<int>(r))));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), v);
  }
#else
  for (u32 i = 0; i < n; ++i) out[i] = from[index[i]];
#endif
}

void Pull(const u32* from, const u32* index, u32 n, u32* out) {
  if (n == 64) PullLanes<64>(from, index, out);
  else PullLanes<32>(from, index, out);
}

}  // namespace

constexpr LaneMemory kLaneMemory = {Find, Find64, Load, Store, Pull};

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
