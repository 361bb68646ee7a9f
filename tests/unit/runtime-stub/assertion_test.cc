// Failed assertions of kernels: a line of each thread on stderr, and an error
// that stays.
#include <cstdio>
#include <string>
#include <thread>

#include "emulated.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;

// assert(tid < limit), as nvcc writes it.
constexpr char kAsserting[] = R"(
.version 7.0
.target sm_75
.address_size 64
.extern .func __assertfail(
  .param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[12] = {
  116, 105, 100, 32, 60, 32, 108, 105, 109, 105, 116, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 function[8] = {99, 104, 101, 99, 107, 40, 41, 0};
.visible .entry check(.param .u32 limit) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<7>;
  ld.param.u32 %r1, [limit];
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p, %r2, %r1;
  @%p bra FINE;
  mov.u64 %rd1, message;
  cvta.global.u64 %rd2, %rd1;
  mov.u64 %rd3, file;
  cvta.global.u64 %rd4, %rd3;
  mov.u64 %rd5, function;
  cvta.global.u64 %rd6, %rd5;
  {
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    .param .b64 d;
    .param .b64 e;
    st.param.b64 [a], %rd2;
    st.param.b64 [b], %rd4;
    st.param.b32 [c], 7;
    st.param.b64 [d], %rd6;
    st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
  }
FINE:
  ret;
})";

// On a GPU of 32 and on one of 64 lanes in a wave.
class AssertionTest : public EmulatedTest,
                      public ::testing::WithParamInterface<CUdevice> {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    CUcontext context = nullptr;
    ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context, GetParam()), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, kRing),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuModuleLoadData)(&module_, kAsserting), CUDA_SUCCESS);
  }

  void TearDown() override {
    EXPECT_EQ(CU(cuDevicePrimaryCtxReset_v2)(1), CUDA_SUCCESS);
    EmulatedTest::TearDown();
  }

  void Check(unsigned blocks, unsigned threads, unsigned limit,
             CUstream stream = nullptr) {
    CUfunction function = nullptr;
    ASSERT_EQ(CU(cuModuleGetFunction)(&function, module_, "check"),
              CUDA_SUCCESS);
    void* params[] = {&limit};
    ASSERT_EQ(CU(cuLaunchKernel)(function, blocks, 1, 1, threads, 1, 1, 0,
                                 stream, params, nullptr),
              CUDA_SUCCESS);
  }

  static std::string Line(unsigned block, unsigned thread) {
    return "a.cu:7: check(): block: [" + std::to_string(block) +
           ",0,0], thread: [" + std::to_string(thread) +
           ",0,0] Assertion `tid < limit` failed.\n";
  }

  static constexpr std::size_t kRing = 64 << 10;
  CUmodule module_ = nullptr;
};

std::size_t CountLines(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("Assertion `"); at != std::string::npos;
       at = text.find("Assertion `", at + 1)) {
    ++count;
  }
  return count;
}

TEST_P(AssertionTest, EachThreadThatFailsSaysSo) {
  constexpr unsigned kBlocks = 3, kBlockSize = 100, kLimit = 30;
  ::testing::internal::CaptureStderr();
  Check(kBlocks, kBlockSize, kLimit);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ASSERT);
  EXPECT_EQ(CU(cuStreamQuery)(nullptr), CUDA_ERROR_ASSERT);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountLines(said), kBlocks * (kBlockSize - kLimit));
  for (unsigned block = 0; block < kBlocks; ++block) {
    for (unsigned thread = kLimit; thread < kBlockSize; ++thread) {
      EXPECT_THAT(said, HasSubstr(Line(block, thread)));
    }
  }
}

// None on stdout, and none of them twice.
TEST_P(AssertionTest, WhoeverWaitsSeesThem) {
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  Check(1, 32, 31, stream);
  std::thread([stream] {
    EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_ERROR_ASSERT);
  }).join();
  CUdeviceptr memory = 0;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&memory, 16), CUDA_ERROR_ASSERT);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), Line(0, 31));
}

TEST_P(AssertionTest, WhatFindsNoRoomIsCounted) {
  constexpr unsigned kThreadsInAll = 8 * 512;
  ::testing::internal::CaptureStderr();
  Check(8, 512, 0);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ASSERT);
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::size_t lines = CountLines(said);
  EXPECT_GT(lines, 2 * kRing / 200);
  EXPECT_LT(lines, kThreadsInAll);
  EXPECT_THAT(said, HasSubstr(std::to_string(kThreadsInAll - lines) +
                              " failed assertions of kernels were lost: "
                              "the buffer was full"));
}

INSTANTIATE_TEST_SUITE_P(Device, AssertionTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace cerberus::stub
