// Child processes with limits, and what a signal to us does to them.
#ifndef CERBERUS_CLI_PROCESS_H_
#define CERBERUS_CLI_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::cli {

struct ProcessLimits {
  std::uint64_t seconds = 0;       // of processor time, 0: none
  std::uint64_t memory_bytes = 0;  // of address space, 0: none
};

struct ProcessResult {
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  Bytes out;        // its stdout
  std::string err;  // its stderr
};

// Runs a program to its end. `input` is its stdin. Nothing of this touches
// the file system: all three streams are memory files, so nothing is left if
// we are killed; and then the child is killed too. Now and then `on_progress`,
// if there is one, is given what the program has in the file that its
// descriptor kProgressDescriptor is. `slots`, if there is one, is a descriptor
// that it gets as kSlotsDescriptor. Thread-safe.
inline constexpr int kProgressDescriptor = 3;
inline constexpr int kSlotsDescriptor = 4;
using ProgressCallback = std::function<void(std::string_view)>;
Result<ProcessResult> RunProcess(const std::vector<std::string>& argv,
                                 ByteSpan input, const ProcessLimits& limits,
                                 const ProgressCallback& on_progress = {},
                                 int slots = -1);

// Ends the children, and no others begin: what they do is for nothing.
void StopProcesses();
bool ProcessesStopped();

// While one lives, SIGINT, SIGTERM and SIGHUP do not end the process: they
// kill its children and make Interrupted() true, and the verb unwinds, so
// that nothing half-done is left. Made before any thread is started.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
bool Interrupted();

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PROCESS_H_
