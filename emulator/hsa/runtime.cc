#include "emulator/hsa/runtime.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>

#include "support/targets/target_id.h"

namespace cerberus::emulator::hsa {
namespace {

std::mutex init_mutex;
int init_count = 0;
Runtime* made = nullptr;
std::atomic<Runtime*> live{nullptr};
// This process is a copy of one that had started the runtime: the threads that
// carry out packets are the other's, and locks may be held by them for ever.
std::atomic<bool> is_copy{false};

// What a GPU says of itself is complete: of features that a code object may
// leave open, the hardware has one setting or the other.
std::string IsaName(const Device& core) {
  std::string name = "amdgcn-amd-amdhsa--" + core.target();
  const std::string& processor = core.info().processor;
  const auto add = [&](const char* feature, const char* setting) {
    if (core.target().find(feature) == std::string::npos) name += setting;
  };
  // AMDGPUUsage, "Target ID": sramecc before xnack.
  if (processor == "gfx906" || processor == "gfx908" || processor == "gfx90a" ||
      processor == "gfx942" || processor == "gfx950") {
    add("sramecc", processor == "gfx906" ? ":sramecc-" : ":sramecc+");
  }
  if (core.info().major == 9 || processor.starts_with("gfx101")) {
    add("xnack", ":xnack-");
  }
  return name;
}

void AddPool(AgentState* agent, Segment segment, std::uint32_t flags,
             std::uint64_t size) {
  auto pool = std::make_unique<PoolState>();
  pool->agent = agent;
  pool->segment = segment;
  pool->flags = flags;
  pool->size = size;
  agent->pools.push_back(std::move(pool));
}

}  // namespace

Runtime* Runtime::Live() { return live.load(std::memory_order_acquire); }

Status Runtime::Init() {
  if (is_copy) {
    Report("a process that was forked after hsa_init has no GPU");
    return kErrorOutOfResources;
  }
  std::lock_guard<std::mutex> lock(init_mutex);
  if (made == nullptr) made = new Runtime;
  ++init_count;
  live.store(made, std::memory_order_release);
  return kSuccess;
}

Status Runtime::ShutDown() {
  if (is_copy) return kErrorNotInitialized;
  std::lock_guard<std::mutex> lock(init_mutex);
  if (init_count == 0) return kErrorNotInitialized;
  if (--init_count == 0) live.store(nullptr, std::memory_order_release);
  return kSuccess;
}

Runtime::Runtime() {
  pthread_atfork(nullptr, nullptr, [] {
    is_copy = true;
    live = nullptr;
  });
  auto host = std::make_unique<AgentState>();
  AddPool(host.get(), kSegmentGlobal, kPoolFineGrained, TotalMemory());
  AddPool(host.get(), kSegmentGlobal, kPoolFineGrained | kPoolKernarg,
          TotalMemory());
  AddPool(host.get(), kSegmentGlobal, kPoolCoarseGrained, TotalMemory());
  agents_.push_back(std::move(host));
  DeviceOptions options = DeviceOptions::FromEnvironment();
  options.protect_constants = false;
  for (const std::string& target : TargetsFromEnvironment()) {
    Result<std::unique_ptr<Device>> device = Device::Create(target, options);
    if (!device) {
      Report(device.error().ToString());
      continue;
    }
    auto agent = std::make_unique<AgentState>();
    agent->node = static_cast<std::uint32_t>(agents_.size());
    agent->core = std::move(*device);
    agent->isa = IsaName(*agent->core);
    AddPool(agent.get(), kSegmentGlobal, kPoolCoarseGrained, TotalMemory());
    AddPool(agent.get(), kSegmentGroup, 0, agent->core->info().lds_bytes);
    agents_.push_back(std::move(agent));
  }
}

AgentState* Runtime::Find(Agent agent) const {
  for (const auto& a : agents_) {
    if (a->handle().handle == agent.handle) return a.get();
  }
  return nullptr;
}

PoolState* Runtime::Find(Pool pool) const {
  for (const auto& agent : agents_) {
    for (const auto& p : agent->pools) {
      if (reinterpret_cast<std::uint64_t>(p.get()) == pool.handle) {
        return p.get();
      }
    }
  }
  return nullptr;
}

void* Runtime::AllocateShared(std::size_t size) {
  size = AlignUp(size, 4096);
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  for (const auto& agent : agents_) {
    if (agent->gpu()) (void)agent->core->Register(at, size);
  }
  return at;
}

std::uint64_t Now() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * kTicksPerSecond +
         static_cast<std::uint64_t>(t.tv_nsec);
}

Status Refuse(const char* function, const char* why) {
  static std::mutex mutex;
  static std::set<std::string>* const said = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  if (said->insert(function).second) {
    Report(std::string(function) + " is not supported: " + why);
  }
  return kError;
}

}  // namespace cerberus::emulator::hsa

namespace {

// The core writes its counters when it ends.
__attribute__((destructor)) void AtUnload() {
  using cerberus::emulator::hsa::Runtime;
  const char* stats = secure_getenv("CERBERUS_EMU_STATS");
  if (stats == nullptr || *stats == '\0') return;
  if (cerberus::emulator::hsa::made == nullptr) return;
  if (cerberus::emulator::hsa::is_copy) return;  // the other's to write
  for (const auto& agent : cerberus::emulator::hsa::made->agents()) {
    agent->core.reset();
  }
}

}  // namespace
