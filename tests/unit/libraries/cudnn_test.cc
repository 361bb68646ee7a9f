// Handles, descriptors, convolutions, and what is done element by element, as
// functions: each against what it is, over layouts and types.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/libraries/cudnn_naive.h"
#include "tests/unit/libraries/small_float.h"

namespace cerberus::libraries::tests {
namespace {

// --- handle and descriptors
TEST(Cudnn, HandlesVersionsAndErrors) {
  void* handle = nullptr;
  EXPECT_EQ(Dnn("Create", static_cast<void**>(nullptr)), kBadParam);
  ASSERT_EQ(Dnn("Create", &handle), 0);
  void *stream = nullptr, *told = nullptr;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 0u), 0);
  EXPECT_EQ(Dnn("SetStream", handle, stream), 0);
  EXPECT_EQ(Dnn("GetStream", handle, &told), 0);
  EXPECT_EQ(told, stream);
  int status = -1;
  EXPECT_EQ(
      Dnn("QueryRuntimeError", handle, &status, 0, static_cast<void*>(nullptr)),
      0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Dnn("Destroy", handle), 0);
  EXPECT_EQ(Dnn("Destroy", static_cast<void*>(nullptr)), kBadParam);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
  EXPECT_EQ(Dnn<std::size_t>("GetVersion"), 92800u);
  EXPECT_GT(Dnn<std::size_t>("GetMaxDeviceVersion"), 0u);
  EXPECT_GT(Dnn<std::size_t>("GetCudartVersion"), 0u);
  int part = 0;
  EXPECT_EQ(Dnn("GetProperty", 0, &part), 0);
  EXPECT_EQ(part, 9);
  EXPECT_EQ(Dnn("GetProperty", 3, &part), 2001);
  EXPECT_STREQ(Dnn<const char*>("GetErrorString", 2000),
               "CUDNN_STATUS_BAD_PARAM");
  EXPECT_STREQ(Dnn<const char*>("GetErrorString", 77), "CUDNN_STATUS_UNKNOWN");
  unsigned mask = 7;
  void *data = &mask, *callback = &mask;
  EXPECT_EQ(Dnn("SetCallback", 3u, static_cast<void*>(&part), data), 0);
  EXPECT_EQ(Dnn("GetCallback", &mask, &data, &callback), 0);
  EXPECT_EQ(mask, 3u);
  EXPECT_EQ(data, &part);
  EXPECT_EQ(callback, &mask);
  void* const none = nullptr;
  EXPECT_EQ(Dnn("SetCallback", 0u, none, none), 0);
  EXPECT_EQ(Dnn("GetCallback", &mask, &data, &callback), 0);
  EXPECT_EQ(callback, nullptr);
  for (const char* of :
       {"Graph", "Ops", "Cnn", "Adv", "SubquadraticOps", "OpsInfer", "OpsTrain",
        "CnnInfer", "CnnTrain", "AdvInfer", "AdvTrain"}) {
    EXPECT_EQ(Dnn(std::string(of) + "VersionCheck"), 0) << of;
  }
}

TEST(Cudnn, TensorAndFilterDescriptors) {
  Desc tensor("Tensor");
  int type, n, c, h, w, s[4];
  const auto get = [&] {
    return Dnn("GetTensor4dDescriptor", tensor.get(), &type, &n, &c, &h, &w,
               &s[0], &s[1], &s[2], &s[3]);
  };
  EXPECT_EQ(get(), kBadParam);  // not set
  EXPECT_EQ(Dnn("SetTensor4dDescriptor", tensor.get(), 1, kF16, 2, 3, 4, 5), 0);
  ASSERT_EQ(get(), 0);
  EXPECT_EQ((std::vector<int>{type, n, c, h, w, s[0], s[1], s[2], s[3]}),
            (std::vector<int>{kF16, 2, 3, 4, 5, 60, 1, 15, 3}));
  std::size_t bytes = 0;
  EXPECT_EQ(Dnn("GetTensorSizeInBytes", tensor.get(), &bytes), 0);
  EXPECT_EQ(bytes, 240u);
  EXPECT_EQ(Dnn("SetTensor4dDescriptorEx", tensor.get(), kF32, 2, 3, 4, 5, 200,
                50, 10, 1),
            0);
  EXPECT_EQ(Dnn("GetTensorSizeInBytes", tensor.get(), &bytes), 0);
  EXPECT_EQ(bytes, 4u * (200 + 100 + 30 + 4 + 1));
  // Four channels in a vector.
  EXPECT_EQ(Dnn("SetTensor4dDescriptor", tensor.get(), 2, 5, 2, 8, 4, 5), 0);
  EXPECT_EQ(Dnn("GetTensorSizeInBytes", tensor.get(), &bytes), 0);
  EXPECT_EQ(bytes, 320u);
  EXPECT_EQ(Dnn("SetTensor4dDescriptor", tensor.get(), 2, 5, 2, 6, 4, 5),
            kBadParam);
  EXPECT_EQ(Dnn("SetTensor4dDescriptor", tensor.get(), 0, kF32, 0, 3, 4, 5),
            kBadParam);
  EXPECT_EQ(Dnn("SetTensor4dDescriptor", tensor.get(), 0, 99, 1, 3, 4, 5),
            kBadParam);
  const int five[] = {2, 3, 4, 5, 6};
  EXPECT_EQ(Dnn("SetTensorNdDescriptorEx", tensor.get(), 1, kF32, 5, five), 0);
  int count = 0, sizes[5] = {}, strides[5] = {};
  EXPECT_EQ(Dnn("GetTensorNdDescriptor", tensor.get(), 5, &type, &count, sizes,
                strides),
            0);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(std::vector<int>(strides, strides + 5),
            (std::vector<int>{360, 1, 90, 18, 3}));
  EXPECT_EQ(Dnn("SetTensorNdDescriptor", tensor.get(), kF32, 9, five, five),
            kUnsupported);

  Desc filter("Filter");
  EXPECT_EQ(Dnn("SetFilter4dDescriptor", filter.get(), kF32, 1, 4, 3, 2, 2), 0);
  int format = -1, k = 0;
  EXPECT_EQ(Dnn("GetFilter4dDescriptor", filter.get(), &type, &format, &k, &c,
                &h, &w),
            0);
  EXPECT_EQ((std::vector<int>{type, format, k, c, h, w}),
            (std::vector<int>{kF32, 1, 4, 3, 2, 2}));
  EXPECT_EQ(Dnn("GetFilterSizeInBytes", filter.get(), &bytes), 0);
  EXPECT_EQ(bytes, 192u);
  EXPECT_EQ(Dnn("SetFilterNdDescriptor", filter.get(), kF64, 0, 5, five), 0);
  EXPECT_EQ(Dnn("GetFilterNdDescriptor", filter.get(), 5, &type, &format,
                &count, sizes),
            0);
  EXPECT_EQ(std::vector<int>(sizes, sizes + 5),
            std::vector<int>(five, five + 5));
}

// In the order of a stream, and each time that a graph is launched.
TEST(Cudnn, CallsAreCapturedIntoGraphs) {
  void *stream = nullptr, *handle = nullptr, *graph = nullptr, *exec = nullptr;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 1u), 0);
  ASSERT_EQ(Dnn("Create", &handle), 0);
  ASSERT_EQ(Dnn("SetStream", handle, stream), 0);
  Field x(kF32, {1, 3, 2, 2}, {}, 1), y(kF32, {1, 3, 2, 2}, {}, 2);
  Values want = y.values();
  {
    // The descriptor is given back before the graph runs.
    Field described(kF32, {1, 3, 2, 2});
    void* desc = described.desc();
    ASSERT_EQ(Cuda("cuStreamBeginCapture_v2", stream, 2), 0);
    EXPECT_EQ(
        Dnn("AddTensor", handle, &kOne, desc, x.get(), &kTwo, desc, y.get()),
        0);
    ASSERT_EQ(Cuda("cuStreamEndCapture", stream, &graph), 0);
  }
  EXPECT_EQ(y.Get(), want);  // nothing was done yet
  ASSERT_EQ(Cuda("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_EQ(Cuda("cuGraphLaunch", exec, stream), 0);
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] = x.values()[i] + 2 * want[i];
    }
  }
  ASSERT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(y.Get(), want);
  EXPECT_EQ(Cuda("cuGraphExecDestroy", exec), 0);
  EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  EXPECT_EQ(Dnn("Destroy", handle), 0);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// --- convolutions
class ConvolutionDesc : public Desc {
 public:
  ConvolutionDesc(const ConvolutionCase& c, int compute) : Desc("Convolution") {
    const std::vector<int> padding = Narrow(c.padding);
    const std::vector<int> strides = Narrow(c.strides);
    const std::vector<int> dilations = Narrow(c.dilations);
    EXPECT_EQ(Dnn("SetConvolutionNdDescriptor", get(),
                  static_cast<int>(padding.size()), padding.data(),
                  strides.data(), dilations.data(), c.flips ? 0 : 1, compute),
              0);
    EXPECT_EQ(Dnn("SetConvolutionGroupCount", get(),
                  static_cast<int>(c.x[1] / c.w[1])),
              0);
  }
};
struct Performance {
  int algorithm, status;
  float time;
  std::size_t memory;
  int rest[5];
};

TEST(Cudnn, ConvolutionsInEachDirection) {
  void* handle = DnnHandle();
  for (const ConvolutionCase& c : ConvolutionCases()) {
    for (const int type : {kF32, kF64, kF16}) {
      const ConvolutionDesc desc(c, type == kF64 ? kF64 : kF32);
      Field x(type, c.x, {}, 1), w(type, c.w, {}, 2), y(type, c.Y(), {}, 3);
      std::vector<int> sizes(c.x.size());
      ASSERT_EQ(Dnn("GetConvolutionNdForwardOutputDim", desc.get(), x.desc(),
                    w.filter(), static_cast<int>(sizes.size()), sizes.data()),
                0);
      EXPECT_EQ(sizes, Narrow(c.Y()));
      std::size_t bytes = 1;
      ASSERT_EQ(Dnn("GetConvolutionForwardWorkspaceSize", handle, x.desc(),
                    w.filter(), desc.get(), y.desc(), 1, &bytes),
                0);
      EXPECT_EQ(bytes, 0u);
      Values want(y.values().size(), 0);
      c.ForEachTerm([&](Index xi, Index wi, Index yi) {
        want[static_cast<std::size_t>(yi)] +=
            x.values()[static_cast<std::size_t>(xi)] *
            w.values()[static_cast<std::size_t>(wi)];
      });
      void* none = nullptr;
      ASSERT_EQ(Dnn("ConvolutionForward", handle, OneOf(type), x.desc(),
                    x.get(), w.filter(), w.get(), desc.get(), 1, none,
                    std::size_t{0}, ZeroOf(type), y.desc(), y.get()),
                0);
      ExpectNear(y.Get(), want, Precision(type), "forward");

      Field dy(type, c.Y(), {}, 3), dx(type, c.x), dw(type, c.w), db(type, [&] {
        Sizes one(c.x.size(), 1);
        one[1] = c.w[0];
        return one;
      }());
      Values want_x(dx.values().size(), 0), want_w = dw.values();
      Values want_b(db.values().size(), 0);
      c.ForEachTerm([&](Index xi, Index wi, Index yi) {
        const double slope = dy.values()[static_cast<std::size_t>(yi)];
        want_x[static_cast<std::size_t>(xi)] +=
            slope * w.values()[static_cast<std::size_t>(wi)];
        want_w[static_cast<std::size_t>(wi)] +=
            slope * x.values()[static_cast<std::size_t>(xi)];
      });
      const Index plane = Count(c.Y()) / c.Y()[0] / c.Y()[1];
      for (Index i = 0; i < Count(c.Y()); ++i) {
        want_b[static_cast<std::size_t>(i / plane % c.Y()[1])] +=
            dy.values()[static_cast<std::size_t>(i)];
      }
      ASSERT_EQ(Dnn("GetConvolutionBackwardDataWorkspaceSize", handle,
                    w.filter(), dy.desc(), desc.get(), dx.desc(), 0, &bytes),
                0);
      ASSERT_EQ(Dnn("ConvolutionBackwardData", handle, OneOf(type), w.filter(),
                    w.get(), dy.desc(), dy.get(), desc.get(), 0, none,
                    std::size_t{0}, ZeroOf(type), dx.desc(), dx.get()),
                0);
      ExpectNear(dx.Get(), want_x, Precision(type), "data");
      ASSERT_EQ(Dnn("GetConvolutionBackwardFilterWorkspaceSize", handle,
                    x.desc(), dy.desc(), desc.get(), dw.filter(), 0, &bytes),
                0);
      ASSERT_EQ(Dnn("ConvolutionBackwardFilter", handle, OneOf(type), x.desc(),
                    x.get(), dy.desc(), dy.get(), desc.get(), 1, none,
                    std::size_t{0}, OneOf(type), dw.filter(), dw.get()),
                0);
      ExpectNear(dw.Get(), want_w, Precision(type), "filter, added");
      ASSERT_EQ(Dnn("ConvolutionBackwardBias", handle, OneOf(type), dy.desc(),
                    dy.get(), ZeroOf(type), db.desc(), db.get()),
                0);
      ExpectNear(db.Get(), want_b, Precision(type), "bias");
    }
  }
}

TEST(Cudnn, ConvolutionDescriptors) {
  const ConvolutionCase c = ConvolutionCases()[1];
  Field x(kF32, c.x), w(kF32, c.w), y(kF32, c.Y());
  Desc desc("Convolution");
  EXPECT_EQ(
      Dnn("SetConvolution2dDescriptor", desc.get(), 1, 1, 1, 1, 1, 1, 1, kF32),
      0);
  EXPECT_EQ(
      Dnn("SetConvolution2dDescriptor", desc.get(), 1, 1, 0, 1, 1, 1, 1, kF32),
      kBadParam);
  int got[8] = {};
  EXPECT_EQ(Dnn("GetConvolution2dDescriptor", desc.get(), got, got + 1, got + 2,
                got + 3, got + 4, got + 5, got + 6, got + 7),
            0);
  EXPECT_EQ(std::vector<int>(got, got + 8),
            (std::vector<int>{1, 1, 1, 1, 1, 1, 1, kF32}));
  int count = 0, padding[2], strides[2], dilations[2], mode, compute;
  EXPECT_EQ(Dnn("GetConvolutionNdDescriptor", desc.get(), 2, &count, padding,
                strides, dilations, &mode, &compute),
            0);
  EXPECT_EQ(count, 2);
  for (const char* field : {"MathType", "ReorderType", "GroupCount"}) {
    int value = 0;
    EXPECT_EQ(Dnn(std::string("SetConvolution") + field, desc.get(), 1), 0);
    EXPECT_EQ(Dnn(std::string("GetConvolution") + field, desc.get(), &value),
              0);
    EXPECT_EQ(value, 1) << field;
  }
  EXPECT_EQ(Dnn("SetConvolutionGroupCount", desc.get(), 0), kBadParam);
  int n, k, h, width;
  EXPECT_EQ(Dnn("GetConvolution2dForwardOutputDim", desc.get(), x.desc(),
                w.filter(), &n, &k, &h, &width),
            0);
  EXPECT_EQ((Sizes{n, k, h, width}), c.Y());
}

TEST(Cudnn, ConvolutionsAlgorithms) {
  void* handle = DnnHandle();
  const ConvolutionCase c = ConvolutionCases()[1];
  Field x(kF32, c.x), w(kF32, c.w), y(kF32, c.Y());
  const ConvolutionDesc desc(c, kF32);
  int count = 0;
  Performance perf[3] = {};
  void* none = nullptr;
  const std::size_t nothing = 0;
  for (const char* of : {"Forward", "BackwardData", "BackwardFilter"}) {
    int most = 0;
    EXPECT_EQ(Dnn(std::string("GetConvolution") + of + "AlgorithmMaxCount",
                  handle, &most),
              0);
    EXPECT_GE(most, 1);
    const std::string name = of;
    void* a = name == "BackwardData" ? w.filter() : x.desc();
    void* b = name == "Forward" ? w.filter() : y.desc();
    void* to = name == "Forward"        ? y.desc()
               : name == "BackwardData" ? x.desc()
                                        : w.filter();
    for (int way = 0; way < 3; ++way) {
      count = 0;
      perf[0].status = -1;
      int status = -1;
      if (way == 0) {
        status = Dnn("GetConvolution" + name + "Algorithm_v7", handle, a, b,
                     desc.get(), to, 3, &count, perf);
      } else if (way == 1) {
        status = Dnn("FindConvolution" + name + "Algorithm", handle, a, b,
                     desc.get(), to, 3, &count, perf);
      } else {
        status = Dnn("FindConvolution" + name + "AlgorithmEx", handle, a,
                     x.get(), b, x.get(), desc.get(), to, y.get(), 3, &count,
                     perf, none, nothing);
      }
      EXPECT_EQ(status, 0) << of << way;
      EXPECT_EQ(count, 1);
      EXPECT_EQ(perf[0].status, 0);
    }
  }
  // Tensors that do not go together, an algorithm that is none.
  Field wrong(kF32, {2, 4, 9, 9});
  EXPECT_EQ(Dnn("GetConvolutionForwardAlgorithm_v7", handle, x.desc(),
                w.filter(), desc.get(), wrong.desc(), 3, &count, perf),
            kBadParam);
  std::size_t bytes;
  EXPECT_EQ(Dnn("GetConvolutionForwardWorkspaceSize", handle, x.desc(),
                w.filter(), desc.get(), y.desc(), 8, &bytes),
            kBadParam);
  EXPECT_EQ(Dnn("ConvolutionForward", handle, &kOne, x.desc(), x.get(),
                w.filter(), w.get(), desc.get(), 1, none, nothing, &kZero,
                wrong.desc(), wrong.get()),
            kBadParam);
}

// Each row a tap, each column a place of the output.
TEST(Cudnn, ImagesToColumns) {
  const ConvolutionCase c = ConvolutionCases()[1];
  const ConvolutionDesc desc(c, kF32);
  Field x(kF32, c.x), w(kF32, c.w);
  Field columns(kF32, {27, 42});
  Values want(columns.values().size(), 0);
  ConvolutionCase one = c;
  one.x[0] = 1, one.w[0] = 1;
  one.ForEachTerm([&](Index xi, Index wi, Index yi) {
    want[static_cast<std::size_t>(wi * 42 + yi)] =
        x.values()[static_cast<std::size_t>(xi)];
  });
  ASSERT_EQ(Dnn("Im2Col", DnnHandle(), x.desc(), x.get(), w.filter(),
                desc.get(), columns.get()),
            0);
  EXPECT_EQ(columns.Get(), want);
}

TEST(Cudnn, ConvolutionBiasActivationForward) {
  void* handle = DnnHandle();
  const ConvolutionCase c = ConvolutionCases()[1];
  const ConvolutionDesc desc(c, kF32);
  Field x(kF32, c.x), w(kF32, c.w), y(kF32, c.Y()), z(kF32, c.Y(), {}, 8);
  Field bias(kF32, {1, 4, 1, 1}, {}, 6);
  Desc relu("Activation");
  ASSERT_EQ(Dnn("SetActivationDescriptor", relu.get(), 1, 0, 0.0), 0);
  Values want = z.values();
  for (double& value : want) value = -value;
  c.ForEachTerm([&](Index xi, Index wi, Index yi) {
    want[static_cast<std::size_t>(yi)] +=
        2 * x.values()[static_cast<std::size_t>(xi)] *
        w.values()[static_cast<std::size_t>(wi)];
  });
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = std::max(0.0, want[i] + bias.values()[i / 42 % 4]);
  }
  void* none = nullptr;
  ASSERT_EQ(Dnn("ConvolutionBiasActivationForward", handle, &kTwo, x.desc(),
                x.get(), w.filter(), w.get(), desc.get(), 1, none,
                std::size_t{0}, &kMinus, z.desc(), z.get(), bias.desc(),
                bias.get(), relu.get(), y.desc(), y.get()),
            0);
  ExpectNear(y.Get(), want, 2e-6, "fused");
}

// --- element by element
TEST(Cudnn, AddScaleSetTransform) {
  void* handle = DnnHandle();
  const Sizes sizes = {2, 3, 4, 5};
  Field a(kF32, {1, 3, 1, 1}), c(kF32, sizes, ChannelsLast(sizes), 2);
  Values want = c.values();
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = 2 * a.values()[i / 20 % 3] - want[i];
  }
  ASSERT_EQ(Dnn("AddTensor", handle, &kTwo, a.desc(), a.get(), &kMinus,
                c.desc(), c.get()),
            0);
  EXPECT_EQ(c.Get(), want);
  // Another order and type; what lies between rows is left alone.
  Field y(kF16, sizes, {100, 30, 6, 1});
  ASSERT_EQ(Dnn("TransformTensor", handle, &kTwo, c.desc(), c.get(), &kZero,
                y.desc(), y.get()),
            0);
  for (double& value : want) value *= 2;
  EXPECT_EQ(y.Get(), want);
  ASSERT_EQ(Dnn("ScaleTensor", handle, y.desc(), y.get(), &kMinus), 0);
  for (double& value : want) value = -value;
  EXPECT_EQ(y.Get(), want);
  const std::uint16_t half = 0x4100;  // 2.5
  ASSERT_EQ(Dnn("SetTensor", handle, y.desc(), y.get(), &half), 0);
  EXPECT_EQ(y.Get(), Values(want.size(), 2.5));
  EXPECT_EQ(Dnn("AddTensor", handle, &kOne, c.desc(), c.get(), &kZero, a.desc(),
                a.get()),
            kBadParam);

  // Vectors of four channels and back.
  Field plain(kI8, {2, 8, 3, 3}), back(kI8, {2, 8, 3, 3});
  Desc vectors("Tensor");
  ASSERT_EQ(Dnn("SetTensor4dDescriptor", vectors.get(), 2, 5, 2, 8, 3, 3), 0);
  DeviceBytes memory(144);
  ASSERT_EQ(Dnn("TransformTensor", handle, &kOne, plain.desc(), plain.get(),
                &kZero, vectors.get(), memory.get()),
            0);
  const auto bytes = memory.Read();
  EXPECT_EQ(static_cast<std::int8_t>(bytes[1]), plain.values()[9]);
  EXPECT_EQ(static_cast<std::int8_t>(bytes[4]), plain.values()[1]);
  ASSERT_EQ(Dnn("TransformTensor", handle, &kOne, vectors.get(), memory.get(),
                &kZero, back.desc(), back.get()),
            0);
  EXPECT_EQ(back.Get(), plain.values());
}

// Each half, what lies in the middle of two, and beside that.
TEST(Cudnn, RoundsToHalves) {
  Values numbers;
  for (std::uint32_t bits = 0; bits < 0x7bff; bits += 5) {
    const double low = Binary16().Decode(bits),
                 high = Binary16().Decode(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float v :
         {static_cast<float>(low), middle, std::nextafter(middle, 0.0f),
          -std::nextafter(middle, 70000.0f)}) {
      numbers.push_back(static_cast<double>(v));
    }
  }
  const auto count = static_cast<Index>(numbers.size());
  Field x(kF32, {1, 1, 1, count}), y(kF16, {1, 1, 1, count});
  x.Set(numbers);
  ASSERT_EQ(Dnn("TransformTensor", DnnHandle(), &kOne, x.desc(), x.get(),
                &kZero, y.desc(), y.get()),
            0);
  for (double& v : numbers) {
    v = Binary16().Decode(Binary16().Round(v, false));
  }
  EXPECT_EQ(y.Get(), numbers);
}

TEST(Cudnn, TransformWithPadding) {
  void* handle = DnnHandle();
  Desc transform("TensorTransform");
  const std::int32_t before[] = {0, 0, 1, -1}, after[] = {0, 1, 0, 2};
  EXPECT_EQ(Dnn("SetTensorTransformDescriptor", transform.get(), 4u, 0, before,
                after, static_cast<const std::uint32_t*>(nullptr), 0),
            0);
  std::int32_t told[4] = {};
  std::uint32_t folds[2] = {};
  int format = -1, direction = -1;
  EXPECT_EQ(Dnn("GetTensorTransformDescriptor", transform.get(), 4u, &format,
                told, static_cast<std::int32_t*>(nullptr), folds, &direction),
            0);
  EXPECT_EQ(told[3], -1);
  Field x(kF32, {1, 2, 2, 3}), y(kF32, {1, 3, 3, 4});
  Desc made("Tensor");
  std::size_t bytes = 0;
  EXPECT_EQ(
      Dnn("InitTransformDest", transform.get(), x.desc(), made.get(), &bytes),
      0);
  EXPECT_EQ(bytes, 144u);
  Values want(36, 0);
  ForEachPlace(y.sizes(), [&](const Sizes& p) {
    const Sizes from = {0, p[1], p[2] - 1, p[3] + 1};
    if (from[1] < 2 && from[2] >= 0 && from[3] < 3) {
      want[static_cast<std::size_t>(At(y.sizes(), p))] =
          x.values()[static_cast<std::size_t>(At(x.sizes(), from))];
    }
  });
  ASSERT_EQ(Dnn("TransformTensorEx", handle, transform.get(), &kOne, x.desc(),
                x.get(), &kZero, made.get(), y.get()),
            0);
  EXPECT_EQ(y.Get(), want);
  ASSERT_EQ(Dnn("TransformFilter", handle, transform.get(), &kTwo, x.filter(),
                x.get(), &kMinus, y.filter(), y.get()),
            0);
  EXPECT_EQ(y.Get(), want);
}

TEST(Cudnn, OpTensor) {
  void* handle = DnnHandle();
  const Sizes sizes = {2, 3, 2, 2};
  Desc desc("OpTensor");
  for (int op = 0; op < 6; ++op) {
    ASSERT_EQ(Dnn("SetOpTensorDescriptor", desc.get(), op, kF32, 0), 0);
    int told[3] = {};
    EXPECT_EQ(
        Dnn("GetOpTensorDescriptor", desc.get(), told, told + 1, told + 2), 0);
    EXPECT_EQ(told[0], op);
    Field a(kF32, sizes, {}, 1), b(kF32, {1, 3, 1, 1}, {}, 2);
    Field c(kF32, sizes, {}, 3);
    Values want = c.values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double left = 2 * a.values()[i], right = -b.values()[i / 4 % 3];
      const double results[] = {left + right,          left * right,
                                std::min(left, right), std::max(left, right),
                                std::sqrt(left),       1 - left};
      want[i] = results[op] + 2 * want[i];
    }
    ASSERT_EQ(Dnn("OpTensor", handle, desc.get(), &kTwo, a.desc(), a.get(),
                  &kMinus, b.desc(), b.get(), &kTwo, c.desc(), c.get()),
              0);
    ExpectNear(c.Get(), want, 1e-6, "op " + std::to_string(op));
  }
  EXPECT_EQ(Dnn("SetOpTensorDescriptor", desc.get(), 6, kF32, 0), kBadParam);
}

TEST(Cudnn, ReduceTensorWithIndices) {
  void* handle = DnnHandle();
  Field x(kF32, {2, 3, 4, 5}, ChannelsLast({2, 3, 4, 5}));
  Desc desc("ReduceTensor");
  for (const int op : {0, 2, 3, 4, 7}) {
    ASSERT_EQ(Dnn("SetReduceTensorDescriptor", desc.get(), op, kF32, 0, 1, 0),
              0);
    int told[5] = {};
    EXPECT_EQ(Dnn("GetReduceTensorDescriptor", desc.get(), told, told + 1,
                  told + 2, told + 3, told + 4),
              0);
    EXPECT_EQ(told[0], op);
    Field y(kF32, {1, 3, 1, 5});
    std::size_t bytes = 0, workspace = 1;
    ASSERT_EQ(Dnn("GetReductionIndicesSize", handle, desc.get(), x.desc(),
                  y.desc(), &bytes),
              0);
    const bool indexed = op >= 2 && op <= 4;
    EXPECT_EQ(bytes, indexed ? 60u : 0u);
    ASSERT_EQ(Dnn("GetReductionWorkspaceSize", handle, desc.get(), x.desc(),
                  y.desc(), &workspace),
              0);
    Field places(kI32, {15});
    void* none = nullptr;
    ASSERT_EQ(Dnn("ReduceTensor", handle, desc.get(), places.get(),
                  std::size_t{60}, none, std::size_t{0}, &kOne, x.desc(),
                  x.get(), &kZero, y.desc(), y.get()),
              0);
    const Values got = y.Get(), at = places.Get();
    for (Index c = 0; c < 3; ++c) {
      for (Index w = 0; w < 5; ++w) {
        Values all;
        for (Index n = 0; n < 2; ++n) {
          for (Index h = 0; h < 4; ++h) {
            all.push_back(x.values()[static_cast<std::size_t>(
                At(x.sizes(), {n, c, h, w}))]);
          }
        }
        const auto i = static_cast<std::size_t>(c * 5 + w);
        double want = 0;
        for (const double v : all) want += op == 7 ? v * v : v;
        if (op == 7) want = std::sqrt(want);
        if (op == 2) want = *std::min_element(all.begin(), all.end());
        if (op == 3) want = *std::max_element(all.begin(), all.end());
        if (op == 4) {
          for (double& v : all) v = std::abs(v);
          want = *std::max_element(all.begin(), all.end());
        }
        EXPECT_NEAR(got[i], want, 1e-5) << op;
        if (indexed) {
          EXPECT_EQ(at[i],
                    static_cast<double>(
                        std::find(all.begin(), all.end(), want) - all.begin()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests
