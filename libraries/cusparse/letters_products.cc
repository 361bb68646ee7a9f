// Products and triangular systems of the functions with a letter for their
// type, most of them with blocks.
#include "libraries/cusparse/info.h"
#include "libraries/cusparse/products.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;
using cublas::kN;

// A matrix by columns; with `turned` its transpose is meant.
DnMat Oriented(DataType type, bool turned, Index rows, Index columns,
               const void* values, Index ld) {
  DnMat m = Dense(type, rows, columns, values, ld);
  if (turned) m.order = kByRows;
  return m;
}
bool HasRoom(const DnMat& m) {
  return m.rows >= 0 && m.columns >= 0 &&
         m.ld >= std::max<Index>(1, m.order == kByColumns ? m.rows : m.columns);
}

Status MultiplyVector(Handle h, Operation op, const void* alpha,
                      const MatDescr* descr, const SpMat& a, const void* x,
                      const void* beta, void* y) {
  if (const Status bad = Check(descr, a)) return bad;
  const bool turned = op != kN;
  const DnVec in{turned ? a.rows : a.columns, const_cast<void*>(x), a.type};
  const DnVec out{turned ? a.columns : a.rows, y, a.type};
  return cusparse::MultiplyVector(h, op, alpha, a, in, beta, out, out, a.type);
}

Status MultiplyMatrix(Handle h, Operation opa, Operation opb, const void* alpha,
                      const MatDescr* descr, const SpMat& a, int n,
                      const void* b, int ldb, const void* beta, void* c,
                      int ldc) {
  if (const Status bad = Check(descr, a)) return bad;
  const Index rows = opa == kN ? a.rows : a.columns;
  const Index inner = opa == kN ? a.columns : a.rows;
  const DnMat left =
      Dense(a.type, opb == kN ? inner : n, opb == kN ? n : inner, b, ldb);
  const DnMat to = Dense(a.type, rows, n, c, ldc);
  if (!HasRoom(left) || !HasRoom(to)) return kInvalidValue;
  return cusparse::MultiplyMatrix(h, opa, opb, alpha, a, left, beta, to,
                                  a.type);
}

// y := alpha A x + beta y for those rows of blocks that a mask names, whose
// ends are told, too.
struct Masked {
  SpMat a;
  int masked;
  const int *mask, *ends;
};
template <typename T>
void MultiplyMasked(const Masked& m, T alpha, T beta, const T* x, T* y) {
  const SpMat& a = m.a;
  const Index side = a.block_rows;
  const auto* values = static_cast<const T*>(a.values);
  for (int k = 0; k < m.masked; ++k) {
    const Index row = m.mask[k] - a.base;
    if (row < 0 || row * side >= a.rows) continue;
    std::vector<T> sum(Size(side), T(0));
    for (Index p = a.major[row] - a.base; p < m.ends[row] - a.base; ++p) {
      const Index column = a.minor[p] - a.base;
      for (Index i = 0; i < side; ++i) {
        for (Index j = 0; j < side; ++j) {
          const Index inner = a.order == kByRows ? i * side + j : i + j * side;
          sum[Size(i)] += cublas::Mul(values[p * side * side + inner],
                                      x[column * side + j]);
        }
      }
    }
    for (Index i = 0; i < side; ++i) {
      Finish(alpha, sum[Size(i)], beta, a.type, y, row * side + i, y,
             row * side + i);
    }
  }
}
Status MultiplyMasked(Handle h, Operation op, const void* alpha,
                      const MatDescr* descr, Masked m, const void* x,
                      const void* beta, void* y) {
  if (const Status bad = Check(descr, m.a)) return bad;
  if (m.masked < 0 || alpha == nullptr || beta == nullptr) return kInvalidValue;
  if (op != kN) return kNotSupported;
  Call call(h);
  const DataType type = m.a.type;
  const Scalar av = call.In(type, alpha), bv = call.In(type, beta);
  const DnVec px =
      Mapped(call.work(), DnVec{m.a.columns, const_cast<void*>(x), type});
  const DnVec py = Mapped(call.work(), DnVec{m.a.rows, y, type}, true);
  const std::size_t blocks = Size(m.a.rows / m.a.block_rows);
  m.mask = call.work().In(m.mask, Size(m.masked) * sizeof(int));
  m.ends = call.work().In(m.ends, blocks * sizeof(int));
  // One row less than offsets have: its end is told elsewhere.
  void* const starts =
      const_cast<void*>(call.work().In(m.a.major.array, blocks * sizeof(int)));
  m.a.major.array = nullptr;
  m.a = Mapped(call.work(), m.a);
  m.a.major.array = starts;
  return call.Run([=] {
    InType(type, [&]<typename T>() {
      MultiplyMasked(m, As<T>(av.Get()), As<T>(bv.Get()),
                     static_cast<const T*>(px.values),
                     static_cast<T*>(py.values));
    });
  });
}

// C := alpha A B + beta C, A dense, B by columns: as C^T := B^T A^T, of which
// each is kept by rows.
Status MultiplyFromRight(Handle h, DataType type, int m, int n, int k, int nnz,
                         const void* alpha, const void* a, int lda,
                         const void* values, const int* offsets,
                         const int* rows, const void* beta, void* c, int ldc) {
  const SpMat b = Csr(type, nullptr, n, k, nnz, values, offsets, rows);
  const DnMat left = Oriented(type, true, k, m, a, lda);
  const DnMat to = Oriented(type, true, n, m, c, ldc);
  if (b.rows < 0 || b.columns < 0 || nnz < 0 || !HasRoom(left) ||
      !HasRoom(to)) {
    return kInvalidValue;
  }
  return cusparse::MultiplyMatrix(h, kN, kN, alpha, b, left, beta, to, type);
}

// --- triangular systems
Status Analyse(Handle h, const MatDescr* descr, const SpMat& a, Info* info) {
  return AnalyseDiagonal(h, descr, a, a.diag() != cublas::kUnit, info);
}

Status Solve(Handle h, Operation opa, Operation opx, const void* alpha,
             const MatDescr* descr, const SpMat& a, int n, const void* b,
             int ldb, void* x, int ldx, Info* info) {
  if (const Status bad = Check(descr, a)) return bad;
  const bool turned = opx != kN;
  System s;
  s.opa = opa;
  s.a = a;
  s.b = Oriented(a.type, turned, a.rows, n, b, ldb);
  s.x = Oriented(a.type, turned, a.rows, n, x, ldx);
  s.compute = a.type;
  if (info == nullptr || !IsOperation(opx) || !HasRoom(s.b) || !HasRoom(s.x)) {
    return kInvalidValue;
  }
  s.pivot = info->NewPivot();
  return cusparse::Solve(h, alpha, s);
}
Status SolveVector(Handle h, Operation op, const void* alpha,
                   const MatDescr* descr, const SpMat& a, const void* f,
                   void* x, Info* info) {
  const int rows = std::max(1, static_cast<int>(a.rows));
  return Solve(h, op, kN, alpha, descr, a, 1, f, rows, x, rows, info);
}

}  // namespace

CUSPARSE_EXPORT_SDCZ(bsrmv,
                     (Handle h, Direction direction, Operation op, int mb,
                      int nb, int nnzb, const void* alpha,
                      const MatDescr* descr, const void* values,
                      const int* offsets, const int* columns, int side,
                      const void* x, const void* beta, void* y),
                     MultiplyVector(h, op, alpha, descr,
                                    Bsr(kType, descr, direction, mb, nb, nnzb,
                                        values, offsets, columns, side, side),
                                    x, beta, y))
CUSPARSE_EXPORT_SDCZ(bsrxmv,
                     (Handle h, Direction direction, Operation op, int masked,
                      int mb, int nb, int nnzb, const void* alpha,
                      const MatDescr* descr, const void* values,
                      const int* mask, const int* offsets, const int* ends,
                      const int* columns, int side, const void* x,
                      const void* beta, void* y),
                     MultiplyMasked(h, op, alpha, descr,
                                    {Bsr(kType, descr, direction, mb, nb, nnzb,
                                         values, offsets, columns, side, side),
                                     masked, mask, ends},
                                    x, beta, y))
CUSPARSE_EXPORT_SDCZ(bsrmm,
                     (Handle h, Direction direction, Operation opa,
                      Operation opb, int mb, int n, int kb, int nnzb,
                      const void* alpha, const MatDescr* descr,
                      const void* values, const int* offsets,
                      const int* columns, int side, const void* b, int ldb,
                      const void* beta, void* c, int ldc),
                     MultiplyMatrix(h, opa, opb, alpha, descr,
                                    Bsr(kType, descr, direction, mb, kb, nnzb,
                                        values, offsets, columns, side, side),
                                    n, b, ldb, beta, c, ldc))
CUSPARSE_EXPORT_SDCZ(gemmi,
                     (Handle h, int m, int n, int k, int nnz, const void* alpha,
                      const void* a, int lda, const void* values,
                      const int* offsets, const int* rows, const void* beta,
                      void* c, int ldc),
                     MultiplyFromRight(h, kType, m, n, k, nnz, alpha, a, lda,
                                       values, offsets, rows, beta, c, ldc))

CUSPARSE_EXPORT_SDCZ(bsrsv2_bufferSize,
                     (Handle h, Direction, Operation, int, int, const MatDescr*,
                      void*, const int*, const int*, int, Info*, int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(bsrsv2_analysis,
                     (Handle h, Direction direction, Operation, int mb,
                      int nnzb, const MatDescr* descr, const void* values,
                      const int* offsets, const int* columns, int side,
                      Info* info, int, void*),
                     Analyse(h, descr,
                             Bsr(kType, descr, direction, mb, mb, nnzb, values,
                                 offsets, columns, side, side),
                             info))
CUSPARSE_EXPORT_SDCZ(bsrsv2_solve,
                     (Handle h, Direction direction, Operation op, int mb,
                      int nnzb, const void* alpha, const MatDescr* descr,
                      const void* values, const int* offsets,
                      const int* columns, int side, Info* info, const void* f,
                      void* x, int, void*),
                     SolveVector(h, op, alpha, descr,
                                 Bsr(kType, descr, direction, mb, mb, nnzb,
                                     values, offsets, columns, side, side),
                                 f, x, info))
CUSPARSE_EXPORT_SDCZ(bsrsm2_bufferSize,
                     (Handle h, Direction, Operation, Operation, int, int, int,
                      const MatDescr*, void*, const int*, const int*, int,
                      Info*, int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(bsrsm2_analysis,
                     (Handle h, Direction direction, Operation, Operation,
                      int mb, int, int nnzb, const MatDescr* descr,
                      const void* values, const int* offsets,
                      const int* columns, int side, Info* info, int, void*),
                     Analyse(h, descr,
                             Bsr(kType, descr, direction, mb, mb, nnzb, values,
                                 offsets, columns, side, side),
                             info))
CUSPARSE_EXPORT_SDCZ(bsrsm2_solve,
                     (Handle h, Direction direction, Operation opa,
                      Operation opx, int mb, int n, int nnzb, const void* alpha,
                      const MatDescr* descr, const void* values,
                      const int* offsets, const int* columns, int side,
                      Info* info, const void* b, int ldb, void* x, int ldx, int,
                      void*),
                     Solve(h, opa, opx, alpha, descr,
                           Bsr(kType, descr, direction, mb, mb, nnzb, values,
                               offsets, columns, side, side),
                           n, b, ldb, x, ldx, info))

// --- of CUDA 11
CUSPARSE_EXPORT_SDCZ(csrsv2_bufferSize,
                     (Handle h, Operation, int, int, const MatDescr*, void*,
                      const int*, const int*, Info*, int* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    csrsv2_analysis,
    (Handle h, Operation, int m, int nnz, const MatDescr* descr,
     const void* values, const int* offsets, const int* columns, Info* info,
     int, void*),
    Analyse(h, descr, Csr(kType, descr, m, m, nnz, values, offsets, columns),
            info))
CUSPARSE_EXPORT_SDCZ(
    csrsv2_solve,
    (Handle h, Operation op, int m, int nnz, const void* alpha,
     const MatDescr* descr, const void* values, const int* offsets,
     const int* columns, Info* info, const void* f, void* x, int, void*),
    SolveVector(h, op, alpha, descr,
                Csr(kType, descr, m, m, nnz, values, offsets, columns), f, x,
                info))
CUSPARSE_EXPORT_SDCZ(csrsm2_bufferSizeExt,
                     (Handle h, int, Operation, Operation, int, int, int,
                      const void*, const MatDescr*, const void*, const int*,
                      const int*, const void*, int, Info*, int,
                      std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    csrsm2_analysis,
    (Handle h, int, Operation, Operation, int m, int, int nnz, const void*,
     const MatDescr* descr, const void* values, const int* offsets,
     const int* columns, const void*, int, Info* info, int, void*),
    Analyse(h, descr, Csr(kType, descr, m, m, nnz, values, offsets, columns),
            info))
CUSPARSE_EXPORT_SDCZ(
    csrsm2_solve,
    (Handle h, int, Operation opa, Operation opb, int m, int n, int nnz,
     const void* alpha, const MatDescr* descr, const void* values,
     const int* offsets, const int* columns, void* b, int ldb, Info* info, int,
     void*),
    Solve(h, opa, opb, alpha, descr,
          Csr(kType, descr, m, m, nnz, values, offsets, columns), n, b, ldb, b,
          ldb, info))

}  // namespace cerberus::libraries::cusparse
