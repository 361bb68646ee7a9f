// Virtual memory management: address ranges, physical memory and the mappings
// between them (HIP Runtime API, "Virtual Memory Management").
//
// A reservation is a range of host addresses without access. Physical memory
// is a memory file, so that it can be mapped in several places and handed to
// another process as its descriptor. Kernels and copies see a mapping once
// hipMemSetAccess has named their device.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "emulator/hip/runtime.h"
#include "support/bytes.h"

using namespace cerberus::emulator::hip;

struct ihipMemGenericAllocationHandle {
  int file = -1;
  std::uint64_t size = 0;
  hipMemAllocationProp properties = {};
  int references = 1;  // of the handle and of each mapping
};

namespace {

constexpr std::uint64_t kGranularity = 4096;
constexpr std::uint32_t kPosixFileDescriptor = 1;
constexpr std::uint32_t kReadWrite = 3;

struct Mapping {
  std::uint64_t size = 0;
  hipMemGenericAllocationHandle_t memory = nullptr;
  std::map<int, std::uint32_t> access;  // by device
};

struct State {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> reserved;  // address to size
  std::map<std::uint64_t, Mapping> mappings;
  // How often each handle was given out and not yet released.
  std::map<hipMemGenericAllocationHandle_t, int> handles;
};

State& The() {
  static State* state = new State;
  return *state;
}

std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

bool Aligned(std::uint64_t value) { return value % kGranularity == 0; }

// Under the state's lock.
void Drop(hipMemGenericAllocationHandle_t memory) {
  if (--memory->references != 0) return;
  close(memory->file);
  delete memory;
}

bool Usable(const hipMemAllocationProp* p) {
  return p != nullptr && p->type == 1 && p->location.type == 1 &&
         p->handleTypes <= kPosixFileDescriptor &&
         Runtime::Get().gpu(p->location.id) != nullptr;
}

hipMemGenericAllocationHandle_t Add(int file, std::uint64_t size,
                                    const hipMemAllocationProp& properties) {
  auto made = std::make_unique<ihipMemGenericAllocationHandle>();
  made->file = file;
  made->size = size;
  made->properties = properties;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.handles.emplace(made.release(), 1).first->first;
}

// The whole mappings that make up [address, address + size); false if there
// are others or gaps.
bool Cover(State& state, std::uint64_t address, std::uint64_t size,
           std::vector<std::uint64_t>* out) {
  std::uint64_t at = address;
  while (at - address < size) {
    auto found = state.mappings.find(at);
    if (found == state.mappings.end()) return false;
    out->push_back(at);
    at += found->second.size;
  }
  return at - address == size;
}

// Makes what the devices see agree with the mapping's access.
hipError_t Publish(std::uint64_t address, const Mapping& mapping) {
  void* pointer = reinterpret_cast<void*>(address);
  (void)Runtime::Get().Abandon(pointer);
  std::vector<Gpu*> users;
  for (const auto& [device, flags] : mapping.access) {
    if (flags != 0) users.push_back(Runtime::Get().gpu(device));
  }
  // The host may read and write as soon as a device may: one memory.
  if (mprotect(pointer, mapping.size,
               users.empty() ? PROT_NONE : PROT_READ | PROT_WRITE) != 0) {
    return hipErrorOutOfMemory;
  }
  if (users.empty()) return hipSuccess;
  Gpu* owner = Runtime::Get().gpu(mapping.memory->properties.location.id);
  return Runtime::Get().Adopt(owner, pointer, mapping.size, users);
}

}  // namespace

HIP_API hipError_t hipMemGetAllocationGranularity(
    std::size_t* granularity, const hipMemAllocationProp* properties,
    std::uint32_t option) {
  if (granularity == nullptr || !Usable(properties) || option > 1) {
    return Return(hipErrorInvalidValue);
  }
  *granularity = kGranularity;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemAddressReserve(void** out, std::size_t size,
                                        std::size_t alignment, void* wanted,
                                        unsigned long long flags) {
  if (out == nullptr || size == 0 || !Aligned(size) || flags != 0 ||
      (alignment & (alignment - 1)) != 0 || size > std::size_t{1} << 46 ||
      alignment > std::size_t{1} << 40) {
    return Return(hipErrorInvalidValue);
  }
  const std::size_t slack = alignment > kGranularity ? alignment : 0;
  void* map = mmap(wanted, size + slack, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return Return(hipErrorOutOfMemory);
  const std::uint64_t begin = AddressOf(map);
  const std::uint64_t address =
      slack != 0 ? cerberus::AlignUp(begin, alignment) : begin;
  if (address != begin) munmap(map, address - begin);
  if (const std::uint64_t behind = begin + slack - address; behind != 0) {
    munmap(reinterpret_cast<void*>(address + size), behind);
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.reserved[address] = size;
  *out = reinterpret_cast<void*>(address);
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemAddressFree(void* pointer, std::size_t size) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const std::uint64_t address = AddressOf(pointer);
  auto found = state.reserved.find(address);
  if (found == state.reserved.end() || found->second != size) {
    return Return(hipErrorInvalidValue);
  }
  auto inside = state.mappings.lower_bound(address);
  if (inside != state.mappings.end() && inside->first - address < size) {
    return Return(hipErrorInvalidValue);
  }
  state.reserved.erase(found);
  munmap(pointer, size);
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* out,
                                std::size_t size,
                                const hipMemAllocationProp* properties,
                                unsigned long long flags) {
  if (out == nullptr || size == 0 || !Aligned(size) || flags != 0 ||
      !Usable(properties)) {
    return Return(hipErrorInvalidValue);
  }
  if (size > TotalMemory()) return Return(hipErrorOutOfMemory);
  const int file = memfd_create("cerberus-device-memory", MFD_CLOEXEC);
  if (file < 0) return Return(hipErrorOutOfMemory);
  if (ftruncate(file, static_cast<off_t>(size)) != 0) {
    close(file);
    return Return(hipErrorOutOfMemory);
  }
  *out = Add(file, size, *properties);
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemRelease(hipMemGenericAllocationHandle_t memory) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto found = state.handles.find(memory);
  if (found == state.handles.end()) return Return(hipErrorInvalidValue);
  if (--found->second == 0) state.handles.erase(found);
  Drop(memory);
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemMap(void* pointer, std::size_t size,
                             std::size_t offset,
                             hipMemGenericAllocationHandle_t memory,
                             unsigned long long flags) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const std::uint64_t address = AddressOf(pointer);
  if (state.handles.count(memory) == 0 || size == 0 || flags != 0 ||
      !Aligned(address) || !Aligned(size) || !Aligned(offset) ||
      size > memory->size || offset > memory->size - size) {
    return Return(hipErrorInvalidValue);
  }
  auto range = state.reserved.upper_bound(address);
  if (range == state.reserved.begin()) return Return(hipErrorInvalidValue);
  --range;
  if (address - range->first > range->second ||
      size > range->second - (address - range->first)) {
    return Return(hipErrorInvalidValue);
  }
  auto next = state.mappings.lower_bound(address);
  const bool after =
      next != state.mappings.end() && next->first - address < size;
  const bool before =
      next != state.mappings.begin() &&
      address - std::prev(next)->first < std::prev(next)->second.size;
  if (after || before) return Return(hipErrorInvalidValue);
  if (mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return Return(hipErrorOutOfMemory);
  }
  ++memory->references;
  state.mappings[address] = {size, memory, {}};
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemUnmap(void* pointer, std::size_t size) {
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    gpu->Synchronize();
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::vector<std::uint64_t> covered;
  if (size == 0 || !Cover(state, AddressOf(pointer), size, &covered)) {
    return Return(hipErrorInvalidValue);
  }
  for (const std::uint64_t address : covered) {
    Mapping& mapping = state.mappings[address];
    (void)Runtime::Get().Abandon(reinterpret_cast<void*>(address));
    // The addresses stay reserved.
    mmap(reinterpret_cast<void*>(address), mapping.size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    Drop(mapping.memory);
    state.mappings.erase(address);
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemSetAccess(void* pointer, std::size_t size,
                                   const hipMemAccessDesc* list,
                                   std::size_t count) {
  if (list == nullptr || count == 0) return Return(hipErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].location.type != 1 || (list[i].flags & ~kReadWrite) != 0) {
      return Return(hipErrorInvalidValue);
    }
    if (Runtime::Get().gpu(list[i].location.id) == nullptr) {
      return Return(hipErrorInvalidDevice);
    }
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::vector<std::uint64_t> covered;
  if (size == 0 || !Cover(state, AddressOf(pointer), size, &covered)) {
    return Return(hipErrorInvalidValue);
  }
  for (const std::uint64_t address : covered) {
    Mapping& mapping = state.mappings[address];
    for (std::size_t i = 0; i < count; ++i) {
      mapping.access[list[i].location.id] = list[i].flags;
    }
    const hipError_t error = Publish(address, mapping);
    if (error != hipSuccess) return Return(error);
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemGetAccess(unsigned long long* flags,
                                   const hipMemLocation* location,
                                   void* pointer) {
  if (flags == nullptr || location == nullptr || location->type != 1) {
    return Return(hipErrorInvalidValue);
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const std::uint64_t address = AddressOf(pointer);
  auto found = state.mappings.upper_bound(address);
  if (found == state.mappings.begin()) return Return(hipErrorInvalidValue);
  --found;
  const Mapping& mapping = found->second;
  if (address - found->first >= mapping.size) {
    return Return(hipErrorInvalidValue);
  }
  const auto access = mapping.access.find(location->id);
  *flags = access == mapping.access.end() ? 0 : access->second;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemGetAllocationPropertiesFromHandle(
    hipMemAllocationProp* properties, hipMemGenericAllocationHandle_t memory) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (properties == nullptr || state.handles.count(memory) == 0) {
    return Return(hipErrorInvalidValue);
  }
  *properties = memory->properties;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMemRetainAllocationHandle(
    hipMemGenericAllocationHandle_t* out, void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const std::uint64_t address = AddressOf(pointer);
  auto found = state.mappings.upper_bound(address);
  if (out == nullptr || found == state.mappings.begin()) {
    return Return(hipErrorInvalidValue);
  }
  --found;
  if (address - found->first >= found->second.size) {
    return Return(hipErrorInvalidValue);
  }
  *out = found->second.memory;
  // A handle that was released while it was mapped comes back.
  ++state.handles[*out];
  ++(*out)->references;
  return Return(hipSuccess);
}

HIP_API hipError_t
hipMemExportToShareableHandle(void* out, hipMemGenericAllocationHandle_t memory,
                              std::uint32_t type, unsigned long long flags) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (out == nullptr || state.handles.count(memory) == 0 || flags != 0 ||
      type != kPosixFileDescriptor ||
      memory->properties.handleTypes != kPosixFileDescriptor) {
    return Return(hipErrorInvalidValue);
  }
  const int copy = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Return(hipErrorOutOfMemory);
  *static_cast<int*>(out) = copy;
  return Return(hipSuccess);
}

// The descriptor itself stands in `handle`, as CUDA passes it; for HIP 5 and 6
// it is read from there.
HIP_API hipError_t hipMemImportFromShareableHandle(
    hipMemGenericAllocationHandle_t* out, void* handle, std::uint32_t type) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (out == nullptr || type != kPosixFileDescriptor) {
    return Return(hipErrorInvalidValue);
  }
  if (handle == nullptr && ApiMajor() < 7) return Return(hipErrorInvalidValue);
  const int file =
      ApiMajor() < 7
          ? *static_cast<const int*>(handle)
          : static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
  struct stat info;
  if (fstat(file, &info) != 0 || info.st_size <= 0) {
    return Return(hipErrorInvalidValue);
  }
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Return(hipErrorOutOfMemory);
  hipMemAllocationProp properties = {};
  properties.type = 1;
  properties.handleTypes = kPosixFileDescriptor;
  properties.location = {1, gpu->ordinal};
  *out = Add(copy, static_cast<std::uint64_t>(info.st_size), properties);
  return Return(hipSuccess);
}
