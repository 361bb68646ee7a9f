#include "cli/kpack_archives.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/convert/code_object.h"
#include "cli/name_filter.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "images/code_object.h"
#include "images/fatbin.h"

namespace cerberus::cli {
namespace {

// The kernels in a blob, of PTX as of machine code; none in anything else.
Result<std::vector<std::string>> KernelsIn(ByteSpan bytes,
                                           const kpack::Selection::Row& row) {
  const std::string where = fmt::format("{}: '{}' for {}", row.archive->path(),
                                        row.entry->key, row.entry->arch);
  if (row.entry->type == "ptx") {
    // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): set below
    images::FatbinEntry entry{};
    entry.kind = images::EntryKind::kPtx;
    entry.payload = bytes;
    entry.stored_size = entry.unpacked_size = bytes.size();
    return images::KernelNames(entry);
  }
  std::vector<std::string> names;
  if (!images::IsCodeObject(bytes)) return names;
  CERB_TRY(const CodeObject object, ReadCodeObject(bytes, where));
  for (const CodeObject::Kernel& kernel : object.kernels) {
    names.push_back(kernel.name);
  }
  return names;
}

}  // namespace

void AddPackOptions(OptionList& list, PackOptions& pack) {
  list.Add("--format", pack.format,
           "v1 (default), which ROCm reads too, or v2, smaller")
      .OneOf({"v1", "v2"})
      .ValueName("F")
      .Group(kGroupBehaviour);
  list.Add("--compression", pack.compression,
           "of code objects: zstd (default) or none")
      .OneOf({"zstd", "none"})
      .ValueName("HOW")
      .Group(kGroupBehaviour);
  list.Add("--level", pack.level, "compress all anew, at this level")
      .ValueName("N")
      .Range(1, 22)
      .Group(kGroupBehaviour);
}

kpack::EditOptions MakeEditOptions(const PackOptions& pack,
                                   const std::string& group_name) {
  kpack::EditOptions options;
  options.group_name = group_name;
  options.compression = pack.compression == "none"
                            ? kpack::Compression::kNone
                            : kpack::Compression::kZstdPerKernel;
  options.level = pack.level;
  options.v2 = pack.format == "v2";
  return options;
}

void AddEntryOptions(OptionList& list, EntryOptions& options) {
  list.Add("--arch", options.arches, "entries for these targets, or ptx")
      .ValueName("A[,B...]")
      .Delimiter(',')
      .Group(kGroupTargets);
  list.Add("--filter", options.filter,
           "entries with a key or a kernel that matches")
      .ValueName("REGEX")
      .Group(kGroupBehaviour);
}

Result<kpack::ArchivePtr> OpenArchive(const std::string& path) {
  CERB_TRY(kpack::ArchivePtr archive, kpack::Archive::Open(path));
  return archive;
}

Result<std::vector<kpack::ArchivePtr>> OpenArchives(
    const std::vector<std::string>& paths) {
  std::vector<kpack::ArchivePtr> archives;
  for (const std::string& path : paths) {
    CERB_TRY(kpack::ArchivePtr archive, OpenArchive(path));
    archives.push_back(std::move(archive));
  }
  return archives;
}

Result<kpack::Selection> SelectEntries(kpack::ArchivePtr archive,
                                       const EntryOptions& options) {
  CERB_TRY(const NameFilter filter, NameFilter::Parse(options.filter));
  kpack::Selection selection = kpack::SelectAll(std::move(archive));
  if (!options.arches.empty()) {
    selection = kpack::KeepArches(selection, options.arches);
  }
  if (filter.empty()) return selection;
  Status status;
  selection =
      kpack::KeepBlobs(selection, [&](const kpack::Selection::Row& row) {
        if (!status) return false;
        if (filter.Matches(std::string(row.entry->key))) return true;
        const auto bytes = row.archive->Read(*row.entry);
        if (!bytes) {
          status = Err(bytes.error());
          return false;
        }
        const auto kernels = KernelsIn(*bytes, row);
        if (!kernels) status = Err(kernels.error());
        return kernels && !filter.Of(*kernels).empty();
      });
  if (!status) return Err(status.error());
  return selection;
}

std::string GroupOfFile(const std::string& path) {
  const std::string name = BaseName(path);
  return name.substr(0, name.rfind(".kpack"));
}

std::string CountedEntries(std::size_t entries, std::size_t blobs) {
  return fmt::format("{} {}, {} {}", entries,
                     entries == 1 ? "entry" : "entries", blobs,
                     blobs == 1 ? "blob" : "blobs");
}

void BeginReport(const char* verb, JsonWriter& json) {
  json.BeginObject();
  json.Key("schema").Int(1);
  json.Key("verb").String(verb);
}

void PrintReport(JsonWriter json, const Reporter& reporter, int code) {
  json.Key("exit_code").Int(code);
  json.Key("diagnostics");
  reporter.WriteJson(json);
  json.EndObject();
  fmt::print("{}", std::move(json).Take());
}

void WriteSummaryJson(const kpack::EditSummary& summary, JsonWriter& json) {
  json.Key("entries").Uint(summary.entries);
  json.Key("blobs").Uint(summary.blobs);
  json.Key("bytes").Uint(summary.size);
}

}  // namespace cerberus::cli
