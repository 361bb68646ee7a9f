// Further forms of kernels, for smaller blocks (docs/launch-abi.md, "Forms for
// small blocks"). All work-items of a block are on one compute unit at once,
// so that the largest block that a kernel is compiled for says how many
// registers a work-item can have. Where they are too few, values are spilled to
// memory; a form for blocks of half the size has twice as many.
#ifndef CERBERUS_PTXC_COMPILE_FORMS_H_
#define CERBERUS_PTXC_COMPILE_FORMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ptxc/compile/outcome.h"

namespace cerberus::ptx {

struct FormToTry {
  std::string kernel;         // mangled, as in PTX
  std::uint32_t threads = 0;  // of its largest block
  std::uint32_t spills = 0;   // of the form for the next larger blocks
};

// What is worth a try after a part came out so, in the order of its kernels;
// nothing after a part that failed. `part_threads` are those that the part
// itself was a form for, else 0.
std::vector<FormToTry> FormsToTry(const PartOutcome& outcome,
                                  std::uint32_t part_threads,
                                  unsigned wave_size);

// Whether fewer values of the kernel are spilled. False if it failed.
bool IsBetter(const PartOutcome& outcome, const FormToTry& tried);

// The kernel's name in the form for blocks of so many threads.
std::string FormName(const std::string& name, std::uint32_t threads);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_FORMS_H_
