// Where the time of a run went, for --time-trace: a file in the trace event
// format that LLVM's tools write too, one event an object, for
// chrome://tracing or ui.perfetto.dev.
#ifndef CERBERUS_CLI_CONVERT_TIME_TRACE_H_
#define CERBERUS_CLI_CONVERT_TIME_TRACE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "support/result.h"

namespace cerberus::cli {

// Thread-safe.
class TimeTrace {
 public:
  TimeTrace();
  // What a compiler wrote of itself; its events keep their process.
  void Add(std::string_view compiler_trace);
  Status Write(const std::string& path);

 private:
  friend class TimedPhase;
  void Add(std::string_view name, std::string_view detail, std::int64_t begin,
           std::int64_t end);

  const std::int64_t begin_;  // microseconds since 1970
  std::mutex mutex_;
  std::string events_;  // behind one another, with commas between
};

// An event from construction to destruction; nothing if `trace` is null.
class TimedPhase {
 public:
  TimedPhase(TimeTrace* trace, std::string_view name,
             std::string_view detail = {});
  ~TimedPhase();
  TimedPhase(const TimedPhase&) = delete;
  TimedPhase& operator=(const TimedPhase&) = delete;

 private:
  TimeTrace* const trace_;
  const std::string name_;
  const std::string detail_;
  const std::int64_t begin_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_TIME_TRACE_H_
