// An LSTM of two layers over sequences of unequal length, in training; its
// slopes, and its weights found by their names.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn.h"

constexpr int kTime = 4, kBatch = 2, kIn = 3, kHidden = 5, kLayers = 2;

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

struct Network {
  cudnnHandle_t handle;
  cudnnRNNDescriptor_t rnn;
  cudnnRNNDataDescriptor_t x_data, y_data;
  Tensor x{1, 1, kTime * kBatch, kIn, 1}, y{1, 1, kTime * kBatch, kHidden};
  float* weights;
  std::size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  void *work, *reserve;
  int* lengths;
  cudnnTensorDescriptor_t h;

  Network() {
    CALL(cudnnCreate(&handle));
    CALL(cudnnCreateRNNDescriptor(&rnn));
    cudnnDropoutDescriptor_t dropout;
    CALL(cudnnCreateDropoutDescriptor(&dropout));
    CALL(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0));
    CALL(cudnnSetRNNDescriptor_v8(
        rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
        CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
        CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, kIn, kHidden, kHidden, kLayers,
        dropout, CUDNN_RNN_PADDED_IO_ENABLED));
    const int all[] = {kTime, kTime - 1};
    float padding = 0;
    CALL(cudnnCreateRNNDataDescriptor(&x_data));
    CALL(cudnnCreateRNNDataDescriptor(&y_data));
    CALL(cudnnSetRNNDataDescriptor(x_data, CUDNN_DATA_FLOAT,
                                   CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                   kTime, kBatch, kIn, all, &padding));
    CALL(cudnnSetRNNDataDescriptor(y_data, CUDNN_DATA_FLOAT,
                                   CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                   kTime, kBatch, kHidden, all, &padding));
    lengths = ToDevice(std::vector<int>(all, all + kBatch));
    CALL(cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes));
    CALL(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x_data,
                                   &work_bytes, &reserve_bytes));
    weights = ToDevice(Numbers<float>(weight_bytes / sizeof(float), 2));
    work = Zeros<char>(work_bytes + 1);
    reserve = Zeros<char>(reserve_bytes + 1);
    const int sizes[] = {kLayers, kBatch, kHidden};
    const int steps[] = {kBatch * kHidden, kHidden, 1};
    CALL(cudnnCreateTensorDescriptor(&h));
    CALL(cudnnSetTensorNdDescriptor(h, CUDNN_DATA_FLOAT, 3, sizes, steps));
  }
  std::vector<float> Forward() {
    CALL(cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, lengths, x_data,
                         x.data, y_data, y.data, h, nullptr, nullptr, h,
                         nullptr, nullptr, weight_bytes, weights, work_bytes,
                         work, reserve_bytes, reserve));
    return y.Get();
  }
  // A weight and a bias by layer and number: i, f, c, o of the input, then of
  // the state.
  std::vector<float> Part(int layer, int number, bool is_bias) {
    cudnnTensorDescriptor_t m, b;
    CALL(cudnnCreateTensorDescriptor(&m));
    CALL(cudnnCreateTensorDescriptor(&b));
    void *matrix = nullptr, *bias = nullptr;
    CALL(cudnnGetRNNWeightParams(handle, rnn, layer, weight_bytes, weights,
                                 number, m, &matrix, b, &bias));
    cudnnDataType_t type;
    int count = 0, sizes[3], steps[3];
    CALL(cudnnGetTensorNdDescriptor(is_bias ? b : m, 3, &type, &count, sizes,
                                    steps));
    EXPECT(count == 3 && sizes[0] == 1 && sizes[1] == kHidden);
    return ToHost(static_cast<float*>(is_bias ? bias : matrix),
                  sizes[1] * sizes[2]);
  }
};

int main() {
  Network net;
  const auto got = net.Forward();
  std::vector<float> below = net.x.Get();
  int width = kIn;
  for (int layer = 0; layer < kLayers; ++layer) {
    std::vector<std::vector<float>> parts, biases;
    for (int number = 0; number < 8; ++number) {
      parts.push_back(net.Part(layer, number, false));
      biases.push_back(net.Part(layer, number, true));
    }
    std::vector<float> above(kTime * kBatch * kHidden);
    for (int b = 0; b < kBatch; ++b) {
      std::vector<float> h(kHidden), c(kHidden);
      for (int t = 0; t < kTime - b; ++t) {
        const float* in = &below[(t * kBatch + b) * width];
        std::vector<float> next(kHidden);
        for (int k = 0; k < kHidden; ++k) {
          float gates[4];
          for (int g = 0; g < 4; ++g) {
            gates[g] = biases[g][k] + biases[g + 4][k];
            for (int j = 0; j < width; ++j) {
              gates[g] += parts[g][k * width + j] * in[j];
            }
            for (int j = 0; j < kHidden; ++j) {
              gates[g] += parts[g + 4][k * kHidden + j] * h[j];
            }
          }
          c[k] = Sigmoid(gates[1]) * c[k] +
                 Sigmoid(gates[0]) * std::tanh(gates[2]);
          next[k] = Sigmoid(gates[3]) * std::tanh(c[k]);
        }
        h = next;
        std::copy(h.begin(), h.end(), &above[(t * kBatch + b) * kHidden]);
      }
    }
    below = above;
    width = kHidden;
  }
  EXPECT(Near(got, below, 1e-5));

  Tensor dy(1, 1, kTime * kBatch, kHidden, 3), dx(1, 1, kTime * kBatch, kIn);
  // What is beyond a sequence's end is nobody's.
  auto slopes = dy.Get();
  std::fill(slopes.end() - kHidden, slopes.end(), 0.f);
  dy.Set(slopes);
  CALL(cudnnRNNBackwardData_v8(
      net.handle, net.rnn, net.lengths, net.y_data, net.y.data, dy.data,
      net.x_data, dx.data, net.h, nullptr, nullptr, nullptr, net.h, nullptr,
      nullptr, nullptr, net.weight_bytes, net.weights, net.work_bytes, net.work,
      net.reserve_bytes, net.reserve));
  float* dw = Zeros<float>(net.weight_bytes / sizeof(float));
  CALL(cudnnRNNBackwardWeights_v8(
      net.handle, net.rnn, CUDNN_WGRAD_MODE_ADD, net.lengths, net.x_data,
      net.x.data, net.h, nullptr, net.y_data, net.y.data, net.weight_bytes, dw,
      net.work_bytes, net.work, net.reserve_bytes, net.reserve));
  const auto forward = [&] { return net.Forward(); };
  EXPECT(IsSlope(net.x, slopes, forward, dx.Get(), 2e-3));
  Tensor all(1, 1, 1, int(net.weight_bytes / sizeof(float)));
  all.Set(ToHost(net.weights, all.size()));
  net.weights = all.data;
  EXPECT(IsSlope(all, slopes, forward, ToHost(dw, all.size()), 2e-3));
  CALL(cudnnDestroy(net.handle));
  return Pass();
}
