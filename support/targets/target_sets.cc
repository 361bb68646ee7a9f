#include "support/targets/target_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "support/targets/target_id.h"
#include "support/targets/target_table.h"

namespace cerberus {
namespace {

constexpr std::string_view kRocm = "rocm";

struct Release {
  std::string_view version;
  std::string_view date;
  std::string_view targets;
};
constexpr Release kReleases[] = {
#define CERBERUS_ROCM_RELEASE(version, date, targets) {version, date, targets},
#include "support/targets/rocm_releases.def"
#undef CERBERUS_ROCM_RELEASE
};

std::vector<std::string> Words(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<std::string> list;
  for (std::string word; words >> word;) list.push_back(word);
  return list;
}

Result<std::vector<std::string>> RocmTargets(std::string_view word) {
  if (word == kRocm) return Words(kReleases[0].targets);
  std::string known;
  for (const Release& release : kReleases) {
    if (word.substr(kRocm.size() + 1) == release.version) {
      return Words(release.targets);
    }
    known += fmt::format("{}rocm-{} ({})", known.empty() ? "" : ", ",
                         release.version, release.date);
  }
  return Err(DiagCode::kUsage,
             fmt::format("'{}' is not a release of the table; known are {}",
                         word, known));
}

// A KFD node's `properties`: lines of a name and a number.
std::map<std::string, std::uint64_t> PropertiesOf(
    const std::filesystem::path& file) {
  std::map<std::string, std::uint64_t> values;
  std::ifstream in(file);
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) values[name] = value;
  return values;
}

// "11.0.0" → "gfx1100", as AMD's runtime reads it.
std::optional<std::string> OverriddenProcessor(const char* text) {
  unsigned major = 0, minor = 0, stepping = 0;
  int end = 0;
  if (std::sscanf(text, "%2u.%2u.%2u%n", &major, &minor, &stepping, &end) !=
          3 ||
      text[end] != '\0') {
    return std::nullopt;
  }
  return ProcessorOfVersion(major * 10000 + minor * 100 + stepping);
}

bool IsFamily(std::string_view name) {
  return name.size() > 4 && name.substr(0, 3) == "gfx" && name.back() == 'x';
}

// "gfx11xx" covers "gfx1100", "gfx120x" covers "gfx1201".
bool Covers(std::string_view family, std::string_view processor) {
  const std::size_t digits = family.find_last_not_of('x') + 1;
  return processor.size() == family.size() &&
         processor.substr(0, digits) == family.substr(0, digits);
}

}  // namespace

std::string TargetSetNames() {
  std::string names = "all, generic, native, rocm";
  for (const Release& release : kReleases) {
    names += fmt::format(", rocm-{}", release.version);
  }
  return names;
}

Result<std::vector<std::string>> NativeTargets(const std::string& root) {
  namespace fs = std::filesystem;
  const fs::path nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  std::map<unsigned long, fs::path> by_number;
  std::error_code error;
  for (const auto& node : fs::directory_iterator(nodes, error)) {
    const std::string name = node.path().filename().string();
    by_number.emplace(std::strtoul(name.c_str(), nullptr, 10), node.path());
  }
  const char* override = std::getenv("HSA_OVERRIDE_GFX_VERSION");
  std::vector<std::string> targets;
  for (const auto& [number, node] : by_number) {
    std::map<std::string, std::uint64_t> properties =
        PropertiesOf(node / "properties");
    // A node without is a processor, or a GPU that is not ours to use.
    if (properties["simd_count"] == 0) continue;
    std::string processor =
        ProcessorOfVersion(properties["gfx_target_version"]);
    if (override != nullptr && *override != '\0') {
      const std::optional<std::string> other = OverriddenProcessor(override);
      if (!other) {
        return Err(DiagCode::kUsage,
                   fmt::format("HSA_OVERRIDE_GFX_VERSION is '{}', expected a "
                               "version like '11.0.0'",
                               override));
      }
      processor = *other;
    }
    if (std::find(targets.begin(), targets.end(), processor) == targets.end()) {
      targets.push_back(std::move(processor));
    }
  }
  if (targets.empty()) {
    return Err(DiagCode::kUsage,
               fmt::format("there is no AMD GPU in this machine: none in '{}'; "
                           "name the targets instead of 'native'",
                           nodes.string()));
  }
  return targets;
}

Result<std::vector<std::string>> ExpandTargets(
    const std::vector<std::string>& words) {
  std::vector<std::string> expanded;
  const auto add = [&](const std::string& target) {
    if (std::find(expanded.begin(), expanded.end(), target) == expanded.end()) {
      expanded.push_back(target);
    }
  };
  for (const std::string& word : words) {
    std::vector<std::string> targets;
    if (word == "all" || word == "generic") {
      targets = CompiledTargets(/*generic=*/word == "generic");
    } else if (word == "native") {
      const char* root = std::getenv("CERBERUS_NVML_ROOT");
      CERB_TRY(targets, NativeTargets(root != nullptr ? root : ""));
    } else if (word == kRocm || word.rfind("rocm-", 0) == 0) {
      CERB_TRY(targets, RocmTargets(word));
    } else {
      targets = {word};
    }
    for (const std::string& target : targets) add(target);
  }
  return expanded;
}

std::vector<std::string> ChooseTargets(const std::vector<std::string>& there,
                                       const std::vector<std::string>& asked) {
  if (asked.empty()) return there;
  std::set<std::string> chosen;
  for (const std::string& text : asked) {
    const Result<TargetId> id = TargetId::Parse(text);
    if (!id) continue;
    bool found = false;
    if (id->features.empty()) {
      for (const std::string& target : there) {
        if (target.substr(0, target.find(':')) != id->processor) continue;
        chosen.insert(target);
        found = true;
      }
    }
    if (found) continue;
    for (const std::string& loaded : id->LoadOrder()) {
      if (std::find(there.begin(), there.end(), loaded) == there.end())
        continue;
      chosen.insert(loaded);
      break;
    }
  }
  std::vector<std::string> ordered;
  std::copy_if(there.begin(), there.end(), std::back_inserter(ordered),
               [&](const std::string& t) { return chosen.contains(t); });
  return ordered;
}

bool IsOfUse(std::string_view target, const std::vector<std::string>& asked) {
  if (asked.empty()) return true;
  const std::string_view processor = target.substr(0, target.find(':'));
  return std::any_of(asked.begin(), asked.end(), [&](const std::string& text) {
    const Result<TargetId> id = TargetId::Parse(text);
    if (!id) return false;
    if (IsFamily(processor)) return Covers(processor, id->processor);
    if (id->features.empty() && processor == id->processor) return true;
    const std::vector<std::string> loaded = id->LoadOrder();
    return std::find(loaded.begin(), loaded.end(), target) != loaded.end();
  });
}

}  // namespace cerberus
