// Reads zip files that strangers made.
//
// Opening checks all that the directory says: names that would leave the
// folder they are unpacked to, names that stand twice or are file and folder
// at once, links that lead outside, entries that are neither file nor link,
// encryption, sizes that no compression reaches, entries that share bytes.
// Reading checks what the directory said: size and CRC. What opens and reads
// can be unpacked anywhere.
#ifndef CERBERUS_PACKAGER_WHEEL_ZIP_READER_H_
#define CERBERUS_PACKAGER_WHEEL_ZIP_READER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/mapped_file.h"
#include "support/result.h"

struct zip;
struct zip_error;

namespace cerberus::packager {

struct ZipMember {
  std::string name;      // "pkg/libx.so"; UTF-8, '/' between, nothing odd
  unsigned mode = 0644;  // permission bits
  bool is_link = false;  // its bytes are the path that it leads to
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t index = 0;  // in the directory
};

class ZipReader {
 public:
  using Sink = std::function<Status(ByteSpan)>;

  static Result<ZipReader> Open(const std::string& path);
  // The same for bytes that the caller keeps alive.
  static Result<ZipReader> FromBytes(ByteSpan bytes, const std::string& name);

  ZipReader(ZipReader&&) noexcept = default;
  ZipReader& operator=(ZipReader&&) noexcept = default;

  const std::string& path() const { return path_; }
  std::uint64_t file_size() const { return size_; }

  // Files and links in the directory's order; folders are left out.
  const std::vector<ZipMember>& members() const { return members_; }
  const ZipMember* Find(const std::string& name) const;

  // The bytes, a piece at a time. What the sink returns ends it. Errors: the
  // bytes are not as many as the directory says, or not those of its CRC.
  Status Read(const ZipMember& member, const Sink& sink) const;
  // All at once, of members that are known to be small.
  Result<Bytes> ReadAll(const ZipMember& member,
                        std::uint64_t limit = 64 << 20) const;

  // "x.whl/pkg/a.py: …"
  Diag Error(const std::string& member, std::string message,
             DiagCode code = DiagCode::kBadFormat) const;

 private:
  friend class ZipWriter;
  struct Close {
    void operator()(zip* archive) const;
  };

  ZipReader() = default;
  Diag NotOpened(zip_error& error) const;
  Status ReadDirectory();
  Result<ZipMember> ReadEntry(std::uint64_t index) const;
  Status CheckTogether() const;
  Status CheckLinks() const;

  std::string path_;
  std::uint64_t size_ = 0;
  std::unique_ptr<zip, Close> zip_;
  std::vector<ZipMember> members_;
  std::map<std::string, std::size_t> by_name_;  // into members_
};

// Whether a path may be unpacked into a folder: relative, UTF-8, with no
// empty part, "." or "..", no backslash and no control character. The reason
// if not, else empty.
std::string WhyUnsafe(const std::string& name);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_ZIP_READER_H_
