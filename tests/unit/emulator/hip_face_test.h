// What tests of the HIP calls share.
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_TEST_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/unit/emulator/hip_face.h"

class HipFace : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipInit(0), hipSuccess); }
  void TearDown() override { EXPECT_EQ(hipDeviceReset(), hipSuccess); }

  void* Malloc(std::size_t size) {
    void* pointer = nullptr;
    EXPECT_EQ(hipMalloc(&pointer, size), hipSuccess);
    return pointer;
  }
  hipFunction_t Load(const char* name) {
    if (module_ == nullptr) {
      EXPECT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
    }
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, module_, name), hipSuccess);
    return function;
  }

  hipModule_t module_ = nullptr;
};

// --- Devices --------------------------------------------------------------

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_TEST_H_
