// Orders of elements: offsets from rows and back, sorting with a permutation
// that goes along.
#include <numeric>

#include "libraries/cusparse/info.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

Status RowsToOffsets(Handle h, const int* rows, int nnz, int m, int* offsets,
                     IndexBase base) {
  if (nnz < 0 || m < 0 || !IsBase(base)) return kInvalidValue;
  Call call(h);
  const int* from = call.work().In(rows, Size(nnz) * sizeof(int));
  int* to = call.work().InOut(offsets, Size(m + 1) * sizeof(int));
  return call.Run([=] {
    std::fill(to, to + m + 1, 0);
    for (int p = 0; p < nnz; ++p) {
      const int row = from[p] - base;
      if (row >= 0 && row < m) ++to[row + 1];
    }
    to[0] = base;
    std::partial_sum(to, to + m + 1, to);
  });
}
Status OffsetsToRows(Handle h, const int* offsets, int nnz, int m, int* rows,
                     IndexBase base) {
  if (nnz < 0 || m < 0 || !IsBase(base)) return kInvalidValue;
  Call call(h);
  const int* from = call.work().In(offsets, Size(m + 1) * sizeof(int));
  int* to = call.work().InOut(rows, Size(nnz) * sizeof(int));
  return call.Run([=] {
    for (int i = 0; i < m; ++i) {
      const int end = std::min(from[i + 1] - base, nnz);
      for (int p = std::max(from[i] - base, 0); p < end; ++p) to[p] = i + base;
    }
  });
}

// `order` names for each place the element that goes there.
template <typename T>
void Arrange(const std::vector<Index>& order, Index first, T* array) {
  if (array == nullptr) return;
  std::vector<T> before(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    before[i] = array[first + order[i]];
  }
  std::copy(before.begin(), before.end(), array + first);
}
template <typename Less>
std::vector<Index> Sorted(Index count, const Less& less) {
  std::vector<Index> order(Size(count));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return less(a, b) || (!less(b, a) && a < b);
  });
  return order;
}

Status SortElements(Handle h, int m, int n, int nnz, int* first, int* second,
                    int* permutation) {
  if (m < 0 || n < 0 || nnz < 0) return kInvalidValue;
  Call call(h);
  const std::size_t bytes = Size(nnz) * sizeof(int);
  int* pf = call.work().InOut(first, bytes);
  int* ps = call.work().InOut(second, bytes);
  int* pp = call.work().InOut(permutation, bytes);
  return call.Run([=] {
    const auto order = Sorted(nnz, [&](Index a, Index b) {
      return pf[a] != pf[b] ? pf[a] < pf[b] : ps[a] < ps[b];
    });
    for (int* array : {pf, ps, pp}) Arrange(order, 0, array);
  });
}

// The elements of each row, or column.
Status SortWithin(Handle h, int majors, int nnz, const MatDescr* descr,
                  const int* offsets, int* indices, int* permutation) {
  if (majors < 0 || nnz < 0 || descr == nullptr) return kInvalidValue;
  Call call(h);
  const int* po = call.work().In(offsets, Size(majors + 1) * sizeof(int));
  int* pi = call.work().InOut(indices, Size(nnz) * sizeof(int));
  int* pp = call.work().InOut(permutation, Size(nnz) * sizeof(int));
  const int base = descr->base;
  return call.Run([=] {
    for (int i = 0; i < majors; ++i) {
      const int first = std::max(po[i] - base, 0);
      const int end = std::min(po[i + 1] - base, nnz);
      const auto order = Sorted(end - first, [&](Index a, Index b) {
        return pi[first + a] < pi[first + b];
      });
      Arrange(order, first, pi);
      Arrange(order, first, pp);
    }
  });
}

// Sorts each row and remembers how; or puts everything back.
Status SortRows(Handle h, bool back, const MatDescr* descr, const SpMat& a,
                Info* info) {
  if (const Status bad = Check(descr, a)) return bad;
  if (info == nullptr || (back && info->order == nullptr)) return kInvalidValue;
  if (!back) info->order = std::make_shared<std::vector<Index>>();
  const std::shared_ptr<std::vector<Index>> order = info->order;
  Call call(h);
  // Offsets are written, too, as they are.
  const SpMat pa = Mapped(call.work(), a, {/*structure=*/true, true});
  return call.Run([=] {
    if (!back) *order = RowsOf(pa).place;
    const std::size_t bytes = cublas::SizeOf(pa.type);
    const auto* values = static_cast<const std::byte*>(pa.values);
    const std::vector<std::byte> before(values, values + order->size() * bytes);
    std::vector<Index> columns(order->size());
    for (std::size_t p = 0; p < columns.size(); ++p) {
      columns[p] = pa.minor[static_cast<Index>(p)];
    }
    for (std::size_t p = 0; p < order->size(); ++p) {
      const auto sorted = static_cast<Index>(p);
      const Index from = back ? sorted : (*order)[p];
      const Index to = back ? (*order)[p] : sorted;
      pa.minor.Set(to, columns[Size(from)]);
      CopyElement(pa.type, before.data(), from, pa.values, to);
    }
  });
}

}  // namespace

CUSPARSE_API Status cusparseXcoo2csr(Handle h, const int* rows, int nnz, int m,
                                     int* offsets, IndexBase base) {
  return Guarded(h,
                 [&] { return RowsToOffsets(h, rows, nnz, m, offsets, base); });
}
CUSPARSE_API Status cusparseXcsr2coo(Handle h, const int* offsets, int nnz,
                                     int m, int* rows, IndexBase base) {
  return Guarded(h,
                 [&] { return OffsetsToRows(h, offsets, nnz, m, rows, base); });
}
CUSPARSE_API Status cusparseCreateIdentityPermutation(Handle h, int n, int* p) {
  return Guarded(h, [&]() -> Status {
    if (n < 0) return kInvalidValue;
    Call call(h);
    int* to = call.work().InOut(p, Size(n) * sizeof(int));
    return call.Run([=] { std::iota(to, to + n, 0); });
  });
}
CUSPARSE_API Status cusparseXcoosort_bufferSizeExt(Handle h, int m, int n,
                                                   int nnz, const int*,
                                                   const int*,
                                                   std::size_t* bytes) {
  if (m < 0 || n < 0 || nnz < 0) return kInvalidValue;
  return SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseXcoosortByRow(Handle h, int m, int n, int nnz,
                                          int* rows, int* columns,
                                          int* permutation, void*) {
  return Guarded(h, [&] {
    return SortElements(h, m, n, nnz, rows, columns, permutation);
  });
}
CUSPARSE_API Status cusparseXcoosortByColumn(Handle h, int m, int n, int nnz,
                                             int* rows, int* columns,
                                             int* permutation, void*) {
  return Guarded(h, [&] {
    return SortElements(h, m, n, nnz, columns, rows, permutation);
  });
}
CUSPARSE_API Status cusparseXcsrsort_bufferSizeExt(Handle h, int m, int n,
                                                   int nnz, const int*,
                                                   const int*,
                                                   std::size_t* bytes) {
  if (m < 0 || n < 0 || nnz < 0) return kInvalidValue;
  return SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseXcsrsort(Handle h, int m, int, int nnz,
                                     const MatDescr* descr, const int* offsets,
                                     int* columns, int* permutation, void*) {
  return Guarded(h, [&] {
    return SortWithin(h, m, nnz, descr, offsets, columns, permutation);
  });
}
CUSPARSE_API Status cusparseXcscsort_bufferSizeExt(Handle h, int m, int n,
                                                   int nnz, const int*,
                                                   const int*,
                                                   std::size_t* bytes) {
  if (m < 0 || n < 0 || nnz < 0) return kInvalidValue;
  return SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseXcscsort(Handle h, int, int n, int nnz,
                                     const MatDescr* descr, const int* offsets,
                                     int* rows, int* permutation, void*) {
  return Guarded(h, [&] {
    return SortWithin(h, n, nnz, descr, offsets, rows, permutation);
  });
}

CUSPARSE_EXPORT_SDCZ(csru2csr_bufferSizeExt,
                     (Handle h, int, int, int, void*, const int*, int*, Info*,
                      std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    csru2csr,
    (Handle h, int m, int n, int nnz, const MatDescr* descr, void* values,
     const int* offsets, int* columns, Info* info, void*),
    SortRows(h, /*back=*/false, descr,
             Csr(kType, descr, m, n, nnz, values, offsets, columns), info))
CUSPARSE_EXPORT_SDCZ(
    csr2csru,
    (Handle h, int m, int n, int nnz, const MatDescr* descr, void* values,
     const int* offsets, int* columns, Info* info, void*),
    SortRows(h, /*back=*/true, descr,
             Csr(kType, descr, m, n, nnz, values, offsets, columns), info))

}  // namespace cerberus::libraries::cusparse
