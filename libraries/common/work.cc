#include "libraries/common/work.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "support/log.h"

namespace cerberus::libraries {
namespace {

constexpr int kCapturing = 1;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
constexpr unsigned kNoDestructorSync = 1;
constexpr unsigned kMove = 1;          // CU_GRAPH_USER_OBJECT_MOVE
constexpr std::size_t kBlock = 65536;  // the least that is pinned

// Pinned memory for copies. Memory of other kinds is copied from when the call
// is made, before the work has written it. It is kept for the next call, since
// the host functions that are done with it must not call the driver.
class PinnedPool {
 public:
  std::shared_ptr<void> Take(const Driver& driver, std::size_t bytes) {
    std::size_t size = kBlock;
    while (size < bytes) size *= 2;
    void* memory = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::vector<void*>& free = free_[size]; !free.empty()) {
        memory = free.back();
        free.pop_back();
      }
    }
    if (memory == nullptr) {
      const RelaxedCapture relaxed(driver);
      if (driver.allocate_host(&memory, size) != 0) throw std::bad_alloc();
    }
    return {memory, [this, size](void* done) {
              const std::lock_guard<std::mutex> lock(mutex_);
              free_[size].push_back(done);
            }};
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;
};
PinnedPool& Pool() {
  static auto& pool = *new PinnedPool;
  return pool;
}

std::size_t BytesOf(std::size_t bytes, std::size_t count, std::size_t stride) {
  return count == 0 ? 0 : (count - 1) * stride + bytes;
}

}  // namespace

Work::Work(const Driver& driver, Stream stream, bool elsewhere)
    : driver_(driver),
      stream_(stream),
      in_place_(elsewhere || driver.shares_memory),
      queued_(new Queued) {}
Work::~Work() = default;

Work::Columns Work::VectorColumns(std::size_t element, std::int64_t n,
                                  std::int64_t step) {
  if (n <= 0) return {0, 0, 0};
  const auto count = static_cast<std::size_t>(n);
  const auto apart = static_cast<std::size_t>(step < 0 ? -step : step);
  if (apart <= 1) return {apart == 0 ? element : element * count, 1, 0};
  return {element, count, element * apart};
}

void* Work::Map(void* pointer, std::size_t bytes, std::size_t count,
                std::size_t stride, bool out) {
  if (pointer == nullptr || in_place_ || bytes == 0 || count == 0) {
    return pointer;
  }
  // The same memory again, as of one that is read and written.
  const auto [place, is_new] = places_.try_emplace(
      {pointer, bytes, count, stride}, queued_->pieces.size());
  if (!is_new) {
    Piece& piece = queued_->pieces[place->second];
    piece.out |= out;
    return piece.host.get();
  }
  Piece piece{
      pointer, Room(BytesOf(bytes, count, stride)), bytes, count, stride, out};
  queued_->pieces.push_back(std::move(piece));
  return queued_->pieces.back().host.get();
}

std::shared_ptr<void> Work::Room(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t taken = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (taken > kBlock) return Pool().Take(driver_, bytes);
  if (block_ == nullptr || used_ + taken > kBlock) {
    block_ = Pool().Take(driver_, kBlock);
    used_ = 0;
  }
  void* const place = static_cast<std::byte*>(block_.get()) + used_;
  used_ += taken;
  return {block_, place};
}

bool Work::Copy(const Piece& piece, bool back) const {
  const auto device = reinterpret_cast<std::uint64_t>(piece.device);
  const auto host = reinterpret_cast<std::uint64_t>(piece.host.get());
  const std::uint64_t from = back ? host : device;
  const std::uint64_t to = back ? device : host;
  if (piece.count == 1 || piece.stride == piece.bytes) {
    return driver_.copy(to, from, piece.bytes * piece.count, stream_) == 0;
  }
  Copy2d copy = {};
  copy.source_kind = copy.target_kind = kUnified;
  copy.source_device = from;
  copy.target_device = to;
  copy.source_pitch = copy.target_pitch = piece.stride;
  copy.width = piece.bytes;
  copy.height = piece.count;
  return driver_.copy_2d(&copy, stream_) == 0;
}

bool Work::ReadNow(void* to, const void* from, std::size_t bytes) const {
  return driver_.copy(reinterpret_cast<std::uint64_t>(to),
                      reinterpret_cast<std::uint64_t>(from), bytes,
                      stream_) == 0 &&
         driver_.synchronize(stream_) == 0;
}

void Work::Queued::Run() {
  try {
    work();
  } catch (const std::bad_alloc&) {
    if (!is_awaited) {
      Log(LogLevel::kError,
          "a library's work on a stream needs more memory than the host has; "
          "the call that queued it has returned: ending the process");
      std::abort();
    }
    lacked_memory = true;
  }
}

bool Work::Run(std::function<void()> work, bool wait) {
  int capturing = 0;
  void* graph = nullptr;
  if (driver_.capture_info(stream_, &capturing, nullptr, &graph, nullptr,
                           nullptr) != 0 ||
      (capturing == kCapturing && wait)) {
    return false;
  }
  queued_->work = std::move(work);
  queued_->is_awaited = wait;
  const auto run = [](void* data) { static_cast<Queued*>(data)->Run(); };
  const auto destroy = [](void* data) { delete static_cast<Queued*>(data); };
  // With nothing to copy back the work itself is the end.
  const bool is_last =
      !wait && capturing != kCapturing &&
      std::none_of(queued_->pieces.begin(), queued_->pieces.end(),
                   [](const Piece& piece) { return piece.out; });
  const auto run_last = [](void* data) {
    const std::unique_ptr<Queued> queued(static_cast<Queued*>(data));
    queued->Run();
  };
  if (!Queue(is_last ? +run_last : +run)) {
    // What is under way already may use the copies.
    driver_.synchronize(stream_);
    return false;
  }
  if (is_last) {
    [[maybe_unused]] const Queued* const given = queued_.release();
    return true;
  }
  if (capturing == kCapturing) {
    // A graph may do it any number of times: it lives as long as the graph and
    // those made of it.
    void* object = nullptr;
    Queued* queued = queued_.release();
    return driver_.make_user_object(&object, queued, destroy, 1,
                                    kNoDestructorSync) == 0 &&
           driver_.graph_retain(graph, object, 1, kMove) == 0;
  }
  if (wait) {
    const bool done = driver_.synchronize(stream_) == 0;
    if (queued_->lacked_memory) throw std::bad_alloc();
    return done;
  }
  return driver_.launch_host(stream_, destroy, queued_.release()) == 0;
}

bool Work::Queue(void (*run)(void*)) {
  for (const Piece& piece : queued_->pieces) {
    if (!Copy(piece, /*back=*/false)) return false;
  }
  const bool comes_back =
      std::any_of(queued_->pieces.begin(), queued_->pieces.end(),
                  [](const Piece& piece) { return piece.out; });
  if (driver_.launch_host(stream_, run, queued_.get()) != 0) return false;
  // It may be over, and what was queued gone.
  if (!comes_back) return true;
  for (const Piece& piece : queued_->pieces) {
    if (piece.out && !Copy(piece, /*back=*/true)) return false;
  }
  return true;
}

}  // namespace cerberus::libraries
