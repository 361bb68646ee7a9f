// Start and end, the system, the list of GPUs, and events.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>

#include "hip/find_emulator.h"
#include "nvml/api.h"
#include "nvml/emulated.h"
#include "nvml/rocm_smi.h"
#include "nvml/sysfs.h"
#include "support/targets/target_table.h"

namespace cerberus::nvml {

// Nothing ever happens on it: amdgpu reports no events of NVML's kinds.
struct EventSet {};

namespace {

// NVIDIA's first driver for CUDA 13 is of branch 580; programs look whether it
// is new enough.
constexpr char kDriverVersion[] = "580.00";
constexpr char kNvmlVersion[] = "13.580.00";

std::mutex g_mutex;
std::atomic<int> g_references{0};
bool g_found = false;
bool g_nvidia = false;

std::vector<Gpu>& MutableGpus() {
  static std::vector<Gpu>& gpus = *new std::vector<Gpu>;
  return gpus;
}

// The same choice as the CUDA driver's (runtime-stub/device/provider.h).
void FindGpus() {
  const char* text = std::getenv("CERBERUS_DEVICE");
  const std::string wanted = text != nullptr ? text : "";
  const bool any = wanted.empty() || wanted == "auto";
  if (any || wanted == "hip") {
    MutableGpus() = SysfsGpus();
    FindInRocmSmi(MutableGpus());
    if (!MutableGpus().empty() || !any) return;
  }
  if (any || wanted == "nvidia") {
    g_nvidia = HandOverToNvidia();
    if (g_nvidia || !any) return;
  }
  if (any || wanted == "emulator" || !WantedEmulatorTargets().empty()) {
    MutableGpus() = EmulatedGpus();
  }
}

nvmlReturn_t Init(bool needs_gpu) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (!g_found) FindGpus();
  g_found = true;
  // NVIDIA's library was initialised when it was tried; later calls do not
  // come here.
  if (g_nvidia) return NVML_SUCCESS;
  if (needs_gpu && Gpus().empty()) return NVML_ERROR_DRIVER_NOT_LOADED;
  g_references.fetch_add(1);
  return NVML_SUCCESS;
}

bool SameText(const char* a, const std::string& b) {
  std::size_t i = 0;
  for (; i < b.size() && a[i] != '\0'; ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return i == b.size() && a[i] == '\0';
}

}  // namespace

bool Initialized() { return g_references.load() > 0; }

const std::vector<Gpu>& Gpus() { return MutableGpus(); }

bool IsGpu(nvmlDevice_t device) {
  for (const Gpu& gpu : Gpus()) {
    if (&gpu == device) return true;
  }
  return false;
}

nvmlReturn_t CopyText(const std::string& text, char* out, std::size_t length) {
  if (length <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

std::optional<std::uint64_t> Read(const Gpu& gpu, Metric metric) {
  if (gpu.emulator_index >= 0) return EmulatedRead(gpu, metric);
  if (gpu.smi_index >= 0) {
    if (auto value = RocmSmiRead(gpu, metric)) return value;
  }
  return SysfsRead(gpu, metric);
}

std::vector<Process> ProcessesOn(const Gpu& gpu) {
  if (gpu.emulator_index >= 0) return {};
  return SysfsProcesses(gpu);
}

namespace api {

nvmlReturn_t nvmlInit_v2() { return Init(true); }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  return Init((flags & kInitNoGpus) == 0);
}

nvmlReturn_t nvmlShutdown() {
  int references = g_references.load();
  do {
    if (references == 0) return NVML_ERROR_UNINITIALIZED;
  } while (!g_references.compare_exchange_weak(references, references - 1));
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
#define NVML_ERROR_ROW(name, number, text) \
  case name: return text;
#include "nvml/errors.def"
#undef NVML_ERROR_ROW
  }
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return CopyText(kDriverVersion, text, length);
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  return CopyText(kNvmlVersion, text, length);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  *version = PresentedCudaVersion();
  return NVML_SUCCESS;
}

// The name of the program's file, cut to the caller's room.
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name,
                                      unsigned length) {
  if (length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NVML_ERROR_NOT_FOUND;
  const ssize_t got = read(fd, name, length - 1);
  close(fd);
  name[got > 0 ? got : 0] = '\0';
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned* count) {
  *count = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  *count = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Gpus().size());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index,
                                           nvmlDevice_t* device) {
  if (index >= Gpus().size()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = &Gpus()[index];
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (const Gpu& gpu : Gpus()) {
    if (!SameText(uuid, gpu.uuid)) continue;
    *device = &gpu;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

// "00000000:41:00.0", "0000:41:00.0" and "41:00.0" are one place.
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id,
                                              nvmlDevice_t* device) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
    domain = function = 0;
    if (std::sscanf(bus_id, "%x:%x.%x", &bus, &slot, &function) < 2) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
  }
  for (const Gpu& gpu : Gpus()) {
    if (gpu.domain != domain || gpu.bus != bus || gpu.slot != slot) continue;
    *device = &gpu;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = new EventSet;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  delete set;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t,
                                              unsigned long long* types) {
  *types = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t, unsigned long long types,
                                      nvmlEventSet_t) {
  return types == 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t*,
                                 unsigned milliseconds) {
  timespec left = {static_cast<time_t>(milliseconds / 1000),
                   static_cast<long>(milliseconds % 1000) * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
  return NVML_ERROR_TIMEOUT;
}

}  // namespace api
}  // namespace cerberus::nvml
