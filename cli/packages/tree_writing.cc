// The second half of a packed tree: what is copied, archives, manifests.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/packages/tree_packing.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "packager/parallel.h"
#include "packager/tree/rocfft_cache.h"
#include "packager/wheel/record.h"
#include "support/input_file.h"
#include "support/mapped_file.h"

namespace cerberus::cli {
namespace {

using packager::ManifestEntry;
using packager::TreeEntry;

constexpr unsigned kFolderMode = 0755;  // of those that the input has not

}  // namespace

Status TreePacking::Write() {
  if (!is_whole()) return WriteShard();
  SettleAgain();
  CERB_TRY_VOID(CopyItems());
  if (Interrupted()) return {};
  CERB_TRY_VOID(LinkAgain());
  if (options_.bundle) CERB_TRY_VOID(WriteBundle());
  CERB_TRY_VOID(WriteArchives());
  CERB_TRY_VOID(FinishFolders());
  CERB_TRY_VOID(WriteManifests());
  for (const auto& [part, folders] : folders_) {
    CERB_TRY_VOID(FinishFolder(part, kArchiveFolder));
  }
  if (options_.parts && ::chmod(root_.c_str(), kFolderMode) != 0) {
    return Err(ErrnoDiag(root_, "cannot set the mode", errno));
  }
  for (const std::string& name : lost_attributes_) {
    Warn("", DiagCode::kIo,
         fmt::format("the attribute {} could not be kept on every file", name));
  }
  return {};
}

Status TreePacking::WriteShard() {
  CERB_TRY_VOID(WriteArchives());
  for (const auto& [part, folders] : folders_) {
    for (const std::string& path : folders) {
      const std::string place = PathOf(part, path);
      if (::chmod(place.c_str(), kFolderMode) != 0) {
        return Err(ErrnoDiag(place, "cannot set the mode", errno));
      }
    }
  }
  if (options_.parts && ::chmod(root_.c_str(), kFolderMode) != 0) {
    return Err(ErrnoDiag(root_, "cannot set the mode", errno));
  }
  return {};
}

// The other names of what stays as it is, after all, are copies too.
void TreePacking::SettleAgain() {
  for (Item& item : items_) {
    if (item.action == Action::kAgain && item.first->action == Action::kCopy) {
      item.action = Action::kCopy;
      const auto why = summary_.unconverted.find(item.first->entry->path);
      if (why != summary_.unconverted.end()) {
        summary_.unconverted.emplace(item.entry->path, why->second);
      }
    }
  }
}

// Of a file with several names the first is copied, and the others are made
// links to that.
Status TreePacking::CopyItems() {
  std::set<std::pair<dev_t, ino_t>> seen;
  std::vector<Item*> items;
  for (Item& item : items_) {
    const struct stat& st = item.entry->st;
    const bool again = item.action == Action::kCopy && st.st_nlink > 1 &&
                       !seen.insert({st.st_dev, st.st_ino}).second;
    if ((item.action == Action::kCopy && !again) ||
        item.action == Action::kLink || item.action == Action::kPrune) {
      items.push_back(&item);
    }
  }
  std::atomic<std::size_t> count = 0;
  std::optional<Diag> failed;
  packager::ParallelFor(
      items.size(), options_.conversion.jobs, [&](std::size_t i) {
        if (Interrupted()) return false;
        Item& item = *items[i];
        if (const std::size_t n = ++count; n % 16 == 0) {
          reporter_.printer().Status(fmt::format(
              "[{}/{}] copy {}", n, items.size(), item.entry->path));
        }
        Status status = CopyItem(item, PathOf(item.part, item.entry->path));
        if (status) return true;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failed) failed = std::move(status).error();
        return false;
      });
  reporter_.printer().Clear();
  if (failed) return Err(*std::move(failed));
  for (Item* item : items) {
    if (item->done && item->action != Action::kLink) {
      summary_.copied.Add(item->made.size);
    }
  }
  return {};
}

Status TreePacking::CopyItem(Item& item, const std::string& to) {
  if (item.action == Action::kPrune) return PruneItem(item, to);
  if (item.action == Action::kCopy) return CopyFile(item, to);
  CERB_TRY_VOID(packager::CopyLink(*tree_, *item.entry, to));
  item.made.how = "copied";
  item.done = true;
  return {};
}

Status TreePacking::CopyFile(Item& item, const std::string& to) {
  CERB_TRY(packager::FileCopy copy,
           packager::CopyFile(*tree_, *item.entry, to, options_.copy,
                              [] { return Interrupted(); }));
  if (!copy.problem.empty()) {
    if (Interrupted()) return {};
    const std::lock_guard<std::mutex> lock(mutex_);
    return LeaveOut(item, copy.problem);
  }
  if (options_.copy != packager::CopyHow::kHardLink) {
    CERB_TRY_VOID(KeepAttributes(item, to, /*changed=*/false));
  }
  item.made.size = copy.size;
  item.made.sha256 = std::move(copy.sha256);
  item.made.how = "copied";
  item.done = true;
  return {};
}

// What is no database of the form that is known, or holds nothing but what was
// asked for, is copied like any other file.
Status TreePacking::PruneItem(Item& item, const std::string& to) {
  const Result<packager::RocfftPruning> pruned = packager::PruneRocfftCache(
      tree_->Name(item.entry->path), to, options_.selected,
      [] { return Interrupted(); });
  if (!pruned && pruned.error().where.file == to) return Err(pruned.error());
  if (!pruned || pruned->dropped == 0) {
    ::unlink(to.c_str());
    if (Interrupted()) return {};
    if (!pruned) {
      Diag note = pruned.error();
      note.severity = Severity::kWarning;
      note.notes.push_back("it is copied as it is, for all targets");
      reporter_.Report(note);
    }
    return CopyFile(item, to);
  }
  {
    CERB_TRY(const MappedFile bytes, MappedFile::Open(to));
    packager::Sha256 hash;
    hash.Update(bytes.bytes());
    item.made.size = bytes.size();
    item.made.sha256 = hash.Hex();
  }
  CERB_TRY_VOID(KeepAttributes(item, to, /*changed=*/true));
  item.made.how = "pruned";
  item.done = true;
  return {};
}

Status TreePacking::KeepAttributes(Item& item, const std::string& path,
                                   bool changed) {
  CERB_TRY(item.made.mode, KeepOf(*item.entry, path, changed));
  return {};
}

Result<unsigned> TreePacking::KeepOf(const TreeEntry& entry,
                                     const std::string& path, bool changed) {
  return packager::KeepAttributes(
      *tree_, entry, path, changed, [this](const std::string& name) {
        const std::lock_guard<std::mutex> lock(mutex_);
        lost_attributes_.insert(name);
      });
}

Status TreePacking::LinkAgain() {
  std::map<std::pair<dev_t, ino_t>, const Item*> first;
  for (Item& item : items_) {
    const struct stat& st = item.entry->st;
    if (item.action != Action::kCopy || st.st_nlink <= 1) continue;
    const auto [at, is_new] =
        first.emplace(std::pair(st.st_dev, st.st_ino), &item);
    if (is_new) continue;
    const Item& original = *at->second;
    if (!original.done) {
      CERB_TRY_VOID(LeaveOut(item, "its other name could not be read"));
      continue;
    }
    CERB_TRY_VOID(Link(original, item));
    ++summary_.copied.files;
  }
  for (Item& item : items_) {
    if (item.action != Action::kAgain || !item.first->done) continue;
    CERB_TRY_VOID(Link(*item.first, item));
    (item.first->action == Action::kSplit ? summary_.split : summary_.converted)
        .push_back(item.entry->path);
  }
  return {};
}

Status TreePacking::Link(const Item& from, Item& item) {
  const std::string to = PathOf(item.part, item.entry->path);
  if (::link(PathOf(from.part, from.entry->path).c_str(), to.c_str()) != 0) {
    return Err(ErrnoDiag(to, "cannot make a hard link", errno));
  }
  const std::string path = item.made.path;
  item.made = from.made;
  item.made.path = path;
  item.done = true;
  return {};
}

Status TreePacking::Record(const std::string& part, const std::string& path,
                           const OutputFile& file, unsigned mode) {
  CERB_TRY(const MappedFile bytes, file.Map());
  packager::Sha256 hash;
  hash.Update(bytes.bytes());
  ManifestEntry entry;
  entry.path = path;
  entry.mode = mode;
  entry.size = bytes.size();
  entry.sha256 = hash.Hex();
  entry.how = "made";
  others_[part].push_back(std::move(entry));
  return {};
}

Status TreePacking::WriteBundle() {
  const std::string part = packager::kHostPart;
  CERB_TRY(const std::vector<BundleFile> wanted, FindBundleFiles());
  for (const BundleFile& file : wanted) {
    const std::string path = std::string(kBundleFolder) + "/" + file.path;
    CERB_TRY_VOID(MakeFolder(part, FolderOf(path)));
    struct stat st;
    if (::stat(file.source.c_str(), &st) != 0) {
      return Err(ErrnoDiag(file.source, "cannot stat", errno));
    }
    const unsigned mode = (st.st_mode & 0111) != 0 ? 0755 : 0644;
    CERB_TRY(OutputFile out, OutputFile::Create(PathOf(part, path), mode));
    CERB_TRY(const InputFile source, InputFile::Open(file.source));
    CERB_TRY_VOID(out.CopyFrom(source));
    CERB_TRY_VOID(Record(part, path, out, mode));
    CERB_TRY_VOID(out.Commit());
  }
  return {};
}

Status TreePacking::WriteArchives() {
  for (auto& [target, archive] : archives_) {
    if (archive.entry_count() == 0) continue;
    CERB_TRY_VOID(archive.Finish());
    const std::string part = PartOfTarget(target);
    const std::string path = ArchiveFile(options_.group, target);
    CERB_TRY(const MappedFile bytes, archive.Map());
    packager::Sha256 hash;
    hash.Update(bytes.bytes());
    ManifestEntry entry;
    entry.path = path;
    entry.mode = 0644;
    entry.size = archive.size();
    entry.sha256 = hash.Hex();
    entry.how = "made";
    others_[part].push_back(std::move(entry));
    CERB_TRY_VOID(archive.Commit());
    summary_.archives.emplace_back(path, archive.size());
    summary_.cuda.AddArchive(target, archive.size());
  }
  archives_.clear();
  return {};
}

Status TreePacking::WriteManifests() {
  std::map<std::string, packager::Manifest> manifests;
  for (const auto& [part, folders] : folders_) {
    packager::Manifest& manifest = manifests[part];
    manifest.group = options_.group;
    manifest.part = part;
    for (const std::string& path : folders) {
      ManifestEntry entry;
      entry.path = path;
      entry.kind = TreeEntry::Kind::kFolder;
      entry.mode = folder_modes_.at(PathOf(part, path));
      manifest.entries.push_back(std::move(entry));
    }
    for (ManifestEntry& entry : others_[part]) {
      manifest.entries.push_back(std::move(entry));
    }
  }
  for (const Item& item : items_) {
    if (item.done) manifests.at(item.part).entries.push_back(item.made);
  }
  for (auto& [part, manifest] : manifests) {
    const std::string path =
        fmt::format("{}/{}{}{}", kArchiveFolder, options_.group,
                    part == packager::kHostPart ? "" : "-" + part,
                    packager::kManifestSuffix);
    const std::string text = packager::FormatManifest(std::move(manifest));
    CERB_TRY_VOID(WriteFile(PathOf(part, path), AsBytes(text)));
    summary_.manifests.push_back(path);
  }
  return {};
}

// When all is in it: what is put into a folder changes its time, and its mode
// may forbid that.
Status TreePacking::FinishFolder(const std::string& part,
                                 const std::string& path) {
  const std::string place = PathOf(part, path);
  unsigned& mode = folder_modes_[place];
  mode = kFolderMode;
  const auto input = entry_of_folder_.find(path);
  if (input != entry_of_folder_.end()) {
    CERB_TRY(mode, KeepOf(*input->second, place, /*changed=*/false));
  } else if (::chmod(place.c_str(), mode) != 0) {
    return Err(ErrnoDiag(place, "cannot set the mode", errno));
  }
  return {};
}

// All but those that the manifests go to, which say what became of the others.
Status TreePacking::FinishFolders() {
  for (auto& [part, folders] : folders_) {
    CERB_TRY_VOID(MakeFolder(part, kArchiveFolder));
    std::sort(folders.begin(), folders.end());
    for (auto path = folders.rbegin(); path != folders.rend(); ++path) {
      if (*path != kArchiveFolder) CERB_TRY_VOID(FinishFolder(part, *path));
    }
    const auto archives = entry_of_folder_.find(kArchiveFolder);
    folder_modes_[PathOf(part, kArchiveFolder)] =
        archives == entry_of_folder_.end()
            ? kFolderMode
            : archives->second->st.st_mode & 07777;
  }
  return {};
}

Status TreePacking::Commit() { return staging_->Commit(); }

}  // namespace cerberus::cli
