#include "runtime-stub/device/context.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/memory/texture.h"
#include "runtime-stub/module/module.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// Version that cuCtxGetApiVersion reports for every context: that of the
// interface which cuCtxCreate_v2 brought.
constexpr unsigned kContextApiVersion = 3020;

// What a fresh CUDA context answers to cuCtxGetLimit.
constexpr std::size_t kDefaultLimits[Context::kLimits] = {
    1024,     // CU_LIMIT_STACK_SIZE
    1 << 20,  // CU_LIMIT_PRINTF_FIFO_SIZE
    8 << 20,  // CU_LIMIT_MALLOC_HEAP_SIZE
    2,        // CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
    2048,     // CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
    64,       // CU_LIMIT_MAX_L2_FETCH_GRANULARITY
    0,        // CU_LIMIT_PERSISTING_L2_CACHE_SIZE
};

// The calling thread's stack of contexts; the last one is current.
struct ThreadContexts {
  static constexpr int kDepth = 64;
  Context* stack[kDepth] = {};
  int depth = 0;
  int hip_device = -1;  // what HIP was last told in this thread
};
thread_local ThreadContexts t_contexts;

std::atomic<std::uint64_t> g_next_context_id{1};

// Contexts made by cuCtxCreate. A destroyed one is kept for the next
// cuCtxCreate, so that a handle which somebody still holds leads to a context.
std::mutex g_created_mutex;
NeverDestroyed<std::vector<Context*>> g_all_created;
auto& g_created = *g_all_created;

// A thread's last answers of LoadStoredValue, valid while nothing was
// changed since.
struct StoredValueCache {
  struct Slot {
    Context* context = nullptr;
    const void* key = nullptr;
    void* value = nullptr;
  };
  static constexpr unsigned kSlots = 4;
  std::uint64_t generation = 0;
  unsigned next = 0;
  Slot slots[kSlots];
};
thread_local StoredValueCache t_stored_values;
std::atomic<std::uint64_t> g_stored_generation{1};

thread_local bool t_runtime_call = false;

Context* Top() {
  const ThreadContexts& t = t_contexts;
  return t.depth > 0 ? t.stack[t.depth - 1] : nullptr;
}

CUresult Push(Context* context) {
  ThreadContexts& t = t_contexts;
  if (t.depth == ThreadContexts::kDepth) return CUDA_ERROR_INVALID_CONTEXT;
  t.stack[t.depth++] = context;
  return CUDA_SUCCESS;
}

// A context handle given by the program; null stands for the current one.
CUresult GivenOrCurrent(CUcontext handle, Context** context) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *context = handle != nullptr ? ContextOf(handle) : Top();
  return *context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult Synchronize(Context* context) {
  if (CUresult r = Activate(context); r != CUDA_SUCCESS) return r;
  const hipError_t error = hip.hipDeviceSynchronize();
  FlushOutput(context->device);
  return NoteResult(context, error);
}

void DropStoredValues(Context* context) {
  std::vector<StoredValue> dropped;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    dropped.swap(context->stored);
  }
  g_stored_generation.fetch_add(1);
  // The callbacks may call the driver, so no lock is held.
  for (const StoredValue& entry : dropped) {
    if (entry.destroy != nullptr) {
      entry.destroy(context->handle(), const_cast<void*>(entry.key),
                    entry.value);
    }
  }
}

void ResetLimits(Context* context) {
  for (int i = 0; i < Context::kLimits; ++i) {
    context->limits[i].store(kDefaultLimits[i]);
  }
}

std::vector<Context*> ContextsOn(Device* device) {
  std::vector<Context*> contexts = {device->primary.get()};
  std::lock_guard<std::mutex> lock(g_created_mutex);
  for (Context* context : g_created) {
    if (context->device == device) contexts.push_back(context);
  }
  return contexts;
}

CUresult CreateContext(CUcontext* out, unsigned flags, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  Context* context = NewContext(device, flags);
  if (CUresult r = Push(context); r != CUDA_SUCCESS) {
    context->references.store(0);
    return r;
  }
  *out = context->handle();
  return CUDA_SUCCESS;
}

}  // namespace

Context::Context() : id(g_next_context_id.fetch_add(1)) { ResetLimits(this); }

Context* NewContext(Device* device, unsigned flags) {
  Context* context = nullptr;
  {
    std::lock_guard<std::mutex> lock(g_created_mutex);
    for (Context* candidate : g_created) {
      int free = 0;
      if (candidate->references.compare_exchange_strong(free, 1)) {
        context = candidate;
        break;
      }
    }
    if (context == nullptr) {
      auto made = std::make_unique<Context>();
      made->references.store(1);
      g_created.push_back(made.get());
      context = made.release();
    }
  }
  context->device = device;
  context->id = g_next_context_id.fetch_add(1);
  context->flags.store(flags);
  context->fault.store(CUDA_SUCCESS);
  ResetLimits(context);
  return context;
}

Context* ContextOf(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  for (int i = 0; i < DeviceCount(); ++i) {
    if (GetDevice(i)->primary.get() == context) return context;
  }
  std::lock_guard<std::mutex> lock(g_created_mutex);
  for (Context* candidate : g_created) {
    if (candidate == context && candidate->references.load() > 0) {
      return context;
    }
  }
  return nullptr;
}

CUresult UseContext(Context* context) {
  if (__builtin_expect(Exiting(), 0)) return CUDA_ERROR_DEINITIALIZED;
  // After a fork.
  if (__builtin_expect(DeviceCount() == 0, 0)) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (__builtin_expect(!context->primary && context->references.load() == 0,
                       0)) {
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  const CUresult fault = context->fault.load(std::memory_order_relaxed);
  if (__builtin_expect(fault != CUDA_SUCCESS, 0)) {
    // Threads may have failed since the fault was seen.
    FlushOutput(context->device);
    return fault;
  }
  return Activate(context);
}

CUresult CurrentContext(Context** out) {
  *out = Top();
  if (__builtin_expect(*out == nullptr, 0)) {
    return DeviceCount() == 0 ? CUDA_ERROR_NOT_INITIALIZED
                              : CUDA_ERROR_INVALID_CONTEXT;
  }
  return UseContext(*out);
}

CUresult GivenContext(CUcontext handle, Context** out) {
  if (handle == nullptr) return CurrentContext(out);
  *out = ContextOf(handle);
  return *out != nullptr ? UseContext(*out) : CUDA_ERROR_INVALID_CONTEXT;
}

CurrentContextScope::CurrentContextScope(Context* context)
    : result_(Push(context)) {}
CurrentContextScope::~CurrentContextScope() {
  if (result_ == CUDA_SUCCESS) --t_contexts.depth;
}

CUresult OptionalContext(Context** out) {
  const CUresult result = CurrentContext(out);
  return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

Context* CurrentContextOrNull() { return Top(); }

CUresult Activate(Context* context) {
  ThreadContexts& t = t_contexts;
  const int ordinal = context->device->hip_ordinal;
  if (__builtin_expect(t.hip_device == ordinal, 1)) return CUDA_SUCCESS;
  const hipError_t error = hip.hipSetDevice(ordinal);
  if (error == hipSuccess) t.hip_device = ordinal;
  return FromHip(error);
}

CUresult NoteResult(Context* context, hipError_t error) {
  CUresult result = FromHip(error);
  if (context == nullptr) return result;
  if (ServiceBlock* services =
          context->device->services.load(std::memory_order_acquire)) {
    const CUresult recorded = RecordedFault(services);
    if (recorded != CUDA_SUCCESS) result = recorded;
  }
  if (__builtin_expect(IsSticky(result), 0)) {
    CUresult none = CUDA_SUCCESS;
    context->fault.compare_exchange_strong(none, result);
  }
  return result;
}

CUresult StoreValue(CUcontext handle, void* key, void* value,
                    void (*destroy)(CUcontext, void*, void*)) {
  Context* context = nullptr;
  if (CUresult r = GivenOrCurrent(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    const auto same = [key](const StoredValue& v) { return v.key == key; };
    auto at =
        std::find_if(context->stored.begin(), context->stored.end(), same);
    if (at == context->stored.end()) {
      context->stored.push_back({key, value, destroy});
    } else {
      *at = {key, value, destroy};
    }
  }
  g_stored_generation.fetch_add(1);
  return CUDA_SUCCESS;
}

CUresult DeleteStoredValue(CUcontext handle, void* key) {
  Context* context = nullptr;
  if (CUresult r = GivenOrCurrent(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    const auto same = [key](const StoredValue& v) { return v.key == key; };
    auto at =
        std::find_if(context->stored.begin(), context->stored.end(), same);
    if (at == context->stored.end()) return CUDA_ERROR_INVALID_HANDLE;
    context->stored.erase(at);
  }
  g_stored_generation.fetch_add(1);
  return CUDA_SUCCESS;
}

bool TakeRuntimeCall() { return std::exchange(t_runtime_call, false); }

CUresult LoadStoredValue(void** value, CUcontext handle, void* key) {
  t_runtime_call = true;
  Context* context =
      handle != nullptr ? reinterpret_cast<Context*>(handle) : Top();
  if (value == nullptr || context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  StoredValueCache& cache = t_stored_values;
  const std::uint64_t generation =
      g_stored_generation.load(std::memory_order_acquire);
  if (__builtin_expect(cache.generation == generation, 1)) {
    for (const StoredValueCache::Slot& slot : cache.slots) {
      if (slot.context == context && slot.key == key) {
        *value = slot.value;
        return CUDA_SUCCESS;
      }
    }
  } else {
    cache = {};
    cache.generation = generation;
  }
  if (ContextOf(context->handle()) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  std::lock_guard<std::mutex> lock(context->mutex);
  for (const StoredValue& entry : context->stored) {
    if (entry.key != key) continue;
    *value = entry.value;
    cache.slots[cache.next++ % StoredValueCache::kSlots] = {context, key,
                                                            entry.value};
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

namespace api {

CUresult cuCtxCreate(CUcontext* out, unsigned flags, CUdevice device) {
  return CreateContext(out, flags, device);
}
CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return CreateContext(out, flags, device);
}
// Affinity to a part of the GPU is what NVIDIA's MPS does; without it the call
// is the plain one.
CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity,
                        int affinities, unsigned flags, CUdevice device) {
  if (affinity != nullptr && affinities > 0) {
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  return CreateContext(out, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters,
                        unsigned flags, CUdevice device) {
  if (parameters == nullptr) return CreateContext(out, flags, device);
  if (parameters->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v3(out, parameters->execAffinityParams,
                        parameters->numExecAffinityParams, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  Context* context = ContextOf(handle);
  if (context == nullptr || context->primary || context->green != nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!Exiting()) {
    Synchronize(context);
    DropTextures(context);
    if (context->fault.load() != CUDA_SUCCESS) ForgetFault(context->device);
  }
  DropStoredValues(context);
  if (Top() == context) --t_contexts.depth;
  context->references.store(0);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }

CUresult cuCtxAttach(CUcontext* out, unsigned) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  context->references.fetch_add(1);
  *out = context->handle();
  return CUDA_SUCCESS;
}
CUresult cuCtxDetach(CUcontext handle) {
  Context* context = ContextOf(handle);
  if (context == nullptr || context != Top()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context->primary || context->references.load() > 1) {
    context->references.fetch_sub(1);
    return CUDA_SUCCESS;
  }
  return cuCtxDestroy_v2(handle);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  Context* context = ContextOf(handle);
  return context != nullptr ? Push(context) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxPushCurrent(CUcontext handle) {
  return cuCtxPushCurrent_v2(handle);
}

CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  Context* context = Top();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  --t_contexts.depth;
  if (out != nullptr) *out = context->handle();
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* out) { return cuCtxPopCurrent_v2(out); }

CUresult cuCtxSetCurrent(CUcontext handle) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  ThreadContexts& t = t_contexts;
  if (handle == nullptr) {
    if (t.depth > 0) --t.depth;
    return CUDA_SUCCESS;
  }
  Context* context = ContextOf(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (t.depth == 0) return Push(context);
  t.stack[t.depth - 1] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  if (Context* context = Top()) *out = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  if (CUresult r = GivenOrCurrent(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  *out = context->device->ordinal;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* out) {
  return cuCtxGetDevice_v2(out, nullptr);
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  Context* context = nullptr;
  if (CUresult r = GivenContext(handle, &context); r != CUDA_SUCCESS) return r;
  return Synchronize(context);
}
CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  if (CUresult r = GivenOrCurrent(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  *version = kContextApiVersion;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  if (CUresult r = GivenOrCurrent(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  *flags = context->flags.load();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetFlags(unsigned flags) {
  CERB_CONTEXT(context);
  context->flags.store(flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  CERB_CONTEXT(context);
  if (limit < 0 || limit >= Context::kLimits) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  // "Purely a performance hint", which "can be ignored or clamped" (Driver API,
  // cuCtxSetLimit): no part of an AMD GPU's L2 cache can be set aside.
  if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) value = 0;
  return ApplyLimit(context, limit, value);
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  // Compute in graphics: no context is of that kind. cuBLAS asks.
  if (limit >= CU_LIMIT_SHMEM_SIZE &&
      limit <= CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED) {
    *value = 0;
    return CUDA_SUCCESS;
  }
  if (limit < 0 || limit >= Context::kLimits) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  *value = context->limits[limit].load();
  return CUDA_SUCCESS;
}

// Preferences between L1 cache and shared memory: AMD GPUs keep them apart.
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  *config = context->cache_config.load();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  CERB_CONTEXT(context);
  if (!IsCacheConfig(config)) return CUDA_ERROR_INVALID_VALUE;
  context->cache_config.store(config);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  *config = context->shared_config.load();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  CERB_CONTEXT(context);
  if (!IsSharedConfig(config)) return CUDA_ERROR_INVALID_VALUE;
  context->shared_config.store(config);
  return CUDA_SUCCESS;
}
// No line of the L2 cache persists.
CUresult cuCtxResetPersistingL2Cache() {
  CERB_CONTEXT(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  CERB_CONTEXT(context);
  int low = 0, high = 0;
  const hipError_t error = hip.hipDeviceGetStreamPriorityRange(&low, &high);
  if (error != hipSuccess && error != hipErrorNotSupported) {
    return NoteResult(context, error);
  }
  if (least != nullptr) *least = low;
  if (greatest != nullptr) *greatest = high;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  CERB_CONTEXT(context);
  Context* other = ContextOf(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (other->device == context->device) return CUDA_ERROR_INVALID_CONTEXT;
  return NoteResult(
      context, hip.hipDeviceEnablePeerAccess(other->device->hip_ordinal, 0));
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  CERB_CONTEXT(context);
  Context* other = ContextOf(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return NoteResult(context,
                    hip.hipDeviceDisablePeerAccess(other->device->hip_ordinal));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  device->primary->references.fetch_add(1);
  *out = device->primary->handle();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  std::atomic<int>& references = device->primary->references;
  int count = references.load();
  do {
    if (count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  } while (!references.compare_exchange_weak(count, count - 1));
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  if (Exiting()) return CUDA_ERROR_DEINITIALIZED;
  Context* context = device->primary.get();
  if (CUresult r = Activate(context); r != CUDA_SUCCESS) return r;
  hip.hipDeviceSynchronize();
  FlushOutput(device);
  DropStoredValues(context);
  // Libraries and kernels outlive the reset; their code is loaded again at
  // the next use.
  UnloadAllModules(device);
  DropServices(context);
  // HIP knows one context of a device only: its reset ends those of the others
  // too.
  for (Context* each : ContextsOn(device)) {
    DropTextures(each);
    ForgetStreams(each);
  }
  const hipError_t error = hip.hipDeviceReset();
  context->references.store(0);
  context->fault.store(CUDA_SUCCESS);
  ResetLimits(context);
  if (Context* current = Top()) Activate(current);
  return error == hipErrorNotSupported ? CUDA_SUCCESS : FromHip(error);
}
CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  device->primary->flags.store(flags);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags,
                                    int* active) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  if (flags != nullptr) *flags = device->primary->flags.load();
  if (active != nullptr) *active = device->primary->references.load() > 0;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
