// cerberus compile: one PTX file in, one code object out; a pure function.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cerberus/ptxc.h"
#include "cli/convert/compiler.h"
#include "cli/convert/time_trace.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "support/demangle.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/targets/target_sets.h"

namespace cerberus::cli {
namespace {

const std::map<std::string, cerberus_ptxc_emit> kEmits = {
    {"hsaco", CERBERUS_PTXC_EMIT_HSACO},   {"obj", CERBERUS_PTXC_EMIT_OBJ},
    {"asm", CERBERUS_PTXC_EMIT_ASM},       {"ll", CERBERUS_PTXC_EMIT_LL},
    {"ll-raw", CERBERUS_PTXC_EMIT_LL_RAW},
};

struct DiagTarget {
  Reporter* reporter;
  const std::string* file;
};

void ReportDiag(const cerberus_ptxc_diag* from, void* user) {
  const auto* target = static_cast<const DiagTarget*>(user);
  Diag diag;
  diag.severity = from->severity == CERBERUS_PTXC_ERROR     ? Severity::kError
                  : from->severity == CERBERUS_PTXC_WARNING ? Severity::kWarning
                                                            : Severity::kNote;
  diag.code = static_cast<DiagCode>(from->code);
  diag.message = from->message;
  diag.where.file = *target->file;
  diag.where.kernel = Demangle(from->kernel);
  diag.where.ptx_line = from->ptx_line;
  diag.where.ptx_column = from->ptx_column;
  diag.where.source_file = from->source_file;
  diag.where.source_line = from->source_line;
  target->reporter->Report(diag);
}

class CompileVerb : public Verb {
 public:
  const char* name() const override { return "compile"; }
  const char* summary() const override {
    return "compile one PTX file to one code object";
  }
  const char* examples() const override {
    return "  cerberus compile k.ptx --arch gfx1100 -o k.hsaco\n"
           "  cerberus compile k.ptx --arch gfx1100 --emit=ll\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("IN", input_, "PTX file, or - for stdin")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_,
             "output file; - is stdout, the default for text")
        .ValueName("OUT")
        .Group(kGroupFiles);
    list.Add("--emit", emit_, "hsaco (default), obj, asm, ll or ll-raw")
        .OneOf({"hsaco", "obj", "asm", "ll", "ll-raw"})
        .ValueName("KIND")
        .Group(kGroupFiles);
    list.Add("--arch", arch_, "target id, e.g. gfx1100; or native")
        .ValueName("A")
        .Required()
        .Group(kGroupTargets);
    list.AddFlag("-k,--keep-going", keep_going_,
                 "leave out kernels that fail (exit code 3)")
        .Group(kGroupBehaviour);
    list.Add("-O", opt_level_, "optimisation, 0 to 3, default 2")
        .ValueName("N")
        .Range(0, 3)
        .Group(kGroupBehaviour);
    list.Add("-j,--jobs", jobs_, "threads for a large module")
        .ValueName("N")
        .Range(1, 1024)
        .Group(kGroupBehaviour);
    AddSharedOverflow(list, shared_overflow_);
    AddLanes(list, lanes_);
    list.Add("--into", into_,
             "compile as a conversion does, for its --code DIR")
        .ValueName("DIR")
        .Group(kGroupMore);
    list.AddFlag("--may-fail", may_fail_, "of --into: then an empty file")
        .Group(kGroupMore);
    AddCompileLimits(list, compile_);
    list.AddFlag("--verify-each", verify_each_, "check the IR after every pass")
        .Group(kGroupMore);
    list.Add("--time-trace", trace_path_,
             "write where the time went as JSON trace events")
        .ValueName("FILE")
        .Group(kGroupMore);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const int code = into_.empty() ? Compile(reporter) : CompileInto(reporter);
    if (common.json) PrintJson(reporter, code);
    return code;
  }

 private:
  // One step of a graph: a module that a conversion finds again.
  int CompileInto(Reporter& reporter) {
    if (Status status = ExpandArch(); !status) {
      reporter.Report(status.error());
      return kExitUsage;
    }
    Result<std::string> ptx = ReadInput();
    const Result<std::string> jit = FindJit();
    if (!ptx || !jit) {
      reporter.Report(!ptx ? ptx.error() : jit.error());
      return kExitFailed;
    }
    CompileRequest request;
    request.ptx = *std::move(ptx);
    request.arch = arch_;
    request.where.file = input_;
    request.keep_going = keep_going_;
    request.shared_overflow = shared_overflow_ == "global";
    request.serial_lanes = lanes_ == "serial";
    request.share.jobs = jobs_ != 0 ? static_cast<unsigned>(jobs_) : 1;
    const InterruptScope interrupts;
    const Result<CompileOutcome> outcome =
        CompileModuleInto(into_, *jit, compile_.Limits(), request, may_fail_);
    if (!outcome) {
      reporter.Report(outcome.error());
      return kExitFailed;
    }
    bytes_ = outcome->code.size();
    if (Interrupted()) return kExitInterrupted;
    const bool failed = outcome->status == CompileOutcome::Status::kFailed;
    for (Diag diag : outcome->diags) {
      if (diag.severity == Severity::kError && (!failed || may_fail_)) {
        diag.severity = Severity::kWarning;
      }
      reporter.Report(diag);
    }
    return failed && !may_fail_ ? kExitFailed : kExitDone;
  }

  int Compile(Reporter& reporter) {
    const cerberus_ptxc_emit emit = kEmits.at(emit_);
    const bool text = emit == CERBERUS_PTXC_EMIT_ASM ||
                      emit == CERBERUS_PTXC_EMIT_LL ||
                      emit == CERBERUS_PTXC_EMIT_LL_RAW;
    if (output_.empty() && text) output_ = "-";
    if (output_.empty()) {
      reporter.Error(DiagCode::kUsage, "-o is missing");
      return kExitUsage;
    }
    if (Status status = ExpandArch(); !status) {
      reporter.Report(status.error());
      return kExitUsage;
    }
    std::optional<TimeTrace> trace;
    if (!trace_path_.empty()) trace.emplace();
    TimeTrace* const timed = trace ? &*trace : nullptr;
    Result<std::string> ptx = [&] {
      const TimedPhase phase(timed, "Read");
      return ReadInput();
    }();
    if (!ptx) {
      reporter.Report(ptx.error());
      return kExitFailed;
    }

    DiagTarget target{&reporter, &input_};
    cerberus_ptxc_options options = {};
    options.size = sizeof options;
    options.arch = arch_.c_str();
    options.emit = emit;
    options.keep_going = keep_going_;
    options.shared_overflow = shared_overflow_ == "global";
    options.serial_lanes = lanes_ == "serial";
    options.opt_level = opt_level_ == 0 ? -1 : opt_level_;
    options.verify_each = verify_each_;
    options.time_trace = trace.has_value();
    options.jobs = jobs_ != 0
                       ? jobs_
                       : static_cast<int>(std::thread::hardware_concurrency());
    options.input_name = input_.c_str();
    options.on_diag = ReportDiag;
    options.user = &target;
    cerberus_ptxc_result* result = nullptr;
    const cerberus_ptxc_status status =
        cerberus_ptxc_compile(ptx->data(), ptx->size(), &options, &result);
    int code = ExitCodeOf(status);
    if (MadeFiles(code)) {
      const TimedPhase phase(timed, "Write");
      bytes_ = cerberus_ptxc_result_size(result);
      const auto* data =
          static_cast<const std::uint8_t*>(cerberus_ptxc_result_data(result));
      if (Status written = WriteOutput(ByteSpan(data, bytes_)); !written) {
        reporter.Report(written.error());
        code = kExitFailed;
      }
    } else if (reporter.error_count() == 0) {
      reporter.Error(DiagCode::kCompiler,
                     input_ + ": the compiler failed without a message");
    }
    if (trace && MadeFiles(code)) {
      trace->Add(cerberus_ptxc_result_time_trace(result));
      if (Status written = trace->Write(trace_path_); !written) {
        reporter.Report(written.error());
        code = kExitFailed;
      }
    }
    cerberus_ptxc_result_free(result);
    return code;
  }

  // A word that stands for one target becomes that target.
  Status ExpandArch() {
    CERB_TRY(const std::vector<std::string> targets, ExpandTargets({arch_}));
    if (targets.size() != 1) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' stands for {}, and a code object is for one "
                             "target",
                             arch_, fmt::join(targets, ", ")));
    }
    arch_ = targets.front();
    return {};
  }

  static int ExitCodeOf(cerberus_ptxc_status status) {
    switch (status) {
      case CERBERUS_PTXC_OK: return kExitDone;
      case CERBERUS_PTXC_SOME_KERNELS_FAILED: return kExitSomeMissing;
      case CERBERUS_PTXC_USAGE: return kExitUsage;
      default: return kExitFailed;
    }
  }

  Result<std::string> ReadInput() const {
    if (input_ != "-") {
      CERB_TRY(const MappedFile file, MappedFile::Open(input_));
      return std::string(AsText(file.bytes()));
    }
    std::string text;
    char buffer[1 << 16];
    std::size_t got;
    while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) != 0) {
      text.append(buffer, got);
    }
    if (std::ferror(stdin)) {
      return Err(ErrnoDiag("<stdin>", "cannot read", errno));
    }
    return text;
  }

  Status WriteOutput(ByteSpan bytes) const {
    if (output_ != "-") return WriteFile(output_, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
        std::fflush(stdout) != 0) {
      return Err(ErrnoDiag("<stdout>", "cannot write", errno));
    }
    return {};
  }

  void PrintJson(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("compile");
    json.Key("input").String(input_);
    json.Key("output").String(output_);
    json.Key("target").String(arch_);
    json.Key("exit_code").Int(code);
    json.Key("bytes").Uint(bytes_);
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    // stdout is taken if it is the output.
    fmt::print(output_ == "-" ? stderr : stdout, "{}", std::move(json).Take());
  }

  std::string input_;
  std::string output_;
  std::string arch_;
  std::string emit_ = "hsaco";
  int opt_level_ = 2;
  int jobs_ = 0;
  bool keep_going_ = false;
  std::string shared_overflow_ = "error";
  std::string lanes_ = "auto";
  bool verify_each_ = false;
  std::string trace_path_;
  std::string into_;
  bool may_fail_ = false;
  CompileOptions compile_;  // of --into: its limits
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeCompileVerb() {
  return std::make_unique<CompileVerb>();
}

}  // namespace cerberus::cli
