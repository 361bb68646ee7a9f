// docs/launch-abi.md in C++: what kernels made by ptxc and the stub share.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_ABI_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_ABI_H_

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
  std::uint32_t zero = 0;

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
};
static_assert(sizeof(ContextBlock) == 48);

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
  std::uint64_t zero;

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
};
static_assert(sizeof(PrintfRing) == 32);

// Zero at first; the blocks lie behind it.
struct HeapHeader {
  std::uint64_t used;
  std::uint64_t zero[7];
  std::uint64_t free[128];
};
static_assert(sizeof(HeapHeader) == 1088);

inline constexpr char kInfoSection[] = ".cerberus.info";

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_ABI_H_
