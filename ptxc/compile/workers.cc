#include "ptxc/compile/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace cerberus::ptx {
namespace {

constexpr std::size_t kMostSaid = 4096;

[[noreturn]] void Work(int pipe, int errors, std::uint64_t seconds,
                       pid_t parent, const std::function<Bytes()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU}) {
    std::signal(signal, SIG_DFL);
  }
  if (errors >= 0) ::dup2(errors, STDERR_FILENO);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  rlimit limit = {};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur =
      seconds == 0 ? limit.rlim_max : std::min<rlim_t>(seconds, limit.rlim_max);
  ::setrlimit(RLIMIT_CPU, &limit);
  const Bytes result = work();
  for (std::size_t done = 0; done < result.size();) {
    const ssize_t n = ::write(pipe, result.data() + done, result.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    done += static_cast<std::size_t>(n);
  }
  ::_exit(0);
}

}  // namespace

Workers::~Workers() {
  for (const Worker& worker : running_) ::kill(worker.pid, SIGKILL);
  for (Worker& worker : running_) Reap(std::move(worker));
}

Status Workers::Start(std::size_t id, std::uint64_t seconds,
                      const std::function<Bytes()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Err(ErrnoDiag("", "cannot make a pipe", errno));
  }
  Worker worker{id, 0, ends[0], ::memfd_create("stderr", MFD_CLOEXEC), {}};
  const pid_t parent = ::getpid();
  worker.pid = ::fork();
  if (worker.pid == 0) Work(ends[1], worker.errors, seconds, parent, work);
  const int error = errno;
  ::close(ends[1]);
  if (worker.pid < 0) {
    ::close(ends[0]);
    ::close(worker.errors);
    return Err(ErrnoDiag("", "cannot start a process", error));
  }
  running_.push_back(std::move(worker));
  return {};
}

Result<std::optional<Workers::Finished>> Workers::Wait(int other) {
  while (!running_.empty()) {
    std::vector<pollfd> polled;
    for (const Worker& worker : running_) {
      polled.push_back({worker.pipe, POLLIN, 0});
    }
    polled.push_back({other, POLLIN, 0});  // -1 is ignored
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return Err(ErrnoDiag("", "cannot wait for a process", errno));
    }
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (polled[i].revents == 0) continue;
      std::uint8_t buffer[1 << 16];
      const ssize_t n = ::read(polled[i].fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n > 0) {
        running_[i].result.insert(running_[i].result.end(), buffer, buffer + n);
        continue;
      }
      Worker worker = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      return Reap(std::move(worker));
    }
    if (polled.back().revents != 0) return std::nullopt;
  }
  return Err(DiagCode::kInternal, "nothing to wait for");
}

Workers::Finished Workers::Reap(Worker worker) {
  int status = 0;
  rusage usage = {};
  while (::wait4(worker.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  Finished finished{worker.id,
                    End::kCrashed,
                    std::move(worker.result),
                    {},
                    seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    finished.end = End::kDone;
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    finished.end = End::kOutOfTime;
  }
  finished.said.resize(kMostSaid);
  const ssize_t n = ::pread(worker.errors, finished.said.data(), kMostSaid, 0);
  finished.said.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(worker.pipe);
  ::close(worker.errors);
  return finished;
}

}  // namespace cerberus::ptx
