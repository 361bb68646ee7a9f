// Rounding and the treatment of subnormals belong to each instruction, also
// where instructions of several kinds meet in loops, branches and calls.
//
// PTX ISA 9.0, "Rounding Modifiers" and "Floating Point Instructions: add".
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 128;
constexpr int kRounds = 6;

// A sum kept exactly in a double has one rounding left to do. The operands'
// exponents lie close enough for that.
float RoundTo(double exact, int direction) {
  const int before = std::fegetround();
  std::fesetround(direction);
  volatile double input = exact;
  volatile float rounded = static_cast<float>(input);
  std::fesetround(before);
  return rounded;
}

float Flush(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

float Add(float a, float b, int direction, bool ftz) {
  if (ftz) {
    a = Flush(a);
    b = Flush(b);
  }
  const float sum =
      RoundTo(static_cast<double>(a) + static_cast<double>(b), direction);
  return ftz ? Flush(sum) : sum;
}

// Each round of the loop: x = x + y in five ways that follow each other.
float Expected(float x, float y, bool odd) {
  for (int i = 0; i < kRounds; ++i) {
    x = Add(x, y, FE_TONEAREST, false);
    x = Add(x, y, odd ? FE_UPWARD : FE_DOWNWARD, false);
    x = Add(x, y, FE_TONEAREST, true);
    x = Add(x, y, FE_TOWARDZERO, false);
    x = Add(x, y, FE_UPWARD, true);
  }
  return x;
}

// The third and fourth addition stand in functions; `call` is how the first
// of them is called.
std::string Text(const std::string& call) {
  return ".version 8.3\n.target sm_90\n.address_size 64\n"
         ".func (.param .b32 r) nearest_ftz(.param .b32 a, .param .b32 b)\n{\n"
         "  .reg .f32 %f<4>;\n  ld.param.f32 %f0, [a];\n"
         "  ld.param.f32 %f1, [b];\n  add.rn.ftz.f32 %f2, %f0, %f1;\n"
         "  st.param.f32 [r], %f2;\n  ret;\n}\n"
         ".func (.param .b32 r) zero(.param .b32 a, .param .b32 b)\n{\n"
         "  .reg .f32 %f<4>;\n  ld.param.f32 %f0, [a];\n"
         "  ld.param.f32 %f1, [b];\n  add.rz.f32 %f2, %f0, %f1;\n"
         "  st.param.f32 [r], %f2;\n  ret;\n}\n"
         ".global .align 8 .u64 table[1] = {nearest_ftz};\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .b64 %l<8>;\n  .reg .b32 %r<8>;\n  .reg .f32 %f<8>;\n"
         "  .reg .pred %p<4>;\n"
         "  ld.param.u64 %l0, [in];\n  ld.param.u64 %l1, [out];\n"
         "  mov.u32 %r0, %tid.x;\n  mad.wide.u32 %l0, %r0, 8, %l0;\n"
         "  mad.wide.u32 %l1, %r0, 4, %l1;\n"
         "  ld.global.v2.f32 {%f0, %f1}, [%l0];\n  and.b32 %r1, %r0, 1;\n"
         "  setp.ne.u32 %p0, %r1, 0;\n  mov.u32 %r2, 0;\n"
         "LOOP:\n  add.rn.f32 %f0, %f0, %f1;\n"
         "  @%p0 bra UP;\n  add.rm.f32 %f0, %f0, %f1;\n  bra BOTH;\n"
         "UP:\n  add.rp.f32 %f0, %f0, %f1;\n"
         "BOTH:\n"
         "  {\n  .param .b32 a;\n  .param .b32 b;\n  .param .b32 r;\n"
         "  st.param.f32 [a], %f0;\n  st.param.f32 [b], %f1;\n" +
         call +
         "  ld.param.f32 %f0, [r];\n  }\n"
         "  {\n  .param .b32 a;\n  .param .b32 b;\n  .param .b32 r;\n"
         "  st.param.f32 [a], %f0;\n  st.param.f32 [b], %f1;\n"
         "  call (r), zero, (a, b);\n  ld.param.f32 %f0, [r];\n  }\n"
         "  add.rp.ftz.f32 %f0, %f0, %f1;\n"
         "  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %p1, %r2, 6;\n"
         "  @%p1 bra LOOP;\n  st.global.f32 [%l1], %f0;\n  ret;\n}\n";
}

TEST(FloatModesExec, HoldInLoopsBranchesAndCalls) {
  std::mt19937 random(11);
  const auto word = [&] { return static_cast<std::uint32_t>(random()); };
  std::vector<float> in(2 * kThreads);
  for (float& v : in) {
    // Near the smallest normal number: sums are inexact or subnormal.
    const std::uint32_t exponent = word() % 4;
    v = std::bit_cast<float>((word() & 0x80000000u) | exponent << 23 |
                             (word() & 0x7fffffu));
  }
  for (std::uint32_t t = 0; t < kThreads; t += 3) {
    // Far apart: every addition rounds.
    in[2 * t] = std::ldexp(in[2 * t], 20);
  }
  for (const char* call :
       {"  call (r), nearest_ftz, (a, b);\n",
        "  mov.u64 %l4, table;\n  ld.global.u64 %l5, [%l4];\n"
        "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
        "  call (r), %l5, (a, b), P;\n"}) {
    auto module = PtxModule::Compile(Text(call));
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer in_buffer((*module)->device(), 8 * kThreads);
    Buffer out_buffer((*module)->device(), 4 * kThreads);
    std::copy(in.begin(), in.end(), in_buffer.as<float>());
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {in_buffer.address(), out_buffer.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const float want = Expected(in[2 * t], in[2 * t + 1], t % 2 == 1);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out_buffer.as<float>()[t]),
                std::bit_cast<std::uint32_t>(want))
          << t << ": " << in[2 * t] << " + " << in[2 * t + 1];
    }
  }
}

// A product that is -0 and becomes f16 stays -0, whatever it is merged with:
// the target has an instruction that multiplies, adds and rounds to f16.
TEST(FloatModesExec, ZeroProductsKeepTheirSignInHalves) {
  const std::string body =
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %l<4>;\n  .reg .b16 %h<4>;\n  .reg .b32 %r<4>;\n"
      "  .reg .f32 %f<8>;\n"
      "  ld.param.u64 %l0, [in];\n  ld.param.u64 %l1, [out];\n"
      "  ld.global.f32 %f0, [%l0];\n  ld.global.f32 %f1, [%l0+4];\n"
      "  mul.rn.f32 %f2, %f0, %f1;\n  cvt.rn.f16.f32 %h0, %f2;\n"
      "  st.global.b16 [%l1], %h0;\n"
      "  ld.global.b16 %h1, [%l0+8];\n  cvt.f32.f16 %f3, %h1;\n"
      "  mul.rn.f32 %f4, %f3, %f1;\n  cvt.rn.f16.f32 %h2, %f4;\n"
      "  st.global.b16 [%l1+2], %h2;\n"
      "  mul.rn.ftz.f32 %f5, %f1, %f0;\n  mul.rn.f32 %f6, %f1, %f3;\n"
      "  cvt.rn.f16x2.f32 %r1, %f5, %f6;\n  st.global.b32 [%l1+4], %r1;\n"
      "  ret;\n}\n";
  for (const char* target : {"sm_90", "sm_90, debug"}) {
    auto module = PtxModule::Compile(std::string(".version 8.3\n.target ") +
                                     target + "\n.address_size 64\n" + body);
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer in((*module)->device(), 12), out((*module)->device(), 8);
    // -2 * 0, and the f16 0 * -2.
    in.as<float>()[0] = 0.0f;
    in.as<float>()[1] = -2.0f;
    in.as<float>()[2] = 0.0f;
    Launch launch;
    launch.params = {in.address(), out.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(*out.as<std::uint64_t>(), 0x8000800080008000u) << target;
  }
}

// What a product that is stored was rounded by is found by a fused product and
// sum; a difference with it is that of the number which was stored, also where
// it could be fused. (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24.
TEST(FloatModesExec, ProductsThatStayAreRoundedInSums) {
  const std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %l<4>;\n  .reg .f32 %f<8>;\n"
      "  ld.param.u64 %l0, [in];\n  ld.param.u64 %l1, [out];\n"
      "  ld.global.f32 %f0, [%l0];\n  ld.global.f32 %f1, [%l0+4];\n"
      "  mul.f32 %f2, %f0, %f0;\n  sub.f32 %f3, %f1, %f2;\n"
      "  neg.f32 %f4, %f2;\n  fma.rn.f32 %f5, %f0, %f0, %f4;\n"
      "  st.global.f32 [%l1], %f2;\n  st.global.f32 [%l1+4], %f3;\n"
      "  st.global.f32 [%l1+8], %f5;\n  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer in((*module)->device(), 8), out((*module)->device(), 12);
  in.as<float>()[0] = 1 + 0x1p-12f;
  in.as<float>()[1] = 1 + 0x1p-11f;
  Launch launch;
  launch.params = {in.address(), out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(out.as<float>()[0], 1 + 0x1p-11f);
  EXPECT_EQ(out.as<float>()[1], 0);
  EXPECT_EQ(out.as<float>()[2], 0x1p-24f);
}

// Each line computes %f1 from %f0. All of them are .ftz, so that the hardware
// flushes, or none is.
std::string OneByOne(std::span<const char* const> lines) {
  std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %l<2>;\n  .reg .f32 %f<4>;\n  .reg .pred %p;\n"
      "  ld.param.u64 %l0, [in];\n  ld.param.u64 %l1, [out];\n"
      "  ld.global.f32 %f0, [%l0];\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += std::string("  ") + lines[i] + "\n  st.global.f32 [%l1+" +
            std::to_string(4 * i) + "], %f1;\n";
  }
  return text + "  ret;\n}\n";
}

void ExpectEach(std::span<const char* const> lines, std::uint32_t in,
                std::span<const std::uint32_t> want) {
  auto module = PtxModule::Compile(OneByOne(lines));
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer from((*module)->device(), 4);
  Buffer to((*module)->device(), 4 * lines.size());
  *from.as<std::uint32_t>() = in;
  Launch launch;
  launch.params = {from.address(), to.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(to.as<std::uint32_t>()[i], want[i])
        << lines[i] << std::hex << " of 0x" << in;
  }
}

// A float that becomes an integer is held within its range, also where it
// becomes a float again at once, and an integer that was one in between.
TEST(FloatModesExec, ConversionsThereAndBackSaturate) {
  static constexpr const char* kLines[] = {
      "{ .reg .b32 r; cvt.rzi.s32.f32 r, %f0; cvt.rn.f32.s32 %f1, r; }",
      "{ .reg .b32 r; cvt.rzi.u32.f32 r, %f0; cvt.rn.f32.u32 %f1, r; }",
      "{ .reg .b32 r; cvt.rpi.u32.f32 r, %f0; cvt.rn.f32.u32 %f1, r; }",
      "{ .reg .b16 h; cvt.rni.s16.f32 h, %f0; cvt.rn.f32.s16 %f1, h; }",
      "{ .reg .b16 h; cvt.rni.u16.f32 h, %f0; cvt.rn.f32.u16 %f1, h; }",
      "{ .reg .b64 l; cvt.rzi.u64.f32 l, %f0; cvt.rn.f32.u64 %f1, l; }",
      "{ .reg .b64 l; cvt.rzi.s64.f32 l, %f0; cvt.rn.f32.s64 %f1, l; }",
      "{ .reg .f64 d; .reg .b32 r; cvt.f64.f32 d, %f0; cvt.rni.u32.f64 r, d;"
      " cvt.rn.f64.u32 d, r; cvt.rn.f32.f64 %f1, d; }",
      "{ .reg .f64 d; .reg .b32 r; cvt.f64.f32 d, %f0; cvt.rmi.s32.f64 r, d;"
      " cvt.rn.f64.s32 d, r; cvt.rn.f32.f64 %f1, d; }",
      "{ .reg .f64 d; .reg .b32 r; mov.b32 r, %f0; cvt.rn.f64.s32 d, r;"
      " cvt.rzi.u32.f64 r, d; mov.b32 %f1, r; }",
      "{ .reg .f64 d; .reg .b32 r; mov.b32 r, %f0; cvt.rn.f64.u32 d, r;"
      " cvt.rzi.s32.f64 r, d; mov.b32 %f1, r; }",
      "{ .reg .f64 d; .reg .b16 h, g; .reg .b32 r; mov.b32 {g, h}, %f0;"
      " cvt.rn.f64.s16 d, h; cvt.rzi.u16.f64 h, d; cvt.u32.u16 r, h;"
      " mov.b32 %f1, r; }",
      "{ .reg .f32 f; .reg .b16 h, g; .reg .b32 r; mov.b32 {g, h}, %f0;"
      " cvt.rn.f32.s16 f, h; cvt.rzi.u16.f32 h, f; cvt.u32.u16 r, h;"
      " mov.b32 %f1, r; }",
  };
  const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
  ExpectEach(
      kLines, bits(-73.25f),
      std::vector<std::uint32_t>{bits(-73), 0, 0, bits(-73), 0, 0, bits(-73), 0,
                                 bits(-74), 0, 0x7fffffff, 0, 0});
  ExpectEach(
      kLines, bits(1e20f),
      std::vector<std::uint32_t>{
          bits(0x1p31f), bits(0x1p32f), bits(0x1p32f), bits(32767), bits(65535),
          bits(0x1p64f), bits(0x1p63f), bits(0x1p32f), bits(0x1p31f),
          bits(1e20f), bits(1e20f), bits(1e20f) >> 16, bits(1e20f) >> 16});
  ExpectEach(kLines, bits(-1e20f),
             std::vector<std::uint32_t>{bits(-0x1p31f), 0, 0, bits(-32768), 0,
                                        0, bits(-0x1p63f), 0, bits(-0x1p31f), 0,
                                        0x7fffffff, 0, 0});
}

// An operation that changes no other number flushes subnormals all the same.
TEST(FloatModesExec, IdentitiesFlush) {
  constexpr const char* kLines[] = {
      "mul.ftz.f32 %f1, %f0, 0f3F800000;",
      "add.ftz.f32 %f1, %f0, 0f80000000;",
      "fma.rn.ftz.f32 %f1, %f0, 0f3F800000, 0f80000000;",
      "sub.ftz.f32 %f1, 0f80000000, %f0;",
      "mul.ftz.f32 %f1, %f0, 0fBF800000;",
      "div.rn.ftz.f32 %f1, %f0, 0f3F800000;",
      "max.ftz.f32 %f1, %f0, %f0;",
  };
  constexpr std::uint32_t kPlus = 0, kMinus = 0x80000000;
  constexpr std::uint32_t kOfPlus[] = {kPlus,  kPlus, kPlus, kMinus,
                                       kMinus, kPlus, kPlus};
  constexpr std::uint32_t kOfMinus[] = {kMinus, kMinus, kMinus, kPlus,
                                        kPlus,  kMinus, kMinus};
  ExpectEach(kLines, 0x00000001, kOfPlus);
  ExpectEach(kLines, 0x807fffff, kOfMinus);
}

// A number that was read as an integer is compared as one that was not: LLVM
// would compare its bits with those of zero.
TEST(FloatModesExec, ComparisonsOfBitsFlush) {
  constexpr const char* kLines[] = {
      ("{ .reg .b32 %b;\n  ld.volatile.global.u32 %b, [%l0];\n"
       "  mov.b32 %f2, %b;\n  setp.eq.ftz.f32 %p, %f2, 0f00000000;\n"
       "  selp.f32 %f1, 0f3F800000, 0f00000000, %p; }"),
      ("{ .reg .b32 %b;\n  ld.volatile.global.u32 %b, [%l0];\n"
       "  mov.b32 %f2, %b;\n  mov.f32 %f3, 0f80000000;\n"
       "  setp.neu.ftz.f32 %p, %f3, %f2;\n"
       "  selp.f32 %f1, 0f3F800000, 0f00000000, %p; }"),
      ("{ .reg .b32 %b;\n  ld.volatile.global.u32 %b, [%l0];\n"
       "  mov.b32 %f2, %b;\n  set.neu.ftz.f32.f32 %f1, %f2, 0f00000000; }"),
  };
  constexpr std::uint32_t kSame[] = {0x3f800000, 0, 0};
  constexpr std::uint32_t kOther[] = {0, 0x3f800000, 0x3f800000};
  for (const std::uint32_t zero : {0u, 0x80000000u, 1u, 0x807fffffu})
    ExpectEach(kLines, zero, kSame);
  ExpectEach(kLines, 0x00800000, kOther);
  ExpectEach(kLines, 0x7fc00000, kOther);
}

// A selection is no minimum: it keeps its operands' bits, and -0 is not less
// than +0.
TEST(FloatModesExec, SelectionsKeepBits) {
  constexpr const char* kFlushing[] = {
      "setp.lt.ftz.f32 %p, %f0, 0f3F000000;\n"
      "  selp.f32 %f1, %f0, 0f3F000000, %p;",
      "setp.gt.ftz.f32 %p, %f0, 0fBF000000;\n"
      "  selp.f32 %f1, %f0, 0fBF000000, %p;",
      "setp.lt.ftz.f32 %p, %f0, 0f00000000;\n"
      "  selp.f32 %f1, %f0, 0f00000000, %p;",
  };
  constexpr std::uint32_t kFlushed[] = {0x80000001, 0x80000001, 0};
  ExpectEach(kFlushing, 0x80000001, kFlushed);
  constexpr const char* kOthers[] = {
      "setp.lt.f32 %p, %f0, 0f00000000;\n"
      "  selp.f32 %f1, %f0, 0f00000000, %p;",
      "setp.gtu.f32 %p, %f0, 0f00000000;\n"
      "  selp.f32 %f1, 0f00000000, %f0, %p;",
      "setp.lt.f32 %p, %f0, 0f3F000000;\n"
      "  selp.f32 %f1, %f0, 0f3F000000, %p;",
  };
  constexpr std::uint32_t kOfMinusZero[] = {0, 0x80000000, 0x80000000};
  ExpectEach(kOthers, 0x80000000, kOfMinusZero);
  constexpr std::uint32_t kOfSubnormal[] = {0x80000001, 0x80000001, 0x80000001};
  ExpectEach(kOthers, 0x80000001, kOfSubnormal);
}

// bf16 has the subnormals of f32. A conversion without .ftz keeps them, rounded
// to nearest even, also where everything else flushes.
TEST(FloatModesExec, ConversionsToHalvesKeepSubnormals) {
  constexpr const char* kLines[] = {
      "{ .reg .b16 %h;\n  mul.ftz.f32 %f2, %f0, 0f3F800000;\n"
      "  cvt.rn.bf16.f32 %h, %f0;\n  mov.b32 %f1, {%h, %h}; }",
      "{ .reg .b32 %b;\n  mul.ftz.f32 %f2, %f0, 0f3F800000;\n"
      "  cvt.rn.bf16x2.f32 %b, %f0, %f2;\n  mov.b32 %f1, %b; }",
      "{ .reg .b16 %h;\n  mul.ftz.f32 %f2, %f0, 0f3F800000;\n"
      "  cvt.rn.f16.f32 %h, %f0;\n  mov.b32 %f1, {%h, %h}; }",
  };
  struct Case {
    std::uint32_t input, want[3];
  };
  constexpr Case kCases[] = {
      {0x00400000, {0x00400040, 0x00400000, 0}},
      {0x80418000, {0x80428042, 0x80428000, 0x80008000}},
      {0x00408000, {0x00400040, 0x00400000, 0}},
      {0x00408001, {0x00410041, 0x00410000, 0}},
      {0x007fffff, {0x00800080, 0x00800000, 0}},
      {0x3f808000, {0x3f803f80, 0x3f803f80, 0x3c043c04}},
      {0x7f7fffff, {0x7f807f80, 0x7f807f80, 0x7c007c00}},
      {0xff800000, {0xff80ff80, 0xff80ff80, 0xfc00fc00}},
  };
  for (const Case& one : kCases) ExpectEach(kLines, one.input, one.want);
}

// So do subnormal constants, which the compiler computes with.
TEST(FloatModesExec, ConstantsFlush) {
  constexpr const char* kLines[] = {
      "mov.f32 %f2, 0f00000001;\n"
      "  fma.rn.ftz.f32 %f1, %f2, 0f7F000000, 0f3F800000;",
      "add.ftz.f32 %f1, 0f007FFFFF, 0f007FFFFF;",
      "mov.f32 %f2, 0f807FFFFF;\n  setp.lt.ftz.f32 %p, %f2, 0f00000001;\n"
      "  selp.f32 %f1, 0f3F800000, 0f00000000, %p;",
      "setp.eq.ftz.f32 %p, 0f00000001, 0f80000000;\n"
      "  selp.f32 %f1, 0f3F800000, 0f00000000, %p;",
  };
  constexpr std::uint32_t kWant[] = {0x3f800000, 0, 0, 0x3f800000};
  ExpectEach(kLines, 0, kWant);
}

}  // namespace
}  // namespace cerberus::exec
