// PTX ISA 9.0, "Integer Arithmetic Instructions" and "Extended-Precision
// Integer Arithmetic Instructions".
#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

__int128 ValueOf(const PtxType& t, Value v) {
  return t.is_signed() ? SignExtend(v, t.bits)
                       : static_cast<__int128>(Truncate(v, t.bits));
}

__int128 Least(const PtxType& t) {
  return t.is_signed() ? -(static_cast<__int128>(1) << (t.bits - 1)) : 0;
}
__int128 Greatest(const PtxType& t) {
  return t.is_signed() ? (static_cast<__int128>(1) << (t.bits - 1)) - 1
                       : (static_cast<__int128>(1) << t.bits) - 1;
}
__int128 Clamp(const PtxType& t, __int128 v) {
  return v < Least(t) ? Least(t) : v > Greatest(t) ? Greatest(t) : v;
}

// The product of two numbers of up to 64 bits never leaves 128 bits.
Value Product(const PtxType& t, Value a, Value b) {
  return t.is_signed() ? static_cast<Value>(ValueOf(t, a) * ValueOf(t, b))
                       : Truncate(a, t.bits) * Truncate(b, t.bits);
}

PtxType ElementOf(const PtxType& t) {
  const std::string_view names[2][2] = {{"u16", "u8"}, {"s16", "s8"}};
  return t.elements == 1 ? t : T(names[t.is_signed()][t.elements == 4]);
}

PtxType Wide(const PtxType& t) {
  const std::string_view names[2][2] = {{"u32", "u64"}, {"s32", "s64"}};
  return T(names[t.is_signed()][t.bits == 32]);
}

Tests MulMad(const Spelling& s) {
  const PtxType t = s.type();
  const bool mad = s.opcode() == "mad";
  const bool hi = s.Has("hi"), wide = s.Has("wide"), sat = s.Has("sat");
  const PtxType out = wide ? Wide(t) : t;
  std::vector<PtxType> in = {t, t};
  if (mad) in.push_back(out);
  return {Simple(out, in, [=](In v) {
    Value product = Product(t, v[0], v[1]);
    if (hi) {
      product =
          t.is_signed()
              ? static_cast<Value>(static_cast<__int128>(product) >> t.bits)
              : product >> t.bits;
    }
    if (!mad) return Exact(product);
    if (sat) {
      return Exact(static_cast<Value>(
          Clamp(t, SignExtend(product, t.bits) + ValueOf(t, v[2]))));
    }
    return Exact(product + v[2]);
  })};
}

Tests Mul24(const Spelling& s) {
  const PtxType t = s.type();
  const bool mad = s.opcode() == "mad24";
  const bool hi = s.Has("hi"), sat = s.Has("sat");
  std::vector<PtxType> in = {t, t};
  if (mad) in.push_back(t);
  return {Simple(t, in, [=](In v) {
    const auto low24 = [&](Value x) -> __int128 {
      return t.is_signed() ? SignExtend(x, 24)
                           : static_cast<__int128>(Truncate(x, 24));
    };
    // A 48-bit product: .lo is bits 0 to 31, .hi bits 16 to 47.
    const __int128 product = low24(v[0]) * low24(v[1]);
    const Value part = static_cast<Value>(hi ? product >> 16 : product);
    if (!mad) return Exact(part);
    if (sat) {
      return Exact(static_cast<Value>(
          Clamp(t, SignExtend(part, 32) + ValueOf(t, v[2]))));
    }
    return Exact(part + v[2]);
  })};
}

Tests DivRem(const Spelling& s) {
  const PtxType t = s.type();
  if (!t.is_int()) return {};
  const bool rem = s.opcode() == "rem";
  return {Simple(t, {t, t}, [=](In v) {
    const __int128 a = ValueOf(t, v[0]), b = ValueOf(t, v[1]);
    // Division by zero yields an unspecified value, and so does an
    // overflowing quotient.
    if (b == 0 || (t.is_signed() && b == -1 && a == Least(t))) return Any();
    return Exact(static_cast<Value>(rem ? a % b : a / b));
  })};
}

Tests MinMax(const Spelling& s) {
  const PtxType t = s.type();
  if (!t.is_int()) return {};
  const bool max = s.opcode() == "max", relu = s.Has("relu");
  const PtxType element = ElementOf(t);
  return {Elementwise(t, 2, [=](const std::vector<std::uint64_t>& v) {
    const __int128 a = ValueOf(element, v[0]), b = ValueOf(element, v[1]);
    __int128 r = max ? (a > b ? a : b) : (a < b ? a : b);
    if (relu && r < 0) r = 0;
    return static_cast<std::uint64_t>(r);
  })};
}

Tests AddSub(const Spelling& s) {
  const PtxType t = s.type();
  if (!t.is_int()) return {};
  const bool sub = s.opcode() == "sub";
  if (s.Has("cc")) {
    // The carry is seen through a following addc (or subc).
    ValueTest test;
    test.outputs = {t, T("u32")};
    test.inputs = {t, t};
    test.body = s.text() + " %d0, %a0, %a1;\n" +
                (sub ? "subc.u32 %d1, 0, 0;" : "addc.u32 %d1, 0, 0;");
    test.expect = [=](In v) {
      const Value a = Truncate(v[0], t.bits), b = Truncate(v[1], t.bits);
      if (sub) {
        return std::vector<Want>{Exact(a - b), Exact(a < b ? 0xffffffffu : 0u)};
      }
      return std::vector<Want>{Exact(a + b), Exact(((a + b) >> t.bits) & 1)};
    };
    return {test};
  }
  if (s.Has("sat")) {
    const PtxType element = ElementOf(t);
    return {Elementwise(t, 2, [=](const std::vector<std::uint64_t>& v) {
      const __int128 a = ValueOf(element, v[0]), b = ValueOf(element, v[1]);
      return static_cast<std::uint64_t>(Clamp(element, sub ? a - b : a + b));
    })};
  }
  return {Elementwise(t, 2, [=](const std::vector<std::uint64_t>& v) {
    return sub ? v[0] - v[1] : v[0] + v[1];
  })};
}

// addc, subc, madc: the carry in comes from a preceding add.cc (sub.cc),
// the carry out is seen through a following one.
Tests WithCarry(const Spelling& s) {
  const PtxType t = s.type();
  const bool out = s.Has("cc");
  const bool sub = s.opcode() == "subc";
  const bool madc = s.opcode() == "madc", mad = s.opcode() == "mad";
  ValueTest test;
  test.outputs = {t};
  if (out) test.outputs.push_back(T("u32"));
  test.inputs = {t, t};
  if (madc || mad) test.inputs.push_back(t);
  test.inputs.push_back(T("u32"));  // bit 0: the carry in
  const std::string carry = "%a" + std::to_string(test.inputs.size() - 1);
  test.body = ".reg .b32 %cin, %trash;\nand.b32 %cin, " + carry + ", 1;\n";
  if (sub) {
    // 0 - cin borrows exactly if cin is 1.
    test.body += "sub.cc.u32 %trash, 0, %cin;\n";
  } else if (!mad) {
    test.body += "add.cc.u32 %trash, %cin, 0xffffffff;\n";
  }
  test.body += s.text() + " %d0, %a0, %a1";
  if (madc || mad) test.body += ", %a2";
  test.body += ";\n";
  if (out) {
    test.body += sub ? "subc.u32 %d1, 0, 0;" : "addc.u32 %d1, 0, 0;";
  }
  test.expect = [=](In v) {
    const Value cin = mad ? 0 : v.back() & 1;
    const Value a = Truncate(v[0], t.bits), b = Truncate(v[1], t.bits);
    Value result, carry_out;
    if (sub) {
      result = a - b - cin;
      carry_out = a < b + cin ? 0xffffffffu : 0;
    } else {
      Value x = a, y = b;
      if (madc || mad) {
        Value product = Product(t, v[0], v[1]);
        if (s.Has("hi")) product >>= t.bits;
        x = Truncate(product, t.bits);
        y = Truncate(v[2], t.bits);
      }
      result = x + y + cin;
      carry_out = (result >> t.bits) & 1;
    }
    std::vector<Want> wants = {Exact(result)};
    if (out) wants.push_back(Exact(carry_out));
    return wants;
  };
  return {test};
}

int CountBits(std::uint64_t v) {
  int n = 0;
  for (; v != 0; v &= v - 1) ++n;
  return n;
}

Tests BitCounts(const Spelling& s) {
  const PtxType t = s.type();
  const std::string_view op = s.opcode();
  const bool shiftamt = s.Has("shiftamt");
  return {Simple(T("u32"), {t}, [=](In v) {
    const std::uint64_t a = Low(Truncate(v[0], t.bits));
    if (op == "popc") return Exact(static_cast<Value>(CountBits(a)));
    if (op == "clz") {
      int n = 0;
      while (n < t.bits && ((a >> (t.bits - 1 - n)) & 1) == 0) ++n;
      return Exact(static_cast<Value>(n));
    }
    // bfind: the most significant bit that is not a sign bit.
    std::uint64_t x = a;
    if (t.is_signed() && ((a >> (t.bits - 1)) & 1) != 0) {
      x = Low(Truncate(~v[0], t.bits));
    }
    for (int i = t.bits - 1; i >= 0; --i) {
      if ((x >> i) & 1) {
        return Exact(static_cast<Value>(shiftamt ? t.bits - 1 - i : i));
      }
    }
    return Exact(0xffffffffu);
  })};
}

Tests BitFields(const Spelling& s) {
  const PtxType t = s.type();
  const PtxType u32 = T("u32");
  const int msb = t.bits - 1;
  if (s.opcode() == "bfe") {
    return {Simple(t, {t, u32, u32}, [=](In v) {
      const int pos = static_cast<int>(v[1] & 0xff);
      const int len = static_cast<int>(v[2] & 0xff);
      const auto bit = [&](int i) -> Value { return (v[0] >> i) & 1; };
      const Value sign = !t.is_signed() || len == 0
                             ? 0
                             : bit(pos + len - 1 < msb ? pos + len - 1 : msb);
      Value d = 0;
      for (int i = 0; i <= msb; ++i) {
        const Value b = i < len && pos + i <= msb ? bit(pos + i) : sign;
        d |= b << i;
      }
      return Exact(d);
    })};
  }
  // bfi f, a, b, c, d: the low bits of a go into b at position c.
  return {Simple(t, {t, t, u32, u32}, [=](In v) {
    const int pos = static_cast<int>(v[2] & 0xff);
    const int len = static_cast<int>(v[3] & 0xff);
    Value f = Truncate(v[1], t.bits);
    for (int i = 0; i < len && pos + i <= msb; ++i) {
      const Value mask = static_cast<Value>(1) << (pos + i);
      f = (f & ~mask) | (((v[0] >> i) & 1) << (pos + i));
    }
    return Exact(f);
  })};
}

Tests DotProduct(const Spelling& s) {
  if (s.types().size() != 2) return {};
  const PtxType ta = s.type(0), tb = s.type(1);
  const PtxType c = T(ta.is_signed() || tb.is_signed() ? "s32" : "u32");
  const bool four = s.opcode() == "dp4a";
  const bool high = s.Has("hi");
  const PtxType word = T("b32");
  return {Simple(c, {word, word, c}, [=](In v) {
    const auto part = [](const PtxType& t, Value x, int i, int bits) {
      const Value p = Truncate(x >> (i * bits), bits);
      return t.is_signed() ? SignExtend(p, bits) : static_cast<__int128>(p);
    };
    __int128 sum = ValueOf(c, v[2]);
    for (int i = 0; i < (four ? 4 : 2); ++i) {
      sum += part(ta, v[0], i, four ? 8 : 16) *
             part(tb, v[1], four ? i : i + (high ? 2 : 0), 8);
    }
    return Exact(static_cast<Value>(sum));
  })};
}

Tests FindNthSet() {
  const PtxType b32 = T("b32"), u32 = T("u32"), s32 = T("s32");
  ValueTest test = Simple(b32, {b32, u32, s32}, [](In v) {
    const std::uint32_t mask = static_cast<std::uint32_t>(v[0]);
    const std::uint32_t base = static_cast<std::uint32_t>(v[1]);
    const std::int64_t offset = static_cast<std::int64_t>(SignExtend(v[2], 32));
    if (base > 31) return Any();
    if (offset == 0) {
      return Exact(((mask >> base) & 1) ? base : 0xffffffffu);
    }
    std::int64_t count = offset > 0 ? offset - 1 : -offset - 1;
    const int step = offset > 0 ? 1 : -1;
    for (std::int64_t pos = base; pos >= 0 && pos < 32; pos += step) {
      if (((mask >> pos) & 1) == 0) continue;
      if (count == 0) return Exact(static_cast<Value>(pos));
      --count;
    }
    return Exact(0xffffffffu);
  });
  for (Value base : {0, 5, 17, 31}) {
    for (int offset : {-3, -1, 0, 1, 2, 9}) {
      for (Value mask : {0xf0f0a5a5u, 0x80000001u, 0u, 0xffffffffu}) {
        test.extra_cases.push_back(
            {mask, base, static_cast<std::uint32_t>(offset)});
      }
    }
  }
  return {test};
}

Tests MaskOfBits(const Spelling& s) {
  const PtxType t = s.type();
  const bool clamp = s.Has("clamp");
  return {Simple(t, {T("u32"), T("u32")}, [=](In v) {
    std::uint64_t a = Low(v[0]) & 0xffffffff, b = Low(v[1]) & 0xffffffff;
    if (clamp) {
      a = a > 32 ? 32 : a;
      b = b > 32 ? 32 : b;
    } else {
      a &= 31;
      b &= 31;
    }
    const Value ones = (static_cast<Value>(1) << b) - 1;
    return Exact(Truncate(ones << a, 32));
  })};
}

Tests ExtendFrom(const Spelling& s) {
  const PtxType t = s.type();
  const bool clamp = s.Has("clamp");
  return {Simple(t, {t, T("u32")}, [=](In v) {
    std::uint64_t n = Low(v[1]) & 0xffffffff;
    if (clamp) {
      n = n > 32 ? 32 : n;
    } else {
      n &= 31;
    }
    if (n == 0) return Exact(0);
    return Exact(t.is_signed()
                     ? static_cast<Value>(SignExtend(v[0], static_cast<int>(n)))
                     : Truncate(v[0], static_cast<int>(n)));
  })};
}

}  // namespace

Tests IntegerReferences(const Spelling& s, std::string_view) {
  const std::string_view op = s.opcode();
  if (s.types().empty()) return {};
  const PtxType t = s.type();
  if (op == "addc" || op == "subc" || op == "madc" ||
      (op == "mad" && s.Has("cc"))) {
    return WithCarry(s);
  }
  if ((op == "mul" || op == "mad") && t.is_int() && t.elements == 1) {
    return MulMad(s);
  }
  if (op == "clmad") {
    return {Simple(t, {t, t, t}, [high = s.Has("hi")](In v) {
      Value product = 0;
      for (int i = 0; i < 64; ++i) {
        if ((v[1] >> i & 1) != 0) product ^= Truncate(v[0], 64) << i;
      }
      return Exact(Truncate((high ? product >> 64 : product) ^ v[2], 64));
    })};
  }
  if (op == "mul24" || op == "mad24") return Mul24(s);
  if (op == "add" || op == "sub") return AddSub(s);
  if (op == "div" || op == "rem") return DivRem(s);
  if (op == "min" || op == "max") return MinMax(s);
  if (op == "popc" || op == "clz" || op == "bfind") return BitCounts(s);
  if (op == "bfe" || op == "bfi") return BitFields(s);
  if (op == "dp4a" || op == "dp2a") return DotProduct(s);
  if (op == "fns") return FindNthSet();
  if (op == "sad" && t.is_int()) {
    return {Simple(t, {t, t, t}, [=](In v) {
      const __int128 a = ValueOf(t, v[0]), b = ValueOf(t, v[1]);
      return Exact(v[2] + static_cast<Value>(a < b ? b - a : a - b));
    })};
  }
  if ((op == "abs" || op == "neg") && t.is_int()) {
    const PtxType element = ElementOf(t);
    return {Elementwise(t, 1, [=](const std::vector<std::uint64_t>& v) {
      const __int128 a = ValueOf(element, v[0]);
      return static_cast<std::uint64_t>(op == "neg" || a < 0 ? -a : a);
    })};
  }
  if (op == "brev") {
    return {Simple(t, {t}, [=](In v) {
      Value d = 0;
      for (int i = 0; i < t.bits; ++i) {
        d |= ((v[0] >> i) & 1) << (t.bits - 1 - i);
      }
      return Exact(d);
    })};
  }
  if (op == "bmsk") return MaskOfBits(s);
  if (op == "szext") return ExtendFrom(s);
  return {};
}

}  // namespace cerberus::exec
