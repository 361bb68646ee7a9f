// Puts entries of a tree into another folder, as they are: contents, modes,
// owners, extended attributes, times, links of both kinds.
#ifndef CERBERUS_PACKAGER_TREE_TREE_COPY_H_
#define CERBERUS_PACKAGER_TREE_TREE_COPY_H_

#include <cstdint>
#include <functional>
#include <string>

#include "packager/tree/tree.h"
#include "support/result.h"

namespace cerberus::packager {

enum class CopyHow : std::uint8_t {
  kCopy,
  kReflink,   // the copy shares the file's blocks, or it is an error
  kHardLink,  // no copy, but another name
};

struct FileCopy {
  std::uint64_t size = 0;
  std::string sha256;  // in hexadecimal
  // Why the file could not be read to its end; then there is no copy.
  std::string problem;
};

// `to` is the path of the copy, where nothing is yet. Errors are those of
// writing: a full disk, no reflinks or hard links here.
Result<FileCopy> CopyFile(const Tree& tree, const TreeEntry& entry,
                          const std::string& to, CopyHow how,
                          const std::function<bool()>& cancelled = {});
Status CopyLink(const Tree& tree, const TreeEntry& entry,
                const std::string& to);

// Makes a file or folder under `path` look like the entry: owner as far as we
// may, mode, extended attributes, times. Attributes that only hold for the
// bytes (security.ima, security.evm) are left out where these have `changed`.
// What the file system of `path` has no room for is no error, and said once by
// `unsupported`. Returns the mode that it has then: who may not set the owner
// may not keep all of it.
Result<unsigned> KeepAttributes(
    const Tree& tree, const TreeEntry& entry, const std::string& path,
    bool changed,
    const std::function<void(const std::string&)>& unsupported = {});

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_TREE_TREE_COPY_H_
