#include "cli/convert/time_trace.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>

#include "cli/json.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace {

constexpr std::string_view kEvents = "\"traceEvents\":[";
constexpr std::string_view kBegin = "\"beginningOfTime\":";
// Inside a string the quotes would have backslashes.
constexpr std::string_view kTime = ",\"ts\":";

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The number that `text` begins with.
std::int64_t Number(std::string_view text, std::size_t* length) {
  std::int64_t value = 0;
  const std::from_chars_result result =
      std::from_chars(text.data(), text.data() + text.size(), value);
  *length = static_cast<std::size_t>(result.ptr - text.data());
  return value;
}

}  // namespace

TimeTrace::TimeTrace() : begin_(Now()) {}

void TimeTrace::Add(std::string_view compiler_trace) {
  const std::size_t events = compiler_trace.find(kEvents);
  const std::size_t end = compiler_trace.rfind(']');
  const std::size_t begin = compiler_trace.rfind(kBegin);
  if (events == std::string_view::npos || end == std::string_view::npos ||
      begin == std::string_view::npos || end < events + kEvents.size()) {
    return;
  }
  std::size_t length = 0;
  const std::int64_t shift =
      Number(compiler_trace.substr(begin + kBegin.size()), &length) - begin_;
  std::string_view rest = compiler_trace.substr(events + kEvents.size(),
                                                end - events - kEvents.size());
  // Times count from the start of the compiler, here from our own.
  std::string shifted;
  for (std::size_t at; (at = rest.find(kTime)) != std::string_view::npos;) {
    at += kTime.size();
    const std::int64_t time = Number(rest.substr(at), &length);
    shifted += rest.substr(0, at);
    shifted += std::to_string(time + shift);
    rest.remove_prefix(at + length);
  }
  shifted += rest;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!events_.empty() && !shifted.empty()) events_ += ',';
  events_ += shifted;
}

void TimeTrace::Add(std::string_view name, std::string_view detail,
                    std::int64_t begin, std::int64_t end) {
  JsonWriter json;
  json.BeginObject();
  json.Key("pid").Int(::getpid());
  json.Key("tid").Int(::syscall(SYS_gettid));
  json.Key("ph").String("X");
  json.Key("ts").Int(begin - begin_);
  json.Key("dur").Int(end - begin);
  json.Key("name").String(name);
  json.Key("args").BeginObject();
  json.Key("detail").String(detail);
  json.EndObject();
  json.EndObject();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!events_.empty()) events_ += ',';
  events_ += std::move(json).Take();
}

Status TimeTrace::Write(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string text = fmt::format(
      "{{\"traceEvents\":[{}],\"beginningOfTime\":{}}}\n", events_, begin_);
  return WriteFile(path, AsBytes(text));
}

TimedPhase::TimedPhase(TimeTrace* trace, std::string_view name,
                       std::string_view detail)
    : trace_(trace),
      name_(name),
      detail_(detail),
      begin_(trace == nullptr ? 0 : Now()) {}

TimedPhase::~TimedPhase() {
  if (trace_ != nullptr) trace_->Add(name_, detail_, begin_, Now());
}

}  // namespace cerberus::cli
