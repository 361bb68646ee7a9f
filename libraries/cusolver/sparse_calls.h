// Systems with one sparse matrix, its eigenvalues, orders of its rows: what
// cusolverSp.h has.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SPARSE_CALLS_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SPARSE_CALLS_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "libraries/cublas/reflect.h"
#include "libraries/cusolver/api.h"
#include "libraries/cusolver/sparse.h"
#include "libraries/cusolver/spectrum.h"

namespace cerberus::libraries::cusolver {

// cusparseMatDescr_t, whose library is in the process.
using Descr = const struct SparseDescription*;
// Whether the description is of a general matrix, and the base of its indices.
Status CheckDescr(Descr descr, int* base);

// A matrix as a call names it.
template <typename T>
struct Csr {
  Index rows, columns, nnz;
  Descr descr;
  const T* values;
  const int* starts;
  const int* places;

  Status Check(int* base) const {
    if (rows < 0 || columns < 0 || nnz < 0) return kInvalidValue;
    return CheckDescr(descr, base);
  }
  // As the host may read it.
  Csr In(Call& call) const {
    return {rows,
            columns,
            nnz,
            descr,
            call.Vector(values, nnz, 1),
            call.Vector(starts, rows + 1, 1),
            call.Vector(places, nnz, 1)};
  }
  Pattern ToPattern(int base) const {
    return {static_cast<int>(rows),
            static_cast<int>(columns),
            base,
            starts,
            places,
            nullptr};
  }
};

// Runs `work` at once if all is the host's, else when the stream comes to it,
// which is waited for; it returns a status.
template <typename Work>
Status RunNow(bool host, Call& call, const Work& work) {
  if (host) return work();
  Status status = kSuccess;
  if (const Status bad = Queue(call, [&] { status = work(); }, /*wait=*/true)) {
    return bad;
  }
  return status;
}

// y := A x.
template <typename T>
void Multiply(const Pattern& a, const T* values, const T* x, T* y) {
  for (int i = 0; i < a.rows; ++i) {
    T sum(0);
    for (int e = a.Begin(i); e < a.End(i); ++e) {
      sum += Mul(values[e], x[a.Column(e)]);
    }
    y[i] = sum;
  }
}

// csrlsvlu, csrlsvqr, csrlsvchol. `singularity`, the host's: -1, or the first
// column that depends on those in front of it, by `tol`.
template <bool kHost, bool kDefinite, typename T>
Status LsvCall(Handle h, const Csr<T>& a, const T* b, Real<T> tol, int reorder,
               T* x, int* singularity) {
  int base = 0;
  if (const Status bad = a.Check(&base)) return bad;
  if (singularity == nullptr || reorder < 0 || reorder > 3) {
    return kInvalidValue;
  }
  Call call(h);
  const Csr<T> m = kHost ? a : a.In(call);
  const T* pb = kHost ? b : call.Vector(b, a.rows, 1);
  T* px = kHost ? x : call.VectorOut(x, a.rows, 1);
  return RunNow(kHost, call, [&]() -> Status {
    const Pattern pattern = m.ToPattern(base);
    if (!pattern.IsFine()) return kInvalidValue;
    SparseLu<T> lu;
    typename SparseLu<T>::Options options;
    options.pivoting = !kDefinite;
    options.definite = kDefinite;
    options.least = std::max(tol, Real<T>(0));
    lu.Factor(pattern, m.values, Reordered(pattern, reorder), options);
    *singularity = lu.zero_pivot();
    if (*singularity < 0) lu.Solve(pb, px);
    return kSuccess;
  });
}

// A dense copy by columns.
template <typename T>
std::vector<T> ToDense(const Pattern& a, const T* values) {
  const auto rows = static_cast<std::size_t>(a.rows);
  std::vector<T> out(rows * static_cast<std::size_t>(a.columns));
  for (int i = 0; i < a.rows; ++i) {
    for (int e = a.Begin(i); e < a.End(i); ++e) {
      out[static_cast<std::size_t>(i) +
          static_cast<std::size_t>(a.Column(e)) * rows] += values[e];
    }
  }
  return out;
}

// The x that comes nearest to A x = b, with zeros for columns that depend on
// others by `tol`: A(:, p) = Q R, the longest column of what is left first.
// Returns the rank.
template <typename T>
int NearestDense(Index m, Index n, std::vector<T> a, const T* b, Real<T> tol,
                 T* x, int* p) {
  std::vector<T> rest(b, b + m);
  const auto column = [&](Index j) { return a.data() + j * m; };
  Permutation order = Unpermuted(static_cast<int>(n));
  Index rank = 0;
  for (; rank < std::min(m, n); ++rank) {
    Index best = rank;
    Real<T> longest = -1;
    for (Index j = rank; j < n; ++j) {
      const Real<T> length =
          cublas::Norm<T>(m - rank, column(j) + rank, Index{1});
      if (length > longest) longest = length, best = j;
    }
    if (!(longest > tol)) break;
    std::swap_ranges(column(rank), column(rank) + m, column(best));
    std::swap(order[static_cast<std::size_t>(rank)],
              order[static_cast<std::size_t>(best)]);
    T* const v = column(rank) + rank;
    const T tau = cublas::MakeReflection<T>(m - rank, v, v + 1, 1);
    cublas::Reflect<T>(ConjOf(tau), v, m - rank, n - rank - 1, v + m, m);
    cublas::Reflect<T>(ConjOf(tau), v, m - rank, 1, rest.data() + rank, m);
  }
  cublas::Trsm<T>(kLeft, kUpper, kN, kNonUnit, rank, 1, T(1), a.data(),
                  std::max<Index>(1, m), rest.data(), std::max<Index>(1, m));
  for (Index j = 0; j < n; ++j) {
    x[order[static_cast<std::size_t>(j)]] =
        j < rank ? rest[static_cast<std::size_t>(j)] : T(0);
  }
  if (p != nullptr) std::copy(order.begin(), order.end(), p);
  return static_cast<int>(rank);
}
template <typename T>
Status LsqvqrCall(const Csr<T>& a, const T* b, Real<T> tol, int* rank, T* x,
                  int* p, Real<T>* distance) {
  int base = 0;
  if (const Status bad = a.Check(&base)) return bad;
  const Pattern pattern = a.ToPattern(base);
  if (a.rows < a.columns || rank == nullptr || distance == nullptr ||
      !pattern.IsFine()) {
    return kInvalidValue;
  }
  *rank = NearestDense<T>(a.rows, a.columns, ToDense(pattern, a.values), b,
                          std::max(tol, Real<T>(0)), x, p);
  std::vector<T> image(static_cast<std::size_t>(a.rows));
  Multiply(pattern, a.values, x, image.data());
  for (Index i = 0; i < a.rows; ++i) image[static_cast<std::size_t>(i)] -= b[i];
  *distance = cublas::Norm<T>(a.rows, image.data(), Index{1});
  return kSuccess;
}

// The eigenvalue nearest to mu0 and its vector of length one, by solving with
// A - mu0 again and again from x0 on, until |A x - mu x| is below `tol`.
template <typename T>
void InverseIteration(const Pattern& a, const T* values, T mu0, const T* x0,
                      int most, Real<T> tol, T* mu, T* x) {
  const Index n = a.rows;
  SparseLu<T> lu;
  typename SparseLu<T>::Options options;
  options.mu = mu0;
  const Permutation order = ByDegree(a);
  lu.Factor(a, values, order, options);
  // mu0 is an eigenvalue itself: one beside it does.
  for (Real<T> by = std::numeric_limits<Real<T>>::epsilon();
       lu.zero_pivot() >= 0 && by < 1; by *= 16) {
    options.mu = mu0 + T(by * std::max(std::abs(mu0), Real<T>(1)));
    lu.Factor(a, values, order, options);
  }
  if (lu.zero_pivot() >= 0) return;
  std::vector<T> image(static_cast<std::size_t>(n));
  std::vector<T> next(x0, x0 + n);
  const auto normalize = [&] {
    const Real<T> length = cublas::Norm<T>(n, next.data(), Index{1});
    for (Index i = 0; i < n; ++i) {
      x[i] = Div(next[static_cast<std::size_t>(i)], T(length));
    }
  };
  normalize();
  for (int step = 0; step < std::max(most, 1); ++step) {
    lu.Solve(x, next.data());
    normalize();
    Multiply(a, values, x, image.data());
    *mu = T(0);
    for (Index i = 0; i < n; ++i) {
      *mu += Mul(ConjOf(x[i]), image[static_cast<std::size_t>(i)]);
    }
    for (Index i = 0; i < n; ++i) {
      image[static_cast<std::size_t>(i)] -= Mul(*mu, x[i]);
    }
    if (cublas::Norm<T>(n, image.data(), Index{1}) < tol) return;
  }
}
template <bool kHost, typename T>
Status EigvsiCall(Handle h, const Csr<T>& a, T mu0, const T* x0, int most,
                  Real<T> tol, T* mu, T* x) {
  int base = 0;
  if (const Status bad = a.Check(&base)) return bad;
  if (mu == nullptr || most < 0) return kInvalidValue;
  Call call(h);
  const Csr<T> m = kHost ? a : a.In(call);
  const T* p0 = kHost ? x0 : call.Vector(x0, a.rows, 1);
  T* pm = kHost ? mu : call.VectorOut(mu, 1, 1);
  T* px = kHost ? x : call.VectorOut(x, a.rows, 1);
  return RunNow(kHost, call, [&]() -> Status {
    const Pattern pattern = m.ToPattern(base);
    if (!pattern.IsFine()) return kInvalidValue;
    InverseIteration(pattern, m.values, mu0, p0, most, tol, pm, px);
    return kSuccess;
  });
}

// How many eigenvalues lie in a rectangle.
template <typename T>
Status EigsCall(const Csr<T>& a, std::complex<Real<T>> left_bottom,
                std::complex<Real<T>> right_upper, int* count) {
  int base = 0;
  if (const Status bad = a.Check(&base)) return bad;
  const Pattern pattern = a.ToPattern(base);
  if (count == nullptr || !pattern.IsFine()) return kInvalidValue;
  std::vector<T> dense = ToDense(pattern, a.values);
  std::vector<std::complex<Real<T>>> w(static_cast<std::size_t>(a.rows));
  Geev<T>(a.rows, dense.data(), std::max<Index>(1, a.rows), w.data(), nullptr,
          1, nullptr, 1);
  *count = static_cast<int>(std::count_if(w.begin(), w.end(), [&](auto value) {
    return value.real() >= left_bottom.real() &&
           value.real() <= right_upper.real() &&
           value.imag() >= left_bottom.imag() &&
           value.imag() <= right_upper.imag();
  }));
  return kSuccess;
}

// Rows p with elements on the diagonal of A(p, :), as many as there can be.
template <typename T>
Status ZfdCall(const Csr<T>& a, int* p, int* count) {
  int base = 0;
  if (const Status bad = a.Check(&base)) return bad;
  const Pattern pattern = a.ToPattern(base);
  if (p == nullptr || count == nullptr || !pattern.IsFine()) {
    return kInvalidValue;
  }
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<int> row_of(n, -1), column_of(n, -1);
  *count = 0;
  for (int first = 0; first < pattern.rows; ++first) {
    // The shortest way, by rows and columns in turns, to a column without one.
    std::vector<int> from(n, -1), rows = {first};
    int end = -1;
    for (std::size_t next = 0; end < 0 && next < rows.size(); ++next) {
      const int row = rows[next];
      for (int e = pattern.Begin(row); end < 0 && e < pattern.End(row); ++e) {
        const auto column = static_cast<std::size_t>(pattern.Column(e));
        if (a.values[e] == T(0) || from[column] >= 0) continue;
        from[column] = row;
        if (row_of[column] < 0) end = static_cast<int>(column);
        else rows.push_back(row_of[column]);
      }
    }
    if (end < 0) continue;
    ++*count;
    for (int column = end; column >= 0;) {
      const int row = from[static_cast<std::size_t>(column)];
      row_of[static_cast<std::size_t>(column)] = row;
      std::swap(column, column_of[static_cast<std::size_t>(row)]);
    }
  }
  // Columns without one take the rows that are left.
  std::vector<char> taken(n);
  for (const int row : row_of) {
    if (row >= 0) taken[static_cast<std::size_t>(row)] = 1;
  }
  int free = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (row_of[j] < 0) {
      while (taken[static_cast<std::size_t>(free)]) ++free;
      row_of[j] = free++;
    }
    p[j] = row_of[j];
  }
  return kSuccess;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SPARSE_CALLS_H_
