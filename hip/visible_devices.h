// CUDA_VISIBLE_DEVICES: which GPUs the process sees, and in which order.
#ifndef CERBERUS_HIP_VISIBLE_DEVICES_H_
#define CERBERUS_HIP_VISIBLE_DEVICES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hip/cuda_uuid.h"

namespace cerberus {

// "GPU-" and the 32 digits in groups, as nvidia-smi -L and programs write it.
std::string UuidText(const CUuuid& uuid);

// The UUID of a device that HIP has none for, made from its place in the
// machine. All-zero ids would make two devices equal.
CUuuid UuidOfPlace(int pci_domain, int pci_bus, int pci_device, int ordinal);

// Indices into `all`, as the variable's text asks for them: numbers, or
// beginnings of UUIDs that fit one device each. The list ends before the
// first entry that names no device; one named twice leaves none (CUDA
// Programming Guide, "CUDA Environment Variables").
std::vector<int> VisibleDevices(std::string_view text,
                                std::span<const CUuuid> all);

}  // namespace cerberus

#endif  // CERBERUS_HIP_VISIBLE_DEVICES_H_
