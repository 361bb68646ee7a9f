// What can be asked of a kernel: attributes, parameters, occupancy.
#include <algorithm>

#include "formats/device_attributes.h"
#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/launch/clusters.h"
#include "runtime-stub/launch/launch.h"
#include "runtime-stub/launch/occupancy.h"
#include "runtime-stub/module/module.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// CUDA's most registers per thread; programs keep the number in a byte.
constexpr std::uint32_t kMaxRegisters = 255;

constexpr int kWarpSize = 32;

CUresult FindKernel(const void* handle, Kernel** kernel) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *kernel = KernelOf(handle);
  return *kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

#define CERB_KERNEL(name, handle)                              \
  Kernel* name = nullptr;                                      \
  if (CUresult cerb_kernel_result = FindKernel(handle, &name); \
      cerb_kernel_result != CUDA_SUCCESS)                      \
  return cerb_kernel_result

// CU_FUNC_ATTRIBUTE_… of CUDA 13.3 and 13.4.
constexpr CUfunction_attribute kDeviceNodeUpdateSupported = 16;
constexpr CUfunction_attribute kSharedMemoryMode = 17;

constexpr int kLastClusterPolicy = 2;  // CUclusterSchedulingPolicy

// Declares the kernel and the context in which it is meant.
#define CERB_KERNEL_CONTEXT(context, name, handle)                      \
  CERB_KERNEL(name, handle);                                            \
  Context* context = nullptr;                                           \
  if (CUresult cerb_kernel_result = UseModule(*name->module, &context); \
      cerb_kernel_result != CUDA_SUCCESS)                               \
  return cerb_kernel_result

CUresult GetAttribute(int* value, CUfunction_attribute attribute,
                      Kernel* kernel, Device* device) {
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(info->max_threads);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(info->program_shared());
      break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = static_cast<int>(info->const_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(info->local_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(std::min(info->registers, kMaxRegisters));
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: {
      // CUB takes its tuning by this number, so it is that of the PTX which
      // the code was made from.
      const std::uint32_t sm = kernel->module->SmOf(kernel, device);
      *value = sm != 0 ? static_cast<int>(sm) : device->cc.sm();
      break;
    }
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = device->cc.sm(); break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel->DynamicSharedLimit(*info));
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = kernel->carveout.load();
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      *value = info->explicit_cluster || info->required_cluster[0] != 0;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      *value = static_cast<int>(info->required_cluster[0]);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      *value = static_cast<int>(info->required_cluster[1]);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = static_cast<int>(info->required_cluster[2]);
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = kernel->large_clusters.load();
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = kernel->cluster_policy.load();
      break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case kDeviceNodeUpdateSupported:
    case kSharedMemoryMode: *value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult SetAttribute(CUfunction_attribute attribute, int value, Kernel* kernel,
                      Device* device) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const KernelInfo* info = nullptr;
      if (CUresult r = kernel->module->InfoOf(kernel, device, &info);
          r != CUDA_SUCCESS) {
        return r;
      }
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      const std::uint64_t wanted =
          static_cast<std::uint64_t>(value) + info->static_shared;
      const std::uint32_t limit = info->SharedLimit(device->shared_limit);
      if (wanted > limit) {
        const bool could = limit < formats::kWindowSharedLimit &&
                           wanted <= formats::kWindowSharedLimit;
        Log(LogLevel::kError,
            "kernel '%s' asks for %llu bytes of shared memory per block, %s "
            "has %u%s",
            kernel->name.c_str(), static_cast<unsigned long long>(wanted),
            device->target.processor.c_str(), limit,
            could ? "; converted with --shared-overflow=global (at run time: "
                    "CERBERUS_SHARED_OVERFLOW=global) it gets device memory "
                    "instead"
                  : "");
        return CUDA_ERROR_INVALID_VALUE;
      }
      kernel->max_dynamic_shared.store(value);
      return kernel->module->UpdateHandle(kernel, device);
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      kernel->carveout.store(value);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      if (value != 0 && value != 1) return CUDA_ERROR_INVALID_VALUE;
      kernel->large_clusters.store(value);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < 0 || value > kLastClusterPolicy) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      kernel->cluster_policy.store(value);
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult ParamInfo(Kernel* kernel, Device* device, std::size_t index,
                   std::size_t* offset, std::size_t* size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  if (index >= info->params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info->params[index].offset;
  if (size != nullptr) *size = info->params[index].size;
  return CUDA_SUCCESS;
}

CUresult ParamCount(Kernel* kernel, Device* device, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  *count = info->params.size();
  return CUDA_SUCCESS;
}

CUresult PotentialBlockSize(int* grid, int* block, CUfunction handle,
                            CUoccupancyB2DSize bytes_of_block,
                            std::size_t dynamic_shared, int limit) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, context->device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  int largest = static_cast<int>(info->max_threads);
  if (limit > 0) largest = std::min(largest, limit);
  // Largest first, so that of blocks that fill the multiprocessor equally
  // the largest is proposed.
  int best_threads = 0;
  const int first = (largest + kWarpSize - 1) / kWarpSize * kWarpSize;
  for (int size = first; size > 0; size -= kWarpSize) {
    const int tried = std::min(size, largest);
    const std::size_t bytes =
        bytes_of_block != nullptr ? bytes_of_block(tried) : dynamic_shared;
    int blocks = 0;
    const CUresult result =
        BlocksPerMultiprocessor(context, kernel, tried, bytes, &blocks);
    if (result != CUDA_SUCCESS) return result;
    if (blocks * tried > best_threads) {
      best_threads = blocks * tried;
      *block = tried;
      *grid = blocks * context->device->attribute(
                           formats::kAttribute_MULTIPROCESSOR_COUNT);
    }
  }
  return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult BlocksPerMultiprocessor(Context* context, Kernel* kernel,
                                 int block_size, std::size_t dynamic_shared,
                                 int* blocks, bool several) {
  if (block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const KernelInfo* info = nullptr;
  Device& device = *context->device;
  if (CUresult r = kernel->module->InfoOf(kernel, &device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  *blocks = 0;
  if (static_cast<std::uint32_t>(block_size) > info->max_threads ||
      dynamic_shared > kernel->DynamicSharedLimit(*info)) {
    return CUDA_SUCCESS;
  }
  const KernelInfo& form =
      info->FormFor(static_cast<unsigned>(block_size), dynamic_shared,
                    device.shared_limit, several);
  hipFunction_t function = nullptr;
  if (CUresult r =
          kernel->module->FunctionOf(kernel, context, &function, &form);
      r != CUDA_SUCCESS) {
    return r;
  }
  const std::uint32_t hardware_shared =
      form.HardwareShared(static_cast<std::uint32_t>(dynamic_shared));
  const std::uint32_t items =
      form.WorkGroupOf(static_cast<std::uint32_t>(block_size), 1, 1)[0];
  const hipError_t error =
      hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
          blocks, function, static_cast<int>(items), hardware_shared);
  // What can be launched fits: HIP 5 counts fewer registers than some GPUs
  // have.
  if (error == hipSuccess) *blocks = std::max(*blocks, 1);
  if (error != hipErrorNotSupported) return NoteResult(context, error);
  // Without HIP's answer: by threads and shared memory, which every device
  // reports.
  const int threads =
      device.attribute(formats::kAttribute_MAX_THREADS_PER_MULTIPROCESSOR);
  const int by_blocks =
      device.attribute(formats::kAttribute_MAX_BLOCKS_PER_MULTIPROCESSOR);
  *blocks = std::min(threads / static_cast<int>(items), by_blocks);
  const std::size_t shared =
      form.window ? 0 : dynamic_shared + form.static_shared;
  if (shared > 0) {
    const auto per_multiprocessor = static_cast<std::size_t>(device.attribute(
        formats::kAttribute_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
    *blocks = std::min(*blocks, static_cast<int>(per_multiprocessor / shared));
  }
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                            CUfunction handle) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  return GetAttribute(value, attribute, kernel, context->device);
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                              CUkernel handle, CUdevice ordinal) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL(kernel, handle);
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return GetAttribute(value, attribute, kernel, device);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                            int value) {
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  return SetAttribute(attribute, value, kernel, context->device);
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                              CUkernel handle, CUdevice ordinal) {
  CERB_KERNEL(kernel, handle);
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return SetAttribute(attribute, value, kernel, device);
}

// Preferences, which AMD GPUs have no use for.
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  CERB_KERNEL(kernel, handle);
  return IsCacheConfig(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config,
                                CUdevice) {
  return cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(handle), config);
}
// Banks of shared memory have one width on AMD GPUs.
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  CERB_KERNEL(kernel, handle);
  return IsSharedConfig(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL(kernel, handle);
  *out = kernel->function_handle();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL(kernel, handle);
  *out = kernel->module->library_handle();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL(kernel, handle);
  *out = kernel->module->module_handle();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** out, CUfunction handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL(kernel, handle);
  *out = kernel->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** out, CUkernel handle) {
  return cuFuncGetName(out, reinterpret_cast<CUfunction>(handle));
}
CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index,
                            std::size_t* offset, std::size_t* size) {
  CERB_KERNEL(kernel, handle);
  return ParamInfo(kernel, DeviceForQuery(*kernel->module), index, offset,
                   size);
}
CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index,
                              std::size_t* offset, std::size_t* size) {
  CERB_KERNEL(kernel, handle);
  return ParamInfo(kernel, DeviceForQuery(*kernel->module), index, offset,
                   size);
}

CUresult cuFuncGetParamCount(CUfunction handle, std::size_t* count) {
  CERB_KERNEL(kernel, handle);
  return ParamCount(kernel, DeviceForQuery(*kernel->module), count);
}
CUresult cuKernelGetParamCount(CUkernel handle, std::size_t* count) {
  CERB_KERNEL(kernel, handle);
  return ParamCount(kernel, DeviceForQuery(*kernel->module), count);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  const auto& on_device = kernel->devices[context->device->ordinal];
  *state = on_device.functions[0].load() != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction handle) {
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  hipFunction_t function = nullptr;
  return kernel->module->FunctionOf(kernel, context, &function);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, CUfunction handle, int block_size,
    std::size_t dynamic_shared) {
  if (blocks == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  return BlocksPerMultiprocessor(context, kernel, block_size, dynamic_shared,
                                 blocks);
}
// The flag is about NVIDIA's caches.
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction handle, int block_size, std::size_t dynamic_shared,
    unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, block_size,
                                                     dynamic_shared);
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle,
                                            const CUlaunchConfig* config) {
  if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, context->device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  *size = info->clusters == false
              ? 1
              : static_cast<int>(LargestCluster(*kernel, *info));
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle,
                                      const CUlaunchConfig* config) {
  if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  const KernelInfo* info = nullptr;
  CUresult result = kernel->module->InfoOf(kernel, context->device, &info);
  if (result != CUDA_SUCCESS) return result;
  *clusters = 0;
  Grid grid = {};
  result = GridOf(*config, &grid);
  if (result == CUDA_SUCCESS) result = SettleCluster(*kernel, *info, &grid);
  if (result != CUDA_SUCCESS) {
    return result == CUDA_ERROR_NOT_SUPPORTED ? CUDA_SUCCESS : result;
  }
  int blocks = 0;
  result = BlocksPerMultiprocessor(
      context, kernel, static_cast<int>(grid.threads()), grid.dynamic_shared,
      &blocks, grid.cluster_blocks() > 1);
  blocks *=
      context->device->attribute(formats::kAttribute_MULTIPROCESSOR_COUNT);
  *clusters = blocks / static_cast<int>(grid.cluster_blocks());
  return result;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                          CUfunction handle,
                                          CUoccupancyB2DSize bytes_of_block,
                                          std::size_t dynamic_shared,
                                          int limit) {
  return PotentialBlockSize(grid, block, handle, bytes_of_block, dynamic_shared,
                            limit);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    int* grid, int* block, CUfunction handle, CUoccupancyB2DSize bytes_of_block,
    std::size_t dynamic_shared, int limit, unsigned) {
  return PotentialBlockSize(grid, block, handle, bytes_of_block, dynamic_shared,
                            limit);
}

// The dynamic shared memory that lets `blocks` blocks share a
// multiprocessor.
CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes,
                                                 CUfunction handle, int blocks,
                                                 int block_size) {
  if (bytes == nullptr || blocks <= 0 || block_size <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_KERNEL_CONTEXT(context, kernel, handle);
  const KernelInfo* info = nullptr;
  if (CUresult r = kernel->module->InfoOf(kernel, context->device, &info);
      r != CUDA_SUCCESS) {
    return r;
  }
  const auto all = static_cast<std::uint32_t>(context->device->attribute(
      formats::kAttribute_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  const std::uint32_t share = all / static_cast<std::uint32_t>(blocks);
  const std::uint32_t most = std::min(share, context->device->shared_limit);
  *bytes = most > info->static_shared ? most - info->static_shared : 0;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
