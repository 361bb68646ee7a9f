// What the programs of Cerberus exit with; in every man page.
#ifndef CERBERUS_CLI_EXIT_CODE_H_
#define CERBERUS_CLI_EXIT_CODE_H_

#include <cstdint>

namespace cerberus::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitSomeMissing = 3,    // converted, but kernels were left out
  kExitInterrupted = 130,  // SIGINT or SIGTERM
};

// Whether there are files now, if not of everything. As wide as a code that
// was read from a file, so that no other becomes one of these.
inline bool MadeFiles(std::int64_t code) {
  return code == kExitDone || code == kExitSomeMissing;
}

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_EXIT_CODE_H_
