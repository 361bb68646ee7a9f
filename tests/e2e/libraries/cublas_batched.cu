// Many small products: matrices that are apart by a stride, and by arrays of
// pointers that a kernel writes, on two streams that events join.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>

#include "library.h"

constexpr int kM = 7, kN = 5, kK = 9, kCount = 12;

__global__ void Point(float* a, float* b, float* c, const float** as,
                      const float** bs, float** cs) {
  const int i = threadIdx.x;
  if (i >= kCount) return;
  // The second operand backwards.
  as[i] = a + i * kM * kK;
  bs[i] = b + (kCount - 1 - i) * kK * kN;
  cs[i] = c + i * kM * kN;
}

int main() {
  const auto a = Numbers<float>(kM * kK * kCount, 1);
  const auto b = Numbers<float>(kK * kN * kCount, 2);
  float *da = ToDevice(a), *db = ToDevice(b);
  float *strided = Zeros<float>(kM * kN * kCount),
        *pointed = Zeros<float>(kM * kN * kCount);
  const float** as = Zeros<const float*>(kCount);
  const float** bs = Zeros<const float*>(kCount);
  float** cs = Zeros<float*>(kCount);
  cublasHandle_t handle;
  CALL(cublasCreate(&handle));
  cudaStream_t one, two;
  CHECK(cudaStreamCreate(&one));
  CHECK(cudaStreamCreate(&two));
  cudaEvent_t done;
  CHECK(cudaEventCreate(&done));
  const float alpha = 1, beta = 0, more = 0.5f;

  CALL(cublasSetStream(handle, one));
  CALL(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK,
                                 &alpha, da, kM, kM * kK, db, kN, kK * kN,
                                 &beta, strided, kM, kM * kN, kCount));
  CHECK(cudaEventRecord(done, one));

  Point<<<1, 32, 0, two>>>(da, db, pointed, as, bs, cs);
  CALL(cublasSetStream(handle, two));
  CALL(cublasSgemmBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha,
                          as, kK, bs, kK, &beta, cs, kM, kCount));
  CHECK(cudaStreamWaitEvent(two, done, 0));
  // On both results: pointed += strided / 2.
  CALL(cublasSaxpy(handle, kM * kN * kCount, &more, strided, 1, pointed, 1));
  CHECK(cudaStreamSynchronize(two));

  std::vector<float> want_strided, want_pointed;
  for (int i = 0; i < kCount; ++i) {
    const auto c =
        Product(kM, kN, kK, &a[i * kM * kK], false, &b[i * kK * kN], true);
    const auto d = Product(kM, kN, kK, &a[i * kM * kK], true,
                           &b[(kCount - 1 - i) * kK * kN], false);
    for (int j = 0; j < kM * kN; ++j) {
      want_strided.push_back(c[j]);
      want_pointed.push_back(d[j] + c[j] / 2);
    }
  }
  EXPECT(Near(ToHost(strided, kM * kN * kCount), want_strided, 1e-5));
  EXPECT(Near(ToHost(pointed, kM * kN * kCount), want_pointed, 1e-5));
  CALL(cublasDestroy(handle));
  return Pass();
}
