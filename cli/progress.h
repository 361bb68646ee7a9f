// How far a conversion is, on stderr: a line for each module that begins, and
// while it takes long how many kernels are done and how long the rest may take.
#ifndef CERBERUS_CLI_PROGRESS_H_
#define CERBERUS_CLI_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cli/convert/compiler.h"
#include "cli/line_printer.h"

namespace cerberus::cli {

// Thread-safe.
class Progress {
 public:
  struct Task {
    std::string label;        // "gfx1100 app#3"
    std::uint64_t bytes = 0;  // of PTX: a measure of the work
    std::size_t kernels = 0;
  };
  // "7 min left" is said of what lasts longer than `quiet`.
  Progress(LinePrinter& printer, std::vector<Task> tasks,
           std::chrono::milliseconds quiet = std::chrono::seconds(2));

  void Begin(std::size_t task);
  void Update(std::size_t task, const CompileProgress& now);
  void End(std::size_t task);

 private:
  using Clock = std::chrono::steady_clock;
  std::string Describe(std::size_t task) const;

  LinePrinter& printer_;
  const std::chrono::milliseconds quiet_;
  const std::vector<Task> tasks_;
  std::mutex mutex_;
  std::vector<CompileProgress> now_;
  std::vector<std::size_t> order_;  // in which they began, from 1
  std::size_t begun_ = 0;
  double work_ = 0;  // of all
  std::size_t kernels_ = 0;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;  // when something was said
};

// "40 s", "7 min", "2 h 10 min": no more exact than a guess is.
std::string DurationText(std::chrono::seconds duration);
// "812 bytes", "1.2 MB"
std::string SizeText(std::uint64_t bytes);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PROGRESS_H_
