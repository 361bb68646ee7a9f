// What the stand-ins for NVIDIA's tools share: messages in the form that
// callers of those tools parse, architectures, --version, and the symbols of
// PTX that is linked.
#ifndef CERBERUS_STANDINS_TOOL_H_
#define CERBERUS_STANDINS_TOOL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "images/ptx_cubin.h"
#include "ptxc/front/ast.h"
#include "support/bytes.h"

namespace cerberus::standins {

// "ptxas fatal   : words" on stderr. Levels: "info", "warning", "error",
// "fatal".
void Say(std::string_view tool, std::string_view level, std::string_view words);

// "13.4": the CUDA whose ptxas takes what the compiler's front end knows. By it
// callers choose the .version of their PTX.
std::string ToolkitVersion();
// --version, with "release 13.0, V13.0.0", which callers look for.
void PrintVersion(std::string_view tool, std::string_view what);

// "sm_90a"; nothing for names that no GPU has. "compute_90a" too, if
// `or_virtual`.
std::optional<images::CubinTraits> ParseArch(std::string_view name,
                                             bool or_virtual);

// A file, or stdin for "-". False: it cannot be opened.
bool ReadInput(const std::string& name, std::string* bytes);
// In place, as the tools do it: the file may be /dev/null.
bool WriteOutput(const std::string& name, ByteSpan bytes);

// One module of a link. `text` and `file` outlive it.
struct LinkInput {
  std::string_view file;  // for messages
  std::unique_ptr<ptx::Module> module;
};

// Symbols that no input, or more than one, defines.
struct LinkProblem {
  enum class Kind { kUndefined, kDefinedTwice } kind;
  std::string symbol;
  std::string_view file;
  std::string_view first_file;  // kDefinedTwice
  int line = 0;
  bool is_function = false;
};
std::vector<LinkProblem> CheckLink(const std::vector<LinkInput>& inputs);

// The lines of -v for one module; `shown` says which functions.
enum class Shown { kKernels, kAllFunctions };
void PrintResources(std::string_view tool, const ptx::Module& module,
                    const std::string& arch, Shown shown);

int RunPtxas(std::vector<std::string> arguments);
int RunNvlink(std::vector<std::string> arguments);

}  // namespace cerberus::standins

#endif  // CERBERUS_STANDINS_TOOL_H_
