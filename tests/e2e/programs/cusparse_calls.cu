// Kernels and calls of cuSPARSE in turns: conjugate gradients whose scalars
// kernels make, in a graph; a product whose size the library finds; a solution
// behind an event of another stream. The functions are declared here, after
// NVIDIA's documentation, since their header may not be there.
//
// RUN: %check %s %t -L%build/lib/cerberus -l:libcusparse.so.12
#include <cmath>

#include "program.h"

using Handle = struct cusparseContext*;
using Descr = void*;
extern "C" {
int cusparseCreate(Handle*);
int cusparseDestroy(Handle);
int cusparseSetStream(Handle, cudaStream_t);
int cusparseSetPointerMode(Handle, int);
int cusparseCreateCsr(Descr*, int64_t, int64_t, int64_t, void*, void*, void*,
                      int, int, int, int);
int cusparseCsrSetPointers(Descr, void*, void*, void*);
int cusparseSpMatGetSize(Descr, int64_t*, int64_t*, int64_t*);
int cusparseSpMatSetAttribute(Descr, int, void*, size_t);
int cusparseDestroySpMat(Descr);
int cusparseCreateDnVec(Descr*, int64_t, void*, int);
int cusparseDestroyDnVec(Descr);
int cusparseCreateSpVec(Descr*, int64_t, int64_t, void*, void*, int, int, int);
int cusparseDestroySpVec(Descr);
int cusparseSpVV(Handle, int, Descr, Descr, void*, int, void*);
int cusparseSpMV(Handle, int, const void*, Descr, Descr, const void*, Descr,
                 int, int, void*);
int cusparseSpGEMM_createDescr(Descr*);
int cusparseSpGEMM_destroyDescr(Descr);
int cusparseSpGEMM_workEstimation(Handle, int, int, const void*, Descr, Descr,
                                  const void*, Descr, int, int, Descr, size_t*,
                                  void*);
int cusparseSpGEMM_compute(Handle, int, int, const void*, Descr, Descr,
                           const void*, Descr, int, int, Descr, size_t*, void*);
int cusparseSpGEMM_copy(Handle, int, int, const void*, Descr, Descr,
                        const void*, Descr, int, int, Descr);
int cusparseSpSV_createDescr(Descr*);
int cusparseSpSV_destroyDescr(Descr);
int cusparseSpSV_bufferSize(Handle, int, const void*, Descr, Descr, Descr, int,
                            int, Descr, size_t*);
int cusparseSpSV_analysis(Handle, int, const void*, Descr, Descr, Descr, int,
                          int, Descr, void*);
int cusparseSpSV_solve(Handle, int, const void*, Descr, Descr, Descr, int, int,
                       Descr);
}
#define SPARSE(call)                                       \
  do {                                                     \
    const int error = (call);                              \
    if (error != 0) {                                      \
      std::printf("%d: %s: %d\n", __LINE__, #call, error); \
      std::exit(1);                                        \
    }                                                      \
  } while (0)

constexpr int kDouble = 1;   // CUDA_R_64F
constexpr int kIndex32 = 2;  // CUSPARSE_INDEX_32I
constexpr int kN = 64;

// The second difference: 2 on the diagonal, -1 beside it.
__global__ void Laplacian(int* offsets, int* columns, double* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > kN) return;
  const int before = i == 0 ? 0 : 3 * i - 1;
  offsets[i] = i == kN ? 3 * kN - 2 : before;
  if (i == kN) return;
  int at = before;
  for (int j = i - 1; j <= i + 1; ++j) {
    if (j < 0 || j >= kN) continue;
    columns[at] = j;
    values[at++] = j == i ? 2 : -1;
  }
}
// alpha = rr / pq, and its opposite; then beta = new rr / rr.
__global__ void Alpha(double* s) {
  s[3] = s[0] / s[1];
  s[4] = -s[3];
}
__global__ void Beta(double* s) {
  s[5] = s[2] / s[0];
  s[0] = s[2];
}
__global__ void Add(double* y, const double* factor, const double* x) {
  const int i = threadIdx.x;
  y[i] += *factor * x[i];
}
__global__ void Turn(double* p, const double* beta, const double* r) {
  const int i = threadIdx.x;
  p[i] = r[i] + *beta * p[i];
}
__global__ void Count(int* indices) { indices[threadIdx.x] = threadIdx.x; }

struct Csr {
  int *offsets, *columns;
  double* values;
  Descr matrix;
};
Csr MakeLaplacian(cudaStream_t stream) {
  Csr a;
  CHECK(cudaMalloc(&a.offsets, (kN + 1) * sizeof(int)));
  CHECK(cudaMalloc(&a.columns, 3 * kN * sizeof(int)));
  CHECK(cudaMalloc(&a.values, 3 * kN * sizeof(double)));
  Laplacian<<<2, kN, 0, stream>>>(a.offsets, a.columns, a.values);
  SPARSE(cusparseCreateCsr(&a.matrix, kN, kN, 3 * kN - 2, a.offsets, a.columns,
                           a.values, kIndex32, kIndex32, 0, kDouble));
  return a;
}
void Free(const Csr& a) {
  SPARSE(cusparseDestroySpMat(a.matrix));
  CHECK(cudaFree(a.offsets));
  CHECK(cudaFree(a.columns));
  CHECK(cudaFree(a.values));
}

// A x = 1, whose solution is (i + 1) (n - i) / 2: one step as a graph.
void Gradients(Handle handle, cudaStream_t stream, const Csr& a) {
  const std::vector<double> ones(kN, 1), zeros(kN, 0);
  double *x = ToDevice(zeros), *r = ToDevice(ones), *p = ToDevice(ones),
         *q = ToDevice(zeros);
  // r r, p q, the next r r, alpha, -alpha, beta; 1 and 0.
  double* s = ToDevice(std::vector<double>{kN, 0, 0, 0, 0, 0, 1, 0});
  int* indices = ToDevice(std::vector<int>(kN));
  Count<<<1, kN, 0, stream>>>(indices);
  Descr vp, vq, vr, sp, sr;
  SPARSE(cusparseCreateDnVec(&vp, kN, p, kDouble));
  SPARSE(cusparseCreateDnVec(&vq, kN, q, kDouble));
  SPARSE(cusparseCreateDnVec(&vr, kN, r, kDouble));
  SPARSE(cusparseCreateSpVec(&sp, kN, kN, indices, p, kIndex32, 0, kDouble));
  SPARSE(cusparseCreateSpVec(&sr, kN, kN, indices, r, kIndex32, 0, kDouble));
  SPARSE(cusparseSetPointerMode(handle, 1));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SPARSE(cusparseSpMV(handle, 0, s + 6, a.matrix, vp, s + 7, vq, kDouble, 0,
                      nullptr));
  SPARSE(cusparseSpVV(handle, 0, sp, vq, s + 1, kDouble, nullptr));
  Alpha<<<1, 1, 0, stream>>>(s);
  Add<<<1, kN, 0, stream>>>(x, s + 3, p);
  Add<<<1, kN, 0, stream>>>(r, s + 4, q);
  SPARSE(cusparseSpVV(handle, 0, sr, vr, s + 2, kDouble, nullptr));
  Beta<<<1, 1, 0, stream>>>(s);
  Turn<<<1, kN, 0, stream>>>(p, s + 5, r);
  cudaGraph_t graph;
  cudaGraphExec_t step;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&step, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  // Exact after n / 2 steps, for the solution is the same from both ends.
  for (int i = 0; i < kN / 2; ++i) CHECK(cudaGraphLaunch(step, stream));
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<double> got = ToHost(x, kN);
  for (int i = 0; i < kN; ++i) {
    EXPECT(std::abs(got[i] - (i + 1) * (kN - i) / 2.0) < 1e-6);
  }
  CHECK(cudaGraphExecDestroy(step));
  SPARSE(cusparseSetPointerMode(handle, 0));
  for (Descr v : {vp, vq, vr}) SPARSE(cusparseDestroyDnVec(v));
  for (Descr v : {sp, sr}) SPARSE(cusparseDestroySpVec(v));
  for (double* memory : {x, r, p, q, s}) CHECK(cudaFree(memory));
  CHECK(cudaFree(indices));
}

// A A, whose rows are 1 -4 6 -4 1 but at the ends.
void Square(Handle handle, const Csr& a) {
  const double one = 1, zero = 0;
  Descr c, descr;
  int* offsets;
  CHECK(cudaMalloc(&offsets, (kN + 1) * sizeof(int)));
  SPARSE(cusparseCreateCsr(&c, kN, kN, 0, offsets, nullptr, nullptr, kIndex32,
                           kIndex32, 0, kDouble));
  SPARSE(cusparseSpGEMM_createDescr(&descr));
  size_t bytes1 = 0, bytes2 = 0;
  void *buffer1, *buffer2;
  SPARSE(cusparseSpGEMM_workEstimation(handle, 0, 0, &one, a.matrix, a.matrix,
                                       &zero, c, kDouble, 0, descr, &bytes1,
                                       nullptr));
  CHECK(cudaMalloc(&buffer1, bytes1));
  SPARSE(cusparseSpGEMM_workEstimation(handle, 0, 0, &one, a.matrix, a.matrix,
                                       &zero, c, kDouble, 0, descr, &bytes1,
                                       buffer1));
  SPARSE(cusparseSpGEMM_compute(handle, 0, 0, &one, a.matrix, a.matrix, &zero,
                                c, kDouble, 0, descr, &bytes2, nullptr));
  CHECK(cudaMalloc(&buffer2, bytes2));
  SPARSE(cusparseSpGEMM_compute(handle, 0, 0, &one, a.matrix, a.matrix, &zero,
                                c, kDouble, 0, descr, &bytes2, buffer2));
  int64_t rows, columns, nnz;
  SPARSE(cusparseSpMatGetSize(c, &rows, &columns, &nnz));
  EXPECT(nnz == 5 * kN - 6);
  int* indices;
  double* values;
  CHECK(cudaMalloc(&indices, nnz * sizeof(int)));
  CHECK(cudaMalloc(&values, nnz * sizeof(double)));
  SPARSE(cusparseCsrSetPointers(c, offsets, indices, values));
  SPARSE(cusparseSpGEMM_copy(handle, 0, 0, &one, a.matrix, a.matrix, &zero, c,
                             kDouble, 0, descr));
  CHECK(cudaDeviceSynchronize());
  const auto first = ToHost(offsets, kN + 1), column = ToHost(indices, nnz);
  const auto value = ToHost(values, nnz);
  const double want[] = {6, -4, 1};
  for (int i = 2; i < kN - 2; ++i) {
    EXPECT(first[i + 1] - first[i] == 5);
    for (int at = first[i]; at < first[i + 1]; ++at) {
      EXPECT(value[at] == want[std::abs(column[at] - i)]);
    }
  }
  SPARSE(cusparseSpGEMM_destroyDescr(descr));
  SPARSE(cusparseDestroySpMat(c));
  for (void* memory :
       {static_cast<void*>(offsets), buffer1, buffer2,
        static_cast<void*>(indices), static_cast<void*>(values)}) {
    CHECK(cudaFree(memory));
  }
}

__global__ void Ramp(double* y) { y[threadIdx.x] = threadIdx.x + 1; }

// The lower triangle of A, behind a kernel of another stream: y(i) = (b(i) +
// y(i - 1)) / 2.
void Triangle(Handle handle, cudaStream_t stream, const Csr& a) {
  double *b, *y;
  CHECK(cudaMalloc(&b, kN * sizeof(double)));
  CHECK(cudaMalloc(&y, kN * sizeof(double)));
  Descr vb, vy, descr;
  SPARSE(cusparseCreateDnVec(&vb, kN, b, kDouble));
  SPARSE(cusparseCreateDnVec(&vy, kN, y, kDouble));
  SPARSE(cusparseSpSV_createDescr(&descr));
  int lower = 0, non_unit = 0;
  SPARSE(cusparseSpMatSetAttribute(a.matrix, 0, &lower, sizeof lower));
  SPARSE(cusparseSpMatSetAttribute(a.matrix, 1, &non_unit, sizeof non_unit));
  const double one = 1;
  size_t bytes = 0;
  void* buffer;
  SPARSE(cusparseSpSV_bufferSize(handle, 0, &one, a.matrix, vb, vy, kDouble, 0,
                                 descr, &bytes));
  CHECK(cudaMalloc(&buffer, bytes));
  SPARSE(cusparseSpSV_analysis(handle, 0, &one, a.matrix, vb, vy, kDouble, 0,
                               descr, buffer));
  cudaStream_t side;
  cudaEvent_t filled;
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  Ramp<<<1, kN, 0, side>>>(b);
  CHECK(cudaEventRecord(filled, side));
  CHECK(cudaStreamWaitEvent(stream, filled, 0));
  SPARSE(
      cusparseSpSV_solve(handle, 0, &one, a.matrix, vb, vy, kDouble, 0, descr));
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<double> got = ToHost(y, kN);
  double before = 0;
  for (int i = 0; i < kN; ++i) {
    before = (i + 1 + before) / 2;
    EXPECT(got[i] == before);
  }
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaStreamDestroy(side));
  SPARSE(cusparseSpSV_destroyDescr(descr));
  SPARSE(cusparseDestroyDnVec(vb));
  SPARSE(cusparseDestroyDnVec(vy));
  for (void* memory : {static_cast<void*>(b), static_cast<void*>(y), buffer}) {
    CHECK(cudaFree(memory));
  }
}

int main() {
  Handle handle;
  cudaStream_t stream;
  SPARSE(cusparseCreate(&handle));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SPARSE(cusparseSetStream(handle, stream));
  const Csr a = MakeLaplacian(stream);
  Gradients(handle, stream, a);
  Square(handle, a);
  Triangle(handle, stream, a);
  Free(a);
  CHECK(cudaStreamDestroy(stream));
  SPARSE(cusparseDestroy(handle));
  return Pass();
}
