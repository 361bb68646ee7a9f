// The parts of a program, compiled one by one or by threads.
#include "ptxc/compile/parts_compiler.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <utility>

#include "ptxc/backend/codegen.h"
#include "ptxc/compile/part_kernels.h"
#include "ptxc/compile/phase_trace.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {

PartOutcome PartsCompiler::Compile(const ProgramPart& part,
                                   llvm::TargetMachine& machine) const {
  PartOutcome outcome;
  const DiagSink sink = [&outcome](const Diag& diag) {
    outcome.diags.push_back(diag);
  };
  PartCompilation compilation(options_, program_, part, machine, sink);
  const Status prepared = compilation.Prepare();
  outcome.reported = compilation.reported();
  if (!prepared) {
    outcome.error = prepared.error();
    return outcome;
  }
  outcome.info = compilation.info();
  if (part.is_whole()) compilation.AddInfo(outcome.info);
  Result<Bytes> object = compilation.Emit();
  if (object) {
    outcome.object = *std::move(object);
  } else {
    outcome.error = std::move(object).error();
  }
  return outcome;
}

std::vector<PartsCompiler::Form> PartsCompiler::FormsAfter(
    const ProgramPart& part, const PartOutcome& outcome) const {
  std::vector<Form> forms;
  if (options_.opt_level < 2 || program_.debug) return forms;
  const TargetRow& target = *FindTarget(options_.target.processor);
  for (FormToTry& wanted :
       FormsToTry(outcome, part.threads, target.wave_size)) {
    for (const Symbol kernel : KernelsOf(part)) {
      if (modules_[kernel.module]->functions[kernel.id].name != wanted.kernel ||
          !CanRepeat(modules_, graph(), kernel)) {
        continue;
      }
      forms.push_back({{false, graph().Below({kernel}),
                        ProgramPart::Variables::kElsewhere, wanted.threads},
                       std::move(wanted)});
      break;
    }
  }
  return forms;
}

std::vector<PartOutcome> PartsCompiler::CompileWithForms(
    const ProgramPart& part, llvm::TargetMachine& machine) const {
  std::vector<PartOutcome> outcomes;
  outcomes.push_back(Compile(part, machine));
  std::vector<Form> forms = FormsAfter(part, outcomes.front());
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const Form form = forms[i];  // more are added
    PartOutcome outcome = Compile(form.part, machine);
    if (!IsBetter(outcome, form.wanted)) continue;
    for (Form& next : FormsAfter(form.part, outcome)) {
      forms.push_back(std::move(next));
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::vector<PartOutcome> PartsCompiler::CompileOnThreads(
    const std::vector<ProgramPart>& parts, llvm::TargetMachine& machine) const {
  std::vector<std::vector<PartOutcome>> outcomes(parts.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&](llvm::TargetMachine& own) {
    for (std::size_t i; (i = next++) < parts.size();) {
      outcomes[i] = CompileWithForms(parts[i], own);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1;
       i < std::min<std::size_t>(options_.jobs, parts.size()); ++i) {
    threads.emplace_back([&] {
      const PhaseTrace trace(options_.time_trace, /*of_thread=*/true);
      // The first one was made: so can this be.
      work(**CreateMachine(options_.target, options_.opt_level));
    });
  }
  work(machine);
  for (std::thread& thread : threads) thread.join();
  std::vector<PartOutcome> all;
  for (std::vector<PartOutcome>& of_part : outcomes) {
    std::move(of_part.begin(), of_part.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Symbol> PartsCompiler::KernelsOf(const ProgramPart& part) const {
  std::vector<Symbol> kernels;
  for (const Symbol kernel : ptx::KernelsOf(modules_, graph())) {
    if (part.Takes(graph().Number(kernel))) kernels.push_back(kernel);
  }
  return kernels;
}

std::size_t PartsCompiler::SizeOf(const ProgramPart& part) const {
  std::size_t size = 0;
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    for (std::uint32_t id = 0; id < modules_[m]->functions.size(); ++id) {
      if (part.Takes(graph().Number({m, id}))) {
        size += modules_[m]->functions[id].instructions.size();
      }
    }
  }
  return size;
}

std::vector<ProgramPart> PartsCompiler::Pieces(const ProgramPart& part) const {
  std::vector<ProgramPart> pieces;
  const std::vector<Symbol> kernels = KernelsOf(part);
  if (kernels.size() < 2 ||
      (part.is_whole() && CutIntoKernels(modules_, graph()).size() == 1)) {
    return pieces;
  }
  for (const Symbol kernel : kernels) {
    pieces.push_back(
        {false, graph().Below({kernel}), ProgramPart::Variables::kElsewhere});
  }
  return pieces;
}

}  // namespace cerberus::ptx
