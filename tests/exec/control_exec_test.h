// What tests of control flow and of what a thread has around it share.
#ifndef CERBERUS_TESTS_EXEC_CONTROL_EXEC_TEST_H_
#define CERBERUS_TESTS_EXEC_CONTROL_EXEC_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {

constexpr std::uint32_t kThreads = 64;

// k(out): each thread stores its 64-bit %result.
inline std::vector<std::uint64_t> RunThreads(const std::string& module_scope,
                                             const std::string& body,
                                             bool expect_fault = false) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n" + module_scope +
      ".visible .entry k(.param .u64 out)\n{\n"
      "  .reg .b64 %out, %result, %l<8>;\n  .reg .b32 %thread, %r<16>;\n"
      "  .reg .pred %p<8>;\n  .reg .f32 %f<8>;\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %thread, %tid.x;\n"
      "  mad.wide.u32 %out, %thread, 8, %out;\n  mov.u64 %result, 0;\n" +
      body + "  st.global.u64 [%out], %result;\n  ret;\n}\n";
  std::vector<std::uint64_t> out(kThreads);
  auto module = PtxModule::Compile(text);
  if (!module) {
    ADD_FAILURE() << module.error().ToString() << text;
    return out;
  }
  Buffer buffer((*module)->device(), 8 * kThreads);
  std::fill_n(buffer.as<std::uint64_t>(), kThreads, 0xeeee);
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {buffer.address()};
  const Status status = (*module)->Run("k", launch);
  EXPECT_TRUE(status || expect_fault)
      << (status ? "" : status.error().ToString()) << text;
  std::copy_n(buffer.as<std::uint64_t>(), kThreads, out.begin());
  return out;
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_CONTROL_EXEC_TEST_H_
