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

// The rows of a box one after the other, as they lie in shared memory.
class TensorRows {
 public:
  INLINE_MEMBER TensorRows(const TensorMap* map, s32 first, SHARED u8* shared)
      : map_(map),
        shared_(shared),
        first_(first),
        log2_(map->element_log2),
        bytes_(static_cast<u32>(map->box[0]) << map->element_log2),
        swizzled_(((1u << map->swizzle) - 1) << 4) {}

  // Calls fn for each 16 bytes of the row at `x` in dimensions 1 to 4.
  template <typename Fn>
  INLINE_MEMBER void Row(const s64 (&x)[4], Fn fn) {
    u64 at = map_->address;
    bool inside = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      inside &= x[i] >= 0 && x[i] <= map_->last[i + 1];
      at += static_cast<u64>(x[i]) * map_->strides[i];
    }
    const u32 base = reinterpret_cast<u32>(shared_);
    for (u32 b = 0; b < bytes_; b += 16, offset_ += 16) {
      const u32 plain = base + offset_;
      const u32 place = plain ^ (plain >> 3 & swizzled_);
      fn(TensorChunk{reinterpret_cast<SHARED Chunk*>(shared_ + (place - base)),
                     reinterpret_cast<GLOBAL u8*>(at), first_ + s64{b >> log2_},
                     inside});
    }
  }
  INLINE_MEMBER u32 bytes() const { return offset_; }  // of all rows so far

 private:
  const TensorMap* map_;
  SHARED u8* shared_;
  s64 first_;
  u32 log2_;
  u32 bytes_;
  u32 swizzled_;
  u32 offset_ = 0;
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
  TensorRows box(map, c0, shared);
  for (u32 r = 0; r < rows; ++r) {
    s64 x[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      x[i] = start[i] + static_cast<s64>(next[i]) * map->steps[i + 1];
    }
    box.Row(x, fn);
    bool carry = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      next[i] += carry ? 1 : 0;
      carry = next[i] == count[i];
      if (carry) next[i] = 0;
    }
  }
  return box.bytes();
}

// The same of a map of pixels (im2col): those that follow the one at c1, … in
// the box of them, each moved by the offsets, which are for a place in a
// convolution's filter.
template <typename Fn>
INLINE u32 ForPixels(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3,
                     s32 c4, s32 o0, s32 o1, s32 o2, SHARED u8* shared, Fn fn) {
  s64 next[4] = {c1, c2, c3, c4};
  const s32 offset[4] = {o0, o1, o2, 0};
  const int images = map->rank - 2;  // which of the four counts images
  TensorRows box(map, c0, shared);
  for (u32 p = 0; p < map->pixels; ++p) {
    s64 x[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) x[i] = next[i] + (i < images ? offset[i] : 0);
    box.Row(x, fn);
    bool carry = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      if (!carry) continue;
      const bool pixel = i < images;
      next[i] += pixel ? map->steps[i + 1] : 1;
      carry = pixel && i < 3 &&
              next[i] > static_cast<s64>(map->last[i + 1]) + map->upper[i % 3];
      if (carry) next[i] = map->lower[i % 3];
    }
  }
  return box.bytes();
}

// Four rows of a matrix, wherever they are.
template <typename Fn>
INLINE u32 ForFourRows(const TensorMap* map, s32 c0, s32 y0, s32 y1, s32 y2,
                       s32 y3, SHARED u8* shared, Fn fn) {
  const s32 rows[4] = {y0, y1, y2, y3};
  TensorRows box(map, c0, shared);
#pragma clang loop unroll(disable)
  for (int i = 0; i < 4; ++i) box.Row({rows[i]}, fn);
  return box.bytes();
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

INLINE void LoadChunk(const TensorMap* map, const TensorChunk& c) {
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
}
INLINE void StoreChunk(const TensorMap* map, const TensorChunk& c) {
  if (IsWhole(map, c)) {
    *reinterpret_cast<GLOBAL Chunk*>(FirstOf(map, c)) = *c.shared;
    return;
  }
  const SHARED u8* bytes = reinterpret_cast<SHARED u8*>(c.shared);
#pragma clang loop unroll(full)
  for (u32 i = 0; i < 16; ++i) {
    if (HasByte(map, c, i)) FirstOf(map, c)[i] = bytes[i];
  }
}

DEV(u32, tensor_load)(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3,
                      s32 c4, SHARED u8* to) {
  return ForBox(map, c0, c1, c2, c3, c4, to,
                [&](const TensorChunk& c) { LoadChunk(map, c); });
}
DEV(u32, tensor_load_pixels)(const TensorMap* map, s32 c0, s32 c1, s32 c2,
                             s32 c3, s32 c4, SHARED u8* to, s32 o0, s32 o1,
                             s32 o2) {
  return ForPixels(map, c0, c1, c2, c3, c4, o0, o1, o2, to,
                   [&](const TensorChunk& c) { LoadChunk(map, c); });
}
DEV(u32, tensor_load_rows)(const TensorMap* map, s32 c0, s32 y0, s32 y1, s32 y2,
                           s32 y3, SHARED u8* to) {
  return ForFourRows(map, c0, y0, y1, y2, y3, to,
                     [&](const TensorChunk& c) { LoadChunk(map, c); });
}

DEV(void, tensor_store)(const TensorMap* map, s32 c0, s32 c1, s32 c2, s32 c3,
                        s32 c4, SHARED u8* from) {
  ForBox(map, c0, c1, c2, c3, c4, from,
         [&](const TensorChunk& c) { StoreChunk(map, c); });
}
DEV(void, tensor_store_pixels)(const TensorMap* map, s32 c0, s32 c1, s32 c2,
                               s32 c3, s32 c4, SHARED u8* from) {
  ForPixels(map, c0, c1, c2, c3, c4, 0, 0, 0, from,
            [&](const TensorChunk& c) { StoreChunk(map, c); });
}
DEV(void, tensor_store_rows)(const TensorMap* map, s32 c0, s32 y0, s32 y1,
                             s32 y2, s32 y3, SHARED u8* from) {
  ForFourRows(map, c0, y0, y1, y2, y3, from,
              [&](const TensorChunk& c) { StoreChunk(map, c); });
}

// ---- Reductions -------------------------------------------------------------

// CUtensorMapDataType.
enum TensorType : u8 {
  kTensorU32 = 2,
  kTensorS32 = 3,
  kTensorU64 = 4,
  kTensorS64 = 5,
  kTensorF16 = 6,
  kTensorF32 = 7,
  kTensorF64 = 8,
  kTensorBf16 = 9,
};

// A change of an element of 32 or 64 bits in one step.
template <typename Word, typename Change>
INLINE void ChangeWord(GLOBAL u8* at, Change change) {
  GLOBAL Word* word = reinterpret_cast<GLOBAL Word*>(at);
  Word seen =
      __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  while (!__scoped_atomic_compare_exchange_n(word, &seen, change(seen), false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_DEVICE)) {
  }
}
// Of 16 bits in the word that holds it.
template <typename Change>
INLINE void ChangeHalf(GLOBAL u8* at, Change change) {
  const u64 place = reinterpret_cast<u64>(at);
  const u32 shift = static_cast<u32>(place & 2) * 8;
  ChangeWord<u32>(reinterpret_cast<GLOBAL u8*>(place & ~u64{3}), [&](u32 word) {
    const u16 half = change(static_cast<u16>(word >> shift));
    return (word & ~(0xffffu << shift)) | static_cast<u32>(half) << shift;
  });
}

INLINE float OfBf16(u16 bits) {
  return __builtin_bit_cast(float, static_cast<u32>(bits) << 16);
}
INLINE u16 ToBf16(float value) {
  return __builtin_bit_cast(u16, static_cast<__bf16>(value));
}

// Combines the element at `at` with the one at `from`; `op` has calls for
// unsigned, signed and floating-point numbers.
template <typename Op>
INLINE void ReduceElement(u8 type, GLOBAL u8* at, SHARED const u8* from,
                          Op op) {
  const auto read = [&]<typename T>(T) {
    return *reinterpret_cast<SHARED const T*>(from);
  };
  const auto whole = [&]<typename Word, typename T>(Word, T) {
    ChangeWord<Word>(at, [&](Word word) {
      return __builtin_bit_cast(Word,
                                op(__builtin_bit_cast(T, word), read(T())));
    });
  };
  switch (type) {
    case kTensorU32: whole(u32(), u32()); break;
    case kTensorS32: whole(u32(), s32()); break;
    case kTensorU64: whole(u64(), u64()); break;
    case kTensorS64: whole(u64(), s64()); break;
    case kTensorF32: whole(u32(), float()); break;
    case kTensorF64: whole(u64(), double()); break;
    case kTensorF16:
      ChangeHalf(at, [&](u16 half) {
        return BitsOf(op(__builtin_bit_cast(_Float16, half), read(_Float16())));
      });
      break;
    case kTensorBf16:
      ChangeHalf(at, [&](u16 half) {
        return ToBf16(op(OfBf16(half), OfBf16(read(u16()))));
      });
      break;
    default: break;  // bytes and halves of integers have no reductions
  }
}

template <typename Op>
INLINE void ReduceChunk(const TensorMap* map, const TensorChunk& c, Op op) {
  const u32 size = 1u << map->element_log2;
  for (u32 i = 0; i < 16; i += size) {
    if (HasByte(map, c, i)) {
      ReduceElement(map->type, FirstOf(map, c) + i,
                    reinterpret_cast<SHARED const u8*>(c.shared) + i, op);
    }
  }
}

template <typename T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;
template <>
constexpr bool kIsFloat<_Float16> = true;

template <typename T>
INLINE T SmallerOf(T a, T b) {
  if constexpr (!kIsFloat<T>) return a < b ? a : b;
  if (a != a) return b;
  return b != b || a < b || (a == b && __builtin_signbit(double(a))) ? a : b;
}
template <typename T>
INLINE T LargerOf(T a, T b) {
  if constexpr (!kIsFloat<T>) return a > b ? a : b;
  if (a != a) return b;
  return b != b || a > b || (a == b && !__builtin_signbit(double(a))) ? a : b;
}
// Of integers alone.
template <typename T, typename Fn>
INLINE T OfIntegers(T a, T b, Fn fn) {
  if constexpr (kIsFloat<T>) return a;
  else return fn(a, b);
}

#define TENSOR_REDUCE(name, op)                                                \
  DEV(void, tensor_reduce_##name)(const TensorMap* map, s32 c0, s32 c1,        \
                                  s32 c2, s32 c3, s32 c4, SHARED u8* from) {   \
    ForBox(map, c0, c1, c2, c3, c4, from,                                      \
           [&](const TensorChunk& c) { ReduceChunk(map, c, op); });            \
  }                                                                            \
  DEV(void, tensor_reduce_pixels_##name)(const TensorMap* map, s32 c0, s32 c1, \
                                         s32 c2, s32 c3, s32 c4,               \
                                         SHARED u8* from) {                    \
    ForPixels(map, c0, c1, c2, c3, c4, 0, 0, 0, from,                          \
              [&](const TensorChunk& c) { ReduceChunk(map, c, op); });         \
  }
TENSOR_REDUCE(add, ([]<typename T>(T a, T b) { return T(a + b); }))
TENSOR_REDUCE(min, ([]<typename T>(T a, T b) { return SmallerOf(a, b); }))
TENSOR_REDUCE(max, ([]<typename T>(T a, T b) { return LargerOf(a, b); }))
TENSOR_REDUCE(inc, ([]<typename T>(T a, T b) {
                return OfIntegers(
                    a, b, [](T x, T y) { return x >= y ? T(0) : T(x + 1); });
              }))
TENSOR_REDUCE(dec, ([]<typename T>(T a, T b) {
                return OfIntegers(a, b, [](T x, T y) {
                  return x == 0 || x > y ? y : T(x - 1);
                });
              }))
TENSOR_REDUCE(and, ([]<typename T>(T a, T b) {
                return OfIntegers(a, b, [](auto x, auto y) { return x & y; });
              }))
TENSOR_REDUCE(or, ([]<typename T>(T a, T b) {
                return OfIntegers(a, b, [](auto x, auto y) { return x | y; });
              }))
TENSOR_REDUCE(xor, ([]<typename T>(T a, T b) {
  return OfIntegers(a, b, [](auto x, auto y) { return x ^ y; });
}))
#undef TENSOR_REDUCE

// ---- Changes of a map -------------------------------------------------------

// tensormap.replace, of the map at a generic address.
DEV(void, tensormap_address)(TensorMap* map, u64 address) {
  map->address = address;
}
// PTX ISA, "tensormap.replace": one less than the rank.
DEV(void, tensormap_rank)(TensorMap* map, u32 rank) {
  map->rank = static_cast<u8>(rank + 1);
  // The others are as cuTensorMapEncodeTiled leaves them, also where the map
  // was zeros before.
  map->kind = cerberus::formats::kTensorMapTiled;
  map->steps[0] = 1;
#pragma clang loop unroll(disable)
  for (u32 i = rank + 1; i < 5; ++i) {
    map->last[i] = 0;
    map->box[i] = 1;
    map->steps[i] = 1;
    map->strides[i - 1] = 0;
  }
}
DEV(void, tensormap_box)(TensorMap* map, u32 dimension, u32 elements) {
  map->box[dimension] = static_cast<u16>(elements);
}
DEV(void, tensormap_size)(TensorMap* map, u32 dimension, u32 elements) {
  map->last[dimension] = elements - 1;
}
DEV(void, tensormap_step)(TensorMap* map, u32 dimension, u32 elements) {
  // In dimension 0 it is not looked at.
  if (dimension != 0) map->steps[dimension] = static_cast<u8>(elements);
}
DEV(void, tensormap_stride)(TensorMap* map, u32 dimension, u64 bytes) {
  map->strides[dimension] = bytes;
}
DEV(void, tensormap_type)(TensorMap* map, u32 type, u32 log2) {
  map->type = static_cast<u8>(type);
  map->element_log2 = static_cast<u8>(log2);
}
DEV(void, tensormap_swizzle)(TensorMap* map, u32 swizzle) {
  map->swizzle = static_cast<u8>(swizzle);
}
// A map moved from shared memory to device memory, by a warp.
DEV(void, tensormap_copy)(GLOBAL u32* to, SHARED const u32* from) {
  to[__cerberus_wave_lane()] = from[__cerberus_wave_lane()];
}

#endif  // CERBERUS_DEVLIB_TENSOR_H_
