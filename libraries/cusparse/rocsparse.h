// rocSPARSE under a handle of cuSPARSE: products of sparse matrices with dense
// vectors and matrices and with one another, products at the places of a sparse
// matrix, triangular systems, and matrices made dense and sparse.
//
// A call is offered to it once it was found to be in order. What it does not
// take, the host computes: formats and types that it has not, batches, empty
// matrices, memory that it does not get. Descriptors are made for each call.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_H_
#define CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libraries/common/rocm.h"
#include "libraries/common/stream_handles.h"
#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/matrix.h"

namespace cerberus::libraries::cusparse {

// --- rocSPARSE's interface (AMD, rocSPARSE documentation, "Types")
namespace roc {
enum class Status : int {
  kSuccess = 0,
  kInvalidHandle = 1,
  kNotImplemented = 2,
  kInvalidPointer = 3,
  kInvalidSize = 4,
  kMemoryError = 5,
  kInternalError = 6,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kZeroPivot = 9,
  kNotInitialized = 10,
  kTypeMismatch = 11,
  kRequiresSorted = 12,
  kThrown = 13,
};
enum class Operation : int { kNone = 111, kTranspose = 112, kConjugate = 113 };
enum class Index : int { k32 = 2, k64 = 3 };
enum class Base : int { kZero = 0, kOne = 1 };
enum class DataType : int {
  kF32 = 151,
  kF64 = 152,
  kF32C = 154,
  kF64C = 155,
  kI8 = 160,
  kU8 = 161,
  kI32 = 162,
  kInvalid = 255,
};
enum class Order : int { kRows = 0, kColumns = 1 };
enum class VectorAlgorithm : int { kCsrStream = 3, kCooAtomic = 5 };
enum class MatrixAlgorithm : int { kDefault = 0, kCooAtomic = 3 };
enum class SampledAlgorithm : int { kDefault = 0 };
enum class Stage : int { kBufferSize = 1, kCompute = 3 };
enum class SolveStage : int { kBufferSize = 1, kAnalyse = 2, kCompute = 3 };
enum class ProductStage : int {
  kBufferSize = 1,
  kNonzeros = 2,
  kCompute = 3,
  kSymbolic = 4,
  kNumeric = 5,  // by what kSymbolic left in the memory
};
// Of rocSPARSE.
using Handle = struct HandleObject*;
using Matrix = struct MatrixObject*;
using Vector = struct VectorObject*;
using Dense = struct DenseObject*;
}  // namespace roc

// Which of its functions computes one of cuSPARSE's; "" if none does.
constexpr std::string_view RocsparseOf(std::string_view exported) {
  if (exported == "cusparseSpMV" || exported == "cusparseCsrmvEx") {
    return "rocsparse_spmv";
  }
  if (exported == "cusparseSpMM") return "rocsparse_spmm";
  if (exported == "cusparseSDDMM" || exported == "cusparseConstrainedGeMM") {
    return "rocsparse_sddmm";
  }
  if (exported == "cusparseSpSV_analysis" || exported == "cusparseSpSV_solve") {
    return "rocsparse_spsv";
  }
  if (exported == "cusparseSpSM_analysis" || exported == "cusparseSpSM_solve") {
    return "rocsparse_spsm";
  }
  if (exported == "cusparseSpGEMM_compute" ||
      exported == "cusparseSpGEMM_copy" ||
      exported == "cusparseSpGEMMreuse_nnz" ||
      exported == "cusparseSpGEMMreuse_copy" ||
      exported == "cusparseSpGEMMreuse_compute") {
    return "rocsparse_spgemm";
  }
  if (exported == "cusparseSparseToDense") return "rocsparse_sparse_to_dense";
  if (exported == "cusparseDenseToSparse_analysis" ||
      exported == "cusparseDenseToSparse_convert") {
    return "rocsparse_dense_to_sparse";
  }
  return "";
}

struct System;  // solve.h

class Rocsparse {
 public:
  // For the current context's device; null if the host computes. False: the
  // environment insists on rocSPARSE, and it cannot be had.
  static bool Make(const Driver& driver, std::shared_ptr<Rocsparse>* made);

  // Who computes, in words.
  static std::string Describe();

  // As the host's (products.h). False: nothing was done.
  bool MultiplyVector(const Context& context, Operation op, const void* alpha,
                      const SpMat& a, const DnVec& x, const void* beta,
                      const DnVec& y, DataType compute, Status* status);
  bool MultiplyMatrix(const Context& context, Operation opa, Operation opb,
                      const void* alpha, const SpMat& a, const DnMat& b,
                      const void* beta, const DnMat& c, DataType compute,
                      Status* status);
  bool MultiplySampled(const Context& context, Operation opa, Operation opb,
                       const void* alpha, const DnMat& a, const DnMat& b,
                       const void* beta, const SpMat& c, DataType compute,
                       Status* status);

  // A triangle in CSR, for which the stream is waited. Null: the host solves.
  class Triangle;
  std::shared_ptr<Triangle> Analyse(const Context& context, const void* alpha,
                                    const System& system);
  bool Solve(const Context& context, const void* alpha, const System& system,
             Triangle* triangle, Status* status);

  // Of a product of sparse matrices the number of elements alone, all, or
  // offsets and columns alone.
  enum ProductPart { kCount, kWhole, kSymbols };
  bool MultiplySparse(const Context& context, const void* alpha, const SpMat& a,
                      const SpMat& b, const void* beta, const SpMat& c,
                      DataType compute, ProductPart part, Index* nnz,
                      Status* status);
  bool ToDense(const Context& context, const SpMat& a, const DnMat& b,
               Status* status);
  // Counts elements, or does all. Offsets it may write with the others alone.
  bool ToSparse(const Context& context, const DnMat& a, const SpMat& b,
                bool counts, Index* nnz, Status* status);

  // Its functions, of which an old or new version may lack some.
  struct Functions {
    using Size = std::int64_t;
    using S = roc::Status;
    S (*set_pointer_mode)(roc::Handle, int);
    S (*create_csr)(roc::Matrix*, Size, Size, Size, void*, void*, void*,
                    roc::Index, roc::Index, roc::Base, roc::DataType);
    S (*create_csc)(roc::Matrix*, Size, Size, Size, void*, void*, void*,
                    roc::Index, roc::Index, roc::Base, roc::DataType);
    S (*create_coo)(roc::Matrix*, Size, Size, Size, void*, void*, void*,
                    roc::Index, roc::Base, roc::DataType);
    S (*destroy_matrix)(roc::Matrix);
    S (*create_vector)(roc::Vector*, Size, void*, roc::DataType);
    S (*destroy_vector)(roc::Vector);
    S (*create_dense)(roc::Dense*, Size, Size, Size, void*, roc::DataType,
                      roc::Order);
    S (*destroy_dense)(roc::Dense);
    S (*spmv)(roc::Handle, roc::Operation, const void*, roc::Matrix,
              roc::Vector, const void*, roc::Vector, roc::DataType,
              roc::VectorAlgorithm, roc::Stage, std::size_t*, void*);
    S (*spmm)(roc::Handle, roc::Operation, roc::Operation, const void*,
              roc::Matrix, roc::Dense, const void*, roc::Dense, roc::DataType,
              roc::MatrixAlgorithm, roc::Stage, std::size_t*, void*);
    S (*sddmm_size)(roc::Handle, roc::Operation, roc::Operation, const void*,
                    roc::Dense, roc::Dense, const void*, roc::Matrix,
                    roc::DataType, roc::SampledAlgorithm, std::size_t*);
    S (*sddmm)(roc::Handle, roc::Operation, roc::Operation, const void*,
               roc::Dense, roc::Dense, const void*, roc::Matrix, roc::DataType,
               roc::SampledAlgorithm, void*);
    S (*set_attribute)(roc::Matrix, int, const void*, std::size_t);
    S (*set_values)(roc::Matrix, void*);
    S (*get_size)(roc::Matrix, Size*, Size*, Size*);
    S (*spsv)(roc::Handle, roc::Operation, const void*, roc::Matrix,
              roc::Vector, roc::Vector, roc::DataType, int, roc::SolveStage,
              std::size_t*, void*);
    S (*spsm)(roc::Handle, roc::Operation, roc::Operation, const void*,
              roc::Matrix, roc::Dense, roc::Dense, roc::DataType, int,
              roc::SolveStage, std::size_t*, void*);
    S (*spgemm)(roc::Handle, roc::Operation, roc::Operation, const void*,
                roc::Matrix, roc::Matrix, const void*, roc::Matrix, roc::Matrix,
                roc::DataType, int, roc::ProductStage, std::size_t*, void*);
    S (*to_dense)(roc::Handle, roc::Matrix, roc::Dense, int, std::size_t*,
                  void*);
    S (*to_sparse)(roc::Handle, roc::Dense, roc::Matrix, int, std::size_t*,
                   void*);
  };

 private:
  struct OfStream {
    roc::Handle handle = nullptr;
    void* stream = nullptr;
  };
  Rocsparse(const Driver& driver, const RocmLibrary& library);
  // The stream's handle, set to what ours is; null: there is none.
  roc::Handle Follow(const Context& context);
  // Asks for the size by call(null, &size) and then calls call(memory, null).
  template <typename F>
  static bool WithMemory(const Context& context, const F& call, Status* status);

  std::mutex mutex_;
  StreamHandles<OfStream, roc::Status> handles_;
  Functions f_ = {};
  // Triangles that programs have destroyed. Their memory goes when the stream
  // is waited for anyway, since that waits for the device.
  std::vector<std::shared_ptr<Triangle>> retired_;
};

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_ROCSPARSE_H_
