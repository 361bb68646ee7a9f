// Calls that are told the types of their arguments when they are made.
//
// A combination that NVIDIA's table of the call lacks is
// CUBLAS_STATUS_NOT_SUPPORTED. Vectors are computed in double precision and
// rounded once; `execution` says no more than whether the call is one of the
// table's.
#ifndef CERBERUS_LIBRARIES_CUBLAS_EX_H_
#define CERBERUS_LIBRARIES_CUBLAS_EX_H_

#include <vector>

#include "libraries/cublas/batched.h"
#include "libraries/cublas/level1.h"
#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cublas {

// A scalar of a type told at run time.
class TypedScalar {
 public:
  TypedScalar(Handle h, Call& call, const void* scalar, DataType type)
      : type_(type) {
    if (h->pointer_mode == kHostPointers) {
      value_ = Load(type, scalar, 0);
    } else {
      later_ = call.work().In(scalar, SizeOf(type));
    }
  }
  Complex64 Get() const { return later_ ? Load(type_, later_, 0) : value_; }

 private:
  DataType type_;
  Complex64 value_ = 0;
  const void* later_ = nullptr;
};

inline bool IsFloat(DataType type) {
  return type == kR16F || type == kR16BF || type == kR32F || type == kR64F ||
         type == kC32F || type == kC64F;
}
// The type that a vector of x's type is computed in: f32 for halves.
inline bool Executes(DataType x, DataType execution) {
  if (!IsFloat(x)) return false;
  return execution == (x == kR16F || x == kR16BF ? kR32F : x);
}

// A vector as doubles, and back.
inline std::vector<Complex64> Read(DataType type, const void* x, Index n,
                                   Index step) {
  std::vector<Complex64> out(static_cast<std::size_t>(n < 0 ? 0 : n));
  for (Index i = 0; i < n; ++i) {
    out[static_cast<std::size_t>(i)] = Load(type, x, At(i, n, step));
  }
  return out;
}
inline void Write(const std::vector<Complex64>& from, DataType type, void* x,
                  Index step) {
  const auto n = static_cast<Index>(from.size());
  for (Index i = 0; i < n; ++i) {
    Store(type, x, At(i, n, step), from[static_cast<std::size_t>(i)]);
  }
}

template <typename I>
Status AxpyEx(Handle h, I n, const void* alpha, DataType alpha_type,
              const void* x, DataType x_type, I incx, void* y, DataType y_type,
              I incy, DataType execution) {
  if (!Executes(x_type, execution) || x_type != y_type) return kNotSupported;
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0) return kSuccess;
  Call call(h);
  const TypedScalar a(h, call, alpha, alpha_type);
  const void* px = call.work().InVector(x, SizeOf(x_type), n, incx);
  void* py = call.work().InOutVector(y, SizeOf(y_type), n, incy);
  return call.Run([=] {
    const Complex64 v = a.Get();
    if (v == Complex64(0)) return;
    for (Index i = 0; i < n; ++i) {
      const Index at = At(i, n, incy);
      Store(y_type, py, at,
            Load(y_type, py, at) + Mul(v, Load(x_type, px, At(i, n, incx))));
    }
  });
}

template <typename I>
Status ScalEx(Handle h, I n, const void* alpha, DataType alpha_type, void* x,
              DataType x_type, I incx, DataType execution) {
  if (!Executes(x_type, execution)) return kNotSupported;
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0 || incx <= 0) return kSuccess;
  Call call(h);
  const TypedScalar a(h, call, alpha, alpha_type);
  void* px = call.work().InOutVector(x, SizeOf(x_type), n, incx);
  return call.Run([=] {
    const Complex64 v = a.Get();
    for (Index i = 0; i < n; ++i) {
      Store(x_type, px, i * incx, Mul(v, Load(x_type, px, i * incx)));
    }
  });
}

template <bool kConjugated, typename I>
Status DotEx(Handle h, I n, const void* x, DataType x_type, I incx,
             const void* y, DataType y_type, I incy, void* result,
             DataType result_type, DataType execution) {
  if (!Executes(x_type, execution) || x_type != y_type ||
      x_type != result_type) {
    return kNotSupported;
  }
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const void* px = call.work().InVector(x, SizeOf(x_type), n, incx);
  const void* py = call.work().InVector(y, SizeOf(y_type), n, incy);
  void* to = call.OutBytes(result, SizeOf(result_type));
  return call.Run([=] {
    Complex64 sum = 0;
    for (Index i = 0; i < n; ++i) {
      const Complex64 v = Load(x_type, px, At(i, n, incx));
      sum += Mul(kConjugated ? ConjOf(v) : v, Load(y_type, py, At(i, n, incy)));
    }
    Store(result_type, to, 0, sum);
  });
}

// The type of a norm or of a sum of absolute values.
inline DataType RealType(DataType type) {
  return type == kC32F ? kR32F : type == kC64F ? kR64F : type;
}
template <bool kNorm, typename I>
Status NormEx(Handle h, I n, const void* x, DataType x_type, I incx,
              void* result, DataType result_type, DataType execution) {
  if (!IsFloat(x_type) || result_type != RealType(x_type) ||
      !(Executes(x_type, execution) || Executes(RealType(x_type), execution))) {
    return kNotSupported;
  }
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const void* px = call.work().InVector(x, SizeOf(x_type), n, incx);
  void* to = call.OutBytes(result, SizeOf(result_type));
  return call.Run([=] {
    double value = 0;
    if (n > 0 && incx > 0) {
      const std::vector<Complex64> v = Read(x_type, px, n, incx);
      if (kNorm) {
        value = Norm<Complex64>(n, v.data(), 1);
      } else {
        for (const Complex64 e : v) value += AbsSum(e);
      }
    }
    Store(result_type, to, 0, value);
  });
}

template <bool kLargest, typename I>
Status IamaxEx(Handle h, I n, const void* x, DataType x_type, I incx,
               I* result) {
  if (!IsFloat(x_type)) return kNotSupported;
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const void* px = call.work().InVector(x, SizeOf(x_type), n, incx);
  I* to = call.Out(result);
  return call.Run([=] {
    Index best = n > 0 && incx > 0 ? 1 : 0;
    for (Index i = 1; i < n && incx > 0; ++i) {
      const double v = AbsSum(Load(x_type, px, i * incx));
      const double before = AbsSum(Load(x_type, px, (best - 1) * incx));
      if (kLargest ? v > before : v < before) best = i + 1;
    }
    *to = static_cast<I>(best);
  });
}

template <typename I>
Status CopyEx(Handle h, I n, const void* x, DataType x_type, I incx, void* y,
              DataType y_type, I incy) {
  if (x_type != y_type || SizeOf(x_type) == 0) return kNotSupported;
  if (n <= 0) return kSuccess;
  Call call(h);
  const void* px = call.work().InVector(x, SizeOf(x_type), n, incx);
  void* py = call.work().InOutVector(y, SizeOf(y_type), n, incy);
  return call.Run([=] { Write(Read(x_type, px, n, incx), y_type, py, incy); });
}
template <typename I>
Status SwapEx(Handle h, I n, void* x, DataType x_type, I incx, void* y,
              DataType y_type, I incy) {
  if (x_type != y_type || SizeOf(x_type) == 0) return kNotSupported;
  if (n <= 0) return kSuccess;
  Call call(h);
  void* px = call.work().InOutVector(x, SizeOf(x_type), n, incx);
  void* py = call.work().InOutVector(y, SizeOf(y_type), n, incy);
  return call.Run([=] {
    const std::vector<Complex64> v = Read(x_type, px, n, incx);
    Write(Read(y_type, py, n, incy), x_type, px, incx);
    Write(v, y_type, py, incy);
  });
}

template <typename I>
Status RotEx(Handle h, I n, void* x, DataType x_type, I incx, void* y,
             DataType y_type, I incy, const void* c, const void* s,
             DataType cs_type, DataType execution) {
  if (!Executes(x_type, execution) || x_type != y_type) return kNotSupported;
  if (!c || !s) return kInvalidValue;
  if (n <= 0) return kSuccess;
  Call call(h);
  // The cosine is real in any case.
  const TypedScalar cosine(h, call, c, RealType(cs_type));
  const TypedScalar sine(h, call, s, cs_type);
  void* px = call.work().InOutVector(x, SizeOf(x_type), n, incx);
  void* py = call.work().InOutVector(y, SizeOf(y_type), n, incy);
  return call.Run([=] {
    const Complex64 cv = cosine.Get(), sv = sine.Get();
    for (Index i = 0; i < n; ++i) {
      const Index ix = At(i, n, incx), iy = At(i, n, incy);
      const Complex64 a = Load(x_type, px, ix), b = Load(y_type, py, iy);
      Store(x_type, px, ix, Mul(cv, a) + Mul(sv, b));
      Store(y_type, py, iy, Mul(cv, b) - Mul(ConjOf(sv), a));
    }
  });
}

// Those whose types are all of one kind are the typed calls.
inline Status RotgEx(Handle h, void* a, void* b, DataType type, void* c,
                     void* s, DataType, DataType) {
  switch (type) {
    case kR32F:
      return Rotg(h, static_cast<float*>(a), static_cast<float*>(b),
                  static_cast<float*>(c), static_cast<float*>(s));
    case kR64F:
      return Rotg(h, static_cast<double*>(a), static_cast<double*>(b),
                  static_cast<double*>(c), static_cast<double*>(s));
    case kC32F:
      return Rotg(h, static_cast<Complex32*>(a), static_cast<Complex32*>(b),
                  static_cast<float*>(c), static_cast<Complex32*>(s));
    case kC64F:
      return Rotg(h, static_cast<Complex64*>(a), static_cast<Complex64*>(b),
                  static_cast<double*>(c), static_cast<Complex64*>(s));
    default: return kNotSupported;
  }
}
template <typename I>
Status RotmEx(Handle h, I n, void* x, DataType x_type, I incx, void* y,
              DataType y_type, I incy, const void* param, DataType, DataType) {
  if (x_type == kR32F && y_type == kR32F) {
    return Rotm(h, n, static_cast<float*>(x), incx, static_cast<float*>(y),
                incy, static_cast<const float*>(param));
  }
  if (x_type == kR64F && y_type == kR64F) {
    return Rotm(h, n, static_cast<double*>(x), incx, static_cast<double*>(y),
                incy, static_cast<const double*>(param));
  }
  return kNotSupported;
}
inline Status RotmgEx(Handle h, void* d1, DataType type, void* d2, DataType,
                      void* x1, DataType, const void* y1, DataType, void* param,
                      DataType, DataType) {
  if (type == kR32F) {
    return Rotmg(h, static_cast<float*>(d1), static_cast<float*>(d2),
                 static_cast<float*>(x1), static_cast<const float*>(y1),
                 static_cast<float*>(param));
  }
  if (type == kR64F) {
    return Rotmg(h, static_cast<double*>(d1), static_cast<double*>(d2),
                 static_cast<double*>(x1), static_cast<const double*>(y1),
                 static_cast<double*>(param));
  }
  return kNotSupported;
}

// Checks what all typed products have in common.
template <typename I>
Status CheckTyped(Operation opa, Operation opb, I m, I n, I k, I lda, I ldb,
                  I ldc, const void* alpha, const void* beta, DataType a,
                  DataType b, DataType c, ComputeType compute,
                  TypedGemm* gemm) {
  if (const Status bad = CheckGemm(opa, opb, m, n, k, lda, ldb, ldc)) {
    return bad;
  }
  if (!alpha || !beta) return kInvalidValue;
  *gemm = {opa, opb, m, n, k, a, b, c, lda, ldb, ldc, compute};
  return IsSupported(*gemm) ? kSuccess : kNotSupported;
}

template <typename I>
Status GemmStridedBatchedEx(Handle h, Operation opa, Operation opb, I m, I n,
                            I k, const void* alpha, const void* a, DataType ta,
                            I lda, long long step_a, const void* b, DataType tb,
                            I ldb, long long step_b, const void* beta, void* c,
                            DataType tc, I ldc, long long step_c, I count,
                            int compute, int) {
  TypedGemm gemm;
  if (const Status bad =
          CheckTyped(opa, opb, m, n, k, lda, ldb, ldc, alpha, beta, ta, tb, tc,
                     Compute(compute), &gemm)) {
    return bad;
  }
  if (count < 0) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const DataType scale = ScaleType(gemm.compute, tc);
  const TypedScalar av(h, call, alpha, scale), bv(h, call, beta, scale);
  using Bytes = const std::byte;
  const auto step = [](long long elements, DataType type) {
    return elements * static_cast<Index>(SizeOf(type));
  };
  const Strided<Bytes> pa(
      static_cast<Bytes*>(a), step(step_a, ta), count, [&](Bytes* p) {
        return call.work().InMatrix(p, SizeOf(ta), Rows(opa, m, k),
                                    Columns(opa, m, k), lda);
      });
  const Strided<Bytes> pb(
      static_cast<Bytes*>(b), step(step_b, tb), count, [&](Bytes* p) {
        return call.work().InMatrix(p, SizeOf(tb), Rows(opb, k, n),
                                    Columns(opb, k, n), ldb);
      });
  const Strided<std::byte> pc(
      static_cast<std::byte*>(c), step(step_c, tc), count, [&](std::byte* p) {
        return call.work().InOutMatrix(p, SizeOf(tc), m, n, ldc);
      });
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Multiply(gemm, av.Get(), pa[i], pb[i], bv.Get(), pc[i], pc[i]);
    }
  });
}
template <typename I>
Status GemmEx(Handle h, Operation opa, Operation opb, I m, I n, I k,
              const void* alpha, const void* a, DataType ta, I lda,
              const void* b, DataType tb, I ldb, const void* beta, void* c,
              DataType tc, I ldc, int compute, int algorithm) {
  return GemmStridedBatchedEx<I>(h, opa, opb, m, n, k, alpha, a, ta, lda, 0, b,
                                 tb, ldb, 0, beta, c, tc, ldc, 0, I{1}, compute,
                                 algorithm);
}
template <typename I>
Status GemmBatchedEx(Handle h, Operation opa, Operation opb, I m, I n, I k,
                     const void* alpha, const void* const* a, DataType ta,
                     I lda, const void* const* b, DataType tb, I ldb,
                     const void* beta, void* const* c, DataType tc, I ldc,
                     I count, int compute, int) {
  TypedGemm gemm;
  if (const Status bad =
          CheckTyped(opa, opb, m, n, k, lda, ldb, ldc, alpha, beta, ta, tb, tc,
                     Compute(compute), &gemm)) {
    return bad;
  }
  if (count < 0) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const DataType scale = ScaleType(gemm.compute, tc);
  const TypedScalar av(h, call, alpha, scale), bv(h, call, beta, scale);
  const Pointers<const void> pa(
      call.work(), a, count, [&](const void* p, Index) {
        return call.work().InMatrix(p, SizeOf(ta), Rows(opa, m, k),
                                    Columns(opa, m, k), lda);
      });
  const Pointers<const void> pb(
      call.work(), b, count, [&](const void* p, Index) {
        return call.work().InMatrix(p, SizeOf(tb), Rows(opb, k, n),
                                    Columns(opb, k, n), ldb);
      });
  const Pointers<void> pc(call.work(), c, count, [&](void* p, Index) {
    return call.work().InOutMatrix(p, SizeOf(tc), m, n, ldc);
  });
  if (pa.failed() || pb.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Multiply(gemm, av.Get(), pa[i], pb[i], bv.Get(), pc[i], pc[i]);
    }
  });
}
template <typename I>
Status GemmGroupedEx(Handle h, const Operation* opa, const Operation* opb,
                     const I* m, const I* n, const I* k, const void* alpha,
                     const void* const* a, DataType ta, const I* lda,
                     const void* const* b, DataType tb, const I* ldb,
                     const void* beta, void* const* c, DataType tc,
                     const I* ldc, I groups, const I* sizes, int compute) {
  if (groups < 0) return kInvalidValue;
  // Before any group is under way.
  for (I g = 0; g < groups; ++g) {
    if (const Status bad = CheckGemm(opa[g], opb[g], m[g], n[g], k[g], lda[g],
                                     ldb[g], ldc[g])) {
      return bad;
    }
  }
  const std::size_t scalar = SizeOf(ScaleType(Compute(compute), tc));
  Context of_group = *h;
  of_group.pointer_mode = kHostPointers;
  for (I g = 0; g < groups; ++g) {
    const auto at = [&](const void* scalars) {
      return static_cast<const std::byte*>(scalars) +
             scalar * static_cast<std::size_t>(g);
    };
    if (const Status status =
            GemmBatchedEx<I>(&of_group, opa[g], opb[g], m[g], n[g], k[g],
                             at(alpha), a, ta, lda[g], b, tb, ldb[g], at(beta),
                             c, tc, ldc[g], sizes[g], compute, 0)) {
      return status;
    }
    a += sizes[g], b += sizes[g], c += sizes[g];
  }
  return kSuccess;
}

// cublasSgemmEx, cublasCgemmEx: alpha and beta are float or complex.
template <typename S, typename I>
Status ScalarGemmEx(Handle h, Operation opa, Operation opb, I m, I n, I k,
                    const S* alpha, const void* a, DataType ta, I lda,
                    const void* b, DataType tb, I ldb, const S* beta, void* c,
                    DataType tc, I ldc) {
  if (IsComplexType(tc) != kIsComplex<S>) return kNotSupported;
  return GemmEx<I>(h, opa, opb, m, n, k, alpha, a, ta, lda, b, tb, ldb, beta, c,
                   tc, ldc, k32F, 0);
}

// cublasHgemm and its kin: all of halves.
template <typename I>
Status HalfGemm(Handle h, Operation opa, Operation opb, I m, I n, I k,
                const void* alpha, const void* a, I lda, const void* b, I ldb,
                const void* beta, void* c, I ldc) {
  return GemmEx<I>(h, opa, opb, m, n, k, alpha, a, kR16F, lda, b, kR16F, ldb,
                   beta, c, kR16F, ldc, k16F, 0);
}
template <typename I>
Status HalfGemmBatched(Handle h, Operation opa, Operation opb, I m, I n, I k,
                       const void* alpha, const void* const* a, I lda,
                       const void* const* b, I ldb, const void* beta,
                       void* const* c, I ldc, I count) {
  return GemmBatchedEx<I>(h, opa, opb, m, n, k, alpha, a, kR16F, lda, b, kR16F,
                          ldb, beta, c, kR16F, ldc, count, k16F, 0);
}
template <typename I>
Status HalfGemmStrided(Handle h, Operation opa, Operation opb, I m, I n, I k,
                       const void* alpha, const void* a, I lda,
                       long long step_a, const void* b, I ldb, long long step_b,
                       const void* beta, void* c, I ldc, long long step_c,
                       I count) {
  return GemmStridedBatchedEx<I>(h, opa, opb, m, n, k, alpha, a, kR16F, lda,
                                 step_a, b, kR16F, ldb, step_b, beta, c, kR16F,
                                 ldc, step_c, count, k16F, 0);
}

// cublasCsyrkEx, cublasCherkEx: C is complex f32, A that or of 8-bit integers.
template <bool kHermitian, typename S, typename I>
Status RankKEx(Handle h, Fill fill, Operation op, I n, I k, const S* alpha,
               const void* a, DataType ta, I lda, const S* beta, void* c,
               DataType tc, I ldc) {
  if (tc != kC32F || (ta != kC32F && ta != kC8I)) return kNotSupported;
  if (ta == kC32F) {
    return RankKOfOne<kHermitian, Complex32, S, I>(
        h, fill, op, n, k, alpha, static_cast<const Complex32*>(a), lda, beta,
        static_cast<Complex32*>(c), ldc);
  }
  const I rows = op == kN ? n : k, columns = op == kN ? k : n;
  if (!IsTriangle(fill) || !IsOperation(op) || n < 0 || k < 0 ||
      op == (kHermitian ? kT : kC) || !IsStep(lda, rows) || !IsStep(ldc, n) ||
      !alpha || !beta) {
    return kInvalidValue;
  }
  if (n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const void* pa = call.work().InMatrix(a, SizeOf(ta), rows, columns, lda);
  auto* pc = call.MatrixOut(static_cast<Complex32*>(c), n, n, ldc);
  return call.Run([=] {
    std::vector<Complex32> wide(static_cast<std::size_t>(rows * columns));
    for (Index j = 0; j < columns; ++j) {
      for (Index i = 0; i < rows; ++i) {
        Store(kC32F, wide.data(), i + j * rows, Load(ta, pa, i + j * lda));
      }
    }
    Syrkx<Complex32>(kHermitian, false, fill, op, n, k, Complex32(av.Get()),
                     wide.data(), rows, wide.data(), rows, Complex32(bv.Get()),
                     pc, ldc);
  });
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_EX_H_
