// Executable graphs that the host takes through steps: those with kernels that
// launch kernels, or with conditional nodes; and, in one step, those that got
// another graph which HIP's update does not take over as CUDA's does.
//
// What a kernel launches is launched by the host when the kernel has ended
// (device_launch.h), and what a condition's value is the host sees when all
// before it has ended; HIP's graphs have nothing for either. So the nodes get
// an order; what stands between two such nodes becomes a graph of HIP's, and
// launching the whole launches these and the nodes in turn. A child graph with
// such nodes and the bodies of conditions are steps within a step. Like the
// launch of a kernel that launches others it returns when all have ended, but
// for what stands behind the last such node.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_

#include <map>
#include <optional>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

struct Context;

// Whether a node of the graph, or of the graphs in it, is such a one.
CUresult NeedsPlan(CUgraph graph, bool* needs);

// Nodes by which those of a graph are known to a program that made the
// executable graph of another.
using NodeNames = std::map<CUgraphNode, CUgraphNode>;
// CUgraphInstantiateResult, and the node that cannot be.
struct PlanFailure {
  enum { kError = 1, kNodeNotSupported = 3, kHandleUnused = 5 };
  int what = kError;
  CUgraphNode node = nullptr;
};
// `flags`: HIP's, for its graphs.
CUresult MakePlan(Context* context, CUgraph graph, unsigned long long flags,
                  CUgraphExec* exec, PlanFailure* failure);
// The executable graph takes over another graph of its shape, from the next
// launch on; it may be HIP's own until then, with these flags. Nodes that were
// switched off stay so.
CUresult UpdatePlan(CUgraphExec exec, CUgraph graph, unsigned long long flags,
                    const NodeNames& names);
bool IsPlan(CUgraphExec exec);
CUresult LaunchPlan(Context* context, CUgraphExec exec, hipStream_t stream);
void DestroyPlan(CUgraphExec exec);

// Whether the node is a kernel that a plan launches itself, and changes of it.
bool IsPlanKernel(CUgraphExec exec, CUgraphNode node);
void SetPlanKernel(CUgraphExec exec, CUgraphNode node, RecordPtr kernel);
bool SetPlanKernelEnabled(CUgraphExec exec, CUgraphNode node, bool enabled);
std::optional<bool> IsPlanKernelEnabled(CUgraphExec exec, CUgraphNode node);
// Whether it is a child node with steps of its own, and another graph for it.
bool IsPlanChild(CUgraphExec exec, CUgraphNode node);
CUresult SetPlanChild(Context* context, CUgraphExec exec, CUgraphNode node,
                      CUgraph child, const NodeNames& names);

// What HIP calls the node's executable graph and the node in it: those handed
// in, but for a plan. Null for a node that is not HIP's to change.
struct NodeOfExec {
  hipGraphExec_t exec;
  hipGraphNode_t node;
};
NodeOfExec FindNodeOfExec(CUgraphExec exec, CUgraphNode node);

// Declares `at`, or answers for a node that cannot be changed so.
#define CERB_NODE_OF_EXEC(at, exec, node)           \
  const ::cerberus::stub::NodeOfExec at =           \
      ::cerberus::stub::FindNodeOfExec(exec, node); \
  if (at.exec == nullptr) return CUDA_ERROR_INVALID_VALUE

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_
