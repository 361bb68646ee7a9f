// Copies, sets, pools and words that streams wait for, each by its effect on
// memory.
#include <vector>

#include "emulated.h"

namespace cerberus::stub {
namespace {

constexpr std::size_t kBytes = 256;

class MemoryApiTest : public VariantTest {
 protected:
  void SetUp() override {
    VariantTest::SetUp();
    ASSERT_EQ(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    ints_ = Ints(0);
  }
  void TearDown() override {
    CU(cuStreamDestroy)(stream_);
    VariantTest::TearDown();
  }
  int Value() {
    EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
    return ValueOf(ints_);
  }

  CUstream stream_ = nullptr;
  CUdeviceptr ints_ = 0;
};

TEST_P(MemoryApiTest, Sets) {
  EXPECT_EQ(CU(cuMemsetD16Async)(ints_, 0x0102, 2 * kThreads, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x01020102);
  EXPECT_EQ(CU(cuMemsetD2D8Async)(ints_, 16, 3, 16, 16, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x03030303);
  EXPECT_EQ(CU(cuMemsetD2D16Async)(ints_, 16, 0x0405, 8, 16, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x04050405);
  EXPECT_EQ(CU(cuMemsetD2D32Async)(ints_, 16, 6, 4, 16, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 6);
  EXPECT_EQ(CU(cuMemsetD2D32_v2)(ints_, 16, 7, 4, 16), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 7);
  EXPECT_EQ(CU(cuMemsetD8Async)(ints_, 8, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x08080808);
  EXPECT_EQ(CU(cuMemsetD16_v2)(ints_, 9, 2 * kThreads), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x00090009);
  EXPECT_EQ(CU(cuMemsetD8_v2)(ints_, 10, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x0a0a0a0a);
  EXPECT_EQ(CU(cuMemsetD2D8_v2)(ints_, 16, 11, 16, 16), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x0b0b0b0b);
  EXPECT_EQ(CU(cuMemsetD2D16_v2)(ints_, 16, 12, 8, 16), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 0x000c000c);
}

TEST_P(MemoryApiTest, Copies) {
  const CUdeviceptr from = Ints(20);
  const std::vector<int> host(kThreads, 21);
  std::vector<int> back(kThreads);
  EXPECT_EQ(CU(cuMemcpy)(ints_, from, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 20);
  EXPECT_EQ(CU(cuMemcpyHtoDAsync_v2)(ints_, host.data(), kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 21);
  EXPECT_EQ(CU(cuMemcpyDtoDAsync_v2)(ints_, from, kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 20);
  EXPECT_EQ(CU(cuMemcpyAsync)(ints_, reinterpret_cast<CUdeviceptr>(host.data()),
                              kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 21);
  EXPECT_EQ(CU(cuMemcpyDtoHAsync_v2)(back.data(), from, kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(back, std::vector<int>(kThreads, 20));

  CUDA_MEMCPY2D flat = {};
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.srcDevice = from;
  flat.dstDevice = ints_;
  flat.WidthInBytes = flat.srcPitch = flat.dstPitch = 16;
  flat.Height = 16;
  EXPECT_EQ(CU(cuMemcpy2DAsync_v2)(&flat, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 20);
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints_, 0, kThreads), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpy2DUnaligned_v2)(&flat), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 20);

  CUDA_MEMCPY3D solid = {};
  solid.srcMemoryType = CU_MEMORYTYPE_HOST;
  solid.srcHost = host.data();
  solid.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  solid.dstDevice = ints_;
  solid.WidthInBytes = solid.srcPitch = solid.dstPitch = 16;
  solid.Height = solid.srcHeight = solid.dstHeight = 4;
  solid.Depth = 4;
  EXPECT_EQ(CU(cuMemcpy3DAsync_v2)(&solid, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 21);
}

TEST_P(MemoryApiTest, CopiesBetweenContexts) {
  const CUdeviceptr from = Ints(22);
  EXPECT_EQ(CU(cuMemcpyPeer)(ints_, context_, from, context_, kBytes),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 22);
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints_, 0, kThreads), CUDA_SUCCESS);
  EXPECT_EQ(
      CU(cuMemcpyPeerAsync)(ints_, context_, from, context_, kBytes, stream_),
      CUDA_SUCCESS);
  EXPECT_EQ(Value(), 22);
  CUDA_MEMCPY3D_PEER peer = {};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = from;
  peer.dstDevice = ints_;
  peer.srcContext = peer.dstContext = context_;
  peer.WidthInBytes = peer.srcPitch = peer.dstPitch = 16;
  peer.Height = peer.srcHeight = peer.dstHeight = 16;
  peer.Depth = 1;
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints_, 0, kThreads), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpy3DPeer)(&peer), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 22);
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints_, 0, kThreads), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpy3DPeerAsync)(&peer, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 22);
}

TEST_P(MemoryApiTest, Arrays) {
  const CUDA_ARRAY_DESCRIPTOR shape = {kThreads, 0, CU_AD_FORMAT_SIGNED_INT32,
                                       1};
  CUarray one = nullptr, two = nullptr;
  ASSERT_EQ(CU(cuArrayCreate_v2)(&one, &shape), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuArrayCreate_v2)(&two, &shape), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR got = {};
  EXPECT_EQ(CU(cuArrayGetDescriptor_v2)(&got, one), CUDA_SUCCESS);
  EXPECT_EQ(got.Width, std::size_t{kThreads});
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
  EXPECT_EQ(CU(cuArrayGetMemoryRequirements)(&needs, one, 0), CUDA_SUCCESS);
  EXPECT_GE(needs.size, kBytes);

  EXPECT_EQ(CU(cuMemcpyDtoA_v2)(one, 0, Ints(30), kBytes), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyAtoA_v2)(two, 0, one, 0, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyAtoD_v2)(ints_, two, 0, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 30);
  const std::vector<int> host(kThreads, 31);
  std::vector<int> back(kThreads);
  EXPECT_EQ(CU(cuMemcpyHtoAAsync_v2)(one, 0, host.data(), kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyAtoHAsync_v2)(back.data(), one, 0, kBytes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(back, host);
  const std::vector<int> last(kThreads, 32);
  EXPECT_EQ(CU(cuMemcpyHtoA_v2)(one, 0, last.data(), kBytes), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyAtoH_v2)(back.data(), one, 0, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(back, last);
  EXPECT_EQ(CU(cuArrayDestroy)(one), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuArrayDestroy)(two), CUDA_SUCCESS);
}

TEST_P(MemoryApiTest, Batches) {
  CUdeviceptr to[2] = {ints_, ints_ + kBytes / 2};
  const CUdeviceptr source = Ints(33);
  CUdeviceptr from[2] = {source, source + kBytes / 2};
  std::size_t sizes[2] = {kBytes / 2, kBytes / 2};
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = 1;
  std::size_t first = 0, failed = 0;
  EXPECT_EQ(CU(cuMemcpyBatchAsync)(to, from, sizes, 2, &attributes, &first, 1,
                                   &failed, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 33);
  CUDA_MEMCPY3D_BATCH_OP op = {};
  op.src.type = op.dst.type = 1;
  op.src.op.ptr.ptr = Ints(34);
  op.dst.op.ptr.ptr = ints_;
  op.extent = {kBytes, 1, 1};
  op.srcAccessOrder = 1;
  EXPECT_EQ(CU(cuMemcpy3DBatchAsync)(1, &op, &failed, 0, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 34);
}

TEST_P(MemoryApiTest, CopiesWithAttributes) {
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = 1;
  EXPECT_EQ(CU(cuMemcpyWithAttributesAsync)(ints_, Ints(35), kBytes,
                                            &attributes, stream_),
            CUDA_SUCCESS);
  EXPECT_EQ(Value(), 35);
  EXPECT_EQ(CU(cuMemcpyWithAttributesAsync)(ints_, Ints(36), kBytes, nullptr,
                                            stream_),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D_BATCH_OP op = {};
  op.src.type = op.dst.type = 1;
  op.src.op.ptr.ptr = Ints(37);
  op.dst.op.ptr.ptr = ints_;
  op.extent = {kBytes, 1, 1};
  op.srcAccessOrder = 1;
  EXPECT_EQ(CU(cuMemcpy3DWithAttributesAsync)(&op, 1, stream_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemcpy3DWithAttributesAsync)(&op, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Value(), 37);
}

TEST_P(MemoryApiTest, Words) {
  EXPECT_EQ(CU(cuStreamWriteValue32)(stream_, ints_, 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWaitValue32)(stream_, ints_, 5, 1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWriteValue64)(stream_, ints_ + 8, 6, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWaitValue64)(stream_, ints_ + 8, 6, 1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWriteValue32_v2)(stream_, ints_ + 16, 7, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWaitValue32_v2)(stream_, ints_ + 16, 7, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWriteValue64_v2)(stream_, ints_ + 24, 8, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamWaitValue64_v2)(stream_, ints_ + 24, 8, 1),
            CUDA_SUCCESS);
  CUstreamBatchMemOpParams ops[2] = {};
  for (int version = 0; version < 2; ++version) {
    ops[version].value.operation = 2;  // write 32 bits
    ops[version].value.address = ints_ + 32 + 4 * version;
    ops[version].value.word = 9;
  }
  EXPECT_EQ(CU(cuStreamBatchMemOp)(stream_, 1, &ops[0], 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamBatchMemOp_v2)(stream_, 1, &ops[1], 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  std::vector<int> words(10);
  EXPECT_EQ(CU(cuMemcpyDtoH_v2)(words.data(), ints_, 40), CUDA_SUCCESS);
  EXPECT_EQ(words, (std::vector<int>{5, 0, 6, 0, 7, 0, 8, 0, 9, 9}));
}

// A wait holds the stream until the word is written.
TEST_P(MemoryApiTest, WaitsHoldTheStream) {
  using Wait = CUresult(CUstream, CUdeviceptr, cuuint64_t);
  const std::vector<std::function<Wait>> waits = {
      [](CUstream s, CUdeviceptr at, cuuint64_t word) {
        return CU(cuStreamWaitValue32)(s, at, static_cast<cuuint32_t>(word), 1);
      },
      [](CUstream s, CUdeviceptr at, cuuint64_t word) {
        return CU(cuStreamWaitValue32_v2)(s, at, static_cast<cuuint32_t>(word),
                                          1);
      },
      [](CUstream s, CUdeviceptr at, cuuint64_t word) {
        return CU(cuStreamWaitValue64)(s, at, word, 1);
      },
      [](CUstream s, CUdeviceptr at, cuuint64_t word) {
        return CU(cuStreamWaitValue64_v2)(s, at, word, 1);
      },
      [](CUstream s, CUdeviceptr at, cuuint64_t word) {
        CUstreamBatchMemOpParams op = {};
        op.value.operation = 1;  // wait for 32 bits
        op.value.address = at;
        op.value.word = word;
        op.value.flags = 1;
        return CU(cuStreamBatchMemOp_v2)(s, 1, &op, 0);
      },
  };
  CUstream writer = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&writer, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  int word = 0;
  for (const auto& wait : waits) {
    ++word;
    ASSERT_EQ(wait(stream_, ints_, word), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamQuery)(stream_), CUDA_ERROR_NOT_READY) << word;
    ASSERT_EQ(CU(cuStreamWriteValue64_v2)(writer, ints_, word, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  }
  EXPECT_EQ(CU(cuStreamDestroy_v2)(writer), CUDA_SUCCESS);
}

TEST_P(MemoryApiTest, Pools) {
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = here;
  CUmemoryPool pool = nullptr, first = nullptr, got = nullptr;
  ASSERT_EQ(CU(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&first, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemGetMemPool)(&got, &here, 1), CUDA_SUCCESS);
  EXPECT_EQ(got, first);
  got = nullptr;
  ASSERT_EQ(CU(cuMemGetDefaultMemPool)(&got, &here, 1), CUDA_SUCCESS);
  EXPECT_EQ(got, first);
  EXPECT_EQ(CU(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
}

TEST_P(MemoryApiTest, HostMemory) {
  void* host = nullptr;
  ASSERT_EQ(CU(cuMemAllocHost_v2)(&host, kBytes), CUDA_SUCCESS);
  unsigned flags = 99;
  EXPECT_EQ(CU(cuMemHostGetFlags)(&flags, host), CUDA_SUCCESS);
  EXPECT_NE(flags, 99u);
  EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_SUCCESS);
  EXPECT_NE(CU(cuMemHostGetFlags)(&flags, host), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFreeHost)(nullptr), CUDA_SUCCESS);
  alignas(4096) static char own[4096];
  ASSERT_EQ(CU(cuMemHostRegister_v2)(own, sizeof own, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemHostUnregister)(own), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemHostRegister)(own, sizeof own, 0), CUDA_SUCCESS);
  CUdeviceptr mapped = 0;
  EXPECT_EQ(CU(cuMemHostGetDevicePointer_v2)(&mapped, own, 0), CUDA_SUCCESS);
  EXPECT_NE(mapped, 0u);
  EXPECT_EQ(CU(cuMemHostUnregister)(own), CUDA_SUCCESS);
}

TEST_P(MemoryApiTest, StreamAttributes) {
  CUstream other = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  constexpr int kSpin = 2;
  CUstreamAttrValue value = {};
  value.syncPolicy = kSpin;
  ASSERT_EQ(CU(cuStreamSetAttribute)(
                other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamCopyAttributes)(stream_, other), CUDA_SUCCESS);
  value = {};
  ASSERT_EQ(CU(cuStreamGetAttribute)(
                stream_, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.syncPolicy, kSpin);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(other), CUDA_SUCCESS);
}

TEST_P(MemoryApiTest, WhatIsNoAllocation) {
  constexpr CUdeviceptr kNowhere = 0x1234500;
  EXPECT_NE(CU(cuMemFreeAsync)(kNowhere, stream_), CUDA_SUCCESS);
  EXPECT_NE(
      CU(cuStreamAttachMemAsync)(stream_, kNowhere, 0, CU_MEM_ATTACH_SINGLE),
      CUDA_SUCCESS);
}

INSTANTIATE_VARIANTS(MemoryApiTest);

}  // namespace
}  // namespace cerberus::stub
