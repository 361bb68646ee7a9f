#include "support/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cerberus {
namespace {

constexpr int kUnread = -1;
std::atomic<int> g_level{kUnread};

struct LevelName {
  const char* name;
  LogLevel level;
};
constexpr LevelName kLevelNames[] = {
    {"error", LogLevel::kError},     {"warn", LogLevel::kWarning},
    {"warning", LogLevel::kWarning}, {"info", LogLevel::kInfo},
    {"debug", LogLevel::kDebug},
};

int ReadLevel() {
  const char* text = std::getenv("CERBERUS_LOG");
  if (text != nullptr) {
    for (const LevelName& row : kLevelNames) {
      if (std::strcmp(text, row.name) == 0) return static_cast<int>(row.level);
    }
  }
  return static_cast<int>(LogLevel::kWarning);
}

std::atomic<LogSink> g_sink{nullptr};

// One line, which is shown, given to `sink`, or both. Longer lines are cut: a
// log line must not allocate.
void Write(const char* prefix, LogLevel level, bool shown, LogSink sink,
           const char* format, std::va_list args) {
  char line[2048];
  const int start = std::snprintf(line, sizeof line, "cerberus: %s", prefix);
  const int body =
      std::vsnprintf(line + start, sizeof line - start - 1, format, args);
  if (body < 0) return;
  std::size_t size = static_cast<std::size_t>(start + body);
  if (size > sizeof line - 2) size = sizeof line - 2;
  if (sink != nullptr) {
    sink(level, line + start, size - static_cast<std::size_t>(start));
  }
  if (!shown) return;
  line[size++] = '\n';
  const int saved_errno = errno;
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::write(STDERR_FILENO, line + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  errno = saved_errno;
}

}  // namespace

bool LogEnabled(LogLevel level) {
  int current = g_level.load(std::memory_order_relaxed);
  if (current == kUnread) {
    current = ReadLevel();
    g_level.store(current, std::memory_order_relaxed);
  }
  return static_cast<int>(level) <= current;
}

void SetLogSink(LogSink sink) { g_sink.store(sink); }

void Log(LogLevel level, const char* format, ...) {
  const bool shown = LogEnabled(level);
  const LogSink sink = level <= LogLevel::kWarning
                           ? g_sink.load(std::memory_order_relaxed)
                           : nullptr;
  if (!shown && sink == nullptr) return;
  constexpr const char* kPrefixes[] = {
      "error: ", "warning: ", "info: ", "debug: "};
  std::va_list args;
  va_start(args, format);
  Write(kPrefixes[static_cast<int>(level)], level, shown, sink, format, args);
  va_end(args);
}

void LogNotice(const char* format, ...) {
  if (!LogEnabled(LogLevel::kWarning)) return;
  std::va_list args;
  va_start(args, format);
  Write("", LogLevel::kWarning, true, nullptr, format, args);
  va_end(args);
}

void ResetLogForTesting() { g_level.store(kUnread); }

}  // namespace cerberus
