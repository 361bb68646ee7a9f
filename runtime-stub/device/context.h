// CUDA contexts over HIP, which has one state per device.
//
// A context is an object of the stub: which device, what a kernel's fault
// left behind, what cudart stored for it. Making one current selects its
// device in HIP for the calling thread.
#ifndef CERBERUS_RUNTIME_STUB_DEVICE_CONTEXT_H_
#define CERBERUS_RUNTIME_STUB_DEVICE_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/memory/descriptor_pool.h"

namespace cerberus::stub {

// What a cudart keeps per context (export table c693336e).
struct StoredValue {
  const void* key;
  void* value;
  void (*destroy)(CUcontext context, void* key, void* value);
};

// Memory for blocks' shared memory (shared_window.h). A graph's is its own
// for good.
struct WindowsOfStream {
  hipStream_t stream;      // null as well for a graph's
  std::thread::id thread;  // of a stream that each thread has
  bool of_graph;
  void* memory;
  std::uint64_t barriers;  // bytes in front of the windows
  std::uint64_t bytes;     // of the windows
};

struct GreenContext;

// What a program set of a stream, by CUstreamAttrID. Hints, but the priority.
using StreamAttributes = std::map<int, CUstreamAttrValue>;

// CUfunc_cache has four values, CUsharedconfig three.
constexpr bool IsCacheConfig(CUfunc_cache config) {
  return config >= 0 && config < 4;
}
constexpr bool IsSharedConfig(CUsharedconfig config) {
  return config >= 0 && config < 3;
}

struct Context {
  Device* device = nullptr;
  bool primary = false;
  GreenContext* green = nullptr;  // whose context this is (green_context.h)
  std::uint64_t id = 0;
  std::atomic<unsigned> flags{0};
  std::atomic<int> cache_config{0};
  std::atomic<int> shared_config{0};
  // cuDevicePrimaryCtxRetain's count; 1 for a created context until it is
  // destroyed.
  std::atomic<int> references{0};
  // The error of a kernel's fault, else CUDA_SUCCESS.
  std::atomic<CUresult> fault{CUDA_SUCCESS};
  std::atomic<std::uint64_t> next_grid_id{1};
  // Of cooperative launches (services.h); 0 until the first one.
  std::atomic<CUdeviceptr> workspaces{0};
  std::atomic<unsigned> next_workspace{0};
  // Of nodes of graphs, under the mutex: blocks of them, and how many of the
  // last block's are taken.
  std::vector<CUdeviceptr> node_workspaces;
  unsigned last_node_workspaces = 0;

  // cuCtxSetLimit, by CUlimit. Kept and reported; those of printf, malloc and
  // the stack have effects.
  static constexpr int kLimits = 7;
  std::atomic<std::size_t> limits[kLimits];

  std::mutex mutex;  // guards what follows
  std::vector<StoredValue> stored;
  std::vector<WindowsOfStream> windows;
  // All that were created and not destroyed; what cuCtxRecordEvent records
  // on and what new streams wait for (context_event.cc), null until needed.
  std::vector<hipStream_t> streams;
  hipStream_t recorder = nullptr;
  hipStream_t gate = nullptr;
  StreamAttributes attributes;  // of the streams that are no objects

  DescriptorPool descriptors;

  Context();
  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
};

// A context, not current anywhere, until cuCtxDestroy.
Context* NewContext(Device* device, unsigned flags);

// Null unless the handle is a context that exists.
Context* ContextOf(CUcontext handle);

// Whether work can be given to the context. Errors: shutting down, a destroyed
// context, its sticky fault. HIP's current device is the context's afterwards.
CUresult UseContext(Context* context);
// The calling thread's current context, to be used. Errors: also not
// initialised, no current context.
CUresult CurrentContext(Context** context);
// The same with a context that the program may name instead.
CUresult GivenContext(CUcontext handle, Context** context);
// The same for calls that need none: null if there is none.
CUresult OptionalContext(Context** context);
// The same without looking at the fault; null if there is none.
Context* CurrentContextOrNull();

// Selects the context's device in HIP for the calling thread.
CUresult Activate(Context* context);

// HIP's error as CUDA's; a fault stays with the context, if one is given.
CUresult NoteResult(Context* context, hipError_t error);

// Keeps the list of a context's streams. A new one waits for what all of the
// context has to wait for.
hipError_t RegisterStream(Context* context, hipStream_t stream);
void UnregisterStream(Context* context, hipStream_t stream);
void ForgetStreams(Context* context);  // a reset ended them

// Within its scope, the context is the calling thread's current one.
class CurrentContextScope {
 public:
  explicit CurrentContextScope(Context* context);
  ~CurrentContextScope();
  CurrentContextScope(const CurrentContextScope&) = delete;
  CurrentContextScope& operator=(const CurrentContextScope&) = delete;

  CUresult result() const { return result_; }

 private:
  CUresult result_;
};

// Declares `name`, the current context, or returns why there is none. Only
// what makes something in it, asks for its settings or works on its default
// stream needs one: a handle that a call is given knows its context (streams:
// CERB_STREAM; HIP's own objects: handle.h; kernels and modules: UseModule).
// The column `context` of cuda_api.def has all functions.
#define CERB_CONTEXT(name)                                            \
  ::cerberus::stub::Context* name = nullptr;                          \
  if (CUresult cerb_result = ::cerberus::stub::CurrentContext(&name); \
      cerb_result != CUDA_SUCCESS)                                    \
  return cerb_result
// Declares `name`, the context of that handle, the current one if it is null.
#define CERB_GIVEN_CONTEXT(name, handle)                                    \
  ::cerberus::stub::Context* name = nullptr;                                \
  if (CUresult cerb_result = ::cerberus::stub::GivenContext(handle, &name); \
      cerb_result != CUDA_SUCCESS)                                          \
  return cerb_result
// Declares `name`, the current context or null. For what belongs to the
// process: pools, virtual memory, graphs; cuda.h names no
// CUDA_ERROR_INVALID_CONTEXT among the results of such calls.
#define CERB_OPTIONAL_CONTEXT(name)                                    \
  ::cerberus::stub::Context* name = nullptr;                           \
  if (CUresult cerb_result = ::cerberus::stub::OptionalContext(&name); \
      cerb_result != CUDA_SUCCESS)                                     \
  return cerb_result

// cudart's values. Get is on the path of every runtime call.
CUresult StoreValue(CUcontext context, void* key, void* value,
                    void (*destroy)(CUcontext, void*, void*));
CUresult DeleteStoredValue(CUcontext context, void* key);
CUresult LoadStoredValue(void** value, CUcontext context, void* key);

// Whether the calling thread asked for a stored value since it was last asked
// here: each call of the CUDA runtime does so first.
bool TakeRuntimeCall();

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_DEVICE_CONTEXT_H_
