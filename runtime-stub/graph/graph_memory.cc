#include "runtime-stub/graph/graph_memory.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

std::mutex g_mutex;
using Addresses = std::set<CUdeviceptr>;
NeverDestroyed<Addresses> g_all_unfreed;
auto& g_unfreed = *g_all_unfreed;
// Nearly all programs free without a look at the set.
std::atomic<bool> g_any_unfreed = false;

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

}  // namespace

GraphMemory MemoryOf(const GraphCopy& graph) {
  GraphMemory memory;
  Collect(graph, &memory.allocated, &memory.freed);
  memory.left = memory.allocated;
  std::erase_if(memory.left, [&memory](CUdeviceptr address) {
    return std::count(memory.freed.begin(), memory.freed.end(), address) != 0;
  });
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

}  // namespace cerberus::stub
