// Conversions of small floats, all of their values both ways.
#include "libraries/cublas/typed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/libraries/small_float.h"

namespace cerberus::libraries::tests {
namespace {

using From = std::function<float(std::uint32_t)>;
using To = std::function<std::uint32_t(float)>;

// Every value, and what lies at, just above and just below the middle between
// it and the next.
void TestFormat(const SmallFloat& format, bool saturated, const From& from,
                const To& to) {
  for (std::uint32_t bits = 0; bits < 2 * format.sign(); ++bits) {
    const double value = format.Decode(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from(bits))) << bits;
      continue;
    }
    EXPECT_EQ(static_cast<double>(from(bits)), value) << bits;
    EXPECT_EQ(std::signbit(from(bits)), (bits & format.sign()) != 0) << bits;
    if (!std::isinf(value)) EXPECT_EQ(to(from(bits)), bits);
  }
  for (std::uint32_t bits = 0; bits < format.largest(); ++bits) {
    const auto middle =
        static_cast<float>((format.Decode(bits) + format.Decode(bits + 1)) / 2);
    for (const float positive :
         {middle, std::nextafter(middle, 0.0f),
          std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      for (const float value : {positive, -positive}) {
        EXPECT_EQ(to(value), format.Round(value, saturated)) << value;
      }
    }
  }
  const auto last = static_cast<float>(format.Decode(format.largest()));
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float positive :
       {last, last * 1.001f, last * 1.04f, last * 1.06f, last * 1.1f, last * 2,
        infinity, std::numeric_limits<float>::min(),
        std::numeric_limits<float>::denorm_min()}) {
    for (const float value : {positive, -positive}) {
      EXPECT_EQ(to(value), format.Round(value, saturated)) << value;
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(format.Decode(to(nan))));
  EXPECT_TRUE(std::isnan(format.Decode(to(-nan))));
}

TEST(Typed, Half) {
  TestFormat(
      Binary16(), false,
      [](std::uint32_t b) {
        return cublas::FromHalf(static_cast<std::uint16_t>(b));
      },
      cublas::ToHalf);
}
TEST(Typed, Bfloat16) {
  TestFormat(
      Bfloat16(), false,
      [](std::uint32_t b) {
        return cublas::FromBfloat16(static_cast<std::uint16_t>(b));
      },
      cublas::ToBfloat16);
  // A NaN whose fraction lies below what is kept stays one.
  EXPECT_TRUE(std::isnan(cublas::FromBfloat16(
      cublas::ToBfloat16(std::bit_cast<float>(0x7f800001u)))));
}
TEST(Typed, Float8) {
  for (const auto& [type, format] :
       {std::pair{cublas::kR8E4M3, SmallFloat(4, 3, false)},
        std::pair{cublas::kR8E5M2, SmallFloat(5, 2, true)}}) {
    TestFormat(
        format, true,
        [type = type](std::uint32_t b) {
          return cublas::FromFloat8(type, static_cast<std::uint8_t>(b));
        },
        [type = type](float v) { return cublas::ToFloat8(type, v); });
  }
}
TEST(Typed, Float4) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (unsigned bits = 0; bits < 16; ++bits) {
    const float value =
        (bits & 8) != 0 ? -kValues[bits & 7] : kValues[bits & 7];
    EXPECT_EQ(cublas::FromFloat4(bits), value);
    EXPECT_EQ(cublas::ToFloat4(value), bits);
  }
  // Halfway, to even; a little beside it, to what is nearer.
  for (unsigned bits = 0; bits < 7; ++bits) {
    const float half = (kValues[bits] + kValues[bits + 1]) / 2;
    EXPECT_EQ(cublas::ToFloat4(half), bits + bits % 2) << half;
    EXPECT_EQ(cublas::ToFloat4(-half), 8 + bits + bits % 2) << half;
    EXPECT_EQ(cublas::ToFloat4(std::nextafter(half, 0.0f)), bits);
    EXPECT_EQ(cublas::ToFloat4(std::nextafter(half, 9.0f)), bits + 1);
  }
  EXPECT_EQ(cublas::ToFloat4(100), 7);
  EXPECT_EQ(cublas::ToFloat4(-std::numeric_limits<float>::infinity()), 15);
  EXPECT_EQ(cublas::ToFloat4(-std::numeric_limits<float>::quiet_NaN()), 7);
  // Two share a byte.
  std::uint8_t bytes[] = {0xff, 0xff};
  cublas::Store(cublas::kR4E2M1, bytes, 1, 3);
  cublas::Store(cublas::kR4E2M1, bytes, 2, -0.5);
  EXPECT_EQ(bytes[0], 0x5f);
  EXPECT_EQ(bytes[1], 0xf9);
  EXPECT_EQ(cublas::Load(cublas::kR4E2M1, bytes, 1).real(), 3);
  EXPECT_EQ(cublas::BytesOf(cublas::kR4E2M1, 3), 2u);
}
TEST(Typed, E8M0) {
  for (int bits = 0; bits < 255; ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    const double value = std::ldexp(1.0, bits - 127);
    EXPECT_EQ(cublas::FromE8M0(byte), value);
    EXPECT_EQ(cublas::ToE8M0(value), bits);
    EXPECT_EQ(cublas::ToE8M0(value * 0.75), bits);
    EXPECT_EQ(cublas::ToE8M0(value * 1.001), std::min(bits + 1, 254));
  }
  EXPECT_TRUE(std::isnan(cublas::FromE8M0(255)));
  EXPECT_EQ(cublas::ToE8M0(NAN), 255);
  EXPECT_EQ(cublas::ToE8M0(HUGE_VAL), 254);
  EXPECT_EQ(cublas::ToE8M0(0), 0);
}
TEST(Typed, IntegersAreRoundedAndSaturate) {
  std::int8_t bytes[6] = {};
  const double values[] = {0.5, 1.5, -2.5, 127.4, 1000, -1000};
  for (int i = 0; i < 6; ++i) cublas::Store(cublas::kR8I, bytes, i, values[i]);
  const std::int8_t want[] = {0, 2, -2, 127, 127, -128};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(bytes[i], want[i]) << values[i];
}

}  // namespace
}  // namespace cerberus::libraries::tests
