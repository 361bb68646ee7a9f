#include "cli/verbs/listing.h"

#include <cstdint>
#include <memory>
#include <set>

#include "kpack/reader.h"
#include "kpack/resolve.h"
#include "support/bytes.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

// The kernels of an archived code object; one that cannot be read is listed
// with the reason.
void ListArchivedKernels(const kpack::Archive& archive,
                         const kpack::Entry& entry, const std::string& path,
                         const NameFilter& filter, Listing& out) {
  const auto read = [&]() -> Result<CodeObject> {
    CERB_TRY(const Bytes code, archive.Read(entry));
    return ReadCodeObject(code, path);
  };
  const Result<CodeObject> object = read();
  out.json().Key("kernels").BeginArray();
  if (object) ListKernels(*object, filter, "      ", out);
  out.json().EndArray();
  if (!object) {
    out.json().Key("error").String(object.error().message);
    out.Line("      cannot be read: {}", object.error().message);
  }
}

// "app#1" and, of a split file, "app".
bool IsOf(const kpack::Entry& entry, const std::string& kernel_name) {
  return entry.key == kernel_name || entry.key.starts_with(kernel_name + '#');
}

Status ListModulesOf(const std::string& path, const std::string& kernel_name,
                     Listing& out) {
  CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
           kpack::Archive::Open(path));
  for (const kpack::Entry& entry : archive->entries()) {
    if (entry.type != "hsaco" || !IsOf(entry, kernel_name)) continue;
    out.json().BeginObject();
    out.json().Key("key").String(entry.key);
    out.json().Key("arch").String(entry.arch);
    out.Line("    {} for {}", entry.key, entry.arch);
    ListArchivedKernels(*archive, entry, path, out.filter(), out);
    out.json().EndObject();
  }
  return {};
}

void ListArchiveEntry(const kpack::Archive& archive, const kpack::Entry& entry,
                      const std::string& path, std::set<std::uint32_t>& shown,
                      Listing& out) {
  JsonWriter& json = out.json();
  json.BeginObject();
  json.Key("key").String(entry.key);
  json.Key("arch").String(entry.arch);
  json.Key("type").String(entry.type);
  json.Key("ordinal").Uint(entry.ordinal);
  json.Key("size").Uint(entry.original_size);
  json.Key("stored_size").Uint(entry.stored_size);
  const kpack::Value abi = entry.metadata.Find("cerberus_abi");
  if (abi.AsInt()) json.Key("launch_abi").Int(*abi.AsInt());
  const auto sm = entry.metadata.Find("sm").AsUint();
  if (sm) json.Key("sm").Uint(*sm);
  const auto content = entry.metadata.Find("content_key").AsString();
  if (content) json.Key("content_key").String(*content);
  out.Line("  {:<3} {:<8} {:<6} {:>9} bytes, {:>9} stored  {}", entry.ordinal,
           entry.arch, entry.type, entry.original_size, entry.stored_size,
           entry.key);
  const kpack::Value failed = entry.metadata.Find("failed");
  if (failed.is_map()) {
    json.Key("failed").BeginArray();
    for (kpack::Value kernel = failed.First(); kernel;) {
      const kpack::Value reason = failed.Next(kernel);
      const std::string name(kernel.AsString().value_or(""));
      json.BeginObject();
      json.Key("kernel").String(name);
      json.Key("reason").String(reason.AsString().value_or(""));
      json.EndObject();
      out.Line("      without {}: {}", Demangle(name),
               reason.AsString().value_or(""));
      kernel = failed.Next(reason);
    }
    json.EndArray();
  }
  if (out.kernels() && entry.type == "hsaco" &&
      shown.insert(entry.ordinal).second) {
    ListArchivedKernels(archive, entry, path, NameFilter(), out);
  }
  json.EndObject();
}

}  // namespace

void ListKernels(const CodeObject& object, const NameFilter& filter,
                 const std::string& indent, Listing& out) {
  for (const CodeObject::Kernel& kernel : object.kernels) {
    const bool first = kernel.form_of.empty();
    if (!filter.Matches(first ? kernel.name : kernel.form_of)) continue;
    out.json().BeginObject();
    WriteKernelJson(kernel, out.json());
    out.json().EndObject();
    if (first) out.Line("{}{}", indent, Demangle(kernel.name));
    out.Line("{}  {}", indent, kernel.Describe());
  }
}

Status ListArchive(const std::string& path, Listing& out) {
  CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
           kpack::Archive::Open(path));
  JsonWriter& json = out.json();
  json.Key("kind").String("kpack");
  json.Key("group").String(archive->group_name());
  json.Key("arch_family").String(archive->arch_family());
  json.Key("arches").BeginArray();
  for (const std::string_view arch : archive->arches()) json.String(arch);
  json.EndArray();
  json.Key("compression").String(archive->compression());
  json.Key("blobs").Uint(archive->blob_count());
  out.Line("{}: kpack archive '{}' for {}, {} entries, {} blobs, {}", path,
           archive->group_name(), fmt::join(archive->arches(), ", "),
           archive->entries().size(), archive->blob_count(),
           archive->compression());
  json.Key("entries").BeginArray();
  std::set<std::uint32_t> shown;
  for (const kpack::Entry& entry : archive->entries()) {
    if (!out.filter().Matches(std::string(entry.key))) continue;
    ListArchiveEntry(*archive, entry, path, shown, out);
  }
  json.EndArray();
  return {};
}

void ListArchivesOf(const std::string& file, const std::string& kernel_name,
                    const std::vector<std::string>& search_paths,
                    Listing& out) {
  JsonWriter& json = out.json();
  const std::vector<std::string> archives =
      kpack::FindArchives(search_paths, file);
  if (archives.empty()) out.Line("  its archives are not there");
  json.Key("archives").BeginArray();
  for (const std::string& path : archives) {
    json.BeginObject();
    json.Key("path").String(path);
    out.Line("  {}", path);
    json.Key("modules").BeginArray();
    const Status listed = ListModulesOf(path, kernel_name, out);
    json.EndArray();
    if (!listed) {
      json.Key("error").String(listed.error().message);
      out.Line("    cannot be read: {}", listed.error().message);
    }
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace cerberus::cli
