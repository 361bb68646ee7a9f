// What a code object says of its kernels: the AMDGPU metadata note (LLVM,
// User Guide for AMDGPU Backend, "Code Object V3 and Above Metadata") and
// the section .cerberus.info (docs/launch-abi.md).
#ifndef CERBERUS_RUNTIME_STUB_MODULE_CODE_OBJECT_H_
#define CERBERUS_RUNTIME_STUB_MODULE_CODE_OBJECT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::stub {

struct KernelParam {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

// Work-items of a hardware work-group, x, y, z.
using WorkGroup = std::array<std::uint32_t, 3>;

struct KernelInfo {
  std::string name;
  std::vector<KernelParam> params;  // the PTX parameters, in order
  // Where the launch block stands; nothing in code of other compilers.
  std::optional<std::uint32_t> launch_block;
  // Where its description of the window of shared memory stands; nothing if
  // its shared memory is the hardware's (docs/launch-abi.md, "Shared memory
  // in a window").
  std::optional<std::uint32_t> window;
  // The kernel's other forms (docs/launch-abi.md, "Forms of a kernel"), if this
  // is the first.
  std::vector<std::shared_ptr<const KernelInfo>> forms;
  // Which of them this is, below kForms; the first is 0.
  static constexpr unsigned kForms = 8;
  unsigned form = 0;
  std::uint32_t kernarg_size = 0;  // with hidden arguments
  // Static shared memory: all of it, and what of it is the compiler's own.
  std::uint32_t static_shared = 0;
  std::uint32_t own_shared = 0;
  std::uint32_t tensor_memory = 0;  // of a block, in its window
  std::uint32_t const_bytes = 0;    // of the module's .const variables
  std::uint32_t local_bytes = 0;    // scratch per lane
  std::uint32_t registers = 0;      // VGPRs
  // CUDA's, in a block: in this form, and in any of them.
  std::uint32_t form_threads = 1024;
  std::uint32_t max_threads = 1024;
  std::uint32_t wave_size = 32;
  // One warp in the lower half of each wave of 64 (docs/launch-abi.md,
  // "Warps").
  bool half_waves = false;
  // From .cerberus.info; zeros where PTX gives none.
  std::array<std::uint32_t, 3> required_block = {0, 0, 0};
  bool declares_max_threads = false;  // max_threads is .maxntid's
  bool launches = false;              // may launch kernels
  bool handle = false;                // kernels may launch it
  // Clusters of blocks: what .reqnctapercluster names (else zeros),
  // .maxclusterrank (else 0), whether the launch has to name them, and whether
  // its grid is one of clusters.
  std::array<std::uint32_t, 3> required_cluster = {0, 0, 0};
  std::uint32_t max_cluster = 0;
  bool explicit_cluster = false;
  bool blocks_are_clusters = false;
  // Whether clusters of several blocks can be launched in this form; nothing if
  // the kernel does not depend on them.
  std::optional<bool> clusters;

  // The form that a launch of blocks with so many threads and so much dynamic
  // shared memory takes, where the hardware has `limit` bytes for a block, in
  // clusters of `several` blocks or not.
  const KernelInfo& FormFor(std::uint64_t threads, std::uint64_t dynamic_shared,
                            std::uint32_t limit, bool several = false) const;
  // The most bytes that a block can have in any form.
  std::uint32_t SharedLimit(std::uint32_t hardware_limit) const;
  // Static shared memory as the program knows it.
  std::uint32_t program_shared() const { return static_shared - own_shared; }
  // What HIP is told of a launch's dynamic shared memory.
  std::uint32_t HardwareShared(std::uint32_t dynamic_shared) const {
    return window ? 0 : dynamic_shared;
  }

  // Bytes from the kernarg segment's start to the end of what the stub
  // fills: parameters and launch block.
  std::uint32_t explicit_size() const;

  // What the hardware has to launch for a block of this size.
  WorkGroup WorkGroupOf(std::uint32_t x, std::uint32_t y,
                        std::uint32_t z) const;
};

struct CodeObjectInfo {
  std::optional<std::uint32_t> abi;  // nothing: not made by ptxc
  std::uint32_t sm = 0;              // of the PTX, 75 for sm_75
  std::vector<KernelInfo> kernels;   // sorted by name
  struct Failed {
    std::string name;
    std::string reason;
  };
  std::vector<Failed> failed;        // left out by the compiler
  std::vector<std::string> managed;  // variables

  const KernelInfo* FindKernel(std::string_view name) const;
  const Failed* FindFailed(std::string_view name) const;
};

// Errors: not an ELF file for AMD GPUs, no metadata, sizes that do not fit.
Result<CodeObjectInfo> ReadCodeObject(ByteSpan bytes);

// Bytes of the ELF file at `start`, by its headers: an image in memory comes
// without a size. Errors: not a 64-bit little-endian ELF file.
Result<std::uint64_t> ElfSize(const void* start);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_CODE_OBJECT_H_
