// Instructions for which lanes of a warp come together by a mask.
//
// PTX's `.sync` instructions wait for all lanes of their mask that have not
// exited, wherever those execute one of the same kind and qualifiers (PTX ISA,
// "shfl.sync", from sm_70 on). Until it is settled where lanes meet
// (passes/lanes/lane_regions.h), each is a call of the function of its kind,
// with the mask as the first argument.
#ifndef CERBERUS_PTXC_PASSES_LANES_JOINS_H_
#define CERBERUS_PTXC_PASSES_LANES_JOINS_H_

#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class CallInst;
class ConstantInt;
class Instruction;
class Type;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

// The function for `kind`, an instruction as spelled, and whether it is new and
// wants a body.
std::pair<llvm::Function*, bool> JoinFunction(
    llvm::Module& module, llvm::StringRef kind, llvm::Type* result,
    llvm::ArrayRef<llvm::Value*> args);

bool IsJoinFunction(const llvm::Function& function);
// The call if the instruction is one for a join, or null.
llvm::CallInst* AsJoin(llvm::Instruction& instruction);
bool IsJoin(const llvm::Instruction& instruction);

// On functions of kinds with the hardware's barrier in them: all lanes of the
// wave come together, whose warps may stand at different ones.
inline constexpr char kOfTheWave[] = "cerberus-of-the-wave";
bool IsOfTheWave(const llvm::Instruction& join);

// The function for a barrier of the whole block, to be called with all lanes as
// the mask.
llvm::Function* BarrierFunction(llvm::Module& module);
// Makes calls of it of the function's barriers.
void JoinBarriers(llvm::Function& function);

// A fence, or a join that is one.
bool OrdersMemory(const llvm::Instruction& instruction);

// The lanes that come together, the call's first argument.
llvm::Value* MaskOf(const llvm::CallInst& join);

// Those of which lanes may wait for each other: of one function, unless they
// have masks that are known not to be the same. In the order of `joins`.
using Joins = llvm::SmallVector<llvm::CallInst*, 2>;
std::vector<Joins> KindsOf(llvm::ArrayRef<llvm::CallInst*> joins);

// The mask of all of a kind if it is known, or null.
llvm::ConstantInt* KnownMaskOf(llvm::ArrayRef<llvm::CallInst*> kind);

// The function that gives the lanes with the same two numbers as this one.
llvm::Function* MatchFunction(llvm::Module& module);

// Puts the bodies where the calls are.
class InlineJoins : public llvm::PassInfoMixin<InlineJoins> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_JOINS_H_
