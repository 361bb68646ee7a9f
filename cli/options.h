// Options that verbs share, and the look of the help.
#ifndef CERBERUS_CLI_OPTIONS_H_
#define CERBERUS_CLI_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/convert/jobserver.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "support/result.h"

namespace cerberus::cli {

// Groups of the help, in the order in which it shows them. Options of the
// last one appear under --help-all only.
inline constexpr char kGroupFiles[] = "Input/Output";
inline constexpr char kGroupTargets[] = "Targets";
inline constexpr char kGroupBehaviour[] = "Behaviour";
inline constexpr char kGroupDiagnostics[] = "Diagnostics";
inline constexpr char kGroupMore[] = "More";

// What `cerberus <verb>` takes: the verb's options and those of all verbs.
void AddAllOptions(CLI::App& app, Verb& verb, CommonOptions& common);

// An option that takes one of `choices`, which Choices() knows then.
CLI::Option* AddChoice(CLI::App& app, const std::string& name,
                       std::string& value,
                       const std::vector<std::string>& choices,
                       const std::string& description);
// Empty for an option that takes anything.
std::vector<std::string> Choices(CLI::Option& option);

// --shared-overflow: `how` becomes "error" or "global".
void AddSharedOverflow(CLI::App& app, std::string& how);
// --lanes: `how` becomes "auto" or "serial".
void AddLanes(CLI::App& app, std::string& how);

struct ConversionOptions;

// How a verb compiles that converts files.
struct CompileOptions {
  unsigned jobs = 0;  // not given
  bool in_process = false;
  std::string shared_overflow = "error";
  std::string lanes = "auto";
  std::uint64_t seconds = 300;
  std::uint64_t memory_mib = 8192;
  std::string cache;  // folder that machines share, or ""
  std::string code;   // folder of compiled modules, or ""

  unsigned Jobs() const;  // one for each processor if not given
  ProcessLimits Limits() const;
  void ApplyTo(ConversionOptions& conversion) const;
  // Of make, which may say how many where the user does not; or null.
  std::unique_ptr<Jobserver> ConnectJobserver() const;
};
// --arch, required.
void AddArches(CLI::App& app, std::vector<std::string>& arches);
// For --help-all, too.
void AddArchives(CLI::App& app, std::string& folder);
void AddJobs(CLI::App& app, CompileOptions& compile);
// All but the jobs, for --help-all.
void AddCompileOptions(CLI::App& app, CompileOptions& compile);

// --cache.
void AddCache(CLI::App& app, std::string& folder);
// --emit-ninja, of verbs that plan before they compile.
void AddEmitNinja(CLI::App& app, std::string& path);
// --shard; behind AddEmitNinja.
void AddShard(CLI::App& app, std::string& text);
// --compile-seconds and --compile-memory.
void AddCompileLimits(CLI::App& app, CompileOptions& compile);

// Known target ids, each once, in the user's order and the usual spelling.
Result<std::vector<std::string>> CheckArches(
    const std::vector<std::string>& arches);

// The same for verbs that only choose among what is there: unknown targets are
// no errors, and where "all" is among them the list is empty.
Result<std::vector<std::string>> SelectArches(
    const std::vector<std::string>& arches);

// "-o, --output OUT"; the name of a positional argument.
std::string OptionNames(const CLI::Option& option);

// "convert IN -o OUT --arch A[,B...] [options]"
std::string UsageLine(const CLI::App& app, const Verb& verb);

// Usage, the groups, the examples; one line an option.
std::string FormatVerbHelp(const CLI::App& app, const Verb& verb, bool all);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_OPTIONS_H_
