// cerberus split: a HIP program and, beside it, one archive for each GPU.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/bundle.h"
#include "cli/convert/splitting.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/printable.h"
#include "cli/process.h"
#include "cli/report/report_option.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

class SplitVerb : public Verb {
 public:
  const char* name() const override { return "split"; }
  const char* summary() const override {
    return "take a HIP program's code into archives, one for each GPU";
  }
  const char* examples() const override {
    return "  cerberus split libx.so -o out/libx.so\n"
           "  cerberus split libx.so -o out/libx.so --arch gfx1100,gfx90a\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("FILE", input_, "HIP program or library")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_,
             "the split file; archives go to .kpack/ beside it")
        .ValueName("FILE")
        .Required()
        .Group(kGroupFiles);
    AddArchives(list, archives_folder_);
    list.Add("--arch", arches_, "these targets only; or native, rocm, generic")
        .ValueName("A[,B...]")
        .Delimiter(',')
        .Group(kGroupTargets);
    list.AddFlag("-n,--dry-run", dry_run_,
                 "print what would change, write nothing")
        .Group(kGroupBehaviour);
    report_.AddTo(list);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    // A write beyond the file size limit is an error like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    const InterruptScope interrupts;
    int code = kExitDone;
    Status status = CheckOptions();
    if (!status) code = kExitUsage;
    if (status) status = Split(reporter);
    if (!status) {
      reporter.Report(status.error());
      if (code == kExitDone) code = kExitFailed;
    }
    if (Interrupted() && !done_) code = kExitInterrupted;
    archives_.clear();
    RemoveFolders(made_folders_);
    code = report_.Write(MakeReport(code == kExitDone), reporter, code);
    if (common.json) {
      PrintJson(reporter, code);
    } else if (code == kExitDone && dry_run_) {
      fmt::print("{}", splitting_->plan().ToText());
    } else if (code == kExitDone && !reporter.quiet()) {
      PrintSummary();
    }
    return code;
  }

 private:
  Status CheckOptions() {
    CERB_TRY(arches_, SelectArches(arches_));
    if (SameFile(input_, output_)) {
      return Err(DiagCode::kUsage,
                 fmt::format("the output '{}' is the input; the input is "
                             "never changed",
                             output_));
    }
    const std::string name = BaseName(output_);
    if (name.empty() || name == "." || name == "..") {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot be the name of a file", output_));
    }
    return report_.Open(input_, output_);
  }

  Status Split(Reporter& reporter) {
    const std::string group = BaseName(output_);
    SplittingOptions options;
    options.input = input_;
    options.input_name = input_;
    options.arches = arches_;
    const ArchivePlace place = PlaceArchives(output_, archives_folder_);
    options.split.search_paths = {place.SearchPath(group)};
    options.split.kernel_name = group;
    splitting_.emplace(std::move(options));
    CERB_TRY_VOID(splitting_->Open());
    for (const Diag& note : splitting_->plan().notes) reporter.Report(note);
    if (dry_run_) return {};
    CERB_TRY_VOID(MakeFolder(place.folder, made_folders_));
    const auto pool = std::make_shared<kpack::FramePool>();
    CERB_TRY_VOID(splitting_->Pack(archives_, [&](const std::string& target) {
      kpack::ArchiveOptions archive;
      archive.pool = pool;
      archive.group_name = group;
      archive.gfx_arch_family = target;
      return kpack::ArchiveWriter::Create(place.File(group, target), archive);
    }));
    if (Interrupted()) return {};
    findings_ = splitting_->summary().findings;
    CERB_TRY(OutputFile program, splitting_->Write(output_));
    for (auto& [target, archive] : archives_) {
      CERB_TRY_VOID(archive.Finish());
      archive_bytes_ += archive.size();
      findings_.sizes[target].code += archive.size();
    }
    if (Interrupted()) return {};
    // From here on it is done, or an error; a signal changes nothing.
    for (auto& [target, archive] : archives_) {
      CERB_TRY_VOID(archive.Commit());
      files_.push_back(archive.path());
    }
    CERB_TRY_VOID(program.Commit());
    files_.push_back(output_);
    done_ = true;
    return {};
  }

  Report MakeReport(bool done) const {
    Report report;
    report.verb = name();
    report.input = input_;
    report.output = output_;
    report.targets = arches_;
    report.dry_run = dry_run_;
    if (!done) return report;
    report.files.push_back({input_, dry_run_ ? "to be split" : "split", ""});
    if (dry_run_) return report;
    const SplittingSummary& s = splitting_->summary();
    report.findings = findings_;
    report.numbers = s.Numbers();
    report.numbers.emplace_back("Bytes in archives",
                                fmt::format("{}", archive_bytes_));
    report.written = SizesOf(files_);
    return report;
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  void PrintSummary() const {
    const SplittingSummary& s = splitting_->summary();
    PrintLine(
        "{}: {} image{}, {} wrapper{} -> {} code object{} for {} "
        "target{}",
        output_, s.images, s.images == 1 ? "" : "s", s.wrappers,
        s.wrappers == 1 ? "" : "s", s.total(), s.total() == 1 ? "" : "s",
        s.code_objects.size(), s.code_objects.size() == 1 ? "" : "s");
    for (const auto& [target, count] : s.left_out) {
      PrintLine("  left out           {} x {}", count, target);
    }
    PrintLine("  bytes in, out      {}, {} + {} in archives", s.bytes_in,
              s.bytes_out, archive_bytes_);
    PrintLine("  seconds            {:.2f}", Seconds());
  }

  void PrintJson(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("split");
    json.Key("input").String(input_);
    json.Key("output").String(output_);
    json.Key("exit_code").Int(code);
    if (code == kExitDone && dry_run_) {
      json.Key("plan").Raw(splitting_->plan().ToJson());
    } else if (code == kExitDone) {
      const SplittingSummary& s = splitting_->summary();
      json.Key("files").BeginArray();
      for (const std::string& file : files_) json.String(file);
      json.EndArray();
      json.Key("images").Uint(s.images);
      json.Key("wrappers").Uint(s.wrappers);
      for (const auto& [key, counts] :
           {std::pair("code_objects", &s.code_objects),
            std::pair("left_out", &s.left_out)}) {
        json.Key(key).BeginObject();
        for (const auto& [target, count] : *counts) {
          json.Key(target).Uint(count);
        }
        json.EndObject();
      }
      json.Key("bytes_in").Uint(s.bytes_in);
      json.Key("bytes_out").Uint(s.bytes_out);
      json.Key("archive_bytes").Uint(archive_bytes_);
      findings_.WriteTo(json);
      json.Key("seconds").Number(Seconds());
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string input_, output_, archives_folder_;
  std::vector<std::string> arches_;
  bool dry_run_ = false;
  bool done_ = false;
  std::optional<Splitting> splitting_;
  ArchivesByTarget archives_;
  std::vector<std::string> made_folders_, files_;
  std::uint64_t archive_bytes_ = 0;
  Findings findings_;
  ReportOption report_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Verb> MakeSplitVerb() { return std::make_unique<SplitVerb>(); }

}  // namespace cerberus::cli
