// The kernels of a program, and the program cut so that each has a part of its
// own (parts.h).
#ifndef CERBERUS_PTXC_COMPILE_PART_KERNELS_H_
#define CERBERUS_PTXC_COMPILE_PART_KERNELS_H_

#include <vector>

#include "ptxc/compile/parts.h"

namespace cerberus::ptx {

// Those with a body, where several modules define one the one that counts.
std::vector<Symbol> KernelsOf(const std::vector<const Module*>& modules,
                              const CallGraph& graph);

// As CutIntoParts.
std::vector<ProgramPart> CutIntoKernels(
    const std::vector<const Module*>& modules, const CallGraph& graph);

// Whether further forms of the kernel can be compiled, in parts of their own:
// nothing that it uses has to be the same one in all of them.
bool CanRepeat(const std::vector<const Module*>& modules,
               const CallGraph& graph, Symbol kernel);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PART_KERNELS_H_
