// From a launch as CUDA describes it to what HIP is given; shared by launches
// and graph nodes.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_H_

#include <array>
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
  // Blocks of a cluster; zeros where nothing names them.
  std::array<std::uint32_t, 3> cluster = {0, 0, 0};

  std::uint64_t threads() const {
    return std::uint64_t{block_x} * block_y * block_z;
  }
  std::uint64_t blocks() const {
    return std::uint64_t{grid_x} * grid_y * grid_z;
  }
  std::uint64_t cluster_blocks() const {
    return cluster[0] == 0
               ? 1
               : std::uint64_t{cluster[0]} * cluster[1] * cluster[2];
  }
};

// With the attributes that change what a launch does. Errors:
// CUDA_ERROR_INVALID_VALUE for attributes that make no sense.
CUresult GridOf(const CUlaunchConfig& config, Grid* grid);

struct LaunchTarget {
  Kernel* kernel = nullptr;
  const KernelInfo* info = nullptr;
  hipFunction_t function = nullptr;
};

// Settles what the grid leaves to the kernel (clusters.h). Errors: not a
// kernel, code that cannot be loaded, a grid out of range.
CUresult FindLaunchTarget(Context* context, CUfunction handle, Grid* grid,
                          LaunchTarget* target);

// All blocks of a cooperative grid must be resident at once.
CUresult CheckCooperative(Context* context, Kernel* kernel, const Grid& grid);

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
