// Numbers of graphs and nodes, and the graph that a node is in, of which HIP
// tells nothing. A graph has a number from its begin, a node when one of its
// graph's is first asked for.
#include <map>
#include <mutex>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr CUgraphNodeType kChildNode = 4;

struct Numbers {
  unsigned number = 0;
  // Of the graph of a child node: that node, and the graph it is in.
  CUgraphNode node = nullptr;
  CUgraph parent = nullptr;
  unsigned next_node = 0;
  std::map<CUgraphNode, unsigned> nodes;
};

std::mutex g_mutex;
NeverDestroyed<std::map<CUgraph, Numbers>> g_all_graphs;
auto& g_graphs = *g_all_graphs;
unsigned g_last_number = 0;

Numbers& NumbersOf(CUgraph graph) {
  Numbers& numbers = g_graphs[graph];
  if (numbers.number == 0) numbers.number = ++g_last_number;
  return numbers;
}

// Of a child node; null of any other.
CUgraph ChildGraph(CUgraphNode node) {
  CUgraphNodeType type = 0;
  CUgraph graph = nullptr;
  if (api::cuGraphNodeGetType(node, &type) != CUDA_SUCCESS ||
      type != kChildNode ||
      hip.hipGraphChildGraphNodeGetGraph(Native(node), Native(&graph)) !=
          hipSuccess) {
    return nullptr;
  }
  return graph;
}

// HIP is not asked for the graphs in it: those it has not named have no number.
void Forget(CUgraph graph) {
  g_graphs.erase(graph);
  for (auto at = g_graphs.begin(); at != g_graphs.end();) {
    if (at->second.parent != graph) {
      ++at;
      continue;
    }
    Forget(at->first);
    at = g_graphs.begin();
  }
}

// The graph that the node is in, `graph` or one in it; null if there is none,
// and all in it have their numbers then.
CUgraph Find(CUgraphNode wanted, CUgraph graph) {
  const std::vector<CUgraphNode> nodes = NodesOf(graph);
  Numbers& numbers = NumbersOf(graph);
  for (CUgraphNode node : nodes) {
    if (!numbers.nodes.contains(node)) {
      numbers.nodes[node] = numbers.next_node++;
    }
  }
  if (numbers.nodes.contains(wanted)) return graph;
  for (CUgraphNode node : nodes) {
    CUgraph child = ChildGraph(node);
    if (child == nullptr) continue;
    Numbers& of_child = NumbersOf(child);
    of_child.node = node;
    of_child.parent = graph;
    if (CUgraph found = Find(wanted, child)) return found;
  }
  return nullptr;
}

std::vector<CUgraph> Outermost() {
  std::vector<CUgraph> graphs;
  for (const auto& [graph, numbers] : g_graphs) {
    if (numbers.parent == nullptr) graphs.push_back(graph);
  }
  return graphs;
}

// Calls `use` with the node's graph, that one's number and the node's.
template <typename Use>
CUresult WithNumber(CUgraphNode node, Use use) {
  CERB_OPTIONAL_CONTEXT(context);
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto found = [&](CUgraph graph) {
    const Numbers& numbers = g_graphs[graph];
    use(graph, numbers.number, numbers.nodes.at(node));
    return CUDA_SUCCESS;
  };
  for (const auto& [graph, numbers] : g_graphs) {
    if (numbers.nodes.contains(node)) return found(graph);
  }
  for (CUgraph in : Outermost()) {
    if (CUgraph graph = Find(node, in)) return found(graph);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

bool IsKnownGraph(CUgraph graph) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return g_graphs.contains(graph);
}
unsigned NewGraphNumber() {
  std::lock_guard<std::mutex> lock(g_mutex);
  return ++g_last_number;
}
void NumberGraph(CUgraph graph) {
  std::lock_guard<std::mutex> lock(g_mutex);
  NumbersOf(graph);
}
void ForgetGraphNumbers(CUgraph graph) {
  std::lock_guard<std::mutex> lock(g_mutex);
  Forget(graph);
}
void ForgetNodeNumber(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  CUgraph child = nullptr;
  for (auto& [graph, numbers] : g_graphs) {
    numbers.nodes.erase(node);
    if (numbers.node == node) child = graph;
  }
  if (child != nullptr) Forget(child);
}

namespace api {

CUresult cuGraphGetId(CUgraph graph, unsigned* id) {
  if (graph == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  std::lock_guard<std::mutex> lock(g_mutex);
  if (!g_graphs.contains(graph)) {
    for (CUgraph outermost : Outermost()) Find(nullptr, outermost);
  }
  const auto at = g_graphs.find(graph);
  if (at == g_graphs.end()) return CUDA_ERROR_INVALID_VALUE;
  *id = at->second.number;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph* graph) {
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithNumber(node, [&](CUgraph in, unsigned, unsigned) { *graph = in; });
}
CUresult cuGraphNodeGetLocalId(CUgraphNode node, unsigned* id) {
  if (node == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithNumber(node,
                    [&](CUgraph, unsigned, unsigned number) { *id = number; });
}
// One number for both: the graph's above the node's.
CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long* id) {
  if (node == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithNumber(node, [&](CUgraph, unsigned graph, unsigned number) {
    *id = static_cast<unsigned long long>(graph) << 32 | number;
  });
}

}  // namespace api
}  // namespace cerberus::stub
