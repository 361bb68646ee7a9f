// Devices: properties, attributes and limits agree with each other.
//
// RUN: %check %s %t
#include "program.h"

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  EXPECT(p.warpSize == 32);
  EXPECT(p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[0] == 1024);
  EXPECT(p.major >= 7 && p.multiProcessorCount > 0);
  EXPECT(p.sharedMemPerBlock == 48 * 1024);
  EXPECT(p.sharedMemPerBlockOptin >= 64 * 1024 - 1024);
  EXPECT(std::strlen(p.name) > 3 && p.totalGlobalMem > (1u << 28));
  EXPECT(p.unifiedAddressing == 1 && p.canMapHostMemory == 1);

  const struct {
    cudaDeviceAttr runtime;
    CUdevice_attribute driver;
    long long expected;
  } rows[] = {
      {cudaDevAttrWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {cudaDevAttrMaxThreadsPerBlock,
       CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, p.maxThreadsPerBlock},
      {cudaDevAttrMultiProcessorCount,
       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, p.multiProcessorCount},
      {cudaDevAttrMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
       p.maxGridSize[0]},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
       (long long)p.sharedMemPerBlockOptin},
      {cudaDevAttrComputeCapabilityMajor,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, p.major},
  };
  CUdevice device;
  CHECK_DRIVER(cuInit(0));
  CHECK_DRIVER(cuDeviceGet(&device, 0));
  for (const auto& row : rows) {
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, row.runtime, 0));
    EXPECT(value == row.expected);
    CHECK_DRIVER(cuDeviceGetAttribute(&value, row.driver, device));
    EXPECT(value == row.expected);
  }

  char id[32];
  CHECK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  int same = -1;
  CHECK(cudaDeviceGetByPCIBusId(&same, id));
  EXPECT(same == 0);
  CUuuid uuid;
  CHECK_DRIVER(cuDeviceGetUuid_v2(&uuid, device));
  EXPECT(std::memcmp(&uuid, &p.uuid, sizeof uuid) == 0);
  std::size_t bytes = 0;
  CHECK_DRIVER(cuDeviceTotalMem(&bytes, device));
  EXPECT(bytes == p.totalGlobalMem);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cuDeviceGet(&device, 7) == CUDA_ERROR_INVALID_DEVICE);
  int version = 0;
  CHECK(cudaDriverGetVersion(&version));
  EXPECT(version >= 13000);
  return Pass();
}
