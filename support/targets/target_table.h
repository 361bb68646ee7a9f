// What is fixed about each AMD processor: the facts that a converter (which
// PTX to take), the compiler and the driver stub must agree on.
#ifndef CERBERUS_SUPPORT_TARGETS_TARGET_TABLE_H_
#define CERBERUS_SUPPORT_TARGETS_TARGET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cerberus {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  int sm() const { return major * 10 + minor; }  // 8.6 → 86
};

struct TargetRow {
  std::string_view processor;  // "gfx1100", "gfx11-generic"
  // The CUDA device that a GPU of this kind is presented as: of several PTX
  // entries the newest with sm ≤ this is taken, and
  // cuDeviceGetAttribute(COMPUTE_CAPABILITY_*) answers it.
  ComputeCapability cc;
  std::uint8_t wave_size;   // lanes of a hardware wave; a warp has 32 always
  std::uint32_t lds_bytes;  // per workgroup
};

// Null for a name that is not in the table.
const TargetRow* FindTarget(std::string_view processor);

// The processors of the table that the compiler makes code for, or the generic
// targets instead.
std::vector<std::string> CompiledTargets(bool generic);

// Whether the emulator executes code of this processor.
bool IsEmulated(std::string_view processor);

// What a file holds prebuilt code for: modules by target id.
using CodeByTarget = std::map<std::string, std::size_t>;

// The target id whose emulation runs most of the prebuilt modules of these
// files: gfx1100, the default, where that is as good as another. "" if there
// is no code that the emulator executes.
std::string TargetToEmulate(const std::vector<CodeByTarget>& files);

// "8.6" or "86"; {0, 0} for anything else.
ComputeCapability ParseComputeCapability(std::string_view text);

// The compute capability to present a processor as: what the environment
// variable CERBERUS_CC says if it is well formed, else the table's, else 8.0.
ComputeCapability ComputeCapabilityOf(std::string_view processor);

// The version of CUDA to present the driver as, as cuDriverGetVersion counts
// (13.5 is 13050): what CERBERUS_DRIVER_VERSION says if it is well formed, else
// the newest toolkit whose API is known. cudart wants at least its own major
// version.
int PresentedCudaVersion();

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_TARGETS_TARGET_TABLE_H_
