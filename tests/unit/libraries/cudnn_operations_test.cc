// Operations of graphs: reductions, moved elements, products, attention, random
// numbers, each against what it is.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/unit/libraries/cudnn_naive.h"

namespace cerberus::libraries::tests {
namespace {

using namespace cudnn::attribute;  // NOLINT: the names are NVIDIA's
using cudnn::Type;
using Kind = Graph::Kind;

TEST(CudnnGraph, Reductions) {
  const Sizes sizes = {2, 4, 3};
  const double inf = std::numeric_limits<double>::infinity();
  const std::pair<double, std::function<double(double, double)>> ops[] = {
      {0, [](double s, double v) { return s + v; }},
      {1, [](double s, double v) { return s * v; }},
      {inf, [](double s, double v) { return std::min(s, v); }},
      {-inf, [](double s, double v) { return std::max(s, v); }},
      {0, [](double s, double v) { return std::max(s, std::abs(v)); }},
      {0, [](double s, double v) { return s + v; }},
      {0, [](double s, double v) { return s + std::abs(v); }},
      {0, [](double s, double v) { return s + v * v; }},
      {1, [](double s, double v) { return v == 0 ? s : s * v; }},
  };
  for (int op = 0; op < 9; ++op) {
    // All of a dimension, and neighbours in pairs.
    for (const Sizes& to : std::vector<Sizes>{{2, 1, 3}, {1, 2, 1}}) {
      Field x(kF32, sizes), y(kF32, to);
      Values want(y.values().size(), ops[op].first);
      ForEachPlace(sizes, [&](Sizes p) {
        const double value = x.values()[static_cast<std::size_t>(At(sizes, p))];
        for (std::size_t d = 0; d < 3; ++d) p[d] = p[d] * to[d] / sizes[d];
        double& sum = want[static_cast<std::size_t>(At(to, p))];
        sum = ops[op].second(sum, value);
      });
      for (double& value : want) {
        if (op == 5) value *= static_cast<double>(Count(to)) / 24;
        if (op == 7) value = std::sqrt(value);
      }
      Graph graph;
      graph.Add(
          Kind::kOperationReduction,
          {Graph::Of(OPERATION_REDUCTION_DESC,
                     graph.Make(Kind::kReduction,
                                {Graph::Enum(REDUCTION_OPERATOR,
                                             Type::kReductionOperator, op),
                                 Graph::Enum(REDUCTION_COMP_TYPE,
                                             Type::kDataType, kF32)})),
           Graph::Of(OPERATION_REDUCTION_XDESC, graph.Tensor(x)),
           Graph::Of(OPERATION_REDUCTION_YDESC, graph.Tensor(y))});
      ASSERT_EQ(graph.Run(), 0);
      ExpectNear(y.Get(), want, 2e-6, "op " + std::to_string(op));
    }
  }
}

TEST(CudnnGraph, ConcatReshapeTransposeSlice) {
  Field a(kF32, {2, 1, 3}, {}, 1), b(kF32, {2, 2, 3}, {}, 2);
  Field joined(kF32, {2, 3, 3}), flat(kF32, {18, 1});
  Field turned(kF32, {3, 2, 3}), cut(kF32, {1, 2, 2});
  Graph graph;
  void* all = graph.Tensor(joined);
  graph.Add(Kind::kOperationConcat,
            {Graph::Ints(OPERATION_CONCAT_AXIS, {1}),
             Graph::All(OPERATION_CONCAT_INPUT_DESCS,
                        {graph.Tensor(a), graph.Tensor(b)}),
             Graph::Of(OPERATION_CONCAT_OUTPUT_DESC, all)});
  graph.Add(Kind::kOperationReshape,
            {Graph::Of(OPERATION_RESHAPE_XDESC, all),
             Graph::Of(OPERATION_RESHAPE_YDESC, graph.Tensor(flat))});
  graph.Add(Kind::kOperationTranspose,
            {Graph::Ints(OPERATION_TRANSPOSE_PERMUTATION, {2, 0, 1}),
             Graph::Of(OPERATION_TRANSPOSE_XDESC, all),
             Graph::Of(OPERATION_TRANSPOSE_YDESC, graph.Tensor(turned))});
  graph.Add(Kind::kOperationSlice,
            {Graph::Ints(OPERATION_SLICE_START_INDICES, {1, 1, 0}),
             Graph::Ints(OPERATION_SLICE_LIMIT_INDICES, {2, 3, 3}),
             Graph::Ints(OPERATION_SLICE_STRIDES, {1, 1, 2}),
             Graph::Of(OPERATION_SLICE_XDESC, all),
             Graph::Of(OPERATION_SLICE_YDESC, graph.Tensor(cut))});
  ASSERT_EQ(graph.Run(), 0);
  const Values whole = joined.Get();
  ForEachPlace({2, 3, 3}, [&](const Sizes& p) {
    const Index at = At({2, 3, 3}, p);
    const double value =
        p[1] == 0 ? a.values()[static_cast<std::size_t>(At({2, 1, 3}, p))]
                  : b.values()[static_cast<std::size_t>(
                        At({2, 2, 3}, {p[0], p[1] - 1, p[2]}))];
    EXPECT_EQ(whole[static_cast<std::size_t>(at)], value);
    EXPECT_EQ(
        turned
            .Get()[static_cast<std::size_t>(At({3, 2, 3}, {p[2], p[0], p[1]}))],
        value);
  });
  EXPECT_EQ(flat.Get(), whole);
  // Seen with the strides of the transposed matrix, or in order.
  for (const int mode : {0, 1}) {
    Field x(kF32, {2, 3}), y(kF32, {3, 2});
    Graph view;
    void* other = view.Make(
        Kind::kTensor, {Graph::Ints(TENSOR_UNIQUE_ID, {1}),
                        Graph::Enum(TENSOR_DATA_TYPE, Type::kDataType, kF32),
                        Graph::Ints(TENSOR_DIMENSIONS, {3, 2}),
                        Graph::Ints(TENSOR_STRIDES, {1, 3}),
                        Graph::Flag(TENSOR_IS_VIRTUAL, 1)});
    view.Add(Kind::kOperationReshape,
             {Graph::Of(OPERATION_RESHAPE_XDESC, view.Tensor(x)),
              Graph::Of(OPERATION_RESHAPE_YDESC, other),
              Graph::Enum(OPERATION_RESHAPE_MODE, Type::kReshapeMode, mode)});
    Pointwise(view, 21,
              {{OPERATION_POINTWISE_XDESC, other},
               {OPERATION_POINTWISE_YDESC, view.Tensor(y)}});
    ASSERT_EQ(view.Run(), 0);
    const Values& v = x.values();
    EXPECT_EQ(y.Get(),
              mode == 1 ? v : (Values{v[0], v[3], v[1], v[4], v[2], v[5]}));
  }
  EXPECT_EQ(cut.Get(), (Values{whole[12], whole[14], whole[15], whole[17]}));
}

// --- products, softmax, attention
TEST(CudnnGraph, ProductsOfBatches) {
  Field a(kF32, {2, 4, 3, 5}, {}, 1);
  Field b(kF32, {2, 2, 5, 2}, {20, 10, 1, 5}, 2);  // turned in memory
  Field c(kF32, {2, 4, 3, 2}), rows(kI32, {2, 1, 1, 1}),
      terms(kI32, {2, 1, 1, 1});
  rows.Set({2, 3}), terms.Set({5, 4});
  Values want;
  ForEachPlace(c.sizes(), [&](const Sizes& p) {
    double sum = 0;
    for (Index k = 0; k < (p[0] == 0 ? 5 : 4); ++k) {
      sum += a.values()[static_cast<std::size_t>(
                 At(a.sizes(), {p[0], p[1], p[2], k}))] *
             b.values()[static_cast<std::size_t>(
                 At(b.sizes(), {p[0], p[1] / 2, k, p[3]}))];
    }
    want.push_back(p[2] < (p[0] == 0 ? 2 : 3) ? sum : 0);
  });
  Graph graph;
  graph.Add(
      Kind::kOperationMatmul,
      {Graph::Of(
           OPERATION_MATMUL_DESC,
           graph.Make(Kind::kMatmul,
                      {Graph::Enum(MATMUL_COMP_TYPE, Type::kDataType, kF32)})),
       Graph::Of(OPERATION_MATMUL_ADESC, graph.Tensor(a)),
       Graph::Of(OPERATION_MATMUL_BDESC, graph.Tensor(b)),
       Graph::Of(OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, graph.Tensor(rows)),
       Graph::Of(OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, graph.Tensor(terms)),
       Graph::Of(OPERATION_MATMUL_CDESC, graph.Tensor(c))});
  ASSERT_EQ(graph.Run(), 0);
  ExpectNear(c.Get(), want, 2e-6, "product");
}

struct AttentionFields {
  Field q{kF64, {2, 4, 3, 5}, {}, 1}, k{kF64, {2, 2, 6, 5}, {}, 2};
  Field v{kF64, {2, 1, 6, 2}, {}, 3}, o{kF64, {2, 4, 3, 2}};
  Field stats{kF64, {2, 4, 3, 1}}, scale{kF32, {1, 1, 1, 1}};
  Field queries{kI32, {2, 1, 1, 1}}, keys{kI32, {2, 1, 1, 1}};
  AttentionFields() {
    scale.Set({0.75});
    queries.Set({3, 2});
    keys.Set({6, 4});
  }
  // softmax(scale q k^T) v by sums.
  Values Want(const Values& qs, const Values& ks, const Values& vs,
              Values* logs) const {
    Values out;
    for (Index row = 0; row < 24; ++row) {
      const Index n = row / 12, head = row / 3 % 4, s = row % 3;
      Values weights;
      double sum = 0;
      for (Index j = 0; j < (n == 0 ? 6 : 4); ++j) {
        double dot = 0;
        for (Index d = 0; d < 5; ++d) {
          dot += qs[static_cast<std::size_t>(row * 5 + d)] *
                 ks[static_cast<std::size_t>(((n * 2 + head / 2) * 6 + j) * 5 +
                                             d)];
        }
        weights.push_back(std::exp(0.75 * dot));
        sum += weights.back();
      }
      const bool counts = s < (n == 0 ? 3 : 2);
      if (logs != nullptr) logs->push_back(counts ? std::log(sum) : 0);
      for (Index d = 0; d < 2; ++d) {
        double value = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
          value += weights[j] / sum *
                   vs[static_cast<std::size_t>(
                       (n * 6 + static_cast<Index>(j)) * 2 + d)];
        }
        out.push_back(counts ? value : 0);
      }
    }
    return out;
  }
};

TEST(CudnnGraph, AttentionAndItsSlopes) {
  AttentionFields f;
  Graph graph;
  graph.Add(
      Kind::kOperationSdpaFwd,
      {Graph::Of(OPERATION_SDPA_FWD_QDESC, graph.Tensor(f.q)),
       Graph::Of(OPERATION_SDPA_FWD_KDESC, graph.Tensor(f.k)),
       Graph::Of(OPERATION_SDPA_FWD_VDESC, graph.Tensor(f.v)),
       Graph::Of(OPERATION_SDPA_FWD_ODESC, graph.Tensor(f.o)),
       Graph::Of(OPERATION_SDPA_FWD_STATSDESC, graph.Tensor(f.stats)),
       Graph::Of(OPERATION_SDPA_FWD_SCALEDESC,
                 graph.Tensor(f.scale, /*by_value=*/true)),
       Graph::Of(OPERATION_SDPA_FWD_SEQ_LEN_QDESC, graph.Tensor(f.queries)),
       Graph::Of(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, graph.Tensor(f.keys))});
  ASSERT_EQ(graph.Run(), 0);
  Values logs;
  const Values want = f.Want(f.q.values(), f.k.values(), f.v.values(), &logs);
  ExpectNear(f.o.Get(), want, 1e-13, "attention");
  ExpectNear(f.stats.Get(), logs, 1e-13, "statistics");

  Field slope(kF64, f.o.sizes(), {}, 9), o(kF64, f.o.sizes());
  Field stats(kF64, f.stats.sizes());
  o.Set(f.o.Get()), stats.Set(f.stats.Get());
  Field dq(kF64, f.q.sizes()), dk(kF64, f.k.sizes()), dv(kF64, f.v.sizes());
  Graph back;
  back.Add(Kind::kOperationSdpaBwd,
           {Graph::Of(OPERATION_SDPA_BWD_QDESC, back.Tensor(f.q)),
            Graph::Of(OPERATION_SDPA_BWD_KDESC, back.Tensor(f.k)),
            Graph::Of(OPERATION_SDPA_BWD_VDESC, back.Tensor(f.v)),
            Graph::Of(OPERATION_SDPA_BWD_ODESC, back.Tensor(o)),
            Graph::Of(OPERATION_SDPA_BWD_DODDESC, back.Tensor(slope)),
            Graph::Of(OPERATION_SDPA_BWD_STATSDESC, back.Tensor(stats)),
            Graph::Of(OPERATION_SDPA_BWD_SCALEDESC,
                      back.Tensor(f.scale, /*by_value=*/true)),
            Graph::Of(OPERATION_SDPA_BWD_SEQ_LEN_QDESC, back.Tensor(f.queries)),
            Graph::Of(OPERATION_SDPA_BWD_SEQ_LEN_KVDESC, back.Tensor(f.keys)),
            Graph::Of(OPERATION_SDPA_BWD_DQDESC, back.Tensor(dq)),
            Graph::Of(OPERATION_SDPA_BWD_DKDESC, back.Tensor(dk)),
            Graph::Of(OPERATION_SDPA_BWD_DVDESC, back.Tensor(dv))});
  ASSERT_EQ(back.Run(), 0);
  const Values q = f.q.values(), k = f.k.values(), v = f.v.values();
  const auto of = [&](int which) {
    return [&, which](const Values& at) {
      return f.Want(which == 0 ? at : q, which == 1 ? at : k,
                    which == 2 ? at : v, nullptr);
    };
  };
  ExpectNear(dq.Get(), Slopes(of(0), q, slope.values()), kOfDifferences, "dq");
  ExpectNear(dk.Get(), Slopes(of(1), k, slope.values()), kOfDifferences, "dk");
  ExpectNear(dv.Get(), Slopes(of(2), v, slope.values()), kOfDifferences, "dv");
}

TEST(CudnnGraph, SoftmaxWithItsStatistics) {
  Field x(kF32, {3, 4}), y(kF32, {3, 4}), stats(kF32, {3, 1});
  Field most(kF32, {3, 1}), sum(kF32, {3, 1});
  Graph graph;
  graph.Add(Kind::kOperationSoftmax,
            {Graph::Of(OPERATION_SOFTMAX_XDESC, graph.Tensor(x)),
             Graph::Of(OPERATION_SOFTMAX_YDESC, graph.Tensor(y)),
             Graph::Of(OPERATION_SOFTMAX_STATS_DESC, graph.Tensor(stats)),
             Graph::Of(OPERATION_SOFTMAX_MAX_DESC, graph.Tensor(most)),
             Graph::Of(OPERATION_SOFTMAX_SUM_EXP_DESC, graph.Tensor(sum)),
             Graph::Flag(OPERATION_SOFTMAX_STATS_LOG2, true)});
  ASSERT_EQ(graph.Run(), 0);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first =
        x.values().begin() + static_cast<std::ptrdiff_t>(row * 4);
    const double largest = *std::max_element(first, first + 4);
    double total = 0;
    for (int i = 0; i < 4; ++i) total += std::exp(first[i] - largest);
    EXPECT_NEAR(most.Get()[row], largest, 1e-6);
    EXPECT_NEAR(sum.Get()[row], total, 1e-6);
    EXPECT_NEAR(stats.Get()[row], largest / std::log(2) + std::log2(total),
                1e-6);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(
          y.Get()[row * 4 + i],
          std::exp(first[static_cast<std::ptrdiff_t>(i)] - largest) / total,
          1e-6);
    }
  }
}

// A graph and a softmax of the program's own between attention's products.
TEST(CudnnGraph, AttentionWithAGraphWithin) {
  const Sizes scores = {1, 2, 3, 4};
  Field q(kF64, {1, 2, 3, 5}, {}, 1), k(kF64, {1, 2, 4, 5}, {}, 2);
  Field v(kF64, {1, 2, 4, 6}, {}, 3), o(kF64, {1, 2, 3, 6});
  Field bias(kF64, {1, 1, 3, 4}, {}, 4), most(kF64, {1, 2, 3, 1});
  Field sum(kF64, {1, 2, 3, 1});
  Graph graph;
  const auto between = [&](Index id) {
    return graph.Make(Kind::kTensor,
                      {Graph::Ints(TENSOR_UNIQUE_ID, {id}),
                       Graph::Enum(TENSOR_DATA_TYPE, Type::kDataType, kF64),
                       Graph::Ints(TENSOR_BYTE_ALIGNMENT, {16}),
                       Graph::Ints(TENSOR_DIMENSIONS, scores),
                       Graph::Ints(TENSOR_STRIDES, Packed(scores)),
                       Graph::Flag(TENSOR_IS_VIRTUAL, true)});
  };
  void* const add = graph.Make(
      Kind::kPointwise,
      {Graph::Enum(POINTWISE_MODE, Type::kPointwiseMode, cudnn::kAdd),
       Graph::Enum(POINTWISE_MATH_PREC, Type::kDataType, kF64)});
  void* const sums =
      graph.Make(Kind::kOperationPointwise,
                 {Graph::Of(OPERATION_POINTWISE_PW_DESCRIPTOR, add),
                  Graph::Of(OPERATION_POINTWISE_XDESC, between(901)),
                  Graph::Of(OPERATION_POINTWISE_BDESC, graph.Tensor(bias)),
                  Graph::Of(OPERATION_POINTWISE_YDESC, between(902))});
  void* const inner =
      graph.Make(Kind::kOperationGraph,
                 {Graph::Handle(), Graph::All(OPERATIONGRAPH_OPS, {sums})});
  void* const softmax = graph.Make(
      Kind::kOperationSoftmax,
      {Graph::Of(OPERATION_SOFTMAX_XDESC, between(903)),
       Graph::Of(OPERATION_SOFTMAX_YDESC, between(904)),
       Graph::Of(OPERATION_SOFTMAX_MAX_DESC, graph.Tensor(most)),
       Graph::Of(OPERATION_SOFTMAX_SUM_EXP_DESC, graph.Tensor(sum))});
  ASSERT_EQ(graph.status(), 0);
  graph.Add(Kind::kOperationSdpaFwd,
            {Graph::Of(OPERATION_SDPA_FWD_QDESC, graph.Tensor(q)),
             Graph::Of(OPERATION_SDPA_FWD_KDESC, graph.Tensor(k)),
             Graph::Of(OPERATION_SDPA_FWD_VDESC, graph.Tensor(v)),
             Graph::Of(OPERATION_SDPA_FWD_ODESC, graph.Tensor(o)),
             Graph::Of(OPERATION_SDPA_FWD_SUBGRAPH, inner),
             Graph::Ints(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, {901}),
             Graph::Ints(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID, {902}),
             Graph::Of(OPERATION_SDPA_FWD_SOFTMAX_DESC, softmax)});
  ASSERT_EQ(graph.Run(), 0);
  Values want(36), largest(6, -HUGE_VAL), totals(6);
  for (std::size_t row = 0; row < 6; ++row) {
    const std::size_t head = row / 3;
    double s[4] = {};
    for (std::size_t j = 0; j < 4; ++j) {
      s[j] = bias.values()[row % 3 * 4 + j];
      for (std::size_t d = 0; d < 5; ++d) {
        s[j] += q.values()[row * 5 + d] * k.values()[(head * 4 + j) * 5 + d];
      }
      largest[row] = std::max(largest[row], s[j]);
    }
    for (const double one : s) totals[row] += std::exp(one - largest[row]);
    for (std::size_t d = 0; d < 24; ++d) {
      want[row * 6 + d % 6] += std::exp(s[d / 6] - largest[row]) / totals[row] *
                               v.values()[(head * 4 + d / 6) * 6 + d % 6];
    }
  }
  ExpectNear(o.Get(), want, 1e-13, "attention");
  ExpectNear(most.Get(), largest, 1e-13, "maxima");
  ExpectNear(sum.Get(), totals, 1e-13, "sums");
  // That graph alone reads what nobody writes.
  Graph alone;
  void* const of =
      alone.Make(Kind::kEngineHeuristics,
                 {Graph::Of(ENGINEHEUR_OPERATION_GRAPH, inner),
                  Graph::Enum(ENGINEHEUR_MODE, Type::kHeurMode, 0)});
  (void)of;
  EXPECT_NE(alone.status(), 0);
}

// What attention's causal and sliding masks are made of.
TEST(CudnnGraph, BandsOfADiagonal) {
  constexpr int kGreater = 302, kGreaterEqual = 303;
  for (const bool left : {false, true}) {
    // None, one for all batches (as by cudnn-frontend for a fixed length),
    // each.
    for (const Index lengths : {0, 1, 2}) {
      for (const int mode : {kGreater, kGreaterEqual}) {
        Field x(kF32, {2, 2, 4, 5}, Packed({2, 2, 4, 5}), 1);
        Field y(kF32, {2, 2, 4, 5}), other(kF32, {1, 1, 1, 1});
        Field bound(kI32, {1, 1, 1, 1});
        const Sizes many = {std::max<Index>(lengths, 1), 1, 1, 1};
        Field queries(kI32, many), keys(kI32, many);
        other.Set({-7}), bound.Set({1});
        queries.Set(lengths == 2 ? Values{4, 2} : Values{4});
        keys.Set(lengths == 2 ? Values{5, 3} : Values{5});
        Graph graph;
        std::vector<Graph::Attribute> all = {
            Graph::Of(OPERATION_DIAGONAL_BAND_MASK_XDESC, graph.Tensor(x)),
            Graph::Of(OPERATION_DIAGONAL_BAND_MASK_YDESC, graph.Tensor(y)),
            Graph::Of(OPERATION_DIAGONAL_BAND_MASK_BDESC, graph.Tensor(other)),
            Graph::Of(left
                          ? OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC
                          : OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC,
                      graph.Tensor(bound)),
            Graph::Enum(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE,
                        Type::kPointwiseMode, mode)};
        if (lengths != 0) {
          all.push_back(Graph::Of(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC,
                                  graph.Tensor(queries)));
          all.push_back(Graph::Of(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC,
                                  graph.Tensor(keys)));
        }
        graph.Add(Kind::kOperationDiagonalBandMask, all);
        ASSERT_EQ(graph.Run(), 0);
        for (int i = 0; i < 80; ++i) {
          const int row = i / 5 % 4, column = i % 5;
          const int longer = lengths != 0 ? 1 : 0;  // in both batches
          const int far = left ? column + 1 - longer : row + 1 + longer;
          const int near = left ? row : column;
          const bool stays = far > near || (far == near && mode != kGreater);
          const auto at = static_cast<std::size_t>(i);
          EXPECT_EQ(y.Get()[at], stays ? x.values()[at] : -7) << i;
        }
      }
    }
  }
}

TEST(CudnnGraph, PagesOfACache) {
  Field pages(kF16, {5, 2, 2, 3}), table(kI32, {2, 1, 2, 1});
  Field lengths(kI32, {2, 1, 1, 1}), y(kF16, {2, 2, 3, 3});
  table.Set({4, 1, 0, 2}), lengths.Set({3, 2});
  Graph graph;
  graph.Add(Kind::kOperationPagedCacheLoad,
            {Graph::Of(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC,
                       graph.Tensor(pages)),
             Graph::Of(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC,
                       graph.Tensor(table)),
             Graph::Of(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC,
                       graph.Tensor(lengths)),
             Graph::Of(OPERATION_PAGED_CACHE_LOAD_YDESC, graph.Tensor(y))});
  ASSERT_EQ(graph.Run(), 0);
  const Index where[2][2] = {{4, 1}, {0, 2}};
  std::size_t i = 0;
  const Values got = y.Get();
  ForEachPlace(y.sizes(), [&](const Sizes& p) {
    const double want =
        p[2] >= 3 - p[0] ? 0
                         : pages.values()[static_cast<std::size_t>(At(
                               pages.sizes(),
                               {where[p[0]][p[2] / 2], p[1], p[2] % 2, p[3]}))];
    EXPECT_EQ(got[i++], want);
  });
}

TEST(CudnnGraph, RandomNumbersByTheirDistribution) {
  const Sizes sizes = {50, 40};
  struct Case {
    int distribution;
    Graph::Name first, second;
    double a, b, mean, variance;
  };
  for (const Case& c :
       {Case{0, RNG_BERNOULLI_DIST_PROBABILITY, RNG_BERNOULLI_DIST_PROBABILITY,
             0.25, 0.25, 0.25, 0.1875},
        Case{1, RNG_UNIFORM_DIST_MINIMUM, RNG_UNIFORM_DIST_MAXIMUM, 2, 4, 3,
             1.0 / 3},
        Case{2, RNG_NORMAL_DIST_MEAN, RNG_NORMAL_DIST_STANDARD_DEVIATION, 1, 2,
             1, 4}}) {
    Values draws[3];
    for (int run = 0; run < 3; ++run) {
      Field y(kF32, sizes), offset(kI64, {1, 1}, {1, 1});
      offset.Set({run == 2 ? 1000.0 : 0.0});
      Graph graph;
      graph.Add(
          Kind::kOperationRng,
          {Graph::Of(OPERATION_RNG_DESC,
                     graph.Make(Kind::kRng, {Graph::Enum(RNG_DISTRIBUTION,
                                                         Type::kRngDistribution,
                                                         c.distribution),
                                             Graph::Real(c.first, c.a),
                                             Graph::Real(c.second, c.b)})),
           Graph::Ints(OPERATION_RNG_SEED, {42}),
           Graph::Of(OPERATION_RNG_OFFSET_DESC, graph.Tensor(offset)),
           Graph::Of(OPERATION_RNG_YDESC, graph.Tensor(y))});
      ASSERT_EQ(graph.Run(), 0);
      draws[run] = y.Get();
    }
    EXPECT_EQ(draws[0], draws[1]);  // by the seed alone
    EXPECT_NE(draws[0], draws[2]);
    double mean = 0, variance = 0;
    for (const double value : draws[0]) mean += value / 2000;
    for (const double value : draws[0]) {
      variance += (value - mean) * (value - mean) / 2000;
    }
    EXPECT_NEAR(mean, c.mean, 0.15);
    EXPECT_NEAR(variance, c.variance, 0.1 * c.variance);
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests
