#include "cli/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace cerberus::cli {

const char kJitInPrefix[] = CERBERUS_BINDIR "/cerberus-jit";

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat sa, sb;
  return ::stat(a.c_str(), &sa) == 0 && ::stat(b.c_str(), &sb) == 0 &&
         sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

bool IsWithin(const std::string& inner, const std::string& outer) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path a = fs::canonical(inner, error);
  if (error) return false;
  const fs::path b = fs::canonical(outer, error);
  if (error) return false;
  return std::mismatch(b.begin(), b.end(), a.begin(), a.end()).first == b.end();
}

std::string ArchiveFile(const std::string& group, const std::string& target) {
  return ArchivePlace{kArchiveFolder, ""}.File(group, target);
}

std::string ArchiveSearchPath(const std::string& group) {
  return ArchiveFile(group, "@GFXARCH@");
}

std::string ArchivePlace::File(const std::string& group,
                               const std::string& target) const {
  return fmt::format("{}/{}-{}.kpack", folder, group, target);
}

std::string ArchivePlace::SearchPath(const std::string& group) const {
  return ArchivePlace{from_program, ""}.File(group, "@GFXARCH@");
}

ArchivePlace PlaceArchives(const std::string& program,
                           const std::string& folder) {
  if (folder.empty()) {
    return {FolderOf(program) + "/" + kArchiveFolder, kArchiveFolder};
  }
  namespace fs = std::filesystem;
  const auto real = [](const fs::path& path) {
    std::error_code error;
    fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
    if (!found.has_filename()) found = found.parent_path();  // "folder/"
    return found;
  };
  return {folder,
          real(folder).lexically_relative(real(FolderOf(program))).string()};
}

Result<std::string> ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Err(DiagCode::kIo,
               "cannot find the folder of this program: " + error.message());
  }
  return self.parent_path().string();
}

Result<std::string> FindJit() {
  CERB_TRY(const std::string folder, ProgramFolder());
  std::string path = folder + "/cerberus-jit";
  if (::access(path.c_str(), X_OK) != 0) {
    return Err(
        DiagCode::kIo,
        fmt::format("'{}' is missing, expected it beside the program", path));
  }
  return path;
}

// An installed library folder may be named for the machine
// ("lib/x86_64-linux-gnu"); the build tree's is not.
Result<std::string> StubFolderInPrefix() {
  CERB_TRY(const std::string folder, ProgramFolder());
  for (const char* candidate : {CERBERUS_PRIVATE_LIBDIR, "lib/cerberus"}) {
    const std::string stub =
        fmt::format("{}/{}/libcuda.so.1", FolderOf(folder), candidate);
    if (::access(stub.c_str(), R_OK) == 0) return candidate;
  }
  return Err(DiagCode::kIo,
             fmt::format("no libcuda.so.1 in '{}/{}', where converted "
                         "programs look for it",
                         FolderOf(folder), CERBERUS_PRIVATE_LIBDIR));
}

Result<std::string> FindStubFolder() {
  CERB_TRY(const std::string folder, ProgramFolder());
  CERB_TRY(const std::string in_prefix, StubFolderInPrefix());
  return FolderOf(folder) + "/" + in_prefix;
}

}  // namespace cerberus::cli
