// Variables whose addresses the host decides, read where they are used: of
// those in another code object (lower/variable_table.h) from its table, of
// managed ones from a variable beside their copy in the code.
//
// Late, since until then they are variables like others to LLVM: known to be
// distinct, of a known size and alignment.
#ifndef CERBERUS_PTXC_PASSES_TABLE_READS_H_
#define CERBERUS_PTXC_PASSES_TABLE_READS_H_

#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// A pointer that the host writes before kernels run; `first`: until then, or
// null for one that another part of the program defines.
llvm::GlobalVariable* PointerFromHost(llvm::Module& module,
                                      llvm::StringRef name,
                                      llvm::GlobalValue::LinkageTypes linkage,
                                      llvm::Constant* first);

// Marks a declared variable as the one at that place of the table.
void SetPlaceInTable(llvm::GlobalVariable& variable, unsigned place);
// ... as managed: its address stands in the variable `slot`, which may be in
// another part of the program, or, without a name, in what the table leads to.
void SetManaged(llvm::GlobalVariable& variable, llvm::StringRef slot);

class ReadVariableTable : public llvm::PassInfoMixin<ReadVariableTable> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  // Without it there is no code.
  static bool isRequired() { return true; }
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_TABLE_READS_H_
