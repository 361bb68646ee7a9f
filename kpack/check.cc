#include "kpack/check.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "kpack/content_key.h"

namespace cerberus::kpack {
namespace {

// What version 2 says besides: the hash of the content, metadata that is not
// parsed before it is looked at.
void CheckV2(const Archive& archive, const Entry& entry, const Bytes& bytes,
             std::vector<Diag>& wrong) {
  if (archive.version() != v2::kVersion) return;
  if (archive.ContentHash(entry) != Hash128Hex(bytes)) {
    wrong.push_back(
        EntryDiag(archive, entry, "the content is not what its hash says"));
  }
  if (!entry.metadata.encoded().empty() && !entry.metadata) {
    wrong.push_back(
        EntryDiag(archive, entry, "'metadata' is not a MessagePack map"));
  }
}

// The content keys that an entry of PTX goes by: its own key may be one.
void CheckContentKeys(const Archive& archive, const Entry& entry,
                      const Bytes& bytes, std::vector<Diag>& wrong) {
  if (entry.type != "ptx") return;
  const std::string key = ContentKey(AsText(bytes));
  const auto said = entry.metadata.Find("content_key").AsString();
  const bool is_content_key = entry.key.substr(0, 4) == "ptx:";
  if ((said && *said != key) ||
      (is_content_key && entry.key.substr(0, key.size()) != key)) {
    wrong.push_back(
        EntryDiag(archive, entry, fmt::format("the PTX is that of '{}'", key)));
  }
}

}  // namespace

Diag EntryDiag(const Archive& archive, const Entry& entry,
               const std::string& message, DiagCode code) {
  Where where;
  where.file = archive.path();
  return MakeDiag(
      code, std::move(where),
      fmt::format("'{}' for {}: {}", entry.key, entry.arch, message));
}

std::vector<Diag> CheckArchive(
    const Archive& archive,
    const std::function<void(const Entry&, const Bytes&, std::vector<Diag>&)>&
        look) {
  // Entries that share a blob may differ in what they say of it.
  std::map<std::uint32_t, std::vector<const Entry*>> by_blob;
  for (const Entry& entry : archive.entries()) {
    by_blob[entry.ordinal].push_back(&entry);
  }
  std::vector<Diag> wrong;
  for (const auto& [ordinal, entries] : by_blob) {
    const Entry& first = *entries.front();
    const KpackResult<Bytes> bytes = archive.Read(first);
    for (const Entry* entry : entries) {
      const bool same = entry->original_size == first.original_size &&
                        entry->checksum == first.checksum;
      if (!bytes || !same) {
        const KpackResult<Bytes> again = archive.Read(*entry);
        if (!again) wrong.push_back(again.error());
      } else {
        CheckContentKeys(archive, *entry, *bytes, wrong);
        CheckV2(archive, *entry, *bytes, wrong);
      }
    }
    if (bytes && look) look(first, *bytes, wrong);
  }
  return wrong;
}

}  // namespace cerberus::kpack
