// Memory that executable graphs allocate and leave to the program: such a graph
// is launched again when the memory has been freed, by whomever (CUDA Driver
// API, cuGraphLaunch). HIP does not look.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_

#include <vector>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_copy.h"

namespace cerberus::stub {

// By address, which belongs to the node.
struct GraphMemory {
  std::vector<CUdeviceptr> allocated;
  std::vector<CUdeviceptr> freed;  // its own or another's
  std::vector<CUdeviceptr> left;   // allocated and not freed
};
GraphMemory MemoryOf(const GraphCopy& graph);

bool IsAnyUnfreed(const GraphMemory& memory);
void NoteGraphLaunch(const GraphMemory& memory);
// The program has freed it, or it is a new node's.
void NoteGraphMemoryFreed(CUdeviceptr address);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_
