// A handle of cuSPARSE, and one call of a function: what it reads and writes,
// and its work in the handle's stream.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_HANDLE_H_
#define CERBERUS_LIBRARIES_CUSPARSE_HANDLE_H_

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "libraries/common/driver.h"
#include "libraries/common/work.h"
#include "libraries/cublas/typed.h"
#include "libraries/cusparse/abi.h"

namespace cerberus::libraries::cusparse {

class Rocsparse;

struct Context {
  const Driver* driver = nullptr;
  // What computes on the GPU; null: nothing, the host does.
  std::shared_ptr<Rocsparse> rocsparse;
  Stream stream = nullptr;
  PointerMode pointer_mode = cublas::kHostPointers;
};

// Whether it was made by cusparseCreate and not destroyed since.
bool IsAlive(Handle handle);

// The call of a handle: a dead one and a lack of memory are its errors.
template <typename F>
Status Guarded(Handle handle, const F& call) {
  if (!IsAlive(handle)) return kNotInitialized;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

// A new object of a program's: a descriptor, an info.
template <typename T>
Status Create(T** object) {
  if (object == nullptr) return kInvalidValue;
  *object = new (std::nothrow) T;
  return *object != nullptr ? kSuccess : kAllocFailed;
}
template <typename T>
Status Destroy(const T* object) {
  delete object;  // null is none
  return kSuccess;
}

// Work needs no memory of the device. A program may tell by a null buffer that
// it only asks for the size, so it is not nothing.
inline constexpr std::size_t kBufferBytes = 256;
template <typename N>
Status SizeOfBuffer(Handle handle, N* bytes) {
  if (!IsAlive(handle)) return kNotInitialized;
  if (bytes == nullptr) return kInvalidValue;
  *bytes = static_cast<N>(kBufferBytes);
  return kSuccess;
}

// A scalar argument: the host's is read when the call is made, the device's
// when the stream comes to it.
class Scalar {
 public:
  Scalar() = default;
  Scalar(DataType type, const void* later) : type_(type), later_(later) {}
  explicit Scalar(Complex64 value) : value_(value) {}
  Complex64 Get() const {
    return later_ != nullptr ? cublas::Load(type_, later_, 0) : value_;
  }

 private:
  DataType type_ = cublas::kR64F;
  const void* later_ = nullptr;
  Complex64 value_ = 0;
};

class Call {
 public:
  explicit Call(Handle handle)
      : handle_(handle), work_(*handle->driver, handle->stream) {}

  Scalar In(DataType type, const void* scalar) {
    if (handle_->pointer_mode == cublas::kHostPointers) {
      return Scalar(cublas::Load(type, scalar, 0));
    }
    return {type, work_.In(scalar, cublas::SizeOf(type))};
  }
  // A result; in host mode the call waits.
  template <typename T>
  T* Out(T* result, std::size_t bytes) {
    if (handle_->pointer_mode == cublas::kDevicePointers) {
      return work_.InOut(result, bytes);
    }
    wait_ = true;
    return result;
  }
  Work& work() { return work_; }
  // What the host is to know when the call returns.
  void Wait() { wait_ = true; }

  Status Run(std::function<void()> work) {
    return work_.Run(std::move(work), wait_) ? kSuccess : kExecutionFailed;
  }

 private:
  const Handle handle_;
  Work work_;
  bool wait_ = false;
};

// What the host must know of device memory before the call can go on: waits
// until the stream has come here.
inline bool Read(Handle handle, const void* device, void* host,
                 std::size_t bytes) {
  const Driver& driver = *handle->driver;
  return (bytes == 0 || driver.copy(reinterpret_cast<std::uint64_t>(host),
                                    reinterpret_cast<std::uint64_t>(device),
                                    bytes, handle->stream) == 0) &&
         driver.synchronize(handle->stream) == 0;
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_HANDLE_H_
