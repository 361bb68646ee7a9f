// cerberus convert-wheel: a CUDA wheel in, a host wheel and a device wheel for
// each GPU out.
#include <fmt/format.h>

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
#include "cli/packages/wheel_conversion.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/report/report_option.h"
#include "cli/scale/ninja_graph.h"
#include "cli/verb.h"
#include "cli/verbs/steps.h"

namespace cerberus::cli {
namespace {

class ConvertWheelVerb : public Verb {
 public:
  const char* name() const override { return "convert-wheel"; }
  const char* summary() const override {
    return "convert a Python wheel with CUDA libraries";
  }
  const char* examples() const override {
    return "  cerberus convert-wheel x-1.0-py3-none-manylinux_2_28_x86_64.whl "
           "-d out \\\n    --arch gfx1100,gfx942\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("WHEEL", options_.input, "wheel for Linux on x86-64")
        .Required()
        .Group(kGroupFiles);
    list.Add("-d,--dir", options_.folder, "folder for the new wheels")
        .ValueName("DIR")
        .Required()
        .Group(kGroupFiles);
    list.Add("--name", options_.name,
             "name of the host wheel; else its version gets +cerberus")
        .ValueName("NAME")
        .Group(kGroupFiles);
    list.Add("--stub", stub_,
             "the CUDA driver stub: bundle (default) or require it")
        .OneOf({"bundle", "require"})
        .ValueName("HOW")
        .Group(kGroupFiles);
    list.Add("--libraries", libraries_,
             "whose cuBLAS and kin: nvidia (default) or cerberus")
        .OneOf({"nvidia", "cerberus"})
        .ValueName("WHO")
        .Group(kGroupFiles);
    AddArches(list, options_.conversion.arches);
    list.AddFlag("-n,--dry-run", options_.conversion.dry_run,
                 "print what would be converted, write nothing")
        .Group(kGroupBehaviour);
    list.AddFlag("--strict", strict_,
                 "fail if a kernel or library cannot be converted,\n"
                 "instead of leaving it out (exit code 3)")
        .Group(kGroupBehaviour);
    AddJobs(list, compile_);
    AddCompileOptions(list, compile_);
    AddEmitNinja(list, ninja_);
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
    WheelConversion conversion(options_, reporter);
    const int code = Convert(conversion, reporter);
    if (Interrupted() && !MadeFiles(code)) {
      if (!reporter.quiet()) reporter.printer().Line("cerberus: interrupted");
      return Finish(common, reporter, nullptr, kExitInterrupted);
    }
    return Finish(common, reporter, &conversion, code);
  }

 private:
  Status CheckOptions() {
    ConversionOptions& conversion = options_.conversion;
    compile_.ApplyTo(conversion);
    conversion.keep_going = !strict_;
    options_.bundle_stub = stub_ == "bundle";
    options_.replace_libraries = libraries_ == "cerberus";
    CERB_TRY(conversion.arches, CheckArches(conversion.arches));
    while (options_.folder.size() > 1 && options_.folder.back() == '/') {
      options_.folder.pop_back();
    }
    if (!options_.name.empty() && !packager::IsProjectName(options_.name)) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot be the name of a Python package",
                             options_.name));
    }
    return report_.Open(options_.input, options_.folder);
  }

  int Convert(WheelConversion& conversion, Reporter& reporter) {
    const auto compile = [&]() -> std::optional<int> {
      if (!ninja_.empty()) {
        return IsDone(EmitNinja(conversion), reporter) ? kExitDone
                                                       : kExitFailed;
      }
      return FailedUnless(conversion.Convert(), reporter);
    };
    return RunSteps(conversion, options_.conversion.dry_run, reporter, compile);
  }

  Status EmitNinja(const WheelConversion& conversion) {
    CERB_TRY(steps_, WriteNinjaGraph(
                         ninja_, options_.conversion, conversion.conversions(),
                         {{options_.input}, conversion.planned_paths(), ""}));
    return {};
  }

  // Reports to stdout; returns the code.
  int Finish(const CommonOptions& common, Reporter& reporter,
             const WheelConversion* conversion, int code) {
    const bool done = MadeFiles(code);
    if (ninja_.empty()) {
      code = report_.Write(MakeReport(done ? conversion : nullptr), reporter,
                           code);
    }
    if (common.json) {
      fmt::print("{}", ToJson(reporter, done ? conversion : nullptr, code));
    } else if (done && !ninja_.empty()) {
      if (!reporter.quiet()) PrintSteps(ninja_, steps_);
    } else if (done && options_.conversion.dry_run) {
      for (const std::string& line : conversion->Describe()) {
        PrintLine("{}", line);
      }
    } else if (done && !reporter.quiet()) {
      PrintSummary(conversion->summary());
    }
    return code;
  }

  Report MakeReport(const WheelConversion* conversion) const {
    Report report;
    report.verb = name();
    report.input = options_.input;
    report.output = options_.folder;
    report.targets = options_.conversion.arches;
    report.dry_run = options_.conversion.dry_run;
    if (conversion == nullptr) return report;
    const WheelSummary& s = conversion->summary();
    report.findings = s.libraries.findings;
    for (const std::string& path : s.converted) {
      report.files.push_back({path, "converted", ""});
    }
    for (const auto& [path, why] : s.unconverted) {
      report.files.push_back({path, "left as it is", why});
    }
    if (report.dry_run) {
      report.plan = conversion->Describe();
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

  void PrintSummary(const WheelSummary& s) const {
    const ConversionSummary& all = s.libraries;
    PrintLine("{}: {} librar{}, {} module{} -> {} code object{} for {}",
              options_.input, s.converted.size(),
              s.converted.size() == 1 ? "y" : "ies", all.modules,
              all.modules == 1 ? "" : "s", all.code_objects,
              all.code_objects == 1 ? "" : "s",
              fmt::join(options_.conversion.arches, ", "));
    PrintLine("  kernels converted  {} / {}", all.kernels_converted,
              all.kernels);
    if (s.module_files != 0) {
      PrintLine(
          "  of them            those of {} file{} of PTX, copied as they "
          "are",
          s.module_files, s.module_files == 1 ? "" : "s");
    }
    for (const auto& [reason, count] : all.left_out) {
      PrintLine("  left out           {} x {}", count, reason);
    }
    for (const auto& [path, why] : s.unconverted) {
      PrintLine("  left as it is      {}: {}", path, why);
    }
    for (const std::string& requirement : s.replaced) {
      PrintLine("  answered           {}", requirement);
    }
    for (const auto& [path, size] : s.wheels) {
      PrintLine("  {}, {}", path, SizeText(size));
    }
    PrintLine("  seconds            {:.2f}", Seconds());
    PrintLine("  pip install --find-links {} '{}'", options_.folder,
              s.requirement);
  }

  std::string ToJson(const Reporter& reporter,
                     const WheelConversion* conversion, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("convert-wheel");
    json.Key("input").String(options_.input);
    json.Key("exit_code").Int(code);
    json.Key("targets").BeginArray();
    for (const std::string& arch : options_.conversion.arches) {
      json.String(arch);
    }
    json.EndArray();
    if (conversion != nullptr && options_.conversion.dry_run) {
      WriteStrings(conversion->Describe(), json.Key("plan"));
    } else if (conversion != nullptr && !ninja_.empty()) {
      json.Key("steps").Uint(steps_);
    } else if (conversion != nullptr) {
      WriteSummary(conversion->summary(), json);
    }
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    return std::move(json).Take();
  }

  void WriteSummary(const WheelSummary& s, JsonWriter& json) const {
    WriteSizes(s.wheels, json.Key("wheels"));
    json.Key("requirement").String(s.requirement);
    WriteStrings(s.converted, json.Key("converted"));
    json.Key("module_files").Uint(s.module_files);
    WriteReasons(s.unconverted, json.Key("unconverted"));
    WriteStrings(s.replaced, json.Key("answered"));
    s.libraries.WriteTo(json);
    json.Key("seconds").Number(Seconds());
  }

  WheelOptions options_;
  CompileOptions compile_;
  std::string stub_ = "bundle", libraries_ = "nvidia";
  bool strict_ = false;
  std::string ninja_;
  std::size_t steps_ = 0;
  std::unique_ptr<Jobserver> jobserver_;
  ReportOption report_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Verb> MakeConvertWheelVerb() {
  return std::make_unique<ConvertWheelVerb>();
}

}  // namespace cerberus::cli
