// Reads the index of an archive of version 2; for reader.cc alone.
#ifndef CERBERUS_KPACK_READER_V2_H_
#define CERBERUS_KPACK_READER_V2_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kpack/reader.h"

namespace cerberus::kpack {

// What is wrong at an offset of an archive.
tl::unexpected<KpackDiag> FormatError(const std::string& path, KpackCode code,
                                      std::uint64_t offset,
                                      std::string message);

class IndexReader {
 public:
  // `header` is the archive's first bytes, with magic and version looked at.
  IndexReader(Archive& archive, ByteSpan header)
      : a_(archive), header_bytes_(header) {}

  KpackStatus Read();

 private:
  tl::unexpected<KpackDiag> Fail(KpackCode code, std::uint64_t offset,
                                 std::string message) const;
  KpackStatus ReadHeader();
  KpackStatus ReadBlobs();
  KpackStatus CheckBlob(std::uint32_t ordinal) const;
  KpackStatus ReadArches();
  KpackStatus ReadEntries();
  KpackResult<std::string_view> TextAt(std::uint64_t record,
                                       const v2::Text& text) const;

  // Records of the index, by their place in it.
  std::uint64_t BlobAt(std::uint32_t i) const { return i * sizeof(v2::Blob); }
  std::uint64_t EntryAt(std::uint32_t i) const {
    return BlobAt(h_.blob_count) + i * sizeof(v2::Entry);
  }
  std::uint64_t ArchAt(std::uint32_t i) const {
    return EntryAt(h_.entry_count) + i * sizeof(v2::Text);
  }
  std::uint64_t NamesAt() const { return ArchAt(h_.arch_count); }
  std::uint64_t StringsAt() const { return NamesAt() + sizeof(v2::Names); }

  Archive& a_;
  ByteSpan header_bytes_;
  v2::Header h_ = {};
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_READER_V2_H_
