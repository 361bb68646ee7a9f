// cerberus kpack prune: an archive with some of another one's entries.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

class KpackPruneVerb : public Verb {
 public:
  const char* name() const override { return "kpack prune"; }
  const char* summary() const override {
    return "keep the entries for some targets, or with some kernels";
  }
  const char* examples() const override {
    return "  cerberus kpack prune blas.kpack -o small.kpack --arch gfx942\n"
           "  cerberus kpack prune blas.kpack -o gemm.kpack --filter '^gemm'\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE", input_, "the archive, which may be OUT")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_, "the archive to write")
        .ValueName("OUT")
        .Required()
        .Group(kGroupFiles);
    AddEntryOptions(list, keep_);
    AddPackOptions(list, pack_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    Result<kpack::EditSummary> done = Prune();
    if (!done) reporter.Report(done.error());
    const int code = done                                    ? kExitDone
                     : done.error().code == DiagCode::kUsage ? kExitUsage
                                                             : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("input").String(input_);
      json.Key("output").String(output_);
      if (done) {
        WriteSummaryJson(*done, json);
        json.Key("removed").Uint(before_ - done->entries);
      }
      PrintReport(std::move(json), reporter, code);
    } else if (done && !reporter.quiet()) {
      PrintLine("{}: {} of {}, {} bytes", output_,
                CountedEntries(done->entries, done->blobs), before_,
                done->size);
    }
    return code;
  }

 private:
  Result<kpack::EditSummary> Prune() {
    if (keep_.arches.empty() && keep_.filter.empty()) {
      return Err(DiagCode::kUsage,
                 "--arch or --filter must say what is to be kept");
    }
    CERB_TRY(const kpack::ArchivePtr archive, OpenArchive(input_));
    before_ = archive->entries().size();
    CERB_TRY(const kpack::Selection kept, SelectEntries(archive, keep_));
    if (kept.rows.empty()) {
      Where where;
      where.file = input_;
      return Err(
          MakeDiag(DiagCode::kUnknown, std::move(where), "no entry is left"));
    }
    return kpack::WriteArchive(
        kept, MakeEditOptions(pack_, std::string(archive->group_name())),
        output_);
  }

  std::string input_;
  std::string output_;
  EntryOptions keep_;
  PackOptions pack_;
  std::size_t before_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackPruneVerb() {
  return std::make_unique<KpackPruneVerb>();
}

}  // namespace cerberus::cli
