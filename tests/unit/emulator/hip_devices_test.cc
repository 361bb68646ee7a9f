// Several devices in one process: two of one target, one of another.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

// Before the first call, which reads it.
[[maybe_unused]] const int kTargets =
    setenv("CERBERUS_EMU_TARGETS", "gfx1100,gfx942,gfx1100", 1);
constexpr int kDevices = 3;
constexpr const char* kNames[] = {"gfx1100", "gfx942", "gfx1100"};
constexpr const char* kFiles[] = {KERNELS, KERNELS_OTHER_TARGET, KERNELS};

class HipDevices : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipInit(0), hipSuccess);
    for (int i = 0; i < kDevices; ++i) {
      ASSERT_EQ(hipSetDevice(i), hipSuccess);
      ASSERT_EQ(hipStreamCreateWithFlags(&streams_[i], hipStreamNonBlocking),
                hipSuccess);
      ASSERT_EQ(hipModuleLoad(&modules_[i], kFiles[i]), hipSuccess);
    }
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
  }
  void TearDown() override {
    for (int i = 0; i < kDevices; ++i) {
      EXPECT_EQ(hipSetDevice(i), hipSuccess);
      for (int j = 0; j < kDevices; ++j) hipDeviceDisablePeerAccess(j);
      EXPECT_EQ(hipDeviceReset(), hipSuccess);
    }
  }

  int* MallocOn(int device, const std::vector<int>& values) {
    EXPECT_EQ(hipSetDevice(device), hipSuccess);
    void* memory = nullptr;
    const std::size_t bytes = values.size() * sizeof(int);
    EXPECT_EQ(hipMalloc(&memory, bytes), hipSuccess);
    EXPECT_EQ(hipMemcpy(memory, values.data(), bytes, hipMemcpyHostToDevice),
              hipSuccess);
    return static_cast<int*>(memory);
  }
  std::vector<int> Read(const int* memory, std::size_t count) {
    std::vector<int> values(count);
    EXPECT_EQ(hipMemcpy(values.data(), memory, count * sizeof(int),
                        hipMemcpyDeviceToHost),
              hipSuccess);
    return values;
  }
  hipFunction_t Function(int device, const char* name) {
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, modules_[device], name),
              hipSuccess);
    return function;
  }
  hipError_t AddOne(int device, int* data, int count) {
    void* params[] = {&data, &count};
    return hipModuleLaunchKernel(Function(device, "AddOne"), 1, 1, 1, 64, 1, 1,
                                 0, streams_[device], params, nullptr);
  }

  hipStream_t streams_[kDevices] = {};
  hipModule_t modules_[kDevices] = {};
};

TEST_F(HipDevices, EachHasItsOwnNames) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  ASSERT_EQ(count, kDevices);
  std::vector<std::string> buses, uuids;
  for (int i = 0; i < kDevices; ++i) {
    hipDeviceProp_tR0600 p;
    ASSERT_EQ(hipGetDevicePropertiesR0600(&p, i), hipSuccess);
    EXPECT_STREQ(p.gcnArchName, kNames[i]);
    EXPECT_EQ(p.warpSize, i == 1 ? 64 : 32);
    char bus[20];
    int found = -1;
    ASSERT_EQ(hipDeviceGetPCIBusId(bus, sizeof bus, i), hipSuccess);
    ASSERT_EQ(hipDeviceGetByPCIBusId(&found, bus), hipSuccess);
    EXPECT_EQ(found, i);
    buses.emplace_back(bus);
    uuids.emplace_back(p.uuid.bytes, sizeof p.uuid.bytes);
    int value = 0;
    ASSERT_EQ(
        hipDeviceGetAttribute(&value, hipDeviceAttributeUnifiedAddressing, i),
        hipSuccess);
    EXPECT_EQ(value, 1);
  }
  EXPECT_NE(uuids[0], uuids[2]);
  EXPECT_NE(buses[0], buses[2]);
  int found = -1;
  EXPECT_EQ(hipDeviceGetByPCIBusId(&found, "0000:01:00.0"),
            hipErrorInvalidDevice);
  EXPECT_EQ(hipDeviceGetByPCIBusId(&found, "nonsense"), hipErrorInvalidValue);
}

TEST_F(HipDevices, TheCurrentDeviceIsTheThreads) {
  ASSERT_EQ(hipSetDevice(2), hipSuccess);
  int there = -1;
  std::thread([&there] {
    hipGetDevice(&there);
    hipSetDevice(1);
  }).join();
  EXPECT_EQ(there, 0);  // a new thread starts with the first
  int here = -1;
  ASSERT_EQ(hipGetDevice(&here), hipSuccess);
  EXPECT_EQ(here, 2);
}

TEST_F(HipDevices, PointersKnowTheirDevice) {
  for (int i = 0; i < kDevices; ++i) {
    int* memory = MallocOn(i, {1});
    ASSERT_EQ(hipSetDevice((i + 1) % kDevices), hipSuccess);
    hipPointerAttribute_t a;
    ASSERT_EQ(hipPointerGetAttributes(&a, memory), hipSuccess);
    EXPECT_EQ(a.device, i);
    // Freed on whatever device is current.
    EXPECT_EQ(hipFree(memory), hipSuccess);
  }
}

TEST_F(HipDevices, EachRunsItsOwnCode) {
  for (int i = 0; i < kDevices; ++i) {
    int* memory = MallocOn(i, {10 * i, 5});
    ASSERT_EQ(AddOne(i, memory, 2), hipSuccess);
    ASSERT_EQ(hipStreamSynchronize(streams_[i]), hipSuccess);
    EXPECT_EQ(Read(memory, 2), (std::vector<int>{10 * i + 1, 6}));
    // A function runs on streams of its own device only.
    int* data = memory;
    int count = 1;
    void* params[] = {&data, &count};
    EXPECT_EQ(
        hipModuleLaunchKernel(Function(i, "AddOne"), 1, 1, 1, 64, 1, 1, 0,
                              streams_[(i + 1) % kDevices], params, nullptr),
        hipErrorInvalidHandle);
  }
  // A code object is for its target.
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  hipModule_t module = nullptr;
  EXPECT_EQ(hipModuleLoad(&module, KERNELS), hipErrorNoBinaryForGpu);
}

TEST_F(HipDevices, CopiesBetweenAnyTwo) {
  const std::vector<int> values = {3, 1, 4, 1, 5, 9, 2, 6};
  for (int from = 0; from < kDevices; ++from) {
    for (int to = 0; to < kDevices; ++to) {
      int* source = MallocOn(from, values);
      int* target = MallocOn(to, std::vector<int>(8, 0));
      ASSERT_EQ(hipMemcpyPeer(target, to, source, from, 16), hipSuccess);
      EXPECT_EQ(Read(target, 8), (std::vector<int>{3, 1, 4, 1, 0, 0, 0, 0}));
      ASSERT_EQ(hipMemcpyPeerAsync(target + 4, to, source + 4, from, 16,
                                   streams_[from]),
                hipSuccess);
      ASSERT_EQ(hipStreamSynchronize(streams_[from]), hipSuccess);
      EXPECT_EQ(Read(target, 8), values);
      // A box: the right half of two rows of four.
      hipMemcpy3DPeerParms p = {};
      p.srcDevice = from;
      p.srcPtr = {source, 16, 16, 2};
      p.srcPos = {8, 0, 0};
      p.dstDevice = to;
      p.dstPtr = {target, 16, 16, 2};
      p.extent = {8, 2, 1};
      ASSERT_EQ(hipMemcpy3DPeer(&p), hipSuccess);
      EXPECT_EQ(Read(target, 8), (std::vector<int>{4, 1, 4, 1, 2, 6, 2, 6}));
      p.dstPos = {8, 0, 0};
      p.srcPos = {};
      ASSERT_EQ(hipMemcpy3DPeerAsync(&p, streams_[to]), hipSuccess);
      ASSERT_EQ(hipStreamSynchronize(streams_[to]), hipSuccess);
      EXPECT_EQ(Read(target, 8), (std::vector<int>{4, 1, 3, 1, 2, 6, 5, 9}));
    }
  }
  int* memory = MallocOn(0, values);
  EXPECT_EQ(hipMemcpyPeer(memory, 0, memory, kDevices, 4),
            hipErrorInvalidDevice);
  hipMemcpy3DPeerParms p = {};
  p.srcDevice = -1;
  EXPECT_EQ(hipMemcpy3DPeer(&p), hipErrorInvalidDevice);
}

TEST_F(HipDevices, PeersReachEachOthersMemoryWhenEnabled) {
  for (int from = 0; from < kDevices; ++from) {
    int can = -1;
    ASSERT_EQ(hipDeviceCanAccessPeer(&can, from, (from + 1) % kDevices),
              hipSuccess);
    EXPECT_EQ(can, 1);
    ASSERT_EQ(hipDeviceCanAccessPeer(&can, from, from), hipSuccess);
    EXPECT_EQ(can, 0);
  }
  int* early = MallocOn(1, {7});
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
  ASSERT_EQ(hipDeviceEnablePeerAccess(1, 0), hipSuccess);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);
  int* late = MallocOn(1, {17});
  // What was there before, and what came after.
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  ASSERT_EQ(AddOne(0, early, 1), hipSuccess);
  ASSERT_EQ(AddOne(0, late, 1), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(streams_[0]), hipSuccess);
  EXPECT_EQ(Read(early, 1)[0], 8);
  EXPECT_EQ(Read(late, 1)[0], 18);
  // The other way round it was not enabled: a fault, on that device alone.
  int* mine = MallocOn(0, {1});
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  ASSERT_EQ(AddOne(1, mine, 1), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(streams_[1]), hipErrorIllegalAddress);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(Read(mine, 1)[0], 1);
}

TEST_F(HipDevices, AccessEndsWhenItIsDisabled) {
  int* memory = MallocOn(1, {7});
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  ASSERT_EQ(hipDeviceEnablePeerAccess(1, 0), hipSuccess);
  ASSERT_EQ(AddOne(0, memory, 1), hipSuccess);
  ASSERT_EQ(hipDeviceDisablePeerAccess(1), hipSuccess);
  EXPECT_EQ(Read(memory, 1)[0], 8);
  ASSERT_EQ(AddOne(0, memory, 1), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(streams_[0]), hipErrorIllegalAddress);
}

TEST_F(HipDevices, ManagedAndPinnedMemoryIsEveryones) {
  void *managed = nullptr, *pinned = nullptr;
  ASSERT_EQ(hipMallocManaged(&managed, 4, hipMemAttachGlobal), hipSuccess);
  ASSERT_EQ(hipHostMalloc(&pinned, 4, 0), hipSuccess);
  for (void* memory : {managed, pinned}) {
    int* word = static_cast<int*>(memory);
    *word = 0;
    for (int i = 0; i < kDevices; ++i) {
      ASSERT_EQ(hipSetDevice(i), hipSuccess);
      ASSERT_EQ(AddOne(i, word, 1), hipSuccess);
      ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
      EXPECT_EQ(*word, i + 1);
    }
  }
}

TEST_F(HipDevices, AnEventOrdersStreamsOfTwoDevices) {
  int* source = MallocOn(0, std::vector<int>(64, 0));
  int* target = MallocOn(1, std::vector<int>(64, 0));
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  hipEvent_t done = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&done, 0), hipSuccess);
  int turns = 20000;
  void* params[] = {&source, &turns};
  ASSERT_EQ(hipModuleLaunchKernel(Function(0, "Slow"), 1, 1, 1, 64, 1, 1, 0,
                                  streams_[0], params, nullptr),
            hipSuccess);
  ASSERT_EQ(hipEventRecord(done, streams_[0]), hipSuccess);
  // An event is recorded on streams of its own device.
  EXPECT_EQ(hipEventRecord(done, streams_[1]), hipErrorInvalidHandle);
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(streams_[1], done, 0), hipSuccess);
  ASSERT_EQ(hipMemcpyPeerAsync(target, 1, source, 0, 256, streams_[1]),
            hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(streams_[1]), hipSuccess);
  std::vector<int> want(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t x = i;
    for (int turn = 0; turn < turns; ++turn) x = x * 1103515245 + 12345;
    want[i] = static_cast<int>(x);
  }
  EXPECT_EQ(Read(target, 64), want);
  EXPECT_EQ(hipEventDestroy(done), hipSuccess);
}

TEST_F(HipDevices, ContextsAreTheDevices) {
  hipCtx_t contexts[kDevices];
  for (int i = 0; i < kDevices; ++i) {
    ASSERT_EQ(hipDevicePrimaryCtxRetain(&contexts[i], i), hipSuccess);
  }
  EXPECT_NE(contexts[0], contexts[2]);
  ASSERT_EQ(hipCtxPushCurrent(contexts[1]), hipSuccess);
  int device = -1;
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 1);
  void* memory = nullptr;
  ASSERT_EQ(hipMalloc(&memory, 16), hipSuccess);
  hipPointerAttribute_t a;
  ASSERT_EQ(hipPointerGetAttributes(&a, memory), hipSuccess);
  EXPECT_EQ(a.device, 1);
  hipCtx_t popped = nullptr;
  ASSERT_EQ(hipCtxPopCurrent(&popped), hipSuccess);
  EXPECT_EQ(popped, contexts[1]);
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 0);
}

TEST_F(HipDevices, AResetLeavesTheOthersAlone) {
  int* mine = MallocOn(0, {1});
  int* other = MallocOn(2, {2});
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  ASSERT_EQ(hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hipFree(mine), hipErrorInvalidValue);
  EXPECT_EQ(Read(other, 1)[0], 2);
  ASSERT_EQ(AddOne(2, other, 1), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(streams_[2]), hipSuccess);
  EXPECT_EQ(Read(other, 1)[0], 3);
}

// A capture that a stream of another device joined ends on both.
TEST_F(HipDevices, ACaptureOverTwoDevices) {
  int* first = MallocOn(0, {1});
  int* second = MallocOn(2, {2});
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  hipEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&fork, 0), hipSuccess);
  ASSERT_EQ(hipSetDevice(2), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&join, 0), hipSuccess);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(streams_[0], 0), hipSuccess);
  ASSERT_EQ(AddOne(0, first, 1), hipSuccess);
  ASSERT_EQ(hipEventRecord(fork, streams_[0]), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(streams_[2], fork, 0), hipSuccess);
  ASSERT_EQ(AddOne(2, second, 1), hipSuccess);
  ASSERT_EQ(hipEventRecord(join, streams_[2]), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(streams_[0], join, 0), hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipStreamEndCapture(streams_[0], &graph), hipSuccess);
  std::uint32_t status = 7;
  ASSERT_EQ(hipStreamIsCapturing(streams_[2], &status), hipSuccess);
  EXPECT_EQ(status, 0u);
  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  ASSERT_EQ(hipGraphLaunch(exec, streams_[0]), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(streams_[0]), hipSuccess);
  EXPECT_EQ(Read(first, 1)[0], 2);
  EXPECT_EQ(Read(second, 1)[0], 3);
}

}  // namespace
