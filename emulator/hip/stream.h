// Streams of the HIP face: in-order queues of host functions, one worker
// thread each, ordered among each other by fences.
//
// Everything that HIP does in stream order (a launch, a copy, an event) is a
// function that a stream runs when its fences are complete. The rules between
// streams are HIP's: each stream runs in submission order; the legacy default
// stream waits for all blocking streams of its device and they wait for it;
// hipStreamWaitEvent adds one more fence.
//
// Nothing else orders streams. But a GPU begins what waits for nothing within
// microseconds, and programs count on it, knowingly or not: a short kernel on
// one stream is done when another stream, to which the host submits several
// things afterwards, reads what it wrote. A thread of ours may get a processor
// much later. So work does not begin before what was submitted earlier and can
// run has begun, and has had a moment to end; not longer, for that may wait for
// what comes later.
#ifndef CERBERUS_EMULATOR_HIP_STREAM_H_
#define CERBERUS_EMULATOR_HIP_STREAM_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "emulator/hip/abi.h"

namespace cerberus::emulator::hip {

struct Gpu;
class Capture;
struct GraphNode;
struct NodeParams;

// One submitted piece of work: waiting, begun or done.
class Fence {
 public:
  // `number`: in the order of the device's submissions.
  explicit Fence(std::uint64_t number = 0) : number_(number) {}
  void Begin();
  void Complete();
  void Wait();
  // Until it is done or began some time ago.
  void WaitForABegin();
  bool done() const { return done_.load(std::memory_order_acquire); }
  std::uint64_t number() const { return number_; }

 private:
  const std::uint64_t number_;
  std::atomic<bool> done_{false};
  std::optional<std::chrono::steady_clock::time_point> begun_;
  std::mutex mutex_;
  std::condition_variable ready_;
};
using FencePtr = std::shared_ptr<Fence>;

// What a stream runs. In a graph the same work runs once per graph launch, so
// `run` owns all it needs.
struct Work {
  enum class Kind {
    kKernel,
    kCopy,
    kSet,
    kHost,
    kEmpty,
    kWaitEvent,
    kEvent,
    kAlloc,
    kFree,
    kSignal,
    kAwait,
    kMemOps
  };
  Kind kind = Kind::kEmpty;
  std::function<void()> run;
  bool also_after_error = false;  // fences, events, status callbacks
  // What the work was made from, for those who ask a graph's node.
  std::shared_ptr<const NodeParams> params;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Type { kLegacy, kBlocking, kNonBlocking };
  static std::shared_ptr<Stream> Create(Gpu* gpu, Type type, unsigned flags,
                                        int priority);
  ~Stream();

  Gpu* gpu() const { return gpu_; }
  Type type() const { return type_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  std::uint64_t id() const { return id_; }
  hipStream_t handle() { return reinterpret_cast<hipStream_t>(this); }

  // Queues work behind everything this stream must wait for, and returns at
  // once. While the stream captures, the work becomes a graph node instead
  // and the fence is null.
  FencePtr Submit(Work work, const std::vector<FencePtr>& after = {});
  // Runs work on the calling thread at its place in the stream's order.
  void RunHere(const std::function<void()>& run);
  // Adds a fence that later work of this stream waits for.
  void WaitFor(FencePtr fence);
  // No more work comes; the worker ends when the queue is empty, and the
  // stream with it.
  void Retire();
  void Synchronize();
  bool Idle();
  // Adds the fence of the last thing submitted, unless it is done. The caller
  // holds Gpu::order.
  void CollectLast(std::vector<FencePtr>* out) const;

  // The capture this stream takes part in, guarded by the capture's own lock.
  std::shared_ptr<Capture> capture;

 private:
  struct Command {
    Work work;
    std::vector<FencePtr> after;
    FencePtr fence;
  };
  Stream(Gpu* gpu, Type type, unsigned flags, int priority);
  // Under the device's order lock: what work submitted now must wait for,
  // and a new fence that is the stream's last from now on.
  FencePtr Enter(std::vector<FencePtr>* after);
  // Waits for all of these, then for earlier work of other streams to begin.
  void WaitForTurn(const Fence& fence, const std::vector<FencePtr>& after);
  // What is next in the stream, if nothing keeps it and it was submitted before
  // `number`.
  FencePtr ReadyBefore(std::uint64_t number);
  void WorkerLoop();

  Gpu* const gpu_;
  const Type type_;
  const unsigned flags_;
  const int priority_;
  const std::uint64_t id_;

  FencePtr last_;                  // guarded by Gpu::order
  std::vector<FencePtr> pending_;  // guarded by Gpu::order: from WaitFor
  std::mutex queue_mutex_;
  std::condition_variable queue_ready_;
  std::deque<Command> queue_;  // the first one stays until it is done
  bool stop_ = false;
  std::thread worker_;  // started by the first Submit
};

// The record of an event that processes share, in a memory file that each has
// mapped: recordings are numbered, and the last one reached is known.
struct SharedRecord {
  std::atomic<std::uint64_t> asked{0}, reached{0};

  std::uint64_t Ask() { return ++asked; }
  void Reach(std::uint64_t number);
  bool Reached(std::uint64_t number) const { return reached >= number; }
};

struct Event {
  ~Event();
  // One recording. Time is taken when the stream reaches it.
  struct Record {
    FencePtr fence;
    std::chrono::steady_clock::time_point time;
  };
  unsigned flags = 0;
  Gpu* gpu = nullptr;
  std::mutex mutex;
  std::shared_ptr<Record> record;  // null: never recorded
  // With hipEventInterprocess instead of `record` (hip/memory/ipc.cc).
  SharedRecord* shared = nullptr;
  int shared_file = -1;  // -1: opened from another process
  // Set instead while the recording stream was capturing.
  std::weak_ptr<Capture> capture;
  std::vector<GraphNode*> captured_nodes;
};

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_STREAM_H_
