#include "kpack/reader.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "kpack/checksum.h"
#include "kpack/format.h"
#include "kpack/reader_v2.h"

namespace cerberus::kpack {
namespace {

// Values in one table of contents: about 20 for each entry.
constexpr std::uint32_t kMaxTocValues = 1u << 24;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Bytes written to `out`, or an error of zstd's. `reference` may be empty.
std::size_t Decompress(ByteSpan frames, ByteSpan reference, Bytes& out) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  if (!reference.empty()) {
    ZSTD_DCtx_refPrefix(context.get(), reference.data(), reference.size());
  }
  return ZSTD_decompressDCtx(context.get(), out.data(), out.size(),
                             frames.data(), frames.size());
}

}  // namespace

tl::unexpected<KpackDiag> FormatError(const std::string& path, KpackCode code,
                                      std::uint64_t offset,
                                      std::string message) {
  Where where;
  where.file = path;
  where.offset = static_cast<std::int64_t>(offset);
  const bool unsupported = code == KpackCode::kUnsupportedVersion ||
                           code == KpackCode::kNotImplemented;
  return tl::unexpected<KpackDiag>(KpackDiag(
      code,
      MakeDiag(unsupported ? DiagCode::kUnsupported : DiagCode::kBadFormat,
               std::move(where), std::move(message))));
}

// Turns the bytes of a file into an Archive. Every error names the offset in
// the file and what was found there.
class TocReader {
 public:
  explicit TocReader(Archive& archive) : a_(archive) {}

  KpackStatus Read() {
    KpackStatus status = ReadHeader();
    if (status && a_.version_ == v2::kVersion) {
      return IndexReader(a_, header_).Read();
    }
    if (status) status = ReadTop();
    if (status) status = compressed() ? ReadFrames() : ReadBlobList();
    if (status) status = ReadEntries();
    return status;
  }

 private:
  bool compressed() const { return a_.compressed_; }

  tl::unexpected<KpackDiag> Fail(KpackCode code, std::uint64_t offset,
                                 std::string message) const {
    return FormatError(a_.path_, code, offset, std::move(message));
  }
  // In the table of contents single values have no offset of their own.
  tl::unexpected<KpackDiag> TocError(std::string message) const {
    return Fail(KpackCode::kMsgpackParseFailed, toc_offset_,
                "table of contents: " + std::move(message));
  }

  // The file has changed, or cannot be read.
  static tl::unexpected<KpackDiag> IoError(Diag diag) {
    return tl::unexpected<KpackDiag>(
        KpackDiag(KpackCode::kIoError, std::move(diag)));
  }

  KpackStatus ReadHeader() {
    if (a_.size() == 0) {
      return Fail(KpackCode::kIoError, 0, "the file is empty");
    }
    Result<Bytes> header =
        a_.ReadAt(0, std::min<std::uint64_t>(a_.size(), kHeaderBytes));
    if (!header) return IoError(std::move(header).error());
    header_ = *std::move(header);
    const ByteSpan bytes = header_;
    if (bytes.size() < sizeof kMagic ||
        std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
      return Fail(KpackCode::kInvalidFormat, 0,
                  "is not a kpack archive, expected the bytes 'KPAK'");
    }
    if (bytes.size() < kHeaderUsedBytes) {
      return Fail(KpackCode::kInvalidFormat, bytes.size(),
                  "the header is cut short");
    }
    const auto version = LoadLe<std::uint32_t>(bytes.data() + 4);
    a_.version_ = version;
    if (version == v2::kVersion) return {};
    if (version != kVersion1) {
      return Fail(KpackCode::kUnsupportedVersion, 4,
                  fmt::format("archive version {}, expected {} or {}", version,
                              kVersion1, v2::kVersion));
    }
    toc_offset_ = LoadLe<std::uint64_t>(bytes.data() + 8);
    if (toc_offset_ < kHeaderUsedBytes || toc_offset_ >= a_.size()) {
      return Fail(KpackCode::kInvalidFormat, 8,
                  fmt::format("table of contents at 0x{:x}, but the file ends "
                              "at 0x{:x}",
                              toc_offset_, a_.size()));
    }
    return {};
  }

  KpackStatus CheckTable() {
    const TableChecksum found = FindTableChecksum(header_);
    if (found == TableChecksum::kNone) return {};
    if (found == TableChecksum::kDamaged ||
        !TableIsWhole(header_, a_.toc_bytes_)) {
      return Fail(KpackCode::kInvalidFormat, kChecksumMarkOffset,
                  "header or table of contents are damaged: they do not match "
                  "their checksum");
    }
    a_.has_checksums_ = true;
    return {};
  }

  KpackStatus ReadTop() {
    Document::Limits limits;
    limits.values = kMaxTocValues;
    // Upstream's C++ reader takes no notice of bytes behind the map either.
    limits.allow_trailing_bytes = true;
    Result<Bytes> bytes = a_.ReadAt(toc_offset_, a_.size() - toc_offset_);
    if (!bytes) return IoError(std::move(bytes).error());
    a_.toc_bytes_ = *std::move(bytes);
    if (KpackStatus status = CheckTable(); !status) return status;
    Result<Document> parsed = Document::Parse(a_.toc_bytes_, limits);
    if (!parsed) {
      const Diag& diag = parsed.error();
      return Fail(KpackCode::kMsgpackParseFailed,
                  toc_offset_ + static_cast<std::uint64_t>(diag.where.offset),
                  "table of contents: " + diag.message);
    }
    a_.toc_ = *std::move(parsed);
    top_ = a_.toc_.root();
    if (!top_.is_map()) return TocError("is not a map");

    if (const Value version = top_.Find("format_version")) {
      if (version.AsUint() != kVersion1) {
        return Fail(KpackCode::kUnsupportedVersion, toc_offset_,
                    "table of contents: 'format_version' is not 1");
      }
    }
    a_.group_name_ = top_.Find("group_name").AsString().value_or("");
    a_.arch_family_ = top_.Find("gfx_arch_family").AsString().value_or("");

    if (const Value arches = top_.Find("gfx_arches")) {
      if (!arches.is_array()) return TocError("'gfx_arches' is not a list");
      for (Value arch = arches.First(); arch; arch = arches.Next(arch)) {
        const std::optional<std::string_view> text = arch.AsString();
        if (!text) return TocError("'gfx_arches' holds what is not a string");
        a_.arches_.push_back(*text);
      }
    }

    // Archives of the first upstream writers name no scheme: plain blobs.
    a_.compression_ = kSchemeNone;
    if (const Value scheme = top_.Find("compression_scheme")) {
      const std::optional<std::string_view> text = scheme.AsString();
      if (!text) return TocError("'compression_scheme' is not a string");
      if (*text != kSchemeNone && *text != kSchemeZstd) {
        return Fail(KpackCode::kNotImplemented, toc_offset_,
                    fmt::format("compression scheme '{}' is not supported, "
                                "expected '{}' or '{}'",
                                *text, kSchemeNone, kSchemeZstd));
      }
      a_.compression_ = *text;
    }
    a_.compressed_ = a_.compression_ == kSchemeZstd;
    return {};
  }

  // Scheme "none": a list of {offset, size}, counted from the file's start.
  KpackStatus ReadBlobList() {
    const Value list = top_.Find("blobs");
    if (!list) return {};
    if (!list.is_array()) return TocError("'blobs' is not a list");
    a_.blobs_.reserve(list.size());
    for (Value blob = list.First(); blob; blob = list.Next(blob)) {
      const std::optional<std::uint64_t> offset = blob.Find("offset").AsUint();
      const std::optional<std::uint64_t> size = blob.Find("size").AsUint();
      if (!offset || !size) {
        return TocError(
            fmt::format("blob {} lacks 'offset' or 'size'", a_.blobs_.size()));
      }
      if (*offset > a_.size() || *size > a_.size() - *offset) {
        return Fail(KpackCode::kIoError, *offset,
                    fmt::format("blob {} of {} bytes runs past the end of the "
                                "file (0x{:x})",
                                a_.blobs_.size(), *size, a_.size()));
      }
      a_.blobs_.push_back({*offset, *size});
    }
    return {};
  }

  // Scheme "zstd-per-kernel": u32 n, then n times u32 length and a frame.
  // In archives of others the lengths are the only index.
  KpackStatus ReadFrames() {
    const std::optional<std::uint64_t> offset =
        top_.Find("zstd_offset").AsUint();
    const std::optional<std::uint64_t> size = top_.Find("zstd_size").AsUint();
    if (!offset || !size) return TocError("no 'zstd_offset' and 'zstd_size'");
    if (*offset > a_.size() || *size > a_.size() - *offset) {
      return Fail(KpackCode::kIoError, *offset,
                  fmt::format("frames of {} bytes run past the end of the "
                              "file (0x{:x})",
                              *size, a_.size()));
    }
    if (*size > kMaxZstdArea || *size < sizeof(std::uint32_t)) {
      return Fail(KpackCode::kInvalidFormat, *offset,
                  fmt::format("frames of {} bytes, expected 4 to {}", *size,
                              kMaxZstdArea));
    }
    frames_ = *offset;
    frames_end_ = *offset + *size;
    std::uint32_t count = 0;
    if (KpackStatus status = ReadNumber(frames_, &count); !status) {
      return status;
    }
    if (count > kMaxFrames) {
      return Fail(
          KpackCode::kInvalidFormat, *offset,
          fmt::format("{} frames, at most {} are accepted", count, kMaxFrames));
    }
    if (const Value sizes = top_.Find(kFrameSizesKey);
        sizes && a_.has_checksums_) {
      return TakeFrameSizes(sizes, count);
    }
    return WalkFrames(count);
  }

  KpackStatus ReadNumber(std::uint64_t at, std::uint32_t* number) const {
    std::uint8_t bytes[sizeof *number];
    if (a_.in_memory_) {
      std::memcpy(bytes, a_.bytes_.data() + at, sizeof bytes);
    } else if (!a_.file_.ReadNumber(at, bytes, sizeof bytes)) {
      return Fail(KpackCode::kIoError, at, "the file has become shorter");
    }
    *number = LoadLe<std::uint32_t>(bytes);
    return {};
  }

  // The table has its checksum. That the lengths before the frames are the same
  // is seen when a frame is read.
  KpackStatus TakeFrameSizes(Value value, std::uint32_t count) {
    const ByteSpan sizes = value.AsBinary().value_or(ByteSpan());
    std::uint64_t at = frames_ + sizeof count;
    if (sizes.size() / sizeof count == count) {
      a_.blobs_.reserve(count);
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto size =
            LoadLe<std::uint32_t>(sizes.data() + i * sizeof count);
        at += sizeof size;
        a_.blobs_.push_back({at, size});
        at += size;
      }
    }
    if (a_.blobs_.size() != count || at != frames_end_) {
      return TocError(
          fmt::format("'{}' are not those of {} frames up to 0x{:x}",
                      kFrameSizesKey, count, frames_end_));
    }
    a_.has_frame_sizes_ = true;
    return {};
  }

  KpackStatus WalkFrames(std::uint32_t count) {
    std::uint64_t at = frames_ + sizeof count;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t length = 0;
      if (frames_end_ - at < sizeof length) {
        return Fail(KpackCode::kInvalidFormat, at,
                    fmt::format("{} frames, but only {} are there", count, i));
      }
      if (KpackStatus status = ReadNumber(at, &length); !status) return status;
      at += sizeof length;
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
      if (length > frames_end_ - at) {
        return Fail(KpackCode::kInvalidFormat, at,
                    fmt::format("frame {} of {} bytes runs past the end of "
                                "the frames (0x{:x})",
                                i, length, frames_end_));
      }
#endif
      a_.blobs_.push_back({at, length});
      at += length;
    }
    return {};
  }

  KpackStatus ReadEntries() {
    const Value toc = top_.Find("toc");
    if (!toc) return {};
    if (!toc.is_map()) return TocError("'toc' is not a map");
    for (Value key = toc.First(); key;) {
      const Value arches = toc.Next(key);
      const std::optional<std::string_view> name = key.AsString();
      if (!name) return TocError("'toc' has a key that is not a string");
      if (!arches.is_map()) {
        return TocError(fmt::format("'{}' is not a map", *name));
      }
      for (Value arch = arches.First(); arch;) {
        const Value row = arches.Next(arch);
        if (KpackStatus status = ReadEntry(*name, arch, row); !status) {
          return status;
        }
        arch = arches.Next(row);
      }
      key = toc.Next(arches);
    }

    const auto order = [](const Entry& a, const Entry& b) {
      return std::tie(a.key, a.arch) < std::tie(b.key, b.arch);
    };
    if (!std::is_sorted(a_.entries_.begin(), a_.entries_.end(), order)) {
      std::sort(a_.entries_.begin(), a_.entries_.end(), order);
    }
    const auto same = [](const Entry& a, const Entry& b) {
      return a.key == b.key && a.arch == b.arch;
    };
    const auto twice =
        std::adjacent_find(a_.entries_.begin(), a_.entries_.end(), same);
    if (twice != a_.entries_.end()) {
      return TocError(
          fmt::format("'{}' has two entries for {}", twice->key, twice->arch));
    }
    return {};
  }

  KpackStatus ReadEntry(std::string_view key, Value arch, Value row) {
    const std::optional<std::string_view> arch_name = arch.AsString();
    if (!arch_name) {
      return TocError(
          fmt::format("'{}' has a target that is not a string", key));
    }
    const auto fail = [&](std::string_view message) {
      return TocError(fmt::format("'{}' for {}{}", key, *arch_name, message));
    };
    if (!row.is_map()) return fail(" is not a map");

    Entry entry;
    entry.key = key;
    entry.arch = *arch_name;
    entry.type = row.Find("type").AsString().value_or("");
    const Value metadata = row.Find("metadata");
    entry.metadata = EntryMetadata(metadata);
    if (metadata && !metadata.is_map()) {
      return fail(": 'metadata' is not a map");
    }
    // Where another tool has written the table anew, without a checksum of its
    // own, blobs may have changed as well.
    if (a_.has_checksums_) {
      entry.checksum = metadata.Find(kChecksumKey).AsUint();
    }
    const std::optional<std::uint64_t> ordinal = row.Find("ordinal").AsUint();
    if (!ordinal) return fail(" has no 'ordinal'");
    if (*ordinal >= a_.blobs_.size()) {
      return fail(fmt::format(": ordinal {}, but there are {} blobs", *ordinal,
                              a_.blobs_.size()));
    }
    entry.ordinal = static_cast<std::uint32_t>(*ordinal);
    entry.stored_size = a_.blobs_[entry.ordinal].size;

    // Plain blobs know their size; upstream ignores original_size there.
    entry.original_size = entry.stored_size;
    if (compressed()) {
      const std::optional<std::uint64_t> size =
          row.Find("original_size").AsUint();
      if (!size) return fail(" has no 'original_size'");
      if (*size / kMaxZstdRatio > entry.stored_size) {
        return fail(fmt::format(": {} bytes cannot unpack to {}",
                                entry.stored_size, *size));
      }
      entry.original_size = *size;
    }
    a_.entries_.push_back(entry);
    return {};
  }

  Archive& a_;
  Bytes header_;  // up to kHeaderBytes
  std::uint64_t toc_offset_ = 0;
  std::uint64_t frames_ = 0, frames_end_ = 0;
  Value top_;
};

KpackResult<std::shared_ptr<const Archive>> Archive::Open(
    const std::string& path) {
  Result<InputFile> file = InputFile::Open(path);
  if (!file) {
    const bool missing = ::access(path.c_str(), F_OK) != 0 && errno == ENOENT;
    return tl::unexpected<KpackDiag>(
        KpackDiag(missing ? KpackCode::kFileNotFound : KpackCode::kIoError,
                  std::move(file).error()));
  }
  std::shared_ptr<Archive> archive(new Archive);
  archive->path_ = path;
  archive->file_ = *std::move(file);
  return Parse(std::move(archive));
}

KpackResult<std::shared_ptr<const Archive>> Archive::FromBytes(
    ByteSpan bytes, const std::string& name) {
  std::shared_ptr<Archive> archive(new Archive);
  archive->path_ = name;
  archive->in_memory_ = true;
  archive->bytes_ = bytes;
  return Parse(std::move(archive));
}

KpackResult<std::shared_ptr<const Archive>> Archive::Parse(
    std::shared_ptr<Archive> archive) {
  try {
    if (KpackStatus status = TocReader(*archive).Read(); !status) {
      return tl::unexpected<KpackDiag>(std::move(status).error());
    }
  } catch (const std::bad_alloc&) {
    Where where;
    where.file = archive->path_;
    return tl::unexpected<KpackDiag>(
        KpackDiag(KpackCode::kOutOfMemory,
                  MakeDiag(DiagCode::kIo, std::move(where),
                           "no memory for the table of contents")));
  }
  return std::shared_ptr<const Archive>(std::move(archive));
}

bool Archive::HasArch(std::string_view arch) const {
  return std::find(arches_.begin(), arches_.end(), arch) != arches_.end();
}

const Entry* Archive::Find(std::string_view key, std::string_view arch) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), std::tie(key, arch),
                       [](const Entry& entry, const auto& wanted) {
                         return std::tie(entry.key, entry.arch) < wanted;
                       });
  if (at == entries_.end() || at->key != key || at->arch != arch) {
    return nullptr;
  }
  return &*at;
}

Result<Bytes> Archive::ReadAt(std::uint64_t offset, std::uint64_t size) const {
  if (!in_memory_) return file_.Read(offset, size);
  const ByteSpan part = bytes_.subspan(offset, size);
  return Bytes(part.begin(), part.end());
}

tl::unexpected<KpackDiag> Archive::BlobError(const Entry& entry, KpackCode code,
                                             std::string message) const {
  Where where;
  where.file = path_;
  where.offset = static_cast<std::int64_t>(blobs_[entry.ordinal].offset);
  message = fmt::format("'{}' for {}: {}", entry.key, entry.arch, message);
  return tl::unexpected<KpackDiag>(KpackDiag(
      code,
      MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message))));
}

KpackStatus Archive::CheckStored(const Entry& entry, ByteSpan stored) const {
  if (!entry.checksum || Checksum(stored) == *entry.checksum) return {};
  return BlobError(entry, KpackCode::kInvalidFormat,
                   fmt::format("{} bytes are damaged: they do not match their "
                               "checksum",
                               stored.size()));
}

// A checksum that is right says more than the state of the file could. If it
// is not, the program may have closed our descriptor.
KpackResult<Bytes> Archive::ReadSummed(const Entry& entry) const {
  const Blob blob = blobs_[entry.ordinal];
  const std::size_t before = has_frame_sizes_ ? sizeof(std::uint32_t) : 0;
  const std::uint64_t offset = blob.offset - before;
  Bytes bytes;
  const auto is_whole = [&] {
    const bool length_is_right =
        before == 0 || LoadLe<std::uint32_t>(bytes.data()) == blob.size;
    return length_is_right &&
           Checksum(ByteSpan(bytes).subspan(before)) == *entry.checksum;
  };
  bool whole = false;
  if (!in_memory_) {
    bytes.resize(before + blob.size);
    whole = file_.ReadInto(offset, bytes) && is_whole();
  }
  if (!whole) {
    Result<Bytes> again = ReadAt(offset, before + blob.size);
    if (!again) {
      return tl::unexpected<KpackDiag>(
          KpackDiag(KpackCode::kIoError, std::move(again).error()));
    }
    bytes = *std::move(again);
    if (!is_whole()) {
      const KpackStatus status =
          CheckStored(entry, ByteSpan(bytes).subspan(before));
      if (!status) return tl::unexpected<KpackDiag>(status.error());
      return BlobError(entry, KpackCode::kInvalidFormat,
                       "its length is damaged: it does not match the table");
    }
  }
  bytes.erase(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(before));
  return bytes;
}

KpackResult<Bytes> Archive::ReadStored(const Entry& entry) const {
  const Blob blob = blobs_[entry.ordinal];
  try {
    if (entry.checksum) return ReadSummed(entry);
    Result<Bytes> stored = ReadAt(blob.offset, blob.size);
    if (!stored) {
      return tl::unexpected<KpackDiag>(
          KpackDiag(KpackCode::kIoError, std::move(stored).error()));
    }
    return *std::move(stored);
  } catch (const std::bad_alloc&) {
    return BlobError(entry, KpackCode::kOutOfMemory,
                     fmt::format("no memory for {} bytes", blob.size));
  }
}

KpackResult<Bytes> Archive::Unpack(const Entry& entry, ByteSpan stored) const {
  try {
    if (IsPlain(entry)) return Bytes(stored.begin(), stored.end());
    KpackResult<std::shared_ptr<const Bytes>> reference = Reference(entry);
    if (!reference) {
      return tl::unexpected<KpackDiag>(std::move(reference).error());
    }
    Bytes out(entry.original_size);
    const std::size_t size = Decompress(
        stored, *reference ? ByteSpan(**reference) : ByteSpan(), out);
    if (ZSTD_isError(size)) {
      return BlobError(
          entry, KpackCode::kDecompressionFailed,
          fmt::format("cannot unpack: {}", ZSTD_getErrorName(size)));
    }
    if (size != out.size()) {
      return BlobError(
          entry, KpackCode::kDecompressionFailed,
          fmt::format("unpacked to {} bytes, expected {}", size, out.size()));
    }
    return out;
  } catch (const std::bad_alloc&) {
    return BlobError(
        entry, KpackCode::kOutOfMemory,
        fmt::format("no memory for {} bytes", entry.original_size));
  }
}

KpackResult<Bytes> Archive::Read(const Entry& entry) const {
  // Of who reads several entries, the next may refer to this one. For one alone
  // a copy would be for nothing.
  if (version_ != v2::kVersion || !was_read_.exchange(true) ||
      !referred_[entry.ordinal]) {
    return ReadOnce(entry);
  }
  try {
    KpackResult<std::shared_ptr<const Bytes>> kept = ReadReference(entry);
    if (!kept) return tl::unexpected<KpackDiag>(std::move(kept).error());
    return Bytes(**kept);
  } catch (const std::bad_alloc&) {
    return BlobError(
        entry, KpackCode::kOutOfMemory,
        fmt::format("no memory for {} bytes", entry.original_size));
  }
}

KpackResult<Bytes> Archive::ReadOnce(const Entry& entry) const {
  KpackResult<Bytes> stored = ReadStored(entry);
  if (!stored || IsPlain(entry)) return stored;
  return Unpack(entry, *stored);
}

}  // namespace cerberus::kpack
