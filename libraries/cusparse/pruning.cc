// Leaving out small elements: by a threshold, by a share of all, by a
// tolerance.
#include "libraries/cusparse/conversions.h"
#include "libraries/cusparse/typed_exports.h"

// Tolerances are complex numbers by value, in C as here.
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"

namespace cerberus::libraries::cusparse {
namespace {

double Magnitude(const SpMat& m, Index place) {
  return std::abs(cublas::Load(m.type, m.values, place));
}

// What is to be left out: at most a threshold, or so many of all elements in
// percent, the smallest first.
struct Limit {
  const void* threshold = nullptr;
  float percentage = -1;
};
// The largest magnitude that is left out.
double LimitOf(const SpMat& m, float percentage) {
  std::vector<double> magnitudes;
  ForEach(
      m, [&](Index, Index, Index p) { magnitudes.push_back(Magnitude(m, p)); });
  if (magnitudes.empty()) return 0;
  const auto count = static_cast<double>(magnitudes.size());
  const double place =
      std::ceil(count * (static_cast<double>(percentage) / 100)) - 1;
  const auto at =
      static_cast<std::ptrdiff_t>(std::clamp(place, 0.0, count - 1));
  std::nth_element(magnitudes.begin(), magnitudes.begin() + at,
                   magnitudes.end());
  return magnitudes[static_cast<std::size_t>(at)];
}
Rows Above(const SpMat& m, double limit) {
  return RowsOf(m, /*turned=*/false,
                [&](Index, Index, Index p) { return Magnitude(m, p) > limit; });
}

bool IsRight(const SpMat& a, Limit limit) {
  if (a.format == kDense && a.ld < std::max<Index>(1, a.rows)) return false;
  return limit.threshold != nullptr ||
         (limit.percentage >= 0 && limit.percentage <= 100);
}
// Calls done(the elements that stay, …) in the order of the stream.
template <typename F>
Status Prune(Call& call, const SpMat& a, Limit limit, const F& done) {
  const bool by_share = limit.threshold == nullptr;
  const Scalar threshold =
      by_share ? Scalar(0) : call.In(a.type, limit.threshold);
  const SpMat pa = Mapped(call.work(), a);
  return call.Run([=] {
    done(Above(pa, by_share ? LimitOf(pa, limit.percentage)
                            : threshold.Get().real()),
         pa);
  });
}

Status CountPruned(Handle h, const MatDescr* descr_a, const SpMat& a,
                   Limit limit, const MatDescr* descr_c, int* offsets,
                   int* nnz) {
  if (const Status bad = Check(descr_a, a)) return bad;
  SpMat c = Csr(a.type, descr_c, static_cast<int>(a.rows),
                static_cast<int>(a.columns), 0, nullptr, offsets, nullptr);
  if (const Status bad = Check(descr_c, c)) return bad;
  if (!IsRight(a, limit) || nnz == nullptr) return kInvalidValue;
  Call call(h);
  int* to = call.Out(nnz, sizeof *nnz);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, false});
  return Prune(call, a, limit, [=](const Rows& rows, const SpMat&) {
    WriteOffsets(rows.offsets, pc);
    *to = static_cast<int>(rows.nnz());
  });
}
Status FillPruned(Handle h, const MatDescr* descr_a, const SpMat& a,
                  Limit limit, const MatDescr* descr_c, SpMat c) {
  if (const Status bad = Check(descr_a, a)) return bad;
  if (const Status bad = Check(descr_c, c)) return bad;
  if (!IsRight(a, limit)) return kInvalidValue;
  if (const Status bad = FindNnz(h, &c)) return bad;
  Call call(h);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return Prune(call, a, limit, [=](const Rows& rows, const SpMat& pa) {
    Fill(rows, pa, pc, true);
  });
}

// A dense matrix has no descriptor of its own: C's will do.
constexpr MatDescr kGeneralMatrix;

// --- compression by a tolerance
Status CountAbove(Handle h, const MatDescr* descr, SpMat a, double tolerance,
                  int* counts, int* total) {
  if (const Status bad = Check(descr, a)) return bad;
  if (total == nullptr || tolerance < 0) return kInvalidValue;
  if (const Status bad = FindNnz(h, &a)) return bad;
  Call call(h);
  // Columns are not told.
  const int rows = static_cast<int>(a.rows);
  const int* offsets = call.work().In(static_cast<int*>(a.major.array),
                                      Size(rows + 1) * sizeof(int));
  SpMat values = a;
  values.values = const_cast<void*>(
      call.work().In(a.values, Size(a.nnz) * cublas::SizeOf(a.type)));
  int* pc = call.work().InOut(counts, Size(rows) * sizeof(int));
  int* pt = call.Out(total, sizeof *total);
  return call.Run([=] {
    *pt = 0;
    for (int i = 0; i < rows; ++i) {
      pc[i] = 0;
      for (int p = offsets[i] - values.base; p < offsets[i + 1] - values.base;
           ++p) {
        pc[i] += Magnitude(values, p) > tolerance ? 1 : 0;
      }
      *pt += pc[i];
    }
  });
}
Status Compress(Handle h, const MatDescr* descr, const SpMat& a,
                double tolerance, const int* counts, void* values, int* columns,
                int* offsets) {
  if (const Status bad = Check(descr, a)) return bad;
  if (tolerance < 0) return kInvalidValue;
  SpMat c = a;
  c.values = values;
  c.major.array = offsets;
  c.minor.array = columns;
  if (!h->driver->shares_memory) {
    std::vector<int> read(Size(a.rows));
    if (!Read(h, counts, read.data(), read.size() * sizeof(int))) {
      return kExecutionFailed;
    }
    c.nnz = 0;
    for (const int count : read) c.nnz += count;
  }
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return call.Run([=] { Fill(Above(pa, tolerance), pa, pc, true); });
}

}  // namespace

// --- by a threshold
CUSPARSE_EXPORT_HSD(pruneDense2csr_bufferSizeExt,
                    (Handle h, int, int, const void*, int, const void*,
                     const MatDescr*, const void*, const int*, const int*,
                     std::size_t* bytes),
                    SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_HSD(pruneDense2csrNnz,
                    (Handle h, int m, int n, const void* a, int lda,
                     const void* threshold, const MatDescr* descr_c,
                     int* offsets, int* nnz, void*),
                    CountPruned(h, &kGeneralMatrix,
                                DenseAsSparse(kType, m, n, a, lda),
                                {threshold, -1}, descr_c, offsets, nnz))
CUSPARSE_EXPORT_HSD(
    pruneDense2csr,
    (Handle h, int m, int n, const void* a, int lda, const void* threshold,
     const MatDescr* descr_c, void* values, const int* offsets, int* columns,
     void*),
    FillPruned(h, &kGeneralMatrix, DenseAsSparse(kType, m, n, a, lda),
               {threshold, -1}, descr_c,
               Csr(kType, descr_c, m, n, 0, values, offsets, columns)))
CUSPARSE_EXPORT_HSD(pruneCsr2csr_bufferSizeExt,
                    (Handle h, int, int, int, const MatDescr*, const void*,
                     const int*, const int*, const void*, const MatDescr*,
                     const void*, const int*, const int*, std::size_t* bytes),
                    SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_HSD(pruneCsr2csrNnz,
                    (Handle h, int m, int n, int nnz_a, const MatDescr* descr_a,
                     const void* values_a, const int* offsets_a,
                     const int* columns_a, const void* threshold,
                     const MatDescr* descr_c, int* offsets, int* nnz, void*),
                    CountPruned(h, descr_a,
                                Csr(kType, descr_a, m, n, nnz_a, values_a,
                                    offsets_a, columns_a),
                                {threshold, -1}, descr_c, offsets, nnz))
CUSPARSE_EXPORT_HSD(
    pruneCsr2csr,
    (Handle h, int m, int n, int nnz_a, const MatDescr* descr_a,
     const void* values_a, const int* offsets_a, const int* columns_a,
     const void* threshold, const MatDescr* descr_c, void* values,
     const int* offsets, int* columns, void*),
    FillPruned(h, descr_a,
               Csr(kType, descr_a, m, n, nnz_a, values_a, offsets_a, columns_a),
               {threshold, -1}, descr_c,
               Csr(kType, descr_c, m, n, 0, values, offsets, columns)))

// --- by a share
CUSPARSE_EXPORT_HSD(pruneDense2csrByPercentage_bufferSizeExt,
                    (Handle h, int, int, const void*, int, float,
                     const MatDescr*, const void*, const int*, const int*,
                     void*, std::size_t* bytes),
                    SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_HSD(pruneDense2csrNnzByPercentage,
                    (Handle h, int m, int n, const void* a, int lda,
                     float percentage, const MatDescr* descr_c, int* offsets,
                     int* nnz, void*, void*),
                    CountPruned(h, &kGeneralMatrix,
                                DenseAsSparse(kType, m, n, a, lda),
                                {nullptr, percentage}, descr_c, offsets, nnz))
CUSPARSE_EXPORT_HSD(
    pruneDense2csrByPercentage,
    (Handle h, int m, int n, const void* a, int lda, float percentage,
     const MatDescr* descr_c, void* values, const int* offsets, int* columns,
     void*, void*),
    FillPruned(h, &kGeneralMatrix, DenseAsSparse(kType, m, n, a, lda),
               {nullptr, percentage}, descr_c,
               Csr(kType, descr_c, m, n, 0, values, offsets, columns)))
CUSPARSE_EXPORT_HSD(pruneCsr2csrByPercentage_bufferSizeExt,
                    (Handle h, int, int, int, const MatDescr*, const void*,
                     const int*, const int*, float, const MatDescr*,
                     const void*, const int*, const int*, void*,
                     std::size_t* bytes),
                    SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_HSD(pruneCsr2csrNnzByPercentage,
                    (Handle h, int m, int n, int nnz_a, const MatDescr* descr_a,
                     const void* values_a, const int* offsets_a,
                     const int* columns_a, float percentage,
                     const MatDescr* descr_c, int* offsets, int* nnz, void*,
                     void*),
                    CountPruned(h, descr_a,
                                Csr(kType, descr_a, m, n, nnz_a, values_a,
                                    offsets_a, columns_a),
                                {nullptr, percentage}, descr_c, offsets, nnz))
CUSPARSE_EXPORT_HSD(
    pruneCsr2csrByPercentage,
    (Handle h, int m, int n, int nnz_a, const MatDescr* descr_a,
     const void* values_a, const int* offsets_a, const int* columns_a,
     float percentage, const MatDescr* descr_c, void* values,
     const int* offsets, int* columns, void*, void*),
    FillPruned(h, descr_a,
               Csr(kType, descr_a, m, n, nnz_a, values_a, offsets_a, columns_a),
               {nullptr, percentage}, descr_c,
               Csr(kType, descr_c, m, n, 0, values, offsets, columns)))

// --- by a tolerance, of which the real part counts
#define CUSPARSE_COMPRESS(letter, type, T)                                \
  CUSPARSE_API Status cusparse##letter##nnz_compress(                     \
      Handle h, int m, const MatDescr* descr, const void* values,         \
      const int* offsets, int* counts, int* total, T tolerance) {         \
    return Guarded(h, [&] {                                               \
      return CountAbove(                                                  \
          h, descr,                                                       \
          Csr(cublas::type, descr, m, 0, 0, values, offsets, nullptr),    \
          std::real(tolerance), counts, total);                           \
    });                                                                   \
  }                                                                       \
  CUSPARSE_API Status cusparse##letter##csr2csr_compress(                 \
      Handle h, int m, int n, const MatDescr* descr, const void* values,  \
      const int* columns, const int* offsets, int nnz, const int* counts, \
      void* values_c, int* columns_c, int* offsets_c, T tolerance) {      \
    return Guarded(h, [&] {                                               \
      return Compress(                                                    \
          h, descr,                                                       \
          Csr(cublas::type, descr, m, n, nnz, values, offsets, columns),  \
          std::real(tolerance), counts, values_c, columns_c, offsets_c);  \
    });                                                                   \
  }
CUSPARSE_COMPRESS(S, kR32F, float)
CUSPARSE_COMPRESS(D, kR64F, double)
CUSPARSE_COMPRESS(C, kC32F, Complex32)
CUSPARSE_COMPRESS(Z, kC64F, Complex64)
#undef CUSPARSE_COMPRESS

}  // namespace cerberus::libraries::cusparse
