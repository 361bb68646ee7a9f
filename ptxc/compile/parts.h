// How a program is cut into parts that are compiled one after another or at
// the same time, and linked: each holds some kernels with a copy of the
// functions they call, one the variables. What a part holds follows from the
// PTX alone, so the code is the same however many are compiled at once, and
// only as many as that are in memory.
#ifndef CERBERUS_PTXC_COMPILE_PARTS_H_
#define CERBERUS_PTXC_COMPILE_PARTS_H_

#include <cstdint>
#include <vector>

#include "ptxc/front/ast.h"
#include "ptxc/lower/call_graph.h"

namespace cerberus::ptx {

struct ProgramPart {
  bool all_functions = true;
  std::vector<bool> functions;  // by number of the call graph, if not all
  bool variables = true;        // defines those of module scope
  // If not 0, its kernel in a further form, for blocks of at most so many
  // threads (forms.h).
  std::uint32_t threads = 0;

  bool is_whole() const { return all_functions && variables; }
  bool Takes(std::uint32_t function) const {
    return all_functions || functions[function];
  }
};

// One that is whole, or several that together are: kernels in their order,
// the variables last.
std::vector<ProgramPart> CutIntoParts(const std::vector<const Module*>& modules,
                                      const CallGraph& graph);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PARTS_H_
