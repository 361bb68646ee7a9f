#include "nvml/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "hip/visible_devices.h"
#include "support/targets/target_id.h"

namespace cerberus::nvml {
namespace {

constexpr const char* kMetricFiles[] = {
#define NVML_METRIC(name, file) file,
#include "nvml/metrics.def"
#undef NVML_METRIC
};

constexpr char kKfd[] = "/sys/class/kfd/kfd";
constexpr unsigned kFirstRenderMinor = 128;

std::string Root() {
  const char* root = secure_getenv("CERBERUS_NVML_ROOT");
  return root != nullptr ? root : "";
}

std::optional<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  // A sensor that sleeps answers with an error.
  if (got < 0) return std::nullopt;
  text.erase(text.find_last_not_of(" \n\t") + 1);
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> NumberIn(const std::optional<std::string>& text,
                                      int base) {
  if (!text) return std::nullopt;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text->c_str(), &end, base);
  if (end == text->c_str()) return std::nullopt;
  return value;
}

unsigned HexFile(const std::string& path) {
  return static_cast<unsigned>(NumberIn(ReadFile(path), 16).value_or(0));
}

// The names in a folder, the numbers among them in their order.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) {
              const long x = std::atol(a.c_str()), y = std::atol(b.c_str());
              return x != y ? x < y : a < b;
            });
  return names;
}

// A node's `properties`: lines of a name and a number.
std::map<std::string, std::uint64_t> PropertiesOf(const std::string& node) {
  std::map<std::string, std::uint64_t> values;
  const std::string text = ReadFile(node + "/properties").value_or("");
  const char* line = text.c_str();
  while (line != nullptr && *line != '\0') {
    char name[64];
    unsigned long long value = 0;
    if (std::sscanf(line, "%63s %llu", name, &value) == 2) values[name] = value;
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return values;
}

// What HIP calls the GPU: libdrm's list has lines "744C, C8, NAME".
std::optional<std::string> MarketingName(const Gpu& gpu) {
  const std::string text =
      ReadFile(Root() + "/usr/share/libdrm/amdgpu.ids").value_or("");
  const unsigned revision = HexFile(gpu.folder + "/revision");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    unsigned device = 0, its_revision = 0;
    int name = 0;
    if (std::sscanf(line.c_str(), "%x, %x, %n", &device, &its_revision,
                    &name) == 2 &&
        device == gpu.device && its_revision == revision && name > 0) {
      return line.substr(static_cast<std::size_t>(name));
    }
  }
  return std::nullopt;
}

// HIP gives the 16 digits of the chip's id as a UUID's bytes; chips without
// one are told apart by their place.
std::string UuidOf(const Gpu& gpu, std::uint64_t chip) {
  if (chip == 0) {
    return UuidText(UuidOfPlace(static_cast<int>(gpu.domain),
                                static_cast<int>(gpu.bus),
                                static_cast<int>(gpu.slot), gpu.index));
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(chip));
  CUuuid uuid;
  std::memcpy(uuid.bytes, digits, sizeof uuid.bytes);
  return UuidText(uuid);
}

}  // namespace

std::vector<Gpu> SysfsGpus() {
  std::vector<Gpu> gpus;
  const std::string nodes = Root() + kKfd + "/topology/nodes";
  for (const std::string& number : NamesIn(nodes)) {
    const std::string node = nodes + "/" + number;
    std::map<std::string, std::uint64_t> properties = PropertiesOf(node);
    if (properties["simd_count"] == 0) continue;  // a CPU, or not ours to use
    Gpu gpu;
    gpu.index = static_cast<int>(gpus.size());
    gpu.kfd_id = NumberIn(ReadFile(node + "/gpu_id"), 10).value_or(0);
    const auto render = static_cast<unsigned>(properties["drm_render_minor"]);
    gpu.minor = render >= kFirstRenderMinor ? render - kFirstRenderMinor : 0;
    gpu.folder =
        Root() + "/sys/class/drm/renderD" + std::to_string(render) + "/device";
    gpu.domain = static_cast<unsigned>(properties["domain"]);
    const auto location = static_cast<unsigned>(properties["location_id"]);
    gpu.bus = location >> 8 & 0xff;
    gpu.slot = location >> 3 & 0x1f;
    gpu.function = location & 7;
    gpu.vendor = static_cast<unsigned>(properties["vendor_id"]);
    gpu.device = static_cast<unsigned>(properties["device_id"]);
    gpu.board_vendor = HexFile(gpu.folder + "/subsystem_vendor");
    gpu.board = HexFile(gpu.folder + "/subsystem_device");
    const std::string processor =
        ProcessorOfVersion(properties["gfx_target_version"]);
    gpu.cc = ComputeCapabilityOf(processor);
    const std::vector<std::string> sensors = NamesIn(gpu.folder + "/hwmon");
    if (!sensors.empty()) {
      gpu.sensors = gpu.folder + "/hwmon/" + sensors.front();
    }
    std::optional<std::string> name = MarketingName(gpu);
    if (!name) name = SysfsText(gpu, "product_name");
    gpu.name = name.value_or("AMD " + processor);
    gpu.uuid = UuidOf(gpu, properties["unique_id"]);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::optional<std::uint64_t> SysfsRead(const Gpu& gpu, Metric metric) {
  constexpr char kSensors[] = "hwmon/";
  const char* file = kMetricFiles[static_cast<int>(metric)];
  if (std::strncmp(file, kSensors, sizeof kSensors - 1) == 0) {
    if (gpu.sensors.empty()) return std::nullopt;
    return NumberIn(ReadFile(gpu.sensors + (file + sizeof kSensors - 2)), 10);
  }
  return NumberIn(SysfsText(gpu, file), 10);
}

std::vector<Process> SysfsProcesses(const Gpu& gpu) {
  std::vector<Process> processes;
  const std::string folder = Root() + kKfd + "/proc";
  for (const std::string& pid : NamesIn(folder)) {
    const std::optional<std::uint64_t> bytes = NumberIn(
        ReadFile(folder + "/" + pid + "/vram_" + std::to_string(gpu.kfd_id)),
        10);
    // KFD lists a process for every GPU that ROCm opened in it.
    if (!bytes || *bytes == 0) continue;
    processes.push_back(
        {static_cast<unsigned>(std::atol(pid.c_str())), *bytes});
  }
  return processes;
}

std::optional<std::string> SysfsText(const Gpu& gpu, const char* file) {
  if (gpu.folder.empty()) return std::nullopt;
  return ReadFile(gpu.folder + "/" + file);
}

std::optional<ClockLevels> SysfsClock(const Gpu& gpu, const char* file) {
  const std::optional<std::string> text = SysfsText(gpu, file);
  if (!text) return std::nullopt;
  // Lines "1: 2304Mhz *"; the star is at the level in use.
  ClockLevels levels;
  const char* line = text->c_str();
  while (line != nullptr) {
    unsigned megahertz = 0;
    char level[8], mark[2] = "";
    if (std::sscanf(line, "%7[^:]: %u%*[MmHhZz] %1[*]", level, &megahertz,
                    mark) >= 2) {
      levels.highest = std::max(levels.highest, megahertz);
      if (mark[0] == '*') levels.current = megahertz;
    }
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  if (levels.highest == 0) return std::nullopt;
  return levels;
}

bool AnyConnectorSays(const Gpu& gpu, const char* file, const char* value) {
  const std::string drm = gpu.folder + "/drm";
  for (const std::string& card : NamesIn(drm)) {
    if (card.compare(0, 4, "card") != 0) continue;
    for (const std::string& name : NamesIn(drm + "/" + card)) {
      if (name.compare(0, card.size() + 1, card + "-") == 0 &&
          ReadFile(drm + "/" + card + "/" + name + "/" + file) == value) {
        return true;
      }
    }
  }
  return false;
}

std::string SysfsRealFolder(const Gpu& gpu) {
  char* real = realpath(gpu.folder.c_str(), nullptr);
  std::string folder = real != nullptr ? real : "";
  std::free(real);
  return folder;
}

}  // namespace cerberus::nvml
