// The functions of cusparselt.def: products with a matrix of which half is
// zero. Descriptors are the program's memory, of 512 bytes at least; each is
// whole, so that it may be copied.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include "libraries/common/driver.h"
#include "libraries/common/rocm.h"
#include "libraries/common/work.h"
#include "libraries/cusparselt/structured.h"

#define LT_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cusparselt {
namespace {

using cublas::Operation;

// cuSPARSE's.
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kNotSupported = 10,
};
constexpr int kVersion[] = {0, 8, 1};

template <typename T>
struct Opaque : T {
  std::uint64_t magic = kMagic;
  static constexpr std::uint64_t kMagic = 0x7374726963686561 + sizeof(T);
};
// Null if it is none.
template <typename T>
T* Find(void* pointer) {
  auto* const found = static_cast<Opaque<T>*>(pointer);
  return found != nullptr && found->magic == Opaque<T>::kMagic ? found
                                                               : nullptr;
}
template <typename T>
const T* Find(const void* pointer) {
  return Find<T>(const_cast<void*>(pointer));
}
template <typename T>
void Make(void* place, const T& value) {
  static_assert(sizeof(Opaque<T>) <= 512);
  new (place) Opaque<T>{value};
}
template <typename T>
Status Destroy(const void* pointer) {
  if (Find<T>(pointer) == nullptr) return kInvalidValue;
  static_cast<Opaque<T>*>(const_cast<void*>(pointer))->magic = 0;
  return kSuccess;
}

struct Handle {
  const Driver* driver;
};
struct Matrix {
  Shape shape;
  bool structured;
};
struct Algorithm {
  int config, most_configs, iterations, split_k, split_mode, split_buffers;
};
struct Product {
  Operation a_op, b_op;
  Matrix a, b, c, d;
  int relu, gelu, alpha_vector, beta_vector;
  float relu_most, relu_threshold, gelu_scale;
  std::int64_t bias_stride;
  const void* bias;
  const void* sparse;

  Index m() const { return d.shape.rows; }
  Index n() const { return d.shape.columns; }
  Index k() const {
    return a_op == cublas::kN ? a.shape.columns : a.shape.rows;
  }
  // Of the sparse one: strips go along what is summed over.
  Structured sparse_one() const {
    return a.structured ? Structured{a.shape, a_op == cublas::kN}
                        : Structured{b.shape, b_op != cublas::kN};
  }
};
struct Plan {
  Product product;
};

// An attribute and where it is.
struct Field {
  int number;
  std::size_t offset, size;
};
#define FIELD(Type, number, member) \
  {number, offsetof(Type, member), sizeof(Type::member)}
constexpr Field kOfMatrix[] = {FIELD(Matrix, 1, shape.stride)};
constexpr Field kOfProduct[] = {
    FIELD(Product, 0, relu),           FIELD(Product, 1, relu_most),
    FIELD(Product, 2, relu_threshold), FIELD(Product, 3, gelu),
    FIELD(Product, 4, gelu_scale),     FIELD(Product, 5, alpha_vector),
    FIELD(Product, 6, beta_vector),    FIELD(Product, 7, bias_stride),
    FIELD(Product, 8, bias),           FIELD(Product, 9, sparse),
};
constexpr Field kOfAlgorithm[] = {
    FIELD(Algorithm, 0, config),     FIELD(Algorithm, 1, most_configs),
    FIELD(Algorithm, 2, iterations), FIELD(Algorithm, 3, split_k),
    FIELD(Algorithm, 4, split_mode), FIELD(Algorithm, 5, split_buffers),
};
#undef FIELD

template <typename T, std::size_t kCount>
std::byte* PlaceOf(T* of, const Field (&fields)[kCount], int number,
                   std::size_t size) {
  for (const Field& field : fields) {
    if (field.number == number && field.size == size) {
      return reinterpret_cast<std::byte*>(of) + field.offset;
    }
  }
  return nullptr;
}
template <typename T, std::size_t kCount>
Status Set(const void* handle, void* of, const Field (&fields)[kCount],
           int number, const void* data, std::size_t size) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  T* const found = Find<T>(of);
  if (found == nullptr || data == nullptr) return kInvalidValue;
  std::byte* const place = PlaceOf(found, fields, number, size);
  if (place == nullptr) return kInvalidValue;
  std::memcpy(place, data, size);
  return kSuccess;
}
template <typename T, std::size_t kCount>
Status Get(const void* handle, const void* of, const Field (&fields)[kCount],
           int number, void* data, std::size_t size) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  T* const found = Find<T>(const_cast<void*>(of));
  if (found == nullptr || data == nullptr) return kInvalidValue;
  const std::byte* const place = PlaceOf(found, fields, number, size);
  if (place == nullptr) return kInvalidValue;
  std::memcpy(data, place, size);
  return kSuccess;
}

Status MakeMatrix(const void* handle, void* place, std::int64_t rows,
                  std::int64_t columns, std::int64_t ld, DataType type,
                  int order, bool structured) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  // CUSPARSE_ORDER_COL and _ROW.
  if (place == nullptr || rows < 1 || columns < 1 || order < 1 || order > 2 ||
      ld < (order == 2 ? columns : rows)) {
    return kInvalidValue;
  }
  if (cublas::SizeOf(type) == 0 || cublas::IsComplexType(type)) {
    return kNotSupported;
  }
  Make<Matrix>(place,
               {{type, rows, columns, ld, order == 2, 1, 0}, structured});
  return kSuccess;
}

Index RowsOf(const Matrix& m, Operation op) {
  return op == cublas::kN ? m.shape.rows : m.shape.columns;
}
Index ColumnsOf(const Matrix& m, Operation op) {
  return op == cublas::kN ? m.shape.columns : m.shape.rows;
}

// An array of the device in the order of a stream.
const std::byte* MapIn(Work& work, const void* p, std::size_t bytes) {
  return work.In(static_cast<const std::byte*>(p), bytes);
}
std::size_t BytesOf(const Shape& shape) {
  return static_cast<std::size_t>(shape.span()) * cublas::SizeOf(shape.type);
}

template <typename F>
Status Guard(const void* handle, const F& f) {
  const Handle* const found = Find<Handle>(handle);
  if (found == nullptr) return kNotInitialized;
  try {
    return f(*found->driver);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
Status StatusOf(bool done) { return done ? kSuccess : kExecutionFailed; }

Status DoPrune(const void* handle, const Structured& s, const void* in,
               void* out, int algorithm, Stream stream) {
  if (in == nullptr || out == nullptr || algorithm < kTile ||
      algorithm > kStrip) {
    return kInvalidValue;
  }
  return Guard(handle, [&](const Driver& driver) {
    Work work(driver, stream);
    const std::size_t bytes = BytesOf(s.shape);
    void* const to = work.InOut(static_cast<std::byte*>(out), bytes);
    const void* const from = in == out ? to : MapIn(work, in, bytes);
    return StatusOf(work.Run(
        [=] { Prune(s, static_cast<PruneAlgorithm>(algorithm), from, to); },
        /*wait=*/false));
  });
}
// 0: it is pruned.
Status DoCheck(const void* handle, const Structured& s, const void* in,
               int* valid, Stream stream) {
  if (in == nullptr || valid == nullptr) return kInvalidValue;
  return Guard(handle, [&](const Driver& driver) {
    Work work(driver, stream);
    const void* const from = MapIn(work, in, BytesOf(s.shape));
    int* const to = work.InOut(valid, sizeof *valid);
    return StatusOf(work.Run([=] { *to = IsPruned(s, from) ? 0 : 1; },
                             /*wait=*/false));
  });
}
Status DoCompress(const void* handle, const Structured& s, const void* in,
                  void* out, Stream stream) {
  if (in == nullptr || out == nullptr) return kInvalidValue;
  return Guard(handle, [&](const Driver& driver) {
    Work work(driver, stream);
    const void* const from = MapIn(work, in, BytesOf(s.shape));
    void* const to =
        work.InOut(static_cast<std::byte*>(out), s.CompressedBytes());
    return StatusOf(work.Run([=] { Compress(s, from, to); }, /*wait=*/false));
  });
}
Status TellSize(const void* handle, const Structured& s, std::size_t* size,
                std::size_t* buffer) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  if (size == nullptr) return kInvalidValue;
  *size = s.CompressedBytes();
  if (buffer != nullptr) *buffer = 0;
  return kSuccess;
}
// By a matrix and how it is used.
std::optional<Structured> Describe(const void* matrix, int is_a, Operation op) {
  const Matrix* const found = Find<Matrix>(matrix);
  if (found == nullptr || !found->structured) return std::nullopt;
  return Structured{found->shape, (op == cublas::kN) == (is_a != 0)};
}

// --- the product
struct Operands {
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  const void* bias;
  float alpha_value, beta_value;
};

template <typename T>
std::vector<T> Dense(const Matrix& matrix, const void* memory, Index batch) {
  const Shape& s = matrix.shape;
  std::vector<T> out;
  for (Index j = 0; j < s.columns; ++j) {
    for (Index i = 0; i < s.rows; ++i) {
      out.push_back(cublas::As<T>(
          cublas::Load(s.type, memory, batch * s.stride + s.PlaceOf(i, j))));
    }
  }
  return out;
}

double Activated(const Product& p, double x) {
  if (p.relu != 0) {
    if (!(x > static_cast<double>(p.relu_threshold)) && !std::isnan(x))
      return 0;
    return std::min(x, static_cast<double>(p.relu_most));
  }
  if (p.gelu != 0) {
    return cublas::Gelu(x) * static_cast<double>(p.gelu_scale);
  }
  return x;
}

template <typename T>
void RunBatch(const Product& p, const Operands& o, Index batch) {
  const Structured sparse = p.sparse_one();
  const std::vector<T> a = p.a.structured ? Expand<T>(sparse, o.a, batch)
                                          : Dense<T>(p.a, o.a, batch);
  const std::vector<T> b = p.a.structured ? Dense<T>(p.b, o.b, batch)
                                          : Expand<T>(sparse, o.b, batch);
  const Index m = p.m(), n = p.n();
  std::vector<T> sums(static_cast<std::size_t>(m * n));
  cublas::Gemm<T>(p.a_op, p.b_op, m, n, p.k(), T(1), a.data(), p.a.shape.rows,
                  b.data(), p.b.shape.rows, T(0), sums.data(), m);
  const auto scalar = [](const void* vector, float value, Index i) -> double {
    return vector != nullptr ? cublas::Load(cublas::kR32F, vector, i).real()
                             : static_cast<double>(value);
  };
  // Biases have D's type, those of integers f32.
  const DataType bias_type =
      p.d.shape.type == cublas::kR8I || p.d.shape.type == cublas::kR32I
          ? cublas::kR32F
          : p.d.shape.type;
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      double x = scalar(o.alpha, o.alpha_value, i) *
                 static_cast<double>(sums[static_cast<std::size_t>(i + j * m)]);
      const double beta = scalar(o.beta, o.beta_value, i);
      if (beta != 0) {
        const Shape& c = p.c.shape;
        x +=
            beta * cublas::Load(c.type, o.c, batch * c.stride + c.PlaceOf(i, j))
                       .real();
      }
      if (o.bias != nullptr) {
        x += cublas::Load(bias_type, o.bias, batch * p.bias_stride + i).real();
      }
      const Shape& d = p.d.shape;
      cublas::Store(d.type, o.d, batch * d.stride + d.PlaceOf(i, j),
                    Activated(p, x));
    }
  }
}
void Run(const Product& p, const Operands& o) {
  for (Index batch = 0; batch < p.d.shape.batches; ++batch) {
    // Doubles hold sums of 8-bit integers.
    if (p.a.shape.type == cublas::kR8I) RunBatch<double>(p, o, batch);
    else RunBatch<float>(p, o, batch);
  }
}

Status Multiply(const void* handle, const void* plan, const void* alpha,
                const void* a, const void* b, const void* beta, const void* c,
                void* d, Stream stream) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  const Plan* const found = Find<Plan>(plan);
  if (found == nullptr || alpha == nullptr || a == nullptr || b == nullptr ||
      beta == nullptr || d == nullptr) {
    return kInvalidValue;
  }
  const Product p = found->product;
  Operands o = {};
  if (p.alpha_vector == 0) std::memcpy(&o.alpha_value, alpha, sizeof(float));
  if (p.beta_vector == 0) std::memcpy(&o.beta_value, beta, sizeof(float));
  const bool reads_c = p.beta_vector != 0 || o.beta_value != 0;
  if (reads_c && c == nullptr) return kInvalidValue;
  return Guard(handle, [&](const Driver& driver) {
    Work work(driver, stream);
    const std::size_t compressed = p.sparse_one().CompressedBytes();
    const auto rows = static_cast<std::size_t>(p.m());
    o.a = MapIn(work, a, p.a.structured ? compressed : BytesOf(p.a.shape));
    o.b = MapIn(work, b, p.a.structured ? BytesOf(p.b.shape) : compressed);
    o.d = work.InOut(static_cast<std::byte*>(d), BytesOf(p.d.shape));
    if (reads_c) {
      o.c = c == d ? o.d : MapIn(work, c, BytesOf(p.c.shape));
    }
    if (p.alpha_vector != 0) o.alpha = MapIn(work, alpha, rows * 4);
    if (p.beta_vector != 0) o.beta = MapIn(work, beta, rows * 4);
    if (p.bias != nullptr) {
      const Index count = (p.d.shape.batches - 1) * p.bias_stride + p.m();
      o.bias =
          MapIn(work, p.bias,
                static_cast<std::size_t>(count) *
                    std::max<std::size_t>(4, cublas::SizeOf(p.d.shape.type)));
    }
    return StatusOf(work.Run([=] { Run(p, o); }, /*wait=*/false));
  });
}
Stream First(Stream* streams, std::int32_t count) {
  return streams != nullptr && count > 0 ? streams[0] : nullptr;
}

}  // namespace

LT_API Status cusparseLtInit(void* handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* const driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  SayComputesOnHost(*driver, "cuSPARSELt");
  Make<Handle>(handle, {driver});
  return kSuccess;
}
LT_API Status cusparseLtDestroy(const void* handle) {
  return Destroy<Handle>(handle);
}
LT_API Status cusparseLtGetVersion(const void*, int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];
  return kSuccess;
}
LT_API Status cusparseLtGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = kVersion[property];
  return kSuccess;
}
LT_API const char* cusparseLtGetErrorName(Status status) {
  switch (status) {
    case kSuccess: return "CUSPARSE_STATUS_SUCCESS";
    case kNotInitialized: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUSPARSE_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUSPARSE_STATUS_INVALID_VALUE";
    case kExecutionFailed: return "CUSPARSE_STATUS_EXECUTION_FAILED";
    case kNotSupported: return "CUSPARSE_STATUS_NOT_SUPPORTED";
  }
  return "unrecognized error code";
}
LT_API const char* cusparseLtGetErrorString(Status status) {
  switch (status) {
    case kSuccess: return "success";
    case kNotInitialized: return "initialization error";
    case kAllocFailed: return "out of memory";
    case kInvalidValue: return "invalid value";
    case kExecutionFailed: return "execution failed";
    case kNotSupported: return "operation not supported";
  }
  return "unrecognized error code";
}

LT_API Status cusparseLtDenseDescriptorInit(const void* handle, void* matrix,
                                            std::int64_t rows,
                                            std::int64_t columns,
                                            std::int64_t ld, std::uint32_t,
                                            DataType type, int order) {
  return MakeMatrix(handle, matrix, rows, columns, ld, type, order, false);
}
LT_API Status cusparseLtStructuredDescriptorInit(
    const void* handle, void* matrix, std::int64_t rows, std::int64_t columns,
    std::int64_t ld, std::uint32_t, DataType type, int order, int sparsity) {
  // CUSPARSELT_SPARSITY_50_PERCENT
  if (sparsity != 0) return kInvalidValue;
  return MakeMatrix(handle, matrix, rows, columns, ld, type, order, true);
}
LT_API Status cusparseLtMatDescriptorDestroy(const void* matrix) {
  return Destroy<Matrix>(matrix);
}
// CUSPARSELT_MAT_NUM_BATCHES is an int.
LT_API Status cusparseLtMatDescSetAttribute(const void* handle, void* matrix,
                                            int number, const void* data,
                                            std::size_t size) {
  if (number != 0) {
    return Set<Matrix>(handle, matrix, kOfMatrix, number, data, size);
  }
  Matrix* const found = Find<Matrix>(matrix);
  int batches = 0;
  if (found == nullptr || data == nullptr || size != sizeof batches) {
    return kInvalidValue;
  }
  std::memcpy(&batches, data, size);
  if (batches < 1) return kInvalidValue;
  found->shape.batches = batches;
  return kSuccess;
}
LT_API Status cusparseLtMatDescGetAttribute(const void* handle,
                                            const void* matrix, int number,
                                            void* data, std::size_t size) {
  if (number != 0) {
    return Get<Matrix>(handle, matrix, kOfMatrix, number, data, size);
  }
  const Matrix* const found = Find<Matrix>(matrix);
  if (found == nullptr || data == nullptr || size != sizeof(int)) {
    return kInvalidValue;
  }
  const auto batches = static_cast<int>(found->shape.batches);
  std::memcpy(data, &batches, size);
  return kSuccess;
}

LT_API Status cusparseLtMatmulDescriptorInit(const void* handle, void* product,
                                             Operation op_a, Operation op_b,
                                             const void* a, const void* b,
                                             const void* c, const void* d,
                                             int /*compute*/) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  const Matrix *ma = Find<Matrix>(a), *mb = Find<Matrix>(b);
  const Matrix *mc = Find<Matrix>(c), *md = Find<Matrix>(d);
  if (product == nullptr || !ma || !mb || !mc || !md || op_a < cublas::kN ||
      op_a > cublas::kT || op_b < cublas::kN || op_b > cublas::kT ||
      RowsOf(*ma, op_a) != md->shape.rows ||
      ColumnsOf(*mb, op_b) != md->shape.columns ||
      ColumnsOf(*ma, op_a) != RowsOf(*mb, op_b) ||
      mc->shape.rows != md->shape.rows ||
      mc->shape.columns != md->shape.columns) {
    return kInvalidValue;
  }
  if (ma->structured == mb->structured || mc->structured || md->structured ||
      ma->shape.type != mb->shape.type) {
    return kNotSupported;
  }
  Product made = {op_a, op_b, *ma, *mb, *mc, *md, 0,       0,
                  0,    0,    0,   0,   0,   0,   nullptr, nullptr};
  made.relu_most = HUGE_VALF;
  made.gelu_scale = 1;
  Make<Product>(product, made);
  return kSuccess;
}
LT_API Status cusparseLtMatmulDescSetAttribute(const void* handle,
                                               void* product, int number,
                                               const void* data,
                                               std::size_t size) {
  const Status status =
      Set<Product>(handle, product, kOfProduct, number, data, size);
  // CUSPARSELT_MATMUL_GELU_SCALING switches GELU on.
  if (status == kSuccess && number == 4) Find<Product>(product)->gelu = 1;
  return status;
}
LT_API Status cusparseLtMatmulDescGetAttribute(const void* handle,
                                               const void* product, int number,
                                               void* data, std::size_t size) {
  return Get<Product>(handle, product, kOfProduct, number, data, size);
}

LT_API Status cusparseLtMatmulAlgSelectionInit(const void* handle, void* place,
                                               const void* product,
                                               int algorithm) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  if (place == nullptr || Find<Product>(product) == nullptr || algorithm != 0) {
    return kInvalidValue;
  }
  Make<Algorithm>(place, {0, 1, 10, 1, 0, 0});
  return kSuccess;
}
LT_API Status cusparseLtMatmulAlgSelectionDestroy(const void* algorithm) {
  return Destroy<Algorithm>(algorithm);
}
LT_API Status cusparseLtMatmulAlgSetAttribute(const void* handle,
                                              void* algorithm, int number,
                                              const void* data,
                                              std::size_t size) {
  return Set<Algorithm>(handle, algorithm, kOfAlgorithm, number, data, size);
}
LT_API Status cusparseLtMatmulAlgGetAttribute(const void* handle,
                                              const void* algorithm, int number,
                                              void* data, std::size_t size) {
  return Get<Algorithm>(handle, algorithm, kOfAlgorithm, number, data, size);
}

// Before version 0.4 the size of a workspace followed, which is not read.
LT_API Status cusparseLtMatmulPlanInit(const void* handle, void* plan,
                                       const void* product,
                                       const void* algorithm) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  const Product* const found = Find<Product>(product);
  if (plan == nullptr || found == nullptr ||
      Find<Algorithm>(algorithm) == nullptr) {
    return kInvalidValue;
  }
  Make<Plan>(plan, {*found});
  return kSuccess;
}
LT_API Status cusparseLtMatmulPlanDestroy(const void* plan) {
  return Destroy<Plan>(plan);
}
LT_API Status cusparseLtMatmulGetWorkspace(const void* handle, const void* plan,
                                           std::size_t* bytes) {
  if (Find<Handle>(handle) == nullptr) return kNotInitialized;
  if (Find<Plan>(plan) == nullptr || bytes == nullptr) return kInvalidValue;
  *bytes = 0;
  return kSuccess;
}
LT_API Status cusparseLtMatmul(const void* handle, const void* plan,
                               const void* alpha, const void* a, const void* b,
                               const void* beta, const void* c, void* d, void*,
                               Stream* streams, std::int32_t count) {
  return Multiply(handle, plan, alpha, a, b, beta, c, d, First(streams, count));
}
// There is one way, which is the fastest.
LT_API Status cusparseLtMatmulSearch(const void* handle, void* plan,
                                     const void* alpha, const void* a,
                                     const void* b, const void* beta,
                                     const void* c, void* d, void*,
                                     Stream* streams, std::int32_t count) {
  return Multiply(handle, plan, alpha, a, b, beta, c, d, First(streams, count));
}

LT_API Status cusparseLtSpMMAPrune(const void* handle, const void* product,
                                   const void* in, void* out, int algorithm,
                                   Stream stream) {
  const Product* const found = Find<Product>(product);
  if (found == nullptr) return kInvalidValue;
  return DoPrune(handle, found->sparse_one(), in, out, algorithm, stream);
}
LT_API Status cusparseLtSpMMAPrune2(const void* handle, const void* matrix,
                                    int is_a, Operation op, const void* in,
                                    void* out, int algorithm, Stream stream) {
  const auto s = Describe(matrix, is_a, op);
  return s ? DoPrune(handle, *s, in, out, algorithm, stream) : kInvalidValue;
}
LT_API Status cusparseLtSpMMAPruneCheck(const void* handle, const void* product,
                                        const void* in, int* valid,
                                        Stream stream) {
  const Product* const found = Find<Product>(product);
  if (found == nullptr) return kInvalidValue;
  return DoCheck(handle, found->sparse_one(), in, valid, stream);
}
LT_API Status cusparseLtSpMMAPruneCheck2(const void* handle, const void* matrix,
                                         int is_a, Operation op, const void* in,
                                         int* valid, Stream stream) {
  const auto s = Describe(matrix, is_a, op);
  return s ? DoCheck(handle, *s, in, valid, stream) : kInvalidValue;
}
LT_API Status cusparseLtSpMMACompressedSize(const void* handle,
                                            const void* plan, std::size_t* size,
                                            std::size_t* buffer) {
  const Plan* const found = Find<Plan>(plan);
  if (found == nullptr) return kInvalidValue;
  return TellSize(handle, found->product.sparse_one(), size, buffer);
}
// Whichever way its strips go.
LT_API Status cusparseLtSpMMACompressedSize2(const void* handle,
                                             const void* matrix,
                                             std::size_t* size,
                                             std::size_t* buffer) {
  const auto along = Describe(matrix, 1, cublas::kN);
  const auto across = Describe(matrix, 1, cublas::kT);
  if (!along || !across) return kInvalidValue;
  const bool more = along->CompressedBytes() > across->CompressedBytes();
  return TellSize(handle, more ? *along : *across, size, buffer);
}
LT_API Status cusparseLtSpMMACompress(const void* handle, const void* plan,
                                      const void* in, void* out, void*,
                                      Stream stream) {
  const Plan* const found = Find<Plan>(plan);
  if (found == nullptr) return kInvalidValue;
  return DoCompress(handle, found->product.sparse_one(), in, out, stream);
}
LT_API Status cusparseLtSpMMACompress2(const void* handle, const void* matrix,
                                       int is_a, Operation op, const void* in,
                                       void* out, void*, Stream stream) {
  const auto s = Describe(matrix, is_a, op);
  return s ? DoCompress(handle, *s, in, out, stream) : kInvalidValue;
}

}  // namespace cerberus::libraries::cusparselt
