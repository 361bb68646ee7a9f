// A convolution with scale, bias, sum and ReLU as one graph, in halves whose
// channels lie closest; it runs again on what a kernel changed, and within a
// graph of CUDA's.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include <cuda_fp16.h>

#include "dnn_graph.h"

constexpr int kN = 2, kC = 8, kH = 6, kW = 5, kK = 16;
constexpr int kIn = kN * kH * kW * kC, kOut = kN * kH * kW * kK;

__global__ void Halve(__half* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = __float2half(__half2float(values[i]) * 0.5f);
}
std::vector<__half> Halves(int n, unsigned seed) {
  std::vector<__half> out;
  for (const float value : Numbers<float>(n, seed)) {
    out.push_back(__float2half(value));
  }
  return out;
}
std::vector<float> Floats(const std::vector<__half>& halves) {
  std::vector<float> out;
  for (const __half value : halves) out.push_back(__half2float(value));
  return out;
}

int main() {
  cudnnHandle_t handle;
  cudaStream_t stream;
  CALL(cudnnCreate(&handle));
  CHECK(cudaStreamCreate(&stream));
  CALL(cudnnSetStream(handle, stream));
  auto x = Halves(kIn, 1);
  const auto w = Halves(kK * 9 * kC, 2), bias = Halves(kK, 3),
             other = Halves(kOut, 4);
  __half *dx = ToDevice(x), *dw = ToDevice(w), *dbias = ToDevice(bias),
         *dother = ToDevice(other), *dy = Zeros<__half>(kOut);
  const auto half = CUDNN_DATA_HALF;
  Graph graph;
  const Sizes out = {kN, kK, kH, kW}, last = {kH * kW * kK, 1, kW * kK, kK};
  const auto tx =
      graph.Tensor({kN, kC, kH, kW}, {kH * kW * kC, 1, kW * kC, kC}, dx, half);
  const auto tw =
      graph.Tensor({kK, kC, 3, 3}, {9 * kC, 1, 3 * kC, kC}, dw, half);
  const auto tb = graph.Tensor({1, kK, 1, 1}, {kK, 1, kK, kK}, dbias, half);
  const auto tz = graph.Tensor(out, last, dother, half);
  const auto ty = graph.Tensor(out, last, dy, half);
  const auto product = graph.Tensor(out, last, nullptr);
  const auto sum = graph.Tensor(out, last, nullptr);
  const auto with_bias = graph.Tensor(out, last, nullptr);
  Descriptor how(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  how.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           std::vector{CUDNN_CROSS_CORRELATION})
      .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1})
      .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1})
      .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
      .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1})
      .Finish();
  const std::vector<float> one{2}, zero{0};
  Descriptor forward(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  forward.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how)
      .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx)
      .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw)
      .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, product)
      .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT,
           one)
      .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT,
           zero);
  graph.Add(forward.Finish());
  graph.Pointwise(CUDNN_POINTWISE_ADD, product, &tz, sum);
  graph.Pointwise(CUDNN_POINTWISE_ADD, sum, &tb, with_bias);
  graph.Pointwise(CUDNN_POINTWISE_RELU_FWD, with_bias, nullptr, ty);
  graph.Build(handle);

  const auto check = [&] {
    CHECK(cudaStreamSynchronize(stream));
    const auto fx = Floats(x), fw = Floats(w), fb = Floats(bias),
               fz = Floats(other);
    std::vector<float> want(kOut);
    for (int i = 0; i < kOut; ++i) {
      const int k = i % kK, column = i / kK % kW, row = i / kK / kW % kH,
                n = i / kK / kW / kH;
      for (int r = 0; r < 9; ++r) {
        const int iy = row + r / 3 - 1, ix = column + r % 3 - 1;
        if (iy < 0 || iy >= kH || ix < 0 || ix >= kW) continue;
        for (int c = 0; c < kC; ++c) {
          want[i] += 2 * fx[((n * kH + iy) * kW + ix) * kC + c] *
                     fw[(k * 9 + r) * kC + c];
        }
      }
      want[i] = std::fmax(0.f, want[i] + fz[i] + fb[k]);
    }
    EXPECT(Near(Floats(ToHost(dy, kOut)), want, 2e-3));
  };
  graph.Run(handle);
  check();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  Halve<<<Blocks(kIn), 128, 0, stream>>>(dx, kIn);
  graph.Run(handle);
  cudaGraph_t captured;
  cudaGraphExec_t run;
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&run, captured, 0));
  for (int round = 0; round < 2; ++round) {
    CHECK(cudaGraphLaunch(run, stream));
    for (__half& value : x) value = __float2half(__half2float(value) / 2);
    check();
  }
  CALL(cudnnDestroy(handle));
  return Pass();
}
