// Nodes of graphs: added, described and changed. Those of kernels are in
// graph_kernel_node.cc.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"
#include "runtime-stub/graph/conditional.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_memory.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/graph/graph_record.h"
#include "runtime-stub/graph/user_object.h"
#include "runtime-stub/memory/copy_region.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

hipPitchedPtr PitchedPtr(const Side& side) {
  return {side.start, side.pitch, side.pitch, side.height};
}
bool IsLine(const Region& region) {
  return region.height == 1 && region.depth == 1;
}
hipMemcpy3DParms Copy3D(const Region& region) {
  hipMemcpy3DParms copy = {};
  copy.srcPtr = PitchedPtr(region.from);
  copy.dstPtr = PitchedPtr(region.to);
  copy.extent[0] = region.width;
  copy.extent[1] = region.height;
  copy.extent[2] = region.depth;
  const hipMemcpyKind kind = KindOfCopy(region);
  copy.kind = IsLine(region) ? kind : KindOfRows(region.to, region.from, kind);
  return copy;
}

hipMemsetParams NativeSet(const CUDA_MEMSET_NODE_PARAMS& params) {
  hipMemsetParams out = {};
  out.dst = reinterpret_cast<void*>(params.dst);
  out.elementSize = params.elementSize;
  out.height = params.height;
  out.pitch = params.pitch;
  out.value = params.value;
  out.width = params.width;
  return out;
}

// Allocation nodes have one layout in both; only the devices are counted
// otherwise.
CUresult HipAllocation(const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                       CUDA_MEM_ALLOC_NODE_PARAMS* out,
                       std::vector<CUmemAccessDesc>* access) {
  *out = params;
  if (CUresult r = ToHip(&out->poolProps.location); r != CUDA_SUCCESS) {
    return r;
  }
  if (params.accessDescs == nullptr) return CUDA_SUCCESS;
  access->assign(params.accessDescs,
                 params.accessDescs + params.accessDescCount);
  for (CUmemAccessDesc& entry : *access) {
    if (CUresult r = ToHip(&entry.location); r != CUDA_SUCCESS) return r;
  }
  out->accessDescs = access->data();
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult ReadRecord(CUgraphNode node, int type, Params NodeRecord::* field,
                    Params* params) {
  RecordPtr record;
  const CUresult result = GetRecord(node, type, &record);
  if (result == CUDA_SUCCESS) *params = (*record).*field;
  return result;
}
// Changes do not change it.
CUcontext ContextOfNode(CUgraphNode node) {
  const RecordPtr record = FindRecord(node);
  return record != nullptr ? record->context : nullptr;
}

void NoteExecEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  CUgraphNodeParams params = {};
  if (api::cuGraphNodeGetType(node, &params.type) != CUDA_SUCCESS) return;
  params.event = event;
  NoteExecNode(exec, node, params);
}
// After a change in an executable graph.
CUresult NoteChange(hipError_t error, Context* context, CUgraphExec exec,
                    CUgraphNode node, RecordPtr record) {
  if (error == hipSuccess) NoteExecNode(exec, node, std::move(record));
  return NoteResult(context, error);
}

// CU_GRAPH_CHILD_GRAPH_OWNERSHIP_…: HIP clones child graphs, and takes none.
CUresult AddChildNode(CUgraphNode* node, CUgraph graph,
                      const CUgraphNode* after, std::size_t count,
                      const CUgraphNodeParams& params) {
  constexpr int kClone = 0, kMove = 1;
  if (params.graph.ownership == kMove) {
    Log(LogLevel::kError, "child graphs cannot be moved into their node");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (params.graph.ownership != kClone) return CUDA_ERROR_INVALID_VALUE;
  return api::cuGraphAddChildGraphNode(node, graph, after, count,
                                       params.graph.graph);
}

// Nodes of memory where HIP has none (graph_memory.h).
CUresult AddNodeOfMemory(Context* context, RecordPtr record, CUgraphNode* node,
                         CUgraph graph, const CUgraphNode* after,
                         std::size_t count) {
  const hipError_t error = hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                                    Native(after), count);
  if (error == hipSuccess) RememberNew(*node, std::move(record));
  return NoteResult(context, error);
}
// What such a node has, or null.
const CUDA_MEM_ALLOC_NODE_PARAMS* NodeMemoryOf(const RecordPtr& record,
                                               int type) {
  return record != nullptr && record->type == type && record->memory.dptr != 0
             ? &record->memory
             : nullptr;
}

CUresult RefuseNodeType(int type) {
  Log(LogLevel::kError, "graph nodes of type %d are not supported", type);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

namespace api {

// --- copies ---

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext handle) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_GIVEN_CONTEXT(context, handle);
  Region region;
  if (CUresult r = RegionOf(params, &region); r != CUDA_SUCCESS) return r;
  const hipMemcpy3DParms copy = Copy3D(region);
  const hipError_t error =
      IsLine(region)
          ? hip.hipGraphAddMemcpyNode1D(
                Native(node), Native(graph), Native(after), count,
                region.to.start, region.from.start, region.width, copy.kind)
          : hip.hipGraphAddMemcpyNode(Native(node), Native(graph),
                                      Native(after), count, &copy);
  if (error == hipSuccess) {
    RememberNew(*node,
                RecordOf(kMemcpyNode, &NodeRecord::copy, *params, handle));
  }
  return NoteResult(context, error);
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ReadRecord(node, kMemcpyNode, &NodeRecord::copy, params);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node,
                                    const CUDA_MEMCPY3D* params) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  Region region;
  if (CUresult r = RegionOf(params, &region); r != CUDA_SUCCESS) return r;
  const hipMemcpy3DParms copy = Copy3D(region);
  const hipError_t error =
      IsLine(region) ? hip.hipGraphMemcpyNodeSetParams1D(
                           Native(node), region.to.start, region.from.start,
                           region.width, copy.kind)
                     : hip.hipGraphMemcpyNodeSetParams(Native(node), &copy);
  if (error == hipSuccess) {
    Remember(node, RecordOf(kMemcpyNode, &NodeRecord::copy, *params,
                            ContextOfNode(node)));
  }
  return NoteResult(context, error);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params,
                                        CUcontext handle) {
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_GIVEN_CONTEXT(context, handle);
  Region region;
  if (CUresult r = RegionOf(params, &region); r != CUDA_SUCCESS) return r;
  const hipMemcpy3DParms copy = Copy3D(region);
  CERB_NODE_OF_EXEC(at, exec, node);
  const hipError_t error =
      IsLine(region)
          ? hip.hipGraphExecMemcpyNodeSetParams1D(
                at.exec, at.node, region.to.start, region.from.start,
                region.width, copy.kind)
          : hip.hipGraphExecMemcpyNodeSetParams(at.exec, at.node, &copy);
  return NoteChange(error, context, exec, node,
                    RecordOf(kMemcpyNode, &NodeRecord::copy, *params, handle));
}

// --- sets ---

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params,
                              CUcontext handle) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_GIVEN_CONTEXT(context, handle);
  const hipMemsetParams out = NativeSet(*params);
  const hipError_t error = hip.hipGraphAddMemsetNode(
      Native(node), Native(graph), Native(after), count, &out);
  if (error == hipSuccess) {
    RememberNew(*node,
                RecordOf(kMemsetNode, &NodeRecord::set, *params, handle));
  }
  return NoteResult(context, error);
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node,
                                    CUDA_MEMSET_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ReadRecord(node, kMemsetNode, &NodeRecord::set, params);
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                    const CUDA_MEMSET_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipMemsetParams out = NativeSet(*params);
  const hipError_t error = hip.hipGraphMemsetNodeSetParams(Native(node), &out);
  if (error == hipSuccess) {
    Remember(node, RecordOf(kMemsetNode, &NodeRecord::set, *params,
                            ContextOfNode(node)));
  }
  return NoteResult(context, error);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params,
                                        CUcontext handle) {
  if (exec == nullptr || node == nullptr || params == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_GIVEN_CONTEXT(context, handle);
  const hipMemsetParams out = NativeSet(*params);
  CERB_NODE_OF_EXEC(at, exec, node);
  const hipError_t error =
      hip.hipGraphExecMemsetNodeSetParams(at.exec, at.node, &out);
  return NoteChange(error, context, exec, node,
                    RecordOf(kMemsetNode, &NodeRecord::set, *params, handle));
}

// --- functions of the host ---

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr || params->fn == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const hipHostNodeParams out = {params->fn, params->userData};
  const hipError_t error = hip.hipGraphAddHostNode(Native(node), Native(graph),
                                                   Native(after), count, &out);
  if (error == hipSuccess) {
    RememberNew(*node, RecordOf(kHostNode, &NodeRecord::host, *params));
  }
  return NoteResult(context, error);
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node,
                                  CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ReadRecord(node, kHostNode, &NodeRecord::host, params);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                  const CUDA_HOST_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr || params->fn == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const hipHostNodeParams out = {params->fn, params->userData};
  const hipError_t error = hip.hipGraphHostNodeSetParams(Native(node), &out);
  if (error == hipSuccess) {
    Remember(node, RecordOf(kHostNode, &NodeRecord::host, *params,
                            ContextOfNode(node)));
  }
  return NoteResult(context, error);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  if (exec == nullptr || node == nullptr || params == nullptr ||
      params->fn == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const hipHostNodeParams out = {params->fn, params->userData};
  CERB_NODE_OF_EXEC(at, exec, node);
  const hipError_t error =
      hip.hipGraphExecHostNodeSetParams(at.exec, at.node, &out);
  return NoteChange(error, context, exec, node,
                    RecordOf(kHostNode, &NodeRecord::host, *params));
}

// --- empty nodes and child graphs ---

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* after, std::size_t count) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error = hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                                    Native(after), count);
  return RememberNew(error, context, node, kEmptyNode);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                  const CUgraphNode* after, std::size_t count,
                                  CUgraph child) {
  if (node == nullptr || child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  // CUDA has none in child graphs.
  bool has_conditions = false;
  CUresult result = HasConditions(child, &has_conditions);
  if (result != CUDA_SUCCESS) return result;
  if (has_conditions) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  result = DeviceToCopyOn(child, &device);
  if (result != CUDA_SUCCESS) return result;
  {
    const CurrentDevice current(device);
    result = NoteResult(context, hip.hipGraphAddChildGraphNode(
                                     Native(node), Native(graph), Native(after),
                                     count, Native(child)));
  }
  if (result == CUDA_SUCCESS) result = RememberNewChild(*node, child);
  if (result == CUDA_SUCCESS) CloneUserObjects(child, graph);
  return result;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(
      context, hip.hipGraphChildGraphNodeGetGraph(Native(node), Native(graph)));
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            CUgraph child) {
  if (exec == nullptr || node == nullptr || child == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  bool has_conditions = false, needs_plan = false;
  CUresult result = HasConditions(child, &has_conditions);
  if (result == CUDA_SUCCESS) result = NeedsPlan(child, &needs_plan);
  if (result != CUDA_SUCCESS) return result;
  if (has_conditions) return CUDA_ERROR_INVALID_VALUE;
  if (IsPlanChild(exec, node)) {
    NodeNames names;
    result = CompareExecChild(exec, node, child, &names);
    if (result == CUDA_SUCCESS) {
      result = SetPlanChild(context, exec, node, child, names);
    }
    if (result != CUDA_SUCCESS) return result;
    KeepUserObjectsOfChild(child, exec);
    NoteExecChild(exec, node, child);
    return CUDA_SUCCESS;
  }
  if (needs_plan) return CUDA_ERROR_INVALID_VALUE;
  CERB_NODE_OF_EXEC(at, exec, node);
  Device* device = nullptr;
  result = DeviceToCopyOn(child, &device);
  if (result != CUDA_SUCCESS) return result;
  const CurrentDevice current(device);
  const hipError_t error =
      hip.hipGraphExecChildGraphNodeSetParams(at.exec, at.node, Native(child));
  if (error == hipSuccess) {
    KeepUserObjectsOfChild(child, exec);
    NoteExecChild(exec, node, child);
  }
  return NoteResult(context, error);
}

// --- events ---

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* after, std::size_t count,
                                   CUevent event) {
  if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error = hip.hipGraphAddEventRecordNode(
      Native(node), Native(graph), Native(after), count, Native(event));
  return RememberNew(error, context, node, kRecordEventNode);
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* after, std::size_t count,
                                 CUevent event) {
  if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipError_t error = hip.hipGraphAddEventWaitNode(
      Native(node), Native(graph), Native(after), count, Native(event));
  return RememberNew(error, context, node, kWaitEventNode);
}

#define CERB_EVENT_NODE(kind)                                                  \
  CUresult cuGraphEvent##kind##NodeGetEvent(CUgraphNode node,                  \
                                            CUevent* event) {                  \
    if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;  \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    return NoteResult(context, hip.hipGraphEvent##kind##NodeGetEvent(          \
                                   Native(node), Native(event)));              \
  }                                                                            \
  CUresult cuGraphEvent##kind##NodeSetEvent(CUgraphNode node, CUevent event) { \
    if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;  \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    return NoteResult(context, hip.hipGraphEvent##kind##NodeSetEvent(          \
                                   Native(node), Native(event)));              \
  }                                                                            \
  CUresult cuGraphExecEvent##kind##NodeSetEvent(                               \
      CUgraphExec exec, CUgraphNode node, CUevent event) {                     \
    if (exec == nullptr || node == nullptr || event == nullptr) {              \
      return CUDA_ERROR_INVALID_VALUE;                                         \
    }                                                                          \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    CERB_NODE_OF_EXEC(at, exec, node);                                         \
    const hipError_t error = hip.hipGraphExecEvent##kind##NodeSetEvent(        \
        at.exec, at.node, Native(event));                                      \
    if (error == hipSuccess) NoteExecEvent(exec, node, event);                 \
    return NoteResult(context, error);                                         \
  }
CERB_EVENT_NODE(Record)
CERB_EVENT_NODE(Wait)
#undef CERB_EVENT_NODE

// --- memory ---

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph,
                                const CUgraphNode* after, std::size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (HasOwnMemory(*params)) {
    auto record = std::make_shared<NodeRecord>();
    const CUresult result =
        GetNodeMemory(graph, after, count, params, &record->allocated);
    if (result != CUDA_SUCCESS) return result;
    record->type = kAllocNode;
    record->memory = *params;
    return AddNodeOfMemory(context, std::move(record), node, graph, after,
                           count);
  }
  CUDA_MEM_ALLOC_NODE_PARAMS there;
  std::vector<CUmemAccessDesc> access;
  if (CUresult r = HipAllocation(*params, &there, &access); r != CUDA_SUCCESS) {
    return r;
  }
  const hipError_t error = hip.hipGraphAddMemAllocNode(
      Native(node), Native(graph), Native(after), count, &there);
  if (error == hipSuccess) {
    params->dptr = there.dptr;
    NoteGraphMemoryFreed(there.dptr);
  }
  return RememberNew(error, context, node, kAllocNode);
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                      CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const RecordPtr record = FindRecord(node);
  if (const auto* memory = NodeMemoryOf(record, kAllocNode)) {
    *params = *memory;
    return CUDA_SUCCESS;
  }
  const hipError_t error =
      hip.hipGraphMemAllocNodeGetParams(Native(node), params);
  if (error == hipSuccess) {
    params->poolProps.location.id =
        FromHipOrdinal(params->poolProps.location.id);
  }
  return NoteResult(context, error);
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph,
                               const CUgraphNode* after, std::size_t count,
                               CUdeviceptr address) {
  if (node == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (IsNodeMemory(address)) {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.dptr = address;
    const CUresult result = AddNodeOfMemory(
        context, RecordOf(kFreeNode, &NodeRecord::memory, params), node, graph,
        after, count);
    if (result == CUDA_SUCCESS) NoteFreeNode(address, *node);
    return result;
  }
  const hipError_t error =
      hip.hipGraphAddMemFreeNode(Native(node), Native(graph), Native(after),
                                 count, reinterpret_cast<void*>(address));
  return RememberNew(error, context, node, kFreeNode);
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  if (node == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const RecordPtr record = FindRecord(node);
  if (const auto* memory = NodeMemoryOf(record, kFreeNode)) {
    *address = memory->dptr;
    return CUDA_SUCCESS;
  }
  return NoteResult(context,
                    hip.hipGraphMemFreeNodeGetParams(Native(node), address));
}

// --- of any kind, by one structure ---

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph,
                        const CUgraphNode* after, std::size_t count,
                        CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case kKernelNode:
      return cuGraphAddKernelNode_v2(node, graph, after, count,
                                     &params->kernel);
    case kMemcpyNode:
      return cuGraphAddMemcpyNode(node, graph, after, count,
                                  &params->memcpy.copyParams,
                                  params->memcpy.copyCtx);
    case kMemsetNode:
      return cuGraphAddMemsetNode(node, graph, after, count, &params->memset,
                                  params->memset.ctx);
    case kHostNode:
      return cuGraphAddHostNode(node, graph, after, count, &params->host);
    case kChildNode: return AddChildNode(node, graph, after, count, *params);
    case kEmptyNode: return cuGraphAddEmptyNode(node, graph, after, count);
    case kWaitEventNode:
      return cuGraphAddEventWaitNode(node, graph, after, count, params->event);
    case kRecordEventNode:
      return cuGraphAddEventRecordNode(node, graph, after, count,
                                       params->event);
    case kSignalNode:
      return cuGraphAddExternalSemaphoresSignalNode(node, graph, after, count,
                                                    &params->signal);
    case kWaitNode:
      return cuGraphAddExternalSemaphoresWaitNode(node, graph, after, count,
                                                  &params->wait);
    case kOperationsNode:
      return cuGraphAddBatchMemOpNode(node, graph, after, count,
                                      &params->operations);
    case kAllocNode:
      return cuGraphAddMemAllocNode(node, graph, after, count, &params->alloc);
    case kFreeNode:
      return cuGraphAddMemFreeNode(node, graph, after, count, params->dptr);
    case kConditionalNode:
      return AddConditionalNode(node, graph, after, count,
                                &params->conditional);
    default: return RefuseNodeType(params->type);
  }
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* after,
                           const CUgraphEdgeData* edges, std::size_t count,
                           CUgraphNodeParams* params) {
  CUresult result = CheckEdges(after, edges, count);
  if (result != CUDA_SUCCESS) return result;
  result = cuGraphAddNode(node, graph, after, count, params);
  if (result == CUDA_SUCCESS) NoteEdges(after, *node, edges, count);
  return result;
}
// From version 3 on a kernel node's context has to be that of its function;
// here functions belong to no context.
CUresult cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* after,
                           const CUgraphEdgeData* edges, std::size_t count,
                           CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(node, graph, after, edges, count, params);
}
CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* params) {
  return cuGraphNodeSetParams(node, params);
}
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeType type = kEmptyNode;
  if (CUresult r = cuGraphNodeGetType(node, &type); r != CUDA_SUCCESS) return r;
  *params = {};
  params->type = type;
  switch (type) {
    case kKernelNode:
      return cuGraphKernelNodeGetParams_v2(node, &params->kernel);
    case kMemcpyNode:
      params->memcpy.copyCtx = ContextOfNode(node);
      return cuGraphMemcpyNodeGetParams(node, &params->memcpy.copyParams);
    case kMemsetNode:
      params->memset.ctx = ContextOfNode(node);
      return cuGraphMemsetNodeGetParams(node, &params->memset);
    case kHostNode: return cuGraphHostNodeGetParams(node, &params->host);
    case kChildNode:
      return cuGraphChildGraphNodeGetGraph(node, &params->graph.graph);
    case kEmptyNode: return CUDA_SUCCESS;
    case kWaitEventNode:
      return cuGraphEventWaitNodeGetEvent(node, &params->event);
    case kRecordEventNode:
      return cuGraphEventRecordNodeGetEvent(node, &params->event);
    case kSignalNode:
      return cuGraphExternalSemaphoresSignalNodeGetParams(node,
                                                          &params->signal);
    case kWaitNode:
      return cuGraphExternalSemaphoresWaitNodeGetParams(node, &params->wait);
    case kOperationsNode:
      return cuGraphBatchMemOpNodeGetParams(node, &params->operations);
    case kAllocNode: return cuGraphMemAllocNodeGetParams(node, &params->alloc);
    case kFreeNode: return cuGraphMemFreeNodeGetParams(node, &params->dptr);
    case kConditionalNode:
      return ReadRecord(node, type, &NodeRecord::conditional,
                        &params->conditional);
    default: return RefuseNodeType(type);
  }
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case kKernelNode:
      return cuGraphKernelNodeSetParams_v2(node, &params->kernel);
    case kMemcpyNode:
      return cuGraphMemcpyNodeSetParams(node, &params->memcpy.copyParams);
    case kMemsetNode: return cuGraphMemsetNodeSetParams(node, &params->memset);
    case kHostNode: return cuGraphHostNodeSetParams(node, &params->host);
    case kWaitEventNode:
      return cuGraphEventWaitNodeSetEvent(node, params->event);
    case kRecordEventNode:
      return cuGraphEventRecordNodeSetEvent(node, params->event);
    case kSignalNode:
      return cuGraphExternalSemaphoresSignalNodeSetParams(node,
                                                          &params->signal);
    case kWaitNode:
      return cuGraphExternalSemaphoresWaitNodeSetParams(node, &params->wait);
    case kOperationsNode:
      return cuGraphBatchMemOpNodeSetParams(node, &params->operations);
    default: return RefuseNodeType(params->type);
  }
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                  CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case kKernelNode:
      return cuGraphExecKernelNodeSetParams_v2(exec, node, &params->kernel);
    case kMemcpyNode:
      return cuGraphExecMemcpyNodeSetParams(
          exec, node, &params->memcpy.copyParams, params->memcpy.copyCtx);
    case kMemsetNode:
      return cuGraphExecMemsetNodeSetParams(exec, node, &params->memset,
                                            params->memset.ctx);
    case kHostNode:
      return cuGraphExecHostNodeSetParams(exec, node, &params->host);
    case kChildNode:
      return cuGraphExecChildGraphNodeSetParams(exec, node,
                                                params->graph.graph);
    case kWaitEventNode:
      return cuGraphExecEventWaitNodeSetEvent(exec, node, params->event);
    case kRecordEventNode:
      return cuGraphExecEventRecordNodeSetEvent(exec, node, params->event);
    case kSignalNode:
      return cuGraphExecExternalSemaphoresSignalNodeSetParams(exec, node,
                                                              &params->signal);
    case kWaitNode:
      return cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, node,
                                                            &params->wait);
    case kOperationsNode:
      return cuGraphExecBatchMemOpNodeSetParams(exec, node,
                                                &params->operations);
    default: return RefuseNodeType(params->type);
  }
}

}  // namespace api
}  // namespace cerberus::stub
