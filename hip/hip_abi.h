// HIP's binary interface, as far as the stub calls it, in our own
// declarations: the stub is built without ROCm and finds HIP at run time.
//
// Source: HIP Runtime API Reference of ROCm 5.2, 6.0 and 7.0. What differs
// between the versions is in hip_loader.h (pointer attributes, properties).
#ifndef CERBERUS_HIP_HIP_ABI_H_
#define CERBERUS_HIP_HIP_ABI_H_

#include <cstddef>
#include <cstdint>

// HIP's numbers follow CUDA's wherever both have the error; only those that
// the stub treats on its own have a name here (error.cc).
enum hipError_t : int {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorDeinitialized = 4,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999,
};

using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipMemPool_t = struct ihipMemPoolHandle_t*;

using hipMemGenericAllocationHandle_t = struct ihipMemGenericAllocationHandle*;
using hipArray_t = struct hipArray*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;
using hipExternalMemory_t = struct ihipExternalMemory*;
using hipExternalSemaphore_t = struct ihipExternalSemaphore*;

using hipStreamCallback_t = void (*)(hipStream_t stream, hipError_t status,
                                     void* user_data);
using hipHostFn_t = void (*)(void* user_data);

inline hipStream_t HipPerThreadStream() {
  return reinterpret_cast<hipStream_t>(2);
}

enum hipMemcpyKind : int {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

struct hipUUID {
  char bytes[16];
};

struct hipIpcMemHandle_t {
  char reserved[64];
};
struct hipIpcEventHandle_t {
  char reserved[64];
};

// `type` counts differently before version 6: MemoryKind in hip_loader.h.
struct hipPointerAttribute_t {
  unsigned type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

// Nodes of graphs. `func` is a hipFunction_t here.
struct hipDim3 {
  unsigned x, y, z;
};
struct hipKernelNodeParams {
  hipDim3 blockDim;
  void** extra;
  void* func;
  hipDim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
static_assert(sizeof(hipKernelNodeParams) == 64);
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  std::size_t height;
  std::size_t pitch;
  unsigned value;
  std::size_t width;
};
struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};
struct hipPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
struct hipMemcpy3DParms {
  hipArray_t srcArray;
  std::size_t srcPos[3];
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  std::size_t dstPos[3];
  hipPitchedPtr dstPtr;
  std::size_t extent[3];
  hipMemcpyKind kind;
};

// Tags in the `extra` list of hipModuleLaunchKernel.
inline constexpr std::uintptr_t kHipLaunchParamBufferPointer = 1;
inline constexpr std::uintptr_t kHipLaunchParamBufferSize = 2;
inline constexpr std::uintptr_t kHipLaunchParamEnd = 3;

// hipDeviceAttribute_t. The numbers did not change from version 5 to 7.
enum hipDeviceAttribute_t : int {
  hipDeviceAttributeNone = -1,
  hipDeviceAttributeEccEnabled = 0,
  hipDeviceAttributeAsyncEngineCount = 2,
  hipDeviceAttributeCanMapHostMemory = 3,
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeComputeMode = 6,
  hipDeviceAttributeConcurrentKernels = 8,
  hipDeviceAttributeConcurrentManagedAccess = 9,
  hipDeviceAttributeCooperativeLaunch = 10,
  hipDeviceAttributeDirectManagedMemAccessFromHost = 13,
  hipDeviceAttributeHostNativeAtomicSupported = 15,
  hipDeviceAttributeIntegrated = 16,
  hipDeviceAttributeIsMultiGpuBoard = 17,
  hipDeviceAttributeKernelExecTimeout = 18,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeManagedMemory = 24,
  hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
  hipDeviceAttributeMaxBlockDimX = 26,
  hipDeviceAttributeMaxBlockDimY = 27,
  hipDeviceAttributeMaxBlockDimZ = 28,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeMaxPitch = 58,
  hipDeviceAttributeMemoryBusWidth = 59,
  hipDeviceAttributeMemoryClockRate = 60,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributePageableMemoryAccess = 65,
  hipDeviceAttributePageableMemoryAccessUsesHostPageTables = 66,
  hipDeviceAttributePciBusId = 67,
  hipDeviceAttributePciDeviceId = 68,
  hipDeviceAttributePciDomainId = 69,
  hipDeviceAttributeMaxRegistersPerBlock = 71,
  hipDeviceAttributeMaxRegistersPerMultiprocessor = 72,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeStreamPrioritiesSupported = 78,
  hipDeviceAttributeTextureAlignment = 81,
  hipDeviceAttributeTexturePitchAlignment = 82,
  hipDeviceAttributeTotalConstantMemory = 83,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributeMemoryPoolsSupported = 88,
  hipDeviceAttributeVirtualMemoryManagementSupported = 89,
  hipDeviceAttributeMemoryPoolSupportedHandleTypes = 91,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
  // Not a number but the address of a register, which takes eight bytes.
  hipDeviceAttributeHdpMemFlushCntl = 10005,
  hipDeviceAttributeCanUseStreamWaitValue = 10013,
};

// hipDeviceProp_t is 792 bytes as of version 5 and 1,472 as of version 6; the
// stub reads one string of it, at these offsets, and asks for all numbers by
// hipDeviceGetAttribute.
inline constexpr std::size_t kHipDevicePropBytes = 4096;  // ample for both
inline constexpr std::size_t kArchNameOffsetR0000 = 396;
inline constexpr std::size_t kArchNameOffsetR0600 = 1160;
inline constexpr std::size_t kArchNameBytes = 256;

#endif  // CERBERUS_HIP_HIP_ABI_H_
