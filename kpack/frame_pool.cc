#include "kpack/frame_pool.h"

#include <fmt/format.h>
#include <zstd.h>

#include <utility>

namespace cerberus::kpack {

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

Compressor::Compressor() = default;
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

// With content size, without checksum or dictionary.
Result<Bytes> Compressor::Compress(ByteSpan bytes, int level) {
  if (context_ == nullptr) context_.reset(ZSTD_createCCtx());
  if (context_ == nullptr) {
    return Err(DiagCode::kInternal, "no memory for zstd");
  }
  Bytes frame(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), frame.data(), frame.size(),
                        bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size)) {
    return Err(DiagCode::kInternal,
               fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  frame.shrink_to_fit();
  return frame;
}

FramePool::FramePool(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

FramePool::~FramePool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

FramePool::Frame FramePool::Compress(Bytes bytes, int level) {
  Task task([bytes = std::move(bytes), level](Compressor& compressor) {
    return compressor.Compress(bytes, level);
  });
  Frame frame = task.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return frame;
}

void FramePool::Work() {
  Compressor compressor;
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (ending_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(compressor);
  }
}

}  // namespace cerberus::kpack
