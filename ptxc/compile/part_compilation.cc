#include "ptxc/compile/part_compilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/kernel_forms.h"
#include "formats/launch_abi.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/backend/devlib.h"
#include "ptxc/compile/forms.h"
#include "support/demangle.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {
namespace {

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

}  // namespace

Bytes PartCompilation::Text() const { return Print(module_); }

Status PartCompilation::Prepare() {
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
  pipeline.lanes.serial = options_.serial_lanes;
  pipeline.lanes.reconverge =
      llvm::all_of(program_.modules, [](const Program::InputModule& input) {
        return input.parsed.module->sm < kFirstIndependent;
      });
  pipeline.shared.limit = target.lds_bytes;
  pipeline.shared.overflow = options_.shared_overflow;
  PipelineReport report;
  {
    llvm::TimeTraceScope phase("Optimise");
    CERB_TRY_VOID(RunPipeline(module_, machine_, pipeline, &report));
  }
  Warn(report);
  CERB_TRY_VOID(NoteShared(report.shared));
  CERB_TRY_VOID(NoteWaves(pipeline.waves, report.waves));
  CERB_TRY_VOID(CheckLocalMemory(target));
  NameForms();
  return {};
}

void PartCompilation::Diagnose() {
  PrepareModule(module_, options_.target, machine_);
  static_cast<void>(Lower());
}

Result<Bytes> PartCompilation::Emit() {
  llvm::TimeTraceScope phase("Generate code");
  return EmitMachineCode(module_, machine_, options_.emit == Emit::kAssembly);
}

Status PartCompilation::Lower() {
  llvm::TimeTraceScope phase("Lower");
  info_.arch = options_.target.ToString();
  std::vector<ProgramLowering::Input> inputs;
  for (const Program::InputModule& input : program_.modules) {
    inputs.push_back({input.parsed.module.get(), &*input.lines, input.lower});
    inputs.back().options.bounds = &program_.bounds;
    inputs.back().options.subtarget = machine_.getMCSubtargetInfo();
  }
  ProgramLowering lowering(inputs, *program_.graph, part_,
                           program_.table ? &*program_.table : nullptr, module_,
                           sink_);
  if (Status lowered = lowering.Run(&info_); !lowered) {
    reported_ = true;
    return lowered;
  }
  return {};
}

void PartCompilation::Warn(const PipelineReport& report) {
  if (!sink_) return;
  for (const auto& [function, messages] : report.warnings) {
    for (const std::string& message : messages) {
      Diag diag = MakeDiag(DiagCode::kUnsupportedPtx, Where{}, message);
      diag.severity = Severity::kWarning;
      diag.where.file = options_.input_name;
      diag.where.kernel = Demangle(function);
      sink_(diag);
    }
  }
}

// A kernel that the target cannot execute is an error, or is left out.
Status PartCompilation::LeaveOut(const std::string& kernel, std::string why,
                                 Where where) {
  Diag diag =
      MakeDiag(DiagCode::kUnsupportedPtx, std::move(where), std::move(why));
  diag.where.file = options_.input_name;
  diag.where.kernel = Demangle(kernel);
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

void PartCompilation::Erase(const std::string& kernel) {
  llvm::Function* function = module_.getFunction(kernel);
  function->replaceAllUsesWith(llvm::PoisonValue::get(function->getType()));
  function->eraseFromParent();
}

// Takes over what lies in LDS beside the PTX's variables, and which kernels
// have those in a window.
Status PartCompilation::NoteShared(
    const std::map<std::string, KernelShared>& kernels) {
  std::vector<KernelInfo> kept;
  for (KernelInfo& kernel : info_.kernels) {
    const auto at = kernels.find(kernel.name);
    if (at == kernels.end()) {
      kept.push_back(std::move(kernel));
      continue;
    }
    const KernelShared& shared = at->second;
    if (!shared.refused.empty()) {
      CERB_TRY_VOID(LeaveOut(kernel.name, shared.refused));
      continue;
    }
    kernel.own_shared = shared.own_bytes;
    if (!shared.window) {
      kernel.clusters = shared.clusters;
      kept.push_back(std::move(kernel));
      continue;
    }
    if (shared.second_form) kept.push_back(kernel);
    kernel.window = shared.window;
    kernel.tensor_bytes = shared.tensor_bytes;
    kernel.second_form = shared.second_form;
    kernel.clusters = shared.clusters;
    if (shared.second_form) kernel.name += formats::kWindowSuffix;
    kept.push_back(std::move(kernel));
  }
  info_.kernels = std::move(kept);
  return {};
}

// Takes over how warps lie in waves. A block that does not fit into a
// work-group that way costs its kernel.
Status PartCompilation::NoteWaves(
    const WaveOptions& options,
    const std::map<std::string, KernelWaves>& waves) {
  std::vector<KernelInfo> kept;
  for (KernelInfo& kernel : info_.kernels) {
    const auto at = waves.find(kernel.name);
    const KernelWaves found = at != waves.end() ? at->second : KernelWaves{};
    kernel.warps_per_wave = found.warps_per_wave;
    const auto& bound = kernel.reqntid ? kernel.reqntid : kernel.maxntid;
    const unsigned threads =
        bound ? (*bound)[0] * (*bound)[1] * (*bound)[2] : 0;
    if (found.packed_form) {
      kept.push_back(kernel);
      kernel.name += formats::kPackedSuffix;
      kernel.warps_per_wave = 2;
      kernel.second_form = true;
      kept.push_back(std::move(kernel));
    } else if (options.wave_size == 32 || found.warps_per_wave == 2 ||
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

PartCompilation::LocalArray PartCompilation::LargestLocal(
    const std::string& kernel) const {
  LocalArray largest;
  std::vector<Symbol> roots;
  const auto modules = static_cast<std::uint32_t>(program_.modules.size());
  for (std::uint32_t m = 0; m < modules; ++m) {
    const Module& module = *program_.modules[m].parsed.module;
    const std::uint32_t id = module.FindFunction(kernel);
    if (id != kNoId && module.functions[id].has_body) roots.push_back({m, id});
  }
  const std::vector<bool> below = program_.graph->Below(roots);
  for (std::uint32_t m = 0; m < modules; ++m) {
    const Program::InputModule& input = program_.modules[m];
    const Module& module = *input.parsed.module;
    for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
      if (!below[program_.graph->Number({m, f})]) continue;
      for (const std::uint32_t id : module.functions[f].variables) {
        const Variable& variable = module.variables[id];
        if (variable.space != VarSpace::kLocal ||
            (largest.variable && variable.size() <= largest.variable->size())) {
          continue;
        }
        const Position at = input.lines->At(variable.offset);
        largest.variable = &variable;
        largest.where.ptx_line = at.line;
        largest.where.ptx_column = at.column;
      }
    }
  }
  return largest;
}

// The kernels of a part that holds a further form of them get its name.
void PartCompilation::NameForms() {
  if (part_.threads == 0) return;
  for (KernelInfo& kernel : info_.kernels) {
    const std::string name = FormName(kernel.name, part_.threads);
    module_.getFunction(kernel.name)->setName(name);
    kernel.name = name;
    kernel.second_form = true;
  }
}

// A kernel whose arrays do not fit into a thread's local memory.
Status PartCompilation::CheckLocalMemory(const TargetRow& target) {
  const std::uint64_t most = MostLocalBytes(target.processor, target.wave_size);
  std::vector<KernelInfo> kept;
  for (KernelInfo& kernel : info_.kernels) {
    const std::uint64_t bytes = LocalBytes(*module_.getFunction(kernel.name));
    if (bytes <= most) {
      kept.push_back(std::move(kernel));
      continue;
    }
    const LocalArray largest = LargestLocal(kernel.name);
    std::string why =
        fmt::format("its local memory takes {} bytes of a thread, {} has {}",
                    bytes, target.processor, most);
    if (largest.variable) {
      why += fmt::format("; '{}' takes {}", largest.variable->name,
                         largest.variable->size());
    }
    CERB_TRY_VOID(LeaveOut(kernel.name, std::move(why), largest.where));
  }
  info_.kernels = std::move(kept);
  return {};
}

}  // namespace cerberus::ptx
