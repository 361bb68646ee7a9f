// cerberus kpack create: an archive from files.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "cli/verbs/kpack/kpack_inputs.h"

namespace cerberus::cli {
namespace {

class KpackCreateVerb : public Verb {
 public:
  const char* name() const override { return "kpack create"; }
  const char* summary() const override {
    return "make an archive from code objects, HIP bundles and PTX";
  }
  const char* examples() const override {
    return "  cerberus kpack create lib/x.so=x.hsaco -o x.kpack\n"
           "  cerberus kpack create parts -o app.kpack --group app\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("FILE...", inputs_,
             "[KEY=]FILE, or a folder that `kpack extract` wrote")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_, "the archive to write")
        .ValueName("OUT")
        .Required()
        .Group(kGroupFiles);
    list.Add("--group", group_, "name of the group, default: OUT's")
        .ValueName("NAME")
        .Group(kGroupFiles);
    AddPackOptions(list, pack_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const Result<kpack::EditSummary> done = Create();
    if (!done) reporter.Report(done.error());
    const int code = done ? kExitDone : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("output").String(output_);
      if (done) WriteSummaryJson(*done, json);
      PrintReport(std::move(json), reporter, code);
    } else if (done && !reporter.quiet()) {
      PrintLine("{}: {}, {} bytes", output_,
                CountedEntries(done->entries, done->blobs), done->size);
    }
    return code;
  }

 private:
  Result<kpack::EditSummary> Create() const {
    std::vector<kpack::NewEntry> inputs;
    for (const std::string& argument : inputs_) {
      CERB_TRY(std::vector<kpack::NewEntry> some, ReadKpackInputs(argument));
      std::move(some.begin(), some.end(), std::back_inserter(inputs));
    }
    CERB_TRY(kpack::FinishedArchive made,
             kpack::BuildArchive(
                 std::move(inputs),
                 MakeEditOptions(
                     pack_, group_.empty() ? GroupOfFile(output_) : group_),
                 output_));
    CERB_TRY_VOID(made.file.Commit());
    return made.summary;
  }

  std::vector<std::string> inputs_;
  std::string output_;
  std::string group_;
  PackOptions pack_;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackCreateVerb() {
  return std::make_unique<KpackCreateVerb>();
}

}  // namespace cerberus::cli
