// Memory shared between processes, by a name of 32 bytes (IPC) or by a
// descriptor (dma-buf).
//
// An allocation that is shared moves, at its address, into a file of the
// kernel's; the name says the process and its descriptor, which the other opens
// through /proc. So nothing is left behind when either ends.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "emulator/hsa/memory.h"
#include "emulator/hsa/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hsa {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x6373682d62726563;  // "cerb-hsc"

struct Name {
  std::uint64_t magic;
  std::uint64_t size;
  std::int32_t process;
  std::int32_t file;
  std::uint64_t reserved;
};
static_assert(sizeof(Name) == sizeof(IpcHandle));

struct State {
  std::mutex mutex;
  std::map<std::uint64_t, int> files;  // of allocations, by address
  struct Attached {
    std::uint64_t size = 0;
    int times = 0;
    Name name = {};
  };
  std::map<void*, Attached> attached;
};
State& The() {
  static State* const state = new State;
  return *state;
}

// Moves an allocation's bytes into a file that is mapped in their place.
int MoveToFile(const Block& block) {
  const std::uint64_t bytes = AlignUp(block.size, kPage);
  void* const address = reinterpret_cast<void*>(block.address);
  const int file = memfd_create("cerberus-ipc-memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  void* copy = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (copy != MAP_FAILED) {
    std::memcpy(copy, address, block.size);
    munmap(copy, bytes);
    if (mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             file, 0) != MAP_FAILED) {
      return file;
    }
  }
  close(file);
  return -1;
}

// The file that an allocation lies in from now on.
Status FileOf(const void* address, Block* block, int* out) {
  const std::optional<Block> found = MemoryTable::Get().Find(address);
  if (!found || found->locked() || found->type != kPointerHsa ||
      found->address % kPage != 0) {
    return kErrorInvalidArgument;
  }
  *block = *found;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto known = state.files.find(block->address);
  if (known == state.files.end()) {
    const int file = MoveToFile(*block);
    if (file < 0) return kErrorOutOfResources;
    known = state.files.emplace(block->address, file).first;
    MemoryTable::Get().OnFree(block->address, [](std::uint64_t gone) {
      State& s = The();
      std::lock_guard<std::mutex> l(s.mutex);
      const auto at = s.files.find(gone);
      if (at == s.files.end()) return;
      close(at->second);
      s.files.erase(at);
    });
  }
  *out = known->second;
  return kSuccess;
}

// Another process's file, mapped: null if it is not, or no longer, there, or
// shorter than the name says, which must not be a fault later.
void* MapOfOther(const Name& name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.process, name.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const std::uint64_t bytes = AlignUp(name.size, kPage);
  const bool whole = lseek(file, 0, SEEK_END) >= static_cast<off_t>(bytes);
  void* const map =
      whole ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            : MAP_FAILED;
  close(file);
  return map == MAP_FAILED ? nullptr : map;
}

Status Attach(Runtime& runtime, const Name& name,
              const std::vector<AgentState*>& agents, void** out) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (auto& [address, attached] : state.attached) {
    if (std::memcmp(&attached.name, &name, sizeof name) != 0) continue;
    ++attached.times;
    *out = address;
    return MemoryTable::Get().Grant(address, agents);
  }
  void* const map = MapOfOther(name);
  if (map == nullptr) return kErrorInvalidArgument;
  PoolState* pool = runtime.host()->pools.front().get();
  for (AgentState* agent : agents) {
    if (agent->gpu()) pool = agent->pools.front().get();
  }
  const Status status =
      MemoryTable::Get().Adopt(map, name.size, pool, kPointerIpc, agents);
  if (status != kSuccess) {
    munmap(map, AlignUp(name.size, kPage));
    return status;
  }
  state.attached[map] = {AlignUp(name.size, kPage), 1, name};
  *out = map;
  return kSuccess;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_amd_ipc_memory_create(void* address, std::size_t size,
                                         IpcHandle* out) {
  HSA_LIVE(runtime);
  if (address == nullptr || out == nullptr || size == 0) {
    return kErrorInvalidArgument;
  }
  Block block;
  int file = -1;
  const Status status = FileOf(address, &block, &file);
  if (status != kSuccess) return status;
  if (reinterpret_cast<std::uint64_t>(address) != block.address ||
      size > cerberus::AlignUp(block.size, kPage)) {
    return kErrorInvalidArgument;
  }
  const Name name = {kMagic, block.size, getpid(), file, 0};
  std::memcpy(out, &name, sizeof name);
  return kSuccess;
}

HSA_API Status hsa_amd_ipc_memory_attach(const IpcHandle* handle,
                                         std::size_t size, std::uint32_t count,
                                         const Agent* handles, void** out) {
  HSA_LIVE(runtime);
  if (handle == nullptr || out == nullptr ||
      (count != 0 && handles == nullptr)) {
    return kErrorInvalidArgument;
  }
  Name name = {};
  std::memcpy(&name, handle, sizeof name);
  if (name.magic != kMagic || name.size == 0 ||
      size > cerberus::AlignUp(name.size, kPage)) {
    return kErrorInvalidArgument;
  }
  std::vector<AgentState*> agents;
  for (std::uint32_t i = 0; i < count; ++i) {
    agents.push_back(runtime->Find(handles[i]));
    if (agents.back() == nullptr) return kErrorInvalidArgument;
  }
  if (count == 0) {
    for (const auto& agent : runtime->agents()) agents.push_back(agent.get());
  }
  return Attach(*runtime, name, agents, out);
}

HSA_API Status hsa_amd_ipc_memory_detach(void* address) {
  HSA_LIVE(runtime);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto at = state.attached.find(address);
  if (at == state.attached.end()) return kErrorInvalidArgument;
  if (--at->second.times != 0) return kSuccess;
  const Status status = MemoryTable::Get().Abandon(address);
  munmap(address, at->second.size);
  state.attached.erase(at);
  return status;
}

HSA_API Status hsa_amd_portable_export_dmabuf(const void* address,
                                              std::size_t size, int* out,
                                              std::uint64_t* offset) {
  HSA_LIVE(runtime);
  if (address == nullptr || out == nullptr || offset == nullptr || size == 0) {
    return kErrorInvalidArgument;
  }
  Block block;
  int file = -1;
  const Status status = FileOf(address, &block, &file);
  if (status == kErrorInvalidArgument) return kErrorInvalidAllocation;
  if (status != kSuccess) return status;
  if (!block.pool->agent->gpu()) return kErrorInvalidAgent;
  const std::uint64_t into =
      reinterpret_cast<std::uint64_t>(address) - block.address;
  if (size > cerberus::AlignUp(block.size, kPage) - into) {
    return kErrorInvalidAllocation;
  }
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return kErrorOutOfResources;
  *out = copy;
  *offset = into;
  return kSuccess;
}
HSA_API Status hsa_amd_portable_export_dmabuf_v2(const void* address,
                                                 std::size_t size, int* out,
                                                 std::uint64_t* offset,
                                                 std::uint64_t) {
  return hsa_amd_portable_export_dmabuf(address, size, out, offset);
}
HSA_API Status hsa_amd_portable_close_dmabuf(int file) {
  HSA_LIVE(runtime);
  return close(file) == 0 ? kSuccess : kErrorResourceFree;
}
