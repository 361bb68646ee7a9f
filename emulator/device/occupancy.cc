// The rules are LLVM's, which are AMD's (AMDGPUUsage, "Kernel Descriptor",
// granulated register counts; AMDGPUBaseInfo, IsaInfo).
#include "emulator/device/occupancy.h"

#include <algorithm>

namespace cerberus::emulator {
namespace {

u32 RoundUp(u32 n, u32 granule) {
  return (n + granule - 1) / granule * granule;
}

// Registers are given out in granules; a wave64 register of RDNA takes two of
// wave32.
u32 WavesByVgprs(const Target& t, const KernelInfo& kernel) {
  const bool wave32 = kernel.wavefront_size == 32;
  u32 granule = 4, total = t.vgprs;
  if (t.gen == Gen::kGfx90a || t.gen == Gen::kGfx940 || t.gen == Gen::kGfx950) {
    granule = 8;
  } else if (!IsCdna(t.gen)) {
    granule = t.vgprs == 1536 ? 24 : t.major == 10 && t.minor < 3 ? 8 : 16;
    if (!wave32) granule /= 2, total /= 2;
  }
  if (kernel.vgprs < granule) return t.waves_per_simd;
  const u32 waves = std::max(1u, total / RoundUp(kernel.vgprs, granule));
  return std::min(waves, t.waves_per_simd);
}

// Since gfx10 every wave has all scalar registers.
u32 WavesBySgprs(const Target& t, const KernelInfo& kernel) {
  if (!IsCdna(t.gen) || kernel.sgprs <= 80) return t.waves_per_simd;
  const u32 waves = kernel.sgprs <= 88 ? 9 : kernel.sgprs <= 100 ? 8 : 7;
  return std::min(waves, t.waves_per_simd);
}

// In WGP mode (gfx10 and later: bit 29 of compute_pgm_rsrc1) a group has the
// SIMDs and the LDS of two compute units.
bool InWgpMode(const Target& t, const KernelInfo& kernel) {
  const u32 rsrc1 = LoadLe<u32>(
      reinterpret_cast<const std::uint8_t*>(kernel.descriptor) + 48);
  return !IsCdna(t.gen) && (rsrc1 >> 29 & 1) != 0;
}

}  // namespace

OccupancyInfo ComputeOccupancy(const Target& t, const KernelInfo& kernel,
                               u32 block_size, u32 dynamic_lds) {
  OccupancyInfo r;
  const u32 lds = kernel.lds_size + dynamic_lds;
  if (lds > t.lds_bytes || block_size == 0 || block_size > 1024) return r;
  const bool wgp = InWgpMode(t, kernel);
  const u32 simds = t.simds * (wgp ? 2 : 1);
  const u32 lds_total = t.lds_bytes * (wgp ? 2 : 1);
  const u32 waves_per_group =
      (block_size + kernel.wavefront_size - 1) / kernel.wavefront_size;

  const u32 by_vgprs = WavesByVgprs(t, kernel);
  const u32 by_sgprs = WavesBySgprs(t, kernel);
  // A group of several waves needs one of 16 barriers.
  u32 groups = t.waves_per_simd * simds / waves_per_group;
  if (waves_per_group > 1) groups = std::min(groups, wgp ? 32u : 16u);
  const u32 groups_by_lds = lds == 0 ? groups : lds_total / lds;
  const u32 slots = std::min(groups, groups_by_lds) * waves_per_group;
  const u32 by_groups = (slots + simds - 1) / simds;

  r.waves_per_simd =
      std::min({t.waves_per_simd, by_vgprs, by_sgprs, std::max(by_groups, 1u)});
  // Counted for one compute unit, as HIP's queries do.
  r.groups_per_cu = std::min(by_vgprs, by_sgprs) * t.simds / waves_per_group;
  if (waves_per_group > 1) r.groups_per_cu = std::min(r.groups_per_cu, 16u);
  if (lds != 0) r.groups_per_cu = std::min(r.groups_per_cu, t.lds_bytes / lds);
  // In WGP mode a group may take more than one compute unit has of registers;
  // HIP counts the two of a workgroup processor as one multiprocessor.
  const bool fits_in_two =
      std::min(by_vgprs, by_sgprs) * simds >= waves_per_group;
  if (wgp && fits_in_two) r.groups_per_cu = std::max(r.groups_per_cu, 1u);
  if (r.waves_per_simd < t.waves_per_simd) {
    r.limited_by = by_vgprs == r.waves_per_simd   ? "vgprs"
                   : by_sgprs == r.waves_per_simd ? "sgprs"
                   : groups_by_lds < groups       ? "lds"
                                                  : "groups";
  }
  return r;
}

u64 ResidentGroups(const Target& t, const KernelInfo& kernel, u32 block_size,
                   u32 dynamic_lds, u32 scratch_size) {
  const OccupancyInfo unit =
      ComputeOccupancy(t, kernel, block_size, dynamic_lds);
  u64 groups = u64{unit.groups_per_cu} * t.compute_units;
  if (InWgpMode(t, kernel)) {
    // What two compute units hold together may be one more than what each
    // holds alone.
    const u32 lds = kernel.lds_size + dynamic_lds;
    const u32 waves =
        (block_size + kernel.wavefront_size - 1) / kernel.wavefront_size;
    u32 pair = std::min(WavesByVgprs(t, kernel), WavesBySgprs(t, kernel)) *
               t.simds * 2 / std::max(waves, 1u);
    if (waves > 1) pair = std::min(pair, 32u);
    if (lds != 0) pair = std::min(pair, 2 * t.lds_bytes / lds);
    groups = std::max(groups, u64{pair} * (t.compute_units / 2));
  }
  const u64 scratch =
      u64{RoundUp(block_size, kernel.wavefront_size)} * scratch_size;
  if (scratch != 0) groups = std::min(groups, kResidentScratch / scratch);
  return std::max<u64>(groups, 1);
}

}  // namespace cerberus::emulator
