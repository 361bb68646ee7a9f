// A librocm_smi64 that knows two GPUs, in the opposite order of KFD's, and has
// values that no file of the test's tree has. It lacks the fan's functions, as
// some version may lack any.
#include <cstdint>

#define FAKE extern "C" __attribute__((visibility("default"))) int

namespace {
constexpr int kNotSupported = 2;
}

FAKE rsmi_init(std::uint64_t) { return 0; }
FAKE rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = 2;
  return 0;
}
FAKE rsmi_dev_pci_id_get(std::uint32_t gpu, std::uint64_t* id) {
  // 0001:c3:00.0, with a partition's number, and 0000:41:00.0
  *id = gpu == 0 ? 0x1'0000'0000 | 0x1000'0000 | 0xc300 : 0x4100;
  return 0;
}
FAKE rsmi_dev_memory_total_get(std::uint32_t, unsigned, std::uint64_t*) {
  return kNotSupported;
}
FAKE rsmi_dev_memory_usage_get(std::uint32_t gpu, unsigned type,
                               std::uint64_t* bytes) {
  *bytes = 1000 + 100 * gpu + type;
  return 0;
}
FAKE rsmi_dev_busy_percent_get(std::uint32_t gpu, std::uint32_t* percent) {
  *percent = 70 + gpu;
  return 0;
}
FAKE rsmi_dev_temp_metric_get(std::uint32_t gpu, std::uint32_t sensor,
                              unsigned metric, std::int64_t* value) {
  *value = 1000 * (10 * metric + sensor + 30 + gpu);
  return 0;
}
FAKE rsmi_dev_power_cap_range_get(std::uint32_t, std::uint32_t,
                                  std::uint64_t* max, std::uint64_t* min) {
  *max = 900'000'000;
  *min = 90'000'000;
  return 0;
}
FAKE rsmi_dev_energy_count_get(std::uint32_t, std::uint64_t* count,
                               float* resolution, std::uint64_t* time) {
  *count = 4'000'000;
  *resolution = 1.5f;
  *time = 1;
  return 0;
}
