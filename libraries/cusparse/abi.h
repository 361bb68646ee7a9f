// Types and numbers of cuSPARSE's interface (NVIDIA, cuSPARSE documentation;
// CUDA 11 to 13 have the same).
#ifndef CERBERUS_LIBRARIES_CUSPARSE_ABI_H_
#define CERBERUS_LIBRARIES_CUSPARSE_ABI_H_

#include <cstdint>

#include "libraries/cublas/abi.h"
#include "libraries/cublas/math.h"

#define CUSPARSE_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cusparse {

// The same numbers as in cuBLAS.
using cublas::Complex32;
using cublas::Complex64;
using cublas::DataType;
using cublas::Diag;
using cublas::Fill;
using cublas::Index;
using cublas::Operation;
using cublas::PointerMode;

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kArchMismatch = 4,
  kMappingError = 5,
  kExecutionFailed = 6,
  kInternalError = 7,
  kMatrixTypeNotSupported = 8,
  kZeroPivot = 9,
  kNotSupported = 10,
  kInsufficientResources = 11,
};

enum Format : int {
  kCsr = 1,
  kCsc = 2,
  kCoo = 3,
  kBlockedEll = 5,
  kBsr = 6,
  kSlicedEll = 7,
  kDense = -1,  // of ours: a dense matrix, all of it
};
enum Order : int { kByColumns = 1, kByRows = 2 };
enum IndexType : int { k32Bit = 2, k64Bit = 3 };
enum IndexBase : int { kZeroBased = 0, kOneBased = 1 };
enum MatrixType : int {
  kGeneral = 0,
  kSymmetric = 1,
  kHermitian = 2,
  kTriangular = 3,
};
// Of the elements in a block.
enum Direction : int { kRowsFirst = 0, kColumnsFirst = 1 };
enum Action : int { kSymbolic = 0, kNumeric = 1 };

struct Context;
using Handle = Context*;

// What the functions before the generic ones know of a matrix.
struct MatDescr {
  MatrixType type = kGeneral;
  Fill fill = cublas::kLower;
  Diag diag = cublas::kNonUnit;
  IndexBase base = kZeroBased;
};

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_ABI_H_
