#include "runtime-stub/memory/multicast.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/location.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/memory/pointer.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr int kReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int kPinned = 1;     // CU_MEM_ALLOCATION_TYPE_PINNED

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
hipMemGenericAllocationHandle_t Native(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<hipMemGenericAllocationHandle_t>(handle);
}

struct Member {
  const Device* device;
  CUdeviceptr memory;  // where its memory is mapped
  std::vector<std::pair<std::size_t, std::size_t>> bound;  // offset, bytes
};

struct Object {
  std::size_t bytes;
  unsigned devices;    // of the team
  int references = 1;  // handles and mappings
  std::vector<Member> members = {};

  CUmemGenericAllocationHandle handle() {
    return reinterpret_cast<CUmemGenericAllocationHandle>(this);
  }
  bool Contains(std::size_t offset, std::size_t size) const {
    return size != 0 && size <= bytes && offset <= bytes - size;
  }
  Member* Of(const Device* device) {
    for (Member& member : members) {
      if (member.device == device) return &member;
    }
    return nullptr;
  }
};

struct Mapping {
  CUdeviceptr address;
  std::size_t bytes;
  std::size_t offset;
  Object* object;
  std::uint32_t access = 0;  // a bit for each device
};

struct Multicast {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::condition_variable complete;  // a team is
  std::vector<Object*> objects;
  std::vector<Mapping> mappings;

  Object* Find(CUmemGenericAllocationHandle handle) const {
    for (Object* object : objects) {
      if (object->handle() == handle) return object;
    }
    return nullptr;
  }
  // The mapping that the address lies in.
  Mapping* At(CUdeviceptr address) {
    for (Mapping& mapping : mappings) {
      if (address - mapping.address < mapping.bytes) return &mapping;
    }
    return nullptr;
  }
};
NeverDestroyed<Multicast> g_all_multicast;
Multicast& g_multicast = *g_all_multicast;

using Lock = std::unique_lock<std::mutex>;

// The object, once its team is complete; null if there is none, if another
// thread releases it meanwhile, or if it has no such part.
Object* WaitForTeam(Lock* lock, CUmemGenericAllocationHandle handle,
                    std::size_t offset, std::size_t bytes) {
  Object* object = nullptr;
  g_multicast.complete.wait(*lock, [&] {
    object = g_multicast.Find(handle);
    if (object != nullptr && !object->Contains(offset, bytes)) object = nullptr;
    return object == nullptr || object->members.size() == object->devices;
  });
  return object;
}

CUresult GranularityOf(std::size_t* granularity,
                       CUmemAllocationGranularity_flags flags) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  CUmemAllocationProp there = {};
  there.type = kPinned;
  there.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUresult result = ToHip(&there.location);
  if (result != CUDA_SUCCESS) return result;
  return FromHip(
      hip.hipMemGetAllocationGranularity(granularity, &there, flags));
}

// Whether all of these are multiples of it.
CUresult CheckGranularity(std::size_t all) {
  std::size_t granularity = 0;
  const CUresult result = GranularityOf(&granularity, 0);
  if (result != CUDA_SUCCESS) return result;
  return granularity != 0 && all % granularity == 0 ? CUDA_SUCCESS
                                                    : CUDA_ERROR_INVALID_VALUE;
}

void DropLocked(Object* object) {
  if (--object->references != 0) return;
  for (const Member& member : object->members) {
    for (const auto& [offset, bytes] : member.bound) {
      hip.hipMemUnmap(Pointer(member.memory + offset), bytes);
    }
    hip.hipMemAddressFree(Pointer(member.memory), object->bytes);
  }
  g_multicast.objects.erase(std::find(g_multicast.objects.begin(),
                                      g_multicast.objects.end(), object));
  delete object;
  g_multicast.complete.notify_all();
}

// formats::MulticastRange, one behind the other.
std::vector<std::uint64_t> TableLocked(int device) {
  std::vector<std::uint64_t> table;
  for (const Mapping& mapping : g_multicast.mappings) {
    if ((mapping.access >> device & 1) == 0) continue;
    const std::vector<Member>& members = mapping.object->members;
    table.insert(table.end(), {mapping.address, mapping.bytes, members.size()});
    for (const Member& member : members) {
      table.push_back(member.memory + mapping.offset - mapping.address);
    }
  }
  table.resize(table.size() + sizeof(formats::MulticastRange) / 8);
  return table;
}

CUresult PublishLocked(bool unmapped) {
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < DeviceCount() && result == CUDA_SUCCESS; ++i) {
    result = SetMulticastTable(GetDevice(i), TableLocked(i), unmapped);
  }
  // HIP's device is again that of the thread's context.
  if (Context* context = CurrentContextOrNull()) Activate(context);
  return result;
}

// A binding of memory on `device` or, if that is null, on whichever it is.
CUresult Bind(CUmemGenericAllocationHandle handle, const Device* device,
              std::size_t offset, CUmemGenericAllocationHandle memory,
              std::size_t memory_offset, std::size_t bytes,
              unsigned long long flags) {
  if (flags != 0 || memory == 0 || IsMulticast(memory)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUmemAllocationProp properties = {};
  CUresult result = FromHip(
      hip.hipMemGetAllocationPropertiesFromHandle(&properties, Native(memory)));
  if (result != CUDA_SUCCESS) return result;
  const Device* owner = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                            ? DeviceOfHip(properties.location.id)
                            : nullptr;
  if (owner == nullptr || (device != nullptr && device != owner)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  result = CheckGranularity(offset | memory_offset | bytes);
  if (result != CUDA_SUCCESS) return result;
  Lock lock(g_multicast.mutex);
  Object* object = WaitForTeam(&lock, handle, offset, bytes);
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Member* member = object->Of(owner);
  if (member == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  void* to = Pointer(member->memory + offset);
  result = FromHip(hip.hipMemMap(to, bytes, memory_offset, Native(memory), 0));
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUmemAccessDesc> all;
  all.reserve(object->members.size());
  for (const Member& user : object->members) {
    all.push_back(
        {{CU_MEM_LOCATION_TYPE_DEVICE, user.device->hip_ordinal}, kReadWrite});
  }
  result = FromHip(hip.hipMemSetAccess(to, bytes, all.data(), all.size()));
  if (result != CUDA_SUCCESS) {
    hip.hipMemUnmap(to, bytes);
    return result;
  }
  member->bound.emplace_back(offset, bytes);
  return CUDA_SUCCESS;
}

// The handle of the memory at an address, and where in it that is.
CUresult BindAt(CUmemGenericAllocationHandle handle, const Device* device,
                std::size_t offset, CUdeviceptr address, std::size_t bytes,
                unsigned long long flags) {
  if (address == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  hipMemGenericAllocationHandle_t memory = nullptr;
  const std::size_t memory_offset = OffsetInMapping(address);
  CUresult result = memory_offset == kNotMapped
                        ? CUDA_ERROR_NOT_SUPPORTED
                        : FromHip(hip.hipMemRetainAllocationHandle(
                              &memory, Pointer(address)));
  if (result != CUDA_SUCCESS) return result;
  result = Bind(handle, device, offset,
                reinterpret_cast<CUmemGenericAllocationHandle>(memory),
                memory_offset, bytes, flags);
  hip.hipMemRelease(memory);
  return result;
}

}  // namespace

bool IsMulticast(CUmemGenericAllocationHandle handle) {
  if (!g_multicast.any.load(std::memory_order_acquire)) return false;
  const Lock lock(g_multicast.mutex);
  return g_multicast.Find(handle) != nullptr;
}

bool HasMulticast(CUdeviceptr address, std::size_t bytes) {
  if (!g_multicast.any.load(std::memory_order_acquire)) return false;
  const Lock lock(g_multicast.mutex);
  return std::any_of(g_multicast.mappings.begin(), g_multicast.mappings.end(),
                     [&](const Mapping& mapping) {
                       return mapping.address - address < bytes ||
                              address - mapping.address < mapping.bytes;
                     });
}

bool ReleaseMulticast(CUmemGenericAllocationHandle handle) {
  const Lock lock(g_multicast.mutex);
  Object* object = g_multicast.Find(handle);
  if (object != nullptr) DropLocked(object);
  return object != nullptr;
}

bool RetainMulticast(CUmemGenericAllocationHandle* out, CUdeviceptr address) {
  const Lock lock(g_multicast.mutex);
  const Mapping* mapping = g_multicast.At(address);
  if (mapping == nullptr) return false;
  ++mapping->object->references;
  *out = mapping->object->handle();
  return true;
}

CUresult MapMulticast(CUdeviceptr address, std::size_t bytes,
                      std::size_t offset, CUmemGenericAllocationHandle handle) {
  const CUresult result = CheckGranularity(address | bytes | offset);
  if (result != CUDA_SUCCESS) return result;
  Lock lock(g_multicast.mutex);
  Object* object = WaitForTeam(&lock, handle, offset, bytes);
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++object->references;
  g_multicast.mappings.push_back({address, bytes, offset, object});
  return CUDA_SUCCESS;
}

bool UnmapMulticast(CUdeviceptr address, std::size_t bytes, CUresult* result) {
  if (!g_multicast.any.load(std::memory_order_acquire)) return false;
  const Lock lock(g_multicast.mutex);
  const auto inside = [&](const Mapping& mapping) {
    return mapping.address - address < bytes;
  };
  std::size_t found = 0;
  for (const Mapping& mapping : g_multicast.mappings) {
    if (inside(mapping)) found += mapping.bytes;
  }
  if (found == 0) return false;
  *result = CUDA_ERROR_INVALID_VALUE;
  if (found != bytes) return true;
  const auto gone = std::stable_partition(
      g_multicast.mappings.begin(), g_multicast.mappings.end(),
      [&](const Mapping& m) { return !inside(m); });
  std::vector<Mapping> dropped(gone, g_multicast.mappings.end());
  g_multicast.mappings.erase(gone, g_multicast.mappings.end());
  *result = PublishLocked(/*unmapped=*/true);
  for (const Mapping& mapping : dropped) DropLocked(mapping.object);
  return true;
}

bool AllowMulticast(CUdeviceptr address, std::size_t bytes,
                    const CUmemAccessDesc* list, std::size_t count,
                    CUresult* result) {
  if (!g_multicast.any.load(std::memory_order_acquire)) return false;
  const Lock lock(g_multicast.mutex);
  std::size_t found = 0;
  for (const Mapping& mapping : g_multicast.mappings) {
    if (mapping.address - address < bytes) found += mapping.bytes;
  }
  if (found == 0) return false;
  *result = found == bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  for (Mapping& mapping : g_multicast.mappings) {
    if (mapping.address - address >= bytes) continue;
    for (std::size_t i = 0; i < count && *result == CUDA_SUCCESS; ++i) {
      const Device* device =
          list[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE
              ? GetDevice(list[i].location.id)
              : nullptr;
      if (mapping.object->Of(device) == nullptr) {
        *result = CUDA_ERROR_INVALID_DEVICE;
      } else if (list[i].flags == kReadWrite) {
        mapping.access |= 1u << device->ordinal;
      } else if (list[i].flags == 0) {
        mapping.access &= ~(1u << device->ordinal);
      } else {
        *result = CUDA_ERROR_INVALID_VALUE;
      }
    }
  }
  if (*result == CUDA_SUCCESS) *result = PublishLocked(/*unmapped=*/false);
  return true;
}

bool MulticastAccess(CUdeviceptr address, int device,
                     unsigned long long* flags) {
  const Lock lock(g_multicast.mutex);
  const Mapping* mapping = g_multicast.At(address);
  if (mapping == nullptr) return false;
  *flags = (mapping->access >> device & 1) != 0 ? kReadWrite : 0;
  return true;
}

CUresult PublishMulticast(bool unmapped) {
  if (!g_multicast.any.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  const Lock lock(g_multicast.mutex);
  return PublishLocked(unmapped);
}

namespace api {

CUresult cuMulticastGetGranularity(std::size_t* granularity,
                                   const CUmulticastObjectProp* properties,
                                   CUmulticastGranularity_flags flags) {
  if (granularity == nullptr || properties == nullptr || flags < 0 ||
      flags > 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return GranularityOf(granularity, flags);
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* out,
                           const CUmulticastObjectProp* properties) {
  if (out == nullptr || properties == nullptr || properties->flags != 0 ||
      properties->size == 0 || properties->numDevices == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = CheckGranularity(properties->size);
  if (result != CUDA_SUCCESS) return result;
  if (properties->handleTypes != 0) {
    Log(LogLevel::kWarning,
        "cuMulticastCreate: multicast objects are not shared by processes");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (properties->numDevices > static_cast<unsigned>(DeviceCount())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Lock lock(g_multicast.mutex);
  g_multicast.objects.push_back(
      new Object{properties->size, properties->numDevices});
  g_multicast.any.store(true, std::memory_order_release);
  *out = g_multicast.objects.back()->handle();
  return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle,
                              CUdevice ordinal) {
  Device* device = nullptr;
  CUresult result = FindDevice(ordinal, &device);
  if (result != CUDA_SUCCESS) return result;
  const Lock lock(g_multicast.mutex);
  Object* object = g_multicast.Find(handle);
  if (object == nullptr || object->members.size() == object->devices) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (object->Of(device) != nullptr) return CUDA_ERROR_INVALID_DEVICE;
  void* memory = nullptr;
  result =
      FromHip(hip.hipMemAddressReserve(&memory, object->bytes, 0, nullptr, 0));
  if (result != CUDA_SUCCESS) return result;
  object->members.push_back(
      {device, reinterpret_cast<CUdeviceptr>(memory), {}});
  g_multicast.complete.notify_all();
  return CUDA_SUCCESS;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle,
                            std::size_t offset,
                            CUmemGenericAllocationHandle memory,
                            std::size_t memory_offset, std::size_t bytes,
                            unsigned long long flags) {
  return Bind(handle, nullptr, offset, memory, memory_offset, bytes, flags);
}
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle handle,
                               CUdevice ordinal, std::size_t offset,
                               CUmemGenericAllocationHandle memory,
                               std::size_t memory_offset, std::size_t bytes,
                               unsigned long long flags) {
  Device* device = nullptr;
  const CUresult result = FindDevice(ordinal, &device);
  if (result != CUDA_SUCCESS) return result;
  return Bind(handle, device, offset, memory, memory_offset, bytes, flags);
}
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle,
                             std::size_t offset, CUdeviceptr address,
                             std::size_t bytes, unsigned long long flags) {
  return BindAt(handle, nullptr, offset, address, bytes, flags);
}
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle handle,
                                CUdevice ordinal, std::size_t offset,
                                CUdeviceptr address, std::size_t bytes,
                                unsigned long long flags) {
  Device* device = nullptr;
  const CUresult result = FindDevice(ordinal, &device);
  if (result != CUDA_SUCCESS) return result;
  return BindAt(handle, device, offset, address, bytes, flags);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle,
                           CUdevice ordinal, std::size_t offset,
                           std::size_t bytes) {
  Device* device = nullptr;
  const CUresult result = FindDevice(ordinal, &device);
  if (result != CUDA_SUCCESS) return result;
  const Lock lock(g_multicast.mutex);
  Object* object = g_multicast.Find(handle);
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Member* member = object->Of(device);
  if (member == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto bound = std::find(member->bound.begin(), member->bound.end(),
                               std::pair(offset, bytes));
  if (bound == member->bound.end()) return CUDA_ERROR_INVALID_VALUE;
  member->bound.erase(bound);
  return FromHip(hip.hipMemUnmap(Pointer(member->memory + offset), bytes));
}

}  // namespace api
}  // namespace cerberus::stub
