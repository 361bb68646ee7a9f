#include "cache/jit_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <vector>

#include "formats/launch_abi.h"
#include "kpack/content_key.h"
#include "support/log.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/version.h"

namespace cerberus::cache {
namespace {

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{1} << 30;
constexpr std::string_view kExtension = ".cerbjit";

// Every file starts with this.
struct EntryHeader {
  char magic[8];
  std::uint64_t size;  // of the code behind the header
  std::uint64_t hash;  // XXH3-64 of it
};
constexpr char kMagic[] = "CERBJIT1";

// A program with rights that whoever starts it has not (set-user-ID) has no
// cache: they would say what is in it, and where it writes.
std::string Environment(const char* name) {
  const char* text = secure_getenv(name);
  return text != nullptr ? text : "";
}

// Makes the folder and those above it.
bool MakeFolders(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);;
       slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

void ComplainOnce(const std::string& what) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    Log(LogLevel::kWarning, "jit cache: %s", what.c_str());
  }
}

// Files of a shared folder are for whom the folder is for.
unsigned ModeOfFiles(const std::string& folder) {
  struct stat st;
  return stat(folder.c_str(), &st) == 0 ? st.st_mode & 0666 : 0600;
}

// Where a file cannot be made without a name, as on NFS, one that is being
// written is ".NAME.XXXXXX" (support/output_file.h). Its writer may be on
// another machine; after a day there is none any more.
bool IsLeftOver(const std::string& name, const struct stat& st) {
  constexpr std::int64_t kDay = 86400;
  return name.front() == '.' &&
         name.find(std::string(kExtension) + ".") != std::string::npos &&
         st.st_mtime + kDay < time(nullptr);
}

// A file that grows beyond RLIMIT_FSIZE brings the writer a signal, which ends
// programs that do not expect it, and they did not ask for the file. On Linux
// sigprocmask is the thread's (sigprocmask(2)); pthread_sigmask would need
// glibc 2.32.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    const timespec now = {};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &now);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

}  // namespace

JitCache JitCache::FromEnvironment() {
  const std::string disabled = Environment("CUDA_CACHE_DISABLE");
  if (!disabled.empty() && disabled != "0") return JitCache("", 0);
  std::string folder = Environment("CUDA_CACHE_PATH");
  if (folder.empty()) {
    const std::string xdg = Environment("XDG_CACHE_HOME");
    const std::string home = Environment("HOME");
    // The XDG specification has relative paths ignored.
    if (!xdg.empty() && xdg[0] == '/') {
      folder = xdg + "/cerberus";
    } else if (!home.empty()) {
      folder = home + "/.cache/cerberus";
    }
  }
  std::uint64_t max_bytes = kDefaultMaxBytes;
  if (const std::string text = Environment("CUDA_CACHE_MAXSIZE");
      !text.empty()) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (*end == '\0') max_bytes = value;
  }
  return JitCache(std::move(folder), max_bytes);
}

std::string JitCache::Key(std::string_view ptx, const TargetId& target,
                          std::string_view options) {
  // Lengths keep neighbouring parts apart.
  Bytes all;
  const auto add = [&all](std::string_view part) {
    AppendLe(all, static_cast<std::uint64_t>(part.size()));
    all.insert(all.end(), part.begin(), part.end());
  };
  add(target.ToString());
  add(options);
  add(kVersion);
  AppendLe(all, std::uint64_t{formats::kLaunchAbi});
  add(ptx.substr(0, ptx.find_last_not_of('\0') + 1));
  return kpack::Hash128Hex(all);
}

std::string JitCache::PathOf(const std::string& key) const {
  return folder_ + "/" + key + std::string(kExtension);
}

Bytes JitCache::WriteFileOf(ByteSpan code) {
  EntryHeader header;
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.size = code.size();
  header.hash = XXH3_64bits(code.data(), code.size());
  Bytes file(sizeof header);
  std::memcpy(file.data(), &header, sizeof header);
  file.insert(file.end(), code.begin(), code.end());
  return file;
}

std::optional<ByteSpan> JitCache::ReadFile(ByteSpan file) {
  EntryHeader header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  const ByteSpan code = file.subspan(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 ||
      header.size != code.size() ||
      header.hash != XXH3_64bits(code.data(), code.size())) {
    return std::nullopt;
  }
  return code;
}

std::optional<Bytes> JitCache::Load(const std::string& key) const {
  if (!enabled()) return std::nullopt;
  const std::string path = PathOf(key);
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return std::nullopt;
  const ByteSpan bytes = file->bytes();
  // Whoever filled the folder had nothing to put here.
  if (bytes.empty() && sharing_ == Sharing::kReadOnly) return std::nullopt;
  const std::optional<ByteSpan> code = ReadFile(bytes);
  const bool may_change = sharing_ != Sharing::kReadOnly;
  if (!code) {
    Log(LogLevel::kWarning, "jit cache: %s is damaged, compiling again",
        path.c_str());
    if (may_change) unlink(path.c_str());
    return std::nullopt;
  }
  // The modification time says when an entry was last of use.
  if (may_change) utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return Bytes(code->begin(), code->end());
}

void JitCache::Store(const std::string& key, ByteSpan code) const {
  if (!enabled() || sharing_ == Sharing::kReadOnly) return;
  const bool shared = sharing_ == Sharing::kShared;
  const std::uint64_t bytes = sizeof(EntryHeader) + code.size();
  if (bytes > max_bytes_) return;
  if (!MakeFolders(folder_, shared ? 0777 : 0700)) {
    ComplainOnce(folder_ + ": " + std::strerror(errno));
    return;
  }
  // What is not bounded need not be counted each time.
  if (max_bytes_ != kUnbounded) PruneTo(max_bytes_ - bytes);
  const WithoutFileSizeSignal quietly;
  Status written = WriteFile(PathOf(key), WriteFileOf(code),
                             shared ? ModeOfFiles(folder_) : 0600);
  if (!written) ComplainOnce(written.error().ToString());
}

std::vector<JitCacheEntry> JitCache::Entries() const {
  std::vector<JitCacheEntry> entries;
  DIR* dir = enabled() ? opendir(folder_.c_str()) : nullptr;
  if (dir == nullptr) return entries;
  while (const dirent* found = readdir(dir)) {
    const std::string_view name = found->d_name;
    if (name.size() <= kExtension.size() ||
        name.substr(name.size() - kExtension.size()) != kExtension) {
      continue;
    }
    JitCacheEntry entry;
    entry.path = folder_ + "/" + found->d_name;
    struct stat st;
    if (stat(entry.path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    entry.size = static_cast<std::uint64_t>(st.st_size);
    entry.used =
        st.st_mtim.tv_sec * std::int64_t{1'000'000'000} + st.st_mtim.tv_nsec;
    entries.push_back(std::move(entry));
  }
  closedir(dir);
  std::sort(entries.begin(), entries.end(),
            [](const JitCacheEntry& a, const JitCacheEntry& b) {
              return a.used < b.used;
            });
  return entries;
}

std::size_t JitCache::PruneTo(std::uint64_t bytes) const {
  const std::vector<JitCacheEntry> entries = Entries();
  std::uint64_t total = 0;
  for (const JitCacheEntry& entry : entries) total += entry.size;
  std::size_t removed = 0;
  for (const JitCacheEntry& entry : entries) {
    if (total <= bytes) break;
    // Another process may have been faster.
    if (unlink(entry.path.c_str()) == 0) ++removed;
    total -= entry.size;
    Log(LogLevel::kDebug, "jit cache: removed %s", entry.path.c_str());
  }
  if (sharing_ == Sharing::kShared) RemoveLeftOvers();
  return removed;
}

void JitCache::RemoveLeftOvers() const {
  DIR* dir = opendir(folder_.c_str());
  if (dir == nullptr) return;
  while (const dirent* found = readdir(dir)) {
    const std::string path = folder_ + "/" + found->d_name;
    struct stat st;
    if (lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
        IsLeftOver(found->d_name, st)) {
      unlink(path.c_str());
    }
  }
  closedir(dir);
}

}  // namespace cerberus::cache
