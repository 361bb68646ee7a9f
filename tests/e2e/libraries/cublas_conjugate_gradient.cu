// Conjugate gradients: each step is a graph of calls, whose scalars lie on the
// device, and of kernels that divide them. Two handles work in two streams that
// events fork and join within the graph.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>

#include "library.h"

constexpr int kN = 32;

struct Scalars {
  double one, zero, rho, old_rho, curve, alpha, minus_alpha, beta;
};
__global__ void Alpha(Scalars* s) {
  s->alpha = s->rho / s->curve;
  s->minus_alpha = -s->alpha;
  s->old_rho = s->rho;
}
__global__ void Beta(Scalars* s) { s->beta = s->rho / s->old_rho; }

int main() {
  const auto half = Numbers<double>(kN * kN, 16);
  auto a = Product(kN, kN, kN, half.data(), true, half.data(), false);
  for (int i = 0; i < kN; ++i) a[i * (kN + 1)] += 4;
  const auto b = Numbers<double>(kN, 17);
  double *da = ToDevice(a), *x = Zeros<double>(kN), *r = ToDevice(b),
         *p = ToDevice(b), *ap = Zeros<double>(kN);
  double rho = 0;
  for (const double value : b) rho += value * value;
  Scalars* s = ToDevice(std::vector<Scalars>{{1, 0, rho, 0, 0, 0, 0, 0}});
  cudaStream_t stream, side;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&side));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cublasHandle_t handle, other;
  for (cublasHandle_t* h : {&handle, &other}) {
    CALL(cublasCreate(h));
    CALL(cublasSetPointerMode(*h, CUBLAS_POINTER_MODE_DEVICE));
    CALL(cublasSetWorkspace(*h, Zeros<char>(1 << 16), 1 << 16));
  }
  CALL(cublasSetStream(handle, stream));
  CALL(cublasSetStream(other, side));

  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CALL(cublasDsymv(handle, CUBLAS_FILL_MODE_LOWER, kN, &s->one, da, kN, p, 1,
                   &s->zero, ap, 1));
  CALL(cublasDdot(handle, kN, p, 1, ap, 1, &s->curve));
  Alpha<<<1, 1, 0, stream>>>(s);
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  CALL(cublasDaxpy(other, kN, &s->alpha, p, 1, x, 1));
  CHECK(cudaEventRecord(join, side));
  CALL(cublasDaxpy(handle, kN, &s->minus_alpha, ap, 1, r, 1));
  CALL(cublasDdot(handle, kN, r, 1, r, 1, &s->rho));
  Beta<<<1, 1, 0, stream>>>(s);
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  CALL(cublasDscal(handle, kN, &s->beta, p, 1));
  CALL(cublasDaxpy(handle, kN, &s->one, r, 1, p, 1));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t step;
  CHECK(cudaGraphInstantiate(&step, graph, 0));
  // Nothing has run yet.
  EXPECT(ToHost(x, kN) == std::vector<double>(kN));
  for (int i = 0; i < kN; ++i) CHECK(cudaGraphLaunch(step, stream));
  CHECK(cudaStreamSynchronize(stream));
  const auto got = ToHost(x, kN);
  EXPECT(Near(Product(kN, 1, kN, a.data(), false, got.data(), false), b, 1e-9));
  for (cublasHandle_t h : {handle, other}) CALL(cublasDestroy(h));
  return Pass();
}
