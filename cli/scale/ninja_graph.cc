#include "cli/scale/ninja_graph.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

#include "cli/paths.h"
#include "cli/scale/kept_code.h"
#include "kpack/content_key.h"
#include "support/mapped_file.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace {

constexpr std::string_view kEmitNinja = "--emit-ninja";

Status CheckOneLine(const std::string& text, const char* what) {
  if (text.find_first_of(std::string("\n\r\0", 3)) == std::string::npos) {
    return {};
  }
  return Err(DiagCode::kUsage,
             fmt::format("a graph of Ninja cannot hold {} with a line break in "
                         "it: {}",
                         what, text));
}

// In the value of a variable only this is special.
std::string NinjaText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string CommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += ShellWord(word);
  }
  return line;
}

Result<std::string> NinjaPaths(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    CERB_TRY(const std::string escaped, NinjaPath(path));
    out += " " + escaped;
  }
  return out;
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return {};
  return Err(ErrnoDiag(path, "cannot create a folder", errno));
}

// Keeps the time of what is there already: it says when it was last changed.
Status WriteIfNew(const std::string& path, ByteSpan bytes) {
  if (const Result<MappedFile> file = MappedFile::Open(path)) {
    const ByteSpan there = file->bytes();
    if (std::equal(there.begin(), there.end(), bytes.begin(), bytes.end())) {
      return {};
    }
  }
  return WriteFile(path, bytes);
}

// Without --emit-ninja, and what is said with it.
std::vector<std::string> WithoutEmit(const std::vector<std::string>& all) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == kEmitNinja) {
      ++i;
    } else if (all[i].rfind(std::string(kEmitNinja) + "=", 0) != 0) {
      rest.push_back(all[i]);
    }
  }
  return rest;
}

}  // namespace

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
      "=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

Result<std::string> NinjaPath(const std::string& path) {
  CERB_TRY_VOID(CheckOneLine(path, "a file"));
  std::string out;
  for (const char c : path) {
    if (c == '|') {  // ends a path, and cannot be escaped
      out += "${bar}";
      continue;
    }
    if (c == '$' || c == ' ' || c == ':') out += '$';
    out += c;
  }
  return out;
}

void PrintSteps(const std::string& path, std::size_t steps) {
  fmt::print("{}: {} module{} to compile\n", path, steps,
             steps == 1 ? "" : "s");
}

std::string NinjaDoneFile(const std::string& graph) { return graph + ".done"; }

namespace {

// This run's, the program's name as its path; `cerberus-convert` becomes
// `cerberus convert`.
Result<std::vector<std::string>> ArgumentsOfThisRun() {
  // It has no size that could be mapped.
  std::string text;
  std::FILE* file = std::fopen("/proc/self/cmdline", "rb");
  if (file == nullptr) {
    return Err(ErrnoDiag("/proc/self/cmdline", "cannot open", errno));
  }
  char buffer[4096];
  std::size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) != 0) {
    text.append(buffer, got);
  }
  std::fclose(file);
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size();) {
    arguments.emplace_back(text.c_str() + at);
    at += arguments.back().size() + 1;
  }
  CERB_TRY(const std::string folder, ProgramFolder());
  if (!arguments.empty()) {
    const bool is_alias = BaseName(arguments.front()) == "cerberus-convert";
    arguments.front() = folder + "/cerberus";
    if (is_alias) arguments.insert(arguments.begin() + 1, "convert");
  }
  return arguments;
}

class NinjaGraph {
 public:
  // `arguments` are those of this run.
  NinjaGraph(std::string path, std::vector<std::string> arguments,
             const ConversionOptions& options);

  // Writes the PTX, where it is not there already.
  Status Add(const Conversion& conversion);
  Status Write(const NinjaLastStep& last) const;
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

NinjaGraph::NinjaGraph(std::string path, std::vector<std::string> arguments,
                       const ConversionOptions& options)
    : path_(std::move(path)),
      folder_(path_ + ".modules"),
      arguments_(std::move(arguments)),
      options_(options),
      program_(arguments_.front()) {
  if (const Result<std::string> jit = FindJit()) jit_ = *jit;
  build_ = CompilerBuild(jit_);
}

Status NinjaGraph::Add(const Conversion& conversion) {
  CERB_TRY_VOID(MakeFolder(folder_));
  return conversion.ForEachRequest(
      [this](const Conversion::FirstRequest& first) { return AddStep(first); });
}

Status NinjaGraph::AddStep(const Conversion::FirstRequest& first) {
  const CompileRequest& request = first.request;
  CodeFolders folders;
  folders.given = folder_;
  Step step;
  step.code = KeptModule(folders, build_, request).GivenPath();
  // Modules that are equal are compiled once.
  if (!known_.insert(step.code).second) return {};
  step.ptx = fmt::format("{}/{}.ptx", folder_,
                         kpack::Hash128Hex(AsBytes(request.ptx)));
  step.what = fmt::format("compile {} {}", request.arch, first.label);
  CERB_TRY_VOID(CheckOneLine(step.what, "a module"));
  CERB_TRY_VOID(WriteIfNew(step.ptx, AsBytes(request.ptx)));
  const ProcessLimits& limits = options_.limits;
  step.command = {
      program_,
      "compile",
      step.ptx,
      "--arch",
      request.arch,
      "--into",
      folder_,
      "--jobs=1",
      fmt::format("--compile-seconds={}", limits.seconds),
      fmt::format("--compile-memory={}", limits.memory_bytes >> 20)};
  if (request.keep_going) step.command.push_back("--keep-going");
  if (request.shared_overflow)
    step.command.push_back("--shared-overflow=global");
  if (request.serial_lanes) step.command.push_back("--lanes=serial");
  if (first.may_fail) step.command.push_back("--may-fail");
  steps_.push_back(std::move(step));
  return {};
}

Status NinjaGraph::Write(const NinjaLastStep& last) const {
  for (const std::string& word : arguments_) {
    CERB_TRY_VOID(CheckOneLine(word, "an argument"));
  }
  CERB_TRY(const std::string compilers, NinjaPaths({program_, jit_}));
  CERB_TRY(const std::string graph, NinjaPath(path_));
  CERB_TRY(const std::string inputs, NinjaPaths(last.inputs));
  std::string text =
      "# Written by cerberus --emit-ninja. Paths are those of the folder in "
      "which that was\n# run: run Ninja there, too.\n"
      "ninja_required_version = 1.5\nbar = |\n\n"
      "rule run\n  command = $command_line\n  description = $what\n\n"
      "rule write_graph\n  command = $command_line\n  description = $what\n"
      "  generator = 1\n\n";
  text += fmt::format(
      "build {}: write_graph{}{}\n  command_line = {}\n  what = plan\n\n",
      graph, inputs, compilers, NinjaText(CommandLine(arguments_)));
  std::vector<std::string> code;
  for (const Step& step : steps_) {
    CERB_TRY(const std::string in, NinjaPath(step.ptx));
    CERB_TRY(const std::string out, NinjaPath(step.code));
    text += fmt::format(
        "build {}: run {} |{}\n  command_line = {}\n  what = {}\n\n", out, in,
        compilers, NinjaText(CommandLine(step.command)), NinjaText(step.what));
    code.push_back(step.code);
  }
  std::vector<std::string> outputs = last.outputs;
  std::vector<std::string> words = WithoutEmit(arguments_);
  words.insert(words.end(), {"--code", folder_});
  std::string command = CommandLine(words);
  // 3 is what it says of an output that lacks something: it is there.
  if (options_.keep_going) command = "{ " + command + " || test $? -eq 3; }";
  if (!last.new_folder.empty()) {
    const std::string done = NinjaDoneFile(path_);
    outputs = {done};
    command = fmt::format("rm -rf -- {} && {} && touch -- {}",
                          ShellWord(last.new_folder), command, ShellWord(done));
  }
  CERB_TRY(const std::string made, NinjaPaths(outputs));
  CERB_TRY(const std::string modules, NinjaPaths(code));
  text += fmt::format(
      "build{}: run{} |{}{}\n  command_line = {}\n  what = pack\n\ndefault{}\n",
      made, inputs, modules, compilers, NinjaText(command), made);
  return WriteFile(path_, AsBytes(text));
}

}  // namespace

Result<std::size_t> WriteNinjaGraph(
    const std::string& path, const ConversionOptions& options,
    const std::vector<const Conversion*>& conversions,
    const NinjaLastStep& last) {
  CERB_TRY(std::vector<std::string> arguments, ArgumentsOfThisRun());
  NinjaGraph graph(path, std::move(arguments), options);
  for (const Conversion* conversion : conversions) {
    CERB_TRY_VOID(graph.Add(*conversion));
  }
  CERB_TRY_VOID(graph.Write(last));
  return graph.step_count();
}

}  // namespace cerberus::cli
