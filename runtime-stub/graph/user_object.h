// Objects of the program that graphs keep alive. HIP's own are not asked for:
// 5.2 has none, 5.7 does not move references, and none holds releases against
// what there is (docs/hip-versions.md).
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_USER_OBJECT_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_USER_OBJECT_H_

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// A clone has what its original has, a graph what its children have.
void CloneUserObjects(CUgraph graph, CUgraph clone);
// An executable graph keeps the graph's objects, in place of those that it kept
// before.
void KeepUserObjects(CUgraph graph, CUgraphExec exec);
// Those of a graph that takes the place of one of its children, as well.
void KeepUserObjectsOfChild(CUgraph child, CUgraphExec exec);
// So does a launch of it, until it is done.
CUresult KeepUserObjectsOfLaunch(CUgraphExec exec, CUstream stream);
// What kept them is gone.
void DropUserObjects(CUgraph graph);
void DropUserObjects(CUgraphExec exec);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_USER_OBJECT_H_
