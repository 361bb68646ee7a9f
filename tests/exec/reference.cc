#include "tests/exec/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

constexpr Kind P = Kind::kPred, B = Kind::kBits, U = Kind::kUnsigned,
               S = Kind::kSigned, F = Kind::kFloat;
constexpr PtxType kTypes[] = {
    {P, "pred", 1},       {B, "b8", 8},          {B, "b16", 16},
    {B, "b32", 32},       {B, "b64", 64},        {B, "b128", 128},
    {U, "u8", 8},         {U, "u16", 16},        {U, "u32", 32},
    {U, "u64", 64},       {S, "s8", 8},          {S, "s16", 16},
    {S, "s32", 32},       {S, "s64", 64},        {U, "u16x2", 32, 2},
    {U, "u8x4", 32, 4},   {S, "s8x4", 32, 4},    {S, "s16x2", 32, 2},
    {F, "f16", 16},       {F, "f16x2", 32, 2},   {F, "bf16", 16},
    {F, "bf16x2", 32, 2}, {F, "tf32", 32},       {F, "f32", 32},
    {F, "f32x2", 64, 2},  {F, "f64", 64},        {F, "e4m3x2", 16, 2},
    {F, "e5m2x2", 16, 2}, {F, "e2m3x2", 16, 2},  {F, "e3m2x2", 16, 2},
    {F, "e2m1x2", 8, 2},  {F, "ue8m0x2", 16, 2}, {F, "e4m3x4", 32, 4},
    {F, "e5m2x4", 32, 4}, {F, "e2m3x4", 32, 4},  {F, "e3m2x4", 32, 4},
    {F, "e2m1x4", 16, 4}, {F, "s2f6x2", 16, 2},  {U, "u4", 4},
    {S, "s4", 4},         {U, "u2", 2},          {S, "s2", 2},
};

}  // namespace

std::optional<PtxType> FindType(std::string_view name) {
  for (const PtxType& type : kTypes) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

PtxType T(std::string_view name) {
  const std::optional<PtxType> type = FindType(name);
  if (!type) std::abort();
  return *type;
}

Spelling::Spelling(std::string_view text)
    : text_(std::make_shared<const std::string>(text)) {
  std::string_view rest = *text_;
  while (true) {
    const std::size_t dot = rest.find('.');
    words_.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  for (std::size_t i = 1; i < words_.size(); ++i) {
    if (const auto type = FindType(words_[i])) types_.push_back(*type);
  }
}

bool Spelling::Has(std::string_view word) const {
  return std::find(words_.begin() + 1, words_.end(), word) != words_.end();
}

std::string_view Spelling::OneOf(
    std::initializer_list<std::string_view> words) const {
  for (std::size_t i = 1; i < words_.size(); ++i) {
    for (std::string_view word : words) {
      if (words_[i] == word) return word;
    }
  }
  return {};
}

const FloatFormat& FormatOf(const PtxType& type) {
  const std::string_view name = type.name;
  const auto is = [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  };
  if (is("bf16")) return kBF16;
  if (is("f16")) return kF16;
  if (is("f32")) return kF32;
  if (is("tf32")) return kTF32;
  if (is("e4m3")) return kE4M3;
  if (is("e5m2")) return kE5M2;
  if (is("e2m3")) return kE2M3;
  if (is("e3m2")) return kE3M2;
  if (is("e2m1")) return kE2M1;
  return kF64;
}

Round RoundingOf(const Spelling& s, Round otherwise) {
  const std::string_view r =
      s.OneOf({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"});
  if (r == "rn" || r == "rni") return Round::kNearestEven;
  if (r == "rz" || r == "rzi") return Round::kZero;
  if (r == "rm" || r == "rmi") return Round::kDown;
  if (r == "rp" || r == "rpi") return Round::kUp;
  if (r == "rna") return Round::kNearestAway;
  return otherwise;
}

ValueTest Simple(PtxType out, std::vector<PtxType> in,
                 std::function<Want(In)> expect) {
  ValueTest test;
  test.outputs = {out};
  test.inputs = std::move(in);
  test.expect = [expect = std::move(expect)](In in) {
    return std::vector<Want>{expect(in)};
  };
  return test;
}

ValueTest Elementwise(
    PtxType type, int inputs,
    std::function<std::uint64_t(const std::vector<std::uint64_t>&)> fn) {
  return Simple(type,
                std::vector<PtxType>(static_cast<std::size_t>(inputs), type),
                [type, fn = std::move(fn)](In in) {
                  Value result = 0;
                  const int bits = type.element_bits();
                  for (int e = 0; e < type.elements; ++e) {
                    std::vector<std::uint64_t> elements;
                    for (Value v : in) {
                      elements.push_back(Low(Truncate(v >> (e * bits), bits)));
                    }
                    result |= Truncate(fn(elements), bits) << (e * bits);
                  }
                  return Exact(result);
                });
}

namespace {

// PTX ISA 9.0: "canonical NaN" in min, max, fma and cvt; 0x7fffffff00000000 in
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64.
bool SaysWhichNan(const Spelling& s) {
  const bool root = s.opcode() == "rcp" || s.opcode() == "rsqrt";
  // The lower bits of a tf32 are no part of it.
  return s.Has("NaN") || (s.Has("relu") && s.type().name != "tf32") ||
         (root && s.Has("approx") && s.Has("ftz") && s.type().name == "f64");
}

}  // namespace

std::vector<ValueTest> ReferencesFor(std::string_view text,
                                     std::string_view operands) {
  const auto spelling = std::make_shared<const Spelling>(text);
  for (auto* references :
       {&IntegerReferences, &LogicReferences, &CompareReferences,
        &ConvertReferences, &FloatReferences, &VideoReferences}) {
    Tests tests = (*references)(*spelling, operands);
    for (ValueTest& test : tests) {
      test.spelling = spelling;
      if (!SaysWhichNan(*spelling)) continue;
      test.expect = [expect = std::move(test.expect)](In in) {
        std::vector<Want> wants = expect(in);
        for (Want& want : wants) want.this_nan = true;
        return wants;
      };
    }
    if (!tests.empty()) return tests;
  }
  return {};
}

bool Matches(const Want& want, const PtxType& type, Value got) {
  got = Truncate(got, type.bits);
  const auto same_nan = [&](const FloatFormat& format, std::uint64_t g,
                            std::uint64_t x) {
    return !want.this_nan && format.IsNan(g) && format.IsNan(x);
  };
  const auto same = [&](Value expected) {
    if (!type.is_float()) return got == Truncate(expected, type.bits);
    const FloatFormat& format = FormatOf(type);
    const int bits = type.element_bits();
    for (int e = 0; e < type.elements; ++e) {
      const std::uint64_t g = Low(Truncate(got >> (e * bits), bits));
      const std::uint64_t x = Low(Truncate(expected >> (e * bits), bits));
      if (g != x && !same_nan(format, g, x)) return false;
    }
    return true;
  };
  switch (want.match) {
    case Want::Match::kAny: return true;
    case Want::Match::kExact: return same(want.bits);
    case Want::Match::kEither: return same(want.bits) || same(want.other);
    default: break;
  }
  const FloatFormat& format = FormatOf(type);
  const int bits = type.element_bits();
  for (int e = 0; e < type.elements; ++e) {
    const std::uint64_t g = Low(Truncate(got >> (e * bits), bits));
    const std::uint64_t x = Low(Truncate(want.bits >> (e * bits), bits));
    if (g == x || same_nan(format, g, x)) continue;
    if (format.IsNan(g) || format.IsNan(x)) return false;
    if (want.match == Want::Match::kUlps) {
      if (static_cast<double>(UlpDistance(format, g, x)) > want.tolerance) {
        return false;
      }
      continue;
    }
    if (format.IsInf(g) || format.IsInf(x)) {
      // Infinity and the largest number are neighbours.
      if (UlpDistance(format, g, x) > 4) return false;
      continue;
    }
    const double a = ToDouble(format, g), b = ToDouble(format, x);
    const double bound = want.match == Want::Match::kAbsolute
                             ? want.tolerance
                             : want.tolerance * std::fabs(b);
    if (!(std::fabs(a - b) <= bound)) return false;
  }
  return true;
}

std::vector<Value> EdgeValues(const PtxType& type) {
  std::vector<Value> values;
  if (type.kind == Kind::kPred) return {0, 1};
  const int bits = type.element_bits();
  if (type.is_float()) {
    const FloatFormat& f = FormatOf(type);
    const std::uint64_t one = static_cast<std::uint64_t>(f.bias)
                              << (f.mantissa_bits + f.low_zero_bits);
    const std::uint64_t ulp = 1ull << f.low_zero_bits;
    const std::uint64_t least_normal = ulp << f.mantissa_bits;
    std::vector<std::uint64_t> magnitudes = {0,
                                             ulp,
                                             least_normal - ulp,
                                             least_normal,
                                             one,
                                             one - ulp,
                                             one + ulp,
                                             one + (least_normal >> 1),  // 1.5
                                             one - least_normal,         // 0.5
                                             one + least_normal,         // 2
                                             f.MaxFinite(),
                                             f.MaxFinite() - ulp};
    if (f.top == FloatFormat::Top::kIeee) {
      magnitudes.push_back(f.Infinity());
      magnitudes.push_back(f.CanonicalNan());
      magnitudes.push_back(f.Infinity() + ulp);  // signalling
    }
    // Around the limits of the integer types, and halves.
    for (double d :
         {2.5, 3.5, 127.5, 255.5, 32767.5, 65535.0, 65504.0, 2147483647.0,
          2147483648.0, 4294967295.0, 4294967296.0, 9.2233720368547758e18,
          1.8446744073709552e19, 0.1, 1e-5, 3.14159, 1e10, 100.75}) {
      Mp number(64);
      mpfr_set_d(number.get(), d, MPFR_RNDN);
      magnitudes.push_back(RoundTo(f, Round::kZero, number));
    }
    for (std::uint64_t m : magnitudes) {
      values.push_back(m);
      values.push_back(m | f.SignBit());
    }
  } else {
    const Value top = static_cast<Value>(1) << (bits - 1);
    for (Value v : {Value{0}, Value{1}, Value{2}, Value{3}, Value{7}, Value{31},
                    Value{32}, Value{33}, Value{63}, Value{64}, Value{65},
                    Value{255}, Value{256}, top - 1, top, top + 1,
                    Value{0x55555555} * 0x100000001u, Value{0xff00ff00}}) {
      values.push_back(Truncate(v, bits));
      values.push_back(Truncate(~v, bits));
    }
  }
  if (type.elements > 1) {
    // Pairs of neighbours in the list, so that elements differ.
    std::vector<Value> packed;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Value v = 0;
      for (int e = 0; e < type.elements; ++e) {
        v |= values[(i + static_cast<std::size_t>(e) * 5) % values.size()]
             << (e * bits);
      }
      packed.push_back(v);
    }
    return packed;
  }
  return values;
}

}  // namespace cerberus::exec
