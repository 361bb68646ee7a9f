// The metadata in objects and code objects.
#ifndef CERBERUS_PTXC_BACKEND_NOTES_H_
#define CERBERUS_PTXC_BACKEND_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::ptx {

// lld puts the notes of the objects behind one another, but who loads a code
// object reads one, which has to name all kernels (LLVM, AMDGPUUsage, "Code
// Object V3 and Above Metadata"). It takes their place.
Status MergeNotes(Bytes& code_object);

// What a kernel's machine code takes of the GPU.
struct KernelUse {
  std::string name;
  std::uint32_t work_items = 0;  // of a block, at most
  std::uint32_t registers = 0;   // VGPRs
  std::uint32_t spills = 0;      // of those
};
// Of the kernels in an object that was not linked yet.
Result<std::vector<KernelUse>> ReadKernelUses(ByteSpan object);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_NOTES_H_
