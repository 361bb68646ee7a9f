// Graphs: CUDA's handles are HIP's. What a program gave for a node is kept,
// since HIP knows a kernel node's arguments in another form only.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_H_

#include <cstddef>
#include <map>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

inline hipGraph_t Native(CUgraph graph) {
  return reinterpret_cast<hipGraph_t>(graph);
}
inline hipGraphExec_t Native(CUgraphExec exec) {
  return reinterpret_cast<hipGraphExec_t>(exec);
}
inline hipGraphNode_t Native(CUgraphNode node) {
  return reinterpret_cast<hipGraphNode_t>(node);
}
inline hipGraph_t* Native(CUgraph* graph) {
  return reinterpret_cast<hipGraph_t*>(graph);
}
inline hipGraphExec_t* Native(CUgraphExec* exec) {
  return reinterpret_cast<hipGraphExec_t*>(exec);
}
inline hipGraphNode_t* Native(CUgraphNode* node) {
  return reinterpret_cast<hipGraphNode_t*>(node);
}
inline const hipGraphNode_t* Native(const CUgraphNode* nodes) {
  return reinterpret_cast<const hipGraphNode_t*>(nodes);
}
inline hipEvent_t Native(CUevent event) {
  return reinterpret_cast<hipEvent_t>(event);
}
inline hipEvent_t* Native(CUevent* event) {
  return reinterpret_cast<hipEvent_t*>(event);
}

// Edges may say that a kernel begins before the one that it depends on has
// ended (programmatic dependent launch). AMD GPUs have nothing for that: it is
// kept and told, and the edge waits for the whole kernel, as CUDA lets it.
CUresult CheckEdges(const CUgraphNode* from, const CUgraphEdgeData* edges,
                    std::size_t count);
// `edges` may be null: then they are plain.
void NoteEdges(const CUgraphNode* from, CUgraphNode to,
               const CUgraphEdgeData* edges, std::size_t count);
void ForgetEdges(CUgraphNode node);
// HIP before 5.3 faults when it launches a graph from which edges were removed:
// notes that, and says whether there may be one.
void NoteLostEdges();
bool AnyLostEdges();
// Between the copies of nodes as between these.
void CopyEdges(const std::map<CUgraphNode, CUgraphNode>& copies);

// Whether it is a kernel that launches kernels; whether there ever was such a
// node or a conditional one, which are executed in steps (graph_plan.h).
bool LaunchesKernels(CUgraphNode node);
bool AnySteppedNode();
// A child node's graph; null of any other node, and where HIP does not say.
CUgraph ChildOf(CUgraphNode node);
struct Context;
struct Grid;
struct LaunchTarget;
// A launch becomes a node of the graph that the stream captures. `config`, with
// the launch's attributes, may be null.
CUresult CaptureLaunch(Context* context, hipStream_t stream,
                       const LaunchTarget& target, const Grid& grid,
                       void** params, void** extra,
                       const CUlaunchConfig* config);
// The same of a whole graph.
CUresult CaptureGraphLaunch(hipStream_t stream, CUgraphExec exec);

CUresult ListNodes(CUgraph graph, std::vector<CUgraphNode>* nodes);
// Empty if HIP does not say.
std::vector<CUgraphNode> NodesOf(CUgraph graph);

// Numbers that identify a graph, a node or an executable graph as long as it is
// there. To be called for each graph that a program gets, and before HIP
// destroys one.
unsigned NewGraphNumber();
void NumberGraph(CUgraph graph);
// Whether the program has had it.
bool IsKnownGraph(CUgraph graph);
void ForgetGraphNumbers(CUgraph graph);
void ForgetNodeNumber(CUgraphNode node);

// Nodes that go, with their graph or one by one.
void ForgetNodes(CUgraph graph);
void ForgetNode(CUgraphNode node);
void ForgetDeadNode(CUgraphNode node);  // which HIP must not be asked about
// The nodes of a clone are described as those they were made from, and so are
// those of the graphs in it.
CUresult CopyRecords(CUgraph from, CUgraph clone);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_H_
