#include "cli/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/paths.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace fs = std::filesystem;

Result<OutputFolder> OutputFolder::Create(const std::string& path) {
  OutputFolder folder;
  folder.path_ = path;
  while (folder.path_.size() > 1 && folder.path_.back() == '/') {
    folder.path_.pop_back();
  }
  std::error_code error;
  if (fs::exists(folder.path_, error) && !fs::is_empty(folder.path_, error)) {
    Where where;
    where.file = path;
    return Err(MakeDiag(DiagCode::kUsage, std::move(where),
                        "is there and not an empty folder"));
  }
  std::string name =
      FolderOf(folder.path_) + "/." + BaseName(folder.path_) + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Err(ErrnoDiag(path, "cannot create a folder", errno));
  }
  fs::permissions(name,
                  fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  fs::perm_options::add, error);
  folder.temporary_ = std::move(name);
  return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")) {}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!temporary_.empty()) fs::remove_all(temporary_, error);
}

Status OutputFolder::Write(const std::string& name, ByteSpan bytes) const {
  const fs::path path = fs::path(temporary_) / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  return WriteFile(path.string(), bytes);
}

Status OutputFolder::Commit() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Err(ErrnoDiag(path_, "cannot create a folder", errno));
  }
  temporary_.clear();
  return {};
}

}  // namespace cerberus::cli
