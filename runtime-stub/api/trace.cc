#include "runtime-stub/api/trace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "runtime-stub/api/error.h"
#include "runtime-stub/module/module.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// Room behind the arguments for the end of the event.
constexpr std::size_t kTail = 256;

std::uint64_t Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The file, or -1. Each event is one write at the end of the file, so that
// threads, and processes forked from this one, do not mix their lines and a
// crash loses nothing. The list stays open at its end, as the format allows.
int OpenFile() {
  const char* path = secure_getenv("CERBERUS_TRACE");
  if (path == nullptr || *path == '\0') return -1;
  const int file =
      open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    Log(LogLevel::kError, "CERBERUS_TRACE=%s: %s", path, std::strerror(errno));
    return -1;
  }
  if (write(file, "[\n", 2) != 2) {
    close(file);
    return -1;
  }
  return file;
}

int File() {
  static const int file = OpenFile();
  return file;
}

}  // namespace

bool TraceEnabled() { return File() >= 0; }

TraceEvent::TraceEvent(const char* name) : begin_(Nanoseconds()) {
  used_ = static_cast<std::size_t>(std::snprintf(
      text_, sizeof text_,
      "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%ld,\"args\":{", name,
      static_cast<int>(getpid()), syscall(SYS_gettid)));
}

void TraceEvent::End(CUresult result) {
  const std::uint64_t duration = Nanoseconds() - begin_;
  const char* name = ErrorName(result);
  used_ += static_cast<std::size_t>(
      std::snprintf(text_ + used_, sizeof text_ - used_,
                    "\"result\":\"%s\"},\"ts\":%llu.%03u,\"dur\":%llu.%03u},\n",
                    name != nullptr ? name : "unknown",
                    static_cast<unsigned long long>(begin_ / 1000),
                    static_cast<unsigned>(begin_ % 1000),
                    static_cast<unsigned long long>(duration / 1000),
                    static_cast<unsigned>(duration % 1000)));
  const int saved_errno = errno;
  // A full disk must not stop the program.
  (void)!write(File(), text_, used_);
  errno = saved_errno;
}

// Adds `"3":` and the value; what does not fit is left out whole, so that the
// event stays well-formed.
void TraceEvent::Field(const char* format, ...) {
  ++arguments_;
  const std::size_t before = used_;
  const std::size_t room = sizeof text_ - kTail - used_;
  const int key = std::snprintf(text_ + used_, room, "\"%d\":", arguments_);
  std::va_list args;
  va_start(args, format);
  int size = 0;
  if (static_cast<std::size_t>(key) < room) {
    used_ += static_cast<std::size_t>(key);
    size = std::vsnprintf(text_ + used_, sizeof text_ - kTail - used_, format,
                          args);
  }
  va_end(args);
  if (used_ == before ||
      static_cast<std::size_t>(size) + 1 >= sizeof text_ - kTail - used_) {
    used_ = before;
    return;
  }
  used_ += static_cast<std::size_t>(size);
  text_[used_++] = ',';
}

void TraceEvent::Text(const char* text) {
  if (text == nullptr) return Pointer(nullptr);
  constexpr std::size_t kMost = 200;
  char quoted[6 * kMost + 1];
  std::size_t size = 0;
  for (std::size_t i = 0; i < kMost && text[i] != '\0'; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f) {
      size += static_cast<std::size_t>(
          std::snprintf(quoted + size, 7, "\\u%04x", unsigned{c}));
    } else {
      quoted[size++] = text[i];
    }
  }
  quoted[size] = '\0';
  Field("\"%s\"", quoted);
}
void TraceEvent::KernelName(const void* handle) {
  const Kernel* kernel = handle != nullptr ? KernelOf(handle) : nullptr;
  if (kernel == nullptr) return Pointer(handle);
  Text(kernel->name.c_str());
}
void TraceEvent::Pointer(const void* pointer) {
  Field("\"0x%llx\"", static_cast<unsigned long long>(
                          reinterpret_cast<std::uintptr_t>(pointer)));
}
void TraceEvent::Number(double value) { Field("%.9g", value); }
void TraceEvent::Integer(std::int64_t value) {
  Field("%lld", static_cast<long long>(value));
}
void TraceEvent::Unsigned(std::uint64_t value) {
  Field("%llu", static_cast<unsigned long long>(value));
}

}  // namespace cerberus::stub
