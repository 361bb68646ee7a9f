// What cuDNN's functions are, as sums and by differences.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_NAIVE_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_NAIVE_H_

#include "tests/unit/libraries/cudnn.h"

namespace cerberus::libraries::tests {

// Calls f(place) for each place within sizes, by rows.
template <typename F>
void ForEachPlace(const Sizes& sizes, const F& f) {
  Sizes place(sizes.size(), 0);
  for (Index i = 0; i < Count(sizes); ++i) {
    Index rest = i;
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
      place[d] = rest % sizes[d];
    }
    f(place);
  }
}
inline Index At(const Sizes& sizes, const Sizes& place) {
  Index at = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + place[d];
  return at;
}

struct ConvolutionCase {
  Sizes x, w, padding, strides, dilations;
  bool flips = false;

  Sizes Y() const {
    Sizes y = {x[0], w[0]};
    for (std::size_t d = 0; d < padding.size(); ++d) {
      y.push_back(
          (x[d + 2] + 2 * padding[d] - (w[d + 2] - 1) * dilations[d] - 1) /
              strides[d] +
          1);
    }
    return y;
  }
  // Calls f(place in x, in w, in y) for each product of the sums.
  template <typename F>
  void ForEachTerm(const F& f) const {
    const Sizes y = Y();
    const Index in_group = w[0] / (x[1] / w[1]);
    ForEachPlace(y, [&](const Sizes& to) {
      Sizes taps(w.begin() + 1, w.end());
      ForEachPlace(taps, [&](const Sizes& tap) {
        Sizes from = {to[0], to[1] / in_group * w[1] + tap[0]};
        Sizes weight = {to[1], tap[0]};
        for (std::size_t d = 0; d < padding.size(); ++d) {
          from.push_back(to[d + 2] * strides[d] - padding[d] +
                         tap[d + 1] * dilations[d]);
          if (from[d + 2] < 0 || from[d + 2] >= x[d + 2]) return;
          weight.push_back(flips ? w[d + 2] - 1 - tap[d + 1] : tap[d + 1]);
        }
        f(At(x, from), At(w, weight), At(y, to));
      });
    });
  }
};

// One and two groups, each of one to three dimensions.
inline std::vector<ConvolutionCase> ConvolutionCases() {
  return {
      {{2, 3, 9}, {4, 3, 3}, {1}, {2}, {1}},
      {{2, 3, 7, 6}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 4, 9, 8}, {6, 2, 3, 2}, {2, 0}, {2, 1}, {2, 3}, true},
      {{2, 4, 5, 5}, {4, 1, 3, 3}, {1, 2}, {1, 2}, {1, 1}},
      {{1, 3, 1, 1}, {2, 3, 1, 1}, {0, 0}, {1, 1}, {1, 1}},
      {{1, 2, 4, 5, 3}, {3, 2, 2, 3, 3}, {0, 1, 1}, {1, 2, 1}, {1, 1, 1}, true},
  };
}

// The slopes of the sum of weights * f(x) by x, as differences of f64.
inline Values Slopes(const std::function<Values(const Values&)>& f,
                     const Values& x, const Values& weights) {
  constexpr double kStep = 1e-5;
  const auto sum = [&](const Values& at) {
    const Values y = f(at);
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += weights[i] * y[i];
    return total;
  };
  Values slopes(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    Values above = x, below = x;
    above[i] += kStep;
    below[i] -= kStep;
    slopes[i] = (sum(above) - sum(below)) / (2 * kStep);
  }
  return slopes;
}
inline constexpr double kOfDifferences = 1e-7;

// A pointwise operation of a graph.
inline std::vector<Graph::Attribute> PointwiseConfig(int mode) {
  using namespace cudnn::attribute;  // NOLINT: the names are NVIDIA's
  return {Graph::Enum(POINTWISE_MODE, cudnn::Type::kPointwiseMode, mode),
          Graph::Enum(POINTWISE_MATH_PREC, cudnn::Type::kDataType, kF32)};
}
inline void* Pointwise(
    Graph& graph, int mode,
    const std::vector<std::pair<Graph::Name, void*>>& tensors,
    std::vector<Graph::Attribute> config = {}) {
  using namespace cudnn::attribute;  // NOLINT: the names are NVIDIA's
  for (auto& attribute : PointwiseConfig(mode)) config.push_back(attribute);
  std::vector<Graph::Attribute> attributes = {
      Graph::Of(OPERATION_POINTWISE_PW_DESCRIPTOR,
                graph.Make(Graph::Kind::kPointwise, config))};
  for (const auto& [name, tensor] : tensors) {
    attributes.push_back(Graph::Of(name, tensor));
  }
  return graph.Add(Graph::Kind::kOperationPointwise, attributes);
}

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_NAIVE_H_
