#include "cli/convert/bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "cli/paths.h"
#include "support/mapped_file.h"

namespace cerberus::cli {
namespace {

namespace fs = std::filesystem;

// The files of a bundle, relative to the folder above bin/. Links are left
// out: the loader asks for the names that the files have.
Result<std::set<fs::path>> FilesOfBundle(const fs::path& prefix) {
  CERB_TRY(const std::string stub_folder, FindStubFolder());
  std::set<fs::path> files = {kJitInPrefix};
  std::error_code error;
  for (const auto& file :
       fs::recursive_directory_iterator(stub_folder, error)) {
    if (file.is_regular_file()) files.insert(fs::relative(file, prefix));
  }
  return files;
}

Result<OutputFile> StageCopy(const std::string& from, const std::string& to) {
  struct stat st;
  if (::stat(from.c_str(), &st) != 0) {
    return Err(ErrnoDiag(from, "cannot stat", errno));
  }
  CERB_TRY(const MappedFile file, MappedFile::Open(from));
  CERB_TRY(OutputFile out, OutputFile::Create(to, st.st_mode));
  CERB_TRY_VOID(out.Append(file.bytes()));
  return out;
}

}  // namespace

Result<std::string> BundleRunpath() {
  CERB_TRY(const std::string stub_folder, StubFolderInPrefix());
  return std::string("$ORIGIN/") + kBundleFolder + "/" + stub_folder;
}

Status MakeFolder(const std::string& path,
                  std::vector<std::string>& made_folders) {
  if (::mkdir(path.c_str(), 0777) == 0) {
    made_folders.push_back(path);
    return {};
  }
  const int err = errno;
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  return Err(ErrnoDiag(path, "cannot create a folder", err));
}

void RemoveFolders(const std::vector<std::string>& made_folders) {
  for (auto folder = made_folders.rbegin(); folder != made_folders.rend();
       ++folder) {
    ::rmdir(folder->c_str());  // fails, rightly, if there is something in it
  }
}

Result<std::vector<BundleFile>> FindBundleFiles() {
  CERB_TRY(const std::string program_folder, ProgramFolder());
  const fs::path prefix = fs::path(program_folder).parent_path();
  CERB_TRY(const std::set<fs::path> wanted, FilesOfBundle(prefix));
  std::vector<BundleFile> files;
  for (const fs::path& file : wanted) {
    files.push_back({file.string(), (prefix / file).string()});
  }
  return files;
}

Status StageBundle(const std::string& folder, std::vector<OutputFile>& files,
                   std::vector<std::string>& made_folders) {
  CERB_TRY(const std::vector<BundleFile> wanted, FindBundleFiles());
  const fs::path bundle = fs::path(folder) / kBundleFolder;
  CERB_TRY_VOID(MakeFolder(bundle.string(), made_folders));
  for (const BundleFile& file : wanted) {
    const fs::path path(file.path);
    fs::path made = bundle;
    for (const fs::path& part : path.parent_path()) {
      made /= part;
      CERB_TRY_VOID(MakeFolder(made.string(), made_folders));
    }
    CERB_TRY(OutputFile copy, StageCopy(file.source, (bundle / path).string()));
    files.push_back(std::move(copy));
  }
  return {};
}

}  // namespace cerberus::cli
