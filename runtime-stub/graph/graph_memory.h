// Memory that executable graphs allocate and leave to the program: such a graph
// is launched again when the memory has been freed, by whomever (CUDA Driver
// API, cuGraphLaunch). HIP does not look.
//
// HIP 5.2 has no nodes that allocate memory. Those of 5.7 and 6.4 are in no
// copy of their graph and in one executable graph of it alone, which is not
// launched again when the program has freed what it left. So before HIP 7 a
// node has memory of its own, from when it is added until it and its executable
// graphs are gone, and is an empty one for HIP. Where a node of the same graph
// that stands before it frees enough memory it has that.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_

#include <memory>
#include <optional>
#include <vector>

#include "hip/hip_abi.h"
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

// A node's own memory. Where the program has yet to free it when the node goes,
// it is the program's.
class NodeMemory {
 public:
  explicit NodeMemory(CUdeviceptr address) : address_(address) {}
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

 private:
  const CUdeviceptr address_;
};
// Whether such a node is to have memory of its own.
bool HasOwnMemory(const CUDA_MEM_ALLOC_NODE_PARAMS& params);
// Memory for a new node behind these; sets the address.
CUresult GetNodeMemory(CUgraph graph, const CUgraphNode* after,
                       std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                       std::shared_ptr<const NodeMemory>* out);
// A node frees the memory; or one that has to do with it goes, null.
void NoteFreeNode(CUdeviceptr address, CUgraphNode node);
// Whether it is a node's own memory.
bool IsNodeMemory(CUdeviceptr address);
// The program frees it. Nothing: it is other memory.
std::optional<hipError_t> FreeNodeMemory(CUdeviceptr address);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_MEMORY_H_
