#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cerberus::cli {
namespace {

// Plain lines would fill a log.
constexpr std::chrono::seconds kBetweenLines{30};
constexpr std::chrono::milliseconds kBetweenStatus{250};

}  // namespace

std::string DurationText(std::chrono::seconds duration) {
  const auto seconds = std::max<std::int64_t>(duration.count(), 1);
  if (seconds < 60) return fmt::format("{} s", seconds);
  const auto minutes = (seconds + 30) / 60;
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string SizeText(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{} kB", bytes / 1000);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Progress::Progress(LinePrinter& printer, std::vector<Task> tasks,
                   std::chrono::milliseconds quiet)
    : printer_(printer),
      quiet_(quiet),
      tasks_(std::move(tasks)),
      now_(tasks_.size()),
      order_(tasks_.size()) {
  for (const Task& task : tasks_) {
    work_ += static_cast<double>(task.bytes);
    kernels_ += task.kernels;
  }
}

void Progress::Begin(std::size_t task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  order_[task] = ++begun_;
  printer_.Status(Describe(task));
}

void Progress::Update(std::size_t task, const CompileProgress& now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  now_[task] = now;
  const auto time = Clock::now();
  const auto between = printer_.terminal() ? Clock::duration(kBetweenStatus)
                                           : Clock::duration(kBetweenLines);
  if (time - start_ < quiet_ || time - last_ < between) return;
  last_ = time;
  printer_.Status(Describe(task));
}

void Progress::End(std::size_t task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  now_[task].work_done = 1;
  now_[task].kernels_done = tasks_[task].kernels;
}

std::string Progress::Describe(std::size_t task) const {
  std::string text = fmt::format("[{}/{}] {}", order_[task], tasks_.size(),
                                 tasks_[task].label);
  const auto spent = Clock::now() - start_;
  if (spent < quiet_) return text;
  double done = 0;
  std::size_t kernels = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    done += now_[i].work_done * static_cast<double>(tasks_[i].bytes);
    kernels += now_[i].kernels_done;
  }
  text += fmt::format(" ({} of PTX): {} of {} kernels",
                      SizeText(tasks_[task].bytes), std::min(kernels, kernels_),
                      kernels_);
  if (done > 0 && done < work_) {
    text += fmt::format(
        ", about {} left",
        DurationText(std::chrono::duration_cast<std::chrono::seconds>(
            spent * ((work_ - done) / done))));
  }
  return text;
}

}  // namespace cerberus::cli
