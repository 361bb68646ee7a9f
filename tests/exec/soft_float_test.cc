// The reference itself, against the host's own arithmetic.
#include "tests/exec/soft_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

namespace cerberus::exec {
namespace {

std::uint64_t Bits(float f) { return std::bit_cast<std::uint32_t>(f); }

TEST(SoftFloat, AgreesWithTheHostOnF32) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t a = static_cast<std::uint32_t>(random());
    const std::uint32_t b =
        i % 3 == 0 ? a ^ (static_cast<std::uint32_t>(random()) & 0x81ffffff)
                   : static_cast<std::uint32_t>(random());
    const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    if (std::isnan(x) || std::isnan(y)) continue;
    const auto same = [](std::uint64_t got, float want) {
      return std::isnan(want) ? kF32.IsNan(got) : got == Bits(want);
    };
    const Round rn = Round::kNearestEven;
    EXPECT_TRUE(same(Add(kF32, rn, a, b), x + y)) << x << " + " << y;
    EXPECT_TRUE(same(Mul(kF32, rn, a, b), x * y)) << x << " * " << y;
    EXPECT_TRUE(same(Div(kF32, rn, a, b), x / y)) << x << " / " << y;
    EXPECT_TRUE(same(Sqrt(kF32, rn, a), std::sqrt(x))) << x;
    EXPECT_TRUE(same(Fma(kF32, rn, a, b, a), std::fma(x, y, x)));
  }
}

TEST(SoftFloat, RoundsHalvesAsTold) {
  // 2049 lies halfway between the f16 numbers 2048 and 2050.
  const Mp value(kF32, Bits(2049.0f));
  EXPECT_EQ(RoundTo(kF16, Round::kNearestEven, value), 0x6800u);
  EXPECT_EQ(RoundTo(kF16, Round::kNearestAway, value), 0x6801u);
  EXPECT_EQ(RoundTo(kF16, Round::kUp, value), 0x6801u);
  EXPECT_EQ(RoundTo(kF16, Round::kDown, value), 0x6800u);
  EXPECT_EQ(RoundTo(kF16, Round::kDown, Mp(kF32, Bits(-2049.0f))), 0xe801u);
}

TEST(SoftFloat, OverflowsByTheRounding) {
  const Mp huge(kF32, Bits(1e6f));
  EXPECT_EQ(RoundTo(kF16, Round::kNearestEven, huge), kF16.Infinity());
  EXPECT_EQ(RoundTo(kF16, Round::kZero, huge), kF16.MaxFinite());
  EXPECT_EQ(RoundTo(kE4M3, Round::kNearestEven, huge), 0x7eu);
  EXPECT_EQ(RoundTo(kE5M2, Round::kNearestEven, huge), 0x7cu);
  EXPECT_EQ(RoundTo(kE2M1, Round::kNearestEven, huge), 0x7u);
}

TEST(SoftFloat, KeepsSubnormals) {
  EXPECT_EQ(Mul(kF32, Round::kNearestEven, 0x00800000, Bits(0.5f)),
            0x00400000u);
  EXPECT_EQ(Mul(kF32, Round::kUp, 1, Bits(0.25f)), 1u);
  EXPECT_EQ(Mul(kF32, Round::kDown, 1, Bits(0.25f)), 0u);
  EXPECT_EQ(kF32.Flush(0x80000001), 0x80000000u);
  EXPECT_EQ(kF32.Flush(0x00800000), 0x00800000u);
}

}  // namespace
}  // namespace cerberus::exec
