// What the stub tells the person who runs the program: lines on stderr.
//
// CERBERUS_LOG=error|warn|info|debug chooses how much; without it, refusals
// and warnings. One event is one line, written by one write(2), so that lines
// of several threads and processes do not mix.
#ifndef CERBERUS_SUPPORT_LOG_H_
#define CERBERUS_SUPPORT_LOG_H_

#include <cstddef>

namespace cerberus {

enum class LogLevel : int { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

bool LogEnabled(LogLevel level);

// printf's format; without a newline at the end.
[[gnu::format(printf, 2, 3)]] void Log(LogLevel level, const char* format, ...);

// Gets each error and warning, shown or not.
using LogSink = void (*)(LogLevel level, const char* text, std::size_t size);
void SetLogSink(LogSink sink);

// A line that is neither error nor warning but belongs to the default
// output: which device was chosen, that code is being compiled. Shown at the
// level `warn` and above, without a level's name.
[[gnu::format(printf, 1, 2)]] void LogNotice(const char* format, ...);

// Drops the remembered level, for tests.
void ResetLogForTesting();

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_LOG_H_
