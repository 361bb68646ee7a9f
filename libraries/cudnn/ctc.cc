#include "libraries/cudnn/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerberus::libraries::cudnn {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double AddLogs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// The labels with blanks around each.
std::vector<Index> Spread(const std::vector<Index>& labels) {
  std::vector<Index> spread(2 * labels.size() + 1, 0);
  for (std::size_t i = 0; i < labels.size(); ++i) spread[2 * i + 1] = labels[i];
  return spread;
}

}  // namespace

double CtcLoss(const double* logarithms, Index times, Index alphabet,
               const std::vector<Index>& labels, double* slopes) {
  const std::vector<Index> states = Spread(labels);
  const std::size_t n = states.size();
  const auto at = [&](Index t, std::size_t s) {
    return logarithms[t * alphabet + states[s]];
  };
  // Whether a state is reached from that two before it.
  const auto skips = [&](std::size_t s) {
    return s >= 2 && states[s] != 0 && states[s] != states[s - 2];
  };
  using Row = std::vector<double>;
  std::vector<Row> forward(static_cast<std::size_t>(times), Row(n, kNever));
  std::vector<Row> backward = forward;
  for (Index t = 0; t < times; ++t) {
    Row& row = forward[static_cast<std::size_t>(t)];
    for (std::size_t s = 0; s < n; ++s) {
      double sum = t == 0 && s < 2 ? 0 : kNever;
      if (t > 0) {
        const Row& last = forward[static_cast<std::size_t>(t - 1)];
        sum = last[s];
        if (s >= 1) sum = AddLogs(sum, last[s - 1]);
        if (skips(s)) sum = AddLogs(sum, last[s - 2]);
      }
      row[s] = sum + at(t, s);
    }
  }
  double total = kNever;
  if (times == 0) {
    total = labels.empty() ? 0 : kNever;
  } else {
    total = forward.back()[n - 1];
    if (n > 1) total = AddLogs(total, forward.back()[n - 2]);
  }
  if (slopes == nullptr) return -total;
  for (Index t = times; t-- > 0;) {
    Row& row = backward[static_cast<std::size_t>(t)];
    for (std::size_t s = 0; s < n; ++s) {
      double sum = t == times - 1 && s + 2 >= n ? 0 : kNever;
      if (t + 1 < times) {
        const Row& next = backward[static_cast<std::size_t>(t + 1)];
        sum = next[s] + at(t + 1, s);
        if (s + 1 < n) sum = AddLogs(sum, next[s + 1] + at(t + 1, s + 1));
        if (s + 2 < n && skips(s + 2)) {
          sum = AddLogs(sum, next[s + 2] + at(t + 1, s + 2));
        }
      }
      row[s] = sum;
    }
  }
  for (Index t = 0; t < times; ++t) {
    double* slope = slopes + t * alphabet;
    for (Index a = 0; a < alphabet; ++a) {
      slope[a] = std::exp(logarithms[t * alphabet + a]);
    }
    for (std::size_t s = 0; s < n; ++s) {
      const auto row = static_cast<std::size_t>(t);
      slope[states[s]] -= std::exp(forward[row][s] + backward[row][s] - total);
    }
  }
  return -total;
}

}  // namespace cerberus::libraries::cudnn
