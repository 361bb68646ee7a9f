// Host memory that the program has unregistered and HIP still has registered.
//
// HIP before 5.3 looks for registered memory under the host's and the device's
// address, counts on two, and ends the process when it unregisters memory that
// the GPU has at the host's address. Such memory stays registered with HIP, for
// a later registration of the same addresses to find.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_HOST_REGISTRATION_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_HOST_REGISTRATION_H_

#include <cstddef>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// Whether the program has unregistered the byte, and HIP has not.
bool IsLeftRegistered(CUdeviceptr address);
// The program registers memory. False: so must HIP.
bool RegisterAgain(CUdeviceptr address, std::size_t bytes);
// The program unregisters memory that is registered. False: so must HIP.
bool LeaveRegistered(CUdeviceptr address);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_HOST_REGISTRATION_H_
