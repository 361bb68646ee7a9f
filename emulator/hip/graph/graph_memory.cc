// Memory that nodes of graphs allocate and free.
//
// It has its address from the start and until the last graph with the node
// goes, whoever frees it: a graph that runs again finds it. What the program
// has not freed by then is left to it.
#include <map>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

namespace cerberus::emulator::hip {
namespace {

// Which memory graphs have, and whether it is allocated.
struct GraphMemory {
  std::mutex mutex;
  std::map<const void*, bool> allocated;
};
GraphMemory& Memory() {
  static GraphMemory* memory = new GraphMemory;  // outlives streams' workers
  return *memory;
}

void SetAllocated(const void* pointer, bool allocated) {
  GraphMemory& memory = Memory();
  std::lock_guard<std::mutex> lock(memory.mutex);
  memory.allocated[pointer] = allocated;
}

void GoWithGraph(void* pointer, std::uint64_t block_id) {
  const std::optional<Block> block = Runtime::Get().Find(pointer);
  GraphMemory& memory = Memory();
  bool in_use = false;
  {
    std::lock_guard<std::mutex> lock(memory.mutex);
    const auto at = memory.allocated.find(pointer);
    in_use = at->second;
    memory.allocated.erase(at);
  }
  // A reset of the device may have been faster.
  if (in_use || !block || block->id != block_id) return;
  (void)Runtime::Get().Free(pointer, "the end of its graph");
}

}  // namespace

bool IsGraphMemory(const void* pointer) {
  GraphMemory& memory = Memory();
  std::lock_guard<std::mutex> lock(memory.mutex);
  return memory.allocated.count(pointer) != 0;
}

bool FreeGraphMemory(const void* pointer) {
  GraphMemory& memory = Memory();
  std::lock_guard<std::mutex> lock(memory.mutex);
  const auto at = memory.allocated.find(pointer);
  if (at == memory.allocated.end()) return false;
  at->second = false;
  return true;
}

hipError_t MakeAllocWork(hipMemAllocNodeParams* params, Work* out) {
  if (params == nullptr || params->bytesize == 0 ||
      params->poolProps.location.type != 1) {
    return hipErrorInvalidValue;
  }
  Gpu* gpu = Runtime::Get().gpu(params->poolProps.location.id);
  if (gpu == nullptr) return hipErrorInvalidDevice;
  const hipError_t error = Runtime::Get().Allocate(
      gpu, params->bytesize, MemoryKind::kDevice, 0, &params->dptr);
  if (error != hipSuccess) return error;
  SetAllocated(params->dptr, false);
  const std::shared_ptr<void> owned(
      params->dptr, [id = Runtime::Get().Find(params->dptr)->id](void* m) {
        GoWithGraph(m, id);
      });
  *out = {Work::Kind::kAlloc, [owned] { SetAllocated(owned.get(), true); },
          false, Params(*params)};
  return hipSuccess;
}

hipError_t MakeFreeWork(hipDeviceptr_t pointer, Work* out) {
  if (!Runtime::Get().Find(pointer)) return hipErrorInvalidValue;
  *out = {Work::Kind::kFree, [pointer] { FreeGraphMemory(pointer); }, false,
          Params(pointer)};
  return hipSuccess;
}

}  // namespace cerberus::emulator::hip
