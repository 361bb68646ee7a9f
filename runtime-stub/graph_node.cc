// Nodes of graphs: added, described and changed. A kernel node gets its
// arguments packed as a launch does.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api.h"
#include "runtime-stub/context.h"
#include "runtime-stub/copy_region.h"
#include "runtime-stub/device_launch.h"
#include "runtime-stub/error.h"
#include "runtime-stub/graph.h"
#include "runtime-stub/graph_plan.h"
#include "runtime-stub/launch.h"
#include "runtime-stub/location.h"
#include "runtime-stub/stream.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// CUgraphNodeType.
enum : int {
  kKernelNode = 0,
  kMemcpyNode = 1,
  kMemsetNode = 2,
  kHostNode = 3,
  kChildNode = 4,
  kEmptyNode = 5,
  kWaitEventNode = 6,
  kRecordEventNode = 7,
  kSignalNode = 8,
  kWaitNode = 9,
  kAllocNode = 10,
  kFreeNode = 11,
  kOperationsNode = 12,
};

// What the program said of a node.
struct NodeRecord {
  int type = kEmptyNode;
  bool launches = false;  // kernels, from the device
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  std::vector<std::uint8_t> arguments;  // `kernel` points into these two
  std::vector<void*> pointers;
  std::map<int, CUkernelNodeAttrValue> attributes;
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS set = {};
  CUDA_HOST_NODE_PARAMS host = {};
};

std::atomic<bool> g_any_launches{false};

std::mutex g_mutex;
using Records = std::map<CUgraphNode, std::unique_ptr<NodeRecord>>;
NeverDestroyed<Records> g_all_records;
auto& g_records = *g_all_records;

void Remember(CUgraphNode node, std::unique_ptr<NodeRecord> record) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_records[node] = std::move(record);
}
// A node that was added, but cannot be remembered for want of memory, goes.
void RememberNew(CUgraphNode node, std::unique_ptr<NodeRecord> record) {
  try {
    Remember(node, std::move(record));
  } catch (...) {
    hip.hipGraphDestroyNode(Native(node));
    throw;
  }
}
template <typename Params>
void RememberNew(CUgraphNode node, int type, Params NodeRecord::* field,
                 const Params& params) {
  auto record = std::make_unique<NodeRecord>();
  record->type = type;
  (*record).*field = params;
  RememberNew(node, std::move(record));
}

// Calls `use` with the record of a node of that type.
template <typename Use>
CUresult WithRecord(CUgraphNode node, int type, Use use) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_records.find(node);
  if (at == g_records.end()) {
    Log(LogLevel::kError,
        "parameters of a captured node cannot be asked for, only those of "
        "nodes that were added");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (at->second->type != type) return CUDA_ERROR_INVALID_VALUE;
  use(at->second.get());
  return CUDA_SUCCESS;
}

CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr ? params.func
                                : reinterpret_cast<CUfunction>(params.kern);
}
CUDA_KERNEL_NODE_PARAMS Widened(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  CUDA_KERNEL_NODE_PARAMS wide = {};
  static_cast<CUDA_KERNEL_NODE_PARAMS_v1&>(wide) = params;
  return wide;
}

// The context of a function of a module is the module's; that of a kernel of a
// library, `kern`, the one named with it, else the current one.
CUresult UseNodeContext(const CUDA_KERNEL_NODE_PARAMS& params,
                        Context** context) {
  const Kernel* kernel = KernelOf(FunctionOf(params));
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return params.func == nullptr && params.ctx != nullptr &&
                 kernel->module->home() == nullptr
             ? GivenContext(params.ctx, context)
             : UseModule(*kernel->module, context);
}

// Lets pointers into one block of arguments point into its copy.
void Rebase(const std::vector<std::uint8_t>& from,
            std::vector<std::uint8_t>* to, std::vector<void*>* pointers) {
  for (void*& pointer : *pointers) {
    if (pointer == nullptr) continue;
    pointer = to->data() + (static_cast<std::uint8_t*>(pointer) - from.data());
  }
}
std::unique_ptr<KernelNode> KernelNodeOf(const NodeRecord& record) {
  auto node = std::make_unique<KernelNode>();
  node->params = record.kernel;
  node->arguments = record.arguments;
  node->pointers = record.pointers;
  Rebase(record.arguments, &node->arguments, &node->pointers);
  node->params.kernelParams = node->pointers.data();
  return node;
}

// Calls `use` with the node in HIP's terms, and makes its record.
template <typename Use>
CUresult WithKernelNode(const CUDA_KERNEL_NODE_PARAMS& params, bool may_launch,
                        std::unique_ptr<NodeRecord>* record, Use use) {
  Context* context = nullptr;
  if (CUresult r = UseNodeContext(params, &context); r != CUDA_SUCCESS) {
    return r;
  }
  const Grid grid = {params.gridDimX,       params.gridDimY,
                     params.gridDimZ,       params.blockDimX,
                     params.blockDimY,      params.blockDimZ,
                     params.sharedMemBytes, false};
  LaunchTarget target;
  CUresult result =
      FindLaunchTarget(context, FunctionOf(params), grid, &target);
  if (result != CUDA_SUCCESS) return result;
  if (target.info->launches && !may_launch) {
    return RefuseToCapture(*target.kernel);
  }
  auto made = std::make_unique<NodeRecord>();
  made->type = kKernelNode;
  made->launches = target.info->launches;
  if (made->launches) g_any_launches = true;
  made->kernel = params;
  made->arguments.resize(target.info->explicit_size());
  result =
      FillArguments(context, *target.info, grid, nullptr, params.kernelParams,
                    params.extra, made->arguments.data());
  if (result != CUDA_SUCCESS) return result;
  made->pointers.resize(target.info->params.size() + 2);
  ArgumentPointers(*target.info, made->arguments.data(), made->pointers.data());
  made->kernel.kernelParams = made->pointers.data();
  made->kernel.extra = nullptr;
  hipKernelNodeParams out = {};
  out.func = reinterpret_cast<void*>(target.function);
  out.gridDim = {grid.grid_x, grid.grid_y, grid.grid_z};
  const WorkGroup block =
      target.info->WorkGroupOf(grid.block_x, grid.block_y, grid.block_z);
  out.blockDim = {block[0], block[1], block[2]};
  out.sharedMemBytes = target.info->HardwareShared(grid.dynamic_shared);
  out.kernelParams = made->pointers.data();
  *record = std::move(made);
  return NoteResult(context, use(out));
}

CUresult AddKernelNode(CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* after, std::size_t count,
                       const CUDA_KERNEL_NODE_PARAMS& params) {
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<NodeRecord> record;
  const CUresult result =
      WithKernelNode(params, true, &record, [&](const hipKernelNodeParams& p) {
        return hip.hipGraphAddKernelNode(Native(node), Native(graph),
                                         Native(after), count, &p);
      });
  if (result == CUDA_SUCCESS) RememberNew(*node, std::move(record));
  return result;
}
CUresult SetKernelNode(CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS& params) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<NodeRecord> record;
  const CUresult result =
      WithKernelNode(params, true, &record, [&](const hipKernelNodeParams& p) {
        return hip.hipGraphKernelNodeSetParams(Native(node), &p);
      });
  if (result == CUDA_SUCCESS) Remember(node, std::move(record));
  return result;
}
CUresult SetExecKernelNode(CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS& params) {
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<NodeRecord> record;
  if (IsPlanKernel(exec, node)) {
    const CUresult result =
        WithKernelNode(params, true, &record,
                       [](const hipKernelNodeParams&) { return hipSuccess; });
    if (result == CUDA_SUCCESS) {
      SetPlanKernel(exec, node, KernelNodeOf(*record));
    }
    return result;
  }
  CERB_NODE_OF_EXEC(at, exec, node);
  return WithKernelNode(
      params, false, &record, [&](const hipKernelNodeParams& p) {
        return hip.hipGraphExecKernelNodeSetParams(at.exec, at.node, &p);
      });
}

hipPitchedPtr PitchedPtr(const Side& side) {
  return {side.start, side.pitch, side.pitch, side.height};
}
hipMemcpy3DParms Copy3D(const Region& region) {
  hipMemcpy3DParms copy = {};
  copy.srcPtr = PitchedPtr(region.from);
  copy.dstPtr = PitchedPtr(region.to);
  copy.extent[0] = region.width;
  copy.extent[1] = region.height;
  copy.extent[2] = region.depth;
  copy.kind = KindOfCopy(region);
  return copy;
}
bool IsLine(const Region& region) {
  return region.height == 1 && region.depth == 1;
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

CUresult RefuseChild() {
  Log(LogLevel::kError,
      "a graph with kernels that launch kernels cannot be part of another");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult RefuseNodeType(int type) {
  Log(LogLevel::kError, "graph nodes of type %d are not supported", type);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

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

std::vector<CUgraphNode> NodesOf(CUgraph graph) {
  std::size_t count = 0;
  if (hip.hipGraphGetNodes(Native(graph), nullptr, &count) != hipSuccess) {
    return {};
  }
  std::vector<CUgraphNode> nodes(count);
  if (count != 0 && hip.hipGraphGetNodes(Native(graph), Native(nodes.data()),
                                         &count) != hipSuccess) {
    return {};
  }
  return nodes;
}

bool AnyNodeLaunchesKernels() { return g_any_launches; }
bool LaunchesKernels(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_records.find(node);
  return at != g_records.end() && at->second->launches;
}
std::unique_ptr<KernelNode> CopyKernelNode(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return KernelNodeOf(*g_records.at(node));
}

CUresult CaptureLaunch(hipStream_t stream, const LaunchTarget& target,
                       const Grid& grid, void** params, void** extra) {
  constexpr unsigned kSetDependencies = 1;
  int status = 0;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* before = nullptr;
  std::size_t count = 0;
  hipError_t error = hip.hipStreamGetCaptureInfo_v2(stream, &status, &id,
                                                    &graph, &before, &count);
  if (error != hipSuccess) return FromHip(error);
  CUDA_KERNEL_NODE_PARAMS node_params = {};
  node_params.func = target.kernel->function_handle();
  node_params.gridDimX = grid.grid_x;
  node_params.gridDimY = grid.grid_y;
  node_params.gridDimZ = grid.grid_z;
  node_params.blockDimX = grid.block_x;
  node_params.blockDimY = grid.block_y;
  node_params.blockDimZ = grid.block_z;
  node_params.sharedMemBytes = grid.dynamic_shared;
  node_params.kernelParams = params;
  node_params.extra = extra;
  // The list is HIP's, and changes with the graph.
  const std::vector<hipGraphNode_t> after(before, before + count);
  CUgraphNode node = nullptr;
  const CUresult result = AddKernelNode(
      &node, reinterpret_cast<CUgraph>(graph),
      reinterpret_cast<const CUgraphNode*>(after.data()), count, node_params);
  if (result != CUDA_SUCCESS) return result;
  return FromHip(hip.hipStreamUpdateCaptureDependencies(stream, Native(&node),
                                                        1, kSetDependencies));
}

void ForgetNode(CUgraphNode node) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_records.erase(node);
}
void ForgetNodes(CUgraph graph) {
  for (CUgraphNode node : NodesOf(graph)) ForgetNode(node);
}
void CopyRecords(CUgraph from, CUgraph clone) {
  for (CUgraphNode node : NodesOf(from)) {
    hipGraphNode_t copy = nullptr;
    if (hip.hipGraphNodeFindInClone(&copy, Native(node), Native(clone)) !=
        hipSuccess) {
      continue;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_records.find(node);
    if (at == g_records.end()) continue;
    auto record = std::make_unique<NodeRecord>(*at->second);
    // Its own arguments, not those of the original.
    Rebase(at->second->arguments, &record->arguments, &record->pointers);
    record->kernel.kernelParams = record->pointers.data();
    g_records[reinterpret_cast<CUgraphNode>(copy)] = std::move(record);
  }
}

namespace api {

// --- kernels ---

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* after, std::size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddKernelNode(node, graph, after, count, Widened(*params));
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* after, std::size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddKernelNode(node, graph, after, count, *params);
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                    CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kKernelNode, [&](const NodeRecord* record) {
    *params = record->kernel;
    params->func = FunctionOf(record->kernel);
  });
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                       CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kKernelNode, [&](const NodeRecord* record) {
    *params = record->kernel;
  });
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                    const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetKernelNode(node, Widened(*params));
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetKernelNode(node, *params);
}
CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetExecKernelNode(exec, node, Widened(*params));
}
CUresult cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetExecKernelNode(exec, node, *params);
}

// Attributes are hints but for cooperation and clusters.
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue* value) {
  if (value == nullptr || !IsSoundAttribute(id, *value)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int set = 0;
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE ||
      id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    std::memcpy(&set, value, sizeof set);
    if (set > (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ? 1 : 0)) {
      Log(LogLevel::kError,
          "graph nodes of cooperative launches or clusters are not supported");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return WithRecord(node, kKernelNode, [&](NodeRecord* record) {
    record->attributes[id] = *value;
    // HIP has the number too. What it makes of it is a hint to it as well.
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      (void)hip.hipGraphKernelNodeSetAttribute(
          Native(node), CU_LAUNCH_ATTRIBUTE_PRIORITY, value);
    }
  });
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kKernelNode, [&](const NodeRecord* record) {
    const auto at = record->attributes.find(id);
    *value =
        at != record->attributes.end() ? at->second : CUkernelNodeAttrValue{};
  });
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  std::map<int, CUkernelNodeAttrValue> attributes;
  const CUresult result = WithRecord(
      from, kKernelNode,
      [&](const NodeRecord* record) { attributes = record->attributes; });
  if (result != CUDA_SUCCESS) return result;
  return WithRecord(to, kKernelNode, [&](NodeRecord* record) {
    record->attributes = std::move(attributes);
  });
}

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
    RememberNew(*node, kMemcpyNode, &NodeRecord::copy, *params);
  }
  return NoteResult(context, error);
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kMemcpyNode,
                    [&](const NodeRecord* record) { *params = record->copy; });
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
    WithRecord(node, kMemcpyNode,
               [&](NodeRecord* record) { record->copy = *params; });
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
  return NoteResult(
      context, IsLine(region) ? hip.hipGraphExecMemcpyNodeSetParams1D(
                                    at.exec, at.node, region.to.start,
                                    region.from.start, region.width, copy.kind)
                              : hip.hipGraphExecMemcpyNodeSetParams(
                                    at.exec, at.node, &copy));
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
    RememberNew(*node, kMemsetNode, &NodeRecord::set, *params);
  }
  return NoteResult(context, error);
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node,
                                    CUDA_MEMSET_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kMemsetNode,
                    [&](const NodeRecord* record) { *params = record->set; });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                    const CUDA_MEMSET_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  const hipMemsetParams out = NativeSet(*params);
  const hipError_t error = hip.hipGraphMemsetNodeSetParams(Native(node), &out);
  if (error == hipSuccess) {
    WithRecord(node, kMemsetNode,
               [&](NodeRecord* record) { record->set = *params; });
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
  return NoteResult(
      context, hip.hipGraphExecMemsetNodeSetParams(at.exec, at.node, &out));
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
    RememberNew(*node, kHostNode, &NodeRecord::host, *params);
  }
  return NoteResult(context, error);
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node,
                                  CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithRecord(node, kHostNode,
                    [&](const NodeRecord* record) { *params = record->host; });
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
    WithRecord(node, kHostNode,
               [&](NodeRecord* record) { record->host = *params; });
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
  return NoteResult(context,
                    hip.hipGraphExecHostNodeSetParams(at.exec, at.node, &out));
}

// --- empty nodes and child graphs ---

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* after, std::size_t count) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context,
                    hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                             Native(after), count));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                  const CUgraphNode* after, std::size_t count,
                                  CUgraph child) {
  if (node == nullptr || child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (NeedsPlan(child)) return RefuseChild();
  return NoteResult(context, hip.hipGraphAddChildGraphNode(
                                 Native(node), Native(graph), Native(after),
                                 count, Native(child)));
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
  if (NeedsPlan(child)) return RefuseChild();
  CERB_NODE_OF_EXEC(at, exec, node);
  return NoteResult(context, hip.hipGraphExecChildGraphNodeSetParams(
                                 at.exec, at.node, Native(child)));
}

// --- events ---

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* after, std::size_t count,
                                   CUevent event) {
  if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphAddEventRecordNode(
                                 Native(node), Native(graph), Native(after),
                                 count, Native(event)));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* after, std::size_t count,
                                 CUevent event) {
  if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphAddEventWaitNode(
                                 Native(node), Native(graph), Native(after),
                                 count, Native(event)));
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
    return NoteResult(context, hip.hipGraphExecEvent##kind##NodeSetEvent(      \
                                   at.exec, at.node, Native(event)));          \
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
  CUDA_MEM_ALLOC_NODE_PARAMS there;
  std::vector<CUmemAccessDesc> access;
  if (CUresult r = HipAllocation(*params, &there, &access); r != CUDA_SUCCESS) {
    return r;
  }
  const hipError_t error = hip.hipGraphAddMemAllocNode(
      Native(node), Native(graph), Native(after), count, &there);
  if (error == hipSuccess) params->dptr = there.dptr;
  return NoteResult(context, error);
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                      CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
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
  return NoteResult(context, hip.hipGraphAddMemFreeNode(
                                 Native(node), Native(graph), Native(after),
                                 count, reinterpret_cast<void*>(address)));
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  if (node == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
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
    case kChildNode:
      return cuGraphAddChildGraphNode(node, graph, after, count,
                                      params->graph.graph);
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
    default: return RefuseNodeType(params->type);
  }
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* after,
                           const CUgraphEdgeData* edges, std::size_t count,
                           CUgraphNodeParams* params) {
  if (CUresult r = CheckEdges(edges, count); r != CUDA_SUCCESS) return r;
  return cuGraphAddNode(node, graph, after, count, params);
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
      return cuGraphMemcpyNodeGetParams(node, &params->memcpy.copyParams);
    case kMemsetNode: return cuGraphMemsetNodeGetParams(node, &params->memset);
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
