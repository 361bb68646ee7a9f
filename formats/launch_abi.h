// docs/launch-abi.md in C++: what kernels made by ptxc and the stub share.
//
// The device library includes it too, compiled for the GPU without a standard
// library: addresses are numbers here, and nothing but <stdint.h> is used.
#ifndef CERBERUS_FORMATS_LAUNCH_ABI_H_
#define CERBERUS_FORMATS_LAUNCH_ABI_H_

#include <stdint.h>

namespace cerberus::formats {

inline constexpr int kLaunchAbi = 2;

// ---- Arguments of a launch --------------------------------------------------

// Behind the parameters, in the kernarg segment.
struct LaunchBlock {
  uint32_t dynamic_shared = 0;
  uint32_t flags = 0;
  uint64_t grid_id = 0;
  uint64_t workspace = 0;
  uint32_t block[3] = {1, 1, 1};
  // ceil(2^20 / side) of x and y: (n * reciprocal) >> 20 is n / side for all
  // n and sides of a block.
  uint32_t reciprocal[2] = {1 << 20, 1 << 20};
  // The number, from 1 on, of the queue for what the grid launches; 0: none.
  uint32_t launch_queue = 0;

  void SetBlock(uint32_t x, uint32_t y, uint32_t z) {
    block[0] = x;
    block[1] = y;
    block[2] = z;
    reciprocal[0] = ((1u << 20) + x - 1) / x;
    reciprocal[1] = ((1u << 20) + y - 1) / y;
  }
};
static_assert(sizeof(LaunchBlock) == 48);
inline constexpr uint32_t kLaunchCooperative = 1;
inline constexpr char kLaunchBlockName[] = "__cerberus_launch";

// Before the launch block, for kernels whose shared memory lies in a window
// of device memory.
struct WindowBlock {
  uint64_t memory = 0;  // of the grid
  uint32_t bytes = 0;   // of one block's window
  // Blocks of a cluster along x, y and z, in a byte each, and in the fourth 1
  // if the launch or the kernel named them.
  uint32_t cluster = kOneBlock;

  static constexpr uint32_t kOneBlock = 0x010101;
  static constexpr uint32_t kNamed = 1 << 24;
};
static_assert(sizeof(WindowBlock) == 16);
inline constexpr char kWindowBlockName[] = "__cerberus_window";
inline constexpr uint32_t kWindowAlign = 1024;
// Below the grid's windows: the barrier of the first cluster, of the second
// and so on, downwards. Zero when no kernel uses them.
inline constexpr uint32_t kClusterBarrierBytes = 8;
// The most blocks of a cluster (CUDA C++ Programming Guide, "Thread Block
// Clusters"): on every GPU, and where the kernel allows more.
inline constexpr uint32_t kPortableCluster = 8;
inline constexpr uint32_t kLargestCluster = 16;
// As many bytes of shared memory as a block can have on an NVIDIA GPU
// (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
inline constexpr uint32_t kWindowSharedLimit = 227 * 1024;

// ---- What kernels have from the host ----------------------------------------

// Of code that reads addresses of variables from a table in other code: where
// that is, and the table.
inline constexpr char kVariablesSymbol[] = "__cerberus_variables";
inline constexpr char kVariableTable[] = "__cerberus_variable_table";

// Of a managed variable: where it is, at first the code's own copy of it.
inline constexpr char kManagedPrefix[] = "__cerberus_managed.";

inline constexpr char kContextSymbol[] = "__cerberus_ctx";
inline constexpr uint32_t kHasMulticast = 1;
struct ContextBlock {
  uint32_t abi = 0;
  uint32_t fields = kHasMulticast;  // of those that not every stub has
  uint64_t error_record = 0;
  uint64_t printf_ring = 0;
  uint64_t printf_bytes = 0;
  uint64_t heap = 0;
  uint64_t heap_bytes = 0;
  // kLaunchQueues addresses; behind them, of each queue, the executable graph
  // (CUgraphExec) whose kernels have it, or 0.
  uint64_t launch_queues = 0;
  // The device's ranges of multicast addresses, one behind the other, up to
  // one without bytes; or 0.
  uint64_t multicast = 0;
};
static_assert(sizeof(ContextBlock) == 64);

// Behind it for each member what to add to an address of the range.
struct MulticastRange {
  uint64_t first;
  uint64_t bytes;
  uint64_t members;  // at least one
};
static_assert(sizeof(MulticastRange) == 24);

enum : uint32_t {
  kErrorNone = 0,
  kErrorTrap = 1,
  kErrorAssert = 2,
  kErrorUnsupported = 3,
  kErrorMulticast = 4,
};
struct ErrorRecord {
  uint32_t kind;
  uint32_t line;  // of the PTX; of the source for an assertion
  uint32_t block[3];
  uint32_t thread[3];
  uint64_t kernel_name;  // this and what follows: addresses of texts
  // Of a failed assertion.
  uint64_t message;
  uint64_t file;
  uint64_t function;
};
static_assert(sizeof(ErrorRecord) == 64);
// Set in `kind` while the rest is being written.
inline constexpr uint32_t kErrorBeingWritten = 0x80000000;

// The words lie behind it.
struct PrintfRing {
  uint64_t written;  // words, since the beginning
  uint64_t read;
  uint64_t dropped;
  uint64_t dropped_assertions;

  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
};
static_assert(sizeof(PrintfRing) == 32);
// Set in a record's size: the line of a failed assertion.
inline constexpr uint64_t kAssertionRecord = 0x80000000;

// Zero at first; the blocks lie behind it. All but `used` is the allocator's
// own.
inline constexpr uint32_t kHeapClasses = 128;
struct HeapHeader {
  uint64_t used;
  uint64_t freed;   // how often a block came back
  uint64_t merged;  // ... when blocks were last merged
  uint32_t lock;
  uint32_t zero[9];
  uint64_t free[kHeapClasses];
};
static_assert(sizeof(HeapHeader) == 1088);

// ---- Launches from the device -----------------------------------------------

inline constexpr uint32_t kLaunchQueues = 64;

inline constexpr uint32_t kDeviceLimits = 7;
inline constexpr uint32_t kDeviceAttributes = 160;
inline constexpr uint32_t kDeviceErrors = 1000;

// What kernels may ask about the device; texts behind it.
struct DeviceFacts {
  uint32_t device = 0;
  uint32_t devices = 0;
  uint32_t runtime_version = 0;
  uint32_t zero = 0;
  uint64_t limits[kDeviceLimits] = {};         // by CUlimit
  int32_t attributes[kDeviceAttributes] = {};  // by CUdevice_attribute
  // By cudaError_t: from here to the name, and to the description.
  uint32_t errors[kDeviceErrors][2] = {};
};
static_assert(sizeof(DeviceFacts) == 8712);

// The last error of a thread.
inline constexpr uint32_t kThreadErrors = 4096;
struct ThreadError {
  uint64_t thread;  // a number made of grid, block and thread; 0: free
  uint32_t error;
  uint32_t zero;
};

// The records lie behind it.
struct LaunchQueue {
  uint64_t used;      // bytes of records
  uint64_t capacity;  // bytes that there are
  uint32_t pending;   // launches that have not begun
  uint32_t limit;
  uint32_t sequence;  // records put in
  uint32_t handles;   // streams and events made
  uint32_t failed;    // threads in `errors`
  uint32_t overflow;  // the last error that found no room there
  uint64_t facts;     // address of DeviceFacts
  ThreadError errors[kThreadErrors];

  uint8_t* records() { return reinterpret_cast<uint8_t*>(this + 1); }
};
static_assert(sizeof(LaunchQueue) == 48 + 16 * kThreadErrors);

enum : uint32_t {
  kRecordNone = 0,  // a parameter buffer that no launch followed
  kRecordKernel = 1,
  kRecordCopy = 2,
  kRecordFill = 3,
  kRecordEvent = 4,
  kRecordWait = 5,
  kRecordGraph = 6,
};
// A kernel's parameters, or numbers, lie behind it.
struct LaunchRecord {
  uint32_t bytes;  // with what follows, a multiple of 16
  uint32_t kind;
  uint32_t sequence;
  uint32_t thread;  // that launches: x, y << 10, z << 20
  uint64_t grid;    // that launches
  uint64_t stream;
  uint32_t block[3];  // that launches
  uint32_t kernel;    // its number
  uint32_t grid_dim[3];
  uint32_t dynamic_shared;
  uint32_t block_dim[3];
  uint32_t zero;
};
static_assert(sizeof(LaunchRecord) == 80);

// Streams of the device that no kernel makes.
inline constexpr uint64_t kDeviceStreamNull = 0;
inline constexpr uint64_t kDeviceStreamLegacy = 1;
inline constexpr uint64_t kDeviceStreamPerThread = 2;
inline constexpr uint64_t kDeviceStreamTail = 3;
inline constexpr uint64_t kDeviceStreamFireAndForget = 4;
// Those of cudaGraphLaunch.
inline constexpr uint64_t kGraphStreamTail = 1ull << 56;
inline constexpr uint64_t kGraphStreamFireAndForget = 2ull << 56;
inline constexpr uint64_t kGraphStreamSibling = 3ull << 56;
// The others, and events: consecutive numbers of this form.
inline constexpr uint64_t kFirstDeviceHandle = 0x100000;
inline constexpr uint64_t kDeviceHandleStep = 16;

// The variable that a kernel's address leads to.
inline constexpr char kHandlePrefix[] = "__cerberus_kernel.";
struct KernelHandle {
  uint32_t id = 0;  // 0: there is no such kernel here
  uint32_t param_bytes = 0;
  uint32_t max_threads = 0;
  uint32_t static_shared = 0;
  uint32_t dynamic_limit = 0;
  uint32_t registers = 0;
  uint32_t local_bytes = 0;
  uint32_t const_bytes = 0;
  uint32_t sm = 0;
  uint32_t zero[7] = {};
};
static_assert(sizeof(KernelHandle) == 64);

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_LAUNCH_ABI_H_
