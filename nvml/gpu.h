// The GPUs of the machine, and what can be measured of them.
//
// NVML shows all GPUs, whatever CUDA_VISIBLE_DEVICES says, with the numbers
// and UUIDs that the CUDA driver gives them without that variable. The kernel
// is asked, not HIP: a program that looks at its GPUs before it forks must not
// have opened them.
#ifndef CERBERUS_NVML_GPU_H_
#define CERBERUS_NVML_GPU_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/targets/target_table.h"

namespace cerberus::nvml {

enum class Metric {
#define NVML_METRIC(name, file) name,
#include "nvml/metrics.def"
#undef NVML_METRIC
};

struct Gpu {
  int index = 0;
  unsigned minor = 0;  // of /dev/dri/renderD128: 0
  std::string name;
  std::string uuid;  // "GPU-..."
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  unsigned vendor = 0, device = 0;
  unsigned board_vendor = 0, board = 0;
  ComputeCapability cc;

  // Where values come from; what a GPU does not have is empty or -1.
  std::string folder;   // of the PCI device in sysfs
  std::string sensors;  // of its hwmon
  std::uint64_t kfd_id = 0;
  int smi_index = -1;       // in ROCm SMI
  int emulator_index = -1;  // in the emulator
};

struct Process {
  unsigned pid = 0;
  std::uint64_t bytes = 0;  // of the GPU's memory
};

// A value now: ROCm SMI's where it is installed and has it, else the
// kernel's, else the emulator's.
std::optional<std::uint64_t> Read(const Gpu& gpu, Metric metric);

// The processes that compute on it.
std::vector<Process> ProcessesOn(const Gpu& gpu);

}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_GPU_H_
