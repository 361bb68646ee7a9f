#include "ptxc/backend/codegen.h"

#include <iterator>
#include <mutex>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/SchedulerRegistry.h"
#include "llvm/CodeGen/SelectionDAG.h"
#include "llvm/CodeGen/SelectionDAGISel.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"
#include "ptxc/passes/growth/ended_waves.h"
#include "ptxc/passes/growth/kill_flags.h"
#include "ptxc/passes/growth/long_blocks.h"
#include "ptxc/passes/growth/passes_by_size.h"
#include "ptxc/passes/growth/scheduling_regions.h"
#include "ptxc/passes/growth/slot_gaps.h"
#include "ptxc/passes/hidden.h"
#include "ptxc/passes/recompute.h"
#include "ptxc/passes/repairs/carries.h"
#include "ptxc/passes/repairs/known_ones.h"
#include "ptxc/passes/repairs/long_branches.h"
#include "ptxc/passes/repairs/own_halves.h"
#include "ptxc/passes/repairs/packed_selects.h"
#include "ptxc/passes/repairs/saturating.h"
#include "ptxc/passes/repairs/spill_lanes.h"
#include "support/demangle.h"
#include "support/targets/nearest_targets.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {
namespace {

// The backend's own passes over IR scalars, straight-line strength reduction
// and what cleans up behind it: a twelfth of the compile time, quadratic in
// large blocks, for code of the same length. The pipeline has split constant
// offsets off and merged what is common already.
constexpr llvm::StringLiteral kScalarPasses = "amdgpu-scalar-ir-passes";

// Loop strength reduction turns one index into many pointers. Without it 44
// kernels execute as many instructions (0.2 % fewer on gfx1100, more on
// gfx942) with 1 % fewer registers, and large loops compile in half the time.
constexpr llvm::StringLiteral kNoStrengthReduction = "disable-lsr";

// Looks through copies of several steps. Behind a loop that lanes leave one by
// one it takes a value of the wave from a copy within the loop, which is then
// folded away (SIFoldOperands): lanes that left early would get what the last
// round made of it, as after `redux.sync` in a loop on gfx942. LLVM 22.
constexpr llvm::StringLiteral kNoCopiesOfCopies = "disable-adv-copy-opt";

// Local arrays, of up to 1024 threads, would take shared memory that the launch
// has a right to, and that programs are told of.
constexpr llvm::StringLiteral kNoLocalInShared =
    "disable-promote-alloca-to-lds";

// The selected instructions of a block get an order twice: here, and from the
// machine scheduler. What comes first matters to the second where registers
// may run short. The list scheduler fills arrays with an element for each of
// the target's 10,000 registers first, for a small block, and most are, more
// work than all else; there any order will do.
constexpr llvm::StringLiteral kSchedulerOption = "pre-RA-sched";
constexpr std::size_t kNodesOfSmallBlock = 30;

// Ends the life of values that one side of a branch alone uses before the other
// side, which no lane of them takes. Values of whole waves, in matrix products
// on CDNA, belong to the lanes of both sides and would be overwritten.
constexpr llvm::StringLiteral kLiveRangesByLane = "amdgpu-opt-vgpr-liverange";

// Where all lanes of a wave go the same way, control flow stays as it is. LLVM
// makes it a chain of ifs all the same, as if lanes parted, with work for each
// that grows with the whole function. Of 90 modules for gfx1100 the code is
// 0.8 % shorter so, with 3 % fewer branches.
constexpr llvm::StringLiteral kUniformStays =
    "structurizecfg-skip-uniform-regions";

// … but not around lanes that part, as LLVM would have it for a single such
// branch: where several blocks lead to one behind both, the lanes that are
// joined there are those of the wrong branch (SIAnnotateControlFlow, LLVM 22).
constexpr llvm::StringLiteral kUniformAroundOthers =
    "structurizecfg-relaxed-uniform-regions";

// A pair of SGPRs is set aside for branches of more than 128 KiB where a
// function may be so long, by so many times what it is before registers are
// allocated; spills come later. Where none was set aside and none is free, LLVM
// frees one by way of a VGPR, and does not wait for what that is loaded back
// with (BranchRelaxation, LLVM 22).
constexpr llvm::StringLiteral kLongBranches = "amdgpu-long-branch-factor";
constexpr double kGrowth = 2;

bool HasWholeWaveValues(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.getIntrinsicID() == llvm::Intrinsic::amdgcn_strict_wwm) {
      return true;
    }
  }
  return false;
}

llvm::ScheduleDAGSDNodes* ScheduleBySize(llvm::SelectionDAGISel* selector,
                                         llvm::CodeGenOptLevel level) {
  return selector->CurDAG->allnodes_size() <= kNodesOfSmallBlock
             ? llvm::createDAGLinearizer(selector, level)
             : llvm::createDefaultScheduler(selector, level);
}

using SchedulerOption =
    llvm::cl::opt<llvm::RegisterScheduler::FunctionPassCtor, false,
                  llvm::RegisterPassParser<llvm::RegisterScheduler>>;

// LLVM has no other way to say it; it is linked statically, so nobody else's
// LLVM hears of it. The default changes too: lld takes all options back to it.
template <typename Option, typename Value>
void SetOption(llvm::StringRef name, Value value) {
  const auto& options = llvm::cl::getRegisteredOptions();
  if (const auto at = options.find(name); at != options.end()) {
    static_cast<Option*>(at->second)->setInitialValue(value);
  }
}

// For one that counts only where it was given. lld forgets that it was.
void GiveOption(llvm::StringRef name, llvm::StringRef value) {
  const auto& options = llvm::cl::getRegisteredOptions();
  if (const auto at = options.find(name);
      at != options.end() && at->second->getNumOccurrences() == 0) {
    at->second->addOccurrence(0, name, value);
  }
}

void RegisterBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    SetOption<SchedulerOption>(kSchedulerOption, ScheduleBySize);
    SetOption<llvm::cl::opt<bool>>(kScalarPasses, false);
    SetOption<llvm::cl::opt<bool>>(kNoStrengthReduction, true);
    SetOption<llvm::cl::opt<bool>>(kNoCopiesOfCopies, true);
    SetOption<llvm::cl::opt<bool>>(kNoLocalInShared, true);
    SetOption<llvm::cl::opt<bool>>(kUniformAroundOthers, false);
    SetOption<llvm::cl::opt<double>>(kLongBranches, kGrowth);
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    KeepCallersRegisters();
    KeepSpillLanes();
    KeepRegistersOfEndedWaves();
    SelectLongBlocksInPieces();
    RecomputeWithinRegisters();
    BoundSchedulingRegions();
    WidenSlotGaps();
    ClearKillFlagsAtOnce();
  });
}

// Collects the backend's complaints ("local memory limit exceeded", "ran out
// of registers"), which LLVM would otherwise print and exit on.
class CollectErrors : public llvm::DiagnosticHandler {
 public:
  explicit CollectErrors(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors_);
    if (!errors_->empty()) stream << "; ";
    if (const auto* stack =
            llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info)) {
      stream << "kernel '" << Demangle(stack->getFunction().getName())
             << "' needs " << stack->getStackSize()
             << " bytes of a thread's local memory with what does not fit into "
                "registers, the target has "
             << stack->getStackLimit();
      return true;
    }
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string* errors_;
};

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> CreateMachine(
    const TargetId& target, int opt_level) {
  RegisterBackend();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target* backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend) return Err(DiagCode::kCompiler, error);

  // LLVM only prints a complaint about a processor it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> processors(
      backend->createMCSubtargetInfo(triple, "", ""));
  const TargetRow* row = FindTarget(target.processor);
  if (row == nullptr || !processors ||
      !processors->isCPUStringValid(target.processor)) {
    return Err(
        DiagCode::kUsage,
        fmt::format("unknown AMD target '{}'; known are {}", target.ToString(),
                    NearestTargets(target.processor)));
  }
  // Without halves of registers as values of their own, as gfx11 has them: a
  // half that all lanes share and that comes from another block is lost where
  // it is packed with one of each lane's (a scalar register becomes the upper
  // half of a vector one), as in `cvt.rz.f16x2.f32` of a parameter. LLVM 22.
  std::string features = fmt::format("+wavefrontsize{},-real-true16",
                                     static_cast<int>(row->wave_size));
  for (const std::string& feature : target.features) {
    features += feature.back() == '+' ? ",+" : ",-";
    features += feature.substr(0, feature.size() - 1);
  }

  llvm::TargetOptions options;
  // mul and add stay two instructions unless PTX lets them become one.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // None is wrong where lanes leave a loop one by one: behind it they are
  // joined by a mask that at this level is copied first, which splits the
  // block, and what was selected in front of the joint is done without the
  // lanes that left early (SILowerControlFlow, LLVM 22).
  const llvm::CodeGenOptLevel level = opt_level <= 1
                                          ? llvm::CodeGenOptLevel::Less
                                          : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      backend->createTargetMachine(triple, target.processor, features, options,
                                   llvm::Reloc::PIC_, std::nullopt, level));
  if (!machine) {
    return Err(DiagCode::kCompiler, "LLVM has no machine for this target");
  }
  return machine;
}

void PrepareModule(llvm::Module& module, const TargetId& target,
                   llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  // Version 5 unless the target is generic, which only version 6 can name.
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version",
                       target.is_generic() ? 600 : 500);
}

// MachineSink takes no notice of a fence: it moves a load of shared memory from
// in front of a barrier into the block behind it, where other warps write
// already (LLVM 22).
static void HoldLoadsAtFences(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        if (!llvm::isa<llvm::FenceInst>(instruction)) continue;
        llvm::IRBuilder<> b(&block, std::next(instruction.getIterator()));
        b.SetCurrentDebugLocation(instruction.getDebugLoc());
        HoldLoads(b);
      }
    }
  }
}

std::mutex& OptionsOfLlvm() {
  static std::mutex mutex;
  return mutex;
}

Result<Bytes> EmitMachineCode(llvm::Module& module,
                              llvm::TargetMachine& machine, bool assembly) {
  HoldLoadsAtFences(module);
  KeepOwnHalves(module, machine);
  SplitPackedSelects(module);
  KeepKnownOnes(module);
  KeepCarries(module);
  SaturateByInstruction(module);
  std::string errors;
  llvm::LLVMContext& context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(&errors));

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  {
    // Options are read while passes are added.
    const std::lock_guard lock(OptionsOfLlvm());
    SetOption<llvm::cl::opt<bool>>(kLiveRangesByLane,
                                   !HasWholeWaveValues(module));
    GiveOption(kUniformStays, "true");
    if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                    assembly
                                        ? llvm::CodeGenFileType::AssemblyFile
                                        : llvm::CodeGenFileType::ObjectFile)) {
      return Err(DiagCode::kInternal, "the backend cannot emit this file kind");
    }
  }
  {
    const PassesBySize some(module);
    passes.run(module);
  }
  if (!errors.empty()) return Err(DiagCode::kCompiler, errors);
  return Bytes(buffer.begin(), buffer.end());
}

}  // namespace cerberus::ptx
