// The pipeline of the whole compiler, a module at a time, in memory:
// parse, lower, link the device library, optimise, generate, link.
#include "ptxc/compile.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include "ptxc/call_graph.h"
#include "ptxc/codegen.h"
#include "ptxc/devlib.h"
#include "ptxc/kernel_meta.h"
#include "ptxc/link.h"
#include "ptxc/lower.h"
#include "ptxc/parser.h"
#include "ptxc/parts.h"
#include "ptxc/passes/pipeline.h"
#include "ptxc/sema.h"
#include "support/target_table.h"

namespace cerberus::ptx {
namespace {

// With one warp in each wave of 64: AMD's work-groups have 1,024 work-items.
constexpr unsigned kMaxThreadsOfHalfWaves = 512;

Bytes Print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  stream.flush();
  return Bytes(text.begin(), text.end());
}

Status Verify(const llvm::Module& module) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) {
    return Err(DiagCode::kInternal, "invalid IR: " + message);
  }
  return {};
}

// LLVM keeps the events of a thread; passes and functions are events of its
// own, the scopes in Compilation are the phases around them.
class TimeTrace {
 public:
  explicit TimeTrace(bool wanted, bool of_thread = false)
      : wanted_(wanted), of_thread_(of_thread) {
    // Whatever its length: phases of small modules are short.
    if (wanted_) llvm::timeTraceProfilerInitialize(0, "cerberus-ptxc");
  }
  // What a thread noted is written with the rest.
  ~TimeTrace() {
    if (!wanted_) return;
    if (of_thread_) {
      llvm::timeTraceProfilerFinishThread();
    } else {
      llvm::timeTraceProfilerCleanup();
    }
  }
  std::string Text() const {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    if (wanted_) llvm::timeTraceProfilerWrite(stream);
    return std::string(text);
  }

 private:
  const bool wanted_;
  const bool of_thread_;
};

// What is known of the program before it is lowered; parts only read it.
struct Program {
  // A module of the text, with all that lowering it needs.
  struct Unit {
    ParseOutcome parsed;
    std::optional<LineIndex> lines;
    LowerOptions lower;
  };
  std::vector<Unit> units;
  std::optional<CallGraph> graph;
  bool debug = false;
};

// One part, from the syntax tree to an object file, in an LLVM context of its
// own.
class PartCompilation {
 public:
  PartCompilation(const CompileOptions& options, const Program& program,
                  const ProgramPart& part, llvm::TargetMachine& machine,
                  const DiagSink& sink)
      : options_(options),
        program_(program),
        part_(part),
        machine_(machine),
        sink_(sink),
        module_("ptx", context_) {}

  // Up to the LLVM module that the backend gets.
  Status Prepare() {
    PrepareModule(module_, options_.target, machine_);
    CERB_TRY_VOID(Lower());
    if (options_.emit == Emit::kRawIr) return {};
    {
      llvm::TimeTraceScope phase("Device library");
      CERB_TRY_VOID(LinkDeviceLibrary(module_));
      CERB_TRY_VOID(Verify(module_));
    }
    PipelineOptions pipeline;
    pipeline.opt_level = options_.opt_level;
    pipeline.verify_each = options_.verify_each;
    if (program_.debug && pipeline.opt_level > 1) pipeline.opt_level = 1;
    const TargetRow& target = *FindTarget(options_.target.processor);
    pipeline.waves.wave_size = target.wave_size;
    pipeline.waves.never_pack = options_.one_warp_per_wave;
    pipeline.shared.limit = target.lds_bytes;
    pipeline.shared.overflow = options_.shared_overflow;
    PipelineReport report;
    {
      llvm::TimeTraceScope phase("Optimise");
      CERB_TRY_VOID(RunPipeline(module_, machine_, pipeline, &report));
    }
    Warn(report);
    CERB_TRY_VOID(NoteWindows(report.windows));
    return NoteWaves(pipeline.waves, report.waves);
  }

  // With what the whole program holds as the code object's information.
  void AddInfo(const ModuleInfo& info) { EmitModuleInfo(module_, info); }
  const ModuleInfo& info() const { return info_; }

  Bytes Text() const { return Print(module_); }
  Result<Bytes> Emit() {
    llvm::TimeTraceScope phase("Generate code");
    return EmitMachineCode(module_, machine_,
                           options_.emit == Emit::kAssembly);
  }

  bool reported() const { return reported_; }

 private:
  Status Lower() {
    llvm::TimeTraceScope phase("Lower");
    info_.arch = options_.target.ToString();
    std::vector<ProgramLowering::Input> inputs;
    for (const Program::Unit& unit : program_.units) {
      inputs.push_back({unit.parsed.module.get(), &*unit.lines, unit.lower});
      inputs.back().options.subtarget = machine_.getMCSubtargetInfo();
    }
    ProgramLowering lowering(inputs, *program_.graph, part_, module_, sink_);
    if (Status lowered = lowering.Run(&info_); !lowered) {
      reported_ = true;
      return lowered;
    }
    return {};
  }

  void Warn(const PipelineReport& report) {
    if (!sink_) return;
    for (const auto& [function, messages] : report.warnings) {
      for (const std::string& message : messages) {
        Diag diag = MakeDiag(DiagCode::kUnsupportedPtx, Where{}, message);
        diag.severity = Severity::kWarning;
        diag.where.file = options_.input_name;
        diag.where.kernel = llvm::demangle(function);
        sink_(diag);
      }
    }
  }

  // A kernel that the target cannot execute is an error, or is left out.
  Status LeaveOut(const std::string& kernel, std::string why) {
    Diag diag =
        MakeDiag(DiagCode::kUnsupportedPtx, Where{}, std::move(why));
    diag.where.file = options_.input_name;
    diag.where.kernel = llvm::demangle(kernel);
    info_.failed.push_back({kernel, diag.message});
    if (options_.keep_going) diag.severity = Severity::kWarning;
    if (sink_) sink_(diag);
    if (!options_.keep_going) {
      reported_ = true;
      return Err(std::move(diag));
    }
    Erase(kernel);
    return {};
  }
  void Erase(const std::string& kernel) {
    llvm::Function* function = module_.getFunction(kernel);
    function->replaceAllUsesWith(llvm::PoisonValue::get(function->getType()));
    function->eraseFromParent();
  }

  // Takes over which kernels have their shared memory in a window.
  Status NoteWindows(const std::map<std::string, KernelWindow>& windows) {
    std::vector<KernelInfo> kept;
    for (KernelInfo& kernel : info_.kernels) {
      const auto at = windows.find(kernel.name);
      if (at == windows.end()) {
        kept.push_back(std::move(kernel));
        continue;
      }
      const KernelWindow& window = at->second;
      if (!window.refused.empty()) {
        CERB_TRY_VOID(LeaveOut(kernel.name, window.refused));
        continue;
      }
      if (window.second_form) kept.push_back(kernel);
      kernel.window = window.static_bytes;
      kernel.second_form = window.second_form;
      if (window.second_form) kernel.name += kWindowSuffix;
      kept.push_back(std::move(kernel));
    }
    info_.kernels = std::move(kept);
    return {};
  }

  // Takes over how warps lie in waves. A block that does not fit into a
  // work-group that way costs its kernel.
  Status NoteWaves(const WaveOptions& options,
                   const std::map<std::string, KernelWaves>& waves) {
    std::vector<KernelInfo> kept;
    for (KernelInfo& kernel : info_.kernels) {
      const auto at = waves.find(kernel.name);
      const KernelWaves found = at != waves.end() ? at->second : KernelWaves{};
      kernel.warps_per_wave = found.warps_per_wave;
      const auto& bound = kernel.reqntid ? kernel.reqntid : kernel.maxntid;
      const unsigned threads =
          bound ? (*bound)[0] * (*bound)[1] * (*bound)[2] : 0;
      if (options.wave_size == 32 || found.warps_per_wave == 2 ||
          threads <= kMaxThreadsOfHalfWaves) {
        kept.push_back(std::move(kernel));
      } else if (kernel.second_form) {
        Erase(kernel.name);  // the first one decides
      } else {
        CERB_TRY_VOID(LeaveOut(
            kernel.name,
            fmt::format("blocks of {} threads do not fit into the waves of "
                        "{}: {}, so that a wave holds one warp and a block "
                        "{} threads",
                        threads, options_.target.processor, found.why_one,
                        kMaxThreadsOfHalfWaves)));
      }
    }
    info_.kernels = std::move(kept);
    return {};
  }

  const CompileOptions& options_;
  const Program& program_;
  const ProgramPart& part_;
  llvm::TargetMachine& machine_;
  const DiagSink& sink_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  ModuleInfo info_;
  bool reported_ = false;  // the error has gone to the sink already
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, const DiagSink& sink)
      : options_(options), sink_(sink) {}

  Result<CompileResult> Run(std::string_view text) {
    // An unknown target is said before anything about the PTX.
    CERB_TRY(machine_, CreateMachine(options_.target, options_.opt_level));
    CERB_TRY_VOID(Read(text));
    std::vector<const Module*> modules;
    std::vector<std::string> names;
    for (const Program::Unit& unit : program_.units) {
      modules.push_back(unit.parsed.module.get());
      names.push_back(unit.lower.input_name);
    }
    CERB_TRY(program_.graph, CallGraph::Build(modules, names));
    std::vector<ProgramPart> parts = {ProgramPart{}};
    if (options_.emit == Emit::kHsaco) {
      parts = CutIntoParts(modules, *program_.graph);
    }
    std::vector<Bytes> objects;
    if (parts.size() == 1) {
      CERB_TRY(objects, CompileWhole(parts.front()));
    } else {
      CERB_TRY(objects, CompileParts(parts));
    }
    if (options_.emit == Emit::kHsaco) {
      llvm::TimeTraceScope phase("Link");
      CERB_TRY(result_.output, LinkCodeObject(objects));
    } else {
      result_.output = std::move(objects.front());
    }
    return std::move(result_);
  }

  bool reported() const { return reported_; }

 private:
  // Names a diagnostic of the front half and remembers why a function fell.
  void Report(Diag diag, LowerOptions* lower) {
    if (diag.severity == Severity::kError) {
      lower->broken.emplace(diag.where.kernel,
                            fmt::format("ptx:{}: {}", diag.where.ptx_line,
                                        diag.message));
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
    diag.where.kernel = llvm::demangle(diag.where.kernel);
    if (sink_) sink_(diag);
  }

  // False if the module, or without keep_going anything in it, is broken.
  bool ReadUnit(std::string_view text, Program::Unit* unit) {
    unit->lower.keep_going = options_.keep_going;
    const DiagSink report = [&](const Diag& diag) {
      Report(diag, &unit->lower);
    };
    {
      llvm::TimeTraceScope phase("Parse");
      unit->parsed = Parse(text, report);
    }
    int module_errors = 0;
    int errors = unit->parsed.errors;
    if (unit->parsed.module_errors == 0) {
      llvm::TimeTraceScope phase("Check");
      errors += Check(*unit->parsed.module, report, &module_errors);
    }
    module_errors += unit->parsed.module_errors;
    unit->lines.emplace(unit->parsed.module->text);
    unit->lower.debug = unit->parsed.module->debug;
    program_.debug |= unit->lower.debug;
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
    program_.units = std::vector<Program::Unit>(texts.size());
    bool fine = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Program::Unit& unit = program_.units[i];
      unit.lower.input_name =
          texts.size() == 1
              ? options_.input_name
              : fmt::format("{}[{}]", options_.input_name, i + 1);
      fine &= ReadUnit(texts[i], &unit);
    }
    if (texts.size() == 1) {
      DefineSizedExterns(program_.units[0].parsed.module.get());
    }
    if (fine) return {};
    reported_ = true;
    return Err(first_error_ ? *first_error_
                            : MakeDiag(DiagCode::kBadPtx,
                                       "the PTX does not parse"));
  }

  void Take(const ModuleInfo& info) {
    for (const KernelInfo& kernel : info.kernels) {
      if (!kernel.second_form) result_.kernels.push_back(kernel.name);
    }
    result_.failed.insert(result_.failed.end(), info.failed.begin(),
                          info.failed.end());
  }

  Result<std::vector<Bytes>> CompileWhole(const ProgramPart& part) {
    PartCompilation compilation(options_, program_, part, *machine_, sink_);
    if (Status prepared = compilation.Prepare(); !prepared) {
      reported_ = compilation.reported();
      return Err(std::move(prepared).error());
    }
    std::vector<Bytes> outputs(1);
    if (options_.emit == Emit::kRawIr) {
      outputs[0] = compilation.Text();
      return outputs;
    }
    Take(compilation.info());
    compilation.AddInfo(compilation.info());
    if (options_.emit == Emit::kIr) {
      outputs[0] = compilation.Text();
      return outputs;
    }
    CERB_TRY(outputs[0], compilation.Emit());
    return outputs;
  }

  // What a thread makes of a part.
  struct PartOutcome {
    std::vector<Diag> diags;
    Status status;
    bool reported = false;
    ModuleInfo info;
    Bytes object;
  };

  void CompilePart(const ProgramPart& part, llvm::TargetMachine& machine,
                   PartOutcome* outcome) const {
    const DiagSink sink = [outcome](const Diag& diag) {
      outcome->diags.push_back(diag);
    };
    PartCompilation compilation(options_, program_, part, machine, sink);
    outcome->status = compilation.Prepare();
    outcome->reported = compilation.reported();
    if (!outcome->status) return;
    outcome->info = compilation.info();
    Result<Bytes> object = compilation.Emit();
    if (object) {
      outcome->object = *std::move(object);
    } else {
      outcome->status = Err(std::move(object).error());
    }
  }

  // All but the last on threads, in any order; then the last, which holds the
  // variables and what the others found out.
  Result<std::vector<Bytes>> CompileParts(
      const std::vector<ProgramPart>& parts) {
    std::vector<PartOutcome> outcomes(parts.size() - 1);
    std::atomic<std::size_t> next{0};
    const auto work = [&](llvm::TargetMachine& machine) {
      for (std::size_t i; (i = next++) < outcomes.size();) {
        CompilePart(parts[i], machine, &outcomes[i]);
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1;
         i < std::min<std::size_t>(options_.jobs, outcomes.size()); ++i) {
      threads.emplace_back([&] {
        const TimeTrace trace(options_.time_trace, /*of_thread=*/true);
        // The first one was made: so can this be.
        work(**CreateMachine(options_.target, options_.opt_level));
      });
    }
    work(*machine_);
    for (std::thread& thread : threads) thread.join();

    ModuleInfo info;
    std::vector<Bytes> objects;
    std::set<std::string> said;  // of functions that several parts hold
    const PartOutcome* failed = nullptr;
    for (PartOutcome& outcome : outcomes) {
      for (const Diag& diag : outcome.diags) {
        if (sink_ && said.insert(diag.ToString()).second) sink_(diag);
      }
      if (!outcome.status && failed == nullptr) failed = &outcome;
      const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(info.kernels, outcome.info.kernels);
      append(info.failed, outcome.info.failed);
      objects.push_back(std::move(outcome.object));
    }
    if (failed != nullptr) {
      reported_ = failed->reported;
      return Err(failed->status.error());
    }
    PartCompilation last(options_, program_, parts.back(), *machine_, sink_);
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
  const DiagSink& sink_;
  // One for each thread: a machine keeps tables of the target's registers,
  // which take as long to make as a small kernel does to compile.
  std::unique_ptr<llvm::TargetMachine> machine_;
  Program program_;
  CompileResult result_;
  std::optional<Diag> first_error_;
  bool reported_ = false;
};

}  // namespace

Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const DiagSink& sink) {
  const TimeTrace trace(options.time_trace);
  Compilation compilation(options, sink);
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

}  // namespace cerberus::ptx
