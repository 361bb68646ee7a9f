#include "runtime-stub/graph/graph_copy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/graph/graph.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

template <typename T>
void Own(const T* from, std::size_t count, std::vector<T>* to) {
  to->assign(from, from + count);
}

// Adds one node, behind `after`, which are already there.
CUresult AddNode(const GraphCopy::Node& node, CUgraph graph,
                 const std::vector<CUgraphNode>& after, CUgraphNode* out) {
  const CUgraphNode* list = after.data();
  if (node.is_empty) {
    return api::cuGraphAddEmptyNode(out, graph, list, after.size());
  }
  if (node.type == kConditionalNode) {
    Log(LogLevel::kError,
        "a graph with conditional nodes cannot become part of another");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (node.type == kChildNode) {
    return WithGraph(*node.graphs[0], [&](CUgraph child) {
      return api::cuGraphAddChildGraphNode(out, graph, list, after.size(),
                                           child);
    });
  }
  if (node.params != nullptr) {
    if (node.type == kAllocNode || node.type == kFreeNode) {
      Log(LogLevel::kError,
          "a graph that allocates memory cannot become part of another");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    return api::cuGraphAddNode(out, graph, list, after.size(),
                               &node.params->params);
  }
  if (node.record == nullptr) {
    Log(LogLevel::kError,
        "a graph with nodes that a library has captured by HIP cannot become "
        "part of another");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const NodeRecord& record = *node.record;
  switch (record.type) {
    case kKernelNode:
      return AddKernelNode(out, graph, list, after.size(), record.kernel,
                           record.attributes);
    case kMemcpyNode:
      return api::cuGraphAddMemcpyNode(out, graph, list, after.size(),
                                       &record.copy, record.context);
    case kMemsetNode:
      return api::cuGraphAddMemsetNode(out, graph, list, after.size(),
                                       &record.set, record.context);
    case kHostNode:
      return api::cuGraphAddHostNode(out, graph, list, after.size(),
                                     &record.host);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult AddGraph(CUgraph graph, GraphCopy::Node* node) {
  node->graphs.push_back(std::make_shared<GraphCopy>());
  return CopyGraph(graph, node->graphs.back().get());
}

// What the node is of.
CUresult Describe(GraphCopy::Node* node) {
  CUresult result = api::cuGraphNodeGetType(node->original, &node->type);
  if (result != CUDA_SUCCESS) return result;
  switch (node->type) {
    case kConditionalNode:
      node->record = FindRecord(node->original);
      for (CUgraph body : node->record->bodies) {
        result = AddGraph(body, node);
        if (result != CUDA_SUCCESS) return result;
      }
      return CUDA_SUCCESS;
    case kKernelNode:
    case kMemcpyNode:
    case kMemsetNode:
    case kHostNode:
      node->record = FindRecord(node->original);
      return CUDA_SUCCESS;
    case kChildNode: {
      CUgraph child = nullptr;
      result = api::cuGraphChildGraphNodeGetGraph(node->original, &child);
      return result == CUDA_SUCCESS ? AddGraph(child, node) : result;
    }
    default: {
      CUgraphNodeParams params;
      result = api::cuGraphNodeGetParams(node->original, &params);
      node->record = FindRecord(node->original);  // with its memory
      if (result == CUDA_SUCCESS) {
        node->params = std::make_shared<NodeParams>(params);
      }
      return result;
    }
  }
}

}  // namespace

NodeParams::NodeParams(const CUgraphNodeParams& given) : params(given) {
  switch (params.type) {
    case kOperationsNode:
      Own(params.operations.paramArray, params.operations.count, &operations_);
      params.operations.paramArray = operations_.data();
      break;
    case kSignalNode:
      Own(params.signal.extSemArray, params.signal.numExtSems, &semaphores_);
      Own(params.signal.paramsArray, params.signal.numExtSems, &signals_);
      params.signal.extSemArray = semaphores_.data();
      params.signal.paramsArray = signals_.data();
      break;
    case kWaitNode:
      Own(params.wait.extSemArray, params.wait.numExtSems, &semaphores_);
      Own(params.wait.paramsArray, params.wait.numExtSems, &waits_);
      params.wait.extSemArray = semaphores_.data();
      params.wait.paramsArray = waits_.data();
      break;
    default: break;
  }
}

GraphCopy::Node* GraphCopy::Find(CUgraphNode original) {
  for (Node& node : nodes) {
    if (node.original == original) return &node;
    for (const std::shared_ptr<GraphCopy>& graph : node.graphs) {
      if (Node* found = graph->Find(original)) return found;
    }
  }
  return nullptr;
}

void GraphCopy::Keep(const std::set<CUgraphNode>& originals) {
  std::vector<Node> kept;
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!originals.contains(nodes[i].original)) continue;
    places[i] = kept.size();
    kept.push_back(std::move(nodes[i]));
  }
  for (Node& node : kept) {
    std::erase_if(node.after,
                  [&](std::size_t i) { return !places.contains(i); });
    for (std::size_t& i : node.after) i = places[i];
  }
  nodes = std::move(kept);
}

GraphCopy GraphCopy::WithoutMemory() const {
  GraphCopy copy = *this;
  for (Node& node : copy.nodes) {
    if (node.record != nullptr && node.record->memory.dptr != 0) {
      node.is_empty = true;
    }
    for (std::shared_ptr<GraphCopy>& graph : node.graphs) {
      graph = std::make_shared<GraphCopy>(graph->WithoutMemory());
    }
  }
  return copy;
}

void GraphCopy::TakeNames(const GraphCopy& other) {
  for (std::size_t i = 0; i < nodes.size() && i < other.nodes.size(); ++i) {
    Node& node = nodes[i];
    const Node& named = other.nodes[i];
    node.original = named.original;
    node.is_empty = named.is_empty;
    for (std::size_t k = 0; k < node.graphs.size() && k < named.graphs.size();
         ++k) {
      node.graphs[k]->TakeNames(*named.graphs[k]);
    }
  }
}

void GraphCopy::PairWith(const GraphCopy& other,
                         std::map<CUgraphNode, CUgraphNode>* names) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    (*names)[nodes[i].original] = other.nodes[i].original;
    for (std::size_t k = 0; k < nodes[i].graphs.size(); ++k) {
      nodes[i].graphs[k]->PairWith(*other.nodes[i].graphs[k], names);
    }
  }
}

// By the order of nodes, as HIP compares graphs.
UpdateResult GraphCopy::Compare(const GraphCopy& other) const {
  if (nodes.size() != other.nodes.size()) {
    return {UpdateResult::kTopology, nullptr};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node &mine = nodes[i], &theirs = other.nodes[i];
    if (mine.type != theirs.type) {
      return {UpdateResult::kNodeType, theirs.original};
    }
    if (mine.after != theirs.after) {
      return {UpdateResult::kTopology, theirs.original};
    }
    const bool conditional = mine.type == kConditionalNode;
    if (mine.graphs.size() != theirs.graphs.size() ||
        (conditional &&
         mine.record->conditional.type != theirs.record->conditional.type)) {
      return {UpdateResult::kParameters, theirs.original};
    }
    for (std::size_t k = 0; k < mine.graphs.size(); ++k) {
      UpdateResult inner = mine.graphs[k]->Compare(*theirs.graphs[k]);
      if (inner.what != UpdateResult::kSuccess) return inner;
    }
  }
  return {};
}

CUresult CopyGraph(CUgraph graph, GraphCopy* copy) {
  std::vector<CUgraphNode> nodes;
  if (CUresult r = ListNodes(graph, &nodes); r != CUDA_SUCCESS) return r;
  std::map<CUgraphNode, std::size_t> places;
  for (CUgraphNode original : nodes) {
    GraphCopy::Node node;
    node.original = original;
    const CUresult result = Describe(&node);
    // What this HIP has no words for cannot be made again, which AddNode says.
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_SUPPORTED) {
      return result;
    }
    places[original] = copy->nodes.size();
    copy->nodes.push_back(std::move(node));
  }
  std::size_t count = 0;
  hipError_t error =
      hip.hipGraphGetEdges(Native(graph), nullptr, nullptr, &count);
  std::vector<CUgraphNode> from(count), to(count);
  if (error == hipSuccess && count != 0) {
    error = hip.hipGraphGetEdges(Native(graph), Native(from.data()),
                                 Native(to.data()), &count);
  }
  if (error != hipSuccess) return FromHip(error);
  for (std::size_t i = 0; i < count; ++i) {
    copy->nodes[places.at(to[i])].after.push_back(places.at(from[i]));
  }
  for (GraphCopy::Node& node : copy->nodes) {
    std::sort(node.after.begin(), node.after.end());
  }
  return CUDA_SUCCESS;
}

CUresult AddCopy(const GraphCopy& copy, CUgraph graph,
                 std::vector<CUgraphNode>* out) {
  std::vector<CUgraphNode> made(copy.nodes.size());
  // HIP lists nodes behind those they depend on, HIP 5 not always.
  std::vector<std::size_t> left(copy.nodes.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    std::vector<std::size_t> later;
    for (const std::size_t i : left) {
      std::vector<CUgraphNode> after;
      for (const std::size_t before : copy.nodes[i].after) {
        if (made[before] != nullptr) after.push_back(made[before]);
      }
      if (after.size() != copy.nodes[i].after.size()) {
        later.push_back(i);
        continue;
      }
      const CUresult result = AddNode(copy.nodes[i], graph, after, &made[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    if (later.size() == left.size()) return CUDA_ERROR_INVALID_VALUE;
    left = std::move(later);
  }
  if (out != nullptr) *out = std::move(made);
  return CUDA_SUCCESS;
}

}  // namespace cerberus::stub
