// Kernels and calls of cuSOLVER in turns: on a stream, in a graph that is
// launched again with another matrix, over arrays of pointers that a kernel
// makes. The functions are declared here, after NVIDIA's documentation, since
// their header may not be there.
//
// RUN: %check %s %t -L%build/lib/cerberus -l:libcusolver.so.12
#include <cmath>

#include "program.h"

using Handle = struct cusolverDnContext*;
extern "C" {
int cusolverDnCreate(Handle*);
int cusolverDnDestroy(Handle);
int cusolverDnSetStream(Handle, cudaStream_t);
int cusolverDnDgetrf_bufferSize(Handle, int, int, double*, int, int*);
int cusolverDnDgetrf(Handle, int, int, double*, int, double*, int*, int*);
int cusolverDnDgetrs(Handle, int, int, int, const double*, int, const int*,
                     double*, int, int*);
int cusolverDnDsyevd_bufferSize(Handle, int, int, int, const double*, int,
                                const double*, int*);
int cusolverDnDsyevd(Handle, int, int, int, double*, int, double*, double*, int,
                     int*);
int cusolverDnSpotrfBatched(Handle, int, int, float**, int, int*, int);
}
#define SOLVER(call)                                       \
  do {                                                     \
    const int error = (call);                              \
    if (error != 0) {                                      \
      std::printf("%d: %s: %d\n", __LINE__, #call, error); \
      std::exit(1);                                        \
    }                                                      \
  } while (0)

constexpr int kN = 40;

__host__ __device__ double Element(int i, int j, double shift) {
  return (i * 13 + j * 7) % 11 - 5 + (i == j ? shift : 0);
}
__global__ void Fill(double* a, const double* shift) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < kN * kN) a[place] = Element(place % kN, place / kN, *shift);
}
// b := A e for ones e.
__global__ void RowSums(const double* shift, double* b) {
  double sum = 0;
  for (int j = 0; j < kN; ++j) sum += Element(threadIdx.x, j, *shift);
  b[threadIdx.x] = sum;
}
// The largest distance from 1.
__global__ void Distance(const double* x, double* to) {
  double largest = 0;
  for (int i = 0; i < kN; ++i) largest = fmax(largest, fabs(x[i] - 1));
  *to = largest;
}

void Graph(Handle handle, cudaStream_t stream) {
  double* a = ToDevice(std::vector<double>(kN * kN));
  double* b = ToDevice(std::vector<double>(kN));
  double* numbers = ToDevice(std::vector<double>{30, 9});
  int* pivots = ToDevice(std::vector<int>(kN));
  int* info = ToDevice(std::vector<int>{7});
  int size = 0;
  SOLVER(cusolverDnDgetrf_bufferSize(handle, kN, kN, a, kN, &size));
  double* work = ToDevice(std::vector<double>(size));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  Fill<<<(kN * kN + 127) / 128, 128, 0, stream>>>(a, numbers);
  RowSums<<<1, kN, 0, stream>>>(numbers, b);
  SOLVER(cusolverDnDgetrf(handle, kN, kN, a, kN, work, pivots, info));
  SOLVER(cusolverDnDgetrs(handle, 0, kN, 1, a, kN, pivots, b, kN, info));
  Distance<<<1, 1, 0, stream>>>(b, numbers + 1);
  cudaGraph_t graph;
  cudaGraphExec_t steps;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&steps, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (const double shift : {30.0, -0.5, 3.25}) {
    CHECK(cudaMemcpyAsync(numbers, &shift, sizeof shift, cudaMemcpyHostToDevice,
                          stream));
    CHECK(cudaGraphLaunch(steps, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(ToHost(info, 1)[0] == 0);
    EXPECT(ToHost(numbers, 2)[1] < 1e-8);
  }
  CHECK(cudaGraphExecDestroy(steps));
  for (double* memory : {a, b, numbers, work}) CHECK(cudaFree(memory));
  CHECK(cudaFree(pivots));
  CHECK(cudaFree(info));
}

// 3 + e e^T has the eigenvalue 3, and once 3 + n.
__global__ void OnesAndThree(double* a) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < kN * kN) a[place] = place % kN == place / kN ? 4 : 1;
}
void Eigenvalues(Handle handle, cudaStream_t stream) {
  double *a, *w;
  CHECK(cudaMalloc(&a, kN * kN * sizeof(double)));
  CHECK(cudaMalloc(&w, kN * sizeof(double)));
  int* info = ToDevice(std::vector<int>{7});
  int size = 0;
  SOLVER(cusolverDnDsyevd_bufferSize(handle, 1, 0, kN, a, kN, w, &size));
  double* work = ToDevice(std::vector<double>(size));
  OnesAndThree<<<(kN * kN + 127) / 128, 128, 0, stream>>>(a);
  SOLVER(cusolverDnDsyevd(handle, 1, 0, kN, a, kN, w, work, size, info));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(info, 1)[0] == 0);
  const std::vector<double> values = ToHost(w, kN),
                            vectors = ToHost(a, kN * kN);
  for (int i = 0; i < kN; ++i) {
    EXPECT(std::abs(values[i] - (i == kN - 1 ? 3 + kN : 3)) < 1e-10);
    EXPECT(std::abs(std::abs(vectors[i + (kN - 1) * kN]) -
                    1 / std::sqrt(double(kN))) < 1e-10);
  }
  for (double* memory : {a, w, work}) CHECK(cudaFree(memory));
  CHECK(cudaFree(info));
}

// Two by two: (4, 2; 2, 5) is (2, 0; 1, 2) times itself turned; the last is not
// positive definite.
__global__ void Matrices(float* a, float** places, int count) {
  const int i = threadIdx.x;
  float* const one = a + i * 4;
  one[0] = 4, one[1] = one[2] = 2, one[3] = i == count - 1 ? -5 : 5;
  places[i] = one;
}
void Batch(Handle handle, cudaStream_t stream) {
  constexpr int kCount = 9;
  float *a, **places;
  CHECK(cudaMalloc(&a, kCount * 4 * sizeof(float)));
  CHECK(cudaMalloc(&places, kCount * sizeof(float*)));
  int* infos = ToDevice(std::vector<int>(kCount, 7));
  Matrices<<<1, kCount, 0, stream>>>(a, places, kCount);
  SOLVER(cusolverDnSpotrfBatched(handle, 0, 2, places, 2, infos, kCount));
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<float> factors = ToHost(a, kCount * 4);
  for (int i = 0; i < kCount; ++i) {
    EXPECT(ToHost(infos, kCount)[i] == (i == kCount - 1 ? 2 : 0));
    EXPECT(factors[i * 4] == 2 && factors[i * 4 + 1] == 1);
    EXPECT(i == kCount - 1 || factors[i * 4 + 3] == 2);
  }
  CHECK(cudaFree(a));
  CHECK(cudaFree(places));
  CHECK(cudaFree(infos));
}

int main() {
  cudaStream_t stream;
  Handle handle;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SOLVER(cusolverDnCreate(&handle));
  SOLVER(cusolverDnSetStream(handle, stream));
  Graph(handle, stream);
  Eigenvalues(handle, stream);
  Batch(handle, stream);
  SOLVER(cusolverDnDestroy(handle));
  CHECK(cudaStreamDestroy(stream));
  return Pass();
}
