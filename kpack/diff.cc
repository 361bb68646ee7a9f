#include "kpack/diff.h"

#include <set>
#include <string_view>
#include <tuple>

#include "kpack/edit.h"

namespace cerberus::kpack {
namespace {

Result<std::vector<std::string>> MetadataKeysThatDiffer(const Archive& left,
                                                        const Entry& a,
                                                        const Archive& right,
                                                        const Entry& b) {
  CERB_TRY(const Metadata ours, CopyMetadata(left, a));
  CERB_TRY(const Metadata theirs, CopyMetadata(right, b));
  std::set<std::string> keys;
  const auto look = [&keys](const Metadata& one, const Metadata& other) {
    for (const auto& [key, value] : one) {
      const auto there = other.find(key);
      if (there == other.end() || there->second != value) keys.insert(key);
    }
  };
  look(ours, theirs);
  look(theirs, ours);
  return std::vector<std::string>(keys.begin(), keys.end());
}

// Content hashes speak for the bytes where both archives have them.
Result<bool> BytesDiffer(const Archive& left, const Entry& a,
                         const Archive& right, const Entry& b) {
  if (a.original_size != b.original_size) return true;
  const std::string ours_hash = left.ContentHash(a);
  const std::string theirs_hash = right.ContentHash(b);
  if (!ours_hash.empty() && !theirs_hash.empty()) {
    return ours_hash != theirs_hash;
  }
  CERB_TRY(const Bytes ours, left.Read(a));
  CERB_TRY(const Bytes theirs, right.Read(b));
  return ours != theirs;
}

Status Compare(const Archive& left, const Entry& a, const Archive& right,
               const Entry& b, ArchiveDiff& diff) {
  Difference difference{&a, &b, a.type != b.type, false, {}};
  CERB_TRY(difference.metadata, MetadataKeysThatDiffer(left, a, right, b));
  CERB_TRY(difference.bytes, BytesDiffer(left, a, right, b));
  if (difference.type || difference.bytes || !difference.metadata.empty()) {
    diff.entries.push_back(std::move(difference));
  } else {
    ++diff.same;
  }
  return {};
}

}  // namespace

Result<ArchiveDiff> Diff(const Archive& left, const Archive& right) {
  ArchiveDiff diff;
  if (left.group_name() != right.group_name()) {
    diff.fields.emplace_back("group_name");
  }
  const auto arches = [](const Archive& archive) {
    return std::set<std::string_view>(archive.arches().begin(),
                                      archive.arches().end());
  };
  if (arches(left) != arches(right)) diff.fields.emplace_back("gfx_arches");

  auto a = left.entries().begin();
  auto b = right.entries().begin();
  while (a != left.entries().end() || b != right.entries().end()) {
    const auto before = [](const Entry& x, const Entry& y) {
      return std::tie(x.key, x.arch) < std::tie(y.key, y.arch);
    };
    if (b == right.entries().end() ||
        (a != left.entries().end() && before(*a, *b))) {
      diff.entries.push_back({&*a++, nullptr, false, false, {}});
    } else if (a == left.entries().end() || before(*b, *a)) {
      diff.entries.push_back({nullptr, &*b++, false, false, {}});
    } else {
      CERB_TRY_VOID(Compare(left, *a++, right, *b++, diff));
    }
  }
  return diff;
}

}  // namespace cerberus::kpack
