#include "runtime-stub/module/jit_fallback.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "cache/jit_cache.h"
#include "hip/find_emulator.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/module/code_object.h"
#include "runtime-stub/module/compiler_server.h"
#include "support/compile_request.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// A compilation that needs more than this is taken for a runaway.
constexpr std::uint64_t kMemoryLimit = std::uint64_t{16} << 30;
// Of processor time, for a kernel of up to 10,000 PTX instructions; those have
// about 30 bytes each.
constexpr unsigned kDefaultTimeoutSeconds = 300;
constexpr std::size_t kBytesOfTimeout = 300'000;

// A sanitizer's shadow memory is larger than any sensible limit, and a stub
// built with one starts a compiler built with one.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CERB_SANITIZED 1
#endif
#endif
#if defined(CERB_SANITIZED)
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif

// Exit codes of cerberus-jit.
constexpr int kExitDone = 0;
constexpr int kExitSomeKernelsMissing = 3;

Fd MemoryFile(const char* name) {
  return AboveCompilers(memfd_create(name, MFD_CLOEXEC));
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

// A path, or "cerberus-jit" to be looked for on PATH, but not by a program with
// rights that whoever sets PATH has not.
std::string CompilerPath() {
  if (const char* path = secure_getenv("CERBERUS_JIT");
      path != nullptr && *path != '\0') {
    return path;
  }
  // lib/cerberus/libcuda.so.1 → bin/cerberus-jit; with a lib folder of two
  // names (lib/x86_64-linux-gnu/cerberus) one folder further up.
  std::string path;
  for (const char* up :
       {"/../../bin/cerberus-jit", "/../../../bin/cerberus-jit"}) {
    path = OwnFolder() + up;
    if (IsExecutable(path)) return path;
  }
  return getauxval(AT_SECURE) != 0 ? path : "cerberus-jit";
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

// Whether lanes of a warp go on one by one.
bool SerialLanes() {
  const char* text = std::getenv("CERBERUS_LANES");
  return text != nullptr && std::strcmp(text, "serial") == 0;
}

// The compiler has a folder of its own.
std::string Absolute(const std::string& path) {
  char folder[PATH_MAX];
  if (path.front() == '/' || getcwd(folder, sizeof folder) == nullptr) {
    return path;
  }
  return std::string(folder) + '/' + path;
}

struct CompilerOptions {
  bool keep_going = false;
  bool overflow = false;
  bool serial = false;
  std::string kernel;
  std::string_view variables;
  std::string parts_folder;  // "": parts are not kept
};

std::vector<std::string> ArgumentsOf(const CompilerOptions& compile,
                                     const TargetId& target,
                                     std::size_t ptx_bytes, bool progress) {
  const std::size_t seconds = TimeoutSeconds();
  std::vector<std::string> arguments = {
      "--arch", target.ToString(), "-o", "-",
      "--compile-seconds=" + std::to_string(seconds),
      // Kernels of all but small modules have processes of their own, which
      // see to their own limits.
      "--processor-seconds=" +
          std::to_string(seconds + seconds * ptx_bytes / kBytesOfTimeout)};
  if (kLimitMemory) {
    arguments.push_back("--memory-bytes=" + std::to_string(kMemoryLimit));
  }
  // What is done of a module when the program is ended is not for nothing.
  if (!compile.parts_folder.empty()) {
    arguments.push_back("--parts=" + Absolute(compile.parts_folder));
  }
  if (progress) {
    arguments.push_back("--progress-fd=" +
                        std::to_string(CompileRequest::kProgress));
  }
  if (compile.keep_going) arguments.push_back("--keep-going");
  if (compile.overflow) arguments.push_back("--shared-overflow=global");
  if (compile.serial) arguments.push_back("--lanes=serial");
  if (!compile.kernel.empty()) {
    arguments.push_back("--kernel=" + compile.kernel);
  }
  if (!compile.variables.empty()) {
    arguments.push_back("--variables=" + std::string(compile.variables));
  }
  arguments.push_back("-");
  return arguments;
}

// Behind what the compiler said.
std::string WhyNoCode(const CompilerEnd& end, const std::string& compiler) {
  if (end.signal == SIGXCPU) {
    return compiler + ": took longer than CERBERUS_JIT_TIMEOUT, " +
           std::to_string(TimeoutSeconds()) +
           " s of processor time for a small kernel\n";
  }
  if (!end.stderr_text.empty()) return "";
  if (end.exit_code < 0) return compiler + ": ended without an answer\n";
  return compiler + ": exit code " + std::to_string(end.exit_code) + "\n";
}

// Options that change the code, for the key under which it is kept; `build` is
// the compiler's.
std::string OptionsOf(const JitRequest& request, const std::string& build) {
  std::string options = request.keep_going ? "keep-going" : "";
  if (SharedOverflow()) options += " shared-overflow";
  if (SerialLanes()) options += " serial-lanes";
  if (!request.kernel.empty()) options += " kernel " + request.kernel;
  if (!request.variables.empty()) {
    options += " variables " + std::string(request.variables);
  }
  return options + build;
}

std::optional<JitResult> FindKept(const cache::JitCache& cache,
                                  const std::string& key) {
  std::optional<Bytes> code = cache.Load(key);
  if (!code) return std::nullopt;
  Log(LogLevel::kInfo, "jit: cache hit %s", cache.PathOf(key).c_str());
  JitResult result;
  result.code = *std::move(code);
  result.from = "the jit cache";
  return result;
}

// Of what is compiled as it is used the first is announced.
void Announce(const JitRequest& request, bool kept) {
  const std::string target = request.target.ToString();
  const char* for_next = kept ? "; kept for the next start" : "";
  if (request.from == PtxFrom::kProgram) {
    Log(LogLevel::kInfo, "compiling %s for %s%s", request.name.c_str(),
        target.c_str(), for_next);
    return;
  }
  const bool as_used = !request.kernel.empty() || request.variables == "alone";
  if (as_used) {
    static std::mutex mutex;
    static auto& said = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!said.insert(request.name).second) return;
  }
  LogNotice("compiling %s%s for %s (no prebuilt code)%s",
            as_used ? "what is used of " : "", request.name.c_str(),
            target.c_str(), for_next);
}

}  // namespace

std::optional<JitResult> FindCompiled(const JitRequest& request) {
  const cache::JitCache cache = cache::JitCache::FromEnvironment();
  return FindKept(
      cache,
      cache::JitCache::Key(request.ptx, request.target,
                           OptionsOf(request, CompilerStamp(CompilerPath()))));
}

JitResult CompilePtx(const JitRequest& request) {
  const cache::JitCache cache = cache::JitCache::FromEnvironment();
  const std::string compiler = CompilerPath();
  const std::string build = CompilerStamp(compiler);
  const std::string key = cache::JitCache::Key(request.ptx, request.target,
                                               OptionsOf(request, build));
  if (std::optional<JitResult> kept = FindKept(cache, key)) {
    return *std::move(kept);
  }
  // The second attempt at a text has been announced by the first.
  if (!request.keep_going) Announce(request, cache.enabled());
  JitResult result;
  const std::string& name = request.name;
  const TargetId& target = request.target;
  const Fd input = MemoryFile("ptx");
  const Fd output = MemoryFile("hsaco");
  if (!input || !output || !WriteAll(input.get(), request.ptx)) {
    Log(LogLevel::kError, "%s: no memory for a compilation: %s", name.c_str(),
        std::strerror(errno));
    result.status = CUDA_ERROR_OPERATING_SYSTEM;
    return result;
  }
  const Fd progress = MemoryFile("progress");
  CompilerEnd end;
  const auto start = std::chrono::steady_clock::now();
  if (const int error = RunCompiler(
          {compiler, build,
           ArgumentsOf({request.keep_going, SharedOverflow(), SerialLanes(),
                        request.kernel, request.variables,
                        cache.enabled() ? cache.folder() : ""},
                       target, request.ptx.size(),
                       /*progress=*/static_cast<bool>(progress)),
           name.c_str(), request.ptx.size(), input, output, progress},
          &end);
      error != 0) {
    // A kernel alone is tried with all the others after that.
    Log(request.kernel.empty() ? LogLevel::kError : LogLevel::kDebug,
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
  result.log = end.stderr_text;
  const bool finished =
      end.exit_code == kExitDone || end.exit_code == kExitSomeKernelsMissing;
  if (finished) result.code = ReadAll(output.get());
  if (!result.code.empty()) {
    // What is no code must not reach the cache either.
    if (const auto info = ReadCodeObject(result.code); !info) {
      result.log += compiler + ": " + info.error().ToString() + "\n";
      result.code.clear();
    }
  }
  if (result.code.empty()) {
    result.log += WhyNoCode(end, compiler);
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
