// The graph API: each operation against what it is, descriptors that are
// refused.
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

// --- convolutions
void* Convolution(Graph& graph, const ConvolutionCase& c, int compute) {
  return graph.Make(
      Kind::kConvolution,
      {Graph::Enum(CONVOLUTION_COMP_TYPE, Type::kDataType, compute),
       Graph::Enum(CONVOLUTION_CONV_MODE, Type::kConvolutionMode,
                   c.flips ? 0 : 1),
       Graph::Ints(CONVOLUTION_SPATIAL_DIMS,
                   {static_cast<Index>(c.padding.size())}),
       Graph::Ints(CONVOLUTION_DILATIONS, c.dilations),
       Graph::Ints(CONVOLUTION_FILTER_STRIDES, c.strides),
       Graph::Ints(CONVOLUTION_PRE_PADDINGS, c.padding),
       Graph::Ints(CONVOLUTION_POST_PADDINGS, c.padding)});
}

TEST(CudnnGraph, ConvolutionsInEachDirection) {
  for (const ConvolutionCase& c : ConvolutionCases()) {
    for (const auto& [type, compute] :
         std::vector<std::pair<int, int>>{{kF32, kF32},
                                          {kF16, kF32},
                                          {kBf16, kF32},
                                          {kF64, kF64},
                                          {kI8, kI32}}) {
      for (const bool last : {false, true}) {
        const int out = type == kI8 ? kI32 : type;
        const auto order = [&](const Sizes& sizes) {
          return last ? ChannelsLast(sizes) : Packed(sizes);
        };
        Field x(type, c.x, order(c.x), 1), w(type, c.w, order(c.w), 2);
        Field y(out, c.Y(), order(c.Y()), 3);
        Values want = y.values();
        for (double& value : want) value *= -2;
        c.ForEachTerm([&](Index xi, Index wi, Index yi) {
          want[static_cast<std::size_t>(yi)] +=
              3 * x.values()[static_cast<std::size_t>(xi)] *
              w.values()[static_cast<std::size_t>(wi)];
        });
        Graph graph;
        graph.Add(
            Kind::kOperationConvolutionForward,
            {Graph::Single(OPERATION_CONVOLUTION_FORWARD_ALPHA, 3),
             Graph::Single(OPERATION_CONVOLUTION_FORWARD_BETA, -2),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                       Convolution(graph, c, compute)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_X, graph.Tensor(x)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_W, graph.Tensor(w)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_Y, graph.Tensor(y))});
        ASSERT_EQ(graph.Run(), 0);
        ExpectNear(y.Get(), want, Precision(out), "forward");
        if (type == kI8) continue;

        Field dx(type, c.x, order(c.x), 4), dw(type, c.w, order(c.w), 5);
        Values want_x(dx.values().size(), 0), want_w(dw.values().size(), 0);
        c.ForEachTerm([&](Index xi, Index wi, Index yi) {
          const double slope = y.values()[static_cast<std::size_t>(yi)];
          want_x[static_cast<std::size_t>(xi)] +=
              slope * w.values()[static_cast<std::size_t>(wi)];
          want_w[static_cast<std::size_t>(wi)] +=
              slope * x.values()[static_cast<std::size_t>(xi)];
        });
        Field dy(type, c.Y(), order(c.Y()), 3);
        Graph back;
        void* config = Convolution(back, c, compute);
        void* slope = back.Tensor(dy);
        back.Add(Kind::kOperationConvolutionBackwardData,
                 {Graph::Real(OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1),
                  Graph::Real(OPERATION_CONVOLUTION_BWD_DATA_BETA, 0),
                  Graph::Of(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, config),
                  Graph::Of(OPERATION_CONVOLUTION_BWD_DATA_W, back.Tensor(w)),
                  Graph::Of(OPERATION_CONVOLUTION_BWD_DATA_DX, back.Tensor(dx)),
                  Graph::Of(OPERATION_CONVOLUTION_BWD_DATA_DY, slope)});
        back.Add(
            Kind::kOperationConvolutionBackwardFilter,
            {Graph::Real(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1),
             Graph::Real(OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0),
             Graph::Of(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, config),
             Graph::Of(OPERATION_CONVOLUTION_BWD_FILTER_X, back.Tensor(x)),
             Graph::Of(OPERATION_CONVOLUTION_BWD_FILTER_DW, back.Tensor(dw)),
             Graph::Of(OPERATION_CONVOLUTION_BWD_FILTER_DY, slope)});
        ASSERT_EQ(back.Run(), 0);
        ExpectNear(dx.Get(), want_x, Precision(type), "data");
        ExpectNear(dw.Get(), want_w, Precision(type), "filter");
      }
    }
  }
}

// --- pointwise
std::vector<Graph::Attribute> PointwiseConfig(int mode) {
  return {Graph::Enum(POINTWISE_MODE, Type::kPointwiseMode, mode),
          Graph::Enum(POINTWISE_MATH_PREC, Type::kDataType, kF32)};
}
void* Pointwise(Graph& graph, int mode,
                const std::vector<std::pair<Graph::Name, void*>>& tensors,
                std::vector<Graph::Attribute> config = {}) {
  for (auto& attribute : PointwiseConfig(mode)) config.push_back(attribute);
  std::vector<Graph::Attribute> attributes = {Graph::Of(
      OPERATION_POINTWISE_PW_DESCRIPTOR, graph.Make(Kind::kPointwise, config))};
  for (const auto& [name, tensor] : tensors) {
    attributes.push_back(Graph::Of(name, tensor));
  }
  return graph.Add(Kind::kOperationPointwise, attributes);
}

TEST(CudnnGraph, PointwiseOfOne) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double root = std::sqrt(2 / std::acos(-1.0));
  const std::map<int, std::function<double(double)>> modes = {
      {4, [](double x) { return std::sqrt(x); }},
      {10, [](double x) { return std::abs(x); }},
      {11, [](double x) { return std::ceil(x); }},
      {12, [](double x) { return std::cos(x); }},
      {13, [](double x) { return std::exp(x); }},
      {14, [](double x) { return std::floor(x); }},
      {15, [](double x) { return std::log(x); }},
      {16, [](double x) { return -x; }},
      {17, [](double x) { return 1 / std::sqrt(x); }},
      {18, [](double x) { return std::sin(x); }},
      {19, [](double x) { return std::tan(x); }},
      {20, [](double x) { return std::erf(x); }},
      {21, [](double x) { return x; }},
      {22, [](double x) { return 1 / x; }},
      {100, [](double x) { return x < 0 ? 0.25 * x : std::min(x, 0.75); }},
      {101, [](double x) { return std::tanh(x); }},
      {102, sigmoid},
      {103, [](double x) { return x < 0 ? 1.5 * (std::exp(x) - 1) : x; }},
      {104,
       [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {105, [](double x) { return std::log(1 + std::exp(2 * x)) / 2; }},
      {106, [&](double x) { return x * sigmoid(0.5 * x); }},
      {107,
       [&](double x) {
         return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
       }},
      {402, [](double x) { return x == 0 ? 1.0 : 0.0; }},
  };
  const std::vector<Graph::Attribute> config = {
      Graph::Real(POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.25),
      Graph::Real(POINTWISE_RELU_UPPER_CLIP, 0.75),
      Graph::Single(POINTWISE_ELU_ALPHA, 1.5),
      Graph::Real(POINTWISE_SOFTPLUS_BETA, 2),
      Graph::Real(POINTWISE_SWISH_BETA, 0.5)};
  const Sizes sizes = {2, 3, 5, 2};
  for (const auto& [mode, f] : modes) {
    Field x(kF32, sizes, ChannelsLast(sizes)), y(kF32, sizes);
    Values want = x.values();
    for (double& value : want) value = f(value);
    Graph graph;
    Pointwise(graph, mode,
              {{OPERATION_POINTWISE_XDESC, graph.Tensor(x)},
               {OPERATION_POINTWISE_YDESC, graph.Tensor(y)}},
              config);
    ASSERT_EQ(graph.Run(), 0) << mode;
    ExpectNear(y.Get(), want, 2e-6, "mode " + std::to_string(mode));

    // The way back is the slope, by the input and, if there is one, by the
    // output. Kinks have none: numbers beside them.
    if (mode < 100 || mode > 107) continue;
    Field at(kF64, sizes), dy(kF64, sizes, {}, 7), dx(kF64, sizes);
    Values beside = at.values();
    for (double& value : beside) value += 0.03;
    at.Set(beside);
    const auto all = [&](const Values& in) {
      Values out = in;
      for (double& value : out) value = f(value);
      return out;
    };
    const Values slopes = Slopes(all, beside, dy.values());
    Graph back;
    Pointwise(back, mode + 100,
              {{OPERATION_POINTWISE_XDESC, back.Tensor(at)},
               {OPERATION_POINTWISE_DYDESC, back.Tensor(dy)},
               {OPERATION_POINTWISE_DXDESC, back.Tensor(dx)}},
              config);
    ASSERT_EQ(back.Run(), 0);
    ExpectNear(dx.Get(), slopes, kOfDifferences,
               "slope of " + std::to_string(mode));
    Field output(kF64, sizes);
    output.Set(all(beside));
    Graph by_output;
    Pointwise(by_output, mode + 100,
              {{OPERATION_POINTWISE_YDESC, by_output.Tensor(output)},
               {OPERATION_POINTWISE_DYDESC, by_output.Tensor(dy)},
               {OPERATION_POINTWISE_DXDESC, by_output.Tensor(dx)}},
              config);
    const bool has = mode != 104 && mode != 106 && mode != 107;
    EXPECT_EQ(by_output.Run(), has ? 0 : kBadParam);
    if (has) {
      ExpectNear(dx.Get(), slopes, kOfDifferences, "slope by output");
    }
  }
}

TEST(CudnnGraph, PointwiseOfTwoAndThreeWithBroadcasting) {
  const std::map<int, std::function<double(double, double)>> modes = {
      {0, [](double a, double b) { return a + b; }},
      {1, [](double a, double b) { return a * b; }},
      {2, [](double a, double b) { return std::min(a, b); }},
      {3, [](double a, double b) { return std::max(a, b); }},
      {5, [](double a, double b) { return a + b * b; }},
      {6, [](double a, double b) { return a / b; }},
      {7, [](double a, double b) { return std::fmod(a, b); }},
      {8, [](double a, double b) { return std::pow(a, b); }},
      {9, [](double a, double b) { return a - b; }},
      {23, [](double a, double b) { return std::atan2(a, b); }},
      {24, [](double a, double b) { return a - std::floor(a / b) * b; }},
      {300, [](double a, double b) { return a == b; }},
      {301, [](double a, double b) { return a != b; }},
      {302, [](double a, double b) { return a > b; }},
      {303, [](double a, double b) { return a >= b; }},
      {304, [](double a, double b) { return a < b; }},
      {305, [](double a, double b) { return a <= b; }},
      {400, [](double a, double b) { return a != 0 && b != 0; }},
      {401, [](double a, double b) { return a != 0 || b != 0; }},
  };
  const Sizes sizes = {2, 3, 4};
  for (const auto& [mode, f] : modes) {
    Field a(kF32, sizes, {}, 1), b(kF32, {1, 3, 1}, {}, 2), y(kF32, sizes);
    Values want;
    ForEachPlace(sizes, [&](const Sizes& p) {
      const double scale = mode < 100 ? 2 : 1;
      want.push_back(f(a.values()[static_cast<std::size_t>(At(sizes, p))],
                       scale * b.values()[static_cast<std::size_t>(p[1])]));
    });
    Graph graph;
    std::vector<Graph::Attribute> attributes = {
        Graph::Of(OPERATION_POINTWISE_PW_DESCRIPTOR,
                  graph.Make(Kind::kPointwise, PointwiseConfig(mode))),
        Graph::Of(OPERATION_POINTWISE_XDESC, graph.Tensor(a)),
        Graph::Of(OPERATION_POINTWISE_BDESC, graph.Tensor(b)),
        Graph::Of(OPERATION_POINTWISE_YDESC, graph.Tensor(y))};
    if (mode < 100) {
      attributes.push_back(Graph::Single(OPERATION_POINTWISE_ALPHA2, 2));
    }
    graph.Add(Kind::kOperationPointwise, attributes);
    ASSERT_EQ(graph.Run(), 0) << mode;
    ExpectNear(y.Get(), want, 2e-6, "mode " + std::to_string(mode));
  }
  // A mask chooses; indices along an axis; NaN stays NaN.
  Field a(kF32, sizes, {}, 1), b(kF32, sizes, {}, 2), t(kBits, sizes, {}, 3);
  Field y(kF32, sizes), index(kI32, sizes), relu(kF32, sizes);
  Values with = a.values();
  with[5] = std::nan("");
  a.Set(with);
  Graph graph;
  void* x = graph.Tensor(a);
  Pointwise(graph, 601,
            {{OPERATION_POINTWISE_XDESC, x},
             {OPERATION_POINTWISE_BDESC, graph.Tensor(b)},
             {OPERATION_POINTWISE_TDESC, graph.Tensor(t)},
             {OPERATION_POINTWISE_YDESC, graph.Tensor(y)}});
  Pointwise(graph, 501,
            {{OPERATION_POINTWISE_XDESC, x},
             {OPERATION_POINTWISE_YDESC, graph.Tensor(index)}},
            {Graph::Ints(POINTWISE_AXIS, {1})});
  Pointwise(graph, 100,
            {{OPERATION_POINTWISE_XDESC, x},
             {OPERATION_POINTWISE_YDESC, graph.Tensor(relu)}});
  ASSERT_EQ(graph.Run(), 0);
  EXPECT_TRUE(std::isnan(relu.Get()[5]));
  for (std::size_t i = 0; i < with.size(); ++i) {
    const double chosen = t.values()[i] != 0 ? with[i] : b.values()[i];
    if (std::isnan(chosen)) EXPECT_TRUE(std::isnan(y.Get()[i]));
    else EXPECT_EQ(y.Get()[i], chosen);
    EXPECT_EQ(index.Get()[i], static_cast<double>(i / 4 % 3));
  }
}

// Operations in any order, joined by virtual tensors: relu(x * w + b).
TEST(CudnnGraph, FusedOperationsInAnyOrder) {
  const ConvolutionCase c = ConvolutionCases()[1];
  Field x(kF16, c.x), w(kF16, c.w), b(kF16, {1, c.w[0], 1, 1}, {}, 5);
  Field y(kF16, c.Y());
  Values sums(static_cast<std::size_t>(Count(c.Y())), 0);
  c.ForEachTerm([&](Index xi, Index wi, Index yi) {
    sums[static_cast<std::size_t>(yi)] +=
        x.values()[static_cast<std::size_t>(xi)] *
        w.values()[static_cast<std::size_t>(wi)];
  });
  const Index plane = Count(c.Y()) / c.Y()[0] / c.Y()[1];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto channel =
        static_cast<std::size_t>(static_cast<Index>(i) / plane % c.Y()[1]);
    sums[i] = std::max(0.0, sums[i] + b.values()[channel]);
  }
  Graph graph;
  void* convolved = graph.Virtual(kF32, c.Y());
  void* added = graph.Virtual(kF32, c.Y());
  Pointwise(graph, 100,
            {{OPERATION_POINTWISE_XDESC, added},
             {OPERATION_POINTWISE_YDESC, graph.Tensor(y)}});
  Pointwise(graph, 0,
            {{OPERATION_POINTWISE_XDESC, convolved},
             {OPERATION_POINTWISE_BDESC, graph.Tensor(b)},
             {OPERATION_POINTWISE_YDESC, added}});
  graph.Add(Kind::kOperationConvolutionForward,
            {Graph::Single(OPERATION_CONVOLUTION_FORWARD_ALPHA, 1),
             Graph::Single(OPERATION_CONVOLUTION_FORWARD_BETA, 0),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                       Convolution(graph, c, kF32)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_X, graph.Tensor(x)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_W, graph.Tensor(w)),
             Graph::Of(OPERATION_CONVOLUTION_FORWARD_Y, convolved)});
  ASSERT_EQ(graph.Run(), 0);
  ExpectNear(y.Get(), sums, Precision(kF16), "fused");
}

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

// --- plans as text
TEST(CudnnGraph, PlansAsText) {
  Field x(kF32, {2, 3}), y(kF32, {2, 3});
  Graph graph;
  Pointwise(graph, 16,
            {{OPERATION_POINTWISE_XDESC, graph.Tensor(x)},
             {OPERATION_POINTWISE_YDESC, graph.Tensor(y)}});
  ASSERT_EQ(graph.Run(), 0);
  const auto get = [](void* plan, std::vector<char>* text) {
    std::int64_t count = 0;
    const int status = Dnn("BackendGetAttribute", plan,
                           static_cast<int>(EXECUTION_PLAN_JSON_REPRESENTATION),
                           static_cast<int>(Type::kChar),
                           static_cast<std::int64_t>(text->size()), &count,
                           static_cast<void*>(text->data()));
    text->resize(static_cast<std::size_t>(count));
    return status;
  };
  std::vector<char> text;
  ASSERT_EQ(get(graph.plan(), &text), 0);  // how long it is
  ASSERT_EQ(get(graph.plan(), &text), 0);
  const auto read = [&](const std::vector<char>& from) {
    void* plan = nullptr;
    EXPECT_EQ(Dnn("BackendCreateDescriptor",
                  static_cast<int>(Kind::kExecutionPlan), &plan),
              0);
    EXPECT_EQ(Dnn("BackendSetAttribute", plan,
                  static_cast<int>(EXECUTION_PLAN_JSON_REPRESENTATION),
                  static_cast<int>(Type::kChar),
                  static_cast<std::int64_t>(from.size()),
                  static_cast<const void*>(from.data())),
              0);
    return std::pair(plan, Dnn("BackendFinalize", plan));
  };
  const auto [plan, status] = read(text);
  ASSERT_EQ(status, 0);
  std::vector<char> again(text.size());
  EXPECT_EQ(get(plan, &again), 0);
  EXPECT_EQ(again, text);
  y.Set(Values(6, 9));
  EXPECT_EQ(Dnn("BackendExecute", DnnHandle(), plan, graph.pack()), 0);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(y.Get()[i], -x.values()[i]);
  EXPECT_EQ(Dnn("BackendDestroyDescriptor", plan), 0);
  // Cut off or changed anywhere it is refused, or another plan.
  for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
    std::vector<char> cut(text.begin(),
                          text.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<char> changed = text;
    changed[i] = changed[i] == '7' ? '8' : '7';
    const auto [broken, bad] = read(cut);
    EXPECT_EQ(bad, kBadParam);
    EXPECT_EQ(Dnn("BackendDestroyDescriptor", broken), 0);
    EXPECT_EQ(Dnn("BackendDestroyDescriptor", read(changed).first), 0);
  }
}

// --- what is refused
TEST(CudnnGraph, DescriptorsThatAreRefused) {
  void* made = nullptr;
  EXPECT_EQ(Dnn("BackendCreateDescriptor", 28, &made), kUnsupported);
  EXPECT_EQ(Dnn("BackendCreateDescriptor", 1000, &made), kUnsupported);
  EXPECT_EQ(Dnn("BackendCreateDescriptor", 17, static_cast<void*>(nullptr)),
            2002);
  ASSERT_EQ(Dnn("BackendCreateDescriptor", 17, &made), 0);
  const auto set = [&](int name, int type, std::int64_t count,
                       const void* elements) {
    return Dnn("BackendSetAttribute", made, name, type, count, elements);
  };
  std::int64_t sizes[9] = {2, 3, 4, 5, 1, 1, 1, 1, 1};
  const int type = 0;
  EXPECT_EQ(set(100, 3, 1, sizes), kUnsupported);  // another's attribute
  EXPECT_EQ(set(902, 5, 4, sizes), 2010);          // another type
  EXPECT_EQ(set(902, 3, 9, sizes), kBadParam);     // too many
  EXPECT_EQ(set(902, 3, -1, sizes), kBadParam);
  EXPECT_EQ(set(902, 3, 4, nullptr), 2002);
  EXPECT_EQ(Dnn("BackendFinalize", made), kBadParam);  // not all is set
  EXPECT_EQ(set(902, 3, 4, sizes), 0);
  EXPECT_EQ(set(903, 3, 3, sizes), 0);  // one stride too few
  EXPECT_EQ(set(901, 1, 1, &type), 0);
  EXPECT_EQ(set(906, 3, 1, sizes), 0);
  EXPECT_EQ(Dnn("BackendFinalize", made), kBadParam);
  char reason[64] = "";
  Dnn<void>("GetLastErrorString", static_cast<char*>(reason), sizeof reason);
  EXPECT_STREQ(reason, "a tensor's dimensions and strides");
  std::int64_t count = -1, number = 0;
  EXPECT_EQ(Dnn("BackendGetAttribute", made, 906, 3, std::int64_t{1}, &count,
                static_cast<void*>(&number)),
            2004);  // not finalized
  EXPECT_EQ(set(903, 3, 4, sizes), 0);
  EXPECT_EQ(Dnn("BackendFinalize", made), 0);
  EXPECT_EQ(set(903, 3, 4, sizes), 1001);  // finalized
  EXPECT_EQ(Dnn("BackendGetAttribute", made, 906, 3, std::int64_t{1}, &count,
                static_cast<void*>(&number)),
            0);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(Dnn("BackendInitialize", made), 0);
  EXPECT_EQ(Dnn("BackendFinalize", made), kBadParam);
  EXPECT_EQ(Dnn("BackendDestroyDescriptor", made), 0);
}

TEST(CudnnGraph, GraphsThatAreRefused) {
  const Sizes sizes = {2, 3};
  Field x(kF32, sizes), y(kF32, sizes), small(kF32, {3, 2});
  const auto copy = [](Graph& graph, void* from, void* to) {
    return Pointwise(
        graph, 21,
        {{OPERATION_POINTWISE_XDESC, from}, {OPERATION_POINTWISE_YDESC, to}});
  };
  {
    Graph graph;  // sizes that do not go together
    copy(graph, graph.Tensor(x), graph.Tensor(small));
    EXPECT_EQ(graph.Run(), kBadParam);
  }
  {
    Graph graph;  // two that write one
    void* from = graph.Tensor(x);
    void* to = graph.Tensor(y);
    copy(graph, from, to);
    copy(graph, from, to);
    EXPECT_EQ(graph.Run(), kBadParam);
  }
  {
    Graph graph;  // in a circle
    void* a = graph.Virtual(kF32, sizes);
    void* b = graph.Virtual(kF32, sizes);
    copy(graph, a, b);
    copy(graph, b, a);
    EXPECT_EQ(graph.Run(), kBadParam);
  }
  {
    Graph graph;  // virtual, and written by none
    copy(graph, graph.Virtual(kF32, sizes), graph.Tensor(y));
    EXPECT_EQ(graph.Run(), kBadParam);
  }
  {
    Graph graph;  // an operation with a tensor where its kind belongs
    graph.Add(Kind::kOperationPointwise,
              {Graph::Of(OPERATION_POINTWISE_PW_DESCRIPTOR, graph.Tensor(x)),
               Graph::Of(OPERATION_POINTWISE_XDESC, graph.Tensor(x)),
               Graph::Of(OPERATION_POINTWISE_YDESC, graph.Tensor(y))});
    EXPECT_EQ(graph.Run(), kBadParam);
  }
  // Executing what is none.
  EXPECT_EQ(Dnn("BackendExecute", DnnHandle(), static_cast<void*>(nullptr),
                static_cast<void*>(nullptr)),
            2002);
  Graph graph;
  void* tensor = graph.Tensor(x);
  std::size_t bytes = 1;
  EXPECT_EQ(Dnn("BackendExecute", DnnHandle(), tensor, tensor), 2012);
  EXPECT_EQ(
      Dnn("GetExecutionPlanWorkspaceSize", DnnHandle(), tensor, tensor, &bytes),
      2012);
  EXPECT_EQ(Dnn("BackendPopulateCudaGraph", DnnHandle(), tensor, tensor,
                static_cast<void*>(nullptr)),
            3013);
  EXPECT_EQ(Dnn("BackendUpdateCudaGraph", DnnHandle(), tensor, tensor,
                static_cast<void*>(nullptr)),
            3013);
}

}  // namespace
}  // namespace cerberus::libraries::tests
