// Floats of 8 and 16 bits by a table of all their values: rounding is a search
// for the nearest.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_SMALL_FLOAT_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_SMALL_FLOAT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace cerberus::libraries::tests {

class SmallFloat {
 public:
  // With `infinities` the highest exponent is theirs and NaN's, else only its
  // last fraction is NaN (OCP's E4M3).
  SmallFloat(int exponent, int fraction, bool infinities)
      : bits_(1 + exponent + fraction), infinities_(infinities) {
    const int bias = (1 << (exponent - 1)) - 1;
    const std::uint32_t half = 1u << (exponent + fraction);
    for (std::uint32_t bits = 0; bits < half; ++bits) {
      const int power = static_cast<int>(bits >> fraction);
      const double part = std::ldexp(bits & ((1u << fraction) - 1), -fraction);
      const bool top = power == (1 << exponent) - 1;
      if (top && (infinities || part == 1 - std::ldexp(1, -fraction))) break;
      values_.push_back(power == 0 ? std::ldexp(part, 1 - bias)
                                   : std::ldexp(1 + part, power - bias));
    }
  }

  std::uint32_t sign() const { return 1u << (bits_ - 1); }
  std::uint32_t largest() const {
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  double Decode(std::uint32_t bits) const {
    const double factor = (bits & sign()) != 0 ? -1 : 1;
    const std::uint32_t rest = bits & (sign() - 1);
    if (rest < values_.size()) return factor * values_[rest];
    return infinities_ && rest == values_.size()
               ? factor * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  }
  // Of a number. To the nearest, ties to that with an even fraction; beyond the
  // largest, infinite or `saturated`.
  std::uint32_t Round(double value, bool saturated) const {
    const std::uint32_t negative = std::signbit(value) ? sign() : 0;
    const double size = std::abs(value);
    const double last = values_.back();
    const double beyond = last + (last - values_[values_.size() - 2]);
    if (size > last) {
      // `beyond` would have an even fraction.
      const bool over = std::isinf(size) || size >= (last + beyond) / 2;
      return negative | (over && !saturated ? largest() + 1 : largest());
    }
    const auto above = static_cast<std::uint32_t>(
        std::lower_bound(values_.begin(), values_.end(), size) -
        values_.begin());
    if (values_[above] == size) return negative | above;
    const double up = values_[above] - size, down = size - values_[above - 1];
    if (up == down) return negative | (above % 2 == 0 ? above : above - 1);
    return negative | (up < down ? above : above - 1);
  }

 private:
  const int bits_;
  const bool infinities_;
  std::vector<double> values_;  // not negative, by their bits
};

inline const SmallFloat& Binary16() {
  static const SmallFloat format(5, 10, true);
  return format;
}
inline const SmallFloat& Bfloat16() {
  static const SmallFloat format(8, 7, true);
  return format;
}

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_SMALL_FLOAT_H_
