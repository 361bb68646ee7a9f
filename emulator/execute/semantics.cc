#include "emulator/execute/semantics.h"

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "emulator/access/lane_memory.h"
#include "emulator/vector/matrix_sum.h"

namespace cerberus::emulator {
namespace {

using Table = std::unordered_map<std::string_view, const Semantic*>;

// CERBERUS_EMU_ISA=base: as on a host without them, for tests of that code.
bool HostHasAvx2() {
  const char* const wanted = std::getenv("CERBERUS_EMU_ISA");
  if (wanted != nullptr && std::string_view(wanted) == "base") return false;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

Table MakeTable() {
  Table t;
  const auto add = [&t](std::span<const Row> rows) {
    for (const Row& r : rows) t.emplace(r.name, &r.semantic);
  };
  add(SaluRows());
  add(SaluFlowRows());
  add(GwsRows());
  add(CrossLaneRows());
  if (HostHasAvx2()) {
    add(v3::ValuIntRows());
    add(v3::ValuFloatRows());
    add(v3::ValuCompareRows());
    add(v3::ValuConvertRows());
    add(v3::ValuPackedRows());
  } else {
    add(base::ValuIntRows());
    add(base::ValuFloatRows());
    add(base::ValuCompareRows());
    add(base::ValuConvertRows());
    add(base::ValuPackedRows());
  }
  return t;
}

}  // namespace

MatrixSum HostMatrixSum(bool f64) {
  static const bool avx2 = HostHasAvx2();
  if (avx2) return f64 ? v3::MatrixSumF64 : v3::MatrixSumF32;
  return f64 ? base::MatrixSumF64 : base::MatrixSumF32;
}

const LaneMemory& host_lane_memory =
    HostHasAvx2() ? v3::kLaneMemory : base::kLaneMemory;

const Semantic* FindSemantic(std::string_view mnemonic, Gen gen) {
  static const Table table = MakeTable();
  (void)gen;
  const auto it = table.find(mnemonic);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace cerberus::emulator
