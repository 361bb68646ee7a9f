// What kernels and the stub share besides arguments: the context block and
// its error record (docs/launch-abi.md).
#ifndef CERBERUS_RUNTIME_STUB_SERVICES_H_
#define CERBERUS_RUNTIME_STUB_SERVICES_H_

#include "runtime-stub/cuda_abi.h"

namespace cerberus::stub {

struct Context;
struct ServiceBlock;

// The device address of the context's block, made at the first module that
// asks for it.
CUresult ServicesOf(Context* context, CUdeviceptr* block);

// A grid's workspace for a cooperative launch: zeroed device memory that
// cooperative groups find by %envreg1 and %envreg2 and keep a barrier in.
// The barrier is at rest when a grid has ended, so workspaces serve again.
CUresult GridWorkspace(Context* context, CUdeviceptr* workspace);

// The error that a kernel wrote into the record, else CUDA_SUCCESS. Says so
// in the log, once.
CUresult RecordedFault(ServiceBlock* services);

// Frees block and workspaces; for a reset of the context.
void DropServices(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_SERVICES_H_
