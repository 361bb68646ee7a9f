#include "runtime-stub/graph/graph_record.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/graph/graph.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

std::atomic<bool> g_any_launches{false};

std::mutex g_mutex;
using Records = std::map<CUgraphNode, std::unique_ptr<NodeRecord>>;
NeverDestroyed<Records> g_all_records;
auto& g_records = *g_all_records;

// Lets pointers into one block of arguments point into its copy.
void Rebase(const std::vector<std::uint8_t>& from,
            std::vector<std::uint8_t>* to, std::vector<void*>* pointers) {
  for (void*& pointer : *pointers) {
    if (pointer == nullptr) continue;
    pointer = to->data() + (static_cast<std::uint8_t*>(pointer) - from.data());
  }
}

}  // namespace

void Remember(CUgraphNode node, std::unique_ptr<NodeRecord> record) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_records[node] = std::move(record);
}
void RememberNew(CUgraphNode node, std::unique_ptr<NodeRecord> record) {
  try {
    Remember(node, std::move(record));
  } catch (...) {
    hip.hipGraphDestroyNode(Native(node));
    throw;
  }
}
CUresult WithRecord(CUgraphNode node, int type,
                    const std::function<void(NodeRecord*)>& use) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_records.find(node);
  if (at == g_records.end()) {
    Log(LogLevel::kError,
        "parameters of a captured node cannot be asked for, only those of "
        "nodes that were added");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (at->second->type != type) return CUDA_ERROR_INVALID_VALUE;
  use(at->second.get());
  return CUDA_SUCCESS;
}

std::optional<int> RecordedType(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_records.find(node);
  if (at == g_records.end()) return std::nullopt;
  return at->second->type;
}

std::unique_ptr<KernelNode> KernelNodeOf(const NodeRecord& record) {
  auto node = std::make_unique<KernelNode>();
  node->params = record.kernel;
  node->arguments = record.arguments;
  node->pointers = record.pointers;
  Rebase(record.arguments, &node->arguments, &node->pointers);
  node->params.kernelParams = node->pointers.data();
  return node;
}

std::vector<CUgraphNode> NodesOf(CUgraph graph) {
  std::size_t count = 0;
  if (hip.hipGraphGetNodes(Native(graph), nullptr, &count) != hipSuccess) {
    return {};
  }
  std::vector<CUgraphNode> nodes(count);
  if (count != 0 && hip.hipGraphGetNodes(Native(graph), Native(nodes.data()),
                                         &count) != hipSuccess) {
    return {};
  }
  return nodes;
}

void NoteNodeThatLaunches() { g_any_launches = true; }
bool AnyNodeLaunchesKernels() { return g_any_launches; }
bool LaunchesKernels(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_records.find(node);
  return at != g_records.end() && at->second->launches;
}
std::unique_ptr<KernelNode> CopyKernelNode(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return KernelNodeOf(*g_records.at(node));
}

void ForgetNode(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_records.erase(node);
}
void ForgetNodes(CUgraph graph) {
  for (CUgraphNode node : NodesOf(graph)) ForgetNode(node);
}
void CopyRecords(CUgraph from, CUgraph clone) {
  for (CUgraphNode node : NodesOf(from)) {
    hipGraphNode_t copy = nullptr;
    if (hip.hipGraphNodeFindInClone(&copy, Native(node), Native(clone)) !=
        hipSuccess) {
      continue;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_records.find(node);
    if (at == g_records.end()) continue;
    auto record = std::make_unique<NodeRecord>(*at->second);
    // Its own arguments, not those of the original.
    Rebase(at->second->arguments, &record->arguments, &record->pointers);
    record->kernel.kernelParams = record->pointers.data();
    g_records[reinterpret_cast<CUgraphNode>(copy)] = std::move(record);
  }
}

}  // namespace cerberus::stub
