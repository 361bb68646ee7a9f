#include <thread>

#include "driver.h"

namespace cerberus::stub {
namespace {

class ContextTest : public DriverTest {};

CUcontext Current() {
  CUcontext context = nullptr;
  EXPECT_EQ(CU(cuCtxGetCurrent)(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(ContextTest, StackKeepsTheOrder) {
  CUcontext a = nullptr, b = nullptr, popped = nullptr;
  ASSERT_EQ(CU(cuCtxCreate_v4)(&a, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Current(), a);
  ASSERT_EQ(CU(cuCtxCreate_v2)(&b, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Current(), b);
  EXPECT_EQ(CU(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, b);
  EXPECT_EQ(Current(), a);
  EXPECT_EQ(CU(cuCtxPushCurrent_v2)(b), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxDestroy_v2)(b), CUDA_SUCCESS);
  EXPECT_EQ(Current(), a);
  EXPECT_EQ(CU(cuCtxDestroy_v2)(a), CUDA_SUCCESS);
  EXPECT_EQ(Current(), context_);
  EXPECT_EQ(CU(cuCtxPushCurrent_v2)(a), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CU(cuCtxDestroy_v2)(context_), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextTest, ThreadsHaveTheirOwn) {
  std::thread([&] {
    EXPECT_EQ(Current(), nullptr);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(Current(), context_);
}

TEST_F(ContextTest, PrimaryContextCountsItsUsers) {
  int active = 0;
  unsigned flags = 9;
  EXPECT_EQ(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
  CU(cuDevicePrimaryCtxGetState)(0, nullptr, &active);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(CU(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CU(cuDevicePrimaryCtxRetain)(&context_, 7),
            CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(ContextTest, LimitsAreKept) {
  std::size_t value = 0;
  EXPECT_EQ(CU(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024u);
  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 4096), CUDA_SUCCESS);
  CU(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE);
  EXPECT_EQ(value, 4096u);
  EXPECT_EQ(CU(cuCtxGetLimit)(&value, 99), CUDA_ERROR_UNSUPPORTED_LIMIT);
  // What can only be asked.
  EXPECT_EQ(CU(cuCtxGetLimit)(&value, CU_LIMIT_CIG_ENABLED), CUDA_SUCCESS);
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_CIG_ENABLED, 1),
            CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_F(ContextTest, DeviceOfAContext) {
  CUdevice device = -1;
  EXPECT_EQ(CU(cuCtxGetDevice)(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  device = -1;
  EXPECT_EQ(CU(cuCtxGetDevice_v2)(&device, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  unsigned version = 0;
  EXPECT_EQ(CU(cuCtxGetApiVersion)(context_, &version), CUDA_SUCCESS);
}

// A kernel's fault makes the context useless until it is reset.
TEST_F(ContextTest, FaultsStick) {
  struct Row {
    int hip;
    CUresult cuda;
  };
  for (const Row& row : {Row{700, CUDA_ERROR_ILLEGAL_ADDRESS},
                         Row{719, CUDA_ERROR_LAUNCH_FAILED}}) {
    Fake().failures["hipDeviceSynchronize"] = row.hip;
    EXPECT_EQ(CU(cuCtxSynchronize)(), row.cuda);
    Fake().failures.clear();
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), row.cuda);
    EXPECT_EQ(CU(cuCtxSynchronize)(), row.cuda);
    EXPECT_EQ(CU(cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  }
}

TEST_F(ContextTest, OtherErrorsDoNotStick) {
  Fake().failures["hipMalloc"] = 2;
  CUdeviceptr pointer = 0;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_OUT_OF_MEMORY);
  Fake().failures.clear();
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  // Numbers that only HIP's runtime API has.
  Fake().failures["hipMalloc"] = 1052;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_UNKNOWN);
  Fake().failures["hipMalloc"] = 17;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_INVALID_VALUE);
  Fake().failures["hipMalloc"] = 31337;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_UNKNOWN);
}

TEST_F(ContextTest, DeviceFacts) {
  char name[64];
  EXPECT_EQ(CU(cuDeviceGetName)(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "Fake GPU 0");
  std::size_t bytes = 0;
  EXPECT_EQ(CU(cuDeviceTotalMem_v2)(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, std::size_t{8} << 30);
  int major = 0, minor = 0, value = 0;
  EXPECT_EQ(CU(cuDeviceComputeCapability)(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_EQ(major * 10 + minor,
            86);  // support/targets/target_table.cc: gfx1100
  struct Row {
    int id, value;
  };
  for (const Row& row :
       {Row{75, 8}, Row{76, 6}, Row{10, 32}, Row{8, 49152}, Row{97, 65536},
        Row{33, 0x40}, Row{50, 1}, Row{16, 48}, Row{41, 1}}) {
    EXPECT_EQ(CU(cuDeviceGetAttribute)(&value, row.id, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, row.value) << row.id;
  }
  char bus[32];
  EXPECT_EQ(CU(cuDeviceGetPCIBusId)(bus, sizeof bus, 0), CUDA_SUCCESS);
  EXPECT_STREQ(bus, "0001:40:03.0");
  CUdevice device = -1;
  EXPECT_EQ(CU(cuDeviceGetByPCIBusId)(&device, bus), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(CU(cuDeviceGetPCIBusId)(bus, 4, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextTest, ErrorsHaveNames) {
  const char* text = nullptr;
  EXPECT_EQ(CU(cuGetErrorName)(CUDA_ERROR_NOT_FOUND, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_FOUND");
  EXPECT_EQ(CU(cuGetErrorString)(CUDA_ERROR_INVALID_PTX, &text), CUDA_SUCCESS);
  EXPECT_NE(text, nullptr);
  EXPECT_EQ(CU(cuGetErrorName)(static_cast<CUresult>(12345), &text),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace cerberus::stub
