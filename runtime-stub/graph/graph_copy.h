// What graphs are made of, apart from HIP: to make them again.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

// Parameters with all that they point to.
class NodeParams {
 public:
  explicit NodeParams(const CUgraphNodeParams& given);
  NodeParams(const NodeParams&) = delete;
  NodeParams& operator=(const NodeParams&) = delete;

  CUgraphNodeParams params;

 private:
  std::vector<CUstreamBatchMemOpParams> operations_;
  std::vector<CUexternalSemaphore> semaphores_;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals_;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits_;
};

struct GraphCopy {
  struct Node {
    CUgraphNode original = nullptr;
    std::vector<std::size_t> after;  // places in `nodes`
    RecordPtr record;                // of kernels, copies, sets and functions
    std::shared_ptr<NodeParams> params;  // of all others but
    std::shared_ptr<GraphCopy> child;    // a whole graph
  };
  std::vector<Node> nodes;  // in HIP's order

  Node* Find(CUgraphNode original);
  // Nodes are known by the originals of another copy of the same shape.
  void TakeNames(const GraphCopy& other);
};

CUresult CopyGraph(CUgraph graph, GraphCopy* copy);
// Adds all its nodes. Errors: what HIP says; CUDA_ERROR_NOT_SUPPORTED for nodes
// of memory, and for those that a library has captured by HIP.
CUresult AddCopy(const GraphCopy& copy, CUgraph graph);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_
