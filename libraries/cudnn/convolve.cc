#include "libraries/cudnn/convolve.h"

#include <algorithm>

#include "libraries/cublas/math.h"

namespace cerberus::libraries::cudnn {
namespace {

// Elements of the matrix of columns that is made at a time.
constexpr Index kColumnElements = Index{1} << 22;

// A convolution in three dimensions: those that are missing in front are of
// size 1.
struct Shape {
  Index images, groups, channels, filters;  // the last two of one group
  Index x[3], w[3], y[3], before[3], strides[3], dilations[3];

  Shape(const Convolution& c, const Sizes& xs, const Sizes& ws,
        const Sizes& ys) {
    images = xs[0];
    channels = ws[1];
    groups = xs[1] / channels;
    filters = ws[0] / groups;
    const std::size_t spatial = xs.size() - 2, missing = 3 - spatial;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool is = d >= missing;
      const std::size_t s = d - missing;
      x[d] = is ? xs[s + 2] : 1;
      w[d] = is ? ws[s + 2] : 1;
      y[d] = is ? ys[s + 2] : 1;
      before[d] = is ? c.before[s] : 0;
      strides[d] = is ? c.strides[s] : 1;
      dilations[d] = is ? c.dilations[s] : 1;
    }
  }
  Index InX() const { return x[0] * x[1] * x[2]; }
  Index InW() const { return w[0] * w[1] * w[2]; }
  Index InY() const { return y[0] * y[1] * y[2]; }
  Index Rows() const { return channels * InW(); }
  Index Lines() const { return y[0] * y[1]; }
  // Lines of Y that are done at a time.
  Index LinesAtOnce() const {
    return std::clamp<Index>(
        kColumnElements / std::max<Index>(1, Rows() * y[2]), 1,
        std::max<Index>(1, Lines()));
  }
};

// Calls f(row, place in X of the line's first tap, or -1; place in a column)
// for each row of the matrix and each line of Y from `first`.
template <typename F>
void ForEachLine(const Shape& s, Index first, Index lines, const F& f) {
  Index row = 0;
  for (Index c = 0; c < s.channels; ++c) {
    for (Index i = 0; i < s.w[0]; ++i) {
      for (Index j = 0; j < s.w[1]; ++j) {
        for (Index k = 0; k < s.w[2]; ++k, ++row) {
          for (Index line = 0; line < lines; ++line) {
            const Index at = first + line;
            const Index a =
                at / s.y[1] * s.strides[0] - s.before[0] + i * s.dilations[0];
            const Index b =
                at % s.y[1] * s.strides[1] - s.before[1] + j * s.dilations[1];
            const bool inside = a >= 0 && a < s.x[0] && b >= 0 && b < s.x[1];
            f(row, inside ? ((c * s.x[0] + a) * s.x[1] + b) * s.x[2] : -1,
              k * s.dilations[2] - s.before[2], line * s.y[2]);
          }
        }
      }
    }
  }
}
// The places of a line whose tap at `offset` lies within X: [first, end).
std::pair<Index, Index> Inside(const Shape& s, Index offset) {
  const Index step = s.strides[2];
  const Index first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  const Index end =
      s.x[2] - offset <= 0 ? 0 : (s.x[2] - offset + step - 1) / step;
  return {std::min(first, s.y[2]), std::clamp<Index>(end, 0, s.y[2])};
}

// Columns: row after row, `lines` lines of Y each.
template <typename T>
void FillColumns(const Shape& s, const double* x, Index first, Index lines,
                 T* columns) {
  const Index width = lines * s.y[2];
  ForEachLine(
      s, first, lines, [&](Index row, Index from, Index offset, Index to) {
        T* out = columns + row * width + to;
        const auto [begin, end] =
            from < 0 ? std::pair<Index, Index>(0, 0) : Inside(s, offset);
        std::fill(out, out + begin, T(0));
        for (Index k = begin; k < end; ++k) {
          out[k] = static_cast<T>(x[from + offset + k * s.strides[2]]);
        }
        std::fill(out + std::max(begin, end), out + s.y[2], T(0));
      });
}
template <typename T>
void AddColumns(const Shape& s, const T* columns, Index first, Index lines,
                T* x) {
  const Index width = lines * s.y[2];
  ForEachLine(s, first, lines,
              [&](Index row, Index to, Index offset, Index from) {
                if (to < 0) return;
                const T* in = columns + row * width + from;
                const auto [begin, end] = Inside(s, offset);
                for (Index k = begin; k < end; ++k) {
                  x[to + offset + k * s.strides[2]] += in[k];
                }
              });
}

// The filter as T, each turned round if the convolution asks for it.
template <typename T>
std::vector<T> Filters(const Convolution& c, const Shape& s,
                       const std::vector<double>& w) {
  std::vector<T> out(w.begin(), w.end());
  if (c.flips) {
    for (std::size_t i = 0; i < out.size();) {
      const auto begin = out.begin() + static_cast<std::ptrdiff_t>(i);
      std::reverse(begin, begin + s.InW());
      i += static_cast<std::size_t>(s.InW());
    }
  }
  return out;
}

// Matrices are by rows here and by columns there: C^T = B^T A^T.
template <typename T>
void Product(bool turn_a, bool turn_b, Index m, Index n, Index k, const T* a,
             Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  cublas::Gemm<T>(turn_b ? cublas::kT : cublas::kN,
                  turn_a ? cublas::kT : cublas::kN, n, m, k, T(1), b,
                  std::max<Index>(1, ldb), a, std::max<Index>(1, lda), beta, c,
                  std::max<Index>(1, ldc));
}

template <typename T>
Array Forward(const Convolution& c, const Array& x, const Array& w,
              const Sizes& sizes) {
  const Shape s(c, x.sizes, w.sizes, sizes);
  Array y(sizes);
  const std::vector<T> filters = Filters<T>(c, s, w.values);
  const Index step = s.LinesAtOnce(), rows = s.Rows();
  std::vector<T> columns(static_cast<std::size_t>(rows * step * s.y[2]));
  std::vector<T> sums(static_cast<std::size_t>(s.filters * step * s.y[2]));
  for (Index part = 0; part < s.images * s.groups; ++part) {
    const double* image = x.values.data() + part * s.channels * s.InX();
    double* out = y.values.data() + part * s.filters * s.InY();
    const T* filter = filters.data() + part % s.groups * s.filters * rows;
    for (Index line = 0; line < s.Lines(); line += step) {
      const Index lines = std::min(step, s.Lines() - line);
      const Index width = lines * s.y[2];
      FillColumns(s, image, line, lines, columns.data());
      Product(false, false, s.filters, width, rows, filter, rows,
              columns.data(), width, T(0), sums.data(), width);
      for (Index f = 0; f < s.filters; ++f) {
        std::copy_n(sums.data() + f * width, width,
                    out + f * s.InY() + line * s.y[2]);
      }
    }
  }
  return y;
}

template <typename T>
Array BackwardData(const Convolution& c, const Array& w, const Array& dy,
                   const Sizes& sizes) {
  const Shape s(c, sizes, w.sizes, dy.sizes);
  Array dx(sizes);
  const std::vector<T> filters = Filters<T>(c, s, w.values);
  const Index step = s.LinesAtOnce(), rows = s.Rows();
  std::vector<T> columns(static_cast<std::size_t>(rows * step * s.y[2]));
  std::vector<T> slopes(static_cast<std::size_t>(s.filters * step * s.y[2]));
  std::vector<T> image(static_cast<std::size_t>(s.channels * s.InX()));
  for (Index part = 0; part < s.images * s.groups; ++part) {
    const double* in = dy.values.data() + part * s.filters * s.InY();
    const T* filter = filters.data() + part % s.groups * s.filters * rows;
    std::fill(image.begin(), image.end(), T(0));
    for (Index line = 0; line < s.Lines(); line += step) {
      const Index lines = std::min(step, s.Lines() - line);
      const Index width = lines * s.y[2];
      for (Index f = 0; f < s.filters; ++f) {
        std::copy_n(in + f * s.InY() + line * s.y[2], width,
                    slopes.data() + f * width);
      }
      Product(true, false, rows, width, s.filters, filter, rows, slopes.data(),
              width, T(0), columns.data(), width);
      AddColumns(s, columns.data(), line, lines, image.data());
    }
    std::copy(image.begin(), image.end(),
              dx.values.begin() + part * s.channels * s.InX());
  }
  return dx;
}

template <typename T>
Array BackwardFilter(const Convolution& c, const Array& x, const Array& dy,
                     const Sizes& sizes) {
  const Shape s(c, x.sizes, sizes, dy.sizes);
  const Index step = s.LinesAtOnce(), rows = s.Rows();
  std::vector<T> dw(static_cast<std::size_t>(ProductOf(sizes)), T(0));
  std::vector<T> columns(static_cast<std::size_t>(rows * step * s.y[2]));
  std::vector<T> slopes(static_cast<std::size_t>(s.filters * step * s.y[2]));
  for (Index part = 0; part < s.images * s.groups; ++part) {
    const double* image = x.values.data() + part * s.channels * s.InX();
    const double* in = dy.values.data() + part * s.filters * s.InY();
    T* filter = dw.data() + part % s.groups * s.filters * rows;
    for (Index line = 0; line < s.Lines(); line += step) {
      const Index lines = std::min(step, s.Lines() - line);
      const Index width = lines * s.y[2];
      FillColumns(s, image, line, lines, columns.data());
      for (Index f = 0; f < s.filters; ++f) {
        std::copy_n(in + f * s.InY() + line * s.y[2], width,
                    slopes.data() + f * width);
      }
      Product(false, true, s.filters, rows, width, slopes.data(), width,
              columns.data(), width, T(1), filter, rows);
    }
  }
  Array out(sizes);
  std::copy(dw.begin(), dw.end(), out.values.begin());
  out.values = Filters<double>(c, s, out.values);
  return out;
}

}  // namespace

Sizes ConvolvedSizes(const Convolution& c, const Sizes& x, const Sizes& w) {
  Sizes y{x[0], w[0]};
  for (std::size_t d = 0; d + 2 < x.size(); ++d) {
    const Index reach = (w[d + 2] - 1) * c.dilations[d] + 1;
    const Index room = x[d + 2] + c.before[d] + c.after[d] - reach;
    y.push_back(room < 0 ? 0 : room / c.strides[d] + 1);
  }
  return y;
}

Status CheckConvolution(const Convolution& c, const Sizes& x, const Sizes& w,
                        const Sizes& y) {
  const std::size_t spatial = c.strides.size();
  if (spatial < 1 || spatial > 3) return kNotSupported;
  for (const Sizes* sizes : {&c.before, &c.after, &c.dilations}) {
    if (sizes->size() != spatial) return kBadParam;
  }
  for (std::size_t d = 0; d < spatial; ++d) {
    for (const Index step : {c.strides[d], c.dilations[d]}) {
      if (step < 1 || step > kLargestStep) return kBadParam;
    }
    for (const Index padding : {c.before[d], c.after[d]}) {
      if (std::abs(padding) > kLargestStep) return kBadParam;
    }
  }
  for (const Sizes* sizes : {&x, &w, &y}) {
    if (sizes->size() != spatial + 2) return kBadParam;
    if (ProductOf(*sizes) <= 0 ||
        *std::max_element(sizes->begin(), sizes->end()) > kLargestStep) {
      return kBadParam;
    }
  }
  if (x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0) return kBadParam;
  return ConvolvedSizes(c, x, w) == y ? kSuccess : kBadParam;
}

Array ConvolveForward(const Convolution& c, const Array& x, const Array& w,
                      const Sizes& y) {
  return c.wide ? Forward<double>(c, x, w, y) : Forward<float>(c, x, w, y);
}
Array ConvolveBackwardData(const Convolution& c, const Array& w,
                           const Array& dy, const Sizes& x) {
  return c.wide ? BackwardData<double>(c, w, dy, x)
                : BackwardData<float>(c, w, dy, x);
}
Array ConvolveBackwardFilter(const Convolution& c, const Array& x,
                             const Array& dy, const Sizes& w) {
  return c.wide ? BackwardFilter<double>(c, x, dy, w)
                : BackwardFilter<float>(c, x, dy, w);
}

Array ImageToColumns(const Convolution& c, const Array& x, const Sizes& w,
                     const Sizes& y) {
  const Shape s(c, x.sizes, w, y);
  Array out({s.Rows(), s.InY()});
  FillColumns(s, x.values.data(), 0, s.Lines(), out.values.data());
  return out;
}

}  // namespace cerberus::libraries::cudnn
