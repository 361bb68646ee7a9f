#include "runtime-stub/module/jit_fallback.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "cache/jit_cache.h"
#include "hip/find_emulator.h"
#include "runtime-stub/module/code_object.h"
#include "support/log.h"

extern char** environ;

namespace cerberus::stub {
namespace {

// A compilation that needs more than this is taken for a runaway.
[[maybe_unused]] constexpr std::uint64_t kMemoryLimit = std::uint64_t{16} << 30;
// Of processor time, for a kernel of up to 10,000 PTX instructions; those have
// about 30 bytes each.
constexpr unsigned kDefaultTimeoutSeconds = 300;
constexpr std::size_t kBytesOfTimeout = 300'000;

// Where cerberus-jit writes how far it is.
constexpr int kProgressDescriptor = 3;

// Exit codes of cerberus-jit.
constexpr int kExitDone = 0;
constexpr int kExitSomeKernelsMissing = 3;

constexpr std::size_t kMaxLogBytes = 64 * 1024;

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A program may have closed its standard streams; the child gets its own
// there, so our copies must lie above them.
Fd AboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return Fd(fd);
  Fd moved(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  ::close(fd);
  return moved;
}

Fd MemoryFile(const char* name) {
  return AboveStandard(memfd_create(name, MFD_CLOEXEC));
}

bool WriteAll(int fd, std::string_view text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return lseek(fd, 0, SEEK_SET) == 0;
}

Bytes ReadAll(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size <= 0) return {};
  Bytes bytes(static_cast<std::size_t>(st.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

bool IsExecutable(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// A path, or "cerberus-jit" to be looked for on PATH.
std::string CompilerPath() {
  if (const char* path = std::getenv("CERBERUS_JIT");
      path != nullptr && *path != '\0') {
    return path;
  }
  // lib/cerberus/libcuda.so.1 → bin/cerberus-jit; with a lib folder of two
  // names (lib/x86_64-linux-gnu/cerberus) one folder further up.
  for (const char* up :
       {"/../../bin/cerberus-jit", "/../../../bin/cerberus-jit"}) {
    const std::string path = OwnFolder() + up;
    if (IsExecutable(path)) return path;
  }
  return "cerberus-jit";
}

// Tells one build of the compiler from another of the same version: size and
// time of the program and of the library that it is made of.
std::string CompilerStamp(const std::string& compiler) {
  std::string stamp;
  for (const std::string& path :
       {compiler, OwnFolder() + "/libcerberus-ptxc.so"}) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0) continue;
    for (const auto number : {static_cast<long long>(st.st_size),
                              static_cast<long long>(st.st_mtim.tv_sec),
                              static_cast<long long>(st.st_mtim.tv_nsec)}) {
      stamp += ' ' + std::to_string(number);
    }
  }
  return stamp;
}

unsigned TimeoutSeconds() {
  const char* text = std::getenv("CERBERUS_JIT_TIMEOUT");
  const int seconds = text != nullptr ? std::atoi(text) : 0;
  return seconds > 0 ? static_cast<unsigned>(seconds) : kDefaultTimeoutSeconds;
}

bool IsSetTo(const char* variable, const char* value) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}
// Whether shared memory above the hardware's goes to device memory.
bool SharedOverflow() { return IsSetTo("CERBERUS_SHARED_OVERFLOW", "global"); }
// Whether lanes of a warp go on one by one.
bool SerialLanes() { return IsSetTo("CERBERUS_LANES", "serial"); }

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

struct Child {
  int exit_code = -1;  // -1: ended by a signal, or not known
  int signal = 0;
  bool timed_out = false;
  std::string stderr_text;
};

// A sanitizer's shadow memory is larger than any sensible limit, and a stub
// built with one starts a compiler built with one.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CERB_SANITIZED 1
#endif
#endif
void LimitMemory(pid_t pid) {
#if !defined(CERB_SANITIZED)
  const rlimit limit = {kMemoryLimit, kMemoryLimit};
  prlimit(pid, RLIMIT_AS, &limit, nullptr);
#endif
}

// Processor time of the compiler's first process, which has children for the
// kernels of all but small modules; they see to their own limits.
void LimitTime(pid_t pid, std::size_t ptx_bytes) {
  const std::size_t seconds = TimeoutSeconds();
  rlimit limit = {};
  if (prlimit(pid, RLIMIT_CPU, nullptr, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(
      seconds + seconds * ptx_bytes / kBytesOfTimeout, limit.rlim_max);
  prlimit(pid, RLIMIT_CPU, &limit, nullptr);
}

// What is compiled, for whoever waits.
struct Job {
  const char* name;
  std::size_t ptx_bytes;
};

// Says how far a compilation is that takes long. In plain lines, seldom: the
// terminal belongs to the program, which may have a status line of its own.
class SlowNotices {
 public:
  SlowNotices(const Job& job, const Fd& progress)
      : job_(job), progress_(progress) {}

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
    if (progress_ && ::pread(progress_.get(), text, sizeof text - 1, 0) > 0 &&
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
  const Job& job_;
  const Fd& progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(2);
};

// Starts the program and waits for its end. Returns errno if it cannot be
// started.
int RunChild(const std::vector<std::string>& arguments, const Job& job,
             const Fd& input, const Fd& output, const Fd& progress,
             Child* child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  Fd read_end = AboveStandard(ends[0]);
  Fd write_end = AboveStandard(ends[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  if (progress) {
    posix_spawn_file_actions_adddup2(&actions, progress.get(),
                                     kProgressDescriptor);
  }
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
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<char*> environment = ChildEnvironment();
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes,
                                 argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return error;
  write_end.Close();
  LimitMemory(pid);
  LimitTime(pid, job.ptx_bytes);

  // The pipe closes when the child ends.
  SlowNotices notices(job, progress);
  for (;;) {
    pollfd wait = {read_end.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(notices.Left().count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) break;
    if (ready == 0) {
      notices.Say();
      continue;
    }
    char buffer[4096];
    const ssize_t n = ::read(read_end.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::size_t room = kMaxLogBytes - child->stderr_text.size();
    try {
      child->stderr_text.append(buffer,
                                std::min(static_cast<std::size_t>(n), room));
    } catch (const std::bad_alloc&) {
      // The child still has to be waited for.
    }
  }
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  // A program that ignores SIGCHLD leaves us without a status; the output
  // then speaks for itself.
  if (ended == pid && WIFEXITED(status)) child->exit_code = WEXITSTATUS(status);
  if (ended == pid && WIFSIGNALED(status)) child->signal = WTERMSIG(status);
  child->timed_out = child->signal == SIGXCPU;
  if (ended < 0) child->exit_code = kExitDone;
  return 0;
}

struct CompilerOptions {
  std::string compiler;
  bool keep_going = false;
  bool overflow = false;
  bool serial = false;
  std::string parts_folder;  // "": parts are not kept
};

std::vector<std::string> ArgumentsOf(const CompilerOptions& compile,
                                     const TargetId& target, bool progress) {
  std::vector<std::string> arguments = {
      compile.compiler,
      "--arch",
      target.ToString(),
      "-o",
      "-",
      "--compile-seconds=" + std::to_string(TimeoutSeconds())};
  // What is done of a module when the program is ended is not for nothing.
  if (!compile.parts_folder.empty()) {
    arguments.push_back("--parts=" + compile.parts_folder);
  }
  if (progress) {
    arguments.push_back("--progress-fd=" + std::to_string(kProgressDescriptor));
  }
  if (compile.keep_going) arguments.push_back("--keep-going");
  if (compile.overflow) arguments.push_back("--shared-overflow=global");
  if (compile.serial) arguments.push_back("--lanes=serial");
  arguments.push_back("-");
  return arguments;
}

// Behind what the compiler said.
std::string WhyNoCode(const Child& child, const std::string& compiler) {
  if (child.timed_out) {
    return compiler + ": took longer than CERBERUS_JIT_TIMEOUT, " +
           std::to_string(TimeoutSeconds()) +
           " s of processor time for a small kernel\n";
  }
  if (child.signal != 0) {
    return compiler + ": ended by signal " + std::to_string(child.signal) +
           "\n";
  }
  if (child.stderr_text.empty()) {
    return compiler + ": exit code " + std::to_string(child.exit_code) + "\n";
  }
  return "";
}

}  // namespace

JitResult CompilePtx(std::string_view ptx, const TargetId& target,
                     const std::string& name, bool keep_going) {
  JitResult result;
  const cache::JitCache cache = cache::JitCache::FromEnvironment();
  const bool overflow = SharedOverflow();
  std::string options = keep_going ? "keep-going" : "";
  if (overflow) options += " shared-overflow";
  const bool serial = SerialLanes();
  if (serial) options += " serial-lanes";
  const std::string compiler = CompilerPath();
  options += CompilerStamp(compiler);
  const std::string key = cache::JitCache::Key(ptx, target, options);
  if (std::optional<Bytes> code = cache.Load(key)) {
    Log(LogLevel::kInfo, "jit: cache hit %s", cache.PathOf(key).c_str());
    result.code = *std::move(code);
    result.from = "the jit cache";
    return result;
  }
  // The second attempt at a text has been announced by the first.
  if (!keep_going) {
    LogNotice("compiling %s for %s (no prebuilt code)%s", name.c_str(),
              target.ToString().c_str(),
              cache.enabled() ? "; kept for the next start" : "");
  }
  const Fd input = MemoryFile("ptx");
  const Fd output = MemoryFile("hsaco");
  if (!input || !output || !WriteAll(input.get(), ptx)) {
    Log(LogLevel::kError, "%s: no memory for a compilation: %s", name.c_str(),
        std::strerror(errno));
    result.status = CUDA_ERROR_OPERATING_SYSTEM;
    return result;
  }
  const Fd progress = MemoryFile("progress");
  const std::vector<std::string> arguments =
      ArgumentsOf({compiler, keep_going, overflow, serial,
                   cache.enabled() ? cache.folder() : ""},
                  target, /*progress=*/static_cast<bool>(progress));
  Child child;
  const auto start = std::chrono::steady_clock::now();
  if (const int error = RunChild(arguments, {name.c_str(), ptx.size()}, input,
                                 output, progress, &child);
      error != 0) {
    Log(LogLevel::kError,
        "%s: %s cannot be started: %s. Convert the program for %s, or install "
        "cerberus-jit",
        name.c_str(), compiler.c_str(), std::strerror(error),
        target.processor.c_str());
    result.status = error == ENOENT ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND
                                    : CUDA_ERROR_OPERATING_SYSTEM;
    return result;
  }
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  result.log = child.stderr_text;
  const bool finished =
      !child.timed_out && (child.exit_code == kExitDone ||
                           child.exit_code == kExitSomeKernelsMissing);
  if (finished) result.code = ReadAll(output.get());
  if (!result.code.empty()) {
    // What is no code must not reach the cache either.
    if (const auto info = ReadCodeObject(result.code); !info) {
      result.log += compiler + ": " + info.error().ToString() + "\n";
      result.code.clear();
    }
  }
  if (result.code.empty()) {
    result.log += WhyNoCode(child, compiler);
    Log(LogLevel::kDebug, "jit: %s", result.log.c_str());
    result.status = CUDA_ERROR_INVALID_PTX;
    return result;
  }
  Log(LogLevel::kInfo, "jit: compiled %s for %s in %lld ms", name.c_str(),
      target.ToString().c_str(), static_cast<long long>(spent.count()));
  cache.Store(key, result.code);
  result.from = compiler;
  return result;
}

}  // namespace cerberus::stub
