// 2-D convolution with the filter in constant memory, which the host fills
// with cudaMemcpyToSymbol; the image's border is extended by its edge pixels.
#include <cuda_runtime.h>

#include <algorithm>
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

constexpr int kRadius = 2;
constexpr int kSide = 2 * kRadius + 1;

__constant__ float filter[kSide * kSide];
// Filled by the compiler, not by the host.
__constant__ float post_scale[2] = {1.0f, 0.5f};
// Counts the pixels that were clamped to 255.
__device__ unsigned clamped = 0;

__global__ void Convolve(const unsigned char* in, unsigned char* out,
                         int width, int height, int scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    int row = min(max(y + dy, 0), height - 1);
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      int column = min(max(x + dx, 0), width - 1);
      sum += filter[(dy + kRadius) * kSide + dx + kRadius] *
             in[row * width + column];
    }
  }
  sum *= post_scale[scale];
  if (sum > 255.0f) atomicAdd(&clamped, 1u);
  out[y * width + x] =
      static_cast<unsigned char>(fminf(fmaxf(sum, 0.0f), 255.0f));
}

bool Test(const char* name, const std::vector<float>& weights, int scale) {
  const int width = 100, height = 62;
  const int n = width * height;
  std::vector<unsigned char> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = (i * 37 + i / width * 11) % 256;

  unsigned char *device_in, *device_out;
  CHECK(cudaMalloc(&device_in, n));
  CHECK(cudaMalloc(&device_out, n));
  CHECK(cudaMemcpy(device_in, in.data(), n, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(filter, weights.data(),
                           weights.size() * sizeof(float)));
  unsigned zero = 0;
  CHECK(cudaMemcpyToSymbol(clamped, &zero, sizeof(zero)));
  dim3 threads(16, 16);
  dim3 blocks((width + 15) / 16, (height + 15) / 16);
  Convolve<<<blocks, threads>>>(device_in, device_out, width, height, scale);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device_out, n, cudaMemcpyDeviceToHost));
  unsigned found_clamped;
  CHECK(cudaMemcpyFromSymbol(&found_clamped, clamped, sizeof(found_clamped)));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));

  // The weights are small multiples of 1/32 and the pixels are bytes, so
  // that float adds up without rounding, in any order.
  const float scales[] = {1.0f, 0.5f};
  unsigned expected_clamped = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float sum = 0.0f;
      for (int dy = -kRadius; dy <= kRadius; ++dy) {
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
          int row = std::clamp(y + dy, 0, height - 1);
          int column = std::clamp(x + dx, 0, width - 1);
          sum += weights[(dy + kRadius) * kSide + dx + kRadius] *
                 in[row * width + column];
        }
      }
      sum *= scales[scale];
      if (sum > 255.0f) ++expected_clamped;
      int expected = int(std::clamp(sum, 0.0f, 255.0f));
      if (out[y * width + x] != expected) {
        std::printf("%s: pixel (%d, %d) is %d, expected %d\n", name, x, y,
                    out[y * width + x], expected);
        return false;
      }
    }
  }
  if (found_clamped != expected_clamped) {
    std::printf("%s: %u pixels were clamped, expected %u\n", name,
                found_clamped, expected_clamped);
    return false;
  }
  return true;
}

int main() {
  std::vector<float> blur(kSide * kSide, 1.0f / 32);
  std::vector<float> sharpen(kSide * kSide, -0.125f);
  sharpen[kRadius * kSide + kRadius] = 4.0f;
  std::vector<float> shift(kSide * kSide, 0.0f);
  shift[0] = 1.0f;  // the pixel two up and two left

  bool ok = true;
  ok &= Test("blur", blur, 0);
  ok &= Test("sharpen", sharpen, 1);
  ok &= Test("shift", shift, 0);
  std::printf("convolution: %dx%d filters in constant memory: %s\n", kSide,
              kSide, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
