// Counters of a kernel: what CERBERUS_EMU_STATS reports.
#ifndef CERBERUS_EMULATOR_STATS_H_
#define CERBERUS_EMULATOR_STATS_H_

#include <array>

#include "emulator/op.h"

namespace cerberus::emulator {

struct KernelStats {
  std::array<u64, static_cast<std::size_t>(OpClass::kCount)> instructions = {};
  u64 lane_instructions = 0;
  // Memory accesses of lanes by bytes: 1, 2, 4, 8, 12, 16.
  std::array<u64, 6> loads = {}, stores = {}, atomics = {};
  u64 lds_accesses = 0;
  u64 lds_conflicts = 0;  // extra passes: lanes on the same bank, other words
  u64 matrix_operations = 0;  // multiply-adds
  u64 waves = 0, groups = 0;

  void Add(const KernelStats& o) {
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      instructions[i] += o.instructions[i];
    }
    lane_instructions += o.lane_instructions;
    for (std::size_t i = 0; i < 6; ++i) {
      loads[i] += o.loads[i];
      stores[i] += o.stores[i];
      atomics[i] += o.atomics[i];
    }
    lds_accesses += o.lds_accesses;
    lds_conflicts += o.lds_conflicts;
    matrix_operations += o.matrix_operations;
    waves += o.waves;
    groups += o.groups;
  }
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_STATS_H_
