// How cuFFT's plans and executions come to hipFFT.
#include <dlfcn.h>

#include <string>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

enum Type {
  kR2C = 0x2a,
  kC2R = 0x2c,
  kC2C = 0x29,
  kD2Z = 0x6a,
  kZ2D = 0x6c,
  kZ2Z = 0x69
};

void* Look(const char* library, const char* name) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* const symbol = opened == nullptr ? nullptr : dlsym(opened, name);
  EXPECT_NE(symbol, nullptr) << name;
  return symbol;
}
template <typename R = int, typename... A>
R Cufft(const char* name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(Look("libcufft.so.12", name))(
      arguments...);
}
template <typename R, typename... A>
R Fake(const char* name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(Look("libhipfft.so.0", name))(
      arguments...);
}
std::string Last() { return Fake<const char*>("fake_hipfft_last"); }

class CufftHipfft : public ::testing::Test {
 protected:
  CufftHipfft() : data_(std::vector<double>(64, 1)), out_(data_.Read()) {
    CublasHandle();  // makes a context current
  }
  void TearDown() override {
    if (plan_ != 0) EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
  }
  Device<double> data_, out_;
  int plan_ = 0;
};

TEST_F(CufftHipfft, PlansOfEachKind) {
  const auto expect = [&](int status, const char* told) {
    EXPECT_EQ(status, 0);
    EXPECT_EQ(Last(), told);
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    plan_ = 0;
  };
  expect(Cufft("cufftPlan1d", &plan_, 8, kC2C, 3), "many [8] 0 1 8 0 1 8 41 3");
  expect(Cufft("cufftPlan2d", &plan_, 4, 6, kR2C),
         "many [4 6] 0 1 24 0 1 16 42 1");
  expect(Cufft("cufftPlan3d", &plan_, 2, 3, 4, kZ2D),
         "many [2 3 4] 0 1 18 0 1 24 108 1");
  int n[] = {6}, in[] = {10}, out[] = {5};
  expect(Cufft("cufftPlanMany", &plan_, 1, n, in, 2, 30, out, 1, 7, kD2Z, 4),
         "many [6] [6] 2 30 [4] 1 7 106 4");  // the first of them says nothing
  int n2[] = {4, 6}, in2[] = {9, 10}, out2[] = {7, 5};
  expect(
      Cufft("cufftPlanMany", &plan_, 2, n2, in2, 2, 90, out2, 1, 35, kD2Z, 4),
      "many [4 6] [4 10] 2 90 [4 5] 1 35 106 4");
  // Halves: cudaDataType, computed as complex numbers.
  long long size[] = {8};
  long long* const none = nullptr;
  std::size_t bytes = 1;
  ASSERT_EQ(Cufft("cufftCreate", &plan_), 0);
  expect(Cufft("cufftXtMakePlanMany", plan_, 1, size, none, 1ll, 8ll, 2, none,
               1ll, 5ll, 6, 2ll, &bytes, 6),
         "xt [8] 0 1 8 2 0 1 5 6 2 6");
  EXPECT_EQ(bytes, 0u);
  const long long axes[][3] = {{4, 20, 10}, {6, 2, 1}}, loop[] = {3, 90, 70};
  ASSERT_EQ(Cufft("cufftCreate", &plan_), 0);
  expect(
      Cufft("cufftXtMakePlanGuru64", plan_, 2, axes, 1, loop, 5, 5, 5, &bytes),
      "many [4 6] [4 10] 2 90 [4 10] 1 70 105 3");
  ASSERT_EQ(Cufft("cufftCreate", &plan_), 0);
  expect(Cufft("cufftMakePlanGuru64", plan_, 2, axes, 1, loop, kZ2Z, &bytes),
         "many [4 6] [4 10] 2 90 [4 10] 1 70 105 3");
}

TEST_F(CufftHipfft, OtherStepsThanHipfftHasAreTheHosts) {
  const long long twice[][3] = {{2, 90, 70}, {2, 20, 20}};
  const long long axes[][3] = {{4, 2, 1}, {6, 9, 10}};  // columns
  const std::string before = Last();
  for (const int loops : {1, 2}) {
    ASSERT_EQ(Cufft("cufftCreate", &plan_), 0);
    EXPECT_EQ(Cufft("cufftMakePlanGuru64", plan_, loops == 1 ? 2 : 1, axes,
                    loops, twice, kZ2Z, nullptr),
              0);
    EXPECT_EQ(Last(), before) << loops;
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
  }
  plan_ = 0;
}

TEST_F(CufftHipfft, ExecutionsOfEachKind) {
  double *const in = data_.get(), *const out = out_.get();
  const auto run = [&](Type type, const char* exec, double* to,
                       const char* told, auto... sign) {
    ASSERT_EQ(Cufft("cufftPlan1d", &plan_, 8, type, 1), 0);
    EXPECT_EQ(Cufft(exec, plan_, in, to, sign...), 0);
    EXPECT_EQ(Last(), told);
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    plan_ = 0;
  };
  run(kR2C, "cufftExecR2C", out, "R2C");
  run(kC2R, "cufftExecC2R", in, "C2R in place");
  run(kC2C, "cufftExecC2C", out, "C2C forward", -1);
  run(kC2C, "cufftExecC2C", out, "C2C inverse", 1);
  run(kD2Z, "cufftExecD2Z", in, "D2Z in place");
  run(kZ2D, "cufftExecZ2D", out, "Z2D");
  run(kZ2Z, "cufftExecZ2Z", in, "Z2Z forward in place", -1);
  run(kZ2Z, "cufftXtExec", out, "Z2Z inverse", 1);
  // It computed nothing, and nobody else did.
  EXPECT_EQ(out_.Read(), std::vector<double>(64, 1));
}

TEST_F(CufftHipfft, FollowsTheStream) {
  ASSERT_EQ(Cufft("cufftPlan1d", &plan_, 8, kZ2Z, 1), 0);
  void *stream = nullptr, *hip = nullptr;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 1u), 0);
  ASSERT_EQ(Cuda("cuCerberusHipStream", stream, &hip), 0);
  EXPECT_EQ(Cufft("cufftSetStream", plan_, stream), 0);
  EXPECT_EQ(Cufft("cufftExecZ2Z", plan_, data_.get(), out_.get(), -1), 0);
  EXPECT_EQ(Fake<void*>("fake_hipfft_stream"), hip);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// The sum of eight ones.
TEST_F(CufftHipfft, WhatItDoesNotTakeTheHostComputes) {
  for (const int status : {1, 2, 3, 4, 8, 14, 16}) {
    Fake<void>("fake_hipfft_answer", status);  // to the plan
    ASSERT_EQ(Cufft("cufftPlan1d", &plan_, 8, kZ2Z, 1), 0);
    EXPECT_EQ(Cufft("cufftExecZ2Z", plan_, data_.get(), out_.get(), -1), 0);
    EXPECT_EQ(out_.Read()[0], 8) << status;
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    Upload(out_.get(), std::vector<double>(16).data(), 128);
    ASSERT_EQ(Cufft("cufftPlan1d", &plan_, 8, kZ2Z, 1), 0);
    Fake<void>("fake_hipfft_answer", status);  // to the execution
    EXPECT_EQ(Cufft("cufftExecZ2Z", plan_, data_.get(), out_.get(), -1), 0);
    EXPECT_EQ(out_.Read()[0], 8) << status;
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    Upload(out_.get(), std::vector<double>(16).data(), 128);
  }
  ASSERT_EQ(Cufft("cufftPlan1d", &plan_, 8, kZ2Z, 1), 0);
  Fake<void>("fake_hipfft_answer", 6);
  EXPECT_EQ(Cufft("cufftExecZ2Z", plan_, data_.get(), out_.get(), -1), 6);
}

// rocFFT is wrong about odd distances of real numbers in rows of even length.
TEST_F(CufftHipfft, OddDistancesAreTheHosts) {
  int n[] = {8}, in[] = {9}, out[] = {5};
  const auto taken = [&](int length, int distance, int batches) {
    n[0] = length;
    EXPECT_EQ(Cufft("cufftPlan1d", &plan_, 2, kC2C, 1), 0);
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    const std::string before = Last();
    EXPECT_EQ(Cufft("cufftPlanMany", &plan_, 1, n, in, 1, distance, out, 1, 5,
                    kR2C, batches),
              0);
    EXPECT_EQ(Cufft("cufftDestroy", plan_), 0);
    plan_ = 0;
    return Last() != before;
  };
  EXPECT_FALSE(taken(8, 9, 2));
  EXPECT_TRUE(taken(8, 10, 2));
  EXPECT_TRUE(taken(8, 9, 1));
  EXPECT_TRUE(taken(7, 9, 2));
}

}  // namespace
}  // namespace cerberus::libraries::tests
