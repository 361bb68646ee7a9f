// Devices: what they are and which one is current.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulator/hip/runtime.h"

namespace cerberus::emulator::hip {
namespace {

// What every emulated GPU can do. Textures and surfaces are not offered: their
// limits stay 0.
void FillFeatures(hipDeviceProp_tR0600& p) {
  p.deviceOverlap = 1;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.pciDomainID = 0;
  p.asyncEngineCount = 2;
  p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = 1;
  p.managedMemory = 1;
  p.hostNativeAtomicSupported = 1;
  p.concurrentManagedAccess = 1;
  p.directManagedMemAccessFromHost = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.cooperativeMultiDeviceLaunch = 1;
  p.ipcEventSupported = 1;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.memoryPoolSupportedHandleTypes = 1;  // file descriptors
  p.unifiedFunctionPointers = 1;
  p.isLargeBar = 1;
  p.arch = kArchGlobalInt32Atomics | kArchGlobalFloatAtomicExch |
           kArchSharedInt32Atomics | kArchSharedFloatAtomicExch |
           kArchFloatAtomicAdd | kArchGlobalInt64Atomics |
           kArchSharedInt64Atomics | kArchDoubles | kArchWarpVote |
           kArchWarpBallot | kArchWarpShuffle | kArchThreadFenceSystem |
           kArch3dGrid;
}

}  // namespace

void FillProperties(const Device& core, int ordinal,
                    hipDeviceProp_tR0600* out) {
  const TargetInfo& info = core.info();
  const BoardInfo& board = info.board;
  hipDeviceProp_tR0600& p = *out;
  p = {};
  std::snprintf(p.name, sizeof p.name, "%s (emulated %s)", board.name,
                info.processor.c_str());
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s",
                core.target().c_str());
  // "GPU-" and 16 hex digits is how AMD's own UUIDs read; ours are made of
  // the device's number.
  char uuid[17];
  std::snprintf(uuid, sizeof uuid, "CE2BE205%08x",
                static_cast<unsigned>(ordinal));
  std::memcpy(p.uuid.bytes, uuid, sizeof p.uuid.bytes);

  const int compute_units = static_cast<int>(info.compute_units);
  const int waves = static_cast<int>(info.max_waves_per_simd) *
                    static_cast<int>(info.simds_per_cu);
  p.totalGlobalMem = TotalMemory();
  p.sharedMemPerBlock = info.lds_bytes;
  p.sharedMemPerBlockOptin = info.lds_bytes;
  p.sharedMemPerMultiprocessor = info.lds_bytes;
  p.maxSharedMemoryPerMultiProcessor = info.lds_bytes;
  p.regsPerBlock = static_cast<int>(std::min<std::uint32_t>(
      info.total_vgprs * info.wavefront_size * std::max(info.simds_per_cu, 1u),
      65536));
  p.regsPerMultiprocessor = static_cast<int>(
      info.total_vgprs * info.wavefront_size * info.simds_per_cu);
  p.warpSize = static_cast<int>(info.wavefront_size);
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = static_cast<int>(info.max_workgroup_size);
  for (int& dim : p.maxThreadsDim) dim = p.maxThreadsPerBlock;
  // A grid holds at most 2^32 - 1 work-items in x.
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = 65536;
  p.maxGridSize[2] = 65536;
  p.clockRate = board.clock_khz;
  p.memoryClockRate = board.memory_clock_khz;
  p.memoryBusWidth = board.bus_bits;
  p.l2CacheSize = board.l2_bytes;
  p.clockInstructionRate = 100000;
  p.totalConstMem = 0x7fffffff;
  p.major = static_cast<int>(info.major);
  p.minor = static_cast<int>(info.minor);
  p.textureAlignment = 256;
  p.texturePitchAlignment = 256;
  p.surfaceAlignment = 256;
  p.multiProcessorCount = compute_units;
  p.pciBusID = 0xce + ordinal;
  p.maxThreadsPerMultiProcessor = waves * p.warpSize;
  p.maxBlocksPerMultiProcessor = waves;
  FillFeatures(p);
}

namespace {

int Clamp(int value) { return value; }
int Clamp(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, 0x7fffffff));
}

bool Attribute(const hipDeviceProp_tR0600& p, const TargetInfo& info,
               std::uint32_t attribute, int* out) {
  switch (attribute) {
#define HIP_ATTRIBUTE(name, number, answer) \
  case number: *out = Clamp(answer); return true;
#include "emulator/hip/attributes.def"
#undef HIP_ATTRIBUTE
    default: return false;
  }
}

}  // namespace
}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;

HIP_API hipError_t hipInit(unsigned flags) {
  if (flags != 0) return Return(hipErrorInvalidValue);
  return Return(Runtime::Get().gpus().empty() ? hipErrorNoDevice : hipSuccess);
}

HIP_API hipError_t hipDriverGetVersion(int* version) {
  if (version == nullptr) return Return(hipErrorInvalidValue);
  // major * 10,000,000 + minor * 100,000 + patch.
  *version = ApiMajor() * 10000000;
  return Return(hipSuccess);
}

HIP_API hipError_t hipRuntimeGetVersion(int* version) {
  return hipDriverGetVersion(version);
}

HIP_API hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return Return(hipErrorInvalidValue);
  *count = static_cast<int>(Runtime::Get().gpus().size());
  return Return(*count == 0 ? hipErrorNoDevice : hipSuccess);
}

HIP_API hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  if (device == nullptr) return Return(hipErrorInvalidValue);
  if (Runtime::Get().gpu(ordinal) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  *device = ordinal;
  return Return(hipSuccess);
}

HIP_API hipError_t hipSetDevice(int ordinal) {
  if (Runtime::Get().gpus().empty()) return Return(hipErrorNoDevice);
  if (Runtime::Get().gpu(ordinal) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  Thread().device = ordinal;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGetDevice(int* ordinal) {
  if (ordinal == nullptr) return Return(hipErrorInvalidValue);
  if (Runtime::Get().gpus().empty()) return Return(hipErrorNoDevice);
  *ordinal = Thread().device;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetAttribute(int* value, std::uint32_t attribute,
                                         int ordinal) {
  if (value == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(ordinal);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  return Return(Attribute(gpu->properties, gpu->core->info(), attribute, value)
                    ? hipSuccess
                    : hipErrorInvalidValue);
}

HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* out,
                                               int ordinal) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(ordinal);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  *out = gpu->properties;
  return Return(hipSuccess);
}

// Since version 6 AMD's header turns hipGetDeviceProperties into
// hipGetDevicePropertiesR0600; who asks for the old name has the old struct.
HIP_API hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* out,
                                               int ordinal) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(ordinal);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  const hipDeviceProp_tR0600& p = gpu->properties;
  const cerberus::emulator::TargetInfo& info = gpu->core->info();
  hipDeviceProp_tR0000 old = {};
  std::memcpy(old.name, p.name, sizeof old.name);
  std::memcpy(old.gcnArchName, p.gcnArchName, sizeof old.gcnArchName);
  old.totalGlobalMem = p.totalGlobalMem;
  old.sharedMemPerBlock = p.sharedMemPerBlock;
  old.regsPerBlock = p.regsPerBlock;
  old.warpSize = p.warpSize;
  old.maxThreadsPerBlock = p.maxThreadsPerBlock;
  std::memcpy(old.maxThreadsDim, p.maxThreadsDim, sizeof old.maxThreadsDim);
  std::memcpy(old.maxGridSize, p.maxGridSize, sizeof old.maxGridSize);
  old.clockRate = p.clockRate;
  old.memoryClockRate = p.memoryClockRate;
  old.memoryBusWidth = p.memoryBusWidth;
  old.totalConstMem = p.totalConstMem;
  old.major = p.major;
  old.minor = p.minor;
  old.multiProcessorCount = p.multiProcessorCount;
  old.l2CacheSize = p.l2CacheSize;
  old.maxThreadsPerMultiProcessor = p.maxThreadsPerMultiProcessor;
  old.clockInstructionRate = p.clockInstructionRate;
  old.arch = p.arch;
  old.concurrentKernels = p.concurrentKernels;
  old.pciDomainID = p.pciDomainID;
  old.pciBusID = p.pciBusID;
  old.pciDeviceID = p.pciDeviceID;
  old.maxSharedMemoryPerMultiProcessor = p.maxSharedMemoryPerMultiProcessor;
  old.canMapHostMemory = p.canMapHostMemory;
  // 1100 for gfx1100, 910 for gfx90a: the number HIP 5 still filled.
  old.gcnArch =
      static_cast<int>(info.major * 100 + info.minor * 10 + info.stepping);
  old.cooperativeLaunch = p.cooperativeLaunch;
  old.cooperativeMultiDeviceLaunch = p.cooperativeMultiDeviceLaunch;
  old.memPitch = p.memPitch;
  old.textureAlignment = p.textureAlignment;
  old.texturePitchAlignment = p.texturePitchAlignment;
  old.isLargeBar = p.isLargeBar;
  old.managedMemory = p.managedMemory;
  old.directManagedMemAccessFromHost = p.directManagedMemAccessFromHost;
  old.concurrentManagedAccess = p.concurrentManagedAccess;
  *out = old;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* out,
                                          int ordinal) {
  return hipGetDevicePropertiesR0000(out, ordinal);
}

HIP_API hipError_t hipChooseDeviceR0600(int* device,
                                        const hipDeviceProp_tR0600* wanted) {
  if (device == nullptr || wanted == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  *device = 0;
  return Return(hipSuccess);
}

HIP_API hipError_t hipChooseDevice(int* device,
                                   const hipDeviceProp_tR0000* wanted) {
  if (device == nullptr || wanted == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  *device = 0;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetName(char* name, int length,
                                    hipDevice_t device) {
  if (name == nullptr || length <= 0) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  std::snprintf(name, static_cast<std::size_t>(length), "%s",
                gpu->properties.name);
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  if (uuid == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  *uuid = gpu->properties.uuid;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetPCIBusId(char* id, int length, int device) {
  if (id == nullptr || length <= 0) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  std::snprintf(id, static_cast<std::size_t>(length), "%04x:%02x:%02x.0",
                gpu->properties.pciDomainID, gpu->properties.pciBusID,
                gpu->properties.pciDeviceID);
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetByPCIBusId(int* device, const char* id) {
  if (device == nullptr || id == nullptr) return Return(hipErrorInvalidValue);
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    return Return(hipErrorInvalidValue);
  }
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    if (gpu->properties.pciBusID == static_cast<int>(bus) &&
        gpu->properties.pciDeviceID == static_cast<int>(slot) &&
        gpu->properties.pciDomainID == static_cast<int>(domain)) {
      *device = gpu->ordinal;
      return Return(hipSuccess);
    }
  }
  return Return(hipErrorInvalidDevice);
}

HIP_API hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  *bytes = gpu->properties.totalGlobalMem;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceComputeCapability(int* major, int* minor,
                                              hipDevice_t device) {
  if (major == nullptr || minor == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  *major = gpu->properties.major;
  *minor = gpu->properties.minor;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceSynchronize() {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  gpu->Synchronize();
  return Return(gpu->sticky);
}

HIP_API hipError_t hipDeviceReset() {
  Gpu* gpu = nullptr;
  CheckCurrent(&gpu);
  if (gpu == nullptr) return Return(hipErrorNoDevice);
  Runtime::Get().Reset(gpu);
  Thread().last_error = hipSuccess;
  return hipSuccess;
}

HIP_API hipError_t hipSetDeviceFlags(unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  gpu->flags = flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGetDeviceFlags(unsigned* flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (flags == nullptr) return Return(hipErrorInvalidValue);
  *flags = gpu->flags;
  return Return(hipSuccess);
}

// Caches and LDS banks cannot be configured on AMD's GPUs; HIP accepts the
// calls as hints.
HIP_API hipError_t hipDeviceSetCacheConfig(std::uint32_t) {
  return Return(hipSuccess);
}
HIP_API hipError_t hipDeviceGetCacheConfig(std::uint32_t* config) {
  if (config == nullptr) return Return(hipErrorInvalidValue);
  *config = 0;
  return Return(hipSuccess);
}
HIP_API hipError_t hipDeviceSetSharedMemConfig(std::uint32_t) {
  return Return(hipSuccess);
}
HIP_API hipError_t hipDeviceGetSharedMemConfig(std::uint32_t* config) {
  if (config == nullptr) return Return(hipErrorInvalidValue);
  *config = 1;  // four-byte banks
  return Return(hipSuccess);
}

namespace {

std::size_t* LimitOf(Gpu* gpu, std::uint32_t limit) {
  switch (limit) {
    case hipLimitStackSize: return &gpu->stack_limit;
    case hipLimitPrintfFifoSize: return &gpu->printf_limit;
    case hipLimitMallocHeapSize: return &gpu->heap_limit;
    default: return nullptr;
  }
}

}  // namespace

HIP_API hipError_t hipDeviceGetLimit(std::size_t* value, std::uint32_t limit) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (value == nullptr) return Return(hipErrorInvalidValue);
  std::size_t* found = LimitOf(gpu, limit);
  if (found == nullptr) return Return(hipErrorUnsupportedLimit);
  *value = *found;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceSetLimit(std::uint32_t limit, std::size_t value) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  std::size_t* found = LimitOf(gpu, limit);
  if (found == nullptr) return Return(hipErrorUnsupportedLimit);
  *found = value;
  return Return(hipSuccess);
}

// --- Peers ----------------------------------------------------------------

HIP_API hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return Return(hipErrorInvalidValue);
  Runtime& runtime = Runtime::Get();
  if (runtime.gpu(device) == nullptr || runtime.gpu(peer) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  *can = device != peer;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceGetP2PAttribute(int* value, std::uint32_t attribute,
                                            int source, int target) {
  if (value == nullptr) return Return(hipErrorInvalidValue);
  Runtime& runtime = Runtime::Get();
  if (source == target || runtime.gpu(source) == nullptr ||
      runtime.gpu(target) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  if (attribute > 3) return Return(hipErrorInvalidValue);
  // Rank 0, access and native atomics, no arrays.
  *value = attribute == 1 || attribute == 2;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  Gpu* other = Runtime::Get().gpu(peer);
  if (flags != 0) return Return(hipErrorInvalidValue);
  if (other == nullptr || other == gpu) return Return(hipErrorInvalidDevice);
  return Return(Runtime::Get().EnablePeer(gpu, other));
}

HIP_API hipError_t hipDeviceDisablePeerAccess(int peer) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  Gpu* other = Runtime::Get().gpu(peer);
  if (other == nullptr || other == gpu) return Return(hipErrorInvalidDevice);
  gpu->Synchronize();
  return Return(Runtime::Get().DisablePeer(gpu, other));
}
