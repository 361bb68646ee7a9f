// Options that verbs share, and the look of the help.
#ifndef CERBERUS_CLI_OPTIONS_H_
#define CERBERUS_CLI_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/convert/jobserver.h"
#include "cli/option_list.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "support/result.h"

namespace cerberus::cli {

// What `cerberus <verb>` takes: the verb's options and those of all verbs.
void AddAllOptions(OptionList& list, Verb& verb, CommonOptions& common);

// --shared-overflow: `how` becomes "error" or "global".
void AddSharedOverflow(OptionList& list, std::string& how);
// --lanes: `how` becomes "auto" or "serial".
void AddLanes(OptionList& list, std::string& how);

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
void AddArches(OptionList& list, std::vector<std::string>& arches);
// For --help-all, too.
void AddArchives(OptionList& list, std::string& folder);
void AddJobs(OptionList& list, CompileOptions& compile);
// All but the jobs, for --help-all.
void AddCompileOptions(OptionList& list, CompileOptions& compile);

// --cache.
void AddCache(OptionList& list, std::string& folder);
// --emit-ninja, of verbs that plan before they compile.
void AddEmitNinja(OptionList& list, std::string& path);
// --shard; behind AddEmitNinja.
void AddShard(OptionList& list, std::string& text);
// --compile-seconds and --compile-memory.
void AddCompileLimits(OptionList& list, CompileOptions& compile);

// Known target ids, each once, in the user's order and the usual spelling.
Result<std::vector<std::string>> CheckArches(
    const std::vector<std::string>& arches);

// The same for verbs that only choose among what is there: unknown targets are
// no errors, and where "all" is among them the list is empty.
Result<std::vector<std::string>> SelectArches(
    const std::vector<std::string>& arches);

// "convert IN -o OUT --arch A[,B...] [options]"
std::string UsageLine(const OptionList& list, const Verb& verb);

// Usage, the groups, the examples; one line an option.
std::string FormatVerbHelp(const OptionList& list, const Verb& verb, bool all);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_OPTIONS_H_
