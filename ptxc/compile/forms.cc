#include "ptxc/compile/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "formats/kernel_forms.h"
#include "ptxc/backend/notes.h"

namespace cerberus::ptx {
namespace {

// Work-items of a block for which a form is tried. Fewer than the last would
// not give them more registers: a compute unit has that many lanes on which to
// keep them, with the most that an instruction can name.
constexpr std::uint32_t kWorkItems[] = {512, 256};

// VGPRs that an instruction of a wave of 32 can name.
constexpr std::uint32_t kMostRegistersOfWave32 = 256;

std::string_view KernelOf(std::string_view symbol) {
  const std::string_view kernel = formats::KernelOfForm(symbol);
  return kernel.empty() ? symbol : kernel;
}

// Of the forms of one kernel for the smallest blocks, with and without a window
// of shared memory, the one with the most spills.
std::map<std::string, KernelUse, std::less<>> WorstUses(
    const PartOutcome& outcome) {
  std::map<std::string, KernelUse, std::less<>> worst;
  if (outcome.error || outcome.object.empty()) return worst;
  const Result<std::vector<KernelUse>> uses = ReadKernelUses(outcome.object);
  if (!uses) return worst;
  for (const KernelUse& use : *uses) {
    if (use.name.ends_with(formats::kPackedSuffix)) continue;
    const auto [at, first] =
        worst.emplace(std::string(KernelOf(use.name)), use);
    if (!first && use.spills > at->second.spills) at->second = use;
  }
  return worst;
}

}  // namespace

std::vector<FormToTry> FormsToTry(const PartOutcome& outcome,
                                  std::uint32_t part_threads,
                                  unsigned wave_size) {
  std::vector<FormToTry> forms;
  const auto worst = WorstUses(outcome);
  for (const KernelInfo& kernel : outcome.info.kernels) {
    const auto at = worst.find(KernelOf(kernel.name));
    if (at == worst.end() || at->second.spills == 0 || kernel.reqntid) continue;
    const KernelUse& use = at->second;
    const std::string first =
        part_threads == 0 ? at->first : FormName(at->first, part_threads);
    if (kernel.name != first) continue;
    if (wave_size == 32 && use.registers >= kMostRegistersOfWave32) continue;
    const auto items = std::find_if(
        std::begin(kWorkItems), std::end(kWorkItems),
        [&](std::uint32_t fewer) { return fewer < use.work_items; });
    if (items == std::end(kWorkItems)) continue;
    const bool half_waves = wave_size == 64 && kernel.warps_per_wave == 1;
    forms.push_back({at->first, half_waves ? *items / 2 : *items, use.spills});
  }
  return forms;
}

bool IsBetter(const PartOutcome& outcome, const FormToTry& tried) {
  if (!outcome.info.failed.empty()) return false;
  const auto worst = WorstUses(outcome);
  const auto at = worst.find(tried.kernel);
  return at != worst.end() && at->second.spills < tried.spills;
}

std::string FormName(const std::string& name, std::uint32_t threads) {
  return fmt::format("{}.{}", name, threads);
}

}  // namespace cerberus::ptx
