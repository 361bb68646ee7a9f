#include "libraries/cusparse/rocsparse.h"

#include <atomic>
#include <string>

#include "libraries/cusparse/rocsparse_arguments.h"
#include "support/log.h"

namespace cerberus::libraries::cusparse {
namespace {

// It tells of a handle alone.
std::string VersionOf(const RocmLibrary& library) {
  roc::Status (*create)(roc::Handle*), (*destroy)(roc::Handle),
      (*tell)(roc::Handle, int*);
  roc::Handle handle = nullptr;
  if (!library.Find("rocsparse_create_handle", &create) ||
      !library.Find("rocsparse_destroy_handle", &destroy) ||
      !library.Find("rocsparse_get_version", &tell) ||
      create(&handle) != roc::Status::kSuccess) {
    return "";
  }
  int version = 0;
  const bool told = tell(handle, &version) == roc::Status::kSuccess;
  destroy(handle);
  return told ? std::to_string(version / 100'000) + "." +
                    std::to_string(version / 100 % 1000) + "." +
                    std::to_string(version % 100)
              : "";
}

const RocmKind& Kind() {
  static const RocmKind kind = {
      "cuSPARSE",
      "rocSPARSE",
      {{5, "librocsparse.so.0"}, {0, "librocsparse.so.1"}},
      &LacksTarget,
      &VersionOf};
  return kind;
}

}  // namespace

Rocsparse::Rocsparse(const Driver& driver, const RocmLibrary& library)
    : handles_(driver, library, "rocsparse_") {
  library.Find("rocsparse_set_pointer_mode", &f_.set_pointer_mode);
  library.Find("rocsparse_create_csr_descr", &f_.create_csr);
  library.Find("rocsparse_create_csc_descr", &f_.create_csc);
  library.Find("rocsparse_create_coo_descr", &f_.create_coo);
  library.Find("rocsparse_destroy_spmat_descr", &f_.destroy_matrix);
  library.Find("rocsparse_create_dnvec_descr", &f_.create_vector);
  library.Find("rocsparse_destroy_dnvec_descr", &f_.destroy_vector);
  library.Find("rocsparse_create_dnmat_descr", &f_.create_dense);
  library.Find("rocsparse_destroy_dnmat_descr", &f_.destroy_dense);
  // Before its major version 3 the function without _ex had no stages; it is
  // librocsparse.so.1 since then.
  const bool is_old =
      library.path().find("librocsparse.so.0") != std::string::npos;
  library.Find(is_old ? "rocsparse_spmv_ex" : "rocsparse_spmv", &f_.spmv);
  library.Find("rocsparse_spmm", &f_.spmm);
  library.Find("rocsparse_sddmm_buffer_size", &f_.sddmm_size);
  library.Find("rocsparse_sddmm", &f_.sddmm);
  library.Find("rocsparse_spmat_set_attribute", &f_.set_attribute);
  library.Find("rocsparse_spmat_set_values", &f_.set_values);
  library.Find("rocsparse_spmat_get_size", &f_.get_size);
  library.Find("rocsparse_spsv", &f_.spsv);
  library.Find("rocsparse_spsm", &f_.spsm);
  library.Find("rocsparse_spgemm", &f_.spgemm);
  library.Find("rocsparse_sparse_to_dense", &f_.to_dense);
  library.Find("rocsparse_dense_to_sparse", &f_.to_sparse);
}

bool Rocsparse::Make(const Driver& driver, std::shared_ptr<Rocsparse>* made) {
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, Kind(), &library)) return false;
  if (library == nullptr) return true;
  std::shared_ptr<Rocsparse> rocsparse(new Rocsparse(driver, *library));
  const Functions& f = rocsparse->f_;
  const bool has_all = f.set_pointer_mode && f.create_csr && f.create_csc &&
                       f.create_coo && f.destroy_matrix && f.create_vector &&
                       f.destroy_vector && f.create_dense && f.destroy_dense &&
                       rocsparse->handles_.Choose(nullptr) != nullptr;
  if (has_all) {
    *made = std::move(rocsparse);
  } else {
    Log(LogLevel::kWarning, "cuSPARSE computes on the host: %s makes no handle",
        library->path().c_str());
  }
  return true;
}

std::string Rocsparse::Describe() { return DescribeProvider(Kind()); }

roc::Handle Rocsparse::Follow(const Context& context) {
  const OfStream* const one = handles_.Choose(context.stream);
  if (one == nullptr ||
      f_.set_pointer_mode(one->handle, context.pointer_mode) !=
          roc::Status::kSuccess) {
    return nullptr;
  }
  return one->handle;
}

bool Rocsparse::MultiplyVector(const Context& context, Operation op,
                               const void* alpha, const SpMat& a,
                               const DnVec& x, const void* beta, const DnVec& y,
                               DataType compute, Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  const roc::Handle handle = f_.spmv != nullptr ? Follow(context) : nullptr;
  Descriptor<roc::Matrix> pa(f_.destroy_matrix);
  Descriptor<roc::Vector> px(f_.destroy_vector), py(f_.destroy_vector);
  const auto call = [&](void* memory, std::size_t* bytes) {
    return f_.spmv(
        handle, OperationOf(op), alpha, pa.get(), px.get(), beta, py.get(),
        TypeOf(compute),
        // In any order of its elements.
        a.format == kCoo ? roc::VectorAlgorithm::kCooAtomic
                         : roc::VectorAlgorithm::kCsrStream,
        bytes != nullptr ? roc::Stage::kBufferSize : roc::Stage::kCompute,
        bytes, memory);
  };
  return Said("SpMV", &said,
              handle != nullptr && !IsZero(context, compute, alpha) &&
                  Wrap(f_, a, &pa) && Wrap(f_, x, &px) && Wrap(f_, y, &py) &&
                  WithMemory(context, call, status));
}

bool Rocsparse::MultiplyMatrix(const Context& context, Operation opa,
                               Operation opb, const void* alpha, const SpMat& a,
                               const DnMat& b, const void* beta, const DnMat& c,
                               DataType compute, Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  const roc::Handle handle = f_.spmm != nullptr ? Follow(context) : nullptr;
  Descriptor<roc::Matrix> pa(f_.destroy_matrix);
  Descriptor<roc::Dense> pb(f_.destroy_dense), pc(f_.destroy_dense);
  const auto call = [&](void* memory, std::size_t* bytes) {
    return f_.spmm(
        handle, OperationOf(opa), OperationOf(opb), alpha, pa.get(), pb.get(),
        beta, pc.get(), TypeOf(compute),
        a.format == kCoo ? roc::MatrixAlgorithm::kCooAtomic
                         : roc::MatrixAlgorithm::kDefault,
        bytes != nullptr ? roc::Stage::kBufferSize : roc::Stage::kCompute,
        bytes, memory);
  };
  return Said("SpMM", &said,
              handle != nullptr && !IsZero(context, compute, alpha) &&
                  Wrap(f_, a, &pa) && Wrap(f_, b, &pb) && Wrap(f_, c, &pc) &&
                  WithMemory(context, call, status));
}

bool Rocsparse::MultiplySampled(const Context& context, Operation opa,
                                Operation opb, const void* alpha,
                                const DnMat& a, const DnMat& b,
                                const void* beta, const SpMat& c,
                                DataType compute, Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  // rocSPARSE 5.7.1 transposes where it ought to conjugate, too.
  const bool conjugates = cublas::IsComplexType(compute) &&
                          (opa == cublas::kC || opb == cublas::kC);
  const bool has =
      f_.sddmm != nullptr && f_.sddmm_size != nullptr && !conjugates;
  const roc::Handle handle = has ? Follow(context) : nullptr;
  Descriptor<roc::Dense> pa(f_.destroy_dense), pb(f_.destroy_dense);
  Descriptor<roc::Matrix> pc(f_.destroy_matrix);
  const auto call = [&](void* memory, std::size_t* bytes) {
    const auto opa_of = OperationOf(opa), opb_of = OperationOf(opb);
    constexpr auto kDefault = roc::SampledAlgorithm::kDefault;
    return bytes != nullptr
               ? f_.sddmm_size(handle, opa_of, opb_of, alpha, pa.get(),
                               pb.get(), beta, pc.get(), TypeOf(compute),
                               kDefault, bytes)
               : f_.sddmm(handle, opa_of, opb_of, alpha, pa.get(), pb.get(),
                          beta, pc.get(), TypeOf(compute), kDefault, memory);
  };
  return Said("SDDMM", &said,
              handle != nullptr && !IsZero(context, compute, alpha) &&
                  Wrap(f_, a, &pa) && Wrap(f_, b, &pb) && Wrap(f_, c, &pc) &&
                  WithMemory(context, call, status));
}

}  // namespace cerberus::libraries::cusparse
