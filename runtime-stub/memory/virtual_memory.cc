// Virtual memory management: HIP's, whose structures have CUDA's layout and
// whose handles are pointers where CUDA has numbers.
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"

namespace cerberus::stub {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

hipMemGenericAllocationHandle_t Native(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<hipMemGenericAllocationHandle_t>(handle);
}
hipMemGenericAllocationHandle_t* Native(CUmemGenericAllocationHandle* handle) {
  return reinterpret_cast<hipMemGenericAllocationHandle_t*>(handle);
}

// The properties with HIP's device number.
CUresult HipProperties(const CUmemAllocationProp* properties,
                       CUmemAllocationProp* out) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = *properties;
  return ToHip(&out->location);
}

}  // namespace

namespace api {

CUresult cuMemGetAllocationGranularity(std::size_t* granularity,
                                       const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags flags) {
  if (granularity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  CUmemAllocationProp there;
  if (CUresult r = HipProperties(properties, &there); r != CUDA_SUCCESS) {
    return r;
  }
  return NoteResult(
      context, hip.hipMemGetAllocationGranularity(granularity, &there, flags));
}

CUresult cuMemAddressReserve(CUdeviceptr* out, std::size_t bytes,
                             std::size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  if (out == nullptr || bytes == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  void* pointer = nullptr;
  const hipError_t error =
      hip.hipMemAddressReserve(&pointer, bytes, alignment, Pointer(wanted), 0);
  if (error == hipSuccess) *out = reinterpret_cast<CUdeviceptr>(pointer);
  return NoteResult(context, error);
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemAddressFree(Pointer(address), bytes));
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, std::size_t bytes,
                     const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  if (out == nullptr || bytes == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  CUmemAllocationProp there;
  if (CUresult r = HipProperties(properties, &there); r != CUDA_SUCCESS) {
    return r;
  }
  return NoteResult(context, hip.hipMemCreate(Native(out), bytes, &there, 0));
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (handle == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemRelease(Native(handle)));
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out,
                                     void* pointer) {
  if (out == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipMemRetainAllocationHandle(Native(out), pointer));
}
CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* out, CUmemGenericAllocationHandle handle) {
  if (out == nullptr || handle == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error =
      hip.hipMemGetAllocationPropertiesFromHandle(out, Native(handle));
  if (error == hipSuccess &&
      out->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    out->location.id = FromHipOrdinal(out->location.id);
  }
  return NoteResult(context, error);
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (address == 0 || bytes == 0 || handle == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemMap(Pointer(address), bytes, offset,
                                           Native(handle), 0));
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemUnmap(Pointer(address), bytes));
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes,
                        const CUmemAccessDesc* list, std::size_t count) {
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  std::vector<CUmemAccessDesc> there(list, list + count);
  for (CUmemAccessDesc& entry : there) {
    if (CUresult r = ToHip(&entry.location); r != CUDA_SUCCESS) return r;
  }
  return NoteResult(context, hip.hipMemSetAccess(Pointer(address), bytes,
                                                 there.data(), count));
}
CUresult cuMemGetAccess(unsigned long long* flags,
                        const CUmemLocation* location, CUdeviceptr address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  CUmemLocation there = *location;
  if (CUresult r = ToHip(&there); r != CUDA_SUCCESS) return r;
  return NoteResult(context,
                    hip.hipMemGetAccess(flags, &there, Pointer(address)));
}

CUresult cuMemExportToShareableHandle(void* out,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  if (out == nullptr || handle == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(
      context, hip.hipMemExportToShareableHandle(out, Native(handle), type, 0));
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out,
                                        void* handle,
                                        CUmemAllocationHandleType type) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  // CUDA has the descriptor itself stand in the pointer; HIP 6.4 reads it from
  // there.
  int file = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
  return NoteResult(context,
                    hip.hipMemImportFromShareableHandle(
                        Native(out), hip.major < 7 ? &file : handle, type));
}

}  // namespace api
}  // namespace cerberus::stub
