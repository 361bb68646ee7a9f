// The division that LLVM builds from v_div_scale, v_rcp, v_fma, v_div_fmas and
// v_div_fixup, against the host's division. Most quotients are subnormal and
// lie between two of them, where rounding twice shows. Where AMD's text makes
// that NaN the compiler looks again, as the tests do.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

// LLVM's expansions of fdiv (AMDGPU, SIISelLowering.cpp, LowerFDIV64 and
// LowerFDIV32 without a change of mode).
double Divide(double a, double b) {
  const ScaledF64 below = DivScale(b, b, a);
  const ScaledF64 above = DivScale(a, b, a);
  const double d = below.value;
  double inverse = 1.0 / d;
  for (int i = 0; i < 2; ++i) {
    inverse = std::fma(inverse, std::fma(-d, inverse, 1.0), inverse);
  }
  const double quotient = above.value * inverse;
  const double rest = std::fma(-d, quotient, above.value);
  return DivFixup(DivFmas(rest, inverse, quotient, above.flag), b, a);
}

float Divide(float a, float b) {
  const ScaledF32 below = DivScale(b, b, a);
  const ScaledF32 above = DivScale(a, b, a);
  const float d = below.value;
  float inverse = 1.0f / d;
  inverse = std::fma(std::fma(-d, inverse, 1.0f), inverse, inverse);
  float quotient = above.value * inverse;
  quotient = std::fma(std::fma(-d, quotient, above.value), inverse, quotient);
  const float rest = std::fma(-d, quotient, above.value);
  return DivFixup(DivFmas(rest, inverse, quotient, above.flag), b, a);
}

// As ptxc/devlib/rounding.h.
template <typename T>
T Quotient(T a, T b) {
  const T q = Divide(a, b);
  if (q == q || a == 0 || b != b || std::isinf(b)) return q;
  if (std::fabs(b) < 1) return a * std::copysign(T{INFINITY}, b);
  return Divide(a / 256, b / 256);
}

template <typename T, typename Bits>
void Check(int mantissa_bits, int least_exponent) {
  std::mt19937_64 random(5);
  const auto sign = [&] { return random() % 2 == 0 ? T{1} : T{-1}; };
  for (int i = 0; i < 200000; ++i) {
    // A quotient with few bits set at both ends of its mantissa, at or below
    // the smallest normal number; the divisor has few bits or many.
    const auto near_one = [&] {
      const T ulp = std::ldexp(T{1}, -mantissa_bits);
      const T some = static_cast<T>(random() % 8) * ulp;
      return random() % 2 == 0 ? T{1} + some : T{2} - some - ulp;
    };
    T b = near_one();
    if (random() % 2 == 0) b = std::ldexp(static_cast<T>(random()), -63) + 1;
    const int down = static_cast<int>(random() % 60);
    T a = near_one() * b;
    if (random() % 2 == 0) a = near_one();
    const int shift = static_cast<int>(random() % 40) - 20;
    a = sign() * std::ldexp(a, (least_exponent + shift) / 2 - down);
    b = sign() * std::ldexp(b, -(least_exponent - shift) / 2);
    volatile T x = a, y = b;
    const T want = x / y;
    // v_div_scale looks at the rounded quotient, and does not scale for zero.
    if (want == 0) continue;
    ASSERT_EQ(std::bit_cast<Bits>(Quotient(a, b)), std::bit_cast<Bits>(want))
        << std::hexfloat << a << " / " << b;
  }
}

TEST(Division, OfDoublesRoundsOnce) { Check<double, std::uint64_t>(52, -1022); }
TEST(Division, OfFloatsRoundsOnce) { Check<float, std::uint32_t>(23, -126); }

TEST(Division, QuotientBetweenSubnormals) {
  // 1 / (2^1023 - 2^971) = 2^-1023 + 2^-1075 + 2^-1127 …, just above the
  // middle of two numbers; negative it is found from the other side.
  const double b = 0x1.ffffffffffffep1022;
  EXPECT_EQ(Quotient(1.0, b), 0x0.8000000000001p-1022);
  EXPECT_EQ(Quotient(1.0, -b), -0x0.8000000000001p-1022);
}

// By the manuals' text: v_div_scale scales a denominator up that has a denormal
// inverse, v_div_fixup knows no overflow.
TEST(Division, IsNanFarOutByTheText) {
  EXPECT_TRUE(std::isnan(Divide(0x1.fffffep127f, 0x1p-149f)));
  EXPECT_TRUE(std::isnan(Divide(0x1p100f, -0x1p-100f)));
  EXPECT_TRUE(std::isnan(Divide(1.0f, 0x1p127f)));
  EXPECT_TRUE(std::isnan(Divide(0x1.fffffffffffffp1023, 0x1p-1074)));
  EXPECT_TRUE(std::isnan(Divide(1.0, 0x1p1023)));
  EXPECT_EQ(Quotient(0x1.fffffep127f, -0x1p-149f), -INFINITY);
  EXPECT_EQ(Quotient(1.0f, 0x1p127f), 0x1p-127f);
  EXPECT_EQ(Quotient(-0x1.fffffffffffffp1023, -0x1p-1074), INFINITY);
}

}  // namespace
}  // namespace cerberus::emulator
