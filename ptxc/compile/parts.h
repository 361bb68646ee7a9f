// How a program is cut into parts that are compiled one after another or at
// the same time, and linked: each holds some kernels with a copy of the
// functions they call, one the variables. What a part holds follows from the
// PTX alone, so the code is the same however many are compiled at once, and
// only as many as that are in memory.
#ifndef CERBERUS_PTXC_COMPILE_PARTS_H_
#define CERBERUS_PTXC_COMPILE_PARTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptxc/front/ast.h"
#include "ptxc/lower/call_graph.h"
#include "support/result.h"

namespace cerberus::ptx {

struct ProgramPart {
  // Of module scope, which are defined here, beside those of the program's
  // table, if it has one (lower/variable_table.h). With kUsed nothing is left
  // to another part. kTable: those of the table, with it.
  enum class Variables { kElsewhere, kAll, kUsed, kTable };

  bool all_functions = true;
  std::vector<bool> functions;  // by number of the call graph, if not all
  Variables variables = Variables::kAll;
  // If not 0, its kernel in a further form, for blocks of at most so many
  // threads (forms.h).
  std::uint32_t threads = 0;

  // Stands alone: is not linked to others.
  bool is_whole() const {
    return variables == Variables::kUsed || variables == Variables::kTable ||
           (all_functions && variables == Variables::kAll);
  }
  bool Takes(std::uint32_t function) const {
    return all_functions || functions[function];
  }
};

// One that is whole, or several that together are: kernels in their order,
// the variables last.
std::vector<ProgramPart> CutIntoParts(const std::vector<const Module*>& modules,
                                      const CallGraph& graph);

// One kernel with what it needs, to be loaded beside code for the others, where
// variables have a table. Errors: there is none of that name; it takes
// addresses of code. (A variable that leads to code is an error when the part
// is lowered.)
Result<ProgramPart> PartOfKernel(const std::vector<const Module*>& modules,
                                 const CallGraph& graph, std::string_view name);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PARTS_H_
