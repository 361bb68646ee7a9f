// Kernels that do what they must not: each ends with an error that sticks
// until the device is reset, and one report that says where it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

using testing::AllOf;
using testing::HasSubstr;

// Before the library reads it, at the first HIP call.
const int g_timeout_set = setenv("CERBERUS_EMU_TIMEOUT", "2", 1);

class Fault : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(g_timeout_set, 0);
    ASSERT_EQ(hipInit(0), hipSuccess);
    ASSERT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
  }
  void TearDown() override {
    // After the reset the device works again.
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    ASSERT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
    int* data = Malloc(64);
    int n = 16, out = 0;
    ASSERT_EQ(hipMemset(data, 0, 64), hipSuccess);
    void* params[] = {&data, &n};
    EXPECT_EQ(Launch("AddOne", 1, 32, 0, params), hipSuccess);
    ASSERT_EQ(hipMemcpy(&out, data, 4, hipMemcpyDeviceToHost), hipSuccess);
    EXPECT_EQ(out, 1);
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
  }

  int* Malloc(std::size_t size) {
    void* pointer = nullptr;
    EXPECT_EQ(hipMalloc(&pointer, size), hipSuccess);
    return static_cast<int*>(pointer);
  }
  hipError_t Launch(const char* name, unsigned grid, unsigned block,
                    unsigned shared, void** params) {
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, module_, name), hipSuccess);
    hipError_t error = hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1,
                                             shared, nullptr, params, nullptr);
    return error != hipSuccess ? error : hipDeviceSynchronize();
  }
  // Runs a kernel that must fail, and gives its report.
  std::string Report(const char* name, unsigned grid, unsigned block,
                     unsigned shared, void** params, hipError_t expected) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(Launch(name, grid, block, shared, params), expected);
    std::string report = testing::internal::GetCapturedStderr();
    // It sticks.
    EXPECT_EQ(hipDeviceSynchronize(), expected);
    void* pointer = nullptr;
    EXPECT_EQ(hipMalloc(&pointer, 16), expected);
    EXPECT_EQ(hipStreamQuery(nullptr), expected);
    return report;
  }

  hipModule_t module_ = nullptr;
};

TEST_F(Fault, WriteBehindTheEnd) {
  int* data = Malloc(400);
  long long index = 100;
  void* params[] = {&data, &index};
  EXPECT_THAT(
      Report("WriteAt", 1, 32, 0, params, hipErrorIllegalAddress),
      AllOf(HasSubstr("cerberus: emulator: "), HasSubstr("WriteAt"),
            HasSubstr("lane 3"), HasSubstr("global_store_"), HasSubstr("400")));
}

TEST_F(Fault, WriteBeforeTheStart) {
  int* data = Malloc(400);
  long long index = -1;
  void* params[] = {&data, &index};
  EXPECT_THAT(Report("WriteAt", 1, 32, 0, params, hipErrorIllegalAddress),
              HasSubstr("WriteAt"));
}

TEST_F(Fault, NullPointer) {
  int* data = nullptr;
  long long index = 0;
  void* params[] = {&data, &index};
  EXPECT_THAT(Report("WriteAt", 1, 32, 0, params, hipErrorIllegalAddress),
              HasSubstr("lane 3"));
}

TEST_F(Fault, OnlySomeLanesOfALoad) {
  int *data = Malloc(80), *out = Malloc(128);
  long long index = 0;
  void* params[] = {&data, &index, &out};
  // 80 bytes are 20 lanes; lane 20 is the first outside.
  EXPECT_THAT(Report("ReadAt", 1, 32, 0, params, hipErrorIllegalAddress),
              AllOf(HasSubstr("lane 20"), HasSubstr("load")));
}

TEST_F(Fault, PageableHostMemory) {
  std::vector<int> host(100);
  int* data = host.data();
  long long index = 0;
  void* params[] = {&data, &index};
  EXPECT_THAT(Report("WriteAt", 1, 32, 0, params, hipErrorIllegalAddress),
              HasSubstr("WriteAt"));
}

TEST_F(Fault, UseAfterFree) {
  int* data = Malloc(400);
  ASSERT_EQ(hipFree(data), hipSuccess);
  long long index = 0;
  void* params[] = {&data, &index};
  EXPECT_THAT(Report("WriteAt", 1, 32, 0, params, hipErrorIllegalAddress),
              HasSubstr("lane 3"));
}

TEST_F(Fault, MisalignedAtomic) {
  char* at = reinterpret_cast<char*>(Malloc(64)) + 2;
  void* params[] = {&at};
  EXPECT_THAT(Report("AtomicAt", 1, 1, 0, params, hipErrorIllegalAddress),
              AllOf(HasSubstr("AtomicAt"), HasSubstr("align")));
}

TEST_F(Fault, LdsBeyondTheGroupsSize) {
  int index = 64, *out = Malloc(256);
  void* params[] = {&index, &out};
  testing::internal::CaptureStderr();
  EXPECT_NE(Launch("LdsAt", 1, 64, 256, params), hipSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("LdsAt"), HasSubstr("ds_")));
}

TEST_F(Fault, LdsWithinTheGroupsSize) {
  int index = 63, *out = Malloc(256);
  void* params[] = {&index, &out};
  EXPECT_EQ(Launch("LdsAt", 1, 64, 256, params), hipSuccess);
  int got[64];
  ASSERT_EQ(hipMemcpy(got, out, 256, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got[62], 62);
  EXPECT_EQ(got[63], 5);
}

TEST_F(Fault, Trap) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch("Trap", 1, 1, 0, nullptr), hipErrorLaunchFailure);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("Trap"), HasSubstr("s_trap")));
}

TEST_F(Fault, AKernelThatNeverEnds) {
  int* flag = Malloc(4);
  ASSERT_EQ(hipMemset(flag, 0, 4), hipSuccess);
  void* params[] = {&flag};
  testing::internal::CaptureStderr();
  EXPECT_NE(Launch("Forever", 1, 32, 0, params), hipSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Forever"));
}

}  // namespace
