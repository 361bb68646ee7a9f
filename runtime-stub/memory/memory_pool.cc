// Stream-ordered memory: HIP's pools under CUDA's name. Attributes, properties
// and access descriptions have the same layout and numbers.
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"
#include "runtime-stub/graph/graph_memory.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"

namespace cerberus::stub {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

hipMemPool_t HipPool(CUmemoryPool pool) {
  return reinterpret_cast<hipMemPool_t>(pool);
}
hipMemPool_t* HipPool(CUmemoryPool* pool) {
  return reinterpret_cast<hipMemPool_t*>(pool);
}

// HIP has pools of pinned device memory only.
CUresult PoolDevice(const CUmemLocation* location, CUmemAllocationType type,
                    CUdevice* device) {
  constexpr CUmemAllocationType kPinned = 1;
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != kPinned || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *device = location->id;
  return CUDA_SUCCESS;
}

// HIP before 5.3 follows the null stream's handle as a pointer.
bool FollowsNullStream(hipStream_t stream) {
  return stream == nullptr && hip.is_before_5_3;
}

CUresult CaptureAllocation(hipStream_t stream, const Device& device,
                           std::size_t bytes, CUdeviceptr* out) {
  constexpr CUmemAllocationType kPinned = 1;
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = kPinned;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
  params.bytesize = bytes;
  const CUresult result = CaptureNode(stream, [&params](auto... at) {
    return api::cuGraphAddMemAllocNode(at..., &params);
  });
  if (result == CUDA_SUCCESS) *out = params.dptr;
  return result;
}

}  // namespace

namespace api {

CUresult cuMemAllocAsync(CUdeviceptr* out, std::size_t bytes, CUstream handle) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  if (Captures(stream)) {
    return CaptureAllocation(stream, *context->device, bytes, out);
  }
  void* pointer = nullptr;
  const hipError_t error = FollowsNullStream(stream)
                               ? hip.hipMalloc(&pointer, bytes)
                               : hip.hipMallocAsync(&pointer, bytes, stream);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (address == 0) return CUDA_SUCCESS;
  if (Captures(stream)) {
    return CaptureNode(stream, [address](auto... at) {
      return cuGraphAddMemFreeNode(at..., address);
    });
  }
  if (const auto freed = FreeNodeMemory(address)) {
    return NoteResult(context, *freed);
  }
  hipError_t error = hipSuccess;
  if (FollowsNullStream(stream)) {
    error = hip.hipStreamSynchronize(stream);
    if (error == hipSuccess) error = hip.hipFree(Pointer(address));
  } else {
    error = hip.hipFreeAsync(Pointer(address), stream);
  }
  if (error == hipSuccess) NoteGraphMemoryFreed(address);
  return NoteResult(context, error);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, std::size_t bytes,
                                 CUmemoryPool pool, CUstream handle) {
  if (out == nullptr || bytes == 0 || pool == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_STREAM(context, stream, handle);
  // Memory of graphs is in no pool of the program's (CUDA Programming Guide,
  // "Graph Memory Nodes").
  if (Captures(stream)) {
    return CaptureAllocation(stream, *context->device, bytes, out);
  }
  void* pointer = nullptr;
  const hipError_t error =
      FollowsNullStream(stream)
          ? hip.hipMalloc(&pointer, bytes)
          : hip.hipMallocFromPoolAsync(&pointer, bytes, HipPool(pool), stream);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return FromHip(
      hip.hipDeviceGetDefaultMemPool(HipPool(pool), device->hip_ordinal));
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return FromHip(hip.hipDeviceGetMemPool(HipPool(pool), device->hip_ordinal));
}
CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return FromHip(hip.hipDeviceSetMemPool(device->hip_ordinal, HipPool(pool)));
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  CUmemPoolProps there = *props;
  if (CUresult r = ToHip(&there.location); r != CUDA_SUCCESS) return r;
  return NoteResult(context, hip.hipMemPoolCreate(HipPool(pool), &there));
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemPoolDestroy(HipPool(pool)));
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemPoolTrimTo(HipPool(pool), keep));
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                               void* value) {
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(
      context, hip.hipMemPoolSetAttribute(HipPool(pool), attribute, value));
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                               void* value) {
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(
      context, hip.hipMemPoolGetAttribute(HipPool(pool), attribute, value));
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* list,
                            std::size_t count) {
  if (pool == nullptr || list == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  std::vector<CUmemAccessDesc> there(list, list + count);
  for (CUmemAccessDesc& entry : there) {
    if (CUresult r = ToHip(&entry.location); r != CUDA_SUCCESS) return r;
  }
  return NoteResult(
      context, hip.hipMemPoolSetAccess(HipPool(pool), there.data(), count));
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                            CUmemLocation* location) {
  if (flags == nullptr || pool == nullptr || location == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  CUmemLocation there = *location;
  if (CUresult r = ToHip(&there); r != CUDA_SUCCESS) return r;
  return NoteResult(context,
                    hip.hipMemPoolGetAccess(flags, HipPool(pool), &there));
}

// --- by location, as of CUDA 13 ---

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  CUdevice device = 0;
  if (CUresult r = PoolDevice(location, type, &device); r != CUDA_SUCCESS) {
    return r;
  }
  return cuDeviceGetDefaultMemPool(pool, device);
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                         CUmemAllocationType type) {
  CUdevice device = 0;
  if (CUresult r = PoolDevice(location, type, &device); r != CUDA_SUCCESS) {
    return r;
  }
  return cuDeviceGetMemPool(pool, device);
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                         CUmemoryPool pool) {
  CUdevice device = 0;
  if (CUresult r = PoolDevice(location, type, &device); r != CUDA_SUCCESS) {
    return r;
  }
  return cuDeviceSetMemPool(device, pool);
}

// --- shared with other processes ---

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  if (handle == nullptr || pool == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemPoolExportToShareableHandle(
                                 handle, HipPool(pool), type, 0));
}
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  if (pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemPoolImportFromShareableHandle(
                                 HipPool(pool), handle, type, 0));
}
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data,
                                CUdeviceptr address) {
  if (data == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipMemPoolExportPointer(data, Pointer(address)));
}
CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  if (out == nullptr || pool == nullptr || data == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  void* pointer = nullptr;
  const hipError_t error =
      hip.hipMemPoolImportPointer(&pointer, HipPool(pool), data);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}

}  // namespace api
}  // namespace cerberus::stub
