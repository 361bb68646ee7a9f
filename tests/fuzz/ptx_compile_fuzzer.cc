// Modules through the whole compiler, for every target and level: no crash,
// no invalid IR, and every failure is a diagnostic that names its place.
//
// The first two bytes choose target and options. The rest is PTX text, or,
// behind a '\x02', bytes for the generator.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ptx_generator.h"
#include "ptxc/compile/compile.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/front/printer.h"

namespace {

using namespace cerberus;       // NOLINT: the whole file is about it
using namespace cerberus::ptx;  // NOLINT

// Large modules only repeat what small ones do, slowly.
constexpr std::size_t kLargestText = 24 << 10;

void Fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

void CheckDiag(const Diag& diag) {
  if (diag.message.empty()) Fail("no message", "");
  if (diag.code == DiagCode::kInternal || diag.code == DiagCode::kUnknown)
    Fail("our own check failed", diag.ToString());
  if (diag.where.ptx_line <= 0 && diag.where.kernel.empty())
    Fail("a diagnostic without a place", diag.ToString());
}

CompileOptions OptionsFrom(unsigned target, unsigned bits) {
  static constexpr std::array kTargets = {"gfx1030", "gfx1100", "gfx1201",
                                          "gfx90a",  "gfx942",  "gfx950"};
  static constexpr std::array kEmits = {Emit::kHsaco, Emit::kObject,
                                        Emit::kAssembly, Emit::kRawIr};
  CompileOptions options;
  options.target = *TargetId::Parse(kTargets[target % kTargets.size()]);
  options.emit = kEmits[bits & 3];
  options.opt_level = std::array{2, 2, 1, 0}[bits >> 2 & 3];
  options.keep_going = (bits & 16) == 0;
  options.one_warp_per_wave = (bits & 32) != 0;
  options.verify_each = (bits & 64) != 0;
  options.serial_lanes = (bits & 128) != 0;
  options.shared_overflow = std::array{
      SharedOverflow::kError, SharedOverflow::kGlobal, SharedOverflow::kAlways,
      SharedOverflow::kError}[target >> 3 & 3];
  options.input_name = "input";
  return options;
}

// LLVM IR without its i32 constants: a line of the PTX may be one.
std::string WithoutLines(const Bytes& ir) {
  constexpr std::string_view kInt = "i32 ";
  std::string text;
  for (std::size_t i = 0; i < ir.size(); ++i) {
    text += static_cast<char>(ir[i]);
    if (!text.ends_with(kInt)) continue;
    while (i + 1 < ir.size() && ir[i + 1] >= '0' && ir[i + 1] <= '9') ++i;
  }
  return text;
}

// What the printer writes means the same.
void CheckPrinted(const std::string& text, const CompileOptions& options,
                  const Bytes& output) {
  const ParseOutcome parsed = Parse(text, nullptr);
  if (parsed.errors != 0 || SplitModules(text).size() != 1) return;
  const Result<CompileResult> again =
      Compile(Print(*parsed.module), options, nullptr);
  if (!again) Fail("printed PTX does not compile", again.error().ToString());
  if (WithoutLines(again->output) != WithoutLines(output))
    Fail("printed PTX means something else", "");
}

bool Printing() { return std::getenv("CERBERUS_FUZZ_PRINT") != nullptr; }

void Run(const std::string& text, const CompileOptions& options) {
  int errors = 0;
  const Result<CompileResult> result =
      Compile(text, options, [&](const Diag& diag) {
        if (Printing()) std::printf("// %s\n", diag.ToString().c_str());
        CheckDiag(diag);
        if (diag.severity == Severity::kError) ++errors;
      });
  if (!result) {
    CheckDiag(result.error());
    if (errors == 0) Fail("a failure that nobody reports", "");
    return;
  }
  if (errors != 0) Fail("an error, but no failure", "");
  for (const FailedKernel& failed : result->failed)
    if (failed.name.empty() || failed.reason.empty())
      Fail("a kernel is missing without a reason", failed.name);
  if (options.emit == Emit::kRawIr) CheckPrinted(text, options, result->output);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) return 0;
  const CompileOptions options = OptionsFrom(data[0], data[1]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2,
                               size - 2);
  const std::string text =
      fuzz::IsGenerated(bytes)
          ? fuzz::ModuleFrom(bytes.substr(1), {.max_statements = 40})
          : std::string(bytes.substr(0, kLargestText));
  if (Printing()) {
    std::printf("// %s\n%s", options.target.ToString().c_str(), text.c_str());
    std::fflush(stdout);
  }
  Run(text, options);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned seed) {
  return fuzz::Mutate(data, size, max_size, seed, /*header=*/2);
}
