// Compiles the parts of a program that was read, each with the further forms of
// its kernels that turn out to be worth it (forms.h).
#ifndef CERBERUS_PTXC_COMPILE_PARTS_COMPILER_H_
#define CERBERUS_PTXC_COMPILE_PARTS_COMPILER_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "llvm/Target/TargetMachine.h"
#include "ptxc/compile/compile.h"
#include "ptxc/compile/forms.h"
#include "ptxc/compile/outcome.h"
#include "ptxc/compile/part_compilation.h"
#include "ptxc/compile/parts.h"

namespace cerberus::ptx {

class PartsCompiler {
 public:
  // `modules` are the program's. All must outlive this.
  PartsCompiler(const CompileOptions& options, const Program& program,
                const std::vector<const Module*>& modules)
      : options_(options), program_(program), modules_(modules) {}

  PartOutcome Compile(const ProgramPart& part,
                      llvm::TargetMachine& machine) const;
  // With their further forms, by options.jobs threads, of which one uses
  // `machine`.
  std::vector<PartOutcome> CompileOnThreads(
      const std::vector<ProgramPart>& parts,
      llvm::TargetMachine& machine) const;

  // A part that holds a further form of a kernel, and what it is tried for.
  struct Form {
    ProgramPart part;
    FormToTry wanted;
  };
  // What is worth a try after the part came out so.
  std::vector<Form> FormsAfter(const ProgramPart& part,
                               const PartOutcome& outcome) const;

  // Those that a part defines.
  std::vector<Symbol> KernelsOf(const ProgramPart& part) const;
  // In PTX instructions.
  std::size_t SizeOf(const ProgramPart& part) const;
  // Each kernel of the part alone, two at least; none if it cannot be cut.
  std::vector<ProgramPart> Pieces(const ProgramPart& part) const;

  const CompileOptions& options() const { return options_; }
  const Program& program() const { return program_; }
  const std::vector<const Module*>& modules() const { return modules_; }
  const CallGraph& graph() const { return *program_.graph; }

 private:
  std::vector<PartOutcome> CompileWithForms(const ProgramPart& part,
                                            llvm::TargetMachine& machine) const;

  const CompileOptions& options_;
  const Program& program_;
  const std::vector<const Module*>& modules_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PARTS_COMPILER_H_
