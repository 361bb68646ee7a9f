// A small neural network's inference: two dense layers in half precision with
// float sums, GELU between them (tanhf), softmax at the end (expf, a maximum
// and a sum over the block).
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

const int kBatch = 24, kIn = 96, kHidden = 128, kOut = 10;

__device__ float Gelu(float x) {
  float cubic = x + 0.044715f * x * x * x;
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * cubic));
}

// out[batch][row] = bias[row] + sum of weights[row][i] * in[batch][i]; a warp
// for each output, two elements at a time.
template <bool kActivate>
__global__ void Dense(const __half2* weights, const float* bias,
                      const __half2* in, int pairs, int rows, __half* out) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  int batch = blockIdx.y;
  if (row >= rows) return;  // whole warps
  float sum = 0.0f;
  for (int i = threadIdx.x; i < pairs; i += warpSize) {
    float2 w = __half22float2(weights[row * pairs + i]);
    float2 x = __half22float2(in[batch * pairs + i]);
    sum = fmaf(w.x, x.x, sum);
    sum = fmaf(w.y, x.y, sum);
  }
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x == 0) {
    sum += bias[row];
    out[batch * rows + row] = __float2half(kActivate ? Gelu(sum) : sum);
  }
}

// A block of one warp for each row of `kOut` logits.
__global__ void Softmax(const __half* logits, float* out) {
  int i = threadIdx.x;
  const __half* row = logits + blockIdx.x * kOut;
  float x = i < kOut ? __half2float(row[i]) : -FLT_MAX;
  float most = x;
  for (int d = warpSize / 2; d > 0; d /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
  }
  float e = i < kOut ? expf(x - most) : 0.0f;
  float sum = e;
  for (int d = warpSize / 2; d > 0; d /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
  }
  if (i < kOut) out[blockIdx.x * kOut + i] = e / sum;
}

std::vector<__half> RandomHalves(int n, float scale, unsigned seed) {
  std::vector<__half> values(n);
  for (__half& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = __float2half(scale * (int(seed >> 16) - 32768) / 32768.0f);
  }
  return values;
}

std::vector<double> DenseOnHost(const std::vector<__half>& weights,
                                const std::vector<float>& bias,
                                const std::vector<double>& in, int columns,
                                int rows, bool activate) {
  std::vector<double> out(kBatch * rows);
  for (int b = 0; b < kBatch; ++b) {
    for (int row = 0; row < rows; ++row) {
      double sum = bias[row];
      for (int i = 0; i < columns; ++i) {
        sum += double(__half2float(weights[row * columns + i])) *
               in[b * columns + i];
      }
      if (activate) {
        sum = 0.5 * sum *
              (1 + std::tanh(0.7978845608 *
                             (sum + 0.044715 * sum * sum * sum)));
      }
      out[b * rows + row] = sum;
    }
  }
  return out;
}

template <typename T>
T* ToDevice(const std::vector<T>& values) {
  T* device;
  CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T),
                   cudaMemcpyHostToDevice));
  return device;
}

int main() {
  std::vector<__half> in = RandomHalves(kBatch * kIn, 1.0f, 1);
  std::vector<__half> weights1 = RandomHalves(kHidden * kIn, 0.25f, 2);
  std::vector<__half> weights2 = RandomHalves(kOut * kHidden, 0.25f, 3);
  std::vector<float> bias1(kHidden), bias2(kOut);
  for (int i = 0; i < kHidden; ++i) bias1[i] = 0.01f * (i % 7 - 3);
  for (int i = 0; i < kOut; ++i) bias2[i] = 0.1f * (i % 3 - 1);

  __half* device_in = ToDevice(in);
  __half* device_weights1 = ToDevice(weights1);
  __half* device_weights2 = ToDevice(weights2);
  float* device_bias1 = ToDevice(bias1);
  float* device_bias2 = ToDevice(bias2);
  __half* device_hidden = ToDevice(std::vector<__half>(kBatch * kHidden));
  __half* device_logits = ToDevice(std::vector<__half>(kBatch * kOut));
  float* device_out = ToDevice(std::vector<float>(kBatch * kOut));

  dim3 threads(32, 4);
  Dense<true><<<dim3((kHidden + 3) / 4, kBatch), threads>>>(
      reinterpret_cast<__half2*>(device_weights1), device_bias1,
      reinterpret_cast<__half2*>(device_in), kIn / 2, kHidden, device_hidden);
  CHECK(cudaGetLastError());
  Dense<false><<<dim3((kOut + 3) / 4, kBatch), threads>>>(
      reinterpret_cast<__half2*>(device_weights2), device_bias2,
      reinterpret_cast<__half2*>(device_hidden), kHidden / 2, kOut,
      device_logits);
  CHECK(cudaGetLastError());
  Softmax<<<kBatch, 32>>>(device_logits, device_out);
  CHECK(cudaGetLastError());
  std::vector<float> out(kBatch * kOut);
  CHECK(cudaMemcpy(out.data(), device_out, out.size() * sizeof(float),
                   cudaMemcpyDeviceToHost));

  std::vector<double> values(in.size());
  for (size_t i = 0; i < in.size(); ++i) values[i] = __half2float(in[i]);
  values = DenseOnHost(weights1, bias1, values, kIn, kHidden, true);
  values = DenseOnHost(weights2, bias2, values, kHidden, kOut, false);
  bool ok = true;
  for (int b = 0; b < kBatch; ++b) {
    double* row = &values[b * kOut];
    double most = *std::max_element(row, row + kOut), sum = 0.0;
    for (int i = 0; i < kOut; ++i) sum += std::exp(row[i] - most);
    for (int i = 0; i < kOut; ++i) {
      double expected = std::exp(row[i] - most) / sum;
      double found = out[b * kOut + i];
      // The layers' results were rounded to half precision.
      if (!(std::fabs(found - expected) < 2e-3)) {
        std::printf("class %d of input %d: %g, expected %g\n", i, b, found,
                    expected);
        ok = false;
      }
    }
  }
  for (void* memory :
       {(void*)device_in, (void*)device_weights1, (void*)device_weights2,
        (void*)device_bias1, (void*)device_bias2, (void*)device_hidden,
        (void*)device_logits, (void*)device_out}) {
    CHECK(cudaFree(memory));
  }
  std::printf("neural_layer: %d inputs, %d-%d-%d: %s\n", kBatch, kIn, kHidden,
              kOut, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
