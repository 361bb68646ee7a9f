// Attention in one operation with what it may have besides: a sink, dropout,
// pages of a cache, scales, ragged sequences.
#include <algorithm>
#include <cmath>

#include "tests/unit/libraries/cudnn_naive.h"

namespace cerberus::libraries::tests {
namespace {

using namespace cudnn::attribute;  // NOLINT: the names are NVIDIA's
using Kind = Graph::Kind;

constexpr double kScale = 0.75;

// Attention by sums over B, H, S, D, with as many heads of keys.
struct Sums {
  Index b, h, queries, keys, width;
  Values sink = {};     // by head
  Values factors = {};  // of the weights

  std::size_t At(Index n, Index head, Index s, Index rows, Index d,
                 Index of) const {
    return static_cast<std::size_t>(((n * h + head) * rows + s) * of + d);
  }
  Values Of(const Values& q, const Values& k, const Values& v,
            Values* logs = nullptr) const {
    Values out;
    for (Index row = 0; row < b * h * queries; ++row) {
      const Index n = row / queries / h, head = row / queries % h;
      Values weights;
      double sum =
          sink.empty() ? 0 : std::exp(sink[static_cast<std::size_t>(head)]);
      for (Index j = 0; j < keys; ++j) {
        double dot = 0;
        for (Index d = 0; d < width; ++d) {
          dot += q[static_cast<std::size_t>(row * width + d)] *
                 k[At(n, head, j, keys, d, width)];
        }
        weights.push_back(std::exp(kScale * dot));
        sum += weights.back();
      }
      if (logs != nullptr) logs->push_back(std::log(sum));
      for (Index d = 0; d < width; ++d) {
        double value = 0;
        for (Index j = 0; j < keys; ++j) {
          const auto at = static_cast<std::size_t>(row * keys + j);
          value += weights[static_cast<std::size_t>(j)] / sum *
                   (factors.empty() ? 1 : factors[at]) *
                   v[At(n, head, j, keys, d, width)];
        }
        out.push_back(value);
      }
    }
    return out;
  }
};

TEST(CudnnGraph, AttentionWithASinkAndDropout) {
  Sums sums = {2, 3, 4, 5, 6};
  Field q(kF64, {2, 3, 4, 6}, {}, 1), k(kF64, {2, 3, 5, 6}, {}, 2);
  Field v(kF64, {2, 3, 5, 6}, {}, 3), o(kF64, {2, 3, 4, 6});
  Field drawn(kF64, {2, 3, 4, 5}), stats(kF64, {2, 3, 4, 1});
  Field scale(kF64, {1, 1, 1, 1}), sink(kF64, {1, 3, 1, 1});
  Field seed(kI64, {1, 1, 1, 1}), offset(kI64, {1, 1, 1, 1});
  scale.Set({kScale}), sink.Set({0.5, -1, 2}), seed.Set({77}), offset.Set({3});
  Graph graph;
  void* const softmax = graph.Make(
      Kind::kOperationSoftmax,
      {Graph::Of(OPERATION_SOFTMAX_XDESC, graph.Virtual(kF64, drawn.sizes())),
       Graph::Of(OPERATION_SOFTMAX_YDESC, graph.Virtual(kF64, drawn.sizes())),
       Graph::Of(OPERATION_SOFTMAX_SINK_DESC, graph.Tensor(sink)),
       Graph::Of(OPERATION_SOFTMAX_STATS_DESC, graph.Tensor(stats))});
  graph.Add(
      Kind::kOperationSdpaFwd,
      {Graph::Of(OPERATION_SDPA_FWD_QDESC, graph.Tensor(q)),
       Graph::Of(OPERATION_SDPA_FWD_KDESC, graph.Tensor(k)),
       Graph::Of(OPERATION_SDPA_FWD_VDESC, graph.Tensor(v)),
       Graph::Of(OPERATION_SDPA_FWD_ODESC, graph.Tensor(o)),
       Graph::Of(OPERATION_SDPA_FWD_SCALEDESC, graph.Tensor(scale)),
       Graph::Of(OPERATION_SDPA_FWD_SOFTMAX_DESC, softmax),
       Graph::Of(OPERATION_SDPA_FWD_DROPOUT_SEED_DESC, graph.Tensor(seed)),
       Graph::Of(OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC, graph.Tensor(offset)),
       Graph::Of(OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC, graph.Tensor(drawn)),
       Graph::Single(OPERATION_SDPA_FWD_DROPOUT_PROBABILITY, 0.25F)});
  ASSERT_EQ(graph.Run(), 0);
  sums.sink = sink.values();
  sums.factors = drawn.Get();
  EXPECT_GT(std::count(sums.factors.begin(), sums.factors.end(), 0), 10);
  EXPECT_GT(std::count(sums.factors.begin(), sums.factors.end(), 1), 60);
  for (double& factor : sums.factors) factor /= 0.75;
  Values logs;
  ExpectNear(o.Get(), sums.Of(q.values(), k.values(), v.values(), &logs), 1e-13,
             "attention");
  ExpectNear(stats.Get(), logs, 1e-13, "statistics");

  Field slope(kF64, o.sizes(), {}, 9), result(kF64, o.sizes());
  Field sizes(kF64, stats.sizes());
  result.Set(o.Get()), sizes.Set(stats.Get());
  Field dq(kF64, q.sizes()), dk(kF64, k.sizes()), dv(kF64, v.sizes());
  Field dsink(kF64, sink.sizes());
  Graph back;
  back.Add(
      Kind::kOperationSdpaBwd,
      {Graph::Of(OPERATION_SDPA_BWD_QDESC, back.Tensor(q)),
       Graph::Of(OPERATION_SDPA_BWD_KDESC, back.Tensor(k)),
       Graph::Of(OPERATION_SDPA_BWD_VDESC, back.Tensor(v)),
       Graph::Of(OPERATION_SDPA_BWD_ODESC, back.Tensor(result)),
       Graph::Of(OPERATION_SDPA_BWD_DODDESC, back.Tensor(slope)),
       Graph::Of(OPERATION_SDPA_BWD_STATSDESC, back.Tensor(sizes)),
       Graph::Of(OPERATION_SDPA_BWD_SCALEDESC, back.Tensor(scale)),
       Graph::Of(OPERATION_SDPA_BWD_SINK_DESC, back.Tensor(sink)),
       Graph::Of(OPERATION_SDPA_BWD_DSINK_DESC, back.Tensor(dsink)),
       Graph::Of(OPERATION_SDPA_BWD_DROPOUT_SEED_DESC, back.Tensor(seed)),
       Graph::Of(OPERATION_SDPA_BWD_DROPOUT_OFFSET_DESC, back.Tensor(offset)),
       Graph::Single(OPERATION_SDPA_BWD_DROPOUT_PROBABILITY, 0.25F),
       Graph::Ints(OPERATION_SDPA_BWD_MAX_TOTAL_SEQ_LEN_Q, {8}),
       Graph::Of(OPERATION_SDPA_BWD_DQDESC, back.Tensor(dq)),
       Graph::Of(OPERATION_SDPA_BWD_DKDESC, back.Tensor(dk)),
       Graph::Of(OPERATION_SDPA_BWD_DVDESC, back.Tensor(dv))});
  ASSERT_EQ(back.Run(), 0);
  const Values &vq = q.values(), &vk = k.values(), &vv = v.values();
  const Values& dy = slope.values();
  ExpectNear(
      dq.Get(),
      Slopes([&](const Values& x) { return sums.Of(x, vk, vv); }, vq, dy),
      kOfDifferences, "dq");
  ExpectNear(
      dk.Get(),
      Slopes([&](const Values& x) { return sums.Of(vq, x, vv); }, vk, dy),
      kOfDifferences, "dk");
  ExpectNear(
      dv.Get(),
      Slopes([&](const Values& x) { return sums.Of(vq, vk, x); }, vv, dy),
      kOfDifferences, "dv");
  ExpectNear(dsink.Get(),
             Slopes(
                 [&](const Values& x) {
                   Sums other = sums;
                   other.sink = x;
                   return other.Of(vq, vk, vv);
                 },
                 sink.values(), dy),
             kOfDifferences, "dsink");
}

// Of pages, and by numbers that make 8-bit floats of what goes through.
TEST(CudnnGraph, AttentionOverPagesWithScales) {
  const Sums sums = {2, 2, 3, 4, 5};
  Field q(kF64, {2, 2, 3, 5}, {}, 1), o(kF64, {2, 2, 3, 5});
  Field k(kF64, {5, 2, 2, 5}, {}, 2), v(kF64, {5, 2, 2, 5}, {}, 3);
  Field table(kI32, {2, 1, 2, 1}), lengths(kI32, {2, 1, 1, 1});
  table.Set({4, 1, 0, 2}), lengths.Set({4, 4});
  const Sizes one = {1, 1, 1, 1};
  const double numbers[] = {0.5, 2, 3, 0.25, 8, 0.125};
  constexpr Graph::Name kNames[] = {
      OPERATION_SDPA_FWD_DESCALE_QDESC, OPERATION_SDPA_FWD_DESCALE_KDESC,
      OPERATION_SDPA_FWD_DESCALE_VDESC, OPERATION_SDPA_FWD_DESCALE_SDESC,
      OPERATION_SDPA_FWD_SCALE_SDESC,   OPERATION_SDPA_FWD_SCALE_ODESC};
  Field scale(kF64, one), largest_s(kF64, one), largest_o(kF64, one);
  scale.Set({kScale});
  Graph graph;
  std::vector<Field> fields;
  std::vector<Graph::Attribute> all = {
      Graph::Of(OPERATION_SDPA_FWD_QDESC, graph.Tensor(q)),
      Graph::Of(OPERATION_SDPA_FWD_KDESC, graph.Tensor(k)),
      Graph::Of(OPERATION_SDPA_FWD_VDESC, graph.Tensor(v)),
      Graph::Of(OPERATION_SDPA_FWD_ODESC, graph.Tensor(o)),
      Graph::Of(OPERATION_SDPA_FWD_SCALEDESC, graph.Tensor(scale)),
      Graph::Of(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, graph.Tensor(table)),
      Graph::Of(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, graph.Tensor(table)),
      Graph::Of(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, graph.Tensor(lengths)),
      Graph::Of(OPERATION_SDPA_FWD_AMAX_SDESC, graph.Tensor(largest_s)),
      Graph::Of(OPERATION_SDPA_FWD_AMAX_ODESC, graph.Tensor(largest_o))};
  for (int i = 0; i < 6; ++i) {
    fields.emplace_back(kF64, one);
    fields.back().Set({numbers[i]});
    all.push_back(Graph::Of(kNames[i], graph.Tensor(fields.back())));
  }
  graph.Add(Kind::kOperationSdpaFwd, all);
  ASSERT_EQ(graph.Run(), 0);
  const Index pages[2][2] = {{4, 1}, {0, 2}};
  const auto gathered = [&](const Field& of) {
    Values out;
    ForEachPlace({2, 2, 4, 5}, [&](const Sizes& p) {
      out.push_back(of.values()[static_cast<std::size_t>(
          At(of.sizes(), {pages[p[0]][p[2] / 2], p[1], p[2] % 2, p[3]}))]);
    });
    return out;
  };
  // 0.5 times 2 leaves the scores; 3 times 0.25 times 8 is 6.
  Values want = sums.Of(q.values(), gathered(k), gathered(v));
  double most = 0;
  for (double& value : want) {
    value *= 6;
    most = std::max(most, std::abs(value));
  }
  EXPECT_NEAR(largest_o.Get()[0], most, 1e-12);
  EXPECT_GT(largest_s.Get()[0], 0.25);
  EXPECT_LE(largest_s.Get()[0], 1);
  for (double& value : want) value *= 0.125;
  ExpectNear(o.Get(), want, 1e-13, "attention");
}

// Sequences one behind the other: of three places 2 and 3 are used.
TEST(CudnnGraph, RaggedSequences) {
  const Sizes sizes = {2, 2, 3, 4};
  const Sizes strides = {24, 4, 8, 1};  // by tokens of 2 heads
  Field q(kF64, sizes, strides, 1), k(kF64, sizes, strides, 2);
  Field v(kF64, sizes, strides, 3), o(kF64, sizes, strides);
  Field starts(kI32, {3, 1, 1, 1}), lengths(kI32, {2, 1, 1, 1});
  Field scale(kF64, {1, 1, 1, 1});
  starts.Set({0, 2, 5}), lengths.Set({2, 3}), scale.Set({kScale});
  o.Set(Values(48, -7));
  Graph graph;
  void* const places = graph.Tensor(starts);
  graph.Add(
      Kind::kOperationSdpaFwd,
      {Graph::Of(OPERATION_SDPA_FWD_QDESC, graph.Ragged(q, places, 8)),
       Graph::Of(OPERATION_SDPA_FWD_KDESC, graph.Ragged(k, places, 8)),
       Graph::Of(OPERATION_SDPA_FWD_VDESC, graph.Ragged(v, places, 8)),
       Graph::Of(OPERATION_SDPA_FWD_ODESC, graph.Ragged(o, places, 8)),
       Graph::Of(OPERATION_SDPA_FWD_SCALEDESC, graph.Tensor(scale)),
       Graph::Of(OPERATION_SDPA_FWD_SEQ_LEN_QDESC, graph.Tensor(lengths)),
       Graph::Of(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, graph.Tensor(lengths))});
  ASSERT_EQ(graph.Run(), 0);
  // A token of a field is where its strides have row token % 3 of
  // token / 3.
  const auto token = [&](Index t, Index head, Index d) {
    return static_cast<std::size_t>(At(sizes, {t / 3, head, t % 3, d}));
  };
  const Values got = o.Get();
  for (Index n = 0; n < 2; ++n) {
    const Index first = n == 0 ? 0 : 2, length = 2 + n;
    const auto part = [&](const Field& of) {
      Values out;
      ForEachPlace({1, 2, length, 4}, [&](const Sizes& p) {
        out.push_back(of.values()[token(first + p[2], p[1], p[3])]);
      });
      return out;
    };
    const Sums sums = {1, 2, length, length, 4};
    const Values want = sums.Of(part(q), part(k), part(v));
    std::size_t i = 0;
    ForEachPlace({1, 2, length, 4}, [&](const Sizes& p) {
      EXPECT_NEAR(got[token(first + p[2], p[1], p[3])], want[i++], 1e-13);
    });
  }
  for (Index head = 0; head < 2; ++head) {
    for (Index d = 0; d < 4; ++d) EXPECT_EQ(got[token(5, head, d)], -7);
  }
  // As many offsets as there are sequences do not tell where the last one ends.
  Field few(kI32, {2, 1, 1, 1});
  Graph bad;
  bad.Ragged(q, bad.Tensor(few), 8);
  EXPECT_EQ(bad.status(), kBadParam);
}

}  // namespace
}  // namespace cerberus::libraries::tests
