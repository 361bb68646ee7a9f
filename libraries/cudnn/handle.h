// A handle of cuDNN, and what each exported function goes through.
#ifndef CERBERUS_LIBRARIES_CUDNN_HANDLE_H_
#define CERBERUS_LIBRARIES_CUDNN_HANDLE_H_

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "libraries/common/driver.h"
#include "libraries/common/work.h"
#include "libraries/cudnn/status.h"
#include "libraries/cudnn/tensor.h"
#include "libraries/cudnn/version.h"

#define CUDNN_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cudnn {

// It says of itself that it is one: a handle may have been made by another
// part of cuDNN, which is a library of its own.
struct Context {
  static constexpr std::uint64_t kAlive = 0x63756c6c6e6e6864;
  std::uint64_t alive = kAlive;
  const Driver* driver = nullptr;
  Stream stream = nullptr;
};
inline bool IsAlive(Handle handle) {
  return handle != nullptr && handle->alive == Context::kAlive;
}

// A lack of memory is a call's error.
template <typename F>
Told Tell(const F& call) {
  try {
    return ToldOf(call());
  } catch (const std::bad_alloc&) {
    return ToldOf(kAllocFailed);
  }
}
// The same for a call of a handle.
template <typename F>
Told Tell(Handle handle, const F& call) {
  if (!IsAlive(handle)) return ToldOf(kBadParam);
  return Tell(call);
}

// A descriptor is what its create function makes, until it is destroyed.
template <typename T>
Told Create(T** descriptor) {
  return Tell([&] {
    if (descriptor == nullptr) return kBadParam;
    *descriptor = new T();
    return kSuccess;
  });
}
template <typename T>
Told Destroy(T* descriptor) {
  delete descriptor;
  return ToldOf(kSuccess);
}
// What a getter was given room for.
template <typename T, typename V>
void Put(T* to, V value) {
  if (to != nullptr) *to = static_cast<T>(value);
}

// One call: the tensors it reads and writes, and its work.
class Call {
 public:
  explicit Call(Handle handle) : work_(*handle->driver, handle->stream) {}

  const void* In(const Tensor& tensor, const void* memory) {
    return MapIn(work_, tensor, memory);
  }
  void* Out(const Tensor& tensor, void* memory) {
    return MapInOut(work_, tensor, memory);
  }
  Work& work() { return work_; }
  // What the work needs beside.
  void Keep(std::shared_ptr<const void> kept) { kept_ = std::move(kept); }
  Status Run(std::function<void()> work) {
    return work_.Run([kept = kept_, work = std::move(work)] { work(); },
                     /*wait=*/false)
               ? kSuccess
               : kExecutionFailed;
  }

 private:
  std::shared_ptr<const void> kept_;
  Work work_;
};

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_HANDLE_H_
