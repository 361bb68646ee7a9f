// cufftXt: half precision, and types that are told apart from the plan.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include <cuda_fp16.h>
#include <cufftXt.h>

#include "fft.h"

constexpr int kN = 32, kBatch = 2;

__global__ void Narrow(const float* from, __half* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = __float2half(from[i]);
}

int main() {
  const auto in = Numbers<float>(2 * kN * kBatch, 9);
  __half* data = Zeros<__half>(in.size());
  Narrow<<<Blocks(in.size()), 128>>>(ToDevice(in), data, int(in.size()));
  std::vector<Complex> rounded(kN * kBatch);
  const auto halves = ToHost(data, in.size());
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    rounded[i] = {__half2float(halves[2 * i]), __half2float(halves[2 * i + 1])};
  }
  cufftHandle plan;
  std::size_t room = 0;
  long long n[] = {kN};
  CALL(cufftCreate(&plan));
  CALL(cufftXtMakePlanMany(plan, 1, n, nullptr, 1, kN, CUDA_C_16F, nullptr, 1,
                           kN, CUDA_C_16F, kBatch, &room, CUDA_C_16F));
  CALL(cufftXtExec(plan, data, data, CUFFT_FORWARD));
  CHECK(cudaDeviceSynchronize());
  const auto got = ToHost(data, in.size());
  std::vector<Complex> values(kN * kBatch), want;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = {__half2float(got[2 * i]), __half2float(got[2 * i + 1])};
  }
  for (int b = 0; b < kBatch; ++b) {
    const auto line = Transform(
        {rounded.begin() + b * kN, rounded.begin() + (b + 1) * kN}, {kN}, -1);
    want.insert(want.end(), line.begin(), line.end());
  }
  EXPECT(Near(values, want, 2e-3));
  CALL(cufftDestroy(plan));
  return Pass();
}
