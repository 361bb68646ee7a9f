// Writes zip files that are the same on every run: members in the order in
// which they are added, all with one time, modes and links as Unix has them,
// zip64 where sizes ask for it.
//
// The time is SOURCE_DATE_EPOCH's if that is set, else the first that a zip
// file can hold, 1980-01-01.
#ifndef CERBERUS_PACKAGER_WHEEL_ZIP_WRITER_H_
#define CERBERUS_PACKAGER_WHEEL_ZIP_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "packager/wheel/zip_reader.h"
#include "support/bytes.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::packager {

class ZipWriter {
 public:
  static Result<ZipWriter> Create(const std::string& path);

  ZipWriter(ZipWriter&&) noexcept;
  ZipWriter& operator=(ZipWriter&&) noexcept;
  ~ZipWriter();

  // Bytes and readers must live until Finish(), where everything is written.
  Status Add(const std::string& name, ByteSpan bytes, unsigned mode,
             bool compress);
  // A member as it is there, compressed bytes and all, under another name.
  // What it unpacks to is not looked at: whoever needs to know has read it.
  Status Copy(const ZipReader& from, const ZipMember& member,
              const std::string& name);

  // `cancelled` is asked now and then; if it says yes, that is an error.
  Status Finish(const std::function<bool()>& cancelled = {});
  // Makes the file visible under its name.
  Status Commit();

  const std::string& path() const;
  std::uint64_t size() const;
  // What Finish() wrote.
  Result<MappedFile> Map() const;

 private:
  struct Impl;
  explicit ZipWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_ZIP_WRITER_H_
