// A handle of cuBLAS: the stream that its calls work in, and how they are told
// their scalars.
#ifndef CERBERUS_LIBRARIES_CUBLAS_HANDLE_H_
#define CERBERUS_LIBRARIES_CUBLAS_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "libraries/common/driver.h"
#include "libraries/common/work.h"
#include "libraries/cublas/abi.h"

namespace cerberus::libraries::cublas {

class Rocblas;

struct Context {
  const Driver* driver = nullptr;
  // What computes on the GPU; null: nothing, the host does.
  std::shared_ptr<Rocblas> rocblas;
  Stream stream = nullptr;
  PointerMode pointer_mode = kHostPointers;
  int atomics = 0;
  int math_mode = 0;
  int sm_count_target = 0;
  int environment_mode = 0;
  int emulation_strategy = 0;
  int special_values = 0;
  int mantissa_control = 0;
  int max_mantissa_bits = 0;
  int mantissa_offset = 0;
  int* mantissa_pointer = nullptr;
  int xt_block = 2048;
  int xt_pinning = 0;
};

// Whether it was made by cublasCreate and not destroyed since.
bool IsAlive(Handle handle);

// A scalar argument: the host's is read when the call is made, the device's
// when the stream comes to it.
template <typename T>
class Scalar {
 public:
  Scalar() = default;
  explicit Scalar(const T* later) : later_(later) {}
  explicit Scalar(T value) : value_(value) {}
  T Get() const { return later_ ? *later_ : value_; }

 private:
  const T* later_ = nullptr;
  T value_ = {};
};

// Within its scope, the next call of this thread that is found to be in order
// is offered to another before the host computes it.
class Offer {
 public:
  // `take`: bool(Status*), false if it does not take the call.
  template <typename F>
  explicit Offer(const F& take)
      : take_([](const void* f, Status* status) {
          return (*static_cast<const F*>(f))(status);
        }),
        data_(&take) {
    current_ = this;
  }
  ~Offer() { current_ = nullptr; }
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

  bool refused() const { return refused_; }
  // The one of this thread, which is taken away.
  static Offer* Next() { return std::exchange(current_, nullptr); }
  Status Make() {
    Status status = kSuccess;
    refused_ = !take_(data_, &status);
    return status;
  }

 private:
  bool (*take_)(const void*, Status*);
  const void* data_;
  bool refused_ = false;
  inline static thread_local Offer* current_ = nullptr;
};

// One call: what it reads and writes, and its work.
class Call {
 public:
  explicit Call(Handle handle)
      : handle_(handle),
        offer_(Offer::Next()),
        work_(*handle->driver, handle->stream, offer_ != nullptr) {}

  template <typename T>
  Scalar<T> In(const T* scalar) {
    if (handle_->pointer_mode == kHostPointers) return Scalar<T>(*scalar);
    return Scalar<T>(work_.In(scalar, sizeof(T)));
  }
  // A result, or a scalar that is changed; in host mode the call waits.
  template <typename T>
  T* Out(T* scalar) {
    return static_cast<T*>(OutBytes(scalar, sizeof(T)));
  }
  void* OutBytes(void* result, std::size_t bytes) {
    if (handle_->pointer_mode == kDevicePointers) {
      return work_.InOut(result, bytes);
    }
    wait_ = true;
    return result;
  }
  // A vector of n elements, |step| apart; a matrix by columns.
  template <typename T>
  const T* Vector(const T* x, std::int64_t n, std::int64_t step) {
    return work_.Vector(x, n, step);
  }
  template <typename T>
  T* VectorOut(T* x, std::int64_t n, std::int64_t step) {
    return work_.VectorOut(x, n, step);
  }
  template <typename T>
  const T* Matrix(const T* a, std::int64_t rows, std::int64_t columns,
                  std::int64_t ld) {
    return work_.Matrix(a, rows, columns, ld);
  }
  template <typename T>
  T* MatrixOut(T* a, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return work_.MatrixOut(a, rows, columns, ld);
  }
  Work& work() { return work_; }

  Status Run(std::function<void()> work) {
    if (offer_ != nullptr) {
      return wait_ && IsCaptured(*handle_->driver, handle_->stream)
                 ? kExecutionFailed
                 : offer_->Make();
    }
    return work_.Run(std::move(work), wait_) ? kSuccess : kExecutionFailed;
  }

 private:
  const Handle handle_;
  Offer* const offer_;
  Work work_;
  bool wait_ = false;
};

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_HANDLE_H_
