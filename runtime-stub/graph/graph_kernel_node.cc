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
  return params.func == nullptr && params.ctx != nullptr &&
                 kernel->module->home() == nullptr
             ? GivenContext(params.ctx, context)
             : UseModule(*kernel->module, context);
}

// Calls `use` with the node in HIP's terms, and makes its record.
template <typename Use>
CUresult WithKernelNode(const CUDA_KERNEL_NODE_PARAMS& params, bool may_launch,
                        std::unique_ptr<NodeRecord>* record, Use use) {
  Context* context = nullptr;
  if (CUresult r = UseNodeContext(params, &context); r != CUDA_SUCCESS) {
    return r;
  }
  Grid grid = {params.gridDimX,       params.gridDimY,
               params.gridDimZ,       params.blockDimX,
               params.blockDimY,      params.blockDimZ,
               params.sharedMemBytes, false};
  LaunchTarget target;
  CUresult result =
      FindLaunchTarget(context, FunctionOf(params), &grid, &target);
  if (result != CUDA_SUCCESS) return result;
  if (target.info->launches && !may_launch) {
    return RefuseToCapture(*target.kernel);
  }
  auto made = std::make_unique<NodeRecord>();
  made->type = kKernelNode;
  made->launches = target.info->launches;
  if (made->launches) NoteNodeThatLaunches();
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

}  // namespace

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
      params, false, &record,
      [&](const hipKernelNodeParams& p) { return SetExecNode(at, p); });
}

CUresult CaptureLaunch(hipStream_t stream, const LaunchTarget& target,
                       const Grid& grid, void** params, void** extra) {
  constexpr unsigned kSetDependencies = 1;
  if (IsCaptureBroken(stream)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
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

}  // namespace api
}  // namespace cerberus::stub
