// nvlink: the PTX of its inputs, behind one another in one cubin. The driver
// stub's compiler links them when it is loaded. Inputs are the cubins that the
// stand-in for ptxas writes, and fatbins, objects and archives with PTX.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "images/fatbin.h"
#include "ptxc/front/parse/parser.h"
#include "standins/options.h"
#include "standins/tool.h"

namespace cerberus::standins {
namespace {

constexpr std::string_view kTool = "nvlink";
constexpr int kDone = 0;
constexpr int kFailed = 1;

// `nvlink --help` of CUDA 11.8 to 13.5.
constexpr auto kOptions = std::to_array<OptionRow>({
    {"Ofast-compile", "Ofc", true},
    {"Xnvvm", "Xnvvm", true},
    {"Xptxas", "Xptxas", true},
    {"arch", "arch", true},
    {"cpu-arch", "cpu-arch", true},
    {"debug", "g", false},
    {"device-stack-protector", "device-stack-protector", false},
    {"disable-infos", "disable-infos", false},
    {"disable-warnings", "w", false},
    {"dlto", "dlto", false},
    {"dump-callgraph", "dump-callgraph", false},
    {"dump-callgraph-no-demangle", "dump-callgraph-no-demangle", false},
    {"emit-ptx", "emit-ptx", false},
    {"extra-warnings", "extrawarn", false},
    {"gen-host-linker-script", "ghls", true},
    {"help", "h", false},
    {"host-ccbin", "ccbin", true},
    {"ignore-host-info", "ignore-host-info", false},
    {"keep-system-libraries", "keep-system-libraries", false},
    {"kernels-used", "kernels-used", true},
    {"library", "l", true},
    {"library-path", "L", true},
    {"link-time-opt", "lto", false},
    {"machine", "m", true},
    {"maxrregcount", "maxrregcount", true},
    {"nvvmpath", "nvvmpath", true},
    {"options-file", "optf", true},
    {"output-file", "o", true},
    {"preserve-relocs", "preserve-relocs", false},
    {"register-link-binaries", "register-link-binaries", true},
    {"relocatable-link", "r", false},
    {"report-arch", "report-arch", false},
    {"suppress-arch-warning", "suppress-arch-warning", false},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", false},
    {"syscall-path", "syscall-path", true},
    {"use-host-info", "use-host-info", false},
    {"variables-used", "variables-used", true},
    {"verbose", "v", false},
    {"version", "V", false},
    {"warning-as-error", "Werror", false},
});

constexpr char kUsage[] =
    "\nUsage  : nvlink [options] <objects>\n\n"
    "Puts the PTX of its inputs into one cubin, for the driver of Cerberus.\n"
    "Takes the options of CUDA's nvlink; of them have an effect\n"
    "  --arch, --output-file (-o), --library (-l), --library-path (-L),\n"
    "  --relocatable-link (-r), --options-file (-optf), --verbose (-v), "
    "--version (-V)\n\n";

int Fatal(std::string_view words) {
  Say(kTool, "fatal", words);
  return kFailed;
}

// The PTX of a fatbin that fits `sm` best: the newest up to it. Empty: none
// does.
std::string BestPtx(const images::Fatbin& fatbin, std::uint32_t sm) {
  const std::vector<images::FatbinEntry> entries =
      images::EntriesWithPtx(fatbin.entries);
  const images::FatbinEntry* best = nullptr;
  for (const images::FatbinEntry& entry : entries) {
    if (entry.sm <= sm && (best == nullptr || entry.sm > best->sm)) {
      best = &entry;
    }
  }
  if (best == nullptr) return "";
  return images::UnpackPtx(*best).value_or("");
}

// The modules of a file: a cubin of ours, or whatever holds fatbins.
std::vector<std::string> ModulesOf(const std::string& bytes, std::uint32_t sm) {
  const ByteSpan span = AsBytes(bytes);
  const std::string_view whole = images::PtxOfCubin(span);
  if (!whole.empty()) return {std::string(whole)};
  std::vector<std::string> modules;
  for (const images::Fatbin& fatbin : images::FindFatbins(span)) {
    if (images::IsDeviceRuntime(fatbin.entries)) continue;
    std::string text = BestPtx(fatbin, sm);
    if (!text.empty()) modules.push_back(std::move(text));
  }
  return modules;
}

// -lNAME in the folders of -L; "" if it is in none.
std::string FindLibrary(const std::string& name, CommandLine& line) {
  for (const std::string& folder : line.options["library-path"]) {
    std::string path = folder + "/lib" + name + ".a";
    std::string bytes;
    if (ReadInput(path, &bytes)) return path;
  }
  return "";
}

struct Module {
  std::string file;
  std::string text;
};

// These return what is wrong, or "".

// Libraries become inputs.
std::string TakeLibraries(CommandLine& line) {
  for (const std::string& name : line.options["library"]) {
    const std::string path = FindLibrary(name, line);
    // NVIDIA's own has what the driver's compiler knows.
    if (name == "cudadevrt") continue;
    if (path.empty()) {
      return fmt::format("Could not open input file 'lib{}.a'", name);
    }
    line.inputs.push_back(path);
  }

  return "";
}

std::string ReadModules(const std::vector<std::string>& files, unsigned sm,
                        std::vector<Module>* modules) {
  for (const std::string& name : files) {
    std::string bytes;
    if (!ReadInput(name, &bytes)) {
      return fmt::format("Could not open input file '{}'", name);
    }
    std::vector<std::string> found = ModulesOf(bytes, sm);
    if (found.empty()) {
      return fmt::format(
          "'{}' holds no PTX, machine code of NVIDIA's cannot be "
          "linked for another GPU",
          name);
    }
    for (std::string& text : found) modules->push_back({name, std::move(text)});
  }
  return "";
}

// `all` becomes the text of all modules.
std::string ParseModules(const std::vector<Module>& modules,
                         std::vector<LinkInput>* inputs, std::string* all) {
  for (const Module& module : modules) {
    for (const std::string_view part : ptx::SplitModules(module.text)) {
      std::string error;
      ptx::ParseOutcome parsed = ptx::Parse(part, [&](const Diag& diag) {
        if (error.empty() && diag.severity == Severity::kError) {
          error = diag.ToString();
        }
      });
      if (!error.empty()) {
        return fmt::format("'{}': {}", module.file, error);
      }
      inputs->push_back({module.file, std::move(parsed.module)});
    }
    if (!all->empty()) *all += '\n';
    *all += module.text;
  }
  return "";
}

int ReportProblems(const std::vector<LinkInput>& inputs, bool relocatable) {
  bool failed = false;
  bool merged = true;
  for (const LinkProblem& problem : CheckLink(inputs)) {
    if (problem.kind == LinkProblem::Kind::kDefinedTwice) {
      Say(kTool, "error",
          fmt::format("Multiple definition of '{}' in '{}', first defined in "
                      "'{}'",
                      problem.symbol, problem.file, problem.first_file));
      merged = false;
    } else if (!relocatable) {
      Say(kTool, "error",
          fmt::format("Undefined reference to '{}' in '{}'", problem.symbol,
                      problem.file));
      failed = true;
    }
  }
  if (!merged) return Fatal("merge_elf failed");
  return failed ? kFailed : kDone;
}

}  // namespace

int RunNvlink(std::vector<std::string> arguments) {
  CommandLine line;
  std::vector<std::string> unknown;
  const std::string wrong =
      ParseCommandLine(std::move(arguments), kOptions, &line, &unknown);
  if (!wrong.empty()) return Fatal(wrong);
  for (const std::string& option : unknown) {
    if (!line.Has("disable-warnings")) {
      Say(kTool, "warning",
          "Option '" + option + "' is not known here and has no effect");
    }
  }
  if (line.Has("version")) {
    PrintVersion(kTool, "NVIDIA (R) Cuda linker");
    return kDone;
  }
  if (line.Has("help") || line.inputs.empty()) {
    fmt::print("{}", kUsage);
    return kDone;
  }
  if (line.Has("register-link-binaries")) {
    return Fatal(
        "the device link of a host program ('--register-link-binaries') is "
        "left to NVIDIA's nvlink");
  }
  if (!line.Has("arch")) return Fatal("Target architecture must be specified");
  const std::string arch_name = line.Value("arch");
  std::optional<images::CubinTraits> arch =
      ParseArch(arch_name, /*or_virtual=*/false);
  if (!arch) {
    return Fatal(
        fmt::format("Value '{}' is not defined for option 'arch'", arch_name));
  }
  arch->relocatable = line.Has("relocatable-link");
  std::vector<Module> modules;
  std::vector<LinkInput> inputs;
  std::string all;
  std::string error = TakeLibraries(line);
  if (error.empty()) error = ReadModules(line.inputs, arch->sm, &modules);
  if (error.empty()) error = ParseModules(modules, &inputs, &all);
  if (!error.empty()) return Fatal(error);
  if (const int code = ReportProblems(inputs, arch->relocatable);
      code != kDone) {
    return code;
  }
  if (line.Has("verbose")) {
    for (const LinkInput& input : inputs) {
      PrintResources(kTool, *input.module, arch_name, Shown::kKernels);
    }
  }
  const std::string output = line.Value("output-file", "a.out");
  if (!WriteOutput(output, images::MakePtxCubin(all, *arch))) {
    return Fatal(fmt::format("Could not open output file '{}'", output));
  }
  return kDone;
}

}  // namespace cerberus::standins
