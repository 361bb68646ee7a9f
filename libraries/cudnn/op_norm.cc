// Normalizations as operations of graphs.
#include <cmath>

#include "libraries/cudnn/norm.h"
#include "libraries/cudnn/operations.h"
#include "libraries/cudnn/pointwise.h"

namespace cerberus::libraries::cudnn {
namespace {

// cudnnBackendNormMode_t.
enum NormMode : Index {
  kLayer = 0,
  kInstance = 1,
  kBatch = 2,
  kGroup = 3,
  kRootMeanSquare = 4,
  kAdaptiveLayer = 5,
};

// What the statistics are of: as their tensor says; else by the mode, for
// layers by where the scale has elements.
Sizes StatisticsSizes(Index mode, const Sizes& x, const TensorRef& told,
                      const TensorRef& scale) {
  if (told != nullptr) return SizesOf(told);
  Sizes sizes = x;
  for (std::size_t d = 0; d < x.size(); ++d) {
    switch (mode) {
      case kBatch:
        if (d != 1) sizes[d] = 1;
        break;
      case kInstance:
        if (d > 1) sizes[d] = 1;
        break;
      default:
        if (d > 0 && (scale == nullptr || SizesOf(scale)[d] == x[d])) {
          sizes[d] = 1;
        }
    }
  }
  return sizes;
}
bool Fits(const TensorRef& tensor, const Sizes& x) {
  return tensor == nullptr || CanBroadcast(SizesOf(tensor), x);
}
double Scalar(const Values& values, const TensorRef& tensor, double otherwise) {
  return tensor ? values.Get(tensor)[0] : otherwise;
}
Array Optional(const Values& values, const TensorRef& tensor) {
  return tensor ? values.Get(tensor) : Array(Sizes{0});
}
void SetIf(Values& values, const TensorRef& tensor, Array array) {
  if (tensor) values.Set(tensor, std::move(array));
}

// The running mean and variance that batch normalization keeps.
struct Running {
  TensorRef factor, mean_before, variance_before, mean, variance;

  bool IsWhole() const {
    return factor && mean_before && variance_before && mean && variance;
  }
  void Update(Values& values, const Statistics& s, double count) const {
    if (!IsWhole()) return;
    const double f = values.Get(factor)[0];
    Array now = values.Get(mean_before);
    Average(f, s.mean, &now);
    values.Set(mean, std::move(now));
    Array unbiased = s.variance;
    if (count > 1) {
      for (double& v : unbiased.values) v *= count / (count - 1);
    }
    now = values.Get(variance_before);
    Average(f, unbiased, &now);
    values.Set(variance, std::move(now));
  }
};

}  // namespace

Status MakeNormForward(Builder builder, std::shared_ptr<const Node>* node) {
  const Index mode = builder.d().Int(attribute::OPERATION_NORM_FWD_MODE);
  const bool trains = builder.d().Int(attribute::OPERATION_NORM_FWD_PHASE) != 0;
  if (mode < kLayer || mode > kAdaptiveLayer || mode == kGroup ||
      builder.d().Has(attribute::OPERATION_NORM_FWD_PEER_STAT_DESCS)) {
    return Failed(kNotSupported, "a normalization that is not computed");
  }
  const TensorRef x = builder.In(attribute::OPERATION_NORM_FWD_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_NORM_FWD_YDESC);
  const auto statistic = [&](Name name) {
    return trains ? builder.Out(name) : builder.In(name);
  };
  const TensorRef mean = statistic(attribute::OPERATION_NORM_FWD_MEAN_DESC);
  const TensorRef inverse =
      statistic(attribute::OPERATION_NORM_FWD_INV_VARIANCE_DESC);
  const TensorRef scale = builder.In(attribute::OPERATION_NORM_FWD_SCALE_DESC);
  const TensorRef bias = builder.In(attribute::OPERATION_NORM_FWD_BIAS_DESC);
  const TensorRef epsilon =
      builder.In(attribute::OPERATION_NORM_FWD_EPSILON_DESC);
  Running running;
  if (trains) {
    running = {
        builder.In(attribute::OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC),
        builder.In(attribute::OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC),
        builder.In(attribute::OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC),
        builder.Out(attribute::OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
        builder.Out(attribute::OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC)};
    if (!running.IsWhole() && (running.mean || running.variance)) {
      return BadTensors();
    }
  }
  if (!x || !y || SizesOf(x) != SizesOf(y) || SizesOf(x).size() < 2) {
    return BadTensors();
  }
  for (const TensorRef& one : {mean, inverse, scale, bias}) {
    if (!Fits(one, SizesOf(x))) return BadTensors();
  }
  const Sizes sizes =
      StatisticsSizes(mode, SizesOf(x), mean ? mean : inverse, scale);
  const bool centred = mode != kRootMeanSquare;
  const bool given = !trains && inverse && (mean || !centred);
  return builder.Make(
      [=](Values& values) {
        const Array& in = values.Get(x);
        Statistics s;
        if (given) {
          s.mean = centred ? values.Get(mean) : Array(sizes);
          s.inverse_deviation = values.Get(inverse);
        } else {
          s = ComputeStatistics(in, sizes, Scalar(values, epsilon, 0), centred);
        }
        if (trains) {
          SetIf(values, mean, s.mean);
          SetIf(values, inverse, s.inverse_deviation);
          running.Update(values, s,
                         static_cast<double>(in.count()) /
                             static_cast<double>(ProductOf(sizes)));
        }
        values.Set(
            y, ScaleAndShift(Normalize(in, s.mean, s.inverse_deviation),
                             Optional(values, scale), Optional(values, bias)));
      },
      node);
}

Status MakeNormBackward(Builder builder, std::shared_ptr<const Node>* node) {
  const Index mode = builder.d().Int(attribute::OPERATION_NORM_BWD_MODE);
  if (mode < kLayer || mode > kAdaptiveLayer || mode == kGroup ||
      builder.d().Has(attribute::OPERATION_NORM_BWD_PEER_STAT_DESCS)) {
    return Failed(kNotSupported, "a normalization that is not computed");
  }
  const TensorRef x = builder.In(attribute::OPERATION_NORM_BWD_XDESC);
  const TensorRef dy = builder.In(attribute::OPERATION_NORM_BWD_DYDESC);
  const TensorRef mean = builder.In(attribute::OPERATION_NORM_BWD_MEAN_DESC);
  const TensorRef inverse =
      builder.In(attribute::OPERATION_NORM_BWD_INV_VARIANCE_DESC);
  const TensorRef scale = builder.In(attribute::OPERATION_NORM_BWD_SCALE_DESC);
  const TensorRef epsilon =
      builder.In(attribute::OPERATION_NORM_BWD_EPSILON_DESC);
  const TensorRef dx = builder.Out(attribute::OPERATION_NORM_BWD_DXDESC);
  const TensorRef dscale =
      builder.Out(attribute::OPERATION_NORM_BWD_DSCALE_DESC);
  const TensorRef dbias = builder.Out(attribute::OPERATION_NORM_BWD_DBIAS_DESC);
  if (!x || !dy || !dx || SizesOf(x) != SizesOf(dy) ||
      SizesOf(x) != SizesOf(dx) || ((dscale || dbias) && !scale)) {
    return BadTensors();
  }
  for (const TensorRef& one : {mean, inverse, scale}) {
    if (!Fits(one, SizesOf(x))) return BadTensors();
  }
  for (const TensorRef& one : {dscale, dbias}) {
    if (one && SizesOf(one) != SizesOf(scale)) return BadTensors();
  }
  const bool centred = mode != kRootMeanSquare;
  const Sizes sizes =
      StatisticsSizes(mode, SizesOf(x), mean ? mean : inverse, scale);
  return builder.Make(
      [=](Values& values) {
        Statistics s;
        if (inverse && (mean || !centred)) {
          s.mean = centred ? values.Get(mean) : Array(sizes);
          s.inverse_deviation = values.Get(inverse);
        } else {
          s = ComputeStatistics(values.Get(x), sizes,
                                Scalar(values, epsilon, 0), centred);
        }
        NormSlopes slopes =
            NormBackward(values.Get(x), values.Get(dy), Optional(values, scale),
                         s.mean, s.inverse_deviation, centred);
        values.Set(dx, std::move(slopes.dx));
        SetIf(values, dscale, std::move(slopes.dscale));
        SetIf(values, dbias, std::move(slopes.dbias));
      },
      node);
}

Status MakeGenStats(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef x = builder.In(attribute::OPERATION_GENSTATS_XDESC);
  const TensorRef sum = builder.Out(attribute::OPERATION_GENSTATS_SUMDESC);
  const TensorRef squares =
      builder.Out(attribute::OPERATION_GENSTATS_SQSUMDESC);
  if (!x || !sum || !squares || !CanReduce(SizesOf(x), SizesOf(sum)) ||
      SizesOf(sum) != SizesOf(squares)) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const Array& in = values.Get(x);
        values.Set(sum, Reduce(kReduceAdd, true, in, SizesOf(sum)));
        values.Set(squares,
                   Reduce(kReduceAdd, true, Zip(in, in, std::multiplies<>()),
                          SizesOf(squares)));
      },
      node);
}

// What follows from the sums that MakeGenStats gives: scale and bias as one
// multiplication and addition, and the statistics that the slopes need.
Status MakeBnFinalize(Builder builder, std::shared_ptr<const Node>* node) {
#define BN(name) attribute::OPERATION_BN_FINALIZE_##name
  if (builder.d().Int(BN(STATS_MODE)) != 0) {
    return Failed(kNotSupported, "statistics finalized for inference");
  }
  const TensorRef sum = builder.In(BN(Y_SUM_DESC));
  const TensorRef squares = builder.In(BN(Y_SQ_SUM_DESC));
  const TensorRef scale = builder.In(BN(SCALE_DESC));
  const TensorRef bias = builder.In(BN(BIAS_DESC));
  const TensorRef count = builder.In(BN(ACCUM_COUNT_DESC));
  const TensorRef epsilon = builder.In(BN(EPSILON_DESC));
  const Running running = {builder.In(BN(EXP_AVERATE_FACTOR_DESC)),
                           builder.In(BN(PREV_RUNNING_MEAN_DESC)),
                           builder.In(BN(PREV_RUNNING_VAR_DESC)),
                           builder.Out(BN(UPDATED_RUNNING_MEAN_DESC)),
                           builder.Out(BN(UPDATED_RUNNING_VAR_DESC))};
  const TensorRef mean = builder.Out(BN(SAVED_MEAN_DESC));
  const TensorRef inverse = builder.Out(BN(SAVED_INV_STD_DESC));
  const TensorRef eq_scale = builder.Out(BN(EQ_SCALE_DESC));
  const TensorRef eq_bias = builder.Out(BN(EQ_BIAS_DESC));
#undef BN
  if (!sum || !squares || !scale || !bias || !count || !epsilon ||
      (!running.IsWhole() && (running.mean || running.variance))) {
    return BadTensors();
  }
  for (const TensorRef& one : {squares, scale, bias}) {
    if (SizesOf(one) != SizesOf(sum)) return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const double n = values.Get(count)[0];
        Statistics s;
        s.mean = values.Get(sum);
        for (double& v : s.mean.values) v /= n;
        s.variance = Zip(values.Get(squares), s.mean, [&](double q, double m) {
          return std::max(0.0, q / n - m * m);
        });
        s.inverse_deviation = s.variance;
        for (double& v : s.inverse_deviation.values) {
          v = 1 / std::sqrt(v + values.Get(epsilon)[0]);
        }
        running.Update(values, s, n);
        const Array factor =
            Zip(values.Get(scale), s.inverse_deviation, std::multiplies<>());
        SetIf(values, eq_bias,
              Zip(values.Get(bias), Zip(factor, s.mean, std::multiplies<>()),
                  std::minus<>()));
        SetIf(values, eq_scale, factor);
        SetIf(values, mean, s.mean);
        SetIf(values, inverse, s.inverse_deviation);
      },
      node);
}

// The slopes of scale and bias, and dx = a dy + b x + c by each channel's
// three numbers.
Status MakeBnBackwardWeights(Builder builder,
                             std::shared_ptr<const Node>* node) {
#define BN(name) attribute::OPERATION_BN_BWD_WEIGHTS_##name
  const TensorRef x = builder.In(BN(X_DESC)), dy = builder.In(BN(DY_DESC));
  const TensorRef mean = builder.In(BN(MEAN_DESC));
  const TensorRef inverse = builder.In(BN(INVSTD_DESC));
  const TensorRef scale = builder.In(BN(BN_SCALE_DESC));
  const TensorRef dscale = builder.Out(BN(DBN_SCALE_DESC));
  const TensorRef dbias = builder.Out(BN(DBN_BIAS_DESC));
  const TensorRef of_dy = builder.Out(BN(EQ_DY_SCALE_DESC));
  const TensorRef of_x = builder.Out(BN(EQ_X_SCALE_DESC));
  const TensorRef of_one = builder.Out(BN(EQ_BIAS));
#undef BN
  if (!x || !dy || !mean || !inverse || !scale || SizesOf(x) != SizesOf(dy) ||
      !CanReduce(SizesOf(x), SizesOf(mean)) ||
      SizesOf(inverse) != SizesOf(mean) || SizesOf(scale) != SizesOf(mean)) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const Array& m = values.Get(mean);
        const Array& r = values.Get(inverse);
        const Array& s = values.Get(scale);
        const NormSlopes slopes = NormBackward(values.Get(x), values.Get(dy), s,
                                               m, r, /*centred=*/true);
        const double n = static_cast<double>(values.Get(x).count()) /
                         static_cast<double>(m.count());
        Array a = m, b = m, c = m;
        for (Index i = 0; i < m.count(); ++i) {
          a[i] = s[i] * r[i];
          b[i] = -a[i] * r[i] * slopes.dscale[i] / n;
          c[i] = -a[i] * slopes.dbias[i] / n - b[i] * m[i];
        }
        SetIf(values, of_dy, std::move(a));
        SetIf(values, of_x, std::move(b));
        SetIf(values, of_one, std::move(c));
        SetIf(values, dscale, slopes.dscale);
        SetIf(values, dbias, slopes.dbias);
      },
      node);
}

}  // namespace cerberus::libraries::cudnn
