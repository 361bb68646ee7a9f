// Kernels that launch kernels (docs/launch-abi.md, "Launches from the
// device").
//
// What such a kernel launches stands in a queue that the host reads when the
// kernel has ended. HIP's callbacks may not call HIP, and a stream that waits
// for something which is queued behind it never ends; so the thread that
// launches the kernel waits for it, launches its children and theirs, and
// returns when all have ended. What follows in the stream, and whoever waits
// for it, then finds the grid complete with all its children, as CUDA has it.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_LAUNCH_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_LAUNCH_H_

#include <cstdint>

#include "runtime-stub/launch/launch.h"

namespace cerberus::stub {

// Launches a kernel that may launch others, and waits for all of them. Faults
// of kernels stay with the context, as when nobody waits. Errors: what a
// launch answers.
CUresult LaunchWithChildren(Context* context, const LaunchTarget& target,
                            Grid grid, hipStream_t stream, void** params,
                            void** extra);

// Says that such a kernel cannot become one of an executable graph that has
// another one there.
CUresult RefuseToCapture(const Kernel& kernel);

// The number under which kernels launch this one.
std::uint32_t LaunchIdOf(Kernel* kernel);
// Null if there is none any more.
Kernel* KernelOfLaunchId(std::uint32_t id);
// It is being unloaded.
void ForgetLaunchId(Kernel* kernel);

// Frees the device's queues; nothing may run.
void DropLaunchQueues(Device* device);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_LAUNCH_H_
