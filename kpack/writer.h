// Writes a kpack archive, version 1 (docs/kpack-format.md).
//
// Blobs go to the file as they are added; memory grows with the number of
// entries, not with their bytes. The table of contents is sorted, blobs stand
// in the order of the Add calls: whoever adds from several threads fixes that
// order first, and then the file is the same on every run.
//
//   CERB_TRY(ArchiveWriter writer, ArchiveWriter::Create(path, options));
//   CERB_TRY_VOID(writer.Add("app#0", "gfx1100", "hsaco", code, metadata));
//   CERB_TRY_VOID(writer.Finish());  // everything that can fail for its size
//   CERB_TRY_VOID(writer.Commit());  // the file appears
#ifndef CERBERUS_KPACK_WRITER_H_
#define CERBERUS_KPACK_WRITER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kpack/format.h"
#include "kpack/frame_pool.h"
#include "support/bytes.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::kpack {

class MsgpackWriter;

enum class Compression : std::uint8_t { kNone, kZstdPerKernel };

struct ArchiveOptions {
  std::string group_name;
  std::string gfx_arch_family;  // for archives of one target, that target
  Compression compression = Compression::kZstdPerKernel;
  // Without them the file is upstream's, byte for byte.
  bool checksums = true;
  int level = kZstdLevel;  // of zstd
  // Listed in `gfx_arches` also where no entry is for them.
  std::set<std::string> arches = {};
  // Compresses while others are added; may be that of several archives. The
  // file is the same with and without one.
  std::shared_ptr<FramePool> pool = nullptr;
};

// One MessagePack value, as it stood in another archive.
struct EncodedValue {
  Bytes bytes;
  bool operator==(const EncodedValue&) const = default;
};

// What an entry says beside its bytes. Written in the order of the keys.
using MetadataValue =
    std::variant<std::int64_t, std::string, std::map<std::string, std::string>,
                 EncodedValue>;
using Metadata = std::map<std::string, MetadataValue>;

// The pairs of its map.
void WriteMetadata(MsgpackWriter& writer, const Metadata& metadata);

class ArchiveWriter {
 public:
  static Result<ArchiveWriter> Create(const std::string& path,
                                      ArchiveOptions options,
                                      unsigned mode = 0644);

  // Equal bytes are stored once. Errors: the key has an entry for this arch
  // already; the archive grows beyond what readers accept; the disk is full.
  Status Add(const std::string& key, const std::string& arch,
             const std::string& type, ByteSpan bytes, Metadata metadata = {});
  // The same where the bytes, as this archive stores them, are known: a frame,
  // or the bytes themselves.
  Status AddStored(const std::string& key, const std::string& arch,
                   const std::string& type, ByteSpan bytes, ByteSpan stored,
                   Metadata metadata);
  // A second key for what `existing` leads to, metadata included.
  Status AddAlias(const std::string& key, const std::string& arch,
                  const std::string& existing);

  bool Has(const std::string& key, const std::string& arch) const {
    return entries_.count({key, arch}) != 0;
  }
  std::size_t entry_count() const { return entries_.size(); }
  std::size_t blob_count() const { return blobs_.size(); }
  // Bytes of the whole file; final after Finish.
  std::uint64_t size() const { return file_.size(); }
  const std::string& path() const { return file_.path(); }
  const ArchiveOptions& options() const { return options_; }

  // Writes the table of contents. No Add after it.
  Status Finish();
  // What was written, for archives that go into another file.
  Result<MappedFile> Map() const { return file_.Map(); }
  // Makes the file visible under its name.
  Status Commit();
  // The file after Finish, to be committed by others.
  OutputFile TakeFile() && { return std::move(file_); }

 private:
  struct Blob {
    std::uint64_t offset;
    std::uint64_t stored_size;
    std::uint64_t checksum;
  };
  struct Row {
    std::string type;
    std::uint32_t ordinal;
    std::uint64_t original_size;
    Metadata metadata;
  };
  using EntryKey = std::pair<std::string, std::string>;  // key, arch

  ArchiveWriter(OutputFile file, ArchiveOptions options)
      : file_(std::move(file)), options_(std::move(options)) {}

  Result<std::uint32_t> StoreBlob(ByteSpan bytes, ByteSpan stored);
  Status WriteBlob(std::uint32_t ordinal, ByteSpan stored);
  Status WriteFirstPending();
  Status CheckNew(const EntryKey& entry) const;
  void EncodeRow(MsgpackWriter& w, const Row& row) const;
  Bytes EncodeToc() const;

  struct Pending {
    std::uint32_t ordinal;
    std::uint64_t size;
    FramePool::Frame frame;
  };

  OutputFile file_;
  ArchiveOptions options_;
  Compressor compressor_;
  std::deque<Pending> pending_;
  std::map<EntryKey, Row> entries_;
  std::vector<Blob> blobs_;
  std::map<std::string, std::uint32_t> blob_of_content_;
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_WRITER_H_
