#include "kpack/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "support/targets/target_id.h"

namespace cerberus::kpack {
namespace {

constexpr std::string_view kTriplePrefix = "amdgcn-amd-amdhsa--";
constexpr std::string_view kArchPlaceholder = "@GFXARCH@";
#ifdef _WIN32
constexpr char kListSeparator = ';';
const auto GetVariable = std::getenv;
#else
constexpr char kListSeparator = ':';
// Whoever starts a program with rights that he has not (set-user-ID) does not
// say which code it runs.
const auto GetVariable = secure_getenv;
#endif

// LLVM has two features in target ids; more than this is not one of AMD's.
constexpr std::size_t kMaxFeatures = 6;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string_view Environment(const char* name) {
  const char* value = GetVariable(name);
  return value == nullptr ? std::string_view() : value;
}

// What stands for a target in a name: that of another program's archive may
// begin alike.
bool IsArchName(std::string_view text) {
  return text.empty() || text == "ptx" || TargetId::Parse(text).has_value();
}

bool IsSet(const char* name) {
  const std::string_view value = Environment(name);
  return !value.empty() && value[0] != '0';
}

tl::unexpected<KpackDiag> Fail(KpackCode code, DiagCode kind,
                               const std::string& file, std::string message) {
  Where where;
  where.file = file;
  return tl::unexpected<KpackDiag>(
      KpackDiag(code, MakeDiag(kind, std::move(where), std::move(message))));
}

}  // namespace

// What there is no memory for now is neither damaged nor missing.
static void ThrowIfOutOfMemory(const KpackDiag& diag) {
  if (diag.kpack_code == KpackCode::kOutOfMemory) throw std::bad_alloc();
}

ResolveOptions ResolveOptions::FromEnvironment() {
  ResolveOptions options;
  options.disabled = IsSet("ROCM_KPACK_DISABLE");
  options.debug = IsSet("ROCM_KPACK_DEBUG");
  options.replace = Split(Environment("ROCM_KPACK_PATH"), kListSeparator);
  options.prefix = Split(Environment("ROCM_KPACK_PATH_PREFIX"), kListSeparator);
  return options;
}

std::vector<std::string> FeatureSubsets(std::string_view arch) {
  if (arch.substr(0, kTriplePrefix.size()) == kTriplePrefix) {
    arch.remove_prefix(kTriplePrefix.size());
  }
  const std::vector<std::string> parts = Split(arch, ':');
  if (parts.empty()) return {};
  if (parts.size() > kMaxFeatures + 1) return {std::string(arch)};

  // Bit i of a mask keeps the feature i, counted from the left. Masks sorted
  // by falling number of features; among equals the leftmost features first.
  const std::size_t features = parts.size() - 1;
  std::vector<std::string> subsets;
  for (std::size_t size = features + 1; size-- > 0;) {
    std::vector<bool> keep(features, false);
    std::fill_n(keep.begin(), size, true);
    do {
      std::string id = parts[0];
      for (std::size_t i = 0; i < features; ++i) {
        if (keep[i]) id += ":" + parts[i + 1];
      }
      subsets.push_back(std::move(id));
    } while (std::prev_permutation(keep.begin(), keep.end()));
  }
  return subsets;
}

std::string ExpandSearchPath(const std::string& search_path,
                             const std::string& binary_path,
                             std::string_view arch) {
  std::string name = search_path;
  const std::size_t at = name.find(kArchPlaceholder);
  if (at != std::string::npos) {
    name.replace(at, kArchPlaceholder.size(), arch);
  }
  std::filesystem::path path(name);
  if (path.is_relative()) {
    path = std::filesystem::path(binary_path).parent_path() / path;
  }
  return path.lexically_normal().string();
}

std::vector<std::string> FindArchives(
    const std::vector<std::string>& search_paths,
    const std::string& binary_path) {
  namespace fs = std::filesystem;
  std::vector<std::string> archives;
  for (const std::string& search_path : search_paths) {
    const fs::path pattern =
        ExpandSearchPath(search_path, binary_path, kArchPlaceholder);
    const fs::path folder =
        pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
    const std::string name = pattern.filename().string();
    const std::size_t at = name.find(kArchPlaceholder);
    const std::string prefix = name.substr(0, at);
    const std::string suffix = at == std::string::npos
                                   ? ""
                                   : name.substr(at + kArchPlaceholder.size());
    std::error_code error;
    for (const auto& file : fs::directory_iterator(folder, error)) {
      const std::string found = file.path().filename().string();
      if (found.size() >= prefix.size() + suffix.size() &&
          found.rfind(prefix, 0) == 0 &&
          found.compare(found.size() - suffix.size(), std::string::npos,
                        suffix) == 0 &&
          IsArchName(std::string_view(found).substr(
              prefix.size(), found.size() - prefix.size() - suffix.size()))) {
        archives.push_back((folder / found).string());
      }
    }
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

void Resolver::Debug(const std::string& line) const {
  if (options_.debug) std::fprintf(stderr, "kpack: %s\n", line.c_str());
}

const Resolver::Opened& Resolver::OpenCached(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = archives_.find(path);
  if (known != archives_.end()) return known->second;
  KpackResult<std::shared_ptr<const Archive>> opened = Archive::Open(path);
  Opened result;
  if (opened) {
    result.archive = *std::move(opened);
    Debug(fmt::format("{}: open, {} entries", path,
                      result.archive->entries().size()));
  } else {
    ThrowIfOutOfMemory(opened.error());
    const std::string error = opened.error().ToString();
    Debug(error);
    if (opened.error().kpack_code != KpackCode::kFileNotFound) {
      result.error = error;
    }
  }
  return archives_.emplace(path, std::move(result)).first->second;
}

std::vector<std::string> Resolver::PathsFor(const Request& request,
                                            const std::string& arch) const {
  if (!options_.replace.empty()) return options_.replace;
  std::vector<std::string> paths = options_.prefix;
  for (const std::string& search_path : request.search_paths) {
    paths.push_back(ExpandSearchPath(search_path, request.binary_path, arch));
  }
  return paths;
}

KpackResult<Resolver::Found> Resolver::Load(const Request& request) {
  if (options_.disabled) {
    return Fail(KpackCode::kNotImplemented, DiagCode::kUnsupported,
                request.binary_path, "archives are off (ROCM_KPACK_DISABLE)");
  }
  bool opened_one = false;
  bool matched_arch = false;
  std::string tried;  // the first path, for the message
  std::optional<KpackDiag> last_failure;
  std::set<std::string> unreadable;

  const auto try_archive =
      [&](const std::string& path,
          const std::string& arch) -> std::optional<Found> {
    if (tried.empty()) tried = path;
    const Opened& opened = OpenCached(path);
    if (!opened.error.empty()) unreadable.insert(opened.error);
    const std::shared_ptr<const Archive>& archive = opened.archive;
    if (archive == nullptr) return std::nullopt;
    opened_one = true;
    if (!archive->HasArch(arch)) return std::nullopt;
    matched_arch = true;
    const Entry* entry = archive->Find(request.key, arch);
    if (entry == nullptr) {
      Debug(fmt::format("{}: no '{}' for {}", path, request.key, arch));
      return std::nullopt;
    }
    if (request.accept && !request.accept(*archive, *entry)) {
      Debug(fmt::format("{}: '{}' for {} is refused", path, request.key, arch));
      return std::nullopt;
    }
    KpackResult<Bytes> bytes = archive->Read(*entry);
    if (!bytes) {
      ThrowIfOutOfMemory(bytes.error());
      Debug(bytes.error().ToString());
      last_failure = std::move(bytes).error();
      return std::nullopt;
    }
    Debug(fmt::format("{}: '{}' for {}, {} bytes", path, request.key, arch,
                      bytes->size()));
    return Found{archive, entry, *std::move(bytes)};
  };

  for (const std::string& wanted : request.arches) {
    for (const std::string& arch : FeatureSubsets(wanted)) {
      for (const std::string& path : PathsFor(request, arch)) {
        if (std::optional<Found> found = try_archive(path, arch)) {
          return *std::move(found);
        }
      }
    }
  }

  if (last_failure) return tl::unexpected<KpackDiag>(*std::move(last_failure));
  const std::string targets =
      fmt::format("{}", fmt::join(request.arches, ", "));
  tl::unexpected<KpackDiag> failure =
      !opened_one ? Fail(KpackCode::kArchiveNotFound, DiagCode::kIo,
                         request.binary_path,
                         fmt::format("no archive for {} (looked for '{}')",
                                     targets, tried))
      : !matched_arch
          ? Fail(KpackCode::kArchNotFound, DiagCode::kUnsupported,
                 request.binary_path,
                 fmt::format("its archives hold nothing for {}", targets))
          : Fail(KpackCode::kKernelNotFound, DiagCode::kUnsupported,
                 request.binary_path,
                 fmt::format("its archives hold no usable '{}' "
                             "for {}",
                             request.key, targets));
  failure.value().notes.assign(unreadable.begin(), unreadable.end());
  return failure;
}

std::map<std::string, std::size_t> Resolver::CountEntries(
    const std::vector<std::string>& search_paths,
    const std::string& binary_path) {
  std::map<std::string, std::size_t> counts;
  if (options_.disabled) return counts;
  std::vector<std::string> paths = options_.replace;
  if (paths.empty()) {
    paths = options_.prefix;
    const std::vector<std::string> named =
        FindArchives(search_paths, binary_path);
    paths.insert(paths.end(), named.begin(), named.end());
  }
  for (const std::string& path : paths) {
    const std::shared_ptr<const Archive>& archive = OpenCached(path).archive;
    if (archive == nullptr) continue;
    for (const Entry& entry : archive->entries()) {
      ++counts[std::string(entry.arch)];
    }
  }
  return counts;
}

}  // namespace cerberus::kpack
