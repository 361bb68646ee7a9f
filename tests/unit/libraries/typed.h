// Arrays of types that are told at run time.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_TYPED_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_TYPED_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/small_float.h"

namespace cerberus::libraries::tests {

// cudaDataType.
inline constexpr int kR32 = 0, kR64 = 1, kR16 = 2, kI8 = 3, kC32 = 4, kC64 = 5,
                     kC16 = 6, kCI8 = 7, kI32 = 10, kB16 = 14, kCB16 = 15;
using Bytes = std::vector<std::uint8_t>;

inline bool IsComplexType(int type) {
  return type == kC32 || type == kC64 || type == kC16 || type == kCI8 ||
         type == kCB16;
}
inline int PartOf(int type) {
  switch (type) {
    case kC32: return kR32;
    case kC64: return kR64;
    case kC16: return kR16;
    case kCI8: return kI8;
    case kCB16: return kB16;
    default: return type;
  }
}
template <typename N>
void Append(N number, Bytes* to) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&number);
  to->insert(to->end(), first, first + sizeof number);
}
inline void AppendPart(int type, double value, Bytes* to) {
  switch (type) {
    case kR32: return Append(static_cast<float>(value), to);
    case kR64: return Append(value, to);
    case kR16:
      return Append(static_cast<std::uint16_t>(Binary16().Round(value, false)),
                    to);
    case kB16:
      return Append(static_cast<std::uint16_t>(Bfloat16().Round(value, false)),
                    to);
    case kI8: return Append(static_cast<std::int8_t>(value), to);
    default: return Append(static_cast<std::int32_t>(value), to);
  }
}
inline Bytes Encoded(int type, const std::vector<Complex64>& values) {
  Bytes out;
  for (const Complex64& value : values) {
    AppendPart(PartOf(type), value.real(), &out);
    if (IsComplexType(type)) AppendPart(PartOf(type), value.imag(), &out);
  }
  return out;
}
inline std::size_t SizeOf(int type) { return Encoded(type, {0}).size(); }

// Values that all types have: integers of at most `most`.
inline std::vector<Complex64> Integers(Numbers& numbers, int type,
                                       std::size_t n, double most = 8) {
  std::vector<Complex64> out(n);
  for (Complex64& value : out) {
    const double re = std::round(numbers.Next() * most / 2);
    const double im = std::round(numbers.Next() * most / 2);
    value = {re, IsComplexType(type) ? im : 0};
  }
  return out;
}
inline InOut<std::uint8_t> Passed(Bytes& bytes) {
  return InOut(bytes.data(), bytes.size());
}
inline int RealType(int type) {
  return IsComplexType(type) ? PartOf(type) : type;
}

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_TYPED_H_
