// Allocations and what can be asked about a pointer.
#include <algorithm>
#include <cstring>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hip {
namespace {

hipError_t Make(void** out, std::uint64_t size, MemoryKind kind,
                unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (out == nullptr) return hipErrorInvalidValue;
  if (size == 0) {
    *out = nullptr;
    return hipSuccess;
  }
  return Runtime::Get().Allocate(gpu, size, kind, flags, out);
}

// Frees wait for all work of the device and its peers first, as HIP does: a
// kernel that still runs may use the memory.
hipError_t Release(void* pointer, bool host) {
  if (Runtime::Get().gpus().empty()) return hipErrorNoDevice;
  if (pointer == nullptr) return hipSuccess;
  std::optional<Block> block = Runtime::Get().Find(pointer);
  if (!block || block->address != reinterpret_cast<std::uint64_t>(pointer) ||
      (block->kind == MemoryKind::kHost) != host ||
      (block->adopted && !IsMappedExternal(pointer) &&
       !IsImportedFromPool(pointer))) {
    return hipErrorInvalidValue;
  }
  if (host) {
    for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
      gpu->Synchronize();
    }
  } else {
    for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
      if (block->kind == MemoryKind::kManaged ||
          Runtime::Get().Reaches(gpu.get(), block->device)) {
        gpu->Synchronize();
      }
    }
  }
  if (IsImportedFromPool(pointer)) return CloseMemory(pointer);
  if (block->adopted) return UnmapExternal(pointer);
  if (FreeGraphMemory(pointer)) return hipSuccess;
  return Runtime::Get().Free(pointer, host ? "hipHostFree" : "hipFree");
}

// Rows start at multiples of 256 bytes.
constexpr std::uint64_t kPitch = 256;

hipError_t MakePitched(void** out, std::size_t* pitch, std::size_t width,
                       std::size_t height, std::size_t depth) {
  if (out == nullptr || pitch == nullptr) return hipErrorInvalidValue;
  if (width == 0 || height == 0 || depth == 0) {
    *out = nullptr;
    *pitch = 0;
    return hipSuccess;
  }
  if (width > ~std::uint64_t{0} - kPitch) return hipErrorInvalidValue;
  const std::uint64_t row = AlignUp(width, kPitch);
  std::optional<std::uint64_t> slice = CheckedMul(row, height);
  std::optional<std::uint64_t> size =
      slice ? CheckedMul(*slice, depth) : std::nullopt;
  if (!size) return hipErrorOutOfMemory;
  hipError_t error = Make(out, *size, MemoryKind::kDevice, 0);
  if (error == hipSuccess) *pitch = row;
  return error;
}

// The number of a memory type in the caller's version of HIP.
std::uint32_t TypeNumber(MemoryKind kind) {
  const bool old = ApiMajor() < 6;
  switch (kind) {
    case MemoryKind::kHost:
    case MemoryKind::kRegistered: return old ? 0 : hipMemoryTypeHost;
    case MemoryKind::kManaged: return old ? 4 : hipMemoryTypeManaged;
    case MemoryKind::kDevice:
    case MemoryKind::kCode: break;
  }
  return old ? 1 : hipMemoryTypeDevice;
}

}  // namespace
}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;
using cerberus::emulator::MemoryKind;

HIP_API hipError_t hipMalloc(void** out, std::size_t size) {
  return Return(Make(out, size, MemoryKind::kDevice, 0));
}

HIP_API hipError_t hipExtMallocWithFlags(void** out, std::size_t size,
                                         unsigned flags) {
  return Return(Make(out, size, MemoryKind::kDevice, flags));
}

HIP_API hipError_t hipFree(void* pointer) {
  return Return(Release(pointer, false));
}

HIP_API hipError_t hipHostMalloc(void** out, std::size_t size, unsigned flags) {
  return Return(Make(out, size, MemoryKind::kHost, flags));
}

HIP_API hipError_t hipHostAlloc(void** out, std::size_t size, unsigned flags) {
  return hipHostMalloc(out, size, flags);
}

HIP_API hipError_t hipMallocHost(void** out, std::size_t size) {
  return hipHostMalloc(out, size, 0);
}

HIP_API hipError_t hipMemAllocHost(void** out, std::size_t size) {
  return hipHostMalloc(out, size, 0);
}

HIP_API hipError_t hipHostFree(void* pointer) {
  return Return(Release(pointer, true));
}

HIP_API hipError_t hipFreeHost(void* pointer) { return hipHostFree(pointer); }

HIP_API hipError_t hipMallocManaged(void** out, std::size_t size,
                                    unsigned flags) {
  if (size == 0 || (flags != hipMemAttachGlobal && flags != hipMemAttachHost)) {
    return Return(hipErrorInvalidValue);
  }
  return Return(Make(out, size, MemoryKind::kManaged, flags));
}

HIP_API hipError_t hipMallocPitch(void** out, std::size_t* pitch,
                                  std::size_t width, std::size_t height) {
  return Return(MakePitched(out, pitch, width, height, 1));
}

HIP_API hipError_t hipMemAllocPitch(hipDeviceptr_t* out, std::size_t* pitch,
                                    std::size_t width, std::size_t height,
                                    unsigned element) {
  if (element != 4 && element != 8 && element != 16) {
    return Return(hipErrorInvalidValue);
  }
  return Return(MakePitched(out, pitch, width, height, 1));
}

HIP_API hipError_t hipMalloc3D(hipPitchedPtr* out, hipExtent extent) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  hipError_t error = MakePitched(&out->ptr, &out->pitch, extent.width,
                                 extent.height, extent.depth);
  if (error == hipSuccess) {
    out->xsize = extent.width;
    out->ysize = extent.height;
  }
  return Return(error);
}

HIP_API hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (free == nullptr || total == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  *total = TotalMemory();
  *free =
      *total - std::min<std::size_t>(*total, Runtime::Get().Used(gpu->ordinal));
  return Return(hipSuccess);
}

HIP_API hipError_t hipHostRegister(void* host, std::size_t size,
                                   unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (host == nullptr || size == 0) return Return(hipErrorInvalidValue);
  return Return(Runtime::Get().RegisterHost(host, size, flags));
}

HIP_API hipError_t hipHostUnregister(void* host) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (host == nullptr) return Return(hipErrorInvalidValue);
  for (const std::unique_ptr<Gpu>& each : Runtime::Get().gpus()) {
    each->Synchronize();
  }
  return Return(Runtime::Get().UnregisterHost(host));
}

HIP_API hipError_t hipHostGetDevicePointer(void** device, void* host,
                                           unsigned flags) {
  if (device == nullptr || host == nullptr || flags != 0) {
    return Return(hipErrorInvalidValue);
  }
  std::optional<Block> block = Runtime::Get().Find(host);
  if (!block || (block->kind != MemoryKind::kHost &&
                 block->kind != MemoryKind::kRegistered &&
                 block->kind != MemoryKind::kManaged)) {
    return Return(hipErrorInvalidValue);
  }
  *device = host;  // one address space
  return Return(hipSuccess);
}

HIP_API hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  if (flags == nullptr || host == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  std::optional<Block> block = Runtime::Get().Find(host);
  if (!block || (block->kind != MemoryKind::kHost &&
                 block->kind != MemoryKind::kRegistered)) {
    return Return(hipErrorInvalidValue);
  }
  *flags = block->flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemGetAddressRange(hipDeviceptr_t* base,
                                         std::size_t* size,
                                         hipDeviceptr_t pointer) {
  std::optional<Block> block = Runtime::Get().Find(pointer);
  if (!block) return Return(hipErrorNotFound);
  if (base != nullptr) *base = reinterpret_cast<void*>(block->address);
  if (size != nullptr) *size = block->size;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPtrGetInfo(void* pointer, std::size_t* size) {
  if (pointer == nullptr || size == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  std::optional<Block> block = Runtime::Get().Find(pointer);
  if (!block) return Return(hipErrorInvalidValue);
  *size = block->size;
  return Return(hipSuccess);
}

// --- Pointer attributes ---------------------------------------------------

HIP_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out,
                                           const void* pointer) {
  if (out == nullptr || pointer == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  std::optional<Block> block = Runtime::Get().Find(pointer);
  *out = {};
  if (!block) {
    // Version 6 on: any host pointer is "unregistered"; before, an error.
    if (ApiMajor() < 6) return Return(hipErrorInvalidValue);
    out->type = hipMemoryTypeUnregistered;
    out->device = -2;  // hipInvalidDeviceId
    out->hostPointer = const_cast<void*>(pointer);
    return Return(hipSuccess);
  }
  out->type = TypeNumber(block->kind);
  out->device = block->device;
  out->devicePointer = const_cast<void*>(pointer);
  const bool on_host =
      block->kind != MemoryKind::kDevice && block->kind != MemoryKind::kCode;
  out->hostPointer = on_host ? const_cast<void*>(pointer) : nullptr;
  out->isManaged = block->kind == MemoryKind::kManaged;
  out->allocationFlags = block->flags;
  return Return(hipSuccess);
}

namespace {

hipError_t GetAttribute(void* data, std::uint32_t attribute, void* pointer) {
  std::optional<Block> block = Runtime::Get().Find(pointer);
  const bool on_host = block && block->kind != MemoryKind::kDevice &&
                       block->kind != MemoryKind::kCode;
  auto put = [data](auto value) {
    std::memcpy(data, &value, sizeof value);
    return hipSuccess;
  };
  if (!block) {
    switch (attribute) {
      case HIP_POINTER_ATTRIBUTE_MAPPED: return put(false);
      case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return ApiMajor() < 6 ? hipErrorInvalidValue
                              : put(hipMemoryTypeUnregistered);
      default: return hipErrorInvalidValue;
    }
  }
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
      return put(ContextOf(Runtime::Get().gpu(block->device)));
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: return put(TypeNumber(block->kind));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host) return hipErrorInvalidValue;
      return put(pointer);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(false);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(static_cast<unsigned long long>(block->id));
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(block->kind == MemoryKind::kManaged);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(block->device);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(reinterpret_cast<void*>(block->address));
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(static_cast<std::size_t>(block->size));
    case HIP_POINTER_ATTRIBUTE_MAPPED: return put(true);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS: return put(3);  // read, write
    case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(0);
    case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(false);
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(static_cast<void*>(nullptr));
    default: return hipErrorInvalidValue;
  }
}

}  // namespace

HIP_API hipError_t hipPointerGetAttribute(void* data, std::uint32_t attribute,
                                          hipDeviceptr_t pointer) {
  if (data == nullptr || pointer == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  return Return(GetAttribute(data, attribute, pointer));
}

HIP_API hipError_t hipPointerSetAttribute(const void* value,
                                          std::uint32_t attribute,
                                          hipDeviceptr_t pointer) {
  if (value == nullptr || attribute != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      !Runtime::Get().Find(pointer)) {
    return Return(hipErrorInvalidValue);
  }
  return Return(hipSuccess);  // synchronous copies are synchronous anyway
}

HIP_API hipError_t hipDrvPointerGetAttributes(unsigned count,
                                              const std::uint32_t* attributes,
                                              void** data,
                                              hipDeviceptr_t pointer) {
  if (attributes == nullptr || data == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  for (unsigned i = 0; i < count; ++i) {
    // What a pointer does not have is null or 0, not an error, here.
    if (data[i] == nullptr) return Return(hipErrorInvalidValue);
    if (GetAttribute(data[i], attributes[i], pointer) != hipSuccess) {
      const bool wide =
          attributes[i] == HIP_POINTER_ATTRIBUTE_DEVICE_POINTER ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_HOST_POINTER ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_CONTEXT ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_RANGE_SIZE ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_BUFFER_ID ||
          attributes[i] == HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
      const bool narrow = attributes[i] == HIP_POINTER_ATTRIBUTE_IS_MANAGED ||
                          attributes[i] == HIP_POINTER_ATTRIBUTE_MAPPED;
      std::memset(data[i], 0, wide ? 8 : narrow ? 1 : 4);
    }
  }
  return Return(hipSuccess);
}
