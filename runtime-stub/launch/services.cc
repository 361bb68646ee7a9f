#include "runtime-stub/launch/services.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/conditional.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/printf.h"
#include "runtime-stub/launch/shared_window.h"
#include "runtime-stub/memory/multicast.h"
#include "runtime-stub/stream/capture.h"
#include "support/bytes.h"
#include "support/log.h"

namespace cerberus::stub {

struct ServiceBlock {
  // The record and the ring are pinned host memory, which the device reaches
  // under its own addresses: both must be readable while a kernel runs, and
  // after a fault.
  formats::ErrorRecord* record = nullptr;
  formats::ContextBlock content;  // what stands in `block`
  void* block = nullptr;          // device memory
  std::atomic<bool> reported{false};
  // Lines of failed assertions were written.
  std::atomic<bool> asserted{false};

  formats::PrintfRing* ring = nullptr;
  std::vector<formats::PrintfRing*>
      old_rings;                 // another thread may still look there
  std::mutex output_mutex;       // one thread at a time reads the ring
  std::vector<void*> multicast;  // tables: the last one, and earlier ones
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

std::mutex g_services_mutex;  // guards making and changing them

// Records hold their texts, which CUDA's do not; so the ring has twice the
// size that was asked for.
hipError_t MakeRing(ServiceBlock* services, std::size_t limit) {
  constexpr std::size_t kLeast = 4096;
  const std::size_t bytes = AlignUp(std::max(2 * limit, kLeast), 8);
  void* ring = nullptr;
  std::uint64_t address = 0;
  const hipError_t error =
      MakeShared(sizeof(formats::PrintfRing) + bytes, &ring, &address);
  if (error != hipSuccess) return error;
  services->ring = static_cast<formats::PrintfRing*>(ring);
  services->content.printf_ring = address;
  services->content.printf_bytes = bytes;
  return hipSuccess;
}

// Blocks are rounded up to size classes; what that can cost is added, so
// that what fits into CUDA's heap fits here.
hipError_t MakeHeap(ServiceBlock* services, std::size_t limit) {
  const std::size_t bytes =
      AlignUp(sizeof(formats::HeapHeader) + limit + limit / 4, 16);
  void* heap = nullptr;
  hipError_t error = hip.hipMalloc(&heap, bytes);
  if (error != hipSuccess) return error;
  const formats::HeapHeader empty = {};
  error = Upload(heap, &empty, sizeof empty);
  if (error != hipSuccess) {
    hip.hipFree(heap);
    return error;
  }
  services->content.heap = reinterpret_cast<std::uintptr_t>(heap);
  services->content.heap_bytes = bytes;
  return hipSuccess;
}

hipError_t WriteBlock(ServiceBlock* services) {
  return Upload(services->block, &services->content, sizeof services->content);
}

void FreeServices(ServiceBlock* services) {
  if (services->content.heap != 0) {
    hip.hipFree(reinterpret_cast<void*>(services->content.heap));
  }
  if (services->block != nullptr) hip.hipFree(services->block);
  for (void* table : services->multicast) hip.hipFree(table);
  if (services->ring != nullptr) hip.hipHostFree(services->ring);
  for (formats::PrintfRing* ring : services->old_rings) hip.hipHostFree(ring);
  if (services->record != nullptr) hip.hipHostFree(services->record);
  delete services;
}

hipError_t MakeServices(Context* context, ServiceBlock* services) {
  services->content.abi = formats::kLaunchAbi;
  void* record = nullptr;
  // The addresses of launch queues and their graphs stand behind the record.
  constexpr std::size_t kBytes =
      sizeof(formats::ErrorRecord) +
      2 * formats::kLaunchQueues * sizeof(std::uint64_t);
  hipError_t error =
      MakeShared(kBytes, &record, &services->content.error_record);
  if (error != hipSuccess) return error;
  services->record = static_cast<formats::ErrorRecord*>(record);
  services->content.launch_queues =
      services->content.error_record + sizeof(formats::ErrorRecord);
  error = MakeRing(services, context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
  if (error != hipSuccess) return error;
  error = MakeHeap(services, context->limits[CU_LIMIT_MALLOC_HEAP_SIZE]);
  if (error != hipSuccess) return error;
  error = hip.hipMalloc(&services->block, sizeof services->content);
  if (error != hipSuccess) return error;
  return WriteBlock(services);
}

void Flush(ServiceBlock* services) {
  KernelOutput out;
  std::lock_guard<std::mutex> lock(services->output_mutex);
  DrainRing(services->ring, services->content.printf_bytes / 8, &out);
  // The program's own printf writes there too: one buffer keeps the order.
  std::fwrite(out.text.data(), 1, out.text.size(), stdout);
  if (out.assertions.empty()) return;
  std::fwrite(out.assertions.data(), 1, out.assertions.size(), stderr);
  services->asserted.store(true);
}

// For where nothing may be thrown: HIP's callbacks.
void FlushOrSay(ServiceBlock* services) {
  try {
    Flush(services);
  } catch (const std::bad_alloc&) {
    Log(LogLevel::kError, "out of host memory: what kernels printed is lost");
  }
}

CUresult ReplaceRing(Context* context, ServiceBlock* services,
                     std::size_t limit) {
  // No kernel may be using the old one.
  hipError_t error = hip.hipDeviceSynchronize();
  if (error != hipSuccess) return NoteResult(context, error);
  Flush(services);
  {
    std::lock_guard<std::mutex> lock(services->output_mutex);
    formats::PrintfRing* old = services->ring;
    services->old_rings.reserve(services->old_rings.size() + 1);
    error = MakeRing(services, limit);
    if (error == hipSuccess) {
      error = WriteBlock(services);
      services->old_rings.push_back(old);
    }
  }
  return NoteResult(context, error);
}

CUresult ReplaceHeap(Context* context, ServiceBlock* services,
                     std::size_t limit) {
  hipError_t error = hip.hipDeviceSynchronize();
  if (error != hipSuccess) return NoteResult(context, error);
  void* old = reinterpret_cast<void*>(services->content.heap);
  formats::HeapHeader header = {};
  error = hip.hipMemcpy(&header, old, sizeof header, hipMemcpyDeviceToHost);
  if (error == hipSuccess && header.used != 0) return CUDA_ERROR_INVALID_VALUE;
  if (error == hipSuccess) error = MakeHeap(services, limit);
  if (error == hipSuccess) error = WriteBlock(services);
  if (error == hipSuccess) hip.hipFree(old);
  return NoteResult(context, error);
}

// The kernel that failed may still run: the lines of its other threads, until
// none comes for a while. Waiting for the device might take for ever, since
// other work may wait for the caller.
void AwaitAssertions(ServiceBlock* services) {
  constexpr int kQuiet = 10, kMost = 1000;  // milliseconds
  for (int quiet = 0, all = 0; quiet < kQuiet && all < kMost; ++quiet, ++all) {
    if (HasOutput(*services->ring)) quiet = 0;
    FlushOrSay(services);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The first of the assertions, if the ring had no room for it.
void ReportAssertion(const volatile formats::ErrorRecord& record) {
  char message[1024], file[1024], function[1024];
  ReadDeviceText(record.message, message, sizeof message);
  ReadDeviceText(record.file, file, sizeof file);
  ReadDeviceText(record.function, function, sizeof function);
  std::fprintf(stderr,
               "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion "
               "`%s` failed.\n",
               file, record.line, function, record.block[0], record.block[1],
               record.block[2], record.thread[0], record.thread[1],
               record.thread[2], message);
}

}  // namespace

hipError_t MakeShared(std::size_t bytes, void** host, std::uint64_t* device) {
  const RelaxedCapture relaxed;
  // 2: mapped into the device's address space (hipHostMallocMapped).
  const hipError_t error = hip.hipHostMalloc(host, bytes, 2);
  if (error != hipSuccess) return error;
  std::memset(*host, 0, bytes);
  void* address = *host;
  if (hip.hipHostGetDevicePointer(&address, *host, 0) != hipSuccess) {
    address = *host;
  }
  *device = reinterpret_cast<std::uintptr_t>(address);
  return hipSuccess;
}

CUresult ServicesOf(Context* context, CUdeviceptr* block) {
  std::unique_lock<std::mutex> lock(g_services_mutex);
  ServiceBlock* services = context->device->services.load();
  if (services == nullptr) {
    const RelaxedCapture relaxed;  // a capture may load a kernel
    services = new ServiceBlock;
    const hipError_t error = MakeServices(context, services);
    if (error != hipSuccess) {
      FreeServices(services);
      return FromHip(error);
    }
    context->device->services.store(services, std::memory_order_release);
    lock.unlock();
    CUresult result = PublishMulticast();
    if (result == CUDA_SUCCESS) result = Activate(context);
    if (result != CUDA_SUCCESS) return result;
  }
  *block = reinterpret_cast<std::uintptr_t>(services->block);
  return CUDA_SUCCESS;
}

CUresult SetMulticastTable(Device* device,
                           const std::vector<std::uint64_t>& table,
                           bool unmapped) {
  std::lock_guard<std::mutex> lock(g_services_mutex);
  ServiceBlock* services = device->services.load();
  if (services == nullptr) return CUDA_SUCCESS;
  const CUresult result = Activate(device->primary.get());
  if (result != CUDA_SUCCESS) return result;
  const RelaxedCapture relaxed;
  const std::size_t bytes = table.size() * sizeof table[0];
  void* memory = nullptr;
  hipError_t error = hip.hipMalloc(&memory, bytes);
  if (error != hipSuccess) return FromHip(error);
  std::vector<void*>& tables = services->multicast;
  tables.push_back(memory);
  error = Upload(memory, table.data(), bytes);
  if (error == hipSuccess) {
    services->content.multicast = reinterpret_cast<std::uintptr_t>(memory);
    error = WriteBlock(services);
  }
  if (error == hipSuccess && unmapped) {
    tables.pop_back();
    for (void* old : tables) hip.hipFree(old);
    tables.assign(1, memory);
  }
  return FromHip(error);
}

std::uint64_t* LaunchQueueAddresses(Device* device) {
  return reinterpret_cast<std::uint64_t*>(device->services.load()->record + 1);
}

void FlushOutput(Device* device) {
  ServiceBlock* services = device->services.load(std::memory_order_acquire);
  if (services != nullptr && HasOutput(*services->ring)) FlushOrSay(services);
}

CUresult ApplyLimit(Context* context, CUlimit limit, std::size_t value) {
  std::lock_guard<std::mutex> lock(g_services_mutex);
  ServiceBlock* services = context->device->services.load();
  CUresult result = CUDA_SUCCESS;
  switch (limit) {
    case CU_LIMIT_STACK_SIZE: {
      // Kernels know their own need; this is for recursive ones.
      constexpr int kHipLimitStackSize = 0;
      hip.hipDeviceSetLimit(kHipLimitStackSize, value);
      break;
    }
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      if (services) result = ReplaceRing(context, services, value);
      break;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      if (services) result = ReplaceHeap(context, services, value);
      break;
    default: break;
  }
  if (result == CUDA_SUCCESS) context->limits[limit].store(value);
  return result;
}

namespace {

// More cooperative grids than this cannot be resident at once.
constexpr unsigned kWorkspaces = 64;
constexpr std::size_t kWorkspaceBytes = 64;  // a cache line each

hipError_t MakeWorkspaces(CUdeviceptr* base) {
  constexpr std::size_t kBytes = kWorkspaces * kWorkspaceBytes;
  void* memory = nullptr;
  const hipError_t error = AllocateZeros(&memory, kBytes, kBytes);
  if (error == hipSuccess) *base = reinterpret_cast<CUdeviceptr>(memory);
  return error;
}

hipError_t NodeWorkspace(Context* context, CUdeviceptr* workspace) {
  std::lock_guard<std::mutex> lock(context->mutex);
  if (context->node_workspaces.empty() ||
      context->last_node_workspaces == kWorkspaces) {
    CUdeviceptr made = 0;
    const hipError_t error = MakeWorkspaces(&made);
    if (error != hipSuccess) return error;
    context->node_workspaces.push_back(made);
    context->last_node_workspaces = 0;
  }
  *workspace = context->node_workspaces.back() +
               context->last_node_workspaces++ * kWorkspaceBytes;
  return hipSuccess;
}

}  // namespace

CUresult GridWorkspace(Context* context, bool of_node, CUdeviceptr* workspace) {
  if (of_node) return FromHip(NodeWorkspace(context, workspace));
  CUdeviceptr base = context->workspaces.load(std::memory_order_acquire);
  if (base == 0) {
    std::lock_guard<std::mutex> lock(context->mutex);
    base = context->workspaces.load();
    if (base == 0) {
      const hipError_t error = MakeWorkspaces(&base);
      if (error != hipSuccess) return FromHip(error);
      context->workspaces.store(base, std::memory_order_release);
    }
  }
  const unsigned turn =
      context->next_workspace.fetch_add(1, std::memory_order_relaxed);
  *workspace = base + turn % kWorkspaces * kWorkspaceBytes;
  return CUDA_SUCCESS;
}

CUresult RecordedFault(ServiceBlock* services) {
  const volatile formats::ErrorRecord& record = *services->record;
  const std::uint32_t kind = __atomic_load_n(&record.kind, __ATOMIC_ACQUIRE);
  if (kind == formats::kErrorNone || (kind & formats::kErrorBeingWritten))
    return CUDA_SUCCESS;
  const bool first = !services->reported.exchange(true);
  if (first && kind == formats::kErrorAssert && record.message != 0) {
    AwaitAssertions(services);
    if (!services->asserted.load()) ReportAssertion(record);
  } else if (first) {
    const char* what = kind == formats::kErrorAssert ? "an assertion failed"
                       : kind == formats::kErrorUnsupported ? "is not supported"
                       : kind == formats::kErrorMulticast
                           ? "not an address of multicast memory"
                           : "trap";
    char name[256] = "?";
    if (record.kernel_name != 0) {
      ReadDeviceText(record.kernel_name, name, sizeof name);
    }
    Log(LogLevel::kError,
        "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u): %s (ptx:%u)", name,
        record.block[0], record.block[1], record.block[2], record.thread[0],
        record.thread[1], record.thread[2], what, record.line);
  }
  switch (kind) {
    case formats::kErrorAssert: return CUDA_ERROR_ASSERT;
    case formats::kErrorMulticast: return CUDA_ERROR_ILLEGAL_ADDRESS;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

void ForgetFault(Device* device) {
  ServiceBlock* services = device->services.load();
  if (services == nullptr) return;
  std::memset(services->record, 0, sizeof *services->record);
  services->reported.store(false);
  services->asserted.store(false);
}

void DropServices(Context* context) {
  DropWindows(context);
  FreeConditionWords(context->handle());
  DropLaunchQueues(context->device);
  std::vector<CUdeviceptr> of_nodes;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    of_nodes.swap(context->node_workspaces);
  }
  for (const CUdeviceptr memory : of_nodes) {
    hip.hipFree(reinterpret_cast<void*>(memory));
  }
  if (const CUdeviceptr memory = context->workspaces.exchange(0)) {
    hip.hipFree(reinterpret_cast<void*>(memory));
  }
  std::lock_guard<std::mutex> lock(g_services_mutex);
  ServiceBlock* services = context->device->services.exchange(nullptr);
  if (services != nullptr) FreeServices(services);
}

}  // namespace cerberus::stub
