// PTX to code objects for the verbs: in child processes (a crash of LLVM is
// then an error message, not ours), or in this one.
#ifndef CERBERUS_CLI_CONVERT_COMPILER_H_
#define CERBERUS_CLI_CONVERT_COMPILER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/convert/jobserver.h"
#include "cli/process.h"
#include "cli/scale/kept_code.h"
#include "support/bytes.h"
#include "support/diag.h"
#include "support/result.h"

namespace cerberus::cli {

// How far a compiler is.
struct CompileProgress {
  std::size_t kernels_done = 0;
  std::size_t kernels = 0;
  double work_done = 0;  // of 1
};

// How many parts of a module may be compiled at a time.
struct CompileShare {
  unsigned jobs = 1;
  int slots = -1;  // of JobSlots: of more than one, those that are free
};

struct CompileRequest {
  std::string ptx;
  std::string arch;
  Where where;  // of the module; diagnostics add kernel and lines to it
  bool keep_going = false;
  bool shared_overflow = false;  // into device memory
  bool serial_lanes = false;     // of a warp, one by one
  bool time_trace = false;
  CompileShare share;
  std::function<void(const CompileProgress&)> on_progress;  // or none
};

struct CompileOutcome {
  enum class Status { kDone, kSomeFailed, kFailed };
  Status status = Status::kFailed;
  Bytes code;               // unless kFailed
  std::vector<Diag> diags;  // in the order given; at least one if kFailed
  std::string time_trace;   // if asked for
  bool stopped = false;     // by StopProcesses: what it says means nothing
  std::string kept;         // file that it can be found in again, or ""
  bool found = false;       // there: it was not compiled again
};

// Thread-safe.
using Compiler = std::function<CompileOutcome(const CompileRequest&)>;

// `jit` is the path of cerberus-jit. `limits` are those of one kernel; one of
// more than 10,000 PTX instructions has as many times more processor time.
// What is compiled is kept in `folders`, and so are the finished parts of a
// module that is not.
Compiler MakeChildCompiler(std::string jit, ProcessLimits limits,
                           CodeFolders folders = {});
Compiler MakeInProcessCompiler();

// Compiles a module whatever is kept of it, and puts the result into `folder`
// (CodeFolders::given); if that fails and `may_fail`, an empty file.
Result<CompileOutcome> CompileModuleInto(const std::string& folder,
                                         const std::string& jit,
                                         ProcessLimits limits,
                                         const CompileRequest& request,
                                         bool may_fail);

// Runs tasks on threads; results are waited for by number. With a jobserver,
// every task but one at a time holds a token of it. Threads that have nothing
// to do any more leave their jobs in `slots`.
class TaskPool {
 public:
  using Task = std::function<void()>;

  TaskPool(unsigned threads, std::vector<Task> tasks,
           Jobserver* jobserver = nullptr, const JobSlots* slots = nullptr);
  ~TaskPool();  // tasks not yet begun are dropped
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // False if the task was dropped by Stop.
  bool Wait(std::size_t task);
  // Begins no more tasks.
  void Stop();

 private:
  enum class State { kWaiting, kRunning, kDone, kDropped };
  void Work(bool needs_token);

  std::vector<Task> tasks_;
  Jobserver* const jobserver_;
  const JobSlots* const slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> states_;
  std::size_t next_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_COMPILER_H_
