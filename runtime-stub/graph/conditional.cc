#include "runtime-stub/graph/conditional.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/launch/services.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr unsigned kAssignDefault = 1;  // CU_GRAPH_COND_ASSIGN_DEFAULT

struct Conditions {
  std::mutex mutex;
  std::map<CUgraphConditionalHandle, ConditionPtr> handles;
  std::map<CUgraph, CUgraph> bodies;  // and the graph that the node is in
  std::set<Condition*> all;           // of executable graphs alone, too
};
NeverDestroyed<Conditions> g_all_conditions;
auto& g_conditions = *g_all_conditions;

// Whether `graph` is `outer`, or a body somewhere in it. Locked.
bool IsWithin(CUgraph graph, CUgraph outer) {
  while (graph != outer) {
    const auto at = g_conditions.bodies.find(graph);
    if (at == g_conditions.bodies.end()) return false;
    graph = at->second;
  }
  return true;
}

bool IsSoundSize(int type, unsigned size) {
  switch (type) {
    case kConditionIf: return size == 1 || size == 2;
    case kConditionWhile: return size == 1;
    case kConditionSwitch: return size != 0;
    default: return false;
  }
}

// The handle's condition, which no other node has.
CUresult TakeCondition(CUgraph graph,
                       const CUDA_CONDITIONAL_NODE_PARAMS& params,
                       ConditionPtr* condition) {
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  const auto at = g_conditions.handles.find(params.handle);
  if (at == g_conditions.handles.end()) return CUDA_ERROR_INVALID_VALUE;
  Condition& found = *at->second;
  if (found.node != nullptr || !IsWithin(graph, found.graph) ||
      (params.ctx != nullptr && params.ctx != found.context)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *condition = at->second;
  return CUDA_SUCCESS;
}

CUresult MakeBodies(CUgraph graph, unsigned count,
                    std::vector<CUgraph>* bodies) {
  for (unsigned i = 0; i < count; ++i) {
    CUgraph body = nullptr;
    if (CUresult r = api::cuGraphCreate(&body, 0); r != CUDA_SUCCESS) return r;
    bodies->push_back(body);
    std::lock_guard<std::mutex> lock(g_conditions.mutex);
    g_conditions.bodies[body] = graph;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Condition::Condition() {
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  g_conditions.all.insert(this);
}
Condition::~Condition() {
  {
    std::lock_guard<std::mutex> lock(g_conditions.mutex);
    g_conditions.all.erase(this);
  }
  if (word != nullptr) (void)hip.hipHostFree(word);
}

CUresult AddConditionalNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            CUDA_CONDITIONAL_NODE_PARAMS* params) {
  if (node == nullptr || graph == nullptr ||
      !IsSoundSize(params->type, params->size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  ConditionPtr condition;
  CUresult result = TakeCondition(graph, *params, &condition);
  if (result != CUDA_SUCCESS) return result;
  auto record = std::make_shared<NodeRecord>();
  record->type = kConditionalNode;
  record->conditional = *params;
  record->conditional.ctx = condition->context;
  result = MakeBodies(graph, params->size, &record->bodies);
  record->conditional.phGraph_out = record->bodies.data();
  if (result == CUDA_SUCCESS) {
    result = NoteResult(context,
                        hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                                 Native(after), count));
  }
  if (result != CUDA_SUCCESS) {
    DropBodies(*record);
    return result;
  }
  RememberNew(*node, record);
  params->phGraph_out = record->bodies.data();
  condition->node = *node;
  return CUDA_SUCCESS;
}

ConditionPtr ConditionOf(const NodeRecord& record) {
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  const auto at = g_conditions.handles.find(record.conditional.handle);
  return at == g_conditions.handles.end() ? nullptr : at->second;
}

std::vector<ConditionPtr> ConditionsFor(CUgraph graph) {
  std::vector<ConditionPtr> found;
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  for (const auto& [handle, condition] : g_conditions.handles) {
    if (condition->graph == graph) found.push_back(condition);
  }
  return found;
}

bool IsBody(CUgraph graph) {
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  return g_conditions.bodies.contains(graph);
}

CUresult HasConditions(CUgraph graph, bool* has) {
  *has = false;
  if (!AnySteppedNode()) return CUDA_SUCCESS;
  std::vector<CUgraphNode> nodes;
  CUresult result = ListNodes(graph, &nodes);
  for (std::size_t i = 0; result == CUDA_SUCCESS && !*has && i < nodes.size();
       ++i) {
    CUgraph child = ChildOf(nodes[i]);
    if (child != nullptr) {
      result = HasConditions(child, has);
    } else {
      *has = RecordedType(nodes[i]) == kConditionalNode;
    }
  }
  return result;
}

void DropConditions(CUgraph graph) {
  // They go without the lock, and without memory for it.
  std::map<CUgraphConditionalHandle, ConditionPtr> dropped;
  {
    std::lock_guard<std::mutex> lock(g_conditions.mutex);
    g_conditions.bodies.erase(graph);
    auto at = g_conditions.handles.begin();
    while (at != g_conditions.handles.end()) {
      const auto here = at++;
      if (here->second->graph == graph) {
        dropped.insert(g_conditions.handles.extract(here));
      }
    }
  }
}

void DropBodies(const NodeRecord& record) {
  for (CUgraph body : record.bodies) {
    DropConditions(body);
    api::cuGraphDestroy(body);
  }
  // An outer graph's handle can be another node's now.
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  const auto at = g_conditions.handles.find(record.conditional.handle);
  if (at != g_conditions.handles.end()) at->second->node = nullptr;
}

void FreeConditionWords(CUcontext context) {
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  for (Condition* condition : g_conditions.all) {
    if (condition->context != context || condition->word == nullptr) continue;
    (void)hip.hipHostFree(condition->word);
    condition->word = nullptr;
  }
}

namespace api {

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle,
                                        CUgraph graph, CUcontext given,
                                        unsigned default_value,
                                        unsigned flags) {
  if (handle == nullptr || graph == nullptr || flags > kAssignDefault) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_GIVEN_CONTEXT(context, given);
  auto condition = std::make_shared<Condition>();
  void* word = nullptr;
  const hipError_t error =
      MakeShared(sizeof *condition->word, &word, &condition->handle);
  if (error != hipSuccess) return NoteResult(context, error);
  condition->word = static_cast<std::uint32_t*>(word);
  *condition->word = condition->default_value = default_value;
  condition->assign_default = flags == kAssignDefault;
  condition->context = context->handle();
  condition->graph = graph;
  *handle = condition->handle;
  NoteSteppedNode();
  std::lock_guard<std::mutex> lock(g_conditions.mutex);
  // What a reset has left at this address goes when the lock is gone.
  std::swap(g_conditions.handles[condition->handle], condition);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
