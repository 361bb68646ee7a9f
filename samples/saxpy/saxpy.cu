// y = a * x + y with the grid-stride loop, in managed memory, timed by events;
// the halves of the array are worked on in two streams.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

__global__ void Saxpy(int n, float a, const float* __restrict__ x,
                      float* __restrict__ y) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + y[i];
  }
}

int main() {
  const int n = 100003;
  const int half = n / 2;
  const float a = 2.5f;
  float *x, *y;
  CHECK(cudaMallocManaged(&x, n * sizeof(float)));
  CHECK(cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) {
    x[i] = 0.001f * i;
    y[i] = 1.0f / (i + 1);
  }

  cudaStream_t streams[2];
  cudaEvent_t begin[2], end[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreate(&streams[i]));
    CHECK(cudaEventCreate(&begin[i]));
    CHECK(cudaEventCreate(&end[i]));
    CHECK(cudaEventRecord(begin[i], streams[i]));
    int first = i * half;
    int count = i == 0 ? half : n - half;
    Saxpy<<<32, 128, 0, streams[i]>>>(count, a, x + first, y + first);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end[i], streams[i]));
  }
  CHECK(cudaDeviceSynchronize());

  bool ok = true;
  for (int i = 0; i < 2; ++i) {
    float milliseconds = -1.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, begin[i], end[i]));
    if (!(milliseconds >= 0.0f)) {
      std::printf("stream %d took %g ms\n", i, milliseconds);
      ok = false;
    }
    CHECK(cudaEventDestroy(begin[i]));
    CHECK(cudaEventDestroy(end[i]));
    CHECK(cudaStreamDestroy(streams[i]));
  }
  for (int i = 0; i < n && ok; ++i) {
    // nvcc contracts a * x + y into one rounding.
    float expected = std::fma(a, 0.001f * i, 1.0f / (i + 1));
    if (y[i] != expected) {
      std::printf("y[%d] is %.9g, expected %.9g\n", i, y[i], expected);
      ok = false;
    }
  }
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  std::printf("saxpy: %d elements in managed memory, two streams: %s\n", n,
              ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
