// PTX ISA 9.0, "Floating Point Instructions", "Half Precision Floating Point
// Instructions" and "Mixed Precision Floating Point Instructions".
#include <cmath>

#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

using Bits = std::uint64_t;
using Compute = std::function<int(mpfr_ptr, mpfr_rnd_t)>;

// What .ftz, .sat and .relu do to a result that was rounded once.
struct Finish {
  bool ftz, sat, relu;

  Bits Apply(const FloatFormat& f, Bits bits) const {
    if (ftz) bits = f.Flush(bits);
    if (sat) {
      const Bits one = static_cast<Bits>(f.bias)
                       << (f.mantissa_bits + f.low_zero_bits);
      if (f.IsNan(bits) || (bits & f.SignBit()) != 0) return 0;
      if (bits > one) return one;
    }
    if (relu && !f.IsNan(bits) && (bits & f.SignBit()) != 0) return 0;
    return bits;
  }
};

Finish FinishOf(const Spelling& s) {
  // PTX ISA, "mad": without a rounding it is sm_1x's, which has no subnormals.
  const bool old = s.opcode() == "mad" && s.Has("f32") &&
                   s.OneOf({"rn", "rz", "rm", "rp"}).empty();
  return {old || s.Has("ftz"), s.Has("sat"), s.Has("relu")};
}

bool StartsSubnormal(const FloatFormat& f, Round round,
                     const Compute& compute) {
  // Is the exact result below the least normal number? Truncated to the
  // format it then is subnormal (or zero).
  const Bits down = RoundTo(f, Round::kZero, compute);
  return round != Round::kZero && (f.IsSubnormal(down) || f.IsZero(down));
}

// Applies `fn` to the elements of packed operands; elements of types other
// than the result's are not packed (mixed precision).
ValueTest Arithmetic(
    const Spelling& s, PtxType type, const std::vector<PtxType>& in,
    const std::function<Compute(const std::vector<Mp>&)>& operation) {
  const Finish finish = FinishOf(s);
  const Round round = RoundingOf(s);
  const FloatFormat& f = FormatOf(type);
  return Simple(type, in, [=, &f](In v) {
    Want want = Exact(0);
    const int bits = type.element_bits();
    for (int e = 0; e < type.elements; ++e) {
      std::vector<Mp> numbers;
      for (std::size_t i = 0; i < v.size(); ++i) {
        const FloatFormat& fi = FormatOf(in[i]);
        const int width = in[i].element_bits();
        Bits x = Low(Truncate(v[i] >> (e * width), width));
        if (finish.ftz) x = fi.Flush(x);
        numbers.emplace_back(fi, x);
      }
      const Compute compute = operation(numbers);
      const Bits rounded = RoundTo(f, round, compute);
      const Bits result = finish.Apply(f, rounded);
      Bits other = result;
      if (finish.ftz && StartsSubnormal(f, round, compute)) {
        // Whether a result that rounds up to the least normal number is
        // flushed depends on when tininess is seen; both are accepted.
        other = finish.sat ? 0 : rounded & f.SignBit();
      }
      if (other != result) want.match = Want::Match::kEither;
      want.bits |= static_cast<Value>(result) << (e * bits);
      want.other |= static_cast<Value>(other) << (e * bits);
    }
    return want;
  });
}

Compute AddOf(const std::vector<Mp>& n) {
  return [n](mpfr_ptr d, mpfr_rnd_t r) {
    return mpfr_add(d, n[0].get(), n[1].get(), r);
  };
}
Compute SubOf(const std::vector<Mp>& n) {
  return [n](mpfr_ptr d, mpfr_rnd_t r) {
    return mpfr_sub(d, n[0].get(), n[1].get(), r);
  };
}
Compute MulOf(const std::vector<Mp>& n) {
  return [n](mpfr_ptr d, mpfr_rnd_t r) {
    return mpfr_mul(d, n[0].get(), n[1].get(), r);
  };
}
Compute DivOf(const std::vector<Mp>& n) {
  return [n](mpfr_ptr d, mpfr_rnd_t r) {
    return mpfr_div(d, n[0].get(), n[1].get(), r);
  };
}
Compute FmaOf(const std::vector<Mp>& n) {
  return [n](mpfr_ptr d, mpfr_rnd_t r) {
    return mpfr_fma(d, n[0].get(), n[1].get(), n[2].get(), r);
  };
}

Tests Rounded(const Spelling& s) {
  const std::string_view op = s.opcode();
  const PtxType t = s.type();
  if (op == "add" || op == "sub") {
    const PtxType a = s.types().size() == 2 ? s.type(1) : t;
    return {Arithmetic(s, t, {a, t}, op == "add" ? AddOf : SubOf)};
  }
  if (op == "mul") return {Arithmetic(s, t, {t, t}, MulOf)};
  if (op == "fma" || op == "mad") {
    const PtxType a = s.types().size() == 2 ? s.type(1) : t;
    ValueTest test = Arithmetic(s, t, {a, a, t}, FmaOf);
    if (s.Has("oob")) {
      // Some NaN stands for "out of bounds" and gives zero; which one only
      // the hardware that makes it knows.
      test.expect = [t, plain = test.expect](In v) {
        const FloatFormat& f = FormatOf(t);
        for (const Value operand : v) {
          for (int e = 0; e < t.elements; ++e) {
            if (f.IsNan(Low(Truncate(operand >> (e * t.element_bits()),
                                     t.element_bits())))) {
              return std::vector<Want>{Any()};
            }
          }
        }
        return plain(v);
      };
    }
    return {test};
  }
  if (op == "div") return {Arithmetic(s, t, {t, t}, DivOf)};
  if (op == "rcp") {
    return {Arithmetic(s, t, {t}, [](const std::vector<Mp>& n) -> Compute {
      return [n](mpfr_ptr d, mpfr_rnd_t r) {
        return mpfr_ui_div(d, 1, n[0].get(), r);
      };
    })};
  }
  if (op == "sqrt") {
    return {Arithmetic(s, t, {t}, [](const std::vector<Mp>& n) -> Compute {
      return
          [n](mpfr_ptr d, mpfr_rnd_t r) { return mpfr_sqrt(d, n[0].get(), r); };
    })};
  }
  return {};
}

int RsqrtOf(mpfr_ptr d, mpfr_srcptr x, mpfr_rnd_t r) {
  if (mpfr_zero_p(x)) {  // MPFR gives +inf for both zeros
    mpfr_set_inf(d, mpfr_signbit(x) ? -1 : 1);
    return 0;
  }
  return mpfr_rec_sqrt(d, x, r);
}
int RcpOf(mpfr_ptr d, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_ui_div(d, 1, x, r);
}

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

int SinOfTurns(mpfr_ptr d, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_sinu(d, x, 1, r);
}
int CosOfTurns(mpfr_ptr d, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_cosu(d, x, 1, r);
}

// An approximation of one operand: the exact value within the manual's bound.
ValueTest Approximate(
    const Spelling& s, PtxType t, Function function,
    const std::function<Want(const FloatFormat&, Bits in, Bits exact)>& bound) {
  const bool ftz = s.Has("ftz");
  const FloatFormat& f = FormatOf(t);
  return Simple(t, {t}, [=, &f](In v) {
    Want all = Exact(0);
    const int bits = t.element_bits();
    for (int e = 0; e < t.elements; ++e) {
      Bits x = Low(Truncate(v[0] >> (e * bits), bits));
      if (ftz) x = f.Flush(x);
      const Mp number(f, x);
      Bits exact =
          RoundTo(f, Round::kNearestEven, [&](mpfr_ptr d, mpfr_rnd_t r) {
            return function(d, number.get(), r);
          });
      if (ftz) exact = f.Flush(exact);
      // The .f64 forms with .ftz keep the upper 32 bits only.
      if (ftz && bits == 64) exact &= ~Bits{0xffffffff};
      const Want want = bound(f, x, exact);
      if (want.match == Want::Match::kAny) return Any();
      all.match = want.match;
      all.tolerance = want.tolerance;
      all.bits |= static_cast<Value>(exact) << (e * bits);
    }
    return all;
  });
}

Want Ulps(double n) { return {Want::Match::kUlps, 0, 0, n}; }
Want Absolute(double d) { return {Want::Match::kAbsolute, 0, 0, d}; }
Want Relative(double d) { return {Want::Match::kRelative, 0, 0, d}; }

Tests Approximations(const Spelling& s) {
  const std::string_view op = s.opcode();
  const PtxType t = s.type();
  const bool f32 = t.name == "f32", f64 = t.name == "f64";
  const bool half = t.name.substr(0, 3) == "f16";
  const auto fixed = [&](Function function, Want want) -> Tests {
    return {Approximate(s, t, function, [want](const FloatFormat&, Bits, Bits) {
      return want;
    })};
  };
  const double gross = std::ldexp(1.0, -19);
  if (op == "rcp") return fixed(RcpOf, f64 ? Relative(gross) : Ulps(1));
  if (op == "sqrt") return fixed(mpfr_sqrt, Ulps(1));
  if (op == "rsqrt") {
    if (f64) {
      return fixed(RsqrtOf, s.Has("ftz") ? Relative(gross) : Ulps(4));
    }
    return fixed(RsqrtOf, Relative(std::pow(2.0, -22.9)));
  }
  if ((op == "sin" || op == "cos") && f32) {
    if (s.Has("2pi")) {
      // No manual gives a bound; in turns nothing is lost by a reduction.
      return {Approximate(s, t, op == "sin" ? SinOfTurns : CosOfTurns,
                          [](const FloatFormat& f, Bits in, Bits) {
                            const double x = ToDouble(f, in);
                            return std::isfinite(x)
                                       ? Absolute(std::pow(2.0, -20.5))
                                       : Ulps(0);
                          })};
    }
    return {Approximate(s, t, op == "sin" ? mpfr_sin : mpfr_cos,
                        [](const FloatFormat& f, Bits in, Bits) {
                          const double x = std::fabs(ToDouble(f, in));
                          if (std::isnan(x) || std::isinf(x)) return Ulps(0);
                          if (x <= 6.2831854)
                            return Absolute(std::pow(2.0, -20.5));
                          if (x <= 314.159)
                            return Absolute(std::pow(2.0, -14.7));
                          return Any();
                        })};
  }
  if (op == "lg2" && f32) {
    return {
        Approximate(s, t, mpfr_log2, [](const FloatFormat& f, Bits in, Bits) {
          const double x = ToDouble(f, in);
          return x > 0.5 && x < 2 ? Absolute(std::ldexp(1.0, -22))
                                  : Relative(std::ldexp(1.0, -22));
        })};
  }
  if (op == "ex2") {
    if (f32) return fixed(mpfr_exp2, Ulps(2));
    return fixed(mpfr_exp2, Relative(std::pow(2.0, half ? -9.9 : -7.0)));
  }
  if (op == "tanh") {
    if (f32) return fixed(mpfr_tanh, Relative(std::pow(2.0, -11)));
    if (half) return fixed(mpfr_tanh, Absolute(std::pow(2.0, -10.987)));
    return fixed(mpfr_tanh, Absolute(std::pow(2.0, -8)));
  }
  return {};
}

Tests ApproximateDivision(const Spelling& s) {
  const PtxType t = s.type();
  const bool ftz = s.Has("ftz"), full = s.Has("full");
  return {Simple(t, {t, t}, [=](In v) {
    Bits a = Low(Truncate(v[0], 32)), b = Low(Truncate(v[1], 32));
    if (ftz) {
      a = kF32.Flush(a);
      b = kF32.Flush(b);
    }
    const double divisor = std::fabs(ToDouble(kF32, b));
    // div.approx: outside [2^-126, 2^126] nothing is promised but for zero
    // and infinity. div.full scales, and so covers the whole range.
    if (!full && std::isfinite(divisor) && divisor != 0 &&
        (divisor < 0x1p-126 || divisor > 0x1p126)) {
      return Any();
    }
    Bits exact = Div(kF32, Round::kNearestEven, a, b);
    if (!full && kF32.IsSubnormal(exact)) {
      // a * (1/b) where 1/b is close to subnormal itself.
      return Want{Want::Match::kUlps, exact, 0, 0x800000};
    }
    if (ftz) exact = kF32.Flush(exact);
    return Want{Want::Match::kUlps, exact, 0, 2};
  })};
}

Tests MinMax(const Spelling& s, std::string_view operands) {
  const PtxType t = s.type();
  const FloatFormat& f = FormatOf(t);
  const bool max = s.opcode() == "max", ftz = s.Has("ftz"), nan = s.Has("NaN"),
             xorsign = s.Has("xorsign"), absolute = s.Has("abs");
  const bool three = operands.find(",c") != std::string_view::npos;
  // -0 is less than +0.
  const auto less = [&f](Bits a, Bits b) {
    const auto key = [&](Bits x) {
      const std::int64_t magnitude =
          static_cast<std::int64_t>(x & (f.SignBit() - 1));
      return (x & f.SignBit()) != 0 ? -magnitude - 1 : magnitude;
    };
    return key(a) < key(b);
  };
  const auto two = [=, &f](Bits a, Bits b) -> Bits {
    if (f.IsNan(a) && f.IsNan(b)) return f.CanonicalNan();
    if (nan && (f.IsNan(a) || f.IsNan(b))) return f.CanonicalNan();
    if (f.IsNan(a)) return b;
    if (f.IsNan(b)) return a;
    return less(a, b) != max ? a : b;
  };
  return {Elementwise(t, three ? 3 : 2, [=, &f](const std::vector<Bits>& in) {
    std::vector<Bits> v = in;
    Bits sign = 0;
    for (Bits& x : v) {
      if (ftz) x = f.Flush(x);
      sign ^= x & f.SignBit();
      if (absolute) x &= f.SignBit() - 1;
    }
    Bits r = two(v[0], v[1]);
    if (three) r = two(r, v[2]);
    if (xorsign && !f.IsNan(r)) r = (r & (f.SignBit() - 1)) | sign;
    return r;
  })};
}

Tests TestProperty(const Spelling& s) {
  const PtxType t = s.type();
  const FloatFormat& f = FormatOf(t);
  const std::string_view what = s.OneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  return {Simple(T("pred"), {t}, [=, &f](In v) {
    const Bits a = Low(Truncate(v[0], t.bits));
    bool r = false;
    if (what == "finite") r = !f.IsNan(a) && !f.IsInf(a);
    if (what == "infinite") r = f.IsInf(a);
    if (what == "number") r = !f.IsNan(a);
    if (what == "notanumber") r = f.IsNan(a);
    // "As a special case, positive and negative zero are considered normal
    // numbers."
    if (what == "normal") r = !f.IsNan(a) && !f.IsInf(a) && !f.IsSubnormal(a);
    if (what == "subnormal") r = f.IsSubnormal(a);
    return Exact(r);
  })};
}

}  // namespace

Tests FloatReferences(const Spelling& s, std::string_view operands) {
  if (s.types().empty() || !s.type().is_float()) return {};
  const std::string_view op = s.opcode();
  const PtxType t = s.type();
  const FloatFormat& f = FormatOf(t);
  if (op == "div" && (s.Has("approx") || s.Has("full"))) {
    return ApproximateDivision(s);
  }
  if (s.Has("approx") || op == "ex2" || op == "tanh") {
    return Approximations(s);
  }
  if (op == "min" || op == "max") return MinMax(s, operands);
  if (op == "testp") return TestProperty(s);
  if (op == "abs" || op == "neg") {
    const bool ftz = s.Has("ftz");
    return {Elementwise(t, 1, [=, &f](const std::vector<Bits>& v) {
      const Bits x = ftz ? f.Flush(v[0]) : v[0];
      return op == "abs" ? x & (f.SignBit() - 1) : x ^ f.SignBit();
    })};
  }
  if (op == "copysign") {
    ValueTest test = Elementwise(t, 2, [=, &f](const std::vector<Bits>& v) {
      return (v[0] & f.SignBit()) | (v[1] & (f.SignBit() - 1));
    });
    return {test};
  }
  return Rounded(s);
}

}  // namespace cerberus::exec
