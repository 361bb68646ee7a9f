// Layers of an image network: pooling, activation, softmax, forward and back,
// sums of tensors, dropout.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn.h"

const float kOne = 1, kZero = 0;

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  Tensor x(2, 3, 6, 8, 5), pooled(2, 3, 3, 4), dy(2, 3, 3, 4, 6),
      dx(2, 3, 6, 8);
  // Further apart than the steps of a slope, so that no maximum moves.
  auto apart = x.Get();
  for (int i = 0; i < x.size(); ++i) apart[i] = i * 89 % x.size() / 144.f - 1;
  x.Set(apart);
  for (const auto mode :
       {CUDNN_POOLING_MAX, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING}) {
    cudnnPoolingDescriptor_t pool;
    CALL(cudnnCreatePoolingDescriptor(&pool));
    CALL(cudnnSetPooling2dDescriptor(pool, mode, CUDNN_NOT_PROPAGATE_NAN, 2, 2,
                                     0, 0, 2, 2));
    const auto forward = [&] {
      CALL(cudnnPoolingForward(handle, pool, &kOne, x.description, x.data,
                               &kZero, pooled.description, pooled.data));
      return pooled.Get();
    };
    const auto in = x.Get(), got = forward();
    for (int i = 0; i < pooled.size(); ++i) {
      const int y = i / 4 % 3, column = i % 4, plane = i / 12;
      float most = -9, sum = 0;
      for (int k = 0; k < 4; ++k) {
        const float v =
            in[plane * 48 + (2 * y + k / 2) * 8 + 2 * column + k % 2];
        most = std::fmax(most, v);
        sum += v;
      }
      EXPECT(std::fabs(got[i] - (mode == CUDNN_POOLING_MAX ? most : sum / 4)) <
             1e-6f);
    }
    CALL(cudnnPoolingBackward(
        handle, pool, &kOne, pooled.description, pooled.data, dy.description,
        dy.data, x.description, x.data, &kZero, dx.description, dx.data));
    EXPECT(IsSlope(x, dy.Get(), forward, dx.Get(), 1e-3, 1.f / 512));
    CALL(cudnnDestroyPoolingDescriptor(pool));
  }
  Tensor y(2, 3, 6, 8), weights(2, 3, 6, 8, 7);
  for (const auto mode : {CUDNN_ACTIVATION_SIGMOID, CUDNN_ACTIVATION_TANH,
                          CUDNN_ACTIVATION_ELU, CUDNN_ACTIVATION_SWISH}) {
    cudnnActivationDescriptor_t activation;
    CALL(cudnnCreateActivationDescriptor(&activation));
    CALL(cudnnSetActivationDescriptor(activation, mode, CUDNN_NOT_PROPAGATE_NAN,
                                      1));
    const auto forward = [&] {
      CALL(cudnnActivationForward(handle, activation, &kOne, x.description,
                                  x.data, &kZero, y.description, y.data));
      return y.Get();
    };
    const auto got = forward(), in = x.Get();
    for (int i = 0; i < y.size(); ++i) {
      const float v = in[i], s = 1 / (1 + std::exp(-v));
      const float want = mode == CUDNN_ACTIVATION_SIGMOID ? s
                         : mode == CUDNN_ACTIVATION_TANH  ? std::tanh(v)
                         : mode == CUDNN_ACTIVATION_SWISH ? v * s
                         : v > 0                          ? v
                                                          : std::expm1(v);
      EXPECT(std::fabs(got[i] - want) < 1e-5f);
    }
    CALL(cudnnActivationBackward(
        handle, activation, &kOne, y.description, y.data, weights.description,
        weights.data, x.description, x.data, &kZero, dx.description, dx.data));
    EXPECT(IsSlope(x, weights.Get(), forward, dx.Get(), 1e-3));
    CALL(cudnnDestroyActivationDescriptor(activation));
  }
  // Over the channels of each place.
  const auto softmax = [&] {
    CALL(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE,
                             CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, x.description,
                             x.data, &kZero, y.description, y.data));
    return y.Get();
  };
  const auto parts = softmax();
  for (int i = 0; i < 48; ++i) {
    EXPECT(std::fabs(parts[i] + parts[i + 48] + parts[i + 96] - 1) < 1e-6f);
  }
  CALL(cudnnSoftmaxBackward(handle, CUDNN_SOFTMAX_ACCURATE,
                            CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, y.description,
                            y.data, weights.description, weights.data, &kZero,
                            dx.description, dx.data));
  EXPECT(IsSlope(x, weights.Get(), softmax, dx.Get(), 1e-3));
  // A bias for each channel.
  Tensor bias(1, 3, 1, 1, 8);
  softmax();
  CALL(cudnnAddTensor(handle, &kOne, bias.description, bias.data, &kOne,
                      y.description, y.data));
  const auto biases = bias.Get(), sums = y.Get();
  for (int i = 0; i < y.size(); ++i) {
    EXPECT(std::fabs(sums[i] - parts[i] - biases[i / 48 % 3]) < 1e-6f);
  }
  // Dropout: what is kept is doubled; the way back keeps the same.
  cudnnDropoutDescriptor_t dropout;
  std::size_t states = 0, reserve = 0;
  CALL(cudnnDropoutGetStatesSize(handle, &states));
  CALL(cudnnDropoutGetReserveSpaceSize(x.description, &reserve));
  CALL(cudnnCreateDropoutDescriptor(&dropout));
  CALL(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, Zeros<char>(states + 1),
                                 states, 42));
  char* kept = Zeros<char>(reserve + 1);
  CALL(cudnnDropoutForward(handle, dropout, x.description, x.data,
                           y.description, y.data, kept, reserve));
  CALL(cudnnDropoutBackward(handle, dropout, y.description, weights.data,
                            x.description, dx.data, kept, reserve));
  const auto in = x.Get(), out = y.Get(), back = dx.Get(), w = weights.Get();
  int count = 0;
  for (int i = 0; i < x.size(); ++i) {
    const bool stays = out[i] != 0;
    count += stays;
    EXPECT(!stays || std::fabs(out[i] - 2 * in[i]) < 1e-6f);
    EXPECT(std::fabs(back[i] - (stays ? 2 * w[i] : 0)) < 1e-6f);
  }
  EXPECT(count > x.size() / 3 && count < x.size() * 2 / 3);
  CALL(cudnnDestroy(handle));
  return Pass();
}
