// cerberus: parse the command line, run the verb, turn what happened into an
// exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"
#include "cli/option_list.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "support/version.h"

namespace cerberus::cli {
namespace {

std::string TopHelp(const std::vector<std::unique_ptr<Verb>>& verbs) {
  std::string help =
      "usage: cerberus <verb> [options]\n"
      "Converts CUDA programs, ahead of time, to run on AMD GPUs.\n"
      "Verbs:\n";
  const VerbGroup* last = nullptr;
  for (const std::unique_ptr<Verb>& verb : verbs) {
    const VerbGroup* group = GroupOf(verb->name());
    if (group == nullptr) {
      help += fmt::format("  {:<13} {}\n", verb->name(), verb->summary());
    } else if (group != last) {
      help += fmt::format("  {:<13} {}\n", group->name, group->summary);
    }
    last = group;
  }
  return help +
         "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 converted without "
         "some kernels,\n"
         "            130 interrupted\n"
         "Examples:\n"
         "  cerberus convert app -o app.amd --arch gfx1100\n"
         "  cerberus <verb> --help\n";
}

std::string GroupHelp(const VerbGroup& group,
                      const std::vector<std::unique_ptr<Verb>>& verbs) {
  std::string help =
      fmt::format("usage: cerberus {} <verb> [options]\n{}\nVerbs:\n",
                  group.name, group.summary);
  for (const std::unique_ptr<Verb>& verb : verbs) {
    if (GroupOf(verb->name()) != &group) continue;
    help += fmt::format("  {:<13} {}\n", NameInGroup(verb->name()),
                        verb->summary());
  }
  return help + fmt::format("Help:\n  cerberus {} <verb> --help\n", group.name);
}

bool IsHelp(const std::string& word) {
  return word == "--help" || word == "-h" || word == "--help-all";
}

int UsageError(const std::string& verb, const std::string& message) {
  fmt::print(stderr, "cerberus: error: {}\n", message);
  fmt::print(stderr, "try 'cerberus {}--help'\n",
             verb.empty() ? "" : verb + " ");
  return kExitUsage;
}

int Run(std::vector<std::string> args,
        const std::vector<std::unique_ptr<Verb>>& verbs) {
  if (args.empty()) return UsageError("", "a verb is missing");
  std::string name = args[0];
  if (IsHelp(name)) {
    fmt::print("{}", TopHelp(verbs));
    return kExitDone;
  }
  if (name == "--version") {
    fmt::print("cerberus {}\n", kVersion);
    return kExitDone;
  }
  if (const VerbGroup* group = FindGroup(name)) {
    args.erase(args.begin());
    if (args.empty()) return UsageError(name, "a verb is missing");
    if (IsHelp(args[0])) {
      fmt::print("{}", GroupHelp(*group, verbs));
      return kExitDone;
    }
    name += " " + args[0];
  }
  for (const std::unique_ptr<Verb>& verb : verbs) {
    if (name != verb->name()) continue;
    OptionList list;
    CommonOptions common;
    AddAllOptions(list, *verb, common);
    // Help wins over whatever else is wrong with the line; what belongs to a
    // command is the command's.
    const bool has_command = *verb->command() != '\0';
    for (std::size_t i = 1; i < args.size(); ++i) {
      const std::string& arg = args[i];
      if (arg == "--" || (has_command && arg[0] != '-')) break;
      if (arg == "-h" || arg == "--help") common.help = true;
      if (arg == "--help-all") common.help_all = true;
    }
    if (common.help || common.help_all) {
      fmt::print("{}", FormatVerbHelp(list, *verb, common.help_all));
      return kExitDone;
    }
    args.erase(args.begin());
    if (Status parsed = list.Parse(args, has_command); !parsed) {
      return UsageError(name, parsed.error().message);
    }
    common.report.color = common.color == "always"  ? ColorMode::kAlways
                          : common.color == "never" ? ColorMode::kNever
                                                    : ColorMode::kAuto;
    Reporter reporter(common.report);
    return verb->Run(common, reporter);
  }
  const VerbGroup* group = GroupOf(name);
  return UsageError(group == nullptr ? "" : group->name,
                    fmt::format("'{}' is not a verb", name));
}

// `cerberus-convert` is `cerberus convert`, and so for the other verbs.
std::string VerbOfProgram(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kPrefix = "cerberus-";
  if (name.substr(0, kPrefix.size()) != kPrefix) return "";
  return std::string(name.substr(kPrefix.size()));
}

}  // namespace
}  // namespace cerberus::cli

int main(int argc, char** argv) {
  using namespace cerberus::cli;
  try {
    std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    const std::string verb = argc > 0 ? VerbOfProgram(argv[0]) : "";
    if (!verb.empty()) args.insert(args.begin(), verb);
    const int code = Run(std::move(args), MakeVerbs());
    // Output that could not be written is not done.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      std::perror("cerberus: error: cannot write to stdout");
      return code == kExitDone ? kExitFailed : code;
    }
    return code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cerberus: error: {}\n", error.what());
    return kExitFailed;
  }
}
