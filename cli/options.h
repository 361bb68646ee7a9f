// Options that verbs share, and the look of the help.
#ifndef CERBERUS_CLI_OPTIONS_H_
#define CERBERUS_CLI_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "cli/verb.h"

namespace cerberus::cli {

// Groups of the help, in the order in which it shows them. Options of the
// last one appear under --help-all only.
inline constexpr char kGroupFiles[] = "Input/Output";
inline constexpr char kGroupTargets[] = "Targets";
inline constexpr char kGroupBehaviour[] = "Behaviour";
inline constexpr char kGroupDiagnostics[] = "Diagnostics";
inline constexpr char kGroupMore[] = "More";

void AddCommonOptions(CLI::App& app, CommonOptions& common);

// --shared-overflow: `how` becomes "error" or "global".
void AddSharedOverflow(CLI::App& app, std::string& how);
// --lanes: `how` becomes "auto" or "serial".
void AddLanes(CLI::App& app, std::string& how);

// Usage, the groups, the examples; one line an option.
std::string FormatVerbHelp(const CLI::App& app, const Verb& verb, bool all);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_OPTIONS_H_
