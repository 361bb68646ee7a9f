// Activations, softmax, pooling and responses, as functions, and their slopes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/libraries/cudnn_naive.h"

namespace cerberus::libraries::tests {
namespace {

// --- activations, softmax, pooling, responses
TEST(Cudnn, ActivationsAndTheirSlopes) {
  void* handle = DnnHandle();
  const std::function<double(double)> modes[] = {
      [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double x) { return std::max(0.0, x); },
      [](double x) { return std::tanh(x); },
      [](double x) { return std::clamp(x, 0.0, 0.6); },
      [](double x) { return x < 0 ? 0.6 * std::expm1(x) : x; },
      [](double x) { return x; },
      [](double x) { return x / (1 + std::exp(-0.5 * x)); },
  };
  Desc desc("Activation");
  for (int mode = 0; mode < 7; ++mode) {
    ASSERT_EQ(Dnn("SetActivationDescriptor", desc.get(), mode, 0, 0.6), 0);
    ASSERT_EQ(Dnn("SetActivationDescriptorSwishBeta", desc.get(), 0.5), 0);
    double beta = 0, told_coefficient = -1;
    EXPECT_EQ(Dnn("GetActivationDescriptorSwishBeta", desc.get(), &beta), 0);
    EXPECT_EQ(beta, 0.5);
    int told = -1, nan = -1;
    EXPECT_EQ(Dnn("GetActivationDescriptor", desc.get(), &told, &nan,
                  &told_coefficient),
              0);
    EXPECT_EQ(told, mode);
    const Sizes sizes = {2, 3, 4, 2};
    Field x(kF64, sizes, ChannelsLast(sizes)), y(kF64, sizes);
    Values beside = x.values();
    for (double& value : beside) value += 0.03;
    x.Set(beside);
    const auto all = [&](const Values& in) {
      Values out = in;
      for (double& value : out) value = modes[mode](value);
      return out;
    };
    ASSERT_EQ(Dnn("ActivationForward", handle, desc.get(), &kWideOne, x.desc(),
                  x.get(), &kWideZero, y.desc(), y.get()),
              0);
    ExpectNear(y.Get(), all(beside), 1e-13, "mode " + std::to_string(mode));
    Field dy(kF64, sizes, {}, 7), dx(kF64, sizes);
    ASSERT_EQ(Dnn("ActivationBackward", handle, desc.get(), &kWideOne, y.desc(),
                  y.get(), dy.desc(), dy.get(), x.desc(), x.get(), &kWideZero,
                  dx.desc(), dx.get()),
              0);
    ExpectNear(dx.Get(), Slopes(all, beside, dy.values()), kOfDifferences,
               "slope of " + std::to_string(mode));
    // In place.
    ASSERT_EQ(Dnn("ActivationForward", handle, desc.get(), &kWideOne, x.desc(),
                  x.get(), &kWideZero, x.desc(), x.get()),
              0);
    EXPECT_EQ(x.Get(), y.Get());
  }
  // Where it was clipped there is no slope, also of a type without 0.7.
  ASSERT_EQ(Dnn("SetActivationDescriptor", desc.get(), 3, 0, 0.7), 0);
  for (const int type : {kF32, kF16, kBf16}) {
    Field x(type, {1, 1, 1, 2}), y(type, {1, 1, 1, 2}), dx(type, {1, 1, 1, 2});
    x.Set({1, 0.25});
    ASSERT_EQ(Dnn("ActivationForward", handle, desc.get(), &kOne, x.desc(),
                  x.get(), &kZero, y.desc(), y.get()),
              0);
    ASSERT_EQ(
        Dnn("ActivationBackward", handle, desc.get(), &kOne, y.desc(), y.get(),
            x.desc(), x.get(), x.desc(), x.get(), &kZero, dx.desc(), dx.get()),
        0);
    EXPECT_EQ(dx.Get(), (Values{0, 0.25})) << type;
  }
  // NaN is kept if that is asked for.
  for (const int nan : {0, 1}) {
    ASSERT_EQ(Dnn("SetActivationDescriptor", desc.get(), 1, nan, 0.0), 0);
    Field x(kF32, {1, 1, 1, 2});
    x.Set({std::nan(""), -HUGE_VAL});
    ASSERT_EQ(Dnn("ActivationForward", handle, desc.get(), &kOne, x.desc(),
                  x.get(), &kZero, x.desc(), x.get()),
              0);
    EXPECT_EQ(std::isnan(x.Get()[0]), nan == 1);
    EXPECT_EQ(x.Get()[1], 0);
  }
  EXPECT_EQ(Dnn("SetActivationDescriptor", desc.get(), 7, 0, 0.0), kBadParam);
}

TEST(Cudnn, SoftmaxAndItsSlopes) {
  void* handle = DnnHandle();
  const Sizes sizes = {2, 3, 2, 2};
  for (int algorithm = 0; algorithm < 3; ++algorithm) {
    for (int mode = 0; mode < 2; ++mode) {
      const auto want = [&](const Values& in) {
        Values out(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
          double sum = 0;
          for (std::size_t j = 0; j < in.size(); ++j) {
            const bool same = i / 12 == j / 12 && (mode == 0 || i % 4 == j % 4);
            if (same) sum += std::exp(in[j]);
          }
          out[i] =
              algorithm == 2 ? in[i] - std::log(sum) : std::exp(in[i]) / sum;
        }
        return out;
      };
      Field x(kF64, sizes), y(kF64, sizes, ChannelsLast(sizes));
      ASSERT_EQ(Dnn("SoftmaxForward", handle, algorithm, mode, &kWideOne,
                    x.desc(), x.get(), &kWideZero, y.desc(), y.get()),
                0);
      ExpectNear(y.Get(), want(x.values()), 1e-13, "softmax");
      Field dy(kF64, sizes, {}, 5), dx(kF64, sizes);
      ASSERT_EQ(
          Dnn("SoftmaxBackward", handle, algorithm, mode, &kWideOne, y.desc(),
              y.get(), dy.desc(), dy.get(), &kWideZero, dx.desc(), dx.get()),
          0);
      ExpectNear(dx.Get(), Slopes(want, x.values(), dy.values()),
                 kOfDifferences, "its slope");
    }
  }
  Field x(kF32, sizes);
  EXPECT_EQ(Dnn("SoftmaxForward", handle, 3, 0, &kOne, x.desc(), x.get(),
                &kZero, x.desc(), x.get()),
            kBadParam);
}

TEST(Cudnn, PoolingAndItsSlopes) {
  void* handle = DnnHandle();
  struct Case {
    Sizes x, window, padding, strides;
    Sizes more;  // windows than fit, the last ones partly behind X
  };
  for (const Case& c :
       {Case{{2, 2, 6, 5}, {3, 2}, {1, 0}, {2, 2}, {0, 0}},
        Case{{2, 2, 12, 7}, {3, 2}, {0, 0}, {2, 2}, {1, 1}},
        Case{{1, 3, 4, 5, 3}, {2, 3, 2}, {0, 1, 1}, {2, 1, 1}, {0, 0, 0}}}) {
    for (int mode = 0; mode < 4; ++mode) {
      Desc desc("Pooling");
      const std::vector<int> window = Narrow(c.window);
      const std::vector<int> padding = Narrow(c.padding);
      const std::vector<int> strides = Narrow(c.strides);
      const auto count = static_cast<int>(window.size());
      ASSERT_EQ(Dnn("SetPoolingNdDescriptor", desc.get(), mode, 1, count,
                    window.data(), padding.data(), strides.data()),
                0);
      Field x(kF64, c.x, ChannelsLast(c.x));
      // No two alike: a maximum has one place.
      Values distinct = x.values();
      for (std::size_t i = 0; i < distinct.size(); ++i) {
        distinct[i] += 0.001 * static_cast<double>(i);
      }
      x.Set(distinct);
      std::vector<int> sizes(c.x.size());
      ASSERT_EQ(Dnn("GetPoolingNdForwardOutputDim", desc.get(), x.desc(),
                    static_cast<int>(sizes.size()), sizes.data()),
                0);
      for (std::size_t d = 0; d < c.more.size(); ++d) {
        sizes[d + 2] += static_cast<int>(c.more[d]);
      }
      Field y(kF64, Sizes(sizes.begin(), sizes.end()));
      const auto want = [&](const Values& in) {
        Values out;
        ForEachPlace(y.sizes(), [&](const Sizes& to) {
          double most = -std::numeric_limits<double>::infinity(), sum = 0;
          int inside = 0;
          ForEachPlace(c.window, [&](const Sizes& tap) {
            Sizes from = {to[0], to[1]};
            for (std::size_t d = 0; d < tap.size(); ++d) {
              from.push_back(to[d + 2] * c.strides[d] - c.padding[d] + tap[d]);
              if (from[d + 2] < 0 || from[d + 2] >= c.x[d + 2]) return;
            }
            const double v = in[static_cast<std::size_t>(At(c.x, from))];
            most = std::max(most, v);
            sum += v;
            ++inside;
          });
          out.push_back(mode == 1   ? sum / static_cast<double>(Count(c.window))
                        : mode == 2 ? sum / inside
                                    : most);
        });
        return out;
      };
      ASSERT_EQ(Dnn("PoolingForward", handle, desc.get(), &kWideOne, x.desc(),
                    x.get(), &kWideZero, y.desc(), y.get()),
                0);
      ExpectNear(y.Get(), want(distinct), 1e-13, "pooled");
      Field dy(kF64, y.sizes(), {}, 4), dx(kF64, c.x);
      ASSERT_EQ(Dnn("PoolingBackward", handle, desc.get(), &kWideOne, y.desc(),
                    y.get(), dy.desc(), dy.get(), x.desc(), x.get(), &kWideZero,
                    dx.desc(), dx.get()),
                0);
      ExpectNear(dx.Get(), Slopes(want, distinct, dy.values()), kOfDifferences,
                 "its slope");
    }
  }
}

TEST(Cudnn, PoolingDescriptors) {
  Desc desc("Pooling");
  EXPECT_EQ(Dnn("SetPooling2dDescriptor", desc.get(), 1, 0, 3, 2, 1, 0, 2, 1),
            0);
  int told[8] = {};
  EXPECT_EQ(Dnn("GetPooling2dDescriptor", desc.get(), told, told + 1, told + 2,
                told + 3, told + 4, told + 5, told + 6, told + 7),
            0);
  EXPECT_EQ(std::vector<int>(told, told + 8),
            (std::vector<int>{1, 0, 3, 2, 1, 0, 2, 1}));
  int count = 0, window[3], padding[3], strides[3];
  EXPECT_EQ(Dnn("GetPoolingNdDescriptor", desc.get(), 3, told, told + 1, &count,
                window, padding, strides),
            0);
  EXPECT_EQ(count, 2);
  Field x(kF32, {2, 3, 7, 8});
  int n, c, h, w;
  EXPECT_EQ(
      Dnn("GetPooling2dForwardOutputDim", desc.get(), x.desc(), &n, &c, &h, &w),
      0);
  EXPECT_EQ((Sizes{n, c, h, w}), (Sizes{2, 3, 4, 7}));
  Field other(kF32, {2, 4, 4, 7});
  EXPECT_EQ(Dnn("PoolingForward", DnnHandle(), desc.get(), &kOne, x.desc(),
                x.get(), &kZero, other.desc(), other.get()),
            kBadParam);
  EXPECT_EQ(Dnn("SetPooling2dDescriptor", desc.get(), 4, 0, 3, 2, 1, 0, 2, 1),
            kBadParam);
}

TEST(Cudnn, LocalResponses) {
  void* handle = DnnHandle();
  Desc desc("LRN");
  ASSERT_EQ(Dnn("SetLRNDescriptor", desc.get(), 4u, 0.3, 0.75, 1.5), 0);
  unsigned n = 0;
  double alpha, beta, k;
  EXPECT_EQ(Dnn("GetLRNDescriptor", desc.get(), &n, &alpha, &beta, &k), 0);
  EXPECT_EQ(n, 4u);
  EXPECT_EQ(k, 1.5);
  EXPECT_EQ(Dnn("SetLRNDescriptor", desc.get(), 0u, 0.3, 0.75, 1.5), kBadParam);
  const Sizes sizes = {2, 6, 2, 2};
  Field x(kF64, sizes), y(kF64, sizes), dy(kF64, sizes, {}, 3), dx(kF64, sizes);
  const auto want = [&](const Values& in) {
    Values out(in.size());
    for (Index i = 0; i < 48; ++i) {
      const Index c = i / 4 % 6;
      double sum = 0;
      for (Index o = -1; o <= 2; ++o) {
        if (c + o < 0 || c + o > 5) continue;
        const double v = in[static_cast<std::size_t>(i + o * 4)];
        sum += v * v;
      }
      out[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i)] *
                                         std::pow(1.5 + 0.3 / 4 * sum, -0.75);
    }
    return out;
  };
  ASSERT_EQ(Dnn("LRNCrossChannelForward", handle, desc.get(), 0, &kWideOne,
                x.desc(), x.get(), &kWideZero, y.desc(), y.get()),
            0);
  ExpectNear(y.Get(), want(x.values()), 1e-13, "responses");
  ASSERT_EQ(Dnn("LRNCrossChannelBackward", handle, desc.get(), 0, &kWideOne,
                y.desc(), y.get(), dy.desc(), dy.get(), x.desc(), x.get(),
                &kWideZero, dx.desc(), dx.get()),
            0);
  ExpectNear(dx.Get(), Slopes(want, x.values(), dy.values()), kOfDifferences,
             "their slope");
}

}  // namespace
}  // namespace cerberus::libraries::tests
