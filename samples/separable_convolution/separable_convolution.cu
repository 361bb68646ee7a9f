// A Gaussian blur as two one-dimensional convolutions, rows first, then
// columns; each block brings its part and a border into shared memory, the
// weights lie in constant memory.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

const int kRadius = 8;
const int kRowBlock = 128;
const int kColumnBlockX = 16, kColumnBlockY = 16;

__constant__ float weights[2 * kRadius + 1];

__global__ void ConvolveRows(const float* in, float* out, int width) {
  __shared__ float line[kRowBlock + 2 * kRadius];
  int y = blockIdx.y;
  int first = blockIdx.x * kRowBlock - kRadius;
  for (int i = threadIdx.x; i < kRowBlock + 2 * kRadius; i += kRowBlock) {
    int x = first + i;
    line[i] = x >= 0 && x < width ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
  int x = blockIdx.x * kRowBlock + threadIdx.x;
  if (x >= width) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k <= 2 * kRadius; ++k) {
    sum += weights[k] * line[threadIdx.x + k];
  }
  out[y * width + x] = sum;
}

__global__ void ConvolveColumns(const float* in, float* out, int width,
                                int height) {
  __shared__ float tile[kColumnBlockY + 2 * kRadius][kColumnBlockX + 1];
  int x = blockIdx.x * kColumnBlockX + threadIdx.x;
  int first = blockIdx.y * kColumnBlockY - kRadius;
  for (int i = threadIdx.y; i < kColumnBlockY + 2 * kRadius;
       i += kColumnBlockY) {
    int y = first + i;
    tile[i][threadIdx.x] =
        x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
  int y = blockIdx.y * kColumnBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k <= 2 * kRadius; ++k) {
    sum += weights[k] * tile[threadIdx.y + k][threadIdx.x];
  }
  out[y * width + x] = sum;
}

int main() {
  const int width = 200, height = 150;
  std::vector<float> in(width * height), out(width * height);
  unsigned random = 99;
  for (float& pixel : in) {
    random = random * 1664525u + 1013904223u;
    pixel = random >> 24;
  }
  float host_weights[2 * kRadius + 1];
  for (int k = -kRadius; k <= kRadius; ++k) {
    host_weights[k + kRadius] = std::exp(-0.05f * k * k) * 0.126f;
  }
  CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof(host_weights)));

  const size_t bytes = in.size() * sizeof(float);
  float *device_in, *device_rows, *device_out;
  CHECK(cudaMalloc(&device_in, bytes));
  CHECK(cudaMalloc(&device_rows, bytes));
  CHECK(cudaMalloc(&device_out, bytes));
  CHECK(cudaMemcpy(device_in, in.data(), bytes, cudaMemcpyHostToDevice));
  ConvolveRows<<<dim3((width + kRowBlock - 1) / kRowBlock, height),
                 kRowBlock>>>(device_in, device_rows, width);
  CHECK(cudaGetLastError());
  ConvolveColumns<<<dim3((width + kColumnBlockX - 1) / kColumnBlockX,
                         (height + kColumnBlockY - 1) / kColumnBlockY),
                    dim3(kColumnBlockX, kColumnBlockY)>>>(
      device_rows, device_out, width, height);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device_out, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_rows));
  CHECK(cudaFree(device_out));

  bool ok = true;
  std::vector<double> rows(width * height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int k = -kRadius; k <= kRadius; ++k) {
        if (x + k >= 0 && x + k < width) {
          rows[y * width + x] +=
              double(host_weights[k + kRadius]) * in[y * width + x + k];
        }
      }
    }
  }
  for (int y = 0; y < height && ok; ++y) {
    for (int x = 0; x < width && ok; ++x) {
      double expected = 0.0;
      for (int k = -kRadius; k <= kRadius; ++k) {
        if (y + k >= 0 && y + k < height) {
          expected += host_weights[k + kRadius] * rows[(y + k) * width + x];
        }
      }
      double found = out[y * width + x];
      // 34 roundings of sums below 256.
      if (!(std::fabs(found - expected) < 34 * 256 * 0x1p-24)) {
        std::printf("pixel (%d, %d) is %.9g, expected %.9g\n", x, y, found,
                    expected);
        ok = false;
      }
    }
  }
  std::printf("separable_convolution: %dx%d pixels, radius %d: %s\n", width,
              height, kRadius, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
