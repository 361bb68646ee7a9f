// Products and sums whose result is a sparse matrix: SpGEMM, SpGEAM, and what
// CUDA 11 and 12 had before.
#include <functional>
#include <memory>
#include <utility>

#include "libraries/cusparse/products.h"
#include "libraries/cusparse/rocsparse.h"
#include "libraries/cusparse/sparse_sums.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::As;

// What a descriptor keeps between the calls of SpGEMM.
struct Product {
  bool is_found = false;
  Index nnz = 0;
  std::shared_ptr<const Structure> structure;  // if the host has found it
  Index products = 0;
  std::function<Status()> count;  // how many there are, once that is asked for
};

bool IsUniform(const SpMat& a, const SpMat& b, const SpMat& c,
               DataType compute) {
  return a.type == b.type && b.type == c.type &&
         GoTogether(a.type, b.type, c.type, compute);
}

Status CheckProduct(Operation opa, Operation opb, const SpMat* a,
                    const SpMat* b, const SpMat* c) {
  if (!a || !b || !c || !IsOperation(opa) || !IsOperation(opb) ||
      a->columns != b->rows || a->rows != c->rows || b->columns != c->columns) {
    return kInvalidValue;
  }
  const bool supported = opa == cublas::kN && opb == cublas::kN &&
                         a->format == kCsr && b->format == kCsr &&
                         c->format == kCsr;
  return supported ? kSuccess : kNotSupported;
}

// A null buffer asks how large it should be.
bool AsksForSize(std::size_t* bytes, const void* buffer) {
  if (buffer != nullptr) return false;
  if (bytes != nullptr) *bytes = kBufferBytes;
  return true;
}

// By rocSPARSE, if that takes it.
bool Offer(Handle h, const void* alpha, const SpMat& a, const SpMat& b,
           const void* beta, const SpMat& c, DataType compute,
           Rocsparse::ProductPart part, Index* nnz, Status* status) {
  return h->rocsparse != nullptr &&
         h->rocsparse->MultiplySparse(*h, alpha, a, b, beta, c, compute, part,
                                      nnz, status);
}

// Finds the structure of A B, unless it has more elements than C's offsets can
// tell.
Status FindStructure(Handle h, const SpMat& a, const SpMat& b, const SpMat& c,
                     Product* product) {
  Call call(h);
  call.Wait();
  const SpMat pa = Mapped(call.work(), a), pb = Mapped(call.work(), b);
  auto structure = std::make_shared<Structure>();
  if (const Status bad = call.Run([=, most = c.major.most()] {
        const Rows ra = RowsOf(pa), rb = RowsOf(pb);
        if (FewestElements(ra, rb) > most) return;
        Structure found = ProductStructure(ra, rb);
        if (found.nnz() <= most) *structure = std::move(found);
      })) {
    return bad;
  }
  // One that was found has an offset at least.
  if (structure->offsets.empty()) return kInsufficientResources;
  product->structure = structure;
  return kSuccess;
}
// Tells C how many elements A B has.
Status FindProduct(Handle h, const SpMat& a, const SpMat& b, SpMat* c,
                   DataType compute, Product* product) {
  Status status = kSuccess;
  product->structure = nullptr;
  if (!Offer(h, nullptr, a, b, nullptr, *c, compute, Rocsparse::kCount,
             &product->nnz, &status)) {
    status = FindStructure(h, a, b, *c, product);
    if (status == kSuccess) product->nnz = product->structure->nnz();
  }
  product->is_found = status == kSuccess;
  if (product->is_found) c->nnz = product->nnz;
  return status;
}

// C's values := alpha A B + beta C at the elements that C has.
Status ComputeProduct(Handle h, const void* alpha, const SpMat& a,
                      const SpMat& b, const void* beta, const SpMat& c,
                      DataType compute,
                      const std::shared_ptr<const Structure>& structure) {
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  if (!IsUniform(a, b, c, compute)) return kNotSupported;
  if (structure != nullptr && structure->nnz() != c.nnz) return kInvalidValue;
  Call call(h);
  const Scalar av = call.In(compute, alpha), bv = call.In(compute, beta);
  const SpMat pa = Mapped(call.work(), a), pb = Mapped(call.work(), b);
  const SpMat pc =
      Mapped(call.work(), c, {/*structure=*/structure != nullptr, true});
  return call.Run([=] {
    if (structure != nullptr) {
      WriteOffsets(structure->offsets, pc);
      WriteColumns(structure->columns, pc);
    }
    const Rows ra = RowsOf(pa), rb = RowsOf(pb), rc = RowsOf(pc);
    InType(compute, [&]<typename T>() {
      const T factor = As<T>(av.Get()), keep = As<T>(bv.Get());
      std::vector<T> sums(Size(pc.nnz), T(0));
      if (factor != T(0)) {
        MultiplyInto(ra, ValuesOf<T>(pa), rb, ValuesOf<T>(pb), rc, &sums);
      }
      for (Index p = 0; p < pc.nnz; ++p) {
        Finish(factor, sums[Size(p)], keep, pc.type, pc.values, p, pc.values,
               p);
      }
    });
  });
}

// --- sums
struct Summand {
  SpMat matrix;
  Operation op = cublas::kN;
  bool is_zero = false;  // its factor is: it adds no elements

  Rows ByRows(const SpMat& mapped) const {
    return RowsOf(mapped, op != cublas::kN,
                  [this](Index, Index, Index) { return !is_zero; });
  }
};

// Writes the offsets of the rows of A + B, and how many elements it has.
Status FindSum(Handle h, const Summand& a, const Summand& b, const SpMat& c,
               bool wait, const std::function<void(Index)>& tell, Call* call) {
  const SpMat pa = Mapped(call->work(), a.matrix);
  const SpMat pb = Mapped(call->work(), b.matrix);
  SpMat sized = c;
  sized.nnz = 0;
  const SpMat pc = Mapped(call->work(), sized, {/*structure=*/true, false});
  if (wait) call->Wait();
  return call->Run([=] {
    const Structure sum = SumStructure(a.ByRows(pa), b.ByRows(pb));
    if (pc.major.array != nullptr) WriteOffsets(sum.offsets, pc);
    tell(sum.nnz());
  });
}
// C := alpha A + beta B, its structure too.
Status ComputeSum(Handle h, const void* alpha, const Summand& a,
                  const void* beta, const Summand& b, const SpMat& c,
                  DataType compute) {
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  Call call(h);
  const Scalar av = call.In(compute, alpha), bv = call.In(compute, beta);
  const SpMat pa = Mapped(call.work(), a.matrix);
  const SpMat pb = Mapped(call.work(), b.matrix);
  const SpMat pc = Mapped(call.work(), c, {/*structure=*/true, true});
  return call.Run([=] {
    const Rows ra = a.ByRows(pa), rb = b.ByRows(pb);
    const Structure sum = SumStructure(ra, rb);
    if (sum.nnz() > pc.nnz) return;  // there is no room for it
    WriteOffsets(sum.offsets, pc);
    WriteColumns(sum.columns, pc);
    const Rows rc = RowsOf(pc);
    InType(compute, [&]<typename T>() {
      std::vector<T> sums(Size(sum.nnz()), T(0));
      AddInto(As<T>(av.Get()), ra, ValuesOf<T>(pa), a.op == cublas::kC, rc,
              &sums);
      AddInto(As<T>(bv.Get()), rb, ValuesOf<T>(pb), b.op == cublas::kC, rc,
              &sums);
      for (Index p = 0; p < sum.nnz(); ++p) {
        Put<T>(pc.type, pc.values, p, sums[Size(p)]);
      }
    });
  });
}

Status CheckSum(const SpMat& a, Operation opa, const SpMat& b, Operation opb,
                const SpMat& c) {
  if (!IsOperation(opa) || !IsOperation(opb)) return kInvalidValue;
  const auto is_of_c = [&](const SpMat& m, Operation op) {
    return op == cublas::kN ? m.rows == c.rows && m.columns == c.columns
                            : m.rows == c.columns && m.columns == c.rows;
  };
  return is_of_c(a, opa) && is_of_c(b, opb) ? kSuccess : kInvalidValue;
}

// SpGEAM's summands: a factor of the host that is zero takes its matrix away.
struct Sum {
  Summand a, b;
  Status status = kSuccess;
};
Sum SumOf(Handle h, Operation opa, Operation opb, const void* alpha,
          const SpMat* a, const void* beta, const SpMat* b, const SpMat* c,
          DataType compute) {
  Sum out;
  if (!a || !b || !c || !alpha || !beta) return {{}, {}, kInvalidValue};
  out.status = CheckSum(*a, opa, *b, opb, *c);
  if (out.status == kSuccess &&
      (a->format != kCsr || b->format != kCsr || c->format != kCsr ||
       !IsUniform(*a, *b, *c, compute))) {
    out.status = kNotSupported;
  }
  const auto is_zero = [&](const void* factor) {
    return h->pointer_mode == cublas::kHostPointers &&
           cublas::Load(compute, factor, 0) == Complex64(0);
  };
  out.a = {*a, opa, is_zero(alpha)};
  out.b = {*b, opb, is_zero(beta)};
  return out;
}

// csrgeam2's and csrgemm2's, with an nnz of the host or the device.
Status FindLegacySum(Handle h, const MatDescr* descr_a, const SpMat& a,
                     const MatDescr* descr_b, const SpMat& b,
                     const MatDescr* descr_c, const SpMat& c, int* nnz) {
  for (const Status bad :
       {Check(descr_a, a), Check(descr_b, b), Check(descr_c, c)}) {
    if (bad) return bad;
  }
  if (nnz == nullptr) return kInvalidValue;
  Call call(h);
  int* to = call.Out(nnz, sizeof *nnz);
  return FindSum(
      h, {a}, {b}, c, /*wait=*/false,
      [to](Index found) { *to = static_cast<int>(found); }, &call);
}
Status ComputeLegacySum(Handle h, const void* alpha, const MatDescr* descr_a,
                        const SpMat& a, const void* beta,
                        const MatDescr* descr_b, const SpMat& b,
                        const MatDescr* descr_c, SpMat c) {
  for (const Status bad :
       {Check(descr_a, a), Check(descr_b, b), Check(descr_c, c)}) {
    if (bad) return bad;
  }
  if (const Status bad = FindNnz(h, &c)) return bad;
  return ComputeSum(h, alpha, {a}, beta, {b}, c, a.type);
}

}  // namespace

// --- SpGEMM: C := alpha A B + beta C
CUSPARSE_API Status cusparseSpGEMM_createDescr(Product** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpGEMM_destroyDescr(Product* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpGEMM_workEstimation(
    Handle h, Operation opa, Operation opb, const void*, const SpMat* a,
    const SpMat* b, const void*, const SpMat* c, DataType, int,
    Product* descriptor, std::size_t* bytes, void* buffer) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    if (AsksForSize(bytes, buffer)) return kSuccess;
    descriptor->count = [h, descriptor, a = *a, b = *b] {
      Call call(h);
      call.Wait();
      const SpMat pa = Mapped(call.work(), a), pb = Mapped(call.work(), b);
      return call.Run([=] {
        descriptor->products = CountProducts(RowsOf(pa), RowsOf(pb));
      });
    };
    // Few programs ask, and matrices on a GPU would have to be copied.
    return h->rocsparse != nullptr
               ? kSuccess
               : std::exchange(descriptor->count, nullptr)();
  });
}
CUSPARSE_API Status cusparseSpGEMM_getNumProducts(Product* descriptor,
                                                  Index* products) {
  if (descriptor == nullptr || products == nullptr) return kInvalidValue;
  if (descriptor->count) {
    const auto count = std::exchange(descriptor->count, nullptr);
    if (const Status bad = count()) return bad;
  }
  *products = descriptor->products;
  return kSuccess;
}
CUSPARSE_API Status cusparseSpGEMM_estimateMemory(
    Handle h, Operation opa, Operation opb, const void*, const SpMat* a,
    const SpMat* b, const void*, const SpMat* c, DataType, int,
    const Product* descriptor, float, std::size_t* bytes3, void* buffer3,
    std::size_t* bytes2) {
  if (!IsAlive(h)) return kNotInitialized;
  if (descriptor == nullptr) return kInvalidValue;
  if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
  if (!AsksForSize(bytes3, buffer3) && bytes2 != nullptr) {
    *bytes2 = kBufferBytes;
  }
  return kSuccess;
}
CUSPARSE_API Status cusparseSpGEMM_compute(
    Handle h, Operation opa, Operation opb, const void*, const SpMat* a,
    const SpMat* b, const void*, SpMat* c, DataType compute, int,
    Product* descriptor, std::size_t* bytes, void* buffer) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    if (!IsUniform(*a, *b, *c, compute)) return kNotSupported;
    if (AsksForSize(bytes, buffer)) return kSuccess;
    return FindProduct(h, *a, *b, c, compute, descriptor);
  });
}
CUSPARSE_API Status cusparseSpGEMM_copy(Handle h, Operation opa, Operation opb,
                                        const void* alpha, const SpMat* a,
                                        const SpMat* b, const void* beta,
                                        const SpMat* c, DataType compute, int,
                                        Product* descriptor) {
  return Guarded(h, [&]() -> Status {
    if (!descriptor || !descriptor->is_found || !alpha || !beta) {
      return kInvalidValue;
    }
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    if (!IsUniform(*a, *b, *c, compute)) return kNotSupported;
    if (descriptor->nnz != c->nnz) return kInvalidValue;
    Status status = kSuccess;
    Index nnz = 0;
    if (Offer(h, alpha, *a, *b, beta, *c, compute, Rocsparse::kWhole, &nnz,
              &status)) {
      return status;
    }
    if (!descriptor->structure) {
      const Status bad = FindStructure(h, *a, *b, *c, descriptor);
      if (bad) return bad;
    }
    return ComputeProduct(h, alpha, *a, *b, beta, *c, compute,
                          descriptor->structure);
  });
}

// The same with a structure that is found once and computed often.
CUSPARSE_API Status cusparseSpGEMMreuse_workEstimation(
    Handle h, Operation opa, Operation opb, const SpMat* a, const SpMat* b,
    const SpMat* c, int, const Product* descriptor, std::size_t* bytes,
    void* buffer) {
  if (!IsAlive(h)) return kNotInitialized;
  if (descriptor == nullptr) return kInvalidValue;
  AsksForSize(bytes, buffer);
  return CheckProduct(opa, opb, a, b, c);
}
CUSPARSE_API Status cusparseSpGEMMreuse_nnz(
    Handle h, Operation opa, Operation opb, const SpMat* a, const SpMat* b,
    SpMat* c, int, Product* descriptor, std::size_t* bytes2, void* buffer2,
    std::size_t* bytes3, void* buffer3, std::size_t* bytes4, void* buffer4) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    const bool asks2 = AsksForSize(bytes2, buffer2);
    const bool asks3 = AsksForSize(bytes3, buffer3);
    const bool asks4 = AsksForSize(bytes4, buffer4);
    if (asks2 || asks3 || asks4) return kSuccess;
    return FindProduct(h, *a, *b, c, c->type, descriptor);
  });
}
CUSPARSE_API Status cusparseSpGEMMreuse_copy(Handle h, Operation opa,
                                             Operation opb, const SpMat* a,
                                             const SpMat* b, const SpMat* c,
                                             int, Product* descriptor,
                                             std::size_t* bytes, void* buffer) {
  return Guarded(h, [&]() -> Status {
    if (!descriptor || !descriptor->is_found) return kInvalidValue;
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    if (AsksForSize(bytes, buffer)) return kSuccess;
    if (descriptor->nnz != c->nnz) return kInvalidValue;
    Status status = kSuccess;
    Index nnz = 0;
    if (Offer(h, nullptr, *a, *b, nullptr, *c, c->type, Rocsparse::kSymbols,
              &nnz, &status)) {
      return status;
    }
    if (!descriptor->structure) {
      const Status bad = FindStructure(h, *a, *b, *c, descriptor);
      if (bad) return bad;
    }
    const std::shared_ptr<const Structure> structure = descriptor->structure;
    Call call(h);
    const SpMat pc = Mapped(call.work(), *c, {/*structure=*/true, false});
    return call.Run([=] {
      WriteOffsets(structure->offsets, pc);
      WriteColumns(structure->columns, pc);
    });
  });
}
CUSPARSE_API Status cusparseSpGEMMreuse_compute(
    Handle h, Operation opa, Operation opb, const void* alpha, const SpMat* a,
    const SpMat* b, const void* beta, const SpMat* c, DataType compute, int,
    const Product* descriptor) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    if (const Status bad = CheckProduct(opa, opb, a, b, c)) return bad;
    if (!alpha || !beta) return kInvalidValue;
    if (!IsUniform(*a, *b, *c, compute)) return kNotSupported;
    Status status = kSuccess;
    Index nnz = 0;
    // rocSPARSE computes values alone with what its memory has of the symbols,
    // and that is gone.
    return Offer(h, alpha, *a, *b, beta, *c, compute, Rocsparse::kWhole, &nnz,
                 &status)
               ? status
               : ComputeProduct(h, alpha, *a, *b, beta, *c, compute, nullptr);
  });
}

// --- SpGEAM: C := alpha op(A) + beta op(B). Nothing is kept between calls.
CUSPARSE_API Status cusparseSpGEAM_createDescr(char** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpGEAM_destroyDescr(char* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpGEAM_bufferSize(Handle h, Operation, Operation,
                                              const void*, const SpMat* a,
                                              const void*, const SpMat* b,
                                              const SpMat* c, DataType, int,
                                              const char* descriptor,
                                              std::size_t* bytes) {
  return !a || !b || !c || !descriptor ? kInvalidValue : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpGEAM_nnz(Handle h, Operation opa, Operation opb,
                                       const void* alpha, const SpMat* a,
                                       const void* beta, const SpMat* b,
                                       SpMat* c, DataType compute, int,
                                       const char* descriptor, void*) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    const Sum sum = SumOf(h, opa, opb, alpha, a, beta, b, c, compute);
    if (sum.status != kSuccess) return sum.status;
    Call call(h);
    return FindSum(
        h, sum.a, sum.b, *c, /*wait=*/true,
        [c](Index found) { c->nnz = found; }, &call);
  });
}
CUSPARSE_API Status cusparseSpGEAM(Handle h, Operation opa, Operation opb,
                                   const void* alpha, const SpMat* a,
                                   const void* beta, const SpMat* b,
                                   const SpMat* c, DataType compute, int,
                                   const char* descriptor, void*) {
  return Guarded(h, [&]() -> Status {
    if (descriptor == nullptr) return kInvalidValue;
    const Sum sum = SumOf(h, opa, opb, alpha, a, beta, b, c, compute);
    if (sum.status != kSuccess) return sum.status;
    return ComputeSum(h, alpha, sum.a, beta, sum.b, *c, compute);
  });
}

// --- csrgeam2: C := alpha A + beta B
CUSPARSE_API Status cusparseXcsrgeam2Nnz(
    Handle h, int m, int n, const MatDescr* descr_a, int nnz_a,
    const int* offsets_a, const int* columns_a, const MatDescr* descr_b,
    int nnz_b, const int* offsets_b, const int* columns_b,
    const MatDescr* descr_c, int* offsets_c, int* nnz, void*) {
  return Guarded(h, [&]() -> Status {
    const DataType any = cublas::kR32F;
    return FindLegacySum(
        h, descr_a,
        Csr(any, descr_a, m, n, nnz_a, nullptr, offsets_a, columns_a), descr_b,
        Csr(any, descr_b, m, n, nnz_b, nullptr, offsets_b, columns_b), descr_c,
        Csr(any, descr_c, m, n, 0, nullptr, offsets_c, nullptr), nnz);
  });
}
CUSPARSE_EXPORT_SDCZ(csrgeam2_bufferSizeExt,
                     (Handle h, int, int, const void*, const MatDescr*, int,
                      const void*, const int*, const int*, const void*,
                      const MatDescr*, int, const void*, const int*, const int*,
                      const MatDescr*, const void*, const int*, const int*,
                      std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    csrgeam2,
    (Handle h, int m, int n, const void* alpha, const MatDescr* descr_a,
     int nnz_a, const void* values_a, const int* offsets_a,
     const int* columns_a, const void* beta, const MatDescr* descr_b, int nnz_b,
     const void* values_b, const int* offsets_b, const int* columns_b,
     const MatDescr* descr_c, void* values_c, int* offsets_c, int* columns_c,
     void*),
    ComputeLegacySum(
        h, alpha, descr_a,
        Csr(kType, descr_a, m, n, nnz_a, values_a, offsets_a, columns_a), beta,
        descr_b,
        Csr(kType, descr_b, m, n, nnz_b, values_b, offsets_b, columns_b),
        descr_c, Csr(kType, descr_c, m, n, 0, values_c, offsets_c, columns_c)))

}  // namespace cerberus::libraries::cusparse
