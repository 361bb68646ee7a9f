// The handle, versions and errors, and the graph API.
#include <cstdio>
#include <cstring>
#include <mutex>

#include "libraries/common/rocm.h"
#include "libraries/cudnn/descriptor.h"
#include "libraries/cudnn/handle.h"
#include "libraries/cudnn/native_graph.h"

namespace cerberus::libraries::cudnn {
namespace {

constexpr int kCudart = 13000;  // CUDART_VERSION that it is made with

// A descriptor that a program holds: finalized, of the kind that is expected.
Status Expect(const Descriptor* d, Kind kind) {
  if (d == nullptr) return Failed(kNullPointer, "no descriptor");
  if (d->kind != kind) return Failed(kDescriptorType, "of another kind");
  if (!d->finalized) return Failed(kNotFinalized, "not finalized");
  return kSuccess;
}

// Puts the plan's work into the stream.
Status RunPlan(Handle handle, Stream stream, const Descriptor* plan,
               const Descriptor* pack) {
  if (const Status bad = Expect(plan, Kind::kExecutionPlan)) return bad;
  if (const Status bad = Expect(pack, Kind::kVariantPack)) return bad;
  const Sizes ids = pack->Ints(attribute::VARIANT_PACK_UNIQUE_IDS);
  const std::vector<void*> pointers =
      pack->Pointers(attribute::VARIANT_PACK_DATA_POINTERS);
  std::map<Index, void*> memory;
  for (std::size_t i = 0; i < ids.size(); ++i) memory[ids[i]] = pointers[i];
  return RunGraph(*handle->driver, stream, plan->graph, memory);
}

// What is called with messages, of which there are none.
struct Callback {
  unsigned mask = 0;
  void* data = nullptr;
  void* function = nullptr;
};
std::mutex callback_mutex;
Callback callback;

Told CheckVersion() { return ToldOf(kSuccess); }

}  // namespace

CUDNN_API std::size_t cudnnGetVersion() {
  return static_cast<std::size_t>(kVersion.number);
}
CUDNN_API std::size_t cudnnGetMaxDeviceVersion() { return 1210; }
CUDNN_API std::size_t cudnnGetCudartVersion() { return kCudart; }
CUDNN_API const char* cudnnGetErrorString(Told status) {
  return StatusName(StatusOf(status));
}
CUDNN_API void cudnnGetLastErrorString(char* message, std::size_t room) {
  if (message == nullptr || room == 0) return;
  std::snprintf(message, room, "%s", TakeReason());
}
CUDNN_API Told cudnnGetProperty(int type, int* value) {
  return Tell([&] {
    if (value == nullptr) return kBadParam;
    switch (type) {
      case 0: *value = kVersion.major; return kSuccess;
      case 1: *value = kVersion.minor; return kSuccess;
      case 2: *value = kVersion.patch; return kSuccess;
      default: return kInvalidValue;
    }
  });
}
CUDNN_API Told cudnnQueryRuntimeError(Handle handle, Told* status, int, void*) {
  return Tell(handle, [&] {
    if (status == nullptr) return kBadParam;
    *status = ToldOf(kSuccess);
    return kSuccess;
  });
}

CUDNN_API Told cudnnCreate(Handle* handle) {
  return Tell([&] {
    if (handle == nullptr) return kBadParam;
    const Driver* driver = FindDriver();
    if (driver == nullptr || !EnsureContext(*driver)) {
      return Failed(kNotInitialized, "there is no driver or no device");
    }
    SayComputesOnHost(*driver, "cuDNN");
    *handle = new Context();
    (*handle)->driver = driver;
    return kSuccess;
  });
}
CUDNN_API Told cudnnDestroy(Handle handle) {
  return Tell(handle, [&] {
    handle->alive = 0;
    delete handle;
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetStream(Handle handle, Stream stream) {
  return Tell(handle, [&] {
    handle->stream = stream;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetStream(Handle handle, Stream* stream) {
  return Tell(handle, [&] {
    if (stream == nullptr) return kBadParam;
    *stream = handle->stream;
    return kSuccess;
  });
}
// Nothing is logged.
CUDNN_API Told cudnnSetCallback(unsigned mask, void* data, void* function) {
  const std::lock_guard<std::mutex> lock(callback_mutex);
  callback = {mask, data, function};
  return ToldOf(kSuccess);
}
CUDNN_API Told cudnnGetCallback(unsigned* mask, void** data, void** function) {
  const std::lock_guard<std::mutex> lock(callback_mutex);
  Put(mask, callback.mask);
  if (data != nullptr) *data = callback.data;
  if (function != nullptr) *function = callback.function;
  return ToldOf(kSuccess);
}

CUDNN_API Told cudnnGraphVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnOpsVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnCnnVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnAdvVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnSubquadraticOpsVersionCheck() { return CheckVersion(); }
// Version 8's names.
CUDNN_API Told cudnnOpsInferVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnOpsTrainVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnCnnInferVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnCnnTrainVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnAdvInferVersionCheck() { return CheckVersion(); }
CUDNN_API Told cudnnAdvTrainVersionCheck() { return CheckVersion(); }

CUDNN_API Told cudnnBackendCreateDescriptor(int kind, Descriptor** descriptor) {
  return Tell([&] {
    if (descriptor == nullptr) return kNullPointer;
    if (!IsKind(kind)) {
      return Failed(kNotSupported, "a kind of descriptor that is not here");
    }
    *descriptor = new Descriptor(static_cast<Kind>(kind));
    return kSuccess;
  });
}
CUDNN_API Told cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  return Destroy(descriptor);
}
CUDNN_API Told cudnnBackendInitialize(Descriptor* descriptor) {
  return Tell([&] {
    if (descriptor == nullptr) return kNullPointer;
    *descriptor = Descriptor(descriptor->kind);
    return kSuccess;
  });
}
CUDNN_API Told cudnnBackendFinalize(Descriptor* descriptor) {
  return Tell([&] { return Finalize(descriptor); });
}
CUDNN_API Told cudnnBackendSetAttribute(Descriptor* descriptor, int name,
                                        int type, std::int64_t count,
                                        const void* elements) {
  return Tell(
      [&] { return SetAttribute(descriptor, name, type, count, elements); });
}
CUDNN_API Told cudnnBackendGetAttribute(Descriptor* descriptor, int name,
                                        int type, std::int64_t room,
                                        std::int64_t* count, void* elements) {
  return Tell([&] {
    if (descriptor == nullptr) return Failed(kNullPointer, "no descriptor");
    return GetAttribute(*descriptor, name, type, room, count, elements);
  });
}
CUDNN_API Told cudnnGetExecutionPlanWorkspaceSize(Handle handle,
                                                  Descriptor* plan, Descriptor*,
                                                  std::size_t* bytes) {
  return Tell(handle, [&] {
    if (const Status bad = Expect(plan, Kind::kExecutionPlan)) return bad;
    if (bytes == nullptr) return kNullPointer;
    *bytes = 0;
    return kSuccess;
  });
}
CUDNN_API Told cudnnBackendExecute(Handle handle, Descriptor* plan,
                                   Descriptor* pack) {
  return Tell(handle,
              [&] { return RunPlan(handle, handle->stream, plan, pack); });
}
CUDNN_API Told cudnnBackendPopulateCudaGraph(Handle handle, Descriptor* plan,
                                             Descriptor* pack, void* graph) {
  return Tell(handle, [&] {
    return Populate(graph, [&](Stream stream) {
      return RunPlan(handle, stream, plan, pack);
    });
  });
}
CUDNN_API Told cudnnBackendUpdateCudaGraph(Handle handle, Descriptor* plan,
                                           Descriptor* pack, void* graph) {
  return Tell(handle, [&] {
    return Repopulate(graph, [&](Stream stream) {
      return RunPlan(handle, stream, plan, pack);
    });
  });
}

#define CUDNN_ANSWERED(part, name)
#define CUDNN_REFUSED(part, name) \
  CUDNN_API Told name() { return ToldOf(kNotSupported); }
#include "libraries/cudnn/cudnn.def"

}  // namespace cerberus::libraries::cudnn
