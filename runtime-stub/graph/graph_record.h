// What is remembered of the nodes of graphs: what the program said of each.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime-stub/api/api.h"
#include "runtime-stub/graph/graph_plan.h"

namespace cerberus::stub {

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
};

// What the program said of a node.
struct NodeRecord {
  int type = kEmptyNode;
  bool launches = false;  // kernels, from the device
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  std::vector<std::uint8_t> arguments;  // `kernel` points into these two
  std::vector<void*> pointers;
  std::map<int, CUkernelNodeAttrValue> attributes;
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS set = {};
  CUDA_HOST_NODE_PARAMS host = {};
};

void Remember(CUgraphNode node, std::unique_ptr<NodeRecord> record);
// A node that was added, but cannot be remembered for want of memory, goes.
void RememberNew(CUgraphNode node, std::unique_ptr<NodeRecord> record);
template <typename Params>
void RememberNew(CUgraphNode node, int type, Params NodeRecord::* field,
                 const Params& params) {
  auto record = std::make_unique<NodeRecord>();
  record->type = type;
  (*record).*field = params;
  RememberNew(node, std::move(record));
}

// Calls `use` with the record of a node of that type.
CUresult WithRecord(CUgraphNode node, int type,
                    const std::function<void(NodeRecord*)>& use);

// The type of a node that was added: HIP 5.2.3 has another for some copies.
std::optional<int> RecordedType(CUgraphNode node);

// From the first such node on, AnyNodeLaunchesKernels (graph.h) says so.
void NoteNodeThatLaunches();

// A kernel's node with arguments of its own.
std::unique_ptr<KernelNode> KernelNodeOf(const NodeRecord& record);

// Nodes of kernels (graph_kernel_node.cc); cuGraphAddNode takes all kinds.
CUresult AddKernelNode(CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* after, std::size_t count,
                       const CUDA_KERNEL_NODE_PARAMS& params);
CUresult SetKernelNode(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params);
CUresult SetExecKernelNode(CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS& params);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_RECORD_H_
