#include "packager/tree/tree_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "packager/wheel/record.h"
#include "support/bytes.h"

namespace cerberus::packager {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

// Whether the open file is what the tree's list says.
std::string WhyAnother(int fd, const TreeEntry& entry) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return std::strerror(errno);
  const struct stat& was = entry.st;
  if (!S_ISREG(st.st_mode) || st.st_dev != was.st_dev ||
      st.st_ino != was.st_ino) {
    return "another file has taken its place";
  }
  if (st.st_size != was.st_size || st.st_mtim.tv_sec != was.st_mtim.tv_sec ||
      st.st_mtim.tv_nsec != was.st_mtim.tv_nsec) {
    return "changed while the tree was read";
  }
  return "";
}

Status WriteAll(int fd, ByteSpan bytes, off_t at, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Err(ErrnoDiag(name, "cannot write", errno));
    at += n;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

bool IsZero(ByteSpan bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 &&
          std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Reads the file to its end and, unless `out` is -1, writes it there; pieces of
// zeros become holes where the file has holes.
Result<FileCopy> ReadAndWrite(int in, int out, const TreeEntry& entry,
                              const std::string& to,
                              const std::function<bool()>& cancelled) {
  FileCopy copy;
  Sha256 hash;
  Bytes piece(kPiece);
  const bool has_holes = entry.st.st_blocks * 512 < entry.st.st_size;
  while (true) {
    if (cancelled && cancelled()) {
      copy.problem = "interrupted";
      return copy;
    }
    const ssize_t n = ::read(in, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      copy.problem = std::string("cannot read: ") + std::strerror(errno);
      return copy;
    }
    if (n == 0) break;
    const ByteSpan got = ByteSpan(piece).first(static_cast<std::size_t>(n));
    hash.Update(got);
    if (out >= 0 && !(has_holes && IsZero(got))) {
      CERB_TRY_VOID(WriteAll(out, got, static_cast<off_t>(copy.size), to));
    }
    copy.size += got.size();
  }
  if (out >= 0 && has_holes &&
      ::ftruncate(out, static_cast<off_t>(copy.size)) != 0) {
    return Err(ErrnoDiag(to, "cannot write", errno));
  }
  copy.problem = WhyAnother(in, entry);
  copy.sha256 = hash.Hex();
  return copy;
}

bool HoldsForBytesOnly(std::string_view name) {
  return name == "security.ima" || name == "security.evm";
}

// The names of a file's extended attributes.
std::vector<std::string> AttributeNames(const std::string& path) {
  const ssize_t size = ::llistxattr(path.c_str(), nullptr, 0);
  if (size <= 0) return {};
  std::string list(static_cast<std::size_t>(size), '\0');
  const ssize_t got = ::llistxattr(path.c_str(), list.data(), list.size());
  std::vector<std::string> names;
  for (std::size_t at = 0; got > 0 && at < static_cast<std::size_t>(got);) {
    names.emplace_back(list.c_str() + at);
    at += names.back().size() + 1;
  }
  return names;
}

Status KeepExtended(const std::string& from, const std::string& to,
                    bool changed,
                    const std::function<void(const std::string&)>& lost) {
  for (const std::string& name : AttributeNames(from)) {
    if (changed && HoldsForBytesOnly(name)) continue;
    const ssize_t size = ::lgetxattr(from.c_str(), name.c_str(), nullptr, 0);
    if (size < 0) continue;  // ours to list, not to read
    Bytes value(static_cast<std::size_t>(size));
    const ssize_t got =
        ::lgetxattr(from.c_str(), name.c_str(), value.data(), value.size());
    if (got < 0) continue;
    if (::lsetxattr(to.c_str(), name.c_str(), value.data(),
                    static_cast<std::size_t>(got), 0) == 0) {
      continue;
    }
    if (errno == ENOSPC || errno == EDQUOT) {
      return Err(ErrnoDiag(to, "cannot set the attribute " + name, errno));
    }
    if (lost) lost(name);
  }
  return {};
}

}  // namespace

Result<FileCopy> CopyFile(const Tree& tree, const TreeEntry& entry,
                          const std::string& to, CopyHow how,
                          const std::function<bool()>& cancelled) {
  FileCopy copy;
  const Result<Descriptor> in = tree.Open(entry.path);
  if (!in) {
    copy.problem = in.error().message;
    return copy;
  }
  copy.problem = WhyAnother(in->get(), entry);
  if (!copy.problem.empty()) return copy;
  if (how == CopyHow::kHardLink) {
    CERB_TRY(copy, ReadAndWrite(in->get(), -1, entry, to, cancelled));
    if (!copy.problem.empty()) return copy;
    const std::string open = "/proc/self/fd/" + std::to_string(in->get());
    if (::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, to.c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
      return Err(ErrnoDiag(to, "cannot make a hard link to the input", errno));
    }
    return copy;
  }
  const Descriptor out(::open(
      to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (out.get() < 0) return Err(ErrnoDiag(to, "cannot create", errno));
  int write_to = out.get();
  if (how == CopyHow::kReflink) {
    if (::ioctl(out.get(), FICLONE, in->get()) != 0) {
      return Err(
          ErrnoDiag(to, "cannot share the input's blocks (--reflink)", errno));
    }
    write_to = -1;
  }
  CERB_TRY(copy, ReadAndWrite(in->get(), write_to, entry, to, cancelled));
  if (!copy.problem.empty()) ::unlink(to.c_str());
  return copy;
}

Status CopyLink(const Tree& tree, const TreeEntry& entry,
                const std::string& to) {
  if (::symlink(entry.target.c_str(), to.c_str()) != 0) {
    return Err(ErrnoDiag(to, "cannot create a link", errno));
  }
  CERB_TRY_VOID(KeepAttributes(tree, entry, to, false));
  return {};
}

Result<unsigned> KeepAttributes(
    const Tree& tree, const TreeEntry& entry, const std::string& path,
    bool changed, const std::function<void(const std::string&)>& unsupported) {
  const struct stat& st = entry.st;
  const bool is_link = entry.kind == TreeEntry::Kind::kLink;
  unsigned mode = st.st_mode & 07777;
  struct stat now;
  if (::lstat(path.c_str(), &now) != 0) {
    return Err(ErrnoDiag(path, "cannot stat", errno));
  }
  if ((now.st_uid != st.st_uid || now.st_gid != st.st_gid) &&
      ::lchown(path.c_str(), st.st_uid, st.st_gid) != 0 &&
      S_ISREG(st.st_mode)) {
    // As cp does it: what runs as its owner must not run as another.
    mode &= ~06000u;
  }
  CERB_TRY_VOID(
      KeepExtended(tree.Name(entry.path), path, changed, unsupported));
  // Behind the owner and the attributes: both may take bits away.
  if (!is_link && ::chmod(path.c_str(), mode) != 0) {
    return Err(ErrnoDiag(path, "cannot set the mode", errno));
  }
  const timespec times[2] = {st.st_atim, st.st_mtim};
  if (::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return Err(ErrnoDiag(path, "cannot set the times", errno));
  }
  if (::lstat(path.c_str(), &now) != 0) {
    return Err(ErrnoDiag(path, "cannot stat", errno));
  }
  return now.st_mode & 07777;
}

}  // namespace cerberus::packager
