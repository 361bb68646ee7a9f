// A rocSPARSE without a GPU: it writes down how it is called and puts a
// function of the host into HIP's stream that computes by going through all
// elements.
#include <dlfcn.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libraries/cusparse/rocsparse.h"
#include "tests/unit/libraries/fake_rocm.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cusparse::roc {

struct HandleObject {
  void* stream = nullptr;
  int pointer_mode = 0;
};
struct MatrixObject {
  SpMat value;
};
struct VectorObject {
  DnVec value;
};
struct DenseObject {
  DnMat value;
};

namespace {

using cublas::Mul;

struct Recorder {
  std::mutex mutex;
  std::string last;
  int answer = 0;
};
Recorder& All() {
  static auto& all = *new Recorder;
  return all;
}
template <typename... A>
int Note(const char* symbol, const A&... arguments) {
  tests::Told told{symbol};
  (told(arguments), ...);
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().last = std::move(told.text);
  return std::exchange(All().answer, 0);
}

cusparse::DataType Back(DataType type) {
  switch (type) {
    case DataType::kF32: return cublas::kR32F;
    case DataType::kF64: return cublas::kR64F;
    case DataType::kF32C: return cublas::kC32F;
    case DataType::kF64C: return cublas::kC64F;
    case DataType::kI8: return cublas::kR8I;
    default: return cublas::kR32I;
  }
}
cusparse::IndexType Back(Index type) {
  return type == Index::k64 ? k64Bit : k32Bit;
}
IndexBase Back(Base base) {
  return base == Base::kOne ? kOneBased : kZeroBased;
}

// HIP's function, of the HIP in use.
Status Queue(Handle handle, std::function<void()> work) {
  static const auto launch = [] {
    HipOfContext hip = {};
    FindDriver()->describe_hip(&hip);
    void* const library = dlopen(hip.file, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)(void*, void (*)(void*), void*)>(
        dlsym(library, "hipLaunchHostFunc"));
  }();
  // Kept, since a graph may do it again.
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* data) {
    (*static_cast<std::function<void()>*>(data))();
  };
  return launch(handle->stream, run, kept) == 0 ? Status::kSuccess
                                                : Status::kInternalError;
}

// A scalar of the host or the device.
std::function<Complex64()> Scalar(Handle handle, DataType type,
                                  const void* place) {
  if (handle->pointer_mode == 1) {
    return [=] { return cublas::Load(Back(type), place, 0); };
  }
  const Complex64 value = cublas::Load(Back(type), place, 0);
  return [=] { return value; };
}
Complex64 Turned(Operation op, Complex64 value) {
  return op == Operation::kConjugate ? std::conj(value) : value;
}
// Element (i, j) of op(M).
Complex64 At(const DnMat& m, Operation op, cusparse::Index i,
             cusparse::Index j) {
  if (op != Operation::kNone) std::swap(i, j);
  return Turned(op, cublas::Load(m.type, m.values, m.PlaceOf(i, j)));
}
void Finish(cusparse::DataType type, void* to, cusparse::Index at,
            Complex64 sum, Complex64 beta) {
  if (beta != Complex64(0)) sum += Mul(beta, cublas::Load(type, to, at));
  cublas::Store(type, to, at, sum);
}

SpMat Make(Format format, std::int64_t rows, std::int64_t columns,
           std::int64_t nnz, void* major, void* minor, void* values,
           Index of_major, Index of_minor, Base base, DataType type) {
  SpMat m;
  m.format = format;
  m.rows = rows;
  m.columns = columns;
  m.nnz = nnz;
  m.major = {major, Back(of_major)};
  m.minor = {minor, Back(of_minor)};
  m.values = values;
  m.base = Back(base);
  m.type = Back(type);
  return m;
}

}  // namespace

FAKE_API Status rocsparse_create_handle(Handle* handle) {
  *handle = new HandleObject;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_destroy_handle(Handle handle) {
  delete handle;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_set_stream(Handle handle, void* stream) {
  handle->stream = stream;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_set_pointer_mode(Handle handle, int mode) {
  handle->pointer_mode = mode;
  return Status::kSuccess;
}
#define FAKE_COMPRESSED(name, format)                                         \
  FAKE_API Status rocsparse_create_##name##_descr(                            \
      Matrix* matrix, std::int64_t rows, std::int64_t columns,                \
      std::int64_t nnz, void* major, void* minor, void* values,               \
      Index of_major, Index of_minor, Base base, DataType type) {             \
    *matrix = new MatrixObject{                                               \
        cusparse::roc::Make(format, rows, columns, nnz, major, minor, values, \
                            of_major, of_minor, base, type)};                 \
    return Status::kSuccess;                                                  \
  }
FAKE_COMPRESSED(csr, kCsr)
FAKE_COMPRESSED(csc, kCsc)
FAKE_API Status rocsparse_create_coo_descr(Matrix* matrix, std::int64_t rows,
                                           std::int64_t columns,
                                           std::int64_t nnz, void* major,
                                           void* minor, void* values,
                                           Index index, Base base,
                                           DataType type) {
  *matrix = new MatrixObject{Make(kCoo, rows, columns, nnz, major, minor,
                                  values, index, index, base, type)};
  return Status::kSuccess;
}
FAKE_API Status rocsparse_destroy_spmat_descr(Matrix matrix) {
  delete matrix;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_create_dnvec_descr(Vector* vector, std::int64_t size,
                                             void* values, DataType type) {
  *vector = new VectorObject{{size, values, Back(type)}};
  return Status::kSuccess;
}
FAKE_API Status rocsparse_destroy_dnvec_descr(Vector vector) {
  delete vector;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_create_dnmat_descr(Dense* dense, std::int64_t rows,
                                             std::int64_t columns,
                                             std::int64_t ld, void* values,
                                             DataType type, Order order) {
  *dense = new DenseObject{{rows, columns, ld, values, Back(type),
                            order == Order::kRows ? kByRows : kByColumns}};
  return Status::kSuccess;
}
FAKE_API Status rocsparse_destroy_dnmat_descr(Dense dense) {
  delete dense;
  return Status::kSuccess;
}

FAKE_API Status rocsparse_spmv(Handle handle, Operation op, const void* alpha,
                               Matrix a, Vector x, const void* beta, Vector y,
                               DataType compute, VectorAlgorithm algorithm,
                               Stage stage, std::size_t* bytes, void* memory) {
  const int answer = Note("spmv", op, compute, algorithm, stage, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (stage == Stage::kBufferSize) {
    *bytes = 0;
    return Status::kSuccess;
  }
  const auto f = Scalar(handle, compute, alpha),
             g = Scalar(handle, compute, beta);
  return Queue(handle, [=, a = a->value, x = x->value, y = y->value] {
    std::vector<Complex64> sum(static_cast<std::size_t>(y.size));
    ForEach(a, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
      if (op != Operation::kNone) std::swap(i, j);
      sum[static_cast<std::size_t>(i)] +=
          Mul(Turned(op, cublas::Load(a.type, a.values, p)),
              cublas::Load(x.type, x.values, j));
    });
    for (cusparse::Index i = 0; i < y.size; ++i) {
      Finish(y.type, y.values, i, Mul(f(), sum[static_cast<std::size_t>(i)]),
             g());
    }
  });
}
FAKE_API Status rocsparse_spmm(Handle handle, Operation opa, Operation opb,
                               const void* alpha, Matrix a, Dense b,
                               const void* beta, Dense c, DataType compute,
                               MatrixAlgorithm algorithm, Stage stage,
                               std::size_t* bytes, void* memory) {
  const int answer = Note("spmm", opa, opb, compute, algorithm, stage, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (stage == Stage::kBufferSize) {
    *bytes = 64;
    return Status::kSuccess;
  }
  const auto f = Scalar(handle, compute, alpha),
             g = Scalar(handle, compute, beta);
  return Queue(handle, [=, a = a->value, b = b->value, c = c->value] {
    std::vector<Complex64> sum(static_cast<std::size_t>(c.rows * c.columns));
    ForEach(a, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
      if (opa != Operation::kNone) std::swap(i, j);
      const Complex64 value = Turned(opa, cublas::Load(a.type, a.values, p));
      for (cusparse::Index k = 0; k < c.columns; ++k) {
        sum[static_cast<std::size_t>(i + k * c.rows)] +=
            Mul(value, At(b, opb, j, k));
      }
    });
    for (cusparse::Index k = 0; k < c.columns; ++k) {
      for (cusparse::Index i = 0; i < c.rows; ++i) {
        Finish(c.type, c.values, c.PlaceOf(i, k),
               Mul(f(), sum[static_cast<std::size_t>(i + k * c.rows)]), g());
      }
    }
  });
}
FAKE_API Status rocsparse_sddmm_buffer_size(Handle, Operation, Operation,
                                            const void*, Dense, Dense,
                                            const void*, Matrix, DataType,
                                            SampledAlgorithm,
                                            std::size_t* bytes) {
  *bytes = 4;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_sddmm(Handle handle, Operation opa, Operation opb,
                                const void* alpha, Dense a, Dense b,
                                const void* beta, Matrix c, DataType compute,
                                SampledAlgorithm algorithm, void* memory) {
  const int answer = Note("sddmm", opa, opb, compute, algorithm, memory);
  if (answer != 0) return static_cast<Status>(answer);
  const auto f = Scalar(handle, compute, alpha),
             g = Scalar(handle, compute, beta);
  return Queue(handle, [=, a = a->value, b = b->value, c = c->value] {
    const cusparse::Index k = opa == Operation::kNone ? a.columns : a.rows;
    ForEach(c, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
      Complex64 sum = 0;
      for (cusparse::Index l = 0; l < k; ++l) {
        sum += Mul(At(a, opa, i, l), At(b, opb, l, j));
      }
      Finish(c.type, c.values, p, Mul(f(), sum), g());
    });
  });
}

// --- What is analysed, or takes several calls
FAKE_API Status rocsparse_spmat_set_attribute(Matrix matrix, int attribute,
                                              const void* data, std::size_t) {
  matrix->value.attributes[attribute] = *static_cast<const int*>(data);
  return Status::kSuccess;
}
FAKE_API Status rocsparse_spmat_set_values(Matrix matrix, void* values) {
  matrix->value.values = values;
  return Status::kSuccess;
}
FAKE_API Status rocsparse_spmat_get_size(Matrix matrix, std::int64_t* rows,
                                         std::int64_t* columns,
                                         std::int64_t* nnz) {
  *rows = matrix->value.rows;
  *columns = matrix->value.columns;
  *nnz = matrix->value.nnz;
  return Status::kSuccess;
}

namespace {

using Table = std::vector<std::vector<Complex64>>;  // by rows
std::size_t Place(cusparse::Index i) { return static_cast<std::size_t>(i); }

// op(A) X = f op(B), B read and X written by functions of row and column.
template <typename Read, typename Write>
void SolveTriangle(const SpMat& a, Operation op, cusparse::Index columns,
                   const Read& read, const Write& write) {
  Table full(Place(a.rows), std::vector<Complex64>(Place(a.rows)));
  const bool unit = a.attributes[1] == 1;
  ForEach(a, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
    const bool inside = a.attributes[0] == 0 ? j <= i : j >= i;
    if (!inside || (unit && i == j)) return;
    const Complex64 value = Turned(op, cublas::Load(a.type, a.values, p));
    if (op != Operation::kNone) std::swap(i, j);
    full[Place(i)][Place(j)] = value;
  });
  const bool down = (a.attributes[0] == 0) == (op == Operation::kNone);
  for (cusparse::Index k = 0; k < columns; ++k) {
    std::vector<Complex64> x(Place(a.rows));
    for (cusparse::Index i = 0; i < a.rows; ++i) x[Place(i)] = read(i, k);
    for (cusparse::Index step = 0; step < a.rows; ++step) {
      const auto i = Place(down ? step : a.rows - 1 - step);
      for (std::size_t j = 0; j < x.size(); ++j) {
        if (j != i) x[i] -= Mul(full[i][j], x[j]);
      }
      if (!unit) x[i] /= full[i][i];
    }
    for (cusparse::Index i = 0; i < a.rows; ++i) write(i, k, x[Place(i)]);
  }
}

// Waits for what is in the stream.
void Finish(Handle handle) {
  static const auto wait = [] {
    HipOfContext hip = {};
    FindDriver()->describe_hip(&hip);
    void* const library = dlopen(hip.file, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)(void*)>(
        dlsym(library, "hipStreamSynchronize"));
  }();
  wait(handle->stream);
}

struct Element {
  cusparse::Index column;
  Complex64 value;
};
using Elements = std::vector<std::vector<Element>>;  // of each row, in order
Elements ProductOf(const SpMat& a, const SpMat& b) {
  Elements of_b(Place(b.rows)), out(Place(a.rows));
  ForEach(b, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
    of_b[Place(i)].push_back({j, cublas::Load(b.type, b.values, p)});
  });
  ForEach(a, [&](cusparse::Index i, cusparse::Index k, cusparse::Index p) {
    const Complex64 value = cublas::Load(a.type, a.values, p);
    for (const Element& e : of_b[Place(k)]) {
      auto& row = out[Place(i)];
      auto at = row.begin();
      while (at != row.end() && at->column < e.column) ++at;
      if (at == row.end() || at->column != e.column) {
        at = row.insert(at, {e.column, 0});
      }
      at->value += Mul(value, e.value);
    }
  });
  return out;
}
void WriteStructure(const Elements& elements, const SpMat& c, bool offsets,
                    bool columns) {
  cusparse::Index p = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (offsets) c.major.Set(static_cast<cusparse::Index>(i), p + c.base);
    for (const Element& e : elements[i]) {
      if (columns) c.minor.Set(p, e.column + c.base);
      ++p;
    }
  }
  if (offsets) {
    c.major.Set(static_cast<cusparse::Index>(elements.size()), p + c.base);
  }
}

}  // namespace

FAKE_API Status rocsparse_spsv(Handle handle, Operation op, const void* alpha,
                               Matrix a, Vector x, Vector y, DataType compute,
                               int algorithm, SolveStage stage,
                               std::size_t* bytes, void* memory) {
  const int answer = Note("spsv", op, compute, algorithm, stage, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (op == Operation::kConjugate) return Status::kNotImplemented;
  *bytes = 32;
  if (stage != SolveStage::kCompute) return Status::kSuccess;
  const auto f = Scalar(handle, compute, alpha);
  return Queue(handle, [=, a = a->value, x = x->value, y = y->value] {
    SolveTriangle(
        a, op, 1,
        [&](cusparse::Index i, cusparse::Index) {
          return Mul(f(), cublas::Load(x.type, x.values, i));
        },
        [&](cusparse::Index i, cusparse::Index, Complex64 value) {
          cublas::Store(y.type, y.values, i, value);
        });
  });
}
FAKE_API Status rocsparse_spsm(Handle handle, Operation opa, Operation opb,
                               const void* alpha, Matrix a, Dense b, Dense c,
                               DataType compute, int algorithm,
                               SolveStage stage, std::size_t* bytes,
                               void* memory) {
  const int answer = Note("spsm", opa, opb, compute, algorithm, stage, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (opa == Operation::kConjugate || opb == Operation::kConjugate) {
    return Status::kNotImplemented;
  }
  *bytes = 32;
  if (stage != SolveStage::kCompute) return Status::kSuccess;
  const auto f = Scalar(handle, compute, alpha);
  return Queue(handle, [=, a = a->value, b = b->value, c = c->value] {
    SolveTriangle(
        a, opa, c.columns,
        [&](cusparse::Index i, cusparse::Index k) {
          return Mul(f(), At(b, opb, i, k));
        },
        [&](cusparse::Index i, cusparse::Index k, Complex64 value) {
          cublas::Store(c.type, c.values, c.PlaceOf(i, k), value);
        });
  });
}

FAKE_API Status rocsparse_spgemm(Handle handle, Operation opa, Operation opb,
                                 const void* alpha, Matrix a, Matrix b,
                                 const void* beta, Matrix, Matrix c,
                                 DataType compute, int algorithm,
                                 ProductStage stage, std::size_t* bytes,
                                 void* memory) {
  const int answer =
      Note("spgemm", opa, opb, beta, compute, algorithm, stage, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (stage == ProductStage::kBufferSize) {
    *bytes = 16;
    return Status::kSuccess;
  }
  if (stage == ProductStage::kNonzeros) {
    Finish(handle);
    SpMat without = a->value, others = b->value;
    const Elements found = ProductOf(without, others);
    WriteStructure(found, c->value, /*offsets=*/true, /*columns=*/false);
    c->value.nnz = 0;
    for (const auto& row : found) {
      c->value.nnz += static_cast<cusparse::Index>(row.size());
    }
    return Status::kSuccess;
  }
  const bool structure = stage != ProductStage::kNumeric;
  const bool values = stage != ProductStage::kSymbolic;
  const auto f =
      values ? Scalar(handle, compute, alpha) : std::function<Complex64()>();
  return Queue(handle, [=, a = a->value, b = b->value, c = c->value] {
    const Elements found = ProductOf(a, b);
    if (structure) WriteStructure(found, c, false, true);
    // Values alone are computed with what the symbols left in the memory; it
    // serves once here.
    auto* const left = static_cast<Elements::size_type*>(memory);
    if (!structure && std::exchange(*left, 0) != found.size()) return;
    if (!values) {
      *left = found.size();
      return;
    }
    ForEach(c, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
      for (const Element& e : found[Place(i)]) {
        if (e.column == j) {
          cublas::Store(c.type, c.values, p, Mul(f(), e.value));
        }
      }
    });
  });
}

FAKE_API Status rocsparse_sparse_to_dense(Handle handle, Matrix a, Dense b,
                                          int algorithm, std::size_t* bytes,
                                          void* memory) {
  const int answer = Note("sparse_to_dense", algorithm, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (memory == nullptr) {
    *bytes = 0;
    return Status::kSuccess;
  }
  return Queue(handle, [a = a->value, b = b->value] {
    for (cusparse::Index i = 0; i < b.rows; ++i) {
      for (cusparse::Index j = 0; j < b.columns; ++j) {
        cublas::Store(b.type, b.values, b.PlaceOf(i, j), 0);
      }
    }
    ForEach(a, [&](cusparse::Index i, cusparse::Index j, cusparse::Index p) {
      CopyElement(a.type, a.values, p, b.values, b.PlaceOf(i, j));
    });
  });
}
FAKE_API Status rocsparse_dense_to_sparse(Handle handle, Dense a, Matrix b,
                                          int algorithm, std::size_t* bytes,
                                          void* memory) {
  const int answer = Note("dense_to_sparse", algorithm, bytes, memory);
  if (answer != 0) return static_cast<Status>(answer);
  if (memory == nullptr) {
    *bytes = 8;
    return Status::kSuccess;
  }
  const auto fill = [a = a->value](SpMat* b, bool all) {
    const bool by_rows = b->format != kCsc;
    const cusparse::Index majors = by_rows ? a.rows : a.columns;
    const cusparse::Index minors = by_rows ? a.columns : a.rows;
    cusparse::Index nnz = 0;
    for (cusparse::Index i = 0; i < majors; ++i) {
      if (b->format != kCoo && !all) b->major.Set(i, nnz + b->base);
      for (cusparse::Index j = 0; j < minors; ++j) {
        const cusparse::Index at = by_rows ? a.PlaceOf(i, j) : a.PlaceOf(j, i);
        if (cublas::Load(a.type, a.values, at) == Complex64(0)) continue;
        if (all) {
          if (b->format == kCoo) b->major.Set(nnz, i + b->base);
          b->minor.Set(nnz, j + b->base);
          CopyElement(a.type, a.values, at, b->values, nnz);
        }
        ++nnz;
      }
    }
    if (b->format != kCoo && !all) b->major.Set(majors, nnz + b->base);
    b->nnz = nnz;
  };
  if (bytes == nullptr) {
    Finish(handle);
    fill(&b->value, false);
    return Status::kSuccess;
  }
  return Queue(handle, [=, b = b->value]() mutable { fill(&b, true); });
}

FAKE_API const char* fake_rocsparse_last() { return All().last.c_str(); }
FAKE_API void fake_rocsparse_answer(int status) { All().answer = status; }

}  // namespace cerberus::libraries::cusparse::roc
