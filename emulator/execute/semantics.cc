#include "emulator/execute/semantics.h"

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "emulator/access/lane_memory.h"
#include "emulator/vector/matrix_sum.h"

namespace cerberus::emulator {
namespace {

using Table = std::unordered_map<std::string_view, const Semantic*>;

enum class Isa { kBase, kV3, kV4 };

// CERBERUS_EMU_ISA=base or v3: as on a host without more, for tests of that
// code.
Isa HostIsa() {
  const char* const variable = std::getenv("CERBERUS_EMU_ISA");
  const std::string_view wanted = variable == nullptr ? "" : variable;
  const bool v3 = __builtin_cpu_supports("x86-64-v3");
  if (wanted == "base" || !v3) return Isa::kBase;
  const bool v4 = __builtin_cpu_supports("x86-64-v4");
  return wanted == "v3" || !v4 ? Isa::kV3 : Isa::kV4;
}

template <typename T>
T ForHost(T base, T v3, T v4) {
  static const Isa isa = HostIsa();
  return isa == Isa::kV4 ? v4 : isa == Isa::kV3 ? v3 : base;
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
  add(ForHost(base::ValuIntRows, v3::ValuIntRows, v4::ValuIntRows)());
  add(ForHost(base::ValuFloatRows, v3::ValuFloatRows, v4::ValuFloatRows)());
  add(ForHost(base::ValuCompareRows, v3::ValuCompareRows,
              v4::ValuCompareRows)());
  add(ForHost(base::ValuConvertRows, v3::ValuConvertRows,
              v4::ValuConvertRows)());
  add(ForHost(base::ValuPackedRows, v3::ValuPackedRows, v4::ValuPackedRows)());
  return t;
}

}  // namespace

MatrixSum HostMatrixSum(bool f64) {
  return f64 ? ForHost(base::MatrixSumF64, v3::MatrixSumF64, v4::MatrixSumF64)
             : ForHost(base::MatrixSumF32, v3::MatrixSumF32, v4::MatrixSumF32);
}

MatrixRuns HostMatrixRuns() {
  return ForHost(base::MultiplyRuns, v3::MultiplyRuns, v4::MultiplyRuns);
}

const LaneMemory& host_lane_memory =
    *ForHost(&base::kLaneMemory, &v3::kLaneMemory, &v4::kLaneMemory);

const Semantic* FindSemantic(std::string_view mnemonic, Gen gen) {
  static const Table table = MakeTable();
  (void)gen;
  const auto it = table.find(mnemonic);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace cerberus::emulator
