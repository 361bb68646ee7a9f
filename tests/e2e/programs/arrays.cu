// CUDA arrays and mipmaps: descriptors, copies in all directions.
//
// RUN: %check %s %t
#include "program.h"

void TestPlanes() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 20, 10));
  cudaChannelFormatDesc got;
  cudaExtent extent;
  unsigned flags = 9;
  CHECK(cudaArrayGetInfo(&got, &extent, &flags, array));
  EXPECT(got.x == 32 && got.f == cudaChannelFormatKindFloat);
  EXPECT(extent.width == 20 && extent.height == 10 && flags == 0);

  std::vector<float> in(200), out(200, 0);
  for (int i = 0; i < 200; ++i) in[i] = float(i);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, in.data(), 80, 80, 10,
                            cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DFromArray(out.data(), 80, array, 0, 0, 80, 10,
                              cudaMemcpyDeviceToHost));
  EXPECT(in == out);
  float part[6];
  CHECK(cudaMemcpy2DFromArray(part, 12, array, 4 * 4, 3, 12, 2,
                              cudaMemcpyDeviceToHost));
  EXPECT(part[0] == 64 && part[2] == 66 && part[3] == 84);

  cudaArray_t other;
  CHECK(cudaMallocArray(&other, &format, 20, 10));
  CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 80, 10));
  float* linear = ToDevice(std::vector<float>(200, -1));
  CHECK(cudaMemcpy2DFromArray(linear, 80, other, 0, 0, 80, 10,
                              cudaMemcpyDeviceToDevice));
  EXPECT(ToHost(linear, 200) == in);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(other));
}

CUDA_ARRAY3D_DESCRIPTOR Descriptor() {
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = 16;
  d.Height = 8;
  d.Depth = 4;
  d.Format = CU_AD_FORMAT_UNSIGNED_INT16;
  d.NumChannels = 2;
  return d;
}

void TestCubes() {
  CUDA_ARRAY3D_DESCRIPTOR d = Descriptor();
  CUarray cube;
  CHECK_DRIVER(cuArray3DCreate(&cube, &d));
  CUDA_ARRAY3D_DESCRIPTOR same;
  CHECK_DRIVER(cuArray3DGetDescriptor(&same, cube));
  EXPECT(same.Width == 16 && same.Depth == 4 && same.NumChannels == 2);
  std::vector<std::uint32_t> cells(16 * 8 * 4), back(16 * 8 * 4);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = unsigned(i * 7);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = cells.data();
  copy.srcPitch = 64;
  copy.srcHeight = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = cube;
  copy.WidthInBytes = 64;
  copy.Height = 8;
  copy.Depth = 4;
  CHECK_DRIVER(cuMemcpy3D(&copy));
  CUDA_MEMCPY3D reverse = {};
  reverse.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  reverse.srcArray = cube;
  reverse.dstMemoryType = CU_MEMORYTYPE_HOST;
  reverse.dstHost = back.data();
  reverse.dstPitch = 64;
  reverse.dstHeight = 8;
  reverse.WidthInBytes = 64;
  reverse.Height = 8;
  reverse.Depth = 4;
  CHECK_DRIVER(cuMemcpy3D(&reverse));
  EXPECT(cells == back);
  CHECK_DRIVER(cuArrayDestroy(cube));
  EXPECT(cuArrayDestroy(nullptr) != CUDA_SUCCESS);
}

void TestMipmaps() {
  CUDA_ARRAY3D_DESCRIPTOR d = Descriptor(), same;
  d.Depth = 0;
  CUmipmappedArray mipmap;
  CHECK_DRIVER(cuMipmappedArrayCreate(&mipmap, &d, 3));
  for (unsigned level = 0; level < 3; ++level) {
    CUarray a;
    CHECK_DRIVER(cuMipmappedArrayGetLevel(&a, mipmap, level));
    CHECK_DRIVER(cuArray3DGetDescriptor(&same, a));
    EXPECT(same.Width == 16u >> level && same.Height == 8u >> level);
  }
  CUarray none;
  EXPECT(cuMipmappedArrayGetLevel(&none, mipmap, 3) != CUDA_SUCCESS);
  CHECK_DRIVER(cuMipmappedArrayDestroy(mipmap));
}

int main() {
  CHECK(cudaSetDevice(0));
  TestPlanes();
  TestCubes();
  TestMipmaps();
  return Pass();
}
