// One part of a program, from the syntax tree to an object file.
#ifndef CERBERUS_PTXC_COMPILE_PART_COMPILATION_H_
#define CERBERUS_PTXC_COMPILE_PART_COMPILATION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/kernel_meta.h"
#include "ptxc/compile/compile.h"
#include "ptxc/compile/parts.h"
#include "ptxc/front/block_bounds.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/lower/call_graph.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/local_memory.h"
#include "ptxc/passes/pipeline.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {

// What is known of the program before it is lowered; parts only read it.
struct Program {
  // A module of the text, with all that lowering it needs.
  struct InputModule {
    ParseOutcome parsed;
    std::optional<LineIndex> lines;
    LowerOptions lower;
  };
  std::vector<InputModule> modules;
  std::optional<CallGraph> graph;
  // Of the variables that are another code object's, where kernels are compiled
  // apart, or this one's, without any kernels.
  std::optional<VariableTable> table;
  BlockBounds bounds;
  bool debug = false;
};

// In an LLVM context of its own.
class PartCompilation {
 public:
  PartCompilation(const CompileOptions& options, const Program& program,
                  const ProgramPart& part, llvm::TargetMachine& machine,
                  const DiagSink& sink)
      : options_(options),
        program_(program),
        part_(part),
        machine_(machine),
        sink_(sink),
        module_("ptx", context_) {}

  // Up to the LLVM module that the backend gets.
  Status Prepare();
  // Only so far that all is reported that has no place in the target.
  void Diagnose();

  // With what the whole program holds as the code object's information.
  void AddInfo(const ModuleInfo& info) { EmitModuleInfo(module_, info); }
  const ModuleInfo& info() const { return info_; }

  Bytes Text() const;
  Result<Bytes> Emit();

  bool reported() const { return reported_; }

 private:
  Status Lower();
  void Warn(const PipelineReport& report);
  Status LeaveOut(const std::string& kernel, std::string why, Where where = {});
  void Erase(const std::string& kernel);
  Status NoteShared(const std::map<std::string, KernelShared>& kernels);
  Status NoteWaves(const WaveOptions& options,
                   const std::map<std::string, KernelWaves>& waves);

  // The largest array in local memory of a kernel and what it calls.
  struct LocalArray {
    const Variable* variable = nullptr;
    Where where;
  };
  LocalArray LargestLocal(const std::string& kernel) const;

  Status CheckLocalMemory(const TargetRow& target);
  void NameForms();

  const CompileOptions& options_;
  const Program& program_;
  const ProgramPart& part_;
  llvm::TargetMachine& machine_;
  const DiagSink& sink_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  ModuleInfo info_;
  bool reported_ = false;  // the error has gone to the sink already
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PART_COMPILATION_H_
