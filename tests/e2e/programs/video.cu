// Video instructions, of one value and of two or four in a word, against a
// model of PTX ISA 9.0, "Scalar Video Instructions" and "SIMD Video
// Instructions".
//
// RUN: %check %s %t
#include <algorithm>
#include <string>

#include "program.h"

namespace {

// Name, types of d, a and b, the modifiers behind them, the second operation,
// and what stands behind the operands: the parts of d, a and b, and whether
// there is a c. For SIMD a mask of d, and the choices of a and b.
#define C ", %3"
#define INSTRUCTIONS(X)                                                       \
  X("vadd", ".s32", ".s32", ".u32", "", "", "", "", "", "")                   \
  X("vadd", ".s32", ".s32", ".s32", ".sat", "", "", "", "", "")               \
  X("vadd", ".u32", ".u32", ".s32", ".sat", ".add", "", ".b1", ".h1", C)      \
  X("vadd", ".s32", ".u32", ".u32", "", "", ".h1", ".b3", ".b0", C)           \
  X("vsub", ".u32", ".u32", ".u32", ".sat", "", "", "", "", "")               \
  X("vsub", ".s32", ".s32", ".s32", ".sat", "", ".b2", ".h0", ".h1", C)       \
  X("vsub", ".s32", ".u32", ".s32", "", ".max", "", ".b0", ".b1", C)          \
  X("vabsdiff", ".u32", ".s32", ".s32", "", "", "", "", "", "")               \
  X("vabsdiff", ".s32", ".s32", ".s32", ".sat", "", "", "", "", "")           \
  X("vabsdiff", ".u32", ".u32", ".u32", "", ".add", "", ".b2", ".b3", C)      \
  X("vmin", ".s32", ".s32", ".s32", "", ".max", "", "", "", C)                \
  X("vmin", ".u32", ".s32", ".u32", ".sat", "", ".b0", "", ".h0", C)          \
  X("vmax", ".s32", ".u32", ".s32", "", ".min", "", ".h1", ".b3", C)          \
  X("vmax", ".u32", ".u32", ".u32", "", "", ".h0", "", "", C)                 \
  X("vshl", ".s32", ".s32", ".u32", ".clamp", "", "", ".h0", ".b0", "")       \
  X("vshl", ".u32", ".u32", ".u32", ".wrap", ".add", "", "", "", C)           \
  X("vshr", ".s32", ".s32", ".u32", ".wrap", "", "", "", "", "")              \
  X("vshr", ".u32", ".u32", ".u32", ".clamp", "", ".b1", "", ".b2", C)        \
  X("vset", "", ".s32", ".u32", ".lt", "", "", "", "", "")                    \
  X("vset", "", ".s32", ".s32", ".ge", ".add", "", ".b1", ".h1", C)           \
  X("vset", "", ".u32", ".u32", ".ne", "", ".b3", "", "", C)                  \
  X("vmad", ".s32", ".s32", ".s32", "", "", "", ".h0", ".h1", C)              \
  X("vmad", ".s32", ".s32", ".u32", ".sat.shr7", "", "", ".h1", ".b2", C)     \
  X("vmad", ".u32", ".u32", ".u32", ".sat.shr15", "", "", "", ".h0", C)       \
  X("vadd2", ".s32", ".s32", ".s32", "", "", "", "", "", C)                   \
  X("vadd2", ".u32", ".u32", ".u32", ".sat", "", ".h10", "", "", C)           \
  X("vadd2", ".s32", ".u32", ".s32", ".sat", "", ".h1", ".h32", ".h01", C)    \
  X("vsub2", ".s32", ".s32", ".u32", "", ".add", "", ".h02", ".h13", C)       \
  X("vsub2", ".u32", ".u32", ".u32", ".sat", "", ".h0", "", "", C)            \
  X("vavrg2", ".u32", ".u32", ".u32", "", "", "", "", "", C)                  \
  X("vabsdiff2", ".u32", ".s32", ".s32", "", ".add", "", "", "", C)           \
  X("vmin2", ".s32", ".s32", ".s32", "", "", ".h10", "", "", C)               \
  X("vmax2", ".u32", ".u32", ".u32", "", "", "", ".h01", ".h20", C)           \
  X("vset2", "", ".s32", ".u32", ".gt", "", ".h1", "", "", C)                 \
  X("vadd4", ".s32", ".s32", ".s32", ".sat", "", "", "", "", C)               \
  X("vadd4", ".u32", ".s32", ".u32", "", "", ".b20", ".b7531", ".b0246", C)   \
  X("vsub4", ".s32", ".u32", ".u32", "", ".add", "", "", "", C)               \
  X("vsub4", ".u32", ".u32", ".u32", ".sat", "", ".b3", "", ".b4455", C)      \
  X("vavrg4", ".u32", ".u32", ".u32", "", "", "", "", "", C)                  \
  X("vabsdiff4", ".u32", ".u32", ".u32", "", ".add", "", "", "", C)           \
  X("vabsdiff4", ".s32", ".s32", ".s32", ".sat", "", ".b321", "", "", C)      \
  X("vmin4", ".u32", ".u32", ".s32", ".sat", "", "", "", "", C)               \
  X("vmax4", ".s32", ".s32", ".s32", "", "", "", ".b0123", "", C)             \
  X("vset4", "", ".u32", ".u32", ".eq", ".add", "", "", "", C)                \
  X("vset4", "", ".s32", ".s32", ".le", "", ".b31", "", "", C)

struct Instruction {
  std::string name, d, a, b, how, second, d_part, a_part, b_part, c;
};
#define ROW(...) {__VA_ARGS__},
const Instruction kInstructions[] = {INSTRUCTIONS(ROW)};
constexpr int kCount = sizeof(kInstructions) / sizeof(Instruction);
constexpr int kCases = 128;

struct Case {
  std::uint32_t a, b, c;
};

__global__ void Run(const Case* cases, std::uint32_t* out) {
  const Case in = cases[threadIdx.x];
  int n = kCount * threadIdx.x;
#define VIDEO(name, d_type, a_type, b_type, how, second, d_part, a_part, \
              b_part, c_operand)                                         \
  asm(name d_type a_type b_type how second " %0" d_part ", %1" a_part    \
      ", %2" b_part c_operand ";"                                        \
      : "=r"(out[n++])                                                   \
      : "r"(in.a), "r"(in.b), "r"(in.c));
  INSTRUCTIONS(VIDEO)
}

bool IsSigned(const std::string& type) { return type == ".s32"; }
bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// The `bits` low bits of `value`, as a number.
std::int64_t Number(std::uint64_t value, int bits, bool is_signed) {
  value &= (std::uint64_t{1} << bits) - 1;
  const bool negative = is_signed && value >> (bits - 1);
  return std::int64_t(value) - (negative ? std::int64_t{1} << bits : 0);
}

std::int64_t Saturate(std::int64_t value, int bits, bool is_signed) {
  const std::int64_t high = (std::int64_t{1} << (bits - is_signed)) - 1;
  return std::clamp(value, is_signed ? -high - 1 : 0, high);
}

// ".b2" or ".h1": where the part begins and how many bits it has.
int First(const std::string& part) {
  if (part.empty()) return 0;
  return (part[2] - '0') * (part[1] == 'b' ? 8 : 16);
}
int Bits(const std::string& part) {
  return part.empty() ? 32 : part[1] == 'b' ? 8 : 16;
}

std::int64_t Compare(const std::string& how, std::int64_t a, std::int64_t b) {
  return how == ".lt"   ? a < b
         : how == ".le" ? a <= b
         : how == ".gt" ? a > b
         : how == ".ge" ? a >= b
         : how == ".eq" ? a == b
                        : a != b;
}

// The operation alone; `name` without the number of lanes.
std::int64_t Operate(const Instruction& with, const std::string& name,
                     std::int64_t a, std::int64_t b) {
  if (name == "vadd") return a + b;
  if (name == "vsub") return a - b;
  if (name == "vabsdiff") return a > b ? a - b : b - a;
  if (name == "vmin") return std::min(a, b);
  if (name == "vmax") return std::max(a, b);
  if (name == "vavrg") return (a + b + 1) >> 1;
  if (name == "vset") return Compare(with.how, a, b);
  b = Has(with.how, ".clamp") ? std::min<std::int64_t>(b, 32) : b & 31;
  return name == "vshl" ? std::int64_t(std::uint64_t(a) << b) : a >> b;
}

std::uint32_t Scalar(const Instruction& with, const Case& in) {
  const std::int64_t a = Number(std::uint64_t{in.a} >> First(with.a_part),
                                Bits(with.a_part), IsSigned(with.a));
  const std::int64_t b = Number(std::uint64_t{in.b} >> First(with.b_part),
                                Bits(with.b_part), IsSigned(with.b));
  const bool is_signed = IsSigned(with.d);
  const bool saturates = Has(with.how, ".sat");
  const std::int64_t c = Number(in.c, 32, is_signed);
  if (with.name == "vmad") {
    // One operand unsigned and one signed: the product and c are signed.
    const bool any = IsSigned(with.a) || IsSigned(with.b);
    __int128 sum = __int128(a) * b + Number(in.c, 32, any);
    sum >>= Has(with.how, ".shr15") ? 15 : Has(with.how, ".shr7") ? 7 : 0;
    const __int128 high = any ? 0x7fffffff : 0xffffffffu;
    const __int128 low = any ? -high - 1 : 0;
    return saturates ? std::clamp(sum, low, high) : sum;
  }
  std::int64_t value = Operate(with, with.name, a, b);
  const int bits = Bits(with.d_part);
  if (saturates) value = Saturate(value, bits, is_signed);
  if (!with.d_part.empty()) {
    const std::uint32_t mask = ((1u << bits) - 1) << First(with.d_part);
    return (std::uint32_t(value) << First(with.d_part) & mask) |
           (in.c & ~mask);
  }
  value = Number(value, 32, is_signed);
  if (with.second == ".add") value += c;
  if (with.second == ".min") value = std::min(value, c);
  if (with.second == ".max") value = std::max(value, c);
  return value;
}

std::uint32_t Simd(const Instruction& with, const Case& in) {
  const int lanes = with.name.back() - '0', bits = 32 / lanes;
  const std::string name = with.name.substr(0, with.name.size() - 1);
  // The choices, highest lane first, of the lanes of a (0, ...) and b.
  const std::string a_part =
      !with.a_part.empty() ? with.a_part : lanes == 2 ? ".h10" : ".b3210";
  const std::string b_part =
      !with.b_part.empty() ? with.b_part : lanes == 2 ? ".h32" : ".b7654";
  const std::string mask =
      !with.d_part.empty() ? with.d_part : lanes == 2 ? ".h10" : ".b3210";
  const std::uint64_t both = std::uint64_t{in.b} << 32 | in.a;
  const bool is_signed = IsSigned(with.d);
  std::uint32_t merged = in.c, sum = in.c;
  for (int lane = 0; lane < lanes; ++lane) {
    if (mask.find(char('0' + lane), 2) == std::string::npos) continue;
    const int place = 1 + lanes - lane;
    const std::int64_t a = Number(both >> (a_part[place] - '0') * bits, bits,
                                  IsSigned(with.a));
    const std::int64_t b = Number(both >> (b_part[place] - '0') * bits, bits,
                                  IsSigned(with.b));
    std::int64_t value = Operate(with, name, a, b);
    if (Has(with.how, ".sat")) value = Saturate(value, bits, is_signed);
    const std::uint32_t low = (1u << bits) - 1;
    merged = (merged & ~(low << lane * bits)) |
             (std::uint32_t(value) & low) << lane * bits;
    sum += std::uint32_t(value);  // of as many bits as it has
  }
  return with.second == ".add" ? sum : merged;
}

}  // namespace

int main() {
  std::uint32_t random = 1;
  std::vector<Case> cases(kCases);
  for (Case& in : cases) {
    for (std::uint32_t* word : {&in.a, &in.b, &in.c}) {
      *word = 0;
      for (int byte = 0; byte < 4; ++byte) {
        random = random * 1664525 + 1013904223;
        const std::uint32_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
        *word = *word << 8 | (random >> 30 ? random >> 20 & 255
                                           : edges[(random >> 20) % 5]);
      }
    }
  }
  std::uint32_t* out = ToDevice(std::vector<std::uint32_t>(kCases * kCount));
  Run<<<1, kCases>>>(ToDevice(cases), out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<std::uint32_t> got = ToHost(out, kCases * kCount);
  int wrong = 0;
  for (int i = 0; i < kCases; ++i) {
    for (int k = 0; k < kCount; ++k) {
      const Instruction& with = kInstructions[k];
      const char last = with.name.back();
      const std::uint32_t expected = last == '2' || last == '4'
                                         ? Simd(with, cases[i])
                                         : Scalar(with, cases[i]);
      if (got[i * kCount + k] == expected || ++wrong > 20) continue;
      std::printf("%s%s%s%s%s%s %s %s %s of %08x %08x %08x: %08x, expected "
                  "%08x\n",
                  with.name.c_str(), with.d.c_str(), with.a.c_str(),
                  with.b.c_str(), with.how.c_str(), with.second.c_str(),
                  with.d_part.c_str(), with.a_part.c_str(),
                  with.b_part.c_str(), cases[i].a, cases[i].b, cases[i].c,
                  got[i * kCount + k], expected);
    }
  }
  return wrong ? 1 : Pass();
}
