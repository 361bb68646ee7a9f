// The emulator's devices, for machines without a GPU.
#ifndef CERBERUS_NVML_EMULATED_H_
#define CERBERUS_NVML_EMULATED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "nvml/gpu.h"

namespace cerberus::nvml {

std::vector<Gpu> EmulatedGpus();

// Memory only; an emulated GPU has no sensors, and is never measured busy.
std::optional<std::uint64_t> EmulatedRead(const Gpu& gpu, Metric metric);

}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_EMULATED_H_
