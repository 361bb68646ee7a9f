// The options that a verb takes, for the command line, its help, completions
// and man page. CLI11 is behind them, in one file: each that includes its
// headers takes some five seconds to compile.
#ifndef CERBERUS_CLI_OPTION_LIST_H_
#define CERBERUS_CLI_OPTION_LIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cerberus::cli {

// Groups of the help, in the order in which it shows them. Options of the
// last one appear under --help-all only.
inline constexpr char kGroupFiles[] = "Input/Output";
inline constexpr char kGroupTargets[] = "Targets";
inline constexpr char kGroupBehaviour[] = "Behaviour";
inline constexpr char kGroupDiagnostics[] = "Diagnostics";
inline constexpr char kGroupMore[] = "More";

// One of a list's; a copy is the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option Required();
  // "" keeps it out of the help.
  Option Group(const char* group);
  // How the help shows the value: "OUT".
  Option ValueName(const char* name);
  Option Delimiter(char delimiter);
  Option OneOf(const std::vector<std::string>& choices);
  Option Range(int low, int high);
  // The value is bytes: "100", or "100MB" for 100 * 1024 * 1024.
  Option Size();
  // Where it is not given, the variable's value.
  Option Environment(const char* variable);
  Option Excludes(Option other);
  Option Excludes(const char* name);  // one of the same list

  bool positional() const;
  bool required() const;
  const std::string& group() const;
  const std::string& description() const;
  std::vector<std::string> short_names() const;  // "o"
  std::vector<std::string> long_names() const;   // "output"
  std::string value_name() const;                // "OUT", "" for a flag
  // Of OneOf; empty for an option that takes anything.
  std::vector<std::string> choices() const;
  // "-o, --output OUT"; the name of a positional argument.
  std::string Names() const;

 private:
  CLI::Option* option_;
};

class OptionList {
 public:
  OptionList();
  ~OptionList();
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;

  // `names` is "-o,--output", or "IN" of a positional argument. Parse() sets
  // the value, if the option is given.
  Option Add(const std::string& names, std::string& value,
             const std::string& description);
  Option Add(const std::string& names, std::vector<std::string>& value,
             const std::string& description);
  Option Add(const std::string& names, int& value,
             const std::string& description);
  Option Add(const std::string& names, unsigned& value,
             const std::string& description);
  Option Add(const std::string& names, std::uint64_t& value,
             const std::string& description);
  Option Add(const std::string& names, std::optional<std::uint64_t>& value,
             const std::string& description);
  Option AddFlag(const std::string& names, bool& value,
                 const std::string& description);

  // In the order in which they were added.
  std::vector<Option> options() const;

  // If `has_command`, the first argument that is no option begins remaining().
  Status Parse(const std::vector<std::string>& args, bool has_command);
  std::vector<std::string> remaining() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_OPTION_LIST_H_
