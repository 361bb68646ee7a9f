// Executable graphs: what each was made from.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_EXEC_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_EXEC_H_

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_copy.h"
#include "runtime-stub/graph/graph_plan.h"

namespace cerberus::stub {

// One that is not taken through steps, on its nodes' device.
CUresult LaunchExecutable(Context* context, CUgraphExec exec,
                          hipStream_t stream);

// Whether it was instantiated for launches from the device.
bool IsForDevice(CUgraphExec exec);

// A node of an executable graph has got new parameters, or a child node those
// of another graph: whoever makes a part of another graph from it gets them.
void NoteExecNode(CUgraphExec exec, CUgraphNode node, RecordPtr record);
void NoteExecNode(CUgraphExec exec, CUgraphNode node,
                  const CUgraphNodeParams& params);
void NoteExecChild(CUgraphExec exec, CUgraphNode node, CUgraph child);
// Whether the graph has the shape of the child node's, and what its nodes are
// known by then.
CUresult CompareExecChild(CUgraphExec exec, CUgraphNode node, CUgraph child,
                          NodeNames* names);

// Nodes that are switched off, where HIP cannot do that: the executable graph
// is made again with empty nodes in their place. Such a node takes no
// parameters until it is switched on.
CUresult SwitchNode(CUgraphExec exec, CUgraphNode node, bool on);
CUresult IsNodeSwitchedOn(CUgraphExec exec, CUgraphNode node, unsigned* on);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_EXEC_H_
