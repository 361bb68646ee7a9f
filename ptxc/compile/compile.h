// The whole compiler as one function; cerberus/ptxc.h is its C face.
#ifndef CERBERUS_PTXC_COMPILE_COMPILE_H_
#define CERBERUS_PTXC_COMPILE_COMPILE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxc/shared_overflow.h"
#include "support/bytes.h"
#include "support/result.h"
#include "support/targets/target_id.h"

namespace cerberus::ptx {

enum class Emit { kHsaco, kObject, kAssembly, kIr, kRawIr };

struct CompileOptions {
  TargetId target;
  Emit emit = Emit::kHsaco;
  bool keep_going = false;
  int opt_level = 2;  // 0: as lowered, 1: what -G modules get, 2: default
  bool verify_each = false;
  // On targets with waves of 64, also where two could share one.
  bool one_warp_per_wave = false;
  bool serial_lanes = false;  // as LaneOptions::serial
  SharedOverflow shared_overflow = SharedOverflow::kError;
  bool time_trace = false;
  unsigned jobs = 1;  // parts of a large module that are compiled at a time
  std::string input_name;
  // Variables that kernels share: in this code object, or apart from them, so
  // that several code objects have the same (lower/variable_table.h). With
  // kAlone only those are compiled. Others than kHere of kHsaco only.
  enum class Variables { kHere, kApart, kAlone };
  Variables variables = Variables::kHere;
  // With kApart. Mangled; "": all. Alone it can be compiled where it takes no
  // addresses of code: else that is the error.
  std::string only_kernel;
};

struct FailedKernel {
  std::string name;  // mangled
  std::string reason;
};

struct CompileResult {
  Bytes output;
  std::vector<std::string> kernels;  // mangled, in PTX order
  std::vector<FailedKernel> failed;
  std::string time_trace;  // JSON of LLVM's time profiler, if asked for
};

// `ptx` is one module, or several behind one another (SplitModules), which
// are linked. Errors and warnings go to `sink`; the error returned is the first
// of them.
// Without `keep_going` a kernel that cannot be lowered is an error of the
// module, but all of them are reported first.
Result<CompileResult> Compile(std::string_view ptx,
                              const CompileOptions& options,
                              const DiagSink& sink);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_COMPILE_H_
