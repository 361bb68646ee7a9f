// Executable graphs: made, launched and updated.
#include "runtime-stub/graph/graph_exec.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/device_graph.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_memory.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/graph/lanes.h"
#include "runtime-stub/graph/native_exec.h"
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
constexpr unsigned long long kDeviceLaunch = 4;
constexpr unsigned long long kUseNodePriority = 8;
constexpr unsigned long long kFlags = 15;

// The flags that a program gave, which HIP got some of, the number, and what it
// was made from.
struct Executable {
  unsigned long long flags = 0;
  unsigned number = 0;
  std::shared_ptr<GraphCopy> copy;
  Device* device = nullptr;      // its nodes', null: any, or several
  std::shared_ptr<Lanes> lanes;  // if there is one
  GraphMemory memory;
};
std::mutex g_mutex;
using Executables = std::map<CUgraphExec, Executable>;
NeverDestroyed<Executables> g_all_executables;
auto& g_executables = *g_all_executables;

bool Find(CUgraphExec exec, Executable* out) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return false;
  *out = at->second;
  return true;
}

// A graph that allocates memory has one executable graph at a time (CUDA Driver
// API, cuGraphInstantiate).
bool HasExecutable(const GraphMemory& memory) {
  if (memory.allocated.empty()) return false;
  const CUdeviceptr address = memory.allocated.front();
  std::lock_guard<std::mutex> lock(g_mutex);
  return std::any_of(
      g_executables.begin(), g_executables.end(), [address](const auto& each) {
        const auto& theirs = each.second.memory.allocated;
        return std::find(theirs.begin(), theirs.end(), address) != theirs.end();
      });
}

// Memory of the executable graph, if it has any, and whether memory of earlier
// launches is freed by the next one.
std::optional<GraphMemory> LaunchedMemory(CUgraphExec exec, bool* frees) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return std::nullopt;
  const GraphMemory& memory = at->second.memory;
  if (memory.left.empty() && memory.freed.empty()) return std::nullopt;
  *frees = (at->second.flags & kAutoFreeOnLaunch) != 0;
  return memory;
}

template <typename Member, typename Out>
CUresult Read(CUgraphExec exec, Member Executable::* member, Out* out) {
  if (exec == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  Executable executable;
  if (!Find(exec, &executable)) return CUDA_ERROR_INVALID_VALUE;
  *out = executable.*member;
  return CUDA_SUCCESS;
}

// Calls `change` with what the executable graph has of a node.
template <typename Change>
void ChangeNode(CUgraphExec exec, CUgraphNode node, Change change) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return;
  if (GraphCopy::Node* found = at->second.copy->Find(node)) change(found);
}

// After an update: nodes are still known by those it was first made from.
void UpdateCopy(CUgraphExec exec, std::shared_ptr<GraphCopy> copy) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  if (at == g_executables.end()) return;
  copy->TakeNames(*at->second.copy);
  at->second.copy = std::move(copy);
}

// Objects of the graph and of all bodies in it.
void KeepObjects(CUgraph graph, const GraphCopy& copy, CUgraphExec exec) {
  KeepUserObjects(graph, exec);
  const auto keep = [exec](const GraphCopy& whole, const auto& self) -> void {
    for (const GraphCopy::Node& node : whole.nodes) {
      if (node.type == kConditionalNode) {
        for (CUgraph body : node.record->bodies) {
          KeepUserObjectsOfChild(body, exec);
        }
      }
      for (const auto& inner : node.graphs) self(*inner, self);
    }
  };
  keep(copy, keep);
}

// What a graph that kernels launch may be made of (CUDA C++ Programming Guide,
// "Device Graph Requirements").
CUresult CheckForDevice(const GraphCopy& graph, PlanFailure* failure) {
  for (const GraphCopy::Node& node : graph.nodes) {
    switch (node.type) {
      case kKernelNode:
      case kMemcpyNode:
      case kMemsetNode:
      case kEmptyNode: break;
      case kChildNode: {
        const CUresult result = CheckForDevice(*node.graphs[0], failure);
        if (result != CUDA_SUCCESS) return result;
        break;
      }
      default:
        Log(LogLevel::kError,
            "a graph with a node of type %d cannot be launched from the device",
            node.type);
        *failure = {PlanFailure::kNodeNotSupported, node.original};
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

// The executable graph itself.
CUresult MakeExecutable(Context* context, CUgraph graph,
                        unsigned long long flags, CUgraphExec* exec,
                        Device** device, PlanFailure* failure) {
  const unsigned long long needed = flags & kAutoFreeOnLaunch;
  const unsigned long long wished = flags & kUseNodePriority;
  bool needs_plan = false;
  const CUresult result = NeedsPlan(graph, &needs_plan);
  if (result != CUDA_SUCCESS) return result;
  if (needs_plan) return MakePlan(context, graph, needed, exec, failure);
  *device = DeviceOfNodes(graph);
  const CurrentDevice current(*device);
  hipError_t error = hip.hipGraphInstantiateWithFlags(
      Native(exec), Native(graph), needed | wished);
  if (error == hipErrorInvalidValue && wished != 0) {
    error =
        hip.hipGraphInstantiateWithFlags(Native(exec), Native(graph), needed);
  }
  return NoteResult(context, error);
}

CUresult Instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags,
                     PlanFailure* failure) {
  constexpr unsigned long long kNotBoth = kDeviceLaunch | kAutoFreeOnLaunch;
  if (exec == nullptr || graph == nullptr || flags > kFlags ||
      (flags & kNotBoth) == kNotBoth) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  auto copy = std::make_shared<GraphCopy>();
  CUresult result = CopyGraph(graph, copy.get());
  if (result == CUDA_SUCCESS && (flags & kDeviceLaunch) != 0) {
    result = CheckForDevice(*copy, failure);
  }
  Device* device = nullptr;
  GraphMemory memory = MemoryOf(*copy);
  if (result == CUDA_SUCCESS && HasExecutable(memory)) {
    result = CUDA_ERROR_INVALID_VALUE;
  }
  if (result == CUDA_SUCCESS) {
    result = MakeExecutable(context, graph, flags, exec, &device, failure);
  }
  if (result != CUDA_SUCCESS) return result;
  try {
    KeepObjects(graph, *copy, *exec);
    const unsigned number = NewGraphNumber();
    auto lanes = device != nullptr ? std::make_shared<Lanes>() : nullptr;
    std::lock_guard<std::mutex> lock(g_mutex);
    g_executables[*exec] = {flags,  number,           std::move(copy),
                            device, std::move(lanes), std::move(memory)};
  } catch (...) {
    if (IsPlan(*exec)) {
      DestroyPlan(*exec);
    } else {
      DestroyNative(Native(*exec));
    }
    DropUserObjects(*exec);
    throw;
  }
  return CUDA_SUCCESS;
}
CUresult Instantiate(CUgraphExec* exec, CUgraph graph,
                     unsigned long long flags) {
  PlanFailure ignored;
  return Instantiate(exec, graph, flags, &ignored);
}

// Whether HIP's update of such a graph is CUDA's. It changes functions of the
// host for launches, too, that have not come to them; it does not look at the
// shape of child graphs; and 6.4 goes on launching the kernels that were there.
bool UpdatesInPlace(const GraphCopy& graph) {
  for (const GraphCopy::Node& node : graph.nodes) {
    if (node.type == kHostNode || node.type == kChildNode) return false;
  }
  return true;
}

// HIP's executable graph of what `copy` says takes the place of the one there.
CUresult Replace(CUgraphExec exec, CUgraph graph, const Executable& old,
                 const GraphCopy& copy) {
  NodeNames names;
  copy.PairWith(*old.copy, &names);
  return UpdatePlan(exec, graph, old.flags & kAutoFreeOnLaunch, names);
}

CUresult UpdateInSteps(CUgraphExec exec, CUgraph graph, bool needs_plan,
                       const GraphCopy& copy, UpdateResult* update) {
  Executable old;
  if (!Find(exec, &old)) return CUDA_ERROR_INVALID_VALUE;
  *update = old.copy->Compare(copy);
  if (update->what == UpdateResult::kSuccess && needs_plan && !IsPlan(exec)) {
    update->what = UpdateResult::kFunction;
  }
  return update->what == UpdateResult::kSuccess
             ? Replace(exec, graph, old, copy)
             : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult UpdateByHip(Context* context, CUgraphExec exec, CUgraph graph,
                     UpdateResult* update) {
  const CurrentDevice current(DeviceOfNodes(graph));
  return NoteResult(
      context, hip.hipGraphExecUpdate(Native(exec), Native(graph),
                                      Native(&update->node), &update->what));
}

// Made again of what is known of its nodes.
CUresult MakeAgain(CUgraphExec exec) {
  Executable old;
  if (!Find(exec, &old)) return CUDA_ERROR_INVALID_VALUE;
  CUgraph graph = nullptr;
  CUresult result = api::cuGraphCreate(&graph, 0);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> made;
  result = AddCopy(old.copy->WithoutMemory(), graph, &made);
  NodeNames names;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const GraphCopy::Node& node = old.copy->nodes[i];
    if (node.is_empty) continue;
    names[made[i]] = node.original;
    if (node.type != kChildNode) continue;
    GraphCopy child;
    result = CopyGraph(ChildOf(made[i]), &child);
    if (result != CUDA_SUCCESS) break;
    child.PairWith(*node.graphs[0], &names);
  }
  std::erase_if(names, [&](const auto& each) {
    const GraphCopy::Node* node = old.copy->Find(each.second);
    return node != nullptr && node->is_empty;
  });
  if (result == CUDA_SUCCESS) {
    result = UpdatePlan(exec, graph, old.flags & kAutoFreeOnLaunch, names);
  }
  api::cuGraphDestroy(graph);
  return result;
}
bool IsAnyEmpty(const GraphCopy& graph) {
  return std::any_of(
      graph.nodes.begin(), graph.nodes.end(), [](const GraphCopy::Node& node) {
        return node.is_empty ||
               std::any_of(node.graphs.begin(), node.graphs.end(),
                           [](const auto& g) { return IsAnyEmpty(*g); });
      });
}
// After an update: what was switched off stays so.
CUresult KeepSwitchedOff(CUgraphExec exec) {
  Executable executable;
  return Find(exec, &executable) && IsAnyEmpty(*executable.copy)
             ? MakeAgain(exec)
             : CUDA_SUCCESS;
}

}  // namespace

CUresult SwitchNode(CUgraphExec exec, CUgraphNode node, bool on) {
  bool is_one = false, changed = false;
  const auto set = [&](GraphCopy::Node* found) {
    is_one = found->type == kKernelNode || found->type == kMemcpyNode ||
             found->type == kMemsetNode;
    changed = is_one && found->is_empty == on;
    if (changed) found->is_empty = !on;
  };
  ChangeNode(exec, node, set);
  if (!is_one) return CUDA_ERROR_INVALID_VALUE;
  if (!changed) return CUDA_SUCCESS;
  const CUresult result = MakeAgain(exec);
  if (result != CUDA_SUCCESS) {
    ChangeNode(exec, node,
               [on](GraphCopy::Node* found) { found->is_empty = on; });
  }
  return result;
}
CUresult IsNodeSwitchedOn(CUgraphExec exec, CUgraphNode node, unsigned* on) {
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  ChangeNode(exec, node, [&](const GraphCopy::Node* found) {
    *on = found->is_empty ? 0 : 1;
    result = CUDA_SUCCESS;
  });
  return result;
}

bool IsForDevice(CUgraphExec exec) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_executables.find(exec);
  return at != g_executables.end() && (at->second.flags & kDeviceLaunch) != 0;
}

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
  auto copy = std::make_shared<GraphCopy>();
  if (CopyGraph(child, copy.get()) != CUDA_SUCCESS) return;
  ChangeNode(exec, node, [&](GraphCopy::Node* found) {
    if (found->graphs.empty()) return;
    copy->TakeNames(*found->graphs[0]);
    found->graphs = {std::move(copy)};
  });
}
CUresult CompareExecChild(CUgraphExec exec, CUgraphNode node, CUgraph child,
                          NodeNames* names) {
  GraphCopy copy;
  CUresult result = CopyGraph(child, &copy);
  if (result != CUDA_SUCCESS) return result;
  result = CUDA_ERROR_INVALID_VALUE;
  ChangeNode(exec, node, [&](const GraphCopy::Node* found) {
    if (found->graphs.empty() ||
        found->graphs[0]->Compare(copy).what != UpdateResult::kSuccess) {
      return;
    }
    copy.PairWith(*found->graphs[0], names);
    result = CUDA_SUCCESS;
  });
  return result;
}

CUresult LaunchExecutable(Context* context, CUgraphExec exec,
                          hipStream_t stream) {
  const auto launch = [exec](hipStream_t lane) {
    return LaunchNative(Native(exec), lane);
  };
  Executable executable;
  if (DeviceCount() > 1 && Find(exec, &executable) &&
      executable.device != nullptr) {
    return NoteResult(context, executable.lanes->On(executable.device, context,
                                                    stream, launch));
  }
  return NoteResult(context, launch(stream));
}

CUresult CaptureGraphLaunch(hipStream_t stream, CUgraphExec exec) {
  Executable executable;
  if (!Find(exec, &executable)) return CUDA_ERROR_INVALID_VALUE;
  return WithGraph(*executable.copy, [stream](CUgraph child) {
    return CaptureNode(stream, [child](auto... at) {
      return api::cuGraphAddChildGraphNode(at..., child);
    });
  });
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
  bool frees = false;
  std::optional<GraphMemory> memory;
  if (!Captures(stream)) memory = LaunchedMemory(exec, &frees);
  if (memory && !frees && IsAnyUnfreed(*memory)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = Captures(stream) ? CaptureGraphLaunch(stream, exec)
                          : AnySteppedNode() && IsPlan(exec)
                              ? RunGraph(context, exec, stream)
                              : LaunchExecutable(context, exec, stream);
  if (memory && result == CUDA_SUCCESS) NoteGraphLaunch(*memory);
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
  const hipError_t error = plan ? hipSuccess : DestroyNative(Native(exec));
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
  bool needs_plan = false;
  if (CUresult r = NeedsPlan(graph, &needs_plan); r != CUDA_SUCCESS) return r;
  auto copy = std::make_shared<GraphCopy>();
  if (CUresult r = CopyGraph(graph, copy.get()); r != CUDA_SUCCESS) return r;
  UpdateResult found;
  found.what = UpdateResult::kError;
  const bool is_plan = IsPlan(exec);
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (needs_plan || is_plan || !UpdatesInPlace(*copy)) {
    result = UpdateInSteps(exec, graph, needs_plan, *copy, &found);
  }
  // HIP 6.4 clones no graphs that allocate memory.
  if (result == CUDA_ERROR_NOT_SUPPORTED && !needs_plan && !is_plan) {
    result = UpdateByHip(context, exec, graph, &found);
  }
  *update = found.what;
  if (error_node != nullptr) *error_node = found.node;
  if (result == CUDA_SUCCESS) {
    KeepObjects(graph, *copy, exec);
    UpdateCopy(exec, std::move(copy));
    result = KeepSwitchedOff(exec);
  }
  return result;
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
  PlanFailure failure;
  CUresult result = Instantiate(exec, graph, params->flags, &failure);
  if (result == CUDA_SUCCESS && (params->flags & kUpload) != 0) {
    result = cuGraphUpload(*exec, params->hUploadStream);
  }
  params->result_out = result == CUDA_SUCCESS ? 0 : failure.what;
  params->hErrNode_out = result == CUDA_SUCCESS ? nullptr : failure.node;
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
