// What carries packets out (HSA Platform System Architecture 1.2, "User mode
// queuing" and "Architected Queuing Language").
//
// Packets begin in order. One with the barrier bit begins when all before it
// have ended, another one at once; nothing behind a barrier begins before its
// end. So a queue has a thread for each kernel that runs, and one more that
// sees the next packet: a kernel may wait for one behind it. Whichever thread
// is idle takes the next packet; where all have the barrier bit that is the one
// which carried out the last, and no other one wakes.
//
// A packet's place belongs to the processor from when its header has a type
// until the read index is past it and all before it; a kernel may read its own
// packet all that time. The processor looks at a queue when its doorbell rings,
// and now and then, since a doorbell may be rung by a plain write.
#include "emulator/hsa/queue.h"

#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "emulator/hsa/memory.h"
#include "emulator/hsa/runtime.h"
#include "emulator/hsa/signal.h"

HSA_API cerberus::emulator::hsa::Status hsa_agent_get_info(
    cerberus::emulator::hsa::Agent handle,
    cerberus::emulator::hsa::AgentInfo attribute, void* value);

namespace cerberus::emulator::hsa {
namespace {

// Flat addresses of LDS and scratch, as the core has them (AMDGPUUsage,
// "Memory Spaces").
constexpr std::uint32_t kSharedApertureHigh = 1u << 16;
constexpr std::uint32_t kPrivateApertureHigh = 2u << 16;

// As many packets of a queue are carried out at once.
constexpr std::uint32_t kMostAtOnce = 32;

class QueueState {
 public:
  static QueueState* Make(AgentState* agent, std::uint32_t size,
                          std::uint32_t type, QueueCallback callback,
                          void* data);
  ~QueueState();
  Queue* queue() { return &block_->queue; }
  void Ring();
  // No packet begins any more.
  void Stop();

 private:
  QueueState() = default;
  Packet& PacketAt(std::uint64_t index) {
    return ring_[index & (block_->queue.size - 1)];
  }
  void Loop();
  void Sleep(std::unique_lock<std::mutex>& lock, Patience& patience);
  // The following under the lock.
  bool MayBegin();
  std::condition_variable* Begin(bool is_barrier);
  void AddThread();
  std::condition_variable* ToCall();
  void Retire(std::uint64_t index);

  Status Execute(Packet& packet, Times* times);
  Status Dispatch(const DispatchPacket& packet);
  Status WaitForSignals(const BarrierPacket& packet, bool all);
  Status WaitForValue(const BarrierValuePacket& packet);
  void Fail(Status status);
  void TellMemoryFault(const Fault& fault);

  AgentState* agent_ = nullptr;
  QueueBlock* block_ = nullptr;
  Packet* ring_ = nullptr;
  SignalBlock* doorbell_ = nullptr;
  QueueCallback callback_ = nullptr;
  void* data_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_, wake_other_;  // idle threads
  std::vector<std::thread> threads_;
  std::uint32_t idle_ = 0;
  bool called_ = false;        // an idle thread, which has yet to come
  bool looked_at_ = false;     // an idle thread looks now and then
  bool looked_after_ = false;  // a second one does, more rarely
  std::uint64_t next_ = 0;     // the packet that is to begin
  std::uint64_t oldest_ = 0;   // the first that has not ended
  std::uint32_t running_ = 0;
  bool blocked_ = false;     // by a barrier
  std::vector<bool> ended_;  // by place in the ring
  bool failed_ = false;
  std::atomic<bool> stop_{false};
};

struct Table {
  std::mutex mutex;
  std::set<QueueState*> queues;
  std::uint64_t next_id = 0;
};
Table& All() {
  static Table* const table = new Table;
  return *table;
}

// Under the lock of All().
QueueState* FindQueue(const Queue* queue) {
  for (QueueState* q : All().queues) {
    if (q->queue() == queue) return q;
  }
  return nullptr;
}

std::atomic_ref<std::uint64_t> WriteIndex(const Queue* queue) {
  auto* const block = reinterpret_cast<QueueBlock*>(const_cast<Queue*>(queue));
  return std::atomic_ref<std::uint64_t>(block->write_index);
}
std::atomic_ref<std::uint64_t> ReadIndex(const Queue* queue) {
  auto* const block = reinterpret_cast<QueueBlock*>(const_cast<Queue*>(queue));
  return std::atomic_ref<std::uint64_t>(block->read_index);
}

PacketType TypeOf(std::uint16_t header) {
  return static_cast<PacketType>(header & 0xff);
}
constexpr std::uint16_t kBarrierBit = 1 << 8;

QueueState* QueueState::Make(AgentState* agent, std::uint32_t size,
                             std::uint32_t type, QueueCallback callback,
                             void* data) {
  Runtime* const runtime = Runtime::Live();
  auto* const block =
      static_cast<QueueBlock*>(runtime->AllocateShared(sizeof(QueueBlock)));
  auto* const ring =
      static_cast<Packet*>(runtime->AllocateShared(size * sizeof(Packet)));
  SignalBlock* const doorbell = MakeSignal(0);
  if (block == nullptr || ring == nullptr || doorbell == nullptr) {
    return nullptr;
  }
  for (std::uint32_t i = 0; i < size; ++i) ring[i].header = kPacketInvalid;
  auto* const state = new QueueState;
  state->agent_ = agent;
  state->block_ = block;
  state->ring_ = ring;
  state->doorbell_ = doorbell;
  state->callback_ = callback;
  state->data_ = data;
  state->ended_.resize(size);
  doorbell->kind = -1;
  doorbell->queue = reinterpret_cast<std::uint64_t>(state);
  Queue& queue = block->queue;
  queue.type = type;
  queue.features = 1;  // dispatches of kernels
  queue.base = ring;
  queue.doorbell.handle = reinterpret_cast<std::uint64_t>(doorbell);
  queue.size = size;
  block->shared_aperture_high = kSharedApertureHigh;
  block->private_aperture_high = kPrivateApertureHigh;
  block->read_index_offset = offsetof(QueueBlock, read_index);
  std::lock_guard<std::mutex> lock(All().mutex);
  queue.id = All().next_id++;
  All().queues.insert(state);
  std::lock_guard<std::mutex> state_lock(state->mutex_);
  state->AddThread();
  return state;
}

QueueState::~QueueState() {
  std::vector<std::thread> threads;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) {
    // The queue's callback may destroy it.
    if (thread.get_id() == std::this_thread::get_id()) thread.detach();
    else thread.join();
  }
  DropSignal(doorbell_);
  // The block and the ring stay: a late writer must not hit other memory.
}

void QueueState::AddThread() {
  if (!stop_) threads_.emplace_back([this] { Loop(); });
}

void QueueState::Ring() {
  std::condition_variable* idle = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (MayBegin()) idle = ToCall();
  }
  if (idle != nullptr) idle->notify_one();
}

// By what an idle thread is to be called, or null. One at a time: who comes
// looks whether there is work for another one. First the one that looks at the
// queue, which slept last.
std::condition_variable* QueueState::ToCall() {
  if (called_ || idle_ == 0) return nullptr;
  called_ = true;
  return looked_at_ ? &wake_ : &wake_other_;
}

void QueueState::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  wake_other_.notify_all();
  Notify();
}

bool QueueState::MayBegin() {
  if (blocked_ || running_ == kMostAtOnce ||
      next_ - oldest_ == block_->queue.size) {
    return false;
  }
  const std::uint16_t header =
      std::atomic_ref<std::uint16_t>(PacketAt(next_).header)
          .load(std::memory_order_acquire);
  return TypeOf(header) != kPacketInvalid &&
         ((header & kBarrierBit) == 0 || running_ == 0);
}

std::condition_variable* QueueState::Begin(bool is_barrier) {
  ++next_;
  ++running_;
  blocked_ = is_barrier;
  if (blocked_) return nullptr;
  // Somebody has to see what comes while the kernel runs.
  if (idle_ == 0) AddThread();
  return MayBegin() ? ToCall() : nullptr;
}

// The places of packets that have ended are the program's again when all before
// them have, too.
void QueueState::Retire(std::uint64_t index) {
  const std::uint32_t mask = block_->queue.size - 1;
  ended_[index & mask] = true;
  while (oldest_ != next_ && ended_[oldest_ & mask]) {
    ended_[oldest_ & mask] = false;
    std::atomic_ref<std::uint16_t>(PacketAt(oldest_).header)
        .store(kPacketInvalid, std::memory_order_release);
    ++oldest_;
    ReadIndex(queue()).fetch_add(1);
  }
}

void QueueState::Sleep(std::unique_lock<std::mutex>& lock, Patience& patience) {
  ++idle_;
  if (!looked_at_) {
    looked_at_ = true;
    wake_.wait_for(lock, patience.Next());
    looked_at_ = false;
  } else if (!looked_after_) {
    looked_after_ = true;
    wake_other_.wait_for(lock, Patience::kLongest);
    looked_after_ = false;
  } else {
    wake_other_.wait(lock);
  }
  --idle_;
  called_ = false;
}

void QueueState::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  Patience patience;
  while (!stop_) {
    if (!MayBegin()) {
      Sleep(lock, patience);
      continue;
    }
    patience.Reset();
    const std::uint64_t index = next_;
    Packet& packet = PacketAt(index);
    const bool is_barrier = TypeOf(packet.header) != kPacketDispatch;
    std::condition_variable* const other = Begin(is_barrier);
    lock.unlock();
    if (other != nullptr) other->notify_one();
    Times times;
    const Status status = Execute(packet, &times);
    if (status != kSuccess) {
      Fail(status);
      return;  // the callback may have destroyed the queue
    }
    lock.lock();
    if (stop_) return;
    const Signal completion = packet.dispatch.completion;
    Retire(index);
    lock.unlock();
    Complete(completion, times);
    lock.lock();
    if (is_barrier) blocked_ = false;
    --running_;
  }
}

Status QueueState::Execute(Packet& packet, Times* times) {
  times->start = Now();
  Status status = kErrorInvalidPacketFormat;
  // All kinds have it in the same place.
  if (!IsSignal(packet.dispatch.completion)) {
    Report("a packet's completion signal is none");
    return status;
  }
  switch (TypeOf(packet.header)) {
    case kPacketDispatch: status = Dispatch(packet.dispatch); break;
    case kPacketBarrierAnd:
      status = WaitForSignals(packet.barrier, true);
      break;
    case kPacketBarrierOr:
      status = WaitForSignals(packet.barrier, false);
      break;
    case kPacketVendor:
      if (packet.barrier_value.format == kVendorBarrierValue) {
        status = WaitForValue(packet.barrier_value);
      } else {
        Report("a packet of AMD's own with format " +
               std::to_string(packet.barrier_value.format) +
               ", of which only 2 (barrier value) is carried out");
      }
      break;
    default:
      Report("a packet of type " + std::to_string(packet.header & 0xff) +
             " in a GPU's queue");
  }
  times->end = Now();
  return status;
}

Status QueueState::Dispatch(const DispatchPacket& packet) {
  const KernelInfo* const kernel =
      agent_->core->FindKernelAt(packet.kernel_object);
  if (kernel == nullptr) {
    Report("a dispatch names no kernel of a loaded code object");
    return kErrorInvalidCodeObject;
  }
  LaunchConfig config;
  const unsigned dimensions = packet.setup & 3;
  for (unsigned d = 0; d < 3; ++d) {
    const std::uint32_t group = d < dimensions ? packet.group_size[d] : 1;
    const std::uint32_t grid = d < dimensions ? packet.grid_size[d] : 1;
    if (group == 0 || grid == 0) {
      Report("a dispatch of '" + kernel->name + "' has an empty grid or group");
      return kErrorInvalidPacketFormat;
    }
    config.block[d] = group;
    config.remainder[d] = grid % group;
    config.grid[d] = grid / group + (config.remainder[d] != 0 ? 1 : 0);
    // A grid within one group is a smaller group.
    if (grid < group) {
      config.block[d] = grid;
      config.remainder[d] = 0;
    }
  }
  if (packet.group_bytes < kernel->lds_size) {
    Report("a dispatch of '" + kernel->name + "' gives it " +
           std::to_string(packet.group_bytes) + " bytes of LDS, it needs " +
           std::to_string(kernel->lds_size));
    return kErrorInvalidPacketFormat;
  }
  config.dynamic_lds = packet.group_bytes - kernel->lds_size;
  config.private_size = packet.private_bytes;
  config.cooperative = block_->queue.type == kQueueCooperative;
  config.hidden_args_filled = true;
  config.kernarg_address = packet.kernarg;
  config.packet_address = reinterpret_cast<std::uint64_t>(&packet);
  config.queue_address = reinterpret_cast<std::uint64_t>(block_);
  const cerberus::Status done = agent_->core->Launch(*kernel, config);
  if (done) return kSuccess;
  Report(done.error().ToString());
  const Fault* const fault = agent_->core->LastFault();
  if (fault == nullptr) return kErrorInvalidPacketFormat;
  if (!fault->address) return kErrorException;
  TellMemoryFault(*fault);
  return kErrorMemoryFault;
}

// A signal is waited for until it is 0; what is not there counts as 0.
Status QueueState::WaitForSignals(const BarrierPacket& packet, bool all) {
  for (const Signal& s : packet.dependencies) {
    if (IsSignal(s)) continue;
    Report("a barrier waits for a signal that is none");
    return kErrorInvalidPacketFormat;
  }
  const auto done = [&] {
    if (stop_) return true;
    bool any = false, every = true, some = false;
    for (const Signal& s : packet.dependencies) {
      if (s.handle == 0) continue;
      some = true;
      const bool zero = ValueOf(BlockOf(s)).load() == 0;
      any = any || zero;
      every = every && zero;
    }
    return all ? every : any || !some;
  };
  WaitUntil(done, kForever);
  return kSuccess;
}

Status QueueState::WaitForValue(const BarrierValuePacket& packet) {
  if (packet.condition > kGte || !IsSignal(packet.signal)) {
    Report("a barrier waits for a signal or a condition that is none");
    return kErrorInvalidPacketFormat;
  }
  if (packet.signal.handle == 0) return kSuccess;
  SignalBlock* const signal = BlockOf(packet.signal);
  const auto condition = static_cast<Condition>(packet.condition);
  WaitUntil(
      [&] {
        return stop_ || Holds(ValueOf(signal).load() & packet.mask, condition,
                              packet.value);
      },
      kForever);
  return kSuccess;
}

// A queue with an error takes nothing more. Who made it is told; who did not
// want to be told is ended, as by AMD's runtime.
void QueueState::Fail(Status status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_) return;
    failed_ = true;
  }
  Stop();
  Report(std::string("a queue ends with ") + NameOf(status));
  if (callback_ != nullptr) callback_(status, queue(), data_);
}

void QueueState::TellMemoryFault(const Fault& fault) {
  Runtime* const runtime = Runtime::Live();
  if (runtime == nullptr || runtime->event_callback == nullptr) return;
  Event event = {};
  event.type = kMemoryFaultEvent;
  event.memory_fault.agent = agent_->handle();
  event.memory_fault.address = fault.address.value_or(0);
  event.memory_fault.reason = kFaultPageNotPresent;
  runtime->event_callback(&event, runtime->event_data);
}

}  // namespace

void RingDoorbell(SignalBlock* doorbell, SignalValue) {
  auto* const queue = reinterpret_cast<QueueState*>(doorbell->queue);
  std::lock_guard<std::mutex> lock(All().mutex);
  if (All().queues.count(queue) != 0) queue->Ring();
}

}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_queue_create(Agent handle, std::uint32_t size,
                                std::uint32_t type, QueueCallback callback,
                                void* data, std::uint32_t, std::uint32_t,
                                Queue** out) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (out == nullptr || !std::has_single_bit(size) ||
      type > kQueueCooperative) {
    return kErrorInvalidArgument;
  }
  if (!agent->gpu()) return kErrorInvalidQueueCreation;
  std::uint32_t most = 0;
  if (hsa_agent_get_info(handle, kAgentQueueMaxSize, &most) != kSuccess ||
      size > most) {
    return kErrorInvalidQueueCreation;
  }
  agent->core->OnInterrupt(Notify);
  QueueState* const queue = QueueState::Make(agent, size, type, callback, data);
  if (queue == nullptr) return kErrorOutOfResources;
  *out = queue->queue();
  return kSuccess;
}

HSA_API Status hsa_queue_destroy(Queue* queue) {
  HSA_LIVE(runtime);
  if (queue == nullptr) return kErrorInvalidArgument;
  QueueState* state = nullptr;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    state = FindQueue(queue);
    if (state == nullptr) return kErrorInvalidQueue;
    All().queues.erase(state);
  }
  state->Stop();
  delete state;
  return kSuccess;
}

HSA_API Status hsa_queue_inactivate(Queue* queue) {
  HSA_LIVE(runtime);
  if (queue == nullptr) return kErrorInvalidArgument;
  std::lock_guard<std::mutex> lock(All().mutex);
  QueueState* const state = FindQueue(queue);
  if (state == nullptr) return kErrorInvalidQueue;
  state->Stop();
  return kSuccess;
}

// Each operation on an index in all its memory orders, which are one here.
#define HSA_LOAD_INDEX(order)                                                \
  HSA_API std::uint64_t hsa_queue_load_read_index_##order(const Queue* q) {  \
    return ReadIndex(q).load();                                              \
  }                                                                          \
  HSA_API std::uint64_t hsa_queue_load_write_index_##order(const Queue* q) { \
    return WriteIndex(q).load();                                             \
  }
HSA_LOAD_INDEX(relaxed)
HSA_LOAD_INDEX(scacquire)
HSA_LOAD_INDEX(acquire)

#define HSA_STORE_INDEX(order)                                            \
  HSA_API void hsa_queue_store_write_index_##order(const Queue* q,        \
                                                   std::uint64_t value) { \
    WriteIndex(q).store(value);                                           \
  }                                                                       \
  HSA_API void hsa_queue_store_read_index_##order(const Queue* q,         \
                                                  std::uint64_t value) {  \
    ReadIndex(q).store(value);                                            \
  }
HSA_STORE_INDEX(relaxed)
HSA_STORE_INDEX(screlease)
HSA_STORE_INDEX(release)

#define HSA_CHANGE_INDEX(order)                                      \
  HSA_API std::uint64_t hsa_queue_cas_write_index_##order(           \
      const Queue* q, std::uint64_t expected, std::uint64_t value) { \
    WriteIndex(q).compare_exchange_strong(expected, value);          \
    return expected;                                                 \
  }                                                                  \
  HSA_API std::uint64_t hsa_queue_add_write_index_##order(           \
      const Queue* q, std::uint64_t value) {                         \
    return WriteIndex(q).fetch_add(value);                           \
  }
HSA_CHANGE_INDEX(relaxed)
HSA_CHANGE_INDEX(scacquire)
HSA_CHANGE_INDEX(screlease)
HSA_CHANGE_INDEX(scacq_screl)
HSA_CHANGE_INDEX(acquire)
HSA_CHANGE_INDEX(release)
HSA_CHANGE_INDEX(acq_rel)

// The emulated GPU has no compute units to choose from, and no priorities.
HSA_API Status hsa_amd_queue_cu_set_mask(const Queue* queue,
                                         std::uint32_t count,
                                         const std::uint32_t* mask) {
  HSA_LIVE(runtime);
  if (queue == nullptr || count % 32 != 0 || (count != 0 && mask == nullptr)) {
    return kErrorInvalidArgument;
  }
  std::lock_guard<std::mutex> lock(All().mutex);
  return FindQueue(queue) == nullptr ? kErrorInvalidQueue : kSuccess;
}
HSA_API Status hsa_amd_queue_cu_get_mask(const Queue* queue,
                                         std::uint32_t count,
                                         std::uint32_t* mask) {
  HSA_LIVE(runtime);
  if (queue == nullptr || count == 0 || count % 32 != 0 || mask == nullptr) {
    return kErrorInvalidArgument;
  }
  std::memset(mask, 0xff, count / 8);
  return kSuccess;
}
HSA_API Status hsa_amd_queue_set_priority(Queue* queue,
                                          std::uint32_t priority) {
  HSA_LIVE(runtime);
  if (queue == nullptr || priority > 2) return kErrorInvalidArgument;
  std::lock_guard<std::mutex> lock(All().mutex);
  return FindQueue(queue) == nullptr ? kErrorInvalidQueue : kSuccess;
}

// Times are always taken.
HSA_API Status hsa_amd_profiling_set_profiler_enabled(Queue* queue, int) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  return FindQueue(queue) == nullptr ? kErrorInvalidQueue : kSuccess;
}
HSA_API Status hsa_amd_profiling_async_copy_enable(bool) {
  HSA_LIVE(runtime);
  return kSuccess;
}
HSA_API Status hsa_amd_profiling_get_async_copy_time(Signal signal,
                                                     Times* out) {
  HSA_LIVE(runtime);
  if (out == nullptr) return kErrorInvalidArgument;
  if (signal.handle == 0) return kErrorInvalidSignal;
  *out = {BlockOf(signal)->start, BlockOf(signal)->end};
  return kSuccess;
}
HSA_API Status hsa_amd_profiling_get_dispatch_time(Agent agent, Signal signal,
                                                   Times* out) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  return hsa_amd_profiling_get_async_copy_time(signal, out);
}
HSA_API Status hsa_amd_profiling_convert_tick_to_system_domain(
    Agent agent, std::uint64_t tick, std::uint64_t* out) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  if (out == nullptr) return kErrorInvalidArgument;
  *out = tick;
  return kSuccess;
}
