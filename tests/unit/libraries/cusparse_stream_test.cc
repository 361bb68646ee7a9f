// Calls in the order of a stream, and in graphs.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY

class CusparseStream : public ::testing::Test {
 protected:
  void SetUp() override {
    SparseHandle();
    ASSERT_EQ(Cuda("cuStreamCreate", &stream_, 1u), 0);  // non-blocking
    ASSERT_EQ(Call("cusparseCreate", &handle_), kSuccess);
    ASSERT_EQ(Call("cusparseSetStream", handle_, stream_), kSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
    EXPECT_EQ(Call("cusparseDestroy", handle_), kSuccess);
    EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream_), 0);
  }
  // The stream waits from here until Open().
  void Close() {
    open_ = false;
    ASSERT_EQ(
        Cuda(
            "cuLaunchHostFunc", stream_,
            +[](void* data) {
              const auto* open = static_cast<std::atomic<bool>*>(data);
              while (!*open) {
                std::this_thread::sleep_for(std::chrono::microseconds(100));
              }
            },
            static_cast<void*>(&open_)),
        0);
  }
  void Open() { open_ = true; }
  void Fill(const Device<std::uint8_t>& memory, float value, std::size_t n) {
    std::uint32_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof bits,
                reinterpret_cast<char*>(&bits));
    ASSERT_EQ(
        Cuda("cuMemsetD32Async", reinterpret_cast<std::uint64_t>(memory.get()),
             bits, n, stream_),
        0);
  }
  int Multiply(Object m, Object x, Object y, const void* alpha,
               const void* beta) {
    return Call("cusparseSpMV", handle_, kN, alpha, m, x, beta, y, kR32, 0,
                Object{nullptr});
  }

  void* stream_ = nullptr;
  Handle handle_ = nullptr;
  std::atomic<bool> open_ = true;
};

Matrix Identity(long n) {
  Matrix out(n, n);
  for (long i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

// What is set in front of a call counts, what behind it does not; descriptors
// and the host's scalars may go as soon as it returns.
TEST_F(CusparseStream, WorkStandsBetweenWhatIsBeforeAndBehind) {
  const DenseVector x(kR32, {0, 0, 0}), y(kR32, {0, 0, 0});
  Close();
  Fill(x.memory(), 5, 3);
  {
    const SparseMatrix m(Identity(3), kR32);
    const Object same =
        Made("cusparseCreateCsr", std::int64_t{3}, std::int64_t{3},
             std::int64_t{3}, m.major().get(), m.minor().get(),
             m.values().get(), kInt, kInt, 0, kR32);
    float alpha = 2, beta = 0;
    EXPECT_EQ(Multiply(same, x.get(), y.get(), &alpha, &beta), kSuccess);
    alpha = 100;
    EXPECT_EQ(Call("cusparseDestroySpMat", same), kSuccess);
    Fill(x.memory(), 7, 3);
    EXPECT_EQ(Cuda("cuStreamQuery", stream_), kNotReady);
    Open();
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  }
  ExpectEqual(y.Read(), {10, 10, 10}, "y");
  ExpectEqual(x.Read(), {7, 7, 7}, "x");
}

// The host is told of sizes when the call returns, whatever stands before it.
TEST_F(CusparseStream, SizesAreWaitedFor) {
  const DenseMatrix dense(kR32, Matrix(2, 3), kByColumns, 0);
  const Device<int> offsets({9, 9, 9});
  const Object sparse = Made(
      "cusparseCreateCsr", std::int64_t{2}, std::int64_t{3}, std::int64_t{0},
      offsets.get(), Object{nullptr}, Object{nullptr}, kInt, kInt, 0, kR32);
  Close();
  Fill(dense.memory(), 1, 5);
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Open();
  });
  EXPECT_EQ(Call("cusparseDenseToSparse_analysis", handle_, dense.get(), sparse,
                 0, Object{nullptr}),
            kSuccess);
  std::int64_t rows = 0, columns = 0, nnz = 0;
  EXPECT_EQ(Call("cusparseSpMatGetSize", sparse, &rows, &columns, &nnz),
            kSuccess);
  EXPECT_EQ(nnz, 5);
  opener.join();
  EXPECT_EQ(Call("cusparseDestroySpMat", sparse), kSuccess);
}

// Values that an update names are those of then.
TEST_F(CusparseStream, UpdatesAreInOrder) {
  const SparseMatrix m(Identity(3), kR32);
  const DenseVector x(kR32, {8, 8, 8}), y(kR32, {0, 0, 0}), z(kR32, {0, 0, 0});
  const Device<std::uint8_t> values(Bytes(12));
  const Object descr = Made("cusparseSpSV_createDescr");
  const float one = 1;
  EXPECT_EQ(Call("cusparseSpSV_analysis", handle_, kN, &one, m.get(), x.get(),
                 y.get(), kR32, 0, descr, Object{nullptr}),
            kSuccess);
  Close();
  for (const auto& [value, to] : {std::pair(2.0f, &y), {4.0f, &z}}) {
    Fill(values, value, 3);
    EXPECT_EQ(
        Call("cusparseSpSV_updateMatrix", handle_, descr, values.get(), 0),
        kSuccess);
    EXPECT_EQ(Call("cusparseSpSV_solve", handle_, kN, &one, m.get(), x.get(),
                   to->get(), kR32, 0, descr),
              kSuccess);
  }
  EXPECT_EQ(Call("cusparseSpSV_destroyDescr", descr), kSuccess);
  Open();
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
  ExpectEqual(y.Read(), {4, 4, 4}, "first");
  ExpectEqual(z.Read(), {2, 2, 2}, "second");
}

TEST_F(CusparseStream, GoesIntoGraphs) {
  const Matrix a = Plus(Identity(3), Identity(3));
  const SparseMatrix m(a, kR32);
  const DenseVector x(kR32, {0, 0, 0}), y(kR32, {0, 0, 0}), z(kR32, {0, 0, 0});
  const float one = 1, zero = 0;
  void *graph = nullptr, *ready = nullptr;
  ASSERT_EQ(Cuda("cuStreamBeginCapture_v2", stream_, 2), 0);  // relaxed
  EXPECT_EQ(Multiply(m.get(), x.get(), y.get(), &one, &zero), kSuccess);
  EXPECT_EQ(Multiply(m.get(), y.get(), z.get(), &one, &one), kSuccess);
  // What the host must wait for cannot be captured.
  float result = 0;
  const Object sparse =
      Made("cusparseCreateSpVec", std::int64_t{3}, std::int64_t{3},
           m.minor().get(), m.values().get(), kInt, 0, kR32);
  EXPECT_NE(Call("cusparseSpVV", handle_, kN, sparse, x.get(), &result, kR32,
                 Object{nullptr}),
            kSuccess);
  EXPECT_EQ(Call("cusparseDestroySpVec", sparse), kSuccess);
  EXPECT_EQ(Cuda("cuStreamEndCapture", stream_, &graph), 0);
  EXPECT_EQ(Cuda("cuGraphInstantiateWithFlags", &ready, graph, 0ull), 0);
  EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  float total = 0;
  for (const float value : {1.0f, 2.0f, 5.0f}) {
    Fill(x.memory(), value, 3);
    EXPECT_EQ(Cuda("cuGraphLaunch", ready, stream_), 0);
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream_), 0);
    total += 4 * value;
    ExpectEqual(z.Read(), {total, total, total}, "launched");
  }
  EXPECT_EQ(Cuda("cuGraphExecDestroy", ready), 0);
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
