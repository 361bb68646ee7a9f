// Conversions to and from 8-, 6- and 4-bit floats: CDNA3 and RDNA4's FP8 and
// BF8, and gfx950's scaled conversions (CDNA4 ISA, V_CVT_SCALEF32_*). Their
// names say everything: [sr] stochastic rounding, [pk…] how many, to, from.
#include "emulator/vector/small_float.h"

#include <cmath>

#include "emulator/decode/decode.h"
#include "emulator/device/launch.h"
#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

struct Format {
  std::string_view name;
  Small kind;
};
constexpr Format kFormats[] = {{"f32", Small::kF32},   {"f16", Small::kF16},
                               {"bf16", Small::kBf16}, {"fp8", Small::kFp8},
                               {"bf8", Small::kBf8},   {"fp6", Small::kFp6},
                               {"bf6", Small::kBf6},   {"fp4", Small::kFp4}};

bool FormatOf(std::string_view name, Small* kind) {
  for (const Format& f : kFormats) {
    if (f.name == name) {
      *kind = f.kind;
      return true;
    }
  }
  return false;
}

struct Convert {
  Small to = Small::kF32, from = Small::kF32;
  int count = 1;  // elements
  bool stochastic = false, scaled = false, interleave = false;
  bool fnuz = false;
  // Byte or half of the source and of the destination, as op_sel or byte_sel
  // say.
  u8 source = 0, dest = 0;
  bool dest_half = false;
};

bool ParseName(std::string_view name, Convert* c) {
  if (!name.starts_with("v_cvt_")) return false;
  name.remove_prefix(6);
  const auto take = [&name](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  c->scaled = take("scalef32_");
  c->stochastic = take("sr_");
  if (take("2xpk16_")) c->count = 32, c->interleave = true;
  else if (take("pk32_")) c->count = 32;
  else if (take("pk_")) c->count = 2;
  const std::size_t split = name.find('_');
  if (split == std::string_view::npos ||
      !FormatOf(name.substr(0, split), &c->to) ||
      !FormatOf(name.substr(split + 1), &c->from)) {
    return false;
  }
  // The rest of v_cvt_* is arithmetic on ordinary types (valu_convert.cc).
  return SmallBits(c->to) <= 8 || SmallBits(c->from) <= 8;
}

const Convert& Data(const Op& op) {
  return *static_cast<const Convert*>(op.data);
}

u64 Field(const u32* rows, u32 n, u32 lane, int bit, int bits) {
  const u32 word = static_cast<u32>(bit / 32);
  u64 v = rows[word * n + lane] >> (bit % 32);
  if (bit % 32 + bits > 32) {
    v |= static_cast<u64>(rows[(word + 1) * n + lane]) << (32 - bit % 32);
  }
  return v & ((u64{1} << bits) - 1);
}
void SetField(u32* words, int bit, int bits, u64 v) {
  const int word = bit / 32, shift = bit % 32;
  const u64 m = ((u64{1} << bits) - 1) << shift;
  u64 both = words[word] |
             (shift + bits > 32 ? static_cast<u64>(words[word + 1]) << 32 : 0);
  both = (both & ~m) | (v << shift & m);
  words[word] = static_cast<u32>(both);
  if (shift + bits > 32) words[word + 1] = static_cast<u32>(both >> 32);
}

void ExecConvert(Wave& w, const Op& op) {
  const Convert& c = Data(op);
  const u32 n = w.lanes;
  ApplyEnv(w, Env::kF32);
  NearestScope nearest;
  alignas(64) u32 buffer[3][128];
  const u32* rows[3] = {};
  for (int i = 0; i < op.nsrc; ++i) {
    rows[i] = op.src[i].vgpr() ? w.Vgpr(op.src[i])
                               : SourceRow(w, op.src[i], buffer[i]);
  }
  const int from_bits = SmallBits(c.from), to_bits = SmallBits(c.to);
  // A pair of f32 comes in two sources, unless it is rounded stochastically.
  const bool two_sources =
      c.count == 2 && c.from == Small::kF32 && !c.stochastic;
  // The scale is the last source, the random number the one before it (or
  // the last, without scale).
  const u32* const scale = c.scaled ? rows[op.nsrc - 1] : nullptr;
  const u32* const noise =
      c.stochastic ? rows[op.nsrc - (c.scaled ? 2 : 1)] : nullptr;
  const bool saturate = w.mode.fp16_ovfl;
  const int total = c.count * to_bits;
  const u32 words = static_cast<u32>((total + 31) / 32);
  u32* const d = w.Vgpr(op.dst);
  // Results may overwrite the sources of other elements, not of other lanes.
  ForLanes(w.Exec(), [&](u32 lane) {
    double factor = 1;
    if (scale != nullptr) {
      factor = std::ldexp(1.0, static_cast<int>(scale[lane] >> 23 & 255) - 127);
    }
    u32 random = noise != nullptr ? noise[lane] : 0;
    u32 out[33] = {};
    // Results narrower than a register leave the rest of it alone.
    int base = 0;
    if (total < 32) {
      out[0] = d[lane];
      base = c.dest_half ? (c.dest & 1) * 16 : c.dest * 8;
    }
    for (int e = 0; e < c.count; ++e) {
      u64 bits;
      if (two_sources) {
        bits = rows[e][lane];
        if (op.src[e].abs) bits &= 0x7fffffff;
        if (op.src[e].neg) bits ^= 0x80000000;
      } else if (c.interleave) {
        bits = Field(rows[e & 1], n, lane, (e / 2) * 32, 32);
      } else {
        int at = e * from_bits;
        if (from_bits <= 8 && c.count <= 2) {
          at += c.count * from_bits == 16 ? (c.source & 1) * 16 : c.source * 8;
        }
        bits = Field(rows[0], n, lane, at, from_bits);
        if (c.from == Small::kF32) {
          if (op.src[0].abs) bits &= 0x7fffffff;
          if (op.src[0].neg) bits ^= 0x80000000;
        }
      }
      double v = DecodeSmall(bits, c.from, c.fnuz);
      v = SmallBits(c.to) <= 8 ? v / factor : v * factor;
      const u64 result = c.stochastic ? EncodeSmallStochastic(v, c.to, c.fnuz,
                                                              saturate, random)
                                      : EncodeSmall(v, c.to, c.fnuz, saturate);
      random = random << 1 ^ (random >> 31 != 0 ? 197u : 0u);
      SetField(out, base + e * to_bits, to_bits, result);
    }
    for (u32 i = 0; i < words; ++i) d[i * n + lane] = out[i];
  });
}

}  // namespace

int SmallBits(Small kind) {
  switch (kind) {
    case Small::kF32: return 32;
    case Small::kF16:
    case Small::kBf16: return 16;
    case Small::kFp8:
    case Small::kBf8: return 8;
    case Small::kFp6:
    case Small::kBf6: return 6;
    case Small::kFp4: return 4;
  }
  return 32;
}

namespace {

struct Layout {
  int exponent, mantissa, bias;
};
Layout LayoutOf(Small kind) {
  switch (kind) {
    case Small::kFp6: return {2, 3, 1};
    case Small::kBf6: return {3, 2, 3};
    default: return {2, 1, 1};  // fp4
  }
}

// Formats without infinity and NaN: what is too large, and NaN, becomes the
// largest number.
u64 EncodeFinite(double v, Small kind, bool stochastic, u32 random) {
  const Layout l = LayoutOf(kind);
  const u64 sign = std::signbit(v) ? u64{1} << (l.exponent + l.mantissa) : 0;
  const u64 largest = (u64{1} << (l.exponent + l.mantissa)) - 1;
  const double a = std::fabs(v);
  if (a == 0) return sign;
  if (!(a < 1e30)) return sign | largest;
  int e = 0;
  (void)std::frexp(a, &e);
  // The weight of the last kept bit.
  int unit = e - 1 - l.mantissa;
  if (unit < 1 - l.bias - l.mantissa) unit = 1 - l.bias - l.mantissa;
  const double scaled = std::ldexp(a, -unit);
  double q = std::floor(scaled);
  const double rest = scaled - q;
  if (stochastic) {
    q += rest + random * 0x1p-32 >= 1 ? 1 : 0;
  } else {
    q += rest > 0.5 || (rest == 0.5 && std::fmod(q, 2) == 1) ? 1 : 0;
  }
  // Codes of one sign are in the order of their values.
  const int steps = unit - (1 - l.bias - l.mantissa);
  const double code =
      q + static_cast<double>(steps) * std::ldexp(1.0, l.mantissa);
  return sign | (code > static_cast<double>(largest) ? largest
                                                     : static_cast<u64>(code));
}

double DecodeFinite(u64 v, Small kind) {
  const Layout l = LayoutOf(kind);
  const int e = static_cast<int>(v >> l.mantissa) & ((1 << l.exponent) - 1);
  const double m =
      static_cast<double>(v & ((u64{1} << l.mantissa) - 1)) / (1 << l.mantissa);
  const double a =
      e == 0 ? std::ldexp(m, 1 - l.bias) : std::ldexp(1 + m, e - l.bias);
  return (v >> (l.exponent + l.mantissa) & 1) != 0 ? -a : a;
}

}  // namespace

double DecodeSmall(u64 v, Small kind, bool fnuz) {
  switch (kind) {
    case Small::kF32: return F32(static_cast<u32>(v));
    case Small::kF16: return HalfToFloat(static_cast<u16>(v));
    case Small::kBf16: return Bf16ToFloat(static_cast<u16>(v));
    case Small::kFp8: return Fp8ToFloat(static_cast<u8>(v), {3, fnuz});
    case Small::kBf8: return Fp8ToFloat(static_cast<u8>(v), {2, fnuz});
    default: return DecodeFinite(v, kind);
  }
}

u64 EncodeSmall(double v, Small kind, bool fnuz, bool saturate) {
  switch (kind) {
    case Small::kF32: return Bits(static_cast<float>(v));
    case Small::kF16: return DoubleToHalf(v, kNearest);
    case Small::kBf16: return FloatToBf16(static_cast<float>(v));
    case Small::kFp8:
      return FloatToFp8(static_cast<float>(v), {3, fnuz}, saturate);
    case Small::kBf8:
      return FloatToFp8(static_cast<float>(v), {2, fnuz}, saturate);
    default: return EncodeFinite(v, kind, false, 0);
  }
}

u64 EncodeSmallStochastic(double v, Small kind, bool fnuz, bool saturate,
                          u32 random) {
  switch (kind) {
    case Small::kFp8:
      return FloatToFp8Stochastic(static_cast<float>(v), random, {3, fnuz},
                                  saturate);
    case Small::kBf8:
      return FloatToFp8Stochastic(static_cast<float>(v), random, {2, fnuz},
                                  saturate);
    case Small::kFp6:
    case Small::kBf6:
    case Small::kFp4: return EncodeFinite(v, kind, true, random);
    default: return EncodeSmall(v, kind, fnuz, saturate);
  }
}

bool KnowsSmallFloat(std::string_view name) {
  Convert c;
  return ParseName(name, &c);
}

bool DecodeSmallFloat(const Text& text, Program& program, Op* op) {
  Convert c;
  if (!ParseName(text.mnemonic, &c)) return false;
  c.fnuz = program.gen() == Gen::kGfx940;
  op->klass = OpClass::kValu;
  const auto type_of = [](Small kind) {
    return kind == Small::kF32 ? Type::kF32 : Type::kB32;
  };
  op->dst = text.operands.empty()
                ? Operand{}
                : program.ParseOperand(text.operands[0], Type::kWide);
  const std::size_t sources =
      text.operands.empty()
          ? 0
          : std::min<std::size_t>(text.operands.size() - 1, 3);
  for (std::size_t i = 0; i < sources; ++i) {
    op->src[i] = program.ParseOperand(text.operands[i + 1], type_of(c.from));
  }
  op->nsrc = static_cast<u8>(sources);
  // Which byte or half: "byte_sel:2", the SDWA form, or bits of op_sel. A
  // byte of the source is in its first two bits, one of the destination in
  // its last two; a half of either is one bit.
  c.source = c.dest = static_cast<u8>(text.Number("byte_sel", 0) & 3);
  c.dest_half = c.count * SmallBits(c.to) == 16;
  if (const std::string* v = text.Find("op_sel")) {
    const std::vector<int> bits = ParseList(*v);
    const auto bit = [&](std::size_t i) {
      return i < bits.size() && bits[i] != 0 ? 1 : 0;
    };
    c.source = static_cast<u8>(
        bit(0) | (c.count * SmallBits(c.from) == 16 ? 0 : bit(1) << 1));
    c.dest = static_cast<u8>(c.dest_half ? bit(bits.size() - 1)
                                         : bit(2) | bit(3) << 1);
  }
  if (const std::string* v = text.Find("src0_sel")) {
    if (*v == "BYTE_1" || *v == "WORD_1") c.source = 1;
    if (*v == "BYTE_2") c.source = 2;
    if (*v == "BYTE_3") c.source = 3;
  }
  if (text.rest.find(".h") != std::string::npos) c.source = c.dest = 1;
  const bool pair = c.count == 2 && c.from == Small::kF32 && !c.stochastic;
  const std::size_t expected = (pair || c.interleave ? 2u : 1u) +
                               (c.stochastic ? 1u : 0u) + (c.scaled ? 1u : 0u);
  const bool good = op->dst.vgpr() && sources == expected &&
                    !text.Has("clamp") && text.encoding != "dpp" &&
                    (c.count == 1 || op->src[0].vgpr() || pair);
  op->data = program.Keep(c);
  op->handler.store(good ? ExecConvert : ExecUnimplemented,
                    std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
