#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/convert/conversion.h"
#include "support/targets/nearest_targets.h"
#include "support/targets/target_id.h"
#include "support/targets/target_sets.h"
#include "support/targets/target_table.h"

namespace cerberus::cli {
namespace {

constexpr std::size_t kHelpColumn = 24;

// Under a sanitizer the compiler reserves terabytes of address space.
constexpr bool kLimitMemory =
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

std::string OptionLine(const Option& option) {
  std::string line = "  " + option.Names();
  // The text starts in one column, or two spaces behind a long name.
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (const char c : option.description()) {
    line += c;
    if (c == '\n') line.append(kHelpColumn, ' ');
  }
  return line + "\n";
}

}  // namespace

void AddSharedOverflow(OptionList& list, std::string& how) {
  list.Add("--shared-overflow", how,
           "shared memory above the hardware's: error (default),\n"
           "global: in device memory, slow")
      .OneOf({"error", "global"})
      .ValueName("HOW")
      .Group(kGroupMore);
}

void AddLanes(OptionList& list, std::string& how) {
  list.Add("--lanes", how,
           "lanes that wait for each other: auto (default),\n"
           "serial: one by one wherever they might, slow")
      .OneOf({"auto", "serial"})
      .ValueName("HOW")
      .Group(kGroupMore);
}

unsigned CompileOptions::Jobs() const {
  return jobs != 0 ? jobs : std::max(1u, std::thread::hardware_concurrency());
}

ProcessLimits CompileOptions::Limits() const {
  ProcessLimits limits;
  limits.seconds = seconds;
  if (kLimitMemory) limits.memory_bytes = memory_mib << 20;
  return limits;
}

void CompileOptions::ApplyTo(ConversionOptions& conversion) const {
  conversion.shared_overflow = shared_overflow == "global";
  conversion.serial_lanes = lanes == "serial";
  conversion.in_process = in_process;
  conversion.limits = Limits();
  conversion.jobs = Jobs();
  conversion.folders.cache = cache;
  conversion.folders.given = code;
}

std::unique_ptr<Jobserver> CompileOptions::ConnectJobserver() const {
  const char* makeflags = std::getenv("MAKEFLAGS");
  if (jobs != 0 || makeflags == nullptr) return nullptr;
  return Jobserver::Connect(makeflags);
}

void AddArches(OptionList& list, std::vector<std::string>& arches) {
  list.Add("--arch", arches,
           "target ids, e.g. gfx1100; or native, rocm, generic, all")
      .ValueName("A[,B...]")
      .Delimiter(',')
      .Required()
      .Group(kGroupTargets);
}

void AddArchives(OptionList& list, std::string& folder) {
  list.Add("--archives", folder, "folder for the archives, not .kpack")
      .ValueName("DIR")
      .Group(kGroupMore);
}

void AddJobs(OptionList& list, CompileOptions& compile) {
  list.Add("-j,--jobs", compile.jobs, "compilers at a time")
      .ValueName("N")
      .Range(1, 1024)
      .Group(kGroupBehaviour);
}

void AddCompileOptions(OptionList& list, CompileOptions& compile) {
  list.AddFlag("--in-process", compile.in_process,
               "compile without child processes")
      .Group(kGroupMore);
  AddSharedOverflow(list, compile.shared_overflow);
  AddLanes(list, compile.lanes);
  AddCompileLimits(list, compile);
  AddCache(list, compile.cache);
  list.Add("--code", compile.code, "modules that compile --into made")
      .ValueName("DIR")
      .Group(kGroupMore);
}

void AddCache(OptionList& list, std::string& folder) {
  list.Add("--cache", folder, "compiled modules for good, shared by machines")
      .Environment("CERBERUS_CACHE")
      .ValueName("DIR")
      .Group(kGroupMore);
}

void AddEmitNinja(OptionList& list, std::string& path) {
  list.Add("--emit-ninja", path,
           "write the steps as a graph for ninja, do none")
      .ValueName("FILE")
      .Group(kGroupMore);
}

void AddShard(OptionList& list, std::string& text) {
  list.Add("--shard", text, "compile part I of N, pack what it has")
      .ValueName("I/N")
      .Excludes("--emit-ninja")
      .Group(kGroupMore);
}

void AddCompileLimits(OptionList& list, CompileOptions& compile) {
  list.Add("--compile-seconds", compile.seconds,
           "processor time for a kernel, 0: no limit")
      .ValueName("S")
      .Range(0, 1000000)
      .Group(kGroupMore);
  list.Add("--compile-memory", compile.memory_mib,
           "limit of a compiler in MiB, 0: none")
      .ValueName("M")
      .Group(kGroupMore);
}

Result<std::vector<std::string>> CheckArches(
    const std::vector<std::string>& arches) {
  std::vector<std::string> checked;
  CERB_TRY(const std::vector<std::string> expanded, ExpandTargets(arches));
  for (const std::string& text : expanded) {
    CERB_TRY(const TargetId id, TargetId::Parse(text));
    if (FindTarget(id.processor) == nullptr) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' is not a known target; known are {}; "
                             "and for several {}",
                             id.processor, NearestTargets(id.processor),
                             TargetSetNames()));
    }
    const std::string arch = id.ToString();
    if (std::find(checked.begin(), checked.end(), arch) == checked.end()) {
      checked.push_back(arch);
    }
  }
  return checked;
}

Result<std::vector<std::string>> SelectArches(
    const std::vector<std::string>& arches) {
  std::vector<std::string> selected;
  if (std::find(arches.begin(), arches.end(), "all") != arches.end()) {
    return selected;
  }
  CERB_TRY(const std::vector<std::string> expanded, ExpandTargets(arches));
  for (const std::string& text : expanded) {
    CERB_TRY(const TargetId id, TargetId::Parse(text));
    selected.push_back(id.ToString());
  }
  return selected;
}

void AddAllOptions(OptionList& list, Verb& verb, CommonOptions& common) {
  verb.AddOptions(list);
  list.AddFlag("-q,--quiet", common.report.quiet, "print errors only")
      .Group(kGroupDiagnostics);
  list.AddFlag("-v,--verbose", common.report.verbose, "say more")
      .Group(kGroupDiagnostics);
  list.AddFlag("--json", common.json, "report on stdout as JSON")
      .Group(kGroupDiagnostics);
  list.Add("--color", common.color,
           "auto (default), always or never; NO_COLOR works too")
      .OneOf({"auto", "always", "never"})
      .ValueName("WHEN")
      .Group(kGroupDiagnostics);
  list.AddFlag("-h,--help", common.help,
               "this text; --help-all for all options")
      .Group(kGroupDiagnostics);
  list.AddFlag("--help-all", common.help_all, "").Group("");
}

std::string UsageLine(const OptionList& list, const Verb& verb) {
  std::string usage = verb.name();
  for (const Option& option : list.options()) {
    if (option.positional()) {
      usage += option.required() ? " " + option.Names()
                                 : " [" + option.Names() + "]";
    } else if (option.required()) {
      const std::vector<std::string> short_names = option.short_names();
      usage += short_names.empty() ? " --" + option.long_names().front()
                                   : " -" + short_names.front();
      usage += " " + option.value_name();
    }
  }
  const std::string_view command = verb.command();
  return fmt::format("{} [options]{}{}", usage, command.empty() ? "" : " ",
                     command);
}

std::string FormatVerbHelp(const OptionList& list, const Verb& verb, bool all) {
  std::string help = fmt::format("usage: cerberus {}\n{}\n",
                                 UsageLine(list, verb), verb.summary());

  std::vector<const char*> groups = {kGroupFiles, kGroupTargets,
                                     kGroupBehaviour, kGroupDiagnostics};
  if (all) groups.push_back(kGroupMore);
  for (const char* group : groups) {
    std::string lines;
    for (const Option& option : list.options()) {
      if (option.group() == group) lines += OptionLine(option);
    }
    if (!lines.empty()) help += fmt::format("{}:\n{}", group, lines);
  }
  help += fmt::format("Examples:\n{}", verb.examples());
  return help;
}

std::vector<std::unique_ptr<Verb>> MakeVerbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
#define CERBERUS_VERB(Name) verbs.push_back(Make##Name##Verb());
#define CERBERUS_VERB_GROUP(name, summary)
#include "cli/verbs.def"
#undef CERBERUS_VERB
#undef CERBERUS_VERB_GROUP
  return verbs;
}

const VerbGroup* FindGroup(const std::string& name) {
  static constexpr VerbGroup kGroups[] = {
#define CERBERUS_VERB(Name)
#define CERBERUS_VERB_GROUP(name, summary) {name, summary},
#include "cli/verbs.def"
#undef CERBERUS_VERB
#undef CERBERUS_VERB_GROUP
  };
  for (const VerbGroup& group : kGroups) {
    if (name == group.name) return &group;
  }
  return nullptr;
}

const VerbGroup* GroupOf(const std::string& verb) {
  const std::size_t space = verb.find(' ');
  return space == std::string::npos ? nullptr
                                    : FindGroup(verb.substr(0, space));
}

std::string NameInGroup(const std::string& verb) {
  return verb.substr(verb.find(' ') + 1);
}

std::string HyphenedName(const std::string& verb) {
  std::string name = verb;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace cerberus::cli
