// What the stub does for itself while a program captures a stream.
#ifndef CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_
#define CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_

#include "hip/hip_loader.h"

namespace cerberus::stub {

inline bool IsCapturing(hipStream_t stream) {
  int status = 0;
  return hip.hipStreamIsCapturing(stream, &status) == hipSuccess && status != 0;
}

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

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_STREAM_CAPTURE_H_
