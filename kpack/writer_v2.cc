#include "kpack/writer_v2.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "kpack/checksum.h"
#include "kpack/content_key.h"
#include "kpack/format.h"
#include "kpack/msgpack_writer.h"

namespace cerberus::kpack {
namespace {

// Blobs to try as a reference: of the same key, and of any other.
constexpr std::size_t kTriesOfKey = 4;
constexpr std::size_t kTriesOfOthers = 3;
// What is kept to be tried.
constexpr std::size_t kMaxRoots = 32;
constexpr std::size_t kMaxRootBytes = 64u << 20;
// Trials are at this level: what resembles is found as well, and soon.
constexpr int kTrialLevel = 3;

Diag V2Diag(DiagCode code, const std::string& path, std::string message) {
  Where where;
  where.file = path;
  return MakeDiag(code, std::move(where), std::move(message));
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// A frame with content size; `reference` may be empty.
Result<Bytes> Compress(ByteSpan bytes, ByteSpan reference, int level) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) {
    return Err(DiagCode::kInternal, "no memory for zstd");
  }
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  if (!reference.empty()) {
    // Matches reach from the last byte to the reference's first.
    int window = 10;
    while (window < 27 &&
           (std::uint64_t{1} << window) < bytes.size() + reference.size()) {
      ++window;
    }
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window);
    ZSTD_CCtx_refPrefix(context.get(), reference.data(), reference.size());
  }
  Bytes frame(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress2(
      context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) {
    return Err(DiagCode::kInternal,
               fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  return frame;
}

template <typename T>
void AppendRecord(Bytes& out, const T& record) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(&record);
  out.insert(out.end(), at, at + sizeof record);
}

}  // namespace

// The strings of the index, each once.
class ArchiveWriterV2::Strings {
 public:
  v2::Text Add(std::string_view text) {
    const auto [at, is_new] = known_.try_emplace(
        std::string(text), v2::Text{static_cast<std::uint32_t>(bytes_.size()),
                                    static_cast<std::uint32_t>(text.size())});
    if (is_new) bytes_.append(text);
    return at->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::map<std::string, v2::Text> known_;
  std::string bytes_;
};

Result<ArchiveWriterV2> ArchiveWriterV2::Create(const std::string& path,
                                                ArchiveOptions options) {
  CERB_TRY(OutputFile file, OutputFile::Create(path));
  ArchiveWriterV2 writer(std::move(file), std::move(options));
  const Bytes header(v2::kHeaderBytes);
  CERB_TRY_VOID(writer.file_.Append(header));
  return writer;
}

Status ArchiveWriterV2::Add(const std::string& key, const std::string& arch,
                            const std::string& type, ByteSpan bytes,
                            const Metadata& metadata) {
  if (entries_.count({key, arch}) != 0) {
    return Err(
        V2Diag(DiagCode::kInternal, file_.path(),
               fmt::format("'{}' has an entry for {} already", key, arch)));
  }
  CERB_TRY(const std::uint32_t blob, StoreBlob(key, bytes));
  Row row{type, {}, blob};
  if (!metadata.empty()) {
    MsgpackWriter writer;
    writer.Map(metadata.size());
    WriteMetadata(writer, metadata);
    row.metadata = std::move(writer).Take();
  }
  entries_.emplace(std::pair(key, arch), std::move(row));
  return {};
}

// The best of no reference and of those that are tried.
Result<Bytes> ArchiveWriterV2::CompressBest(const std::string& key,
                                            ByteSpan bytes,
                                            std::uint32_t* reference) {
  *reference = v2::kNoReference;
  CERB_TRY(const Bytes alone, Compress(bytes, {}, kTrialLevel));
  // One that saves less than a tenth would cost readers more than it saves.
  std::size_t best_size = alone.size() - alone.size() / 10;
  const Root* best = nullptr;
  std::size_t of_key = 0;
  std::size_t of_others = 0;
  for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
    std::size_t& tries = (*root)->key == key ? of_key : of_others;
    const std::size_t limit =
        (*root)->key == key ? kTriesOfKey : kTriesOfOthers;
    if (tries == limit) continue;
    ++tries;
    CERB_TRY(const Bytes frame, Compress(bytes, (*root)->bytes, kTrialLevel));
    if (frame.size() < best_size) {
      best_size = frame.size();
      best = root->get();
    }
  }
  if (best != nullptr) *reference = best->ordinal;
  return Compress(bytes, best == nullptr ? ByteSpan() : ByteSpan(best->bytes),
                  options_.level);
}

void ArchiveWriterV2::KeepRoot(const std::string& key, std::uint32_t ordinal,
                               ByteSpan bytes) {
  if (bytes.size() > v2::kMaxReferenceBytes || bytes.empty()) return;
  roots_.push_back(std::make_shared<const Root>(
      Root{ordinal, key, Bytes(bytes.begin(), bytes.end())}));
  std::size_t kept = 0;
  for (const auto& root : roots_) kept += root->bytes.size();
  while (roots_.size() > kMaxRoots || kept > kMaxRootBytes) {
    kept -= roots_.front()->bytes.size();
    roots_.erase(roots_.begin());
  }
}

Result<std::uint32_t> ArchiveWriterV2::StoreBlob(const std::string& key,
                                                 ByteSpan bytes) {
  const std::string content =
      fmt::format("{}.{}", Hash128Hex(bytes), bytes.size());
  const auto known = blob_of_content_.find(content);
  if (known != blob_of_content_.end()) return known->second;

  const auto ordinal = static_cast<std::uint32_t>(blobs_.size());
  v2::Blob blob = {};
  blob.size = bytes.size();
  blob.codec = v2::kPlain;
  blob.reference = v2::kNoReference;
  XXH128_canonicalFromHash(
      reinterpret_cast<XXH128_canonical_t*>(blob.content_hash),
      XXH3_128bits(bytes.data(), bytes.size()));
  Bytes frame;
  ByteSpan stored = bytes;
  if (options_.compression == Compression::kZstdPerKernel) {
    CERB_TRY(frame, CompressBest(key, bytes, &blob.reference));
    stored = frame;
    blob.codec = v2::kZstd;
    if (blob.reference == v2::kNoReference) KeepRoot(key, ordinal, bytes);
  }
  blob.offset = file_.size();
  blob.stored_size = stored.size();
  blob.checksum = Checksum(stored);
  CERB_TRY_VOID(file_.Append(stored));
  blobs_.push_back(blob);
  blob_of_content_.emplace(content, ordinal);
  return ordinal;
}

Bytes ArchiveWriterV2::EncodeIndex() const {
  Strings strings;
  Bytes index;
  for (const v2::Blob& blob : blobs_) AppendRecord(index, blob);
  std::set<std::string> arches = options_.arches;
  for (const auto& [name, row] : entries_) {
    arches.insert(name.second);
    v2::Entry entry = {};
    entry.key = strings.Add(name.first);
    entry.arch = strings.Add(name.second);
    entry.type = strings.Add(row.type);
    entry.metadata = strings.Add(AsText(row.metadata));
    entry.blob = row.blob;
    AppendRecord(index, entry);
  }
  for (const std::string& arch : arches) {
    AppendRecord(index, strings.Add(arch));
  }
  v2::Names names = {};
  names.group_name = strings.Add(options_.group_name);
  names.gfx_arch_family = strings.Add(options_.gfx_arch_family);
  AppendRecord(index, names);
  const ByteSpan text = AsBytes(strings.bytes());
  index.insert(index.end(), text.begin(), text.end());
  return index;
}

Status ArchiveWriterV2::Finish() {
  v2::Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = v2::kVersion;
  header.index_offset = file_.size();
  const Bytes index = EncodeIndex();
  if (index.size() > 0xffffffff) {
    return Err(V2Diag(DiagCode::kUnsupported, file_.path(),
                      "an index of more than 4 GiB"));
  }
  CERB_TRY_VOID(file_.Append(index));
  header.index_size = index.size();
  header.file_size = file_.size();
  header.blob_count = static_cast<std::uint32_t>(blobs_.size());
  header.entry_count = static_cast<std::uint32_t>(entries_.size());
  std::set<std::string> arches = options_.arches;
  for (const auto& [name, row] : entries_) arches.insert(name.second);
  header.arch_count = static_cast<std::uint32_t>(arches.size());
  Bytes bytes;
  AppendRecord(bytes, header);
  StoreLe(bytes.data() + v2::kChecksumOffset, v2::IndexChecksum(bytes, index));
  return file_.WriteAt(0, bytes);
}

}  // namespace cerberus::kpack
