// The parts of a program compiled in processes of their own, a number of them
// at a time, that are made by fork (isolation.h).
//
// A part whose process dies, or takes more time than it may, is compiled once
// more, each of its kernels for itself: one of them is lost and the others are
// not. A part that is the whole program cannot be replaced by pieces, since the
// last of those has the variables: the run then ends with cut_finer(), and the
// caller begins anew with a part for each kernel.
//
// A part that is done may ask for another one, a further form of one of its
// kernels. Outcomes stand in the order of the parts and, of one part, of its
// forms, whatever was done first, so that the code object is the same for any
// number of processes.
#ifndef CERBERUS_PTXC_COMPILE_PROCESS_RUN_H_
#define CERBERUS_PTXC_COMPILE_PROCESS_RUN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "llvm/Target/TargetMachine.h"
#include "ptxc/compile/isolation.h"
#include "ptxc/compile/kept_parts.h"
#include "ptxc/compile/outcome.h"
#include "ptxc/compile/parts_compiler.h"
#include "ptxc/compile/workers.h"

namespace cerberus::ptx {

class ProcessRun {
 public:
  // All must outlive this. No other thread may run.
  ProcessRun(const PartsCompiler& compiler, const Isolation& isolation,
             llvm::TargetMachine& machine, KeptParts& kept)
      : compiler_(compiler),
        isolation_(isolation),
        machine_(machine),
        kept_(kept) {}
  // Processes that still run are stopped, and borrowed jobs given back.
  ~ProcessRun();
  ProcessRun(const ProcessRun&) = delete;
  ProcessRun& operator=(const ProcessRun&) = delete;

  // Once. Where a kernel's failure means that there is no output, the other
  // parts stop; what they would have to report, of all that lowering finds, is
  // still said. Nothing, and cut_finer(), if a part that is whole has to be
  // cut.
  std::vector<PartOutcome> Run(const std::vector<ProgramPart>& parts);
  bool cut_finer() const { return cut_finer_; }

 private:
  // Number of the part, and of the kernel in it that is alone; which step of
  // its further forms, and of which of its kernels.
  using Number = std::array<std::size_t, 4>;
  struct Task {
    ProgramPart part;
    PartOutcome outcome;
    FormToTry wanted;  // if the part is a further form

    bool is_form() const { return part.threads != 0; }
  };

  // One job is ours; others that nobody uses are borrowed while there are
  // parts for them.
  bool MayStart();
  void GiveBack();
  void PutSlot();

  void Start(Task& task);
  // Waits for one of those that run.
  void TakeOne();
  // A further form that is not better, or failed, is as if it had not been
  // tried.
  void Done(Task& task);
  void TryForms(const Task& task);
  // Pieces of a task stand in its place; one that is whole ends all.
  void Replace(const Task& task, const std::vector<ProgramPart>& pieces);
  std::uint64_t SecondsFor(const ProgramPart& part) const;
  // What becomes of a part whose process did not end well.
  PartOutcome Died(const ProgramPart& part,
                   const Workers::Finished& finished) const;

  Number NumberOf(const Task& task) const;
  bool IsUnfinished(const Task& task) const;
  std::vector<PartOutcome> Outcomes();
  void Tell() const;

  const PartsCompiler& compiler_;
  const Isolation& isolation_;
  llvm::TargetMachine& machine_;
  KeptParts& kept_;
  std::map<Number, Task> tasks_;
  std::deque<Task*> waiting_;
  std::map<std::size_t, Task*> running_;
  Workers workers_;
  Progress progress_;
  std::size_t started_ = 0;
  std::size_t taken_ = 0;  // slots
  bool stop_ = false;
  bool cut_finer_ = false;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PROCESS_RUN_H_
