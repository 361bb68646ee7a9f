// csrgemm2 of CUDA 11, C := alpha A B + beta D, and csrcolor.
#include "libraries/cusparse/conversions.h"
#include "libraries/cusparse/info.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;

struct Terms {
  SpMat a, b, d;
  bool has_product, has_sum;
  Rows RowsOfA() const { return Of(a, has_product); }
  Rows RowsOfB() const { return Of(b, has_product); }
  Rows RowsOfD() const { return Of(d, has_sum); }

 private:
  static Rows Of(const SpMat& m, bool is_there) {
    return RowsOf(m, /*turned=*/false,
                  [=](Index, Index, Index) { return is_there; });
  }
};
Terms Mapped(Work& work, const Terms& t) {
  Terms out = t;
  if (t.has_product) {
    out.a = Mapped(work, t.a);
    out.b = Mapped(work, t.b);
  }
  if (t.has_sum) out.d = Mapped(work, t.d);
  // What is not there has no elements.
  SpMat none;
  if (!t.has_product) {
    out.a = out.b = none;
    out.a.format = out.b.format = kCoo;
    out.a.rows = t.a.rows;
    out.a.columns = out.b.rows = t.a.columns;
    out.b.columns = t.b.columns;
  }
  if (!t.has_sum) {
    out.d = none;
    out.d.format = kCoo;
    out.d.rows = t.d.rows;
    out.d.columns = t.d.columns;
  }
  return out;
}

Structure StructureOf(const Terms& t) {
  const Structure product = ProductStructure(t.RowsOfA(), t.RowsOfB());
  Rows rows;
  rows.rows = t.d.rows;
  rows.columns = t.d.columns;
  rows.offsets = product.offsets;
  rows.column = product.columns;
  return SumStructure(rows, t.RowsOfD());
}

Status CheckAll(std::initializer_list<std::pair<const MatDescr*, SpMat>> all) {
  for (const auto& [descr, matrix] : all) {
    if (const Status bad = Check(descr, matrix)) return bad;
  }
  return kSuccess;
}

Status Count(Handle h, const Terms& terms, const SpMat& c, int* nnz) {
  if (nnz == nullptr) return kInvalidValue;
  Call call(h);
  int* to = call.Out(nnz, sizeof *nnz);
  const Terms t = Mapped(call.work(), terms);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, false});
  return call.Run([=] {
    const Structure structure = StructureOf(t);
    WriteOffsets(structure.offsets, pc);
    *to = static_cast<int>(structure.nnz());
  });
}

template <typename T>
void Compute(const Terms& t, T alpha, T beta, const Structure& structure,
             const SpMat& c) {
  const Rows rows = RowsOf(c);
  std::vector<T> sums(Size(structure.nnz()), T(0));
  MultiplyInto(t.RowsOfA(), ValuesOf<T>(t.a), t.RowsOfB(), ValuesOf<T>(t.b),
               rows, &sums);
  for (T& sum : sums) sum = cublas::Mul(alpha, sum);
  AddInto(beta, t.RowsOfD(), ValuesOf<T>(t.d), /*conjugated=*/false, rows,
          &sums);
  for (Index p = 0; p < structure.nnz(); ++p) {
    Put<T>(c.type, c.values, p, sums[Size(p)]);
  }
}
Status Compute(Handle h, const void* alpha, const void* beta, Terms terms,
               SpMat c) {
  terms.has_product = alpha != nullptr;
  terms.has_sum = beta != nullptr;
  if (const Status bad = FindNnz(h, &c)) return bad;
  Call call(h);
  const DataType type = c.type;
  const Scalar av = alpha != nullptr ? call.In(type, alpha) : Scalar(0);
  const Scalar bv = beta != nullptr ? call.In(type, beta) : Scalar(0);
  const Terms t = Mapped(call.work(), terms);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return call.Run([=] {
    const Structure structure = StructureOf(t);
    if (structure.nnz() > pc.nnz) return;  // there is no room for it
    WriteColumns(structure.columns, pc);
    InType(type, [&]<typename T>() {
      Compute<T>(t, As<T>(av.Get()), As<T>(bv.Get()), structure, pc);
    });
  });
}

// The smallest color that no neighbour has, row after row, until that share of
// the rows has one; each of the rest has its own.
Status Color(Handle h, const MatDescr* descr, const SpMat& a,
             DataType fraction_type, const void* fraction, int* colors,
             int* coloring, int* reordering, const Info* info) {
  if (const Status bad = Check(descr, a)) return bad;
  if (!info || !fraction || !colors || !coloring) return kInvalidValue;
  Call call(h);
  const Scalar share = call.In(fraction_type, fraction);
  int* count = call.Out(colors, sizeof *colors);
  const std::size_t bytes = Size(a.rows) * sizeof(int);
  int* color = call.work().InOut(coloring, bytes);
  int* order = call.work().InOut(reordering, bytes);
  SpMat structure = a;
  structure.values = nullptr;
  const SpMat pa = Mapped(call.work(), structure);
  return call.Run([=] {
    // Neighbours in either direction.
    const Rows to = RowsOf(pa), from = RowsOf(pa, /*turned=*/true);
    const auto wanted = static_cast<Index>(
        std::ceil(share.Get().real() * static_cast<double>(pa.rows)));
    std::fill(color, color + pa.rows, -1);
    *count = 0;
    std::vector<Index> taken_by(Size(pa.rows) + 1, -1);
    for (Index i = 0; i < pa.rows; ++i) {
      int chosen = *count;
      if (i < wanted) {
        for (const Rows* rows : {&to, &from}) {
          for (auto p = Size(rows->offsets[Size(i)]);
               p < Size(rows->offsets[Size(i) + 1]); ++p) {
            const int other = color[rows->column[p]];
            if (other >= 0) taken_by[Size(other)] = i;
          }
        }
        for (chosen = 0; taken_by[Size(chosen)] == i;) ++chosen;
      }
      color[i] = chosen;
      *count = std::max(*count, chosen + 1);
    }
    if (order == nullptr) return;
    int place = 0;
    for (int c = 0; c < *count; ++c) {
      for (Index i = 0; i < pa.rows; ++i) {
        if (color[i] == c) order[i] = place++;
      }
    }
  });
}

DataType RealTypeOf(DataType type) {
  return type == cublas::kR64F || type == cublas::kC64F ? cublas::kR64F
                                                        : cublas::kR32F;
}

}  // namespace

CUSPARSE_EXPORT_SDCZ(csrgemm2_bufferSizeExt,
                     (Handle h, int, int, int, const void* alpha,
                      const MatDescr*, int, const int*, const int*,
                      const MatDescr*, int, const int*, const int*,
                      const void* beta, const MatDescr*, int, const int*,
                      const int*, Info* info, std::size_t* bytes),
                     [&]() -> Status {
                       if (info == nullptr || (!alpha && !beta)) {
                         return kInvalidValue;
                       }
                       info->has_product = alpha != nullptr;
                       info->has_sum = beta != nullptr;
                       return SizeOfBuffer(h, bytes);
                     }())
CUSPARSE_API Status cusparseXcsrgemm2Nnz(
    Handle h, int m, int n, int k, const MatDescr* descr_a, int nnz_a,
    const int* offsets_a, const int* columns_a, const MatDescr* descr_b,
    int nnz_b, const int* offsets_b, const int* columns_b,
    const MatDescr* descr_d, int nnz_d, const int* offsets_d,
    const int* columns_d, const MatDescr* descr_c, int* offsets_c, int* nnz,
    const Info* info, void*) {
  return Guarded(h, [&]() -> Status {
    if (info == nullptr) return kInvalidValue;
    const DataType any = cublas::kR32F;
    const SpMat a =
        Csr(any, descr_a, m, k, nnz_a, nullptr, offsets_a, columns_a);
    const SpMat b =
        Csr(any, descr_b, k, n, nnz_b, nullptr, offsets_b, columns_b);
    const SpMat d =
        Csr(any, descr_d, m, n, nnz_d, nullptr, offsets_d, columns_d);
    const SpMat c = Csr(any, descr_c, m, n, 0, nullptr, offsets_c, nullptr);
    if (const Status bad = CheckAll(
            {{descr_a, a}, {descr_b, b}, {descr_d, d}, {descr_c, c}})) {
      return bad;
    }
    return Count(h, {a, b, d, info->has_product, info->has_sum}, c, nnz);
  });
}
CUSPARSE_EXPORT_SDCZ(
    csrgemm2,
    (Handle h, int m, int n, int k, const void* alpha, const MatDescr* descr_a,
     int nnz_a, const void* values_a, const int* offsets_a,
     const int* columns_a, const MatDescr* descr_b, int nnz_b,
     const void* values_b, const int* offsets_b, const int* columns_b,
     const void* beta, const MatDescr* descr_d, int nnz_d, const void* values_d,
     const int* offsets_d, const int* columns_d, const MatDescr* descr_c,
     void* values_c, const int* offsets_c, int* columns_c, const Info*, void*),
    [&]() -> Status {
      const SpMat a =
          Csr(kType, descr_a, m, k, nnz_a, values_a, offsets_a, columns_a);
      const SpMat b =
          Csr(kType, descr_b, k, n, nnz_b, values_b, offsets_b, columns_b);
      const SpMat d =
          Csr(kType, descr_d, m, n, nnz_d, values_d, offsets_d, columns_d);
      const SpMat c =
          Csr(kType, descr_c, m, n, 0, values_c, offsets_c, columns_c);
      if (const Status bad = CheckAll(
              {{descr_a, a}, {descr_b, b}, {descr_d, d}, {descr_c, c}})) {
        return bad;
      }
      return Compute(h, alpha, beta, {a, b, d, true, true}, c);
    }())

CUSPARSE_EXPORT_SDCZ(
    csrcolor,
    (Handle h, int m, int nnz, const MatDescr* descr, const void* values,
     const int* offsets, const int* columns, const void* fraction, int* colors,
     int* coloring, int* reordering, const Info* info),
    Color(h, descr, Csr(kType, descr, m, m, nnz, values, offsets, columns),
          RealTypeOf(kType), fraction, colors, coloring, reordering, info))

}  // namespace cerberus::libraries::cusparse
