// Multicast objects: memory of several devices under one range of addresses.
//
// Nothing lies at such a range. A kernel's multimem instructions look up where
// each device's memory is (docs/launch-abi.md, "Multicast memory"): at a range
// of the stub's own, of the object's size, in which the memory that is bound is
// mapped for all devices of the team. HIP knows none of it, so each function of
// virtual memory management asks here first.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_MULTICAST_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_MULTICAST_H_

#include <cstddef>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

bool IsMulticast(CUmemGenericAllocationHandle handle);
// Whether an object is mapped anywhere in there.
bool HasMulticast(CUdeviceptr address, std::size_t bytes);

// As cuMemRelease … have it; false: that is none of an object's.
bool ReleaseMulticast(CUmemGenericAllocationHandle handle);
bool RetainMulticast(CUmemGenericAllocationHandle* out, CUdeviceptr address);
bool UnmapMulticast(CUdeviceptr address, std::size_t bytes, CUresult* result);
bool AllowMulticast(CUdeviceptr address, std::size_t bytes,
                    const CUmemAccessDesc* list, std::size_t count,
                    CUresult* result);
bool MulticastAccess(CUdeviceptr address, int device,
                     unsigned long long* flags);
CUresult MapMulticast(CUdeviceptr address, std::size_t bytes,
                      std::size_t offset, CUmemGenericAllocationHandle handle);

// Tells the kernels of all devices, also of one that has services now.
CUresult PublishMulticast(bool unmapped = false);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_MULTICAST_H_
