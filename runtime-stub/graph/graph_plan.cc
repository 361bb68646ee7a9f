#include "runtime-stub/graph/graph_plan.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// Nodes that HIP launches together, or one kernel that launches others.
struct Step {
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    if (exec != nullptr) hip.hipGraphExecDestroy(exec);
    if (graph != nullptr) hip.hipGraphDestroy(graph);
  }
  std::vector<CUgraphNode> nodes;
  RecordPtr kernel;
  hipGraph_t graph = nullptr;  // the whole one's copy, without other nodes
  hipGraphExec_t exec = nullptr;
};
struct Plan {
  std::mutex mutex;  // launches and changes follow one another
  std::vector<std::unique_ptr<Step>> steps;

  Step* KernelStep(CUgraphNode node) {
    for (const std::unique_ptr<Step>& step : steps) {
      if (step->kernel && step->nodes.front() == node) return step.get();
    }
    return nullptr;
  }
};

std::mutex g_mutex;
NeverDestroyed<std::map<CUgraphExec, std::shared_ptr<Plan>>> g_all_plans;
auto& g_plans = *g_all_plans;

std::shared_ptr<Plan> PlanOf(CUgraphExec exec) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_plans.find(exec);
  return at == g_plans.end() ? nullptr : at->second;
}

// Each node behind those it depends on; kernels that launch kernels as late as
// possible, so that there are few steps. False if HIP does not tell.
bool Order(CUgraph graph, std::vector<CUgraphNode>* order) {
  struct Waiting {
    std::size_t for_nodes = 0;
    std::vector<CUgraphNode> dependents;
  };
  std::map<CUgraphNode, Waiting> waiting;
  const std::vector<CUgraphNode> nodes = NodesOf(graph);
  for (CUgraphNode node : nodes) {
    std::size_t count = 0;
    if (hip.hipGraphNodeGetDependencies(Native(node), nullptr, &count) !=
        hipSuccess) {
      return false;
    }
    std::vector<CUgraphNode> before(count);
    if (count != 0 &&
        hip.hipGraphNodeGetDependencies(Native(node), Native(before.data()),
                                        &count) != hipSuccess) {
      return false;
    }
    waiting[node].for_nodes = count;
    for (CUgraphNode one : before) waiting[one].dependents.push_back(node);
  }
  std::vector<CUgraphNode> ready, ready_kernels;
  const auto add = [&](CUgraphNode node) {
    (LaunchesKernels(node) ? ready_kernels : ready).push_back(node);
  };
  for (CUgraphNode node : nodes) {
    if (waiting[node].for_nodes == 0) add(node);
  }
  while (!ready.empty() || !ready_kernels.empty()) {
    std::vector<CUgraphNode>& from = ready.empty() ? ready_kernels : ready;
    CUgraphNode node = from.back();
    from.pop_back();
    order->push_back(node);
    for (CUgraphNode next : waiting[node].dependents) {
      if (--waiting[next].for_nodes == 0) add(next);
    }
  }
  return order->size() == nodes.size();
}

// HIP's graph of the step's nodes alone.
hipError_t MakeGraph(CUgraph whole, const std::vector<CUgraphNode>& all,
                     unsigned long long flags, Step* step) {
  hipError_t error = hip.hipGraphClone(&step->graph, Native(whole));
  if (error != hipSuccess) return error;
  std::map<CUgraphNode, bool> stays;
  for (CUgraphNode node : step->nodes) stays[node] = true;
  for (CUgraphNode node : all) {
    if (stays[node]) continue;
    hipGraphNode_t copy = nullptr;
    error = hip.hipGraphNodeFindInClone(&copy, Native(node), step->graph);
    if (error == hipSuccess) error = hip.hipGraphDestroyNode(copy);
    if (error != hipSuccess) return error;
  }
  return hip.hipGraphInstantiateWithFlags(&step->exec, step->graph, flags);
}

}  // namespace

bool NeedsPlan(CUgraph graph) {
  if (!AnyNodeLaunchesKernels()) return false;
  for (CUgraphNode node : NodesOf(graph)) {
    if (LaunchesKernels(node)) return true;
  }
  return false;
}

CUresult MakePlan(Context* context, CUgraph graph, unsigned long long flags,
                  CUgraphExec* exec) {
  constexpr CUgraphNodeType kAllocation = 10, kFree = 11;
  std::vector<CUgraphNode> order;
  if (!Order(graph, &order)) return CUDA_ERROR_INVALID_VALUE;
  auto plan = std::make_shared<Plan>();
  for (CUgraphNode node : order) {
    CUgraphNodeType type = 0;
    if (CUresult r = api::cuGraphNodeGetType(node, &type); r != CUDA_SUCCESS) {
      return r;
    }
    if (type == kAllocation || type == kFree) {
      Log(LogLevel::kError,
          "a graph with kernels that launch kernels cannot allocate memory");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const bool launches = LaunchesKernels(node);
    if (launches || plan->steps.empty() || plan->steps.back()->kernel) {
      plan->steps.push_back(std::make_unique<Step>());
    }
    Step& step = *plan->steps.back();
    step.nodes.push_back(node);
    if (launches) step.kernel = FindRecord(node);
  }
  for (const std::unique_ptr<Step>& step : plan->steps) {
    if (step->kernel) continue;
    const hipError_t error = MakeGraph(graph, order, flags, step.get());
    if (error != hipSuccess) return NoteResult(context, error);
  }
  auto* handle = reinterpret_cast<CUgraphExec>(plan.get());
  std::lock_guard<std::mutex> lock(g_mutex);
  g_plans[handle] = std::move(plan);
  *exec = handle;
  return CUDA_SUCCESS;
}

bool IsPlan(CUgraphExec exec) { return PlanOf(exec) != nullptr; }

CUresult LaunchPlan(CUgraphExec exec, CUstream handle) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  CERB_STREAM(context, stream, handle);
  std::lock_guard<std::mutex> lock(plan->mutex);
  for (const std::unique_ptr<Step>& step : plan->steps) {
    if (!step->kernel) {
      const hipError_t error = hip.hipGraphLaunch(step->exec, stream);
      if (error != hipSuccess) return NoteResult(context, error);
      continue;
    }
    const CUDA_KERNEL_NODE_PARAMS& p = step->kernel->kernel;
    const CUresult result = api::cuLaunchKernel(
        p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern),
        p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY,
        p.blockDimZ, p.sharedMemBytes, handle, p.kernelParams, nullptr);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

void DestroyPlan(CUgraphExec exec) {
  std::shared_ptr<Plan> plan = PlanOf(exec);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_plans.erase(exec);
}

void ReplacePlan(CUgraphExec exec, CUgraphExec by) {
  const std::shared_ptr<Plan> plan = PlanOf(exec), other = PlanOf(by);
  {
    std::lock_guard<std::mutex> lock(plan->mutex);
    std::swap(plan->steps, other->steps);
  }
  DestroyPlan(by);
}

bool IsPlanKernel(CUgraphExec exec, CUgraphNode node) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  if (plan == nullptr) return false;
  std::lock_guard<std::mutex> lock(plan->mutex);
  return plan->KernelStep(node) != nullptr;
}
void SetPlanKernel(CUgraphExec exec, CUgraphNode node, RecordPtr kernel) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  std::lock_guard<std::mutex> lock(plan->mutex);
  plan->KernelStep(node)->kernel = std::move(kernel);
}

NodeOfExec FindNodeOfExec(CUgraphExec exec, CUgraphNode node) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  if (plan == nullptr) return {Native(exec), Native(node)};
  std::lock_guard<std::mutex> lock(plan->mutex);
  for (const std::unique_ptr<Step>& step : plan->steps) {
    if (step->kernel) continue;
    for (CUgraphNode one : step->nodes) {
      hipGraphNode_t copy = nullptr;
      if (one == node && hip.hipGraphNodeFindInClone(
                             &copy, Native(node), step->graph) == hipSuccess) {
        return {step->exec, copy};
      }
    }
  }
  return {nullptr, nullptr};
}

}  // namespace cerberus::stub
