#include "runtime-stub/launch/shared_window.h"

#include <algorithm>
#include <mutex>

#include "hip/hip_loader.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/stream/capture.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// hipMalloc, allowed also while a stream captures.
hipError_t Allocate(void** memory, std::uint64_t bytes) {
  const RelaxedCapture relaxed;
  return hip.hipMalloc(memory, bytes);
}

}  // namespace

CUresult WindowMemory(Context* context, const char* kernel, std::uint64_t bytes,
                      const hipStream_t* stream, std::uint64_t* memory) {
  const std::uint64_t most = context->device->total_memory / 4;
  if (bytes > most) {
    Log(LogLevel::kError,
        "launch of '%s': its blocks' shared memory takes %llu bytes of device "
        "memory, at most %llu (a quarter) may",
        kernel, static_cast<unsigned long long>(bytes),
        static_cast<unsigned long long>(most));
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  WindowsOfStream wanted = {};
  wanted.of_graph = stream == nullptr || IsCapturing(*stream);
  wanted.bytes = bytes;
  if (!wanted.of_graph) {
    wanted.stream = *stream;
    if (*stream == HipPerThreadStream()) {
      wanted.thread = std::this_thread::get_id();
    }
    std::lock_guard<std::mutex> lock(context->mutex);
    for (const WindowsOfStream& old : context->windows) {
      if (old.of_graph || old.stream != wanted.stream ||
          old.thread != wanted.thread) {
        continue;
      }
      if (old.bytes >= bytes) {
        *memory = reinterpret_cast<std::uintptr_t>(old.memory);
        return CUDA_SUCCESS;
      }
      // What is too small stays in use by launches before this one; growing
      // by doubling, all of it takes less than twice the largest.
      wanted.bytes = std::max(wanted.bytes, std::min(2 * old.bytes, most));
    }
  }
  const hipError_t error = Allocate(&wanted.memory, wanted.bytes);
  if (error != hipSuccess) return NoteResult(context, error);
  Log(LogLevel::kInfo,
      "launch of '%s': shared memory of its blocks in %llu bytes of device "
      "memory",
      kernel, static_cast<unsigned long long>(wanted.bytes));
  std::lock_guard<std::mutex> lock(context->mutex);
  context->windows.push_back(wanted);
  *memory = reinterpret_cast<std::uintptr_t>(wanted.memory);
  return CUDA_SUCCESS;
}

void DropWindows(Context* context) {
  std::vector<WindowsOfStream> windows;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    windows.swap(context->windows);
  }
  for (const WindowsOfStream& old : windows) hip.hipFree(old.memory);
}

}  // namespace cerberus::stub
