// How fast PTX text becomes a syntax tree, a checked one, and LLVM IR for
// gfx1100, in MB of text a second of CPU time. A process that has compiled
// before: the first module of a process waits for pages of the program.
//
//   ptx_parse_bench [FILE.ptx ...]
//
// Without files: a module of 64 kernels made of the table's own spellings,
// the mix of arithmetic, memory and control that nvcc prints.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/lower/lower.h"

namespace {

// CPU time, so that a busy machine measures the same.
double Now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string GeneratedModule() {
  std::string text = ".version 9.0\n.target sm_80\n.address_size 64\n";
  for (int kernel = 0; kernel < 64; ++kernel) {
    const std::string name = "_Z6kernelPfi_" + std::to_string(kernel);
    text += ".visible .entry " + name + "(\n\t.param .u64 " + name +
            "_param_0\n)\n{\n\t.reg .pred \t%p<512>;\n\t.reg .f32 "
            "\t%f<2048>;\n\t.reg .b32 \t%r<2048>;\n\t.reg .b64 "
            "\t%rd<2048>;\n\n\tld.param.u64 \t%rd1, [" +
            name + "_param_0];\n";
    for (int i = 0; i < 500; ++i) {
      const std::string n = std::to_string(i + 2);
      const std::string m = std::to_string(i + 1);
      text += "\tmad.lo.s32 \t%r" + n + ", %r" + m + ", %r" + m +
              ", 12;\n\tmul.wide.s32 \t%rd" + n + ", %r" + n +
              ", 4;\n\tadd.s64 \t%rd" + n + ", %rd1, %rd" + n +
              ";\n\tld.global.nc.f32 \t%f" + n + ", [%rd" + n + "+" +
              std::to_string(4 * i) + "];\n\tfma.rn.f32 \t%f" + n + ", %f" + m +
              ", %f" + n + ", 0f3F800000;\n\tst.global.f32 \t[%rd" + n +
              "], %f" + n + ";\n\tsetp.lt.s32 \t%p1, %r" + n +
              ", 0;\n\t@%p1 bra \t$L__BB" + std::to_string(kernel) + "_" + n +
              ";\n\n$L__BB" + std::to_string(kernel) + "_" + n + ":\n";
    }
    text += "\tret;\n\n}\n";
  }
  return text;
}

enum class Until { kParsed, kChecked, kLowered };

void ToIr(const cerberus::ptx::Module& module, llvm::TargetMachine& machine,
          const cerberus::TargetId& target) {
  using namespace cerberus::ptx;  // NOLINT: what is measured
  llvm::LLVMContext context;
  llvm::Module out("ptx", context);
  PrepareModule(out, target, machine);
  const LineIndex lines(module.text);
  LowerOptions options;
  options.subtarget = machine.getMCSubtargetInfo();
  const ProgramPart whole;
  ModuleInfo info;
  ProgramLowering lowering({{&module, &lines, options}},
                           *CallGraph::Build({&module}, {"ptx"}), whole,
                           nullptr, out, nullptr);
  if (!lowering.Run(&info)) std::abort();
}

// The best of enough runs to fill half a second.
double Seconds(const std::string& text, Until until) {
  static const cerberus::TargetId kTarget =
      *cerberus::TargetId::Parse("gfx1100");
  static const std::unique_ptr<llvm::TargetMachine> kMachine =
      *cerberus::ptx::CreateMachine(kTarget, /*opt_level=*/2);
  double best = 1e9;
  for (const double end = Now() + 0.5; Now() < end;) {
    const double begin = Now();
    cerberus::ptx::ParseOutcome outcome = cerberus::ptx::Parse(text, nullptr);
    if (until >= Until::kChecked) {
      cerberus::ptx::Check(*outcome.module, nullptr);
    }
    if (until >= Until::kLowered) ToIr(*outcome.module, *kMachine, kTarget);
    best = std::min(best, Now() - begin);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::pair<std::string, std::string>> inputs;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "%s: cannot open\n", argv[i]);
      return 1;
    }
    inputs.emplace_back(argv[i],
                        std::string(std::istreambuf_iterator<char>(in), {}));
  }
  if (inputs.empty()) inputs.emplace_back("(generated)", GeneratedModule());
  std::printf("%10s %10s %12s %8s  %s\n", "bytes", "parse MB/s", "+checks MB/s",
              "+IR MB/s", "file");
  for (const auto& [name, text] : inputs) {
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    std::printf("%10zu %10.0f %12.0f %8.1f  %s\n", text.size(),
                megabytes / Seconds(text, Until::kParsed),
                megabytes / Seconds(text, Until::kChecked),
                megabytes / Seconds(text, Until::kLowered), name.c_str());
  }
  return 0;
}
