// Command lines as NVIDIA's tools take them: "--name value", "--name=value",
// and short names with one dash, "-arch sm_80", "-O3".
#ifndef CERBERUS_STANDINS_OPTIONS_H_
#define CERBERUS_STANDINS_OPTIONS_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cerberus::standins {

struct OptionRow {
  std::string_view name;        // "gpu-name"
  std::string_view short_name;  // "arch"
  bool has_value;
};

struct CommandLine {
  std::vector<std::string> inputs;
  // By long name, in the order given.
  std::map<std::string_view, std::vector<std::string>> options;

  bool Has(std::string_view name) const { return options.contains(name); }
  // The last one given, or `otherwise`.
  std::string Value(std::string_view name, std::string otherwise = "") const;
};

// What stands in a file of --options-file is read in its place. An option
// that is not in `rows` is left out and noted in `unknown`: NVIDIA's tools
// have more options than they tell, and none of them changes the PTX. Returns
// what is wrong with the line, or "".
std::string ParseCommandLine(std::vector<std::string> arguments,
                             std::span<const OptionRow> rows, CommandLine* out,
                             std::vector<std::string>* unknown);

}  // namespace cerberus::standins

#endif  // CERBERUS_STANDINS_OPTIONS_H_
