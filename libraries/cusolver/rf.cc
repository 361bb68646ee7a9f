// cusolverRf: factors of matrices whose pattern stays (refactor.h). Calls work
// at once, on the default stream.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "libraries/cusolver/api.h"
#include "libraries/cusolver/refactor.h"
#include "libraries/cusolver/registry.h"

namespace cerberus::libraries::cusolver {

// cusolverRfHandle_t.
struct RefactorContext {
  struct Setting {
    int format = 0, diagonal = 0, factorization = 0, solve = 1, fast = 0;
    double zero = 0, boost = 0;
  };
  const Driver* driver = nullptr;
  Setting setting;
  std::optional<Refactor> refactor;
  // Elements as given, by the place that they have by rows.
  std::vector<int> element_of;
  bool analyzed = false, boosted = false;
  struct Matrix {
    std::vector<double> values;
    Refactor::Bundle bundle;
    bool factorized = false;
    int zero_pivot = -1;
  };
  std::vector<Matrix> matrices;
  std::vector<std::uint64_t> on_device;  // what was told of the factors
};

namespace {

using Rf = RefactorContext*;
using Setting = RefactorContext::Setting;

constexpr Status kZeroPivot = static_cast<Status>(10);
constexpr int kByColumns = 1;  // CUSOLVERRF_MATRIX_FORMAT_CSC
// cusolverRfUnitDiagonal_t: 0 and 2 L's, 1 and 3 U's; of 2 and 3 it is not in
// memory.
constexpr bool IsOfU(int diagonal) { return diagonal % 2 == 1; }

bool IsAlive(Rf rf) { return All<RefactorContext>().Has(rf); }
template <typename F>
Status Guarded(Rf rf, const F& call) {
  if (!IsAlive(rf)) return kNotInitialized;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

// An array of the host's or the device's memory.
template <typename T>
bool Read(const Driver& driver, const T* from, int count, std::vector<T>* to) {
  to->resize(static_cast<std::size_t>(std::max(count, 0)));
  if (to->empty()) return true;
  return from != nullptr &&
         driver.copy(reinterpret_cast<std::uint64_t>(to->data()),
                     reinterpret_cast<std::uint64_t>(from),
                     to->size() * sizeof(T), nullptr) == 0 &&
         driver.synchronize(nullptr) == 0;
}
template <typename T>
bool Write(const Driver& driver, const std::vector<T>& from, T* to) {
  if (from.empty()) return true;
  return driver.copy(reinterpret_cast<std::uint64_t>(to),
                     reinterpret_cast<std::uint64_t>(from.data()),
                     from.size() * sizeof(T), nullptr) == 0 &&
         driver.synchronize(nullptr) == 0;
}

// A pattern with its own memory, by rows; `element_of`: where its elements
// stood as they were given.
struct OwnPattern {
  int n = 0;
  std::vector<int> starts, places, element_of;
  Pattern Get() const { return {n, n, 0, starts.data(), places.data()}; }
};
bool ReadPattern(const Driver& driver, int format, int n, int count,
                 const int* starts, const int* places, OwnPattern* out) {
  out->n = n;
  if (!Read(driver, starts, n + 1, &out->starts) ||
      !Read(driver, places, count, &out->places)) {
    return false;
  }
  if (!out->Get().IsFine() || out->starts.front() != 0 ||
      out->starts.back() != count) {
    return false;
  }
  out->element_of = Unpermuted(count);
  if (format != kByColumns) return true;
  std::vector<std::vector<std::pair<int, int>>> rows(
      static_cast<std::size_t>(n));
  for (int j = 0; j < n; ++j) {
    for (int e = out->starts[static_cast<std::size_t>(j)];
         e < out->starts[static_cast<std::size_t>(j) + 1]; ++e) {
      rows[static_cast<std::size_t>(out->places[static_cast<std::size_t>(e)])]
          .emplace_back(j, e);
    }
  }
  out->starts = {0};
  out->places.clear();
  out->element_of.clear();
  for (const auto& row : rows) {
    for (const auto& [column, element] : row) {
      out->places.push_back(column);
      out->element_of.push_back(element);
    }
    out->starts.push_back(static_cast<int>(out->places.size()));
  }
  return true;
}

// What setting up is given, of the host's or the device's memory.
struct Given {
  int n, count_a;
  const int *starts_a, *places_a;
  int count_l;
  const int *starts_l, *places_l;
  int count_u;
  const int *starts_u, *places_u;
  const int *p, *q;
};

bool ReadValues(Rf rf, const double* values, RefactorContext::Matrix* to) {
  std::vector<double> given;
  const auto count = static_cast<int>(rf->element_of.size());
  if (!Read(*rf->driver, values, count, &given)) return false;
  to->values.clear();
  for (const int element : rf->element_of) {
    to->values.push_back(given[static_cast<std::size_t>(element)]);
  }
  to->factorized = false;
  return true;
}
Status Setup(Rf rf, const Given& g, const double* const* values, int batch) {
  const Driver& driver = *rf->driver;
  const int format = rf->setting.format;
  OwnPattern a, l, u;
  Permutation p, q;
  if (g.n <= 0 || g.count_a < 0 || g.count_l < 0 || g.count_u < 0 ||
      batch <= 0 || values == nullptr ||
      !ReadPattern(driver, format, g.n, g.count_a, g.starts_a, g.places_a,
                   &a) ||
      !ReadPattern(driver, format, g.n, g.count_l, g.starts_l, g.places_l,
                   &l) ||
      !ReadPattern(driver, format, g.n, g.count_u, g.starts_u, g.places_u,
                   &u) ||
      !Read(driver, g.p, g.n, &p) || !Read(driver, g.q, g.n, &q)) {
    return kInvalidValue;
  }
  Refactor refactor;
  if (!refactor.Setup(a.Get(), l.Get(), u.Get(), p, q)) return kInvalidValue;
  rf->refactor = std::move(refactor);
  rf->element_of = a.element_of;
  rf->analyzed = rf->boosted = false;
  rf->matrices.assign(static_cast<std::size_t>(batch), {});
  for (std::size_t i = 0; i < rf->matrices.size(); ++i) {
    if (!ReadValues(rf, values[i], &rf->matrices[i])) return kInvalidValue;
  }
  return kSuccess;
}
Status Reset(Rf rf, int batch, int n, int count, const double* const* values) {
  if (!rf->refactor || rf->refactor->n() != n ||
      static_cast<int>(rf->element_of.size()) != count ||
      static_cast<int>(rf->matrices.size()) != batch) {
    return kInvalidValue;
  }
  for (std::size_t i = 0; i < rf->matrices.size(); ++i) {
    if (!ReadValues(rf, values[i], &rf->matrices[i])) return kInvalidValue;
  }
  return kSuccess;
}
Status Analyze(Rf rf) {
  if (!rf->refactor) return kInvalidValue;
  rf->analyzed = true;
  return kSuccess;
}
Status FactorAll(Rf rf) {
  if (!rf->analyzed) return kInvalidValue;
  rf->boosted = false;
  for (RefactorContext::Matrix& m : rf->matrices) {
    m.zero_pivot =
        rf->refactor->Factor(m.values.data(), rf->setting.zero,
                             rf->setting.boost, &rf->boosted, &m.bundle);
    m.factorized = true;
  }
  return kSuccess;
}
Status SolveOne(Rf rf, const RefactorContext::Matrix& m, const int* p,
                const int* q, int columns, double* x, int ldx) {
  const int n = rf->refactor ? rf->refactor->n() : 0;
  Permutation rows, places;
  if (!m.factorized || columns < 0 || ldx < n ||
      !Read(*rf->driver, p, n, &rows) || !Read(*rf->driver, q, n, &places) ||
      !IsPermutation(rows.data(), n) || !IsPermutation(places.data(), n)) {
    return kInvalidValue;
  }
  for (int j = 0; j < columns; ++j) {
    double* const column = x + static_cast<std::ptrdiff_t>(j) * ldx;
    std::vector<double> own;
    if (!Read(*rf->driver, column, n, &own)) return kExecutionFailed;
    Refactor::Solve(m.bundle, rows, places, own.data());
    if (!Write(*rf->driver, own, column)) return kExecutionFailed;
  }
  return kSuccess;
}

// The factors as the setting has them: the ones are L's or U's.
Refactor::Bundle Told(Rf rf) {
  Refactor::Bundle m = rf->matrices.front().bundle;
  if (!IsOfU(rf->setting.diagonal)) return m;
  std::vector<double> pivots;
  for (int i = 0; i < rf->refactor->n(); ++i) {
    for (int e = m.starts[static_cast<std::size_t>(i)];
         e < m.starts[static_cast<std::size_t>(i) + 1]; ++e) {
      if (m.places[static_cast<std::size_t>(e)] == i) {
        pivots.push_back(m.values[static_cast<std::size_t>(e)]);
      }
    }
  }
  for (int i = 0; i < rf->refactor->n(); ++i) {
    for (int e = m.starts[static_cast<std::size_t>(i)];
         e < m.starts[static_cast<std::size_t>(i) + 1]; ++e) {
      const int j = m.places[static_cast<std::size_t>(e)];
      double& value = m.values[static_cast<std::size_t>(e)];
      if (j < i) value *= pivots[static_cast<std::size_t>(j)];
      if (j > i) value /= pivots[static_cast<std::size_t>(i)];
    }
  }
  return m;
}
// One of the two: with its diagonal unless that is ones that are not stored.
Refactor::Bundle Part(Rf rf, const Refactor::Bundle& m, bool lower) {
  const int diagonal = rf->setting.diagonal;
  const bool has_ones = IsOfU(diagonal) != lower;
  Refactor::Bundle out;
  out.starts = {0};
  for (int i = 0; i < rf->refactor->n(); ++i) {
    for (int e = m.starts[static_cast<std::size_t>(i)];
         e < m.starts[static_cast<std::size_t>(i) + 1]; ++e) {
      const int j = m.places[static_cast<std::size_t>(e)];
      if (j == i ? has_ones && diagonal >= 2 : (j < i) != lower) continue;
      out.places.push_back(j);
      out.values.push_back(
          j == i && has_ones ? 1 : m.values[static_cast<std::size_t>(e)]);
    }
    out.starts.push_back(static_cast<int>(out.places.size()));
  }
  return out;
}
// As the program frees it.
template <typename T>
T* Allocated(const std::vector<T>& from) {
  void* const memory =
      std::malloc(std::max<std::size_t>(1, from.size()) * sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  if (!from.empty()) std::memcpy(memory, from.data(), from.size() * sizeof(T));
  return static_cast<T*>(memory);
}
bool IsFactorized(Rf rf) {
  return rf->matrices.size() == 1 && rf->matrices.front().factorized;
}
Status Tell(const Refactor::Bundle& m, int* count, int** starts, int** places,
            double** values) {
  if (!count || !starts || !places || !values) return kInvalidValue;
  *count = static_cast<int>(m.places.size());
  *starts = Allocated(m.starts);
  *places = Allocated(m.places);
  *values = Allocated(m.values);
  return kSuccess;
}

template <typename T>
Status Get(Rf rf, T Setting::* member, T* value) {
  if (!IsAlive(rf)) return kNotInitialized;
  if (value == nullptr) return kInvalidValue;
  *value = rf->setting.*member;
  return kSuccess;
}
template <typename T>
Status Set(Rf rf, T Setting::* member, T value, bool fine) {
  if (!IsAlive(rf)) return kNotInitialized;
  if (!fine) return kInvalidValue;
  rf->setting.*member = value;
  return kSuccess;
}

}  // namespace

CUSOLVER_API Status cusolverRfCreate(Rf* rf) {
  if (rf == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  *rf = All<RefactorContext>().Make();
  if (*rf == nullptr) return kAllocFailed;
  (*rf)->driver = driver;
  return kSuccess;
}
CUSOLVER_API Status cusolverRfDestroy(Rf rf) {
  if (!IsAlive(rf)) return kNotInitialized;
  for (const std::uint64_t address : rf->on_device) rf->driver->free(address);
  return All<RefactorContext>().Destroy(rf) ? kSuccess : kNotInitialized;
}

CUSOLVER_API Status cusolverRfGetMatrixFormat(Rf rf, int* format,
                                              int* diagonal) {
  if (const Status bad = Get(rf, &Setting::format, format)) return bad;
  return Get(rf, &Setting::diagonal, diagonal);
}
CUSOLVER_API Status cusolverRfSetMatrixFormat(Rf rf, int format, int diagonal) {
  const bool fine =
      (format == 0 || format == kByColumns) && diagonal >= 0 && diagonal <= 3;
  if (const Status bad = Set(rf, &Setting::format, format, fine)) return bad;
  return Set(rf, &Setting::diagonal, diagonal, fine);
}
CUSOLVER_API Status cusolverRfGetNumericProperties(Rf rf, double* zero,
                                                   double* boost) {
  if (const Status bad = Get(rf, &Setting::zero, zero)) return bad;
  return Get(rf, &Setting::boost, boost);
}
CUSOLVER_API Status cusolverRfSetNumericProperties(Rf rf, double zero,
                                                   double boost) {
  if (const Status bad = Set(rf, &Setting::zero, zero, zero >= 0)) return bad;
  return Set(rf, &Setting::boost, boost, true);
}
CUSOLVER_API Status cusolverRfGetNumericBoostReport(Rf rf, int* report) {
  if (!IsAlive(rf)) return kNotInitialized;
  if (report == nullptr) return kInvalidValue;
  *report = rf->boosted ? 1 : 0;
  return kSuccess;
}
CUSOLVER_API Status cusolverRfGetAlgs(Rf rf, int* factorization, int* solve) {
  if (const Status bad = Get(rf, &Setting::factorization, factorization)) {
    return bad;
  }
  return Get(rf, &Setting::solve, solve);
}
CUSOLVER_API Status cusolverRfSetAlgs(Rf rf, int factorization, int solve) {
  const bool fine =
      factorization >= 0 && factorization <= 2 && solve >= 1 && solve <= 3;
  if (const Status bad =
          Set(rf, &Setting::factorization, factorization, fine)) {
    return bad;
  }
  return Set(rf, &Setting::solve, solve, fine);
}
CUSOLVER_API Status cusolverRfGetResetValuesFastMode(Rf rf, int* fast) {
  return Get(rf, &Setting::fast, fast);
}
CUSOLVER_API Status cusolverRfSetResetValuesFastMode(Rf rf, int fast) {
  return Set(rf, &Setting::fast, fast, fast == 0 || fast == 1);
}

CUSOLVER_API Status cusolverRfSetupHost(int n, int count_a, int* starts_a,
                                        int* places_a, double* values_a,
                                        int count_l, int* starts_l,
                                        int* places_l, double*, int count_u,
                                        int* starts_u, int* places_u, double*,
                                        int* p, int* q, Rf rf) {
  return Guarded(rf, [&] {
    return Setup(rf,
                 {n, count_a, starts_a, places_a, count_l, starts_l, places_l,
                  count_u, starts_u, places_u, p, q},
                 &values_a, 1);
  });
}
// Memory of either kind is read in the same way.
CUSOLVER_API Status cusolverRfSetupDevice(
    int n, int count_a, int* starts_a, int* places_a, double* values_a,
    int count_l, int* starts_l, int* places_l, double* values_l, int count_u,
    int* starts_u, int* places_u, double* values_u, int* p, int* q, Rf rf) {
  return cusolverRfSetupHost(n, count_a, starts_a, places_a, values_a, count_l,
                             starts_l, places_l, values_l, count_u, starts_u,
                             places_u, values_u, p, q, rf);
}
CUSOLVER_API Status cusolverRfBatchSetupHost(
    int batch, int n, int count_a, int* starts_a, int* places_a,
    double** values_a, int count_l, int* starts_l, int* places_l, double*,
    int count_u, int* starts_u, int* places_u, double*, int* p, int* q, Rf rf) {
  return Guarded(rf, [&] {
    return Setup(rf,
                 {n, count_a, starts_a, places_a, count_l, starts_l, places_l,
                  count_u, starts_u, places_u, p, q},
                 values_a, batch);
  });
}
CUSOLVER_API Status cusolverRfResetValues(int n, int count, int*, int*,
                                          double* values, int*, int*, Rf rf) {
  return Guarded(rf, [&] { return Reset(rf, 1, n, count, &values); });
}
CUSOLVER_API Status cusolverRfBatchResetValues(int batch, int n, int count,
                                               int*, int*, double** values,
                                               int*, int*, Rf rf) {
  return Guarded(rf, [&]() -> Status {
    std::vector<double*> places;
    if (batch <= 0 || !Read(*rf->driver, values, batch, &places)) {
      return kInvalidValue;
    }
    return Reset(rf, batch, n, count, places.data());
  });
}

CUSOLVER_API Status cusolverRfAnalyze(Rf rf) {
  return Guarded(rf, [&] { return Analyze(rf); });
}
CUSOLVER_API Status cusolverRfBatchAnalyze(Rf rf) {
  return Guarded(rf, [&] { return Analyze(rf); });
}
CUSOLVER_API Status cusolverRfRefactor(Rf rf) {
  return Guarded(rf, [&]() -> Status {
    if (const Status bad = FactorAll(rf)) return bad;
    return rf->matrices.front().zero_pivot < 0 ? kSuccess : kZeroPivot;
  });
}
// Which of many have a zero pivot is asked for (cusolverRfBatchZeroPivot).
CUSOLVER_API Status cusolverRfBatchRefactor(Rf rf) {
  return Guarded(rf, [&] { return FactorAll(rf); });
}
CUSOLVER_API Status cusolverRfBatchZeroPivot(Rf rf, int* positions) {
  return Guarded(rf, [&]() -> Status {
    std::vector<int> found;
    bool any = false;
    for (const RefactorContext::Matrix& m : rf->matrices) {
      found.push_back(m.zero_pivot);
      any |= m.zero_pivot >= 0;
    }
    if (positions == nullptr) return kInvalidValue;
    if (!Write(*rf->driver, found, positions)) return kExecutionFailed;
    return any ? kZeroPivot : kSuccess;
  });
}

CUSOLVER_API Status cusolverRfSolve(Rf rf, int* p, int* q, int columns, double*,
                                    int, double* x, int ldx) {
  return Guarded(rf, [&]() -> Status {
    if (!IsFactorized(rf)) return kInvalidValue;
    return SolveOne(rf, rf->matrices.front(), p, q, columns, x, ldx);
  });
}
CUSOLVER_API Status cusolverRfBatchSolve(Rf rf, int* p, int* q, int columns,
                                         double*, int, double** x, int ldx) {
  return Guarded(rf, [&]() -> Status {
    std::vector<double*> places;
    if (!Read(*rf->driver, x, static_cast<int>(rf->matrices.size()), &places)) {
      return kInvalidValue;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (const Status bad =
              SolveOne(rf, rf->matrices[i], p, q, columns, places[i], ldx)) {
        return bad;
      }
    }
    return kSuccess;
  });
}

CUSOLVER_API Status cusolverRfAccessBundledFactorsDevice(Rf rf, int* count,
                                                         int** starts,
                                                         int** places,
                                                         double** values) {
  return Guarded(rf, [&]() -> Status {
    if (!IsFactorized(rf) || !count || !starts || !places || !values) {
      return kInvalidValue;
    }
    const Refactor::Bundle m = Told(rf);
    const auto put = [&]<typename T>(const std::vector<T>& from, T** to) {
      std::uint64_t address = 0;
      if (rf->driver->allocate(&address, from.size() * sizeof(T)) != 0) {
        return false;
      }
      rf->on_device.push_back(address);
      *to = reinterpret_cast<T*>(address);
      return Write(*rf->driver, from, *to);
    };
    *count = static_cast<int>(m.places.size());
    return put(m.starts, starts) && put(m.places, places) &&
                   put(m.values, values)
               ? kSuccess
               : kAllocFailed;
  });
}
CUSOLVER_API Status cusolverRfExtractBundledFactorsHost(Rf rf, int* count,
                                                        int** starts,
                                                        int** places,
                                                        double** values) {
  return Guarded(rf, [&]() -> Status {
    if (!IsFactorized(rf)) return kInvalidValue;
    return Tell(Told(rf), count, starts, places, values);
  });
}
CUSOLVER_API Status cusolverRfExtractSplitFactorsHost(
    Rf rf, int* count_l, int** starts_l, int** places_l, double** values_l,
    int* count_u, int** starts_u, int** places_u, double** values_u) {
  return Guarded(rf, [&]() -> Status {
    if (!IsFactorized(rf)) return kInvalidValue;
    const Refactor::Bundle m = Told(rf);
    if (const Status bad = Tell(Part(rf, m, /*lower=*/true), count_l, starts_l,
                                places_l, values_l)) {
      return bad;
    }
    return Tell(Part(rf, m, /*lower=*/false), count_u, starts_u, places_u,
                values_u);
  });
}

}  // namespace cerberus::libraries::cusolver
