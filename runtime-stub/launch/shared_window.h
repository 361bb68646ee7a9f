// Device memory for blocks' shared memory, where a kernel asks for more than
// the hardware has (docs/launch-abi.md, "Shared memory in a window").
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_

#include <cstdint>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;

// Bytes that a launch needs for the shared memory of its blocks and, below it,
// for the barriers of its clusters.
struct WindowsOfGrid {
  std::uint64_t windows = 0;
  std::uint64_t barriers = 0;
};

// Memory for all blocks of a launch on `stream`: the address of its windows;
// the barriers end there, and are zeros. Launches on one stream follow each
// other, so they share it; nodes of graphs (`stream` is null) may run at
// any time and get their own. All of it lives until the
// context is reset. Refuses more than a quarter of the device's memory.
CUresult WindowMemory(Context* context, const char* kernel,
                      const WindowsOfGrid& grid, const hipStream_t* stream,
                      std::uint64_t* memory);

void DropWindows(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_
