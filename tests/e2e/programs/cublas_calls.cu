// Kernels and calls of cuBLAS in turns: on streams, over events, in a graph,
// with scalars that kernels make. The functions are declared here, after
// NVIDIA's documentation, since their header may not be there.
//
// RUN: %check %s %t -L%build/lib/cerberus -l:libcublas.so.13
//
// Bundled and moved, it has the library with it.
// RUN: rm -rf %t.out %t.moved && mkdir %t.out
// RUN: cerberus-convert -q %t/app -o %t.out/app --arch gfx1100 --bundle
// RUN: mv %t.out %t.moved
// RUN: env -i CERBERUS_DEVICE=gfx1100 LD_DEBUG=libs %t.moved/app > %t.log 2>&1
// RUN: FileCheck %s --input-file %t.log
// CHECK: calling init: {{.*}}.moved/{{.*}}/libcublas.so.13
// CHECK: {{^}}PASS
#include <cmath>

#include "program.h"

using Handle = struct cublasContext*;
extern "C" {
int cublasCreate_v2(Handle*);
int cublasDestroy_v2(Handle);
int cublasSetStream_v2(Handle, cudaStream_t);
int cublasSetPointerMode_v2(Handle, int);
int cublasSgemm_v2(Handle, int, int, int, int, int, const float*, const float*,
                   int, const float*, int, const float*, float*, int);
int cublasSgemmBatched(Handle, int, int, int, int, int, const float*,
                       const float* const*, int, const float* const*, int,
                       const float*, float* const*, int, int);
int cublasGemmEx(Handle, int, int, int, int, int, const void*, const void*, int,
                 int, const void*, int, int, const void*, void*, int, int, int,
                 int);
int cublasDnrm2_v2(Handle, int, const double*, int, double*);
int cublasDscal_v2(Handle, int, const double*, double*, int);
int cublasDgemv_v2(Handle, int, int, int, const double*, const double*, int,
                   const double*, int, const double*, double*, int);
int cublasIdamax_v2(Handle, int, const double*, int, int*);
int cublasSetMatrix(int, int, int, const void*, int, void*, int);
}
#define BLAS(call)                                         \
  do {                                                     \
    const int error = (call);                              \
    if (error != 0) {                                      \
      std::printf("%d: %s: %d\n", __LINE__, #call, error); \
      std::exit(1);                                        \
    }                                                      \
  } while (0)

constexpr int kN = 48;

__global__ void Fill(float* a, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = static_cast<float>(i % 7 - 3) * by;
}
__global__ void Relu(float* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] > 0 ? a[i] : 0;
}
__global__ void Invert(double* value) { *value = 1 / *value; }
__global__ void Widen(const float* from, unsigned short* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // Small integers are exact as bfloat16: the upper half of a float.
  if (i < n) to[i] = __float_as_uint(from[i]) >> 16;
}

float Element(int i, float by) { return static_cast<float>(i % 7 - 3) * by; }

// Two layers: kernels before, between and behind two products.
void Layers(Handle handle, cudaStream_t stream) {
  const int size = kN * kN, blocks = (size + 127) / 128;
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, size * sizeof(float)));
  CHECK(cudaMalloc(&b, size * sizeof(float)));
  CHECK(cudaMalloc(&c, size * sizeof(float)));
  const float one = 1, zero = 0;
  Fill<<<blocks, 128, 0, stream>>>(a, size, 1);
  Fill<<<blocks, 128, 0, stream>>>(b, size, 2);
  BLAS(cublasSgemm_v2(handle, 0, 1, kN, kN, kN, &one, a, kN, b, kN, &zero, c,
                      kN));
  Relu<<<blocks, 128, 0, stream>>>(c, size);
  BLAS(cublasSgemm_v2(handle, 1, 0, kN, kN, kN, &one, a, kN, c, kN, &zero, b,
                      kN));
  Relu<<<blocks, 128, 0, stream>>>(b, size);
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> hidden(size), want(size);
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kN; ++i) {
      float sum = 0;
      for (int l = 0; l < kN; ++l) {
        sum += Element(i + l * kN, 1) * Element(j + l * kN, 2);
      }
      hidden[i + j * kN] = sum > 0 ? sum : 0;
    }
  }
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kN; ++i) {
      float sum = 0;
      for (int l = 0; l < kN; ++l) {
        sum += Element(l + i * kN, 1) * hidden[l + j * kN];
      }
      want[i + j * kN] = sum > 0 ? sum : 0;
    }
  }
  EXPECT(ToHost(b, size) == want);

  // The same numbers as bfloat16, result in f32.
  unsigned short *wa, *wb;
  CHECK(cudaMalloc(&wa, size * 2));
  CHECK(cudaMalloc(&wb, size * 2));
  Fill<<<blocks, 128, 0, stream>>>(b, size, 2);
  Widen<<<blocks, 128, 0, stream>>>(a, wa, size);
  Widen<<<blocks, 128, 0, stream>>>(b, wb, size);
  BLAS(cublasGemmEx(handle, 0, 1, kN, kN, kN, &one, wa, 14, kN, wb, 14, kN,
                    &zero, c, 0, kN, 68, -1));
  Relu<<<blocks, 128, 0, stream>>>(c, size);
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(c, size) == hidden);
  for (void* memory :
       {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c),
        static_cast<void*>(wa), static_cast<void*>(wb)}) {
    CHECK(cudaFree(memory));
  }
}

// The largest eigenvalue by powers, one step as a graph: the norm that a call
// leaves in device memory is inverted by a kernel and is the next call's
// factor.
void Powers(Handle handle, cudaStream_t stream) {
  // Of 3 I + e e^T, whose eigenvalues are 3 + n and 3.
  std::vector<double> matrix(kN * kN, 1);
  for (int i = 0; i < kN; ++i) matrix[i + i * kN] += 3;
  std::vector<double> start(kN);
  for (int i = 0; i < kN; ++i) start[i] = 1 + i % 5;
  double *a, *x = ToDevice(start), *y = ToDevice(start);
  double* scalars = ToDevice(std::vector<double>{1, 0, 0, 0});
  CHECK(cudaMalloc(&a, kN * kN * sizeof(double)));
  BLAS(cublasSetMatrix(kN, kN, sizeof(double), matrix.data(), kN, a, kN));
  BLAS(cublasSetPointerMode_v2(handle, 1));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  BLAS(cublasDgemv_v2(handle, 0, kN, kN, scalars, a, kN, x, 1, scalars + 1, y,
                      1));
  BLAS(cublasDnrm2_v2(handle, kN, y, 1, scalars + 2));
  CHECK(cudaMemcpyAsync(scalars + 3, scalars + 2, sizeof(double),
                        cudaMemcpyDeviceToDevice, stream));
  Invert<<<1, 1, 0, stream>>>(scalars + 3);
  BLAS(cublasDscal_v2(handle, kN, scalars + 3, y, 1));
  CHECK(cudaMemcpyAsync(x, y, kN * sizeof(double), cudaMemcpyDeviceToDevice,
                        stream));
  cudaGraph_t graph;
  cudaGraphExec_t steps;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&steps, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int i = 0; i < 20; ++i) CHECK(cudaGraphLaunch(steps, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(std::abs(ToHost(scalars, 4)[2] - (3 + kN)) < 1e-9);
  for (const double v : ToHost(x, kN)) {
    EXPECT(std::abs(v - 1 / std::sqrt(double(kN))) < 1e-9);
  }
  CHECK(cudaGraphExecDestroy(steps));
  BLAS(cublasSetPointerMode_v2(handle, 0));
  // A result of the host is there at once, behind a copy on the same stream.
  start[17] = -100;
  CHECK(cudaMemcpyAsync(x, start.data(), kN * sizeof(double),
                        cudaMemcpyHostToDevice, stream));
  int place = 0;
  BLAS(cublasIdamax_v2(handle, kN, x, 1, &place));
  EXPECT(place == 18);
  for (double* memory : {a, x, y, scalars}) CHECK(cudaFree(memory));
}

// Two streams, each with a handle: one waits for the other's event. The arrays
// of pointers are made by a kernel.
__global__ void Point(float** to, float* first, int step) {
  to[threadIdx.x] = first + threadIdx.x * step;
}
void Streams(Handle handle, cudaStream_t stream) {
  constexpr int kCount = 5, kSize = 16;
  Handle other;
  cudaStream_t side;
  cudaEvent_t filled, done;
  BLAS(cublasCreate_v2(&other));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  BLAS(cublasSetStream_v2(other, side));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  float *a, *b, **pa, **pb;
  CHECK(cudaMalloc(&a, kCount * kSize * sizeof(float)));
  CHECK(cudaMalloc(&b, kCount * kSize * sizeof(float)));
  CHECK(cudaMalloc(&pa, kCount * sizeof(float*)));
  CHECK(cudaMalloc(&pb, kCount * sizeof(float*)));
  Fill<<<1, 128, 0, stream>>>(a, kCount * kSize, 1);
  Point<<<1, kCount, 0, stream>>>(pa, a, kSize);
  Point<<<1, kCount, 0, stream>>>(pb, b, kSize);
  CHECK(cudaEventRecord(filled, stream));
  CHECK(cudaStreamWaitEvent(side, filled, 0));
  const float half = 0.5f, zero = 0;
  BLAS(cublasSgemmBatched(other, 0, 0, 4, 4, 4, &half, pa, 4, pa, 4, &zero, pb,
                          4, kCount));
  CHECK(cudaEventRecord(done, side));
  CHECK(cudaStreamWaitEvent(stream, done, 0));
  Relu<<<1, 128, 0, stream>>>(b, kCount * kSize);
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<float> got = ToHost(b, kCount * kSize);
  for (int m = 0; m < kCount; ++m) {
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 4; ++i) {
        float sum = 0;
        for (int l = 0; l < 4; ++l) {
          sum += Element(m * kSize + i + l * 4, 1) *
                 Element(m * kSize + l + j * 4, 1);
        }
        EXPECT(got[m * kSize + i + j * 4] == (sum > 0 ? sum / 2 : 0));
      }
    }
  }
  BLAS(cublasDestroy_v2(other));
  CHECK(cudaStreamDestroy(side));
  for (void* memory : {static_cast<void*>(a), static_cast<void*>(b),
                       static_cast<void*>(pa), static_cast<void*>(pb)}) {
    CHECK(cudaFree(memory));
  }
}

int main() {
  Handle handle;
  cudaStream_t stream;
  BLAS(cublasCreate_v2(&handle));
  for (const bool own : {false, true}) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BLAS(cublasSetStream_v2(handle, own ? stream : nullptr));
    Layers(handle, own ? stream : nullptr);
    BLAS(cublasSetStream_v2(handle, stream));
    Powers(handle, stream);
    Streams(handle, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  BLAS(cublasDestroy_v2(handle));
  return Pass();
}
