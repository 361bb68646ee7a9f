// Opens the input as an archive and reads all that it claims to hold; once as
// it is, and once with the checksum of its header and table, or index, made
// right: else nothing behind a checksum would ever be reached.
#include <cstdint>
#include <memory>

#include "kpack/check.h"
#include "kpack/checksum.h"
#include "kpack/format.h"
#include "kpack/format_v2.h"
#include "kpack/reader.h"

using cerberus::Bytes;
using cerberus::ByteSpan;
using cerberus::LoadLe;
using cerberus::StoreLe;
using cerberus::kpack::Archive;
using cerberus::kpack::Entry;

namespace {

void Look(ByteSpan input) {
  const auto archive = Archive::FromBytes(input, "fuzz");
  if (!archive) return;
  std::uint64_t claimed = 0;
  for (const Entry& entry : (*archive)->entries()) {
    if ((*archive)->Find(entry.key, entry.arch) != &entry) __builtin_trap();
    entry.metadata.Find("sm");
    claimed += entry.original_size;
    // A few hundred input bytes may claim, rightly, to unpack to megabytes.
    if (entry.original_size > (1u << 24)) continue;
    const auto bytes = (*archive)->Read(entry);
    if (bytes && bytes->size() != entry.original_size) __builtin_trap();
  }
  if (claimed < (1u << 24)) cerberus::kpack::CheckArchive(**archive);
}

void Repair(Bytes& bytes) {
  namespace v2 = cerberus::kpack::v2;
  if (bytes.size() < v2::kHeaderBytes) return;
  const auto version = LoadLe<std::uint32_t>(bytes.data() + 4);
  const auto offset = LoadLe<std::uint64_t>(bytes.data() + 8);
  if (offset > bytes.size()) return;
  const ByteSpan table = ByteSpan(bytes).subspan(offset);
  if (version == v2::kVersion) {
    auto header = LoadLe<v2::Header>(bytes.data());
    header.file_size = bytes.size();
    header.index_size = table.size();
    StoreLe(bytes.data(), header);
    StoreLe(bytes.data() + v2::kChecksumOffset,
            v2::IndexChecksum(bytes, table));
  } else if (version == cerberus::kpack::kVersion1 &&
             cerberus::kpack::FindTableChecksum(bytes) !=
                 cerberus::kpack::TableChecksum::kNone) {
    cerberus::kpack::StoreTableChecksum(bytes.data(), table);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  Look(ByteSpan(data, size));
  Bytes bytes(data, data + size);
  Repair(bytes);
  Look(bytes);
  return 0;
}
