// cerberus split-wheel: a ROCm wheel in, a host wheel and one for each GPU out.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/packages/wheel_splitting.h"
#include "cli/printable.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/report/report_option.h"
#include "cli/verb.h"
#include "cli/verbs/steps.h"

namespace cerberus::cli {
namespace {

class SplitWheelVerb : public Verb {
 public:
  const char* name() const override { return "split-wheel"; }
  const char* summary() const override {
    return "take a ROCm wheel's code into wheels, one for each GPU";
  }
  const char* examples() const override {
    return "  cerberus split-wheel x-1.0+rocm7-cp311-cp311-linux_x86_64.whl "
           "-d out\n"
           "  cerberus split-wheel x.whl -d out --arch gfx942,gfx950\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("WHEEL", options_.input, "wheel for Linux on x86-64")
        .Required()
        .Group(kGroupFiles);
    list.Add("-d,--dir", options_.folder, "folder for the new wheels")
        .ValueName("DIR")
        .Required()
        .Group(kGroupFiles);
    list.Add("--device-prefix", options_.device_prefix,
             "names of the device wheels up to the GPU; else\n"
             "amd-NAME-device")
        .ValueName("NAME")
        .Group(kGroupFiles);
    list.Add("--arch", options_.arches,
             "these targets only; or native, rocm, generic")
        .ValueName("A[,B...]")
        .Delimiter(',')
        .Group(kGroupTargets);
    list.AddFlag("-n,--dry-run", options_.dry_run,
                 "print what would be split, write nothing")
        .Group(kGroupBehaviour);
    list.AddFlag("--strict", strict_,
                 "fail if a library cannot be split, instead of\n"
                 "leaving it as it is (exit code 3)")
        .Group(kGroupBehaviour);
    report_.AddTo(list);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    // A write beyond the file size limit is an error like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    const InterruptScope interrupts;
    Status status = CheckOptions();
    if (!status) {
      reporter.Report(status.error());
      return Finish(common, reporter, nullptr, kExitUsage);
    }
    WheelSplitting splitting(options_, reporter);
    const int code = Split(splitting, reporter);
    if (Interrupted() && !MadeFiles(code)) {
      if (!reporter.quiet()) reporter.printer().Line("cerberus: interrupted");
      return Finish(common, reporter, nullptr, kExitInterrupted);
    }
    return Finish(common, reporter, &splitting, code);
  }

 private:
  Status CheckOptions() {
    options_.keep_going = !strict_;
    CERB_TRY(options_.arches, SelectArches(options_.arches));
    while (options_.folder.size() > 1 && options_.folder.back() == '/') {
      options_.folder.pop_back();
    }
    if (!options_.device_prefix.empty() &&
        !packager::IsProjectName(options_.device_prefix)) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot be the name of a Python package",
                             options_.device_prefix));
    }
    return report_.Open(options_.input, options_.folder);
  }

  int Split(WheelSplitting& splitting, Reporter& reporter) {
    const auto pack = [&]() -> std::optional<int> {
      if (IsDone(splitting.Pack(), reporter)) return std::nullopt;
      return kExitFailed;
    };
    return RunSteps(splitting, options_.dry_run, reporter, pack);
  }

  // Reports to stdout; returns the code.
  int Finish(const CommonOptions& common, Reporter& reporter,
             const WheelSplitting* splitting, int code) {
    const bool done = MadeFiles(code);
    code =
        report_.Write(MakeReport(done ? splitting : nullptr), reporter, code);
    if (common.json) {
      PrintJson(reporter, done ? splitting : nullptr, code);
    } else if (done && options_.dry_run) {
      for (const std::string& line : splitting->Describe()) {
        PrintLine("{}", line);
      }
    } else if (done && !reporter.quiet()) {
      PrintSummary(splitting->summary());
    }
    return code;
  }

  Report MakeReport(const WheelSplitting* splitting) const {
    Report report;
    report.verb = name();
    report.input = options_.input;
    report.output = options_.folder;
    report.targets = options_.arches;
    report.dry_run = options_.dry_run;
    if (splitting == nullptr) return report;
    const WheelSplittingSummary& s = splitting->summary();
    report.findings = s.libraries.findings;
    for (const std::string& path : s.split) {
      report.files.push_back({path, "split", ""});
    }
    for (const auto& [path, why] : s.unsplit) {
      report.files.push_back({path, "left as it is", why});
    }
    if (report.dry_run) {
      report.plan = splitting->Describe();
      return report;
    }
    report.numbers = s.libraries.Numbers();
    report.numbers.emplace_back("For pip install", s.requirement);
    report.written = s.wheels;
    return report;
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  void PrintSummary(const WheelSplittingSummary& s) const {
    PrintLine("{}: {} librar{} split, {} code object{} for {} target{}",
              options_.input, s.split.size(), s.split.size() == 1 ? "y" : "ies",
              s.libraries.total(), s.libraries.total() == 1 ? "" : "s",
              s.libraries.code_objects.size(),
              s.libraries.code_objects.size() == 1 ? "" : "s");
    for (const auto& [target, count] : s.libraries.left_out) {
      PrintLine("  not asked for      {} x {}", count, target);
    }
    if (s.database_files != 0) {
      PrintLine("  kernel databases   {} files", s.database_files);
    }
    if (s.not_asked_for != 0) {
      PrintLine("  not asked for      {} files of kernel databases",
                s.not_asked_for);
    }
    for (const auto& [path, why] : s.unsplit) {
      PrintLine("  left as it is      {}: {}", path, why);
    }
    for (const auto& [path, size] : s.wheels) {
      PrintLine("  {}, {}", path, SizeText(size));
    }
    PrintLine("  seconds            {:.2f}", Seconds());
    PrintLine("  pip install --find-links {} '{}'", options_.folder,
              s.requirement);
  }

  void PrintJson(const Reporter& reporter, const WheelSplitting* splitting,
                 int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("split-wheel");
    json.Key("input").String(options_.input);
    json.Key("exit_code").Int(code);
    if (splitting != nullptr && options_.dry_run) {
      WriteStrings(splitting->Describe(), json.Key("plan"));
    } else if (splitting != nullptr) {
      WriteSummary(splitting->summary(), json);
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  void WriteSummary(const WheelSplittingSummary& s, JsonWriter& json) const {
    WriteSizes(s.wheels, json.Key("wheels"));
    json.Key("requirement").String(s.requirement);
    WriteStrings(s.split, json.Key("split"));
    WriteReasons(s.unsplit, json.Key("unsplit"));
    for (const auto& [key, counts] :
         {std::pair("code_objects", &s.libraries.code_objects),
          std::pair("left_out", &s.libraries.left_out)}) {
      json.Key(key).BeginObject();
      for (const auto& [target, count] : *counts) json.Key(target).Uint(count);
      json.EndObject();
    }
    json.Key("database_files").Uint(s.database_files);
    s.libraries.findings.WriteTo(json);
    json.Key("seconds").Number(Seconds());
  }

  WheelSplittingOptions options_;
  bool strict_ = false;
  ReportOption report_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Verb> MakeSplitWheelVerb() {
  return std::make_unique<SplitWheelVerb>();
}

}  // namespace cerberus::cli
