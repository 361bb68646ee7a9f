// From a launch as CUDA describes it to what HIP is given; shared by launches
// and graph nodes.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_H_

#include <cstdint>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/module/module.h"

namespace cerberus::stub {

struct Grid {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned dynamic_shared;
  bool cooperative;
  std::uint32_t launch_queue = 0;  // of a kernel that may launch others

  std::uint64_t threads() const {
    return std::uint64_t{block_x} * block_y * block_z;
  }
  std::uint64_t blocks() const {
    return std::uint64_t{grid_x} * grid_y * grid_z;
  }
};

struct LaunchTarget {
  Kernel* kernel = nullptr;
  const KernelInfo* info = nullptr;
  hipFunction_t function = nullptr;
};

// Errors: not a kernel, code that cannot be loaded, a grid out of range.
CUresult FindLaunchTarget(Context* context, CUfunction handle, const Grid& grid,
                          LaunchTarget* target);

// Writes parameters, window and launch block into `buffer`, of
// info.explicit_size() bytes. `stream` is null for a graph's node.
CUresult FillArguments(Context* context, const KernelInfo& info,
                       const Grid& grid, const hipStream_t* stream,
                       void** params, void** extra, std::uint8_t* buffer);

// Launches what FindLaunchTarget found with what FillArguments made.
hipError_t LaunchFilled(const LaunchTarget& target, const Grid& grid,
                        hipStream_t stream, std::uint8_t* buffer,
                        std::size_t size);

// The grid's number, as FillArguments wrote it.
std::uint64_t GridIdIn(const KernelInfo& info, const std::uint8_t* buffer);

// One pointer into the buffer per argument, as HIP's `kernelParams` wants
// them: at most info.params.size() + 2. Returns how many.
std::size_t ArgumentPointers(const KernelInfo& info, std::uint8_t* buffer,
                             void** pointers);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_H_
