// The calls that AMD's header puts in place of others in programs compiled
// with -fgpu-default-stream=per-thread: where no stream is named, or a null
// one, they mean the thread's own.
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

class PerThreadDefault {
 public:
  PerThreadDefault() : before_(Thread().per_thread_default) {
    Thread().per_thread_default = true;
  }
  ~PerThreadDefault() { Thread().per_thread_default = before_; }

 private:
  const bool before_;
};

}  // namespace

// SPT(name, parameters, arguments)
#define SPT(name, parameters, arguments)     \
  HIP_API hipError_t name parameters;        \
  HIP_API hipError_t name##_spt parameters { \
    const PerThreadDefault own;              \
    return name arguments;                   \
  }

using std::size_t;
using std::uint32_t;

SPT(hipMemcpy, (void* d, const void* s, size_t n, uint32_t k), (d, s, n, k))
SPT(hipMemcpyAsync,
    (void* d, const void* s, size_t n, uint32_t k, hipStream_t q),
    (d, s, n, k, q))
SPT(hipMemcpyToSymbol,
    (const void* d, const void* s, size_t n, size_t at, uint32_t k),
    (d, s, n, at, k))
SPT(hipMemcpyToSymbolAsync,
    (const void* d, const void* s, size_t n, size_t at, uint32_t k,
     hipStream_t q),
    (d, s, n, at, k, q))
SPT(hipMemcpyFromSymbol,
    (void* d, const void* s, size_t n, size_t at, uint32_t k), (d, s, n, at, k))
SPT(hipMemcpyFromSymbolAsync,
    (void* d, const void* s, size_t n, size_t at, uint32_t k, hipStream_t q),
    (d, s, n, at, k, q))
SPT(hipMemcpy2D,
    (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h,
     uint32_t k),
    (d, dp, s, sp, w, h, k))
SPT(hipMemcpy2DAsync,
    (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h,
     uint32_t k, hipStream_t q),
    (d, dp, s, sp, w, h, k, q))
SPT(hipMemcpy2DFromArray,
    (void* d, size_t dp, hipArray_const_t s, size_t x, size_t y, size_t w,
     size_t h, uint32_t k),
    (d, dp, s, x, y, w, h, k))
SPT(hipMemcpy2DFromArrayAsync,
    (void* d, size_t dp, hipArray_const_t s, size_t x, size_t y, size_t w,
     size_t h, uint32_t k, hipStream_t q),
    (d, dp, s, x, y, w, h, k, q))
SPT(hipMemcpy2DToArray,
    (hipArray_t d, size_t x, size_t y, const void* s, size_t sp, size_t w,
     size_t h, uint32_t k),
    (d, x, y, s, sp, w, h, k))
SPT(hipMemcpy2DToArrayAsync,
    (hipArray_t d, size_t x, size_t y, const void* s, size_t sp, size_t w,
     size_t h, uint32_t k, hipStream_t q),
    (d, x, y, s, sp, w, h, k, q))
SPT(hipMemcpyFromArray,
    (void* d, hipArray_const_t s, size_t x, size_t y, size_t n, uint32_t k),
    (d, s, x, y, n, k))
SPT(hipMemcpy3D, (const hipMemcpy3DParms* p), (p))
SPT(hipMemcpy3DAsync, (const hipMemcpy3DParms* p, hipStream_t q), (p, q))
SPT(hipMemset, (void* d, int v, size_t n), (d, v, n))
SPT(hipMemsetAsync, (void* d, int v, size_t n, hipStream_t q), (d, v, n, q))
SPT(hipMemset2D, (void* d, size_t p, int v, size_t w, size_t h),
    (d, p, v, w, h))
SPT(hipMemset2DAsync,
    (void* d, size_t p, int v, size_t w, size_t h, hipStream_t q),
    (d, p, v, w, h, q))
SPT(hipMemset3D, (hipPitchedPtr d, int v, hipExtent e), (d, v, e))
SPT(hipMemset3DAsync, (hipPitchedPtr d, int v, hipExtent e, hipStream_t q),
    (d, v, e, q))

SPT(hipStreamQuery, (hipStream_t q), (q))
SPT(hipStreamSynchronize, (hipStream_t q), (q))
SPT(hipStreamGetPriority, (hipStream_t q, int* p), (q, p))
SPT(hipStreamGetFlags, (hipStream_t q, unsigned* f), (q, f))
SPT(hipStreamWaitEvent, (hipStream_t q, hipEvent_t e, unsigned f), (q, e, f))
SPT(hipStreamAddCallback,
    (hipStream_t q, hipStreamCallback_t c, void* d, unsigned f), (q, c, d, f))
SPT(hipLaunchHostFunc, (hipStream_t q, hipHostFn_t c, void* d), (q, c, d))
SPT(hipEventRecord, (hipEvent_t e, hipStream_t q), (e, q))
SPT(hipLaunchKernel,
    (const void* f, dim3 g, dim3 b, void** a, size_t s, hipStream_t q),
    (f, g, b, a, s, q))
SPT(hipLaunchCooperativeKernel,
    (const void* f, dim3 g, dim3 b, void** a, unsigned s, hipStream_t q),
    (f, g, b, a, s, q))
SPT(hipGraphLaunch, (hipGraphExec_t g, hipStream_t q), (g, q))
SPT(hipStreamBeginCapture, (hipStream_t q, uint32_t m), (q, m))
SPT(hipStreamEndCapture, (hipStream_t q, hipGraph_t* g), (q, g))
SPT(hipStreamIsCapturing, (hipStream_t q, uint32_t* s), (q, s))
SPT(hipStreamGetCaptureInfo,
    (hipStream_t q, uint32_t* s, unsigned long long* i), (q, s, i))
SPT(hipStreamGetCaptureInfo_v2,
    (hipStream_t q, uint32_t* s, unsigned long long* i, hipGraph_t* g,
     const hipGraphNode_t** n, size_t* c),
    (q, s, i, g, n, c))
