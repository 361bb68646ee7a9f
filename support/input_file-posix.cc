#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "support/input_file.h"

namespace cerberus {
namespace {

int OpenForReading(const std::string& path) {
  // Opening a pipe must not wait for who writes it.
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

std::optional<FileState> StateOf(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return std::nullopt;
  return FileState(st);
}

}  // namespace

bool FileState::operator==(const FileState& other) const {
  return stat_.st_dev == other.stat_.st_dev &&
         stat_.st_ino == other.stat_.st_ino &&
         stat_.st_size == other.stat_.st_size &&
         stat_.st_mtim.tv_sec == other.stat_.st_mtim.tv_sec &&
         stat_.st_mtim.tv_nsec == other.stat_.st_mtim.tv_nsec;
}

Result<InputFile> InputFile::Open(const std::string& path) {
  InputFile file;
  file.path_ = path;
  file.fd_ = OpenForReading(path);
  if (file.fd_ < 0) return Err(ErrnoDiag(path, "cannot open", errno));
  struct stat st;
  if (::fstat(file.fd_, &st) != 0) {
    return Err(ErrnoDiag(path, "cannot stat", errno));
  }
  if (!S_ISREG(st.st_mode)) {
    Where where;
    where.file = path;
    return Err(DiagCode::kIo, std::move(where),
               S_ISDIR(st.st_mode) ? "is a directory, expected a file"
                                   : "is not a regular file");
  }
  file.opened_ = FileState(st);
  return file;
}

Diag InputFile::Changed(std::uint64_t offset) const {
  Where where;
  where.file = path_;
  where.offset = static_cast<std::int64_t>(offset);
  return MakeDiag(DiagCode::kIo, std::move(where),
                  "the file has changed since it was opened");
}

Status InputFile::CheckIs(const FileState& state) const {
  if (StateOf(fd_) == state) return {};
  Diag diag = Changed(0);
  diag.where.offset = -1;
  return Err(std::move(diag));
}

Result<Bytes> InputFile::Read(std::uint64_t offset, std::uint64_t size) const {
  if (offset > this->size() || size > this->size() - offset) {
    Diag diag = Changed(offset);
    diag.message = "runs past the end of the file";
    return Err(std::move(diag));
  }
  // A program may have closed all descriptors it did not know, and its own
  // files may stand behind the number now.
  const InputFile* file = this;
  InputFile again;
  if (StateOf(fd_) != opened_) {
    again.path_ = path_;
    again.fd_ = OpenForReading(path_);
    if (StateOf(again.fd_) != opened_) return Err(Changed(offset));
    file = &again;
  }
  Bytes bytes(size);
  CERB_TRY_VOID(file->ReadInto(offset, bytes));
  if (StateOf(file->fd_) != opened_) return Err(Changed(offset));
  return bytes;
}

Status InputFile::ReadInto(std::uint64_t offset,
                           std::span<std::uint8_t> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::pread(fd_, into.data() + done, into.size() - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Err(ErrnoDiag(path_, "cannot read", errno));
    if (n == 0) return Err(Changed(offset));
    done += static_cast<std::size_t>(n);
  }
  return {};
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
