// Copies of rows to and from places within page-locked memory, where the driver
// finds out what is where.
//
// RUN: %check %s %t
#include "program.h"

constexpr int kRows = 5, kWidth = 12, kPitch = 20, kBytes = 1024;

// Copies the rows, and whether they and nothing else got there.
void Copy(char* to, char* from, char* base, int at) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = CUdeviceptr(from);
  copy.dstDevice = CUdeviceptr(to);
  copy.srcPitch = copy.dstPitch = kPitch;
  copy.WidthInBytes = kWidth;
  copy.Height = kRows;
  CHECK_DRIVER(cuMemcpy2DAsync(&copy, 0));
  std::vector<char> got(kBytes);
  CHECK(cudaMemcpy(got.data(), base, kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kBytes; ++i) {
    const int j = i - at;
    const bool copied = j >= 0 && j / kPitch < kRows && j % kPitch < kWidth;
    EXPECT(got[i] == (copied ? char(3 * j + 1) : 0));
  }
}

int main() {
  char *pinned = nullptr, *device = nullptr;
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMalloc(&device, kBytes));
  for (const int at : {0, 4, 256, 300}) {
    for (int i = 0; i < kBytes; ++i) pinned[i] = char(3 * (i - at) + 1);
    CHECK(cudaMemset(device, 0, kBytes));
    Copy(device + 8, pinned + at, device, 8);
    std::fill_n(pinned, kBytes, 0);
    Copy(pinned + at, device + 8, pinned, at);
    // Within the device.
    char* other = nullptr;
    CHECK(cudaMalloc(&other, kBytes));
    CHECK(cudaMemset(other, 0, kBytes));
    Copy(other + at, device + 8, other, at);
    CHECK(cudaFree(other));
  }
  return Pass();
}
