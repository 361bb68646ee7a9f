// Fused multiply-adds of f16 that are computed in f32, against sums of whole
// numbers: every f16 is one of units of 2^-24, so a product plus a third is one
// of units of 2^-48 that 128 bits hold.
#include "emulator/vector/float16.h"

#include <gtest/gtest.h>

#include <random>

#include "emulator/execute/host_env.h"
#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

using Wide = __int128;

Wide Units(u16 half) {
  const int exponent = half >> 10 & 31;
  const Wide mantissa = half & 0x3ff;
  const Wide units =
      exponent == 0 ? mantissa : (mantissa | 0x400) << (exponent - 1);
  return half >> 15 != 0 ? -units : units;
}

// Units of 2^-48 to f16. A zero has no sign here.
u16 Rounded(Wide units, u32 round) {
  const bool negative = units < 0;
  const Wide size = negative ? -units : units;
  const u16 sign = negative ? 0x8000 : 0;
  // The largest f16 that is not above, by its bits: they are ordered.
  u16 below = 0;
  for (int bit = 14; bit >= 0; --bit) {
    const u16 next = static_cast<u16>(below | 1 << bit);
    if (next < 0x7c00 && Units(next) << 24 <= size) below = next;
  }
  const Wide rest = size - (Units(below) << 24);
  // From the largest finite number the next step counts as the last one did.
  const Wide step = below == 0x7bff
                        ? (Units(0x7bff) - Units(0x7bfe)) << 24
                        : (Units(static_cast<u16>(below + 1)) - Units(below))
                              << 24;
  bool up = false;
  if (round == kNearest) {
    up = 2 * rest > step || (2 * rest == step && (below & 1) != 0);
  } else if (round != kZero) {
    up = rest != 0 && (round == kDown) == negative;
  }
  return static_cast<u16>(sign | (below + (up ? 1 : 0)));
}

struct Mode {
  u32 round;
  u32 mxcsr;
};

class FmaOfHalves : public ::testing::TestWithParam<Mode> {};

TEST_P(FmaOfHalves, AreRoundedOnce) {
  const auto [round, mxcsr] = GetParam();
  std::mt19937 random(1);
  // Sums of terms far apart and of terms that all but cancel.
  const auto half = [&](int exponents) {
    const u32 exponent = random() % static_cast<u32>(exponents);
    return static_cast<u16>((random() & 0x83ff) |
                            (15 - exponents / 2 + exponent) << 10);
  };
  for (int i = 0; i < 400'000; ++i) {
    const int range = i % 2 == 0 ? 30 : 6;
    const u16 a = half(range), b = half(range), c = half(range);
    const Wide exact = Units(a) * Units(b) + (Units(c) << 24);
    if (exact == 0) continue;
    volatile float x = HalfToFloat(a), y = HalfToFloat(b), z = HalfToFloat(c);
    WriteMxcsr(kMxcsrDefault | mxcsr);
    volatile float sum = FmaOddHalf(x, y, z, round);
    WriteMxcsr(kMxcsrDefault);
    const u16 got = FloatToHalf(sum, round), want = Rounded(exact, round);
    ASSERT_EQ(got, want) << std::hex << a << " * " << b << " + " << c;
    if (round != kNearest) continue;
    const float quick = FmaHalfOp::Quick(x, y, z);
    if (quick == quick) {  // a NaN asks for the other
      ASSERT_EQ(FloatToHalf(quick, round), want)
          << std::hex << a << " * " << b << " + " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllModes, FmaOfHalves,
                         ::testing::Values(Mode{kNearest, 0},
                                           Mode{kUp, kMxcsrUp},
                                           Mode{kDown, kMxcsrDown},
                                           Mode{kZero, kMxcsrUp | kMxcsrDown}));

}  // namespace
}  // namespace cerberus::emulator
