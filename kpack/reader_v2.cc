#include "kpack/reader_v2.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "kpack/checksum.h"
#include "kpack/format.h"

namespace cerberus::kpack {
namespace {

// Unpacked references that an archive keeps for the next blob.
constexpr std::uint64_t kMaxKeptReferences = 32u << 20;

}  // namespace

tl::unexpected<KpackDiag> IndexReader::Fail(KpackCode code,
                                            std::uint64_t offset,
                                            std::string message) const {
  return FormatError(a_.path_, code, offset, std::move(message));
}

KpackStatus IndexReader::Read() {
  KpackStatus status = ReadHeader();
  if (status) status = ReadBlobs();
  if (status) status = ReadArches();
  if (status) status = ReadEntries();
  return status;
}

KpackStatus IndexReader::ReadHeader() {
  if (header_bytes_.size() < v2::kHeaderBytes) {
    return Fail(KpackCode::kInvalidFormat, header_bytes_.size(),
                "the header is cut short");
  }
  h_ = LoadLe<v2::Header>(header_bytes_.data());
  if (h_.file_size != a_.size()) {
    return Fail(KpackCode::kInvalidFormat, 24,
                fmt::format("the file has {} bytes, expected {}", a_.size(),
                            h_.file_size));
  }
  if (h_.index_offset < v2::kHeaderBytes || h_.index_offset > a_.size() ||
      h_.index_size != a_.size() - h_.index_offset) {
    return Fail(KpackCode::kInvalidFormat, 8,
                fmt::format("an index of {} bytes at 0x{:x}, but the file ends "
                            "at 0x{:x}",
                            h_.index_size, h_.index_offset, a_.size()));
  }
  Result<Bytes> index = a_.ReadAt(h_.index_offset, h_.index_size);
  if (!index) {
    return tl::unexpected<KpackDiag>(
        KpackDiag(KpackCode::kIoError, std::move(index).error()));
  }
  a_.toc_bytes_ = *std::move(index);
  if (h_.checksum != v2::IndexChecksum(header_bytes_, a_.toc_bytes_)) {
    return Fail(KpackCode::kInvalidFormat, v2::kChecksumOffset,
                "header or index are damaged: they do not match their "
                "checksum");
  }
  if (h_.features != 0 || h_.reserved != 0) {
    return Fail(KpackCode::kNotImplemented, 44,
                fmt::format("features 0x{:x} are not known here", h_.features));
  }
  // Counts are of 32 bits: their products do not overflow 64.
  if (StringsAt() > h_.index_size) {
    return Fail(KpackCode::kInvalidFormat, 32,
                fmt::format("{} blobs, {} entries and {} targets do not fit "
                            "into an index of {} bytes",
                            h_.blob_count, h_.entry_count, h_.arch_count,
                            h_.index_size));
  }
  a_.has_checksums_ = true;
  a_.compressed_ = true;
  a_.compression_ = "zstd-reference";
  return {};
}

KpackResult<std::string_view> IndexReader::TextAt(std::uint64_t record,
                                                  const v2::Text& text) const {
  const std::string_view strings =
      AsText(ByteSpan(a_.toc_bytes_).subspan(StringsAt()));
  if (text.offset > strings.size() ||
      text.size > strings.size() - text.offset) {
    return Fail(KpackCode::kInvalidFormat, h_.index_offset + record,
                fmt::format("a string of {} bytes at 0x{:x} of {} bytes of "
                            "strings",
                            text.size, text.offset, strings.size()));
  }
  return strings.substr(text.offset, text.size);
}

KpackStatus IndexReader::CheckBlob(std::uint32_t ordinal) const {
  const auto blob = LoadLe<v2::Blob>(a_.toc_bytes_.data() + BlobAt(ordinal));
  const auto fail = [&](std::string message) {
    return Fail(KpackCode::kInvalidFormat, h_.index_offset + BlobAt(ordinal),
                fmt::format("blob {}: {}", ordinal, message));
  };
  if (blob.offset < v2::kHeaderBytes || blob.offset > h_.index_offset ||
      blob.stored_size > h_.index_offset - blob.offset) {
    return fail(fmt::format("{} bytes at 0x{:x} run past the index at 0x{:x}",
                            blob.stored_size, blob.offset, h_.index_offset));
  }
  if (blob.codec != v2::kPlain && blob.codec != v2::kZstd) {
    return Fail(KpackCode::kNotImplemented, h_.index_offset + BlobAt(ordinal),
                fmt::format("blob {}: codec {} is not known here", ordinal,
                            blob.codec));
  }
  if (blob.codec == v2::kPlain) {
    if (blob.size != blob.stored_size || blob.reference != v2::kNoReference) {
      return fail(fmt::format("plain, {} bytes of {} with reference {}",
                              blob.stored_size, blob.size, blob.reference));
    }
    return {};
  }
  if (blob.size / kMaxZstdRatio > blob.stored_size) {
    return fail(fmt::format("{} bytes cannot unpack to {}", blob.stored_size,
                            blob.size));
  }
  if (blob.reference == v2::kNoReference) return {};
  // One step, and backwards: no chain, no circle.
  if (blob.reference >= ordinal) {
    return fail(fmt::format("refers to blob {}, expected an earlier one",
                            blob.reference));
  }
  const auto reference =
      LoadLe<v2::Blob>(a_.toc_bytes_.data() + BlobAt(blob.reference));
  if (reference.reference != v2::kNoReference ||
      reference.size > v2::kMaxReferenceBytes) {
    return fail(fmt::format(
        "refers to blob {} of {} bytes, expected one without a reference and "
        "of at most {}",
        blob.reference, reference.size, v2::kMaxReferenceBytes));
  }
  return {};
}

KpackStatus IndexReader::ReadBlobs() {
  a_.blobs_.reserve(h_.blob_count);
  a_.referred_.resize(h_.blob_count);
  for (std::uint32_t i = 0; i < h_.blob_count; ++i) {
    if (KpackStatus status = CheckBlob(i); !status) return status;
    const auto blob = LoadLe<v2::Blob>(a_.toc_bytes_.data() + BlobAt(i));
    a_.blobs_.push_back({blob.offset, blob.stored_size});
    if (blob.reference != v2::kNoReference) a_.referred_[blob.reference] = true;
  }
  return {};
}

KpackStatus IndexReader::ReadArches() {
  const std::uint8_t* index = a_.toc_bytes_.data();
  for (std::uint32_t i = 0; i < h_.arch_count; ++i) {
    const auto arch = TextAt(ArchAt(i), LoadLe<v2::Text>(index + ArchAt(i)));
    if (!arch) return tl::unexpected<KpackDiag>(arch.error());
    a_.arches_.push_back(*arch);
  }
  const auto names = LoadLe<v2::Names>(index + NamesAt());
  const auto group = TextAt(NamesAt(), names.group_name);
  if (!group) return tl::unexpected<KpackDiag>(group.error());
  const auto family = TextAt(NamesAt(), names.gfx_arch_family);
  if (!family) return tl::unexpected<KpackDiag>(family.error());
  a_.group_name_ = *group;
  a_.arch_family_ = *family;
  return {};
}

KpackStatus IndexReader::ReadEntries() {
  const std::uint8_t* index = a_.toc_bytes_.data();
  a_.entries_.reserve(h_.entry_count);
  for (std::uint32_t i = 0; i < h_.entry_count; ++i) {
    const auto record = LoadLe<v2::Entry>(index + EntryAt(i));
    std::string_view texts[4];
    const v2::Text* from[] = {&record.key, &record.arch, &record.type,
                              &record.metadata};
    for (std::size_t t = 0; t < std::size(texts); ++t) {
      const auto text = TextAt(EntryAt(i), *from[t]);
      if (!text) return tl::unexpected<KpackDiag>(text.error());
      texts[t] = *text;
    }
    if (record.blob >= h_.blob_count || record.reserved != 0) {
      return Fail(KpackCode::kInvalidFormat, h_.index_offset + EntryAt(i),
                  fmt::format("'{}' for {}: blob {}, but there are {} blobs",
                              texts[0], texts[1], record.blob, h_.blob_count));
    }
    const auto blob = LoadLe<v2::Blob>(index + BlobAt(record.blob));
    Entry entry;
    entry.key = texts[0];
    entry.arch = texts[1];
    entry.type = texts[2];
    entry.ordinal = record.blob;
    entry.original_size = blob.size;
    entry.stored_size = blob.stored_size;
    entry.checksum = blob.checksum;
    entry.metadata = EntryMetadata(&a_, AsBytes(texts[3]));
    if (!a_.entries_.empty() &&
        std::tie(a_.entries_.back().key, a_.entries_.back().arch) >=
            std::tie(entry.key, entry.arch)) {
      return Fail(KpackCode::kInvalidFormat, h_.index_offset + EntryAt(i),
                  fmt::format("'{}' for {} does not stand behind the entry "
                              "before it",
                              entry.key, entry.arch));
    }
    a_.entries_.push_back(entry);
  }
  return {};
}

// --- what an archive of version 2 does otherwise ---

v2::Blob Archive::BlobV2(std::uint32_t ordinal) const {
  return LoadLe<v2::Blob>(toc_bytes_.data() + ordinal * sizeof(v2::Blob));
}

std::string Archive::ContentHash(const Entry& entry) const {
  std::string hex;
  if (version_ != v2::kVersion) return hex;
  for (const std::uint8_t byte : BlobV2(entry.ordinal).content_hash) {
    hex += fmt::format("{:02x}", byte);
  }
  return hex;
}

Value Archive::MetadataV2(ByteSpan encoded) const {
  if (encoded.empty()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, is_new] =
      metadata_.try_emplace({encoded.data(), encoded.size()});
  if (is_new) {
    Result<Document> parsed = Document::Parse(encoded);
    if (parsed && parsed->root().is_map()) at->second = *std::move(parsed);
  }
  return at->second.root();
}

KpackResult<std::shared_ptr<const Bytes>> Archive::Reference(
    const Entry& entry) const {
  if (version_ != v2::kVersion) return nullptr;
  const std::uint32_t ordinal = BlobV2(entry.ordinal).reference;
  if (ordinal == v2::kNoReference) return nullptr;
  const v2::Blob blob = BlobV2(ordinal);
  Entry reference = entry;  // messages name the entry that is read
  reference.ordinal = ordinal;
  reference.original_size = blob.size;
  reference.checksum = blob.checksum;
  auto bytes = ReadReference(reference);
  if (!bytes) {
    bytes.error().message +=
        fmt::format(", in its reference, blob {}", ordinal);
  }
  return bytes;
}

KpackResult<std::shared_ptr<const Bytes>> Archive::ReadReference(
    const Entry& entry) const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [kept, bytes] : references_) {
      if (kept == entry.ordinal) return bytes;
    }
  }
  KpackResult<Bytes> unpacked = ReadOnce(entry);
  if (!unpacked) return tl::unexpected<KpackDiag>(std::move(unpacked).error());
  auto bytes = std::make_shared<const Bytes>(*std::move(unpacked));
  const std::lock_guard<std::mutex> lock(mutex_);
  references_.emplace_front(entry.ordinal, bytes);
  std::uint64_t kept = 0;
  for (const auto& [number, some] : references_) kept += some->size();
  while (references_.size() > 1 && kept > kMaxKeptReferences) {
    kept -= references_.back().second->size();
    references_.pop_back();
  }
  return bytes;
}

}  // namespace cerberus::kpack
