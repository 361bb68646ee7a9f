// Linear and pitched memory: allocation, sets, copies, addresses.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Fill(int* p, std::size_t pitch, int width, int height) {
  const int x = threadIdx.x, y = blockIdx.x;
  if (x < width && y < height) {
    reinterpret_cast<int*>(reinterpret_cast<char*>(p) + y * pitch)[x] =
        1000 * y + x;
  }
}

void TestRefusals() {
  void* none = &none;
  CHECK(cudaMalloc(&none, 0));
  CHECK(cudaFree(nullptr));
  EXPECT(cudaMalloc(&none, std::size_t{1} << 60) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  int host = 0;
  EXPECT(cudaFree(&host) == cudaErrorInvalidValue);
}

void TestPitch() {
  constexpr int kWidth = 37, kHeight = 11;
  int* area = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&area, &pitch, kWidth * sizeof(int), kHeight));
  EXPECT(pitch >= kWidth * sizeof(int) && pitch % 64 == 0);
  CHECK(cudaMemset2D(area, pitch, 0xff, kWidth * sizeof(int), kHeight));
  Fill<<<kHeight, 64>>>(area, pitch, kWidth - 1, kHeight);
  std::vector<int> out(kWidth * kHeight);
  CHECK(cudaMemcpy2D(out.data(), kWidth * sizeof(int), area, pitch,
                     kWidth * sizeof(int), kHeight, cudaMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      EXPECT(out[y * kWidth + x] == (x < kWidth - 1 ? 1000 * y + x : -1));
    }
  }
  CHECK(cudaFree(area));
}

void TestBox() {
  // 3-D: a block out of the middle.
  cudaPitchedPtr cube;
  const cudaExtent extent = make_cudaExtent(16 * sizeof(short), 6, 5);
  CHECK(cudaMalloc3D(&cube, extent));
  CHECK(cudaMemset3D(cube, 0, extent));
  std::vector<short> box(4 * 3 * 2);
  for (std::size_t i = 0; i < box.size(); ++i) box[i] = short(i + 1);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(box.data(), 4 * sizeof(short), 4, 3);
  copy.dstPtr = cube;
  copy.dstPos = make_cudaPos(5 * sizeof(short), 2, 1);
  copy.extent = make_cudaExtent(4 * sizeof(short), 3, 2);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  std::vector<short> all(16 * 6 * 5, -1);
  cudaMemcpy3DParms back = {};
  back.srcPtr = cube;
  back.dstPtr = make_cudaPitchedPtr(all.data(), 16 * sizeof(short), 16, 6);
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&back));
  int sum = 0;
  for (int z = 0; z < 5; ++z) {
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 16; ++x) {
        const bool inside =
            x >= 5 && x < 9 && y >= 2 && y < 5 && z >= 1 && z < 3;
        const int want =
            inside ? (x - 5) + 4 * (y - 2) + 12 * (z - 1) + 1 : 0;
        EXPECT(all[(z * 6 + y) * 16 + x] == want);
        sum += want;
      }
    }
  }
  EXPECT(sum == 24 * 25 / 2);
  CHECK(cudaFree(cube.ptr));
}

void TestDriver() {
  CUdeviceptr p, base;
  std::size_t bytes;
  CHECK_DRIVER(cuMemAlloc(&p, 1000));
  CHECK_DRIVER(cuMemGetAddressRange(&base, &bytes, p + 500));
  EXPECT(base == p && bytes == 1000);
  CHECK_DRIVER(cuMemsetD8(p, 1, 1000));
  CHECK_DRIVER(cuMemsetD16(p + 2, 0x0203, 10));
  CHECK_DRIVER(cuMemsetD32(p + 100, 0x04050607, 5));
  CHECK_DRIVER(cuMemsetD2D8(p + 200, 100, 9, 10, 3));
  unsigned char bytes_of[1000];
  CHECK_DRIVER(cuMemcpyDtoH(bytes_of, p, 1000));
  EXPECT(bytes_of[0] == 1 && bytes_of[2] == 3 && bytes_of[3] == 2);
  EXPECT(bytes_of[22] == 1 && bytes_of[100] == 7 && bytes_of[119] == 4);
  EXPECT(bytes_of[209] == 9 && bytes_of[210] == 1 && bytes_of[400] == 9);
  CHECK_DRIVER(cuMemFree(p));
  std::size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(free_bytes <= total && total > 0);
}

int main() {
  TestRefusals();
  TestPitch();
  TestBox();
  TestDriver();
  return Pass();
}
