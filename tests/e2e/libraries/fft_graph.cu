// A work area of the program's own, and a plan in a graph with kernels before
// and behind it.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include "fft.h"

constexpr int kN = 64, kBatch = 3;

__global__ void Window(float* signal) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN * kBatch) signal[i] *= 0.5f + i % kN * (1.f / kN);
}
__global__ void Power(const cufftComplex* values, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += values[i].x * values[i].x + values[i].y * values[i].y;
}

int main() {
  constexpr int kHalf = (kN / 2 + 1) * kBatch;
  auto signal = Numbers<float>(kN * kBatch, 8);
  float *data = ToDevice(signal), *power = Zeros<float>(kHalf);
  auto* spectrum = Zeros<cufftComplex>(kHalf);
  cufftHandle plan;
  std::size_t room = 0, told = 0, estimate = 0;
  CALL(cufftCreate(&plan));
  CALL(cufftSetAutoAllocation(plan, 0));
  CALL(cufftMakePlan1d(plan, kN, CUFFT_R2C, kBatch, &room));
  CALL(cufftGetSize(plan, &told));
  CALL(cufftEstimate1d(kN, CUFFT_R2C, kBatch, &estimate));
  EXPECT(told == room);
  CALL(cufftSetWorkArea(plan, Zeros<char>(room + 1)));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CALL(cufftSetStream(plan, stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  Window<<<Blocks(kN * kBatch), 128, 0, stream>>>(data);
  CALL(cufftExecR2C(plan, data, spectrum));
  Power<<<Blocks(kHalf), 128, 0, stream>>>(spectrum, power, kHalf);
  cudaGraph_t graph;
  cudaGraphExec_t run;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&run, graph, 0));
  std::vector<double> want(kHalf);
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaGraphLaunch(run, stream));
    for (int i = 0; i < kN * kBatch; ++i) {
      signal[i] *= 0.5f + i % kN * (1.f / kN);
    }
    for (int b = 0; b < kBatch; ++b) {
      const auto line = Transform(
          {signal.begin() + b * kN, signal.begin() + (b + 1) * kN}, {kN}, -1);
      for (int i = 0; i <= kN / 2; ++i) {
        want[b * (kN / 2 + 1) + i] += std::norm(line[i]);
      }
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(Near(ToHost(power, kHalf), want, 1e-5));
  CALL(cufftDestroy(plan));
  return Pass();
}
