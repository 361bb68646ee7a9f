#include "cli/convert/compiler.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "cerberus/ptxc.h"
#include "cli/convert/compiler_messages.h"
#include "cli/exit_code.h"
#include "support/demangle.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace {

bool IsMade(const ProcessResult& run) { return MadeFiles(run.exit_code); }

// Of a compiler that made code.
CompileOutcome OutcomeOf(const ProcessResult& run, const Where& where) {
  CompileOutcome outcome;
  ReadMessages(run.err, where, &outcome.diags, &outcome.time_trace);
  outcome.status = run.exit_code == kExitDone
                       ? CompileOutcome::Status::kDone
                       : CompileOutcome::Status::kSomeFailed;
  outcome.code = run.out;
  return outcome;
}

bool HasError(const std::vector<Diag>& diags) {
  return std::any_of(diags.begin(), diags.end(), [](const Diag& diag) {
    return diag.severity == Severity::kError;
  });
}

ProgressCallback ReadProgress(const CompileRequest& request) {
  if (!request.on_progress) return {};
  return [&request](std::string_view text) {
    CompileProgress progress;
    std::size_t done = 0, all = 0;
    if (std::sscanf(std::string(text).c_str(), "%zu %zu %zu %zu",
                    &progress.kernels_done, &progress.kernels, &done,
                    &all) != 4) {
      return;
    }
    progress.work_done =
        all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
    request.on_progress(progress);
  };
}

// Where the limit of a kernel is one of its whole module: while it is read and
// linked. PTX instructions have about 30 bytes.
ProcessLimits LimitsOf(const ProcessLimits& kernel, std::size_t ptx_bytes) {
  constexpr std::size_t kBytesOfLimit = 300'000;
  ProcessLimits limits = kernel;
  limits.seconds += limits.seconds * ptx_bytes / kBytesOfLimit;
  return limits;
}

std::optional<Diag> WhyFailed(const ProcessResult& run,
                              const ProcessLimits& limits,
                              const CompileRequest& request, bool has_error) {
  // A module of one kernel, or of few, is best named by what it holds; the
  // caller's notes do that. Here: why there is no code object.
  if (run.timed_out) {
    return MakeDiag(
        DiagCode::kCompiler, request.where,
        fmt::format("the compiler took more than {} s of processor time; a "
                    "larger --compile-seconds gives it more",
                    LimitsOf(limits, request.ptx.size()).seconds));
  }
  if (run.signal != 0) {
    return MakeDiag(
        DiagCode::kCompiler, request.where,
        fmt::format("the compiler crashed ({})", ::strsignal(run.signal)));
  }
  if (!has_error) {
    return MakeDiag(
        DiagCode::kCompiler, request.where,
        fmt::format("the compiler failed with exit code {} and no message",
                    run.exit_code));
  }
  return std::nullopt;
}

struct ChildCompiler {
  std::string jit;
  ProcessLimits limits;
  CodeFolders folders;
  std::string build;
};

CompileOutcome CompileInChild(const ChildCompiler& compiler,
                              const CompileRequest& request) {
  const ProcessLimits& limits = compiler.limits;
  std::vector<std::string> argv = {
      compiler.jit,
      "--arch",
      request.arch,
      "--diagnostics=json",
      fmt::format("--jobs={}", request.share.jobs),
      fmt::format("--compile-seconds={}", limits.seconds),
      "-o",
      "-"};
  if (request.keep_going) argv.push_back("--keep-going");
  if (request.shared_overflow) argv.push_back("--shared-overflow=global");
  if (request.serial_lanes) argv.push_back("--lanes=serial");
  if (request.time_trace) argv.push_back("--time-trace=-");
  if (request.share.slots >= 0) {
    argv.push_back(fmt::format("--slots-fd={}", kSlotsDescriptor));
  }
  if (request.on_progress) {
    argv.push_back(fmt::format("--progress-fd={}", kProgressDescriptor));
  }

  const KeptModule kept(compiler.folders, compiler.build, request);
  if (!kept.parts_folder().empty()) {
    argv.push_back("--parts=" + kept.parts_folder());
  }
  argv.push_back("-");

  if (std::optional<KeptModule::Found> found = kept.Find()) {
    CompileOutcome outcome = OutcomeOf(found->run, request.where);
    outcome.kept = std::move(found->of_no_use);
    outcome.found = true;
    return outcome;
  }
  const auto begin = std::chrono::steady_clock::now();
  Result<ProcessResult> run = RunProcess(
      argv, AsBytes(request.ptx), LimitsOf(limits, request.ptx.size()),
      ReadProgress(request), request.share.slots);
  CompileOutcome outcome;
  outcome.stopped = ProcessesStopped() && (!run || run->signal == SIGKILL);
  if (!run) {
    Diag diag = std::move(run).error();
    diag.where = request.where;
    outcome.diags.push_back(std::move(diag));
    return outcome;
  }
  if (IsMade(*run)) {
    outcome = OutcomeOf(*run, request.where);
    outcome.kept = kept.Keep(*run, std::chrono::steady_clock::now() - begin);
    return outcome;
  }
  ReadMessages(run->err, request.where, &outcome.diags, &outcome.time_trace);
  if (std::optional<Diag> why =
          WhyFailed(*run, limits, request, HasError(outcome.diags))) {
    outcome.diags.push_back(*std::move(why));
  }
  return outcome;
}

struct Collected {
  const Where* where;
  std::vector<Diag>* diags;
};

void CollectDiag(const cerberus_ptxc_diag* from, void* user) {
  const auto* into = static_cast<Collected*>(user);
  Diag diag;
  diag.severity = from->severity == CERBERUS_PTXC_ERROR     ? Severity::kError
                  : from->severity == CERBERUS_PTXC_WARNING ? Severity::kWarning
                                                            : Severity::kNote;
  diag.code = static_cast<DiagCode>(from->code);
  diag.message = from->message;
  diag.where = *into->where;
  diag.where.kernel = Demangle(from->kernel);
  diag.where.ptx_line = from->ptx_line;
  diag.where.ptx_column = from->ptx_column;
  diag.where.source_file = from->source_file;
  diag.where.source_line = from->source_line;
  into->diags->push_back(std::move(diag));
}

CompileOutcome CompileHere(const CompileRequest& request) {
  CompileOutcome outcome;
  Collected collected{&request.where, &outcome.diags};
  cerberus_ptxc_options options = {};
  options.size = sizeof options;
  options.arch = request.arch.c_str();
  options.keep_going = request.keep_going;
  options.shared_overflow = request.shared_overflow;
  options.serial_lanes = request.serial_lanes;
  options.time_trace = request.time_trace;
  options.jobs = static_cast<int>(request.share.jobs);
  options.on_diag = CollectDiag;
  options.user = &collected;
  cerberus_ptxc_result* result = nullptr;
  const cerberus_ptxc_status status = cerberus_ptxc_compile(
      request.ptx.data(), request.ptx.size(), &options, &result);
  if (status == CERBERUS_PTXC_OK ||
      status == CERBERUS_PTXC_SOME_KERNELS_FAILED) {
    outcome.status = status == CERBERUS_PTXC_OK
                         ? CompileOutcome::Status::kDone
                         : CompileOutcome::Status::kSomeFailed;
    const auto* data =
        static_cast<const std::uint8_t*>(cerberus_ptxc_result_data(result));
    outcome.code.assign(data, data + cerberus_ptxc_result_size(result));
  } else if (!HasError(outcome.diags)) {
    outcome.diags.push_back(MakeDiag(
        DiagCode::kCompiler, request.where,
        fmt::format("the compiler failed with status {} and no message",
                    static_cast<int>(status))));
  }
  outcome.time_trace = cerberus_ptxc_result_time_trace(result);
  cerberus_ptxc_result_free(result);
  return outcome;
}

}  // namespace

Compiler MakeChildCompiler(std::string jit, ProcessLimits limits,
                           CodeFolders folders) {
  std::string build = CompilerBuild(jit);
  return [compiler =
              ChildCompiler{std::move(jit), limits, std::move(folders),
                            std::move(build)}](const CompileRequest& request) {
    return CompileInChild(compiler, request);
  };
}

Compiler MakeInProcessCompiler() { return CompileHere; }

Result<CompileOutcome> CompileModuleInto(const std::string& folder,
                                         const std::string& jit,
                                         ProcessLimits limits,
                                         const CompileRequest& request,
                                         bool may_fail) {
  CodeFolders folders;
  folders.own = folder;
  const Compiler compile = MakeChildCompiler(jit, limits, folders);
  CompileOutcome outcome = compile(request);
  folders.given = folder;
  const std::string path =
      KeptModule(folders, CompilerBuild(jit), request).GivenPath();
  if (outcome.status != CompileOutcome::Status::kFailed) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) {
      return Err(ErrnoDiag(path, "cannot write", errno));
    }
  } else if (may_fail && !outcome.stopped) {
    CERB_TRY_VOID(WriteFile(path, {}));
  }
  return outcome;
}

TaskPool::TaskPool(unsigned threads, std::vector<Task> tasks,
                   Jobserver* jobserver, const JobSlots* slots)
    : tasks_(std::move(tasks)),
      jobserver_(jobserver),
      slots_(slots),
      states_(tasks_.size(), State::kWaiting) {
  const std::size_t count = std::min<std::size_t>(threads, tasks_.size());
  if (slots_ != nullptr) slots_->Add(threads - count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool needs_token = jobserver_ != nullptr && i != 0;
    threads_.emplace_back([this, needs_token] { Work(needs_token); });
  }
}

TaskPool::~TaskPool() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void TaskPool::Work(bool needs_token) {
  const auto nothing_left = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stopped_ || next_ >= tasks_.size();
  };
  while (!nothing_left()) {
    if (needs_token && !jobserver_->Acquire(nothing_left)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    if (!stopped_ && next_ < tasks_.size()) {
      const std::size_t task = next_++;
      states_[task] = State::kRunning;
      lock.unlock();
      tasks_[task]();
      lock.lock();
      states_[task] = State::kDone;
      changed_.notify_all();
    }
    lock.unlock();
    if (needs_token) jobserver_->Release();
  }
  if (slots_ != nullptr) slots_->Add(1);
}

bool TaskPool::Wait(std::size_t task) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] {
    return states_[task] == State::kDone || states_[task] == State::kDropped;
  });
  return states_[task] == State::kDone;
}

void TaskPool::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  for (State& state : states_) {
    if (state == State::kWaiting) state = State::kDropped;
  }
  changed_.notify_all();
}

}  // namespace cerberus::cli
