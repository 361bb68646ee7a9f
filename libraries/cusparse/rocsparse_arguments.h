// What rocSPARSE's functions take, of what cuSPARSE's have.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_ARGUMENTS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_ARGUMENTS_H_

#include <atomic>

#include "libraries/common/stream_memory.h"
#include "libraries/cusparse/rocsparse.h"
#include "support/log.h"

namespace cerberus::libraries::cusparse {

inline roc::Operation OperationOf(Operation op) {
  switch (op) {
    case cublas::kN: return roc::Operation::kNone;
    case cublas::kT: return roc::Operation::kTranspose;
    default: return roc::Operation::kConjugate;
  }
}
inline roc::DataType TypeOf(DataType type) {
  switch (type) {
    case cublas::kR32F: return roc::DataType::kF32;
    case cublas::kR64F: return roc::DataType::kF64;
    case cublas::kC32F: return roc::DataType::kF32C;
    case cublas::kC64F: return roc::DataType::kF64C;
    case cublas::kR8I: return roc::DataType::kI8;
    case cublas::kR32I: return roc::DataType::kI32;
    default: return roc::DataType::kInvalid;
  }
}
inline roc::Index IndexOf(const Indices& indices) {
  return indices.type == k64Bit ? roc::Index::k64 : roc::Index::k32;
}
inline roc::Base BaseOf(IndexBase base) {
  return base == kOneBased ? roc::Base::kOne : roc::Base::kZero;
}

// A descriptor of rocSPARSE's, with its scope.
template <typename T>
class Descriptor {
 public:
  explicit Descriptor(roc::Status (*destroy)(T)) : destroy_(destroy) {}
  ~Descriptor() {
    if (object_ != nullptr) destroy_(object_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  // Of a function that makes it.
  template <typename F, typename... A>
  bool Make(F* create, A... arguments) {
    return create(&object_, arguments...) == roc::Status::kSuccess;
  }
  T get() const { return object_; }

 private:
  roc::Status (*const destroy_)(T);
  T object_ = nullptr;
};

using Functions = Rocsparse::Functions;
inline bool Wrap(const Functions& f, const SpMat& m,
                 Descriptor<roc::Matrix>* to) {
  const roc::DataType type = TypeOf(m.type);
  const roc::Base base = BaseOf(m.base);
  if (m.batches != 1 || m.rows == 0 || m.columns == 0 || m.nnz == 0 ||
      type == roc::DataType::kInvalid) {
    return false;
  }
  switch (m.format) {
    case kCsr:
    case kCsc:
      return to->Make(m.format == kCsr ? f.create_csr : f.create_csc, m.rows,
                      m.columns, m.nnz, m.major.array, m.minor.array, m.values,
                      IndexOf(m.major), IndexOf(m.minor), base, type);
    case kCoo:
      return m.major.type == m.minor.type &&
             to->Make(f.create_coo, m.rows, m.columns, m.nnz, m.major.array,
                      m.minor.array, m.values, IndexOf(m.major), base, type);
    default: return false;
  }
}
inline bool Wrap(const Functions& f, const DnVec& v,
                 Descriptor<roc::Vector>* to) {
  const roc::DataType type = TypeOf(v.type);
  return v.size > 0 && type != roc::DataType::kInvalid &&
         to->Make(f.create_vector, v.size, v.values, type);
}
inline bool Wrap(const Functions& f, const DnMat& m,
                 Descriptor<roc::Dense>* to) {
  const roc::DataType type = TypeOf(m.type);
  return m.batches == 1 && m.rows > 0 && m.columns > 0 &&
         type != roc::DataType::kInvalid &&
         to->Make(
             f.create_dense, m.rows, m.columns, m.ld, m.values, type,
             m.order == kByRows ? roc::Order::kRows : roc::Order::kColumns);
}

// False: it did nothing, and the host has to. Else what cuSPARSE says.
inline bool IsTaken(roc::Status status, Status* out) {
  switch (status) {
    case roc::Status::kSuccess: *out = kSuccess; return true;
    case roc::Status::kInternalError:
    case roc::Status::kThrown: *out = kExecutionFailed; return true;
    case roc::Status::kInvalidHandle:
    case roc::Status::kNotInitialized: *out = kInternalError; return true;
    // With reasons of its own, and of arguments that cuSPARSE allows.
    default: return false;
  }
}

// Nothing is multiplied, so that what is not a number counts for nothing;
// rocSPARSE multiplies it with zero.
inline bool IsZero(const Context& context, DataType compute,
                   const void* alpha) {
  return context.pointer_mode == cublas::kHostPointers &&
         cublas::Load(compute, alpha, 0) == Complex64(0);
}

inline bool Said(const char* function, std::atomic<bool>* said, bool taken) {
  if (!taken && !said->exchange(true)) {
    Log(LogLevel::kInfo,
        "cusparse%s: the host computes what rocSPARSE does "
        "not take",
        function);
  }
  return taken;
}

// How much to take for what asks for so many bytes. Never none: by a null
// pointer old versions knew who asks for the size.
inline std::size_t RoomFor(std::size_t bytes) {
  return bytes == 0 ? kBufferBytes : bytes;
}
inline StreamMemory WorkMemory(const Context& context, std::size_t bytes) {
  return {*context.driver, context.stream, RoomFor(bytes)};
}

template <typename F>
bool Rocsparse::WithMemory(const Context& context, const F& call,
                           Status* status) {
  std::size_t bytes = 0;
  if (call(nullptr, &bytes) != roc::Status::kSuccess) return false;
  const StreamMemory memory = WorkMemory(context, bytes);
  return memory.has() && IsTaken(call(memory.get(), nullptr), status);
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_ARGUMENTS_H_
