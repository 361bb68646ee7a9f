// The steps of a verb that makes new files of a wheel or a tree, and what it
// exits with: open, work, write, commit.
#ifndef CERBERUS_CLI_VERBS_STEPS_H_
#define CERBERUS_CLI_VERBS_STEPS_H_

#include <optional>

#include "cli/exit_code.h"
#include "cli/process.h"
#include "cli/reporter.h"
#include "support/result.h"

namespace cerberus::cli {

// False if it failed, which is reported, or the user has interrupted it.
inline bool IsDone(const Status& status, Reporter& reporter) {
  if (!status && !Interrupted()) reporter.Report(status.error());
  return status.has_value() && !Interrupted();
}

// `work` has Open(), Write(), Commit() and some_missing(). `between`, which
// does what is done between opening and writing, returns what to exit with if
// nothing is to be written.
template <typename Work, typename Between>
int RunSteps(Work& work, bool dry_run, Reporter& reporter,
             const Between& between) {
  if (const Status opened = work.Open(); !IsDone(opened, reporter)) {
    return !opened && opened.error().code == DiagCode::kUsage ? kExitUsage
                                                              : kExitFailed;
  }
  if (dry_run) return kExitDone;
  if (const std::optional<int> code = between()) return *code;
  if (!IsDone(work.Write(), reporter)) return kExitFailed;
  // From here on it is done, or an error; a signal changes nothing.
  if (const Status committed = work.Commit(); !committed) {
    reporter.Report(committed.error());
    return kExitFailed;
  }
  return work.some_missing() ? kExitSomeMissing : kExitDone;
}

// As RunSteps' `between`: whether kernels were compiled so that files can be
// written.
inline std::optional<int> FailedUnless(const Result<bool>& compiled,
                                       Reporter& reporter) {
  if (!compiled) IsDone(Err(compiled.error()), reporter);
  return compiled && *compiled ? std::nullopt : std::optional<int>(kExitFailed);
}

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_VERBS_STEPS_H_
