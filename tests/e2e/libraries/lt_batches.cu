// Batches of matrices by rows, one operand for all, captured into a graph that
// runs on changing inputs; then turned to columns.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include "lt.h"

constexpr int kM = 12, kN = 10, kK = 8, kCount = 5;

__global__ void Add(float* values, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += by;
}

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  auto a = Numbers<float>(kM * kK * kCount, 11);
  const auto b = Numbers<float>(kK * kN, 12);
  float *da = ToDevice(a), *db = ToDevice(b),
        *dd = Zeros<float>(kM * kN * kCount);
  Matmul matmul(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
  Layout la(CUDA_R_32F, kM, kK, kK), lb(CUDA_R_32F, kK, kN, kN),
      ld(CUDA_R_32F, kM, kN, kN);
  long long stride = kM * kK;
  for (Layout* layout : {&la, &lb, &ld}) {
    layout->Set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
    layout->Set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, kCount);
    layout->Set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    stride = stride == 0 ? kM * kN : 0;
  }
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  Add<<<Blocks(a.size()), 128, 0, stream>>>(da, int(a.size()), 1);
  Run<float>(handle, matmul, 1, da, la, db, lb, 0, dd, ld, dd, ld, stream);
  cudaGraph_t graph;
  cudaGraphExec_t run;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&run, graph, 0));
  float* turned = Zeros<float>(kM * kN * kCount);
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaGraphLaunch(run, stream));
    // To columns.
    Layout lt(CUDA_R_32F, kM, kN, kM);
    lt.Set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, kCount);
    lt.Set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, (long long)(kM * kN));
    cublasLtMatrixTransformDesc_t transform;
    CALL(cublasLtMatrixTransformDescCreate(&transform, CUDA_R_32F));
    const float one = 1, zero = 0;
    CALL(cublasLtMatrixTransform(handle, transform, &one, dd, ld.layout, &zero,
                                 nullptr, nullptr, turned, lt.layout, stream));
    CALL(cublasLtMatrixTransformDescDestroy(transform));
    CHECK(cudaStreamSynchronize(stream));
    for (float& value : a) value += 1;
    std::vector<float> want;
    for (int i = 0; i < kCount; ++i) {
      // By rows is the transpose by columns: D^T = B^T A^T.
      const auto d =
          Product(kN, kM, kK, b.data(), false, &a[i * kM * kK], false);
      for (int j = 0; j < kM * kN; ++j) want.push_back(d[j / kM + j % kM * kN]);
    }
    EXPECT(Near(ToHost(turned, want.size()), want, 2e-3));
  }
  CALL(cublasLtDestroy(handle));
  return Pass();
}
