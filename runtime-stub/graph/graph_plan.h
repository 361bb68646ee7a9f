// Executable graphs that the host takes through steps: those with kernels that
// launch kernels, with conditional nodes, with nodes of several devices, and
// with operations on memory where HIP has no such nodes; and, in one step,
// those that got another graph which HIP's update does not take over as CUDA's
// does.
//
// What a kernel launches is launched by the host when the kernel has ended
// (device_launch.h), and what a condition's value is the host sees when all
// before it has ended; HIP's graphs have nothing for either. So the nodes get
// an order; what stands between two such nodes becomes a graph of HIP's, and
// launching the whole launches these and the nodes in turn. A child graph with
// such nodes and the bodies of conditions are steps within a step. Like the
// launch of a kernel that launches others it returns when all have ended, but
// for what stands behind the last such node. Nodes of one device that can stand
// together are a graph of HIP's, which is launched on a stream of the device's;
// for these nobody waits.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_PLAN_H_

#include <map>
#include <optional>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

struct Context;
struct Device;

// Whether a node of the graph, or of the graphs in it, is such a one.
CUresult NeedsPlan(CUgraph graph, bool* needs);

// The device that all nodes have to be executed on; null: any, or several.
Device* DeviceOfNodes(CUgraph graph);
// The same for a graph that HIP is to copy. Errors: CUDA_ERROR_NOT_SUPPORTED,
// where it cannot.
CUresult DeviceToCopyOn(CUgraph graph, Device** device);
// Within its scope HIP's current device is this one, unless it is null. HIP
// executes a graph on the device for which it was made executable, and 6.4
// copies kernels of the current device alone.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Device* device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  Context* const before_;
};

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

// Whether the node is of this type, of a kernel or operations, and a step, and
// changes of it.
bool IsPlanStep(CUgraphExec exec, CUgraphNode node, int type);
void SetPlanStep(CUgraphExec exec, CUgraphNode node, RecordPtr record);
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
