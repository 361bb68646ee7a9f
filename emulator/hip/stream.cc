#include "emulator/hip/stream.h"

#include <algorithm>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

namespace cerberus::emulator::hip {
namespace {

std::uint64_t NextStreamId() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

void AddFence(const FencePtr& fence, std::vector<FencePtr>* to) {
  if (fence && !fence->done()) to->push_back(fence);
}

}  // namespace

void Fence::Begin() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    begun_ = std::chrono::steady_clock::now();
  }
  ready_.notify_all();
}

void Fence::WaitForABegin() {
  // Far more than what a short kernel takes.
  constexpr std::chrono::milliseconds kMoment{5};
  std::unique_lock<std::mutex> lock(mutex_);
  ready_.wait(lock, [this] { return done() || begun_; });
  if (!done()) {
    ready_.wait_until(lock, *begun_ + kMoment, [this] { return done(); });
  }
}

void Fence::Complete() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    done_.store(true, std::memory_order_release);
  }
  ready_.notify_all();
}

void Fence::Wait() {
  if (done()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  ready_.wait(lock, [this] { return done(); });
}

std::shared_ptr<Stream> Stream::Create(Gpu* gpu, Type type, unsigned flags,
                                       int priority) {
  std::shared_ptr<Stream> stream(new Stream(gpu, type, flags, priority));
  if (type != Type::kLegacy) {
    std::lock_guard<std::mutex> lock(gpu->order);
    gpu->streams.insert(stream.get());
  }
  return stream;
}

Stream::Stream(Gpu* gpu, Type type, unsigned flags, int priority)
    : gpu_(gpu),
      type_(type),
      flags_(flags),
      priority_(priority),
      id_(NextStreamId()) {}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(gpu_->order);
    gpu_->streams.erase(this);
  }
  // The worker owns its stream, so it is either never started or the thread
  // that runs this.
  if (worker_.joinable()) worker_.detach();
}

void Stream::Retire() {
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    stop_ = true;
  }
  queue_ready_.notify_all();
}

FencePtr Stream::Enter(std::vector<FencePtr>* after) {
  AddFence(last_, after);
  for (const FencePtr& fence : pending_) AddFence(fence, after);
  pending_.clear();
  if (type_ == Type::kLegacy) {
    for (Stream* other : gpu_->streams) {
      if (other->type_ == Type::kBlocking) AddFence(other->last_, after);
    }
  } else if (type_ == Type::kBlocking && gpu_->legacy) {
    AddFence(gpu_->legacy->last_, after);
  }
  last_ = std::make_shared<Fence>(++gpu_->submitted);
  return last_;
}

FencePtr Stream::ReadyBefore(std::uint64_t number) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  if (queue_.empty() || queue_.front().fence->number() > number) return nullptr;
  const Command& first = queue_.front();
  const bool kept =
      std::any_of(first.after.begin(), first.after.end(),
                  [](const FencePtr& fence) { return !fence->done(); });
  return kept ? nullptr : first.fence;
}

void Stream::WaitForTurn(const Fence& fence,
                         const std::vector<FencePtr>& after) {
  for (const FencePtr& other : after) other->Wait();
  std::vector<FencePtr> earlier;
  {
    std::lock_guard<std::mutex> order(gpu_->order);
    const auto look = [&](Stream* other) {
      if (other == nullptr || other == this) return;
      AddFence(other->ReadyBefore(fence.number()), &earlier);
    };
    look(gpu_->legacy.get());
    for (Stream* other : gpu_->streams) look(other);
  }
  for (const FencePtr& other : earlier) other->WaitForABegin();
}

FencePtr Stream::Submit(Work work, const std::vector<FencePtr>& after) {
  Command command;
  command.work = std::move(work);
  command.after = after;
  FencePtr fence;
  {
    // The queue is filled under the order lock: its order is that of Enter().
    std::lock_guard<std::mutex> order(gpu_->order);
    if (capture) {
      capture->Add(this, std::move(command.work));
      return nullptr;
    }
    fence = command.fence = Enter(&command.after);
    std::lock_guard<std::mutex> lock(queue_mutex_);
    queue_.push_back(std::move(command));
    if (!worker_.joinable()) {
      worker_ =
          std::thread([self = shared_from_this()] { self->WorkerLoop(); });
    }
  }
  queue_ready_.notify_one();
  return fence;
}

void Stream::RunHere(const std::function<void()>& run) {
  std::vector<FencePtr> after;
  FencePtr fence;
  {
    std::lock_guard<std::mutex> order(gpu_->order);
    fence = Enter(&after);
  }
  WaitForTurn(*fence, after);
  if (gpu_->sticky == hipSuccess) run();
  fence->Complete();
}

void Stream::WaitFor(FencePtr fence) {
  std::lock_guard<std::mutex> order(gpu_->order);
  AddFence(fence, &pending_);
}

void Stream::Synchronize() {
  std::vector<FencePtr> after;
  {
    std::lock_guard<std::mutex> order(gpu_->order);
    AddFence(last_, &after);
    for (const FencePtr& fence : pending_) AddFence(fence, &after);
    if (type_ == Type::kLegacy) {
      for (Stream* other : gpu_->streams) {
        if (other->type_ == Type::kBlocking) AddFence(other->last_, &after);
      }
    }
  }
  for (const FencePtr& fence : after) fence->Wait();
}

bool Stream::Idle() {
  std::lock_guard<std::mutex> order(gpu_->order);
  if (last_ && !last_->done()) return false;
  for (const FencePtr& fence : pending_) {
    if (!fence->done()) return false;
  }
  if (type_ == Type::kLegacy) {
    for (Stream* other : gpu_->streams) {
      if (other->type_ == Type::kBlocking && other->last_ &&
          !other->last_->done()) {
        return false;
      }
    }
  }
  return true;
}

void Stream::CollectLast(std::vector<FencePtr>* out) const {
  AddFence(last_, out);
}

void Stream::WorkerLoop() {
  while (true) {
    Command* command = nullptr;
    {
      std::unique_lock<std::mutex> lock(queue_mutex_);
      queue_ready_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      command = &queue_.front();
    }
    const FencePtr fence = command->fence;
    WaitForTurn(*fence, command->after);
    fence->Begin();
    if (command->work.run &&
        (command->work.also_after_error || gpu_->sticky == hipSuccess)) {
      command->work.run();
    }
    // What the work owns must be gone before others see it as done.
    command->work = {};
    {
      std::lock_guard<std::mutex> lock(queue_mutex_);
      queue_.pop_front();
    }
    fence->Complete();
  }
}

void Gpu::Synchronize() {
  std::vector<FencePtr> fences;
  {
    std::lock_guard<std::mutex> lock(order);
    if (legacy) legacy->CollectLast(&fences);
    for (Stream* stream : streams) stream->CollectLast(&fences);
  }
  for (const FencePtr& fence : fences) fence->Wait();
}

}  // namespace cerberus::emulator::hip
