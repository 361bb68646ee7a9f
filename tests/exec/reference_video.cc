// PTX ISA 9.0, "Video Instructions", written along its pseudo-code.
#include "tests/exec/reference_internal.h"

namespace cerberus::exec {
namespace {

using Wide = __int128;

// .b2, .h1 or nothing.
struct Part {
  std::string name;
  int shift = 0;
  int bits = 32;
};
const Part kParts[] = {{"", 0, 32},    {".b0", 0, 8},  {".b1", 8, 8},
                       {".b2", 16, 8}, {".b3", 24, 8}, {".h0", 0, 16},
                       {".h1", 16, 16}};

Wide Select(Value v, const Part& part, const PtxType& type) {
  const Value bits = Truncate(v >> part.shift, part.bits);
  return type.is_signed() ? static_cast<Wide>(SignExtend(bits, part.bits))
                          : static_cast<Wide>(bits);
}

Wide Clamp(Wide v, int bits, bool is_signed) {
  const Wide one = 1;
  const Wide high = is_signed ? (one << (bits - 1)) - 1 : (one << bits) - 1;
  const Wide low = is_signed ? -(one << (bits - 1)) : 0;
  return v < low ? low : v > high ? high : v;
}

bool Holds(std::string_view cmp, Wide a, Wide b) {
  if (cmp == "eq") return a == b;
  if (cmp == "ne") return a != b;
  if (cmp == "lt") return a < b;
  if (cmp == "le") return a <= b;
  if (cmp == "gt") return a > b;
  return a >= b;
}

std::string_view CompareOf(const Spelling& s) {
  return s.OneOf({"eq", "ne", "lt", "le", "gt", "ge"});
}

// The operation that the opcode names, without a number behind it.
Wide Apply(std::string_view op, const Spelling& s, Wide a, Wide b) {
  if (op == "vadd") return a + b;
  if (op == "vsub") return a - b;
  if (op == "vavrg") return (a + b >= 0 ? a + b + 1 : a + b) >> 1;
  if (op == "vabsdiff") return a < b ? b - a : a - b;
  if (op == "vmin") return a < b ? a : b;
  if (op == "vmax") return a < b ? b : a;
  if (op == "vset") return Holds(CompareOf(s), a, b) ? 1 : 0;
  if (s.Has("wrap")) {
    b &= 31;
  } else if (b > 32) {
    b = 32;
  }
  return op == "vshl" ? a << static_cast<int>(b) : a >> static_cast<int>(b);
}

// The secondary operation behind the types: the first .add, .min or .max.
std::string_view SecondOf(const Spelling& s) {
  return s.OneOf({"add", "min", "max"});
}

Tests Scalar(const Spelling& s, std::size_t operands) {
  const std::string_view op = s.opcode();
  const bool sets = op == "vset";
  const PtxType result = sets ? T("u32") : s.type(0);
  const PtxType ta = s.type(sets ? 0 : 1), tb = s.type(sets ? 1 : 2);
  const std::string_view second = SecondOf(s);
  const bool merges = operands == 3 && second.empty();
  Tests tests;
  // Whole words, then parts; which ones changes with the spelling.
  const std::size_t turn = s.text().size() + 3 * s.text()[5];
  for (std::size_t round = 0; round < 3; ++round) {
    const Part a = round == 0 ? kParts[0] : kParts[(turn + round) % 7];
    const Part b = round == 0 ? kParts[0] : kParts[(turn / 2 + round) % 7];
    const Part d = !merges ? kParts[0] : kParts[1 + (turn / 3 + 2 * round) % 6];
    ValueTest test;
    test.outputs = {T("b32")};
    test.inputs = {T("b32"), T("b32")};
    test.body =
        s.text() + " %d0" + d.name + ", %a0" + a.name + ", %a1" + b.name;
    if (operands == 3) {
      test.inputs.push_back(T("b32"));
      test.body += ", %a2";
    }
    test.body += ";";
    test.expect = [=](In v) -> std::vector<Want> {
      Wide t = Apply(op, s, Select(v[0], a, ta), Select(v[1], b, tb));
      if (s.Has("sat")) t = Clamp(t, d.bits, result.is_signed());
      if (operands == 3) {
        const Wide c = Select(v[2], kParts[0], result);
        if (second == "add") t += c;
        if (second == "min") t = t < c ? t : c;
        if (second == "max") t = t < c ? c : t;
        if (merges) {
          const Value mask = Truncate(~Value{0}, d.bits) << d.shift;
          return {Exact(((static_cast<Value>(t) << d.shift) & mask) |
                        (Truncate(v[2], 32) & ~mask))};
        }
      }
      return {Exact(Truncate(static_cast<Value>(t), 32))};
    };
    tests.push_back(std::move(test));
  }
  return tests;
}

Tests MulAdd(const Spelling& s) {
  const PtxType ta = s.type(1), tb = s.type(2);
  const bool plus_one = s.Has("po");
  const std::string_view scale = s.OneOf({"shr7", "shr15"});
  const int shift = scale == "shr7" ? 7 : scale == "shr15" ? 15 : 0;
  struct Form {
    const char* a;
    const char* b;
    const char* c;
    Part pa, pb;
  };
  const Form forms[] = {{"", "", "", kParts[0], kParts[0]},
                        {"", "", "", kParts[6], kParts[2]},
                        {"-", "", "", kParts[0], kParts[5]},
                        {"", "-", "", kParts[0], kParts[0]},
                        {"", "", "-", kParts[0], kParts[0]}};
  Tests tests;
  for (const Form& form : forms) {
    const bool negative = *form.a != *form.b;
    const bool negative_c = *form.c != 0;
    if (plus_one && (negative || negative_c)) continue;
    ValueTest test;
    test.outputs = {T("b32")};
    test.inputs = {T("b32"), T("b32"), T("b32")};
    test.body = s.text() + " %d0, " + form.a + "%a0" + form.pa.name + ", " +
                form.b + "%a1" + form.pb.name + ", " + form.c + "%a2;";
    test.expect = [=](In v) -> std::vector<Want> {
      const bool is_signed =
          ta.is_signed() || tb.is_signed() || negative || negative_c;
      Wide tmp = Select(v[0], form.pa, ta) * Select(v[1], form.pb, tb);
      Value c = Truncate(v[2], 32);
      int lsb = 0;
      if (plus_one) {
        lsb = 1;
      } else if (negative) {
        tmp = ~tmp;
        lsb = 1;
      } else if (negative_c) {
        c = Truncate(~c, 32);
        lsb = 1;
      }
      tmp += (is_signed ? static_cast<Wide>(SignExtend(c, 32))
                        : static_cast<Wide>(c)) +
             lsb;
      tmp >>= shift;
      if (s.Has("sat")) tmp = Clamp(tmp, 32, is_signed);
      return {Exact(Truncate(static_cast<Value>(tmp), 32))};
    };
    tests.push_back(std::move(test));
  }
  return tests;
}

Tests Simd(const Spelling& s) {
  const std::string_view name = s.opcode();
  const int lanes = name.back() - '0';
  const std::string_view op = name.substr(0, name.size() - 1);
  const int bits = 32 / lanes;
  const bool sets = op == "vset";
  const PtxType result = sets ? T("u32") : s.type(0);
  const PtxType ta = s.type(sets ? 0 : 1), tb = s.type(sets ? 1 : 2);
  const bool accumulates = !SecondOf(s).empty();
  const char letter = lanes == 2 ? 'h' : 'b';
  // Lanes, the most significant first; masks as the manual spells them.
  struct Form {
    std::string a, b, mask;
  };
  const std::vector<Form> forms =
      lanes == 2 ? std::vector<Form>{{"", "", ""},
                                     {"21", "03", "1"},
                                     {"33", "", "0"},
                                     {"", "12", "10"}}
                 : std::vector<Form>{{"", "", ""},
                                     {"7061", "2354", "20"},
                                     {"0000", "", "3"},
                                     {"", "7777", "321"}};
  Tests tests;
  for (const Form& form : forms) {
    const auto suffix = [&](const std::string& digits) {
      return digits.empty() ? "" : std::string(".") + letter + digits;
    };
    ValueTest test;
    test.outputs = {T("b32")};
    test.inputs = {T("b32"), T("b32"), T("b32")};
    test.body = s.text() + " %d0" + suffix(form.mask) + ", %a0" +
                suffix(form.a) + ", %a1" + suffix(form.b) + ", %a2;";
    test.expect = [=](In v) -> std::vector<Want> {
      const auto lane = [&](const std::string& digits, int first, int i,
                            const PtxType& type) {
        const int from =
            digits.empty()
                ? first + i
                : digits[static_cast<std::size_t>(lanes - 1 - i)] - '0';
        Part part;
        part.bits = bits;
        part.shift = bits * (from % lanes);
        return Select(from < lanes ? v[0] : v[1], part, type);
      };
      const Value c = Truncate(v[2], 32);
      Value d = accumulates ? c : 0;
      for (int i = 0; i < lanes; ++i) {
        const bool on =
            form.mask.empty() ||
            form.mask.find(static_cast<char>('0' + i)) != std::string::npos;
        const Value field = Truncate(~Value{0}, bits) << (bits * i);
        Wide t =
            Apply(op, s, lane(form.a, 0, i, ta), lane(form.b, lanes, i, tb));
        if (s.Has("sat")) t = Clamp(t, bits, result.is_signed());
        if (accumulates) {
          if (on) d += static_cast<Value>(t);
        } else {
          d |= on ? (static_cast<Value>(t) << (bits * i)) & field : c & field;
        }
      }
      return {Exact(Truncate(d, 32))};
    };
    tests.push_back(std::move(test));
  }
  return tests;
}

}  // namespace

Tests VideoReferences(const Spelling& s, std::string_view operands) {
  const std::string_view op = s.opcode();
  if (op.size() < 4 || op[0] != 'v' || op == "vote") return {};
  if (op == "vmad") return MulAdd(s);
  if (op.back() == '2' || op.back() == '4') return Simd(s);
  return Scalar(s, operands.find(",c") == std::string_view::npos ? 2 : 3);
}

}  // namespace cerberus::exec
