// Sparse matrix times vector: powers of a chain's transitions, normalised by a
// kernel, in a graph; transposed, and with both scalars on the device.
//
// RUN: %check %s %t %library -l:libcusparse.so.12
#include "sparse.h"

constexpr int kN = 60;

__global__ void Normalise(double* from, double* to) {
  __shared__ double total;
  if (threadIdx.x == 0) {
    total = 0;
    for (int i = 0; i < kN; ++i) total += fabs(from[i]);
  }
  __syncthreads();
  to[threadIdx.x] = fabs(from[threadIdx.x]) / total;
}

int main() {
  const Csr<double> a = Random<double>(kN, kN, 7, 1);
  cusparseHandle_t handle;
  CALL(cusparseCreate(&handle));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CALL(cusparseSetStream(handle, stream));
  CALL(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
  double* scalars = ToDevice(std::vector<double>{2, 0.5});
  std::vector<double> x = Numbers<double>(kN, 2), y = Numbers<double>(kN, 3);
  double *dx = ToDevice(x), *dy = ToDevice(y);
  cusparseSpMatDescr_t matrix = Describe(a);
  cusparseDnVecDescr_t vx, vy;
  CALL(cusparseCreateDnVec(&vx, kN, dx, CUDA_R_64F));
  CALL(cusparseCreateDnVec(&vy, kN, dy, CUDA_R_64F));
  std::size_t room = 0;
  CALL(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_TRANSPOSE, scalars,
                               matrix, vx, scalars + 1, vy, CUDA_R_64F,
                               CUSPARSE_SPMV_ALG_DEFAULT, &room));
  char* buffer = Zeros<char>(room + 1);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CALL(cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, scalars, matrix, vx,
                    scalars + 1, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
                    buffer));
  Normalise<<<1, kN, 0, stream>>>(dy, dx);
  cudaGraph_t graph;
  cudaGraphExec_t run;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&run, graph, 0));
  for (int round = 0; round < 5; ++round) {
    CHECK(cudaGraphLaunch(run, stream));
    std::vector<double> next(kN);
    double total = 0;
    for (int j = 0; j < kN; ++j) {
      double sum = 0;
      for (int i = 0; i < kN; ++i) sum += a.dense[i * kN + j] * x[i];
      next[j] = 2 * sum + y[j] / 2;
      total += std::fabs(next[j]);
    }
    y = next;
    for (int j = 0; j < kN; ++j) x[j] = std::fabs(y[j]) / total;
  }
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(Near(ToHost(dx, kN), x, 1e-12));
  CALL(cusparseDestroyDnVec(vx));
  CALL(cusparseDestroyDnVec(vy));
  CALL(cusparseDestroySpMat(matrix));
  CALL(cusparseDestroy(handle));
  return Pass();
}
