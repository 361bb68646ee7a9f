// Surface objects: reads and writes in kernels.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Write(cudaSurfaceObject_t s, int width) {
  const int x = threadIdx.x, y = blockIdx.x;
  if (x < width) surf2Dwrite(make_short2(short(x), short(-y)), s, x * 4, y);
}
__global__ void Read(cudaSurfaceObject_t s, int* out, int width) {
  const int x = threadIdx.x, y = blockIdx.x;
  short2 v;
  surf2Dread(&v, s, x * 4, y);
  if (x < width) out[y * width + x] = v.x * 100 + v.y;
}

int main() {
  constexpr int kWidth = 24, kHeight = 5;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<short2>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight,
                        cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  CHECK(cudaCreateSurfaceObject(&s, &resource));
  Write<<<kHeight, 32>>>(s, kWidth);
  int* out = ToDevice(std::vector<int>(kWidth * kHeight, 7));
  Read<<<kHeight, kWidth>>>(s, out, kWidth);
  const std::vector<int> got = ToHost(out, kWidth * kHeight);
  std::vector<short2> plain(kWidth * kHeight);
  CHECK(cudaMemcpy2DFromArray(plain.data(), kWidth * 4, array, 0, 0,
                              kWidth * 4, kHeight, cudaMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      EXPECT(got[y * kWidth + x] == 100 * x - y);
      EXPECT(plain[y * kWidth + x].x == x && plain[y * kWidth + x].y == -y);
    }
  }
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaFreeArray(array));
  return Pass();
}
