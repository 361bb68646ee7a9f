// What a GPU does now: memory, load, heat, power, clocks, processes.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "nvml/api.h"
#include "nvml/sysfs.h"

namespace cerberus::nvml {
namespace {

constexpr std::uint64_t kMicroPerMilli = 1000;  // µW per mW, µJ per mJ
constexpr std::uint64_t kMilliDegrees = 1000;
constexpr std::uint64_t kHertzPerMegahertz = 1000000;

// The first of them that the GPU has.
template <typename... Metrics>
std::optional<std::uint64_t> FirstOf(const Gpu& gpu, Metrics... metrics) {
  std::optional<std::uint64_t> value;
  (void)((value = Read(gpu, metrics)) || ...);
  return value;
}

template <typename T>
nvmlReturn_t Answer(const std::optional<std::uint64_t>& value,
                    std::uint64_t unit, T* out) {
  if (!value) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<T>(*value / unit);
  return NVML_SUCCESS;
}

std::optional<std::uint64_t> Power(const Gpu& gpu) {
  return FirstOf(gpu, Metric::kPowerAverage, Metric::kPowerInstant);
}
// The edge of the chip is what drivers of all vendors call its temperature;
// data centre GPUs have the hottest point only.
std::optional<std::uint64_t> Temperature(const Gpu& gpu) {
  return FirstOf(gpu, Metric::kEdgeTemperature, Metric::kJunctionTemperature);
}

struct Memory {
  std::uint64_t total = 0, used = 0;
};
std::optional<Memory> MemoryOf(const Gpu& gpu, Metric total, Metric used) {
  const std::optional<std::uint64_t> bytes = Read(gpu, total);
  if (!bytes) return std::nullopt;
  return Memory{*bytes, std::min(*bytes, Read(gpu, used).value_or(0))};
}

const char* ClockFile(unsigned clock) {
  switch (clock) {
    case kClockGraphics:
    case kClockSm: return "pp_dpm_sclk";
    case kClockMemory: return "pp_dpm_mclk";
    case kClockVideo: return "pp_dpm_vclk";
    default: return nullptr;
  }
}

nvmlReturn_t CurrentClock(const Gpu& gpu, unsigned clock, unsigned* megahertz) {
  const char* file = ClockFile(clock);
  if (file == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  std::optional<std::uint64_t> hertz;
  if (clock == kClockMemory) {
    hertz = Read(gpu, Metric::kMemoryClock);
  } else if (clock != kClockVideo) {
    hertz = Read(gpu, Metric::kGraphicsClock);
  }
  if (hertz) return Answer(hertz, kHertzPerMegahertz, megahertz);
  const std::optional<ClockLevels> levels = SysfsClock(gpu, file);
  if (!levels || !levels->current) return NVML_ERROR_NOT_SUPPORTED;
  *megahertz = *levels->current;
  return NVML_SUCCESS;
}

// Errors of the GPU's memory: "ue: 0" and "ce: 2" in a file that exists where
// ECC is on.
struct EccErrors {
  unsigned long long corrected = 0, uncorrected = 0;
};
std::optional<EccErrors> EccOf(const Gpu& gpu) {
  const std::optional<std::string> text = SysfsText(gpu, "ras/umc_err_count");
  EccErrors errors;
  if (!text || std::sscanf(text->c_str(), "ue: %llu ce: %llu",
                           &errors.uncorrected, &errors.corrected) != 2) {
    return std::nullopt;
  }
  return errors;
}

// Callers ask with no room for the number, then again.
template <typename Info>
nvmlReturn_t ListProcesses(const std::vector<Process>& processes,
                           unsigned* count, Info* infos) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < processes.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (infos == nullptr && !processes.empty()) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    infos[i].pid = processes[i].pid;
    infos[i].usedGpuMemory = processes[i].bytes;
    if constexpr (std::is_same_v<Info, nvmlProcessInfo_t>) {
      // No part of a GPU: what NVML says outside of MIG.
      infos[i].gpuInstanceId = ~0u;
      infos[i].computeInstanceId = ~0u;
    }
  }
  return NVML_SUCCESS;
}

void ReadField(const Gpu& gpu, nvmlFieldValue_t* field) {
  std::optional<std::uint64_t> value;
  std::uint64_t unit = kMicroPerMilli;
  field->valueType = kValueUnsigned;
  switch (field->fieldId) {
    case kFieldEccCurrent:
      if (EccOf(gpu)) value = kEnabled;
      unit = 1;
      break;
    case kFieldMemoryTemperature:
      value = Read(gpu, Metric::kMemoryTemperature);
      unit = kMilliDegrees;
      break;
    case kFieldTotalEnergy:
      value = Read(gpu, Metric::kEnergy);
      field->valueType = kValueUnsignedLongLong;
      break;
    case kFieldNvlinkCount: value = 0; break;
    case kFieldPcieReplays:
      value = Read(gpu, Metric::kPcieReplays);
      unit = 1;
      break;
    case kFieldPowerAverage: value = Power(gpu); break;
    case kFieldPowerInstant:
      value = FirstOf(gpu, Metric::kPowerInstant, Metric::kPowerAverage);
      break;
    case kFieldPowerMinLimit: value = Read(gpu, Metric::kPowerLimitMin); break;
    case kFieldPowerMaxLimit: value = Read(gpu, Metric::kPowerLimitMax); break;
    case kFieldPowerDefaultLimit:
      value = Read(gpu, Metric::kPowerLimitDefault);
      break;
    case kFieldPowerCurrentLimit:
    case kFieldPowerRequestedLimit:
      value = Read(gpu, Metric::kPowerLimit);
      break;
    default: break;
  }
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  field->timestamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
  field->latencyUsec = 0;
  field->value.ullVal = 0;
  field->nvmlReturn = Answer(value, unit, &field->value.ullVal);
}

}  // namespace

namespace api {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device,
                                     nvmlMemory_t* memory) {
  const auto found = MemoryOf(*device, Metric::kVramTotal, Metric::kVramUsed);
  if (!found) return NVML_ERROR_NOT_SUPPORTED;
  *memory = {found->total, found->total - found->used, found->used};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                        nvmlMemory_v2_t* memory) {
  if (memory->version != VersionOf<nvmlMemory_v2_t>(2)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  const auto found = MemoryOf(*device, Metric::kVramTotal, Metric::kVramUsed);
  if (!found) return NVML_ERROR_NOT_SUPPORTED;
  *memory = {memory->version, found->total, 0, found->total - found->used,
             found->used};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device,
                                         nvmlBAR1Memory_t* memory) {
  const auto found =
      MemoryOf(*device, Metric::kVisibleTotal, Metric::kVisibleUsed);
  if (!found) return NVML_ERROR_NOT_SUPPORTED;
  *memory = {found->total, found->total - found->used, found->used};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                           nvmlUtilization_t* utilization) {
  const auto gpu = Read(*device, Metric::kGpuBusy);
  if (!gpu) return NVML_ERROR_NOT_SUPPORTED;
  utilization->gpu = static_cast<unsigned>(*gpu);
  utilization->memory =
      static_cast<unsigned>(Read(*device, Metric::kMemoryBusy).value_or(0));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor,
                                      unsigned* degrees) {
  if (sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;
  return Answer(Temperature(*device), kMilliDegrees, degrees);
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device,
                                       nvmlTemperature_t* temperature) {
  if (temperature->version != VersionOf<nvmlTemperature_t>(1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  if (temperature->sensorType != 0) return NVML_ERROR_INVALID_ARGUMENT;
  return Answer(Temperature(*device), kMilliDegrees, &temperature->temperature);
}
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                               unsigned threshold,
                                               unsigned* degrees) {
  std::optional<std::uint64_t> value;
  switch (threshold) {
    case kThresholdShutdown:
      value =
          FirstOf(*device, Metric::kEdgeEmergency, Metric::kJunctionEmergency);
      break;
    case kThresholdSlowdown:
    case kThresholdGpuMax:
      value =
          FirstOf(*device, Metric::kEdgeCritical, Metric::kJunctionCritical);
      break;
    case kThresholdMemoryMax:
      value = Read(*device, Metric::kMemoryCritical);
      break;
    default: break;
  }
  return Answer(value, kMilliDegrees, degrees);
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned* percent) {
  const auto speed = Read(*device, Metric::kFan);
  const auto max = Read(*device, Metric::kFanMax);
  if (!speed || !max || *max == 0) return NVML_ERROR_NOT_SUPPORTED;
  *percent = static_cast<unsigned>((*speed * 100 + *max / 2) / *max);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned fan,
                                      unsigned* percent) {
  if (fan != 0) return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetFanSpeed(device, percent);
}
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned* count) {
  *count = Read(*device, Metric::kFan) ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device,
                                     unsigned* milliwatts) {
  return Answer(Power(*device), kMicroPerMilli, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device,
                                              unsigned* mode) {
  *mode = Read(*device, Metric::kPowerLimit) ? kEnabled : kDisabled;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device,
                                               unsigned* milliwatts) {
  return Answer(Read(*device, Metric::kPowerLimit), kMicroPerMilli, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device,
                                                      unsigned* milliwatts) {
  return Answer(Read(*device, Metric::kPowerLimitDefault), kMicroPerMilli,
                milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                          unsigned* minimum,
                                                          unsigned* maximum) {
  const nvmlReturn_t result =
      Answer(Read(*device, Metric::kPowerLimitMin), kMicroPerMilli, minimum);
  return result != NVML_SUCCESS ? result
                                : Answer(Read(*device, Metric::kPowerLimitMax),
                                         kMicroPerMilli, maximum);
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(
    nvmlDevice_t device, unsigned long long* millijoules) {
  return Answer(Read(*device, Metric::kEnergy), kMicroPerMilli, millijoules);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned clock,
                                    unsigned* megahertz) {
  return CurrentClock(*device, clock, megahertz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned clock,
                                       unsigned* megahertz) {
  const char* file = ClockFile(clock);
  if (file == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const std::optional<ClockLevels> levels = SysfsClock(*device, file);
  if (!levels) return NVML_ERROR_NOT_SUPPORTED;
  *megahertz = levels->highest;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, unsigned clock,
                                unsigned id, unsigned* megahertz) {
  constexpr unsigned kCurrent = 0;
  if (id != kCurrent) return NVML_ERROR_NOT_SUPPORTED;
  return CurrentClock(*device, clock, megahertz);
}
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t, unsigned* state) {
  *state = kPstateUnknown;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device,
                                            unsigned* lanes) {
  return Answer(Read(*device, Metric::kPcieWidth), 1, lanes);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device,
                                           unsigned* lanes) {
  return Answer(Read(*device, Metric::kPcieWidthMax), 1, lanes);
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device,
                                            unsigned* count) {
  return Answer(Read(*device, Metric::kPcieReplays), 1, count);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned* current,
                                  unsigned* pending) {
  if (!EccOf(*device)) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = kEnabled;
  return NVML_SUCCESS;
}
// amdgpu counts since it was loaded, which is what NVML calls volatile.
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned error,
                                         unsigned counter,
                                         unsigned long long* count) {
  constexpr unsigned kCorrected = 0, kUncorrected = 1, kVolatile = 0;
  if (error > kUncorrected) return NVML_ERROR_INVALID_ARGUMENT;
  const std::optional<EccErrors> errors = EccOf(*device);
  if (!errors || counter != kVolatile) return NVML_ERROR_NOT_SUPPORTED;
  *count = error == kCorrected ? errors->corrected : errors->uncorrected;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                      nvmlFieldValue_t* values) {
  if (count < 0) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < count; ++i) ReadField(*device, &values[i]);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device,
                                                  unsigned* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return ListProcesses(ProcessesOn(*device), count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                     unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  return ListProcesses(ProcessesOn(*device), count, infos);
}
// The kernel does not list them by GPU.
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(
    nvmlDevice_t, unsigned* count, nvmlProcessInfo_v1_t* infos) {
  return ListProcesses({}, count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(
    nvmlDevice_t, unsigned* count, nvmlProcessInfo_t* infos) {
  return ListProcesses({}, count, infos);
}

}  // namespace api
}  // namespace cerberus::nvml
