// Contexts, devices, functions and modules, by their old names too.
#include <atomic>
#include <fstream>
#include <string>

#include "emulated.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {
namespace {

class ContextApiTest : public EmulatedTest {
 protected:
  CUcontext Current() {
    CUcontext current = nullptr;
    EXPECT_EQ(CU(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    return current;
  }
};

TEST_F(ContextApiTest, EveryWayToCreate) {
  CUcontext made[3] = {};
  ASSERT_EQ(CU(cuCtxCreate)(&made[0], 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Current(), made[0]);
  ASSERT_EQ(CU(cuCtxCreate_v3)(&made[1], nullptr, 0, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(Current(), made[1]);
  CUctxCreateParams parameters = {};
  ASSERT_EQ(CU(cuCtxCreate_v4)(&made[2], &parameters, 0, 0), CUDA_SUCCESS);
  CUexecAffinityParam part = {};
  parameters.execAffinityParams = &part;
  parameters.numExecAffinityParams = 1;
  CUcontext none = nullptr;
  EXPECT_EQ(CU(cuCtxCreate_v4)(&none, &parameters, 0, 0),
            CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  EXPECT_EQ(Current(), made[2]);
  CUcontext popped = nullptr;
  ASSERT_EQ(CU(cuCtxPopCurrent)(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, made[2]);
  EXPECT_EQ(Current(), made[1]);
  ASSERT_EQ(CU(cuCtxPushCurrent)(made[2]), CUDA_SUCCESS);
  EXPECT_EQ(Current(), made[2]);
  unsigned version = 0;
  EXPECT_EQ(CU(cuCtxGetApiVersion)(made[2], &version), CUDA_SUCCESS);
  EXPECT_GE(version, 3020u);
  ASSERT_EQ(CU(cuCtxDestroy)(made[2]), CUDA_SUCCESS);
  EXPECT_EQ(Current(), made[1]);
  EXPECT_NE(CU(cuCtxPushCurrent)(made[2]), CUDA_SUCCESS);
  CUcontext attached = nullptr;
  ASSERT_EQ(CU(cuCtxAttach)(&attached, 0), CUDA_SUCCESS);
  EXPECT_EQ(attached, made[1]);
  // As often as it was made and attached to.
  EXPECT_EQ(CU(cuCtxDetach)(made[1]), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxGetApiVersion)(made[1], &version), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxDetach)(made[1]), CUDA_SUCCESS);
  EXPECT_NE(CU(cuCtxGetApiVersion)(made[1], &version), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxDestroy_v2)(made[0]), CUDA_SUCCESS);
}

TEST_F(ContextApiTest, Settings) {
  CUsharedconfig shared = 99;
  EXPECT_EQ(CU(cuCtxSetSharedMemConfig)(2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxGetSharedMemConfig)(&shared), CUDA_SUCCESS);
  EXPECT_EQ(shared, 2);
  CUfunc_cache cache = 99;
  EXPECT_EQ(CU(cuCtxSetCacheConfig)(2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxGetCacheConfig)(&cache), CUDA_SUCCESS);
  EXPECT_EQ(cache, 2);
  unsigned flags = 99;
  constexpr unsigned kBlockingSync = 4;
  EXPECT_EQ(CU(cuCtxSetFlags)(kBlockingSync), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxGetFlags)(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags & 7, kBlockingSync);
  int least = 99, greatest = 99;
  EXPECT_EQ(CU(cuCtxGetStreamPriorityRange)(&least, &greatest), CUDA_SUCCESS);
  EXPECT_LE(greatest, least);
  EXPECT_LT(least, 99);
  EXPECT_EQ(CU(cuDevicePrimaryCtxSetFlags)(1, kBlockingSync), CUDA_SUCCESS);
  int active = 99;
  EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(1, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(flags, kBlockingSync);
  EXPECT_EQ(CU(cuDevicePrimaryCtxSetFlags_v2)(1, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(1, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
}

// As on an NVIDIA GPU without such a cache: hints are taken, nothing is set
// aside.
TEST_F(ContextApiTest, ThePersistingCacheIsNone) {
  constexpr CUdevice_attribute kMaxPersisting = 108, kMaxWindow = 109;
  for (const CUdevice_attribute id : {kMaxPersisting, kMaxWindow}) {
    int most = 99;
    EXPECT_EQ(CU(cuDeviceGetAttribute)(&most, id, 0), CUDA_SUCCESS);
    EXPECT_EQ(most, 0);
  }
  std::size_t bytes = 99;
  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1 << 20),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxGetLimit)(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(CU(cuCtxResetPersistingL2Cache)(), CUDA_SUCCESS);
}

// Of a stream that was made, and of the default one.
TEST_F(ContextApiTest, StreamsKeepTheirAttributes) {
  CUstream made = nullptr, copy = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamCreate)(&copy, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (CUstream stream : {CUstream{}, made}) {
    CUstreamAttrValue value = {};
    CUaccessPolicyWindow& window = value.accessPolicyWindow;
    window.base_ptr = &value;
    window.num_bytes = 4096;
    window.hitRatio = 0.5f;
    window.hitProp = 2;
    window.missProp = 1;
    const CUstreamAttrID id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    EXPECT_EQ(CU(cuStreamSetAttribute)(stream, id, &value), CUDA_SUCCESS);
    for (CUstream asked : {stream, copy}) {
      EXPECT_EQ(CU(cuStreamCopyAttributes)(copy, stream), CUDA_SUCCESS);
      CUstreamAttrValue back = {};
      EXPECT_EQ(CU(cuStreamGetAttribute)(asked, id, &back), CUDA_SUCCESS);
      EXPECT_EQ(back.accessPolicyWindow.base_ptr, window.base_ptr);
      EXPECT_EQ(back.accessPolicyWindow.num_bytes, 4096u);
      EXPECT_EQ(back.accessPolicyWindow.hitRatio, 0.5f);
      EXPECT_EQ(back.accessPolicyWindow.hitProp, 2);
      EXPECT_EQ(back.accessPolicyWindow.missProp, 1);
    }
    window.missProp = 2;  // what misses cannot persist
    EXPECT_EQ(CU(cuStreamSetAttribute)(stream, id, &value),
              CUDA_ERROR_INVALID_VALUE);
    window.missProp = 0;
    window.hitRatio = 2;
    EXPECT_EQ(CU(cuStreamSetAttribute)(stream, id, &value),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CU(cuStreamGetAttribute)(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                       &value),
              CUDA_ERROR_INVALID_VALUE);
  }
  for (CUstream stream : {made, copy}) {
    EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
  }
}

// Pools whose memory other processes can have: NVIDIA's sample of those asks.
TEST_F(ContextApiTest, PoolsAreShared) {
  constexpr CUdevice_attribute kHandleTypes = 119;
  constexpr int kFileDescriptor = 1;
  int types = 0;
  EXPECT_EQ(CU(cuDeviceGetAttribute)(&types, kHandleTypes, 0), CUDA_SUCCESS);
  EXPECT_EQ(types, kFileDescriptor);
}

TEST_F(ContextApiTest, PrimaryContextIsCounted) {
  for (const bool newer : {false, true}) {
    CUcontext context = nullptr;
    unsigned flags = 0;
    int active = 0;
    ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 1), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(1, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(newer ? CU(cuDevicePrimaryCtxRelease_v2)(1)
                    : CU(cuDevicePrimaryCtxRelease)(1),
              CUDA_SUCCESS);
    EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(1, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0) << newer;
    ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 1), CUDA_SUCCESS);
    EXPECT_EQ(newer ? CU(cuDevicePrimaryCtxReset_v2)(1)
                    : CU(cuDevicePrimaryCtxReset)(1),
              CUDA_SUCCESS);
    EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(1, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0) << newer;
  }
}

TEST_F(ContextApiTest, NoDeviceAndNoContext) {
  EXPECT_EQ(CU(cuDeviceGraphMemTrim)(99), CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(CU(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxResetPersistingL2Cache)(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextApiTest, WhatDevicesAre) {
  CUdevprop properties = {};
  EXPECT_EQ(CU(cuDeviceGetProperties)(&properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
  EXPECT_EQ(properties.SIMDWidth, 32);
  int value = 99;
  EXPECT_EQ(CU(cuDeviceCanAccessPeer)(&value, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  value = 99;
  constexpr int kAccessSupported = 2;
  EXPECT_EQ(CU(cuDeviceGetP2PAttribute)(&value, kAccessSupported, 0, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  value = 99;
  EXPECT_EQ(CU(cuDeviceGetExecAffinitySupport)(&value, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  std::size_t width = 0;
  EXPECT_EQ(
      CU(cuDeviceGetTexture1DLinearMaxWidth)(&width, CU_AD_FORMAT_FLOAT, 4, 0),
      CUDA_SUCCESS);
  EXPECT_GE(width, std::size_t{1} << 20);
}

TEST_F(ContextApiTest, NotificationsAreTakenBackOnce) {
  const CUasyncCallback never = [](void*, void*, CUasyncCallbackHandle) {
    ADD_FAILURE() << "there is nothing to tell";
  };
  CUasyncCallbackHandle one = nullptr, two = nullptr;
  EXPECT_EQ(CU(cuDeviceRegisterAsyncNotification)(0, never, nullptr, &one),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDeviceRegisterAsyncNotification)(0, never, nullptr, &two),
            CUDA_SUCCESS);
  EXPECT_NE(one, two);
  EXPECT_EQ(CU(cuDeviceRegisterAsyncNotification)(0, nullptr, nullptr, &two),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuDeviceUnregisterAsyncNotification)(1, one),
            CUDA_ERROR_INVALID_VALUE)
      << "it is another device's";
  EXPECT_EQ(CU(cuDeviceUnregisterAsyncNotification)(0, one), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDeviceUnregisterAsyncNotification)(0, one),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuDeviceUnregisterAsyncNotification)(0, two), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDeviceRegisterAsyncNotification)(99, never, nullptr, &one),
            CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(ContextApiTest, EventsOfAWholeContext) {
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  CUstream stream = nullptr, second = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamCreate)(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  // Written by the host: every stream may be waiting.
  void* host = nullptr;
  CUdeviceptr word = 0;
  ASSERT_EQ(CU(cuMemHostAlloc)(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemHostGetDevicePointer_v2)(&word, host, 0), CUDA_SUCCESS);
  std::atomic_ref<unsigned> value(*static_cast<unsigned*>(host));
  value = 0;
  ASSERT_EQ(CU(cuStreamWaitValue32_v2)(stream, word, 1, 1), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxRecordEvent)(context_, event), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  value = 1;
  EXPECT_EQ(CU(cuEventSynchronize)(event), CUDA_SUCCESS);
  CUevent blocked = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&blocked, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamWaitValue32_v2)(stream, word, 2, 1), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecord)(blocked, stream), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxWaitEvent)(context_, blocked), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemsetD8Async)(word + 8, 1, 1, second), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamQuery)(second), CUDA_ERROR_NOT_READY);
  value = 2;
  EXPECT_EQ(CU(cuStreamSynchronize)(second), CUDA_SUCCESS);
  for (CUstream s : {stream, second}) {
    EXPECT_EQ(CU(cuStreamDestroy_v2)(s), CUDA_SUCCESS);
  }
  EXPECT_EQ(CU(cuEventDestroy)(event), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventDestroy_v2)(blocked), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_SUCCESS);
}

TEST_F(ContextApiTest, EventsSayWhenAndWhere) {
  CUevent begin = nullptr, end = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&begin, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventCreate)(&end, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecordWithFlags)(begin, stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecordWithFlags)(end, stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventSynchronize)(end), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(CU(cuEventElapsedTime)(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  CUcontext context = nullptr;
  EXPECT_EQ(CU(cuStreamGetCtx_v2)(stream, &context, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  CUdevice device = 99;
  EXPECT_EQ(CU(cuStreamGetDevice)(stream, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
}

TEST_F(ContextApiTest, Libraries) {
  const TempFolder folder;
  const std::string path = folder.path() + "/add.ptx";
  std::ofstream(path) << AddPtx();
  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadFromFile)(&library, path.c_str(), nullptr, nullptr,
                                      0, nullptr, nullptr, 0),
            CUDA_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(CU(cuLibraryGetKernelCount)(&count, library), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  CUkernel kernel = nullptr;
  ASSERT_EQ(CU(cuLibraryEnumerateKernels)(&kernel, 1, library), CUDA_SUCCESS);
  const char* name = nullptr;
  ASSERT_EQ(CU(cuKernelGetName)(&name, kernel), CUDA_SUCCESS);
  EXPECT_STREQ(name, "add");
  CUlibrary of = nullptr;
  EXPECT_EQ(CU(cuKernelGetLibrary)(&of, kernel), CUDA_SUCCESS);
  EXPECT_EQ(of, library);
  EXPECT_EQ(CU(cuKernelSetCacheConfig)(kernel, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLibraryUnload)(library), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(CU(cuModuleLoad)(&module, path.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
  EXPECT_NE(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

TEST_F(ContextApiTest, Functions) {
  const CUfunction add = Add();
  CUfunctionLoadingState state = 99;
  EXPECT_EQ(CU(cuFuncLoad)(add), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuFuncIsLoaded)(&state, add), CUDA_SUCCESS);
  EXPECT_EQ(state, 1);
  int blocks = 0, size = 0;
  EXPECT_EQ(CU(cuOccupancyMaxPotentialBlockSizeWithFlags)(&blocks, &size, add,
                                                          nullptr, 0, 0, 0),
            CUDA_SUCCESS);
  EXPECT_GE(size, 32);
}

}  // namespace
}  // namespace cerberus::stub
