#include "runtime-stub/memory/descriptor_pool.h"

#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/stream/capture.h"

namespace cerberus::stub {
namespace {

constexpr std::size_t kSlabBytes = 64 * 1024;
// At least so many rest. If none of a larger number could serve again because
// the device was never seen idle, all work is waited for.
constexpr std::size_t kLeastResting = 4096;
constexpr std::size_t kMostResting = 65536;
constexpr unsigned kNonBlocking = 1;

std::size_t ClassOf(std::size_t bytes) {
  std::size_t at = 0;
  while (at + 1 < DescriptorPool::kSlotBytes.size() &&
         DescriptorPool::kSlotBytes[at] < bytes) {
    ++at;
  }
  return at;
}

// Whether none of the context's streams has work. While one captures, the
// others may not be asked.
bool IsIdle(Context* context) {
  std::lock_guard<std::mutex> lock(context->mutex);
  std::vector<hipStream_t> streams = context->streams;
  streams.push_back(HipPerThreadStream());
  for (hipStream_t stream : streams) {
    if (IsCapturing(stream)) return false;
  }
  streams.push_back(nullptr);
  for (hipStream_t stream : streams) {
    if (hip.hipStreamQuery(stream) != hipSuccess) return false;
  }
  return true;
}

hipError_t AddSlab(DescriptorPool* pool, std::size_t slot_bytes,
                   DescriptorPool::Slots* slots) {
  void* slab = nullptr;
  const hipError_t error = hip.hipMalloc(&slab, kSlabBytes);
  if (error != hipSuccess) return error;
  try {
    pool->slabs.push_back(slab);
  } catch (...) {
    hip.hipFree(slab);
    throw;
  }
  for (std::size_t at = 0; at < kSlabBytes; at += slot_bytes) {
    slots->free.push_back(reinterpret_cast<CUdeviceptr>(slab) + at);
  }
  return hipSuccess;
}

// Makes slots free, of those that rest or new ones.
hipError_t FindSlots(Context* context, std::size_t slot_bytes,
                     DescriptorPool::Slots* slots) {
  const std::size_t resting = slots->resting.size();
  if (resting > kLeastResting &&
      (IsIdle(context) ||
       (resting >= kMostResting && hip.hipDeviceSynchronize() == hipSuccess))) {
    while (slots->resting.size() > kLeastResting) {
      slots->free.push_back(slots->resting.front());
      slots->resting.pop_front();
    }
    return hipSuccess;
  }
  return AddSlab(&context->descriptors, slot_bytes, slots);
}

}  // namespace

CUresult TakeDescriptor(Context* context, std::size_t bytes,
                        CUdeviceptr* slot) {
  const std::size_t index = ClassOf(bytes);
  const std::size_t slot_bytes = DescriptorPool::kSlotBytes[index];
  if (bytes > slot_bytes) return CUDA_ERROR_INVALID_VALUE;
  const RelaxedCapture relaxed;
  DescriptorPool& pool = context->descriptors;
  std::lock_guard<std::mutex> lock(pool.mutex);
  DescriptorPool::Slots& slots = pool.slots[index];
  if (slots.free.empty()) {
    const hipError_t error = FindSlots(context, slot_bytes, &slots);
    if (error != hipSuccess) return NoteResult(context, error);
  }
  *slot = slots.free.front();
  slots.free.pop_front();
  return CUDA_SUCCESS;
}

CUresult WriteDescriptor(Context* context, CUdeviceptr slot,
                         const void* content, std::size_t bytes) {
  const RelaxedCapture relaxed;
  DescriptorPool& pool = context->descriptors;
  std::lock_guard<std::mutex> lock(pool.mutex);
  hipError_t error = hipSuccess;
  if (pool.upload == nullptr) {
    error = hip.hipStreamCreateWithFlags(&pool.upload, kNonBlocking);
  }
  if (error == hipSuccess) {
    error = hip.hipMemcpyAsync(reinterpret_cast<void*>(slot), content, bytes,
                               hipMemcpyHostToDevice, pool.upload);
  }
  if (error == hipSuccess) error = hip.hipStreamSynchronize(pool.upload);
  return NoteResult(context, error);
}

void ReleaseDescriptor(Context* context, std::size_t bytes, CUdeviceptr slot) {
  DescriptorPool& pool = context->descriptors;
  std::lock_guard<std::mutex> lock(pool.mutex);
  pool.slots[ClassOf(bytes)].resting.push_back(slot);
}

void DropDescriptors(Context* context) {
  DescriptorPool& pool = context->descriptors;
  std::lock_guard<std::mutex> lock(pool.mutex);
  for (DescriptorPool::Slots& slots : pool.slots) {
    slots.free.clear();
    slots.resting.clear();
  }
  for (void* slab : pool.slabs) hip.hipFree(slab);
  pool.slabs.clear();
  if (pool.upload != nullptr) hip.hipStreamDestroy(pool.upload);
  pool.upload = nullptr;
}

}  // namespace cerberus::stub
