// What tests of the language share: rows that each compute a register.
#ifndef CERBERUS_TESTS_EXEC_LANGUAGE_EXEC_TEST_H_
#define CERBERUS_TESTS_EXEC_LANGUAGE_EXEC_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {

struct Row {
  const char* module;  // declarations at module scope
  const char* body;
  std::uint64_t want;
};

inline void Check(std::span<const Row> rows) {
  KernelBatch batch(".version 9.0\n.target sm_100a\n.address_size 64\n");
  for (const Row& row : rows) {
    const std::string name = batch.NextName();
    // Names of module scope are one kernel's own.
    std::string scope = row.module, body = row.body;
    for (std::string* text : {&scope, &body}) {
      for (std::size_t at = 0; (at = text->find('@', at)) != text->npos;) {
        if (at + 1 < text->size() && (*text)[at + 1] == '@') {
          text->replace(at, 2, name);
        } else {
          ++at;
        }
      }
    }
    const std::string text =
        scope + "\n.visible .entry " + name +
        "(.param .u64 out)\n{\n"
        "  .reg .pred %p<8>;\n  .reg .b16 %h<8>;\n  .reg .b32 %r<8>;\n"
        "  .reg .b64 %d<8>;\n  .reg .f32 %f<8>;\n  .reg .f64 %e<8>;\n"
        "  mov.u64 %d0, 0;\n" +
        body +
        "\n  ld.param.u64 %d7, [out];\n  st.global.u64 [%d7], %d0;\n"
        "  ret;\n}\n";
    batch.Add(text, text, [&row](PtxModule& module, const std::string& kernel) {
      Buffer out(module.device(), 8);
      Launch launch;
      launch.params = {out.address()};
      const Status status = module.Run(kernel, launch);
      ASSERT_TRUE(status) << status.error().ToString();
      EXPECT_EQ(*out.as<std::uint64_t>(), row.want)
          << std::hex << *out.as<std::uint64_t>() << ", want " << row.want
          << ": " << row.module << row.body;
    });
  }
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_LANGUAGE_EXEC_TEST_H_
