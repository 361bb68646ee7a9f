// Transforms against the sum that defines them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "fake_driver.h"
#include "libraries/cufft/plan.h"

namespace cerberus::libraries::cufft {
namespace {

using cublas::kC32F;
using cublas::kC64F;
using cublas::kR32F;
using cublas::kR64F;

std::vector<Complex> Random(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> values(-1, 1);
  std::vector<Complex> out(n);
  for (Complex& v : out) v = {values(random), values(random)};
  return out;
}

// X(k) = sum over j of x(j) exp(sign 2 pi i j k / n), over every dimension.
std::vector<Complex> Defined(const std::vector<Index>& sizes,
                             const std::vector<Complex>& in, int sign) {
  std::vector<Complex> out = in;
  Index inner = 1;
  for (std::size_t d = sizes.size(); d-- > 0; inner *= sizes[d]) {
    const std::vector<Complex> from = out;
    const Index n = sizes[d];
    for (Index place = 0; place < static_cast<Index>(out.size()); ++place) {
      const Index k = place / inner % n, first = place - k * inner;
      Complex sum = 0;
      for (Index j = 0; j < n; ++j) {
        const double angle = sign * 2 * std::numbers::pi *
                             static_cast<double>(j * k % n) /
                             static_cast<double>(n);
        sum += from[static_cast<std::size_t>(first + j * inner)] *
               Complex(std::cos(angle), std::sin(angle));
      }
      out[static_cast<std::size_t>(place)] = sum;
    }
  }
  return out;
}

double Largest(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

// Small primes, powers, products, primes beyond the largest factor.
TEST(Transform, IsTheSumThatDefinesIt) {
  for (Index n = 1; n <= 260; ++n) {
    const std::vector<Complex> in = Random(static_cast<std::size_t>(n));
    for (const int sign : {-1, 1}) {
      std::vector<Complex> out = in;
      TransformOf(static_cast<std::size_t>(n))->Run(out.data(), sign);
      EXPECT_LT(Largest(out, Defined({n}, in, sign)), 1e-12 * (10 + n))
          << n << " " << sign;
    }
  }
}

TEST(Transform, ForthAndBackMultipliesByTheLength) {
  for (const std::size_t n : {1024u, 3125u, 4097u, 65537u, 100003u}) {
    const std::vector<Complex> in = Random(n);
    std::vector<Complex> out = in;
    TransformOf(n)->Run(out.data(), -1);
    TransformOf(n)->Run(out.data(), 1);
    for (Complex& v : out) v /= static_cast<double>(n);
    EXPECT_LT(Largest(out, in), 1e-13 * std::log2(n)) << n;
  }
}

struct PlanTest : testing::TestWithParam<bool> {
  Driver driver = FakeDriver(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Memory, PlanTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "Shared" : "Copied";
                         });

TEST_P(PlanTest, ComplexInEveryDimension) {
  for (const std::vector<Index>& sizes :
       std::vector<std::vector<Index>>{{6}, {5, 7}, {3, 4, 10}}) {
    std::size_t total = 1;
    for (const Index n : sizes) total *= static_cast<std::size_t>(n);
    constexpr Index kBatches = 3;
    Plan plan;
    ASSERT_EQ(MakePlan(&plan, sizes, {}, kC64F, {}, kC64F, kBatches), kSuccess);
    const std::vector<Complex> in = Random(total * kBatches);
    std::vector<Complex> out(in.size());
    ASSERT_EQ(Execute(driver, plan, in.data(), out.data(), -1), kSuccess);
    for (std::size_t b = 0; b < kBatches; ++b) {
      const auto begin = static_cast<std::ptrdiff_t>(b * total);
      const auto end = begin + static_cast<std::ptrdiff_t>(total);
      EXPECT_LT(
          Largest({out.begin() + begin, out.begin() + end},
                  Defined(sizes, {in.begin() + begin, in.begin() + end}, -1)),
          1e-12);
    }
  }
}

TEST_P(PlanTest, RealOutOfPlaceAndInPlace) {
  for (const std::vector<Index>& sizes :
       std::vector<std::vector<Index>>{{8}, {9}, {4, 6}, {3, 5}, {2, 3, 7}}) {
    std::size_t total = 1;
    for (const Index n : sizes) total *= static_cast<std::size_t>(n);
    const Index last = sizes.back(), half = last / 2 + 1;
    const std::size_t rows = total / static_cast<std::size_t>(last);
    std::vector<double> in(total);
    std::vector<Complex> wide(total);
    const std::vector<Complex> random = Random(total);
    for (std::size_t i = 0; i < total; ++i) wide[i] = in[i] = random[i].real();
    const std::vector<Complex> all = Defined(sizes, wide, -1);

    Plan forward, back;
    ASSERT_EQ(MakePlan(&forward, sizes, {}, kR64F, {}, kC64F, 1), kSuccess);
    ASSERT_EQ(MakePlan(&back, sizes, {}, kC64F, {}, kR64F, 1), kSuccess);
    const std::size_t halves = rows * static_cast<std::size_t>(half);
    std::vector<Complex> out(halves);
    ASSERT_EQ(Execute(driver, forward, in.data(), out.data(), -1), kSuccess);
    for (std::size_t row = 0; row < rows; ++row) {
      for (Index k = 0; k < half; ++k) {
        const auto at = static_cast<std::size_t>(k);
        EXPECT_LT(std::abs(out[row * static_cast<std::size_t>(half) + at] -
                           all[row * static_cast<std::size_t>(last) + at]),
                  1e-12);
      }
    }
    // In place a row of reals has room for the complex ones.
    std::vector<Complex> place(halves);
    auto* reals = reinterpret_cast<double*>(place.data());
    const auto padded = static_cast<std::size_t>(2 * half);
    for (std::size_t i = 0; i < total; ++i) {
      reals[i / static_cast<std::size_t>(last) * padded +
            i % static_cast<std::size_t>(last)] = in[i];
    }
    ASSERT_EQ(Execute(driver, forward, place.data(), place.data(), -1),
              kSuccess);
    EXPECT_EQ(place, out);
    ASSERT_EQ(Execute(driver, back, place.data(), place.data(), 1), kSuccess);
    std::vector<double> again(total);
    ASSERT_EQ(Execute(driver, back, out.data(), again.data(), 1), kSuccess);
    for (std::size_t i = 0; i < total; ++i) {
      const double expected = in[i] * static_cast<double>(total);
      EXPECT_NEAR(again[i], expected, 1e-12);
      EXPECT_NEAR(reals[i / static_cast<std::size_t>(last) * padded +
                        i % static_cast<std::size_t>(last)],
                  expected, 1e-12);
    }
  }
}

TEST_P(PlanTest, StridesAndDistances) {
  // Columns of a row-major 4 by 5 matrix, into every third element.
  const Index in_embed[] = {4}, out_embed[] = {4};
  Plan plan;
  ASSERT_EQ(MakePlan(&plan, {4}, {in_embed, 5, 1}, kC32F, {out_embed, 3, 12},
                     kC32F, 5),
            kSuccess);
  std::vector<std::complex<float>> in(20), out(60, {7, 7});
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = {static_cast<float>(i % 7), static_cast<float>(i % 3)};
  }
  ASSERT_EQ(Execute(driver, plan, in.data(), out.data(), 1), kSuccess);
  for (std::size_t b = 0; b < 5; ++b) {
    std::vector<Complex> column(4);
    for (std::size_t i = 0; i < 4; ++i) column[i] = in[i * 5 + b];
    const std::vector<Complex> expected = Defined({4}, column, 1);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LT(std::abs(Complex(out[b * 12 + k * 3]) - expected[k]), 1e-5);
    }
  }
  // What lies between is not touched.
  EXPECT_EQ(out[1], std::complex<float>(7, 7));
}

// Axes in any order, with gaps, and loops within loops: 2 by 3 transforms of 4
// by 5.
TEST_P(PlanTest, Guru) {
  constexpr std::size_t kN0 = 4, kN1 = 5, kHalf = kN1 / 2 + 1;
  const std::vector<Axis> axes = {{kN0, 1, 40}, {kN1, 8, 2}};
  const std::vector<Axis> loops = {{2, 150, 13}, {3, 50, 400}};
  const std::vector<Complex> in = Random(300);
  std::vector<double> reals(300);
  for (std::size_t i = 0; i < in.size(); ++i) reals[i] = in[i].real();
  Plan plan, forward, back;
  ASSERT_EQ(MakeGuruPlan(&plan, axes, loops, kC64F, kC64F), kSuccess);
  ASSERT_EQ(MakeGuruPlan(&forward, axes, loops, kR64F, kC64F), kSuccess);
  std::vector<Axis> other_way = axes, loops_back = loops;
  for (std::vector<Axis>* list : {&other_way, &loops_back}) {
    for (Axis& axis : *list) std::swap(axis.input, axis.output);
  }
  ASSERT_EQ(MakeGuruPlan(&back, other_way, loops_back, kC64F, kR64F), kSuccess);
  std::vector<Complex> out(1000, {7, 7}), halves = out;
  std::vector<double> again(300, 7);
  ASSERT_EQ(Execute(driver, plan, in.data(), out.data(), -1), kSuccess);
  ASSERT_EQ(Execute(driver, forward, reals.data(), halves.data(), -1),
            kSuccess);
  ASSERT_EQ(Execute(driver, back, halves.data(), again.data(), 1), kSuccess);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t from = i * 150 + j * 50, to = i * 13 + j * 400;
      std::vector<Complex> each(kN0 * kN1), wide = each;
      for (std::size_t x = 0; x < kN0; ++x) {
        for (std::size_t y = 0; y < kN1; ++y) {
          each[x * kN1 + y] = in[from + x + y * 8];
          wide[x * kN1 + y] = reals[from + x + y * 8];
        }
      }
      const std::vector<Complex> all = Defined({kN0, kN1}, each, -1);
      const std::vector<Complex> of_reals = Defined({kN0, kN1}, wide, -1);
      for (std::size_t x = 0; x < kN0; ++x) {
        for (std::size_t y = 0; y < kN1; ++y) {
          const std::size_t at = to + x * 40 + y * 2;
          EXPECT_LT(std::abs(out[at] - all[x * kN1 + y]), 1e-12);
          if (y < kHalf) {
            EXPECT_LT(std::abs(halves[at] - of_reals[x * kN1 + y]), 1e-12);
          }
          EXPECT_LT(std::abs(again[from + x + y * 8] -
                             kN0 * kN1 * reals[from + x + y * 8]),
                    1e-12);
        }
      }
    }
  }
  EXPECT_EQ(out[1], Complex(7, 7));
  EXPECT_EQ(again[4], 7);
}

TEST(Plan, WhatMakesNoGuruPlan) {
  const auto make = [](const std::vector<Axis>& axes,
                       const std::vector<Axis>& loops) {
    Plan plan;
    return MakeGuruPlan(&plan, axes, loops, kC32F, kC32F);
  };
  EXPECT_EQ(make({{4, 1, 1}}, {}), kSuccess);
  EXPECT_EQ(make({{4, 1, 1}, {1, 0, 0}}, {{2, 0, 4}}), kSuccess);
  EXPECT_EQ(make({}, {}), kInvalidSize);
  EXPECT_EQ(make({{0, 1, 1}}, {}), kInvalidSize);
  EXPECT_EQ(make({{4, 1, 1}}, {{0, 1, 1}}), kInvalidSize);
  EXPECT_EQ(make({{4, 1, 0}}, {}), kInvalidValue);
  EXPECT_EQ(make({{4, 1, 1}}, {{2, -4, 4}}), kInvalidValue);
  EXPECT_EQ(make({{4, Index{1} << 61, 1}}, {}), kInvalidSize);
  EXPECT_EQ(make({{4, 1, 1}}, {{1 << 30, Index{1} << 40, 1}}), kInvalidSize);
}

TEST(Plan, WhatMakesNone) {
  Plan plan;
  EXPECT_EQ(MakePlan(&plan, {}, {}, kC32F, {}, kC32F, 1), kInvalidSize);
  EXPECT_EQ(MakePlan(&plan, {0}, {}, kC32F, {}, kC32F, 1), kInvalidSize);
  EXPECT_EQ(MakePlan(&plan, {4}, {}, kC32F, {}, kC32F, 0), kInvalidSize);
  EXPECT_EQ(MakePlan(&plan, {2, 2, 2, 2}, {}, kC32F, {}, kC32F, 1),
            kInvalidSize);
  EXPECT_EQ(MakePlan(&plan, {4}, {}, kR32F, {}, kR32F, 1), kInvalidType);
  EXPECT_EQ(MakePlan(&plan, {4}, {}, kR32F, {}, kC64F, 1), kInvalidType);
  const Index small[] = {4, 2};
  EXPECT_EQ(
      MakePlan(&plan, {4, 3}, {small, 1, 12}, kC32F, {small, 1, 12}, kC32F, 1),
      kInvalidSize);
  const Index wide[] = {4, Index{1} << 62};
  EXPECT_EQ(
      MakePlan(&plan, {4, 3}, {wide, 8, 12}, kC32F, {wide, 8, 12}, kC32F, 1),
      kInvalidSize);
  const Index huge = Index{1} << 40;
  EXPECT_EQ(MakePlan(&plan, {huge, huge}, {}, kC32F, {}, kC32F, 1),
            kInvalidSize);
  EXPECT_FALSE(TypesOf(static_cast<Type>(0)).has_value());
}

}  // namespace
}  // namespace cerberus::libraries::cufft
