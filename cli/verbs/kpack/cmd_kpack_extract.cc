// cerberus kpack extract: entries as files of their own, in a new folder that
// appears when all of them are complete.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/output_folder.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "cli/verbs/kpack/kpack_inputs.h"

namespace cerberus::cli {
namespace {

class KpackExtractVerb : public Verb {
 public:
  const char* name() const override { return "kpack extract"; }
  const char* summary() const override {
    return "write the entries of an archive to files";
  }
  const char* examples() const override {
    return "  cerberus kpack extract app.kpack -d parts\n"
           "  cerberus kpack extract app.kpack -d parts --arch gfx942\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE", input_, "the archive").Required().Group(kGroupFiles);
    list.Add("-d,--dir", folder_, "new folder for the files, TARGET/KEY.TYPE")
        .ValueName("DIR")
        .Required()
        .Group(kGroupFiles);
    AddEntryOptions(list, options_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const Status status = Extract();
    if (!status) reporter.Report(status.error());
    const int code = status                                    ? kExitDone
                     : status.error().code == DiagCode::kUsage ? kExitUsage
                                                               : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("input").String(input_);
      json.Key("folder").String(folder_);
      json.Key("files").BeginArray();
      for (const File& file : files_) {
        if (!status) break;
        json.BeginObject();
        json.Key("name").String(file.name);
        json.Key("key").String(file.key);
        json.Key("arch").String(file.arch);
        json.Key("size").Uint(file.size);
        json.EndObject();
      }
      json.EndArray();
      PrintReport(std::move(json), reporter, code);
    } else if (status && !reporter.quiet()) {
      PrintLine("{}: {} file{}", folder_, files_.size(),
                files_.size() == 1 ? "" : "s");
    }
    return code;
  }

 private:
  struct File {
    std::string name;
    std::string key;
    std::string arch;
    std::uint64_t size;
  };

  Status Extract() {
    CERB_TRY(kpack::ArchivePtr archive, OpenArchive(input_));
    CERB_TRY(const kpack::Selection selection,
             SelectEntries(std::move(archive), options_));
    CERB_TRY(OutputFolder folder, OutputFolder::Create(folder_));
    for (const kpack::Selection::Row& row : selection.rows) {
      CERB_TRY(const cerberus::Bytes bytes, row.archive->Read(*row.entry));
      const std::string name =
          EntryFileName(row.entry->key, row.entry->arch, row.entry->type);
      CERB_TRY_VOID(folder.Write(name, bytes));
      files_.push_back({name, std::string(row.entry->key),
                        std::string(row.entry->arch), bytes.size()});
    }
    return folder.Commit();
  }

  std::string input_;
  std::string folder_;
  EntryOptions options_;
  std::vector<File> files_;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackExtractVerb() {
  return std::make_unique<KpackExtractVerb>();
}

}  // namespace cerberus::cli
