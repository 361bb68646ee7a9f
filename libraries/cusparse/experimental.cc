// What cusparse.h declares under CUSPARSE_ENABLE_EXPERIMENTAL_API, but for
// operations of the program's own.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "libraries/cusparse/conversions.h"
#include "libraries/cusparse/products.h"

namespace cerberus::libraries::cusparse {
namespace {

// cusparseSpMVDescr_t; a parameter is known by its number.
struct SpMvDescriptor {
  Operation op = cublas::kN;
  int algorithm = 0;
  void* buffer = nullptr;

  // Null if there is no such parameter of that size.
  void* Find(int parameter, std::size_t size) {
    switch (parameter) {
      case 0: return size == sizeof op ? &op : nullptr;
      case 1: return size == sizeof algorithm ? &algorithm : nullptr;
      case 2: return size == sizeof buffer ? &buffer : nullptr;
      default: return nullptr;
    }
  }
};

// cusparseSpMatPointers_t and cusparseSpMatSizes_t.
struct Pointers {
  Format format;
  void* arrays[8];
};
struct Sizes {
  Format format;
  Index numbers[8];
};
static_assert(sizeof(Pointers) == 72 && sizeof(Sizes) == 72);

// Which of a matrix' arrays are told, in which order.
std::vector<void**> ArraysOf(SpMat* m) {
  if (m->format == kBlockedEll) return {&m->minor.array, &m->values};
  return {&m->major.array, &m->minor.array, &m->values};
}
std::vector<Index> SizesOf(const SpMat& m) {
  switch (m.format) {
    case kBlockedEll: return {m.rows, m.columns, m.block_rows, m.ell_columns};
    case kSlicedEll: return {m.rows, m.columns, m.nnz, m.stored, m.slice};
    case kBsr:
      return {m.rows / m.block_rows, m.columns / m.block_columns, m.nnz,
              m.block_rows, m.block_columns};
    default: return {m.rows, m.columns, m.nnz};
  }
}

Status CheckConversion(Operation op, const SpMat* from, const SpMat* to,
                       const char* descriptor) {
  const bool turned = op == cublas::kT;
  if (!from || !to || !descriptor || !IsOperation(op) ||
      from->type != to->type ||
      to->rows != (turned ? from->columns : from->rows) ||
      to->columns != (turned ? from->rows : from->columns)) {
    return kInvalidValue;
  }
  const bool into_elements =
      to->format == kCsr || to->format == kCsc || to->format == kCoo;
  const bool into_blocks = to->format == kBsr && !turned;
  return op != cublas::kC && (into_elements || into_blocks) ? kSuccess
                                                            : kNotSupported;
}
// `to`'s elements by rows, or columns if it keeps them so.
Rows RowsFor(const SpMat& from, Operation op, const SpMat& to) {
  return RowsOf(from, (op == cublas::kT) != (to.format == kCsc));
}

Status AnalyseConversion(Handle h, Operation op, const SpMat& from, SpMat* to) {
  Call call(h);
  call.Wait();
  SpMat structure = from;
  structure.values = nullptr;
  SpMat sized = *to;
  sized.nnz = 0;
  const SpMat pf = Mapped(call.work(), structure);
  const SpMat pt = Mapped(call.work(), sized, {/*structure=*/true, false});
  return call.Run([=] {
    std::vector<Index> offsets;
    if (pt.format == kBsr) {
      offsets = BlocksOf(pf, pt.block_rows, pt.block_columns).offsets;
    } else {
      offsets = RowsFor(pf, op, pt).offsets;
    }
    if (pt.format != kCoo && pt.major.array != nullptr) {
      WriteOffsets(offsets, pt);
    }
    to->nnz = offsets.back();
  });
}

Status Convert(Handle h, Operation op, const SpMat& from, const SpMat& to,
               Action action) {
  // Blocks have values: those of structures alone would be of no use.
  const bool values = action == kNumeric;
  if (!values && to.format == kBsr) return kNotSupported;
  Call call(h);
  const SpMat pf = Mapped(call.work(), from);
  const SpMat pt = Mapped(call.work(), to, {/*structure=*/true, values});
  return call.Run([=] {
    if (pt.format == kBsr) FillBlocks(pf, pt);
    else Fill(RowsFor(pf, op, pt), pf, pt, values);
  });
}

}  // namespace

// --- z := alpha op(A) x + beta y
CUSPARSE_API Status cusparseSpMV_createDescr(SpMvDescriptor** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpMV_destroyDescr(SpMvDescriptor* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpMVDescrSetParam(SpMvDescriptor* descriptor,
                                              int parameter, const void* data,
                                              std::size_t size) {
  if (descriptor == nullptr || data == nullptr) return kInvalidValue;
  void* value = descriptor->Find(parameter, size);
  if (value == nullptr) return kInvalidValue;
  std::memcpy(value, data, size);
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMVDescrGetParam(SpMvDescriptor* descriptor,
                                              int parameter, void* data,
                                              std::size_t size) {
  if (descriptor == nullptr || data == nullptr) return kInvalidValue;
  const void* value = descriptor->Find(parameter, size);
  if (value == nullptr) return kInvalidValue;
  std::memcpy(data, value, size);
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMVGeneric_bufferSize(
    Handle h, const void*, const SpMat* a, const DnVec* x, const void*,
    const DnVec* y, const DnVec* z, DataType, const SpMvDescriptor* descriptor,
    std::size_t* bytes) {
  return !a || !x || !y || !z || !descriptor ? kInvalidValue
                                             : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpMVGeneric_preprocess(
    Handle h, const void*, const SpMat* a, const DnVec* x, const void*,
    const DnVec* y, const DnVec* z, DataType,
    const SpMvDescriptor* descriptor) {
  if (!IsAlive(h)) return kNotInitialized;
  return !a || !x || !y || !z || !descriptor ? kInvalidValue : kSuccess;
}
CUSPARSE_API Status cusparseSpMVGeneric(Handle h, const void* alpha,
                                        const SpMat* a, const DnVec* x,
                                        const void* beta, const DnVec* y,
                                        const DnVec* z, DataType compute,
                                        const SpMvDescriptor* descriptor) {
  return Guarded(h, [&]() -> Status {
    if (!a || !x || !y || !z || !descriptor) return kInvalidValue;
    return MultiplyVector(h, descriptor->op, alpha, *a, *x, beta, *y, *z,
                          compute);
  });
}

// --- what a matrix is made of
CUSPARSE_API Status cusparseSpMatGetSizes(const SpMat* m, Sizes* sizes) {
  if (m == nullptr || sizes == nullptr) return kInvalidValue;
  std::fill(std::begin(sizes->numbers), std::end(sizes->numbers), 0);
  sizes->format = m->format;
  const std::vector<Index> numbers = SizesOf(*m);
  std::copy(numbers.begin(), numbers.end(), sizes->numbers);
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMatGetPointers(SpMat* m, Pointers* pointers) {
  if (m == nullptr || pointers == nullptr) return kInvalidValue;
  std::fill(std::begin(pointers->arrays), std::end(pointers->arrays), nullptr);
  pointers->format = m->format;
  void** to = pointers->arrays;
  for (void** array : ArraysOf(m)) *to++ = *array;
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMatSetPointers(SpMat* m,
                                             const Pointers* pointers) {
  if (m == nullptr || pointers == nullptr || pointers->format != m->format) {
    return kInvalidValue;
  }
  void* const* from = pointers->arrays;
  for (void** array : ArraysOf(m)) *array = *from++;
  return kSuccess;
}

// --- from one format to another. Nothing is kept between calls.
CUSPARSE_API Status cusparseSpMatConvertDescrCreate(char** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseSpMatConvertDescrDestroy(char* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSpMatConvert_bufferSize(Handle h, Operation op,
                                                    const SpMat* from,
                                                    const SpMat* to, Action,
                                                    int, const char* descriptor,
                                                    std::size_t* bytes) {
  const Status bad = CheckConversion(op, from, to, descriptor);
  return bad ? bad : SizeOfBuffer(h, bytes);
}
CUSPARSE_API Status cusparseSpMatConvert_analysis(Handle h, Operation op,
                                                  const SpMat* from, SpMat* to,
                                                  Action, int,
                                                  const char* descriptor,
                                                  void*) {
  return Guarded(h, [&]() -> Status {
    const Status bad = CheckConversion(op, from, to, descriptor);
    return bad ? bad : AnalyseConversion(h, op, *from, to);
  });
}
CUSPARSE_API Status cusparseSpMatConvert(Handle h, Operation op,
                                         const SpMat* from, const SpMat* to,
                                         Action action, int,
                                         const char* descriptor, void*) {
  return Guarded(h, [&]() -> Status {
    const Status bad = CheckConversion(op, from, to, descriptor);
    return bad ? bad : Convert(h, op, *from, *to, action);
  });
}

}  // namespace cerberus::libraries::cusparse
