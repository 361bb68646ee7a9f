// The HSA face, called by AMD's own declarations: agents, packets, signals,
// code.
#include "tests/unit/emulator/hsa_face_test.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cerberus_hsa_test;

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

// A kernel that runs until its flag is set, and what is behind it in its queue.
class HsaRunningKernelTest : public HsaTest {
 protected:
  void SetUp() override {
    HsaTest::SetUp();
    if (HasFatalFailure()) return;
    queue_ = MakeQueue();
    flag_ = Allocate<int>(seen_.kernarg, 1);
    data_ = Allocate<int>(seen_.device, 64);
    *flag_ = 0;
    std::memset(data_, 0, 256);
    running_ = MakeSignal(1);
    const Kernel forever = Find("Forever");
    auto packet =
        Dispatch(forever, Arguments(forever, flag_, 8, 1, 1), 1, 1, running_);
    Put(queue_, &packet);
  }
  void TearDown() override {
    *flag_ = 1;  // it must not hold up the end
    OK(hsa_queue_destroy(queue_));
    HsaTest::TearDown();
  }
  hsa_kernel_dispatch_packet_t AddOne(int* data, std::uint32_t n,
                                      bool barrier_bit, hsa_signal_t done) {
    auto packet =
        Dispatch(Find("AddOne"), AddOneArguments(data, static_cast<int>(n), n),
                 n, static_cast<std::uint16_t>(n), done);
    if (!barrier_bit) packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    return packet;
  }
  void PutBarrier(std::uint16_t type, bool barrier_bit, hsa_signal_t waits_for,
                  hsa_signal_t done) {
    hsa_barrier_and_packet_t barrier = {};
    barrier.header = static_cast<std::uint16_t>(
        type | (barrier_bit ? 1 << HSA_PACKET_HEADER_BARRIER : 0));
    barrier.dep_signal[2] = waits_for;
    barrier.completion_signal = done;
    Put(queue_, &barrier);
  }

  static constexpr std::uint64_t kMoment = 20000000;
  hsa_queue_t* queue_ = nullptr;
  int* flag_ = nullptr;
  int* data_ = nullptr;
  hsa_signal_t running_ = {};
};

TEST_F(HsaRunningKernelTest, EndsByOneBehindIt) {
  const hsa_signal_t done = MakeSignal(1);
  const auto packet = AddOne(flag_, 1, false, done);
  Put(queue_, &packet);
  EXPECT_EQ(WaitFor(done), 0);
  EXPECT_EQ(WaitFor(running_), 0);
}

// The doorbell is memory, too.
TEST_F(HsaRunningKernelTest, EndsByOneThatNoDoorbellTells) {
  const auto packet = AddOne(flag_, 1, false, {});
  const std::uint64_t at = hsa_queue_add_write_index_relaxed(queue_, 1);
  std::memcpy(static_cast<char*>(queue_->base_address) + 64 * at + 2,
              reinterpret_cast<const char*>(&packet) + 2, 62);
  __atomic_store_n(static_cast<std::uint16_t*>(queue_->base_address) + 32 * at,
                   packet.header, __ATOMIC_RELEASE);
  EXPECT_EQ(WaitFor(running_), 0);
}

TEST_F(HsaRunningKernelTest, HoldsUpPacketsWithTheBarrierBit) {
  const hsa_signal_t done = MakeSignal(2);
  const auto packet = AddOne(data_, 64, true, done);
  const auto behind = AddOne(data_, 64, false, done);
  Put(queue_, &packet);
  Put(queue_, &behind);  // begins behind the other one
  EXPECT_EQ(WaitFor(done, kMoment), 2);
  EXPECT_EQ(data_[63], 0);
  *flag_ = 1;
  EXPECT_EQ(WaitFor(done), 0);
  EXPECT_EQ(data_[63], 2);
}

TEST_F(HsaRunningKernelTest, HoldsUpBarriersWithTheBarrierBit) {
  for (const bool barrier_bit : {false, true}) {
    for (const std::uint16_t type :
         {HSA_PACKET_TYPE_BARRIER_AND, HSA_PACKET_TYPE_BARRIER_OR}) {
      const hsa_signal_t gate = MakeSignal(1), open = MakeSignal(1),
                         done = MakeSignal(1);
      PutBarrier(type, barrier_bit, gate, open);
      const auto packet = AddOne(data_, 64, false, done);
      Put(queue_, &packet);
      EXPECT_EQ(WaitFor(open, kMoment), 1);
      hsa_signal_store_screlease(gate, 0);
      if (barrier_bit) {
        EXPECT_EQ(WaitFor(open, kMoment), 1);
        EXPECT_EQ(WaitFor(done, kMoment), 1);  // nor what is behind it
        break;
      }
      EXPECT_EQ(WaitFor(open), 0);
      EXPECT_EQ(WaitFor(done), 0);
      EXPECT_EQ(hsa_signal_load_relaxed(running_), 1);
    }
  }
  *flag_ = 1;
  EXPECT_EQ(WaitFor(running_), 0);
}

// Its place is not the program's before it has ended, nor are those behind it.
TEST_F(HsaRunningKernelTest, KeepsItsPlaceInAFullQueue) {
  const std::uint32_t size = queue_->size;
  const hsa_signal_t done = MakeSignal(size - 1);
  const auto packet = AddOne(data_, 64, false, done);
  for (std::uint32_t i = 1; i < size; ++i) Put(queue_, &packet);
  EXPECT_EQ(WaitFor(done), 0);
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue_), 0u);
  *flag_ = 1;
  ASSERT_EQ(WaitFor(running_), 0);
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue_), size);
  const hsa_signal_t again = MakeSignal(3 * size);
  const auto next = AddOne(data_, 64, true, again);
  for (std::uint32_t i = 0; i < 3 * size; ++i) Put(queue_, &next);
  EXPECT_EQ(WaitFor(again), 0);
}

TEST_F(HsaRunningKernelTest, ComesToItsEndInAQueueWithAnError) {
  hsa_kernel_dispatch_packet_t wrong = {};
  wrong.header = HSA_PACKET_TYPE_AGENT_DISPATCH;
  Put(queue_, &wrong);
  for (int i = 0; i < 2000 && queue_error == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(queue_error, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

// Kernels that add to the same word, some with the barrier bit, from two
// threads.
TEST_F(HsaTest, PacketsWithAndWithoutTheBarrierBit) {
  const int rounds = 2000;
  int* const data = Allocate<int>(seen_.device, 1);
  *data = 0;
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(2 * rounds);
  const Kernel kernel = Find("AtomicAt");
  auto packet =
      Dispatch(kernel, Arguments(kernel, data, 8, 32, 32), 32, 32, done);
  const auto work = [&](int every) {
    auto mine = packet;
    for (int r = 0; r < rounds; ++r) {
      mine.header = static_cast<std::uint16_t>(
          HSA_PACKET_TYPE_KERNEL_DISPATCH |
          (r % every == 0 ? 1 << HSA_PACKET_HEADER_BARRIER : 0));
      Put(queue, &mine);
    }
  };
  std::thread other(work, 7);
  work(16);
  other.join();
  ASSERT_EQ(WaitFor(done, 100000000000), 0);
  EXPECT_EQ(*data, 2 * rounds * 32);
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue), 2u * rounds);
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

// 100,000 dispatches and copies that wait for them, in four queues from two
// threads.
TEST_F(HsaTest, DispatchesAndCopiesInTurns) {
  struct Line {
    int *from = nullptr, *to = nullptr;
    void* arguments = nullptr;
    hsa_signal_t dispatched = {}, copied = {};
  };
  constexpr int kQueues = 4, kThreads = 2, kItems = 64;
  constexpr int kRounds = 100000 / 2 / (kQueues * kThreads);
  const Kernel kernel = Find("AddOne");
  hsa_queue_t* queues[kQueues];
  for (hsa_queue_t*& queue : queues) queue = MakeQueue();
  Line lines[kThreads][kQueues];
  for (auto& of_thread : lines) {
    for (Line& line : of_thread) {
      line.from = Allocate<int>(seen_.device, kItems);
      line.to = Allocate<int>(seen_.kernarg, kItems);
      std::memset(line.from, 0, 4 * kItems);
      line.arguments = AddOneArguments(line.from, kItems, 64);
      line.dispatched = MakeSignal(0);
      line.copied = MakeSignal(0);
    }
  }
  std::atomic<int> wrong{0};
  const auto work = [&](Line* of_thread) {
    for (int r = 0; r <= kRounds; ++r) {
      for (int i = 0; i < kQueues; ++i) {
        Line& line = of_thread[i];
        if (WaitFor(line.copied) != 0) ++wrong;
        for (int k = 0; r != 0 && k < kItems; ++k) wrong += line.to[k] != r;
        if (r == kRounds) continue;
        hsa_signal_store_relaxed(line.dispatched, 1);
        hsa_signal_store_relaxed(line.copied, 1);
        const auto packet =
            Dispatch(kernel, line.arguments, kItems, 64, line.dispatched);
        Put(queues[i], &packet);
        wrong += hsa_amd_memory_async_copy(line.to, seen_.host, line.from, gpu_,
                                           4 * kItems, 1, &line.dispatched,
                                           line.copied) != HSA_STATUS_SUCCESS;
      }
    }
  };
  std::thread other(work, lines[1]);
  work(lines[0]);
  other.join();
  EXPECT_EQ(wrong, 0);
  for (hsa_queue_t* queue : queues) OK(hsa_queue_destroy(queue));
}

// What sleeps is woken by a doorbell, and otherwise hardly ever.
TEST_F(HsaTest, EmptyQueuesSleep) {
  const auto wakings = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  hsa_queue_t* queues[8];
  for (hsa_queue_t*& queue : queues) queue = MakeQueue();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const long before = wakings();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  // A thread for each, once or twice; every 5 ms it would be 100 times.
  EXPECT_LT(wakings() - before, 8 * 10);
  int* const data = Allocate<int>(seen_.device, 64);
  std::memset(data, 0, 256);
  for (hsa_queue_t* queue : queues) {
    const hsa_signal_t done = MakeSignal(1);
    const auto packet =
        Dispatch(Find("AddOne"), AddOneArguments(data, 64, 64), 64, 64, done);
    Put(queue, &packet);
    ASSERT_EQ(WaitFor(done), 0);
    OK(hsa_queue_destroy(queue));
  }
  EXPECT_EQ(data[63], 8);
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

TEST_F(HsaTest, TheCallbackMayDestroyTheQueue) {
  static std::atomic<int> destroyed;
  destroyed = -1;
  hsa_queue_t* queue = nullptr;
  const auto destroy = [](hsa_status_t, hsa_queue_t* q, void*) {
    destroyed = static_cast<int>(hsa_queue_destroy(q));
  };
  OK(hsa_queue_create(gpu_, 64, HSA_QUEUE_TYPE_MULTI, destroy, nullptr, ~0u,
                      ~0u, &queue));
  hsa_kernel_dispatch_packet_t packet = {};
  packet.header = HSA_PACKET_TYPE_AGENT_DISPATCH;
  Put(queue, &packet);
  for (int i = 0; i < 2000 && destroyed == -1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(destroyed, 0);
}

// Addresses in packets that are none of signals are not followed.
TEST_F(HsaTest, PacketsWithWildSignalsEndTheQueue) {
  const hsa_signal_t good = MakeSignal(1);
  for (int where = 0; where < 4; ++where) {
    hsa_queue_t* const queue = MakeQueue();
    hsa_barrier_and_packet_t barrier = {};
    barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
    hsa_amd_barrier_value_packet_t value = {};
    value.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
    value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    value.cond = HSA_SIGNAL_CONDITION_EQ;
    queue_error = 0;
    switch (where) {
      case 0: barrier.completion_signal = {0x1000}; break;
      case 1: barrier.dep_signal[4] = {~std::uint64_t{63}}; break;
      case 2: barrier.completion_signal = {good.handle + 8}; break;
      default: value.signal = {64}; break;
    }
    if (where == 3) Put(queue, &value);
    else Put(queue, &barrier);
    for (int i = 0; i < 2000 && queue_error == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(queue_error, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT) << where;
    OK(hsa_queue_destroy(queue));
  }
}

// What runs comes to its end; what is behind it does not begin.
TEST_F(HsaTest, AQueueIsDestroyedWhileAKernelRuns) {
  const int n = 64;
  int* const data = Allocate<int>(seen_.device, n);
  std::memset(data, 0, 4 * n);
  hsa_queue_t* const queue = MakeQueue();
  const Kernel kernel = Find("AddOne");
  for (int i = 0; i < 60; ++i) {
    const auto packet =
        Dispatch(kernel, AddOneArguments(data, n, 64), n, 64, {});
    Put(queue, &packet);
  }
  OK(hsa_queue_destroy(queue));
  const int times = data[0];
  EXPECT_LE(times, 60);
  for (int i = 0; i < n; ++i) EXPECT_EQ(data[i], times);
}

TEST_F(HsaTest, AForkedProcessHasNoGpu) {
  hsa_queue_t* const queue = MakeQueue();
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t now = 0;
    const bool right =
        hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now) ==
            HSA_STATUS_ERROR_NOT_INITIALIZED &&
        hsa_queue_destroy(queue) == HSA_STATUS_ERROR_NOT_INITIALIZED &&
        hsa_init() == HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The parent goes on.
  int* const data = Allocate<int>(seen_.device, 64);
  const hsa_signal_t done = MakeSignal(1);
  const auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(data, 64, 64), 64, 64, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
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

// Locks of pieces of the same pages, in any order.
// HIP unlocks what it has copied from long after the program has freed it.
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

// HIP 5.7 looks for each kernel in this way, and stops at it.
TEST_F(HsaTest, SymbolsAreThoseThatHaveNames) {
  std::vector<std::uint64_t> all, again;
  const auto add = [](hsa_executable_t, hsa_executable_symbol_t symbol,
                      void* to) {
    static_cast<std::vector<std::uint64_t>*>(to)->push_back(symbol.handle);
    return HSA_STATUS_SUCCESS;
  };
  OK(hsa_executable_iterate_symbols(executable_, add, &all));
  OK(hsa_executable_iterate_symbols(executable_, add, &again));
  EXPECT_EQ(all, again);
  for (const char* name : {"AddOne.kd", "Only64.kd", "g_value", "g_constant"}) {
    hsa_executable_symbol_t symbol = {};
    OK(hsa_executable_get_symbol_by_name(executable_, name, &gpu_, &symbol));
    EXPECT_EQ(std::count(all.begin(), all.end(), symbol.handle), 1) << name;
  }
  int calls = 0;
  const auto stop = [](hsa_executable_t, hsa_executable_symbol_t, void* count) {
    return ++*static_cast<int*>(count) == 2 ? HSA_STATUS_INFO_BREAK
                                            : HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(hsa_executable_iterate_symbols(executable_, stop, &calls),
            HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(calls, 2);
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

}  // namespace
