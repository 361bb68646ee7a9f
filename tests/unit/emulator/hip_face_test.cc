// The HIP calls themselves: arguments, results, order. Devices and memory here;
// streams, modules and graphs in hip_face_streams_test.cc and
// hip_face_modules_test.cc. What kernels compute is tested by the programs and
// by instruction_check.py.
#include "tests/unit/emulator/hip_face.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/emulator/hip_face_test.h"

namespace {

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

}  // namespace
