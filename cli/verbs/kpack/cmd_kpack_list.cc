// cerberus kpack list: the entries of archives and, as cuobjdump and
// llvm-readobj show them of one file, the kernels in each with what they take.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "images/code_object.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

class KpackListVerb : public Verb {
 public:
  const char* name() const override { return "kpack list"; }
  const char* summary() const override {
    return "show entries, and their kernels with what they take";
  }
  const char* examples() const override {
    return "  cerberus kpack list app-gfx1100.kpack\n"
           "  cerberus kpack list .kpack/*.kpack --arch gfx942 --filter gemm\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE...", paths_, "archives").Required().Group(kGroupFiles);
    AddEntryOptions(list, options_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    print_ = !common.json && !reporter.quiet();
    JsonWriter json;
    BeginReport(name(), json);
    json.Key("archives").BeginArray();
    int code = kExitDone;
    for (const std::string& path : paths_) {
      json.BeginObject();
      json.Key("path").String(path);
      const Status status = List(path, json);
      json.EndObject();
      if (status) continue;
      reporter.Report(status.error());
      code = status.error().code == DiagCode::kUsage ? kExitUsage : kExitFailed;
    }
    json.EndArray();
    if (common.json) PrintReport(std::move(json), reporter, code);
    return code;
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) const {
    if (print_) PrintLine(format, std::forward<Args>(args)...);
  }

  Status List(const std::string& path, JsonWriter& json) const {
    CERB_TRY(const kpack::ArchivePtr archive, OpenArchive(path));
    CERB_TRY(const kpack::Selection selection,
             SelectEntries(archive, options_));
    json.Key("version").Uint(archive->version());
    json.Key("group").String(archive->group_name());
    json.Key("arch_family").String(archive->arch_family());
    json.Key("arches").BeginArray();
    for (const std::string_view arch : archive->arches()) json.String(arch);
    json.EndArray();
    json.Key("compression").String(archive->compression());
    json.Key("checksums").Bool(archive->has_checksums());
    json.Key("blobs").Uint(archive->blob_count());
    Line("{}: version {}, group '{}' for {}, {}, {}{}", path,
         archive->version(), archive->group_name(),
         fmt::join(archive->arches(), ", "),
         CountedEntries(archive->entries().size(), archive->blob_count()),
         archive->compression(), archive->has_checksums() ? ", checksums" : "");
    json.Key("entries").BeginArray();
    // An entry whose bytes have been listed refers to the first one.
    std::map<std::uint32_t, const kpack::Entry*> listed;
    Status status;
    for (const kpack::Selection::Row& row : selection.rows) {
      const auto first = listed.emplace(row.entry->ordinal, row.entry).first;
      json.BeginObject();
      status = ListEntry(*archive, *row.entry, *first->second, json);
      json.EndObject();
      if (!status) break;
    }
    json.EndArray();
    return status;
  }

  Status ListEntry(const kpack::Archive& archive, const kpack::Entry& entry,
                   const kpack::Entry& first, JsonWriter& json) const {
    json.Key("key").String(entry.key);
    json.Key("arch").String(entry.arch);
    json.Key("type").String(entry.type);
    json.Key("ordinal").Uint(entry.ordinal);
    json.Key("size").Uint(entry.original_size);
    json.Key("stored_size").Uint(entry.stored_size);
    if (entry.checksum) {
      json.Key("checksum").String(fmt::format("{:016x}", *entry.checksum));
    }
    const std::string hash = archive.ContentHash(entry);
    if (!hash.empty()) json.Key("content_hash").String(hash);
    std::string line =
        fmt::format("  {}  {}  {}  {} bytes, {} stored", entry.key, entry.arch,
                    entry.type, entry.original_size, entry.stored_size);
    ListMetadata(entry, line, json);
    if (&entry != &first) {
      Line("{}  (as {})", line, first.key);
      return {};
    }
    Line("{}", line);
    return ListKernels(archive, entry, json);
  }

  void ListMetadata(const kpack::Entry& entry, std::string& line,
                    JsonWriter& json) const {
    const auto number = [&](const char* key, const char* member,
                            const char* shown) {
      const auto value = entry.metadata.Find(key).AsInt();
      if (!value) return;
      json.Key(member).Int(*value);
      line += fmt::format(fmt::runtime(shown), *value);
    };
    const auto text = [&](const char* key, const char* shown) {
      const auto value = entry.metadata.Find(key).AsString();
      if (!value) return;
      json.Key(key).String(*value);
      line += fmt::format(fmt::runtime(shown), *value);
    };
    number("sm", "sm", "  sm_{}");
    text("ptx_version", ", PTX {}");
    number("cerberus_abi", "launch_abi", ", launch ABI {}");
    text("content_key", "");
    const kpack::Value failed = entry.metadata.Find("failed");
    if (!failed.is_map()) return;
    json.Key("failed").BeginArray();
    for (kpack::Value kernel = failed.First(); kernel;) {
      const kpack::Value reason = failed.Next(kernel);
      const std::string name(kernel.AsString().value_or(""));
      json.BeginObject();
      json.Key("kernel").String(name);
      json.Key("reason").String(reason.AsString().value_or(""));
      json.EndObject();
      line += fmt::format("\n    without {}: {}", Demangle(name),
                          reason.AsString().value_or(""));
      kernel = failed.Next(reason);
    }
    json.EndArray();
  }

  // The kernels of a blob. One that cannot be read is an error.
  Status ListKernels(const kpack::Archive& archive, const kpack::Entry& entry,
                     JsonWriter& json) const {
    CERB_TRY(const cerberus::Bytes bytes, archive.Read(entry));
    if (!images::IsCodeObject(bytes)) return {};
    const Result<CodeObject> object = ReadCodeObject(
        bytes, fmt::format("{}: '{}'", archive.path(), entry.key));
    if (!object) return Err(object.error());
    json.Key("target").String(object->target);
    json.Key("kernels").BeginArray();
    if (!object->kernels.empty()) {
      Line("    {:>5} {:>5} {:>5} {:>6} {:>6} {:>7} {:>7} {:>4}  kernel",
           "VGPRs", "AGPRs", "SGPRs", "spills", "LDS", "scratch", "kernarg",
           "wave");
    }
    for (const CodeObject::Kernel& kernel : object->kernels) {
      json.BeginObject();
      WriteKernelJson(kernel, json);
      json.EndObject();
      Line("    {:>5} {:>5} {:>5} {:>6} {:>6} {:>7} {:>7} {:>4}  {}",
           kernel.vgprs, kernel.agprs, kernel.sgprs,
           kernel.vgpr_spills + kernel.sgpr_spills, kernel.lds_bytes,
           kernel.scratch_bytes, kernel.kernarg_bytes, kernel.wave_size,
           Demangle(kernel.name));
    }
    json.EndArray();
    return {};
  }

  std::vector<std::string> paths_;
  EntryOptions options_;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackListVerb() {
  return std::make_unique<KpackListVerb>();
}

}  // namespace cerberus::cli
