// What compiling a part of a program gave, as bytes too: it comes out of
// another process, or from a file of an earlier run.
#ifndef CERBERUS_PTXC_COMPILE_OUTCOME_H_
#define CERBERUS_PTXC_COMPILE_OUTCOME_H_

#include <optional>
#include <vector>

#include "ptxc/backend/kernel_meta.h"
#include "support/bytes.h"
#include "support/diag.h"

namespace cerberus::ptx {

struct PartOutcome {
  std::vector<Diag> diags;
  std::optional<Diag> error;  // there is no object
  bool reported = false;      // the error is among the diagnostics
  ModuleInfo info;            // of its kernels
  Bytes object;
};

// Of the info, the kernels and those that failed.
Bytes WriteOutcome(const PartOutcome& outcome);
Result<PartOutcome> ReadOutcome(ByteSpan bytes);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_OUTCOME_H_
