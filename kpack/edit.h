// Archives made of others: entries chosen, put together, stored anew. What is
// not changed stays as it is: keys, metadata, and compressed bytes too where
// the new archive stores them in the same way.
//
//   CERB_TRY(Selection all, Merge({a, b}));
//   EditOptions options;  …
//   CERB_TRY_VOID(WriteArchive(all, options, "out.kpack"));
#ifndef CERBERUS_KPACK_EDIT_H_
#define CERBERUS_KPACK_EDIT_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kpack/reader.h"
#include "kpack/writer.h"
#include "support/result.h"

namespace cerberus::kpack {

using ArchivePtr = std::shared_ptr<const Archive>;

// The metadata of an entry as a writer takes it, without the checksum. Errors:
// a key that is not a string.
Result<Metadata> CopyMetadata(const Archive& archive, const Entry& entry);

// Entries of one archive or of several, sorted by key and target, and the
// archives, which hold them.
struct Selection {
  struct Row {
    const Archive* archive;
    const Entry* entry;
  };
  std::vector<Row> rows;
  std::vector<ArchivePtr> archives;

  // The group that all archives are of; "" if they are of several.
  std::string GroupName() const;
};

Selection SelectAll(ArchivePtr archive);

// All entries of all archives. What several hold must be the same, with the
// same metadata. Errors: what differs, and in which two.
Result<Selection> Merge(const std::vector<ArchivePtr>& archives);
// Blobs follow each other as they do in the archives, and these as they were
// given: so parts of an archive become that archive again.
void KeepOrder(Selection& selection);

// The rows whose blob `wanted` says yes to for one of its rows: an entry and
// the others that lead to the same bytes stay together.
Selection KeepBlobs(const Selection& selection,
                    const std::function<bool(const Selection::Row&)>& wanted);
// Those for the targets. A target without features stands for it with any:
// "gfx90a" for "gfx90a:xnack+".
Selection KeepArches(const Selection& selection,
                     const std::vector<std::string>& arches);
std::map<std::string, Selection> ByArch(const Selection& selection);

struct EditOptions {
  std::string group_name;
  Compression compression = Compression::kZstdPerKernel;
  // 0: frames stay as they are, new ones are of level 3, of version 2 of 9.
  int level = 0;
  bool v2 = false;  // all frames are made anew
};

// "gfx110X" for gfx1100 and gfx1101, the target itself where there is one.
std::string FamilyOf(const std::set<std::string>& arches);

struct EditSummary {
  std::size_t entries = 0;
  std::size_t blobs = 0;
  std::uint64_t size = 0;  // of the file
};

// A whole archive that has no name yet: file.Commit() gives it one.
struct FinishedArchive {
  OutputFile file;
  EditSummary summary;
};
// A new entry.
struct NewEntry {
  std::string key;
  std::string arch;
  std::string type;
  Bytes bytes;
  Metadata metadata;
};
// Blobs stand in the order of the keys, whatever that of `entries`.
Result<FinishedArchive> BuildArchive(std::vector<NewEntry> entries,
                                     const EditOptions& options,
                                     const std::string& path);
// Everything that is read is checked.
Result<FinishedArchive> BuildArchive(const Selection& selection,
                                     const EditOptions& options,
                                     const std::string& path);
// With its name, which may be that of an archive that is read.
Result<EditSummary> WriteArchive(const Selection& selection,
                                 const EditOptions& options,
                                 const std::string& path);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_EDIT_H_
