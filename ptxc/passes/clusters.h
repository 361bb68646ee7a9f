// Thread block clusters of several blocks (docs/launch-abi.md, "Clusters").
// AMD GPUs have none. Where a kernel is launched with one, its shared memory
// lies in windows of device memory (passes/shared_window.h), those of a
// cluster's blocks one behind the other, so that each block reaches all.
//
// Lowering asks for what depends on the launch through functions that are
// replaced when a kernel's forms are made:
//
//   __cerberus_cluster_several   whether the kernel is in a form for clusters
//   __cerberus_cluster_shape     blocks along x, y and z, in a byte each, and
//                                in the fourth 1 if the launch named them
//   __cerberus_cluster_stride    bytes from one block's window to the next's
//
// and, for what alone is no reason to have such a form,
//
//   __cerberus_cluster_leaves    as _several
//   __cerberus_cluster_base      the address of the first block's window
//   __cerberus_cluster_own       where shared addresses of the block begin
//   __cerberus_cluster_bytes     of all blocks' windows
//   __cerberus_cluster_barrier   the cluster's barrier (devlib/clusters.h)
//   __cerberus_cluster_phase     4 bytes of the thread's own, 0 at first
//
// In other forms these are false, one block, zeros and null.
//
// A shared address has the number of its block in the cluster from bit 24 on,
// as NVIDIA's: programs clear its lowest bit to name the first of two blocks.
#ifndef CERBERUS_PTXC_PASSES_CLUSTERS_H_
#define CERBERUS_PTXC_PASSES_CLUSTERS_H_

#include <array>
#include <optional>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

inline constexpr unsigned kClusterRankShift = 24;

// The function __cerberus_cluster_<name>, declared if it is not yet.
llvm::Function* ClusterFunction(llvm::Module& module, llvm::StringRef name);

// Whether the function does anything that depends on its cluster.
bool UsesClusters(const llvm::Function& function);

// Blocks of a cluster as .reqnctapercluster has them.
using ClusterShape = std::array<unsigned, 3>;
void SetRequiredCluster(llvm::Function& kernel, const ClusterShape& shape);
std::optional<ClusterShape> RequiredCluster(const llvm::Function& kernel);

// What a kernel's functions of clusters become.
struct ClusterValues {
  llvm::Value* shape = nullptr;
  llvm::Value* stride = nullptr;
  llvm::Value* base = nullptr;
  llvm::Value* own = nullptr;
  llvm::Value* bytes = nullptr;
  llvm::Value* barrier = nullptr;
};
void ResolveClusters(llvm::Function& kernel, const ClusterValues& values);
// In a form, or a function, that knows no clusters.
void ResolveClustersOfOneBlock(llvm::Function& function);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_CLUSTERS_H_
