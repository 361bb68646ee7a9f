#include "runtime-stub/module/compiler_server.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>

#include "support/compile_request.h"
#include "support/log.h"

extern char** environ;

namespace cerberus::stub {
namespace {

constexpr std::size_t kMaxLogBytes = 64 * 1024;
// Where a server finds its socket.
constexpr int kSocketDescriptor = 3;

// The program's environment without what is meant for the program alone.
std::vector<char*> ChildEnvironment() {
  constexpr std::string_view kDropped = "LD_PRELOAD=";
  std::vector<char*> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).substr(0, kDropped.size()) != kDropped) {
      out.push_back(*entry);
    }
  }
  out.push_back(nullptr);
  return out;
}

// Says how far a compilation is that takes long. In plain lines, seldom: the
// terminal belongs to the program, which may have a status line of its own.
class SlowNotices {
 public:
  explicit SlowNotices(const CompilerJob& job) : job_(job) {}

  // Until the next one.
  std::chrono::milliseconds Left() const {
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::duration_cast<std::chrono::milliseconds>(
                        next_ - Clock::now()));
  }
  void Say() {
    const auto now = Clock::now();
    const double spent = std::chrono::duration<double>(now - start_).count();
    // 2 s, 6 s, 18 s, 54 s, then each minute.
    const auto passed =
        std::chrono::duration_cast<std::chrono::seconds>(now - start_);
    next_ = now + std::min(2 * std::max(passed, std::chrono::seconds(1)),
                           std::chrono::seconds(60));
    char text[128] = {};
    std::size_t kernels_done = 0, kernels = 0, done = 0, all = 0;
    if (job_.progress &&
        ::pread(job_.progress.get(), text, sizeof text - 1, 0) > 0 &&
        std::sscanf(text, "%zu %zu %zu %zu", &kernels_done, &kernels, &done,
                    &all) == 4 &&
        done != 0) {
      const double left =
          spent * static_cast<double>(all - done) / static_cast<double>(done);
      LogNotice(
          "still compiling %s (%zu kB of PTX): %zu of %zu kernels, about "
          "%.0f s left",
          job_.name, job_.ptx_bytes / 1000, kernels_done, kernels,
          std::max(1.0, left));
    } else {
      LogNotice("still compiling %s (%zu kB of PTX) after %.0f s", job_.name,
                job_.ptx_bytes / 1000, spent);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  const CompilerJob& job_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(2);
};

// A pair of sockets or pipe ends. Returns errno.
int TakeEnds(const int (&ends)[2], Fd* first, Fd* second) {
  *first = AboveCompilers(ends[0]);
  *second = AboveCompilers(ends[1]);
  return *first && *second ? 0 : errno;
}

// One process and our end of the pair of sockets.
class Server {
 public:
  // Returns errno. What cannot be said over the socket goes to `errors`.
  static int Start(const CompilerJob& job, const Fd& errors,
                   std::unique_ptr<Server>* out);

  ~Server() {
    // A program may have closed what it does not know, and opened others.
    if (!IsOurs()) socket_.Release();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool IsFor(const CompilerJob& job) const {
    return key_ == job.compiler + job.build;
  }
  // Whether it waits for a request. One that was started before a fork is the
  // parent's.
  bool IsIdle() const {
    if (owner_ != getpid() || !IsOurs()) return false;
    pollfd polled = {socket_.get(), POLLIN, 0};
    return poll(&polled, 1, 0) == 0;
  }
  bool Send(const CompilerJob& job, const Fd& errors) const {
    return SendCompileRequest(
        socket_.get(), job.arguments,
        {job.input.get(), job.output.get(), errors.get(),
         job.progress ? job.progress.get() : errors.get()});
  }
  void ReceiveEnd(CompilerEnd* end) {
    const std::optional<std::int32_t> answer =
        ReceiveCompileAnswer(socket_.get());
    if (!answer) {
      end->exit_code = WaitForStart();
    } else if (*answer >= kEndedBySignal) {
      end->signal = *answer - kEndedBySignal;
    } else {
      end->exit_code = *answer;
    }
  }
  // The process that we started has the server as its child and ends at once.
  // Returns its exit code if it did not come to that.
  int WaitForStart() {
    if (starter_ <= 0) return -1;
    int status = 0;
    pid_t ended;
    do {
      ended = waitpid(starter_, &status, 0);
    } while (ended < 0 && errno == EINTR);
    const bool failed =
        ended == starter_ && WIFEXITED(status) && WEXITSTATUS(status) != 0;
    starter_ = -1;
    return failed ? WEXITSTATUS(status) : -1;
  }

 private:
  Server() = default;

  static ino_t InodeOf(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
  }
  bool IsOurs() const { return InodeOf(socket_.get()) == inode_; }

  Fd socket_;
  ino_t inode_ = 0;
  pid_t owner_ = 0;
  pid_t starter_ = -1;
  std::string key_;
};

int Server::Start(const CompilerJob& job, const Fd& errors,
                  std::unique_ptr<Server>* out) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno;
  }
  std::unique_ptr<Server> server(new Server);
  Fd theirs;
  if (const int error = TakeEnds(ends, &server->socket_, &theirs); error != 0) {
    return error;
  }
  server->inode_ = InodeOf(server->socket_.get());
  server->owner_ = getpid();
  server->key_ = job.compiler + job.build;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kSocketDescriptor);
  // What the program blocks or handles is its own business.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = job.compiler;
  std::string serve = "--serve";
  std::string at = std::to_string(kSocketDescriptor);
  char* const argv[] = {name.data(), serve.data(), at.data(), nullptr};
  std::vector<char*> environment = ChildEnvironment();
  const int error = posix_spawnp(&server->starter_, argv[0], &actions,
                                 &attributes, argv, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return error;
  *out = std::move(server);
  return 0;
}

// Those that wait, as many as are worth their memory. No lock: a program may
// fork while another thread compiles.
constexpr std::size_t kMostIdle = 4;
std::atomic<Server*> idle[kMostIdle];

std::unique_ptr<Server> TakeIdle(const CompilerJob& job) {
  for (std::atomic<Server*>& slot : idle) {
    std::unique_ptr<Server> server(slot.exchange(nullptr));
    if (server && server->IsFor(job) && server->IsIdle()) return server;
  }
  return nullptr;
}

void KeepIdle(std::unique_ptr<Server> server) {
  Server* const kept = server.release();
  for (std::atomic<Server*>& slot : idle) {
    Server* none = nullptr;
    if (slot.compare_exchange_strong(none, kept)) return;
  }
  server.reset(kept);
}

// A server with the request.
int SendJob(const CompilerJob& job, const Fd& errors,
            std::unique_ptr<Server>* server) {
  while ((*server = TakeIdle(job))) {
    if ((*server)->Send(job, errors)) return 0;
  }
  const int error = Server::Start(job, errors, server);
  // One that does not come to its request says why.
  if (error == 0) static_cast<void>((*server)->Send(job, errors));
  return error;
}

// The pipe closes when the compilation ends.
void ReadErrors(const CompilerJob& job, const Fd& pipe, std::string* text) {
  SlowNotices notices(job);
  for (;;) {
    pollfd wait = {pipe.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(notices.Left().count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) break;
    if (ready == 0) {
      notices.Say();
      continue;
    }
    char buffer[4096];
    const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    // Reserved: to run out of memory here would leave the end unheard.
    const std::size_t room = text->capacity() - text->size();
    text->append(buffer, std::min(static_cast<std::size_t>(n), room));
  }
}

}  // namespace

Fd AboveCompilers(int fd) {
  constexpr int kHighest =
      std::max(kSocketDescriptor, CompileRequest::kProgress);
  if (fd < 0 || fd > kHighest) return Fd(fd);
  Fd moved(fcntl(fd, F_DUPFD_CLOEXEC, kHighest + 1));
  ::close(fd);
  return moved;
}

int RunCompiler(const CompilerJob& job, CompilerEnd* end) {
  end->stderr_text.reserve(kMaxLogBytes);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  Fd read_end, write_end;
  if (const int error = TakeEnds(ends, &read_end, &write_end); error != 0) {
    return error;
  }
  std::unique_ptr<Server> server;
  if (const int error = SendJob(job, write_end, &server); error != 0) {
    return error;
  }
  write_end.Close();
  ReadErrors(job, read_end, &end->stderr_text);
  server->ReceiveEnd(end);
  server->WaitForStart();
  // What was refused may have been given up halfway.
  if (end->exit_code == 0) KeepIdle(std::move(server));
  return 0;
}

}  // namespace cerberus::stub
