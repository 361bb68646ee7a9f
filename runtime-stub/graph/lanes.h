// Work that a stream is given for another device than its own: HIP executes a
// kernel on the device of the stream alone.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_LANES_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_LANES_H_

#include <map>
#include <mutex>

#include "hip/hip_abi.h"

namespace cerberus::stub {

struct Context;
struct Device;

// A stream on each such device, which are made when they are needed.
class Lanes {
 public:
  Lanes() = default;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes();

  // Calls `use` with a stream of the device, or with `stream`, the context's,
  // if the device is null or the context's; the other stands in `stream`'s
  // order, and the device is HIP's current one for that time.
  template <typename Use>
  hipError_t On(Device* device, Context* context, hipStream_t stream, Use use) {
    hipStream_t lane = stream;
    hipError_t error = Enter(device, context, stream, &lane);
    if (error == hipSuccess) error = use(lane);
    const hipError_t left = Leave(context, stream, lane);
    return error == hipSuccess ? left : error;
  }

 private:
  hipError_t Enter(Device* device, Context* context, hipStream_t stream,
                   hipStream_t* lane);
  hipError_t Leave(Context* context, hipStream_t stream, hipStream_t lane);

  std::mutex mutex_;
  std::map<Device*, hipStream_t> streams_;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_LANES_H_
