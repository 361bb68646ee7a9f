// How cuSOLVER's calls come to rocSOLVER: under which names, with which
// arguments, and what becomes of those that it does not take. What comes out is
// compared by the tests of cuSOLVER, which run over it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libraries/cusolver/rocsolver.h"
#include "tests/unit/libraries/cusolver.h"
#include "tests/unit/libraries/fake_rocblas.h"

namespace cerberus::libraries::tests::solver {
namespace {

std::string Last() { return FindFakeRocblas()->fake_rocblas_last(); }

struct CusolverRocm : ::testing::Test {
  Device<float> a = Device<float>({4, 1, 1, 3}), b = Device<float>({1, 2}),
                w = Device<float>(std::vector<float>(8)),
                u = Device<float>(std::vector<float>(4));
  Device<int> pivots = Device<int>({0, 0}), info = Device<int>({7});
  float* const none = nullptr;
};

TEST_F(CusolverRocm, IsGivenNumbersOfItsOwn) {
  const auto potrf = [&](int fill) {
    return Solver("cusolverDnSpotrf", SolverHandle(), fill, 2, a.get(), 2,
                  w.get(), 32, info.get());
  };
  EXPECT_EQ(potrf(kLower), kSuccess);
  EXPECT_EQ(Last(), "rocsolver_spotrf 122 2 p 2 p");
  EXPECT_EQ(info.Read()[0], 0);
  EXPECT_EQ(potrf(kUpper), kSuccess);
  EXPECT_EQ(Last(), "rocsolver_spotrf 121 2 p 2 p");
  // cublasOperation_t, rocblas_operation: of real numbers none is conjugated.
  const std::pair<int, const char*> ops[] = {
      {kN, "111"}, {kT, "112"}, {kC, "112"}};
  for (const auto& [op, theirs] : ops) {
    EXPECT_EQ(Solver("cusolverDnSgetrs", SolverHandle(), op, 2, 1, a.get(), 2,
                     pivots.get(), b.get(), 2, info.get()),
              kSuccess);
    EXPECT_EQ(Last(),
              std::string("rocsolver_sgetrs ") + theirs + " 2 1 p 2 p p 2");
    EXPECT_EQ(info.Read()[0], 0);
  }
  for (const int side : {kLeft, kRight}) {
    EXPECT_EQ(Solver("cusolverDnSormqr", SolverHandle(), side, kT, 2, 2, 1,
                     a.get(), 2, w.get(), u.get(), 2, w.get(), 32, info.get()),
              kSuccess);
    EXPECT_EQ(Last(), std::string("rocsolver_sormqr ") +
                          (side == kLeft ? "141" : "142") +
                          " 112 2 2 1 p 2 p p 2");
    EXPECT_EQ(Solver("cusolverDnSorgbr", SolverHandle(), side, 2, 2, 2, a.get(),
                     2, w.get(), w.get(), 32, info.get()),
              kSuccess);
    EXPECT_EQ(Last(), std::string("rocsolver_sorgbr ") +
                          (side == kLeft ? "181" : "182") + " 2 2 2 p 2 p");
  }
}

TEST_F(CusolverRocm, IsToldWhatIsWanted) {
  // cusolverEigMode_t, rocblas_evect.
  for (const int mode : {0, 1}) {
    const std::string theirs = mode == 1 ? "211" : "213";
    EXPECT_EQ(Solver("cusolverDnSsyevd", SolverHandle(), mode, kLower, 2,
                     a.get(), 2, w.get(), w.get(), 32, info.get()),
              kSuccess);
    EXPECT_EQ(Last(), "rocsolver_ssyevd " + theirs + " 122 2 p 2 p p p");
    for (const int type : {1, 2, 3}) {
      EXPECT_EQ(
          Solver("cusolverDnSsygvd", SolverHandle(), type, mode, kLower, 2,
                 a.get(), 2, u.get(), 2, w.get(), w.get(), 32, info.get()),
          kSuccess);
      EXPECT_EQ(Last(), "rocsolver_ssygvd " + std::to_string(220 + type) + " " +
                            theirs + " 122 2 p 2 p 2 p p p");
    }
  }
  const std::pair<char, const char*> jobs[] = {
      {'A', "191"}, {'S', "192"}, {'O', "193"}, {'N', "194"}};
  for (const auto& [job, theirs] : jobs) {
    const Device<float> v(std::vector<float>(4));
    EXPECT_EQ(Solver("cusolverDnSgesvd", SolverHandle(),
                     static_cast<signed char>(job),
                     static_cast<signed char>('A'), 2, 2, a.get(), 2, w.get(),
                     u.get(), 2, v.get(), 2, w.get(), 32, none, info.get()),
              kSuccess);
    EXPECT_EQ(Last(), std::string("rocsolver_sgesvd ") + theirs +
                          " 191 2 2 p 2 p p 2 p 2 p 201 p");
  }
}

TEST_F(CusolverRocm, PivotsAreForAFunctionOfTheirOwn) {
  EXPECT_EQ(Solver("cusolverDnSgetrf", SolverHandle(), 2, 2, a.get(), 2,
                   w.get(), pivots.get(), info.get()),
            kSuccess);
  EXPECT_EQ(Last(), "rocsolver_sgetrf 2 2 p 2 p p");
  EXPECT_EQ(Solver("cusolverDnSgetrf", SolverHandle(), 2, 2, a.get(), 2,
                   w.get(), static_cast<int*>(nullptr), info.get()),
            kSuccess);
  EXPECT_EQ(Last(), "rocsolver_sgetrf_npvt 2 2 p 2 p");
}

// Those of 64 bits are in memory of their own.
TEST_F(CusolverRocm, WidePivots) {
  const Device<std::int64_t> wide({-1, -1});
  const std::vector<float> matrix = {1, 4, 2, 3};  // by columns: rows change
  Upload(a.get(), matrix.data(), 16);
  EXPECT_EQ(Solver("cusolverDnXgetrf", SolverHandle(), none, std::int64_t{2},
                   std::int64_t{2}, 0, a.get(), std::int64_t{2}, wide.get(), 0,
                   w.get(), std::size_t{0}, none, std::size_t{0}, info.get()),
            kSuccess);
  EXPECT_EQ(Last(), "rocsolver_sgetrf 2 2 p 2 p p");
  Synchronize();
  EXPECT_EQ(wide.Read(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(
      Solver("cusolverDnXgetrs", SolverHandle(), none, kN, std::int64_t{2},
             std::int64_t{1}, 0, a.get(), std::int64_t{2}, wide.get(), 0,
             b.get(), std::int64_t{2}, info.get()),
      kSuccess);
  EXPECT_EQ(Last(), "rocsolver_sgetrs 111 2 1 p 2 p p 2");
  Synchronize();
  // [1 2; 4 3] x = (1, 2)
  EXPECT_NEAR(b.Read()[0], 0.2, 1e-6);
  EXPECT_NEAR(b.Read()[1], 0.4, 1e-6);
}

// What it tells of its rotations comes to the program.
TEST_F(CusolverRocm, Rotations) {
  const Device<float> v(std::vector<float>(4));
  for (const std::string kind : {"Syevj", "Gesvdj"}) {
    void* rotations = nullptr;
    EXPECT_EQ(Solver("cusolverDnCreate" + kind + "Info", &rotations), kSuccess);
    const bool eigen = kind == "Syevj";
    const auto call = [&] {
      return eigen ? Solver("cusolverDnSsyevj", SolverHandle(), 1, kLower, 2,
                            a.get(), 2, w.get(), w.get(), 32, info.get(),
                            rotations)
                   : Solver("cusolverDnSgesvdj", SolverHandle(), 1, 0, 2, 2,
                            a.get(), 2, w.get(), u.get(), 2, v.get(), 2,
                            w.get(), 32, info.get(), rotations);
    };
    const std::string got =
        eigen ? "cusolverDnXsyevjGet" : "cusolverDnXgesvdjGet";
    const auto told = [&] {
      int sweeps = 0;
      double residual = -1;
      EXPECT_EQ(Solver(got + "Sweeps", SolverHandle(), rotations, &sweeps),
                kSuccess);
      EXPECT_EQ(Solver(got + "Residual", SolverHandle(), rotations, &residual),
                kSuccess);
      return std::pair(sweeps, residual);
    };
    EXPECT_EQ(call(), kSuccess);
    EXPECT_EQ(Last(),
              eigen ? "rocsolver_ssyevj 252 211 122 2 p 2 0 p 100 p p p"
                    : "rocsolver_sgesvdj_notransv 191 191 2 2 p 2 0 p 100 "
                      "p p p 2 p 2 p");
    EXPECT_EQ(told(), std::pair(2, std::ldexp(1.0, -60)));
    EXPECT_EQ(info.Read()[0], 0);
    FindFakeRocblas()->fake_rocblas_answer(2);
    EXPECT_EQ(call(), kSuccess);
    EXPECT_EQ(told().first, 1) << "the host";
    EXPECT_EQ(Solver("cusolverDnDestroy" + kind + "Info", rotations), kSuccess);
  }
}

TEST_F(CusolverRocm, WhatItDoesNotTakeTheHostComputes) {
  for (const int status : {2, 4, 5, 15}) {
    const std::vector<float> matrix = {4, 2, 2, 5};
    Upload(a.get(), matrix.data(), 16);
    FindFakeRocblas()->fake_rocblas_answer(status);
    EXPECT_EQ(Solver("cusolverDnSpotrf", SolverHandle(), kLower, 2, a.get(), 2,
                     w.get(), 32, info.get()),
              kSuccess);
    Synchronize();
    EXPECT_EQ(a.Read()[3], 2) << status;
  }
  FindFakeRocblas()->fake_rocblas_answer(6);
  EXPECT_EQ(Solver("cusolverDnSpotrf", SolverHandle(), kLower, 2, a.get(), 2,
                   w.get(), 32, info.get()),
            6);  // CUSOLVER_STATUS_EXECUTION_FAILED
}

// Those of the table are reached by the tests of cuSOLVER.
class RocsolverCoverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const cusolver::RocsolverRow& row : cusolver::kRocsolverRows) {
      for (const char letter : {'s', 'd', 'c', 'z'}) {
        const std::string symbol = cusolver::SymbolOf(row, letter);
        if (FindFakeRocblas()->fake_rocblas_calls(symbol.c_str()) == 0) {
          missing += " " + symbol;
        }
      }
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new RocsolverCoverage);

TEST(RocsolverOf, Names) {
  using cusolver::RocsolverOf;
  EXPECT_EQ(RocsolverOf("cusolverDnSpotrf"), "rocsolver_spotrf");
  EXPECT_EQ(RocsolverOf("cusolverDnZheevd"), "rocsolver_zheevd");
  EXPECT_EQ(RocsolverOf("cusolverDnXpotrf"), "rocsolver_?potrf");
  EXPECT_EQ(RocsolverOf("cusolverDnPotrf"), "rocsolver_?potrf");
  EXPECT_EQ(RocsolverOf("cusolverDnXgetrf"), "rocsolver_?getrf");
  EXPECT_EQ(RocsolverOf("cusolverDnXsytrs"), "");
  EXPECT_EQ(RocsolverOf("cusolverDnChegvj"), "rocsolver_chegvd");
  EXPECT_EQ(RocsolverOf("cusolverDnXgesvdp"), "rocsolver_?gesvdj_notransv");
  EXPECT_EQ(RocsolverOf("cusolverDnSpotrf_bufferSize"), "");
  EXPECT_EQ(RocsolverOf("cusolverDnCreate"), "");
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
