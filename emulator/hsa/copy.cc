// Copies and fills, at once and behind signals.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "emulator/hsa/memory.h"
#include "emulator/hsa/runtime.h"
#include "emulator/hsa/signal.h"
#include "emulator/hsa/svm.h"

namespace cerberus::emulator::hsa {
namespace {

struct Job {
  std::vector<SignalBlock*> after;  // each must have come to 0
  std::function<void()> run;
  Signal completion;

  bool IsReady() const {
    return std::all_of(after.begin(), after.end(),
                       [](SignalBlock* s) { return ValueOf(s).load() == 0; });
  }
  void Run() const {
    Times times;
    times.start = Now();
    run();
    times.end = Now();
    Complete(completion, times);
  }
};

// One thread carries out what has to wait, in the order in which it becomes
// ready: a copy that waits for the host holds up no other.
class Engine {
 public:
  static Engine& Get() {
    static Engine* const engine = new Engine;
    return *engine;
  }

  void Add(Job job) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(std::move(job));
      if (!started_) {
        started_ = true;
        std::thread([this] { Loop(); }).detach();
      }
    }
    Notify();
  }

 private:
  bool TakeReady(Job* out) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
      if (!it->IsReady()) continue;
      *out = std::move(*it);
      jobs_.erase(it);
      return true;
    }
    return false;
  }

  [[noreturn]] void Loop() {
    while (true) {
      Job job;
      WaitUntil([&] { return TakeReady(&job); }, kForever);
      job.Run();
    }
  }

  std::mutex mutex_;
  std::deque<Job> jobs_;
  bool started_ = false;
};

// What is short and has nothing to wait for is done by the caller.
constexpr std::uint64_t kAtOnce = 256 * 1024;

Status Submit(std::uint64_t bytes, std::uint32_t count, const Signal* after,
              Signal completion, std::function<void()> run) {
  if (count != 0 && after == nullptr) return kErrorInvalidArgument;
  Job job;
  job.completion = completion;
  job.run = std::move(run);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (after[i].handle == 0) return kErrorInvalidSignal;
    job.after.push_back(BlockOf(after[i]));
  }
  if (bytes <= kAtOnce && job.IsReady()) job.Run();
  else Engine::Get().Add(std::move(job));
  return kSuccess;
}

// Whether what is allocated there holds all of it. Memory that nobody
// allocated or locked is the host's, of which nothing is known.
bool Fits(const void* address, std::uint64_t size) {
  const std::optional<Block> block = MemoryTable::Get().Find(address);
  if (!block || block->locked()) return true;
  const std::uint64_t into =
      reinterpret_cast<std::uint64_t>(address) - block->address;
  return size <= AlignUp(block->size, 4096) - into;
}

void Move(void* to, const void* from, std::uint64_t size) {
  std::memmove(to, from, size);
  MarkWritten(to, size);
}

std::uint8_t* At(const PitchedPointer& p, const Dim3& offset) {
  return static_cast<std::uint8_t*>(p.base) + offset.x + offset.y * p.pitch +
         offset.z * p.slice;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_memory_copy(void* to, const void* from, std::size_t size) {
  HSA_LIVE(runtime);
  if (to == nullptr || from == nullptr) return kErrorInvalidArgument;
  if (!Fits(to, size) || !Fits(from, size)) return kErrorInvalidArgument;
  Move(to, from, size);
  return kSuccess;
}

HSA_API Status hsa_amd_memory_fill(void* to, std::uint32_t value,
                                   std::size_t count) {
  HSA_LIVE(runtime);
  if (to == nullptr || reinterpret_cast<std::uint64_t>(to) % 4 != 0) {
    return kErrorInvalidArgument;
  }
  if (count > ~std::size_t{0} / 4 || !Fits(to, 4 * count)) {
    return kErrorInvalidArgument;
  }
  std::fill_n(static_cast<std::uint32_t*>(to), count, value);
  MarkWritten(to, 4 * count);
  return kSuccess;
}

HSA_API Status hsa_amd_memory_async_copy(void* to, Agent to_agent,
                                         const void* from, Agent from_agent,
                                         std::size_t size, std::uint32_t count,
                                         const Signal* after,
                                         Signal completion) {
  HSA_LIVE(runtime);
  if (to == nullptr || from == nullptr) return kErrorInvalidArgument;
  if (runtime->Find(to_agent) == nullptr ||
      runtime->Find(from_agent) == nullptr) {
    return kErrorInvalidAgent;
  }
  if (!Fits(to, size) || !Fits(from, size)) return kErrorInvalidArgument;
  return Submit(size, count, after, completion, [=] { Move(to, from, size); });
}

HSA_API Status hsa_amd_memory_async_copy_on_engine(
    void* to, Agent to_agent, const void* from, Agent from_agent,
    std::size_t size, std::uint32_t count, const Signal* after,
    Signal completion, std::uint32_t, bool) {
  return hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, count,
                                   after, completion);
}

HSA_API Status hsa_amd_memory_copy_engine_status(Agent to, Agent from,
                                                 std::uint32_t* mask) {
  HSA_LIVE(runtime);
  if (mask == nullptr) return kErrorInvalidArgument;
  if (runtime->Find(to) == nullptr || runtime->Find(from) == nullptr) {
    return kErrorInvalidAgent;
  }
  *mask = 3;  // two engines, both free
  return kSuccess;
}

HSA_API Status hsa_amd_memory_async_copy_rect(
    const PitchedPointer* to, const Dim3* to_offset, const PitchedPointer* from,
    const Dim3* from_offset, const Dim3* range, Agent agent, std::uint32_t,
    std::uint32_t count, const Signal* after, Signal completion) {
  HSA_LIVE(runtime);
  if (to == nullptr || from == nullptr || to_offset == nullptr ||
      from_offset == nullptr || range == nullptr) {
    return kErrorInvalidArgument;
  }
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  if (to->base == nullptr || from->base == nullptr ||
      (range->y > 1 && (to->pitch < range->x || from->pitch < range->x))) {
    return kErrorInvalidArgument;
  }
  const PitchedPointer t = *to, f = *from;
  const Dim3 t0 = *to_offset, f0 = *from_offset, n = *range;
  const auto run = [=] {
    for (std::uint32_t z = 0; z < n.z; ++z) {
      for (std::uint32_t y = 0; y < n.y; ++y) {
        Move(At(t, {t0.x, t0.y + y, t0.z + z}),
             At(f, {f0.x, f0.y + y, f0.z + z}), n.x);
      }
    }
  };
  return Submit(std::uint64_t{n.x} * n.y * n.z, count, after, completion, run);
}

HSA_API Status hsa_amd_svm_prefetch_async(void* address, std::size_t size,
                                          Agent handle, std::uint32_t count,
                                          const Signal* after,
                                          Signal completion) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  const Status status = NotePrefetch(address, size, agent);
  if (status != kSuccess) return status;
  return Submit(0, count, after, completion, [] {});
}
