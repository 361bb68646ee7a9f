// ROCm SMI, AMD's library for monitors, found at run time.
#ifndef CERBERUS_NVML_ROCM_SMI_H_
#define CERBERUS_NVML_ROCM_SMI_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "nvml/gpu.h"

namespace cerberus::nvml {

// Opens librocm_smi64, if it is installed, and sets `smi_index` of the GPUs
// that it knows. CERBERUS_ROCM_SMI names its file; none if empty.
void FindInRocmSmi(std::vector<Gpu>& gpus);

// Only for GPUs with an index in it. Nothing for what it does not know.
std::optional<std::uint64_t> RocmSmiRead(const Gpu& gpu, Metric metric);

}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_ROCM_SMI_H_
