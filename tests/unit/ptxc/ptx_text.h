// Writes PTX for tests: for any spelling of the instruction table, an
// instruction with operands that fit it, and a module around instructions.
#ifndef CERBERUS_TESTS_UNIT_PTXC_PTX_TEXT_H_
#define CERBERUS_TESTS_UNIT_PTXC_PTX_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/opcode_table.h"

namespace cerberus::ptx::testing {

// Declarations of every register, variable and label that InstructionText
// uses; stands at the start of a body.
std::string Registers();

// "ld.global.v2.f32 {%f0, %f1}, [%rd9];" With `optional`, operands that may
// be left out are there. Matrix and texture operands have plausible kinds,
// but not always as many elements as the real instruction wants.
std::string InstructionText(const InstForm& form, bool optional);

// A register operand of a type; different for different `number`s.
std::string RegisterOf(Type type, int number);

// A module with one kernel that holds `lines`.
std::string ModuleWith(const std::vector<std::string>& lines,
                       std::string_view target = "sm_90a",
                       std::string_view version = "9.0");

}  // namespace cerberus::ptx::testing

#endif  // CERBERUS_TESTS_UNIT_PTXC_PTX_TEXT_H_
