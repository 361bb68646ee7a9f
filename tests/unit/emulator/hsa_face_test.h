// What the tests of the HSA face share: agents, kernels, packets.
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_HSA_FACE_TEST_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_HSA_FACE_TEST_H_

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace cerberus_hsa_test {

#define OK(call) ASSERT_EQ((call), HSA_STATUS_SUCCESS)

struct Seen {
  std::vector<hsa_agent_t> gpus;
  hsa_agent_t host = {};
  hsa_amd_memory_pool_t kernarg = {}, device = {};
};

inline hsa_status_t SeeAgent(hsa_agent_t agent, void* data) {
  auto* const seen = static_cast<Seen*>(data);
  hsa_device_type_t type = HSA_DEVICE_TYPE_DSP;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_GPU) seen->gpus.push_back(agent);
  else seen->host = agent;
  return HSA_STATUS_SUCCESS;
}

template <std::uint32_t flag, hsa_amd_memory_pool_t Seen::* where>
hsa_status_t SeePool(hsa_amd_memory_pool_t pool, void* data) {
  std::uint32_t flags = 0;
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_PRIVATE;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
                               &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
                               &flags);
  if ((flags & flag) != 0) static_cast<Seen*>(data)->*where = pool;
  return HSA_STATUS_SUCCESS;
}

// What a queue's or the system's callback was told.
inline std::atomic<int> queue_error{0};
inline std::atomic<std::uint64_t> fault_address{0};

inline void OnQueueError(hsa_status_t status, hsa_queue_t*, void*) {
  queue_error = static_cast<int>(status);
}
inline hsa_status_t OnEvent(const hsa_amd_event_t* event, void*) {
  fault_address = event->memory_fault.virtual_address;
  return HSA_STATUS_SUCCESS;
}

struct Kernel {
  std::uint64_t object = 0;
  std::uint32_t kernarg = 0, group = 0, scratch = 0;
};

class HsaTest : public testing::Test {
 protected:
  void SetUp() override {
    OK(hsa_init());
    OK(hsa_iterate_agents(SeeAgent, &seen_));
    ASSERT_EQ(seen_.gpus.size(), 2u);
    gpu_ = seen_.gpus[0];
    OK(hsa_amd_agent_iterate_memory_pools(
        seen_.host,
        SeePool<HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, &Seen::kernarg>,
        &seen_));
    OK(hsa_amd_agent_iterate_memory_pools(
        gpu_,
        SeePool<HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, &Seen::device>,
        &seen_));
    std::ifstream file(KERNELS, std::ios::binary);
    code_.assign(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(code_.empty());
    OK(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(),
                                                 &reader_));
    OK(hsa_executable_create_alt(HSA_PROFILE_BASE,
                                 HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr,
                                 &executable_));
    OK(hsa_executable_load_agent_code_object(executable_, gpu_, reader_,
                                             nullptr, nullptr));
    OK(hsa_executable_freeze(executable_, nullptr));
    queue_error = 0;
    fault_address = 0;
  }
  void TearDown() override {
    hsa_executable_destroy(executable_);
    hsa_code_object_reader_destroy(reader_);
    hsa_shut_down();
  }

  Kernel Find(const std::string& name) {
    Kernel k;
    hsa_executable_symbol_t symbol = {};
    EXPECT_EQ(hsa_executable_get_symbol_by_name(
                  executable_, (name + ".kd").c_str(), &gpu_, &symbol),
              HSA_STATUS_SUCCESS);
    const auto get = [&](hsa_executable_symbol_info_t what, void* to) {
      EXPECT_EQ(hsa_executable_symbol_get_info(symbol, what, to),
                HSA_STATUS_SUCCESS);
    };
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.kernarg);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.group);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.scratch);
    return k;
  }
  template <typename T>
  T* Allocate(hsa_amd_memory_pool_t pool, std::size_t count) {
    void* at = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &at),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu_, nullptr, at),
              HSA_STATUS_SUCCESS);
    return static_cast<T*>(at);
  }
  hsa_queue_t* MakeQueue(std::uint32_t size = 64) {
    hsa_queue_t* queue = nullptr;
    EXPECT_EQ(hsa_queue_create(gpu_, size, HSA_QUEUE_TYPE_MULTI, OnQueueError,
                               nullptr, ~0u, ~0u, &queue),
              HSA_STATUS_SUCCESS);
    return queue;
  }
  hsa_signal_t MakeSignal(hsa_signal_value_t value) {
    hsa_signal_t signal = {};
    EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &signal),
              HSA_STATUS_SUCCESS);
    return signal;
  }
  // Takes a place in the queue, waiting for one, and fills it: the header
  // last, then the doorbell.
  static void Put(hsa_queue_t* queue, const void* packet) {
    const std::uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);
    while (at - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
      std::this_thread::yield();
    }
    auto* const to =
        static_cast<char*>(queue->base_address) + 64 * (at % queue->size);
    std::memcpy(to + 4, static_cast<const char*>(packet) + 4, 60);
    std::uint32_t first = 0;
    std::memcpy(&first, packet, 4);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), first,
                     __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal,
                               static_cast<hsa_signal_value_t>(at));
  }
  static hsa_kernel_dispatch_packet_t Dispatch(const Kernel& kernel,
                                               void* kernarg,
                                               std::uint32_t items,
                                               std::uint16_t group,
                                               hsa_signal_t completion) {
    hsa_kernel_dispatch_packet_t p = {};
    p.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER;
    p.setup = 1;
    p.workgroup_size_x = group;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = items;
    p.grid_size_y = p.grid_size_z = 1;
    p.group_segment_size = kernel.group;
    p.private_segment_size = kernel.scratch;
    p.kernel_object = kernel.object;
    p.kernarg_address = kernarg;
    p.completion_signal = completion;
    return p;
  }
  static hsa_signal_value_t WaitFor(hsa_signal_t signal,
                                    std::uint64_t timeout = 20000000000) {
    return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1,
                                     timeout, HSA_WAIT_STATE_BLOCKED);
  }
  std::uint8_t* AddOneArguments(int* data, int n, std::uint32_t group) {
    std::uint8_t* const bytes = Arguments(Find("AddOne"), data, 16, n, group);
    std::memcpy(bytes + 8, &n, 4);
    return bytes;
  }
  // Arguments that begin with a pointer; code objects of version 5 and later
  // want the sizes of groups and grid from `hidden` on.
  std::uint8_t* Arguments(const Kernel& k, int* data, std::size_t hidden, int n,
                          std::uint32_t group) {
    auto* const bytes = Allocate<std::uint8_t>(seen_.kernarg, k.kernarg);
    std::memset(bytes, 0, k.kernarg);
    std::memcpy(bytes, &data, 8);
    const std::uint32_t blocks =
        (static_cast<std::uint32_t>(n) + group - 1) / group;
    const std::uint32_t counts[3] = {blocks, 1, 1};
    const std::uint16_t sizes[3] = {static_cast<std::uint16_t>(group), 1, 1};
    std::memcpy(bytes + hidden, counts, 12);
    std::memcpy(bytes + hidden + 12, sizes, 6);
    return bytes;
  }

  Seen seen_;
  hsa_agent_t gpu_ = {};
  std::vector<char> code_;
  hsa_code_object_reader_t reader_ = {};
  hsa_executable_t executable_ = {};
};

}  // namespace cerberus_hsa_test

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_HSA_FACE_TEST_H_
