// Conditional nodes of graphs: handles, whose values kernels set, and bodies,
// which are graphs of the node's.
//
// HIP has no such nodes. One is an empty node of HIP's graph, and a step of its
// own where the graph is executed (graph_plan.h).
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_CONDITIONAL_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_CONDITIONAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

enum : int { kConditionIf = 0, kConditionWhile = 1, kConditionSwitch = 2 };

// A handle is the device's address of the word that cudaGraphSetConditional
// writes to.
struct Condition {
  Condition();
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  std::uint32_t value() const {
    return word != nullptr ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0;
  }

  std::uint32_t* word = nullptr;  // null after a reset of the context
  CUgraphConditionalHandle handle = 0;
  unsigned default_value = 0;
  bool assign_default = false;
  CUcontext context = nullptr;
  CUgraph graph = nullptr;     // which it was made for
  CUgraphNode node = nullptr;  // whose it is; null: not yet
  // The plan that has it: there is but one at a time.
  const void* plan = nullptr;
};
using ConditionPtr = std::shared_ptr<Condition>;

// Adds the node, and fills in `params` the list of its bodies.
CUresult AddConditionalNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            CUDA_CONDITIONAL_NODE_PARAMS* params);
// That of a node's record.
ConditionPtr ConditionOf(const NodeRecord& record);
// All that were made for the graph itself.
std::vector<ConditionPtr> ConditionsFor(CUgraph graph);
// Whether the graph is a body: the node's, not the program's, to destroy.
bool IsBody(CUgraph graph);
// Whether it has conditional nodes, or a graph of its child nodes does.
CUresult HasConditions(CUgraph graph, bool* has);

// The graph and the node go; also of a new graph, whose address may have been
// that of one that never went.
void DropConditions(CUgraph graph);
void DropBodies(const NodeRecord& record);
// Before a reset of the context, which frees all memory.
void FreeConditionWords(CUcontext context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_CONDITIONAL_H_
