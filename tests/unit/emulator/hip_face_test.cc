// The HIP calls themselves: arguments, results, order. What kernels compute
// is tested by the programs and by instruction_check.py.
#include "tests/unit/emulator/hip_face.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<char> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HipFace : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipInit(0), hipSuccess); }
  void TearDown() override { EXPECT_EQ(hipDeviceReset(), hipSuccess); }

  void* Malloc(std::size_t size) {
    void* pointer = nullptr;
    EXPECT_EQ(hipMalloc(&pointer, size), hipSuccess);
    return pointer;
  }
  hipFunction_t Load(const char* name) {
    if (module_ == nullptr) {
      EXPECT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
    }
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, module_, name), hipSuccess);
    return function;
  }

  hipModule_t module_ = nullptr;
};

// --- Devices --------------------------------------------------------------

TEST_F(HipFace, OneDeviceWithItsNames) {
  int count = 0, device = -1;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  EXPECT_EQ(count, 1);
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 0);
  char name[256];
  ASSERT_EQ(hipDeviceGetName(name, sizeof name, 0), hipSuccess);
  EXPECT_NE(std::strstr(name, "gfx1100"), nullptr);
  EXPECT_EQ(hipSetDevice(1), hipErrorInvalidDevice);
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetDeviceCount(nullptr), hipErrorInvalidValue);
  char bus[20];
  int found = -1;
  ASSERT_EQ(hipDeviceGetPCIBusId(bus, sizeof bus, 0), hipSuccess);
  ASSERT_EQ(hipDeviceGetByPCIBusId(&found, bus), hipSuccess);
  EXPECT_EQ(found, 0);
}

TEST_F(HipFace, PropertiesOfAGfx1100) {
  hipDeviceProp_tR0600 p;
  ASSERT_EQ(hipGetDevicePropertiesR0600(&p, 0), hipSuccess);
  EXPECT_STREQ(p.gcnArchName, "gfx1100");
  EXPECT_EQ(p.major, 11);
  EXPECT_EQ(p.minor, 0);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(p.sharedMemPerBlock, 65536u);
  EXPECT_EQ(p.cooperativeLaunch, 1);
  EXPECT_EQ(p.unifiedAddressing, 1);
  std::size_t total = 0;
  ASSERT_EQ(hipDeviceTotalMem(&total, 0), hipSuccess);
  EXPECT_EQ(p.totalGlobalMem, total);
  EXPECT_EQ(hipGetDevicePropertiesR0600(&p, 3), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetDevicePropertiesR0600(nullptr, 0), hipErrorInvalidValue);
}

TEST_F(HipFace, AttributesSayWhatThePropertiesSay) {
  hipDeviceProp_tR0600 p;
  hipDeviceProp_tR0000 old;
  ASSERT_EQ(hipGetDevicePropertiesR0600(&p, 0), hipSuccess);
  ASSERT_EQ(hipGetDeviceProperties(&old, 0), hipSuccess);
  EXPECT_STREQ(p.name, old.name);
  EXPECT_EQ(p.totalGlobalMem, old.totalGlobalMem);
  const struct {
    std::uint32_t attribute;
    long long value, old_value;
  } kCases[] = {
      {hipDeviceAttributeWarpSize, p.warpSize, old.warpSize},
      {hipDeviceAttributeMaxThreadsPerBlock, p.maxThreadsPerBlock,
       old.maxThreadsPerBlock},
      {hipDeviceAttributeMultiprocessorCount, p.multiProcessorCount,
       old.multiProcessorCount},
      {hipDeviceAttributeMaxBlockDimX, p.maxThreadsDim[0],
       old.maxThreadsDim[0]},
      {hipDeviceAttributeMaxGridDimX, p.maxGridSize[0], old.maxGridSize[0]},
      {hipDeviceAttributeMaxGridDimY, p.maxGridSize[1], old.maxGridSize[1]},
      {hipDeviceAttributeComputeCapabilityMajor, p.major, old.major},
      {hipDeviceAttributeMaxSharedMemoryPerBlock,
       static_cast<long long>(p.sharedMemPerBlock),
       static_cast<long long>(old.sharedMemPerBlock)},
      {hipDeviceAttributeMaxThreadsPerMultiProcessor,
       p.maxThreadsPerMultiProcessor, old.maxThreadsPerMultiProcessor},
      {hipDeviceAttributeL2CacheSize, p.l2CacheSize, old.l2CacheSize},
      {hipDeviceAttributePciBusId, p.pciBusID, old.pciBusID},
      {hipDeviceAttributeCooperativeLaunch, p.cooperativeLaunch,
       old.cooperativeLaunch},
      {hipDeviceAttributeMaxRegistersPerBlock, p.regsPerBlock,
       old.regsPerBlock},
  };
  for (const auto& test : kCases) {
    int value = -1;
    EXPECT_EQ(hipDeviceGetAttribute(&value, test.attribute, 0), hipSuccess);
    EXPECT_EQ(value, test.value) << "attribute " << test.attribute;
    EXPECT_EQ(value, test.old_value) << "attribute " << test.attribute;
  }
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, 9000, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceGetAttribute(&value, 0, 7), hipErrorInvalidDevice);
}

TEST_F(HipFace, VersionAndErrors) {
  int version = 0;
  ASSERT_EQ(hipRuntimeGetVersion(&version), hipSuccess);
  EXPECT_EQ(version / 10000000, 7);
  EXPECT_STREQ(hipGetErrorName(hipErrorInvalidValue), "hipErrorInvalidValue");
  EXPECT_STREQ(hipGetErrorName(719), "hipErrorLaunchFailure");
  EXPECT_STREQ(hipGetErrorString(2), "out of memory");
  EXPECT_STREQ(hipGetErrorName(12345), "hipErrorUnknown");
  // HIP 7 keeps the last error over calls that succeed.
  EXPECT_EQ(hipMalloc(nullptr, 4), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(HipFace, Contexts) {
  hipCtx_t context = nullptr, current = nullptr, popped = nullptr;
  ASSERT_EQ(hipDevicePrimaryCtxRetain(&context, 0), hipSuccess);
  ASSERT_EQ(hipCtxGetCurrent(&current), hipSuccess);
  EXPECT_EQ(context, current);
  EXPECT_EQ(hipCtxPushCurrent(context), hipSuccess);
  EXPECT_EQ(hipCtxPopCurrent(&popped), hipSuccess);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(hipCtxPushCurrent(reinterpret_cast<hipCtx_t>(0x10)),
            hipErrorInvalidContext);
}

// --- Memory ---------------------------------------------------------------

TEST_F(HipFace, AllocationEdges) {
  void* pointer = reinterpret_cast<void*>(1);
  EXPECT_EQ(hipMalloc(&pointer, 0), hipSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
  EXPECT_EQ(hipMalloc(nullptr, 16), hipErrorInvalidValue);
  EXPECT_EQ(hipMalloc(&pointer, ~std::size_t{0}), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&pointer, std::size_t{1} << 50), hipErrorOutOfMemory);
  char* block = static_cast<char*>(Malloc(100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0u);
  EXPECT_EQ(hipFree(block + 4), hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(block), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(block), hipSuccess);
  EXPECT_EQ(hipFree(block), hipErrorInvalidValue);
  int on_stack = 0;
  EXPECT_EQ(hipFree(&on_stack), hipErrorInvalidValue);
}

TEST_F(HipFace, MemoryIsCounted) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  void* block = Malloc(1 << 20);
  ASSERT_EQ(hipMemGetInfo(&during, &total), hipSuccess);
  EXPECT_EQ(before - during, 1u << 20);
  ASSERT_EQ(hipFree(block), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
}

TEST_F(HipFace, PointersAreKnown) {
  char* device = static_cast<char*>(Malloc(4000));
  void *host = nullptr, *managed = nullptr;
  ASSERT_EQ(hipHostMalloc(&host, 64, hipHostMallocMapped), hipSuccess);
  ASSERT_EQ(hipMallocManaged(&managed, 64, hipMemAttachGlobal), hipSuccess);
  std::vector<char> pageable(64);
  hipPointerAttribute_t a;
  ASSERT_EQ(hipPointerGetAttributes(&a, device + 10), hipSuccess);
  EXPECT_EQ(a.type, hipMemoryTypeDevice);
  EXPECT_EQ(a.devicePointer, device + 10);
  EXPECT_EQ(a.hostPointer, nullptr);
  ASSERT_EQ(hipPointerGetAttributes(&a, host), hipSuccess);
  EXPECT_EQ(a.type, hipMemoryTypeHost);
  EXPECT_EQ(a.hostPointer, host);
  EXPECT_EQ(a.allocationFlags, hipHostMallocMapped);
  ASSERT_EQ(hipPointerGetAttributes(&a, managed), hipSuccess);
  EXPECT_EQ(a.type, hipMemoryTypeManaged);
  EXPECT_EQ(a.isManaged, 1);
  ASSERT_EQ(hipPointerGetAttributes(&a, pageable.data()), hipSuccess);
  EXPECT_EQ(a.type, hipMemoryTypeUnregistered);

  hipDeviceptr_t base = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(hipMemGetAddressRange(&base, &size, device + 3999), hipSuccess);
  EXPECT_EQ(base, device);
  EXPECT_EQ(size, 4000u);
  std::size_t range = 0;
  ASSERT_EQ(
      hipPointerGetAttribute(&range, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, device),
      hipSuccess);
  EXPECT_EQ(range, 4000u);
  unsigned flags = 0;
  ASSERT_EQ(hipHostGetFlags(&flags, host), hipSuccess);
  EXPECT_EQ(flags, hipHostMallocMapped);
  EXPECT_EQ(hipHostFree(host), hipSuccess);
  EXPECT_EQ(hipFree(managed), hipSuccess);
}

TEST_F(HipFace, HostMemoryIsRegisteredOnce) {
  std::vector<int> memory(1000, 7);
  ASSERT_EQ(hipHostRegister(memory.data(), 4000, 0), hipSuccess);
  EXPECT_EQ(hipHostRegister(memory.data() + 10, 16, 0),
            hipErrorHostMemoryAlreadyRegistered);
  void* device = nullptr;
  ASSERT_EQ(hipHostGetDevicePointer(&device, memory.data(), 0), hipSuccess);
  hipFunction_t add = Load("AddOne");
  int n = 1000;
  void* params[] = {&device, &n};
  ASSERT_EQ(hipModuleLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, nullptr, params,
                                  nullptr),
            hipSuccess);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(memory[0], 8);
  EXPECT_EQ(memory[999], 8);
  EXPECT_EQ(hipHostUnregister(memory.data()), hipSuccess);
  EXPECT_EQ(hipHostUnregister(memory.data()), hipErrorHostMemoryNotRegistered);
  EXPECT_EQ(hipHostGetDevicePointer(&device, memory.data(), 0),
            hipErrorInvalidValue);
}

TEST_F(HipFace, CopiesInAllDirections) {
  std::vector<int> in(256), out(256);
  for (int i = 0; i < 256; ++i) in[static_cast<std::size_t>(i)] = i * 3;
  void *a = Malloc(1024), *b = Malloc(1024);
  EXPECT_EQ(hipMemcpy(a, in.data(), 1024, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(hipMemcpy(b, a, 1024, hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(hipMemcpy(out.data(), b, 1024, hipMemcpyDefault), hipSuccess);
  EXPECT_EQ(in, out);
  EXPECT_EQ(hipMemcpy(a, in.data(), 0, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(hipMemcpy(nullptr, in.data(), 4, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(a, in.data(), 1025, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(out.data(), in.data(), 4, hipMemcpyDeviceToHost),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(a, in.data(), 4, 77), hipErrorInvalidMemcpyDirection);
}

TEST_F(HipFace, BoxesOfRows) {
  void* pitched = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(hipMallocPitch(&pitched, &pitch, 100, 10), hipSuccess);
  EXPECT_GE(pitch, 100u);
  EXPECT_EQ(pitch % 256, 0u);
  std::vector<char> image(1000), back(1000);
  for (int i = 0; i < 1000; ++i) {
    image[static_cast<std::size_t>(i)] = static_cast<char>(i * 7);
  }
  ASSERT_EQ(hipMemcpy2D(pitched, pitch, image.data(), 100, 100, 10,
                        hipMemcpyHostToDevice),
            hipSuccess);
  hip_Memcpy2D box = {};
  box.srcMemoryType = hipMemoryTypeDevice;
  box.srcDevice = pitched;
  box.srcPitch = pitch;
  box.srcXInBytes = 5;
  box.srcY = 2;
  box.dstMemoryType = hipMemoryTypeHost;
  box.dstHost = back.data();
  box.dstPitch = 100;
  box.WidthInBytes = 20;
  box.Height = 3;
  ASSERT_EQ(hipMemcpyParam2D(&box), hipSuccess);
  for (std::size_t y = 0; y < 3; ++y) {
    EXPECT_EQ(std::memcmp(&back[y * 100], &image[(y + 2) * 100 + 5], 20), 0);
    EXPECT_EQ(back[y * 100 + 20], 0);
  }
  EXPECT_EQ(hipMemcpy2D(pitched, 50, image.data(), 100, 100, 10,
                        hipMemcpyHostToDevice),
            hipErrorInvalidPitchValue);
  EXPECT_EQ(hipMemcpy2D(pitched, pitch, image.data(), 100, 100, 11,
                        hipMemcpyHostToDevice),
            hipErrorInvalidValue);

  HIP_MEMCPY3D cube = {};
  cube.srcMemoryType = hipMemoryTypeHost;
  cube.srcHost = image.data();
  cube.srcPitch = 10;
  cube.srcHeight = 10;
  cube.srcZ = 1;
  cube.dstMemoryType = hipMemoryTypeDevice;
  cube.dstDevice = pitched;
  cube.dstPitch = 16;
  cube.dstHeight = 4;
  cube.WidthInBytes = 8;
  cube.Height = 3;
  cube.Depth = 2;
  ASSERT_EQ(hipDrvMemcpy3D(&cube), hipSuccess);
  ASSERT_EQ(hipMemcpy(back.data(), pitched, 128, hipMemcpyDeviceToHost),
            hipSuccess);
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t y = 0; y < 3; ++y) {
      EXPECT_EQ(std::memcmp(&back[z * 64 + y * 16],
                            &image[(z + 1) * 100 + y * 10], 8),
                0);
    }
  }
}

TEST_F(HipFace, Fills) {
  char* block = static_cast<char*>(Malloc(64));
  std::vector<unsigned char> out(64);
  ASSERT_EQ(hipMemset(block, 0x11, 64), hipSuccess);
  ASSERT_EQ(hipMemsetD16(block + 2, 0xabcd, 2), hipSuccess);
  ASSERT_EQ(hipMemsetD32(block + 8, 0x01020304, 2), hipSuccess);
  ASSERT_EQ(hipMemset2D(block + 32, 8, 0x77, 3, 4), hipSuccess);
  EXPECT_EQ(hipMemsetD32(block + 2, 0, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(block, 0, 65), hipErrorInvalidValue);
  ASSERT_EQ(hipMemcpy(out.data(), block, 64, hipMemcpyDeviceToHost),
            hipSuccess);
  const std::vector<unsigned char> expected = {
      0x11, 0x11, 0xcd, 0xab, 0xcd, 0xab, 0x11, 0x11, 4,    3,    2,
      1,    4,    3,    2,    1,    0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
      0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x77,
      0x77, 0x77, 0x11, 0x11, 0x11, 0x11, 0x11, 0x77, 0x77, 0x77, 0x11,
      0x11, 0x11, 0x11, 0x11, 0x77, 0x77, 0x77, 0x11, 0x11, 0x11, 0x11,
      0x11, 0x77, 0x77, 0x77, 0x11, 0x11, 0x11, 0x11, 0x11};
  EXPECT_EQ(out, expected);
}

TEST_F(HipFace, AnAsynchronousCopyHasReadItsPageableSource) {
  void* block = Malloc(4096);
  std::vector<char> source(4096, 1), out(4096);
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
            hipSuccess);
  std::atomic<bool> go{false};
  ASSERT_EQ(hipLaunchHostFunc(
                stream,
                [](void* flag) {
                  while (!*static_cast<std::atomic<bool>*>(flag)) {
                    std::this_thread::yield();
                  }
                },
                &go),
            hipSuccess);
  ASSERT_EQ(
      hipMemcpyAsync(block, source.data(), 4096, hipMemcpyHostToDevice, stream),
      hipSuccess);
  std::fill(source.begin(), source.end(), char{2});
  go = true;
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  ASSERT_EQ(hipMemcpy(out.data(), block, 4096, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(out, std::vector<char>(4096, 1));
}

// --- Streams and events ---------------------------------------------------

// Holds a stream until Open().
class Gate {
 public:
  void Close(hipStream_t stream) {
    ASSERT_EQ(hipLaunchHostFunc(
                  stream,
                  [](void* self) {
                    while (!static_cast<Gate*>(self)->open_) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    }
                  },
                  this),
              hipSuccess);
  }
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

TEST_F(HipFace, QueriesSeeUnfinishedWork) {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&event, 0), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipSuccess);  // never recorded
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
  Gate gate;
  gate.Close(stream);
  ASSERT_EQ(hipEventRecord(event, stream), hipSuccess);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady);  // legacy waits
  gate.Open();
  EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipEventDestroy(event), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventRecord(event, nullptr), hipErrorInvalidHandle);
}

TEST_F(HipFace, OrderBetweenStreams) {
  hipStream_t blocking = nullptr, free_running = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&blocking, 0), hipSuccess);
  ASSERT_EQ(hipStreamCreateWithFlags(&free_running, hipStreamNonBlocking),
            hipSuccess);
  Gate gate;
  gate.Close(nullptr);  // the legacy stream is held
  std::atomic<int> order{0};
  int seen_blocking = -1, seen_free = -1;
  struct Note {
    std::atomic<int>* order;
    int* seen;
  } first{&order, &seen_blocking}, second{&order, &seen_free};
  auto note = [](void* data) {
    Note* n = static_cast<Note*>(data);
    *n->seen = (*n->order)++;
  };
  ASSERT_EQ(hipLaunchHostFunc(blocking, note, &first), hipSuccess);
  ASSERT_EQ(hipLaunchHostFunc(free_running, note, &second), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(free_running), hipSuccess);
  EXPECT_EQ(seen_free, 0);
  EXPECT_EQ(hipStreamQuery(blocking), hipErrorNotReady);
  gate.Open();
  ASSERT_EQ(hipStreamSynchronize(blocking), hipSuccess);
  EXPECT_EQ(seen_blocking, 1);
}

TEST_F(HipFace, AnEventOrdersTwoStreams) {
  hipStream_t a = nullptr, b = nullptr;
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&a, hipStreamNonBlocking), hipSuccess);
  ASSERT_EQ(hipStreamCreateWithFlags(&b, hipStreamNonBlocking), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&event, hipEventDisableTiming), hipSuccess);
  Gate gate;
  gate.Close(a);
  ASSERT_EQ(hipEventRecord(event, a), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(b, event, 0), hipSuccess);
  bool ran = false;
  ASSERT_EQ(hipLaunchHostFunc(
                b, [](void* flag) { *static_cast<bool*>(flag) = true; }, &ran),
            hipSuccess);
  EXPECT_EQ(hipStreamQuery(b), hipErrorNotReady);
  EXPECT_FALSE(ran);
  gate.Open();
  ASSERT_EQ(hipStreamSynchronize(b), hipSuccess);
  EXPECT_TRUE(ran);
  float ms = 0;
  EXPECT_EQ(hipEventElapsedTime(&ms, event, event), hipErrorInvalidHandle);
}

TEST_F(HipFace, ElapsedTimeIsRealTime) {
  hipEvent_t start = nullptr, stop = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&start, 0), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&stop, 0), hipSuccess);
  float ms = -1;
  EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipErrorInvalidHandle);
  ASSERT_EQ(hipEventRecord(start, nullptr), hipSuccess);
  ASSERT_EQ(hipLaunchHostFunc(
                nullptr,
                [](void*) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                },
                nullptr),
            hipSuccess);
  ASSERT_EQ(hipEventRecord(stop, nullptr), hipSuccess);
  ASSERT_EQ(hipEventSynchronize(stop), hipSuccess);
  ASSERT_EQ(hipEventElapsedTime(&ms, start, stop), hipSuccess);
  EXPECT_GE(ms, 20);
  EXPECT_LT(ms, 20000);
}

TEST_F(HipFace, CallbacksAndPriorities) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&stream, 0, -100), hipSuccess);
  int priority = 0;
  ASSERT_EQ(hipStreamGetPriority(stream, &priority), hipSuccess);
  EXPECT_EQ(priority, -1);
  struct Seen {
    hipStream_t stream;
    hipError_t status;
  } seen = {nullptr, hipErrorUnknown};
  ASSERT_EQ(hipStreamAddCallback(
                stream,
                [](hipStream_t s, hipError_t status, void* data) {
                  *static_cast<Seen*>(data) = {s, status};
                },
                &seen, 0),
            hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, hipSuccess);
}

TEST_F(HipFace, ADestroyedStreamFinishesItsWork) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  Gate gate;
  gate.Close(stream);
  std::atomic<bool> ran{false};
  ASSERT_EQ(
      hipLaunchHostFunc(
          stream,
          [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; },
          &ran),
      hipSuccess);
  ASSERT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_FALSE(ran);
  gate.Open();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_TRUE(ran);
}

TEST_F(HipFace, StreamOrderedAllocation) {
  void* block = nullptr;
  ASSERT_EQ(hipMallocAsync(&block, 256, nullptr), hipSuccess);
  ASSERT_EQ(hipMemset(block, 1, 256), hipSuccess);
  ASSERT_EQ(hipFreeAsync(block, nullptr), hipSuccess);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipMemset(block, 1, 256), hipErrorInvalidValue);
  EXPECT_EQ(hipFreeAsync(nullptr, nullptr), hipSuccess);
}

// --- Modules and launches -------------------------------------------------

TEST_F(HipFace, ModulesThatAreNone) {
  hipModule_t module = nullptr;
  EXPECT_EQ(hipModuleLoad(&module, "/nonexistent"), hipErrorFileNotFound);
  const char text[] = "this is not a code object, whatever it may be instead";
  EXPECT_EQ(hipModuleLoadData(&module, text), hipErrorInvalidImage);
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  std::vector<char> image = ReadAll(KERNELS);
  ASSERT_FALSE(image.empty());
  image[18] = 0x3e;  // e_machine: x86-64
  EXPECT_NE(hipModuleLoadData(&module, image.data()), hipSuccess);
  image = ReadAll(KERNELS_OTHER_TARGET);
  ASSERT_FALSE(image.empty());
  EXPECT_EQ(hipModuleLoadData(&module, image.data()), hipErrorNoBinaryForGpu);
  EXPECT_EQ(hipModuleUnload(nullptr), hipErrorInvalidHandle);
}

TEST_F(HipFace, FunctionsAndVariables) {
  hipFunction_t function = Load("AddOne");
  hipFunction_t again = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "AddOne"), hipSuccess);
  EXPECT_EQ(function, again);
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "NoSuch"), hipErrorNotFound);
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "g_value"), hipErrorNotFound);
  hipDeviceptr_t value = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(hipModuleGetGlobal(&value, &size, module_, "g_array"), hipSuccess);
  EXPECT_EQ(size, 40u);
  EXPECT_EQ(hipModuleGetGlobal(&value, &size, module_, "nope"),
            hipErrorNotFound);
  ASSERT_EQ(hipModuleGetGlobal(&value, &size, module_, "g_value"), hipSuccess);
  int host = 0;
  ASSERT_EQ(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(host, 17);
  host = 99;
  ASSERT_EQ(hipMemcpy(value, &host, 4, hipMemcpyHostToDevice), hipSuccess);
  void* out = Malloc(8);
  void* params[] = {&out};
  ASSERT_EQ(hipModuleLaunchKernel(Load("Globals"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipSuccess);
  int got[2];
  ASSERT_EQ(hipMemcpy(got, out, 8, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got[0], 99);
  EXPECT_EQ(got[1], 0);
  ASSERT_EQ(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(host, 18);
  ASSERT_EQ(hipModuleUnload(module_), hipSuccess);
  module_ = nullptr;
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipErrorInvalidHandle);
}

struct Mixed {
  char a;
  double b;
  short c[3];
};

TEST_F(HipFace, ArgumentsOneByOneAndAsABuffer) {
  hipFunction_t function = Load("Arguments");
  float* f = static_cast<float*>(Malloc(8));
  double* out = static_cast<double*>(Malloc(7 * 8));
  float values[2] = {1.5f, 2.5f};
  ASSERT_EQ(hipMemcpy(f, values, 8, hipMemcpyHostToDevice), hipSuccess);
  const std::vector<double> expected = {
      -3, -1000, 123456, 1099511627776.0, 1 + 0.25 + 6, 2.5, 5};
  char a = -3;
  short b = -1000;
  int c = 123456;
  long long d = 1ll << 40;
  Mixed e = {1, 0.25, {1, 2, 3}};
  void* params[] = {&a, &b, &c, &d, &e, &f, &out};
  ASSERT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipSuccess);
  std::vector<double> got(7);
  ASSERT_EQ(hipMemcpy(got.data(), out, 56, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got, expected);

  struct {
    char a;
    short b;
    int c;
    long long d;
    Mixed e;
    float* f;
    double* out;
  } buffer = {a, b, c, d, e, f, out};
  std::size_t size = sizeof buffer;
  void* extra[] = {reinterpret_cast<void*>(kHipLaunchParamBufferPointer),
                   &buffer, reinterpret_cast<void*>(kHipLaunchParamBufferSize),
                   &size, reinterpret_cast<void*>(kHipLaunchParamEnd)};
  ASSERT_EQ(hipMemset(out, 0, 56), hipSuccess);
  ASSERT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  nullptr, extra),
            hipSuccess);
  ASSERT_EQ(hipMemcpy(got.data(), out, 56, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got, expected);
  void* wrong[] = {reinterpret_cast<void*>(9), &buffer,
                   reinterpret_cast<void*>(kHipLaunchParamEnd)};
  EXPECT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  nullptr, wrong),
            hipErrorInvalidValue);
}

TEST_F(HipFace, LaunchesThatCannotBe) {
  hipFunction_t add = Load("AddOne"), only64 = Load("Only64");
  void* data = Malloc(4);
  int n = 1;
  void* params[] = {&data, &n};
  auto launch = [&](hipFunction_t f, unsigned gx, unsigned bx, unsigned by,
                    unsigned shared) {
    return hipModuleLaunchKernel(f, gx, 1, 1, bx, by, 1, shared, nullptr,
                                 params, nullptr);
  };
  EXPECT_EQ(launch(nullptr, 1, 1, 1, 0), hipErrorInvalidHandle);
  EXPECT_EQ(launch(add, 0, 1, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 0, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 1025, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 64, 32, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 64, 1, 65537), hipErrorInvalidValue);
  EXPECT_EQ(launch(add, 0x10000000, 64, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(only64, 1, 65, 1, 0), hipErrorLaunchFailure);
  EXPECT_EQ(launch(add, 1, 64, 1, 0), hipSuccess);
  EXPECT_EQ(hipModuleLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0,
                                  reinterpret_cast<hipStream_t>(0x50), params,
                                  nullptr),
            hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleLaunchCooperativeKernel(add, 1000000, 1, 1, 64, 1, 1, 0,
                                             nullptr, params),
            hipErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST_F(HipFace, OccupancyFollowsTheTargetsRules) {
  hipFunction_t add = Load("AddOne");
  auto blocks = [add](int size, std::size_t shared) {
    int n = -1;
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, size,
                                                                 shared),
              hipSuccess);
    return n;
  };
  // A compute unit has two SIMDs of 16 waves (wave32) and 64 KiB of LDS that
  // a workgroup in CU mode can use; waves and LDS limit this kernel.
  EXPECT_EQ(blocks(1024, 0), 1);
  EXPECT_EQ(blocks(512, 0), 2);
  EXPECT_EQ(blocks(128, 16384), 4);
  EXPECT_EQ(blocks(128, 32768), 2);
  EXPECT_EQ(blocks(128, 65536), 1);
  EXPECT_EQ(blocks(128, 65537), 0);
  EXPECT_EQ(blocks(2048, 0), 0);
  int grid = 0, block = 0;
  ASSERT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 256),
            hipSuccess);
  EXPECT_LE(block, 256);
  EXPECT_EQ(block % 32, 0);
  EXPECT_EQ(grid % blocks(block, 0), 0);
  int value = 0;
  ASSERT_EQ(
      hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          Load("Only64")),
      hipSuccess);
  EXPECT_EQ(value, 64);
}

// --- Graphs ---------------------------------------------------------------

TEST_F(HipFace, ACapturedGraphRunsAgain) {
  hipStream_t stream = nullptr, side = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipStreamCreateWithFlags(&side, 0), hipSuccess);
  hipEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&fork, hipEventDisableTiming), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&join, hipEventDisableTiming), hipSuccess);
  hipFunction_t add = Load("AddOne");
  void *a = Malloc(400), *b = Malloc(400);
  ASSERT_EQ(hipMemset(a, 0, 400), hipSuccess);
  ASSERT_EQ(hipMemset(b, 0, 400), hipSuccess);
  int n = 100;
  void *first[] = {&a, &n}, *second[] = {&b, &n};
  auto launch = [add](hipStream_t on, void** params) {
    return hipModuleLaunchKernel(add, 1, 1, 1, 128, 1, 1, 0, on, params,
                                 nullptr);
  };
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  ASSERT_EQ(launch(stream, first), hipSuccess);
  ASSERT_EQ(hipEventRecord(fork, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(side, fork, 0), hipSuccess);
  ASSERT_EQ(launch(side, second), hipSuccess);
  ASSERT_EQ(launch(stream, first), hipSuccess);
  ASSERT_EQ(hipEventRecord(join, side), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(stream, join, 0), hipSuccess);
  std::uint32_t status = 0;
  ASSERT_EQ(hipStreamIsCapturing(side, &status), hipSuccess);
  EXPECT_EQ(status, 1u);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  ASSERT_EQ(hipStreamIsCapturing(side, &status), hipSuccess);
  EXPECT_EQ(status, 0u);
  std::size_t nodes = 0;
  ASSERT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipSuccess);
  EXPECT_EQ(nodes, 3u);
  int out = -1;
  ASSERT_EQ(hipMemcpy(&out, a, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(out, 0);  // nothing has run
  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  ASSERT_EQ(hipGraphDestroy(graph), hipSuccess);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(hipGraphLaunch(exec, stream), hipSuccess);
  }
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  ASSERT_EQ(hipMemcpy(&out, a, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(out, 6);
  ASSERT_EQ(hipMemcpy(&out, b, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(out, 3);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
}

TEST_F(HipFace, CapturesThatEndBadly) {
  hipStream_t stream = nullptr, side = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipStreamCreateWithFlags(&side, 0), hipSuccess);
  EXPECT_EQ(hipStreamBeginCapture(nullptr, 0),
            hipErrorStreamCaptureUnsupported);
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph),
            hipErrorStreamCaptureInvalidated);
  // A forked stream that is never joined.
  hipEvent_t fork = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&fork, hipEventDisableTiming), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  ASSERT_EQ(hipEventRecord(fork, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(side, fork, 0), hipSuccess);
  void* block = Malloc(16);
  void* host = nullptr;
  ASSERT_EQ(hipHostMalloc(&host, 16, 0), hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(block, host, 16, hipMemcpyHostToDevice, side),
            hipSuccess);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
  EXPECT_EQ(hipStreamSynchronize(side), hipSuccess);
  EXPECT_EQ(hipHostFree(host), hipSuccess);
}

}  // namespace
