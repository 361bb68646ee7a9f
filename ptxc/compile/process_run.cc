#include "ptxc/compile/process_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "ptxc/compile/part_compilation.h"
#include "support/demangle.h"

namespace cerberus::ptx {
namespace {

// Seconds of work below which a part is faster compiled than found.
constexpr double kWorthKeeping = 0.05;

}  // namespace

ProcessRun::~ProcessRun() {
  waiting_.clear();
  while (taken_ != 0) PutSlot();
}

std::vector<PartOutcome> ProcessRun::Run(
    const std::vector<ProgramPart>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Task& task = tasks_[{i, 0, 0, 0}];
    task.part = parts[i];
    waiting_.push_back(&task);
    progress_.kernels += compiler_.KernelsOf(parts[i]).size();
    progress_.instructions += compiler_.SizeOf(parts[i]);
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

bool ProcessRun::MayStart() {
  const std::size_t running = workers_.running();
  if (running == 0) return true;
  if (running >= compiler_.options().jobs) return false;
  if (isolation_.slots < 0 || running < 1 + taken_) return true;
  std::uint64_t slot;
  if (::read(isolation_.slots, &slot, sizeof slot) != sizeof slot) return false;
  ++taken_;
  return true;
}

void ProcessRun::GiveBack() {
  while (taken_ != 0 && waiting_.empty() && workers_.running() < 1 + taken_) {
    PutSlot();
  }
}

void ProcessRun::PutSlot() {
  const std::uint64_t slot = 1;
  while (::write(isolation_.slots, &slot, sizeof slot) < 0 && errno == EINTR) {
  }
  --taken_;
}

void ProcessRun::Start(Task& task) {
  if (std::optional<PartOutcome> found = kept_.Find(task.part)) {
    task.outcome = *std::move(found);
    Done(task);
    return;
  }
  // An earlier run has cut it finer.
  if (const auto pieces = compiler_.Pieces(task.part);
      !pieces.empty() &&
      std::any_of(pieces.begin(), pieces.end(),
                  [&](const auto& piece) { return kept_.Has(piece); })) {
    Replace(task, pieces);
    return;
  }
  const auto compile = [&] { return compiler_.Compile(task.part, machine_); };
  if (workers_.Start(started_, SecondsFor(task.part),
                     [&] { return WriteOutcome(compile()); })) {
    running_[started_++] = &task;
    return;
  }
  task.outcome = compile();
  Done(task);
}

void ProcessRun::TakeOne() {
  const bool wants_slot =
      !waiting_.empty() && workers_.running() < compiler_.options().jobs;
  Result<std::optional<Workers::Finished>> waited =
      workers_.Wait(wants_slot ? isolation_.slots : -1);
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
      kept_.Keep(task.part, task.outcome);
    }
  } else if (const auto pieces = compiler_.Pieces(task.part); !pieces.empty()) {
    Replace(task, pieces);
    return;
  } else {
    task.outcome = Died(task.part, *finished);
  }
  Done(task);
}

void ProcessRun::Done(Task& task) {
  if (!task.is_form()) {
    progress_.kernels_done += compiler_.KernelsOf(task.part).size();
  } else if (!IsBetter(task.outcome, task.wanted)) {
    task.outcome = {};
  }
  progress_.instructions_done += compiler_.SizeOf(task.part);
  TryForms(task);
  Tell();
  stop_ |= task.outcome.error && !compiler_.options().keep_going;
}

void ProcessRun::TryForms(const Task& task) {
  const Number number = NumberOf(task);
  std::size_t kernel = number[3];
  for (PartsCompiler::Form& form :
       compiler_.FormsAfter(task.part, task.outcome)) {
    Task& next = tasks_[{number[0], number[1], number[2] + 1, kernel++}];
    next.part = std::move(form.part);
    next.wanted = std::move(form.wanted);
    waiting_.push_back(&next);
    progress_.instructions += compiler_.SizeOf(next.part);
  }
}

void ProcessRun::Replace(const Task& task,
                         const std::vector<ProgramPart>& pieces) {
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

std::uint64_t ProcessRun::SecondsFor(const ProgramPart& part) const {
  return std::max<std::uint64_t>(
      isolation_.seconds,
      isolation_.seconds * compiler_.SizeOf(part) / kInstructionsOfLimit);
}

PartOutcome ProcessRun::Died(const ProgramPart& part,
                             const Workers::Finished& finished) const {
  std::string message;
  if (finished.end == Workers::End::kOutOfTime) {
    message = fmt::format(
        "took more than {} s of processor time to compile ({} PTX "
        "instructions); a larger --compile-seconds, or CERBERUS_JIT_TIMEOUT "
        "where a program waits, gives it more",
        SecondsFor(part), compiler_.SizeOf(part));
  } else {
    message = "the compiler crashed";
    if (const std::size_t end = finished.said.find('\n'); end != 0) {
      message += ": " + finished.said.substr(0, end);
    }
  }
  const CompileOptions& options = compiler_.options();
  Diag diag = MakeDiag(DiagCode::kCompiler, std::move(message));
  diag.where.file = options.input_name;
  PartOutcome outcome;
  if (const auto kernels = compiler_.KernelsOf(part); kernels.size() == 1) {
    const Symbol kernel = kernels.front();
    const std::string name(
        compiler_.modules()[kernel.module]->functions[kernel.id].name);
    diag.where.kernel = Demangle(name);
    outcome.info.failed.push_back({name, diag.message});
  }
  if (options.keep_going && !part.is_whole()) {
    diag.severity = Severity::kWarning;
  } else {
    outcome.error = diag;
    outcome.reported = true;
  }
  outcome.diags.push_back(std::move(diag));
  return outcome;
}

ProcessRun::Number ProcessRun::NumberOf(const Task& task) const {
  return std::find_if(tasks_.begin(), tasks_.end(),
                      [&](const auto& entry) { return &entry.second == &task; })
      ->first;
}

bool ProcessRun::IsUnfinished(const Task& task) const {
  return std::find(waiting_.begin(), waiting_.end(), &task) != waiting_.end() ||
         std::any_of(running_.begin(), running_.end(),
                     [&](const auto& entry) { return entry.second == &task; });
}

std::vector<PartOutcome> ProcessRun::Outcomes() {
  std::vector<PartOutcome> outcomes;
  outcomes.reserve(tasks_.size());
  for (auto& [number, task] : tasks_) {
    if (IsUnfinished(task) && !task.is_form()) {
      const DiagSink sink = [&outcome = task.outcome](const Diag& diag) {
        outcome.diags.push_back(diag);
      };
      PartCompilation(compiler_.options(), compiler_.program(), task.part,
                      machine_, sink)
          .Diagnose();
    }
    outcomes.push_back(std::move(task.outcome));
  }
  return outcomes;
}

void ProcessRun::Tell() const {
  if (isolation_.on_progress) isolation_.on_progress(progress_);
}

}  // namespace cerberus::ptx
