// zstd frames, made one by one or by threads. At level 3 they are upstream's,
// byte for byte, with the same zstd, whoever makes them.
#ifndef CERBERUS_KPACK_FRAME_POOL_H_
#define CERBERUS_KPACK_FRAME_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kpack/format.h"
#include "support/bytes.h"
#include "support/result.h"

struct ZSTD_CCtx_s;

namespace cerberus::kpack {

// For one thread at a time. What zstd needs to compress is kept for the next
// frame: to make it anew takes as long as a small one.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  Result<Bytes> Compress(ByteSpan bytes, int level = kZstdLevel);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class FramePool {
 public:
  // One thread for each processor, unless it is said.
  explicit FramePool(unsigned threads = std::thread::hardware_concurrency());
  ~FramePool();  // ends when what was begun is done
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  using Frame = std::future<Result<Bytes>>;
  Frame Compress(Bytes bytes, int level);
  // Of all that use the pool: bytes whose frames nobody has written yet.
  std::atomic<std::uint64_t> pending_bytes = 0;

 private:
  using Task = std::packaged_task<Result<Bytes>(Compressor&)>;
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_FRAME_POOL_H_
