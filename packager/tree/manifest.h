// The manifest of a packed tree: what belongs to one part of it, in the format
// mtree(5) (docs/tree-manifest.md).
//
//   Manifest manifest;
//   manifest.group = "app";  manifest.part = "host";
//   manifest.entries.push_back(…);
//   std::string text = FormatManifest(manifest);
#ifndef CERBERUS_PACKAGER_TREE_MANIFEST_H_
#define CERBERUS_PACKAGER_TREE_MANIFEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "packager/tree/tree.h"
#include "support/result.h"

namespace cerberus::packager {

// The part that holds what belongs to no GPU.
inline constexpr char kHostPart[] = "host";
inline constexpr char kManifestSuffix[] = ".mtree";

struct ManifestEntry {
  std::string path;  // in the tree; "" is its own folder
  TreeEntry::Kind kind = TreeEntry::Kind::kFile;
  unsigned mode = 0;
  std::uint64_t size = 0;
  std::string sha256;  // of a file, in hexadecimal
  std::string target;  // of a link
  std::string how;     // "copied", "converted", "split", "made", …
};

struct Manifest {
  std::string group;
  std::string part;  // "host", "gfx1100"
  std::vector<ManifestEntry> entries;
};

// Entries are sorted.
std::string FormatManifest(Manifest manifest);

// `name` is for messages. Errors: not a manifest of ours, or a newer one; a
// line that cannot be read; a path that leads out of the tree or stands twice;
// not what the last line says it is.
Result<Manifest> ParseManifest(std::string_view text, const std::string& name);
// Whether it begins as one of ours.
bool IsManifest(std::string_view text);

// Holds the files below `root` against the manifest. Errors are reported, one
// for each entry that is missing or another; false if there are any. The
// files' bytes are read by `threads` threads.
bool VerifyManifest(const Manifest& manifest, const std::string& root,
                    unsigned threads, const DiagSink& report);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_TREE_MANIFEST_H_
