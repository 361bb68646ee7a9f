// Numbers of a type that is told at run time, and products of matrices of such.
#ifndef CERBERUS_LIBRARIES_CUBLAS_TYPED_H_
#define CERBERUS_LIBRARIES_CUBLAS_TYPED_H_

#include <cstddef>
#include <cstdint>

#include "libraries/cublas/abi.h"
#include "libraries/cublas/math.h"

namespace cerberus::libraries::cublas {

// IEEE 754 binary16, bfloat16, and OCP's 8-bit floats: E4M3 without infinities,
// E5M2 with them; OCP's E2M1 of 4 bits, without NaN as well, in the low ones.
// To them it is rounded to nearest, ties to even; what is too large becomes
// infinite, or the largest number for those of 8 and 4 bits, as NVIDIA's
// conversions do, and so does NaN for E2M1.
float FromHalf(std::uint16_t bits);
std::uint16_t ToHalf(float value);
float FromBfloat16(std::uint16_t bits);
std::uint16_t ToBfloat16(float value);
float FromFloat8(DataType type, std::uint8_t bits);
std::uint8_t ToFloat8(DataType type, float value);
float FromFloat4(unsigned bits);
unsigned ToFloat4(float value);
// OCP's E8M0, powers of two: the next one that is not less.
float FromE8M0(std::uint8_t bits);
std::uint8_t ToE8M0(double value);

// Bytes of an element; 0 for a type that is not known, or has no whole ones.
std::size_t SizeOf(DataType type);
// Of so many elements: two of 4 bits share a byte, the first has the low ones.
std::size_t BytesOf(DataType type, std::size_t count);
bool IsComplexType(DataType type);
// Of a complex number's parts.
DataType PartType(DataType complex);
// Of a type that is known. A complex number in a real type loses its imaginary
// part; integers are rounded to nearest and saturate.
Complex64 Load(DataType type, const void* array, Index i);
void Store(DataType type, void* array, Index i, Complex64 value);

// A number as T, and back: a real T takes the real part.
template <typename T>
T As(Complex64 value) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<Real<T>>(value.real()),
             static_cast<Real<T>>(value.imag()));
  } else {
    return static_cast<T>(value.real());
  }
}
template <typename T>
Complex64 Wide(T value) {
  if constexpr (kIsComplex<T>) return {value.real(), value.imag()};
  else return {static_cast<double>(value), 0};
}

// C := alpha op(A) op(B) + beta C for elements of given types.
struct TypedGemm {
  Operation opa, opb;
  Index m, n, k;
  DataType a, b, c;
  Index lda, ldb, ldc;
  ComputeType compute;
};
// By the table of cublasGemmEx: which types go together.
bool IsSupported(const TypedGemm& gemm);
// The type of alpha and beta.
DataType ScaleType(ComputeType compute, DataType c);
// Before CUDA 11 a data type stood for how it is computed.
ComputeType Compute(int told);
// Sums are f32, f64 or, of integers, exact; then they are rounded once. `d`,
// which may be `c`, is where the result goes.
void Multiply(const TypedGemm& gemm, Complex64 alpha, const void* a,
              const void* b, Complex64 beta, const void* c, void* d);

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_TYPED_H_
