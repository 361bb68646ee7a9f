// The HSA runtime's binary interface in our own declarations: what AMD's HIP
// runtime and ROCm's tools call of libhsa-runtime64.so.1.
//
// Sources: HSA Runtime Programmer's Reference Manual 1.2 and HSA Platform
// System Architecture 1.2 (packets, signals, queues); AMD's extension and the
// layouts of amd_signal_t and amd_queue_t as LLVM's AMDGPUUsage and ROCm's
// headers give them. tests/unit/emulator/hsa_abi_test.cc holds every number
// and offset against the headers of Debian's libhsa-runtime-dev.
#ifndef CERBERUS_EMULATOR_HSA_ABI_H_
#define CERBERUS_EMULATOR_HSA_ABI_H_

#include <cstddef>
#include <cstdint>

namespace cerberus::emulator::hsa {

enum Status : std::uint32_t {
  kSuccess = 0,
  kInfoBreak = 1,
  kError = 0x1000,
  kErrorInvalidArgument = 0x1001,
  kErrorInvalidQueueCreation = 0x1002,
  kErrorInvalidAllocation = 0x1003,
  kErrorInvalidAgent = 0x1004,
  kErrorInvalidRegion = 0x1005,
  kErrorInvalidSignal = 0x1006,
  kErrorInvalidQueue = 0x1007,
  kErrorOutOfResources = 0x1008,
  kErrorInvalidPacketFormat = 0x1009,
  kErrorResourceFree = 0x100a,
  kErrorNotInitialized = 0x100b,
  kErrorIncompatibleArguments = 0x100d,
  kErrorInvalidIsa = 0x100f,
  kErrorInvalidCodeObject = 0x1010,
  kErrorInvalidExecutable = 0x1011,
  kErrorFrozenExecutable = 0x1012,
  kErrorInvalidSymbolName = 0x1013,
  kErrorVariableAlreadyDefined = 0x1014,
  kErrorVariableUndefined = 0x1015,
  kErrorException = 0x1016,
  kErrorInvalidIsaName = 0x1017,
  kErrorInvalidExecutableSymbol = 0x1019,
  kErrorInvalidFile = 0x1020,
  kErrorInvalidCodeObjectReader = 0x1021,
  kErrorInvalidWavefront = 0x1023,
  kErrorInvalidMemoryPool = 40,
  kErrorMemoryFault = 43,
  // Of the images extension.
  kErrorImageFormatUnsupported = 0x3000,
};

struct Agent {
  std::uint64_t handle;
};
struct Signal {
  std::uint64_t handle;
};
struct Region {
  std::uint64_t handle;
};
struct Pool {
  std::uint64_t handle;
};
struct Isa {
  std::uint64_t handle;
};
struct Wavefront {
  std::uint64_t handle;
};
struct Cache {
  std::uint64_t handle;
};
struct Reader {
  std::uint64_t handle;
};
struct ExecutableHandle {
  std::uint64_t handle;
};
struct LoadedCodeObject {
  std::uint64_t handle;
};
struct Symbol {
  std::uint64_t handle;
};
struct Dim3 {
  std::uint32_t x, y, z;
};

using SignalValue = std::int64_t;

enum Condition : std::uint32_t { kEq = 0, kNe = 1, kLt = 2, kGte = 3 };

// --- what is asked of the system ---------------------------------------------

enum SystemInfo : std::uint32_t {
  kSystemVersionMajor = 0,
  kSystemVersionMinor = 1,
  kSystemTimestamp = 2,
  kSystemTimestampFrequency = 3,
  kSystemSignalMaxWait = 4,
  kSystemEndianness = 5,
  kSystemMachineModel = 6,
  kSystemExtensions = 7,
  kSystemBuildVersion = 0x200,
  kSystemSvmSupported = 0x201,
  kSystemSvmAccessibleByDefault = 0x202,
  // ROCm 6
  kSystemMwaitxEnabled = 0x203,
  kSystemDmabufSupported = 0x204,
  kSystemVirtualMemApiSupported = 0x205,
  kSystemXnackEnabled = 0x206,
  kSystemExtVersionMajor = 0x207,
  kSystemExtVersionMinor = 0x208,
};

enum Extension : std::uint16_t {
  kExtensionFinalizer = 0,
  kExtensionImages = 1,
  kExtensionAmdProfiler = 0x200,
  kExtensionAmdLoader = 0x201,
  kExtensionAmdAqlprofile = 0x202,
};

// --- and of agents, ISAs, pools
// -----------------------------------------------

enum AgentInfo : std::uint32_t {
  kAgentName = 0,
  kAgentVendorName = 1,
  kAgentFeature = 2,
  kAgentMachineModel = 3,
  kAgentProfile = 4,
  kAgentRoundingMode = 5,
  kAgentWavefrontSize = 6,
  kAgentWorkgroupMaxDim = 7,
  kAgentWorkgroupMaxSize = 8,
  kAgentGridMaxDim = 9,
  kAgentGridMaxSize = 10,
  kAgentFbarrierMaxSize = 11,
  kAgentQueuesMax = 12,
  kAgentQueueMinSize = 13,
  kAgentQueueMaxSize = 14,
  kAgentQueueType = 15,
  kAgentNode = 16,
  kAgentDevice = 17,
  kAgentCacheSize = 18,
  kAgentIsa = 19,
  kAgentExtensions = 20,
  kAgentVersionMajor = 21,
  kAgentVersionMinor = 22,
  kAgentBaseProfileRoundingModes = 23,
  kAgentFastF16 = 24,
  kAgentChipId = 0xa000,
  kAgentCachelineSize = 0xa001,
  kAgentComputeUnits = 0xa002,
  kAgentMaxClock = 0xa003,
  kAgentDriverNode = 0xa004,
  kAgentMaxWatchPoints = 0xa005,
  kAgentBdfId = 0xa006,
  kAgentMemoryWidth = 0xa007,
  kAgentMemoryMaxFrequency = 0xa008,
  kAgentProductName = 0xa009,
  kAgentMaxWavesPerCu = 0xa00a,
  kAgentSimdsPerCu = 0xa00b,
  kAgentShaderEngines = 0xa00c,
  kAgentShaderArraysPerEngine = 0xa00d,
  kAgentHdpFlush = 0xa00e,
  kAgentDomain = 0xa00f,
  kAgentCooperativeQueues = 0xa010,
  kAgentUuid = 0xa011,
  kAgentAsicRevision = 0xa012,
  kAgentSvmDirectHostAccess = 0xa013,
  kAgentCooperativeComputeUnits = 0xa014,
  // ROCm 5.4 and later
  kAgentMemoryAvailable = 0xa015,
  kAgentTimestampFrequency = 0xa016,
  kAgentAsicFamilyId = 0xa107,
  kAgentUcodeVersion = 0xa108,
  kAgentSdmaUcodeVersion = 0xa109,
  kAgentSdmaEngines = 0xa10a,
  kAgentXgmiEngines = 0xa10b,
  kAgentIommuSupport = 0xa110,
  kAgentXccCount = 0xa111,
  kAgentDriverUid = 0xa112,
  kAgentNearestCpu = 0xa113,
  kAgentMemoryProperties = 0xa114,
  kAgentAqlExtensions = 0xa115,
  kAgentScratchLimitMax = 0xa116,
  kAgentScratchLimitCurrent = 0xa117,
  // Of the images extension; 32 bits for each dimension, which is what AMD's
  // HIP gives room for.
  kAgentImage1d = 0x3000,
  kAgentImage1dArray = 0x3001,
  kAgentImage1dBuffer = 0x3002,
  kAgentImage2d = 0x3003,
  kAgentImage2dArray = 0x3004,
  kAgentImage2dDepth = 0x3005,
  kAgentImage2dDepthArray = 0x3006,
  kAgentImage3d = 0x3007,
  kAgentImageLayers = 0x3008,
  kAgentImageReadHandles = 0x3009,
  kAgentImageWriteHandles = 0x300a,
  kAgentSamplerHandles = 0x300b,
  kAgentImagePitchAlignment = 0x300c,
};

enum IsaInfo : std::uint32_t {
  kIsaNameLength = 0,
  kIsaName = 1,
  kIsaCallConventionCount = 2,
  kIsaWavefrontSize = 3,
  kIsaWavefrontsPerComputeUnit = 4,
  kIsaMachineModels = 5,
  kIsaProfiles = 6,
  kIsaRoundingModes = 7,
  kIsaBaseProfileRoundingModes = 8,
  kIsaFastF16 = 9,
  kIsaWorkgroupMaxDim = 12,
  kIsaWorkgroupMaxSize = 13,
  kIsaGridMaxDim = 14,
  kIsaGridMaxSize = 16,
  kIsaFbarrierMaxSize = 17,
};

enum CacheInfo : std::uint32_t {
  kCacheNameLength = 0,
  kCacheName = 1,
  kCacheLevel = 2,
  kCacheSize = 3,
};

enum PoolInfo : std::uint32_t {
  kPoolSegment = 0,
  kPoolGlobalFlags = 1,
  kPoolSize = 2,
  kPoolAllocAllowed = 5,
  kPoolAllocGranule = 6,
  kPoolAllocAlignment = 7,
  kPoolAccessibleByAll = 15,
  kPoolAllocMaxSize = 16,
  kPoolLocation = 17,
  kPoolAllocRecGranule = 18,
};
enum RegionInfo : std::uint32_t {
  kRegionSegment = 0,
  kRegionGlobalFlags = 1,
  kRegionSize = 2,
  kRegionAllocMaxSize = 4,
  kRegionAllocAllowed = 5,
  kRegionAllocGranule = 6,
  kRegionAllocAlignment = 7,
  kRegionAllocMaxPrivateSize = 8,
};
enum Segment : std::uint32_t { kSegmentGlobal = 0, kSegmentGroup = 3 };
enum PoolFlags : std::uint32_t {
  kPoolKernarg = 1,
  kPoolFineGrained = 2,
  kPoolCoarseGrained = 4,
};

enum AgentPoolInfo : std::uint32_t {
  kAgentPoolAccess = 0,
  kAgentPoolLinkHops = 1,
  kAgentPoolLinkInfo = 2,
};
enum PoolAccess : std::uint32_t {
  kAccessNever = 0,
  kAccessByDefault = 1,
  kAccessOnRequest = 2,
};
struct LinkInfo {
  std::uint32_t min_latency, max_latency;
  std::uint32_t min_bandwidth, max_bandwidth;
  bool atomics_32, atomics_64, coherent;
  std::uint32_t type;  // 2: PCIe
  std::uint32_t numa_distance;
};

enum PointerType : std::uint32_t {
  kPointerUnknown = 0,
  kPointerHsa = 1,
  kPointerLocked = 2,
  kPointerGraphics = 3,
  kPointerIpc = 4,
  kPointerReserved = 5,
  kPointerVirtual = 6,
};
// Callers say in `size` how much of it they know.
struct PointerInfo {
  std::uint32_t size;
  std::uint32_t type;
  void* agent_base;
  void* host_base;
  std::size_t bytes;
  void* user_data;
  Agent owner;
  std::uint32_t global_flags;
  bool registered;  // ROCm 6
};

// A name of an allocation for other processes.
struct IpcHandle {
  std::uint32_t words[8];
};

// Memory without an address.
struct VirtualHandle {
  std::uint64_t handle;
};
enum Permission : std::uint32_t {
  kNoAccess = 0,
  kReadOnly = 1,
  kWriteOnly = 2,
  kReadWrite = 3,
};
struct AccessDescription {
  Permission permission;
  Agent agent;
};

struct PitchedPointer {
  void* base;
  std::size_t pitch, slice;
};

// --- signals and queues
// --------------------------------------------------------

// amd_signal_t: what a handle of a signal points at, and what device code
// (hostcall) reads and writes of it.
struct alignas(64) SignalBlock {
  std::int64_t kind;  // 1: a value; -1: a doorbell
  std::int64_t value;
  std::uint64_t mailbox;
  std::uint32_t event_id;
  std::uint32_t reserved1;
  std::uint64_t start, end;  // of the dispatch it tells the end of
  std::uint64_t queue;
  std::uint32_t reserved2[2];
};
static_assert(sizeof(SignalBlock) == 64);

struct Queue {
  std::uint32_t type;
  std::uint32_t features;
  void* base;
  Signal doorbell;
  std::uint32_t size;  // packets, a power of two
  std::uint32_t reserved1;
  std::uint64_t id;
};
static_assert(sizeof(Queue) == 40);

enum QueueType : std::uint32_t {
  kQueueMulti = 0,
  kQueueSingle = 1,
  kQueueCooperative = 2,
};

// amd_queue_t: what the queue pointer in a kernel's registers points at.
struct alignas(64) QueueBlock {
  Queue queue;
  std::uint32_t reserved1[4];
  std::uint64_t write_index;
  std::uint32_t shared_aperture_high, private_aperture_high;
  std::uint32_t max_cu_id, max_wave_id;
  std::uint64_t legacy_doorbell_id;
  std::uint32_t legacy_doorbell_lock;
  std::uint32_t reserved2[9];
  std::uint64_t read_index;
  std::uint32_t read_index_offset;
  std::uint32_t tmpring_size;
  std::uint32_t scratch_descriptor[4];
  std::uint64_t scratch_base, scratch_bytes;
  std::uint32_t scratch_lane_bytes;
  std::uint32_t properties;
  std::uint32_t reserved3[2];
  Signal inactive;
  std::uint32_t reserved4[14];
};
static_assert(sizeof(QueueBlock) == 256);
static_assert(offsetof(QueueBlock, write_index) == 56);
static_assert(offsetof(QueueBlock, shared_aperture_high) == 64);
static_assert(offsetof(QueueBlock, read_index) == 128);
static_assert(offsetof(QueueBlock, inactive) == 192);

enum PacketType : std::uint8_t {
  kPacketVendor = 0,
  kPacketInvalid = 1,
  kPacketDispatch = 2,
  kPacketBarrierAnd = 3,
  kPacketAgentDispatch = 4,
  kPacketBarrierOr = 5,
};
enum VendorPacketType : std::uint8_t {
  kVendorPm4 = 1,
  kVendorBarrierValue = 2,
};

struct DispatchPacket {
  std::uint16_t header;
  std::uint16_t setup;  // the number of dimensions in the lowest two bits
  std::uint16_t group_size[3];
  std::uint16_t reserved0;
  std::uint32_t grid_size[3];  // in work-items
  std::uint32_t private_bytes, group_bytes;
  std::uint64_t kernel_object;
  std::uint64_t kernarg;
  std::uint64_t reserved2;
  Signal completion;
};
struct BarrierPacket {
  std::uint16_t header;
  std::uint16_t reserved0;
  std::uint32_t reserved1;
  Signal dependencies[5];
  std::uint64_t reserved2;
  Signal completion;
};
struct BarrierValuePacket {
  std::uint16_t header;
  std::uint8_t format;
  std::uint8_t reserved;
  std::uint32_t reserved0;
  Signal signal;
  SignalValue value, mask;
  std::uint32_t condition;
  std::uint32_t reserved1;
  std::uint64_t reserved2, reserved3;
  Signal completion;
};
// One place of a queue.
union Packet {
  std::uint16_t header;
  DispatchPacket dispatch;
  BarrierPacket barrier;
  BarrierValuePacket barrier_value;
  std::uint8_t bytes[64];
};
static_assert(sizeof(Packet) == 64);

using QueueCallback = void (*)(Status status, Queue* queue, void* data);
using SignalHandler = bool (*)(SignalValue value, void* data);

struct Times {
  std::uint64_t start, end;
};

// --- code
// ------------------------------------------------------------------------

enum SymbolInfoKind : std::uint32_t {
  kSymbolType = 0,
  kSymbolNameLength = 1,
  kSymbolName = 2,
  kSymbolModuleNameLength = 3,
  kSymbolModuleName = 4,
  kSymbolLinkage = 5,
  kSymbolVariableAllocation = 6,
  kSymbolVariableSegment = 7,
  kSymbolVariableAlignment = 8,
  kSymbolVariableSize = 9,
  kSymbolVariableIsConst = 10,
  kSymbolKernargSize = 11,
  kSymbolKernargAlignment = 12,
  kSymbolGroupSize = 13,
  kSymbolPrivateSize = 14,
  kSymbolDynamicCallStack = 15,
  kSymbolIsDefinition = 17,
  kSymbolCallConvention = 18,
  kSymbolAgent = 20,
  kSymbolVariableAddress = 21,
  kSymbolKernelObject = 22,
};
enum SymbolKind : std::uint32_t { kVariable = 0, kKernel = 1 };

enum LoadedInfo : std::uint32_t {
  kLoadedExecutable = 1,
  kLoadedKind = 2,
  kLoadedAgent = 3,
  kLoadedStorageType = 4,
  kLoadedStorageBase = 5,
  kLoadedStorageSize = 6,
  kLoadedStorageFile = 7,
  kLoadedDelta = 8,
  kLoadedBase = 9,
  kLoadedSize = 10,
  kLoadedUriLength = 11,
  kLoadedUri = 12,
};

// --- events
// ------------------------------------------------------------------------

enum EventType : std::uint32_t { kMemoryFaultEvent = 0 };
struct Event {
  std::uint32_t type;
  struct {
    Agent agent;
    std::uint64_t address;
    std::uint32_t reason;  // bits
  } memory_fault;
};
enum FaultReason : std::uint32_t {
  kFaultPageNotPresent = 1,
  kFaultReadOnly = 2,
};
using EventCallback = Status (*)(const Event* event, void* data);

enum SvmAttributes : std::uint64_t {
  kSvmGlobalFlag = 0,
  kSvmReadOnly = 1,
  kSvmHiveLocal = 2,
  kSvmMigrationGranularity = 3,
  kSvmPreferredLocation = 4,
  kSvmPrefetchLocation = 5,
  kSvmReadMostly = 6,
  kSvmGpuExec = 7,
  kSvmAccessible = 0x200,
  kSvmAccessibleInPlace = 0x201,
  kSvmNoAccess = 0x202,
  kSvmAccessQuery = 0x203,
};
struct SvmAttribute {
  std::uint64_t attribute, value;
};

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_ABI_H_
