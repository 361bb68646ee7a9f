// Device memory for the descriptors of texture and surface objects.
//
// A destroyed object's descriptor stays readable: kernels that are queued may
// need it. So do kernels that are launched later, which is no use that CUDA
// allows, but one that works on NVIDIA GPUs and that programs make: a C++
// object whose copy has destroyed the handle with itself (SiftGPU). So a slot
// rests before it serves again: until many others were destroyed after it, and
// all work of the context was seen done.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_DESCRIPTOR_POOL_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_DESCRIPTOR_POOL_H_

#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;

struct DescriptorPool {
  // A descriptor alone, and one with records of a mipmap's levels behind it.
  static constexpr std::array<std::size_t, 2> kSlotBytes = {128, 1024};
  struct Slots {
    std::deque<CUdeviceptr> free;
    std::deque<CUdeviceptr> resting;  // the longest rested in front
  };

  std::mutex mutex;  // guards what follows
  std::array<Slots, kSlotBytes.size()> slots;
  std::vector<void*> slabs;
  hipStream_t upload = nullptr;  // waits for no other stream
};

// A slot for so many bytes, at most the largest slot's.
CUresult TakeDescriptor(Context* context, std::size_t bytes, CUdeviceptr* slot);
// Waits for no work of the program.
CUresult WriteDescriptor(Context* context, CUdeviceptr slot,
                         const void* content, std::size_t bytes);
// `bytes` as it was taken with.
void ReleaseDescriptor(Context* context, std::size_t bytes, CUdeviceptr slot);
// Frees all; for the end of the context, when no work is left.
void DropDescriptors(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_DESCRIPTOR_POOL_H_
