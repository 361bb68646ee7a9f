// What kernels and the stub share besides arguments: the context block with
// its error record, printf ring and heap (docs/launch-abi.md).
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_SERVICES_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_SERVICES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;
struct Device;
struct ServiceBlock;

// The device address of the context block, made at the first module that
// asks for it, with the context's limits.
CUresult ServicesOf(Context* context, CUdeviceptr* block);

// A grid's workspace for a cooperative launch: zeroed device memory that
// cooperative groups find by %envreg1 and %envreg2 and keep a barrier in.
// The barrier is at rest when a grid has ended, so workspaces serve again; a
// graph's node has one of its own.
CUresult GridWorkspace(Context* context, bool of_node, CUdeviceptr* workspace);

// Zeroed host memory that kernels can reach, with its address for them.
hipError_t MakeShared(std::size_t bytes, void** host, std::uint64_t* device);

// kLaunchQueues addresses, which kernels read, and as many handles of graphs;
// of a device that has services.
std::uint64_t* LaunchQueueAddresses(Device* device);

// The error that a kernel wrote into the record, else CUDA_SUCCESS. Says so
// on stderr, once.
CUresult RecordedFault(ServiceBlock* services);
// After the context that had it is gone.
void ForgetFault(Device* device);

// Writes to stdout what kernels have printed: at the points that the CUDA C++
// Programming Guide lists under "Formatted Output".
void FlushOutput(Device* device);

// cuCtxSetLimit. The heap's size is fixed once a kernel has allocated from
// it.
CUresult ApplyLimit(Context* context, CUlimit limit, std::size_t value);

// What kernels find of multicast memory. Nothing is done before the device has
// services. `unmapped`: nothing may use earlier tables any more. HIP's device
// may be this one afterwards.
CUresult SetMulticastTable(Device* device,
                           const std::vector<std::uint64_t>& table,
                           bool unmapped);

// Frees block, ring, heap, workspaces and windows; for a reset of the context.
void DropServices(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_SERVICES_H_
