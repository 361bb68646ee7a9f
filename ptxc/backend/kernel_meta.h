// Section .cerberus.info: what a code object says of itself, for the driver
// stub and the archive writer. Keys: docs/launch-abi.md.
#ifndef CERBERUS_PTXC_BACKEND_KERNEL_META_H_
#define CERBERUS_PTXC_BACKEND_KERNEL_META_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxc/compile/compile.h"

namespace llvm {
class Module;
}

namespace cerberus::ptx {

struct KernelInfo {
  std::string name;  // mangled
  std::optional<std::array<unsigned, 3>> maxntid;
  std::optional<std::array<unsigned, 3>> reqntid;
  std::optional<unsigned> minnctapersm;
  int warps_per_wave = 1;
  // Bytes of static shared memory that are the compiler's own, not the PTX's.
  std::uint64_t own_shared = 0;
  // Static bytes of the window of shared memory, of kernels that have one, and
  // those of tensor memory among them.
  std::optional<std::uint64_t> window;
  std::uint64_t tensor_bytes = 0;
  // Blocks of a cluster: as .reqnctapercluster has them, and the most that
  // .maxclusterrank allows.
  std::optional<std::array<unsigned, 3>> cluster;
  unsigned max_cluster = 0;
  bool explicit_cluster = false;
  bool blocks_are_clusters = false;
  // Whether clusters of several blocks can be launched in this form; nothing if
  // it does not depend on them.
  std::optional<bool> clusters;
  bool second_form = false;  // of the kernel without the suffix
  bool launches = false;     // may launch kernels
  bool handle = false;       // there is a variable that kernels know it by
};

struct ModuleInfo {
  int ptx_major = 0;
  int ptx_minor = 0;
  int sm = 0;
  std::string arch;
  std::uint64_t const_bytes = 0;     // of all .const variables
  std::vector<std::string> managed;  // variables
  std::vector<KernelInfo> kernels;
  std::vector<FailedKernel> failed;
};

// Adds the section to the module as a constant.
void EmitModuleInfo(llvm::Module& module, const ModuleInfo& info);

// The linker will leave the section out, where another object has a better one.
Status DropModuleInfo(Bytes& object);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_KERNEL_META_H_
