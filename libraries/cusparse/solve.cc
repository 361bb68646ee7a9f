#include "libraries/cusparse/solve.h"

#include <cstring>

#include "libraries/cusparse/products.h"
#include "libraries/cusparse/rocsparse.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;
using cublas::ConjOf;
using cublas::Div;
using cublas::Mul;

// A triangle of op(A) by rows.
template <typename T>
class Triangle {
 public:
  explicit Triangle(const System& s)
      : rows_(RowsOf(s.a, s.opa != cublas::kN,
                     [&](Index i, Index j, Index) {
                       return IsLower(s) ? j <= i : j >= i;
                     })),
        values_(ValuesIn(s)),
        diagonal_(DiagonalIn(s)),
        has_diagonal_(s.update != nullptr && !s.update->diagonal.empty()),
        conjugated_(s.opa == cublas::kC),
        unit_(s.a.diag() == cublas::kUnit),
        forward_(IsLower(s)) {}

  // Overwrites n right sides, which lie by rows, with the solutions. Returns
  // the first row whose diagonal is zero or not there, or -1.
  Index Solve(T* x, Index n) const {
    Index zero = -1;
    const Index last = rows_.rows - 1;
    for (Index step = 0; step <= last; ++step) {
      const Index i = forward_ ? step : last - step;
      T diagonal(0);
      for (auto p = Size(rows_.offsets[Size(i)]);
           p < Size(rows_.offsets[Size(i) + 1]); ++p) {
        const Index j = rows_.column[p];
        T v = values_[rows_.place[p]];
        if (j == i && has_diagonal_) v = diagonal_[i];
        if (conjugated_) v = ConjOf(v);
        if (j == i) {
          diagonal += v;
          continue;
        }
        for (Index k = 0; k < n; ++k) x[i * n + k] -= Mul(v, x[j * n + k]);
      }
      if (unit_) continue;
      if (diagonal == T(0) && (zero < 0 || i < zero)) zero = i;
      for (Index k = 0; k < n; ++k) x[i * n + k] = Div(x[i * n + k], diagonal);
    }
    return zero;
  }

 private:
  // Of op(A).
  static bool IsLower(const System& s) {
    return (s.a.fill() == cublas::kLower) == (s.opa == cublas::kN);
  }
  static Numbers<T> ValuesIn(const System& s) {
    const bool given = s.update != nullptr && !s.update->values.empty();
    return {s.a.type, given ? s.update->values.data() : s.a.values,
            s.a.ValueCount()};
  }
  static Numbers<T> DiagonalIn(const System& s) {
    const bool given = s.update != nullptr && !s.update->diagonal.empty();
    return {s.a.type, given ? s.update->diagonal.data() : nullptr,
            given ? s.a.rows : 0};
  }

  const Rows rows_;
  const Numbers<T> values_, diagonal_;
  const bool has_diagonal_, conjugated_, unit_, forward_;
};

template <typename T>
void SolveAs(const System& s, T alpha) {
  const Index n = s.x.columns;
  std::vector<T> x = ByRows<T>(s.b, s.opb, 0, n);
  for (T& v : x) v = Mul(alpha, v);
  const Index zero = Triangle<T>(s).Solve(x.data(), n);
  if (s.pivot != nullptr && s.pivot->row < 0 && zero >= 0) {
    s.pivot->row = zero / s.a.block_rows + s.a.base;
  }
  for (Index i = 0; i < s.x.rows; ++i) {
    for (Index j = 0; j < n; ++j) {
      Put<T>(s.x.type, s.x.values, s.x.PlaceOf(i, j), x[Size(i * n + j)]);
    }
  }
}

// What a descriptor of SpSV and SpSM keeps between its calls.
struct Descriptor {
  SpMat matrix;
  std::shared_ptr<const Update> update;
  std::shared_ptr<Rocsparse::Triangle> triangle;  // null: the host solves
};

bool IsSupported(const System& s) {
  const DataType t = s.compute;
  const bool formats = s.a.format == kCsr || s.a.format == kCsc ||
                       s.a.format == kCoo || s.a.format == kSlicedEll ||
                       s.a.format == kBsr;
  return formats && s.a.type == t && s.b.type == t && s.x.type == t &&
         (t == cublas::kR32F || t == cublas::kR64F || t == cublas::kC32F ||
          t == cublas::kC64F);
}
Status Check(const void* alpha, const System& s) {
  const bool turned = s.opb != cublas::kN;
  if (alpha == nullptr || !IsOperation(s.opa) || !IsOperation(s.opb) ||
      s.a.rows != s.a.columns || s.x.rows != s.a.rows ||
      (turned ? s.b.columns : s.b.rows) != s.x.rows ||
      (turned ? s.b.rows : s.b.columns) != s.x.columns) {
    return kInvalidValue;
  }
  return IsSupported(s) ? kSuccess : kNotSupported;
}

Status Analyse(Handle h, const void* alpha, const System& s,
               Descriptor* descriptor) {
  if (descriptor == nullptr) return kInvalidValue;
  if (const Status bad = Check(alpha, s)) return bad;
  descriptor->matrix = s.a;
  descriptor->update = nullptr;
  descriptor->triangle =
      h->rocsparse != nullptr ? h->rocsparse->Analyse(*h, alpha, s) : nullptr;
  return kSuccess;
}
Status SolveWith(Handle h, const void* alpha, System s,
                 const Descriptor* descriptor) {
  if (descriptor == nullptr) return kInvalidValue;
  if (const Status bad = Check(alpha, s)) return bad;
  s.update = descriptor->update;
  if (Status status = kSuccess;
      h->rocsparse != nullptr && descriptor->triangle != nullptr &&
      h->rocsparse->Solve(*h, alpha, s, descriptor->triangle.get(), &status)) {
    return status;
  }
  return Solve(h, alpha, s);
}

// New values are kept as they are when the stream comes to the call.
Status UpdateValues(Handle h, Descriptor* descriptor, const void* values,
                    int part) {
  if (descriptor == nullptr || values == nullptr || (part != 0 && part != 1)) {
    return kInvalidValue;
  }
  const bool diagonal = part == 1;
  const SpMat& a = descriptor->matrix;
  const std::size_t bytes =
      Size(diagonal ? a.rows : a.ValueCount()) * cublas::SizeOf(a.type);
  Call call(h);
  const void* from = call.work().In(values, bytes);
  auto made = std::make_shared<Update>();
  const std::shared_ptr<const Update> before = descriptor->update;
  descriptor->update = made;
  return call.Run([=] {
    if (diagonal && before != nullptr) made->values = before->values;
    auto& to = diagonal ? made->diagonal : made->values;
    to.resize(bytes);
    if (bytes != 0) std::memcpy(to.data(), from, bytes);
  });
}

// A vector as a matrix of one column.
DnMat Column(const DnVec& v) { return {v.size, 1, v.size, v.values, v.type}; }
System SystemOf(Operation op, const SpMat& a, const DnVec& b, const DnVec& x,
                DataType compute) {
  System s;
  s.opa = op;
  s.a = a;
  s.b = Column(b);
  s.x = Column(x);
  s.compute = compute;
  return s;
}
System SystemOf(Operation opa, Operation opb, const SpMat& a, const DnMat& b,
                const DnMat& x, DataType compute) {
  System s;
  s.opa = opa;
  s.a = a;
  s.b = b;
  s.opb = opb;
  s.x = x;
  s.compute = compute;
  return s;
}

}  // namespace

Status Solve(Handle h, const void* alpha, const System& system) {
  if (const Status bad = Check(alpha, system)) return bad;
  const int count = system.x.batches;
  if ((system.b.batches != 1 && system.b.batches != count) ||
      (system.a.batches != 1 && system.a.batches != count)) {
    return kInvalidValue;
  }
  Call call(h);
  const Scalar av = call.In(system.compute, alpha);
  System s = system;
  s.a = Mapped(call.work(), s.a);
  const auto b = Mapped(call.work(), s.b, count);
  const auto x = Mapped(call.work(), s.x, count, /*written=*/true);
  return call.Run([=] {
    for (int i = 0; i < count; ++i) {
      System one = s;
      one.a = s.a.Batch(i);
      one.b = b[Size(i)];
      one.x = x[Size(i)];
      InType(s.compute,
             [&]<typename T>() { SolveAs<T>(one, As<T>(av.Get())); });
    }
  });
}

Index MissingDiagonal(const SpMat& a) {
  std::vector<bool> has(Size(a.rows), false);
  ForEach(a, [&](Index i, Index j, Index) {
    if (i == j) has[Size(i)] = true;
  });
  const auto missing = std::find(has.begin(), has.end(), false);
  return missing == has.end() ? -1
                              : (missing - has.begin()) / a.block_rows + a.base;
}

// --- op(A) y = alpha x
CUSPARSE_API Status cusparseSpSV_createDescr(Descriptor** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpSV_destroyDescr(Descriptor* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpSV_bufferSize(Handle h, Operation, const void*,
                                            const SpMat* a, const DnVec* x,
                                            const DnVec* y, DataType, int,
                                            const Descriptor* descriptor,
                                            std::size_t* bytes) {
  return !a || !x || !y || !descriptor ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpSV_analysis(Handle h, Operation op,
                                          const void* alpha, const SpMat* a,
                                          const DnVec* x, const DnVec* y,
                                          DataType compute, int,
                                          Descriptor* descriptor, void*) {
  return Guarded(h, [&]() -> Status {
    if (!a || !x || !y) return kInvalidValue;
    return Analyse(h, alpha, SystemOf(op, *a, *x, *y, compute), descriptor);
  });
}
CUSPARSE_API Status cusparseSpSV_solve(Handle h, Operation op,
                                       const void* alpha, const SpMat* a,
                                       const DnVec* x, const DnVec* y,
                                       DataType compute, int,
                                       const Descriptor* descriptor) {
  return Guarded(h, [&]() -> Status {
    if (!a || !x || !y) return kInvalidValue;
    return SolveWith(h, alpha, SystemOf(op, *a, *x, *y, compute), descriptor);
  });
}
CUSPARSE_API Status cusparseSpSV_updateMatrix(Handle h, Descriptor* descriptor,
                                              const void* values, int part) {
  return Guarded(h, [&] { return UpdateValues(h, descriptor, values, part); });
}

// --- op(A) C = alpha op(B)
CUSPARSE_API Status cusparseSpSM_createDescr(Descriptor** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpSM_destroyDescr(Descriptor* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpSM_bufferSize(Handle h, Operation, Operation,
                                            const void*, const SpMat* a,
                                            const DnMat* b, const DnMat* c,
                                            DataType, int,
                                            const Descriptor* descriptor,
                                            std::size_t* bytes) {
  return !a || !b || !c || !descriptor ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpSM_analysis(Handle h, Operation opa,
                                          Operation opb, const void* alpha,
                                          const SpMat* a, const DnMat* b,
                                          const DnMat* c, DataType compute, int,
                                          Descriptor* descriptor, void*) {
  return Guarded(h, [&]() -> Status {
    if (!a || !b || !c) return kInvalidValue;
    return Analyse(h, alpha, SystemOf(opa, opb, *a, *b, *c, compute),
                   descriptor);
  });
}
CUSPARSE_API Status cusparseSpSM_solve(Handle h, Operation opa, Operation opb,
                                       const void* alpha, const SpMat* a,
                                       const DnMat* b, const DnMat* c,
                                       DataType compute, int,
                                       const Descriptor* descriptor) {
  return Guarded(h, [&]() -> Status {
    if (!a || !b || !c) return kInvalidValue;
    return SolveWith(h, alpha, SystemOf(opa, opb, *a, *b, *c, compute),
                     descriptor);
  });
}
CUSPARSE_API Status cusparseSpSM_updateMatrix(Handle h, Descriptor* descriptor,
                                              const void* values, int part) {
  return Guarded(h, [&] { return UpdateValues(h, descriptor, values, part); });
}

}  // namespace cerberus::libraries::cusparse
