// Factors that are kept between calls: what cusolverSp_LOWLEVEL_PREVIEW.h has,
// and the batches of cusolverSp.h.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SPARSE_INFO_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SPARSE_INFO_H_

#include <variant>
#include <vector>

#include "libraries/cusolver/sparse_calls.h"

namespace cerberus::libraries::cusolver {

// csrluInfoHost_t, csrqrInfoHost_t, csrqrInfo_t, csrcholInfoHost_t,
// csrcholInfo_t.
struct SparseInformation {
  // A's pattern, counted from 0.
  int rows = 0, columns = 0;
  std::vector<int> starts, places;
  Permutation order;
  std::variant<std::monostate, SparseLu<float>, SparseLu<double>,
               SparseLu<Complex32>, SparseLu<Complex64>>
      lu;
  // Of csrqr: the values, and what is taken from the diagonal.
  std::variant<std::monostate, std::vector<float>, std::vector<double>,
               std::vector<Complex32>, std::vector<Complex64>>
      values;
  Complex64 mu = 0;

  Pattern ToPattern() const {
    return {rows, columns, 0, starts.data(), places.data(), nullptr};
  }
};
using SparseInfo = SparseInformation*;
bool IsAlive(SparseInfo info);

// Keeps the pattern, of the host's or the device's memory.
template <bool kHost>
Status AnalyseCall(Handle h, Index m, Index n, Index nnz, Descr descr,
                   const int* starts, const int* places, SparseInfo info) {
  int base = 0;
  const Csr<float> a{m, n, nnz, descr, nullptr, starts, places};
  if (const Status bad = a.Check(&base)) return bad;
  if (!IsAlive(info) || m < n) return kInvalidValue;
  Call call(h);
  const int* ps = kHost ? starts : call.Vector(starts, m + 1, 1);
  const int* pp = kHost ? places : call.Vector(places, nnz, 1);
  return RunNow(kHost, call, [&]() -> Status {
    const Pattern given{static_cast<int>(m), static_cast<int>(n), base, ps, pp};
    if (!given.IsFine() || (m > 0 && given.End(given.rows - 1) > nnz)) {
      return kInvalidValue;
    }
    info->rows = given.rows;
    info->columns = given.columns;
    info->starts.clear();
    for (Index i = 0; i <= m; ++i) info->starts.push_back(ps[i] - base);
    info->places.clear();
    for (Index e = 0; e < nnz; ++e) info->places.push_back(pp[e] - base);
    info->order = m == n ? ByDegree(info->ToPattern()) : Permutation();
    info->lu = std::monostate();
    info->values = std::monostate();
    return kSuccess;
  });
}
inline Status AskInfo(SparseInfo info, std::size_t* internal,
                      std::size_t* work) {
  if (!IsAlive(info)) return kInvalidValue;
  *internal = kWorkBytes;
  return Ask(true, work);
}

template <bool kHost, typename T>
Status FactorCall(Handle h, Index n, Index nnz, const T* values,
                  SparseInfo info, bool definite, Real<T> threshold) {
  if (!IsAlive(info) || info->rows != n || info->columns != n ||
      static_cast<Index>(info->places.size()) != nnz) {
    return kInvalidValue;
  }
  Call call(h);
  const T* pv = kHost ? values : call.Vector(values, nnz, 1);
  return RunNow(kHost, call, [&]() -> Status {
    typename SparseLu<T>::Options options;
    options.pivoting = !definite;
    options.definite = definite;
    options.threshold = threshold;
    info->lu.template emplace<SparseLu<T>>().Factor(info->ToPattern(), pv,
                                                    info->order, options);
    return kSuccess;
  });
}

// The values of a csrqr, and then its factor.
template <bool kHost, typename T>
Status SetupCall(Handle h, Index m, Index n, Index nnz, const T* values, T mu,
                 SparseInfo info) {
  if (!IsAlive(info) || info->rows != m || info->columns != n ||
      static_cast<Index>(info->places.size()) != nnz) {
    return kInvalidValue;
  }
  Call call(h);
  const T* pv = kHost ? values : call.Vector(values, nnz, 1);
  return RunNow(kHost, call, [&]() -> Status {
    info->values.template emplace<std::vector<T>>(pv, pv + nnz);
    info->mu = Complex64(mu);
    return kSuccess;
  });
}

// x out of b, by what is kept: a factor, or of a tall matrix its values.
template <typename T>
Status SolveWith(SparseInfo info, const T* b, T* x) {
  if (info->rows > info->columns) {
    const auto* values = std::get_if<std::vector<T>>(&info->values);
    if (values == nullptr) return kInvalidValue;
    NearestDense<T>(info->rows, info->columns,
                    ToDense(info->ToPattern(), values->data()), b, Real<T>(0),
                    x, nullptr);
    return kSuccess;
  }
  const auto* lu = std::get_if<SparseLu<T>>(&info->lu);
  if (lu == nullptr || lu->zero_pivot() >= 0) return kInvalidValue;
  lu->Solve(b, x);
  return kSuccess;
}
template <bool kHost, typename T>
Status SolveCall(Handle h, const T* b, T* x, SparseInfo info) {
  if (!IsAlive(info)) return kInvalidValue;
  Call call(h);
  const T* pb = kHost ? b : call.Vector(b, info->rows, 1);
  T* px = kHost ? x : call.VectorOut(x, info->columns, 1);
  return RunNow(kHost, call, [&] { return SolveWith<T>(info, pb, px); });
}
// Without b and x it only factorizes.
template <bool kHost, typename T>
Status QrFactorCall(Handle h, Index m, Index n, Index nnz, const T* b, T* x,
                    SparseInfo info) {
  if (!IsAlive(info) || info->rows != m || info->columns != n ||
      static_cast<Index>(info->places.size()) != nnz) {
    return kInvalidValue;
  }
  const auto* values = std::get_if<std::vector<T>>(&info->values);
  if (values == nullptr) return kInvalidValue;
  if (m == n) {
    typename SparseLu<T>::Options options;
    if constexpr (kIsComplex<T>) options.mu = T(info->mu);
    else options.mu = static_cast<T>(info->mu.real());
    info->lu.template emplace<SparseLu<T>>().Factor(
        info->ToPattern(), values->data(), info->order, options);
  } else if (info->mu != Complex64(0)) {
    return kNotSupported;
  }
  if (b == nullptr || x == nullptr) return kSuccess;
  return SolveCall<kHost>(h, b, x, info);
}

// The first step whose pivot is not above `tol`, or -1.
template <typename T>
Status ZeroPivotCall(SparseInfo info, Real<T> tol, int* position) {
  if (!IsAlive(info) || position == nullptr) return kInvalidValue;
  *position = -1;
  if (info->rows > info->columns) return kSuccess;
  const auto* lu = std::get_if<SparseLu<T>>(&info->lu);
  if (lu == nullptr) return kInvalidValue;
  const int end = lu->zero_pivot() >= 0 ? lu->zero_pivot() : info->rows;
  for (int k = 0; k < end; ++k) {
    if (!(std::abs(lu->diagonal()[static_cast<std::size_t>(k)]) > tol)) {
      *position = k;
      return kSuccess;
    }
  }
  *position = lu->zero_pivot();
  return kSuccess;
}

// `count` matrices of one pattern.
template <typename T>
Status QrBatched(Handle h, Index m, Index n, Index nnz, const T* values,
                 const T* b, T* x, Index count, SparseInfo info) {
  if (!IsAlive(info) || info->rows != m || info->columns != n ||
      static_cast<Index>(info->places.size()) != nnz || count < 0) {
    return kInvalidValue;
  }
  Call call(h);
  const T* pv = call.Vector(values, nnz * count, 1);
  const T* pb = call.Vector(b, m * count, 1);
  T* px = call.VectorOut(x, n * count, 1);
  return RunNow(/*host=*/false, call, [&]() -> Status {
    for (Index i = 0; i < count; ++i) {
      const T* const of_one = pv + i * nnz;
      if (m == n) {
        info->lu.template emplace<SparseLu<T>>().Factor(
            info->ToPattern(), of_one, info->order, {});
      } else {
        info->values.template emplace<std::vector<T>>(of_one, of_one + nnz);
      }
      // A singular one has no solution, as NVIDIA's leaves none.
      if (SolveWith<T>(info, pb + i * m, px + i * n) != kSuccess) {
        std::fill_n(px + i * n, n,
                    T(std::numeric_limits<Real<T>>::quiet_NaN()));
      }
    }
    return kSuccess;
  });
}

// --- csrlu's factors: A(p, q) = L U.
template <typename T>
Status LuExtract(int* p, int* q, Descr descr_l, T* values_l, int* starts_l,
                 int* places_l, Descr descr_u, T* values_u, int* starts_u,
                 int* places_u, SparseInfo info) {
  int base_l = 0, base_u = 0;
  if (const Status bad = CheckDescr(descr_l, &base_l)) return bad;
  if (const Status bad = CheckDescr(descr_u, &base_u)) return bad;
  if (!IsAlive(info)) return kInvalidValue;
  const auto* lu = std::get_if<SparseLu<T>>(&info->lu);
  if (lu == nullptr || lu->zero_pivot() >= 0) return kInvalidValue;
  const int n = info->rows;
  // Columns into rows; L's rows are A's, which are steps by now.
  std::vector<int> step_of(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) {
    step_of[static_cast<std::size_t>(lu->rows()[static_cast<std::size_t>(k)])] =
        k;
  }
  using Row = std::vector<std::pair<int, T>>;
  std::vector<Row> l(static_cast<std::size_t>(n)), u(l);
  for (int k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    // Before column k come those of smaller number in each row.
    for (const auto& [step, value] : lu->upper()[at]) {
      u[static_cast<std::size_t>(step)].emplace_back(k, value);
    }
    u[at].emplace_back(k, lu->diagonal()[at]);
    for (const auto& [row, value] : lu->lower()[at]) {
      l[static_cast<std::size_t>(step_of[static_cast<std::size_t>(row)])]
          .emplace_back(k, value);
    }
  }
  for (int k = 0; k < n; ++k) {
    Row& row = u[static_cast<std::size_t>(k)];
    std::sort(row.begin(), row.end(),
              [](const auto& x, const auto& y) { return x.first < y.first; });
    l[static_cast<std::size_t>(k)].emplace_back(k, T(1));
  }
  const auto write = [n](const std::vector<Row>& rows, int base, T* values,
                         int* starts, int* places) {
    int next = 0;
    for (int i = 0; i < n; ++i) {
      starts[i] = next + base;
      for (const auto& [column, value] : rows[static_cast<std::size_t>(i)]) {
        values[next] = value;
        places[next++] = column + base;
      }
    }
    starts[n] = next + base;
  };
  write(l, base_l, values_l, starts_l, places_l);
  write(u, base_u, values_u, starts_u, places_u);
  std::copy(lu->rows().begin(), lu->rows().end(), p);
  std::copy(lu->columns().begin(), lu->columns().end(), q);
  return kSuccess;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SPARSE_INFO_H_
