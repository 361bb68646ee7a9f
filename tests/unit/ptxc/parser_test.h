// What tests of the parser share: a text, parsed.
#ifndef CERBERUS_TESTS_UNIT_PTXC_PARSER_TEST_H_
#define CERBERUS_TESTS_UNIT_PTXC_PARSER_TEST_H_

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxc/front/parse/parser.h"

namespace cerberus::ptx {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kHeader = ".version 8.0\n.target sm_75\n";

// A parsed text, which it keeps alive.
struct Parsed {
  explicit Parsed(std::string source) : text(std::move(source)) {
    ParseOutcome outcome = Parse(text, [this](const Diag& diag) {
      (diag.severity == Severity::kError ? errors : warnings)
          .push_back(diag.ToString());
    });
    module = std::move(outcome.module);
    module_errors = outcome.module_errors;
  }
  std::string text;
  std::unique_ptr<Module> module;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  int module_errors = 0;

  const Function& function(std::string_view name) const {
    const std::uint32_t id = module->FindFunction(name);
    EXPECT_NE(id, kNoId) << name;
    return module->functions[id];
  }
  const Variable& variable(std::string_view name) const {
    const std::uint32_t id = module->FindVariable(name);
    EXPECT_NE(id, kNoId) << name;
    return module->variables[id];
  }
};

inline Parsed ParseModuleText(const std::string& text) {
  return Parsed(std::string(kHeader) + text);
}

inline Parsed ParseBody(const std::string& body) {
  return ParseModuleText(
      ".visible .entry k(.param .u64 a, .param .align 8 .b8 s[24])\n{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n"
      ".reg .f32 %f<16>;\n" +
      body + "\n}\n");
}

inline const Operand& OperandOf(const Parsed& p, std::uint32_t inst,
                                std::uint32_t i) {
  const Function& f = p.module->functions.front();
  return f.operands[f.instructions[inst].first_operand + i];
}

}  // namespace cerberus::ptx

#endif  // CERBERUS_TESTS_UNIT_PTXC_PARSER_TEST_H_
