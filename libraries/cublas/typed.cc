#include "libraries/cublas/typed.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace cerberus::libraries::cublas {
namespace {

// A float with so many bits of exponent and fraction, in the low bits.
struct Format {
  int exponent, fraction;
  bool infinities;
};
constexpr Format kHalf{5, 10, true};
constexpr Format kE4M3{4, 3, false};
constexpr Format kE5M2{5, 2, true};

float Widen(Format format, std::uint32_t bits) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const std::uint32_t top = (1u << format.exponent) - 1;
  const std::uint32_t fraction = bits & ((1u << format.fraction) - 1);
  const std::uint32_t exponent = bits >> format.fraction & top;
  const float sign =
      (bits >> (format.exponent + format.fraction) & 1) != 0 ? -1.0f : 1.0f;
  if (exponent == top && format.infinities) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == top && fraction == (1u << format.fraction) - 1) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int shift =
      (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - format.fraction;
  const std::uint32_t whole =
      exponent == 0 ? fraction : fraction | 1u << format.fraction;
  return sign * std::ldexp(static_cast<float>(whole), shift);
}

// `saturates`: what is too large becomes the largest number.
std::uint32_t Narrow(Format format, float value, bool saturates) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const std::uint32_t top = (1u << format.exponent) - 1;
  const std::uint32_t sign =
      std::signbit(value) ? 1u << (format.exponent + format.fraction) : 0;
  const std::uint32_t all = (1u << format.fraction) - 1;
  if (std::isnan(value)) return sign | top << format.fraction | all;
  if (value == 0) return sign;  // has no exponent that frexp could tell
  // The largest finite number's bits.
  const std::uint32_t largest = format.infinities
                                    ? (top - 1) << format.fraction | all
                                    : top << format.fraction | (all - 1);
  const std::uint32_t beyond =
      saturates || !format.infinities ? largest : top << format.fraction;
  if (std::isinf(value)) return sign | (saturates ? largest : beyond);
  int exponent = 0;
  std::frexp(std::abs(value), &exponent);  // 0.5 <= fraction < 1
  const int lowest = 1 - bias - format.fraction;
  const int unit = std::max(exponent - 1 - format.fraction, lowest);
  const auto rounded = static_cast<std::uint64_t>(
      std::nearbyint(std::ldexp(std::abs(value), -unit)));
  // With the hidden bit in the exponent's lowest place, carries come out right.
  const std::uint64_t bits =
      rounded + (static_cast<std::uint64_t>(unit - lowest) << format.fraction);
  return sign | (bits > largest ? beyond : static_cast<std::uint32_t>(bits));
}

template <typename T>
T At(const void* array, Index i) {
  T value;
  std::memcpy(&value, static_cast<const T*>(array) + i, sizeof value);
  return value;
}

template <typename T>
T Saturated(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(rounded);
}

// Elements of a matrix that is `rows` by `columns` in memory, as T.
template <typename T>
std::vector<T> Converted(DataType type, const void* a, Index rows,
                         Index columns, Index ld) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) {
      out[static_cast<std::size_t>(i + j * rows)] =
          As<T>(Load(type, a, i + j * ld));
    }
  }
  return out;
}

template <typename T>
void MultiplyAs(const TypedGemm& g, Complex64 alpha, const void* a,
                const void* b, Complex64 beta, const void* c, void* d) {
  const bool turned_a = g.opa == kT || g.opa == kC;
  const bool turned_b = g.opb == kT || g.opb == kC;
  const Index rows_a = turned_a ? g.k : g.m, columns_a = turned_a ? g.m : g.k;
  const Index rows_b = turned_b ? g.n : g.k, columns_b = turned_b ? g.k : g.n;
  std::vector<T> product(static_cast<std::size_t>(g.m * g.n), T(0));
  if (g.k > 0 && alpha != Complex64(0)) {
    const std::vector<T> left = Converted<T>(g.a, a, rows_a, columns_a, g.lda);
    const std::vector<T> right = Converted<T>(g.b, b, rows_b, columns_b, g.ldb);
    Gemm<T>(g.opa, g.opb, g.m, g.n, g.k, T(1), left.data(),
            std::max<Index>(1, rows_a), right.data(),
            std::max<Index>(1, rows_b), T(0), product.data(), g.m);
  }
  const T fa = As<T>(alpha), fb = As<T>(beta);
  for (Index j = 0; j < g.n; ++j) {
    for (Index i = 0; i < g.m; ++i) {
      T value = Mul(fa, product[static_cast<std::size_t>(i + j * g.m)]);
      if (beta != Complex64(0)) {
        value += Mul(fb, As<T>(Load(g.c, c, i + j * g.ldc)));
      }
      Store(g.c, d, i + j * g.ldc, Wide(value));
    }
  }
}

// Integers wrap around as on the GPU: what does not fit 32 bits is cut.
void MultiplyIntegers(const TypedGemm& g, Complex64 alpha, const void* a,
                      const void* b, Complex64 beta, const void* c, void* d) {
  TypedGemm exact = g;
  exact.c = kR64F;
  exact.ldc = g.m;
  std::vector<double> sum(static_cast<std::size_t>(g.m * g.n));
  MultiplyAs<double>(exact, 1, a, b, 0, nullptr, sum.data());
  const auto fa = static_cast<std::uint32_t>(static_cast<Index>(alpha.real()));
  const auto fb = static_cast<std::uint32_t>(static_cast<Index>(beta.real()));
  for (Index j = 0; j < g.n; ++j) {
    for (Index i = 0; i < g.m; ++i) {
      const auto product = static_cast<std::uint32_t>(
          static_cast<Index>(sum[static_cast<std::size_t>(i + j * g.m)]));
      std::uint32_t value = fa * product;
      if (fb != 0) {
        value +=
            fb * static_cast<std::uint32_t>(At<std::int32_t>(c, i + j * g.ldc));
      }
      std::memcpy(static_cast<std::int32_t*>(d) + i + j * g.ldc, &value,
                  sizeof value);
    }
  }
}

}  // namespace

float FromHalf(std::uint16_t bits) { return Widen(kHalf, bits); }
std::uint16_t ToHalf(float value) {
  return static_cast<std::uint16_t>(Narrow(kHalf, value, false));
}
float FromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
std::uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float FromFloat8(DataType type, std::uint8_t bits) {
  return Widen(type == kR8E4M3 ? kE4M3 : kE5M2, bits);
}
std::uint8_t ToFloat8(DataType type, float value) {
  return static_cast<std::uint8_t>(
      Narrow(type == kR8E4M3 ? kE4M3 : kE5M2, value, /*saturates=*/true));
}

float FromFloat4(unsigned bits) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -kValues[bits & 7] : kValues[bits & 7];
}
unsigned ToFloat4(float value) {
  const float size = std::abs(value);
  const unsigned sign = std::signbit(value) && !std::isnan(value) ? 8 : 0;
  if (!(size < 6)) return sign | 7;
  // In units of the last place, which is 1/2 below 2, then 1, then 2.
  const int steps = size < 2 ? 0 : size < 4 ? 1 : 2;
  const auto rounded =
      static_cast<unsigned>(std::nearbyint(std::ldexp(size, 1 - steps)));
  return sign | (rounded + 2 * static_cast<unsigned>(steps));
}

namespace {
constexpr int kE8M0Bias = 127;
constexpr std::uint8_t kE8M0NaN = 255;
}  // namespace
float FromE8M0(std::uint8_t bits) {
  return bits == kE8M0NaN ? std::numeric_limits<float>::quiet_NaN()
                          : std::ldexp(1.0f, bits - kE8M0Bias);
}
std::uint8_t ToE8M0(double value) {
  if (std::isnan(value)) return kE8M0NaN;
  if (value <= 0) return 0;
  if (std::isinf(value)) return kE8M0NaN - 1;
  int exponent = 0;
  if (std::frexp(value, &exponent) == 0.5) --exponent;
  return static_cast<std::uint8_t>(
      std::clamp(exponent + kE8M0Bias, 0, kE8M0NaN - 1));
}

std::size_t BytesOf(DataType type, std::size_t count) {
  return type == kR4E2M1 ? (count + 1) / 2 : count * SizeOf(type);
}

std::size_t SizeOf(DataType type) {
  switch (type) {
    case kR8I:
    case kR8U:
    case kR8E4M3:
    case kR8E5M2: return 1;
    case kR16F:
    case kR16BF:
    case kC8I: return 2;
    case kR32F:
    case kR32I:
    case kC16F:
    case kC16BF: return 4;
    case kR64F:
    case kC32F: return 8;
    case kC64F: return 16;
    case kR4E2M1: break;
  }
  return 0;
}

bool IsComplexType(DataType type) {
  return type == kC8I || type == kC16F || type == kC16BF || type == kC32F ||
         type == kC64F;
}

DataType PartType(DataType complex) {
  switch (complex) {
    case kC64F: return kR64F;
    case kC16F: return kR16F;
    case kC16BF: return kR16BF;
    case kC8I: return kR8I;
    default: return kR32F;
  }
}

Complex64 Load(DataType type, const void* array, Index i) {
  switch (type) {
    case kR32F: return At<float>(array, i);
    case kR64F: return At<double>(array, i);
    case kR16F: return FromHalf(At<std::uint16_t>(array, i));
    case kR16BF: return FromBfloat16(At<std::uint16_t>(array, i));
    case kR8I: return At<std::int8_t>(array, i);
    case kR8U: return At<std::uint8_t>(array, i);
    case kR32I: return At<std::int32_t>(array, i);
    case kR8E4M3:
    case kR8E5M2: return FromFloat8(type, At<std::uint8_t>(array, i));
    case kR4E2M1:
      return FromFloat4(
          static_cast<unsigned>(At<std::uint8_t>(array, i / 2) >> i % 2 * 4));
    case kC32F: return {At<float>(array, 2 * i), At<float>(array, 2 * i + 1)};
    case kC64F: return {At<double>(array, 2 * i), At<double>(array, 2 * i + 1)};
    case kC8I:
      return {static_cast<double>(At<std::int8_t>(array, 2 * i)),
              static_cast<double>(At<std::int8_t>(array, 2 * i + 1))};
    case kC16F:
      return {FromHalf(At<std::uint16_t>(array, 2 * i)),
              FromHalf(At<std::uint16_t>(array, 2 * i + 1))};
    case kC16BF:
      return {FromBfloat16(At<std::uint16_t>(array, 2 * i)),
              FromBfloat16(At<std::uint16_t>(array, 2 * i + 1))};
  }
  return 0;
}

void Store(DataType type, void* array, Index i, Complex64 value) {
  const double re = value.real();
  const auto put = [&](auto number, Index at) {
    std::memcpy(
        static_cast<std::byte*>(array) + at * static_cast<Index>(sizeof number),
        &number, sizeof number);
  };
  const auto single = static_cast<float>(re);
  switch (type) {
    case kR32F: return put(single, i);
    case kR64F: return put(re, i);
    case kR16F: return put(ToHalf(single), i);
    case kR16BF: return put(ToBfloat16(single), i);
    case kR8I: return put(Saturated<std::int8_t>(re), i);
    case kR8U: return put(Saturated<std::uint8_t>(re), i);
    case kR32I: return put(Saturated<std::int32_t>(re), i);
    case kR8E4M3:
    case kR8E5M2: return put(ToFloat8(type, single), i);
    case kR4E2M1: {
      const unsigned both = At<std::uint8_t>(array, i / 2);
      const unsigned kept = both & (i % 2 != 0 ? 0x0f : 0xf0);
      return put(
          static_cast<std::uint8_t>(kept | ToFloat4(single) << i % 2 * 4),
          i / 2);
    }
    case kC32F:
      put(single, 2 * i);
      return put(static_cast<float>(value.imag()), 2 * i + 1);
    case kC64F: put(re, 2 * i); return put(value.imag(), 2 * i + 1);
    case kC8I:
      put(Saturated<std::int8_t>(re), 2 * i);
      return put(Saturated<std::int8_t>(value.imag()), 2 * i + 1);
    case kC16F:
      put(ToHalf(single), 2 * i);
      return put(ToHalf(static_cast<float>(value.imag())), 2 * i + 1);
    case kC16BF:
      put(ToBfloat16(single), 2 * i);
      return put(ToBfloat16(static_cast<float>(value.imag())), 2 * i + 1);
  }
}

ComputeType Compute(int told) {
  switch (told) {
    case kR16F: return k16F;
    case kR32F:
    case kC32F: return k32F;
    case kR64F:
    case kC64F: return k64F;
    case kR32I: return k32I;
    default: return static_cast<ComputeType>(told);
  }
}

bool IsSupported(const TypedGemm& g) {
  if (g.a != g.b) return false;
  const auto is = [&](DataType ab, DataType c) {
    return g.a == ab && g.c == c;
  };
  switch (g.compute) {
    case k16F:
    case k16FPedantic: return is(kR16F, kR16F);
    case k32I:
    case k32IPedantic: return is(kR8I, kR32I);
    case k32F:
    case k32FPedantic:
      return is(kR16BF, kR16BF) || is(kR16F, kR16F) || is(kR8I, kR32F) ||
             is(kR16BF, kR32F) || is(kR16F, kR32F) || is(kR32F, kR32F) ||
             is(kC8I, kC32F) || is(kC32F, kC32F) || is(kC16F, kC16F) ||
             is(kC16BF, kC16BF);
    case k32FFast16F:
    case k32FFast16BF:
    case k32FFastTF32:
    case k32FEmulated16BFX9: return is(kR32F, kR32F) || is(kC32F, kC32F);
    case k64F:
    case k64FPedantic:
    case k64FEmulatedFixedPoint: return is(kR64F, kR64F) || is(kC64F, kC64F);
  }
  return false;
}

DataType ScaleType(ComputeType compute, DataType c) {
  switch (compute) {
    case k16F:
    case k16FPedantic: return kR16F;
    case k32I:
    case k32IPedantic: return kR32I;
    case k64F:
    case k64FPedantic:
    case k64FEmulatedFixedPoint: return IsComplexType(c) ? kC64F : kR64F;
    default: return IsComplexType(c) ? kC32F : kR32F;
  }
}

void Multiply(const TypedGemm& g, Complex64 alpha, const void* a, const void* b,
              Complex64 beta, const void* c, void* d) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.a == kR32F && g.b == kR32F && g.c == kR32F && c == d) {
    return Gemm<float>(g.opa, g.opb, g.m, g.n, g.k, As<float>(alpha),
                       static_cast<const float*>(a), g.lda,
                       static_cast<const float*>(b), g.ldb, As<float>(beta),
                       static_cast<float*>(d), g.ldc);
  }
  switch (ScaleType(g.compute, g.c)) {
    case kR32I: return MultiplyIntegers(g, alpha, a, b, beta, c, d);
    case kR64F: return MultiplyAs<double>(g, alpha, a, b, beta, c, d);
    case kC64F: return MultiplyAs<Complex64>(g, alpha, a, b, beta, c, d);
    case kC32F: return MultiplyAs<Complex32>(g, alpha, a, b, beta, c, d);
    default: return MultiplyAs<float>(g, alpha, a, b, beta, c, d);
  }
}

}  // namespace cerberus::libraries::cublas
