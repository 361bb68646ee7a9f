// HIP's streams, events and callbacks, and graphs that are captured from them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/emulator/hip_face.h"
#include "tests/unit/emulator/hip_face_test.h"

namespace {

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

// Nothing orders these streams; but a GPU starts what waits for nothing at
// once, and programs rely on it. Here the first stream's thread has yet to be
// made.
TEST_F(HipFace, WhatIsSubmittedFirstStartsFirst) {
  hipStream_t later = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&later, hipStreamNonBlocking), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(later), hipSuccess);
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> order{0};
    const auto note = [](void* value) {
      auto& next = *static_cast<std::atomic<int>*>(value);
      int empty = 0;
      next.compare_exchange_strong(empty, 1);
    };
    const auto note_later = [](void* value) {
      auto& next = *static_cast<std::atomic<int>*>(value);
      int empty = 0;
      next.compare_exchange_strong(empty, 2);
    };
    hipStream_t earlier = nullptr;
    ASSERT_EQ(hipStreamCreateWithFlags(&earlier, hipStreamNonBlocking),
              hipSuccess);
    ASSERT_EQ(hipLaunchHostFunc(earlier, note, &order), hipSuccess);
    ASSERT_EQ(hipLaunchHostFunc(later, note_later, &order), hipSuccess);
    ASSERT_EQ(hipStreamSynchronize(later), hipSuccess);
    ASSERT_EQ(hipStreamSynchronize(earlier), hipSuccess);
    ASSERT_EQ(order, 1) << i;
    ASSERT_EQ(hipStreamDestroy(earlier), hipSuccess);
  }
  ASSERT_EQ(hipStreamDestroy(later), hipSuccess);
}

// What was submitted first may wait for what comes later, on a GPU as here.
TEST_F(HipFace, WhatIsSubmittedFirstMayWaitForOthers) {
  hipStream_t streams[2] = {};
  for (hipStream_t& stream : streams) {
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
              hipSuccess);
  }
  Gate gate;
  gate.Close(streams[0]);
  ASSERT_EQ(
      hipLaunchHostFunc(
          streams[1], [](void* g) { static_cast<Gate*>(g)->Open(); }, &gate),
      hipSuccess);
  for (hipStream_t stream : streams) {
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  }
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
