// What a dispatch costs by a packet in a queue of the HSA face, and by a launch
// of the emulator's HIP face: the same kernel of one wave, thousands in a row,
// in turns. Prints the medians in microseconds, and what the packet costs more.
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

#include "hip/hip_abi.h"

namespace {

constexpr int kDispatches = 4000, kRounds = 31, kItems = 32;

#define REQUIRE(condition)                                                  \
  if (!(condition)) {                                                       \
    std::fprintf(stderr, "aql_bench: line %d: %s\n", __LINE__, #condition); \
    std::exit(1);                                                           \
  }

double MicrosecondsOf(const std::function<void()>& dispatches) {
  const auto begin = std::chrono::steady_clock::now();
  dispatches();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - begin)
             .count() /
         kDispatches;
}

// --- by the HIP face ---

class ByHip {
 public:
  explicit ByHip(const std::vector<char>& code) {
    void* const library = dlopen(HIP_FACE, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    const auto find = [library](const char* name, auto* function) {
      void* const address = dlsym(library, name);
      REQUIRE(address != nullptr);
      *function =
          reinterpret_cast<std::remove_reference_t<decltype(*function)>>(
              address);
    };
    hipError_t (*load)(hipModule_t*, const void*) = nullptr;
    hipError_t (*get)(hipFunction_t*, hipModule_t, const char*) = nullptr;
    hipError_t (*allocate)(void**, std::size_t) = nullptr;
    find("hipModuleLoadData", &load);
    find("hipModuleGetFunction", &get);
    find("hipMalloc", &allocate);
    find("hipModuleLaunchKernel", &launch_);
    find("hipDeviceSynchronize", &wait_);
    hipModule_t module = nullptr;
    REQUIRE(load(&module, code.data()) == hipSuccess);
    REQUIRE(get(&function_, module, "AddOne") == hipSuccess);
    REQUIRE(allocate(&data_, 4 * kItems) == hipSuccess);
  }
  void Run() {
    int n = kItems;
    void* arguments[] = {&data_, &n};
    for (int i = 0; i < kDispatches; ++i) {
      REQUIRE(launch_(function_, 1, 1, 1, kItems, 1, 1, 0, nullptr, arguments,
                      nullptr) == hipSuccess);
    }
    REQUIRE(wait_() == hipSuccess);
  }

 private:
  hipError_t (*launch_)(hipFunction_t, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, hipStream_t, void**,
                        void**) = nullptr;
  hipError_t (*wait_)() = nullptr;
  hipFunction_t function_ = nullptr;
  void* data_ = nullptr;
};

// --- by the HSA face ---

struct Places {
  hsa_agent_t gpu = {};
  hsa_amd_memory_pool_t memory = {};  // the host's
};
hsa_status_t SeePool(hsa_amd_memory_pool_t pool, void* places) {
  static_cast<Places*>(places)->memory = pool;
  return HSA_STATUS_INFO_BREAK;
}
hsa_status_t SeeAgent(hsa_agent_t agent, void* places) {
  hsa_device_type_t type = HSA_DEVICE_TYPE_DSP;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_GPU) static_cast<Places*>(places)->gpu = agent;
  else hsa_amd_agent_iterate_memory_pools(agent, SeePool, places);
  return HSA_STATUS_SUCCESS;
}

class ByHsa {
 public:
  explicit ByHsa(const std::vector<char>& code) {
    REQUIRE(hsa_init() == HSA_STATUS_SUCCESS);
    Places places;
    hsa_iterate_agents(SeeAgent, &places);
    hsa_code_object_reader_t reader = {};
    hsa_executable_t executable = {};
    hsa_executable_symbol_t symbol = {};
    hsa_code_object_reader_create_from_memory(code.data(), code.size(),
                                              &reader);
    hsa_executable_create_alt(HSA_PROFILE_BASE,
                              HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr,
                              &executable);
    hsa_executable_load_agent_code_object(executable, places.gpu, reader,
                                          nullptr, nullptr);
    hsa_executable_freeze(executable, nullptr);
    REQUIRE(hsa_executable_get_symbol_by_name(executable, "AddOne.kd",
                                              &places.gpu,
                                              &symbol) == HSA_STATUS_SUCCESS);
    hsa_executable_symbol_get_info(symbol,
                                   HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                   &packet_.kernel_object);
    void* memory = nullptr;
    hsa_amd_memory_pool_allocate(places.memory, 4096, 0, &memory);
    hsa_amd_agents_allow_access(1, &places.gpu, nullptr, memory);
    auto* const arguments = static_cast<std::uint8_t*>(memory);
    void* const data = arguments + 2048;
    const std::int32_t n = kItems;
    const std::uint32_t counts[3] = {1, 1, 1};
    const std::uint16_t sizes[3] = {kItems, 1, 1};
    std::memset(memory, 0, 4096);
    std::memcpy(arguments, &data, 8);
    std::memcpy(arguments + 8, &n, 4);
    std::memcpy(arguments + 16, counts, 12);
    std::memcpy(arguments + 28, sizes, 6);
    packet_.setup = 1;
    packet_.workgroup_size_x = packet_.grid_size_x = kItems;
    packet_.workgroup_size_y = packet_.workgroup_size_z = 1;
    packet_.grid_size_y = packet_.grid_size_z = 1;
    packet_.kernarg_address = arguments;
    REQUIRE(hsa_queue_create(places.gpu, 1024, HSA_QUEUE_TYPE_MULTI, nullptr,
                             nullptr, ~0u, ~0u, &queue_) == HSA_STATUS_SUCCESS);
    hsa_signal_create(0, 0, nullptr, &packet_.completion_signal);
  }
  void Run() {
    hsa_signal_store_relaxed(packet_.completion_signal, kDispatches);
    for (int i = 0; i < kDispatches; ++i) Put();
    hsa_signal_wait_scacquire(packet_.completion_signal,
                              HSA_SIGNAL_CONDITION_LT, 1, ~std::uint64_t{0},
                              HSA_WAIT_STATE_BLOCKED);
  }

 private:
  void Put() {
    constexpr std::uint16_t kHeader =
        HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER;
    const std::uint64_t at = hsa_queue_add_write_index_relaxed(queue_, 1);
    while (at - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size) {
    }
    auto* const to =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) +
        at % queue_->size;
    std::memcpy(&to->setup, &packet_.setup, sizeof packet_ - 2);
    __atomic_store_n(&to->header, kHeader, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal,
                               static_cast<hsa_signal_value_t>(at));
  }

  hsa_kernel_dispatch_packet_t packet_ = {};
  hsa_queue_t* queue_ = nullptr;
};

double Median(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  return (*values)[values->size() / 2];
}

}  // namespace

int main() {
  setenv("CERBERUS_EMU_TARGETS", "gfx1100", 1);
  std::ifstream file(KERNELS, std::ios::binary);
  const std::vector<char> code(std::istreambuf_iterator<char>(file), {});
  ByHip by_hip(code);
  ByHsa by_hsa(code);
  std::vector<double> hip, hsa;
  for (int round = 0; round < kRounds; ++round) {
    hip.push_back(MicrosecondsOf([&] { by_hip.Run(); }));
    hsa.push_back(MicrosecondsOf([&] { by_hsa.Run(); }));
  }
  const double launch = Median(&hip), packet = Median(&hsa);
  std::printf(
      "| a launch by HIP | a packet | more |\n| --- | --- | --- |\n"
      "| %.1f us | %.1f us | %.1f us |\n",
      launch, packet, packet - launch);
}
