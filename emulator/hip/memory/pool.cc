// Stream-ordered allocation.
//
// Memory comes at the call and goes in stream order. A pool is a name for
// the device it allocates on.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;
using cerberus::emulator::MemoryKind;

HIP_API hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* out, void* pointer);
HIP_API hipError_t hipIpcOpenMemHandle(void** out, hipIpcMemHandle_t packed,
                                       unsigned flags);

struct ihipMemPoolHandle_t {
  Gpu* gpu;
  bool is_default;
  // What stands for the pool in other processes: an empty file. -1: a pool
  // that is not shared, or one that another process made.
  int file = -1;
  bool imported = false;
};

namespace {

constexpr std::uint32_t kPosixFileDescriptor = 1;

hipMemPool_t DefaultPool(int device) {
  static std::map<int, ihipMemPoolHandle_t>* pools = [] {
    std::map<int, ihipMemPoolHandle_t>* made =
        new std::map<int, ihipMemPoolHandle_t>;
    for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
      (*made)[gpu->ordinal] = {gpu.get(), true, -1, false};
    }
    return made;
  }();
  auto found = pools->find(device);
  return found == pools->end() ? nullptr : &found->second;
}

// The pools of hipDeviceSetMemPool, by device.
std::mutex g_mutex;
std::map<int, hipMemPool_t> g_chosen;

}  // namespace

HIP_API hipError_t hipMallocFromPoolAsync(void** out, std::size_t size,
                                          hipMemPool_t pool,
                                          hipStream_t stream) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (out == nullptr || pool == nullptr || pool->imported) {
    return Return(hipErrorInvalidValue);
  }
  const std::shared_ptr<Stream> found = Runtime::Get().FindStream(stream);
  if (!found) return Return(hipErrorInvalidHandle);
  if (size == 0) {
    *out = nullptr;
    return Return(hipSuccess);
  }
  if (IsCapturing(found)) {
    hipMemAllocNodeParams params = {};
    params.bytesize = size;
    params.poolProps.location = {1, pool->gpu->ordinal};
    Work work;
    error = MakeAllocWork(&params, &work);
    if (error != hipSuccess) return Return(error);
    *out = params.dptr;
    found->Submit(std::move(work));
    return Return(hipSuccess);
  }
  error = Runtime::Get().Allocate(pool->gpu, size, MemoryKind::kDevice, 0, out);
  if (error == hipSuccess) {
    const std::uint64_t used = pool->gpu->pool_used += size;
    std::uint64_t high = pool->gpu->pool_high;
    while (used > high &&
           !pool->gpu->pool_high.compare_exchange_weak(high, used)) {
    }
  }
  return Return(error);
}

HIP_API hipError_t hipMallocAsync(void** out, std::size_t size,
                                  hipStream_t stream) {
  std::shared_ptr<Stream> found = Runtime::Get().FindStream(stream);
  if (!found) return Return(hipErrorInvalidHandle);
  return hipMallocFromPoolAsync(out, size, DefaultPool(found->gpu()->ordinal),
                                stream);
}

HIP_API hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (pointer == nullptr) return Return(hipSuccess);
  std::shared_ptr<Stream> found = Runtime::Get().FindStream(stream);
  if (!found) return Return(hipErrorInvalidHandle);
  if (IsCapturing(found) || IsGraphMemory(pointer)) {
    Work work;
    error = MakeFreeWork(pointer, &work);
    if (error == hipSuccess) found->Submit(std::move(work));
    return Return(error);
  }
  if (IsImportedFromPool(pointer)) {
    // From another process's pool: it goes from this one only.
    Work work;
    work.kind = Work::Kind::kFree;
    work.also_after_error = true;
    work.run = [pointer] { CloseMemory(pointer); };
    found->Submit(std::move(work));
    return Return(hipSuccess);
  }
  std::optional<Block> block = Runtime::Get().Find(pointer);
  if (!block || block->address != reinterpret_cast<std::uint64_t>(pointer) ||
      block->kind != MemoryKind::kDevice || block->adopted) {
    return Return(hipErrorInvalidValue);
  }
  Gpu* owner = Runtime::Get().gpu(block->device);
  const std::uint64_t size = block->size;
  Work work;
  work.kind = Work::Kind::kFree;
  work.also_after_error = true;
  work.run = [pointer, owner, size] {
    if (Runtime::Get().Free(pointer, "hipFreeAsync") == hipSuccess) {
      std::uint64_t used = owner->pool_used;
      while (!owner->pool_used.compare_exchange_weak(
          used, used - std::min(used, size))) {
      }
    }
  };
  found->Submit(std::move(work));
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  if (pool == nullptr) return Return(hipErrorInvalidValue);
  *pool = DefaultPool(device);
  return Return(*pool != nullptr ? hipSuccess : hipErrorInvalidDevice);
}

HIP_API hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  const hipError_t error = hipDeviceGetDefaultMemPool(pool, device);
  if (error != hipSuccess) return error;
  const std::lock_guard<std::mutex> lock(g_mutex);
  const auto chosen = g_chosen.find(device);
  if (chosen != g_chosen.end()) *pool = chosen->second;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  if (pool == nullptr) return Return(hipErrorInvalidValue);
  if (DefaultPool(device) == nullptr) return Return(hipErrorInvalidDevice);
  if (pool->gpu->ordinal != device) return Return(hipErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_chosen[device] = pool;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPoolCreate(hipMemPool_t* pool,
                                    const hipMemPoolProps* props) {
  if (pool == nullptr || props == nullptr || props->location.type != 1 ||
      props->handleTypes > kPosixFileDescriptor) {
    return Return(hipErrorInvalidValue);
  }
  Gpu* gpu = Runtime::Get().gpu(props->location.id);
  if (gpu == nullptr) return Return(hipErrorInvalidValue);
  int file = -1;
  if (props->handleTypes == kPosixFileDescriptor) {
    file = memfd_create("cerberus-memory-pool", MFD_CLOEXEC);
    if (file < 0) return Return(hipErrorOutOfMemory);
  }
  *pool = new ihipMemPoolHandle_t{gpu, false, file, false};
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  if (pool == nullptr || pool->is_default) return Return(hipErrorInvalidValue);
  if (pool->file >= 0) close(pool->file);
  {
    // The device goes back to its default pool.
    const std::lock_guard<std::mutex> lock(g_mutex);
    const auto chosen = g_chosen.find(pool->gpu->ordinal);
    if (chosen != g_chosen.end() && chosen->second == pool) {
      g_chosen.erase(chosen);
    }
  }
  delete pool;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  return Return(pool != nullptr ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemPoolSetAttribute(hipMemPool_t pool,
                                          std::uint32_t attribute,
                                          void* value) {
  if (pool == nullptr || value == nullptr || attribute < 1 || attribute > 8) {
    return Return(hipErrorInvalidValue);
  }
  if (attribute == hipMemPoolAttrReleaseThreshold) {
    std::memcpy(&pool->gpu->release_threshold, value, 8);
  } else if (attribute == hipMemPoolAttrUsedMemHigh ||
             attribute == hipMemPoolAttrReservedMemHigh) {
    std::uint64_t zero = 0;
    std::memcpy(&zero, value, 8);
    if (zero != 0) return Return(hipErrorInvalidValue);
    pool->gpu->pool_high = pool->gpu->pool_used.load();
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPoolGetAttribute(hipMemPool_t pool,
                                          std::uint32_t attribute,
                                          void* value) {
  if (pool == nullptr || value == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  std::uint64_t wide = 0;
  switch (attribute) {
    case hipMemPoolReuseFollowEventDependencies:
    case hipMemPoolReuseAllowOpportunistic:
    case hipMemPoolReuseAllowInternalDependencies: {
      int yes = 1;
      std::memcpy(value, &yes, sizeof yes);
      return Return(hipSuccess);
    }
    case hipMemPoolAttrReleaseThreshold:
      wide = pool->gpu->release_threshold;
      break;
    case hipMemPoolAttrReservedMemCurrent:
    case hipMemPoolAttrUsedMemCurrent: wide = pool->gpu->pool_used; break;
    case hipMemPoolAttrReservedMemHigh:
    case hipMemPoolAttrUsedMemHigh: wide = pool->gpu->pool_high; break;
    default: return Return(hipErrorInvalidValue);
  }
  std::memcpy(value, &wide, sizeof wide);
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemPoolSetAccess(hipMemPool_t pool,
                                       const hipMemAccessDesc* list,
                                       std::size_t count) {
  return Return(pool != nullptr && (list != nullptr || count == 0)
                    ? hipSuccess
                    : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemPoolGetAccess(std::uint32_t* flags, hipMemPool_t pool,
                                       hipMemLocation* location) {
  if (flags == nullptr || pool == nullptr || location == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  *flags = location->id == pool->gpu->ordinal ? 3 : 0;
  return Return(hipSuccess);
}

// --- Pools shared between processes ---------------------------------------

HIP_API hipError_t hipMemPoolExportToShareableHandle(void* out,
                                                     hipMemPool_t pool,
                                                     std::uint32_t type,
                                                     unsigned flags) {
  if (out == nullptr || pool == nullptr || pool->file < 0 || flags != 0 ||
      type != kPosixFileDescriptor) {
    return Return(hipErrorInvalidValue);
  }
  const int copy = fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Return(hipErrorOutOfMemory);
  *static_cast<int*>(out) = copy;
  return Return(hipSuccess);
}

// The descriptor itself stands in `handle`, as CUDA passes it. Nothing can be
// allocated from the pool that comes of it.
HIP_API hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t* pool,
                                                       void* handle,
                                                       std::uint32_t type,
                                                       unsigned flags) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
  if (pool == nullptr || flags != 0 || type != kPosixFileDescriptor ||
      fcntl(file, F_GETFD) < 0) {
    return Return(hipErrorInvalidValue);
  }
  *pool = new ihipMemPoolHandle_t{gpu, false, -1, true};
  return Return(hipSuccess);
}

// hipMemPoolPtrExportData has the size of a handle of memory, and is one.
HIP_API hipError_t hipMemPoolExportPointer(hipIpcMemHandle_t* out,
                                           void* pointer) {
  return hipIpcGetMemHandle(out, pointer);
}

HIP_API hipError_t hipMemPoolImportPointer(void** out, hipMemPool_t pool,
                                           const hipIpcMemHandle_t* data) {
  if (pool == nullptr || !pool->imported || data == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const hipError_t error = hipIpcOpenMemHandle(out, *data, 0);
  if (error == hipSuccess) NotePooled(*out);
  return error;
}
