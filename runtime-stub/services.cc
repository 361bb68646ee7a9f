#include "runtime-stub/services.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "runtime-stub/context.h"
#include "runtime-stub/error.h"
#include "runtime-stub/hip_loader.h"
#include "runtime-stub/launch_abi.h"
#include "runtime-stub/log.h"

namespace cerberus::stub {

struct ServiceBlock {
  // Pinned host memory, which the device reaches under its own address: the
  // record must be readable while a kernel runs, and after a fault.
  ErrorRecord* record = nullptr;
  void* block = nullptr;  // device memory
  std::atomic<bool> reported{false};
};

namespace {

// Copies a NUL-terminated text from device memory, byte by byte: behind its
// end there need not be anything that could be read.
void ReadDeviceText(std::uint64_t address, char* out, std::size_t room) {
  std::size_t size = 0;
  while (size + 1 < room &&
         hip.hipMemcpy(out + size,
                       reinterpret_cast<const void*>(address + size), 1,
                       hipMemcpyDeviceToHost) == hipSuccess &&
         out[size] != '\0') {
    ++size;
  }
  out[size] = '\0';
}

}  // namespace

CUresult ServicesOf(Context* context, CUdeviceptr* block) {
  std::lock_guard<std::mutex> lock(context->mutex);
  ServiceBlock* services = context->services.load();
  if (services == nullptr) {
    auto made = std::make_unique<ServiceBlock>();
    void* record = nullptr;
    // 2: mapped into the device's address space (hipHostMallocMapped).
    hipError_t error = hip.hipHostMalloc(&record, sizeof(ErrorRecord), 2);
    if (error != hipSuccess) return FromHip(error);
    std::memset(record, 0, sizeof(ErrorRecord));
    made->record = static_cast<ErrorRecord*>(record);
    void* device_record = record;
    if (hip.hipHostGetDevicePointer(&device_record, record, 0) != hipSuccess) {
      device_record = record;
    }
    ContextBlock content = {};
    content.abi = kLaunchAbi;
    content.error_record = reinterpret_cast<std::uintptr_t>(device_record);
    error = hip.hipMalloc(&made->block, sizeof content);
    if (error == hipSuccess) {
      error = hip.hipMemcpy(made->block, &content, sizeof content,
                            hipMemcpyHostToDevice);
    }
    if (error != hipSuccess) {
      hip.hipHostFree(record);
      if (made->block != nullptr) hip.hipFree(made->block);
      return FromHip(error);
    }
    services = made.release();
    context->services.store(services, std::memory_order_release);
  }
  *block = reinterpret_cast<std::uintptr_t>(services->block);
  return CUDA_SUCCESS;
}

CUresult GridWorkspace(Context* context, CUdeviceptr* workspace) {
  // More cooperative grids than this cannot be resident at once.
  constexpr unsigned kWorkspaces = 64;
  constexpr std::size_t kStride = 64;  // a cache line each
  CUdeviceptr base = context->workspaces.load(std::memory_order_acquire);
  if (base == 0) {
    std::lock_guard<std::mutex> lock(context->mutex);
    base = context->workspaces.load();
    if (base == 0) {
      void* memory = nullptr;
      constexpr std::uint8_t kZeros[kWorkspaces * kStride] = {};
      hipError_t error = hip.hipMalloc(&memory, sizeof kZeros);
      if (error != hipSuccess) return FromHip(error);
      error =
          hip.hipMemcpy(memory, kZeros, sizeof kZeros, hipMemcpyHostToDevice);
      if (error != hipSuccess) return FromHip(error);
      base = reinterpret_cast<CUdeviceptr>(memory);
      context->workspaces.store(base, std::memory_order_release);
    }
  }
  const unsigned turn =
      context->next_workspace.fetch_add(1, std::memory_order_relaxed);
  *workspace = base + turn % kWorkspaces * kStride;
  return CUDA_SUCCESS;
}

CUresult RecordedFault(ServiceBlock* services) {
  const volatile ErrorRecord& record = *services->record;
  const std::uint32_t kind = record.kind;
  if (kind == kErrorNone) return CUDA_SUCCESS;
  if (!services->reported.exchange(true)) {
    const char* what = kind == kErrorAssert        ? "an assertion failed"
                       : kind == kErrorUnsupported ? "is not supported"
                                                   : "trap";
    char name[256] = "?";
    if (record.kernel_name != 0) {
      ReadDeviceText(record.kernel_name, name, sizeof name);
    }
    Log(LogLevel::kError,
        "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u): %s (ptx:%u)", name,
        record.block[0], record.block[1], record.block[2], record.thread[0],
        record.thread[1], record.thread[2], what, record.ptx_line);
  }
  switch (kind) {
    case kErrorAssert:
      return CUDA_ERROR_ASSERT;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

void DropServices(Context* context) {
  if (const CUdeviceptr memory = context->workspaces.exchange(0)) {
    hip.hipFree(reinterpret_cast<void*>(memory));
  }
  ServiceBlock* services = context->services.exchange(nullptr);
  if (services == nullptr) return;
  hip.hipFree(services->block);
  hip.hipHostFree(services->record);
  delete services;
}

}  // namespace cerberus::stub
