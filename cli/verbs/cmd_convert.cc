// cerberus convert: a CUDA program in, a program for AMD GPUs out.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <vector>

#include "cli/convert/conversion.h"
#include "cli/convert/group_conversion.h"
#include "cli/convert/time_trace.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/printable.h"
#include "cli/report/report_option.h"
#include "cli/scale/ninja_graph.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

class ConvertVerb : public Verb {
 public:
  const char* name() const override { return "convert"; }
  const char* summary() const override {
    return "convert a CUDA program or library";
  }
  const char* examples() const override {
    return "  cerberus convert app -o app.amd --arch gfx1100\n"
           "  cerberus convert libx.so -o out/libx.so --arch gfx1100,gfx942 "
           "--bundle\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("IN", options_.input, "program or shared library")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", options_.output, "converted file")
        .ValueName("OUT")
        .Required()
        .Group(kGroupFiles);
    list.Add("--group", options_.group, "name of the archives, default: OUT's")
        .ValueName("NAME")
        .Group(kGroupFiles);
    AddArchives(list, options_.archives_folder);
    Option bundle = list.AddFlag("--bundle", options_.bundle,
                                 "put all that OUT needs beside it")
                        .Group(kGroupFiles);
    list.Add("--stub-dir", options_.stub_folder,
             "where OUT finds libcuda.so.1; $ORIGIN is OUT's folder")
        .ValueName("DIR")
        .Excludes(bundle)
        .Group(kGroupMore);
    list.AddFlag("--with-libraries", with_libraries_,
                 "the libraries with IN's device code, too, beside OUT")
        .Group(kGroupFiles);
    AddArches(list, options_.arches);
    list.AddFlag("--keep-fatbin", options_.keep_fatbin,
                 "OUT runs on NVIDIA GPUs too")
        .Group(kGroupTargets);
    list.AddFlag("-n,--dry-run", options_.dry_run,
                 "print what would change, write nothing")
        .Group(kGroupBehaviour);
    list.AddFlag("-k,--keep-going", options_.keep_going,
                 "leave out kernels that fail (exit code 3)")
        .Group(kGroupBehaviour);
    AddJobs(list, compile_);
    AddCompileOptions(list, compile_);
    list.Add("--time-trace", trace_path_,
             "write where the time went as JSON trace events")
        .ValueName("FILE")
        .Group(kGroupMore);
    AddEmitNinja(list, ninja_);
    AddShard(list, shard_);
    report_.AddTo(list);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    // A write beyond the file size limit is an error like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    if (Status status = CheckOptions(); !status) {
      reporter.Report(status.error());
      return Finish<Conversion>(common, reporter, nullptr, kExitUsage);
    }
    jobserver_ = compile_.ConnectJobserver();
    options_.jobserver = jobserver_.get();
    const InterruptScope interrupts;
    if (!trace_path_.empty()) options_.time_trace = &trace_.emplace();
    if (with_libraries_) {
      return RunSteps(GroupConversion(options_, reporter), common, reporter);
    }
    return RunSteps(Conversion(options_, reporter), common, reporter);
  }

 private:
  Status CheckOptions() {
    compile_.ApplyTo(options_);
    if (!shard_.empty()) {
      CERB_TRY(options_.shard, ParseShard(shard_));
    }
    CERB_TRY(options_.arches, CheckArches(options_.arches));
    if (SameFile(options_.input, options_.output)) {
      return Err(DiagCode::kUsage,
                 fmt::format("the output '{}' is the input; the input is "
                             "never changed",
                             options_.output));
    }
    if (options_.group.empty()) options_.group = BaseName(options_.output);
    if (options_.group.empty() || options_.group == "." ||
        options_.group == ".." ||
        options_.group.find('/') != std::string::npos) {
      return Err(DiagCode::kUsage, fmt::format("'{}' cannot be the name of an "
                                               "archive",
                                               options_.group));
    }
    return report_.Open(options_.input, options_.output);
  }

  // Of a Conversion or a GroupConversion.
  template <typename Steps>
  int RunSteps(Steps&& conversion, const CommonOptions& common,
               Reporter& reporter) {
    int code = Convert(conversion, reporter);
    if (trace_ && code != kExitFailed) {
      if (Status written = trace_->Write(trace_path_); !written) {
        reporter.Report(written.error());
        code = kExitFailed;
      }
    }
    if (Interrupted() && !MadeFiles(code)) {
      if (!reporter.quiet()) reporter.printer().Line("cerberus: interrupted");
      return Finish<Steps>(common, reporter, nullptr, kExitInterrupted);
    }
    return Finish(common, reporter, &conversion, code);
  }

  template <typename Steps>
  int Convert(Steps& conversion, Reporter& reporter) {
    const auto step = [&](Status status) {
      if (!status && !Interrupted()) reporter.Report(status.error());
      return status.has_value() && !Interrupted();
    };
    {
      const TimedPhase phase(options_.time_trace, "Open");
      if (!step(conversion.Open())) return kExitFailed;
    }
    {
      const TimedPhase phase(options_.time_trace, "Plan");
      if (!step(conversion.Plan())) return kExitFailed;
    }
    if (options_.dry_run) return kExitDone;
    if (!ninja_.empty()) {
      return step(EmitNinja(conversion)) ? kExitDone : kExitFailed;
    }
    if (!step(conversion.Create())) return kExitFailed;
    Result<bool> compiled = conversion.Compile();
    if (!compiled) {
      step(Err(std::move(compiled).error()));
      return kExitFailed;
    }
    if (!*compiled) return kExitFailed;
    if (!step(conversion.Write())) return kExitFailed;
    // From here on it is done, or an error; a signal changes nothing.
    const TimedPhase phase(options_.time_trace, "Commit");
    if (Status committed = conversion.Commit(); !committed) {
      reporter.Report(committed.error());
      return kExitFailed;
    }
    return conversion.summary().left_out.empty() ? kExitDone : kExitSomeMissing;
  }

  template <typename Steps>
  Status EmitNinja(const Steps& conversion) {
    CERB_TRY(steps_, WriteNinjaGraph(ninja_, options_, conversion.conversions(),
                                     {conversion.inputs(),
                                      conversion.planned_paths(), ""}));
    return {};
  }

  // Reports to stdout; returns the code.
  template <typename Steps>
  int Finish(const CommonOptions& common, Reporter& reporter,
             const Steps* conversion, int code) {
    const bool done = MadeFiles(code);
    if (ninja_.empty()) {
      code = report_.Write(MakeReport(done ? conversion : nullptr), reporter,
                           code);
    }
    if (common.json) {
      fmt::print("{}", ToJson(reporter, done ? conversion : nullptr, code));
    } else if (done && !ninja_.empty()) {
      if (!reporter.quiet()) PrintSteps(ninja_, steps_);
    } else if (done && options_.dry_run) {
      for (const std::string& line : conversion->DescribeModules()) {
        PrintLine("{}", line);
      }
      fmt::print("{}", conversion->PlanText());
    } else if (done && !reporter.quiet()) {
      PrintSummary(conversion->summary());
    }
    return code;
  }

  template <typename Steps>
  Report MakeReport(const Steps* conversion) const {
    Report report;
    report.verb = name();
    report.input = options_.input;
    report.output = options_.output;
    report.targets = options_.arches;
    report.dry_run = options_.dry_run;
    if (conversion == nullptr) return report;
    report.findings = conversion->summary().findings;
    for (const std::string& input : conversion->inputs()) {
      report.files.push_back(
          {input, options_.dry_run ? "to be converted" : "converted", ""});
    }
    if (options_.dry_run) {
      report.plan = conversion->DescribeModules();
      return report;
    }
    report.numbers = conversion->summary().Numbers();
    report.written = SizesOf(conversion->output_paths());
    return report;
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  void PrintSummary(const ConversionSummary& s) const {
    PrintLine("{}: {} fatbin{}, {} module{} -> {} code object{} for {}",
              options_.output, s.fatbins, s.fatbins == 1 ? "" : "s", s.modules,
              s.modules == 1 ? "" : "s", s.code_objects,
              s.code_objects == 1 ? "" : "s", fmt::join(options_.arches, ", "));
    PrintLine("  kernels converted  {} / {}", s.kernels_converted, s.kernels);
    if (s.forms != 0) {
      PrintLine("  further forms      {}", s.forms);
    }
    if (s.findings.SpillingCount() != 0) {
      PrintLine("  spill registers    {}", s.findings.SpillingCount());
    }
    for (const auto& [reason, count] : s.left_out) {
      PrintLine("  left out           {} x {}", count, reason);
    }
    PrintLine("  bytes in, out      {}, {} + {} in archives", s.bytes_in,
              s.bytes_out, s.archive_bytes);
    PrintLine("  seconds            {:.2f}", Seconds());
  }

  template <typename Steps>
  std::string ToJson(const Reporter& reporter, const Steps* conversion,
                     int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("convert");
    json.Key("input").String(options_.input);
    json.Key("output").String(options_.output);
    json.Key("exit_code").Int(code);
    json.Key("targets").BeginArray();
    for (const std::string& arch : options_.arches) json.String(arch);
    json.EndArray();
    if (conversion != nullptr && options_.dry_run) {
      json.Key("plan").Raw(conversion->PlanJson());
    } else if (conversion != nullptr && !ninja_.empty()) {
      json.Key("steps").Uint(steps_);
    } else if (conversion != nullptr) {
      json.Key("files").BeginArray();
      for (const std::string& path : conversion->output_paths()) {
        json.String(path);
      }
      json.EndArray();
      conversion->summary().WriteTo(json);
      json.Key("seconds").Number(Seconds());
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    return std::move(json).Take();
  }

  ConversionOptions options_;
  CompileOptions compile_;
  bool with_libraries_ = false;
  std::string trace_path_;
  std::string ninja_, shard_;
  std::size_t steps_ = 0;
  std::optional<TimeTrace> trace_;
  std::unique_ptr<Jobserver> jobserver_;
  ReportOption report_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Verb> MakeConvertVerb() {
  return std::make_unique<ConvertVerb>();
}

}  // namespace cerberus::cli
