// The pipeline of the whole compiler, in memory: the text is read and cut into
// parts; each is lowered, optimised and becomes an object file, on threads
// (parts_compiler.h) or in processes (process_run.h); those are linked.
#include "ptxc/compile/compile.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "llvm/Support/TimeProfiler.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/backend/kernel_meta.h"
#include "ptxc/backend/link.h"
#include "ptxc/compile/isolation.h"
#include "ptxc/compile/kept_parts.h"
#include "ptxc/compile/outcome.h"
#include "ptxc/compile/part_compilation.h"
#include "ptxc/compile/part_kernels.h"
#include "ptxc/compile/parts.h"
#include "ptxc/compile/parts_compiler.h"
#include "ptxc/compile/phase_trace.h"
#include "ptxc/compile/process_run.h"
#include "ptxc/front/block_bounds.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/lower/call_graph.h"
#include "ptxc/lower/lower.h"
#include "support/demangle.h"

namespace cerberus::ptx {
namespace {

// PTX instructions of a program that is not worth a process of its own: a
// hundredth of a second's work.
constexpr std::size_t kSmallProgram = 500;

class Compilation {
 public:
  Compilation(const CompileOptions& options, const Isolation* isolation,
              const DiagSink& sink)
      : options_(options), isolation_(isolation), sink_(sink) {}

  Result<CompileResult> Run(std::string_view text) {
    // An unknown target is said before anything about the PTX.
    CERB_TRY(machine_, CreateMachine(options_.target, options_.opt_level));
    CERB_TRY_VOID(Read(text));
    std::vector<std::string> names;
    for (const Program::InputModule& input : program_.modules) {
      modules_.push_back(input.parsed.module.get());
      names.push_back(input.lower.input_name);
    }
    CERB_TRY(program_.graph, CallGraph::Build(modules_, names));
    if (options_.variables != CompileOptions::Variables::kHere) {
      program_.table.emplace(modules_, *program_.graph);
    }
    if (options_.emit != Emit::kHsaco) {
      CERB_TRY(result_.output, CompileWhole());
      return std::move(result_);
    }
    KeptParts kept(isolation_ ? isolation_->parts_folder : "", text, options_);
    CERB_TRY(std::vector<ProgramPart> parts, Parts());
    CERB_TRY(const std::vector<Bytes> objects,
             CompileParts(std::move(parts), &kept));
    {
      llvm::TimeTraceScope phase("Link");
      CERB_TRY(result_.output, LinkCodeObject(objects));
    }
    kept.Forget();
    return std::move(result_);
  }

  bool reported() const { return reported_; }

 private:
  // Names a diagnostic of the front half and remembers why a function fell.
  void Report(Diag diag, LowerOptions* lower) {
    if (diag.severity == Severity::kError) {
      lower->broken.emplace(diag.where.kernel,
                            fmt::format("ptx:{}:{}: {}", diag.where.ptx_line,
                                        diag.where.ptx_column, diag.message));
    }
    if (diag.where.file.empty()) diag.where.file = lower->input_name;
    if (!first_error_ && diag.severity == Severity::kError) {
      first_error_ = diag;
    }
    // One function's errors cost that function only.
    if (options_.keep_going && !diag.where.kernel.empty() &&
        diag.severity == Severity::kError) {
      diag.severity = Severity::kWarning;
    }
    diag.where.kernel = Demangle(diag.where.kernel);
    if (sink_) sink_(diag);
  }

  // False if the module, or without keep_going anything in it, is broken.
  bool ReadModule(std::string_view text, Program::InputModule* input) {
    input->lower.keep_going = options_.keep_going;
    const DiagSink report = [&](const Diag& diag) {
      Report(diag, &input->lower);
    };
    {
      llvm::TimeTraceScope phase("Parse");
      input->parsed = Parse(text, report);
    }
    int module_errors = 0;
    int errors = input->parsed.errors;
    if (input->parsed.module_errors == 0) {
      llvm::TimeTraceScope phase("Check");
      errors += Check(*input->parsed.module, report, &module_errors);
    }
    module_errors += input->parsed.module_errors;
    input->lines.emplace(input->parsed.module->text);
    input->lower.debug = input->parsed.module->debug;
    program_.debug |= input->lower.debug;
    return module_errors == 0 && (errors == 0 || options_.keep_going);
  }

  // A module that is compiled alone defines what it declares with a size, as
  // ptxas does ("ignoring extern qualifier"): LLVM's back-end declares the
  // shared arrays of taichi and of others so. Without a size it is undefined
  // or, if shared, comes with the launch.
  static void DefineSizedExterns(Module* module) {
    for (Variable& variable : module->variables) {
      if (variable.linkage == Linkage::kExtern && variable.size() != 0) {
        variable.linkage = Linkage::kVisible;
      }
    }
  }

  Status Read(std::string_view text) {
    const std::vector<std::string_view> texts = SplitModules(text);
    program_.modules = std::vector<Program::InputModule>(texts.size());
    bool fine = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Program::InputModule& input = program_.modules[i];
      input.lower.input_name =
          texts.size() == 1 ? options_.input_name
                            : fmt::format("{}[{}]", options_.input_name, i + 1);
      fine &= ReadModule(texts[i], &input);
      ReadBlockBounds(*input.parsed.module, &program_.bounds);
    }
    if (texts.size() == 1) {
      DefineSizedExterns(program_.modules[0].parsed.module.get());
    }
    if (fine) return {};
    reported_ = true;
    return Err(first_error_
                   ? *first_error_
                   : MakeDiag(DiagCode::kBadPtx, "the PTX does not parse"));
  }

  void Take(const ModuleInfo& info) {
    for (const KernelInfo& kernel : info.kernels) {
      if (!kernel.second_form) result_.kernels.push_back(kernel.name);
    }
    result_.failed.insert(result_.failed.end(), info.failed.begin(),
                          info.failed.end());
  }

  // What is printed: the whole program, in one piece.
  Result<Bytes> CompileWhole() {
    const ProgramPart part;
    PartCompilation compilation(options_, program_, part, *machine_, sink_);
    if (Status prepared = compilation.Prepare(); !prepared) {
      reported_ = compilation.reported();
      return Err(std::move(prepared).error());
    }
    if (options_.emit == Emit::kRawIr) return compilation.Text();
    Take(compilation.info());
    compilation.AddInfo(compilation.info());
    if (options_.emit == Emit::kIr) return compilation.Text();
    return compilation.Emit();
  }

  Result<std::vector<ProgramPart>> Parts() const {
    if (options_.variables == CompileOptions::Variables::kAlone) {
      return std::vector<ProgramPart>{
          {false, program_.graph->Below({}), ProgramPart::Variables::kTable}};
    }
    if (options_.only_kernel.empty()) {
      return CutIntoParts(modules_, *program_.graph);
    }
    CERB_TRY(ProgramPart part,
             PartOfKernel(modules_, *program_.graph, options_.only_kernel));
    return std::vector<ProgramPart>{std::move(part)};
  }

  // One that is whole, or all but the last in any order; then the last, which
  // holds the variables and what the others found out.
  Result<std::vector<Bytes>> CompileParts(std::vector<ProgramPart> parts,
                                          KeptParts* kept) {
    const bool whole = parts.size() == 1;
    ProgramPart variables;
    if (!whole) {
      variables = std::move(parts.back());
      parts.pop_back();
    }
    const PartsCompiler compiler(options_, program_, modules_);
    std::vector<PartOutcome> outcomes;
    if (isolation_ && !options_.time_trace &&
        !(whole && compiler.SizeOf(parts.front()) < kSmallProgram)) {
      ProcessRun run(compiler, *isolation_, *machine_, *kept);
      outcomes = run.Run(parts);
      if (run.cut_finer()) {
        return CompileParts(CutIntoKernels(modules_, *program_.graph), kept);
      }
    } else {
      outcomes = compiler.CompileOnThreads(parts, *machine_);
    }

    ModuleInfo info;
    std::vector<Bytes> objects;
    std::set<std::string> said;  // of functions that several parts hold
    const PartOutcome* failed = nullptr;
    for (PartOutcome& outcome : outcomes) {
      for (const Diag& diag : outcome.diags) {
        if (sink_ && said.insert(diag.ToString()).second) sink_(diag);
      }
      if (outcome.error && failed == nullptr) failed = &outcome;
      const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(info.kernels, outcome.info.kernels);
      append(info.failed, outcome.info.failed);
      if (!outcome.object.empty()) objects.push_back(std::move(outcome.object));
    }
    if (failed != nullptr) {
      reported_ = failed->reported;
      return Err(*failed->error);
    }
    if (whole && objects.size() == 1) {
      Take(info);
      return objects;
    }
    if (whole) {
      // What it says of itself is without the further forms.
      CERB_TRY_VOID(DropModuleInfo(objects.front()));
      variables = {false, program_.graph->Below({}),
                   ProgramPart::Variables::kElsewhere};
    }
    PartCompilation last(options_, program_, variables, *machine_, sink_);
    if (Status prepared = last.Prepare(); !prepared) {
      reported_ = last.reported();
      return Err(std::move(prepared).error());
    }
    ModuleInfo all = last.info();
    all.kernels = std::move(info.kernels);
    all.failed = std::move(info.failed);
    Take(all);
    last.AddInfo(all);
    objects.emplace_back();
    CERB_TRY(objects.back(), last.Emit());
    return objects;
  }

  const CompileOptions& options_;
  const Isolation* const isolation_;  // null: threads
  const DiagSink& sink_;
  // One for each thread: a machine keeps tables of the target's registers,
  // which take as long to make as a small kernel does to compile.
  std::unique_ptr<llvm::TargetMachine> machine_;
  Program program_;
  std::vector<const Module*> modules_;
  CompileResult result_;
  std::optional<Diag> first_error_;
  bool reported_ = false;
};

Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const Isolation* isolation,
                              const DiagSink& sink) {
  const PhaseTrace trace(options.time_trace);
  Compilation compilation(options, isolation, sink);
  Result<CompileResult> result = [&] {
    llvm::TimeTraceScope whole("Compile", options.input_name);
    return compilation.Run(ptx);
  }();
  if (result) result->time_trace = trace.Text();
  if (!result && !compilation.reported() && sink) {
    Diag diag = result.error();
    if (diag.where.file.empty()) diag.where.file = options.input_name;
    sink(diag);
  }
  return result;
}

}  // namespace

Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const DiagSink& sink) {
  return Compile(ptx, options, nullptr, sink);
}

Result<CompileResult> CompileIsolated(std::string_view ptx,
                                      const CompileOptions& options,
                                      const Isolation& isolation,
                                      const DiagSink& sink) {
  return Compile(ptx, options, &isolation, sink);
}

}  // namespace cerberus::ptx
