// cerberus-jit as a process that stays for some seconds: a start takes longer
// than a small kernel, and packages compile hundreds of those.
//
// Each compiles for one thread at a time; a thread that finds none idle starts
// one. What did not end well is not used again, so that one compilation never
// sees what another has broken.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_COMPILER_SERVER_H_
#define CERBERUS_RUNTIME_STUB_MODULE_COMPILER_SERVER_H_

#include <string>
#include <vector>

#include "support/fd.h"

namespace cerberus::stub {

struct CompilerJob {
  std::string compiler;  // a path, or a name to be looked for on PATH
  std::string build;     // tells it from others of the same path
  std::vector<std::string> arguments;
  const char* name;       // of what is compiled, for whoever waits
  std::size_t ptx_bytes;  // likewise
  // Streams of the compilation; `progress` may be none.
  const Fd& input;
  const Fd& output;
  const Fd& progress;
};

struct CompilerEnd {
  int exit_code = -1;  // -1: ended by a signal, or without an answer
  int signal = 0;
  std::string stderr_text;
};

// Waits for the end of the compilation, and says now and then how far it is.
// Returns errno if no compiler can be started.
int RunCompiler(const CompilerJob& job, CompilerEnd* end);

// A program may have closed its standard streams and others; what becomes the
// compiler's must lie above the places that it gets there. Takes `fd`.
Fd AboveCompilers(int fd);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_COMPILER_SERVER_H_
