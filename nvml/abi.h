// The types of nvml.h that the library writes, in C++ of its own: sizes and
// numbers are NVML's (NVML API Reference, "Modules"), the names follow it.
#ifndef CERBERUS_NVML_ABI_H_
#define CERBERUS_NVML_ABI_H_

#include <cstddef>
#include <cstdint>

namespace cerberus::nvml {

enum nvmlReturn_t : unsigned {
#define NVML_ERROR_ROW(name, number, text) name = number,
#include "nvml/errors.def"
#undef NVML_ERROR_ROW
};

struct Gpu;
using nvmlDevice_t = const Gpu*;
struct EventSet;
using nvmlEventSet_t = EventSet*;

// "Structure version" of NVML: its size and, in the top byte, a number.
template <typename T>
constexpr unsigned VersionOf(unsigned number) {
  return static_cast<unsigned>(sizeof(T)) | number << 24;
}

inline constexpr std::size_t kBusIdLegacyBytes = 16;
inline constexpr std::size_t kBusIdBytes = 32;

struct nvmlPciInfo_t {  // _v3
  char busIdLegacy[kBusIdLegacyBytes];
  unsigned domain, bus, device;
  unsigned pciDeviceId;     // device << 16 | vendor
  unsigned pciSubSystemId;  // the same of the board
  char busId[kBusIdBytes];
};
static_assert(sizeof(nvmlPciInfo_t) == 68);
// The first version ends before the subsystem's id and has the legacy bus id
// only; the second has four words where the third has `busId`.
struct nvmlPciInfo_v2_t {
  char busId[kBusIdLegacyBytes];
  unsigned domain, bus, device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  unsigned reserved[4];
};
static_assert(sizeof(nvmlPciInfo_v2_t) == 52);
struct nvmlPciInfoExt_t {
  unsigned version;
  unsigned domain, bus, device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  unsigned baseClass, subClass;
  char busId[kBusIdBytes];
};
static_assert(sizeof(nvmlPciInfoExt_t) == 64);

struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(VersionOf<nvmlMemory_v2_t>(2) == 0x02000028);
struct nvmlBAR1Memory_t {
  unsigned long long bar1Total, bar1Free, bar1Used;
};

struct nvmlUtilization_t {
  unsigned gpu, memory;  // percent
};

struct nvmlTemperature_t {
  unsigned version;
  unsigned sensorType;
  int temperature;
};
static_assert(VersionOf<nvmlTemperature_t>(1) == 0x0100000c);

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
};
struct nvmlProcessInfo_t {  // _v2 and _v3
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(nvmlProcessInfo_t) == 24);

union nvmlValue_t {
  double dVal;
  unsigned uiVal;
  unsigned long long ullVal;
};
struct nvmlFieldValue_t {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;  // microseconds since 1970
  long long latencyUsec;
  unsigned valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
};
static_assert(sizeof(nvmlFieldValue_t) == 40);

struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
};

enum : unsigned { kDisabled = 0, kEnabled = 1 };  // nvmlEnableState_t
enum : unsigned {
  kClockGraphics = 0,
  kClockSm = 1,
  kClockMemory = 2,
  kClockVideo = 3,
};
enum : unsigned {
  kThresholdShutdown = 0,
  kThresholdSlowdown = 1,
  kThresholdMemoryMax = 2,
  kThresholdGpuMax = 3,
};
enum : unsigned {
  kTopologyInternal = 0,
  kTopologySingle = 10,
  kTopologyMultiple = 20,
  kTopologyHostBridge = 30,
  kTopologyNode = 40,
  kTopologySystem = 50,
};
enum : unsigned { kP2pIndexNvlink = 2, kP2pIndexUnknown = 5 };
enum : unsigned { kP2pNotSupported = 5, kP2pUnknown = 6 };
enum : unsigned { kValueUnsigned = 1, kValueUnsignedLongLong = 3 };
enum : unsigned {
  kFieldEccCurrent = 1,
  kFieldMemoryTemperature = 82,
  kFieldTotalEnergy = 83,
  kFieldNvlinkCount = 91,
  kFieldPcieReplays = 94,
  kFieldPowerAverage = 185,
  kFieldPowerInstant = 186,
  kFieldPowerMinLimit = 187,
  kFieldPowerMaxLimit = 188,
  kFieldPowerDefaultLimit = 189,
  kFieldPowerCurrentLimit = 190,
  kFieldPowerRequestedLimit = 192,
};
inline constexpr unsigned kPstateUnknown = 32;
inline constexpr unsigned kBrandUnknown = 0;
inline constexpr unsigned kBusPcie = 2;
inline constexpr unsigned kInitNoGpus = 1;

}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_ABI_H_
