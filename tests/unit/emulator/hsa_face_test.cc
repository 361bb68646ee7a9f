// The HSA face, called by AMD's own declarations: packets, signals, memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

#define OK(call) ASSERT_EQ((call), HSA_STATUS_SUCCESS)

struct Seen {
  std::vector<hsa_agent_t> gpus;
  hsa_agent_t host = {};
  hsa_amd_memory_pool_t kernarg = {}, device = {};
};

hsa_status_t SeeAgent(hsa_agent_t agent, void* data) {
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
std::atomic<int> queue_error{0};
std::atomic<std::uint64_t> fault_address{0};

void OnQueueError(hsa_status_t status, hsa_queue_t*, void*) {
  queue_error = static_cast<int>(status);
}
hsa_status_t OnEvent(const hsa_amd_event_t* event, void*) {
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

TEST(HsaInit, NothingAnswersBefore) {
  std::uint64_t now = 0;
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now),
            HSA_STATUS_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  const char* text = nullptr;
  OK(hsa_status_string(HSA_STATUS_ERROR_INVALID_QUEUE, &text));
  EXPECT_EQ(std::string(text).rfind("HSA_STATUS_ERROR_INVALID_QUEUE: ", 0), 0u);
}

// What AMD's HIP runtimes 5.2.3 to 6.4.3 import.
TEST(HsaInit, EverySymbolIsThere) {
  std::ifstream names(HSA_SYMBOLS);
  std::string name;
  int count = 0;
  while (names >> name) {
    EXPECT_NE(dlvsym(RTLD_DEFAULT, name.c_str(), "ROCR_1"), nullptr) << name;
    ++count;
  }
  EXPECT_GE(count, 90);
}

TEST_F(HsaTest, AgentsSayWhatTheyAre) {
  char name[64] = {};
  OK(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_NAME, name));
  EXPECT_STREQ(name, "gfx1100");
  OK(hsa_agent_get_info(seen_.gpus[1], HSA_AGENT_INFO_NAME, name));
  EXPECT_STREQ(name, "gfx90a");
  const auto see = [](hsa_isa_t isa, void* to) {
    std::uint32_t length = 0;
    hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);
    std::vector<char> text(length);
    hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, text.data());
    *static_cast<std::string*>(to) = text.data();
    return HSA_STATUS_SUCCESS;
  };
  std::string isa;
  OK(hsa_agent_iterate_isas(seen_.gpus[1], see, &isa));
  EXPECT_EQ(isa, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  std::uint32_t wave = 0;
  OK(hsa_agent_get_info(seen_.gpus[1], HSA_AGENT_INFO_WAVEFRONT_SIZE, &wave));
  EXPECT_EQ(wave, 64u);
  EXPECT_EQ(hsa_agent_get_info({1}, HSA_AGENT_INFO_NAME, name),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(
      hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(0xbad), name),
      HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(HsaTest, ADispatchRunsAndTellsItsTime) {
  const int n = 1000;
  int* const data = Allocate<int>(seen_.device, n);
  for (int i = 0; i < n; ++i) data[i] = 3 * i;
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(data, n, 64), n, 64, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  for (int i = 0; i < n; ++i) ASSERT_EQ(data[i], 3 * i + 1);
  hsa_amd_profiling_dispatch_time_t time = {};
  OK(hsa_amd_profiling_get_dispatch_time(gpu_, done, &time));
  std::uint64_t now = 0;
  OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
  EXPECT_LT(time.start, time.end);
  EXPECT_LE(time.end, now);
  OK(hsa_queue_destroy(queue));
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_ERROR_INVALID_QUEUE);
}

// The kernel's metadata say 64; the hardware does not know of it.
TEST_F(HsaTest, AGroupMayBeLargerThanTheKernelSays) {
  const int n = 1024;
  int* const data = Allocate<int>(seen_.device, n);
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  const Kernel kernel = Find("Only64");
  auto packet =
      Dispatch(kernel, Arguments(kernel, data, 8, n, 512), n, 512, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  for (int i = 0; i < n; ++i) ASSERT_EQ(data[i], i);
  OK(hsa_queue_destroy(queue));
}

// HIP's own kernels fill __constant__ variables.
TEST_F(HsaTest, KernelsMayWriteConstants) {
  hsa_executable_symbol_t symbol = {};
  OK(hsa_executable_get_symbol_by_name(executable_, "g_constant", &gpu_,
                                       &symbol));
  int* constant = nullptr;
  OK(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &constant));
  EXPECT_EQ(*constant, 11);
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(constant, 1, 32), 1, 32, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  EXPECT_EQ(*constant, 12);
  OK(hsa_queue_destroy(queue));
}

// ROCm's malloc in kernels takes 2 MiB, and finds them by their address.
TEST_F(HsaTest, LargeMemoryIsAligned) {
  constexpr std::size_t kLarge = 2 << 20;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(Allocate<char>(seen_.device, kLarge)) %
            kLarge,
        0u);
  }
}

TEST_F(HsaTest, GpusHaveUnitsAndImagesAsAmdsRuntimeCountsThem) {
  std::uint32_t units = 0, size[3] = {};
  // Two in each that HIP counts; on gfx90a HIP counts the same.
  OK(hsa_agent_get_info(
      gpu_,
      static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
      &units));
  EXPECT_EQ(units, 96u);
  OK(hsa_agent_get_info(
      seen_.gpus[1],
      static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
      &units));
  EXPECT_EQ(units, 104u);
  OK(hsa_agent_get_info(
      gpu_,
      static_cast<hsa_agent_info_t>(HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS),
      size));
  EXPECT_EQ(size[0], 16384u);
  EXPECT_EQ(size[2], 8192u);
  OK(hsa_agent_get_info(
      seen_.host,
      static_cast<hsa_agent_info_t>(HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS),
      size));
  EXPECT_EQ(size[0], 0u);
  bool has = false;
  OK(hsa_system_extension_supported(HSA_EXTENSION_IMAGES, 1, 0, &has));
  EXPECT_TRUE(has);
  hsa_ext_image_t image = {};
  hsa_ext_image_descriptor_t what = {};
  EXPECT_NE(
      hsa_ext_image_create(gpu_, &what, &has, HSA_ACCESS_PERMISSION_RO, &image),
      HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, BarriersAndCopiesWaitForSignals) {
  const int n = 256;
  int* const data = Allocate<int>(seen_.device, n);
  std::vector<int> from(n, 5), to(n, 0);
  const hsa_signal_t gate = MakeSignal(1), copied = MakeSignal(1),
                     added = MakeSignal(1), back = MakeSignal(1);
  OK(hsa_amd_memory_async_copy(data, gpu_, from.data(), seen_.host, 4 * n, 1,
                               &gate, copied));
  hsa_queue_t* const queue = MakeQueue();
  hsa_barrier_and_packet_t barrier = {};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
  barrier.dep_signal[1] = copied;
  Put(queue, &barrier);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(data, n, 32), n, 32, added);
  Put(queue, &packet);
  OK(hsa_amd_memory_async_copy(to.data(), seen_.host, data, gpu_, 4 * n, 1,
                               &added, back));
  EXPECT_EQ(WaitFor(back, 20000000), 1);  // nothing moves yet
  EXPECT_EQ(to[0], 0);
  hsa_signal_store_screlease(gate, 0);
  ASSERT_EQ(WaitFor(back), 0);
  EXPECT_EQ(to, std::vector<int>(n, 6));
  OK(hsa_queue_destroy(queue));
}

TEST_F(HsaTest, OneOfSeveralSignalsOpensABarrierOr) {
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t never = MakeSignal(1), gate = MakeSignal(1),
                     open = MakeSignal(1);
  hsa_barrier_or_packet_t barrier = {};
  barrier.header = HSA_PACKET_TYPE_BARRIER_OR;
  barrier.dep_signal[0] = never;
  barrier.dep_signal[4] = gate;
  barrier.completion_signal = open;
  Put(queue, &barrier);
  EXPECT_EQ(WaitFor(open, 20000000), 1);
  hsa_signal_subtract_relaxed(gate, 1);
  EXPECT_EQ(WaitFor(open), 0);
  OK(hsa_queue_destroy(queue));
}

TEST_F(HsaTest, ABarrierValueComparesUnderItsMask) {
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t watched = MakeSignal(0x10), open = MakeSignal(1);
  hsa_amd_barrier_value_packet_t packet = {};
  packet.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  packet.signal = watched;
  packet.value = 3;
  packet.mask = 0xf;
  packet.cond = HSA_SIGNAL_CONDITION_GTE;
  packet.completion_signal = open;
  Put(queue, &packet);
  EXPECT_EQ(WaitFor(open, 20000000), 1);
  hsa_signal_store_relaxed(watched, 0x23);
  EXPECT_EQ(WaitFor(open), 0);
  OK(hsa_queue_destroy(queue));
}

// More packets than the queues hold, from two threads.
TEST_F(HsaTest, FullQueuesOnTwoThreads) {
  const int n = 64, rounds = 1500;
  int* const data = Allocate<int>(seen_.device, 4 * n);
  std::memset(data, 0, 16 * n);
  const Kernel kernel = Find("AddOne");
  hsa_queue_t* queues[4];
  void* arguments[4];
  hsa_signal_t done[4];
  for (int i = 0; i < 4; ++i) {
    queues[i] = MakeQueue();
    arguments[i] = AddOneArguments(data + i * n, n, 64);
    done[i] = MakeSignal(2 * rounds);
  }
  const auto work = [&] {
    for (int r = 0; r < rounds; ++r) {
      for (int i = 0; i < 4; ++i) {
        const auto packet = Dispatch(kernel, arguments[i], n, 64, done[i]);
        Put(queues[i], &packet);
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(WaitFor(done[i], 100000000000), 0);
  for (int i = 0; i < 4 * n; ++i) ASSERT_EQ(data[i], 2 * rounds) << i;
  for (hsa_queue_t* queue : queues) OK(hsa_queue_destroy(queue));
}

TEST_F(HsaTest, MemoryThatWasNotGrantedIsAFault) {
  OK(hsa_amd_register_system_event_handler(OnEvent, nullptr));
  const int n = 64;
  void* at = nullptr;
  OK(hsa_amd_memory_pool_allocate(seen_.kernarg, 4 * n, 0, &at));
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(static_cast<int*>(at), n, 64), n,
               64, done);
  Put(queue, &packet);
  for (int i = 0; i < 2000 && queue_error == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(queue_error, HSA_STATUS_ERROR_MEMORY_FAULT);
  EXPECT_EQ(fault_address, reinterpret_cast<std::uint64_t>(at));
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1);
  OK(hsa_queue_destroy(queue));
  // With access it is right, in a new queue.
  OK(hsa_amd_agents_allow_access(1, &gpu_, nullptr, at));
  hsa_queue_t* const again = MakeQueue();
  Put(again, &packet);
  EXPECT_EQ(WaitFor(done), 0);
  EXPECT_EQ(static_cast<int*>(at)[n - 1], 1);
  OK(hsa_queue_destroy(again));
}

TEST_F(HsaTest, PacketsThatAreNoneEndTheQueue) {
  hsa_queue_t* const queue = MakeQueue();
  hsa_kernel_dispatch_packet_t packet = {};
  packet.header = HSA_PACKET_TYPE_AGENT_DISPATCH;
  Put(queue, &packet);
  for (int i = 0; i < 2000 && queue_error == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(queue_error, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  OK(hsa_queue_destroy(queue));
}

// Work that waits for ever does not hold up the end of its queue.
TEST_F(HsaTest, AQueueEndsWithWorkInIt) {
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t never = MakeSignal(1);
  hsa_barrier_and_packet_t barrier = {};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
  barrier.dep_signal[0] = never;
  Put(queue, &barrier);
  OK(hsa_queue_destroy(queue));
}

TEST_F(HsaTest, HandlersRunUntilTheyHaveEnough) {
  const hsa_signal_t signal = MakeSignal(10);
  static std::atomic<int> calls;
  calls = 0;
  const auto handler = [](hsa_signal_value_t, void* data) {
    auto* const s = static_cast<hsa_signal_t*>(data);
    ++calls;
    hsa_signal_add_relaxed(*s, 1);
    return calls < 3;
  };
  hsa_signal_t handed = signal;
  OK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_GTE, 11, handler,
                                  &handed));
  EXPECT_EQ(calls, 0);
  hsa_signal_store_screlease(signal, 11);
  EXPECT_EQ(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 14,
                                      10000000000, HSA_WAIT_STATE_ACTIVE),
            14);
  EXPECT_EQ(calls, 3);
}

TEST_F(HsaTest, PointersTellWhatTheyLeadTo) {
  auto* const bytes = Allocate<char>(seen_.device, 5000);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  OK(hsa_amd_pointer_info(bytes + 100, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info.agentBaseAddress, bytes);
  EXPECT_EQ(info.sizeInBytes, 5000u);
  EXPECT_EQ(info.agentOwner.handle, gpu_.handle);
  OK(hsa_amd_memory_pool_free(bytes));
  OK(hsa_amd_pointer_info(bytes, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

// Locks of pieces of the same pages, in any order.
TEST_F(HsaTest, LocksOverlap) {
  const std::size_t page = 4096;
  auto* const map =
      static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* at = nullptr;
  OK(hsa_amd_memory_lock(map + 100, page, &gpu_, 1, &at));
  EXPECT_EQ(at, map + 100);
  OK(hsa_amd_memory_lock(map + page + 200, 2 * page, &gpu_, 1, &at));
  OK(hsa_amd_memory_unlock(map + 100));
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto* const data = reinterpret_cast<int*>(map + page + 200);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(data, 64, 64), 64, 64, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  EXPECT_EQ(data[63], 1);
  OK(hsa_queue_destroy(queue));
  OK(hsa_amd_memory_unlock(map + page + 200));
  EXPECT_EQ(hsa_amd_memory_unlock(map + page + 200),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  munmap(map, 4 * page);
}

// HIP unlocks what it has copied from long after the program has freed it.
TEST_F(HsaTest, LockedMemoryThatIsGoneMakesRoom) {
  constexpr std::size_t kSize = 1 << 20, kPage = 4096;
  for (const hsa_amd_memory_pool_t pool : {seen_.kernarg, seen_.device}) {
    void* const own = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(own, MAP_FAILED);
    void* locked = nullptr;
    OK(hsa_amd_memory_lock(own, kSize, nullptr, 0, &locked));
    munmap(own, kSize);
    // Takes the place of a part of it, page by page.
    const auto first = reinterpret_cast<std::uintptr_t>(own);
    int* inside = nullptr;
    for (int i = 0; i < 1000 && inside == nullptr; ++i) {
      int* const at = Allocate<int>(pool, 64);
      const std::uintptr_t into = reinterpret_cast<std::uintptr_t>(at) - first;
      if (into >= kPage && into < kSize - kPage) inside = at;
    }
    ASSERT_NE(inside, nullptr);
    OK(hsa_amd_memory_unlock(own));
    inside[0] = 1;
    hsa_queue_t* const queue = MakeQueue();
    const hsa_signal_t done = MakeSignal(1);
    auto packet =
        Dispatch(Find("AddOne"), AddOneArguments(inside, 64, 64), 64, 64, done);
    Put(queue, &packet);
    ASSERT_EQ(WaitFor(done), 0);
    EXPECT_EQ(inside[0], 2);
    OK(hsa_queue_destroy(queue));
  }
}

TEST_F(HsaTest, VariablesAreFound) {
  hsa_executable_symbol_t symbol = {};
  OK(hsa_executable_get_symbol_by_name(executable_, "g_value", &gpu_, &symbol));
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_KERNEL;
  OK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE,
                                    &kind));
  EXPECT_EQ(kind, HSA_SYMBOL_KIND_VARIABLE);
  std::uint32_t size = 0;
  OK(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size));
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(hsa_executable_get_symbol_by_name(executable_, "nothing.kd", &gpu_,
                                              &symbol),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
}

TEST_F(HsaTest, CodeForAnotherGpuIsRefused) {
  hsa_executable_t executable = {};
  OK(hsa_executable_create_alt(HSA_PROFILE_BASE,
                               HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr,
                               &executable));
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, seen_.gpus[1],
                                                  reader_, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  OK(hsa_executable_destroy(executable));
}

TEST_F(HsaTest, RectanglesAreCopied) {
  std::vector<char> from(64, 0), to(64, 9);
  for (int i = 0; i < 64; ++i) from[static_cast<std::size_t>(i)] = char(i);
  const hsa_pitched_ptr_t a = {from.data(), 8, 32}, b = {to.data(), 16, 32};
  const hsa_dim3_t a0 = {1, 1, 0}, b0 = {2, 0, 0}, range = {3, 2, 2};
  const hsa_signal_t done = MakeSignal(1);
  OK(hsa_amd_memory_async_copy_rect(&b, &b0, &a, &a0, &range, gpu_,
                                    hsaHostToHost, 0, nullptr, done));
  ASSERT_EQ(WaitFor(done), 0);
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 16; ++x) {
        const std::size_t wanted =
            x >= 2 && x < 5 ? z * 32 + (y + 1) * 8 + (x - 2) + 1 : 9;
        EXPECT_EQ(static_cast<std::size_t>(to[z * 32 + y * 16 + x]), wanted)
            << x << " " << y << " " << z;
      }
    }
  }
}

}  // namespace
