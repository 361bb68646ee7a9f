// How many threads a block of a kernel can have had where the program ran on
// NVIDIA GPUs, known from the machine code beside the PTX. It travels in the
// text, so that all that goes by the text goes by it: at module scope, behind
// all else,
//
//   .pragma "cerberus.max_threads KERNEL N";
//
// Compilers ignore pragmas that they do not know (PTX ISA 9.0, 11.4,
// ".pragma").
#ifndef CERBERUS_PTXC_FRONT_BLOCK_BOUNDS_H_
#define CERBERUS_PTXC_FRONT_BLOCK_BOUNDS_H_

#include <cstdint>
#include <map>
#include <string>

#include "ptxc/front/ast.h"

namespace cerberus::ptx {

// By kernel (mangled), from 1 to 1,024.
using BlockBounds = std::map<std::string, std::uint32_t>;

void AppendBlockBounds(const BlockBounds& bounds, std::string* ptx);
// Of several for one kernel the smallest counts; what is no bound is ignored.
void ReadBlockBounds(const Module& module, BlockBounds* bounds);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_BLOCK_BOUNDS_H_
