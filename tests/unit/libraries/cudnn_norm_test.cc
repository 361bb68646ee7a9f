// Normalizations, as functions and as operations of graphs, and pooling as one.
#include <algorithm>
#include <cmath>

#include "tests/unit/libraries/cudnn_naive.h"

namespace cerberus::libraries::tests {
namespace {

using namespace cudnn::attribute;  // NOLINT: the names are NVIDIA's
using cudnn::Type;
using Kind = Graph::Kind;

constexpr double kEpsilon = 0.01;
const Sizes kX = {3, 2, 2, 2};

// The place of element i of X among `sizes`, which are X's or 1.
std::size_t Among(const Sizes& sizes, Index i) {
  Sizes place(kX.size());
  for (std::size_t d = kX.size(); d-- > 0; i /= kX[d]) {
    place[d] = sizes[d] == 1 ? 0 : i % kX[d];
  }
  return static_cast<std::size_t>(At(sizes, place));
}

struct Statistics {
  Values mean, variance, inverse;
};
Statistics Measure(const Values& x, const Sizes& sizes, bool centred = true) {
  const auto parts = static_cast<std::size_t>(Count(sizes));
  const double n = static_cast<double>(x.size()) / static_cast<double>(parts);
  Statistics s{Values(parts), Values(parts), Values(parts)};
  for (std::size_t i = 0; centred && i < x.size(); ++i) {
    s.mean[Among(sizes, static_cast<Index>(i))] += x[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = Among(sizes, static_cast<Index>(i));
    s.variance[at] += (x[i] - s.mean[at]) * (x[i] - s.mean[at]) / n;
  }
  for (std::size_t i = 0; i < parts; ++i) {
    s.inverse[i] = 1 / std::sqrt(s.variance[i] + kEpsilon);
  }
  return s;
}
Values Applied(const Values& x, const Sizes& of, const Values& mean,
               const Values& inverse, const Sizes& parameters,
               const Values& scale, const Values& bias) {
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t s = Among(of, static_cast<Index>(i));
    const std::size_t p = Among(parameters, static_cast<Index>(i));
    y[i] = scale[p] * (x[i] - mean[s]) * inverse[s] + bias[p];
  }
  return y;
}
Values Mixed(double factor, const Values& before, const Values& now) {
  Values out(before.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = (1 - factor) * before[i] + factor * now[i];
  }
  return out;
}

// What both names of batch normalization work on.
struct BatchFields {
  explicit BatchFields(int mode)
      : sizes(mode == 0 ? Sizes{1, 2, 2, 2} : Sizes{1, 2, 1, 1}) {}
  Sizes sizes;
  Field x{kF64, kX, ChannelsLast(kX)}, y{kF64, kX}, z{kF64, kX, {}, 9};
  Field scale{kF64, sizes, {}, 2}, bias{kF64, sizes, {}, 3};
  Field running{kF64, sizes, {}, 4}, spread{kF64, sizes, {}, 5};
  Field mean{kF64, sizes}, inverse{kF64, sizes};
  Field dy{kF64, kX, {}, 6}, dx{kF64, kX}, dz{kF64, kX};
  Field dscale{kF64, sizes, {}, 7}, dbias{kF64, sizes, {}, 8};

  void ExpectTrained(const Values& running_before,
                     const Values& spread_before) const {
    const Statistics s = Measure(x.values(), sizes);
    ExpectNear(mean.Get(), s.mean, 1e-13, "mean");
    ExpectNear(inverse.Get(), s.inverse, 1e-13, "inverse");
    Values unbiased = s.variance;
    const double n = 24.0 / static_cast<double>(Count(sizes));
    for (double& v : unbiased) v *= n / (n - 1);
    ExpectNear(running.Get(), Mixed(0.25, running_before, s.mean), 1e-13,
               "running mean");
    ExpectNear(spread.Get(), Mixed(0.25, spread_before, unbiased), 1e-13,
               "running variance");
  }
  // With relu after the sum with z, or without.
  Values Want(const Values& xs, const Values& scales, const Values& biases,
              bool adds) const {
    const Statistics s = Measure(xs, sizes);
    Values out = Applied(xs, sizes, s.mean, s.inverse, sizes, scales, biases);
    for (std::size_t i = 0; adds && i < out.size(); ++i) {
      out[i] = std::max(0.0, out[i] + z.values()[i]);
    }
    return out;
  }
  void ExpectSlopes(bool adds) const {
    const Values xs = x.values(), scales = scale.values();
    const Values biases = bias.values();
    ExpectNear(
        dx.Get(),
        Slopes([&](const Values& v) { return Want(v, scales, biases, adds); },
               xs, dy.values()),
        1e-6, "dx");
    // Added to what was there twice.
    const auto twice = [](const Values& before, Values slopes) {
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        slopes[i] += 2 * before[i];
      }
      return slopes;
    };
    ExpectNear(
        dscale.Get(),
        twice(dscale.values(),
              Slopes([&](const Values& v) { return Want(xs, v, biases, adds); },
                     scales, dy.values())),
        1e-6, "dscale");
    ExpectNear(
        dbias.Get(),
        twice(dbias.values(),
              Slopes([&](const Values& v) { return Want(xs, scales, v, adds); },
                     biases, dy.values())),
        1e-6, "dbias");
  }
};

TEST(Cudnn, BatchNormalization) {
  void* handle = DnnHandle();
  for (const int mode : {0, 1, 2}) {
    BatchFields f(mode);
    Desc derived("Tensor");
    ASSERT_EQ(Dnn("DeriveBNTensorDescriptor", derived.get(), f.x.desc(), mode),
              0);
    int type, count, sizes[4], strides[4];
    ASSERT_EQ(Dnn("GetTensorNdDescriptor", derived.get(), 4, &type, &count,
                  sizes, strides),
              0);
    EXPECT_EQ(Sizes(sizes, sizes + 4), f.sizes);
    const Values running = f.running.values();
    Values spread = f.spread.values();
    for (double& v : spread) v = std::abs(v) + 0.1;
    f.spread.Set(spread);
    // By what is known before.
    ASSERT_EQ(Dnn("BatchNormalizationForwardInference", handle, mode, &kWideOne,
                  &kWideZero, f.x.desc(), f.x.get(), f.y.desc(), f.y.get(),
                  derived.get(), f.scale.get(), f.bias.get(), f.running.get(),
                  f.spread.get(), kEpsilon),
              0);
    Values inverse = spread;
    for (double& v : inverse) v = 1 / std::sqrt(v + kEpsilon);
    ExpectNear(f.y.Get(),
               Applied(f.x.values(), f.sizes, running, inverse, f.sizes,
                       f.scale.values(), f.bias.values()),
               1e-13, "inference");
    ASSERT_EQ(
        Dnn("BatchNormalizationForwardTraining", handle, mode, &kWideOne,
            &kWideZero, f.x.desc(), f.x.get(), f.y.desc(), f.y.get(),
            derived.get(), f.scale.get(), f.bias.get(), 0.25, f.running.get(),
            f.spread.get(), kEpsilon, f.mean.get(), f.inverse.get()),
        0);
    f.ExpectTrained(running, spread);
    ExpectNear(f.y.Get(),
               f.Want(f.x.values(), f.scale.values(), f.bias.values(), false),
               1e-13, "training");
    for (const bool saved : {true, false}) {
      f.dscale.Set(f.dscale.values()), f.dbias.Set(f.dbias.values());
      ASSERT_EQ(Dnn("BatchNormalizationBackward", handle, mode, &kWideOne,
                    &kWideZero, &kWideOne, &kWideTwo, f.x.desc(), f.x.get(),
                    f.dy.desc(), f.dy.get(), f.dx.desc(), f.dx.get(),
                    derived.get(), f.scale.get(), f.dscale.get(), f.dbias.get(),
                    kEpsilon, saved ? f.mean.get() : nullptr,
                    saved ? f.inverse.get() : nullptr),
                0);
      f.ExpectSlopes(false);
    }
    // The first call of a series, with a factor of 1, finds anything.
    const Values nothing(running.size(), std::nan(""));
    f.running.Set(nothing), f.spread.Set(nothing);
    ASSERT_EQ(
        Dnn("BatchNormalizationForwardTraining", handle, mode, &kWideOne,
            &kWideZero, f.x.desc(), f.x.get(), f.y.desc(), f.y.get(),
            derived.get(), f.scale.get(), f.bias.get(), 1.0, f.running.get(),
            f.spread.get(), kEpsilon, f.mean.get(), f.inverse.get()),
        0);
    EXPECT_EQ(f.running.Get(), f.mean.Get());
    for (const double v : f.spread.Get()) EXPECT_TRUE(std::isfinite(v));
    EXPECT_EQ(
        Dnn("BatchNormalizationForwardTraining", handle, mode, &kWideOne,
            &kWideZero, f.x.desc(), f.x.get(), f.y.desc(), f.y.get(),
            f.x.desc(), f.scale.get(), f.bias.get(), 0.25, f.running.get(),
            f.spread.get(), kEpsilon, f.mean.get(), f.inverse.get()),
        kBadParam);
  }
}

TEST(Cudnn, NormalizationWithAddAndActivation) {
  void* handle = DnnHandle();
  Desc relu("Activation");
  ASSERT_EQ(Dnn("SetActivationDescriptor", relu.get(), 1, 0, 0.0), 0);
  void* none = nullptr;
  const std::size_t nothing = 0;
  for (const bool old_name : {true, false}) {
    BatchFields f(1);
    void* p = f.scale.desc();
    const Values running = f.running.values(), spread = f.spread.values();
    std::size_t bytes = 1;
    if (old_name) {
      EXPECT_EQ(
          Dnn("GetBatchNormalizationForwardTrainingExWorkspaceSize", handle, 1,
              2, f.x.desc(), f.z.desc(), f.y.desc(), p, relu.get(), &bytes),
          0);
      EXPECT_EQ(Dnn("GetBatchNormalizationBackwardExWorkspaceSize", handle, 1,
                    2, f.x.desc(), f.y.desc(), f.dy.desc(), f.dz.desc(),
                    f.dx.desc(), p, relu.get(), &bytes),
                0);
      EXPECT_EQ(Dnn("GetBatchNormalizationTrainingExReserveSpaceSize", handle,
                    1, 2, relu.get(), f.x.desc(), &bytes),
                0);
      ASSERT_EQ(
          Dnn("BatchNormalizationForwardTrainingEx", handle, 1, 2, &kWideOne,
              &kWideZero, f.x.desc(), f.x.get(), f.z.desc(), f.z.get(),
              f.y.desc(), f.y.get(), p, f.scale.get(), f.bias.get(), 0.25,
              f.running.get(), f.spread.get(), kEpsilon, f.mean.get(),
              f.inverse.get(), relu.get(), none, nothing, none, nothing),
          0);
    } else {
      Desc parameters("Tensor"), statistics("Tensor");
      EXPECT_EQ(Dnn("DeriveNormTensorDescriptor", parameters.get(),
                    statistics.get(), f.x.desc(), 1, 1),
                0);
      EXPECT_EQ(
          Dnn("GetNormalizationForwardTrainingWorkspaceSize", handle, 1, 2, 0,
              f.x.desc(), f.z.desc(), f.y.desc(), p, relu.get(), p, &bytes, 1),
          0);
      EXPECT_EQ(Dnn("GetNormalizationBackwardWorkspaceSize", handle, 1, 2, 0,
                    f.x.desc(), f.y.desc(), f.dy.desc(), f.dz.desc(),
                    f.dx.desc(), p, relu.get(), p, &bytes, 1),
                0);
      EXPECT_EQ(Dnn("GetNormalizationTrainingReserveSpaceSize", handle, 1, 2, 0,
                    relu.get(), f.x.desc(), &bytes, 1),
                0);
      ASSERT_EQ(
          Dnn("NormalizationForwardTraining", handle, 1, 2, 0, &kWideOne,
              &kWideZero, f.x.desc(), f.x.get(), p, f.scale.get(), f.bias.get(),
              0.25, p, f.running.get(), f.spread.get(), kEpsilon, f.mean.get(),
              f.inverse.get(), relu.get(), f.z.desc(), f.z.get(), f.y.desc(),
              f.y.get(), none, nothing, none, nothing, 1),
          0);
    }
    EXPECT_EQ(bytes, 0u);
    f.ExpectTrained(running, spread);
    ExpectNear(f.y.Get(),
               f.Want(f.x.values(), f.scale.values(), f.bias.values(), true),
               1e-13, "with z and relu");
    if (old_name) {
      ASSERT_EQ(Dnn("BatchNormalizationBackwardEx", handle, 1, 2, &kWideOne,
                    &kWideZero, &kWideOne, &kWideTwo, f.x.desc(), f.x.get(),
                    f.y.desc(), f.y.get(), f.dy.desc(), f.dy.get(), f.dz.desc(),
                    f.dz.get(), f.dx.desc(), f.dx.get(), p, f.scale.get(),
                    f.bias.get(), f.dscale.get(), f.dbias.get(), kEpsilon,
                    f.mean.get(), f.inverse.get(), relu.get(), none, nothing,
                    none, nothing),
                0);
    } else {
      ASSERT_EQ(
          Dnn("NormalizationBackward", handle, 1, 2, 0, &kWideOne, &kWideZero,
              &kWideOne, &kWideTwo, f.x.desc(), f.x.get(), f.y.desc(),
              f.y.get(), f.dy.desc(), f.dy.get(), f.dz.desc(), f.dz.get(),
              f.dx.desc(), f.dx.get(), p, f.scale.get(), f.bias.get(),
              f.dscale.get(), f.dbias.get(), kEpsilon, p, f.mean.get(),
              f.inverse.get(), relu.get(), none, nothing, none, nothing, 1),
          0);
    }
    f.ExpectSlopes(true);
    const Values y = f.y.Get(), dz = f.dz.Get();
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(dz[i], y[i] > 0 ? f.dy.values()[i] : 0);
    }
    if (old_name) continue;
    Values variance = f.spread.Get();
    for (double& v : variance) v = std::abs(v) + 0.1;
    f.spread.Set(variance);
    ASSERT_EQ(Dnn("NormalizationForwardInference", handle, 1, 0, 0, &kWideOne,
                  &kWideZero, f.x.desc(), f.x.get(), p, f.scale.get(),
                  f.bias.get(), p, f.mean.get(), f.spread.get(), none, none,
                  none, f.y.desc(), f.y.get(), kEpsilon, 1),
              0);
    for (double& v : variance) v = 1 / std::sqrt(v + kEpsilon);
    ExpectNear(f.y.Get(),
               Applied(f.x.values(), f.sizes, f.mean.Get(), variance, f.sizes,
                       f.scale.values(), f.bias.values()),
               1e-13, "inference");
    EXPECT_EQ(Dnn("NormalizationForwardInference", handle, 1, 0, 0, &kWideOne,
                  &kWideZero, f.x.desc(), f.x.get(), p, f.scale.get(),
                  f.bias.get(), p, f.mean.get(), f.spread.get(), none, none,
                  none, f.y.desc(), f.y.get(), kEpsilon, 2),
              kUnsupported);
  }
}

TEST(CudnnGraph, NormalizationsOfEachMode) {
  struct Case {
    int mode;
    Sizes statistics, parameters;
  };
  for (const Case& c : {Case{0, {3, 1, 1, 1}, {1, 2, 2, 2}},
                        Case{1, {3, 2, 1, 1}, {1, 2, 1, 1}},
                        Case{2, {1, 2, 1, 1}, {1, 2, 1, 1}},
                        Case{4, {3, 1, 1, 1}, {1, 2, 2, 2}}}) {
    const bool centred = c.mode != 4;
    Field x(kF64, kX), y(kF64, kX), mean(kF64, c.statistics);
    Field inverse(kF64, c.statistics), epsilon(kF64, {1, 1, 1, 1});
    Field scale(kF64, c.parameters, {}, 2), bias(kF64, c.parameters, {}, 3);
    epsilon.Set({kEpsilon});
    Graph graph;
    std::vector<Graph::Attribute> attributes = {
        Graph::Enum(OPERATION_NORM_FWD_MODE, Type::kNormMode, c.mode),
        Graph::Enum(OPERATION_NORM_FWD_PHASE, Type::kNormPhase, 1),
        Graph::Of(OPERATION_NORM_FWD_XDESC, graph.Tensor(x)),
        Graph::Of(OPERATION_NORM_FWD_INV_VARIANCE_DESC, graph.Tensor(inverse)),
        Graph::Of(OPERATION_NORM_FWD_SCALE_DESC, graph.Tensor(scale)),
        Graph::Of(OPERATION_NORM_FWD_BIAS_DESC, graph.Tensor(bias)),
        Graph::Of(OPERATION_NORM_FWD_EPSILON_DESC,
                  graph.Tensor(epsilon, /*by_value=*/true)),
        Graph::Of(OPERATION_NORM_FWD_YDESC, graph.Tensor(y))};
    if (centred) {
      attributes.push_back(
          Graph::Of(OPERATION_NORM_FWD_MEAN_DESC, graph.Tensor(mean)));
    }
    graph.Add(Kind::kOperationNormForward, attributes);
    ASSERT_EQ(graph.Run(), 0) << c.mode;
    const Statistics s = Measure(x.values(), c.statistics, centred);
    if (centred) ExpectNear(mean.Get(), s.mean, 1e-13, "mean");
    ExpectNear(inverse.Get(), s.inverse, 1e-13, "inverse");
    const auto want = [&](const Values& xs, const Values& scales) {
      const Statistics of = Measure(xs, c.statistics, centred);
      return Applied(xs, c.statistics, of.mean, of.inverse, c.parameters,
                     scales, bias.values());
    };
    ExpectNear(y.Get(), want(x.values(), scale.values()), 1e-13, "normalized");

    Field dy(kF64, kX, {}, 6), dx(kF64, kX), dscale(kF64, c.parameters);
    Field dbias(kF64, c.parameters), kept(kF64, c.statistics);
    mean.Set(s.mean), kept.Set(s.inverse);
    Graph back;
    attributes = {
        Graph::Enum(OPERATION_NORM_BWD_MODE, Type::kNormMode, c.mode),
        Graph::Of(OPERATION_NORM_BWD_XDESC, back.Tensor(x)),
        Graph::Of(OPERATION_NORM_BWD_INV_VARIANCE_DESC, back.Tensor(kept)),
        Graph::Of(OPERATION_NORM_BWD_DYDESC, back.Tensor(dy)),
        Graph::Of(OPERATION_NORM_BWD_SCALE_DESC, back.Tensor(scale)),
        Graph::Of(OPERATION_NORM_BWD_DXDESC, back.Tensor(dx)),
        Graph::Of(OPERATION_NORM_BWD_DSCALE_DESC, back.Tensor(dscale)),
        Graph::Of(OPERATION_NORM_BWD_DBIAS_DESC, back.Tensor(dbias))};
    if (centred) {
      attributes.push_back(
          Graph::Of(OPERATION_NORM_BWD_MEAN_DESC, back.Tensor(mean)));
    }
    back.Add(Kind::kOperationNormBackward, attributes);
    ASSERT_EQ(back.Run(), 0);
    ExpectNear(dx.Get(),
               Slopes([&](const Values& v) { return want(v, scale.values()); },
                      x.values(), dy.values()),
               1e-6, "dx");
    ExpectNear(dscale.Get(),
               Slopes([&](const Values& v) { return want(x.values(), v); },
                      scale.values(), dy.values()),
               1e-6, "dscale");
    Values sums(dbias.values().size(), 0);
    for (std::size_t i = 0; i < dy.values().size(); ++i) {
      sums[Among(c.parameters, static_cast<Index>(i))] += dy.values()[i];
    }
    ExpectNear(dbias.Get(), sums, 1e-13, "dbias");
  }
}

// Batch normalization in parts: sums, what follows from them, and back.
TEST(CudnnGraph, BatchNormalizationInParts) {
  const Sizes c = {1, 2, 1, 1}, one = {1, 1, 1, 1};
  Field x(kF64, kX), sum(kF64, c), squares(kF64, c);
  Graph stats;
  stats.Add(Kind::kOperationGenStats,
            {Graph::Enum(OPERATION_GENSTATS_MODE, Type::kGenStatsMode, 0),
             Graph::Enum(OPERATION_GENSTATS_MATH_PREC, Type::kDataType, kF64),
             Graph::Of(OPERATION_GENSTATS_XDESC, stats.Tensor(x)),
             Graph::Of(OPERATION_GENSTATS_SUMDESC, stats.Tensor(sum)),
             Graph::Of(OPERATION_GENSTATS_SQSUMDESC, stats.Tensor(squares))});
  ASSERT_EQ(stats.Run(), 0);
  const Statistics s = Measure(x.values(), c);
  Field scale(kF64, c, {}, 2), bias(kF64, c, {}, 3), before(kF64, c, {}, 4);
  Field spread(kF64, c, {}, 5), after(kF64, c), wider(kF64, c), mean(kF64, c);
  Field inverse(kF64, c), eq_scale(kF64, c), eq_bias(kF64, c);
  Field count(kI64, one), epsilon(kF64, one), factor(kF64, one);
  sum.Set(sum.Get()), squares.Set(squares.Get());
  count.Set({12}), epsilon.Set({kEpsilon}), factor.Set({0.25});
  Graph finalize;
#define BN(name, field) \
  Graph::Of(OPERATION_BN_FINALIZE_##name, finalize.Tensor(field))
  finalize.Add(
      Kind::kOperationBnFinalizeStatistics,
      {Graph::Enum(OPERATION_BN_FINALIZE_STATS_MODE, Type::kStatsMode, 0),
       Graph::Enum(OPERATION_BN_FINALIZE_MATH_PREC, Type::kDataType, kF64),
       BN(Y_SUM_DESC, sum), BN(Y_SQ_SUM_DESC, squares), BN(SCALE_DESC, scale),
       BN(BIAS_DESC, bias), BN(PREV_RUNNING_MEAN_DESC, before),
       BN(PREV_RUNNING_VAR_DESC, spread), BN(UPDATED_RUNNING_MEAN_DESC, after),
       BN(UPDATED_RUNNING_VAR_DESC, wider), BN(SAVED_MEAN_DESC, mean),
       BN(SAVED_INV_STD_DESC, inverse), BN(EQ_SCALE_DESC, eq_scale),
       BN(EQ_BIAS_DESC, eq_bias), BN(ACCUM_COUNT_DESC, count),
       BN(EPSILON_DESC, epsilon), BN(EXP_AVERATE_FACTOR_DESC, factor)});
#undef BN
  ASSERT_EQ(finalize.Run(), 0);
  ExpectNear(mean.Get(), s.mean, 1e-13, "mean");
  ExpectNear(inverse.Get(), s.inverse, 1e-12, "inverse");
  ExpectNear(after.Get(), Mixed(0.25, before.values(), s.mean), 1e-13,
             "running mean");
  Values unbiased = s.variance;
  for (double& v : unbiased) v *= 12.0 / 11;
  ExpectNear(wider.Get(), Mixed(0.25, spread.values(), unbiased), 1e-12,
             "running variance");
  Values y = x.values();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t p = Among(c, static_cast<Index>(i));
    y[i] = eq_scale.Get()[p] * y[i] + eq_bias.Get()[p];
  }
  ExpectNear(y,
             Applied(x.values(), c, s.mean, s.inverse, c, scale.values(),
                     bias.values()),
             1e-12, "by one factor and addend");

  Field dy(kF64, kX, {}, 6), dscale(kF64, c), dbias(kF64, c), of_dy(kF64, c);
  Field of_x(kF64, c), of_one(kF64, c);
  mean.Set(s.mean), inverse.Set(s.inverse);
  Graph back;
#define BN(name, field) \
  Graph::Of(OPERATION_BN_BWD_WEIGHTS_##name, back.Tensor(field))
  back.Add(
      Kind::kOperationBnBwdWeights,
      {Graph::Enum(OPERATION_BN_BWD_WEIGHTS_MATH_PREC, Type::kDataType, kF64),
       BN(MEAN_DESC, mean), BN(INVSTD_DESC, inverse), BN(BN_SCALE_DESC, scale),
       BN(X_DESC, x), BN(DY_DESC, dy), BN(DBN_SCALE_DESC, dscale),
       BN(DBN_BIAS_DESC, dbias), BN(EQ_DY_SCALE_DESC, of_dy),
       BN(EQ_X_SCALE_DESC, of_x), BN(EQ_BIAS, of_one)});
#undef BN
  ASSERT_EQ(back.Run(), 0);
  Values dx(x.values().size());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const std::size_t p = Among(c, static_cast<Index>(i));
    dx[i] = of_dy.Get()[p] * dy.values()[i] + of_x.Get()[p] * x.values()[i] +
            of_one.Get()[p];
  }
  const auto want = [&](const Values& xs) {
    const Statistics of = Measure(xs, c);
    return Applied(xs, c, of.mean, of.inverse, c, scale.values(),
                   bias.values());
  };
  ExpectNear(dx, Slopes(want, x.values(), dy.values()), 1e-6, "dx");
}

TEST(CudnnGraph, PoolingWithPlaces) {
  const Sizes in = {1, 2, 5, 4}, out = {1, 2, 3, 2};
  for (const int mode : {2, 3, 4}) {
    for (const int padding : {0, 1, 2}) {
      Field x(kF64, in), y(kF64, out), places(kI32, out);
      Values distinct = x.values();
      for (std::size_t i = 0; i < distinct.size(); ++i) {
        distinct[i] += 0.001 * static_cast<double>(i);
      }
      x.Set(distinct);
      const auto want = [&](const Values& v) {
        Values results;
        ForEachPlace(out, [&](const Sizes& to) {
          double sum = 0, most = -1e9;
          int inside = 0;
          for (Index i = 0; i < 3; ++i) {
            for (Index j = 0; j < 2; ++j) {
              Index a = to[2] * 2 - 1 + i, b = to[3] * 2 + j;
              if (padding == 2) a = std::clamp<Index>(a, 0, 4);
              if (a < 0 || a > 4) {
                if (padding == 0) most = std::max(most, 0.0);
                continue;
              }
              const double value =
                  v[static_cast<std::size_t>(At(in, {to[0], to[1], a, b}))];
              sum += value;
              most = std::max(most, value);
              ++inside;
            }
          }
          results.push_back(mode == 3 ? most : sum / (mode == 2 ? 6 : inside));
        });
        return results;
      };
      const std::vector<Graph::Attribute> config = {
          Graph::Enum(RESAMPLE_MODE, Type::kResampleMode, mode),
          Graph::Enum(RESAMPLE_COMP_TYPE, Type::kDataType, kF32),
          Graph::Enum(RESAMPLE_PADDING_MODE, Type::kPaddingMode, padding),
          Graph::Ints(RESAMPLE_SPATIAL_DIMS, {2}),
          Graph::Ints(RESAMPLE_WINDOW_DIMS, {3, 2}),
          Graph::Ints(RESAMPLE_STRIDES, {2, 2}),
          Graph::Ints(RESAMPLE_PRE_PADDINGS, {1, 0}),
          Graph::Ints(RESAMPLE_POST_PADDINGS, {1, 0})};
      Graph graph;
      std::vector<Graph::Attribute> attributes = {
          Graph::Of(OPERATION_RESAMPLE_FWD_DESC,
                    graph.Make(Kind::kResample, config)),
          Graph::Of(OPERATION_RESAMPLE_FWD_XDESC, graph.Tensor(x)),
          Graph::Of(OPERATION_RESAMPLE_FWD_YDESC, graph.Tensor(y))};
      if (mode == 3) {
        attributes.push_back(
            Graph::Of(OPERATION_RESAMPLE_FWD_IDXDESC, graph.Tensor(places)));
      }
      graph.Add(Kind::kOperationResampleFwd, attributes);
      ASSERT_EQ(graph.Run(), 0) << mode << padding;
      ExpectNear(y.Get(), want(distinct), 1e-13, "pooled");
      Field dy(kF64, out, {}, 5), dx(kF64, in);
      places.Set(places.Get());
      for (const bool by_places : {true, false}) {
        if (mode != 3 && by_places) continue;
        Graph back;
        attributes = {
            Graph::Of(OPERATION_RESAMPLE_BWD_DESC,
                      back.Make(Kind::kResample, config)),
            Graph::Of(OPERATION_RESAMPLE_BWD_DYDESC, back.Tensor(dy)),
            Graph::Of(OPERATION_RESAMPLE_BWD_DXDESC, back.Tensor(dx)),
            by_places
                ? Graph::Of(OPERATION_RESAMPLE_BWD_IDXDESC, back.Tensor(places))
                : Graph::Of(OPERATION_RESAMPLE_BWD_XDESC, back.Tensor(x))};
        back.Add(Kind::kOperationResampleBwd, attributes);
        ASSERT_EQ(back.Run(), 0);
        ExpectNear(dx.Get(), Slopes(want, distinct, dy.values()),
                   kOfDifferences, "its slope");
      }
    }
  }
}

TEST(CudnnGraph, InterpolationIsRefused) {
  Graph bilinear;
  EXPECT_NE(bilinear.Make(Kind::kResample,
                          {Graph::Enum(RESAMPLE_MODE, Type::kResampleMode, 1),
                           Graph::Ints(RESAMPLE_SPATIAL_DIMS, {2}),
                           Graph::Ints(RESAMPLE_WINDOW_DIMS, {2, 2}),
                           Graph::Ints(RESAMPLE_STRIDES, {1, 1}),
                           Graph::Ints(RESAMPLE_PRE_PADDINGS, {0, 0}),
                           Graph::Ints(RESAMPLE_POST_PADDINGS, {0, 0})}),
            nullptr);
}

}  // namespace
}  // namespace cerberus::libraries::tests
