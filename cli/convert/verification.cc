#include "cli/convert/verification.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/convert/splitting.h"
#include "formats/segment.h"
#include "kpack/marker.h"
#include "kpack/reader.h"
#include "kpack/resolve.h"

namespace cerberus::cli {
namespace {

// The program's own search path: DT_RUNPATH, or DT_RPATH where there is none.
std::string SearchPathOf(const rewriter::ElfFile& elf) {
  for (const std::int64_t tag : {DT_RUNPATH, DT_RPATH}) {
    if (const std::optional<std::uint64_t> at = elf.DynamicValue(tag)) {
      const Result<std::string_view> text = elf.DynamicString(*at);
      if (text) return std::string(*text);
    }
  }
  return "";
}

// What the conversion put before the original's path.
std::vector<std::string> AddedFolders(const std::string& before,
                                      std::string after) {
  if (!before.empty() && after.size() > before.size() + 1 &&
      after.compare(after.size() - before.size() - 1, std::string::npos,
                    ":" + before) == 0) {
    after.resize(after.size() - before.size() - 1);
  }
  std::vector<std::string> folders;
  while (!after.empty()) {
    const std::size_t colon = std::min(after.find(':'), after.size());
    folders.push_back(after.substr(0, colon));
    after.erase(0, colon + 1);
  }
  return folders;
}

// Libraries in the first folder that the conversion has loaded with the stub.
std::vector<std::string> AddedLibraries(const rewriter::Binary& before,
                                        const rewriter::Binary& after,
                                        const std::vector<std::string>& path) {
  std::vector<std::string> added;
  if (path.empty()) return added;
  const auto old = before.elf().NeededLibraries();
  for (const std::string_view needed : after.elf().NeededLibraries()) {
    const std::size_t slash = needed.rfind('/');
    if (slash == std::string_view::npos || needed.substr(0, slash) != path[0] ||
        std::find(old.begin(), old.end(), needed) != old.end()) {
      continue;
    }
    const std::string_view name = needed.substr(slash + 1);
    if (name != "libcuda.so.1") added.emplace_back(name);
  }
  return added;
}

Status HoldAgainst(const rewriter::Binary& original, const rewriter::Plan& plan,
                   const std::string& converted, FileVerification& result) {
  CERB_TRY_VOID(rewriter::VerifyConversionFile(original, plan, converted));
  result.in_place = plan.bytes_in_place();
  result.edits = plan.edits.size();
  result.cut = plan.bytes_cut();
  result.appended = plan.appended.size();
  return {};
}

Status VerifySplit(const rewriter::Binary& original, const std::string& split,
                   FileVerification& result) {
  CERB_TRY(const rewriter::Binary binary, rewriter::Binary::Open(split));
  CERB_TRY(const rewriter::SplitInfo info, rewriter::ReadSplit(binary));
  result.info.search_paths = info.search_paths;
  result.info.kernel_name = info.kernel_name;
  rewriter::SplitOptions options;
  options.search_paths = info.search_paths;
  options.kernel_name = info.kernel_name;
  CERB_TRY(const rewriter::Plan plan, rewriter::PlanSplit(original, options));
  CERB_TRY_VOID(HoldAgainst(original, plan, split, result));
  CERB_TRY(result.compared,
           VerifySplitArchives(original, info.kernel_name,
                               kpack::FindArchives(info.search_paths, split)));
  result.is_split = true;
  return {};
}

}  // namespace

Result<FileVerification> VerifyFile(const std::string& original_path,
                                    const std::string& converted_path) {
  FileVerification result;
  CERB_TRY(const rewriter::Binary original,
           rewriter::Binary::Open(original_path));
  if (!original.hip().wrappers.empty() && original.wrappers().empty()) {
    CERB_TRY_VOID(VerifySplit(original, converted_path, result));
    return result;
  }
  CERB_TRY(result.info, rewriter::ReadConvertedFile(converted_path));
  CERB_TRY(const rewriter::Binary converted,
           rewriter::Binary::Open(converted_path));
  const rewriter::ConvertedInfo& info = result.info;
  rewriter::PlanOptions options;
  options.search_paths = info.search_paths;
  options.kernel_name = info.kernel_name;
  options.converter_version = info.converter_version;
  options.launch_abi = info.launch_abi;
  options.keep_fatbin =
      !info.records.empty() &&
      std::none_of(info.records.begin(), info.records.end(),
                   [](const auto& record) { return record.repointed; });
  // What was converted before code was cut has none cut.
  options.cut = std::any_of(
      info.records.begin(), info.records.end(), [](const auto& record) {
        return (record.flags & formats::kRecordFatbinRemoved) != 0;
      });
  options.runpath =
      AddedFolders(SearchPathOf(original.elf()), SearchPathOf(converted.elf()));
  options.beside_stub = AddedLibraries(original, converted, options.runpath);
  CERB_TRY(const rewriter::Plan plan,
           rewriter::PlanConversion(original, options));
  CERB_TRY_VOID(HoldAgainst(original, plan, converted_path, result));
  CERB_TRY(const std::vector<rewriter::Module> modules,
           rewriter::ExtractModules(original));
  for (const rewriter::Module& module : modules) {
    if (!module.index || module.is_empty_device_link) continue;
    result.modules.push_back(kpack::ModuleKey(info.kernel_name, *module.index));
  }
  return result;
}

Status VerifyArchive(const std::string& path,
                     const std::vector<std::string>& modules,
                     Reporter& reporter) {
  CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
           kpack::Archive::Open(path));
  for (const kpack::Entry& entry : archive->entries()) {
    CERB_TRY_VOID(archive->Read(entry));
  }
  for (const std::string& key : modules) {
    for (const std::string_view arch : archive->arches()) {
      if (archive->Find(key, arch) != nullptr) continue;
      Where where;
      where.file = path;
      Diag diag = MakeDiag(DiagCode::kUnknown, std::move(where),
                           fmt::format("no '{}' for {}", key, arch));
      diag.severity = Severity::kWarning;
      reporter.Report(diag);
    }
  }
  return {};
}

}  // namespace cerberus::cli
