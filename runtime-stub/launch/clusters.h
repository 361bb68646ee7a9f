// Thread block clusters of a launch (docs/launch-abi.md, "Clusters").
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_CLUSTERS_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_CLUSTERS_H_

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Grid;
struct Kernel;
struct KernelInfo;

// What a launch attribute or a node's names as its clusters.
CUresult SetCluster(const CUlaunchAttributeValue& value, Grid* grid);

// Settles the clusters of a launch of the kernel: as the launch names them, or
// the kernel. Where the kernel counts its grid in clusters, the grid becomes
// one of blocks. Errors: CUDA_ERROR_INVALID_CLUSTER_SIZE for clusters that the
// kernel does not take, larger than allowed, or that do not divide the grid;
// CUDA_ERROR_NOT_SUPPORTED where the kernel has no form for them.
CUresult SettleCluster(const Kernel& kernel, const KernelInfo& info,
                       Grid* grid);

// The most blocks that a cluster of the kernel may have.
unsigned LargestCluster(const Kernel& kernel, const KernelInfo& info);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_CLUSTERS_H_
