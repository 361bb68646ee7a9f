// A capture that its program adds nodes to.
#include <gtest/gtest.h>

#include <algorithm>
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
  ASSERT_EQ(
      hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &front, &count),
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
  ASSERT_EQ(
      hipStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, &front, &count),
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

// A stream that has joined may go before the capture ends. Where it has not,
// its work is missed all the same; without its origin a capture has failed.
TEST(HipCapture, StreamsMayBeDestroyedMeanwhile) {
  enum Case { kJoined, kUnjoined, kOrigin };
  for (const Case c : {kJoined, kUnjoined, kOrigin}) {
    SCOPED_TRACE(c);
    hipStream_t origin = nullptr, side = nullptr;
    hipEvent_t forked = nullptr, joined = nullptr;
    void* memory = nullptr;
    const char host[128] = {};
    ASSERT_EQ(hipMalloc(&memory, 128), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithFlags(&origin, 0), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithFlags(&side, 0), hipSuccess);
    ASSERT_EQ(hipEventCreateWithFlags(&forked, 0), hipSuccess);
    ASSERT_EQ(hipEventCreateWithFlags(&joined, 0), hipSuccess);
    ASSERT_EQ(hipStreamBeginCapture(origin, 0), hipSuccess);
    ASSERT_EQ(hipMemcpyAsync(memory, host, 128, hipMemcpyHostToDevice, origin),
              hipSuccess);
    ASSERT_EQ(hipEventRecord(forked, origin), hipSuccess);
    ASSERT_EQ(hipStreamWaitEvent(side, forked, 0), hipSuccess);
    ASSERT_EQ(hipMemcpyAsync(memory, host, 64, hipMemcpyHostToDevice, side),
              hipSuccess);
    ASSERT_EQ(hipEventRecord(joined, side), hipSuccess);
    if (c == kJoined) {
      ASSERT_EQ(hipStreamWaitEvent(origin, joined, 0), hipSuccess);
    }
    ASSERT_EQ(hipStreamDestroy(c == kOrigin ? origin : side), hipSuccess);
    hipGraph_t graph = nullptr;
    if (c == kOrigin) {
      std::uint32_t status = 0;
      EXPECT_EQ(hipStreamIsCapturing(side, &status), hipSuccess);
      EXPECT_EQ(status, 2u);
      EXPECT_EQ(hipStreamDestroy(side), hipSuccess);
    } else {
      EXPECT_EQ(hipStreamEndCapture(origin, &graph),
                c == kJoined ? hipSuccess : hipErrorStreamCaptureUnjoined);
      EXPECT_EQ(hipStreamDestroy(origin), hipSuccess);
    }
    if (c == kJoined) {
      std::size_t nodes = 0;
      EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipSuccess);
      EXPECT_EQ(nodes, 2u);
      EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    }
    EXPECT_EQ(hipEventDestroy(forked), hipSuccess);
    EXPECT_EQ(hipEventDestroy(joined), hipSuccess);
    EXPECT_EQ(hipFree(memory), hipSuccess);
  }
}

// A capture makes nodes of allocating and freeing: each run has the memory,
// also after the program has freed what the graph left to it.
TEST(HipCapture, AllocatesInEachRun) {
  for (const bool graph_frees : {true, false}) {
    SCOPED_TRACE(graph_frees);
    hipStream_t stream = nullptr;
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
    ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
    int words[64], back[64] = {};
    void* memory = nullptr;
    ASSERT_EQ(hipMallocAsync(&memory, sizeof words, stream), hipSuccess);
    ASSERT_EQ(hipMemcpyAsync(memory, words, sizeof words, hipMemcpyHostToDevice,
                             stream),
              hipSuccess);
    ASSERT_EQ(hipMemcpyAsync(back, memory, sizeof words, hipMemcpyDeviceToHost,
                             stream),
              hipSuccess);
    if (graph_frees) {
      ASSERT_EQ(hipFreeAsync(memory, stream), hipSuccess);
    }
    hipGraph_t graph = nullptr;
    ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
    std::size_t nodes = 0;
    EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipSuccess);
    EXPECT_EQ(nodes, graph_frees ? 4u : 3u);
    hipGraphExec_t exec = nullptr;
    ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0),
              hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    for (int run = 0; run < 3; ++run) {
      for (int i = 0; i < 64; ++i) words[i] = 100 * run + i;
      EXPECT_EQ(hipGraphLaunch(exec, stream), hipSuccess);
      EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
      EXPECT_TRUE(std::equal(back, back + 64, words)) << run;
      if (!graph_frees && run < 2) {
        EXPECT_EQ(run == 0 ? hipFree(memory) : hipFreeAsync(memory, stream),
                  hipSuccess);
      }
    }
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
    // What the last run has left is the program's.
    EXPECT_EQ(hipFree(memory), graph_frees ? hipErrorInvalidValue : hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  }
}

}  // namespace
