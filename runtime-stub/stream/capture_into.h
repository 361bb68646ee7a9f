// Captures into a graph that is there, for HIPs before 6, which do not know
// them. HIP captures into a graph of its own, with an empty node for each that
// the program's gets, so that it still keeps which nodes a stream has come to,
// and what an event hands to another stream.
#ifndef CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_INTO_H_
#define CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_INTO_H_

#include <cstddef>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

hipError_t BeginCaptureInto(hipStream_t stream, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            int mode);
// The program's graph, if the capture with HIP's number is such a one, else
// null; it is none from now on.
CUgraph EndCaptureInto(unsigned long long capture);

// Whether HIP's graph of such a capture has other nodes than those that stand
// for the program's: a library of AMD's has been called, whose work would be
// lost.
bool HasForeignNodes(unsigned long long capture, hipStream_t stream);

// What HIP says of a capture, in nodes of the program's graph if it is such a
// one. The list stays until the thread asks again.
void ToProgram(unsigned long long capture, CUgraph* graph,
               const CUgraphNode** nodes, std::size_t count);
// The other way round, for nodes of the program's.
hipError_t ToHip(unsigned long long capture, hipGraph_t graph,
                 std::vector<CUgraphNode>* nodes);
// The program's graph has got a node; HIP's gets one behind these of its own,
// which takes its place.
hipError_t AddToHip(unsigned long long capture, hipGraph_t graph,
                    const std::vector<hipGraphNode_t>& after,
                    CUgraphNode* node);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_INTO_H_
