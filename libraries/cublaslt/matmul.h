// D := epilogue(alpha op(A) op(B) + beta C), as cublasLtMatmul has it.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_MATMUL_H_
#define CERBERUS_LIBRARIES_CUBLASLT_MATMUL_H_

#include "libraries/common/driver.h"
#include "libraries/cublaslt/layout.h"

namespace cerberus::libraries::cublaslt {

struct Layouts {
  Layout a, b, c, d;
};

// If it is not told, D's but for these: of 8-bit integers that of alpha
// (cublasLt.h); of products of floats of 8 or 4 bits, unless D's is of 16, C's
// if that is f16, else bfloat16 (the tables of cublasLtMatmul).
inline DataType BiasType(const MatmulDesc& desc, const Layouts& of) {
  if (desc.bias_type >= 0) return static_cast<DataType>(desc.bias_type);
  if (of.d.type == cublas::kR8I) return desc.scale;
  const bool narrow = IsFloat8(of.a.type) || of.a.type == cublas::kR4E2M1;
  if (!narrow || of.d.type == cublas::kR16F || of.d.type == cublas::kR16BF) {
    return of.d.type;
  }
  return of.c.type == cublas::kR16F ? cublas::kR16F : cublas::kR16BF;
}

// Which of cublasLtMatmul's tables of types, orders and epilogues there is.
// kInvalidValue: sizes that do not fit together. kNotSupported: what cannot be
// computed here.
Status CheckMatmul(const MatmulDesc& desc, const Layouts& layouts);

struct Operands {
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  const void* c;
  void* d;

  // Of a transform: whether it is a sum.
  bool HasB() const { return b != nullptr && beta != nullptr; }
};
// kInvalidValue: one that is needed is missing.
Status CheckOperands(const MatmulDesc& desc, const Operands& operands);
Status Matmul(const Driver& driver, Stream stream, const MatmulDesc& desc,
              const Layouts& layouts, const Operands& operands);

// As CheckMatmul and CheckOperands. C := alpha op(A) + beta op(B), C is D here.
Status CheckTransform(const TransformDesc& desc, const Layouts& layouts,
                      const Operands& operands);
Status Transform(const Driver& driver, Stream stream, const TransformDesc& desc,
                 const Layouts& layouts, const Operands& operands);

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_MATMUL_H_
