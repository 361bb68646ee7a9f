// A file read in parts, as copies. Who cuts such a file short, or replaces
// what stands in it, gets its reader an error; with MappedFile, a signal.
#ifndef CERBERUS_SUPPORT_INPUT_FILE_H_
#define CERBERUS_SUPPORT_INPUT_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

#include "support/bytes.h"
#include "support/mapped_file.h"
#include "support/result.h"

namespace cerberus {

// Which file was opened, and when it had been written to last.
class FileState {
 public:
  FileState() = default;
  explicit FileState(const struct stat& st) : stat_(st) {}
  bool operator==(const FileState& other) const;
  std::uint64_t size() const {
    return static_cast<std::uint64_t>(stat_.st_size);
  }
  unsigned mode() const { return stat_.st_mode & 07777; }  // not compared

 private:
  struct stat stat_ = {};
};

class InputFile {
 public:
  // Errors: the file cannot be opened or is not a regular file.
  static Result<InputFile> Open(const std::string& path);

  InputFile() = default;
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return opened_.size(); }
  // As it was when the file was opened.
  const FileState& state() const { return opened_; }
  // Errors: the file is not in the state any more.
  Status CheckIs(const FileState& state) const;

  // Any number of threads may read. Errors: the file has been written to
  // since it was opened, or cannot be read.
  Result<Bytes> Read(std::uint64_t offset, std::uint64_t size) const;
  // The same for the few bytes of one of many numbers, to be followed by a
  // Read: says no only if they are not there.
  bool ReadNumber(std::uint64_t offset, void* number, std::size_t size) const;
  // One step of a pass over the whole file, which CheckIs(state()) ends: fills
  // `into`, which lies within the file. Errors: the file has become shorter,
  // or cannot be read.
  Status ReadInto(std::uint64_t offset, std::span<std::uint8_t> into) const;

  int descriptor() const { return fd_; }
  Result<MappedFile> Map() const {
    return MappedFile::FromDescriptor(fd_, path_);
  }

 private:
  Diag Changed(std::uint64_t offset) const;

  std::string path_;
  int fd_ = -1;
  FileState opened_;
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_INPUT_FILE_H_
