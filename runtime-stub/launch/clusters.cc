#include "runtime-stub/launch/clusters.h"

#include <algorithm>

#include "formats/launch_abi.h"
#include "runtime-stub/launch/launch.h"
#include "runtime-stub/module/module.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

CUresult Refuse(const Kernel& kernel, const Grid& grid, const char* why) {
  Log(LogLevel::kInfo,
      "launch of '%s': clusters of %u,%u,%u blocks in a grid of %u,%u,%u: %s",
      kernel.name.c_str(), grid.cluster[0], grid.cluster[1], grid.cluster[2],
      grid.grid_x, grid.grid_y, grid.grid_z, why);
  return CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

// A side of a grid that was counted in clusters. What is too much for 32 bits
// is so for any GPU as well.
unsigned Scaled(unsigned clusters, unsigned blocks) {
  return static_cast<unsigned>(
      std::min<std::uint64_t>(std::uint64_t{clusters} * blocks, UINT32_MAX));
}

}  // namespace

CUresult SetCluster(const CUlaunchAttributeValue& value, Grid* grid) {
  const auto& blocks = value.clusterDim;
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  grid->cluster = {blocks.x, blocks.y, blocks.z};
  return CUDA_SUCCESS;
}

CUresult SettleCluster(const Kernel& kernel, const KernelInfo& info,
                       Grid* grid) {
  const auto& required = info.required_cluster;
  const bool requires_one = required[0] != 0;
  if (grid->cluster[0] == 0) {
    if (!requires_one) {
      return info.explicit_cluster
                 ? Refuse(kernel, *grid, "the kernel needs them named")
                 : CUDA_SUCCESS;
    }
    grid->cluster = required;
  } else if (requires_one && grid->cluster != required) {
    return Refuse(kernel, *grid, "the kernel is made for others");
  }
  const auto& cluster = grid->cluster;
  if (info.blocks_are_clusters) {
    grid->grid_x = Scaled(grid->grid_x, cluster[0]);
    grid->grid_y = Scaled(grid->grid_y, cluster[1]);
    grid->grid_z = Scaled(grid->grid_z, cluster[2]);
  }
  // Sides first: their product may not fit.
  const unsigned most = LargestCluster(kernel, info);
  if (*std::max_element(cluster.begin(), cluster.end()) > most ||
      grid->cluster_blocks() > most) {
    return Refuse(kernel, *grid, "more blocks than the kernel allows");
  }
  if (grid->grid_x % cluster[0] != 0 || grid->grid_y % cluster[1] != 0 ||
      grid->grid_z % cluster[2] != 0) {
    return Refuse(kernel, *grid, "they do not divide it");
  }
  if (grid->cluster_blocks() > 1 && info.clusters == false) {
    Log(LogLevel::kError,
        "launch of '%s': clusters of several blocks are not supported here: "
        "functions that the kernel calls use their shared memory "
        "(docs/limits.md)",
        kernel.name.c_str());
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

unsigned LargestCluster(const Kernel& kernel, const KernelInfo& info) {
  const unsigned most = kernel.large_clusters.load() != 0
                            ? formats::kLargestCluster
                            : formats::kPortableCluster;
  return info.max_cluster != 0 ? std::min(most, info.max_cluster) : most;
}

}  // namespace cerberus::stub
