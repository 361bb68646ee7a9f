// cerberus kpack merge: several archives as one.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

class KpackMergeVerb : public Verb {
 public:
  const char* name() const override { return "kpack merge"; }
  const char* summary() const override {
    return "put the entries of several archives into one";
  }
  const char* examples() const override {
    return "  cerberus kpack merge shard-*.kpack -o app-gfx1100.kpack\n"
           "  cerberus kpack merge a.kpack b.kpack -o ab.kpack --group ab\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE...", inputs_, "archives; what two hold must be equal")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_, "the archive to write")
        .ValueName("OUT")
        .Required()
        .Group(kGroupFiles);
    list.Add("--group", group_, "name of the group, default: the archives'")
        .ValueName("NAME")
        .Group(kGroupFiles);
    list.AddFlag("--in-order", in_order_,
                 "store as the archives do, not by key: for shards")
        .Group(kGroupBehaviour);
    AddPackOptions(list, pack_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    Result<kpack::EditSummary> done = Merge();
    if (!done) reporter.Report(done.error());
    const int code = done ? kExitDone : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("inputs").BeginArray();
      for (const std::string& input : inputs_) json.String(input);
      json.EndArray();
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
  Result<kpack::EditSummary> Merge() const {
    CERB_TRY(const std::vector<kpack::ArchivePtr> archives,
             OpenArchives(inputs_));
    CERB_TRY(kpack::Selection merged, kpack::Merge(archives));
    if (in_order_) kpack::KeepOrder(merged);
    const std::string group = group_.empty() ? merged.GroupName() : group_;
    if (group.empty()) {
      return Err(DiagCode::kUsage,
                 "the archives are of several groups, or of none: --group "
                 "names the new one's");
    }
    return kpack::WriteArchive(merged, MakeEditOptions(pack_, group), output_);
  }

  std::vector<std::string> inputs_;
  std::string output_;
  std::string group_;
  bool in_order_ = false;
  PackOptions pack_;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackMergeVerb() {
  return std::make_unique<KpackMergeVerb>();
}

}  // namespace cerberus::cli
