#include "cli/convert/needed_libraries.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include "cli/convert/nvidia_libraries.h"
#include "cli/paths.h"

namespace cerberus::cli {
namespace {

constexpr char kOwnFolder[] = "the program's folder";

std::vector<std::string> SplitPath(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon != 0) folders.emplace_back(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return folders;
}

bool HasPtx(const rewriter::Binary& binary) {
  for (const rewriter::LocatedFatbin& located : binary.fatbins()) {
    for (const images::FatbinEntry& entry : located.fatbin.entries) {
      if (entry.is_ptx()) return true;
    }
  }
  return false;
}

struct Needed {
  std::string name;
  std::string path;
  const char* from;
};

// Where the loader finds the library, if not in its own folders.
std::optional<Needed> Find(const std::string& name,
                           const std::vector<SearchFolder>& folders) {
  if (name.find('/') != std::string::npos) {
    return Needed{BaseName(name), name, "DT_NEEDED"};
  }
  for (const SearchFolder& folder : folders) {
    const std::string path = folder.path + "/" + name;
    if (::access(path.c_str(), R_OK) == 0) {
      return Needed{name, path, folder.from};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ExpandOrigin(std::string path, const std::string& file) {
  for (const char* origin : {"$ORIGIN", "${ORIGIN}"}) {
    const std::size_t at = path.find(origin);
    if (at == path.npos) continue;
    path.replace(at, std::strlen(origin), FolderOf(file));
  }
  return path;
}

std::vector<SearchFolder> SearchFolders(const rewriter::Binary& binary) {
  const auto dynamic = [&](std::int64_t tag) {
    const auto at = binary.elf().DynamicValue(tag);
    if (!at) return std::string();
    const Result<std::string_view> text = binary.elf().DynamicString(*at);
    return text ? std::string(*text) : std::string();
  };
  std::vector<SearchFolder> folders;
  const auto add = [&](const std::string& path, const char* from) {
    for (std::string folder : SplitPath(path)) {
      folders.push_back({ExpandOrigin(std::move(folder), binary.path()), from});
    }
  };
  const std::string runpath = dynamic(DT_RUNPATH);
  if (runpath.empty()) add(dynamic(DT_RPATH), "RPATH");
  if (const char* environment = std::getenv("LD_LIBRARY_PATH")) {
    add(environment, "LD_LIBRARY_PATH");
  }
  add(runpath, "RUNPATH");
  return folders;
}

std::vector<FoundLibrary> FindLibraries(const rewriter::Binary& binary) {
  std::vector<FoundLibrary> found;
  std::set<std::string> seen;
  const auto add = [&](const rewriter::Binary& of, std::size_t by) {
    std::vector<SearchFolder> folders = SearchFolders(of);
    folders.push_back({FolderOf(of.path()), kOwnFolder});
    for (const std::string_view needed : of.elf().NeededLibraries()) {
      const std::string name = ExpandOrigin(std::string(needed), of.path());
      if (IsNvidiaLibrary(name) || !seen.insert(BaseName(name)).second) {
        continue;
      }
      if (auto at = Find(name, folders)) {
        FoundLibrary library;
        library.name = std::move(at->name);
        library.needed = needed;
        library.path = std::move(at->path);
        library.from = at->from;
        library.by = by;
        found.push_back(std::move(library));
      }
    }
  };
  add(binary, FoundLibrary::kByProgram);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Result<rewriter::Binary> library =
        rewriter::Binary::Open(found[i].path);
    if (!library) continue;  // the loader will say why
    found[i].converted = library->is_converted();
    found[i].has_device_code =
        !library->fatbins().empty() || library->is_converted();
    found[i].has_ptx = HasPtx(*library);
    add(*library, i);
  }
  return found;
}

std::vector<DeviceLibrary> FindDeviceLibraries(const rewriter::Binary& binary) {
  std::vector<DeviceLibrary> libraries = FindLibraries(binary);
  std::erase_if(libraries, [](const DeviceLibrary& library) {
    return !library.has_device_code;
  });
  return libraries;
}

std::string Place(const DeviceLibrary& library) {
  return fmt::format("{} (by {})", library.path, library.from);
}

}  // namespace cerberus::cli
