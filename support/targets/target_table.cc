#include "support/targets/target_table.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "support/targets/nearest_targets.h"
#include "support/targets/target_id.h"

namespace cerberus {
namespace {

constexpr std::uint32_t kKiB = 1024;

// Presented as: GCN and CDNA as 8.0, whose NVIDIA counterpart is a compute
// card as well, RDNA 1 to 3 as 8.6, RDNA 4 (which has FP8) as 8.9. Nothing is
// presented as 9.0 or above: code for it expects thread block clusters and the
// tensor memory accelerator. Every value is at least 7.5, below which nvcc 13
// builds nothing.
//
// Wave and LDS sizes: LLVM, User Guide for AMDGPU Backend, "Processors", and
// AMD's instruction set manuals, "Local Data Share".
constexpr TargetRow kTargets[] = {
    // processor, cc, wave size, LDS
    {"gfx900", {8, 0}, 64, 64 * kKiB},
    {"gfx902", {8, 0}, 64, 64 * kKiB},
    {"gfx904", {8, 0}, 64, 64 * kKiB},
    {"gfx906", {8, 0}, 64, 64 * kKiB},
    {"gfx908", {8, 0}, 64, 64 * kKiB},
    {"gfx909", {8, 0}, 64, 64 * kKiB},
    {"gfx90a", {8, 0}, 64, 64 * kKiB},
    {"gfx90c", {8, 0}, 64, 64 * kKiB},
    {"gfx940", {8, 0}, 64, 64 * kKiB},
    {"gfx941", {8, 0}, 64, 64 * kKiB},
    {"gfx942", {8, 0}, 64, 64 * kKiB},
    {"gfx950", {8, 0}, 64, 160 * kKiB},
    {"gfx1010", {8, 6}, 32, 64 * kKiB},
    {"gfx1011", {8, 6}, 32, 64 * kKiB},
    {"gfx1012", {8, 6}, 32, 64 * kKiB},
    {"gfx1013", {8, 6}, 32, 64 * kKiB},
    {"gfx1030", {8, 6}, 32, 64 * kKiB},
    {"gfx1031", {8, 6}, 32, 64 * kKiB},
    {"gfx1032", {8, 6}, 32, 64 * kKiB},
    {"gfx1033", {8, 6}, 32, 64 * kKiB},
    {"gfx1034", {8, 6}, 32, 64 * kKiB},
    {"gfx1035", {8, 6}, 32, 64 * kKiB},
    {"gfx1036", {8, 6}, 32, 64 * kKiB},
    {"gfx1100", {8, 6}, 32, 64 * kKiB},
    {"gfx1101", {8, 6}, 32, 64 * kKiB},
    {"gfx1102", {8, 6}, 32, 64 * kKiB},
    {"gfx1103", {8, 6}, 32, 64 * kKiB},
    {"gfx1150", {8, 6}, 32, 64 * kKiB},
    {"gfx1151", {8, 6}, 32, 64 * kKiB},
    {"gfx1152", {8, 6}, 32, 64 * kKiB},
    {"gfx1153", {8, 6}, 32, 64 * kKiB},
    {"gfx1200", {8, 9}, 32, 64 * kKiB},
    {"gfx1201", {8, 9}, 32, 64 * kKiB},
    {"gfx1250", {8, 9}, 32, 320 * kKiB},
    {"gfx1251", {8, 9}, 32, 320 * kKiB},
    {"gfx9-generic", {8, 0}, 64, 64 * kKiB},
    {"gfx9-4-generic", {8, 0}, 64, 64 * kKiB},
    {"gfx10-1-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx10-3-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx11-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx12-generic", {8, 9}, 32, 64 * kKiB},
};

// Processors of the table that no code was ever run for on the emulator.
constexpr std::string_view kNotEmulated[] = {"gfx940", "gfx941", "gfx1250",
                                             "gfx1251"};
// Processors that LLVM has dropped: code for them is run, but not made.
constexpr std::string_view kNotCompiled[] = {"gfx940", "gfx941"};
constexpr std::string_view kDefaultEmulated = "gfx1100";

// Modules of a file that a device of this id finds code for.
std::size_t ModulesFor(const TargetId& id, const CodeByTarget& file) {
  for (const std::string& loaded : id.LoadOrder()) {
    if (const auto at = file.find(loaded); at != file.end()) return at->second;
  }
  return 0;
}

constexpr ComputeCapability kUnknownTarget = {8, 0};

bool IsGeneric(std::string_view processor) {
  return processor.find("-generic") != std::string_view::npos;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

const TargetRow* FindTarget(std::string_view processor) {
  for (const TargetRow& row : kTargets) {
    if (row.processor == processor) return &row;
  }
  return nullptr;
}

std::vector<std::string> CompiledTargets(bool generic) {
  std::vector<std::string> targets;
  for (const TargetRow& row : kTargets) {
    if (IsGeneric(row.processor) == generic &&
        std::find(std::begin(kNotCompiled), std::end(kNotCompiled),
                  row.processor) == std::end(kNotCompiled)) {
      targets.emplace_back(row.processor);
    }
  }
  return targets;
}

bool IsEmulated(std::string_view processor) {
  const TargetRow* row = FindTarget(processor);
  return row != nullptr && !IsGeneric(processor) &&
         std::find(std::begin(kNotEmulated), std::end(kNotEmulated),
                   processor) == std::end(kNotEmulated);
}

std::string TargetToEmulate(const std::vector<CodeByTarget>& files) {
  // The ids in the files, with their features, and for generic ones the
  // processors that they cover, in the table's order behind the default.
  std::vector<std::string> candidates = {std::string(kDefaultEmulated)};
  for (const TargetRow& row : kTargets) {
    if (!IsEmulated(row.processor)) continue;
    const std::string name(row.processor);
    for (const CodeByTarget& file : files) {
      if (file.count(std::string(GenericTargetOf(name))) != 0) {
        candidates.push_back(name);
      }
      for (auto at = file.lower_bound(name);
           at != file.end() && at->first.compare(0, name.size(), name) == 0;
           ++at) {
        if (at->first.size() == name.size() || at->first[name.size()] == ':') {
          candidates.push_back(at->first);
        }
      }
    }
  }
  std::string best;
  std::size_t most = 0;
  for (const std::string& candidate : candidates) {
    const Result<TargetId> id = TargetId::Parse(candidate);
    if (!id) continue;
    std::size_t modules = 0;
    for (const CodeByTarget& file : files) modules += ModulesFor(*id, file);
    if (modules > most) {
      most = modules;
      best = candidate;
    }
  }
  return best;
}

namespace {

// Letters to add, drop or change to make one of the other (Levenshtein).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestTargets(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string_view>> targets;
  for (const TargetRow& row : kTargets) {
    targets.emplace_back(Distance(name, row.processor), row.processor);
  }
  std::stable_sort(
      targets.begin(), targets.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [distance, processor] : targets) {
    if (!text.empty()) text += ", ";
    text += processor;
  }
  return text;
}

ComputeCapability ParseComputeCapability(std::string_view text) {
  // The minor number is one digit, the major one or two.
  std::string_view major = text.substr(0, text.size() - !text.empty());
  if (!major.empty() && major.back() == '.') major.remove_suffix(1);
  if (major.empty() || major.size() > 2 || !IsDigit(text.back())) return {};
  ComputeCapability cc;
  for (char c : major) {
    if (!IsDigit(c)) return {};
    cc.major = cc.major * 10 + (c - '0');
  }
  cc.minor = text.back() - '0';
  if (cc.major == 0) return {};
  return cc;
}

ComputeCapability ComputeCapabilityOf(std::string_view processor) {
  if (const char* text = std::getenv("CERBERUS_CC"); text != nullptr) {
    const ComputeCapability cc = ParseComputeCapability(text);
    if (cc.major != 0) return cc;
  }
  const TargetRow* row = FindTarget(processor);
  return row != nullptr ? row->cc : kUnknownTarget;
}

int PresentedCudaVersion() {
  constexpr int kKnown = 13050;
  const char* text = std::getenv("CERBERUS_DRIVER_VERSION");
  if (text == nullptr) return kKnown;
  const ComputeCapability version = ParseComputeCapability(text);
  if (version.major == 0) return kKnown;
  return version.major * 1000 + version.minor * 10;
}

}  // namespace cerberus
