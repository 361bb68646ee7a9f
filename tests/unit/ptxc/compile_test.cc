// The compiler through its C API: what comes out for what goes in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cerberus/ptxc.h"
#include "tests/unit/ptxc/compile_runner.h"

namespace {

using cerberus::ptx::Compile;
using cerberus::ptx::Compiled;
using cerberus::ptx::Kernel;
using cerberus::ptx::Module;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Asm(const std::string& ptx) {
  const Compiled c = Compile(ptx, CERBERUS_PTXC_EMIT_ASM);
  EXPECT_EQ(c.status, CERBERUS_PTXC_OK) << c.errors.size();
  EXPECT_THAT(c.errors, IsEmpty());
  return c.output;
}

const char kStore[] = "  st.global.u32 [%rd0], 7;\n";

TEST(Compile, GivesALinkedCodeObject) {
  const Compiled c =
      Compile(Module(Kernel("k", kStore)), CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_EQ(c.status, CERBERUS_PTXC_OK);
  EXPECT_THAT(c.kernels, ElementsAre("k"));
  ASSERT_GT(c.output.size(), 64u);
  // ELF header: e_ident[OSABI] 64 is AMDGPU_HSA, [ABIVERSION] 3 is code
  // object v5, e_type 3 a shared object, e_machine 224 AMDGPU.
  EXPECT_EQ(c.output.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(static_cast<unsigned char>(c.output[7]), 64);
  EXPECT_EQ(static_cast<unsigned char>(c.output[8]), 3);
  EXPECT_EQ(c.output[16], 3);
  EXPECT_EQ(static_cast<unsigned char>(c.output[18]), 224);
}

TEST(Compile, EveryKindOfOutput) {
  const std::string ptx = Module(Kernel("k", kStore));
  EXPECT_THAT(Compile(ptx, CERBERUS_PTXC_EMIT_LL).output,
              HasSubstr("define protected amdgpu_kernel void @k("));
  EXPECT_THAT(Compile(ptx, CERBERUS_PTXC_EMIT_LL_RAW).output,
              HasSubstr("alloca i64"));
  EXPECT_THAT(Compile(ptx, CERBERUS_PTXC_EMIT_ASM).output,
              HasSubstr("global_store_b32"));
  // A relocatable object: e_type 1.
  EXPECT_EQ(Compile(ptx, CERBERUS_PTXC_EMIT_OBJ).output[16], 1);
}

// docs/launch-abi.md, "Kernel arguments".
TEST(Compile, ArgumentsLieAtThePtxOffsets) {
  const std::string text =
      Asm(Module(".visible .entry k(.param .u8 a, .param .align 8 .b8 b[12],\n"
                 "  .param .f64 c, .param .u16 d)\n{\n  ret;\n}\n"));
  const auto argument = [&](const std::string& name, int offset, int size) {
    return HasSubstr(".name:           " + name +
                     "\n        .offset:         " + std::to_string(offset) +
                     "\n        .size:           " + std::to_string(size) +
                     "\n");
  };
  EXPECT_THAT(text, argument("a", 0, 1));
  EXPECT_THAT(text, argument("b", 8, 12));
  EXPECT_THAT(text, argument("c", 24, 8));
  EXPECT_THAT(text, argument("d", 32, 2));
  EXPECT_THAT(text, argument("__cerberus_launch", 40, 48));
  EXPECT_THAT(text, HasSubstr(".offset:         88\n        .size:           "
                              "4\n        .value_kind:     "
                              "hidden_block_count_x"));
}

TEST(Compile, LaunchBoundsReachTheBackendAndTheInfoSection) {
  const std::string text = Asm(Module(
      ".visible .entry k() .maxntid 128, 2, 1 .minnctapersm 2\n{\n  ret;\n}\n"
      ".visible .entry r() .reqntid 64\n{\n  ret;\n}\n"));
  EXPECT_THAT(text, HasSubstr(".max_flat_workgroup_size: 256"));
  EXPECT_THAT(text, HasSubstr(".max_flat_workgroup_size: 64"));
  EXPECT_THAT(text, AllOf(HasSubstr(".cerberus.info"), HasSubstr("maxntid"),
                          HasSubstr("reqntid"), HasSubstr("minnctapersm")));
}

TEST(Compile, ModuleVariablesAreSymbolsWithTheirSize) {
  const std::string text =
      Asm(Module(".visible .global .align 4 .u32 counter[3] = {1, 2, 3};\n"
                 ".const .align 8 .b8 table[24];\n"
                 ".global .u64 self = counter;\n" +
                 Kernel("k",
                        "  ld.const.u32 %r0, [table+4];\n"
                        "  st.global.u32 [%rd0], %r0;\n")));
  EXPECT_THAT(
      text,
      AllOf(HasSubstr(".size\tcounter, 12"), HasSubstr(".size\ttable, 24"),
            HasSubstr("\t.quad\tcounter"), HasSubstr(".protected\ttable")));
  // A constant does not change during a launch: a scalar load.
  EXPECT_THAT(text, HasSubstr("s_load_b32"));
}

// Kernels read where a managed variable is, for the host decides; so do those
// that are compiled in another part of the module, behind 3,000 instructions.
TEST(Compile, ManagedVariablesAreWhereTheHostHasThem) {
  const std::string variable =
      ".visible .global .attribute(.managed) .align 4 .u32 total = 7;\n";
  const std::string adds =
      "  ld.global.u32 %r0, [total];\n"
      "  add.u32 %r0, %r0, 1;\n"
      "  st.global.u32 [total], %r0;\n";
  const std::string text = Asm(Module(variable + Kernel("k", adds)));
  EXPECT_THAT(text,
              AllOf(HasSubstr(".size\ttotal, 4"),
                    HasSubstr("__cerberus_managed.total:\n\t.quad\ttotal"),
                    HasSubstr("__cerberus_managed.total@rel32@lo"),
                    Not(HasSubstr("\ttotal@rel32"))));
  std::string much;
  for (int i = 0; i < 1001; ++i) much += adds;
  const Compiled parts =
      Compile(Module(variable + Kernel("k", much) + Kernel("l", much)),
              CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_THAT(parts.errors, IsEmpty());
  EXPECT_THAT(parts.output, HasSubstr("__cerberus_managed.total"));
  EXPECT_THAT(Compile(Module(variable + ".global .u64 p = total;\n" +
                             Kernel("k", adds)),
                      CERBERUS_PTXC_EMIT_LL)
                  .errors,
              ElementsAre(HasSubstr("the address of 'total' is no constant, "
                                    "since it is managed")));
}

TEST(Compile, NothingRoundedIsContracted) {
  const std::string text = Asm(Module(
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd;\n"
      "  .reg .f32 %f<4>;\n  ld.param.u64 %rd, [p];\n"
      "  ld.global.f32 %f0, [%rd];\n  ld.global.f32 %f1, [%rd+4];\n"
      "  ld.global.f32 %f2, [%rd+8];\n  mul.rn.f32 %f3, %f0, %f1;\n"
      "  add.f32 %f3, %f3, %f2;\n  st.global.f32 [%rd], %f3;\n  ret;\n}\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("mul_f32"), HasSubstr("add_f32"),
                          Not(HasSubstr("fma"))));
}

TEST(Compile, TheHardwareFlushesIfAllDo) {
  const auto kernel = [](const char* second) {
    return Module(
        std::string(
            ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd;\n"
            "  .reg .f32 %f<4>;\n  ld.param.u64 %rd, [p];\n"
            "  ld.global.f32 %f0, [%rd];\n  ld.global.f32 %f1, [%rd+4];\n"
            "  mul.ftz.f32 %f2, %f0, %f1;\n  ") +
        second + " %f3, %f2, %f0;\n  st.global.f32 [%rd], %f3;\n  ret;\n}\n");
  };
  EXPECT_THAT(Asm(kernel("add.ftz.f32")),
              HasSubstr(".amdhsa_float_denorm_mode_32 0"));
  const std::string mixed = Asm(kernel("add.f32"));
  EXPECT_THAT(mixed, HasSubstr(".amdhsa_float_denorm_mode_32 3"));
  EXPECT_THAT(mixed, HasSubstr("v_cmp_class_f32"));
}

// ---- Errors -----------------------------------------------------------------

const char kUnknownRow[] = "  fence.proxy.fabric::fabric.alias.release.sys;\n";

TEST(Compile, UnsupportedInstructionsNameThemselvesAndTheirPlace) {
  const Compiled c =
      Compile(Module(".file 1 \"scan.cu\"\n" +
                     Kernel("_Z4scanPi", std::string("  .loc 1 42 3\n") +
                                             kUnknownRow + kUnknownRow)),
              CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_EQ(c.status, CERBERUS_PTXC_UNSUPPORTED);
  EXPECT_TRUE(c.output.empty());
  // Both are reported in one run.
  ASSERT_THAT(c.errors, SizeIs(2));
  EXPECT_THAT(
      c.errors[0],
      AllOf(HasSubstr("in.ptx"), HasSubstr("scan(int*)"),
            HasSubstr("in.ptx:12:"), HasSubstr("scan.cu:42"),
            HasSubstr("'fence.proxy.fabric::fabric.alias.release.sys'")));
}

TEST(Compile, KeepGoingLeavesTheKernelOutAndSaysWhy) {
  const Compiled c =
      Compile(Module(Kernel("good", kStore) + Kernel("bad", kUnknownRow) +
                     ".func helper()\n{\n" + kUnknownRow + "  ret;\n}\n" +
                     Kernel("caller", "  call helper;\n")),
              CERBERUS_PTXC_EMIT_HSACO, true);
  EXPECT_EQ(c.status, CERBERUS_PTXC_SOME_KERNELS_FAILED);
  EXPECT_THAT(c.kernels, ElementsAre("good"));
  EXPECT_THAT(c.failed, ElementsAre("bad", "caller"));
  ASSERT_THAT(c.reasons, SizeIs(2));
  EXPECT_THAT(c.reasons[0],
              HasSubstr("fence.proxy.fabric::fabric.alias.release.sys"));
  EXPECT_THAT(c.reasons[1], HasSubstr("helper"));
  EXPECT_THAT(c.output, HasSubstr("failed"));
}

TEST(Compile, AnUndefinedFunctionIsNamed) {
  const Compiled c = Compile(Module(".extern .func elsewhere();\n" +
                                    Kernel("k", "  call elsewhere;\n")),
                             CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_EQ(c.status, CERBERUS_PTXC_UNSUPPORTED);
  ASSERT_THAT(c.errors, SizeIs(1));
  EXPECT_THAT(c.errors[0], HasSubstr("elsewhere"));
}

TEST(Compile, AnUndefinedVariableIsNamed) {
  const Compiled c =
      Compile(Module(".extern .global .u32 elsewhere[];\n" +
                     Kernel("k", "  st.global.u32 [elsewhere], 1;\n")),
              CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_EQ(c.status, CERBERUS_PTXC_UNSUPPORTED);
  ASSERT_THAT(c.errors, SizeIs(1));
  EXPECT_THAT(c.errors[0], HasSubstr("elsewhere"));
}

// What the hardware cannot give to a thread is said with the array's line, and
// costs its kernel alone.
TEST(Compile, LocalMemoryHasALimit) {
  const auto large = [](const std::string& name, int bytes) {
    return Kernel(name,
                  "  .local .align 4 .b8 small[100];\n"
                  "  .local .align 4 .b8 large[" +
                      std::to_string(bytes) +
                      "];\n  ld.global.u32 %r0, [%rd0];\n"
                      "  mov.u32 %r1, large;\n  add.u32 %r1, %r1, %r0;\n"
                      "  st.local.u32 [%r1], %r0;\n"
                      "  ld.local.u32 %r2, [large+8];\n"
                      "  st.global.u32 [%rd0], %r2;\n");
  };
  const struct {
    const char* arch;
    int most;
  } kTargets[] = {{"gfx1100", 262136},
                  {"gfx942", 131056},
                  {"gfx1030", 262112},
                  {"gfx90a", 131056}};
  for (const auto& [arch, most] : kTargets) {
    const Compiled c =
        Compile(Module(large("good", most - 4096) + large("bad", 400000)),
                CERBERUS_PTXC_EMIT_HSACO, true, arch);
    EXPECT_THAT(c.kernels, ElementsAre("good")) << arch;
    EXPECT_THAT(c.failed, ElementsAre("bad")) << arch;
    ASSERT_THAT(c.warnings, SizeIs(1)) << arch;
    EXPECT_EQ(c.warnings[0],
              "in.ptx:27:23: kernel 'bad': its local memory takes 400000 bytes "
              "of a thread, " +
                  std::string(arch) + " has " + std::to_string(most) +
                  "; 'large' takes 400000");
  }
}

// CUB's look-back passes a state and a value as one pair.
TEST(Compile, AnUndefinedFunctionHasNoAddress) {
  const std::string head = Module(".func nowhere();\n");
  const std::string use = Kernel("k", "  mov.u64 %rd1, nowhere;\n");
  EXPECT_THAT(Compile(head + use, CERBERUS_PTXC_EMIT_LL).errors,
              ElementsAre("in.ptx:11:3: kernel 'k': 'mov.u64': 'nowhere' is "
                          "declared but defined nowhere"));
  // Whoever reads the variable would read nonsense: no kernel to leave out.
  const std::string table = ".global .u64 table[2] = {1, nowhere};\n";
  EXPECT_THAT(Compile(head + table + Kernel("k", ""), CERBERUS_PTXC_EMIT_LL,
                      /*keep_going=*/true)
                  .errors,
              ElementsAre("in.ptx:5:29: 'nowhere' is declared but "
                          "defined nowhere"));
}

TEST(Compile, AddressesInInitialisersAreWhole) {
  const auto with = [](const std::string& variable) {
    return Module(".global .b32 x;\n" + variable + "\n" + Kernel("k", ""));
  };
  // nvcc writes packed structs byte by byte.
  const Compiled whole = Compile(
      with(".global .align 1 .b8 s[9] = {7, 0xFF(x), 0xFF00(x), 0xFF0000(x), "
           "0xFF000000(x), 0xFF00000000(x), 0xFF0000000000(x), "
           "0xFF000000000000(x), 0xFF00000000000000(x)};"),
      CERBERUS_PTXC_EMIT_LL);
  EXPECT_THAT(whole.errors, IsEmpty());
  EXPECT_THAT(whole.output, HasSubstr("<{ [1 x i8] c\"\\07\", i64 ptrtoint"));
  for (const char* variable :
       {".global .b8 s = 0xFF(x);", ".global .u32 s = x;",
        ".global .b8 s[2] = {0xFF00(x), 0xFF(x)};"}) {
    // No relocation does that; what does not name the variable is compiled.
    EXPECT_THAT(Compile(with(variable), CERBERUS_PTXC_EMIT_LL).errors,
                IsEmpty())
        << variable;
    EXPECT_THAT(Compile(with(variable) + Kernel("reads", "mov.u64 %rd1, s;"),
                        CERBERUS_PTXC_EMIT_LL)
                    .errors,
                ElementsAre(HasSubstr("'s' is initialised with less than the "
                                      "64 bits of an address")))
        << variable;
  }
  EXPECT_THAT(Compile(with(".global .b8 s[1099511627776] = {1};"),
                      CERBERUS_PTXC_EMIT_LL)
                  .errors,
              ElementsAre("in.ptx:5:33: an initialised variable of "
                          "1099511627776 bytes is larger than 268435456"));
}

TEST(Compile, AliasesOfOneAnotherAreDefinedNowhere) {
  EXPECT_THAT(
      Compile(Module(".func f();\n.func g();\n.alias f, g;\n"
                     ".alias g, f;\n") +
                  Kernel("k", "  call f;\n"),
              CERBERUS_PTXC_EMIT_LL)
          .errors,
      ElementsAre("in.ptx:14:3: kernel 'k': 'call': 'f' is declared but "
                  "defined nowhere"));
}

// Copies of large functions would take longer to compile than calls to run.
TEST(Compile, LargeFunctionsCalledTwiceStayFunctions) {
  const auto calls = [](int instructions, int times) {
    std::string function =
        ".func (.reg .b32 %out) mix(.reg .b32 %in)\n{\n"
        "  .reg .b32 %r;\n  mov.u32 %r, %in;\n";
    for (int i = 0; i < instructions; ++i) {
      function += "  mad.lo.u32 %r, %r, 1664525, 1013904223;\n";
    }
    std::string body = "  mov.u32 %r1, %tid.x;\n";
    for (int i = 0; i < times; ++i) body += "  call (%r1), mix, (%r1);\n";
    const Compiled out =
        Compile(Module(function + "  mov.u32 %out, %r;\n  ret;\n}\n" +
                       Kernel("k", body + "  st.global.u32 [%rd0], %r1;\n")),
                CERBERUS_PTXC_EMIT_ASM);
    EXPECT_EQ(out.status, CERBERUS_PTXC_OK);
    return out.output.find("s_swappc_b64") != std::string::npos;
  };
  EXPECT_TRUE(calls(10000, 2));
  EXPECT_FALSE(calls(10000, 1));
  EXPECT_FALSE(calls(100, 2));
  EXPECT_TRUE(calls(1200, 20));
  EXPECT_FALSE(calls(1200, 5));
  EXPECT_FALSE(calls(500, 50));
}

// In which lanes may wait for each other is seen where it is copied to; older
// PTX does not let them.
TEST(Compile, OlderPtxCallsWhatMeetsLanes) {
  const auto calls = [](const std::string& target) {
    std::string text = ".version 7.8\n.target " + target +
                       "\n.address_size 64\n.func f(.reg .b64 %to)\n{\n"
                       "  .reg .b32 %r<2>;\n";
    for (int i = 0; i < 1500; ++i) {
      text += "  atom.global.add.u32 %r1, [%to], " + std::to_string(i) + ";\n";
    }
    text +=
        "  ret;\n}\n.entry k(.param .u64 p)\n{\n  .reg .b64 %rd1;\n"
        "  ld.param.u64 %rd1, [p];\n";
    for (int i = 0; i < 8; ++i) text += "  call f, (%rd1);\n";
    const Compiled out = Compile(text + "  ret;\n}\n", CERBERUS_PTXC_EMIT_ASM);
    EXPECT_EQ(out.status, CERBERUS_PTXC_OK);
    return out.output.find("s_swappc_b64") != std::string::npos;
  };
  EXPECT_TRUE(calls("sm_60"));
  EXPECT_FALSE(calls("sm_70"));
}

// `first` is copied into `second` then, which is as large as that.
TEST(Compile, WhatIsCopiedIntoAFunctionCounts) {
  std::string first = ".func (.reg .b32 %out) first(.reg .b32 %r)\n{\n";
  for (int i = 0; i < 1200; ++i) {
    first += "  mad.lo.u32 %r, %r, 1664525, 1013904223;\n";
  }
  first += "  mov.u32 %out, %r;\n  ret;\n}\n";
  std::string second = ".func (.reg .b32 %out) second(.reg .b32 %r)\n{\n";
  std::string body = "  mov.u32 %r1, %tid.x;\n";
  for (int i = 0; i < 4; ++i) {
    second += "  call (%r), first, (%r);\n";
    body += "  call (%r1), second, (%r1);\n";
  }
  second += "  mov.u32 %out, %r;\n  ret;\n}\n";
  const Compiled out =
      Compile(Module(first + second +
                     Kernel("k", body + "  st.global.u32 [%rd0], %r1;\n")),
              CERBERUS_PTXC_EMIT_ASM);
  EXPECT_EQ(out.status, CERBERUS_PTXC_OK);
  EXPECT_THAT(out.output, HasSubstr("s_swappc_b64"));
  EXPECT_THAT(out.output, HasSubstr("\nsecond:"));
  EXPECT_THAT(out.output, Not(HasSubstr("\nfirst:")));
}

// `%r1` and `%r2` are read behind the label, once each.
TEST(Compile, RegistersAreReadOnceInABlock) {
  const auto loads = [](const std::string& label) {
    const std::string text =
        Compile(Module(Kernel(
                    "k", "  mov.u32 %r1, %tid.x;\n  add.u32 %r2, %r1, %r1;\n" +
                             label +
                             "  xor.b32 %r2, %r2, %r1;\n"
                             "  add.u32 %r2, %r2, %r1;\n"
                             "  st.global.u32 [%rd0], %r2;\n")),
                CERBERUS_PTXC_EMIT_LL_RAW)
            .output;
    const std::string load = "load i32, ptr addrspace(5)";
    int count = 0;
    for (std::size_t at = text.find(load); at != std::string::npos;
         at = text.find(load, at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(loads(""), 0);
  EXPECT_EQ(loads("HERE:\n"), 2);
}

TEST(Compile, PairsOfWordsAreReadAndWrittenWhole) {
  for (const char* sem : {"relaxed.gpu", "volatile"}) {
    const std::string suffix = std::string(sem) + ".global.v2.u32 ";
    const Compiled c = Compile(
        Module(Kernel("k", "  ld." + suffix + "{%r1, %r2}, [%rd0];\n" +
                               "  st." + suffix + "[%rd0+8], {%r2, %r1};\n")),
        CERBERUS_PTXC_EMIT_ASM);
    EXPECT_THAT(c.output,
                AllOf(HasSubstr("load_b64 v"), HasSubstr("store_b64 v"),
                      Not(HasSubstr("store_b32"))))
        << sem;
  }
}

// ---- several modules
// ---------------------------------------------------------

// A function of one 32-bit value, and a call of it.
std::string Func(const std::string& head, const std::string& body) {
  return head + " (.reg .u32 out) f(.reg .u32 in)" +
         (body.empty() ? ";\n" : "\n{\n" + body + "  ret;\n}\n");
}
const char* const kCallF =
    "  mov.u32 %r1, 7;\n"
    "  call.uni (%r2), f, (%r1);\n"
    "  st.global.u32 [%rd0], %r2;\n";

// So much code that branches reach too far, and in 28 branches of each other,
// whose masks take the registers below those that callers count on.
TEST(Compile, LongBranchesTakeNoRegistersOfCallers) {
  constexpr int kDepth = 28;
  std::string body =
      "  .reg .pred %p0;\n  .reg .b32 %x, %n;\n  mov.u32 %x, in;\n"
      "  mov.u32 %n, 0;\nAgain:\n";
  const auto number = [](int n) { return std::to_string(n); };
  for (int depth = 0; depth < kDepth; ++depth) {
    body += "  ld.global.u32 %n, [table+" + number(4 * depth) +
            "];\n  setp.lt.u32 %p0, in, %n;\n  @%p0 bra Behind" +
            number(depth) + ";\n";
    for (int i = 0; i < 450; ++i) {
      body += "  mad.lo.u32 %x, %x, " +
              number(0x12345671 + 2 * i + 977 * depth) +
              ", in;\n  xor.b32 %x, %x, " +
              number((i * 7919 + depth) * 13 + 1) + ";\n";
    }
  }
  for (int depth = kDepth; depth-- > 0;) {
    body += "  add.u32 %x, %x, " + number(depth) + ";\nBehind" + number(depth) +
            ":\n";
  }
  body += "  setp.lt.u32 %p0, %x, in;\n  @%p0 bra Again;\n  mov.u32 out, %x;\n";
  // Its address is taken, so that callers know nothing of it.
  const std::string text = Asm(
      Module(".global .u32 table[64];\n" + Func(".func", body) +
             ".global .u64 code = f;\n" +
             Kernel("k",
                    "  ld.global.u64 %rd1, [code];\n  mov.u32 %r1, 7;\n"
                    "  proto: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
                    "  call (%r2), %rd1, (%r1), proto;\n"
                    "  st.global.u32 [%rd0], %r2;\n")));
  int branches = 0;
  for (std::size_t at = 0;
       (at = text.find("s_getpc_b64 s[", at)) != std::string::npos; ++at) {
    const int pair =
        std::atoi(text.c_str() + at + std::strlen("s_getpc_b64 s["));
    const bool branches_there =
        text.substr(at, 300).find("s_setpc_b64") != std::string::npos;
    if (!branches_there) continue;  // what is called
    ++branches;
    // 30 to 39 and every second eight from 48 on are kept.
    EXPECT_FALSE((pair >= 30 && pair < 40) || (pair >= 48 && pair / 8 % 2 == 0))
        << pair;
  }
  EXPECT_GT(branches, 8);
}

TEST(Link, NamesAreLookedUpInTheOtherModules) {
  struct Row {
    const char* what;
    std::string first, second;
    const char* error;  // part of it; "" if it links
  } const rows[] = {
      {"a function", Func(".extern .func", "") + Kernel("k", kCallF),
       Func(".visible .func", "  add.u32 out, in, 1;\n"), ""},
      {"the definition first", Func(".visible .func", "  mov.u32 out, in;\n"),
       Func(".extern .func", "") + Kernel("k", kCallF), ""},
      {"a weak function in both",
       Func(".weak .func", "  mov.u32 out, in;\n") + Kernel("k", kCallF),
       Func(".weak .func", "  mov.u32 out, in;\n") + Kernel("l", kCallF), ""},
      {"a strong and a weak one",
       Func(".weak .func", "  mov.u32 out, in;\n") + Kernel("k", kCallF),
       Func(".visible .func", "  mov.u32 out, in;\n") + Kernel("l", kCallF),
       ""},
      {"one of its own in each",
       Func(".func", "  mov.u32 out, in;\n") + Kernel("k", kCallF),
       Func(".func", "  mov.u32 out, in;\n") + Kernel("l", kCallF), ""},
      {"a function that is not visible",
       Func(".extern .func", "") + Kernel("k", kCallF),
       Func(".func", "  mov.u32 out, in;\n"),
       "in.ptx[1]:13:3: kernel 'k': 'call.uni': 'f' is declared but "
       "defined nowhere"},
      {"twice defined", Func(".visible .func", "  mov.u32 out, in;\n"),
       Func(".visible .func", "  mov.u32 out, in;\n"),
       "in.ptx[2]:5:32: 'f' is defined in in.ptx[1] too"},
      {"declared otherwise", Func(".extern .func", "") + Kernel("k", kCallF),
       ".visible .func (.reg .u32 out) f(.reg .u64 in)\n{\n"
       "  mov.u32 out, 1;\n  ret;\n}\n",
       "'f' is declared otherwise than it is defined"},
      {"declared to return something",
       Func(".extern .func", "") + Kernel("k", kCallF),
       ".visible .func f(.reg .u32 in)\n{\n  ret;\n}\n", ""},
      {"a variable",
       ".extern .global .u32 v;\n" + Kernel("k",
                                            "  ld.global.u32 %r1, [v];\n"
                                            "  st.global.u32 [%rd0], %r1;\n"),
       ".visible .global .u32 v = 5;\n", ""},
      {"a variable that is missing",
       ".extern .global .u32 v;\n" + Kernel("k",
                                            "  ld.global.u32 %r1, [v];\n"
                                            "  st.global.u32 [%rd0], %r1;\n"),
       ".visible .global .u32 w = 5;\n", "'v' is declared but defined nowhere"},
      {"a shared array",
       ".extern .shared .u32 v[8];\n" +
           Kernel("k", "  ld.shared.u32 %r1, [v];\n"),
       ".visible .shared .u32 v[8];\n", ""},
      {"a shared array that is missing",
       ".extern .shared .u32 v[8];\n" +
           Kernel("k", "  ld.shared.u32 %r1, [v];\n"),
       ".visible .shared .u32 w[8];\n", "'v' is declared but defined nowhere"},
      {"an error in the second", Kernel("k", ""), Kernel("l", "  bad;\n"),
       "in.ptx[2]:11:3: kernel 'l'"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Compiled c = Compile(
        "// one\n" + Module(row.first) + "\n// two\n" + Module(row.second),
        CERBERUS_PTXC_EMIT_HSACO);
    if (*row.error == '\0') {
      EXPECT_EQ(c.status, CERBERUS_PTXC_OK);
      EXPECT_THAT(c.errors, IsEmpty());
    } else {
      ASSERT_THAT(c.errors, Not(IsEmpty()));
      EXPECT_THAT(c.errors[0], HasSubstr(row.error));
    }
  }
}

TEST(Link, AKernelInSeveralModulesIsThereOnce) {
  const std::string kernel = ".weak .entry k(.param .u64 p)\n{\n  ret;\n}\n";
  const Compiled c =
      Compile(Module(kernel) + Module(kernel), CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_EQ(c.status, CERBERUS_PTXC_OK);
  EXPECT_THAT(c.kernels, ElementsAre("k"));
}

TEST(Link, WhatFailsInOneModuleFailsItsCallersInOthers) {
  const Compiled c = Compile(
      Module(Func(".extern .func", "") + Kernel("k", kCallF) +
             Kernel("fine", "")) +
          Module(Func(".visible .func",
                      "  fence.proxy.fabric::fabric.alias.release.sys;\n")),
      CERBERUS_PTXC_EMIT_HSACO, /*keep_going=*/true);
  EXPECT_EQ(c.status, CERBERUS_PTXC_SOME_KERNELS_FAILED);
  EXPECT_THAT(c.kernels, ElementsAre("fine"));
  EXPECT_THAT(c.failed, ElementsAre("k"));
  ASSERT_THAT(c.reasons, SizeIs(1));
  EXPECT_THAT(c.reasons[0], HasSubstr("calls 'f'"));
}

TEST(Compile, KeepGoingAlsoPastKernelsThatDoNotParse) {
  const Compiled c = Compile(
      Module(Kernel("good", kStore) + Kernel("bad", "  frobnicate.u32 %r0;\n")),
      CERBERUS_PTXC_EMIT_HSACO, true);
  EXPECT_EQ(c.status, CERBERUS_PTXC_SOME_KERNELS_FAILED);
  EXPECT_THAT(c.kernels, ElementsAre("good"));
  EXPECT_THAT(c.failed, ElementsAre("bad"));
  EXPECT_THAT(c.errors, IsEmpty());
  ASSERT_THAT(c.warnings, SizeIs(1));
  EXPECT_THAT(c.warnings[0], HasSubstr("frobnicate"));
}

TEST(Compile, BadPtxIsBadPtx) {
  EXPECT_EQ(Compile("hello", CERBERUS_PTXC_EMIT_HSACO).status,
            CERBERUS_PTXC_BAD_PTX);
  EXPECT_EQ(Compile(Module(Kernel("k", "  frobnicate.u32 %r0;\n")),
                    CERBERUS_PTXC_EMIT_HSACO)
                .status,
            CERBERUS_PTXC_BAD_PTX);
}

TEST(Compile, WrongOptionsAreUsage) {
  const std::string ptx = Module(Kernel("k", kStore));
  EXPECT_EQ(Compile(ptx, CERBERUS_PTXC_EMIT_HSACO, false, "gfx9999").status,
            CERBERUS_PTXC_USAGE);
  EXPECT_EQ(Compile(ptx, CERBERUS_PTXC_EMIT_HSACO, false, "sm_80").status,
            CERBERUS_PTXC_USAGE);
  EXPECT_EQ(Compile(ptx, static_cast<cerberus_ptxc_emit>(99)).status,
            CERBERUS_PTXC_USAGE);
  cerberus_ptxc_result* result = nullptr;
  EXPECT_EQ(cerberus_ptxc_compile("", 0, nullptr, &result),
            CERBERUS_PTXC_USAGE);
  EXPECT_NE(result, nullptr);
  cerberus_ptxc_result_free(result);
  EXPECT_EQ(cerberus_ptxc_result_kernel(nullptr, 0), nullptr);
}

TEST(Compile, ForEveryKindOfTarget) {
  const std::string ptx = Module(Kernel("k", kStore));
  for (const char* arch : {"gfx90a", "gfx942", "gfx950", "gfx9-4-generic",
                           "gfx1030", "gfx1201", "gfx11-generic"}) {
    EXPECT_EQ(Compile(ptx, CERBERUS_PTXC_EMIT_HSACO, false, arch).status,
              CERBERUS_PTXC_OK)
        << arch;
  }
}

// ---- Promises ---------------------------------------------------------------

TEST(Compile, PaddingBehindTheTextIsIgnored) {
  const std::string ptx = Module(Kernel("k", kStore));
  EXPECT_EQ(
      Compile(ptx, CERBERUS_PTXC_EMIT_HSACO).output,
      Compile(ptx + std::string(5, '\0'), CERBERUS_PTXC_EMIT_HSACO).output);
}

TEST(Compile, SameInputSameBytesAlsoInThreads) {
  const std::string ptx =
      Module(".shared .align 16 .b8 tile[64];\n" + Kernel("a", kStore) +
             Kernel("b",
                    "  mov.u32 %r0, tile;\n  st.shared.u32 [%r0], 1;\n"
                    "  bar.sync 0;\n  ld.shared.u32 %r1, [tile+4];\n"
                    "  st.global.u32 [%rd0], %r1;\n"));
  const std::string want = Compile(ptx, CERBERUS_PTXC_EMIT_HSACO).output;
  ASSERT_FALSE(want.empty());
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  threads.reserve(got.size());
  for (std::string& one : got) {
    threads.emplace_back(
        [&] { one = Compile(ptx, CERBERUS_PTXC_EMIT_HSACO).output; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : got) EXPECT_EQ(one, want);
}

TEST(Compile, NoPathOfTheMachineGetsIntoTheOutput) {
  const Compiled c =
      Compile(Module(Kernel("k", kStore)), CERBERUS_PTXC_EMIT_HSACO);
  EXPECT_THAT(c.output, Not(HasSubstr("/tmp")));
  EXPECT_THAT(c.output, Not(HasSubstr("cerberus-link")));
}

TEST(Compile, OlderCallersPassAShorterStruct) {
  const std::string ptx = Module(Kernel("k", kStore));
  cerberus_ptxc_options options;
  std::memset(&options, 0xff, sizeof options);
  options.size = offsetof(cerberus_ptxc_options, emit);
  options.arch = "gfx1100";
  cerberus_ptxc_result* result = nullptr;
  EXPECT_EQ(cerberus_ptxc_compile(ptx.data(), ptx.size(), &options, &result),
            CERBERUS_PTXC_OK);
  EXPECT_EQ(cerberus_ptxc_result_kernel_count(result), 1u);
  cerberus_ptxc_result_free(result);
}

}  // namespace
