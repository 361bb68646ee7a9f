#include "emulator/hsa/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "support/bytes.h"

namespace cerberus::emulator::hsa {
namespace {

constexpr std::uint64_t kPage = 4096;
// Device memory of that size and more begins at a multiple of it, as with
// AMD's driver: ROCm's malloc for kernels finds a slab by it.
constexpr std::uint64_t kLargePage = 2 << 20;

std::uint64_t AddressOf(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

// Of a map by first bytes: the entry that holds an address.
template <typename Map>
auto Holding(Map& map, std::uint64_t address) {
  auto at = map.upper_bound(address);
  if (at == map.begin()) return map.end();
  --at;
  return address - at->first < at->second.size ? at : map.end();
}

}  // namespace

MemoryTable& MemoryTable::Get() {
  static MemoryTable* const table = new MemoryTable;
  return *table;
}

Status MemoryTable::Allocate(PoolState* pool, std::uint64_t size, void** out) {
  if (size == 0) return kErrorInvalidArgument;
  if (pool->segment != kSegmentGlobal || size > pool->size) {
    return kErrorInvalidAllocation;
  }
  Block block;
  block.pool = pool;
  block.size = size;
  if (pool->agent->gpu()) {
    if (Used(pool->agent) + size > pool->size) return kErrorOutOfResources;
    const Result<Allocation> made = pool->agent->core->Allocate(
        size, size < kLargePage ? kPage : kLargePage, MemoryKind::kDevice);
    if (!made) return kErrorOutOfResources;
    block.address = made->address;
    block.reachable.insert(pool->agent);
  } else {
    // A page behind it belongs to nobody, as with the core's own.
    void* const map =
        mmap(nullptr, AlignUp(size, kPage) + kPage, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return kErrorOutOfResources;
    block.address = AddressOf(map);
  }
  *out = reinterpret_cast<void*>(block.address);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  ForgetPages(block.address, block.address + AlignUp(size, kPage) + kPage);
  blocks_[block.address] = std::move(block);
  return kSuccess;
}

void MemoryTable::ForgetPages(std::uint64_t begin, std::uint64_t end) {
  for (auto& [agent, map] : pages_) {
    agent->core->ForgetRegistered(begin, end - begin);
    auto it = Holding(map, begin);
    if (it == map.end()) it = map.lower_bound(begin);
    while (it != map.end() && it->first < end) {
      const auto [first, pages] = *it;
      it = map.erase(it);
      const std::uint64_t last = first + pages.size;
      if (first < begin) map[first] = {begin - first, pages.locks};
      if (last > end) map[end] = {last - end, pages.locks};
    }
  }
}

Status MemoryTable::Free(void* address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto at = blocks_.find(AddressOf(address));
  if (at == blocks_.end() || at->second.type != kPointerHsa) {
    return kErrorInvalidAllocation;
  }
  const Block block = at->second;
  blocks_.erase(at);
  const auto todo = on_free_.extract(block.address);
  for (AgentState* agent : block.reachable) {
    (void)agent->core->Free(block.address, "hsa_amd_memory_pool_free");
  }
  if (!block.pool->agent->gpu()) {
    munmap(address, AlignUp(block.size, kPage) + kPage);
  }
  lock.unlock();
  if (!todo.empty()) todo.mapped()(block.address);
  return kSuccess;
}

Status MemoryTable::Adopt(void* address, std::uint64_t size, PoolState* pool,
                          PointerType type,
                          const std::vector<AgentState*>& agents) {
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    Block block;
    block.address = AddressOf(address);
    block.size = size;
    block.pool = pool;
    block.type = type;
    ForgetPages(block.address, block.address + AlignUp(size, kPage));
    blocks_[block.address] = std::move(block);
  }
  const Status status = Grant(address, agents);
  if (status != kSuccess) (void)Abandon(address);
  return status;
}

Status MemoryTable::Abandon(void* address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto at = blocks_.find(AddressOf(address));
  if (at == blocks_.end()) return kErrorInvalidAllocation;
  for (AgentState* agent : at->second.reachable) {
    (void)agent->core->Free(at->first, "an unmapping");
  }
  blocks_.erase(at);
  return kSuccess;
}

void MemoryTable::OnFree(std::uint64_t address,
                         void (*todo)(std::uint64_t address)) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  on_free_[address] = todo;
}

Status MemoryTable::Grant(const void* address,
                          const std::vector<AgentState*>& agents) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  Block* const block = FindBlock(address);
  if (block == nullptr) return kErrorInvalidArgument;
  std::set<AgentState*> wanted;
  if (block->type == kPointerHsa && block->pool->agent->gpu()) {
    wanted.insert(block->pool->agent);
  }
  for (AgentState* agent : agents) {
    if (agent->gpu()) wanted.insert(agent);
  }
  for (AgentState* agent : wanted) {
    if (block->reachable.count(agent) != 0) continue;
    if (!agent->core->Register(reinterpret_cast<void*>(block->address),
                               block->size)) {
      return kErrorOutOfResources;
    }
    block->reachable.insert(agent);
  }
  for (auto it = block->reachable.begin(); it != block->reachable.end();) {
    if (wanted.count(*it) != 0) {
      ++it;
      continue;
    }
    (void)(*it)->core->Free(block->address, "hsa_amd_agents_allow_access");
    it = block->reachable.erase(it);
  }
  return kSuccess;
}

// Pages that another lock told the GPU of already stay one piece with it.
Status MemoryTable::LockPages(AgentState* agent, std::uint64_t begin,
                              std::uint64_t end) {
  PageMap& map = pages_[agent];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  std::uint64_t at = begin;
  while (at < end) {
    const auto holding = Holding(map, at);
    if (holding != map.end()) {
      at = holding->first + holding->second.size;
      continue;
    }
    const auto next = map.lower_bound(at);
    const std::uint64_t stop =
        next == map.end() ? end : std::min(end, next->first);
    gaps.emplace_back(at, stop - at);
    at = stop;
  }
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (agent->core->Register(reinterpret_cast<void*>(gaps[i].first),
                              gaps[i].second)) {
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) (void)agent->core->Free(gaps[j].first);
    return kErrorOutOfResources;
  }
  for (const auto& [address, size] : gaps) map[address] = {size, 0};
  for (auto it = map.lower_bound(begin); it != map.end() && it->first < end;
       ++it) {
    ++it->second.locks;
  }
  const auto first = Holding(map, begin);
  if (first != map.end() && first->first < begin) ++first->second.locks;
  return kSuccess;
}

void MemoryTable::UnlockPages(AgentState* agent, std::uint64_t begin,
                              std::uint64_t end) {
  PageMap& map = pages_[agent];
  auto it = Holding(map, begin);
  if (it == map.end()) it = map.lower_bound(begin);
  while (it != map.end() && it->first < end) {
    if (--it->second.locks != 0) {
      ++it;
      continue;
    }
    (void)agent->core->Free(it->first, "hsa_amd_memory_unlock");
    it = map.erase(it);
  }
}

Status MemoryTable::Lock(void* address, std::uint64_t size,
                         const std::vector<AgentState*>& agents) {
  if (size == 0) return kErrorInvalidArgument;
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const std::uint64_t first = AddressOf(address);
  const auto known = locks_.find(first);
  if (known != locks_.end()) {
    if (size > known->second.size) return kErrorInvalidArgument;
    ++known->second.locks;
    return kSuccess;
  }
  const std::uint64_t begin = first & ~(kPage - 1);
  const std::uint64_t end = AlignUp(first + size, kPage);
  Block block;
  block.address = first;
  block.size = size;
  block.locks = 1;
  for (AgentState* agent : agents) {
    if (!agent->gpu() || block.reachable.count(agent) != 0) continue;
    const Status status = LockPages(agent, begin, end);
    if (status != kSuccess) {
      for (AgentState* done : block.reachable) UnlockPages(done, begin, end);
      return status;
    }
    block.reachable.insert(agent);
  }
  locks_[first] = std::move(block);
  return kSuccess;
}

Status MemoryTable::Unlock(void* address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto at = locks_.find(AddressOf(address));
  if (at == locks_.end()) return kErrorInvalidArgument;
  Block& block = at->second;
  if (--block.locks != 0) return kSuccess;
  const std::uint64_t begin = block.address & ~(kPage - 1);
  const std::uint64_t end = AlignUp(block.address + block.size, kPage);
  for (AgentState* agent : block.reachable) UnlockPages(agent, begin, end);
  locks_.erase(at);
  return kSuccess;
}

Status MemoryTable::Reach(AgentState* agent, std::uint64_t begin,
                          std::uint64_t end) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  return LockPages(agent, begin, end);
}
void MemoryTable::SplitPages(AgentState* agent, std::uint64_t at) {
  PageMap& map = pages_[agent];
  const auto pages = Holding(map, at);
  if (pages == map.end() || pages->first == at) return;
  const std::uint64_t first = pages->first;
  const Pages behind = {first + pages->second.size - at, pages->second.locks};
  pages->second.size = at - first;
  (void)agent->core->Free(first);
  (void)agent->core->Register(reinterpret_cast<void*>(first), at - first);
  (void)agent->core->Register(reinterpret_cast<void*>(at), behind.size);
  map[at] = behind;
}
void MemoryTable::Withdraw(AgentState* agent, std::uint64_t begin,
                           std::uint64_t end) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  SplitPages(agent, begin);
  SplitPages(agent, end);
  UnlockPages(agent, begin, end);
}

Block* MemoryTable::FindBlock(const void* address) {
  const auto at = Holding(blocks_, AddressOf(address));
  return at == blocks_.end() ? nullptr : &at->second;
}

std::optional<Block> MemoryTable::Find(const void* address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto at = Holding(blocks_, AddressOf(address));
  if (at != blocks_.end()) return at->second;
  const auto locked = Holding(locks_, AddressOf(address));
  if (locked != locks_.end()) return locked->second;
  return std::nullopt;
}

Status MemoryTable::SetUserData(const void* address, void* data) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  Block* const block = FindBlock(address);
  if (block == nullptr) return kErrorInvalidArgument;
  block->user_data = data;
  return kSuccess;
}

std::uint64_t MemoryTable::Used(const AgentState* agent) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::uint64_t used = 0;
  for (const auto& [address, block] : blocks_) {
    if (block.pool->agent == agent) used += block.size;
  }
  return used;
}

void MarkWritten(const void* address, std::uint64_t size) {
  static const bool checked =
      DeviceOptions::FromEnvironment().check_uninitialised;
  if (!checked) return;
  const std::optional<Block> block = MemoryTable::Get().Find(address);
  if (!block) return;
  for (AgentState* agent : block->reachable) {
    agent->core->MarkWritten(AddressOf(address), size);
  }
}

namespace {

Status AgentsOf(Runtime& runtime, std::uint32_t count, const Agent* agents,
                std::vector<AgentState*>* out) {
  if (count != 0 && agents == nullptr) return kErrorInvalidArgument;
  for (std::uint32_t i = 0; i < count; ++i) {
    AgentState* const agent = runtime.Find(agents[i]);
    if (agent == nullptr) return kErrorInvalidAgent;
    out->push_back(agent);
  }
  return kSuccess;
}

// Where a GPU's own memory is the host's to write as well, as with a large
// BAR, unless the check of uninitialised memory must see what is written.
PoolAccess AccessOf(const AgentState* agent, const PoolState* pool) {
  if (pool->segment != kSegmentGlobal) return kAccessNever;
  if (pool->agent == agent) return kAccessByDefault;
  if (!agent->gpu() && DeviceOptions::FromEnvironment().check_uninitialised) {
    return kAccessNever;
  }
  return kAccessOnRequest;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_amd_agent_iterate_memory_pools(
    Agent handle, Status (*callback)(Pool pool, void* data), void* data) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (callback == nullptr) return kErrorInvalidArgument;
  for (const auto& pool : agent->pools) {
    const Status status =
        callback({reinterpret_cast<std::uint64_t>(pool.get())}, data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_amd_memory_pool_get_info(Pool handle, PoolInfo attribute,
                                            void* value) {
  HSA_LIVE(runtime);
  PoolState* const pool = runtime->Find(handle);
  if (pool == nullptr) return kErrorInvalidMemoryPool;
  if (value == nullptr) return kErrorInvalidArgument;
  const bool global = pool->segment == kSegmentGlobal;
  switch (attribute) {
    case kPoolSegment: Put<std::uint32_t>(value, pool->segment); break;
    case kPoolGlobalFlags: Put<std::uint32_t>(value, pool->flags); break;
    case kPoolSize: Put<std::size_t>(value, pool->size); break;
    case kPoolAllocAllowed: Put<bool>(value, global); break;
    case kPoolAllocRecGranule:
      if (global && pool->agent->gpu()) {
        Put<std::size_t>(value, kLargePage);
        break;
      }
      [[fallthrough]];
    case kPoolAllocGranule:
    case kPoolAllocAlignment:
      Put<std::size_t>(value, global ? kPage : 0);
      break;
    case kPoolAccessibleByAll:
      Put<bool>(value, global && !pool->agent->gpu());
      break;
    case kPoolAllocMaxSize:
      Put<std::size_t>(value, global ? pool->size : 0);
      break;
    case kPoolLocation: Put<std::uint32_t>(value, pool->agent->gpu()); break;
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

HSA_API Status hsa_amd_agent_memory_pool_get_info(Agent agent_handle,
                                                  Pool pool_handle,
                                                  AgentPoolInfo attribute,
                                                  void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(agent_handle);
  PoolState* const pool = runtime->Find(pool_handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (pool == nullptr) return kErrorInvalidMemoryPool;
  if (value == nullptr) return kErrorInvalidArgument;
  const bool own = pool->agent == agent;
  switch (attribute) {
    case kAgentPoolAccess:
      Put<std::uint32_t>(value, AccessOf(agent, pool));
      return kSuccess;
    case kAgentPoolLinkHops:
      Put<std::uint32_t>(value, own ? 0 : 1);
      return kSuccess;
    case kAgentPoolLinkInfo: {
      if (own) return kSuccess;  // no hop, nothing to fill
      LinkInfo link = {};
      link.atomics_32 = link.atomics_64 = link.coherent = true;
      link.type = 2;
      link.numa_distance = 20;
      Put(value, link);
      return kSuccess;
    }
  }
  return kErrorInvalidArgument;
}

HSA_API Status hsa_amd_memory_pool_allocate(Pool handle, std::size_t size,
                                            std::uint32_t, void** out) {
  HSA_LIVE(runtime);
  PoolState* const pool = runtime->Find(handle);
  if (pool == nullptr) return kErrorInvalidMemoryPool;
  if (out == nullptr) return kErrorInvalidArgument;
  return MemoryTable::Get().Allocate(pool, size, out);
}

HSA_API Status hsa_amd_memory_pool_free(void* address) {
  HSA_LIVE(runtime);
  if (address == nullptr) return kSuccess;
  return MemoryTable::Get().Free(address);
}

HSA_API Status hsa_amd_agents_allow_access(std::uint32_t count,
                                           const Agent* handles,
                                           const std::uint32_t* flags,
                                           const void* address) {
  HSA_LIVE(runtime);
  if (flags != nullptr || address == nullptr || count == 0) {
    return kErrorInvalidArgument;
  }
  std::vector<AgentState*> agents;
  const Status status = AgentsOf(*runtime, count, handles, &agents);
  if (status != kSuccess) return status;
  return MemoryTable::Get().Grant(address, agents);
}

HSA_API Status hsa_amd_memory_pool_can_migrate(Pool, Pool, bool* result) {
  HSA_LIVE(runtime);
  if (result == nullptr) return kErrorInvalidArgument;
  *result = false;
  return kSuccess;
}

HSA_API Status hsa_amd_memory_lock_to_pool(void* address, std::size_t size,
                                           Agent* handles, int count, Pool pool,
                                           std::uint32_t flags, void** out) {
  HSA_LIVE(runtime);
  if (address == nullptr || out == nullptr || flags != 0 || count < 0) {
    return kErrorInvalidArgument;
  }
  if (pool.handle != 0 && runtime->Find(pool) == nullptr) {
    return kErrorInvalidMemoryPool;
  }
  std::vector<AgentState*> agents;
  if (count == 0 || handles == nullptr) {  // all
    for (const auto& agent : runtime->agents()) agents.push_back(agent.get());
  } else {
    const Status status =
        AgentsOf(*runtime, static_cast<std::uint32_t>(count), handles, &agents);
    if (status != kSuccess) return status;
  }
  const Status status = MemoryTable::Get().Lock(address, size, agents);
  if (status == kSuccess) *out = address;
  return status;
}

HSA_API Status hsa_amd_memory_lock(void* address, std::size_t size,
                                   Agent* agents, int count, void** out) {
  return hsa_amd_memory_lock_to_pool(address, size, agents, count, {0}, 0, out);
}

HSA_API Status hsa_amd_memory_unlock(void* address) {
  HSA_LIVE(runtime);
  if (address == nullptr) return kErrorInvalidArgument;
  return MemoryTable::Get().Unlock(address);
}

// Host memory is the host's own: registering it for agents of the full profile
// has no meaning for the GPUs here, and is allowed (HSA 1.2, 2.7.3).
HSA_API Status hsa_memory_register(void* address, std::size_t size) {
  HSA_LIVE(runtime);
  return address == nullptr && size != 0 ? kErrorInvalidArgument : kSuccess;
}
HSA_API Status hsa_memory_deregister(void*, std::size_t) {
  HSA_LIVE(runtime);
  return kSuccess;
}

HSA_API Status hsa_amd_pointer_info(const void* address, PointerInfo* out,
                                    void* (*allocate)(std::size_t),
                                    std::uint32_t* count, Agent** agents) {
  HSA_LIVE(runtime);
  if (address == nullptr || out == nullptr || out->size == 0) {
    return kErrorInvalidArgument;
  }
  if (allocate != nullptr && (count == nullptr || agents == nullptr)) {
    return kErrorInvalidArgument;
  }
  PointerInfo info = {};
  info.size = std::min<std::uint32_t>(out->size, sizeof info);
  const std::optional<Block> block = MemoryTable::Get().Find(address);
  if (block) {
    void* const base = reinterpret_cast<void*>(block->address);
    info.type = block->locked() ? kPointerLocked : block->type;
    info.agent_base = base;
    info.host_base = base;
    info.bytes = block->size;
    info.user_data = block->user_data;
    info.owner = block->owner(*runtime)->handle();
    info.global_flags =
        block->locked() ? std::uint32_t{kPoolFineGrained} : block->pool->flags;
    info.registered = block->locked();
  }
  std::memcpy(out, &info, info.size);
  if (allocate == nullptr) return kSuccess;
  *count = 0;
  *agents = nullptr;
  if (!block) return kSuccess;
  std::vector<Agent> reaching;
  if (!block->owner(*runtime)->gpu() || block->locked()) {
    reaching.push_back(runtime->host()->handle());
  }
  for (AgentState* agent : block->reachable) {
    reaching.push_back(agent->handle());
  }
  auto* const list =
      static_cast<Agent*>(allocate(reaching.size() * sizeof(Agent)));
  if (list == nullptr) return kErrorOutOfResources;
  std::copy(reaching.begin(), reaching.end(), list);
  *agents = list;
  *count = static_cast<std::uint32_t>(reaching.size());
  return kSuccess;
}

HSA_API Status hsa_amd_pointer_info_set_userdata(const void* address,
                                                 void* data) {
  HSA_LIVE(runtime);
  return MemoryTable::Get().SetUserData(address, data);
}

// --- regions: the older view of the same pools -------------------------------

HSA_API Status hsa_agent_iterate_regions(Agent agent,
                                         Status (*callback)(Region, void*),
                                         void* data) {
  HSA_LIVE(runtime);
  AgentState* const state = runtime->Find(agent);
  if (state == nullptr) return kErrorInvalidAgent;
  if (callback == nullptr) return kErrorInvalidArgument;
  for (const auto& pool : state->pools) {
    const Status status =
        callback({reinterpret_cast<std::uint64_t>(pool.get())}, data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_region_get_info(Region region, RegionInfo attribute,
                                   void* value) {
  HSA_LIVE(runtime);
  const Pool pool = {region.handle};
  if (runtime->Find(pool) == nullptr) return kErrorInvalidRegion;
  switch (attribute) {
    case kRegionAllocMaxSize:
      return hsa_amd_memory_pool_get_info(pool, kPoolAllocMaxSize, value);
    case kRegionSegment:
    case kRegionGlobalFlags:
    case kRegionSize:
    case kRegionAllocAllowed:
    case kRegionAllocGranule:
    case kRegionAllocAlignment:
      return hsa_amd_memory_pool_get_info(
          pool, static_cast<PoolInfo>(attribute), value);
    default: return kErrorInvalidArgument;
  }
}

HSA_API Status hsa_memory_allocate(Region region, std::size_t size,
                                   void** out) {
  HSA_LIVE(runtime);
  PoolState* const pool = runtime->Find(Pool{region.handle});
  if (pool == nullptr) return kErrorInvalidRegion;
  if (out == nullptr) return kErrorInvalidArgument;
  const Status status = MemoryTable::Get().Allocate(pool, size, out);
  if (status != kSuccess) return status;
  // What is allocated from a region, all agents reach.
  std::vector<AgentState*> all;
  for (const auto& agent : runtime->agents()) all.push_back(agent.get());
  return MemoryTable::Get().Grant(*out, all);
}

HSA_API Status hsa_memory_free(void* address) {
  return hsa_amd_memory_pool_free(address);
}

HSA_API Status hsa_memory_assign_agent(void* address, Agent agent,
                                       std::uint32_t) {
  HSA_LIVE(runtime);
  if (address == nullptr) return kErrorInvalidArgument;
  return runtime->Find(agent) == nullptr ? kErrorInvalidAgent : kSuccess;
}
