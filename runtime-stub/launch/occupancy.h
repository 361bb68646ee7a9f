// How many blocks of a kernel a multiprocessor holds at once.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_OCCUPANCY_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_OCCUPANCY_H_

#include <cstddef>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;
struct Kernel;

CUresult BlocksPerMultiprocessor(Context* context, Kernel* kernel,
                                 int block_size, std::size_t dynamic_shared,
                                 int* blocks, bool several = false);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_OCCUPANCY_H_
