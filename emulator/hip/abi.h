// HIP's binary interface, in our own declarations: what a program compiled
// against AMD's headers of major version 5, 6 or 7 hands to libamdhip64.
//
// Names are HIP's, so that a reader finds them in AMD's documentation; only
// what crosses the boundary is here. Where the versions differ, both layouts
// stand side by side and hip/runtime.h says which one a caller uses.
//
// Source: HIP Runtime API Reference of ROCm 5.2, 6.0 and 7.0 (data structures
// and enumerations), "HIP API 7.0 changes".
#ifndef CERBERUS_EMULATOR_HIP_ABI_H_
#define CERBERUS_EMULATOR_HIP_ABI_H_

#include <cstddef>
#include <cstdint>

// Every exported function is one of these; hip.map exports by name.
#define HIP_API extern "C" __attribute__((visibility("default")))

enum hipError_t : std::uint32_t {
#define HIP_ERROR(name, value, text) name = value,
#include "emulator/hip/errors.def"
#undef HIP_ERROR
};

using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipCtx_t = struct ihipCtx_t*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipMemPool_t = struct ihipMemPoolHandle_t*;
using hipArray_t = struct hipArray*;
using hipArray_const_t = const struct hipArray*;
using hipMipmappedArray_t = struct hipMipmappedArray*;
using hipMipmappedArray_const_t = const struct hipMipmappedArray*;
using hipTextureObject_t = struct __hip_texture*;
using hipSurfaceObject_t = struct __hip_surface*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;

// Handles with a meaning of their own.
inline const hipStream_t kHipStreamLegacy = reinterpret_cast<hipStream_t>(1);
inline const hipStream_t kHipStreamPerThread = reinterpret_cast<hipStream_t>(2);

// Tags in the `extra` list of hipModuleLaunchKernel.
enum : std::uintptr_t {
  kHipLaunchParamBufferPointer = 1,
  kHipLaunchParamBufferSize = 2,
  kHipLaunchParamEnd = 3,
};

struct dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

using hipMemGenericAllocationHandle_t = struct ihipMemGenericAllocationHandle*;

struct hipIpcMemHandle_t {
  char reserved[64];
};
struct hipIpcEventHandle_t {
  char reserved[64];
};

struct hipUUID {
  char bytes[16];
};

enum hipMemcpyKind : std::uint32_t {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
  hipMemcpyDeviceToDeviceNoCU = 1024,
};

// Numbers of hipMemoryType since version 6; version 5 counts Host 0,
// Device 1, Array 2, Unified 3, Managed 4.
enum hipMemoryType : std::uint32_t {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3,
  hipMemoryTypeArray = 10,
  hipMemoryTypeUnified = 11,
};

struct hipPointerAttribute_t {
  std::uint32_t type;  // "memoryType" in version 5
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

enum hipPointer_attribute : std::uint32_t {
  HIP_POINTER_ATTRIBUTE_CONTEXT = 1,
  HIP_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  HIP_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  HIP_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  HIP_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
  HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
  HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  HIP_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE = 10,
  HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  HIP_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  HIP_POINTER_ATTRIBUTE_MAPPED = 13,
  HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
  HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
  HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
  HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
};

// Flags.
enum : unsigned {
  hipStreamDefault = 0,
  hipStreamNonBlocking = 1,
  hipEventBlockingSync = 0x1,
  hipEventDisableTiming = 0x2,
  hipEventInterprocess = 0x4,
  hipHostMallocPortable = 0x1,
  hipHostMallocMapped = 0x2,
  hipHostMallocWriteCombined = 0x4,
  hipMemAttachGlobal = 0x1,
  hipMemAttachHost = 0x2,
  hipMemAttachSingle = 0x4,
  hipHostRegisterPortable = 0x1,
  hipHostRegisterMapped = 0x2,
  hipOccupancyDisableCachingOverride = 0x1,
};

struct hipPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
struct hipExtent {
  std::size_t width, height, depth;
};
struct hipPos {
  std::size_t x, y, z;
};

// Arrays: what a texture or a surface is made of.
enum hipChannelFormatKind : std::uint32_t {
  hipChannelFormatKindSigned = 0,
  hipChannelFormatKindUnsigned = 1,
  hipChannelFormatKindFloat = 2,
  hipChannelFormatKindNone = 3,
};
struct hipChannelFormatDesc {
  int x, y, z, w;  // bits of each channel
  std::uint32_t f;
};
enum hipArray_Format : std::uint32_t {
  HIP_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  HIP_AD_FORMAT_UNSIGNED_INT16 = 0x02,
  HIP_AD_FORMAT_UNSIGNED_INT32 = 0x03,
  HIP_AD_FORMAT_SIGNED_INT8 = 0x08,
  HIP_AD_FORMAT_SIGNED_INT16 = 0x09,
  HIP_AD_FORMAT_SIGNED_INT32 = 0x0a,
  HIP_AD_FORMAT_HALF = 0x10,
  HIP_AD_FORMAT_FLOAT = 0x20,
};
enum : unsigned {
  hipArrayDefault = 0x00,
  hipArrayLayered = 0x01,
  hipArraySurfaceLoadStore = 0x02,
  hipArrayCubemap = 0x04,
  hipArrayTextureGather = 0x08,
};
struct HIP_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;
  std::uint32_t Format;
  unsigned NumChannels;
};
struct HIP_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;
  std::uint32_t Format;
  unsigned NumChannels;
  unsigned Flags;
};

// Textures: the runtime's and the driver's descriptions.
enum hipResourceType : std::uint32_t {
  hipResourceTypeArray = 0,
  hipResourceTypeMipmappedArray = 1,
  hipResourceTypeLinear = 2,
  hipResourceTypePitch2D = 3,
};
struct hipResourceDesc {
  std::uint32_t resType;
  union {
    struct {
      hipArray_t array;
    } array;
    struct {
      hipMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct HIP_RESOURCE_DESC {
  std::uint32_t resType;
  union {
    struct {
      hipArray_t hArray;
    } array;
    struct {
      hipMipmappedArray_t hMipmappedArray;
    } mipmap;
    struct {
      hipDeviceptr_t devPtr;
      std::uint32_t format;
      unsigned numChannels;
      std::size_t sizeInBytes;
    } linear;
    struct {
      hipDeviceptr_t devPtr;
      std::uint32_t format;
      unsigned numChannels;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
    int reserved[32];
  } res;
  unsigned flags;
};
enum : std::uint32_t {
  hipReadModeElementType = 0,
  hipReadModeNormalizedFloat = 1,
};
struct hipTextureDesc {
  std::uint32_t addressMode[3];
  std::uint32_t filterMode;
  std::uint32_t readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  std::uint32_t mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct HIP_TEXTURE_DESC {
  std::uint32_t addressMode[3];
  std::uint32_t filterMode;
  unsigned flags;
  unsigned maxAnisotropy;
  std::uint32_t mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};
struct hipResourceViewDesc {
  std::uint32_t format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
struct HIP_RESOURCE_VIEW_DESC {
  std::uint32_t format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};

struct hipMemcpy3DPeerParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  int srcDevice;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  int dstDevice;
  hipExtent extent;
};

struct hipMemcpy3DParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  std::uint32_t kind;
};

struct hip_Memcpy2D {
  std::size_t srcXInBytes, srcY;
  std::uint32_t srcMemoryType;
  const void* srcHost;
  hipDeviceptr_t srcDevice;
  hipArray_t srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  std::uint32_t dstMemoryType;
  void* dstHost;
  hipDeviceptr_t dstDevice;
  hipArray_t dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};

// HIP_MEMCPY3D: its numbers are unsigned int up to version 5, size_t since 6.
template <typename N>
struct HipMemcpy3DLayout {
  N srcXInBytes, srcY, srcZ, srcLOD;
  std::uint32_t srcMemoryType;
  const void* srcHost;
  hipDeviceptr_t srcDevice;
  hipArray_t srcArray;
  N srcPitch, srcHeight;
  N dstXInBytes, dstY, dstZ, dstLOD;
  std::uint32_t dstMemoryType;
  void* dstHost;
  hipDeviceptr_t dstDevice;
  hipArray_t dstArray;
  N dstPitch, dstHeight;
  N WidthInBytes, Height, Depth;
};
using HIP_MEMCPY3D = HipMemcpy3DLayout<std::size_t>;
using HipMemcpy3DV5 = HipMemcpy3DLayout<unsigned>;

struct hipFuncAttributes {
  int binaryVersion;
  int cacheModeCA;
  std::size_t constSizeBytes;
  std::size_t localSizeBytes;
  int maxDynamicSharedSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int preferredShmemCarveout;
  int ptxVersion;
  std::size_t sharedSizeBytes;
};

enum hipFunction_attribute : std::uint32_t {
  HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
  HIP_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

struct hipFunctionLaunchParams {
  hipFunction_t function;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  hipStream_t hStream;
  void** kernelParams;
};

struct hipLaunchParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  void** args;
  std::size_t sharedMem;
  hipStream_t stream;
};

enum : std::uint32_t {
  hipLaunchAttributeAccessPolicyWindow = 1,
  hipLaunchAttributeCooperative = 2,
  hipLaunchAttributeSynchronizationPolicy = 3,
  hipLaunchAttributePriority = 8,
  hipLaunchAttributeMemSyncDomainMap = 9,
  hipLaunchAttributeMemSyncDomain = 10,
};
union hipLaunchAttributeValue {
  char pad[64];
  int cooperative;
  int priority;
  std::uint32_t syncPolicy;
};
struct hipLaunchAttribute {
  std::uint32_t id;
  char pad[4];
  hipLaunchAttributeValue val;
};
struct hipLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  hipStream_t stream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct HIP_LAUNCH_CONFIG {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  hipStream_t hStream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};
enum : unsigned {
  hipCooperativeLaunchMultiDeviceNoPreSync = 1,
  hipCooperativeLaunchMultiDeviceNoPostSync = 2,
};

enum : std::uint32_t {
  hipStreamMemOpWaitValue32 = 1,
  hipStreamMemOpWriteValue32 = 2,
  hipStreamMemOpFlushRemoteWrites = 3,
  hipStreamMemOpWaitValue64 = 4,
  hipStreamMemOpWriteValue64 = 5,
  hipStreamMemOpBarrier = 6,
};
union hipStreamBatchMemOpParams {
  std::uint32_t operation;
  struct {
    std::uint32_t operation;
    hipDeviceptr_t address;
    std::uint64_t value;  // the lower half for 32 bits
    unsigned flags;
    hipDeviceptr_t alias;
  } value;
  std::uint64_t pad[6];
};

enum hipLimit_t : std::uint32_t {
  hipLimitStackSize = 0x0,
  hipLimitPrintfFifoSize = 0x1,
  hipLimitMallocHeapSize = 0x2,
};

enum hipMemPoolAttr : std::uint32_t {
  hipMemPoolReuseFollowEventDependencies = 1,
  hipMemPoolReuseAllowOpportunistic = 2,
  hipMemPoolReuseAllowInternalDependencies = 3,
  hipMemPoolAttrReleaseThreshold = 4,
  hipMemPoolAttrReservedMemCurrent = 5,
  hipMemPoolAttrReservedMemHigh = 6,
  hipMemPoolAttrUsedMemCurrent = 7,
  hipMemPoolAttrUsedMemHigh = 8,
};
struct hipMemLocation {
  std::uint32_t type;  // 1: device
  int id;
};
struct hipMemAllocationProp {
  std::uint32_t type;         // 1: pinned
  std::uint32_t handleTypes;  // 0 none, 1 a file descriptor
  hipMemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
  } allocFlags;
};
struct hipMemPoolProps {
  std::uint32_t allocType;
  std::uint32_t handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  unsigned char reserved[64];  // version 6 splits off maxSize
};
struct hipMemAccessDesc {
  hipMemLocation location;
  std::uint32_t flags;
};

// What the nodes of a graph are made from.
struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  std::size_t height;
  std::size_t pitch;
  unsigned value;
  std::size_t width;
};
struct hipHostNodeParams {
  void (*fn)(void*);
  void* userData;
};
struct hipMemAllocNodeParams {
  hipMemPoolProps poolProps;
  const hipMemAccessDesc* accessDescs;
  std::size_t accessDescCount;
  std::size_t bytesize;
  void* dptr;
};

struct hipBatchMemOpNodeParams {
  hipCtx_t ctx;
  unsigned count;
  hipStreamBatchMemOpParams* paramArray;
  unsigned flags;
};

// Memory and semaphores of other interfaces.
using hipExternalMemory_t = struct ihipExternalMemory*;
using hipExternalSemaphore_t = struct ihipExternalSemaphore*;
enum : std::uint32_t {
  hipExternalMemoryHandleTypeOpaqueFd = 1,
  hipExternalSemaphoreHandleTypeOpaqueFd = 1,
  hipExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9,
};
union hipExternalHandle {
  int fd;
  struct {
    void* handle;
    const void* name;
  } win32;
};
struct hipExternalMemoryHandleDesc {
  std::uint32_t type;
  hipExternalHandle handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct hipExternalMemoryBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct hipExternalSemaphoreHandleDesc {
  std::uint32_t type;
  hipExternalHandle handle;
  unsigned flags;
  unsigned reserved[16];
};
// Of signals and of waits: the former have no timeout.
struct hipExternalSemaphoreParams {
  unsigned long long fence;
  unsigned long long nv_sci_sync;
  unsigned long long key;
  unsigned timeout_ms;
  unsigned reserved[11];
  unsigned flags;
  unsigned more[16];
};
struct hipExternalSemaphoreNodeParams {
  hipExternalSemaphore_t* extSemArray;
  const hipExternalSemaphoreParams* paramsArray;
  unsigned numExtSems;
};

enum hipDeviceAttribute_t : std::uint32_t {
#define HIP_ATTRIBUTE(name, number, answer) hipDeviceAttribute##name = number,
#include "emulator/hip/attributes.def"
#undef HIP_ATTRIBUTE
};

using hipStreamCallback_t = void (*)(hipStream_t, hipError_t, void*);
using hipHostFn_t = void (*)(void*);
using hipUserObject_t = void*;

// hipDeviceArch_t: one bit per feature, in this order.
enum : unsigned {
  kArchGlobalInt32Atomics = 1u << 0,
  kArchGlobalFloatAtomicExch = 1u << 1,
  kArchSharedInt32Atomics = 1u << 2,
  kArchSharedFloatAtomicExch = 1u << 3,
  kArchFloatAtomicAdd = 1u << 4,
  kArchGlobalInt64Atomics = 1u << 5,
  kArchSharedInt64Atomics = 1u << 6,
  kArchDoubles = 1u << 7,
  kArchWarpVote = 1u << 8,
  kArchWarpBallot = 1u << 9,
  kArchWarpShuffle = 1u << 10,
  kArchFunnelShift = 1u << 11,
  kArchThreadFenceSystem = 1u << 12,
  kArchSyncThreadsExt = 1u << 13,
  kArchSurfaceFuncs = 1u << 14,
  kArch3dGrid = 1u << 15,
  kArchDynamicParallelism = 1u << 16,
};

// What hipGetDeviceProperties fills up to version 5.
struct hipDeviceProp_tR0000 {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  std::size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int computeMode;
  int clockInstructionRate;
  unsigned arch;
  int concurrentKernels;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard;
  int canMapHostMemory;
  int gcnArch;
  char gcnArchName[256];
  int integrated;
  int cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  int maxTexture1DLinear;
  int maxTexture1D;
  int maxTexture2D[2];
  int maxTexture3D[3];
  unsigned* hdpMemFlushCntl;
  unsigned* hdpRegFlushCntl;
  std::size_t memPitch;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
  int kernelExecTimeoutEnabled;
  int ECCEnabled;
  int tccDriver;
  int cooperativeMultiDeviceUnmatchedFunc;
  int cooperativeMultiDeviceUnmatchedGridDim;
  int cooperativeMultiDeviceUnmatchedBlockDim;
  int cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar;
  int asicRevision;
  int managedMemory;
  int directManagedMemAccessFromHost;
  int concurrentManagedAccess;
  int pageableMemoryAccess;
  int pageableMemoryAccessUsesHostPageTables;
};

// What hipGetDevicePropertiesR0600 fills, versions 6 and 7.
struct hipDeviceProp_tR0600 {
  char name[256];
  hipUUID uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  std::size_t totalConstMem;
  int major;
  int minor;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
  int deviceOverlap;
  int multiProcessorCount;
  int kernelExecTimeoutEnabled;
  int integrated;
  int canMapHostMemory;
  int computeMode;
  int maxTexture1D;
  int maxTexture1DMipmap;
  int maxTexture1DLinear;
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  int sparseHipArraySupported;
  int hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported;
  int memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported;
  int ipcEventSupported;
  int clusterLaunch;
  int unifiedFunctionPointers;
  int reserved[63];
  int hipReserved[32];
  char gcnArchName[256];
  std::size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  unsigned arch;
  unsigned* hdpMemFlushCntl;
  unsigned* hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatchedFunc;
  int cooperativeMultiDeviceUnmatchedGridDim;
  int cooperativeMultiDeviceUnmatchedBlockDim;
  int cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar;
  int asicRevision;
};
static_assert(sizeof(hipDeviceProp_tR0600) == 1472);

// Sizes that a C compiler gives AMD's own declarations.
static_assert(sizeof(hipDeviceProp_tR0000) == 792);
static_assert(sizeof(hip_Memcpy2D) == 128);
static_assert(sizeof(HipMemcpy3DV5) == 128);
static_assert(sizeof(hipMemcpy3DParms) == 160);
static_assert(sizeof(hipResourceDesc) == 64);
static_assert(sizeof(hipTextureDesc) == 64);
static_assert(sizeof(HIP_RESOURCE_DESC) == 144);
static_assert(sizeof(HIP_TEXTURE_DESC) == 104);
static_assert(sizeof(HIP_RESOURCE_VIEW_DESC) == 112);
static_assert(sizeof(hipKernelNodeParams) == 64);
static_assert(sizeof(hipMemAllocNodeParams) == 120);
static_assert(sizeof(hipStreamBatchMemOpParams) == 48);
static_assert(sizeof(hipBatchMemOpNodeParams) == 32);
static_assert(sizeof(hipExternalMemoryHandleDesc) == 104);
static_assert(sizeof(hipExternalMemoryBufferDesc) == 88);
static_assert(sizeof(hipExternalSemaphoreHandleDesc) == 96);
static_assert(sizeof(hipExternalSemaphoreParams) == 144);
static_assert(sizeof(hipLaunchAttribute) == 72);
static_assert(sizeof(hipLaunchConfig_t) == 56);
static_assert(sizeof(HIP_LAUNCH_CONFIG) == 56);

#endif  // CERBERUS_EMULATOR_HIP_ABI_H_
