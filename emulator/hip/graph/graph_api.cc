// Graphs: building, asking, running. What nodes do is in
// hip/graph/graph_nodes.cc.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

struct ihipGraph {
  std::shared_ptr<Graph> graph;
  // In a clone: the copy of each node of the original.
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  bool of_node = false;  // a child node's: goes with its graph
};
struct hipGraphExec {
  std::shared_ptr<Graph> graph;
  unsigned long long flags = 0;
  std::vector<GraphNode*> order;
  // Which node of ours stands for a node of the graph it was made from.
  std::unordered_map<const GraphNode*, GraphNode*> map;
};

namespace {

std::mutex g_mutex;
std::set<ihipGraph*> g_graphs;
std::set<hipGraphExec*> g_execs;
std::map<std::uint64_t, hipGraph_t> g_captures;

// After graphs, or nodes of theirs, are gone: handles of child graphs that
// nothing else has any more. Those of graphs in them are next.
void DropLeftHandles() {
  for (bool found = true; found;) {
    ihipGraph* left = nullptr;
    {
      std::lock_guard<std::mutex> lock(g_mutex);
      const auto at =
          std::find_if(g_graphs.begin(), g_graphs.end(), [](ihipGraph* each) {
            return each->of_node && each->graph.use_count() == 1;
          });
      found = at != g_graphs.end();
      if (found) {
        left = *at;
        g_graphs.erase(at);
      }
    }
    delete left;
  }
}

}  // namespace

namespace cerberus::emulator::hip {

std::shared_ptr<Graph> GraphOf(hipGraph_t handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return g_graphs.count(handle) != 0 ? handle->graph : nullptr;
}

hipGraph_t NewGraph(std::shared_ptr<Graph> graph) {
  ihipGraph* made = new ihipGraph{std::move(graph), {}};
  std::lock_guard<std::mutex> lock(g_mutex);
  g_graphs.insert(made);
  return made;
}

hipGraph_t HandleOfGraph(const std::shared_ptr<Graph>& graph) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    for (ihipGraph* each : g_graphs) {
      if (each->graph == graph) return each;
    }
  }
  const hipGraph_t made = NewGraph(graph);
  made->of_node = true;
  return made;
}

GraphNode* CopyIn(hipGraph_t clone, const GraphNode* original) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_graphs.count(clone) == 0) return nullptr;
  const auto found = clone->copies.find(original);
  return found == clone->copies.end() ? nullptr : found->second;
}

// A node that goes is no copy, and has none.
void ForgetCopies(const GraphNode* node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (ihipGraph* graph : g_graphs) {
    std::erase_if(graph->copies, [node](const auto& pair) {
      return pair.first == node || pair.second == node;
    });
  }
}

hipError_t CloneGraph(hipGraph_t original, hipGraph_t* out) {
  const std::shared_ptr<Graph> graph = GraphOf(original);
  if (out == nullptr || !graph) return hipErrorInvalidValue;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  *out = NewGraph(graph->Clone(&copies));
  std::lock_guard<std::mutex> lock(g_mutex);
  (*out)->copies = std::move(copies);
  return hipSuccess;
}

hipError_t DropGraph(hipGraph_t handle) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_graphs.erase(handle) == 0) return hipErrorInvalidValue;
  }
  delete handle;
  DropLeftHandles();
  return hipSuccess;
}

hipGraph_t HandleOfCapture(const Capture& capture) {
  if (!capture.made_graph()) return HandleOfGraph(capture.graph());
  std::lock_guard<std::mutex> lock(g_mutex);
  hipGraph_t& handle = g_captures[capture.id()];
  if (handle == nullptr) {
    handle = new ihipGraph{capture.graph(), {}};
    g_graphs.insert(handle);
  }
  return handle;
}

hipGraph_t EndOfCapture(const Capture& capture, bool whole) {
  const hipGraph_t graph = HandleOfCapture(capture);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_captures.erase(capture.id());
  }
  if (!whole && capture.made_graph()) (void)DropGraph(graph);
  return whole ? graph : nullptr;
}

hipError_t AddNode(hipGraphNode_t* out, hipGraph_t handle,
                   const hipGraphNode_t* after, std::size_t count, Work work,
                   std::shared_ptr<Graph> child) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (out == nullptr || !graph || (count != 0 && after == nullptr)) {
    return hipErrorInvalidValue;
  }
  std::vector<GraphNode*> before;
  for (std::size_t i = 0; i < count; ++i) before.push_back(NodeOf(after[i]));
  GraphNode* node = graph->Add(std::move(work), std::move(before));
  node->child = std::move(child);
  *out = HandleOf(node);
  return hipSuccess;
}

hipError_t EditNode(hipGraphExec_t exec, hipGraphNode_t node,
                    const std::function<hipError_t(GraphNode*)>& edit) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_execs.count(exec) == 0) return hipErrorInvalidValue;
  auto found = exec->map.find(NodeOf(node));
  return found == exec->map.end() ? hipErrorInvalidValue : edit(found->second);
}

hipError_t ReplaceWork(hipGraphNode_t handle, Work work) {
  if (handle == nullptr || NodeOf(handle)->child ||
      NodeOf(handle)->work.kind != work.kind) {
    return hipErrorInvalidValue;
  }
  NodeOf(handle)->work = std::move(work);
  const auto& attributes = NodeOf(handle)->attributes;
  const auto at = attributes.find(hipLaunchAttributeCooperative);
  if (at != attributes.end()) {
    NodeOf(handle)->SetCooperative(at->second.cooperative != 0);
  }
  return hipSuccess;
}

hipError_t ReplaceWork(hipGraphExec_t exec, hipGraphNode_t node, Work work) {
  return EditNode(exec, node, [&work](GraphNode* found) {
    return ReplaceWork(HandleOf(found), std::move(work));
  });
}

}  // namespace cerberus::emulator::hip

namespace {

void RunAll(const std::vector<GraphNode*>& order, Gpu* gpu) {
  for (GraphNode* node : order) {
    if (node->child) {
      std::vector<GraphNode*> inner;
      node->child->Order(&inner);
      RunAll(inner, gpu);
      continue;
    }
    if (node->enabled && node->work.run &&
        (node->work.also_after_error || gpu->sticky == hipSuccess)) {
      node->work.run();
    }
  }
}

hipError_t Instantiate(hipGraphExec_t* out, hipGraph_t handle,
                       unsigned long long flags) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (out == nullptr || !graph) return hipErrorInvalidValue;
  std::unique_ptr<hipGraphExec> exec = std::make_unique<hipGraphExec>();
  exec->graph = graph->Clone(&exec->map);
  exec->flags = flags;
  if (!exec->graph->Order(&exec->order)) return hipErrorInvalidValue;
  std::lock_guard<std::mutex> lock(g_mutex);
  *out = *g_execs.insert(exec.release()).first;
  return hipSuccess;
}

}  // namespace

// --- Building -------------------------------------------------------------

HIP_API hipError_t hipGraphCreate(hipGraph_t* out, unsigned flags) {
  if (out == nullptr || flags != 0) return Return(hipErrorInvalidValue);
  *out = NewGraph(std::make_shared<Graph>());
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphDestroy(hipGraph_t graph) {
  return Return(DropGraph(graph));
}

HIP_API hipError_t hipGraphClone(hipGraph_t* out, hipGraph_t graph) {
  return Return(CloneGraph(graph, out));
}

HIP_API hipError_t hipGraphNodeFindInClone(hipGraphNode_t* out,
                                           hipGraphNode_t original,
                                           hipGraph_t clone) {
  if (out == nullptr || original == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const GraphNode* copy = CopyIn(clone, NodeOf(original));
  if (copy == nullptr) return Return(hipErrorInvalidValue);
  *out = HandleOf(copy);
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphAddEmptyNode(hipGraphNode_t* out, hipGraph_t graph,
                                        const hipGraphNode_t* after,
                                        std::size_t count) {
  return Return(AddNode(out, graph, after, count, Work{}));
}

HIP_API hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* out,
                                             hipGraph_t graph,
                                             const hipGraphNode_t* after,
                                             std::size_t count,
                                             hipGraph_t child) {
  std::shared_ptr<Graph> inner = GraphOf(child);
  if (!inner) return Return(hipErrorInvalidValue);
  std::unordered_map<const GraphNode*, GraphNode*> map;
  return Return(AddNode(out, graph, after, count, Work{}, inner->Clone(&map)));
}

HIP_API hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node,
                                                  hipGraph_t* out) {
  if (node == nullptr || out == nullptr || !NodeOf(node)->child) {
    return Return(hipErrorInvalidValue);
  }
  *out = HandleOfGraph(NodeOf(node)->child);
  return Return(hipSuccess);
}

namespace {

// The pairs (from, to) of a graph's dependencies.
hipError_t EditEdges(hipGraph_t handle, const hipGraphNode_t* from,
                     const hipGraphNode_t* to, std::size_t count, bool add) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || (count != 0 && (from == nullptr || to == nullptr))) {
    return hipErrorInvalidValue;
  }
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* const before = NodeOf(from[i]);
    GraphNode* const node = NodeOf(to[i]);
    if (before == nullptr || node == nullptr || before == node ||
        before->owner != graph.get() || node->owner != graph.get()) {
      return hipErrorInvalidValue;
    }
    const auto at = std::find(node->after.begin(), node->after.end(), before);
    // An edge is there once, and only what is there goes.
    if ((at == node->after.end()) != add) return hipErrorInvalidValue;
    if (add) {
      node->after.push_back(before);
    } else {
      node->after.erase(at);
    }
  }
  return hipSuccess;
}

// Up to *count of what there is; null beyond it. Without a list, how many.
hipError_t List(const std::vector<hipGraphNode_t>& have, hipGraphNode_t* list,
                std::size_t* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  if (list == nullptr) {
    *count = have.size();
    return hipSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    list[i] = i < have.size() ? have[i] : nullptr;
  }
  *count = std::min(*count, have.size());
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipGraphAddDependencies(hipGraph_t graph,
                                           const hipGraphNode_t* from,
                                           const hipGraphNode_t* to,
                                           std::size_t count) {
  return Return(EditEdges(graph, from, to, count, true));
}

HIP_API hipError_t hipGraphRemoveDependencies(hipGraph_t graph,
                                              const hipGraphNode_t* from,
                                              const hipGraphNode_t* to,
                                              std::size_t count) {
  return Return(EditEdges(graph, from, to, count, false));
}

HIP_API hipError_t hipGraphDestroyNode(hipGraphNode_t handle) {
  if (handle == nullptr) return Return(hipErrorInvalidValue);
  GraphNode* const node = NodeOf(handle);
  Graph* const graph = node->owner;
  for (const std::unique_ptr<GraphNode>& other : graph->nodes) {
    std::erase(other->after, node);
  }
  ForgetCopies(node);
  std::erase_if(graph->nodes,
                [node](const auto& each) { return each.get() == node; });
  DropLeftHandles();
  return Return(hipSuccess);
}

// --- Asking ---------------------------------------------------------------

HIP_API hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t* nodes,
                                    std::size_t* count) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph) return Return(hipErrorInvalidValue);
  std::vector<hipGraphNode_t> all;
  for (const std::unique_ptr<GraphNode>& node : graph->nodes) {
    all.push_back(HandleOf(node.get()));
  }
  return Return(List(all, nodes, count));
}

HIP_API hipError_t hipGraphGetRootNodes(hipGraph_t handle,
                                        hipGraphNode_t* nodes,
                                        std::size_t* count) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph) return Return(hipErrorInvalidValue);
  std::vector<hipGraphNode_t> roots;
  for (const std::unique_ptr<GraphNode>& node : graph->nodes) {
    if (node->after.empty()) roots.push_back(HandleOf(node.get()));
  }
  return Return(List(roots, nodes, count));
}

HIP_API hipError_t hipGraphGetEdges(hipGraph_t handle, hipGraphNode_t* from,
                                    hipGraphNode_t* to, std::size_t* count) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || count == nullptr || (from == nullptr) != (to == nullptr)) {
    return Return(hipErrorInvalidValue);
  }
  std::vector<hipGraphNode_t> starts, ends;
  for (const std::unique_ptr<GraphNode>& node : graph->nodes) {
    for (const GraphNode* before : node->after) {
      starts.push_back(HandleOf(before));
      ends.push_back(HandleOf(node.get()));
    }
  }
  std::size_t room = *count;
  (void)List(starts, from, &room);
  return Return(List(ends, to, count));
}

HIP_API hipError_t hipGraphNodeGetDependencies(hipGraphNode_t handle,
                                               hipGraphNode_t* nodes,
                                               std::size_t* count) {
  if (handle == nullptr) return Return(hipErrorInvalidValue);
  std::vector<hipGraphNode_t> before;
  for (const GraphNode* node : NodeOf(handle)->after) {
    before.push_back(HandleOf(node));
  }
  return Return(List(before, nodes, count));
}

HIP_API hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t handle,
                                                 hipGraphNode_t* nodes,
                                                 std::size_t* count) {
  if (handle == nullptr) return Return(hipErrorInvalidValue);
  GraphNode* const wanted = NodeOf(handle);
  std::vector<hipGraphNode_t> behind;
  for (const std::unique_ptr<GraphNode>& node : wanted->owner->nodes) {
    if (std::find(node->after.begin(), node->after.end(), wanted) !=
        node->after.end()) {
      behind.push_back(HandleOf(node.get()));
    }
  }
  return Return(List(behind, nodes, count));
}

HIP_API hipError_t hipGraphDebugDotPrint(hipGraph_t handle, const char* path,
                                         unsigned) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || path == nullptr) return Return(hipErrorInvalidValue);
  std::ofstream file(path);
  file << DotOf(*graph) << std::flush;
  return Return(file ? hipSuccess : hipErrorOperatingSystem);
}

// hipGraphNodeType since version 6; one more each before.
HIP_API hipError_t hipGraphNodeGetType(hipGraphNode_t handle,
                                       std::uint32_t* type) {
  if (handle == nullptr || type == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  // By Work::Kind: kernel, memcpy, memset, host, empty, waiting for an event,
  // recording one, allocating, freeing, signalling and awaiting a semaphore,
  // a batch of memory operations.
  static constexpr std::uint32_t kNumbers[] = {0, 1,  2,  3, 5, 6,
                                               7, 10, 11, 8, 9, 14};
  constexpr std::uint32_t kChild = 4;
  const GraphNode* node = NodeOf(handle);
  const std::uint32_t number =
      node->child ? kChild
                  : kNumbers[static_cast<std::size_t>(node->work.kind)];
  *type = number + (ApiMajor() < 6 ? 1 : 0);
  return Return(hipSuccess);
}

// --- Running --------------------------------------------------------------

HIP_API hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph,
                                       hipGraphNode_t*, char*, std::size_t) {
  return Return(Instantiate(out, graph, 0));
}

HIP_API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out,
                                                hipGraph_t graph,
                                                unsigned long long flags) {
  return Return(Instantiate(out, graph, flags));
}

HIP_API hipError_t hipGraphExecGetFlags(hipGraphExec_t exec,
                                        unsigned long long* flags) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (flags == nullptr || g_execs.count(exec) == 0) {
    return Return(hipErrorInvalidValue);
  }
  *flags = exec->flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_execs.erase(exec) == 0) return Return(hipErrorInvalidValue);
  }
  // A launch that is still queued holds the graph by itself.
  delete exec;
  DropLeftHandles();
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t handle) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  Work work;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_execs.count(exec) == 0) return Return(hipErrorInvalidValue);
    Gpu* on = stream->gpu();
    // Parameters of the executable graph may change after this call: run a
    // copy of the nodes as they are now.
    std::unordered_map<const GraphNode*, GraphNode*> map;
    std::shared_ptr<Graph> copy = exec->graph->Clone(&map);
    std::vector<GraphNode*> order;
    for (GraphNode* node : exec->order) order.push_back(map[node]);
    work.run = [copy, order = std::move(order), on] { RunAll(order, on); };
  }
  stream->Submit(std::move(work));
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return Return(g_execs.count(exec) != 0 ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec,
                                                       hipGraphNode_t node,
                                                       hipGraph_t child) {
  const std::shared_ptr<Graph> graph = GraphOf(child);
  if (!graph) return Return(hipErrorInvalidValue);
  return Return(EditNode(exec, node, [&graph](GraphNode* found) {
    if (!found->child || found->child->nodes.size() != graph->nodes.size()) {
      return hipErrorInvalidValue;
    }
    std::unordered_map<const GraphNode*, GraphNode*> map;
    found->child = graph->Clone(&map);
    return hipSuccess;
  }));
}

namespace {

bool CanBeDisabled(const GraphNode& node) {
  return !node.child && (node.work.kind == Work::Kind::kKernel ||
                         node.work.kind == Work::Kind::kCopy ||
                         node.work.kind == Work::Kind::kSet);
}

}  // namespace

HIP_API hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec,
                                          hipGraphNode_t node,
                                          unsigned enabled) {
  return Return(EditNode(exec, node, [enabled](GraphNode* found) {
    if (!CanBeDisabled(*found)) return hipErrorInvalidValue;
    found->enabled = enabled != 0;
    return hipSuccess;
  }));
}

HIP_API hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec,
                                          hipGraphNode_t node,
                                          unsigned* enabled) {
  if (enabled == nullptr) return Return(hipErrorInvalidValue);
  return Return(EditNode(exec, node, [enabled](GraphNode* found) {
    if (!CanBeDisabled(*found)) return hipErrorInvalidValue;
    *enabled = found->enabled ? 1 : 0;
    return hipSuccess;
  }));
}

namespace {

// hipGraphExecUpdateResult.
enum : std::uint32_t { kUpdated = 0, kOtherTopology = 2, kOtherType = 3 };

std::set<std::size_t> PlacesOf(const Graph& graph,
                               const std::vector<GraphNode*>& nodes) {
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::find(nodes.begin(), nodes.end(), graph.nodes[i].get()) !=
        nodes.end()) {
      places.insert(i);
    }
  }
  return places;
}

// Whether `theirs` can take the place of `mine`; `*at` is the node, of theirs,
// that cannot, where it is one.
std::uint32_t Compare(const Graph& mine, const Graph& theirs,
                      const GraphNode** at) {
  if (mine.nodes.size() != theirs.nodes.size()) return kOtherTopology;
  for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
    const GraphNode& old = *mine.nodes[i];
    const GraphNode& node = *theirs.nodes[i];
    if (PlacesOf(mine, old.after) != PlacesOf(theirs, node.after)) {
      *at = &node;
      return kOtherTopology;
    }
    if (old.work.kind != node.work.kind || !old.child != !node.child) {
      *at = &node;
      return kOtherType;
    }
    if (!node.child) continue;
    if (const std::uint32_t result = Compare(*old.child, *node.child, at);
        result != kUpdated) {
      if (*at == nullptr) *at = &node;
      return result;
    }
  }
  return kUpdated;
}

using KeptObjects = std::map<hipUserObject_t, KeptObject>;

// What comes from a graph like this one, with the objects that it keeps; those
// that it kept are in `*old` now.
void TakeOver(Graph* mine, const Graph& theirs,
              std::unordered_map<const GraphNode*, GraphNode*>* map,
              std::vector<KeptObjects>* old) {
  old->push_back(std::exchange(mine->kept, theirs.kept));
  for (std::size_t i = 0; i < mine->nodes.size(); ++i) {
    GraphNode* node = mine->nodes[i].get();
    node->work = theirs.nodes[i]->work;
    if (node->child) {
      TakeOver(node->child.get(), *theirs.nodes[i]->child, map, old);
    }
    (*map)[theirs.nodes[i].get()] = node;
  }
}

}  // namespace

HIP_API hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t handle,
                                      hipGraphNode_t* error_node,
                                      std::uint32_t* result) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || result == nullptr) return Return(hipErrorInvalidValue);
  std::vector<KeptObjects> old;  // destroyed behind the lock
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_execs.count(exec) == 0) return Return(hipErrorInvalidValue);
  const GraphNode* at = nullptr;
  *result = Compare(*exec->graph, *graph, &at);
  if (error_node != nullptr) *error_node = at ? HandleOf(at) : nullptr;
  if (*result != kUpdated) return Return(hipErrorGraphExecUpdateFailure);
  TakeOver(exec->graph.get(), *graph, &exec->map, &old);
  return Return(hipSuccess);
}
