// Texture objects: filters, address modes, formats.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Sample(cudaTextureObject_t t, float* out, float x, float y) {
  out[threadIdx.x] = tex2D<float>(t, x + threadIdx.x, y);
}
__global__ void Fetch(cudaTextureObject_t t, int* out) {
  out[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x);
}

cudaTextureObject_t Make(cudaArray_t array, cudaTextureAddressMode mode,
                         cudaTextureFilterMode filter, bool normalised) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture = {};
  texture.addressMode[0] = texture.addressMode[1] = mode;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = normalised;
  texture.borderColor[0] = -5;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 4, 2));
  const float texels[8] = {0, 1, 2, 3, 10, 11, 12, 13};
  CHECK(cudaMemcpy2DToArray(array, 0, 0, texels, 16, 16, 2,
                            cudaMemcpyHostToDevice));
  float* out = ToDevice(std::vector<float>(8));
  const auto sample = [&](cudaTextureObject_t t, float x, float y) {
    Sample<<<1, 4>>>(t, out, x, y);
    CHECK(cudaGetLastError());
    std::vector<float> v = ToHost(out, 4);
    CHECK(cudaDestroyTextureObject(t));
    return v;
  };
  using V = std::vector<float>;
  EXPECT(sample(Make(array, cudaAddressModeClamp, cudaFilterModePoint, false),
                0.5f, 1.5f) == (V{10, 11, 12, 13}));
  EXPECT(sample(Make(array, cudaAddressModeClamp, cudaFilterModePoint, false),
                2.5f, 5) == (V{12, 13, 13, 13}));
  EXPECT(sample(Make(array, cudaAddressModeBorder, cudaFilterModePoint,
                     false), 2.5f, 0.5f) == (V{2, 3, -5, -5}));
  EXPECT(sample(Make(array, cudaAddressModeClamp, cudaFilterModeLinear,
                     false), 1, 1) == (V{5.5f, 6.5f, 7.5f, 8}));
  EXPECT(sample(Make(array, cudaAddressModeWrap, cudaFilterModePoint, true),
                0.125f, 0.25f) == (V{0, 0, 0, 0}));
  EXPECT(sample(Make(array, cudaAddressModeMirror, cudaFilterModePoint, true),
                0.125f, 0.25f) == (V{0, 3, 0, 3}));

  int* words = ToDevice(std::vector<int>{9, 8, 7, 6});
  cudaResourceDesc linear = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = words;
  linear.res.linear.desc = cudaCreateChannelDesc<int>();
  linear.res.linear.sizeInBytes = 16;
  cudaTextureDesc texture = {};
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &linear, &texture, nullptr));
  cudaResourceDesc asked;
  CHECK(cudaGetTextureObjectResourceDesc(&asked, t));
  EXPECT(asked.resType == cudaResourceTypeLinear &&
         asked.res.linear.devPtr == words);
  int* fetched = ToDevice(std::vector<int>(4));
  Fetch<<<1, 4>>>(t, fetched);
  EXPECT(ToHost(fetched, 4) == (std::vector<int>{9, 8, 7, 6}));
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
  return Pass();
}
