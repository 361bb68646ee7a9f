// How many registers kernels take, and what is spilled.
#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "cerberus/ptxc.h"
#include "tests/unit/ptxc/compile_runner.h"

namespace {

using cerberus::ptx::Compile;
using cerberus::ptx::Compiled;
using cerberus::ptx::Kernel;
using cerberus::ptx::Module;

// A round of attention: scores of 16 keys, what is largest, and sums of values
// by weights that are not known before. 32 numbers each.
std::string AttentionRound() {
  std::string body;
  const auto add = [&](const std::string& text) { body += "  " + text + "\n"; };
  const auto number = [](const char* name, int i) {
    return name + std::to_string(i);
  };
  int at = 0;
  const auto load = [&] {
    add("ld.shared.f32 %x, [buffer+" + std::to_string(4 * at++) + "];");
  };
  for (int k = 0; k < 16; ++k) {
    const std::string score = number("%s", k);
    add("mov.f32 " + score + ", 0f00000000;");
    for (int i = 0; i < 32; ++i) {
      load();
      add("fma.rn.f32 " + score + ", %x, " + number("%q", i) + ", " + score +
          ";");
    }
  }
  add("mov.f32 %old, %most;");
  for (int k = 0; k < 16; ++k) {
    add("max.f32 %most, %most, " + number("%s", k) + ";");
  }
  add("sub.f32 %old, %old, %most; ex2.approx.f32 %old, %old;");
  for (int i = 0; i < 32; ++i) {
    const std::string sum = number("%o", i);
    add("mul.f32 " + sum + ", " + sum + ", %old;");
  }
  for (int k = 0; k < 16; ++k) {
    const std::string score = number("%s", k);
    add("sub.f32 " + score + ", " + score + ", %most;");
    add("ex2.approx.f32 " + score + ", " + score + ";");
    for (int i = 0; i < 32; ++i) {
      const std::string sum = number("%o", i);
      load();
      add("fma.rn.f32 " + sum + ", %x, " + score + ", " + sum + ";");
    }
  }
  return body;
}

// The vector registers of an assembly's first kernel.
int VectorRegisters(const std::string& assembly) {
  const std::string registers = ".amdhsa_next_free_vgpr ";
  const std::size_t at = assembly.find(registers);
  return at == std::string::npos
             ? INT_MAX
             : std::atoi(assembly.c_str() + at + registers.size());
}

// Long blocks are scheduled in parts (tests/bench/growth.py has the time that
// takes). What is loaded in one and used there is not alive to its end: there
// were 256 registers, and spills.
TEST(Registers, LongBlocksDoNotKeepWhatTheyLoad) {
  std::string body =
      "  .reg .f32 %s<16>, %q<32>, %o<32>, %x, %old, %most;\n"
      "  .shared .align 16 .b8 buffer[4096];\n"
      "  mov.f32 %most, 0f00000000;\n  mov.u32 %r1, 4;\n";
  std::string end;
  for (int i = 0; i < 32; ++i) {
    const std::string n = std::to_string(i), place = std::to_string(4 * i);
    body += "  ld.global.f32 %q" + n + ", [%rd0+" + place + "];\n  mov.f32 %o" +
            n + ", 0f00000000;\n";
    end += "  st.global.f32 [%rd0+" + place + "], %o" + n + ";\n";
  }
  const Compiled c = Compile(
      Module(Kernel("k", body + "L:\n  bar.sync 0;\n" + AttentionRound() +
                             "  bar.sync 0;\n  sub.u32 %r1, %r1, 1;\n"
                             "  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra L;\n" +
                             end)),
      CERBERUS_PTXC_EMIT_ASM);
  EXPECT_LT(VectorRegisters(c.output), 128);
}

// Sums that only the end of a long block uses are made where what they are made
// of is: what lanes had sent each other was alive to the block's end, in 192
// registers and 1,079 spills.
TEST(Registers, LongBlocksAddUpWhereTheyAre) {
  constexpr int kSums = 16;
  std::string body = "  .reg .u32 %s<16>;\n";
  std::string end;
  for (int i = 0; i < kSums; ++i) {
    const std::string n = std::to_string(i);
    body += "  mov.u32 %s" + n + ", 0;\n";
    end +=
        "  st.global.u32 [%rd0+" + std::to_string(4 * i) + "], %s" + n + ";\n";
  }
  for (int i = 0; i < 1500; ++i) {
    const std::string n = std::to_string(i % kSums);
    body += "  ld.global.u32 %r1, [%rd0+" + std::to_string(4 * i) +
            "];\n  shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n"
            "  mad.lo.u32 %s" +
            n + ", %r2, %r1, %s" + n + ";\n";
  }
  const Compiled c =
      Compile(Module(Kernel("k", body + end)), CERBERUS_PTXC_EMIT_ASM);
  EXPECT_LT(VectorRegisters(c.output), 128);
}

// Pairs of integers are for no instruction, and all that is multiplied would be
// alive before the first of it is added up.
TEST(Registers, IntegersAreNotPaired) {
  std::string body = "  .reg .u32 %s<4>, %f<16>;\n";
  std::string end;
  for (int i = 0; i < 16; ++i) {
    const std::string n = std::to_string(i);
    body += "  ld.global.u32 %f" + n + ", [%rd0+" + std::to_string(64 + 4 * i) +
            "];\n";
    if (i >= 4) continue;
    body += "  mov.u32 %s" + n + ", 0;\n";
    end +=
        "  st.global.u32 [%rd0+" + std::to_string(4 * i) + "], %s" + n + ";\n";
  }
  for (int i = 0; i < 64; ++i) {
    const std::string sum = "%s" + std::to_string(i % 4);
    body += "  mad.lo.u32 " + sum + ", %f" + std::to_string(i * 7 % 16) +
            ", %f" + std::to_string(i / 4) + ", " + sum + ";\n";
  }
  const Compiled c = Compile(Module(Kernel("k", body + end)),
                             CERBERUS_PTXC_EMIT_LL, false, "gfx942");
  EXPECT_NE(c.output.find("mul i32"), std::string::npos);
  EXPECT_EQ(c.output.find("add <2 x i32>"), std::string::npos);
}

// What lanes get from their neighbours is got again where it is used, if more
// of it is alive than there are registers: 251 were spilled.
TEST(Registers, FastValuesAreMadeAgain) {
  std::string body =
      "  .reg .u32 %s<4>, %w<64>, %v<256>;\n  mov.u32 %r0, %tid.x;\n"
      "  mad.wide.u32 %rd0, %r0, 4, %rd0;\n";
  std::string end;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    body += "  mov.u32 %s" + n + ", 0;\n";
    end +=
        "  st.global.u32 [%rd0+" + std::to_string(4 * i) + "], %s" + n + ";\n";
  }
  for (int i = 0; i < 256; ++i) {
    const std::string word = "%w" + std::to_string(i / 4);
    if (i % 4 == 0) {
      body += "  ld.volatile.global.u32 " + word + ", [%rd0+" +
              std::to_string(4 * i) + "];\n";
    }
    body += "  shfl.sync.bfly.b32 %v" + std::to_string(i) + ", " + word + ", " +
            std::to_string(1 + i % 4) + ", 31, -1;\n";
  }
  for (int i = 0; i < 1024; ++i) {
    const std::string sum = "%s" + std::to_string(i % 4);
    body += "  mad.lo.u32 " + sum + ", %v" + std::to_string(i * 7 % 256) +
            ", %v" + std::to_string((i * 11 + i / 256 * 5) % 256) + ", " + sum +
            ";\n";
  }
  const Compiled c =
      Compile(Module(Kernel("k", body + end)), CERBERUS_PTXC_EMIT_ASM);
  EXPECT_NE(c.output.find("vgpr_spill_count: 0"), std::string::npos);
}

}  // namespace
