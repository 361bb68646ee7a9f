// What the stub does for itself while a program captures a stream.
#ifndef CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_
#define CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_

#include <cstddef>
#include <functional>

#include "hip/hip_loader.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

inline bool IsCapturing(hipStream_t stream) {
  int status = 0;
  return hip.hipStreamIsCapturing(stream, &status) == hipSuccess && status != 0;
}

// The same, at the price of a load while the program captures no stream.
bool Captures(hipStream_t stream);
// A program's capture begins.
void NoteCaptureBegin(hipStream_t stream);
// For the time in which a program's capture ends: forgets the nodes that it
// has made, unless they are kept.
class CapturedNodes {
 public:
  explicit CapturedNodes(hipStream_t stream);
  ~CapturedNodes();
  CapturedNodes(const CapturedNodes&) = delete;
  CapturedNodes& operator=(const CapturedNodes&) = delete;
  void Keep() { keep_ = true; }
  // Ends a capture into the program's graph in which HIP has nodes of its own,
  // a library's; false: it has none.
  bool EndForeign() const;
  // The program's graph that was captured into, where HIP has one of its own.
  CUgraph TakeOwnGraph() const;

 private:
  const hipStream_t stream_;
  const unsigned long long capture_;
  bool keep_ = false;
};

// What a capturing stream is given becomes one node of the graph, which `add`
// adds behind those that the stream has come to. So it is a node as programs
// add them, whose parameters are known; HIP's own capture makes several of some
// calls, runs others at once, and tells little of what it has made.
using NodeAdder =
    std::function<CUresult(CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* after, std::size_t count)>;
CUresult CaptureNode(hipStream_t stream, const NodeAdder& add);
// What the edges to the stream's next node say, from these nodes; `edges` may
// be null.
void NoteEdgesToCome(hipStream_t stream, const CUgraphNode* from,
                     const CUgraphEdgeData* edges, std::size_t count);

// A call that a capture does not allow makes it invalid: CUDA refuses the call,
// and then what would end the capture, which leaves no graph. HIP does so from
// 6 on; 5.7 refuses the first call alone, 5.2 not even that; and 6.4 destroys
// the graph where the program has captured into one of its own. In these cases
// HIP does not get the call, and its capture stays valid.
void NoteCaptureToGraph(hipStream_t stream);
// Whether the stream captures, and the call has to be refused here.
bool BreaksCapture(hipStream_t stream);
bool IsCaptureBroken(hipStream_t stream);
// HIP's status of the stream, or that of what was broken here.
int CaptureStatus(hipStream_t stream, int status);
// Ends a capture that was broken here; false: it was not.
bool EndBrokenCapture(hipStream_t stream);

// HIP 6.4 leaves a stream in a capture that ended invalid.
void LeaveCapture(hipStream_t stream);

// Within its scope the thread may allocate and wait, also while it captures.
class RelaxedCapture {
 public:
  RelaxedCapture()
      : exchanged_(hip.hipThreadExchangeStreamCaptureMode(&mode_) ==
                   hipSuccess) {}
  ~RelaxedCapture() {
    if (exchanged_) hip.hipThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = 2;  // hipStreamCaptureModeRelaxed
  const bool exchanged_;
};

// Device memory whose first bytes, `zeros`, are such; also while a stream
// captures.
hipError_t AllocateZeros(void** memory, std::size_t bytes, std::size_t zeros);

// Copies, and is done when it returns; also while a stream captures.
hipError_t CopyNow(void* to, const void* from, std::size_t bytes,
                   hipMemcpyKind kind);
// ... to the device.
hipError_t Upload(void* to, const void* from, std::size_t bytes);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_
