#include "kpack/writer.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "kpack/checksum.h"
#include "kpack/content_key.h"
#include "kpack/format.h"
#include "kpack/msgpack_writer.h"

namespace cerberus::kpack {
namespace {

Diag WriterDiag(DiagCode code, const std::string& path, std::string message) {
  Where where;
  where.file = path;
  return MakeDiag(code, std::move(where), std::move(message));
}

// Of blobs that are being compressed and frames that are not written yet.
constexpr std::uint64_t kMostPending = std::uint64_t{16} << 20;

}  // namespace

void WriteMetadata(MsgpackWriter& w, const Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    w.String(key);
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      w.Int(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      w.String(*text);
    } else if (const auto* encoded = std::get_if<EncodedValue>(&value)) {
      w.Raw(encoded->bytes);
    } else {
      const auto& map =
          *std::get_if<std::map<std::string, std::string>>(&value);
      w.Map(map.size());
      for (const auto& [name, what] : map) {
        w.String(name);
        w.String(what);
      }
    }
  }
}

Result<ArchiveWriter> ArchiveWriter::Create(const std::string& path,
                                            ArchiveOptions options,
                                            unsigned mode) {
  CERB_TRY(OutputFile file, OutputFile::Create(path, mode));
  ArchiveWriter writer(std::move(file), std::move(options));
  const Bytes header(kHeaderBytes);
  CERB_TRY_VOID(writer.file_.Append(header));
  if (writer.options_.compression == Compression::kZstdPerKernel) {
    const Bytes frame_count(sizeof(std::uint32_t));
    CERB_TRY_VOID(writer.file_.Append(frame_count));
  }
  return writer;
}

Status ArchiveWriter::CheckNew(const EntryKey& entry) const {
  if (entries_.count(entry) == 0) return {};
  return Err(WriterDiag(DiagCode::kInternal, path(),
                        fmt::format("'{}' has an entry for {} already",
                                    entry.first, entry.second)));
}

Status ArchiveWriter::Add(const std::string& key, const std::string& arch,
                          const std::string& type, ByteSpan bytes,
                          Metadata metadata) {
  return AddStored(key, arch, type, bytes, {}, std::move(metadata));
}

Status ArchiveWriter::AddStored(const std::string& key, const std::string& arch,
                                const std::string& type, ByteSpan bytes,
                                ByteSpan stored, Metadata metadata) {
  CERB_TRY_VOID(CheckNew({key, arch}));
  CERB_TRY(const std::uint32_t ordinal, StoreBlob(bytes, stored));
  entries_.emplace(EntryKey(key, arch),
                   Row{type, ordinal, bytes.size(), std::move(metadata)});
  return {};
}

Status ArchiveWriter::AddAlias(const std::string& key, const std::string& arch,
                               const std::string& existing) {
  CERB_TRY_VOID(CheckNew({key, arch}));
  const auto target = entries_.find({existing, arch});
  if (target == entries_.end()) {
    return Err(
        WriterDiag(DiagCode::kInternal, path(),
                   fmt::format("'{}' has no entry for {}", existing, arch)));
  }
  entries_.emplace(EntryKey(key, arch), target->second);
  return {};
}

// Blobs with the same length and hash are the same: these are the user's own
// code objects, nobody gains by making two of them collide. `stored` is empty
// if it is still to be made.
Result<std::uint32_t> ArchiveWriter::StoreBlob(ByteSpan bytes,
                                               ByteSpan stored) {
  const std::string content =
      fmt::format("{}.{}", Hash128Hex(bytes), bytes.size());
  const auto known = blob_of_content_.find(content);
  if (known != blob_of_content_.end()) return known->second;

  if (blobs_.size() >= kMaxFrames) {
    return Err(WriterDiag(DiagCode::kUnsupported, path(),
                          fmt::format("more than {} code objects in one "
                                      "archive",
                                      kMaxFrames)));
  }
  const auto ordinal = static_cast<std::uint32_t>(blobs_.size());
  blobs_.push_back({});
  blob_of_content_.emplace(content, ordinal);
  if (options_.compression == Compression::kNone) {
    CERB_TRY_VOID(WriteBlob(ordinal, bytes));
  } else if (options_.pool == nullptr && !stored.empty()) {
    CERB_TRY_VOID(WriteBlob(ordinal, stored));
  } else if (options_.pool == nullptr) {
    CERB_TRY(const Bytes frame, compressor_.Compress(bytes, options_.level));
    CERB_TRY_VOID(WriteBlob(ordinal, frame));
  } else {
    std::atomic<std::uint64_t>& pending = options_.pool->pending_bytes;
    while (!pending_.empty() && pending + bytes.size() > kMostPending) {
      CERB_TRY_VOID(WriteFirstPending());
    }
    Pending& added = pending_.emplace_back();
    added.ordinal = ordinal;
    added.size = bytes.size();
    if (stored.empty()) {
      added.frame = options_.pool->Compress(Bytes(bytes.begin(), bytes.end()),
                                            options_.level);
    } else {
      std::promise<Result<Bytes>> known;
      known.set_value(Bytes(stored.begin(), stored.end()));
      added.frame = known.get_future();
    }
    pending += bytes.size();
  }
  return ordinal;
}

// Frames are written in the order in which blobs were added.
Status ArchiveWriter::WriteFirstPending() {
  Pending first = std::move(pending_.front());
  pending_.pop_front();
  options_.pool->pending_bytes -= first.size;
  CERB_TRY(const Bytes frame, first.frame.get());
  return WriteBlob(first.ordinal, frame);
}

Status ArchiveWriter::WriteBlob(std::uint32_t ordinal, ByteSpan stored) {
  if (options_.compression == Compression::kZstdPerKernel) {
    if (file_.size() + sizeof(std::uint32_t) + stored.size() >
        kHeaderBytes + kMaxZstdArea) {
      return Err(WriterDiag(DiagCode::kUnsupported, path(),
                            "more than 4 GiB of code in one archive"));
    }
    Bytes length;
    AppendLe(length, static_cast<std::uint32_t>(stored.size()));
    CERB_TRY_VOID(file_.Append(length));
  }
  blobs_[ordinal] = {file_.size(), stored.size(), Checksum(stored)};
  return file_.Append(stored);
}

void ArchiveWriter::EncodeRow(MsgpackWriter& w, const Row& row) const {
  const std::size_t pairs = row.metadata.size() + (options_.checksums ? 1 : 0);
  w.Map(pairs == 0 ? 3 : 4);
  w.String("type");
  w.String(row.type);
  w.String("ordinal");
  w.Uint(row.ordinal);
  w.String("original_size");
  w.Uint(row.original_size);
  if (pairs == 0) return;
  w.String("metadata");
  w.Map(pairs);
  WriteMetadata(w, row.metadata);
  if (!options_.checksums) return;
  w.String(kChecksumKey);
  w.Uint(blobs_[row.ordinal].checksum);
}

// The keys stand in upstream's order, which its readers do not need but which
// makes the files comparable.
Bytes ArchiveWriter::EncodeToc() const {
  const bool zstd = options_.compression == Compression::kZstdPerKernel;
  std::set<std::string_view> arches(options_.arches.begin(),
                                    options_.arches.end());
  std::size_t binaries = 0;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    arches.insert(it->first.second);
    const bool first_of_key =
        it == entries_.begin() || std::prev(it)->first.first != it->first.first;
    if (first_of_key) ++binaries;
  }

  MsgpackWriter w;
  const bool frame_sizes = zstd && options_.checksums;
  w.Map(frame_sizes ? 9 : zstd ? 8 : 7);
  w.String("format_version");
  w.Uint(kVersion1);
  w.String("group_name");
  w.String(options_.group_name);
  w.String("gfx_arch_family");
  w.String(options_.gfx_arch_family);
  w.String("gfx_arches");
  w.Array(arches.size());
  for (std::string_view arch : arches) w.String(arch);

  w.String("toc");
  w.Map(binaries);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const std::string& key = it->first.first;
    auto end = it;
    std::size_t count = 0;
    while (end != entries_.end() && end->first.first == key) ++end, ++count;
    w.String(key);
    w.Map(count);
    for (; it != end; ++it) {
      w.String(it->first.second);
      EncodeRow(w, it->second);
    }
  }

  w.String("compression_scheme");
  w.String(zstd ? kSchemeZstd : kSchemeNone);
  if (zstd) {
    w.String("zstd_offset");
    w.Uint(kHeaderBytes);
    w.String("zstd_size");
    w.Uint(file_.size() - kHeaderBytes);
    if (frame_sizes) {
      Bytes sizes;
      for (const Blob& blob : blobs_) {
        AppendLe(sizes, static_cast<std::uint32_t>(blob.stored_size));
      }
      w.String(kFrameSizesKey);
      w.Binary(sizes);
    }
  } else {
    w.String("blobs");
    w.Array(blobs_.size());
    for (const Blob& blob : blobs_) {
      w.Map(2);
      w.String("offset");
      w.Uint(blob.offset);
      w.String("size");
      w.Uint(blob.stored_size);
    }
  }
  return std::move(w).Take();
}

Status ArchiveWriter::Finish() {
  while (!pending_.empty()) CERB_TRY_VOID(WriteFirstPending());
  const std::uint64_t toc_offset = file_.size();
  const Bytes toc = EncodeToc();
  CERB_TRY_VOID(file_.Append(toc));
  if (options_.compression == Compression::kZstdPerKernel) {
    Bytes frame_count;
    AppendLe(frame_count, static_cast<std::uint32_t>(blobs_.size()));
    CERB_TRY_VOID(file_.WriteAt(kHeaderBytes, frame_count));
  }
  Bytes header(kMagic, kMagic + sizeof kMagic);
  AppendLe(header, kVersion1);
  AppendLe(header, toc_offset);
  header.resize(kHeaderBytes);
  if (options_.checksums) StoreTableChecksum(header.data(), toc);
  return file_.WriteAt(0, header);
}

Status ArchiveWriter::Commit() { return file_.Commit(); }

}  // namespace cerberus::kpack
