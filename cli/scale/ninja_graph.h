// A conversion as a graph of commands that Ninja, or what reads its files, can
// run: a step for each module and target, and one that packs what they made
// (docs/scale.md).
#ifndef CERBERUS_CLI_SCALE_NINJA_GRAPH_H_
#define CERBERUS_CLI_SCALE_NINJA_GRAPH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/convert/conversion.h"
#include "support/result.h"

namespace cerberus::cli {

// What the last step is.
struct NinjaLastStep {
  std::vector<std::string> inputs;   // what is converted, file by file
  std::vector<std::string> outputs;  // … becomes these
  // A folder that must be made new: it goes before, and a file FILE.done says
  // that it is made. "": the outputs say so.
  std::string new_folder;
};

// Writes the graph of this run, whose command line it reads, to `path`; PTX and
// code are in a folder beside it. Returns how many modules there are to
// compile.
Result<std::size_t> WriteNinjaGraph(
    const std::string& path, const ConversionOptions& options,
    const std::vector<const Conversion*>& conversions,
    const NinjaLastStep& last);

// The file that says that a folder is made.
std::string NinjaDoneFile(const std::string& graph);

// "build.ninja: 12 modules to compile".
void PrintSteps(const std::string& path, std::size_t steps);

// As a word of a shell. As a path of Ninja; errors: a line break or a byte
// that is 0, for which it has no spelling.
std::string ShellWord(const std::string& text);
Result<std::string> NinjaPath(const std::string& path);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_SCALE_NINJA_GRAPH_H_
