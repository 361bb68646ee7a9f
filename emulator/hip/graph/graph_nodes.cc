// The nodes of graphs: what each kind is made from, does, and tells.
#include <algorithm>
#include <cstring>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/memory/copy.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

// What a node was made from; null if it is of another kind.
template <typename T>
const T* ParamsOf(hipGraphNode_t handle, Work::Kind kind) {
  if (handle == nullptr) return nullptr;
  const GraphNode* node = NodeOf(handle);
  if (node->child || node->work.kind != kind || !node->work.params) {
    return nullptr;
  }
  return std::get_if<T>(&node->work.params->value);
}

template <typename T>
hipError_t Ask(hipGraphNode_t node, Work::Kind kind, T* out) {
  const T* params = ParamsOf<T>(node, kind);
  if (params == nullptr || out == nullptr) return hipErrorInvalidValue;
  *out = *params;
  return hipSuccess;
}

hipError_t MakeWork(const hipKernelNodeParams* params, Work* out) {
  if (params == nullptr || params->func == nullptr) {
    return hipErrorInvalidValue;
  }
  Function* function = nullptr;
  hipError_t error = Resolve(params->func, &function);
  if (error != hipSuccess) return error;
  Launch launch;
  error = PrepareLaunch(function, params->gridDim, params->blockDim,
                        params->sharedMemBytes, params->kernelParams,
                        params->extra, false, &launch);
  if (error != hipSuccess) return error;
  *out = LaunchWork(function->module->gpu, std::move(launch));
  return hipSuccess;
}

hipError_t MakeWork(const hipMemcpy3DParms* params, Work* out) {
  Copy3D copy;
  const hipError_t error = CopyOf(params, &copy);
  if (error != hipSuccess) return error;
  *out = CopyWork(copy);
  out->params = Params(*params);
  return hipSuccess;
}

hipError_t MakeCopyWork(void* dst, const void* src, std::size_t bytes,
                        std::uint32_t kind, Work* out) {
  Copy3D copy;
  const hipError_t error = CopyOf(dst, src, bytes, kind, &copy);
  if (error == hipSuccess) *out = CopyWork(copy);
  return error;
}

// To or from a variable of the program.
hipError_t MakeSymbolWork(const void* symbol, void* other, std::size_t bytes,
                          std::size_t offset, std::uint32_t kind,
                          bool to_symbol, Work* out) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  void* address = nullptr;
  std::size_t size = 0;
  error = FindHostVariable(symbol, gpu, &address, &size);
  if (error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  void* at = static_cast<char*>(address) + offset;
  return to_symbol ? MakeCopyWork(at, other, bytes, kind, out)
                   : MakeCopyWork(other, at, bytes, kind, out);
}

hipError_t MakeWork(const hipMemsetParams* params, Work* out) {
  if (params == nullptr || params->dst == nullptr ||
      (params->elementSize != 1 && params->elementSize != 2 &&
       params->elementSize != 4)) {
    return hipErrorInvalidValue;
  }
  Fill fill;
  fill.dst = static_cast<std::uint8_t*>(params->dst);
  fill.pattern = params->value;
  fill.element = params->elementSize;
  fill.pitch = params->pitch;
  fill.width = params->width;
  fill.height = std::max<std::size_t>(params->height, 1);
  *out = {Work::Kind::kSet, [fill] { fill.Run(); }, false, Params(*params)};
  return hipSuccess;
}

hipError_t MakeWork(const hipHostNodeParams* params, Work* out) {
  if (params == nullptr || params->fn == nullptr) return hipErrorInvalidValue;
  *out = {Work::Kind::kHost, [p = *params] { p.fn(p.userData); }, false,
          Params(*params)};
  return hipSuccess;
}

hipError_t MakeRecordWork(hipEvent_t handle, Work* out) {
  const std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (!event) return hipErrorInvalidHandle;
  *out = {Work::Kind::kEvent,
          [event] {
            auto record = std::make_shared<Event::Record>();
            record->fence = std::make_shared<Fence>();
            record->fence->Complete();
            record->time = std::chrono::steady_clock::now();
            std::lock_guard<std::mutex> lock(event->mutex);
            event->record = std::move(record);
          },
          false, Params(handle)};
  return hipSuccess;
}

hipError_t MakeWaitWork(hipEvent_t handle, Work* out) {
  const std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (!event) return hipErrorInvalidHandle;
  *out = {Work::Kind::kWaitEvent,
          [event] {
            std::shared_ptr<Event::Record> record;
            {
              std::lock_guard<std::mutex> lock(event->mutex);
              record = event->record;
            }
            if (record) record->fence->Wait();
          },
          false, Params(handle)};
  return hipSuccess;
}

// Nodes of the current device.
hipError_t MakeWork(const hipBatchMemOpNodeParams* params, Work* out) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (params == nullptr || params->flags != 0) return hipErrorInvalidValue;
  return MemOpsWork(params->paramArray, params->count, gpu, out);
}
hipError_t MakeSemaphoreWork(Work::Kind kind,
                             const hipExternalSemaphoreNodeParams* params,
                             Work* out) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (params == nullptr) return hipErrorInvalidValue;
  return SemaphoreWork(kind, params->extSemArray, params->paramsArray,
                       params->numExtSems, gpu, out);
}

hipError_t Add(hipGraphNode_t* out, hipGraph_t graph,
               const hipGraphNode_t* after, std::size_t count, hipError_t error,
               Work work) {
  return error != hipSuccess
             ? error
             : AddNode(out, graph, after, count, std::move(work));
}

// `exec` null: the node of the graph itself.
hipError_t Set(hipGraphExec_t exec, hipGraphNode_t node, hipError_t error,
               Work work) {
  if (error != hipSuccess) return error;
  return exec == nullptr ? ReplaceWork(node, std::move(work))
                         : ReplaceWork(exec, node, std::move(work));
}

template <typename P>
hipError_t AddFrom(hipGraphNode_t* out, hipGraph_t graph,
                   const hipGraphNode_t* after, std::size_t count,
                   const P* params) {
  Work work;
  const hipError_t error = MakeWork(params, &work);
  return Add(out, graph, after, count, error, std::move(work));
}

template <typename P>
hipError_t SetFrom(hipGraphExec_t exec, hipGraphNode_t node, const P* params) {
  Work work;
  const hipError_t error = MakeWork(params, &work);
  return Set(exec, node, error, std::move(work));
}

}  // namespace

namespace cerberus::emulator::hip {

// As its rows lie in memory, whatever call described it.
Work CopyWork(const Copy3D& copy) {
  const auto kind_of = [&copy] {
    if (copy.src_side == Side::kAny || copy.dst_side == Side::kAny) {
      return hipMemcpyDefault;
    }
    const bool from_host = copy.src_side == Side::kHost;
    const bool to_host = copy.dst_side == Side::kHost;
    return from_host ? to_host ? hipMemcpyHostToHost : hipMemcpyHostToDevice
           : to_host ? hipMemcpyDeviceToHost
                     : hipMemcpyDeviceToDevice;
  };
  const auto rows = [](std::size_t slice, std::size_t pitch) {
    return pitch == 0 ? 0 : slice / pitch;
  };
  hipMemcpy3DParms params = {};
  params.srcPtr = {const_cast<std::uint8_t*>(copy.src), copy.src_pitch,
                   copy.width, rows(copy.src_slice, copy.src_pitch)};
  params.dstPtr = {copy.dst, copy.dst_pitch, copy.width,
                   rows(copy.dst_slice, copy.dst_pitch)};
  params.extent = {copy.width, copy.height, copy.depth};
  params.kind = kind_of();
  return {Work::Kind::kCopy, [copy] { copy.Run(); }, false, Params(params)};
}

}  // namespace cerberus::emulator::hip

// --- Kernels --------------------------------------------------------------

HIP_API hipError_t hipGraphAddKernelNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const hipKernelNodeParams* params) {
  return Return(AddFrom(out, graph, after, count, params));
}
HIP_API hipError_t hipGraphKernelNodeSetParams(
    hipGraphNode_t node, const hipKernelNodeParams* params) {
  return Return(SetFrom(nullptr, node, params));
}
HIP_API hipError_t
hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                const hipKernelNodeParams* params) {
  return Return(exec == nullptr ? hipErrorInvalidValue
                                : SetFrom(exec, node, params));
}

// The arguments are the node's own copies.
HIP_API hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t handle,
                                               hipKernelNodeParams* out) {
  const Launch* launch = ParamsOf<Launch>(handle, Work::Kind::kKernel);
  if (launch == nullptr || out == nullptr) return Return(hipErrorInvalidValue);
  std::vector<void*>& arguments = NodeOf(handle)->arguments;
  arguments.clear();
  for (const cerberus::emulator::KernelArg& arg :
       launch->function->info->args) {
    if (arg.offset >= launch->kernarg.size()) break;  // hidden from here on
    arguments.push_back(const_cast<std::uint8_t*>(launch->kernarg.data()) +
                        arg.offset);
  }
  *out = {launch->block,
          nullptr,
          launch->function,
          launch->grid,
          arguments.empty() ? nullptr : arguments.data(),
          launch->shared};
  return Return(hipSuccess);
}

// Of a node's attributes only cooperation does something here.
HIP_API hipError_t
hipGraphKernelNodeSetAttribute(hipGraphNode_t handle, std::uint32_t id,
                               const hipLaunchAttributeValue* value) {
  if (value == nullptr ||
      ParamsOf<Launch>(handle, Work::Kind::kKernel) == nullptr ||
      (id != hipLaunchAttributeAccessPolicyWindow &&
       id != hipLaunchAttributeCooperative &&
       id != hipLaunchAttributePriority)) {
    return Return(hipErrorInvalidValue);
  }
  NodeOf(handle)->attributes[id] = *value;
  if (id == hipLaunchAttributeCooperative) {
    NodeOf(handle)->SetCooperative(value->cooperative != 0);
  }
  return Return(hipSuccess);
}
HIP_API hipError_t hipGraphKernelNodeGetAttribute(
    hipGraphNode_t handle, std::uint32_t id, hipLaunchAttributeValue* value) {
  if (value == nullptr ||
      ParamsOf<Launch>(handle, Work::Kind::kKernel) == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const auto& attributes = NodeOf(handle)->attributes;
  const auto at = attributes.find(id);
  *value = at != attributes.end() ? at->second : hipLaunchAttributeValue{};
  return Return(hipSuccess);
}
HIP_API hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from,
                                                    hipGraphNode_t to) {
  if (ParamsOf<Launch>(from, Work::Kind::kKernel) == nullptr ||
      ParamsOf<Launch>(to, Work::Kind::kKernel) == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  NodeOf(to)->attributes = NodeOf(from)->attributes;
  const auto at = NodeOf(to)->attributes.find(hipLaunchAttributeCooperative);
  NodeOf(to)->SetCooperative(at != NodeOf(to)->attributes.end() &&
                             at->second.cooperative != 0);
  return Return(hipSuccess);
}

// --- Copies ---------------------------------------------------------------

HIP_API hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const hipMemcpy3DParms* params) {
  return Return(AddFrom(out, graph, after, count, params));
}
HIP_API hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node,
                                               hipMemcpy3DParms* params) {
  return Return(Ask(node, Work::Kind::kCopy, params));
}
HIP_API hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                               const hipMemcpy3DParms* params) {
  return Return(SetFrom(nullptr, node, params));
}
HIP_API hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec,
                                                   hipGraphNode_t node,
                                                   hipMemcpy3DParms* params) {
  return Return(exec == nullptr ? hipErrorInvalidValue
                                : SetFrom(exec, node, params));
}

HIP_API hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* out,
                                           hipGraph_t graph,
                                           const hipGraphNode_t* after,
                                           std::size_t count, void* dst,
                                           const void* src, std::size_t bytes,
                                           std::uint32_t kind) {
  Work work;
  const hipError_t error = MakeCopyWork(dst, src, bytes, kind, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* dst,
                                                 const void* src,
                                                 std::size_t bytes,
                                                 std::uint32_t kind) {
  Work work;
  const hipError_t error = MakeCopyWork(dst, src, bytes, kind, &work);
  return Return(Set(nullptr, node, error, std::move(work)));
}
HIP_API hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec,
                                                     hipGraphNode_t node,
                                                     void* dst, const void* src,
                                                     std::size_t bytes,
                                                     std::uint32_t kind) {
  if (exec == nullptr) return Return(hipErrorInvalidValue);
  Work work;
  const hipError_t error = MakeCopyWork(dst, src, bytes, kind, &work);
  return Return(Set(exec, node, error, std::move(work)));
}

HIP_API hipError_t hipGraphAddMemcpyNodeToSymbol(
    hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* after,
    std::size_t count, const void* symbol, const void* src, std::size_t bytes,
    std::size_t offset, std::uint32_t kind) {
  Work work;
  const hipError_t error = MakeSymbolWork(symbol, const_cast<void*>(src), bytes,
                                          offset, kind, true, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphAddMemcpyNodeFromSymbol(
    hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* after,
    std::size_t count, void* dst, const void* symbol, std::size_t bytes,
    std::size_t offset, std::uint32_t kind) {
  Work work;
  const hipError_t error =
      MakeSymbolWork(symbol, dst, bytes, offset, kind, false, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}

// --- Fills and host functions ---------------------------------------------

HIP_API hipError_t hipGraphAddMemsetNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const hipMemsetParams* params) {
  return Return(AddFrom(out, graph, after, count, params));
}
HIP_API hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node,
                                               hipMemsetParams* params) {
  return Return(Ask(node, Work::Kind::kSet, params));
}
HIP_API hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node,
                                               const hipMemsetParams* params) {
  return Return(SetFrom(nullptr, node, params));
}
HIP_API hipError_t hipGraphExecMemsetNodeSetParams(
    hipGraphExec_t exec, hipGraphNode_t node, const hipMemsetParams* params) {
  return Return(exec == nullptr ? hipErrorInvalidValue
                                : SetFrom(exec, node, params));
}

HIP_API hipError_t hipGraphAddHostNode(hipGraphNode_t* out, hipGraph_t graph,
                                       const hipGraphNode_t* after,
                                       std::size_t count,
                                       const hipHostNodeParams* params) {
  return Return(AddFrom(out, graph, after, count, params));
}
HIP_API hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node,
                                             hipHostNodeParams* params) {
  return Return(Ask(node, Work::Kind::kHost, params));
}
HIP_API hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node,
                                             const hipHostNodeParams* params) {
  return Return(SetFrom(nullptr, node, params));
}
HIP_API hipError_t hipGraphExecHostNodeSetParams(
    hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams* params) {
  return Return(exec == nullptr ? hipErrorInvalidValue
                                : SetFrom(exec, node, params));
}

// --- Events ---------------------------------------------------------------

HIP_API hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* out,
                                              hipGraph_t graph,
                                              const hipGraphNode_t* after,
                                              std::size_t count,
                                              hipEvent_t event) {
  Work work;
  const hipError_t error = MakeRecordWork(event, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphAddEventWaitNode(hipGraphNode_t* out,
                                            hipGraph_t graph,
                                            const hipGraphNode_t* after,
                                            std::size_t count,
                                            hipEvent_t event) {
  Work work;
  const hipError_t error = MakeWaitWork(event, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node,
                                                   hipEvent_t* event) {
  return Return(Ask(node, Work::Kind::kEvent, event));
}
HIP_API hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node,
                                                 hipEvent_t* event) {
  return Return(Ask(node, Work::Kind::kWaitEvent, event));
}
HIP_API hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node,
                                                   hipEvent_t event) {
  Work work;
  const hipError_t error = MakeRecordWork(event, &work);
  return Return(Set(nullptr, node, error, std::move(work)));
}
HIP_API hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node,
                                                 hipEvent_t event) {
  Work work;
  const hipError_t error = MakeWaitWork(event, &work);
  return Return(Set(nullptr, node, error, std::move(work)));
}
HIP_API hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t exec,
                                                       hipGraphNode_t node,
                                                       hipEvent_t event) {
  if (exec == nullptr) return Return(hipErrorInvalidValue);
  Work work;
  const hipError_t error = MakeRecordWork(event, &work);
  return Return(Set(exec, node, error, std::move(work)));
}
HIP_API hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t exec,
                                                     hipGraphNode_t node,
                                                     hipEvent_t event) {
  if (exec == nullptr) return Return(hipErrorInvalidValue);
  Work work;
  const hipError_t error = MakeWaitWork(event, &work);
  return Return(Set(exec, node, error, std::move(work)));
}

// --- Memory ---------------------------------------------------------------

HIP_API hipError_t hipGraphAddMemAllocNode(hipGraphNode_t* out,
                                           hipGraph_t graph,
                                           const hipGraphNode_t* after,
                                           std::size_t count,
                                           hipMemAllocNodeParams* params) {
  Work work;
  const hipError_t error = MakeAllocWork(params, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphMemAllocNodeGetParams(
    hipGraphNode_t node, hipMemAllocNodeParams* params) {
  return Return(Ask(node, Work::Kind::kAlloc, params));
}
HIP_API hipError_t hipGraphAddMemFreeNode(hipGraphNode_t* out, hipGraph_t graph,
                                          const hipGraphNode_t* after,
                                          std::size_t count, void* pointer) {
  Work work;
  const hipError_t error = MakeFreeWork(pointer, &work);
  return Return(Add(out, graph, after, count, error, std::move(work)));
}
HIP_API hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node,
                                                void* pointer) {
  return Return(
      Ask(node, Work::Kind::kFree, static_cast<hipDeviceptr_t*>(pointer)));
}

// --- Memory operations, semaphores of other interfaces ----------------------

HIP_API hipError_t hipGraphAddBatchMemOpNode(
    hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* after,
    std::size_t count, const hipBatchMemOpNodeParams* params) {
  if (ApiMajor() < 6) return Return(hipErrorNotSupported);
  return Return(AddFrom(out, graph, after, count, params));
}
// The list stays the node's own.
HIP_API hipError_t hipGraphBatchMemOpNodeGetParams(
    hipGraphNode_t node, hipBatchMemOpNodeParams* params) {
  const MemOps* list = ParamsOf<MemOps>(node, Work::Kind::kMemOps);
  if (list == nullptr || params == nullptr) return Return(hipErrorInvalidValue);
  *params = {nullptr, static_cast<unsigned>(list->size()),
             const_cast<hipStreamBatchMemOpParams*>(list->data()), 0};
  return Return(hipSuccess);
}
HIP_API hipError_t hipGraphBatchMemOpNodeSetParams(
    hipGraphNode_t node, hipBatchMemOpNodeParams* params) {
  return Return(SetFrom(nullptr, node, params));
}
HIP_API hipError_t
hipGraphExecBatchMemOpNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                    const hipBatchMemOpNodeParams* params) {
  return Return(exec == nullptr ? hipErrorInvalidValue
                                : SetFrom(exec, node, params));
}

#define SEMAPHORE_NODES(name, kind)                                            \
  HIP_API hipError_t hipGraphAddExternalSemaphores##name##Node(                \
      hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* after,      \
      std::size_t count, const hipExternalSemaphoreNodeParams* params) {       \
    Work work;                                                                 \
    const hipError_t error = MakeSemaphoreWork(kind, params, &work);           \
    return Return(Add(out, graph, after, count, error, std::move(work)));      \
  }                                                                            \
  HIP_API hipError_t hipGraphExternalSemaphores##name##NodeGetParams(          \
      hipGraphNode_t node, hipExternalSemaphoreNodeParams* params) {           \
    const SemaphoreOps* ops = ParamsOf<SemaphoreOps>(node, kind);              \
    if (ops == nullptr || params == nullptr) {                                 \
      return Return(hipErrorInvalidValue);                                     \
    }                                                                          \
    *params = {const_cast<hipExternalSemaphore_t*>(ops->semaphores.data()),    \
               ops->params.data(), static_cast<unsigned>(ops->params.size())}; \
    return Return(hipSuccess);                                                 \
  }                                                                            \
  HIP_API hipError_t hipGraphExternalSemaphores##name##NodeSetParams(          \
      hipGraphNode_t node, const hipExternalSemaphoreNodeParams* params) {     \
    Work work;                                                                 \
    const hipError_t error = MakeSemaphoreWork(kind, params, &work);           \
    return Return(Set(nullptr, node, error, std::move(work)));                 \
  }                                                                            \
  HIP_API hipError_t hipGraphExecExternalSemaphores##name##NodeSetParams(      \
      hipGraphExec_t exec, hipGraphNode_t node,                                \
      const hipExternalSemaphoreNodeParams* params) {                          \
    if (exec == nullptr) return Return(hipErrorInvalidValue);                  \
    Work work;                                                                 \
    const hipError_t error = MakeSemaphoreWork(kind, params, &work);           \
    return Return(Set(exec, node, error, std::move(work)));                    \
  }
SEMAPHORE_NODES(Signal, Work::Kind::kSignal)
SEMAPHORE_NODES(Wait, Work::Kind::kAwait)
#undef SEMAPHORE_NODES
