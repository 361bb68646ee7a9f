// The options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate that
// mean something here: where the compiler's words go.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_JIT_OPTIONS_H_
#define CERBERUS_RUNTIME_STUB_MODULE_JIT_OPTIONS_H_

#include <string>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

class JitOptions {
 public:
  JitOptions() = default;
  // An option's value is passed in the pointer itself, and what an option
  // reports is written back there (CUDA Driver API, CUjit_option).
  JitOptions(unsigned count, CUjit_option* options, void** values);

  // Fills the log buffers: the error log if `result` is an error, else the
  // info log. Both end in NUL; their sizes become the bytes filled.
  void Report(CUresult result, const std::string& log) const;

 private:
  struct Buffer {
    char* text = nullptr;
    void** size = nullptr;  // holds the number itself

    void Fill(const std::string& content) const;
  };
  Buffer info_;
  Buffer error_;
  void** wall_time_ = nullptr;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_JIT_OPTIONS_H_
