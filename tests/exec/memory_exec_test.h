// What tests of memory and of addresses share.
#ifndef CERBERUS_TESTS_EXEC_MEMORY_EXEC_TEST_H_
#define CERBERUS_TESTS_EXEC_MEMORY_EXEC_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {

constexpr std::uint32_t kThreads = 64;
constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";

inline std::vector<std::uint64_t> RunOne(const std::string& module_scope,
                                         const std::string& body,
                                         const std::vector<std::uint64_t>& in,
                                         std::size_t outputs) {
  const std::string text =
      std::string(kHeader) + module_scope +
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %in, %out, %l<8>;\n  .reg .b32 %r<8>;\n"
      "  .reg .b16 %h<8>;\n  .reg .pred %p<8>;\n  .reg .f32 %f<8>;\n"
      "  .reg .f64 %d<4>;\n"
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n" +
      body + "  ret;\n}\n";
  std::vector<std::uint64_t> result(outputs, 0xeeeeeeeeeeeeeeee);
  auto module = PtxModule::Compile(text);
  if (!module) {
    ADD_FAILURE() << module.error().ToString() << text;
    return result;
  }
  Buffer in_buffer((*module)->device(), 8 * in.size() + 8);
  Buffer out_buffer((*module)->device(), 8 * outputs);
  std::copy(in.begin(), in.end(), in_buffer.as<std::uint64_t>());
  Launch launch;
  launch.params = {in_buffer.address(), out_buffer.address()};
  const Status status = (*module)->Run("k", launch);
  if (!status) ADD_FAILURE() << status.error().ToString() << text;
  std::copy_n(out_buffer.as<std::uint64_t>(), outputs, result.begin());
  return result;
}

inline std::string SpaceOf(const LoweredSpelling& s) {
  for (const char* space :
       {"param::entry", "param::func", "param", "shared::cta",
        "shared::cluster", "shared", "global", "local", "const"}) {
    if (s.Has(space)) return space;
  }
  return "generic";
}

// The cache-policy operand some hints need.
inline std::string PolicyOperand(const LoweredSpelling& s) {
  return s.Has("L2::cache_hint") ? ", %policy" : "";
}

// k(in, out): thread t copies `bytes` bytes from in + t * bytes to
// out + t * bytes; the instruction under test does one half of it, plain
// accesses of the same width the other.
inline std::string Prologue(int bytes) {
  return "  .reg .b64 %in, %out, %at, %policy;\n  .reg .b32 %thread, %a32, "
         "%z;\n"
         "  mov.b64 %policy, 0;\n"
         "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
         "  mov.u32 %thread, %tid.x;\n"
         "  mad.wide.u32 %in, %thread, " +
         std::to_string(bytes) +
         ", %in;\n"
         "  mad.wide.u32 %out, %thread, " +
         std::to_string(bytes) + ", %out;\n";
}

inline std::string Entry(const std::string& name) {
  return ".visible .entry " + name + "(.param .u64 in, .param .u64 out)\n{\n";
}

// Runs a kernel that is to copy `bytes` bytes a thread.
inline void Copies(PtxModule& module, const std::string& kernel, int bytes) {
  const std::size_t size = static_cast<std::size_t>(bytes) * kThreads;
  Buffer in(module.device(), size), out(module.device(), size);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < size; ++i) {
    in.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
  }
  std::memset(out.as<std::uint8_t>(), 0xcd, size);
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(std::memcmp(in.as<char>(), out.as<char>(), size), 0);
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_MEMORY_EXEC_TEST_H_
