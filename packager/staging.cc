#include "packager/staging.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace cerberus::packager {
namespace {

namespace fs = std::filesystem;

std::string FolderFor(const std::string& output) {
  const fs::path path(output);
  return (path.parent_path() / ("." + path.filename().string() + ".cerberus"))
      .string();
}

Diag Complaint(const std::string& file, std::string message) {
  Where where;
  where.file = file;
  return MakeDiag(DiagCode::kUsage, std::move(where), std::move(message));
}

// Removes a folder with all in it; folders that their owner must not write to
// are opened up first. Links are removed, not followed.
void RemoveAll(const std::string& folder) {
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (auto at = fs::recursive_directory_iterator(folder, options, error);
       !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    if (at->symlink_status(error).type() == fs::file_type::directory) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add,
                      error);
    }
  }
  fs::remove_all(folder, error);
}

Status MakeFolderFor(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int err = errno;
  struct stat st;
  if (err == EEXIST && ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
      st.st_uid == ::geteuid()) {
    return {};
  }
  if (err == EEXIST) {
    return Err(Complaint(path,
                         "is in the way: expected nothing, or what an "
                         "earlier run has left"));
  }
  return Err(ErrnoDiag(path, "cannot create a folder", err));
}

}  // namespace

bool IsFree(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) != 0 && errno == ENOENT;
}

Result<Staging> Staging::Create(const std::string& output) {
  Staging staging;
  staging.output_ = output;
  while (staging.output_.size() > 1 && staging.output_.back() == '/') {
    staging.output_.pop_back();
  }
  if (!IsFree(staging.output_)) {
    return Err(Complaint(output, "is there already; a tree is made new"));
  }
  const std::string folder = FolderFor(staging.output_);
  CERB_TRY_VOID(MakeFolderFor(folder));
  const std::string lock = folder + "/lock";
  staging.lock_ = Descriptor(
      ::open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (staging.lock_.get() < 0) {
    return Err(ErrnoDiag(lock, "cannot create", errno));
  }
  // A file without a name is that of a run which has ended just now.
  struct stat st;
  const bool locked = ::flock(staging.lock_.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) {
    const int why = errno;
    ::unlink(lock.c_str());
    ::rmdir(folder.c_str());
    return Err(ErrnoDiag(
        output, "cannot be locked, so that no other run makes it", why));
  }
  if (!locked || ::fstat(staging.lock_.get(), &st) != 0 || st.st_nlink == 0) {
    return Err(Complaint(output, "another run is making it"));
  }
  // From here on it is ours to tidy up.
  staging.folder_ = folder;
  RemoveAll(staging.tree());
  for (const std::string& path : {staging.tree(), staging.code()}) {
    CERB_TRY_VOID(MakeFolderFor(path));
  }
  return staging;
}

Staging::Staging(Staging&& other) noexcept
    : output_(std::move(other.output_)),
      folder_(std::exchange(other.folder_, {})),
      lock_(std::move(other.lock_)) {}

Staging::~Staging() {
  if (folder_.empty()) return;
  RemoveAll(tree());
  if (!HasCode()) RemoveFolder();
}

// Where a file that is open only gets another name when it is removed (NFS,
// FUSE), the folder is not empty before that is closed.
void Staging::RemoveFolder() {
  RemoveAll(folder_);
  lock_ = Descriptor();
  ::rmdir(folder_.c_str());
}

bool Staging::HasCode() const {
  std::error_code error;
  return fs::exists(code(), error) && !fs::is_empty(code(), error);
}

Status Staging::Commit() {
  const Descriptor top(
      ::open(tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0 || ::syncfs(top.get()) != 0) {
    return Err(ErrnoDiag(output_, "cannot write", errno));
  }
  // Whoever may not write to a folder may not give it another parent.
  struct stat st;
  const bool closed = ::fstat(top.get(), &st) == 0 && !(st.st_mode & S_IWUSR);
  if (closed) ::fchmod(top.get(), (st.st_mode & 07777) | S_IWUSR);
  if (::renameat2(AT_FDCWD, tree().c_str(), AT_FDCWD, output_.c_str(),
                  RENAME_NOREPLACE) != 0) {
    // A file system that does not know the flag (NFS).
    if (errno != EINVAL || !IsFree(output_) ||
        ::rename(tree().c_str(), output_.c_str()) != 0) {
      return Err(ErrnoDiag(output_, "cannot rename into place", errno));
    }
  }
  if (closed) ::fchmod(top.get(), st.st_mode & 07777);
  RemoveFolder();
  folder_.clear();
  return {};
}

}  // namespace cerberus::packager
