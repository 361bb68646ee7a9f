// docs/ptx-support.md: what is compiled, and what of it tests have executed
// on which target.
#ifndef CERBERUS_TESTS_EXEC_SUPPORT_TABLE_H_
#define CERBERUS_TESTS_EXEC_SUPPORT_TABLE_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cerberus::exec {

// A row of the instruction table, by its index, and a mnemonic.
using ExecutedForm = std::pair<int, std::string>;
// By target id, what tests executed.
using Executed = std::map<std::string, std::set<ExecutedForm>>;

// The targets that every instruction is executed on.
extern const std::vector<std::string> kTestedTargets;

// `real`: the mnemonics of real programs.
std::string SupportTable(const Executed& executed,
                         const std::vector<std::string>& real);

// What has to be executed and is not, one line each: of every lowered row
// each of its modifiers with each of its types, and `real` unless their rows
// are not lowered.
std::vector<std::string> NotExecuted(const Executed& executed,
                                     const std::vector<std::string>& real);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_SUPPORT_TABLE_H_
