// Products with epilogues against what NVIDIA's documentation says they are.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/matmul.h"
#include "tests/unit/libraries/cublaslt_ways.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Complex64;
using cublas::Index;
using cublas::Load;
using cublas::SizeOf;
using cublas::Store;

// A matrix in memory: rows, columns, and what follows each column or row.
struct Matrix {
  Layout layout = {};
  Shared<std::byte> bytes;

  Matrix(DataType type, Index rows, Index columns, Order order = kColumns,
         Index batches = 1) {
    layout.type = type;
    layout.order = order;
    layout.rows = static_cast<std::uint64_t>(rows);
    layout.columns = static_cast<std::uint64_t>(columns);
    layout.ld = (order == kRows ? columns : rows) + 3;
    layout.batches = static_cast<std::int32_t>(batches);
    layout.batch_offset = layout.ld * (order == kRows ? rows : columns) + 5;
    bytes.resize(static_cast<std::size_t>(layout.batch_offset * batches) *
                 SizeOf(type));
  }
  Index Place(Index i, Index j, Index batch = 0) const {
    return batch * layout.batch_offset +
           (layout.order == kRows ? i * layout.ld + j : i + j * layout.ld);
  }
  double Get(Index i, Index j, Index batch = 0) const {
    return Load(layout.type, bytes.data(), Place(i, j, batch)).real();
  }
  // Small eighths: every type has them, and sums of products are exact.
  void Fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> values(-8, 8);
    const auto count = static_cast<Index>(bytes.size() / SizeOf(layout.type));
    const bool whole =
        layout.type == cublas::kR8I || layout.type == cublas::kR32I;
    for (Index i = 0; i < count; ++i) {
      Store(layout.type, bytes.data(), i,
            whole ? values(random) : values(random) / 8.0);
    }
  }
};

struct MatmulTest : testing::TestWithParam<bool> {
  Status Run(const MatmulDesc& desc, const Matrix& a, const Matrix& b,
             const Matrix& c, Matrix& d, const void* alpha, const void* beta) {
    return DoMatmul(GetParam(), desc, {a.layout, b.layout, c.layout, d.layout},
                    {alpha, a.bytes.data(), b.bytes.data(), beta,
                     c.bytes.data(), d.bytes.data()});
  }
};
INSTANTIATE_TEST_SUITE_P(Way, MatmulTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "First" : "Second";
                         });

// alpha op(A) op(B) + beta C, of one batch.
double Sum(const Matrix& a, bool ta, const Matrix& b, bool tb, Index i, Index j,
           Index k, Index batch) {
  double sum = 0;
  for (Index l = 0; l < k; ++l) {
    sum += (ta ? a.Get(l, i, batch) : a.Get(i, l, batch)) *
           (tb ? b.Get(j, l, batch) : b.Get(l, j, batch));
  }
  return sum;
}

TEST_P(MatmulTest, TypesOrdersTransposesBatches) {
  struct Types {
    ComputeType compute;
    DataType scale, ab, c;
    double tolerance;
  };
  const Types kinds[] = {
      {cublas::k32F, cublas::kR32F, cublas::kR32F, cublas::kR32F, 1e-6},
      {cublas::k64F, cublas::kR64F, cublas::kR64F, cublas::kR64F, 1e-15},
      {cublas::k32F, cublas::kR32F, cublas::kR16F, cublas::kR16F, 1e-3},
      {cublas::k32F, cublas::kR32F, cublas::kR16BF, cublas::kR32F, 1e-6},
      {cublas::k16F, cublas::kR16F, cublas::kR16F, cublas::kR16F, 1e-3},
      {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR16BF, 1e-2},
      {cublas::k32I, cublas::kR32I, cublas::kR8I, cublas::kR32I, 0},
  };
  constexpr Index kM = 13, kN = 6, kK = 9, kBatches = 2;
  for (const Types& types : kinds) {
    for (int bits = 0; bits < 16; ++bits) {
      const bool ta = (bits & 1) != 0, tb = (bits & 2) != 0;
      const Order order = (bits & 4) != 0 ? kRows : kColumns;
      const Order order_d = (bits & 8) != 0 ? kRows : kColumns;
      Matrix a(types.ab, ta ? kK : kM, ta ? kM : kK, order, kBatches);
      Matrix b(types.ab, tb ? kN : kK, tb ? kK : kN, kColumns, kBatches);
      Matrix c(types.c, kM, kN, order_d, kBatches);
      Matrix d = c;
      a.Fill(1), b.Fill(2), c.Fill(3), d.Fill(4);
      MatmulDesc desc = NewDesc(types.compute, types.scale);
      desc.a = ta ? cublas::kT : cublas::kN;
      desc.b = tb ? cublas::kT : cublas::kN;
      double alpha[2] = {}, beta[2] = {};
      Store(types.scale, alpha, 0, 2);
      Store(types.scale, beta, 0, -3);
      const Shared<std::byte> before = d.bytes;
      ASSERT_EQ(Run(desc, a, b, c, d, alpha, beta), cublas::kSuccess);
      std::vector<bool> written(before.size() / SizeOf(types.c));
      for (Index batch = 0; batch < kBatches; ++batch) {
        for (Index i = 0; i < kM; ++i) {
          for (Index j = 0; j < kN; ++j) {
            const double expected =
                2 * Sum(a, ta, b, tb, i, j, kK, batch) - 3 * c.Get(i, j, batch);
            EXPECT_NEAR(d.Get(i, j, batch), expected,
                        types.tolerance * (1 + std::abs(expected)))
                << types.ab << " " << bits;
            written[static_cast<std::size_t>(d.Place(i, j, batch))] = true;
          }
        }
      }
      for (std::size_t i = 0; i < written.size(); ++i) {
        if (written[i]) continue;
        EXPECT_TRUE(std::equal(
            before.begin() + static_cast<Index>(i * SizeOf(types.c)),
            before.begin() + static_cast<Index>((i + 1) * SizeOf(types.c)),
            d.bytes.begin() + static_cast<Index>(i * SizeOf(types.c))))
            << "written between the matrices";
      }
    }
  }
}

double Gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                        (x + 0.044715 * x * x * x)));
}

TEST_P(MatmulTest, Epilogues) {
  constexpr Index kM = 19, kN = 5, kK = 4, kLd = 128;
  Matrix a(cublas::kR32F, kM, kK), b(cublas::kR32F, kK, kN);
  Matrix c(cublas::kR32F, kM, kN), d(cublas::kR32F, kM, kN);
  a.Fill(5), b.Fill(6), c.Fill(7);
  Shared<float> bias(kM);
  for (Index i = 0; i < kM; ++i) {
    bias[static_cast<std::size_t>(i)] = static_cast<float>(i % 5) - 2;
  }
  const float alpha = 1, beta = 1;
  for (const std::uint32_t epilogue :
       {2u, 130u, 4u, 6u, 134u, 136u, 152u, 32u, 160u, 36u, 164u, 192u, 208u,
        256u, 512u}) {
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    desc.epilogue = epilogue;
    Shared<float> gradient(kM + kN, 77);
    const bool is_gradient = (epilogue & (16 | 256 | 512)) != 0;
    desc.bias = is_gradient ? gradient.data() : bias.data();
    // Every third element passes; what GELU had came from elsewhere.
    const bool bits = (epilogue & (2 | 8)) != 0;
    Shared<std::uint8_t> mask(kLd * kN / 8);
    Shared<float> values(kLd * kN);
    for (Index i = 0; i < kLd * kN; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i % 3 == 0) mask[at / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
      values[at] = static_cast<float>(i % 9 - 4) / 2;
    }
    const auto mask_before = mask;
    const auto values_before = values;
    desc.aux = bits ? static_cast<void*>(mask.data()) : values.data();
    desc.aux_ld = kLd;
    ASSERT_EQ(Run(desc, a, b, c, d, &alpha, &beta), cublas::kSuccess)
        << epilogue;
    std::vector<double> of_rows(kM, 0);
    for (Index j = 0; j < kN; ++j) {
      for (Index i = 0; i < kM; ++i) {
        const auto at = static_cast<std::size_t>(i + j * kLd);
        double x = Sum(a, false, b, false, i, j, kK, 0) + c.Get(i, j);
        if ((epilogue & 8) != 0 && (mask_before[at / 8] >> (at % 8) & 1) == 0) {
          x = 0;
        }
        if ((epilogue & 64) != 0) {
          const double z = values_before[at], h = 1e-5;
          x *= (Gelu(z + h) - Gelu(z - h)) / (2 * h);
        }
        if ((epilogue & 4) != 0) x += bias[static_cast<std::size_t>(i)];
        if ((epilogue & 130) == 130) {
          EXPECT_EQ(mask[at / 8] >> (at % 8) & 1, x > 0 ? 1 : 0);
        }
        if ((epilogue & 160) == 160) EXPECT_NEAR(values[at], x, 1e-5);
        if ((epilogue & 2) != 0) x = std::max(x, 0.0);
        if ((epilogue & 32) != 0) x = Gelu(x);
        EXPECT_NEAR(d.Get(i, j), x, 1e-5 * (1 + std::abs(x))) << epilogue;
        of_rows[static_cast<std::size_t>(i)] += x;
      }
    }
    if ((epilogue & 16) != 0) {
      for (std::size_t i = 0; i < kM; ++i) {
        EXPECT_NEAR(gradient[i], of_rows[i], 1e-4) << epilogue;
      }
    }
    if (epilogue == 256) {
      for (Index i = 0; i < kM; ++i) {
        double sum = 0;
        for (Index l = 0; l < kK; ++l) sum += a.Get(i, l);
        EXPECT_NEAR(gradient[static_cast<std::size_t>(i)], sum, 1e-5);
      }
    }
    if (epilogue == 512) {
      for (Index j = 0; j < kN; ++j) {
        double sum = 0;
        for (Index l = 0; l < kK; ++l) sum += b.Get(l, j);
        EXPECT_NEAR(gradient[static_cast<std::size_t>(j)], sum, 1e-5);
      }
    }
  }
}

// Of a bias whose type is not told: D's, but for 8-bit integers that of alpha,
// and of products of 8-bit floats C's, or bfloat16, unless D is of 16 bits.
TEST_P(MatmulTest, TypesOfABias) {
  struct Types {
    ComputeType compute;
    DataType scale, ab, c, d, bias;
  };
  const Types kinds[] = {
      {cublas::k32F, cublas::kR32F, cublas::kR16F, cublas::kR32F, cublas::kR32F,
       cublas::kR32F},
      {cublas::k32I, cublas::kR32F, cublas::kR8I, cublas::kR8I, cublas::kR8I,
       cublas::kR32F},
      {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR32F,
       cublas::kR32F, cublas::kR16BF},
      {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR16F,
       cublas::kR16F, cublas::kR16F},
      {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR16F,
       cublas::kR8E4M3, cublas::kR16F},
      {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR16BF,
       cublas::kR8E4M3, cublas::kR16BF},
  };
  for (const Types& types : kinds) {
    Matrix a(types.ab, 2, 2), b(types.ab, 2, 2), c(types.c, 2, 2);
    Matrix d(types.d, 2, 2);  // all zero
    MatmulDesc desc = NewDesc(types.compute, types.scale);
    desc.epilogue = kBias;
    Shared<std::byte> bias(16);
    Store(types.bias, bias.data(), 0, 3);
    Store(types.bias, bias.data(), 1, -4);
    desc.bias = bias.data();
    const float alpha = 1, beta = 0;
    ASSERT_EQ(Run(desc, a, b, c, d, &alpha, &beta), cublas::kSuccess);
    EXPECT_EQ(d.Get(0, 1), 3) << types.ab << ' ' << types.c << ' ' << types.d;
    EXPECT_EQ(d.Get(1, 1), -4) << types.ab << ' ' << types.c << ' ' << types.d;
  }
}

TEST_P(MatmulTest, ScalarsByRowAndScales) {
  constexpr Index kM = 7, kN = 3, kK = 5;
  Matrix a(cublas::kR8E4M3, kM, kK), b(cublas::kR8E5M2, kK, kN);
  Matrix c(cublas::kR16BF, kM, kN), d(cublas::kR8E4M3, kM, kN);
  a.Fill(8), b.Fill(9), c.Fill(10);
  MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
  constexpr float kScaleOfD = 0.25f;
  const float alpha = 1, beta = 0;
  const Shared<float> scales = {0.5f, 2, kScaleOfD};
  Shared<float> amax = {-1};
  desc.scale_of_a = &scales[0], desc.scale_of_b = &scales[1];
  desc.scale_of_d = &scales[2];
  desc.amax_of_d = amax.data();
  ASSERT_EQ(Run(desc, a, b, c, d, &alpha, &beta), cublas::kSuccess);
  double largest = 0;
  for (Index i = 0; i < kM; ++i) {
    for (Index j = 0; j < kN; ++j) {
      const double x = Sum(a, false, b, false, i, j, kK, 0);
      largest = std::max(largest, std::abs(x));
      EXPECT_EQ(d.Get(i, j),
                cublas::FromFloat8(
                    cublas::kR8E4M3,
                    cublas::ToFloat8(cublas::kR8E4M3,
                                     static_cast<float>(x) * kScaleOfD)));
    }
  }
  EXPECT_EQ(amax[0], static_cast<float>(largest));

  Matrix f(cublas::kR32F, kM, kK), g(cublas::kR32F, kK, kN);
  Matrix h(cublas::kR32F, kM, kN), out(cublas::kR32F, kM, kN);
  f.Fill(11), g.Fill(12), h.Fill(13);
  Shared<float> alphas, betas;
  for (int i = 0; i < kM; ++i) {
    alphas.push_back(static_cast<float>(i - 2));
    betas.push_back(static_cast<float>(3 - i));
  }
  desc = NewDesc(cublas::k32F, cublas::kR32F);
  for (const PointerMode mode :
       {kDeviceVector, kAlphaVectorBetaZero, kAlphaVectorBetaHost, kDevice}) {
    desc.pointer_mode = mode;
    ASSERT_EQ(Run(desc, f, g, h, out, alphas.data(), betas.data()),
              cublas::kSuccess);
    for (Index i = 0; i < kM; ++i) {
      const auto at = static_cast<std::size_t>(mode == kDevice ? 0 : i);
      const double of_beta = mode == kDeviceVector          ? betas[at]
                             : mode == kAlphaVectorBetaZero ? 0
                                                            : betas[0];
      for (Index j = 0; j < kN; ++j) {
        EXPECT_NEAR(out.Get(i, j),
                    alphas[at] * Sum(f, false, g, false, i, j, kK, 0) +
                        of_beta * h.Get(i, j),
                    1e-5);
      }
    }
  }
}

// Of the auxiliary buffer, before it is scaled.
TEST_P(MatmulTest, ScalarsByRowOfEachBatch) {
  Matrix a(cublas::kR32F, 2, 1, kColumns, 2);
  Matrix b(cublas::kR32F, 1, 1, kColumns, 2);
  Matrix d(cublas::kR32F, 2, 1, kColumns, 2);
  for (Matrix* matrix : {&a, &b}) {
    const auto count = static_cast<Index>(matrix->bytes.size() / sizeof(float));
    for (Index i = 0; i < count; ++i) {
      Store(cublas::kR32F, matrix->bytes.data(), i, 1);
    }
  }
  MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
  desc.pointer_mode = kAlphaVectorBetaHost;
  desc.alpha_stride = 3;
  desc.fill = cublas::kLower;  // the host's
  const Shared<float> alpha = {2, 3, 77, 5, 7};
  const float beta = 0;
  ASSERT_EQ(Run(desc, a, b, d, d, alpha.data(), &beta), cublas::kSuccess);
  EXPECT_EQ(d.Get(0, 0, 0), 2);
  EXPECT_EQ(d.Get(1, 0, 0), 3);
  EXPECT_EQ(d.Get(0, 0, 1), 5);
  EXPECT_EQ(d.Get(1, 0, 1), 7);
}

TEST_P(MatmulTest, TheLargestOfTheAuxiliaryBuffer) {
  Matrix a(cublas::kR32F, 4, 5), b(cublas::kR32F, 5, 6);
  Matrix c(cublas::kR32F, 4, 6), d(cublas::kR32F, 4, 6);
  a.Fill(1), b.Fill(2), c.Fill(3);
  MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
  desc.epilogue = kGelu | kAux;
  Shared<float> aux(4 * 6), largest = {-1, -1};
  const Shared<float> scale = {0.5f};
  desc.aux = aux.data();
  desc.aux_ld = 4;
  desc.scale_of_aux = scale.data();
  desc.amax_of_aux = &largest[0];
  desc.amax_of_d = &largest[1];
  const float alpha = 1, beta = 0;
  ASSERT_EQ(Run(desc, a, b, c, d, &alpha, &beta), cublas::kSuccess);
  float expected = 0, of_d = 0;
  for (Index j = 0; j < 6; ++j) {
    for (Index i = 0; i < 4; ++i) {
      expected = std::max(
          expected, std::abs(aux[static_cast<std::size_t>(i + j * 4)]) * 2);
      of_d = std::max(of_d, static_cast<float>(std::abs(d.Get(i, j))));
    }
  }
  EXPECT_NEAR(largest[0], expected, 1e-6 * expected);
  EXPECT_EQ(largest[1], of_d);
}

TEST_P(MatmulTest, BatchesByArraysOfPointers) {
  constexpr Index kBatches = 3;
  Matrix a(cublas::kR32F, 4, 5, kColumns, kBatches);
  Matrix b(cublas::kR32F, 5, 6), c(cublas::kR32F, 4, 6);
  Matrix d(cublas::kR32F, 4, 6, kRows, kBatches);
  a.Fill(1), b.Fill(2), c.Fill(3);
  // The last comes first, and all have one B and one C.
  Shared<const void*> as, bs(kBatches, b.bytes.data()),
      cs(kBatches, c.bytes.data());
  Shared<void*> ds;
  for (Index batch = 0; batch < kBatches; ++batch) {
    as.push_back(a.bytes.data() +
                 a.Place(0, 0, kBatches - 1 - batch) * sizeof(float));
    ds.push_back(d.bytes.data() + d.Place(0, 0, batch) * sizeof(float));
  }
  Layouts l = {a.layout, b.layout, c.layout, d.layout};
  for (Layout* layout : {&l.a, &l.b, &l.c, &l.d}) {
    layout->batch_mode = kPointerArray;
    layout->batches = kBatches;
    layout->batch_offset = 1'000'000;  // means nothing
  }
  const float alpha = 2, beta = 1;
  const Operands operands = {&alpha, as.data(), bs.data(),
                             &beta,  cs.data(), ds.data()};
  ASSERT_EQ(
      DoMatmul(GetParam(), NewDesc(cublas::k32F, cublas::kR32F), l, operands),
      cublas::kSuccess);
  for (Index batch = 0; batch < kBatches; ++batch) {
    for (Index i = 0; i < 4; ++i) {
      for (Index j = 0; j < 6; ++j) {
        double sum = c.Get(i, j);
        for (Index k = 0; k < 5; ++k) {
          sum += 2 * a.Get(i, k, kBatches - 1 - batch) * b.Get(k, j);
        }
        EXPECT_EQ(d.Get(i, j, batch), sum);
      }
    }
  }
}

TEST_P(MatmulTest, ZeroBetaReadsNothing) {
  Matrix a(cublas::kR32F, 3, 3), b(cublas::kR32F, 3, 3);
  Matrix c(cublas::kR32F, 3, 3), d(cublas::kR32F, 3, 3);
  a.Fill(1), b.Fill(2);
  for (Index i = 0; i < 18; ++i) Store(cublas::kR32F, c.bytes.data(), i, NAN);
  const float alpha = 1, beta = 0;
  ASSERT_EQ(
      Run(NewDesc(cublas::k32F, cublas::kR32F), a, b, c, d, &alpha, &beta),
      cublas::kSuccess);
  EXPECT_FALSE(std::isnan(d.Get(2, 2)));
}

TEST_P(MatmulTest, Transforms) {
  for (int bits = 0; bits < 8; ++bits) {
    const bool ta = (bits & 1) != 0, tb = (bits & 2) != 0;
    const Order order = (bits & 4) != 0 ? kRows : kColumns;
    Matrix a(cublas::kR16F, ta ? 4 : 6, ta ? 6 : 4, order);
    Matrix b(cublas::kR16F, tb ? 4 : 6, tb ? 6 : 4);
    Matrix c(cublas::kR32F, 6, 4, order);
    a.Fill(1), b.Fill(2);
    TransformDesc desc = {};
    desc.scale = cublas::kR32F;
    desc.a = ta ? cublas::kT : cublas::kN;
    desc.b = tb ? cublas::kT : cublas::kN;
    const float alpha = 2, beta = -1;
    ASSERT_EQ(
        DoTransform(GetParam(), desc, {a.layout, b.layout, c.layout, c.layout},
                    {&alpha, a.bytes.data(), b.bytes.data(), &beta, nullptr,
                     c.bytes.data()}),
        cublas::kSuccess);
    for (Index i = 0; i < 6; ++i) {
      for (Index j = 0; j < 4; ++j) {
        EXPECT_EQ(c.Get(i, j), 2 * (ta ? a.Get(j, i) : a.Get(i, j)) -
                                   (tb ? b.Get(j, i) : b.Get(i, j)));
      }
    }
  }
}

TEST(Matmul, WhatIsRefused) {
  const auto check = [](const auto& change) {
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    Layouts layouts = {
        Matrix(cublas::kR32F, 4, 5).layout, Matrix(cublas::kR32F, 5, 6).layout,
        Matrix(cublas::kR32F, 4, 6).layout, Matrix(cublas::kR32F, 4, 6).layout};
    change(desc, layouts);
    return CheckMatmul(desc, layouts);
  };
  using D = MatmulDesc;
  using L = Layouts;
  EXPECT_EQ(check([](D&, L&) {}), cublas::kSuccess);
  EXPECT_EQ(check([](D&, L& l) { l.a.columns = 4; }), cublas::kInvalidValue);
  EXPECT_EQ(check([](D&, L& l) { l.c.rows = 3; }), cublas::kInvalidValue);
  EXPECT_EQ(check([](D&, L& l) { l.d.ld = 3; }), cublas::kInvalidValue);
  EXPECT_EQ(check([](D&, L& l) { l.b.batches = 2; }), cublas::kInvalidValue);
  EXPECT_EQ(check([](D& d, L&) { d.epilogue = kRelu | kGelu; }),
            cublas::kNotSupported);
  EXPECT_EQ(check([](D& d, L&) { d.epilogue = kGelu | kAux; }),
            cublas::kInvalidValue);
  EXPECT_EQ(check([](D&, L& l) { l.a.order = static_cast<Order>(5); }),
            cublas::kNotSupported);
  EXPECT_EQ(check([](D&, L& l) { l.a.type = static_cast<DataType>(99); }),
            cublas::kNotSupported);
  EXPECT_EQ(check([](D&, L& l) { l.a.plane_offset = 64; }),
            cublas::kNotSupported);
  EXPECT_EQ(check([](D&, L& l) { l.d.batch_mode = 2; }), cublas::kNotSupported);
  EXPECT_EQ(check([](D& d, L&) { d.scale_modes[0] = 1; }),
            cublas::kNotSupported);
  EXPECT_EQ(check([](D& d, L&) { d.scale_modes[3] = 7; }),
            cublas::kInvalidValue);
  EXPECT_EQ(check([](D& d, L&) { d.compute = static_cast<ComputeType>(1); }),
            cublas::kNotSupported);
}

}  // namespace
}  // namespace cerberus::libraries::cublaslt
