#include "runtime-stub/launch/shared_window.h"

#include <algorithm>
#include <mutex>

#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/stream/capture.h"
#include "support/bytes.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

std::uint64_t WindowsIn(const WindowsOfStream& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.memory) + memory.barriers;
}

}  // namespace

CUresult WindowMemory(Context* context, const char* kernel,
                      const WindowsOfGrid& grid, const hipStream_t* stream,
                      std::uint64_t* memory) {
  const std::uint64_t most = context->device->total_memory / 4;
  if (grid.windows > most) {
    Log(LogLevel::kError,
        "launch of '%s': its blocks' shared memory takes %llu bytes of device "
        "memory, at most %llu (a quarter) may",
        kernel, static_cast<unsigned long long>(grid.windows),
        static_cast<unsigned long long>(most));
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  WindowsOfStream wanted = {};
  wanted.of_graph = stream == nullptr;
  wanted.bytes = grid.windows;
  wanted.barriers = AlignUp(grid.barriers, formats::kWindowAlign);
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
      if (old.bytes >= wanted.bytes && old.barriers >= wanted.barriers) {
        *memory = WindowsIn(old);
        return CUDA_SUCCESS;
      }
      // What is too small stays in use by launches before this one; growing
      // by doubling, all of it takes less than twice the largest.
      const auto grown = [](std::uint64_t need, std::uint64_t had) {
        return need > had ? std::max(need, 2 * had) : had;
      };
      wanted.bytes = std::min(grown(grid.windows, old.bytes), most);
      wanted.barriers = grown(wanted.barriers, old.barriers);
    }
  }
  const hipError_t error = AllocateZeros(
      &wanted.memory, wanted.barriers + wanted.bytes, wanted.barriers);
  if (error != hipSuccess) return NoteResult(context, error);
  Log(LogLevel::kInfo,
      "launch of '%s': shared memory of its blocks in %llu bytes of device "
      "memory",
      kernel, static_cast<unsigned long long>(wanted.bytes));
  std::lock_guard<std::mutex> lock(context->mutex);
  context->windows.push_back(wanted);
  *memory = WindowsIn(wanted);
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
