// Memory: allocation, what is known of a pointer, managed memory.
#include <algorithm>
#include <cstring>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/api/handle.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"
#include "runtime-stub/graph/graph_memory.h"
#include "runtime-stub/memory/host_registration.h"
#include "runtime-stub/memory/pointer.h"
#include "runtime-stub/stream/stream.h"
#include "support/bytes.h"

namespace cerberus::stub {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Rows of cuMemAllocPitch start at multiples of this, on every AMD GPU a
// whole number of cache lines.
constexpr std::size_t kPitchAlignment = 256;

// What is known about one pointer.
struct PointerFacts {
  MemoryKind kind = MemoryKind::kUnregistered;
  hipPointerAttribute_t attributes = {};
  Device* device = nullptr;
};

PointerFacts FactsOf(CUdeviceptr address) {
  PointerFacts facts;
  if (IsLeftRegistered(address)) return facts;
  if (hip.hipPointerGetAttributes(&facts.attributes, Pointer(address)) !=
      hipSuccess) {
    return facts;
  }
  facts.kind = KindOf(facts.attributes, hip.major);
  facts.device = DeviceOfHip(facts.attributes.device);
  return facts;
}

CUresult RangeOf(CUdeviceptr address, CUdeviceptr* base, std::size_t* bytes) {
  hipDeviceptr_t start = nullptr;
  std::size_t size = 0;
  const hipError_t error =
      hip.hipMemGetAddressRange(&start, &size, Pointer(address));
  *base = Address(start);
  *bytes = size;
  return FromHip(error);
}

// Writes one attribute. `data` points at the attribute's own type
// (CUDA Driver API, CUpointer_attribute).
CUresult PointerAttribute(const PointerFacts& facts, CUdeviceptr address,
                          CUpointer_attribute attribute, void* data) {
  const bool known = facts.kind != MemoryKind::kUnregistered;
  const auto put = [data](auto value) {
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
  };
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      Context* context = known && facts.device != nullptr
                             ? facts.device->primary.get()
                             : nullptr;
      // A current context on the same device owns what the program sees.
      Context* current = CurrentContextOrNull();
      if (context != nullptr && current != nullptr &&
          current->device == facts.device) {
        context = current;
      }
      return put(context != nullptr ? context->handle() : CUcontext{});
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(static_cast<unsigned>(!known ? 0
                                       : facts.kind == MemoryKind::kHost
                                           ? CU_MEMORYTYPE_HOST
                                           : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (!known) return put(CUdeviceptr{0});
      return put(facts.kind == MemoryKind::kHost &&
                         facts.attributes.devicePointer != nullptr
                     ? Address(facts.attributes.devicePointer)
                     : address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (facts.kind == MemoryKind::kHost ||
          facts.kind == MemoryKind::kManaged) {
        return put(facts.attributes.hostPointer != nullptr
                       ? facts.attributes.hostPointer
                       : Pointer(address));
      }
      return put(static_cast<void*>(nullptr));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      // Unique while the allocation lives: its first byte's address.
      RangeOf(address, &base, &bytes);
      return put(base);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(static_cast<unsigned>(facts.kind == MemoryKind::kManaged));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(known ? FromHipOrdinal(facts.attributes.device) : -2);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      RangeOf(address, &base, &bytes);
      return put(base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      RangeOf(address, &base, &bytes);
      return put(bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return put(static_cast<unsigned>(known));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(std::uint64_t{0});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(known ? 3 : 0);  // read and write
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(static_cast<void*>(nullptr));
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

int DeviceOfLocation(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id
                                                      : kHostAsDevice;
}

// A device or the host, as HIP numbers it.
CUresult HipPlace(CUdevice device, int* where) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  *where = kHostAsDevice;
  if (device == kHostAsDevice) return CUDA_SUCCESS;
  const CUresult result = ToHip(&location);
  *where = location.id;
  return result;
}

// Advice and prefetching never change results, so a HIP without them is no
// reason to fail.
CUresult HintResult(Context* context, hipError_t error) {
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}

}  // namespace

CUresult UsePointer(CUdeviceptr address, Context** context) {
  const CUresult result = CurrentContext(context);
  if (result != CUDA_ERROR_INVALID_CONTEXT || address == 0) return result;
  const PointerFacts facts = FactsOf(address);
  if (facts.device == nullptr) return result;
  *context = facts.device->primary.get();
  return UseContext(*context);
}

namespace api {

CUresult cuMemAlloc_v2(CUdeviceptr* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  void* pointer = nullptr;
  const hipError_t error = hip.hipMalloc(&pointer, bytes);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  CERB_POINTER(context, address);
  if (address == 0) return CUDA_SUCCESS;
  if (const auto freed = FreeNodeMemory(address)) {
    return NoteResult(context, *freed);
  }
  const hipError_t error = hip.hipFree(Pointer(address));
  if (error == hipSuccess) NoteGraphMemoryFreed(address);
  return NoteResult(context, error);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, std::size_t* pitch,
                            std::size_t width, std::size_t height,
                            unsigned element_bytes) {
  if (out == nullptr || pitch == nullptr || width == 0 || height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto padded = CheckedAdd(width, kPitchAlignment - 1);
  if (!padded) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t row = *padded / kPitchAlignment * kPitchAlignment;
  const auto bytes = CheckedMul(row, height);
  if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = cuMemAlloc_v2(out, *bytes);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  const hipError_t error = hip.hipMemGetInfo(free, total);
  if (error != hipErrorNotSupported) return NoteResult(context, error);
  *free = *total = context->device->total_memory;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes,
                                 CUdeviceptr address) {
  CERB_POINTER(context, address);
  CUdeviceptr start = 0;
  std::size_t size = 0;
  const CUresult result = RangeOf(address, &start, &size);
  if (result != CUDA_SUCCESS) return result;
  if (base != nullptr) *base = start;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

// --- host memory ---

CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE |
                              CU_MEMHOSTALLOC_DEVICEMAP |
                              CU_MEMHOSTALLOC_WRITECOMBINED;
  if (out == nullptr || bytes == 0 || (flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  // With one address space for host and device, all pinned memory is mapped.
  return NoteResult(
      context,
      hip.hipHostMalloc(out, bytes, flags | CU_MEMHOSTALLOC_DEVICEMAP));
}
CUresult cuMemAllocHost_v2(void** out, std::size_t bytes) {
  return cuMemHostAlloc(out, bytes, 0);
}
CUresult cuMemFreeHost(void* pointer) {
  CERB_POINTER(context, Address(pointer));
  // As ggml does before it allocates: cudaFreeHost hands it on.
  if (pointer == nullptr) return CUDA_SUCCESS;
  return NoteResult(context, hip.hipHostFree(pointer));
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer,
                                      unsigned flags) {
  if (out == nullptr || pointer == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_POINTER(context, Address(pointer));
  void* device_pointer = nullptr;
  const hipError_t error =
      hip.hipHostGetDevicePointer(&device_pointer, pointer, 0);
  if (error == hipSuccess) *out = Address(device_pointer);
  return NoteResult(context, error);
}
CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  if (flags == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_POINTER(context, Address(pointer));
  return NoteResult(context, hip.hipHostGetFlags(flags, pointer));
}
CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes,
                              unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
      CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (pointer == nullptr || bytes == 0 || (flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  // Not all HIPs refuse what overlaps memory that is registered.
  const CUdeviceptr first = Address(pointer);
  if (FactsOf(first).kind == MemoryKind::kHost ||
      FactsOf(first + bytes - 1).kind == MemoryKind::kHost) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  if (RegisterAgain(first, bytes)) return CUDA_SUCCESS;
  return NoteResult(
      context, hip.hipHostRegister(pointer, bytes,
                                   (flags & (CU_MEMHOSTREGISTER_PORTABLE |
                                             CU_MEMHOSTREGISTER_IOMEMORY)) |
                                       CU_MEMHOSTREGISTER_DEVICEMAP));
}
CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}
CUresult cuMemHostUnregister(void* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_POINTER(context, Address(pointer));
  // Of which HIP 5.2 ends the process.
  if (FactsOf(Address(pointer)).kind != MemoryKind::kHost) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  if (LeaveRegistered(Address(pointer))) return CUDA_SUCCESS;
  return NoteResult(context, hip.hipHostUnregister(pointer));
}

// --- managed memory ---

CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t bytes,
                           unsigned flags) {
  if (out == nullptr || bytes == 0 ||
      (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  void* pointer = nullptr;
  const hipError_t error = hip.hipMallocManaged(&pointer, bytes, flags);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}

CUresult cuMemAdvise(CUdeviceptr address, std::size_t bytes,
                     CUmem_advise advice, CUdevice device) {
  CERB_OPTIONAL_CONTEXT(context);
  int where = 0;
  if (CUresult r = HipPlace(device, &where); r != CUDA_SUCCESS) return r;
  if (address == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return HintResult(context,
                    hip.hipMemAdvise(Pointer(address), bytes, advice, where));
}
CUresult cuMemAdvise_v2(CUdeviceptr address, std::size_t bytes,
                        CUmem_advise advice, CUmemLocation location) {
  return cuMemAdvise(address, bytes, advice, DeviceOfLocation(location));
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, std::size_t bytes,
                            CUdevice device, CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (address == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  int where = 0;
  if (CUresult r = HipPlace(device, &where); r != CUDA_SUCCESS) return r;
  return HintResult(
      context, hip.hipMemPrefetchAsync(Pointer(address), bytes, where, stream));
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t bytes,
                               CUmemLocation location, unsigned flags,
                               CUstream stream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return cuMemPrefetchAsync(address, bytes, DeviceOfLocation(location), stream);
}

// What was advised. Places are device ordinals, -1 for the host and -2 for
// none; with CUDA 12 they are also asked for as a type and an id.
CUresult cuMemRangeGetAttribute(void* data, std::size_t data_bytes,
                                CUmem_range_attribute attribute,
                                CUdeviceptr address, std::size_t bytes) {
  enum {
    kReadMostly = 1,
    kPreferredLocation = 2,
    kAccessedBy = 3,
    kLastPrefetchLocation = 4,
    kPreferredLocationType = 5,
    kPreferredLocationId = 6,
    kLastPrefetchLocationType = 7,
    kLastPrefetchLocationId = 8,
  };
  constexpr int kNowhere = -2;
  CERB_OPTIONAL_CONTEXT(context);
  if (data == nullptr || data_bytes < sizeof(int) ||
      data_bytes % sizeof(int) != 0 || address == 0 || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute < kReadMostly || attribute > kLastPrefetchLocationId ||
      (attribute != kAccessedBy && data_bytes != sizeof(int))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int asked = attribute;
  if (attribute == kPreferredLocationType ||
      attribute == kPreferredLocationId) {
    asked = kPreferredLocation;
  } else if (attribute > kPreferredLocationId) {
    asked = kLastPrefetchLocation;
  }
  const hipError_t error = hip.hipMemRangeGetAttribute(data, data_bytes, asked,
                                                       Pointer(address), bytes);
  if (error != hipSuccess) return NoteResult(context, error);
  if (asked == kReadMostly) return CUDA_SUCCESS;
  auto* values = static_cast<int*>(data);
  for (std::size_t i = 0; i < data_bytes / sizeof(int); ++i) {
    values[i] = FromHipOrdinal(values[i]);
  }
  const int place = values[0];
  if (attribute == kPreferredLocationType ||
      attribute == kLastPrefetchLocationType) {
    values[0] = place == kNowhere        ? CU_MEM_LOCATION_TYPE_INVALID
                : place == kHostAsDevice ? CU_MEM_LOCATION_TYPE_HOST
                                         : CU_MEM_LOCATION_TYPE_DEVICE;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemRangeGetAttributes(void** data, std::size_t* data_bytes,
                                 CUmem_range_attribute* attributes,
                                 std::size_t count, CUdeviceptr address,
                                 std::size_t bytes) {
  if (data == nullptr || data_bytes == nullptr || attributes == nullptr ||
      count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = cuMemRangeGetAttribute(
        data[i], data_bytes[i], attributes[i], address, bytes);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// --- what is known of a pointer ---

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  const PointerFacts facts = FactsOf(address);
  if (facts.kind == MemoryKind::kUnregistered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return PointerAttribute(facts, address, attribute, data);
}

// Unlike the call above, this one knows pointers that CUDA never saw: they
// have no context and no memory type.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr address) {
  if (attributes == nullptr || data == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  const PointerFacts facts = FactsOf(address);
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result =
        PointerAttribute(facts, address, attributes[i], data[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// The one attribute that can be set makes copies from this memory
// synchronous, which they may be anyway.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  CERB_POINTER(context, address);
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      FactsOf(address).kind == MemoryKind::kUnregistered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// --- memory of other processes ---

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_POINTER(context, address);
  return NoteResult(context, hip.hipIpcGetMemHandle(
                                 reinterpret_cast<hipIpcMemHandle_t*>(handle),
                                 Pointer(address)));
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle,
                               unsigned flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  hipIpcMemHandle_t hip_handle;
  std::memcpy(&hip_handle, &handle, sizeof hip_handle);
  // The one flag there is, and means what HIP does anyway: 0 before HIP 6.
  if (hip.major == 5) flags = 0;
  void* pointer = nullptr;
  const hipError_t error = hip.hipIpcOpenMemHandle(&pointer, hip_handle, flags);
  if (error == hipSuccess) *out = Address(pointer);
  return NoteResult(context, error);
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle,
                            unsigned flags) {
  return cuIpcOpenMemHandle_v2(out, handle, flags);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  CERB_POINTER(context, address);
  return NoteResult(context, hip.hipIpcCloseMemHandle(Pointer(address)));
}
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  if (handle == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_HANDLE(context, kEvent, event);
  return NoteResult(context, hip.hipIpcGetEventHandle(
                                 reinterpret_cast<hipIpcEventHandle_t*>(handle),
                                 reinterpret_cast<hipEvent_t>(event)));
}
CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  hipIpcEventHandle_t hip_handle;
  std::memcpy(&hip_handle, &handle, sizeof hip_handle);
  hipEvent_t event = nullptr;
  const hipError_t error = hip.hipIpcOpenEventHandle(&event, hip_handle);
  if (error != hipSuccess) return NoteResult(context, error);
  RememberNewHandle(HandleKind::kEvent, event, context,
                    [](hipEvent_t made) { hip.hipEventDestroy(made); });
  *out = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
