#include "libraries/cublaslt/scales.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Index;

constexpr Index kTileOuter = 128, kTileInner = 4;

Index Over(Index n, Index unit) { return (n + unit - 1) / unit; }

// Inner elements of a block.
Index LengthOf(ScaleMode mode) {
  switch (mode) {
    case kBlocksOf16: return 16;
    case kBlocksOf32: return 32;
    case kBlocksOf128:
    case kSquaresOf128: return 128;
    default: return 1;
  }
}
bool IsInTiles(ScaleMode mode) {
  return mode == kBlocksOf16 || mode == kBlocksOf32;
}
bool IsOfBlocks(ScaleMode mode) { return LengthOf(mode) > 1; }

// Scales of one matrix.
Index CountOf(const Scales& s) {
  const Index blocks = Over(s.inner, LengthOf(s.mode));
  switch (s.mode) {
    case kBlocksOf16:
    case kBlocksOf32:
      return Over(s.outer, kTileOuter) * Over(blocks, kTileInner) * kTileOuter *
             kTileInner;
    case kOuterVector: return s.outer;
    case kBlocksOf128: return s.outer * blocks;
    case kSquaresOf128: return Over(s.outer, 128) * (Over(blocks, 4) * 4);
    default: return 1;
  }
}

Index PlaceInTiles(const Scales& s, Index outer, Index block) {
  const Index tiles = Over(Over(s.inner, LengthOf(s.mode)), kTileInner);
  const Index tile = outer / kTileOuter * tiles + block / kTileInner;
  return tile * kTileOuter * kTileInner + outer % 32 * 16 +
         outer % kTileOuter / 32 * 4 + block % kTileInner;
}

float At(const void* values, Index i) {
  float value;
  std::memcpy(&value, static_cast<const float*>(values) + i, sizeof value);
  return value;
}

float FromScale(ScaleMode mode, std::uint8_t bits) {
  return mode == kBlocksOf16 ? cublas::FromFloat8(cublas::kR8E4M3, bits & 0x7f)
                             : cublas::FromE8M0(bits);
}
std::uint8_t ToScale(ScaleMode mode, double value) {
  return mode == kBlocksOf16
             ? cublas::ToFloat8(cublas::kR8E4M3, static_cast<float>(value))
             : cublas::ToE8M0(value);
}

double LargestOf(DataType type) {
  switch (type) {
    case cublas::kR4E2M1: return 6;
    case cublas::kR8E4M3: return 448;
    default: return 57344;
  }
}

// Which types go with how they are scaled.
bool AreTypesOf(ScaleMode mode, DataType type) {
  switch (mode) {
    case kScalar: return type != cublas::kR4E2M1;
    case kBlocksOf16: return type == cublas::kR4E2M1;
    default: return IsFloat8(type);
  }
}

}  // namespace

std::size_t BytesOf(const Scales& scales, Index batches) {
  const Index matrices = scales.mode == kScalar ? 1 : batches;
  return static_cast<std::size_t>(CountOf(scales) * matrices) *
         (IsInTiles(scales.mode) ? 1 : sizeof(float));
}

double ScaleOfAll(const Scales& scales, Index batch) {
  if (scales.values == nullptr || HasScalesOfElements(scales)) return 1;
  return At(scales.values, scales.mode == kScalarOfBatch ? batch : 0);
}

double ScaleOf(const Scales& s, Index batch, Index outer, Index inner) {
  const Index first = batch * CountOf(s);
  const Index block = inner / LengthOf(s.mode);
  const Index blocks = Over(s.inner, LengthOf(s.mode));
  switch (s.mode) {
    case kBlocksOf16:
    case kBlocksOf32:
      return FromScale(s.mode,
                       static_cast<const std::uint8_t*>(
                           s.values)[first + PlaceInTiles(s, outer, block)]);
    case kBlocksOf128: return At(s.values, first + block * s.outer + outer);
    case kSquaresOf128:
      return At(s.values, first + outer / 128 * (Over(blocks, 4) * 4) + block);
    default: return At(s.values, first + outer);
  }
}

void StoreInBlocks(const Layout& layout, const Memory& memory, ScaleMode mode,
                   void* out, Index batch, const double* columns) {
  const auto rows = static_cast<Index>(layout.rows);
  const auto count = static_cast<Index>(layout.columns);
  const Scales scales = {mode, out, count, rows};
  auto* const to = static_cast<std::uint8_t*>(out) + batch * CountOf(scales);
  const Index length = LengthOf(mode);
  for (Index j = 0; j < count; ++j) {
    for (Index first = 0; first < rows; first += length) {
      const Index last = std::min(first + length, rows);
      double largest = 0;
      for (Index i = first; i < last; ++i) {
        const double size = std::abs(columns[i + j * rows]);
        if (size > largest || std::isnan(size)) largest = size;
      }
      std::uint8_t& bits = to[PlaceInTiles(scales, j, first / length)];
      bits = ToScale(mode, largest / LargestOf(layout.type));
      const double scale = FromScale(mode, bits);
      for (Index i = first; i < last; ++i) {
        const double x = columns[i + j * rows];
        StoreAt(layout, memory, i, j, scale == 0 ? 0 : x / scale);
      }
    }
  }
}

Status CheckScales(const MatmulDesc& desc, DataType a, DataType b,
                   const Layout& d) {
  const auto mode = [&](int which) {
    return static_cast<ScaleMode>(desc.scale_modes[which]);
  };
  for (int which = 0; which < 6; ++which) {
    if (mode(which) < kScalar || mode(which) > kScalarOfBatch) {
      return cublas::kInvalidValue;
    }
  }
  const ScaleMode of_a = mode(0), of_b = mode(1), out = mode(5);
  const bool alike = of_a == of_b && of_a != kSquaresOf128;
  const bool squares = (of_a == kSquaresOf128 && of_b == kBlocksOf128) ||
                       (of_a == kBlocksOf128 && of_b == kSquaresOf128);
  if ((!alike && !squares) || !AreTypesOf(of_a, a) || !AreTypesOf(of_b, b)) {
    return cublas::kNotSupported;
  }
  // Blocks run along what is summed over, which is how memory goes.
  const bool tn = desc.a == cublas::kT && desc.b == cublas::kN;
  if ((IsOfBlocks(of_a) || a == cublas::kR4E2M1) && !tn) {
    return cublas::kNotSupported;
  }
  if (IsOfBlocks(of_a) &&
      (desc.scale_of_a == nullptr || desc.scale_of_b == nullptr)) {
    return cublas::kInvalidValue;
  }
  if (mode(2) != kScalar || mode(3) != kScalar || mode(4) != kScalar) {
    return cublas::kNotSupported;
  }
  // D's scales are found: of 4 bits always, of 8 bits if they are asked for.
  if (out != kScalar && out != kBlocksOf16 && out != kBlocksOf32) {
    return cublas::kNotSupported;
  }
  if (!AreTypesOf(out, d.type) || (out != kScalar && d.order != kColumns)) {
    return cublas::kNotSupported;
  }
  return out == kScalar || desc.scales_out != nullptr ? cublas::kSuccess
                                                      : cublas::kInvalidValue;
}

}  // namespace cerberus::libraries::cublaslt
