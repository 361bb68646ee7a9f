// A kernel of many values, in blocks of as many threads as its argument says,
// against what the host computes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kValues = 100, kRounds = 3;

__global__ void modest(float* p) { p[threadIdx.x] *= 2; }

__global__ void hungry(float* out, const float* in, int rounds) {
  const int n = blockDim.x;
  float v[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) v[i] = in[i * n + threadIdx.x];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      v[i] = v[i] * 0.5f + v[(i + 37) % kValues] * 0.25f + in[round];
    }
  }
#pragma unroll
  for (int i = 0; i < kValues; ++i) out[i * n + threadIdx.x] = v[i];
}

int main(int, char** argv) {
  const int threads = std::atoi(argv[1]);
  std::vector<float> values(kValues * threads), result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i * 7 % 1021 / 8.f;
  const std::size_t bytes = values.size() * sizeof(float);
  float *in, *out;
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice);
  hungry<<<1, threads>>>(out, in, kRounds);
  cudaMemcpy(result.data(), out, bytes, cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    std::puts(cudaGetErrorString(error));
    return 1;
  }
  const std::vector<float> first(values.begin(), values.begin() + kRounds);
  for (int t = 0; t < threads; ++t) {
    const auto v = [&](int i) -> float& { return values[i * threads + t]; };
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kValues; ++i) {
        v(i) = v(i) * 0.5f + v((i + 37) % kValues) * 0.25f + first[round];
      }
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::fabs(values[i] - result[i]) > 1e-3f * std::fabs(values[i])) {
      std::printf("value %zu: %g, not %g\n", i, result[i], values[i]);
      return 1;
    }
  }
  std::puts("the same");
}
