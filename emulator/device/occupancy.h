// How many waves of a kernel a SIMD holds at once, by the target's rules.
#ifndef CERBERUS_EMULATOR_DEVICE_OCCUPANCY_H_
#define CERBERUS_EMULATOR_DEVICE_OCCUPANCY_H_

#include "emulator/device/device.h"

namespace cerberus::emulator {

struct OccupancyInfo {
  u32 waves_per_simd = 0;
  u32 groups_per_cu = 0;
  const char* limited_by = "waves";  // "vgprs", "sgprs", "lds", "groups"
};

OccupancyInfo ComputeOccupancy(const Target& target, const KernelInfo& kernel,
                               u32 block_size, u32 dynamic_lds);

// Private memory of all resident groups together takes no more than this:
// AMD's runtime, too, lets fewer groups run where it would take too much. Their
// registers and LDS are as many as the GPU's own.
inline constexpr u64 kResidentScratch = u64{1} << 30;

// How many groups of a launch the whole device holds at once, at least one.
u64 ResidentGroups(const Target& target, const KernelInfo& kernel,
                   u32 block_size, u32 dynamic_lds, u32 scratch_size);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_OCCUPANCY_H_
