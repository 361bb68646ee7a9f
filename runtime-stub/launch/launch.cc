// Kernel launches: the arguments in one buffer (docs/launch-abi.md).
//
// Nothing on this path allocates (a context's first cooperative launch,
// windows of shared memory and printed text excepted), and no lock is held
// while HIP is called.
#include "runtime-stub/launch/launch.h"

#include <alloca.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "formats/device_attributes.h"
#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/launch/clusters.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/occupancy.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/launch/shared_window.h"
#include "runtime-stub/module/module.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// A buffer as the program passes it in `extra`.
struct Packed {
  const void* data = nullptr;
  std::size_t size = 0;
};

CUresult ReadExtra(void** extra, Packed* packed) {
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kLaunchParamEnd;
       extra += 2) {
    switch (reinterpret_cast<std::uintptr_t>(*extra)) {
      case kLaunchParamBufferPointer: packed->data = extra[1]; break;
      case kLaunchParamBufferSize:
        if (extra[1] == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(&packed->size, extra[1], sizeof packed->size);
        break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return packed->data != nullptr || packed->size == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

// A grid that cannot be is CUDA_ERROR_INVALID_VALUE to a program of the driver
// API. A program of the runtime expects cudaErrorInvalidConfiguration, which is
// no CUresult; cudart hands this number on as it is.
constexpr auto kInvalidConfiguration = static_cast<CUresult>(9);

CUresult CheckGrid(Kernel& kernel, const KernelInfo& info, const Device& device,
                   const Grid& grid) {
  const auto within = [&device](unsigned value, int limit_id) {
    return value != 0 &&
           value <= static_cast<unsigned>(device.attribute(limit_id));
  };
  const bool fits =
      within(grid.block_x, formats::kAttribute_MAX_BLOCK_DIM_X) &&
      within(grid.block_y, formats::kAttribute_MAX_BLOCK_DIM_Y) &&
      within(grid.block_z, formats::kAttribute_MAX_BLOCK_DIM_Z) &&
      within(grid.grid_x, formats::kAttribute_MAX_GRID_DIM_X) &&
      within(grid.grid_y, formats::kAttribute_MAX_GRID_DIM_Y) &&
      within(grid.grid_z, formats::kAttribute_MAX_GRID_DIM_Z) &&
      grid.threads() <= static_cast<unsigned>(device.attribute(
                            formats::kAttribute_MAX_THREADS_PER_BLOCK));
  if (!fits || grid.threads() > info.max_threads) {
    Log(LogLevel::kInfo,
        "launch of '%s': grid %u,%u,%u of blocks %u,%u,%u; at most %u threads",
        kernel.name.c_str(), grid.grid_x, grid.grid_y, grid.grid_z,
        grid.block_x, grid.block_y, grid.block_z, info.max_threads);
    if (!fits) return kInvalidConfiguration;
    // As NVIDIA's driver has it, by numba's tests of launch bounds.
    if (info.declares_max_threads) return CUDA_ERROR_INVALID_VALUE;
    if (!kernel.warned_of_block.exchange(true)) {
      Log(LogLevel::kWarning,
          "launch of '%s': blocks of %u threads, at most %u on %s, %s "
          "(docs/limits.md)",
          kernel.name.c_str(), static_cast<unsigned>(grid.threads()),
          info.max_threads, device.target.processor.c_str(),
          info.half_waves
              ? "where each warp of this kernel has a wave of 64 lanes"
              : "as with the registers that its machine code for NVIDIA GPUs "
                "takes");
    }
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  const auto& required = info.required_block;
  if (required[0] != 0 && (grid.block_x != required[0] ||
                           grid.block_y != std::max(required[1], 1u) ||
                           grid.block_z != std::max(required[2], 1u))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (grid.dynamic_shared > kernel.DynamicSharedLimit(info)) {
    Log(LogLevel::kInfo,
        "launch of '%s': %u bytes of dynamic shared memory, at most %u",
        kernel.name.c_str(), grid.dynamic_shared,
        kernel.DynamicSharedLimit(info));
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Copies the parameters to their places. `buffer` has the kernel's
// explicit_size(), zeroed.
CUresult CopyParams(const KernelInfo& info, void** params, const Packed& packed,
                    std::uint8_t* buffer) {
  if (params != nullptr) {
    for (std::size_t i = 0; i < info.params.size(); ++i) {
      if (params[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(buffer + info.params[i].offset, params[i],
                  info.params[i].size);
    }
    return CUDA_SUCCESS;
  }
  for (const KernelParam& param : info.params) {
    if (param.offset + std::uint64_t{param.size} > packed.size) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (packed.size != 0) {
    const std::size_t room = info.window         ? *info.window
                             : info.launch_block ? *info.launch_block
                                                 : info.explicit_size();
    std::memcpy(buffer, packed.data, std::min(packed.size, room));
  }
  return CUDA_SUCCESS;
}

hipError_t LaunchPacked(const KernelInfo& info, hipFunction_t function,
                        const Grid& grid, hipStream_t stream,
                        std::uint8_t* buffer, std::size_t size) {
  const WorkGroup block =
      info.WorkGroupOf(grid.block_x, grid.block_y, grid.block_z);
  void* extra[] = {reinterpret_cast<void*>(kHipLaunchParamBufferPointer),
                   buffer, reinterpret_cast<void*>(kHipLaunchParamBufferSize),
                   &size, reinterpret_cast<void*>(kHipLaunchParamEnd)};
  return hip.hipModuleLaunchKernel(function, grid.grid_x, grid.grid_y,
                                   grid.grid_z, block[0], block[1], block[2],
                                   info.HardwareShared(grid.dynamic_shared),
                                   stream, nullptr, extra);
}

// HIP's cooperative launch takes no packed buffer, only one pointer per
// argument; these lead into the buffer.
hipError_t LaunchCooperative(const KernelInfo& info, hipFunction_t function,
                             const Grid& grid, hipStream_t stream,
                             std::uint8_t* buffer, std::size_t size) {
  if (!hip.has_cooperative_launch) {
    return LaunchPacked(info, function, grid, stream, buffer, size);
  }
  const WorkGroup block =
      info.WorkGroupOf(grid.block_x, grid.block_y, grid.block_z);
  auto** pointers =
      static_cast<void**>(alloca((info.params.size() + 3) * sizeof(void*)));
  pointers[ArgumentPointers(info, buffer, pointers)] = nullptr;
  return hip.hipModuleLaunchCooperativeKernel(
      function, grid.grid_x, grid.grid_y, grid.grid_z, block[0], block[1],
      block[2], info.HardwareShared(grid.dynamic_shared), stream, pointers);
}

// CUDA_LAUNCH_BLOCKING=1: a launch returns when the kernel is done, with the
// kernel's error.
bool LaunchesBlock() {
  static const bool block = [] {
    const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
    return text != nullptr && std::atoi(text) != 0;
  }();
  return block;
}
hipError_t WaitForLaunch(Context* context, hipStream_t stream) {
  const hipError_t error = hip.hipStreamSynchronize(stream);
  FlushOutput(context->device);
  return error;
}

// `config`, with the attributes of the launch, may be null.
CUresult Launch(CUfunction handle, Grid grid, CUstream stream_handle,
                void** params, void** extra, const CUlaunchConfig* config) {
  CERB_STREAM(context, stream, stream_handle);
  FlushOutput(context->device);
  // The fault of an earlier kernel; this one's is for later calls to tell.
  if (CUresult r = NoteResult(context, hipSuccess); r != CUDA_SUCCESS) return r;
  LaunchTarget target;
  const Grid asked = grid;
  CUresult result = FindLaunchTarget(context, handle, &grid, &target);
  if (result != CUDA_SUCCESS) return result;
  // A runtime's kernel is of the current device, and so must the stream be
  // (CUDA Programming Guide, "Stream and Event Behavior").
  if (target.kernel->module->home() == nullptr) {
    const Context* current = CurrentContextOrNull();
    if (current != nullptr && current->device != context->device) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
  }
  if (grid.cooperative) {
    result = CheckCooperative(context, target.kernel, grid);
    if (result != CUDA_SUCCESS) return result;
  }
  if (Captures(stream)) {
    return CaptureLaunch(context, stream, target, asked, params, extra, config);
  }
  if (__builtin_expect(target.info->launches, 0)) {
    return LaunchWithChildren(context, target, grid, stream, params, extra);
  }
  // At most 64 KiB: ReadCodeObject refuses more.
  const std::size_t size = target.info->explicit_size();
  auto* buffer = static_cast<std::uint8_t*>(alloca(size + 1));
  result = FillArguments(context, *target.info, grid, &stream, params, extra,
                         buffer);
  if (result != CUDA_SUCCESS) return result;
  const hipError_t error = LaunchFilled(target, grid, stream, buffer, size);
  if (__builtin_expect(LaunchesBlock(), 0) && error == hipSuccess) {
    return NoteResult(context, WaitForLaunch(context, stream));
  }
  return error == hipSuccess ? CUDA_SUCCESS : NoteResult(context, error);
}

// Events of a launch's attributes, to be recorded when all blocks have begun,
// or let their dependents begin. Here they are when all have ended: later is
// right, too.
CUresult RecordLaunchEvents(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
        attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      continue;
    }
    const CUresult result =
        api::cuEventRecord(attribute.value.event, config.hStream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult GridOf(const CUlaunchConfig& config, Grid* grid) {
  *grid = {config.gridDimX,       config.gridDimY,
           config.gridDimZ,       config.blockDimX,
           config.blockDimY,      config.blockDimZ,
           config.sharedMemBytes, false};
  if (config.numAttrs != 0 && config.attrs == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (!IsSoundAttribute(attribute.id, attribute.value)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        grid->cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (CUresult r = SetCluster(attribute.value, grid); r != CUDA_SUCCESS) {
          return r;
        }
        break;
      default: break;  // a hint
    }
  }
  return CUDA_SUCCESS;
}

CUresult FindLaunchTarget(Context* context, CUfunction handle, Grid* grid,
                          LaunchTarget* target) {
  const bool from_runtime = TakeRuntimeCall();
  Kernel* kernel = KernelOf(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  target->kernel = kernel;
  const KernelInfo* info = nullptr;
  CUresult result = kernel->module->InfoOf(kernel, context->device, &info);
  if (result != CUDA_SUCCESS) return result;
  result = SettleCluster(*kernel, *info, grid);
  if (result != CUDA_SUCCESS) return result;
  target->info =
      &info->FormFor(grid->threads(), grid->dynamic_shared,
                     context->device->shared_limit, grid->cluster_blocks() > 1);
  result = kernel->module->FunctionOf(kernel, context, &target->function,
                                      target->info);
  if (result != CUDA_SUCCESS) return result;
  result = CheckGrid(*kernel, *target->info, *context->device, *grid);
  return result == kInvalidConfiguration && !from_runtime
             ? CUDA_ERROR_INVALID_VALUE
             : result;
}

CUresult CheckCooperative(Context* context, Kernel* kernel, const Grid& grid) {
  int blocks = 0;
  const CUresult result =
      BlocksPerMultiprocessor(context, kernel, static_cast<int>(grid.threads()),
                              grid.dynamic_shared, &blocks);
  if (result != CUDA_SUCCESS) return result;
  const std::uint64_t resident =
      static_cast<std::uint64_t>(blocks) *
      static_cast<std::uint64_t>(
          context->device->attribute(formats::kAttribute_MULTIPROCESSOR_COUNT));
  return grid.blocks() <= resident ? CUDA_SUCCESS
                                   : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

CUresult FillArguments(Context* context, const KernelInfo& info,
                       const Grid& grid, const hipStream_t* stream,
                       void** params, void** extra, std::uint8_t* buffer) {
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  Packed packed;
  if (extra != nullptr) {
    if (CUresult r = ReadExtra(extra, &packed); r != CUDA_SUCCESS) return r;
  }
  std::memset(buffer, 0, info.explicit_size());
  if (CUresult r = CopyParams(info, params, packed, buffer);
      r != CUDA_SUCCESS) {
    return r;
  }
  if (info.window) {
    formats::WindowBlock window;
    window.bytes = static_cast<std::uint32_t>(AlignUp(
        std::max(info.tensor_memory + info.static_shared + grid.dynamic_shared,
                 1u),
        formats::kWindowAlign));
    WindowsOfGrid wanted = {grid.blocks() * window.bytes, 0};
    if (grid.cluster[0] != 0) {
      window.cluster = grid.cluster[0] | grid.cluster[1] << 8 |
                       grid.cluster[2] << 16 | formats::WindowBlock::kNamed;
    }
    if (info.clusters == true) {
      wanted.barriers =
          grid.blocks() / grid.cluster_blocks() * formats::kClusterBarrierBytes;
    }
    if (CUresult r = WindowMemory(context, info.name.c_str(), wanted, stream,
                                  &window.memory);
        r != CUDA_SUCCESS) {
      return r;
    }
    std::memcpy(buffer + *info.window, &window, sizeof window);
  }
  if (!info.launch_block) return CUDA_SUCCESS;
  formats::LaunchBlock block;
  block.SetBlock(grid.block_x, grid.block_y, grid.block_z);
  block.dynamic_shared = grid.dynamic_shared;
  block.launch_queue = grid.launch_queue;
  block.grid_id = context->next_grid_id.fetch_add(1, std::memory_order_relaxed);
  if (grid.cooperative) {
    block.flags = formats::kLaunchCooperative;
    CUdeviceptr workspace = 0;
    if (CUresult r = GridWorkspace(context, stream == nullptr, &workspace);
        r != CUDA_SUCCESS) {
      return r;
    }
    block.workspace = workspace;
  }
  std::memcpy(buffer + *info.launch_block, &block, sizeof block);
  return CUDA_SUCCESS;
}

hipError_t LaunchFilled(const LaunchTarget& target, const Grid& grid,
                        hipStream_t stream, std::uint8_t* buffer,
                        std::size_t size) {
  const auto launch = grid.cooperative ? LaunchCooperative : LaunchPacked;
  return launch(*target.info, target.function, grid, stream, buffer, size);
}

std::uint64_t GridIdIn(const KernelInfo& info, const std::uint8_t* buffer) {
  formats::LaunchBlock block;
  if (!info.launch_block) return 0;
  std::memcpy(&block, buffer + *info.launch_block, sizeof block);
  return block.grid_id;
}

std::size_t ArgumentPointers(const KernelInfo& info, std::uint8_t* buffer,
                             void** pointers) {
  std::size_t count = 0;
  for (const KernelParam& param : info.params) {
    pointers[count++] = buffer + param.offset;
  }
  if (info.window) pointers[count++] = buffer + *info.window;
  if (info.launch_block) pointers[count++] = buffer + *info.launch_block;
  return count;
}

namespace api {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** params, void** extra) {
  const Grid grid = {grid_x,  grid_y,  grid_z,       block_x,
                     block_y, block_z, shared_bytes, false};
  return Launch(function, grid, stream, params, extra, nullptr);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void** params) {
  const Grid grid = {grid_x,  grid_y,  grid_z,       block_x,
                     block_y, block_z, shared_bytes, true};
  return Launch(function, grid, stream, params, nullptr, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                          void** params, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Grid grid = {};
  if (CUresult r = GridOf(*config, &grid); r != CUDA_SUCCESS) return r;
  const CUresult result =
      Launch(function, grid, config->hStream, params, extra, config);
  return result == CUDA_SUCCESS ? RecordLaunchEvents(*config) : result;
}

}  // namespace api
}  // namespace cerberus::stub
