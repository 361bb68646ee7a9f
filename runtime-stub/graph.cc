// Stream capture and graphs: HIP's own objects under CUDA's names. A kernel
// node gets its arguments packed as a launch does.
#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "runtime-stub/api.h"
#include "runtime-stub/context.h"
#include "runtime-stub/copy_region.h"
#include "runtime-stub/hip_loader.h"
#include "runtime-stub/launch.h"
#include "runtime-stub/log.h"
#include "runtime-stub/stream.h"

namespace cerberus::stub {
namespace {

// CUDA's handles are HIP's.
hipGraph_t Native(CUgraph graph) { return reinterpret_cast<hipGraph_t>(graph); }
hipGraphExec_t Native(CUgraphExec exec) {
  return reinterpret_cast<hipGraphExec_t>(exec);
}
hipGraphNode_t Native(CUgraphNode node) {
  return reinterpret_cast<hipGraphNode_t>(node);
}
hipGraph_t* Native(CUgraph* graph) {
  return reinterpret_cast<hipGraph_t*>(graph);
}
hipGraphExec_t* Native(CUgraphExec* exec) {
  return reinterpret_cast<hipGraphExec_t*>(exec);
}
hipGraphNode_t* Native(CUgraphNode* node) {
  return reinterpret_cast<hipGraphNode_t*>(node);
}
const hipGraphNode_t* Native(const CUgraphNode* nodes) {
  return reinterpret_cast<const hipGraphNode_t*>(nodes);
}

// CU_STREAM_CAPTURE_MODE_GLOBAL
constexpr int kCaptureGlobal = 0;

// Flags of instantiation that HIP has a meaning for: freeing memory of
// earlier launches. The others are hints.
constexpr unsigned long long kAutoFreeOnLaunch = 1;

// Calls `use` with the node's description in HIP's terms.
template <typename Use>
CUresult WithKernelNode(const CUDA_KERNEL_NODE_PARAMS_v1& params,
                        CUfunction function, Use use) {
  CERB_CONTEXT(context);
  const Grid grid = {params.gridDimX,       params.gridDimY,
                     params.gridDimZ,       params.blockDimX,
                     params.blockDimY,      params.blockDimZ,
                     params.sharedMemBytes, false};
  LaunchTarget target;
  CUresult result = FindLaunchTarget(context, function, grid, &target);
  if (result != CUDA_SUCCESS) return result;
  auto* buffer =
      static_cast<std::uint8_t*>(alloca(target.info->explicit_size() + 1));
  result = FillArguments(context, *target.info, grid, params.kernelParams,
                         params.extra, buffer);
  if (result != CUDA_SUCCESS) return result;
  auto** pointers = static_cast<void**>(
      alloca((target.info->params.size() + 1) * sizeof(void*)));
  ArgumentPointers(*target.info, buffer, pointers);
  hipKernelNodeParams out = {};
  out.func = reinterpret_cast<void*>(target.function);
  out.gridDim = {grid.grid_x, grid.grid_y, grid.grid_z};
  const WorkGroup block =
      target.info->WorkGroupOf(grid.block_x, grid.block_y, grid.block_z);
  out.blockDim = {block[0], block[1], block[2]};
  out.sharedMemBytes = grid.dynamic_shared;
  out.kernelParams = pointers;
  return NoteResult(context, use(out));
}

CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr ? params.func
                                : reinterpret_cast<CUfunction>(params.kern);
}

// Edges between nodes carry data only for programmatic launches, which AMD
// GPUs have not.
CUresult CheckEdges(const CUgraphEdgeData* edges, std::size_t count) {
  constexpr std::size_t kEdgeBytes = 8;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(edges);
  for (std::size_t i = 0; edges != nullptr && i < count * kEdgeBytes; ++i) {
    if (bytes[i] == 0) continue;
    Log(LogLevel::kError,
        "graph edges with data (programmatic dependent launch) are not "
        "supported");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
void ClearEdges(CUgraphEdgeData* edges, const std::size_t* count) {
  constexpr std::size_t kEdgeBytes = 8;
  if (edges != nullptr && count != nullptr) {
    std::memset(static_cast<void*>(edges), 0, *count * kEdgeBytes);
  }
}

CUresult AddKernelNode(CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* after, std::size_t count,
                       const CUDA_KERNEL_NODE_PARAMS_v1& params,
                       CUfunction function) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithKernelNode(params, function, [&](const hipKernelNodeParams& p) {
    return hip.hipGraphAddKernelNode(Native(node), Native(graph), Native(after),
                                     count, &p);
  });
}

CUresult SetKernelNode(CUgraphExec exec, CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS_v1& params,
                       CUfunction function) {
  return WithKernelNode(params, function, [&](const hipKernelNodeParams& p) {
    return hip.hipGraphExecKernelNodeSetParams(Native(exec), Native(node), &p);
  });
}

hipPitchedPtr PitchedPtr(const Side& side) {
  return {side.start, side.pitch, side.pitch, side.height};
}

CUresult Instantiate(CUgraphExec* exec, CUgraph graph,
                     unsigned long long flags) {
  if (exec == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(
      context, hip.hipGraphInstantiateWithFlags(Native(exec), Native(graph),
                                                flags & kAutoFreeOnLaunch));
}

}  // namespace

namespace api {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  return NoteResult(context, hip.hipStreamBeginCapture(stream, mode));
}
CUresult cuStreamBeginCapture(CUstream handle) {
  return cuStreamBeginCapture_v2(handle, kCaptureGlobal);
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  return NoteResult(context, hip.hipStreamEndCapture(stream, Native(graph)));
}
CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status,
                                cuuint64_t* id) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  unsigned long long number = 0;
  const hipError_t error = hip.hipStreamGetCaptureInfo(stream, status, &number);
  if (id != nullptr) *id = number;
  return NoteResult(context, error);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes,
                                   std::size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph == nullptr && nodes == nullptr && count == nullptr) {
    return cuStreamGetCaptureInfo(handle, status, id);
  }
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  unsigned long long number = 0;
  const hipError_t error = hip.hipStreamGetCaptureInfo_v2(
      stream, status, &number, Native(graph),
      reinterpret_cast<const hipGraphNode_t**>(nodes), count);
  if (id != nullptr) *id = number;
  return NoteResult(context, error);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes,
                                   const CUgraphEdgeData** edges,
                                   std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, nodes, count);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipThreadExchangeStreamCaptureMode(mode));
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphCreate(Native(graph), 0));
}
CUresult cuGraphDestroy(CUgraph graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphDestroy(Native(graph)));
}
CUresult cuGraphClone(CUgraph* clone, CUgraph graph) {
  if (clone == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphClone(Native(clone), Native(graph)));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                     unsigned long long flags) {
  return Instantiate(exec, graph, flags);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                               CUgraphNode* error_node, char* log,
                               std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return Instantiate(exec, graph, 0);
}
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* error_node, char* log,
                            std::size_t log_bytes) {
  return cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  const hipError_t error = hip.hipGraphUpload(Native(exec), stream);
  // Without it the first launch uploads.
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  return NoteResult(context, hip.hipGraphLaunch(Native(exec), stream));
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphExecDestroy(Native(exec)));
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                           CUgraphNode* error_node,
                           CUgraphExecUpdateResult* update) {
  if (exec == nullptr || graph == nullptr || update == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  hipGraphNode_t node = nullptr;
  const hipError_t error =
      hip.hipGraphExecUpdate(Native(exec), Native(graph), &node, update);
  if (error_node != nullptr) {
    *error_node = reinterpret_cast<CUgraphNode>(node);
  }
  return NoteResult(context, error);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return cuGraphExecUpdate(exec, graph, &info->errorNode, &info->result);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes,
                         std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context,
                    hip.hipGraphGetNodes(Native(graph), Native(nodes), count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes,
                             std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(
      context, hip.hipGraphGetRootNodes(Native(graph), Native(nodes), count));
}
// The kinds up to event nodes have the same numbers in both.
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphNodeGetType(Native(node), type));
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                    std::size_t* count) {
  if (node == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphNodeGetDependencies(
                                 Native(node), Native(nodes), count));
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes,
                                       CUgraphEdgeData* edges,
                                       std::size_t* count) {
  const CUresult result = cuGraphNodeGetDependencies(node, nodes, count);
  if (result == CUDA_SUCCESS) ClearEdges(edges, count);
  return result;
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, std::size_t count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  if (count == 0) return CUDA_SUCCESS;
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return NoteResult(context,
                    hip.hipGraphAddDependencies(Native(graph), Native(from),
                                                Native(to), count));
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to,
                                   const CUgraphEdgeData* edges,
                                   std::size_t count) {
  if (CUresult r = CheckEdges(edges, count); r != CUDA_SUCCESS) return r;
  return cuGraphAddDependencies(graph, from, to, count);
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddKernelNode(node, graph, after, count, *params, params->func);
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* after, std::size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddKernelNode(node, graph, after, count, *params, FunctionOf(*params));
}
CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetKernelNode(exec, node, *params, params->func);
}
CUresult cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetKernelNode(exec, node, *params, FunctionOf(*params));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Region region;
  if (CUresult r = RegionOf(params, &region); r != CUDA_SUCCESS) return r;
  if (region.height == 1 && region.depth == 1) {
    return NoteResult(context, hip.hipGraphAddMemcpyNode1D(
                                   Native(node), Native(graph), Native(after),
                                   count, region.to.start, region.from.start,
                                   region.width, KindOfCopy(region)));
  }
  hipMemcpy3DParms copy = {};
  copy.srcPtr = PitchedPtr(region.from);
  copy.dstPtr = PitchedPtr(region.to);
  copy.extent[0] = region.width;
  copy.extent[1] = region.height;
  copy.extent[2] = region.depth;
  copy.kind = KindOfCopy(region);
  return NoteResult(context,
                    hip.hipGraphAddMemcpyNode(Native(node), Native(graph),
                                              Native(after), count, &copy));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params,
                              CUcontext) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  hipMemsetParams out = {};
  out.dst = reinterpret_cast<void*>(params->dst);
  out.elementSize = params->elementSize;
  out.height = params->height;
  out.pitch = params->pitch;
  out.value = params->value;
  out.width = params->width;
  return NoteResult(context,
                    hip.hipGraphAddMemsetNode(Native(node), Native(graph),
                                              Native(after), count, &out));
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr || params->fn == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  const hipHostNodeParams out = {params->fn, params->userData};
  return NoteResult(context,
                    hip.hipGraphAddHostNode(Native(node), Native(graph),
                                            Native(after), count, &out));
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* after, std::size_t count) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context,
                    hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                             Native(after), count));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                  const CUgraphNode* after, std::size_t count,
                                  CUgraph child) {
  if (node == nullptr || child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipGraphAddChildGraphNode(
                                 Native(node), Native(graph), Native(after),
                                 count, Native(child)));
}

}  // namespace api
}  // namespace cerberus::stub
