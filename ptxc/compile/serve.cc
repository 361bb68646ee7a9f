#include "ptxc/compile/serve.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/compile_request.h"

namespace cerberus {
namespace {

constexpr int kIdleMilliseconds = 10'000;
// Above what is handed over.
constexpr int kLowestOwn = 16;
// Of what the largest modules take little is in this process; one that needed
// more than this begins anew.
constexpr long kMostKilobytes = 512 * 1024;

int serving = -1;  // for signal handlers

// The program has ended, or does not want the answer.
void OnHangUp(int) {
  const int error = errno;
  pollfd polled = {serving, 0, 0};
  if (::poll(&polled, 1, 0) > 0) ::_exit(1);
  errno = error;
}

void OnProcessorTime(int signal) {
  SendCompileAnswer(serving, kEndedBySignal + signal);
  ::_exit(1);
}

void TakeStreams(const int* streams) {
  for (int i = 0; i < static_cast<int>(CompileRequest::kStreams); ++i) {
    ::dup2(streams[i], i);
  }
}

// What waits at the other end of a stream is not to wait for us.
void LetGoOfStreams(int nothing) {
  std::fflush(nullptr);
  const int streams[CompileRequest::kStreams] = {nothing, nothing, nothing,
                                                 nothing};
  TakeStreams(streams);
}

// Whether to wait for another request.
bool ServeOne(const CompileOnce& compile, int nothing) {
  std::optional<CompileRequest> request = ReceiveCompileRequest(serving);
  if (!request) return false;
  int streams[CompileRequest::kStreams];
  for (std::size_t i = 0; i < request->streams.size(); ++i) {
    streams[i] = request->streams[i].get();
  }
  TakeStreams(streams);
  for (Fd& stream : request->streams) stream.Close();
  // LLVM sets handlers of its own while it links.
  std::signal(SIGXCPU, OnProcessorTime);
  const int code = compile(request->arguments);
  LetGoOfStreams(nothing);
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return SendCompileAnswer(serving, code) && usage.ru_maxrss < kMostKilobytes;
}

// What the program has open and did not mean for others: whoever waits for the
// end of a pipe, or for an address, is not to wait for us.
void CloseAllBut(int socket) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> found;
  while (const dirent* entry = ::readdir(folder)) {
    found.push_back(std::atoi(entry->d_name));
  }
  ::closedir(folder);
  for (const int fd : found) {
    if (fd > STDERR_FILENO && fd != socket) ::close(fd);
  }
}

[[noreturn]] void ServeAll(int socket, const CompileOnce& compile) {
  CloseAllBut(socket);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  serving = ::fcntl(socket, F_DUPFD_CLOEXEC, kLowestOwn);
  const int low = ::fcntl(nothing, F_DUPFD_CLOEXEC, kLowestOwn);
  if (nothing < 0 || serving < 0 || low < 0) ::_exit(1);
  ::close(socket);
  ::close(nothing);
  LetGoOfStreams(low);
  if (::chdir("/") != 0) ::_exit(1);
  struct sigaction action = {};
  action.sa_handler = OnHangUp;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGIO, &action, nullptr);
  ::fcntl(serving, F_SETOWN, ::getpid());
  ::fcntl(serving, F_SETFL, ::fcntl(serving, F_GETFL) | O_ASYNC);
  for (;;) {
    pollfd polled = {serving, POLLIN, 0};
    const int ready = ::poll(&polled, 1, kIdleMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready > 0 && (polled.revents & POLLIN) != 0) {
      if (ServeOne(compile, low)) continue;
    } else if (ready == 0) {
      // A request that comes now finds a closed socket, or is served.
      ::shutdown(serving, SHUT_RD);
      if (::poll(&polled, 1, 0) > 0) ServeOne(compile, low);
    }
    ::_exit(0);
  }
}

void Limit(__rlimit_resource_t resource, std::uint64_t most) {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

}  // namespace

void LimitProcess(std::uint64_t processor_seconds, std::uint64_t memory_bytes) {
  if (processor_seconds != 0) {
    rusage used = {};
    ::getrusage(RUSAGE_SELF, &used);
    // Limits are whole seconds.
    const auto tenths = static_cast<std::uint64_t>(
        (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 10 +
        (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 100'000);
    Limit(RLIMIT_CPU, (tenths + 5) / 10 + processor_seconds);
  }
  if (memory_bytes != 0) Limit(RLIMIT_AS, memory_bytes);
}

int Serve(int socket, const CompileOnce& compile) {
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("cerberus-jit: error: cannot start a process");
    return 1;
  }
  if (child == 0) ServeAll(socket, compile);
  return 0;
}

}  // namespace cerberus
