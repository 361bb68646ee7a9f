// Parts of a GPU: green contexts, and the masks that their streams give HIP.
#include <vector>

#include "emulated.h"
#include "formats/device_attributes.h"
#include "hip/hip_loader.h"

namespace cerberus::stub {
namespace {

constexpr CUdevResourceType kInvalid = 0, kSm = 1;
constexpr unsigned kDefaultStream = 1;

// The words of the last mask that HIP was given.
std::vector<std::uint32_t> g_mask;
HipFunction<hipError_t(hipStream_t*, std::uint32_t, const std::uint32_t*)>
    g_create;
hipError_t CreateAndRemember(hipStream_t* stream, std::uint32_t words,
                             const std::uint32_t* mask) {
  g_mask.assign(mask, mask + words);
  return g_create(stream, words, mask);
}
unsigned BitsOfMask() {
  unsigned bits = 0;
  for (std::uint32_t word : g_mask) bits += __builtin_popcount(word);
  return bits;
}

class GreenContextTest : public EmulatedTest {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    ASSERT_EQ(CU(cuDeviceGetDevResource)(0, &all_, kSm), CUDA_SUCCESS);
    BindToHip(&g_create, "hipExtStreamCreateWithCUMask");
    hip.hipExtStreamCreateWithCUMask = CreateAndRemember;
  }
  void TearDown() override {
    hip.hipExtStreamCreateWithCUMask = g_create;
    EmulatedTest::TearDown();
  }

  CUgreenCtx Green(CUdevResource resource) {
    CUdevResourceDesc descriptor = nullptr;
    EXPECT_EQ(CU(cuDevResourceGenerateDesc)(&descriptor, &resource, 1),
              CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    EXPECT_EQ(CU(cuGreenCtxCreate)(&green, descriptor, 0, kDefaultStream),
              CUDA_SUCCESS);
    return green;
  }

  struct Part {
    CUgreenCtx green;
    CUstream stream;
  };

  // `context` is that of the first; a stream has what its green context has.
  void KnowEachOther(CUcontext context, Part one, Part two) {
    unsigned long long id = 0, id_of_context = 1;
    EXPECT_EQ(CU(cuGreenCtxGetId)(one.green, &id), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuCtxGetId)(context, &id_of_context), CUDA_SUCCESS);
    EXPECT_EQ(id, id_of_context);
    CUgreenCtx of_stream = nullptr;
    CUcontext context_of_stream = nullptr;
    EXPECT_EQ(CU(cuStreamGetGreenCtx)(one.stream, &of_stream), CUDA_SUCCESS);
    EXPECT_EQ(of_stream, one.green);
    EXPECT_EQ(CU(cuStreamGetCtx_v2)(two.stream, &context_of_stream, &of_stream),
              CUDA_SUCCESS);
    EXPECT_EQ(of_stream, two.green);

    CUdevResource of_first = {}, of_second = {}, of_one = {};
    EXPECT_EQ(CU(cuStreamGetDevResource)(one.stream, &of_one, kSm),
              CUDA_SUCCESS);
    EXPECT_EQ(of_one.sm.smCount, 6u);
    EXPECT_EQ(CU(cuCtxGetDevResource)(context, &of_first, kSm), CUDA_SUCCESS);
    EXPECT_EQ(of_first.sm.smCount, 6u);
    EXPECT_EQ(CU(cuGreenCtxGetDevResource)(of_stream, &of_second, kSm),
              CUDA_SUCCESS);
    EXPECT_EQ(of_second.sm.smCount, 6u);
  }

  // The second's work waits for all of the first's by an event.
  void WaitByEvents(Part one, Part two) {
    CUdeviceptr ints = Ints(1);
    int by = 2;
    void* params[] = {&ints, &by};
    CUfunction add = Add();
    CUevent event = nullptr;
    ASSERT_EQ(CU(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    {
      const Gate gate(one.stream);
      ASSERT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, one.stream,
                                   params, nullptr),
                CUDA_SUCCESS);
      EXPECT_EQ(CU(cuEventQuery)(event), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuGreenCtxRecordEvent)(one.green, event), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(CU(cuGreenCtxWaitEvent)(two.green, event), CUDA_SUCCESS);
      ASSERT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, two.stream,
                                   params, nullptr),
                CUDA_SUCCESS);
      EXPECT_TRUE(StaysBusy(two.stream));
    }
    EXPECT_EQ(ValueOf(ints), 5);
    EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
  }

  CUdevResource all_ = {};
};

TEST_F(GreenContextTest, ADeviceHasAllMultiprocessors) {
  int count = 0;
  ASSERT_EQ(CU(cuDeviceGetAttribute)(
                &count, formats::kAttribute_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(all_.type, kSm);
  EXPECT_EQ(all_.sm.smCount, static_cast<unsigned>(count));
  EXPECT_EQ(all_.sm.minSmPartitionSize, 1u);
  CUdevResource of_context = {};
  EXPECT_EQ(CU(cuCtxGetDevResource)(context_, &of_context, kSm), CUDA_SUCCESS);
  EXPECT_EQ(of_context.sm.smCount, all_.sm.smCount);
  CUexecAffinityParam affinity = {7, 0};
  EXPECT_EQ(CU(cuCtxGetExecAffinity)(&affinity, 0), CUDA_SUCCESS);
  EXPECT_EQ(affinity.type, 0);
  EXPECT_EQ(affinity.smCount, all_.sm.smCount);
  EXPECT_EQ(CU(cuDeviceGetDevResource)(0, &all_, 5),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_F(GreenContextTest, SplitsAreDisjointAndNothingIsLost) {
  const unsigned count = all_.sm.smCount;
  unsigned groups = 0;
  EXPECT_EQ(
      CU(cuDevSmResourceSplitByCount)(nullptr, &groups, &all_, nullptr, 0, 8),
      CUDA_SUCCESS);
  EXPECT_EQ(groups, count / 8);
  CUdevResource part[2], rest;
  groups = 2;
  ASSERT_EQ(CU(cuDevSmResourceSplitByCount)(part, &groups, &all_, &rest, 0, 8),
            CUDA_SUCCESS);
  EXPECT_EQ(groups, 2u);
  EXPECT_EQ(part[0].sm.smCount, 8u);
  EXPECT_EQ(part[1].sm.smCount, 8u);
  EXPECT_EQ(rest.sm.smCount, count - 16);
  // All parts together are the whole again.
  CUdevResource again[] = {part[0], rest, part[1]};
  CUdevResourceDesc descriptor = nullptr;
  ASSERT_EQ(CU(cuDevResourceGenerateDesc)(&descriptor, again, 3), CUDA_SUCCESS);
  CUgreenCtx green = nullptr;
  ASSERT_EQ(CU(cuGreenCtxCreate)(&green, descriptor, 0, 0), CUDA_SUCCESS);
  CUdevResource of_green = {};
  EXPECT_EQ(CU(cuGreenCtxGetDevResource)(green, &of_green, kSm), CUDA_SUCCESS);
  EXPECT_EQ(of_green.sm.smCount, count);
  EXPECT_EQ(CU(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
  // Everything in one group leaves no rest.
  groups = 1;
  EXPECT_EQ(
      CU(cuDevSmResourceSplitByCount)(part, &groups, &all_, &rest, 0, count),
      CUDA_SUCCESS);
  EXPECT_EQ(rest.type, kInvalid);
}

TEST_F(GreenContextTest, GroupsOfTheirOwnSizes) {
  const unsigned count = all_.sm.smCount;
  constexpr unsigned kBackfill = 1;
  CU_DEV_SM_RESOURCE_GROUP_PARAMS groups[2] = {};
  groups[0].smCount = 6;
  groups[1].coscheduledSmCount = 4;  // as many as there are
  CUdevResource parts[2], rest;
  ASSERT_EQ(CU(cuDevSmResourceSplit)(parts, 2, &all_, &rest, 0, groups),
            CUDA_SUCCESS);
  EXPECT_EQ(parts[0].sm.smCount, 6u);
  EXPECT_EQ(groups[1].smCount, (count - 6) / 4 * 4);
  EXPECT_EQ(parts[1].sm.smCount, groups[1].smCount);
  EXPECT_EQ(rest.type == kSm ? rest.sm.smCount : 0u, (count - 6) % 4);
  // The rest may be split again, and a group may take what does not fit.
  groups[0] = {5, 4, 0, kBackfill, 0, {}};
  EXPECT_EQ(CU(cuDevSmResourceSplit)(parts, 1, &parts[1], &rest, 0, groups),
            CUDA_SUCCESS);
  EXPECT_EQ(parts[0].sm.smCount, 5u);
  groups[0].flags = 0;
  EXPECT_EQ(CU(cuDevSmResourceSplit)(parts, 1, &all_, &rest, 0, groups),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  // Without a result only the counts are found out.
  groups[0] = {count, 0, 0, 0, 0, {}};
  groups[1] = {};
  EXPECT_EQ(CU(cuDevSmResourceSplit)(nullptr, 2, &all_, &rest, 0, groups),
            CUDA_SUCCESS);
  EXPECT_EQ(groups[1].smCount, 0u);
  EXPECT_EQ(rest.type, kInvalid);
  EXPECT_EQ(CU(cuDevSmResourceSplit)(parts, 2, &all_, &rest, 0, groups),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(GreenContextTest, WrongPartsAreRefused) {
  unsigned groups = 1;
  CUdevResource part, other;
  EXPECT_EQ(CU(cuDevSmResourceSplitByCount)(&part, &groups, &all_, nullptr, 0,
                                            all_.sm.smCount + 1),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(
      CU(cuDevSmResourceSplitByCount)(&part, &groups, &all_, nullptr, 0, 4),
      CUDA_SUCCESS);
  ASSERT_EQ(
      CU(cuDevSmResourceSplitByCount)(&other, &groups, &all_, nullptr, 0, 4),
      CUDA_SUCCESS);
  EXPECT_EQ(
      CU(cuDevSmResourceSplitByCount)(&other, &groups, &part, nullptr, 0, 1),
      CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  CUdevResourceDesc descriptor = nullptr;
  CUdevResource both[] = {part, other};  // of two splits
  EXPECT_EQ(CU(cuDevResourceGenerateDesc)(&descriptor, both, 2),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  CUdevResource empty = {};
  EXPECT_EQ(CU(cuDevResourceGenerateDesc)(&descriptor, &empty, 1),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
  ASSERT_EQ(CU(cuDevResourceGenerateDesc)(&descriptor, &part, 1), CUDA_SUCCESS);
  CUgreenCtx green = nullptr;
  EXPECT_EQ(CU(cuGreenCtxCreate)(&green, descriptor, 0, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGreenCtxCreate)(&green, descriptor, 1, kDefaultStream),
            CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(GreenContextTest, ItsStreamsKeepToItsMultiprocessors) {
  CUdevResource part[2];
  unsigned groups = 2;
  ASSERT_EQ(
      CU(cuDevSmResourceSplitByCount)(part, &groups, &all_, nullptr, 0, 6),
      CUDA_SUCCESS);
  CUgreenCtx first = Green(part[0]), second = Green(part[1]);
  CUstream one = nullptr, two = nullptr, current = nullptr;
  EXPECT_EQ(CU(cuGreenCtxStreamCreate)(&one, first, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuGreenCtxStreamCreate)(&one, first, CU_STREAM_NON_BLOCKING, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(BitsOfMask(), 6u);
  const std::vector<std::uint32_t> mask = g_mask;
  ASSERT_EQ(CU(cuGreenCtxStreamCreate)(&two, second, CU_STREAM_NON_BLOCKING, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(BitsOfMask(), 6u);
  EXPECT_EQ(mask[0] & g_mask[0], 0u);

  CUcontext context = nullptr;
  ASSERT_EQ(CU(cuCtxFromGreenCtx)(&context, first), CUDA_SUCCESS);
  EXPECT_NE(context, context_);
  // As cudart wants it.
  EXPECT_EQ(static_cast<void*>(context), static_cast<void*>(first));
  KnowEachOther(context, {first, one}, {second, two});
  // Whatever makes a stream in it.
  ASSERT_EQ(CU(cuCtxPushCurrent_v2)(context), CUDA_SUCCESS);
  g_mask.clear();
  ASSERT_EQ(CU(cuStreamCreate)(&current, 0), CUDA_SUCCESS);
  EXPECT_EQ(g_mask, mask);
  WaitByEvents({first, one}, {second, two});
  EXPECT_EQ(CU(cuCtxPopCurrent_v2)(nullptr), CUDA_SUCCESS);

  for (CUstream stream : {one, two, current}) {
    EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(CU(cuCtxDestroy_v2)(context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CU(cuGreenCtxDestroy)(first), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGreenCtxDestroy)(second), CUDA_SUCCESS);
  CUdevResource gone;
  EXPECT_EQ(CU(cuCtxGetDevResource)(context, &gone, kSm),
            CUDA_ERROR_INVALID_CONTEXT);
  CUstream plain = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&plain, 0), CUDA_SUCCESS);
  CUgreenCtx of_stream = second;
  EXPECT_EQ(CU(cuStreamGetGreenCtx)(plain, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, nullptr);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(plain), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, WaitsForWorkOfOthers) {
  CUgreenCtx green = Green(all_);
  CUstream stream = nullptr, other = nullptr;
  ASSERT_EQ(
      CU(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0),
      CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&event, 0), CUDA_SUCCESS);
  const CUdeviceptr ints = Ints(1);
  {
    const Gate gate(other);
    ASSERT_EQ(CU(cuEventRecord)(event, other), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuGreenCtxWaitEvent)(green, event), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemsetD32Async)(ints, 3, kThreads, stream), CUDA_SUCCESS);
    EXPECT_TRUE(StaysBusy(stream));
  }
  EXPECT_EQ(ValueOf(ints), 3);
  EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
  for (CUstream each : {stream, other}) {
    EXPECT_EQ(CU(cuStreamDestroy_v2)(each), CUDA_SUCCESS);
  }
  EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cerberus::stub
