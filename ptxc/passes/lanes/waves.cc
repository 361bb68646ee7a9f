#include "ptxc/passes/lanes/waves.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "formats/kernel_forms.h"
#include "formats/launch_abi.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/packing.h"
#include "ptxc/passes/launch_block.h"

namespace cerberus::ptx {
namespace {

using llvm::Function;
using llvm::IRBuilder;
using llvm::Value;

constexpr llvm::StringLiteral kPrefix = "__cerberus_wave_";
// On functions whose waves hold one warp, with the reason.
constexpr llvm::StringLiteral kWhyNotPacked = "cerberus-why-not-packed";
constexpr unsigned kWarp = 32;
constexpr unsigned kMaxWorkItems = 1024;

enum class Layout { kWarpIsWave, kOneWarp, kTwoWarps };

// ---- One warp in each wave of 64 --------------------------------------------
//
// The hardware's work-group has one dimension, 64 work-items for each warp.

Value* WorkItem(IRBuilder<>& b, llvm::Intrinsic::ID id) {
  return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(),
                           llvm::ArrayRef<Value*>());
}

Value* LaneOfOneWarp(IRBuilder<>& b) {
  Value* item = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_x);
  return b.CreateAnd(item, kWarp - 1);
}

Value* ThreadOfOneWarp(IRBuilder<>& b) {
  Value* item = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_x);
  Value* warp = b.CreateLShr(item, 6);
  return b.CreateOr(b.CreateShl(warp, 5), b.CreateAnd(item, kWarp - 1));
}

// n / the block's size along the axis; both are at most 1024, so that the
// launch block's reciprocal makes it exact.
Value* DivideByBlockDim(IRBuilder<>& b, Value* n, int axis) {
  Value* size = LoadBlockDim(b, axis);
  if (llvm::isa<llvm::Constant>(size)) return b.CreateUDiv(n, size);
  Value* reciprocal = LoadLaunchBlock(
      b, kLaunchReciprocal + 4 * static_cast<unsigned>(axis), 32);
  return b.CreateLShr(b.CreateMul(n, reciprocal), 20);
}

Value* ThreadAlongAxis(IRBuilder<>& b, int axis) {
  Value* n = ThreadOfOneWarp(b);
  for (int i = 0; i < axis; ++i) n = DivideByBlockDim(b, n, i);
  if (axis == 2) return n;
  Value* rows = DivideByBlockDim(b, n, axis);
  return b.CreateSub(n, b.CreateMul(rows, LoadBlockDim(b, axis)));
}

// The upper half of each wave ends at once, and so do the lanes behind the
// last thread of the block.
void EndIdleLanes(Function& kernel) {
  llvm::BasicBlock& entry = kernel.getEntryBlock();
  llvm::BasicBlock::iterator first = entry.getFirstNonPHIOrDbgOrAlloca();
  IRBuilder<> b(&entry, first);
  Value* item = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_x);
  Value* idle = b.CreateICmpNE(b.CreateAnd(item, kWarp), b.getInt32(0));
  Value* threads = LoadBlockDim(b, 0);
  threads = b.CreateMul(threads, LoadBlockDim(b, 1));
  threads = b.CreateMul(threads, LoadBlockDim(b, 2));
  idle = b.CreateOr(idle, b.CreateICmpUGE(ThreadOfOneWarp(b), threads));
  llvm::BasicBlock* body = entry.splitBasicBlock(b.GetInsertPoint(), "threads");
  llvm::BasicBlock* end =
      llvm::BasicBlock::Create(kernel.getContext(), "idle", &kernel);
  IRBuilder<>(end).CreateRetVoid();
  entry.getTerminator()->eraseFromParent();
  IRBuilder<>(&entry).CreateCondBr(idle, end, body);
}

// ---- The functions ----------------------------------------------------------

// The lane's number in a wave of 64.
Value* LaneInWave(IRBuilder<>& b) {
  Value* all = b.getInt32(~0u);
  Value* low =
      b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {all, b.getInt32(0)});
  return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {all, low});
}

Value* Lane(IRBuilder<>& b, Layout layout) {
  switch (layout) {
    case Layout::kWarpIsWave: {
      llvm::CallInst* lane = b.CreateIntrinsic(
          llvm::Intrinsic::amdgcn_mbcnt_lo, {b.getInt32(~0u), b.getInt32(0)});
      lane->addRangeRetAttr(
          llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, kWarp)));
      return lane;
    }
    case Layout::kOneWarp: return LaneOfOneWarp(b);
    default: return b.CreateAnd(LaneInWave(b), kWarp - 1);
  }
}

Value* FirstLane(IRBuilder<>& b, Layout layout) {
  if (layout != Layout::kTwoWarps) return b.getInt32(0);
  return b.CreateAnd(LaneInWave(b), kWarp);
}

Value* WaveBallot(IRBuilder<>& b, Layout layout, Value* predicate) {
  llvm::Type* type =
      b.getIntNTy(layout == Layout::kWarpIsWave ? kWarp : 2 * kWarp);
  return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {type}, {predicate});
}

Value* Any(IRBuilder<>& b, Layout layout, Value* predicate) {
  Value* wave = WaveBallot(b, layout, predicate);
  return b.CreateZExt(
      b.CreateICmpNE(wave, llvm::ConstantInt::get(wave->getType(), 0)),
      b.getInt32Ty());
}

Value* Ballot(IRBuilder<>& b, Layout layout, Value* predicate) {
  Value* wave = WaveBallot(b, layout, predicate);
  Value* low = b.CreateTrunc(wave, b.getInt32Ty());
  if (layout != Layout::kTwoWarps) return low;
  Value* high = b.CreateTrunc(b.CreateLShr(wave, kWarp), b.getInt32Ty());
  return b.CreateSelect(b.CreateICmpEQ(FirstLane(b, layout), b.getInt32(0)),
                        low, high);
}

Value* Thread(IRBuilder<>& b, Layout layout) {
  if (layout == Layout::kOneWarp) return ThreadOfOneWarp(b);
  // Work-items are counted as threads are, x fastest.
  Value* z = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_z);
  Value* y = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_y);
  Value* x = WorkItem(b, llvm::Intrinsic::amdgcn_workitem_id_x);
  Value* rows = b.CreateAdd(b.CreateMul(z, LoadBlockDim(b, 1)), y);
  return b.CreateAdd(b.CreateMul(rows, LoadBlockDim(b, 0)), x);
}

Value* Resolve(llvm::StringRef name, llvm::CallInst& call, Layout layout) {
  IRBuilder<> b(&call);
  if (name == "lane") return Lane(b, layout);
  if (name == "first_lane") return FirstLane(b, layout);
  if (name == "ballot") return Ballot(b, layout, call.getArgOperand(0));
  if (name == "any") return Any(b, layout, call.getArgOperand(0));
  if (name == "thread") return Thread(b, layout);
  const int axis = name.back() - 'x';
  if (layout == Layout::kOneWarp) return ThreadAlongAxis(b, axis);
  constexpr llvm::Intrinsic::ID kIds[] = {
      llvm::Intrinsic::amdgcn_workitem_id_x,
      llvm::Intrinsic::amdgcn_workitem_id_y,
      llvm::Intrinsic::amdgcn_workitem_id_z};
  return WorkItem(b, kIds[axis]);
}

// ---- Layouts ----------------------------------------------------------------

bool IsKernel(const Function& function) {
  return function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

constexpr const char* kBounds = "amdgpu-flat-work-group-size";

// The least and most threads of a block.
std::pair<unsigned, unsigned> BoundsOf(const Function& kernel) {
  unsigned least = 1, most = kMaxWorkItems;
  const auto [first, second] =
      kernel.getFnAttribute(kBounds).getValueAsString().split(',');
  if (first.getAsInteger(10, least) || second.getAsInteger(10, most)) {
    return {1, kMaxWorkItems};
  }
  return {least, most};
}

// The work-groups of a kernel whose waves hold one warp have twice as many
// work-items, in whole waves.
void DoubleWorkGroup(Function& kernel) {
  const auto [least, most] = BoundsOf(kernel);
  const auto items = [](unsigned threads) {
    return std::min(kMaxWorkItems, (threads + kWarp - 1) / kWarp * 2 * kWarp);
  };
  kernel.addFnAttr(
      kBounds,
      (llvm::Twine(items(least)) + "," + llvm::Twine(items(most))).str());
}

// Matrix instructions work with all lanes of the wave on
// (lower/matrix/mma_mfma.cc). LLVM reserves registers for that, and in the
// other half of CDNA's register file it soon finds none.
void KeepMatricesInVgprs(llvm::Module& module) {
  for (const Function& intrinsic : module) {
    if (intrinsic.getIntrinsicID() != llvm::Intrinsic::amdgcn_strict_wwm) {
      continue;
    }
    for (const llvm::User* user : intrinsic.users()) {
      const auto* call = llvm::cast<llvm::CallInst>(user);
      module.getFunction(call->getFunction()->getName())
          ->addFnAttr("amdgpu-agpr-alloc", "0");
    }
  }
}

using Layouts = std::map<const Function*, Layout>;

// Functions that stay calls share one layout with all that may call them.
using Callers = llvm::EquivalenceClasses<const Function*>;

Callers JoinCallers(const llvm::Module& module) {
  Callers callers;
  // Stands for every function that is called by its address.
  const Function* const by_address = nullptr;
  for (const Function& function : module) {
    if (function.isDeclaration()) continue;
    callers.insert(&function);
    if (function.hasAddressTaken()) callers.unionSets(&function, by_address);
    for (const llvm::Instruction& i : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
      if (!call || call->isInlineAsm()) continue;
      const Function* callee = call->getCalledFunction();
      if (callee && (callee->isDeclaration() || IsJoinFunction(*callee))) {
        continue;
      }
      callers.unionSets(&function, callee);
    }
  }
  return callers;
}

Layouts ChosenLayouts(const llvm::Module& module, const WaveOptions& options,
                      std::map<std::string, KernelWaves>* kernels) {
  Layouts layouts;
  for (const Function& function : module) {
    if (function.isDeclaration()) continue;
    const bool packs = function.hasFnAttribute(kTwoWarps) &&
                       (function.hasFnAttribute(kWhole) ||
                        !function.hasFnAttribute(kWhyNotPacked));
    layouts[&function] = options.wave_size == kWarp ? Layout::kWarpIsWave
                         : packs                    ? Layout::kTwoWarps
                                                    : Layout::kOneWarp;
    if (!IsKernel(function)) continue;
    (*kernels)[function.getName().str()].why_one =
        packs ? ""
              : function.getFnAttribute(kWhyNotPacked).getValueAsString().str();
  }
  return layouts;
}

// False if some calls stay, as those through pointers and of functions that
// call themselves do.
bool InlineCalls(Function& kernel) {
  constexpr std::size_t kMostInstructions = 50'000;
  for (;;) {
    llvm::CallBase* call = nullptr;
    for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
      auto* found = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!found || found->isInlineAsm() || IsJoin(instruction)) continue;
      const Function* callee = found->getCalledFunction();
      if (!callee) return false;
      if (!callee->isDeclaration()) call = found;
    }
    if (!call) return true;
    llvm::InlineFunctionInfo info;
    if (kernel.getInstructionCount() > kMostInstructions ||
        !llvm::InlineFunction(*call, info).isSuccess()) {
      return false;
    }
  }
}

// Second forms that are not needed, or did not come about.
void DropForms(llvm::Module& module, Layouts* layouts,
               std::map<std::string, KernelWaves>* kernels) {
  for (Function& form : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = form.getName();
    if (!IsKernel(form) || !name.consume_back(formats::kPackedSuffix)) continue;
    const Function* kernel = module.getFunction(name);
    if (!kernel || !IsKernel(*kernel)) continue;
    kernels->erase(form.getName().str());
    if (layouts->at(kernel) == Layout::kOneWarp &&
        form.hasFnAttribute(kWhole)) {
      (*kernels)[name.str()].packed_form = true;
      continue;
    }
    layouts->erase(&form);
    form.eraseFromParent();
  }
}

}  // namespace

Function* WaveFunction(llvm::Module& module, llvm::StringRef name) {
  const std::string full = (kPrefix + name).str();
  if (Function* old = module.getFunction(full)) return old;
  llvm::LLVMContext& context = module.getContext();
  const bool of_lanes = name == "ballot" || name == "any";
  std::vector<llvm::Type*> params;
  if (of_lanes) params.push_back(llvm::Type::getInt1Ty(context));
  Function* function = Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context), params, false),
      llvm::GlobalValue::ExternalLinkage, full, module);
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  if (of_lanes) {
    function->setConvergent();
  } else {
    function->setSpeculatable();
  }
  return function;
}

bool IsWaveFunction(const Function& function) {
  return function.getName().starts_with(kPrefix);
}

bool IsWaveCall(const Value& value, llvm::StringRef name) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&value);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && IsWaveFunction(*callee) &&
         callee->getName().drop_front(kPrefix.size()) == name;
}

bool CallsFunctions(const Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || call->isInlineAsm() || IsJoin(instruction)) continue;
    const Function* callee = call->getCalledFunction();
    if (!callee || !callee->isDeclaration()) return true;
  }
  return false;
}

bool MayCall(const llvm::CallBase& call,
             llvm::function_ref<bool(const Function&)> is) {
  if (call.isInlineAsm()) return false;
  if (const Function* callee = call.getCalledFunction()) return is(*callee);
  return llvm::any_of(*call.getModule(), [&](const Function& callee) {
    return callee.getFunctionType() == call.getFunctionType() &&
           callee.hasAddressTaken() && is(callee);
  });
}

llvm::PreservedAnalyses ChooseWaves::run(
    llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  if (options_.wave_size == kWarp) return llvm::PreservedAnalyses::all();
  llvm::FunctionAnalysisManager& functions =
      analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module)
          .getManager();
  const BarrierFunctions with_barriers = FindBarrierFunctions(module);
  const Callers callers = JoinCallers(module);
  // By the first of those that share a layout, what keeps them from packing.
  std::map<const Function*, std::string> why_not;
  std::vector<Function*> chosen;
  for (Function& function : module) {
    if (function.isDeclaration() || IsJoinFunction(function)) continue;
    chosen.push_back(&function);
    const std::string why =
        options_.never_pack ? "one warp in each wave is asked for"
                            : WhyNotPacked(function, functions, with_barriers);
    if (why.empty()) continue;
    function.addFnAttr(kWhyNotPacked, why);
    why_not.insert({callers.getLeaderValue(&function), why});
  }
  std::vector<Function*> forms;
  for (Function* function : chosen) {
    const auto found = why_not.find(callers.getLeaderValue(function));
    if (found == why_not.end()) {
      function->addFnAttr(kTwoWarps);
      continue;
    }
    if (!function->hasFnAttribute(kWhyNotPacked)) {
      function->addFnAttr(kWhyNotPacked,
                          "it calls functions: " + found->second);
    }
    if (!options_.never_pack && IsKernel(*function) &&
        BoundsOf(*function).second > kMaxThreadsOfHalfWaves) {
      forms.push_back(function);
    }
  }
  for (Function* kernel : forms) {
    Function* form = kernel;
    if (BoundsOf(*kernel).first <= kMaxThreadsOfHalfWaves) {
      llvm::ValueToValueMapTy map;
      form = llvm::CloneFunction(kernel, map);
      form->setName(kernel->getName() + formats::kPackedSuffix);
    }
    // Functions that stay calls have one layout, with those that call them.
    if (!InlineCalls(*form)) {
      if (form != kernel) form->eraseFromParent();
      continue;
    }
    form->addFnAttr(kWhole);
    form->addFnAttr(kTwoWarps);
  }
  return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses ResolveWaves::run(
    llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  Layouts layouts = ChosenLayouts(module, options_, kernels_);
  DropForms(module, &layouts, kernels_);
  for (Function& function : llvm::make_early_inc_range(module)) {
    if (!IsWaveFunction(function)) continue;
    const llvm::StringRef name = function.getName().drop_front(kPrefix.size());
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      call->replaceAllUsesWith(
          Resolve(name, *call, layouts.at(call->getFunction())));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
  for (const auto& [function, layout] : layouts) {
    if (!IsKernel(*function)) continue;
    Function& kernel = *module.getFunction(function->getName());
    if (layout == Layout::kOneWarp) {
      DoubleWorkGroup(kernel);
      EndIdleLanes(kernel);
    }
    const auto known = kernels_->find(kernel.getName().str());
    if (known == kernels_->end()) continue;  // a second form
    known->second.warps_per_wave = layout == Layout::kTwoWarps ? 2 : 1;
  }
  KeepMatricesInVgprs(module);
  return llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
