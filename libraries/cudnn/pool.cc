#include "libraries/cudnn/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerberus::libraries::cudnn {
namespace {

// An element of a window: where in the plane of X, -1 for padding.
struct Tap {
  Index at;
  Index number;  // in the window
};

// Calls f(place in Y's plane, taps of its window) for each place.
template <typename F>
void ForEachWindow(const Pooling& p, const Sizes& x, const Sizes& y,
                   const F& f) {
  const std::size_t n = p.window.size();
  const Sizes plane(y.begin() + 2, y.end());
  Sizes place(n, 0);
  Index to = 0;
  std::vector<Tap> taps;
  do {
    taps.clear();
    Sizes within(n, 0);
    Index number = 0;
    do {
      Index at = 0;
      for (std::size_t d = 0; d < n; ++d) {
        const Index size = x[d + 2];
        Index i = place[d] * p.strides[d] - p.before[d] + within[d];
        if (p.edge == Pooling::kRepeated) i = std::clamp<Index>(i, 0, size - 1);
        if (i < 0 || i >= size) at = -1;
        if (at >= 0) at = at * size + i;
      }
      taps.push_back({at, number++});
    } while (NextPlace(p.window, &within));
    f(to++, taps);
  } while (NextPlace(plane, &place));
}

Index PlaneOf(const Sizes& sizes) {
  return ProductOf({sizes.begin() + 2, sizes.end()});
}
// What a window's sum is divided by.
double Divisor(const Pooling& p, const std::vector<Tap>& taps) {
  const auto inside = std::count_if(taps.begin(), taps.end(),
                                    [](const Tap& tap) { return tap.at >= 0; });
  return static_cast<double>(p.counts_padding
                                 ? static_cast<std::ptrdiff_t>(taps.size())
                                 : std::max<std::ptrdiff_t>(1, inside));
}

// The maximum of a window, and the tap that has it, the first of equals.
Tap Most(const Pooling& p, const double* x, const std::vector<Tap>& taps,
         double* most) {
  Tap found = {-1, -1};
  *most = -std::numeric_limits<double>::infinity();
  for (const Tap& tap : taps) {
    if (tap.at < 0 && p.edge != Pooling::kZero) continue;
    const double value = tap.at < 0 ? 0 : x[tap.at];
    if (std::isnan(value) && !p.keeps_nan) continue;
    if (found.number < 0 || value > *most ||
        (std::isnan(value) && !std::isnan(*most))) {
      *most = value;
      found = tap;
    }
  }
  return found;
}

}  // namespace

Sizes PooledSizes(const Pooling& p, const Sizes& x) {
  if (x.size() != p.window.size() + 2) return {};
  Sizes y{x[0], x[1]};
  for (std::size_t d = 0; d < p.window.size(); ++d) {
    const Index room = x[d + 2] + p.before[d] + p.after[d] - p.window[d];
    y.push_back(room < 0 ? 0 : room / p.strides[d] + 1);
  }
  return y;
}

bool CanPool(const Pooling& p, const Sizes& x, const Sizes& y) {
  return x.size() == p.window.size() + 2 && y.size() == x.size() &&
         x[0] == y[0] && x[1] == y[1];
}

Array Pool(const Pooling& p, const Array& x, const Sizes& sizes,
           Array* places) {
  Array y(sizes);
  if (places != nullptr) *places = Array(sizes);
  const Index planes = sizes[0] * sizes[1];
  const Index in = PlaneOf(x.sizes), out = PlaneOf(sizes);
  ForEachWindow(p, x.sizes, sizes, [&](Index to, const auto& taps) {
    const double divisor = Divisor(p, taps);
    for (Index plane = 0; plane < planes; ++plane) {
      const double* from = x.values.data() + plane * in;
      double& result = y[plane * out + to];
      if (p.is_max) {
        const Tap tap = Most(p, from, taps, &result);
        if (places != nullptr) {
          (*places)[plane * out + to] = static_cast<double>(tap.number);
        }
      } else {
        for (const Tap& tap : taps) result += tap.at < 0 ? 0 : from[tap.at];
        result /= divisor;
      }
    }
  });
  return y;
}

Array PoolBackward(const Pooling& p, const Array& dy, const Sizes& sizes,
                   const Array* places) {
  Array dx(sizes);
  const Index planes = sizes[0] * sizes[1];
  const Index in = PlaneOf(sizes), out = PlaneOf(dy.sizes);
  ForEachWindow(p, sizes, dy.sizes, [&](Index from, const auto& taps) {
    const double divisor = Divisor(p, taps);
    for (Index plane = 0; plane < planes; ++plane) {
      double* to = dx.values.data() + plane * in;
      const double slope = dy[plane * out + from];
      if (p.is_max) {
        const double place = (*places)[plane * out + from];
        if (place < 0 || place >= static_cast<double>(taps.size())) continue;
        const Tap& tap = taps[static_cast<std::size_t>(place)];
        if (tap.at >= 0) to[tap.at] += slope;
      } else {
        for (const Tap& tap : taps) {
          if (tap.at >= 0) to[tap.at] += slope / divisor;
        }
      }
    }
  });
  return dx;
}

}  // namespace cerberus::libraries::cudnn
