// Virtual memory management: ranges, mappings, sharing.
//
// RUN: %check %s %t
#include <unistd.h>

#include "program.h"

// One access of all four where the compiler puts them together.
__global__ void AddToFour(int* p, int by) {
  int values[4];
  for (int i = 0; i < 4; ++i) values[i] = p[i];
  for (int i = 0; i < 4; ++i) p[i] = values[i] + by;
}
__global__ void Add(int* p, int n, int by) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] += by;
}

int main() {
  CHECK(cudaSetDevice(0));
  int supported = 0;
  CHECK_DRIVER(cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
  EXPECT(supported == 1);
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t grain = 0;
  CHECK_DRIVER(cuMemGetAllocationGranularity(&grain, &prop,
                                             CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT(grain >= 4096 && (grain & (grain - 1)) == 0);

  CUdeviceptr range = 0;
  CHECK_DRIVER(cuMemAddressReserve(&range, 4 * grain, 0, 0, 0));
  CUmemGenericAllocationHandle memory;
  CHECK_DRIVER(cuMemCreate(&memory, grain, &prop, 0));
  // The same memory twice, with a gap of addresses between.
  CHECK_DRIVER(cuMemMap(range, grain, 0, memory, 0));
  CHECK_DRIVER(cuMemMap(range + 2 * grain, grain, 0, memory, 0));
  CUmemAccessDesc access = {};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK_DRIVER(cuMemSetAccess(range, grain, &access, 1));
  CHECK_DRIVER(cuMemSetAccess(range + 2 * grain, grain, &access, 1));
  unsigned long long flags = 0;
  CHECK_DRIVER(cuMemGetAccess(&flags, &prop.location, range));
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  const int count = int(grain / sizeof(int));
  CHECK_DRIVER(cuMemsetD32(range, 40, count));
  Add<<<1, 256>>>(reinterpret_cast<int*>(range + 2 * grain), count, 2);
  std::vector<int> out(count);
  CHECK_DRIVER(cuMemcpyDtoH(out.data(), range, grain));
  for (const int v : out) EXPECT(v == 42);

  // Through a descriptor, as another process would have it.
  int file = -1;
  CHECK_DRIVER(cuMemExportToShareableHandle(
      &file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle again;
  CHECK_DRIVER(cuMemImportFromShareableHandle(
      &again, reinterpret_cast<void*>(std::intptr_t{file}),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(file);
  CHECK_DRIVER(cuMemMap(range + grain, grain, 0, again, 0));
  CHECK_DRIVER(cuMemSetAccess(range + grain, grain, &access, 1));
  int word = 0;
  CHECK_DRIVER(cuMemcpyDtoH(&word, range + grain, 4));
  EXPECT(word == 42);

  // Three mappings side by side are one range, which a fourth would go on.
  CHECK_DRIVER(cuMemsetD32(range + 4, 7, 3 * count - 1));
  out.resize(3 * count - 1);
  CHECK_DRIVER(cuMemcpyDtoH(out.data(), range + 4, 3 * grain - 4));
  for (const int v : out) EXPECT(v == 7);
  EXPECT(cuMemsetD32(range, 7, 3 * count + 1) == CUDA_ERROR_INVALID_VALUE);
  // For kernels, too: half of this lies in the first, half in the second.
  AddToFour<<<1, 1>>>(reinterpret_cast<int*>(range + grain) - 2, 1);
  for (const int at : {0, 1, count - 2, count - 1}) {
    CHECK_DRIVER(cuMemcpyDtoH(&word, range + 4 * at, 4));
    EXPECT(word == 8);
  }

  CUmemGenericAllocationHandle kept;
  CHECK_DRIVER(
      cuMemRetainAllocationHandle(&kept, reinterpret_cast<void*>(range)));
  EXPECT(kept == memory);
  CHECK_DRIVER(cuMemRelease(kept));
  CUmemAllocationProp asked = {};
  CHECK_DRIVER(cuMemGetAllocationPropertiesFromHandle(&asked, memory));
  EXPECT(asked.type == prop.type && asked.location.id == 0);

  CHECK_DRIVER(cuMemUnmap(range, 3 * grain));
  CHECK_DRIVER(cuMemRelease(again));
  CHECK_DRIVER(cuMemRelease(memory));
  CHECK_DRIVER(cuMemAddressFree(range, 4 * grain));
  EXPECT(cuMemAddressFree(range, 4 * grain) != CUDA_SUCCESS);
  return Pass();
}
