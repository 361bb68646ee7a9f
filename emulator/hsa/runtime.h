// The state behind the HSA face: agents, memory, what is waited for.
//
// Handles are addresses of these objects. One agent is the host's processor,
// each other one an emulated GPU. Device memory is host memory (emulator.h), so
// that a copy is a memcpy; what an agent's kernels may touch is what was
// allocated for it, granted to it or locked for it.
#ifndef CERBERUS_EMULATOR_HSA_RUNTIME_H_
#define CERBERUS_EMULATOR_HSA_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/emulator.h"
#include "emulator/hsa/abi.h"

#define HSA_API extern "C" __attribute__((visibility("default")))

namespace cerberus::emulator::hsa {

struct AgentState;

struct PoolState {
  AgentState* agent = nullptr;
  Segment segment = kSegmentGlobal;
  std::uint32_t flags = 0;  // PoolFlags
  std::uint64_t size = 0;
};

struct AgentState {
  std::uint32_t node = 0;
  std::unique_ptr<Device> core;  // null: the host
  std::string isa;               // "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
  std::vector<std::unique_ptr<PoolState>> pools;

  bool gpu() const { return core != nullptr; }
  Agent handle() const { return {reinterpret_cast<std::uint64_t>(this)}; }
};

class Runtime {
 public:
  // Null unless hsa_init was called more often than hsa_shut_down. Never
  // destroyed once made: threads and static objects of the program may come
  // back to it at its end.
  static Runtime* Live();
  static Status Init();
  static Status ShutDown();

  AgentState* host() const { return agents_.front().get(); }
  const std::vector<std::unique_ptr<AgentState>>& agents() const {
    return agents_;
  }
  // Null: no such agent or pool.
  AgentState* Find(Agent agent) const;
  PoolState* Find(Pool pool) const;

  // Memory that kernels of all GPUs may touch, of the runtime's own: signals
  // and queues. Zero; null if there is none.
  void* AllocateShared(std::size_t size);

  // What a program is told of memory faults, instead of being ended.
  EventCallback event_callback = nullptr;
  void* event_data = nullptr;

 private:
  Runtime();

  std::vector<std::unique_ptr<AgentState>> agents_;
};

// Nanoseconds of a clock that is the system's and all agents'.
std::uint64_t Now();
inline constexpr std::uint64_t kTicksPerSecond = 1000000000;

// Which extensions the system and each agent have: 1024 bits.
void PutExtensions(void* value);

// "HSA_STATUS_ERROR_…" for reports.
const char* NameOf(Status status);

// One line for a call that is not there; the same call once.
Status Refuse(const char* function, const char* why);

// Every call but hsa_init and the names of status codes begins with this.
#define HSA_LIVE(rt)             \
  Runtime* rt = Runtime::Live(); \
  if (rt == nullptr) return kErrorNotInitialized

template <typename T>
void Put(void* to, T value) {
  *static_cast<T*>(to) = value;
}

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_RUNTIME_H_
