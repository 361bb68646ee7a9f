// The graph API: convolutions and pointwise operations against what they are,
// plans, descriptors that are refused.
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
// The way back is the slope, by the input and, if there is one, by the
// output. Kinks have none: numbers beside them.
void ExpectSlopes(int mode, const std::function<double(double)>& f,
                  const std::vector<Graph::Attribute>& config) {
  const Sizes sizes = {2, 3, 5, 2};
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

    if (mode >= 100 && mode <= 107) ExpectSlopes(mode, f, config);
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
  EXPECT_EQ(set(100, 3, 1, sizes), kBadParam);      // another's attribute
  EXPECT_EQ(set(9999, 3, 1, sizes), kUnsupported);  // of a version to come
  EXPECT_EQ(set(902, 5, 4, sizes), 2010);           // another type
  EXPECT_EQ(set(902, 3, 9, sizes), kBadParam);      // too many
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
  EXPECT_EQ(Dnn("BackendGetAttribute", made, 100, 3, std::int64_t{1}, &count,
                static_cast<void*>(&number)),
            kBadParam);
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
  for (const char* name :
       {"BackendPopulateCudaGraph", "BackendUpdateCudaGraph"}) {
    EXPECT_EQ(
        Dnn(name, DnnHandle(), tensor, tensor, static_cast<void*>(nullptr)),
        2002);
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests
