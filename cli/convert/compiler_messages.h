// What cerberus-jit writes to its stderr: a diagnostic a line, and the line of
// --time-trace. It comes from kept files as well.
#ifndef CERBERUS_CLI_CONVERT_COMPILER_MESSAGES_H_
#define CERBERUS_CLI_CONVERT_COMPILER_MESSAGES_H_

#include <string>
#include <string_view>
#include <vector>

#include "support/diag.h"

namespace cerberus::cli {

// `where` is that of the module.
void ReadMessages(std::string_view err, const Where& where,
                  std::vector<Diag>* diags, std::string* time_trace);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_COMPILER_MESSAGES_H_
