// What is allocated, locked and granted, by address.
#ifndef CERBERUS_EMULATOR_HSA_MEMORY_H_
#define CERBERUS_EMULATOR_HSA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <shared_mutex>
#include <vector>

#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {

struct Block {
  std::uint64_t address = 0, size = 0;
  PoolState* pool = nullptr;        // null: the program's own memory, locked
  std::set<AgentState*> reachable;  // GPUs whose kernels may touch it
  void* user_data = nullptr;
  int locks = 0;
  PointerType type = kPointerHsa;

  bool locked() const { return pool == nullptr; }
  AgentState* owner(Runtime& runtime) const {
    return pool == nullptr ? runtime.host() : pool->agent;
  }
};

class MemoryTable {
 public:
  static MemoryTable& Get();

  Status Allocate(PoolState* pool, std::uint64_t size, void** out);
  Status Free(void* address);
  // Memory that was mapped by another way than Allocate(), as if it were of
  // that pool; GPUs of `agents` reach it, and no others.
  Status Adopt(void* address, std::uint64_t size, PoolState* pool,
               PointerType type, const std::vector<AgentState*>& agents);
  Status Abandon(void* address);
  // What to do once when an allocation is freed.
  void OnFree(std::uint64_t address, void (*todo)(std::uint64_t address));
  // The GPUs of `agents` reach the block, and no others but the one whose pool
  // it was allocated from.
  Status Grant(const void* address, const std::vector<AgentState*>& agents);
  // Memory of the program's that kernels of `agents` may touch until it is
  // unlocked as often as it was locked. Whole pages, as the hardware does.
  Status Lock(void* address, std::uint64_t size,
              const std::vector<AgentState*>& agents);
  Status Unlock(void* address);
  // The same for one GPU, of whole pages that no pointer is asked of; withdrawn
  // as often as granted.
  Status Reach(AgentState* agent, std::uint64_t begin, std::uint64_t end);
  void Withdraw(AgentState* agent, std::uint64_t begin, std::uint64_t end);
  std::optional<Block> Find(const void* address) const;
  Status SetUserData(const void* address, void* data);
  // The bytes of one pool that are taken.
  std::uint64_t Used(const AgentState* agent) const;

 private:
  // Pages of the program's that a GPU was told of, for as many locks.
  struct Pages {
    std::uint64_t size = 0;
    int locks = 0;
  };
  using PageMap = std::map<std::uint64_t, Pages>;

  Block* FindBlock(const void* address);
  Status LockPages(AgentState* agent, std::uint64_t begin, std::uint64_t end);
  void UnlockPages(AgentState* agent, std::uint64_t begin, std::uint64_t end);
  // Pages that were told in one become two, the second of which begins there.
  void SplitPages(AgentState* agent, std::uint64_t at);
  // Locked pages whose addresses were given out again: the program has unmapped
  // them. AMD's HIP keeps what it copied from locked for a while.
  void ForgetPages(std::uint64_t begin, std::uint64_t end);

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Block> blocks_;  // allocated
  std::map<std::uint64_t, Block> locks_;   // locked, by first byte
  std::map<AgentState*, PageMap> pages_;
  std::map<std::uint64_t, void (*)(std::uint64_t)> on_free_;
};

// What the host or a copy wrote, for the check of uninitialised memory.
void MarkWritten(const void* address, std::uint64_t size);

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_MEMORY_H_
