// Graphs of the HIP face: nodes of stream work, built by calls or recorded
// by a capture, run any number of times.
#ifndef CERBERUS_EMULATOR_HIP_GRAPH_GRAPH_H_
#define CERBERUS_EMULATOR_HIP_GRAPH_GRAPH_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "emulator/hip/runtime.h"

namespace cerberus::emulator::hip {

// Of external semaphores: kept, with what each is to become or to reach.
struct SemaphoreOps {
  std::vector<hipExternalSemaphore_t> semaphores;
  std::vector<hipExternalSemaphoreParams> params;
};
using MemOps = std::vector<hipStreamBatchMemOpParams>;

// By Work::Kind; an event stands for recording it or waiting for it.
struct NodeParams {
  std::variant<Launch, hipMemcpy3DParms, hipMemsetParams, hipHostNodeParams,
               hipEvent_t, hipMemAllocNodeParams, hipDeviceptr_t, SemaphoreOps,
               MemOps>
      value;
};
template <typename T>
std::shared_ptr<const NodeParams> Params(T value) {
  return std::make_shared<const NodeParams>(NodeParams{std::move(value)});
}

struct GraphNode {
  Work work;
  std::vector<GraphNode*> after;
  std::shared_ptr<struct Graph> child;  // a node that is a whole graph
  struct Graph* owner = nullptr;
  bool enabled = true;
  // What hipGraphKernelNodeGetParams last pointed to.
  std::vector<void*> arguments;
  // A kernel's, by hipLaunchAttributeID.
  std::map<std::uint32_t, hipLaunchAttributeValue> attributes;

  // Lets a kernel cooperate, or not.
  void SetCooperative(bool cooperative);
};

// An object of the program (hip/graph/user_object.cc), and how often it was
// kept.
struct KeptObject {
  std::shared_ptr<struct UserObject> object;
  unsigned count = 0;
};

// Nodes stand in an order in which each comes behind what it depends on.
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::map<hipUserObject_t, KeptObject> kept;

  GraphNode* Add(Work work, std::vector<GraphNode*> after);
  // A deep copy; `*map` tells the copy of each node, those of children too.
  std::shared_ptr<Graph> Clone(
      std::unordered_map<const GraphNode*, GraphNode*>* map) const;
  // The order to run in; false if the dependencies form a circle.
  bool Order(std::vector<GraphNode*>* out) const;
};

// A capture that runs: the streams that take part and, for each, the nodes
// that its next node depends on.
class Capture {
 public:
  // Into `graph`, behind `front`, or into a new graph if it is null.
  Capture(Stream* origin, unsigned mode, std::uint64_t id,
          std::shared_ptr<Graph> graph = nullptr,
          std::vector<GraphNode*> front = {});

  void Add(Stream* stream, Work work);
  std::vector<GraphNode*> Front(Stream* stream);
  // `stream` waits for `nodes` from now on, and joins if it is not yet in.
  void Join(Stream* stream, const std::vector<GraphNode*>& nodes);
  // Later work of `stream` depends on nothing, until a Join().
  void ClearFront(Stream* stream);
  // `stream` is destroyed. What it has captured stays, and has to be joined.
  void Leave(Stream* stream);
  void Invalidate();
  bool invalid();
  // True if some stream's front is not an ancestor of the origin's.
  bool Unjoined();

  Stream* origin() const { return origin_; }
  unsigned mode() const { return mode_; }
  std::uint64_t id() const { return id_; }
  bool made_graph() const { return made_graph_; }
  std::shared_ptr<Graph> graph() const { return graph_; }

 private:
  Stream* const origin_;
  const unsigned mode_;
  const std::uint64_t id_;
  const bool made_graph_;
  const std::shared_ptr<Graph> graph_;
  std::mutex mutex_;
  bool invalid_ = false;
  std::unordered_map<Stream*, std::vector<GraphNode*>> front_;
  std::vector<GraphNode*> left_;  // by streams that are no more
};

// Work of nodes that allocate, which sets params->dptr, and that free
// (hip/graph/graph_memory.cc).
hipError_t MakeAllocWork(hipMemAllocNodeParams* params, Work* out);
hipError_t MakeFreeWork(hipDeviceptr_t pointer, Work* out);
// Memory of a graph's node, where freeing it leaves it to the graph.
bool IsGraphMemory(const void* pointer);
bool FreeGraphMemory(const void* pointer);  // false: it is none

// Handles of graphs. A graph that has none any more lives on in what was
// made from it.
std::shared_ptr<Graph> GraphOf(hipGraph_t handle);  // null: no such graph
hipGraph_t NewGraph(std::shared_ptr<Graph> graph);
// The copy of a node of the graph that this one was cloned from, or null.
GraphNode* CopyIn(hipGraph_t clone, const GraphNode* original);
hipError_t CloneGraph(hipGraph_t original, hipGraph_t* out);
hipError_t DropGraph(hipGraph_t handle);
// The handle of a graph that has one, else a new one.
hipGraph_t HandleOfGraph(const std::shared_ptr<Graph>& graph);
// The graph of a capture has one handle, from whoever asks first. Where the
// capture has failed it dies with it, unless it was there before.
hipGraph_t HandleOfCapture(const Capture& capture);
hipGraph_t EndOfCapture(const Capture& capture, bool whole);

inline GraphNode* NodeOf(hipGraphNode_t handle) {
  return reinterpret_cast<GraphNode*>(handle);
}
inline hipGraphNode_t HandleOf(const GraphNode* node) {
  return reinterpret_cast<hipGraphNode_t>(const_cast<GraphNode*>(node));
}

hipError_t AddNode(hipGraphNode_t* out, hipGraph_t graph,
                   const hipGraphNode_t* after, std::size_t count, Work work,
                   std::shared_ptr<Graph> child = nullptr);
// A node of a graph, or what stands for it in an executable graph, does
// `work` from now on; it must be of the same kind.
hipError_t ReplaceWork(hipGraphNode_t node, Work work);
hipError_t ReplaceWork(hipGraphExec_t exec, hipGraphNode_t node, Work work);
// Calls `edit` with the node that stands for `node`, under the graph's lock.
hipError_t EditNode(hipGraphExec_t exec, hipGraphNode_t node,
                    const std::function<hipError_t(GraphNode*)>& edit);
// As Graphviz reads it.
std::string DotOf(const Graph& graph);

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_GRAPH_GRAPH_H_
