// nvcc has optimised the PTX already, so these passes only undo what PTX's
// form costs: registers become SSA values, generic pointers find back to
// their address space, and what our own lowering repeats (address sums,
// special registers, bit casts) is merged.
#include "ptxc/passes/pipeline.h"

#include <string>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include "ptxc/passes/addresses.h"
#include "ptxc/passes/float_ranges.h"
#include "ptxc/passes/growth/ended_waves.h"
#include "ptxc/passes/growth/freezes.h"
#include "ptxc/passes/growth/invariants.h"
#include "ptxc/passes/growth/irreducible.h"
#include "ptxc/passes/growth/ladders.h"
#include "ptxc/passes/growth/mask_search.h"
#include "ptxc/passes/growth/sinking.h"
#include "ptxc/passes/growth/uniform_sums.h"
#include "ptxc/passes/kernel_inputs.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/whole_loops.h"
#include "ptxc/passes/phi_offsets.h"
#include "ptxc/passes/repairs/exact_floats.h"
#include "ptxc/passes/repairs/unset_registers.h"
#include "ptxc/passes/shuffles.h"
#include "ptxc/passes/table_reads.h"

namespace cerberus::ptx {
namespace {

// Registers to SSA and dead code away; no more, since -G modules hold every
// source function unoptimised, and compile time is what counts there.
constexpr const char* kLightToSsa =
    "always-inline,"
    "function(sroa)";
// Who waits for whom is seen where pointers have their address space.
constexpr const char* kLightOfSsa =
    "function(instsimplify,simplifycfg,infer-address-spaces)";
constexpr const char* kLight = "function(early-cse,dce),globaldce";

constexpr const char* kDefaultToSsa =
    "always-inline,"
    // Locals that only one kernel's inlined calls used are plain values now.
    "function(sroa<modify-cfg>)";
constexpr const char* kDefaultOfSsa = "function(early-cse<memssa>,simplifycfg)";
constexpr const char* kDefaultToPointers =
    "function(instcombine<no-verify-fixpoint>,"
    "infer-address-spaces,"
    "early-cse<memssa>)";
constexpr const char* kDefaultToValues = "function(gvn)";
constexpr const char* kDefaultOfValues =
    "function(instcombine<no-verify-fixpoint>)";
constexpr llvm::StringLiteral kPacksFloats = "+packed-fp32-ops";
constexpr const char* kDefaultToEnd =
    "function(adce,"
    "simplifycfg<switch-range-to-icmp;hoist-common-insts;sink-common-insts>,"
    "infer-address-spaces,"
    "separate-const-offset-from-gep<lower-gep>,"
    "early-cse<memssa>,"
    "dce,"
    // Which neighbours can be loaded and stored together.
    "infer-alignment),"
    "globaldce";

// Two sums or products of floats are one instruction where there are such. Of
// integers LLVM makes pairs, too, for the sake of a store: no instruction takes
// them, and on the way all products of a row of sums come in front of the first
// sum. So only functions with floats.
class PairFloats : public llvm::PassInfoMixin<PairFloats> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses) {
    const bool has_floats = llvm::any_of(
        llvm::instructions(function), [](const llvm::Instruction& instruction) {
          return instruction.getType()->isFloatTy() &&
                 (instruction.isBinaryOp() ||
                  llvm::isa<llvm::IntrinsicInst>(instruction));
        });
    return has_floats ? llvm::SLPVectorizerPass().run(function, analyses)
                      : llvm::PreservedAnalyses::all();
  }
};

}  // namespace

Status RunPipeline(llvm::Module& module, llvm::TargetMachine& machine,
                   const PipelineOptions& options, PipelineReport* report) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graphs;
  llvm::ModuleAnalysisManager modules;

  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations(
      module.getContext(), /*DebugLogging=*/false, options.verify_each);
  instrumentations.registerCallbacks(callbacks, &modules);

  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graphs, modules);

  const bool light = options.opt_level == 1;
  const bool optimise = options.opt_level > 0;
  llvm::ModulePassManager passes;
  const auto add = [&](const char* text) -> Status {
    if (!optimise) return {};
    if (llvm::Error error = builder.parsePassPipeline(passes, text)) {
      return Err(DiagCode::kInternal,
                 "pass pipeline: " + llvm::toString(std::move(error)));
    }
    return {};
  };
  CERB_TRY_VOID(add(light ? kLightToSsa : kDefaultToSsa));
  if (optimise) {
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(ZeroUnsetRegisters()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(DropFreezes()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(FlushConstants()));
  }
  CERB_TRY_VOID(add(light ? kLightOfSsa : kDefaultOfSsa));
  if (!optimise) passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(MoveSharedMemory(options.shared, &report->shared));
  passes.addPass(ChooseWaves(options.waves));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      LaneProgress(options.lanes, &report->warnings)));
  passes.addPass(InlineJoins());
  passes.addPass(ResolveWaves(options.waves, &report->waves));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(KeepLoopsWhole()));
  if (light) {
    CERB_TRY_VOID(add(kLight));
  } else if (optimise) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(HoldSums()));
    CERB_TRY_VOID(add(kDefaultToPointers));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(FindPointers()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(
        ChooseShuffles(options.waves.wave_size)));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(HoistInvariants()));
    CERB_TRY_VOID(add(kDefaultToValues));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(SinkWithinBounds()));
    CERB_TRY_VOID(add(kDefaultOfValues));
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(DropSubnormalCare()));
    if (machine.getMCSubtargetInfo()->checkFeatures(kPacksFloats)) {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(PairFloats()));
    }
    CERB_TRY_VOID(add(kDefaultToEnd));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(JoinOffsets()));
  }
  passes.addPass(ReadVariableTable());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(RejoinEndedWaves()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(CutIrreducible()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(CutLadders()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      BoundMaskSearch(options.waves.wave_size)));
  if (optimise) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(OrderUniformSums()));
  }
  passes.run(module, modules);
  KeepFloatsExact(module);
  if (optimise) MarkKernelInputs(module);
  return {};
}

}  // namespace cerberus::ptx
