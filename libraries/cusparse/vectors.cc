// Sparse vectors with dense ones.
#include "libraries/cusparse/products.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;
using cublas::ConjOf;
using cublas::Mul;
using cublas::Wide;

// The type of scalars for elements of a type.
DataType ScalarOf(DataType type) {
  switch (type) {
    case cublas::kR16F:
    case cublas::kR16BF:
    case cublas::kR8I: return cublas::kR32F;
    case cublas::kC16F:
    case cublas::kC16BF: return cublas::kC32F;
    default: return type;
  }
}
// Whether scalars of y's type and elements of x may be multiplied.
bool MayBeScaled(const SpVec& x, const DnVec& y) {
  return GoTogether(x.type, y.type, y.type, ScalarOf(y.type));
}

// Calls f(i, place) for each element i, which stands at that place of a dense
// vector.
template <typename F>
void ForEach(const SpVec& x, const F& f) {
  for (Index i = 0; i < x.nnz; ++i) {
    const Index place = x.indices[i] - x.base;
    if (place >= 0 && place < x.size) f(i, place);
  }
}

// y := alpha x + beta y.
Status Add(Handle h, const void* alpha, const SpVec& x, const void* beta,
           const DnVec& y) {
  if (alpha == nullptr || x.size != y.size) return kInvalidValue;
  if (!MayBeScaled(x, y)) return kNotSupported;
  const DataType compute = ScalarOf(y.type);
  Call call(h);
  const Scalar av = call.In(compute, alpha);
  const Scalar bv = beta != nullptr ? call.In(compute, beta) : Scalar(1);
  const SpVec px = Mapped(call.work(), x);
  const DnVec py = Mapped(call.work(), y, /*written=*/true);
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      const T factor = As<T>(av.Get()), keep = As<T>(bv.Get());
      if (keep == T(1)) {  // what x does not name stays untouched
        ForEach(px, [&](Index i, Index place) {
          Finish(factor, Get<T>(px.type, px.values, i), T(1), py.type,
                 py.values, place, py.values, place);
        });
        return;
      }
      std::vector<T> sum(Size(py.size), T(0));
      ForEach(px, [&](Index i, Index place) {
        sum[Size(place)] += Mul(factor, Get<T>(px.type, px.values, i));
      });
      for (Index i = 0; i < py.size; ++i) {
        Finish(T(1), sum[Size(i)], keep, py.type, py.values, i, py.values, i);
      }
    });
  });
}

// x := y at x's places; with `clears` y becomes zero there.
Status Gather(Handle h, const DnVec& y, const SpVec& x, bool clears = false) {
  if (x.size != y.size || x.type != y.type) return kInvalidValue;
  Call call(h);
  const SpVec px = Mapped(call.work(), x, /*written=*/true);
  const DnVec py = Mapped(call.work(), y, /*written=*/clears);
  return call.Run([=] {
    ForEach(px, [&](Index i, Index place) {
      CopyElement(px.type, py.values, place, px.values, i);
    });
    if (!clears) return;
    ForEach(px, [&](Index, Index place) {
      cublas::Store(py.type, py.values, place, 0);
    });
  });
}
Status Scatter(Handle h, const SpVec& x, const DnVec& y) {
  if (x.size != y.size || x.type != y.type) return kInvalidValue;
  Call call(h);
  const SpVec px = Mapped(call.work(), x);
  const DnVec py = Mapped(call.work(), y, /*written=*/true);
  return call.Run([=] {
    ForEach(px, [&](Index i, Index place) {
      CopyElement(px.type, px.values, i, py.values, place);
    });
  });
}

// x, y := c x + s y, c y - s x.
Status Rotate(Handle h, const void* c, const void* s, const SpVec& x,
              const DnVec& y) {
  if (!c || !s || x.size != y.size || x.type != y.type) return kInvalidValue;
  if (!MayBeScaled(x, y)) return kNotSupported;
  const DataType compute = ScalarOf(y.type);
  Call call(h);
  const Scalar cosine = call.In(compute, c), sine = call.In(compute, s);
  const SpVec px = Mapped(call.work(), x, /*written=*/true);
  const DnVec py = Mapped(call.work(), y, /*written=*/true);
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      const T cv = As<T>(cosine.Get()), sv = As<T>(sine.Get());
      ForEach(px, [&](Index i, Index place) {
        const T a = Get<T>(px.type, px.values, i);
        const T b = Get<T>(py.type, py.values, place);
        Put<T>(px.type, px.values, i, Mul(cv, a) + Mul(sv, b));
        Put<T>(py.type, py.values, place, Mul(cv, b) - Mul(sv, a));
      });
    });
  });
}

// The sum of op(x) y, op being none or conjugation.
Status Dot(Handle h, Operation op, const SpVec& x, const DnVec& y, void* result,
           DataType compute) {
  if (!IsOperation(op) || result == nullptr || x.size != y.size) {
    return kInvalidValue;
  }
  if (!GoTogether(x.type, y.type, compute, compute)) return kNotSupported;
  Call call(h);
  void* to = call.Out(result, cublas::SizeOf(compute));
  const SpVec px = Mapped(call.work(), x);
  const DnVec py = Mapped(call.work(), y);
  return call.Run([=] {
    InType(compute, [&]<typename T>() {
      T sum(0);
      ForEach(px, [&](Index i, Index place) {
        const T v = Get<T>(px.type, px.values, i);
        sum += Mul(op == cublas::kC ? ConjOf(v) : v,
                   Get<T>(py.type, py.values, place));
      });
      cublas::Store(compute, to, 0, Wide(sum));
    });
  });
}

// CUDA 11's functions do not tell the size of y: where it is copied, the
// largest index does.
Status ByIndices(Handle h, int nnz, const int* indices, IndexBase base,
                 SpVec* x, DnVec* y) {
  if (nnz < 0 || !IsBase(base)) {
    return kInvalidValue;
  }
  x->nnz = nnz;
  x->indices.array = const_cast<int*>(indices);
  x->base = base;
  x->size = y->size = std::int64_t{1} << 31;
  if (h->driver->shares_memory) return kSuccess;
  std::vector<int> read(Size(nnz));
  if (!Read(h, indices, read.data(), read.size() * sizeof(int))) {
    return kExecutionFailed;
  }
  int largest = base - 1;
  for (const int index : read) largest = std::max(largest, index);
  x->size = y->size = largest - base + 1;
  return kSuccess;
}
template <typename F>
Status ByIndices(Handle h, DataType type, int nnz, const void* values,
                 const int* indices, const void* y, IndexBase base,
                 const F& call) {
  SpVec x;
  DnVec dense;
  x.type = dense.type = type;
  x.values = const_cast<void*>(values);
  dense.values = const_cast<void*>(y);
  if (const Status bad = ByIndices(h, nnz, indices, base, &x, &dense)) {
    return bad;
  }
  return nnz == 0 ? kSuccess : call(x, dense);
}

// y := alpha op(A) x + beta y for a dense A and a sparse x.
Status MultiplyDense(Handle h, Operation op, const void* alpha, const DnMat& a,
                     const SpVec& x, const void* beta, void* y) {
  if (!IsOperation(op) || !alpha || !beta || a.rows < 0 || a.columns < 0 ||
      a.ld < std::max<Index>(1, a.rows) || x.nnz < 0) {
    return kInvalidValue;
  }
  const bool turned = op != cublas::kN;
  const Index rows = turned ? a.columns : a.rows;
  Call call(h);
  const Scalar av = call.In(a.type, alpha), bv = call.In(a.type, beta);
  const DnMat pa = Mapped(call.work(), a, 1).front();
  const SpVec px = Mapped(call.work(), x);
  const DnVec py = Mapped(call.work(), DnVec{rows, y, a.type}, true);
  return call.Run([=] {
    InType(pa.type, [&]<typename T>() {
      std::vector<T> sum(Size(rows), T(0));
      ForEach(px, [&](Index k, Index place) {
        const T v = Get<T>(px.type, px.values, k);
        for (Index i = 0; i < rows; ++i) {
          const T e =
              Get<T>(pa.type, pa.values,
                     turned ? pa.PlaceOf(place, i) : pa.PlaceOf(i, place));
          sum[Size(i)] += Mul(op == cublas::kC ? ConjOf(e) : e, v);
        }
      });
      for (Index i = 0; i < rows; ++i) {
        Finish(As<T>(av.Get()), sum[Size(i)], As<T>(bv.Get()), py.type,
               py.values, i, py.values, i);
      }
    });
  });
}

}  // namespace

CUSPARSE_API Status cusparseAxpby(Handle h, const void* alpha, const SpVec* x,
                                  const void* beta, const DnVec* y) {
  return Guarded(h, [&]() -> Status {
    if (!x || !y || !beta) return kInvalidValue;
    return Add(h, alpha, *x, beta, *y);
  });
}
CUSPARSE_API Status cusparseGather(Handle h, const DnVec* y, const SpVec* x) {
  return Guarded(h, [&]() -> Status {
    return !x || !y ? kInvalidValue : Gather(h, *y, *x);
  });
}
CUSPARSE_API Status cusparseScatter(Handle h, const SpVec* x, const DnVec* y) {
  return Guarded(h, [&]() -> Status {
    return !x || !y ? kInvalidValue : Scatter(h, *x, *y);
  });
}
CUSPARSE_API Status cusparseRot(Handle h, const void* c, const void* s,
                                const SpVec* x, const DnVec* y) {
  return Guarded(h, [&]() -> Status {
    return !x || !y ? kInvalidValue : Rotate(h, c, s, *x, *y);
  });
}
CUSPARSE_API Status cusparseSpVV_bufferSize(Handle h, Operation, const SpVec* x,
                                            const DnVec* y, const void*,
                                            DataType, std::size_t* bytes) {
  return !x || !y ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpVV(Handle h, Operation op, const SpVec* x,
                                 const DnVec* y, void* result, DataType compute,
                                 void*) {
  return Guarded(h, [&]() -> Status {
    return !x || !y ? kInvalidValue : Dot(h, op, *x, *y, result, compute);
  });
}

CUSPARSE_EXPORT_SDCZ(gemvi_bufferSize,
                     (Handle h, Operation, int, int, int, int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(gemvi,
                     (Handle h, Operation op, int m, int n, const void* alpha,
                      const void* a, int lda, int nnz, const void* values,
                      const int* indices, const void* beta, void* y,
                      IndexBase base, void*),
                     MultiplyDense(h, op, alpha, Dense(kType, m, n, a, lda),
                                   SpVec{op == cublas::kN ? n : m,
                                         nnz,
                                         {const_cast<int*>(indices)},
                                         const_cast<void*>(values),
                                         base,
                                         kType},
                                   beta, y))

// --- of CUDA 11
CUSPARSE_EXPORT_SDCZ(axpyi,
                     (Handle h, int nnz, const void* alpha, const void* values,
                      const int* indices, void* y, IndexBase base),
                     ByIndices(h, kType, nnz, values, indices, y, base,
                               [&](const SpVec& x, const DnVec& dense) {
                                 return Add(h, alpha, x, nullptr, dense);
                               }))
CUSPARSE_EXPORT_SDCZ(gthr,
                     (Handle h, int nnz, const void* y, void* values,
                      const int* indices, IndexBase base),
                     ByIndices(h, kType, nnz, values, indices, y, base,
                               [&](const SpVec& x, const DnVec& dense) {
                                 return Gather(h, dense, x);
                               }))
CUSPARSE_EXPORT_SDCZ(gthrz,
                     (Handle h, int nnz, void* y, void* values,
                      const int* indices, IndexBase base),
                     ByIndices(h, kType, nnz, values, indices, y, base,
                               [&](const SpVec& x, const DnVec& dense) {
                                 return Gather(h, dense, x, /*clears=*/true);
                               }))
CUSPARSE_EXPORT_SDCZ(sctr,
                     (Handle h, int nnz, const void* values, const int* indices,
                      void* y, IndexBase base),
                     ByIndices(h, kType, nnz, values, indices, y, base,
                               [&](const SpVec& x, const DnVec& dense) {
                                 return Scatter(h, x, dense);
                               }))
CUSPARSE_EXPORT_SD(roti,
                   (Handle h, int nnz, void* values, const int* indices,
                    void* y, const void* c, const void* s, IndexBase base),
                   ByIndices(h, kType, nnz, values, indices, y, base,
                             [&](const SpVec& x, const DnVec& dense) {
                               return Rotate(h, c, s, x, dense);
                             }))

}  // namespace cerberus::libraries::cusparse
