// The pipeline of the whole compiler, a module at a time, in memory:
// parse, lower, link the device library, optimise, generate, link.
#include "ptxc/compile/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "llvm/IR/Module.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/backend/kernel_meta.h"
#include "ptxc/backend/link.h"
#include "ptxc/compile/forms.h"
#include "ptxc/compile/isolation.h"
#include "ptxc/compile/kept_parts.h"
#include "ptxc/compile/outcome.h"
#include "ptxc/compile/part_compilation.h"
#include "ptxc/compile/part_kernels.h"
#include "ptxc/compile/parts.h"
#include "ptxc/compile/workers.h"
#include "ptxc/front/block_bounds.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/lower/call_graph.h"
#include "ptxc/lower/lower.h"
#include "support/demangle.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {
namespace {

// PTX instructions of a program that is not worth a process of its own: a
// hundredth of a second's work.
constexpr std::size_t kSmallProgram = 500;
// Seconds of work below which a part is faster compiled than found.
constexpr double kWorthKeeping = 0.05;

// LLVM keeps the events of a thread; passes and functions are events of its
// own, the scopes in Compilation are the phases around them.
class TimeTrace {
 public:
  explicit TimeTrace(bool wanted, bool of_thread = false)
      : wanted_(wanted), of_thread_(of_thread) {
    // Whatever its length: phases of small modules are short.
    if (wanted_) llvm::timeTraceProfilerInitialize(0, "cerberus-ptxc");
  }
  // What a thread noted is written with the rest.
  ~TimeTrace() {
    if (!wanted_) return;
    if (of_thread_) {
      llvm::timeTraceProfilerFinishThread();
    } else {
      llvm::timeTraceProfilerCleanup();
    }
  }
  std::string Text() const {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    if (wanted_) llvm::timeTraceProfilerWrite(stream);
    return std::string(text);
  }

 private:
  const bool wanted_;
  const bool of_thread_;
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, const Isolation* isolation,
              const DiagSink& sink)
      : options_(options), isolation_(isolation), sink_(sink) {}

  Result<CompileResult> Run(std::string_view text) {
    // An unknown target is said before anything about the PTX.
    CERB_TRY(machine_, CreateMachine(options_.target, options_.opt_level));
    CERB_TRY_VOID(Read(text));
    std::vector<std::string> names;
    for (const Program::InputModule& input : program_.modules) {
      modules_.push_back(input.parsed.module.get());
      names.push_back(input.lower.input_name);
    }
    CERB_TRY(program_.graph, CallGraph::Build(modules_, names));
    if (options_.emit != Emit::kHsaco) {
      CERB_TRY(result_.output, CompileWhole());
      return std::move(result_);
    }
    KeptParts kept(isolation_ ? isolation_->parts_folder : "", text, options_);
    CERB_TRY(const std::vector<Bytes> objects,
             CompileParts(CutIntoParts(modules_, *program_.graph), &kept));
    {
      llvm::TimeTraceScope phase("Link");
      CERB_TRY(result_.output, LinkCodeObject(objects));
    }
    kept.Forget();
    return std::move(result_);
  }

  bool reported() const { return reported_; }

 private:
  // Names a diagnostic of the front half and remembers why a function fell.
  void Report(Diag diag, LowerOptions* lower) {
    if (diag.severity == Severity::kError) {
      lower->broken.emplace(diag.where.kernel,
                            fmt::format("ptx:{}:{}: {}", diag.where.ptx_line,
                                        diag.where.ptx_column, diag.message));
    }
    if (diag.where.file.empty()) diag.where.file = lower->input_name;
    if (!first_error_ && diag.severity == Severity::kError) {
      first_error_ = diag;
    }
    // One function's errors cost that function only.
    if (options_.keep_going && !diag.where.kernel.empty() &&
        diag.severity == Severity::kError) {
      diag.severity = Severity::kWarning;
    }
    diag.where.kernel = Demangle(diag.where.kernel);
    if (sink_) sink_(diag);
  }

  // False if the module, or without keep_going anything in it, is broken.
  bool ReadModule(std::string_view text, Program::InputModule* input) {
    input->lower.keep_going = options_.keep_going;
    const DiagSink report = [&](const Diag& diag) {
      Report(diag, &input->lower);
    };
    {
      llvm::TimeTraceScope phase("Parse");
      input->parsed = Parse(text, report);
    }
    int module_errors = 0;
    int errors = input->parsed.errors;
    if (input->parsed.module_errors == 0) {
      llvm::TimeTraceScope phase("Check");
      errors += Check(*input->parsed.module, report, &module_errors);
    }
    module_errors += input->parsed.module_errors;
    input->lines.emplace(input->parsed.module->text);
    input->lower.debug = input->parsed.module->debug;
    program_.debug |= input->lower.debug;
    return module_errors == 0 && (errors == 0 || options_.keep_going);
  }

  // A module that is compiled alone defines what it declares with a size, as
  // ptxas does ("ignoring extern qualifier"): LLVM's back-end declares the
  // shared arrays of taichi and of others so. Without a size it is undefined
  // or, if shared, comes with the launch.
  static void DefineSizedExterns(Module* module) {
    for (Variable& variable : module->variables) {
      if (variable.linkage == Linkage::kExtern && variable.size() != 0) {
        variable.linkage = Linkage::kVisible;
      }
    }
  }

  Status Read(std::string_view text) {
    const std::vector<std::string_view> texts = SplitModules(text);
    program_.modules = std::vector<Program::InputModule>(texts.size());
    bool fine = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Program::InputModule& input = program_.modules[i];
      input.lower.input_name =
          texts.size() == 1 ? options_.input_name
                            : fmt::format("{}[{}]", options_.input_name, i + 1);
      fine &= ReadModule(texts[i], &input);
      ReadBlockBounds(*input.parsed.module, &program_.bounds);
    }
    if (texts.size() == 1) {
      DefineSizedExterns(program_.modules[0].parsed.module.get());
    }
    if (fine) return {};
    reported_ = true;
    return Err(first_error_
                   ? *first_error_
                   : MakeDiag(DiagCode::kBadPtx, "the PTX does not parse"));
  }

  void Take(const ModuleInfo& info) {
    for (const KernelInfo& kernel : info.kernels) {
      if (!kernel.second_form) result_.kernels.push_back(kernel.name);
    }
    result_.failed.insert(result_.failed.end(), info.failed.begin(),
                          info.failed.end());
  }

  // What is printed: the whole program, in one piece.
  Result<Bytes> CompileWhole() {
    const ProgramPart part;
    PartCompilation compilation(options_, program_, part, *machine_, sink_);
    if (Status prepared = compilation.Prepare(); !prepared) {
      reported_ = compilation.reported();
      return Err(std::move(prepared).error());
    }
    if (options_.emit == Emit::kRawIr) return compilation.Text();
    Take(compilation.info());
    compilation.AddInfo(compilation.info());
    if (options_.emit == Emit::kIr) return compilation.Text();
    return compilation.Emit();
  }

  PartOutcome CompilePart(const ProgramPart& part,
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

  // A part that holds a further form of a kernel, and what it is tried for.
  struct Form {
    ProgramPart part;
    FormToTry wanted;
  };
  // What is worth a try after the part came out so.
  std::vector<Form> FormsAfter(const ProgramPart& part,
                               const PartOutcome& outcome) const {
    std::vector<Form> forms;
    if (options_.opt_level < 2 || program_.debug) return forms;
    const TargetRow& target = *FindTarget(options_.target.processor);
    for (FormToTry& wanted :
         FormsToTry(outcome, part.threads, target.wave_size)) {
      for (const Symbol kernel : KernelsOf(part)) {
        if (modules_[kernel.module]->functions[kernel.id].name !=
                wanted.kernel ||
            !CanRepeat(modules_, *program_.graph, kernel)) {
          continue;
        }
        forms.push_back(
            {{false, program_.graph->Below({kernel}), false, wanted.threads},
             std::move(wanted)});
        break;
      }
    }
    return forms;
  }

  std::vector<PartOutcome> CompileWithForms(
      const ProgramPart& part, llvm::TargetMachine& machine) const {
    std::vector<PartOutcome> outcomes;
    outcomes.push_back(CompilePart(part, machine));
    std::vector<Form> forms = FormsAfter(part, outcomes.front());
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const Form form = forms[i];  // more are added
      PartOutcome outcome = CompilePart(form.part, machine);
      if (!IsBetter(outcome, form.wanted)) continue;
      for (Form& next : FormsAfter(form.part, outcome)) {
        forms.push_back(std::move(next));
      }
      outcomes.push_back(std::move(outcome));
    }
    return outcomes;
  }

  // On threads, in any order.
  std::vector<PartOutcome> CompileOnThreads(
      const std::vector<ProgramPart>& parts) const {
    std::vector<std::vector<PartOutcome>> outcomes(parts.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&](llvm::TargetMachine& machine) {
      for (std::size_t i; (i = next++) < parts.size();) {
        outcomes[i] = CompileWithForms(parts[i], machine);
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1;
         i < std::min<std::size_t>(options_.jobs, parts.size()); ++i) {
      threads.emplace_back([&] {
        const TimeTrace trace(options_.time_trace, /*of_thread=*/true);
        // The first one was made: so can this be.
        work(**CreateMachine(options_.target, options_.opt_level));
      });
    }
    work(*machine_);
    for (std::thread& thread : threads) thread.join();
    std::vector<PartOutcome> all;
    for (std::vector<PartOutcome>& of_part : outcomes) {
      std::move(of_part.begin(), of_part.end(), std::back_inserter(all));
    }
    return all;
  }

  // In processes, in any order. A part whose process dies is compiled once
  // more, each of its kernels for itself. Where a kernel's failure means that
  // there is no output, the others stop; what they would have to report, of
  // all that lowering finds, is still said.
  class InProcesses {
   public:
    InProcesses(Compilation& compilation, KeptParts* kept)
        : compilation_(compilation), kept_(kept) {}

    // Nothing, and cut_finer(), if a part that is whole has to be cut.
    std::vector<PartOutcome> Run(const std::vector<ProgramPart>& parts) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        Task& task = tasks_[{i, 0, 0, 0}];
        task.part = parts[i];
        waiting_.push_back(&task);
        progress_.kernels += compilation_.KernelsOf(parts[i]).size();
        progress_.instructions += compilation_.SizeOf(parts[i]);
      }
      Tell();
      while (!stop_ && (!waiting_.empty() || workers_.running() != 0)) {
        while (!stop_ && !waiting_.empty() && MayStart()) {
          Task& task = *waiting_.front();
          waiting_.pop_front();
          Start(task);
        }
        GiveBack();
        if (!stop_ && workers_.running() != 0) TakeOne();
      }
      if (cut_finer_) return {};
      return Outcomes();
    }
    bool cut_finer() const { return cut_finer_; }
    ~InProcesses() {
      waiting_.clear();
      while (taken_ != 0) PutSlot();
    }
    InProcesses(const InProcesses&) = delete;
    InProcesses& operator=(const InProcesses&) = delete;

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
    int slots() const { return compilation_.isolation_->slots; }
    bool MayStart() {
      const std::size_t running = workers_.running();
      if (running == 0) return true;
      if (running >= compilation_.options_.jobs) return false;
      if (slots() < 0 || running < 1 + taken_) return true;
      std::uint64_t slot;
      if (::read(slots(), &slot, sizeof slot) != sizeof slot) return false;
      ++taken_;
      return true;
    }
    void GiveBack() {
      while (taken_ != 0 && waiting_.empty() &&
             workers_.running() < 1 + taken_) {
        PutSlot();
      }
    }
    void PutSlot() {
      const std::uint64_t slot = 1;
      while (::write(slots(), &slot, sizeof slot) < 0 && errno == EINTR) {
      }
      --taken_;
    }

    void Tell() const {
      const Isolation& isolation = *compilation_.isolation_;
      if (isolation.on_progress) isolation.on_progress(progress_);
    }
    // A further form that is not better, or failed, is as if it had not been
    // tried.
    void Done(Task& task) {
      if (!task.is_form()) {
        progress_.kernels_done += compilation_.KernelsOf(task.part).size();
      } else if (!IsBetter(task.outcome, task.wanted)) {
        task.outcome = {};
      }
      progress_.instructions_done += compilation_.SizeOf(task.part);
      TryForms(task);
      Tell();
      stop_ |= task.outcome.error && !compilation_.options_.keep_going;
    }

    Number NumberOf(const Task& task) const {
      return std::find_if(
                 tasks_.begin(), tasks_.end(),
                 [&](const auto& entry) { return &entry.second == &task; })
          ->first;
    }

    void TryForms(const Task& task) {
      const Number number = NumberOf(task);
      std::size_t kernel = number[3];
      for (Form& form : compilation_.FormsAfter(task.part, task.outcome)) {
        Task& next = tasks_[{number[0], number[1], number[2] + 1, kernel++}];
        next.part = std::move(form.part);
        next.wanted = std::move(form.wanted);
        waiting_.push_back(&next);
        progress_.instructions += compilation_.SizeOf(next.part);
      }
    }

    // Pieces of a task stand in its place; one that is whole ends all.
    void Replace(const Task& task, const std::vector<ProgramPart>& pieces) {
      if (task.part.is_whole()) {
        cut_finer_ = stop_ = true;
        return;
      }
      const Number number = NumberOf(task);
      tasks_.erase(number);
      for (std::size_t k = 0; k < pieces.size(); ++k) {
        Task& piece = tasks_[{number[0], k + 1, 0, 0}];
        piece.part = pieces[k];
        waiting_.push_back(&piece);
      }
    }

    void Start(Task& task) {
      if (std::optional<PartOutcome> found = kept_->Find(task.part)) {
        task.outcome = *std::move(found);
        Done(task);
        return;
      }
      // An earlier run has cut it finer.
      if (const auto pieces = compilation_.Pieces(task.part);
          pieces.size() > 1 &&
          std::any_of(pieces.begin(), pieces.end(),
                      [&](const auto& piece) { return kept_->Has(piece); })) {
        Replace(task, pieces);
        return;
      }
      const auto compile = [&] {
        return compilation_.CompilePart(task.part, *compilation_.machine_);
      };
      if (workers_.Start(started_, compilation_.SecondsFor(task.part),
                         [&] { return WriteOutcome(compile()); })) {
        running_[started_++] = &task;
        return;
      }
      task.outcome = compile();
      Done(task);
    }

    // Waits for one of those that run.
    void TakeOne() {
      const bool wants_slot =
          !waiting_.empty() && workers_.running() < compilation_.options_.jobs;
      Result<std::optional<Workers::Finished>> waited =
          workers_.Wait(wants_slot ? slots() : -1);
      if (!waited) {
        for (const auto& [id, task] : running_) {
          task->outcome.error = waited.error();
        }
        stop_ = true;
        return;
      }
      if (!*waited) return;
      const Workers::Finished* finished = &**waited;
      const auto at = running_.find(finished->id);
      Task& task = *at->second;
      running_.erase(at);
      if (finished->end == Workers::End::kDone) {
        Result<PartOutcome> outcome = ReadOutcome(finished->result);
        if (outcome) {
          task.outcome = *std::move(outcome);
        } else {
          task.outcome.error = outcome.error();
        }
        if (!task.outcome.error && task.outcome.info.failed.empty() &&
            finished->seconds > kWorthKeeping) {
          kept_->Keep(task.part, task.outcome);
        }
      } else if (const auto pieces = compilation_.Pieces(task.part);
                 pieces.size() > 1) {
        Replace(task, pieces);
        return;
      } else {
        task.outcome = compilation_.Died(task.part, *finished);
      }
      Done(task);
    }

    bool IsUnfinished(const Task& task) const {
      return std::find(waiting_.begin(), waiting_.end(), &task) !=
                 waiting_.end() ||
             std::any_of(
                 running_.begin(), running_.end(),
                 [&](const auto& entry) { return entry.second == &task; });
    }
    std::vector<PartOutcome> Outcomes() {
      std::vector<PartOutcome> outcomes;
      outcomes.reserve(tasks_.size());
      for (auto& [number, task] : tasks_) {
        if (IsUnfinished(task) && !task.is_form()) {
          const DiagSink sink = [&outcome = task.outcome](const Diag& diag) {
            outcome.diags.push_back(diag);
          };
          PartCompilation(compilation_.options_, compilation_.program_,
                          task.part, *compilation_.machine_, sink)
              .Diagnose();
        }
        outcomes.push_back(std::move(task.outcome));
      }
      return outcomes;
    }

    Compilation& compilation_;
    KeptParts* kept_;
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

  std::vector<PartOutcome> CompileInProcesses(
      const std::vector<ProgramPart>& parts, KeptParts* kept) {
    InProcesses run(*this, kept);
    std::vector<PartOutcome> outcomes = run.Run(parts);
    cut_finer_ |= run.cut_finer();
    return outcomes;
  }

  // Those that a part defines.
  std::vector<Symbol> KernelsOf(const ProgramPart& part) const {
    std::vector<Symbol> kernels;
    for (const Symbol kernel : ptx::KernelsOf(modules_, *program_.graph)) {
      if (part.Takes(program_.graph->Number(kernel))) kernels.push_back(kernel);
    }
    return kernels;
  }
  // In PTX instructions.
  std::size_t SizeOf(const ProgramPart& part) const {
    std::size_t size = 0;
    for (std::uint32_t m = 0; m < modules_.size(); ++m) {
      for (std::uint32_t id = 0; id < modules_[m]->functions.size(); ++id) {
        if (part.Takes(program_.graph->Number({m, id}))) {
          size += modules_[m]->functions[id].instructions.size();
        }
      }
    }
    return size;
  }
  // Each kernel of the part alone; none if it cannot be cut.
  std::vector<ProgramPart> Pieces(const ProgramPart& part) {
    std::vector<ProgramPart> pieces;
    if (part.is_whole() &&
        CutIntoKernels(modules_, *program_.graph).size() == 1) {
      return pieces;
    }
    for (const Symbol kernel : KernelsOf(part)) {
      pieces.push_back({false, program_.graph->Below({kernel}), false});
    }
    return pieces;
  }

  std::uint64_t SecondsFor(const ProgramPart& part) const {
    return std::max<std::uint64_t>(
        isolation_->seconds,
        isolation_->seconds * SizeOf(part) / kInstructionsOfLimit);
  }

  // What becomes of a part whose process did not end well.
  PartOutcome Died(const ProgramPart& part,
                   const Workers::Finished& finished) const {
    std::string message;
    if (finished.end == Workers::End::kOutOfTime) {
      message = fmt::format(
          "took more than {} s of processor time to compile ({} PTX "
          "instructions); a larger --compile-seconds, or CERBERUS_JIT_TIMEOUT "
          "where a program waits, gives it more",
          SecondsFor(part), SizeOf(part));
    } else {
      message = "the compiler crashed";
      if (const std::size_t end = finished.said.find('\n'); end != 0) {
        message += ": " + finished.said.substr(0, end);
      }
    }
    Diag diag = MakeDiag(DiagCode::kCompiler, std::move(message));
    diag.where.file = options_.input_name;
    PartOutcome outcome;
    if (const auto kernels = KernelsOf(part); kernels.size() == 1) {
      const Symbol kernel = kernels.front();
      const std::string name(
          modules_[kernel.module]->functions[kernel.id].name);
      diag.where.kernel = Demangle(name);
      outcome.info.failed.push_back({name, diag.message});
    }
    if (options_.keep_going && !part.is_whole()) {
      diag.severity = Severity::kWarning;
    } else {
      outcome.error = diag;
      outcome.reported = true;
    }
    outcome.diags.push_back(std::move(diag));
    return outcome;
  }

  // One that is whole, or all but the last in any order; then the last, which
  // holds the variables and what the others found out.
  Result<std::vector<Bytes>> CompileParts(std::vector<ProgramPart> parts,
                                          KeptParts* kept) {
    const bool whole = parts.size() == 1;
    ProgramPart variables;
    if (!whole) {
      variables = std::move(parts.back());
      parts.pop_back();
    }
    const bool in_processes = isolation_ && !options_.time_trace &&
                              !(whole && SizeOf(parts.front()) < kSmallProgram);
    std::vector<PartOutcome> outcomes = in_processes
                                            ? CompileInProcesses(parts, kept)
                                            : CompileOnThreads(parts);
    if (std::exchange(cut_finer_, false)) {
      return CompileParts(CutIntoKernels(modules_, *program_.graph), kept);
    }

    ModuleInfo info;
    std::vector<Bytes> objects;
    std::set<std::string> said;  // of functions that several parts hold
    const PartOutcome* failed = nullptr;
    for (PartOutcome& outcome : outcomes) {
      for (const Diag& diag : outcome.diags) {
        if (sink_ && said.insert(diag.ToString()).second) sink_(diag);
      }
      if (outcome.error && failed == nullptr) failed = &outcome;
      const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(info.kernels, outcome.info.kernels);
      append(info.failed, outcome.info.failed);
      if (!outcome.object.empty()) objects.push_back(std::move(outcome.object));
    }
    if (failed != nullptr) {
      reported_ = failed->reported;
      return Err(*failed->error);
    }
    if (whole && objects.size() == 1) {
      Take(info);
      return objects;
    }
    if (whole) {
      // What it says of itself is without the further forms.
      CERB_TRY_VOID(DropModuleInfo(objects.front()));
      variables = {false, program_.graph->Below({}), false};
    }
    PartCompilation last(options_, program_, variables, *machine_, sink_);
    if (Status prepared = last.Prepare(); !prepared) {
      reported_ = last.reported();
      return Err(std::move(prepared).error());
    }
    ModuleInfo all = last.info();
    all.kernels = std::move(info.kernels);
    all.failed = std::move(info.failed);
    Take(all);
    last.AddInfo(all);
    objects.emplace_back();
    CERB_TRY(objects.back(), last.Emit());
    return objects;
  }

  const CompileOptions& options_;
  const Isolation* const isolation_;  // null: threads
  const DiagSink& sink_;
  // One for each thread: a machine keeps tables of the target's registers,
  // which take as long to make as a small kernel does to compile.
  std::unique_ptr<llvm::TargetMachine> machine_;
  Program program_;
  std::vector<const Module*> modules_;
  CompileResult result_;
  std::optional<Diag> first_error_;
  bool reported_ = false;
  bool cut_finer_ = false;  // what is one part has to become one a kernel
};

Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const Isolation* isolation,
                              const DiagSink& sink) {
  const TimeTrace trace(options.time_trace);
  Compilation compilation(options, isolation, sink);
  Result<CompileResult> result = [&] {
    llvm::TimeTraceScope whole("Compile", options.input_name);
    return compilation.Run(ptx);
  }();
  if (result) result->time_trace = trace.Text();
  if (!result && !compilation.reported() && sink) {
    Diag diag = result.error();
    if (diag.where.file.empty()) diag.where.file = options.input_name;
    sink(diag);
  }
  return result;
}

}  // namespace

Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const DiagSink& sink) {
  return Compile(ptx, options, nullptr, sink);
}

Result<CompileResult> CompileIsolated(std::string_view ptx,
                                      const CompileOptions& options,
                                      const Isolation& isolation,
                                      const DiagSink& sink) {
  return Compile(ptx, options, &isolation, sink);
}

}  // namespace cerberus::ptx
