// PTX text to a Module.
//
// One pass: names are bound as they are met, so operands carry ids. Errors go
// to the sink, several in one run; after one, parsing goes on behind the next
// ';'. A function with errors has Function::errors > 0 and can be left out
// while the rest of the module is used.
#ifndef CERBERUS_PTXC_FRONT_PARSE_PARSER_H_
#define CERBERUS_PTXC_FRONT_PARSE_PARSER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "ptxc/front/ast.h"
#include "support/result.h"

namespace cerberus::ptx {

struct ParseOutcome {
  // Never null; whatever could be parsed.
  std::unique_ptr<Module> module;
  int errors = 0;         // all
  int module_errors = 0;  // those outside of functions
};

// The newest .version that is known, as Module::version says it.
int NewestVersion();

// `text` must outlive the module. Never throws, whatever the text.
ParseOutcome Parse(std::string_view text, const DiagSink& sink);

// The modules of a text that may hold several, one behind the other, as they
// are handed over to be linked. Each begins with .version and the comment in
// front of it; at least one is returned.
std::vector<std::string_view> SplitModules(std::string_view text);

// For callers that want a whole module or the first error.
Result<std::unique_ptr<Module>> ParseModule(std::string_view text);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_PARSE_PARSER_H_
