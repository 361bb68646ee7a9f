#include "runtime-stub/graph/lanes.h"

#include "hip/hip_loader.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/device.h"

namespace cerberus::stub {
namespace {

constexpr unsigned kNonBlocking = 1, kNoTime = 2;

hipError_t Select(Context* context) {
  return Activate(context) == CUDA_SUCCESS ? hipSuccess : hipErrorUnknown;
}

// What `to`, a stream of that context, gets begins when `from` has come so far.
// An event is of the device that is HIP's current one, as `from` has to be.
hipError_t Join(hipStream_t from, Context* context, hipStream_t to) {
  hipEvent_t event = nullptr;
  hipError_t error = hip.hipEventCreateWithFlags(&event, kNoTime);
  if (error != hipSuccess) return error;
  error = hip.hipEventRecord(event, from);
  if (error == hipSuccess) error = Select(context);
  if (error == hipSuccess) error = hip.hipStreamWaitEvent(to, event, 0);
  (void)hip.hipEventDestroy(event);
  return error;
}

}  // namespace

Lanes::~Lanes() {
  for (const auto& [device, stream] : streams_) {
    (void)hip.hipStreamDestroy(stream);
  }
}

hipError_t Lanes::Enter(Device* device, Context* context, hipStream_t stream,
                        hipStream_t* lane) {
  if (device == nullptr || device == context->device) return hipSuccess;
  Context* there = device->primary.get();
  std::lock_guard<std::mutex> lock(mutex_);
  hipStream_t& own = streams_[device];
  hipError_t error = hipSuccess;
  if (own == nullptr) {
    error = Select(there);
    if (error == hipSuccess) {
      error = hip.hipStreamCreateWithFlags(&own, kNonBlocking);
    }
    if (error == hipSuccess) error = Select(context);
  }
  if (error == hipSuccess) error = Join(stream, there, own);
  if (error == hipSuccess) *lane = own;
  return error;
}

hipError_t Lanes::Leave(Context* context, hipStream_t stream,
                        hipStream_t lane) {
  if (lane != stream) return Join(lane, context, stream);
  return Select(context);
}

}  // namespace cerberus::stub
