// A folder with all that is below it, read once; no link is followed.
//
//   CERB_TRY(const Tree tree, Tree::Read("/opt/app"));
//   for (const TreeEntry& entry : tree.entries()) …
//   CERB_TRY(const Descriptor file, tree.Open("lib/libx.so"));
#ifndef CERBERUS_PACKAGER_TREE_TREE_H_
#define CERBERUS_PACKAGER_TREE_TREE_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace cerberus::packager {

// An open file, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

struct TreeEntry {
  enum class Kind : std::uint8_t { kFolder, kFile, kLink, kOther };

  std::string path;  // "lib/libx.so"; "" is the tree's own folder
  Kind kind = Kind::kOther;
  struct stat st = {};
  std::string target;  // of a link, as it is written
  // Why it cannot be taken: "is a FIFO", "cannot open: Permission denied".
  std::string problem;
};

class Tree {
 public:
  // Errors: not a folder, or one that cannot be read; `cancelled` said so.
  // What is wrong with single entries is their `problem`.
  static Result<Tree> Read(const std::string& root,
                           const std::function<bool()>& cancelled = {});

  const std::string& root() const { return root_; }
  // Folders before what is in them, which is in the order of its names' bytes.
  const std::vector<TreeEntry>& entries() const { return entries_; }
  // "/opt/app/lib/libx.so", for messages.
  std::string Name(const std::string& path) const;

  // Opens a file or folder of the tree for reading, if no part of its path has
  // become a link meanwhile. Errors: errno.
  Result<Descriptor> Open(const std::string& path, int flags = 0) const;

 private:
  Tree() = default;
  void ReadFolder(std::size_t folder, const std::function<bool()>& cancelled);

  std::string root_;
  Descriptor root_fd_;
  std::vector<TreeEntry> entries_;
};

// "lib/libx.so" and "../x" → "x"; whether it stays in the tree: no absolute
// path, no ".." that leads above its root.
bool StaysInTree(const std::string& link, const std::string& target);

// "../" for each folder that a path of a tree goes through.
std::string UpFrom(const std::string& path);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_TREE_TREE_H_
