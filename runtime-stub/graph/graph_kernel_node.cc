// Nodes of kernels, which get their arguments packed as a launch does.
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/graph/graph_record.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/launch.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

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
  return (params.func == nullptr || params.kern != nullptr) &&
                 params.ctx != nullptr && kernel->module->home() == nullptr
             ? GivenContext(params.ctx, context)
             : UseModule(*kernel->module, context);
}

// Calls `use` with the node in HIP's terms, and makes its record.
template <typename Use>
CUresult WithKernelNode(const CUDA_KERNEL_NODE_PARAMS& params,
                        const KernelAttributes& attributes, bool may_launch,
                        RecordPtr* record, Use use) {
  Context* context = nullptr;
  if (CUresult r = UseNodeContext(params, &context); r != CUDA_SUCCESS) {
    return r;
  }
  Grid grid = {};
  if (CUresult r = GridOf(params, attributes, &grid); r != CUDA_SUCCESS) {
    return r;
  }
  LaunchTarget target;
  CUresult result =
      FindLaunchTarget(context, FunctionOf(params), &grid, &target);
  if (result == CUDA_SUCCESS && grid.cooperative) {
    result = CheckCooperative(context, target.kernel, grid);
  }
  if (result != CUDA_SUCCESS) return result;
  if (target.info->launches && !may_launch) {
    return RefuseToCapture(*target.kernel);
  }
  auto made = std::make_shared<NodeRecord>();
  made->type = kKernelNode;
  made->context = context->handle();
  made->attributes = attributes;
  made->launches = target.info->launches;
  if (made->launches) NoteSteppedNode();
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

// HIP 6.4 holds the new blocks against the node's kernel, not the new one:
// another kernel that takes more threads gets the smallest blocks first.
hipError_t SetExecNode(const NodeOfExec& at,
                       const hipKernelNodeParams& params) {
  const hipError_t error =
      hip.hipGraphExecKernelNodeSetParams(at.exec, at.node, &params);
  if (error != hipErrorLaunchFailure) return error;
  hipKernelNodeParams smallest = params;
  smallest.blockDim = {1, 1, 1};
  return hip.hipGraphExecKernelNodeSetParams(at.exec, at.node, &smallest) ==
                 hipSuccess
             ? hip.hipGraphExecKernelNodeSetParams(at.exec, at.node, &params)
             : error;
}

// What HIP has to know of the attributes: the priority, which is a hint to it
// as well, and cooperation, without which blocks may wait for others that have
// no room yet.
CUresult SetNativeAttributes(CUgraphNode node,
                             const KernelAttributes& attributes) {
  for (const auto& [id, value] : attributes) {
    if (id != CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
        id != CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      continue;
    }
    const hipError_t error =
        hip.hipGraphKernelNodeSetAttribute(Native(node), id, &value);
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value.cooperative != 0 &&
        error != hipSuccess && hip.has_cooperative_launch) {
      Log(LogLevel::kError, "this HIP has no cooperative nodes of graphs");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

// Attributes that a node can have, and what this one's are then.
CUresult CheckAttribute(CUkernelNodeAttrID id,
                        const CUkernelNodeAttrValue& value) {
  if (!IsSoundAttribute(id, value)) return CUDA_ERROR_INVALID_VALUE;
  int set = 0;
  std::memcpy(&set, &value, sizeof set);
  if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && set != 0) {
    Log(LogLevel::kError, "graph nodes that kernels change are not supported");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

// A node's parameters and attributes from now on.
CUresult ReplaceKernelNode(CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS& params,
                           const KernelAttributes& attributes) {
  RecordPtr record;
  CUresult result = WithKernelNode(
      params, attributes, true, &record, [&](const hipKernelNodeParams& p) {
        return hip.hipGraphKernelNodeSetParams(Native(node), &p);
      });
  if (result == CUDA_SUCCESS) result = SetNativeAttributes(node, attributes);
  if (result == CUDA_SUCCESS) Remember(node, std::move(record));
  return result;
}

KernelAttributes AttributesOf(CUgraphNode node) {
  const RecordPtr record = FindRecord(node);
  return record != nullptr ? record->attributes : KernelAttributes{};
}

}  // namespace

CUresult AddKernelNode(CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* after, std::size_t count,
                       const CUDA_KERNEL_NODE_PARAMS& params,
                       const KernelAttributes& attributes) {
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [id, value] : attributes) {
    if (CUresult r = CheckAttribute(id, value); r != CUDA_SUCCESS) return r;
  }
  RecordPtr record;
  CUresult result = WithKernelNode(
      params, attributes, true, &record, [&](const hipKernelNodeParams& p) {
        return hip.hipGraphAddKernelNode(Native(node), Native(graph),
                                         Native(after), count, &p);
      });
  if (result != CUDA_SUCCESS) return result;
  result = SetNativeAttributes(*node, attributes);
  if (result == CUDA_SUCCESS) {
    RememberNew(*node, std::move(record));
  } else {
    (void)hip.hipGraphDestroyNode(Native(*node));
  }
  return result;
}
CUresult SetKernelNode(CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS& params) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ReplaceKernelNode(node, params, AttributesOf(node));
}
CUresult SetExecKernelNode(CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS& params) {
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  RecordPtr record;
  CUresult result = CUDA_SUCCESS;
  if (IsPlanStep(exec, node, kKernelNode)) {
    result =
        WithKernelNode(params, AttributesOf(node), true, &record,
                       [](const hipKernelNodeParams&) { return hipSuccess; });
    if (result == CUDA_SUCCESS) SetPlanStep(exec, node, record);
  } else {
    CERB_NODE_OF_EXEC(at, exec, node);
    result = WithKernelNode(
        params, AttributesOf(node), false, &record,
        [&](const hipKernelNodeParams& p) { return SetExecNode(at, p); });
  }
  if (result == CUDA_SUCCESS) NoteExecNode(exec, node, std::move(record));
  return result;
}

CUresult CaptureLaunch(Context* context, hipStream_t stream,
                       const LaunchTarget& target, const Grid& grid,
                       void** params, void** extra,
                       const CUlaunchConfig* config) {
  CUDA_KERNEL_NODE_PARAMS node_params = {};
  // cudart 12 knows its kernels by the function, cudart 13 by the kernel.
  node_params.func = target.kernel->function_handle();
  if (target.kernel->module->home() == nullptr) {
    node_params.kern = target.kernel->kernel_handle();
    node_params.ctx = context->handle();
  }
  node_params.gridDimX = grid.grid_x;
  node_params.gridDimY = grid.grid_y;
  node_params.gridDimZ = grid.grid_z;
  node_params.blockDimX = grid.block_x;
  node_params.blockDimY = grid.block_y;
  node_params.blockDimZ = grid.block_z;
  node_params.sharedMemBytes = grid.dynamic_shared;
  node_params.kernelParams = params;
  node_params.extra = extra;
  KernelAttributes attributes;
  for (unsigned i = 0; config != nullptr && i < config->numAttrs; ++i) {
    attributes[config->attrs[i].id] = config->attrs[i].value;
  }
  if (grid.cooperative) {
    attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
  }
  return CaptureNode(stream, [&](CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* after, std::size_t count) {
    return AddKernelNode(node, graph, after, count, node_params, attributes);
  });
}

namespace api {

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
  CUDA_KERNEL_NODE_PARAMS wide;
  if (CUresult r = GetKernelParams(node, &wide); r != CUDA_SUCCESS) return r;
  *params = wide;
  params->func = FunctionOf(wide);
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                       CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GetKernelParams(node, params);
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

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult r = CheckAttribute(id, *value); r != CUDA_SUCCESS) return r;
  RecordPtr record;
  if (CUresult r = GetRecord(node, kKernelNode, &record); r != CUDA_SUCCESS) {
    return r;
  }
  KernelAttributes attributes = record->attributes;
  attributes[id] = *value;
  return ReplaceKernelNode(node, record->kernel, attributes);
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  RecordPtr record;
  if (CUresult r = GetRecord(node, kKernelNode, &record); r != CUDA_SUCCESS) {
    return r;
  }
  const auto at = record->attributes.find(id);
  *value =
      at != record->attributes.end() ? at->second : CUkernelNodeAttrValue{};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  RecordPtr record, source;
  CUresult result = GetRecord(from, kKernelNode, &source);
  if (result == CUDA_SUCCESS) result = GetRecord(to, kKernelNode, &record);
  if (result != CUDA_SUCCESS) return result;
  return ReplaceKernelNode(to, record->kernel, source->attributes);
}

}  // namespace api
}  // namespace cerberus::stub
