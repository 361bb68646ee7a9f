// Execution plans as CUDA graphs of their own (cuDNN's API, "CUDA Graph Native
// API"): what a plan does with one variant pack, in a graph of the program's.
#ifndef CERBERUS_LIBRARIES_CUDNN_NATIVE_GRAPH_H_
#define CERBERUS_LIBRARIES_CUDNN_NATIVE_GRAPH_H_

#include <functional>

#include "libraries/common/driver.h"
#include "libraries/cudnn/status.h"

namespace cerberus::libraries::cudnn {

// Adds what `work` puts into the stream that it is called with to a CUgraph,
// as one node, which is a graph. Errors: what `work` answers;
// kExecutionFailed.
Status Populate(void* graph, const std::function<Status(Stream)>& work);
// The same for a graph that Populate made, in that node's place.
Status Repopulate(void* graph, const std::function<Status(Stream)>& work);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_NATIVE_GRAPH_H_
