// Texture objects over an array and over linear memory.
#include <cmath>

#include "check.h"

constexpr int kWidth = 16, kHeight = 8;

__global__ void Sample(cudaTextureObject_t texture, float* out, float shift) {
  const int x = threadIdx.x, y = threadIdx.y;
  out[y * kWidth + x] = tex2D<float>(texture, x + shift, y + shift);
}
__global__ void Fetch(cudaTextureObject_t texture, int* out, int n) {
  const int i = threadIdx.x;
  out[i] = tex1Dfetch<int>(texture, i * n);
}
float host[kHeight][kWidth], result[kHeight][kWidth];

void Textures() {
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) host[y][x] = 10.0f * y + x;
  }
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0],
                            kHeight, cudaMemcpyHostToDevice));
  float* out = nullptr;
  CHECK(cudaMalloc(&out, sizeof result));
  for (const bool linear : {false, true}) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    // Texel centres lie at halves: at 1.0 four texels have equal weight.
    Sample<<<1, dim3(kWidth, kHeight)>>>(texture, out, linear ? 1.0f : 0.5f);
    CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int right = x + 1 < kWidth ? x + 1 : x;
        const int below = y + 1 < kHeight ? y + 1 : y;
        const float expected =
            linear ? (host[y][x] + host[y][right] + host[below][x] +
                      host[below][right]) / 4
                   : host[y][x];
        EXPECT(std::fabs(result[y][x] - expected) < 1e-3f);
      }
    }
    CHECK(cudaDestroyTextureObject(texture));
  }
  CHECK(cudaMemcpy2DFromArray(result, sizeof result[0], array, 0, 0,
                              sizeof result[0], kHeight,
                              cudaMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) EXPECT(result[y][x] == host[y][x]);
  }
  CHECK(cudaFreeArray(array));
}

void Linear() {
  int values[64], fetched[32];
  for (int i = 0; i < 64; ++i) values[i] = i * i - 7;
  int *data = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&data, sizeof values));
  CHECK(cudaMalloc(&out, sizeof fetched));
  CHECK(cudaMemcpy(data, values, sizeof values, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = sizeof values;
  const cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  Fetch<<<1, 32>>>(texture, out, 3);
  CHECK(cudaMemcpy(fetched, out, sizeof fetched, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) {
    EXPECT(fetched[i] == (3 * i < 64 ? values[3 * i] : 0));
  }
}

int main() {
  Textures();
  Linear();
  std::puts("api_texture: PASS");
}
