// How fast PTX text becomes a checked syntax tree, in MB of text a second of
// CPU time.
//
//   ptx_parse_bench [FILE.ptx ...]
//
// Without files: a module of 64 kernels made of the table's own spellings,
// the mix of arithmetic, memory and control that nvcc prints.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ptxc/parser.h"
#include "ptxc/sema.h"

namespace {

// CPU time, so that a busy machine measures the same.
double Now() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

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
              std::to_string(4 * i) + "];\n\tfma.rn.f32 \t%f" + n + ", %f" +
              m + ", %f" + n + ", 0f3F800000;\n\tst.global.f32 \t[%rd" + n +
              "], %f" + n + ";\n\tsetp.lt.s32 \t%p1, %r" + n +
              ", 0;\n\t@%p1 bra \t$L__BB" + std::to_string(kernel) + "_" + n +
              ";\n\n$L__BB" + std::to_string(kernel) + "_" + n + ":\n";
    }
    text += "\tret;\n\n}\n";
  }
  return text;
}

// The best of enough runs to fill half a second.
double Seconds(const std::string& text, bool check) {
  double best = 1e9;
  for (const double end = Now() + 0.5; Now() < end;) {
    const double begin = Now();
    cerberus::ptx::ParseOutcome outcome = cerberus::ptx::Parse(text, nullptr);
    if (check) cerberus::ptx::Check(*outcome.module, nullptr);
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
  std::printf("%10s %10s %12s  %s\n", "bytes", "parse MB/s", "+checks MB/s",
              "file");
  for (const auto& [name, text] : inputs) {
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    std::printf("%10zu %10.0f %12.0f  %s\n", text.size(),
                megabytes / Seconds(text, false),
                megabytes / Seconds(text, true), name.c_str());
  }
  return 0;
}
