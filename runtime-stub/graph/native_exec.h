// HIP's executable graphs.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_NATIVE_EXEC_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_NATIVE_EXEC_H_

#include "hip/hip_abi.h"

namespace cerberus::stub {

hipError_t LaunchNative(hipGraphExec_t exec, hipStream_t stream);

// Its launches go on. HIP 5 has nothing left of them to run: there it is
// destroyed later, with one that is destroyed when they have ended.
hipError_t DestroyNative(hipGraphExec_t exec);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_NATIVE_EXEC_H_
