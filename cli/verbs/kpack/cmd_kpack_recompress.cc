// cerberus kpack recompress: the same entries, stored in another way.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "kpack/format.h"
#include "support/input_file.h"

namespace cerberus::cli {
namespace {

class KpackRecompressVerb : public Verb {
 public:
  const char* name() const override { return "kpack recompress"; }
  const char* summary() const override {
    return "store an archive in another way";
  }
  const char* examples() const override {
    return "  cerberus kpack recompress app.kpack -o app.kpack --level 19\n"
           "  cerberus kpack recompress app.kpack -o plain.kpack "
           "--compression none\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE", input_, "the archive, which may be OUT")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_, "the archive to write")
        .ValueName("OUT")
        .Required()
        .Group(kGroupFiles);
    AddPackOptions(list, pack_);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    Result<kpack::EditSummary> done = Recompress();
    if (!done) reporter.Report(done.error());
    const int code = done ? kExitDone : kExitFailed;
    if (common.json) {
      JsonWriter json;
      BeginReport(name(), json);
      json.Key("input").String(input_);
      json.Key("output").String(output_);
      if (done) {
        json.Key("bytes_in").Uint(bytes_in_);
        WriteSummaryJson(*done, json);
      }
      PrintReport(std::move(json), reporter, code);
    } else if (done && !reporter.quiet()) {
      PrintLine("{}: {}, {} -> {} bytes", output_,
                CountedEntries(done->entries, done->blobs), bytes_in_,
                done->size);
    }
    return code;
  }

 private:
  Result<kpack::EditSummary> Recompress() {
    CERB_TRY(const InputFile file, InputFile::Open(input_));
    bytes_in_ = file.size();
    CERB_TRY(const kpack::ArchivePtr archive, OpenArchive(input_));
    PackOptions pack = pack_;
    // Frames of version 2 are made anew in any case.
    if (pack.level == 0 && pack.format == "v1") pack.level = kpack::kZstdLevel;
    return kpack::WriteArchive(
        kpack::SelectAll(archive),
        MakeEditOptions(pack, std::string(archive->group_name())), output_);
  }

  std::string input_;
  std::string output_;
  PackOptions pack_;
  std::uint64_t bytes_in_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackRecompressVerb() {
  return std::make_unique<KpackRecompressVerb>();
}

}  // namespace cerberus::cli
