#include "libraries/cusparselt/structured.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace cerberus::libraries::cusparselt {
namespace {

std::size_t Size(const Structured& s) { return cublas::SizeOf(s.shape.type); }

// Masks of a strip's kept places in a byte: bits of what stays.
using Mask = unsigned;

double AbsoluteAt(const Structured& s, const void* in, Index batch, Index line,
                  Index at) {
  if (line >= s.lines() || at >= s.length()) return 0;
  return std::abs(cublas::Load(s.shape.type, in,
                               batch * s.shape.stride + s.PlaceOf(line, at))
                      .real());
}

// Of one strip the largest; of equal ones the first.
Mask StripMask(const Structured& s, const std::array<double, 4>& sizes) {
  Mask mask = 0;
  for (Index kept = 0; kept < s.kept(); ++kept) {
    std::size_t best = 4;
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.strip()); ++i) {
      if ((mask >> i & 1) == 0 && (best == 4 || sizes[i] > sizes[best])) {
        best = i;
      }
    }
    mask |= 1u << best;
  }
  return mask;
}

// All square tiles of bits with `kept` in each row and column, a mask a row.
std::vector<std::array<Mask, 4>> TilesOf(Index n, Index kept) {
  std::vector<std::array<Mask, 4>> tiles;
  const auto bits = static_cast<unsigned>(n * n);
  for (unsigned all = 0; all < 1u << bits; ++all) {
    std::array<Mask, 4> rows = {};
    std::array<Index, 4> columns = {};
    bool good = true;
    for (unsigned i = 0; i < static_cast<unsigned>(n); ++i) {
      rows[i] = all >> i * static_cast<unsigned>(n) & ((1u << n) - 1);
      good &= std::popcount(rows[i]) == kept;
      for (unsigned j = 0; j < static_cast<unsigned>(n); ++j) {
        columns[j] += rows[i] >> j & 1;
      }
    }
    for (unsigned j = 0; j < static_cast<unsigned>(n); ++j) {
      good &= columns[j] == kept;
    }
    if (good) tiles.push_back(rows);
  }
  return tiles;
}
const std::vector<std::array<Mask, 4>>& Tiles(Index n) {
  static const auto fours = TilesOf(4, 2), twos = TilesOf(2, 1);
  return n == 4 ? fours : twos;
}

// Zeroes what `mask` has not.
void Store(const Structured& s, Index batch, Index line, Index first, Mask mask,
           const void* in, void* out) {
  const std::size_t size = Size(s);
  for (Index i = 0; i < s.strip() && first + i < s.length(); ++i) {
    const auto place = static_cast<std::size_t>(batch * s.shape.stride +
                                                s.PlaceOf(line, first + i));
    std::byte* const to = static_cast<std::byte*>(out) + place * size;
    if ((mask >> i & 1) == 0) {
      std::memset(to, 0, size);
    } else if (in != out) {
      std::memcpy(to, static_cast<const std::byte*>(in) + place * size, size);
    }
  }
}

std::array<double, 4> SizesOf(const Structured& s, const void* in, Index batch,
                              Index line, Index first) {
  std::array<double, 4> sizes = {};
  for (Index i = 0; i < s.strip(); ++i) {
    sizes[static_cast<std::size_t>(i)] =
        AbsoluteAt(s, in, batch, line, first + i);
  }
  return sizes;
}

void PruneTile(const Structured& s, Index batch, Index line, Index first,
               const void* in, void* out) {
  const auto n = static_cast<std::size_t>(s.strip());
  std::array<std::array<double, 4>, 4> sizes = {};
  for (std::size_t i = 0; i < n; ++i) {
    sizes[i] = SizesOf(s, in, batch, line + static_cast<Index>(i), first);
  }
  const std::array<Mask, 4>* best = nullptr;
  double largest = -1;
  for (const std::array<Mask, 4>& tile : Tiles(s.strip())) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if ((tile[i] >> j & 1) != 0) sum += sizes[i][j];
      }
    }
    if (best == nullptr || sum > largest) {
      largest = sum;
      best = &tile;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Index at = line + static_cast<Index>(i);
    if (at < s.lines()) Store(s, batch, at, first, (*best)[i], in, out);
  }
}

// Calls f(batch, line, first) for each strip.
template <typename F>
void ForEachStrip(const Structured& s, Index lines, const F& f) {
  for (Index batch = 0; batch < s.shape.matrices(); ++batch) {
    for (Index line = 0; line < s.lines(); line += lines) {
      for (Index strip = 0; strip < s.strips(); ++strip) {
        f(batch, line, strip * s.strip());
      }
    }
  }
}

std::size_t StripsOfMatrix(const Structured& s) {
  return static_cast<std::size_t>(s.lines() * s.strips());
}
std::size_t BytesOfMatrix(const Structured& s) {
  return StripsOfMatrix(s) * (Size(s) * static_cast<std::size_t>(s.kept()) + 1);
}

}  // namespace

std::size_t Structured::CompressedBytes() const {
  return BytesOfMatrix(*this) * static_cast<std::size_t>(shape.matrices());
}

void Prune(const Structured& s, PruneAlgorithm algorithm, const void* in,
           void* out) {
  if (algorithm == kTile) {
    return ForEachStrip(s, s.strip(), [&](Index batch, Index line, Index at) {
      PruneTile(s, batch, line, at, in, out);
    });
  }
  ForEachStrip(s, 1, [&](Index batch, Index line, Index at) {
    Store(s, batch, line, at, StripMask(s, SizesOf(s, in, batch, line, at)), in,
          out);
  });
}

bool IsPruned(const Structured& s, const void* in) {
  bool good = true;
  ForEachStrip(s, 1, [&](Index batch, Index line, Index at) {
    const auto sizes = SizesOf(s, in, batch, line, at);
    const auto zeros = std::count(sizes.begin(), sizes.begin() + s.strip(), 0);
    good &= zeros >= s.strip() - s.kept();
  });
  return good;
}

void Compress(const Structured& s, const void* in, void* out) {
  auto* values = static_cast<std::byte*>(out);
  const std::size_t size = Size(s);
  ForEachStrip(s, 1, [&](Index batch, Index line, Index at) {
    const auto kept = static_cast<std::size_t>(s.kept());
    std::byte* const strip = values;
    values += kept * size + 1;
    std::memset(strip, 0, kept * size + 1);
    std::size_t found = 0;
    unsigned mask = 0;
    for (Index i = 0; i < s.strip() && found < kept; ++i) {
      if (AbsoluteAt(s, in, batch, line, at + i) == 0) continue;
      const auto place = static_cast<std::size_t>(batch * s.shape.stride +
                                                  s.PlaceOf(line, at + i));
      std::memcpy(strip + found++ * size,
                  static_cast<const std::byte*>(in) + place * size, size);
      mask |= 1u << i;
    }
    strip[kept * size] = static_cast<std::byte>(mask);
  });
}

template <typename T>
std::vector<T> Expand(const Structured& s, const void* compressed,
                      Index batch) {
  std::vector<T> dense(static_cast<std::size_t>(s.shape.rows * s.shape.columns),
                       T(0));
  const std::size_t size = Size(s);
  const auto kept = static_cast<std::size_t>(s.kept());
  const auto* strip =
      static_cast<const std::byte*>(compressed) +
      (s.shape.stride == 0 ? 0 : static_cast<std::size_t>(batch)) *
          BytesOfMatrix(s);
  for (Index line = 0; line < s.lines(); ++line) {
    for (Index first = 0; first < s.strips() * s.strip(); first += s.strip()) {
      const auto mask = std::to_integer<unsigned>(strip[kept * size]);
      Index found = 0;
      for (Index i = 0; i < s.strip(); ++i) {
        if ((mask >> i & 1) == 0) continue;
        const Index row = s.along_rows ? line : first + i;
        const Index column = s.along_rows ? first + i : line;
        dense[static_cast<std::size_t>(row + column * s.shape.rows)] =
            cublas::As<T>(cublas::Load(s.shape.type, strip, found++));
      }
      strip += kept * size + 1;
    }
  }
  return dense;
}
template std::vector<float> Expand(const Structured&, const void*, Index);
template std::vector<double> Expand(const Structured&, const void*, Index);

}  // namespace cerberus::libraries::cusparselt
