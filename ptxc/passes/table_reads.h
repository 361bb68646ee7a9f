// Variables that lie in another code object (lower/variable_table.h): their
// addresses are read from its table, where they are used.
//
// Late, since until then they are variables like others to LLVM: known to be
// distinct, of a known size and alignment.
#ifndef CERBERUS_PTXC_PASSES_TABLE_READS_H_
#define CERBERUS_PTXC_PASSES_TABLE_READS_H_

#include "llvm/IR/PassManager.h"

namespace llvm {
class GlobalVariable;
}

namespace cerberus::ptx {

// Marks a declared variable as the one at that place of the table.
void SetPlaceInTable(llvm::GlobalVariable& variable, unsigned place);

class ReadVariableTable : public llvm::PassInfoMixin<ReadVariableTable> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  // Without it there is no code.
  static bool isRequired() { return true; }
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_TABLE_READS_H_
