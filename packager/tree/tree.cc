#include "packager/tree/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

namespace cerberus::packager {
namespace {

// Room for the folder that the tree goes to.
constexpr std::size_t kMaxPath = PATH_MAX - 512;

std::string ErrnoText(const char* what, int err) {
  return std::string(what) + ": " + std::strerror(err);
}

const char* DescribeOther(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO: return "is a FIFO";
    case S_IFSOCK: return "is a socket";
    case S_IFCHR: return "is a character device";
    case S_IFBLK: return "is a block device";
    default: return "is no file, folder or link";
  }
}

// Below the folder, without following a link; kernels before 5.6 only see to
// the last part of the path.
int OpenBelow(int folder, const char* path, int flags) {
  struct open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
    return static_cast<int>(fd);
  }
  return ::openat(folder, path, flags);
}

Result<std::vector<std::string>> NamesIn(int fd) {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(::dup(fd)), ::closedir);
  if (dir == nullptr) {
    return Err(DiagCode::kIo, ErrnoText("cannot list", errno));
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return Err(DiagCode::kIo, ErrnoText("cannot list", errno));
  std::sort(names.begin(), names.end());
  return names;
}

// What a link at `name` says; empty if that cannot be read.
std::string ReadLink(int folder, const std::string& name, off_t size) {
  std::string target(static_cast<std::size_t>(std::max<off_t>(size, 0)) + 1,
                     '\0');
  if (target.size() == 1) target.resize(PATH_MAX);  // as in /proc
  const ssize_t n =
      ::readlinkat(folder, name.c_str(), target.data(), target.size());
  target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return target;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string Tree::Name(const std::string& path) const {
  return path.empty() ? root_ : root_ + "/" + path;
}

Result<Descriptor> Tree::Open(const std::string& path, int flags) const {
  // A FIFO that took the place of a file must not keep us waiting.
  const int fd =
      OpenBelow(root_fd_.get(), path.empty() ? "." : path.c_str(),
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
  if (fd < 0) return Err(ErrnoDiag(Name(path), "cannot open", errno));
  return Descriptor(fd);
}

Result<Tree> Tree::Read(const std::string& root,
                        const std::function<bool()>& cancelled) {
  Tree tree;
  tree.root_ = root;
  while (tree.root_.size() > 1 && tree.root_.back() == '/') {
    tree.root_.pop_back();
  }
  tree.root_fd_ =
      Descriptor(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (tree.root_fd_.get() < 0) {
    const int err = errno;
    if (err == ENOTDIR) {
      Where where;
      where.file = root;
      return Err(DiagCode::kUsage, std::move(where), "is not a folder");
    }
    return Err(ErrnoDiag(root, "cannot open", err));
  }
  TreeEntry top;
  top.kind = TreeEntry::Kind::kFolder;
  if (::fstat(tree.root_fd_.get(), &top.st) != 0) {
    return Err(ErrnoDiag(root, "cannot stat", errno));
  }
  tree.entries_.push_back(std::move(top));
  // Depth first, by what the list itself holds: a folder's entries are put
  // behind it before the next folder is looked at.
  tree.ReadFolder(0, cancelled);
  if (cancelled && cancelled()) {
    return Err(DiagCode::kIo, "interrupted");
  }
  if (!tree.entries_[0].problem.empty()) {
    Where where;
    where.file = root;
    return Err(DiagCode::kIo, std::move(where), tree.entries_[0].problem);
  }
  std::sort(
      tree.entries_.begin(), tree.entries_.end(),
      [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  return tree;
}

void Tree::ReadFolder(std::size_t top, const std::function<bool()>& cancelled) {
  std::vector<std::size_t> waiting = {top};
  while (!waiting.empty()) {
    if (cancelled && cancelled()) return;
    const std::size_t folder = waiting.back();
    waiting.pop_back();
    const std::string path = entries_[folder].path;
    const Result<Descriptor> opened = Open(path, O_DIRECTORY);
    if (!opened) {
      entries_[folder].problem = opened.error().message;
      continue;
    }
    const Result<std::vector<std::string>> names = NamesIn(opened->get());
    if (!names) {
      entries_[folder].problem = names.error().message;
      continue;
    }
    for (const std::string& name : *names) {
      TreeEntry entry;
      entry.path = path.empty() ? name : path + "/" + name;
      if (::fstatat(opened->get(), name.c_str(), &entry.st,
                    AT_SYMLINK_NOFOLLOW) != 0) {
        entry.problem = ErrnoText("cannot stat", errno);
      } else if (entry.path.size() > kMaxPath) {
        entry.problem =
            "has a path of more than " + std::to_string(kMaxPath) + " bytes";
      } else if (S_ISDIR(entry.st.st_mode)) {
        entry.kind = TreeEntry::Kind::kFolder;
        waiting.push_back(entries_.size());
      } else if (S_ISREG(entry.st.st_mode)) {
        entry.kind = TreeEntry::Kind::kFile;
      } else if (S_ISLNK(entry.st.st_mode)) {
        entry.kind = TreeEntry::Kind::kLink;
        entry.target = ReadLink(opened->get(), name, entry.st.st_size);
        if (entry.target.empty()) entry.problem = "cannot read the link";
      } else {
        entry.problem = DescribeOther(entry.st.st_mode);
      }
      entries_.push_back(std::move(entry));
    }
  }
}

bool StaysInTree(const std::string& link, const std::string& target) {
  if (target.empty() || target[0] == '/') return false;
  long depth = std::count(link.begin(), link.end(), '/');
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    const std::string part = target.substr(at, end - at);
    if (part == "..") --depth;
    if (depth < 0) return false;
    if (!part.empty() && part != "." && part != "..") ++depth;
    at = end + 1;
  }
  return true;
}

std::string UpFrom(const std::string& path) {
  std::string up;
  for (const char c : path) {
    if (c == '/') up += "../";
  }
  return up;
}

}  // namespace cerberus::packager
