// What is done again and again leaves nothing behind, and may be done in many
// threads at once. CERBERUS_TEST_CYCLES and CERBERUS_TEST_LAUNCHES make the
// runs longer than a test may be.
#include <dirent.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "emulated.h"
#include "sequences.h"

namespace cerberus::stub {
namespace {

int Setting(const char* name, int normal) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : normal;
}

// What the process holds: bytes of the heap, open files.
struct Held {
  std::size_t bytes = 0;
  int files = 0;

  static Held Now() {
    Held held;
    const struct mallinfo2 heap = mallinfo2();
    held.bytes = heap.uordblks + heap.hblkhd;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) ++held.files;
    closedir(folder);
    return held;
  }
};

// Less than a byte per cycle, and what threads keep for themselves.
void ExpectNoMore(const Held& before, int cycles) {
  constexpr std::size_t kSlack = 256 * 1024;
  const Held after = Held::Now();
  EXPECT_LT(after.bytes, before.bytes + kSlack + cycles);
  EXPECT_EQ(after.files, before.files);
}

class EnduranceTest : public EmulatedTest,
                      public ::testing::WithParamInterface<Sequence> {};

TEST_P(EnduranceTest, LeavesNothingBehind) {
  const int cycles = Setting("CERBERUS_TEST_CYCLES", 1000);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
  }
  const Held before = Held::Now();
  for (int i = 0; i < cycles; ++i) {
    ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS) << i;
  }
  ExpectNoMore(before, cycles);
}

INSTANTIATE_TEST_SUITE_P(Endurance, EnduranceTest,
                         ::testing::ValuesIn(Sequences().begin(),
                                             Sequences().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

using Endurance = EmulatedTest;

TEST_F(Endurance, Launches) {
  const int launches = Setting("CERBERUS_TEST_LAUNCHES", 20000);
  CUdeviceptr ints = Ints(0);
  int by = 1;
  void* params[] = {&ints, &by};
  const CUfunction function = Add();
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      // What waits is held too.
      if (i % 1000 == 0) CU(cuCtxSynchronize)();
      ASSERT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, kThreads, 1, 1, 0,
                                   nullptr, params, nullptr),
                CUDA_SUCCESS);
    }
    ASSERT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  };
  launch(1000);
  const Held before = Held::Now();
  launch(launches);
  ExpectNoMore(before, 0);
  EXPECT_EQ(ValueOf(ints), launches + 1000);
  EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
}

TEST_F(Endurance, AllSequencesInThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (const Sequence& sequence : Sequences()) {
    threads.emplace_back([this, &sequence] {
      EXPECT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(RunSequence(sequence, AddPtx()), CUDA_SUCCESS)
            << sequence.name;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Two programs' worth of threads on the same module.
TEST_F(Endurance, OneModuleInThreads) {
  CUmodule module = nullptr;
  ASSERT_EQ(CU(cuModuleLoadData)(&module, AddPtx()), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t, module, &good] {
      CUcontext context = nullptr;
      EXPECT_EQ(CU(cuDevicePrimaryCtxRetain)(&context, t % 2), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
      CUfunction function = nullptr;
      EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "add"),
                CUDA_SUCCESS);
      CUdeviceptr ints = Ints(t);
      int by = 100;
      void* params[] = {&ints, &by};
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, kThreads, 1, 1, 0,
                                     nullptr, params, nullptr),
                  CUDA_SUCCESS);
      }
      if (ValueOf(ints) == t + 1000) ++good;
      EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuDevicePrimaryCtxRelease_v2)(t % 2), CUDA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cerberus::stub
