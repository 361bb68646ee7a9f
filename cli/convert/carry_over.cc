#include "cli/convert/carry_over.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <utility>

#include "kpack/reader.h"

namespace cerberus::cli {
namespace {

// What an entry says beside its bytes, as it was written.
kpack::Metadata MetadataOf(const kpack::Entry& entry) {
  kpack::Metadata metadata;
  const kpack::Value map = entry.metadata;
  for (kpack::Value key = map.First(); key; key = map.Next(map.Next(key))) {
    const std::string name(key.AsString().value_or(""));
    const kpack::Value value = map.Next(key);
    if (const auto number = value.AsInt()) {
      metadata.emplace(name, *number);
    } else if (const auto text = value.AsString()) {
      metadata.emplace(name, std::string(*text));
    } else if (value.is_map()) {
      std::map<std::string, std::string> rows;
      for (kpack::Value row = value.First(); row;
           row = value.Next(value.Next(row))) {
        rows.emplace(row.AsString().value_or(""),
                     value.Next(row).AsString().value_or(""));
      }
      metadata.emplace(name, std::move(rows));
    }
  }
  return metadata;
}

}  // namespace

Status CarryOver(const std::string& group,
                 const std::set<std::string>& own_names,
                 const std::string& folder, kpack::ArchiveWriter& archive) {
  const auto old = kpack::Archive::Open(archive.path());
  if (!old || (*old)->group_name() != group) return {};
  for (const kpack::Entry& entry : (*old)->entries()) {
    const std::string key(entry.key), arch(entry.arch);
    const std::size_t number = key.rfind('#');
    // Code by its content alone is known by its program's own key, too.
    if (number == std::string::npos || number + 1 == key.size()) continue;
    const std::string program = key.substr(0, number);
    if (own_names.contains(program) || program.find('/') != std::string::npos ||
        ::access((folder + "/" + program).c_str(), F_OK) != 0 ||
        archive.Has(key, arch)) {
      continue;
    }
    const kpack::KpackResult<Bytes> bytes = (*old)->Read(entry);
    if (!bytes) continue;  // damaged before
    kpack::Metadata metadata = MetadataOf(entry);
    const auto content = metadata.find("content_key");
    std::string by_content;
    if (entry.type == "hsaco" && content != metadata.end()) {
      if (const auto* text = std::get_if<std::string>(&content->second)) {
        by_content = *text + "#";
      }
    }
    CERB_TRY_VOID(archive.Add(key, arch, std::string(entry.type), *bytes,
                              std::move(metadata)));
    if (!by_content.empty() && !archive.Has(by_content, arch)) {
      CERB_TRY_VOID(archive.AddAlias(by_content, arch, key));
    }
  }
  return {};
}

}  // namespace cerberus::cli
