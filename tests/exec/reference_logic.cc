// PTX ISA 9.0, "Logic and Shift Instructions", prmt, and the selections.
#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

Tests Lop3(const Spelling& s) {
  const PtxType b32 = T("b32");
  Tests tests;
  const std::string_view with = s.OneOf({"or", "and"});
  for (unsigned lut :
       {0x00u, 0xffu, 0x80u, 0xfeu, 0x96u, 0xe8u, 0xcau, 0x1bu, 0x40u, 0x33u}) {
    ValueTest test;
    test.inputs = {b32, b32, b32};
    test.outputs = {b32};
    const std::string operands = "%a0, %a1, %a2, " + std::to_string(lut);
    if (with.empty()) {
      test.body = s.text() + " %d0, " + operands + ";";
    } else {
      test.inputs.push_back(T("pred"));
      test.outputs.push_back(T("pred"));
      test.body = s.text() + " %d0|%d1, " + operands + ", %a3;";
    }
    test.expect = [=](In v) {
      Value d = 0;
      for (int i = 0; i < 32; ++i) {
        const unsigned index =
            static_cast<unsigned>(((v[0] >> i) & 1) << 2 |
                                  ((v[1] >> i) & 1) << 1 | ((v[2] >> i) & 1));
        d |= static_cast<Value>((lut >> index) & 1) << i;
      }
      std::vector<Want> wants = {Exact(d)};
      if (!with.empty()) {
        const bool nonzero = d != 0, q = (v[3] & 1) != 0;
        wants.push_back(Exact(with == "or" ? nonzero || q : nonzero && q));
      }
      return wants;
    };
    tests.push_back(std::move(test));
  }
  return tests;
}

Tests Prmt(const Spelling& s) {
  const std::string_view mode =
      s.OneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  const PtxType b32 = T("b32");
  return {Simple(b32, {b32, b32, b32}, [=](In v) {
    const Value all = Truncate(v[0], 32) | (Truncate(v[1], 32) << 32);
    const auto byte = [&](unsigned i) { return (all >> (8 * (i & 7))) & 0xff; };
    const unsigned c = static_cast<unsigned>(v[2] & 0xffffffff);
    const unsigned n = c & 3;
    Value d = 0;
    for (unsigned i = 0; i < 4; ++i) {
      Value b;
      if (mode.empty()) {
        const unsigned select = (c >> (4 * i)) & 0xf;
        b = byte(select);
        if (select & 8) b = (b & 0x80) != 0 ? 0xff : 0;
      } else if (mode == "f4e") {
        b = byte(n + i);
      } else if (mode == "b4e") {
        b = byte((n + 8 - i) & 7);
      } else if (mode == "rc8") {
        b = byte(n);
      } else if (mode == "ecl") {
        b = byte(i > n ? i : n);
      } else if (mode == "ecr") {
        b = byte(i < n ? i : n);
      } else {  // rc16
        b = byte((n & 1) * 2 + (i & 1));
      }
      d |= b << (8 * i);
    }
    return Exact(d);
  })};
}

Tests Funnel(const Spelling& s) {
  const PtxType b32 = T("b32");
  const bool left = s.Has("l"), clamp = s.Has("clamp");
  return {Simple(b32, {b32, b32, T("u32")}, [=](In v) {
    const std::uint64_t c = Low(v[2]) & 0xffffffff;
    const unsigned n =
        static_cast<unsigned>(clamp ? (c > 32 ? 32 : c) : c & 31);
    const Value both = Truncate(v[0], 32) | (Truncate(v[1], 32) << 32);
    return Exact(left ? Truncate(both << n, 64) >> 32 : both >> n);
  })};
}

}  // namespace

Tests LogicReferences(const Spelling& s, std::string_view) {
  const std::string_view op = s.opcode();
  if (op == "lop3") return Lop3(s);
  if (op == "prmt") return Prmt(s);
  if (op == "shf") return Funnel(s);
  if (s.types().empty()) return {};
  const PtxType t = s.type();
  if (op == "and" || op == "or" || op == "xor") {
    return {Simple(t, {t, t}, [=](In v) {
      return Exact(op == "and"  ? v[0] & v[1]
                   : op == "or" ? v[0] | v[1]
                                : v[0] ^ v[1]);
    })};
  }
  if (op == "not") {
    return {Simple(t, {t}, [](In v) { return Exact(~v[0]); })};
  }
  if (op == "cnot") {
    return {Simple(t, {t}, [=](In v) {
      return Exact(Truncate(v[0], t.bits) == 0 ? 1 : 0);
    })};
  }
  if (op == "shl" || op == "shr") {
    return {Simple(t, {t, T("u32")}, [=](In v) {
      const std::uint64_t c = Low(v[1]) & 0xffffffff;
      const int n =
          c > static_cast<std::uint64_t>(t.bits) ? t.bits : static_cast<int>(c);
      if (op == "shl") return Exact(Truncate(v[0], t.bits) << n);
      if (t.is_signed()) {
        return Exact(static_cast<Value>(SignExtend(v[0], t.bits) >> n));
      }
      return Exact(Truncate(v[0], t.bits) >> n);
    })};
  }
  if (op == "selp") {
    return {Simple(t, {t, t, T("pred")},
                   [](In v) { return Exact((v[2] & 1) != 0 ? v[0] : v[1]); })};
  }
  if (op == "slct") {
    if (s.types().size() != 2) return {};
    const PtxType c = s.type(1);
    const bool ftz = s.Has("ftz");
    return {Simple(t, {t, t, c}, [=](In v) {
      bool at_least_zero;
      if (c.is_float()) {
        std::uint64_t bits = Low(Truncate(v[2], 32));
        if (ftz) bits = kF32.Flush(bits);
        at_least_zero = !kF32.IsNan(bits) &&
                        ((bits & kF32.SignBit()) == 0 || kF32.IsZero(bits));
      } else {
        at_least_zero = SignExtend(v[2], 32) >= 0;
      }
      return Exact(at_least_zero ? v[0] : v[1]);
    })};
  }
  if (op == "mov" && s.words().size() == 2) {
    return {Simple(t, {t}, [](In v) { return Exact(v[0]); })};
  }
  return {};
}

}  // namespace cerberus::exec
