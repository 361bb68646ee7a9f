// Batch normalisation: training with running averages, its way back, and
// inference; then reductions.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn.h"

const float kOne = 1, kZero = 0;
constexpr double kEpsilon = 1e-5, kFactor = 0.25;

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  Tensor x(4, 3, 5, 4, 9), y(4, 3, 5, 4), dy(4, 3, 5, 4, 10), dx(4, 3, 5, 4);
  Tensor scale(1, 3, 1, 1, 11), bias(1, 3, 1, 1, 12), mean(1, 3, 1, 1),
      variance(1, 3, 1, 1), kept_mean(1, 3, 1, 1), kept_deviation(1, 3, 1, 1),
      dscale(1, 3, 1, 1), dbias(1, 3, 1, 1);
  cudnnTensorDescriptor_t each;
  CALL(cudnnCreateTensorDescriptor(&each));
  CALL(cudnnDeriveBNTensorDescriptor(each, x.description,
                                     CUDNN_BATCHNORM_SPATIAL));
  const auto forward = [&](double factor) {
    CALL(cudnnBatchNormalizationForwardTraining(
        handle, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, x.description, x.data,
        y.description, y.data, each, scale.data, bias.data, factor, mean.data,
        variance.data, kEpsilon, kept_mean.data, kept_deviation.data));
    return y.Get();
  };
  const auto out = forward(kFactor), in = x.Get();
  const auto scales = scale.Get(), biases = bias.Get();
  const int count = 4 * 5 * 4;
  std::vector<float> means(3), variances(3), want(x.size());
  for (int i = 0; i < x.size(); ++i) means[i / 20 % 3] += in[i] / count;
  for (int i = 0; i < x.size(); ++i) {
    const float off = in[i] - means[i / 20 % 3];
    variances[i / 20 % 3] += off * off / count;
  }
  for (int i = 0; i < x.size(); ++i) {
    const int c = i / 20 % 3;
    want[i] = (in[i] - means[c]) / std::sqrt(variances[c] + float(kEpsilon)) *
                  scales[c] +
              biases[c];
  }
  EXPECT(Near(out, want, 1e-5));
  // Running values move by a quarter; the variance is that of a sample.
  const auto ran = mean.Get(), ran_variance = variance.Get();
  for (int c = 0; c < 3; ++c) {
    EXPECT(std::fabs(ran[c] - means[c] / 4) < 1e-6f);
    EXPECT(std::fabs(ran_variance[c] - variances[c] * count / (count - 1) / 4) <
           1e-6f);
  }
  CALL(cudnnBatchNormalizationBackward(
      handle, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, &kOne, &kZero,
      x.description, x.data, dy.description, dy.data, dx.description, dx.data,
      each, scale.data, dscale.data, dbias.data, kEpsilon, kept_mean.data,
      kept_deviation.data));
  const auto again = [&] { return forward(0); };
  EXPECT(IsSlope(x, dy.Get(), again, dx.Get(), 5e-3));
  EXPECT(IsSlope(scale, dy.Get(), again, dscale.Get(), 1e-3));
  EXPECT(IsSlope(bias, dy.Get(), again, dbias.Get(), 1e-3));
  mean.Set(means);
  variance.Set(variances);
  CALL(cudnnBatchNormalizationForwardInference(
      handle, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, x.description, x.data,
      y.description, y.data, each, scale.data, bias.data, mean.data,
      variance.data, kEpsilon));
  EXPECT(Near(y.Get(), want, 1e-5));
  // The norm of each channel.
  cudnnReduceTensorDescriptor_t reduce;
  CALL(cudnnCreateReduceTensorDescriptor(&reduce));
  CALL(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_NORM2,
                                      CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN,
                                      CUDNN_REDUCE_TENSOR_NO_INDICES,
                                      CUDNN_32BIT_INDICES));
  std::size_t room = 0;
  CALL(cudnnGetReductionWorkspaceSize(handle, reduce, x.description,
                                      mean.description, &room));
  CALL(cudnnReduceTensor(handle, reduce, nullptr, 0, Zeros<char>(room + 1),
                         room, &kOne, x.description, x.data, &kZero,
                         mean.description, mean.data));
  std::vector<float> norms(3);
  for (int i = 0; i < x.size(); ++i) norms[i / 20 % 3] += in[i] * in[i];
  for (float& norm : norms) norm = std::sqrt(norm);
  EXPECT(Near(mean.Get(), norms, 1e-6));
  CALL(cudnnDestroy(handle));
  return Pass();
}
