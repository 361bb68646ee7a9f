// Types and numbers of cuBLAS' interface (NVIDIA, cuBLAS documentation; CUDA
// 11 to 13 have the same).
#ifndef CERBERUS_LIBRARIES_CUBLAS_ABI_H_
#define CERBERUS_LIBRARIES_CUBLAS_ABI_H_

#include <complex>
#include <cstdint>

namespace cerberus::libraries::cublas {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kMappingError = 11,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
  kLicenseError = 16,
};

enum Operation : int { kN = 0, kT = 1, kC = 2, kConj = 3 };
enum Fill : int { kLower = 0, kUpper = 1, kFull = 2 };
enum Side : int { kLeft = 0, kRight = 1 };
enum Diag : int { kNonUnit = 0, kUnit = 1 };
enum PointerMode : int { kHostPointers = 0, kDevicePointers = 1 };

// cudaDataType.
enum DataType : int {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kC16F = 6,
  kC8I = 7,
  kR8U = 8,
  kR32I = 10,
  kR16BF = 14,
  kC16BF = 15,
  kR8E4M3 = 28,
  kR8E5M2 = 29,
  kR4E2M1 = 33,
};

// cublasComputeType_t. Before CUDA 11 a data type stood in its place.
enum ComputeType : int {
  k16F = 64,
  k16FPedantic = 65,
  k32F = 68,
  k32FPedantic = 69,
  k64F = 70,
  k64FPedantic = 71,
  k32I = 72,
  k32IPedantic = 73,
  k32FFast16F = 74,
  k32FFast16BF = 75,
  k32FFastTF32 = 77,
  k32FEmulated16BFX9 = 78,
  k64FEmulatedFixedPoint = 79,
};

using Complex32 = std::complex<float>;
using Complex64 = std::complex<double>;
struct Half {
  std::uint16_t bits;
};

struct Context;
using Handle = Context*;

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_ABI_H_
