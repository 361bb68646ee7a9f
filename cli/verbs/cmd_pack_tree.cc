// cerberus pack-tree: an install tree in, the same for AMD GPUs out.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/packages/tree_packing.h"
#include "cli/paths.h"
#include "cli/printable.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/report/report_option.h"
#include "cli/scale/ninja_graph.h"
#include "cli/verb.h"
#include "cli/verbs/steps.h"

namespace cerberus::cli {
namespace {

// What compiling, and unpacking and compressing, took on one processor for real
// libraries (docs/wheels.md, docs/benchmarks.md): twice as long or half is well
// possible.
constexpr double kSecondsPerPtxMegabyte = 5;
constexpr double kSecondsPerHipMegabyte = 0.02;
constexpr double kSecondsPerCopiedMegabyte = 0.005;

std::string Plural(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

class PackTreeVerb : public Verb {
 public:
  const char* name() const override { return "pack-tree"; }
  const char* summary() const override {
    return "convert or split all that is in an install tree";
  }
  const char* examples() const override {
    return "  cerberus pack-tree /opt/app /opt/app-amd --arch gfx1100,gfx942\n"
           "  cerberus pack-tree rocm out --arch rocm --parts --hard-link\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("IN", options_.input, "folder").Required().Group(kGroupFiles);
    list.Add("OUT", options_.output, "folder, made new")
        .Required()
        .Group(kGroupFiles);
    list.Add("--group", options_.group, "name of the archives, default: OUT's")
        .ValueName("NAME")
        .Group(kGroupFiles);
    list.AddFlag("--bundle", options_.bundle,
                 "put all that programs need into OUT")
        .Group(kGroupFiles);
    list.AddFlag("--parts", options_.parts,
                 "OUT holds a folder for each GPU and one for the rest")
        .Group(kGroupFiles);
    Option reflink =
        list.AddFlag("--reflink", reflink_,
                     "what stays as it is shares IN's blocks on the disk")
            .Group(kGroupMore);
    list.AddFlag("--hard-link", hard_link_,
                 "what stays as it is gets a second name, no copy")
        .Excludes(reflink)
        .Group(kGroupMore);
    AddArches(list, options_.conversion.arches);
    list.AddFlag("-n,--dry-run", options_.conversion.dry_run,
                 "print what would be done, how much and for how long")
        .Group(kGroupBehaviour);
    list.AddFlag("--strict", strict_,
                 "fail, instead of leaving out what fails (exit code 3)")
        .Group(kGroupBehaviour);
    AddJobs(list, compile_);
    AddCompileOptions(list, compile_);
    AddEmitNinja(list, ninja_);
    AddShard(list, shard_);
    report_.AddTo(list);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    // A write beyond the file size limit is an error like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    if (Status status = CheckOptions(); !status) {
      reporter.Report(status.error());
      return Finish(common, reporter, nullptr, kExitUsage);
    }
    jobserver_ = compile_.ConnectJobserver();
    options_.conversion.jobserver = jobserver_.get();
    const InterruptScope interrupts;
    TreeOptions options = options_;
    options.conversion.dry_run = plan_only_;
    TreePacking packing(options, reporter);
    const int code = Pack(packing, reporter);
    if (Interrupted() && !MadeFiles(code)) {
      if (!reporter.quiet()) {
        reporter.printer().Line(
            "cerberus: interrupted; what is compiled is kept, the same command "
            "goes on with it");
      }
      return Finish(common, reporter, nullptr, kExitInterrupted);
    }
    return Finish(common, reporter, &packing, code);
  }

 private:
  Status CheckOptions() {
    ConversionOptions& conversion = options_.conversion;
    compile_.ApplyTo(conversion);
    conversion.keep_going = !strict_;
    if (!shard_.empty()) {
      CERB_TRY(conversion.shard, ParseShard(shard_));
    }
    // A graph is a plan; the tree may be there, made by an older one.
    plan_only_ = conversion.dry_run || !ninja_.empty();
    options_.may_be_there =
        !ninja_.empty() && ::access(NinjaDoneFile(ninja_).c_str(), F_OK) == 0;
    CERB_TRY(options_.selected, SelectArches(conversion.arches));
    CERB_TRY(conversion.arches, CheckArches(conversion.arches));
    if (reflink_) options_.copy = packager::CopyHow::kReflink;
    if (hard_link_) options_.copy = packager::CopyHow::kHardLink;
    for (std::string* path : {&options_.input, &options_.output}) {
      while (path->size() > 1 && path->back() == '/') path->pop_back();
    }
    const std::string name = BaseName(options_.output);
    if (name.empty() || name == "." || name == "..") {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot be the name of a new folder",
                             options_.output));
    }
    if (options_.group.empty()) options_.group = name;
    if (options_.group == "." || options_.group == ".." ||
        options_.group.find('/') != std::string::npos) {
      return Err(
          DiagCode::kUsage,
          fmt::format("'{}' cannot be the name of an archive", options_.group));
    }
    return report_.Open(options_.input, options_.output);
  }

  int Pack(TreePacking& packing, Reporter& reporter) {
    const auto compile = [&]() -> std::optional<int> {
      if (!ninja_.empty()) {
        return IsDone(EmitNinja(packing), reporter) ? kExitDone : kExitFailed;
      }
      return FailedUnless(packing.Convert(), reporter);
    };
    return RunSteps(packing, options_.conversion.dry_run, reporter, compile);
  }

  Status EmitNinja(const TreePacking& packing) {
    CERB_TRY(steps_,
             WriteNinjaGraph(ninja_, options_.conversion, packing.conversions(),
                             {packing.inputs(), {}, options_.output}));
    return {};
  }

  // Reports to stdout; returns the code.
  int Finish(const CommonOptions& common, Reporter& reporter,
             const TreePacking* packing, int code) {
    const bool done = MadeFiles(code);
    if (ninja_.empty()) {
      code =
          report_.Write(MakeReport(done ? packing : nullptr), reporter, code);
    }
    if (common.json) {
      fmt::print("{}", ToJson(reporter, done ? packing : nullptr, code));
    } else if (done && !ninja_.empty()) {
      if (!reporter.quiet()) PrintSteps(ninja_, steps_);
    } else if (done && options_.conversion.dry_run) {
      PrintPlan(*packing);
    } else if (done && !reporter.quiet()) {
      PrintSummary(packing->summary());
    }
    return code;
  }

  Report MakeReport(const TreePacking* packing) const {
    Report report;
    report.verb = name();
    report.input = options_.input;
    report.output = options_.output;
    report.targets = options_.conversion.arches;
    report.dry_run = options_.conversion.dry_run;
    if (packing == nullptr) return report;
    const TreeSummary& s = packing->summary();
    report.findings = s.AllFindings();
    const auto add = [&](const std::vector<std::string>& paths,
                         const char* fate) {
      for (const std::string& path : paths) {
        report.files.push_back({path, fate, ""});
      }
    };
    add(s.converted, report.dry_run ? "to be converted" : "converted");
    add(s.split, report.dry_run ? "to be split" : "split");
    for (const auto& [path, why] : s.unconverted) {
      report.files.push_back({path, "left as it is", why});
    }
    for (const auto& [path, why] : s.left_out) {
      report.files.push_back({path, "not taken", why});
    }
    if (report.dry_run) {
      report.plan = packing->Describe();
      return report;
    }
    report.numbers = s.cuda.Numbers();
    report.numbers.emplace_back("Code objects split",
                                fmt::format("{}", s.hip.total()));
    report.numbers.emplace_back("Files copied",
                                fmt::format("{}", s.copied.files));
    report.written = s.archives;
    return report;
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  // Of a dry run: what the run may take.
  double SecondsExpected(const TreeSummary& s) const {
    const auto megabytes = [](std::uint64_t bytes) {
      return static_cast<double>(bytes) / 1e6;
    };
    return megabytes(s.ptx_bytes) * kSecondsPerPtxMegabyte /
               options_.conversion.jobs +
           megabytes(s.hip_bytes) * kSecondsPerHipMegabyte +
           megabytes(s.copied.bytes) * kSecondsPerCopiedMegabyte;
  }

  void PrintPlan(const TreePacking& packing) const {
    const TreeSummary& s = packing.summary();
    for (const std::string& line : packing.Describe()) {
      PrintLine("{}", line);
    }
    PrintLine("{}: {} to convert, {} of PTX to compile", options_.output,
              Plural(s.converted.size(), "file", "files"),
              SizeText(s.ptx_bytes));
    if (s.module_files != 0) {
      PrintLine("  to compile         {} of PTX, copied as they are",
                Plural(s.module_files, "file", "files"));
    }
    PrintLine("  to split           {}, {} of device code",
              Plural(s.split.size(), "file", "files"), SizeText(s.hip_bytes));
    PrintLine("  to copy            {}, {}",
              Plural(s.copied.files, "file", "files"),
              SizeText(s.copied.bytes));
    PrintCommon(s);
    PrintLine("  about              {}",
              DurationText(std::chrono::seconds(
                  static_cast<std::int64_t>(SecondsExpected(s)))));
  }

  void PrintSummary(const TreeSummary& s) const {
    const ConversionSummary& cuda = s.cuda;
    PrintLine("{}: {} converted, {} split, {} copied", options_.output,
              Plural(s.converted.size(), "file", "files"), s.split.size(),
              s.copied.files);
    if (cuda.kernels != 0) {
      PrintLine("  kernels converted  {} / {}, in {} for {}",
                cuda.kernels_converted, cuda.kernels,
                Plural(cuda.code_objects, "code object", "code objects"),
                fmt::join(options_.conversion.arches, ", "));
    }
    if (s.module_files != 0) {
      PrintLine("  of them            those of {} of PTX, copied as they are",
                Plural(s.module_files, "file", "files"));
    }
    if (cuda.found != 0) {
      PrintLine("  not compiled twice {}",
                Plural(cuda.found, "code object", "code objects"));
    }
    for (const auto& [reason, count] : cuda.left_out) {
      PrintLine("  left out           {} x {}", count, reason);
    }
    if (s.hip.total() != 0) {
      PrintLine("  code objects split {}", s.hip.total());
    }
    PrintCommon(s);
    for (const auto& [path, size] : s.archives) {
      PrintLine("  {}, {}", path, SizeText(size));
    }
    PrintLine("  seconds            {:.2f}", Seconds());
  }

  static void PrintCommon(const TreeSummary& s) {
    for (const auto& [target, count] : s.hip.left_out) {
      PrintLine("  not asked for      {} x {}", count, target);
    }
    for (const auto& [part, amount] : s.databases) {
      PrintLine("  kernel databases   {} for {}, {}",
                Plural(amount.files, "file", "files"), part,
                SizeText(amount.bytes));
    }
    if (s.not_asked_for.files != 0) {
      PrintLine("  not asked for      {} of kernel databases, {}",
                Plural(s.not_asked_for.files, "file", "files"),
                SizeText(s.not_asked_for.bytes));
    }
    for (const auto& [path, why] : s.unconverted) {
      PrintLine("  left as it is      {}: {}", path, why);
    }
    for (const auto& [path, why] : s.left_out) {
      PrintLine("  left out           {}: {}", path, why);
    }
  }

  std::string ToJson(const Reporter& reporter, const TreePacking* packing,
                     int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("pack-tree");
    json.Key("input").String(options_.input);
    json.Key("output").String(options_.output);
    json.Key("exit_code").Int(code);
    WriteStrings(options_.conversion.arches, json.Key("targets"));
    if (packing != nullptr && !ninja_.empty()) {
      json.Key("steps").Uint(steps_);
    } else if (packing != nullptr) {
      const TreeSummary& s = packing->summary();
      WriteSummary(s, json);
      if (options_.conversion.dry_run) {
        WriteStrings(packing->Describe(), json.Key("plan"));
        json.Key("seconds_expected").Number(SecondsExpected(s));
      } else {
        ConversionSummary all = s.cuda;
        all.findings = s.AllFindings();
        all.WriteTo(json);
        json.Key("seconds").Number(Seconds());
      }
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    return std::move(json).Take();
  }

  static void WriteSummary(const TreeSummary& s, JsonWriter& json) {
    const auto amount = [&](const char* key, const TreeSummary::Amount& a) {
      json.Key(key).BeginObject();
      json.Key("files").Uint(a.files);
      json.Key("bytes").Uint(a.bytes);
      json.EndObject();
    };
    WriteStrings(s.converted, json.Key("converted"));
    json.Key("module_files").Uint(s.module_files);
    WriteStrings(s.split, json.Key("split"));
    WriteReasons(s.unconverted, json.Key("unconverted"));
    WriteReasons(s.left_out, json.Key("not_taken"));
    amount("copied", s.copied);
    amount("databases_not_asked_for", s.not_asked_for);
    json.Key("databases").BeginObject();
    for (const auto& [part, of_part] : s.databases) {
      amount(part.c_str(), of_part);
    }
    json.EndObject();
    WriteSizes(s.archives, json.Key("archives"));
    WriteStrings(s.manifests, json.Key("manifests"));
    json.Key("ptx_bytes").Uint(s.ptx_bytes);
    json.Key("hip_bytes").Uint(s.hip_bytes);
  }

  TreeOptions options_;
  CompileOptions compile_;
  bool strict_ = false;
  bool plan_only_ = false;
  std::string ninja_, shard_;
  std::size_t steps_ = 0;
  bool reflink_ = false;
  bool hard_link_ = false;
  std::unique_ptr<Jobserver> jobserver_;
  ReportOption report_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Verb> MakePackTreeVerb() {
  return std::make_unique<PackTreeVerb>();
}

}  // namespace cerberus::cli
