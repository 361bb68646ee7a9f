// A part of cuDNN 9 that holds engines or heuristics, of which ours are in the
// others. Programs may link or open it; NVIDIA's other parts name these
// functions so that the linker keeps it.
#include "libraries/cudnn/abi.h"

#define EMPTY_PART(name)                                         \
  extern "C" __attribute__((visibility("default"))) int name() { \
    return cerberus::libraries::cudnn::kNotSupported;            \
  }
EMPTY_PART(dummyBackendEnginesPreCompiledSymbol)
EMPTY_PART(dummyBackendEnginesRuntimeCompiledSymbol)
EMPTY_PART(dummyBackendEnginesTensorIRSymbol)
EMPTY_PART(dummyHeuristicSymbol)
EMPTY_PART(registerRuntimeCompiled)
