// Compiles PTX through the C API, for tests of what comes out.
#ifndef CERBERUS_TESTS_UNIT_PTXC_COMPILE_RUNNER_H_
#define CERBERUS_TESTS_UNIT_PTXC_COMPILE_RUNNER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cerberus/ptxc.h"

namespace cerberus::ptx {

inline std::string Module(const std::string& rest) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + rest;
}

// A kernel named `name` with `body` in front of its ret.
inline std::string Kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 p)\n{\n"
         "  .reg .b64 %rd<4>;\n  .reg .b32 %r<8>;\n  .reg .pred %p<4>;\n"
         "  ld.param.u64 %rd0, [p];\n" +
         body + "  ret;\n}\n";
}

struct Compiled {
  cerberus_ptxc_status status = CERBERUS_PTXC_OK;
  std::string output;
  std::vector<std::string> kernels;
  std::vector<std::string> failed;
  std::vector<std::string> reasons;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

inline void Collect(const cerberus_ptxc_diag* diag, void* user) {
  Compiled* out = static_cast<Compiled*>(user);
  (diag->severity == CERBERUS_PTXC_ERROR ? out->errors : out->warnings)
      .push_back(diag->text);
}

inline Compiled Compile(const std::string& ptx, cerberus_ptxc_emit emit,
                        bool keep_going = false, const char* arch = "gfx1100") {
  Compiled out;
  cerberus_ptxc_options options = {};
  options.size = sizeof options;
  options.arch = arch;
  options.emit = emit;
  options.keep_going = keep_going;
  options.verify_each = 1;
  options.input_name = "in.ptx";
  options.on_diag = Collect;
  options.user = &out;
  cerberus_ptxc_result* result = nullptr;
  out.status = cerberus_ptxc_compile(ptx.data(), ptx.size(), &options, &result);
  out.output.assign(static_cast<const char*>(cerberus_ptxc_result_data(result)),
                    cerberus_ptxc_result_size(result));
  for (size_t i = 0; i < cerberus_ptxc_result_kernel_count(result); ++i) {
    out.kernels.push_back(cerberus_ptxc_result_kernel(result, i));
  }
  for (size_t i = 0; i < cerberus_ptxc_result_failed_count(result); ++i) {
    out.failed.push_back(cerberus_ptxc_result_failed_kernel(result, i));
    out.reasons.push_back(cerberus_ptxc_result_failed_reason(result, i));
  }
  cerberus_ptxc_result_free(result);
  return out;
}

}  // namespace cerberus::ptx

#endif  // CERBERUS_TESTS_UNIT_PTXC_COMPILE_RUNNER_H_
