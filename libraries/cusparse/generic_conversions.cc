// Conversions of the generic functions, and csr2cscEx2.
#include "libraries/cusparse/conversions.h"
#include "libraries/cusparse/rocsparse.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

Status CheckPair(const SpMat* sparse, const DnMat* dense) {
  if (!sparse || !dense || sparse->rows != dense->rows ||
      sparse->columns != dense->columns || sparse->type != dense->type) {
    return kInvalidValue;
  }
  return kSuccess;
}

Status ToDense(Handle h, const SpMat& a, const DnMat& b) {
  if (Status status = kSuccess;
      h->rocsparse != nullptr && h->rocsparse->ToDense(*h, a, b, &status)) {
    return status;
  }
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pb =
      Mapped(call.work(), AsSparse(b), {/*structure=*/false, true});
  return call.Run([=] { FillDense(pa, pb); });
}

bool HasElements(Format format) {
  return format == kCsr || format == kCsc || format == kCoo;
}

// Which elements B will have: it is told how many, and gets its offsets.
Status Analyse(Handle h, const DnMat& a, SpMat* b) {
  if (b->format == kBlockedEll) return kSuccess;  // those that it has
  if (!HasElements(b->format)) return kNotSupported;
  Status status = kSuccess;
  if (Index nnz = 0;
      h->rocsparse != nullptr &&
      h->rocsparse->ToSparse(*h, a, *b, /*counts=*/true, &nnz, &status)) {
    if (status == kSuccess) b->nnz = nnz;
    return status;
  }
  Call call(h);
  call.Wait();
  const bool turned = b->format == kCsc;
  const SpMat pa = Mapped(call.work(), AsSparse(a));
  SpMat sized = *b;
  sized.nnz = 0;
  const SpMat pb = Mapped(call.work(), sized, {/*structure=*/true, false});
  return call.Run([=] {
    const Rows rows = NotZero(pa, turned);
    if (pb.format != kCoo && pb.major.array != nullptr) {
      WriteOffsets(rows.offsets, pb);
    }
    b->nnz = rows.nnz();
  });
}

Status ToSparse(Handle h, const DnMat& a, const SpMat& b) {
  const bool blocks = b.format == kBlockedEll;
  if (!blocks && !HasElements(b.format)) return kNotSupported;
  Status status = kSuccess;
  if (Index nnz = 0;
      !blocks && h->rocsparse != nullptr &&
      h->rocsparse->ToSparse(*h, a, b, /*counts=*/false, &nnz, &status)) {
    return status;
  }
  Call call(h);
  const SpMat pa = Mapped(call.work(), AsSparse(a));
  const SpMat pb = Mapped(call.work(), b, {/*structure=*/!blocks, true});
  return call.Run([=] {
    if (!blocks) return Fill(NotZero(pa, pb.format == kCsc), pa, pb, true);
    for (Index p = 0; p < pb.ValueCount(); ++p) {
      cublas::Store(pb.type, pb.values, p, 0);
    }
    ForEach(pb, [&](Index i, Index j, Index p) {
      const Index from = pa.order == kByColumns ? i + j * pa.ld : i * pa.ld + j;
      CopyElement(pb.type, pa.values, from, pb.values, p);
    });
  });
}

Status Transpose(Handle h, const SpMat& from, const SpMat& to, Action action,
                 IndexBase base) {
  if (from.rows < 0 || from.columns < 0 || from.nnz < 0 ||
      cublas::SizeOf(from.type) == 0 ||
      (action != kSymbolic && action != kNumeric) || !IsBase(base)) {
    return kInvalidValue;
  }
  const bool numeric = action == kNumeric;
  Call call(h);
  const SpMat a = Mapped(call.work(), from);
  const SpMat b = Mapped(call.work(), to, {/*structure=*/true, numeric});
  return call.Run([=] { Fill(RowsOf(a, /*turned=*/true), a, b, numeric); });
}

}  // namespace

CUSPARSE_API Status cusparseSparseToDense_bufferSize(Handle h, const SpMat* a,
                                                     const DnMat* b, int,
                                                     std::size_t* bytes) {
  const Status bad = CheckPair(a, b);
  return bad ? bad : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSparseToDense(Handle h, const SpMat* a,
                                          const DnMat* b, int, void*) {
  return Guarded(h, [&]() -> Status {
    const Status bad = CheckPair(a, b);
    return bad ? bad : ToDense(h, *a, *b);
  });
}
CUSPARSE_API Status cusparseDenseToSparse_bufferSize(Handle h, const DnMat* a,
                                                     const SpMat* b, int,
                                                     std::size_t* bytes) {
  const Status bad = CheckPair(b, a);
  return bad ? bad : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseDenseToSparse_analysis(Handle h, const DnMat* a,
                                                   SpMat* b, int, void*) {
  return Guarded(h, [&]() -> Status {
    const Status bad = CheckPair(b, a);
    return bad ? bad : Analyse(h, *a, b);
  });
}
CUSPARSE_API Status cusparseDenseToSparse_convert(Handle h, const DnMat* a,
                                                  const SpMat* b, int, void*) {
  return Guarded(h, [&]() -> Status {
    const Status bad = CheckPair(b, a);
    return bad ? bad : ToSparse(h, *a, *b);
  });
}

CUSPARSE_API Status cusparseCsr2cscEx2_bufferSize(
    Handle h, int m, int n, int nnz, const void*, const int*, const int*, void*,
    int*, int*, DataType, Action, IndexBase, int, std::size_t* bytes) {
  if (m < 0 || n < 0 || nnz < 0) return kInvalidValue;
  return SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseCsr2cscEx2(Handle h, int m, int n, int nnz,
                                       const void* csr_values,
                                       const int* csr_offsets,
                                       const int* csr_columns, void* csc_values,
                                       int* csc_offsets, int* csc_rows,
                                       DataType type, Action action,
                                       IndexBase base, int, void*) {
  return Guarded(h, [&]() -> Status {
    MatDescr descr;
    descr.base = base;
    return Transpose(
        h, Csr(type, &descr, m, n, nnz, csr_values, csr_offsets, csr_columns),
        Compressed(kCsc, type, &descr, m, n, nnz, csc_values, csc_offsets,
                   csc_rows),
        action, base);
  });
}

}  // namespace cerberus::libraries::cusparse
