#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/conversion.h"
#include "support/nearest_targets.h"
#include "support/target_id.h"
#include "support/target_table.h"

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

std::string Names(const CLI::Option& option) {
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

std::string OptionLine(const CLI::Option& option) {
  std::string line = "  " + Names(option);
  // The text starts in one column, or two spaces behind a long name.
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (const char c : option.get_description()) {
    line += c;
    if (c == '\n') line.append(kHelpColumn, ' ');
  }
  return line + "\n";
}

}  // namespace

void AddSharedOverflow(CLI::App& app, std::string& how) {
  app.add_option("--shared-overflow", how,
                 "shared memory above the hardware's: error (default),\n"
                 "global: in device memory, slow")
      ->type_name("HOW")
      ->check(CLI::IsMember(std::vector<std::string>{"error", "global"})
                  .description(""))
      ->group(kGroupMore);
}

void AddLanes(CLI::App& app, std::string& how) {
  app.add_option("--lanes", how,
                 "lanes that wait for each other: auto (default),\n"
                 "serial: one by one wherever they might, slow")
      ->type_name("HOW")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "serial"})
                  .description(""))
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
}

std::unique_ptr<Jobserver> CompileOptions::ConnectJobserver() const {
  const char* makeflags = std::getenv("MAKEFLAGS");
  if (jobs != 0 || makeflags == nullptr) return nullptr;
  return Jobserver::Connect(makeflags);
}

void AddArches(CLI::App& app, std::vector<std::string>& arches) {
  app.add_option("--arch", arches, "target ids, e.g. gfx1100,gfx942:xnack-")
      ->type_name("A[,B...]")
      ->delimiter(',')
      ->required()
      ->group(kGroupTargets);
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
  for (const std::string& text : arches) {
    CERB_TRY(const TargetId id, TargetId::Parse(text));
    if (FindTarget(id.processor) == nullptr) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' is not a known target; known are {}",
                             id.processor, NearestTargets(id.processor)));
    }
    const std::string arch = id.ToString();
    if (std::find(checked.begin(), checked.end(), arch) == checked.end()) {
      checked.push_back(arch);
    }
  }
  return checked;
}

void AddCommonOptions(CLI::App& app, CommonOptions& common) {
  app.add_flag("-q,--quiet", common.report.quiet, "print errors only")
      ->group(kGroupDiagnostics);
  app.add_flag("-v,--verbose", common.report.verbose, "say more")
      ->group(kGroupDiagnostics);
  app.add_flag("--json", common.json, "report on stdout as JSON")
      ->group(kGroupDiagnostics);
  static const std::map<std::string, ColorMode> kModes = {
      {"auto", ColorMode::kAuto},
      {"always", ColorMode::kAlways},
      {"never", ColorMode::kNever}};
  app.add_option_function<std::string>(
         "--color",
         [&common](const std::string& text) {
           const auto mode = kModes.find(text);
           if (mode == kModes.end()) {
             throw CLI::ValidationError(
                 "--color", "'" + text + "' is not auto, always or never");
           }
           common.report.color = mode->second;
         },
         "auto (default), always or never; NO_COLOR works too")
      ->type_name("WHEN")
      ->group(kGroupDiagnostics);
}

std::string FormatVerbHelp(const CLI::App& app, const Verb& verb, bool all) {
  std::string required;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required()) continue;
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
  std::string help = fmt::format(
      "usage: cerberus {}{} [options]{}{}\n{}\n", verb.name(), required,
      command.empty() ? "" : " ", command, verb.summary());

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

}  // namespace cerberus::cli
