#include "libraries/cudnn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libraries/cublas/math.h"
#include "libraries/cudnn/pointwise.h"

namespace cerberus::libraries::cudnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Sizes BatchesOf(const Sizes& sizes) { return {sizes.begin(), sizes.end() - 2}; }
// Which matrix of `of` goes with the place among the result's batches.
Index MatrixAt(const Sizes& of, const Sizes& batches, const Sizes& place) {
  Index at = 0;
  for (std::size_t d = 0; d < batches.size(); ++d) {
    at = at * of[d] + place[d] / (batches[d] / of[d]);
  }
  return at;
}

template <typename T>
Array MultiplyAs(const Array& a, bool turn_a, const Array& b, bool turn_b,
                 const Sizes& sizes) {
  const std::vector<T> left(a.values.begin(), a.values.end());
  const std::vector<T> right(b.values.begin(), b.values.end());
  const Index rows = sizes[sizes.size() - 2], columns = sizes.back();
  const Index lda = a.sizes.back(), ldb = b.sizes.back();
  const Index k = turn_a ? a.sizes[a.sizes.size() - 2] : lda;
  const Index in_a = lda * a.sizes[a.sizes.size() - 2];
  const Index in_b = ldb * b.sizes[b.sizes.size() - 2];
  const Sizes batches = BatchesOf(sizes);
  std::vector<T> sums(static_cast<std::size_t>(rows * columns));
  Array out(sizes);
  Sizes place(batches.size(), 0);
  Index matrix = 0;
  do {
    // By rows here: the transposed product by columns.
    cublas::Gemm<T>(turn_b ? cublas::kT : cublas::kN,
                    turn_a ? cublas::kT : cublas::kN, columns, rows, k, T(1),
                    right.data() + MatrixAt(b.sizes, batches, place) * in_b,
                    ldb, left.data() + MatrixAt(a.sizes, batches, place) * in_a,
                    lda, T(0), sums.data(), columns);
    std::copy(sums.begin(), sums.end(),
              out.values.begin() + matrix++ * rows * columns);
  } while (NextPlace(batches, &place));
  return out;
}

// Scores of keys that do not count become -infinity.
void MaskKeys(const Attention& attention, Array* scores) {
  if (attention.keys.empty()) return;
  const Index keys = scores->sizes[3];
  const Index rows = scores->sizes[1] * scores->sizes[2];
  for (Index i = 0; i < scores->count(); ++i) {
    const auto batch = static_cast<std::size_t>(i / keys / rows);
    if (i % keys >= attention.keys[batch]) (*scores)[i] = -kInfinity;
  }
}
// Rows of queries that do not count become 0.
void ClearQueries(const Attention& attention, Array* rows) {
  if (attention.queries.empty()) return;
  const Index width = rows->sizes[3], queries = rows->sizes[2];
  for (Index i = 0; i < rows->count(); ++i) {
    const auto batch =
        static_cast<std::size_t>(i / width / queries / rows->sizes[1]);
    if (i / width % queries >= attention.queries[batch]) (*rows)[i] = 0;
  }
}

Array Scores(const Attention& attention, const Array& q, const Array& k) {
  Array scores = Multiply(attention.wide, q, false, k, true,
                          {q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]});
  for (double& value : scores.values) value *= attention.scale;
  if (attention.change) scores = attention.change(std::move(scores));
  MaskKeys(attention, &scores);
  return scores;
}

}  // namespace

bool CanMultiply(const Sizes& a, const Sizes& b, const Sizes& c) {
  const std::size_t n = c.size();
  if (n < 2 || a.size() != n || b.size() != n) return false;
  for (std::size_t d = 0; d + 2 < n; ++d) {
    if (c[d] % a[d] != 0 || c[d] % b[d] != 0) return false;
  }
  return a[n - 2] == c[n - 2] && b[n - 1] == c[n - 1] && a[n - 1] == b[n - 2];
}

Array Multiply(bool wide, const Array& a, bool turn_a, const Array& b,
               bool turn_b, const Sizes& c) {
  return wide ? MultiplyAs<double>(a, turn_a, b, turn_b, c)
              : MultiplyAs<float>(a, turn_a, b, turn_b, c);
}

void Softmax(bool logarithm, Index length, Index step, Array* x,
             SoftmaxStatistics* statistics) {
  const Index runs = x->count() / std::max<Index>(1, length);
  for (Index run = 0; run < runs; ++run) {
    const Index first = run / step * step * length + run % step;
    double largest = -kInfinity, sum = 0;
    for (Index i = 0; i < length; ++i) {
      largest = std::max(largest, (*x)[first + i * step]);
    }
    // Of a row of -infinity nothing is left.
    const double level = largest == -kInfinity ? 0 : largest;
    for (Index i = 0; i < length; ++i) {
      sum += std::exp((*x)[first + i * step] - level);
    }
    for (Index i = 0; i < length; ++i) {
      double& value = (*x)[first + i * step];
      value = logarithm  ? value - level - std::log(sum)
              : sum == 0 ? 0
                         : std::exp(value - level) / sum;
    }
    if (statistics != nullptr) {
      statistics->largest.push_back(largest);
      statistics->sum.push_back(sum);
    }
  }
}

void SoftmaxWithSink(const std::vector<double>& sink, Array* scores,
                     SoftmaxStatistics* statistics) {
  const Index keys = scores->sizes[3], rows = scores->sizes[2];
  Array more({scores->sizes[0], scores->sizes[1], rows, keys + 1});
  for (Index i = 0; i < more.count(); ++i) {
    const Index row = i / (keys + 1), column = i % (keys + 1);
    const Index head = row / rows % scores->sizes[1];
    more[i] = column < keys ? (*scores)[row * keys + column]
                            : sink[static_cast<std::size_t>(head)];
  }
  Softmax(false, keys + 1, 1, &more, statistics);
  for (Index i = 0; i < scores->count(); ++i) {
    (*scores)[i] = more[i / keys * (keys + 1) + i % keys];
  }
}

void SoftmaxBackward(bool logarithm, const Array& y, Index length, Index step,
                     Array* dy) {
  const Index runs = y.count() / std::max<Index>(1, length);
  for (Index run = 0; run < runs; ++run) {
    const Index first = run / step * step * length + run % step;
    double sum = 0;
    for (Index i = 0; i < length; ++i) {
      const Index at = first + i * step;
      sum += logarithm ? (*dy)[at] : (*dy)[at] * y[at];
    }
    for (Index i = 0; i < length; ++i) {
      const Index at = first + i * step;
      (*dy)[at] = logarithm ? (*dy)[at] - std::exp(y[at]) * sum
                            : y[at] * ((*dy)[at] - sum);
    }
  }
}

bool ArePages(const Sizes& pages, const Sizes& table, const Sizes& sizes) {
  return pages.size() == 4 && table.size() == 4 && sizes.size() == 4 &&
         pages[1] == sizes[1] && pages[3] == sizes[3] && table[0] == sizes[0] &&
         (sizes[2] - 1) / pages[2] < table[2];
}
Array LoadPages(const Array& pages, const Array& table, const Array& lengths,
                const Sizes& sizes) {
  const Index block = pages.sizes[2], width = sizes[3];
  Array out(sizes);
  for (Index i = 0; i < out.count(); i += width) {
    const Index s = i / width % sizes[2],
                head = i / width / sizes[2] % sizes[1];
    const Index batch = i / width / sizes[2] / sizes[1];
    if (static_cast<double>(s) >= lengths[batch]) continue;
    const auto page =
        static_cast<Index>(table[batch * table.sizes[2] + s / block]);
    if (page < 0 || page >= pages.sizes[0]) continue;
    const Index from = ((page * sizes[1] + head) * block + s % block) * width;
    std::copy_n(pages.values.begin() + from, width, out.values.begin() + i);
  }
  return out;
}

bool CanAttend(const Sizes& q, const Sizes& k, const Sizes& v, const Sizes& o) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || o.size() != 4) {
    return false;
  }
  return k[0] == q[0] && v[0] == q[0] && q[1] % k[1] == 0 && q[1] % v[1] == 0 &&
         k[3] == q[3] && v[2] == k[2] && o == Sizes{q[0], q[1], q[2], v[3]};
}

Array Attend(const Attention& attention, const Array& q, const Array& k,
             const Array& v, Array* statistics) {
  Array weights = Scores(attention, q, k);
  SoftmaxStatistics rows;
  if (attention.softmax) {
    weights = attention.softmax(std::move(weights));
  } else if (!attention.sink.empty()) {
    SoftmaxWithSink(attention.sink, &weights, &rows);
  } else {
    Softmax(false, k.sizes[2], 1, &weights, &rows);
  }
  if (statistics != nullptr) {
    *statistics = Array({q.sizes[0], q.sizes[1], q.sizes[2], 1});
    for (std::size_t i = 0; i < rows.sum.size(); ++i) {
      statistics->values[i] = rows.largest[i] + std::log(rows.sum[i]);
    }
    ClearQueries(attention, statistics);
  }
  if (attention.drop) weights = attention.drop(std::move(weights));
  Array o = Multiply(attention.wide, weights, false, v, false,
                     {q.sizes[0], q.sizes[1], q.sizes[2], v.sizes[3]});
  ClearQueries(attention, &o);
  return o;
}

AttentionSlopes AttendBackward(const Attention& attention, const Array& q,
                               const Array& k, const Array& v, const Array& o,
                               const Array& slope_of_o,
                               const Array& statistics) {
  const Index keys = k.sizes[2];
  Array slope = slope_of_o;
  ClearQueries(attention, &slope);
  Array weights = Scores(attention, q, k);
  for (Index i = 0; i < weights.count(); ++i) {
    weights[i] = std::exp(weights[i] - statistics[i / keys]);
  }
  ClearQueries(attention, &weights);
  // Of each head of queries its own; then the sums over those that share one.
  const auto turned = [&](const Array& left, const Array& right,
                          const Sizes& sizes) {
    const Array each = Multiply(attention.wide, left, true, right, false,
                                {q.sizes[0], q.sizes[1], sizes[2], sizes[3]});
    return Reduce(kReduceAdd, true, each, sizes);
  };
  AttentionSlopes out;
  Array scores = Multiply(attention.wide, slope, false, v, true, weights.sizes);
  if (attention.drop) {
    // What is dropped has no part in either.
    scores = attention.drop(std::move(scores));
    out.dv = turned(attention.drop(weights), slope, v.sizes);
  } else {
    out.dv = turned(weights, slope, v.sizes);
  }
  const Array along =
      Reduce(kReduceAdd, true, Zip(slope, o, std::multiplies<>()),
             {q.sizes[0], q.sizes[1], q.sizes[2], 1});
  for (Index i = 0; i < scores.count(); ++i) {
    scores[i] = attention.scale * weights[i] * (scores[i] - along[i / keys]);
  }
  out.dsink.assign(attention.sink.size(), 0);
  for (Index row = 0; !attention.sink.empty() && row < along.count(); ++row) {
    const auto head = static_cast<std::size_t>(row / q.sizes[2] % q.sizes[1]);
    const double weight = std::exp(attention.sink[head] - statistics[row]);
    out.dsink[head] -= weight * along[row];
  }
  out.dq = Multiply(attention.wide, scores, false, k, false, q.sizes);
  out.dk = turned(scores, q, k.sizes);
  return out;
}

}  // namespace cerberus::libraries::cudnn
