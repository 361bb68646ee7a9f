// Calls on a thread that has no context: what a call takes it from stands in
// cuda_api.def, for every function; all tests of this program run by it with
// CERBERUS_TEST_WITHOUT_CONTEXT. Here is what that cannot show.
#include <thread>

#include "emulated.h"

namespace cerberus::stub {
namespace {

class WithoutContextTest : public EmulatedTest {
 protected:
  // On a thread of its own, with no context.
  template <typename What>
  void Elsewhere(What what) {
    std::thread(what).join();
  }
};

// catboost does so with events, on threads of its own.
TEST_F(WithoutContextTest, EventsAndStreamsKnowTheirs) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventCreate)(&event, 0), CUDA_SUCCESS);
  CUdeviceptr ints = Ints(1);
  CUfunction add = Add();
  int by = 2;
  void* params[] = {&ints, &by};
  Elsewhere([&] {
    EXPECT_EQ(CU(cuEventQuery)(event), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, stream,
                                 params, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventRecord)(event, stream), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventSynchronize)(event), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(CU(cuStreamGetCtx)(stream, &context), CUDA_SUCCESS);
    EXPECT_EQ(context, context_);
    EXPECT_EQ(CU(cuCtxGetCurrent)(&context), CUDA_SUCCESS);
    EXPECT_EQ(context, nullptr);
  });
  EXPECT_EQ(ValueOf(ints), 3);
  Elsewhere([&] {
    EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
  });
}

// The default streams and what is made anew belong to the current context.
TEST_F(WithoutContextTest, WhatHasNoHandleNeedsOne) {
  CUfunction add = Add();
  CUdeviceptr ints = Ints(1);
  int by = 2;
  void* params[] = {&ints, &by};
  Elsewhere([&] {
    CUdeviceptr memory = 0;
    EXPECT_EQ(CU(cuMemAlloc_v2)(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
    CUevent event = nullptr;
    EXPECT_EQ(CU(cuEventCreate)(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CU(cuMemFree_v2)(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CU(cuMemFree_v2)(16), CUDA_ERROR_INVALID_CONTEXT);
    for (CUstream stream : {CUstream{}, LegacyStream(), PerThreadStream()}) {
      EXPECT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, stream,
                                   params, nullptr),
                CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_ERROR_INVALID_CONTEXT);
    }
    int word = 0;
    EXPECT_EQ(CU(cuMemcpyDtoH_v2)(&word, ints, sizeof word),
              CUDA_ERROR_INVALID_CONTEXT);
  });
  EXPECT_EQ(ValueOf(ints), 1);
}

// The handle's, also where another one is current.
TEST_F(WithoutContextTest, AHandlesContextGoesBeforeTheCurrentOne) {
  CUcontext other = nullptr;
  ASSERT_EQ(CU(cuCtxCreate_v2)(&other, 0, 1), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(CU(cuModuleLoadData)(&module, AddPtx()), CUDA_SUCCESS);
  CUfunction add = nullptr;
  ASSERT_EQ(CU(cuModuleGetFunction)(&add, module, "add"), CUDA_SUCCESS);
  const CUdeviceptr theirs = Ints(5);
  ASSERT_EQ(CU(cuCtxPopCurrent_v2)(nullptr), CUDA_SUCCESS);
  CUdevice device = 99;
  EXPECT_EQ(CU(cuStreamGetDevice)(stream, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  int by = 3;
  CUdeviceptr ints = theirs;
  void* params[] = {&ints, &by};
  EXPECT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, stream, params,
                               nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(ValueOf(theirs), 8);
  // It ends with its objects.
  ASSERT_EQ(CU(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamQuery)(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cerberus::stub
