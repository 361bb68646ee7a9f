#include "libraries/cusparse/products.h"

#include "libraries/cusparse/rocsparse.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;
using cublas::ConjOf;
using cublas::Mul;

// sum += op(A) x.
template <typename T>
void AddProduct(const SpMat& a, Operation op, const T* x, T* sum) {
  const Numbers<T> values = ValuesOf<T>(a);
  if (op == cublas::kN) {
    ForEach(a,
            [&](Index i, Index j, Index p) { sum[i] += Mul(values[p], x[j]); });
  } else {
    const bool conjugated = op == cublas::kC;
    ForEach(a, [&](Index i, Index j, Index p) {
      sum[j] += Mul(conjugated ? ConjOf(values[p]) : values[p], x[i]);
    });
  }
}
// The same for n vectors x side by side, which lie by rows.
template <typename T>
void AddProducts(const SpMat& a, const Numbers<T>& values, Operation op,
                 const T* x, Index n, T* sum) {
  const bool turned = op != cublas::kN, conjugated = op == cublas::kC;
  ForEach(a, [&](Index i, Index j, Index p) {
    if (turned) std::swap(i, j);
    const T v = conjugated ? ConjOf(values[p]) : values[p];
    const T* from = x + j * n;
    T* to = sum + i * n;
    for (Index k = 0; k < n; ++k) to[k] += Mul(v, from[k]);
  });
}

// So many columns at a time: what is converted stays small.
constexpr Index kPanel = 64;

template <typename T>
void Multiply(const SpMat& a, Operation opa, const DnMat& b, Operation opb,
              T alpha, T beta, const DnMat& c) {
  const Numbers<T> values = ValuesOf<T>(a);
  for (Index first = 0; first < c.columns; first += kPanel) {
    const Index n = std::min(kPanel, c.columns - first);
    std::vector<T> sum(Size(c.rows * n), T(0));
    if (alpha != T(0)) {
      const std::vector<T> x = ByRows<T>(b, opb, first, n);
      AddProducts(a, values, opa, x.data(), n, sum.data());
    }
    for (Index i = 0; i < c.rows; ++i) {
      for (Index j = 0; j < n; ++j) {
        const Index place = c.PlaceOf(i, first + j);
        Finish(alpha, sum[Size(i * n + j)], beta, c.type, c.values, place,
               c.values, place);
      }
    }
  }
}

// C := alpha (op(A) op(B)) at C's places + beta C.
template <typename T>
void MultiplySampled(const DnMat& a, Operation opa, const DnMat& b,
                     Operation opb, T alpha, T beta, const SpMat& c) {
  const Index k = opa == cublas::kN ? a.columns : a.rows;
  // op(B)^T has the columns of op(B) as its rows.
  const Operation turned = opb == cublas::kN ? cublas::kT : cublas::kN;
  std::vector<T> left, right;
  if (alpha != T(0)) {
    left = ByRows<T>(a, opa, 0, k);
    right = ByRows<T>(b, turned, 0, k);
    if (opb == cublas::kC) {
      for (T& v : right) v = ConjOf(v);
    }
  }
  ForEach(c, [&](Index i, Index j, Index p) {
    T sum(0);
    for (Index l = 0; l < k && alpha != T(0); ++l) {
      sum += Mul(left[Size(i * k + l)], right[Size(j * k + l)]);
    }
    Finish(alpha, sum, beta, c.type, c.values, p, c.values, p);
  });
}

// One for all, or one for each.
bool AreBatches(int of, int count) { return of == 1 || of == count; }

Status CheckMatrices(Operation opa, Operation opb, const void* alpha,
                     const void* beta, Index rows_a, Index columns_a,
                     Index rows_b, Index columns_b, Index rows_c,
                     Index columns_c) {
  if (!IsOperation(opa) || !IsOperation(opb) || !alpha || !beta) {
    return kInvalidValue;
  }
  if (opa != cublas::kN) std::swap(rows_a, columns_a);
  if (opb != cublas::kN) std::swap(rows_b, columns_b);
  return columns_a == rows_b && rows_a == rows_c && columns_b == columns_c
             ? kSuccess
             : kInvalidValue;
}

Status MultiplySampled(Handle h, Operation opa, Operation opb,
                       const void* alpha, const DnMat& a, const DnMat& b,
                       const void* beta, const SpMat& c, DataType compute) {
  if (const Status bad = CheckMatrices(opa, opb, alpha, beta, a.rows, a.columns,
                                       b.rows, b.columns, c.rows, c.columns)) {
    return bad;
  }
  if (c.format != kCsr && c.format != kBsr) return kNotSupported;
  if (!GoTogether(a.type, b.type, c.type, compute)) return kNotSupported;
  const int count = c.batches;
  if (!AreBatches(a.batches, count) || !AreBatches(b.batches, count)) {
    return kInvalidValue;
  }
  if (Status status = kSuccess;
      h->rocsparse != nullptr &&
      h->rocsparse->MultiplySampled(*h, opa, opb, alpha, a, b, beta, c, compute,
                                    &status)) {
    return status;
  }
  Call call(h);
  const Scalar av = call.In(compute, alpha), bv = call.In(compute, beta);
  const auto pa = Mapped(call.work(), a, count);
  const auto pb = Mapped(call.work(), b, count);
  const SpMat pc =
      Mapped(call.work(), c, {/*structure=*/false, /*values=*/true});
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      for (int i = 0; i < count; ++i) {
        MultiplySampled<T>(pa[Size(i)], opa, pb[Size(i)], opb, As<T>(av.Get()),
                           As<T>(bv.Get()), pc.Batch(i));
      }
    });
  });
}

}  // namespace

bool IsOperation(Operation op) {
  return op == cublas::kN || op == cublas::kT || op == cublas::kC;
}

bool GoTogether(DataType a, DataType b, DataType c, DataType compute) {
  struct Row {
    DataType a, b, c, compute;
  };
  using namespace cublas;
  static constexpr Row kRows[] = {
      {kR32F, kR32F, kR32F, kR32F},     {kR64F, kR64F, kR64F, kR64F},
      {kC32F, kC32F, kC32F, kC32F},     {kC64F, kC64F, kC64F, kC64F},
      {kR8I, kR8I, kR32I, kR32I},       {kR8I, kR8I, kR32F, kR32F},
      {kR16F, kR16F, kR32F, kR32F},     {kR16BF, kR16BF, kR32F, kR32F},
      {kR16F, kR16F, kR16F, kR32F},     {kR16BF, kR16BF, kR16BF, kR32F},
      {kR16F, kR16F, kR16F, kR16F},     {kC16F, kC16F, kC16F, kC32F},
      {kC16BF, kC16BF, kC16BF, kC32F},  {kC16F, kC16F, kC32F, kC32F},
      {kC16BF, kC16BF, kC32F, kC32F},   {kR32F, kC32F, kC32F, kC32F},
      {kR64F, kC64F, kC64F, kC64F},     {kR32F, kR64F, kR64F, kR64F},
      {kR16BF, kR16BF, kR16BF, kR16BF},
  };
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.a == a && row.b == b && row.c == c && row.compute == compute;
  });
}

Status MultiplyVector(Handle h, Operation op, const void* alpha, const SpMat& a,
                      const DnVec& x, const void* beta, const DnVec& y,
                      const DnVec& z, DataType compute) {
  if (!IsOperation(op) || alpha == nullptr || beta == nullptr) {
    return kInvalidValue;
  }
  const bool turned = op != cublas::kN;
  const Index rows = turned ? a.columns : a.rows;
  if (x.size != (turned ? a.rows : a.columns) || y.size != rows ||
      z.size != rows || y.type != z.type) {
    return kInvalidValue;
  }
  if (a.format == kBlockedEll) return kNotSupported;
  if (!GoTogether(a.type, x.type, y.type, compute)) return kNotSupported;
  if (Status status = kSuccess;
      h->rocsparse != nullptr && y.values == z.values &&
      h->rocsparse->MultiplyVector(*h, op, alpha, a, x, beta, y, compute,
                                   &status)) {
    return status;
  }
  Call call(h);
  const Scalar av = call.In(compute, alpha), bv = call.In(compute, beta);
  const SpMat pa = Mapped(call.work(), a);
  const DnVec px = Mapped(call.work(), x), py = Mapped(call.work(), y);
  const DnVec pz = Mapped(call.work(), z, /*written=*/true);
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      const T factor = As<T>(av.Get()), keep = As<T>(bv.Get());
      std::vector<T> sum(Size(rows), T(0));
      if (factor != T(0)) {
        const Numbers<T> in(px.type, px.values, px.size);
        AddProduct(pa, op, &in[0], sum.data());
      }
      for (Index i = 0; i < rows; ++i) {
        Finish(factor, sum[Size(i)], keep, py.type, py.values, i, pz.values, i);
      }
    });
  });
}

Status MultiplyMatrix(Handle h, Operation opa, Operation opb, const void* alpha,
                      const SpMat& a, const DnMat& b, const void* beta,
                      const DnMat& c, DataType compute) {
  if (const Status bad = CheckMatrices(opa, opb, alpha, beta, a.rows, a.columns,
                                       b.rows, b.columns, c.rows, c.columns)) {
    return bad;
  }
  if (!GoTogether(a.type, b.type, c.type, compute)) return kNotSupported;
  const int count = c.batches;
  if (!AreBatches(a.batches, count) || !AreBatches(b.batches, count)) {
    return kInvalidValue;
  }
  if (Status status = kSuccess;
      h->rocsparse != nullptr &&
      h->rocsparse->MultiplyMatrix(*h, opa, opb, alpha, a, b, beta, c, compute,
                                   &status)) {
    return status;
  }
  Call call(h);
  const Scalar av = call.In(compute, alpha), bv = call.In(compute, beta);
  const SpMat pa = Mapped(call.work(), a);
  const auto pb = Mapped(call.work(), b, count);
  const auto pc = Mapped(call.work(), c, count, /*written=*/true);
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      for (int i = 0; i < count; ++i) {
        Multiply<T>(pa.Batch(i), opa, pb[Size(i)], opb, As<T>(av.Get()),
                    As<T>(bv.Get()), pc[Size(i)]);
      }
    });
  });
}

// --- y := alpha op(A) x + beta y
CUSPARSE_API Status cusparseSpMV_bufferSize(Handle h, Operation, const void*,
                                            const SpMat* a, const DnVec* x,
                                            const void*, const DnVec* y,
                                            DataType, int, std::size_t* bytes) {
  return !a || !x || !y ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpMV_preprocess(Handle h, Operation, const void*,
                                            const SpMat* a, const DnVec* x,
                                            const void*, const DnVec* y,
                                            DataType, int, void*) {
  if (!IsAlive(h)) return kNotInitialized;
  return !a || !x || !y ? kInvalidValue : kSuccess;
}
CUSPARSE_API Status cusparseSpMV(Handle h, Operation op, const void* alpha,
                                 const SpMat* a, const DnVec* x,
                                 const void* beta, const DnVec* y,
                                 DataType compute, int, void*) {
  return Guarded(h, [&]() -> Status {
    if (!a || !x || !y) return kInvalidValue;
    return MultiplyVector(h, op, alpha, *a, *x, beta, *y, *y, compute);
  });
}
// Of CUDA 11, where types are told one by one.
CUSPARSE_API Status cusparseCsrmvEx_bufferSize(
    Handle h, int, Operation, int, int, int, const void*, DataType,
    const MatDescr*, const void*, DataType, const int*, const int*, const void*,
    DataType, const void*, DataType, void*, DataType, DataType,
    std::size_t* bytes) {
  return SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseCsrmvEx(
    Handle h, int, Operation op, int m, int n, int nnz, const void* alpha,
    DataType alpha_type, const MatDescr* descr, const void* values,
    DataType a_type, const int* offsets, const int* columns, const void* x,
    DataType x_type, const void* beta, DataType beta_type, void* y,
    DataType y_type, DataType compute, void*) {
  return Guarded(h, [&]() -> Status {
    if (descr == nullptr || m < 0 || n < 0 || nnz < 0) return kInvalidValue;
    if (descr->type != kGeneral) return kMatrixTypeNotSupported;
    if (alpha_type != compute || beta_type != compute) return kNotSupported;
    SpMat a;
    a.type = a_type;
    a.rows = m;
    a.columns = n;
    a.nnz = nnz;
    a.base = descr->base;
    a.major.array = const_cast<int*>(offsets);
    a.minor.array = const_cast<int*>(columns);
    a.values = const_cast<void*>(values);
    const bool turned = op != cublas::kN;
    const DnVec in{turned ? m : n, const_cast<void*>(x), x_type};
    const DnVec out{turned ? n : m, y, y_type};
    return MultiplyVector(h, op, alpha, a, in, beta, out, out, compute);
  });
}

// --- C := alpha op(A) op(B) + beta C
CUSPARSE_API Status cusparseSpMM_bufferSize(Handle h, Operation, Operation,
                                            const void*, const SpMat* a,
                                            const DnMat* b, const void*,
                                            const DnMat* c, DataType, int,
                                            std::size_t* bytes) {
  return !a || !b || !c ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpMM_preprocess(Handle h, Operation, Operation,
                                            const void*, const SpMat* a,
                                            const DnMat* b, const void*,
                                            const DnMat* c, DataType, int,
                                            void*) {
  if (!IsAlive(h)) return kNotInitialized;
  return !a || !b || !c ? kInvalidValue : kSuccess;
}
CUSPARSE_API Status cusparseSpMM(Handle h, Operation opa, Operation opb,
                                 const void* alpha, const SpMat* a,
                                 const DnMat* b, const void* beta,
                                 const DnMat* c, DataType compute, int, void*) {
  return Guarded(h, [&]() -> Status {
    if (!a || !b || !c) return kInvalidValue;
    return MultiplyMatrix(h, opa, opb, alpha, *a, *b, beta, *c, compute);
  });
}

// --- C := alpha (op(A) op(B)) where C has elements + beta C
CUSPARSE_API Status cusparseSDDMM_bufferSize(Handle h, Operation, Operation,
                                             const void*, const DnMat* a,
                                             const DnMat* b, const void*,
                                             const SpMat* c, DataType, int,
                                             std::size_t* bytes) {
  return !a || !b || !c ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSDDMM_preprocess(Handle h, Operation, Operation,
                                             const void*, const DnMat* a,
                                             const DnMat* b, const void*,
                                             const SpMat* c, DataType, int,
                                             void*) {
  if (!IsAlive(h)) return kNotInitialized;
  return !a || !b || !c ? kInvalidValue : kSuccess;
}
CUSPARSE_API Status cusparseSDDMM(Handle h, Operation opa, Operation opb,
                                  const void* alpha, const DnMat* a,
                                  const DnMat* b, const void* beta,
                                  const SpMat* c, DataType compute, int,
                                  void*) {
  return Guarded(h, [&]() -> Status {
    if (!a || !b || !c) return kInvalidValue;
    return MultiplySampled(h, opa, opb, alpha, *a, *b, beta, *c, compute);
  });
}
// Of CUDA 11: its name before.
CUSPARSE_API Status cusparseConstrainedGeMM_bufferSize(
    Handle h, Operation, Operation, const void*, const DnMat* a, const DnMat* b,
    const void*, const SpMat* c, DataType, std::size_t* bytes) {
  return !a || !b || !c ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseConstrainedGeMM(Handle h, Operation opa,
                                            Operation opb, const void* alpha,
                                            const DnMat* a, const DnMat* b,
                                            const void* beta, const SpMat* c,
                                            DataType compute, void*) {
  return cusparseSDDMM(h, opa, opb, alpha, a, b, beta, c, compute, 0, nullptr);
}

}  // namespace cerberus::libraries::cusparse
