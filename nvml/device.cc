// What a GPU is and where it sits.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nvml/api.h"
#include "nvml/sysfs.h"

namespace cerberus::nvml {
namespace {

nvmlReturn_t TextOf(nvmlDevice_t device, const char* file, char* out,
                    unsigned length) {
  const std::optional<std::string> text = SysfsText(*device, file);
  return text ? CopyText(*text, out, length) : NVML_ERROR_NOT_SUPPORTED;
}

void WriteBusId(const Gpu& gpu, const char* format, char* out,
                std::size_t length) {
  // NVML's function is always 0.
  std::snprintf(out, length, format, gpu.domain, gpu.bus, gpu.slot);
}
constexpr char kBusIdFormat[] = "%08X:%02X:%02X.0";
constexpr char kLegacyBusIdFormat[] = "%04X:%02X:%02X.0";

unsigned Ids(unsigned device, unsigned vendor) { return device << 16 | vendor; }

// The folders of a PCI device's path below its host bridge:
// /sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0.
std::vector<std::string> PathOf(const Gpu& gpu) {
  std::vector<std::string> parts;
  const std::string folder = SysfsRealFolder(gpu);
  std::size_t at = folder.find("/pci");
  while (at != std::string::npos) {
    const std::size_t end = folder.find('/', at + 1);
    parts.push_back(
        folder.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  return parts;
}

unsigned CommonAncestor(const Gpu& a, const Gpu& b) {
  if (&a == &b) return kTopologyInternal;
  const std::vector<std::string> path_a = PathOf(a), path_b = PathOf(b);
  std::size_t common = 0;
  while (common < path_a.size() && common < path_b.size() &&
         path_a[common] == path_b[common]) {
    ++common;
  }
  if (common == 0) {
    return SysfsText(a, "numa_node") == SysfsText(b, "numa_node")
               ? kTopologyNode
               : kTopologySystem;
  }
  if (common == 1) return kTopologyHostBridge;
  // Below one switch each has its port and, on boards that have one, the two
  // bridges of its own.
  constexpr std::size_t kBelowOneSwitch = 4;
  return path_a.size() - common <= kBelowOneSwitch &&
                 path_b.size() - common <= kBelowOneSwitch
             ? kTopologySingle
             : kTopologyMultiple;
}

nvmlReturn_t LinkGeneration(nvmlDevice_t device, const char* file,
                            unsigned* generation) {
  const std::optional<std::string> speed = SysfsText(*device, file);
  if (!speed) return NVML_ERROR_NOT_SUPPORTED;
  // "16.0 GT/s PCIe"
  constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64};
  const double gigatransfers = std::strtod(speed->c_str(), nullptr);
  for (unsigned i = 0; i < std::size(kSpeeds); ++i) {
    if (gigatransfers <= kSpeeds[i] && gigatransfers > 0) {
      *generation = i + 1;
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace

namespace api {

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name,
                               unsigned length) {
  return CopyText(device->name, name, length);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid,
                               unsigned length) {
  return CopyText(device->uuid, uuid, length);
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial,
                                 unsigned length) {
  return TextOf(device, "serial_number", serial, length);
}
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* number,
                                          unsigned length) {
  return TextOf(device, "product_number", number, length);
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version,
                                       unsigned length) {
  return TextOf(device, "vbios_version", version, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  *index = static_cast<unsigned>(device->index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor) {
  *minor = device->minor;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  *info = {};
  WriteBusId(*device, kLegacyBusIdFormat, info->busIdLegacy,
             sizeof info->busIdLegacy);
  WriteBusId(*device, kBusIdFormat, info->busId, sizeof info->busId);
  info->domain = device->domain;
  info->bus = device->bus;
  info->device = device->slot;
  info->pciDeviceId = Ids(device->device, device->vendor);
  info->pciSubSystemId = Ids(device->board, device->board_vendor);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device,
                                     nvmlPciInfo_v2_t* info) {
  *info = {};
  WriteBusId(*device, kLegacyBusIdFormat, info->busId, sizeof info->busId);
  info->domain = device->domain;
  info->bus = device->bus;
  info->device = device->slot;
  info->pciDeviceId = Ids(device->device, device->vendor);
  info->pciSubSystemId = Ids(device->board, device->board_vendor);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t* info) {
  nvmlPciInfo_v2_t newer;
  nvmlDeviceGetPciInfo_v2(device, &newer);
  std::memcpy(info, &newer, offsetof(nvmlPciInfo_v2_t, pciSubSystemId));
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device,
                                     nvmlPciInfoExt_t* info) {
  if (info->version != VersionOf<nvmlPciInfoExt_t>(1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  const unsigned pci_class = static_cast<unsigned>(std::strtoul(
      SysfsText(*device, "class").value_or("0").c_str(), nullptr, 16));
  WriteBusId(*device, kBusIdFormat, info->busId, sizeof info->busId);
  info->domain = device->domain;
  info->bus = device->bus;
  info->device = device->slot;
  info->pciDeviceId = Ids(device->device, device->vendor);
  info->pciSubSystemId = Ids(device->board, device->board_vendor);
  info->baseClass = pci_class >> 16;
  info->subClass = pci_class >> 8 & 0xff;
  return NVML_SUCCESS;
}

// The names are NVIDIA's product lines.
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t, unsigned* brand) {
  *brand = kBrandUnknown;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t, unsigned* type) {
  *type = kBusPcie;
  return NVML_SUCCESS;
}

// The generation of the compute capability that the GPU is presented with.
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* value) {
  struct Row {
    int sm;
    unsigned architecture;
  };
  constexpr Row kRows[] = {{100, 10}, {90, 9}, {89, 8}, {80, 7},
                           {75, 6},   {70, 5}, {60, 4}, {50, 3}};
  for (const Row& row : kRows) {
    if (device->cc.sm() < row.sm) continue;
    *value = row.architecture;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_UNKNOWN;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major,
                                                int* minor) {
  *major = device->cc.major;
  *minor = device->cc.minor;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned* board) {
  *board = device->domain << 16 | device->bus << 8 | device->slot << 3;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t, unsigned* multi) {
  *multi = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int* same) {
  *same = a == b;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t, unsigned* mode) {
  *mode = 0;  // any number of processes
  return NVML_SUCCESS;
}
// amdgpu stays loaded without users.
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, unsigned* mode) {
  *mode = kEnabled;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned* mode) {
  *mode = AnyConnectorSays(*device, "status", "connected");
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned* active) {
  *active = AnyConnectorSays(*device, "enabled", "enabled");
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device,
                                                 unsigned* generation) {
  return LinkGeneration(device, "current_link_speed", generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device,
                                                unsigned* generation) {
  return LinkGeneration(device, "max_link_speed", generation);
}

// The kernel's list is in hexadecimal groups of 32 CPUs, the last ones first.
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned words,
                                      unsigned long* cpus) {
  const std::optional<std::string> text = SysfsText(*device, "local_cpus");
  if (!text) return NVML_ERROR_NOT_SUPPORTED;
  std::memset(cpus, 0, words * sizeof *cpus);
  std::size_t bit = 0;
  for (std::size_t i = text->size(); i-- > 0;) {
    const char c = (*text)[i];
    if (!std::isxdigit(static_cast<unsigned char>(c))) continue;
    const char digit[] = {c, '\0'};
    const unsigned long value = std::strtoul(digit, nullptr, 16);
    constexpr std::size_t kBits = 8 * sizeof *cpus;
    if (bit / kBits >= words) {
      if (value != 0) return NVML_ERROR_INSUFFICIENT_SIZE;
      continue;
    }
    cpus[bit / kBits] |= value << bit % kBits;
    bit += 4;
  }
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
                                                 unsigned* level) {
  *level = CommonAncestor(*a, *b);
  return NVML_SUCCESS;
}
// There is no NVLink; what HIP can do between two GPUs only HIP knows.
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, unsigned index,
                                    unsigned* status) {
  if (index >= kP2pIndexUnknown) return NVML_ERROR_INVALID_ARGUMENT;
  *status = index == kP2pIndexNvlink ? kP2pNotSupported : kP2pUnknown;
  return NVML_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::nvml
