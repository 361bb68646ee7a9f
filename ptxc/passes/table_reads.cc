#include "ptxc/passes/table_reads.h"

#include <string>
#include <vector>

#include "formats/launch_abi.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "ptxc/address_spaces.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::GlobalVariable;
using llvm::Instruction;
using llvm::Use;

constexpr char kPlace[] = "cerberus-place";
// The name of its slot, or nothing.
constexpr char kManaged[] = "cerberus-managed";
// So many addresses of a function are read once, before all loops that use
// them; of more each is read in each block that uses it, or they would all wait
// in scalar registers, of which there are a hundred.
constexpr std::size_t kFewVariables = 12;

// Where a value has to be there for a use.
BasicBlock* BlockOf(const Use& use) {
  auto* user = llvm::cast<Instruction>(use.getUser());
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) {
    return phi->getIncomingBlock(use);
  }
  return user->getParent();
}

using UsesOfVariables = llvm::MapVector<GlobalVariable*, std::vector<Use*>>;

class TableReader {
 public:
  explicit TableReader(Function& function) : function_(function) {}

  // `table`: where the table's address stands, null if it is not needed.
  void Read(const UsesOfVariables& variables, GlobalVariable* table) {
    if (table != nullptr) {
      llvm::IRBuilder<> builder(
          &*function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      start_ = LoadAddress(builder, table, "variables");
    }
    if (variables.size() > kFewVariables) {
      for (const auto& [variable, uses] : variables) {
        llvm::MapVector<BasicBlock*, std::vector<Use*>> by_block;
        for (Use* use : uses) by_block[BlockOf(*use)].push_back(use);
        for (const auto& [block, here] : by_block) {
          ReadIn(*block, *variable, here);
        }
      }
      return;
    }
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    for (const auto& [variable, uses] : variables) {
      BasicBlock* block = nullptr;
      for (const Use* use : uses) {
        BasicBlock* at = BlockOf(*use);
        if (!dominators.isReachableFromEntry(at)) continue;
        block = block == nullptr
                    ? at
                    : dominators.findNearestCommonDominator(block, at);
      }
      if (block == nullptr) block = &function_.getEntryBlock();
      while (const llvm::Loop* loop = loops.getLoopFor(block)) {
        block = dominators.getNode(loop->getOutermostLoop()->getHeader())
                    ->getIDom()
                    ->getBlock();
      }
      ReadIn(*block, *variable, uses);
    }
  }

 private:
  // Nothing writes it once kernels run.
  static llvm::Instruction* LoadAddress(llvm::IRBuilder<>& builder,
                                        llvm::Value* from,
                                        const llvm::Twine& name) {
    llvm::LoadInst* load = builder.CreateAlignedLoad(
        builder.getPtrTy(kAsGlobal), from, llvm::Align(8), name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(builder.getContext(), {}));
    return load;
  }

  GlobalVariable* SlotOf(const GlobalVariable& managed) const {
    llvm::Module& module = *function_.getParent();
    const llvm::StringRef name =
        managed.getAttribute(kManaged).getValueAsString();
    if (GlobalVariable* known = module.getNamedGlobal(name)) return known;
    return PointerFromHost(module, name, llvm::GlobalValue::ExternalLinkage,
                           nullptr);
  }

  // Before the first of the uses that is in the block, else at its end.
  void ReadIn(BasicBlock& block, const GlobalVariable& variable,
              const std::vector<Use*>& uses) {
    Instruction* before = block.getTerminator();
    for (const Use* use : uses) {
      auto* user = llvm::cast<Instruction>(use->getUser());
      if (user->getParent() == &block && !llvm::isa<llvm::PHINode>(user) &&
          user->comesBefore(before)) {
        before = user;
      }
    }
    llvm::IRBuilder<> builder(before);
    llvm::Value* address = nullptr;
    if (variable.hasAttribute(kPlace)) {
      unsigned place = 0;
      variable.getAttribute(kPlace).getValueAsString().getAsInteger(10, place);
      address = LoadAddress(builder,
                            builder.CreateConstInBoundsGEP1_64(
                                builder.getInt64Ty(), start_, place),
                            variable.getName());
    } else {
      address = SlotOf(variable);
    }
    if (variable.hasAttribute(kManaged)) {
      address = LoadAddress(builder, address, variable.getName());
    }
    for (Use* use : uses) use->set(address);
  }

  Function& function_;
  Instruction* start_ = nullptr;
};

}  // namespace

GlobalVariable* PointerFromHost(llvm::Module& module, llvm::StringRef name,
                                llvm::GlobalValue::LinkageTypes linkage,
                                llvm::Constant* first) {
  auto* pointer = new GlobalVariable(
      module, llvm::PointerType::get(module.getContext(), kAsGlobal), false,
      linkage, first, name, nullptr, llvm::GlobalValue::NotThreadLocal,
      kAsGlobal, /*isExternallyInitialized=*/true);
  pointer->setAlignment(llvm::Align(8));
  pointer->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  return pointer;
}

void SetPlaceInTable(GlobalVariable& variable, unsigned place) {
  variable.addAttribute(kPlace, llvm::utostr(place));
}

void SetManaged(GlobalVariable& variable, llvm::StringRef slot) {
  variable.addAttribute(kManaged, slot);
}

namespace {

// Where the host writes the table's address.
GlobalVariable* AddressOfTable(llvm::Module& module) {
  if (GlobalVariable* known =
          module.getNamedGlobal(formats::kVariablesSymbol)) {
    return known;
  }
  return PointerFromHost(module, formats::kVariablesSymbol,
                         llvm::GlobalValue::WeakAnyLinkage,
                         llvm::Constant::getNullValue(llvm::PointerType::get(
                             module.getContext(), kAsGlobal)));
}

}  // namespace

llvm::PreservedAnalyses ReadVariableTable::run(
    llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
  std::vector<GlobalVariable*> elsewhere;
  for (GlobalVariable& variable : module.globals()) {
    if (variable.hasAttribute(kPlace) || variable.hasAttribute(kManaged)) {
      elsewhere.push_back(&variable);
    }
  }
  if (elsewhere.empty()) return llvm::PreservedAnalyses::all();
  llvm::convertUsersOfConstantsToInstructions(
      std::vector<llvm::Constant*>(elsewhere.begin(), elsewhere.end()));
  llvm::MapVector<Function*, UsesOfVariables> functions;
  for (GlobalVariable* variable : elsewhere) {
    for (Use& use : variable->uses()) {
      // All users are instructions: no initialiser names such a variable.
      auto* user = llvm::cast<Instruction>(use.getUser());
      functions[user->getFunction()][variable].push_back(&use);
    }
  }
  for (const auto& [function, variables] : functions) {
    const bool of_table =
        llvm::any_of(variables, [](const auto& variable_and_uses) {
          return variable_and_uses.first->hasAttribute(kPlace);
        });
    TableReader(*function).Read(variables,
                                of_table ? AddressOfTable(module) : nullptr);
  }
  for (GlobalVariable* variable : elsewhere) variable->eraseFromParent();
  return llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
