// Executable graphs with kernels that launch kernels.
//
// What such a kernel launches is launched by the host when the kernel has ended
// (device_launch.h), and HIP's graphs have nothing for that. So the nodes get
// an order; what stands between two such kernels becomes a graph of HIP's, and
// launching the whole launches these and the kernels in turn. Like the launch
// of such a kernel it returns when all have ended, but for what stands behind
// the last one.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

struct Context;

// Whether a node of the graph itself launches kernels.
bool NeedsPlan(CUgraph graph);
// `flags`: HIP's, for its graphs.
CUresult MakePlan(Context* context, CUgraph graph, unsigned long long flags,
                  CUgraphExec* exec);
bool IsPlan(CUgraphExec exec);
CUresult LaunchPlan(CUgraphExec exec, CUstream stream);
void DestroyPlan(CUgraphExec exec);
// Takes over what another one was made of.
void ReplacePlan(CUgraphExec exec, CUgraphExec by);
// Whether the node is a kernel that a plan launches itself, and new parameters
// for it.
bool IsPlanKernel(CUgraphExec exec, CUgraphNode node);
void SetPlanKernel(CUgraphExec exec, CUgraphNode node, RecordPtr kernel);
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
