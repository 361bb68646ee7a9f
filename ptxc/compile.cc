// The pipeline of the whole compiler, a module at a time, in memory:
// parse, lower, link the device library, optimise, generate, link.
#include "ptxc/compile.h"

#include <map>
#include <memory>
#include <optional>

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
  explicit TimeTrace(bool wanted) : wanted_(wanted) {
    // Whatever its length: phases of small modules are short.
    if (wanted_) llvm::timeTraceProfilerInitialize(0, "cerberus-ptxc");
  }
  ~TimeTrace() {
    if (wanted_) llvm::timeTraceProfilerCleanup();
  }
  std::string Text() const {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    if (wanted_) llvm::timeTraceProfilerWrite(stream);
    return std::string(text);
  }

 private:
  const bool wanted_;
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, const DiagSink& sink)
      : options_(options), sink_(sink), module_("ptx", context_) {}

  Result<CompileResult> Run(std::string_view text) {
    CERB_TRY(machine_, CreateMachine(options_.target, options_.opt_level));
    PrepareModule(module_, options_.target, *machine_);
    CERB_TRY_VOID(Lower(text));
    if (options_.emit == Emit::kRawIr) {
      result_.output = Print(module_);
      return std::move(result_);
    }
    {
      llvm::TimeTraceScope phase("Device library");
      CERB_TRY_VOID(LinkDeviceLibrary(module_));
      CERB_TRY_VOID(Verify(module_));
    }
    PipelineOptions pipeline;
    pipeline.opt_level = options_.opt_level;
    pipeline.verify_each = options_.verify_each;
    if (debug_ && pipeline.opt_level > 1) pipeline.opt_level = 1;
    pipeline.waves.wave_size = FindTarget(options_.target.processor)->wave_size;
    pipeline.waves.never_pack = options_.one_warp_per_wave;
    PipelineReport report;
    {
      llvm::TimeTraceScope phase("Optimise");
      CERB_TRY_VOID(RunPipeline(module_, *machine_, pipeline, &report));
    }
    Warn(report);
    CERB_TRY_VOID(NoteWaves(pipeline.waves, report.waves));
    EmitModuleInfo(module_, info_);
    if (options_.emit == Emit::kIr) {
      result_.output = Print(module_);
      return std::move(result_);
    }
    {
      llvm::TimeTraceScope phase("Generate code");
      CERB_TRY(result_.output,
               EmitMachineCode(module_, *machine_,
                               options_.emit == Emit::kAssembly));
    }
    if (options_.emit == Emit::kHsaco) {
      llvm::TimeTraceScope phase("Link");
      CERB_TRY(result_.output, LinkCodeObject(result_.output));
    }
    return std::move(result_);
  }

 private:
  // A module of the text, with all that lowering it needs.
  struct Unit {
    ParseOutcome parsed;
    LowerOptions lower;
  };

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
  bool ParseUnit(std::string_view text, Unit* unit) {
    unit->lower.keep_going = options_.keep_going;
    unit->lower.subtarget = machine_->getMCSubtargetInfo();
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
    unit->lower.debug = unit->parsed.module->debug;
    debug_ |= unit->lower.debug;
    return module_errors == 0 && (errors == 0 || options_.keep_going);
  }

  Status Lower(std::string_view text) {
    const std::vector<std::string_view> texts = SplitModules(text);
    std::vector<Unit> units(texts.size());
    bool fine = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      units[i].lower.input_name =
          texts.size() == 1
              ? options_.input_name
              : fmt::format("{}[{}]", options_.input_name, i + 1);
      fine &= ParseUnit(texts[i], &units[i]);
    }
    if (!fine) {
      reported_ = true;
      return Err(first_error_ ? *first_error_
                              : MakeDiag(DiagCode::kBadPtx,
                                         "the PTX does not parse"));
    }
    llvm::TimeTraceScope phase("Lower");
    info_.arch = options_.target.ToString();
    std::vector<const Module*> modules;
    std::vector<ProgramLowering::Input> inputs;
    for (Unit& unit : units) {
      modules.push_back(unit.parsed.module.get());
      inputs.push_back({unit.parsed.module.get(), std::move(unit.lower)});
    }
    CERB_TRY(CallGraph graph, CallGraph::Build(std::move(modules)));
    ProgramLowering lowering(inputs, std::move(graph), module_, sink_);
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
        continue;
      }
      Diag diag = MakeDiag(
          DiagCode::kUnsupportedPtx, Where{},
          fmt::format("blocks of {} threads do not fit into the waves of {}: "
                      "{}, so that a wave holds one warp and a block {} "
                      "threads",
                      threads, options_.target.processor, found.why_one,
                      kMaxThreadsOfHalfWaves));
      diag.where.file = options_.input_name;
      diag.where.kernel = llvm::demangle(kernel.name);
      info_.failed.push_back({kernel.name, diag.message});
      if (options_.keep_going) diag.severity = Severity::kWarning;
      if (sink_) sink_(diag);
      if (!options_.keep_going) {
        reported_ = true;
        return Err(std::move(diag));
      }
      llvm::Function* function = module_.getFunction(kernel.name);
      function->replaceAllUsesWith(
          llvm::PoisonValue::get(function->getType()));
      function->eraseFromParent();
    }
    info_.kernels = std::move(kept);
    for (const KernelInfo& kernel : info_.kernels) {
      result_.kernels.push_back(kernel.name);
    }
    result_.failed = info_.failed;
    return {};
  }

  const CompileOptions& options_;
  const DiagSink& sink_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  CompileResult result_;
  ModuleInfo info_;
  std::optional<Diag> first_error_;
  bool debug_ = false;

 public:
  bool reported_ = false;  // the error has gone to the sink already
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
  if (!result && !compilation.reported_ && sink) {
    Diag diag = result.error();
    if (diag.where.file.empty()) diag.where.file = options.input_name;
    sink(diag);
  }
  return result;
}

}  // namespace cerberus::ptx
