#include "runtime-stub/launch/device_launch.h"

#include <alloca.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/graph/device_graph.h"
#include "runtime-stub/launch/launch_family.h"
#include "runtime-stub/launch/services.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {

// One slot for each family that runs; more wait for their turn.
struct LaunchSlots {
  std::mutex mutex;  // guards what follows
  std::condition_variable freed;
  std::array<LaunchSlot, formats::kLaunchQueues> slots;
  formats::DeviceFacts* facts = nullptr;
  std::uint64_t facts_address = 0;
};

namespace {

// Kernels by the numbers that kernels know them by, from 1 on; null for those
// that are unloaded.
std::mutex g_kernels_mutex;
NeverDestroyed<std::vector<Kernel*>> g_all_kernels;
auto& g_kernels = *g_all_kernels;

// Children begin when their parent has ended, so that more of them are pending
// than with CUDA, where they begin at once. A program that never asked for a
// number of them has more than CUDA says.
constexpr std::size_t kDefaultPending = 2048;
constexpr std::uint32_t kPendingUnlessAsked = 16384;

std::uint32_t PendingLimit(Context* context) {
  const std::size_t limit =
      context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT].load();
  if (limit == kDefaultPending) return kPendingUnlessAsked;
  return static_cast<std::uint32_t>(std::min<std::size_t>(limit, 1 << 20));
}

// cudaError_t; the names are CUDA's, the texts as of the driver's errors where
// it has the same.
struct RuntimeError {
  std::uint32_t number;
  const char* name;
  const char* text;
};
constexpr RuntimeError kRuntimeErrors[] = {
#define RUNTIME_ERROR_ROW(name, number, text) {number, #name, text},
#include "runtime-stub/api/runtime_errors.def"
#undef RUNTIME_ERROR_ROW
};

// The facts with the texts behind them.
hipError_t MakeFacts(Context* context, LaunchSlots* slots) {
  std::string texts;
  const auto add = [&texts](const char* text) {
    const std::size_t at = sizeof(formats::DeviceFacts) + texts.size();
    texts.append(text).push_back('\0');
    return static_cast<std::uint32_t>(at);
  };
  formats::DeviceFacts facts;
  const Device& device = *context->device;
  facts.device = static_cast<std::uint32_t>(device.ordinal);
  facts.devices = static_cast<std::uint32_t>(DeviceCount());
  facts.runtime_version = static_cast<std::uint32_t>(PresentedCudaVersion());
  std::copy(device.attributes.begin(), device.attributes.end(),
            facts.attributes);
  const std::uint32_t unknown = add("unrecognized error code");
  for (auto& row : facts.errors) row[0] = row[1] = unknown;
  for (const RuntimeError& error : kRuntimeErrors) {
    facts.errors[error.number][0] = add(error.name);
    const char* text = error.text != nullptr
                           ? error.text
                           : ErrorText(static_cast<CUresult>(error.number));
    facts.errors[error.number][1] = add(text != nullptr ? text : error.name);
  }
  void* memory = nullptr;
  const hipError_t made =
      MakeShared(sizeof facts + texts.size(), &memory, &slots->facts_address);
  if (made != hipSuccess) return made;
  slots->facts = static_cast<formats::DeviceFacts*>(memory);
  *slots->facts = facts;
  std::memcpy(slots->facts + 1, texts.data(), texts.size());
  return hipSuccess;
}

LaunchSlots* SlotsOf(Device* device) {
  LaunchSlots* slots = device->launch_slots.load(std::memory_order_acquire);
  if (slots != nullptr) return slots;
  auto* made = new LaunchSlots;
  if (!device->launch_slots.compare_exchange_strong(slots, made)) {
    delete made;
    return slots;
  }
  return made;
}

void FreeQueue(LaunchSlot* slot) {
  if (slot->queue != nullptr) hip.hipHostFree(slot->queue);
  slot->queue = nullptr;
}

// Gives the slot a queue of the right size, empty.
hipError_t PrepareSlot(Context* context, LaunchSlots* slots, LaunchSlot* slot) {
  if (slots->facts == nullptr) {
    const hipError_t error = MakeFacts(context, slots);
    if (error != hipSuccess) return error;
  }
  for (int i = 0; i < Context::kLimits; ++i) {
    slots->facts->limits[i] = context->limits[i].load();
  }
  const std::uint32_t limit = PendingLimit(context);
  // Room for the parameters of most kernels.
  constexpr std::uint64_t kBytesOfLaunch = sizeof(formats::LaunchRecord) + 256;
  constexpr std::uint64_t kLeastBytes = 64 * 1024;
  const std::uint64_t wanted = std::max(limit * kBytesOfLaunch, kLeastBytes);
  if (slot->queue == nullptr || slot->queue->capacity < wanted) {
    FreeQueue(slot);
    void* memory = nullptr;
    const hipError_t error = MakeShared(sizeof(formats::LaunchQueue) + wanted,
                                        &memory, &slot->device_address);
    if (error != hipSuccess) return error;
    slot->queue = static_cast<formats::LaunchQueue*>(memory);
    slot->queue->capacity = wanted;
    slot->queue->facts = slots->facts_address;
  }
  formats::LaunchQueue& queue = *slot->queue;
  queue.used = 0;
  queue.pending = queue.sequence = queue.handles = 0;
  queue.limit = limit;
  if (queue.failed != 0) {
    queue.failed = queue.overflow = 0;
    std::memset(queue.errors, 0, sizeof queue.errors);
  }
  return hipSuccess;
}

// A slot for as long as the object lives.
class LeasedSlot {
 public:
  LeasedSlot() = default;
  LeasedSlot(const LeasedSlot&) = delete;
  LeasedSlot& operator=(const LeasedSlot&) = delete;
  ~LeasedSlot() {
    if (slot_ == nullptr) return;
    std::lock_guard<std::mutex> lock(slots_->mutex);
    slot_->busy = false;
    slots_->freed.notify_one();
  }

  CUresult Take(Context* context) {
    CUdeviceptr block = 0;
    if (CUresult r = ServicesOf(context, &block); r != CUDA_SUCCESS) return r;
    slots_ = SlotsOf(context->device);
    std::unique_lock<std::mutex> lock(slots_->mutex);
    std::array<LaunchSlot, formats::kLaunchQueues>& slots = slots_->slots;
    const auto idle = [&] {
      return std::find_if(slots.begin(), slots.end(),
                          [](const LaunchSlot& l) { return !l.busy; });
    };
    slots_->freed.wait(lock, [&] { return idle() != slots.end(); });
    LaunchSlot* slot = &*idle();
    slot->number = static_cast<std::uint32_t>(slot - slots.data()) + 1;
    const hipError_t error = PrepareSlot(context, slots_, slot);
    if (error != hipSuccess) return FromHip(error);
    std::uint64_t* queues = LaunchQueueAddresses(context->device);
    queues[slot->number - 1] = slot->device_address;
    queues[formats::kLaunchQueues + slot->number - 1] =
        reinterpret_cast<std::uintptr_t>(CurrentGraph());
    slot->busy = true;
    slot_ = slot;
    return CUDA_SUCCESS;
  }
  LaunchSlot* get() { return slot_; }

 private:
  LaunchSlots* slots_ = nullptr;
  LaunchSlot* slot_ = nullptr;
};

// Waits for all but the graphs, which it hands out: its queue is another's
// then.
CUresult RunFamily(Context* context, const LaunchTarget& target, Grid grid,
                   hipStream_t stream, void** params, void** extra,
                   std::vector<DeviceGraphLaunch>* graphs) {
  LeasedSlot slot;
  if (CUresult r = slot.Take(context); r != CUDA_SUCCESS) return r;
  grid.launch_queue = slot.get()->number;
  const std::size_t size = target.info->explicit_size();
  auto* buffer = static_cast<std::uint8_t*>(alloca(size + 1));
  if (CUresult r = FillArguments(context, *target.info, grid, &stream, params,
                                 extra, buffer);
      r != CUDA_SUCCESS) {
    return r;
  }
  hipError_t error = LaunchFilled(target, grid, stream, buffer, size);
  if (error != hipSuccess) return NoteResult(context, error);
  LaunchFamily family(context, slot.get());
  error = family.Run(stream, GridIdIn(*target.info, buffer));
  if (NoteResult(context, error) == CUDA_SUCCESS) *graphs = family.graphs();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult RefuseToCapture(const Kernel& kernel) {
  Log(LogLevel::kError,
      "kernel '%s' launches kernels, and cannot take the place of a kernel "
      "that does not in an executable graph",
      kernel.name.c_str());
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult LaunchWithChildren(Context* context, const LaunchTarget& target,
                            Grid grid, hipStream_t stream, void** params,
                            void** extra) {
  std::vector<DeviceGraphLaunch> graphs;
  const CUresult result =
      RunFamily(context, target, grid, stream, params, extra, &graphs);
  return result == CUDA_SUCCESS && !graphs.empty()
             ? RunDeviceGraphs(context, stream, graphs)
             : result;
}

std::uint32_t LaunchIdOf(Kernel* kernel) {
  std::lock_guard<std::mutex> lock(g_kernels_mutex);
  if (kernel->launch_id == 0) {
    g_kernels.push_back(kernel);
    kernel->launch_id = static_cast<std::uint32_t>(g_kernels.size());
  }
  return kernel->launch_id;
}

Kernel* KernelOfLaunchId(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(g_kernels_mutex);
  return id != 0 && id <= g_kernels.size() ? g_kernels[id - 1] : nullptr;
}

void ForgetLaunchId(Kernel* kernel) {
  std::lock_guard<std::mutex> lock(g_kernels_mutex);
  if (kernel->launch_id != 0) g_kernels[kernel->launch_id - 1] = nullptr;
}

void DropLaunchQueues(Device* device) {
  LaunchSlots* slots = device->launch_slots.exchange(nullptr);
  if (slots == nullptr) return;
  for (LaunchSlot& slot : slots->slots) {
    FreeQueue(&slot);
    for (hipStream_t stream : slot.streams) {
      if (stream != nullptr) hip.hipStreamDestroy(stream);
    }
  }
  if (slots->facts != nullptr) hip.hipHostFree(slots->facts);
  delete slots;
}

}  // namespace cerberus::stub
