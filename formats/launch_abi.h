// docs/launch-abi.md in C++: what kernels made by ptxc and the stub share.
#ifndef CERBERUS_FORMATS_LAUNCH_ABI_H_
#define CERBERUS_FORMATS_LAUNCH_ABI_H_

#include <cstdint>

#include "support/version.h"

namespace cerberus::stub {

// Behind the parameters, in the kernarg segment.
struct LaunchBlock {
  std::uint32_t dynamic_shared = 0;
  std::uint32_t flags = 0;
  std::uint64_t grid_id = 0;
  std::uint64_t workspace = 0;
  std::uint32_t block[3] = {1, 1, 1};
  // ceil(2^20 / side) of x and y: (n * reciprocal) >> 20 is n / side for all
  // n and sides of a block.
  std::uint32_t reciprocal[2] = {1 << 20, 1 << 20};
  // The number, from 1 on, of the queue for what the grid launches; 0: none.
  std::uint32_t launch_queue = 0;

  void SetBlock(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    block[0] = x;
    block[1] = y;
    block[2] = z;
    reciprocal[0] = ((1u << 20) + x - 1) / x;
    reciprocal[1] = ((1u << 20) + y - 1) / y;
  }
};
static_assert(sizeof(LaunchBlock) == 48);
inline constexpr std::uint32_t kLaunchCooperative = 1;
inline constexpr char kLaunchBlockName[] = "__cerberus_launch";

// Before the launch block, for kernels whose shared memory lies in a window
// of device memory.
struct WindowBlock {
  std::uint64_t memory = 0;  // of the grid
  std::uint32_t bytes = 0;   // of one block's window
  std::uint32_t zero = 0;
};
static_assert(sizeof(WindowBlock) == 16);
inline constexpr char kWindowBlockName[] = "__cerberus_window";
// What follows a kernel's name in that of its second form, which has one.
inline constexpr char kWindowSuffix[] = ".window";
// What a kernel's form with two warps in each wave has behind its name (docs/
// launch-abi.md, "Warps").
inline constexpr char kPackedSuffix[] = ".packed";
inline constexpr std::uint32_t kWindowAlign = 256;
// As many bytes of shared memory as a block can have on an NVIDIA GPU
// (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
inline constexpr std::uint32_t kWindowSharedLimit = 227 * 1024;

inline constexpr char kContextSymbol[] = "__cerberus_ctx";
struct ContextBlock {
  std::uint32_t abi = 0;
  std::uint32_t zero = 0;
  std::uint64_t error_record = 0;
  std::uint64_t printf_ring = 0;
  std::uint64_t printf_bytes = 0;
  std::uint64_t heap = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t launch_queues = 0;  // kLaunchQueues addresses
};
static_assert(sizeof(ContextBlock) == 56);

enum : std::uint32_t {
  kErrorNone = 0,
  kErrorTrap = 1,
  kErrorAssert = 2,
  kErrorUnsupported = 3,
};
struct ErrorRecord {
  std::uint32_t kind;
  std::uint32_t line;  // of the PTX; of the source for an assertion
  std::uint32_t block[3];
  std::uint32_t thread[3];
  std::uint64_t kernel_name;
  // Of a failed assertion.
  std::uint64_t message;
  std::uint64_t file;
  std::uint64_t function;
};
static_assert(sizeof(ErrorRecord) == 64);
// Set in `kind` while the rest is being written.
inline constexpr std::uint32_t kErrorBeingWritten = 0x80000000;

struct PrintfRing {
  std::uint64_t written;  // words, since the beginning
  std::uint64_t read;
  std::uint64_t dropped;
  std::uint64_t dropped_assertions;

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
};
static_assert(sizeof(PrintfRing) == 32);
// Set in a record's size: the line of a failed assertion.
inline constexpr std::uint64_t kAssertionRecord = 0x80000000;

// Zero at first; the blocks lie behind it.
struct HeapHeader {
  std::uint64_t used;
  std::uint64_t zero[7];
  std::uint64_t free[128];
};
static_assert(sizeof(HeapHeader) == 1088);

// ---- Launches from the device -----------------------------------------------

inline constexpr std::uint32_t kLaunchQueues = 64;

// What kernels may ask about the device; texts behind it.
struct DeviceFacts {
  std::uint32_t device = 0;
  std::uint32_t devices = 0;
  std::uint32_t runtime_version = 0;
  std::uint32_t zero = 0;
  std::uint64_t limits[7] = {};       // by CUlimit
  std::int32_t attributes[160] = {};  // by CUdevice_attribute
  // By cudaError_t: from here to the name, and to the description.
  std::uint32_t errors[1000][2] = {};
};
static_assert(sizeof(DeviceFacts) == 8712);

// The last error of a thread.
struct ThreadError {
  std::uint64_t thread;
  std::uint32_t error;
  std::uint32_t zero;
};

struct LaunchQueue {
  std::uint64_t used;      // bytes of records
  std::uint64_t capacity;  // bytes that there are
  std::uint32_t pending;   // launches that have not begun
  std::uint32_t limit;
  std::uint32_t sequence;  // records put in
  std::uint32_t handles;   // streams and events made
  std::uint32_t failed;    // threads in `errors`
  std::uint32_t overflow;  // the last error that found no room there
  std::uint64_t facts;
  ThreadError errors[4096];

  std::uint8_t* records() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};
static_assert(sizeof(LaunchQueue) == 48 + 16 * 4096);

enum : std::uint32_t {
  kRecordNone = 0,  // a parameter buffer that no launch followed
  kRecordKernel = 1,
  kRecordCopy = 2,
  kRecordFill = 3,
  kRecordEvent = 4,
  kRecordWait = 5,
};
struct LaunchRecord {
  std::uint32_t bytes;  // with what follows
  std::uint32_t kind;
  std::uint32_t sequence;
  std::uint32_t thread;  // that launches: x, y << 10, z << 20
  std::uint64_t grid;    // that launches
  std::uint64_t stream;
  std::uint32_t block[3];  // that launches
  std::uint32_t kernel;    // its number
  std::uint32_t grid_dim[3];
  std::uint32_t dynamic_shared;
  std::uint32_t block_dim[3];
  std::uint32_t zero;
};
static_assert(sizeof(LaunchRecord) == 80);

// Streams of the device that no kernel makes.
inline constexpr std::uint64_t kDeviceStreamNull = 0;
inline constexpr std::uint64_t kDeviceStreamLegacy = 1;
inline constexpr std::uint64_t kDeviceStreamPerThread = 2;
inline constexpr std::uint64_t kDeviceStreamTail = 3;
inline constexpr std::uint64_t kDeviceStreamFireAndForget = 4;

// The variable that a kernel's address leads to.
inline constexpr char kHandlePrefix[] = "__cerberus_kernel.";
struct KernelHandle {
  std::uint32_t id = 0;
  std::uint32_t param_bytes = 0;
  std::uint32_t max_threads = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t dynamic_limit = 0;
  std::uint32_t registers = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t const_bytes = 0;
  std::uint32_t sm = 0;
  std::uint32_t zero[7] = {};
};
static_assert(sizeof(KernelHandle) == 64);

inline constexpr char kInfoSection[] = ".cerberus.info";

}  // namespace cerberus::stub

#endif  // CERBERUS_FORMATS_LAUNCH_ABI_H_
