#include "cli/verbs/listing.h"

#include <cstdint>
#include <memory>
#include <set>

#include "kpack/reader.h"
#include "support/bytes.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

// The kernels of an archived code object, once where several keys lead to it;
// one that cannot be read is listed with the reason.
void ListArchivedKernels(const kpack::Archive& archive,
                         const kpack::Entry& entry, const std::string& path,
                         Listing& out) {
  const auto read = [&]() -> Result<CodeObject> {
    CERB_TRY(const Bytes code, archive.Read(entry));
    return ReadCodeObject(code, path);
  };
  const Result<CodeObject> object = read();
  out.json().Key("kernels").BeginArray();
  if (object) ListKernels(*object, NameFilter(), "      ", out);
  out.json().EndArray();
  if (!object) {
    out.json().Key("error").String(object.error().message);
    out.Line("      cannot be read: {}", object.error().message);
  }
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
    ListArchivedKernels(archive, entry, path, out);
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

}  // namespace cerberus::cli
