// Incomplete factors: of LU and of Cholesky's, in the elements that the matrix
// has. Blocks that are full need no rules of their own: it is the same element
// by element.
#include "libraries/cusparse/info.h"
#include "libraries/cusparse/sparse_sums.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;
using cublas::ConjOf;
using cublas::Div;
using cublas::Mul;

struct Boosts {
  bool enabled = false;
  Scalar tolerance, value;
};

void Note(Pivot* pivot, const SpMat& a, Index row) {
  if (pivot->row < 0) pivot->row = row / a.block_rows + a.base;
}

// L below the diagonal, which has ones there, and U.
template <typename T>
void FactorLu(const SpMat& a, const Boosts& boosts, Pivot* pivot) {
  auto* values = static_cast<T*>(a.values);
  const Rows rows = RowsOf(a);
  std::vector<Index> diagonal(Size(rows.rows), -1);  // their places
  RowPlaces places(rows);
  for (Index i = 0; i < rows.rows; ++i) {
    places.Enter(i);
    const auto first = Size(rows.offsets[Size(i)]);
    const auto end = Size(rows.offsets[Size(i) + 1]);
    for (auto p = first; p < end && rows.column[p] < i; ++p) {
      const std::size_t k = Size(rows.column[p]);
      T& lower = values[rows.place[p]];
      lower = Div(lower, diagonal[k] < 0 ? T(0) : values[diagonal[k]]);
      for (auto q = Size(rows.offsets[k]); q < Size(rows.offsets[k + 1]); ++q) {
        if (rows.column[q] <= rows.column[p]) continue;
        const Index to = places[rows.column[q]];
        if (to >= 0) values[to] -= Mul(lower, values[rows.place[q]]);
      }
    }
    const Index place = diagonal[Size(i)] = places[i];
    if (place >= 0 && boosts.enabled &&
        boosts.tolerance.Get().real() >= std::abs(values[place])) {
      values[place] = As<T>(boosts.value.Get());
    }
    if (place < 0 || values[place] == T(0)) Note(pivot, a, i);
    places.Leave();
  }
}

// L on and below the diagonal; what is above stays.
template <typename T>
void FactorCholesky(const SpMat& a, Pivot* pivot) {
  auto* values = static_cast<T*>(a.values);
  const Rows rows = RowsOf(a, /*turned=*/false,
                           [](Index i, Index j, Index) { return j <= i; });
  RowPlaces places(rows);
  std::vector<T> diagonal(Size(rows.rows), T(0));
  for (Index i = 0; i < rows.rows; ++i) {
    places.Enter(i);
    for (auto p = Size(rows.offsets[Size(i)]);
         p < Size(rows.offsets[Size(i) + 1]); ++p) {
      const Index k = rows.column[p];
      T sum = values[rows.place[p]];
      for (auto q = Size(rows.offsets[Size(k)]);
           q < Size(rows.offsets[Size(k) + 1]) && rows.column[q] < k; ++q) {
        const Index other = places[rows.column[q]];
        if (other >= 0) {
          sum -= Mul(values[other], ConjOf(values[rows.place[q]]));
        }
      }
      if (k < i) {
        values[rows.place[p]] = Div(sum, diagonal[Size(k)]);
      } else {
        diagonal[Size(i)] = values[rows.place[p]] =
            T(std::sqrt(cublas::RealPart(sum)));
      }
    }
    // Not a number, too.
    if (!(cublas::RealPart(diagonal[Size(i)]) > 0)) Note(pivot, a, i);
    places.Leave();
  }
}

Status Factor(Handle h, bool cholesky, const MatDescr* descr, const SpMat& a,
              Info* info) {
  if (const Status bad = Check(descr, a)) return bad;
  if (info == nullptr) return kInvalidValue;
  const std::shared_ptr<Pivot> pivot = info->NewPivot();
  Call call(h);
  Boosts boosts;
  boosts.enabled = info->boosts;
  if (info->boosts && info->on_device) {
    boosts.tolerance = {cublas::kR64F,
                        call.work().In(info->tolerance, sizeof(double))};
    boosts.value = {a.type,
                    call.work().In(info->boost, cublas::SizeOf(a.type))};
  } else {
    boosts.tolerance = Scalar(info->host_tolerance);
    boosts.value = Scalar(info->host_boost);
  }
  const SpMat pa = Mapped(call.work(), a, {/*structure=*/false, true});
  return call.Run([=] {
    InType(pa.type, [&]<typename T>() {
      if (cholesky) FactorCholesky<T>(pa, pivot.get());
      else FactorLu<T>(pa, boosts, pivot.get());
    });
  });
}

}  // namespace

#define CUSPARSE_FACTOR_CSR(name, cholesky)                                   \
  CUSPARSE_EXPORT_SDCZ(name##_bufferSize,                                     \
                       (Handle h, int, int, const MatDescr*, void*,           \
                        const int*, const int*, Info*, int* bytes),           \
                       SizeOfBuffer(h, bytes))                                \
  CUSPARSE_EXPORT_SDCZ(                                                       \
      name##_analysis,                                                        \
      (Handle h, int m, int nnz, const MatDescr* descr, const void* values,   \
       const int* offsets, const int* columns, Info* info, int, void*),       \
      AnalyseDiagonal(h, descr,                                               \
                      Csr(kType, descr, m, m, nnz, values, offsets, columns), \
                      true, info))                                            \
  CUSPARSE_EXPORT_SDCZ(                                                       \
      name,                                                                   \
      (Handle h, int m, int nnz, const MatDescr* descr, void* values,         \
       const int* offsets, const int* columns, Info* info, int, void*),       \
      Factor(h, cholesky, descr,                                              \
             Csr(kType, descr, m, m, nnz, values, offsets, columns), info))
CUSPARSE_FACTOR_CSR(csrilu02, false)
CUSPARSE_FACTOR_CSR(csric02, true)
#undef CUSPARSE_FACTOR_CSR

#define CUSPARSE_FACTOR_BSR(name, cholesky)                                    \
  CUSPARSE_EXPORT_SDCZ(name##_bufferSize,                                      \
                       (Handle h, Direction, int, int, const MatDescr*, void*, \
                        const int*, const int*, int, Info*, int* bytes),       \
                       SizeOfBuffer(h, bytes))                                 \
  CUSPARSE_EXPORT_SDCZ(                                                        \
      name##_analysis,                                                         \
      (Handle h, Direction direction, int mb, int nnzb, const MatDescr* descr, \
       const void* values, const int* offsets, const int* columns, int side,   \
       Info* info, int, void*),                                                \
      AnalyseDiagonal(h, descr,                                                \
                      Bsr(kType, descr, direction, mb, mb, nnzb, values,       \
                          offsets, columns, side, side),                       \
                      true, info))                                             \
  CUSPARSE_EXPORT_SDCZ(                                                        \
      name,                                                                    \
      (Handle h, Direction direction, int mb, int nnzb, const MatDescr* descr, \
       void* values, const int* offsets, const int* columns, int side,         \
       Info* info, int, void*),                                                \
      Factor(h, cholesky, descr,                                               \
             Bsr(kType, descr, direction, mb, mb, nnzb, values, offsets,       \
                 columns, side, side),                                         \
             info))
CUSPARSE_FACTOR_BSR(bsrilu02, false)
CUSPARSE_FACTOR_BSR(bsric02, true)
#undef CUSPARSE_FACTOR_BSR

}  // namespace cerberus::libraries::cusparse
