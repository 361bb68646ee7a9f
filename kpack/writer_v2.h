// Writes a kpack archive, version 2 (docs/kpack-format.md, "Version 2"): code
// objects that resemble an earlier one are stored as what they add to it.
//
// Which one a blob refers to is found by trying: the last blobs of the same
// key, which are the same code for other targets, and the last ones that
// others have referred to. Blobs go to the file as they are added; the few that
// later ones may refer to are kept.
#ifndef CERBERUS_KPACK_WRITER_V2_H_
#define CERBERUS_KPACK_WRITER_V2_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kpack/format_v2.h"
#include "kpack/writer.h"
#include "support/bytes.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::kpack {

class ArchiveWriterV2 {
 public:
  // `options.checksums` has no meaning here: there always are.
  static Result<ArchiveWriterV2> Create(const std::string& path,
                                        ArchiveOptions options);

  // As ArchiveWriter's.
  Status Add(const std::string& key, const std::string& arch,
             const std::string& type, ByteSpan bytes, const Metadata& metadata);
  Status Finish();
  OutputFile TakeFile() && { return std::move(file_); }
  std::size_t entry_count() const { return entries_.size(); }
  std::size_t blob_count() const { return blobs_.size(); }
  std::uint64_t size() const { return file_.size(); }

 private:
  // A blob that later ones may refer to.
  struct Root {
    std::uint32_t ordinal;
    std::string key;
    Bytes bytes;
  };
  struct Row {
    std::string type;
    Bytes metadata;
    std::uint32_t blob;
  };
  class Strings;

  ArchiveWriterV2(OutputFile file, ArchiveOptions options)
      : file_(std::move(file)), options_(std::move(options)) {}

  Result<std::uint32_t> StoreBlob(const std::string& key, ByteSpan bytes);
  Result<Bytes> CompressBest(const std::string& key, ByteSpan bytes,
                             std::uint32_t* reference);
  void KeepRoot(const std::string& key, std::uint32_t ordinal, ByteSpan bytes);
  Bytes EncodeIndex() const;

  OutputFile file_;
  ArchiveOptions options_;
  std::map<std::pair<std::string, std::string>, Row> entries_;
  std::vector<v2::Blob> blobs_;
  std::map<std::string, std::uint32_t> blob_of_content_;
  std::vector<std::shared_ptr<const Root>> roots_;  // the oldest first
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_WRITER_V2_H_
