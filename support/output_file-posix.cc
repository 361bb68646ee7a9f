#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/output_file.h"

namespace cerberus {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A hidden name beside the target: rename must not cross file systems.
std::string TempName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string base =
      slash == std::string::npos ? path : path.substr(slash + 1);
  return FolderOf(path) + "/." + base.substr(0, 200) + ".XXXXXX";
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path, unsigned mode) {
  OutputFile file;
  file.path_ = path;
  // A folder, a device or a pipe under the target's name must not be
  // replaced by a file.
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) {
    Where where;
    where.file = path;
    return Err(DiagCode::kIo, std::move(where),
               S_ISDIR(st.st_mode)
                   ? "is a directory, expected the name of an output file"
                   : "exists and is not a regular file");
  }
  const std::string folder = FolderOf(path);
  file.fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file.fd_ < 0) {
    // No O_TMPFILE here (NFS, overlayfs of old kernels): a named temporary.
    std::string name = TempName(path);
    file.fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file.fd_ < 0) return Err(ErrnoDiag(path, "cannot create", errno));
    file.temp_path_ = std::move(name);
  }
  if (::fchmod(file.fd_, mode & 07777) != 0) {
    return Err(ErrnoDiag(path, "cannot set the mode", errno));
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temp_path_(std::exchange(other.temp_path_, {})),
      size_(other.size_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    Discard();
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
    temp_path_ = std::exchange(other.temp_path_, {});
    size_ = other.size_;
  }
  return *this;
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Discard() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temp_path_.empty()) ::unlink(temp_path_.c_str());
  temp_path_.clear();
}

Status OutputFile::Append(ByteSpan bytes) { return WriteAt(size_, bytes); }

Status OutputFile::WriteAt(std::uint64_t offset, ByteSpan bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pwrite(fd_, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return Err(ErrnoDiag(path_, "cannot write", errno));
    }
    done += static_cast<std::size_t>(n);
  }
  if (offset + bytes.size() > size_) size_ = offset + bytes.size();
  return {};
}

Status OutputFile::CopyFrom(const InputFile& file) {
  if (::ioctl(fd_, FICLONE, file.descriptor()) == 0) {
    size_ = file.size();
    return {};
  }
  return AppendFrom(file, 0, file.size());
}

Status OutputFile::TakeAttributesOf(const InputFile& file) {
  const int from = file.descriptor();
  struct stat st;
  if (::fstat(from, &st) != 0) {
    return Err(ErrnoDiag(file.path(), "cannot stat", errno));
  }
  if (::fchown(fd_, st.st_uid, st.st_gid) != 0 && errno != EPERM) {
    return Err(ErrnoDiag(path_, "cannot set the owner", errno));
  }
  if (::fchmod(fd_, st.st_mode & 07777) != 0) {
    return Err(ErrnoDiag(path_, "cannot set the mode", errno));
  }
  const ssize_t size = ::flistxattr(from, nullptr, 0);
  if (size <= 0) return {};  // none, or none that can be read
  std::string names(static_cast<std::size_t>(size), '\0');
  const ssize_t listed = ::flistxattr(from, names.data(), names.size());
  names.resize(listed > 0 ? static_cast<std::size_t>(listed) : 0);
  for (std::size_t at = 0; at < names.size();) {
    const char* name = names.c_str() + at;
    at += std::strlen(name) + 1;
    const ssize_t length = ::fgetxattr(from, name, nullptr, 0);
    if (length < 0) continue;
    std::string value(static_cast<std::size_t>(length), '\0');
    if (::fgetxattr(from, name, value.data(), value.size()) == length) {
      (void)::fsetxattr(fd_, name, value.data(), value.size(), 0);
    }
  }
  return {};
}

Status OutputFile::AppendFrom(const InputFile& file, std::uint64_t offset,
                              std::uint64_t size) {
  const int from = file.descriptor();
  off_t in = static_cast<off_t>(offset), out = static_cast<off_t>(size_);
  const std::uint64_t end = size_ + size;
  while (static_cast<std::uint64_t>(out) < end) {
    const ssize_t n = ::copy_file_range(
        from, &in, fd_, &out, end - static_cast<std::uint64_t>(out), 0);
    if (n > 0) continue;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
      return Err(ErrnoDiag(path_, "cannot write", errno));
    }
    break;  // not between these file systems; the rest goes through memory
  }
  size_ = static_cast<std::uint64_t>(out);
  Bytes buffer(size_ < end ? 1 << 20 : 0);
  while (size_ < end) {
    const ssize_t n =
        ::pread(from, buffer.data(),
                std::min<std::uint64_t>(buffer.size(), end - size_), in);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Err(ErrnoDiag(file.path(), "cannot read", errno));
    if (n == 0) break;  // it shrank; the caller compares sizes
    in += n;
    CERB_TRY_VOID(Append(ByteSpan(buffer).first(static_cast<std::size_t>(n))));
  }
  return {};
}

Result<MappedFile> OutputFile::Map() const {
  return MappedFile::FromDescriptor(fd_, path_);
}

std::string OutputFile::OpenName() const {
  return fmt::format("/proc/self/fd/{}", fd_);
}

Status OutputFile::Commit() {
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    return Err(ErrnoDiag(path_, "cannot write", errno));
  }
  if (temp_path_.empty()) {
    // linkat cannot replace, so the unnamed file gets a hidden name for the
    // moment between link and rename.
    const std::string self = OpenName();
    std::string name;
    for (int i = 0;; ++i) {
      name = TempName(path_);
      name.replace(name.size() - 6, 6, fmt::format("{}.{}", ::getpid(), i));
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                   AT_SYMLINK_FOLLOW) == 0) {
        break;
      }
      if (errno != EEXIST || i == 100) {
        return Err(ErrnoDiag(path_, "cannot create", errno));
      }
    }
    temp_path_ = std::move(name);
  }
  if (::rename(temp_path_.c_str(), path_.c_str()) != 0) {
    return Err(ErrnoDiag(path_, "cannot rename into place", errno));
  }
  temp_path_.clear();
  ::close(fd_);
  fd_ = -1;
  return {};
}

Status WriteFile(const std::string& path, ByteSpan bytes, unsigned mode) {
  CERB_TRY(OutputFile file, OutputFile::Create(path, mode));
  CERB_TRY_VOID(file.Append(bytes));
  return file.Commit();
}

}  // namespace cerberus
