// The CUDA driver API's binary interface, in our own declarations: building
// the stub needs no CUDA toolkit. Names are CUDA's, so that a reader finds
// them in NVIDIA's documentation; only what the stub looks into is here.
//
// Source: CUDA Driver API Reference Manual 13.0; cuda.h 13.5 for what is newer.
#ifndef CERBERUS_RUNTIME_STUB_API_CUDA_ABI_H_
#define CERBERUS_RUNTIME_STUB_API_CUDA_ABI_H_

#include <cstddef>
#include <cstdint>

#include "hip/cuda_uuid.h"

enum CUresult : int {
#define CUDA_ERROR_ROW(name, value, text) name = value,
#include "runtime-stub/api/cuda_errors.def"
#undef CUDA_ERROR_ROW
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;

// Handles. What stands behind them is the stub's own (context.h, module.h,
// stream.h) or HIP's.
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUlinkState = struct CUlinkState_st*;
using CUtexref = struct CUtexref_st*;
using CUsurfref = struct CUsurfref_st*;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUexternalMemory = struct CUextMemory_st*;
using CUexternalSemaphore = struct CUextSemaphore_st*;
using CUasyncCallbackHandle = struct CUasyncCallbackEntry_st*;
using CUasyncCallback = void (*)(void* info, void* user_data,
                                 CUasyncCallbackHandle callback);

// Streams that are no objects.
inline CUstream LegacyStream() { return reinterpret_cast<CUstream>(1); }
inline CUstream PerThreadStream() { return reinterpret_cast<CUstream>(2); }

// Enumerations whose values only pass through.
using CUdevice_attribute = int;
using CUfunction_attribute = int;
using CUpointer_attribute = int;
using CUlimit = int;
using CUfunc_cache = int;
using CUsharedconfig = int;
using CUjit_option = int;
using CUjitInputType = int;
using CUlibraryOption = int;
using CUmoduleLoadingMode = int;
using CUdevice_P2PAttribute = int;
using CUmem_advise = int;
using CUmemPool_attribute = int;
using CUmemAccess_flags = int;
using CUmem_range_attribute = int;
using CUtensorMapDataType = int;
using CUtensorMapInterleave = int;
using CUtensorMapSwizzle = int;
using CUtensorMapL2promotion = int;
using CUtensorMapFloatOOBfill = int;
using CUarray_format = int;
using CUstreamAttrID = int;
using CUkernelNodeAttrID = int;
using CUdriverProcAddressQueryResult = int;
using CUfunctionLoadingState = int;
using CUexecAffinityType = int;
using CUmemAllocationType = int;
using CUmemAllocationHandleType = int;
using CUstreamCaptureMode = int;
using CUstreamCaptureStatus = int;
using CUatomicOperation = int;
using CUmemRangeHandleType = int;
using CUflushGPUDirectRDMAWritesTarget = int;
using CUflushGPUDirectRDMAWritesScope = int;

using CUstreamCallback = void (*)(CUstream stream, CUresult status,
                                  void* user_data);
using CUhostFn = void (*)(void* user_data);
using CUoccupancyB2DSize = std::size_t (*)(int block_size);

enum : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
  CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B = 15,
};
enum : int {
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B = 6,
};
enum : int {
  CU_GET_PROC_ADDRESS_DEFAULT = 0,
  CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};
enum : int {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};
enum : int {
  CU_MODULE_EAGER_LOADING = 1,
  CU_MODULE_LAZY_LOADING = 2,
};
enum : int {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};
enum : unsigned {
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_EVENT_INTERPROCESS = 4,
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_MEMHOSTALLOC_DEVICEMAP = 2,
  CU_MEMHOSTALLOC_WRITECOMBINED = 4,
  CU_MEMHOSTREGISTER_PORTABLE = 1,
  CU_MEMHOSTREGISTER_DEVICEMAP = 2,
  CU_MEMHOSTREGISTER_IOMEMORY = 4,
  CU_MEMHOSTREGISTER_READ_ONLY = 8,
  CU_MEM_ATTACH_GLOBAL = 1,
  CU_MEM_ATTACH_HOST = 2,
  CU_MEM_ATTACH_SINGLE = 4,
  CU_CTX_FLAGS_MASK = 0xff,
};
enum : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
};
enum : int {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,
  CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
  CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,
  CU_LIMIT_SHMEM_SIZE = 7,
  CU_LIMIT_CIG_ENABLED = 8,
  CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9,
};
enum : int {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_THREADS_PER_BLOCK = 1,
  CU_JIT_WALL_TIME = 2,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
};
enum : int {
  CU_JIT_INPUT_CUBIN = 0,
  CU_JIT_INPUT_PTX = 1,
  CU_JIT_INPUT_FATBINARY = 2,
  CU_JIT_INPUT_OBJECT = 3,
  CU_JIT_INPUT_LIBRARY = 4,
};
enum : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
  CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
  CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13,
  CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
  CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
  CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
  CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
  CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
  CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
};
enum : int {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
  CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12,
  CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13,
};

// Tags in the `extra` list of cuLaunchKernel.
inline constexpr std::uintptr_t kLaunchParamEnd = 0;
inline constexpr std::uintptr_t kLaunchParamBufferPointer = 1;
inline constexpr std::uintptr_t kLaunchParamBufferSize = 2;

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};
static_assert(sizeof(CUDA_MEMCPY2D) == 128);

struct CUDA_MEMCPY3D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  std::size_t srcZ;
  std::size_t srcLOD;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  std::size_t srcPitch;
  std::size_t srcHeight;
  std::size_t dstXInBytes;
  std::size_t dstY;
  std::size_t dstZ;
  std::size_t dstLOD;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  std::size_t dstPitch;
  std::size_t dstHeight;
  std::size_t WidthInBytes;
  std::size_t Height;
  std::size_t Depth;
};
static_assert(sizeof(CUDA_MEMCPY3D) == 200);

// The same with contexts where CUDA_MEMCPY3D has reserved words.
struct CUDA_MEMCPY3D_PEER {
  std::size_t srcXInBytes;
  std::size_t srcY;
  std::size_t srcZ;
  std::size_t srcLOD;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  std::size_t srcPitch;
  std::size_t srcHeight;
  std::size_t dstXInBytes;
  std::size_t dstY;
  std::size_t dstZ;
  std::size_t dstLOD;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  std::size_t dstPitch;
  std::size_t dstHeight;
  std::size_t WidthInBytes;
  std::size_t Height;
  std::size_t Depth;
};
static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D));

struct CUaccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  int hitProp, missProp;  // 0 normal, 1 streaming, 2 persisting
};
static_assert(sizeof(CUaccessPolicyWindow) == 32);

union CUlaunchAttributeValue {
  char bytes[64];
  CUaccessPolicyWindow accessPolicyWindow;
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int syncPolicy;
  int priority;
  CUevent event;  // programmatic, or of the launch's completion
};
struct CUlaunchAttribute {
  int id;
  char pad[4];
  CUlaunchAttributeValue value;
};
static_assert(sizeof(CUlaunchAttribute) == 72);

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};
static_assert(sizeof(CUlaunchConfig) == 56);

using CUstreamAttrValue = CUlaunchAttributeValue;
using CUkernelNodeAttrValue = CUlaunchAttributeValue;

struct CUmemLocation {
  int type;  // 1 device, 2 host, 3 NUMA node, 4 current NUMA node
  int id;
};
enum : int {
  CU_MEM_LOCATION_TYPE_INVALID = 0,
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2,
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

// Virtual memory management.
using CUmemGenericAllocationHandle = unsigned long long;
using CUmemAllocationGranularity_flags = int;
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
static_assert(sizeof(CUmemAllocationProp) == 32);

using CUmulticastGranularity_flags = int;
struct CUmulticastObjectProp {
  unsigned numDevices;
  std::size_t size;
  unsigned long long handleTypes;
  unsigned long long flags;
};
static_assert(sizeof(CUmulticastObjectProp) == 32);

struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};

// Words that streams wait for and write.
union CUstreamBatchMemOpParams {
  int operation;
  struct {
    int operation;
    CUdeviceptr address;
    cuuint64_t word;  // the low half of it for 32 bits
    unsigned flags;
    CUdeviceptr alias;
  } value;
  cuuint64_t pad[6];
};
static_assert(sizeof(CUstreamBatchMemOpParams) == 48);

struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned count;
  CUstreamBatchMemOpParams* paramArray;
  unsigned flags;
};
static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS) == 32);

// Memory and semaphores of other interfaces. HIP's structures are the same.
union CUexternalHandle {
  int fd;
  struct {
    void* handle;
    const void* name;
  } win32;
};
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  int type;
  CUexternalHandle handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) == 104);
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) == 88);
struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
  int type;
  CUexternalHandle handle;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) == 96);
struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
  unsigned long long fence;
  unsigned long long nv_sci_sync;
  unsigned long long key;
  unsigned reserved0[12];
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) == 144);
struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
  unsigned long long fence;
  unsigned long long nv_sci_sync;
  unsigned long long key;
  unsigned timeout_ms;
  unsigned reserved0[11];
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) == 144);
struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
  CUexternalSemaphore* extSemArray;
  const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* paramsArray;
  unsigned numExtSems;
};
struct CUDA_EXT_SEM_WAIT_NODE_PARAMS {
  CUexternalSemaphore* extSemArray;
  const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* paramsArray;
  unsigned numExtSems;
};

// Batches.
struct CUmemcpyAttributes {
  int srcAccessOrder;
  CUmemLocation srcLocHint;
  CUmemLocation dstLocHint;
  unsigned flags;
};
static_assert(sizeof(CUmemcpyAttributes) == 24);
struct CUmemcpy3DOperand {
  int type;  // 1 pointer, 2 array
  union {
    struct {
      CUdeviceptr ptr;
      std::size_t rowLength;
      std::size_t layerHeight;
      CUmemLocation locHint;
    } ptr;
    struct {
      CUarray array;
      struct {
        std::size_t x, y, z;
      } offset;
    } array;
  } op;
};
struct CUDA_MEMCPY3D_BATCH_OP {
  CUmemcpy3DOperand src;
  CUmemcpy3DOperand dst;
  struct {
    std::size_t width, height, depth;
  } extent;
  int srcAccessOrder;
  unsigned flags;
};
static_assert(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112);

struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(CUmemPoolProps) == 88);

using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;

// formats/tensor_map.h says what is in it.
struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};

struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  CUarray_format Format;
  unsigned NumChannels;
};
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24);
struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  std::size_t Depth;
  CUarray_format Format;
  unsigned NumChannels;
  unsigned Flags;
};
static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40);
enum : int {
  CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
  CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
  CU_AD_FORMAT_SIGNED_INT8 = 0x08,
  CU_AD_FORMAT_SIGNED_INT16 = 0x09,
  CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
  CU_AD_FORMAT_HALF = 0x10,
  CU_AD_FORMAT_FLOAT = 0x20,
};
struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size;
  std::size_t alignment;
  unsigned reserved[4];
};
enum : unsigned {
  CUDA_ARRAY3D_LAYERED = 0x01,
  CUDA_ARRAY3D_SURFACE_LDST = 0x02,
  CUDA_ARRAY3D_CUBEMAP = 0x04,
  CUDA_ARRAY3D_TEXTURE_GATHER = 0x08,
};
enum : int {
  CU_RESOURCE_TYPE_ARRAY = 0,
  CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
  CU_RESOURCE_TYPE_LINEAR = 2,
  CU_RESOURCE_TYPE_PITCH2D = 3,
};
struct CUDA_RESOURCE_DESC {
  int resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t width;
      std::size_t height;
      std::size_t pitchInBytes;
    } pitch2D;
    int reserved[32];
  } res;
  unsigned flags;
};
static_assert(sizeof(CUDA_RESOURCE_DESC) == 144);
enum : unsigned {
  CU_TRSF_READ_AS_INTEGER = 0x01,
  CU_TRSF_NORMALIZED_COORDINATES = 0x02,
  CU_TRSF_SRGB = 0x10,
};
struct CUDA_TEXTURE_DESC {
  int addressMode[3];  // 0 wrap, 1 clamp, 2 mirror, 3 border
  int filterMode;      // 0 nearest, 1 linear
  unsigned flags;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};
static_assert(sizeof(CUDA_TEXTURE_DESC) == 104);
using CUaddress_mode = int;
using CUfilter_mode = int;
enum : unsigned { CU_TRSA_OVERRIDE_FORMAT = 0x01 };
constexpr int CU_PARAM_TR_DEFAULT = -1;
// format: 0 none, else 1 + 3 * kind + log2(channels), of the kinds u8, s8,
// u16, s16, u32, s32, half and float; above 24 block-compressed formats.
struct CUDA_RESOURCE_VIEW_DESC {
  int format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel;
  unsigned firstLayer, lastLayer;
  unsigned reserved[16];
};
static_assert(sizeof(CUDA_RESOURCE_VIEW_DESC) == 112);

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == 56);
struct CUDA_KERNEL_NODE_PARAMS : CUDA_KERNEL_NODE_PARAMS_v1 {
  CUkernel kern;  // in place of `func`
  CUcontext ctx;
};
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72);
struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  std::size_t pitch;
  unsigned value;
  unsigned elementSize;
  std::size_t width;
  std::size_t height;
};
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40);
struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void* userData;
};
struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc* accessDescs;
  std::size_t accessDescCount;
  std::size_t bytesize;
  CUdeviceptr dptr;
};
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == 120);
struct CUDA_MEMSET_NODE_PARAMS_v2 : CUDA_MEMSET_NODE_PARAMS {
  CUcontext ctx;
};
using CUgraphConditionalHandle = cuuint64_t;
struct CUDA_CONDITIONAL_NODE_PARAMS {
  CUgraphConditionalHandle handle;
  int type;
  unsigned size;
  CUgraph* phGraph_out;  // the node's
  CUcontext ctx;
};
static_assert(sizeof(CUDA_CONDITIONAL_NODE_PARAMS) == 32);
// A node of any kind. With CUDA 12.2 and later all go through this.
struct CUgraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    struct {
      int flags;
      int reserved;
      CUcontext copyCtx;
      CUDA_MEMCPY3D copyParams;
    } memcpy;
    CUDA_MEMSET_NODE_PARAMS_v2 memset;
    CUDA_HOST_NODE_PARAMS host;
    struct {
      CUgraph graph;
      int ownership;
    } graph;
    CUevent event;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS wait;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr dptr;
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations;
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};
static_assert(sizeof(CUgraphNodeParams) == 256);
struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  cuuint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  int result_out;
};
using CUuserObject = struct CUuserObject_st*;
using CUgraphMem_attribute = int;

struct CUgraphExecUpdateResultInfo {
  int result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
};
static_assert(sizeof(CUgraphExecUpdateResultInfo) == 24);
using CUgraphNodeType = int;
using CUgraphExecUpdateResult = int;
struct CUgraphEdgeData {
  unsigned char from_port, to_port;
  unsigned char type;
  unsigned char reserved[5];
};
static_assert(sizeof(CUgraphEdgeData) == 8);

struct CUexecAffinityParam {
  CUexecAffinityType type;
  unsigned smCount;
};
static_assert(sizeof(CUexecAffinityParam) == 8);
struct CUctxCreateParams {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  void* cigParams;  // work of a graphics interface
};
static_assert(sizeof(CUctxCreateParams) == 24);

using CUdevResourceType = int;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;
struct CUdevResource {
  CUdevResourceType type;
  unsigned char internal[92];
  union {
    struct {
      unsigned smCount;
      unsigned minSmPartitionSize;
      unsigned smCoscheduledAlignment;
      unsigned flags;
      unsigned localityDomainId;
    } sm;
    unsigned char oversize[48];
  };
};
static_assert(sizeof(CUdevResource) == 144);
struct CU_DEV_SM_RESOURCE_GROUP_PARAMS {
  unsigned smCount;
  unsigned coscheduledSmCount;
  unsigned preferredCoscheduledSmCount;
  unsigned flags;
  unsigned localityDomainId;
  unsigned reserved[11];
};
static_assert(sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS) == 64);

using CUlogsCallback = void (*)(void* data, int level, char* message,
                                std::size_t length);
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogIterator = unsigned;

struct CUipcMemHandle {
  char reserved[64];
};
struct CUipcEventHandle {
  char reserved[64];
};

#endif  // CERBERUS_RUNTIME_STUB_API_CUDA_ABI_H_
