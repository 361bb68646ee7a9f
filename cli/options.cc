#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
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

// How the check of an option is named that takes one of some words.
constexpr std::string_view kOneOf = "one of ";

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

std::string OptionLine(const CLI::Option& option) {
  std::string line = "  " + OptionNames(option);
  // The text starts in one column, or two spaces behind a long name.
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (const char c : option.get_description()) {
    line += c;
    if (c == '\n') line.append(kHelpColumn, ' ');
  }
  return line + "\n";
}

}  // namespace

std::string OptionNames(const CLI::Option& option) {
  std::string names;
  if (option.get_positional()) return option.get_name(true, false);
  for (const std::string& name : option.get_snames()) {
    names += (names.empty() ? "-" : ", -") + name;
  }
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "    --" : ", --") + name;
  }
  const std::string value = option.get_type_name();
  if (option.get_type_size() != 0 && !value.empty()) names += " " + value;
  return names;
}

CLI::Option* AddChoice(CLI::App& app, const std::string& name,
                       std::string& value,
                       const std::vector<std::string>& choices,
                       const std::string& description) {
  const auto check = [choices](const std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
      return "";
    }
    return fmt::format("'{}' is not {} or {}", text,
                       fmt::join(choices.begin(), choices.end() - 1, ", "),
                       choices.back());
  };
  return app.add_option(name, value, description)
      ->check(CLI::Validator(
          check, "", fmt::format("{}{}", kOneOf, fmt::join(choices, " "))));
}

std::vector<std::string> Choices(CLI::Option& option) {
  std::string name;
  try {
    name = option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};  // it has no check at all
  }
  if (name.rfind(kOneOf, 0) != 0) return {};
  std::istringstream words(name.substr(kOneOf.size()));
  return {std::istream_iterator<std::string>(words), {}};
}

void AddSharedOverflow(CLI::App& app, std::string& how) {
  AddChoice(app, "--shared-overflow", how, {"error", "global"},
            "shared memory above the hardware's: error (default),\n"
            "global: in device memory, slow")
      ->type_name("HOW")
      ->group(kGroupMore);
}

void AddLanes(CLI::App& app, std::string& how) {
  AddChoice(app, "--lanes", how, {"auto", "serial"},
            "lanes that wait for each other: auto (default),\n"
            "serial: one by one wherever they might, slow")
      ->type_name("HOW")
      ->group(kGroupMore);
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

void AddArches(CLI::App& app, std::vector<std::string>& arches) {
  app.add_option("--arch", arches,
                 "target ids, e.g. gfx1100; or native, rocm, generic, all")
      ->type_name("A[,B...]")
      ->delimiter(',')
      ->required()
      ->group(kGroupTargets);
}

void AddArchives(CLI::App& app, std::string& folder) {
  app.add_option("--archives", folder, "folder for the archives, not .kpack")
      ->type_name("DIR")
      ->group(kGroupMore);
}

void AddJobs(CLI::App& app, CompileOptions& compile) {
  app.add_option("-j,--jobs", compile.jobs, "compilers at a time")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->group(kGroupBehaviour);
}

void AddCompileOptions(CLI::App& app, CompileOptions& compile) {
  app.add_flag("--in-process", compile.in_process,
               "compile without child processes")
      ->group(kGroupMore);
  AddSharedOverflow(app, compile.shared_overflow);
  AddLanes(app, compile.lanes);
  AddCompileLimits(app, compile);
  AddCache(app, compile.cache);
  app.add_option("--code", compile.code, "modules that compile --into made")
      ->type_name("DIR")
      ->group(kGroupMore);
}

void AddCache(CLI::App& app, std::string& folder) {
  app.add_option("--cache", folder,
                 "compiled modules for good, shared by machines")
      ->envname("CERBERUS_CACHE")
      ->type_name("DIR")
      ->group(kGroupMore);
}

void AddEmitNinja(CLI::App& app, std::string& path) {
  app.add_option("--emit-ninja", path,
                 "write the steps as a graph for ninja, do none")
      ->type_name("FILE")
      ->group(kGroupMore);
}

void AddShard(CLI::App& app, std::string& text) {
  app.add_option("--shard", text, "compile part I of N, pack what it has")
      ->type_name("I/N")
      ->excludes("--emit-ninja")
      ->group(kGroupMore);
}

void AddCompileLimits(CLI::App& app, CompileOptions& compile) {
  app.add_option("--compile-seconds", compile.seconds,
                 "processor time for a kernel, 0: no limit")
      ->type_name("S")
      ->check(CLI::Range(0, 1000000).description(""))
      ->group(kGroupMore);
  app.add_option("--compile-memory", compile.memory_mib,
                 "limit of a compiler in MiB, 0: none")
      ->type_name("M")
      ->group(kGroupMore);
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

void AddAllOptions(CLI::App& app, Verb& verb, CommonOptions& common) {
  verb.AddOptions(app);
  app.set_help_flag();  // ours, below
  app.add_flag("-q,--quiet", common.report.quiet, "print errors only")
      ->group(kGroupDiagnostics);
  app.add_flag("-v,--verbose", common.report.verbose, "say more")
      ->group(kGroupDiagnostics);
  app.add_flag("--json", common.json, "report on stdout as JSON")
      ->group(kGroupDiagnostics);
  AddChoice(app, "--color", common.color, {"auto", "always", "never"},
            "auto (default), always or never; NO_COLOR works too")
      ->type_name("WHEN")
      ->group(kGroupDiagnostics);
  app.add_flag("-h,--help", common.help,
               "this text; --help-all for all options")
      ->group(kGroupDiagnostics);
  app.add_flag("--help-all", common.help_all)->group("");
}

std::string UsageLine(const CLI::App& app, const Verb& verb) {
  std::string required;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required()) {
      if (option->get_positional()) {
        required += fmt::format(" [{}]", option->get_name(true, false));
      }
      continue;
    }
    required += " ";
    if (option->get_positional()) {
      required += option->get_name(true, false);
    } else {
      required += option->get_snames().empty()
                      ? "--" + option->get_lnames().front()
                      : "-" + option->get_snames().front();
      required += " " + option->get_type_name();
    }
  }
  const std::string_view command = verb.command();
  return fmt::format("{}{} [options]{}{}", verb.name(), required,
                     command.empty() ? "" : " ", command);
}

std::string FormatVerbHelp(const CLI::App& app, const Verb& verb, bool all) {
  std::string help = fmt::format("usage: cerberus {}\n{}\n",
                                 UsageLine(app, verb), verb.summary());

  std::vector<const char*> groups = {kGroupFiles, kGroupTargets,
                                     kGroupBehaviour, kGroupDiagnostics};
  if (all) groups.push_back(kGroupMore);
  for (const char* group : groups) {
    std::string lines;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group) lines += OptionLine(*option);
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
