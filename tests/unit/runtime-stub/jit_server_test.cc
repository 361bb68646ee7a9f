// The compiler itself as a process that stays: its code does not depend on what
// it has compiled before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime-stub/module/jit_fallback.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {
namespace {

// Some with calls of the device library, barriers, floats and loops.
std::vector<std::string> Texts() {
  const std::string head =
      ".version 7.8\n.target sm_75\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) {\n.reg .u64 %a; .reg .u32 %x, %y;\n"
      ".reg .f64 %d; .reg .pred %c;\n ld.param.u64 %a, [p];\n"
      "mov.u32 %x, %tid.x;\n";
  const std::string tail = "st.global.u32 [%a], %x;\nret; }\n";
  std::vector<std::string> texts;
  for (const char* body :
       {"", "bar.sync 0;\n", "div.u32 %x, 7, %x;\n",
        "cvt.rn.f64.u32 %d, %x; sqrt.rn.f64 %d, %d; cvt.rzi.u32.f64 %x, %d;\n",
        "shfl.sync.bfly.b32 %x, %x, 1, 31, -1;\n",
        "L: add.u32 %x, %x, 3; setp.lt.u32 %c, %x, 99; @%c bra L;\n",
        ("L: atom.global.add.u32 %y, [%a], %x; setp.eq.u32 %c, %y, %x;\n"
         "@%c bra L;\n")}) {
    texts.push_back(head + body + tail);
  }
  return texts;
}

Bytes OfFreshProcess(const std::string& ptx) {
  TempFolder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  std::ofstream(in) << ptx;
  const std::string command =
      std::string(JIT) + " --arch gfx1100 -o " + out + " - < " + in;
  EXPECT_EQ(std::system(command.c_str()), 0) << ptx;
  std::ifstream file(out, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

TEST(JitServer, CodeDoesNotDependOnWhatWasCompiledBefore) {
  setenv("CERBERUS_JIT", JIT, 1);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  const std::vector<std::string> texts = Texts();
  const TargetId target = *TargetId::Parse("gfx1100");
  const std::string name = "text";
  std::vector<Bytes> expected;
  for (const std::string& text : texts) {
    expected.push_back(OfFreshProcess(text));
    ASSERT_FALSE(expected.back().empty());
  }
  for (const bool backwards : {false, true, false}) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t at = backwards ? texts.size() - 1 - i : i;
      const JitResult result =
          CompilePtx({.ptx = texts[at], .target = target, .name = name});
      EXPECT_EQ(result.code, expected[at]) << texts[at] << result.log;
    }
    // What it refuses leaves nothing behind either.
    EXPECT_NE(CompilePtx({.ptx = ".version 7.8\n.target sm_75\n"
                                 ".entry bad() { no; }\n",
                          .target = target,
                          .name = name})
                  .status,
              CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace cerberus::stub
