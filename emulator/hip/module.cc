// Modules, functions, their attributes and launches.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/offload_bundle.h"
#include "emulator/hip/runtime.h"
#include "support/mapped_file.h"

namespace cerberus::emulator::hip {

Function* Module::Find(const char* name) {
  const KernelInfo* info = code->FindKernel(name);
  if (info == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Function>& slot = functions[name];
  if (!slot) {
    slot = std::make_unique<Function>();
    slot->module = this;
    slot->info = info;
    Runtime::Get().AddFunction(slot.get());
  }
  return slot.get();
}

hipError_t LoadModule(Gpu* gpu, const void* image,
                      std::unique_ptr<Module>* out) {
  Bytes unpacked;  // LoadCodeObject copies what it needs
  Result<ByteSpan> object =
      SelectCodeObject(image, gpu->core->target(), &unpacked);
  if (!object) {
    Report(object.error().ToString());
    return object.error().code == DiagCode::kUnsupported
               ? hipErrorNoBinaryForGpu
               : hipErrorInvalidImage;
  }
  Result<CodeObject*> code = gpu->core->LoadCodeObject(*object);
  if (!code) {
    Report(code.error().ToString());
    return code.error().code == DiagCode::kUnsupported ? hipErrorNoBinaryForGpu
                                                       : hipErrorInvalidImage;
  }
  *out = std::make_unique<Module>();
  (*out)->gpu = gpu;
  (*out)->code = *code;
  return hipSuccess;
}

void UnloadModule(Module& module) {
  (void)module.gpu->core->UnloadCodeObject(module.code);
}

namespace {

// Explicit arguments only: where the metadata says "hidden_…" the core fills.
bool IsHidden(const KernelArg& arg) {
  return arg.value_kind.rfind("hidden_", 0) == 0;
}

hipError_t CopyArguments(const KernelInfo& kernel, void** params, void** extra,
                         std::vector<std::uint8_t>* out) {
  const std::size_t explicit_size = kernel.explicit_size();
  out->assign(explicit_size, 0);
  if (params != nullptr) {
    std::size_t index = 0;
    for (const KernelArg& arg : kernel.args) {
      if (IsHidden(arg)) continue;
      if (params[index] == nullptr ||
          std::size_t{arg.offset} + arg.size > explicit_size) {
        return hipErrorInvalidValue;
      }
      std::memcpy(out->data() + arg.offset, params[index++], arg.size);
    }
    return hipSuccess;
  }
  if (extra == nullptr) {
    return explicit_size == 0 ? hipSuccess : hipErrorInvalidValue;
  }
  const void* buffer = nullptr;
  std::size_t size = 0;
  bool has_size = false;
  for (std::size_t i = 0;
       reinterpret_cast<std::uintptr_t>(extra[i]) != kHipLaunchParamEnd;
       i += 2) {
    switch (reinterpret_cast<std::uintptr_t>(extra[i])) {
      case kHipLaunchParamBufferPointer: buffer = extra[i + 1]; break;
      case kHipLaunchParamBufferSize:
        size = *static_cast<const std::size_t*>(extra[i + 1]);
        has_size = true;
        break;
      default: return hipErrorInvalidValue;
    }
  }
  if (!has_size || (buffer == nullptr && size != 0)) {
    return hipErrorInvalidValue;
  }
  if (size != 0) {
    std::memcpy(out->data(), buffer, std::min(size, explicit_size));
  }
  return hipSuccess;
}

// LDS a launch may ask for beyond the kernel's own.
std::uint32_t MaxDynamicLds(Gpu* gpu, const KernelInfo& kernel) {
  const std::uint32_t all = gpu->core->info().lds_bytes;
  return all - std::min(all, kernel.lds_size);
}

std::uint32_t BlocksPerUnit(const Function& function, int block_size,
                            std::size_t shared) {
  Gpu* gpu = function.module->gpu;
  if (block_size <= 0 || shared > MaxDynamicLds(gpu, *function.info)) {
    return 0;
  }
  return gpu->core->Occupancy(*function.info,
                              static_cast<std::uint32_t>(block_size),
                              static_cast<std::uint32_t>(shared));
}

int MaxBlock(const Function& function) {
  const int all = function.module->gpu->properties.maxThreadsPerBlock;
  const int own = static_cast<int>(function.info->max_flat_workgroup_size);
  return own == 0 ? all : std::min(own, all);
}

}  // namespace

hipError_t PrepareLaunch(Function* function, dim3 grid, dim3 block,
                         std::size_t shared, void** params, void** extra,
                         bool cooperative, Launch* out) {
  Gpu* gpu = function->module->gpu;
  const KernelInfo& kernel = *function->info;
  const hipDeviceProp_tR0600& limits = gpu->properties;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 ||
      block.y == 0 || block.z == 0) {
    return hipErrorInvalidConfiguration;
  }
  const std::uint64_t threads =
      std::uint64_t{block.x} * block.y * std::uint64_t{block.z};
  if (block.x > 1024 || block.y > 1024 || block.z > 1024 ||
      threads > static_cast<std::uint64_t>(limits.maxThreadsPerBlock)) {
    return hipErrorInvalidConfiguration;
  }
  if (threads > static_cast<std::uint64_t>(MaxBlock(*function))) {
    return hipErrorLaunchFailure;  // more than __launch_bounds__ allows
  }
  const std::uint64_t extent[3] = {std::uint64_t{grid.x} * block.x,
                                   std::uint64_t{grid.y} * block.y,
                                   std::uint64_t{grid.z} * block.z};
  for (std::uint64_t size : extent) {
    if (size > 0xffffffffu) return hipErrorInvalidConfiguration;
  }
  if (shared > MaxDynamicLds(gpu, kernel)) return hipErrorInvalidValue;
  if (cooperative) {
    const std::uint64_t resident =
        std::uint64_t{
            BlocksPerUnit(*function, static_cast<int>(threads), shared)} *
        static_cast<std::uint64_t>(limits.multiProcessorCount);
    if (std::uint64_t{grid.x} * grid.y * grid.z > resident) {
      return hipErrorCooperativeLaunchTooLarge;
    }
  }
  out->function = function;
  out->grid = grid;
  out->block = block;
  out->shared = static_cast<unsigned>(shared);
  out->cooperative = cooperative;
  return CopyArguments(kernel, params, extra, &out->kernarg);
}

Work LaunchWork(Gpu* gpu, Launch launch) {
  Work work;
  work.kind = Work::Kind::kKernel;
  work.params =
      std::make_shared<const NodeParams>(NodeParams{std::move(launch)});
  work.run = [gpu, params = work.params] {
    const Launch& launch = std::get<Launch>(params->value);
    LaunchConfig config;
    config.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    config.block = {launch.block.x, launch.block.y, launch.block.z};
    config.dynamic_lds = launch.shared;
    config.kernarg = launch.kernarg;
    config.multigrid_sync =
        reinterpret_cast<std::uint64_t>(launch.multigrid.get());
    config.cooperative = launch.cooperative;
    Status done = gpu->core->Launch(*launch.function->info, config);
    if (done) return;
    hipError_t expected = hipSuccess;
    const Fault* fault = gpu->core->LastFault();
    hipError_t error = fault != nullptr && fault->address
                           ? hipErrorIllegalAddress
                           : hipErrorLaunchFailure;
    // The first fault is told once; what follows from it is not.
    if (gpu->sticky.compare_exchange_strong(expected, error)) {
      Report(done.error().ToString());
    }
  };
  return work;
}

hipError_t LaunchOn(Function* function, dim3 grid, dim3 block,
                    std::size_t shared, hipStream_t handle, void** params,
                    void** extra, bool cooperative,
                    std::shared_ptr<void> multigrid) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return hipErrorInvalidHandle;
  if (function == nullptr || stream->gpu() != function->module->gpu) {
    return hipErrorInvalidHandle;
  }
  Launch launch;
  error = PrepareLaunch(function, grid, block, shared, params, extra,
                        cooperative, &launch);
  if (error != hipSuccess) return error;
  launch.multigrid = std::move(multigrid);
  stream->Submit(LaunchWork(stream->gpu(), std::move(launch)));
  return hipSuccess;
}

// Resolves `f`, a hipFunction_t or a host stub, on the current device.
hipError_t Resolve(const void* host, Function** out) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  // HIP's C++ wrappers pass either.
  *out = Runtime::Get().FindFunction(
      reinterpret_cast<hipFunction_t>(const_cast<void*>(host)));
  if (*out != nullptr) return hipSuccess;
  return FindHostFunction(host, gpu, out);
}

}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;
using cerberus::MappedFile;
using cerberus::Result;

HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);

namespace {

hipError_t LoadInto(hipModule_t* out, const void* image) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (out == nullptr || image == nullptr) return hipErrorInvalidValue;
  std::unique_ptr<Module> module;
  error = LoadModule(gpu, image, &module);
  if (error == hipSuccess) {
    *out = Runtime::Get().AddModule(std::move(module));
  }
  return error;
}

hipError_t Potential(int* grid, int* block, const Function* function,
                     std::size_t shared, int limit) {
  if (grid == nullptr || block == nullptr || limit < 0) {
    return hipErrorInvalidValue;
  }
  const int wave = static_cast<int>(function->info->wavefront_size);
  int most = MaxBlock(*function);
  if (limit != 0) most = std::min(most, limit);
  // The largest block among those that keep the most work-items resident.
  int best_block = 0;
  std::uint64_t best = 0;
  for (int size = most; size > 0;
       size = size % wave == 0 ? size - wave : size - size % wave) {
    std::uint64_t blocks = BlocksPerUnit(*function, size, shared);
    if (blocks * static_cast<std::uint64_t>(size) > best) {
      best = blocks * static_cast<std::uint64_t>(size);
      best_block = size;
    }
  }
  if (best_block == 0) return hipErrorInvalidValue;
  *block = best_block;
  *grid = static_cast<int>(BlocksPerUnit(*function, best_block, shared)) *
          function->module->gpu->properties.multiProcessorCount;
  return hipSuccess;
}

hipError_t ActiveBlocks(int* blocks, const Function* function, int size,
                        std::size_t shared) {
  if (blocks == nullptr || size <= 0) return hipErrorInvalidValue;
  *blocks = size > MaxBlock(*function)
                ? 0
                : static_cast<int>(BlocksPerUnit(*function, size, shared));
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return Return(LoadInto(module, image));
}

// The options configure CUDA's compiler of PTX; code objects need none.
HIP_API hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image,
                                       unsigned, std::uint32_t*, void**) {
  return Return(LoadInto(module, image));
}

HIP_API hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  if (module == nullptr || path == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file || file->size() == 0) return Return(hipErrorFileNotFound);
  return Return(LoadInto(module, file->bytes().data()));
}

HIP_API hipError_t hipModuleUnload(hipModule_t handle) {
  Gpu* gpu = nullptr;
  CheckCurrent(&gpu);
  std::unique_ptr<Module> module = Runtime::Get().RemoveModule(handle);
  if (!module) return Return(hipErrorInvalidHandle);
  module->gpu->Synchronize();
  UnloadModule(*module);
  return Return(hipSuccess);
}

HIP_API hipError_t hipModuleGetFunction(hipFunction_t* out, hipModule_t handle,
                                        const char* name) {
  if (out == nullptr || name == nullptr || *name == '\0') {
    return Return(hipErrorInvalidValue);
  }
  Module* module = Runtime::Get().FindModule(handle);
  if (module == nullptr) return Return(hipErrorInvalidHandle);
  Function* function = module->Find(name);
  if (function == nullptr) return Return(hipErrorNotFound);
  *out = reinterpret_cast<hipFunction_t>(function);
  return Return(hipSuccess);
}

HIP_API hipError_t hipModuleGetFunctionCount(unsigned* count,
                                             hipModule_t handle) {
  if (count == nullptr) return Return(hipErrorInvalidValue);
  Module* module = Runtime::Get().FindModule(handle);
  if (module == nullptr) return Return(hipErrorInvalidHandle);
  *count = static_cast<unsigned>(module->code->kernels().size());
  return Return(hipSuccess);
}

HIP_API hipError_t hipModuleGetGlobal(hipDeviceptr_t* address,
                                      std::size_t* bytes, hipModule_t handle,
                                      const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) {
    return Return(hipErrorInvalidValue);
  }
  Module* module = Runtime::Get().FindModule(handle);
  if (module == nullptr) return Return(hipErrorInvalidHandle);
  const cerberus::emulator::SymbolInfo* symbol = module->code->FindSymbol(name);
  if (symbol == nullptr || !symbol->is_variable) {
    return Return(hipErrorNotFound);
  }
  if (address != nullptr) *address = reinterpret_cast<void*>(symbol->address);
  if (bytes != nullptr) *bytes = symbol->size;
  return Return(hipSuccess);
}

HIP_API hipError_t hipModuleLaunchKernel(hipFunction_t function,
                                         unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x,
                                         unsigned block_y, unsigned block_z,
                                         unsigned shared, hipStream_t stream,
                                         void** params, void** extra) {
  return Return(LaunchOn(Runtime::Get().FindFunction(function),
                         {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                         shared, stream, params, extra, false));
}

HIP_API hipError_t hipModuleLaunchCooperativeKernel(
    hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
    hipStream_t stream, void** params) {
  return Return(LaunchOn(Runtime::Get().FindFunction(function),
                         {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                         shared, stream, params, nullptr, true));
}

// Sizes in work-items, as OpenCL and HSA count; events around the launch.
HIP_API hipError_t hipExtModuleLaunchKernel(
    hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y,
    std::uint32_t global_z, std::uint32_t local_x, std::uint32_t local_y,
    std::uint32_t local_z, std::size_t shared, hipStream_t stream,
    void** params, void** extra, hipEvent_t start, hipEvent_t stop,
    std::uint32_t) {
  if (local_x == 0 || local_y == 0 || local_z == 0 || global_x % local_x != 0 ||
      global_y % local_y != 0 || global_z % local_z != 0) {
    return Return(hipErrorInvalidConfiguration);
  }
  if (start != nullptr) hipEventRecord(start, stream);
  hipError_t error = LaunchOn(
      Runtime::Get().FindFunction(function),
      {global_x / local_x, global_y / local_y, global_z / local_z},
      {local_x, local_y, local_z}, shared, stream, params, extra, false);
  if (stop != nullptr) hipEventRecord(stop, stream);
  return Return(error);
}

HIP_API hipError_t hipLaunchKernel(const void* host, dim3 grid, dim3 block,
                                   void** params, std::size_t shared,
                                   hipStream_t stream) {
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  return Return(
      LaunchOn(function, grid, block, shared, stream, params, nullptr, false));
}

HIP_API hipError_t hipLaunchCooperativeKernel(const void* host, dim3 grid,
                                              dim3 block, void** params,
                                              unsigned shared,
                                              hipStream_t stream) {
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  return Return(
      LaunchOn(function, grid, block, shared, stream, params, nullptr, true));
}

// --- Attributes and occupancy ---------------------------------------------

HIP_API hipError_t hipFuncGetAttribute(int* value, std::uint32_t attribute,
                                       hipFunction_t handle) {
  if (value == nullptr) return Return(hipErrorInvalidValue);
  Function* function = Runtime::Get().FindFunction(handle);
  if (function == nullptr) return Return(hipErrorInvalidHandle);
  Gpu* gpu = function->module->gpu;
  const cerberus::emulator::KernelInfo& info = *function->info;
  const cerberus::emulator::TargetInfo& target = gpu->core->info();
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = MaxBlock(*function);
      break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(info.lds_size);
      break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(info.private_size);
      break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(info.vgprs + info.agprs);
      break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      // The instruction set's version, as HIP reports it.
      *value = static_cast<int>(target.major * 10 + target.minor);
      break;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int set = function->max_dynamic_lds;
      *value = set != 0 ? set : static_cast<int>(MaxDynamicLds(gpu, info));
      break;
    }
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = 0; break;
    default: return Return(hipErrorInvalidValue);
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipFuncGetAttributes(hipFuncAttributes* out,
                                        const void* host) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  hipFunction_t handle = reinterpret_cast<hipFunction_t>(function);
  *out = {};
  auto get = [handle](hipFunction_attribute attribute) {
    int value = 0;
    hipFuncGetAttribute(&value, attribute, handle);
    return value;
  };
  out->binaryVersion = get(HIP_FUNC_ATTRIBUTE_BINARY_VERSION);
  out->ptxVersion = get(HIP_FUNC_ATTRIBUTE_PTX_VERSION);
  out->localSizeBytes =
      static_cast<std::size_t>(get(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  out->sharedSizeBytes =
      static_cast<std::size_t>(get(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  out->maxDynamicSharedSizeBytes =
      get(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  out->maxThreadsPerBlock = get(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out->numRegs = get(HIP_FUNC_ATTRIBUTE_NUM_REGS);
  return Return(hipSuccess);
}

HIP_API hipError_t hipFuncSetAttribute(const void* host,
                                       std::uint32_t attribute, int value) {
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 ||
          static_cast<std::uint32_t>(value) >
              MaxDynamicLds(function->module->gpu, *function->info)) {
        return Return(hipErrorInvalidValue);
      }
      function->max_dynamic_lds = value;
      return Return(hipSuccess);
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return Return(value >= -1 && value <= 100 ? hipSuccess
                                                : hipErrorInvalidValue);
    default: return Return(hipErrorInvalidValue);
  }
}

HIP_API hipError_t hipFuncSetCacheConfig(const void*, std::uint32_t) {
  return Return(hipSuccess);
}
HIP_API hipError_t hipFuncSetSharedMemConfig(const void*, std::uint32_t) {
  return Return(hipSuccess);
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, hipFunction_t handle, int size, std::size_t shared) {
  Function* function = Runtime::Get().FindFunction(handle);
  if (function == nullptr) return Return(hipErrorInvalidHandle);
  return Return(ActiveBlocks(blocks, function, size, shared));
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, hipFunction_t handle, int size, std::size_t shared,
    unsigned flags) {
  if (flags > hipOccupancyDisableCachingOverride) {
    return Return(hipErrorInvalidValue);
  }
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle,
                                                            size, shared);
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const void* host, int size, std::size_t shared) {
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  return Return(ActiveBlocks(blocks, function, size, shared));
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* host, int size, std::size_t shared,
    unsigned flags) {
  if (flags > hipOccupancyDisableCachingOverride) {
    return Return(hipErrorInvalidValue);
  }
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, size,
                                                      shared);
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid,
                                                           int* block,
                                                           hipFunction_t handle,
                                                           std::size_t shared,
                                                           int limit) {
  Function* function = Runtime::Get().FindFunction(handle);
  if (function == nullptr) return Return(hipErrorInvalidHandle);
  return Return(Potential(grid, block, function, shared, limit));
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int* grid, int* block, hipFunction_t handle, std::size_t shared, int limit,
    unsigned flags) {
  if (flags > hipOccupancyDisableCachingOverride) {
    return Return(hipErrorInvalidValue);
  }
  return hipModuleOccupancyMaxPotentialBlockSize(grid, block, handle, shared,
                                                 limit);
}

HIP_API hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                     const void* host,
                                                     std::size_t shared,
                                                     int limit) {
  Function* function = nullptr;
  hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  return Return(Potential(grid, block, function, shared, limit));
}
