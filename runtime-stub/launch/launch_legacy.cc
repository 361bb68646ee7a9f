// The launch calls of CUDA 3, which build a launch step by step: parameters
// are written into a buffer of the kernel, then the grid is given.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "runtime-stub/api/api.h"
#include "runtime-stub/module/module.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

struct LaunchState {
  std::array<int, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::uint8_t> params;
};
// Kernels have less: 4 KiB of parameters, before CUDA 12.
constexpr std::size_t kMostParamBytes = 4096;

std::mutex g_mutex;
NeverDestroyed<std::map<CUfunction, LaunchState>> g_all_states;
auto& g_states = *g_all_states;

// Calls `use` with the function's state.
template <typename Use>
CUresult WithState(CUfunction function, Use use) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  if (function == nullptr || KernelOf(function) == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  return use(&g_states[function]);
}

CUresult PutParam(CUfunction function, int offset, const void* data,
                  std::size_t bytes) {
  if (offset < 0 || data == nullptr || bytes > kMostParamBytes ||
      static_cast<std::size_t>(offset) > kMostParamBytes - bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return WithState(function, [&](LaunchState* state) {
    const std::size_t at = static_cast<std::size_t>(offset);
    state->params.resize(std::max(state->params.size(), at + bytes));
    std::memcpy(state->params.data() + at, data, bytes);
    return CUDA_SUCCESS;
  });
}

}  // namespace

namespace api {

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return WithState(function, [&](LaunchState* state) {
    state->block = {x, y, z};
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
  return WithState(function, [&](LaunchState* state) {
    state->shared_bytes = bytes;
    return CUDA_SUCCESS;
  });
}
CUresult cuParamSetSize(CUfunction function, unsigned bytes) {
  if (bytes > kMostParamBytes) return CUDA_ERROR_INVALID_VALUE;
  return WithState(function, [&](LaunchState* state) {
    state->params.resize(bytes);
    return CUDA_SUCCESS;
  });
}
CUresult cuParamSeti(CUfunction function, int offset, unsigned value) {
  return PutParam(function, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
  return PutParam(function, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction function, int offset, void* data,
                     unsigned bytes) {
  return PutParam(function, offset, data, bytes);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height,
                           CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  LaunchState state;
  const CUresult result = WithState(function, [&](LaunchState* kept) {
    state = *kept;
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  std::size_t size = state.params.size();
  state.params.reserve(1);  // a pointer also for a kernel without parameters
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer),
                   state.params.data(),
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size,
                   reinterpret_cast<void*>(kLaunchParamEnd)};
  return cuLaunchKernel(function, static_cast<unsigned>(width),
                        static_cast<unsigned>(height), 1,
                        static_cast<unsigned>(state.block[0]),
                        static_cast<unsigned>(state.block[1]),
                        static_cast<unsigned>(state.block[2]),
                        state.shared_bytes, stream, nullptr, extra);
}
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return cuLaunchGridAsync(function, width, height, nullptr);
}
CUresult cuLaunch(CUfunction function) { return cuLaunchGrid(function, 1, 1); }

}  // namespace api
}  // namespace cerberus::stub
