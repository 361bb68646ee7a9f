#include "cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace cerberus::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> stopped{false};

// Children that run, so that a signal can end them. A child is taken out
// before it is reaped: a process id in here is never another process's.
std::mutex children_mutex;
std::set<pid_t> children;

void KillChildren() {
  const std::lock_guard<std::mutex> lock(children_mutex);
  for (const pid_t child : children) ::kill(child, SIGKILL);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Diag ProcessDiag(const char* what, int err) {
  return MakeDiag(DiagCode::kIo,
                  fmt::format("cannot {}: {}", what, std::strerror(err)));
}

int MemoryFile(const char* name) { return ::memfd_create(name, MFD_CLOEXEC); }

Status WriteAll(int fd, ByteSpan bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Err(ProcessDiag("hand over the input", errno));
    done += static_cast<std::size_t>(n);
  }
  return {};
}

Result<Bytes> ReadAll(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return Err(ProcessDiag("read the output", errno));
  Bytes bytes(static_cast<std::size_t>(size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Err(ProcessDiag("read the output", errno));
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

// In the child, between fork and exec: only calls that are safe there.
void HandOver(int fd, int as) {
  if (fd == as) {
    ::fcntl(fd, F_SETFD, 0);
  } else if (fd >= 0) {
    ::dup2(fd, as);
  }
}

[[noreturn]] void ExecChild(const std::vector<char*>& argv, int in, int out,
                            int err, int progress, int slots,
                            const ProcessLimits& limits, pid_t parent) {
  // We may be killed without a chance to say so.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  // Neither is written over before it has its place.
  if (slots == kProgressDescriptor) slots = ::dup(slots);
  HandOver(progress, kProgressDescriptor);
  HandOver(slots, kSlotsDescriptor);
  if (limits.seconds != 0) {
    // Children of its own may take more.
    rlimit limit{};
    ::getrlimit(RLIMIT_CPU, &limit);
    limit.rlim_cur = std::min<rlim_t>(limits.seconds, limit.rlim_max);
    ::setrlimit(RLIMIT_CPU, &limit);
  }
  if (limits.memory_bytes != 0) {
    const rlimit limit{limits.memory_bytes, limits.memory_bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Waits until the child has ended; does not reap it.
void WaitForEnd(pid_t child, int progress, const ProgressCallback& callback) {
  constexpr int kMilliseconds = 250;
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (pidfd.get() < 0) {  // a kernel before 5.3: no progress
    siginfo_t info;
    while (::waitid(P_PID, static_cast<id_t>(child), &info,
                    WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    return;
  }
  while (true) {
    pollfd poll_for{pidfd.get(), POLLIN, 0};
    const int ready = ::poll(&poll_for, 1, callback ? kMilliseconds : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 0) return;
    char text[256];
    const ssize_t n = ::pread(progress, text, sizeof text, 0);
    callback({text, n > 0 ? static_cast<std::size_t>(n) : 0});
  }
}

}  // namespace

Result<ProcessResult> RunProcess(const std::vector<std::string>& argv,
                                 ByteSpan input, const ProcessLimits& limits,
                                 const ProgressCallback& on_progress,
                                 int slots) {
  const Fd in(MemoryFile("stdin"));
  const Fd out(MemoryFile("stdout"));
  const Fd err(MemoryFile("stderr"));
  const Fd progress(on_progress ? MemoryFile("progress") : -1);
  if (in.get() < 0 || out.get() < 0 || err.get() < 0) {
    return Err(ProcessDiag("make memory files", errno));
  }
  CERB_TRY_VOID(WriteAll(in.get(), input));
  std::vector<char*> args;
  for (const std::string& arg : argv) {
    args.push_back(const_cast<char*>(arg.c_str()));
  }
  args.push_back(nullptr);

  const pid_t parent = ::getpid();
  pid_t child;
  {
    const std::lock_guard<std::mutex> lock(children_mutex);
    // Looked at under the lock: a signal later than this finds the child.
    if (interrupted || stopped) return Err(DiagCode::kIo, "interrupted");
    child = ::fork();
    if (child == 0) {
      ExecChild(args, in.get(), out.get(), err.get(), progress.get(), slots,
                limits, parent);
    }
    if (child < 0) return Err(ProcessDiag("start a process", errno));
    children.insert(child);
  }

  ProcessResult result;
  WaitForEnd(child, progress.get(), on_progress);
  int status = 0;
  {
    const std::lock_guard<std::mutex> lock(children_mutex);
    children.erase(child);
  }
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    result.exit_code = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.timed_out = result.signal == SIGXCPU;
  }
  CERB_TRY(result.out, ReadAll(out.get()));
  CERB_TRY(const Bytes text, ReadAll(err.get()));
  result.err = AsText(text);
  return result;
}

struct InterruptScope::Impl {
  sigset_t old_mask;
  int signals = -1;
  int stop = -1;
  std::thread thread;
};

InterruptScope::InterruptScope() : impl_(std::make_unique<Impl>()) {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaddset(&mask, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &mask, &impl_->old_mask);
  impl_->signals = ::signalfd(-1, &mask, SFD_CLOEXEC);
  impl_->stop = ::eventfd(0, EFD_CLOEXEC);
  impl_->thread = std::thread([signals = impl_->signals, stop = impl_->stop] {
    pollfd fds[2] = {{signals, POLLIN, 0}, {stop, POLLIN, 0}};
    while (true) {
      if (::poll(fds, 2, -1) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (fds[1].revents != 0) return;
      signalfd_siginfo info;
      if (::read(signals, &info, sizeof info) == sizeof info) {
        interrupted = true;
        KillChildren();
      }
    }
  });
}

InterruptScope::~InterruptScope() {
  const std::uint64_t one = 1;
  if (::write(impl_->stop, &one, sizeof one) == sizeof one) {
    impl_->thread.join();
  } else {
    impl_->thread.detach();
  }
  ::close(impl_->signals);
  ::close(impl_->stop);
  // A signal that came after the last look ends the process here, with
  // everything done or undone.
  ::pthread_sigmask(SIG_SETMASK, &impl_->old_mask, nullptr);
}

bool Interrupted() { return interrupted; }

void StopProcesses() {
  stopped = true;
  KillChildren();
}
bool ProcessesStopped() { return stopped; }

}  // namespace cerberus::cli
