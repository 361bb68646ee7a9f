#include "libraries/cudnn/norm.h"

#include <cmath>

#include "libraries/cudnn/pointwise.h"

namespace cerberus::libraries::cudnn {

Statistics ComputeStatistics(const Array& x, const Sizes& sizes, double epsilon,
                             bool centred) {
  Statistics s;
  s.mean = centred ? Reduce(kReduceAvg, true, x, sizes) : Array(sizes);
  const Array means = Broadcast(s.mean, x.sizes);
  const Array squares = Zip(
      x, means, [](double v, double mean) { return (v - mean) * (v - mean); });
  s.variance = Reduce(kReduceAvg, true, squares, sizes);
  s.inverse_deviation = s.variance;
  for (double& value : s.inverse_deviation.values) {
    value = 1 / std::sqrt(value + epsilon);
  }
  return s;
}

Array Normalize(const Array& x, const Array& mean,
                const Array& inverse_deviation) {
  const Array means = Broadcast(mean, x.sizes);
  const Array factors = Broadcast(inverse_deviation, x.sizes);
  Array out(x.sizes);
  for (Index i = 0; i < out.count(); ++i) {
    out[i] = (x[i] - means[i]) * factors[i];
  }
  return out;
}

Array ScaleAndShift(Array x, const Array& scale, const Array& bias) {
  if (!scale.values.empty()) {
    x = Zip(x, Broadcast(scale, x.sizes), std::multiplies<>());
  }
  if (!bias.values.empty()) {
    x = Zip(x, Broadcast(bias, x.sizes), std::plus<>());
  }
  return x;
}

NormSlopes NormBackward(const Array& x, const Array& dy, const Array& scale,
                        const Array& mean, const Array& inverse_deviation,
                        bool centred) {
  const Array normal = Normalize(x, mean, inverse_deviation);
  const Array weighted = Zip(dy, normal, std::multiplies<>());
  NormSlopes out;
  Array slopes = dy;
  if (!scale.values.empty()) {
    out.dscale = Reduce(kReduceAdd, true, weighted, scale.sizes);
    out.dbias = Reduce(kReduceAdd, true, dy, scale.sizes);
    slopes = Zip(dy, Broadcast(scale, x.sizes), std::multiplies<>());
  }
  const Array along =
      Broadcast(Reduce(kReduceAvg, true,
                       Zip(slopes, normal, std::multiplies<>()), mean.sizes),
                x.sizes);
  const Array level =
      centred ? Broadcast(Reduce(kReduceAvg, true, slopes, mean.sizes), x.sizes)
              : Array(x.sizes);
  const Array factors = Broadcast(inverse_deviation, x.sizes);
  out.dx = Array(x.sizes);
  for (Index i = 0; i < x.count(); ++i) {
    out.dx[i] = factors[i] * (slopes[i] - level[i] - normal[i] * along[i]);
  }
  return out;
}

void Average(double factor, const Array& now, Array* before) {
  for (Index i = 0; i < before->count(); ++i) {
    const double kept = factor == 1 ? 0 : (1 - factor) * (*before)[i];
    (*before)[i] = kept + factor * now[i];
  }
}

}  // namespace cerberus::libraries::cudnn
