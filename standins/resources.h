// What ptxas -v says of a kernel. Sizes are the PTX's own. How many registers
// a kernel takes is known when it is compiled for a GPU; what stands here is
// how many values live at a time in the PTX, in the order written.
#ifndef CERBERUS_STANDINS_RESOURCES_H_
#define CERBERUS_STANDINS_RESOURCES_H_

#include <cstdint>

#include "ptxc/front/ast.h"

namespace cerberus::standins {

struct Resources {
  std::uint32_t registers = 0;  // of 32 bits
  std::uint32_t barriers = 0;
  std::uint64_t stack_bytes = 0;   // .local, of called functions too
  std::uint64_t shared_bytes = 0;  // without dynamic shared memory
  std::uint64_t param_bytes = 0;
};

// Of a kernel or function, with all that it calls within the module.
Resources ResourcesOf(const ptx::Module& module, const ptx::Function& function);

// All variables of the module in that space.
std::uint64_t BytesIn(const ptx::Module& module, ptx::VarSpace space);

}  // namespace cerberus::standins

#endif  // CERBERUS_STANDINS_RESOURCES_H_
