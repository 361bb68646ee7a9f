// Device memory for blocks' shared memory, where a kernel asks for more than
// the hardware has (docs/launch-abi.md, "Shared memory in a window").
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_

#include <cstdint>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;

// Memory for all blocks of a launch on `stream`. Launches on one stream follow
// each other, so they share it; nodes of graphs (`stream` is null, or being
// captured) may run at any time and get their own. All of it lives until the
// context is reset. Refuses more than a quarter of the device's memory.
CUresult WindowMemory(Context* context, const char* kernel, std::uint64_t bytes,
                      const hipStream_t* stream, std::uint64_t* memory);

void DropWindows(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_SHARED_WINDOW_H_
