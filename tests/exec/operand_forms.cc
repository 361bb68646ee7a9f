#include "tests/exec/operand_forms.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace cerberus::exec {

const char* Wanted() { return std::getenv("CERBERUS_TEST_OPERANDS"); }

int RegisterBits(ptx::Type type) {
  const int bits = ptx::BitsOf(type);
  return bits <= 1 ? bits : std::max(16, bits);
}

std::string RegisterType(ptx::Type type) {
  return type == ptx::Type::kPred ? ".pred"
                                  : ".b" + std::to_string(RegisterBits(type));
}

std::string Hex(Value v, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%0*llx", digits,
                static_cast<unsigned long long>(Low(v)));
  return text;
}

std::string_view WantedOpcode() {
  const std::string_view wanted = Wanted();
  return wanted.substr(0, wanted.find(':'));
}
int Rounds() {
  if (Wanted() == nullptr) return 1;
  const char* count = std::strchr(Wanted(), ':');
  return count == nullptr ? 2 : std::max(1, std::atoi(count + 1));
}

namespace {

// Small and large numbers; of floats, none that a calculation cannot tell from
// others by what the manual says.
Value ByChance(ptx::Type type, int source, int round) {
  std::uint64_t state = static_cast<std::uint64_t>(round) * 64 +
                        static_cast<std::uint64_t>(source);
  const auto next = [&] {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
  };
  next();
  // Sign, exponent around 1, fraction.
  const auto number = [&](int exponent_bits, int fraction_bits) {
    const std::uint64_t bias = (1ULL << (exponent_bits - 1)) - 1;
    const std::uint64_t exponent = bias - (bias + 1) / 2 + next() % (bias + 1);
    return next() % 2 << (exponent_bits + fraction_bits) |
           exponent << fraction_bits | (next() & ((1ULL << fraction_bits) - 1));
  };
  const auto pair = [&](int bits, int exponent_bits) {
    const int fraction_bits = bits - 1 - exponent_bits;
    const std::uint64_t low = number(exponent_bits, fraction_bits);
    return static_cast<Value>(number(exponent_bits, fraction_bits)) << bits |
           low;
  };
  switch (type) {
    case ptx::Type::kF16: return number(5, 10);
    case ptx::Type::kBF16: return number(8, 7);
    case ptx::Type::kF32:
    case ptx::Type::kTF32: return number(8, 23);
    case ptx::Type::kF64: return number(11, 52);
    case ptx::Type::kF16x2: return pair(16, 5);
    case ptx::Type::kBF16x2: return pair(16, 8);
    case ptx::Type::kF32x2: return pair(32, 8);
    case ptx::Type::kPred: return next() % 2;
    default:
      return Truncate(static_cast<Value>(next()) << 64 | next(),
                      std::max(1, RegisterBits(type)));
  }
}

}  // namespace

Value ValueOf(ptx::Type type, std::string_view name, int source, int round) {
  if (name == "membermask") return 0xffffffff;
  // Another barrier may be waited for by lanes that never come.
  if (name == "barrier") return static_cast<Value>(round) + 1;
  if (name == "threads") return kLanes;
  if (round > 1) return ByChance(type, source, round);
  const std::uint64_t odd = static_cast<std::uint64_t>(source) * 2 + 1;
  switch (ptx::KindOf(type)) {
    case ptx::TypeKind::kPred: return static_cast<Value>((source + round) % 2);
    case ptx::TypeKind::kFloat:
    case ptx::TypeKind::kPackedFloat:
    case ptx::TypeKind::kAltFloat: {
      const float numbers[] = {1.5F, -2.25F};
      const float number = numbers[round] * static_cast<float>(odd + 1) / 2.0F;
      if (ptx::BitsOf(type) == 64 && ptx::IsFloat(type))
        return std::bit_cast<std::uint64_t>(static_cast<double>(number));
      const std::uint32_t single = std::bit_cast<std::uint32_t>(number);
      if (type == ptx::Type::kF32 || type == ptx::Type::kTF32) return single;
      if (type == ptx::Type::kF32x2)
        return static_cast<Value>(single) << 32 | (single ^ 0x80300000U);
      if (type == ptx::Type::kBF16) return single >> 16;
      if (type == ptx::Type::kBF16x2)
        return (single & 0xffff0000U) | (single >> 16 ^ 0x8030U);
      const std::uint32_t half =
          (single >> 16 & 0x8000U) | ((single >> 13) - (112U << 10) & 0x7fffU);
      if (type == ptx::Type::kF16) return half;
      if (type == ptx::Type::kF16x2) return half << 16 | (half ^ 0x8180U);
      return Truncate(0x3a5b2c4d1e6f7081ULL >> (8 * source + round),
                      ptx::BitsOf(type));
    }
    default: break;
  }
  const int bits = RegisterBits(type);
  const Value small = odd + Value{static_cast<std::uint64_t>(round)} * 4;
  if (round == 0) return small;
  const Value pattern = static_cast<Value>(0x9e3779b97f4a7c15ULL) *
                        (odd + static_cast<std::uint64_t>(round));
  return Truncate(pattern, bits);
}

// How a source is written.

// `column`: where a lane's values of this source begin.
std::string LoadInto(const std::string& reg, ptx::Type type,
                     const std::string& space, const std::string& at) {
  if (type != ptx::Type::kPred) {
    return "  ld" + space + RegisterType(type) + " " + reg + ", " + at + ";\n";
  }
  return "  ld" + space + ".b32 %bit, " + at + ";\n  setp.ne.u32 " + reg +
         ", %bit, 0;\n";
}

Written Write(Form form, ptx::Type type, Value v, const std::string& reg,
              const std::string& lane_at, const std::string& param_at) {
  const bool pred = type == ptx::Type::kPred;
  const int bits = RegisterBits(type);
  const std::string width = std::to_string(bits);
  const std::uint64_t low = Low(Truncate(v, std::min(bits, 64)));
  switch (form) {
    case Form::kRegister: return {LoadInto(reg, type, ".global", lane_at), reg};
    case Form::kParameter:
      return {LoadInto(reg, type, ".param", param_at), reg};
    case Form::kSum:
      if (pred || bits > 64) return {};
      return {LoadInto(reg, type, ".global", lane_at) + "  sub.s" + width +
                  " " + reg + ", " + reg + ", 4;\n",
              reg + "+4"};
    case Form::kInverse:
      if (!pred) return {};
      return {LoadInto(reg, type, ".global", lane_at) + "  not.pred " + reg +
                  ", " + reg + ";\n",
              "!" + reg};
    case Form::kHex:
      if (bits > 64) return {};
      return {"", pred ? std::to_string(low & 1) : "0x" + Hex(low)};
    case Form::kNegative:
      if (pred || bits > 64) return {};
      return {"",
              std::to_string(static_cast<std::int64_t>(SignExtend(low, bits)))};
    case Form::kFloat:
      if (ptx::KindOf(type) == ptx::TypeKind::kBit ? bits != 32 && bits != 64
                                                   : !ptx::IsFloat(type)) {
        return {};
      }
      if (bits == 64) return {"", "0d" + Hex(low, 16)};
      if (bits == 32) return {"", "0f" + Hex(low, 8)};
      return {"", "0f" + Hex((low & 0x8000U) << 16 |
                                 ((low & 0x7fffU) + (112U << 10)) << 13,
                             8)};
    case Form::kLane:
      if (bits > 64) return {};
      if (pred) return {"  setp.ne.u32 " + reg + ", %laneid, 0;\n", reg};
      if (bits == 32) return {"  mov.u32 " + reg + ", %laneid;\n", reg};
      return {"  mov.u32 %bit, %laneid;\n  cvt.u" + width + ".u32 " + reg +
                  ", %bit;\n",
              reg};
    case Form::kSpecial:
      if (bits != 32) return {};
      return {"", "%laneid"};
  }
  return {};
}

}  // namespace cerberus::exec
