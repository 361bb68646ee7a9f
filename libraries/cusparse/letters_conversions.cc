// Conversions of the functions with a letter for their type: to blocks, from
// them, between blocks of different sizes, and of dense matrices.
#include "libraries/cusparse/conversions.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

// Of structures alone the type does not matter.
constexpr DataType kAny = cublas::kR32F;

Status CheckBoth(const MatDescr* descr_a, const SpMat& a,
                 const MatDescr* descr_c, const SpMat& c) {
  const Status bad = Check(descr_a, a);
  return bad ? bad : Check(descr_c, c);
}

// Offsets of C's blocks, and how many there are, told to the host or the
// device.
Status CountBlocks(Handle h, const MatDescr* descr_a, SpMat a,
                   const MatDescr* descr_c, SpMat c, int* nnz) {
  if (const Status bad = CheckBoth(descr_a, a, descr_c, c)) return bad;
  if (nnz == nullptr) return kInvalidValue;
  if (const Status bad = FindNnz(h, &a)) return bad;
  c.nnz = 0;
  a.values = nullptr;
  Call call(h);
  int* to = call.Out(nnz, sizeof *nnz);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, false});
  return call.Run([=] {
    const Structure blocks = BlocksOf(pa, pc.block_rows, pc.block_columns);
    WriteOffsets(blocks.offsets, pc);
    *to = static_cast<int>(blocks.nnz());
  });
}
// C's offsets are there already.
Status ToBlocks(Handle h, const MatDescr* descr_a, SpMat a,
                const MatDescr* descr_c, SpMat c) {
  if (const Status bad = CheckBoth(descr_a, a, descr_c, c)) return bad;
  if (const Status bad = FindNnz(h, &a)) return bad;
  if (const Status bad = FindNnz(h, &c)) return bad;
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return call.Run([=] { FillBlocks(pa, pc); });
}
// All elements of A's blocks.
Status FromBlocks(Handle h, const MatDescr* descr_a, SpMat a,
                  const MatDescr* descr_c, SpMat c) {
  if (const Status bad = CheckBoth(descr_a, a, descr_c, c)) return bad;
  if (const Status bad = FindNnz(h, &a)) return bad;
  c.nnz = a.ValueCount();
  const bool values = a.values != nullptr;
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, values});
  return call.Run([=] { Fill(RowsOf(pa), pa, pc, values); });
}

// Blocks as elements of their own: what is in them stays as it is.
Status TransposeBlocks(Handle h, const SpMat& a, void* values, int* rows,
                       int* offsets, Action action, IndexBase base) {
  MatDescr descr;
  descr.base = base;
  if (const Status bad = Check(&descr, a)) return bad;
  if (!IsBase(base) || (action != kSymbolic && action != kNumeric)) {
    return kInvalidValue;
  }
  const bool numeric = action == kNumeric;
  SpMat from = a;
  from.base = base;
  SpMat to = from;
  to.major.array = offsets;
  to.minor.array = rows;
  to.values = values;
  std::swap(to.rows, to.columns);
  std::swap(to.block_rows, to.block_columns);  // so many offsets
  Call call(h);
  const SpMat pa = Mapped(call.work(), from);
  const SpMat pc = Mapped(call.work(), to, {/*structure=*/true, numeric});
  return call.Run([=] {
    SpMat blocks = pa;
    blocks.format = kCsr;
    blocks.rows = pa.rows / pa.block_rows;
    blocks.columns = pa.columns / pa.block_columns;
    const Rows turned = RowsOf(blocks, /*turned=*/true);
    WriteOffsets(turned.offsets, pc);
    WriteColumns(turned.column, pc);
    const Index size = pa.block_rows * pa.block_columns;
    for (Index p = 0; p < turned.nnz() && numeric; ++p) {
      for (Index k = 0; k < size; ++k) {
        CopyElement(pa.type, pa.values, turned.place[Size(p)] * size + k,
                    pc.values, p * size + k);
      }
    }
  });
}

bool IsDense(const SpMat& a) {
  return a.rows >= 0 && a.columns >= 0 && a.ld >= std::max<Index>(1, a.rows);
}

// How many elements of each row or column are not zero, and of all.
Status CountNotZero(Handle h, Direction direction, const MatDescr* descr,
                    const SpMat& a, int* counts, int* total) {
  if (const Status bad = Check(descr, a)) return bad;
  if (!IsDense(a) || total == nullptr ||
      (direction != kRowsFirst && direction != kColumnsFirst)) {
    return kInvalidValue;
  }
  const bool turned = direction == kColumnsFirst;
  const Index lines = turned ? a.columns : a.rows;
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  int* pc = call.work().InOut(counts, Size(lines) * sizeof(int));
  int* pt = call.Out(total, sizeof *total);
  return call.Run([=] {
    const Rows rows = NotZero(pa, turned);
    for (Index i = 0; i < lines; ++i) {
      pc[i] =
          static_cast<int>(rows.offsets[Size(i) + 1] - rows.offsets[Size(i)]);
    }
    *pt = static_cast<int>(rows.nnz());
  });
}

// --- of CUDA 11
Status ToDense(Handle h, const MatDescr* descr, SpMat a, const SpMat& dense) {
  if (const Status bad = Check(descr, a)) return bad;
  if (!IsDense(dense)) return kInvalidValue;
  if (const Status bad = FindNnz(h, &a)) return bad;
  Call call(h);
  const SpMat pa = Mapped(call.work(), a);
  const SpMat pd = Mapped(call.work(), dense, {/*structure=*/false, true});
  return call.Run([=] { FillDense(pa, pd); });
}
// `counts`: how many elements each row or column will have.
Status FromDense(Handle h, const MatDescr* descr, const SpMat& dense,
                 const int* counts, SpMat c) {
  if (const Status bad = Check(descr, c)) return bad;
  if (!IsDense(dense)) return kInvalidValue;
  const bool turned = c.format == kCsc;
  c.nnz = std::int64_t{1} << 31;
  if (!h->driver->shares_memory) {
    std::vector<int> read(Size(turned ? c.columns : c.rows));
    if (!Read(h, counts, read.data(), read.size() * sizeof(int))) {
      return kExecutionFailed;
    }
    c.nnz = 0;
    for (const int count : read) c.nnz += count;
  }
  Call call(h);
  const SpMat pd = Mapped(call.work(), dense);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return call.Run([=] { Fill(NotZero(pd, turned), pd, pc, true); });
}

int Blocks(int n, int size) { return size > 0 ? (n + size - 1) / size : 0; }

}  // namespace

// --- CSR and blocks
CUSPARSE_API Status cusparseXcsr2bsrNnz(Handle h, Direction direction, int m,
                                        int n, const MatDescr* descr_a,
                                        const int* offsets_a,
                                        const int* columns_a, int side,
                                        const MatDescr* descr_c, int* offsets_c,
                                        int* nnz) {
  return Guarded(h, [&]() -> Status {
    return CountBlocks(
        h, descr_a, Csr(kAny, descr_a, m, n, 0, nullptr, offsets_a, columns_a),
        descr_c,
        Bsr(kAny, descr_c, direction, Blocks(m, side), Blocks(n, side), 0,
            nullptr, offsets_c, nullptr, side, side),
        nnz);
  });
}
CUSPARSE_EXPORT_SDCZ(
    csr2bsr,
    (Handle h, Direction direction, int m, int n, const MatDescr* descr_a,
     const void* values_a, const int* offsets_a, const int* columns_a, int side,
     const MatDescr* descr_c, void* values_c, int* offsets_c, int* columns_c),
    ToBlocks(h, descr_a,
             Csr(kType, descr_a, m, n, 0, values_a, offsets_a, columns_a),
             descr_c,
             Bsr(kType, descr_c, direction, Blocks(m, side), Blocks(n, side), 0,
                 values_c, offsets_c, columns_c, side, side)))
CUSPARSE_API Status cusparseXcsr2gebsrNnz(
    Handle h, Direction direction, int m, int n, const MatDescr* descr_a,
    const int* offsets_a, const int* columns_a, const MatDescr* descr_c,
    int* offsets_c, int block_rows, int block_columns, int* nnz, void*) {
  return Guarded(h, [&]() -> Status {
    return CountBlocks(
        h, descr_a, Csr(kAny, descr_a, m, n, 0, nullptr, offsets_a, columns_a),
        descr_c,
        Bsr(kAny, descr_c, direction, Blocks(m, block_rows),
            Blocks(n, block_columns), 0, nullptr, offsets_c, nullptr,
            block_rows, block_columns),
        nnz);
  });
}
CUSPARSE_EXPORT_SDCZ(csr2gebsr_bufferSize,
                     (Handle h, Direction, int, int, const MatDescr*,
                      const void*, const int*, const int*, int, int,
                      int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    csr2gebsr,
    (Handle h, Direction direction, int m, int n, const MatDescr* descr_a,
     const void* values_a, const int* offsets_a, const int* columns_a,
     const MatDescr* descr_c, void* values_c, int* offsets_c, int* columns_c,
     int block_rows, int block_columns, void*),
    ToBlocks(h, descr_a,
             Csr(kType, descr_a, m, n, 0, values_a, offsets_a, columns_a),
             descr_c,
             Bsr(kType, descr_c, direction, Blocks(m, block_rows),
                 Blocks(n, block_columns), 0, values_c, offsets_c, columns_c,
                 block_rows, block_columns)))
CUSPARSE_EXPORT_SDCZ(bsr2csr,
                     (Handle h, Direction direction, int mb, int nb,
                      const MatDescr* descr_a, const void* values_a,
                      const int* offsets_a, const int* columns_a, int side,
                      const MatDescr* descr_c, void* values_c, int* offsets_c,
                      int* columns_c),
                     FromBlocks(h, descr_a,
                                Bsr(kType, descr_a, direction, mb, nb, 0,
                                    values_a, offsets_a, columns_a, side, side),
                                descr_c,
                                Csr(kType, descr_c, mb* side, nb* side, 0,
                                    values_c, offsets_c, columns_c)))
CUSPARSE_EXPORT_SDCZ(
    gebsr2csr,
    (Handle h, Direction direction, int mb, int nb, const MatDescr* descr_a,
     const void* values_a, const int* offsets_a, const int* columns_a,
     int block_rows, int block_columns, const MatDescr* descr_c, void* values_c,
     int* offsets_c, int* columns_c),
    FromBlocks(h, descr_a,
               Bsr(kType, descr_a, direction, mb, nb, 0, values_a, offsets_a,
                   columns_a, block_rows, block_columns),
               descr_c,
               Csr(kType, descr_c, mb* block_rows, nb* block_columns, 0,
                   values_c, offsets_c, columns_c)))

// --- blocks and blocks
CUSPARSE_EXPORT_SDCZ(gebsr2gebsc_bufferSize,
                     (Handle h, int, int, int, const void*, const int*,
                      const int*, int, int, int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    gebsr2gebsc,
    (Handle h, int mb, int nb, int nnzb, const void* values, const int* offsets,
     const int* columns, int block_rows, int block_columns, void* bsc_values,
     int* bsc_rows, int* bsc_offsets, Action action, IndexBase base, void*),
    TransposeBlocks(h,
                    Bsr(kType, nullptr, kRowsFirst, mb, nb, nnzb, values,
                        offsets, columns, block_rows, block_columns),
                    bsc_values, bsc_rows, bsc_offsets, action, base))
CUSPARSE_EXPORT_SDCZ(gebsr2gebsr_bufferSize,
                     (Handle h, Direction, int, int, int, const MatDescr*,
                      const void*, const int*, const int*, int, int, int, int,
                      int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_API Status cusparseXgebsr2gebsrNnz(
    Handle h, Direction direction, int mb, int nb, int, const MatDescr* descr_a,
    const int* offsets_a, const int* columns_a, int block_rows_a,
    int block_columns_a, const MatDescr* descr_c, int* offsets_c,
    int block_rows_c, int block_columns_c, int* nnz, void*) {
  return Guarded(h, [&]() -> Status {
    return CountBlocks(
        h, descr_a,
        Bsr(kAny, descr_a, direction, mb, nb, 0, nullptr, offsets_a, columns_a,
            block_rows_a, block_columns_a),
        descr_c,
        Bsr(kAny, descr_c, direction, Blocks(mb * block_rows_a, block_rows_c),
            Blocks(nb * block_columns_a, block_columns_c), 0, nullptr,
            offsets_c, nullptr, block_rows_c, block_columns_c),
        nnz);
  });
}
CUSPARSE_EXPORT_SDCZ(
    gebsr2gebsr,
    (Handle h, Direction direction, int mb, int nb, int,
     const MatDescr* descr_a, const void* values_a, const int* offsets_a,
     const int* columns_a, int block_rows_a, int block_columns_a,
     const MatDescr* descr_c, void* values_c, int* offsets_c, int* columns_c,
     int block_rows_c, int block_columns_c, void*),
    ToBlocks(h, descr_a,
             Bsr(kType, descr_a, direction, mb, nb, 0, values_a, offsets_a,
                 columns_a, block_rows_a, block_columns_a),
             descr_c,
             Bsr(kType, descr_c, direction,
                 Blocks(mb* block_rows_a, block_rows_c),
                 Blocks(nb* block_columns_a, block_columns_c), 0, values_c,
                 offsets_c, columns_c, block_rows_c, block_columns_c)))

// --- dense matrices
CUSPARSE_EXPORT_SDCZ(nnz,
                     (Handle h, Direction direction, int m, int n,
                      const MatDescr* descr, const void* a, int lda,
                      int* counts, int* total),
                     CountNotZero(h, direction, descr,
                                  DenseAsSparse(kType, m, n, a, lda), counts,
                                  total))
CUSPARSE_EXPORT_SDCZ(
    csr2dense,
    (Handle h, int m, int n, const MatDescr* descr, const void* values,
     const int* offsets, const int* columns, void* a, int lda),
    ToDense(h, descr, Csr(kType, descr, m, n, 0, values, offsets, columns),
            DenseAsSparse(kType, m, n, a, lda)))
CUSPARSE_EXPORT_SDCZ(
    csc2dense,
    (Handle h, int m, int n, const MatDescr* descr, const void* values,
     const int* rows, const int* offsets, void* a, int lda),
    ToDense(h, descr,
            Compressed(kCsc, kType, descr, m, n, 0, values, offsets, rows),
            DenseAsSparse(kType, m, n, a, lda)))
CUSPARSE_EXPORT_SDCZ(
    dense2csr,
    (Handle h, int m, int n, const MatDescr* descr, const void* a, int lda,
     const int* counts, void* values, int* offsets, int* columns),
    FromDense(h, descr, DenseAsSparse(kType, m, n, a, lda), counts,
              Csr(kType, descr, m, n, 0, values, offsets, columns)))
CUSPARSE_EXPORT_SDCZ(
    dense2csc,
    (Handle h, int m, int n, const MatDescr* descr, const void* a, int lda,
     const int* counts, void* values, int* rows, int* offsets),
    FromDense(h, descr, DenseAsSparse(kType, m, n, a, lda), counts,
              Compressed(kCsc, kType, descr, m, n, 0, values, offsets, rows)))

}  // namespace cerberus::libraries::cusparse
