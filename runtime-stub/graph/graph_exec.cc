// Executable graphs: made, launched and updated.
#include "runtime-stub/graph/graph_exec.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/graph/user_object.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// Flags of instantiation that HIP has a meaning for: freeing memory of
// earlier launches, and the priorities of kernel nodes, of which HIP 5 knows
// nothing. Uploading is a call of its own.
constexpr unsigned long long kAutoFreeOnLaunch = 1;
constexpr unsigned long long kUseNodePriority = 8;
constexpr unsigned long long kFlags = 15;

// The flags that a program gave, which HIP got some of, the number, and what it
// was made from; null where HIP did not say all of that.
struct Executable {
  unsigned long long flags = 0;
  unsigned number = 0;
  std::shared_ptr<GraphCopy> copy;
};
std::mutex g_mutex;
using Executables = std::map<CUgraphExec, Executable>;
NeverDestroyed<Executables> g_all_executables;
auto& g_executables = *g_all_executables;

template <typename Member, typename Out>
CUresult Read(CUgraphExec exec, Member Executable::* member, Out* out) {
  if (exec == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = at->second.*member;
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphCopy> CopyOf(CUgraph graph) {
  auto copy = std::make_shared<GraphCopy>();
  return CopyGraph(graph, copy.get()) == CUDA_SUCCESS ? copy : nullptr;
}

// Calls `change` with what the executable graph has of a node.
template <typename Change>
void ChangeNode(CUgraphExec exec, CUgraphNode node, Change change) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end() || at->second.copy == nullptr) return;
  if (GraphCopy::Node* found = at->second.copy->Find(node)) change(found);
}

// After an update: nodes are still known by those it was first made from.
void UpdateCopy(CUgraphExec exec, CUgraph graph) {
  std::shared_ptr<GraphCopy> copy = CopyOf(graph);
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return;
  if (copy != nullptr && at->second.copy != nullptr) {
    copy->TakeNames(*at->second.copy);
  }
  at->second.copy = std::move(copy);
}

CUresult Instantiate(CUgraphExec* exec, CUgraph graph,
                     unsigned long long flags) {
  if (exec == nullptr || graph == nullptr || flags > kFlags) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const unsigned long long needed = flags & kAutoFreeOnLaunch;
  const unsigned long long wished = flags & kUseNodePriority;
  if (NeedsPlan(graph)) {
    const CUresult result = MakePlan(context, graph, needed, exec);
    if (result != CUDA_SUCCESS) return result;
  } else {
    hipError_t error = hip.hipGraphInstantiateWithFlags(
        Native(exec), Native(graph), needed | wished);
    if (error == hipErrorInvalidValue && wished != 0) {
      error =
          hip.hipGraphInstantiateWithFlags(Native(exec), Native(graph), needed);
    }
    if (error != hipSuccess) return NoteResult(context, error);
  }
  const auto drop = [exec] {
    if (IsPlan(*exec)) {
      DestroyPlan(*exec);
    } else {
      hip.hipGraphExecDestroy(Native(*exec));
    }
    DropUserObjects(*exec);
    *exec = nullptr;
  };
  try {
    KeepUserObjects(graph, *exec);
    const unsigned number = NewGraphNumber();
    auto copy = std::make_shared<GraphCopy>();
    const CUresult result = CopyGraph(graph, copy.get());
    if (result != CUDA_SUCCESS) {
      drop();
      return result;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    g_executables[*exec] = {flags, number, std::move(copy)};
  } catch (...) {
    drop();
    throw;
  }
  return CUDA_SUCCESS;
}

}  // namespace

void NoteExecNode(CUgraphExec exec, CUgraphNode node, RecordPtr record) {
  ChangeNode(exec, node, [&](GraphCopy::Node* found) {
    found->record = std::move(record);
  });
}
void NoteExecNode(CUgraphExec exec, CUgraphNode node,
                  const CUgraphNodeParams& params) {
  ChangeNode(exec, node, [&](GraphCopy::Node* found) {
    found->params = std::make_shared<NodeParams>(params);
  });
}
void NoteExecChild(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  std::shared_ptr<GraphCopy> copy = CopyOf(child);
  ChangeNode(exec, node, [&](GraphCopy::Node* found) {
    if (copy != nullptr && found->child != nullptr) {
      copy->TakeNames(*found->child);
    }
    found->child = std::move(copy);
  });
}

CUresult CaptureGraphLaunch(hipStream_t stream, CUgraphExec exec) {
  GraphCopy whole;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_executables.find(exec);
    if (at == g_executables.end()) return CUDA_ERROR_INVALID_VALUE;
    if (at->second.copy == nullptr) {
      Log(LogLevel::kError,
          "this HIP does not say what an executable graph is made of, which "
          "therefore cannot become part of another");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    whole = *at->second.copy;
  }
  CUgraph child = nullptr;
  CUresult result = api::cuGraphCreate(&child, 0);
  if (result != CUDA_SUCCESS) return result;
  result = AddCopy(whole, child);
  if (result == CUDA_SUCCESS) {
    result = CaptureNode(stream, [&](CUgraphNode* node, CUgraph graph,
                                     const CUgraphNode* after,
                                     std::size_t count) {
      return api::cuGraphAddChildGraphNode(node, graph, after, count, child);
    });
  }
  api::cuGraphDestroy(child);
  return result;
}

namespace api {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                     unsigned long long flags) {
  return Instantiate(exec, graph, flags);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                               CUgraphNode* error_node, char* log,
                               std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return Instantiate(exec, graph, 0);
}
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* error_node, char* log,
                            std::size_t log_bytes) {
  return cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  if (IsPlan(exec)) return CUDA_SUCCESS;  // its launch uploads
  const hipError_t error = hip.hipGraphUpload(Native(exec), stream);
  // Without it the first launch uploads.
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  const CUresult result =
      Captures(stream) ? CaptureGraphLaunch(stream, exec)
      : AnyNodeLaunchesKernels() && IsPlan(exec)
          ? LaunchPlan(exec, handle)
          : NoteResult(context, hip.hipGraphLaunch(Native(exec), stream));
  return result == CUDA_SUCCESS ? KeepUserObjectsOfLaunch(exec, handle)
                                : result;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_executables.erase(exec);
  }
  const bool plan = IsPlan(exec);
  if (plan) DestroyPlan(exec);
  const hipError_t error =
      plan ? hipSuccess : hip.hipGraphExecDestroy(Native(exec));
  DropUserObjects(exec);
  return NoteResult(context, error);
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                           CUgraphNode* error_node,
                           CUgraphExecUpdateResult* update) {
  if (exec == nullptr || graph == nullptr || update == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  if (const bool planned = IsPlan(exec); planned || NeedsPlan(graph)) {
    constexpr CUgraphExecUpdateResult kDone = 0, kOtherTopology = 2;
    if (error_node != nullptr) *error_node = nullptr;
    *update = kOtherTopology;
    if (!planned || !NeedsPlan(graph)) {
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    CUgraphExec made = nullptr;
    CUresult result = MakePlan(context, graph, 0, &made);
    if (result != CUDA_SUCCESS) return result;
    ReplacePlan(exec, made);
    KeepUserObjects(graph, exec);
    UpdateCopy(exec, graph);
    *update = kDone;
    return CUDA_SUCCESS;
  }
  hipGraphNode_t node = nullptr;
  const hipError_t error =
      hip.hipGraphExecUpdate(Native(exec), Native(graph), &node, update);
  if (error_node != nullptr) {
    *error_node = reinterpret_cast<CUgraphNode>(node);
  }
  if (error == hipSuccess) {
    KeepUserObjects(graph, exec);
    UpdateCopy(exec, graph);
  }
  return NoteResult(context, error);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return cuGraphExecUpdate(exec, graph, &info->errorNode, &info->result);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t kUpload = 2;
  params->hErrNode_out = nullptr;
  CUresult result = Instantiate(exec, graph, params->flags);
  if (result == CUDA_SUCCESS && (params->flags & kUpload) != 0) {
    result = cuGraphUpload(*exec, params->hUploadStream);
  }
  params->result_out = result == CUDA_SUCCESS ? 0 : 1;
  return result;
}
CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return Read(exec, &Executable::flags, flags);
}
CUresult cuGraphExecGetId(CUgraphExec exec, unsigned* id) {
  return Read(exec, &Executable::number, id);
}

}  // namespace api
}  // namespace cerberus::stub
