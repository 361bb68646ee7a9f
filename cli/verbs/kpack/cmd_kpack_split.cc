// cerberus kpack split: one archive for each target.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/bundle.h"
#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

class KpackSplitVerb : public Verb {
 public:
  const char* name() const override { return "kpack split"; }
  const char* summary() const override {
    return "write one archive for each target";
  }
  const char* examples() const override {
    return "  cerberus kpack split blas.kpack -d .kpack\n"
           "  cerberus kpack split blas.kpack -d out --group blas_lib\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE", input_, "an archive for several targets")
        .Required()
        .Group(kGroupFiles);
    list.Add("-d,--dir", folder_, "folder for the archives, GROUP-TARGET.kpack")
        .ValueName("DIR")
        .Required()
        .Group(kGroupFiles);
    list.Add("--group", group_, "name of the group, default: ARCHIVE's")
        .ValueName("NAME")
        .Group(kGroupFiles);
    AddPackOptions(list, pack_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const Status status = Split();
    if (!status) reporter.Report(status.error());
    const int code = status ? kExitDone : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("input").String(input_);
      json.Key("files").BeginArray();
      for (const auto& [path, summary] : written_) {
        json.BeginObject();
        json.Key("path").String(path);
        WriteSummaryJson(summary, json);
        json.EndObject();
      }
      json.EndArray();
      PrintReport(std::move(json), reporter, code);
    } else if (!reporter.quiet()) {
      for (const auto& [path, summary] : written_) {
        PrintLine("{}: {}, {} bytes", path,
                  CountedEntries(summary.entries, summary.blobs), summary.size);
      }
    }
    return code;
  }

 private:
  Status Split() {
    CERB_TRY(kpack::ArchivePtr archive, OpenArchive(input_));
    const kpack::Selection all = kpack::SelectAll(std::move(archive));
    std::string group = group_.empty() ? all.GroupName() : group_;
    if (group.empty()) group = GroupOfFile(input_);
    std::vector<std::string> made_folders;
    CERB_TRY_VOID(MakeFolder(folder_, made_folders));
    // All or none.
    std::vector<kpack::FinishedArchive> archives;
    for (const auto& [arch, part] : kpack::ByArch(all)) {
      const std::string path =
          fmt::format("{}/{}-{}.kpack", folder_, group, arch);
      CERB_TRY(kpack::FinishedArchive made,
               kpack::BuildArchive(part, MakeEditOptions(pack_, group), path));
      archives.push_back(std::move(made));
    }
    for (kpack::FinishedArchive& made : archives) {
      CERB_TRY_VOID(made.file.Commit());
      written_.emplace(made.file.path(), made.summary);
    }
    return {};
  }

  std::string input_;
  std::string folder_;
  std::string group_;
  PackOptions pack_;
  std::map<std::string, kpack::EditSummary> written_;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackSplitVerb() {
  return std::make_unique<KpackSplitVerb>();
}

}  // namespace cerberus::cli
