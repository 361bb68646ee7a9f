#include "support/targets/occupancy.h"

#include <algorithm>
#include <iterator>

#include "support/targets/target_table.h"

namespace cerberus {
namespace {

// Of a SIMD, for waves of 32 lanes from gfx10 on: there those of 64 take two
// registers each. AMD's instruction set manuals, "Wavefront State"; LLVM, User
// Guide for AMDGPU Backend, "Kernel Descriptor", granulated counts.
struct RegisterFile {
  std::string_view prefix;  // of processors' names; the first that fits counts
  std::uint32_t vgprs;
  std::uint32_t granule;
  std::uint32_t waves;
};
constexpr RegisterFile kFiles[] = {
    {"gfx90a", 512, 8, 8},     {"gfx94", 512, 8, 8},
    {"gfx95", 512, 8, 8},      {"gfx9-4", 512, 8, 8},
    {"gfx9", 256, 4, 10},      {"gfx101", 1024, 8, 20},
    {"gfx10-1", 1024, 8, 20},  {"gfx103", 1024, 16, 16},
    {"gfx10-3", 1024, 16, 16}, {"gfx1100", 1536, 24, 16},
    {"gfx1101", 1536, 24, 16}, {"gfx1151", 1536, 24, 16},
    {"gfx11", 1024, 16, 16},   {"gfx1200", 1536, 24, 16},
    {"gfx1201", 1536, 24, 16}, {"gfx12-generic", 1536, 24, 16},
};

const RegisterFile* FileOf(std::string_view processor) {
  const auto* file = std::find_if(
      std::begin(kFiles), std::end(kFiles),
      [&](const auto& row) { return processor.starts_with(row.prefix); });
  return file == std::end(kFiles) ? nullptr : file;
}

constexpr std::uint32_t kMostGroups = 32;  // barriers of a workgroup processor

std::uint32_t ByRegisters(const RegisterFile& file, bool is_gfx9,
                          const KernelSize& kernel) {
  std::uint32_t vgprs = file.vgprs, granule = file.granule;
  if (!is_gfx9 && kernel.wave_size == 64) vgprs /= 2, granule /= 2;
  const std::uint32_t taken =
      std::max((kernel.vgprs + granule - 1) / granule * granule, granule);
  std::uint32_t waves = std::max(vgprs / taken, 1u);
  // Since gfx10 every wave has all scalar registers; gfx9's have 800 together,
  // given out by 16.
  if (is_gfx9 && kernel.sgprs > 80) {
    waves = std::min(waves, kernel.sgprs <= 88    ? 9u
                            : kernel.sgprs <= 100 ? 8u
                                                  : 7u);
  }
  return std::min(waves, file.waves);
}

}  // namespace

std::uint32_t WavesPerSimd(std::string_view processor,
                           const KernelSize& kernel) {
  const TargetRow* target = FindTarget(processor);
  const RegisterFile* file = FileOf(processor);
  if (target == nullptr || file == nullptr || kernel.wave_size == 0) {
    return 0;
  }
  const bool is_gfx9 = processor.starts_with("gfx9");
  const std::uint32_t waves = ByRegisters(*file, is_gfx9, kernel);
  // From gfx10 on a block has the four SIMDs and the LDS of two compute units.
  constexpr std::uint32_t kSimds = 4;
  const std::uint32_t lds = target->lds_bytes * (is_gfx9 ? 1 : 2);
  const std::uint32_t of_group = std::max(
      (kernel.work_items + kernel.wave_size - 1) / kernel.wave_size, 1u);
  std::uint32_t groups = file->waves * kSimds / of_group;
  if (of_group > 1) groups = std::min(groups, kMostGroups / (is_gfx9 ? 2 : 1));
  if (kernel.lds_bytes != 0) groups = std::min(groups, lds / kernel.lds_bytes);
  const std::uint32_t by_groups = (groups * of_group + kSimds - 1) / kSimds;
  return std::min(waves, std::max(by_groups, 1u));
}

std::uint32_t MostWavesPerSimd(std::string_view processor) {
  const RegisterFile* file = FileOf(processor);
  return file == nullptr ? 0 : file->waves;
}

}  // namespace cerberus
