// Matrix products with sums in tensor memory (tensor_memory.h).
#ifndef CERBERUS_DEVLIB_TENSOR_PRODUCT_H_
#define CERBERUS_DEVLIB_TENSOR_PRODUCT_H_

#include "async.h"
#include "device.h"
#include "formats/tensor_memory.h"
#include "tensor_memory.h"

using cerberus::formats::TensorHow;

// ---- Elements ---------------------------------------------------------------

// Kinds of products, by what 16 bytes of K are.
enum TensorKind {
  kTensorHalves,  // 8 f16 or bf16
  kTensorTf32,    // 4
  kTensorSmall,   // 16 floats of 8 bits; of 6 and 4 with a gap behind them
  kTensorBytes,   // 16 integers
  kTensorQuads,   // 32 floats of 4 bits
};

template <TensorKind kind>
constexpr u32 kPerChunk = kind == kTensorHalves  ? 8
                          : kind == kTensorTf32  ? 4
                          : kind == kTensorQuads ? 32
                                                 : 16;

template <TensorKind kind>
struct NumberOf {
  using Type = float;
};
template <>
struct NumberOf<kTensorBytes> {
  using Type = s32;
};

// A float of at most 8 bits is a half of which the exponent counts from
// elsewhere.
struct SmallFloat {
  u32 bits, shift;
  _Float16 scale;
  bool has_nan;

  INLINE_MEMBER float operator()(u32 code) const {
    const u32 sign = 1u << (bits - 1);
    const u32 magnitude = code & (sign - 1);
    const u16 half = static_cast<u16>(magnitude << shift |
                                      ((code & sign) != 0 ? 0x8000 : 0));
    const float value =
        static_cast<float>(__builtin_bit_cast(_Float16, half) * scale);
    return has_nan && magnitude == 0x7f ? __builtin_nanf("") : value;
  }
};
// By the number of the type in an instruction descriptor: e4m3, e5m2, e2m3,
// e3m2, e2m1.
INLINE SmallFloat SmallFloatOf(u32 type) {
  switch (type) {
    case 1: return {8, 8, 1, false};
    case 3: return {6, 7, 0x1p14f16, false};
    case 4: return {6, 8, 0x1p12f16, false};
    case 5: return {4, 9, 0x1p14f16, false};
    default: return {8, 7, 0x1p8f16, true};
  }
}

// What an element is: its type's number, whether it is negated, and whether
// 6 and 4 bits have a byte each, as in tensor memory.
struct ElementType {
  u32 type;
  bool negated;
  bool spread;
};

// Element i of 16 bytes.
template <TensorKind kind>
INLINE typename NumberOf<kind>::Type ElementOf(Chunk words, u32 i,
                                               const ElementType& element) {
  const auto byte = [&](u32 at) { return words[at / 4] >> at % 4 * 8 & 0xff; };
  if constexpr (kind == kTensorBytes) {
    const u32 code = byte(i);
    return element.type != 0 ? static_cast<s32>(static_cast<int8_t>(code))
                             : static_cast<s32>(code);
  } else {
    float value;
    if constexpr (kind == kTensorHalves) {
      const u32 code = words[i / 2] >> i % 2 * 16 & 0xffff;
      value = element.type == 0 ? static_cast<float>(__builtin_bit_cast(
                                      _Float16, static_cast<u16>(code)))
                                : __builtin_bit_cast(float, code << 16);
    } else if constexpr (kind == kTensorTf32) {
      value = __builtin_bit_cast(float, words[i] & 0xffffe000);
    } else if constexpr (kind == kTensorQuads) {
      value = SmallFloatOf(5)(words[i / 8] >> i % 8 * 4 & 0xf);
    } else {
      const SmallFloat decode = SmallFloatOf(element.type);
      u32 code = byte(i);
      if (decode.bits == 4) {
        code = element.spread ? byte(i) >> 2 : words[i / 8] >> i % 8 * 4;
      } else if (decode.bits == 6 && !element.spread) {
        code = SixBits(words, i);
      }
      value = decode(code);
    }
    return element.negated ? -value : value;
  }
}

// 16 bytes of a line of a matrix in shared memory.
template <TensorKind kind>
INLINE Chunk ReadChunk(const SharedMatrix& matrix, u64 shared, u32 line,
                       u32 chunk, bool transposed) {
  if constexpr (kind != kTensorQuads) {
    if (transposed) {
      constexpr u32 kPer = kPerChunk<kind>;
      constexpr u32 kBytes = 16 / kPer;
      Chunk words = {0, 0, 0, 0};
#pragma clang loop unroll(full)
      for (u32 i = 0; i < kPer; ++i) {
        const u64 at = matrix.Element(shared, line, chunk * kPer + i, kBytes);
        const u32 value = kBytes == 4   ? Get<u32>(at)
                          : kBytes == 2 ? Get<u16>(at)
                                        : Get<u8>(at);
        words[i * kBytes / 4] |= value << i * kBytes % 4 * 8;
      }
      return words;
    }
  }
  return Get<Chunk>(matrix.Chunk16(shared, line, chunk));
}

// ---- Products ---------------------------------------------------------------

struct TensorProduct {
  u64 memory[2];  // tensor memory of the two blocks of a pair
  u64 a, b;       // descriptors; a also an address in tensor memory
  u32 d, instruction, how, metadata, scale_a, scale_b;
  u32 masks[8];
};

// Which lane and column a place of D has, of those of one block (PTX ISA,
// "Data Path Layout Organization").
struct DataPath {
  u32 rows;        // of one block
  u32 fold;        // so many parts of the columns lie one below the other
  bool scattered;  // 16 rows in 32 lanes each

  INLINE_MEMBER u32 Lane(u32 row) const {
    return scattered ? row / 16 * 32 + row % 16 : row;
  }
};

INLINE DataPath PathOf(u32 m, u32 how) {
  if (how & TensorHow::kWeights) return {m, kTensorLanes / m, false};
  if (how & TensorHow::kPair) {
    if (m == 256) return {128, 1, false};
    if (how & TensorHow::kSparse) return {m / 2, 1, true};
    return {m / 2, kTensorLanes / (m / 2), false};
  }
  return {m, 1, m == 64};
}

// The two bits that say where each of a group's two elements comes from, for
// all groups of a row (PTX ISA, "Sparse Matrices").
template <TensorKind kind>
INLINE u64 MetadataOf(const TensorProduct& p, u64 memory, const DataPath& path,
                      u32 row) {
  const u32 column = p.instruction & 3;
  if constexpr (kind == kTensorHalves || kind == kTensorTf32) {
    const u32 lane = (path.scattered ? row / 16 * 32 : row / 16 * 16) + row % 8;
    const u32 shift = row / 8 % 2 * 16;
    const u32 low = Get<u32>(TensorPlace(memory, p.metadata, lane, column));
    const u32 high =
        Get<u32>(TensorPlace(memory, p.metadata, lane + 8, column));
    return (low >> shift & 0xffff) | (high >> shift & 0xffff) << 16;
  } else {
    const u32 lane = path.Lane(row);
    const u32 low = Get<u32>(TensorPlace(memory, p.metadata, lane, column));
    const u32 high =
        Get<u32>(TensorPlace(memory, p.metadata, lane, column + 1));
    return low | static_cast<u64>(high) << 32;
  }
}

INLINE float TensorScale(u32 code, bool exponent) {
  if (!exponent) return SmallFloatOf(0)(code & 0x7f);
  if (code == 0xff) return __builtin_nanf("");
  return code == 0 ? 0x1p-127f : __builtin_bit_cast(float, code << 23);
}

// The scale of a line: 32 of them below each other in a column, a byte for
// each block of K.
INLINE float ScaleOf(u64 memory, u32 address, u32 line, u32 byte,
                     bool exponent) {
  const u64 at =
      TensorPlace(memory, address & 0x3fffffff, line % 32, line / 32);
  return TensorScale(Get<u8>(at + byte), exponent);
}

// Columns of B that count as zeros: spans of those that do and do not take
// turns (PTX ISA, "Zero-Column Mask Descriptor").
INLINE bool IsZeroColumn(const TensorProduct& p, const DataPath& path, u32 n,
                         u32 column) {
  const u32 spans = p.masks[1];
  if ((spans >> 7 & 1) == 0) return false;
  const u32 skipped = (spans >> 8 & 0xff) + 1;
  const u32 used = (spans >> 16 & 0xff) + 1;
  const u32 width = n / path.fold;
  const u32 part = column / width;
  const u32 from =
      (p.masks[0] >> part * 8 & 0xff) + ((spans >> part & 1) != 0 ? used : 0);
  return (from + column % width) % (used + skipped) >= used;
}

// What of K is worked on at a time: all of it, but for sparse floats of 4 bits,
// of which there are too many for a lane's registers.
template <TensorKind kind, bool kSparse>
struct PartOfK {
  static constexpr u32 kParts = kSparse && kind == kTensorQuads ? 2 : 1;
  static constexpr u32 kPer = kPerChunk<kind>;
  static constexpr u32 kChunksOfA = kParts == 2 ? 1 : 2;
  static constexpr u32 kChunksOfB = kSparse ? 2 * kChunksOfA : 2;
  static constexpr u32 kA = kChunksOfA * kPer;  // elements
  static constexpr u32 kB = kChunksOfB * kPer;  // places of K
  // Of a sparse row, kStored of kGroup places are there, in runs of kRun.
  static constexpr u32 kRun = kind == kTensorQuads ? 2 : 1;
  static constexpr u32 kGroup = kind == kTensorTf32    ? 2
                                : kind == kTensorQuads ? 8
                                                       : 4;
  static constexpr u32 kStored = kGroup / 2;
};

template <TensorKind kind>
INLINE typename NumberOf<kind>::Type MultiplyAdd(
    typename NumberOf<kind>::Type a, typename NumberOf<kind>::Type b,
    typename NumberOf<kind>::Type sum) {
  if constexpr (kind == kTensorBytes) {
    return static_cast<s32>(static_cast<u32>(a * b) + static_cast<u32>(sum));
  } else {
    return __builtin_fmaf(a, b, sum);
  }
}

// The element of `b` that element i of sparse A meets.
template <TensorKind kind, typename Number>
INLINE Number Met(const Number* b, u32 i, u64 metadata) {
  using Part = PartOfK<kind, true>;
  const u32 group = i / Part::kStored;
  const u32 run = i % Part::kStored / Part::kRun;
  const u32 in_run = i % Part::kRun;
  u32 index = static_cast<u32>(metadata >> (4 * group + 2 * run)) & 3;
  constexpr u32 kRuns = Part::kGroup / Part::kRun;
  // Of pairs in f32 the index is one of halves of elements.
  if (kind == kTensorTf32) index /= 2;
  Number met = b[group * Part::kGroup + in_run];
#pragma clang loop unroll(full)
  for (u32 j = 1; j < kRuns; ++j) {
    if (index == j) met = b[group * Part::kGroup + j * Part::kRun + in_run];
  }
  return met;
}

// A block's part of a product.
template <TensorKind kind, bool kSparse>
struct BlockProduct {
  using Part = PartOfK<kind, kSparse>;
  using Number = typename NumberOf<kind>::Type;

  const TensorProduct& p;
  DataPath path;
  u32 block, part;
  u64 memory, shared;
  SharedMatrix a, b;

  INLINE_MEMBER u32 columns() const { return (p.instruction >> 17 & 63) * 8; }
  INLINE_MEMBER bool has(u32 bit) const { return (p.how & bit) != 0; }
  INLINE_MEMBER u32 field(u32 from, u32 bits) const {
    return p.instruction >> from & ((1u << bits) - 1);
  }

  INLINE_MEMBER void ReadColumn(u32 column, Number* to) const {
    // Each block of a pair has half of the columns.
    const u32 width = has(TensorHow::kPair) ? columns() / 2 : columns();
    const u64 holder = column < width ? p.memory[0] : p.memory[1];
    const bool zero =
        has(TensorHow::kWeights) && IsZeroColumn(p, path, columns(), column);
    const ElementType type = {field(10, 3), field(14, 1) != 0, false};
#pragma clang loop unroll(full)
    for (u32 chunk = 0; chunk < Part::kChunksOfB; ++chunk) {
      const Chunk words =
          ReadChunk<kind>(b, holder + kTensorMemoryBytes, column % width,
                          part * Part::kChunksOfB + chunk, field(16, 1) != 0);
#pragma clang loop unroll(full)
      for (u32 j = 0; j < Part::kPer; ++j) {
        to[chunk * Part::kPer + j] =
            zero ? Number(0) : ElementOf<kind>(words, j, type);
      }
    }
  }

  // Adds the products of a row and a column: those of each quarter of K to a
  // sum of its own, or all to the first.
  template <bool kQuarters>
  INLINE_MEMBER void AddRow(u32 row, const Number* column, Number* sums) const {
    const bool in_memory = has(TensorHow::kAInMemory);
    const ElementType type = {field(7, 3), field(13, 1) != 0, in_memory};
    // Rows move down by one, all but the last.
    const u32 line =
        has(TensorHow::kShiftA) && row + 1 < path.rows ? row + 1 : row;
    u64 metadata = 0;
    if constexpr (kSparse) {
      metadata = MetadataOf<kind>(p, memory, path, line) >>
                 part * (4 * Part::kB / Part::kGroup);
    }
#pragma clang loop unroll(full)
    for (u32 chunk = 0; chunk < Part::kChunksOfA; ++chunk) {
      const u32 number = part * Part::kChunksOfA + chunk;
      const Chunk words =
          in_memory
              ? Get<Chunk>(TensorPlace(memory, static_cast<u32>(p.a),
                                       path.Lane(line), 4 * number))
              : ReadChunk<kind>(a, shared, line, number, field(15, 1) != 0);
#pragma clang loop unroll(full)
      for (u32 j = 0; j < Part::kPer; ++j) {
        const u32 i = chunk * Part::kPer + j;
        Number& sum = sums[kQuarters ? i / (Part::kA / 4) : 0];
        Number met;
        if constexpr (kSparse) {
          met = Met<kind, Number>(column, i, metadata);
        } else {
          met = column[i];
        }
        sum = MultiplyAdd<kind>(ElementOf<kind>(words, j, type), met, sum);
      }
    }
  }

  // The sum and the products of the quarters of K, each block of them scaled.
  INLINE_MEMBER float AddScaled(const float* quarters, u32 row, u32 column,
                                float sum) const {
    const u32 narrow = columns() / path.fold;
    // Where halves of the columns lie below each other, each half has its
    // scales next to it.
    const u32 b_lane = path.fold == 2 && column >= narrow ? 64u << 16 : 0;
    const u32 all = 1u << (p.how >> TensorHow::kLogOfScales & 3);
    const u32 of_part = all >= Part::kParts ? all / Part::kParts : 1;
    float product = 0;
#pragma clang loop unroll(full)
    for (u32 i = 0; i < 4; ++i) {
      product += quarters[i];
      if ((i + 1) * of_part % 4 != 0) continue;
      const u32 number = all * part / Part::kParts + i * of_part / 4;
      const bool exponent = field(23, 1) != 0;
      const float scale =
          ScaleOf(memory, p.scale_a, row, field(29, 2) + number, exponent) *
          ScaleOf(memory, p.scale_b + b_lane,
                  path.fold == 2 ? column % narrow : column,
                  field(4, 2) + number, exponent);
      sum = __builtin_fmaf(product, scale, sum);
      product = 0;
    }
    return sum;
  }

  // The sum and a row's products with a column.
  INLINE_MEMBER Number Sum(u32 row, const Number* values, u32 column,
                           Number sum) const {
    if constexpr (kind == kTensorBytes) {
      Number product = 0;
      AddRow<false>(row, values, &product);
      return field(3, 1) != 0 ? __builtin_elementwise_add_sat(product, sum)
                              : static_cast<s32>(static_cast<u32>(product) +
                                                 static_cast<u32>(sum));
    } else if constexpr (kind == kTensorSmall || kind == kTensorQuads) {
      float quarters[4] = {0, 0, 0, 0};
      AddRow<true>(row, values, quarters);
      if (has(TensorHow::kScaled)) {
        return AddScaled(quarters, row, column, sum);
      }
      return sum + ((quarters[0] + quarters[1]) + (quarters[2] + quarters[3]));
    } else {
      AddRow<false>(row, values, &sum);
      return sum;
    }
  }

  INLINE_MEMBER Number Before(u64 place, bool half) const {
    if (part == 0 && !has(TensorHow::kAdds)) return 0;
    if constexpr (kind == kTensorBytes) {
      return Get<s32>(place);
    } else {
      const float sum =
          half ? static_cast<float>(Get<_Float16>(place)) : Get<float>(place);
      const u32 shift = p.how >> TensorHow::kScaleOfD & 15;
      return part == 0 ? sum * __builtin_bit_cast(float, (127 - shift) << 23)
                       : sum;
    }
  }

  INLINE_MEMBER void Multiply(u32 column) const {
    Number values[Part::kB];
    ReadColumn(column, values);
    const u32 narrow = columns() / path.fold;
    const u32 below = column / narrow * path.rows;
    const bool half =
        kind != kTensorBytes && !has(TensorHow::kScaled) && field(4, 2) == 0;
    for (u32 row = 0; row < path.rows; ++row) {
      const u32 lane = path.Lane(row) + below;
      const u32 number = ((p.d >> 16) + lane) % kTensorLanes;
      if (!has(TensorHow::kWeights) &&
          (p.masks[block * 4 + number / 32] >> number % 32 & 1) != 0) {
        continue;
      }
      const u64 place = TensorPlace(memory, p.d, lane, column % narrow);
      const Number sum = Sum(row, values, column, Before(place, half));
      if (half) {
        const auto rounded = static_cast<_Float16>(sum);
        Put(place, static_cast<u32>(__builtin_bit_cast(u16, rounded)));
      } else {
        Put(place, sum);
      }
    }
  }
};

template <TensorKind kind, bool kSparse>
INLINE void MultiplyAll(const TensorProduct& p, Team team) {
  using Product = BlockProduct<kind, kSparse>;
  const u32 n = (p.instruction >> 17 & 63) * 8;
  const DataPath path = PathOf((p.instruction >> 24 & 31) * 16, p.how);
  const u32 blocks = (p.how & TensorHow::kPair) != 0 ? 2 : 1;
  // K of 96, and columns of B that move: not here.
  if (kind == kTensorQuads && p.instruction >> 31 != 0) __builtin_trap();
  if ((p.how & TensorHow::kWeights) != 0 && (p.masks[1] >> 24 & 0x3f) != 0) {
    __builtin_trap();
  }
  const SharedMatrix a = MatrixOf(p.a), b = MatrixOf(p.b);
  for (u32 part = 0; part < Product::Part::kParts; ++part) {
    for (u32 at = team.rank; at < n * blocks; at += team.size) {
      const u32 block = at / n;
      const u64 memory = block == 0 ? p.memory[0] : p.memory[1];
      const Product product = {
          p, path, block, part, memory, memory + kTensorMemoryBytes, a, b};
      product.Multiply(at % n);
    }
  }
}

// Each lane that is here asks for a product, which all of them carry out.
#define TENSOR_PRODUCT(name, kind, sparse)                                     \
  DEV(void, tensor_mma_##name)(                                                \
      u64 even, u64 odd, u64 a, u64 b, u32 d, u32 instruction, u32 how,        \
      u32 metadata, u32 scale_a, u32 scale_b, u32 mask0, u32 mask1, u32 mask2, \
      u32 mask3, u32 mask4, u32 mask5, u32 mask6, u32 mask7) {                 \
    const u64 lanes = ActiveLanes();                                           \
    const Team team = ActiveTeam(lanes);                                       \
    for (u64 left = lanes; left != 0; left &= left - 1) {                      \
      const u32 lane = static_cast<u32>(__builtin_ctzll(left));                \
      const auto of = [&](auto value) { return FromLane(value, lane); };       \
      const TensorProduct p = {{of(even), of(odd)},                            \
                               of(a),                                          \
                               of(b),                                          \
                               of(d),                                          \
                               of(instruction),                                \
                               of(how),                                        \
                               of(metadata),                                   \
                               of(scale_a),                                    \
                               of(scale_b),                                    \
                               {of(mask0), of(mask1), of(mask2), of(mask3),    \
                                of(mask4), of(mask5), of(mask6), of(mask7)}};  \
      MultiplyAll<kind, sparse>(p, team);                                      \
    }                                                                          \
  }
TENSOR_PRODUCT(halves, kTensorHalves, false)
TENSOR_PRODUCT(halves_sparse, kTensorHalves, true)
TENSOR_PRODUCT(tf32, kTensorTf32, false)
TENSOR_PRODUCT(tf32_sparse, kTensorTf32, true)
TENSOR_PRODUCT(small, kTensorSmall, false)
TENSOR_PRODUCT(small_sparse, kTensorSmall, true)
TENSOR_PRODUCT(bytes, kTensorBytes, false)
TENSOR_PRODUCT(bytes_sparse, kTensorBytes, true)
TENSOR_PRODUCT(quads, kTensorQuads, false)
TENSOR_PRODUCT(quads_sparse, kTensorQuads, true)
#undef TENSOR_PRODUCT

#endif  // CERBERUS_DEVLIB_TENSOR_PRODUCT_H_
