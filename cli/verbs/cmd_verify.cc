// cerberus verify: is a converted file what a conversion of its original
// gives, and are its archives whole? The same for a packed tree.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/convert/verification.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "kpack/resolve.h"

namespace cerberus::cli {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

class VerifyVerb : public Verb {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "check a converted file or tree against its original";
  }
  const char* examples() const override {
    return "  cerberus verify app app.amd\n"
           "  cerberus verify /opt/app-amd\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ORIGINAL", original_,
             "the file or tree that was converted; or only\n"
             "the tree that `pack-tree` made, by its manifests")
        .Required()
        .Group(kGroupFiles);
    list.Add("CONVERTED", converted_,
             "what `convert`, `split` or `pack-tree` made of it")
        .Group(kGroupFiles);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    if (IsFolder(original_)) return RunTree(common, reporter);
    if (converted_.empty()) {
      reporter.Error(DiagCode::kUsage,
                     fmt::format("'{}' is no folder, and CONVERTED is missing",
                                 original_));
      return Finish(common, reporter, kExitUsage);
    }
    const Status status = VerifyOne(reporter);
    if (!status) reporter.Report(status.error());
    return Finish(common, reporter, status ? kExitDone : kExitFailed);
  }

 private:
  Status VerifyOne(Reporter& reporter) {
    CERB_TRY(file_, VerifyFile(original_, converted_));
    // Every archive that the marker's paths can lead to, for any target.
    archives_ = kpack::FindArchives(file_.info.search_paths, converted_);
    for (const std::string& path : archives_) {
      CERB_TRY_VOID(VerifyArchive(path, file_.modules, reporter));
    }
    return {};
  }

  int Finish(const CommonOptions& common, const Reporter& reporter, int code) {
    if (common.json) {
      PrintJson(reporter, code);
    } else if (code == kExitDone && !reporter.quiet()) {
      PrintLine(
          "{}: {} bytes changed in {} places, {}{} bytes appended, all as "
          "planned",
          converted_, file_.in_place, file_.edits,
          file_.cut == 0 ? "" : fmt::format("{} bytes cut, ", file_.cut),
          file_.appended);
      if (file_.is_split) {
        PrintLine("{} code object{} in the archives, as in the original",
                  file_.compared, file_.compared == 1 ? "" : "s");
      }
      for (const std::string& archive : archives_) {
        PrintLine("{}: whole", archive);
      }
    }
    return code;
  }

  int RunTree(const CommonOptions& common, Reporter& reporter) {
    const std::string& packed = converted_.empty() ? original_ : converted_;
    const std::string original = converted_.empty() ? "" : original_;
    TreeVerification tree;
    const Result<bool> good = VerifyTree(packed, original, reporter, tree);
    if (!good) reporter.Report(good.error());
    const int code = good && *good ? kExitDone : kExitFailed;
    if (common.json) {
      PrintTreeJson(packed, original, tree, reporter, code);
    } else if (code == kExitDone && !reporter.quiet()) {
      PrintLine("{}: {} files as {} manifest{} say{}, {} archives whole",
                packed, tree.files, tree.manifests.size(),
                tree.manifests.size() == 1 ? "" : "s",
                tree.manifests.size() == 1 ? "s" : "", tree.archives);
      if (!original.empty()) {
        PrintLine("{} files compared with the original", tree.compared);
      }
    }
    return code;
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
      json.Key("bytes_in_place").Uint(file_.in_place);
      json.Key("edits").Uint(file_.edits);
      json.Key("bytes_cut").Uint(file_.cut);
      json.Key("bytes_appended").Uint(file_.appended);
      if (file_.is_split) json.Key("code_objects").Uint(file_.compared);
      json.Key("archives").BeginArray();
      for (const std::string& archive : archives_) json.String(archive);
      json.EndArray();
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  static void PrintTreeJson(const std::string& packed,
                            const std::string& original,
                            const TreeVerification& tree,
                            const Reporter& reporter, int code) {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("verify");
    json.Key("original").String(original);
    json.Key("converted").String(packed);
    json.Key("exit_code").Int(code);
    json.Key("manifests").BeginArray();
    for (const std::string& path : tree.manifests) json.String(path);
    json.EndArray();
    json.Key("files").Uint(tree.files);
    json.Key("archives_whole").Uint(tree.archives);
    json.Key("compared").Uint(tree.compared);
    json.Key("unlisted").Uint(tree.unlisted);
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string original_;
  std::string converted_;
  FileVerification file_;
  std::vector<std::string> archives_;
};

}  // namespace

std::unique_ptr<Verb> MakeVerifyVerb() {
  return std::make_unique<VerifyVerb>();
}

}  // namespace cerberus::cli
