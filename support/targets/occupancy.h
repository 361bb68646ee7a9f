// How many waves of a kernel a SIMD holds at once: what hides the time that
// memory takes.
#ifndef CERBERUS_SUPPORT_TARGETS_OCCUPANCY_H_
#define CERBERUS_SUPPORT_TARGETS_OCCUPANCY_H_

#include <cstdint>
#include <string_view>

namespace cerberus {

struct KernelSize {
  std::uint32_t wave_size = 32;
  std::uint32_t vgprs = 0;  // with AGPRs where they share a file
  std::uint32_t sgprs = 0;
  std::uint32_t lds_bytes = 0;   // of a block
  std::uint32_t work_items = 0;  // of a block
};

// 0 for processors whose register file is not known.
std::uint32_t WavesPerSimd(std::string_view processor,
                           const KernelSize& kernel);
// Of a kernel that takes next to nothing.
std::uint32_t MostWavesPerSimd(std::string_view processor);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_TARGETS_OCCUPANCY_H_
