// IEEE arithmetic of any small format, by MPFR: the expectation that the
// execution tests hold ptxc and the emulator against. It shares nothing with
// either: every operation is computed in MPFR at the format's precision and
// exponent range and rounded once.
#ifndef CERBERUS_TESTS_EXEC_SOFT_FLOAT_H_
#define CERBERUS_TESTS_EXEC_SOFT_FLOAT_H_

#include <mpfr.h>

#include <cstdint>
#include <functional>

#include "tests/exec/value.h"

namespace cerberus::exec {

enum class Round { kNearestEven, kZero, kDown, kUp, kNearestAway };

// A binary floating-point format; the sign is the bit above the exponent.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;  // stored
  int bias;
  // What the largest exponent means.
  enum class Top {
    kIeee,     // infinities and NaNs
    kNanOnly,  // e4m3: numbers, and NaN where all mantissa bits are set
    kFinite,   // e2m3, e3m2, e2m1: numbers only
  } top;
  int low_zero_bits;  // tf32: bits below the mantissa, kept zero

  int storage_bits() const {
    return 1 + exponent_bits + mantissa_bits + low_zero_bits;
  }
  std::uint64_t MaxFinite() const;  // without the sign
  std::uint64_t Infinity() const;   // kIeee only
  std::uint64_t CanonicalNan() const;
  std::uint64_t SignBit() const { return 1ull << (storage_bits() - 1); }
  bool IsNan(std::uint64_t bits) const;
  bool IsInf(std::uint64_t bits) const;
  bool IsSubnormal(std::uint64_t bits) const;
  bool IsZero(std::uint64_t bits) const;
  // The same sign, magnitude zero, if `bits` is subnormal (.ftz).
  std::uint64_t Flush(std::uint64_t bits) const;
};

extern const FloatFormat kF16, kBF16, kTF32, kF32, kF64, kE4M3, kE5M2, kE2M3,
    kE3M2, kE2M1;

// An MPFR number that frees itself.
class Mp {
 public:
  explicit Mp(int precision = 256) { mpfr_init2(value_, precision); }
  Mp(const FloatFormat& format, std::uint64_t bits);  // exact
  Mp(const Mp& other) {
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Mp& operator=(const Mp&) = delete;
  ~Mp() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

// Rounds the result of `compute(result, rounding)`, which is called with a
// number of the format's precision and returns MPFR's ternary value, into
// the format. Overflow goes to infinity or the largest number as the
// rounding says; formats without infinity saturate (`overflowed` tells).
std::uint64_t RoundTo(const FloatFormat& format, Round round,
                      const std::function<int(mpfr_ptr, mpfr_rnd_t)>& compute);

// Rounds a number known exactly (or far beyond the format's precision).
std::uint64_t RoundTo(const FloatFormat& format, Round round, const Mp& value);

std::uint64_t Add(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b);
std::uint64_t Sub(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b);
std::uint64_t Mul(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b);
std::uint64_t Div(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b);
std::uint64_t Fma(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b, std::uint64_t c);
std::uint64_t Sqrt(const FloatFormat& f, Round r, std::uint64_t a);

// From one format to another.
std::uint64_t Convert(const FloatFormat& to, Round r, const FloatFormat& from,
                      std::uint64_t bits);

// Distance in units of the last place between two finite numbers of one
// sign or around zero.
std::uint64_t UlpDistance(const FloatFormat& format, std::uint64_t a,
                          std::uint64_t b);
double ToDouble(const FloatFormat& format, std::uint64_t bits);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_SOFT_FLOAT_H_
