// Reads the input as a manifest. Behind a first byte of 1 only its lines
// follow: the last one, right of its kind, is added. What can be read survives
// a round trip, and its paths stay in the tree. Then the input as a path in a
// tree.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "packager/databases/databases.h"
#include "packager/tree/manifest.h"
#include "packager/wheel/record.h"
#include "support/bytes.h"

using namespace cerberus;
using namespace cerberus::packager;

namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

std::string WithEnd(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  // Entries are what the format says: no comment, and no line of spaces.
  std::size_t entries = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find_first_not_of(' ') != line.npos && line[0] != '#') ++entries;
    at = end + 1;
  }
  Sha256 hash;
  hash.Update(AsBytes(text));
  return text + "# end entries=" + std::to_string(entries) +
         " sha256=" + hash.Hex() + "\n";
}

void CheckRoundTrip(const Manifest& manifest) {
  for (const ManifestEntry& entry : manifest.entries) {
    if (entry.path.empty()) continue;
    const std::filesystem::path path(entry.path);
    Require(path.is_relative());
    Require(std::find(path.begin(), path.end(), "..") == path.end());
  }
  const std::string text = FormatManifest(manifest);
  const auto again = ParseManifest(text, "again");
  Require(again.has_value());
  Require(again->entries.size() == manifest.entries.size());
  Require(again->group == manifest.group && again->part == manifest.part);
  Require(FormatManifest(*again) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  const DatabaseFile file = RecogniseDatabase(text);
  Require(file.target.empty() == file.database.empty());
  Require(file.target.empty() || file.target.substr(0, 3) == "gfx");
  if (!text.empty() && text[0] == 1) text = WithEnd(text.substr(1));
  if (const auto manifest = ParseManifest(text, "input")) {
    CheckRoundTrip(*manifest);
  }
  return 0;
}
