// The functions of cusolvermg.def: matrices that are spread over devices by
// blocks of columns, one after the other in a circle. They are gathered, worked
// on as cusolverDn does, and spread again, before a call returns.
#include <algorithm>
#include <vector>

#include "libraries/common/alive.h"
#include "libraries/cusolver/api.h"
#include "libraries/cusolver/factor.h"
#include "libraries/cusolver/spectrum.h"

namespace cerberus::libraries::cusolver {
namespace {

struct MgContext {
  const Driver* driver = nullptr;
  int devices = 0;
};
struct MgGrid {
  int devices = 0;
};
// cudaLibMgMatrixDesc_t; rows are not split.
struct MgMatrix {
  Index rows = 0, columns = 0, block = 1;
  DataType type = cublas::kR32F;
  int devices = 1;
};

template <typename T>
Status Make(void** to, const T& value) {
  *to = Alive<T>::All().Make(value);
  return *to != nullptr ? kSuccess : kAllocFailed;
}
template <typename T>
Status Destroy(void* one) {
  return Alive<T>::All().Destroy(static_cast<T*>(one)) ? kSuccess
                                                       : kInvalidValue;
}
// Null if it is none.
template <typename T>
T* Find(void* one) {
  T* const found = static_cast<T*>(one);
  return Alive<T>::All().Has(found) ? found : nullptr;
}

// A part of such a matrix in memory of our own, by columns: `rows` and
// `columns` from row `row` and column `column` on, which are counted from 1.
template <typename T>
class Part {
 public:
  Part(const MgContext& mg, const MgMatrix& matrix, T** arrays, Index row,
       Index column, Index rows, Index columns)
      : driver_(*mg.driver),
        matrix_(matrix),
        arrays_(arrays),
        row_(row - 1),
        column_(column - 1),
        rows_(rows),
        columns_(columns),
        own_(static_cast<std::size_t>(rows * columns)) {}
  T* get() { return own_.data(); }
  Index ld() const { return std::max<Index>(1, rows_); }
  bool Gather() { return Copy(/*back=*/false); }
  bool Spread() { return Copy(/*back=*/true); }

 private:
  bool Copy(bool back) {
    for (Index j = 0; j < columns_; ++j) {
      const Index column = column_ + j, block = column / matrix_.block;
      const Index local =
          block / matrix_.devices * matrix_.block + column % matrix_.block;
      T* const place =
          arrays_[block % matrix_.devices] + row_ + local * matrix_.rows;
      const auto device = reinterpret_cast<std::uint64_t>(place);
      const auto host =
          reinterpret_cast<std::uint64_t>(own_.data() + j * rows_);
      if (rows_ > 0 && driver_.copy(back ? device : host, back ? host : device,
                                    static_cast<std::size_t>(rows_) * sizeof(T),
                                    nullptr) != 0) {
        return false;
      }
    }
    return driver_.synchronize(nullptr) == 0;
  }

  const Driver& driver_;
  const MgMatrix matrix_;
  T** const arrays_;
  const Index row_, column_, rows_, columns_;
  std::vector<T> own_;
};

// A matrix as a call names it.
struct Named {
  void** arrays;
  int row, column;
  void* descr;
  // Of the described one, if so many rows and columns fit in.
  const MgMatrix* Find(Index rows, Index columns) const {
    const MgMatrix* const m = cusolver::Find<MgMatrix>(descr);
    const bool fits = m != nullptr && row >= 1 && column >= 1 && rows >= 0 &&
                      columns >= 0 && row - 1 + rows <= m->rows &&
                      column - 1 + columns <= m->columns;
    return fits ? m : nullptr;
  }
};
template <typename T>
Part<T> PartOf(const MgContext& mg, const Named& a, Index rows, Index columns) {
  return Part<T>(mg, *a.Find(rows, columns), reinterpret_cast<T**>(a.arrays),
                 a.row, a.column, rows, columns);
}

// A call with a handle that is one, and a matrix of the type that it computes
// in.
template <typename F>
Status WithMatrix(void* handle, const Named& a, Index rows, Index columns,
                  DataType compute, const F& f) {
  const MgContext* const mg = cusolver::Find<MgContext>(handle);
  if (mg == nullptr) return kNotInitialized;
  const MgMatrix* const matrix = a.Find(rows, columns);
  if (matrix == nullptr || matrix->type != compute) return kInvalidValue;
  try {
    return WithType(compute, [&]<typename T>() -> Status {
      return f.template operator()<T>(*mg);
    });
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
Status AskFor(void* handle, const Named& a, Index rows, Index columns,
              DataType compute, std::int64_t* size) {
  return WithMatrix(handle, a, rows, columns, compute,
                    [&]<typename T>(const MgContext&) -> Status {
                      if (size == nullptr) return kInvalidValue;
                      *size = kWorkElements;
                      return kSuccess;
                    });
}
// Row numbers lie beside the columns that they are of.
Named PivotsOf(const Named& a, int** pivots, MgMatrix* matrix) {
  if (const auto* m = cusolver::Find<MgMatrix>(a.descr)) {
    *matrix = {1, m->columns, m->block, m->type, m->devices};
  }
  return {reinterpret_cast<void**>(pivots), 1, a.column, nullptr};
}

// One matrix that becomes what `work` makes of it.
template <typename F>
Status InPlace(void* handle, const Named& a, Index rows, Index columns,
               DataType compute, int* info, const F& work) {
  return WithMatrix(handle, a, rows, columns, compute,
                    [&]<typename T>(const MgContext& mg) -> Status {
                      Part<T> part = PartOf<T>(mg, a, rows, columns);
                      if (!part.Gather()) return kExecutionFailed;
                      Report(info, work(part.get(), part.ld()));
                      return part.Spread() ? kSuccess : kExecutionFailed;
                    });
}

Status Getrf(void* handle, int m, int n, const Named& a, int** pivots,
             DataType compute, int* info) {
  return WithMatrix(
      handle, a, m, n, compute, [&]<typename T>(const MgContext& mg) -> Status {
        MgMatrix shape;
        const Named at = PivotsOf(a, pivots, &shape);
        const Index count = std::min(m, n);
        Part<T> part = PartOf<T>(mg, a, m, n);
        Part<int> rows(mg, shape, pivots, at.row, at.column, 1, count);
        if (!part.Gather()) return kExecutionFailed;
        Report(info, cusolver::Getrf<T>(m, n, part.get(), part.ld(),
                                        pivots ? rows.get() : nullptr));
        return part.Spread() && (pivots == nullptr || rows.Spread())
                   ? kSuccess
                   : kExecutionFailed;
      });
}
Status Getrs(void* handle, Operation op, int n, int columns, const Named& a,
             int** pivots, const Named& b, DataType compute, int* info) {
  if (!IsOperation(op) || b.Find(n, columns) == nullptr ||
      b.Find(n, columns)->type != compute) {
    return cusolver::Find<MgContext>(handle) ? kInvalidValue : kNotInitialized;
  }
  return WithMatrix(
      handle, a, n, n, compute, [&]<typename T>(const MgContext& mg) -> Status {
        MgMatrix shape;
        const Named at = PivotsOf(a, pivots, &shape);
        Part<T> lu = PartOf<T>(mg, a, n, n), x = PartOf<T>(mg, b, n, columns);
        Part<int> rows(mg, shape, pivots, at.row, at.column, 1, n);
        if (!lu.Gather() || !x.Gather() ||
            (pivots != nullptr && !rows.Gather())) {
          return kExecutionFailed;
        }
        cublas::Getrs<T>(op, n, columns, lu.get(), lu.ld(),
                         pivots ? rows.get() : nullptr, x.get(), x.ld());
        Report(info, 0);
        return x.Spread() ? kSuccess : kExecutionFailed;
      });
}
Status Potrs(void* handle, Fill fill, int n, int columns, const Named& a,
             const Named& b, DataType compute, int* info) {
  if (!IsTriangle(fill) || b.Find(n, columns) == nullptr ||
      b.Find(n, columns)->type != compute) {
    return cusolver::Find<MgContext>(handle) ? kInvalidValue : kNotInitialized;
  }
  return WithMatrix(
      handle, a, n, n, compute, [&]<typename T>(const MgContext& mg) -> Status {
        Part<T> l = PartOf<T>(mg, a, n, n), x = PartOf<T>(mg, b, n, columns);
        if (!l.Gather() || !x.Gather()) return kExecutionFailed;
        cusolver::Potrs<T>(fill, n, columns, l.get(), l.ld(), x.get(), x.ld());
        Report(info, 0);
        return x.Spread() ? kSuccess : kExecutionFailed;
      });
}
Status Triangle(bool inverse, void* handle, Fill fill, int n, const Named& a,
                DataType compute, int* info) {
  if (!IsTriangle(fill)) {
    return cusolver::Find<MgContext>(handle) ? kInvalidValue : kNotInitialized;
  }
  return InPlace(handle, a, n, n, compute, info,
                 [&]<typename T>(T* memory, Index ld) {
                   return inverse ? cusolver::Potri<T>(fill, n, memory, ld)
                                  : cusolver::Potrf<T>(fill, n, memory, ld);
                 });
}
// Eigenvalues are the host's.
Status Syevd(void* handle, EigMode mode, Fill fill, int n, const Named& a,
             void* w, DataType type_w, DataType compute, int* info) {
  if (!IsMode(mode) || !IsTriangle(fill) || w == nullptr ||
      type_w != RealTypeOf(compute)) {
    return cusolver::Find<MgContext>(handle) ? kInvalidValue : kNotInitialized;
  }
  return InPlace(handle, a, n, n, compute, info,
                 [&]<typename T>(T* memory, Index ld) {
                   return Heevd<T>(mode == kWithVectors, fill, n, memory, ld,
                                   static_cast<Real<T>*>(w));
                 });
}

}  // namespace

CUSOLVER_API Status cusolverMgCreate(void** handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  return Make<MgContext>(handle, {driver, 0});
}
CUSOLVER_API Status cusolverMgDestroy(void* handle) {
  return Destroy<MgContext>(handle) == kSuccess ? kSuccess : kNotInitialized;
}
CUSOLVER_API Status cusolverMgDeviceSelect(void* handle, int count,
                                           int* devices) {
  MgContext* const mg = cusolver::Find<MgContext>(handle);
  if (mg == nullptr) return kNotInitialized;
  if (count <= 0 || devices == nullptr) return kInvalidValue;
  mg->devices = count;
  return kSuccess;
}
// NVIDIA's has grids of one row.
CUSOLVER_API Status cusolverMgCreateDeviceGrid(void** grid, std::int32_t rows,
                                               std::int32_t columns,
                                               const std::int32_t* devices,
                                               int mapping) {
  if (grid == nullptr || rows != 1 || columns <= 0 || devices == nullptr ||
      mapping < 0 || mapping > 1) {
    return kInvalidValue;
  }
  return Make<MgGrid>(grid, {columns});
}
CUSOLVER_API Status cusolverMgDestroyGrid(void* grid) {
  return Destroy<MgGrid>(grid);
}
CUSOLVER_API Status cusolverMgCreateMatrixDesc(void** descr, std::int64_t rows,
                                               std::int64_t columns,
                                               std::int64_t row_block,
                                               std::int64_t column_block,
                                               DataType type, void* grid) {
  const MgGrid* const over = cusolver::Find<MgGrid>(grid);
  if (descr == nullptr || over == nullptr || rows < 0 || columns < 0 ||
      row_block < rows || column_block <= 0 || !AreTypes(type)) {
    return kInvalidValue;
  }
  return Make<MgMatrix>(descr,
                        {rows, columns, column_block, type, over->devices});
}
CUSOLVER_API Status cusolverMgDestroyMatrixDesc(void* descr) {
  return Destroy<MgMatrix>(descr);
}

#define CUSOLVERMG_ANSWERED(name)
#define CUSOLVERMG_EXPORT(name, function, parameters, arguments) \
  CUSOLVER_API Status name parameters { return function arguments; }
#define CUSOLVERMG_REFUSED(name) \
  CUSOLVER_API Status name() { return kNotSupported; }
#include "libraries/cusolvermg/cusolvermg.def"

}  // namespace cerberus::libraries::cusolver
