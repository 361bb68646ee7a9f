// What a thread notes of the time that phases, passes and functions take.
#ifndef CERBERUS_PTXC_COMPILE_PHASE_TRACE_H_
#define CERBERUS_PTXC_COMPILE_PHASE_TRACE_H_

#include <string>

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"

namespace cerberus::ptx {

// LLVM keeps the events of a thread; passes and functions are events of its
// own, the scopes in compile.cc are the phases around them.
class PhaseTrace {
 public:
  explicit PhaseTrace(bool wanted, bool of_thread = false)
      : wanted_(wanted), of_thread_(of_thread) {
    // Whatever its length: phases of small modules are short.
    if (wanted_) llvm::timeTraceProfilerInitialize(0, "cerberus-ptxc");
  }
  // What a thread noted is written with the rest.
  ~PhaseTrace() {
    if (!wanted_) return;
    if (of_thread_) {
      llvm::timeTraceProfilerFinishThread();
    } else {
      llvm::timeTraceProfilerCleanup();
    }
  }
  std::string Text() const {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    if (wanted_) llvm::timeTraceProfilerWrite(stream);
    return std::string(text);
  }

 private:
  const bool wanted_;
  const bool of_thread_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_PHASE_TRACE_H_
