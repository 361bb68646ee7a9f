// The compiler as compile.h has it, for callers without other threads: the
// parts of a program are compiled in processes of their own, made by fork. One
// that crashes or takes too long costs its kernels only, and what is done when
// a run is cut short is found by the next.
#ifndef CERBERUS_PTXC_COMPILE_ISOLATION_H_
#define CERBERUS_PTXC_COMPILE_ISOLATION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "ptxc/compile/compile.h"

namespace cerberus::ptx {

// Of all parts.
struct Progress {
  std::size_t kernels_done = 0;
  std::size_t kernels = 0;
  std::size_t instructions_done = 0;  // of PTX
  std::size_t instructions = 0;
};

inline constexpr std::size_t kInstructionsOfLimit = 10'000;

struct Isolation {
  // Processor time for a kernel of up to kInstructionsOfLimit PTX
  // instructions, 0: no limit. A larger one has as many times more.
  unsigned seconds = 0;
  // Where parts are kept until the program is done; nowhere if empty.
  std::string parts_folder;
  // Of CompileOptions::jobs, those after the first are taken from here and
  // given back: an eventfd that is a semaphore, and does not block. -1: all are
  // ours.
  int slots = -1;
  std::function<void(const Progress&)> on_progress;  // after each part
};

// Does without processes under options.time_trace, which is of one process.
Result<CompileResult> CompileIsolated(std::string_view ptx,
                                      const CompileOptions& options,
                                      const Isolation& isolation,
                                      const DiagSink& sink);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_ISOLATION_H_
