// What the verbs of `cerberus kpack` share.
#ifndef CERBERUS_CLI_KPACK_ARCHIVES_H_
#define CERBERUS_CLI_KPACK_ARCHIVES_H_

#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/option_list.h"
#include "cli/reporter.h"
#include "kpack/edit.h"
#include "support/result.h"

namespace cerberus::cli {

// How an archive is stored.
struct PackOptions {
  std::string format = "v1";
  std::string compression = "zstd";
  int level = 0;
};
void AddPackOptions(OptionList& list, PackOptions& pack);
kpack::EditOptions MakeEditOptions(const PackOptions& pack,
                                   const std::string& group_name);

// --arch and --filter: which of an archive's entries.
struct EntryOptions {
  std::vector<std::string> arches;
  std::string filter;
};
void AddEntryOptions(OptionList& list, EntryOptions& options);

Result<kpack::ArchivePtr> OpenArchive(const std::string& path);
Result<std::vector<kpack::ArchivePtr>> OpenArchives(
    const std::vector<std::string>& paths);

// The entries that the options name: for one of the targets, and with a key, or
// a kernel in the code, that the filter matches.
Result<kpack::Selection> SelectEntries(kpack::ArchivePtr archive,
                                       const EntryOptions& options);

// "app" for "out/app-gfx1100.kpack".
std::string GroupOfFile(const std::string& path);

// "2 entries, 1 blob".
std::string CountedEntries(std::size_t entries, std::size_t blobs);

// The members that all verbs have, before and behind those of one verb.
void BeginReport(const char* verb, JsonWriter& json);
void PrintReport(JsonWriter json, const Reporter& reporter, int code);
// `entries`, `blobs` and `bytes` of an archive that was written.
void WriteSummaryJson(const kpack::EditSummary& summary, JsonWriter& json);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_KPACK_ARCHIVES_H_
