// What is remembered of the nodes of graphs: what the program said of each.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/api.h"

namespace cerberus::stub {

struct Context;
class NodeMemory;

// CUgraphNodeType.
enum : int {
  kKernelNode = 0,
  kMemcpyNode = 1,
  kMemsetNode = 2,
  kHostNode = 3,
  kChildNode = 4,
  kEmptyNode = 5,
  kWaitEventNode = 6,
  kRecordEventNode = 7,
  kSignalNode = 8,
  kWaitNode = 9,
  kAllocNode = 10,
  kFreeNode = 11,
  kOperationsNode = 12,
  kConditionalNode = 13,
};

using KernelAttributes = std::map<int, CUkernelNodeAttrValue>;

struct Grid;
// What a node of these launches. Errors: CUDA_ERROR_INVALID_VALUE for a cluster
// without blocks.
CUresult GridOf(const CUDA_KERNEL_NODE_PARAMS& params,
                const KernelAttributes& attributes, Grid* grid);

// What the program said of a node: its type, and where HIP has it in other
// words all the rest.
struct NodeRecord {
  int type = kEmptyNode;
  bool launches = false;  // kernels, from the device
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  std::vector<std::uint8_t> arguments;  // `kernel` points into these two
  std::vector<void*> pointers;
  KernelAttributes attributes;
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS set = {};
  CUDA_HOST_NODE_PARAMS host = {};
  std::vector<CUstreamBatchMemOpParams> operations;
  CUDA_CONDITIONAL_NODE_PARAMS conditional = {};
  std::vector<CUgraph> bodies;  // `conditional` points to them
  // Memory that a node allocates or frees, where HIP has no such nodes.
  CUDA_MEM_ALLOC_NODE_PARAMS memory = {};
  std::shared_ptr<const NodeMemory> allocated;
  CUcontext context = nullptr;  // of a kernel, copy, set or operations
  bool by_host = false;         // operations that HIP has no nodes for

  // Whether executable graphs with it are taken through steps (graph_plan.h).
  bool is_stepped() const {
    return launches || by_host || type == kConditionalNode;
  }
};

// Records do not change: a node's is replaced, and its clones share it.
using RecordPtr = std::shared_ptr<const NodeRecord>;

// Of a node that is none of a kernel.
template <typename Params>
RecordPtr RecordOf(int type, Params NodeRecord::* field, const Params& params,
                   CUcontext context = nullptr) {
  auto record = std::make_shared<NodeRecord>();
  record->type = type;
  (*record).*field = params;
  record->context = context;
  return record;
}

void Remember(CUgraphNode node, RecordPtr record);
// A node that was added, but cannot be remembered for want of memory, goes.
void RememberNew(CUgraphNode node, RecordPtr record);
// A new node of which HIP knows the parameters.
CUresult RememberNew(hipError_t error, Context* context, CUgraphNode* node,
                     int type);
// A new child node, whose graph is that of `child`'s copy.
CUresult RememberNewChild(CUgraphNode node, CUgraph child);
// Null of a node that others than the program have made.
RecordPtr FindRecord(CUgraphNode node);
// The record of a node of that type, or an error.
CUresult GetRecord(CUgraphNode node, int type, RecordPtr* record);
// The parameters of a kernel's node. What they point to is the node's: valid as
// long as it is there, also when it has got new ones.
CUresult GetKernelParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params);

// The type of a node that was added: HIP 5.2.3 has another for some copies.
std::optional<int> RecordedType(CUgraphNode node);

// What a node of operations is to do (stream_memory.cc).
CUresult RunOperations(Context* context, hipStream_t stream,
                       const NodeRecord& record);

// From the first such node, or handle for one, AnySteppedNode (graph.h) says
// so.
void NoteSteppedNode();

// Nodes of kernels (graph_kernel_node.cc); cuGraphAddNode takes all kinds.
CUresult AddKernelNode(CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* after, std::size_t count,
                       const CUDA_KERNEL_NODE_PARAMS& params,
                       const KernelAttributes& attributes = {});
CUresult SetKernelNode(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params);
CUresult SetExecKernelNode(CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS& params);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_
