#include "support/targets/target_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace cerberus {
namespace {

// LLVM knows two (sramecc, xnack); a bound keeps the subsets few.
constexpr std::size_t kMaxFeatures = 4;
constexpr std::string_view kTriplePrefix = "amdgcn-amd-amdhsa--";

struct GenericRow {
  std::string_view processor;
  std::string_view generic;
};

// LLVM, User Guide for AMDGPU Backend, table "AMDGPU Generic Processors".
constexpr GenericRow kGenericRows[] = {
    {"gfx900", "gfx9-generic"},     {"gfx902", "gfx9-generic"},
    {"gfx904", "gfx9-generic"},     {"gfx906", "gfx9-generic"},
    {"gfx909", "gfx9-generic"},     {"gfx90c", "gfx9-generic"},
    {"gfx940", "gfx9-4-generic"},   {"gfx941", "gfx9-4-generic"},
    {"gfx942", "gfx9-4-generic"},   {"gfx950", "gfx9-4-generic"},
    {"gfx1010", "gfx10-1-generic"}, {"gfx1011", "gfx10-1-generic"},
    {"gfx1012", "gfx10-1-generic"}, {"gfx1013", "gfx10-1-generic"},
    {"gfx1030", "gfx10-3-generic"}, {"gfx1031", "gfx10-3-generic"},
    {"gfx1032", "gfx10-3-generic"}, {"gfx1033", "gfx10-3-generic"},
    {"gfx1034", "gfx10-3-generic"}, {"gfx1035", "gfx10-3-generic"},
    {"gfx1036", "gfx10-3-generic"}, {"gfx1100", "gfx11-generic"},
    {"gfx1101", "gfx11-generic"},   {"gfx1102", "gfx11-generic"},
    {"gfx1103", "gfx11-generic"},   {"gfx1150", "gfx11-generic"},
    {"gfx1151", "gfx11-generic"},   {"gfx1152", "gfx11-generic"},
    {"gfx1153", "gfx11-generic"},   {"gfx1200", "gfx12-generic"},
    {"gfx1201", "gfx12-generic"},
};

bool IsProcessorName(std::string_view name) {
  if (name.size() < 4 || name.substr(0, 3) != "gfx") return false;
  if (!std::isdigit(static_cast<unsigned char>(name[3]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '-';
  });
}

bool IsFeature(std::string_view text) {
  if (text.size() < 2 || (text.back() != '+' && text.back() != '-')) {
    return false;
  }
  return std::all_of(text.begin(), text.end() - 1,
                     [](unsigned char c) { return std::islower(c); });
}

}  // namespace

Result<TargetId> TargetId::Parse(std::string_view text) {
  std::string_view rest = text;
  if (rest.substr(0, kTriplePrefix.size()) == kTriplePrefix) {
    rest.remove_prefix(kTriplePrefix.size());
  }
  TargetId id;
  id.processor = rest.substr(0, rest.find(':'));
  if (!IsProcessorName(id.processor)) {
    return Err(DiagCode::kUsage,
               fmt::format("'{}' is not a target id, expected one like "
                           "'gfx1100' or 'gfx942:xnack-'",
                           text));
  }
  while (rest.find(':') != std::string_view::npos) {
    rest.remove_prefix(rest.find(':') + 1);
    const std::string_view feature = rest.substr(0, rest.find(':'));
    if (!IsFeature(feature)) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' in target id '{}' is not a feature, "
                             "expected one like 'xnack+' or 'sramecc-'",
                             feature, text));
    }
    id.features.emplace_back(feature);
    if (id.features.size() > kMaxFeatures) {
      return Err(DiagCode::kUsage,
                 fmt::format("target id '{}' has more than {} features", text,
                             kMaxFeatures));
    }
  }
  std::sort(id.features.begin(), id.features.end());
  return id;
}

std::string TargetId::ToString() const {
  std::string out = processor;
  for (const std::string& feature : features) out += ":" + feature;
  return out;
}

bool TargetId::is_generic() const {
  return processor.size() > 8 &&
         processor.compare(processor.size() - 8, 8, "-generic") == 0;
}

std::vector<std::string> TargetId::LoadOrder() const {
  std::vector<std::string> out;
  // Subsets by falling size, in the order of the features.
  const unsigned count = static_cast<unsigned>(features.size());
  for (int size = static_cast<int>(count); size >= 0; --size) {
    for (unsigned keep = 0; keep < (1u << count); ++keep) {
      if (__builtin_popcount(keep) != size) continue;
      std::string id = processor;
      for (unsigned i = 0; i < count; ++i) {
        if ((keep >> i) & 1) id += ":" + features[i];
      }
      out.push_back(std::move(id));
    }
  }
  if (std::string_view generic = GenericTargetOf(processor); !generic.empty()) {
    out.emplace_back(generic);
  }
  return out;
}

std::string ProcessorOfVersion(std::uint64_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000 % 100,
                     version / 100 % 100, version % 100);
}

std::string_view GenericTargetOf(std::string_view processor) {
  for (const GenericRow& row : kGenericRows) {
    if (row.processor == processor) return row.generic;
  }
  return {};
}

}  // namespace cerberus
