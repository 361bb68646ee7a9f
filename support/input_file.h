// A file read in parts, as copies. Who cuts such a file short, or replaces
// what stands in it, gets its reader an error; with MappedFile, a signal.
#ifndef CERBERUS_SUPPORT_INPUT_FILE_H_
#define CERBERUS_SUPPORT_INPUT_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus {

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

  std::uint64_t size() const {
    return static_cast<std::uint64_t>(opened_.st_size);
  }
  // Any number of threads may read. Errors: the file has been written to
  // since it was opened, or cannot be read.
  Result<Bytes> Read(std::uint64_t offset, std::uint64_t size) const;
  // The same for the few bytes of one of many numbers, to be followed by a
  // Read: says no only if they are not there.
  bool ReadNumber(std::uint64_t offset, void* number, std::size_t size) const;

 private:
  std::string path_;
  int fd_ = -1;
  struct stat opened_ = {};
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_INPUT_FILE_H_
