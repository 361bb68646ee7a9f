// cerberus verify: is a converted file what a conversion of its original
// gives, and are its archives whole?
#include <elf.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/splitting.h"
#include "cli/verb.h"
#include "kpack/marker.h"
#include "kpack/reader.h"
#include "kpack/resolve.h"
#include "rewriter/rewriter.h"

namespace cerberus::cli {
namespace {

constexpr std::uint32_t kRecordNoKernel = 1;  // docs/marker-format.md

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

class VerifyVerb : public Verb {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "check a converted file against its original";
  }
  const char* examples() const override {
    return "  cerberus verify app app.amd\n"
           "  cerberus verify app app.amd --json\n";
  }

  void AddOptions(CLI::App& app) override {
    app.add_option("ORIGINAL", original_, "the file that was converted")
        ->required()
        ->group(kGroupFiles);
    app.add_option("CONVERTED", converted_,
                   "what `convert` or `split` made of it")
        ->required()
        ->group(kGroupFiles);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    Status status = VerifyFile();
    if (status) status = VerifyArchives(reporter);
    if (!status) reporter.Report(status.error());
    const int code = status ? kExitDone : kExitFailed;
    if (common.json) {
      PrintJson(reporter, code);
    } else if (status && !reporter.quiet()) {
      fmt::print("{}: {} bytes changed in {} places, ", converted_, in_place_,
                 edits_);
      if (cut_ != 0) fmt::print("{} bytes cut, ", cut_);
      fmt::print("{} bytes appended, all as planned\n", appended_);
      if (is_split_) {
        fmt::print("{} code object{} in the archives, as in the original\n",
                   compared_, compared_ == 1 ? "" : "s");
      }
      for (const std::string& archive : archives_) {
        fmt::print("{}: whole\n", archive);
      }
    }
    return code;
  }

 private:
  // Plans the conversion anew, with what the converted file says it was, and
  // holds the file against that plan.
  Status VerifyFile() {
    CERB_TRY(const rewriter::Binary original,
             rewriter::Binary::Open(original_));
    if (!original.hip().wrappers.empty() && original.wrappers().empty()) {
      return VerifySplitFile(original);
    }
    CERB_TRY(info_, rewriter::ReadConvertedFile(converted_));
    CERB_TRY(const rewriter::Binary converted,
             rewriter::Binary::Open(converted_));
    rewriter::PlanOptions options;
    options.search_paths = info_.search_paths;
    options.kernel_name = info_.kernel_name;
    options.converter_version = info_.converter_version;
    options.launch_abi = info_.launch_abi;
    options.keep_fatbin =
        !info_.records.empty() &&
        std::none_of(info_.records.begin(), info_.records.end(),
                     [](const auto& record) { return record.repointed; });
    options.runpath = AddedFolders(SearchPathOf(original.elf()),
                                   SearchPathOf(converted.elf()));
    CERB_TRY(const rewriter::Plan plan,
             rewriter::PlanConversion(original, options));
    return VerifyPlanned(original, plan);
  }

  Status VerifyPlanned(const rewriter::Binary& original,
                       const rewriter::Plan& plan) {
    CERB_TRY_VOID(rewriter::VerifyConversionFile(original, plan, converted_));
    in_place_ = plan.bytes_in_place();
    edits_ = plan.edits.size();
    cut_ = plan.bytes_cut();
    appended_ = plan.appended.size();
    return {};
  }

  // Of a HIP program the archives are held against the original, too.
  Status VerifySplitFile(const rewriter::Binary& original) {
    CERB_TRY(const rewriter::Binary split, rewriter::Binary::Open(converted_));
    CERB_TRY(const rewriter::SplitInfo split_info, rewriter::ReadSplit(split));
    info_.search_paths = split_info.search_paths;
    info_.kernel_name = split_info.kernel_name;
    rewriter::SplitOptions options;
    options.search_paths = info_.search_paths;
    options.kernel_name = info_.kernel_name;
    CERB_TRY(const rewriter::Plan plan, rewriter::PlanSplit(original, options));
    CERB_TRY_VOID(VerifyPlanned(original, plan));
    CERB_TRY(compared_,
             VerifySplitArchives(
                 original, info_.kernel_name,
                 kpack::FindArchives(info_.search_paths, converted_)));
    is_split_ = true;
    return {};
  }

  // Every archive that the marker's paths can lead to, for any target.
  Status VerifyArchives(Reporter& reporter) {
    archives_ = kpack::FindArchives(info_.search_paths, converted_);
    for (const std::string& path : archives_) {
      CERB_TRY_VOID(VerifyArchive(path, reporter));
    }
    return {};
  }

  Status VerifyArchive(const std::string& path, Reporter& reporter) const {
    CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
             kpack::Archive::Open(path));
    for (const kpack::Entry& entry : archive->entries()) {
      CERB_TRY_VOID(archive->Read(entry));
    }
    for (const rewriter::ConvertedInfo::Record& record : info_.records) {
      if (record.flags & kRecordNoKernel) continue;
      const std::string key = kpack::ModuleKey(info_.kernel_name, record.index);
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

  void PrintJson(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("verify");
    json.Key("original").String(original_);
    json.Key("converted").String(converted_);
    json.Key("exit_code").Int(code);
    if (code == kExitDone) {
      json.Key("bytes_in_place").Uint(in_place_);
      json.Key("edits").Uint(edits_);
      json.Key("bytes_cut").Uint(cut_);
      json.Key("bytes_appended").Uint(appended_);
      if (is_split_) json.Key("code_objects").Uint(compared_);
      json.Key("archives").BeginArray();
      for (const std::string& archive : archives_) json.String(archive);
      json.EndArray();
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string original_;
  std::string converted_;
  rewriter::ConvertedInfo info_;
  std::uint64_t in_place_ = 0;
  std::size_t edits_ = 0;
  std::uint64_t cut_ = 0;
  std::size_t appended_ = 0;
  bool is_split_ = false;
  std::size_t compared_ = 0;
  std::vector<std::string> archives_;
};

}  // namespace

std::unique_ptr<Verb> MakeVerifyVerb() {
  return std::make_unique<VerifyVerb>();
}

}  // namespace cerberus::cli
