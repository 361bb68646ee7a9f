// Stream capture and graphs: HIP's own objects under CUDA's names.
#include "runtime-stub/graph/graph.h"

#include <optional>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/conditional.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/graph/graph_record.h"
#include "runtime-stub/graph/user_object.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/capture_into.h"
#include "runtime-stub/stream/stream.h"

namespace cerberus::stub {
namespace {

// CU_STREAM_CAPTURE_MODE_GLOBAL
constexpr int kCaptureGlobal = 0;

// HIP's number of the first type of nodes: 0, but early HIPs of version 5
// (5.2.3, not 5.7.1) begin with 1.
int FirstType() {
  if (hip.major != 5) return 0;
  static const int first = [] {
    hipGraph_t graph = nullptr;
    hipGraphNode_t empty = nullptr;
    int type = kEmptyNode;
    if (hip.hipGraphCreate(&graph, 0) != hipSuccess) return 0;
    if (hip.hipGraphAddEmptyNode(&empty, graph, nullptr, 0) == hipSuccess) {
      (void)hip.hipGraphNodeGetType(empty, &type);
    }
    (void)hip.hipGraphDestroy(graph);
    return type - kEmptyNode;
  }();
  return first;
}

// hipGraphNodeType in CUDA's numbers. Up to the freeing of memory they are
// the same; then HIP has copies from and to variables, and the batch.
CUgraphNodeType TypeOf(int native) {
  constexpr int kCopyFromSymbol = 12, kCopyToSymbol = 13, kNativeBatch = 14;
  constexpr CUgraphNodeType kCopy = 1, kBatch = 12;
  native -= FirstType();
  switch (native) {
    case kCopyFromSymbol:
    case kCopyToSymbol: return kCopy;
    case kNativeBatch: return kBatch;
    default: return native;
  }
}

// Numbers a graph that HIP has made; one that cannot be, for want of memory,
// goes.
CUresult NumberNew(CUgraph graph) {
  try {
    NumberGraph(graph);
  } catch (...) {
    hip.hipGraphDestroy(Native(graph));
    throw;
  }
  return CUDA_SUCCESS;
}

}  // namespace

namespace {

// HIP before 5.3 leaves edges to a node that is destroyed. Which graph they are
// in it does not ask.
void RemoveEdges(hipGraphNode_t node) {
  hipGraph_t any = nullptr;
  if (hip.hipGraphCreate(&any, 0) != hipSuccess) return;
  std::size_t count = 0;
  (void)hip.hipGraphNodeGetDependencies(node, nullptr, &count);
  std::vector<hipGraphNode_t> before(count), same(count, node);
  (void)hip.hipGraphNodeGetDependencies(node, before.data(), &count);
  (void)hip.hipGraphRemoveDependencies(any, before.data(), same.data(), count);
  count = 0;
  (void)hip.hipGraphNodeGetDependentNodes(node, nullptr, &count);
  std::vector<hipGraphNode_t> after(count);
  same.assign(count, node);
  (void)hip.hipGraphNodeGetDependentNodes(node, after.data(), &count);
  (void)hip.hipGraphRemoveDependencies(any, same.data(), after.data(), count);
  (void)hip.hipGraphDestroy(any);
}

}  // namespace

namespace api {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  CERB_STREAM(context, stream, handle);
  const hipError_t error = hip.hipStreamBeginCapture(stream, mode);
  if (error == hipSuccess) NoteCaptureBegin(stream);
  return NoteResult(context, error);
}
CUresult cuStreamBeginCapture(CUstream handle) {
  return cuStreamBeginCapture_v2(handle, kCaptureGlobal);
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  CapturedNodes nodes(stream);
  if (EndBrokenCapture(stream) || nodes.EndForeign()) {
    *graph = nullptr;
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  const hipError_t error = hip.hipStreamEndCapture(stream, Native(graph));
  if (error != hipSuccess) {
    LeaveCapture(stream);
    return NoteResult(context, error);
  }
  if (CUgraph own = nodes.TakeOwnGraph()) {
    (void)hip.hipGraphDestroy(Native(*graph));
    *graph = own;
    return CUDA_SUCCESS;
  }
  nodes.Keep();
  return *graph != nullptr ? NumberNew(*graph) : CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status,
                                cuuint64_t* id) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  if (!Captures(stream)) {
    // HIP 5.2 has no information on the null stream.
    if (id != nullptr) *id = 0;
    return cuStreamIsCapturing(handle, status);
  }
  unsigned long long number = 0;
  const hipError_t error = hip.hipStreamGetCaptureInfo(stream, status, &number);
  *status = CaptureStatus(stream, *status);
  if (id != nullptr) *id = number;
  return NoteResult(context, error);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes,
                                   std::size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  if (!Captures(stream)) return cuStreamGetCaptureInfo(handle, status, id);
  unsigned long long number = 0;
  const hipError_t error = hip.hipStreamGetCaptureInfo_v2(
      stream, status, &number, Native(graph),
      reinterpret_cast<const hipGraphNode_t**>(nodes), count);
  *status = CaptureStatus(stream, *status);
  if (id != nullptr) *id = number;
  if (error != hipSuccess) return NoteResult(context, error);
  ToProgram(number, graph, nodes, count != nullptr ? *count : 0);
  if (graph != nullptr && *graph != nullptr) NumberGraph(*graph);
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
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipThreadExchangeStreamCaptureMode(mode));
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error = hip.hipGraphCreate(Native(graph), 0);
  if (error != hipSuccess) return NoteResult(context, error);
  DropConditions(*graph);
  return NumberNew(*graph);
}
CUresult cuGraphDestroy(CUgraph graph) {
  if (graph == nullptr || IsBody(graph)) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  ForgetNodes(graph);
  DropConditions(graph);
  ForgetGraphNumbers(graph);
  const hipError_t error = hip.hipGraphDestroy(Native(graph));
  DropUserObjects(graph);
  return NoteResult(context, error);
}
CUresult cuGraphClone(CUgraph* clone, CUgraph graph) {
  if (clone == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  // CUDA clones none with conditional nodes.
  bool has_conditions = false;
  CUresult result = HasConditions(graph, &has_conditions);
  if (result != CUDA_SUCCESS) return result;
  if (has_conditions) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  result = DeviceToCopyOn(graph, &device);
  if (result != CUDA_SUCCESS) return result;
  const CurrentDevice current(device);
  const hipError_t error = hip.hipGraphClone(Native(clone), Native(graph));
  if (error != hipSuccess) return NoteResult(context, error);
  result = CopyRecords(graph, *clone);
  if (result != CUDA_SUCCESS) {
    ForgetNodes(*clone);
    (void)hip.hipGraphDestroy(Native(*clone));
    return result;
  }
  CloneUserObjects(graph, *clone);
  return NumberNew(*clone);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes,
                         std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipGraphGetNodes(Native(graph), Native(nodes), count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes,
                             std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(
      context, hip.hipGraphGetRootNodes(Native(graph), Native(nodes), count));
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (const std::optional<int> known = RecordedType(node)) {
    *type = *known;
    return CUDA_SUCCESS;
  }
  int native = 0;
  const hipError_t error = hip.hipGraphNodeGetType(Native(node), &native);
  if (error == hipSuccess) *type = TypeOf(native);
  return NoteResult(context, error);
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  ForgetNodeNumber(node);
  ForgetNode(node);
  if (hip.is_before_5_3) RemoveEdges(Native(node));
  NoteLostEdges();
  return NoteResult(context, hip.hipGraphDestroyNode(Native(node)));
}
CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode node,
                                CUgraph clone) {
  if (out == nullptr || node == nullptr || clone == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphNodeFindInClone(
                                 Native(out), Native(node), Native(clone)));
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
                               unsigned enabled) {
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (SetPlanKernelEnabled(exec, node, enabled != 0)) return CUDA_SUCCESS;
  if (hip.is_before_5_3) return SwitchNode(exec, node, enabled != 0);
  CERB_NODE_OF_EXEC(at, exec, node);
  return NoteResult(context,
                    hip.hipGraphNodeSetEnabled(at.exec, at.node, enabled));
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node,
                               unsigned* enabled) {
  if (exec == nullptr || node == nullptr || enabled == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  if (const std::optional<bool> known = IsPlanKernelEnabled(exec, node)) {
    *enabled = *known ? 1 : 0;
    return CUDA_SUCCESS;
  }
  if (hip.is_before_5_3) return IsNodeSwitchedOn(exec, node, enabled);
  CERB_NODE_OF_EXEC(at, exec, node);
  return NoteResult(context,
                    hip.hipGraphNodeGetEnabled(at.exec, at.node, enabled));
}
CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned flags) {
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipGraphDebugDotPrint(Native(graph), path, flags));
}
CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* nodes,
                                           std::size_t count, unsigned flags) {
  CERB_STREAM(context, stream, handle);
  std::vector<CUgraphNode> natives(nodes,
                                   nodes + (nodes != nullptr ? count : 0));
  int status = 0;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  if (hip.major == 5 &&
      hip.hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr,
                                     nullptr) == hipSuccess &&
      status != 0) {
    const hipError_t error = ToHip(id, graph, &natives);
    if (error != hipSuccess) return NoteResult(context, error);
  }
  return NoteResult(context, hip.hipStreamUpdateCaptureDependencies(
                                 stream, Native(natives.data()), count, flags));
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle,
                                              CUgraphNode* nodes,
                                              const CUgraphEdgeData* edges,
                                              std::size_t count,
                                              unsigned flags) {
  if (CUresult r = CheckEdges(nodes, edges, count); r != CUDA_SUCCESS) return r;
  const CUresult result =
      cuStreamUpdateCaptureDependencies(handle, nodes, count, flags);
  if (result != CUDA_SUCCESS || edges == nullptr) return result;
  CERB_STREAM(context, stream, handle);
  NoteEdgesToCome(stream, nodes, edges, count);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph,
                                     const CUgraphNode* after,
                                     const CUgraphEdgeData* edges,
                                     std::size_t count,
                                     CUstreamCaptureMode mode) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult r = CheckEdges(after, edges, count); r != CUDA_SUCCESS) return r;
  CERB_STREAM(context, stream, handle);
  hipError_t error = hip.hipStreamBeginCaptureToGraph(
      stream, Native(graph), Native(after), nullptr, count, mode);
  if (error == hipErrorNotSupported) {
    error = BeginCaptureInto(stream, graph, after, count, mode);
  }
  if (error == hipSuccess) {
    NoteCaptureBegin(stream);
    NoteCaptureToGraph(stream);
    NoteEdgesToCome(stream, after, edges, count);
  }
  return NoteResult(context, error);
}

// --- memory of graphs. A HIP without these calls caches none. ---

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const hipError_t error = hip.hipDeviceGraphMemTrim(device->hip_ordinal);
  return error == hipErrorNotSupported ? CUDA_SUCCESS : FromHip(error);
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const hipError_t error =
      hip.hipDeviceGetGraphMemAttribute(device->hip_ordinal, attribute, value);
  if (error == hipErrorNotSupported) {
    *static_cast<cuuint64_t*>(value) = 0;
    return CUDA_SUCCESS;
  }
  return FromHip(error);
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const hipError_t error =
      hip.hipDeviceSetGraphMemAttribute(device->hip_ordinal, attribute, value);
  return error == hipErrorNotSupported ? CUDA_SUCCESS : FromHip(error);
}

}  // namespace api
}  // namespace cerberus::stub
