// The built libnvidia-ml.so.1, as a program sees it, over a tree of files that
// looks like the kernel's, a fake ROCm SMI, or the fake HIP. Each test opens a
// copy of its own, so each begins before the first nvmlInit.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nvml/api.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::nvml {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// Calls an exported function with the signature of the table.
#define NVML(function) \
  reinterpret_cast<decltype(&api::function)>(Symbol(#function))

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path copy = folder_ / "libnvidia-ml.so.1";
    fs::copy_file(LIBRARY, copy);
    library_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    setenv("CERBERUS_NVML_ROOT", (folder_ / "root").c_str(), 1);
    setenv("CERBERUS_ROCM_SMI", "", 1);
    setenv("CERBERUS_NVIDIA_NVML", "", 1);
    setenv("CERBERUS_EMULATOR", "/nonexistent", 1);
    unsetenv("CERBERUS_DEVICE");
    unsetenv("CERBERUS_CC");
  }

  void* Symbol(const char* name) {
    void* symbol = dlsym(library_, name);
    EXPECT_NE(symbol, nullptr) << name;
    return symbol;
  }

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = folder_ / "root" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  // A CPU; 0000:41:00.0, a Radeon with all sensors; 0001:c3:00.0, an
  // accelerator with the fewer ones of data centres.
  void WriteTree() {
    const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
    Write(nodes + "0/properties", "cpu_cores_count 16\nsimd_count 0");
    Write(nodes + "2/gpu_id", "51140");
    Write(nodes + "2/properties",
          "cpu_cores_count 0\nsimd_count 192\nvendor_id 4098\n"
          "device_id 29772\nlocation_id 16640\ndomain 0\n"
          "drm_render_minor 128\ngfx_target_version 110000\nunique_id 0");
    Write(nodes + "10/gpu_id", "777");
    Write(nodes + "10/properties",
          "simd_count 1216\nvendor_id 4098\ndevice_id 29857\n"
          "location_id 49920\ndomain 1\ndrm_render_minor 130\n"
          "gfx_target_version 90402\nunique_id 81985529216486895");
    Write("usr/share/libdrm/amdgpu.ids",
          "# List of AMDGPU IDs\n1.0.0\n744C,\tC0,\tAnother One\n"
          "744C,\tC8,\tAMD Radeon RX 7900 XTX\n");

    const fs::path pci = "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/";
    Link("sys/class/drm/renderD128/device", pci);
    const auto radeon = [&](const std::string& file, const std::string& text) {
      Write((pci / file).string(), text);
    };
    radeon("revision", "0xc8");
    radeon("class", "0x030000");
    radeon("subsystem_vendor", "0x1eae");
    radeon("subsystem_device", "0x7901");
    radeon("product_name", "not this one");
    radeon("vbios_version", "113-EXT");
    radeon("mem_info_vram_total", "25753026560");
    radeon("mem_info_vram_used", "753026560");
    radeon("mem_info_vis_vram_total", "268435456");
    radeon("mem_info_vis_vram_used", "435456");
    radeon("gpu_busy_percent", "37");
    radeon("mem_busy_percent", "12");
    radeon("hwmon/hwmon5/temp1_input", "51999");
    radeon("hwmon/hwmon5/temp1_crit", "100000");
    radeon("hwmon/hwmon5/temp1_emergency", "105000");
    radeon("hwmon/hwmon5/temp2_input", "60000");
    radeon("hwmon/hwmon5/temp3_input", "64000");
    radeon("hwmon/hwmon5/temp3_crit", "108000");
    radeon("hwmon/hwmon5/pwm1", "64");
    radeon("hwmon/hwmon5/pwm1_max", "255");
    radeon("hwmon/hwmon5/power1_average", "211500000");
    radeon("hwmon/hwmon5/power1_cap", "303000000");
    radeon("hwmon/hwmon5/power1_cap_default", "327000000");
    radeon("hwmon/hwmon5/power1_cap_min", "10000000");
    radeon("hwmon/hwmon5/power1_cap_max", "350000000");
    radeon("hwmon/hwmon5/freq1_input", "2304000000");
    radeon("pp_dpm_sclk", "0: 500Mhz\n1: 2304Mhz *\n2: 2526Mhz");
    radeon("pp_dpm_mclk", "0: 96Mhz *\n1: 1249Mhz");
    radeon("current_link_speed", "16.0 GT/s PCIe");
    radeon("max_link_speed", "32.0 GT/s PCIe");
    radeon("current_link_width", "8");
    radeon("max_link_width", "16");
    radeon("pcie_replay_count", "3");
    radeon("local_cpus", "00000001,80000000,0000ff0f");
    radeon("numa_node", "0");
    radeon("drm/card0/card0-DP-1/status", "connected");
    radeon("drm/card0/card0-DP-1/enabled", "disabled");

    WriteAccelerator();
    const std::string processes = "sys/class/kfd/kfd/proc/";
    Write(processes + "4321/vram_51140", "1048576");
    Write(processes + "4321/vram_777", "0");
    Write(processes + "99/vram_51140", "4096");
  }

  void WriteAccelerator() {
    const fs::path other = "sys/devices/pci0001:c0/0001:c0:01.0/0001:c3:00.0/";
    Link("sys/class/drm/renderD130/device", other);
    const auto accelerator = [&](const std::string& file,
                                 const std::string& text) {
      Write((other / file).string(), text);
    };
    accelerator("revision", "0x00");
    accelerator("product_name", "AMD Instinct MI300X OAM");
    accelerator("serial_number", "692251001124");
    accelerator("mem_info_vram_total", "206141652992");
    accelerator("hwmon/hwmon7/temp2_input", "44000");
    accelerator("hwmon/hwmon7/power1_input", "140000000");
    accelerator("ras/umc_err_count", "ue: 1\nce: 20");
    accelerator("pp_dpm_sclk", "S: 94Mhz *\n0: 500Mhz\n1: 2100Mhz");
    accelerator("numa_node", "1");
  }

  void MeasureMemory(nvmlDevice_t radeon) {
    nvmlMemory_t memory = {};
    EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo)(radeon, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, 25753026560u);
    EXPECT_EQ(memory.used, 753026560u);
    EXPECT_EQ(memory.free, 25000000000u);
    nvmlMemory_v2_t newer = {};
    newer.version = 0x02000028;
    EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(radeon, &newer), NVML_SUCCESS);
    EXPECT_EQ(newer.free, 25000000000u);
    nvmlBAR1Memory_t window = {};
    EXPECT_EQ(NVML(nvmlDeviceGetBAR1MemoryInfo)(radeon, &window), NVML_SUCCESS);
    EXPECT_EQ(window.bar1Free, 268000000u);
  }

  void MeasureClocks(nvmlDevice_t radeon, nvmlDevice_t accelerator) {
    unsigned value = 0;
    struct Clock {
      nvmlDevice_t device;
      unsigned clock, current, highest;
    };
    for (const Clock& clock : {Clock{radeon, kClockSm, 2304, 2526},
                               Clock{radeon, kClockMemory, 96, 1249},
                               Clock{accelerator, kClockGraphics, 94, 2100}}) {
      EXPECT_EQ(NVML(nvmlDeviceGetClockInfo)(clock.device, clock.clock, &value),
                NVML_SUCCESS);
      EXPECT_EQ(value, clock.current);
      EXPECT_EQ(
          NVML(nvmlDeviceGetMaxClockInfo)(clock.device, clock.clock, &value),
          NVML_SUCCESS);
      EXPECT_EQ(value, clock.highest);
    }
  }

  nvmlDevice_t Device(unsigned index) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(index, &device),
              NVML_SUCCESS);
    return device;
  }

  // The one value of a function, or a test failure.
  unsigned Value(nvmlReturn_t (*function)(nvmlDevice_t, unsigned*),
                 nvmlDevice_t device) {
    unsigned value = 0;
    EXPECT_EQ(function(device, &value), NVML_SUCCESS);
    return value;
  }
  std::string Text(nvmlReturn_t (*function)(nvmlDevice_t, char*, unsigned),
                   nvmlDevice_t device) {
    char text[96] = "";
    EXPECT_EQ(function(device, text, sizeof text), NVML_SUCCESS);
    return text;
  }

  const TempFolder temporary_;
  const fs::path folder_ = temporary_.path();
  void* library_ = nullptr;

 private:
  void Link(const fs::path& from, const fs::path& to) {
    const fs::path link = folder_ / "root" / from;
    fs::create_directories(link.parent_path());
    fs::create_directories(folder_ / "root" / to);
    fs::create_directory_symlink(folder_ / "root" / to, link);
  }
};

TEST_F(Nvml, IsUsedBetweenInitAndShutdown) {
  WriteTree();
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlInitWithFlags)(0), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(Nvml, RefusesWhatIsNoHandleNoPointerOrNotInAnAmdGpu) {
  WriteTree();
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(nullptr, &value),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      NVML(nvmlDeviceGetIndex)(reinterpret_cast<const Gpu*>(&value), &value),
      NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(Device(0), nullptr),
            NVML_ERROR_INVALID_ARGUMENT);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(2, &device),
            NVML_ERROR_INVALID_ARGUMENT);
  char name[4];
  EXPECT_EQ(NVML(nvmlDeviceGetName)(Device(0), name, sizeof name),
            NVML_ERROR_INSUFFICIENT_SIZE);
  auto* mig =
      reinterpret_cast<nvmlReturn_t (*)(nvmlDevice_t, unsigned*, unsigned*)>(
          Symbol("nvmlDeviceGetMigMode"));
  EXPECT_EQ(mig(Device(0), &value, &value), NVML_ERROR_NOT_SUPPORTED);
  nvmlMemory_v2_t memory = {};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(Device(0), &memory),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_STREQ(NVML(nvmlErrorString)(NVML_ERROR_NOT_SUPPORTED),
               "Not Supported");
  EXPECT_STREQ(NVML(nvmlErrorString)(static_cast<nvmlReturn_t>(77)),
               "Unknown Error");
}

TEST_F(Nvml, ExportsEveryNameOfTheTable) {
#define NVML_API(name, signature) Symbol(#name);
#define NVML_RAW(result, name, signature) Symbol(#name);
#define NVML_SAME(name, other) Symbol(#name);
#define NVML_NONE(name)                                            \
  EXPECT_EQ(reinterpret_cast<nvmlReturn_t (*)()>(Symbol(#name))(), \
            NVML_ERROR_UNINITIALIZED)                              \
      << #name;
#include "nvml/nvml_api.def"
#undef NVML_NONE
#undef NVML_SAME
#undef NVML_RAW
#undef NVML_API
}

TEST_F(Nvml, DescribesTheGpusInTheKernelsOrder) {
  WriteTree();
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  const nvmlDevice_t radeon = Device(0), accelerator = Device(1);
  EXPECT_EQ(Text(NVML(nvmlDeviceGetName), radeon), "AMD Radeon RX 7900 XTX");
  EXPECT_EQ(Text(NVML(nvmlDeviceGetName), accelerator),
            "AMD Instinct MI300X OAM");
  // The bytes of "AMD-00004100-00" and of "0123456789abcdef".
  EXPECT_EQ(Text(NVML(nvmlDeviceGetUUID), radeon),
            "GPU-414d442d-3030-3030-3431-30302d303000");
  EXPECT_EQ(Text(NVML(nvmlDeviceGetUUID), accelerator),
            "GPU-30313233-3435-3637-3839-616263646566");
  EXPECT_EQ(Value(NVML(nvmlDeviceGetIndex), accelerator), 1u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetMinorNumber), accelerator), 2u);
  EXPECT_EQ(Text(NVML(nvmlDeviceGetVbiosVersion), radeon), "113-EXT");
  EXPECT_EQ(Text(NVML(nvmlDeviceGetSerial), accelerator), "692251001124");
  char serial[30];
  EXPECT_EQ(NVML(nvmlDeviceGetSerial)(radeon, serial, sizeof serial),
            NVML_ERROR_NOT_SUPPORTED);
  int major = 0, minor = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCudaComputeCapability)(radeon, &major, &minor),
            NVML_SUCCESS);
  EXPECT_EQ(major * 10 + minor, 86);

  nvmlPciInfo_t pci = {};
  EXPECT_EQ(NVML(nvmlDeviceGetPciInfo_v3)(accelerator, &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000001:C3:00.0");
  EXPECT_STREQ(pci.busIdLegacy, "0001:C3:00.0");
  EXPECT_EQ(pci.pciDeviceId, 0x74a11002u);
  EXPECT_EQ(NVML(nvmlDeviceGetPciInfo_v3)(radeon, &pci), NVML_SUCCESS);
  EXPECT_EQ(pci.pciSubSystemId, 0x79011eaeu);
  // The oldest structure ends before the board's id.
  nvmlPciInfo_v2_t old = {};
  old.pciSubSystemId = 42;
  EXPECT_EQ(NVML(nvmlDeviceGetPciInfo)(radeon, &old), NVML_SUCCESS);
  EXPECT_STREQ(old.busId, "0000:41:00.0");
  EXPECT_EQ(old.pciSubSystemId, 42u);

  nvmlDevice_t found = nullptr;
  for (const char* id : {"0000:41:00.0", "00000000:41:00.0", "41:00.0"}) {
    found = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)(id, &found), NVML_SUCCESS);
    EXPECT_EQ(found, radeon) << id;
  }
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)("0000:42:00.0", &found),
            NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(
                "GPU-30313233-3435-3637-3839-616263646566", &found),
            NVML_SUCCESS);
  EXPECT_EQ(found, accelerator);

  unsigned level = 0;
  EXPECT_EQ(
      NVML(nvmlDeviceGetTopologyCommonAncestor)(radeon, accelerator, &level),
      NVML_SUCCESS);
  EXPECT_EQ(level, kTopologySystem);
  unsigned long cpus[2] = {};
  EXPECT_EQ(NVML(nvmlDeviceGetCpuAffinity)(radeon, 1, cpus),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(NVML(nvmlDeviceGetCpuAffinity)(radeon, 2, cpus), NVML_SUCCESS);
  EXPECT_THAT(cpus, ElementsAre(0x800000000000ff0f, 1));
  EXPECT_EQ(Value(NVML(nvmlDeviceGetDisplayMode), radeon), kEnabled);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetDisplayActive), radeon), kDisabled);
}

TEST_F(Nvml, MeasuresByTheKernelsFiles) {
  WriteTree();
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  const nvmlDevice_t radeon = Device(0), accelerator = Device(1);
  MeasureMemory(radeon);
  nvmlUtilization_t load = {};
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(radeon, &load), NVML_SUCCESS);
  EXPECT_EQ(load.gpu, 37u);
  EXPECT_EQ(load.memory, 12u);
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(accelerator, &load),
            NVML_ERROR_NOT_SUPPORTED);

  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(radeon, 0, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 51u);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(accelerator, 0, &value),
            NVML_SUCCESS);
  EXPECT_EQ(value, 44u);
  const std::pair<unsigned, unsigned> thresholds[] = {
      {kThresholdShutdown, 105},
      {kThresholdSlowdown, 100},
      {kThresholdMemoryMax, 108},
      {kThresholdGpuMax, 100}};
  for (const auto& [threshold, degrees] : thresholds) {
    EXPECT_EQ(
        NVML(nvmlDeviceGetTemperatureThreshold)(radeon, threshold, &value),
        NVML_SUCCESS);
    EXPECT_EQ(value, degrees) << threshold;
  }
  EXPECT_EQ(Value(NVML(nvmlDeviceGetFanSpeed), radeon), 25u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetNumFans), accelerator), 0u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetPowerUsage), radeon), 211500u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetPowerUsage), accelerator), 140000u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetPowerManagementLimit), radeon), 303000u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetPowerManagementDefaultLimit), radeon),
            327000u);
  unsigned maximum = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetPowerManagementLimitConstraints)(radeon, &value,
                                                               &maximum),
            NVML_SUCCESS);
  EXPECT_EQ(value, 10000u);
  EXPECT_EQ(maximum, 350000u);

  MeasureClocks(radeon, accelerator);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetCurrPcieLinkGeneration), radeon), 4u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetMaxPcieLinkGeneration), radeon), 5u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetCurrPcieLinkWidth), radeon), 8u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetMaxPcieLinkWidth), radeon), 16u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetPcieReplayCounter), radeon), 3u);
  EXPECT_EQ(NVML(nvmlDeviceGetEccMode)(radeon, &value, &maximum),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NVML(nvmlDeviceGetEccMode)(accelerator, &value, &maximum),
            NVML_SUCCESS);
  unsigned long long errors = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTotalEccErrors)(accelerator, 0, 0, &errors),
            NVML_SUCCESS);
  EXPECT_EQ(errors, 20u);

  nvmlFieldValue_t fields[3] = {};
  fields[0].fieldId = kFieldPowerInstant;
  fields[1].fieldId = kFieldMemoryTemperature;
  fields[2].fieldId = 250;
  EXPECT_EQ(NVML(nvmlDeviceGetFieldValues)(radeon, 3, fields), NVML_SUCCESS);
  EXPECT_EQ(fields[0].value.uiVal, 211500u);
  EXPECT_EQ(fields[1].value.uiVal, 64u);
  EXPECT_EQ(fields[2].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(Nvml, ListsTheProcessesThatCompute) {
  WriteTree();
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  const auto list = NVML(nvmlDeviceGetComputeRunningProcesses_v3);
  unsigned count = 0;
  EXPECT_EQ(list(Device(0), &count, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 2u);
  nvmlProcessInfo_t infos[4] = {};
  count = 4;
  EXPECT_EQ(list(Device(0), &count, infos), NVML_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(infos[0].pid, 99u);
  EXPECT_EQ(infos[1].pid, 4321u);
  EXPECT_EQ(infos[1].usedGpuMemory, 1048576u);
  nvmlProcessInfo_v1_t old[2] = {};
  EXPECT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses)(Device(0), &count, old),
            NVML_SUCCESS);
  EXPECT_EQ(old[1].usedGpuMemory, 1048576u);
  count = 0;
  EXPECT_EQ(list(Device(1), &count, nullptr), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
  char name[4096];
  EXPECT_EQ(NVML(nvmlSystemGetProcessName)(static_cast<unsigned>(getpid()),
                                           name, sizeof name),
            NVML_SUCCESS);
  EXPECT_THAT(name, ::testing::HasSubstr("nvml_test"));
}

TEST_F(Nvml, PrefersRocmSmiWhereItAnswers) {
  WriteTree();
  setenv("CERBERUS_ROCM_SMI", FAKE_ROCM_SMI, 1);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  const nvmlDevice_t radeon = Device(0), accelerator = Device(1);
  nvmlMemory_t memory = {};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo)(radeon, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 25753026560u);  // of the kernel
  EXPECT_EQ(memory.used, 1100u);
  nvmlUtilization_t load = {};
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(accelerator, &load),
            NVML_SUCCESS);
  EXPECT_EQ(load.gpu, 70u);
  unsigned value = 0, maximum = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(radeon, 0, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 31u);
  // ROCm SMI numbers a critical temperature 5 and an emergency 7.
  EXPECT_EQ(NVML(nvmlDeviceGetTemperatureThreshold)(radeon, kThresholdShutdown,
                                                    &value),
            NVML_SUCCESS);
  EXPECT_EQ(value, 101u);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperatureThreshold)(radeon, kThresholdMemoryMax,
                                                    &value),
            NVML_SUCCESS);
  EXPECT_EQ(value, 83u);
  EXPECT_EQ(Value(NVML(nvmlDeviceGetFanSpeed), radeon), 25u);
  EXPECT_EQ(NVML(nvmlDeviceGetPowerManagementLimitConstraints)(
                accelerator, &value, &maximum),
            NVML_SUCCESS);
  EXPECT_EQ(value, 90000u);
  EXPECT_EQ(maximum, 900000u);
  unsigned long long energy = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTotalEnergyConsumption)(radeon, &energy),
            NVML_SUCCESS);
  EXPECT_EQ(energy, 6000u);
}

TEST_F(Nvml, ShowsTheEmulatorsDevicesWhereThereIsNoGpu) {
  setenv("CERBERUS_EMULATOR", FAKE_HIP, 1);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const nvmlReturn_t result = NVML(nvmlInit_v2)();
  unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_EQ(result, NVML_SUCCESS);
  EXPECT_EQ(Text(NVML(nvmlDeviceGetName), Device(0)), "Fake GPU 0");
  EXPECT_EQ(Text(NVML(nvmlDeviceGetUUID), Device(0)),
            "GPU-4750552d-3031-3233-3435-363738396161");
  nvmlMemory_t memory = {};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo)(Device(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, std::uint64_t{8} << 30);
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetPowerUsage)(Device(0), &value),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(Nvml, FollowsCerberusDevice) {
  WriteTree();
  setenv("CERBERUS_EMULATOR", FAKE_HIP, 1);
  setenv("CERBERUS_DEVICE", "gfx1100", 1);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  EXPECT_EQ(Text(NVML(nvmlDeviceGetName), Device(0)), "Fake GPU 0");
}

TEST_F(Nvml, HasNoDriverWhereThereIsNothing) {
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
  EXPECT_EQ(NVML(nvmlInitWithFlags)(kInitNoGpus), NVML_SUCCESS);
  unsigned count = 1;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(Nvml, HandsOverToNvidiasLibrary) {
  setenv("CERBERUS_NVIDIA_NVML", FAKE_NVML, 1);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 7u);
}

TEST_F(Nvml, AnEventSetWaitsInVain) {
  WriteTree();
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(Device(0), 8, set),
            NVML_ERROR_NOT_SUPPORTED);
  nvmlEventData_t data = {};
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &data, 1), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), NVML_SUCCESS);
}

}  // namespace
}  // namespace cerberus::nvml
