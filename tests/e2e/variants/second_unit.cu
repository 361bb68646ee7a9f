// A second translation unit of a sample: a kernel of its own, and the main()
// that also calls the sample's.
#include <cstdio>

int SampleMain();

namespace {

__device__ int base = 5;

__global__ void Fill(int* out) { out[threadIdx.x] = base + threadIdx.x * 3; }

bool RunOwnKernel() {
  int* device = nullptr;
  int host[64] = {};
  if (cudaMalloc(&device, sizeof(host)) != cudaSuccess) return false;
  Fill<<<1, 64>>>(device);
  if (cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost) !=
      cudaSuccess) {
    return false;
  }
  for (int i = 0; i < 64; ++i) {
    if (host[i] != 5 + i * 3) return false;
  }
  return cudaFree(device) == cudaSuccess;
}

}  // namespace

int main() {
  // Before and after: both units' modules are loaded at the same time.
  if (!RunOwnKernel()) {
    std::printf("second unit: FAIL\n");
    return 1;
  }
  int status = SampleMain();
  if (!RunOwnKernel()) {
    std::printf("second unit, again: FAIL\n");
    return 1;
  }
  return status;
}
