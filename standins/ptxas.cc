// ptxas: checks the PTX, and writes a cubin that holds it
// (images/ptx_cubin.h). The driver stub compiles it when it is loaded, for
// the GPU that is there.
//
// Messages and exit codes are those of CUDA 13 as far as callers look at them:
// Triton and XLA read --version, the lines of -v, and the error about a
// .version that is too new, by which XLA learns what it may write. Options
// that shape machine code are taken and have no effect.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/lexer.h"
#include "ptxc/front/parse/parser.h"
#include "standins/options.h"
#include "standins/tool.h"

namespace cerberus::standins {
namespace {

constexpr std::string_view kTool = "ptxas";
constexpr int kDone = 0;
constexpr int kFailed = 255;

// `ptxas --help` of CUDA 11.8 to 13.5, and what Triton and others pass
// besides.
constexpr auto kOptions = std::to_array<OptionRow>({
    {"Ofast-compile", "Ofc", true},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", true},
    {"apply-controls", "apply-controls", true},
    {"compile-as-tools-patch", "astoolspatch", false},
    {"compile-only", "c", false},
    {"compiler-annotations", "annotate", false},
    {"def-load-cache", "dlcm", true},
    {"def-store-cache", "dscm", true},
    {"device-debug", "g", false},
    {"device-function-maxrregcount", "func-maxrregcount", true},
    {"device-stack-protector", "device-stack-protector", true},
    {"disable-optimizer-constants", "disable-optimizer-consts", false},
    {"disable-warnings", "w", false},
    {"dont-merge-basicblocks", "no-bb-merge", false},
    {"enable-func-clone-sc", "enable-func-clone-sc", true},
    {"entry", "e", true},
    {"extensible-whole-program", "ewp", false},
    {"fmad", "fmad", true},
    {"force-load-cache", "flcm", true},
    {"force-store-cache", "fscm", true},
    {"g-tensor-memory-access-check", "g-tmem-access-check", false},
    {"generate-line-info", "lineinfo", false},
    {"gno-fabric-access-check", "gno-fabric-access-check", false},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", false},
    {"gpu-name", "arch", true},
    {"help", "h", false},
    {"input-as-string", "ias", true},
    {"jobserver", "jobserver", false},
    {"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", false},
    {"list-arch", "arch-ls", false},
    {"list-version", "version-ls", false},
    {"machine", "m", true},
    {"make-errors-visible-at-exit", "make-errors-visible-at-exit", false},
    {"maxntid", "maxntid", true},
    {"maxrregcount", "maxrregcount", true},
    {"minnctapersm", "minnctapersm", true},
    {"opt-level", "O", true},
    {"optimize-float-atomics", "opt-fp-atomics", false},
    {"options-file", "optf", true},
    {"output-file", "o", true},
    {"override-directive-values", "override-directive-values", false},
    {"position-independent-code", "pic", true},
    {"preserve-relocs", "preserve-relocs", false},
    {"regAllocOptLevel", "regAllocOptLevel", true},
    {"register-usage-level", "regUsageLevel", true},
    {"return-at-end", "ret-end", false},
    {"sanitize", "sanitize", true},
    {"sp-bounds-check", "sp-bounds-check", false},
    {"split-compile", "split-compile", true},
    {"suppress-async-bulk-multicast-advisory-warning",
     "suppress-async-bulk-multicast-advisory-warning", false},
    {"suppress-debug-info", "suppress-debug-info", false},
    {"suppress-double-demote-warning", "suppress-double-demote-warning", false},
    {"suppress-position-independent-code-warning",
     "suppress-position-independent-code-warning", false},
    {"suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info",
     false},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", false},
    {"verbose", "v", false},
    {"verbose2", "v2", false},
    {"version", "V", false},
    {"warn-on-double-precision-use", "warn-double-usage", false},
    {"warn-on-local-memory-usage", "warn-lmem-usage", false},
    {"warn-on-spills", "warn-spills", false},
    {"warning-as-error", "Werror", false},
});

constexpr char kUsage[] =
    "\nUsage  : ptxas [options] <ptx file>,...\n\n"
    "Checks the PTX and writes a cubin that holds it, for the driver of\n"
    "Cerberus. Takes the options of CUDA's ptxas; of them have an effect\n"
    "  --gpu-name <arch> (-arch), --output-file <file> (-o), --compile-only "
    "(-c),\n"
    "  --entry (-e), --verbose (-v), --disable-warnings (-w), "
    "--warning-as-error,\n"
    "  --input-as-string (-ias), --options-file (-optf), --version (-V)\n\n";

int Fatal(std::string_view words) {
  Say(kTool, "fatal", words);
  return kFailed;
}
int Aborted() { return Fatal("Ptx assembly aborted due to errors"); }

// "ptxas file.ptx, line 4; error   : words"
void SayAt(std::string_view file, int line, std::string_view level,
           std::string_view words) {
  Say(fmt::format("{} {}, line {};", kTool, file, line), level, words);
}

struct Input {
  std::string name;
  std::string text;
};

// The .version that a text begins with.
struct Version {
  std::string text;
  int number = 0;  // 95 for 9.5
  int line = 1;
};
bool FindVersion(std::string_view text, Version* out) {
  ptx::Lexer lexer(text);
  const ptx::Token directive = lexer.Next();
  if (directive.text != ".version") return false;
  const ptx::Token number = lexer.Next();
  out->text = std::string(number.text);
  int major = 0, minor = 0;
  if (std::sscanf(out->text.c_str(), "%d.%d", &major, &minor) != 2) {
    return false;
  }
  out->number = major * 10 + minor;
  for (const char c : text.substr(0, number.offset)) out->line += c == '\n';
  return true;
}

// Says what is wrong with it. Null: it cannot be used.
std::unique_ptr<ptx::Module> CheckInput(const Input& input, bool warn) {
  Version version;
  if (!FindVersion(input.text, &version)) {
    SayAt(input.name, 1, "fatal",
          fmt::format("Missing .version directive at start of file '{}'",
                      input.name));
    return nullptr;
  }
  const int newest = ptx::NewestVersion();
  if (version.number > newest) {
    SayAt(input.name, version.line, "fatal",
          fmt::format("Unsupported .version {}; current version is '{}.{}'",
                      version.text, newest / 10, newest % 10));
    return nullptr;
  }
  bool failed = false;
  const DiagSink sink = [&](const Diag& diag) {
    if (diag.severity == Severity::kError) {
      failed = true;
    } else if (!warn || diag.severity == Severity::kNote) {
      return;
    }
    SayAt(input.name, diag.where.ptx_line,
          diag.severity == Severity::kError ? "error" : "warning",
          diag.message);
  };
  ptx::ParseOutcome parsed = ptx::Parse(input.text, sink);
  if (!failed) ptx::Check(*parsed.module, sink);
  return failed ? nullptr : std::move(parsed.module);
}

// What ptxas says of PTX for another architecture than the one asked for, or
// "".
std::string Mismatch(const ptx::Module& module, const images::CubinTraits& arch,
                     const std::string& name) {
  const std::string target =
      fmt::format("sm_{}{}", module.sm,
                  module.arch_suffix != 0 ? std::string(1, module.arch_suffix)
                                          : std::string());
  if (module.sm > arch.sm) {
    return "SM version specified by .target is higher than default SM version "
           "assumed";
  }
  if (module.arch_suffix == 'a' && module.sm < arch.sm) {
    return fmt::format(
        "Program with .target '{}' cannot be compiled to future architecture",
        target);
  }
  if (module.arch_suffix == 'a' && arch.suffix != 'a') {
    return fmt::format(
        "PTX with .target '{}' cannot be compiled for architecture '{}'",
        target, name);
  }
  if (module.arch_suffix == 'f' && module.sm / 10 != arch.sm / 10) {
    return fmt::format(
        "Program with .target '{}' cannot be compiled to different SM-family "
        "architecture",
        target);
  }
  return "";
}

bool HasKernel(const std::vector<LinkInput>& inputs, std::string_view name) {
  for (const LinkInput& input : inputs) {
    const std::uint32_t id = input.module->FindFunction(name);
    if (id != ptx::kNoId && input.module->functions[id].has_body) return true;
  }
  return false;
}

void PrintVersions() {
  constexpr int kLastMinor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8};
  for (int major = 1; major < 9; ++major) {
    for (int minor = 0; minor <= kLastMinor[major]; ++minor) {
      fmt::print("{}.{}\n", major, minor);
    }
  }
  for (int version = 90; version <= ptx::NewestVersion(); ++version) {
    fmt::print("{}.{}\n", version / 10, version % 10);
  }
}

int ReportProblems(const std::vector<LinkInput>& inputs, bool may_lack) {
  bool failed = false;
  for (const LinkProblem& problem : CheckLink(inputs)) {
    if (problem.kind == LinkProblem::Kind::kDefinedTwice) {
      SayAt(problem.file, problem.line, "error",
            fmt::format("Duplicate definition of {} '{}'",
                        problem.is_function ? "function" : "variable",
                        problem.symbol));
      failed = true;
    } else if (!may_lack) {
      return Fatal(fmt::format("Unresolved extern {} '{}'",
                               problem.is_function ? "function" : "variable",
                               problem.symbol));
    }
  }
  return failed ? Aborted() : kDone;
}

int WriteCubin(const std::vector<Input>& texts,
               const images::CubinTraits& traits, const std::string& output) {
  std::string all;
  for (const Input& input : texts) {
    if (!all.empty()) all += '\n';
    all += std::string_view(input.text).substr(0, input.text.find('\0'));
  }
  if (!WriteOutput(output, images::MakePtxCubin(all, traits))) {
    return Fatal(fmt::format("Output file '{}' could not be opened", output));
  }
  return kDone;
}

}  // namespace

int RunPtxas(std::vector<std::string> arguments) {
  CommandLine line;
  std::vector<std::string> unknown;
  const std::string wrong =
      ParseCommandLine(std::move(arguments), kOptions, &line, &unknown);
  if (!wrong.empty()) return Fatal(wrong);
  const bool warn = !line.Has("disable-warnings");
  for (const std::string& option : unknown) {
    if (warn) {
      Say(kTool, "warning",
          "Option '" + option + "' is not known here and has no effect");
    }
  }
  if (line.Has("version")) {
    PrintVersion(kTool, "NVIDIA (R) Ptx optimizing assembler");
    return kDone;
  }
  if (line.Has("list-version")) {
    PrintVersions();
    return kDone;
  }
  std::vector<Input> texts;
  for (const std::string& name : line.inputs) texts.push_back({name, ""});
  const bool as_string = line.Has("input-as-string");
  if (line.Has("help") || (texts.empty() && !as_string)) {
    fmt::print("{}", kUsage);
    return kDone;
  }
  const std::string arch_name = line.Value("gpu-name", "sm_75");
  std::optional<images::CubinTraits> arch =
      ParseArch(arch_name, /*or_virtual=*/true);
  if (!arch) {
    return Fatal(fmt::format("Value '{}' is not defined for option 'gpu-name'",
                             arch_name));
  }
  for (Input& input : texts) {
    if (!ReadInput(input.name, &input.text)) {
      Fatal(fmt::format("Input file '{}' could not be opened", input.name));
      return Aborted();
    }
  }
  if (as_string) {
    for (const std::string& text : line.options["input-as-string"]) {
      texts.push_back({"<string>", text});
    }
  }

  std::vector<LinkInput> inputs;
  for (const Input& input : texts) {
    std::unique_ptr<ptx::Module> module = CheckInput(input, warn);
    if (module == nullptr) return Aborted();
    const std::string mismatch = Mismatch(*module, *arch, arch_name);
    if (!mismatch.empty()) return Fatal(mismatch);
    inputs.push_back({input.name, std::move(module)});
  }
  arch->relocatable = line.Has("compile-only");
  if (const int code = ReportProblems(
          inputs, arch->relocatable || line.Has("extensible-whole-program"));
      code != kDone) {
    return code;
  }
  for (const std::string& kernel : line.options["entry"]) {
    if (!HasKernel(inputs, kernel)) return Fatal("Unknown function " + kernel);
  }

  if (line.Has("verbose") || line.Has("verbose2")) {
    for (const LinkInput& input : inputs) {
      PrintResources(
          kTool, *input.module, arch_name,
          arch->relocatable ? Shown::kAllFunctions : Shown::kKernels);
    }
  }
  if (arch_name.starts_with("compute_")) return kDone;  // checked, no more
  return WriteCubin(texts, *arch, line.Value("output-file", "elf.o"));
}

}  // namespace cerberus::standins
