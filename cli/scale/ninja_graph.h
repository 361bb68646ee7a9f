// A conversion as a graph of commands that Ninja, or what reads its files, can
// run: a step for each module and target, and one that packs what they made
// (docs/scale.md).
#ifndef CERBERUS_CLI_SCALE_NINJA_GRAPH_H_
#define CERBERUS_CLI_SCALE_NINJA_GRAPH_H_

#include <set>
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

class NinjaGraph {
 public:
  // `path` is that of the graph; PTX and code are in a folder beside it.
  // `arguments` are those of this run.
  NinjaGraph(std::string path, std::vector<std::string> arguments,
             const ConversionOptions& options);

  // Writes the PTX, where it is not there already.
  Status Add(const Conversion& conversion);
  Status Write(const NinjaLastStep& last) const;

  static std::string DoneFile(const std::string& path) {
    return path + ".done";
  }
  std::size_t step_count() const { return steps_.size(); }

 private:
  struct Step {
    std::string ptx, code, what;
    std::vector<std::string> command;
  };
  Status AddStep(const Conversion::FirstRequest& first);

  const std::string path_;
  const std::string folder_;
  const std::vector<std::string> arguments_;
  const ConversionOptions& options_;
  std::string program_, jit_, build_;
  std::vector<Step> steps_;
  std::set<std::string> known_;  // code of the steps
};

// This run's, the program's name as its path; `cerberus-convert` becomes
// `cerberus convert`.
Result<std::vector<std::string>> ArgumentsOfThisRun();

// "build.ninja: 12 modules to compile".
void PrintSteps(const std::string& path, std::size_t steps);

// As a word of a shell. As a path of Ninja; errors: a line break or a byte
// that is 0, for which it has no spelling.
std::string ShellWord(const std::string& text);
Result<std::string> NinjaPath(const std::string& path);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_SCALE_NINJA_GRAPH_H_
