#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "support/input_file.h"

namespace cerberus {
namespace {

int OpenForReading(const std::string& path) {
  // Opening a pipe must not wait for who writes it.
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool SameFile(int fd, const struct stat& opened) {
  struct stat now;
  return ::fstat(fd, &now) == 0 && now.st_dev == opened.st_dev &&
         now.st_ino == opened.st_ino && now.st_size == opened.st_size &&
         now.st_mtim.tv_sec == opened.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == opened.st_mtim.tv_nsec;
}

}  // namespace

Result<InputFile> InputFile::Open(const std::string& path) {
  InputFile file;
  file.path_ = path;
  file.fd_ = OpenForReading(path);
  if (file.fd_ < 0) return Err(ErrnoDiag(path, "cannot open", errno));
  if (::fstat(file.fd_, &file.opened_) != 0) {
    return Err(ErrnoDiag(path, "cannot stat", errno));
  }
  if (!S_ISREG(file.opened_.st_mode)) {
    Where where;
    where.file = path;
    return Err(DiagCode::kIo, std::move(where),
               S_ISDIR(file.opened_.st_mode) ? "is a directory, expected a file"
                                             : "is not a regular file");
  }
  return file;
}

Result<Bytes> InputFile::Read(std::uint64_t offset, std::uint64_t size) const {
  const auto fail = [&](const char* message) {
    Where where;
    where.file = path_;
    where.offset = static_cast<std::int64_t>(offset);
    return Err(DiagCode::kIo, std::move(where), message);
  };
  if (offset > this->size() || size > this->size() - offset) {
    return fail("runs past the end of the file");
  }
  // A program may have closed all descriptors it did not know, and its own
  // files may stand behind the number now.
  int fd = fd_;
  InputFile again;
  if (!SameFile(fd, opened_)) {
    again.fd_ = fd = OpenForReading(path_);
    if (!SameFile(fd, opened_)) {
      return fail("the file has changed since it was opened");
    }
  }
  Bytes bytes(size);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Err(ErrnoDiag(path_, "cannot read", errno));
    if (n == 0) return fail("the file has changed since it was opened");
    done += static_cast<std::size_t>(n);
  }
  if (!SameFile(fd, opened_)) {
    return fail("the file has changed since it was opened");
  }
  return bytes;
}

bool InputFile::ReadNumber(std::uint64_t offset, void* number,
                           std::size_t size) const {
  return ::pread(fd_, number, size, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      opened_(std::exchange(other.opened_, {})) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(opened_, other.opened_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace cerberus
