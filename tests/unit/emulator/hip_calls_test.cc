// Launches by structures and on several devices, compressed modules, memory
// operations of streams, the per-thread default stream, functions by name.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

// Before the first call, which reads it.
[[maybe_unused]] const int kTargets =
    setenv("CERBERUS_EMU_TARGETS", "gfx1100,gfx942", 1);

class HipCalls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    ASSERT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
    void* memory = nullptr;
    ASSERT_EQ(hipMallocManaged(&memory, 4096, hipMemAttachGlobal), hipSuccess);
    data_ = static_cast<int*>(memory);
  }
  void TearDown() override {
    for (int device : {1, 0}) {
      EXPECT_EQ(hipSetDevice(device), hipSuccess);
      EXPECT_EQ(hipDeviceReset(), hipSuccess);
    }
  }
  hipFunction_t Function(hipModule_t module, const char* name) {
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, module, name), hipSuccess);
    return function;
  }

  hipModule_t module_ = nullptr;
  int* data_ = nullptr;
};

TEST_F(HipCalls, BundlesThatClangCompressed) {
  for (const char* version : {"2", "3"}) {
    for (int device = 0; device < 2; ++device) {
      ASSERT_EQ(hipSetDevice(device), hipSuccess);
      hipModule_t module = nullptr;
      const std::string path =
          std::string(KERNELS_BUNDLE) + version + ".bundle";
      ASSERT_EQ(hipModuleLoad(&module, path.c_str()), hipSuccess) << path;
      data_[0] = 41;
      int count = 1;
      void* params[] = {&data_, &count};
      ASSERT_EQ(hipModuleLaunchKernel(Function(module, "AddOne"), 1, 1, 1, 64,
                                      1, 1, 0, nullptr, params, nullptr),
                hipSuccess);
      ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
      EXPECT_EQ(data_[0], 42);
    }
  }
}

TEST_F(HipCalls, LaunchesByStructures) {
  int count = 100;
  void* params[] = {&data_, &count};
  hipFunction_t add_one = Function(module_, "AddOne");
  hipLaunchAttribute attribute = {};
  attribute.id = hipLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  hipLaunchConfig_t config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, &attribute, 1};
  ASSERT_EQ(hipLaunchKernelExC(&config, add_one, params), hipSuccess);
  HIP_LAUNCH_CONFIG driver = {2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, 0};
  ASSERT_EQ(hipDrvLaunchKernelEx(&driver, add_one, params, nullptr),
            hipSuccess);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(data_[0], 2);
  EXPECT_EQ(data_[99], 2);
  EXPECT_EQ(data_[100], 0);
  // More workgroups than can be resident: only without the attribute.
  config.gridDim.x = 1 << 20;
  EXPECT_EQ(hipLaunchKernelExC(&config, add_one, params),
            hipErrorCooperativeLaunchTooLarge);
  attribute.id = 999;
  EXPECT_EQ(hipLaunchKernelExC(&config, add_one, params), hipErrorInvalidValue);
  config.attrs = nullptr;
  EXPECT_EQ(hipLaunchKernelExC(&config, add_one, params), hipErrorInvalidValue);
  EXPECT_EQ(hipLaunchKernelExC(nullptr, add_one, params), hipErrorInvalidValue);
  EXPECT_EQ(hipDrvLaunchKernelEx(&driver, nullptr, params, nullptr),
            hipErrorInvalidHandle);
}

TEST_F(HipCalls, OneLaunchOnTwoDevices) {
  hipFunctionLaunchParams list[2] = {};
  hipStream_t streams[2];
  int count = 32;
  int* data[2] = {data_, data_ + 512};
  void* params[2][2] = {{&data[0], &count}, {&data[1], &count}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(hipSetDevice(i), hipSuccess);
    hipModule_t module = module_;
    if (i == 1) {
      ASSERT_EQ(hipModuleLoad(&module, KERNELS_OTHER_TARGET), hipSuccess);
    }
    ASSERT_EQ(hipStreamCreateWithFlags(&streams[i], 0), hipSuccess);
    list[i] = {Function(module, "AddOne"),
               1,
               1,
               1,
               64,
               1,
               1,
               0,
               streams[i],
               params[i]};
  }
  ASSERT_EQ(hipModuleLaunchCooperativeKernelMultiDevice(list, 2, 0),
            hipSuccess);
  // Work behind it on either stream comes after both grids.
  ASSERT_EQ(hipStreamSynchronize(streams[0]), hipSuccess);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(streams[1]), hipSuccess);
  EXPECT_EQ(data[0][31], 1);
  EXPECT_EQ(data[1][31], 1);
  EXPECT_EQ(data[1][32], 0);
  list[1] = list[0];  // twice the same device
  EXPECT_EQ(hipModuleLaunchCooperativeKernelMultiDevice(list, 2, 0),
            hipErrorInvalidValue);
  EXPECT_EQ(hipModuleLaunchCooperativeKernelMultiDevice(list, 1, 4),
            hipErrorInvalidValue);
  EXPECT_EQ(hipModuleLaunchCooperativeKernelMultiDevice(list, 0, 0),
            hipErrorInvalidValue);
}

TEST_F(HipCalls, ABatchOfMemoryOperations) {
  auto* words = reinterpret_cast<std::uint64_t*>(data_);
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
            hipSuccess);
  const auto op = [](std::uint32_t operation, void* address,
                     std::uint64_t value) {
    hipStreamBatchMemOpParams p = {};
    p.value = {operation, address, value, 1, nullptr};  // waits: equal
    return p;
  };
  hipStreamBatchMemOpParams list[] = {
      op(hipStreamMemOpWriteValue32, &words[0], 0xffff00000007u),
      op(hipStreamMemOpBarrier, nullptr, 0),
      op(hipStreamMemOpWaitValue32, &words[1], 5),
      op(hipStreamMemOpWriteValue64, &words[2], 0x123456789abcu),
      op(hipStreamMemOpWaitValue64, &words[2], 0x123456789abcu),
  };
  ASSERT_EQ(hipStreamBatchMemOp(stream, 5, list, 0), hipSuccess);
  while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(words[0], 7u);  // 32 bits of it
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  EXPECT_EQ(words[2], 0u);
  __atomic_store_n(&words[1], 5, __ATOMIC_RELEASE);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(words[2], 0x123456789abcu);
  list[0].operation = 77;
  EXPECT_EQ(hipStreamBatchMemOp(stream, 1, list, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamBatchMemOp(stream, 0, list, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamBatchMemOp(stream, 1, list, 1), hipErrorInvalidValue);
}

TEST_F(HipCalls, PriorityOfAStreamAsAnAttribute) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&stream, 0, -1), hipSuccess);
  hipLaunchAttributeValue value = {};
  ASSERT_EQ(hipStreamGetAttribute(stream, hipLaunchAttributePriority, &value),
            hipSuccess);
  EXPECT_EQ(value.priority, -1);
  EXPECT_EQ(hipStreamGetAttribute(stream, 77, &value), hipErrorInvalidValue);
}

// A null stream in a call of that name is the thread's own, which another
// thread's work does not hold up.
TEST_F(HipCalls, DefaultStreamsOfThreads) {
  static std::atomic<bool> held;
  held = true;
  hipStream_t blocked = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&blocked, hipStreamNonBlocking),
            hipSuccess);
  std::thread other([] {
    ASSERT_EQ(hipLaunchHostFunc_spt(
                  nullptr,
                  [](void*) {
                    while (held) std::this_thread::yield();
                  },
                  nullptr),
              hipSuccess);
    EXPECT_EQ(hipStreamQuery_spt(nullptr), hipErrorNotReady);
  });
  other.join();
  ASSERT_EQ(hipMemsetAsync_spt(data_, 1, 4, nullptr), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize_spt(nullptr), hipSuccess);
  EXPECT_EQ(data_[0], 0x01010101);
  EXPECT_EQ(hipStreamQuery_spt(nullptr), hipSuccess);
  held = false;
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST_F(HipCalls, FunctionsByTheirNames) {
  void* function = nullptr;
  std::uint32_t status = 9;
  ASSERT_EQ(hipGetProcAddress("hipMalloc", &function, 70000000, 0, &status),
            hipSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&hipMalloc));
  EXPECT_EQ(status, 0u);
  ASSERT_EQ(
      hipGetProcAddress("hipStreamQuery", &function, 70000000, 2, &status),
      hipSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&hipStreamQuery_spt));
  ASSERT_EQ(hipGetProcAddress("hipMalloc", &function, 70000000, 2, &status),
            hipSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&hipMalloc));
  ASSERT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, 70000000, 0,
                              nullptr),
            hipSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&hipGetDevicePropertiesR0600));
  EXPECT_EQ(
      hipGetProcAddress("hipNoSuchThing", &function, 70000000, 0, &status),
      hipErrorNotFound);
  EXPECT_EQ(status, 1u);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(hipGetProcAddress("malloc", &function, 70000000, 0, &status),
            hipErrorNotFound);
  EXPECT_EQ(hipGetProcAddress("hipMalloc", nullptr, 0, 0, nullptr),
            hipErrorInvalidValue);
}

// Advice holds for the bytes it was given for, and a question about a range
// is answered by what all of it has in common.
TEST_F(HipCalls, AdviceIsRemembered) {
  char* const bytes = reinterpret_cast<char*>(data_);
  const auto ask = [&](std::uint32_t attribute, std::size_t at,
                       std::size_t size) {
    int value = 99;
    EXPECT_EQ(hipMemRangeGetAttribute(&value, sizeof value, attribute,
                                      bytes + at, size),
              hipSuccess);
    return value;
  };
  EXPECT_EQ(ask(1, 0, 4096), 0);
  EXPECT_EQ(ask(2, 0, 4096), -2);
  ASSERT_EQ(hipMemAdvise(bytes + 1024, 2048, 1, 0), hipSuccess);
  EXPECT_EQ(ask(1, 1024, 2048), 1);
  EXPECT_EQ(ask(1, 1000, 2048), 0);
  EXPECT_EQ(ask(1, 2000, 8), 1);
  ASSERT_EQ(hipMemAdvise(bytes + 2048, 1024, 2, 0), hipSuccess);
  EXPECT_EQ(ask(1, 1024, 1024), 1);
  EXPECT_EQ(ask(1, 2048, 1024), 0);
  ASSERT_EQ(hipMemAdvise(bytes, 4096, 3, 1), hipSuccess);
  EXPECT_EQ(ask(2, 0, 4096), 1);
  ASSERT_EQ(hipMemAdvise(bytes, 16, 3, -1), hipSuccess);
  EXPECT_EQ(ask(2, 0, 16), -1);
  EXPECT_EQ(ask(2, 0, 4096), -2);
  ASSERT_EQ(hipMemAdvise(bytes, 4096, 5, 0), hipSuccess);
  ASSERT_EQ(hipMemAdvise(bytes, 2048, 5, 1), hipSuccess);
  int devices[3] = {9, 9, 9};
  ASSERT_EQ(hipMemRangeGetAttribute(devices, sizeof devices, 3, bytes, 2048),
            hipSuccess);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], 1);
  EXPECT_EQ(devices[2], -2);
  ASSERT_EQ(hipMemRangeGetAttribute(devices, sizeof devices, 3, bytes, 4096),
            hipSuccess);
  EXPECT_EQ(devices[1], -2);
  ASSERT_EQ(hipMemPrefetchAsync(bytes, 4096, 1, nullptr), hipSuccess);
  EXPECT_EQ(ask(4, 0, 4096), 1);
  ASSERT_EQ(hipMemAdvise(bytes, 64, 100, 0), hipSuccess);
  EXPECT_EQ(ask(100, 0, 64), 1);
  EXPECT_EQ(ask(100, 64, 64), 0);
  EXPECT_EQ(ask(100, 0, 128), 2);

  int value = 0;
  EXPECT_EQ(hipMemRangeGetAttribute(&value, 4, 5, bytes, 64),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemRangeGetAttribute(&value, 2, 1, bytes, 64),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemAdvise(bytes, 4097, 1, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemAdvise(bytes, 64, 7, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemAdvise(bytes, 64, 3, 5), hipErrorInvalidDevice);
  EXPECT_EQ(hipMemPrefetchAsync(bytes, 64, -3, nullptr), hipErrorInvalidDevice);
}

TEST_F(HipCalls, EveryAttributeHasAnAnswer) {
  const std::uint32_t kAll[] = {
#define HIP_ATTRIBUTE(name, number, answer) hipDeviceAttribute##name,
#include "emulator/hip/attributes.def"
#undef HIP_ATTRIBUTE
  };
  for (const std::uint32_t attribute : kAll) {
    for (int device = 0; device < 2; ++device) {
      int value = 0;
      EXPECT_EQ(hipDeviceGetAttribute(&value, attribute, device), hipSuccess)
          << attribute;
    }
  }
}

// What programs size their work by, as the ISA manuals give it: a compute unit
// of RDNA has two SIMDs for 16 waves of 32 lanes, one of CDNA3 four for 8
// of 64.
TEST_F(HipCalls, LimitsOfTheTargets) {
  const struct {
    int wave, lds, threads_per_unit;
  } kWant[] = {{32, 65536, 1024}, {64, 65536, 2048}};
  for (int i = 0; i < 2; ++i) {
    hipDeviceProp_tR0600 p;
    ASSERT_EQ(hipGetDevicePropertiesR0600(&p, i), hipSuccess);
    EXPECT_EQ(p.warpSize, kWant[i].wave);
    EXPECT_EQ(p.sharedMemPerBlock, static_cast<std::size_t>(kWant[i].lds));
    EXPECT_EQ(p.maxThreadsPerMultiProcessor, kWant[i].threads_per_unit);
    EXPECT_EQ(p.maxThreadsPerBlock, 1024);
    EXPECT_EQ(p.regsPerBlock, 65536);
    EXPECT_GT(p.multiProcessorCount, 0);
    EXPECT_GT(p.clockRate, 100000);
    EXPECT_GT(p.memoryClockRate, 100000);
    EXPECT_GT(p.memoryBusWidth, 0);
    EXPECT_GT(p.l2CacheSize, 0);
    EXPECT_EQ(p.cooperativeMultiDeviceLaunch, 1);
  }
}

}  // namespace
