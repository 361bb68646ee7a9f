#include "libraries/cusolver/refactor.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace cerberus::libraries::cusolver {

bool IsPermutation(const int* p, int n) {
  if (p == nullptr) return n == 0;
  Permutation sorted(p, p + n);
  std::sort(sorted.begin(), sorted.end());
  return sorted == Unpermuted(n);
}

bool Refactor::Setup(const Pattern& a, const Pattern& lower,
                     const Pattern& upper, const Permutation& p,
                     const Permutation& q) {
  const int n = a.rows;
  if (!a.IsFine() || !lower.IsFine() || !upper.IsFine() ||
      !IsPermutation(p.data(), n) || !IsPermutation(q.data(), n)) {
    return false;
  }
  p_ = p;
  q_ = q;
  std::vector<int> place_of(static_cast<std::size_t>(n));
  for (int j = 0; j < n; ++j) {
    place_of[static_cast<std::size_t>(q[static_cast<std::size_t>(j)])] = j;
  }
  a_starts_ = {0};
  a_elements_.clear();
  a_columns_.clear();
  pattern_ = {{0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    // What the program says of L and U, and A and the diagonal besides.
    std::set<int> columns = {i};
    const int row = p[static_cast<std::size_t>(i)];
    for (int e = a.Begin(row); e < a.End(row); ++e) {
      const int j = place_of[static_cast<std::size_t>(a.Column(e))];
      a_elements_.push_back(e);
      a_columns_.push_back(j);
      columns.insert(j);
    }
    a_starts_.push_back(static_cast<int>(a_elements_.size()));
    for (int e = lower.Begin(i); e < lower.End(i); ++e) {
      if (lower.Column(e) < i) columns.insert(lower.Column(e));
    }
    for (int e = upper.Begin(i); e < upper.End(i); ++e) {
      if (upper.Column(e) > i) columns.insert(upper.Column(e));
    }
    pattern_.places.insert(pattern_.places.end(), columns.begin(),
                           columns.end());
    pattern_.starts.push_back(static_cast<int>(pattern_.places.size()));
  }
  return true;
}

int Refactor::Factor(const double* values, double zero, double boost,
                     bool* boosted, Bundle* bundle) const {
  *bundle = pattern_;
  Bundle& m = *bundle;
  m.values.assign(m.places.size(), 0);
  const auto size = static_cast<std::size_t>(n());
  std::vector<double> row(size);
  std::vector<std::size_t> diagonal(size), in_row(size);
  int zero_pivot = -1;
  for (std::size_t i = 0; i < size; ++i) {
    const auto begin = static_cast<std::size_t>(m.starts[i]),
               end = static_cast<std::size_t>(m.starts[i + 1]);
    for (std::size_t e = begin; e < end; ++e) {
      in_row[static_cast<std::size_t>(m.places[e])] = i + 1;
    }
    for (auto e = static_cast<std::size_t>(a_starts_[i]);
         e < static_cast<std::size_t>(a_starts_[i + 1]); ++e) {
      row[static_cast<std::size_t>(a_columns_[e])] += values[a_elements_[e]];
    }
    std::size_t e = begin;
    for (; static_cast<std::size_t>(m.places[e]) < i; ++e) {
      const auto k = static_cast<std::size_t>(m.places[e]);
      const double l = row[k] /= m.values[diagonal[k]];
      for (std::size_t u = diagonal[k] + 1;
           u < static_cast<std::size_t>(m.starts[k + 1]); ++u) {
        // What the program's patterns leave out is left out.
        const auto j = static_cast<std::size_t>(m.places[u]);
        if (in_row[j] == i + 1) row[j] -= l * m.values[u];
      }
    }
    diagonal[i] = e;
    double& pivot = row[i];
    if (!(std::abs(pivot) > zero)) {
      if (boost != 0) {
        pivot = boost;
        *boosted = true;
      } else if (zero_pivot < 0) {
        zero_pivot = static_cast<int>(i);
      }
    }
    for (e = begin; e < end; ++e) {
      double& element = row[static_cast<std::size_t>(m.places[e])];
      m.values[e] = element;
      element = 0;
    }
  }
  return zero_pivot;
}

void Refactor::Solve(const Bundle& m, const Permutation& p,
                     const Permutation& q, double* x) {
  const std::size_t n = p.size();
  std::vector<double> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = x[p[i]];
    for (auto e = static_cast<std::size_t>(m.starts[i]);
         static_cast<std::size_t>(m.places[e]) < i; ++e) {
      y[i] -= m.values[e] * y[static_cast<std::size_t>(m.places[e])];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    auto e = static_cast<std::size_t>(m.starts[i + 1]) - 1;
    for (; static_cast<std::size_t>(m.places[e]) > i; --e) {
      y[i] -= m.values[e] * y[static_cast<std::size_t>(m.places[e])];
    }
    y[i] /= m.values[e];
  }
  for (std::size_t j = 0; j < n; ++j) x[q[j]] = y[j];
}

}  // namespace cerberus::libraries::cusolver
