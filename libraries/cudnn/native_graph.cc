#include "libraries/cudnn/native_graph.h"

#include <dlfcn.h>

#include <cstddef>
#include <memory>

namespace cerberus::libraries::cudnn {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kIsGraph = 4;  // CU_GRAPH_NODE_TYPE_GRAPH

struct Functions {
  int (*make_stream)(Stream*, unsigned);
  int (*destroy_stream)(Stream);
  int (*begin_capture)(Stream, int);
  int (*end_capture)(Stream, void**);
  int (*add_child)(void** node, void* graph, void* const* after,
                   std::size_t count, void* child);
  int (*destroy_graph)(void*);
  int (*nodes)(void* graph, void** nodes, std::size_t* count);
  int (*type)(void* node, int*);
  int (*destroy_node)(void*);
};

const Functions* Find() {
  static Functions f;
  static const bool found = [] {
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return library != nullptr &&
           Look(library, "cuStreamCreate", &f.make_stream) &&
           Look(library, "cuStreamDestroy_v2", &f.destroy_stream) &&
           Look(library, "cuStreamBeginCapture_v2", &f.begin_capture) &&
           Look(library, "cuStreamEndCapture", &f.end_capture) &&
           Look(library, "cuGraphAddChildGraphNode", &f.add_child) &&
           Look(library, "cuGraphDestroy", &f.destroy_graph) &&
           Look(library, "cuGraphGetNodes", &f.nodes) &&
           Look(library, "cuGraphNodeGetType", &f.type) &&
           Look(library, "cuGraphDestroyNode", &f.destroy_node);
  }();
  return found ? &f : nullptr;
}

Status DriverFailed() {
  return Failed(kExecutionFailed, "the driver did not make the CUDA graph");
}

}  // namespace

Status Populate(void* graph, const std::function<Status(Stream)>& work) {
  if (graph == nullptr) return Failed(kNullPointer, "a CUDA graph");
  const Functions* const cuda = Find();
  if (cuda == nullptr) return DriverFailed();
  Stream made = nullptr;
  if (cuda->make_stream(&made, kNonBlocking) != 0) return DriverFailed();
  const std::unique_ptr<CUstream_st, int (*)(Stream)> stream(
      made, cuda->destroy_stream);
  if (cuda->begin_capture(made, kRelaxed) != 0) return DriverFailed();
  const Status result = work(made);
  void* child = nullptr;
  const bool ended = cuda->end_capture(made, &child) == 0 && child != nullptr;
  if (result == kSuccess && !ended) return DriverFailed();
  void* node = nullptr;
  const bool added = result == kSuccess && ended &&
                     cuda->add_child(&node, graph, nullptr, 0, child) == 0;
  if (ended) cuda->destroy_graph(child);
  if (result != kSuccess) return result;
  return added ? kSuccess : DriverFailed();
}

Status Repopulate(void* graph, const std::function<Status(Stream)>& work) {
  if (graph == nullptr) return Failed(kNullPointer, "a CUDA graph");
  const Functions* const cuda = Find();
  void* node = nullptr;
  std::size_t count = 1;
  int type = -1;
  if (cuda == nullptr || cuda->nodes(graph, nullptr, &count) != 0) {
    return DriverFailed();
  }
  if (count != 1 || cuda->nodes(graph, &node, &count) != 0 ||
      cuda->type(node, &type) != 0 || type != kIsGraph) {
    return Failed(kBadParam, "a CUDA graph that a plan was put into");
  }
  if (const Status bad = Populate(graph, work)) return bad;
  return cuda->destroy_node(node) == 0 ? kSuccess : DriverFailed();
}

}  // namespace cerberus::libraries::cudnn
