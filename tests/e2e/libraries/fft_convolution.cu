// Signals convolved: there, a kernel that multiplies, and back, in a stream.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include "fft.h"

constexpr int kN = 90, kBatch = 4;

__global__ void Multiply(cufftComplex* signals, const cufftComplex* filter) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kN * kBatch) return;
  const cufftComplex a = signals[i], b = filter[i % kN];
  signals[i].x = (a.x * b.x - a.y * b.y) / kN;
  signals[i].y = (a.x * b.y + a.y * b.x) / kN;
}

int main() {
  const auto signals = ComplexNumbers<float>(kN * kBatch, 1);
  const auto filter = ComplexNumbers<float>(kN, 2);
  auto* ds = reinterpret_cast<cufftComplex*>(ToDevice(signals));
  auto* df = reinterpret_cast<cufftComplex*>(ToDevice(filter));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cufftHandle many, one;
  CALL(cufftPlan1d(&many, kN, CUFFT_C2C, kBatch));
  CALL(cufftPlan1d(&one, kN, CUFFT_C2C, 1));
  CALL(cufftSetStream(many, stream));
  CALL(cufftSetStream(one, stream));
  CALL(cufftExecC2C(many, ds, ds, CUFFT_FORWARD));
  CALL(cufftExecC2C(one, df, df, CUFFT_FORWARD));
  Multiply<<<Blocks(kN * kBatch), 128, 0, stream>>>(ds, df);
  CALL(cufftExecC2C(many, ds, ds, CUFFT_INVERSE));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<Complex> want(kN * kBatch);
  for (int i = 0; i < kN * kBatch; ++i) {
    for (int j = 0; j < kN; ++j) {
      want[i] += Complex(signals[i / kN * kN + j]) *
                 Complex(filter[(i % kN - j + kN) % kN]);
    }
  }
  EXPECT(Near(ToHost(reinterpret_cast<std::complex<float>*>(ds), kN * kBatch),
              want, 1e-5));
  CALL(cufftDestroy(many));
  CALL(cufftDestroy(one));
  // A plan that is gone, a size that is none.
  EXPECT(cufftExecC2C(many, ds, ds, CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
  EXPECT(cufftPlan1d(&many, -1, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  return Pass();
}
