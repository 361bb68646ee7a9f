#include "tests/exec/soft_float.h"

#include <gmp.h>

namespace cerberus::exec {

using Top = FloatFormat::Top;

const FloatFormat kF16{5, 10, 15, Top::kIeee, 0};
const FloatFormat kBF16{8, 7, 127, Top::kIeee, 0};
const FloatFormat kTF32{8, 10, 127, Top::kIeee, 13};
const FloatFormat kF32{8, 23, 127, Top::kIeee, 0};
const FloatFormat kF64{11, 52, 1023, Top::kIeee, 0};
const FloatFormat kE4M3{4, 3, 7, Top::kNanOnly, 0};
const FloatFormat kE5M2{5, 2, 15, Top::kIeee, 0};
const FloatFormat kE2M3{2, 3, 1, Top::kFinite, 0};
const FloatFormat kE3M2{3, 2, 3, Top::kFinite, 0};
const FloatFormat kE2M1{2, 1, 1, Top::kFinite, 0};

namespace {

std::uint64_t Ones(int bits) { return (1ull << bits) - 1; }

std::uint64_t Magnitude(const FloatFormat& f, std::uint64_t bits) {
  return (bits & (f.SignBit() - 1)) >> f.low_zero_bits;
}

// The largest unbiased exponent of a finite number.
int MaxExponent(const FloatFormat& f) {
  return static_cast<int>(Ones(f.exponent_bits)) - f.bias -
         (f.top == Top::kIeee ? 1 : 0);
}

mpfr_rnd_t ToMpfr(Round round) {
  switch (round) {
    case Round::kNearestEven: return MPFR_RNDN;
    case Round::kZero: return MPFR_RNDZ;
    case Round::kDown: return MPFR_RNDD;
    case Round::kUp: return MPFR_RNDU;
    case Round::kNearestAway: break;  // handled by the caller
  }
  return MPFR_RNDN;
}

// The bits of a number that fits the format exactly.
std::uint64_t Encode(const FloatFormat& f, mpfr_srcptr value) {
  const std::uint64_t sign = mpfr_signbit(value) ? f.SignBit() : 0;
  if (mpfr_nan_p(value)) return f.CanonicalNan();
  if (mpfr_inf_p(value)) {
    return sign | (f.top == Top::kIeee ? f.Infinity() : f.MaxFinite());
  }
  if (mpfr_zero_p(value)) return sign;
  int exponent = static_cast<int>(mpfr_get_exp(value)) - 1;
  const int least = 1 - f.bias;
  if (exponent > MaxExponent(f)) return sign | f.MaxFinite();
  const bool normal = exponent >= least;
  if (!normal) exponent = least;
  Mp scaled(128);
  mpfr_abs(scaled.get(), value, MPFR_RNDN);
  mpfr_mul_2si(scaled.get(), scaled.get(), f.mantissa_bits - exponent,
               MPFR_RNDN);
  std::uint64_t mantissa = mpfr_get_ui(scaled.get(), MPFR_RNDN);
  std::uint64_t bits = normal ? (static_cast<std::uint64_t>(exponent + f.bias)
                                 << f.mantissa_bits) |
                                    (mantissa & Ones(f.mantissa_bits))
                              : mantissa;
  if (f.top == Top::kNanOnly && (bits << f.low_zero_bits) > f.MaxFinite()) {
    bits = f.MaxFinite() >> f.low_zero_bits;
  }
  return sign | (bits << f.low_zero_bits);
}

}  // namespace

std::uint64_t FloatFormat::MaxFinite() const {
  std::uint64_t top_bits = Ones(exponent_bits + mantissa_bits);
  if (top == Top::kIeee) top_bits = Infinity() / (1ull << low_zero_bits) - 1;
  if (top == Top::kNanOnly) top_bits -= 1;
  return top_bits << low_zero_bits;
}
std::uint64_t FloatFormat::Infinity() const {
  return Ones(exponent_bits) << (mantissa_bits + low_zero_bits);
}
std::uint64_t FloatFormat::CanonicalNan() const {
  return Ones(exponent_bits + mantissa_bits) << low_zero_bits;
}
bool FloatFormat::IsNan(std::uint64_t bits) const {
  const std::uint64_t magnitude = Magnitude(*this, bits);
  if (top == Top::kFinite) return false;
  if (top == Top::kNanOnly) {
    return magnitude == Ones(exponent_bits + mantissa_bits);
  }
  return (bits & (SignBit() - 1)) > Infinity();
}
bool FloatFormat::IsInf(std::uint64_t bits) const {
  return top == Top::kIeee && (bits & (SignBit() - 1)) == Infinity();
}
bool FloatFormat::IsZero(std::uint64_t bits) const {
  return (bits & (SignBit() - 1)) == 0;
}
bool FloatFormat::IsSubnormal(std::uint64_t bits) const {
  const std::uint64_t magnitude = Magnitude(*this, bits);
  return magnitude != 0 && magnitude <= Ones(mantissa_bits);
}
std::uint64_t FloatFormat::Flush(std::uint64_t bits) const {
  return IsSubnormal(bits) ? bits & SignBit() : bits;
}

Mp::Mp(const FloatFormat& format, std::uint64_t bits) {
  mpfr_init2(value_, 64);
  const bool negative = (bits & format.SignBit()) != 0;
  if (format.IsNan(bits)) {
    mpfr_set_nan(value_);
    return;
  }
  if (format.IsInf(bits)) {
    mpfr_set_inf(value_, negative ? -1 : 1);
    return;
  }
  const std::uint64_t magnitude = Magnitude(format, bits);
  std::uint64_t exponent = magnitude >> format.mantissa_bits;
  std::uint64_t mantissa = magnitude & Ones(format.mantissa_bits);
  if (exponent != 0) {
    mantissa |= 1ull << format.mantissa_bits;
  } else {
    exponent = 1;
  }
  mpfr_set_ui(value_, mantissa, MPFR_RNDN);
  mpfr_mul_2si(value_, value_,
               static_cast<long>(exponent) - format.bias - format.mantissa_bits,
               MPFR_RNDN);
  mpfr_setsign(value_, value_, negative, MPFR_RNDN);
}

std::uint64_t RoundTo(const FloatFormat& format, Round round,
                      const std::function<int(mpfr_ptr, mpfr_rnd_t)>& compute) {
  if (round == Round::kNearestAway) {
    // Ties away: take the value far beyond the precision, truncate it, and
    // step away from zero if what was cut is at least half a unit.
    Mp wide(512);
    compute(wide.get(), MPFR_RNDZ);
    return RoundTo(format, round, wide);
  }
  const mpfr_exp_t old_min = mpfr_get_emin();
  const mpfr_exp_t old_max = mpfr_get_emax();
  Mp result(format.mantissa_bits + 1);
  const mpfr_rnd_t rnd = ToMpfr(round);
  int ternary = compute(result.get(), rnd);
  // MPFR's mantissa is in [1/2, 1), so its exponents are ours plus one.
  mpfr_set_emin(2 - format.bias - format.mantissa_bits);
  mpfr_set_emax(MaxExponent(format) + 1);
  ternary = mpfr_check_range(result.get(), ternary, rnd);
  mpfr_subnormalize(result.get(), ternary, rnd);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  return Encode(format, result.get());
}

std::uint64_t RoundTo(const FloatFormat& format, Round round, const Mp& value) {
  if (round != Round::kNearestAway) {
    return RoundTo(format, round, [&](mpfr_ptr r, mpfr_rnd_t rnd) {
      return mpfr_set(r, value.get(), rnd);
    });
  }
  const std::uint64_t down = RoundTo(format, Round::kZero, value);
  if (mpfr_nan_p(value.get()) || format.IsInf(down)) return down;
  const Mp low(format, down);
  const std::uint64_t next = down + (1ull << format.low_zero_bits);
  if (down % format.SignBit() == format.MaxFinite()) {
    // Half a unit above the largest number lies the step to infinity.
    Mp limit(format, down - (1ull << format.low_zero_bits));
    Mp half(512);
    mpfr_sub(half.get(), low.get(), limit.get(), MPFR_RNDN);
    mpfr_div_2ui(half.get(), half.get(), 1, MPFR_RNDN);
    mpfr_add(half.get(), low.get(), half.get(), MPFR_RNDN);
    return mpfr_cmpabs(value.get(), half.get()) >= 0 ? next : down;
  }
  const Mp high(format, next);
  Mp middle(512);
  mpfr_add(middle.get(), low.get(), high.get(), MPFR_RNDN);
  mpfr_div_2ui(middle.get(), middle.get(), 1, MPFR_RNDN);
  return mpfr_cmpabs(value.get(), middle.get()) >= 0 ? next : down;
}

namespace {

using BinaryOp = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

std::uint64_t Binary(const FloatFormat& f, Round r, BinaryOp op,
                     std::uint64_t a, std::uint64_t b) {
  const Mp x(f, a), y(f, b);
  return RoundTo(f, r, [&](mpfr_ptr d, mpfr_rnd_t rnd) {
    return op(d, x.get(), y.get(), rnd);
  });
}

}  // namespace

std::uint64_t Add(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b) {
  return Binary(f, r, mpfr_add, a, b);
}
std::uint64_t Sub(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b) {
  return Binary(f, r, mpfr_sub, a, b);
}
std::uint64_t Mul(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b) {
  return Binary(f, r, mpfr_mul, a, b);
}
std::uint64_t Div(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b) {
  return Binary(f, r, mpfr_div, a, b);
}
std::uint64_t Fma(const FloatFormat& f, Round r, std::uint64_t a,
                  std::uint64_t b, std::uint64_t c) {
  const Mp x(f, a), y(f, b), z(f, c);
  return RoundTo(f, r, [&](mpfr_ptr d, mpfr_rnd_t rnd) {
    return mpfr_fma(d, x.get(), y.get(), z.get(), rnd);
  });
}
std::uint64_t Sqrt(const FloatFormat& f, Round r, std::uint64_t a) {
  const Mp x(f, a);
  return RoundTo(f, r, [&](mpfr_ptr d, mpfr_rnd_t rnd) {
    return mpfr_sqrt(d, x.get(), rnd);
  });
}

std::uint64_t Convert(const FloatFormat& to, Round r, const FloatFormat& from,
                      std::uint64_t bits) {
  return RoundTo(to, r, Mp(from, bits));
}

std::uint64_t UlpDistance(const FloatFormat& format, std::uint64_t a,
                          std::uint64_t b) {
  const auto order = [&](std::uint64_t bits) -> std::int64_t {
    const std::int64_t magnitude =
        static_cast<std::int64_t>(Magnitude(format, bits));
    return (bits & format.SignBit()) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t d = order(a) - order(b);
  return static_cast<std::uint64_t>(d < 0 ? -d : d);
}

double ToDouble(const FloatFormat& format, std::uint64_t bits) {
  return mpfr_get_d(Mp(format, bits).get(), MPFR_RNDN);
}

}  // namespace cerberus::exec
