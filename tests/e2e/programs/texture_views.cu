// Texture objects that see a part of an array, or other formats in it.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Read(cudaTextureObject_t t, float level, int layer,
                     unsigned* out) {
  *out = tex2DLod<unsigned>(t, 0.5f, 0.5f, level);
  out[1] = tex2DLayered<unsigned>(t, 1.5f, 0.5f, layer);
}
__global__ void ReadPair(cudaTextureObject_t t, ushort2* out) {
  *out = tex2D<ushort2>(t, 1.5f, 0.5f);
}

const cudaTextureDesc kPoint = {};

cudaTextureObject_t Object(cudaResourceDesc resource,
                           const cudaResourceViewDesc& view) {
  cudaTextureObject_t object = 0;
  CHECK(cudaCreateTextureObject(&object, &resource, &kPoint, &view));
  cudaResourceViewDesc got = {};
  CHECK(cudaGetTextureObjectResourceViewDesc(&got, object));
  EXPECT(got.format == view.format && got.width == view.width &&
         got.firstLayer == view.firstLayer &&
         got.lastMipmapLevel == view.lastMipmapLevel);
  return object;
}

void TestLayers(unsigned* out, const cudaChannelFormatDesc& word) {
  // Four layers of 2 x 2; texel (x, y) of a layer is 100 * layer + 10 * y + x.
  std::vector<unsigned> texels;
  for (unsigned i = 0; i < 16; ++i) {
    texels.push_back(i / 4 * 100 + i / 2 % 2 * 10 + i % 2);
  }
  cudaArray_t layers;
  CHECK(cudaMalloc3DArray(&layers, &word, make_cudaExtent(2, 2, 4),
                          cudaArrayLayered));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), 8, 2, 2);
  copy.dstArray = layers;
  copy.extent = make_cudaExtent(2, 2, 4);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = layers;
  cudaResourceViewDesc view = {};
  view.format = cudaResViewFormatUnsignedInt1;
  view.width = view.height = 2;
  view.firstLayer = 1;
  view.lastLayer = 2;
  cudaTextureObject_t t = Object(resource, view);
  Read<<<1, 1>>>(t, 0, 1, out);
  EXPECT(ToHost(out, 2)[1] == 201);
  // The view ends before the array does.
  Read<<<1, 1>>>(t, 0, 3, out);
  EXPECT(ToHost(out, 2)[1] == 201);
  CHECK(cudaDestroyTextureObject(t));
  view.lastLayer = 4;
  EXPECT(cudaCreateTextureObject(&t, &resource, &kPoint, &view) ==
         cudaErrorInvalidValue);
  view.lastLayer = 2;
  view.format = cudaResViewFormatUnsignedInt2;  // 8 bytes, not 4
  EXPECT(cudaCreateTextureObject(&t, &resource, &kPoint, &view) ==
         cudaErrorInvalidValue);
}

void TestPairs(unsigned* out, const cudaChannelFormatDesc& word) {
  // The same bytes as pairs of 16 bits.
  cudaArray_t plane;
  CHECK(cudaMallocArray(&plane, &word, 2, 2));
  const unsigned words[] = {1, 0xabcd1234, 3, 4};
  CHECK(cudaMemcpy2DToArray(plane, 0, 0, words, 8, 8, 2,
                            cudaMemcpyHostToDevice));
  CUDA_RESOURCE_DESC words_of = {};
  words_of.resType = CU_RESOURCE_TYPE_ARRAY;
  words_of.res.array.hArray = reinterpret_cast<CUarray>(plane);
  CUDA_TEXTURE_DESC integers = {};
  integers.flags = CU_TRSF_READ_AS_INTEGER;
  CUDA_RESOURCE_VIEW_DESC pairs = {};
  pairs.format = CU_RES_VIEW_FORMAT_UINT_2X16;
  pairs.width = pairs.height = 2;
  cudaTextureObject_t t;
  CHECK_DRIVER(cuTexObjectCreate(&t, &words_of, &integers, &pairs));
  ReadPair<<<1, 1>>>(t, reinterpret_cast<ushort2*>(out));
  EXPECT(ToHost(out, 1)[0] == 0xabcd1234);
  CHECK(cudaDestroyTextureObject(t));
}

void TestLevels(unsigned* out, const cudaChannelFormatDesc& word) {
  // Two of a mipmap's three levels.
  cudaMipmappedArray_t mipmap;
  CHECK(cudaMallocMipmappedArray(&mipmap, &word, make_cudaExtent(4, 4, 0), 3));
  for (unsigned level = 0; level < 3; ++level) {
    cudaArray_t array;
    CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    const std::vector<unsigned> all(16, 1000 + level);
    const unsigned size = 4u >> level;
    CHECK(cudaMemcpy2DToArray(array, 0, 0, all.data(), size * 4, size * 4,
                              size, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  cudaResourceViewDesc view = {};
  view.format = cudaResViewFormatUnsignedInt1;
  view.width = view.height = 2;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 2;
  cudaTextureDesc levels = {};
  levels.maxMipmapLevelClamp = 10;
  levels.normalizedCoords = 1;
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &levels, &view));
  for (unsigned level = 0; level < 2; ++level) {
    Read<<<1, 1>>>(t, float(level), 0, out);
    EXPECT(ToHost(out, 1)[0] == 1001 + level);
  }
  CHECK(cudaDestroyTextureObject(t));
}

void TestLinear(unsigned* out, const cudaChannelFormatDesc& word) {
  // Linear memory has no views.
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = out;
  resource.res.linear.desc = word;
  resource.res.linear.sizeInBytes = 8;
  cudaResourceViewDesc view = {};
  view.format = cudaResViewFormatUnsignedInt1;
  view.width = view.height = 2;
  cudaTextureObject_t t;
  EXPECT(cudaCreateTextureObject(&t, &resource, &kPoint, &view) ==
         cudaErrorInvalidValue);
  CHECK(cudaCreateTextureObject(&t, &resource, &kPoint, nullptr));
  EXPECT(cudaGetTextureObjectResourceViewDesc(&view, t) ==
         cudaErrorInvalidValue);
}

int main() {
  unsigned* out = ToDevice(std::vector<unsigned>(2, 0));
  const cudaChannelFormatDesc word = cudaCreateChannelDesc<unsigned>();
  TestLayers(out, word);
  TestPairs(out, word);
  TestLevels(out, word);
  TestLinear(out, word);
  return Pass();
}
