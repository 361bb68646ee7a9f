// Calls in the order of a stream: they wait for what is in front of them, what
// is behind waits for them, and they go into graphs.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY

// A handle on a stream of its own.
class CublasStream : public ::testing::Test {
 protected:
  void SetUp() override {
    CublasHandle();
    stream_ = NewStream(1);  // non-blocking
    ASSERT_NE(stream_, nullptr);
    ASSERT_EQ(Cublas("cublasCreate_v2", &handle_), kSuccess);
    ASSERT_EQ(Cublas("cublasSetStream_v2", handle_, stream_), kSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
    if (handle_) EXPECT_EQ(Cublas("cublasDestroy_v2", handle_), kSuccess);
    EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream_), 0);
  }
  void Fill(const Device<float>& x, float value, std::size_t n) {
    std::uint32_t bits;
    static_assert(sizeof bits == sizeof value);
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof bits,
                reinterpret_cast<char*>(&bits));
    ASSERT_EQ(Cuda("cuMemsetD32Async", reinterpret_cast<std::uint64_t>(x.get()),
                   bits, n, stream_),
              0);
  }
  void DeviceMode() {
    ASSERT_EQ(Cublas("cublasSetPointerMode_v2", handle_, 1), kSuccess);
  }

  void* stream_ = nullptr;
  Handle handle_ = nullptr;
};

// A stream waits from its making until it is opened.
class Gate {
 public:
  explicit Gate(void* stream) {
    EXPECT_EQ(Cuda("cuLaunchHostFunc", stream, &Wait, static_cast<void*>(this)),
              0);
  }
  ~Gate() {
    Open();
    while (!passed_) std::this_thread::yield();
  }
  void Open() { open_ = true; }

 private:
  static void Wait(void* data) {
    auto* gate = static_cast<Gate*>(data);
    while (!gate->open_) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    gate->passed_ = true;
  }
  std::atomic<bool> open_ = false, passed_ = false;
};
// Opens it a little later.
std::thread Later(Gate& gate) {
  return std::thread([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate.Open();
  });
}

TEST_F(CublasStream, WorkStandsBetweenWhatIsBeforeAndBehind) {
  const std::size_t n = 100;
  const Device<float> x(std::vector<float>(n, 1)), y(std::vector<float>(n, 2));
  float alpha = 3;
  {
    Gate gate(stream_);
    Fill(x, 10, n);
    EXPECT_EQ(Cublas("cublasSaxpy_v2", handle_, static_cast<int>(n), &alpha,
                     x.get(), 1, y.get(), 1),
              kSuccess);
    // It has been read already.
    alpha = 1000;
    Fill(x, 50, n);
    EXPECT_EQ(Cuda("cuStreamQuery", stream_), kNotReady);
  }
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  EXPECT_EQ(y.Read(), std::vector<float>(n, 32));
  EXPECT_EQ(x.Read(), std::vector<float>(n, 50));
}

TEST_F(CublasStream, ScalarsOfTheDeviceAreReadInOrder) {
  DeviceMode();
  const Device<float> x({1, 2, 3}), y({4, 5, 6}), alpha({0}), result({0});
  {
    Gate gate(stream_);
    Fill(alpha, 2, 1);
    EXPECT_EQ(Cublas("cublasSscal_v2", handle_, 3, alpha.get(), x.get(), 1),
              kSuccess);
    EXPECT_EQ(Cublas("cublasSdot_v2", handle_, 3, x.get(), 1, y.get(), 1,
                     result.get()),
              kSuccess);
    // The result is the next one's factor.
    EXPECT_EQ(Cublas("cublasSscal_v2", handle_, 3, result.get(), y.get(), 1),
              kSuccess);
    Fill(alpha, 9, 1);
    EXPECT_EQ(Cuda("cuStreamQuery", stream_), kNotReady);
  }
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  EXPECT_EQ(x.Read(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(result.Read()[0], 64);
  EXPECT_EQ(y.Read(), (std::vector<float>{256, 320, 384}));
}

TEST_F(CublasStream, AResultOfTheHostIsThereWhenTheCallReturns) {
  const Device<float> x({0, 0, 0});
  Gate gate(stream_);
  Fill(x, -3, 3);
  std::thread opener = Later(gate);
  float result = 0;
  EXPECT_EQ(Cublas("cublasSasum_v2", handle_, 3, x.get(), 1, &result),
            kSuccess);
  EXPECT_EQ(result, 9);
  opener.join();
}

TEST_F(CublasStream, EventsOrderTwoStreams) {
  void *const other = NewStream(1), *event = nullptr;
  Handle second = nullptr;
  ASSERT_EQ(Cuda("cuEventCreate", &event, 2u), 0);
  ASSERT_EQ(Cublas("cublasCreate_v2", &second), kSuccess);
  ASSERT_EQ(Cublas("cublasSetStream_v2", second, other), kSuccess);
  const Device<double> a({1, 2, 3, 4}), b({1, 1, 0, 1}), c({0, 0, 0, 0});
  const double one = 1, zero = 0, ten = 10;
  {
    Gate gate(stream_);
    EXPECT_EQ(Cublas("cublasDgemm_v2", handle_, 0, 0, 2, 2, 2, &one, a.get(), 2,
                     b.get(), 2, &zero, c.get(), 2),
              kSuccess);
    EXPECT_EQ(Cuda("cuEventRecord", event, stream_), 0);
    EXPECT_EQ(Cuda("cuStreamWaitEvent", other, event, 0u), 0);
    EXPECT_EQ(Cublas("cublasDscal_v2", second, 4, &ten, c.get(), 1), kSuccess);
    EXPECT_EQ(Cuda("cuStreamQuery", other), kNotReady);
  }
  EXPECT_EQ(Cuda("cuStreamSynchronize", other), 0);
  EXPECT_EQ(c.Read(), (std::vector<double>{40, 60, 30, 40}));
  EXPECT_EQ(Cublas("cublasDestroy_v2", second), kSuccess);
  EXPECT_EQ(Cuda("cuEventDestroy_v2", event), 0);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", other), 0);
}

// What is in an array of pointers counts when the stream comes to the call.
TEST_F(CublasStream, PointersOfABatchAreReadInOrder) {
  const Device<float> a({2}), b({3}), c({0});
  const Device<float*> pa(std::vector<float*>{nullptr}), pb({b.get()}),
      pc({c.get()});
  float* late = a.get();
  Gate gate(stream_);
  ASSERT_EQ(
      Cuda("cuMemcpyHtoDAsync_v2", reinterpret_cast<std::uint64_t>(pa.get()),
           &late, sizeof late, stream_),
      0);
  std::thread opener = Later(gate);
  const float one = 1, zero = 0;
  EXPECT_EQ(Cublas("cublasSgemmBatched", handle_, 0, 0, 1, 1, 1, &one, pa.get(),
                   1, pb.get(), 1, &zero, pc.get(), 1, 1),
            kSuccess);
  opener.join();
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  EXPECT_EQ(c.Read()[0], 6);
}

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
TEST_F(CublasStream, StreamsThatAreNumbers) {
  for (const std::uintptr_t number : {0, 1, 2}) {
    void* const stream = reinterpret_cast<void*>(number);
    EXPECT_EQ(Cublas("cublasSetStream_v2", handle_, stream), kSuccess);
    const Device<float> x({1, 2, 3});
    const float two = 2;
    EXPECT_EQ(Cublas("cublasSscal_v2", handle_, 3, &two, x.get(), 1), kSuccess);
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
    EXPECT_EQ(x.Read(), (std::vector<float>{2, 4, 6})) << number;
  }
}

TEST_F(CublasStream, WorkOutlivesItsHandle) {
  const Device<float> x({1, 2, 3});
  const float two = 2;
  Gate gate(stream_);
  EXPECT_EQ(Cublas("cublasSscal_v2", handle_, 3, &two, x.get(), 1), kSuccess);
  std::thread opener = Later(gate);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle_), kSuccess);
  handle_ = nullptr;
  opener.join();
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  EXPECT_EQ(x.Read(), (std::vector<float>{2, 4, 6}));
}

class CublasGraph : public CublasStream {
 protected:
  void Begin() {
    ASSERT_EQ(Cuda("cuStreamBeginCapture_v2", stream_, 2), 0);  // relaxed
  }
  // Makes what was captured ready; the graph itself goes.
  void* End() {
    void *graph = nullptr, *ready = nullptr;
    EXPECT_EQ(Cuda("cuStreamEndCapture", stream_, &graph), 0);
    EXPECT_EQ(Cuda("cuGraphInstantiateWithFlags", &ready, graph, 0ull), 0);
    EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
    return ready;
  }
  void Launch(void* graph) {
    EXPECT_EQ(Cuda("cuGraphLaunch", graph, stream_), 0);
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  }
};

TEST_F(CublasGraph, IsLaunchedWithOtherInputs) {
  DeviceMode();
  const Device<double> a({1, 2, 3, 4}), x({0, 0}), y({0, 0}), norm({0}),
      one({1}), zero({0}), pair(std::vector<double>(8, 1)),
      out(std::vector<double>(8, 0));
  Begin();
  EXPECT_EQ(Cublas("cublasDgemv_v2", handle_, 0, 2, 2, one.get(), a.get(), 2,
                   x.get(), 1, zero.get(), y.get(), 1),
            kSuccess);
  EXPECT_EQ(Cublas("cublasDasum_v2", handle_, 2, y.get(), 1, norm.get()),
            kSuccess);
  EXPECT_EQ(Cublas("cublasDgemmStridedBatched", handle_, 0, 0, 2, 2, 2,
                   norm.get(), a.get(), 2, 0ll, pair.get(), 2, 4ll, zero.get(),
                   out.get(), 2, 4ll, 2),
            kSuccess);
  // Nothing has been done yet.
  EXPECT_EQ(y.Read(), (std::vector<double>{0, 0}));
  void* graph = End();
  for (const double v : {1.0, -2.0, 5.0}) {
    const double in[] = {v, 2 * v};
    Upload(x.get(), in, sizeof in);
    Launch(graph);
    EXPECT_EQ(y.Read(), (std::vector<double>{7 * v, 10 * v}));
    const double n = 17 * std::abs(v);
    EXPECT_EQ(norm.Read()[0], n);
    EXPECT_EQ(out.Read(), (std::vector<double>{4 * n, 6 * n, 4 * n, 6 * n,
                                               4 * n, 6 * n, 4 * n, 6 * n}));
  }
  EXPECT_EQ(Cuda("cuGraphExecDestroy", graph), 0);
}

// Scalars of the host are kept with the graph; a result of the host cannot be
// waited for, which leaves the capture as it was.
TEST_F(CublasGraph, ScalarsOfTheHost) {
  const Device<float> x({1, 2});
  float alpha = 2, result = 0;
  Begin();
  EXPECT_EQ(Cublas("cublasSscal_v2", handle_, 2, &alpha, x.get(), 1), kSuccess);
  alpha = 100;
  EXPECT_NE(Cublas("cublasSasum_v2", handle_, 2, x.get(), 1, &result),
            kSuccess);
  void* graph = End();
  Launch(graph);
  Launch(graph);
  Launch(graph);
  EXPECT_EQ(x.Read(), (std::vector<float>{8, 16}));
  EXPECT_EQ(Cuda("cuGraphExecDestroy", graph), 0);
}

// Where the host works in the device's memory, an array of pointers is read at
// each launch. Where it works on copies, it would have to be read now.
TEST_F(CublasGraph, PointersOfABatch) {
  const Device<float> a({2}), b({3}), c({0}), other({5});
  const Device<float*> pa({a.get()}), pb({b.get()}), pc({c.get()});
  const float one = 1, zero = 0;
  Begin();
  const int status = Cublas("cublasSgemmBatched", handle_, 0, 0, 1, 1, 1, &one,
                            pa.get(), 1, pb.get(), 1, &zero, pc.get(), 1, 1);
  if (std::getenv("CERBERUS_LIBRARY_COPIES") != nullptr) {
    EXPECT_NE(status, kSuccess);
    void* graph = nullptr;
    Cuda("cuStreamEndCapture", stream_, &graph);
    return;
  }
  EXPECT_EQ(status, kSuccess);
  void* graph = End();
  Launch(graph);
  EXPECT_EQ(c.Read()[0], 6);
  float* const changed = other.get();
  Upload(pa.get(), &changed, sizeof changed);
  Launch(graph);
  EXPECT_EQ(c.Read()[0], 15);
  EXPECT_EQ(Cuda("cuGraphExecDestroy", graph), 0);
}

TEST(CublasThreads, TwoThreadsWithAHandleEach) {
  CublasHandle();
  std::atomic<int> wrong = 0;
  const auto work = [&wrong](const Device<double>* a, const Device<double>* c,
                             double factor) {
    Handle handle = nullptr;
    // Without a context: cublasCreate makes the first device's current.
    wrong += Cublas("cublasCreate_v2", &handle) != kSuccess;
    void* const stream = NewStream(1);
    wrong += Cublas("cublasSetStream_v2", handle, stream) != kSuccess;
    const double zero = 0;
    for (int i = 0; i < 200; ++i) {
      const double alpha = factor * i;
      double sum = -1;
      wrong += Cublas("cublasDgemm_v2", handle, 0, 1, 3, 3, 3, &alpha, a->get(),
                      3, a->get(), 3, &zero, c->get(), 3) != kSuccess;
      wrong +=
          Cublas("cublasDasum_v2", handle, 9, c->get(), 1, &sum) != kSuccess;
      // A is of ones.
      wrong += sum != 27 * std::abs(alpha);
    }
    wrong += Cublas("cublasDestroy_v2", handle) != kSuccess;
    wrong += Cuda("cuStreamDestroy_v2", stream) != 0;
  };
  const Device<double> a(std::vector<double>(9, 1)), c(std::vector<double>(9)),
      b(std::vector<double>(9, 1)), d(std::vector<double>(9));
  std::thread first(work, &a, &c, 1.0), second(work, &b, &d, -3.0);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace cerberus::libraries::tests
