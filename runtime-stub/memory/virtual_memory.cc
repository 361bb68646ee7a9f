// Virtual memory management: HIP's, whose structures have CUDA's layout and
// whose handles are pointers where CUDA has numbers.
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"
#include "runtime-stub/memory/multicast.h"
#include "runtime-stub/memory/pointer.h"
#include "support/never_destroyed.h"

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

// What is reserved and mapped, by first byte: HIP 6.4 begins copies and sets
// that run out of the mappings of a range, which end the process.
struct Ranges {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::map<CUdeviceptr, std::size_t> reserved, mapped;
};
NeverDestroyed<Ranges> g_all_ranges;
Ranges& g_ranges = *g_all_ranges;

}  // namespace

bool IsMapped(const void* pointer, std::size_t bytes) {
  if (!g_ranges.any.load(std::memory_order_acquire)) return true;
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(pointer);
  const CUdeviceptr end = address + bytes;
  std::lock_guard<std::mutex> lock(g_ranges.mutex);
  const auto range = g_ranges.reserved.upper_bound(address);
  if (range == g_ranges.reserved.begin() ||
      address - std::prev(range)->first >= std::prev(range)->second) {
    return true;
  }
  while (address < end) {
    const auto next = g_ranges.mapped.upper_bound(address);
    if (next == g_ranges.mapped.begin()) return false;
    const auto& [first, size] = *std::prev(next);
    if (address - first >= size) return false;
    address = first + size;
  }
  return true;
}

std::size_t OffsetInMapping(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(g_ranges.mutex);
  const auto next = g_ranges.mapped.upper_bound(address);
  if (next == g_ranges.mapped.begin()) return kNotMapped;
  const auto& [first, size] = *std::prev(next);
  return address - first < size ? address - first : kNotMapped;
}

namespace {

// Whether the addresses are of one range, and nothing is mapped there.
bool IsFree(CUdeviceptr address, std::size_t bytes) {
  if (HasMulticast(address, bytes)) return false;
  std::lock_guard<std::mutex> lock(g_ranges.mutex);
  const auto range = g_ranges.reserved.upper_bound(address);
  if (range == g_ranges.reserved.begin()) return false;
  const auto& [begin, size] = *std::prev(range);
  if (address - begin > size || bytes > size - (address - begin)) return false;
  const auto next = g_ranges.mapped.lower_bound(address + bytes);
  if (next == g_ranges.mapped.begin()) return true;
  const auto& [first, mapped] = *std::prev(next);
  return first + mapped <= address;
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
  if (error == hipSuccess) {
    *out = reinterpret_cast<CUdeviceptr>(pointer);
    std::lock_guard<std::mutex> lock(g_ranges.mutex);
    g_ranges.reserved[*out] = bytes;
    g_ranges.any.store(true, std::memory_order_release);
  }
  return NoteResult(context, error);
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  if (HasMulticast(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error = hip.hipMemAddressFree(Pointer(address), bytes);
  if (error == hipSuccess) {
    std::lock_guard<std::mutex> lock(g_ranges.mutex);
    g_ranges.reserved.erase(address);
  }
  return NoteResult(context, error);
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
  if (ReleaseMulticast(handle)) return CUDA_SUCCESS;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipMemRelease(Native(handle)));
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out,
                                     void* pointer) {
  if (out == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (RetainMulticast(out, reinterpret_cast<CUdeviceptr>(pointer))) {
    return CUDA_SUCCESS;
  }
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipMemRetainAllocationHandle(Native(out), pointer));
}
CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* out, CUmemGenericAllocationHandle handle) {
  if (out == nullptr || handle == 0 || IsMulticast(handle)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
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
  if (IsMulticast(handle)) {
    return IsFree(address, bytes) ? MapMulticast(address, bytes, offset, handle)
                                  : CUDA_ERROR_INVALID_VALUE;
  }
  if (HasMulticast(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const hipError_t error =
      hip.hipMemMap(Pointer(address), bytes, offset, Native(handle), 0);
  if (error == hipSuccess) {
    std::lock_guard<std::mutex> lock(g_ranges.mutex);
    g_ranges.mapped[address] = bytes;
  }
  return NoteResult(context, error);
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  CERB_OPTIONAL_CONTEXT(context);
  CUresult result = CUDA_SUCCESS;
  if (UnmapMulticast(address, bytes, &result)) return result;
  const hipError_t error = hip.hipMemUnmap(Pointer(address), bytes);
  if (error == hipSuccess) {
    std::lock_guard<std::mutex> lock(g_ranges.mutex);
    g_ranges.mapped.erase(g_ranges.mapped.lower_bound(address),
                          g_ranges.mapped.lower_bound(address + bytes));
  }
  return NoteResult(context, error);
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes,
                        const CUmemAccessDesc* list, std::size_t count) {
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  CUresult result = CUDA_SUCCESS;
  if (AllowMulticast(address, bytes, list, count, &result)) return result;
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
  if (MulticastAccess(address, location->id, flags)) return CUDA_SUCCESS;
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
  // None is made for any type of such a handle.
  if (IsMulticast(handle)) return CUDA_ERROR_INVALID_VALUE;
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
