// PTX ISA 9.0, "Comparison and Selection Instructions": setp and set, in all
// their types.
#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

// -1, 0, 1, or 2 for unordered.
int Order(const PtxType& t, Value a, Value b, bool ftz) {
  const int bits = t.element_bits();
  if (!t.is_float()) {
    const __int128 x = t.is_signed() ? SignExtend(a, bits)
                                     : static_cast<__int128>(Truncate(a, bits));
    const __int128 y = t.is_signed() ? SignExtend(b, bits)
                                     : static_cast<__int128>(Truncate(b, bits));
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const FloatFormat& f = FormatOf(t);
  std::uint64_t x = Low(Truncate(a, bits)), y = Low(Truncate(b, bits));
  if (ftz) {
    x = f.Flush(x);
    y = f.Flush(y);
  }
  if (f.IsNan(x) || f.IsNan(y)) return 2;
  const int c = mpfr_cmp(Mp(f, x).get(), Mp(f, y).get());
  return c < 0 ? -1 : c > 0 ? 1 : 0;
}

bool Compare(std::string_view op, int order) {
  const bool unordered = order == 2;
  if (op == "num") return !unordered;
  if (op == "nan") return unordered;
  if (op == "lo") op = "lt";
  if (op == "ls") op = "le";
  if (op == "hi") op = "gt";
  if (op == "hs") op = "ge";
  // A trailing u: true also for unordered operands.
  if (op.size() == 3) {
    if (unordered) return true;
    op.remove_suffix(1);
  }
  if (unordered) return false;
  if (op == "eq") return order == 0;
  if (op == "ne") return order != 0;
  if (op == "lt") return order < 0;
  if (op == "le") return order <= 0;
  if (op == "gt") return order > 0;
  return order >= 0;
}

bool Combine(std::string_view op, bool a, bool b) {
  if (op == "and") return a && b;
  if (op == "or") return a || b;
  if (op == "xor") return a != b;
  return a;
}

}  // namespace

Tests CompareReferences(const Spelling& s, std::string_view) {
  const std::string_view op = s.opcode();
  if (op != "setp" && op != "set") return {};
  const std::string_view cmp =
      s.OneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
               "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  const std::string_view combine = s.OneOf({"and", "or", "xor"});
  const bool ftz = s.Has("ftz");
  const PtxType pred = T("pred");
  Tests tests;
  if (op == "setp") {
    const PtxType t = s.type();
    // With and without the second predicate, and a negated third operand.
    for (int variant = 0; variant < 3; ++variant) {
      // Of halves only packed ones set two predicates.
      const bool packed = t.elements == 2;
      const bool two = variant != 0 && (packed || t.bits > 16 || t.is_int() ||
                                        t.kind == PtxType::Kind::kBits);
      const bool negate = variant == 2;
      if (negate && combine.empty()) continue;
      ValueTest test;
      test.inputs = {t, t};
      test.outputs = {pred};
      if (two) test.outputs.push_back(pred);
      if (!combine.empty()) test.inputs.push_back(pred);
      test.body = s.text() + (two ? " %d0|%d1" : " %d0") + ", %a0, %a1" +
                  (combine.empty() ? ""
                   : negate        ? ", !%a2"
                                   : ", %a2") +
                  ";";
      test.expect = [=](In v) {
        const bool c = !combine.empty() && ((v[2] & 1) != 0) != negate;
        const bool first = Compare(cmp, Order(t, v[0], v[1], ftz));
        std::vector<Want> wants = {Exact(Combine(combine, first, c))};
        if (packed && two) {
          const int bits = t.element_bits();
          const bool second =
              Compare(cmp, Order(t, v[0] >> bits, v[1] >> bits, ftz));
          wants.push_back(Exact(Combine(combine, second, c)));
        } else if (two) {
          wants.push_back(Exact(Combine(combine, !first, c)));
        }
        return wants;
      };
      tests.push_back(std::move(test));
    }
    return tests;
  }
  // With one type the result is of that type, too.
  const PtxType d = s.type(0), t = s.types().back();
  std::vector<PtxType> in = {t, t};
  if (!combine.empty()) in.push_back(pred);
  return {Simple(d, in, [=](In v) {
    const bool c = !combine.empty() && (v[2] & 1) != 0;
    Value result = 0;
    // An integer result of packed operands has a mask per element.
    const int width = d.bits / t.elements;
    for (int e = 0; e < t.elements; ++e) {
      const int bits = t.element_bits();
      const bool yes = Combine(
          combine,
          Compare(cmp, Order(t, v[0] >> (e * bits), v[1] >> (e * bits), ftz)),
          c);
      Value one = ~static_cast<Value>(0);
      if (d.is_float()) {
        const FloatFormat& f = FormatOf(d);
        one = static_cast<Value>(f.bias) << f.mantissa_bits;
      }
      if (yes) {
        result |= Truncate(one, width) << (e * width);
      }
    }
    return Exact(result);
  })};
}

}  // namespace cerberus::exec
