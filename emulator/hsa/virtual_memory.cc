// Virtual memory by hand: ranges of addresses, memory without an address, and
// what joins them (AMD's extension, "hsa_amd_vmem").
//
// Memory is a file of the kernel's (memfd_create(2)), so that it can be mapped
// in several places and be handed to another process. Kernels see a mapping
// once hsa_amd_vmem_set_access has named their agent; the host, which carries
// out copies, always does.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <map>
#include <mutex>

#include "emulator/hsa/memory.h"
#include "emulator/hsa/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hsa {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMost = std::uint64_t{1} << 46;

struct Memory {
  int file = -1;
  std::uint64_t size = 0;
  PoolState* pool = nullptr;
  std::uint32_t type = 0;
  int handles = 0;   // given out and not released
  int mappings = 0;  // that keep it, too
};
struct Mapping {
  std::uint64_t size = 0;
  Memory* memory = nullptr;
  std::map<AgentState*, Permission> access;
};
struct State {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> reserved;  // sizes, by first byte
  std::map<std::uint64_t, Mapping> mappings;
  std::set<Memory*> memories;
};
State& The() {
  static State* const state = new State;
  return *state;
}

std::uint64_t AddressOf(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}
bool IsWhole(std::uint64_t size) { return size != 0 && size % kPage == 0; }

// --- under the lock ---

Memory* Find(State& state, VirtualHandle handle) {
  auto* const memory = reinterpret_cast<Memory*>(handle.handle);
  const bool known = state.memories.count(memory) != 0;
  return known && memory->handles > 0 ? memory : nullptr;
}

void DropUnused(State& state, Memory* memory) {
  if (memory->handles > 0 || memory->mappings > 0) return;
  close(memory->file);
  state.memories.erase(memory);
  delete memory;
}

// The file is the state's from now on.
Status Add(int file, std::uint64_t size, PoolState* pool, std::uint32_t type,
           VirtualHandle* out) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto* const memory = new Memory{file, size, pool, type, 1, 0};
  state.memories.insert(memory);
  out->handle = AddressOf(memory);
  return kSuccess;
}

// The mapping that holds an address, or the end.
std::map<std::uint64_t, Mapping>::iterator MappingAt(State& state,
                                                     const void* address) {
  auto at = state.mappings.upper_bound(AddressOf(address));
  if (at == state.mappings.begin()) return state.mappings.end();
  --at;
  return AddressOf(address) - at->first < at->second.size
             ? at
             : state.mappings.end();
}

// Whether a range lies in a reserved one and meets no mapping.
bool IsFree(State& state, std::uint64_t address, std::uint64_t size) {
  auto range = state.reserved.upper_bound(address);
  if (range == state.reserved.begin()) return false;
  --range;
  const std::uint64_t into = address - range->first;
  if (into >= range->second || size > range->second - into) return false;
  const auto next = state.mappings.lower_bound(address);
  if (next != state.mappings.end() && next->first - address < size) {
    return false;
  }
  if (next == state.mappings.begin()) return true;
  const auto previous = std::prev(next);
  return address - previous->first >= previous->second.size;
}

// The mappings that make up a range between them; false: gaps, or parts.
bool Cover(State& state, void* address, std::uint64_t size,
           std::vector<std::map<std::uint64_t, Mapping>::iterator>* out) {
  std::uint64_t at = AddressOf(address);
  const std::uint64_t end = at + size;
  while (at < end) {
    const auto found = state.mappings.find(at);
    if (found == state.mappings.end()) return false;
    at += found->second.size;
    out->push_back(found);
  }
  return at == end && !out->empty();
}

Status Unmap(State& state, std::map<std::uint64_t, Mapping>::iterator it) {
  void* const address = reinterpret_cast<void*>(it->first);
  const Status status = MemoryTable::Get().Abandon(address);
  // The addresses stay reserved.
  if (mmap(address, it->second.size, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED) {
    return kErrorOutOfResources;
  }
  Memory* const memory = it->second.memory;
  --memory->mappings;
  state.mappings.erase(it);
  DropUnused(state, memory);
  return status;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_amd_vmem_address_reserve_align(void** out, std::size_t size,
                                                  std::uint64_t wanted,
                                                  std::uint64_t alignment,
                                                  std::uint64_t) {
  HSA_LIVE(runtime);
  if (alignment == 0) alignment = kPage;
  if (out == nullptr || !IsWhole(size) || size > kMost ||
      !std::has_single_bit(alignment) || alignment < kPage ||
      alignment > kMost) {
    return kErrorInvalidArgument;
  }
  const std::uint64_t slack = alignment - kPage;
  void* const map =
      mmap(reinterpret_cast<void*>(wanted), size + slack, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return kErrorOutOfResources;
  const std::uint64_t begin = AddressOf(map);
  const std::uint64_t address = cerberus::AlignUp(begin, alignment);
  if (address != begin) munmap(map, address - begin);
  if (const std::uint64_t behind = begin + slack - address; behind != 0) {
    munmap(reinterpret_cast<void*>(address + size), behind);
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.reserved[address] = size;
  *out = reinterpret_cast<void*>(address);
  return kSuccess;
}
HSA_API Status hsa_amd_vmem_address_reserve(void** out, std::size_t size,
                                            std::uint64_t wanted,
                                            std::uint64_t flags) {
  return hsa_amd_vmem_address_reserve_align(out, size, wanted, 0, flags);
}

HSA_API Status hsa_amd_vmem_address_free(void* address, std::size_t size) {
  HSA_LIVE(runtime);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto range = state.reserved.find(AddressOf(address));
  if (range == state.reserved.end()) return kErrorInvalidAllocation;
  if (range->second != size) return kErrorInvalidArgument;
  const auto inside = state.mappings.lower_bound(range->first);
  if (inside != state.mappings.end() && inside->first - range->first < size) {
    return kErrorResourceFree;
  }
  munmap(address, size);
  state.reserved.erase(range);
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_handle_create(Pool handle, std::size_t size,
                                          std::uint32_t type,
                                          std::uint64_t flags,
                                          VirtualHandle* out) {
  HSA_LIVE(runtime);
  PoolState* const pool = runtime->Find(handle);
  if (pool == nullptr || out == nullptr || !IsWhole(size) || type > 1 ||
      flags != 0) {
    return kErrorInvalidArgument;
  }
  if (pool->segment != kSegmentGlobal) return kErrorInvalidAllocation;
  if (size > pool->size) return kErrorOutOfResources;
  const int file = memfd_create("cerberus-device-memory", MFD_CLOEXEC);
  if (file < 0) return kErrorOutOfResources;
  if (ftruncate(file, static_cast<off_t>(size)) != 0) {
    close(file);
    return kErrorOutOfResources;
  }
  return Add(file, size, pool, type, out);
}

HSA_API Status hsa_amd_vmem_handle_release(VirtualHandle handle) {
  HSA_LIVE(runtime);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  Memory* const memory = Find(state, handle);
  if (memory == nullptr) return kErrorInvalidAllocation;
  --memory->handles;
  DropUnused(state, memory);
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_map(void* address, std::size_t size,
                                std::size_t offset, VirtualHandle handle,
                                std::uint64_t flags) {
  HSA_LIVE(runtime);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  Memory* const memory = Find(state, handle);
  if (memory == nullptr || flags != 0 || !IsWhole(size) ||
      AddressOf(address) % kPage != 0 || offset % kPage != 0 ||
      size > memory->size || offset > memory->size - size ||
      !IsFree(state, AddressOf(address), size)) {
    return kErrorInvalidArgument;
  }
  if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           memory->file, static_cast<off_t>(offset)) == MAP_FAILED) {
    return kErrorOutOfResources;
  }
  ++memory->mappings;
  const auto it =
      state.mappings.emplace(AddressOf(address), Mapping{size, memory, {}})
          .first;
  const Status status = MemoryTable::Get().Adopt(address, size, memory->pool,
                                                 kPointerVirtual, {});
  if (status != kSuccess) (void)Unmap(state, it);
  return status;
}

HSA_API Status hsa_amd_vmem_unmap(void* address, std::size_t size) {
  HSA_LIVE(runtime);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::vector<std::map<std::uint64_t, Mapping>::iterator> covered;
  if (state.mappings.count(AddressOf(address)) == 0) {
    return kErrorInvalidAllocation;
  }
  if (!Cover(state, address, size, &covered)) return kErrorInvalidArgument;
  for (const auto& it : covered) {
    const Status status = Unmap(state, it);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_set_access(void* address, std::size_t size,
                                       const AccessDescription* list,
                                       std::size_t count) {
  HSA_LIVE(runtime);
  if (list == nullptr || count == 0) return kErrorInvalidArgument;
  for (std::size_t i = 0; i < count; ++i) {
    if (runtime->Find(list[i].agent) == nullptr) return kErrorInvalidAgent;
    if (list[i].permission > kReadWrite) return kErrorInvalidArgument;
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::vector<std::map<std::uint64_t, Mapping>::iterator> covered;
  if (!Cover(state, address, size, &covered)) return kErrorInvalidArgument;
  for (const auto& it : covered) {
    std::vector<AgentState*> agents;
    for (std::size_t i = 0; i < count; ++i) {
      it->second.access[runtime->Find(list[i].agent)] = list[i].permission;
    }
    for (const auto& [agent, permission] : it->second.access) {
      if (permission != kNoAccess) agents.push_back(agent);
    }
    const Status status =
        MemoryTable::Get().Grant(reinterpret_cast<void*>(it->first), agents);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_get_access(void* address, Permission* out,
                                       Agent handle) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (out == nullptr) return kErrorInvalidArgument;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto it = MappingAt(state, address);
  if (it == state.mappings.end()) return kErrorInvalidAllocation;
  const auto access = it->second.access.find(agent);
  if (access == it->second.access.end()) return kErrorInvalidAllocation;
  *out = access->second;
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_export_shareable_handle(int* out,
                                                    VirtualHandle handle,
                                                    std::uint64_t) {
  HSA_LIVE(runtime);
  if (out == nullptr) return kErrorInvalidArgument;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  Memory* const memory = Find(state, handle);
  if (memory == nullptr) return kErrorInvalidAllocation;
  const int copy = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return kErrorOutOfResources;
  *out = copy;
  return kSuccess;
}

// A file does not tell the agent it is of: the first GPU's.
HSA_API Status hsa_amd_vmem_import_shareable_handle(int file,
                                                    VirtualHandle* out) {
  HSA_LIVE(runtime);
  if (out == nullptr) return kErrorInvalidArgument;
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) ||
      !IsWhole(static_cast<std::uint64_t>(info.st_size))) {
    return kErrorInvalidAllocation;
  }
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return kErrorOutOfResources;
  AgentState* const agent = runtime->agents().back().get();
  AgentState* const first =
      agent->gpu() ? runtime->agents()[1].get() : runtime->host();
  return Add(copy, static_cast<std::uint64_t>(info.st_size),
             first->pools.front().get(), 0, out);
}

HSA_API Status hsa_amd_vmem_retain_alloc_handle(VirtualHandle* out,
                                                void* address) {
  HSA_LIVE(runtime);
  if (out == nullptr) return kErrorInvalidArgument;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto it = MappingAt(state, address);
  if (it == state.mappings.end()) return kErrorInvalidAllocation;
  ++it->second.memory->handles;
  out->handle = AddressOf(it->second.memory);
  return kSuccess;
}

HSA_API Status hsa_amd_vmem_get_alloc_properties_from_handle(
    VirtualHandle handle, Pool* pool, std::uint32_t* type) {
  HSA_LIVE(runtime);
  if (pool == nullptr || type == nullptr) return kErrorInvalidArgument;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  Memory* const memory = Find(state, handle);
  if (memory == nullptr) return kErrorInvalidAllocation;
  pool->handle = AddressOf(memory->pool);
  *type = memory->type;
  return kSuccess;
}
