// GPUs as the kernel's amdgpu driver shows them in files.
//
// CERBERUS_NVML_ROOT=FOLDER is put before /sys and /usr, for tests.
#ifndef CERBERUS_NVML_SYSFS_H_
#define CERBERUS_NVML_SYSFS_H_

#include <optional>
#include <string>
#include <vector>

#include "nvml/gpu.h"

namespace cerberus::nvml {

// In the order of the nodes of KFD, which is ROCm's, and so HIP's.
std::vector<Gpu> SysfsGpus();

std::optional<std::uint64_t> SysfsRead(const Gpu& gpu, Metric metric);
std::vector<Process> SysfsProcesses(const Gpu& gpu);

// A file in the GPU's folder, without the white space at its end; nothing
// where there is none or it is empty.
std::optional<std::string> SysfsText(const Gpu& gpu, const char* file);

// The frequencies of a clock ("pp_dpm_sclk") in MHz.
struct ClockLevels {
  std::optional<unsigned> current;
  unsigned highest = 0;
};
std::optional<ClockLevels> SysfsClock(const Gpu& gpu, const char* file);

// Whether a file of some connector (a display's) says `value`.
bool AnyConnectorSays(const Gpu& gpu, const char* file, const char* value);

// The folder of its PCI device with all links followed: the bridges above it
// are its parents.
std::string SysfsRealFolder(const Gpu& gpu);

}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_SYSFS_H_
