// A file that appears whole or not at all.
//
// The bytes go to an unnamed or hidden temporary file in the target's folder;
// Commit() syncs it and renames it into place. Until then, and if the object
// is destroyed or the process is killed, the target is untouched. Where the
// kernel and file system allow (O_TMPFILE), a killed process leaves not even
// the temporary behind.
#ifndef CERBERUS_SUPPORT_OUTPUT_FILE_H_
#define CERBERUS_SUPPORT_OUTPUT_FILE_H_

#include <string>

#include "support/bytes.h"
#include "support/input_file.h"
#include "support/mapped_file.h"
#include "support/result.h"

namespace cerberus {

class OutputFile {
 public:
  // `mode`: permission bits of the new file (before umask is NOT applied:
  // pass the input's own mode to keep it).
  static Result<OutputFile> Create(const std::string& path,
                                   unsigned mode = 0644);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // discards what was not committed

  Status Append(ByteSpan bytes);
  // Overwrites at a fixed offset (the file grows as needed).
  Status WriteAt(std::uint64_t offset, ByteSpan bytes);
  // Starts the file, still empty, as a copy of another one. The file system
  // shares the blocks where it can; memory does not grow with the file.
  Status CopyFrom(const InputFile& file);
  // Appends a part of another file, in the same way; less if that file ends.
  Status AppendFrom(const InputFile& file, std::uint64_t offset,
                    std::uint64_t size);
  // Gives the file what another one has beside its bytes: owner, mode, extended
  // attributes (ACLs and capabilities among them). What this user may not give,
  // or the file system does not keep, is left out. To be called when all is
  // written: writing takes some of it away.
  Status TakeAttributesOf(const std::string& path);
  // Gives the file what another one has beside its bytes: owner, mode, extended
  // attributes (ACLs and capabilities among them). What this user may not give,
  // or the file system does not keep, is left out. To be called when all is
  // written: writing takes some of it away.
  Status TakeAttributesOf(const InputFile& file);
  // The bytes written so far, read back.
  Result<MappedFile> Map() const;
  // A name by which this process can open the file now, before it has one.
  std::string OpenName() const;
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Makes the file visible under its name, replacing what was there.
  Status Commit();

 private:
  OutputFile() = default;
  void Discard();

  int fd_ = -1;
  std::string path_;
  std::string temp_path_;  // empty while the temporary has no name
  std::uint64_t size_ = 0;
};

// Writes a whole file by rename.
Status WriteFile(const std::string& path, ByteSpan bytes, unsigned mode = 0644);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_OUTPUT_FILE_H_
