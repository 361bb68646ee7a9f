// Compiles PTX while the program runs: in another process, cached on disk.
//
// The process is cerberus-jit (compiler_server.h): named by CERBERUS_JIT, else
// in the bin folder beside this library's, else on PATH. LLVM never enters the
// program's own process. One line on stderr says that something is being
// compiled: at once for what a conversion would have compiled, after two
// seconds for what the program has written itself, which it expects.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_JIT_FALLBACK_H_
#define CERBERUS_RUNTIME_STUB_MODULE_JIT_FALLBACK_H_

#include <optional>
#include <string>
#include <string_view>

#include "runtime-stub/api/cuda_abi.h"
#include "support/bytes.h"
#include "support/targets/target_id.h"

namespace cerberus::stub {

enum class PtxFrom { kFile, kProgram };

struct JitResult {
  CUresult status = CUDA_SUCCESS;
  Bytes code;
  std::string from;  // "jit cache …", "cerberus-jit"; for log lines
  std::string log;   // what the compiler wrote
};

struct JitRequest {
  std::string_view ptx;
  const TargetId& target;
  const std::string& name;  // the image's, for messages
  bool keep_going = false;  // kernels that cannot be compiled are left out
  PtxFrom from = PtxFrom::kFile;
  std::string kernel = "";  // this one alone; "": all
  // "apart", "alone", as cerberus-jit's --variables; "": with all else.
  std::string_view variables = "";
};

// Errors: CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_OPERATING_SYSTEM (it
// cannot be started), each with a log line; CUDA_ERROR_INVALID_PTX (the
// compiler refused, crashed, or ran out of time or memory), with the reason in
// `log` only, as the caller may have another text to try.
JitResult CompilePtx(const JitRequest& request);
// What is kept of an earlier compilation.
std::optional<JitResult> FindCompiled(const JitRequest& request);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_JIT_FALLBACK_H_
