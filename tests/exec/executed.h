// A record of the instructions that tests execute.
//
// With CERBERUS_EXECUTED in the environment, each test program adds the
// instructions of the kernels it ran, a row of the instruction table and a
// mnemonic each, to the file <target> in that folder.
#ifndef CERBERUS_TESTS_EXEC_EXECUTED_H_
#define CERBERUS_TESTS_EXEC_EXECUTED_H_

#include <string>
#include <string_view>

#include "tests/exec/support_table.h"

namespace cerberus::exec {

// `ptx` is the text of a module, `kernel` one that ran to its end. The
// module's functions count as executed too.
void RecordExecuted(std::string_view ptx, std::string_view kernel);

Executed ReadExecuted(const std::string& folder);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_EXECUTED_H_
