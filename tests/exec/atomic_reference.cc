#include "tests/exec/atomic_reference.h"

#include "tests/exec/soft_float.h"

namespace cerberus::exec {
namespace {

Value ApplyFloat(std::string_view op, const PtxType& t, Value a, Value b) {
  const FloatFormat& f = FormatOf(t);
  Value result = 0;
  const int bits = t.element_bits();
  for (int e = 0; e < t.elements; ++e) {
    const std::uint64_t x = Low(Truncate(a >> (e * bits), bits));
    const std::uint64_t y = Low(Truncate(b >> (e * bits), bits));
    std::uint64_t r;
    if (op == "add") {
      r = Add(f, Round::kNearestEven, x, y);
    } else {
      const bool less = mpfr_less_p(Mp(f, x).get(), Mp(f, y).get()) != 0;
      r = less == (op == "min") ? x : y;
    }
    result |= static_cast<Value>(r) << (e * bits);
  }
  return result;
}

}  // namespace

std::string_view OperationOf(const Spelling& s) {
  return s.OneOf(
      {"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"});
}

Value ApplyAtomic(std::string_view op, const PtxType& t, Value old, Value b,
                  Value c) {
  old = Truncate(old, t.bits);
  b = Truncate(b, t.bits);
  if (op == "and") return old & b;
  if (op == "or") return old | b;
  if (op == "xor") return old ^ b;
  if (op == "exch") return b;
  if (op == "cas") return old == b ? Truncate(c, t.bits) : old;
  if (op == "inc") return old >= b ? 0 : old + 1;
  if (op == "dec") return old == 0 || old > b ? b : old - 1;
  if (t.is_float()) return ApplyFloat(op, t, old, b);
  if (op == "add") return Truncate(old + b, t.bits);
  const bool less =
      t.is_signed() ? SignExtend(old, t.bits) < SignExtend(b, t.bits) : old < b;
  return less == (op == "min") ? old : b;
}

Value RandomAtomicOperand(const PtxType& t, std::mt19937_64& random) {
  if (!t.is_float()) {
    const Value v = (static_cast<Value>(random()) << 64) | random();
    return Truncate(random() % 2 == 0 ? v : v % 5, t.bits);
  }
  const FloatFormat& f = FormatOf(t);
  Value v = 0;
  for (int e = 0; e < t.elements; ++e) {
    Mp number(64);
    mpfr_set_d(number.get(),
               (static_cast<double>(random() % 4001) - 2000) / 16.0, MPFR_RNDN);
    v |= static_cast<Value>(RoundTo(f, Round::kNearestEven, number))
         << (e * t.element_bits());
  }
  return v;
}

}  // namespace cerberus::exec
