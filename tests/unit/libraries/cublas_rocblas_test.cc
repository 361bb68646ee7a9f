// How cuBLAS' calls come to rocBLAS: under which names, with which arguments,
// in which stream, and what becomes of those that it does not take.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "libraries/cublas/rocblas.h"
#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/fake_rocblas.h"

namespace cerberus::libraries::tests {
namespace {

const FakeRocblas& Fake() { return *FindFakeRocblas(); }
int Calls(const std::string& symbol) {
  return Fake().fake_rocblas_calls(symbol.c_str());
}
std::string Last() { return Fake().fake_rocblas_last(); }

// C := A B of ones, 3 by 4 by 2, and what C is then.
int Gemm(const Device<float>& ones, const Device<float>& c, int op = 0) {
  const float one = 1, zero = 0;
  return Cublas("cublasSgemm_v2", CublasHandle(), op, 1, 3, 4, 2, &one,
                ones.get(), 4, ones.get(), 5, &zero, c.get(), 6);
}
class CublasRocblas : public ::testing::Test {
 protected:
  CublasRocblas()
      : ones_(std::vector<float>(40, 1)), c_(std::vector<float>(40)) {
    CublasHandle();
  }
  void SetUp() override {
    ASSERT_EQ(Cublas("cublasSetPointerMode_v2", CublasHandle(), 0), kSuccess);
  }
  Device<float> ones_, c_;
};

TEST_F(CublasRocblas, IsGivenNumbersOfItsOwn) {
  EXPECT_EQ(Gemm(ones_, c_), kSuccess);
  EXPECT_EQ(Last(), "rocblas_sgemm 111 112 3 4 2 p p 4 p 5 p p 6");
  EXPECT_EQ(Gemm(ones_, c_, kC), kSuccess);
  EXPECT_EQ(Last(), "rocblas_sgemm 113 112 3 4 2 p p 4 p 5 p p 6");
  const float one = 1;
  for (const int fill : {kLower, kUpper}) {
    for (const int side : {kLeft, kRight}) {
      for (const int diag : {kNonUnit, kUnit}) {
        EXPECT_EQ(Cublas("cublasStrsm_v2", CublasHandle(), side, fill, kN, diag,
                         2, 2, &one, ones_.get(), 2, c_.get(), 3),
                  kSuccess);
        EXPECT_EQ(Last(),
                  "rocblas_strsm " + std::to_string(side == kLeft ? 141 : 142) +
                      " " + std::to_string(fill == kLower ? 122 : 121) +
                      " 111 " + std::to_string(diag == kUnit ? 132 : 131) +
                      " 2 2 p p 2 p 3");
      }
    }
  }
}

// It divides by the diagonal unconjugated where it solves the left side by
// substitution in blocks.
TEST_F(CublasRocblas, IsNotGivenSystemsThatItGetsWrong) {
  const struct {
    int side, op, diag, m, n;
    bool given;
  } calls[] = {
      {kLeft, kC, kNonUnit, 96, 101, false},
      {kLeft, kC, kNonUnit, 64, 65, false},
      {kLeft, kC, kNonUnit, 65, 64, false},
      {kLeft, kC, kNonUnit, 64, 64, true},
      {kLeft, kC, kNonUnit, 32, 128, true},
      {kLeft, kC, kNonUnit, 96, 129, true},
      {kLeft, kC, kUnit, 96, 101, true},
      {kLeft, kT, kNonUnit, 96, 101, true},
      {kRight, kC, kNonUnit, 96, 101, true},
  };
  const Device<Complex64> a(std::vector<Complex64>(129 * 129, 1)),
      b(std::vector<Complex64>(129 * 129, 1));
  const Complex64 one = 1;
  for (const auto& call : calls) {
    const int before = Calls("rocblas_ztrsm");
    EXPECT_EQ(
        Cublas("cublasZtrsm_v2", CublasHandle(), call.side, kLower, call.op,
               call.diag, call.m, call.n, &one, a.get(), 129, b.get(), 129),
        kSuccess);
    EXPECT_EQ(Calls("rocblas_ztrsm") - before, call.given ? 1 : 0)
        << call.side << " " << call.op << " " << call.diag << " " << call.m
        << " " << call.n;
  }
}

TEST_F(CublasRocblas, IsToldTypes) {
  // cudaDataType, rocblas_datatype
  const std::pair<int, int> types[] = {{0, 151}, {1, 152}, {2, 150},
                                       {4, 154}, {5, 155}, {14, 168}};
  for (const auto& [ours, theirs] : types) {
    const int execution = ours == 2 || ours == 14 ? 0 : ours;
    const int roc_execution = execution == 0 ? 151 : theirs;
    const double scalar[2] = {};
    EXPECT_EQ(Cublas("cublasScalEx", CublasHandle(), 2,
                     static_cast<const void*>(scalar), execution, c_.get(),
                     ours, 1, execution),
              kSuccess);
    EXPECT_EQ(Last(), "rocblas_scal_ex 2 p " + std::to_string(roc_execution) +
                          " p " + std::to_string(theirs) + " 1 " +
                          std::to_string(roc_execution));
  }
}

TEST_F(CublasRocblas, IsToldHowProductsAreComputed) {
  // Types of A and C, cublasComputeType_t; rocblas_datatype of them and of how.
  const struct {
    int a, c, compute, roc_a, roc_c, roc_compute;
  } rows[] = {
      {2, 2, 64, 150, 150, 150},
      {2, 2, 65, 150, 150, 150},
      {2, 2, 68, 150, 150, 151},
      {2, 0, 68, 150, 151, 151},
      {14, 14, 68, 168, 168, 151},
      {14, 0, 69, 168, 151, 151},
      {0, 0, 68, 151, 151, 151},
      {0, 0, 69, 151, 151, 151},
      {0, 0, 74, 151, 151, 151},
      {0, 0, 75, 151, 151, 151},
      {0, 0, 77, 151, 151, 151},
      {1, 1, 70, 152, 152, 152},
      {1, 1, 71, 152, 152, 152},
      {4, 4, 68, 154, 154, 154},
      {5, 5, 70, 155, 155, 155},
      {3, 10, 72, 160, 162, 162},
      {3, 10, 73, 160, 162, 162},
      // Before CUDA 11 a type said how.
      {0, 0, 0, 151, 151, 151},
      {3, 10, 10, 160, 162, 162},
  };
  for (const auto& row : rows) {
    const double scalar[2] = {};
    const void* const zero = scalar;
    EXPECT_EQ(Cublas("cublasGemmEx", CublasHandle(), 0, 0, 4, 4, 4, zero,
                     ones_.get(), row.a, 4, ones_.get(), row.a, 4, zero,
                     c_.get(), row.c, 4, row.compute, -1),
              kSuccess)
        << row.a << " " << row.c << " " << row.compute;
    const std::string a = std::to_string(row.roc_a),
                      c = std::to_string(row.roc_c);
    EXPECT_EQ(Last(), "rocblas_gemm_ex 111 111 4 4 4 p p " + a + " 4 p " + a +
                          " 4 p p " + c + " 4 p " + c + " 4 " +
                          std::to_string(row.roc_compute));
  }
}

TEST_F(CublasRocblas, FollowsTheHandle) {
  Handle handle = nullptr;
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  void* const stream = NewStream(1);
  const auto scal = [&](const float* factor) {
    EXPECT_EQ(Cublas("cublasSscal_v2", handle, 2, factor, c_.get(), 1),
              kSuccess);
  };
  const float two = 2;
  scal(&two);
  EXPECT_EQ(Fake().fake_rocblas_hip_stream(), nullptr);
  EXPECT_EQ(Fake().fake_rocblas_setting("pointer_mode"), 0);
  // cuBLAS' default, not rocBLAS'.
  EXPECT_EQ(Fake().fake_rocblas_setting("atomics_mode"), 0);
  void* hip = nullptr;
  EXPECT_EQ(Cuda("cuCerberusHipStream", stream, &hip), 0);
  EXPECT_NE(hip, stream);
  EXPECT_EQ(Cublas("cublasSetStream_v2", handle, stream), kSuccess);
  EXPECT_EQ(Cublas("cublasSetPointerMode_v2", handle, 1), kSuccess);
  EXPECT_EQ(Cublas("cublasSetAtomicsMode", handle, 1), kSuccess);
  EXPECT_EQ(Cublas("cublasSetMathMode", handle, 3), kSuccess);
  scal(ones_.get());
  EXPECT_EQ(Fake().fake_rocblas_hip_stream(), hip);
  EXPECT_EQ(Fake().fake_rocblas_setting("pointer_mode"), 1);
  EXPECT_EQ(Fake().fake_rocblas_setting("atomics_mode"), 1);
  EXPECT_EQ(Fake().fake_rocblas_setting("math_mode"), 1);
  EXPECT_EQ(Cublas("cublasSetMathMode", handle, 2), kSuccess);
  scal(ones_.get());
  EXPECT_EQ(Fake().fake_rocblas_setting("math_mode"), 0);
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// A handle's memory is that of one stream's calls.
TEST_F(CublasRocblas, EachStreamHasAHandle) {
  Handle handle = nullptr;
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  void* const streams[] = {nullptr, NewStream(1), NewStream(1)};
  std::set<const void*> handles;
  for (int round = 0; round < 2; ++round) {
    for (void* const stream : streams) {
      EXPECT_EQ(Cublas("cublasSetStream_v2", handle, stream), kSuccess);
      const float two = 2;
      EXPECT_EQ(Cublas("cublasSscal_v2", handle, 2, &two, c_.get(), 1),
                kSuccess);
      handles.insert(Fake().fake_rocblas_handle());
    }
  }
  EXPECT_EQ(handles.size(), 3u);
  // Those of streams that were not used for long end.
  for (int i = 0; i < 40; ++i) {
    void* const stream = NewStream(1);
    EXPECT_EQ(Cublas("cublasSetStream_v2", handle, stream), kSuccess);
    const float two = 2;
    EXPECT_EQ(Cublas("cublasSscal_v2", handle, 2, &two, c_.get(), 1), kSuccess);
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
    EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
  }
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
  for (void* const stream : {streams[1], streams[2]}) {
    EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
  }
}

// What it refuses, for whatever reason of its own, the host computes.
TEST_F(CublasRocblas, WhatItDoesNotTakeTheHostComputes) {
  for (const int status : {2, 3, 4, 5, 11, 14, 15}) {
    Upload(c_.get(), std::vector<float>(40, -1).data(), 160);
    const int before = Calls("rocblas_sgemm");
    Fake().fake_rocblas_answer(status);
    EXPECT_EQ(Gemm(ones_, c_), kSuccess) << status;
    EXPECT_EQ(Calls("rocblas_sgemm"), before + 1);
    EXPECT_EQ(c_.Read()[0], 2) << status;
  }
}
TEST_F(CublasRocblas, WhatFailsInItFails) {
  // rocblas_status, cublasStatus_t; the fake computes nothing.
  const std::pair<int, int> rows[] = {{1, 14}, {6, 13}, {13, 13}, {99, 13},
                                      {7, 0},  {9, 0},  {10, 0},  {12, 0}};
  for (const auto& [theirs, ours] : rows) {
    Upload(c_.get(), std::vector<float>(40, -1).data(), 160);
    Fake().fake_rocblas_answer(theirs);
    EXPECT_EQ(Gemm(ones_, c_), ours) << theirs;
    EXPECT_EQ(c_.Read()[0], -1) << theirs;
  }
}

TEST_F(CublasRocblas, IsNotAskedForWhatIsWrongOrNothing) {
  const int before = Calls("rocblas_sgemm");
  EXPECT_EQ(Gemm(ones_, c_, 7), kInvalidValue);
  const float one = 1;
  EXPECT_EQ(Cublas("cublasSgemm_v2", CublasHandle(), 0, 0, 0, 4, 2, &one,
                   ones_.get(), 4, ones_.get(), 5, &one, c_.get(), 6),
            kSuccess);
  // CUBLAS_OP_CONJG is not rocBLAS'.
  EXPECT_EQ(Gemm(ones_, c_, kConj), kSuccess);
  EXPECT_EQ(c_.Read()[0], 2);
  EXPECT_EQ(Calls("rocblas_sgemm"), before);
}

TEST_F(CublasRocblas, HasSizesOfBothKinds) {
  const std::int64_t n = 3, step = 1, far = std::int64_t{1} << 31;
  const float one = 1;
  EXPECT_EQ(Cublas("cublasSaxpy_v2_64", CublasHandle(), n, &one, ones_.get(),
                   step, c_.get(), step),
            kSuccess);
  EXPECT_EQ(Last(), "rocblas_saxpy 3 p p 1 p 1");
  // One element: however far the next.
  EXPECT_EQ(Cublas("cublasSaxpy_v2_64", CublasHandle(), step, &one, ones_.get(),
                   far, c_.get(), -far - 1),
            kSuccess);
  EXPECT_EQ(Last(), "rocblas_saxpy_64 1 p p 2147483648 p -2147483649");
  std::int64_t at = 0;
  EXPECT_EQ(
      Cublas("cublasIsamax_v2_64", CublasHandle(), n, ones_.get(), step, &at),
      kSuccess);
  EXPECT_EQ(Last(), "rocblas_isamax_64 3 p 1 p");
  EXPECT_EQ(at, 1);
}

TEST_F(CublasRocblas, PivotsAreNeeded) {
  const Device<float> a({2, 1, 1, 3});
  const Device<float*> array({a.get()});
  const Device<int> pivots({0, 0}), info({7});
  EXPECT_EQ(Cublas("cublasSgetrfBatched", CublasHandle(), 2, array.get(), 2,
                   pivots.get(), info.get(), 1),
            kSuccess);
  EXPECT_EQ(Last(), "rocsolver_sgetrf_batched 2 2 p 2 p 2 p 1");
  const int before = Calls("rocsolver_sgetrf_batched");
  if (std::getenv("CERBERUS_LIBRARY_COPIES") == nullptr) {
    EXPECT_EQ(Cublas("cublasSgetrfBatched", CublasHandle(), 2, array.get(), 2,
                     static_cast<int*>(nullptr), info.get(), 1),
              kSuccess);
  }
  EXPECT_EQ(Calls("rocsolver_sgetrf_batched"), before);
}

// By way of the device, so that the stream is waited for.
TEST_F(CublasRocblas, ResultsOfTheHostComeByTheDevice) {
  float sum = 0;
  EXPECT_EQ(Cublas("cublasSasum_v2", CublasHandle(), 5, ones_.get(), 1, &sum),
            kSuccess);
  EXPECT_EQ(Last(), "rocblas_sasum 5 p 1 p");
  EXPECT_EQ(Fake().fake_rocblas_setting("pointer_mode"), 1);
  EXPECT_EQ(sum, 5);
  // What it answers is not the result then.
  Fake().fake_rocblas_answer(6);
  EXPECT_EQ(Cublas("cublasSasum_v2", CublasHandle(), 4, ones_.get(), 1, &sum),
            13);
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(Gemm(ones_, c_), kSuccess);
  EXPECT_EQ(Fake().fake_rocblas_setting("pointer_mode"), 0);
}

void SetFlag(void* flag) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  *static_cast<std::atomic<bool>*>(flag) = true;
}
// rocBLAS reads them when it is called, whatever the stream still has to do.
TEST_F(CublasRocblas, ScalarsOfTheDeviceAreWaitedFor) {
  Handle handle = nullptr;
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  ASSERT_EQ(Cublas("cublasSetPointerMode_v2", handle, 1), kSuccess);
  void *const stream = NewStream(1), *graph = nullptr;
  ASSERT_EQ(Cublas("cublasSetStream_v2", handle, stream), kSuccess);
  const auto gemm = [&] {
    return Cublas("cublasSgemm_v2", handle, 0, 0, 2, 2, 2, ones_.get(),
                  ones_.get(), 2, ones_.get(), 2, ones_.get(), c_.get(), 2);
  };
  std::atomic<bool> done = false;
  ASSERT_EQ(
      Cuda("cuLaunchHostFunc", stream, &SetFlag, static_cast<void*>(&done)), 0);
  const int before = Calls("rocblas_sgemm");
  EXPECT_EQ(gemm(), kSuccess);
  EXPECT_TRUE(done);
  EXPECT_EQ(Calls("rocblas_sgemm"), before + 1);
  // While it is captured they cannot be.
  EXPECT_EQ(Cuda("cuStreamBeginCapture_v2", stream, 0), 0);
  EXPECT_EQ(gemm(), kSuccess);
  EXPECT_EQ(Cuda("cuStreamEndCapture", stream, &graph), 0);
  EXPECT_EQ(Calls("rocblas_sgemm"), before + 1);
  EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// Each row was reached by the tests of cuBLAS, which look at what comes out.
class RocblasCoverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const cublas::RocblasRow& row : cublas::kRocblasRows) {
      const std::string symbol = SymbolOf(row, /*wide=*/false);
      if (Calls(symbol) == 0) missing += " " + symbol;
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new RocblasCoverage);

}  // namespace
}  // namespace cerberus::libraries::tests
