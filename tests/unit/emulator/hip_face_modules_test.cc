// HIP's modules, the arguments of kernels, launches that cannot be, occupancy.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/emulator/hip_face.h"
#include "tests/unit/emulator/hip_face_test.h"

namespace {

std::vector<char> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(HipFace, ModulesThatAreNone) {
  hipModule_t module = nullptr;
  EXPECT_EQ(hipModuleLoad(&module, "/nonexistent"), hipErrorFileNotFound);
  const char text[] = "this is not a code object, whatever it may be instead";
  EXPECT_EQ(hipModuleLoadData(&module, text), hipErrorInvalidImage);
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  std::vector<char> image = ReadAll(KERNELS);
  ASSERT_FALSE(image.empty());
  image[18] = 0x3e;  // e_machine: x86-64
  EXPECT_NE(hipModuleLoadData(&module, image.data()), hipSuccess);
  image = ReadAll(KERNELS_OTHER_TARGET);
  ASSERT_FALSE(image.empty());
  EXPECT_EQ(hipModuleLoadData(&module, image.data()), hipErrorNoBinaryForGpu);
  EXPECT_EQ(hipModuleUnload(nullptr), hipErrorInvalidHandle);
}

TEST_F(HipFace, FunctionsAndVariables) {
  hipFunction_t function = Load("AddOne");
  hipFunction_t again = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "AddOne"), hipSuccess);
  EXPECT_EQ(function, again);
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "NoSuch"), hipErrorNotFound);
  EXPECT_EQ(hipModuleGetFunction(&again, module_, "g_value"), hipErrorNotFound);
  hipDeviceptr_t value = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(hipModuleGetGlobal(&value, &size, module_, "g_array"), hipSuccess);
  EXPECT_EQ(size, 40u);
  EXPECT_EQ(hipModuleGetGlobal(&value, &size, module_, "nope"),
            hipErrorNotFound);
  ASSERT_EQ(hipModuleGetGlobal(&value, &size, module_, "g_value"), hipSuccess);
  int host = 0;
  ASSERT_EQ(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(host, 17);
  host = 99;
  ASSERT_EQ(hipMemcpy(value, &host, 4, hipMemcpyHostToDevice), hipSuccess);
  void* out = Malloc(8);
  void* params[] = {&out};
  ASSERT_EQ(hipModuleLaunchKernel(Load("Globals"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipSuccess);
  int got[2];
  ASSERT_EQ(hipMemcpy(got, out, 8, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got[0], 99);
  EXPECT_EQ(got[1], 0);
  ASSERT_EQ(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(host, 18);
  ASSERT_EQ(hipModuleUnload(module_), hipSuccess);
  module_ = nullptr;
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipErrorInvalidHandle);
}

struct Mixed {
  char a;
  double b;
  short c[3];
};

TEST_F(HipFace, ArgumentsOneByOneAndAsABuffer) {
  hipFunction_t function = Load("Arguments");
  float* f = static_cast<float*>(Malloc(8));
  double* out = static_cast<double*>(Malloc(7 * 8));
  float values[2] = {1.5f, 2.5f};
  ASSERT_EQ(hipMemcpy(f, values, 8, hipMemcpyHostToDevice), hipSuccess);
  const std::vector<double> expected = {
      -3, -1000, 123456, 1099511627776.0, 1 + 0.25 + 6, 2.5, 5};
  char a = -3;
  short b = -1000;
  int c = 123456;
  long long d = 1ll << 40;
  Mixed e = {1, 0.25, {1, 2, 3}};
  void* params[] = {&a, &b, &c, &d, &e, &f, &out};
  ASSERT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  params, nullptr),
            hipSuccess);
  std::vector<double> got(7);
  ASSERT_EQ(hipMemcpy(got.data(), out, 56, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got, expected);

  struct {
    char a;
    short b;
    int c;
    long long d;
    Mixed e;
    float* f;
    double* out;
  } buffer = {a, b, c, d, e, f, out};
  std::size_t size = sizeof buffer;
  void* extra[] = {reinterpret_cast<void*>(kHipLaunchParamBufferPointer),
                   &buffer, reinterpret_cast<void*>(kHipLaunchParamBufferSize),
                   &size, reinterpret_cast<void*>(kHipLaunchParamEnd)};
  ASSERT_EQ(hipMemset(out, 0, 56), hipSuccess);
  ASSERT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  nullptr, extra),
            hipSuccess);
  ASSERT_EQ(hipMemcpy(got.data(), out, 56, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(got, expected);
  void* wrong[] = {reinterpret_cast<void*>(9), &buffer,
                   reinterpret_cast<void*>(kHipLaunchParamEnd)};
  EXPECT_EQ(hipModuleLaunchKernel(function, 5, 1, 1, 1, 1, 1, 0, nullptr,
                                  nullptr, wrong),
            hipErrorInvalidValue);
}

TEST_F(HipFace, LaunchesThatCannotBe) {
  hipFunction_t add = Load("AddOne"), only64 = Load("Only64");
  void* data = Malloc(4);
  int n = 1;
  void* params[] = {&data, &n};
  auto launch = [&](hipFunction_t f, unsigned gx, unsigned bx, unsigned by,
                    unsigned shared) {
    return hipModuleLaunchKernel(f, gx, 1, 1, bx, by, 1, shared, nullptr,
                                 params, nullptr);
  };
  EXPECT_EQ(launch(nullptr, 1, 1, 1, 0), hipErrorInvalidHandle);
  EXPECT_EQ(launch(add, 0, 1, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 0, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 1025, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 64, 32, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(add, 1, 64, 1, 65537), hipErrorInvalidValue);
  EXPECT_EQ(launch(add, 0x10000000, 64, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(only64, 1, 65, 1, 0), hipErrorLaunchFailure);
  EXPECT_EQ(launch(add, 1, 64, 1, 0), hipSuccess);
  EXPECT_EQ(hipModuleLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0,
                                  reinterpret_cast<hipStream_t>(0x50), params,
                                  nullptr),
            hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleLaunchCooperativeKernel(add, 1000000, 1, 1, 64, 1, 1, 0,
                                             nullptr, params),
            hipErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST_F(HipFace, OccupancyFollowsTheTargetsRules) {
  hipFunction_t add = Load("AddOne");
  auto blocks = [add](int size, std::size_t shared) {
    int n = -1;
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, size,
                                                                 shared),
              hipSuccess);
    return n;
  };
  // A compute unit has two SIMDs of 16 waves (wave32) and 64 KiB of LDS that
  // a workgroup in CU mode can use; waves and LDS limit this kernel.
  EXPECT_EQ(blocks(1024, 0), 1);
  EXPECT_EQ(blocks(512, 0), 2);
  EXPECT_EQ(blocks(128, 16384), 4);
  EXPECT_EQ(blocks(128, 32768), 2);
  EXPECT_EQ(blocks(128, 65536), 1);
  EXPECT_EQ(blocks(128, 65537), 0);
  EXPECT_EQ(blocks(2048, 0), 0);
  int grid = 0, block = 0;
  ASSERT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 256),
            hipSuccess);
  EXPECT_LE(block, 256);
  EXPECT_EQ(block % 32, 0);
  EXPECT_EQ(grid % blocks(block, 0), 0);
  int value = 0;
  ASSERT_EQ(
      hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          Load("Only64")),
      hipSuccess);
  EXPECT_EQ(value, 64);
}

}  // namespace
