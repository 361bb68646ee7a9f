// Managed variables: memory of a module's code for HIP, which tells nothing
// else of it; managed memory for a program.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_MANAGED_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_MANAGED_H_

#include <cstddef>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// `owner`: the module, on one device, whose code has the variable.
void NoteManagedVariable(const void* owner, CUdeviceptr address,
                         std::size_t bytes);
void ForgetManagedVariables(const void* owner);
bool IsInManagedVariable(CUdeviceptr address);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_MANAGED_H_
