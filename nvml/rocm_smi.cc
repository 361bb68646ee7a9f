#include "nvml/rocm_smi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace cerberus::nvml {
namespace {

using Status = int;  // rsmi_status_t; 0 is success

// The functions whose interface is the same in all versions since ROCm 5.
// That of clocks is not (rsmi_frequencies_t grew at its beginning); those come
// from the kernel.
#define ROCM_SMI_FUNCTIONS(F)                                                  \
  F(rsmi_init, (std::uint64_t flags))                                          \
  F(rsmi_num_monitor_devices, (std::uint32_t* count))                          \
  F(rsmi_dev_pci_id_get, (std::uint32_t gpu, std::uint64_t* id))               \
  F(rsmi_dev_memory_total_get,                                                 \
    (std::uint32_t gpu, unsigned type, std::uint64_t* bytes))                  \
  F(rsmi_dev_memory_usage_get,                                                 \
    (std::uint32_t gpu, unsigned type, std::uint64_t* bytes))                  \
  F(rsmi_dev_busy_percent_get, (std::uint32_t gpu, std::uint32_t* percent))    \
  F(rsmi_dev_memory_busy_percent_get,                                          \
    (std::uint32_t gpu, std::uint32_t* percent))                               \
  F(rsmi_dev_temp_metric_get, (std::uint32_t gpu, std::uint32_t sensor,        \
                               unsigned metric, std::int64_t* value))          \
  F(rsmi_dev_fan_speed_get,                                                    \
    (std::uint32_t gpu, std::uint32_t sensor, std::int64_t* speed))            \
  F(rsmi_dev_fan_speed_max_get,                                                \
    (std::uint32_t gpu, std::uint32_t sensor, std::uint64_t* speed))           \
  F(rsmi_dev_power_ave_get,                                                    \
    (std::uint32_t gpu, std::uint32_t sensor, std::uint64_t* power))           \
  F(rsmi_dev_power_cap_get,                                                    \
    (std::uint32_t gpu, std::uint32_t sensor, std::uint64_t* power))           \
  F(rsmi_dev_power_cap_range_get, (std::uint32_t gpu, std::uint32_t sensor,    \
                                   std::uint64_t* max, std::uint64_t* min))    \
  F(rsmi_dev_power_cap_default_get, (std::uint32_t gpu, std::uint64_t* power)) \
  F(rsmi_dev_energy_count_get, (std::uint32_t gpu, std::uint64_t* count,       \
                                float* resolution, std::uint64_t* time))       \
  F(rsmi_dev_pci_replay_counter_get, (std::uint32_t gpu, std::uint64_t* count))

struct RocmSmi {
#define SMI_POINTER(name, parameters) Status(*name) parameters = nullptr;
  ROCM_SMI_FUNCTIONS(SMI_POINTER)
#undef SMI_POINTER
};
RocmSmi smi;

// rsmi_memory_type_t, rsmi_temperature_type_t, rsmi_temperature_metric_t
enum : unsigned { kVram = 0, kVisibleVram = 1 };
enum : std::uint32_t { kEdge = 0, kJunction = 1, kMemory = 2 };
enum : unsigned { kCurrent = 0, kCritical = 5, kEmergency = 7 };

bool Open() {
  void* library = nullptr;
  if (const char* path = secure_getenv("CERBERUS_ROCM_SMI")) {
    if (*path == '\0') return false;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* name :
         {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
          "librocm_smi64.so.1", "/opt/rocm/lib/librocm_smi64.so"}) {
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
  }
  if (library == nullptr) return false;
#define SMI_LOAD(name, parameters)                    \
  if (void* address = dlsym(library, #name)) {        \
    std::memcpy(&smi.name, &address, sizeof address); \
  }
  ROCM_SMI_FUNCTIONS(SMI_LOAD)
#undef SMI_LOAD
  return smi.rsmi_init != nullptr && smi.rsmi_num_monitor_devices != nullptr &&
         smi.rsmi_dev_pci_id_get != nullptr && smi.rsmi_init(0) == 0;
}

// Calls a function that a version may lack, with a value to be written last.
template <typename T, typename... Args>
std::optional<std::uint64_t> Ask(Status (*function)(Args..., T*),
                                 std::type_identity_t<Args>... args) {
  T value = 0;
  if (function == nullptr || function(args..., &value) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

using Number = std::optional<std::uint64_t>;

Number Memory(Status (*function)(std::uint32_t, unsigned, std::uint64_t*),
              std::uint32_t gpu, unsigned type) {
  return Ask<std::uint64_t, std::uint32_t, unsigned>(function, gpu, type);
}

Number Temperature(std::uint32_t gpu, std::uint32_t sensor, unsigned metric) {
  return Ask<std::int64_t, std::uint32_t, std::uint32_t, unsigned>(
      smi.rsmi_dev_temp_metric_get, gpu, sensor, metric);
}

template <typename T>
Number FirstSensor(Status (*function)(std::uint32_t, std::uint32_t, T*),
                   std::uint32_t gpu) {
  return Ask<T, std::uint32_t, std::uint32_t>(function, gpu, 0);
}

template <typename T>
Number OfGpu(Status (*function)(std::uint32_t, T*), std::uint32_t gpu) {
  return Ask<T, std::uint32_t>(function, gpu);
}

Number PowerRange(std::uint32_t gpu, bool upper) {
  std::uint64_t max = 0, min = 0;
  if (smi.rsmi_dev_power_cap_range_get == nullptr ||
      smi.rsmi_dev_power_cap_range_get(gpu, 0, &max, &min) != 0) {
    return std::nullopt;
  }
  return upper ? max : min;
}

Number Energy(std::uint32_t gpu) {
  std::uint64_t count = 0, time = 0;
  float resolution = 0;
  if (smi.rsmi_dev_energy_count_get == nullptr ||
      smi.rsmi_dev_energy_count_get(gpu, &count, &resolution, &time) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(static_cast<double>(count) *
                                    static_cast<double>(resolution));
}

}  // namespace

void FindInRocmSmi(std::vector<Gpu>& gpus) {
  if (gpus.empty() || !Open()) return;
  std::uint32_t count = 0;
  if (smi.rsmi_num_monitor_devices(&count) != 0) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    if (smi.rsmi_dev_pci_id_get(i, &id) != 0) continue;
    // The domain is in the upper half; newer versions put a partition's
    // number into the bits below it.
    for (Gpu& gpu : gpus) {
      const std::uint64_t place = gpu.bus << 8 | gpu.slot << 3 | gpu.function;
      if (id >> 32 == gpu.domain && (id & 0xffff) == place &&
          gpu.smi_index < 0) {
        gpu.smi_index = static_cast<int>(i);
        break;
      }
    }
  }
}

std::optional<std::uint64_t> RocmSmiRead(const Gpu& gpu, Metric metric) {
  const auto at = static_cast<std::uint32_t>(gpu.smi_index);
  switch (metric) {
    case Metric::kVramTotal:
      return Memory(smi.rsmi_dev_memory_total_get, at, kVram);
    case Metric::kVramUsed:
      return Memory(smi.rsmi_dev_memory_usage_get, at, kVram);
    case Metric::kVisibleTotal:
      return Memory(smi.rsmi_dev_memory_total_get, at, kVisibleVram);
    case Metric::kVisibleUsed:
      return Memory(smi.rsmi_dev_memory_usage_get, at, kVisibleVram);
    case Metric::kGpuBusy: return OfGpu(smi.rsmi_dev_busy_percent_get, at);
    case Metric::kMemoryBusy:
      return OfGpu(smi.rsmi_dev_memory_busy_percent_get, at);
    case Metric::kEdgeTemperature: return Temperature(at, kEdge, kCurrent);
    case Metric::kEdgeCritical: return Temperature(at, kEdge, kCritical);
    case Metric::kEdgeEmergency: return Temperature(at, kEdge, kEmergency);
    case Metric::kJunctionTemperature:
      return Temperature(at, kJunction, kCurrent);
    case Metric::kJunctionCritical:
      return Temperature(at, kJunction, kCritical);
    case Metric::kJunctionEmergency:
      return Temperature(at, kJunction, kEmergency);
    case Metric::kMemoryTemperature: return Temperature(at, kMemory, kCurrent);
    case Metric::kMemoryCritical: return Temperature(at, kMemory, kCritical);
    case Metric::kFan: return FirstSensor(smi.rsmi_dev_fan_speed_get, at);
    case Metric::kFanMax:
      return FirstSensor(smi.rsmi_dev_fan_speed_max_get, at);
    case Metric::kPowerAverage:
      return FirstSensor(smi.rsmi_dev_power_ave_get, at);
    case Metric::kPowerLimit:
      return FirstSensor(smi.rsmi_dev_power_cap_get, at);
    case Metric::kPowerLimitDefault:
      return OfGpu(smi.rsmi_dev_power_cap_default_get, at);
    case Metric::kPowerLimitMin: return PowerRange(at, false);
    case Metric::kPowerLimitMax: return PowerRange(at, true);
    case Metric::kEnergy: return Energy(at);
    case Metric::kPcieReplays:
      return OfGpu(smi.rsmi_dev_pci_replay_counter_get, at);
    case Metric::kPowerInstant:
    case Metric::kGraphicsClock:
    case Metric::kMemoryClock:
    case Metric::kPcieWidth:
    case Metric::kPcieWidthMax: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cerberus::nvml
