// Graphs and stream capture.
#include <atomic>
#include <cstring>
#include <map>
#include <set>

#include "emulator/hip_copy.h"
#include "emulator/hip_graph.h"
#include "emulator/hip_runtime.h"

using namespace cerberus::emulator::hip;

struct ihipGraph {
  std::shared_ptr<Graph> graph;
};
struct hipGraphExec {
  std::shared_ptr<Graph> graph;
  std::vector<GraphNode*> order;
  // Which node of ours stands for a node of the graph it was made from.
  std::unordered_map<const GraphNode*, GraphNode*> map;
};

namespace {

std::mutex g_mutex;
std::set<ihipGraph*> g_graphs;
std::set<hipGraphExec*> g_execs;

std::shared_ptr<Graph> GraphOf(hipGraph_t handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return g_graphs.count(handle) != 0 ? handle->graph : nullptr;
}

hipGraph_t NewGraph(std::shared_ptr<Graph> graph) {
  ihipGraph* made = new ihipGraph{std::move(graph)};
  std::lock_guard<std::mutex> lock(g_mutex);
  g_graphs.insert(made);
  return made;
}

// The graph of a capture has one handle, from whoever asks first.
std::map<std::uint64_t, hipGraph_t> g_captures;
hipGraph_t HandleOfCapture(const Capture& capture) {
  std::lock_guard<std::mutex> lock(g_mutex);
  hipGraph_t& handle = g_captures[capture.id()];
  if (handle == nullptr) {
    handle = new ihipGraph{capture.graph()};
    g_graphs.insert(handle);
  }
  return handle;
}

GraphNode* NodeOf(hipGraphNode_t handle) {
  return reinterpret_cast<GraphNode*>(handle);
}
hipGraphNode_t HandleOf(const GraphNode* node) {
  return reinterpret_cast<hipGraphNode_t>(const_cast<GraphNode*>(node));
}

hipError_t AddNode(hipGraphNode_t* out, hipGraph_t handle,
                   const hipGraphNode_t* after, std::size_t count, Work work,
                   std::shared_ptr<Graph> child = nullptr) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (out == nullptr || !graph || (count != 0 && after == nullptr)) {
    return hipErrorInvalidValue;
  }
  std::vector<GraphNode*> before;
  for (std::size_t i = 0; i < count; ++i) before.push_back(NodeOf(after[i]));
  GraphNode* node = graph->Add(std::move(work), std::move(before));
  node->child = std::move(child);
  *out = HandleOf(node);
  return hipSuccess;
}

void RunAll(const std::vector<GraphNode*>& order, Gpu* gpu) {
  for (GraphNode* node : order) {
    if (node->child) {
      std::vector<GraphNode*> inner;
      node->child->Order(&inner);
      RunAll(inner, gpu);
      continue;
    }
    if (node->work.run &&
        (node->work.also_after_error || gpu->sticky == hipSuccess)) {
      node->work.run();
    }
  }
}

hipError_t Instantiate(hipGraphExec_t* out, hipGraph_t handle) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (out == nullptr || !graph) return hipErrorInvalidValue;
  std::unique_ptr<hipGraphExec> exec = std::make_unique<hipGraphExec>();
  exec->graph = graph->Clone(&exec->map);
  if (!exec->graph->Order(&exec->order)) return hipErrorInvalidValue;
  std::lock_guard<std::mutex> lock(g_mutex);
  *out = *g_execs.insert(exec.release()).first;
  return hipSuccess;
}

// What stands for `node` in an executable graph does `work` from now on; it
// must be of the same kind.
hipError_t ReplaceWork(hipGraphExec_t exec, hipGraphNode_t node, Work work) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_execs.count(exec) == 0) return hipErrorInvalidValue;
  auto found = exec->map.find(NodeOf(node));
  if (found == exec->map.end() || found->second->work.kind != work.kind) {
    return hipErrorInvalidValue;
  }
  found->second->work = std::move(work);
  return hipSuccess;
}

hipError_t KernelWork(const void* params_v, Work* out);

}  // namespace

// hipKernelNodeParams, hipMemsetParams, hipHostNodeParams.
struct HipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct HipMemsetParams {
  void* dst;
  unsigned elementSize;
  std::size_t height;
  std::size_t pitch;
  unsigned value;
  std::size_t width;
};
struct HipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};

namespace {

hipError_t KernelWork(const void* params_v, Work* out) {
  const HipKernelNodeParams* params =
      static_cast<const HipKernelNodeParams*>(params_v);
  if (params == nullptr || params->func == nullptr) {
    return hipErrorInvalidValue;
  }
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  Function* function = Runtime::Get().FindFunction(
      reinterpret_cast<hipFunction_t>(params->func));
  if (function == nullptr) {
    error = FindHostFunction(params->func, gpu, &function);
    if (error != hipSuccess) return error;
  }
  Launch launch;
  error = PrepareLaunch(function, params->gridDim, params->blockDim,
                        params->sharedMemBytes, params->kernelParams,
                        params->extra, false, &launch);
  if (error == hipSuccess) *out = LaunchWork(gpu, std::move(launch));
  return error;
}

hipError_t SetWork(const HipMemsetParams* params, Work* out) {
  if (params == nullptr || params->dst == nullptr ||
      (params->elementSize != 1 && params->elementSize != 2 &&
       params->elementSize != 4)) {
    return hipErrorInvalidValue;
  }
  out->kind = Work::Kind::kSet;
  Fill fill;
  fill.dst = static_cast<std::uint8_t*>(params->dst);
  fill.pattern = params->value;
  fill.element = params->elementSize;
  fill.pitch = params->pitch;
  fill.width = params->width;
  fill.height = std::max<std::size_t>(params->height, 1);
  out->run = [fill] { fill.Run(); };
  return hipSuccess;
}

}  // namespace

// --- Capture --------------------------------------------------------------

HIP_API hipError_t hipStreamBeginCapture(hipStream_t handle,
                                         std::uint32_t mode) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (mode > 2) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  if (stream->type() == Stream::Type::kLegacy) {
    return Return(hipErrorStreamCaptureUnsupported);
  }
  static std::atomic<std::uint64_t> next_id{1};
  std::lock_guard<std::mutex> lock(stream->gpu()->order);
  if (stream->capture) return Return(hipErrorIllegalState);
  stream->capture = std::make_shared<Capture>(stream.get(), mode, next_id++);
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* out) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  *out = nullptr;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture;
  {
    std::lock_guard<std::mutex> lock(stream->gpu()->order);
    capture = stream->capture;
  }
  if (!capture) return Return(hipErrorIllegalState);
  if (capture->origin() != stream.get()) {
    return Return(hipErrorStreamCaptureUnmatched);
  }
  const bool unjoined = capture->Unjoined();
  {
    std::lock_guard<std::mutex> lock(stream->gpu()->order);
    for (Stream* each : capture->streams()) {
      if (each == stream.get() || stream->gpu()->streams.count(each) != 0) {
        each->capture.reset();
      }
    }
  }
  if (capture->invalid()) return Return(hipErrorStreamCaptureInvalidated);
  if (unjoined) return Return(hipErrorStreamCaptureUnjoined);
  *out = HandleOfCapture(*capture);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_captures.erase(capture->id());
  return Return(hipSuccess);
}

namespace {

// hipStreamCaptureStatus: 0 none, 1 active, 2 invalidated.
std::uint32_t StatusOf(const std::shared_ptr<Capture>& capture) {
  return !capture ? 0 : capture->invalid() ? 2 : 1;
}

std::shared_ptr<Capture> CaptureOf(const std::shared_ptr<Stream>& stream) {
  std::lock_guard<std::mutex> lock(stream->gpu()->order);
  return stream->capture;
}

}  // namespace

HIP_API hipError_t hipStreamIsCapturing(hipStream_t handle,
                                        std::uint32_t* status) {
  if (status == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *status = StatusOf(CaptureOf(stream));
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamGetCaptureInfo(hipStream_t handle,
                                           std::uint32_t* status,
                                           unsigned long long* id) {
  if (status == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  *status = StatusOf(capture);
  if (capture && id != nullptr) *id = capture->id();
  return Return(hipSuccess);
}

// The graph may be added to while it is captured; the nodes are those that
// the stream's next work will depend on. Both stay valid until the thread's
// next call.
HIP_API hipError_t hipStreamGetCaptureInfo_v2(
    hipStream_t handle, std::uint32_t* status, unsigned long long* id,
    hipGraph_t* graph, const hipGraphNode_t** nodes, std::size_t* count) {
  const hipError_t error = hipStreamGetCaptureInfo(handle, status, id);
  if (error != hipSuccess || *status != 1) return Return(error);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  static thread_local std::vector<hipGraphNode_t> front;
  front.clear();
  for (GraphNode* node : capture->Front(stream.get())) {
    front.push_back(HandleOf(node));
  }
  if (graph != nullptr) *graph = HandleOfCapture(*capture);
  if (nodes != nullptr) *nodes = front.data();
  if (count != nullptr) *count = front.size();
  return Return(hipSuccess);
}

// Flags: 0 adds the nodes to those the next work depends on, 1 replaces them.
HIP_API hipError_t hipStreamUpdateCaptureDependencies(
    hipStream_t handle, const hipGraphNode_t* nodes, std::size_t count,
    unsigned flags) {
  if (flags > 1 || (nodes == nullptr && count != 0)) {
    return Return(hipErrorInvalidValue);
  }
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  if (!capture) return Return(hipErrorIllegalState);
  std::vector<GraphNode*> after;
  for (std::size_t i = 0; i < count; ++i) after.push_back(NodeOf(nodes[i]));
  if (flags == 1) capture->ClearFront(stream.get());
  capture->Join(stream.get(), after);
  return Return(hipSuccess);
}

HIP_API hipError_t hipThreadExchangeStreamCaptureMode(std::uint32_t* mode) {
  static thread_local std::uint32_t current = 0;
  if (mode == nullptr || *mode > 2) return Return(hipErrorInvalidValue);
  std::swap(*mode, current);
  return Return(hipSuccess);
}

// --- Building -------------------------------------------------------------

HIP_API hipError_t hipGraphCreate(hipGraph_t* out, unsigned flags) {
  if (out == nullptr || flags != 0) return Return(hipErrorInvalidValue);
  *out = NewGraph(std::make_shared<Graph>());
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphDestroy(hipGraph_t handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_graphs.erase(handle) == 0) return Return(hipErrorInvalidValue);
  delete handle;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphClone(hipGraph_t* out, hipGraph_t handle) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (out == nullptr || !graph) return Return(hipErrorInvalidValue);
  std::unordered_map<const GraphNode*, GraphNode*> map;
  *out = NewGraph(graph->Clone(&map));
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphAddKernelNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const HipKernelNodeParams* params) {
  Work work;
  hipError_t error = KernelWork(params, &work);
  if (error != hipSuccess) return Return(error);
  return Return(AddNode(out, graph, after, count, std::move(work)));
}

HIP_API hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* out,
                                           hipGraph_t graph,
                                           const hipGraphNode_t* after,
                                           std::size_t count, void* dst,
                                           const void* src, std::size_t bytes,
                                           std::uint32_t kind) {
  Copy3D copy;
  const hipError_t error = CopyOf(dst, src, bytes, kind, &copy);
  if (error != hipSuccess) return Return(error);
  return Return(AddNode(out, graph, after, count, CopyWork(copy)));
}

HIP_API hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const hipMemcpy3DParms* params) {
  Copy3D copy;
  const hipError_t error = CopyOf(params, &copy);
  if (error != hipSuccess) return Return(error);
  return Return(AddNode(out, graph, after, count, CopyWork(copy)));
}

HIP_API hipError_t hipGraphAddMemsetNode(hipGraphNode_t* out, hipGraph_t graph,
                                         const hipGraphNode_t* after,
                                         std::size_t count,
                                         const HipMemsetParams* params) {
  Work work;
  hipError_t error = SetWork(params, &work);
  if (error != hipSuccess) return Return(error);
  return Return(AddNode(out, graph, after, count, std::move(work)));
}

HIP_API hipError_t hipGraphAddHostNode(hipGraphNode_t* out, hipGraph_t graph,
                                       const hipGraphNode_t* after,
                                       std::size_t count,
                                       const HipHostNodeParams* params) {
  if (params == nullptr || params->fn == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  Work work;
  work.kind = Work::Kind::kHost;
  work.run = [p = *params] { p.fn(p.userData); };
  return Return(AddNode(out, graph, after, count, std::move(work)));
}

HIP_API hipError_t hipGraphAddEmptyNode(hipGraphNode_t* out, hipGraph_t graph,
                                        const hipGraphNode_t* after,
                                        std::size_t count) {
  return Return(AddNode(out, graph, after, count, Work{}));
}

HIP_API hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* out,
                                             hipGraph_t graph,
                                             const hipGraphNode_t* after,
                                             std::size_t count,
                                             hipGraph_t child) {
  std::shared_ptr<Graph> inner = GraphOf(child);
  if (!inner) return Return(hipErrorInvalidValue);
  std::unordered_map<const GraphNode*, GraphNode*> map;
  return Return(AddNode(out, graph, after, count, Work{}, inner->Clone(&map)));
}

HIP_API hipError_t hipGraphAddDependencies(hipGraph_t handle,
                                           const hipGraphNode_t* from,
                                           const hipGraphNode_t* to,
                                           std::size_t count) {
  if (!GraphOf(handle) || (count != 0 && (from == nullptr || to == nullptr))) {
    return Return(hipErrorInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i) {
    NodeOf(to[i])->after.push_back(NodeOf(from[i]));
  }
  return Return(hipSuccess);
}

// --- Asking ---------------------------------------------------------------

HIP_API hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t* nodes,
                                    std::size_t* count) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || count == nullptr) return Return(hipErrorInvalidValue);
  const std::size_t have = graph->nodes.size();
  if (nodes == nullptr) {
    *count = have;
    return Return(hipSuccess);
  }
  for (std::size_t i = 0; i < *count; ++i) {
    nodes[i] = i < have ? HandleOf(graph->nodes[i].get()) : nullptr;
  }
  *count = std::min(*count, have);
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphGetRootNodes(hipGraph_t handle,
                                        hipGraphNode_t* nodes,
                                        std::size_t* count) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || count == nullptr) return Return(hipErrorInvalidValue);
  std::vector<hipGraphNode_t> roots;
  for (const std::unique_ptr<GraphNode>& node : graph->nodes) {
    if (node->after.empty()) roots.push_back(HandleOf(node.get()));
  }
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < roots.size() ? roots[i] : nullptr;
    }
    *count = std::min(*count, roots.size());
  } else {
    *count = roots.size();
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphNodeGetDependencies(hipGraphNode_t handle,
                                               hipGraphNode_t* nodes,
                                               std::size_t* count) {
  if (handle == nullptr || count == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const std::vector<GraphNode*>& after = NodeOf(handle)->after;
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < after.size() ? HandleOf(after[i]) : nullptr;
    }
    *count = std::min(*count, after.size());
  } else {
    *count = after.size();
  }
  return Return(hipSuccess);
}

// hipGraphNodeType: kernel 0, memcpy 1, memset 2, host 3, graph 4, empty 5,
// since version 6; one more each before.
HIP_API hipError_t hipGraphNodeGetType(hipGraphNode_t handle,
                                       std::uint32_t* type) {
  if (handle == nullptr || type == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const GraphNode* node = NodeOf(handle);
  std::uint32_t number = 5;
  if (node->child) {
    number = 4;
  } else {
    switch (node->work.kind) {
      case Work::Kind::kKernel:
        number = 0;
        break;
      case Work::Kind::kCopy:
        number = 1;
        break;
      case Work::Kind::kSet:
        number = 2;
        break;
      case Work::Kind::kHost:
        number = 3;
        break;
      default:
        break;
    }
  }
  *type = number + (ApiMajor() < 6 ? 1 : 0);
  return Return(hipSuccess);
}

// --- Running --------------------------------------------------------------

HIP_API hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph,
                                       hipGraphNode_t*, char*, std::size_t) {
  return Return(Instantiate(out, graph));
}

HIP_API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out,
                                                hipGraph_t graph,
                                                unsigned long long) {
  return Return(Instantiate(out, graph));
}

HIP_API hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_execs.erase(exec) == 0) return Return(hipErrorInvalidValue);
  }
  // A launch that is still queued holds the graph by itself.
  delete exec;
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t handle) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  Work work;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_execs.count(exec) == 0) return Return(hipErrorInvalidValue);
    Gpu* on = stream->gpu();
    // Parameters of the executable graph may change after this call: run a
    // copy of the nodes as they are now.
    std::unordered_map<const GraphNode*, GraphNode*> map;
    std::shared_ptr<Graph> copy = exec->graph->Clone(&map);
    std::vector<GraphNode*> order;
    for (GraphNode* node : exec->order) order.push_back(map[node]);
    work.run = [copy, order = std::move(order), on] { RunAll(order, on); };
  }
  stream->Submit(std::move(work));
  return Return(hipSuccess);
}

HIP_API hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return Return(g_execs.count(exec) != 0 ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t
hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                const HipKernelNodeParams* params) {
  Work work;
  hipError_t error = KernelWork(params, &work);
  if (error != hipSuccess) return Return(error);
  return Return(ReplaceWork(exec, node, std::move(work)));
}

HIP_API hipError_t hipGraphExecMemcpyNodeSetParams1D(
    hipGraphExec_t exec, hipGraphNode_t node, void* dst, const void* src,
    std::size_t bytes, std::uint32_t kind) {
  Copy3D copy;
  const hipError_t error = CopyOf(dst, src, bytes, kind, &copy);
  if (error != hipSuccess) return Return(error);
  return Return(ReplaceWork(exec, node, CopyWork(copy)));
}

HIP_API hipError_t hipGraphExecMemsetNodeSetParams(
    hipGraphExec_t exec, hipGraphNode_t node, const HipMemsetParams* params) {
  Work work;
  hipError_t error = SetWork(params, &work);
  if (error != hipSuccess) return Return(error);
  return Return(ReplaceWork(exec, node, std::move(work)));
}

// hipGraphExecUpdate: takes over all nodes of a graph of the same shape.
// hipGraphExecUpdateResult: 0 success, 2 topology changed, 3 a node's type.
HIP_API hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t handle,
                                      hipGraphNode_t* error_node,
                                      std::uint32_t* result) {
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || result == nullptr) return Return(hipErrorInvalidValue);
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_execs.count(exec) == 0) return Return(hipErrorInvalidValue);
  if (error_node != nullptr) *error_node = nullptr;
  const std::vector<std::unique_ptr<GraphNode>>& mine = exec->graph->nodes;
  *result = 2;
  if (mine.size() != graph->nodes.size()) {
    return Return(hipErrorGraphExecUpdateFailure);
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i]->after.size() != graph->nodes[i]->after.size()) {
      return Return(hipErrorGraphExecUpdateFailure);
    }
    if (mine[i]->work.kind != graph->nodes[i]->work.kind) {
      *result = 3;
      if (error_node != nullptr) {
        *error_node = HandleOf(graph->nodes[i].get());
      }
      return Return(hipErrorGraphExecUpdateFailure);
    }
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i]->work = graph->nodes[i]->work;
    exec->map[graph->nodes[i].get()] = mine[i].get();
  }
  *result = 0;
  return Return(hipSuccess);
}
