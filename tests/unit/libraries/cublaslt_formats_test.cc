// Matrices by tiles, in planes, in triangles, of 8 and 4 bits with scales by
// blocks, against the formulas of cuBLASLt's header and documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/matmul.h"
#include "tests/unit/libraries/cublaslt_ways.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Complex64;
using cublas::Index;

struct FormatsTest : testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Way, FormatsTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "First" : "Second";
                         });

Layout MakeLayout(DataType type, Index rows, Index columns, Index ld,
                  Order order = kColumns) {
  Layout layout = {};
  layout.type = type;
  layout.order = order;
  layout.rows = static_cast<std::uint64_t>(rows);
  layout.columns = static_cast<std::uint64_t>(columns);
  layout.ld = ld;
  layout.batches = 1;
  return layout;
}

// Where the formulas that programs of their own use have element (row, column);
// of the second, tiles of 8 rows by 32 columns as they are drawn.
Index TiledPlace(Order order, Index ld, Index row, Index column) {
  const Index group = column / 32 * ld, c = column % 32;
  if (order == kColumns32) return group + row * 32 + c;
  if (order == kColumns32Rows32) {
    const Index r = row % 32;
    return group + row / 32 * 1024 +
           (((r % 8) / 2 * 4 + r / 8) * 2 + r % 2) * 32 + c;
  }
  const Index part = ((row >> 3) << 3) + ((row & 1) << 2) + (c >> 3);
  const Index inner = ((c & 7) >= 4 ? 4 : 0) + ((row & 7) >> 1);
  return group + (part << 5) + (inner << 2) + (c & 3);
}
Index TiledLd(Order order, Index rows) {
  const Index unit = order == kColumns32 ? 1 : order == kColumns4Rows8 ? 8 : 32;
  return (rows + unit - 1) / unit * unit * 32;
}

TEST_P(FormatsTest, TilesThereAndBack) {
  constexpr Index kRowsOf = 37, kColumnsOf = 70;
  for (const Order order : {kColumns32, kColumns4Rows8, kColumns32Rows32}) {
    const Index ld = TiledLd(order, kRowsOf);
    const Layout plain = MakeLayout(cublas::kR8I, kRowsOf, kColumnsOf, 40);
    const Layout tiled =
        MakeLayout(cublas::kR8I, kRowsOf, kColumnsOf, ld, order);
    const auto count = static_cast<std::size_t>(40 * kColumnsOf);
    Shared<std::int8_t> a(count), back(count, 99);
    Shared<std::int8_t> tiles(static_cast<std::size_t>(ld * 3), 55);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<std::int8_t>(i * 7 % 101);
    }
    TransformDesc desc = {};
    desc.scale = cublas::kR32F;
    const float one = 1;
    ASSERT_EQ(
        DoTransform(GetParam(), desc, {plain, plain, tiled, tiled},
                    {&one, a.data(), nullptr, nullptr, nullptr, tiles.data()}),
        cublas::kSuccess);
    ASSERT_EQ(DoTransform(
                  GetParam(), desc, {tiled, tiled, plain, plain},
                  {&one, tiles.data(), nullptr, nullptr, nullptr, back.data()}),
              cublas::kSuccess);
    std::vector<bool> used(tiles.size());
    for (Index j = 0; j < kColumnsOf; ++j) {
      for (Index i = 0; i < kRowsOf; ++i) {
        const auto at = static_cast<std::size_t>(TiledPlace(order, ld, i, j));
        ASSERT_FALSE(used[at]) << "two elements in one place";
        used[at] = true;
        const auto from = static_cast<std::size_t>(i + j * 40);
        ASSERT_EQ(tiles[at], a[from]) << order << " " << i << " " << j;
        ASSERT_EQ(back[from], a[from]);
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) ASSERT_EQ(tiles[i], 55) << "written between";
    }
  }
}

// As programs multiply on tensor cores of Turing and Ampere.
TEST_P(FormatsTest, ProductsOfIntegersByTiles) {
  constexpr Index kM = 33, kN = 40, kK = 64;
  for (const Order of_b : {kColumns4Rows8, kColumns32Rows32}) {
    const Layout a =
        MakeLayout(cublas::kR8I, kM, kK, TiledLd(kColumns32, kM), kColumns32);
    const Layout b = MakeLayout(cublas::kR8I, kN, kK, TiledLd(of_b, kN), of_b);
    const Layout c =
        MakeLayout(cublas::kR32I, kM, kN, TiledLd(kColumns32, kM), kColumns32);
    Shared<std::int8_t> in_a(static_cast<std::size_t>(a.ld * 2));
    Shared<std::int8_t> in_b(static_cast<std::size_t>(b.ld * 2));
    Shared<std::int32_t> out(static_cast<std::size_t>(c.ld * 2), -1);
    std::mt19937 random(3);
    std::uniform_int_distribution<int> values(-128, 127);
    for (auto& x : in_a) x = static_cast<std::int8_t>(values(random));
    for (auto& x : in_b) x = static_cast<std::int8_t>(values(random));
    MatmulDesc desc = NewDesc(cublas::k32I, cublas::kR32I);
    desc.b = cublas::kT;
    const std::int32_t alpha = 1, beta = 0;
    ASSERT_EQ(DoMatmul(GetParam(), desc, {a, b, c, c},
                       {&alpha, in_a.data(), in_b.data(), &beta, out.data(),
                        out.data()}),
              cublas::kSuccess);
    for (Index i = 0; i < kM; ++i) {
      for (Index j = 0; j < kN; ++j) {
        int sum = 0;
        for (Index l = 0; l < kK; ++l) {
          sum += in_a[static_cast<std::size_t>(
                     TiledPlace(kColumns32, a.ld, i, l))] *
                 in_b[static_cast<std::size_t>(TiledPlace(of_b, b.ld, j, l))];
        }
        ASSERT_EQ(
            out[static_cast<std::size_t>(TiledPlace(kColumns32, c.ld, i, j))],
            sum);
      }
    }
  }
}

TEST_P(FormatsTest, ComplexNumbersInPlanes) {
  constexpr Index kM = 5, kN = 4, kK = 6, kLd = 8, kBatches = 2;
  // Real parts of all the batch, then imaginary ones.
  const auto make = [](Index rows, Index columns) {
    Layout layout = MakeLayout(cublas::kC32F, rows, columns, kLd);
    layout.batches = kBatches;
    layout.batch_offset = kLd * columns;
    layout.plane_offset = kLd * columns * kBatches * 4 + 16;
    return layout;
  };
  const auto room = [](const Layout& layout) {
    return static_cast<std::size_t>(layout.plane_offset / 2);
  };
  const Layout a = make(kK, kM), b = make(kK, kN), c = make(kM, kN);
  Shared<float> in_a(room(a)), in_b(room(b)), out(room(c), 9);
  std::mt19937 random(5);
  std::uniform_int_distribution<int> values(-8, 8);
  for (float& x : in_a) x = static_cast<float>(values(random));
  for (float& x : in_b) x = static_cast<float>(values(random));
  const auto at = [](const Layout& layout, const Shared<float>& of, Index batch,
                     Index i, Index j) {
    const auto place = static_cast<std::size_t>(batch * layout.batch_offset +
                                                i + j * layout.ld);
    const auto plane = static_cast<std::size_t>(layout.plane_offset / 4);
    return Complex64(of[place], of[place + plane]);
  };
  MatmulDesc desc = NewDesc(cublas::k32F, cublas::kC32F);
  desc.a = cublas::kC;
  const std::complex<float> alpha(1, 2), beta(0);
  ASSERT_EQ(DoMatmul(GetParam(), desc, {a, b, c, c},
                     {&alpha, in_a.data(), in_b.data(), &beta, out.data(),
                      out.data()}),
            cublas::kSuccess);
  for (Index batch = 0; batch < kBatches; ++batch) {
    for (Index i = 0; i < kM; ++i) {
      for (Index j = 0; j < kN; ++j) {
        Complex64 sum = 0;
        for (Index l = 0; l < kK; ++l) {
          sum += std::conj(at(a, in_a, batch, l, i)) * at(b, in_b, batch, l, j);
        }
        EXPECT_EQ(at(c, out, batch, i, j), sum * Complex64(1, 2));
      }
    }
  }
  // Transforms count batches' strides in whole complex numbers.
  Layout source = a;
  source.batch_offset /= 2;
  Layout whole = MakeLayout(cublas::kC32F, kK, kM, kK);
  whole.batches = kBatches;
  whole.batch_offset = kK * kM;
  Shared<std::complex<float>> woven(
      static_cast<std::size_t>(kK * kM * kBatches));
  TransformDesc transform = {};
  transform.scale = cublas::kC32F;
  const std::complex<float> one(1);
  ASSERT_EQ(
      DoTransform(GetParam(), transform, {source, source, whole, whole},
                  {&one, in_a.data(), nullptr, nullptr, nullptr, woven.data()}),
      cublas::kSuccess);
  for (Index batch = 0; batch < kBatches; ++batch) {
    for (Index i = 0; i < kK * kM; ++i) {
      EXPECT_EQ(Complex64(woven[static_cast<std::size_t>(batch * kK * kM + i)]),
                at(a, in_a, batch, i % kK, i / kK));
    }
  }
}

TEST_P(FormatsTest, TrianglesOfD) {
  for (const cublas::Fill fill : {cublas::kLower, cublas::kUpper}) {
    const Layout square = MakeLayout(cublas::kR32F, 6, 6, 6);
    Shared<float> a(36), d(36, -5);
    for (std::size_t i = 0; i < 36; ++i) a[i] = static_cast<float>(i % 7);
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    desc.b = cublas::kT;
    desc.fill = fill;
    const float alpha = 1, beta = 0;
    ASSERT_EQ(DoMatmul(GetParam(), desc, {square, square, square, square},
                       {&alpha, a.data(), a.data(), &beta, d.data(), d.data()}),
              cublas::kSuccess);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < 6; ++k) sum += a[i + k * 6] * a[j + k * 6];
        const bool inside = fill == cublas::kLower ? i >= j : i <= j;
        EXPECT_EQ(d[i + j * 6], inside ? sum : -5);
      }
    }
  }
}

// A matrix of `outer` columns, each of `inner` narrow floats, with its scales.
struct Scaled {
  Layout layout;
  Shared<std::uint8_t> bytes, scales;
  Shared<float> wide_scales;
  Index block;
  bool by_squares;

  Scaled(DataType type, ScaleMode mode, Index inner, Index outer, int seed)
      : layout(MakeLayout(type, inner, outer, inner)),
        block(mode == kBlocksOf16   ? 16
              : mode == kBlocksOf32 ? 32
                                    : 128),
        by_squares(mode == kSquaresOf128) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::uniform_int_distribution<int> bits(0, 255);
    bytes.resize(
        cublas::BytesOf(type, static_cast<std::size_t>(inner * outer)));
    for (auto& x : bytes) {
      do x = static_cast<std::uint8_t>(bits(random));
      while (type == cublas::kR8E4M3 &&
             ((x & 0x7f) == 0x7f || (x & 0x40) != 0));
    }
    const Index tiles =
        (outer + 127) / 128 * ((inner + block * 4 - 1) / (block * 4));
    scales.resize(static_cast<std::size_t>(tiles * 512));
    for (auto& x : scales) {
      x = static_cast<std::uint8_t>(mode == kBlocksOf16
                                        ? 0x20 + bits(random) % 0x30
                                        : 120 + bits(random) % 12);
    }
    wide_scales.resize(static_cast<std::size_t>((inner / block + 4) * outer));
    for (float& x : wide_scales) {
      x = std::ldexp(1.0f, bits(random) % 8 - 4);
    }
  }
  const void* ScalesOf() const {
    return block == 128 ? static_cast<const void*>(wide_scales.data())
                        : scales.data();
  }
  // As cuBLAS' documentation has the place of a scale in tiles.
  double ScaleAt(Index k, Index o) const {
    const auto inner = static_cast<Index>(layout.rows);
    const auto outer = static_cast<Index>(layout.columns);
    const Index in = k / block, count = (inner + block - 1) / block;
    if (by_squares) {
      const Index ld = (count + 3) / 4 * 4;
      return wide_scales[static_cast<std::size_t>(o / 128 * ld + in)];
    }
    if (block == 128) {
      return wide_scales[static_cast<std::size_t>(in * outer + o)];
    }
    const Index tile = o / 128 * ((count + 3) / 4) + in / 4;
    const Index place =
        tile * 512 + (o % 32) * 16 + ((o % 128) / 32) * 4 + in % 4;
    const std::uint8_t x = scales[static_cast<std::size_t>(place)];
    return block == 16 ? cublas::FromFloat8(cublas::kR8E4M3, x)
                       : std::ldexp(1.0, x - 127);
  }
  double At(Index k, Index o) const {
    const auto inner = static_cast<Index>(layout.rows);
    return cublas::Load(layout.type, bytes.data(), k + o * inner).real() *
           ScaleAt(k, o);
  }
  std::vector<double> All() const {
    std::vector<double> all;
    for (Index o = 0; o < static_cast<Index>(layout.columns); ++o) {
      for (Index k = 0; k < static_cast<Index>(layout.rows); ++k) {
        all.push_back(At(k, o));
      }
    }
    return all;
  }
};

TEST_P(FormatsTest, ScalesByBlocks) {
  struct Kind {
    DataType type;
    ScaleMode a, b;
  };
  constexpr Index kM = 144, kN = 40, kK = 288;
  for (const Kind& kind :
       {Kind{cublas::kR4E2M1, kBlocksOf16, kBlocksOf16},
        Kind{cublas::kR8E4M3, kBlocksOf32, kBlocksOf32},
        Kind{cublas::kR8E4M3, kBlocksOf128, kBlocksOf128},
        Kind{cublas::kR8E4M3, kSquaresOf128, kBlocksOf128},
        Kind{cublas::kR8E4M3, kBlocksOf128, kSquaresOf128}}) {
    const Scaled a(kind.type, kind.a, kK, kM, 1);
    const Scaled b(kind.type, kind.b, kK, kN, 2);
    const Layout c = MakeLayout(cublas::kR32F, kM, kN, kM);
    Shared<float> d(static_cast<std::size_t>(kM * kN));
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    desc.a = cublas::kT;
    desc.scale_modes[0] = kind.a;
    desc.scale_modes[1] = kind.b;
    desc.scale_of_a = a.ScalesOf();
    desc.scale_of_b = b.ScalesOf();
    const float alpha = 1, beta = 0;
    const Operands operands = {&alpha, a.bytes.data(), b.bytes.data(),
                               &beta,  d.data(),       d.data()};
    ASSERT_EQ(DoMatmul(GetParam(), desc, {a.layout, b.layout, c, c}, operands),
              cublas::kSuccess);
    const std::vector<double> all_a = a.All(), all_b = b.All();
    for (Index i = 0; i < kM; ++i) {
      for (Index j = 0; j < kN; ++j) {
        double sum = 0, size = 0;
        for (Index k = 0; k < kK; ++k) {
          const double x = all_a[static_cast<std::size_t>(k + i * kK)] *
                           all_b[static_cast<std::size_t>(k + j * kK)];
          sum += x;
          size += std::abs(x);
        }
        ASSERT_NEAR(d[static_cast<std::size_t>(i + j * kM)], sum, size * 1e-6)
            << kind.a << " " << kind.b << " " << i << " " << j;
      }
    }
    desc.a = cublas::kN;
    EXPECT_EQ(CheckMatmul(desc, {b.layout, b.layout, c, c}),
              cublas::kInvalidValue);
    const Layout square = MakeLayout(kind.type, 128, 128, 128);
    const Layout out = MakeLayout(cublas::kR32F, 128, 128, 128);
    EXPECT_EQ(CheckMatmul(desc, {square, square, out, out}),
              cublas::kNotSupported);
  }
}

TEST_P(FormatsTest, ScalesByRowsAndByMatrices) {
  constexpr Index kM = 6, kN = 5, kK = 16;
  for (const ScaleMode mode : {kOuterVector, kScalarOfBatch}) {
    Layout a = MakeLayout(cublas::kR8E4M3, kK, kM, kK);
    Layout b = MakeLayout(cublas::kR8E4M3, kK, kN, kK);
    Layout c = MakeLayout(cublas::kR32F, kM, kN, kM);
    for (Layout* layout : {&a, &b, &c}) {
      layout->batches = 2;
      layout->batch_offset = static_cast<Index>(layout->rows * layout->columns);
    }
    Shared<std::uint8_t> in_a(2 * kK * kM, 0x38), in_b(2 * kK * kN, 0x38);
    Shared<float> of_a, of_b, d(2 * kM * kN);
    for (int i = 0; i < 12; ++i) {
      of_a.push_back(static_cast<float>(i + 1));
      of_b.push_back(static_cast<float>(3 * i + 2));
    }
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    desc.a = cublas::kT;
    desc.scale_modes[0] = desc.scale_modes[1] = mode;
    desc.scale_of_a = of_a.data();
    desc.scale_of_b = of_b.data();
    const float alpha = 1, beta = 0;
    ASSERT_EQ(
        DoMatmul(GetParam(), desc, {a, b, c, c},
                 {&alpha, in_a.data(), in_b.data(), &beta, d.data(), d.data()}),
        cublas::kSuccess);
    for (std::size_t batch = 0; batch < 2; ++batch) {
      for (std::size_t i = 0; i < kM; ++i) {
        for (std::size_t j = 0; j < kN; ++j) {
          const bool rows = mode == kOuterVector;
          EXPECT_EQ(d[batch * kM * kN + i + j * kM],
                    16 * of_a[rows ? batch * kM + i : batch] *
                        of_b[rows ? batch * kN + j : batch]);
        }
      }
    }
  }
}

// D's blocks get the scale by which their largest becomes the type's largest.
TEST_P(FormatsTest, ScalesOfDAreFound) {
  constexpr Index kM = 40, kN = 130, kK = 32;
  for (const bool narrow : {false, true}) {
    const DataType type = narrow ? cublas::kR4E2M1 : cublas::kR8E4M3;
    const ScaleMode mode = narrow ? kBlocksOf16 : kBlocksOf32;
    const Scaled a(type, mode, kK, kM, 1), b(type, mode, kK, kN, 2);
    Scaled d(type, mode, kM, kN, 3);
    const Layout c = MakeLayout(cublas::kR16BF, kM, kN, kM);
    Shared<std::uint16_t> in_c(static_cast<std::size_t>(kM * kN));
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    desc.a = cublas::kT;
    desc.scale_modes[0] = desc.scale_modes[1] = desc.scale_modes[5] = mode;
    desc.scale_of_a = a.ScalesOf();
    desc.scale_of_b = b.ScalesOf();
    Shared<float> of_d = {0.5f};
    desc.scale_of_d = of_d.data();
    const float alpha = 0.25f, beta = 0;
    const Operands operands = {&alpha, a.bytes.data(), b.bytes.data(),
                               &beta,  in_c.data(),    d.bytes.data()};
    const Layouts layouts = {a.layout, b.layout, c, d.layout};
    EXPECT_EQ(DoMatmul(GetParam(), desc, layouts, operands),
              cublas::kInvalidValue)
        << "nowhere for the scales";
    desc.scales_out = d.scales.data();
    ASSERT_EQ(DoMatmul(GetParam(), desc, layouts, operands), cublas::kSuccess);
    const std::vector<double> all_a = a.All(), all_b = b.All();
    for (Index j = 0; j < kN; ++j) {
      for (Index first = 0; first < kM; first += d.block) {
        std::vector<double> wanted;
        double largest = 0;
        for (Index i = first; i < std::min(first + d.block, kM); ++i) {
          double sum = 0;
          for (Index k = 0; k < kK; ++k) {
            sum += all_a[static_cast<std::size_t>(k + i * kK)] *
                   all_b[static_cast<std::size_t>(k + j * kK)];
          }
          wanted.push_back(sum * 0.125);
          largest = std::max(largest, std::abs(wanted.back()));
        }
        const double scale = d.ScaleAt(first, j);
        if (narrow) {
          const auto exact = static_cast<float>(largest / 6);
          EXPECT_EQ(scale, cublas::FromFloat8(
                               cublas::kR8E4M3,
                               cublas::ToFloat8(cublas::kR8E4M3, exact)));
        } else {
          EXPECT_GE(scale, largest / 448);
          EXPECT_LT(scale, largest / 448 * 2);
        }
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const double got = d.At(first + static_cast<Index>(i), j);
          // Half a step of the type at the largest.
          EXPECT_NEAR(got, wanted[i], scale * (narrow ? 1.1 : 16.1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::libraries::cublaslt
