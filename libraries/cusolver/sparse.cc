#include "libraries/cusolver/sparse.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace cerberus::libraries::cusolver {
namespace {

// Who stands beside whom in A + A^T, in rising order.
std::vector<std::vector<int>> Neighbours(const Pattern& a) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(a.rows));
  for (int i = 0; i < a.rows; ++i) {
    for (int e = a.Begin(i); e < a.End(i); ++e) {
      const int j = a.Column(e);
      if (i == j) continue;
      out[static_cast<std::size_t>(i)].push_back(j);
      out[static_cast<std::size_t>(j)].push_back(i);
    }
  }
  for (std::vector<int>& list : out) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return out;
}

// Those that are reached from `first` and not yet placed, by distance, each
// one's by rising degree.
std::vector<int> Breadth(const std::vector<std::vector<int>>& neighbours,
                         int first, const std::vector<char>& placed) {
  std::vector<char> seen = placed;
  std::vector<int> out = {first};
  seen[static_cast<std::size_t>(first)] = 1;
  for (std::size_t next = 0; next < out.size(); ++next) {
    std::vector<int> found;
    for (const int j : neighbours[static_cast<std::size_t>(out[next])]) {
      if (seen[static_cast<std::size_t>(j)]) continue;
      seen[static_cast<std::size_t>(j)] = 1;
      found.push_back(j);
    }
    const auto degree = [&](int i) {
      return std::pair(neighbours[static_cast<std::size_t>(i)].size(), i);
    };
    std::sort(found.begin(), found.end(),
              [&](int x, int y) { return degree(x) < degree(y); });
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace

bool Pattern::IsFine() const {
  for (int i = 0; i < rows; ++i) {
    if (Begin(i) < 0 || End(i) < Begin(i)) return false;
    for (int e = Begin(i); e < End(i); ++e) {
      if (Column(e) < 0 || Column(e) >= columns) return false;
    }
  }
  return true;
}

Permutation Unpermuted(int n) {
  Permutation out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Permutation ByBreadth(const Pattern& a) {
  const auto neighbours = Neighbours(a);
  std::vector<char> placed(neighbours.size());
  Permutation out;
  for (int i = 0; i < a.rows; ++i) {
    if (placed[static_cast<std::size_t>(i)]) continue;
    // The last that is reached lies at an end.
    int first = i;
    for (int step = 0; step < 2; ++step) {
      first = Breadth(neighbours, first, placed).back();
    }
    for (const int j : Breadth(neighbours, first, placed)) {
      placed[static_cast<std::size_t>(j)] = 1;
      out.push_back(j);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Permutation ByDegree(const Pattern& a) {
  std::vector<std::set<int>> neighbours;
  for (const std::vector<int>& list : Neighbours(a)) {
    neighbours.emplace_back(list.begin(), list.end());
  }
  std::set<std::pair<std::size_t, int>> by_degree;
  for (int i = 0; i < a.rows; ++i) {
    by_degree.emplace(neighbours[static_cast<std::size_t>(i)].size(), i);
  }
  Permutation out;
  while (!by_degree.empty()) {
    const int i = by_degree.begin()->second;
    by_degree.erase(by_degree.begin());
    out.push_back(i);
    // Its neighbours become each other's.
    const std::set<int> around =
        std::move(neighbours[static_cast<std::size_t>(i)]);
    for (const int j : around) {
      std::set<int>& of_j = neighbours[static_cast<std::size_t>(j)];
      by_degree.erase({of_j.size(), j});
      of_j.insert(around.begin(), around.end());
      of_j.erase(i);
      of_j.erase(j);
      by_degree.emplace(of_j.size(), j);
    }
  }
  return out;
}

Permutation Reordered(const Pattern& a, int reorder) {
  switch (reorder) {
    case 0: return Unpermuted(a.rows);
    case 1: return ByBreadth(a);
    default: return ByDegree(a);
  }
}

template <typename T>
void SparseLu<T>::Reach(const Column& column) {
  reached_.clear();
  // A row that was a pivot leads to those of its column of L. Each is written
  // behind all that it leads to; what was written last comes first.
  std::vector<std::pair<int, std::size_t>> path;
  for (const auto& [first, unused] : column) {
    if (marked_[static_cast<std::size_t>(first)]) continue;
    marked_[static_cast<std::size_t>(first)] = 1;
    path.emplace_back(first, 0);
    while (!path.empty()) {
      auto& [row, next] = path.back();
      const int step = step_of_row_[static_cast<std::size_t>(row)];
      int deeper = -1;
      while (step >= 0 && deeper < 0 &&
             next < lower_[static_cast<std::size_t>(step)].size()) {
        const int to = lower_[static_cast<std::size_t>(step)][next++].first;
        if (!marked_[static_cast<std::size_t>(to)]) deeper = to;
      }
      if (deeper >= 0) {
        marked_[static_cast<std::size_t>(deeper)] = 1;
        path.emplace_back(deeper, 0);
      } else {
        reached_.push_back(row);
        path.pop_back();
      }
    }
  }
  std::reverse(reached_.begin(), reached_.end());
}

template <typename T>
int SparseLu<T>::ChoosePivot(int diagonal, const Options& options) const {
  const auto size = [&](int row) {
    return std::abs(work_[static_cast<std::size_t>(row)]);
  };
  const bool is_free = marked_[static_cast<std::size_t>(diagonal)] &&
                       step_of_row_[static_cast<std::size_t>(diagonal)] < 0;
  int best = is_free ? diagonal : -1;
  if (options.pivoting) {
    Real<T> largest = 0;
    for (const int row : reached_) {
      if (step_of_row_[static_cast<std::size_t>(row)] >= 0) continue;
      if (size(row) > largest) largest = size(row), best = row;
    }
    if (is_free && size(diagonal) >= options.threshold * largest) {
      best = diagonal;
    }
  }
  if (best < 0 || !(size(best) > options.least)) return -1;
  const T value = work_[static_cast<std::size_t>(best)];
  return options.definite && !(RealPart(value) > options.least) ? -1 : best;
}

template <typename T>
void SparseLu<T>::Factor(const Pattern& a, const T* values,
                         const Permutation& q, const Options& options) {
  const auto n = static_cast<std::size_t>(a.rows);
  // By columns, with all of the diagonal.
  std::vector<Column> by_column(n);
  for (int i = 0; i < a.rows; ++i) {
    bool has_diagonal = false;
    for (int e = a.Begin(i); e < a.End(i); ++e) {
      const int j = a.Column(e);
      has_diagonal |= i == j;
      by_column[static_cast<std::size_t>(j)].emplace_back(
          i, i == j ? values[e] - options.mu : values[e]);
    }
    if (!has_diagonal && options.mu != T(0)) {
      by_column[static_cast<std::size_t>(i)].emplace_back(i, -options.mu);
    }
  }
  zero_pivot_ = -1;
  rows_.clear();
  columns_ = q;
  step_of_row_.assign(n, -1);
  lower_.assign(n, {});
  upper_.assign(n, {});
  diagonal_.assign(n, T(0));
  work_.assign(n, T(0));
  marked_.assign(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    const Column& column = by_column[static_cast<std::size_t>(q[k])];
    Reach(column);
    for (const auto& [row, value] : column) {
      work_[static_cast<std::size_t>(row)] += value;
    }
    for (const int row : reached_) {
      const int step = step_of_row_[static_cast<std::size_t>(row)];
      if (step < 0) continue;
      const T x = work_[static_cast<std::size_t>(row)];
      upper_[k].emplace_back(step, x);
      for (const auto& [below, l] : lower_[static_cast<std::size_t>(step)]) {
        work_[static_cast<std::size_t>(below)] -= Mul(l, x);
      }
    }
    const int pivot = ChoosePivot(q[k], options);
    if (pivot < 0) {
      zero_pivot_ = static_cast<int>(k);
      return;
    }
    const T value = work_[static_cast<std::size_t>(pivot)];
    for (const int row : reached_) {
      T& element = work_[static_cast<std::size_t>(row)];
      if (row != pivot && step_of_row_[static_cast<std::size_t>(row)] < 0) {
        lower_[k].emplace_back(row, Div(element, value));
      }
      element = T(0);
      marked_[static_cast<std::size_t>(row)] = 0;
    }
    diagonal_[k] = value;
    step_of_row_[static_cast<std::size_t>(pivot)] = static_cast<int>(k);
    rows_.push_back(pivot);
  }
}

template <typename T>
void SparseLu<T>::Solve(const T* b, T* x) const {
  const std::size_t n = rows_.size();
  std::vector<T> rest(b, b + n), y(n);
  for (std::size_t k = 0; k < n; ++k) {
    y[k] = rest[static_cast<std::size_t>(rows_[k])];
    for (const auto& [row, l] : lower_[k]) {
      rest[static_cast<std::size_t>(row)] -= Mul(l, y[k]);
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    y[k] = Div(y[k], diagonal_[k]);
    for (const auto& [step, u] : upper_[k]) {
      y[static_cast<std::size_t>(step)] -= Mul(u, y[k]);
    }
    x[columns_[k]] = y[k];
  }
}

template class SparseLu<float>;
template class SparseLu<double>;
template class SparseLu<Complex32>;
template class SparseLu<Complex64>;

}  // namespace cerberus::libraries::cusolver
