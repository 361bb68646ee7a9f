// Reads a kpack archive (docs/kpack-format.md).
//
//   CERB_TRY(std::shared_ptr<const Archive> archive, Archive::Open(path));
//   if (const Entry* entry = archive->Find("app#0", "gfx1100")) {
//     CERB_TRY(Bytes code, archive->Read(*entry));
//   }
//
// Opening reads the header, the table of contents and the frames' lengths,
// never a blob; all offsets and sizes are checked then, so that Read only
// follows ranges known to lie in the file. An open archive does not change:
// any number of threads may use it. If its file does, Read fails.
#ifndef CERBERUS_KPACK_READER_H_
#define CERBERUS_KPACK_READER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kpack/error.h"
#include "kpack/format.h"
#include "kpack/format_v2.h"
#include "kpack/msgpack_value.h"
#include "support/bytes.h"
#include "support/input_file.h"

namespace cerberus::kpack {

class Archive;

// What an entry says beside its bytes: a map, or absent. Of version 2 it is
// parsed when it is first looked at, and absent if it is no map.
class EntryMetadata {
 public:
  EntryMetadata() = default;
  explicit EntryMetadata(Value value) : value_(value) {}
  EntryMetadata(const Archive* archive, ByteSpan encoded)
      : archive_(archive), encoded_(encoded) {}

  Value value() const;
  operator Value() const { return value(); }  // NOLINT(google-explicit-*)
  explicit operator bool() const { return static_cast<bool>(value()); }
  Value Find(std::string_view key) const { return value().Find(key); }
  // Version 2: its bytes, empty if there is none.
  ByteSpan encoded() const { return encoded_; }

 private:
  const Archive* archive_ = nullptr;
  ByteSpan encoded_;
  Value value_;
};

// One row of the table of contents. Views live as long as the archive.
struct Entry {
  std::string_view key;   // "<binary>#<index>" or a content key
  std::string_view arch;  // target id, or "ptx"
  std::string_view type;  // "hsaco", "ptx"; empty if the archive says nothing
  std::uint32_t ordinal = 0;        // of the blob
  std::uint64_t original_size = 0;  // bytes that Read returns
  std::uint64_t stored_size = 0;    // bytes it takes in the file
  EntryMetadata metadata;
  // Of the stored bytes. Absent if the archive has no checksums.
  std::optional<std::uint64_t> checksum;
};

class Archive {
 public:
  static KpackResult<std::shared_ptr<const Archive>> Open(
      const std::string& path);
  // The same for bytes in memory, which must outlive the archive. `name`
  // stands for the path in messages.
  static KpackResult<std::shared_ptr<const Archive>> FromBytes(
      ByteSpan bytes, const std::string& name);

  const std::string& path() const { return path_; }
  std::uint32_t version() const { return version_; }
  std::string_view group_name() const { return group_name_; }
  std::string_view arch_family() const { return arch_family_; }
  std::string_view compression() const { return compression_; }
  // In the file's order.
  const std::vector<std::string_view>& arches() const { return arches_; }
  bool HasArch(std::string_view arch) const;
  // Sorted by key, then arch.
  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t blob_count() const { return blobs_.size(); }

  // Null if there is none.
  const Entry* Find(std::string_view key, std::string_view arch) const;

  // Whether header and table have a checksum: then it was right.
  bool has_checksums() const { return has_checksums_; }

  // The entry's bytes, unpacked, after a look at their checksum. `entry` must
  // be this archive's.
  KpackResult<Bytes> Read(const Entry& entry) const;
  // The same in two steps: as they are stored, unpacked.
  KpackResult<Bytes> ReadStored(const Entry& entry) const;
  KpackResult<Bytes> Unpack(const Entry& entry, ByteSpan stored) const;

  // For who looks at the bytes where they are: the whole file, and where in it
  // the entry's are stored. They are not checked by that.
  Result<MappedFile> MapFile() const { return file_.Map(); }
  std::uint64_t StoredOffset(const Entry& entry) const {
    return blobs_[entry.ordinal].offset;
  }
  KpackStatus CheckStored(const Entry& entry, ByteSpan stored) const;
  // Whether they are stored as they are.
  bool IsPlain(const Entry& entry) const {
    return version_ == v2::kVersion ? BlobV2(entry.ordinal).codec == v2::kPlain
                                    : !compressed_;
  }
  // Version 2: XXH3 of 128 bits of the unpacked bytes, as 32 hex digits; else
  // empty.
  std::string ContentHash(const Entry& entry) const;

 private:
  friend class TocReader;
  friend class IndexReader;
  friend class EntryMetadata;

  Archive() = default;
  static KpackResult<std::shared_ptr<const Archive>> Parse(
      std::shared_ptr<Archive> archive);

  struct Blob {
    std::uint64_t offset;  // from the file's start
    std::uint64_t size;
  };
  std::uint64_t size() const {
    return in_memory_ ? bytes_.size() : file_.size();
  }
  tl::unexpected<KpackDiag> BlobError(const Entry& entry, KpackCode code,
                                      std::string message) const;
  v2::Blob BlobV2(std::uint32_t ordinal) const;
  Value MetadataV2(ByteSpan encoded) const;
  // The bytes of the blob that the entry's frame was compressed behind, or
  // null.
  KpackResult<std::shared_ptr<const Bytes>> Reference(const Entry& entry) const;
  // The unpacked bytes of a blob that others refer to, from now on kept.
  KpackResult<std::shared_ptr<const Bytes>> ReadReference(
      const Entry& entry) const;
  KpackResult<Bytes> ReadOnce(const Entry& entry) const;
  // The range lies within size().
  Result<Bytes> ReadAt(std::uint64_t offset, std::uint64_t size) const;
  // The same of an entry with a checksum, which is looked at.
  KpackResult<Bytes> ReadSummed(const Entry& entry) const;

  std::string path_;
  InputFile file_;
  bool in_memory_ = false;  // then in bytes_, else in file_
  ByteSpan bytes_;
  Bytes toc_bytes_;  // what toc_ refers to
  Document toc_;
  std::string_view group_name_;
  std::string_view arch_family_;
  std::string_view compression_;
  bool compressed_ = false;
  bool has_checksums_ = false;
  bool has_frame_sizes_ = false;  // else lengths stand before frames alone
  std::vector<std::string_view> arches_;
  std::vector<Entry> entries_;
  std::vector<Blob> blobs_;  // by ordinal, as stored
  std::uint32_t version_ = kVersion1;
  std::vector<bool> referred_;  // version 2: the blobs that others refer to

  // Version 2 keeps what was read once.
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const std::uint8_t*, std::size_t>, Document>
      metadata_;
  mutable std::deque<std::pair<std::uint32_t, std::shared_ptr<const Bytes>>>
      references_;  // the last one first
  mutable std::atomic<bool> was_read_ = false;
};

inline Value EntryMetadata::value() const {
  return archive_ == nullptr ? value_ : archive_->MetadataV2(encoded_);
}

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_READER_H_
