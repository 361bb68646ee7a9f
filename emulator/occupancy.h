// How many waves of a kernel a SIMD holds at once, by the target's rules.
#ifndef CERBERUS_EMULATOR_OCCUPANCY_H_
#define CERBERUS_EMULATOR_OCCUPANCY_H_

#include "emulator/device.h"

namespace cerberus::emulator {

struct OccupancyInfo {
  u32 waves_per_simd = 0;
  u32 groups_per_cu = 0;
  const char* limited_by = "waves";  // "vgprs", "sgprs", "lds", "groups"
};

OccupancyInfo ComputeOccupancy(const Target& target, const KernelInfo& kernel,
                               u32 block_size, u32 dynamic_lds);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_OCCUPANCY_H_
