#include "runtime-stub/device/device.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "formats/device_attributes.h"
#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "hip/visible_devices.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/provider.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

struct AttributeRow {
  int id;
  hipDeviceAttribute_t hip_attribute;
  int value;
};
constexpr AttributeRow kAttributeRows[] = {
#define DEVICE_ATTRIBUTE(id, name, hip_name, value) \
  {id, hipDeviceAttribute##hip_name, value},
#include "formats/device_attributes.def"
#undef DEVICE_ATTRIBUTE
};

std::atomic<int> g_count{0};
// Devices are never destroyed: handles to their contexts stay valid to the
// end of the process.
Device* g_devices[kMaxDevices];

// Callbacks that have been registered and not taken back.
class Notifications {
 public:
  static Notifications& Get() {
    static NeverDestroyed<Notifications> all;
    return *all;
  }
  CUasyncCallbackHandle Add(const Device* device) {
    std::lock_guard<std::mutex> lock(mutex_);
    entries_[++last_] = device;
    return reinterpret_cast<CUasyncCallbackHandle>(last_);
  }
  bool Remove(const Device* device, CUasyncCallbackHandle callback) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(reinterpret_cast<std::uintptr_t>(callback));
    if (at == entries_.end() || at->second != device) return false;
    entries_.erase(at);
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, const Device*> entries_;
  std::uintptr_t last_ = 0;
};

// Values that follow from the target, not from HIP.
bool ComputedAttribute(const Device& device, int id, int* value) {
  switch (id) {
    case formats::kAttribute_COMPUTE_CAPABILITY_MAJOR:
      *value = device.cc.major;
      return true;
    case formats::kAttribute_COMPUTE_CAPABILITY_MINOR:
      *value = device.cc.minor;
      return true;
    case formats::kAttribute_MULTI_GPU_BOARD_GROUP_ID:
      *value = device.hip_ordinal;
      return true;
    // Both are of 9.0, and there is software for them on every target.
    case formats::kAttribute_CLUSTER_LAUNCH:
    case formats::kAttribute_TENSOR_MAP_ACCESS_SUPPORTED:
      *value = device.cc.major >= 9;
      return true;
    // Of 9.0 as well, over memory that is mapped in several places.
    case formats::kAttribute_MULTICAST_SUPPORTED:
      *value = device.cc.major >= 9 &&
               device.attribute(
                   formats::kAttribute_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
      return true;
    case formats::kAttribute_CAN_USE_STREAM_MEM_OPS_V1:
    case formats::kAttribute_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case formats::kAttribute_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case formats::kAttribute_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case formats::kAttribute_CAN_USE_STREAM_WAIT_VALUE_NOR:
      // HIP 5.2 can, and says that it cannot.
      if (!hip.is_before_5_3) return false;
      *value = 1;
      return true;
    case formats::kAttribute_DMA_BUF_SUPPORTED:
      *value = hip.has_address_range_handles;
      return true;
    default: return false;
  }
}

// HIP 5.7 has pools, and says so only if a variable of its own is set.
bool HasPools(const Device& device) {
  hipMemPool_t pool = nullptr;
  return hip.hipDeviceGetDefaultMemPool(&pool, device.hip_ordinal) ==
         hipSuccess;
}

void FillAttributes(Device* device) {
  for (const AttributeRow& row : kAttributeRows) {
    int value = row.value;
    if (!ComputedAttribute(*device, row.id, &value) &&
        row.hip_attribute != hipDeviceAttributeNone) {
      int asked = 0;
      if (hip.hipDeviceGetAttribute(&asked, row.hip_attribute,
                                    device->hip_ordinal) == hipSuccess) {
        value = asked;
      }
    }
    device->attributes[row.id] = value;
  }
  int& pools = device->attributes[formats::kAttribute_MEMORY_POOLS_SUPPORTED];
  if (pools == 0) pools = HasPools(*device);
  int& shared =
      device->attributes[formats::kAttribute_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
  if (shared > 0) device->shared_limit = static_cast<std::uint32_t>(shared);
  // What programs for that capability count on, who asks for it.
  if (device->cc.sm() >= 90 && SharedOverflow()) {
    shared = formats::kWindowSharedLimit;
  }
  // Counters beyond int's range arrive negative from some HIP versions.
  int& grid_x = device->attributes[formats::kAttribute_MAX_GRID_DIM_X];
  if (grid_x <= 0) grid_x = 0x7fffffff;
  // An answer of 0 would make cudart's occupancy functions divide by zero.
  for (int id : {formats::kAttribute_MAX_THREADS_PER_BLOCK,
                 formats::kAttribute_MULTIPROCESSOR_COUNT,
                 formats::kAttribute_MAX_THREADS_PER_MULTIPROCESSOR}) {
    int& value = device->attributes[id];
    if (value > 0) continue;
    for (const AttributeRow& row : kAttributeRows) {
      if (row.id == id) value = row.value;
    }
  }
}

// HIP's UUID, else one made here.
void FillUuid(Device* device) {
  hipUUID uuid = {};
  const hipError_t error = hip.hipDeviceGetUuid(&uuid, device->hip_ordinal);
  const bool empty = std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes),
                                 [](char c) { return c == 0; });
  if (error == hipSuccess && !empty) {
    std::memcpy(device->uuid.bytes, uuid.bytes, sizeof uuid.bytes);
    return;
  }
  device->uuid =
      UuidOfPlace(device->attribute(formats::kAttribute_PCI_DOMAIN_ID),
                  device->attribute(formats::kAttribute_PCI_BUS_ID),
                  device->attribute(formats::kAttribute_PCI_DEVICE_ID),
                  device->hip_ordinal);
}

Device* MakeDevice(int ordinal) {
  auto* device = new Device;
  device->hip_ordinal = ordinal;
  const std::string arch = ArchNameOf(ordinal);
  Result<TargetId> target = TargetId::Parse(arch);
  if (target) {
    device->target = *std::move(target);
  } else {
    Log(LogLevel::kWarning, "device %d: %s", ordinal,
        target.error().ToString().c_str());
  }
  device->cc = ComputeCapabilityOf(device->target.processor);
  char name[256] = "";
  if (hip.hipDeviceGetName(name, sizeof name, ordinal) == hipSuccess) {
    name[sizeof name - 1] = '\0';
    device->name = name;
  }
  if (device->name.empty()) device->name = "AMD " + arch;
  std::size_t bytes = 0;
  if (hip.hipDeviceTotalMem(&bytes, ordinal) == hipSuccess) {
    device->total_memory = bytes;
  }
  FillAttributes(device);
  FillUuid(device);
  device->primary->device = device;
  device->primary->primary = true;
  return device;
}

CUresult FindAll() {
  switch (ChosenProvider()) {
    case Provider::kNone:
    case Provider::kNvidia:  // its cuInit answers instead of this one
      return CUDA_ERROR_NO_DEVICE;
    case Provider::kHip:
    case Provider::kEmulator: break;
  }
  int count = 0;
  const hipError_t error = hip.hipGetDeviceCount(&count);
  if (error != hipSuccess) return FromHip(error);
  if (count <= 0) return CUDA_ERROR_NO_DEVICE;
  count = std::min(count, kMaxDevices);
  std::vector<Device*> all;
  std::vector<CUuuid> uuids;
  for (int i = 0; i < count; ++i) {
    all.push_back(MakeDevice(i));
    uuids.push_back(all.back()->uuid);
  }
  if (const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::vector<Device*> visible;
    for (const int i : VisibleDevices(wanted, uuids)) {
      visible.push_back(all[static_cast<std::size_t>(i)]);
    }
    if (visible.empty()) {
      Log(LogLevel::kInfo, "CUDA_VISIBLE_DEVICES=%s hides all %d devices",
          wanted, count);
      return CUDA_ERROR_NO_DEVICE;
    }
    all = std::move(visible);
    count = static_cast<int>(all.size());
  }
  for (int i = 0; i < count; ++i) {
    g_devices[i] = all[static_cast<std::size_t>(i)];
    g_devices[i]->ordinal = i;
    Log(LogLevel::kInfo, "device %d: %s, %s, shown as sm_%d", i,
        g_devices[i]->name.c_str(), g_devices[i]->target.ToString().c_str(),
        g_devices[i]->cc.sm());
  }
  g_count.store(count, std::memory_order_release);
  return CUDA_SUCCESS;
}

}  // namespace

Device::Device() : primary(std::make_unique<Context>()) {}
Device::~Device() = default;

bool SharedOverflow() {
  const char* text = std::getenv("CERBERUS_SHARED_OVERFLOW");
  return text != nullptr && std::strcmp(text, "global") == 0;
}

CUresult InitDevices() {
  static const CUresult result = [] {
    const CUresult found = FindAll();
    // A process that is forked off from now on has no GPUs: neither the threads
    // of HIP nor what it shares with the kernel driver come along. Like
    // NVIDIA's driver it says so, instead of waiting for them.
    if (found == CUDA_SUCCESS) {
      pthread_atfork(nullptr, nullptr, [] { g_count = 0; });
    }
    return found;
  }();
  return result == CUDA_SUCCESS && DeviceCount() == 0
             ? CUDA_ERROR_NOT_INITIALIZED
             : result;
}

int DeviceCount() { return g_count.load(std::memory_order_acquire); }

Device* GetDevice(CUdevice ordinal) {
  return ordinal >= 0 && ordinal < DeviceCount() ? g_devices[ordinal] : nullptr;
}

Device* DeviceOfHip(int hip_ordinal) {
  for (int i = 0; i < DeviceCount(); ++i) {
    if (g_devices[i]->hip_ordinal == hip_ordinal) return g_devices[i];
  }
  return nullptr;
}

CUresult FindDevice(CUdevice ordinal, Device** device) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *device = GetDevice(ordinal);
  return *device != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

namespace api {

#define CERB_DEVICE(ordinal)                                                \
  Device* device = nullptr;                                                 \
  if (CUresult found = FindDevice(ordinal, &device); found != CUDA_SUCCESS) \
  return found

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *count = DeviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *out = device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice ordinal) {
  if (name == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s",
                device->name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice ordinal) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *bytes = device->total_memory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *uuid = device->uuid;
  return CUDA_SUCCESS;
}

// The second ABI differs only for partitions of a GPU, which AMD's have not.
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return cuDeviceGetUuid(uuid, ordinal);
}

// The one thing to be told of is a process above its memory budget, and AMD's
// driver for Linux gives none: nobody is ever called.
CUresult cuDeviceRegisterAsyncNotification(CUdevice ordinal,
                                           CUasyncCallback function,
                                           void* /*user_data*/,
                                           CUasyncCallbackHandle* callback) {
  if (function == nullptr || callback == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_DEVICE(ordinal);
  *callback = Notifications::Get().Add(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceUnregisterAsyncNotification(CUdevice ordinal,
                                             CUasyncCallbackHandle callback) {
  CERB_DEVICE(ordinal);
  return Notifications::Get().Remove(device, callback)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                              CUdevice ordinal) {
  // A cudart that comes later asks for more: what it asks for, it lacks here.
  constexpr int kBeyondAllToolkits = 1024;
  if (value == nullptr || attribute < 1 || attribute >= kBeyondAllToolkits) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_DEVICE(ordinal);
  *value = device->attribute(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *major = device->cc.major;
  *minor = device->cc.minor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* out, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  const auto value = [device](int id) { return device->attribute(id); };
  out->maxThreadsPerBlock = value(formats::kAttribute_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) {
    out->maxThreadsDim[i] = value(formats::kAttribute_MAX_BLOCK_DIM_X + i);
    out->maxGridSize[i] = value(formats::kAttribute_MAX_GRID_DIM_X + i);
  }
  out->sharedMemPerBlock =
      value(formats::kAttribute_MAX_SHARED_MEMORY_PER_BLOCK);
  out->totalConstantMemory = value(formats::kAttribute_TOTAL_CONSTANT_MEMORY);
  out->SIMDWidth = value(formats::kAttribute_WARP_SIZE);
  out->memPitch = value(formats::kAttribute_MAX_PITCH);
  out->regsPerBlock = value(formats::kAttribute_MAX_REGISTERS_PER_BLOCK);
  out->clockRate = value(formats::kAttribute_CLOCK_RATE);
  out->textureAlign = value(formats::kAttribute_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

// "domain:bus:device.function", as lspci prints it.
CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice ordinal) {
  if (text == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  char id[32];
  const int size = std::snprintf(
      id, sizeof id, "%04x:%02x:%02x.0",
      device->attribute(formats::kAttribute_PCI_DOMAIN_ID) & 0xffff,
      device->attribute(formats::kAttribute_PCI_BUS_ID) & 0xff,
      device->attribute(formats::kAttribute_PCI_DEVICE_ID) & 0xff);
  if (size >= bytes) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(text, id, static_cast<std::size_t>(size) + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  if (out == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (int i = 0; i < DeviceCount(); ++i) {
    const Device& device = *GetDevice(i);
    if (device.attribute(formats::kAttribute_PCI_DOMAIN_ID) ==
            static_cast<int>(domain) &&
        device.attribute(formats::kAttribute_PCI_BUS_ID) ==
            static_cast<int>(bus) &&
        device.attribute(formats::kAttribute_PCI_DEVICE_ID) ==
            static_cast<int>(slot)) {
      *out = i;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(std::size_t* width, CUarray_format,
                                            unsigned, CUdevice ordinal) {
  if (width == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *width = static_cast<std::size_t>(
      device->attribute(formats::kAttribute_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
  return CUDA_SUCCESS;
}

// Which atomic operations work between a device and the host, or between two
// devices, as natively as on memory of its own: HIP promises none.
CUresult cuDeviceGetHostAtomicCapabilities(unsigned* capabilities,
                                           const CUatomicOperation* operations,
                                           unsigned count, CUdevice ordinal) {
  if (capabilities == nullptr || operations == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_DEVICE(ordinal);
  std::fill(capabilities, capabilities + count, 0u);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                          const CUatomicOperation* operations,
                                          unsigned count, CUdevice source,
                                          CUdevice destination) {
  if (GetDevice(destination) == nullptr || source == destination) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return cuDeviceGetHostAtomicCapabilities(capabilities, operations, count,
                                           source);
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType,
                                        CUdevice ordinal) {
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  *supported = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice ordinal,
                               CUdevice peer_ordinal) {
  if (can_access == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(ordinal);
  const Device* peer = GetDevice(peer_ordinal);
  if (peer == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *can_access = 0;
  if (ordinal == peer_ordinal) return CUDA_SUCCESS;
  const hipError_t error = hip.hipDeviceCanAccessPeer(
      can_access, device->hip_ordinal, peer->hip_ordinal);
  return error == hipErrorNotSupported ? CUDA_SUCCESS : FromHip(error);
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                 CUdevice source, CUdevice destination) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_DEVICE(source);
  const Device* target = GetDevice(destination);
  if (target == nullptr || source == destination) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *value = 0;
  const hipError_t error = hip.hipDeviceGetP2PAttribute(
      value, attribute, device->hip_ordinal, target->hip_ordinal);
  return error == hipErrorNotSupported ? CUDA_SUCCESS : FromHip(error);
}

#undef CERB_DEVICE

}  // namespace api
}  // namespace cerberus::stub
