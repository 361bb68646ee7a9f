#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/mapped_file.h"

namespace cerberus {

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // A pipe is refused below; opening it must not wait for who writes it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Err(ErrnoDiag(path, "cannot open", errno));
  Result<MappedFile> file = FromDescriptor(fd, path);
  ::close(fd);
  return file;
}

Result<MappedFile> MappedFile::FromDescriptor(int fd, const std::string& path) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return Err(ErrnoDiag(path, "cannot stat", errno));
  if (!S_ISREG(st.st_mode)) {
    Where where;
    where.file = path;
    return Err(DiagCode::kIo, std::move(where),
               S_ISDIR(st.st_mode) ? "is a directory, expected a file"
                                   : "is not a regular file");
  }
  MappedFile file;
  if (st.st_size > 0) {
    void* at = ::mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ,
                      MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return Err(ErrnoDiag(path, "cannot map", errno));
    file.data_ = static_cast<const std::uint8_t*>(at);
    file.size_ = static_cast<std::size_t>(st.st_size);
  }
  return file;
}

void MappedFile::LetGo(std::uint64_t offset, std::uint64_t size) const {
  if (offset >= size_) return;
  size = std::min<std::uint64_t>(size, size_ - offset);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t start = offset & ~(page - 1);
  auto* at = const_cast<std::uint8_t*>(data_) + start;
  (void)::madvise(at, offset + size - start, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace cerberus
