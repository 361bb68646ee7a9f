// Counters of a kernel: what CERBERUS_EMU_STATS reports (docs/json.md).
#ifndef CERBERUS_EMULATOR_REPORT_STATS_H_
#define CERBERUS_EMULATOR_REPORT_STATS_H_

#include <array>
#include <string>

#include "emulator/decode/op.h"

namespace cerberus::emulator {

struct KernelInfo;
struct OccupancyInfo;
enum class Gen : u8;

// Kinds of accesses: loads, stores, atomics.
inline constexpr int kAccessKinds = 3;
// Bytes of one lane's access: 1, 2, 4, 8, 12, 16.
inline constexpr int kWidths = 6;

struct KernelStats {
  std::array<u64, static_cast<std::size_t>(OpClass::kCount)> instructions = {};
  u64 lane_instructions = 0;  // vector instructions times active lanes
  std::array<std::array<u64, kWidths>, kAccessKinds> accesses = {};
  // Cache lines that an instruction's lanes touch, summed.
  std::array<u64, kAccessKinds> cache_lines = {};
  u64 lds_accesses = 0;
  u64 lds_conflicts = 0;      // passes beyond the first
  u64 matrix_operations = 0;  // multiply-adds
  u64 waves = 0, groups = 0;

  void Add(const KernelStats& o);
};

// Adds a launch to the counters of `path`, which are the process's: several
// devices, also one after the other, write one file.
void RecordLaunch(const std::string& path, const std::string& target,
                  const KernelInfo& kernel, Gen gen, const KernelStats& stats,
                  const OccupancyInfo& occupancy, u32 lds_bytes,
                  double seconds);
// Writes everything recorded for `path` so far, by rename.
void WriteStats(const std::string& path);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_REPORT_STATS_H_
