#include "emulator/hsa/signal.h"

#include <algorithm>
#include <deque>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "emulator/hsa/queue.h"
#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {
namespace {

// Signals lie in blocks that are never given back: a kernel that writes to one
// that was destroyed harms none of the program's memory.
std::mutex slab_mutex;
std::vector<SignalBlock*>& FreeSignals() {
  static auto* const free = new std::vector<SignalBlock*>;
  return *free;
}

constexpr std::size_t kSlab = 64 * 1024;
// Where they lie, in order; slabs are only added.
struct Slabs {
  std::shared_mutex mutex;
  std::vector<std::uint64_t> begins;
};
Slabs& AllSlabs() {
  static Slabs* const slabs = new Slabs;
  return *slabs;
}

struct Waiters {
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> count{0};
};
Waiters& All() {
  static Waiters* const waiters = new Waiters;
  return *waiters;
}

}  // namespace

SignalBlock* MakeSignal(SignalValue value) {
  std::lock_guard<std::mutex> lock(slab_mutex);
  std::vector<SignalBlock*>& free = FreeSignals();
  if (free.empty()) {
    auto* const slab =
        static_cast<SignalBlock*>(Runtime::Live()->AllocateShared(kSlab));
    if (slab == nullptr) return nullptr;
    {
      std::unique_lock<std::shared_mutex> lock(AllSlabs().mutex);
      std::vector<std::uint64_t>& begins = AllSlabs().begins;
      const auto at = reinterpret_cast<std::uint64_t>(slab);
      begins.insert(std::upper_bound(begins.begin(), begins.end(), at), at);
    }
    for (std::size_t i = kSlab / sizeof(SignalBlock); i-- > 0;) {
      free.push_back(slab + i);
    }
  }
  SignalBlock* const signal = free.back();
  free.pop_back();
  *signal = {};
  signal->kind = 1;
  // A mailbox makes device code send the interrupt that Notify() stands for;
  // what is written to it is not read.
  signal->mailbox = reinterpret_cast<std::uint64_t>(&signal->reserved2);
  ValueOf(signal).store(value);
  return signal;
}

void DropSignal(SignalBlock* signal) {
  std::lock_guard<std::mutex> lock(slab_mutex);
  signal->kind = 0;
  FreeSignals().push_back(signal);
}

bool IsSignal(Signal signal) {
  if (signal.handle == 0) return true;
  if (signal.handle % sizeof(SignalBlock) != 0) return false;
  std::shared_lock<std::shared_mutex> lock(AllSlabs().mutex);
  const std::vector<std::uint64_t>& begins = AllSlabs().begins;
  const auto behind =
      std::upper_bound(begins.begin(), begins.end(), signal.handle);
  return behind != begins.begin() && signal.handle - *(behind - 1) < kSlab;
}

bool Holds(SignalValue value, Condition condition, SignalValue compare) {
  switch (condition) {
    case kEq: return value == compare;
    case kNe: return value != compare;
    case kLt: return value < compare;
    case kGte: return value >= compare;
  }
  return false;
}

void Notify() {
  Waiters& all = All();
  if (all.count.load() == 0) return;
  {
    std::lock_guard<std::mutex> lock(all.mutex);
  }
  all.wake.notify_all();
}

bool WaitUntil(const std::function<bool()>& done, std::uint64_t deadline) {
  if (done()) return true;
  Waiters& all = All();
  ++all.count;
  bool is_done = false;
  Patience patience;
  {
    std::unique_lock<std::mutex> lock(all.mutex);
    while (!(is_done = done())) {
      const std::uint64_t now = Now();
      if (now >= deadline) break;
      const std::chrono::nanoseconds again = patience.Next();
      all.wake.wait_for(
          lock, std::min<std::uint64_t>(
                    deadline - now, static_cast<std::uint64_t>(again.count())) *
                    std::chrono::nanoseconds(1));
    }
  }
  --all.count;
  return is_done;
}

void Complete(Signal signal, const Times& times) {
  if (signal.handle == 0) return;
  SignalBlock* const block = BlockOf(signal);
  // Packets that run at once may have the same signal.
  std::atomic_ref<std::uint64_t>(block->start).store(times.start);
  std::atomic_ref<std::uint64_t>(block->end).store(times.end);
  ValueOf(block).fetch_sub(1);
  Notify();
}

namespace {

// --- handlers ----------------------------------------------------------------

// One thread waits for all signals that have a handler, as AMD's runtime does:
// a handler may not wait for another one.
class Handlers {
 public:
  static Handlers& Get() {
    static Handlers* const handlers = new Handlers;
    return *handlers;
  }

  void Add(SignalBlock* signal, Condition condition, SignalValue compare,
           SignalHandler handler, void* data) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back({signal, condition, compare, handler, data});
      if (!started_) {
        started_ = true;
        std::thread([this] { Loop(); }).detach();
      }
      ++version_;
    }
    Notify();
  }

 private:
  struct Entry {
    SignalBlock* signal;  // null: a function to be called at once
    Condition condition;
    SignalValue compare;
    SignalHandler handler;
    void* data;
  };

  bool IsReady(const Entry& e) const {
    return e.signal == nullptr ||
           Holds(ValueOf(e.signal).load(), e.condition, e.compare);
  }

  // Takes the first that is ready out of the list.
  bool TakeReady(Entry* out) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (!IsReady(waiting_[i])) continue;
      *out = waiting_[i];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  [[noreturn]] void Loop() {
    while (true) {
      Entry entry;
      WaitUntil([&] { return TakeReady(&entry); }, kForever);
      const SignalValue value =
          entry.signal == nullptr ? 0 : ValueOf(entry.signal).load();
      if (entry.handler(value, entry.data)) {
        std::lock_guard<std::mutex> lock(mutex_);
        waiting_.push_back(entry);
      }
    }
  }

  std::mutex mutex_;
  std::deque<Entry> waiting_;
  bool started_ = false;
  std::uint64_t version_ = 0;
};

struct OneCall {
  void (*callback)(void*);
  void* data;
};

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_amd_signal_create(SignalValue value, std::uint32_t consumers,
                                     const Agent* agents, std::uint64_t,
                                     Signal* out) {
  HSA_LIVE(runtime);
  if (out == nullptr || (consumers != 0 && agents == nullptr)) {
    return kErrorInvalidArgument;
  }
  SignalBlock* const signal = MakeSignal(value);
  if (signal == nullptr) return kErrorOutOfResources;
  out->handle = reinterpret_cast<std::uint64_t>(signal);
  return kSuccess;
}

HSA_API Status hsa_signal_create(SignalValue value, std::uint32_t consumers,
                                 const Agent* agents, Signal* out) {
  return hsa_amd_signal_create(value, consumers, agents, 0, out);
}

HSA_API Status hsa_signal_destroy(Signal signal) {
  HSA_LIVE(runtime);
  if (signal.handle == 0) return kErrorInvalidArgument;
  SignalBlock* const block = BlockOf(signal);
  if (block->kind != 1) return kErrorInvalidSignal;
  DropSignal(block);
  return kSuccess;
}

HSA_API Status hsa_amd_signal_value_pointer(Signal signal,
                                            volatile SignalValue** out) {
  HSA_LIVE(runtime);
  if (out == nullptr || signal.handle == 0) return kErrorInvalidArgument;
  if (BlockOf(signal)->kind != 1) return kErrorInvalidSignal;
  *out = &BlockOf(signal)->value;
  return kSuccess;
}

HSA_API Status hsa_amd_signal_async_handler(Signal signal, Condition condition,
                                            SignalValue compare,
                                            SignalHandler handler, void* data) {
  HSA_LIVE(runtime);
  if (handler == nullptr) return kErrorInvalidArgument;
  if (signal.handle == 0) return kErrorInvalidSignal;
  Handlers::Get().Add(BlockOf(signal), condition, compare, handler, data);
  return kSuccess;
}

HSA_API Status hsa_amd_async_function(void (*callback)(void*), void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  const auto run = [](SignalValue, void* call) {
    const OneCall once = *static_cast<OneCall*>(call);
    delete static_cast<OneCall*>(call);
    once.callback(once.data);
    return false;
  };
  Handlers::Get().Add(nullptr, kEq, 0, run, new OneCall{callback, data});
  return kSuccess;
}

namespace {

// What a store to a signal does: a doorbell has no value of its own.
void StoreSignal(Signal signal, SignalValue value) {
  SignalBlock* const block = BlockOf(signal);
  if (block->kind == -1) {
    RingDoorbell(block, value);
    return;
  }
  ValueOf(block).store(value);
  Notify();
}

SignalValue WaitSignal(Signal signal, Condition condition, SignalValue compare,
                       std::uint64_t timeout, std::uint32_t active) {
  SignalBlock* const block = BlockOf(signal);
  SignalValue value = 0;
  const auto done = [&] {
    value = ValueOf(block).load();
    return Holds(value, condition, compare);
  };
  const std::uint64_t begin = Now();
  const std::uint64_t deadline =
      timeout > kForever - begin ? kForever : begin + timeout;
  // A waiter that asks to stay awake is one that expects to be told soon.
  constexpr std::uint64_t kAwake = 20000;
  while (active != 0 && Now() < std::min(deadline, begin + kAwake)) {
    if (done()) return value;
    std::this_thread::yield();
  }
  WaitUntil(done, deadline);
  return value;
}

}  // namespace

// Each operation in all its memory orders, which are one here: the strongest.
#define HSA_LOADS(order)                                       \
  HSA_API SignalValue hsa_signal_load_##order(Signal signal) { \
    return ValueOf(BlockOf(signal)).load();                    \
  }
HSA_LOADS(relaxed)
HSA_LOADS(scacquire)
HSA_LOADS(acquire)

#define HSA_STORES(name)                                             \
  HSA_API void hsa_signal_##name(Signal signal, SignalValue value) { \
    StoreSignal(signal, value);                                      \
  }
HSA_STORES(store_relaxed)
HSA_STORES(store_screlease)
HSA_STORES(store_release)

// Silent: nobody is woken by it.
#define HSA_SILENT_STORES(order)                                    \
  HSA_API void hsa_signal_silent_store_##order(Signal signal,       \
                                               SignalValue value) { \
    ValueOf(BlockOf(signal)).store(value);                          \
  }
HSA_SILENT_STORES(relaxed)
HSA_SILENT_STORES(screlease)

#define HSA_EXCHANGES(order)                                           \
  HSA_API SignalValue hsa_signal_exchange_##order(Signal signal,       \
                                                  SignalValue value) { \
    const SignalValue old = ValueOf(BlockOf(signal)).exchange(value);  \
    Notify();                                                          \
    return old;                                                        \
  }                                                                    \
  HSA_API SignalValue hsa_signal_cas_##order(                          \
      Signal signal, SignalValue expected, SignalValue value) {        \
    ValueOf(BlockOf(signal)).compare_exchange_strong(expected, value); \
    Notify();                                                          \
    return expected;                                                   \
  }
#define HSA_UPDATES(name, fetch, order)                                        \
  HSA_API void hsa_signal_##name##_##order(Signal signal, SignalValue value) { \
    ValueOf(BlockOf(signal)).fetch(value);                                     \
    Notify();                                                                  \
  }
#define HSA_ORDERED(order)                \
  HSA_EXCHANGES(order)                    \
  HSA_UPDATES(add, fetch_add, order)      \
  HSA_UPDATES(subtract, fetch_sub, order) \
  HSA_UPDATES(and, fetch_and, order)      \
  HSA_UPDATES(or, fetch_or, order)        \
  HSA_UPDATES(xor, fetch_xor, order)
HSA_ORDERED(relaxed)
HSA_ORDERED(scacquire)
HSA_ORDERED(screlease)
HSA_ORDERED(scacq_screl)
HSA_ORDERED(acquire)
HSA_ORDERED(release)
HSA_ORDERED(acq_rel)

#define HSA_WAITS(order)                                            \
  HSA_API SignalValue hsa_signal_wait_##order(                      \
      Signal signal, Condition condition, SignalValue compare,      \
      std::uint64_t timeout, std::uint32_t active) {                \
    return WaitSignal(signal, condition, compare, timeout, active); \
  }
HSA_WAITS(relaxed)
HSA_WAITS(scacquire)
HSA_WAITS(acquire)

HSA_API std::uint32_t hsa_amd_signal_wait_any(
    std::uint32_t count, Signal* signals, Condition* conditions,
    SignalValue* compares, std::uint64_t timeout, std::uint32_t,
    SignalValue* value) {
  if (count == 0) return kForever & 0xffffffff;
  std::uint32_t found = 0xffffffff;
  const auto done = [&] {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (signals[i].handle == 0) continue;
      const SignalValue v = ValueOf(BlockOf(signals[i])).load();
      if (!Holds(v, conditions[i], compares[i])) continue;
      found = i;
      if (value != nullptr) *value = v;
      return true;
    }
    return false;
  };
  const std::uint64_t begin = Now();
  WaitUntil(done, timeout > kForever - begin ? kForever : begin + timeout);
  return found;
}
