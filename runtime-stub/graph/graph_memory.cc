#include "runtime-stub/graph/graph_memory.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/stream/capture.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

std::mutex g_mutex;
using Addresses = std::set<CUdeviceptr>;
NeverDestroyed<Addresses> g_all_unfreed;
auto& g_unfreed = *g_all_unfreed;
// Nearly all programs free without a look at the set.
std::atomic<bool> g_any_unfreed = false;
struct Own {
  bool is_nodes = true;  // and not the program's
  CUgraph graph = nullptr;
  std::size_t bytes = 0;
  CUdevice device = 0;
  CUgraphNode freed_by = nullptr;  // the last one to free it
  std::weak_ptr<const NodeMemory> memory;
};
NeverDestroyed<std::map<CUdeviceptr, Own>> g_all_node_memory;
auto& g_node_memory = *g_all_node_memory;
std::atomic<bool> g_any_node_memory = false;

void Collect(const GraphCopy& graph, std::vector<CUdeviceptr>* allocated,
             std::vector<CUdeviceptr>* freed) {
  for (const GraphCopy::Node& node : graph.nodes) {
    if (node.params != nullptr && node.type == kAllocNode) {
      allocated->push_back(node.params->params.alloc.dptr);
    } else if (node.params != nullptr && node.type == kFreeNode) {
      freed->push_back(node.params->params.dptr);
    }
    for (const auto& inner : node.graphs) Collect(*inner, allocated, freed);
  }
}

// Whether a node stands before one behind these.
bool StandsBefore(CUgraphNode node, const CUgraphNode* after,
                  std::size_t count) {
  std::vector<CUgraphNode> to_see(after,
                                  after + (after != nullptr ? count : 0));
  std::set<CUgraphNode> seen(to_see.begin(), to_see.end());
  while (!to_see.empty()) {
    CUgraphNode one = to_see.back();
    to_see.pop_back();
    if (one == node) return true;
    std::size_t more = 0;
    if (hip.hipGraphNodeGetDependencies(Native(one), nullptr, &more) !=
            hipSuccess ||
        more == 0) {
      continue;
    }
    std::vector<CUgraphNode> before(more);
    if (hip.hipGraphNodeGetDependencies(Native(one), Native(before.data()),
                                        &more) != hipSuccess) {
      continue;
    }
    for (CUgraphNode next : before) {
      if (seen.insert(next).second) to_see.push_back(next);
    }
  }
  return false;
}

// Memory that a node of the graph has freed before these, or null.
std::shared_ptr<const NodeMemory> TakeFreed(
    CUgraph graph, const CUgraphNode* after, std::size_t count, CUdevice device,
    CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  std::vector<std::pair<CUdeviceptr, CUgraphNode>> freed;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    for (const auto& [address, own] : g_node_memory) {
      if (own.graph == graph && own.device == device &&
          own.bytes >= params->bytesize && own.freed_by != nullptr) {
        freed.emplace_back(address, own.freed_by);
      }
    }
  }
  for (const auto& [address, node] : freed) {
    if (!StandsBefore(node, after, count)) continue;
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_node_memory.find(address);
    if (at == g_node_memory.end() || at->second.freed_by != node) continue;
    std::shared_ptr<const NodeMemory> memory = at->second.memory.lock();
    if (memory == nullptr) continue;
    at->second.freed_by = nullptr;
    params->dptr = address;
    return memory;
  }
  return nullptr;
}

}  // namespace

GraphMemory MemoryOf(const GraphCopy& graph) {
  GraphMemory memory;
  Collect(graph, &memory.allocated, &memory.freed);
  memory.left = memory.allocated;
  // Several nodes may have the same memory, one after the other.
  for (CUdeviceptr address : memory.freed) {
    const auto at = std::find(memory.left.begin(), memory.left.end(), address);
    if (at != memory.left.end()) memory.left.erase(at);
  }
  return memory;
}

bool IsAnyUnfreed(const GraphMemory& memory) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return std::any_of(
      memory.left.begin(), memory.left.end(),
      [](CUdeviceptr address) { return g_unfreed.count(address) != 0; });
}

void NoteGraphLaunch(const GraphMemory& memory) {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (CUdeviceptr address : memory.freed) g_unfreed.erase(address);
  g_unfreed.insert(memory.left.begin(), memory.left.end());
  g_any_unfreed = !g_unfreed.empty();
}

void NoteGraphMemoryFreed(CUdeviceptr address) {
  if (!g_any_unfreed) return;
  std::lock_guard<std::mutex> lock(g_mutex);
  g_unfreed.erase(address);
  g_any_unfreed = !g_unfreed.empty();
}

NodeMemory::~NodeMemory() {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_unfreed.contains(address_)) {
      g_node_memory[address_].is_nodes = false;
      return;
    }
    g_node_memory.erase(address_);
  }
  (void)hip.hipFree(reinterpret_cast<void*>(address_));
}

bool HasOwnMemory(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  // A HIP with such nodes lets other devices reach their memory.
  return hip.major < 7 && (params.accessDescCount == 0 || hip.is_before_5_3);
}
CUresult GetNodeMemory(CUgraph graph, const CUgraphNode* after,
                       std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                       std::shared_ptr<const NodeMemory>* out) {
  constexpr CUmemAllocationType kPinned = 1;
  const CUmemPoolProps& properties = params->poolProps;
  const Device* device = GetDevice(properties.location.id);
  if (graph == nullptr || properties.allocType != kPinned ||
      device == nullptr ||
      properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      params->bytesize == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (params->accessDescCount != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *out = TakeFreed(graph, after, count, device->ordinal, params);
  if (*out != nullptr) return CUDA_SUCCESS;
  const RelaxedCapture relaxed;
  const CurrentDevice current(device);
  void* pointer = nullptr;
  const hipError_t error = hip.hipMalloc(&pointer, params->bytesize);
  if (error != hipSuccess) return FromHip(error);
  params->dptr = reinterpret_cast<CUdeviceptr>(pointer);
  *out = std::make_shared<NodeMemory>(params->dptr);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_node_memory[params->dptr] = {
      true, graph, params->bytesize, device->ordinal, nullptr, *out};
  g_any_node_memory = true;
  return CUDA_SUCCESS;
}
void NoteFreeNode(CUdeviceptr address, CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_node_memory.find(address);
  if (at != g_node_memory.end()) at->second.freed_by = node;
}
bool IsNodeMemory(CUdeviceptr address) {
  if (!g_any_node_memory) return false;
  std::lock_guard<std::mutex> lock(g_mutex);
  return g_node_memory.contains(address);
}
std::optional<hipError_t> FreeNodeMemory(CUdeviceptr address) {
  if (!g_any_node_memory) return std::nullopt;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_node_memory.find(address);
    if (at == g_node_memory.end()) return std::nullopt;
    if (g_unfreed.erase(address) == 0) return hipErrorInvalidValue;
    if (at->second.is_nodes) return hipSuccess;
    g_node_memory.erase(at);
  }
  return hip.hipFree(reinterpret_cast<void*>(address));
}

}  // namespace cerberus::stub
