// A file mapped read-only, or read whole where mapping is not possible.
#ifndef CERBERUS_SUPPORT_MAPPED_FILE_H_
#define CERBERUS_SUPPORT_MAPPED_FILE_H_

#include <string>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus {

class MappedFile {
 public:
  // Errors: the file cannot be opened or is not a regular file.
  static Result<MappedFile> Open(const std::string& path);

  // An open file; the descriptor stays the caller's. `path` is for messages.
  static Result<MappedFile> FromDescriptor(int fd, const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  ByteSpan bytes() const { return {data_, size_}; }
  // A hint for one pass over a large file: a range is not needed any more. What
  // was let go is read again from the file when it is looked at.
  void LetGo(std::uint64_t offset, std::uint64_t size) const;
  std::size_t size() const { return size_; }

 private:
  const std::uint8_t* data_ = nullptr;  // null for an empty file
  std::size_t size_ = 0;
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_MAPPED_FILE_H_
