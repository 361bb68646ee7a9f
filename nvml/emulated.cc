#include "nvml/emulated.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "hip/find_emulator.h"
#include "hip/hip_loader.h"
#include "hip/visible_devices.h"
#include "support/targets/target_id.h"

namespace cerberus::nvml {
namespace {

// AMD's PCI vendor id.
constexpr unsigned kAmd = 0x1002;

unsigned Attribute(hipDeviceAttribute_t attribute, int device) {
  int value = 0;
  if (hip.hipDeviceGetAttribute(&value, attribute, device) != hipSuccess) {
    return 0;
  }
  return static_cast<unsigned>(value);
}

Gpu Describe(int device) {
  Gpu gpu;
  gpu.index = device;
  gpu.emulator_index = device;
  gpu.minor = static_cast<unsigned>(device);
  char name[256] = "";
  if (hip.hipDeviceGetName(name, sizeof name, device) == hipSuccess) {
    name[sizeof name - 1] = '\0';
    gpu.name = name;
  }
  const std::string arch = ArchNameOf(device);
  if (gpu.name.empty()) gpu.name = "AMD " + arch;
  if (const Result<TargetId> target = TargetId::Parse(arch)) {
    gpu.cc = ComputeCapabilityOf(target->processor);
  }
  gpu.vendor = kAmd;
  gpu.board_vendor = kAmd;
  gpu.domain = Attribute(hipDeviceAttributePciDomainId, device);
  gpu.bus = Attribute(hipDeviceAttributePciBusId, device);
  gpu.slot = Attribute(hipDeviceAttributePciDeviceId, device);
  hipUUID uuid = {};
  CUuuid shown =
      UuidOfPlace(static_cast<int>(gpu.domain), static_cast<int>(gpu.bus),
                  static_cast<int>(gpu.slot), device);
  if (hip.hipDeviceGetUuid(&uuid, device) == hipSuccess &&
      std::any_of(std::begin(uuid.bytes), std::end(uuid.bytes),
                  [](char c) { return c != 0; })) {
    std::memcpy(shown.bytes, uuid.bytes, sizeof shown.bytes);
  }
  gpu.uuid = UuidText(shown);
  return gpu;
}

// HIP tells free memory of the current device only; the thread's own choice
// comes back afterwards.
std::optional<std::uint64_t> FreeMemory(int device) {
  int current = 0;
  std::size_t free = 0, total = 0;
  if (hip.hipGetDevice(&current) != hipSuccess ||
      hip.hipSetDevice(device) != hipSuccess) {
    return std::nullopt;
  }
  const hipError_t error = hip.hipMemGetInfo(&free, &total);
  hip.hipSetDevice(current);
  if (error != hipSuccess) return std::nullopt;
  return free;
}

}  // namespace

std::vector<Gpu> EmulatedGpus() {
  std::vector<Gpu> gpus;
  std::string why;
  int count = 0;
  const EmulatorTargets targets;
  if (!LoadEmulator(&why) || hip.hipInit(0) != hipSuccess ||
      hip.hipGetDeviceCount(&count) != hipSuccess) {
    return gpus;
  }
  for (int i = 0; i < count; ++i) gpus.push_back(Describe(i));
  return gpus;
}

std::optional<std::uint64_t> EmulatedRead(const Gpu& gpu, Metric metric) {
  switch (metric) {
    case Metric::kVramTotal:
    case Metric::kVramUsed:
    case Metric::kVisibleTotal:
    case Metric::kVisibleUsed: {
      std::size_t total = 0;
      if (hip.hipDeviceTotalMem(&total, gpu.emulator_index) != hipSuccess) {
        return std::nullopt;
      }
      if (metric == Metric::kVramTotal || metric == Metric::kVisibleTotal) {
        return total;
      }
      return total - FreeMemory(gpu.emulator_index).value_or(total);
    }
    case Metric::kGpuBusy:
    case Metric::kMemoryBusy: return 0;
    default: return std::nullopt;
  }
}

}  // namespace cerberus::nvml
