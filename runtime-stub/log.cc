#include "runtime-stub/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cerberus::stub {
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

void Write(const char* level, const char* format, std::va_list args) {
  // Longer lines are cut: a log line must not allocate.
  char line[2048];
  const int prefix = std::snprintf(line, sizeof line, "cerberus: %s", level);
  const int body =
      std::vsnprintf(line + prefix, sizeof line - prefix - 1, format, args);
  if (body < 0) return;
  std::size_t size = static_cast<std::size_t>(prefix + body);
  if (size > sizeof line - 2) size = sizeof line - 2;
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

void Log(LogLevel level, const char* format, ...) {
  if (!LogEnabled(level)) return;
  constexpr const char* kPrefixes[] = {
      "error: ", "warning: ", "info: ", "debug: "};
  std::va_list args;
  va_start(args, format);
  Write(kPrefixes[static_cast<int>(level)], format, args);
  va_end(args);
}

void LogNotice(const char* format, ...) {
  if (!LogEnabled(LogLevel::kWarning)) return;
  std::va_list args;
  va_start(args, format);
  Write("", format, args);
  va_end(args);
}

void ResetLogForTesting() { g_level.store(kUnread); }

}  // namespace cerberus::stub
