// PTX ISA 9.0, "Data Movement and Conversion Instructions: cvt" and cvt.pack.
#include <algorithm>
#include <cmath>

#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

using Bits = std::uint64_t;

__int128 Least(const PtxType& t) {
  return t.is_signed() ? -(static_cast<__int128>(1) << (t.bits - 1)) : 0;
}
__int128 Greatest(const PtxType& t) {
  return t.is_signed() ? (static_cast<__int128>(1) << (t.bits - 1)) - 1
                       : (static_cast<__int128>(1) << t.bits) - 1;
}
__int128 IntOf(const PtxType& t, Value v) {
  return t.is_signed() ? SignExtend(v, t.bits)
                       : static_cast<__int128>(Truncate(v, t.bits));
}
// An 8-bit result is extended to the 16-bit register that holds it.
PtxType RegisterOf(const PtxType& t) {
  if (t.bits != 8 || t.is_float()) return t;
  return T(t.is_signed() ? "s16" : "u16");
}

void SetInteger(mpfr_ptr d, __int128 v) {
  const bool negative = v < 0;
  const Value m = negative ? -static_cast<Value>(v) : static_cast<Value>(v);
  mpfr_set_ui(d, High(m), MPFR_RNDN);
  mpfr_mul_2ui(d, d, 64, MPFR_RNDN);
  mpfr_add_ui(d, d, Low(m), MPFR_RNDN);
  if (negative) mpfr_neg(d, d, MPFR_RNDN);
}

mpfr_rnd_t MpfrRound(Round r) {
  switch (r) {
    case Round::kZero: return MPFR_RNDZ;
    case Round::kDown: return MPFR_RNDD;
    case Round::kUp: return MPFR_RNDU;
    default: return MPFR_RNDN;
  }
}

Tests IntToInt(const Spelling& s, PtxType d, PtxType a) {
  const bool sat = s.Has("sat");
  const PtxType out = RegisterOf(d);
  return {Simple(out, {a}, [=](In v) {
    __int128 x = IntOf(a, v[0]);
    if (sat) x = x < Least(d) ? Least(d) : x > Greatest(d) ? Greatest(d) : x;
    return Exact(static_cast<Value>(IntOf(d, static_cast<Value>(x))));
  })};
}

Tests FloatToInt(const Spelling& s, PtxType d, PtxType a) {
  const Round round = RoundingOf(s, Round::kZero);
  const bool ftz = s.Has("ftz");
  const FloatFormat& f = FormatOf(a);
  const PtxType out = RegisterOf(d);
  return {Simple(out, {a}, [=, &f](In v) {
    Bits x = Low(Truncate(v[0], a.bits));
    if (ftz) x = f.Flush(x);
    if (f.IsNan(x)) {
      // Zero, unless a 64-bit type takes part: then only the top bit set.
      if (a.name == "f64" || d.bits == 64) {
        if (d.bits < 32) return Any();
        return Exact(static_cast<Value>(1) << (d.bits - 1));
      }
      return Exact(0);
    }
    const Mp number(f, x);
    __int128 r;
    if (mpfr_inf_p(number.get())) {
      r = mpfr_signbit(number.get()) ? Least(d) : Greatest(d);
    } else {
      Mp integral(512);
      mpfr_rint(integral.get(), number.get(), MpfrRound(round));
      Mp low(512), high(512);
      SetInteger(low.get(), Least(d));
      SetInteger(high.get(), Greatest(d));
      if (mpfr_cmp(integral.get(), low.get()) <= 0) {
        r = Least(d);
      } else if (mpfr_cmp(integral.get(), high.get()) >= 0) {
        r = Greatest(d);
      } else {
        const bool negative = mpfr_sgn(integral.get()) < 0;
        mpfr_abs(integral.get(), integral.get(), MPFR_RNDN);
        r = static_cast<__int128>(mpfr_get_ui(integral.get(), MPFR_RNDN));
        if (negative) r = -r;
      }
    }
    return Exact(static_cast<Value>(r));
  })};
}

Bits Finish(const Spelling& s, const FloatFormat& f, Bits bits) {
  if (s.Has("sat")) {
    const Bits one = static_cast<Bits>(f.bias) << f.mantissa_bits;
    if (f.IsNan(bits) || (bits & f.SignBit()) != 0) return 0;
    if (bits > one) return one;
  }
  if (s.Has("relu") && !f.IsNan(bits) && (bits & f.SignBit()) != 0) return 0;
  return bits;
}

Tests IntToFloat(const Spelling& s, PtxType d, PtxType a) {
  const Round round = RoundingOf(s);
  const FloatFormat& f = FormatOf(d);
  ValueTest test = Simple(d, {a}, [=, &f](In v) {
    Mp number(128);
    SetInteger(number.get(), IntOf(a, v[0]));
    return Exact(Finish(s, f, RoundTo(f, round, number)));
  });
  // Beside the middle of two numbers, by less than a larger format holds:
  // what is rounded to that first becomes the middle.
  for (int top = f.mantissa_bits + 2; top < a.bits; ++top) {
    const int last = top - f.mantissa_bits;
    for (Value mantissa : {Value{1}, Value{2}}) {
      const Value middle =
          (Value{1} << top) + (mantissa << last) + (Value{1} << (last - 1));
      test.extra_cases.push_back({middle - 1});
      test.extra_cases.push_back({middle + 1});
      if (a.is_signed()) test.extra_cases.push_back({-(middle - 1)});
    }
  }
  return {test};
}

// One element from format to format, with all that may be said on the way.
Bits ConvertOne(const Spelling& s, const FloatFormat& to,
                const FloatFormat& from, Bits x, bool flush_source,
                bool flush_result) {
  if (flush_source) x = from.Flush(x);
  if (from.IsNan(x)) return Finish(s, to, to.CanonicalNan());
  const bool integral = !s.OneOf({"rni", "rzi", "rmi", "rpi"}).empty();
  Bits r;
  if (integral) {
    const Mp number(from, x);
    Mp rounded(512);
    mpfr_rint(rounded.get(), number.get(), MpfrRound(RoundingOf(s)));
    mpfr_setsign(rounded.get(), rounded.get(), mpfr_signbit(number.get()) != 0,
                 MPFR_RNDN);
    r = RoundTo(to, Round::kNearestEven, rounded);
  } else {
    r = Convert(to, RoundingOf(s), from, x);
  }
  if (s.Has("satfinite") &&
      (to.IsInf(r) || (r & ~to.SignBit()) > to.MaxFinite())) {
    r = (r & to.SignBit()) | to.MaxFinite();
  }
  if (flush_result) r = to.Flush(r);
  return Finish(s, to, r);
}

Tests FloatToFloat(const Spelling& s, PtxType d, PtxType a) {
  const FloatFormat& to = FormatOf(d);
  const FloatFormat& from = FormatOf(a);
  const bool ftz = s.Has("ftz");
  // .ftz speaks of .f32 sources and results.
  const bool flush_source = ftz && a.name.substr(0, 3) == "f32";
  const bool flush_result = ftz && d.name.substr(0, 3) == "f32";
  if (d.elements == a.elements) {  // scalar, or pack to pack
    return {Simple(d, {a}, [=, &to, &from](In v) {
      Value result = 0;
      for (int e = 0; e < d.elements; ++e) {
        // fp6 stands in the low bits of a byte of its own.
        const Bits x =
            Low(Truncate(v[0] >> (e * a.element_bits()), from.storage_bits()));
        result |= static_cast<Value>(
                      ConvertOne(s, to, from, x, flush_source, flush_result))
                  << (e * d.element_bits());
      }
      return Exact(result);
    })};
  }
  if (d.elements == 2 && a.elements == 1) {
    // d, a, b: a becomes the upper half, b the lower.
    return {Simple(d, {a, a}, [=, &to, &from](In v) {
      Value result = 0;
      for (int e = 0; e < 2; ++e) {
        const Bits x =
            Low(Truncate(v[static_cast<std::size_t>(1 - e)], a.bits));
        result |= static_cast<Value>(
                      ConvertOne(s, to, from, x, flush_source, flush_result))
                  << (e * d.element_bits());
      }
      return Exact(result);
    })};
  }
  return {};
}

// cvt.pack.sat.convertType.abType{.cType} d, a, b{, c}
Tests Pack(const Spelling& s) {
  const PtxType to = s.type(0), from = s.type(1);
  const bool three = s.types().size() == 3;
  std::vector<PtxType> in = {from, from};
  if (three) in.push_back(s.type(2));
  return {Simple(T("b32"), in, [=](In v) {
    const auto clamp = [&](Value x) {
      const __int128 i = IntOf(from, x);
      return Truncate(static_cast<Value>(i < Least(to)      ? Least(to)
                                         : i > Greatest(to) ? Greatest(to)
                                                            : i),
                      to.bits);
    };
    Value d = (clamp(v[0]) << to.bits) | clamp(v[1]);
    if (three) d |= Truncate(v[2] << (2 * to.bits), 32);
    return Exact(d);
  })};
}

// ue8m0: a power of two as its biased exponent, 0xff for NaN; no sign, no
// zero, no infinity.
Bits ToUe8m0(double x, bool up, bool nan, bool satfinite) {
  if (nan) return 0xff;
  x = std::fabs(x);
  if (std::isinf(x)) return satfinite ? 0xfe : 0xff;
  if (x == 0) return 0;
  int exponent = 0;
  const double mantissa =
      std::frexp(x, &exponent);  // x = m * 2^e, m in [.5, 1)
  int biased = exponent - 1 + 127;
  if (up && mantissa != 0.5) ++biased;
  if (biased < 0) return 0;
  if (biased > 0xfe) return satfinite ? 0xfe : 0xff;
  return static_cast<Bits>(biased);
}

Tests Ue8m0(const Spelling& s, PtxType d, PtxType a) {
  if (a.name.substr(0, 5) == "ue8m0") {
    // 2^-127 is a subnormal bf16.
    return {Simple(d, {a}, [](In v) {
      Value result = 0;
      for (int e = 0; e < 2; ++e) {
        const Bits x = Low(Truncate(v[0] >> (8 * e), 8));
        const Bits bits = x == 0xff ? 0x7fff : x == 0 ? 0x40 : x << 7;
        result |= static_cast<Value>(bits) << (16 * e);
      }
      return Exact(result);
    })};
  }
  const FloatFormat& from = FormatOf(a);
  const bool up = s.Has("rp"), satfinite = s.Has("satfinite");
  const auto one = [=, &from](Bits x) {
    return ToUe8m0(ToDouble(from, x), up, from.IsNan(x), satfinite);
  };
  if (a.elements == 2) {
    return {Simple(d, {a}, [=](In v) {
      return Exact(one(Low(Truncate(v[0] >> 16, 16))) << 8 |
                   one(Low(Truncate(v[0], 16))));
    })};
  }
  return {Simple(d, {a, a}, [=](In v) {
    return Exact(one(Low(Truncate(v[0], 32))) << 8 |
                 one(Low(Truncate(v[1], 32))));
  })};
}

// .rs: |x| plus a random part of the last place, cut off. `bits` random bits
// stand for `random` / 2^bits of a place.
std::uint64_t RoundRandomly(const FloatFormat& f, std::uint64_t x,
                            std::uint64_t random, int bits, bool finite,
                            bool relu) {
  if (kF32.IsNan(x)) return f.CanonicalNan();
  const bool negative = (x & kF32.SignBit()) != 0;
  if (negative && relu) return 0;
  const std::uint64_t sign = negative ? f.SignBit() : 0;
  const std::uint64_t top =
      finite || f.top != FloatFormat::Top::kIeee ? f.MaxFinite() : f.Infinity();
  if (kF32.IsInf(x)) return sign | top;
  const Mp magnitude(kF32, x & ~kF32.SignBit());
  if (mpfr_zero_p(magnitude.get()) != 0) return sign;
  const long least = 1 - f.bias;
  const long exponent =
      std::max(static_cast<long>(mpfr_get_exp(magnitude.get())) - 1, least);
  Mp sum(256);
  mpfr_set_ui_2exp(sum.get(), random, exponent - f.mantissa_bits - bits,
                   MPFR_RNDN);
  mpfr_add(sum.get(), sum.get(), magnitude.get(), MPFR_RNDN);
  // One place behind the largest number.
  const Mp largest(f, f.MaxFinite());
  Mp behind(256);
  mpfr_set_ui_2exp(behind.get(), 1,
                   mpfr_get_exp(largest.get()) - 1 - f.mantissa_bits,
                   MPFR_RNDN);
  mpfr_add(behind.get(), behind.get(), largest.get(), MPFR_RNDN);
  if (mpfr_greaterequal_p(sum.get(), behind.get()) != 0) return sign | top;
  return sign | RoundTo(f, Round::kZero, sum);
}

// .s2f6 is a byte in 64ths; .scaled multiplies results by powers of two, and
// divides what becomes small by them.
Tests FixedOrScaled(const Spelling& s, PtxType d, PtxType a) {
  const bool scaled = s.Has("scaled::n2::ue8m0");
  const bool to_fixed = d.name == "s2f6x2", from_fixed = a.name == "s2f6x2";
  const Round round = RoundingOf(s);
  const bool relu = s.Has("relu");
  std::vector<PtxType> in = {from_fixed ? T("b16") : a};
  if (a.elements == 1) in.push_back(a);
  if (scaled) in.push_back(T("b16"));
  return {Simple(to_fixed ? T("b16") : d, in, [=](In v) {
    Value result = 0;
    for (int e = 0; e < 2; ++e) {
      const Value word = a.elements == 1 ? v[static_cast<std::size_t>(1 - e)]
                                         : v[0] >> (e * a.element_bits());
      const int code =
          scaled ? static_cast<int>(Truncate(v.back() >> (8 * e), 8)) : 127;
      Mp x(1200);
      bool nan = code == 0xff;
      if (from_fixed) {
        mpfr_set_si_2exp(x.get(), static_cast<long>(SignExtend(word, 8)), -6,
                         MPFR_RNDN);
      } else {
        const FloatFormat& f = FormatOf(a);
        const Bits bits =
            Low(Truncate(word, a.elements == 1 ? a.bits : f.storage_bits()));
        nan |= f.IsNan(bits);
        const Mp exact(f, bits);
        mpfr_set(x.get(), exact.get(), MPFR_RNDN);
      }
      if (nan && to_fixed) return Any();  // no manual says
      mpfr_mul_2si(x.get(), x.get(), to_fixed ? 127 - code : code - 127,
                   MPFR_RNDN);
      if (!to_fixed) {
        const FloatFormat& f = FormatOf(d);
        Bits r = nan ? f.CanonicalNan() : RoundTo(f, round, x);
        if (s.Has("satfinite") && f.IsInf(r))
          r = (r & f.SignBit()) | f.MaxFinite();
        result |= static_cast<Value>(Finish(s, f, r)) << (16 * e);
        continue;
      }
      mpfr_mul_2si(x.get(), x.get(), 6, MPFR_RNDN);
      mpfr_rint(x.get(), x.get(), MpfrRound(round));
      double whole = std::clamp(mpfr_get_d(x.get(), MPFR_RNDN), -128.0, 127.0);
      if (relu && whole < 0) whole = 0;
      result |= Truncate(static_cast<Value>(static_cast<long>(whole)), 8)
                << (8 * e);
    }
    return Exact(result);
  })};
}

Tests Stochastic(const Spelling& s, PtxType d) {
  const FloatFormat& f = FormatOf(d);
  const int count = d.elements;
  const bool finite = s.Has("satfinite"), relu = s.Has("relu");
  const int bits = d.name.substr(0, 3) == "f16" ? 13 : 16;
  ValueTest test;
  test.outputs = {d.bits == 16 ? T("b16") : T("b32")};
  test.inputs.assign(static_cast<std::size_t>(count), T("f32"));
  test.inputs.push_back(T("b32"));
  test.body = s.text() + (count == 4 ? " %d0, {%a0, %a1, %a2, %a3}, %a4;"
                                     : " %d0, %a0, %a1, %a2;");
  test.expect = [=](In v) -> std::vector<Want> {
    const std::uint64_t rbits =
        Low(Truncate(v[static_cast<std::size_t>(count)], 32));
    Value result = 0;
    for (int i = 0; i < count; ++i) {
      const bool upper = i < count / 2;
      std::uint64_t random = upper ? rbits >> 16 : rbits & 0xffff;
      if (d.name == "e2m1x4") {
        const std::uint64_t bytes = upper ? rbits >> 8 : rbits;
        random = (bytes >> 16 & 0xff) << 8 | (bytes & 0xff);
      }
      random &= (1u << bits) - 1;
      const std::uint64_t code =
          RoundRandomly(f, Low(Truncate(v[static_cast<std::size_t>(i)], 32)),
                        random, bits, finite, relu);
      result |= static_cast<Value>(code) << ((count - 1 - i) * d.bits / count);
    }
    return {Exact(result)};
  };
  return {test};
}

}  // namespace

Tests ConvertReferences(const Spelling& s, std::string_view) {
  if (s.opcode() != "cvt" || s.types().size() < 2) return {};
  if (s.Has("pack")) return Pack(s);
  if (s.Has("rs")) return Stochastic(s, s.type(0));
  if (s.types().size() != 2) return {};
  const PtxType d = s.type(0), a = s.type(1);
  // Formats whose bits the fields of FloatFormat cannot say.
  for (const PtxType& t : {d, a}) {
    if (t.name == "s2f6x2" || s.Has("scaled::n2::ue8m0"))
      return FixedOrScaled(s, d, a);
    if (t.name.substr(0, 5) == "ue8m0") return Ue8m0(s, d, a);
  }
  if (d.is_int() && a.is_int()) return IntToInt(s, d, a);
  if (d.is_int() && a.is_float()) return FloatToInt(s, d, a);
  if (d.is_float() && a.is_int()) return IntToFloat(s, d, a);
  if (d.is_float() && a.is_float()) return FloatToFloat(s, d, a);
  return {};
}

}  // namespace cerberus::exec
