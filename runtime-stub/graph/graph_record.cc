#include "runtime-stub/graph/graph_record.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/conditional.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_memory.h"
#include "runtime-stub/launch/clusters.h"
#include "runtime-stub/launch/launch.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

std::atomic<bool> g_any_stepped{false};

// A node as it is, and what a program was last told of its arguments.
struct Node {
  RecordPtr record;
  CUgraph child = nullptr;  // a child node's graph
  std::vector<std::uint8_t> arguments;
  std::vector<void*> pointers;
};

std::mutex g_mutex;
using Nodes = std::map<CUgraphNode, Node>;
NeverDestroyed<Nodes> g_all_nodes;
auto& g_nodes = *g_all_nodes;

// Whatever an earlier node of the same address has left.
void SetNew(CUgraphNode node, RecordPtr record) {
  Node made;
  made.record = std::move(record);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_nodes[node] = std::move(made);
}

}  // namespace

CUresult GridOf(const CUDA_KERNEL_NODE_PARAMS& params,
                const KernelAttributes& attributes, Grid* grid) {
  const auto find = [&](int id) {
    const auto at = attributes.find(id);
    return at != attributes.end() ? &at->second : nullptr;
  };
  const auto* cooperative = find(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  *grid = {params.gridDimX,
           params.gridDimY,
           params.gridDimZ,
           params.blockDimX,
           params.blockDimY,
           params.blockDimZ,
           params.sharedMemBytes,
           cooperative != nullptr && cooperative->cooperative != 0};
  const auto* cluster = find(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  return cluster != nullptr ? SetCluster(*cluster, grid) : CUDA_SUCCESS;
}

void Remember(CUgraphNode node, RecordPtr record) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_nodes[node].record = std::move(record);
}
void RememberNew(CUgraphNode node, RecordPtr record) {
  try {
    SetNew(node, std::move(record));
  } catch (...) {
    hip.hipGraphDestroyNode(Native(node));
    throw;
  }
}
CUresult RememberNew(hipError_t error, Context* context, CUgraphNode* node,
                     int type) {
  if (error == hipSuccess) {
    auto record = std::make_shared<NodeRecord>();
    record->type = type;
    RememberNew(*node, std::move(record));
  }
  return NoteResult(context, error);
}
RecordPtr FindRecord(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_nodes.find(node);
  return at == g_nodes.end() ? nullptr : at->second.record;
}
CUresult GetRecord(CUgraphNode node, int type, RecordPtr* record) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *record = FindRecord(node);
  if (*record == nullptr) {
    CUgraphNodeType known = 0;
    if (CUresult r = api::cuGraphNodeGetType(node, &known); r != CUDA_SUCCESS) {
      return r;
    }
    if (known != type) return CUDA_ERROR_INVALID_VALUE;
    Log(LogLevel::kError,
        "parameters of a node that a library has captured by HIP cannot be "
        "asked for");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return (*record)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult GetKernelParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  RecordPtr record;
  if (CUresult r = GetRecord(node, kKernelNode, &record); r != CUDA_SUCCESS) {
    return r;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_nodes.find(node);
  if (at == g_nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  Node& told = at->second;
  *params = record->kernel;
  told.arguments.assign(record->arguments.begin(), record->arguments.end());
  told.pointers.assign(record->pointers.begin(), record->pointers.end());
  // Into this block of arguments instead of the record's.
  for (void*& pointer : told.pointers) {
    if (pointer == nullptr) continue;
    pointer = told.arguments.data() +
              (static_cast<std::uint8_t*>(pointer) - record->arguments.data());
  }
  params->kernelParams = told.pointers.data();
  return CUDA_SUCCESS;
}

std::optional<int> RecordedType(CUgraphNode node) {
  const RecordPtr record = FindRecord(node);
  if (record == nullptr) return std::nullopt;
  return record->type;
}

CUresult ListNodes(CUgraph graph, std::vector<CUgraphNode>* nodes) {
  std::size_t count = 0;
  hipError_t error = hip.hipGraphGetNodes(Native(graph), nullptr, &count);
  nodes->resize(count);
  if (error == hipSuccess && count != 0) {
    error = hip.hipGraphGetNodes(Native(graph), Native(nodes->data()), &count);
  }
  return FromHip(error);
}
CUgraph ChildOf(CUgraphNode node) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_nodes.find(node);
    if (at != g_nodes.end()) return at->second.child;
  }
  // A library's of AMD's.
  CUgraphNodeType type = 0;
  hipGraph_t child = nullptr;
  return api::cuGraphNodeGetType(node, &type) == CUDA_SUCCESS &&
                 type == kChildNode &&
                 hip.hipGraphChildGraphNodeGetGraph(Native(node), &child) ==
                     hipSuccess
             ? reinterpret_cast<CUgraph>(child)
             : nullptr;
}

std::vector<CUgraphNode> NodesOf(CUgraph graph) {
  std::vector<CUgraphNode> nodes;
  return ListNodes(graph, &nodes) == CUDA_SUCCESS ? nodes
                                                  : std::vector<CUgraphNode>();
}

void NoteSteppedNode() { g_any_stepped = true; }
bool AnySteppedNode() { return g_any_stepped; }
bool LaunchesKernels(CUgraphNode node) {
  const RecordPtr record = FindRecord(node);
  return record != nullptr && record->launches;
}

void ForgetNode(CUgraphNode node) {
  if (CUgraph child = ChildOf(node)) ForgetNodes(child);
  ForgetDeadNode(node);
}
void ForgetDeadNode(CUgraphNode node) {
  ForgetEdges(node);
  RecordPtr record;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_nodes.find(node);
    if (at == g_nodes.end()) return;
    record = std::move(at->second.record);
    g_nodes.erase(at);
  }
  if (record->type == kConditionalNode) DropBodies(*record);
  if (record->memory.dptr != 0) NoteFreeNode(record->memory.dptr, nullptr);
}
void ForgetNodes(CUgraph graph) {
  for (CUgraphNode node : NodesOf(graph)) ForgetNode(node);
}
namespace {

// Notes the graph of a child node, and describes what is in it as `child` is.
CUresult DescribeChild(CUgraphNode node, CUgraph child) {
  hipGraph_t copy = nullptr;
  const hipError_t error =
      hip.hipGraphChildGraphNodeGetGraph(Native(node), &copy);
  if (error != hipSuccess) return FromHip(error);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_nodes[node].child = reinterpret_cast<CUgraph>(copy);
  }
  return CopyRecords(child, reinterpret_cast<CUgraph>(copy));
}

}  // namespace

CUresult RememberNewChild(CUgraphNode node, CUgraph child) {
  auto record = std::make_shared<NodeRecord>();
  record->type = kChildNode;
  RememberNew(node, std::move(record));
  const CUresult result = DescribeChild(node, child);
  if (result != CUDA_SUCCESS) {
    ForgetNode(node);
    (void)hip.hipGraphDestroyNode(Native(node));
  }
  return result;
}

// HIP keeps the order of nodes, and finds copies by their originals in clones
// alone, not in the graphs of child nodes.
CUresult CopyRecords(CUgraph from, CUgraph clone) {
  std::vector<CUgraphNode> nodes, copies;
  CUresult result = ListNodes(from, &nodes);
  if (result == CUDA_SUCCESS) result = ListNodes(clone, &copies);
  if (result != CUDA_SUCCESS) return result;
  if (nodes.size() != copies.size()) return CUDA_ERROR_UNKNOWN;
  std::map<CUgraphNode, CUgraphNode> pairs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    pairs[nodes[i]] = copies[i];
    if (RecordPtr record = FindRecord(nodes[i])) {
      SetNew(copies[i], std::move(record));
    }
    CUgraph child = ChildOf(nodes[i]);
    if (child == nullptr) continue;
    result = DescribeChild(copies[i], child);
    if (result != CUDA_SUCCESS) return result;
  }
  CopyEdges(pairs);
  return CUDA_SUCCESS;
}

}  // namespace cerberus::stub
