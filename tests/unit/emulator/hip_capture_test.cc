// A capture that its program adds nodes to.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

TEST(HipCapture, NodesAddedByHand) {
  hipStream_t stream = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
            hipSuccess);
  ASSERT_EQ(hipMalloc(&memory, 256), hipSuccess);
  std::uint32_t status = 9;
  EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr,
                                       nullptr, nullptr),
            hipSuccess);
  EXPECT_EQ(status, 0u);
  EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream, nullptr, 0, 0),
            hipErrorIllegalState);

  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  int host[64] = {};
  ASSERT_EQ(hipMemcpyAsync(host, memory, 256, hipMemcpyDeviceToHost, stream),
            hipSuccess);
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* front = nullptr;
  std::size_t count = 0;
  unsigned long long id = 0;
  ASSERT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &front,
                                       &count),
            hipSuccess);
  EXPECT_EQ(status, 1u);
  ASSERT_EQ(count, 1u);
  const hipGraphNode_t copy = front[0];
  hipGraphNode_t added = nullptr;
  ASSERT_EQ(hipGraphAddEmptyNode(&added, graph, &copy, 1), hipSuccess);
  ASSERT_EQ(hipStreamUpdateCaptureDependencies(stream, &added, 1, 1),
            hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(memory, host, 256, hipMemcpyHostToDevice, stream),
            hipSuccess);
  ASSERT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, &front,
                                       &count),
            hipSuccess);
  ASSERT_EQ(count, 1u);
  const hipGraphNode_t last = front[0];
  hipGraph_t ended = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream, &ended), hipSuccess);
  EXPECT_EQ(ended, graph);
  std::size_t nodes = 0;
  ASSERT_EQ(hipGraphGetNodes(ended, nullptr, &nodes), hipSuccess);
  EXPECT_EQ(nodes, 3u);
  hipGraphNode_t before = nullptr;
  std::size_t one = 1;
  ASSERT_EQ(hipGraphNodeGetDependencies(last, &before, &one), hipSuccess);
  EXPECT_EQ(one, 1u);
  EXPECT_EQ(before, added);
  EXPECT_EQ(hipGraphDestroy(ended), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipFree(memory), hipSuccess);
}

// A graph that was asked for during a capture that fails dies with it.
TEST(HipCapture, AFailedCaptureLeavesNoGraph) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  std::uint32_t status = 0;
  hipGraph_t graph = nullptr, ended = nullptr;
  ASSERT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph,
                                       nullptr, nullptr),
            hipSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipSuccess);
  // Waiting for a stream that captures ends its capture.
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(stream, &ended),
            hipErrorStreamCaptureInvalidated);
  EXPECT_EQ(ended, nullptr);
  EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

}  // namespace
