// The PTX modules that become one code object, and what is known of their
// functions before any body is lowered: who defines a name that modules
// share, who calls whom, and what follows from it.
//
// One module is the usual case; several are what a program built with
// nvcc -rdc=true, or linked by cuLinkAddData, consists of.
#ifndef CERBERUS_PTXC_LOWER_CALL_GRAPH_H_
#define CERBERUS_PTXC_LOWER_CALL_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ptxc/front/ast.h"
#include "support/result.h"

namespace llvm {
class Function;
}

namespace cerberus::ptx {

// Whether a bar or barrier names how many threads take part.
bool HasThreadCount(const Instruction& inst);
// The barriers, a bit for each number, that a bar or barrier may stand for;
// 0 for other instructions. Which one a register names is not known: not 0,
// which is __syncthreads'.
std::uint32_t BarrierNumbers(const Function& function, const Instruction& inst);

// A function or variable of one of the modules.
struct Symbol {
  std::uint32_t module = 0;
  std::uint32_t id = 0;
  bool operator==(const Symbol&) const = default;
};

// What the compiler itself keeps in a block's shared memory, all zeros when a
// kernel starts.
struct ClearedShared {
  bool named_barriers = false;  // barriers of part of the block
  bool warp_counts = false;     // what its warps bring to counts and votes
  bool tensor_columns = false;  // which of tensor memory are taken

  bool any() const { return named_barriers || warp_counts || tensor_columns; }
  // Whether `other` added something.
  bool Add(const ClearedShared& other) {
    const ClearedShared before = *this;
    named_barriers |= other.named_barriers;
    warp_counts |= other.warp_counts;
    tensor_columns |= other.tensor_columns;
    return *this != before;
  }
  bool operator==(const ClearedShared&) const = default;
};

struct FunctionState {
  llvm::Function* function = nullptr;
  // Numbers of the graph, one for each direct call and each use as an address.
  std::vector<std::uint32_t> callees;
  bool recursive = false;
  bool address_taken = false;
  bool copies_cost = false;  // in all places that call it
  bool calls_indirectly = false;
  bool may_exit = false;  // `exit` in it or below it: returns a flag
  ClearedShared cleared;  // what it has in shared memory, or what is below it
  // Lanes of a warp meet in it, or look at what others write, or below.
  bool meets_lanes = false;
  bool launches = false;   // asks CUDA's device runtime for something, or below
  bool launched = false;   // a kernel that some code knows the address of
  bool flush_f32 = false;  // all its f32 arithmetic is .ftz
  bool failed = false;
  std::string reason;  // why, for the archive
};

class CallGraph {
 public:
  // Errors: two modules define a name neither as .weak nor as .common.
  // `names` are what diagnostics call the modules.
  static Result<CallGraph> Build(std::vector<const Module*> modules,
                                 const std::vector<std::string>& names);

  // Whether a barrier that counts stands without a count as well, so that it
  // matters who has ended: it then waits for the warps that have not.
  bool ends_matter() const { return ends_matter_; }

  // The definition that a declaration, or one of several weak definitions,
  // stands for; itself if there is no other.
  Symbol FunctionDefinition(Symbol function) const;
  Symbol VariableDefinition(Symbol variable) const;
  // Whether functions that are called through pointers return the flag of
  // those that may `exit`.
  bool exits_through_pointers() const { return exits_through_pointers_; }
  // Whether the threads of a bar or barrier are counted: those of the
  // hardware's barrier are all, and cannot arrive without waiting. Where one
  // instruction counts, the others of the same barrier have to.
  bool CountsThreads(const Function& function, const Instruction& inst) const {
    return (BarrierNumbers(function, inst) & counted_barriers_) != 0;
  }

  // Of the definition.
  FunctionState& State(Symbol function);
  const FunctionState& State(Symbol function) const;

  // Functions of all modules are numbered through.
  std::uint32_t Number(Symbol function) const {
    return first_function_[function.module] + function.id;
  }
  // By number: the definitions of these functions and all they may call
  // directly or take the address of.
  std::vector<bool> Below(const std::vector<Symbol>& roots) const;

  // What calls a function that failed fails too.
  void PropagateFailures();

 private:
  explicit CallGraph(std::vector<const Module*> modules);
  Status Resolve(const std::vector<std::string>& names);
  void ResolveAliases();
  void FindCountedBarriers();
  void AnalyzeCalls();
  void InheritFromCallees();
  void MarkRecursion();
  std::vector<std::uint32_t> CalleesFirst() const;
  void FindCostlyCopies();
  void AnalyzeFlushing();
  void InheritLaunches();
  const Function& FunctionAt(std::uint32_t number) const;

  std::vector<const Module*> modules_;
  std::vector<std::uint32_t> first_function_;
  std::vector<std::uint32_t> first_variable_;
  std::vector<Symbol> function_definitions_;
  std::vector<Symbol> variable_definitions_;
  std::vector<FunctionState> states_;
  bool exits_through_pointers_ = false;
  std::uint32_t counted_barriers_ = 0;  // as BarrierNumbers
  bool ends_matter_ = false;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_CALL_GRAPH_H_
