// Graphs that kernels launch (CUDA C++ Programming Guide, "Device Graph
// Launch").
//
// A kernel's launches are known when it has ended (device_launch.h). A graph
// that it fires and forgets, as a sibling too, runs next; those of its tail run
// when the graph that the kernel is in has ended, with all that it has fired:
// one of the orders that CUDA allows.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_DEVICE_GRAPH_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_DEVICE_GRAPH_H_

#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Context;
struct DeviceGraphLaunch;

// The executable graph that this thread launches; null: none.
CUgraphExec CurrentGraph();

// Launches one, and what it and its tail launch.
CUresult RunGraph(Context* context, CUgraphExec exec, hipStream_t stream);
// Those that one kernel has launched.
CUresult RunDeviceGraphs(Context* context, hipStream_t stream,
                         const std::vector<DeviceGraphLaunch>& launches);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_DEVICE_GRAPH_H_
