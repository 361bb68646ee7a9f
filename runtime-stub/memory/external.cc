// Memory and semaphores of other interfaces (Vulkan, other drivers), imported
// by a descriptor, and memory given to them. HIP has the same with structures
// of one layout. Mapped images are left out: they have the layout of a
// graphics driver, and CUDA arrays are pitched memory here.
#include <cstdint>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/handle.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/memory/pointer.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"

namespace cerberus::stub {
namespace {

// CUexternalMemoryHandleType. HIP's numbers go up to NvSciBuf's; the file
// descriptors that it takes are those of dma-bufs (HIP's documentation,
// hipExternalMemoryHandleTypeOpaqueFd).
constexpr int kOpaqueFd = 1, kDmaBufFd = 9;

hipExternalMemory_t Native(CUexternalMemory memory) {
  return reinterpret_cast<hipExternalMemory_t>(memory);
}
const hipExternalSemaphore_t* Native(const CUexternalSemaphore* semaphores) {
  return reinterpret_cast<const hipExternalSemaphore_t*>(semaphores);
}

}  // namespace

namespace api {

CUresult cuImportExternalMemory(
    CUexternalMemory* out,
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
  if (out == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC there = *description;
  if (there.type == kDmaBufFd) there.type = kOpaqueFd;
  hipExternalMemory_t memory = nullptr;
  const hipError_t error = hip.hipImportExternalMemory(&memory, &there);
  if (error != hipSuccess) return NoteResult(context, error);
  RememberNewHandle(
      HandleKind::kExternalMemory, memory, context,
      [](hipExternalMemory_t made) { hip.hipDestroyExternalMemory(made); });
  *out = reinterpret_cast<CUexternalMemory>(memory);
  return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedBuffer(
    CUdeviceptr* out, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) {
  if (out == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_HANDLE(context, kExternalMemory, memory);
  void* pointer = nullptr;
  const hipError_t error = hip.hipExternalMemoryGetMappedBuffer(
      &pointer, Native(memory), description);
  if (error == hipSuccess) *out = reinterpret_cast<CUdeviceptr>(pointer);
  return NoteResult(context, error);
}
CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  CERB_HANDLE(context, kExternalMemory, memory);
  ForgetHandle(memory);
  return NoteResult(context, hip.hipDestroyExternalMemory(Native(memory)));
}

CUresult cuImportExternalSemaphore(
    CUexternalSemaphore* out,
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* description) {
  if (out == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  hipExternalSemaphore_t semaphore = nullptr;
  const hipError_t error =
      hip.hipImportExternalSemaphore(&semaphore, description);
  if (error != hipSuccess) return NoteResult(context, error);
  RememberNewHandle(HandleKind::kExternalSemaphore, semaphore, context,
                    [](hipExternalSemaphore_t made) {
                      hip.hipDestroyExternalSemaphore(made);
                    });
  *out = reinterpret_cast<CUexternalSemaphore>(semaphore);
  return CUDA_SUCCESS;
}
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore) {
  CERB_HANDLE(context, kExternalSemaphore, semaphore);
  ForgetHandle(semaphore);
  return NoteResult(context,
                    hip.hipDestroyExternalSemaphore(
                        reinterpret_cast<hipExternalSemaphore_t>(semaphore)));
}

// In a stream and as nodes of graphs.
#define CERB_SEMAPHORES(kind, PARAMS, member)                                  \
  CUresult cu##kind##ExternalSemaphoresAsync(                                  \
      const CUexternalSemaphore* semaphores,                                   \
      const CUDA_EXTERNAL_SEMAPHORE_##PARAMS##_PARAMS* params, unsigned count, \
      CUstream handle) {                                                       \
    if (semaphores == nullptr || params == nullptr || count == 0) {            \
      return CUDA_ERROR_INVALID_VALUE;                                         \
    }                                                                          \
    CERB_STREAM(context, stream, handle);                                      \
    if (Captures(stream)) {                                                    \
      const CUDA_EXT_SEM_##PARAMS##_NODE_PARAMS node = {                       \
          const_cast<CUexternalSemaphore*>(semaphores), params, count};        \
      return CaptureNode(stream, [&node](auto... at) {                         \
        return cuGraphAddExternalSemaphores##kind##Node(at..., &node);         \
      });                                                                      \
    }                                                                          \
    return NoteResult(context,                                                 \
                      hip.hip##kind##ExternalSemaphoresAsync(                  \
                          Native(semaphores), params, count, stream));         \
  }                                                                            \
  CUresult cuGraphAddExternalSemaphores##kind##Node(                           \
      CUgraphNode* node, CUgraph graph, const CUgraphNode* after,              \
      std::size_t count, const CUDA_EXT_SEM_##PARAMS##_NODE_PARAMS* params) {  \
    if (node == nullptr || graph == nullptr || params == nullptr) {            \
      return CUDA_ERROR_INVALID_VALUE;                                         \
    }                                                                          \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    const hipError_t error = hip.hipGraphAddExternalSemaphores##kind##Node(    \
        stub::Native(node), stub::Native(graph), stub::Native(after), count,   \
        params);                                                               \
    return RememberNew(error, context, node, k##kind##Node);                   \
  }                                                                            \
  CUresult cuGraphExternalSemaphores##kind##NodeGetParams(                     \
      CUgraphNode node, CUDA_EXT_SEM_##PARAMS##_NODE_PARAMS* params) {         \
    if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE; \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    return NoteResult(context,                                                 \
                      hip.hipGraphExternalSemaphores##kind##NodeGetParams(     \
                          stub::Native(node), params));                        \
  }                                                                            \
  CUresult cuGraphExternalSemaphores##kind##NodeSetParams(                     \
      CUgraphNode node, const CUDA_EXT_SEM_##PARAMS##_NODE_PARAMS* params) {   \
    if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE; \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    return NoteResult(context,                                                 \
                      hip.hipGraphExternalSemaphores##kind##NodeSetParams(     \
                          stub::Native(node), params));                        \
  }                                                                            \
  CUresult cuGraphExecExternalSemaphores##kind##NodeSetParams(                 \
      CUgraphExec exec, CUgraphNode node,                                      \
      const CUDA_EXT_SEM_##PARAMS##_NODE_PARAMS* params) {                     \
    if (exec == nullptr || node == nullptr || params == nullptr) {             \
      return CUDA_ERROR_INVALID_VALUE;                                         \
    }                                                                          \
    CERB_OPTIONAL_CONTEXT(context);                                            \
    CERB_NODE_OF_EXEC(at, exec, node);                                         \
    const hipError_t error =                                                   \
        hip.hipGraphExecExternalSemaphores##kind##NodeSetParams(               \
            at.exec, at.node, params);                                         \
    if (error == hipSuccess) {                                                 \
      CUgraphNodeParams noted = {};                                            \
      noted.type = k##kind##Node;                                              \
      noted.member = *params;                                                  \
      NoteExecNode(exec, node, noted);                                         \
    }                                                                          \
    return NoteResult(context, error);                                         \
  }
CERB_SEMAPHORES(Signal, SIGNAL, signal)
CERB_SEMAPHORES(Wait, WAIT, wait)
#undef CERB_SEMAPHORES

// The other way: a descriptor of device memory for another driver. The one
// type, of dma-bufs, and the one flag have the same numbers.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address,
                                       std::size_t bytes,
                                       CUmemRangeHandleType type,
                                       unsigned long long flags) {
  if (handle == nullptr || address == 0 || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_POINTER(context, address);
  return NoteResult(context, hip.hipMemGetHandleForAddressRange(
                                 handle, reinterpret_cast<void*>(address),
                                 bytes, static_cast<unsigned>(type), flags));
}

// Writes of other devices on the bus pass the host data path's cache, if the
// GPU has one: then HIP tells the address of the register that flushes it.
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  constexpr int kCurrentContext = 0, kToOwner = 100, kToAllDevices = 200;
  if (target != kCurrentContext ||
      (scope != kToOwner && scope != kToAllDevices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  volatile std::uint32_t* flush = nullptr;
  const hipError_t error = hip.hipDeviceGetAttribute(
      reinterpret_cast<int*>(&flush), hipDeviceAttributeHdpMemFlushCntl,
      context->device->hip_ordinal);
  if (error == hipSuccess && flush != nullptr) *flush = 1;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
