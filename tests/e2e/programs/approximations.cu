// Approximate functions within the errors that PTX ISA 9.0, "Floating Point
// Instructions", states, the special values of each, and testp.
//
// RUN: %check %s %t -arch=sm_75
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string_view>

#include "program.h"

namespace {

// Name, instruction of %1 (and of %2 for quotients), the exact function of x
// and y, and its error: a bound on |error|, or on |error / exact|.
#define INSTRUCTIONS(X)                                                      \
  X("sin", "sin.approx.f32 %0, %1;", std::sin(x), 0x1p-20, 0)                \
  X("cos", "cos.approx.f32 %0, %1;", std::cos(x), 0x1p-20, 0)                \
  X("lg2", "lg2.approx.f32 %0, %1;", std::log2(x), 0x1p-22, 0x1p-22)         \
  X("ex2", "ex2.approx.f32 %0, %1;", std::exp2(x), 0, 0x1p-22)               \
  X("ex2.ftz", "ex2.approx.ftz.f32 %0, %1;", std::exp2(x), FLT_MIN, 0x1p-22) \
  X("tanh", "tanh.approx.f32 %0, %1;", std::tanh(x), 0, 0x1p-10)             \
  X("rcp", "rcp.approx.f32 %0, %1;", 1 / x, 0, 0x1p-23)                      \
  X("rsqrt", "rsqrt.approx.f32 %0, %1;", 1 / std::sqrt(x), 0, 0x1p-22)       \
  X("sqrt", "sqrt.approx.f32 %0, %1;", std::sqrt(x), 0, 0x1p-22)             \
  X("div", "div.approx.f32 %0, %1, %2;", x / y, 0, 0x1p-22)                  \
  X("div.full", "div.full.f32 %0, %1, %2;", x / y, 0, 0x1p-22)               \
  X("div.rn", "div.rn.f32 %0, %1, %2;", x / y, 0, 0x1p-24)                   \
  X("rcp.rn", "rcp.rn.f32 %0, %1;", 1 / x, 0, 0x1p-24)                       \
  X("sqrt.rn", "sqrt.rn.f32 %0, %1;", std::sqrt(x), 0, 0x1p-24)

struct Instruction {
  const char* name;
  double (*exact)(double x, double y);
  double absolute, relative;
};
#define ROW(name, ptx, exact, absolute, relative) \
  {name, [](double x, [[maybe_unused]] double y) -> double { return exact; }, \
   absolute, relative},
const Instruction kInstructions[] = {INSTRUCTIONS(ROW)};
constexpr int kCount = sizeof(kInstructions) / sizeof(Instruction);

const char* const kTests[] = {"finite",       "infinite", "number",
                              "notanumber", "normal",   "subnormal"};

__global__ void Run(const float* xs, const float* ys, float* out,
                    unsigned* classes, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int n = kCount * i;
#define COMPUTE(name, ptx, exact, absolute, relative) \
  asm(ptx : "=f"(out[n++]) : "f"(xs[i]), "f"(ys[i]));
  INSTRUCTIONS(COMPUTE)
  unsigned bits = 0;
#define TEST(bit, test)                                                       \
  asm("{ .reg .pred p; testp." test ".f32 p, %1; @p or.b32 %0, %0, %2; }"     \
      : "+r"(bits)                                                            \
      : "f"(xs[i]), "n"(1 << bit));
  TEST(0, "finite") TEST(1, "infinite") TEST(2, "number")
  TEST(3, "notanumber") TEST(4, "normal") TEST(5, "subnormal")
  classes[i] = bits;
}

unsigned Classes(float x) {
  const int kind = std::fpclassify(x);
  return (kind != FP_NAN && kind != FP_INFINITE) | (kind == FP_INFINITE) << 1 |
         (kind != FP_NAN) << 2 | (kind == FP_NAN) << 3 |
         (kind == FP_NORMAL || kind == FP_ZERO) << 4 |
         (kind == FP_SUBNORMAL) << 5;
}

// Both NaN, or both the same infinity or zero, or near enough.
bool Within(const Instruction& with, float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got);
  if (std::isinf(exact) || exact == 0) {
    return got == exact &&
           (exact == 0 || std::signbit(got) == std::signbit(exact));
  }
  if (std::isinf(got)) {
    return std::fabs(exact) * (1 + with.relative) > FLT_MAX &&
           std::signbit(got) == std::signbit(exact);
  }
  // What is smaller than the smallest normal number has only so many bits.
  const double spacing = std::fabs(exact) < FLT_MIN ? 0x1p-149 : 0;
  return std::fabs(got - exact) <=
         std::max({with.absolute, with.relative * std::fabs(exact), spacing});
}

}  // namespace

int main() {
  std::vector<float> xs = {0.0f,      -0.0f,   1.0f,     -1.0f,   0.5f,
                           2.0f,      INFINITY, -INFINITY, NAN,     FLT_MIN,
                           -FLT_MIN,  FLT_MAX, -FLT_MAX, 0x1p-149f, 0x1.8p-130f,
                           128.0f,    -126.5f, -150.0f,  1e-3f,   0x1p126f};
  unsigned random = 7;
  const auto next = [&] {
    random = random * 1664525 + 1013904223;
    return random >> 8;
  };
  while (xs.size() < 1024) xs.push_back((int(next()) - (1 << 23)) * 0x1p-21f);
  while (xs.size() < 2048) {  // every exponent
    xs.push_back(std::ldexp(1.0f + next() * 0x1p-24f, int(next() % 250) - 125));
  }
  std::vector<float> ys(xs.rbegin(), xs.rend());
  const int count = xs.size();
  float* out = ToDevice(std::vector<float>(count * kCount));
  unsigned* classes = ToDevice(std::vector<unsigned>(count));
  Run<<<(count + 127) / 128, 128>>>(ToDevice(xs), ToDevice(ys), out, classes,
                                    count);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = ToHost(out, count * kCount);
  const std::vector<unsigned> bits = ToHost(classes, count);
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    for (int test = 0; test < 6; ++test) {
      if ((bits[i] ^ Classes(xs[i])) >> test & 1 && ++wrong < 20) {
        std::printf("testp.%s of %a\n", kTests[test], xs[i]);
      }
    }
    for (int k = 0; k < kCount; ++k) {
      const Instruction& with = kInstructions[k];
      const std::string_view name = with.name;
      const float x = xs[i], y = ys[i];
      // The stated errors hold between -2 pi and 2 pi, and for divisors whose
      // reciprocals are normal.
      if ((name == "sin" || name == "cos") && std::fabs(x) > 6.283f &&
          std::isfinite(x)) {
        continue;
      }
      if (name == "div" && !(std::fabs(y) >= 0x1p-126f &&
                             std::fabs(y) <= 0x1p126f)) {
        continue;
      }
      const double exact = with.exact(x, y);
      if (Within(with, got[i * kCount + k], exact) || ++wrong > 20) continue;
      std::printf("%s of %a, %a: %a, expected %a\n", with.name, x, y,
                  got[i * kCount + k], exact);
    }
  }
  return wrong ? 1 : Pass();
}
