#include "fake_hip.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "hip/hip_abi.h"

using cerberus::stub::FakeHip;
using cerberus::stub::FakeLaunch;

#define FAKE extern "C" __attribute__((visibility("default"))) hipError_t

extern "C" __attribute__((visibility("default"))) FakeHip fake_hip;
FakeHip fake_hip;

namespace {

std::mutex mutex;
std::map<std::uintptr_t, std::size_t>& Allocations() {
  static auto& map = *new std::map<std::uintptr_t, std::size_t>;
  return map;
}

// Counts the call; the error it shall answer.
hipError_t Enter(const char* name) {
  std::lock_guard<std::mutex> lock(mutex);
  ++fake_hip.calls[name];
  if (const auto once = fake_hip.fail_once.find(name);
      once != fake_hip.fail_once.end()) {
    const auto error = static_cast<hipError_t>(once->second);
    fake_hip.fail_once.erase(once);
    return error;
  }
  const auto at = fake_hip.failures.find(name);
  return at == fake_hip.failures.end() ? hipSuccess
                                       : static_cast<hipError_t>(at->second);
}
#define ENTER() \
  if (hipError_t error = Enter(__func__); error != hipSuccess) return error

void* Allocate(std::size_t bytes) {
  // As aligned as HIP's.
  constexpr std::size_t kAlignment = 256;
  const std::size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  void* pointer = std::aligned_alloc(kAlignment, rounded);
  std::memset(pointer, 0, rounded);
  std::lock_guard<std::mutex> lock(mutex);
  Allocations()[reinterpret_cast<std::uintptr_t>(pointer)] = bytes;
  return pointer;
}

hipError_t Release(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  if (Allocations().erase(reinterpret_cast<std::uintptr_t>(pointer)) == 0) {
    return hipErrorInvalidValue;
  }
  std::free(pointer);
  return hipSuccess;
}

bool FindRange(const void* pointer, std::uintptr_t* base, std::size_t* size) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto at = Allocations().upper_bound(address);
  if (at == Allocations().begin()) return false;
  --at;
  if (address - at->first >= at->second) return false;
  *base = at->first;
  *size = at->second;
  return true;
}

}  // namespace

FAKE hipInit(unsigned) {
  ENTER();
  return hipSuccess;
}
FAKE hipRuntimeGetVersion(int* version) {
  *version = 60000000;
  return hipSuccess;
}
FAKE hipGetDeviceCount(int* count) {
  ENTER();
  *count = fake_hip.devices;
  return hipSuccess;
}
FAKE hipSetDevice(int device) {
  ENTER();
  fake_hip.current_device = device;
  return hipSuccess;
}
FAKE hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute,
                           int device) {
  ENTER();
  switch (attribute) {
    case hipDeviceAttributePciBusId: *value = 0x40 + device; break;
    case hipDeviceAttributePciDeviceId: *value = 3; break;
    case hipDeviceAttributePciDomainId: *value = 1; break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    case hipDeviceAttributeMaxBlockDimX: *value = 1024; break;
    case hipDeviceAttributeMaxBlockDimY: *value = 1024; break;
    case hipDeviceAttributeMaxGridDimX: *value = 2147483647; break;
    case hipDeviceAttributeMultiprocessorCount: *value = 48; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = 65536; break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: *value = 2048; break;
    default: return hipErrorInvalidValue;
  }
  return hipSuccess;
}
FAKE hipDeviceGetName(char* name, int bytes, int device) {
  std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(bytes));
  return hipSuccess;
}
FAKE hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = std::size_t{8} << 30;
  return hipSuccess;
}
FAKE hipDeviceGetUuid(hipUUID* uuid, int device) {
  std::memcpy(uuid->bytes, "GPU-0123456789ab", 16);
  uuid->bytes[15] = static_cast<char>('a' + device);
  return hipSuccess;
}
FAKE hipGetDevicePropertiesR0600(void* properties, int) {
  std::memset(properties, 0, 1472);
  std::strcpy(static_cast<char*>(properties) + kArchNameOffsetR0600,
              fake_hip.arch.c_str());
  return hipSuccess;
}
FAKE hipDeviceSynchronize() {
  ENTER();
  return hipSuccess;
}
FAKE hipDeviceReset() {
  ENTER();
  return hipSuccess;
}
FAKE hipMalloc(void** pointer, std::size_t bytes) {
  ENTER();
  *pointer = Allocate(bytes);
  return hipSuccess;
}
FAKE hipMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  ENTER();
  *pointer = Allocate(bytes);
  return hipSuccess;
}
FAKE hipFree(void* pointer) {
  ENTER();
  return Release(pointer);
}
FAKE hipHostMalloc(void** pointer, std::size_t bytes, unsigned) {
  ENTER();
  *pointer = Allocate(bytes);
  return hipSuccess;
}
FAKE hipHostFree(void* pointer) {
  ENTER();
  return Release(pointer);
}
FAKE hipHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return hipSuccess;
}
FAKE hipMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = 1000;
  *total = 2000;
  return hipSuccess;
}
FAKE hipMemGetAddressRange(void** base, std::size_t* bytes, void* pointer) {
  ENTER();
  std::uintptr_t start = 0;
  if (!FindRange(pointer, &start, bytes)) return hipErrorNotFound;
  *base = reinterpret_cast<void*>(start);
  return hipSuccess;
}
FAKE hipPointerGetAttributes(hipPointerAttribute_t* attributes,
                             const void* pointer) {
  ENTER();
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  *attributes = {};
  if (!FindRange(pointer, &start, &bytes)) return hipErrorInvalidValue;
  attributes->type = 2;  // device
  attributes->devicePointer = const_cast<void*>(pointer);
  return hipSuccess;
}
FAKE hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  ENTER();
  std::memmove(to, from, bytes);
  return hipSuccess;
}
FAKE hipMemcpyAsync(void* to, const void* from, std::size_t bytes,
                    hipMemcpyKind, hipStream_t) {
  ENTER();
  std::memmove(to, from, bytes);
  return hipSuccess;
}
FAKE hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                      std::size_t from_pitch, std::size_t width,
                      std::size_t height, hipMemcpyKind, hipStream_t) {
  ENTER();
  for (std::size_t row = 0; row < height; ++row) {
    std::memmove(static_cast<char*>(to) + row * to_pitch,
                 static_cast<const char*>(from) + row * from_pitch, width);
  }
  return hipSuccess;
}
FAKE hipMemsetD8Async(void* to, unsigned char value, std::size_t count,
                      hipStream_t) {
  ENTER();
  std::memset(to, value, count);
  return hipSuccess;
}
FAKE hipMemsetD16Async(void* to, unsigned short value, std::size_t count,
                       hipStream_t) {
  ENTER();
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<unsigned short*>(to)[i] = value;
  }
  return hipSuccess;
}
FAKE hipMemsetD32Async(void* to, int value, std::size_t count, hipStream_t) {
  ENTER();
  for (std::size_t i = 0; i < count; ++i) static_cast<int*>(to)[i] = value;
  return hipSuccess;
}
FAKE hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                      std::size_t height, hipStream_t) {
  ENTER();
  for (std::size_t row = 0; row < height; ++row) {
    std::memset(static_cast<char*>(to) + row * pitch, value, width);
  }
  return hipSuccess;
}
FAKE hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
  ENTER();
  *stream = static_cast<hipStream_t>(Allocate(16));
  return hipSuccess;
}
FAKE hipStreamDestroy(hipStream_t stream) {
  ENTER();
  return Release(stream);
}
FAKE hipStreamQuery(hipStream_t) {
  ENTER();
  return hipSuccess;
}
FAKE hipStreamSynchronize(hipStream_t) {
  ENTER();
  return hipSuccess;
}
FAKE hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) {
  ENTER();
  return hipSuccess;
}
FAKE hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback,
                          void* user_data, unsigned) {
  ENTER();
  callback(stream, hipSuccess, user_data);
  return hipSuccess;
}
FAKE hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  ENTER();
  *event = static_cast<hipEvent_t>(Allocate(16));
  return hipSuccess;
}
FAKE hipEventDestroy(hipEvent_t event) {
  ENTER();
  return Release(event);
}
FAKE hipEventQuery(hipEvent_t) {
  ENTER();
  return hipErrorNotReady;
}
FAKE hipEventRecord(hipEvent_t, hipStream_t) {
  ENTER();
  return hipSuccess;
}
FAKE hipEventSynchronize(hipEvent_t) {
  ENTER();
  return hipSuccess;
}
FAKE hipEventElapsedTime(float* milliseconds, hipEvent_t, hipEvent_t) {
  ENTER();
  *milliseconds = 1.5f;
  return hipSuccess;
}

// A module is its number, a function the number of its name.
FAKE hipModuleLoadData(hipModule_t* module, const void* image) {
  ENTER();
  fake_hip.loaded_modules.emplace_back(static_cast<const char*>(image), 4);
  *module = reinterpret_cast<hipModule_t>(fake_hip.loaded_modules.size());
  return hipSuccess;
}
FAKE hipModuleUnload(hipModule_t) {
  ENTER();
  return hipSuccess;
}
FAKE hipModuleGetFunction(hipFunction_t* function, hipModule_t,
                          const char* name) {
  ENTER();
  static auto& names = *new std::map<std::string, std::string>;
  auto& slot = names[name];
  slot = name;
  *function = reinterpret_cast<hipFunction_t>(&slot);
  return hipSuccess;
}
FAKE hipModuleGetGlobal(void** pointer, std::size_t* bytes, hipModule_t,
                        const char* name) {
  ENTER();
  const auto at = fake_hip.globals.find(name);
  if (at == fake_hip.globals.end()) return hipErrorNotFound;
  *pointer = at->second.data();
  *bytes = at->second.size();
  return hipSuccess;
}
FAKE hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy,
                           unsigned gz, unsigned bx, unsigned by, unsigned bz,
                           unsigned shared_bytes, hipStream_t stream,
                           void** params, void** extra) {
  if (fake_hip.on_launch != nullptr) {
    return static_cast<hipError_t>(fake_hip.on_launch());
  }
  ENTER();
  FakeLaunch launch = {};
  launch.kernel = *reinterpret_cast<std::string*>(function);
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  std::memcpy(launch.grid, grid, sizeof grid);
  std::memcpy(launch.block, block, sizeof block);
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  if (params != nullptr || extra == nullptr) return hipErrorInvalidValue;
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kHipLaunchParamEnd;
       extra += 2) {
    if (reinterpret_cast<std::uintptr_t>(*extra) ==
        kHipLaunchParamBufferPointer) {
      data = static_cast<const std::uint8_t*>(extra[1]);
    } else {
      size = *static_cast<std::size_t*>(extra[1]);
    }
  }
  launch.arguments.assign(data, data + size);
  std::lock_guard<std::mutex> lock(mutex);
  fake_hip.launches.push_back(std::move(launch));
  return hipSuccess;
}
FAKE hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gx,
                                      unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz,
                                      unsigned shared_bytes, hipStream_t stream,
                                      void** params) {
  ENTER();
  FakeLaunch launch = {};
  launch.kernel = *reinterpret_cast<std::string*>(function);
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  std::memcpy(launch.grid, grid, sizeof grid);
  std::memcpy(launch.block, block, sizeof block);
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  launch.cooperative = true;
  for (; *params != nullptr; ++params) launch.pointers.push_back(*params);
  // The launch block is the last argument; the workspace is at 16 in it.
  std::uint64_t workspace = 0;
  std::memcpy(&workspace, static_cast<const char*>(launch.pointers.back()) + 16,
              sizeof workspace);
  fake_hip.workspaces.push_back(workspace);
  fake_hip.launches.push_back(std::move(launch));
  return hipSuccess;
}
FAKE hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                        hipFunction_t,
                                                        int block_size,
                                                        std::size_t) {
  ENTER();
  *blocks = 2048 / block_size;
  return hipSuccess;
}
