#include "tests/exec/matrix_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace cerberus::exec {
namespace {

using ptx::Type;

// Wide enough for every product and sum here.
using Wide = __float128;

Wide Magnitude(Wide v) { return v < 0 ? -v : v; }

Mp ToMp(Wide v) {
  Mp result;
  const double high = static_cast<double>(v);
  const double low = static_cast<double>(v - static_cast<Wide>(high));
  mpfr_set_d(result.get(), high, MPFR_RNDN);
  mpfr_add_d(result.get(), result.get(), low, MPFR_RNDN);
  return result;
}

std::int64_t IntegerOf(Type type, Code code) {
  switch (type) {
    case Type::kS8: return static_cast<std::int8_t>(code);
    case Type::kS4: return static_cast<std::int64_t>(code << 60) >> 60;
    case Type::kS32: return static_cast<std::int32_t>(code);
    default: return static_cast<std::int64_t>(code);
  }
}

double NumberOf(Type type, Code code) {
  if (type == Type::kTF32) code &= ~Code{0x1fff};
  return ToDouble(FormatOf(type), code);
}

std::string Complain(int row, int column, double got, const std::string& want) {
  char text[160];
  std::snprintf(text, sizeof text, "D[%d][%d] is %.17g, want %s", row, column,
                got, want.c_str());
  return text;
}

std::string CheckInteger(const Matrix& a, const Matrix& b, const Matrix& c,
                         const Matrix& d, const ProductRules& rules) {
  for (int i = 0; i < d.rows; ++i) {
    for (int j = 0; j < d.columns; ++j) {
      std::int64_t sum = IntegerOf(Type::kS32, c.at(i, j));
      for (int k = 0; k < a.columns; ++k) {
        if (a.type == Type::kB1) {
          sum += static_cast<std::int64_t>(rules.xor_popc
                                               ? a.at(i, k) ^ b.at(k, j)
                                               : a.at(i, k) & b.at(k, j));
        } else {
          sum += IntegerOf(a.type, a.at(i, k)) * IntegerOf(b.type, b.at(k, j));
        }
      }
      if (rules.satfinite) {
        sum = std::min<std::int64_t>(sum, std::numeric_limits<int>::max());
        sum = std::max<std::int64_t>(sum, std::numeric_limits<int>::min());
      }
      const auto want = static_cast<std::int32_t>(sum);
      const auto got = static_cast<std::int32_t>(d.at(i, j));
      if (got != want) return Complain(i, j, got, std::to_string(want));
    }
  }
  return "";
}

std::string CheckFloat(const Matrix& a, const Matrix& b, const Matrix& c,
                       const Matrix& d, const ProductRules& rules, Data data) {
  const FloatFormat& format = FormatOf(rules.result);
  const bool f64 = rules.result == Type::kF64;
  const std::size_t blocks =
      rules.scale_a.empty() ? 1 : rules.scale_a[0].size();
  const int block_size = a.columns / static_cast<int>(blocks);
  for (int i = 0; i < d.rows; ++i) {
    for (int j = 0; j < d.columns; ++j) {
      Wide sum = 0;
      Wide size = 0;
      bool nan = false, up = false, down = false;
      const auto add = [&](double x, double y, double factor) {
        const double product = x * y * (factor == 0 ? 1 : factor);
        if (std::isnan(x) || std::isnan(y) || std::isnan(factor) ||
            (std::isinf(x) && y == 0) || (x == 0 && std::isinf(y))) {
          nan = true;
        } else if (std::isinf(x) || std::isinf(y)) {
          (product > 0 ? up : down) = true;
        } else {
          const Wide exact = static_cast<Wide>(x) * static_cast<Wide>(y) *
                             static_cast<Wide>(factor);
          sum += exact;
          size += Magnitude(exact);
        }
      };
      add(NumberOf(c.type, c.at(i, j)), 1, 1);
      for (int k = 0; k < a.columns; ++k) {
        double factor = 1;
        if (!rules.scale_a.empty()) {
          const auto block = static_cast<std::size_t>(k / block_size);
          factor = rules.scale_a[static_cast<std::size_t>(i)][block] *
                   rules.scale_b[static_cast<std::size_t>(j)][block];
        }
        add(NumberOf(a.type, a.at(i, k)), NumberOf(b.type, b.at(k, j)), factor);
      }
      nan = nan || (up && down);
      const Code got = d.at(i, j);
      const double got_number = ToDouble(format, got);
      if (nan || up || down) {
        double want = nan  ? std::numeric_limits<double>::quiet_NaN()
                      : up ? std::numeric_limits<double>::infinity()
                           : -std::numeric_limits<double>::infinity();
        if (rules.satfinite) {
          const double largest = ToDouble(format, format.MaxFinite());
          want = nan ? 0 : up ? largest : -largest;
        }
        const bool same =
            std::isnan(want) ? std::isnan(got_number) : got_number == want;
        if (!same) return Complain(i, j, got_number, std::to_string(want));
        continue;
      }
      // Every step may be wrong by half a place of a partial sum, which the
      // sum of magnitudes bounds; below the normal numbers by half a unit.
      Wide error = 0;
      if (data != Data::kSmall) {
        const double steps = a.columns + 2;
        error = size * static_cast<Wide>(steps * (f64 ? 0x1p-53 : 0x1p-24)) +
                static_cast<Wide>(steps * (f64 ? 0x1p-1074 : 0x1p-149));
      }
      // Directed rounding in every step keeps to its side.
      const bool directed =
          rules.rounding == Round::kDown || rules.rounding == Round::kUp;
      if (f64 && rules.rounding != Round::kNearestEven) error *= 2;
      const Wide below = directed && rules.rounding == Round::kUp ? 0 : error;
      const Wide above = directed && rules.rounding == Round::kDown ? 0 : error;
      const Round last = f64 ? rules.rounding : Round::kNearestEven;
      Code low = RoundTo(format, last, ToMp(sum - below));
      Code high = RoundTo(format, last, ToMp(sum + above));
      double low_number = ToDouble(format, low);
      double high_number = ToDouble(format, high);
      if (rules.satfinite) {
        const double largest = ToDouble(format, format.MaxFinite());
        low_number = std::max(low_number, -largest);
        high_number = std::min(high_number, largest);
        low_number = std::min(low_number, largest);
        high_number = std::max(high_number, -largest);
      }
      if (!(low_number <= got_number && got_number <= high_number)) {
        char want[96];
        std::snprintf(want, sizeof want, "%.17g to %.17g", low_number,
                      high_number);
        return Complain(i, j, got_number, want);
      }
    }
  }
  return "";
}

}  // namespace

bool IsFloatElement(Type type) {
  switch (type) {
    case Type::kS32:
    case Type::kS8:
    case Type::kU8:
    case Type::kS4:
    case Type::kU4:
    case Type::kB1: return false;
    default: return true;
  }
}

const FloatFormat& FormatOf(Type type) {
  switch (type) {
    case Type::kF16: return kF16;
    case Type::kBF16: return kBF16;
    case Type::kTF32: return kTF32;
    case Type::kF64: return kF64;
    case Type::kE4M3: return kE4M3;
    case Type::kE5M2: return kE5M2;
    case Type::kE3M2: return kE3M2;
    case Type::kE2M3: return kE2M3;
    case Type::kE2M1: return kE2M1;
    default: return kF32;
  }
}

Code RandomElement(Type type, Data data, std::mt19937_64& random) {
  if (!IsFloatElement(type)) {
    if (type == Type::kS32) {
      const std::int32_t extremes[] = {std::numeric_limits<int>::max(),
                                       std::numeric_limits<int>::min(), 0, -1};
      if (data == Data::kEdges) {
        return static_cast<std::uint32_t>(
            extremes[random() % 4] +
            static_cast<std::int32_t>(random() % 2 == 0 ? 0 : random() % 1000));
      }
      return static_cast<std::uint32_t>(random() % 2001 - 1000);
    }
    const Code mask = (Code{1} << ptx::BitsOf(type)) - 1;
    if (data == Data::kEdges && random() % 2 == 0) {
      // Extremes of both signs, so that sums are large.
      return (random() % 2 == 0 ? mask : (mask >> 1) + random() % 2) & mask;
    }
    return random() & mask;
  }
  const FloatFormat& format = FormatOf(type);
  const Code sign = random() % 2 == 0 ? format.SignBit() : 0;
  if (data == Data::kSmall) {
    Mp value;
    mpfr_set_si(value.get(), static_cast<long>(random() % 3), MPFR_RNDN);
    return sign | RoundTo(format, Round::kNearestEven, value);
  }
  const bool narrow = format.exponent_bits < 8;
  if (data == Data::kEdges) {
    const std::uint64_t pick = random() % 256;
    if (pick < 2 && format.top == FloatFormat::Top::kIeee) {
      return sign | format.Infinity();
    }
    if (pick == 2 && format.top != FloatFormat::Top::kFinite) {
      return sign | format.CanonicalNan();
    }
    if (pick < 32) return sign;
    if (pick < 64) {
      // A subnormal.
      return sign | (Code{1} << format.low_zero_bits
                             << (random() %
                                 static_cast<unsigned>(format.mantissa_bits)));
    }
    if (pick < 96 && narrow) return sign | format.MaxFinite();
  }
  if (narrow && type != Type::kF16) {
    for (;;) {
      const Code code = random() & ((Code{1} << format.storage_bits()) - 1);
      if (!format.IsNan(code) && !format.IsInf(code)) return code;
    }
  }
  const int range = narrow ? 6 : 20;
  const double number = std::ldexp(
      1 + static_cast<double>(random() >> 12) * 0x1p-52,
      static_cast<int>(random() % static_cast<unsigned>(2 * range)) - range);
  Mp value;
  mpfr_set_d(value.get(), number, MPFR_RNDN);
  Code code = sign | RoundTo(format, Round::kNearestEven, value);
  // The lower bits of a tf32 take no part.
  if (type == Type::kTF32) code |= random() & 0x1fff;
  return code;
}

void Fill(Matrix& matrix, Data data, std::mt19937_64& random) {
  for (Code& code : matrix.codes) {
    code = RandomElement(matrix.type, data, random);
  }
}

std::string CheckProduct(const Matrix& a, const Matrix& b, const Matrix& c,
                         const Matrix& d, const ProductRules& rules,
                         Data data) {
  return IsFloatElement(rules.result) ? CheckFloat(a, b, c, d, rules, data)
                                      : CheckInteger(a, b, c, d, rules);
}

}  // namespace cerberus::exec
